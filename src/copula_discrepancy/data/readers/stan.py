"""CmdStan's CSV files: settings in comments, columns of the sampler, and names with dots."""

import math
import re
from collections.abc import Sequence

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
    if chosen.get("method") == "variational":  # its first row is the mean of the approximation
        return 1, ("first row left out: it is the mean of the approximation",)
    thin = max(_whole(chosen, "thin", 1), 1)
    warmup = 0
    if chosen.get("save_warmup", "0").lower() in ("1", "true"):
        warmup = math.ceil(_whole(chosen, "num_warmup", 0) / thin)
    if warmup and warmup >= rows:
        raise InputError(f"the file has no draws: all of its {rows} rows are warm-up", "too-few-draws")
    notes: tuple[str, ...] = (f"{warmup} warm-up draws left out",) if warmup else ()
    expected = math.ceil(_whole(chosen, "num_samples", 0) / thin)
    if rows - warmup < expected:
        notes += (f"unfinished run: {rows - warmup} of {expected} draws",)
    return warmup, notes


def _whole(chosen: dict[str, str], name: str, default: int) -> int:
    text = chosen.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else default
