"""Dependence over time: pairwise with lags."""

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import copula_discrepancy as cd
from copula_discrepancy.cli import main

# short paths have few effective draws, which warnings say; here it is about the gaps
pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
BURN = 150


def garch(rng, paths, steps, d=1, a=0.2, b=0.75):
    """GARCH(1,1) with normal shocks and unit variance, after a start that is left out."""
    noise, found, variance = rng.standard_normal((paths, steps + BURN, d)), [], np.ones((paths, d))
    for t in range(steps + BURN):
        found.append(np.sqrt(variance) * noise[:, t])
        variance = 1.0 - a - b + a * found[-1] ** 2 + b * variance
    return np.stack(found[BURN:], axis=1)


def vector(rng, paths, steps, matrix):
    """A vector autoregression with independent normal shocks."""
    noise = rng.standard_normal((paths, steps + BURN, len(matrix)))
    for t in range(1, steps + BURN):
        noise[:, t] += noise[:, t - 1] @ np.asarray(matrix).T
    return noise[:, BURN:]


def shuffled(rng, values):
    """The same values without any order in time."""
    flat = values.reshape(-1, values.shape[-1])
    return flat[rng.permutation(len(flat))].reshape(values.shape)


def off(result):
    """The kinds of pairs with gaps of their own."""
    table = result.by_lag().groupby("kind")["flagged"].sum()
    return {*table.index[table > 0]}


def test_lost_volatility_clusters_are_named():
    rng = np.random.default_rng(1)
    result = cd.pairwise(shuffled(rng, garch(rng, 50, 80)), garch(rng, 1, 2000)[0], lags=3)
    assert off(result) == {"volatility clustering"}
    assert result.lags == (1, 2, 3)
    assert result.verdict.endswith("(volatility clustering)")
    assert "volatility clustering (3 of 3 pairs, at lags 1 to 3)" in result.sentences()["Time"]
    # the form of values and their past differs too, because their extremes do: told apart from an own past that is wrong
    table = result.by_lag()
    assert table["explained"].sum() + table["flagged"].sum() == result.n_flagged > table["flagged"].sum()


def test_a_lost_past_is_named():
    rng = np.random.default_rng(2)
    result = cd.pairwise(rng.standard_normal((50, 80, 1)), vector(rng, 1, 2000, [[0.5]])[0], lags=3)
    assert "own past" in off(result)
    assert "leverage" not in off(result)
    assert result["x0", "x0[t-1]"].verdict.startswith("too weak")


def test_the_past_of_others_is_named_and_its_direction():
    rng = np.random.default_rng(3)
    joined = [[0.4, 0.5], [0.0, 0.4]]
    reference = vector(rng, 1, 2000, joined)[0]
    alone = np.stack([vector(rng, 40, 80, joined)[:, :, 0], vector(rng, 40, 80, joined)[:, :, 1]], axis=-1)
    result = cd.pairwise(alone, reference, lags=2)
    assert {"others' past"} <= off(result) <= {"others' past", "same time", "volatility spillover"}
    assert result["x0", "x1[t-1]"].flagged  # x1 leads x0
    assert not result["x1", "x0[t-2]"].flagged


def test_leverage_is_named():
    rng = np.random.default_rng(4)

    def asymmetric(paths, steps, lever):
        noise, found, variance = rng.standard_normal((paths, steps)), [], np.ones(paths)
        for t in range(steps):
            found.append(np.sqrt(variance) * noise[:, t])
            bad = np.where(found[-1] < 0, 1 + lever, 1 - lever)
            variance = 0.1 + 0.3 * bad * found[-1] ** 2 + 0.6 * variance
        return np.stack(found, axis=1)[:, :, None]

    result = cd.pairwise(asymmetric(60, 100, 0.0), asymmetric(60, 100, 0.9), lags=1)
    assert "leverage" in off(result)
    assert result["|x0|", "x0[t-1]"].tau_target < -0.05 < result["|x0|", "x0[t-1]"].tau


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "other"), [((60, 50), (1, 1500)), ((4, 500), (4, 500)), ((200, 30), (200, 30))], ids=["mixed", "long", "short"]
)
def test_equal_processes_have_no_gap(shape, other):
    """20 comparisons at 5%: more than 5 with a gap have a probability of 0.03% (binomial)."""
    gaps = 0
    for seed in range(20):
        rng = np.random.default_rng([5, seed])
        gaps += cd.pairwise(garch(rng, *shape), garch(rng, *other), lags=[1, 3]).n_flagged > 0
    assert gaps <= 5


@pytest.mark.slow
def test_many_short_paths_have_the_right_size():
    """Single tests at 5% of 100 paths of 30 steps: more than 9 of 60 have a probability of 0.1% (binomial)."""
    pvalues = []
    for seed in range(60):
        rng = np.random.default_rng([6, seed])
        draws, reference = (garch(rng, 100, 30, a=0.1, b=0.88) for _ in range(2))
        result = cd.pairwise(draws, reference, lags=[1], method="moment")
        pvalues.append([result["|x0|", "|x0|[t-1]"].form_pvalue, result["|x0|", "|x0|[t-1]"].level_pvalue])
    rates = np.mean(np.array(pvalues) < 0.05, axis=0)
    assert (rates <= 9 / 60).all()


def test_paths_of_other_numbers_and_lengths_are_compared():
    rng = np.random.default_rng(7)
    result = cd.pairwise(garch(rng, 30, 50, 2), garch(rng, 1, 700, 2)[0], lags=[1, 5])
    draws, reference = result.samples
    assert (draws.n_chains, draws.n_draws) == (30, 45)
    assert (reference.n_chains, reference.n_draws) == (1, 695)
    assert result.title.startswith("30 paths of 50 steps of 2 variables and their past, 25 pairs")
    assert "one path of 700 steps" in result.title
    assert {"swapped-axes", "one-chain", "chains-disagree"}.isdisjoint(caveat.code for caveat in result.caveats)


def test_without_lags_nothing_changes():
    rng = np.random.default_rng(8)
    draws, reference = rng.standard_normal((4, 60, 2)), rng.standard_normal((4, 60, 2))
    result = cd.pairwise(draws, reference)
    assert result.lags == ()
    assert "Time" not in result.sentences()
    assert "lags" not in result.to_dict()
    with pytest.raises(cd.InputError, match="by_lag requires"):
        result.by_lag()


def test_the_pairs_of_now_are_those_of_pairwise_without_the_first_steps():
    rng = np.random.default_rng(9)
    draws, reference = garch(rng, 4, 200, 2), garch(rng, 4, 200, 2)
    pair = cd.pairwise(draws, reference, lags=2)["x0", "x1"]
    plain = cd.pairwise(draws[:, 2:], reference[:, 2:])["x0", "x1"]
    assert (pair.level, pair.shape, pair.form) == (plain.level, plain.shape, plain.form)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iid": True}, "iid cannot be used with lags"),
        ({"iid": "draws"}, "iid cannot be used with lags"),
        ({"missing": "listwise"}, "missing='listwise' cannot be used with lags"),
        ({"weights": {("x0", "x1"): 1.0}}, "weights cannot be used with lags"),
    ],
)
def test_options_that_make_no_sense_with_lags_are_refused(options, message):
    rng = np.random.default_rng(1)
    with pytest.raises(cd.InputError, match=message):
        cd.pairwise(rng.standard_normal((4, 30, 2)), rng.standard_normal((4, 30, 2)), lags=1, **options)


@pytest.mark.parametrize("target", [None, cd.Gaussian(0.5), np.eye(2)], ids=["none", "copula", "correlations"])
def test_lags_need_a_reference_sample(target):
    with pytest.raises(cd.InputError, match="lags need a reference sample") as error:
        cd.pairwise(np.random.default_rng(1).standard_normal((4, 30, 2)), target, lags=1)
    assert error.value.code == "no-target"


def test_a_history_with_missing_values_keeps_its_steps():
    rng = np.random.default_rng(10)
    history = pd.DataFrame(vector(rng, 1, 1500, [[0.6, 0.0], [0.0, 0.6]])[0], columns=["a", "b"])
    other = vector(rng, 60, 50, [[0.6, 0.0], [0.0, 0.6]])
    holes = history.mask(rng.random(history.shape) < 0.1)
    result = cd.pairwise(holes, pd.DataFrame(other.reshape(-1, 2), columns=["a", "b"]), lags=1)
    pair = result["a", "a[t-1]"]
    # both values of a step and of the one before are there for four in five steps; tau would fall if steps were skipped
    assert 0.76 * 1499 < pair.n < 0.86 * 1499
    assert abs(pair.tau - pair.tau_target) < 0.05


def test_a_constant_variable_is_left_out_and_one_variable_is_enough():
    rng = np.random.default_rng(11)
    draws, reference = garch(rng, 10, 60, 2), garch(rng, 10, 60, 2)
    draws[:, :, 1] = 3.0
    with pytest.warns(cd.DependenceWarning, match="constant in the draws"):
        result = cd.pairwise(draws, reference, lags=1)
    assert result.stuck == ("x1",)
    assert len(result) == 3
    reference[:, :, 0] = draws[:, :, 0] = 1.0
    with pytest.raises(cd.InputError, match="lags need at least one variable that varies"):
        cd.pairwise(draws, reference, lags=1)


def test_a_column_that_is_constant_without_the_first_steps_is_left_out():
    rng = np.random.default_rng(12)
    draws, reference = garch(rng, 10, 60, 2), garch(rng, 10, 60, 2)
    draws[:, 1:, 1] = 0.0  # varies in the first step only
    with pytest.warns(cd.DependenceWarning, match="constant without the first steps: x1, "):
        result = cd.pairwise(draws, reference, lags=2)
    assert "x1" not in result.names
    assert "x0" in result.names


def test_a_checkpoint_belongs_to_its_lags(tmp_path):
    rng = np.random.default_rng(13)
    draws, reference = garch(rng, 10, 60, 2), garch(rng, 10, 60, 2)
    first = cd.pairwise(draws, reference, lags=[1, 2], checkpoint=tmp_path)
    again = cd.pairwise(draws, reference, lags=[1, 2], checkpoint=tmp_path)
    assert first.rows.tobytes() == again.rows.tobytes()
    for other in ([1, 3], 1, None):
        with pytest.raises(cd.InputError, match="checkpoint"):
            cd.pairwise(draws, reference, lags=other, checkpoint=tmp_path)


def test_a_pair_in_detail_has_the_numbers_of_its_row():
    rng = np.random.default_rng(14)
    result = cd.pairwise(garch(rng, 60, 40), garch(rng, 1, 500)[0], lags=1)
    detail = result.pair("|x0|", "|x0|[t-1]")
    row = result["|x0|", "|x0|[t-1]"]
    assert detail.level.value == pytest.approx(row.level, abs=1e-12)
    assert "swapped-axes" not in {caveat.code for caveat in detail.caveats}


@pytest.mark.slow
def test_what_a_result_prints_and_writes(tmp_path):
    rng = np.random.default_rng(15)
    result = cd.pairwise(shuffled(rng, garch(rng, 40, 50, 2)), garch(rng, 1, 1000, 2)[0], lags=2)
    printed = repr(result)
    assert "Time:" in printed
    assert "volatility clustering" in printed
    assert "lag 2" in printed
    assert "lag 2" in result._repr_html_()
    numbers = json.loads(json.dumps(result.to_dict()))
    assert numbers["lags"] == [1, 2]
    assert sum(entry["pairs"] for entry in numbers["by_lag"]) == len(result)
    page = result.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="time"' in page
    assert "lags=2" in page
    assert "Every pair at a glance" not in page


def test_many_lags_have_a_narrow_table():
    rng = np.random.default_rng(16)
    result = cd.pairwise(garch(rng, 20, 60), garch(rng, 20, 60), lags=8)
    assert "lag 8" not in repr(result)
    assert "flagged" in repr(result)


def test_plot_lags_draws_draws_and_reference():
    rng = np.random.default_rng(17)
    result = cd.pairwise(shuffled(rng, garch(rng, 40, 50, 2)), garch(rng, 1, 1500, 2)[0], lags=[1, 2, 5])
    axes = cd.plot_lags(result, "x1", ax=Figure(figsize=(9, 3)).subplots(1, 3))
    lines = [line for line in axes[1].get_lines() if len(line.get_xdata()) == 3]
    taus = {tuple(np.round(line.get_ydata(), 12)) for line in lines}
    wanted = [result["|x1|", f"|x1|[t-{lag}]"] for lag in (1, 2, 5)]
    assert tuple(round(pair.tau, 12) for pair in wanted) in taus
    assert tuple(round(pair.tau_target, 12) for pair in wanted) in taus
    assert list(axes[1].get_xticks()) == [1, 2, 5]
    with pytest.raises(cd.InputError, match="no variable 'z'"):
        cd.plot_lags(result, "z")
    with pytest.raises(cd.InputError, match="requires the result of pairwise with lags"):
        cd.plot_lags(cd.pairwise(rng.standard_normal((90, 2)), cd.Gaussian(0.1)))


def test_the_command_line_compares_paths(tmp_path, capsys):
    rng = np.random.default_rng(18)
    scenarios = pd.DataFrame(shuffled(rng, garch(rng, 40, 50)).reshape(-1, 1), columns=["a"])
    scenarios.insert(0, "path", np.repeat(np.arange(40), 50))
    scenarios.to_csv(tmp_path / "scenarios.csv", index=False)
    pd.DataFrame(garch(rng, 1, 1500)[0], columns=["a"]).to_csv(tmp_path / "history.csv", index=False)
    files = ["compare", str(tmp_path / "scenarios.csv"), str(tmp_path / "history.csv")]
    assert main([*files, "--lags", "1,3", "--chains", "path"]) == 0
    out = capsys.readouterr().out
    assert "40 paths of 50 steps" in out
    assert "volatility clustering" in out
    assert "lag 3" in out
    for wrong in (["--lags", "0"], ["--lags", "x"], ["--lags", "2", "--iid"], ["--lags", "2", "--missing", "listwise"]):
        with pytest.raises(SystemExit) as stopped:
            main([*files, *wrong])
        assert stopped.value.code == 2
        assert "--lags" in capsys.readouterr().err
