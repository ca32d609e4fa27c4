"""Names in messages: listed, and looked for where one is unknown."""

from collections.abc import Sequence
from typing import Any

LISTED = 20  # names in an error: enough to find one's own, few enough to read
_COMPARED = 10_000  # names a close match is looked for among: difflib takes a second for so many


def unknown_name(name: str, available: Sequence[str], what: str = "variable") -> str:
    """A sentence that says a name is unknown, with what there is and what may have been meant."""
    import difflib

    close = difflib.get_close_matches(name, list(available[:_COMPARED]), n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ";"
    return f"there is no {what} {name!r}{meant} available: {listed(available)}"


def listed(names: Sequence[Any]) -> str:
    """The first names with commas between, and how many more there are."""
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return (", ".join(f"{name!s:.60}" for name in names[:LISTED]) or "none") + more


def some_of(names: Sequence[str], limit: int = 8) -> str:
    """The first names with commas between, and how many more there are."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
