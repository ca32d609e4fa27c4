"""Variables next to their own past: columns for dependence over time, built inside each path and never across two of them.

Each variable x becomes x (now), |x| (its distance from its median, for volatility), and both some steps before: `x[t-1]`,
`|x|[t-1]`. Paths are the chains of a sample; a history is one path.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import is_whole
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.kinds import NOMINAL, NUMERIC
from copula_discrepancy.data.naming import BRIEF, listed

SAME_TIME, OWN_PAST, OTHERS_PAST = "same time", "own past", "others' past"
CLUSTERING, SPILLOVER, LEVERAGE = "volatility clustering", "volatility spillover", "leverage"
KINDS = (SAME_TIME, OWN_PAST, OTHERS_PAST, CLUSTERING, SPILLOVER, LEVERAGE)

MOST_PAIRS = 20_000  # ten minutes on two cores at 2,000 draws; the adjustment for so many tests leaves little power, too
_LONGEST = 100_000  # steps; more than any path has
FEWEST_STEPS = 4  # steps of a path that have a past: the fewest from which a long-run variance can be estimated
_FEWEST_VALUES = 3  # the distance of a variable with two values from its median is the variable again
_ROUNDING = 4.0  # units in the last place: distances of decimal numbers, such as 0.3 - 0.2 and 0.1 - 0.2, differ by one or two
_WITH_DISTANCE = ("numeric", "date", "duration")  # kinds of column whose distance from the median has a meaning


class LaggedColumn(NamedTuple):
    """A variable, by its number, so many steps before; `absolute` is its distance from its median."""

    variable: int
    lag: int
    absolute: bool


@dataclass(frozen=True)
class Lagging:
    """Which variables stand next to their past, and the pairs of columns to compare.

    Attributes
    ----------
    lags : tuple of int
        The numbers of steps, in increasing order.
    variables : tuple of str
        The variables.
    columns : tuple of LaggedColumn
        The columns made from them: those of now first, so that the first column of a pair is never the earlier one.
    """

    lags: tuple[int, ...]
    variables: tuple[str, ...]
    columns: tuple[LaggedColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns: x, |x|, x[t-1], |x|[t-1]."""
        return tuple(self._name(column) for column in self.columns)

    def _name(self, column: LaggedColumn) -> str:
        name = self.variables[column.variable]
        return (f"|{name}|" if column.absolute else name) + (f"[t-{column.lag}]" if column.lag else "")

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs to compare, by the numbers of their columns.

        Variables at the same time; each with its own past and that of the others; and distances from the median with earlier
        distances (volatility) and with earlier values (leverage).
        """
        now = [k for k, column in enumerate(self.columns) if not column.lag]
        past = [k for k, column in enumerate(self.columns) if column.lag]
        same = combinations([k for k in now if not self.columns[k].absolute], 2)
        wanted = ((i, j) for i, j in product(now, past) if self.columns[i].absolute or not self.columns[j].absolute)
        return *same, *wanted

    def kind(self, first: int, second: int) -> str:
        """The kind of a pair, one of `KINDS`."""
        now, past = self.columns[first], self.columns[second]
        own = now.variable == past.variable
        if not past.lag:
            return SAME_TIME
        if not now.absolute:
            return OWN_PAST if own else OTHERS_PAST
        if not past.absolute:
            return LEVERAGE
        return CLUSTERING if own else SPILLOVER

    def place(self, variable: str, *, lag: int = 0, absolute: bool = False) -> int | None:
        """The number of a column; None if there is no such column."""
        wanted = LaggedColumn(self.variables.index(variable), lag, absolute)
        return self.columns.index(wanted) if wanted in self.columns else None

    def without(self, omitted: Iterable[int]) -> "Lagging":
        """The same without some columns."""
        gone = {*omitted}
        return replace(self, columns=tuple(column for k, column in enumerate(self.columns) if k not in gone))


def checked_lags(lags: Any) -> tuple[int, ...]:
    """The numbers of steps in increasing order: a whole number L means 1, ..., L; () for None."""
    if lags is None:
        return ()
    rule = "lags must be a whole number of steps, such as 5 for 1 to 5, or a list of different ones, such as [1, 5, 20]"
    if is_whole(lags) and 1 <= lags <= _LONGEST:
        return tuple(range(1, int(lags) + 1))
    if is_whole(lags):
        way_out = "the same time is always compared" if lags < 1 else "list the lags that matter"
        raise InputError(f"{rule}, from 1 to {_LONGEST:,}, got {lags!r:.60}; {way_out}", "argument")
    if isinstance(lags, str) or not isinstance(lags, Sequence | np.ndarray) or not len(lags):
        raise InputError(f"{rule}, got {lags!r:.60}", "argument")
    for lag in lags:
        if not is_whole(lag) or not 1 <= lag <= _LONGEST:
            raise InputError(f"{rule}, from 1 to {_LONGEST:,}, got {lag!r:.60} among them", "argument")
    steps = sorted(int(lag) for lag in lags)
    if len({*steps}) < len(steps):
        raise InputError(f"{rule}, got {lags!r:.60}, in which one occurs twice", "argument")
    return tuple(steps)


def plan_lags(draws: Draws, reference: Draws, lags: tuple[int, ...]) -> tuple[Lagging, dict[str, str], tuple[str, ...]]:
    """The columns that both samples allow, the variables left out with the reason, and notes.

    Both samples have the same variables in the same order. Nominal variables are left out: categories have no order, so no past
    to follow. The distance from the median is left out for variables whose values are labels, and for those with two values.
    """
    for sample, whose in ((draws, "draws"), (reference, "reference")):
        _require_steps(sample, whose, lags)
    names = draws.names
    nominal = [k for k in range(len(names)) if NOMINAL in (draws.kind(k), reference.kind(k))]
    kept = [k for k in range(len(names)) if k not in nominal]
    if not kept:
        raise InputError(
            f"lags need at least one variable whose values have an order, but all are nominal: {listed(names)}; "
            "leave out lags, or declare an order with kinds",
            "shape",
        )
    plain = {k for k in kept if not (_has_distance(draws, k) and _has_distance(reference, k))}
    steps = (0, *lags)
    columns = [
        LaggedColumn(place, lag, absolute)
        for lag in steps
        for absolute in (False, True)
        for place, k in enumerate(kept)
        if not (absolute and k in plain)
    ]
    lagging = Lagging(lags, tuple(names[k] for k in kept), tuple(columns))
    _require_few(lagging)
    _require_new_names(lagging)
    notes = [_what_is_volatility(lagging)] if len(plain) < len(kept) else []
    if plain:
        notes.append(f"no volatility of {listed([names[k] for k in sorted(plain)], BRIEF)}: too few values, or only labels")
    return lagging, {names[k]: "categories without an order have no lags" for k in nominal}, tuple(notes)


def _what_is_volatility(lagging: Lagging) -> str:
    example = lagging.variables[next(column.variable for column in lagging.columns if column.absolute)]
    return f"|{example}| is the distance of {example} from its median in the sample, for volatility; [t-1] is one step before"


def lagged(draws: Draws, lagging: Lagging) -> Draws:
    """The draws with the columns of `lagging`; the first steps of each path, which have too short a past, are left out.

    A row is divergent if its draw of now is.
    """
    longest = lagging.lags[-1]
    n_chains, n_draws = draws.values.shape[:2]
    places = [draws.names.index(name) for name in lagging.variables]
    distances = {column.variable: None for column in lagging.columns if column.absolute}
    away = {variable: distances_from_median(draws.values[:, :, places[variable]]) for variable in distances}
    values = np.empty((n_chains, n_draws - longest, len(lagging.columns)))
    for k, (variable, lag, absolute) in enumerate(lagging.columns):
        source = away[variable] if absolute else draws.values[:, :, places[variable]]
        values[:, :, k] = source[:, longest - lag : n_draws - lag]
    values.flags.writeable = False
    path = "each path" if n_chains > 1 else "the path"
    first = f"the first {longest:,} steps of {path} have" if longest > 1 else f"the first step of {path} has"
    out = f"{'are' if longest > 1 else 'is'} left out ({longest * n_chains:,} of {n_chains * n_draws:,})"
    note = f"{first} too short a past and {out}"
    of_kinds: dict[str, Any] = {}
    if draws.kinds:
        sources = [None if column.absolute else places[column.variable] for column in lagging.columns]
        of_kinds = {
            "kinds": tuple(NUMERIC if k is None else draws.kind(k) for k in sources),
            "levels": tuple(() if k is None else draws.labels(k) for k in sources),
        }
    incomplete = draws.incomplete and bool(np.isnan(values).any())
    notes = *draws.notes, note
    diverging = None if draws.diverging is None else draws.diverging[:, longest:]
    return replace(
        draws, values=values, names=lagging.names, notes=notes, incomplete=incomplete, diverging=diverging, **of_kinds
    )


def distances_from_median(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """|x - median| of one variable, in its shape; NaN stays NaN. Distances that differ by rounding only are equal.

    The median is the lower one of two, so that rounded values keep their grid. Values whose differences overflow are halved
    first: only the order of the distances matters.
    """
    centre = float(np.nanquantile(values, 0.5, method="inverted_cdf"))
    with np.errstate(over="ignore"):
        away = np.abs(values - centre)
    if np.isinf(away).any():
        away = np.abs(0.5 * values - 0.5 * centre)
    flat = away.reshape(-1)
    order = np.argsort(flat)  # NaN last
    ascending = flat[order]
    rounding = _ROUNDING * np.spacing(np.maximum(np.abs(values.reshape(-1)[order]), abs(centre)))
    starts = np.append(True, ~(np.diff(ascending) <= rounding[1:]))
    snapped = np.empty_like(flat)
    snapped[order] = ascending[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return snapped.reshape(values.shape)


def _has_distance(draws: Draws, k: int) -> bool:
    """Whether the distance of a variable from its median says more than the variable."""
    if draws.ranked or draws.kind(k) not in _WITH_DISTANCE:
        return False
    values = draws.values[:, :, k]
    known = values[~np.isnan(values)]
    return np.unique(known).size >= _FEWEST_VALUES and np.unique(distances_from_median(known)).size > 1


def _require_steps(sample: Draws, whose: str, lags: tuple[int, ...]) -> None:
    """Raise if paths are too short for the longest lag."""
    if sample.n_draws >= lags[-1] + FEWEST_STEPS:
        return
    paths = f"{'have' if whose == 'draws' else 'has'} " + (f"{sample.n_chains} paths" if sample.n_chains > 1 else "one path")
    most = sample.n_draws - FEWEST_STEPS
    way_out = f"use lags of at most {most}" if most >= 1 else "use longer paths"
    raise InputError(
        f"lags of up to {lags[-1]} need paths of at least {lags[-1] + FEWEST_STEPS} steps, but the {whose} {paths} of "
        f"{sample.n_draws}; {way_out}; arrays must be (path, step, variable), and in a table a column identifies the path "
        "(chains=, --chains)",
        "too-few-draws",
    )


def _require_few(lagging: Lagging) -> None:
    """Raise if there are too many pairs."""
    d, steps = len(lagging.variables), len(lagging.lags)
    now = [column for column in lagging.columns if not column.lag]
    distances = sum(column.absolute for column in now)
    count = d * (d - 1) // 2 + steps * (d * d + distances * distances + distances * d)
    if count > MOST_PAIRS:
        many = f"{d} variables with {steps} lag{'s' * (steps != 1)} are {count:,} pairs"
        raise InputError(
            f"{many}, more than {MOST_PAIRS:,}; use fewer lags, such as lags=[1, 5], or fewer variables (var_names, --columns)",
            "shape",
        )


def _require_new_names(lagging: Lagging) -> None:
    """Raise if a variable has the name of another one's past or distance."""
    made = [name for name, column in zip(lagging.names, lagging.columns, strict=True) if column.lag or column.absolute]
    taken = [name for name in lagging.variables if name in {*made}]
    if taken:
        raise InputError(
            f"variables called {listed(taken)} have the name of another variable's past or distance from its median; rename "
            "them, or leave them out",
            "argument",
        )
