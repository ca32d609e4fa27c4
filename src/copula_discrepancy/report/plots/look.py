"""The common style of all plots: the style file, its colours, and the axes to draw into; matplotlib is loaded on use."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from textwrap import fill
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.compare.wording import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito (2008): distinguishable with colour vision deficiencies, and by their grey values in this order.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#777777"
PALE = "#b0b0b0"  # lines that are not to be relied on

_SETTINGS = RLock()


@contextmanager
def styled() -> Iterator[None]:
    """The project's style, for figures created inside, regardless of the user's settings."""
    import matplotlib as mpl

    # matplotlib has one set of settings for all threads: two that change it at once would leave ours behind
    with _SETTINGS, as_file(files("copula_discrepancy") / "style.mplstyle") as path, mpl.rc_context(fname=path):
        yield


@contextmanager
def canvas(
    ax: Any, *, size: tuple[float, float], panels: int = 1, across: bool = True, columns: int = 0, **shared: Any
) -> Iterator[Any]:
    """Axes to draw into: the user's, in the user's style, or those of a new figure in the project's.

    One panel is an Axes; more are an array of them, side by side, with across=False stacked, or in the given number of columns.
    If `ax` is passed, it must have as many.
    """
    if ax is not None:
        axes = as_axes(ax, panels)
        yield axes[0] if panels == 1 else axes
        return
    import matplotlib.pyplot as plt

    # Loads the backend. A notebook's backend turns interaction on as it loads; inside `styled` that would be undone at its end,
    # and no further figure would be shown.
    plt.draw_if_interactive()  # type: ignore[no-untyped-call]
    with styled():
        columns = columns or (panels if across else 1)
        rows = panels // columns
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **shared)
        try:
            yield axes[0, 0] if panels == 1 else axes.reshape(-1)
        except BaseException:
            plt.close(figure)  # no one else holds a reference to close it
            raise
        keep_look(figure)


def as_axes(ax: Any, *panels: int) -> Any:
    """The user's Axes as a flat array, if their number is one of `panels`."""
    from matplotlib.axes import Axes

    axes = np.atleast_1d(np.asarray(ax, dtype=object)).reshape(-1)
    for one in axes:
        if not isinstance(one, Axes):
            raise InputError(f"ax must be matplotlib Axes, got {type(one).__name__}; create them with plt.subplots()")
    if axes.size not in panels:
        wanted = " or ".join(map(str, panels))
        raise InputError(f"ax must be {wanted} Axes, one for each panel, got {axes.size}")
    return axes


def keep_look(figure: Any) -> None:
    """Create the ticks now: they take their style from the settings in effect when created, otherwise at drawing time."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_major_ticks()
            axis.get_minor_ticks()


# A variable's name may contain dollar signs and backslashes; it is plain text, regardless of the user's settings.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}


def plain(name: str, limit: int = 28) -> str:
    """A name on one line, in at most `limit` characters; write it with PLAIN."""
    return shortened(name, limit)


def ink() -> str:
    """The text colour of the current settings: black, or white on a dark figure."""
    import matplotlib as mpl

    return str(mpl.rcParams["text.color"])


X_SMALL = 0.694  # matplotlib's "x-small" relative to the font size


def text_size(share: float) -> float:
    """A font size relative to that of the current settings, finer than names such as "small" allow."""
    import matplotlib as mpl

    return share * float(mpl.rcParams["font.size"])


def fit_words(ax: "Axes") -> None:
    """Make title and labels of a panel, and of a twin axis over it, small and wrap them to fit."""
    box = ax.get_position()
    over = [other for other in ax.figure.axes if np.allclose(other.get_position().bounds, box.bounds)]
    extent, small = ax.get_window_extent(), text_size(0.833)
    width, height = (int(72.0 * side / ax.figure.dpi / (0.55 * small)) for side in (extent.width, extent.height))
    for panel in over:
        panel.set_ylabel(fill(panel.get_ylabel(), height), fontsize="small")
        for side in ("left", "center", "right"):
            panel.set_title(fill(panel.get_title(loc=side), width), loc=side, fontsize="small")


def wrong_subject(function: str, takes: str, result: Any) -> InputError:
    """The error for anything but the results that a plot function accepts."""
    return InputError(f"{function} requires {takes}, got {type(result).__name__}; call cd.discrepancy(draws, target) first")


def few_ticks(ax: "Axes") -> Any:
    """A locator with so few ticks that their labels do not overlap, even in half a column of a journal."""
    from matplotlib.ticker import MaxNLocator

    inches = ax.get_window_extent().width / ax.figure.dpi
    return MaxNLocator(nbins=min(max(int(2.0 * inches), 2), 5), steps=[1, 2, 5, 10])


def square_width(ax: "Axes") -> float:
    """Width of the square in a panel, in points."""
    box = ax.get_window_extent()
    return 72.0 * min(box.width, box.height) / ax.figure.dpi


def unit_square(ax: "Axes", names: tuple[str, str], *, ranked: bool) -> None:
    """Frame, ticks and labels of a panel with the ranks of two variables."""
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.0)
    ax.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    ax.set_yticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    ax.grid(False)
    ax.spines[["top", "right"]].set_visible(True)  # the unit square ends there
    of, limit = "rank of " if ranked else "", int(min(max(square_width(ax) / 4.0 - 8.0, 10.0), 28.0))  # 4 points a character
    ax.set_xlabel(f"{of}{plain(names[0], limit)}", fontsize="small", **PLAIN)
    ax.set_ylabel(f"{of}{plain(names[1], limit)}", fontsize="small", **PLAIN)


def title_above(ax: "Axes", text: str, size: str = "small") -> None:
    """A title of one or more lines at the left, at a fixed position, which is faster than matplotlib's automatic one."""
    ax.set_title(text, loc="left", fontsize=size, y=1.0, pad=2.0, va="bottom", **PLAIN)


def legend_above(ax: "Axes", handles: Mapping[str, Any], *, right: bool = False) -> None:
    """A legend on one line above the axes, where it hides nothing; from the right if long names are on the left."""
    ax.legend(
        list(handles.values()), list(handles), loc="lower right" if right else "lower left", ncols=len(handles),
        bbox_to_anchor=(1.0 if right else 0.0, 1.0), fontsize="x-small", borderaxespad=0.2, borderpad=0.0, columnspacing=1.2,
        handlelength=1.8, handletextpad=0.5, frameon=False,
    )  # fmt: skip


def note_below(ax: "Axes", *lines: str, key: tuple[str, str] | None = None) -> None:
    """Small lines below the label of the x axis, for a panel half a column wide: 32 characters each.

    A `key` is the colour of some marks and what they are, for a last line with such a mark.
    """
    above: Any = ax.xaxis.label
    for text, color in (("\n".join(lines), GREY), *(() if key is None else [(f"\N{BLACK CIRCLE} {key[1]}", key[0])])):
        above = ax.annotate(
            text, (0.5, 0.0), xytext=(0.0, -1.5), xycoords=above, textcoords="offset points", ha="center", va="top",
            fontsize="x-small", color=color,
        )  # fmt: skip


def band(
    ax: "Axes", x: Any, mean: Any, low: Any, high: Any, *, color: str, label: str, marker: str = "o", line: str = "-"
) -> None:
    """A line of means with its interval as a band; a single point has an error bar."""
    ax.plot(x, mean, line, marker=marker, color=color, label=label)
    if len(x) == 1:
        ax.vlines(x, low, high, color=color)
    ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
