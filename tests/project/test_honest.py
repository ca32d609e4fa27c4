"""The study on data from outside the library's models: its data have the stated properties, and its parts run."""

import numpy as np
import pytest
from scipy.stats import norm

import copula_discrepancy as cd
from benchmarks import honest, honest_data, report


def test_the_tau_of_the_crash_days_is_that_of_a_large_sample():
    days = honest_data.crash_days(400_000, (1, 1), np.random.default_rng(1))
    assert cd.kendall_tau(*days.T) == pytest.approx(honest_data.crash_tau(), abs=0.006)  # se of tau 0.0011, five of them
    generator = honest_data.gaussian_days(400_000, honest_data.crash_tau(), np.random.default_rng(2))
    assert cd.kendall_tau(*generator.T) == pytest.approx(honest_data.crash_tau(), abs=0.006)


@pytest.mark.parametrize("signs", honest.MIRRORS.values(), ids=honest.MIRRORS)
def test_crash_days_are_mirrored_where_they_should_be(signs):
    days = honest_data.crash_days(200_000, signs, np.random.default_rng(3))
    crashed = np.all(days * signs < -1.75, axis=1)
    # a crash reaches 2.5 of its standard deviations above its mean; the share has a standard error of 0.0004
    assert crashed.mean() == pytest.approx(honest_data.CRASH_SHARE * norm.cdf(2.5) ** 2, abs=0.002)


def test_paths_have_the_variance_and_the_clusters_of_garch():
    """Their variance is omega / (1 - alpha - beta); squares have a known autocorrelation at lag 1 (Bollerslev, 1986)."""
    paths = honest_data.garch_paths(4000, None, np.random.default_rng(4), paths=40)
    assert paths.shape == (40, 4000, honest_data.ASSETS)
    assert paths.var() == pytest.approx(1.0, abs=0.08)  # over 30 seeds the standard deviation is 0.016
    alpha, beta = honest_data.ALPHA, honest_data.BETA
    known = alpha * (1.0 - alpha * beta - beta**2) / (1.0 - 2.0 * alpha * beta - beta**2)
    squares = paths**2 - 1.0
    lag = np.mean(squares[:, 1:] * squares[:, :-1]) / np.mean(squares**2)
    assert lag == pytest.approx(
        known, abs=0.07
    )  # over 30 seeds the standard deviation is 0.014; 0 without clusters, known 0.24


@pytest.mark.parametrize("df", [None, 12.0])  # of t(4), the variance of a sample has no variance
def test_innovations_have_variance_one_and_equal_correlations(df):
    noise = honest_data.innovations(200_000, df, np.random.default_rng(5))[:, 0]
    assert np.cov(noise.T) == pytest.approx(np.where(np.eye(honest_data.ASSETS), 1.0, honest_data.CORRELATION), abs=0.02)
    # five standard errors of a variance, sqrt((kurtosis - 1) / n) with kurtosis 3.75


@pytest.mark.parametrize("target", [honest_data.NARROW, honest_data.WIDE], ids=["narrow", "wide"])
def test_metropolis_keeps_the_banana_from_its_first_draw_to_its_last(target):
    """With exact starts every draw of a chain has the target's distribution, so the last draws of chains are a sample of it."""
    rng = np.random.default_rng(6)
    exact = target.draws((40_000,), rng)
    last = honest_data.metropolis(target, 10_000, (4, 20), 1.0, 2, rng)[:, :, -1].reshape(-1, 2)
    for moment in (lambda x: x, np.square, lambda x: x.prod(axis=1, keepdims=True)):
        a, b = moment(last), moment(exact)
        error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
        assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5.0 * error)
    assert len(np.unique(last[:, 0])) == len(last)
    few = honest_data.metropolis(target, 1, (4, 50), 1.0, 2, rng)
    assert few.shape == (1, 4, 50, 2)


def test_flags_have_their_rates():
    rates = (0.01, 0.05, 0.2)
    flags = honest_data.rare_flags(rates, 0.7, 100_000, np.random.default_rng(7))
    assert set(np.unique(flags)) == {0.0, 1.0}
    assert flags.mean(axis=0) == pytest.approx(np.array(rates), abs=0.007)  # five standard errors of the largest
    assert np.corrcoef(flags.T)[1, 2] > 0.2


def test_halves_are_two_parts_of_one_table(monkeypatch):
    table = np.arange(34.0).reshape(17, 2)
    monkeypatch.setattr(honest_data, "real_table", lambda name: table)
    first, second = honest_data.halves("any", np.random.default_rng(8))
    assert first.shape == second.shape == (8, 2)
    both = np.concatenate([first, second])
    assert len(np.unique(both, axis=0)) == 16
    assert set(map(tuple, both)) <= set(map(tuple, table))
    assert not np.array_equal(both, table[:16])


def test_a_rows_seeds_are_its_own():
    def first(label, runs):
        return np.random.default_rng(honest_data.seeds(label, runs)[0]).random()

    assert first("halves, iris", 1) == first("halves, iris", 5)
    assert first("halves, iris", 1) != first("halves, wine", 1)


def test_percentages_have_the_binomial_standard_error():
    assert honest.percent([1.0, *[0.0] * 19]) == "5.0 (se 4.9)"  # sqrt(0.05 * 0.95 / 20)
    assert honest.percent([np.nan, 0.5]) == "50.0 (se 0.0)"
    assert honest.percent([np.nan]) == "-"
    assert honest.at_most([1.0, *[0.0] * 19], 5.0) == ("at most 5", "yes")
    assert honest.at_most([1.0, *[0.0] * 18], 5.0) == ("at most 5", "no")
    assert honest.at_least([0.0, *[1.0] * 19], 95.0) == ("at least 95", "yes")
    assert honest.at_least([0.0, *[1.0] * 18], 95.0) == ("at least 95", "no")
    assert honest.at_most([np.nan], 5.0) == ("at most 5", "-")


def test_an_error_half_as_large_as_the_spread_is_told():
    rows = np.zeros((500, 3), dtype=[("shape", float), ("shape_se", float)])
    rows["shape"] = np.random.default_rng(9).normal(scale=2.0, size=rows.shape)
    rows["shape_se"] = 1.0
    assert float(honest.error_ratio(rows, "shape")) == pytest.approx(0.5, abs=0.05)  # some 500 * 3 values: 2%
    assert honest.error_ratio(rows[:1], "shape") == "-"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "sizes", "rows"),
    [
        (honest.flags, {"n": 200}, 10),
        (honest.garch, {"days": 200}, 3),
        (honest.banana, {"shape": (4, 60)}, 6),
        (honest.crashes, {"sizes": (300, 200)}, 6),
    ],
    ids=["flags", "garch", "banana", "crashes"],
)
def test_a_case_gives_a_table_that_can_be_read(case, sizes, rows):
    tables = case(2, 1, **sizes)
    found = list(report.read("\n".join(table.markdown() for table in tables)).values())
    assert [table.rows for table in found] == [table.rows for table in tables]
    assert len(found[0].rows) == rows
    assert all(record["met"] in ("yes", "no", "-") for record in found[0].records())


def test_halves_need_their_packages_or_say_so(monkeypatch):
    def not_here(name):
        raise ImportError("no such module", name="sklearn")

    monkeypatch.setattr(honest_data, "real_table", not_here)
    (table,) = honest.halves(2, 1, tables=("iris",))
    met = table.records()[0]["met"]
    assert met.startswith("not run")
    assert "sklearn" in met


def test_a_table_of_two_kinds_of_rows_is_not_called_honest(monkeypatch):
    """The study can detect false alarms: halves that differ are flagged in every run, equal ones are not."""
    rng = np.random.default_rng(10)
    normal = rng.standard_normal((400, 2))
    monkeypatch.setattr(honest_data, "real_table", lambda name: normal)
    (fine,) = honest.halves(5, 1, tables=("any",))
    assert fine.records()[0]["splits with any pair flagged"] == "0.0 (se 0.0)"
    broken = normal[:200], np.repeat(normal[200:, :1], 2, axis=1) + 0.5 * normal[200:]
    monkeypatch.setattr(honest_data, "halves", lambda name, rng: broken)
    (alarm,) = honest.halves(5, 1, tables=("any",))
    assert alarm.records()[0]["splits with any pair flagged"] == "100.0 (se 0.0)"
    assert alarm.records()[0]["met"] == "no"


def test_the_command_writes_what_it_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(honest.CASES, "crashes", (lambda runs, jobs: honest.crashes(runs, jobs, sizes=(200,)), 7))
    path = tmp_path / "honest.md"
    honest.main(["--only", "crashes", "--runs", "1", "--write", str(path)])
    text = path.read_text(encoding="utf-8")
    assert list(report.read(text)) == ["Joint crashes"]
    assert "1 runs" in text
    answer = honest.crash_result((1, 1), 200, honest_data.seeds("crashes, both fall, 200", 1)[0])
    assert f"```text\n{answer}\n```" in text
