"""What a person reads: is the strength right, is the shape, which tail, how sure, are there enough draws?"""

import math

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy import words
from copula_discrepancy.inference import Estimate

TARGET = cd.Gumbel(2.5)


def read(draws, target=TARGET, **options):
    result = cd.discrepancy(draws, target, **options)
    return result, result.sentences(), repr(result).splitlines()


def test_all_is_well():
    _, said, lines = read(TARGET.sample(3000, rng=1))
    assert lines[0].endswith("no gap found")
    assert said["Strength"].startswith("no gap found (p = ")
    assert "Kendall's tau is within 0.0" in said["Strength"]
    assert said["Shape"].startswith("no gap found")
    assert "enough for these tests" in said["Draws"]
    assert "halves agree" in said["Draws"]
    assert said["Tails"] == "neither stands out against Gumbel at the same tau."


@pytest.mark.parametrize(
    ("truth", "how", "side"),
    [
        (cd.Gumbel(1.8), "too weak", "below"),
        (cd.Gumbel(3.5), "too strong", "above"),
        (cd.Frank(-6.0), "of the wrong sign", "below"),
    ],
    ids=str,
)
def test_strength(truth, how, side):
    target = TARGET if truth.tau > 0 else cd.Frank.from_tau(0.6)
    _, said, lines = read(truth.sample(2000, rng=2), target)
    assert said["Strength"].startswith(f"{how}. Kendall's tau is")
    assert f"{side} the target's (95% interval of the gap" in said["Strength"]
    assert "p < 0.001" in said["Strength"]
    assert lines[0].endswith(": strength off")
    assert said["Shape"].startswith("no gap found")


def test_shape_and_tails_by_name():
    draws = pd.DataFrame(cd.Clayton(3.0).sample(3000, rng=3), columns=["mu", "log_sigma"])
    result, said, lines = read(draws)
    assert lines[0].endswith(": shape off")
    assert said["Shape"].startswith("wrong (p < 0.001). Gumbel fitted to these draws has a tau 0.")
    low, high = (round(100 * abs(tail.value)) for tail in (result.lower_tail, result.upper_tail))
    assert f"of 100 draws in the lowest tenth of mu, {low} more lie in the lowest tenth of log_sigma too" in said["Tails"]
    assert f"of 100 draws in the highest tenth of mu, {high} fewer lie in the highest tenth of log_sigma too" in said["Tails"]
    assert max(map(len, lines)) <= 100
    assert "log_sigma" in result._repr_html_()


def test_negative_dependence_has_its_own_corners():
    truth = cd.Rotated(cd.Gumbel(2.0), 90)
    _, said, _ = read(truth.sample(3000, rng=4), cd.Rotated(cd.Clayton.from_tau(0.5), 90))
    assert "in the lowest tenth of x0" in said["Tails"]
    assert "in the highest tenth of x1 (" in said["Tails"]
    assert "in the lowest tenth of x1 (" in said["Tails"]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_where_a_dependence_is_lost_its_own_corners_are_looked_at(sign):
    """Of independent draws, tau is above or below 0 by chance; the target's tails are where they are."""
    draws = np.random.default_rng(6).normal(size=(3000, 2))
    draws[:, 1] *= sign * np.sign(cd.kendall_tau(*draws.T))
    result = cd.discrepancy(draws, cd.StudentT(0.7, df=3.0), iid=True)
    assert math.copysign(1.0, result.tau) == sign
    u, v = cd.pseudo_observations(draws).T
    low = (u < 0.1) & (v < 0.1)
    family = cd.StudentT.from_tau(result.tau, df=3.0)
    assert result.lower_tail.value == pytest.approx((low.mean() - family.cdf(0.1, 0.1)) / 0.1, abs=0.01)  # of ranks near 0.1
    row = cd.pairwise(draws, cd.StudentT(0.7, df=3.0), iid=True)[0]
    assert row.lower_tail == pytest.approx(result.lower_tail.value, abs=1e-3)
    against = cd.discrepancy(draws, cd.StudentT(0.7, df=3.0).sample(3000, rng=7), family=cd.StudentT(0.7, df=3.0), iid=True)
    assert against.lower_tail.value == pytest.approx(result.lower_tail.value, abs=0.06)  # and a reference's: two se
    negative = cd.discrepancy(draws, cd.StudentT(-0.7, df=3.0), iid=True)
    mixed = (u < 0.1) & (v > 0.9)
    expected = (mixed.mean() - (0.1 - family.cdf(0.1, 0.9))) / 0.1
    assert negative.lower_tail.value == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_dependence_stronger_than_the_targets_has_its_own_corners(sign):
    """Against a weak target of the other sign, the tails are at the ends of the draws' dependence."""
    target, draws = cd.StudentT(-0.1 * sign, df=3.0), cd.Gaussian(0.7 * sign).sample(3000, rng=8)
    result = cd.discrepancy(draws, target, iid=True)
    u, v = cd.pseudo_observations(draws).T
    family = cd.StudentT.from_tau(result.tau, df=3.0)
    inside, share = ((v < 0.1), family.cdf(0.1, 0.1)) if sign > 0 else ((v > 0.9), 0.1 - family.cdf(0.1, 0.9))
    expected = (np.mean((u < 0.1) & inside) - share) / 0.1
    assert result.lower_tail.value == pytest.approx(expected, abs=0.01)  # of ranks near 0.1
    assert cd.pairwise(draws, target, iid=True)[0].lower_tail == pytest.approx(result.lower_tail.value, abs=1e-3)


def test_both_are_off():
    _, _, lines = read(cd.Clayton(1.0).sample(3000, rng=5))
    assert lines[0].endswith(": strength and shape off")


def test_a_bound_leaves_the_shape_untested():
    with pytest.warns(cd.DependenceWarning, match="bound"):
        _, said, lines = read(cd.Frank(-4.0).sample(500, rng=6))
    assert lines[0].endswith("strength off, shape not tested")
    assert said["Shape"].startswith("cannot be tested: Gumbel sits on a bound")
    assert any("note: theta sits on the lower bound" in line for line in lines)


def test_perfect_dependence_says_so():
    x = np.linspace(0.0, 1.0, 300)
    with pytest.warns(cd.DependenceWarning, match="perfectly dependent"):
        _, said, lines = read(np.column_stack([x, x]))
    assert lines[0] == "Copula discrepancy 0.4: strength and shape not tested"
    assert said["Strength"].startswith("cannot be tested")
    assert "no standard error can be had" in said["Draws"]


def test_few_draws():
    with pytest.warns(cd.DependenceWarning, match="n_eff is 60"):
        _, said, _ = read(TARGET.sample(60, rng=7), iid=True)
    assert said["Draws"] == "60, taken as independent: too few to trust these tests."


def test_the_table_has_every_gap_with_its_uncertainty():
    result, _, lines = read(TARGET.sample(1000, rng=8), confidence=0.9)
    head = next(line for line in lines if "90% interval" in line)
    for word in ("value", "se", "p", "n_eff"):
        assert word in head.split()
    for name in ("level", "shape", "total", "lower tail", "upper tail", "CKL", "CED"):
        row = next(line for line in lines if line.startswith(f"  {name}"))
        estimate = result.estimates[name.lower().replace(" ", "_")]
        assert f"{estimate.value:.4f}".lstrip("-") in row or f"{estimate.value:.1e}" in row


def test_hostile_names_are_escaped():
    draws = pd.DataFrame(cd.Clayton(3.0).sample(2000, rng=9), columns=["<script>", "b&c"])
    html = cd.discrepancy(draws, TARGET)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def gap(pvalue, value=0.1):
    return Estimate(value, 0.02, (value - 0.04, value + 0.04), pvalue, 500.0)


@pytest.mark.parametrize(
    ("level", "shape", "tail", "verdict"),
    [
        (0.5, 0.5, 0.5, "no gap found"), (0.01, 0.5, 0.5, "strength off"), (0.5, 0.01, 0.01, "shape off"),
        (0.01, 0.01, 0.5, "strength and shape off"), (0.5, 0.5, 0.02, "a tail off"), (0.5, 0.5, 0.04, "no gap found"),
        (np.nan, np.nan, np.nan, "strength and shape not tested"), (0.01, np.nan, 0.5, "strength off, shape not tested"),
        (0.5, np.nan, 0.5, "no gap found, shape not tested"),
    ],
)  # fmt: skip
def test_verdicts(level, shape, tail, verdict):
    """Each of two tails is tested at half the level."""
    assert words.verdict(gap(level), gap(shape), [gap(tail), gap(0.9)]) == verdict


def test_moments_leave_the_shape_out_but_not_the_tails():
    result = cd.discrepancy(cd.Clayton(3.0).sample(2000, rng=10), TARGET, method="moment")
    assert "fitted by Kendall's tau alone" in result.sentences()["Shape"]
    assert "more lie in the lowest tenth" in result.sentences()["Tails"]
    assert result.verdict == "a tail off, shape not tested"


def test_a_reference_has_its_own_sentence():
    with pytest.warns(cd.DependenceWarning, match="reference: n_eff"):
        result = cd.discrepancy(TARGET.sample(2000, rng=11), TARGET.sample(60, rng=12), family="gumbel", iid=True)
    assert result.sentences()["Draws"] == "2,000, taken as independent: enough for these tests."
    assert result.sentences()["Reference"] == "60, taken as independent: too few to trust these tests."


def test_estimates_and_agreement_are_readable():
    result = cd.discrepancy(TARGET.sample(2000, rng=13).reshape(4, 500, 2), TARGET)
    assert repr(result.level).startswith(f"{result.level.value:.6g} (se {result.level.se:.3g}, 95% ")
    assert f"n_eff {result.level.n_eff:,.0f})" in str(result.level)
    assert f"{result.level:.3f}" == f"{result.level.value:.3f}"
    lines = repr(result.agreement).splitlines()
    assert lines[0] == f"R-hat for dependence {result.rhat:.3f}; Kendall's tau of each chain:"
    assert len(lines) == 5
    assert "no standard error" in repr(Estimate.unknown(0.3))
