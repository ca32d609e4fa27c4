"""Fuzz targets: sketches of tables, and comparisons of rows that were counted."""

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import copula_discrepancy as cd
from tests.fuzz import oracle
from tests.fuzz.arrays import Fuzz, anything, damaged
from tests.fuzz.kinds import FLAG, NAMES, Kind, choice, draws, sample
from tests.fuzz.oracle import need
from tests.fuzz.target import Target


def _cuts(f: Fuzz) -> list[int]:
    return sorted(f.between(1, 100) for _ in range(f.between(1, 3)))


ROWS = Kind(lambda f: f.rng.standard_normal((120 + f.between(0, 40), f.width)), lambda f: damaged(f, sample(f, f.width)))
CUTS = Kind(_cuts, lambda f: f.one([0, 10], [], [5000], -1, "a", anything(f)))
RESOLUTION = Kind(lambda f: f.one(None, 16, 100, 240), lambda f: f.one(0, 15, 241, 2.5, "fine", anything(f)))
MEMORY = Kind(lambda f: f.one("2GB", "500MB", 1e9), lambda f: f.one("2 GBs", 0, -1.0, float("nan"), "", None, anything(f)))


def counted_in_parts(rows: Any, cuts: Any, **choices: Any) -> Any:
    """A sketch of the rows at once, and one of their parts, merged from behind, saved and read."""
    plan = cd.DependenceSketch.plan(rows, **choices)
    whole = cd.DependenceSketch.of(rows, **choices)
    given = cd.as_draws(rows)
    if not isinstance(cuts, list) or not all(isinstance(cut, int) and cut > 0 for cut in cuts):
        raise cd.InputError(f"cuts must be positive numbers, got {cuts!r}")
    merged = cd.DependenceSketch.empty(plan.plan_)
    for chain in range(given.n_chains):
        columns = {name: given.values[chain, :, k] for k, name in enumerate(given.names)}
        edges = [0, *(cut for cut in cuts if cut < given.n_draws), given.n_draws]
        for start, stop in reversed([*pairwise(edges)]):
            part = {name: values[start:stop] for name, values in columns.items()}
            merged.merge(cd.DependenceSketch.empty(plan.plan_).update(part, start=start, chain=chain))
    whole.finish()
    with tempfile.TemporaryDirectory() as folder:
        path = merged.save(Path(folder) / "rows.sketch")
        return whole, cd.DependenceSketch.load(path)


def check_parts(answer: Any, given: dict[str, Any]) -> None:
    whole, merged = answer
    need(repr(whole) and whole.n == merged.n > 0, "another number of rows")
    need(whole.counts.sum() == merged.counts.sum(), "other counts")
    need(bool((whole.counts == merged.counts).all()), "counts that depend on the order")
    need(whole.finish().n == whole.n, "another table")


def check_counted(answer: cd.Pairwise, given: dict[str, Any]) -> None:
    oracle.pairwise(answer)
    need(answer.counted, "rows that were not counted")
    need(any("were counted" in note for note in answer.notes), "nothing said of how they were compared")


TARGETS = [
    Target(
        "DependenceSketch",
        counted_in_parts,
        {"rows": ROWS, "cuts": CUTS},
        check_parts,
        1.5,
        tuple(f"DependenceSketch.{name}" for name in ("plan", "of", "empty", "update", "merge", "finish", "save", "load")),
        options={"iid": FLAG, "resolution": RESOLUTION, "memory": MEMORY, "var_names": NAMES},
    ),
    Target(
        "pairwise of counts",
        lambda draws, target, **choices: cd.pairwise(draws, target, engine="counted", **choices),
        {
            "draws": draws(None),
            "target": draws(None),
            "iid": Kind(lambda f: True, lambda f: f.one(False, "draws", anything(f))),
        },
        check_counted,
        1.5,
        options={"memory": MEMORY, "var_names": NAMES, "method": choice("mle", "moment")},
    ),
]
