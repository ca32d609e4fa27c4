"""The paper's experiments: what they measure, how they compare with what was published, and what they say."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.studies.paper import runner, statements, studies
from copula_discrepancy.studies.paper.published import MINIMISERS, REFERENCE_TAU, Comparison, compare, published, summarise
from copula_discrepancy.studies.paper.reproduce import reproduce
from tests.numerals import numerals, without_numerals

pytestmark = [
    pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning"),
]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """All four experiments, tiny."""
    folder = tmp_path_factory.mktemp("small") / "run"
    return reproduce("all", replications=3, sizes=[100, 193], seed=4, out=folder, progress=False)


@pytest.mark.slow
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


@pytest.mark.slow
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


AGREED = [Comparison("experiment3", "cd", n, 0.17, 0.003, 0.17, 0.003, 100) for n in range(19)]
COMPARED = [*AGREED, replace(AGREED[0], ours=0.3)]


def test_agreement_is_counted():
    told = statements.agreement(COMPARED)
    assert numerals(told)[:2] == ["19", "20"]
    assert numerals(told)[-2:] == [f"{0.13 / math.hypot(0.003, 0.003):+.1f}", "0"]  # the largest z, and where it is
    assert told.rindex("experiment3") < told.rindex("cd")
    (only,) = statements.outside(COMPARED)
    assert "0.3" in numerals(only)
    assert numerals(statements.agreement([])) == ["1", "3"]  # the experiments, and no count


def made_up(variable, values, diagnostics):
    """Means that are all different: the k-th diagnostic at the i-th value is k + i/10 unless given, with se 0.01."""
    summary = []
    for k, (name, given) in enumerate(diagnostics.items()):
        for i, value in enumerate(values):
            mean = given[i] if given is not None else k + i / 10
            summary.append({variable: value, "diagnostic": name, "mean": mean, "se": 0.01, "median": mean})
    return statements.Means(summary, variable)


ENTROPIES = {"target_entropy_mc": -0.8, "target_entropy": -0.81, "shared_on_ced_mc": 0.0031}
NOISY = made_up(
    "n", [100, 1000],
    {"on_ced": (0.3, 0.1), "on_ced_mc": (0.4, 0.2), "off_shape_rejected": (0.91, 1), "on_shape_rejected": (0.06, 0)},
)  # fmt: skip
CALM = made_up("n", [100], {"on_ced": (0.2,), "on_ced_mc": (0.1,), "off_shape_rejected": (1,), "on_shape_rejected": (0,)})


def test_sentences_on_entropies_carry_the_right_numbers():
    first, second = statements.experiment1(NOISY, ENTROPIES)
    assert numerals(first) == ["1000", "0.1000", "0.2000", "+0.0100", "0.0031"]  # n, exact, simulated, error and its se
    assert numerals(second) == ["100", "5", "91", "6"]  # n, level, Clayton's draws and Gumbel's that are rejected, in percent
    calm, _ = statements.experiment1(CALM, ENTROPIES)
    assert len(without_numerals(calm)) < len(without_numerals(first))  # where nothing is added, nothing is said of it


TWO_SIZES = {
    "on_target_ksd_unit": (-5.0, -4.0), "ksd_unit": (20.0, 400.0), "on_target_ksd": (-0.1, -0.001), "ksd": (0.1, 0.2),
    "shape": (-0.15, -0.17), "shape_rejected": (0.98, 1), "level_rejected": (0.04, 0.05),
}  # fmt: skip
GROWING = made_up("n", [100, 1000], TWO_SIZES)
ONE_SIZE = made_up("n", [100], {name: values[:1] for name, values in TWO_SIZES.items()})
NEAR_ZERO = made_up("n", [100], dict.fromkeys(TWO_SIZES, (0.015,)))


def test_sentences_on_the_unit_square_carry_the_right_numbers():
    unit, normal, shape = statements.experiment3(GROWING, {})
    assert numerals(unit) == ["-4.00", "0.01", "1000", "0", "20", "400"]  # mean, se, n; not 0; its growth off target
    assert numerals(normal) == ["-0.0010", "1", "0.200", "1000"]  # on target, of order 1/n; off target; n
    assert numerals(shape) == ["-0.170", "1000", "5", "98", "100", "4", "5", "1000"]
    assert numerals(statements.experiment3(ONE_SIZE, {})[0]) == ["-5.00", "0.01", "100", "0"]  # nothing grows
    assert numerals(statements.experiment3(NEAR_ZERO, {})[0]) == ["0.01", "0.01", "100"]  # and it may be 0


REFERENCES = {
    "tau_exact": 0.5, "tau_stuck": -0.0055, "tau_stuck_se": 0.008, "references": 100.0, "reference_crossings": 1.1,
    "reference_stuck": 0.07, "reference_low": 0.006, "reference_median": 0.49, "reference_high": 0.504,
}  # fmt: skip
STEPS = [1e-5, 0.1, 0.15, 0.3, 0.4]
BY_STEP = {
    "cd": (0.2, 0.05, 0.01, 0.3, 1.2), "published_cd": (0.51, 0.49, 0.5, 0.5, 0.5), "paper_ess": (2.9, 3.2, 9, 9, 9),
    "ess": (2.0, 3.0, 4.0, 5.0, 5000.0), "rhat": (2.4, 1.8, 1.7, 1.6, 1.5), "diverged": (0, 0, 0, 0, 0.25),
}  # fmt: skip
CURVED = made_up("step_size", STEPS, BY_STEP)
FLAT = made_up("step_size", STEPS, BY_STEP | {"cd": (0.2, 0.2, 0.19, 0.2, 0.2), "diverged": (0, 0, 0, 0, 0)})


def test_sentences_on_step_sizes_carry_the_right_numbers():
    target, reference, charged, true, sizes, diverged = map(numerals, statements.experiment2(CURVED, REFERENCES))
    assert "0.500000" in target
    crossings = ["1.1", "100", "+0.006", "0.504", "5", "95", "0.490", "7"]  # per run; runs; tau, 5% to 95%; median; stuck, %
    assert reference[2:] == [*crossings, str(REFERENCE_TAU), "-0.0055", "0.0080"]  # after the proposals and draws of a run
    assert charged == ["0.490", "0.510", *(f"{step:g}" for step in MINIMISERS)]
    # the mean CD at the first step, at the last one published, at 0.3 and at the last; the smallest, and there
    assert true == ["0.200", "1e-05", "0.0500", "0.1", "0.300", "0.3", "1.20", "0.4", "0.15", "0.0100"]
    assert sizes == ["2.90", "3.20", "1", "3", "3.0", "0.1", "1.8", "0.4", "1.20"]
    assert diverged == ["0.4"]
    *_, flat, _ = told = statements.experiment2(FLAT, REFERENCES)
    assert len(told) == 5  # none diverged
    assert len(without_numerals(flat)) < len(without_numerals(statements.experiment2(CURVED, REFERENCES)[3]))  # no optimum


SIZES = [100, 1000, 2000, 10_000, 100_000]
TIMES = made_up("n", SIZES, {"cd_mle": [1e-6 * n**1.5 for n in SIZES]})


def test_fitted_exponents():
    assert statements.exponent(TIMES, "cd_mle", SIZES) == pytest.approx(1.5)
    (told,) = statements.overhead(TIMES, {})
    assert told.startswith(statements.TIMED["cd_mle"])
    assert numerals(told) == ["3.16e+04", "100,000", "1.50", "100", "2,000"]  # ms at n; the exponent, and its range
    assert statements.overhead(made_up("n", [50, 100], {"cd_mle": [1e-6, 2e-6]}), {}) == []  # two points make no exponent
