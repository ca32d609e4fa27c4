"""Draws as small netCDF files that say which script made them: every make_*.py beside this file ends with `keep(...)`."""

import hashlib
from importlib.metadata import version
from pathlib import Path

import xarray as xr

FOLDER = Path(__file__).parent


def sha256(script):
    """Of a script's text, whatever the line ends of its checkout."""
    return hashlib.sha256(Path(script).read_text(encoding="utf-8").encode()).hexdigest()


def keep(name, groups, script, libraries):
    """Write datasets by group, such as {"posterior": ..., "sample_stats": ...}, to NAME.nc in single precision, compressed."""
    tree = xr.DataTree.from_dict({group: _small(dataset) for group, dataset in groups.items()})
    tree.attrs = {
        "script": Path(script).name,
        "script_sha256": sha256(script),
        "versions": ", ".join(f"{library} {version(library)}" for library in libraries),
    }
    packing = {"zlib": True, "complevel": 9, "shuffle": True}
    packed = {
        f"/{group}": {name: packing for name in dataset.variables if dataset[name].ndim} for group, dataset in groups.items()
    }
    path = FOLDER / f"{name}.nc"
    tree.to_netcdf(path, engine="h5netcdf", encoding=packed)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def _small(dataset):
    reals = {name: array.astype("float32") for name, array in dataset.data_vars.items() if array.dtype.kind == "f"}
    small = dataset.assign(reals).drop_attrs()
    return small.assign_attrs(dataset.attrs.get("kept", {}))
