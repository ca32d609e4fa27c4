"""Form in pictures: the smoothed copula densities of draws and target, and where they differ."""

import math
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.form_result import Form
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.compare.wording import kept_words, pair_label
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.estimate.form import usable_cells
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.families import Copula
from copula_discrepancy.report.plots import look
from copula_discrepancy.report.plots.maps import colour_limit, signed_colours

Array = NDArray[np.float64]

CELLS = 48  # cells per side: polynomials of order 8 have no detail that is finer
_PALE, _DARK = "#ffffff", "#00382b"  # ends of the scale of densities, about green, which means nothing elsewhere
_SMALL, _SIGN = 0.833, 0.5  # size of a small title relative to the font size, and width of its characters relative to that
_INSIDE = 0.97  # share of the cells within a scale: polynomials peak in corners, and all else would be pale
_NOTE = 34  # characters of a line below a panel
MISSING, SURPLUS = "too few", "too many"


@dataclass(frozen=True)
class Densities:
    """The two smoothed densities on a grid of cells; rows are cells of the second variable, from below.

    Attributes
    ----------
    own, target : array (cell, cell)
        The densities of the draws and of the target; NaN if no coefficient is known.
    """

    own: Array
    target: Array

    @classmethod
    def of(cls, form: Form, cells: int = CELLS) -> "Densities":
        """The densities at the centres of the cells, from the coefficients that are known of both."""
        known = np.isfinite(form.coefficients) & np.isfinite(form.target_coefficients)
        if not known.any():
            nothing = np.full((cells, cells), math.nan)
            return cls(nothing, nothing)
        own, target = (np.where(known, side, 0.0) for side in (form.coefficients, form.target_coefficients))
        both = replace(form, coefficients=own, target_coefficients=target)
        centres = (np.arange(cells) + 0.5) / cells
        return cls(both.density(centres, centres).T, both.density(centres, centres, target=True).T)

    @classmethod
    def of_fit(cls, fit: Fit, order: int) -> "Densities":
        """The densities of draws and of the copula fitted to them, at an order that the draws allow."""
        unknown = Form(math.nan, math.nan, (math.nan, math.nan), math.nan, math.nan)
        try:
            copula = fit.copula
        except InputError:  # perfect dependence
            return cls.of(unknown)
        own, values = fit.pair.coefficients(order)
        used = usable_cells(values, np.array([0]), np.array([1]), fit.n, order).reshape(order, order)
        target = copula_coefficients(copula, order).reshape(order, order)
        return cls.of(replace(unknown, order=order, coefficients=np.where(used, own, math.nan), target_coefficients=target))

    @property
    def known(self) -> bool:
        """Whether there is anything to draw."""
        return bool(np.isfinite(self.own).all())

    @property
    def difference(self) -> Array:
        """Draws minus target."""
        return self.own - self.target

    @property
    def limit(self) -> float:
        """The end of the scale of differences, on both sides of zero; a few cells are beyond it."""
        return _scale_end(self.difference)

    @property
    def largest(self) -> float:
        """The end of the scale of both densities; a few cells are beyond it."""
        return _scale_end(np.concatenate([self.own, self.target]))

    def words(self, things: str, whose: str, names: tuple[str, str]) -> str:
        """Where draws are missing and where there are too many, in a sentence."""
        if not self.known:
            return f"The densities of {pair_label(*names)} cannot be compared."
        low, high = (_place(self.difference, pick, names) for pick in (np.argmin, np.argmax))
        most = float(np.abs(self.difference).max())
        return (
            f"Smoothed density of the {things} minus that of the {whose}, at most {most:.2f} in size: lowest where {low}, "
            f"highest where {high}."
        )


def _scale_end(values: Array) -> float:
    return colour_limit(np.quantile(np.abs(values), [_INSIDE])) if np.isfinite(values).all() else 1.0


def _place(values: Array, pick: Any, names: tuple[str, str]) -> str:
    """A cell in words: a low, middle or high value of each variable."""
    row, column = np.unravel_index(int(pick(values)), values.shape)
    parts = [("low", "in the middle", "high")[min(3 * int(k) // len(values), 2)] for k in (column, row)]
    return f"{names[0]} is {parts[0]} and {names[1]} {parts[1]}"


def misfit(coefficients: Array, errors: Array, copula: Copula | None, alpha: float) -> bool:
    """Whether a sample's dependence differs clearly from a copula fitted to it, so that its contours mislead.

    The largest of all coefficients' z-scores, with Bonferroni's correction: about alpha of the samples of a family differ by
    chance, or fewer, as the copula follows the sample.
    """
    if copula is None or not coefficients.size:
        return False
    fitted = copula_coefficients(copula, len(coefficients)).reshape(coefficients.shape)
    known = np.isfinite(coefficients) & (errors > 0.0)
    if not known.any():
        return False
    from scipy.special import ndtri

    z = np.abs(coefficients - fitted)[known] / errors[known]
    return bool(z.max() > -ndtri(0.5 * alpha / z.size))


def plot_form(result: Discrepancy, *, ax: Any = None) -> "NDArray[Any]":
    """Draw the smoothed copula densities of draws and target, and their difference, as heat maps: where a gap in form is.

    The densities are those of `Form.density`: polynomials of the ranks, 1 where both variables are independent. They have
    detail up to the order of the comparison; both panels have the same scale, and values below 0, which a polynomial may have
    where there are no draws, are drawn as 0. In the difference, orange marks places with too many draws and blue places with
    too few.

    Parameters
    ----------
    result : Discrepancy
        A result of `discrepancy`, or a pair of `pairwise`.
    ax : three Axes, optional
        Axes to draw into, with their current style; by default a new figure.

    Returns
    -------
    array of three Axes
        The panels of the draws, of the target and of their difference.

    Raises
    ------
    InputError
        For anything but a Discrepancy, or a wrong number of Axes.

    See Also
    --------
    plot_pair : The draws themselves, next to those of the target.
    Form.density : The numbers drawn.

    Notes
    -----
    Coefficients that are NaN, as those of high orders with few draws or few values, are left out of both densities. If none is
    known, the panels say so.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> import copula_discrepancy as cd
    >>> x, e, lost = np.random.default_rng(1).standard_normal((3, 1000))
    >>> funnel, draws = np.stack([x, np.exp(x) * e], -1), np.stack([lost, e], -1)
    >>> result = cd.discrepancy(draws, funnel[::-1], family="gaussian", iid=True)
    >>> axes = cd.plot_form(result, ax=Figure(figsize=(9, 3.5), layout="constrained").subplots(1, 3))
    >>> [ax.get_title(loc="left") for ax in axes]
    ['rows', 'reference', 'rows minus reference']
    """
    if not isinstance(result, Discrepancy):
        raise look.wrong_subject("plot_form", "a Discrepancy", result)
    from matplotlib.ticker import MaxNLocator

    form, whose = result.form, "target" if result.reference is None else "reference"
    found, ticks = Densities.of(form), MaxNLocator(5, steps=[1, 2, 5, 10])
    with look.canvas(ax, size=(8.4, 3.4), panels=3) as axes:
        titles = (result.things, whose, f"{result.things} minus {whose}")
        scales = (0.0, found.largest), (0.0, found.largest), (-found.limit, found.limit)
        values = found.own.clip(min=0.0), found.target.clip(min=0.0), found.difference
        maps = density_colours(), density_colours(), signed_colours()
        for panel, title, cells, (low, high), colours in zip(axes, titles, values, scales, maps, strict=True):
            look.unit_square(panel, result.fit.pair.names, ranked=result.margins == "rank")
            look.title_above(panel, title)
            if not found.known:
                panel.text(0.5, 0.5, "not available", ha="center", va="center", fontsize="small", color=look.GREY)
                continue
            image = panel.imshow(
                cells, cmap=colours, vmin=low, vmax=high, origin="lower", extent=(0.0, 1.0, 0.0, 1.0), interpolation="bilinear"
            )
            beside = panel.inset_axes((1.04, 0.0, 0.05, 1.0))  # as high as the square
            bar = panel.figure.colorbar(image, cax=beside, extend="both" if low < 0.0 else "max", ticks=ticks)
            bar.ax.tick_params(labelsize="x-small")
            bar.outline.set_visible(False)
        _write_notes(axes, result, whose, own=ax is None)
    return np.asarray(axes if ax is None else look.as_axes(ax, 3))


def density_colours() -> Any:
    """From white, no density, to dark green."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("density", [_PALE, look.GREEN, _DARK], N=256)


def form_words(result: Discrepancy) -> str:
    """The pattern and the share kept, as sentences."""
    form, whose = result.form, "the target" if result.reference is None else "the reference"
    if math.isnan(form.pvalue):
        return "Form was not tested."
    kept = kept_words(form.kept.value, form.kept.ci, form.confidence, f"{whose}'s", result.things)
    return f"Form {form.value:.2f}{f': {form.pattern}' if form.pattern else ''}.{kept}"


def _write_notes(axes: Any, result: Discrepancy, whose: str, *, own: bool) -> None:
    """What the colours mean, below the panels; pattern and share kept above a figure of our own, else below the last panel."""
    words, form = form_words(result), result.form
    smoothed = f"smoothed to order {form.tested_order}; 1: independent", "below 0 drawn as 0"
    for panel in axes[:2]:
        look.note_below(panel, *smoothed)
    sides = f"blue: {MISSING} {result.things}, orange: {SURPLUS}"
    look.note_below(axes[2], sides, *(() if own else fill(look.plain(words, 160), _NOTE).split("\n")))
    if own:
        figure = axes[0].figure
        points = 72.0 * figure.bbox.width / figure.dpi
        names = [look.plain(name, 20) for name in result.fit.pair.names]
        signs = int(points / (_SIGN * look.text_size(1.0)))
        figure.suptitle(f"{pair_label(*names)}\n{fill(words, signs)}", x=0.01, ha="left", fontsize="small", **look.PLAIN)
