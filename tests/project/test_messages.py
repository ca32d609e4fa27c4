"""The wording of errors for invalid input, kept in one file, messages.txt, so that a better sentence changes that file alone.

``python -m tests.project.test_messages`` in the repository's root writes the file anew.
"""

from pathlib import Path

import pytest

import copula_discrepancy as cd
from tests.project.refused_calls import COMPARISONS, COPULAS, DATA, DRAWS, evaluated

SNAPSHOT = Path(__file__).with_name("messages.txt")


def answer(call):
    """The error of a call, with its code."""
    with pytest.raises(cd.InputError) as caught:
        evaluated(call)
    return f">>> {call}\n[{caught.value.code}] {caught.value}"


def messages():
    """The text of the snapshot."""
    blocks = {
        "Draws of a pair": [f"cd.fit({draws}, 'gumbel')" for draws, *_ in DRAWS],
        "Copulas": [call for call, *_ in COPULAS],
        "Data": [call for call, *_ in DATA],
        "Fits and comparisons": [call for call, *_ in COMPARISONS],
    }
    return "\n\n".join("\n".join([f"# {title}", *map(answer, calls)]) for title, calls in blocks.items()) + "\n"


def test_every_message_is_as_it_was_agreed_on():
    """A change of wording is a change of messages.txt, which a reviewer reads; see the top of this file."""
    assert messages() == SNAPSHOT.read_text(encoding="utf-8")


if __name__ == "__main__":
    SNAPSHOT.write_text(messages(), encoding="utf-8")
