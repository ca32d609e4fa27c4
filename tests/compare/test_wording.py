"""What a person reads: is the strength right, is the shape, which tail, how sure, are there enough draws?"""

import math

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare.verdict import PairTests
from copula_discrepancy.estimate.uncertainty import Estimate
from tests.caveat_codes import warned

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
    assert said["Tails"].startswith("no gap found in the four corners (p = ")


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
    assert lines[0].endswith(f": {how}")
    assert said["Shape"].startswith("no gap found")


def test_shape_and_tails_by_name():
    draws = pd.DataFrame(cd.Clayton(3.0).sample(3000, rng=3), columns=["mu", "log_sigma"])
    result, said, lines = read(draws)
    assert result.verdict == "wrong shape, low-low tail too thick, high-high tail too thin"
    assert " ".join(lines[:2]).startswith(f"Copula discrepancy {result.cd:.4g}: wrong shape")
    assert said["Shape"].startswith("wrong (p < 0.001). The Gumbel copula fitted to these rows has a tau 0.")
    u, v = cd.pseudo_observations(draws).T
    family = cd.Gumbel.from_tau(result.tau)
    low, high = np.mean(v[u <= 0.1] <= 0.1), np.mean(v[u >= 0.9] >= 0.9)
    expected = family.cdf(0.1, 0.1) / 0.1, (1.0 - 0.9 - 0.9 + family.cdf(0.9, 0.9)) / 0.1
    for where, share, aim in (("lowest", low, expected[0]), ("highest", high, expected[1])):
        begin = f"of 100 rows in the {where} tenth of mu, {100 * share:.0f} are in the {where} tenth of log_sigma too; "
        assert f"{begin}Gumbel at the same tau has {100 * aim:.0f}" in said["Tails"]
    assert max(map(len, lines)) <= 100
    assert "log_sigma" in result._repr_html_()


def test_corners_of_negative_dependence_have_their_own_words():
    truth = cd.Rotated(cd.Gumbel(2.0), 90)
    result, said, _ = read(truth.sample(3000, rng=4), cd.Rotated(cd.Clayton.from_tau(0.5), 90))
    assert "low-high tail" in result.verdict
    assert "high-low tail" in result.verdict
    assert "of 100 draws in the lowest tenth of x0, " in said["Tails"]
    assert " are in the highest tenth of x1; Clayton90 at the same tau has " in said["Tails"]
    assert " are in the lowest tenth of x1; " in said["Tails"]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_corners_do_not_flip_with_the_sign_of_a_tau_that_is_chance(sign):
    """All four are counted where they are, whatever the sign of tau, in one pair, in a row and against a reference."""
    draws = np.random.default_rng(6).normal(size=(3000, 2))
    draws[:, 1] *= sign * np.sign(cd.kendall_tau(*draws.T))
    result = cd.discrepancy(draws, cd.StudentT(0.7, df=3.0), iid=True)
    assert math.copysign(1.0, result.tau) == sign
    u, v = cd.pseudo_observations(draws).T
    family = cd.StudentT.from_tau(result.tau, df=3.0)
    inside = {
        "low_low": (u < 0.1) & (v < 0.1), "high_high": (u > 0.9) & (v > 0.9), "low_high": (u < 0.1) & (v > 0.9),
        "high_low": (u > 0.9) & (v < 0.1),
    }  # fmt: skip
    along, across = family.cdf(0.1, 0.1), 0.1 - family.cdf(0.1, 0.9)
    expected = {"low_low": along, "high_high": along, "low_high": across, "high_low": across}
    row = cd.pairwise(draws, cd.StudentT(0.7, df=3.0), iid=True)[0]
    reference = cd.StudentT(0.7, df=3.0).sample(3000, rng=7)
    against = cd.discrepancy(draws, reference, family=cd.StudentT(0.7, df=3.0), iid=True)
    for name, places in inside.items():
        gap = (places.mean() - expected[name]) / 0.1
        assert result.estimates[name].value == pytest.approx(gap, abs=0.01)  # of ranks near 0.1
        assert row.numbers[name] == pytest.approx(result.estimates[name].value, abs=1e-3)
        assert row.numbers[f"{name}_share"] == pytest.approx(places.mean() / 0.1, abs=0.01)
        assert against.estimates[name].value == pytest.approx(gap, abs=0.08)  # and a reference's: two se


def test_the_old_names_of_tails_say_what_they_are_now():
    draws = cd.Clayton(3.0).sample(1000, rng=1)
    result = cd.discrepancy(draws, TARGET, iid=True)
    ranking = cd.pairwise(draws, TARGET, iid=True)
    mirrored = cd.discrepancy(np.column_stack([draws[:, 0], -draws[:, 1]]), cd.Frank(-4.0), iid=True)
    for old, new, negative in (("lower_tail", "low_low", "low_high"), ("upper_tail", "high_high", "high_low")):
        with pytest.warns(DeprecationWarning, match=f"{old} is deprecated.*{new}"):
            assert getattr(result, old) == result.estimates[new]
        with pytest.warns(DeprecationWarning, match=negative):
            assert getattr(mirrored, old) == mirrored.estimates[negative]
        with pytest.warns(DeprecationWarning, match=new):
            assert getattr(ranking[0], f"{old}_se") == ranking[0].numbers[f"{new}_se"]
        with pytest.warns(DeprecationWarning, match="low_low, high_high"):
            assert ranking.matrix(old)[0, 1] == ranking[0].numbers[new]


def test_both_are_off():
    result, _, _ = read(cd.Clayton(1.0).sample(3000, rng=5))
    assert result.verdict.startswith("too weak, wrong shape, ")


def test_a_bound_leaves_the_shape_untested():
    with warned("family-bound"):
        result, said, lines = read(cd.Frank(-4.0).sample(500, rng=6))
    assert result.verdict.startswith("of the wrong sign")
    assert said["Shape"].startswith("cannot be tested")
    assert any("note: theta is at the lower bound" in line for line in lines)


def test_perfect_dependence_is_tested_by_how_likely_chance_makes_it():
    """300 draws in perfect order are no chance at a tau of 0.6; four may be."""
    x = np.linspace(0.0, 1.0, 300)
    with warned("perfect-dependence"):
        result, said, lines = read(np.column_stack([x, x]), iid=True)
    assert lines[0] == "Copula discrepancy 0.4: too strong"
    assert said["Strength"] == "too strong. Kendall's tau is 0.4 above the target's (p < 0.001)."
    assert result.level.pvalue == pytest.approx(0.8**150)
    with warned("perfect-dependence"):
        few, said, _ = read(np.column_stack([x[:4], x[:4]]), iid=True)
    assert few.verdict == "no gap found, strength alone tested"
    assert few.level.pvalue == pytest.approx(0.8**2)
    assert said["Strength"] == "no gap found (p = 0.64)."


def test_few_draws():
    with warned("few-effective-draws"):
        _, said, _ = read(TARGET.sample(60, rng=7), iid=True)
    assert said["Rows"] == "60, treated as independent: too few to trust these tests."


def test_the_table_has_every_gap_with_its_uncertainty():
    result, _, lines = read(TARGET.sample(1000, rng=8), confidence=0.9)
    head = next(line for line in lines if "90% interval" in line)
    for word in ("value", "se", "p", "n_eff"):
        assert word in head.split()
    for name in ("level", "shape", "total", "low-low", "high-high", "low-high", "high-low", "CKL", "CED"):
        row = next(line for line in lines if line.startswith(f"  {name}"))
        estimate = result.estimates[name.lower().replace("-", "_")]
        assert f"{estimate.value:.4f}".lstrip("-") in row or f"{estimate.value:.1e}" in row


def test_hostile_names_are_escaped():
    draws = pd.DataFrame(cd.Clayton(3.0).sample(2000, rng=9), columns=["<script>", "b&c"])
    html = cd.discrepancy(draws, TARGET)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def judged(level, shape, tails, corners=None, taus=(0.1, 0.4), ses=(0.02, 0.02), against=True):
    return PairTests(taus, ses, {"level": level, "shape": shape, "tails": tails}, corners or {}, against, 0.05)


@pytest.mark.parametrize(
    ("pvalues", "verdict"),
    [
        ((0.5, 0.5, 0.5), "no gap found"), ((0.01, 0.5, 0.5), "too weak"), ((0.5, 0.01, 0.5), "wrong shape"),
        ((0.01, 0.01, 0.5), "too weak, wrong shape"), ((np.nan, np.nan, np.nan), "not tested"),
        ((0.01, np.nan, 0.5), "too weak"), ((0.5, np.nan, np.nan), "no gap found, strength alone tested"),
        ((0.5, 0.5, 0.01), "low-low tail too thin"),
    ],
)  # fmt: skip
def test_verdicts(pvalues, verdict):
    assert judged(*pvalues, {"low_low": (-0.2, 0.001), "high_high": (0.1, 0.3)}).verdict == verdict


def test_verdicts_name_the_corners_that_are_off():
    """The smallest p-value, and all that pass the test of four on their own."""
    corners = {"low_low": (-0.2, 0.001), "high_high": (0.1, 0.012), "low_high": (0.3, 0.013), "high_low": (0.0, np.nan)}
    assert judged(0.5, 0.5, 0.01, corners).off_corners == ["low_low", "high_high", "low_high"]  # each below 0.05 / 3
    assert judged(0.5, 0.5, 0.04, {"low_low": (0.2, 0.04), "high_high": (0.1, 0.05)}).off_corners == ["low_low"]
    assert judged(0.5, 0.5, 0.06, corners).off_corners == []
    alone = judged(np.nan, 0.01, 0.01, corners, against=False)
    assert alone.verdict.startswith("family does not fit, low-low tail thinner than the family's, high-high tail thicker")


@pytest.mark.parametrize(
    ("taus", "ses", "how"),
    [
        ((-0.03, 0.3), (0.012, 0.012), "of the wrong sign"),  # 0.03 is within two errors of the difference, not of its own
        ((-0.02, 0.3), (0.012, 0.012), "too weak"), ((0.3, -0.02), (0.01, 0.015), "too strong"),
        ((0.3, -0.04), (0.01, 0.015), "of the wrong sign"), ((0.3, -0.001), (0.01, 0.0), "of the wrong sign"),
        ((-0.5, -0.3), (0.01, 0.01), "too strong"), ((-0.1, 0.3), (np.nan, 0.01), "of the wrong sign"),
    ],
)  # fmt: skip
def test_a_change_of_sign_beyond_chance_is_called_so(taus, ses, how):
    assert judged(0.001, 0.5, 0.5, taus=taus, ses=ses).verdict == how


def test_moments_leave_the_shape_out_but_not_the_tails():
    result = cd.discrepancy(cd.Clayton(3.0).sample(2000, rng=10), TARGET, method="moment")
    assert "fitted by Kendall's tau alone" in result.sentences()["Shape"]
    assert "in the lowest tenth of x0" in result.sentences()["Tails"]
    assert result.verdict == "low-low tail too thick, high-high tail too thin"


def test_a_reference_has_its_own_sentence():
    with warned("few-effective-draws"):
        result = cd.discrepancy(TARGET.sample(2000, rng=11), TARGET.sample(60, rng=12), family="gumbel", iid=True)
    assert result.sentences()["Rows"] == "2,000, treated as independent: enough for these tests."
    assert result.sentences()["Reference"] == "60, treated as independent: too few to trust these tests."


def test_estimates_and_agreement_are_readable():
    result = cd.discrepancy(TARGET.sample(2000, rng=13).reshape(4, 500, 2), TARGET)
    assert repr(result.level).startswith(f"{result.level.value:.6g} (se {result.level.se:.3g}, 95% ")
    assert f"n_eff {result.level.n_eff:,.0f})" in str(result.level)
    assert f"{result.level:.3f}" == f"{result.level.value:.3f}"
    lines = repr(result.agreement).splitlines()
    assert lines[0] == f"R-hat for dependence {result.rhat:.3f}; Kendall's tau of each chain:"
    assert len(lines) == 5
    assert "no standard error" in repr(Estimate.unknown(0.3))
