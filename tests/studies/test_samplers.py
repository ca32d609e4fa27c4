"""Chains against exact answers: compiled against plain, stationarity, known bias, divergence, and bad input."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import solve_discrete_lyapunov
from scipy.special import ndtr

import copula_discrepancy as cd
from copula_discrepancy._core.kernels import samplers as kernels
from copula_discrepancy.studies.samplers import (
    BimodalMixture,
    Chains,
    DivergenceError,
    GaussianTarget,
    MetaCopula,
    WellingTeh,
    metropolis,
    posterior,
    sghmc,
    sgld,
)
from copula_discrepancy.studies.samplers.posterior import tau_of_cells
from tests.numerals import numerals
from tests.refusals import refused

COPULAS = [
    cd.Gaussian(0.7),
    cd.Gaussian(-0.95),
    cd.Clayton(0.05),
    cd.Clayton(3.0),
    cd.Gumbel(1.05),
    cd.Gumbel(2.5),
    cd.Frank(0.3),
    cd.Frank(-5.0),
    cd.Frank(0.0),
    cd.Joe(1.01),
    cd.Joe(3.0),
    cd.A1(1.5),
    cd.A2(3.0),
    cd.StudentT(0.5, df=4.0),
    cd.StudentT(-0.8, df=1.0),
    cd.StudentT(0.3, df=5000.0),
    cd.Rotated(cd.Gumbel(2.0), 90),
    cd.Rotated(cd.Clayton(2.0), 180),
    cd.Rotated(cd.Joe(2.0), 270),
    cd.Rotated(cd.Frank(-3.0), 90),
]
NORMAL_3 = GaussianTarget([1.0, -2.0, 0.5], [[2.0, 0.6, 0.1], [0.6, 1.0, -0.3], [0.1, -0.3, 0.5]])
TARGETS = [BimodalMixture(), BimodalMixture(0.4, 0.3), NORMAL_3, WellingTeh(), *map(MetaCopula, COPULAS)]


def start_of(target, chains=2):
    return np.random.default_rng(5).uniform(-0.5, 0.5, (chains, target.d))


# ---- targets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_gradient_is_the_derivative_of_the_log_density(target):
    x = np.random.default_rng(1).normal(0.0, 1.2, (20, target.d))
    h = 1e-5
    steps = h * np.eye(target.d)
    differences = np.stack([(target.log_density(x + e) - target.log_density(x - e)) / (2 * h) for e in steps], axis=-1)
    # error of the difference: h^2 f'''/6 and 1e-16 |f|/h, both below 1e-8 of the scales met here
    np.testing.assert_allclose(target.gradient(x), differences, rtol=2e-6, atol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_compiled_density_and_gradient_are_the_plain_ones(target):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(0.0, 1.5, (50, target.d)), rng.uniform(-8.0, 8.0, (50, target.d))])
    compiled = target._compiled()
    np.testing.assert_allclose(kernels.log_densities(*compiled, x), target.log_density(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernels.gradients(*compiled, x), target.gradient(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("copula", COPULAS, ids=repr)
def test_meta_copula_is_the_copula_at_normal_probabilities(copula):
    z = np.random.default_rng(3).uniform(-3.0, 3.0, (50, 2))
    u = ndtr(z)
    target, density = MetaCopula(copula), stats.norm.logpdf(z).sum(axis=1)
    np.testing.assert_allclose(target.log_density(z), copula.logpdf(*u.T) + density, rtol=1e-11, atol=1e-11)
    expected = np.stack(copula.gradient(*u.T), axis=1) * stats.norm.pdf(z) - z
    np.testing.assert_allclose(target.gradient(z), expected, rtol=1e-8, atol=1e-8)  # 1 - u has lost four digits at z = 3


def test_meta_copula_ends_at_25_normal_scores():
    target = MetaCopula(cd.Gumbel(2.0))
    z = np.array([[26.0, 0.0], [0.0, np.nan], [0.0, 1.0]])
    assert target.log_density(z)[0] == -np.inf
    assert np.isnan(target.log_density(z)[1])
    assert np.isnan(target.gradient(z)[0]).all()
    assert np.isfinite(target.gradient(z)[2]).all()
    assert np.shape(target.log_density([0.0, 0.0])) == ()


def test_kendalls_tau_of_targets_against_their_draws():
    for target in (BimodalMixture(), BimodalMixture(0.3, 0.2), GaussianTarget([0, 1], [[1.0, 0.5], [0.5, 2.0]]), WellingTeh()):
        x = target.sample(40_000, rng=4)
        # the standard error of tau from 40000 independent draws is below 0.0034 (variance at most 2 (1 - tau^2)/n)
        assert cd.kendall_tau(x[:, 0], x[:, 1]) == pytest.approx(target.tau, abs=0.012), target
    assert BimodalMixture(0.3, 0.2).tau == pytest.approx(0.5 * math.erf(0.3 / math.sqrt(0.2)) ** 2, rel=1e-15)


@pytest.mark.parametrize("target", [BimodalMixture(0.7, 0.2), NORMAL_3], ids=repr)
def test_exact_draws_have_the_log_density(target):
    """Under the density E[gradient] = 0 and E[x . gradient] = -d; both fail for draws from elsewhere."""
    x = target.sample(40_000, rng=6)
    g = target.gradient(x)
    for values, expected in ((g, 0.0), (np.sum(x * g, axis=1)[:, None], -target.d)):
        error = np.abs(values.mean(axis=0) - expected) / (values.std(axis=0) / 200.0)
        assert error.max() < 4.5  # p = 7e-6 each


def test_welling_teh_draws_against_quadrature():
    target = WellingTeh()
    axis_1, axis_2 = np.linspace(-4.0, 5.0, 181), np.linspace(-5.5, 5.5, 221)  # another grid, spectrally accurate
    grid = np.stack(np.meshgrid(axis_1, axis_2, indexing="ij"), axis=-1)
    p = np.exp(target.log_density(grid.reshape(-1, 2)).reshape(grid.shape[:2]) + 200.0)
    p /= p.sum()
    x = target.sample(40_000, rng=7)
    for f in (
        lambda t: t[..., 0],
        lambda t: t[..., 1],
        lambda t: t[..., 0] ** 2,
        lambda t: np.cos(3.0 * t[..., 0] * t[..., 1]),
    ):
        mean = np.sum(p * f(grid))
        error = math.sqrt(np.sum(p * (f(grid) - mean) ** 2) / 40_000)
        assert abs(f(x).mean() - mean) < 4.0 * error
    density, coarse = tau_of_cells(p), tau_of_cells(p[::2, ::2])
    assert target.tau == pytest.approx((4 * density - coarse) / 3, abs=2e-5)  # h^4 terms of this coarser grid
    # the ridge between the modes: the bounds of all cells hold at random points inside them
    cells = target._grid
    pick = np.random.default_rng(0).integers(len(cells.nodes), size=5000)
    inside = cells.nodes[pick] + cells.half * np.random.default_rng(1).uniform(-1, 1, (5000, 2))
    assert (target.log_density(inside) <= cells.bound[pick]).all()
    edge = np.exp(cells.log_density - cells.log_density.max()).reshape(257, 257)
    assert max(edge[0].max(), edge[-1].max(), edge[:, 0].max(), edge[:, -1].max()) < math.exp(-40.0)


def test_bound_of_a_cell_holds_at_the_saddle_between_the_modes():
    target = WellingTeh(np.concatenate([np.full(50, -3.0), np.full(50, 3.0)]))
    saddle = np.array([0.0, 0.0])  # both components in the middle: symmetry makes the first derivatives vanish
    gradient = target.gradient(saddle)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)
    for size in (0.01, 0.1, 0.5):
        half = np.array([size, 2.0 * size])
        axes = [np.linspace(-h, h, 41) for h in half]
        cell = np.stack(np.meshgrid(*axes), axis=-1)
        rise = (target.log_density(cell) - target.log_density(saddle)).max()
        assert rise > 0.0  # the slope alone would be no bound
        assert rise <= target._bounded(saddle[None], half)[1][0]


def test_tau_of_cells_of_a_normal_density():
    axis = np.linspace(-9.0, 9.0, 257)
    density = GaussianTarget([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]]).log_density(np.stack(np.meshgrid(axis, axis), axis=-1))
    p = np.exp(density)
    tau = (4.0 * tau_of_cells(p) - tau_of_cells(p[::2, ::2])) / 3.0
    assert tau == pytest.approx(2.0 / math.pi * math.asin(0.6), abs=1e-6)  # h = 0.07 standard deviations: h^4/24


def test_welling_teh_minibatches_are_unbiased_and_small():
    target = WellingTeh(batch=5)
    rng, x = np.random.default_rng(8), np.array([0.3, 0.8])
    draws = np.stack([target.stochastic_gradient(x, rng) for _ in range(4000)])
    error = (draws.mean(axis=0) - target.gradient(x)) / (draws.std(axis=0) / math.sqrt(4000))
    assert np.abs(error).max() < 4.0
    assert draws.std(axis=0).min() > 1.0
    assert np.array_equal(WellingTeh().stochastic_gradient(x, rng), target.gradient(x))
    assert np.array_equal(WellingTeh().data, target.data)
    assert not np.array_equal(WellingTeh(rng=1).data, target.data)


def test_margins_map_there_and_back():
    target = MetaCopula(cd.Clayton(2.0), (stats.expon(scale=2.0), stats.t(3.0)))
    z = np.array([[-8.0, 8.0], [0.0, -1.0], [8.0, 0.3]])
    np.testing.assert_allclose(target.from_draws(target.to_draws(z)), z, rtol=1e-10, atol=1e-12)
    assert target.to_draws(z)[2, 0] == pytest.approx(2.0 * -math.log(ndtr(-8.0)), rel=1e-13)  # no digits lost in the upper tail
    x = target.sample(4000, rng=1)
    for k, margin in enumerate(target.margins):
        assert stats.kstest(x[:, k], margin.cdf).pvalue > 1e-4
    names = {"MetaCopula": MetaCopula, "Clayton": cd.Clayton, "expon": stats.expon, "t": stats.t}
    again = eval(repr(target), names)  # what it shows makes it again
    assert again.copula == target.copula
    np.testing.assert_array_equal(again.to_draws(z), target.to_draws(z))


# ---- compiled and plain -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [TARGETS[0], NORMAL_3, TARGETS[3], *map(MetaCopula, COPULAS[5:14])], ids=repr)
def test_compiled_chains_are_the_plain_chains(target):
    start, common = start_of(target), {"n_draws": 40, "burn_in": 7, "thin": 3, "rng": 11}
    pairs = [
        (metropolis(target, start, scale=0.7, **common), metropolis(target.log_density, start, scale=0.7, **common)),
        (sgld(target, start, step=0.01, **common), sgld(target.gradient, start, step=0.01, vectorized=True, **common)),
        (
            sghmc(target, start, step=0.05, friction=2.0, **common),
            sghmc(target.gradient, start, step=0.05, friction=2.0, **common),
        ),
    ]
    for compiled, plain in pairs:
        np.testing.assert_allclose(compiled.values, plain.values, rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(pairs[0][0].acceptance, pairs[0][1].acceptance)


def test_minibatches_are_the_same_compiled_and_plain():
    target = WellingTeh(batch=7)
    start = [[0.0, 1.0], [1.0, -1.0]]
    for sampler, settings in ((sgld, {"step": 0.005}), (sghmc, {"step": 0.02, "friction": 3.0})):
        compiled = sampler(target, start, n_draws=60, burn_in=0, rng=3, **settings)
        plain = sampler(target.stochastic_gradient, start, n_draws=60, burn_in=0, rng=3, **settings)
        full = sampler(WellingTeh(), start, n_draws=60, burn_in=0, rng=3, **settings)
        np.testing.assert_allclose(compiled.values, plain.values, rtol=1e-9, atol=1e-10)
        assert np.abs(compiled.values - full.values).max() > 0.01


def test_families_without_a_compiled_form_run_all_the_same():
    target = MetaCopula(cd.StudentT(0.5, df=0.5))
    assert target._compiled() is None
    run = metropolis(target, start_of(target), scale=1.0, n_draws=30, burn_in=0, rng=0)
    assert 0.1 < run.acceptance.mean() < 0.95
    assert sgld(target, start_of(target), step=0.01, n_draws=30, burn_in=0, rng=0).values.shape == (2, 30, 2)


def test_blocks_leave_no_trace(monkeypatch):
    from copula_discrepancy.studies.samplers import run

    target, settings = WellingTeh(batch=3), {"n_draws": 33, "burn_in": 10, "thin": 4, "rng": 2}
    whole = sgld(target, [0.0, 1.0], step=0.005, **settings)
    accepted = metropolis(target, [0.0, 1.0], scale=0.3, **settings)
    monkeypatch.setattr(run, "_BLOCK_STEPS", 7)
    np.testing.assert_array_equal(sgld(target, [0.0, 1.0], step=0.005, **settings).values, whole.values)
    again = metropolis(target, [0.0, 1.0], scale=0.3, **settings)
    np.testing.assert_array_equal(again.values, accepted.values)
    np.testing.assert_array_equal(again.acceptance, accepted.acceptance)
    every = sgld(target, [0.0, 1.0], step=0.005, n_draws=142, burn_in=0, rng=2)
    np.testing.assert_array_equal(every.values[:, 13::4], whole.values)  # steps 14, 18, ..., 142


def test_a_chain_does_not_depend_on_the_others():
    target, start = WellingTeh(batch=5), np.array([[0.0, 1.0], [1.0, -1.0], [0.5, 0.0]])
    for sampler, settings in (
        (metropolis, {"scale": [0.3, 0.6]}),
        (sgld, {"step": 0.01}),
        (sghmc, {"step": 0.02, "friction": 2.0}),
    ):
        three = sampler(target, start, n_draws=50, burn_in=5, rng=9, **settings)
        two = sampler(target, start[:2], n_draws=50, burn_in=5, rng=9, **settings)
        np.testing.assert_array_equal(three.values[:2], two.values)
        assert not np.array_equal(three.values[0], three.values[1])
        source = np.random.default_rng(9)
        first, second = (sampler(target, start, n_draws=5, burn_in=0, rng=source, **settings).values for _ in range(2))
        assert not np.array_equal(first, second)


# ---- stationarity -------------------------------------------------------------------------------------------------------


def mean_error(values, expected):
    """Distance of a mean over chains from its expectation, in standard errors from 20 batches per chain."""
    batches = values.reshape(values.shape[0] * 20, -1).mean(axis=1)
    return abs(values.mean() - expected) / (batches.std(ddof=1) / math.sqrt(batches.size))


def test_metropolis_keeps_a_normal_target():
    run = metropolis(NORMAL_3, start_of(NORMAL_3, 4), scale=[1.5, 1.0, 0.8], n_draws=20_000, rng=1)
    assert ((run.acceptance > 0.2) & (run.acceptance < 0.6)).all()
    apart = run.values - NORMAL_3.mean
    for i in range(3):
        assert mean_error(apart[..., i], 0.0) < 4.0
        for j in range(i, 3):
            assert mean_error(apart[..., i] * apart[..., j], NORMAL_3.covariance[i, j]) < 4.0


def test_metropolis_keeps_a_copula_and_the_library_agrees():
    copula = cd.Gumbel(2.5)
    target = MetaCopula(copula, (stats.gamma(2.0), stats.cauchy()))
    run = metropolis(target, target.sample(4, rng=0), scale=1.0, n_draws=10_000, rng=3)
    found = cd.discrepancy(run, copula)
    assert found.total.pvalue > 0.001
    assert found.level.pvalue > 0.001
    assert cd.discrepancy(run, cd.Gumbel(2.0)).total.pvalue < 1e-3  # a wrong target is seen
    for k, margin in enumerate(target.margins):
        assert mean_error((run.values[..., k] < margin.ppf(0.9)).astype(float), 0.9) < 4.0


def test_sgld_has_its_known_bias():
    """On N(0, s) the chain is autoregressive, a = 1 - step/(2 s), and its variance step/(1 - a^2), not s."""
    s, step = 0.5, 0.4
    a = 1.0 - step / (2.0 * s)
    run = sgld(GaussianTarget([0.0], [[s]]), np.zeros((4, 1)), step=step, n_draws=40_000, rng=4)
    x = run.values[..., 0]
    variance = step / (1.0 - a**2)
    assert mean_error(x**2, variance) < 4.0
    assert mean_error(x**2, s) > 10.0
    assert mean_error(x[:, 1:-19] * x[:, :-20], a * variance) < 4.0


def sghmc_covariance(precision, step, friction):
    """Covariance of x under x' = x + step v, v' = (1 - step friction) v - step precision x' + noise, a linear recursion."""
    d = len(precision)
    eye, zero = np.eye(d), np.zeros((d, d))
    move = np.block([[eye, step * eye], [-step * precision, (1.0 - step * friction) * eye - step**2 * precision]])
    noise = np.block([[zero, zero], [zero, 2.0 * friction * step * eye]])
    return solve_discrete_lyapunov(move, noise)[:d, :d]


def test_sghmc_keeps_a_normal_target_up_to_its_known_bias():
    target = GaussianTarget([1.0, 0.0], [[1.0, 0.7], [0.7, 1.0]])
    precision = np.linalg.inv(target.covariance)
    expected = sghmc_covariance(precision, 0.3, 2.0)
    run = sghmc(target, np.zeros((4, 2)), step=0.3, friction=2.0, n_draws=20_000, rng=5)
    apart = run.values - target.mean
    for i in range(2):
        assert mean_error(apart[..., i], 0.0) < 4.0
        for j in range(i, 2):
            assert mean_error(apart[..., i] * apart[..., j], expected[i, j]) < 4.0
    # the recursion gives x1 - x2 a variance of 0.672, the target 0.6: a bias that this many draws show
    apart_squared = (apart[..., 0] - apart[..., 1]) ** 2
    assert mean_error(apart_squared, expected[0, 0] + expected[1, 1] - 2.0 * expected[0, 1]) < 4.0
    assert mean_error(apart_squared, 0.6) > 5.0
    small = sghmc_covariance(precision, 0.02, 2.0)
    np.testing.assert_allclose(small, target.covariance, rtol=1e-3)
    run = sghmc(target, np.zeros((4, 2)), step=0.02, friction=2.0, n_draws=10_000, thin=10, rng=6)
    assert mean_error(np.prod(run.values - target.mean, axis=2), small[0, 1]) < 4.0


def test_sgld_stays_in_one_mode_and_the_library_sees_it():
    run = sgld(BimodalMixture(), [[1.5, 1.5]], step=0.01, n_draws=5000, rng=0)
    assert run.values.min() > 0.0
    assert abs(cd.kendall_tau(*run.values[0].T)) < 0.15
    assert BimodalMixture().tau > 0.49


# ---- what goes wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [BimodalMixture(), BimodalMixture().gradient, MetaCopula(cd.Gumbel(3.0))], ids=str)
def test_divergence_says_where(target):
    start = [[0.0, 0.0], [0.1, 0.2]]
    with refused("infinite") as caught:
        sgld(target, start, step=50.0, rng=0)
    assert caught.value.chain in (0, 1)
    assert 1 <= caught.value.step_number <= 1500
    assert isinstance(caught.value, DivergenceError)
    with pytest.raises(DivergenceError):
        sghmc(target, start, step=5.0, friction=1.0, rng=0)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), vars(again)) == (str(caught.value), vars(caught.value))


def test_divergence_is_the_same_compiled_and_plain():
    target, places = BimodalMixture(), []
    for given in (target, target.gradient):
        with pytest.raises(DivergenceError) as caught:
            sgld(given, [[0.0, 0.0], [0.1, 0.2]], step=5.0, n_draws=3000, rng=0)
        places.append((caught.value.chain, caught.value.step_number))
    assert places[0] == places[1]


def test_a_gradient_that_is_not_finite_is_a_divergence():
    with pytest.raises(DivergenceError) as caught:
        sgld(lambda x: x * (np.nan if x[0] > 1 else 1.0), [[0.0], [2.0]], step=0.1)
    assert (caught.value.chain, caught.value.step_number) == (1, 1)


def test_log_densities_outside_the_support():
    run = metropolis(lambda x: -x[0] if x[0] > 0 else -np.inf, [[1.0]] * 2, scale=2.0, n_draws=8000, rng=0)
    assert run.values.min() > 0
    assert mean_error(run.values[..., 0], 1.0) < 4.0
    for bad in (np.nan, np.inf):
        with pytest.raises(DivergenceError) as caught:
            metropolis(lambda x, bad=bad: bad if x[0] > 1.5 else 0.0, [1.0], scale=2.0, rng=0)
        assert caught.value.chain == 0
    for bad in (np.nan, -np.inf, np.inf):
        with refused("infinite"):
            metropolis(lambda x, bad=bad: bad, [1.0], scale=2.0)


def flat(x):
    return 0.0


def zero(x):
    return 0.0 * x


GOOD = BimodalMixture()


@pytest.mark.parametrize(
    ("call", "named", "code"),
    [
        (lambda: sgld(GOOD, [0.0, 0.0], step=-1.0), "step", "argument"),
        (lambda: sgld(GOOD, [0.0, 0.0], step=True), "step", "argument"),
        (lambda: sgld(GOOD, [0.0, 0.0], step=np.nan), "step", "argument"),
        (lambda: sghmc(GOOD, [0.0, 0.0], step=0.1, friction=0.0), "friction", "argument"),
        (lambda: metropolis(GOOD, [0.0, 0.0], scale=0.0), "scale", "argument"),
        (lambda: metropolis(GOOD, [0.0, 0.0], scale=[1.0, -1.0]), "scale", "argument"),
        (lambda: metropolis(GOOD, [0.0, 0.0], scale=[1.0]), "scale", "shape"),
        (lambda: metropolis(GOOD, [0.0, 0.0], scale=True), "scale", "argument"),
        (lambda: metropolis(GOOD, [0.0, 0.0], scale="1"), "scale", "not-numeric"),
        (lambda: sgld(GOOD, [0.0, 0.0], step=0.1, n_draws=0), "n_draws", "argument"),
        (lambda: sgld(GOOD, [0.0, 0.0], step=0.1, n_draws=True), "n_draws", "argument"),
        (lambda: sgld(GOOD, [0.0, 0.0], step=0.1, burn_in=-1), "burn_in", "argument"),
        (lambda: sgld(GOOD, [0.0, 0.0], step=0.1, thin=1.5), "thin", "argument"),
        (lambda: sgld(GOOD, [0.0, 0.0], step=0.1, rng="x"), "rng", "argument"),
        (lambda: sgld(GOOD, [0.0, 0.0], step=0.1, vectorized=1), "vectorized", "argument"),
        (lambda: sgld(GOOD, [0.0, 0.0, 0.0], step=0.1), "start", "shape"),
        (lambda: sgld(GOOD, 0.0, step=0.1), "start", "shape"),
        (lambda: sgld(GOOD, np.empty((0, 2)), step=0.1), "start", "shape"),
        (lambda: sgld(GOOD, [0.0, np.inf], step=0.1), "start", "infinite"),
        (lambda: sgld(GOOD, ["a", "b"], step=0.1), "start", "not-numeric"),
        (lambda: sgld(3.0, [0.0, 0.0], step=0.1), "target", "argument"),
        (lambda: sgld(cd.Gumbel(2.0), [0.0, 0.0], step=0.1), "target", "argument"),
        (lambda: sgld(flat, [0.0, 0.0], step=0.1), "the gradient", "shape"),
        (lambda: sgld(lambda a, b, c: a, [0.0], step=0.1), "target", "argument"),
        (lambda: sgld(lambda x, *, k: x, [0.0], step=0.1), "target", "argument"),
        (lambda: sgld(lambda x: ["a"], [0.0], step=0.1), "the gradient", "not-numeric"),
        (lambda: metropolis(zero, [0.0, 0.0], scale=1.0), "the log density", "shape"),
        (lambda: metropolis(flat, [0.0, 0.0], scale=1.0, vectorized=True), "the log density", "shape"),
        (lambda: metropolis(lambda x, rng: 0.0, [0.0], scale=1.0), "target", "argument"),
        (lambda: BimodalMixture(-1.0), "centre", "argument"),
        (lambda: BimodalMixture(variance=0.0), "variance", "argument"),
        (lambda: GOOD.log_density([0.0, 0.0, 0.0]), "x", "shape"),
        (lambda: GOOD.sample(-1), "n", "argument"),
        (lambda: GaussianTarget([0.0], [[1.0, 0.0], [0.0, 1.0]]), "covariance", "shape"),
        (lambda: GaussianTarget([0.0, 0.0], [[1.0, 0.5], [0.4, 1.0]]), "covariance", "argument"),
        (lambda: GaussianTarget([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), "covariance", "argument"),
        (lambda: GaussianTarget([np.nan], [[1.0]]), "mean", "infinite"),
        (lambda: NORMAL_3.tau, "tau", "shape"),
        (lambda: WellingTeh([]), "data", "shape"),
        (lambda: WellingTeh([1.0, np.nan]), "data", "infinite"),
        (lambda: WellingTeh([1e9]), "data", "argument"),
        (lambda: WellingTeh(batch=0), "batch", "argument"),
        (lambda: MetaCopula(3.0), "copula", "argument"),
        (lambda: MetaCopula(cd.Gumbel(2.0), stats.norm()), "margins", "argument"),
        (lambda: MetaCopula(cd.Gumbel(2.0), (stats.norm(), stats.poisson(2.0))), "margin 1", "argument"),
        (lambda: MetaCopula(cd.Gumbel(2.0), (stats.gamma, stats.norm())), "margin 0", "argument"),
        (
            lambda: MetaCopula(cd.Gumbel(2.0), (stats.norm(0, -1), stats.norm())),
            "margin 0",
            "argument",
        ),
        (
            lambda: sgld(MetaCopula(cd.Gumbel(2.0), (stats.expon(), stats.norm())), [-1.0, 0.0], step=0.1),
            "draws",
            "argument",
        ),
    ],
)
def test_bad_input_is_one_clear_error(call, named, code):
    with refused(code) as caught:
        call()
    assert str(caught.value).startswith(named)


# ---- the result ---------------------------------------------------------------------------------------------------------


def test_chains_are_an_array():
    run = metropolis(GOOD, [[1.5, 1.5], [-1.5, -1.5]], scale=0.3, n_draws=20, rng=0)
    assert isinstance(run, Chains)
    assert (run.n_chains, run.n_draws, run.sampler, run.settings["scale"]) == (2, 20, "metropolis", 0.3)
    assert np.asarray(run) is run.values
    assert np.asarray(run, dtype=np.float32).dtype == np.float32
    copy = np.array(run)
    copy[0] = 0.0
    assert run.values[0].any()
    assert cd.as_draws(run).values.shape == (2, 20, 2)
    assert numerals(repr(run))[:3] == ["2", "20", "2"]  # chains, draws, variables
    for part in ("metropolis", repr(GOOD), "scale=0.3"):
        assert part in repr(run)
    with pytest.raises(ValueError, match="read-only"):
        run.values[0] = 1.0


def test_user_functions_get_their_own_copy_and_stream():
    def greedy(x, rng):
        x[:] = 1e9  # what a user does to its argument is the user's own business
        return rng.standard_normal(x.shape)

    one = sgld(greedy, [[0.0, 0.0], [0.0, 0.0]], step=0.1, n_draws=5, burn_in=0, rng=1)
    assert np.abs(one.values).max() < 10.0
    all_at_once = sgld(greedy, np.zeros((2, 2)), step=0.1, n_draws=5, burn_in=0, rng=1, vectorized=True)
    assert all_at_once.values.shape == (2, 5, 2)


def test_acceptance_counts_the_moves_after_burn_in():
    """From the path of a run without burn-in: the share of its later states that differ from the one before."""
    target = MetaCopula(cd.Gumbel(2.5))
    path = metropolis(target, np.zeros((2, 2)), scale=2.0, n_draws=70, burn_in=0, rng=3).values
    moved = np.any(path[:, 1:] != path[:, :-1], axis=2)
    run = metropolis(target, np.zeros((2, 2)), scale=2.0, n_draws=40, burn_in=30, rng=3)
    np.testing.assert_array_equal(run.values, path[:, 30:])
    np.testing.assert_allclose(run.acceptance, moved[:, 29:].mean(axis=1))
    counted = metropolis(target, np.zeros((2, 2)), scale=2.0, n_draws=np.uint8(40), burn_in=np.uint8(30), rng=3)
    np.testing.assert_array_equal(counted.acceptance, run.acceptance)


def test_a_vectorized_stochastic_gradient_has_a_stream_of_its_own():
    """Not a chain's: the same numbers for both would tie the minibatch to one chain's."""
    seen = {True: [], False: []}
    for vectorized, found in seen.items():

        def gradient(x, rng, found=found):
            found.append(float(rng.random()))
            return -x

        sgld(gradient, np.zeros((2, 2)), step=0.1, n_draws=3, burn_in=0, rng=1, vectorized=vectorized)
    assert len(seen[True]) == 3
    assert not set(seen[True]) & set(seen[False])


def test_exact_draws_of_a_copula_that_is_not_exchangeable():
    copula = cd.Rotated(cd.Clayton(3.0), 90)
    draws = MetaCopula(copula, (stats.expon(), stats.norm())).sample(4000, rng=1)
    result = cd.discrepancy(draws, copula, iid=True)
    assert min(result.level.pvalue, result.shape.pvalue) > 0.001
    assert {*result.tails} == {"low_low", "high_high", "low_high", "high_low"}
    assert (
        max(abs(gap.value) for gap in result.tails.values()) < 0.1
    )  # swapped variables have the tail in the other corner: 0.5


def test_a_posterior_too_narrow_for_the_grid_is_told():
    """A box is found, and the cells in it are too coarse."""
    with refused():
        WellingTeh([100.0, -100.0]).sample(10, rng=1)


def test_a_posterior_too_narrow_for_the_search_is_told(monkeypatch):
    """The search ends at so many cells; at a sixteenth of them it ends two divisions earlier, in a sixteenth of the time."""
    assert posterior._MOST_CELLS == 2**22
    monkeypatch.setattr(posterior, "_MOST_CELLS", 2**18)
    with refused():
        WellingTeh([1e6, -1e6]).sample(10, rng=1)


def test_the_seed_of_the_data_is_no_attribute():
    assert not hasattr(WellingTeh(rng=5), "rng")


class Floor:
    """A discrete law in the dress of a continuous one."""

    def ppf(self, q):
        return np.floor(10 * np.asarray(q))

    cdf = logpdf = ppf


class Complex(Floor):
    def ppf(self, q):
        return np.asarray(q) + 1j


@pytest.mark.parametrize(
    ("margin", "named", "code"),
    [
        (Floor(), "margin 0", "argument"),
        (Complex(), "the quantiles", "not-numeric"),
        (stats.norm([0.0, 1.0], 1.0), "margin 0", "argument"),
        (stats.poisson(3.0), "margin 0", "argument"),
    ],
)
def test_margins_that_are_no_continuous_law(margin, named, code):
    with refused(code) as caught:
        MetaCopula(cd.Gumbel(2.0), (margin, stats.norm()))
    assert str(caught.value).startswith(named)


def test_settings_are_plain_numbers():
    run = metropolis(lambda x: -0.5 * x @ x, [0.0, 0.0], scale=np.float32(1.5), n_draws=3, burn_in=0, rng=1)
    assert type(run.settings["scale"]) is float
