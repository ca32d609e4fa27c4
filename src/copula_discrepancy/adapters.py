"""The same answer in the shape of other tools: a score like SDMetrics' for synthetic tables, a table like ArviZ's summary."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy import _kernels
from copula_discrepancy._sources.request import listed
from copula_discrepancy.agreement import comparable
from copula_discrepancy.draws import Draws, as_draws
from copula_discrepancy.errors import InputError, enough_memory, true_or_false
from copula_discrepancy.families import Copula
from copula_discrepancy.families._checks import real_number, whole_number
from copula_discrepancy.inference import Estimate, Spread, open_probability, require_chain_length
from copula_discrepancy.pairwise_result import PairGap
from copula_discrepancy.pairwise_targets import matching
from copula_discrepancy.ranking import rank_pairs
from copula_discrepancy.ranks import kendall_tau
from copula_discrepancy.sweep import Part, RankedTable
from copula_discrepancy.words import pair_label

if TYPE_CHECKING:
    import pandas as pd

# Dependence weaker than this hardly counts: it is the yardstick of a pair whose own tau is smaller.
_WEAK_TAU = 0.05
_MOST_DECIMALS = 280  # with more, nothing is rounded: powers of ten leave the floats


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
    With g the gap of a pair, g^2 = level^2 + shape^2 less what chance adds to it (the sum of their squared standard errors, but
    not below 0), and t the stronger |tau| of the two tables, a pair scores 1 - g / max(t, 0.05), not below 0: 1 for an honest
    copy, up to a term of order 1/sqrt(n), and 0 where a dependence was lost or made up. The score of a table is the mean over
    pairs with weights sqrt(t^2 - (z se)^2), where that is positive: what is there counts, and counts by its strength. z is
    sqrt(2 log 2m) for m pairs, at least 2, what the largest of so many taus reaches by chance (Donoho and Johnstone, 1994). All
    pairs share a weight of 0.05 beside, which decides where nothing is there. NaN is an error; ties share mid-ranks, so that a
    column with few values is compared as if it were continuous.

    References
    ----------
    Donoho, D. L. and Johnstone, I. M. (1994). Ideal spatial adaptation by wavelet shrinkage. Biometrika 81, 425-455.

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
        """The score of a synthetic table: 1 for an honest copy up to 1/sqrt(n), 0 where every dependence is lost.

        Parameters
        ----------
        real_data, synthetic_data : data frame, or anything `as_draws` takes
            Tables with the same numeric columns, in any order, and independent rows.
        metadata : dict, optional
            SDMetrics' description of a table, ``{"columns": {"a": {"sdtype": "numerical"}, ...}}``: its numerical columns are
            compared. Without it all columns are, and a column of text is an error.
        **choices : object
            Of `pairwise`: var_names, family, n_jobs, ... .

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
            "warnings": [...]}``. A column that is constant in the synthetic table only has lost its dependence: its pairs
            score 0.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> real, synthetic = cd.Gumbel(2.5).sample(500, rng=1), cd.Gumbel(1.0).sample(500, rng=2)
        >>> pair = cd.DependenceFidelity.compute_breakdown(real, synthetic)["pairs"]["x0", "x1"]
        >>> round(pair["tau_real"], 1), abs(pair["tau_synthetic"]) < 0.1, pair["score"] < 0.1
        (0.6, True, True)
        """
        columns = _numerical(metadata)
        if columns is not None:
            choices = {"var_names": columns, **choices}
        if real_data is None or isinstance(real_data, Copula):
            raise InputError(f"real_data must be a table, got {real_data!r:.60}")
        selection = {name: choices[name] for name in ("var_names", "filter_vars", "group", "coords") if name in choices}
        synthetic, real = matching(as_draws(synthetic_data, **selection), as_draws(real_data, **selection))
        lost = _lost(synthetic, real)
        alive = [name for name in real.names if _varies(real, name) and _varies(synthetic, name)]
        if len(alive) < 2 and lost:
            return _scored([], lost, 0.0, ["every other column is constant in the synthetic table"])
        rest = {name: choice for name, choice in choices.items() if name not in selection}
        result = rank_pairs(synthetic, real, **{"iid": True, **rest})
        noise = float(np.nanmedian(result.rows["level_se"])) if np.isfinite(result.rows["level_se"]).any() else 0.0
        return _scored(list(result), lost, noise, [*result.notes, *result.warnings])

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


def _numerical(metadata: Any) -> list[str] | None:
    if metadata is None:
        return None
    try:
        if hasattr(metadata, "to_dict"):
            metadata = metadata.to_dict()
        tables = metadata.get("tables")
        columns = (next(iter(tables.values())) if tables else metadata)["columns"]
        chosen = [str(name) for name, kind in columns.items() if kind["sdtype"] == "numerical"]
    except (AttributeError, KeyError, TypeError, StopIteration):
        raise InputError(
            "metadata must describe columns as SDMetrics does, {'columns': {'a': {'sdtype': 'numerical'}}}, "
            f"got {metadata!r:.80}"
        ) from None
    if len(chosen) < 2:
        raise InputError(f"metadata names {len(chosen)} numerical columns ({listed(chosen)}); pairs need at least two")
    return chosen


def _varies(sample: Draws, name: str) -> bool:
    return bool(np.ptp(sample.values[:, :, sample.names.index(name)]) > 0)


def _lost(synthetic: Draws, real: Draws) -> dict[tuple[str, str], float]:
    """Kendall's tau in the real table of the pairs that a column constant in the synthetic one has lost."""
    alive = [name for name in real.names if _varies(real, name)]
    stuck = {name for name in alive if not _varies(synthetic, name)}
    column = {name: real.column(real.names.index(name)) for name in alive} if stuck else {}
    pairs = [pair for pair in combinations(alive, 2) if stuck.intersection(pair)]
    return {(first, second): kendall_tau(column[first], column[second]) for first, second in pairs}


def _scored(
    compared: Sequence[PairGap], lost: Mapping[tuple[str, str], float], error: float, warnings: list[str]
) -> dict[str, Any]:
    """`error` is a typical standard error of a level, which lost pairs do not have."""
    found: list[tuple[tuple[str, str], float, float, dict[str, float]]] = []
    m = len(compared) + len(lost)
    reach = max(2.0, math.sqrt(2.0 * math.log(2.0 * m)))
    for pair in compared:
        numbers = {name: getattr(pair, name) for name in ("level", "level_se", "shape", "shape_se", "pvalue")}
        numbers |= {"tau_real": pair.tau_target, "tau_synthetic": pair.tau}
        found.append((pair.names, _pair_score(pair), _strength(pair, reach), numbers))
    for names, tau in lost.items():
        numbers = dict.fromkeys(("level_se", "shape", "shape_se", "pvalue"), math.nan)
        numbers |= {"level": -tau, "tau_real": tau, "tau_synthetic": math.nan}
        found.append((names, 0.0, math.sqrt(max(tau**2 - (reach * error) ** 2, 0.0)), numbers))
    base = _WEAK_TAU / m
    total = sum(weight + base for _, _, weight, _ in found)
    pairs = {
        names: {"score": score, "weight": (weight + base) / total, **numbers}
        for names, score, weight, numbers in sorted(found, key=lambda entry: entry[1])
    }
    score = sum(pair["weight"] * pair["score"] for pair in pairs.values())  # the weights add up to 1 but for rounding
    return {"score": min(float(score), 1.0), "pairs": pairs, "warnings": warnings}


def _pair_score(pair: PairGap) -> float:
    excess = 0.0
    for gap, se in ((pair.level, pair.level_se), (pair.shape, pair.shape_se)):
        if math.isfinite(gap):
            excess += gap**2 - (se**2 if math.isfinite(se) else 0.0)
    yardstick = max(abs(pair.tau), abs(pair.tau_target), _WEAK_TAU)
    return max(1.0 - math.sqrt(max(excess, 0.0)) / yardstick, 0.0)


def _strength(pair: PairGap, reach: float) -> float:
    """|tau| beyond what chance reaches; the standard error of a difference serves for either of the two taus."""
    noise = reach * pair.level_se if math.isfinite(pair.level_se) else 0.0
    return math.sqrt(max(max(pair.tau**2, pair.tau_target**2) - noise**2, 0.0))


@enough_memory
def summary(
    draws: Any,
    *,
    var_names: str | Sequence[str] | None = None,
    filter_vars: str | None = None,
    group: str = "posterior",
    coords: Mapping[str, Any] | None = None,
    chains: int | str | None = None,
    iid: bool = False,
    confidence: float = 0.95,
    round_to: int | None = None,
) -> "pd.DataFrame":
    """Kendall's tau of every pair of variables with its error and convergence, beside ArviZ's summary of every variable.

    Parameters
    ----------
    draws : anything `as_draws` takes
        With two variables or more.
    var_names, filter_vars, group, coords, chains : optional
        See `as_draws`; the first four as in ArviZ.
    iid : bool
        Take the draws as independent instead of as Markov chains.
    confidence : float
        Of the interval.
    round_to : int, optional
        Decimals; by default all.

    Returns
    -------
    pandas.DataFrame
        A row per pair, ``a ~ b``, in the order of the variables: tau, mcse (its Monte Carlo standard error), the ends of its
        confidence interval, n_eff (the independent draws it is worth) and r_hat (for dependence; see `Agreement`). NaN where a
        variable is constant, or the two are perfectly dependent and have no error.

    Raises
    ------
    InputError
        For draws that `as_draws` refuses, NaN and infinite values among them, or fewer than two variables.

    See Also
    --------
    pairwise : The same pairs against a target or a reference.
    kendall_matrix : The taus alone.
    ess, rhat : The margins.

    Notes
    -----
    Tau is tau-b, ties included. Standard errors are those of `discrepancy`, from the long-run variance of influence values
    (Geyer, 1992).

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> draws = {"mu": np.random.default_rng(1).standard_normal((4, 500))}
    >>> draws["sigma"] = draws["mu"] ** 3 + np.random.default_rng(2).standard_normal((4, 500))
    >>> cd.summary(draws, round_to=2).loc["mu ~ sigma", ["tau", "mcse"]].tolist()
    [0.55, 0.01]
    """
    import pandas as pd

    independent = true_or_false(iid, "iid")
    share = open_probability(confidence, "confidence")
    decimals = None if round_to is None or whole_number(round_to, "round_to", 0) > _MOST_DECIMALS else int(round_to)
    given = as_draws(draws, var_names=var_names, filter_vars=filter_vars, group=group, coords=coords, chains=chains)
    if given.n_variables < 2:
        raise InputError(f"pairs need at least two variables, got {given.n_variables} ({listed(given.names)})")
    if not independent:
        require_chain_length(given.n_draws)
    table = RankedTable.of(given)
    varying = [column.varies for column in table.columns]
    labels: list[str] = []
    rows: list[tuple[float, ...]] = []
    for i in range(given.n_variables - 1):  # a row of the matrix at a time
        places = {j: k for k, j in enumerate(j for j in range(i + 1, given.n_variables) if varying[i] and varying[j])}
        pairs = [(i, j) for j in places]
        part = Part(table, pairs, compare=comparable(given, independent), iid=independent) if pairs else None
        for j in range(i + 1, given.n_variables):
            labels.append(pair_label(given.names[i], given.names[j]))
            if part is None or j not in places:
                rows.append((math.nan,) * 6)
                continue
            k = places[j]
            spread = Spread(*_kernels.spread(part.influence[k], None if independent else given.n_chains))
            tau = Estimate.of(part.taus[k], spread, tested=False, limits=(-1.0, 1.0), confidence=share)
            rows.append((tau.value, tau.se, *tau.ci, tau.n_eff, float(part.rhats[k])))
    percent = f"{100 * share:g}%"
    columns = ["tau", "mcse", f"{percent}_low", f"{percent}_high", "n_eff", "r_hat"]
    found = pd.DataFrame(rows, index=labels, columns=columns)
    return found if decimals is None else found.round(decimals)
