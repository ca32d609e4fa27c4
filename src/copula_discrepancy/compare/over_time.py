"""Dependence over time: which pairs of variables and their past are compared, and what is told of paths."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.caveats import ABOUT_ROWS, ComparedSample, sample_caveats
from copula_discrepancy.compare.pair_targets import PairTargets, never_varies
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.lagging import Lagging, lagged, plan_lags
from copula_discrepancy.data.naming import BRIEF, listed

# Paths of a generator are many and short, and each stays near its start for a while: their number and their differences are no
# fault, as they would be of a sampler's chains.
_OF_CHAINS = ("one-chain", "swapped-axes", "chains-disagree", "chains-disagree-form")
_OF_DRAWS = ("divergent-draws", "divergences-unknown")


def refuse(lags: tuple[int, ...], iid: tuple[bool, bool], missing: str | None, weights: Any) -> None:
    """Raise for options that cannot be used with lags."""
    if not lags:
        return
    if any(iid):
        raise InputError(
            "iid cannot be used with lags: each row shares values with those before and after it, so that rows of a path are "
            "never independent; leave it out (standard errors then hold on paths)"
        )
    if missing in ("listwise", "drop"):
        raise InputError(
            f"missing={missing!r} cannot be used with lags: the step before a row that was dropped is another one; use "
            "missing='pairs' (--missing pairs), which uses for each pair the rows that have both values"
        )
    if weights is not None:
        raise InputError("weights cannot be used with lags: a pair of variables is many pairs of columns; leave them out")


def over_time(aims: PairTargets, lags: tuple[int, ...]) -> tuple[PairTargets, Lagging]:
    """The targets of variables and their past; margins are compared before any steps are left out."""
    if aims.reference is None:
        raise InputError(
            "lags need a reference sample to compare with, as the second argument of pairwise; a copula or a correlation "
            "matrix has no past",
            "no-target",
        )
    lagging, left_out, notes = plan_lags(aims.draws, aims.reference, lags)
    samples = lagged(aims.draws, lagging), lagged(aims.reference, lagging)
    still = [k for k in range(len(lagging.columns)) if any(never_varies(sample.values[:, :, k]) for sample in samples)]
    caveats = aims.caveats
    if still:
        names = listed([lagging.names[k] for k in still], BRIEF)
        caveats += (caveat_of("constant", f"omitted because constant without the first steps: {names}"),)
        lagging = lagging.without(still)
        if not lagging.pairs:
            raise InputError(f"no pair is left to compare; constant without the first steps: {names}", "constant")
        samples = lagged(aims.draws, lagging), lagged(aims.reference, lagging)
    told = [sample.notes[-1] for sample in samples]
    reference_notes = (f"reference: {told[1]}",)
    made = replace(
        aims, draws=samples[0], reference=samples[1], pairs=lagging.pairs, caveats=caveats,
        notes=(*aims.notes, told[0], *reference_notes, *notes), left_out=aims.left_out | left_out,
    )  # fmt: skip
    return made, lagging


def caveats_of_paths(
    told: Sequence[Caveat], before: tuple[Draws, Draws | None], sides: Sequence[ComparedSample]
) -> list[Caveat]:
    """Caveats of a comparison over time: those about draws and paths are about the samples `before` columns were added."""
    kept = [caveat for caveat in told if caveat.code not in (*ABOUT_ROWS, *_OF_DRAWS, "stuck-chain", *_OF_CHAINS)]
    original = [replace(side, draws=draws) for side, draws in zip(sides, before, strict=False) if draws is not None]
    return [*(caveat for caveat in sample_caveats(original) if caveat.code not in _OF_CHAINS), *kept]


def without_chains(caveats: Sequence[Caveat]) -> list[Caveat]:
    """Caveats without those that are about a sampler's chains."""
    return [caveat for caveat in caveats if caveat.code not in _OF_CHAINS]
