"""The command that repairs a file: it reads both samples, reorders the candidate and writes it under another name."""

import argparse
import sys
from dataclasses import replace
from typing import Any, NamedTuple

from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.files import json_text
from copula_discrepancy.cli.options import STANDARD_OUTPUT
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.readers.options import IfThere, ReadOptions, UnknownExcluded


class _Sample(NamedTuple):
    """A sample, the options it was read with, and the names to exclude that it does not have."""

    draws: Draws
    reading: dict[str, Any]
    unknown: dict[str, UnknownExcluded]


def repair(options: argparse.Namespace) -> int:
    """Reorder a candidate to the dependence of a reference, and write it."""
    _check_usage(options)
    from copula_discrepancy.compare.repair import mended
    from copula_discrepancy.data.rearranging_files import movable_files, record_path

    own_chains, other_chains = options.chains, options.reference_chains
    if other_chains is None:
        other_chains = IfThere(own_chains) if isinstance(own_chains, str) else own_chains
    own = _read(options, options.candidate, own_chains)
    other = _read(options, options.reference, other_chains)
    for name in own.unknown:
        if name in other.unknown:
            raise own.unknown[name]
    store = movable_files(options.candidate, own.reading)
    store.checked_path(options.out, options.force, record=True, reference=options.reference)  # before anything is computed
    result = mended(
        own.draws, other.draws, store, own.reading, only=options.only, anchor=options.anchor, rng=options.seed,
        missing=options.missing, keep_container=False,
    )  # fmt: skip
    result = replace(result, provenance={**result.provenance, "reference": options.reference})
    written = result.save(options.out, force=options.force, record=True)
    where = f"Written: {written}; what was done: {record_path(written)}"
    if options.json == STANDARD_OUTPUT:
        ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        print(json_text(result.to_dict() | {"written": str(written)}, ascii_only=ascii_only), end="")
        print(where, file=sys.stderr)
    else:
        print(f"{result!r}\n\n{where}")
    sys.stdout.flush()  # write errors must occur here
    return 0


def _check_usage(options: argparse.Namespace) -> None:
    """Report invalid usage that is clear before any file is read."""
    try:
        ReadOptions.checked(
            options.columns, options.filter, options.group, None, options.chains, options.delimiter, options.exclude
        )
    except InputError as error:
        message = str(error)
        for argument, option in (("filter_vars", "--filter"), ("var_names", "--columns"), ("exclude must", "--exclude must")):
            message = message.replace(argument, option)
        options.parser.error(message)


def _read(options: argparse.Namespace, path: str, chains: Any) -> _Sample:
    """A sample, and the names to exclude that it does not have: the other sample may have them."""
    coords: dict[str, list[str]] = {}
    for dimension, labels in options.coords or ():
        coords.setdefault(dimension, []).extend(labels)
    excluded, unknown = list(options.exclude or ()), dict[str, UnknownExcluded]()
    while True:
        reading = {
            "var_names": options.columns, "filter_vars": options.filter if options.columns or excluded else None,
            "group": options.group, "coords": coords or None, "chains": chains, "delimiter": options.delimiter,
            "exclude": excluded or None, "missing": "pairs",
        }  # fmt: skip
        try:
            return _Sample(as_draws(path, **reading), reading, unknown)
        except UnknownExcluded as error:
            unknown[error.name] = error
            excluded.remove(error.name)
