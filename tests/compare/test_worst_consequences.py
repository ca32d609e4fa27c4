"""Sums, differences and joint extremes of all pairs."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import copula_discrepancy as cd
from copula_discrepancy.compare import worst_consequences as module
from tests.caveat_codes import codes_of, warned
from tests.refusals import refused


def table(seed, rho, n=1500):
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, n))
    return pd.DataFrame({"a": 2 * a, "b": 2 * (rho * a + np.sqrt(1 - rho**2) * b), "c": 5 + c})


DRAWS, REFERENCE = table(1, 0.0), table(2, 0.8, 1200)


@pytest.fixture(scope="module")
def lost():
    return cd.worst_consequences(DRAWS, REFERENCE, iid=True, n_resamples=100)


def test_the_pair_that_lost_its_dependence_comes_first(lost):
    assert lost.pair(0) == ("a", "b")
    assert lost.n_flagged == 1
    assert lost.outcome == "gap"
    assert lost.verdict == "dependence changes 1 of 3 pairs"
    frame = lost.to_dataframe()
    assert len(frame) == 30
    assert (frame["first"] + frame["second"])[:10].tolist() == ["ab"] * 10
    spread = frame.set_index("effect").loc["difference spread"].iloc[0]
    assert spread["draws"] == pytest.approx(np.sqrt(2), rel=0.1)  # in standard deviations of the reference
    assert spread["repaired"] == pytest.approx(np.sqrt(0.4), rel=0.1)
    assert spread["size"] == pytest.approx(spread["draws"] / spread["repaired"] - 1, rel=1e-12)
    sizes = frame["size"][frame["flagged"]].abs()
    assert (np.diff(sizes) <= 0).all()


QUESTIONS = {
    "sum spread": ("a + b", {"summary": "sd"}),
    "difference spread": ("a - b", {"summary": "sd"}),
    "sum low": ("a + b < {sum_low}", {}),
    "sum high": ("a + b > {sum_high}", {}),
    "difference low": ("a - b < {difference_low}", {}),
    "difference high": ("a - b > {difference_high}", {}),
    "both low": ("a < {a_low} and b < {b_low}", {}),
    "both high": ("a > {a_high} and b > {b_high}", {}),
    "low high": ("a < {a_low} and b > {b_high}", {}),
    "high low": ("a > {a_high} and b < {b_low}", {}),
}


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")  # few events in two of the corners
@pytest.mark.parametrize("effect", QUESTIONS)
def test_each_effect_is_that_of_a_function(effect):
    """The same numbers by another route: `consequence` with the reference's quantiles as thresholds."""
    other = table(2, 0.8)  # as many rows: nothing is random but the resamples
    result = cd.worst_consequences(DRAWS, other, iid=True, n_resamples=400, tail=0.2, standardize=False)
    columns = {"a": other.a, "b": other.b, "sum": other.a + other.b, "difference": other.a - other.b}
    edges = {f"{name}_low": np.quantile(column, 0.2) for name, column in columns.items()}
    edges |= {f"{name}_high": np.quantile(column, 0.8) for name, column in columns.items()}
    text, choices = QUESTIONS[effect]
    function = text.format(**{name: repr(float(edge)) for name, edge in edges.items()})
    alone = cd.consequence(DRAWS, other, function, iid=True, **choices)
    frame = result.to_dataframe()
    row = frame[(frame["first"] == "a") & (frame["second"] == "b") & (frame["effect"] == effect)].iloc[0]
    for name in ("draws", "repaired", "swapped", "reference", "dependence"):
        assert row[name] == pytest.approx(getattr(alone, name).value, rel=1e-9, abs=1e-12), name
    assert row["se"] == pytest.approx(alone.dependence.se, rel=0.2)  # two bootstraps of 400: each is known to 4%


def test_units_do_not_matter(lost):
    metres = cd.worst_consequences(DRAWS * [1.0, 1000.0, 1.0], REFERENCE * [1.0, 1000.0, 1.0], iid=True, n_resamples=100)
    columns = ["draws", "repaired", "se", "pvalue"]
    np.testing.assert_allclose(metres.to_dataframe()[columns], lost.to_dataframe()[columns], rtol=1e-9)
    assert "Units" in lost.sentences()
    raw = cd.worst_consequences(DRAWS, REFERENCE, iid=True, n_resamples=50, standardize=False)
    assert "Units" not in raw.sentences()


def test_words(lost):
    assert lost.described(0) in repr(lost).replace("\n           ", " ")
    assert "a ~ b" in lost._repr_html_()
    plain = json.loads(json.dumps(lost.to_dict()))
    assert plain["n_flagged"] == 1
    assert len(plain["effects"]) == 30
    assert "effects" not in lost.overview()
    with refused("argument"):
        lost.pair(3)
    for effect in QUESTIONS:
        row = lost.rows.copy()
        row[0] = row[0][np.argsort(row[0]["effect"] != [*QUESTIONS].index(effect), kind="stable")]
        shown = replace(lost, rows=row)
        assert "a" in shown.described(0)
        assert shown.table_rows()[1][-1] in ("wider", "narrower", "more often", "less often", "no effect found")


def test_nothing_is_found_between_halves():
    """Seeded: 60 runs of two samples of one distribution, any of 30 effects flagged; the exact 99.9% band above 5%."""
    alarms = 0
    for run in range(60):
        rng = np.random.default_rng([7, run])
        x, y = rng.standard_normal((2, 300, 3)) @ np.array([[1, 0.7, 0], [0, 0.7, 0.5], [0, 0, 0.9]])
        alarms += cd.worst_consequences(x, y, iid=True, n_resamples=60, n_jobs=1, rng=rng).n_flagged > 0
    assert alarms <= binom.ppf(0.9995, 60, 0.05)
    result = cd.worst_consequences(*np.random.default_rng(1).standard_normal((2, 300, 3)), iid=True, n_resamples=60)
    assert "ten numbers of every pair" in result.sentences()["Tested"]


def test_a_banana_and_a_funnel_are_seen():
    """Their correlation is 0, and sums have the spread they should have; the corners tell."""
    rng = np.random.default_rng(3)
    z, e = rng.standard_normal((2, 2, 3000))
    for shape in (z**2 + 0.3 * e, np.exp(z) * e):
        draws = np.column_stack([z[0], rng.permutation(shape[0])])
        result = cd.worst_consequences(draws, np.column_stack([z[1], shape[1]]), iid=True, n_resamples=100)
        assert result.n_flagged == 1


def test_the_same_rows_are_void():
    with warned("same-rows"):
        result = cd.worst_consequences(DRAWS, DRAWS.sample(frac=1.0, random_state=1), iid=True, n_resamples=50)
    assert result.outcome == "void"
    assert result.table_rows()[1][-1] == "void"
    assert list(result.sentences()) == ["Answer"]


def test_constant_variables_are_told():
    with warned("constant-in-draws"):
        result = cd.worst_consequences(DRAWS.assign(c=1.0), REFERENCE, iid=True, n_resamples=50)
    assert result.stuck == ("c",)
    assert result.names == ("a", "b")
    assert result.verdict.startswith("constant in the rows: c; ")


def test_rows_with_missing_values_are_left_out():
    draws, reference = DRAWS.copy(), REFERENCE.copy()
    draws.loc[:9, "c"] = np.nan
    reference.loc[:4, "a"] = np.nan
    result = cd.worst_consequences(draws, reference, iid=True, n_resamples=50)
    assert [sample.n_draws for sample in result.samples] == [1490, 1195]
    assert "10 of 1500" in " ".join(result.notes)
    assert "5 of 1200" in " ".join(result.notes)


def test_only_the_largest_of_very_many_pairs_are_tested(monkeypatch):
    monkeypatch.setattr(module, "MOST", 1)
    result = cd.worst_consequences(DRAWS, REFERENCE, iid=True, n_resamples=50)
    assert np.isfinite(result.rows["pvalue"]).all(axis=1).tolist() == [True, False, False]
    assert result.pair(0) == ("a", "b")
    assert result.table_rows()[2][-1] == "not tested"
    assert any("1 of 3 pairs" in note for note in result.notes)
    assert (result.rows["adjusted"][0] >= result.rows["pvalue"][0]).all()


def test_slow_chains_have_reservations():
    walks = np.cumsum(np.random.default_rng(1).standard_normal((4, 300, 2)), axis=1)
    with warned("few-effective-draws"):
        result = cd.worst_consequences(walks, REFERENCE[["a", "b"]].to_numpy(), iid="reference", n_resamples=50)
    assert "few-effective-draws" in codes_of(result)


@pytest.mark.parametrize(
    ("draws", "reference", "choices", "code"),
    [
        (DRAWS, None, {}, "no-target"),
        (DRAWS, cd.Gumbel(2.0), {}, "no-target"),
        (DRAWS[["a"]], REFERENCE[["a"]], {}, "shape"),
        (DRAWS, REFERENCE[["a", "b"]], {}, "names-differ"),
        (DRAWS[:15], REFERENCE, {}, "too-few-draws"),
        (DRAWS, REFERENCE, {"tail": 0.5}, "argument"),
        (DRAWS, REFERENCE, {"standardize": "yes"}, "argument"),
        (DRAWS, REFERENCE, {"adjust": "sidak"}, "argument"),
        (DRAWS, REFERENCE, {"n_resamples": 10}, "argument"),
        (DRAWS, REFERENCE, {"missing": "pairs"}, "argument"),
        (DRAWS.assign(a=2**60 + np.random.default_rng(1).permutation(1500)), REFERENCE, {}, "argument"),
    ],
)
def test_one_clear_error(draws, reference, choices, code):
    with refused(code):
        cd.worst_consequences(draws, reference, **choices)
