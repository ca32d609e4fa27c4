"""The score in SDMetrics' shape and the summary beside ArviZ's."""

import math

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd


def correlated(rho, d, n, seed):
    """Every pair has correlation rho."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n, 1))
    values = math.sqrt(rho) * common + math.sqrt(1 - rho) * rng.standard_normal((n, d))
    return pd.DataFrame(values, columns=[f"c{k}" for k in range(d)])


def destroyed(table, seed):
    rng = np.random.default_rng(seed)
    return table.apply(lambda column: rng.permutation(column.to_numpy()))


@pytest.mark.parametrize("rho", [0.1, 0.3, 0.8])
@pytest.mark.parametrize("d", [2, 6, 15])
def test_lost_dependence_scores_low_and_an_honest_copy_high(rho, d):
    real, copy = correlated(rho, d, 2000, 1), correlated(rho, d, 2000, 2)
    assert cd.DependenceFidelity.compute(real, destroyed(real, 3)) <= 0.5
    assert cd.DependenceFidelity.compute(real, copy) >= (0.7 if rho == 0.1 else 0.9)


def test_one_dependent_pair_among_many_independent_ones_decides():
    """Most pairs of a wide table are independent before and after: they must not hide that the one dependence was lost."""
    rng = np.random.default_rng(4)
    real = pd.DataFrame(rng.standard_normal((1000, 20)), columns=[f"c{k}" for k in range(20)])
    real["c1"] = real["c0"] + 0.5 * rng.standard_normal(1000)
    again = pd.DataFrame(rng.standard_normal((1000, 20)), columns=real.columns)
    assert cd.DependenceFidelity.compute(real, again) <= 0.5
    again["c1"] = again["c0"] + 0.5 * rng.standard_normal(1000)
    assert cd.DependenceFidelity.compute(real, again) >= 0.9


def test_invented_dependence_scores_low_too():
    rng = np.random.default_rng(5)
    real = pd.DataFrame(rng.standard_normal((1000, 3)), columns=list("abc"))
    invented = correlated(0.6, 3, 1000, 6).set_axis(list("abc"), axis=1)
    assert cd.DependenceFidelity.compute(real, invented) <= 0.3


def test_wrong_tails_cost_something():
    real = pd.DataFrame(cd.Clayton(3.0).sample(3000, rng=1), columns=["a", "b"])
    same_tau = pd.DataFrame(cd.Gumbel(2.5).sample(3000, rng=2), columns=["a", "b"])
    honest = pd.DataFrame(cd.Clayton(3.0).sample(3000, rng=3), columns=["a", "b"])
    wrong, right = (cd.DependenceFidelity.compute(real, table) for table in (same_tau, honest))
    assert right > 0.97
    assert 0.5 < wrong < 0.8


def test_an_honest_copy_approaches_one_like_one_over_the_root_of_n():
    """Mean over 20 copies: 1 - score falls by the square root of 10 from n = 300 to 3000; the band is twice its own error."""
    lost = {}
    for n in (300, 3000):
        scores = [
            cd.DependenceFidelity.compute(correlated(0.5, 3, n, 10 + k), correlated(0.5, 3, n, 900 + k), n_jobs=1)
            for k in range(20)
        ]
        lost[n] = 1.0 - np.mean(scores)
    assert lost[300] < 0.12
    assert 1.6 < lost[300] / lost[3000] < 6.5


def test_the_breakdown_names_pairs_worst_first_and_adds_up():
    real = correlated(0.6, 4, 1500, 7)
    broken = correlated(0.6, 4, 1500, 8)
    broken["c2"] = np.random.default_rng(9).permutation(broken["c2"].to_numpy())
    told = cd.DependenceFidelity.compute_breakdown(real, broken[["c3", "c2", "c1", "c0"]])
    pairs = told["pairs"]
    assert len(pairs) == 6
    scores = [pair["score"] for pair in pairs.values()]
    assert scores == sorted(scores)
    assert all("c2" in names for names in list(pairs)[:3])
    assert sum(pair["weight"] for pair in pairs.values()) == pytest.approx(1.0)
    assert told["score"] == pytest.approx(sum(pair["weight"] * pair["score"] for pair in pairs.values()))
    worst = next(iter(pairs.values()))
    assert worst["score"] < 0.1
    assert worst["tau_real"] > 0.3 > 0.1 > worst["tau_synthetic"]
    # by hand, from the definition
    excess = worst["level"] ** 2 + worst["shape"] ** 2 - worst["level_se"] ** 2 - worst["shape_se"] ** 2
    by_hand = max(1 - math.sqrt(max(excess, 0)) / max(abs(worst["tau_real"]), abs(worst["tau_synthetic"]), 0.05), 0)
    assert worst["score"] == pytest.approx(by_hand)


def test_it_has_the_shape_of_sdmetrics():
    """What SDMetrics reads off a metric class: name, goal, range, compute, compute_breakdown, normalize."""
    metric = cd.DependenceFidelity
    assert (metric.min_value, metric.max_value, metric.goal) == (0.0, 1.0, "MAXIMIZE")
    assert metric.normalize(0.25) == 0.25
    real = correlated(0.5, 2, 300, 1).assign(name="x")
    metadata = {"columns": {"c0": {"sdtype": "numerical"}, "c1": {"sdtype": "numerical"}, "name": {"sdtype": "categorical"}}}
    assert 0 <= metric.compute(real_data=real, synthetic_data=real.sample(frac=1, random_state=1), metadata=metadata) <= 1
    nested = {"tables": {"t": metadata}}
    assert metric.compute(real, real[::-1], nested) == metric.compute(real, real[::-1], metadata)
    with pytest.raises(cd.InputError, match="name must be real numbers"):
        metric.compute(real, real)
    with pytest.raises(cd.InputError, match="metadata must describe columns"):
        metric.compute(real, real, metadata={"fields": 3})
    with pytest.raises(cd.InputError, match="names 1 numerical columns"):
        metric.compute(real, real, metadata={"columns": {"c0": {"sdtype": "numerical"}}})
    with pytest.raises(cd.InputError, match="real_data must be a table"):
        metric.compute(cd.Gumbel(2.0), real[["c0", "c1"]])
    holes = real.assign(c0=real["c0"].where(real.index > 4))
    with pytest.raises(cd.InputError, match="variable c0: 5 NaN"):
        metric.compute(real[["c0", "c1"]], holes[["c0", "c1"]])


def test_summary_agrees_with_discrepancy_and_with_kendall():
    rng = np.random.default_rng(11)
    draws = rng.standard_normal((4, 300, 3))
    draws[..., 1] += draws[..., 0]
    draws[:, 1:, 2] += 0.8 * draws[:, :-1, 2]
    table = cd.summary({"mu": draws[..., 0], "theta": draws[..., 1:]})
    assert list(table.index) == ["mu ~ theta[0]", "mu ~ theta[1]", "theta[0] ~ theta[1]"]
    assert list(table.columns) == ["tau", "mcse", "95%_low", "95%_high", "n_eff", "r_hat"]
    for row, (i, j) in zip(table.index, [(0, 1), (0, 2), (1, 2)], strict=True):
        single = cd.discrepancy(draws[..., [i, j]], cd.Frank(2.0))
        tau = single.estimates["tau"]
        expected = [tau.value, tau.se, *tau.ci, tau.n_eff, single.rhat]
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


@pytest.mark.parametrize(
    ("draws", "options", "message"),
    [
        (np.ones((10, 1)), {}, "at least two variables, got 1"),
        (np.random.default_rng(1).standard_normal((3, 2)), {}, "at least 4 draws"),
        (np.random.default_rng(1).standard_normal((30, 2)), {"confidence": 1.0}, "confidence must lie"),
        (np.random.default_rng(1).standard_normal((30, 2)), {"var_names": "mu"}, "no variable 'mu'"),
        ("nowhere.csv", {}, "no file called"),
    ],
)
def test_summary_refuses(draws, options, message):
    with pytest.raises(cd.InputError, match=message):
        cd.summary(draws, **options)


def test_no_score_is_above_one():
    rng = np.random.default_rng(1)
    for seed in range(20):
        table = cd.Gaussian(0.5).sample(15, rng=seed)
        wide = np.column_stack([table, rng.standard_normal((15, 2))])
        assert cd.DependenceFidelity.compute(wide, wide) <= 1.0
