"""Influence values against their definition: the change of an estimate when the weight of one draw increases."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, root

import copula_discrepancy as cd
from benchmarks.inference import ar_chains
from copula_discrepancy.estimate.influence import rank_bias
from tests.caveat_codes import warned
from tests.refusals import refused

STEP = 1e-4  # of a weight; central differences of smooth functions of it are then exact to 1e-7


def by_definition(estimate, n):
    """n times the derivative of a weighted estimate in each weight, at equal weights: the infinitesimal jackknife."""
    derivatives = np.empty(n)
    for i in range(n):
        up, down = np.ones(n), np.ones(n)
        up[i] += STEP
        down[i] -= STEP
        derivatives[i] = (estimate(up) - estimate(down)) / (2 * STEP)
    return n * derivatives


def weighted_tau(x, y, weights):
    signs_x, signs_y = (np.sign(np.subtract.outer(column, column)) for column in (x, y))
    products = np.multiply.outer(weights, weights)
    total = np.sum(products * signs_x * signs_y)
    return total / np.sqrt(np.sum(products * signs_x**2) * np.sum(products * signs_y**2))


def weighted_ranks(column, weights):
    """Mid-ranks over n + 1 where draw k counts weights[k] times."""
    below = np.less.outer(column, column) + 0.5 * np.equal.outer(column, column)  # [k, j]: what k adds to the rank of j
    n = column.size
    return (0.5 + n * (weights @ below) / np.sum(weights)) / (n + 1)


def sample(ties, n=40, truth=None):
    draws = (truth or cd.Gumbel(2.0)).sample(n, rng=1)
    return np.round(draws * 8) / 8 if ties else draws


@pytest.mark.parametrize("ties", [False, True], ids=["no ties", "ties"])
def test_tau_against_the_definition(ties):
    x, y = sample(ties).T
    fitted = cd.fit(np.column_stack([x, y]), "gumbel")
    assert weighted_tau(x, y, np.ones(x.size)) == pytest.approx(fitted.sample_tau, rel=1e-14)
    truth = by_definition(lambda weights: weighted_tau(x, y, weights), x.size)
    np.testing.assert_allclose(fitted.influence["tau"][0], truth, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True], ids=["no ties", "ties"])
@pytest.mark.parametrize(
    ("family", "truth"),
    [
        ("gumbel", None), ("clayton", None), ("frank", None), ("joe", None), ("a1", cd.Gumbel(3.0)), ("a2", cd.Gumbel(4.0)),
        ("gaussian", None), (cd.StudentT(0.5, 4.0), None), ("clayton180", None), ("clayton90", cd.Frank(-5.0)),
        ("gumbel270", cd.Frank(-5.0)),
    ],
    ids=str,
)  # fmt: skip
def test_theta_against_the_definition(family, truth, ties):
    """The weighted likelihood, with weighted ranks, is maximised again for every weight."""
    draws = sample(ties, truth=truth)
    fitted = cd.fit(draws, family)
    template = fitted.template

    def estimate(weights):
        u, v = (weighted_ranks(column, weights) for column in draws.T)

        def slope(theta):
            return float(np.sum(weights * template.with_theta(theta).score(u, v)))

        return brentq(slope, fitted.theta - 0.05, fitted.theta + 0.05, xtol=1e-14, rtol=1e-14)

    expected = by_definition(estimate, len(draws))
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(fitted.influence["theta"][0], expected, atol=1e-5 * scale)
    slope = (template.with_theta(fitted.theta + 1e-5).tau - template.with_theta(fitted.theta - 1e-5).tau) / 2e-5
    np.testing.assert_allclose(fitted.influence["tau_fitted"][0], slope * expected, atol=1e-5 * scale * abs(slope))


def test_theta_and_df_together_against_the_definition():
    draws = cd.StudentT(0.5, 3.0).sample(40, rng=4)
    fitted = cd.fit(draws, "studentt")

    def estimate(weights):
        u, v = (weighted_ranks(column, weights) for column in draws.T)

        def gradient(place):
            rho, df = place
            steps = [(1e-4, 0.0), (0.0, 1e-3)]
            return [
                float(np.sum(weights * (cd.StudentT(rho + a, df + b).logpdf(u, v) - cd.StudentT(rho - a, df - b).logpdf(u, v))))
                / (2 * (a + b))
                for a, b in steps
            ]

        return root(gradient, [fitted.theta, fitted.df], tol=1e-13).x

    both = np.array(
        [estimate(np.ones(40) + STEP * np.eye(40)[i]) - estimate(np.ones(40) - STEP * np.eye(40)[i]) for i in range(40)]
    )
    expected = 40 * both / (2 * STEP)
    found = np.column_stack([fitted.influence["theta"][0], fitted.df_influence[0]])
    # the test's own differences in rho and df are exact to about 1e-5
    scale = np.max(np.abs(expected), axis=0)
    np.testing.assert_allclose(found / scale, expected / scale, atol=2e-3)
    alone = cd.fit(draws, cd.StudentT(fitted.theta, fitted.df)).influence["theta"][0]
    assert np.max(np.abs(alone - found[:, 0])) > 0.01  # a known df would give other values


def test_known_margins_have_no_rank_terms():
    draws = cd.Clayton(2.0).sample(200, rng=2)
    fitted = cd.fit(draws, "clayton", margins="uniform")
    score, slope = fitted.copula.score(*draws.T), fitted.copula.score_slope(*draws.T)
    expected = (score - score.mean()) / -slope.mean()
    np.testing.assert_allclose(fitted.influence["theta"][0], expected, rtol=1e-9, atol=1e-9)
    ranked = cd.fit(draws, "clayton")
    assert np.std(ranked.influence["theta"]) > 1.1 * np.std(fitted.influence["theta"])


@pytest.mark.parametrize("method", ["mle", "moment"])
def test_gaps_are_linear_in_the_taus_and_means_are_zero(method):
    draws = cd.Clayton(2.0).sample(600, rng=3).reshape(3, 200, 2)
    result = cd.discrepancy(draws, cd.Gumbel(2.0), method=method)
    influence = result.influence
    np.testing.assert_allclose(influence["total"], influence["level"] + influence["shape"], atol=1e-13)
    np.testing.assert_array_equal(influence["level"], influence["tau"])
    for name, values in influence.items():
        assert values.shape == (3, 200)
        assert abs(values.mean()) < 1e-10 * max(1.0, np.abs(values).max()), name
    if method == "moment":
        assert not influence["shape"].any()


@pytest.mark.parametrize("target", [cd.Gumbel(2.5), cd.Gumbel(1.8)], ids=["weaker than the target", "stronger"])
def test_scores_move_as_their_influence_says(target):
    """CKL and CED are functions of theta: their influence is a slope, here by central differences, times theta's."""
    draws = cd.Gumbel(2.2).sample(500, rng=5)
    result = cd.discrepancy(draws, target)
    up, down = (cd.Gumbel(result.theta + h) for h in (1e-4, -1e-4))
    ckl_slope = (up.kl(target) - down.kl(target)) / 2e-4
    ced_slope = (abs(up.entropy() - target.entropy()) - abs(down.entropy() - target.entropy())) / 2e-4
    theta = result.influence["theta"]
    np.testing.assert_allclose(result.influence["ckl"], ckl_slope * theta, rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(result.influence["ced"], ced_slope * theta, rtol=1e-4, atol=1e-8)


def test_only_ranks_matter_and_order_does_not():
    draws = cd.Frank(5.0).sample(300, rng=6)
    plain = cd.fit(draws, "frank").influence
    moved = cd.fit(np.column_stack([np.exp(draws[:, 0]), draws[:, 1] ** 3]), "frank").influence
    shuffle = np.random.default_rng(1).permutation(300)
    shuffled = cd.fit(draws[shuffle], "frank").influence
    for name in ("tau", "theta"):
        np.testing.assert_array_equal(plain[name], moved[name])
        np.testing.assert_allclose(plain[name][0, shuffle], shuffled[name][0], rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
        min_size=4,
        max_size=60,
        unique_by=(lambda p: p[0], lambda p: p[1]),
    )
)
def test_the_influence_on_tau_is_bounded(points):
    """|IF| <= 4 without ties, for the tau that divides by n - 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)  # perfect dependence has influence values too, all 0
        influence = cd.fit(np.array(points, float), "frank", method="moment").influence["tau"]
    assert np.max(np.abs(influence)) <= cd.tau_influence_bound()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.floats(0.0, 1.0), st.sampled_from(["same", "opposite", "far"]))
def test_contamination_moves_tau_within_the_bound(seed, delta, kind):
    """tau of the mixture (1-delta) F + delta G of two discrete distributions, all pairs by brute force."""
    rng = np.random.default_rng(seed)
    own, foreign = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    foreign[:, 1] = {"same": foreign[:, 0], "opposite": -foreign[:, 0], "far": 100 + foreign[:, 1]}[kind]
    points = np.vstack([own, foreign])
    signs = np.prod(np.sign(points[:, None] - points[None]), axis=2)

    def tau(weights):
        return weights @ signs @ weights

    clean = np.repeat([1 / 30, 0.0], [30, 20])
    mixed = np.repeat([(1 - delta) / 30, delta / 20], [30, 20])
    assert abs(tau(mixed) - tau(clean)) <= cd.contamination_bound(delta) + 1e-12


def test_bounds_as_functions():
    assert cd.tau_influence_bound() == 4.0
    assert cd.contamination_bound(0.0) == 0.0
    assert cd.contamination_bound(1.0) == 2.0
    assert cd.contamination_bound(0.25) == pytest.approx(1.0 - 0.125)
    for bad in (-0.1, 1.1, np.nan, "half", True):
        with refused() as caught:
            cd.contamination_bound(bad)
        assert str(caught.value).startswith("delta ")
        assert str(caught.value).endswith(f"got {bad!r}")


@pytest.mark.slow
@pytest.mark.parametrize("truth", [cd.Gaussian.from_tau(0.3), cd.Gumbel.from_tau(0.3), cd.Frank.from_tau(0.6)], ids=str)
def test_the_bias_of_ranks_is_what_simulation_finds(truth):
    """500 samples of n = 100, where the bias is far from small; the sample's tau is unbiased and takes most of the noise."""
    n, replications = 100, 500
    rng = np.random.default_rng(8)
    gaps, biases = np.empty((2, replications))
    for k in range(replications):
        fitted = cd.fit(truth.sample(n, rng=rng), truth, iid=True)
        gaps[k] = fitted.tau - fitted.sample_tau
        biases[k] = fitted.tau_bias
    error = gaps.std() / np.sqrt(replications)
    assert abs(np.mean(gaps)) > 5 * error
    # ranks are most of the bias; the curvature of the likelihood, which is left out, is less than a quarter
    assert abs(np.mean(gaps - biases)) < 0.25 * abs(np.mean(gaps)) + 3.3 * error
    assert np.std(biases) < 0.3 * np.std(gaps)  # a correction, not noise


def test_a_bound_has_no_influence():
    with warned("family-bound"):
        fitted = cd.fit(cd.Frank(-5.0).sample(200, rng=1), "gumbel")
    assert np.isnan(fitted.influence["theta"]).all()
    assert np.isfinite(fitted.influence["tau"]).all()
    assert np.isnan(fitted.se)
    assert np.isfinite(fitted.estimates["tau"].se)


def test_the_bias_on_chains_follows_their_effective_draws():
    """300 runs of 4 x 500 draws, AR(1) coefficient 0.9: the ranks' noise is that of n_eff draws, and turns the bias around."""
    truth = cd.Gaussian.from_tau(0.6)
    rng = np.random.default_rng(20)
    gaps, biases = np.empty((2, 300))
    for k in range(300):
        fitted = cd.fit(ar_chains(truth, 0.9, rng), truth)
        gaps[k], biases[k] = fitted.tau - fitted.sample_tau, fitted.tau_bias
    deviation = gaps.std()
    assert abs(np.mean(gaps - biases)) < 0.2 * deviation  # the mean of 300 is known to 0.06 deviations
    assert np.mean(biases) < 0.0 < rank_bias(truth, 2000, 2000.0)  # for 2000 independent draws it is positive
