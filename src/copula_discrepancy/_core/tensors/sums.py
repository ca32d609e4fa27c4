"""Sums over the draws of many pairs of variables, on tensors: effects of ranks, corners, squares and batches."""

from typing import Any, NamedTuple

import torch

from copula_discrepancy._core.kernels.pairs import LOW, NEAR_LOW


class PairRanks(NamedTuple):
    """The ranks of one variable of each of several pairs, (pair, draw): order, rank, and rank plus the number of equal ones."""

    order: Any
    rank: Any
    end: Any

    @classmethod
    def of(cls, columns: Any, variables: Any) -> "PairRanks":
        """From the ranks of all variables."""
        rank = columns.rank[variables]
        return cls(columns.order[variables], rank, rank + columns.size[variables])


def sums_above(values: Any, ranks: PairRanks) -> Any:
    """For each draw, the sum of the values of all larger draws and half that of equal ones, itself included: (..., draw).

    `values` is (pair, draw), or (pair, ..., draw) for several values of each draw.
    """
    between = (slice(None), *(None,) * (values.ndim - 2))
    order, rank, end = (part[between].expand_as(values) for part in ranks)
    below = values.new_zeros((*values.shape[:-1], values.shape[-1] + 1))
    torch.cumsum(values.gather(-1, order), dim=-1, out=below[..., 1:])
    return below[..., -1:] - 0.5 * (below.gather(-1, rank) + below.gather(-1, end))


def square_counts(bins: tuple[Any, Any], n_bins: int) -> Any:
    """Draws in each square of bins of both variables, (pair, first bin * n_bins + second bin), from bins (pair, draw)."""
    places = bins[0] * n_bins + bins[1]
    counts = places.new_zeros((places.shape[0], n_bins * n_bins), dtype=torch.float64)
    return counts.scatter_add_(1, places, places.new_ones(()).to(torch.float64).expand(places.shape))


def tail_flags(doubled: Any, tail: float, width: float) -> Any:
    """Where each draw is relative to both tails of its variable, by doubled mid-ranks; see `kernels.tail_flags`."""
    whole = 2 * (doubled.shape[-1] + 1)
    limit, reach = tail * whole, width * whole
    low = doubled.to(torch.float64)
    high = whole - low
    flags = (low <= limit).to(torch.uint8)
    for bit, inside in ((2, high <= limit), (4, (low - limit).abs() <= reach), (8, (high - limit).abs() <= reach)):
        flags |= bit * inside.to(torch.uint8)
    return flags


class CornerTensors(NamedTuple):
    """One corner of pairs: shares of draws inside both tails and in the corner, and its slopes in both edges; who is inside."""

    first: Any
    second: Any
    joint: Any
    slope_first: Any
    slope_second: Any
    inside: tuple[Any, Any]

    @classmethod
    def of(cls, flags: tuple[Any, Any], high: tuple[bool, bool]) -> "CornerTensors":
        """From the flags (pair, draw) of both variables; see `kernels.corner_shares`."""
        n = flags[0].shape[-1]
        inside = tuple((part & (LOW << end)) != 0 for part, end in zip(flags, high, strict=True))
        near = tuple((part & (NEAR_LOW << end)) != 0 for part, end in zip(flags, high, strict=True))
        counts = [part.sum(-1) for part in (*inside, inside[0] & inside[1])]
        joint = [(near[0] & inside[1]).sum(-1), (near[1] & inside[0]).sum(-1)]
        beside = [part.sum(-1).clamp(min=1).to(torch.float64) for part in near]
        shares = [count.to(torch.float64) / n for count in counts]
        return cls(shares[0], shares[1], shares[2], joint[0] / beside[0], joint[1] / beside[1], (inside[0], inside[1]))

    def influence(self, tau: Any, expected_slope: Any) -> Any:
        """Influence values on the gap, given those on Kendall's tau; see `kernels.pairs.corner_influence`."""
        u, v = (part.to(torch.float64) for part in self.inside)
        flat = u * v - self.joint[:, None]
        flat -= self.slope_first[:, None] * (u - self.first[:, None])
        flat -= self.slope_second[:, None] * (v - self.second[:, None])
        flat -= expected_slope[:, None] * tau
        return flat / self.first[:, None]


def batch_sums(values: Any, n_chains: int, n_batches: int) -> Any:
    """Sums of (..., draw) over consecutive batches of each chain, (..., batch); a remainder of each chain is omitted."""
    length = values.shape[-1] // n_chains
    size = length // n_batches
    whole = values.unflatten(-1, (n_chains, length))[..., : size * n_batches]
    return whole.unflatten(-1, (n_batches, size)).sum(-1).flatten(-2)
