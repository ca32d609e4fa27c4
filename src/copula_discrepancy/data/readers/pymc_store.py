"""Zarr stores as trees, those of PyMC's ZarrTrace among them.

These hold more than draws: pickled objects, and the warm-up until the run ends. zarr refuses to open a group with pickled
objects since its version 3, so that only what draws need is opened. Statistics have the step method in front of their names.
"""

import json
import os
import re
from typing import Any

import numpy as np

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.readers.divergences import DIVERGING, statistics_group
from copula_discrepancy.data.readers.labelled import missing_group
from copula_discrepancy.data.readers.options import DEFAULT_GROUP

STATE = "_sampling_state"
WARMUP = "warmup_"
_NEWER = 3  # the version of zarr with other arguments
_STEP_METHOD = re.compile(r"sampler_\d+__")


def is_pymc_store(path: str) -> bool:
    """Whether a folder is a store that PyMC writes while it samples."""
    return os.path.isdir(os.path.join(path, STATE))


def plain_statistic(name: str) -> str:
    """The name of a statistic without that of its step method."""
    return _STEP_METHOD.sub("", name)


def opened_group(path: str) -> Any:
    """The group at the root of a store, in any of zarr's versions; what is in it is opened by its name."""
    import zarr

    newer: Any = {"use_consolidated": False} if int(zarr.__version__.split(".")[0]) >= _NEWER else {}
    return zarr.open_group(path, mode="r", **newer)


def open_store(path: str, group: str, chunks: Any) -> Any:
    """A DataTree of a store, of PyMC's stores with one group, whose variables have the same order wherever it is read.

    That is the order of its consolidated metadata if it has them. Without, file systems list the variables in any order, and
    they are sorted by name.
    """
    import xarray as xr
    import zarr

    if is_pymc_store(path):
        return open_pymc_store(path, group, chunks)
    try:
        tree = xr.open_datatree(path, engine="zarr", chunks=chunks)
    except TypeError as error:  # arguments that only newer versions of zarr have
        if int(zarr.__version__.split(".")[0]) >= _NEWER:
            raise
        found = f"this version of xarray needs a newer zarr than {zarr.__version__} ({error!s:.100})"
        raise InputError(f'{found}: pip install "zarr>={_NEWER}"', "dependency") from None
    return tree if _is_consolidated(path) else tree.map_over_datasets(_by_name)


def _is_consolidated(path: str) -> bool:
    """Whether the metadata of all arrays are in the header of a store, of format 2 or 3."""
    if os.path.exists(os.path.join(path, ".zmetadata")):
        return True
    try:
        with open(os.path.join(path, "zarr.json"), encoding="utf-8") as file:
            return bool(json.load(file).get("consolidated_metadata"))
    except (OSError, ValueError):
        return False


def _by_name(dataset: Any) -> Any:
    """A dataset with its variables in the order of their names."""
    return dataset[sorted(dataset.data_vars)].assign_coords(dataset.coords)


def open_pymc_store(path: str, group: str, chunks: Any) -> Any:
    """A DataTree with one group of the store and, if the sampler tells, which of its draws are divergent.

    Raises
    ------
    InputError
        If there is no such group, or if the run goes on or was killed: the warm-up is still among its draws, or some are not
        there yet.
    """
    import xarray as xr

    groups = sorted(name for name in os.listdir(path) if name != STATE and os.path.isdir(os.path.join(path, name)))
    if group not in groups:
        raise missing_group(group, groups)
    root = opened_group(path)
    # whole numbers that equal the value of missing chunks are not missing
    stored = xr.open_dataset(path, engine="zarr", group=group, chunks=chunks, consolidated=False, mask_and_scale=False)
    dataset = _by_name(stored)
    if group == DEFAULT_GROUP and f"{WARMUP}{group}" not in groups:  # which PyMC makes last
        _require_ended(root, dataset.sizes.get("draw", 0))
    found, beside = {group: dataset}, statistics_group(group)
    if beside in groups:
        inside = os.listdir(os.path.join(path, beside))
        marks = [np.asarray(root[f"{beside}/{name}"][...]) != 0 for name in inside if plain_statistic(name) == DIVERGING]
        labels = {dim: np.asarray(root[f"{beside}/{dim}"][...]) for dim in ("chain", "draw") if dim in inside}
        if marks:
            found[beside] = xr.Dataset({DIVERGING: (("chain", "draw"), np.any(marks, axis=0))}, coords=labels)
    return xr.DataTree.from_dict(found)


def _require_ended(root: Any, planned: int) -> None:
    """Raise if the warm-up is among the draws of a store, or draws are missing, which may look like zeros."""
    if int(root[f"{STATE}/tuning_steps"][()]):
        what, advice = "its warm-up is still among the draws", "which leave it out"
    else:
        if int(np.min(root[f"{STATE}/draw_idx"][...], initial=planned)) >= planned:
            return
        what, advice = "some of its draws are not there", "which take those that are"
    told = f"the run goes on, or was killed: {what}; use cd.watch or the command watch, {advice}"
    raise InputError(told, "file-format")
