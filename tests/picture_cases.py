"""The results that pictures are tested on, the pictures themselves, and how far apart two images are.

`python -m tests.picture_cases` draws the images of `tests/images` anew, or those whose names follow; look at them before they
are committed.
"""

import io
import warnings
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.legend import Legend
from matplotlib.text import Text

import copula_discrepancy as cd
from copula_discrepancy.report.plots.kinds import plot_columns
from copula_discrepancy.report.plots.look import styled
from tests.kinds_data import orders, passengers, penguins

IMAGES = Path(__file__).parent / "images"
DPI = 50


def in_chains(copula, chains, draws, rng):
    return copula.sample(chains * draws, rng=rng).reshape(chains, draws, 2)


@cache
def result(name):
    """One of the results, computed once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return (MADE | TABLES)[name]()


def stuck():
    draws = in_chains(cd.Gumbel(2.0), 4, 300, 3).copy()
    draws[2] = draws[2, 0]
    return cd.discrepancy(draws, cd.Gumbel(2.0))


def all_pairs(reference=True):
    source = np.random.default_rng(1)  # not its multivariate_normal, whose numbers depend on the library of linear algebra
    draws, other = (source.normal(size=(4, 200, 4)) + source.normal(size=(4, 200, 1)) for _ in range(2))
    return cd.pairwise(draws, other) if reference else cd.pairwise(draws)


def many_pairs():
    """Thirty variables, three of which have lost the common factor."""
    source = np.random.default_rng(2)
    reference, draws = (source.normal(size=(500, 30)) + source.normal(size=(500, 1)) for _ in range(2))
    draws[:, 4:7] = source.normal(size=(500, 3))
    return cd.pairwise(draws, reference, iid=True, method="moment")


def perfect():
    x = np.random.default_rng(1).normal(size=200)
    return cd.discrepancy(np.stack([x, x], axis=1), cd.Gumbel(2.5))


def discrete():
    source = np.random.default_rng(2)
    return cd.discrepancy(source.poisson(2.0, (1000, 1)) + source.poisson(1.5, (1000, 2)), cd.Gaussian(0.6))


def crash():
    """A table with two columns that are negatively dependent but fall together in some rows."""
    x, y = np.random.default_rng(4).normal(size=(2, 2000))
    table = np.stack([x, 0.9 * y - 0.4 * x], axis=1)
    table[:60] = -3.0 + 0.3 * table[:60]
    return cd.discrepancy(pd.DataFrame(table, columns=["equity", "bonds"]), cd.Gaussian(-0.3), iid=True)


def divergent():
    """Draws of a Gumbel copula, some of which diverged where both variables are low, next to a reference with a few too."""
    samples = [cd.as_draws(in_chains(cd.Gumbel(2.0), 4, 300, seed)) for seed in (3, 4)]
    low = [(sample.values < 0.3).all(axis=2) for sample in samples]
    marks = [where & (np.arange(where.size).reshape(where.shape) % step == 0) for where, step in zip(low, (4, 40), strict=True)]
    return cd.discrepancy(*(replace(sample, diverging=mark) for sample, mark in zip(samples, marks, strict=True)))


MADE = {
    "target": lambda: cd.discrepancy(in_chains(cd.Clayton(3.0), 4, 750, 1), cd.Gumbel(2.5)),
    "reference": lambda: cd.discrepancy(
        in_chains(cd.Gaussian(0.4), 4, 400, 1), in_chains(cd.Gaussian(0.6), 3, 500, 2), family="gaussian"
    ),
    "negative": lambda: cd.discrepancy(cd.Rotated(cd.Clayton(3.0), 90).sample(1500, rng=2), cd.Frank(-6.0)),
    "few": lambda: cd.discrepancy(cd.Gaussian(0.5).sample(60, rng=3), cd.Gaussian(0.5)),
    "many_chains": lambda: cd.discrepancy(in_chains(cd.Gumbel(2.0), 100, 60, 3), cd.Gumbel(2.0)),
    "moment": lambda: cd.discrepancy(in_chains(cd.Clayton(3.0), 4, 750, 1), cd.Gumbel(2.5), method="moment"),
    "stuck": stuck,
    "perfect": perfect,
    "discrete": discrete,
    "independent": lambda: cd.discrepancy(cd.Rotated(cd.Clayton(3.0), 90).sample(500, rng=2), cd.Gumbel(1.5)),
    "crash": crash,
    "four_corners": lambda: cd.discrepancy(cd.StudentT(0.3, 1.0).sample(3000, rng=1), cd.Gaussian(0.5), iid=True),
    "pairs": all_pairs,
    "many_pairs": many_pairs,
    "no_target": lambda: all_pairs(False),
    "fit": lambda: cd.fit(in_chains(cd.Joe(2.0), 2, 450, 1), "joe"),
    "divergent": divergent,
}

# two tables with columns of every kind, the mixed one first
TABLES = {make.__name__: partial(lambda make: (make(2, mixed=True), make(1)), make) for make in (penguins, passengers, orders)}


def columns_of(first, second):
    """A picture of two columns of a table."""
    return lambda tables, ax: plot_columns(*tables, first, second, ax=ax, points=250)


few_points = partial(cd.plot_pair, points=250)  # small files

# name of the image: (function, result, width and height in inches, panels)
PICTURES = {
    "pair_3.5in": (few_points, "target", (3.5, 2.5), 2),
    "pair_7in": (few_points, "reference", (7.0, 4.2), 2),
    "pair_one_panel": (few_points, "negative", (3.5, 3.6), 1),
    "pair_divergent": (few_points, "divergent", (7.0, 4.2), 2),
    "pair_three_corners": (few_points, "crash", (3.5, 2.5), 2),
    "forest_3.5in": (cd.plot_tau_forest, "reference", (3.5, 2.6), 1),
    "forest_7in": (cd.plot_tau_forest, "stuck", (7.0, 2.4), 1),
    "forest_pairs": (cd.plot_tau_forest, "pairs", (3.5, 3.2), 1),
    "trace_3.5in": (cd.plot_trace, "target", (3.5, 2.6), 1),
    "trace_7in": (cd.plot_trace, "reference", (7.0, 3.4), 1),
    "map_3.5in": (cd.Pairwise.plot, "pairs", (3.5, 3.2), 1),
    "map_7in": (cd.Pairwise.plot, "many_pairs", (7.0, 6.0), 1),
    "form_7in": (cd.plot_form, "reference", (7.0, 2.8), 3),
    "kept_3.5in": (lambda found, ax: found.plot("kept", ax=ax), "pairs", (3.5, 3.2), 1),
    "levels_3.5in": (columns_of("species", "bill length"), "penguins", (3.5, 2.6), 1),
    "levels_boxes": (columns_of("product", "ordered on"), "orders", (6.0, 5.0), 1),
    "mosaic_3.5in": (columns_of("sex", "survived"), "passengers", (3.5, 2.6), 2),
    "mosaic_7in": (columns_of("product", "region"), "orders", (7.0, 4.2), 2),
    "cloud_dates": (columns_of("ordered on", "amount"), "orders", (7.0, 4.0), 2),
    "gaps_3.5in": (lambda found, ax: found.plot(ax=ax), "target", (3.5, 2.5), 1),
}


def drawn(name):
    """The figure of a picture, its panels at fixed places, without pyplot."""
    function, subject, size, panels = PICTURES[name]
    with styled():
        figure = Figure(figsize=size, dpi=DPI)
        axes = figure.subplots(1, panels)
        function(result(subject), ax=axes)
    return figure


def wordless(name):
    """A picture without its text, at fixed places: letters and their widths differ between versions of matplotlib.

    What is written, and whether it has room, is tested as text.
    """
    figure = drawn(name)
    for words in figure.findobj(Text):
        words.set_visible(False)
    for legend in figure.findobj(Legend):
        legend.set_visible(False)
    return figure


def pixels(figure):
    """(height, width, 3), between 0 and 255."""
    written = io.BytesIO()
    with styled():
        figure.savefig(written, format="png", dpi=DPI)
    written.seek(0)
    return 255.0 * imread(written)[:, :, :3]


def distance(one, other, *, moved=0):
    """Root of the mean squared difference of two images; every pixel may have moved by so many, in either image."""
    if one.shape != other.shape:
        return np.inf
    steps = range(-moved, moved + 1)
    shifted = [(one, np.roll(other, (i, j), (0, 1))) for i in steps for j in steps]
    shifted_back = [(other, np.roll(one, (i, j), (0, 1))) for i in steps for j in steps]
    squares = [np.min([np.mean((a - b) ** 2, axis=2) for a, b in pairs], axis=0) for pairs in (shifted, shifted_back)]
    return float(np.sqrt(max(np.mean(part) for part in squares)))


def baseline(name):
    return 255.0 * imread(IMAGES / f"{name}.png")[:, :, :3]


if __name__ == "__main__":
    import sys

    IMAGES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        with styled():
            wordless(name).savefig(IMAGES / f"{name}.png", dpi=DPI, metadata={"Software": None})
