"""The bootstrap as a cross-check of the standard errors from influence values."""

import numpy as np
import pytest
from benchmarks.inference import ar_chains

import copula_discrepancy as cd

NAMES = ("tau", "theta", "tau_fitted", "level", "shape", "total")


def test_parametric_bootstrap_agrees_for_independent_draws():
    draws = cd.Gumbel(2.0).sample(500, rng=1)
    result = cd.discrepancy(draws, cd.Gumbel(2.2), iid=True)
    again = result.infer(method="bootstrap", replications=400, rng=2)
    for name in NAMES:
        own, other = result.estimates[name], again.estimates[name]
        assert other.value == own.value
        assert other.se == pytest.approx(own.se, rel=0.2)  # 400 replications: 3.5% of their own, the rest is the data's
        assert other.ci == pytest.approx(own.ci, abs=0.6 * own.se)
    # what ranks add to theta on average, by simulation and by quadrature
    assert again.total.bias == pytest.approx(result.total.bias, abs=4 * result.total.se / np.sqrt(400))
    for name in ("level", "shape", "total", "ckl", "ced"):
        assert abs(again.estimates[name].pvalue - result.estimates[name].pvalue) < 0.15
    assert again.estimates["ckl"].ci == pytest.approx(result.estimates["ckl"].ci, rel=0.5, abs=2e-3)
    assert again.inference == "bootstrap (parametric, 400 replications)"


def test_moving_blocks_agree_for_chains():
    target = cd.Gumbel(2.0)
    draws = ar_chains(target, 0.8, np.random.default_rng(5))
    result = cd.discrepancy(draws, target)
    again = result.infer(replications=300, rng=4)
    for name in NAMES:
        # blocks of finite length see a little less than the whole long-run variance
        assert 0.65 < again.estimates[name].se / result.estimates[name].se < 1.3, name
    naive = cd.discrepancy(draws, target, iid=True)
    assert again.level.se > 1.5 * naive.level.se
    single = result.infer(replications=300, rng=4, block=1)
    assert single.level.se < 0.7 * again.level.se  # one draw at a time: independence
    assert "blocks of 1," in single.inference


def test_wrong_families_are_found():
    result = cd.discrepancy(cd.Clayton(3.0).sample(400, rng=5), cd.Gumbel(2.5), iid=True).infer(replications=99, rng=6)
    assert result.shape.pvalue == pytest.approx(0.01)  # none of 99 is as far
    assert result.level.pvalue > 0.05
    assert "p = 0.01" in repr(result)


def test_a_reference_is_resampled_too():
    draws, reference = cd.Gumbel(2.0).sample(400, rng=7), cd.Gumbel(2.0).sample(400, rng=8)
    result = cd.discrepancy(draws, reference, family="gumbel", iid=True)
    assert result.infer(replications=300, rng=9).total.se == pytest.approx(result.total.se, rel=0.2)


def test_the_same_seed_gives_the_same_numbers():
    result = cd.discrepancy(cd.Gumbel(2.0).sample(300, rng=10), cd.Gumbel(2.0))
    first, second, third = (result.infer(replications=30, rng=seed).to_dict() for seed in (1, 1, 2))
    assert first == second != third


def test_moments_and_bounds():
    moment = cd.discrepancy(cd.Gumbel(2.0).sample(300, rng=11), cd.Gumbel(2.0), method="moment", iid=True)
    again = moment.infer(replications=200, rng=1)
    assert again.level.se == again.total.se == pytest.approx(moment.level.se, rel=0.25)
    assert np.isnan(again.shape.pvalue)
    with pytest.warns(cd.DependenceWarning, match="bound"):
        on_bound = cd.discrepancy(cd.Frank(-3.0).sample(300, rng=12), cd.Gumbel(2.0))
    assert np.isfinite(on_bound.infer(replications=50, rng=1).level.se)


def test_a_bar_is_shown_where_asked(capsys):
    result = cd.discrepancy(cd.Gumbel(2.0).sample(200, rng=13), cd.Gumbel(2.0))
    result.infer(replications=20, rng=1)
    assert capsys.readouterr().err == ""
    result.infer(replications=20, rng=1, progress=True)
    captured = capsys.readouterr()
    assert "bootstrap" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "method must be 'bootstrap', got 'magic'"),
        ({"replications": 3}, "replications"),
        ({"block": 0}, "block"),
        ({"block": 500}, "block must not be longer than a chain, 200 draws, got 500"),
    ],
)
def test_bad_choices(options, message):
    result = cd.discrepancy(cd.Gumbel(2.0).sample(200, rng=14), cd.Gumbel(2.0))
    with pytest.raises(cd.InputError, match=message):
        result.infer(**options)


def test_the_way_to_the_bootstrap_is_named():
    with pytest.raises(cd.InputError, match=r"method must be 'mle' or 'moment', got 'bootstrap'.*infer\(method='bootstrap'\)"):
        cd.discrepancy(cd.Gumbel(2.0).sample(200, rng=15), cd.Gumbel(2.0), method="bootstrap")


def test_nothing_can_be_simulated_from_a_limit():
    x = np.linspace(0.0, 1.0, 200)
    with pytest.warns(cd.DependenceWarning, match="perfectly dependent"):
        result = cd.discrepancy(np.column_stack([x, x]), cd.Gumbel(2.0), iid=True)
    with pytest.raises(cd.InputError, match="no density"):
        result.infer(replications=20)
