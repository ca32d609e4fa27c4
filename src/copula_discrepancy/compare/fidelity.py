"""A score for synthetic tables with the interface of SDMetrics: how much of a table's dependence was kept."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from copula_discrepancy._core.caveats import caveat_of
from copula_discrepancy._core.checks import real_number
from copula_discrepancy._core.errors import DependenceWarning, InputError
from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare.fidelity_score import PairScore, is_judged, table_score
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.compare.wording import answer_line
from copula_discrepancy.data.draws import Draws, as_draws
from copula_discrepancy.data.kinds import ChosenKinds
from copula_discrepancy.data.matching import matched
from copula_discrepancy.data.naming import BRIEF, listed
from copula_discrepancy.estimate.strength import FEWEST_CARRIERS
from copula_discrepancy.families import Copula

# options of `as_draws`; the other choices belong to the comparison
_READING = ("var_names", "filter_vars", "group", "coords", "delimiter", "missing", "exclude", "kinds")


class DependenceFidelity:
    """How much of a table's dependence a synthetic table keeps, from 0 (none) to 1 (all).

    Columns may be of every kind: numbers, text, categories, flags, dates, with missing values.

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
    The score is about form, the statistic that sees every kind of dependence between columns of any kind (see `pairwise`). Let
    A and B be the coefficients of form of a pair in the synthetic and in the real table. The pair scores

    <A, B> / max(|A|^2, |B|^2), between 0 and 1,

    1 for the same dependence, s if it is s times as strong and otherwise the same, as well as 1/s, 0 if it is lost, invented,
    reversed or of another kind. What chance adds to the squares is subtracted. A difference that is not significant counts as
    none: pairs whose form, or level if both columns are ordered, does not differ at a false discovery rate of 5% over all pairs
    (Benjamini and Hochberg, 1995) score 1. If they differ, and the dependence in one of the tables is less than chance may
    leave, they score 0.

    The score of the table is the mean over pairs, weighted by their strength, max(|A|, |B|), as far as that is more than three
    standard errors of independent columns: the many pairs without dependence do not count. If no pair has dependence in either
    table, there is nothing to lose, and the score is 1. A column that is constant in the synthetic table only is treated as
    independent of all others. Missing values, NaN, are omitted pair by pair; where values are missing is compared as columns of
    their own. Ties share mid-ranks; columns of few values have functions of their levels instead of ranks (see `pairwise`).

    The interval puts each pair's difference at the ends of its own interval: the lower end counts losses that are too small to
    detect. Errors of pairs with a column in common are added, those of others added as squares. It does not count the error of
    the weights.

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
            Tables with the same columns, of any kind and in any order, and independent rows. The real table comes first, other
            than in `pairwise`.
        metadata : dict, or object with to_dict, optional
            SDMetrics' description of a table, ``{"columns": {"a": {"sdtype": "numerical"}, ...}}``: the kinds of its columns.
            Categorical columns are ordered if they have an ``order`` (a list of values, lowest first) or are ordered by
            ``"numerical_value"``. Identifiers, personal data such as addresses, and columns that it does not describe are
            omitted, with a note in `compute_breakdown`. Without metadata the kinds are those of `as_draws`, or of `kinds`.
        **choices : object
            Options of `as_draws`, for both tables (var_names, kinds, missing, ...), and of `pairwise` (family, n_jobs, ...).

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
            ``{"score": ..., "interval": (low, high), "pairs": {("a", "b"): {"score", "interval", "weight", "kinds", "verdict",
            "meaning", "dependence_real", "dependence_synthetic", "tau_real", "tau_synthetic", "level", ...}}, "n_pairs": ...,
            "n_possible_pairs": ..., "left_out": {"name": "why"}, "kinds": {"name": "kind"}, "answer": ..., "caveats":
            [...], "warnings": [...]}``. Intervals are at 95%, the weights of pairs add up to 1, and "meaning" says what a loss
            means for who uses the table. Level, shape and tau are NaN in pairs with a category without order. Possible pairs
            include those of omitted columns. A column that is constant in the synthetic table only has lost its dependence: its
            pairs score 0. The answer is that of `pairwise`, None if nothing could be compared; "warnings" are notes on reading
            and the sentences of the caveats.

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
        synthetic, real = matched(*read)
        if metadata is not None and real.n_variables < 2:
            why = "; omitted: " + listed([f"{name} ({reason})" for name, reason in left_out.items()]) if left_out else ""
            found = f"got {listed(real.names)}{why}"
            raise InputError(f"metadata must describe at least two columns that can be compared, {found}")
        left_out |= {name: "constant in the real table" for name in real.names if not _varies(real, name)}
        stuck = _stuck(synthetic, real)
        result = rank_pairs(_independent(synthetic, real, stuck), real, **{"iid": True, "missing": "pairs", **choices})
        notes, caveats = [_of_tables(note, synthetic) for note in result.notes], [*result.caveats]
        if stuck:
            told = f"constant in the synthetic table, so treated as independent of all others: {listed(stuck)}"
            caveats.insert(0, caveat_of("constant-in-draws", told))
        if result.void:
            says_nothing = "the synthetic table contains the same rows as the real one, so its score is meaningless"
            warn(DependenceWarning(caveat_of("same-rows", says_nothing)))
        scores = [PairScore.of(pair) for pair in result if is_judged(pair)]
        score, interval = table_score(scores)
        total = sum(pair.weight for pair in scores)
        kinds = {name: result.samples[0].kind(k) for k, name in enumerate(result.names)}
        pairs = {
            pair.pair.names: pair.numbers((kinds[pair.pair.names[0]], kinds[pair.pair.names[1]]), total)
            for pair in sorted(scores, key=lambda pair: (pair.score, -pair.weight))
        }
        possible = math.comb(len({*real.names, *left_out}), 2)
        breakdown: dict[str, Any] = {"score": score, "interval": interval, "pairs": pairs, "answer": answer_line(result)}
        breakdown |= {"n_pairs": len(pairs), "n_possible_pairs": possible, "left_out": left_out, "kinds": kinds}
        if left_out:
            which = listed([f"{name} ({reason})" for name, reason in left_out.items()], BRIEF)
            caveats.insert(0, caveat_of("pairs-left-out", f"omitted: {which}"))
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


def _of_tables(note: str, synthetic: Draws) -> str:
    """A note on reading, with the sample named as in the arguments."""
    if note.startswith("reference: "):
        return "real table: " + note.removeprefix("reference: ")
    return f"synthetic table: {note}" if note in synthetic.notes else note


def _varies(sample: Draws, name: str) -> bool:
    values = sample.values[:, :, sample.names.index(name)]
    return bool(np.nanmax(values) > np.nanmin(values))


def _stuck(synthetic: Draws, real: Draws) -> list[str]:
    """Columns that are constant in the synthetic table only, although the real one has many other values."""
    # a flag set in a handful of rows may be missing from a faithful copy by chance
    return [
        name
        for name in real.names
        if _varies(real, name) and not _varies(synthetic, name) and _carriers(real, name) >= FEWEST_CARRIERS
    ]


def _independent(synthetic: Draws, real: Draws, stuck: Sequence[str]) -> Draws:
    """The synthetic table with random values of the real one in the columns that are constant: independent of all others."""
    if not stuck:
        return synthetic
    values, rng = np.array(synthetic.values), np.random.default_rng(0)
    for name in stuck:
        k = synthetic.names.index(name)
        known = real.column(real.names.index(name))
        values[0, :, k] = rng.choice(known[~np.isnan(known)], synthetic.n_draws)
    values.flags.writeable = False
    return replace(synthetic, values=values)


def _carriers(sample: Draws, name: str) -> int:
    """Number of rows that differ from the most frequent value."""
    values = sample.column(sample.names.index(name))
    counts = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    return int(counts.sum() - counts.max())
