"""A study of settings: what it finds, what it cannot tell apart, what fails, and what it shows."""

import json
import math
import warnings

import joblib
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binom

import copula_discrepancy as cd
from copula_discrepancy.studies.tuning import _compared
from tests.caveat_codes import warned
from tests.numerals import numerals, numerals_of, one_line
from tests.refusals import refused

mpl.use("Agg")

TARGET = cd.Gaussian(0.7)


def biased(shift, rng):
    """Independent draws whose correlation is off by a known amount."""
    return cd.Gaussian(0.7 + shift).sample(800, rng=rng).reshape(4, 200, 2)


def test_finds_the_right_setting_and_marks_what_cannot_be_told_from_it():
    study = cd.tune(biased, [-0.4, -0.2, 0.0, 0.001, 0.15], TARGET, replications=8, name="shift", rng=1)
    near = [row.setting for row in study.near_best]
    assert near == [0.0, 0.001]  # a bias of 0.001 is far below the noise, the others far above
    assert study.best.setting in near
    assert study.best.pvalue == 1.0
    by_hand = np.mean([abs(TARGET.tau - cd.Gaussian(0.3).tau)])
    assert study.rows[0].cd == pytest.approx(by_hand, abs=5 * study.rows[0].cd_se)
    assert all(row.ksd > 0 for row in study.rows[:2])
    assert study.rows[0].level < 0 < study.rows[4].level


def test_standard_errors_are_those_of_the_runs():
    runs = []

    def sampler(shift, rng):
        draws = biased(shift, rng)
        runs.append(draws)
        return draws

    study = cd.tune(sampler, [0.0], TARGET, replications=5, rng=3)
    totals = [abs(cd.discrepancy(draws, TARGET).total.value) for draws in runs]
    shapes = [cd.discrepancy(draws, TARGET).shape.value for draws in runs]
    sizes = [min(cd.ess(draws).values()) for draws in runs]
    steins = [cd.ksd(draws, TARGET).value for draws in runs]
    row = study.rows[0]
    levels = [cd.discrepancy(draws, TARGET).level.value for draws in runs]
    for name, values in (("cd", totals), ("shape", shapes), ("level", levels), ("ess", sizes), ("ksd", steins)):
        assert getattr(row, name) == pytest.approx(np.mean(values))
        assert getattr(row, f"{name}_se") == pytest.approx(np.std(values, ddof=1) / math.sqrt(5))


def test_one_run_takes_the_standard_error_of_its_chains():
    study = cd.tune(biased, [0.0, -0.4], TARGET, replications=1, rng=1, by="level")
    draws = biased(0.0, np.random.default_rng(1).spawn(1)[0])
    result = cd.discrepancy(draws, TARGET)
    assert study.rows[0].cd == abs(result.level.value)
    assert study.rows[0].cd_se == result.level.se
    assert math.isnan(study.rows[0].ess_se)
    assert [row.near_best for row in study.rows] == [True, False]


def test_chains_that_repeat_others_are_left_out():
    """In the draws, whatever the setting, and in a reference."""

    def different(copies, rng):
        return cd.Gaussian(0.7).sample(800, rng=rng).reshape(4, 200, 2)

    def repeated(copies, rng):
        return different(copies, rng)[[0, 1, 2, 3, *[3] * copies]]

    for runs in (1, 2):
        once = cd.tune(different, [0, 2], TARGET, replications=runs, name="copies", rng=1)
        with warned("repeated-chains") as caught:
            twice = cd.tune(repeated, [0, 2], TARGET, replications=runs, name="copies", rng=1)
        for row, other in zip(twice.rows, once.rows, strict=True):
            assert row.to_dict() | {"seconds": 0.0} == pytest.approx(other.to_dict() | {"seconds": 0.0}, nan_ok=True)
        (warning,) = (entry.message for entry in caught)
        begin = f"chains repeat others in {runs} of {2 * runs} runs, first at copies 2: chain 4 has the same draws as chain 3"
        assert str(warning).startswith(begin)
    reference = different(0, np.random.default_rng(2))
    once = cd.tune(different, [0], reference, replications=1, rng=1)
    with warned("repeated-chains"):
        twice = cd.tune(different, [0], reference[[0, 1, 2, 3, 3]], replications=1, rng=1)
    assert twice.rows[0].cd_se == once.rows[0].cd_se


def test_the_truly_best_is_kept_as_often_as_promised():
    """Settings equally good: a precise and biased one among noisy and unbiased ones, whose absolute gaps are half-normal.

    1000 studies of each kind: the first must stay near the best in 95%, here above the exact 99.9% band of 94%.
    """
    rng = np.random.default_rng(2)

    def rows(runs):
        se, df = runs.std(axis=1, ddof=1) / math.sqrt(runs.shape[1]), runs.shape[1] - 1.0
        return [cd.TunedSetting(k, cd=r.mean(), cd_se=s, cd_df=df) for k, (r, s) in enumerate(zip(runs, se, strict=True))]

    for count, runs in ((2, 3), (10, 3), (10, 10)):
        for spread in (0.02, 0.002):
            kept = 0
            for _ in range(1000):
                noisy = np.abs(rng.normal(0.0, 0.1 / math.sqrt(2 / math.pi), (count - 1, runs)))
                alike = rng.normal(0.1, spread, (1, runs))
                kept += _compared(rows(np.concatenate([alike, noisy])), runs, 0.05)[0].near_best
            assert kept >= binom.ppf(0.001, 1000, 0.94)
    runs = rng.normal([[0.1], [0.1], [0.3]], 0.02, (3, 6))
    assert not _compared(rows(runs), 6, 0.05)[2].near_best
    # three runs have few degrees of freedom: a normal quantile would mark these two apart
    runs = np.array([[0.1, 0.11, 0.12], [0.115, 0.125, 0.135]])
    assert _compared(rows(runs), 3, 0.05)[1].near_best


def test_a_setting_that_diverges_is_reported_and_the_rest_goes_on():
    target = cd.BimodalMixture()

    def sampler(step, rng):
        return cd.sgld(target, [[1.5, 1.5], [-1.5, -1.5]], step=step, n_draws=200, burn_in=100, rng=rng)

    study = cd.tune(sampler, [0.05, 5.0], cd.Gumbel(2.0), replications=2, name="step size", rng=1)
    assert study.rows[0].failure is None
    assert numerals(study.rows[1].failure)[:2] == ["2", "2"]  # of two runs
    assert study.best is study.rows[0]
    assert "failed" in repr(study)
    assert study.plot() is not None
    every = cd.tune(sampler, [5.0, 6.0], cd.Gumbel(2.0), replications=1, rng=1)
    assert "failed" in repr(every)
    with refused("void"):
        _ = every.best


def test_draws_that_are_not_finite_are_a_failure_of_the_setting():
    def sampler(setting, rng):
        draws = biased(0.0, rng)
        if setting == "bad":
            draws = draws.copy()
            draws[1, 30:] = np.nan
        return draws

    study = cd.tune(sampler, ["good", "bad"], TARGET, replications=2, rng=1)
    assert study.rows[0].failure is None
    assert numerals_of("x0", study.rows[1].failure) == ["170", "800", "30", "1"]  # of 800 draws; from draw 30 of chain 1 on
    assert study.plot()[-1].get_xticklabels()[0].get_text() == "good"


def test_an_error_of_the_users_own_code_is_not_swallowed():
    def sampler(setting, rng):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        cd.tune(sampler, [1], TARGET, replications=1)


def test_ess_and_cd_disagree_on_welling_teh_with_minibatch_noise():
    """Minibatch noise makes large steps mix fast and to the wrong place."""
    target = cd.WellingTeh(batch=10, rng=0)

    def sampler(step, rng):
        return cd.sgld(target, target.sample(4, rng=rng), step=step, n_draws=1000, burn_in=200, rng=rng)

    reference = target.sample(5000, rng=1)
    study = cd.tune(
        sampler, [1e-3, 3e-3, 0.03, 0.05], reference, family="gaussian", score=target.gradient, replications=4, rng=1
    )
    assert study.largest_ess.setting >= 0.03
    assert study.best.setting <= 3e-3
    assert not study.largest_ess.near_best
    large = study.largest_ess
    disagreement = [f"{large.setting:.4g}", f"{large.ess:.0f}", f"{study.best.ess:.0f}", f"{large.cd:.4f}"]
    assert any(numerals(sentence)[:4] == disagreement for sentence in study.sentences())
    assert study.rows[-1].ksd > 10 * study.rows[0].ksd


def test_numerical_breakdown_of_a_foreign_sampler_is_a_failure_of_the_setting():
    def sampler(setting, rng):
        if setting == 1:
            raise np.linalg.LinAlgError("singular")
        if setting == 2:
            raise FloatingPointError("overflow")
        return biased(0.0, rng)

    study = cd.tune(sampler, [0, 1, 2], TARGET, replications=1, rng=1)
    assert study.rows[0].failure is None
    assert study.rows[1].failure == "LinAlgError: singular"
    assert study.rows[2].failure == "FloatingPointError: overflow"


def test_sentences_claim_no_more_than_was_tested():
    alone = cd.tune(biased, [0.0], TARGET, replications=2, rng=1)
    assert len(alone.sentences()) == 2  # where CD is smallest and where ESS is largest; there is no other setting

    def fixed(setting, rng):
        return biased(setting, np.random.default_rng(1))

    certain = cd.tune(fixed, [0.0, -0.3], TARGET, replications=3, rng=1)
    assert [row.near_best for row in certain.rows] == [True, False]  # runs that do not vary leave no doubt
    assert certain.rows[1].pvalue == 0.0
    assert len(certain.sentences()) == 3


def test_threads_leave_warnings_as_they_were():
    before = list(warnings.filters)
    with joblib.parallel_config("threading", n_jobs=4):
        for _ in range(3):
            cd.tune(biased, [0.0, -0.2], TARGET, replications=3, rng=5)
    assert warnings.filters == before


def test_pictures_of_odd_studies():
    def sampler(setting, rng):
        if setting in ("a failed one", math.nan, 50.0) or setting != setting:
            raise FloatingPointError("no")
        return biased(0.0, rng)

    labels = ["a rather long label", "another rather long label", "a failed one"]
    axes = cd.tune(sampler, labels, TARGET, replications=1, rng=1).plot()
    assert [label.get_text() for label in axes[-1].get_xticklabels()] == labels
    axes = cd.tune(sampler, [0.1, 50.0], TARGET, replications=1, rng=1).plot()
    assert axes[-1].get_xscale() == "log"  # failed settings count too
    assert len(cd.tune(sampler, [0.1, math.nan], TARGET, replications=1, rng=1).plot()[-1].get_xticks()) == 2
    axes = cd.tune(sampler, [50.0], TARGET, replications=1, rng=1).plot()
    assert axes[0].get_legend() is None
    study = cd.tune(sampler, [0.1], TARGET, replications=1, rng=1)
    with refused() as caught:
        study.plot(ax=axes[:1])
    assert str(caught.value).startswith("ax ")
    assert "3" in numerals(str(caught.value))
    plt.close("all")


def test_what_a_person_sees():
    study = cd.tune(biased, [0.0, -0.4], TARGET, replications=3, name="shift", rng=1)
    told = repr(study)
    assert numerals(told.splitlines()[0]) == ["2", "3"]  # settings, and runs of each
    assert "total" in told.splitlines()[0]
    marked = [line for line in told.splitlines() if line.endswith("best")]
    assert [numerals(line)[:2] for line in marked] == [["0", f"{study.best.cd:.4f}"]]
    assert all(sentence in one_line(told) for sentence in study.sentences())
    frame = study.to_dataframe()
    assert list(frame["setting"]) == [0.0, -0.4]
    assert study.to_dict()["settings"][1]["setting"] == -0.4
    numpy_settings = cd.tune(lambda k, rng: biased(0.0, rng), np.arange(2), TARGET, replications=1, rng=1)
    assert json.loads(json.dumps(numpy_settings.to_dict()))["settings"][1]["setting"] == 1
    assert cd.tune(lambda k, rng: biased(0.0, rng), [10**400, 2], TARGET, replications=1, rng=1).plot() is not None
    axes = study.plot()
    assert len(axes) == 3
    assert axes[-1].get_xlabel() == "shift"
    reference = TARGET.sample(500, rng=9)
    assert len(cd.tune(biased, [0.0], reference, replications=1, rng=1).plot()) == 2  # no score, no KSD


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        ((3.0, [1], TARGET), {}, "sampler"),
        ((biased, [], TARGET), {}, "settings"),
        ((biased, 0.1, TARGET), {}, "settings"),
        ((biased, [0.0], TARGET), {"replications": 0}, "replications"),
        ((biased, [0.0], TARGET), {"by": "cd"}, "by"),
        ((biased, [0.0], TARGET), {"confidence": 1.0}, "confidence"),
        ((biased, [0.0], "gumbel"), {}, "target"),
        ((biased, "abc", TARGET), {}, "settings"),
        ((biased, [0.1, 0.2, 0.1], TARGET), {}, "settings"),
        ((biased, [0.0], TARGET), {"family": "gumbel"}, "family"),
        ((biased, [0.0], TARGET.sample(50, rng=1)), {"family": "gauss"}, ""),
        ((biased, [0.0], TARGET), {"score": 3}, "score"),
        ((biased, [0.0], TARGET), {"name": 3}, "name"),
        ((biased, [0.0], TARGET), {"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_input(arguments, options, named):
    with pytest.raises(cd.InputError, match=f"^{named}"):
        cd.tune(*arguments, **options)


def test_a_setting_of_few_values_is_judged_by_its_level():
    """Draws that take two values have no likelihood, and still a strength."""
    rng = np.random.default_rng(3)
    coins = (rng.standard_normal((2, 60, 2)) > 0).astype(float)
    (row,) = cd.tune(lambda setting, rng: coins, [1.0], cd.Gaussian(0.5), replications=2, rng=1, n_jobs=1).rows
    assert row.cd == abs(row.level) > 0.0
    assert np.isnan(row.shape)
