"""Where divergent draws are: in the part of a pair of variables in which its dependence is wrong, or anywhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare import wording
from copula_discrepancy.compare.ranking_wording import pair_tests
from copula_discrepancy.compare.row_family import fitted_copula
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import chain_name, listed
from copula_discrepancy.estimate.basis import centred_ranks, polynomials
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.multiplicity import adjust_pvalues
from copula_discrepancy.estimate.ranks import rank_column
from copula_discrepancy.estimate.rotation import rotation_pvalue
from copula_discrepancy.estimate.tails import CORNERS

if TYPE_CHECKING:
    import pandas as pd

    from copula_discrepancy.compare.many_result import Pairwise
    from copula_discrepancy.compare.one_result import Discrepancy

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

FORM = "form"
# A smoothed density of order 4 has no finer features than about a quarter of all draws, and a smaller part has few divergences.
_PART = 0.25
_NAMED = 5  # chains
_MOST = 100  # pairs with a gap, worst first, in which divergent draws are looked for


@dataclass(frozen=True)
class DivergencePlace:
    """How many divergent draws are where a pair of variables has a gap.

    Attributes
    ----------
    names : (str, str)
        The pair.
    where : str
        "form": the quarter of the draws where the smoothed density of their ranks differs most from the target's; or a corner
        with a gap, such as "low_low".
    inside : int
        The divergent draws there.
    share, share_of_all : float
        The share of divergent draws, and of all draws, that are there.
    pvalue : float
        The probability of as many or more if divergences had nothing to do with this pair; see `rotation_pvalue`.
    adjusted : float
        The same, adjusted for all pairs and places of the result.
    least : float
        The smallest adjusted p-value that so many divergent draws could have, if all places had the smallest ones that they can
        have: if it is not small, they are too few to tell.
    """

    names: tuple[str, str]
    where: str
    inside: int
    share: float
    share_of_all: float
    pvalue: float
    adjusted: float
    least: float

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for JSON."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"names": list(self.names)}


@dataclass(frozen=True)
class Divergences:
    """The divergent draws of a comparison, and whether they are where pairs have gaps.

    A divergent draw is recorded where its trajectory ended, near the place where it diverged. A part of the distribution that
    no draw reaches has no divergent draws either: they gather at its edge, if anywhere. Finding them elsewhere, or everywhere,
    does not show that divergences are harmless, and finding them in a gap does not prove that they caused it.

    Attributes
    ----------
    n_divergent, n : int
        The number of divergent draws, and of all draws.
    by_chain : tuple of int
        The number of divergent draws in each chain.
    places : tuple of DivergencePlace
        For each pair with a gap, worst first, where its form is wrong, and its corners with a gap; up to 100 pairs.
    alpha : float
        Adjusted p-values below it count.
    n_pairs, n_gaps : int
        The number of pairs looked at, and of those with a gap.
    chains : tuple of str
        What the chains are called, if they have labels.
    """

    n_divergent: int
    n: int
    by_chain: tuple[int, ...]
    places: tuple[DivergencePlace, ...]
    alpha: float
    n_pairs: int
    n_gaps: int
    chains: tuple[str, ...] = ()

    @property
    def whole_chains(self) -> tuple[int, ...]:
        """The chains in which every draw diverged: where their divergent draws are says nothing."""
        return tuple(k for k, count in enumerate(self.by_chain) if count * len(self.by_chain) == self.n)

    @property
    def only_chain(self) -> int | None:
        """The chain that has all divergent draws, if there are others, and more than one divergent draw."""
        with_some = [k for k, count in enumerate(self.by_chain) if count]
        return with_some[0] if len(with_some) == 1 < min(len(self.by_chain), self.n_divergent) else None

    def of_pair(self, names: tuple[str, str]) -> "Divergences | None":
        """What is known of one pair, with p-values adjusted for all; None if it was not looked at."""
        places = tuple(place for place in self.places if place.names == names)
        return replace(self, places=places, n_pairs=1, n_gaps=1) if places else None

    @property
    def found(self) -> tuple[DivergencePlace, ...]:
        """The places where divergent draws gather, the smallest p-value first."""
        return tuple(sorted((place for place in self.places if place.adjusted < self.alpha), key=lambda place: place.pvalue))

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per pair and place: first, second, where, inside, share, share_of_all, pvalue, adjusted, least."""
        import pandas as pd

        rows = [
            {"first": place.names[0], "second": place.names[1], **place.to_dict()} for place in self.places
        ]  # fmt: skip
        columns = ["first", "second", "where", "inside", "share", "share_of_all", "pvalue", "adjusted", "least"]
        return pd.DataFrame(rows, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for JSON."""
        plain = {name: getattr(self, name) for name in ("n_divergent", "n", "alpha", "n_pairs", "n_gaps")}
        return plain | {
            "by_chain": list(self.by_chain),
            "chains": list(self.chains),
            "places": [place.to_dict() for place in self.places],
        }

    def _called(self, which: Sequence[int]) -> str:
        """Some chains in words."""
        names = [chain_name(self.chains, k, len(self.by_chain)) for k in which]
        if len(names) > 1 and all(name.startswith("chain ") for name in names):
            return f"chains {listed([name.removeprefix('chain ') for name in names], _NAMED)}"
        return listed(names, _NAMED)

    def sentence(self, whose: str) -> str:
        """The answer in words; empty if no draw diverged, or if no pair has a gap to look at.

        Parameters
        ----------
        whose : str
            The noun for the target, "the reference" or "the target".

        Returns
        -------
        str
            How many draws diverged, whether there is evidence that they gather where pairs have gaps, and what that cannot
            show. If most draws diverged, or all of some chains, that these are not to be trusted, with a gap or without.
        """
        whole = self.whole_chains
        if not self.n_divergent or not (self.places or whole or 2 * self.n_divergent > self.n):
            return ""
        if len(whole) == len(self.by_chain):
            return f"all {self.n:,} draws diverged, so where they are says nothing. Do not trust this run."
        count, which = f"{self.n_divergent:,} of {self.n:,} draws diverged", self._called(whole)
        if self.n_divergent * len(self.by_chain) == len(whole) * self.n:  # rotated along their chains, the marks do not change
            return f"{count}, all in {which} and none elsewhere, so where they are says nothing. Do not trust {which}."
        if 2 * self.n_divergent > self.n:
            return f"{count}, more than half, so where they are says little. Do not trust this run."
        if not self.places:
            return f"{count}, and all of {which} did. Do not trust {which}."
        found = self.found
        several = self.n_pairs > 1
        some = (
            f"the {self.n_pairs:,} worst of {self.n_gaps:,} pairs" if self.n_pairs < self.n_gaps else f"{self.n_pairs:,} pairs"
        )
        limits = "This shows where trajectories ended; parts that no draw reaches are not seen."
        if whole:
            limits += f" It says nothing about {which}, where every draw diverged: do not trust {which}."
        if self.only_chain is not None:
            limits += (
                f" All of them are in {self._called([self.only_chain])}, and draws are compared within chains only: if that "
                "chain is where the dependence is wrong, R-hat shows it."
            )
        if all(place.least >= self.alpha for place in self.places):
            return f"{count}, too few to tell whether they gather where the dependence is wrong. {limits}"
        best = min(self.places, key=lambda place: (place.adjusted, place.pvalue))
        own, every = wording.percentage(best.share), wording.percentage(best.share_of_all)
        shares = f"{own} of them, and {every} of all draws, are in {_part(best.where, whose)} ({wording.chance(best.adjusted)})"
        most = f" in {wording.pair_label(*best.names)}" if several else ""
        if not found:
            where = f"in none of {some} with a gap is there evidence" if several else "there is no evidence"
            closest = f"; most{most}, where" if several else ":"
            return f"{count}; {where} that they gather where the dependence is wrong{closest} {shares}. {limits}"
        pairs = len({place.names for place in found})
        where = f"in {pairs:,} of {some} with a gap they gather" if several else "they gather"
        return f"{count}; {where} where the dependence is wrong{f', most{most}' if several else ''}: {shares}. {limits}"


def _part(where: str, whose: str) -> str:
    """A place in words."""
    return f"the {CORNERS[where].label} corner" if where in CORNERS else f"the part that differs most from {whose}"


def of_one(result: "Discrepancy") -> Divergences | None:
    """The divergent draws of one pair; None if nothing is known about them."""
    marked = result.diverging[0]
    if marked is None or result.divergences_in_ranking is not None:
        return result.divergences_in_ranking
    pair, tests = result.fit.pair, result.tests
    gap = tests.outcome == "gap"
    places = []
    if gap and marked.any():
        u, v = (pair.x, pair.y) if pair.uniform else (centred_ranks(pair.first), centred_ranks(pair.second))
        difference = np.nan_to_num(result.form.coefficients) - np.nan_to_num(result.form.target_coefficients)
        places = _places(pair.names, (u, v), marked, difference, tests.off_corners, result.tail)
    return _adjusted(marked, places, "bh", tests.alpha, int(gap), result.chain_names)


def of_ranking(result: "Pairwise") -> Divergences | None:
    """The divergent draws of a ranking, looked for in its worst pairs; None if nothing is known about them."""
    draws, reference = result.samples
    marked = draws.diverging
    if marked is None or result.unit != "pair" or result.void:
        return None
    flagged = [row for row in result.rows if row["flagged"] and result.ordered(row)]
    places: list[DivergencePlace] = []
    if marked.any():
        bases = [_Basis(sample, result.order) for sample in (draws, reference) if sample is not None]
        for row in flagged[:_MOST]:
            i, j = int(row["first"]), int(row["second"])
            u, v, both, own = bases[0].pair(i, j)
            if len(bases) > 1:
                theirs = bases[1].pair(i, j)[-1]
            else:
                target = (result.targets or {}).get((i, j)) or fitted_copula(result, row)
                if target is None:
                    continue
                theirs = copula_coefficients(target, result.order).reshape(result.order, -1)
            names, off = (result.names[i], result.names[j]), pair_tests(result, row).off_corners
            known = marked if both is None else marked.reshape(-1)[both][None]  # rows with missing values have no chains
            if known.any():
                places += _places(names, (u, v), known, own - theirs, off, result.tail)
    return _adjusted(marked, places, result.adjust, 1.0 - result.confidence, len(flagged), draws.chain_names)


class _Basis:
    """The polynomials of the ranks of a sample, variable by variable, each computed once."""

    def __init__(self, sample: Draws, order: int) -> None:
        self.sample, self.order = sample, order
        self.known: dict[int, tuple[Array, Array]] = {}

    def _variable(self, k: int) -> tuple[Array, Array]:
        if k not in self.known:
            u = centred_ranks(rank_column(self.sample.column(k)))
            self.known[k] = u, polynomials(u, self.order)
        return self.known[k]

    def pair(self, i: int, j: int) -> tuple[Array, Array, Flags | None, Array]:
        """The ranks of two variables, between 0 and 1, and the coefficients of form, (order, order).

        Of the rows that have both values, if some have not; which these are is told between.
        """
        columns = self.sample.column(i), self.sample.column(j)
        both = ~(np.isnan(columns[0]) | np.isnan(columns[1]))
        if both.all():
            (u, first), (v, second) = self._variable(i), self._variable(j)
        else:
            u, v = (centred_ranks(rank_column(column[both])) for column in columns)
            first, second = polynomials(u, self.order), polynomials(v, self.order)
        return u, v, None if both.all() else both, first @ second.T / first.shape[1]


def _places(
    names: tuple[str, str],
    ranks: tuple[Array, Array],
    marked: Flags,
    difference: Array,
    corners: Sequence[str],
    tail: float,
) -> list[DivergencePlace]:
    """How many divergent draws are where the form of a pair is wrong, and in its corners with a gap; not adjusted."""
    u, v = ranks
    order = len(difference)
    # of the smoothed densities, at every draw
    gap = np.abs(np.einsum("jn,jk,kn->n", polynomials(u, order), difference, polynomials(v, order), optimize=True))
    parts: dict[str, Flags] = {}
    if np.ptp(gap) > 0.0:
        parts[FORM] = gap >= np.quantile(gap, 1.0 - _PART)
    for name in corners:
        corner = CORNERS[name]
        low = [(1.0 - x if high else x) <= tail for x, high in zip(ranks, (corner.u_high, corner.v_high), strict=True)]
        parts[name] = low[0] & low[1]
    return [_place(names, where, marked, inside.reshape(marked.shape)) for where, inside in parts.items()]


def _place(names: tuple[str, str], where: str, marked: Flags, inside: Flags) -> DivergencePlace:
    pvalue, least = rotation_pvalue(marked, inside)
    partly = ~marked.all(axis=1)  # a chain that diverged everywhere says nothing, whatever its part of all draws is
    if partly.any():
        marked, inside = marked[partly], inside[partly]
    count, every = int(np.count_nonzero(marked & inside)), int(marked.sum())
    share = count / every if every else float("nan")
    return DivergencePlace(names, where, count, share, float(inside.mean()), pvalue, pvalue, least)


def _adjusted(
    marked: Flags, places: Sequence[DivergencePlace], method: str, alpha: float, gaps: int, chains: tuple[str, ...]
) -> Divergences:
    told: tuple[DivergencePlace, ...] = ()
    if places:
        raw = [place.pvalue for place in places], [place.least for place in places]
        adjusted, least = (adjust_pvalues(values, method).tolist() for values in raw)
        told = tuple(replace(place, adjusted=p, least=q) for place, p, q in zip(places, adjusted, least, strict=True))
    pairs = len({place.names for place in places})
    by_chain = tuple(marked.sum(axis=1).tolist())
    return Divergences(int(marked.sum()), marked.size, by_chain, told, alpha, pairs, gaps, chains)
