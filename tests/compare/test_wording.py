"""What a person reads: is the strength right, is the shape, which tail, how sure, are there enough draws?

Which topics there are, which verdicts and which numbers; messages_results.txt pins the sentences.
"""

import math
import re

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare import wording
from copula_discrepancy.compare.verdict import PairTests
from copula_discrepancy.compare.wording import NO_GAP, NOT_TESTED, WIDTH, answer_line, chance, form_fault, told_once
from copula_discrepancy.estimate.uncertainty import Estimate
from tests.caveat_codes import codes_of, warned
from tests.compare.verdicts import (
    FAMILY_DOES_NOT_FIT,
    FORM_UNTESTED,
    LEVEL_ALONE,
    LEVEL_UNTESTED,
    TOO_STRONG,
    TOO_WEAK,
    WRONG_FORM,
    WRONG_SHAPE,
    WRONG_SIGN,
    faults,
    too_thick,
    too_thin,
)

TARGET = cd.Gumbel(2.5)


def read(draws, target=TARGET, **options):
    result = cd.discrepancy(draws, target, **options)
    return result, result.sentences(), repr(result).splitlines()


def test_all_is_well():
    result, said, lines = read(TARGET.sample(3000, rng=1))
    assert (result.outcome, result.verdict, result.caveats) == ("no gap", NO_GAP, ())
    assert lines[0].endswith(f": {NO_GAP}")
    for topic, pvalue in (("Strength", result.level.pvalue), ("Shape", result.shape.pvalue), ("Tails", result.tails_pvalue)):
        assert said[topic].startswith(NO_GAP)
        assert f"({chance(pvalue)})" in said[topic]
    assert f" {np.max(np.abs(result.level.ci)):.2g} " in said["Strength"]
    for shown in ("3,000", f"{result.n_eff:,.0f}", f"{result.rhat:.3f}"):
        assert shown in said["Draws"]


@pytest.mark.parametrize(
    ("truth", "how", "side"),
    [(cd.Gumbel(1.8), TOO_WEAK, "below"), (cd.Gumbel(3.5), TOO_STRONG, "above"), (cd.Frank(-6.0), WRONG_SIGN, "below")],
    ids=str,
)
def test_strength(truth, how, side):
    target = TARGET if truth.tau > 0 else cd.Frank.from_tau(0.6)
    result, said, lines = read(truth.sample(2000, rng=2), target)
    assert (result.outcome, result.verdict) == ("gap", how)
    assert lines[0].endswith(f": {how}")
    assert said["Strength"].startswith(f"{how}. ")
    for shown in (f"{abs(result.level.value):.2g} {side} ", "{:+.2g} to {:+.2g}".format(*result.level.ci), "p < 0.001"):
        assert shown in said["Strength"]
    assert said["Shape"].startswith(NO_GAP)


def test_shape_and_tails_by_name():
    draws = pd.DataFrame(cd.Clayton(3.0).sample(3000, rng=3), columns=["mu", "log_sigma"])
    result, said, lines = read(draws)
    assert faults(result.verdict) == [WRONG_SHAPE, too_thick("low_low"), too_thin("high_high")]
    assert " ".join(lines[:2]).startswith(f"Copula discrepancy {result.cd:.4g}: {result.verdict}")
    for shown in ("p < 0.001", "Gumbel", f"{abs(result.shape.value):.2g} below "):
        assert shown in said["Shape"]
    u, v = cd.pseudo_observations(draws).T
    family = cd.Gumbel.from_tau(result.tau)
    low, high = np.mean(v[u <= 0.1] <= 0.1), np.mean(v[u >= 0.9] >= 0.9)
    expected = family.cdf(0.1, 0.1) / 0.1, (1.0 - 0.9 - 0.9 + family.cdf(0.9, 0.9)) / 0.1
    first, second = said["Tails"].split("Gumbel")[:2], said["Tails"].split("Gumbel")[1:]
    for sentence, aim, where, share, expect in zip(first, second, ("lowest", "highest"), (low, high), expected, strict=True):
        assert sentence.count(where) == 2  # tenths, of mu and of log_sigma
        assert sentence.index("mu") < sentence.index(f" {100 * share:.0f} ") < sentence.index("log_sigma")
        assert f" {100 * expect:.0f}" in aim.partition("of 100")[0]
    assert max(map(len, lines)) <= WIDTH
    assert "log_sigma" in result._repr_html_()


def test_corners_of_negative_dependence_have_their_own_words():
    truth = cd.Rotated(cd.Gumbel(2.0), 90)
    result, said, _ = read(truth.sample(3000, rng=4), cd.Rotated(cd.Clayton.from_tau(0.5), 90))
    assert result.tests.off_corners == ["low_high", "high_low"]
    assert faults(result.verdict)[-2:] == [too_thick("low_high"), too_thin("high_low")]
    told = re.findall("lowest|highest|x0|x1|Clayton90", said["Tails"])
    assert told == ["lowest", "x0", "highest", "x1", "Clayton90", "highest", "x0", "lowest", "x1", "Clayton90"]


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
        with pytest.warns(DeprecationWarning, match=f"^{old} .*{new}$"):
            assert getattr(result, old) == result.estimates[new]
        with pytest.warns(DeprecationWarning, match=negative):
            assert getattr(mirrored, old) == mirrored.estimates[negative]
        with pytest.warns(DeprecationWarning, match=new):
            assert getattr(ranking[0], f"{old}_se") == ranking[0].numbers[f"{new}_se"]
        with pytest.warns(DeprecationWarning, match="low_low.*high_high.*low_high.*high_low"):
            assert ranking.matrix(old)[0, 1] == ranking[0].numbers[new]


def test_both_are_off():
    result, said, _ = read(cd.Clayton(1.0).sample(3000, rng=5))
    assert faults(result.verdict) == [TOO_WEAK, WRONG_SHAPE, too_thick("low_low"), too_thin("high_high")]
    assert not any(NO_GAP in said[topic] for topic in ("Strength", "Shape", "Tails"))


def test_a_bound_leaves_the_shape_untested():
    with warned("family-bound"):
        result, said, lines = read(cd.Frank(-4.0).sample(500, rng=6))
    assert faults(result.verdict)[0] == WRONG_SIGN
    assert WRONG_SHAPE not in faults(result.verdict)
    assert math.isnan(result.shape.pvalue)
    assert "p " not in said["Shape"]  # no p-value of what has none
    (caveat,) = result.caveats
    assert f"note: {caveat.sentence}" in " ".join(" ".join(lines).split())


def test_perfect_dependence_is_tested_by_how_likely_chance_makes_it():
    """300 draws in perfect order are no chance at a tau of 0.6; four may be."""
    x = np.linspace(0.0, 1.0, 300)
    with warned("perfect-dependence"):
        result, said, _ = read(np.column_stack([x, x]), iid=True)
    assert (result.cd, result.verdict) == (pytest.approx(0.4), TOO_STRONG)
    assert result.level.pvalue == pytest.approx(0.8**150)
    assert chance(result.level.pvalue) in said["Strength"]
    with warned("perfect-dependence"):
        few, said, _ = read(np.column_stack([x[:4], x[:4]]), iid=True)
    assert few.verdict == LEVEL_ALONE
    assert few.level.pvalue == pytest.approx(0.8**2)
    assert said["Strength"] == f"{NO_GAP} ({chance(0.64)})."


def test_few_draws():
    with warned("few-effective-draws"):
        few, said, lines = read(TARGET.sample(60, rng=7), iid=True)
    assert codes_of(few) == ["few-effective-draws"]
    assert lines[0].endswith(answer_line(few, capital=False))
    assert answer_line(few, capital=False) != few.verdict == NO_GAP
    enough, other, _ = read(TARGET.sample(600, rng=7), iid=True)
    assert codes_of(enough) == []
    assert said["Rows"].replace("60", "600") != other["Rows"]  # not the number alone: the trust in it


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


def judged(level, shape, tails, corners=None, taus=(0.1, 0.4), ses=(0.02, 0.02), against=True, form=0.5, pattern=""):
    adjusted = {"level": level, "shape": shape, "tails": tails, "form": form}
    return PairTests(taus, ses, adjusted, corners or {}, against, 0.05, pattern=pattern)


def test_verdicts_differ():
    thick, thin = too_thick("low_low"), too_thin("low_low")
    known = [NO_GAP, NOT_TESTED, LEVEL_ALONE, LEVEL_UNTESTED, TOO_WEAK, TOO_STRONG, WRONG_SIGN, WRONG_SHAPE, thick, thin]
    known += [FAMILY_DOES_NOT_FIT, too_thick("high_low"), too_thin("low_low", against=False)]
    assert len(set(known)) == len(known)
    # the names that tests use are of the words that they stand for
    for word, verdict in (("weak", TOO_WEAK), ("strong", TOO_STRONG), ("sign", WRONG_SIGN), ("thick", thick), ("thin", thin)):
        assert word in verdict


@pytest.mark.parametrize(
    ("pvalues", "verdict"),
    [
        ((0.5, 0.5, 0.5), [NO_GAP]), ((0.01, 0.5, 0.5), [TOO_WEAK]), ((0.5, 0.01, 0.5), [WRONG_SHAPE]),
        ((0.01, 0.01, 0.5), [TOO_WEAK, WRONG_SHAPE]),
        ((0.01, np.nan, 0.5), [TOO_WEAK]), ((np.nan, 0.5, 0.5), [NO_GAP]),
        ((0.5, 0.5, 0.01), [too_thin("low_low")]),
    ],
    ids=str,
)  # fmt: skip
def test_verdicts(pvalues, verdict):
    assert judged(*pvalues, {"low_low": (-0.2, 0.001), "high_high": (0.1, 0.3)}).verdict == ", ".join(verdict)


def test_verdicts_name_the_corners_that_are_off():
    """The smallest p-value, and all that pass the test of four on their own."""
    corners = {"low_low": (-0.2, 0.001), "high_high": (0.1, 0.012), "low_high": (0.3, 0.013), "high_low": (0.0, np.nan)}
    assert judged(0.5, 0.5, 0.01, corners).off_corners == ["low_low", "high_high", "low_high"]  # each below 0.05 / 3
    assert judged(0.5, 0.5, 0.04, {"low_low": (0.2, 0.04), "high_high": (0.1, 0.05)}).off_corners == ["low_low"]
    assert judged(0.5, 0.5, 0.06, corners).off_corners == []
    alone = judged(np.nan, 0.01, 0.01, corners, against=False)
    off = too_thin("low_low", against=False), too_thick("high_high", against=False)
    assert alone.off_corners == ["low_low", "high_high", "low_high"]
    assert len(faults(alone.verdict)) == 2  # three corners have one word
    two = judged(np.nan, 0.01, 0.01, {"low_low": (-0.2, 0.001), "high_high": (0.1, 0.002)}, against=False)
    assert faults(two.verdict) == [FAMILY_DOES_NOT_FIT, *off]


def test_verdicts_with_form():
    """Form is named if it has a pattern of its own, or if nothing else is wrong; without it no gap is no promise."""
    assert judged(np.nan, np.nan, np.nan, form=np.nan).verdict == NOT_TESTED
    assert judged(0.5, np.nan, np.nan, form=np.nan).verdict == LEVEL_ALONE
    assert judged(0.5, 0.5, 0.5, form=np.nan).verdict == FORM_UNTESTED
    assert len({NO_GAP, LEVEL_ALONE, FORM_UNTESTED}) == 3
    assert judged(0.5, 0.5, 0.5, form=0.01, taus=(0.4, 0.4)).verdict == WRONG_FORM
    assert judged(0.5, 0.5, 0.5, form=0.01).verdict == TOO_WEAK  # taus ten errors apart, and no pattern beyond that
    assert judged(0.01, 0.5, 0.5, form=0.01).verdict == TOO_WEAK  # which explains it
    named = judged(0.01, 0.5, 0.5, form=0.01, pattern="bend first: lost")
    assert faults(named.verdict) == [TOO_WEAK, form_fault("bend first: lost", against=True, automatic=True)]
    assert named.kinds == (TOO_WEAK, WRONG_FORM)
    assert judged(0.01, 0.5, 0.5, form=0.5, pattern="bend first: lost").verdict == TOO_WEAK
    fine = judged(0.5, 0.01, 0.5, form=0.01, pattern="fine: lost")
    assert fine.verdict == WRONG_SHAPE  # shape has a word for it
    free = judged(np.nan, 0.01, 0.5, form=0.01, pattern="bend first: added", against=False)
    assert faults(free.verdict) == [form_fault("bend first: added", against=False, automatic=True)]  # once is enough


@pytest.mark.parametrize(
    ("taus", "ses", "how"),
    [
        ((-0.03, 0.3), (0.012, 0.012), WRONG_SIGN),  # 0.03 is within two errors of the difference, not of its own
        ((-0.02, 0.3), (0.012, 0.012), TOO_WEAK), ((0.3, -0.02), (0.01, 0.015), TOO_STRONG),
        ((0.3, -0.04), (0.01, 0.015), WRONG_SIGN), ((0.3, -0.001), (0.01, 0.0), WRONG_SIGN),
        ((-0.5, -0.3), (0.01, 0.01), TOO_STRONG), ((-0.1, 0.3), (np.nan, 0.01), WRONG_SIGN),
    ],
)  # fmt: skip
def test_a_change_of_sign_beyond_chance_is_called_so(taus, ses, how):
    assert judged(0.001, 0.5, 0.5, taus=taus, ses=ses).verdict == how


def test_moments_leave_the_shape_out_but_not_the_tails():
    draws = cd.Clayton(3.0).sample(2000, rng=10)
    result = cd.discrepancy(draws, TARGET, method="moment")
    assert faults(result.verdict) == [too_thick("low_low"), too_thin("high_high")]
    assert "method='mle'" in result.sentences()["Shape"]  # the way out
    assert NO_GAP not in result.sentences()["Tails"]
    assert result.sentences()["Tails"] == cd.discrepancy(draws, TARGET).sentences()["Tails"]


def test_a_reference_has_its_own_sentence():
    with warned("few-effective-draws"):
        result = cd.discrepancy(TARGET.sample(2000, rng=11), TARGET.sample(60, rng=12), family="gumbel", iid=True)
    (caveat,) = result.caveats
    assert caveat.sentence.startswith("reference: ")
    own, reference = (result.sentences()[topic] for topic in ("Rows", "Reference"))
    assert own.startswith("2,000,")
    assert reference.startswith("60,")
    assert own.partition(",")[2] != reference.partition(",")[2]  # enough rows, and too few of them


def test_estimates_and_agreement_are_readable():
    result = cd.discrepancy(TARGET.sample(2000, rng=13).reshape(4, 500, 2), TARGET)
    level = result.level
    assert repr(level).startswith(f"{level.value:.6g} (se {level.se:.3g}, 95% ")
    assert f"n_eff {level.n_eff:,.0f})" in str(level)
    assert f"{level:.3f}" == f"{level.value:.3f}"
    head, *chains = repr(result.agreement).splitlines()
    assert f"{result.rhat:.3f}" in head
    for k, (line, tau) in enumerate(zip(chains, result.agreement.taus, strict=True)):
        assert line.split()[:2] == ["chain", str(k)]
        assert line.endswith(repr(tau))
    unknown = repr(Estimate.unknown(0.3))
    assert unknown.startswith("0.3 ")
    assert "nan" not in unknown


def test_notes_that_are_the_same_for_both_samples_are_told_once():
    notes = ["left out: a", "reference: left out: a", "left out: b", "reference: left out: c"]
    assert told_once(notes) == ["both: left out: a", "left out: b", "reference: left out: c"]
    tables = ["synthetic table: x", "real table: x", "real table: y", "z"]
    assert told_once(tables, ("synthetic table: ", "real table: "), "both tables: ") == [
        "both tables: x", "real table: y", "z",
    ]  # fmt: skip


def test_similar_names_are_told_apart_by_what_differs():
    """Cut at one place they would be the same; numbers are for names whose differences are too long."""
    region = [f"coefficient_of_the_log_of_population_density[{place}]" for place in ("Graz", "Wien", "Linz")]
    short = wording.short_names([*region, "mu"], 24)
    assert len(set(short)) == 4
    assert short[3] == "mu"
    for name, place in zip(short, ("Graz", "Wien", "Linz"), strict=False):
        assert len(name) <= 24
        assert place in name
    far = [f"{'a' * k}{'x' * 60}{'b' * (3 - k)}" for k in range(3)]
    assert len(set(wording.short_names(far, 16))) == 3


def test_r_hat_is_shown_so_that_it_can_be_read():
    assert wording.rhat_text(1.0123) == "1.012"
    assert wording.rhat_text(3.5e7) == wording.rhat_text(float("inf")) == "1,000 or more"  # chains that stand still
    assert wording.rhat_against(1.01002, 1.01) == "1.01002"  # and not 1.010, above 1.01
    assert wording.rhat_against(1.0099, 1.01) == "1.010"
    assert wording.rhat_against(2.0, 1.01) == "2.000"


@pytest.mark.parametrize(("count", "told"), [(0.2, "1"), (7.1, "8"), (99.0, "99"), (101.0, "110"), (1234.0, "1,300")])
def test_estimated_numbers_have_two_digits(count, told):
    assert wording.about(count) == told
