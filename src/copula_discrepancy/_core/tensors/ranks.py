"""Ranks of columns, and counts of concordant pairs of draws, on tensors.

For two draws a and b and a variable x, s_x(a, b) = sign(x_a - x_b). The sum over b of s_x(a, b) s_y(a, b) is the number of
draws that are concordant with draw a, minus those that are discordant: for all pairs of variables a product of two matrices.
Signs are exact in half precision, and so are sums of 2,048 of them, whatever precision a device adds up parts of a product in
(on an H200 longer sums were not, and taus were off by 1e-6); these are added in single precision, exact up to 2**24. That is
n^2 operations, of the fastest kind; beyond some ten thousand draws counting by the bits of the ranks, n log n slower ones,
takes less time.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import torch

from copula_discrepancy._core.tensors.launching import fused

_EXACT = 2**11  # sums of this many signs are exact in half precision
_SMALL = 2**15 - 1  # ranks up to this fit into 16 bits, and so do their differences; with more draws, they are counted
_ALIGNED = 16  # variables: products of matrices whose sides are multiples of this are twice as fast
_COUNTING = 8.0  # tensors (pair, draw) of 8 bytes that counting by bits has at a time


class RankTensors(NamedTuple):
    """Columns (variable, draw): draws in ascending order, how many are smaller, and how many share each value; tied pairs."""

    order: Any
    rank: Any
    size: Any
    ties: Any

    @classmethod
    def of(cls, values: Any) -> "RankTensors":
        """Rank the rows of a tensor of finite numbers (variable, draw), as `kernels.rank_column` does."""
        n = values.shape[-1]
        ordered, order = values.sort(dim=-1, stable=True)
        place = torch.arange(n, device=values.device)
        new = ordered[..., 1:] != ordered[..., :-1]
        starts = place.expand_as(order).clone()
        starts[..., 1:] *= new
        starts = starts.cummax(dim=-1).values
        ends = place.expand_as(order) + 1
        ends[..., :-1] = ends[..., :-1].masked_fill(~new, n)
        ends = ends.flip(-1).cummin(dim=-1).values.flip(-1)
        rank, size = order.new_empty(order.shape), order.new_empty(order.shape)
        rank.scatter_(-1, order, starts)
        size.scatter_(-1, order, ends - starts)
        return cls(order, rank, size, (place - starts).sum(dim=-1))

    @property
    def doubled(self) -> Any:
        """Twice the mid-ranks, from 2 to 2n."""
        return 2 * self.rank + 1 + self.size

    def at(self, variables: Any) -> "RankTensors":
        """Some of the variables."""
        return RankTensors(*(part[variables] for part in self))

    def without(self, start: int, stop: int) -> "RankTensors":
        """The columns, ranked without the draws from `start` to `stop`."""
        return RankTensors.of(torch.cat((self.rank[..., :start], self.rank[..., stop:]), dim=-1))


def concordances(first: Any, second: Any, pairs: tuple[Any, Any], n_chains: int, budget: float) -> tuple[Any, Any]:
    """Concordant minus discordant draws of each draw, (pair, draw): among all draws, and among those of its own chain.

    Parameters
    ----------
    first, second : tensor (variable, draw)
        Ranks of the variables of a tile.
    pairs : two tensors
        The places of the pairs' variables in these.
    n_chains : int
        The number of chains; with one, both counts are the same.
    budget : float
        Bytes that the signs may take.
    """
    n = first.shape[1]
    if n > _SMALL:
        return _counted(first, second, pairs, n_chains, budget)
    whole = first.new_empty((pairs[0].numel(), n), dtype=torch.int32)
    own = whole if n_chains == 1 else whole.clone()
    left, right = _narrow(first), _narrow(second)
    length = n // n_chains
    step = min(_step(left, right, budget), length)
    for chain in range(n_chains):
        inside = slice(chain * length, (chain + 1) * length)
        for start in range(inside.start, inside.stop, step):
            some = slice(start, min(start + step, inside.stop))
            a, b = _signs(left, some), _signs(right, some)
            whole[:, some] = _chosen(_products(a, b), pairs)
            if n_chains > 1:
                own[:, some] = _chosen(_products(a[:, inside], b[:, inside]), pairs)
    return whole, own


def concordance_totals(first: Any, second: Any, budget: float) -> Any:
    """Concordant minus discordant pairs of draws for all pairs of variables of two sets, (first, second), in float64."""
    n = first.shape[1]
    if n > _SMALL:
        return _counted_totals(first, second, budget)
    left = _narrow(first)
    right = left if second is first else _narrow(second)
    total = first.new_zeros((left.shape[1], right.shape[1]), dtype=torch.float64)
    step = _step(left, right, budget)
    for start in range(0, n, step):
        some = slice(start, min(start + step, n))
        # every draw with those from the first of this part on: those inside of it meet twice
        a = _signs(left, some, start)
        b = a if right is left else _signs(right, some, start)
        inside = some.stop - some.start
        total += _products(a, b).sum(dim=0, dtype=torch.float64)
        total -= 0.5 * _products(a[:, :inside], b[:, :inside]).sum(dim=0, dtype=torch.float64)
    return total[: len(first), : len(second)]


def concordance_batches(first: Any, second: Any, edges: list[int], budget: float) -> Any:
    """Concordant minus discordant draws of each draw, summed over batches: (batch, first, second), in float64.

    `first` and `second` are ranks (variable, draw), batch t the draws from edges[t] on.
    """
    n, batches = first.shape[1], list(pairwise(edges))
    if n > _SMALL:
        return _counted_batches(first, second, edges, budget)
    left, right = _narrow(first), _narrow(second)
    found = first.new_zeros((len(batches), left.shape[1], right.shape[1]), dtype=torch.float64)
    step = _step(left, right, budget)
    for total, (begin, end) in zip(found, batches, strict=True):
        for start in range(begin, end, step):
            some = slice(start, min(start + step, end))
            total += _products(_signs(left, some), _signs(right, some)).sum(dim=0, dtype=torch.float64)
    return found[:, : len(first), : len(second)]


def _signs(ranks: Any, some: slice, start: int = 0) -> Any:
    """Signs of differences between some draws and those from `start` on, (draw, other draw, variable)."""
    if fused(ranks):
        from copula_discrepancy._core.tensors.signs_triton import signs as fused_signs

        return fused_signs(ranks, some, start)
    difference = ranks[some, None] - ranks[None, start:]
    signs = difference.clamp_(-1, 1)
    return signs.half() if ranks.is_cuda else signs.float()


def _step(left: Any, right: Any, budget: float) -> int:
    """How many draws' signs, and their products, fit into so many bytes; ranks are (draw, variable)."""
    n, both = left.shape[0], (left.shape[1], right.shape[1])
    return int(max(1, min(budget / (6.0 * n * sum(both) + 8.0 * both[0] * both[1]), n)))


def _products(a: Any, b: Any) -> Any:
    """Sums over the middle dimension of two tensors of signs, (batch, first, second), exact."""
    total = None
    for start in range(0, a.shape[1], _EXACT):
        left, right = a[:, start : start + _EXACT].transpose(1, 2), b[:, start : start + _EXACT]
        # half precision in, single precision out: tensor cores
        product = torch.bmm(left, right, out_dtype=torch.float32) if a.is_cuda else torch.bmm(left, right)
        total = product if total is None else total.add_(product)
    return total


def _chosen(products: Any, pairs: tuple[Any, Any]) -> Any:
    """The products of the pairs, (pair, draw), as whole numbers."""
    return products[:, pairs[0], pairs[1]].T.to(torch.int32)


def _narrow(ranks: Any) -> Any:
    """Ranks (variable, draw) as small numbers, (draw, variable); filled up with variables that are constant."""
    d, n = ranks.shape
    narrow = ranks.new_zeros((n, -(-d // _ALIGNED) * _ALIGNED), dtype=torch.int16)
    narrow[:, :d] = ranks.T
    return narrow


# ---- counting by bits ------------------------------------------------------------------------------------------------


def _counted(first: Any, second: Any, pairs: tuple[Any, Any], n_chains: int, budget: float) -> tuple[Any, Any]:
    """`concordances` of many draws."""
    count, n = pairs[0].numel(), first.shape[1]
    whole = first.new_empty((count, n), dtype=torch.int32)
    own = whole if n_chains == 1 else whole.clone()
    step = int(max(1, budget / (8.0 * _COUNTING * n)))
    for start in range(0, count, step):
        x, y = (side[places[start : start + step]] for side, places in zip((first, second), pairs, strict=True))
        whole[start : start + step] = concordance(x, y)
        if n_chains > 1:
            chains = (part.unflatten(1, (n_chains, -1)).flatten(0, 1) for part in (x, y))
            own[start : start + step] = concordance(*(RankTensors.of(part).rank for part in chains)).view(-1, n)
    return whole, own


def _counted_batches(first: Any, second: Any, edges: list[int], budget: float) -> Any:
    """`concordance_batches` of many draws."""
    n = first.shape[1]
    inside = torch.bucketize(torch.arange(n, device=first.device), first.new_tensor(edges[1:-1]), right=True)
    found = first.new_zeros((len(edges) - 1, len(first), len(second)), dtype=torch.float64)
    pairs = torch.cartesian_prod(*(torch.arange(len(part), device=first.device) for part in (first, second)))
    step = int(max(1, budget / (8.0 * _COUNTING * n)))
    for start in range(0, len(pairs), step):
        x, y = pairs[start : start + step].T
        sums = concordance(first[x], second[y]).to(torch.float64)
        found[:, x, y] = found.new_zeros((len(found), len(x))).index_add_(0, inside, sums.T)
    return found


def _counted_totals(first: Any, second: Any, budget: float) -> Any:
    """`concordance_totals` of many draws."""
    rows, columns = torch.meshgrid(*(torch.arange(len(part), device=part.device) for part in (first, second)), indexing="ij")
    x, y = rows.flatten(), columns.flatten()
    step = int(max(1, budget / (8.0 * _COUNTING * first.shape[1])))
    parts = [concordance(first[x[k : k + step]], second[y[k : k + step]]).sum(1) for k in range(0, x.numel(), step)]
    return (torch.cat(parts).to(torch.float64) / 2.0).view(len(first), len(second))


def concordance(x: Any, y: Any) -> Any:
    """Concordant minus discordant draws of each draw, (pair, draw), from the ranks of both variables, in n log n steps."""
    n = x.shape[1]
    place = torch.arange(n, device=x.device).expand_as(x)
    if all(bool((part.sort(dim=1).values == place).all()) for part in (x, y)):
        # of the draws that are smaller in one variable, those not smaller in both are larger in the other
        return 4 * _smaller_in_both(x, y) - 2 * (x + y) + (n - 1)
    found = torch.zeros_like(x)
    for sign_x, sign_y in ((1, 1), (-1, -1), (1, -1), (-1, 1)):
        a, b = sign_x * x, sign_y * y
        # equal draws must not count as smaller: among draws equal in x those with larger y come first, and among those equal
        # in y the ones that come later have the smaller rank
        order = (a * n - b).argsort(dim=1)
        position = torch.empty_like(x).scatter_(1, order, place)
        turn = (b * n - position).argsort(dim=1)
        rank = torch.empty_like(x).scatter_(1, turn, place)
        found += (sign_x * sign_y) * _smaller_in_both(position, rank)
    return found


def _smaller_in_both(x: Any, y: Any) -> Any:
    """For each draw, how many are smaller in both variables, given ranks without ties, (pair, draw).

    Draws in the order of x are divided by the bits of their rank in y, the highest first: when two draws are divided, the
    smaller one is counted for the larger one if it comes before it. After the last bit they are in the order of y.
    """
    n = x.shape[1]
    place = torch.arange(n, device=x.device)
    # each draw's rank in y, and above its 32 bits what was counted for it
    carried = torch.empty_like(y).scatter_(1, x, y)
    for bit in reversed(range(max(n - 1, 1).bit_length())):
        value = carried & 0xFFFFFFFF
        upper = (value >> bit) & 1
        start = (value >> (bit + 1)) << (bit + 1)  # of the draws that share the higher bits: ranks are 0, 1, ..., n - 1
        lower_before = (1 - upper).cumsum(dim=1) - (start >> 1)
        carried += (upper * lower_before) << 32
        # one of the lower half counted itself
        to = torch.where(upper == 1, place + (1 << bit) - lower_before, start + lower_before - 1)
        carried = torch.empty_like(carried).scatter_(1, to, carried)
    return (carried >> 32).gather(1, y)
