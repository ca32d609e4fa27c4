"""Selection of a copula family: all families and rotations, ranked by Akaike's criterion."""

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from copula_discrepancy._core.checks import true_or_false
from copula_discrepancy._core.errors import InputError, enough_memory
from copula_discrepancy.data.draws import numeric_draws
from copula_discrepancy.estimate.fit import announce, fit_pair
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.fits import Fits
from copula_discrepancy.estimate.pair import DISCRETE, RankedPair
from copula_discrepancy.estimate.pair_block import PairBlock
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.repeated_chains import chains_once, repeated_chains_caveats
from copula_discrepancy.estimate.screening import TIED, choices, closest_with_ties
from copula_discrepancy.estimate.standard_error import require_chain_length
from copula_discrepancy.families import Gaussian, candidates

# Burnham and Anderson (2002): a model within 2 of the best has substantial support, from 10 on essentially none.
CLOSE_RACE = 2.0


@dataclass(frozen=True, eq=False)
class Selection:
    """Families ranked by AIC = 2 k - 2 log-likelihood, the best first.

    Result of `select_family`; print it for the table.

    Attributes
    ----------
    fits : tuple of Fit
        The fits, best first; each has its family, theta and log-likelihood.
    aic : tuple of float
        Their criteria, in the same order, from all draws.
    worth : float
        The factor that scales differences of AIC: n_eff / n of Kendall's tau, 1 for independent draws.
    notes : tuple of str
        Notes on how the draws were read.

    See Also
    --------
    select_family : The function that returns it.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> choice = cd.select_family(cd.Frank(8.0).sample(500, rng=1), iid=True)
    >>> choice.best.family, choice.lead > 2, len(choice.fits)
    ('Frank', True, 23)
    """

    fits: tuple[Fit, ...]
    aic: tuple[float, ...]
    worth: float
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Fit:
        """The fit with the smallest AIC."""
        return self.fits[0]

    @property
    def lead(self) -> float:
        """The difference in AIC to the second best fit."""
        return self.aic[1] - self.aic[0]

    def words(self) -> str:
        """The choice in one sentence.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> print(cd.select_family(cd.Frank(8.0).sample(500, rng=1), iid=True).words())
        Frank has the lowest AIC of 23 families and rotations, Gaussian is 30.8 behind
        """
        counted = f" ({self.worth * self.lead:.2g} after scaling by n_eff / n)" if self.worth < 0.9 else ""
        close = "; too close to call" if self.worth * self.lead < CLOSE_RACE else ""
        behind = f"{self.fits[1].family} is {self.lead:.3g} behind{counted}{close}"
        return f"{self.best.family} has the lowest AIC of {len(self.fits)} families and rotations, {behind}"

    def to_dict(self) -> dict[str, Any]:
        """Names, parameters and criteria, ready for JSON."""
        rows = zip(self.fits, self.aic, strict=True)
        ranking = [{"family": fit.family, "theta": fit.theta, "df": fit.df, "aic": aic} for fit, aic in rows]
        return {"ranking": ranking, "notes": list(self.notes)}

    def __repr__(self) -> str:
        lines = [f"{self.best.n} draws: {self.words()}", "  family         theta      df     AIC - best"]
        for fit, aic in zip(self.fits, self.aic, strict=True):
            df = f"{fit.df:.4g}" if fit.df is not None else ""
            lines.append(f"  {fit.family:<12}{fit.theta:>8.4g}{df:>8}{aic - self.aic[0]:>15.4g}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])


@enough_memory
def select_family(draws: Any, *, margins: str = "rank", iid: bool = False) -> Selection:
    """Rank all families and rotations by Akaike's criterion on one sample.

    AIC = 2 k - 2 log-likelihood with k parameters, two for Student t and one for all others (Akaike, 1974). Rotations are
    included if they differ: Frank, Gaussian and Student t copulas are symmetric.

    Parameters
    ----------
    draws : array (n, 2) or (chain, draw, 2), or anything `as_draws` accepts
        The sample; a chain that has the same draws as another is left out, with a warning and a note.
    margins : {"rank", "uniform"}
        See `fit`.
    iid : bool
        Treat the draws as independent.

    Returns
    -------
    Selection
        The fits, best first. A family whose likelihood could not be maximised is omitted.

    Raises
    ------
    InputError
        For draws that `fit` rejects, including NaN and infinite values, and for perfectly dependent ones, which every family
        fits infinitely well.

    See Also
    --------
    fit : One family.
    pairwise : Chooses a family for every pair.

    Notes
    -----
    The log-likelihood counts every draw; on an autocorrelated chain, the lead is scaled by n_eff / n. With ties of rounded or
    discrete values Student t is omitted: its df would tend to zero. The best of several wrong families is still wrong; check
    the shape gap of `discrepancy`.

    References
    ----------
    Akaike, H. (1974). A new look at the statistical model identification. IEEE Transactions on Automatic Control 19, 716-723.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.select_family(cd.Clayton(3.0).sample(2000, rng=1)).best.family
    'Clayton'
    """
    independent = true_or_false(iid, "iid")
    values = chains_once(numeric_draws(draws), iid=independent)
    if not independent:
        require_chain_length(values.n_draws)
    chosen = select_pair(RankedPair.from_draws(values, margins), iid=independent)
    announce(tuple(repeated_chains_caveats(values, iid=independent)))
    return replace(chosen, notes=values.notes)


class Selector(Protocol):
    """Chooses the family of every pair: by comparing all of them exactly, or the best on binned ranks."""

    def choose(self, guide: PairBlock, other: PairBlock | None) -> tuple[Fits, list[Selection | None] | None]:
        """The fits of the best families to the guiding sample, and the rankings, if there are any."""

    def instead(self, guide: Fits, fitted: Fits) -> Places:
        """Pairs that need the Gaussian family because the chosen one cannot describe the other sample."""


class Full:
    """Compares all families and rotations exactly on the sample that the choice is based on, as `select_family` does."""

    def choose(self, guide: PairBlock, other: PairBlock | None) -> tuple[Fits, list[Selection | None]]:
        """The fits of the families with the lowest AIC, and the rankings."""
        chosen, selections = Fits(guide, "mle"), []
        alone = other is None
        tied = guide.tie_weights > TIED if alone else np.zeros(guide.taus.size, bool)  # then likelihoods do not choose
        closest = dict(
            zip(np.flatnonzero(tied).tolist(), closest_with_ties(guide, np.flatnonzero(tied))[0].tolist(), strict=True)
        )
        for k in range(guide.taus.size):
            pair, selection = guide.pair(k), None
            if pair.perfect_sign(by_rank=False) != 0.0:  # every family fits infinitely well
                chosen.put(k, fit_pair(pair, Gaussian(0.5), method="mle", iid=guide.iid))
            elif closest.get(k, -1) >= 0:
                chosen.put(k, fit_pair(pair, choices()[closest[k]], method="mle", iid=guide.iid))
            else:
                selection = select_pair(pair, iid=guide.iid, few_ties=alone)
                chosen.put(k, selection.best)
            selections.append(selection)
        return chosen, selections

    def instead(self, guide: Fits, fitted: Fits) -> Places:
        """Keep the best family of the reference: a fit of the draws at its bound is a result."""
        return np.empty(0, np.intp)


FULL = Full()


def select_pair(pair: RankedPair, *, iid: bool, few_ties: bool = False) -> Selection:
    """Rank the families on a ranked pair; with `few_ties`, which do not make tails, Student t is one of them."""
    if pair.perfect_sign(by_rank=False) != 0.0:
        raise InputError(
            "the draws are perfectly dependent, so no family fits better than another; pass a family, such as family='gumbel'",
            "perfect-dependence",
        )
    fits = []
    discrete = not few_ties and pair.discrete_share() > DISCRETE
    for template, estimate_df in candidates():
        if discrete and estimate_df:
            continue
        fitted = fit_pair(pair, template, method="mle", estimate_df=estimate_df, iid=iid)
        if math.isfinite(fitted.log_likelihood) and fitted.converged and fitted.df_on_bound != "lower":
            parameters = 2.0 if estimate_df else 1.0
            fits.append((2.0 * parameters - 2.0 * fitted.log_likelihood, fitted))
    fits.sort(key=lambda entry: entry[0])
    n_eff = fits[0][1].spreads["tau"].n_eff
    worth = min(n_eff / pair.n, 1.0) if math.isfinite(n_eff) else 1.0
    return Selection(tuple(fitted for _, fitted in fits), tuple(aic for aic, _ in fits), worth)
