"""Results of a study of a sampler's settings."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare import wording


@dataclass(frozen=True, eq=False)
class TunedSetting:
    """Results of one setting of a sampler.

    A row of a `Tuning`; numbers are NaN if a run failed.

    Attributes
    ----------
    setting
        The value that was tried.
    cd, cd_se, cd_df : float
        Mean over the runs of the absolute gap (of `Tuning.by`), its standard error and its degrees of freedom: from the
        variance between the runs, or from the chains of a single run.
    shape, shape_se, level, level_se, form, form_se : float
        Means of the signed gaps.
    ess, ess_se : float
        ArviZ's bulk effective sample size, the smallest of the variables.
    ksd, ksd_se : float
        Squared kernel Stein discrepancy; NaN without a score.
    seconds : float
        Time per run.
    pvalue : float
        P-value of the hypothesis that it is no worse than the best setting, Bonferroni-corrected; 1 for the best itself.
    near_best : bool
        Whether it is not significantly worse than the best.
    failure : str or None
        The reason why a run could not be evaluated, such as a divergence.

    See Also
    --------
    tune : The function that returns them.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> def sampler(theta, rng):  # the larger theta, the further from the target
    ...     return cd.Gumbel(theta).sample(200, rng=rng)
    >>> row = cd.tune(sampler, [2.5, 6.0], cd.Gumbel(2.5), replications=3, rng=1).rows[1]
    >>> row.setting, row.near_best, row.level > 0.1
    (6.0, False, True)
    """

    setting: Any
    cd: float = math.nan
    cd_se: float = math.nan
    cd_df: float = math.nan
    shape: float = math.nan
    shape_se: float = math.nan
    form: float = math.nan
    form_se: float = math.nan
    level: float = math.nan
    level_se: float = math.nan
    ess: float = math.nan
    ess_se: float = math.nan
    ksd: float = math.nan
    ksd_se: float = math.nan
    seconds: float = math.nan
    pvalue: float = math.nan
    near_best: bool = False
    failure: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Every number by name, for JSON; a NumPy setting is converted to a Python value."""
        plain = self.setting.tolist() if isinstance(self.setting, np.generic | np.ndarray) else self.setting
        return vars(self) | {"setting": plain}


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """Results of a study of settings; print it for the table and the answer.

    Returned by `tune`.

    Attributes
    ----------
    rows : tuple of TunedSetting
        One per setting, in the order passed.
    name : str
        Name of the setting.
    by : {"total", "level", "shape", "form"}
        The gap whose absolute value is called CD.
    replications : int
        Runs per setting.
    confidence : float
        Probability that the truly best setting is in `near_best`.

    See Also
    --------
    tune : The function that returns it.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> def sampler(theta, rng):  # the larger theta, the further from the target
    ...     return cd.Gumbel(theta).sample(200, rng=rng)
    >>> study = cd.tune(sampler, [2.5, 6.0], cd.Gumbel(2.5), replications=3, rng=1)
    >>> study.best.setting, [row.setting for row in study.near_best]
    (2.5, [2.5])
    >>> print(study.sentences()[1])
    Every other setting is significantly worse.
    """

    rows: tuple[TunedSetting, ...]
    name: str
    by: str
    replications: int
    confidence: float

    @property
    def judged(self) -> tuple[TunedSetting, ...]:
        """The settings that did not fail; raises an InputError if all did."""
        judged = tuple(row for row in self.rows if row.failure is None)
        if not judged:
            raise InputError(f"every setting failed, the first with: {self.rows[0].failure}", "void")
        return judged

    @property
    def best(self) -> TunedSetting:
        """The setting with the smallest CD."""
        return min(self.judged, key=lambda row: row.cd)

    @property
    def near_best(self) -> tuple[TunedSetting, ...]:
        """The settings that are not significantly worse than the best."""
        return tuple(row for row in self.rows if row.near_best)

    @property
    def largest_ess(self) -> TunedSetting:
        """The setting that ESS alone would choose."""
        return max(self.judged, key=lambda row: row.ess)

    def sentences(self) -> list[str]:
        """The answer in words, a list of sentences."""
        failures = [f"{self.name} {shown(row.setting)} failed: {row.failure}" for row in self.rows if row.failure is not None]
        if len(failures) == len(self.rows):
            return failures
        best, large = self.best, self.largest_ess
        lines = [f"CD is smallest at {self.name} {shown(best.setting)}: {best.cd:.4f} (se {best.cd_se:.2g})."]
        near = [shown(row.setting) for row in self.near_best if row is not best]
        if near:
            verb = "is" if len(near) == 1 else "are"
            lines.append(f"{' and '.join(filter(None, [', '.join(near[:-1]), near[-1]]))} {verb} not significantly worse.")
        elif len(failures) + 1 < len(self.rows):
            lines.append("Every other setting is significantly worse.")
        if large is best:
            lines.append("ESS is largest there too.")
        elif large.near_best:
            lines.append(f"ESS is largest at {shown(large.setting)}, which is among these: use that one.")
        else:
            largest = f"ESS is largest at {shown(large.setting)} ({large.ess:.0f} against {best.ess:.0f})"
            worse = f"CD is {large.cd:.4f}, worse than the best ({wording.chance(large.pvalue)})"
            lines.append(f"ESS and CD disagree: {largest}, where {worse}.")
        return lines + failures

    def __repr__(self) -> str:
        with_ksd = any(math.isfinite(row.ksd) for row in self.rows)
        lines = [[self.name, "CD", "se", "shape", "se", "form", "se", "ESS", "se", *(["KSD^2", "se"] if with_ksd else []), "p"]]
        marks = [""]
        for row in self.rows:
            best = row.failure is None and row is self.best
            cells = [
                f"{row.cd:.4f}", _or_dash(row.cd_se), f"{row.shape:+.4f}", _or_dash(row.shape_se), f"{row.form:.4f}",
                _or_dash(row.form_se), f"{row.ess:.0f}",
                _or_dash(row.ess_se), *([f"{row.ksd:.3g}", _or_dash(row.ksd_se)] if with_ksd else []),
                "" if best else wording.short_pvalue(row.pvalue),
            ]  # fmt: skip
            failed = row.failure is not None
            lines.append([shown(row.setting), *(["-"] * len(cells) if failed else cells)])
            marks.append("  failed" if failed else "  best" if best else "  not significantly worse" if row.near_best else "")
        table = [(line + mark).rstrip() for line, mark in zip(wording.text_table(lines), marks, strict=True)]
        runs = "run" if self.replications == 1 else "runs"
        head = f"{len(self.rows)} settings, {self.replications} {runs} each; CD is the mean of |{self.by}|"
        answer = [line for sentence in self.sentences() for line in wording.wrapped(sentence, "  ")]
        return "\n".join([head, *table, *answer])

    def to_dict(self) -> dict[str, Any]:
        """Every number by name, for JSON."""
        numbers = {name: getattr(self, name) for name in ("name", "by", "replications", "confidence")}
        return numbers | {"settings": [row.to_dict() for row in self.rows]}

    def to_dataframe(self) -> Any:
        """One row per setting, as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self.rows])

    def plot(self, *, ax: Any = None) -> Any:
        """Plot CD, ESS and KSD against the settings, with those not significantly worse than the best marked.

        Parameters
        ----------
        ax : sequence of Axes, optional
            The Axes to draw on, one for each panel; by default a new figure.

        Returns
        -------
        array of Axes
            CD, ESS and, with a score, KSD.
        """
        from copula_discrepancy.studies.tuning_plot import plot_tuning

        return plot_tuning(self, ax=ax)


def shown(setting: Any) -> str:
    """A setting as text."""
    return f"{setting:.4g}" if isinstance(setting, float | np.floating) else str(setting)


def _or_dash(value: float) -> str:
    return f"{value:.2g}" if math.isfinite(value) else "-"
