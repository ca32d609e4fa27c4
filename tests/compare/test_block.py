"""The row of every pair against `discrepancy`, and the compiled loops, tables and screening behind it against other routes."""

import functools
import math
import warnings
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats
from scipy.special import stdtrit

import copula_discrepancy as cd
from copula_discrepancy._core import kernels
from copula_discrepancy.compare.block import Part, RankedTable
from copula_discrepancy.estimate.agreement import dependence_rhat
from copula_discrepancy.estimate.family_curves import _tau_bias, corner_share_at, divergence_at, tau_bias_at
from copula_discrepancy.estimate.influence import tau_influence
from copula_discrepancy.estimate.likelihood import student_part, with_df
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.screening import binned, screened_fit
from copula_discrepancy.estimate.selection import select_pair
from copula_discrepancy.estimate.tails import CORNERS, corner_share
from copula_discrepancy.families import candidates
from tests.pairwise_data import CORRELATIONS, autoregressive, clayton, gaussian, sticky, student

careful = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")

# ---- the rows --------------------------------------------------------------------------------------------------------

ROUNDING = 1e-9  # the same sums in another order: 1e-12, times what a variance of differences loses


def assert_same(gap, single):
    """Every number of a row is that of a `Discrepancy`; of p-values, those that no interpolated bias enters."""
    assert gap.family == single.fit.family
    assert gap.tau == single.tau
    assert gap.tau_target == single.tau_target
    np.testing.assert_equal(gap.df, math.nan if single.fit.df is None else single.fit.df)
    assert gap.theta == pytest.approx(single.fit.theta, rel=1e-10, abs=1e-12)  # both at the maximum, to 1e-12 of theta's scale
    target = single.target.theta
    assert gap.theta_target == pytest.approx(target, rel=1e-10, abs=1e-12)
    for name in ("level", "shape", "total"):
        estimate = single.estimates[name]
        assert getattr(gap, name) == pytest.approx(estimate.value, abs=1e-11)
        assert getattr(gap, f"{name}_se") == pytest.approx(estimate.se, rel=ROUNDING, nan_ok=True)
        if math.isnan(estimate.pvalue) or estimate.bias == 0.0:  # far out in t's tail rounding grows
            assert getattr(gap, f"{name}_pvalue") == pytest.approx(estimate.pvalue, rel=1e-6, nan_ok=True)
    for name in CORNERS:
        estimate = single.estimates.get(name)
        if estimate is None:
            assert math.isnan(getattr(gap, name))
            assert math.isnan(getattr(gap, f"{name}_se"))
        else:  # the family's share is interpolated: off by less than a hundredth of a standard error
            assert getattr(gap, name) == pytest.approx(
                estimate.value, abs=0.01 * estimate.se + 1e-6
            )  # an empty corner has next to none
            assert getattr(gap, f"{name}_se") == pytest.approx(estimate.se, rel=3e-3, abs=1e-6, nan_ok=True)
            assert getattr(gap, f"{name}_pvalue") == pytest.approx(estimate.pvalue, rel=0.05, abs=1e-12, nan_ok=True)
            shares = single.corners[name].share, single.corners[name].share_target
            assert getattr(gap, f"{name}_share") == pytest.approx(shares[0], rel=1e-12)
            assert getattr(gap, f"{name}_share_target") == pytest.approx(shares[1], abs=1e-3)
    assert gap.verdict == single.verdict
    if abs(single.tau) < 1.0:  # of perfect dependence the row has the effective number of ranks
        assert gap.n_eff == pytest.approx(single.fit.n_eff, rel=ROUNDING, nan_ok=True)
    assert gap.rhat == pytest.approx(single.agreement.rhat, rel=ROUNDING, nan_ok=True)
    theirs = math.nan if single.reference is None else single.reference.n_eff
    if abs(single.tau_target) < 1.0 or single.reference is None:
        assert gap.n_eff_target == pytest.approx(theirs, rel=ROUNDING, nan_ok=True)
    theirs = math.nan if single.reference_agreement is None else single.reference_agreement.rhat
    assert gap.rhat_target == pytest.approx(theirs, rel=ROUNDING, nan_ok=True)
    assert gap.ckl == pytest.approx(single.ckl, rel=5e-4, abs=1e-12, nan_ok=True)  # interpolated, to four digits


def bias_error(gap, single):
    """By how many standard errors the interpolated bias is off, seen through the p-values of shape and total."""
    errors = []
    for name in ("shape", "total"):
        estimate, pvalue = single.estimates[name], getattr(gap, f"{name}_pvalue")
        if estimate.bias != 0.0 and estimate.pvalue > 1e-100:
            expected = abs(estimate.value - estimate.bias) / estimate.se
            errors.append(abs(-float(stdtrit(estimate.df, 0.5 * pvalue)) - expected))
    return max(errors, default=0.0)


def both_ways(draws, target, **options):
    """All pairs at once, and one by one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        result = cd.pairwise(draws, target, n_jobs=1, **options)
        return [(gap, result.pair(*gap.names)) for gap in result]


@functools.cache
def sample(kind, seed):
    """Draws of three variables, dependent in both directions, strongly and weakly; of one size, so that they share tables."""
    return _sample(kind, np.random.default_rng(seed))[..., [0, 1, 3] if seed % 2 else [0, 2, 3]]


def _sample(kind, rng):
    if kind == "iid":
        return gaussian(rng, 400)
    if kind == "student":
        return student(rng, 400, 3.0)
    if kind == "clayton":
        return clayton(rng, 400, 4, 1.5, turned=(3,))
    if kind == "rounded":
        return np.round(gaussian(rng, 400), 1)
    if kind == "discrete":
        return np.round(gaussian(rng, 400))
    if kind == "metropolis":
        return sticky(rng, autoregressive(rng, 4, 100, 0.7), 0.6)
    n_chains = {"one chain": 1, "three chains": 3, "four chains": 4}[kind]
    return autoregressive(rng, n_chains, 201, 0.6)  # halves of an odd number of draws leave one out


KINDS = ("iid", "student", "clayton", "rounded", "discrete", "metropolis", "one chain", "three chains", "four chains")


def combinations(others):
    """Every kind of sample with every one of `others`, as independent draws or as chains in turn.

    How errors are computed and which copula is fitted know nothing of each other: each kind and each copula meets both.
    """
    return [
        pytest.param(kind, other, (i + j) % 2 == 0, id=f"{kind}-{name}")
        for i, kind in enumerate(KINDS)
        for j, (name, other) in enumerate(others.items())
    ]


@pytest.mark.parametrize(
    ("kind", "target", "iid"),
    combinations(
        {
            "Gumbel": cd.Gumbel(1.6), "Frank": cd.Frank(-2.0), "StudentT": cd.StudentT(0.4, 5.0),
            "Clayton90": cd.Rotated(cd.Clayton(0.8), 90), "correlations": CORRELATIONS[:3, :3],
        }
    ),
)  # fmt: skip
def test_rows_against_known_copulas(kind, target, iid):
    """Gumbel and Clayton cannot follow some of the pairs: their theta sits on a bound, without a test of shape."""
    for gap, single in both_ways(sample(kind, 1), target, iid=iid):
        assert_same(gap, single)


@pytest.mark.parametrize(
    ("kind", "family", "iid"),
    combinations(
        {"gumbel": "gumbel", "Gaussian": cd.Gaussian, "frank": "frank", "joe": "joe", "t3": cd.StudentT(0.5, 3.0), "auto": None}
    ),
)
def test_rows_against_a_reference(kind, family, iid):
    for gap, single in both_ways(sample(kind, 1), sample(kind, 3), family=family, iid=iid):
        if single.reference.regular or family is None:
            assert_same(gap, single)


@pytest.mark.parametrize("family", ["gumbel", "joe", "clayton"])
def test_rows_where_the_reference_asks_for_less_dependence_than_the_family_has(family):
    """Its copula is then independence, a member of the family still."""
    seen = 0
    for gap, single in both_ways(sample("iid", 1), sample("iid", 3), family=family, iid=True):
        seen += not single.reference.regular
        assert_same(gap, single)
    assert seen


@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("target", ["reference", "copula"])
def test_the_interpolated_bias_is_off_by_a_hundredth_of_a_standard_error(target, iid):
    """As `tabulated` says; p-values differ by less than 0.01 then."""
    worst = {}
    for kind in KINDS:
        aim, family = (sample(kind, 3), "gaussian") if target == "reference" else (cd.Frank(2.0), None)
        pairs = both_ways(sample(kind, 1), aim, family=family, iid=iid)
        worst[kind] = max(bias_error(*pair) for pair in pairs)
    assert max(worst.values()) < 0.01, worst


@pytest.mark.parametrize("kind", ["iid", "student", "four chains"])
def test_rows_with_estimated_degrees_of_freedom(kind):
    draws, reference = sample(kind, 5)[..., :2], sample(kind, 7)[..., :2]
    ((gap, single),) = both_ways(draws, reference, family="studentt")
    assert_same(gap, single)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)  # normal draws ask for an infinite df
        assert gap.df == cd.fit(reference, "studentt").df


@careful
def test_rows_of_a_fixed_family_are_those_without_its_help():
    """`Pairwise.pair` hands the row's own family on; here `discrepancy` finds it by itself."""
    draws, reference = sample("student", 9), sample("student", 11)
    result = cd.pairwise(draws, reference, family="frank", iid=True)
    assert_same(result["x0", "x2"], cd.discrepancy(draws[:, [0, 2]], reference[:, [0, 2]], family="frank", iid=True))
    result = cd.pairwise(draws, cd.Frank(3.0))
    assert_same(result["x1", "x0"], cd.discrepancy(draws[:, [0, 1]], cd.Frank(3.0)))


@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("target", ["reference", "copula", "correlations"])
def test_rows_by_moments(target, iid):
    aims = {"reference": sample("four chains", 8), "copula": cd.Gumbel(1.4), "correlations": CORRELATIONS[:3, :3]}
    options = {"family": "frank"} if target == "reference" else {}
    for gap, single in both_ways(sample("four chains", 9), aims[target], method="moment", iid=iid, **options):
        assert gap.total == gap.level
        assert gap.shape == 0.0
        assert math.isnan(gap.shape_pvalue)
        assert_same(gap, single)


def test_rows_of_long_plain_sequences():
    """From 1000 draws on the halves of a plain sequence are compared: in the draws, and in a reference."""
    rng = np.random.default_rng(10)
    for gap, single in both_ways(gaussian(rng, 1200)[:, :2], gaussian(rng, 1100)[:, :2], family="gaussian"):
        assert math.isfinite(gap.rhat)
        assert_same(gap, single)


def test_rows_of_many_short_chains_and_long_ones():
    rng = np.random.default_rng(11)
    for shape in ((40, 15), (2, 8200)):
        for gap, single in both_ways(gaussian(rng, shape)[..., :3], cd.Gaussian(0.3)):
            assert_same(gap, single)


def replaced(gap, **numbers):
    return replace(gap, numbers={**gap.numbers, **numbers})


@careful
def test_perfect_dependence():
    """What says always the same has no error of its own: the other side's is the gap's."""
    rng = np.random.default_rng(12)
    draws, reference = gaussian(rng, 400)[:, :2], gaussian(rng, 500)[:, :2]
    twins, opposites = np.column_stack([draws, np.exp(draws[:, 0])]), np.column_stack([draws, -draws[:, 0]])
    both = {"twin": twins, "opposite": opposites}
    plain = np.column_stack([reference, gaussian(rng, 500)[:, 2]])
    se = {"draws": cd.fit(draws[:, [0, 1]], "gaussian", iid=True).estimates["tau"].se}
    se["reference"] = cd.fit(plain[:, [0, 2]], "gaussian", iid=True).estimates["tau"].se
    for name, sample_ in both.items():
        sign = 1.0 if name == "twin" else -1.0
        gap = cd.pairwise(sample_, plain, iid=True)["x0", "x2"]
        single = cd.discrepancy(sample_[:, [0, 2]], plain[:, [0, 2]], family="gaussian", iid=True)
        assert gap.tau == sign
        assert gap.level == single.level.value == sign - cd.kendall_tau(plain[:, 0], plain[:, 2])
        assert gap.level_se == pytest.approx(se["reference"], rel=1e-12)
        assert gap.level_pvalue < 1e-10
        assert math.isnan(gap.total_pvalue) or gap.total_se > 0
        assert gap.ckl == math.inf == single.ckl
        turned = cd.pairwise(plain, sample_, iid=True)["x0", "x2"]
        assert turned.level == -gap.level
        assert turned.level_se == pytest.approx(se["reference"], rel=1e-12)
        for gap, single in both_ways(sample_, cd.Gaussian(0.5), iid=True):
            if abs(gap.tau) == 1.0:
                # 200 independent pairs of draws, each concordant with probability (1 + tau) / 2
                chance = (0.5 * (1.0 + gap.tau * cd.Gaussian(0.5).tau)) ** 200
                assert gap.level_pvalue == pytest.approx(chance, rel=1e-9, abs=0.0)
                gap = replaced(gap, level_pvalue=single.level.pvalue)
            assert_same(gap, single)
    alike = cd.pairwise(twins, np.column_stack([reference, reference[:, 0]]), iid=True)["x0", "x2"]
    assert alike.level == alike.shape == alike.total == 0.0
    assert math.isnan(alike.level_pvalue)
    assert alike.verdict == "not tested"
    unlike = cd.pairwise(twins, np.column_stack([reference, -reference[:, 0]]), iid=True)["x0", "x2"]
    assert unlike.level == 2.0


# ---- chains ----------------------------------------------------------------------------------------------------------


def walk(rng, n_chains, n_draws, phi):
    values = rng.standard_normal((n_chains, n_draws))
    for t in range(1, n_draws):
        values[:, t] = phi * values[:, t - 1] + math.sqrt(1.0 - phi**2) * values[:, t]
    return values


CHAINS = {
    f"{name} {shape}": walk(np.random.default_rng(k), *shape, phi)
    for k, (name, phi) in enumerate({"iid": 0.0, "AR(0.9)": 0.9, "AR(0.999)": 0.999, "antithetic": -0.9}.items())
    for shape in ((1, 1000), (4, 251), (3, 20), (2, 21), (1, 23), (7, 100))
}


@pytest.mark.parametrize("name", CHAINS)
def test_long_run_variance_is_arvizs(name):
    values = CHAINS[name]
    variance, long_run, n_eff, df = kernels.long_run(values, False)
    size = float(array_stats.ess(values, method="mean"))
    assert variance == pytest.approx(np.var(values, ddof=1), rel=1e-12)
    assert n_eff == pytest.approx(size, rel=1e-9)  # FFT against sums
    assert long_run == pytest.approx(variance * values.size / size, rel=1e-9)
    assert df == pytest.approx(max(size / 4.0, 1.0), rel=1e-9)


@pytest.mark.parametrize("phi", [0.0, 0.9, -0.9])
@pytest.mark.parametrize("shape", [(1, 8192), (2, 8193), (2, 12287), (1, 12288), (1, 20001)])
def test_long_chains_are_averaged_over_batches(shape, phi):
    values = walk(np.random.default_rng(5), *shape, phi)
    batch = shape[1] // 4096
    kept = shape[1] - shape[1] % batch
    means = values[:, :kept].reshape(shape[0], -1, batch).mean(axis=2)
    size = float(array_stats.ess(means, method="mean"))
    expected = batch * np.var(means, ddof=1) * means.size / size
    variance, long_run, n_eff, df = kernels.long_run(values, False)
    assert long_run == pytest.approx(expected, rel=1e-9)
    assert n_eff == pytest.approx(values.size * variance / expected, rel=1e-9)
    assert df == pytest.approx(min(size / 4.0, n_eff), rel=1e-9)


def test_draws_that_alternate_in_step_with_the_batches():
    values = np.tile([1.0, -1.0], 4096)[None]
    assert kernels.long_run(values, False)[2] == pytest.approx(float(array_stats.ess(values, method="mean")), rel=1e-9)


@pytest.mark.parametrize("shape", [(2, 4), (50, 10), (5, 19)])
def test_short_chains_vary_as_their_means_do(shape):
    values = walk(np.random.default_rng(6), *shape, 0.5)
    variance, long_run, n_eff, df = kernels.long_run(values, False)
    assert long_run == pytest.approx(shape[1] * np.var(values.mean(axis=1), ddof=1), rel=1e-12)
    assert n_eff == pytest.approx(values.size * variance / long_run, rel=1e-12)
    assert df == pytest.approx(max(min(shape[0] - 1.0, n_eff), 1.0), rel=1e-12)


@pytest.mark.parametrize("n_draws", [4, 5, 7, 10, 19])
@pytest.mark.parametrize("phi", [0.0, 0.8, -0.8])
def test_a_single_short_chain_is_never_better_than_independent(n_draws, phi):
    values = walk(np.random.default_rng(7), 1, n_draws, phi)
    expected = min(float(array_stats.ess(values, method="mean")), float(n_draws))
    assert kernels.long_run(values, False)[2] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("iid", [True, False])
def test_size_matters_not(iid):
    values = CHAINS["AR(0.9) (4, 251)"]
    expected = kernels.long_run(values, iid)
    for factor in (1e150, 1e-140):  # their squares are floats still
        found = kernels.long_run(factor * values, iid)
        np.testing.assert_allclose(found[:2], np.array(expected[:2]) * factor * factor, rtol=1e-12)
        np.testing.assert_allclose(found[2:], expected[2:], rtol=1e-12)
    for factor in (1e200, 1e-200):  # and here what has no unit
        np.testing.assert_allclose(kernels.long_run(factor * values, iid)[2:], expected[2:], rtol=1e-12)
    shifted = kernels.long_run(values + 1e3, iid)
    np.testing.assert_allclose(shifted, expected, rtol=1e-9)  # a mean a thousand times the spread costs three digits, squared


@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("value", [0.0, 1.0, -3e200, 1e-300, 0.1])
def test_constants_have_no_variance(value, iid):
    for shape in ((1, 50), (4, 30), (3, 5)):
        assert np.isnan(kernels.long_run(np.full(shape, value), iid)).all()
    assert kernels.split_rhat(np.full((2, 50), value)) == 1.0


@pytest.mark.parametrize("name", CHAINS)
def test_rhat_is_arvizs_of_halves(name):
    values = CHAINS[name]
    half = values.shape[1] // 2
    halves = np.vstack([values[:, :half], values[:, -half:]])
    assert kernels.split_rhat(values) == pytest.approx(float(array_stats.rhat(halves, method="identity")), rel=1e-12)
    for factor in (1e-140, 1e140):
        assert kernels.split_rhat(factor * values) == pytest.approx(kernels.split_rhat(values), rel=1e-12)


def test_rhat_at_its_ends():
    values = np.random.default_rng(8).standard_normal((4, 19))
    assert math.isnan(kernels.split_rhat(values))
    apart = np.repeat([[0.0], [1.0]], 40, axis=1)
    assert kernels.split_rhat(apart) == math.inf


# ---- Kendall's tau ---------------------------------------------------------------------------------------------------


def columns(seed, n, digits):
    values = gaussian(np.random.default_rng(seed), n)[:, [0, 3]]
    return values if digits is None else np.round(values, digits)


@pytest.mark.parametrize("digits", [None, 1, 0])
@pytest.mark.parametrize("n", [2, 3, 50, 1001])
def test_tau_and_influence(n, digits):
    values = columns(1, n, digits) if n > 3 else np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 2.0]])[:n]
    pair = RankedPair.from_draws(values)
    a, b = pair.first, pair.second
    tau, concordance, influence = kernels.tau_and_influence(a.order, a.rank, a.tied_pairs, b.order, b.rank, b.tied_pairs)
    assert tau == pytest.approx(stats.kendalltau(*values.T).statistic, rel=1e-12)
    signs = np.sign(np.subtract.outer(values[:, 0], values[:, 0]) * np.subtract.outer(values[:, 1], values[:, 1]))
    np.testing.assert_allclose(concordance, signs.sum(axis=1) / (n - 1), rtol=1e-15)
    np.testing.assert_allclose(influence, tau_influence(pair), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("digits", [None, 0])
def test_influence_is_the_derivative_of_tau(digits):
    """Add a share e of copies of one draw to the population: (tau(e) - tau(0))/e -> influence, up to terms of order e."""
    values = columns(2, 60, digits)
    pair = RankedPair.from_draws(values)
    a, b = pair.first, pair.second
    _, _, influence = kernels.tau_and_influence(a.order, a.rank, a.tied_pairs, b.order, b.rank, b.tied_pairs)
    n = len(values)
    dx, dy = (np.sign(np.subtract.outer(column, column)) for column in values.T)

    def tau(weights):
        """Tau-b of a population, and with n/(n-1) for each sum as a sample has no draw twice."""
        s, x, y = (weights @ part @ weights for part in (dx * dy, dx**2, dy**2))
        return s / math.sqrt(x * y)

    step = 1e-6
    for k in range(0, n, 7):
        shift = -np.full(n, 1 / n)
        shift[k] += 1.0
        up, down = (tau(np.full(n, 1 / n) + sign * step * shift) for sign in (1.0, -1.0))
        # the sample's sums leave each draw's pair with itself out: n/(n-1) in the concordances, and so in all of it
        assert influence[k] == pytest.approx((up - down) / (2 * step), abs=4.0 / (n - 1))


@pytest.mark.parametrize("n_chains", [1, 2, 5])
@pytest.mark.parametrize("kind", ["smooth", "ties", "stuck", "still"])
def test_dependence_rhat(n_chains, kind):
    rng = np.random.default_rng(3)
    chains = autoregressive(rng, n_chains, 60, 0.8)[..., :2]
    if kind == "ties":
        chains = np.round(chains)
    if kind == "stuck":
        chains[0] += 5.0
    if kind == "still":
        chains[0, :, 1] = 0.25
    draws = cd.as_draws(chains)
    pair = RankedPair.from_draws(draws) if not (kind == "still" and n_chains == 1) else None
    if pair is None:
        return
    (found,) = Part(RankedTable.of(draws), [(0, 1)], compare=True, iid=False).rhats
    assert found == pytest.approx(dependence_rhat(pair), rel=1e-12)
    if kind == "stuck" and n_chains > 1:
        assert found > 1.2


# ---- elliptical densities --------------------------------------------------------------------------------------------

THETAS = (0.0, 0.5, -0.7, 0.999, -0.999, 1.0 - 1e-9, -1.0 + 1e-9)
DEGREES = (0.0, 0.3, 1.0, 3.4, 30.0, 100.0)  # 0 stands for the Gaussian copula


def member(theta, nu):
    return cd.StudentT(theta, nu) if nu else cd.Gaussian(theta)


def quantiles(theta, nu):
    """Where a sample lies: on and beside the diagonal that theta points along, in the middle and in the tails."""
    u = np.array([1e-6, 0.01, 0.2, 0.5, 0.7, 0.999])
    a = stats.t.ppf(u, nu) if nu else stats.norm.ppf(u)
    sign = 1.0 if theta >= 0 else -1.0
    off = math.sqrt((1.0 - theta) * (1.0 + theta))
    x = np.concatenate([a, a, a, [0.3, -2.0]])
    y = np.concatenate([sign * a, sign * a + off, sign * a - 2.0 * off * (1.0 + np.abs(a)), [1.5, 4.0]])
    return x, y


def exact_log_density(nu, rho, a, b):
    """mpmath's, from the textbook formula, with quantiles a, b; without the constant in front."""
    q = (a**2 - 2 * rho * a * b + b**2) / (1 - rho**2)
    half = mpmath.log(1 - rho**2) / 2
    if nu == 0:
        return -half - (q - a**2 - b**2) / 2
    inside = (nu + mpmath.mpf(1)) / 2 * (mpmath.log(1 + a**2 / nu) + mpmath.log(1 + b**2 / nu))
    return -half - (nu + mpmath.mpf(2)) / 2 * mpmath.log(1 + q / nu) + inside


@pytest.mark.parametrize("nu", DEGREES)
@pytest.mark.parametrize("theta", THETAS)
def test_elliptical_scores_against_fifty_digits(theta, nu):
    x, y = quantiles(theta, nu)
    first, second = kernels.elliptical_scores(theta, nu, x, y)
    spread = (1.0 - theta) * (1.0 + theta)
    with mpmath.workdps(60):
        rho = mpmath.mpf(theta)
        for k in range(x.size):
            a, b = mpmath.mpf(x[k]), mpmath.mpf(y[k])
            step = (1 - abs(rho)) * mpmath.mpf("1e-15")
            up, here, down = (exact_log_density(nu, rho + s * step, a, b) for s in (1, 0, -1))
            slope, bend = float((up - down) / (2 * step)), float((up - 2 * here + down) / step**2)
            # relative to the terms that cancel: 1/(1-rho^2) times the (scaled) squares that enter, 1 at least
            r, m = _magnitude(theta, nu, x[k], y[k])
            assert first[k] == pytest.approx(slope, abs=1e-13 * m * r / spread)
            assert second[k] == pytest.approx(bend, abs=1e-13 * m * r / spread**2)


def _magnitude(theta, nu, a, b):
    spread = (1.0 - theta) * (1.0 + theta)
    residual = (a - b) + (1.0 - theta) * b if theta > 0 else (a + b) - (1.0 + theta) * b
    q = residual**2 / spread + b**2
    # |a b| and q in units of nu + q for t copulas; the weight in front of them
    return (1.0 + (q + abs(a * b)) / (nu + q if nu else 1.0)), (1.0 + 0.5 * (nu + 2.0) if nu else 1.0)


@pytest.mark.parametrize("nu", DEGREES)
@pytest.mark.parametrize("theta", THETAS)
def test_elliptical_mixed_against_fifty_digits(theta, nu):
    """Derivatives of the score in u and v; u = F(a), so du = f(a) da."""
    x, y = quantiles(theta, nu)
    constant = float(member(theta, nu)._log_margin_density(np.zeros(1))[0])
    in_u, in_v = kernels.elliptical_mixed(theta, nu, x, y, constant)
    spread = (1.0 - theta) * (1.0 + theta)
    with mpmath.workdps(120):  # quantiles at df = 0.3 reach 1e18
        rho = mpmath.mpf(theta)
        step_rho = (1 - abs(rho)) * mpmath.mpf("1e-15")
        for k in range(x.size):
            a, b = mpmath.mpf(x[k]), mpmath.mpf(y[k])
            density = [stats.t.logpdf(z, nu) if nu else stats.norm.logpdf(z) for z in (x[k], y[k])]
            for found, log_density, (da, db) in ((in_u[k], density[0], (1, 0)), (in_v[k], density[1], (0, 1))):
                step = mpmath.mpf("1e-20") * mpmath.sqrt(1 - rho**2)
                corner = {
                    (s, t): exact_log_density(nu, rho + s * step_rho, a + t * da * step, b + t * db * step)
                    for s in (1, -1) for t in (1, -1)
                }  # fmt: skip
                mixed = (corner[1, 1] - corner[1, -1] - corner[-1, 1] + corner[-1, -1]) / (4 * step * step_rho)
                slope = math.exp(-log_density)
                # b and theta q_a, both over 1 - rho^2, cancel next to the diagonal; in units of nu + q for t copulas
                size, weight = _mixed_magnitude(theta, nu, x[k], y[k])
                assert found == pytest.approx(float(mixed) * slope, rel=1e-11, abs=1e-12 * weight * size / spread * slope)


def _mixed_magnitude(theta, nu, a, b):
    spread = (1.0 - theta) * (1.0 + theta)
    ra, rb = ((p - s * q) + (1.0 - abs(theta)) * s * q for p, q, s in ((a, b, 1), (b, a, 1))) if theta > 0 else (
        (p + q) - (1.0 + theta) * q for p, q in ((a, b), (b, a))
    )  # fmt: skip
    size = 1.0 + abs(a) + abs(b) + 2.0 * (abs(ra) + abs(rb)) / spread
    if not nu:
        return size, 1.0
    q = ra**2 / spread + b**2
    return size / (nu + q) * (1.0 + (q + abs(a * b)) / (nu + q)), 0.5 * (nu + 2.0) * 2.0


@pytest.mark.parametrize("nu", DEGREES)
@pytest.mark.parametrize("theta", [0.0, 0.5, -0.7, 0.999, -0.999])
def test_elliptical_kernels_are_the_formulas(theta, nu):
    """The same functions of a matrix of quantiles go through NumPy."""
    copula = member(theta, nu)
    u = np.ascontiguousarray(copula.sample(500, rng=1).T)
    x, y = (np.ascontiguousarray(part) for part in copula._coordinates(u[0], 1.0 - u[0], u[1], 1.0 - u[1]))
    compiled, plain = copula._theta_derivatives(theta, x, y), copula._theta_derivatives(theta, x[None], y[None])
    for k in (0, 1):
        scale = 1.0 / ((1.0 - theta) * (1.0 + theta)) ** (k + 1)
        np.testing.assert_allclose(compiled[k], plain[k][0], rtol=1e-9, atol=1e-11 * scale * (1.0 + nu))
    compiled = copula._mixed_derivatives(theta, x, y, u[0], 1.0 - u[0], u[1], 1.0 - u[1])
    plain = copula._mixed_derivatives(theta, x[None], y[None], u[0], 1.0 - u[0], u[1], 1.0 - u[1])
    for k in (0, 1):
        size = np.max(np.abs(plain[k]))
        np.testing.assert_allclose(compiled[k], plain[k][0], rtol=1e-8, atol=1e-12 * size)
    value, first, second = copula._likelihood_sums(theta, *copula._prepare([(x, y)], x.size))
    assert value == pytest.approx(float(np.sum(copula._logpdf(theta, x, y))), rel=1e-11, abs=1e-9)
    score = copula._theta_derivatives(theta, x[None], y[None])
    for found, terms in ((first, score[0]), (second, score[1])):
        assert found == pytest.approx(float(np.sum(terms)), rel=1e-10, abs=1e-10 * float(np.sum(np.abs(terms))))


def test_products_of_many_factors_do_not_overflow():
    x = np.full(5000, 1e40)
    logs, _, _ = kernels.student_sums(0.0, 0.3, x, x)
    assert logs == pytest.approx(5000 * math.log1p(2e80 / 0.3), rel=1e-12)


# ---- tables ----------------------------------------------------------------------------------------------------------


def families(degrees=(1.0, 4.0, 25.0)):
    return [
        member
        for template, estimate_df in candidates()
        for member in ([with_df(template, df) for df in degrees] if estimate_df else [template])
    ]


# rotations are mirror images: one is enough where a table takes long
TABULATED = [member for member in families((1.0, 25.0)) if not member.name.endswith("0") or member.name == "Clayton90"]
TAUS = (0.03, 0.07, 0.13, 0.22, 0.37, 0.52, 0.78, 0.88, 0.93)


def taus_of(template):
    low, high = template.tau_range
    return [tau for size in TAUS for tau in (size, -size) if low + 1e-3 < tau < high]


def name_of(template):
    inner = student_part(template)
    return template.name if inner is None else f"{template.name} df={inner.df:g}"


@pytest.mark.parametrize("template", families(), ids=name_of)
def test_corner_shares_between_the_nodes(template):
    """To a hundredth of a standard error of 10^4 independent draws, sqrt(p (1-p)/n), and the slope to a thousandth."""
    for tau in taus_of(template):
        for corner in CORNERS.values():
            for p, q in ((0.1, 0.1), (0.0987, 0.1)):
                share, slope = corner_share_at(template, tau, corner, p, q, 4000)
                expected, expected_slope = corner_share(template, tau, corner, p, q)
                assert share == pytest.approx(expected, abs=0.01 * math.sqrt(expected * (1.0 - expected) / 1e4))
                # four digits; of a corner that hardly any draw reaches, its logarithm to a twentieth is more than counts use
                assert share == pytest.approx(expected, rel=5e-4 if expected > 0.01 else 0.05)
                assert slope == pytest.approx(expected_slope, rel=1e-3, abs=3e-4)


@pytest.mark.parametrize("template", families((1.0, 25.0)), ids=name_of)
def test_divergences_between_the_nodes(template):
    """Four digits, for members close together, far apart and beyond what is tabulated."""
    low, high = template.tau_range
    for tau in taus_of(template):
        for step in (1e-4, 0.02, -0.07, 0.3):
            if not (low + 1e-3 < tau + step < high - 1e-3):
                continue
            a, b = (template.with_theta(template._theta_from_tau(t)) for t in (tau, tau + step))
            assert divergence_at(template, tau, tau + step) == pytest.approx(a.kl(b), rel=5e-4), (tau, step)
        assert divergence_at(template, tau, tau) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("share", [1.0, 0.7, 0.1])
@pytest.mark.parametrize("template", TABULATED, ids=name_of)
def test_bias_between_the_nodes(template, share):
    """The module says: off by less than a hundredth of a standard error, of the shape gap that it corrects."""
    worst = 0.0, ""
    for tau in (tau for tau in taus_of(template) if abs(tau) in (0.22, 0.52, 0.88)):
        spread = shape_spread(template, tau)
        n, n_eff = 200, 200 * share
        off = abs(tau_bias_at(template, tau, n, n_eff) - _tau_bias(template, tau, n, n_eff))
        if spread is not None:
            worst = max(worst, (off / (spread / math.sqrt(n_eff)), f"tau={tau}"))
    assert worst[0] < 0.01, worst


@functools.cache
def shape_spread(template, tau):
    """Standard deviation of the shape gap's influence at the truth; None where the fit sits on a bound."""
    truth = template.with_theta(template._theta_from_tau(tau))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        fitted = cd.fit(truth.sample(1000, rng=1), template, iid=True)
    return float(np.std(fitted.influence["shape"])) if fitted.regular else None


# ---- the choice of a family ------------------------------------------------------------------------------------------

TRUTHS = [
    cd.Clayton(1.0), cd.Clayton(8.0), cd.Gumbel(1.5), cd.Frank(4.0), cd.Frank(-3.0), cd.Joe(2.0), cd.A1(2.0), cd.A2(2.0),
    cd.Gaussian(-0.5), cd.Gaussian(0.9), cd.StudentT(0.4, 3.4), cd.StudentT(-0.6, 8.0), cd.StudentT(0.7, 1.2),
    cd.StudentT(0.5, 0.6), cd.Rotated(cd.Clayton(2.0), 90), cd.Rotated(cd.Gumbel(2.0), 180), cd.Rotated(cd.Joe(1.8), 270),
]  # fmt: skip


def screened(values, taus=None, *, iid=True):
    pair = RankedPair.from_draws(values)
    return screened_fit(
        pair, (binned(pair.first), binned(pair.second)), taus or (pair.tau, pair.tau), iid=iid, refine=True
    ), pair


@pytest.mark.parametrize(("n", "samples"), [(300, 4), (2000, 2)])
@pytest.mark.parametrize("truth", TRUTHS, ids=str)
def test_the_choice_is_as_good_as_that_among_all(truth, n, samples):
    """AIC within 4 of the best of all: fewer finalists, or a smaller margin, miss that in some, degrees of the grid in others.

    The finalists are those within 3 of the best binned log-likelihood, and degrees of freedom come from a grid; Burnham and
    Anderson (2002) find considerably less support only from 4 on.
    """
    rng = np.random.default_rng(13)
    for _ in range(samples):
        found, pair = screened(truth.sample(n, rng=rng))
        best = select_pair(pair, iid=True)
        aic = 2.0 * (1.0 if found.df is None else 2.0) - 2.0 * found.log_likelihood
        assert aic - best.aic[0] < 4.0, (found.family, found.df, best.best.family, best.best.df)
        assert aic >= best.aic[0] - 1e-6


def test_weak_dependence_is_seen_through_elliptical_families():
    rng = np.random.default_rng(14)
    one_sided = ("Clayton", "Gumbel", "Joe", "A1", "A2", "Frank")
    for k in range(40):
        tau = rng.uniform(-0.099, 0.099)
        strong = cd.Clayton(2.0).sample(300, rng=rng) * (1.0, 1.0 if k % 2 else -1.0)
        found, pair = screened(strong, (tau, 0.5 if k % 2 else -0.5))
        assert not found.family.startswith(one_sided)
        weak, pair = screened(cd.Gaussian(math.sin(0.5 * math.pi * tau)).sample(300, rng=rng))
        assert abs(pair.tau) >= 0.1 or not weak.family.startswith(one_sided)


def test_families_have_both_samples_inside():
    """A sample of the other sign rules a family of one sign out."""
    values = cd.Clayton(2.0).sample(500, rng=15)
    assert screened(values)[0].family == "Clayton"
    assert screened(values, (-0.5, 0.5))[0].family in ("Gaussian", "StudentT", "Frank")


@pytest.mark.parametrize("levels", [2, 3, 6])
def test_discrete_values_have_no_student_tails(levels):
    rng = np.random.default_rng(16)
    for _ in range(10):
        values = np.floor(levels * cd.pseudo_observations(student(rng, 400, 2.0)[:, :2]))
        assert screened(values)[0].family != "StudentT"
    assert screened(student(rng, 1000, 2.0)[:, :2])[0].family == "StudentT"


def test_bins_are_sixteenths_of_the_ranks():
    values = np.random.default_rng(17).permutation(1000.0 + np.arange(999))
    pair = RankedPair.from_draws(np.column_stack([values, values]))
    bins = binned(pair.first)
    assert bins.min() == 0
    assert bins.max() == 15
    np.testing.assert_array_equal(bins, np.floor(16 * (stats.rankdata(values) - 0.5) / 999))
    tied = RankedPair.from_draws(np.column_stack([np.round(values / 300), values]))
    np.testing.assert_array_equal(binned(tied.first), np.floor(16 * (stats.rankdata(np.round(values / 300)) - 0.5) / 999))
