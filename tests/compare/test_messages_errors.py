"""The wording of the errors of comparisons, kept in one file, messages_errors.txt; codes and names are tested elsewhere.

``python -m tests.compare.test_messages_errors`` in the repository's root writes the file anew.
"""

import sys
from pathlib import Path

import pytest

import copula_discrepancy as cd
from tests.compare.misuse import GROUPS, SAMPLE, Misuse

SNAPSHOT = Path(__file__).with_name("messages_errors.txt")


def message(case: Misuse) -> str:
    with pytest.raises(cd.InputError) as caught:
        case.call()
    return f"[{caught.value.code}] {caught.value}"


def messages(monkeypatch):
    """The text of the snapshot."""
    blocks = []
    for group, cases in GROUPS.items():
        blocks.append(f"# {group}")
        blocks += [f"{scene}:\n    {message(case)}" for scene, case in cases.items()]
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyvinecopulib", None)
        missing = message(Misuse(lambda: cd.vine(SAMPLE, SAMPLE), "", ()))
    return "\n\n".join([*blocks, f"# vine without its package\n{missing}"]) + "\n"


def test_every_error_is_as_it_was_agreed_on(monkeypatch):
    """A change of wording is a change of messages_errors.txt, which a reviewer reads; see the top of this file."""
    pytest.importorskip("pyvinecopulib")
    assert messages(monkeypatch) == SNAPSHOT.read_text()


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as own_patch:
        SNAPSHOT.write_text(messages(own_patch))
