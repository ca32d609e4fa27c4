"""What to keep in mind when reading the numbers of many pairs, or of a vine's edges."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare.pair_targets import PairAims
from copula_discrepancy.compare.wording import called, few_draws, so_few_values, too_few, too_rare
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.data.repeats import repeated_rows
from copula_discrepancy.estimate.agreement import RHAT_LIMIT, halves, still_chains
from copula_discrepancy.estimate.pair import DISCRETE, FEWEST_FOR_SHAPE, TOO_DISCRETE, on_one_grid
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.strength import FREQUENT


def cautions(
    rows: NDArray[Any],
    aims: PairAims,
    tables: tuple[RankedTable, RankedTable | None],
    *,
    iid: bool,
    unit: str,
    label: Callable[[Any], str],
) -> tuple[str, ...]:
    """What to keep in mind about chains, effective draws, discrete values and repeated rows, over all, `unit` by `unit`."""
    own, other = tables
    notes: list[str] = []
    m, things = len(rows), called(aims.draws, iid)
    for whose, sample, table in (("", aims.draws, own), ("reference: ", aims.reference, other)):
        if sample is None or table is None:
            continue
        end = "_target" if whose else ""
        if not iid or sample.chained:
            notes += [whose + sentence for sentence in still_chains(sample, called(sample, iid))]
        limit = few_draws(sample.n_chains, iid)
        few = rows[rows["n_eff" + end] < limit]
        if few.size:
            least = few[np.argmin(few["n_eff" + end])]
            what = f"{whose}n_eff is {least['n_eff' + end]:.0f} in {label(least)} and low in {few.size} of {m} {unit}s"
            notes.append(too_few(what, limit, sample.n_chains, iid, things))
        apart = rows[rows["rhat" + end] > RHAT_LIMIT]
        if apart.size:
            most = apart[np.argmax(apart["rhat" + end])]
            where = f"in {apart.size} of {m} {unit}s, {most['rhat' + end]:.3f} in {label(most)}"
            above = f"{whose}R-hat for dependence is above {RHAT_LIMIT} {where}"
            parts = "the chains" if sample.n_chains > 1 else halves(called(sample, iid))
            notes.append(f"{above}: {parts} do not agree about Kendall's tau there yet")
        if sample.n_chains > sample.n_draws and not iid:
            notes.append(
                f"{whose}{sample.n_chains} chains of {sample.n_draws} draws: more chains than draws; arrays are (chain, draw, "
                "variable), are the first two axes swapped?"
            )
    few = np.fmin(rows["n"], rows["n_target"]) < FEWEST_FOR_SHAPE
    strong = rows[np.isfinite(rows["shape_se"]) & np.isnan(rows["shape_pvalue"]) & ~few]
    if strong.size:
        which = listed([label(row) for row in strong], BRIEF)
        notes.append(f"ranks cannot resolve a dependence this strong with so few {things}: shape is not tested in {which}")
    rare = _rare(rows, aims, own, other)
    notes += [too_rare(rare, things)] if rare else []
    notes += _discrete(aims, own, other, rare)
    repeats = repeated_rows(aims.draws, aims.reference, iid)
    return *repeats, *notes  # what makes every test void comes first


def _rare(rows: NDArray[Any], aims: PairAims, own: RankedTable, other: RankedTable | None) -> list[str]:
    """The variables with which level was not tested because nearly all of their values are one."""
    untested = rows[np.isfinite(rows["level"]) & np.isnan(rows["level_pvalue"])]
    involved = {int(k) for side in ("first", "second") for k in untested[side]}
    tables = [own] if other is None else [own, other]
    return [
        aims.draws.names[k] for k in sorted(involved) if any(table.modes[k] > FREQUENT * table.present[k] for table in tables)
    ]


def _on_one_grid(aims: PairAims, k: int) -> bool:
    """Whether a variable takes the same values in both samples, however often each."""
    return aims.reference is not None and on_one_grid(aims.draws.values[:, :, k], aims.reference.values[:, :, k])


def _discrete(aims: PairAims, own: RankedTable, other: RankedTable | None, rare: Sequence[str]) -> list[str]:
    """Sentences where variables are rounded or discrete, unless the reference's are so alike, or take too few values.

    Of `rare` ones it is told already that nothing is tested.
    """
    rounded, few = [], []
    tables = [own] if other is None else [own, other]
    for k, name in enumerate(aims.draws.names):
        shares = [table.tied_shares[k] for table in tables]
        here, there = shares[0], shares[-1] if other is not None else 0.0
        if max(table.ties[k] / (0.5 * table.present[k] * (table.present[k] - 1.0)) for table in tables) > TOO_DISCRETE:
            few += [] if name in rare else [name]
        elif max(here, there) > DISCRETE and not (0.5 * here < there < 2.0 * here or _on_one_grid(aims, k)):
            rounded.append(name)
    found = []
    if few:
        found.append(so_few_values(few))
    if rounded:
        tied = "are tied, as rounded or discrete ones are" if other is None else "are rounded or discrete in one sample only"
        found.append(
            f"values of {listed(rounded, BRIEF)} {tied}: a likelihood fit treats them as continuous, which biases shape, and "
            "level a little; compare samples that are rounded alike"
        )
    return found
