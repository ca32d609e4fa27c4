"""The bootstrap as a cross-check of the standard errors from influence values."""

import warnings

import numpy as np
import pytest

import copula_discrepancy as cd
from benchmarks.inference import ar_chains
from copula_discrepancy.estimate.bootstrap import _moving_blocks, block_length, bootstrap_estimate
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.standard_error import StandardError
from copula_discrepancy.estimate.uncertainty import Estimate
from tests.caveat_codes import warned
from tests.numerals import numerals
from tests.refusals import refused

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
    assert "parametric" in again.inference
    assert numerals(again.inference) == ["400"]


def test_moving_blocks_agree_for_chains():
    target = cd.Gumbel(2.0)
    draws = ar_chains(target, 0.8, np.random.default_rng(5))
    result = cd.discrepancy(draws, target)
    again = result.infer(replications=300, rng=4)
    for name in NAMES:
        # blocks of finite length see a little less than the whole long-run variance
        assert 0.65 < again.estimates[name].se / result.estimates[name].se < 1.3, name
        assert abs(again.estimates[name].bias) < 1e-12  # deviations from their own mean
    naive = cd.discrepancy(draws, target, iid=True)
    assert again.level.se > 1.5 * naive.level.se
    single = result.infer(replications=300, rng=4, block=1)
    assert single.level.se < 0.7 * again.level.se  # one draw at a time: independence
    assert numerals(single.inference) == ["1", "300"]  # draws in a block, replications


def test_the_interval_is_the_basic_one():
    deviations = np.random.default_rng(1).exponential(size=2000) - 0.5  # skewed: other bootstrap intervals would differ
    found = bootstrap_estimate(Estimate.of(0.2, StandardError(1.0, 10.0, 100.0), confidence=0.9), deviations, tested=True)
    low, high = np.quantile(deviations, [0.05, 0.95])
    assert found.ci == pytest.approx((0.2 - high, 0.2 - low))
    assert found.se == pytest.approx(np.std(deviations, ddof=1))
    assert found.bias == pytest.approx(np.mean(deviations))
    share = min(np.mean(deviations >= 0.2), np.mean(deviations <= 0.2))
    assert found.pvalue == pytest.approx(2 * share, abs=2e-3)


def test_blocks_come_from_all_chains_and_are_as_long_as_needed():
    draws = np.arange(4000.0).reshape(4, 500, 2)
    pair = RankedPair.from_draws(draws)
    sample = next(_moving_blocks(pair, 25, np.random.default_rng(1)))
    assert sample.n == 2000
    assert set(sample.x // 1000) == {0.0, 1.0, 2.0, 3.0}
    steps = np.diff(sample.x.reshape(80, 25), axis=1)
    assert (steps == 2.0).all()  # whole blocks, in order
    rng = np.random.default_rng(2)
    calm, slow = (block_length(cd.fit(ar_chains(cd.Gumbel(2.0), phi, rng), "gumbel")) for phi in (0.0, 0.9))
    assert calm <= 8
    assert 25 <= slow <= 250


def test_chains_that_disagree_widen_the_intervals():
    rng = np.random.default_rng(3)
    alike = np.stack([cd.Gumbel(2.0).sample(400, rng=rng) for _ in range(4)])
    apart = np.stack([cd.Gumbel(theta).sample(400, rng=rng) for theta in (1.2, 1.5, 3.0, 5.0)])
    errors = []
    for draws in (alike, apart):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cd.DependenceWarning)
            result = cd.discrepancy(draws, cd.Gumbel(2.0))
        errors.append((result.level.se, result.infer(replications=100, rng=1, block=50).level.se))
    assert errors[1][0] > 2 * errors[0][0]
    assert errors[1][1] > 1.3 * errors[0][1]


def test_wrong_families_are_found():
    result = cd.discrepancy(cd.Clayton(3.0).sample(400, rng=5), cd.Gumbel(2.5), iid=True).infer(replications=99, rng=6)
    assert result.shape.pvalue == pytest.approx(0.02)  # none of 99 is as far on either side
    assert result.level.pvalue > 0.05
    assert "p = 0.02" in repr(result)


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
    draws = cd.Frank(-3.0).sample(300, rng=12)
    with warned("family-bound"):
        on_bound = cd.discrepancy(draws, cd.Gumbel(2.0)).infer(replications=100, rng=1)
    assert on_bound.level.ci[0] < on_bound.level.value < on_bound.level.ci[1]
    assert np.isnan(on_bound.total.se)  # the note still holds
    assert np.isnan(on_bound.shape.pvalue)
    with warned("family-bound"):
        independent = cd.discrepancy(draws, cd.Gumbel(2.0), iid=True)
    with refused() as caught:
        independent.infer(replications=20)
    assert "Gumbel" in str(caught.value)
    assert "iid=False" in str(caught.value)  # the way out, taken above


def test_pvalues_and_intervals_say_the_same():
    rng = np.random.default_rng(16)
    for _ in range(40):
        result = cd.discrepancy(cd.Gumbel(2.0).sample(120, rng=rng), cd.Gumbel(2.2), iid=True).infer(replications=99, rng=rng)
        for name in ("level", "shape", "total", "ckl", "ced"):
            estimate = result.estimates[name]
            outside = estimate.ci[0] > 0 or estimate.ci[1] < 0
            # 99 replications: the p-value moves in steps of 0.02, so next to 0.05 the two may differ
            assert outside == (estimate.pvalue < 0.05) or 0.03 < estimate.pvalue < 0.09


def test_references_must_be_long_enough_for_the_block():
    draws, reference = cd.Gaussian(0.5).sample(300, rng=17), cd.Gaussian(0.5).sample(140, rng=18).reshape(7, 20, 2)
    with warned("few-effective-draws"):
        result = cd.discrepancy(draws, reference, family="gaussian", iid=False)
    with refused() as caught:
        result.infer(block=50)
    assert "reference" in str(caught.value)
    assert numerals(str(caught.value)) == ["20", "50"]


def test_tiny_samples_are_resampled_until_they_can_be_fitted():
    with warned("few-effective-draws"):
        result = cd.discrepancy(cd.Clayton(2.0).sample(8, rng=19), cd.Clayton(2.0))
    assert np.isfinite(result.infer(replications=100, rng=1).total.se)


def test_a_bar_is_shown_on_request(capsys, monkeypatch):
    monkeypatch.setattr("copula_discrepancy._core.progress._PATIENCE", 0.0)
    result = cd.discrepancy(cd.Gumbel(2.0).sample(200, rng=13), cd.Gumbel(2.0))
    result.infer(replications=20, rng=1)
    assert capsys.readouterr().err == ""
    result.infer(replications=20, rng=1, progress=True)
    captured = capsys.readouterr()
    assert "bootstrap" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("option", "value", "limit"),
    [("method", "magic", "'bootstrap'"), ("replications", 3, "10"), ("block", 0, "1"), ("block", 500, "200")],
)
def test_bad_choices(option, value, limit):
    result = cd.discrepancy(cd.Gumbel(2.0).sample(200, rng=14), cd.Gumbel(2.0))
    with refused() as caught:
        result.infer(**{option: value})
    message = str(caught.value)
    assert message.startswith(f"{option} ")
    assert message.endswith(f"got {value!r}")
    assert limit in message.split("got")[0]


def test_samples_that_are_all_alike_tell_nothing():
    """A single chain has only one block of its own length; with several chains, whole chains can be resampled."""
    draws = cd.Gumbel(2.0).sample(800, rng=14)
    with refused() as caught:
        cd.discrepancy(draws, cd.Gumbel(2.0)).infer(replications=20, block=800)
    assert numerals(str(caught.value)) == ["20"]  # samples, all of them alike: 800 draws are a block that is allowed
    assert cd.discrepancy(draws.reshape(4, 200, 2), cd.Gumbel(2.0)).infer(replications=20, rng=1, block=200).level.se > 0


def test_the_way_to_the_bootstrap_is_named():
    with refused() as caught:
        cd.discrepancy(cd.Gumbel(2.0).sample(200, rng=15), cd.Gumbel(2.0), method="bootstrap")
    assert str(caught.value).startswith("method ")
    assert "infer(method='bootstrap')" in str(caught.value)


def test_nothing_can_be_simulated_from_a_limit():
    x = np.linspace(0.0, 1.0, 200)
    with warned("perfect-dependence"):
        result = cd.discrepancy(np.column_stack([x, x]), cd.Gumbel(2.0), iid=True)
    with refused():
        result.infer(replications=20)
    nearly = np.r_[x[100], x[1:100], x[0], x[101:]]
    assert cd.discrepancy(np.column_stack([x, nearly]), cd.Gumbel(2.0), iid=True).infer(replications=20, rng=1).level.se > 0


def test_independent_draws_have_no_blocks():
    result = cd.discrepancy(cd.Gumbel(2.0).sample(200, rng=20), cd.Gumbel(2.0), iid=True)
    with refused() as caught:
        result.infer(block=5)
    assert "block=5" in str(caught.value)
    assert "iid=True" in str(caught.value)


def test_a_result_says_where_its_errors_come_from():
    result = cd.discrepancy(cd.Gumbel(2.0).sample(300, rng=21), cd.Gumbel(2.0), iid=True)
    assert "bootstrap" not in repr(result)
    again = result.infer(replications=30, rng=1)
    assert again.inference in again.sentences()["Errors"]
    assert again.inference in repr(again)
