"""What the pages on families share: pictures of members, tail curves, a check of densities in the corners, and what is said."""

import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas.io.formats.style import Styler
from scipy.special import ndtr, ndtri

import copula_discrepancy as cd
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.report.plots.look import BLUE, GREY, ORANGE

ENCLOSED = (0.95, 0.75, 0.5, 0.25)  # shares of all draws inside the contours
REACH = 3.2  # normal scores shown: all but one in seven hundred
CORNERS = (1e-15, 1e-8, 0.01, 0.5, 0.99, 1.0 - 1e-8, 1.0 - 1e-15)
WIDTH = 76  # characters of an output that fit a page
DIGITS = 120  # of the decimal reference: next to u = 1 the textbook formulas lose forty


def label(copula: cd.Copula) -> str:
    """Clayton(theta=2) with its tau, on two lines."""
    inner = copula.base if isinstance(copula, cd.Rotated) else copula
    df = f", df {inner.df:g}" if isinstance(inner, cd.StudentT) else ""
    return f"{copula.name}\ntau {copula.tau:.2f}, theta {copula.theta:.3g}{df}"


# ---- pictures ------------------------------------------------------------------------------------------------------


def members(copulas: Sequence[cd.Copula], draws: int = 600) -> Figure:
    """Draws on the unit square, and below them density contours on normal scores, one column for each copula."""
    figure, axes = plt.subplots(2, len(copulas), figsize=(7.2, 5.0), layout="constrained", squeeze=False)
    for (top, bottom), copula in zip(axes.T, copulas, strict=True):
        u, v = copula.sample(draws, rng=1).T
        top.scatter(u, v, s=3, color=BLUE, alpha=0.7, linewidths=0)
        top.set(title=label(copula), xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
        _normal_scores(bottom, copula, draws)
    axes[0, 0].set_ylabel("uniform scale")
    axes[1, 0].set_ylabel("normal scores")
    return figure


def gallery(copulas: Sequence[cd.Copula], columns: int = 3, draws: int = 500) -> Figure:
    """Density contours and draws on normal scores, small multiples."""
    rows = -(-len(copulas) // columns)
    size = (7.2, 2.55 * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for ax in axes.flat[len(copulas) :]:
        ax.set_visible(False)
    for ax, copula in zip(axes.flat, copulas, strict=False):
        _normal_scores(ax, copula, draws)
        ax.set_title(label(copula))
    return figure


def _normal_scores(ax: Axes, copula: cd.Copula, draws: int) -> None:
    """Contours that enclose the same shares of draws in every panel, over draws of the copula."""
    scores = ndtri(copula.sample(draws, rng=1))
    ax.scatter(*scores.T, s=3, color=BLUE, alpha=0.35, linewidths=0)
    z = np.linspace(-REACH, REACH, 201)
    u = ndtr(z)
    density = np.exp(copula.logpdf(u[None, :], u[:, None]) - 0.5 * (z[None, :] ** 2 + z[:, None] ** 2))
    falling = np.sort(density, axis=None)[::-1]
    inside = np.cumsum(falling) / falling.sum()
    levels = [falling[np.searchsorted(inside, share)] for share in ENCLOSED]
    ax.contour(z, z, density, levels=levels, colors="black", linewidths=0.9)
    ax.set(xlim=(-REACH, REACH), ylim=(-REACH, REACH), xticks=[-2, 0, 2], yticks=[-2, 0, 2], aspect="equal")


def tail_curves(copulas: Sequence[cd.Copula], smallest: float = 1e-4) -> Figure:
    """P(V < q | U < q) and P(V > 1-q | U > 1-q) against q; dashed, the coefficients they tend to."""
    q = np.geomspace(0.5, smallest, 120)
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.0), layout="constrained", sharey=True)
    colors = (GREY, ORANGE, BLUE)
    for copula, color in zip(copulas, colors, strict=False):
        lower = copula.cdf(q, q) / q
        upper = (2.0 * q - 1.0 + copula.cdf(1.0 - q, 1.0 - q)) / q
        for ax, curve, limit in zip(axes, (lower, upper), copula.tail, strict=True):
            ax.plot(q, curve, color=color, label=f"{copula.name}, tau {copula.tau:.2f}")
            ax.axhline(limit, color=color, linestyle="--", linewidth=0.9)
    for ax, title in zip(axes, ("lower: P(V < q | U < q)", "upper: P(V > 1 - q | U > 1 - q)"), strict=True):
        ax.set(xscale="log", xlabel="q (further into the tail to the right)", ylim=(-0.03, 1.03), title=title)
        ax.invert_xaxis()
    axes[0].legend()
    return figure


# ---- numbers -------------------------------------------------------------------------------------------------------


def table(rows: Sequence[dict[str, Any]]) -> Styler:
    """Rows as a table without row numbers."""

    def short(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value)

    return pd.DataFrame(rows).style.hide(axis="index").format(short).set_table_attributes('class="table"')


def facts(copulas: Sequence[cd.Copula]) -> Styler:
    """Parameter, tails and entropy of each copula."""
    rows = [
        {
            "tau": copula.tau,
            "theta": copula.theta,
            "lower tail": copula.tail[0],
            "upper tail": copula.tail[1],
            "entropy (nats)": copula.entropy(),
        }
        for copula in copulas
    ]
    return table(rows)


def coefficients(copulas: Sequence[cd.Copula]) -> Styler:
    """Some coefficients of form of each copula; all families but rotations are symmetric in u and v, so that a12 = a21."""
    cells = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 3)]
    rows = []
    for copula in copulas:
        a = copula_coefficients(copula, 4).reshape(4, 4).round(3) + 0.0  # no negative zeros
        rows.append({"tau": copula.tau} | {f"a{j}{k}": float(a[j - 1, k - 1]) for j, k in cells})
    return table(rows)


def corner_errors(copulas: Sequence[cd.Copula], density: Callable[..., Any]) -> Styler:
    """How far log densities are from `density(copula, u, v, log, exp)` in exact decimals, at the 49 points of CORNERS.

    Errors are relative to max(1, |log c|). The same function in floats shows what the formula alone would give; a point is lost
    that is off by more than 1e-6, or no number.
    """
    rows = []
    for copula in copulas:
        points = [(u, v) for u in CORNERS for v in CORNERS]
        exact = np.array([_decimal_log(density, copula, u, v) for u, v in points])
        with np.errstate(all="ignore"):
            plain = np.array([_float_log(density, copula, u, v) for u, v in points])
        scale = np.maximum(1.0, np.abs(exact))
        ours = np.abs(copula.logpdf(*np.array(points).T) - exact) / scale
        lost = ~(np.abs(plain - exact) <= 1e-6 * scale)  # also where it is no number
        rows.append(
            {
                "copula": repr(copula),
                "largest |log c|": f"{np.abs(exact).max():.3g}",
                "worst error, library": f"{ours.max():.1e}",
                "formula in floats": f"{lost.sum()} of {len(points)} lost",
            }
        )
    return table(rows)


def _decimal_log(density: Callable[..., Any], copula: cd.Copula, u: float, v: float) -> float:
    with localcontext(prec=DIGITS, Emax=10**15, Emin=-(10**15)):
        return float(density(copula, Decimal(u), Decimal(v), Decimal.ln, Decimal.exp).ln())


def _float_log(density: Callable[..., Any], copula: cd.Copula, u: float, v: float) -> float:
    try:
        return float(np.log(density(copula, np.float64(u), np.float64(v), np.log, np.exp)))
    except (ArithmeticError, ValueError):
        return np.nan


# ---- words ---------------------------------------------------------------------------------------------------------


def outcome(*calls: Callable[[], Any]) -> None:
    """Print what each call returns, warns of or refuses."""
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = call()
                print(f"{value:.6g}" if isinstance(value, float) else value)
            except cd.InputError as error:
                print(fill(f"InputError: {error}", WIDTH, subsequent_indent="  "))
        for warning in caught:
            print(fill(f"{warning.category.__name__}: {warning.message}", WIDTH, subsequent_indent="  "))
