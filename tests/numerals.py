"""The numbers in a message or a sentence, so that tests need not repeat its words."""

import re

_NUMERAL = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")


def numerals(text):
    """Every number in the text as it is written there, with its sign; none that is part of a name, such as x0."""
    return _NUMERAL.findall(text)


def numerals_of(name, text):
    """The numbers in the brackets behind a name."""
    return numerals(text.partition(f"{name} (")[2].partition(")")[0])


def one_line(text):
    """The text without its line breaks and columns."""
    return " ".join(text.split())


def without_numerals(text):
    """The words of a text, with a sign in the place of every number."""
    return _NUMERAL.sub("#", text)
