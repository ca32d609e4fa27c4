"""Small cases for the kernels, feasible without compilation: `python -m tests.kernel_cases` prints it, uncompiled.

Compiled code is blind to an index out of range and to integers that overflow; the interpreter is not. It also lets coverage see
which branches the tests reach.
"""

import json
import os
import struct
import sys
import warnings

import numpy as np


def interpret():
    """Python's versions of the four intrinsics, which numba has for the compiler alone."""
    from copula_discrepancy._core.kernels import ranks, vector

    ranks._popcount = lambda word: np.uint64(int(word).bit_count())
    ranks._bits = lambda value: np.uint64(struct.unpack("Q", struct.pack("d", value))[0])
    vector._float_bits = lambda value: struct.unpack("q", struct.pack("d", value))[0]
    vector._bits_float = lambda bits: struct.unpack("d", struct.pack("q", int(bits)))[0]


def numbers():
    """Every number, by name."""
    import copula_discrepancy as cd

    rng = np.random.default_rng(1)
    found = {}

    def keep(name, values):
        found[name] = np.asarray(values, float).ravel().tolist()

    for name, x in _columns(rng).items():
        y = x + rng.normal(size=x.size).round(1)
        keep(f"tau, {name}", cd.kendall_tau(x, y))
        keep(f"concordance, {name}", cd.concordance(x, y))
        keep(f"ranks, {name}", cd.pseudo_observations(np.column_stack([x, y])))
    keep("tau matrix", cd.kendall_matrix(rng.normal(size=(50, 4)).round(1)))
    for copula in _copulas():
        draws = copula.sample(90, rng=2)
        for chains in (1, 3):
            result = cd.discrepancy(draws.reshape(chains, -1, 2), copula)
            values = result.level, result.shape, result.total, result.level.se, result.shape.se, result.total.se
            keep(f"{copula!r}, {chains}", [np.asarray(value, float) for value in values])
            keep(f"R-hat of {copula!r}, {chains}", result.agreement.rhat)
    many = np.append(rng.uniform(size=550), 1e-25)  # as many quantiles as a table is made for, and one beyond it
    keep("Student quantiles", cd.StudentT(0.5, 4.0).logpdf(many, many[::-1]))
    keep("long chain", cd.long_run_variance(rng.normal(size=(1, 8300))).variance)
    wide = rng.normal(size=(3, 40, 3))
    wide[..., 1] += wide[..., 0]
    rows = cd.pairwise(wide.round(1), wide[::-1] ** 3, family="gaussian").rows
    for column in rows.dtype.names:
        if rows[column].dtype.kind == "f":
            keep(f"pairs, {column}", rows[column])
    slow = np.cumsum(wide[:, :, :2], axis=1)  # blocks are left out; rounded, so that there are ties in them
    keep("left-out blocks", cd.fit(slow.round(1), "gaussian").spreads["shape"].se)
    keep("R-hat", list(cd.rhat(wide).values()))
    for d in (1, 2, 3, 5):
        keep(f"ksd, {d}", cd.ksd(rng.normal(size=(40, d)), np.negative).ksd)
    for target in _targets(cd):
        start, length = np.array([[0.3, 0.4], [-0.2, 0.1]]), {"n_draws": 12, "burn_in": 3, "rng": 3}
        keep(f"metropolis, {target!r}", cd.metropolis(target, start, scale=0.5, **length))
        keep(f"sgld, {target!r}", cd.sgld(target, start, step=0.01, **length))
        keep(f"sghmc, {target!r}", cd.sghmc(target, start, step=0.05, friction=1.0, **length))
    triples = cd.DependenceSketch.of(rng.normal(size=(80, 4)), iid=True, triples=True).triples
    keep("triples", np.append(triples.sums, triples.counts.ravel()))
    return found


def _columns(rng):
    x = rng.normal(size=64)
    return {
        "plain": x,
        "ties": x.round(),
        "one word": 1.0 + 1e-13 * rng.permutation(64),  # the same upper half of their bits
        "a long run": np.where(rng.random(64) < 0.7, 1.0 + 1e-13 * rng.integers(0, 20, 64), x),
        "blocks": rng.permutation(4200).astype(float),  # more than one block of ranks
    }


def _copulas():
    from copula_discrepancy import FAMILIES, Clayton, Gaussian, Rotated, StudentT

    lone = [family.from_tau(0.6) for family in FAMILIES if family is not StudentT]
    return [*lone, StudentT(0.5, 4.0), Gaussian(-0.6), Rotated(Clayton(2.0), 90)]


def _targets(cd):
    yield cd.GaussianTarget([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])
    yield cd.BimodalMixture()
    yield cd.WellingTeh()
    yield cd.WellingTeh(batch=5)
    for copula in _copulas():
        yield cd.MetaCopula(copula)


if __name__ == "__main__":
    assert os.environ.get("NUMBA_DISABLE_JIT") == "1", "set NUMBA_DISABLE_JIT=1: this is about the interpreter"
    warnings.simplefilter("ignore", UserWarning)
    interpret()
    json.dump(numbers(), sys.stdout)
