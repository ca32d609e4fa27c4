"""Draws from labelled arrays: xarray, ArviZ's two containers of groups, PyStan's fits, and dictionaries of arrays."""

import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import numeric, real_array
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import chain_labels, grouped, listed, require_different, unknown_name
from copula_discrepancy.data.readers.divergences import divergences_of, statistics_group
from copula_discrepancy.data.readers.frames import Columns, is_frame, pandas_categories, read_columns
from copula_discrepancy.data.readers.options import DEFAULT_GROUP, ReadOptions
from copula_discrepancy.data.readers.table import Table, repair_notes

# the positions of a variable's entries among all names and within itself
Entries: TypeAlias = dict[str, list[tuple[int, int]]]


def is_labelled(given: Any) -> bool:
    """Whether an object is an xarray object or ArviZ's older InferenceData, without importing either."""
    return _is_xarray(given, "Dataset", "DataArray", "DataTree") or _is_inference_data(given)


def group_of(given: Any, group: str) -> str:
    """The group to read from an object: the default if it has no groups, such as a Dataset, a table or draws read before."""
    if isinstance(given, list | tuple) and given and all(isinstance(item, str | os.PathLike) for item in given):
        given = given[0]
    if isinstance(given, str | os.PathLike):
        return group if os.fsdecode(given).lower().endswith(".nc") or os.path.isdir(given) else DEFAULT_GROUP
    return group if _is_xarray(given, "DataTree") or _is_inference_data(given) else DEFAULT_GROUP


def read_labelled(given: Any, options: ReadOptions) -> Table:
    """The variables of a Dataset, a DataArray, or the requested group of a DataTree or InferenceData, flattened."""
    dataset, statistics = dataset_of(given, options)
    table = read_dataset(dataset, options, statistics)
    if _is_xarray(given, "DataTree") and given.name not in (None, options.group) and _node(given, options.group) is None:
        return table.noted(f"the group {given.name}, which was passed itself, was read")
    return table


def dataset_of(given: Any, options: ReadOptions) -> tuple[Any, Any]:
    """The requested group of a DataTree or InferenceData, or a Dataset or DataArray itself; and the sampler's statistics."""
    if _is_xarray(given, "DataTree"):
        return _group_of_tree(given, options.group), _statistics_of_tree(given, options.group)
    if _is_inference_data(given):
        groups = [str(name) for name in given.groups()]
        if options.group not in groups:
            raise missing_group(options.group, groups)
        beside = statistics_group(options.group)
        return getattr(given, options.group), getattr(given, beside) if beside in groups else None
    options.refuse(f"an xarray {type(given).__name__}", "group")
    return given, None


def read_dataset(given: Any, options: ReadOptions, statistics: Any = None) -> Table:
    """The variables of a Dataset or DataArray, flattened; only the selected ones are loaded.

    `statistics` are the sampler's own, a Dataset that says which draws diverged.
    """
    arrays, names, entries = selected_arrays(given, options)
    table = _filled(arrays, names, entries).noted(*repair_notes(given.attrs))
    diverging, notes = divergences_of(statistics, arrays[next(iter(entries))], table.values.shape[:2], given)
    return replace(table.noted(*notes), diverging=diverging, chain_names=_chain_names(arrays[next(iter(entries))]))


def _chain_names(array: Any) -> tuple[str, ...]:
    """What the labels of an array's chains call them, unless two have the same one; empty without labels."""
    labels = np.atleast_1d(array["chain"].values) if "chain" in array.coords else np.empty(0)
    return chain_labels(labels, labels.size)


def selected_arrays(
    given: Any, options: ReadOptions
) -> tuple[dict[str, Any], tuple[str, ...], dict[str, list[tuple[int, int]]]]:
    """The selected variables of a Dataset or DataArray, none of them loaded; the names of their selected entries, flattened;
    and for each variable the positions of its entries among the names and within itself.
    """
    options.refuse("an xarray object", "delimiter", "chain column")
    if _is_xarray(given, "DataArray"):
        arrays = {"x" if given.name is None else str(given.name): given}
    else:
        arrays = {str(name): given[name] for name in given.data_vars}
    arrays = _narrowed(arrays, options)
    if options.coords:
        _require_dimensions(given, options.coords)
        arrays = {name: _at(array, name, options.coords) for name, array in arrays.items()}
    others = {name: [dim for dim in array.dims if dim not in ("chain", "draw")] for name, array in arrays.items()}
    names, entries = _selected({name: [arrays[name][dim].values for dim in others[name]] for name in arrays}, options)
    arrays = {variable: arrays[variable] for variable in entries}
    _require_draws(arrays)
    return arrays, names, entries


def read_mapping(given: Mapping[Any, Any], options: ReadOptions) -> Table:
    """Arrays by name: if all have one dimension the columns of one sample, otherwise all (chain, draw, ...) as in ArviZ."""
    options.refuse("a dictionary of arrays", "group", "coords", "delimiter")
    arrays = {str(name): _plain(values, str(name)) for name, values in given.items()}
    if len(arrays) < len(given):
        require_different([str(name) for name in given])
    if not arrays:
        raise InputError("draws is an empty dictionary; it must contain one array per variable", "shape")
    if all(array.ndim == 1 for array in arrays.values()):
        return _columns_of(arrays, options, {str(name): values for name, values in given.items()})
    thin = next((name for name, array in arrays.items() if array.ndim < 2), None)
    if thin is not None:
        full = next((f" and {name} {array.shape}" for name, array in arrays.items() if array.ndim > 1), "")
        rule = "the arrays of a dictionary must all be one-dimensional or all (chain, draw, ...)"
        found = f"{thin} has shape {arrays[thin].shape}{full}"
        raise InputError(f"{rule}, but {found}; add a chain dimension, for example values[None]", "shape")
    options.refuse("a dictionary of arrays (chain, draw, ...)", "chain column")
    names, entries = _selected({name: map(range, array.shape[2:]) for name, array in arrays.items()}, options)
    first = next(iter(entries))
    for name in entries:
        if arrays[name].shape[:2] != arrays[first].shape[:2]:
            rule = "the arrays of a dictionary are (chain, draw, ...) and must have the same chains and draws"
            found = f"{first} has shape {arrays[first].shape} and {name} {arrays[name].shape}"
            raise InputError(f"{rule}, but {found}", "shape")
    return _filled(arrays, names, entries)


def is_pystan(given: Any) -> bool:
    """Whether an object is a fit of PyStan 3, without importing it: a mapping whose arrays are not (chain, draw, ...)."""
    return type(given).__name__ == "Fit" and type(given).__module__.partition(".")[0] == "stan"


def read_pystan(given: Any, options: ReadOptions) -> Table:
    """The parameters of a fit of PyStan 3, with Stan's indices, without the sampler's columns and saved warm-up draws."""
    options.refuse("a fit of PyStan", "group", "coords", "delimiter", "chain column")
    dims = dict(zip(given.param_names, given.dims, strict=True))
    names, entries = _selected({name: [range(1, size + 1) for size in shape] for name, shape in dims.items()}, options)
    warmup = math.ceil(given.num_warmup / given.num_thin) if given.save_warmup else 0
    arrays = {}
    for name in entries:  # (..., draws x chains), chains beside each other
        values = np.asarray(given[name]).reshape(*dims[name], -1, given.num_chains)
        arrays[name] = np.moveaxis(values, (-1, -2), (0, 1))[:, warmup:]
    notes = (f"{warmup} warm-up draws left out",) if warmup else ()
    return _filled(arrays, names, entries).noted(*notes)


def missing_group(group: str, groups: list[str]) -> InputError:
    """The error for a group that does not exist, with the groups that do."""
    message = unknown_name(group, groups, "group") if groups else f"there is no group {group!r}, and the object has no groups"
    return InputError(message, "unknown-name")


def _selected(coordinates: Mapping[str, Iterable[Iterable[Any]]], options: ReadOptions) -> tuple[tuple[str, ...], Entries]:
    """Names of the selected entries, and for each variable the positions of its entries among these and within itself."""
    labels = {variable: enumerate(_labels(variable, values)) for variable, values in coordinates.items()}
    flat = [(variable, entry, label) for variable, entries in labels.items() for entry, label in entries]
    options.require_known_kinds([label for *_, label in flat])
    chosen = [flat[k] for k in options.pick([label for *_, label in flat], [variable for variable, *_ in flat])]
    names = tuple(label for *_, label in chosen)
    require_different(names)
    return names, grouped((variable, (place, entry)) for place, (variable, entry, _) in enumerate(chosen))


def _labels(variable: str, coordinates: Iterable[Iterable[Any]]) -> Iterator[str]:
    """The names of a variable's entries, as ArviZ writes them: theta[Choate], cov[0, 1], or the name alone."""
    for entry in product(*([f"{value}" for value in values] for values in coordinates)):
        inside = ", ".join(entry)
        yield f"{variable}[{inside}]" if inside else variable


def _is_xarray(given: Any, *kinds: str) -> bool:
    xarray = sys.modules.get("xarray")  # nothing can be an xarray object before xarray is imported
    return xarray is not None and isinstance(given, tuple(getattr(xarray, kind, ()) for kind in kinds))


def _is_inference_data(given: Any) -> bool:
    return callable(getattr(given, "groups", None)) and not isinstance(given, type) and hasattr(given, "_groups")


def _group_of_tree(tree: Any, group: str) -> Any:
    groups = [path.strip("/") for path in tree.groups if path.strip("/")]
    prefix = tree.path.strip("/")
    groups = [path.removeprefix(prefix).strip("/") for path in groups if path != prefix]
    if group in groups:
        return tree[group].to_dataset()
    if group in (DEFAULT_GROUP, tree.name) and "draw" in tree.to_dataset().dims:  # the group itself, or a tree of one dataset
        return tree.to_dataset()
    raise missing_group(group, groups)


def _statistics_of_tree(tree: Any, group: str) -> Any:
    """The sampler's statistics of the draws in a group of a tree, or of a tree that is the group itself, from its parent."""
    if _node(tree, group) is None and tree.parent is not None and tree.name is not None:
        tree, group = tree.parent, tree.name
    beside = statistics_group(group)
    found = None if beside is None or _node(tree, group) is None else _node(tree, beside)
    return None if found is None else found.to_dataset()


def _node(tree: Any, path: str) -> Any:
    """The group at a path of a tree, such as "run1/posterior"; None if there is none. `in` looks at the groups at its top."""
    try:
        found = tree[path]
    except KeyError:
        return None
    return found if _is_xarray(found, "DataTree") else None


def _narrowed(arrays: dict[str, Any], options: ReadOptions) -> dict[str, Any]:
    """The variables that the options can select: labels of the others, which may be many, are never created."""
    words = options.var_names
    if words is None or options.exclude or any(word.startswith("~") for word in words):
        return arrays
    exact = options.filter_vars is None
    kept = [
        {name for name in arrays if options.matcher(word)(name) or (exact and word.startswith(f"{name}["))} for word in words
    ]
    return {name: array for name, array in arrays.items() if any(name in names for names in kept)} if all(kept) else arrays


def _require_dimensions(given: Any, coords: Mapping[Any, Any]) -> None:
    known = [*dict.fromkeys((*given.dims, *given.xindexes))]
    for dim in coords:
        if dim not in known:
            raise InputError(f"coords: {unknown_name(str(dim), [*map(str, known)], 'dimension')}", "unknown-name")


def _at(array: Any, name: str, coords: Mapping[Any, Any]) -> Any:
    for dim, labels in coords.items():
        if dim not in array.dims and dim not in array.xindexes:
            continue
        try:
            array = array.sel({dim: _of_type(labels, array[dim].dtype)})
        except (KeyError, IndexError, ValueError, TypeError):
            known = f"the labels of {dim} (variable {name}): {listed(array[dim].values)}"
            raise InputError(f"coords: {dim}={labels!r:.80} is not among {known}", "unknown-name") from None
    return array


def _of_type(labels: Any, dtype: Any) -> Any:
    """Labels that were typed as text, as on a command line, as numbers where the dimension's own labels are numbers."""
    texts = [labels] if isinstance(labels, str) else labels
    if dtype.kind not in "iuf" or not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        return labels
    try:
        numbers = [dtype.type(text) for text in texts]
    except (ValueError, OverflowError):
        return labels  # refused as text that is no label
    return numbers[0] if isinstance(labels, str) else numbers


def _require_draws(arrays: Mapping[str, Any]) -> None:
    """Raise unless all variables are numbers with the same draws, and chains if any has them."""
    for name, array in arrays.items():
        if "draw" not in array.dims:
            rule = "draws need a dimension draw, and a dimension chain if there are chains"
            found = f"variable {name} has dimensions ({', '.join(map(str, array.dims))})"
            raise InputError(f"{found}, but {rule}; rename or unstack its dimensions, or exclude it by name", "shape")
        if array.dtype.kind not in "fiub":
            example = f"{np.ravel(array.values)[0]!s:.40}" if array.size else ""
            found = f"type {array.dtype}" + (f", for example {example}" if example else "")
            numbers = array.dtype.kind == "O" and array.size and isinstance(np.ravel(array.values)[0], int | float | np.number)
            advice = "convert it by .astype(float), or select others by name" if numbers else "select others by name"
            raise InputError(f"variable {name} must be real numbers, got {found}; {advice}", "not-numeric")
    chained = [name for name, array in arrays.items() if "chain" in array.dims]
    single = [name for name in arrays if name not in chained]
    if chained and single:
        found = f"variable {chained[0]} has a dimension chain, but {single[0]} has none"
        raise InputError(f"{found}; add it, or select by name", "shape")


def _filled(arrays: Mapping[str, Any], names: tuple[str, ...], entries: Mapping[str, list[tuple[int, int]]]) -> Table:
    """(chain, draw, variable) with the draws of each variable contiguous in memory; variables are read one at a time."""
    values: NDArray[Any] | None = None
    any_ranked = False
    for variable, places in entries.items():
        array = _by_chain(arrays[variable], variable)
        if values is None:
            values = np.empty((len(names), *array.shape[:2]))
        flat = array.reshape(*array.shape[:2], math.prod(array.shape[2:]))
        for place, entry in places:
            values[place], ranked = numeric(flat[:, :, entry], f"variable {variable}")
            any_ranked = any_ranked or ranked
    assert values is not None  # at least one variable was selected
    return Table(values.transpose(1, 2, 0), names, True, True, any_ranked)


def _by_chain(array: Any, variable: str) -> NDArray[Any]:
    if hasattr(array, "dims"):
        array = array.transpose(*(dim for dim in ("chain", "draw") if dim in array.dims), ...)
        return np.asarray(array.values if "chain" in array.dims else array.values[None])
    return real_array(array, f"variable {variable}")


def _plain(values: Any, name: str) -> NDArray[Any]:
    """An array of any type, with its mask if it has one: columns that are not selected may contain anything."""
    if isinstance(values, np.ma.MaskedArray):
        return values
    if is_frame(values) or hasattr(values, "__dataframe__"):
        raise InputError(f"variable {name} is a {type(values).__name__} with several columns; pass that table itself")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "U" and isinstance(values, list | tuple) and not all(isinstance(x, str) for x in values):
            return np.array(values, dtype=object)  # NumPy would turn None and NaN into text
        return array
    except (ValueError, TypeError, RuntimeError, OverflowError):
        message = f"variable {name} must be a rectangular array of numbers, got {type(values).__name__}"
        raise InputError(message, "shape") from None


def _columns_of(arrays: Mapping[str, Any], options: ReadOptions, given: Mapping[str, Any]) -> Table:
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        rule = "the one-dimensional arrays of a dictionary are the columns of one sample and must have the same length"
        found = f"{short} has {lengths[short]} and {long} has {lengths[long]} values"
        raise InputError(f"{rule}, but {found}", "shape")
    names = tuple(arrays)

    def read(k: int) -> NDArray[Any]:
        array = arrays[names[k]]
        return real_array(array, f"variable {names[k]}") if np.ma.is_masked(array) else np.asarray(array)

    columns = Columns(
        names, read, lambda k: str(arrays[names[k]].dtype), lengths[names[0]],
        categories=lambda k: pandas_categories(given[names[k]]),
    )  # fmt: skip
    return read_columns(columns, options)
