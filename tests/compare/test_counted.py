"""Comparisons of rows that were counted: the same answers as from the rows themselves."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import copula_discrepancy as cd
from copula_discrepancy.compare import engine
from copula_discrepancy.compare.counted_draws import CountedDraws


def related(n, seed, *, lost=False, d=4):
    """Numbers with linear, bent and funnel-shaped dependence."""
    rng = np.random.default_rng(seed)
    a, b, c, e = rng.normal(size=(4, n))
    scale = rng.normal(size=n) if lost else a
    x = {"a": a, "b": 0.7 * a + 0.7 * b, "bend": a**2 + 0.5 * c, "funnel": e * np.exp(0.5 * scale)}
    return pd.DataFrame({name: x[name] for name in list(x)[:d]})


def mixed(n, seed, *, shuffled=False):
    """Columns of every kind, some values missing where a town is."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Graz", "Linz", "Wien"], n, p=[0.2, 0.3, 0.5])
    z = rng.normal(size=(n, 2))
    income = np.where(rng.random(n) < 0.05 + 0.2 * (town == "Linz"), np.nan, np.exp(z[:, 1] + 0.5 * z[:, 0]))
    return pd.DataFrame({
        "town": rng.permutation(town) if shuffled else town, "rent": 10.0 + 3.0 * (town == "Wien") + 2.0 * z[:, 0],
        "age": np.round(40.0 + 10.0 * z[:, 1] + 3.0 * z[:, 0]), "flag": rng.random(n) < 1.0 / (1.0 + np.exp(-z[:, 0])),
        "income": income, "kids": rng.poisson(np.exp(0.3 * z[:, 0])),
    })  # fmt: skip


def frames(*results):
    tables = [result.to_dataframe().set_index(["first", "second"]) for result in results]
    assert {*tables[0].index} == {*tables[1].index}
    return tables[0], tables[1].loc[tables[0].index]


def both(draws, reference, **choices):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return frames(*(cd.pairwise(draws, reference, engine=engine, **choices) for engine in ("exact", "counted")))


def test_numbers_as_from_the_rows():
    """Level, shape and form within a tenth of their standard errors, and the same verdicts."""
    exact, counted = both(related(100_000, 1, lost=True), related(100_000, 2), iid=True)
    for name in ("level", "shape", "total"):
        assert (abs(counted[name] - exact[name]) < 0.1 * exact[f"{name}_se"]).all()
        np.testing.assert_allclose(counted[f"{name}_se"], exact[f"{name}_se"], rtol=0.03)
    np.testing.assert_allclose(counted["kept"], exact["kept"], atol=0.01)
    tested = exact["form"] > 0.05
    assert tested.sum() >= 2
    assert (abs(counted["form"] - exact["form"]) < 0.1 * exact["form_se"])[tested].all()
    for name in ("low_low", "high_high", "low_high", "high_low"):
        assert (abs(counted[name] - exact[name]) < 0.5 * exact[f"{name}_se"]).all()
    assert (counted["verdict"] == exact["verdict"]).all()
    assert (counted["pattern"] == exact["pattern"]).all()


def test_columns_of_every_kind_as_from_the_rows():
    exact, counted = both(mixed(20_000, 1, shuffled=True), mixed(20_000, 2), iid=True)
    assert (counted["verdict"] == exact["verdict"]).all()
    assert (counted["n"] == exact["n"]).all()
    known = exact["form_pvalue"].notna()
    assert known.equals(counted["form_pvalue"].notna())
    # of strongly dependent pairs, standard errors include what the bins hide
    np.testing.assert_allclose(counted["form_pvalue"][known], exact["form_pvalue"][known], atol=0.08)
    np.testing.assert_allclose(counted["level"], exact["level"], atol=2e-4)
    assert counted.loc[("town", "rent"), "verdict"] == "association lost"
    assert counted.loc[("town", "income is missing"), "verdict"] == "association lost"


def test_margins_as_from_the_rows():
    one, two = mixed(20_000, 1), mixed(20_000, 2)
    one["rent"] += 0.2
    one.loc[one.index[:1500], "town"] = "Graz"
    exact, counted = (cd.pairwise(one, two, iid=True, engine=engine).margins for engine in ("exact", "counted"))
    own, theirs = (found.to_dataframe().set_index("variable") for found in (exact, counted))
    theirs = theirs.loc[own.index]
    assert (own["flagged"] == theirs["flagged"]).all()
    assert own["flagged"].sum() == 2
    np.testing.assert_allclose(theirs["pvalue"], own["pvalue"], rtol=0.2, atol=0.02)
    np.testing.assert_allclose(theirs["shift"].dropna(), own["shift"].dropna(), atol=0.01)


def autoregressive(seed, phi, chains=4, draws=10_000, d=3):
    from scipy.signal import lfilter

    noise = np.random.default_rng(seed).multivariate_normal(np.zeros(d), 0.4 * np.eye(d) + 0.6, (chains, draws + 200))
    return lfilter([math.sqrt(1.0 - phi**2)], [1.0, -phi], noise, axis=1)[:, 200:]


@pytest.mark.parametrize("phi", [0.0, 0.9])
def test_errors_hold_on_chains(phi):
    exact, counted = both(autoregressive(1, phi), autoregressive(2, phi))
    for name in ("level", "shape", "form"):
        ratio = counted[f"{name}_se"] / exact[f"{name}_se"]
        assert 0.8 < ratio.min() <= ratio.max() < 1.3  # each is known to a tenth
    np.testing.assert_allclose(counted["rhat"], exact["rhat"], atol=1e-3)
    assert (counted["n_eff"] < 0.3 * 40_000).all() == (phi > 0)


def test_chains_that_disagree_are_told():
    draws = autoregressive(1, 0.0)
    draws[0, :, 1] = np.random.default_rng(3).normal(size=10_000)
    with pytest.warns(cd.DependenceWarning):
        result = cd.pairwise(draws, autoregressive(2, 0.0), engine="counted")
    assert "chains-disagree" in {caveat.code for caveat in result.caveats}
    assert result["x0", "x1"].rhat > 1.03


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_size_and_power(seed):
    """400 pairs of samples of one copula: rejections of each test inside the exact 99.9% band of 5%; others are found."""
    low, high = binom.ppf([0.0005, 0.9995], 400, 0.05)
    rng = np.random.default_rng(seed)
    copula = cd.Gumbel(1.6)
    pvalues = {name: [] for name in ("level", "shape", "form", "tails")}
    for _ in range(400):
        samples = (copula.sample(1000, rng=rng) for _ in range(2))
        row = cd.pairwise(*samples, family="gumbel", iid=True, engine="counted", n_jobs=1).rows[0]
        for name, found in pvalues.items():
            found.append(row[f"{name}_pvalue"])
    for name, found in pvalues.items():
        rejected = int(np.sum(np.array(found) < 0.05))
        assert (0 if name == "tails" else low) <= rejected <= high, (name, rejected)  # tails are Bonferroni's
    samples = cd.Gaussian(copula.tau * 1.4).sample(4000, rng=1), copula.sample(4000, rng=2)
    other = cd.pairwise(*samples, iid=True, engine="counted")
    assert other.n_flagged == 1


def test_independence_of_a_funnel_is_seen():
    """All margins right, tau 0 in both: what has lost its dependence is flagged, whatever was counted."""
    lost = related(20_000, 1, lost=True)[["a", "funnel"]]
    result = cd.pairwise(lost, related(20_000, 2)[["a", "funnel"]], iid=True, engine="counted")
    assert result.worst.verdict.startswith("funnel lost")
    assert abs(result.worst.level) < 0.03


def test_sketches_in_place_of_rows():
    one, two = related(20_000, 1, lost=True), related(20_000, 2)
    sketches = [cd.DependenceSketch.of(rows, iid=True) for rows in (one, two)]
    result = cd.pairwise(*sketches)
    direct = cd.pairwise(one, two, iid=True, engine="counted")
    assert result.counted
    assert direct.counted
    for name in direct.rows.dtype.names:
        np.testing.assert_array_equal(result.rows[name], direct.rows[name])
    assert result.iid is True
    assert any("20,000 rows were counted in up to 240 bins" in note for note in result.notes)
    some = cd.pairwise(*sketches, var_names=["bend", "a"])
    assert some.names == ("bend", "a")
    with pytest.raises(cd.InputError, match="kinds of a sketch"):
        cd.pairwise(*sketches, kinds={"a": "nominal"})


def test_other_targets():
    sketch = cd.DependenceSketch.of(cd.Clayton(2.0).sample(20_000, rng=1), iid=True)
    assert cd.pairwise(sketch, cd.Clayton(2.0)).n_flagged == 0
    assert cd.pairwise(sketch, cd.Gumbel(2.0)).n_flagged == 1
    assert cd.pairwise(sketch).rows["family"][0] == "Clayton"
    assert cd.pairwise(sketch, np.array([[1.0, 0.7], [0.7, 1.0]])).n_flagged == 1
    assert cd.pairwise(sketch, {("x0", "x1"): cd.Clayton(2.0)}).n_flagged == 0
    found = cd.pairwise(sketch, cd.Clayton(2.0).sample(5000, rng=2))
    assert found.n_flagged == 0  # a sample in memory is counted, too


def test_one_pair_in_detail():
    one, two = cd.StudentT(0.6, 4.0).sample(30_000, rng=1), cd.Gaussian(0.6).sample(30_000, rng=2)
    sketches = [cd.DependenceSketch.of(rows, iid=True) for rows in (one, two)]
    found, exact = cd.discrepancy(*sketches), cd.discrepancy(one, two, iid=True)
    for name in ("level", "shape", "total", "form", "ckl", "ced"):
        own, theirs = found.estimates[name], exact.estimates[name]
        assert abs(own.value - theirs.value) < 0.15 * theirs.se
        assert own.se == pytest.approx(theirs.se, rel=0.05)
    assert found.verdict == exact.verdict
    with pytest.raises(cd.InputError, match="bootstrap"):
        found.infer(replications=10)
    with pytest.raises(cd.InputError, match="running gap"):
        cd.plot_trace(found)
    with pytest.raises(cd.InputError, match="ranks only"):
        cd.discrepancy(*sketches, margins="uniform")


def test_a_pair_of_a_ranking_has_its_numbers():
    result = cd.pairwise(related(20_000, 1, lost=True), related(20_000, 2), iid=True, engine="counted")
    for gap in result:
        pair = result.pair(*gap.names)
        assert pair.level.value == gap.level
        assert pair.shape.value == gap.shape
        assert pair.shape.se == gap.shape_se
        assert pair.form.value == gap.form
        assert pair.verdict == gap.verdict
    fitted = result.fitted("a", "b")
    assert fitted.n == 20_000
    assert "Fit of" in repr(fitted)
    assert math.isfinite(fitted.se)


def test_levels_of_a_pair():
    result = cd.pairwise(mixed(20_000, 1, shuffled=True), mixed(20_000, 2), iid=True, engine="counted")
    exact = cd.pairwise(mixed(20_000, 1, shuffled=True), mixed(20_000, 2), iid=True, engine="exact")
    assert result.levels("town", "rent").sentence == exact.levels("town", "rent").sentence


def test_the_page(tmp_path):
    result = cd.pairwise(mixed(5000, 1, shuffled=True), mixed(5000, 2), iid=True, engine="counted")
    page = result.to_html(tmp_path / "page.html")
    text = page.read_text()
    assert "counted in up to" in text
    numbers = json.loads(page.with_suffix(".json").read_text())
    assert numbers["n_flagged"] == result.n_flagged
    assert numbers["joint"] is None
    assert numbers["draws"] == {"n_chains": 1, "n_draws": 5000}


def test_the_same_counts_are_void():
    sketch = cd.DependenceSketch.of(related(5000, 1), iid=True)
    with pytest.warns(cd.DependenceWarning, match="same counts"):
        result = cd.pairwise(sketch, sketch)
    assert result.void
    assert result.outcome == "void"


def test_what_counts_cannot_do():
    rows = related(3000, 1)
    sketch = cd.DependenceSketch.of(rows, iid=True)
    for choices, said in (
        ({"engine": "exact"}, "a sketch has none"),
        ({"lags": 2}, "no lags"),
        ({"exact": True}, "no exact"),
        ({"engine": "fast"}, "engine must be"),
        ({"memory": "much"}, "memory must be"),
        ({"memory": 10}, "at least 50MB"),
    ):
        with pytest.raises(cd.InputError, match=said):
            cd.pairwise(sketch, rows, **choices)
    with pytest.raises(cd.InputError, match="by='a' needs rows"):
        cd.pairwise(sketch, rows, by="a")
    with pytest.raises(cd.InputError, match="two columns"):
        cd.discrepancy(sketch, sketch)
    with pytest.raises(cd.InputError, match="coords"):
        cd.pairwise(rows, rows[::-1], engine="counted", coords={"q": [1]})
    with pytest.raises(cd.InputError, match="names"):
        cd.pairwise(sketch, rows.rename(columns={"b": "c"}))
    with pytest.raises(cd.InputError, match="listwise"):
        cd.pairwise(iter([rows] * 100), rows, iid=True, missing="listwise", engine="counted")


class TestMemory:
    """Many independent rows in memory are counted, and what bins would blur is ranked."""

    @pytest.fixture(autouse=True)
    def _few_are_many(self, monkeypatch):
        monkeypatch.setattr(engine, "MANY_ROWS", 20_000)

    def test_numbers_and_note(self):
        one, two = related(20_000, 1, lost=True), related(20_000, 2)
        near = np.random.default_rng(3).normal(size=20_000)
        for rows in (one, two):
            rows["near"] = rows["a"] + 0.001 * near  # too strong for bins
        result = cd.pairwise(one, two, iid=True)
        exact = cd.pairwise(one, two, iid=True, engine="exact")
        assert result.counted
        assert any("ranked exactly" in note and "no standard error by more than a hundredth" in note for note in result.notes)
        own, theirs = frames(result, exact)
        assert own.loc[("a", "near"), "shape"] == theirs.loc[("a", "near"), "shape"]  # ranked
        assert own.loc[("a", "b"), "shape"] != theirs.loc[("a", "b"), "shape"]  # counted
        np.testing.assert_allclose(own["level_se"], theirs["level_se"], rtol=0.01)
        np.testing.assert_allclose(own["shape_se"], theirs["shape_se"], rtol=0.03)
        assert (own["verdict"] == theirs["verdict"]).all()
        assert result.joint.pvalue == exact.joint.pvalue  # from the rows, which are there
        for names in (("a", "near"), ("a", "b")):
            assert result.pair(*names).shape.value == result[names].shape
            assert result.pair(*names).shape.se == result[names].shape_se

    def test_when_rows_are_ranked(self):
        one, two = related(20_000, 1), related(20_000, 2)
        assert not cd.pairwise(one, two).counted  # serial dependence is better known from the rows
        assert not cd.pairwise(one[:19_000], two[:19_000], iid=True).counted
        assert not cd.pairwise(one, two, iid=True, engine="exact").counted

    def test_missing_values_are_counted(self):
        one, two = mixed(20_000, 1, shuffled=True), mixed(20_000, 2)
        result, exact = cd.pairwise(one, two, iid=True), cd.pairwise(one, two, iid=True, engine="exact")
        assert result.counted
        own, theirs = frames(result, exact)
        assert (own["n"] == theirs["n"]).all()
        assert (own["verdict"] == theirs["verdict"]).all()


def test_stand_ins_are_no_rows():
    """What stands in for rows has every bin, and says how many rows there are; it is not used as rows."""
    sketch = cd.DependenceSketch.of(mixed(5000, 1), iid=True)
    draws = CountedDraws.of(sketch)
    assert (draws.n_chains, draws.n_draws) == (1, 5000)
    assert draws.kind(0) == "nominal"
    points = draws.pictured("rent", "income", points=1000)
    assert points.n_draws == 1000
    rows = mixed(5000, 1)
    assert np.nanmedian(points.column(0)) == pytest.approx(rows["rent"].median(), abs=0.1)
    assert np.isnan(points.column(1)).mean() == pytest.approx(rows["income"].isna().mean(), abs=0.01)


def test_drift_makes_errors_large():
    """Three quarters of the rows in one bin: their order is not known, and nothing is claimed about it."""
    rng = np.random.default_rng(1)
    parts = []
    for k in range(4):
        x = rng.normal(5.0 * k, 1.0, 10_000)
        parts.append(np.column_stack([x, x + rng.normal(size=10_000)]))
    drifted = cd.DependenceSketch.plan(parts[0], iid=True)
    for part in parts:
        drifted.update(part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        result = cd.pairwise(drifted, cd.DependenceSketch.of(np.concatenate(parts), iid=True))
    gap = result.worst
    assert abs(gap.level) > 0.2
    assert gap.level_se > abs(gap.level)
    assert result.n_flagged == 0
    assert {"outgrown-bins", "few-effective-draws"} <= {caveat.code for caveat in result.caveats}


def test_counted_results_are_no_rows():
    """What stands for a sample in a result is refused where rows are needed."""
    result = cd.pairwise(related(3000, 1), related(3000, 2), iid=True, engine="counted")
    for function in (cd.as_draws, cd.summary, lambda draws: cd.fit(draws, "gaussian"), lambda draws: cd.repair(draws, draws)):
        with pytest.raises(cd.InputError, match="are gone"):
            function(result.samples[0])


def test_plots_of_counted_rows():
    from matplotlib.figure import Figure

    result = cd.pairwise(related(3000, 1, lost=True), related(3000, 2), iid=True, engine="counted")
    assert result.plot("form", ax=Figure().subplots()) is not None
    pair = result.pair("a", "b")
    assert cd.plot_pair(pair, ax=Figure().subplots(1, 2)) is not None
    assert cd.plot_form(pair, ax=Figure().subplots(1, 3)) is not None
    axes = cd.plot_tau_forest(result, ax=Figure().subplots())
    taus = [line.get_xdata()[0] for line in axes.get_lines() if len(line.get_xdata()) == 1]
    assert any(abs(tau - result["a", "b"].tau) < 1e-9 for tau in taus)


def test_files_of_a_pattern_are_chains(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    draws, reference = autoregressive(1, 0.5), autoregressive(2, 0.5)
    for chain in range(4):
        pd.DataFrame(draws[chain], columns=list("abc")).to_parquet(tmp_path / f"chain{chain}.parquet")
    other = {name: reference[..., k] for k, name in enumerate("abc")}
    found = cd.pairwise(str(tmp_path / "chain*.parquet"), other, engine="counted")
    assert found.samples[0].n_chains == 4
    direct = cd.pairwise({name: draws[..., k] for k, name in enumerate("abc")}, other, engine="counted")
    for name in ("level", "shape", "form", "level_se", "shape_se", "form_se", "rhat"):
        np.testing.assert_allclose(found.rows[name], direct.rows[name], rtol=1e-12)
    table = cd.pairwise(str(tmp_path), other, engine="counted")
    assert table.samples[0].n_chains == 1  # a folder is one table


def test_shuffled_rows_with_chain_and_draw(tmp_path):
    """Blocks of rows are those of the draws' numbers, wherever in the file they are."""
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    draws, reference = autoregressive(1, 0.9), autoregressive(2, 0.9)
    columns = {name: draws[..., k].ravel() for k, name in enumerate("abc")}
    chain, draw = (axis.ravel() for axis in np.indices(draws.shape[:2]))
    rows = pd.DataFrame(columns | {"chain": chain, "draw": draw}).sample(frac=1.0, random_state=1)
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=7000)
    other = {name: reference[..., k] for k, name in enumerate("abc")}
    shuffled = cd.pairwise(tmp_path / "rows.parquet", other, engine="counted")
    assert shuffled.samples[0].n_chains == 4
    straight = cd.pairwise({name: draws[..., k] for k, name in enumerate("abc")}, other, engine="counted")
    np.testing.assert_allclose(shuffled.rows["n_eff"], straight.rows["n_eff"], rtol=0.05)  # the pilots differ
    assert (shuffled.rows["n_eff"] < 15_000).all()


def test_rows_without_an_order_are_independent(monkeypatch):
    pl = pytest.importorskip("polars", reason="LazyFrames are those of polars")
    rows, other = related(3000, 1), related(3000, 2)
    for choices in ({}, {"engine": "counted"}):
        result = cd.pairwise(pl.from_pandas(rows).lazy(), other, **choices)
        assert result.iid == "draws"
        assert any("no order" in note for note in result.notes)
    assert cd.pairwise(pl.from_pandas(rows).lazy(), other, iid=True).iid is True


def test_bad_rows_name_their_file(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    for k in range(3):
        rows = related(2000, k)
        if k == 1:
            rows.loc[7, "b"] = np.inf
        rows.to_parquet(tmp_path / f"part-{k}.parquet")
    with pytest.raises(cd.InputError, match=r"part-1\.parquet.*b has 1 infinite"):
        cd.pairwise(tmp_path, related(2000, 9), iid=True, engine="counted")


def test_sketch_files_in_place_of_rows(tmp_path):
    rows = related(3000, 1)
    path = cd.DependenceSketch.of(rows, iid=True).save(tmp_path / "rows.sketch")
    assert cd.pairwise(related(3000, 2), path, iid=True).counted
    assert cd.pairwise(related(3000, 2), str(path), iid=True).counted


def test_numbers_of_missing_values_are_those_of_all_rows():
    rows = mixed(5000, 1)
    result = cd.pairwise(rows, mixed(5000, 2), iid=True, engine="counted")
    count = int(rows["income"].isna().sum())
    assert any(f"income ({count:,} of 5,000)" in note for note in result.notes)
    ordered = cd.pairwise(rows, mixed(5000, 2), engine="counted")
    assert any("not compared, because the rows are in order" in note for note in ordered.notes)
