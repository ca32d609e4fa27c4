"""Labelled arrays that Dask holds, from xarray, ArviZ or a Zarr store, in pieces of one chain and some draws."""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.labelled import (
    _is_xarray,
    _narrowed,
    _require_draws,
    _selected,
    dataset_of,
)
from copula_discrepancy.data.readers.options import ReadOptions
from copula_discrepancy.data.readers.pymc_store import open_store
from copula_discrepancy.data.streams.arrays import rows_label
from copula_discrepancy.data.streams.blocks import Block
from copula_discrepancy.data.streams.failures import failures_named
from copula_discrepancy.data.streams.lazy import LazyPiece, delayed_call
from copula_discrepancy.data.streams.parquet import runs
from copula_discrepancy.data.streams.source import PIECE_ROWS, Piece, Source

_PIECE_BYTES = 2**26  # 64 MiB: samplers store one draw in a chunk, and as many pieces as draws would take longer than the work


def open_zarr(path: str, options: ReadOptions) -> Source:
    """The draws in a group of a Zarr store, or in a store of one dataset."""
    try:
        import zarr  # noqa: F401
    except ImportError:
        raise InputError(f"{path} is a Zarr store; reading it needs zarr: pip install zarr", "dependency") from None
    try:
        import dask.array  # noqa: F401
    except ImportError:
        raise InputError(
            f'{path} is a Zarr store; reading it in pieces needs dask: pip install "copula-discrepancy[dask]"', "dependency"
        ) from None
    label = os.path.basename(os.path.normpath(path))
    with failures_named(label):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about stores without consolidated metadata, which are only slower to open
            tree = open_store(path, options.group, {})
        source = open_labelled(tree, options, "Zarr store")
        if source is None:
            raise InputError("the store has no variables with draws", "shape")
    return source


def open_labelled(given: Any, options: ReadOptions, kind: str | None = None) -> Source | None:
    """The draws of a labelled container; None if Dask holds none of its selected variables, so that all are in memory."""
    dataset, _ = dataset_of(given, options)
    if _is_xarray(dataset, "DataArray"):
        arrays = {"x" if dataset.name is None else str(dataset.name): dataset}
    else:
        arrays = {str(name): dataset[name] for name in dataset.data_vars}
    arrays = _narrowed(arrays, options)
    if not any(array.chunks for array in arrays.values()):
        return None
    others = {name: [dim for dim in array.dims if dim not in ("chain", "draw")] for name, array in arrays.items()}
    names, entries = _selected({name: [arrays[name][dim].values for dim in others[name]] for name in arrays}, options)
    arrays = {variable: arrays[variable] for variable in entries}
    if not any(array.chunks for array in arrays.values()):
        return None
    _require_numbers(arrays)
    _require_draws(arrays)
    chained = "chain" in next(iter(arrays.values())).dims
    arrays = {variable: array.transpose(*(["chain"] * chained), "draw", ...) for variable, array in arrays.items()}
    places = {names[place]: (variable, entry) for variable, found in entries.items() for place, entry in found}
    data = {variable: array.data for variable, array in arrays.items()}
    n_chains, n_draws = (
        (next(iter(arrays.values())).sizes["chain"] if chained else 1),
        next(iter(arrays.values())).sizes["draw"],
    )
    lengths = _draw_chunks(arrays)
    most = max(_PIECE_BYTES // (8 * len(names)), 1)
    pieces: list[Piece] = []
    for chain in range(n_chains):
        begin = 0
        for run in runs(lengths, min(most, PIECE_ROWS)):
            end = begin + sum(lengths[k] for k in run)
            own = chain if chained else None
            pieces.append(LabelledPiece(rows_label(own, begin, end), end - begin, begin, own, data, places))
            begin = end
    size = n_chains * n_draws * len(names) * 8
    what = kind or f"{type(given).__name__} held by Dask"
    return Source(what, names, tuple(pieces), True, n_chains * n_draws, n_chains, "dask", False, size)


def _require_numbers(arrays: Mapping[str, Any]) -> None:
    """Raise if a variable is not numeric; the reader of data in memory would load it to show an example."""
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            found = f"type {array.dtype}"
            raise InputError(f"variable {name} must be real numbers, got {found}; select others by name", "not-numeric")


def _draw_chunks(arrays: Mapping[str, Any]) -> list[int]:
    """Lengths of the chunks of draws of the largest variable: the others are cut where it is."""
    largest = max((array for array in arrays.values() if array.chunks), key=lambda array: array.size)
    return [int(length) for length in largest.chunksizes["draw"]]


@dataclass(frozen=True, eq=False)
class LabelledPiece(LazyPiece):
    """Consecutive draws of one chain; `places` holds the variable of each name, and its entry in the flattened variable."""

    data: Mapping[str, Any] = field(repr=False)
    places: Mapping[str, tuple[str, int]] = field(repr=False)

    def delayed(self, columns: Sequence[str]) -> Any:
        """A Dask Delayed of the draws as a dictionary of these columns."""
        assert self.start is not None
        assert self.n_rows is not None
        draws = slice(self.start, self.start + self.n_rows)
        here = draws if self.chain is None else (self.chain, draws)
        chosen = {name: self.places[name] for name in columns}
        variables = list(dict.fromkeys(variable for variable, _ in chosen.values()))
        parts = [self.data[variable][here] for variable in variables]
        return delayed_call(_flattened, parts, variables, chosen)


def _flattened(parts: Sequence[Any], variables: Sequence[str], chosen: Mapping[str, tuple[str, int]]) -> Block:
    values = {variable: np.asarray(part) for variable, part in zip(variables, parts, strict=True)}
    flat = {name: part.reshape(len(part), math.prod(part.shape[1:])) for name, part in values.items()}
    return {name: np.ascontiguousarray(flat[variable][:, entry]) for name, (variable, entry) in chosen.items()}
