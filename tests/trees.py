"""Draws in the containers of ArviZ: a tree of groups, with divergences where a pair is wrong, or anywhere."""

import numpy as np
import xarray as xr

CHAINS, DRAWS = 4, 250


def dataset(seed, *, lost=False):
    """Three variables; `b` is spread as `a` says and, with `lost`, always large where `a` is small."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, CHAINS, DRAWS))
    b = b * np.exp(a)
    if lost:
        small = a < -0.7
        b[small] = 0.8 + 0.3 * rng.standard_normal(int(small.sum()))
    found = {name: (("chain", "draw"), values) for name, values in (("a", a), ("b", b), ("c", c))}
    return xr.Dataset(found, coords={"chain": np.arange(CHAINS), "draw": np.arange(DRAWS)})


def flags(seed, *, lost=False):
    """Divergences anywhere, or with `lost` where `a` is small."""
    rng = np.random.default_rng(seed + 1000)
    where = dataset(seed, lost=True)["a"].values < -0.7 if lost else True
    return np.asarray((rng.random((CHAINS, DRAWS)) < (0.3 if lost else 0.04)) & where)


def tree(seed, *, lost=False):
    """All groups of a run."""
    rng = np.random.default_rng(seed + 2000)
    posterior = dataset(seed, lost=lost)
    dims = ("chain", "draw")
    observed = (*dims, "obs"), rng.standard_normal((CHAINS, DRAWS, 2))
    statistics = {"diverging": (dims, flags(seed, lost=lost)), "energy": (dims, rng.standard_normal((CHAINS, DRAWS)))}
    groups = {
        "posterior": posterior,
        "sample_stats": xr.Dataset(statistics, coords=posterior.coords),
        "log_likelihood": xr.Dataset({"y": observed}, coords={**posterior.coords, "obs": [0, 1]}),
        "posterior_predictive": xr.Dataset({"y": observed}, coords={**posterior.coords, "obs": ["Graz", "Linz"]}),
        "prior": dataset(seed + 500).isel(chain=[0]),
        "prior_predictive": xr.Dataset({"y": observed}, coords={**posterior.coords, "obs": [0, 1]}).isel(chain=[0]),
        "observed_data": xr.Dataset({"y": ("obs", np.zeros(2))}),
    }
    return xr.DataTree.from_dict(groups)
