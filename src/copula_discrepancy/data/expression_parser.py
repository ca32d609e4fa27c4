"""Translation of typed expressions to steps, by operator precedence (Pratt, 1973); `data.expression` describes the language.

Names of variables may contain spaces, brackets and operators, so they cannot be told from the rest before parsing: the parser
looks for them where a value may stand. There the text may have several readings (names, a number, a sign, a function). A
reading is possible if what follows it can go on with an expression. One possible reading is taken, two are an error: nothing
is guessed.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, NoReturn, TypeAlias

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import grouped, listed, unknown_name

FUNCTIONS = {"abs": 1, "exp": 1, "log": 1, "sqrt": 1, "min": 2, "max": 2}  # the fewest arguments
_SEVERAL = {"min", "max"}  # these may have more
_KEYWORDS = {"and", "or", "not"}
_DEEPEST = 100  # nested expressions: three calls each, and Python allows 1,000 in all
_SHOWN = 80  # characters of the text in a message
QUOTED_PART = 30  # characters of an operand in a message

# How strongly operators bind. Comparisons form chains, powers are computed from the right, all others from the left
_OR, _AND, _NOT, _COMPARED, _ADDED, _MULTIPLIED, _NEGATIVE, _POWER = range(1, 9)
_BINDING = {"or": _OR, "and": _AND, "+": _ADDED, "-": _ADDED, "*": _MULTIPLIED, "/": _MULTIPLIED, "**": _POWER}
_BINDING |= dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _COMPARED)

_SPACE = re.compile(r"\s*")
# // and <> are not two operators each
_OPERATOR = re.compile(r"\*\*|<=|>=|==(?!=)|!=(?!=)|<(?!>)|/(?!/)|[-+*>]|(?:and|or)\b")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_PREFIX = re.compile(rf"-|\(|not\b|(?:{'|'.join(FUNCTIONS)})\s*\(")
_QUOTED = re.compile(r"`((?:[^`]|``)*)`")
_WORD = re.compile(r"[^\W\d]\w*(?:\.\w+)*(?:\[[^][]*\])*")  # looks like a name

_VALUE = "a variable, a number, a function or a parenthesis"
_FOREIGN = {  # signs that other languages, keyboards and word processors use
    **{"=": "==", "===": "==", "!==": "!=", "=>": ">=", "=<": "<=", "<>": "!=", "^": "**"},
    **dict.fromkeys(("//", "%"), "+ - * / or **"),
    **{"&": "and", "&&": "and", "|": "or", "||": "or", "~": "not", "!": "not"},
    **dict.fromkeys("\N{HYPHEN}\N{NON-BREAKING HYPHEN}\N{FIGURE DASH}\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}", "-"),
    **dict.fromkeys("\N{MULTIPLICATION SIGN}\N{MIDDLE DOT}\N{DOT OPERATOR}\N{ASTERISK OPERATOR}\N{BULLET}", "*"),
    **dict.fromkeys("\N{DIVISION SIGN}\N{DIVISION SLASH}\N{FRACTION SLASH}", "/"),
    **{"\N{LESS-THAN OR EQUAL TO}": "<=", "\N{GREATER-THAN OR EQUAL TO}": ">=", "\N{NOT EQUAL TO}": "!="},
    **{"\N{LOGICAL AND}": "and", "\N{LOGICAL OR}": "or", "\N{NOT SIGN}": "not", "\N{SQUARE ROOT}": "sqrt()"},
    **{"\N{SUPERSCRIPT TWO}": "** 2", "\N{SUPERSCRIPT THREE}": "** 3", "\N{ACUTE ACCENT}": "`"},
    **dict.fromkeys("[]{}", "parentheses (brackets only in names such as theta[1])"),
    **dict.fromkeys("'\"", "backquotes, or nothing, around a name"),
    **dict.fromkeys(
        "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}"
        "\N{RIGHT DOUBLE QUOTATION MARK}\N{DOUBLE LOW-9 QUOTATION MARK}",
        "backquotes, or nothing, around a name",
    ),
}
_FOREIGN_SIGN = re.compile("|".join(re.escape(sign) + "(?!=)" * (sign in "=!") for sign in sorted(_FOREIGN, key=len)[::-1]))


class Number(NamedTuple):
    """A step that gives a number."""

    value: float


class Variable(NamedTuple):
    """A step that gives the values of a variable."""

    name: str


class Comparison(NamedTuple):
    """A step that compares the last values, one more than it has signs, each with the next."""

    signs: tuple[str, ...]


class Operation(NamedTuple):
    """A step that applies an operator or function to the last `arity` values."""

    name: str
    arity: int


Step: TypeAlias = Number | Variable | Comparison | Operation


class _Reading(NamedTuple):
    """One way to read the text at some place."""

    end: int
    kind: str  # "name", "number" or "prefix": a sign, word, function or parenthesis with a value after it
    content: str

    @property
    def described(self) -> str:
        kinds = {"-": "sign", "(": "parenthesis", "not": "word"}
        what = {"name": "variable", "number": "number"}.get(self.kind) or kinds.get(self.content, "function")
        return f"the {what} {self.content!r}"

    @property
    def unmistakable(self) -> str:
        """How to write it so that it has no other reading."""
        if self.kind == "name":
            return quoted(self.content)
        if self.kind == "number":
            return f"0{self.content}" if "e" in self.content.lower() else self.content + ("0" if "." in self.content else ".0")
        return {"-": "-(...)", "not": "not (...)", "(": "'( ' with a space"}.get(
            self.content, f"'{self.content} (...)' with a space"
        )


def translated(text: str, names: Sequence[str]) -> tuple[tuple[Step, ...], bool]:
    """The steps of an expression in postfix order, and whether it is a condition; an InputError if it is none."""
    if not isinstance(text, str):
        raise InputError(f"an expression must be text such as 'a - b > 0', got {text!r:.80}")
    return _Parser(text, names).translation()


def quoted(name: str) -> str:
    """A name between backquotes."""
    return f"`{name.replace('`', '``')}`"


def _counting(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """The characters of a name that count, which spaces between brackets do not, each with the place after it."""
    depth = 0
    for place in range(start, len(text)):
        sign = text[place]
        if depth and sign.isspace():
            continue
        depth = depth + 1 if sign == "[" else max(depth - (sign == "]"), 0)
        yield place + 1, sign


def _compact(name: str) -> str:
    return name if "[" not in name else "".join(sign for _, sign in _counting(name))


def _continues_a_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


class _Parser:
    """The text, the place reached, and the steps so far."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = text
        self.names = names
        self.exact = set(names)
        self.compact = grouped((_compact(name), name) for name in names)
        self.lengths = {len(name) for name in self.compact}
        self.longest = max(self.lengths, default=0)
        self.place = 0
        self.depth = 0
        self.open: list[tuple[int, bool]] = []  # parentheses not closed yet: the place, and whether it is a function's
        self.steps: list[Step] = []

    def translation(self) -> tuple[tuple[Step, ...], bool]:
        if not self.text.strip():
            raise InputError(
                "the expression is empty; write a quantity such as a - b, or a condition such as a > b", "expression"
            )
        condition = self.expression(_OR)
        if self.next_place() < len(self.text):
            self.reject_after_value()
        if not any(isinstance(step, Variable) for step in self.steps):
            self.reject(None, f"it uses no variable; available: {listed(self.names)}")
        return tuple(self.steps), condition

    # Each of the following reads one part of the grammar from `place` on, and returns whether it is a condition

    def expression(self, least: int) -> bool:
        """A value and all operators after it that bind at least this strongly."""
        self.depth += 1
        start = self.next_place()
        if self.depth > _DEEPEST:
            self.reject(start, f"more than {_DEEPEST} expressions inside each other; simplify it")
        condition = self.value(least)
        while (sign := self.operator(least)) is not None:
            end, binding = self.place, _BINDING[sign]
            self.place = self.next_place() + len(sign)
            if binding == _COMPARED:
                condition = self.comparison(sign)
                continue
            right = self.next_place()
            other = self.expression(binding if sign == "**" else binding + 1)
            if sign in _KEYWORDS:
                self.require_condition(condition, sign, start, end)
                self.require_condition(other, sign, right, self.place)
            condition = sign in _KEYWORDS
            self.steps.append(Operation(sign, 2))
        self.depth -= 1
        return condition

    def operator(self, least: int) -> str | None:
        """The operator that comes next, if it binds at least this strongly; not read yet."""
        match = _OPERATOR.match(self.text, self.next_place())
        return match[0] if match and _BINDING[match[0]] >= least else None

    def comparison(self, sign: str | None) -> bool:
        """What is compared with the value before it, and further comparisons in the same chain."""
        signs: list[str] = []
        while sign is not None:
            signs.append(sign)
            self.expression(_ADDED)
            sign = self.operator(_COMPARED)
            if sign is not None:
                self.place = self.next_place() + len(sign)
        self.steps.append(Comparison(tuple(signs)))
        return True

    def value(self, least: int) -> bool:
        start = self.place = self.next_place()
        if self.text.startswith("`", start):
            return self.quoted_name()
        reading = self.reading(start)
        self.place = reading.end
        if reading.kind == "name":
            self.steps.append(Variable(reading.content))
        elif reading.kind == "number":
            number = float(reading.content)
            if number == float("inf"):
                self.reject(start, f"the number {reading.content:.40} is too large")
            self.steps.append(Number(number))
        elif reading.content == "not":
            if least > _NOT:
                self.reject(start, "'not' after an operator needs parentheses: (not ...)")
            condition = self.next_place()
            self.require_condition(self.expression(_NOT), "not", condition, self.place)
            self.steps.append(Operation("not", 1))
            return True
        elif reading.content == "-":
            self.expression(_NEGATIVE)
            self.steps.append(Operation("negative", 1))
        elif reading.content == "(":
            self.open.append((start, False))
            condition_inside = self.expression(_OR)
            self.close()
            return condition_inside
        else:
            self.arguments(start, reading.content)
        return False

    def quoted_name(self) -> bool:
        start = self.place
        match = _QUOTED.match(self.text, start)
        if match is None:
            self.reject(start, "the backquote has no second one after the name")
        name = match[1].replace("``", "`")
        if name not in self.exact:
            alike = self.compact.get(_compact(name), [])
            if len(alike) != 1:
                self.reject(start, unknown_name(name, self.names), "unknown-name")
            (name,) = alike
        self.place = match.end()
        self.steps.append(Variable(name))
        return False

    def arguments(self, start: int, function: str) -> None:
        """The arguments of a function, and its closing parenthesis."""
        self.open.append((self.place - 1, True))
        count = 0
        if not self.text.startswith(")", self.next_place()):
            self.expression(_OR)
            count = 1
            while self.text.startswith(",", self.next_place()):
                self.place = self.next_place() + 1
                self.expression(_OR)
                count += 1
        self.close()
        needed = FUNCTIONS[function]
        if count < needed or (count > needed and function not in _SEVERAL):
            rule = "two or more arguments" if function in _SEVERAL else "one argument"
            self.reject(start, f"{function} needs {rule}, got {count}")
        self.steps.append(Operation(function, count))

    def close(self) -> None:
        if not self.text.startswith(")", self.next_place()):
            self.reject_after_value()
        self.place = self.next_place() + 1
        self.open.pop()

    def require_condition(self, condition: bool, word: str, start: int, end: int) -> None:
        if not condition:
            part = self.text[start:end].strip()
            part = part if len(part) <= QUOTED_PART else part[:QUOTED_PART] + "..."
            self.reject(start, f"'{word}' needs conditions, but {part!r} is a number; compare it, as in 'a > 0'")

    # What may stand at a place

    def next_place(self, place: int | None = None) -> int:
        """The place after spaces."""
        match = _SPACE.match(self.text, self.place if place is None else place)
        return match.end() if match else len(self.text)

    def reading(self, start: int) -> _Reading:
        """The only possible reading at a place where a value must stand."""
        readings = self.readings(start)
        if not readings:
            self.reject_value(start)
        possible = [reading for reading in readings if self.is_possible(reading)]
        if len(possible) > 1:
            one, other = sorted(possible, reverse=True)[:2]
            rest = self.text[other.end : one.end] if other.kind == "name" else ""
            ways = f"{one.described} or as {other.described}; write {one.unmistakable} or {other.unmistakable}{rest}"
            self.reject(start, f"{self.text[start : one.end]!r} can be read as {ways}")
        reading = possible[0] if possible else max(readings)
        # theta[9] where only theta is a variable: without this, the error would be about the bracket
        word = _WORD.match(self.text, start)
        if not possible and word and word.end() > reading.end and self.text[reading.end] in "[.":
            self.reject(start, unknown_name(word[0], self.names), "unknown-name")
        return reading

    def readings(self, start: int) -> list[_Reading]:
        readings = list(self.names_at(start))
        if match := _NUMBER.match(self.text, start):
            readings.append(_Reading(match.end(), "number", match[0]))
        elif match := _PREFIX.match(self.text, start):
            function = match[0].rstrip("(").rstrip()
            readings.append(_Reading(match.end(), "prefix", function or match[0]))
        return readings

    def names_at(self, start: int) -> Iterator[_Reading]:
        """The names that begin at a place and end where a word may end."""
        signs: list[str] = []
        for end, sign in islice(_counting(self.text, start), self.longest):
            signs.append(sign)
            if len(signs) not in self.lengths:
                continue
            if _continues_a_word(sign) and end < len(self.text) and _continues_a_word(self.text[end]):
                continue
            alike = self.compact.get("".join(signs), [])
            if self.text[start:end] in self.exact:
                alike = [self.text[start:end]]
            yield from (_Reading(end, "name", name) for name in alike if name not in _KEYWORDS)

    def is_possible(self, reading: _Reading) -> bool:
        """Whether an expression can go on after a reading."""
        place = self.next_place(reading.end)
        if reading.kind == "prefix":
            is_empty = reading.content in FUNCTIONS and self.text.startswith(")", place)  # log() gets an error of its own
            return is_empty or self.value_begins(place)
        if place == len(self.text):
            return True
        if self.open and self.text[place] in "),":
            _, of_function = self.open[-1]
            return self.text[place] == ")" or of_function
        operator = _OPERATOR.match(self.text, place)
        return operator is not None and self.value_begins(self.next_place(operator.end()))

    def value_begins(self, place: int) -> bool:
        return self.text.startswith("`", place) or bool(self.readings(place))

    # Errors: one line with the text, the position from 1, what stands there and what can be done

    def reject(self, place: int | None, problem: str, code: str = "expression") -> NoReturn:
        text = self.text
        if len(text) > _SHOWN:
            start = min(max((place or 0) - _SHOWN // 2, 0), len(text) - _SHOWN)
            end = start + _SHOWN
            text = f"{'...' * (start > 0)}{text[start:end]}{'...' * (end < len(text))}"
        where = "" if place is None else f"position {place + 1}: "
        raise InputError(f"expression {text!r}: {where}{problem}", code)

    def reject_value(self, place: int) -> NoReturn:
        """A value must stand at a place, and none does."""
        text = self.text
        if place == len(text):
            self.reject(place, f"the expression ends where {_VALUE} is expected")
        self.reject_foreign_sign(place)
        word = _WORD.match(text, place)
        if word and word[0] not in _KEYWORDS:
            for sign in range(*word.span()):  # a power in superscript belongs to the word
                if not text[sign].isascii():
                    self.reject_foreign_sign(sign)
            if text.startswith("(", self.next_place(word.end())):
                self.reject(place, unknown_name(word[0], [*FUNCTIONS], "function"), "unknown-name")
            self.reject(place, unknown_name(word[0], self.names), "unknown-name")
        is_name = f"; write {quoted(word[0])} for the variable" if word and word[0] in self.exact else ""
        self.reject(place, f"found {self.found(place)} where {_VALUE} is expected{is_name}")

    def reject_after_value(self) -> NoReturn:
        """After a value, the next must be an operator, the end or a closing parenthesis, and it is not."""
        place = self.next_place()
        found = self.found(place)
        if place == len(self.text):
            opened, _ = self.open[-1]
            self.reject(opened, "the parenthesis is not closed")
        if self.text[place] == ")":
            self.reject(place, "the parenthesis closes nothing; remove it, or open one before")
        if self.text[place] == ",":
            self.reject(place, "',' separates the arguments of min and max only; decimals have a point")
        self.reject_foreign_sign(place)
        word = _WORD.match(self.text, place)
        if word and word[0].lower() in _KEYWORDS:
            advice = "use 'and not' or 'or not'" if word[0].lower() == "not" else f"write {word[0].lower()!r} in lower case"
            self.reject(place, f"found {found} where an operator is expected; {advice}")
        self.reject(place, f"found {found} where an operator is expected, such as + - * / > == or 'and'")

    def reject_foreign_sign(self, place: int) -> None:
        """Raise if a sign of another language, or a similar one, stands at a place."""
        if match := _FOREIGN_SIGN.match(self.text, place):
            self.reject(place, f"{self.found(place)} is not used in expressions; use {_FOREIGN[match[0]]}")

    def found(self, place: int) -> str:
        """What stands at a place, with its name if it may not be on the keyboard."""
        import unicodedata

        matches = (pattern.match(self.text, place) for pattern in (_OPERATOR, _FOREIGN_SIGN, _NUMBER, _WORD))
        sign = str(next((match[0] for match in matches if match), self.text[place : place + 1]))
        is_rare = len(sign) == 1 and not sign.isascii() and (sign in _FOREIGN or not sign.isalnum())
        known = unicodedata.name(sign, "") if is_rare else ""
        return f"{sign!r:.60}{f' ({known})' * bool(known)}"
