"""A score for synthetic tables with the interface of SDMetrics: how much of a table's dependence was kept."""

from pathlib import Path
from typing import Any

from copula_discrepancy._core.checks import real_number
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.fidelity_tables import read_tables, score_tables


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
    def compute_breakdown(
        cls, real_data: Any, synthetic_data: Any, metadata: Any = None, *, by: Any = None, **choices: Any
    ) -> dict[str, Any]:
        """The score, and for each pair of columns its own score, weight, gaps and taus, worst first.

        Parameters
        ----------
        real_data, synthetic_data : data frame, or anything `as_draws` accepts
            As for `compute`.
        metadata : dict, optional
            As for `compute`.
        by : str or list of str, optional
            A column, or several, by whose values rows are grouped: the score is also computed within each group, from all
            other columns. Groups with few rows are left out, with the reason.
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
            and the sentences of the caveats. With by there are also ``"groups": {label: {"score", "interval", "n_real",
            "n_synthetic", "answer"}}``, worst first, and ``"groups_left_out": {label: "why"}``.

        Raises
        ------
        InputError
            For tables that `pairwise` rejects, and if no group can be compared.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> real, synthetic = cd.Gumbel(2.5).sample(500, rng=1), cd.Gumbel(1.0).sample(500, rng=2)
        >>> pair = cd.DependenceFidelity.compute_breakdown(real, synthetic)["pairs"]["x0", "x1"]
        >>> round(pair["tau_real"], 1), abs(pair["tau_synthetic"]) < 0.1, pair["score"] < 0.1
        (0.6, True, True)
        """
        tables, rest = read_tables(real_data, synthetic_data, metadata, by, choices)
        return score_tables(tables, **rest)

    @classmethod
    def report(
        cls, real_data: Any, synthetic_data: Any, path: Any, metadata: Any = None, *, force: bool = False, **choices: Any
    ) -> Path:
        """Write a self-contained HTML page about the score and, next to it, a .json file with its numbers; return its path.

        The page has the score with its interval, what it means for those who will use the table, every column and every pair,
        and plots of the worst pairs.

        Parameters
        ----------
        real_data, synthetic_data : data frame, or anything `as_draws` accepts
            As for `compute`.
        path : path
            Path of the page, ending in .html, in an existing folder.
        metadata : dict, or object with to_dict, optional
            As for `compute`.
        force : bool
            Overwrite existing files.
        **choices : object
            As for `compute_breakdown`, by included.

        Returns
        -------
        Path
            Path of the page.

        Raises
        ------
        InputError
            For tables that `pairwise` rejects, if the page cannot be written, or if files exist already.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import copula_discrepancy as cd
        >>> real, copy = cd.Gumbel(2.5).sample(500, rng=1), cd.Gumbel(2.5).sample(500, rng=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = cd.DependenceFidelity.report(real, copy, Path(folder) / "fidelity.html")
        ...     "keeps the dependence" in page.read_text()
        True
        """
        from copula_discrepancy.report.page.fidelity import write_fidelity_page
        from copula_discrepancy.report.page.writing import page_path

        checked = page_path(path, force)  # before anything is computed
        tables, rest = read_tables(real_data, synthetic_data, metadata, choices.pop("by", None), choices)
        real, synthetic = tables.variables
        call = f"DependenceFidelity.report(real_data, synthetic_data, {str(checked)!r})"
        breakdown = score_tables(tables, **rest)
        return write_fidelity_page(breakdown, checked, real=real, synthetic=synthetic, force=force, command=call)

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
