"""The discrepancies: their algebra, their limits and what they say."""

import json
import math
import warnings

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare.wording import NO_GAP
from tests.caveat_codes import warned
from tests.compare.misuse import refused_naming


@pytest.mark.parametrize(
    "target",
    [cd.Gumbel(2.5), cd.Clayton(3.0), cd.Frank(7.0), cd.Joe(3.0), cd.A1(1.2), cd.A2(1.2), cd.Gaussian(0.8),
     cd.StudentT(0.8, 4.0), cd.Rotated(cd.Clayton(3.0), 180)],
    ids=repr,
)  # fmt: skip
def test_level_and_shape_add_up(target):
    result = cd.discrepancy(cd.Gumbel(2.3).sample(2000, rng=1), target)
    assert result.total.value == pytest.approx(result.level.value + result.shape.value, abs=1e-15)
    assert result.level.value == pytest.approx(result.tau - target.tau, abs=1e-15)
    assert result.shape.value == pytest.approx(result.tau_fitted - result.tau, abs=1e-15)
    assert result.cd == abs(result.total.value)
    assert result.cd_moment == abs(result.level.value)
    fitted = cd.fit(cd.Gumbel(2.3).sample(2000, rng=1), target)
    assert result.theta == fitted.theta
    assert result.ckl == fitted.copula.kl(target)
    assert result.ced == abs(fitted.copula.entropy() - target.entropy())
    assert result.n == 2000
    assert result.tau == fitted.sample_tau


def test_on_target_is_small_and_off_target_is_not():
    """The paper's first experiment at n = 10,000: mean CD 0.0028 on target, 0.082 off target (its published means)."""
    on = [cd.discrepancy(cd.Gumbel(2.5).sample(10_000, rng=seed), cd.Gumbel(2.5)).cd for seed in range(20)]
    off = [cd.discrepancy(cd.Clayton(3.0).sample(10_000, rng=seed), cd.Gumbel(2.5)) for seed in range(20)]
    assert np.mean(on) < 0.006
    assert min(result.cd for result in off) > 0.07
    # same tau: the strength is right, the shape is not
    assert np.mean([abs(result.level.value) for result in off]) < 0.01
    assert max(result.shape.value for result in off) < -0.07


def test_zero_when_the_fit_is_the_target():
    draws = cd.Clayton(2.0).sample(500, rng=2)
    target = cd.fit(draws, "clayton").copula
    result = cd.discrepancy(draws, target)
    assert result.total.value == result.ckl == result.ced == 0.0


def test_moment_method_has_no_shape():
    draws = cd.Clayton(3.0).sample(3000, rng=3)
    result = cd.discrepancy(draws, cd.Gumbel(2.5), method="moment")
    assert result.shape.value == 0.0
    assert result.cd == result.cd_moment
    assert result.theta == pytest.approx(1.0 / (1.0 - result.tau))


@pytest.mark.parametrize("method", ["mle", "moment"])
def test_tau_out_of_range_keeps_its_honest_gap(method):
    """Negative dependence against Gumbel(2.5): tau - 0.6 is about -1.1, not the -0.6 of the nearest member."""
    draws = cd.Frank(-5.0).sample(1000, rng=4)
    with pytest.warns(cd.DependenceWarning):
        result = cd.discrepancy(draws, cd.Gumbel(2.5), method=method)
    assert result.level.value == pytest.approx(cd.kendall_tau(*draws.T) - 0.6, abs=1e-15)
    assert result.cd_moment > 1.0
    assert result.fit.on_bound == "lower"
    assert result.warnings
    assert all(sentence in " ".join(repr(result).split()) for sentence in result.warnings)
    if method == "moment":
        assert result.total.value == result.level.value


def test_perfect_dependence_is_infinitely_far_in_the_shannon_view():
    x = np.linspace(0, 1, 40)
    with warned("perfect-dependence"):
        result = cd.discrepancy(np.column_stack([x, x**2]), cd.Gumbel(2.5))
    assert result.theta == np.inf
    assert result.total.value == pytest.approx(0.4)
    assert result.shape.value == 0.0
    assert result.ckl == result.ced == np.inf


def test_independence_is_an_ordinary_member():
    with pytest.warns(cd.DependenceWarning):
        result = cd.discrepancy(np.column_stack([np.arange(20.0), -np.arange(20.0)]), cd.Clayton(1.0))
    assert result.theta == 0.0
    assert result.ckl == pytest.approx(cd.Clayton(0.0).kl(cd.Clayton(1.0)))
    assert np.isfinite(result.ced)


def test_student_target_keeps_its_df_unless_asked():
    draws = cd.StudentT(0.6, 3.0).sample(3000, rng=5)
    target = cd.StudentT(0.6, 20.0)
    assert cd.discrepancy(draws, target).fit.df == 20.0
    free = cd.discrepancy(draws, target, estimate_df=True)
    assert 2.0 < free.fit.df < 4.5
    assert free.ckl == pytest.approx(free.fit.copula.kl(target))
    assert free.ckl > cd.discrepancy(draws, target).ckl  # heavier tails are part of the divergence now
    with refused_naming("argument", "estimate_df", "StudentT"):
        cd.discrepancy(draws, cd.Gumbel(2.0), estimate_df=True)


def test_monte_carlo_scores_are_the_papers_and_seeded():
    draws = cd.Gumbel(2.2).sample(2000, rng=6)
    target = cd.Gumbel(2.5)
    exact = cd.discrepancy(draws, target)
    noisy = cd.discrepancy(draws, target, shannon="monte_carlo", m=200_000, rng=7)
    again = cd.discrepancy(draws, target, shannon="monte_carlo", m=200_000, rng=7)
    assert (noisy.ckl, noisy.ced) == (again.ckl, again.ced)
    assert noisy.ckl != exact.ckl
    # standard deviations at m = 200,000: about 1e-4 for CKL, 2.5e-3 for CED
    assert abs(noisy.ckl - exact.ckl) < 1e-3
    assert abs(noisy.ced - exact.ced) < 1.2e-2
    assert noisy.total == exact.total


def test_values_do_not_depend_on_how_draws_are_cut_into_chains():
    draws = cd.Gumbel(2.0).sample(4000, rng=8)
    chains, flat = (cd.discrepancy(given, cd.Gumbel(2.0)) for given in (draws.reshape(4, 1000, 2), draws))
    assert (chains.cd, chains.ckl, chains.theta) == (flat.cd, flat.ckl, flat.theta)
    assert chains.influence["total"].shape == (4, 1000)
    assert chains.agreement.rhat != flat.agreement.rhat


def test_increasing_transforms_change_nothing():
    draws = cd.Gumbel(2.0).sample(1000, rng=9)
    moved = np.column_stack([np.exp(3 * draws[:, 0]), np.tan(draws[:, 1])])
    assert cd.discrepancy(draws, cd.Frank(5.0)).to_dict() == cd.discrepancy(moved, cd.Frank(5.0)).to_dict()


def test_result_is_readable_and_serialisable():
    result = cd.discrepancy(cd.Clayton(3.0).sample(1500, rng=10), cd.Gumbel(2.5))
    text = repr(result)
    for word in ("level", "shape", "total", "CKL", "CED", "Gumbel(theta=2.5)", "1500 draws", "p < 0.001", "n_eff", "R-hat"):
        assert word in text
    again = json.loads(json.dumps(result.to_dict()))
    assert again["level"]["value"] == result.level.value
    assert again["shape"]["ci"] == list(result.shape.ci)
    assert again["fit"]["theta"] == again["theta"]["value"] == result.theta
    assert again["target"] == "Gumbel(theta=2.5)"
    assert again["rhat"] == result.rhat
    assert "<table>" in result._repr_html_()
    assert float(result.level) == result.level.value


@pytest.mark.parametrize("reference", [False, True])
def test_shape_is_not_tested_with_two_values(reference):
    """Of equal samples of two values, 45% would be called wrong in shape."""
    rng = np.random.default_rng(1)
    normal = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=(2, 600))
    coins = np.where(np.arange(2) == 0, normal > 0, normal)
    target = coins[1] if reference else cd.Gaussian(0.5)
    with warned("few-values"):
        result = cd.discrepancy(coins[0], target, iid=True, **({"family": "gaussian"} if reference else {}))
    assert math.isfinite(result.level.pvalue)
    for name in ("shape", "total", "ckl", "ced"):
        assert math.isnan(result.estimates[name].pvalue)
        assert math.isnan(result.estimates[name].value)  # as in the row of a table
    assert not result.tests.beyond("shape")
    assert NO_GAP not in result.sentences()["Shape"]  # which nobody looked for
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        moment = cd.discrepancy(coins[0], target, iid=True, method="moment", **({"family": "gaussian"} if reference else {}))
        row = cd.pairwise(coins[0], target, iid=True, **({"family": "gaussian"} if reference else {}))
        again = row.pair("x0", "x1")
    assert math.isfinite(moment.total.pvalue)  # no likelihood is asked
    assert math.isnan(row[0].shape_pvalue)
    assert math.isnan(again.shape.pvalue)
    assert again.level.pvalue == pytest.approx(row[0].level_pvalue, rel=1e-3)
