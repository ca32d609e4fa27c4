"""Samples that do not fit into memory: files that a command counts instead of reading, and sketches of them."""

import argparse
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.engine import SUFFIX, needs_counting
from copula_discrepancy.estimate.scanning import checked_memory
from copula_discrepancy.estimate.sketch import DependenceSketch

_IN_MEMORY = ("by", "lags", "consequences")  # options that need rows


def check_memory(options: argparse.Namespace) -> None:
    """Report an amount of memory that cannot be understood as invalid usage."""
    try:
        checked_memory(options.memory)
    except InputError as error:
        options.parser.error(str(error).replace("memory must", "--memory must"))


def opened(options: argparse.Namespace, *paths: Any) -> list[Any] | None:
    """The samples to count, a path or a sketch each, if one of them is a sketch or too large to read; otherwise None."""
    if options.engine == "exact":
        return None
    sketches = [isinstance(path, str) and path.endswith(SUFFIX) for path in paths]
    memory = checked_memory(options.memory)
    wanted = options.engine == "counted" or any(sketches)
    if not wanted and not any(needs_counting(path, options.group, memory) for path in paths):
        return None
    refused = next((name for name in _IN_MEMORY if getattr(options, name, None)), None)
    if refused is not None:
        options.parser.error(
            f"--{refused} needs rows in memory, and these are counted while they are read; use --engine exact, on a machine "
            "with more memory, or a part of the rows"
        )
    if options.device not in ("cpu", "auto"):
        options.parser.error(
            "--device needs rows in memory, and these are counted while they are read, on the processor; omit it, or use "
            "--engine exact"
        )
    if getattr(options, "coords", None) or options.delimiter is not None or getattr(options, "parts", None) is not None:
        those = "--coords, --delimiter and --parts"
        options.parser.error(f"{those} cannot be used with files that are counted; use --engine exact")
    return [DependenceSketch.load(path) if found else path for path, found in zip(paths, sketches, strict=True)]


def selection(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the command for reading, as those of `pairwise`."""
    kinds = getattr(options, "kinds", None)
    return {
        "var_names": options.columns, "exclude": options.exclude, "filter_vars": options.filter, "group": options.group,
        "chains": options.chains, "kinds": None if kinds is None else dict(kinds), "missing": options.missing,
    }  # fmt: skip
