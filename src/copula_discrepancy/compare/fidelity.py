"""A score for synthetic tables with the interface of SDMetrics: how much of a table's dependence was kept."""

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
from copula_discrepancy.compare.pair_gap import PairGap
from copula_discrepancy.compare.wording import answer_line
from copula_discrepancy.data.draws import Draws, as_draws, ordered_only
from copula_discrepancy.data.kinds import ChosenKinds
from copula_discrepancy.data.matching import matched
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.ranks import kendall_tau
from copula_discrepancy.estimate.strength import FEWEST_CARRIERS
from copula_discrepancy.estimate.tails import CORNERS
from copula_discrepancy.families import Copula

# Weaker dependence hardly counts: gaps of pairs with a smaller tau are measured relative to this value.
_WEAK_TAU = 0.05
_CHANCE = 0.05  # the fraction of faithful copies with a false gap
# options of `as_draws`; the other choices belong to the comparison
_READING = ("var_names", "filter_vars", "group", "coords", "delimiter", "missing", "exclude", "kinds")


class DependenceFidelity:
    """How much of a table's dependence a synthetic table keeps, from 0 (none) to 1 (all).

    It has the interface of SDMetrics' metrics. SDMetrics' own correlation score compares two numbers that are both near 0 for
    most pairs, and stays high when every dependence is lost; this one is the fraction of the existing dependence that was kept.

    Attributes
    ----------
    name, goal, min_value, max_value
        Attributes that SDMetrics requires of a metric: its name, that larger is better, and its range.

    See Also
    --------
    pairwise : The gaps behind the score.

    Notes
    -----
    Only significant differences count. Let [x] = sqrt(max(x^2 - (z se)^2, 0)) be the significant part of a number, with z the
    number of standard errors above which a gap is significant at a false discovery rate of 5% among all gaps of the table
    (Benjamini and Hochberg, 1995): in 95 of 100 faithful copies no gap exceeds z, and if much is lost, z decreases to 2. With t
    the stronger |tau| of the two tables and w the weaker one (0 if their signs differ), T = [t] is the strength of a pair. It
    loses

    - a_level = G / max(G + K, 0.05), with the gap G = [level] and the part that was kept, K = [w], whose standard error is that
      of one table, se / sqrt(2);
    - a_shape = [shape] / max(T, 0.05);
    - b, if the shares of rows in the corners are known: the largest [gap] / max(T, share, 0.05) of the four corners, with the
      larger share of the two tables;

    and scores 1 - sqrt(a_level^2 + max(a_shape, b)^2), not below 0. A faithful copy scores 1 except in rare cases, even if its
    columns are independent; a dependence that was lost or invented scores 0, one that was halved about one half. A loss too
    small to detect with so few rows does not count. The score of a table is the mean over pairs, weighted by T, or by the
    largest significant gap if that is larger, so that pairs count by the strength of their dependence. If the sum of all
    weights is below 0.05, the remainder is distributed over all pairs. Missing values (NaN) are omitted pair by pair; ties
    share mid-ranks, so that a column with few values is compared as if it were continuous.

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
        """The score of a synthetic table: 1 for a faithful copy, except in rare cases, and 0 if all dependence is lost.

        Parameters
        ----------
        real_data, synthetic_data : data frame, or anything `as_draws` accepts
            Tables with the same numeric columns, in any order, and independent rows.
        metadata : dict, or object with to_dict, optional
            SDMetrics' description of a table, ``{"columns": {"a": {"sdtype": "numerical"}, ...}}``: the kinds of its columns.
            Categorical columns are ordered if they have an ``order`` (a list of values, lowest first) or are ordered by
            ``"numerical_value"``. Identifiers, personal data such as addresses, and columns that it does not describe are
            omitted, with a note in `compute_breakdown`. Without metadata the kinds are those of `as_draws`.
        **choices : object
            Options of `as_draws`, for both tables (var_names, missing, ...), and of `pairwise` (family, n_jobs, ...).

        Returns
        -------
        float
            The score, from 0 to 1.

        Raises
        ------
        InputError
            For tables that `pairwise` rejects; missing values are counted column by column.

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
        real_data, synthetic_data : data frame, or anything `as_draws` accepts
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
            "warnings": [...]}``. Possible pairs include those of omitted columns. A column that is constant in the synthetic
            table only has lost its dependence: its pairs score 0. The answer is that of `pairwise`, None if nothing could be
            compared; "warnings" are notes on reading and the sentences of the caveats.

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
            if choices.get("kinds") is not None:
                raise InputError("metadata and kinds both give the kinds of columns; pass one of them")
            choices["kinds"] = ChosenKinds.of(metadata, "metadata")
        selection = {"missing": None} | {name: choices.pop(name) for name in _READING if name in choices}
        read = as_draws(synthetic_data, **selection), as_draws(real_data, **selection)
        for draws in reversed(read):
            left_out |= {name: reason for name, reason in draws.left_out if name not in left_out}
        synthetic, real = (ordered_only(sample) for sample in matched(*read))
        left_out |= {name: reason for name, reason in real.left_out if name not in left_out}
        if metadata is not None and real.n_variables < 2:
            why = "; omitted: " + listed([f"{name} ({reason})" for name, reason in left_out.items()]) if left_out else ""
            found = f"got {listed(real.names)}{why}"
            raise InputError(f"metadata must describe at least two columns that can be compared, {found}")
        alive = [name for name in real.names if _varies(real, name)]
        left_out |= {name: "constant in the real table" for name in real.names if name not in alive}
        lost = _lost(synthetic, real, alive)
        if lost and sum(_varies(synthetic, name) for name in alive) < 2:
            breakdown = _scored([], lost, _rough_error(real))
            others = "every other column is constant in the synthetic table"
            notes, caveats, breakdown["answer"] = [], [caveat_of("constant-in-draws", others)], None
        else:
            result = rank_pairs(synthetic, real, **{"iid": True, "missing": "pairs", **choices})
            known = np.isfinite(result.rows["level_se"])
            noise = float(np.nanmedian(result.rows["level_se"])) if known.any() else _rough_error(real)
            breakdown = _scored(list(result), lost, noise)
            notes, caveats = [_of_tables(note, synthetic) for note in result.notes], [*result.caveats]
            breakdown["answer"] = answer_line(result)
            if result.void:
                says_nothing = "the synthetic table contains the same rows as the real one, so its score is meaningless"
                warn(DependenceWarning(caveat_of("same-rows", says_nothing)))
        possible = math.comb(len({*real.names, *left_out}), 2)
        breakdown |= {"n_pairs": len(breakdown["pairs"]), "n_possible_pairs": possible, "left_out": left_out}
        if left_out:
            which = listed([f"{name} ({reason})" for name, reason in left_out.items()], BRIEF)
            judged = f"{breakdown['n_pairs']} of {possible} pairs were compared; omitted: {which}"
            caveats.insert(0, caveat_of("pairs-left-out", judged))
        breakdown["caveats"] = [caveat.to_dict() for caveat in caveats]
        return breakdown | {"warnings": [*notes, *map(str, caveats)]}

    @classmethod
    def normalize(cls, raw_score: float) -> float:
        """The score itself, which already lies between 0 and 1.

        Parameters
        ----------
        raw_score : float
            A score from `compute`.

        Returns
        -------
        float
            The same score.

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
        """Subclasses of this metric, as SDMetrics lists them: none.

        Parameters
        ----------
        include_parents : bool
            Whether to include the metric itself.

        Returns
        -------
        dict
            Classes by name.
        """
        return {cls.__name__: cls} if include_parents else {}


def _rough_error(sample: Draws) -> float:
    """The standard error of a tau if no better one is available."""
    return float((sample.n_chains * sample.n_draws) ** -0.5)


def _of_tables(note: str, synthetic: Draws) -> str:
    """A note on reading, with the sample named as in the arguments."""
    if note.startswith("reference: "):
        return "real table: " + note.removeprefix("reference: ")
    return f"synthetic table: {note}" if note in synthetic.notes else note


def _varies(sample: Draws, name: str) -> bool:
    values = sample.values[:, :, sample.names.index(name)]
    return bool(np.nanmax(values) > np.nanmin(values))


def _lost(synthetic: Draws, real: Draws, alive: Sequence[str]) -> dict[tuple[str, str], float]:
    """Kendall's tau in the real table of the pairs lost by a column that is constant in the synthetic one."""
    # a flag set in a handful of rows may be missing from a faithful copy by chance
    stuck = {name for name in alive if not _varies(synthetic, name) and _carriers(real, name) >= FEWEST_CARRIERS}
    column = {name: real.column(real.names.index(name)) for name in alive} if stuck else {}
    pairs = [pair for pair in combinations(alive, 2) if stuck.intersection(pair)]
    return {(first, second): _tau_of_complete(column[first], column[second]) for first, second in pairs}


def _carriers(sample: Draws, name: str) -> int:
    """Number of rows that differ from the most frequent value."""
    values = sample.column(sample.names.index(name))
    counts = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    return int(counts.sum() - counts.max())


def _tau_of_complete(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Kendall's tau of the rows that have both values; 0 (no dependence to lose) if nothing varies in them."""
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    return kendall_tau(x, y) if x.size > 1 and np.ptp(x) > 0 and np.ptp(y) > 0 else 0.0


def _scored(compared: Sequence[PairGap], lost: Mapping[tuple[str, str], float], error: float) -> dict[str, Any]:
    """The score of a table and of its pairs; `error` is a typical standard error of a level, for the lost pairs."""
    scored: list[tuple[tuple[str, str], float, float, dict[str, float]]] = []
    # a pair that ran out of memory has no numbers, and a level that too few rows determine is not meaningful
    known = [pair for pair in compared if pair.level == 0.0 or math.isfinite(pair.numbers.get("level_pvalue", pair.level))]
    gaps = [(pair.numbers[name], pair.numbers[name + "_se"]) for pair in known for name in _gaps(pair)]
    reach = _reach([*gaps, *((tau, error) for tau in lost.values())])
    for pair in known:
        numbers = {name: getattr(pair, name) for name in ("level", "level_se", "shape", "shape_se", "pvalue")}
        numbers |= {"tau_real": pair.tau_target, "tau_synthetic": pair.tau}
        for corner in CORNERS:
            shares = pair.numbers.get(f"{corner}_share_target", math.nan), pair.numbers.get(f"{corner}_share", math.nan)
            numbers |= {f"{corner}_real": shares[0], f"{corner}_synthetic": shares[1]}
        scored.append((pair.names, _pair_score(pair, reach), _weight(pair, reach), numbers))
    for names, tau in lost.items():
        if _beyond(tau, error, reach) == 0.0:
            continue  # a dependence that is not significant cannot be lost
        numbers = dict.fromkeys(("level_se", "shape", "shape_se", "pvalue"), math.nan)
        numbers |= {"level": -tau, "tau_real": tau, "tau_synthetic": math.nan}
        scored.append((names, 0.0, _beyond(tau, error, reach), numbers))
    base = max(_WEAK_TAU - sum(weight for _, _, weight, _ in scored), 0.0) / max(len(scored), 1)
    total = sum(weight + base for _, _, weight, _ in scored)
    pairs = {
        names: {"score": score, "weight": (weight + base) / total, **numbers}
        for names, score, weight, numbers in sorted(scored, key=lambda entry: entry[1])
    }
    # the weights add up to 1 except for rounding; without pairs there is no score
    score = sum(pair["weight"] * pair["score"] for pair in pairs.values()) if pairs else math.nan
    return {"score": min(float(score), 1.0), "pairs": pairs}


def _reach(gaps: Sequence[tuple[float, float]]) -> float:
    """The number of standard errors above which a gap is significant, at a false discovery rate of 5% among all gaps."""
    sizes = sorted((abs(gap) / se for gap, se in gaps if se > 0.0), reverse=True)
    least = 1
    for place, size in enumerate(sizes, 1):
        if math.erfc(size / math.sqrt(2.0)) <= _CHANCE * place / len(sizes):
            least = place
    return NormalDist().inv_cdf(1.0 - 0.5 * _CHANCE * least / max(len(sizes), 1))


def _beyond(value: float, se: float, reach: float) -> float:
    """The significant part of a number; all of it if its standard error is not known."""
    noise = reach * se if math.isfinite(se) else 0.0
    return math.sqrt(max(value**2 - noise**2, 0.0)) if math.isfinite(value) else 0.0


def _gaps(pair: PairGap) -> list[str]:
    """Names of the available gaps."""
    return [name for name in ("level", "shape", *CORNERS) if math.isfinite(pair.numbers.get(name, math.nan))]


def _pair_score(pair: PairGap, reach: float) -> float:
    level, shape = (_beyond(pair.numbers[name], pair.numbers[name + "_se"], reach) for name in ("level", "shape"))
    level /= max(level + _kept(pair, reach), _WEAK_TAU)
    shape /= max(_strength(pair, reach), _WEAK_TAU)
    lost = math.hypot(level, max(shape, _tail_excess(pair, reach)))  # tails are part of the shape
    scale = max(pair.numbers.get("dependence", 0.0), pair.numbers.get("dependence_target", 0.0), _WEAK_TAU)
    return max(1.0 - max(lost, _form_gap(pair, reach) / scale), 0.0)


def _strength(pair: PairGap, reach: float) -> float:
    """The significant part of |tau|; the standard error of the difference is used for either of the two taus."""
    return _beyond(max(abs(pair.tau), abs(pair.tau_target)), pair.level_se, reach)


def _kept(pair: PairGap, reach: float) -> float:
    """The significant part of the weaker |tau|: chance remains of a lost dependence do not count as kept."""
    if pair.tau * pair.tau_target <= 0.0:
        return 0.0
    # the error of one table if both have about as many rows; with that of the difference, weak remains would not count
    return _beyond(min(abs(pair.tau), abs(pair.tau_target)), pair.level_se / math.sqrt(2.0), reach)


def _tail_excess(pair: PairGap, reach: float) -> float:
    """The largest significant corner gap, relative to the dependence; 0 if corners are not available."""
    strength, largest = _strength(pair, reach), 0.0
    for corner in CORNERS:
        known = [pair.numbers.get(corner + end, math.nan) for end in ("_share", "_share_target")]
        scale = max(strength, _WEAK_TAU, *(share for share in known if math.isfinite(share)))
        largest = max(largest, _tail_gap(pair, corner, reach) / scale)
    return largest


def _tail_gap(pair: PairGap, corner: str, reach: float) -> float:
    if pair.numbers.get(corner + "_pvalue", 0.0) > math.erfc(reach / math.sqrt(2.0)):
        return 0.0  # few rows, tested exactly: their standard error is too small
    return _beyond(pair.numbers.get(corner, math.nan), pair.numbers.get(corner + "_se", math.nan), reach)


def _form_gap(pair: PairGap, reach: float) -> float:
    """The significant part of a gap in form beyond strength; 0 if nothing is left beyond what strength explains."""
    if not pair.pattern or not pair.numbers.get("form_pvalue", 1.0) <= math.erfc(reach / math.sqrt(2.0)):
        return 0.0
    return _beyond(pair.form, pair.form_se, reach)


def _weight(pair: PairGap, reach: float) -> float:
    """The strength of a pair, or its largest gap: tails and form may be lost even if tau is 0."""
    corners = (_tail_gap(pair, corner, reach) for corner in CORNERS)
    gaps = _beyond(pair.shape, pair.shape_se, reach), min(_form_gap(pair, reach), 1.0)
    return max(_strength(pair, reach), *gaps, *corners)
