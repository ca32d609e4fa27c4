"""The score of synthetic tables in SDMetrics' shape."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

import copula_discrepancy as cd
from copula_discrepancy.compare import fidelity_tables
from copula_discrepancy.compare.fidelity_score import _change
from copula_discrepancy.estimate.form_target import copula_coefficients
from tests.caveat_codes import warned
from tests.compare.misuse import refused_naming


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
    n = 5000 if rho == 0.1 else 2000  # tau is 0.064, three standard errors of a difference at n = 2000, five at n = 5000
    real, copy = correlated(rho, d, n, 1), correlated(rho, d, n, 2)
    assert cd.DependenceFidelity.compute(real, destroyed(real, 3)) <= (0.2 if rho == 0.1 else 0.05)
    assert cd.DependenceFidelity.compute(real, copy) >= 0.97


def test_weak_dependence_lost_everywhere_is_seen_though_no_pair_alone_shows_it():
    """At three standard errors few of 105 pairs pass Bonferroni's limit; all of them together leave no doubt."""
    real = correlated(0.1, 15, 2000, 1)
    assert cd.DependenceFidelity.compute(real, destroyed(real, 3)) <= 0.4
    assert cd.DependenceFidelity.compute(real, correlated(0.1, 15, 2000, 2)) >= 0.97


def gaussian_table(rng, n, loadings):
    """A common factor: column k has correlation loadings[k] with it."""
    loadings = np.asarray(loadings)
    return rng.standard_normal((n, 1)) * loadings + rng.standard_normal((n, len(loadings))) * np.sqrt(1 - loadings**2)


def student_table(rng, n):
    return gaussian_table(rng, n, [0.7] * 5) / np.sqrt(rng.chisquare(4, (n, 1)) / 4)


def gumbel_table(rng, n):
    """Marshall and Olkin (1988): exponentials over a common positive stable variable of index 1 / 1.8, by Kanter (1975)."""
    a, angle = 1 / 1.8, rng.uniform(0, np.pi, n)
    stable = np.sin(a * angle) / np.sin(angle) ** (1 / a)
    stable *= (np.sin((1 - a) * angle) / rng.exponential(size=n)) ** ((1 - a) / a)
    return np.exp(-((rng.exponential(size=(n, 5)) / stable[:, None]) ** a))


HONEST = {
    "independent": lambda rng, n: rng.standard_normal((n, 3)),
    "independent, wide": lambda rng, n: rng.standard_normal((n, 8)),
    "weak": lambda rng, n: gaussian_table(rng, n, [0.3] * 5),
    "moderate": lambda rng, n: gaussian_table(rng, n, [0.6] * 5),
    "strong": lambda rng, n: gaussian_table(rng, n, [0.95] * 5),
    "mixed": lambda rng, n: gaussian_table(rng, n, [0.9, 0.6, 0.4, 0.2, 0.1]),
    "student": student_table,
    "gumbel": gumbel_table,
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 2000])
@pytest.mark.parametrize("kind", HONEST)
def test_honest_copies_score_one_but_for_rare_chance(kind, n):
    """The mean is 0.97 or more, within twice its own error; at most 5% lose much, within the binomial 99.9% band."""
    copies = 50_000 // n
    scores = []
    for seed in range(copies):
        rng = np.random.default_rng([seed, n])
        scores.append(cd.DependenceFidelity.compute(HONEST[kind](rng, n), HONEST[kind](rng, n), n_jobs=1))
    assert np.mean(scores) >= 0.97 - 2.0 * np.std(scores) / math.sqrt(copies)
    assert np.sum(np.array(scores) < 0.93) <= binom.ppf(0.999, copies, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 2000])
def test_the_score_falls_with_what_is_lost(n):
    """Means over 10 tables whose correlations, 0.64 in the real one, are multiplied by what is kept."""
    kept = (1.0, 0.8, 0.6, 0.4, 0.2, 0.0)
    mean = []
    for share in kept:
        scores = []
        for seed in range(10):
            rng = np.random.default_rng([seed, n])
            real, synthetic = (gaussian_table(rng, n, [0.8 * math.sqrt(part)] * 5) for part in (1.0, share))
            scores.append(cd.DependenceFidelity.compute(real, synthetic, n_jobs=1))
        mean.append(np.mean(scores))
    assert mean == sorted(mean, reverse=True)
    assert mean[0] >= 0.97
    assert mean[-1] <= 0.01
    # a correlation of 0.64 * 0.6 keeps 0.51 of the coefficients of one of 0.64, one of 0.64 * 0.4 0.33
    assert 0.5 < mean[2] < 0.75
    assert 0.25 < mean[3] < 0.5


def test_dependence_without_a_tau_counts_beside_strong_pairs():
    """Extremes that come together have tau 0: shuffled, the pair scores 0, and the table what its weight says."""
    rng = np.random.default_rng(3)

    def table():
        scale = np.sqrt(1.0 / rng.chisquare(1.5, 4000))
        x, y, z = rng.standard_normal((3, 4000))
        return pd.DataFrame({"a": x * scale, "b": y * scale, "c": z, "d": z + rng.standard_normal(4000)})

    real, synthetic = table(), table()
    synthetic["b"] = rng.permutation(synthetic["b"])
    told = cd.DependenceFidelity.compute_breakdown(real, synthetic)
    lost = told["pairs"]["a", "b"]
    assert abs(lost["tau_real"]) < 0.05
    assert lost["score"] == 0.0
    assert "cannot learn" in lost["meaning"]
    assert told["score"] == pytest.approx(1.0 - lost["weight"])


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
    # <A, B>/|B|^2 of the two families, up to order 4, from their densities
    expected = float(copula_coefficients(cd.Clayton(3.0), 4) @ copula_coefficients(cd.Gumbel(2.5), 4))
    largest = max(float(np.sum(copula_coefficients(copula, 4) ** 2)) for copula in (cd.Clayton(3.0), cd.Gumbel(2.5)))
    assert wrong == pytest.approx(expected / largest, abs=0.06)  # three standard errors of 3,000 rows
    assert wrong < 0.9


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
    # by hand, from the definition: with z the limit of the false discovery rate among the twelve gaps
    gaps = sorted(abs(pair[name]) / pair[name + "_se"] for pair in pairs.values() for name in ("level", "shape"))[::-1]
    passed = [k for k, gap in enumerate(gaps, 1) if 2 * norm.sf(gap) <= 0.05 * k / 12]
    z = norm.isf(0.025 * max(passed) / 12)
    excess = {name: math.sqrt(max(worst[name] ** 2 - (z * worst[name + "_se"]) ** 2, 0)) for name in ("level", "shape")}
    taus = sorted(abs(worst[name]) for name in ("tau_real", "tau_synthetic"))
    same_sign = worst["tau_real"] * worst["tau_synthetic"] > 0
    kept = math.sqrt(max(taus[0] ** 2 - (z * worst["level_se"]) ** 2 / 2, 0)) if same_sign else 0.0
    there = math.sqrt(taus[1] ** 2 - (z * worst["level_se"]) ** 2)
    by_hand = 1 - math.hypot(excess["level"] / max(excess["level"] + kept, 0.05), excess["shape"] / there)
    assert worst["score"] == pytest.approx(max(by_hand, 0), abs=1e-12)
    part = list(pairs.values())[2]  # lost as well; the three that were kept have gaps within chance
    assert part["score"] < 0.1
    assert all(pair["score"] == 1.0 for pair in list(pairs.values())[3:])


def test_it_has_the_shape_of_sdmetrics():
    """What SDMetrics reads off a metric class: name, goal, range, compute, compute_breakdown, normalize."""
    metric = cd.DependenceFidelity
    assert (metric.min_value, metric.max_value, metric.goal) == (0.0, 1.0, "MAXIMIZE")
    assert metric.normalize(0.25) == 0.25
    real = correlated(0.5, 2, 300, 1).assign(name="x")
    metadata = {"columns": {"c0": {"sdtype": "numerical"}, "c1": {"sdtype": "numerical"}, "name": {"sdtype": "categorical"}}}
    other = correlated(0.5, 2, 300, 2).assign(name="x")
    assert 0 <= metric.compute(real_data=real, synthetic_data=other, metadata=metadata) <= 1
    nested = {"tables": {"t": metadata}}
    assert metric.compute(real, other, nested) == metric.compute(real, other, metadata)
    with refused_naming("argument", "metadata", "{'fields': 3}"):
        metric.compute(real, real, metadata={"fields": 3})
    with refused_naming("argument", "metadata", "got c0"):
        metric.compute(real, real, metadata={"columns": {"c0": {"sdtype": "numerical"}}})
    with refused_naming("argument", "real_data", "Gumbel"):
        metric.compute(cd.Gumbel(2.0), real[["c0", "c1"]])
    holes = real.assign(c0=real["c0"].where(real.index > 4))
    assert 0 <= metric.compute(real[["c0", "c1"]], holes[["c0", "c1"]]) <= 1
    with refused_naming("nan", "c0", "5 of 300"):
        metric.compute(real[["c0", "c1"]], holes[["c0", "c1"]], missing="raise")


def test_no_score_is_above_one():
    rng = np.random.default_rng(1)
    for seed in range(20):
        table = cd.Gaussian(0.5).sample(15, rng=seed)
        wide = np.column_stack([table, rng.standard_normal((15, 2))])
        with warned("same-rows"):
            assert cd.DependenceFidelity.compute(wide, wide) <= 1.0


def survey(n, seed):
    """Nine columns as in a survey: two numbers, a truth value, three ordered ones, and three without an order."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    latent = [common + rng.standard_normal(n) for _ in range(6)]
    grade = np.array(["low", "middle", "high"])[np.digitize(latent[3], [-1, 1])]
    return pd.DataFrame(
        {
            "income": latent[0], "age": latent[1], "owner": latent[2] > 0, "grade": grade,
            "rating": np.digitize(latent[4], [-1.5, -0.5, 0.5, 1.5]) + 1, "visits": np.round(np.exp(latent[5])),
            "town": rng.choice(["A", "B"], n), "id": np.arange(n), "since": pd.Timestamp("2020-01-01"),
        }
    )  # fmt: skip


SURVEY = {
    "columns": {
        "income": {"sdtype": "numerical"},
        "age": {"sdtype": "numerical"},
        "owner": {"sdtype": "boolean"},
        "grade": {"sdtype": "categorical", "order": ["low", "middle", "high"]},
        "rating": {"sdtype": "ordinal"},
        "visits": {"sdtype": "categorical", "order_by": "numerical_value"},
        "town": {"sdtype": "categorical"},
        "id": {"sdtype": "id"},
        "since": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    }
}


def test_metadata_take_every_ordered_column_and_tell_the_others():
    real, copy = survey(800, 1), survey(800, 2)
    told = cd.DependenceFidelity.compute_breakdown(real, copy, SURVEY)
    assert told["left_out"] == {"id": "id", "since": "constant in the real table"}
    assert (told["n_pairs"], told["n_possible_pairs"]) == (21, 36)
    assert told["kinds"]["town"] == "nominal"
    assert {caveat["code"] for caveat in told["caveats"]} >= {"pairs-left-out", "constant"}
    assert told["score"] > 0.97
    # words in the order of the metadata: high with high, though "high" is the first by the alphabet
    assert told["pairs"]["income", "grade"]["tau_real"] > 0.25
    numbers = real.assign(grade=real["grade"].map({"low": 0, "middle": 1, "high": 2}), owner=real["owner"].astype(int))
    expected = cd.kendall_tau(numbers["grade"], numbers["owner"])
    pairs = {frozenset(names): pair for names, pair in told["pairs"].items()}
    assert pairs[frozenset(("grade", "owner"))]["tau_real"] == pytest.approx(expected)
    assert isinstance(real["grade"].iloc[0], str)  # the user's own table is as it was
    # lost where it was left out before: truth values and ordered words alone
    for name in ("owner", "grade", "rating"):
        broken = copy.assign(**{name: copy[name].sample(frac=1, random_state=1).to_numpy()})
        assert cd.DependenceFidelity.compute(real, broken, SURVEY) < 0.8


def test_metadata_of_other_frames_and_objects_agree():
    import polars as pl

    real, copy = survey(400, 1), survey(400, 2)
    score = cd.DependenceFidelity.compute(real, copy, SURVEY)
    assert cd.DependenceFidelity.compute(pl.from_dict(real.to_dict("list")), copy, SURVEY) == score
    columns = {name: column.to_numpy() for name, column in copy.items()}
    assert cd.DependenceFidelity.compute(real, columns, SURVEY) == score
    told = cd.DependenceFidelity.compute_breakdown(real.assign(more=1.0), copy.astype({"owner": object}), SURVEY)
    assert told["score"] == score
    assert set(told["left_out"]) == {"id", "since", "more"}
    unknown = copy.assign(grade="none")
    told = cd.DependenceFidelity.compute_breakdown(real, unknown, SURVEY)
    assert "no known order" in told["left_out"]["grade"]  # it has an order, but not of these values
    assert (told["n_pairs"], told["n_possible_pairs"]) == (15, 36)
    chosen = cd.DependenceFidelity.compute_breakdown(real, copy, SURVEY, var_names=["age", "owner"])
    assert list(chosen["pairs"]) == [("age", "owner")]
    assert chosen["left_out"] == {}
    assert chosen["n_possible_pairs"] == 1


def test_constant_columns_are_left_out_by_name():
    real, copy = correlated(0.5, 3, 300, 1), correlated(0.5, 3, 300, 2)
    told = cd.DependenceFidelity.compute_breakdown(real.assign(k=1.0), copy.assign(k=2.0))
    assert list(told["left_out"]) == ["k"]
    assert (told["n_pairs"], told["n_possible_pairs"]) == (3, 6)
    told = cd.DependenceFidelity.compute_breakdown(real, copy)
    assert told["left_out"] == {}
    assert told["caveats"] == []


def left_out_rows(told):
    """How many rows of each table were left out, as the warnings about them say."""
    found = (re.match(r"(real|synthetic) table: .*: (\d+ of \d+)$", sentence) for sentence in told["warnings"])
    return dict(match.groups() for match in found if match)


def test_missing_values_are_dropped_in_both_tables_when_asked():
    real, copy = correlated(0.5, 3, 500, 1), correlated(0.5, 3, 500, 2)
    holes = real.assign(c0=real["c0"].where(real.index >= 40)), copy.assign(c1=copy["c1"].where(copy.index >= 25))
    told = cd.DependenceFidelity.compute_breakdown(*holes, missing="drop")
    assert told["score"] == cd.DependenceFidelity.compute(real[40:], copy[25:])
    assert left_out_rows(told) == {"synthetic": "25 of 500", "real": "40 of 500"}
    owner = survey(300, 1).astype({"owner": object})
    owner.loc[:9, "owner"] = None
    told = cd.DependenceFidelity.compute_breakdown(owner, survey(300, 2), SURVEY, missing="drop")
    assert left_out_rows(told) == {"real": "10 of 300"}
    with refused_naming("nan", "owner (10 of 300"):
        cd.DependenceFidelity.compute(owner, survey(300, 2), SURVEY, missing="raise")
    told = cd.DependenceFidelity.compute_breakdown(owner, survey(300, 2), SURVEY)
    assert any("owner (10 of 300)" in sentence for sentence in told["warnings"])


def test_columns_that_the_reader_left_out_are_told(monkeypatch):
    read = fidelity_tables.as_draws

    def reader(data, **choices):
        draws = read(data, **choices)
        object.__setattr__(draws, "left_out", (("name", "text"),))
        return draws

    monkeypatch.setattr(fidelity_tables, "as_draws", reader)
    told = cd.DependenceFidelity.compute_breakdown(correlated(0.5, 3, 300, 1), correlated(0.5, 3, 300, 2))
    assert told["left_out"] == {"name": "text"}
    assert told["caveats"][0]["code"] == "pairs-left-out"
    assert told["warnings"][0] == told["caveats"][0]["sentence"]


def test_a_difference_between_two_dependences_of_zero_is_no_change() -> None:
    """Both sizes are 0 after their noise is taken off, and the difference is significant by chance: it was divided by 0."""
    assert not _change(0.0, 0.0, 0.01)
