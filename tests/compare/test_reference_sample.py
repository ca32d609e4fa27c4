"""A reference sample as the target, and the choice of a family."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import copula_discrepancy as cd
from tests.caveat_codes import codes_of, warned
from tests.compare.misuse import REFERENCES, refused_naming


def test_values_are_differences_and_variances_add():
    draws, reference = cd.Gumbel(2.0).sample(600, rng=1), cd.Gumbel(2.4).sample(900, rng=2)
    result = cd.discrepancy(draws, reference, family="gumbel", iid=True)
    own, other = (cd.fit(given, "gumbel", iid=True) for given in (draws, reference))
    assert result.level.value == pytest.approx(own.sample_tau - other.sample_tau, abs=1e-15)
    assert result.total.value == pytest.approx(own.tau - other.tau, abs=1e-15)
    assert result.shape.value == pytest.approx(result.total.value - result.level.value, abs=1e-15)
    assert result.target == other.copula
    assert result.tau_target == other.sample_tau
    assert result.ckl == own.copula.kl(other.copula)
    for gap, name in ((result.level, "tau"), (result.total, "tau_fitted")):
        assert gap.se == pytest.approx(np.hypot(own.estimates[name].se, other.estimates[name].se), rel=1e-12)
    assert result.total.bias == pytest.approx(own.tau_bias - other.tau_bias, abs=1e-15)
    known = cd.discrepancy(draws, other.copula, iid=True)
    assert known.total.se < result.total.se
    assert known.estimates["ckl"].se < result.estimates["ckl"].se


def test_moments_compare_the_taus():
    draws, reference = cd.Gumbel(2.0).sample(600, rng=1), cd.Gumbel(2.4).sample(900, rng=2)
    result = cd.discrepancy(draws, reference, family="gumbel", method="moment", iid=True)
    assert result.total.value == result.level.value
    assert result.total.se == result.level.se
    assert result.shape.value == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("truth", [cd.Gumbel(2.0), cd.Frank(5.0)], ids=str)
def test_size_with_a_right_and_a_wrong_family(truth):
    """Draws and reference from one law, Gumbel fitted to both: 120 runs, binomial 99.9% band, even where Gumbel is wrong.

    p-values are 1/2 in the mean, to four deviations: none of the tests is idle.
    """
    rng = np.random.default_rng(3)
    names = ("level", "shape", "total", "ckl", "ced", "low_low", "high_high")
    pvalues = []
    for _ in range(120):
        result = cd.discrepancy(truth.sample(300, rng=rng), truth.sample(500, rng=rng), family="gumbel", iid=True)
        pvalues.append([result.estimates[name].pvalue for name in names])
    assert np.max(np.sum(np.array(pvalues) < 0.05, axis=0)) <= stats.binom.ppf(0.999, 120, 0.05)
    assert np.mean(pvalues, axis=0) == pytest.approx(np.full(len(names), 0.5), abs=4 / np.sqrt(12 * 120))


def test_power_in_strength_and_in_shape():
    gumbel, clayton = cd.Gumbel.from_tau(0.5), cd.Clayton.from_tau(0.5)
    weak = cd.discrepancy(cd.Gumbel.from_tau(0.35).sample(1500, rng=4), gumbel.sample(1500, rng=5), family="gumbel")
    assert weak.level.pvalue < 0.001
    assert weak.shape.pvalue > 0.01
    other = cd.discrepancy(clayton.sample(1500, rng=6), gumbel.sample(1500, rng=7), family="gumbel")
    assert other.level.pvalue > 0.01
    assert other.shape.pvalue < 0.001
    assert other.low_low.value > 0.1
    assert other.high_high.value < -0.1
    assert "reference" in repr(other)


def test_the_family_is_chosen_on_the_reference():
    draws, reference = cd.Gumbel(2.0).sample(1000, rng=8), cd.Clayton(2.0).sample(2000, rng=9)
    for family in ("auto", None):
        result = cd.discrepancy(draws, reference, family=family)
        assert result.selection.best.family == result.fit.family == "Clayton"
        assert result.selection.fits[1].family in result.sentences()["Family"]
        assert f"{result.selection.lead:.3g} behind" in repr(result)
        assert result.to_dict()["selection"]["ranking"][0]["family"] == "Clayton"
    assert cd.discrepancy(draws, reference, family="clayton").selection is None


@pytest.mark.parametrize(
    ("truth", "name"),
    [
        (cd.Clayton(2.0), "Clayton"), (cd.Gumbel(2.0), "Gumbel"), (cd.Frank(6.0), "Frank"), (cd.Gaussian(0.7), "Gaussian"),
        (cd.StudentT(0.6, 3.0), "StudentT"), (cd.Rotated(cd.Clayton(2.0), 90), "Clayton90"),
        (cd.Rotated(cd.Gumbel(2.0), 180), "Gumbel180"), (cd.Rotated(cd.Clayton(2.0), 270), "Clayton270"),
        (cd.Frank(-6.0), "Frank"),
    ],
    ids=str,
)  # fmt: skip
def test_selection_finds_the_truth(truth, name):
    found = cd.select_family(truth.sample(4000, rng=10))
    assert found.best.family == name
    assert list(found.aic) == sorted(found.aic)
    assert found.lead == found.aic[1] - found.aic[0]
    best = found.best
    parameters = 2 if name == "StudentT" else 1
    assert found.aic[0] == pytest.approx(2 * parameters - 2 * best.log_likelihood)
    assert len(found.fits) == 23  # five families in four directions, three that are their own
    assert name in repr(found)


def test_a_close_race_is_called_one():
    found = cd.select_family(cd.Gaussian(0.1).sample(60, rng=11), iid=True)
    assert found.lead < 2
    clear = cd.select_family(cd.Frank(8.0).sample(500, rng=1), iid=True)
    assert clear.lead > 2
    close, far = (words.partition(" behind")[2] for words in (found.words(), clear.words()))
    assert close
    assert not far  # a lead that is clear needs no comment


def test_student_t_takes_its_df_from_the_reference():
    draws, reference = cd.StudentT(0.5, 4.0).sample(800, rng=12), cd.StudentT(0.5, 4.0).sample(1500, rng=13)
    result = cd.discrepancy(draws, reference, family="studentt")
    assert result.fit.df == result.target.df == pytest.approx(cd.fit(reference, "studentt").df)
    assert result.total.pvalue > 0.001


def test_variables_are_matched_by_name():
    draws = pd.DataFrame(cd.Rotated(cd.Clayton(3.0), 90).sample(500, rng=14), columns=["mu", "sigma"])
    reference = pd.DataFrame(cd.Rotated(cd.Clayton(3.0), 90).sample(500, rng=15), columns=["mu", "sigma"])
    straight = cd.discrepancy(draws, reference, family="clayton90", iid=True)
    turned = cd.discrepancy(draws, reference[["sigma", "mu"]], family="clayton90", iid=True)
    assert turned.to_dict() == straight.to_dict()


@pytest.mark.parametrize("case", REFERENCES)
def test_references_that_cannot_be_used(case):
    REFERENCES[case].check()


def test_no_family_is_chosen_for_perfect_dependence():
    with refused_naming("perfect-dependence", "family='gumbel'"):
        cd.select_family(np.column_stack([np.arange(9.0), np.arange(9.0)]))


def test_a_poor_reference_is_said_to_be_one():
    draws = cd.Gumbel(2.0).sample(1000, rng=16)
    with warned("few-effective-draws"):
        cd.discrepancy(draws, cd.Gumbel(2.0).sample(60, rng=17), family="gumbel", iid=True)
    with warned("family-bound"):
        result = cd.discrepancy(draws, cd.Frank(-4.0).sample(1000, rng=18), family="gumbel")
    assert np.isfinite(result.level.se)
    assert np.isnan(result.total.se)
    assert np.isnan(result.estimates["ckl"].se)


def test_the_draws_as_their_own_reference():
    draws = cd.Gumbel(2.0).sample(300, rng=19)
    for family in ("gumbel", "auto"):
        with warned("same-rows"):
            result = cd.discrepancy(draws, draws, family=family)
        assert result.cd == result.ckl == 0.0
        assert result.estimates["ckl"].pvalue == 1.0


def test_binary_references_do_not_choose_impossible_tails():
    draws = np.random.default_rng(21).standard_normal((300, 2))
    binary = (draws[::-1] > 0.3) * 1.0
    with warned("few-values"):
        result = cd.discrepancy((draws > 0) * 1.0, binary)
    assert result.fit.family != "StudentT"
    assert np.isfinite(result.level.se)
    with warned("few-values"):
        cd.discrepancy(draws, binary)
    with warned("rounded-values"):
        cd.discrepancy(draws, np.round(2.0 * draws[::-1]))


def test_a_reference_rounded_alike_is_a_fair_one():
    draws, reference = (np.round(20 * cd.Gumbel(2.0).sample(500, rng=seed)) for seed in (1, 2))
    result = cd.discrepancy(draws, reference, family="gumbel", iid=True)
    assert "rounded-values" not in codes_of(result)
    assert result.shape.pvalue > 0.01
    with warned("rounded-values"):
        against_fine = cd.discrepancy(draws, cd.Gumbel(2.0).sample(500, rng=3), family="gumbel", iid=True)
    assert abs(against_fine.shape.value) > abs(result.shape.value)


def test_words_against_a_reference_take_no_side():
    """Both samples are estimates: the sentence has the size of the gap and both names, but neither "above" nor "below"."""
    result = cd.discrepancy(cd.Gumbel(2.5).sample(2000, rng=1), cd.Clayton(3.0).sample(2000, rng=2), family="gumbel")
    said = result.sentences()["Shape"]
    assert result.tests.beyond("shape")
    assert f" {result.shape.value:.2g} " in said
    assert {"draws", "reference", "above", "below"}.intersection(said.split()) == {"draws", "reference"}


def test_the_scores_of_a_far_reference_have_the_delta_methods_error():
    """Central differences in both thetas; the two slopes differ far from the null."""
    draws, reference = cd.Clayton(1.0).sample(800, rng=22), cd.Clayton(4.0).sample(500, rng=23)
    result = cd.discrepancy(draws, reference, family="clayton", iid=True)
    own, other, h = result.theta, result.target.theta, 1e-4

    def slope(score, first):
        up, down = ((own + h, other), (own - h, other)) if first else ((own, other + h), (own, other - h))
        return (score(*map(cd.Clayton, up)) - score(*map(cd.Clayton, down))) / (2 * h)

    for name, score in (("ckl", lambda a, b: a.kl(b)), ("ced", lambda a, b: abs(a.entropy() - b.entropy()))):
        parts = slope(score, True) * result.fit.se, slope(score, False) * result.reference.se
        assert abs(abs(parts[0] / result.fit.se) - abs(parts[1] / result.reference.se)) > 0.05 or name == "ced"
        assert result.estimates[name].se == pytest.approx(np.hypot(*parts), rel=1e-3)


def test_leads_on_chains_count_what_the_draws_are_worth():
    draws = np.repeat(cd.Gumbel(1.6).sample(300, rng=24), 10, axis=0)  # every draw ten times: a tenth of the evidence
    found = cd.select_family(draws)
    assert found.worth < 0.2
    assert f"({found.worth * found.lead:.2g} " in found.words()
    plain = cd.select_family(draws[::10])
    assert found.worth * found.lead < 3 * plain.lead
    assert cd.select_family(draws, iid=True).worth == 1.0
