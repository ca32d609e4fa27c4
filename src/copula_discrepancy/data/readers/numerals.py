"""Numbers as spreadsheets format them: decimal commas, thousands separators, percent signs, currencies, accounting brackets.

A column is converted if all its cells follow one convention and no other convention gives different values. If two fit, as
for 1,234, the other columns of the file decide; if they do not, nothing is guessed.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import grouped, listed

_CURRENCY = r"[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|PLN"
_CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+\u2212])?\s*(?P<before>{_CURRENCY})?\s*(?P<minus>[-\u2212])?"
    rf"(?P<body>[0-9.,][0-9.,'\u2019 \u00a0\u202f]*)(?P<power>[eE][-+]?[0-9]+)?"
    rf"\s*(?P<after>%|\u2030|{_CURRENCY})?\s*(?P<close>\))?"
)
_POINTS = (".", ",")
_GROUPS = ("", ",", ".", "'", "\u2019", " ", "\u00a0", "\u202f")


class _Reading(NamedTuple):
    """The values of a column under one convention."""

    point: str
    group: str
    values: NDArray[np.float64]


def read_numerals(
    columns: Mapping[str, Sequence[str | None]], *, point: str | None = None
) -> tuple[dict[str, NDArray[np.float64]], tuple[str, ...]]:
    """The columns that are formatted numbers, converted, and notes on how they were read.

    `point` is the decimal sign of the file, if known; a column that fits it is read with it.
    """
    readings = {name: found for name, cells in columns.items() if (found := _readings(cells))}
    told = {reading.point for found in readings.values() for reading in found if len({r.point for r in found}) == 1}
    decided = point or (told.pop() if len(told) == 1 else None)
    values: dict[str, NDArray[np.float64]] = {}
    notes: list[tuple[str, str]] = []
    for name, found in readings.items():
        reading = _only(found, decided)
        if reading is None:
            example = next(cell for cell in columns[name] if cell and not cell.strip().isdigit())
            sign = "comma" if "," in example else "point"
            unclear = f"column {name} has numbers such as {example.strip()!r}, whose {sign} may mark decimals or thousands"
            raise InputError(f"{unclear}; write its numbers without thousands separators", "not-numeric")
        values[name] = reading.values
        notes += [(note, name) for note in _format_notes(columns[name], reading)]
    return values, tuple(f"{note} {listed(names)}" for note, names in grouped(notes).items())


def _readings(cells: Sequence[str | None]) -> list[_Reading]:
    """The values under every convention that fits all cells; none if a cell is not a number, or if units are mixed."""
    parsed = _parsed(cells)
    if parsed is None:
        return []
    (bodies, factors, places), readings = parsed, []
    for point, group in product(_POINTS, _GROUPS):
        if group and (point == group or not any(group in body for body in bodies)):
            continue
        grouped = rf"|[1-9][0-9]{{0,2}}({re.escape(group)}[0-9]{{3}})+" if group else ""
        form = re.compile(rf"([0-9]+{grouped})({re.escape(point)}[0-9]*)?|{re.escape(point)}[0-9]+")
        if all(form.fullmatch(body) for body in bodies):
            plain = [body.replace(group, "") if group else body for body in bodies]
            values = np.full(len(cells), np.nan)
            values[places] = np.array([float(body.replace(point, ".")) for body in plain]) * factors
            readings.append(_Reading(point, group, values))
    return readings


def _parsed(cells: Sequence[str | None]) -> tuple[list[str], list[float], list[int]] | None:
    """Digits, signs with powers, and positions of the filled cells, if all are numbers with one percent sign or currency."""
    bodies, factors, places, units = [], [], [], set()
    for k, cell in enumerate(cells):
        if cell is None or not cell.strip():
            continue
        match = _CELL.fullmatch(cell.strip())
        if match is None or bool(match["open"]) != bool(match["close"]) or (match["before"] and match["after"]):
            return None
        negative = (match["sign"] or match["minus"] or "+") != "+"
        if match["open"] and (negative or match["sign"]):
            return None
        bodies.append(match["body"].strip())
        factors.append((-1.0 if negative or match["open"] else 1.0) * float(f"1{match['power'] or ''}"))
        places.append(k)
        units.add(match["before"] or match["after"] or "")
    return (bodies, factors, places) if len(units) == 1 else None


def _only(found: list[_Reading], point: str | None) -> _Reading | None:
    """The only reading, or the one with this decimal sign, or any if all order the values in the same way."""
    chosen = [reading for reading in found if reading.point == point] or found
    order = _order(chosen[0].values)
    return chosen[0] if all(np.array_equal(_order(reading.values), order) for reading in chosen) else None


def _order(values: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.unique(values, return_inverse=True)[1]


def _format_notes(cells: Sequence[str | None], reading: _Reading) -> list[str]:
    """The features of the format that were read or ignored, each the beginning of a note."""
    filled = [cell.strip() for cell in cells if cell]
    features = {
        "decimal commas read in": reading.point == "," and any("," in cell for cell in filled),
        "thousands separators ignored in": reading.group != "" and any(reading.group in cell for cell in filled),
        "percent signs ignored in": any(cell.endswith(("%", "\u2030")) for cell in filled),
        "currencies ignored in": any(re.search(_CURRENCY, cell) for cell in filled),
        "parentheses read as minus signs in": any(cell.startswith("(") for cell in filled),
    }
    return [note for note, present in features.items() if present]
