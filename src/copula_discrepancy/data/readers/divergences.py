"""Which draws a sampler reports as divergent: Hamiltonian Monte Carlo's trajectories whose energy was not conserved."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The group with the sampler's statistics of every draw, by the group that holds these draws or what was computed from them,
# named as in ArviZ.
_OF_POSTERIOR = ("posterior", "unconstrained_posterior", "log_likelihood", "log_prior", "posterior_predictive", "predictions")
_STATISTICS = {
    **dict.fromkeys((*_OF_POSTERIOR, "sample_stats"), "sample_stats"), "warmup_posterior": "warmup_sample_stats",
    "prior": "sample_stats_prior",
}  # fmt: skip
DIVERGING = "diverging"
UNKNOWN_DIVERGENCES = "divergences were not used"  # how the note on a sampler's divergences begins that says why


def statistics_group(group: str) -> str | None:
    """The group with the sampler's statistics of the draws in a group; None if these are not of a posterior."""
    folder, _, name = group.rpartition("/")
    found = _STATISTICS.get(name)
    return None if found is None else f"{folder}/{found}".lstrip("/")


def divergences_of(
    statistics: Any, draws: Any, shape: tuple[int, int], group: Any
) -> tuple[NDArray[np.bool_] | None, tuple[str, ...]]:
    """Which draws diverged, (chain, draw), and a note if a sampler's statistics do not tell.

    Parameters
    ----------
    statistics : Dataset or None
        The sampler's statistics.
    draws : DataArray
        A variable, with the chains and draws that are read; statistics of others are ignored.
    shape : (int, int)
        The number of chains and draws that are read.
    group : Dataset
        The group with all chains and draws, before any are selected.

    Returns
    -------
    array or None, tuple of str
        None if the sampler has no divergences, or if it is not known which draws they are.
    """
    if statistics is None or DIVERGING not in statistics.variables:  # as a coordinate it says the same
        return None, ()
    flags = flags_of_draws(statistics[DIVERGING], draws, group)
    if isinstance(flags, str):
        return None, (unknown_divergences(flags),)
    values = np.atleast_2d(flags.values)
    if values.shape != shape:
        found = "{} x {}".format(*values.shape)
        return None, (unknown_divergences(f"sample_stats has {found} draws, and there are {shape[0]} x {shape[1]}"),)
    if values.dtype.kind == "f" and np.isnan(values).any():
        return None, (unknown_divergences("diverging has missing values"),)
    diverging: NDArray[np.bool_] = values != 0
    diverging.flags.writeable = False
    return diverging, ()


def flags_of_draws(flags: Any, draws: Any, group: Any) -> Any:
    """The flags of these draws in their order, with the dimension draw last, or why it is not known which they are."""
    for dim in ("chain", "draw"):
        if dim not in draws.coords or dim not in flags.coords:
            continue
        wanted = draws[dim].values
        if dim not in flags.dims:  # one chain, chosen by its label
            if np.any(flags[dim].values != wanted):
                return f"sample_stats has no statistics of some of the {dim}s"
            continue
        if dim not in flags.indexes:
            continue
        if not wanted.ndim:  # one chain, chosen by its label
            wanted = wanted[None]
        if np.array_equal(flags[dim].values, wanted):
            continue
        if not flags.indexes[dim].is_unique or not np.isin(wanted, flags[dim].values).all():
            return f"sample_stats has no statistics of some of the {dim}s"
        # if no draw of the run diverged, none of these did
        if _renumbered(group, flags, dim) and np.asarray(flags.values).astype(bool).any():
            each = " per chain" if dim == "draw" else ""
            return (
                f"sample_stats has {flags.sizes[dim]:,} {dim}s{each} and there are {group.sizes[dim]:,}, both numbered "
                f"consecutively, so it is not known which {dim}s of the run these are; select {dim}s in both groups alike"
            )
        flags = flags.sel({dim: wanted})
    if set(flags.dims) - {"chain", "draw"} or "draw" not in flags.dims or flags.dtype.kind not in "biuf":
        return f"diverging must be numbers by chain and draw, got {flags.dtype} by ({', '.join(map(str, flags.dims))})"
    chains = draws.sizes.get("chain", 1)
    if "chain" not in flags.dims and chains > 1:
        return f"diverging has no dimension chain, and there are {chains} chains"
    return flags.transpose(*(dim for dim in ("chain", "draw") if dim in flags.dims))


def _renumbered(group: Any, flags: Any, dim: str) -> bool:
    """Whether a group with fewer draws, or chains, than its statistics may have been thinned and numbered anew, from 0 or 1."""
    labels = np.atleast_1d(group[dim].values)
    return labels.size < flags.sizes[dim] and all(
        own.dtype.kind in "iu" and own.size and own[0] in (0, 1) and np.array_equal(own, own[0] + np.arange(own.size))
        for own in (labels, flags[dim].values)
    )


def unknown_divergences(why: str) -> str:
    """The note that a sampler's statistics do not tell which draws diverged."""
    return f"{UNKNOWN_DIVERGENCES}: {why}"
