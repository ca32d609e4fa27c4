"""The coefficients of form that draws without a reference are compared with: those of known copulas, or of fits.

Both as they are with the ties of the draws; see `ties`.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.family_curves import Curves
from copula_discrepancy.estimate.fits import Fits
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.pair_block import PairBlock
from copula_discrepancy.families import Copula

Array = NDArray[np.float64]


def tie_strengths(block: PairBlock, fits: Fits, targets: Mapping[int, Copula]) -> Array:
    """How much ties may move what is compared with known copulas, by pair, or without a target with the fits."""
    taus = np.array([targets[k].tau if k in targets else tau for k, tau in enumerate(fits.tau.tolist())])
    return ties.strengths(block.tie_weights, taus)


def expected_forms(
    block: PairBlock, fits: Fits, targets: Mapping[int, Copula], strengths: Array, *, curves: Curves, order: int
) -> tuple[Array, Array]:
    """The coefficients of known copulas, by pair, or without a target those of the fits, whose uncertainty the block takes in.

    And a standard deviation of what ties of these `tie_strengths` may have done to the fits: both (pair, cell).
    """
    found, doubt = np.full((fits.theta.size, order**2), math.nan), np.zeros((fits.theta.size, order**2))
    tied = block.tie_weights > ties.NEGLIGIBLE
    for k, target in targets.items():
        if tied[k]:
            wide = copula_coefficients(target, ties.WIDE)[None]
            found[k] = ties.with_ties(wide, *block.tie_maps(np.array([k]), order))[0]
        else:
            found[k] = copula_coefficients(target, order)
    if targets:
        return found, doubt
    for template, members in fits.families(np.flatnonzero(np.abs(fits.tau) < 1.0)):
        steep = np.empty((members.size, order**2))
        plain, uneven = (np.flatnonzero(tied[members] == some) for some in (False, True))
        found[members[plain]], steep[plain] = curves.coefficients(template, fits.tau[members[plain]], order)
        if uneven.size:
            at = members[uneven]
            wide, wide_steep = curves.coefficients(template, fits.tau[at], ties.WIDE)
            maps = block.tie_maps(at, order)
            found[at], steep[uneven] = ties.with_ties(wide, *maps), ties.with_ties(wide_steep, *maps, constant=0.0)
            doubt[at] = (ties.FITTED * strengths[at])[:, None] * steep[uneven]
        block.expect_form(members, steep)
    return found, doubt
