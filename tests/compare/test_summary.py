"""The summary beside ArviZ's."""

import math

import numpy as np
import pytest

import copula_discrepancy as cd
from tests.compare.misuse import SUMMARY


def test_summary_agrees_with_discrepancy_and_with_kendall():
    rng = np.random.default_rng(11)
    draws = rng.standard_normal((4, 300, 3))
    draws[..., 1] += draws[..., 0]
    draws[:, 1:, 2] += 0.8 * draws[:, :-1, 2]
    table = cd.summary({"mu": draws[..., 0], "theta": draws[..., 1:]})
    assert list(table.index) == ["mu ~ theta[0]", "mu ~ theta[1]", "theta[0] ~ theta[1]"]
    assert list(table.columns) == [
        "tau",
        "mcse",
        "95%_low",
        "95%_high",
        "n_eff",
        "r_hat",
        "dependence",
        "independence_p",
        "form_r_hat",
    ]
    for row, (i, j) in zip(table.index, [(0, 1), (0, 2), (1, 2)], strict=True):
        single = cd.discrepancy(draws[..., [i, j]], cd.Frank(2.0))
        tau = single.estimates["tau"]
        alone = cd.discrepancy(draws[..., [i, j]], cd.Gaussian(0.0)).form
        form = [alone.value, alone.pvalue, single.form_rhats[0]]
        expected = [tau.value, tau.se, *tau.ci, tau.n_eff, single.rhat, *form]
        np.testing.assert_allclose(table.loc[row], expected, rtol=1e-10)
        assert table.loc[row, "tau"] == pytest.approx(cd.kendall_tau(draws[..., i].ravel(), draws[..., j].ravel()))
    rounded = cd.summary(draws, round_to=2, confidence=0.9, iid=True)
    exact = cd.summary(draws, confidence=0.9, iid=True)
    assert cd.summary(draws, round_to=2**31, confidence=0.9, iid=True).equals(exact)  # more decimals than floats have
    assert list(rounded.columns[2:4]) == ["90%_low", "90%_high"]
    assert (rounded == rounded.round(2)).all().all()
    assert (rounded["n_eff"] == 1200).all()


def test_summary_of_constant_and_equal_variables():
    rng = np.random.default_rng(12)
    x = rng.standard_normal((2, 100))
    table = cd.summary({"a": x, "b": x, "c": np.ones((2, 100))})
    assert table.loc["a ~ b", "tau"] == 1.0
    assert math.isnan(table.loc["a ~ b", "mcse"])
    assert table.loc[["a ~ c", "b ~ c"]].isna().all().all()


def test_summary_tells_stuck_chains():
    """Two chains with opposite dependence: every margin is fine, R-hat for dependence is not."""
    rng = np.random.default_rng(13)
    x = rng.standard_normal((2, 500))
    y = np.stack([x[0], -x[1]]) + 0.5 * rng.standard_normal((2, 500))
    table = cd.summary({"x": x, "y": y})
    assert table.loc["x ~ y", "r_hat"] > 1.1
    assert max(cd.rhat(np.stack([x, y], axis=-1)).values()) < 1.02


@pytest.mark.parametrize("case", SUMMARY)
def test_summary_refuses(case):
    SUMMARY[case].check()
