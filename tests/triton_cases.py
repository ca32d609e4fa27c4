"""Triton's kernels on a graphics processor or, without one, in Triton's interpreter, compared with operations on tensors.

``TRITON_INTERPRET=1 python -m tests.triton_cases`` prints for every case the largest error and what is allowed, as JSON. A new
kernel is a function that returns pairs of tensors, found and expected, and an entry in `CASES`. Nothing here is imported before
it is needed: whether kernels are interpreted is decided when Triton is.
"""

import json
import sys
from functools import partial

NO_INTERPRETER = 77  # the exit status if not even the kernel below works, as with Triton 3.6 and NumPy 2.4


def points_of(d, n, beta, place):
    """Points about 1, scores of a normal distribution, and c = 1.5."""
    import torch

    from copula_discrepancy._core.tensors.stein import SteinPoints

    generator = torch.Generator().manual_seed(d)
    x = torch.randn(d, n, generator=generator, dtype=torch.float64) + 1.0
    return SteinPoints.of(x.to(place), (-1.1 * x).to(place), 1.5, beta)


def direct(d, n, beta, single, place):
    """Sums over rows, coordinate by coordinate; n is no multiple of a tile, or more than are added up at a time."""
    import torch

    from copula_discrepancy._core.tensors import stein, stein_triton

    found = stein_triton.direct_sums(points_of(d, n, beta, place), torch.float32 if single else torch.float64)
    return [(found, stein._tiled_sums(points_of(d, n, beta, "cpu"), 2.0**30))]


def fused(d, n, beta, place):
    """Sums over the rows and over the columns of a tile, from products of matrices; of different heights and widths."""
    from copula_discrepancy._core.tensors import stein, stein_triton

    here, there = points_of(d, n, beta, "cpu"), points_of(d, n, beta, place)
    pairs = []
    for rows, columns in ((slice(0, 50), slice(20, n)), (slice(n - 33, n), slice(0, 7)), (slice(0, n), slice(0, n))):
        found = stein_triton.fused_sums(there.at(rows), there.at(columns))
        pairs += zip(found, stein._added(here.at(rows), here.at(columns)), strict=True)
    return pairs


def signs(variables, place):
    """Signs of differences of ranks that differ as much as they can, with ties."""
    import torch

    from copula_discrepancy._core.tensors import signs_triton

    generator = torch.Generator().manual_seed(1)
    ranks = torch.randint(0, 9, (37, variables), generator=generator, dtype=torch.int16)
    ranks[3], ranks[30] = 0, 2**15 - 1
    pairs = []
    for some, start in ((slice(2, 5), 0), (slice(5, 8), 5), (slice(29, 37), 20)):
        found = signs_triton.signs(ranks.to(place), some, start)
        pairs.append((found.double(), (ranks[some, None].double() - ranks[None, start:].double()).sign()))
    return pairs


def form(order, n, taken, place):
    """Influence values of the coefficients of pairs, their means and moments, by sums over all pairs of draws."""
    import torch

    from copula_discrepancy._core.tensors import form_triton
    from copula_discrepancy._core.tensors.ranks import RankTensors
    from copula_discrepancy.estimate.basis import basis_table

    generator = torch.Generator().manual_seed(order)
    columns = RankTensors.of(torch.randn(3, n, generator=generator, dtype=torch.float64))
    basis = torch.tensor(basis_table(n, order, False))
    fitted = torch.randn(2, n, generator=generator).double(), torch.randn(2, order * order, generator=generator).double()
    first, second = torch.tensor([0, 2]), torch.tensor([1, 0])
    found = form_triton.form_values(
        tuple(part.int().to(place) for part in columns[:2]), first.to(place), second.to(place), basis.to(place),
        tuple(part.to(place) for part in fitted) if taken else None,
    )  # fmt: skip
    u, v = columns.rank[first], columns.rank[second]
    of_u, of_v, steep_u, steep_v = (basis[side][:, rank].transpose(0, 1) for side in (0, 1) for rank in (u, v))
    above_u, above_v = (((x[:, None] > x[..., None]) + 0.5 * (x[:, None] == x[..., None])).double() for x in (u, v))
    products = of_u[:, :, None] * of_v[:, None]
    effects = torch.einsum("pjb,pkb,pab->pjka", steep_u, of_v, above_u) + torch.einsum(
        "pjb,pkb,pab->pjka", of_u, steep_v, above_v
    )
    values = (products + effects / n).flatten(1, 2)
    values = values - fitted[1][..., None] * fitted[0][:, None] if taken else values
    values = values - values.mean(dim=-1, keepdim=True)
    expected = values, products.mean(dim=-1).flatten(1), values.square().sum(-1), values.square().square().sum(-1)
    return list(zip(found, expected, strict=True))


# what is computed, and the largest error in units of the largest number; sums of float32 are of numbers with 24 binary digits
CASES = {
    "direct, d = 1": (partial(direct, 1, 70, -0.5, False), 1e-13),
    "direct, d = 2, another power": (partial(direct, 2, 130, -0.3, False), 1e-13),
    "direct, d = 4": (partial(direct, 4, 64, -0.5, False), 1e-13),
    "direct, single precision": (partial(direct, 1, 70, -0.5, True), 1e-6),
    "direct, single precision, many": (partial(direct, 2, 600, -0.5, True), 1e-6),
    "fused, d = 5": (partial(fused, 5, 257, -0.5), 1e-12),
    "fused, d = 30, another power": (partial(fused, 30, 70, -0.3), 1e-12),
    "form": (partial(form, 4, 61, False), 1e-13),
    "form, less what was fitted": (partial(form, 2, 64, True), 1e-13),
    "form, odd order, many draws": (partial(form, 3, 1100, True), 1e-12),
    "signs": (partial(signs, 16), 0.0),
    "signs of many variables": (partial(signs, 130), 0.0),
}


def probe(place):
    """A loop, a masked load and a sum: what every kernel is made of."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def add(values, out, n, SIZE: tl.constexpr):
        total = tl.zeros((SIZE,), tl.float64)
        for begin in range(0, n, SIZE):
            at = begin + tl.arange(0, SIZE)
            total += tl.load(values + at, mask=at < n, other=0.0)
        tl.store(out + tl.program_id(0), tl.sum(total, 0))

    out = torch.zeros(1, dtype=torch.float64, device=place)
    add[(1,)](torch.arange(20.0, dtype=torch.float64, device=place), out, 20, 16)
    assert out.item() == 190.0


def errors(place):
    """The largest error of every case, in units of the largest number."""
    found = {}
    for name, (compute, _) in CASES.items():
        pairs = [(mine.cpu(), expected) for mine, expected in compute(place)]
        assert all(mine.shape == expected.shape for mine, expected in pairs)
        found[name] = max(((mine - expected).abs().max() / expected.abs().max()).item() for mine, expected in pairs)
    return found


if __name__ == "__main__":
    where = sys.argv[1]
    try:
        probe(where)
    except Exception as error:
        print(f"{type(error).__name__}: {error!s:.200}", file=sys.stderr)
        sys.exit(NO_INTERPRETER)
    print(json.dumps(errors(where)))
