"""Samples and options for comparisons on a device, and what agrees with the processor to how many digits."""

import numpy as np
import pandas as pd

import copula_discrepancy as cd
from tests.caveat_codes import codes_of
from tests.pairwise_data import CORRELATIONS, autoregressive, gaussian, sticky

RNG = np.random.default_rng(5)
THREE = CORRELATIONS[:3, :3]
DRAWS, REFERENCE = gaussian(RNG, (2, 4, 80), THREE)  # chains that mix
CHAINS = [autoregressive(RNG, 4, 150, 0.2, THREE) for _ in range(2)]
SLOW = [autoregressive(RNG, 4, n, 0.95, THREE) for n in (81, 100)]
TAILS = [draws / np.sqrt(RNG.chisquare(3, (4, 80, 1)) / 3.0) for draws in (DRAWS, REFERENCE)]
SHORT = [autoregressive(RNG, 30, 10, 0.5, THREE) for _ in range(2)]
PERFECT = np.stack([DRAWS[..., 0], 2.0 * DRAWS[..., 0] + 1.0, -DRAWS[..., 0], DRAWS[..., 1]], axis=-1)
FOUR = gaussian(RNG, (4, 80))
STICKY = sticky(RNG, DRAWS)
STILL = DRAWS.copy()
STILL[2, :, 1] = 0.3


def copulas(n, seed, *members):
    """Two columns of each copula."""
    return np.concatenate([copula.sample(n, rng=seed + k) for k, copula in enumerate(members)], axis=1)


POSITIVE = cd.Clayton(1.5), cd.Gumbel(1.8), cd.Frank(4.0)
OTHERS = cd.Joe(2.0), cd.A1(1.3), cd.A2(1.2)
TURNED = cd.Rotated(cd.Clayton(1.5), 90), cd.Rotated(cd.Joe(2.0), 270)


def table(n, seed):
    """Numbers, some of them missing, a column without an order, and one of few values."""
    rng = np.random.default_rng(seed)
    values = gaussian(rng, n)
    found = pd.DataFrame(values, columns=list("abcd"))
    found["town"] = rng.choice(["Graz", "Linz", "Wien"], n)
    found["size"] = np.clip(np.round(values[:, 0] + rng.standard_normal(n)), -2, 2)
    found.loc[rng.random(n) < 0.2, "b"] = np.nan
    return found


# draws, target and options
PAIRS = {
    "chains": (*CHAINS, {}),
    "chains that mix": (DRAWS, REFERENCE, {}),
    "independent": (DRAWS, REFERENCE, {"iid": True}),
    "one sample independent": (DRAWS, REFERENCE, {"iid": "draws"}),
    "t": (*TAILS, {"iid": True}),
    "families": (copulas(300, 1, *POSITIVE), copulas(350, 50, *POSITIVE), {"iid": True}),
    "more families": (copulas(300, 1, *OTHERS), copulas(350, 50, *OTHERS), {"iid": True}),
    "families of chains": (copulas(300, 1, *TURNED).reshape(3, 100, 4), copulas(400, 9, *TURNED).reshape(4, 100, 4), {}),
    "slow chains": (*SLOW, {}),
    "one short chain": (DRAWS[0, :60], REFERENCE[0, :81], {}),
    "many short chains": (*SHORT, {}),
    "repeated draws": (STICKY, REFERENCE, {}),
    "rounded": (np.round(DRAWS, 1), np.round(REFERENCE, 1), {}),
    "few values": (np.round(DRAWS), np.round(REFERENCE), {"iid": True}),
    "rounded in one sample": (np.round(DRAWS, 1), REFERENCE, {"iid": True}),
    "perfect": (PERFECT, FOUR, {}),
    "perfect, known": (PERFECT, cd.Gumbel(2.0), {}),
    "perfect, rounded": (np.round(PERFECT, 1), np.round(FOUR, 1), {}),
    "a chain that stands still": (STILL, REFERENCE, {}),
    "table": (table(300, 1), table(350, 2), {"iid": True}),
    "table, complete rows": (table(300, 1), table(350, 2), {"iid": True, "missing": "listwise"}),
    "known": (DRAWS, cd.Gaussian(0.3), {}),
    "known, some": (
        copulas(300, 1, cd.Clayton(1.5), cd.Gumbel(1.8)),
        {("x0", "x1"): cd.Clayton(1.2), ("x2", "x3"): cd.Gumbel(2.0), ("x0", "x3"): cd.StudentT(0.1, 4.0)},
        {"iid": True},
    ),
    "correlations": (DRAWS, THREE, {}),
    "no target": (DRAWS, None, {}),
    "no target, families": (copulas(300, 1, cd.Clayton(1.5), cd.Joe(2.0)), None, {"iid": True}),
    "moments": (DRAWS, REFERENCE, {"method": "moment"}),
    "moments, known": (DRAWS, cd.Clayton(1.0), {"method": "moment"}),
    "Gumbel": (DRAWS, REFERENCE, {"family": "gumbel"}),
    "Frank": (DRAWS, REFERENCE, {"family": "frank"}),
    "Joe, turned": (DRAWS, REFERENCE, {"family": cd.Rotated(cd.Joe(2.0), 270)}),
    "Clayton, slow chains": (*(draws[..., :2] for draws in SLOW), {"family": "clayton"}),
    "t, estimated": (*(draws[..., :2] for draws in TAILS), {"family": "studentt", "iid": True}),
    "order and tail": (DRAWS, REFERENCE, {"order": 6, "tail": 0.05}),
    "low order": (DRAWS, REFERENCE, {"order": 2, "confidence": 0.9, "adjust": "holm"}),
    "few draws": (DRAWS[0, :6], REFERENCE[0, :12], {"iid": True}),
    "exact": (DRAWS[..., :2], REFERENCE[..., :2], {"exact": True}),
    "lags": (DRAWS[:2, :90, :1], REFERENCE[:2, :90, :1], {"lags": 1}),
}
COUNTS = ("tau", "tau_target", "n", "n_target")  # and what follows from them by the same operations


def close(found, expected, rtol=1e-7):
    """Equal to so many digits; of numbers below a millionth fewer, as these are differences of numbers of order 1."""
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-6 * rtol)


def same_pairs(found, expected):
    """Two results of `pairwise` say the same, in words and in numbers."""
    assert found.verdict == expected.verdict
    assert {topic: text for topic, text in found.sentences().items() if topic != "Device"} == expected.sentences()
    assert codes_of(found) == codes_of(expected)
    assert found.notes == expected.notes
    assert found.rows["first"].tolist() == expected.rows["first"].tolist()
    for name in expected.rows.dtype.names:
        mine, theirs = found.rows[name], expected.rows[name]
        if name in COUNTS or mine.dtype.kind != "f":
            np.testing.assert_array_equal(mine, theirs, err_msg=name)
        else:
            np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs), err_msg=name)
            close(mine, theirs)
    close(found.blocks, expected.blocks)


SCREENS = {
    "form": (*CHAINS, {}),
    "level": (*CHAINS, {"level": True}),
    "independent": (DRAWS, REFERENCE, {"iid": True, "level": True}),
    "slow chains": (*SLOW, {"level": True}),
    "rounded": (np.round(DRAWS, 1), np.round(REFERENCE, 1), {"level": True}),
    "rounded in one sample": (np.round(DRAWS, 1), REFERENCE, {"level": True, "order": 2}),
    "perfect": (PERFECT, FOUR, {"level": True, "iid": True}),
    "high order": (DRAWS, REFERENCE, {"order": 6}),
}


def same_screens(found, expected):
    """Both agree to the seven digits of single precision, in which the processor multiplies; taus are the same."""
    assert found.verdict == expected.verdict
    assert codes_of(found) == codes_of(expected)
    assert found.places.tolist() == expected.places.tolist()
    for name in ("distance", "kept", "pvalue", "adjusted", "coefficients", "target", "se"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-5, atol=2e-6, err_msg=name)
    np.testing.assert_allclose(found.joint.pvalue, expected.joint.pvalue, atol=1e-5)
    if expected.levels is None:
        assert found.levels is None
        return
    for name in ("own", "other"):
        np.testing.assert_array_equal(getattr(found.levels, name), getattr(expected.levels, name))
    np.testing.assert_allclose(found.levels.se, expected.levels.se, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.levels.pvalue, expected.levels.pvalue, rtol=1e-7, atol=1e-12)


TRIPLES = {
    "chains": (*CHAINS, {}),
    "independent": (FOUR, gaussian(RNG, 500), {"iid": True}),
    "no reference": (DRAWS, None, {}),
    "rounded": (np.round(DRAWS, 1), np.round(REFERENCE, 1), {}),
}


def same_triples(found, expected):
    assert found.verdict == expected.verdict
    assert codes_of(found) == codes_of(expected)
    for name in expected.rows.dtype.names:
        mine, theirs = found.rows[name], expected.rows[name]
        if mine.dtype.kind == "f":
            # the processor computes in single precision
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=5e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


TABLES = {
    "no ties": FOUR,
    "ties": np.round(FOUR, 1),
    "some have ties": np.concatenate([np.round(FOUR[..., :2]), FOUR[..., 2:]], axis=2),
    "perfect": PERFECT,
    "odd number of rows": FOUR[0, :37],
    "two rows": FOUR[0, :2],
}


def score(x):
    return 0.1 * np.cos(x) - x


KERNELS = {
    "one dimension": (1, {}),
    "two, all pairs": (2, {"statistic": "v"}),
    "two, another kernel": (2, {"c": 0.5, "beta": -0.3}),
    "five": (5, {"iid": True}),
    "five, another kernel": (5, {"c": 2.0, "beta": -0.7, "statistic": "v"}),
    "thirty": (30, {}),
    "wild bootstrap of chains": (2, {"bootstrap": 19, "rng": 1}),
    "wild bootstrap": (30, {"bootstrap": 19, "rng": 1, "iid": True}),
}
COPULAS = {
    "ranks": {},
    "all pairs": {"statistic": "v"},
    "known margins": {"margins": "uniform"},
    "unit square": {"space": "unit"},
    "wild bootstrap": {"bootstrap": 19, "rng": 2},
    "parametric bootstrap": {"bootstrap": 19, "rng": 2, "iid": True},
}


def same_stein(found, expected):
    """To twelve digits of kernels of order 1, of which values may be differences; the bootstrap has the same samples."""
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.se, expected.se, rtol=1e-9)
    np.testing.assert_array_equal(found.pvalue, expected.pvalue)
    assert found.method == expected.method
