"""How one variable differs between two samples, in words that follow its name."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from copula_discrepancy.compare import wording
from copula_discrepancy.data.kinds import DATE, DURATION, MISSING
from copula_discrepancy.estimate.margins import LevelShare, MarginDifference, MarginTest

Array = NDArray[np.float64]
Naming = Callable[[float], str]  # of a value or a level

_TWICE = 2.0  # ratio of spreads from which it is given instead of a percentage
_LABEL = 30  # characters of a label
_LISTED = 3  # levels that are named
_REST = "other levels"
# Days in a unit of time; a difference is told in the largest of which it has two
_UNITS = (("years", 365.25), ("days", 1.0), ("hours", 1 / 24), ("minutes", 1 / 1440), ("seconds", 1 / 86400))
_LONGER = {DATE: ("later", "earlier"), DURATION: ("longer", "shorter")}
_DAYS_OF_A_DATE = 3e6  # from 1970: in the year 9999; NumPy writes no calendar dates far beyond


def naming_of(kind: str, labels: Sequence[str]) -> Naming:
    """How to write a value of a variable: its label, its date, or the number."""

    def label(value: float) -> str:
        if value < 0:
            return _REST
        return wording.shortened(labels[int(value)], _LABEL)

    def date(value: float) -> str:
        whole = math.floor(value)
        if abs(value) > _DAYS_OF_A_DATE:
            return f"day {value:g}"
        moment = np.datetime64(whole, "D").astype("M8[s]") + np.timedelta64(round(86_400 * (value - whole)), "s")
        return str(moment.astype("M8[D]")) if value == whole else str(moment).replace("T", " ")

    if labels:
        return label
    if kind == DURATION:
        return _time
    return date if kind == DATE else lambda value: f"{value:g}"


def in_words(
    pair: tuple[Array, Array], test: MarginTest, difference: MarginDifference, kind: str, named: Naming, alpha: float
) -> str:
    """What differs, to follow the name of the variable.

    Parameters
    ----------
    pair : two arrays
        The variable in the draws and in the reference.
    test, difference : MarginTest, MarginDifference
        Its test and the sizes of the differences.
    kind : str
        The kind of the variable.
    named : callable
        See `naming_of`.
    alpha : float
        The level at which differences of single levels count.
    """
    if kind == MISSING:  # its name, such as "income is missing", is the first half of the sentence
        own, other = (wording.per_hundred(float(np.mean(values))) for values in pair)
        return f"in {own}% instead of {other}%"
    if test.constant:
        return _constant(*pair, named)
    if test.levels:
        return _other_shares(test, named, alpha)
    shares = _two_shares(*pair, named) if test.order == 1 else ""
    if shares:
        return shares
    texts = []
    if "shift" in difference.parts:
        texts.append(_shifted(test.values[0] if math.isnan(difference.shift) else difference.shift, difference.moved, kind))
    if "spread" in difference.parts:
        texts.append(_wider(difference.ratio))
    texts += [f"more skewed to the {side}" for side in ("right", "left") if f"{side}-skew" in difference.parts]
    if "shape" in difference.parts:
        texts.append("of another shape" if not test.few_values else "with other frequencies")
    return " and ".join(texts) or "different in several small ways"


def _shifted(shift: float, moved: float, kind: str) -> str:
    way = "up" if shift > 0 else "down"
    if not math.isfinite(shift):
        return f"shifted far {way}"
    size = f"{_short(abs(shift))} sd"
    if kind in _LONGER and math.isfinite(moved):
        return f"{_LONGER[kind][shift < 0]} by {_time(abs(moved))} or {size}"
    return f"shifted {way} by {size}"


def _time(days: float) -> str:
    """A number of days in a unit that gives a handy number."""
    unit, length = next((pair for pair in _UNITS if abs(days) >= 2.0 * pair[1]), _UNITS[-1] if days else _UNITS[1])
    count = days / length
    return f"{count:,.0f} {unit}" if 9.5 <= abs(count) < 1e7 else f"{count:.2g} {unit}"


def _wider(ratio: float) -> str:
    if math.isinf(ratio):
        return "far wider"
    if ratio >= _TWICE:
        return f"{_short(ratio)} times as wide"
    return f"{'wider' if ratio > 1 else 'narrower'} by {_short(100.0 * abs(ratio - 1.0))}%"


def _constant(draws: Array, reference: Array, named: Naming) -> str:
    own, other = draws.flat[0], reference.flat[0]
    still, expected = bool(np.all(draws == own)), bool(np.all(reference == other))
    if still and expected:
        return f"constant at {named(own)} instead of {named(other)}"
    return f"constant at {named(own)}" if still else f"not constant at {named(other)}"


def _two_shares(draws: Array, reference: Array, named: Naming) -> str:
    """The shares of the larger value of a binary variable; empty if there are more than two values."""
    high, low = max(draws.max(), reference.max()), min(draws.min(), reference.min())
    if not all(np.all((values == low) | (values == high)) for values in (draws, reference)):
        return ""
    own, other = (wording.per_hundred(float(np.mean(values == high))) for values in (draws, reference))
    return f"equal to {named(high)} in {own}% instead of {other}%"


def _other_shares(test: MarginTest, named: Naming, alpha: float) -> str:
    """The levels that only one sample has, or the level whose share differs most, and how many more differ."""
    limit = float(-ndtri(0.5 * alpha / test.order))
    levels = sorted(test.levels, key=lambda level: -abs(level.share - level.share_reference))
    beyond = [level for level in levels if abs(level.score) > limit]
    lost = [level for level in beyond if level.level >= 0 and level.share == 0.0]
    new = [level for level in beyond if level.level >= 0 and level.share_reference == 0.0]
    texts = []
    for group, said in ((lost, "missing"), (new, "new")):
        if group:
            names, one = _names([named(level.level) for level in group]), len(group) == 1
            texts.append(f"{'level' if one else 'levels'} {names} {'is' if one else 'are'} {said}: {_percentages(group)}")
    told = [*lost, *new]
    if not told:
        told = [beyond[0] if beyond else next(level for level in levels if not math.isnan(level.score))]
        texts.append(f"{named(told[0].level)} in {_percentages(told)}")
    more = 0 if test.order == 1 else sum(level not in told for level in beyond)  # of two levels, one tells all
    if more:
        texts.append(f"{more} more {'level differs' if more == 1 else 'levels differ'}")
    return " and ".join(texts) if beyond else f"{texts[0]} and others by less"


def _percentages(levels: Sequence[LevelShare]) -> str:
    own, other = (wording.per_hundred(sum(level[k] for level in levels)) for k in (1, 2))
    return f"{own}% instead of {other}%"


def _names(names: Sequence[str]) -> str:
    if len(names) > _LISTED:
        return f"{', '.join(names[:_LISTED])} and {len(names) - _LISTED} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _short(value: float) -> str:
    """A number to two digits."""
    return f"{value:.0f}" if 9.5 <= value < 1e4 else f"{value:.2g}"
