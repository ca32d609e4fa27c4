"""Draws from labelled arrays: xarray, ArviZ's two containers of groups, and dictionaries of arrays."""

import math
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.checks import numeric, real_array
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed, unknown_name
from copula_discrepancy.data.readers.frames import Columns, is_frame, read_columns
from copula_discrepancy.data.readers.request import DEFAULT_GROUP, Request
from copula_discrepancy.data.readers.table import Table, require_different


def is_labelled(given: Any) -> bool:
    """An xarray object or ArviZ's old InferenceData, without importing either."""
    return _is_xarray(given, "Dataset", "DataArray", "DataTree") or _is_inference_data(given)


def read_labelled(given: Any, request: Request) -> Table:
    """The variables of a Dataset, a DataArray, or the requested group of a DataTree or InferenceData, flattened."""
    if _is_xarray(given, "DataTree"):
        given = _group_of_tree(given, request.group)
    elif _is_inference_data(given):
        groups = [str(name) for name in given.groups()]
        if request.group not in groups:
            raise InputError(missing_group(request.group, groups))
        given = getattr(given, request.group)
    else:
        request.refuse(f"an xarray {type(given).__name__}", "group")
    return read_dataset(given, request)


def read_dataset(given: Any, request: Request) -> Table:
    """The variables of a Dataset or DataArray, flattened; only the selected ones are loaded."""
    request.refuse("an xarray object", "delimiter", "chain column")
    arrays = (
        {"x" if given.name is None else str(given.name): given}
        if _is_xarray(given, "DataArray")
        else {str(name): given[name] for name in given.data_vars}
    )
    arrays = _narrowed(arrays, request)
    if request.coords:
        _require_dimensions(given, request.coords)
        arrays = {name: _at(array, name, request.coords) for name, array in arrays.items()}
    flat = [(variable, label) for variable, array in arrays.items() for label in flat_labels(variable, array)]
    names = [label for _, label in flat]
    chosen = request.pick(names, [variable for variable, _ in flat])
    require_different([names[k] for k in chosen])
    used = dict.fromkeys(flat[k][0] for k in chosen)
    _require_draws({name: arrays[name] for name in used})
    return _filled(arrays, flat, chosen)


def read_mapping(given: Mapping[Any, Any], request: Request) -> Table:
    """Arrays by name: all of one dimension are the columns of one sample, otherwise all are (chain, draw, ...) as in ArviZ."""
    request.refuse("a dictionary of arrays", "group", "coords", "delimiter")
    arrays = {str(name): _plain(values, str(name)) for name, values in given.items()}
    if len(arrays) < len(given):
        require_different([str(name) for name in given])
    if not arrays:
        raise InputError("draws is an empty dictionary; it must hold one array per variable")
    if all(array.ndim == 1 for array in arrays.values()):
        return _columns_of(arrays, request)
    thin = next((name for name, array in arrays.items() if array.ndim < 2), None)
    if thin is not None:
        full = next((f" and {name} {array.shape}" for name, array in arrays.items() if array.ndim > 1), "")
        raise InputError(
            "arrays by name must all be one-dimensional or all (chain, draw, ...), but "
            f"{thin} has shape {arrays[thin].shape}{full}; give each its chains, for example values[None]"
        )
    request.refuse("a dictionary of arrays (chain, draw, ...)", "chain column")
    flat = [(name, label) for name, array in arrays.items() for label in _indexed(name, array.shape[2:])]
    names = [label for _, label in flat]
    chosen = request.pick(names, [name for name, _ in flat])
    require_different([names[k] for k in chosen])
    used = dict.fromkeys(flat[k][0] for k in chosen)
    first = next(iter(used))
    for name in used:
        if arrays[name].shape[:2] != arrays[first].shape[:2]:
            raise InputError(
                "arrays by name are (chain, draw, ...) and must have the same chains and draws, but "
                f"{first} has shape {arrays[first].shape} and {name} {arrays[name].shape}"
            )
    return _filled(arrays, flat, chosen)


def missing_group(group: str, groups: list[str]) -> str:
    """A sentence that says which groups there are instead."""
    return unknown_name(group, groups, "group") if groups else f"there is no group {group!r}, nor any other"


def flat_labels(variable: str, array: Any) -> Iterator[str]:
    """The names of a variable's entries, as ArviZ writes them: theta[Choate], cov[0, 1], or the name alone."""
    dims = [dim for dim in array.dims if dim not in ("chain", "draw")]
    return _joined(variable, [[f"{value}" for value in array[dim].values] for dim in dims])


def _indexed(variable: str, shape: tuple[int, ...]) -> Iterator[str]:
    return _joined(variable, [[str(k) for k in range(size)] for size in shape])


def _joined(variable: str, labels: list[list[str]]) -> Iterator[str]:
    for entry in product(*labels):
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
    if group == DEFAULT_GROUP and "draw" in tree.to_dataset().dims:  # the group itself, or a tree of one dataset
        return tree.to_dataset()
    raise InputError(missing_group(group, groups))


def _narrowed(arrays: dict[str, Any], request: Request) -> dict[str, Any]:
    """Variables that the request can mean: labels of the others, which may be many, are never built."""
    words = request.var_names
    if words is None or request.exclude or any(word.startswith("~") for word in words):
        return arrays
    if request.filter_vars is not None:
        kept = [{name for name in arrays if request.matcher(word)(name)} for word in words]
    else:
        kept = [{name for name in arrays if word == name or word.startswith(f"{name}[")} for word in words]
    return {name: array for name, array in arrays.items() if any(name in names for names in kept)} if all(kept) else arrays


def _require_dimensions(given: Any, coords: Mapping[Any, Any]) -> None:
    known = [*dict.fromkeys((*given.dims, *given.xindexes))]
    for dim in coords:
        if dim not in known:
            raise InputError(f"coords: {unknown_name(str(dim), [str(name) for name in known], 'dimension')}")


def _at(array: Any, name: str, coords: Mapping[Any, Any]) -> Any:
    for dim, labels in coords.items():
        if dim not in array.dims and dim not in array.xindexes:
            continue
        try:
            array = array.sel({dim: labels})
        except (KeyError, IndexError, ValueError, TypeError):
            raise InputError(
                f"coords: {dim}={labels!r:.80} is not among the labels of {dim} (variable {name}): {listed(array[dim].values)}"
            ) from None
    return array


def _require_draws(arrays: Mapping[str, Any]) -> None:
    """Raise unless all variables are numbers with the same draws, and chains if any has them."""
    for name, array in arrays.items():
        if "draw" not in array.dims:
            raise InputError(
                f"variable {name} has dimensions ({', '.join(map(str, array.dims))}), but draws need one called draw, and one "
                "called chain for chains; rename or unstack its dimensions, or leave it out by name"
            )
        if array.dtype.kind not in "fiub":
            example = f", for example {np.ravel(array.values)[0]!s:.40}" if array.size else ""
            raise InputError(
                f"variable {name} must be real numbers, got type {array.dtype}{example}; select the other variables by name"
            )
    chained = [name for name, array in arrays.items() if "chain" in array.dims]
    single = [name for name, array in arrays.items() if "chain" not in array.dims]
    if chained and single:
        raise InputError(
            f"variable {chained[0]} has a dimension chain and {single[0]} has none; give all of them chains, or select by name"
        )


def _filled(arrays: Mapping[str, Any], flat: list[tuple[str, str]], chosen: list[int]) -> Table:
    """(chain, draw, variable) with each variable's draws together in memory; variables are read one at a time."""
    start: dict[str, int] = {}
    places: dict[str, list[tuple[int, int]]] = {}
    for k, (variable, _) in enumerate(flat):
        start.setdefault(variable, k)
    for place, k in enumerate(chosen):
        variable = flat[k][0]
        places.setdefault(variable, []).append((place, k - start[variable]))
    values: NDArray[Any] | None = None
    any_ranked = False
    for variable, wanted in places.items():
        array = _by_chain(arrays[variable], variable)
        if values is None:
            values = np.empty((len(chosen), *array.shape[:2]))
        entries = array.reshape(*array.shape[:2], math.prod(array.shape[2:]))
        for place, entry in wanted:
            values[place], ranked = numeric(entries[:, :, entry], f"variable {variable}")
            any_ranked = any_ranked or ranked
    assert values is not None  # at least one variable was picked
    return Table(values.transpose(1, 2, 0), tuple(flat[k][1] for k in chosen), True, True, any_ranked)


def _by_chain(array: Any, variable: str) -> NDArray[Any]:
    if hasattr(array, "dims"):
        array = array.transpose(*(dim for dim in ("chain", "draw") if dim in array.dims), ...)
        return np.asarray(array.values if "chain" in array.dims else array.values[None])
    return real_array(array, f"variable {variable}")


def _plain(values: Any, name: str) -> NDArray[Any]:
    """An array of whatever kind, with its mask where it has one: columns that nobody selects may hold anything."""
    if isinstance(values, np.ma.MaskedArray):
        return values
    if is_frame(values) or hasattr(values, "__dataframe__"):
        raise InputError(
            f"variable {name} is a {type(values).__name__} with columns of its own, whose names would be lost; give the table "
            "itself, or one dictionary entry per column"
        )
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError, OverflowError):
        raise InputError(f"variable {name} must be a rectangular array of numbers, got {type(values).__name__}") from None


def _columns_of(arrays: Mapping[str, Any], request: Request) -> Table:
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        short, long = min(lengths, key=lengths.__getitem__), max(lengths, key=lengths.__getitem__)
        raise InputError(
            "one-dimensional arrays by name are columns of one sample and must be equally long, but "
            f"{short} has {lengths[short]} and {long} has {lengths[long]} values"
        )
    names = tuple(arrays)

    def read(k: int) -> NDArray[Any]:
        array = arrays[names[k]]
        return real_array(array, f"variable {names[k]}") if np.ma.is_masked(array) else np.asarray(array)

    columns = Columns(names, read, lambda k: str(arrays[names[k]].dtype), lambda chosen: None, lengths[names[0]])
    return read_columns(columns, request)
