"""A score for synthetic tables in the shape of SDMetrics': how much of a table's dependence was kept."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import caveat_of
from copula_discrepancy._core.checks import real_number
from copula_discrepancy._core.errors import DependenceWarning, InputError
from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.metadata import Description
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.compare.wording import answer_line
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.matching import matched
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.ranks import kendall_tau
from copula_discrepancy.estimate.strength import FEWEST_CARRIERS
from copula_discrepancy.estimate.tails import CORNERS
from copula_discrepancy.families import Copula

# Dependence weaker than this hardly counts: it is the yardstick of a pair whose own tau is smaller.
_WEAK_TAU = 0.05
_CHANCE = 0.05  # the share of honest copies in which some gap passes for more than chance
# what `as_draws` is asked for; the rest of the choices is for the comparison
_READING = ("var_names", "filter_vars", "group", "coords", "delimiter", "missing", "exclude")


class DependenceFidelity:
    """How much of a table's dependence a synthetic table keeps, from 0, none, to 1, all of it.

    In the shape of SDMetrics' metrics. SDMetrics' own correlation score compares two numbers of which both are near 0 for most
    pairs, and stays high when every dependence is lost; this one asks what share of the dependence that is there was kept.

    Attributes
    ----------
    name, goal, min_value, max_value
        What SDMetrics asks of a metric: its name, that more is better, and its range.

    See Also
    --------
    pairwise : The gaps behind the score.

    Notes
    -----
    Only what chance does not explain counts. Let [x] = sqrt(max(x^2 - (z se)^2, 0)) be the part of a number beyond chance, with
    z the number of standard errors from which on a gap is one at a false discovery rate of 5% among all gaps of the table
    (Benjamini and Hochberg, 1995): in 95 of 100 honest copies no gap passes z, and where much is lost, z comes down to 2. With
    t the stronger |tau| of the two tables and w the weaker one (0 where their signs differ), T = [t] is the strength
    of a pair. It loses

    - a_level = G / max(G + K, 0.05), with the gap G = [level] and K = [w], what was kept, whose standard error is that of one
      table, se / sqrt(2);
    - a_shape = [shape] / max(T, 0.05);
    - b, where the shares of rows in the corners are known: the largest [gap] / max(T, share, 0.05) of the four corners, with
      the larger share of the two tables;

    and scores 1 - sqrt(a_level^2 + max(a_shape, b)^2), not below 0. An honest copy scores 1 but for rare chance, also where
    columns are independent; a dependence that was lost or made up scores 0; one that was halved about one half. A loss too
    small to be seen in so few rows costs nothing. The score of a table is the mean over pairs, weighted by T, or by the largest
    gap beyond chance where that is larger: what is there counts, and counts by its strength. Where all weights together are
    below 0.05, all pairs share what is missing. Missing values (NaN) are left out pair by pair; ties share mid-ranks, so that a
    column with few values is compared as if it were continuous.

    References
    ----------
    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate: a practical and powerful approach to multiple
    testing. Journal of the Royal Statistical Society B 57, 289-300.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> table = lambda: pd.DataFrame(rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 2000), columns=["a", "b"])
    >>> real, copy = table(), table()
    >>> shuffled = real.assign(a=rng.permutation(real["a"]))
    >>> cd.DependenceFidelity.compute(real, copy) > 0.9, cd.DependenceFidelity.compute(real, shuffled) < 0.1
    (True, True)
    """

    name = "DependenceFidelity"
    goal = "MAXIMIZE"
    min_value = 0.0
    max_value = 1.0

    @classmethod
    def compute(cls, real_data: Any, synthetic_data: Any, metadata: Any = None, **choices: Any) -> float:
        """The score of a synthetic table: 1 for an honest copy but for rare chance, 0 where every dependence is lost.

        Parameters
        ----------
        real_data, synthetic_data : data frame, or anything `as_draws` takes
            Tables with the same numeric columns, in any order, and independent rows.
        metadata : dict, optional
            SDMetrics' description of a table, ``{"columns": {"a": {"sdtype": "numerical"}, ...}}``: its numerical, ordinal and
            boolean columns are compared, and categorical ones that have an ``order`` (a list of values, lowest first) or are
            ordered by ``"numerical_value"``. The others are left out, and `compute_breakdown` says so. Without metadata all
            columns are compared.
        **choices : object
            Of `as_draws`, for both tables (var_names, missing, ...), and of `pairwise` (family, n_jobs, ...).

        Returns
        -------
        float
            From 0 to 1.

        Raises
        ------
        InputError
            For tables that `pairwise` refuses; missing values are counted column by column.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> real, copy = cd.Gumbel(2.5).sample(500, rng=1), cd.Gumbel(2.5).sample(500, rng=2)
        >>> cd.DependenceFidelity.compute(real, copy) > 0.9
        True
        """
        return float(cls.compute_breakdown(real_data, synthetic_data, metadata, **choices)["score"])

    @classmethod
    def compute_breakdown(cls, real_data: Any, synthetic_data: Any, metadata: Any = None, **choices: Any) -> dict[str, Any]:
        """The score, and for each pair of columns its own score, weight, gaps and taus, worst first.

        Parameters
        ----------
        real_data, synthetic_data : data frame, or anything `as_draws` takes
            As for `compute`.
        metadata : dict, optional
            As for `compute`.
        **choices : object
            As for `compute`.

        Returns
        -------
        dict
            ``{"score": ..., "pairs": {("a", "b"): {"score", "weight", "tau_real", "tau_synthetic", "level", "shape", ...}},
            "n_pairs": ..., "n_possible_pairs": ..., "left_out": {"name": "why"}, "answer": ..., "caveats": [...],
            "warnings": [...]}``. Possible pairs count the columns that were left out, too. A column that is constant in the
            synthetic table only has lost its dependence: its pairs score 0. The answer is that of `pairwise`, None where
            nothing could be compared; "warnings" are notes on reading and the sentences of the caveats.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> real, synthetic = cd.Gumbel(2.5).sample(500, rng=1), cd.Gumbel(1.0).sample(500, rng=2)
        >>> pair = cd.DependenceFidelity.compute_breakdown(real, synthetic)["pairs"]["x0", "x1"]
        >>> round(pair["tau_real"], 1), abs(pair["tau_synthetic"]) < 0.1, pair["score"] < 0.1
        (0.6, True, True)
        """
        if real_data is None or isinstance(real_data, Copula):
            raise InputError(f"real_data must be a table, got {real_data!r:.60}")
        left_out: dict[str, str] = {}
        if metadata is not None:
            (synthetic_data, real_data), columns, unordered = Description.of(metadata).apply(synthetic_data, real_data)
            if "var_names" not in choices:
                choices["var_names"], left_out = columns, unordered
        selection = {"missing": None} | {name: choices.pop(name) for name in _READING if name in choices}
        read = as_draws(synthetic_data, **selection), as_draws(real_data, **selection)
        for draws in reversed(read):
            left_out |= {name: reason for name, reason in draws.left_out if name not in left_out}
        synthetic, real = matched(*read)
        alive = [name for name in real.names if _varies(real, name)]
        left_out |= {name: "constant in the real table" for name in real.names if name not in alive}
        lost = _lost(synthetic, real, alive)
        if lost and sum(_varies(synthetic, name) for name in alive) < 2:
            told = _scored([], lost, _rough_error(real))
            others = "every other column is constant in the synthetic table"
            notes, caveats, told["answer"] = [], [caveat_of("constant-in-draws", others)], None
        else:
            result = rank_pairs(synthetic, real, **{"iid": True, "missing": "pairs", **choices})
            known = np.isfinite(result.rows["level_se"])
            noise = float(np.nanmedian(result.rows["level_se"])) if known.any() else _rough_error(real)
            told = _scored(list(result), lost, noise)
            notes, caveats = [_of_tables(note, synthetic) for note in result.notes], [*result.caveats]
            told["answer"] = answer_line(result)
            if result.void:
                says_nothing = "the synthetic table has the rows of the real one, so its score says nothing"
                warn(DependenceWarning(caveat_of("same-rows", says_nothing)))
        possible = math.comb(len({*real.names, *left_out}), 2)
        told |= {"n_pairs": len(told["pairs"]), "n_possible_pairs": possible, "left_out": left_out}
        if left_out:
            which = listed([f"{name} ({reason})" for name, reason in left_out.items()], BRIEF)
            judged = f"{told['n_pairs']} of {possible} pairs were compared; left out: {which}"
            caveats.insert(0, caveat_of("pairs-left-out", judged))
        told["caveats"] = [caveat.to_dict() for caveat in caveats]
        return told | {"warnings": [*notes, *map(str, caveats)]}

    @classmethod
    def normalize(cls, raw_score: float) -> float:
        """The score itself: it lies between 0 and 1 already.

        Parameters
        ----------
        raw_score : float
            What `compute` gave.

        Returns
        -------
        float
            The same.

        Raises
        ------
        InputError
            For a number outside 0 to 1, or NaN.
        """
        score = real_number(raw_score, "raw_score")
        if not cls.min_value <= score <= cls.max_value:
            raise InputError(f"raw_score must be a score between 0 and 1, got {score:g}")
        return score

    @classmethod
    def get_subclasses(cls, include_parents: bool = False) -> dict[str, type]:
        """Metrics below this one, as SDMetrics lists them: none.

        Parameters
        ----------
        include_parents : bool
            Whether the metric itself is listed.

        Returns
        -------
        dict
            From names to classes.
        """
        return {cls.__name__: cls} if include_parents else {}


def _rough_error(sample: Draws) -> float:
    """The standard error of a tau, where nothing better is known."""
    return float((sample.n_chains * sample.n_draws) ** -0.5)


def _of_tables(note: str, synthetic: Draws) -> str:
    """A note on reading, with the name that the sample has here."""
    if note.startswith("reference: "):
        return "real table: " + note.removeprefix("reference: ")
    return f"synthetic table: {note}" if note in synthetic.notes else note


def _varies(sample: Draws, name: str) -> bool:
    values = sample.values[:, :, sample.names.index(name)]
    return bool(np.nanmax(values) > np.nanmin(values))


def _lost(synthetic: Draws, real: Draws, alive: Sequence[str]) -> dict[tuple[str, str], float]:
    """Kendall's tau in the real table of the pairs that a column constant in the synthetic one has lost."""
    # a flag that a handful of rows have may well be missing from an honest copy
    stuck = {name for name in alive if not _varies(synthetic, name) and _carriers(real, name) >= FEWEST_CARRIERS}
    column = {name: real.column(real.names.index(name)) for name in alive} if stuck else {}
    pairs = [pair for pair in combinations(alive, 2) if stuck.intersection(pair)]
    return {(first, second): _tau_of_complete(column[first], column[second]) for first, second in pairs}


def _carriers(sample: Draws, name: str) -> int:
    """How many rows have another value than the most frequent one."""
    values = sample.column(sample.names.index(name))
    counts = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    return int(counts.sum() - counts.max())


def _tau_of_complete(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Kendall's tau of the rows that have both values; 0, no dependence to lose, where nothing varies in them."""
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    return kendall_tau(x, y) if x.size > 1 and np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0


def _scored(compared: Sequence[PairGap], lost: Mapping[tuple[str, str], float], error: float) -> dict[str, Any]:
    """The score of a table and of its pairs; `error` is a typical standard error of a level, which lost pairs do not have."""
    found: list[tuple[tuple[str, str], float, float, dict[str, float]]] = []
    # without memory a pair has no numbers; where too few rows carry it, a level says nothing
    known = [pair for pair in compared if pair.level == 0.0 or math.isfinite(pair.numbers.get("level_pvalue", pair.level))]
    gaps = [(pair.numbers[name], pair.numbers[name + "_se"]) for pair in known for name in _gaps(pair)]
    reach = _reach([*gaps, *((tau, error) for tau in lost.values())])
    for pair in known:
        numbers = {name: getattr(pair, name) for name in ("level", "level_se", "shape", "shape_se", "pvalue")}
        numbers |= {"tau_real": pair.tau_target, "tau_synthetic": pair.tau}
        for corner in CORNERS:
            shares = pair.numbers.get(f"{corner}_share_target", math.nan), pair.numbers.get(f"{corner}_share", math.nan)
            numbers |= {f"{corner}_real": shares[0], f"{corner}_synthetic": shares[1]}
        found.append((pair.names, _pair_score(pair, reach), _weight(pair, reach), numbers))
    for names, tau in lost.items():
        if _beyond(tau, error, reach) == 0.0:
            continue  # what chance explains cannot be lost
        numbers = dict.fromkeys(("level_se", "shape", "shape_se", "pvalue"), math.nan)
        numbers |= {"level": -tau, "tau_real": tau, "tau_synthetic": math.nan}
        found.append((names, 0.0, _beyond(tau, error, reach), numbers))
    base = max(_WEAK_TAU - sum(weight for _, _, weight, _ in found), 0.0) / max(len(found), 1)
    total = sum(weight + base for _, _, weight, _ in found)
    pairs = {
        names: {"score": score, "weight": (weight + base) / total, **numbers}
        for names, score, weight, numbers in sorted(found, key=lambda entry: entry[1])
    }
    # the weights add up to 1 but for rounding; of nothing there is no score
    score = sum(pair["weight"] * pair["score"] for pair in pairs.values()) if pairs else math.nan
    return {"score": min(float(score), 1.0), "pairs": pairs}


def _reach(gaps: Sequence[tuple[float, float]]) -> float:
    """From how many standard errors on a gap is beyond chance, at a false discovery rate of 5% among all of them."""
    sizes = sorted((abs(gap) / se for gap, se in gaps if se > 0.0), reverse=True)
    least = 1
    for place, size in enumerate(sizes, 1):
        if math.erfc(size / math.sqrt(2.0)) <= _CHANCE * place / len(sizes):
            least = place
    return NormalDist().inv_cdf(1.0 - 0.5 * _CHANCE * least / max(len(sizes), 1))


def _beyond(value: float, se: float, reach: float) -> float:
    """The part of a number that chance does not explain; all of it where its error is not known."""
    noise = reach * se if math.isfinite(se) else 0.0
    return math.sqrt(max(value**2 - noise**2, 0.0)) if math.isfinite(value) else 0.0


def _gaps(pair: PairGap) -> list[str]:
    """Names of the gaps that are known."""
    return [name for name in ("level", "shape", *CORNERS) if math.isfinite(pair.numbers.get(name, math.nan))]


def _pair_score(pair: PairGap, reach: float) -> float:
    level, shape = (_beyond(pair.numbers[name], pair.numbers[name + "_se"], reach) for name in ("level", "shape"))
    level /= max(level + _kept(pair, reach), _WEAK_TAU)
    shape /= max(_strength(pair, reach), _WEAK_TAU)
    return max(1.0 - math.hypot(level, max(shape, _tail_excess(pair, reach))), 0.0)  # tails are a part of shape


def _strength(pair: PairGap, reach: float) -> float:
    """|tau| beyond what chance reaches; the standard error of a difference serves for either of the two taus."""
    return _beyond(max(abs(pair.tau), abs(pair.tau_target)), pair.level_se, reach)


def _kept(pair: PairGap, reach: float) -> float:
    """The weaker |tau| beyond chance: what a lost dependence leaves by chance is not kept."""
    if pair.tau * pair.tau_target <= 0.0:
        return 0.0
    # one table's error, where both have about as many rows; with that of the difference, weak remains would not count
    return _beyond(min(abs(pair.tau), abs(pair.tau_target)), pair.level_se / math.sqrt(2.0), reach)


def _tail_excess(pair: PairGap, reach: float) -> float:
    """The largest corner gap beyond chance, in proportion to what is there; 0 where corners are not known."""
    strength, largest = _strength(pair, reach), 0.0
    for corner in CORNERS:
        known = [pair.numbers.get(corner + end, math.nan) for end in ("_share", "_share_target")]
        scale = max(strength, _WEAK_TAU, *(share for share in known if math.isfinite(share)))
        largest = max(largest, _tail_gap(pair, corner, reach) / scale)
    return largest


def _tail_gap(pair: PairGap, corner: str, reach: float) -> float:
    if pair.numbers.get(corner + "_pvalue", 0.0) > math.erfc(reach / math.sqrt(2.0)):
        return 0.0  # few rows are there, and counted exactly: their standard error is too small
    return _beyond(pair.numbers.get(corner, math.nan), pair.numbers.get(corner + "_se", math.nan), reach)


def _weight(pair: PairGap, reach: float) -> float:
    """The strength of a pair, or its largest gap: tails may be lost where tau is 0."""
    corners = (_tail_gap(pair, corner, reach) for corner in CORNERS)
    return max(_strength(pair, reach), _beyond(pair.shape, pair.shape_se, reach), *corners)
