"""The command that repairs a file: it reads both samples, reorders the candidate and writes it under another name."""

import argparse
import sys
from dataclasses import replace
from functools import partial
from typing import Any

from copula_discrepancy._core.files import json_text
from copula_discrepancy.cli import reading
from copula_discrepancy.cli.delivery import say
from copula_discrepancy.cli.options import STANDARD_OUTPUT
from copula_discrepancy.data.draws import Draws, numeric_draws
from copula_discrepancy.data.readers.options import IfThere


def repair(options: argparse.Namespace) -> int:
    """Reorder a candidate to the dependence of a reference, and write it."""
    reading.check_reading(options)
    from copula_discrepancy.compare.repair import mended
    from copula_discrepancy.data.rearranging_files import movable_files, record_path

    own_chains, other_chains = options.chains, options.reference_chains
    if other_chains is None:
        other_chains = IfThere(own_chains) if isinstance(own_chains, str) else own_chains
    (draws, settings), missed = reading.without_unknown(options, partial(_read, options, options.candidate, own_chains))
    (reference, _), others = reading.without_unknown(options, partial(_read, options, options.reference, other_chains))
    reading.require_known(missed, others)
    store = movable_files(options.candidate, settings)
    store.checked_path(options.out, options.force, record=True, reference=options.reference)  # before anything is computed
    result = mended(
        draws, reference, store, settings, only=options.only, anchor=options.anchor, rng=options.seed,
        missing=options.missing, keep_container=False,
    )  # fmt: skip
    result = replace(result, provenance={**result.provenance, "reference": options.reference})
    written = result.save(options.out, force=options.force, record=True)
    where = f"Written: {written}; what was done: {record_path(written)}"
    if options.json == STANDARD_OUTPUT:
        ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        print(json_text(result.to_dict() | {"written": str(written)}, ascii_only=ascii_only), end="")
        say(where)
    else:
        print(f"{result!r}\n\n{where}")
    sys.stdout.flush()  # write errors must occur here
    return 0


def _read(options: argparse.Namespace, path: str, chains: Any, excluded: list[str]) -> tuple[Draws, dict[str, Any]]:
    """A sample, and what it was read with."""
    settings = reading.settings(options, chains, excluded) | {"missing": "pairs"}
    if not options.columns and not excluded:
        settings["filter_vars"] = None
    return numeric_draws(path, **settings), settings
