"""What CmdStan writes into its CSV files besides draws: its settings, its sampler's columns, its own names."""

import math
import re
from collections.abc import Sequence

from copula_discrepancy._core.errors import InputError

_SETTING = re.compile(r"#\s*(\w+)\s*=\s*([^\s(]*)")
_INDEXED = re.compile(r"([^:]+?)((?:\.\d+)+)")


def is_stan(comments: Sequence[str], names: Sequence[str]) -> bool:
    """Comments at the top, and a column of the sampler's or Stan's version among them."""
    return bool(comments) and (any(name.endswith("__") for name in names) or "stan_version_major" in settings(comments))


def settings(comments: Sequence[str]) -> dict[str, str]:
    """The settings in the comments, as text; of a name that occurs twice, the first."""
    found: dict[str, str] = {}
    for comment in comments:
        match = _SETTING.match(comment)
        if match:
            found.setdefault(match[1], match[2])
    return found


def variable_name(name: str) -> str:
    """theta.1.2 as theta[1, 2]; names of tuples, which have colons, stay as they are."""
    match = _INDEXED.fullmatch(name)
    return f"{match[1]}[{match[2][1:].replace('.', ', ')}]" if match else name


def rows_before_draws(comments: Sequence[str], rows: int) -> tuple[int, tuple[str, ...]]:
    """How many of the first rows are no draws, and notes on those, and on draws that are missing."""
    said = settings(comments)
    if said.get("method") == "variational":  # its first row is the mean of the approximation
        return 1, ("the first row, the mean of the approximation, left out",)
    thin = max(_whole(said, "thin", 1), 1)
    warmup = 0
    if said.get("save_warmup", "0").lower() in ("1", "true"):
        warmup = math.ceil(_whole(said, "num_warmup", 0) / thin)
    if warmup and warmup >= rows:
        raise InputError(f"it holds no draws: all of its {rows} rows are warm-up, {warmup} of which were asked for")
    notes: tuple[str, ...] = (f"{warmup} warm-up draws left out",) if warmup else ()
    asked = math.ceil(_whole(said, "num_samples", 0) / thin)
    if rows - warmup < asked:
        notes += (f"{rows - warmup} of {asked} draws are there: the run is unfinished",)
    return warmup, notes


def _whole(said: dict[str, str], name: str, default: int) -> int:
    text = said.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else default
