"""One row of a comparison of many pairs, as an object with attributes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from copula_discrepancy._core.warn import warn
from copula_discrepancy.compare import wording
from copula_discrepancy.compare.rows import ROW, TESTED
from copula_discrepancy.compare.verdict import smallest_pvalue
from copula_discrepancy.estimate.tails import along

OLD_TAILS = ("lower_tail", "upper_tail", "lower_tail_se", "upper_tail_se")  # deprecated names of the corners
NUMBERS = (*(name for name in ROW.names or () if ROW[name].kind == "f"), *(f"{name}_adjusted" for name in TESTED))


@dataclass(frozen=True, eq=False)
class PairGap:
    """One pair of variables: its row of the table as attributes.

    Returned by indexing a `Pairwise` and by iterating over it. Numbers that a pair does not have are NaN: a pair with
    categories without order has form only, and one with a column of few values neither shape nor tails.

    Attributes
    ----------
    names : (str, str)
        The two variables.
    n, n_target : float
        Number of draws of either sample that have both values.
    tau, tau_target : float
        Kendall's tau of the draws, and of the target or the reference, with `tau_se`, `tau_target_se`; NaN if a column has no
        order.
    level, shape, total : float
        The gaps of `discrepancy`, with `level_se`, `shape_se`, `total_se` and unadjusted p-values `level_pvalue`, ... .
    low_low, high_high, low_high, high_low : float
        Gaps in the four corners, with `low_low_se`, `low_low_pvalue`, and the shares behind them, `low_low_share` of the draws
        and `low_low_share_target`, ... ; NaN if no draw is there. `tails_pvalue` is that of all corners together.
    form, kept : float
        The gap in form and the share of the target's dependence that the draws keep, with `form_se`, `kept_se`, `form_pvalue`,
        and `form_rhat`, `form_rhat_target`, the largest R-hat over the coefficients of form. `dependence` and
        `dependence_target` are the size of all dependence on the scale of form, whatever its kind. Columns with levels are
        compared at common shares of the levels.
    pattern : str
        The kind of dependence that differs beyond strength, in words; empty if there is none.
    level_adjusted, shape_adjusted, tails_adjusted, form_adjusted : float
        P-values adjusted for all tests in all pairs.
    ckl : float
        Copula Kullback-Leibler divergence.
    n_eff, n_eff_target, rhat, rhat_target : float
        Effective draws and R-hat for dependence of the draws and of the reference.
    family, theta, theta_target, df
        The family used for the pair, and its parameters.
    flagged : bool
        Whether an adjusted p-value is below 1 - confidence.
    verdict : str
        The significant gaps, in a few words.
    numbers : mapping from str to float
        All numbers by name.

    See Also
    --------
    Pairwise.pair : All results for one pair.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> result = cd.pairwise(cd.Clayton(3.0).sample(1000, rng=1), cd.Gumbel(2.5), iid=True)
    >>> pair = result.worst
    >>> pair.label, round(pair.tau, 2), pair.tau_target, round(pair.shape, 2)
    ('x0 ~ x1', 0.59, 0.6, -0.11)
    >>> pair.verdict
    'wrong shape, low-low tail too thick, high-high tail too thin'
    """

    names: tuple[str, str]
    verdict: str
    flagged: bool
    numbers: Mapping[str, float] = field(repr=False)
    family: str = ""
    pattern: str = ""

    def __getattr__(self, name: str) -> float:
        numbers = self.__dict__.get("numbers", {})
        if name in OLD_TAILS and "low_low" in numbers:
            corner = along(numbers["tau"], numbers["tau_target"])[name.startswith("upper")]
            warn(f"{name} is deprecated; use {corner}", DeprecationWarning)
            return float(numbers[corner + name.removeprefix("lower_tail").removeprefix("upper_tail")])
        if name not in numbers:
            raise AttributeError(f"a pair has no {name!r}; it has {', '.join(numbers)}")
        return float(numbers[name])

    @property
    def label(self) -> str:
        """The pair as text, ``mu ~ tau``."""
        return wording.pair_label(*self.names)

    @property
    def short_label(self) -> str:
        """The same, shortened for a table."""
        return self.label

    @property
    def cd(self) -> float:
        """The paper's Copula Discrepancy, |total|; |level| if no family was fitted, and |shape| without a target."""
        known = [value for value in (self.total, self.level, self.shape) if not math.isnan(value)]
        return abs(known[0]) if known else math.nan

    @property
    def pvalue(self) -> float:
        """The smallest adjusted p-value; NaN if nothing was tested."""
        return smallest_pvalue(*(getattr(self, f"{name}_adjusted") for name in TESTED))

    def to_dict(self) -> dict[str, Any]:
        """Every number and text by name, ready for JSON."""
        words = {"first": self.names[0], "second": self.names[1], "verdict": self.verdict, "flagged": self.flagged}
        words["pattern"] = self.pattern
        return words | {"pvalue": self.pvalue, "family": self.family, **self.numbers}
