"""Caveats of a comparison: the same for one pair, for many pairs and for the edges of a vine."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of
from copula_discrepancy.compare.counted_draws import CountedDraws
from copula_discrepancy.compare.wording import called, few_draws, halves, per_chain, visibly_above
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.data.readers.divergences import UNKNOWN_DIVERGENCES
from copula_discrepancy.data.repeats import repeated_rows
from copula_discrepancy.estimate import ties
from copula_discrepancy.estimate.agreement import RHAT_LIMIT
from copula_discrepancy.estimate.coded_samples import left_out_share
from copula_discrepancy.estimate.counted_table import CountedTable
from copula_discrepancy.estimate.fit_caveats import bound_caveat, df_caveat
from copula_discrepancy.estimate.form import FORM_RHAT_LIMIT
from copula_discrepancy.estimate.likelihood import DF_RANGE
from copula_discrepancy.estimate.pair import DISCRETE, FEWEST_FOR_SHAPE, TOO_DISCRETE, on_one_grid
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.repeated_chains import repeated_chains_caveats
from copula_discrepancy.estimate.strength import FREQUENT
from copula_discrepancy.families import Copula, resolve_family

_MUCH = 0.05  # share of rows in levels that are not compared from which the answer has a reservation
# Weight of ties times the root of the number of draws from which standard errors of shape are a third larger, or more.
_NO_SMALL_PART = 0.3
_NAMED = 8  # stuck chains that get a caveat each; of the others only the number is given
_FITTED = ("tau", "theta")
_NEARLY = 1.0 - 1e-9  # |tau| above which a moment estimate may round to its limit

ABOUT_ROWS = ("same-rows", "copied-rows", "repeated-rows", "repeated-chains")  # codes about whole rows, not about a pair


@dataclass(frozen=True, eq=False)
class ComparedSample:
    """One of the two samples of a comparison.

    Attributes
    ----------
    draws : Draws
        The sample.
    table : RankedTable
        Its ranks, variable by variable.
    iid : bool
        Whether its draws were treated as independent.
    reference : bool
        Whether it is the reference; its columns in a row end in "_target".
    """

    draws: Draws
    table: RankedTable | CountedTable
    iid: bool
    reference: bool = False

    @property
    def prefix(self) -> str:
        """The start of its sentences."""
        return "reference: " if self.reference else ""

    @property
    def end(self) -> str:
        """The suffix of its columns in a row."""
        return "_target" if self.reference else ""

    @property
    def things(self) -> str:
        """The noun for its observations."""
        return called(self.draws, self.iid)

    @property
    def few(self) -> int:
        """Effective draws below which its tests are approximate."""
        return few_draws(self.draws.n_chains, self.iid)

    def too_few(self, n_eff: float) -> str:
        """The sentence on too few effective draws, up to where they are too few."""
        more = "; use more draws" if self.things == "draws" else ""
        below = f"below {self.few}{per_chain(self.draws.n_chains, self.iid)}"
        return f"n_eff is {n_eff:.0f}, {below}: standard errors and tests are approximate{more}"

    def caveat(self, code: str, sentence: str) -> Caveat:
        """A caveat about this sample."""
        return caveat_of(code, self.prefix + sentence)


@dataclass(frozen=True, eq=False)
class Compared:
    """The rows of a comparison, with the text that locates a sentence among them.

    Attributes
    ----------
    rows : structured array
        One row per pair; see `compare.rows`.
    unit : str
        The noun for a row, "pair" or "edge".
    label : callable
        Function that returns the pair of a row as text.
    method : {"mle", "moment"}
        How families were fitted.
    families : mapping from str to Copula
        Members of the families passed by the user; others are looked up by the name in a row.
    df_estimated : bool
        Whether degrees of freedom were estimated.
    """

    rows: NDArray[Any]
    unit: str
    label: Callable[[Any], str]
    method: str
    families: Mapping[str, Copula]
    df_estimated: bool = False

    def located(self, sentence: str, some: NDArray[Any], row: Any, such: str = "worst in") -> str:
        """A sentence about a row, followed by the number of rows it applies to; omitted if there is one row only."""
        if len(self.rows) == 1:
            return sentence
        if some.size == 1:
            return f"{sentence} (in {self.label(row)})"
        return f"{sentence} (in {some.size:,} of {len(self.rows):,} {self.unit}s, {such} {self.label(row)})"

    def family(self, name: str) -> Copula:
        """A member of a family."""
        return self.families.get(name) or resolve_family(name, None)[0]


def sides_of(samples: tuple[Draws, Draws | None], tables: tuple[Any, Any], iid: tuple[bool, bool]) -> list[ComparedSample]:
    """The draws, and the reference if there is one."""
    both = zip(samples, tables, iid, (False, True), strict=True)
    return [ComparedSample(draws, table, *rest) for draws, table, *rest in both if draws is not None and table is not None]


def comparison_caveats(compared: Compared, sides: Sequence[ComparedSample]) -> tuple[Caveat, ...]:
    """All caveats of a comparison: rows, chains, effective draws, fits at a bound, and discrete values.

    Parameters
    ----------
    compared : Compared
        The rows, one per pair.
    sides : sequence of ComparedSample
        The draws and, if there is one, the reference.

    Returns
    -------
    tuple of Caveat
        Caveats that invalidate every test come first.
    """
    own, other = sides[0], sides[1] if len(sides) > 1 else None
    iid = own.iid, other is not None and other.iid
    caveats = _repeats(own, other, iid)
    for side in sides:
        caveats += [*_divergent(side), *_still(side), *_repeated_chains(side), *_effective(compared, side)]
        caveats += [*_agreement(compared, side), *_chains(side)]
        caveats += _agreement_in_form(compared, side)
        caveats += _bounds(compared, side)
    caveats += _degrees(compared, sides[-1])  # estimated from the reference, if there is one
    caveats += _strong(compared, own)
    rare = _rare(compared, sides)
    if rare:
        sentence = f"too few {own.things} differ from the most frequent value of {listed(rare, BRIEF)} to test its dependence"
        caveats.append(caveat_of("rare-values", sentence))
    return *caveats, *_discrete(compared, sides, rare)


def _repeats(own: ComparedSample, other: ComparedSample | None, iid: tuple[bool, bool]) -> list[Caveat]:
    """Rows that repeat others; of samples that were counted, only whether they are the same."""
    if not isinstance(own.draws, CountedDraws):
        return [*repeated_rows(own.draws, None if other is None else other.draws, iid)]
    if other is None or not isinstance(other.draws, CountedDraws) or not own.draws.same_counts(other.draws):
        return []
    return [caveat_of("same-rows", f"the {own.things} and the reference have the same counts, as if they were the same rows")]


def level_caveats(coded: Any, names: Sequence[str]) -> list[Caveat]:
    """Columns of which rare levels were pooled, or of which levels were left out because the samples differ in them."""
    if coded is None:
        return []
    pooled: list[str] = []
    omitted: list[str] = []
    many: list[str] = []
    for name, own, other in zip(names, coded.own, coded.other, strict=True):
        if own.ordered:
            continue
        share = max(left_out_share(own, other), left_out_share(other, own))
        if share > _MUCH:
            many.append(f"{name} ({100.0 * share:.0f}% of the rows)")
        elif own.pooled:
            (pooled if own.alike else omitted).append(f"{len(own.pooled)} of {name}")
    caveats = []
    if many:
        sentence = f"not compared, because too few rows of the other sample have these levels: {listed(many, BRIEF)}"
        caveats.append(caveat_of("levels-differ", sentence))
    if omitted:
        sentence = f"levels with few rows, whose shares differ between the samples, are not compared: {listed(omitted, BRIEF)}"
        caveats.append(caveat_of("rare-levels", sentence))
    if pooled:
        sentence = f"levels with few rows are compared together, not one by one: {listed(pooled, BRIEF)}"
        caveats.append(caveat_of("rare-levels", sentence))
    return caveats


def sample_caveats(sides: Sequence[ComparedSample]) -> list[Caveat]:
    """Caveats about the samples themselves, whatever is compared: equal rows, chains that are stuck, single or swapped."""
    own, other = sides[0], sides[1] if len(sides) > 1 else None
    caveats = [*repeated_rows(own.draws, None if other is None else other.draws, (own.iid, other is not None and other.iid))]
    for side in sides:
        caveats += [*_divergent(side), *_still(side), *_repeated_chains(side), *_chains(side)]
    return caveats


def _divergent(side: ComparedSample) -> list[Caveat]:
    """Draws that the sampler reports as divergent, counted."""
    diverging = side.draws.diverging
    unknown = [note for note in side.draws.notes if UNKNOWN_DIVERGENCES in note]  # behind the name of a file
    if unknown:
        return [side.caveat("divergences-unknown", unknown[0])]
    if diverging is None or not diverging.any():
        return []
    counts = diverging.sum(axis=1)
    some = np.flatnonzero(counts)
    where = (
        f", all in {side.draws.chain_name(int(some[0]))}"
        if some.size == 1 < len(counts)
        else f", in {some.size} of {len(counts)} chains"
    )
    sentence = f"{counts.sum():,} of {diverging.size:,} draws diverged{where if len(counts) > 1 else ''}"
    return [side.caveat("divergent-draws", sentence)]


def _still(side: ComparedSample) -> list[Caveat]:
    """A caveat for each chain in which a variable is constant, or does not change in the second half."""
    if (side.iid and not side.draws.chained) or isinstance(side.draws, CountedDraws):
        return []
    whole = _stand_still(side)
    moving = [k for k in range(side.draws.n_chains) if k not in whole]
    sentences = [*whole.values()]
    sentences += [text for k in range(side.draws.n_variables) for text in _stops(side.draws, k, moving, side.things)]
    more = len(sentences) - _NAMED
    if more > 0:
        which = "chains and variables" if side.things == "draws" else "columns"
        sentences = [*sentences[:_NAMED], f"{more} more {which} are stuck"]
    return [side.caveat("stuck-chain", sentence) for sentence in sentences]


def _repeated_chains(side: ComparedSample) -> list[Caveat]:
    """Chains with the same draws as another, which were left out, or count twice."""
    return repeated_chains_caveats(side.draws, iid=side.iid, things=side.things, whose=side.prefix)


def _stand_still(side: ComparedSample) -> dict[int, str]:
    """Chains all of whose variables stand still, one sentence for each."""
    draws = side.draws
    if side.things == "rows" or draws.n_variables == 1:
        return {}
    found = {}
    for k, chain in enumerate(draws.values):
        moves = np.flatnonzero((chain != chain[-1]).any(axis=1))
        since = int(moves[-1]) + 1 if moves.size else 0
        if not since or len(chain) - since > max(len(chain) // 2, 10):
            where = draws.chain_name(k) if draws.n_chains > 1 else "the chain"
            begin = f"draw {since}" if since else "its first draw"
            found[k] = f"{where} stands still in all variables from {begin} on"
    return found


def _stops(draws: Draws, variable: int, some: Sequence[int], things: str) -> list[str]:
    name, chains, sentences = draws.names[variable], draws.values[:, :, variable], []
    for k in some:
        chain = chains[k]
        if chain.size > 1 and chain[-1] != chain[-2]:
            continue  # it moves again later
        moves = np.flatnonzero(chain != chain[-1])
        still_from = 0 if moves.size == 0 else int(moves[-1]) + 1
        where = draws.chain_name(k) if len(chains) > 1 else "the chain"
        if still_from == 0:
            sentences.append(f"{where} is constant in {name} (all {chain.size} values are {chain[-1]:g})")
        elif chain.size - still_from > max(chain.size // 2, 10):
            sentences.append(
                f"{name} stays at {chain[-1]:g} from row {still_from} on; if the rows have no order, use iid=True (--iid)"
                if things == "rows"
                else f"{where} is stuck in {name} from draw {still_from} on (at {chain[-1]:g})"
            )
    return sentences


def _effective(compared: Compared, side: ComparedSample) -> list[Caveat]:
    """Too few effective draws."""
    few = compared.rows[compared.rows["n_eff" + side.end] < side.few]
    if not few.size:
        return []
    worst = few[np.argmin(few["n_eff" + side.end])]
    return [side.caveat("few-effective-draws", compared.located(side.too_few(worst["n_eff" + side.end]), few, worst))]


def _agreement(compared: Compared, side: ComparedSample) -> list[Caveat]:
    """Chains, or halves of one chain, that disagree on Kendall's tau."""
    apart = compared.rows[compared.rows["rhat" + side.end] > RHAT_LIMIT]
    if not apart.size:
        return []
    worst = apart[np.argmax(apart["rhat" + side.end])]
    parts = "the chains" if side.draws.n_chains > 1 else halves(side.things)
    rhat = visibly_above(worst["rhat" + side.end], RHAT_LIMIT)
    sentence = f"R-hat for dependence is {rhat}, above {RHAT_LIMIT}: {parts} disagree on Kendall's tau"
    return [side.caveat("chains-disagree", compared.located(sentence, apart, worst))]


def _agreement_in_form(compared: Compared, side: ComparedSample) -> list[Caveat]:
    """Chains, or halves of one chain, that agree on Kendall's tau but not on another coefficient of form."""
    values = compared.rows["form_rhat" + side.end]
    # tau has its own caveat
    apart = compared.rows[(values > FORM_RHAT_LIMIT) & ~(compared.rows["rhat" + side.end] > RHAT_LIMIT)]
    if not apart.size:
        return []
    worst = apart[np.argmax(apart["form_rhat" + side.end])]
    parts = "the chains" if side.draws.n_chains > 1 else halves(side.things)
    rhat = visibly_above(worst["form_rhat" + side.end], FORM_RHAT_LIMIT)
    sentence = (
        f"R-hat over the coefficients of form is {rhat}, above {FORM_RHAT_LIMIT}: {parts} disagree on dependence other "
        f"than Kendall's tau ({worst['form_rhat_kind' + side.end]})"
    )
    return [side.caveat("chains-disagree-form", compared.located(sentence, apart, worst))]


def _chains(side: ComparedSample) -> list[Caveat]:
    """One chain only, or so many that the axes may be swapped."""
    draws, caveats = side.draws, []
    if side.iid:
        return []
    if draws.chained and draws.n_chains == 1:
        caveats.append(side.caveat("one-chain", "there is only one chain, so R-hat can only compare its two halves"))
    if draws.n_chains > draws.n_draws:
        sentence = (
            f"{draws.n_chains} chains of {draws.n_draws} draws: there are more chains than draws; arrays must be (chain, draw, "
            "variable), so check whether the first two axes are swapped"
        )
        caveats.append(side.caveat("swapped-axes", sentence))
    return caveats


def _bounds(compared: Compared, side: ComparedSample) -> list[Caveat]:
    """Fits at a bound of their family, one caveat per kind."""
    rows = compared.rows
    theta, tau, suspect = rows["theta" + side.end], rows["tau" + side.end], np.zeros(len(rows), bool)
    for name in filter(None, sorted(set(rows["family"].tolist()))):
        domain = compared.family(name).parameter
        suspect |= (rows["family"] == name) & ((theta <= domain.lower) | (theta >= domain.upper) | (np.abs(tau) >= _NEARLY))
    found = (
        (row, bound_caveat(compared.family(str(row["family"])), compared.method, *(float(row[k + side.end]) for k in _FITTED)))
        for row in rows[suspect]
    )
    return _by_kind(compared, side, found)


def _degrees(compared: Compared, side: ComparedSample) -> list[Caveat]:
    """Estimated degrees of freedom at an end of their search range."""
    if not compared.df_estimated:
        return []
    low, high = (compared.rows["df"] <= DF_RANGE[0]), (compared.rows["df"] >= DF_RANGE[1])
    ends = ((compared.rows[low], "lower"), (compared.rows[high], "upper"))
    return _by_kind(compared, side, ((row, df_caveat(float(row["df"]), end)) for rows, end in ends for row in rows))


def _by_kind(compared: Compared, side: ComparedSample, found: Iterable[tuple[Any, Caveat | None]]) -> list[Caveat]:
    """One caveat per kind, about the first of its rows."""
    kinds: dict[str, tuple[str, list[Any]]] = {}
    for row, caveat in found:
        if caveat is not None:
            kinds.setdefault(caveat.code, (caveat.sentence, []))[1].append(row)
    return [
        side.caveat(code, compared.located(said, np.array(some), some[0], "such as")) for code, (said, some) in kinds.items()
    ]


def _strong(compared: Compared, own: ComparedSample) -> list[Caveat]:
    """Dependence too strong for the ranks of so few draws to measure."""
    rows = compared.rows
    enough = ~(np.fmin(rows["n"], rows["n_target"]) < FEWEST_FOR_SHAPE)
    strong = rows[np.isfinite(rows["shape_se"]) & np.isnan(rows["shape_pvalue"]) & enough]
    if not strong.size:
        return []
    sentence = f"the dependence is too strong for the ranks of so few {own.things} to resolve; shape and total are not tested"
    return [caveat_of("strong-dependence", compared.located(sentence, strong, strong[np.nanargmax(np.abs(strong["tau"]))]))]


def _rare(compared: Compared, sides: Iterable[ComparedSample]) -> list[str]:
    """The variables for which level was not tested because nearly all of their values are equal."""
    rows, sides = compared.rows, [*sides]
    untested = rows[np.isfinite(rows["level"]) & np.isnan(rows["level_pvalue"])]
    involved = {int(k) for end in ("first", "second") for k in untested[end]}
    names = sides[0].draws.names
    return [names[k] for k in sorted(involved) if any(s.table.modes[k] > FREQUENT * s.table.present[k] for s in sides)]


def _discrete(compared: Compared, sides: Sequence[ComparedSample], rare: Sequence[str]) -> list[Caveat]:
    """Variables that are rounded or discrete, unless the reference's are tied in the same way, or that have too few values.

    The `rare` ones already have a caveat.
    """
    rounded: list[str] = []
    few: list[str] = []
    alone = len(sides) == 1
    for k, name in enumerate(sides[0].draws.names):
        # that categories and flags have few values is no news, what it does to a comparison with a copula is
        if name in rare or (sides[0].draws.labels(k) and not alone):
            continue
        tied = [side.table.ties[k] / (0.5 * side.table.present[k] * (side.table.present[k] - 1.0)) for side in sides]
        if max(tied) > TOO_DISCRETE and compared.method != "moment":
            few.append(name)
        elif (alone and _weighty(sides[0], k, tied[0])) or (max(tied) > DISCRETE and not _alike(sides, k)):
            rounded.append(name)
    caveats = []
    if few:
        take, them = ("takes", "it") if len(few) == 1 else ("take", "them")
        without = "shape and form are" if alone and not np.isfinite(compared.rows["level"]).any() else "shape is"
        sentence = f"{listed(few, BRIEF)} {take} so few values that no copula density describes {them}; {without} not tested"
        caveats.append(caveat_of("few-values", sentence))
    if rounded and alone:
        sentence = (
            f"values of {listed(rounded, BRIEF)} are tied, as if rounded or discrete, which without a reference sample can "
            "look like a misfit; standard errors include what ties may do, so that smaller gaps are not found"
        )
        caveats.append(caveat_of("rounded-values", sentence))
    elif rounded:
        sentence = (
            f"values of {listed(rounded, BRIEF)} are tied in one sample only, as if rounded or discrete; a likelihood fit "
            "treats them as continuous, which biases shape and, slightly, level"
        )
        caveats.append(caveat_of("rounded-values", sentence))
    return caveats


def _weighty(side: ComparedSample, k: int, tied: float) -> bool:
    """Whether what ties of a variable may do is no small part of the standard errors of so many draws."""
    largest = side.table.modes[k] / side.table.present[k]
    weight = float(ties.weights(np.array(largest), np.array(tied), np.array(side.table.tied_shares[k])))
    return weight > ties.NEGLIGIBLE and weight * math.sqrt(side.table.present[k]) > _NO_SMALL_PART


def _alike(sides: Sequence[ComparedSample], k: int) -> bool:
    """Whether ties of a variable do not matter: few except in repeated points, or the same in both samples."""
    shares = [side.table.tied_shares[k] for side in sides]
    if max(shares) <= DISCRETE:
        return True
    if len(sides) == 1:
        return False
    return 0.5 * shares[0] < shares[1] < 2.0 * shares[0] or on_one_grid(*(side.draws.values[:, :, k] for side in sides))
