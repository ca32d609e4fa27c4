"""Dates, times and durations as numbers: days since 1970-01-01, or days; NaN where missing."""

import datetime
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SECONDS = 86_400.0
_YEAR_FIRST = re.compile(
    r"\s*(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?"
    r"(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?\s?(Z|UTC|[+-]\d{2}:?\d{2})?)?\s*",
    re.ASCII | re.IGNORECASE,
)


def days_of_array(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """The days of a NumPy array of dates or durations; None for durations without a unit, or in months, of unknown length."""
    unit = np.datetime_data(values.dtype)[0]
    if values.dtype.kind == "m":
        if unit in ("generic", "Y", "M"):
            return None
        return np.asarray(values / np.timedelta64(1, "D"), dtype=np.float64)
    if unit == "generic":
        return None
    missing = np.isnat(values)
    whole = values.astype("M8[D]")
    days: NDArray[np.float64] = whole.astype(np.int64).astype(np.float64)
    if unit not in ("Y", "M", "W", "D"):
        # the part of a day separately: nanoseconds since 1970 have more digits than a float64
        days += (values - whole.astype(values.dtype)) / np.timedelta64(1, "D")
    days[missing] = np.nan
    return days


def day_of(value: Any) -> float | None:
    """The day of a date or time object, in UTC if it has a time zone; None for anything else.

    Its ordinal is used, so that the years 1 and 9999 are no problem.

    Examples
    --------
    >>> day_of(datetime.date(1970, 1, 2)), day_of(datetime.datetime(9999, 12, 31, 12)), day_of("1970-01-02")
    (1.0, 2932896.5, None)
    """
    if isinstance(value, datetime.datetime):
        seconds = _clock(value) - (value.utcoffset() or datetime.timedelta()).total_seconds()
        return value.toordinal() - _EPOCH + seconds / _SECONDS
    if isinstance(value, datetime.date):
        return float(value.toordinal() - _EPOCH)
    if isinstance(value, np.datetime64):
        days = days_of_array(np.array([value]))
        return None if days is None else float(days[0])
    return None


def duration_of(value: Any) -> float | None:
    """The days of a duration, or of a time of day since midnight; None for anything else."""
    if isinstance(value, datetime.timedelta):
        return value / datetime.timedelta(days=1)
    if isinstance(value, datetime.time):
        return _clock(value) / _SECONDS
    if isinstance(value, np.timedelta64):
        days = days_of_array(np.array([value]))
        return None if days is None else float(days[0])
    return None


def _clock(value: datetime.datetime | datetime.time) -> float:
    return value.hour * 3600.0 + value.minute * 60.0 + value.second + value.microsecond / 1e6


def days_of_text(labels: Sequence[str], date_format: str | None = None) -> list[float] | None:
    """The days of texts in ISO form, year first, or in the format given; None if any has another form.

    Times with and without a time zone cannot be compared, so that a mixture of them is None as well.

    Examples
    --------
    >>> days_of_text(["1970-01-02", "9999-12-31"]), days_of_text(["31/12/2020"]), days_of_text(["31/12/2020"], "%d/%m/%Y")
    ([1.0, 2932896.0], None, [18627.0])
    """
    days, zones = [], set()
    for label in labels:
        found = _formatted(label, date_format) if date_format else _iso(label)
        if found is None:
            return None
        days.append(found[0])
        zones.add(found[1])
    return days if len(zones) <= 1 else None


def _formatted(label: str, date_format: str) -> tuple[float, bool] | None:
    try:
        moment = datetime.datetime.strptime(label.strip(), date_format)
    except ValueError:
        return None
    day = day_of(moment)
    return None if day is None else (day, moment.tzinfo is not None)


def _iso(label: str) -> tuple[float, bool] | None:
    match = _YEAR_FIRST.fullmatch(label)
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    if day is None and hour is not None:
        return None
    try:
        start = datetime.date(int(year), int(month), int(day or 1)).toordinal() - _EPOCH
    except ValueError:  # the 30th of February
        return None
    clock = [int(hour or 0), int(minute or 0), float((second or "0").replace(",", "."))]
    if clock[0] > 24 or clock[1] > 59 or clock[2] >= 61 or not all(map(math.isfinite, clock)):
        return None
    seconds = 3600.0 * clock[0] + 60.0 * clock[1] + clock[2]
    if zone and zone.upper() not in ("Z", "UTC"):
        offset = int(zone[1:3]) * 3600.0 + int(zone[-2:]) * 60.0
        seconds -= offset if zone[0] == "+" else -offset
    return start + seconds / _SECONDS, bool(zone)


def is_time_index(days: NDArray[np.float64]) -> bool:
    """Whether dates only rise, or only fall, from row to row: they number the rows of a series and are no variable.

    Missing dates are passed over.
    """
    steps = np.diff(days[~np.isnan(days)])
    return bool(steps.size > 1 and ((steps > 0).all() or (steps < 0).all()))
