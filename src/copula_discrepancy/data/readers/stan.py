"""CmdStan's CSV files: settings in comments, columns of the sampler, and names with dots."""

import math
import re
from collections.abc import Mapping, Sequence

from copula_discrepancy._core.errors import InputError

DIVERGENT = "divergent__"  # the sampler's column that is 1 where a trajectory diverged
_SETTING = re.compile(r"#\s*(\w+)\s*=\s*([^\s(]*)")
_INDEXED = re.compile(r"([^:]+?)((?:\.\d+)+)")


def is_stan(comments: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a file with these comments and columns was written by Stan."""
    return bool(comments) and (any(name.endswith("__") for name in names) or "stan_version_major" in settings(comments))


def settings(comments: Sequence[str]) -> dict[str, str]:
    """The settings in the comments, as text; if a name occurs twice, its first value."""
    found = (_SETTING.match(comment) for comment in reversed(comments))
    return {match[1]: match[2] for match in found if match}


def variable_name(name: str) -> str:
    """theta.1.2 as theta[1, 2]; names of tuples, which have colons, are kept."""
    match = _INDEXED.fullmatch(name)
    return f"{match[1]}[{match[2][1:].replace('.', ', ')}]" if match else name


def rows_before_draws(comments: Sequence[str], rows: int) -> tuple[int, tuple[str, ...]]:
    """The number of rows before the draws, and notes on those and on an unfinished run."""
    chosen = settings(comments)
    begin = rows_left_out(chosen)
    if chosen.get("method") == "variational":
        return begin, ("first row left out: it is the mean of the approximation",)
    if begin and begin >= rows:
        raise InputError(f"the file has no draws: all of its {rows} rows are warm-up", "too-few-draws")
    notes: tuple[str, ...] = (f"{begin} warm-up draws left out",) if begin else ()
    expected = expected_draws(chosen) or 0
    if rows - begin < expected:
        notes += (f"unfinished run: {rows - begin} of {expected} draws",)
    return begin, notes


def rows_left_out(chosen: Mapping[str, str]) -> int:
    """The number of rows before the draws: saved warm-up, or the mean of a variational approximation, which is one row."""
    if chosen.get("method") == "variational":
        return 1
    if chosen.get("save_warmup", "0").lower() not in ("1", "true"):
        return 0
    return math.ceil(_whole(chosen, "num_warmup", 0) / _thin(chosen))


def expected_draws(chosen: Mapping[str, str]) -> int | None:
    """The number of draws of a finished chain, if the settings tell it."""
    return math.ceil(_whole(chosen, "num_samples", 0) / _thin(chosen)) or None


def _thin(chosen: Mapping[str, str]) -> int:
    return max(_whole(chosen, "thin", 1), 1)


def _whole(chosen: Mapping[str, str], name: str, default: int) -> int:
    text = chosen.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else default
