"""Draws moved inside their own container: which of its values each draw is, and the container with them in another order.

Readers sort, select, flatten and skip. Instead of repeating what they do, every value is replaced by its own position, and the
container is read again with the same options: what comes back says where each draw stands.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, is_dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws, numeric_draws
from copula_discrepancy.data.readers.frames import is_frame
from copula_discrepancy.data.readers.labelled import is_labelled
from copula_discrepancy.data.readers.options import DEFAULT_GROUP
from copula_discrepancy.data.stores import (
    ArrayStore,
    ArrowStore,
    FieldStore,
    GroupStore,
    Key,
    LabelledStore,
    MappingStore,
    PandasStore,
    PolarsStore,
    Positions,
    Store,
    size_of,
)

Reader = Callable[[Sequence[Any], Mapping[str, Any]], Draws]


@dataclass(frozen=True, eq=False)
class Movable:
    """A container as stores of columns, with a function that reads their probes and one that makes one container of them.

    `notes` say what comes back as something else.
    """

    stores: tuple[Store, ...]
    read: Reader
    whole: Callable[[list[Any]], Any]
    notes: tuple[str, ...] = ()

    def places(self, names: Sequence[str], options: Mapping[str, Any]) -> "Places":
        """Where the draws of these variables stand, read with these options."""
        shapes = [store.shapes(names) for store in self.stores]
        starts: dict[Key, Positions] = {}
        first, begin = {}, 0
        for key in shapes[0]:
            sizes = [size_of(own[key]) for own in shapes]
            first[key] = begin
            starts[key] = np.cumsum([0, *sizes])
            begin += int(starts[key][-1])
        probes = [
            store.probe({key: _numbers(first[key] + starts[key][s], shape) for key, shape in own.items()})
            for s, (store, own) in enumerate(zip(self.stores, shapes, strict=True))
        ]
        again = {**options, "var_names": list(names), "filter_vars": None, "exclude": None, "missing": "raise"}
        found = self.read(probes, again)
        sources = found.select(names).values.reshape(-1, len(names)).astype(np.intp)
        return Places(sources, first, starts)

    def moved(self, places: "Places", positions: Positions, provenance: Mapping[str, Any]) -> list[Any]:
        """One container per store, with the value of draw ``positions[i, k]`` of each variable at the place of draw i."""
        columns: list[dict[Key, Any]] = [{} for _ in self.stores]
        origins = list(places.first.values())
        owner = np.searchsorted(origins, places.sources[0], side="right") - 1
        for number, (key, first) in enumerate(places.first.items()):
            variables = np.flatnonzero(owner == number)
            starts = places.starts[key]
            order = np.arange(starts[-1])
            for k in variables:
                own = places.sources[:, k] - first
                order[own] = own[positions[:, k]]
            if not variables.size:
                continue
            lead = self.stores[0]
            parts = [store.column(key) for store in self.stores]
            kinds = {store.kind(part): None for store, part in zip(self.stores, parts, strict=True)}
            if len(kinds) > 1:
                found = f"the parts of {key or 'the draws'} have the types {', '.join(kinds)}"
                rule = "a value that moves to another part must keep its type"
                raise InputError(f"{found}, but {rule}; convert them to one type first", "argument")
            taken = lead.taken(parts[0] if len(parts) == 1 else lead.joined(parts), order)
            for s, (begin, end) in enumerate(pairwise(starts.tolist())):
                columns[s][key] = taken if len(parts) == 1 else lead.cut(taken, begin, end)
        return [store.assigned(own, provenance) for store, own in zip(self.stores, columns, strict=True)]

    def rebuilt(self, places: "Places", positions: Positions, provenance: Mapping[str, Any]) -> Any:
        """The container that was passed, with the values moved."""
        return self.whole(self.moved(places, positions, provenance))


@dataclass(frozen=True, eq=False)
class Places:
    """The number of the value that each draw (n, variable) is, and where each column, and each part of it, begins."""

    sources: Positions
    first: Mapping[Key, int]
    starts: Mapping[Key, Positions]


def movable(given: Any, options: Mapping[str, Any], notes: tuple[str, ...] = ()) -> Movable:
    """The stores of a container that `rebuildable` returned and `as_draws` has read."""
    if isinstance(given, list | tuple):
        stores = tuple(_store(item, options) for item in given)
        return Movable(stores, lambda probes, choices: numeric_draws(list(probes), **choices), type(given), notes)
    store = _store(given, options)
    return Movable((store,), lambda probes, choices: numeric_draws(probes[0], **choices), lambda made: made[0], notes)


def brief_record(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a repair's record that its container carries."""
    return {key: provenance[key] for key in ("library", "function", "target_words", "moved", "in_place", "seed")}


def _numbers(begin: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.arange(begin, begin + size_of(shape), dtype=np.float64).reshape(shape)


def _store(given: Any, options: Mapping[str, Any]) -> Store:
    """The store of a container that can be rebuilt."""
    if isinstance(given, np.ndarray):
        return ArrayStore(given) if given.dtype.names is None else FieldStore(given)
    if is_labelled(given):
        grouped = hasattr(given, "children") or not hasattr(given, "dims")  # a DataTree, or ArviZ's older InferenceData
        return GroupStore(given, str(options.get("group", DEFAULT_GROUP)).strip("/")) if grouped else LabelledStore(given)
    if isinstance(given, Mapping):
        return MappingStore(given)
    if is_frame(given):
        return PandasStore(given) if hasattr(given, "iloc") else PolarsStore(given)
    if type(given).__module__.startswith("pyarrow"):
        return ArrowStore(given)
    return ArrayStore(given if hasattr(given, "values") else np.asarray(given))  # Draws, or a sampler's chains


def rebuildable(given: Any) -> tuple[Any, tuple[str, ...]]:
    """The container itself if a store can rebuild it; otherwise a frame or an array of the same draws, with a note."""
    if isinstance(given, Mapping) and not isinstance(given, MutableMapping) and not is_labelled(given):
        return _noted(given, dict(given))  # such as NumPy's .npz archives
    if isinstance(given, Draws) or is_labelled(given) or isinstance(given, Mapping) or is_frame(given):
        if type(given).__module__.startswith("dask"):
            return _noted(given, given.compute())
        return given, ()
    if isinstance(given, np.ndarray):
        return (np.asarray(given) if isinstance(given, np.matrix) else given), ()
    if callable(getattr(type(given), "__draws__", None)):
        return given.__draws__(), ()
    if is_dataclass(given) and not isinstance(given, type) and getattr(getattr(given, "values", None), "ndim", 0) == 3:
        return given, ()
    if isinstance(given, list | tuple) and given:
        if all(isinstance(item, np.ndarray) and item.ndim == 2 and item.dtype.names is None for item in given):
            return given, ()
        if all(is_frame(item) or _is_arrow_table(item) for item in given):
            return given, ()
        if isinstance(given, tuple) and hasattr(given, "_asdict"):
            return _noted(given, dict(given._asdict()))
        if hasattr(given[0], "_fields") and hasattr(given[0], "_asdict"):
            return _noted(given, {name: [row[k] for row in given] for k, name in enumerate(given[0]._fields)})
        return _as_array(given)
    return _converted(given)


def _is_arrow_table(given: Any) -> bool:
    return type(given).__module__.startswith("pyarrow") and type(given).__name__ in ("Table", "RecordBatch")


def _as_array(given: Any) -> tuple[Any, tuple[str, ...]]:
    """Anything NumPy makes an array of; `as_draws` rejects the rest with a better message."""
    try:
        array = np.array(given)
    except Exception:  # any exception of another library
        return given, ()
    return _noted(given, array) if array.dtype.kind in "fiub" else (given, ())


def _converted(given: Any) -> tuple[Any, tuple[str, ...]]:
    """A table of another library as a pandas frame or an Arrow table."""
    if _is_arrow_table(given):
        return given, ()
    if type(given).__module__.partition(".")[0] == "duckdb" and hasattr(given, "df"):
        return _noted(given, given.df())
    if hasattr(given, "__arrow_c_stream__") and not hasattr(given, "dtype"):
        try:
            import pyarrow
        except ImportError:
            return given, ()
        try:
            return _noted(given, pyarrow.table(given))
        except (pyarrow.ArrowException, ValueError, TypeError):
            return given, ()
    if type(given).__name__ != "LazyFrame":
        for way in ("to_pandas", "toPandas", "to_df", "compute"):
            if callable(getattr(given, way, None)):
                frame = getattr(given, way)()
                if is_frame(frame):
                    return _noted(given, frame)
    if hasattr(given, "__dataframe__"):
        raise InputError(f"a {type(given).__name__} cannot be rebuilt with its values moved; pass a pandas or polars frame")
    return _as_array(given)


def _noted(given: Any, made: Any) -> tuple[Any, tuple[str, ...]]:
    name, other = type(given).__name__, type(made).__name__
    article = "an" if other[0].lower() in "aeiou" or other == "ndarray" else "a"
    return made, (f"a {name} is not rebuilt: the result is {article} {other}",)
