"""The best family for each of thousands of pairs: all are compared on binned ranks, and the best ones exactly.

Ranks are binned into 16 x 16 cells of the unit square. The log-probability of every cell under every family and rotation, on a
grid of taus, is computed once; the log-likelihood of a pair is then one dot product for each. The best families are fitted by
maximum likelihood to all draws and compared by AIC, as `select_family` does with all of them.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.family_curves import TABULATED
from copula_discrepancy.estimate.fit import fit_pair
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.fits import Fits
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.likelihood import DEGREES, student_part, with_df
from copula_discrepancy.estimate.pair import DISCRETE
from copula_discrepancy.estimate.pair_block import PairBlock
from copula_discrepancy.estimate.ranked_pairs import Places
from copula_discrepancy.estimate.ranks import BINS
from copula_discrepancy.families import Copula, Rotated, candidates

Array = NDArray[np.float64]

_STEPS = 40  # grid points per unit of tau: near the best theta, half a step hardly changes the likelihood
_LAST = 38  # 0.95; stronger dependence occupies so few cells that families cannot be distinguished
# a finer grid, in steps of 6%, for the df of highest likelihood: its quantiles serve all pairs
_FINE_RATIO, _FINE_RANGE = 1.06, (0.2, 100.0)
_FINALISTS = 2  # compared exactly if the binned log-likelihoods of the best differ by less than the margin
_MARGIN = 3.0
# A family of one sign has no member beyond independence. Weaker dependence than this is left to the elliptical families, so
# that both samples, with their errors, are inside; Frank is then close to the Gaussian copula and slow to compute.
_CLEARLY_DEPENDENT = 0.1
# Of a single sample the family itself is in question, and weak dependence of many draws has a shape, too: 50,000 draws of a
# Clayton copula with tau 0.1 fit no elliptical one. This many standard errors of independent draws, and at least a grid step.
_ERRORS_INSIDE, _LEAST_DEPENDENT = 2.0, 0.02
_INSIDE = 0.03  # the same for families that start at a stronger dependence
# Weight of ties from which likelihoods at mid-ranks, which are biased by them, do not choose the family of a single sample: of
# 20,000 draws the wrong one was the best in a tenth of the patterns with more, in none with less.
TIED = 0.1
_FINE_STEPS = 200.0  # of weak taus per unit


class Screened:
    """Chooses among the families that are best on binned ranks and can describe both samples."""

    def choose(self, guide: PairBlock, other: PairBlock | None) -> tuple[Fits, None]:
        """The best family's maximum likelihood fit to every pair of a block.

        Degrees of freedom are those of a small grid unless this is the only sample. If no finalist has a regular fit, the fit
        of the Gaussian copula.
        """
        taus = np.stack([block.taus for block in (guide, other) if block is not None])
        best, least = Fits(guide, "mle"), np.full(guide.taus.size, math.inf)
        varying = np.flatnonzero(np.abs(guide.taus) < 1.0)
        slots = finalists(guide, varying, taus[:, varying], alone=other is None)
        tied = np.zeros(guide.taus.size, bool) if other is not None else guide.tie_weights > TIED
        slots[:, tied[varying]] = closest_with_ties(guide, varying[tied[varying]])
        for choice in np.unique(slots[slots >= 0]).tolist():
            template, members = choices()[choice], varying[(slots == choice).any(axis=0)]
            fits = Fits(guide, "mle")
            fits.fit(members, template)
            criterion = np.where(fits.regular[members], _penalty(template) - fits.log_likelihood[members], math.inf)
            better = criterion < least[members]
            best.take(members[better], fits)
            least[members] = np.minimum(least[members], criterion)
        best.fit(np.flatnonzero(best.which < 0), gaussian())
        for k in np.flatnonzero(best.regular & np.isfinite(best.df) & ~tied).tolist() if other is None else ():
            best.put(k, _refined(best.at(k)))
        return best, None

    def instead(self, guide: Fits, fitted: Fits) -> Places:
        """Where the family of the reference cannot describe the draws: the Gaussian one then measures the gap."""
        return np.flatnonzero(guide.regular & ~fitted.regular & (np.abs(fitted.block.taus) < 1.0))


SCREENED = Screened()


def _refined(fitted: Fit) -> Fit:
    """A Student t fit with the df of highest likelihood: uphill on the fine grid, then the maximum of a parabola in log df."""
    known: dict[int, Fit] = {}

    def value(place: int) -> float:
        if place not in known:
            known[place] = fit_pair(fitted.pair, with_df(fitted.template, _FINE_RATIO**place), method="mle", iid=fitted.iid)
        return known[place].log_likelihood if known[place].regular else -math.inf

    first, last = (round(math.log(end) / math.log(_FINE_RATIO)) for end in _FINE_RANGE)
    here = min(max(round(math.log(fitted.df or 1.0) / math.log(_FINE_RATIO)), first + 1), last - 1)
    while first < here < last:
        step = max((-1, 1), key=lambda side: value(here + side))
        if value(here + step) <= value(here):
            break
        here += step
    low, top, high = (value(here + side) for side in (-1, 0, 1))
    bend = low - 2.0 * top + high
    if not (first < here < last and math.isfinite(bend) and bend < 0.0):
        return known[here] if known[here].regular else fitted
    df = _FINE_RATIO ** (here + 0.5 * (low - high) / bend)
    return fit_pair(fitted.pair, with_df(fitted.template, df), method="mle", iid=fitted.iid)


def finalists(block: PairBlock, chosen: Places, taus: Array, *, alone: bool = False) -> NDArray[np.intp]:
    """The best families of some pairs on counts of binned ranks, among those that reach every one of `taus` with some margin.

    `taus` is (sample, pair). Returned are numbers of `choices`, (finalist, pair), the best first; -1 where there is none. A
    sample that is `alone` has its sign with less dependence; with a few ties, which do not make tails, it may be a Student t.
    """
    places = np.clip(np.rint(block.taus[chosen] * _STEPS), -_LAST, _LAST).astype(np.intp)
    counts, scores = block.squares(chosen), np.empty((chosen.size, len(choices())))
    for place in np.unique(places).tolist():
        here = places == place
        # one product per pair: a common one would round differently, depending on how many pairs there are
        scores[here] = (counts[here, None] @ _log_cells(place).T)[:, 0] - _penalties()
    students = np.array([student_part(template) is not None for template in choices()])
    room = _room(block.n[chosen]) if alone else _CLEARLY_DEPENDENT
    possible = np.stack([reaches(template, taus, room) for template in choices()], axis=1)
    if not alone:
        possible &= ~(students & (block.discrete_shares(chosen) > DISCRETE)[:, None])
    scores = np.where(possible, scores, -math.inf)
    # of the Student t copulas, which differ in df, only the best is compared with other families
    best_student = np.argmax(np.where(students, scores, -math.inf), axis=1)
    rivals = students & (np.arange(students.size) != best_student[:, None])
    scores = np.where(rivals, -math.inf, scores)
    found = np.argsort(-scores, axis=1, kind="stable")[:, :_FINALISTS]
    reached = np.take_along_axis(scores, found, axis=1)
    usable = np.isfinite(reached) & (reached >= reached[:, :1] - _MARGIN)
    return np.where(usable, found, -1).T


def closest_with_ties(block: PairBlock, chosen: Places) -> NDArray[np.intp]:
    """The family whose coefficients of form, with the ties of each pair, are closest to those of the draws: (1, pair)."""
    if not chosen.size:
        return np.empty((1, 0), np.intp)
    taus, maps = block.taus[chosen], block.tie_maps(chosen, ORDER)
    own = np.stack([block.pair(k).coefficients(ORDER)[0].ravel() for k in chosen.tolist()])
    unsure = 2.0 * ties.LEVEL * block.tie_weights[chosen]
    least, best = np.full(chosen.size, math.inf), np.full(chosen.size, -1, np.intp)
    for number, template in enumerate(choices()):
        at = np.flatnonzero(reaches(template, taus[None], _room(block.n[chosen])))
        if not at.size:
            continue
        wide, wide_steep = _wide_coefficients(template, taus[at])
        some = maps[0][at], maps[1][at]
        apart, steep = own[at] - ties.with_ties(wide, *some), ties.with_ties(wide_steep, *some, constant=0.0)
        # ties move tau-b, too, so that the strength is not known exactly
        shift = np.sum(apart * steep, axis=1) / np.maximum(np.sum(steep**2, axis=1), 1e-12)
        shift = np.clip(shift, -unsure[at], unsure[at])
        # a parameter more takes up about the variance of one coefficient
        distance = np.sum((apart - shift[:, None] * steep) ** 2, axis=1) + 2.0 * _penalty(template) / block.n[chosen[at]]
        closer = distance < least[at]
        least[at[closer]], best[at[closer]] = distance[closer], number
    return best[None]


def _wide_coefficients(template: Copula, taus: Array) -> tuple[Array, Array]:
    """Coefficients of form up to degree `ties.WIDE`, and their derivatives in tau, (pair, cell), exact enough for a choice.

    Weak dependence of families of one sign, which is not tabulated, is computed at every 0.005 of tau; there coefficients are
    nearly proportional to tau.
    """
    low, high = template.tau_range
    weak = (np.abs(taus) < _CLEARLY_DEPENDENT) & (low * high == 0.0)
    found = np.empty((2, taus.size, ties.WIDE**2))
    found[:, ~weak] = TABULATED.coefficients(template, taus[~weak], ties.WIDE)
    near = np.rint(taus * _FINE_STEPS) / _FINE_STEPS  # never 0, from which `_LEAST_DEPENDENT` is four steps away
    for tau in np.unique(near[weak]).tolist():
        at = weak & (near == tau)
        one = copula_coefficients(template.with_theta(template._theta_from_tau(tau)), ties.WIDE) / tau
        found[0, at], found[1, at] = taus[at, None] * one, one
    return found[0], found[1]


def _room(n: Array) -> Array:
    """The distance from independence at which a single sample of n draws is taken to have a sign."""
    found: Array = np.clip(_ERRORS_INSIDE * 2.0 / (3.0 * np.sqrt(n)), _LEAST_DEPENDENT, _CLEARLY_DEPENDENT)
    return found


def reaches(template: Copula, taus: Array, room: Array | float = _CLEARLY_DEPENDENT) -> NDArray[np.bool_]:
    """Whether a family has members on both sides of every one of the taus, (sample, pair), with a margin.

    `room` is that from independence, where families of one sign end.
    """
    if template._mirror_images == 4:
        return np.ones(taus.shape[1], bool)
    low, high = template.tau_range
    room = room if low * high == 0.0 or low < 0.0 < high else _INSIDE
    inside: NDArray[np.bool_] = ((low == -1.0) | (taus > low + room)) & ((high == 1.0) | (taus < high - room))
    if low < 0.0 < high:
        inside = np.logical_and(inside, np.abs(taus) > room)
    return np.asarray(inside.all(axis=0))


def _penalty(template: Copula) -> float:
    return 2.0 if student_part(template) is not None else 1.0


@lru_cache(maxsize=1)
def choices() -> tuple[Copula, ...]:
    """The families that are tried, Student t with the df of the tables."""
    found: list[Copula] = []
    for template, estimate_df in candidates():
        found += [with_df(template, df) for df in DEGREES] if estimate_df else [template]
    return tuple(found)


@lru_cache(maxsize=1)
def _penalties() -> NDArray[np.float64]:
    return np.array([_penalty(template) for template in choices()])


@lru_cache(maxsize=1)
def gaussian() -> Copula:
    """The fallback family: it reaches every tau, and has a regular fit unless dependence is perfect."""
    return next(template for template in choices() if template.name == "Gaussian")


@lru_cache(maxsize=2 * _LAST + 1)
def _log_cells(place: int) -> NDArray[np.float64]:
    """Log-probabilities of all cells under every choice at one tau of the grid; very small if a family has no such member."""
    return np.stack([_log_cells_of(template, place / _STEPS) for template in choices()])


def _log_cells_of(template: Copula, tau: float) -> NDArray[np.float64]:
    if isinstance(template, Rotated):
        sign = 1.0 if template.rotation == 180 else -1.0
        cells = _cells(template.base, sign * tau)
        if cells is not None:
            cells = cells[::-1] if template._turns_u else cells
            cells = cells[:, ::-1] if template._turns_v else cells
    else:
        cells = _cells(template, tau)
    if cells is None:
        return np.full(BINS * BINS, _IMPOSSIBLE)
    return np.log(np.maximum(cells, _SMALLEST)).reshape(-1)


_IMPOSSIBLE = -1e9
_SMALLEST = 1e-12  # differences of distribution functions are accurate to about 1e-13; cells with less contain no draw


@lru_cache(maxsize=1024)
def _cells(template: Copula, tau: float) -> NDArray[np.float64] | None:
    """Probabilities of all cells; None if no member has this tau."""
    low, high = template.tau_range
    if not (low < tau < high):
        return None
    if tau < 0.0 and template._mirror_images == 4:  # an elliptical copula with the opposite sign is the mirror image
        cells = _cells(template, -tau)
        return None if cells is None else cells[:, ::-1]
    edges = np.linspace(0.0, 1.0, BINS + 1)
    member = template.with_theta(template._theta_from_tau(tau))
    if template._mirror_images == 4:  # elliptical: slow to integrate, and determined by a quarter of the square
        below = np.empty((BINS + 1, BINS + 1))
        i, j = np.nonzero(np.add.outer(np.arange(BINS + 1), np.arange(BINS + 1)) <= BINS)
        i, j = i[i <= j], j[i <= j]
        below[i, j] = below[j, i] = member.cdf(edges[i], edges[j])
        # C(1-u, 1-v) = 1 - u - v + C(u, v)
        below[BINS - i, BINS - j] = below[BINS - j, BINS - i] = 1.0 - edges[i] - edges[j] + below[i, j]
    else:
        below = member.cdf(edges[:, None], edges[None, :])
    return np.diff(np.diff(below, axis=0), axis=1)
