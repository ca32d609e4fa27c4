"""Result of `consequence`: a number in the draws, with the reference's dependence, and in the reference."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, WithCaveats
from copula_discrepancy._core.checks import independent_sides
from copula_discrepancy.compare import consequence_wording, wording
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.estimate.decomposition import COMBINATIONS
from copula_discrepancy.estimate.uncertainty import Estimate

if TYPE_CHECKING:
    import pandas as pd

DIFFERENCES = ("difference", "dependence", "margins")


@dataclass(frozen=True)
class Effect:
    """A summary of a function in the four combinations of margins and dependence, and what is due to which.

    `Consequence.effects` has one for each summary.

    Attributes
    ----------
    label : str
        The summary in words, such as "1% quantile".
    summary : {"probability", "mean", "sd", "quantile", "shortfall"}
        Its kind.
    q : float
        The probability of a quantile or shortfall; NaN for others.
    draws, repaired, swapped, reference : Estimate
        Its value in the draws, in the draws' margins with the reference's dependence, in the reference's margins with the
        draws' dependence, and in the reference.
    difference, dependence, margins : Estimate
        The value in the draws minus that in the reference, and the parts of it due to dependence and to margins, which add up
        to it.

    See Also
    --------
    consequence : The function that computes it.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> a, b = np.random.default_rng(1).standard_normal((2, 1000, 2))
    >>> effect = cd.consequence(a, b, "x0 + x1", summary="sd", iid=True).effects[0]
    >>> effect.label, effect.dependence.pvalue > 0.05
    ('standard deviation', True)
    """

    label: str
    summary: str
    q: float
    draws: Estimate
    repaired: Estimate
    swapped: Estimate
    reference: Estimate
    difference: Estimate
    dependence: Estimate
    margins: Estimate

    @property
    def flagged(self) -> bool:
        """Whether dependence has a significant effect."""
        return self.dependence.pvalue < 1.0 - self.dependence.confidence

    def to_dict(self) -> dict[str, Any]:
        """Every number by name, ready for JSON."""
        plain = {"label": self.label, "summary": self.summary, "q": self.q, "flagged": self.flagged}
        return plain | {name: getattr(self, name).to_dict() for name in (*COMBINATIONS, *DIFFERENCES)}


@dataclass(frozen=True, eq=False, repr=False)
class Consequence(WithCaveats):
    """What the dependence of draws does to a function of the variables, apart from what their margins do.

    Result of `consequence`; print it for a sentence and a table. The numbers of its first summary are attributes of it:
    ``result.draws``, ``result.repaired``, ``result.dependence``, ...

    Attributes
    ----------
    function : str
        The function, as typed.
    names : tuple of str
        The variables it uses.
    is_condition : bool
        Whether it is true or false.
    effects : tuple of Effect
        One for each summary.
    values : tuple of array
        The function's values in the draws, in the draws' margins with the reference's dependence, in the reference's margins
        with the draws' dependence, and in the reference.
    split, iid, confidence, n_resamples
        As passed to `consequence`.
    blocks : (int, int)
        Draws per resampled block in the two samples; 1 for single rows.
    samples : (Draws, Draws)
        Draws and reference, with the variables of the function.
    caveats, notes, version
        As in `Pairwise`.

    See Also
    --------
    consequence : The function that returns it.

    Examples
    --------
    >>> import numpy as np
    >>> import copula_discrepancy as cd
    >>> rng = np.random.default_rng(1)
    >>> reference = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 2000)
    >>> result = cd.consequence(rng.standard_normal((2000, 2)), reference, "0.5*x0 + 0.5*x1", q=0.01, iid=True)
    >>> result.outcome, result.dependence.value > 0
    ('gap', True)
    """

    _shown: ClassVar[int] = 60  # characters of the function in a heading

    function: str
    names: tuple[str, ...]
    is_condition: bool
    effects: tuple[Effect, ...]
    values: tuple[NDArray[np.float64], ...] = field(repr=False)
    split: str
    iid: bool | str
    confidence: float
    n_resamples: int
    blocks: tuple[int, int]
    samples: tuple[Draws, Draws] = field(repr=False)
    caveats: tuple[Caveat, ...]
    notes: tuple[str, ...]
    version: str

    @property
    def draws(self) -> Estimate:
        """The value in the draws."""
        return self.effects[0].draws

    @property
    def repaired(self) -> Estimate:
        """The value in the draws' margins with the reference's dependence."""
        return self.effects[0].repaired

    @property
    def swapped(self) -> Estimate:
        """The value in the reference's margins with the draws' dependence."""
        return self.effects[0].swapped

    @property
    def reference(self) -> Estimate:
        """The value in the reference."""
        return self.effects[0].reference

    @property
    def difference(self) -> Estimate:
        """The value in the draws minus that in the reference."""
        return self.effects[0].difference

    @property
    def dependence(self) -> Estimate:
        """The part of the difference that is due to dependence."""
        return self.effects[0].dependence

    @property
    def margins(self) -> Estimate:
        """The part of the difference that is due to margins."""
        return self.effects[0].margins

    @property
    def things(self) -> str:
        """The noun for the observations in messages: "draws", or "rows" for a table."""
        return wording.called(self.samples[0], independent_sides(self.iid)[0])

    @property
    def outcome(self) -> str:
        """The verdict in a word or two: "gap", "no gap", "not tested" or "void"."""
        if self.void:
            return "void"
        if all(np.isnan(effect.dependence.pvalue) for effect in self.effects):
            return "not tested"
        return "gap" if any(effect.flagged for effect in self.effects) else "no gap"

    @property
    def verdict(self) -> str:
        """The answer in a few words."""
        return consequence_wording.verdict(self)

    @property
    def title(self) -> str:
        """What was compared, in one line."""
        own, other = (sample.n_chains * sample.n_draws for sample in self.samples)
        return f"{wording.shortened(self.function, self._shown)}: {own:,} {self.things} against {other:,} of a reference"

    def sentences(self) -> dict[str, str]:
        """The answer in words, by topic: Answer, Reference and, if no effect was found, Tested."""
        return consequence_wording.sentences(self)

    def table_rows(self) -> list[list[str]]:
        """The values and differences as text, with a heading; one block of rows per summary."""
        return consequence_wording.table(self)

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per summary and number: value, standard error, interval, p-value, effective draws."""
        import pandas as pd

        rows = []
        for effect in self.effects:
            for name in (*COMBINATIONS, *DIFFERENCES):
                estimate: Estimate = getattr(effect, name)
                low, high = estimate.ci
                numbers = {"value": estimate.value, "se": estimate.se, "ci_low": low, "ci_high": high}
                numbers |= {"pvalue": estimate.pvalue, "n_eff": estimate.n_eff}
                rows.append({"summary": effect.summary, "q": effect.q, "number": name} | numbers)
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Every number and text, ready for Python's json (infinite and missing numbers included)."""
        names = ("function", "is_condition", "split", "iid", "confidence", "n_resamples", "version", "outcome", "verdict")
        plain = {name: getattr(self, name) for name in names}
        plain |= {"names": list(self.names), "blocks": list(self.blocks), "notes": list(self.notes), "words": self.sentences()}
        plain |= {"n": [sample.n_chains * sample.n_draws for sample in self.samples]}
        return plain | {"effects": [effect.to_dict() for effect in self.effects]} | self._recorded()

    def plot(self, *, ax: Any = None) -> Any:
        """The distribution of the function in the draws, with the reference's dependence, and in the reference.

        Conditions have their probabilities drawn instead.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib Axes
            What was drawn on.

        Examples
        --------
        >>> import numpy as np
        >>> import copula_discrepancy as cd
        >>> a, b = np.random.default_rng(1).standard_normal((2, 500, 2))
        >>> ax = cd.consequence(a, b, "x0 + x1", q=0.05, iid=True).plot()
        """
        from copula_discrepancy.report.plots.consequences import plot_consequence

        return plot_consequence(self, ax=ax)

    def __repr__(self) -> str:
        lines = [wording.answer_line(self), *wording.wrapped(self.title), *wording.paragraphs(self.sentences())]
        lines += wording.text_table(self.table_rows())
        return "\n".join(lines + wording.noted((*self.notes, *self.warnings)))

    def _repr_html_(self) -> str:
        notes = *self.notes, *self.warnings
        return wording.html(wording.answer_line(self), self.title, self.sentences(), self.table_rows(), notes)
