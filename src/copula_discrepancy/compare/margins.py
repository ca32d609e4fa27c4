"""The distribution of every variable compared between two samples: what an answer about dependence does not cover.

Dependence is compared by ranks, so finding no gap says nothing about the variables one by one. Their comparison is a separate
result: it has its own tests, adjusted over all variables, and does not change the verdict about dependence.
"""

import math
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.compare import wording
from copula_discrepancy.compare.counted_draws import CountedDraws
from copula_discrepancy.compare.margin_wording import in_words, naming_of
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import NOMINAL, is_ordered
from copula_discrepancy.data.naming import listed
from copula_discrepancy.estimate.basis import ORDER
from copula_discrepancy.estimate.coded_columns import OTHER
from copula_discrepancy.estimate.counted_margins import counted_margin_test
from copula_discrepancy.estimate.level_shares import REST, level_test, level_test_of_counts
from copula_discrepancy.estimate.margins import (
    FEWEST_EFFECTIVE,
    MarginDifference,
    MarginTest,
    margin_difference,
    margin_test,
)
from copula_discrepancy.estimate.multiplicity import adjust_pvalues
from copula_discrepancy.estimate.multiplicity import in_words as adjustment_in_words

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10  # variables of a printed table
_NAMED = 4  # variables that differ in a sentence, with the difference
_NAME = 40  # characters of a name
_COMPONENTS = tuple(f"component_{j}" for j in range(1, ORDER + 1))
_ROW = np.dtype(
    [
        *((name, float) for name in ("shift", "ratio", "pvalue", "adjusted", "n", "n_reference", "n_eff", "n_eff_reference")),
        ("order", np.int64),
        *((name, float) for name in _COMPONENTS),
        *((f"{name}_score", float) for name in _COMPONENTS),
        ("flagged", bool),
    ]
)
_LEVEL = ("level", "share", "share_reference", "score")
_UNTESTED = {
    "few-effective-draws": f"fewer than {FEWEST_EFFECTIVE} effective values",
    "rare-values": "too few values differ from the most frequent one",
    "rare-levels": "too few rows in all levels but one",
}
_RANKED = "values too large for a float64 were replaced by their ranks"


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """The distribution of every variable compared with that in the reference, worst first.

    `Pairwise.margins` and `Discrepancy.margin_gaps` hold it; print it for a table. It does not enter the verdict about
    dependence.

    Attributes
    ----------
    names : tuple of str
        The variables: those that differ first, then by p-value.
    rows : structured array
        One row per variable, in that order: shift (in standard deviations of the reference), ratio (of the spreads), p-value,
        adjusted p-value, draws and effective draws of both samples, order (the number of components compared), the components
        and their standard normal scores. NaN if not available, and for levels without order, which have `levels` instead.
    differences : tuple of str
        What differs, such as "shifted up by 0.3 sd"; empty if no difference was found.
    untested : tuple of str
        Why a variable was not tested; empty if it was.
    confidence, adjust
        Adjusted p-values, by this method, below 1 - confidence count as a difference.
    fewest : float
        The smallest effective sample size if it is too small to rely on the tests; otherwise NaN.
    kinds : tuple of str
        The kind of each variable, such as "numeric", "boolean", "nominal" (levels without order) or "date"; see `Draws.kind`.
    levels : tuple of tuple
        For each variable whose levels have no order, the levels compared, most frequent first: label, share in the draws, share
        in the reference, and standard normal score of the difference, NaN for levels too rare to test. Empty for all others.

    See Also
    --------
    pairwise : Compares the dependence, and the margins with it.

    Notes
    -----
    For every variable, both samples are ranked together, and the means of the first four orthonormal polynomials of these ranks
    are compared: they respond to shift, spread, skewness and shape. Standard errors are from the long-run variance, so that the
    test holds on Markov chains; their sum of squares, the largest of them and the shift have one p-value, and the p-values of
    all variables are adjusted together. A variable with k values has at most k - 1 components. Differences finer than a
    polynomial of degree four, such as a narrow spike or outliers in 1% of the draws, are hardly detected.

    A variable whose levels have no order is compared by the shares of its levels, one component each, which are tested in the
    same way; shift and ratio are NaN. Beyond 12 levels the rarer ones are compared together, as are levels with fewer than 5
    expected rows in the smaller sample, or 10 effective ones on chains.

    References
    ----------
    Mukhopadhyay, S. and Wang, K. (2020). A nonparametric approach to high-dimensional k-sample comparison problems. Biometrika
    107, 555-572.

    Hodges, J. L. and Lehmann, E. L. (1963). Estimates of location based on rank tests. Annals of Mathematical Statistics 34,
    598-611.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> draws, reference = rng.standard_normal((2, 1000, 3))
    >>> result = cd.pairwise(draws + [0.0, 0.5, 0.0], reference, iid=True)
    >>> result.verdict
    'no gap found in 3 pairs'
    >>> result.margins.flagged, result.margins.line
    (('x1',), '1 of 3 variables differs (x1 shifted up by 0.56 sd)')
    """

    names: tuple[str, ...]
    rows: NDArray[Any] = field(repr=False)
    differences: tuple[str, ...]
    untested: tuple[str, ...]
    confidence: float
    adjust: str
    fewest: float = math.nan
    kinds: tuple[str, ...] = ()
    levels: tuple[tuple[tuple[str, float, float, float], ...], ...] = ()

    @property
    def flagged(self) -> tuple[str, ...]:
        """The variables that differ significantly, worst first."""
        return tuple(name for name, off in zip(self.names, self.rows["flagged"], strict=True) if off)

    @property
    def n_tested(self) -> int:
        """Number of variables that were tested."""
        return self.untested.count("")

    @property
    def line(self) -> str:
        """The result in one line."""
        count = len(self.names)
        several = wording.counted(count, "variable")
        reasons: dict[str, list[str]] = {}
        short = dict(zip(self.names, wording.short_names(self.names, _NAME), strict=True))
        for name, reason in zip(self.names, self.untested, strict=True):
            if reason:
                reasons.setdefault(reason, []).append(short[name])
        told = "; ".join(f"{listed(names, _NAMED)}: {reason}" for reason, names in reasons.items())
        if not self.n_tested:
            why = next(iter(reasons)) if len(reasons) == 1 else told
            return f"not tested ({why})"
        rest = f"; {count - self.n_tested:,} not tested ({told})" if told else ""
        off = self.flagged
        if not off:
            tested = several if not told else f"{self.n_tested:,} of {several}"
            doubt = "" if math.isnan(self.fewest) else f", with reservations (n_eff down to {self.fewest:,.0f})"
            return f"no difference found in {tested}{doubt}{rest}"
        shown = zip(off[:_NAMED], self.differences, strict=False)
        what = ", ".join(f"{short[name]} {difference}" for name, difference in shown)
        more = f", and {len(off) - _NAMED:,} more" if len(off) > _NAMED else ""
        return f"{len(off):,} of {several} {'differs' if len(off) == 1 else 'differ'} ({what}{more}){rest}"

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per variable, worst first, with every number and the difference in words."""
        import pandas as pd

        table = pd.DataFrame({name: self.rows[name] for name in _ROW.names or ()})
        table.insert(0, "variable", list(self.names))
        table.insert(1, "difference", list(self.differences))
        table["untested"] = list(self.untested)
        table["kind"] = list(self.kinds)
        return table

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for JSON."""
        told = zip(self.names, self.kinds, self.differences, self.untested, self.levels, self.rows, strict=True)
        variables = [
            {"name": name, "kind": kind, "difference": difference, "untested": untested}
            | dict(zip(_ROW.names or (), row.item(), strict=True))
            | {"levels": [dict(zip(_LEVEL, level, strict=True)) for level in levels]}
            for name, kind, difference, untested, levels, row in told
        ]
        plain = {"line": self.line, "confidence": self.confidence, "adjust": self.adjust, "n_tested": self.n_tested}
        return plain | {"n_flagged": len(self.flagged), "variables": variables}

    def __repr__(self) -> str:
        head = ["variable", "shift", "ratio", "p", "n_eff", "order", "difference"]
        short = wording.short_names(self.names, _NAME)
        lines = [head, *([short[k], *self._cells(k)] for k in range(min(len(self.names), _SHOWN)))]
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        text = [f"Margins: {self.line}", f"  {adjustment_in_words(self.adjust, 1.0 - self.confidence)}"]
        for line in lines:
            numbers = (cell.rjust(width) for cell, width in zip(line[1:-1], widths[1:-1], strict=True))
            text.append("  " + "  ".join([line[0].ljust(widths[0]), *numbers, line[-1]]).rstrip())
        if len(self.names) > _SHOWN:
            text.append(f"  ... and {len(self.names) - _SHOWN} more; see to_dataframe()")
        few, nominal = (self.rows["order"] > 0) & (self.rows["order"] < ORDER), np.array(self.kinds) == NOMINAL
        notes = [f"order: variables with few values are compared by fewer than {ORDER} components"] * bool(
            (few & ~nominal).any()
        )
        notes += ["levels without order are compared by their shares; they have no shift and no ratio"] * bool(nominal.any())
        text += wording.noted(notes) if notes else []
        return "\n".join(text)

    def _cells(self, k: int) -> list[str]:
        row = self.rows[k]
        shift = f"{row['shift']:+.2f}" if math.isfinite(row["shift"]) else "-"
        ratio = f"{row['ratio']:.2f}" if math.isfinite(row["ratio"]) else "-"
        n_eff = float(np.fmin(row["n_eff"], row["n_eff_reference"]))
        cells = [shift, ratio, wording.short_pvalue(float(row["adjusted"])), f"{n_eff:,.0f}" if math.isfinite(n_eff) else "-"]
        said = self.differences[k] or (f"not tested: {self.untested[k]}" if self.untested[k] else "none found")
        return [*cells, str(row["order"]), said]


def compare_margins(samples: tuple[Draws, Draws], iid: tuple[bool, bool], *, confidence: float, adjust: str = "bh") -> Margins:
    """Compare every variable of two samples that have the same variables, in the same order; they may be constant.

    Parameters
    ----------
    samples : (Draws, Draws)
        The draws and the reference.
    iid : (bool, bool)
        Whether the draws, and those of the reference, are independent.
    confidence : float
        Adjusted p-values below 1 - confidence count as a difference.
    adjust : {"bh", "by", "holm", "bonferroni", "none"}
        See `adjust_pvalues`.
    """
    names, alpha = samples[0].names, 1.0 - confidence
    rows = np.zeros(len(names), _ROW)
    for name in (name for name in _ROW.names or () if _ROW[name] == np.float64):
        rows[name] = math.nan
    kinds, labels = [samples[0].kind(k) for k in range(len(names))], [samples[0].labels(k) for k in range(len(names))]
    if any(sample.ranked for sample in samples):
        none = ("",) * len(names)
        return Margins(
            names, rows, none, (_RANKED,) * len(names), confidence, adjust, kinds=tuple(kinds), levels=((),) * len(names)
        )  # fmt: skip
    if isinstance(samples[0], CountedDraws) and isinstance(samples[1], CountedDraws):
        counted = [sample for sample in samples if isinstance(sample, CountedDraws)]
        pairs = [(counted[0].margin_values(k)[None], counted[1].margin_values(k)[None]) for k in range(len(names))]
        compared = [_compared_counts(counted[0], counted[1], k, pair, alpha) for k, pair in enumerate(pairs)]
    else:
        pairs = [_values(samples[0], samples[1], k) for k in range(len(names))]
        compared = [_compared(pair, kind, iid, alpha) for pair, kind in zip(pairs, kinds, strict=True)]
    tests, found = zip(*compared, strict=True)
    named = [naming_of(kind, texts) for kind, texts in zip(kinds, labels, strict=True)]
    for row, pair, test, difference in zip(rows, pairs, tests, found, strict=True):
        _fill(row, pair, test, difference)
    for name, sample in zip(("n", "n_reference"), samples, strict=True):
        if isinstance(sample, CountedDraws):
            rows[name] = [int(sample.rows_of(k)[:-1].sum()) for k in range(len(names))]
    rows["adjusted"] = adjust_pvalues(rows["pvalue"], adjust)
    rows["flagged"] = rows["adjusted"] < alpha
    largest = [max(map(abs, test.scores), default=0.0) for test in tests]
    order = np.lexsort((-np.array(largest), np.nan_to_num(rows["pvalue"], nan=2.0), ~rows["flagged"]))
    limits = [wording.few_draws(sample.n_chains, alone) for sample, alone in zip(samples, iid, strict=True)]
    few = [test for test in tests if test.order and (test.n_eff < limits[0] or test.n_eff_reference < limits[1])]
    return Margins(
        tuple(names[k] for k in order),
        rows[order],
        tuple(in_words(pairs[k], tests[k], found[k], kinds[k], named[k], alpha) if rows["flagged"][k] else "" for k in order),
        tuple(_UNTESTED.get(tests[k].untested, "") for k in order),
        confidence,
        adjust,
        min((min(test.n_eff, test.n_eff_reference) for test in few), default=math.nan),
        tuple(kinds[k] for k in order),
        tuple(tuple((_label(labels[k], level), *numbers) for level, *numbers in tests[k].levels) for k in order),
    )


def _compared(
    pair: tuple[NDArray[np.float64], NDArray[np.float64]], kind: str, iid: tuple[bool, bool], alpha: float
) -> tuple[MarginTest, MarginDifference]:
    """The test of a variable, and the sizes of differences if its values have an order."""
    if not is_ordered(kind):
        return level_test(*pair, iid=iid), MarginDifference(math.nan, math.nan)
    test = margin_test(*pair, iid=iid)
    return test, margin_difference(*pair, test, alpha)


def _compared_counts(
    draws: CountedDraws, reference: CountedDraws, k: int, pair: tuple[NDArray[np.float64], NDArray[np.float64]], alpha: float
) -> tuple[MarginTest, MarginDifference]:
    """The same for a variable that was counted; `pair` holds values that stand for those of either sample."""
    own, other = draws.margin(k), reference.margin(k)
    if not is_ordered(draws.kind(k)):
        counts = np.stack([own.rows, other.rows]).astype(np.intp)
        return level_test_of_counts(counts), MarginDifference(math.nan, math.nan)
    test = counted_margin_test(own, other)
    return test, margin_difference(*pair, test, alpha)


def _label(labels: tuple[str, ...], level: int) -> str:
    if level != REST:
        return labels[level]
    return next(name for name in chain([OTHER], (f"{OTHER} {k}" for k in count(2))) if name not in labels)


def _values(draws: Draws, reference: Draws, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A variable of both samples, (chain, draw), without missing values: only tables, which are one sequence, have these."""
    own, other = draws.values[:, :, k], reference.values[:, :, k]
    own = own[~np.isnan(own)][None] if draws.incomplete else own
    return own, other[~np.isnan(other)][None] if reference.incomplete else other


def _fill(row: Any, pair: tuple[NDArray[np.float64], ...], test: MarginTest, difference: MarginDifference) -> None:
    row["n"], row["n_reference"] = (values.size for values in pair)
    row["shift"], row["ratio"] = difference.shift, difference.ratio
    for name in ("pvalue", "order", "n_eff", "n_eff_reference"):
        row[name] = getattr(test, name)
    for name, value, score in zip(_COMPONENTS, () if test.levels else test.values, test.scores, strict=False):
        row[name], row[f"{name}_score"] = value, score
