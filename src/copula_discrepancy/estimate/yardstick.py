"""What corners and coefficients of form are compared with: the member of a family with the tau of the sample."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.family_curves import Curves
from copula_discrepancy.estimate.fits import Fits
from copula_discrepancy.estimate.pair_block import PairBlock
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.screening import gaussian
from copula_discrepancy.estimate.tails import CORNERS, nearly_perfect, reachable
from copula_discrepancy.families import Copula

Array = NDArray[np.float64]


class Yardsticks:
    """The family of every pair that is measured against: the fitted one if it reaches all taus.

    Otherwise the target itself or, for two samples, the Gaussian family; none for taus that no family has members around.

    Parameters
    ----------
    fits : Fits
        The fitted families.
    taus : array (sample, pair)
        The taus to be reached.
    targets : mapping from int to Copula
        Known targets, by the number of the pair.
    """

    def __init__(self, fits: Fits, taus: Array, targets: Mapping[int, Copula]) -> None:
        reached = np.zeros(taus.shape[1], bool)
        self._families: list[tuple[Copula, Places]] = []
        for template, members in fits.families():
            some = reachable(template, taus[:, members]).all(axis=0)
            reached[members] = some
            self._families.append((template, members[some]))
        others = np.flatnonzero(~reached & ~nearly_perfect(taus).any(axis=0))
        self.fixed = {k: targets[k] for k in others.tolist() if k in targets}
        self._families.append((gaussian(), np.array([k for k in others.tolist() if k not in targets], np.intp)))
        self.known = reached.copy()
        self.known[others] = True

    def families(self) -> Iterator[tuple[Copula, Places]]:
        """Each family with the pairs whose member has the sample's own tau."""
        return ((template, members) for template, members in self._families if members.size)

    def expect_in(self, block: PairBlock, chosen: NDArray[np.bool_], curves: Curves) -> None:
        """Add the expected shares in the corners of the chosen pairs to a block."""
        wanted = block.has_corners() & (self.known & chosen)[:, None]
        expected, slopes = np.full(wanted.shape, np.nan), np.zeros(wanted.shape)
        shares, n = block.tail_shares, block.n
        for template, members in self.families():
            for end, corner in enumerate(CORNERS.values()):
                at = members[wanted[members, end]]
                for count in np.unique(n[at]).tolist():
                    here = at[n[at] == count]
                    taus, u, v = block.taus[here], shares[here, end, 0], shares[here, end, 1]
                    expected[here, end], slopes[here, end] = curves.corner_shares(template, taus, corner, u, v, int(count))
        for k, target in self.fixed.items():
            for end, corner in enumerate(CORNERS.values()):
                if wanted[k, end]:
                    expected[k, end] = corner.probability(target, *shares[k, end].tolist())
        block.expect(wanted, expected, slopes)

    def difference_of_form(self, taus: tuple[Array, Array], order: int, chosen: Places, curves: Curves) -> Array:
        """The difference of coefficients that one of taus makes, for the chosen pairs, (pair, cell); NaN if it is not known."""
        found = np.full((taus[0].size, order * order), np.nan)
        for template, members in self.families():
            at = members[np.isin(members, chosen)]
            if at.size:
                own, other = (curves.coefficients(template, values[at], order)[0] for values in taus)
                found[at] = own - other
        return found[chosen]
