"""The paper's experiments: what they measure, how they compare with what was published, and what they say."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.studies.paper import runner, statements, studies
from copula_discrepancy.studies.paper.published import Comparison, compare, published, summarise
from copula_discrepancy.studies.paper.reproduce import reproduce

pytestmark = [
    pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning"),
]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """All four experiments, tiny."""
    folder = tmp_path_factory.mktemp("small") / "run"
    return reproduce("all", replications=3, sizes=[100, 193], seed=4, out=folder, progress=False)


def test_writes_every_number_and_every_figure(small):
    figures = {path.name for path in (small.folder / "figures").iterdir()}
    names = [
        "figure1_cd", "figure2_shannon", "figure3_step_size", "figure3_corrected", "figure4_shannon", "figure5_tails",
        "figure5_valid_ksd", "figure6_shannon", "figure7_overhead",
    ]  # fmt: skip
    assert figures == {f"{name}.{suffix}" for name in names for suffix in ("png", "svg")}
    assert all((small.folder / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG" for name in names)
    for name, experiment in small.experiments.items():
        folder = small.folder / name
        with (folder / "replications.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(experiment.rows)
        for text, row in zip(rows, experiment.rows, strict=True):
            for key, value in row.items():
                assert float(text[key]) == value if not (isinstance(value, float) and math.isnan(value)) else text[key] == ""
        content = json.loads((folder / "results.json").read_text())
        assert len(content["summary"]) == len(experiment.summary)
        assert len(content["rows"]) == len(rows)
    report = small.report.read_text()
    for experiment in small.experiments.values():
        assert all(sentence in report for sentence in experiment.statements)
    assert not list(small.folder.rglob("*.partial*"))


def test_experiment_1_measures_what_the_paper_measured(small):
    row = small.experiments["experiment1"].rows[0]
    seed = runner.Seed(4, "experiment1", 100.0, 0)
    draws = cd.Clayton(3.0).sample(100, rng=seed.generator("off"))
    result = cd.discrepancy(draws, cd.Gumbel(2.5), iid=True)
    assert (row["off_cd"], row["off_ckl"], row["off_ced"]) == (result.cd, result.ckl, result.ced)
    assert (row["off_shape"], row["off_shape_pvalue"]) == (result.shape.value, result.shape.pvalue)
    assert row["off_shape_rejected"] == float(result.shape.pvalue < 0.05)
    assert row["off_level_rejected"] == float(result.level.pvalue < 0.05)
    assert row["off_total_pvalue"] == result.total.pvalue
    fitted = result.fit.copula
    assert row["off_ckl_mc"] == fitted.kl(cd.Gumbel(2.5), method="monte_carlo", m=5000, rng=seed.generator("off kl"))
    entropy = fitted.entropy(method="monte_carlo", m=5000, rng=seed.generator("off entropy"))
    context = small.experiments["experiment1"].context
    assert row["off_ced_mc"] == abs(entropy - context["target_entropy_mc"])
    assert abs(context["target_entropy_mc"] - cd.Gumbel(2.5).entropy()) < 5 * context["shared_off_ced_mc"]
    assert 0.001 < context["shared_off_ced_mc"] < 0.006  # 1/sqrt(100,000), as the standard deviation of log c is near 1
    right = cd.Gumbel(2.5).sample(100, rng=seed.generator("on"))
    assert row["on_cd"] == cd.discrepancy(right, cd.Gumbel(2.5), iid=True).cd


def test_experiment_2_has_both_references(small):
    experiment = small.experiments["experiment2"]
    context = experiment.context
    assert abs(context["tau_exact"] - 0.5) < 1e-9
    assert abs(context["tau_stuck"]) < 0.05
    assert context["reference_low"] < 0.3 < context["reference_high"]
    assert max(row["step_size"] for row in experiment.rows) == 0.4
    for row in experiment.rows:
        assert row["cd"] == pytest.approx(abs(row["tau"] - 0.5), abs=1e-9)
        assert row["published_cd"] == pytest.approx(abs(row["tau"] - context["tau_stuck"]), abs=1e-12)
        assert row["cd_se"] > 0
    at = {row["step_size"]: row for row in experiment.rows if row["replication"] == 0}
    run = studies.bimodal_run(0.1, runner.Seed(4, "experiment2", 0.1, 0).generator("sgld"))
    target, stuck = cd.Gumbel.from_tau(context["tau_exact"]), cd.Gumbel(max(1 / (1 - context["tau_stuck"]), 1.0001))
    judged = cd.discrepancy(run, target, method="moment")
    fitted = cd.Gumbel.from_tau(judged.tau)
    for name, value in {
        "ess": min(cd.ess(run).values()), "paper_ess": min(cd.paper_ess(run).values()), "rhat": max(cd.rhat(run).values()),
        "ckl": judged.ckl, "ced": judged.ced, "cd_se": judged.total.se, "cd_pvalue": judged.total.pvalue,
        "published_ckl": fitted.kl(stuck), "published_ced": abs(fitted.entropy() - stuck.entropy()),
    }.items():  # fmt: skip
        assert at[0.1][name] == pytest.approx(value, rel=1e-12), name
    assert at[0.4]["cd"] > 0.5 > 0.1 > at[0.1]["cd"]
    assert at[0.1]["paper_ess"] == pytest.approx(3.17, abs=0.1)


def test_modes_are_told_apart():
    low, high = -np.ones((1, 4, 2)), np.ones((1, 4, 2))
    assert studies.modes_visited(np.concatenate([low, low])) == (0, True)
    assert studies.modes_visited(np.concatenate([high, high])) == (0, True)
    assert studies.modes_visited(np.concatenate([low, high])) == (0, False)
    assert studies.modes_visited(np.array([[[1.0, 1], [-1, -1], [-1, -1], [1, 1]]])) == (2, False)


def test_experiment_3_measures_both_stein_discrepancies(small):
    row = small.experiments["experiment3"].rows[0]
    draws = cd.Gumbel(2.5).sample(100, rng=runner.Seed(4, "experiment3", 100.0, 0).generator("draws"))
    assert row["ksd_unit"] == cd.ksd(draws, cd.Clayton(3.0), space="unit").value
    assert row["ksd"] == cd.ksd(draws, cd.Clayton(3.0)).value
    assert row["naive_tau"] == cd.naive_tau(draws, cd.Clayton(3.0))
    assert row["shape"] == cd.discrepancy(draws, cd.Clayton(3.0), iid=True).shape.value
    right = cd.Clayton(3.0).sample(100, rng=runner.Seed(4, "experiment3", 100.0, 0).generator("right"))
    assert row["on_target_ksd_unit"] == cd.ksd(right, cd.Clayton(3.0), space="unit").value
    assert row["on_target_ksd"] == cd.ksd(right, cd.Clayton(3.0)).value


def test_overhead_times_everything(small):
    for row in small.experiments["overhead"].rows:
        assert all(row[name] > 0 for name in ("cd_moment", "cd_mle", "discrepancy", "ksd"))
    assert studies.KSD_LIMIT == 20_000
    assert max(studies.FURTHER_SIZES) == 1_000_000
    assert math.isnan(studies.overhead(20_001, runner.Seed(1, "overhead", 20_001, 1), {})["ksd"])


def test_published_means_agree_with_ours():
    """Three of the published sizes, 36 replications: no more differ by 1.96 combined standard errors than chance allows."""
    entropies = {"target_entropy_mc": -0.8}  # no part in what is compared
    rows1, rows3 = [], []
    for n in (100, 372, 1000):
        for replication in range(36):
            rows1.append({"n": n, **studies.experiment1(n, runner.Seed(1, "experiment1", n, replication), entropies)})
            rows3.append({"n": n, **studies.experiment3(n, runner.Seed(1, "experiment3", n, replication), entropies)})
    found = [
        item
        for name, rows in (("experiment1", rows1), ("experiment3", rows3))
        for item in compare(name, summarise(rows, "n"), "n", {})
        if item.diagnostic in statements.HELD_TO[name]
    ]
    assert len(found) == 24
    # 24 of them at 5% each: 6 or more by chance with probability 0.1%, and twice that as CD and CKL share draws
    assert sum(not item.within for item in found) <= 5
    assert max(abs(item.z) for item in found) < 4.5
    # a power case: means off by 15% are seen
    wrong = [replace(item, ours=1.15 * item.ours) for item in found]
    assert sum(not item.within for item in wrong) >= 9


def test_a_step_size_that_diverges_is_counted():
    row = studies.experiment2(10.0, runner.Seed(1, "experiment2", 10.0, 0), {"tau_exact": 0.5, "tau_stuck": 0.0})
    assert row == {"diverged": 1.0}
    summary = summarise([{"step_size": 10.0, "replication": 0, **row}], "step_size")
    assert [item["diagnostic"] for item in summary] == ["diverged"]


def test_summary_and_comparison_by_hand():
    rows = [{"n": 100, "replication": k, "cd": value} for k, value in enumerate((0.1, 0.2, 0.6, math.nan))]
    (summary,) = summarise(rows, "n")
    assert summary["mean"] == pytest.approx(0.3)
    assert summary["se"] == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / math.sqrt(3))
    assert summary["hi"] - summary["mean"] == pytest.approx(4.302652729911275 * summary["se"])  # t with 2 degrees, 97.5%
    assert (summary["replications"], summary["missing"], summary["median"]) == (3, 1, pytest.approx(0.2))
    item = Comparison("experiment3", "cd", 100, 0.17, 0.003, 0.15, 0.004, 100)
    assert item.z == pytest.approx(4.0)
    assert item.limit == pytest.approx(1.973, abs=1e-3)  # t with 184 degrees
    assert not item.within
    few = replace(item, ours=0.161, replications=2)
    assert few.limit == pytest.approx(2.334, abs=1e-3)  # t with 25^2 / (9^2 / 1 + 16^2 / 99) = 7.48 degrees
    assert few.within
    assert not replace(few, replications=100).within
    assert Comparison.from_row(item.to_row()) == item
    theirs = next(item for item in published("experiment3") if (item.diagnostic, item.value) == ("cd", 100))
    assert theirs.mean == 0.15007
    assert theirs.se == pytest.approx((0.16177 - 0.13838) / 2 / 1.98422, rel=1e-5)  # t with 99 degrees
    (found,) = compare("experiment3", [{**summary, "diagnostic": "cd"}], "n", {})
    assert (found.ours, found.published) == (summary["mean"], 0.15007)
    assert not compare("experiment3", [{**summary, "diagnostic": "cd", "n": 100.4}], "n", {})  # no such size was published
    (shared,) = compare("experiment3", [{**summary, "diagnostic": "cd"}], "n", {"shared_cd": 0.01})
    assert shared.ours_se == pytest.approx(math.hypot(found.ours_se, 0.01))
    assert shared.published_se == pytest.approx(math.hypot(found.published_se, 0.01))


def test_published_columns_are_the_papers():
    """The first and the last mean of every published column, read off the tables by eye."""
    ends = {
        ("experiment1", "on_cd"): (0.037293, 0.002818), ("experiment1", "off_cd"): (0.082423, 0.095163),
        ("experiment1", "on_ckl"): (0.009827, 0.000061), ("experiment1", "off_ckl"): (0.035551, 0.03669),
        ("experiment1", "on_ced_mc"): (0.081785, 0.011368), ("experiment1", "off_ced_mc"): (0.155227, 0.184307),
        ("experiment2", "published_cd"): (0.50339, 0.49982), ("experiment2", "paper_ess"): (2.997, 3.1709),
        ("experiment2", "published_ckl"): (0.41467, 0.37564), ("experiment2", "published_ced"): (0.41484, 0.3754),
        ("experiment3", "cd"): (0.15007, 0.16935), ("experiment3", "naive_tau"): (0.040651, 0.003435),
        ("experiment3", "ksd_unit"): (21.127, 429.03), ("experiment3", "ckl"): (0.13693, 0.15256),
        ("experiment3", "ced_mc"): (0.27829, 0.31464),
    }  # fmt: skip
    for (experiment, diagnostic), (first, last) in ends.items():
        means = [item.mean for item in published(experiment) if item.diagnostic == diagnostic]
        assert (means[0], means[-1]) == (first, last)


def test_words_on_agreement():
    items = [Comparison("experiment3", "cd", n, 0.17, 0.003, 0.17, 0.003, 100) for n in range(19)]
    items.append(replace(items[0], ours=0.3))
    told = statements.agreement(items)
    assert "19 of 20" in told
    assert f"largest: {0.13 / math.hypot(0.003, 0.003):+.1f} (experiment3, cd, at 0)" in told
    assert len(statements.outside(items)) == 1
    assert "No mean" in statements.agreement([])


def made_up(variable, values, diagnostics):
    """Means that are all different: the k-th diagnostic at the i-th value is k + i/10 unless given, with se 0.01."""
    summary = []
    for k, (name, given) in enumerate(diagnostics.items()):
        for i, value in enumerate(values):
            mean = given[i] if given is not None else k + i / 10
            summary.append({variable: value, "diagnostic": name, "mean": mean, "se": 0.01, "median": mean})
    return statements.Means(summary, variable)


def test_sentences_carry_the_right_numbers():
    context = {"target_entropy_mc": -0.8, "target_entropy": -0.81, "shared_on_ced_mc": 0.0031}
    means = made_up(
        "n", [100, 1000],
        {"on_ced": (0.3, 0.1), "on_ced_mc": (0.4, 0.2), "off_shape_rejected": (0.91, 1), "on_shape_rejected": (0.06, 0)},
    )  # fmt: skip
    first, second = statements.experiment1(means, context)
    assert "exact on-target CED is 0.1000, the simulated one 0.2000; noise adds" in first
    assert "+0.0100 (se 0.0031)" in first
    assert "Clayton draws at the 5% level in 91%" in second
    assert "which are right, in 6%" in second
    calm = made_up("n", [100], {"on_ced": (0.2,), "on_ced_mc": (0.1,), "off_shape_rejected": (1,), "on_shape_rejected": (0,)})
    assert "noise adds" not in statements.experiment1(calm, context)[0]
    names = {
        "on_target_ksd_unit": (-5.0, -4.0), "ksd_unit": (20.0, 400.0), "on_target_ksd": (-0.1, -0.001), "ksd": (0.1, 0.2),
        "shape": (-0.15, -0.17), "shape_rejected": (0.98, 1), "level_rejected": (0.04, 0.05),
    }  # fmt: skip
    told = statements.experiment3(made_up("n", [100, 1000], names), {})
    assert "its mean is -4.00 (se 0.01) at n = 1000, not 0, and off target it grows with n, from 20 to 400." in told[0]
    assert "-0.0010 on target" in told[1]
    assert "0.200 off target" in told[1]
    assert "-0.170 at n = 1000 and rejects at the 5% level in 98% of the replications at n = 100" in told[2]
    assert "rejects in 4% of them, in 5% at n = 1000" in told[2]
    one = statements.experiment3(made_up("n", [100], {name: values[:1] for name, values in names.items()}), {})
    assert "grows" not in one[0]
    near = statements.experiment3(made_up("n", [100], dict.fromkeys(names, (0.015,))), {})
    assert "not 0" not in near[0]


def test_sentences_on_step_sizes_carry_the_right_numbers():
    context = {
        "tau_exact": 0.5, "tau_stuck": -0.0055, "tau_stuck_se": 0.008, "references": 100.0, "reference_crossings": 1.1,
        "reference_stuck": 0.07, "reference_low": 0.006, "reference_median": 0.49, "reference_high": 0.504,
    }  # fmt: skip
    steps = [1e-5, 0.1, 0.15, 0.3, 0.4]
    names = {
        "cd": (0.2, 0.05, 0.01, 0.3, 1.2), "published_cd": (0.51, 0.49, 0.5, 0.5, 0.5), "paper_ess": (2.9, 3.2, 9, 9, 9),
        "ess": (2.0, 3.0, 4.0, 5.0, 5000.0), "rhat": (2.4, 1.8, 1.7, 1.6, 1.5), "diverged": (0, 0, 0, 0, 0.25),
    }  # fmt: skip
    told = statements.experiment2(made_up("step_size", steps, names), context)
    assert "crosses between the modes 1.1 times" in told[1]
    assert "it is +0.006 to 0.504 (5% to 95%), median 0.490; in 7% of them" in told[1]
    assert "0.0001; the stuck run used here has -0.0055" in told[1]
    assert "between 0.490 and 0.510" in told[2]
    assert "0.200 at 1e-05, 0.0500 at 0.1, where the published grid ends, 0.300 at 0.3 and 1.20 at 0.4" in told[3]
    assert "smallest at 0.15 (0.0100): slow mixing" in told[3]
    assert "2.90 to 3.20" in told[4]
    assert "3.0 at 0.1 (R-hat 1.8)" in told[4]
    assert "largest at 0.4, where the mean CD is 1.20" in told[4]
    assert told[5].endswith("step sizes 0.4.")
    flat = statements.experiment2(made_up("step_size", steps, names | {"cd": (0.2, 0.2, 0.19, 0.2, 0.2)}), context)
    assert "slow mixing" not in flat[3]


def test_fitted_exponents():
    sizes = [100, 1000, 2000, 10_000, 100_000]
    means = made_up("n", sizes, {"cd_mle": [1e-6 * n**1.5 for n in sizes]})
    assert statements.exponent(means, "cd_mle", sizes) == pytest.approx(1.5)
    (told,) = statements.overhead(means, {})
    assert told == "CD by maximum likelihood: 3.16e+04 ms at n = 100,000; grows as n^1.50 from n = 100 to 2,000."
    assert statements.overhead(made_up("n", [50, 100], {"cd_mle": [1e-6, 2e-6]}), {}) == []  # two points make no exponent
