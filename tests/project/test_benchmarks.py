"""What `make bench` writes can be read back, README shows it, and its parts run."""

import time
from importlib.metadata import version
from pathlib import Path

import numba
import numpy as np
import pytest

from benchmarks import accuracy, core, figure, growth, peers, readme, report, speed, timing
from tests.numerals import numerals

ROOT = Path(__file__).parents[2]
RESULTS = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_its_power(power):
    sizes = np.array([10.0, 30.0, 100.0, 300.0])
    slope, error = growth.exponent(sizes, 3e-6 * sizes**power)
    assert slope == pytest.approx(power, abs=1e-12)
    assert error < 1e-12


def test_the_exponents_standard_error_is_that_of_a_regression():
    from scipy.stats import linregress

    sizes, seconds = np.array([1e3, 1e4, 1e5, 1e6]), np.array([2e-4, 1e-3, 1.5e-2, 1.2e-1])
    truth = linregress(np.log(sizes), np.log(seconds))
    assert growth.exponent(sizes, seconds) == pytest.approx((truth.slope, truth.stderr), rel=1e-12)


def test_two_sizes_have_an_exponent_without_an_error():
    assert growth.growth_row("ksd", "peer", [10, 100], [1e-3, 1e-1], 3) == (
        "ksd",
        "peer",
        "1.00 ms",
        "100 ms",
        "-",
        "2.00 (two sizes)",
    )


@pytest.mark.parametrize("seconds", [2.5e-5, 0.00387, 0.9999, 1.0, 12.5, 99.99, 1091.0])
def test_times_are_read_as_they_were_written(seconds):
    assert timing.in_seconds(timing.in_words(seconds)) == pytest.approx(seconds, rel=5e-3)  # three digits


def test_tables_are_read_as_they_were_written():
    tables = [
        report.Report("Speed: one run", report.RATIOS, [report.ratio_row("tau", "scipy", 1e-3, 4e-3, asked=3.0)], "A note."),
        report.Report("Peers", ("library", "version"), [("scipy", "1"), ("pandas", "missing: not installed")]),
    ]
    found = report.read("# Title\n\n" + "\n".join(table.markdown() for table in tables))
    assert list(found.values()) == tables
    assert list(found) == ["Speed", "Peers"]


def test_what_was_asked_and_missed_has_its_reason():
    missed = report.ratio_row("tau", "scipy", 1e-3, 2e-3, asked=3.0, reason="two passes are needed")
    assert missed[4:7] == ("2.0x", "3x", "no: two passes are needed")
    short = report.ratio_row("tau", "scipy", 1e-3, 40e-3, asked=30.0, aim=60.0, reason="2 cores")[6]
    assert short.startswith("yes")
    assert "60x" in short
    assert short.endswith(": 2 cores")
    assert report.limit_row("page", 4.0, "MB", 3.0)[3].startswith("no")
    assert report.limit_row("page", 2.0, "MB", 3.0)[3] == "yes"


def test_a_job_that_fails_is_told_and_not_timed():
    lines = ("0-dimensional", "arrays | scalars")

    def broken():
        raise TypeError("\n".join(lines))

    def not_here():
        raise peers.Missing("not installed")

    judge = speed.numbers_agree(1e-9)
    race = speed.Race("MLE", lambda: 1.0, judge, repeats=1)
    race.against("copulae", lambda: broken)
    race.against("openturns", lambda: lambda: 1.0)
    race.against("statsmodels", not_here)
    failed, fine, absent = race.rows()
    assert failed[3:5] == ("-", "-")
    assert failed[-1] == f"TypeError: {' '.join(lines).replace('|', '/')}"  # a cell of a table: one line, without its border
    assert fine[-1] == judge(timing.Run(0.0, 1.0), timing.Run(0.0, 1.0))
    assert float(fine[-1].split()[-1]) == 1e-9
    assert absent[-1] == "not installed"


def test_compiling_is_never_the_time_that_counts(monkeypatch):
    """Without a cache a first run takes seconds, as long as a job that is run only once."""
    monkeypatch.setattr(timing, "PATIENCE", 0.01)
    compiled = numba.njit(lambda x: x * np.cos(x) + np.sin(x) ** 2)
    assert timing.measured(lambda: compiled(0.5), repeats=3)[0].seconds < 0.01
    slow, runs = lambda: runs.append(time.sleep(0.02)), []
    assert timing.measured(slow, repeats=3)[0].seconds > 0.01
    assert len(runs) == 1


def test_wrong_answers_are_called_so():
    judge = speed.numbers_agree(1e-9)
    assert judge(timing.Run(0.0, 2.0), timing.Run(0.0, 2.1)) == "differs by 5.0e-02"
    lost = judge(timing.Run(0.0, np.ones(3)), timing.Run(0.0, np.array([1.0, np.nan, np.inf])))
    assert lost.startswith("wrong: 2 of 3 ")


def test_errors_at_the_corners_count_what_is_not_finite():
    truth = np.array([100.0, 0.1, 3.0])
    assert accuracy.largest_error(np.array([101.0, 0.2, np.nan]), truth) == (pytest.approx(0.1), 1)


def test_readme_shows_what_was_measured():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.fill(text, RESULTS) == text


def test_readme_shows_what_was_measured_on_a_graphics_processor():
    """As long as nothing was measured, nothing stands there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.fill_gpu(text, readme.measured("gpu.md")) == text


def gpu_results():
    """A file as `make bench-gpu` writes it."""
    speeds = [("kendall_matrix, d = 20", "1.00 ms", "4.00 ms", "0.1 GB"), ("pairwise, d = 30", "2.00 s", "-", "3.0 GB")]
    numbers = [
        ("pairwise, level", "2.0e-12"),
        ("pairwise, form", "3.0e-09"),
        ("pairwise, verdicts that differ", "1.0e+00"),
        ("screen, tau", "0.0e+00"),
        ("screen, value", "4.0e-08"),
        ("kendall_matrix, with ties", "0.0e+00"),
        ("ksd, U-statistic, right target, relative", "6.0e-06"),
        ("ksd, V-statistic, right target, relative", "7.0e-08"),
        ("ksd, U-statistic, wrong target, relative", "8.0e-09"),
    ]
    tables = [
        report.Report("Speed: calls", ("job", "device", "processor", "peak memory"), speeds),
        report.Report("Agreement: differences", ("number", "difference", "of"), [(*row, "4 pairs") for row in numbers]),
    ]
    head = (
        f"# On a graphics processor\n\nWritten by `make bench-gpu`. Some Card, 80 GB. {report.machine()} Times are medians.\n"
    )
    return "\n".join([head, *(table.markdown() for table in tables)])


def test_readme_is_filled_from_what_a_graphics_processor_did():
    before, after = f"Text.\n{readme.GPU_START}", f"{readme.GPU_END}\nMore.\n"
    filled = readme.fill_gpu(f"{before}\nold\n{after}", gpu_results())
    assert readme.fill_gpu(filled, gpu_results()) == filled
    assert filled.startswith(before)
    assert filled.endswith(after)
    assert "old" not in filled
    assert "| pairwise, d = 30 | 2.00 s | - | 3.0 GB |" in filled
    told = filled.partition("Numbers differ")[2].partition("Measured with")
    # the largest of each kind, apart from what is relative to a number close to 0; counts are no differences
    assert [number for number in numerals(told[0]) if number != "0"] == ["3.0e-09", "1", "4.0e-08", "7.0e-08", "6.0e-06"]
    assert f"Some Card, 80 GB. {report.machine()}\n" in told[2]
    assert "medians" not in told[2]
    assert readme.fill_gpu(filled, None) == f"{before}\n{after}"


def test_filling_from_a_graphics_processor_needs_its_name_and_both_markers():
    with pytest.raises(ValueError, match="bench-gpu"):
        readme.fill_gpu(f"{readme.GPU_START}\n{readme.GPU_END}", gpu_results().replace("make bench-gpu", "hand"))
    with pytest.raises(ValueError, match=readme.GPU_END):
        readme.fill_gpu(f"text {readme.GPU_START} and no end", gpu_results())


def test_the_short_table_has_the_worst_of_each_kind():
    """For all families, data and peers: no peer with the same result has a smaller ratio than the README shows."""
    rows = readme.of_the_same_answer(report.read(RESULTS))
    short = readme.least_of_each_kind(rows)
    for kind in ("Kendall's tau", "matrix of tau", "MLE", "discrepancy()", "logpdf", "sample", "ksd", "pairwise"):
        found = [float(row["ratio"].rstrip("x")) for row in rows if row["job"].startswith(kind)]
        assert [float(row["ratio"].rstrip("x")) for row in short if row["job"].startswith(kind)] == [min(found)]
    assert {row["peer"] for row in rows} > {row["peer"] for row in short}
    assert len({row["job"].split(" of ")[0].split(",")[0] for row in short}) == len(short)


def test_every_speed_that_was_asked_for_is_in_the_results():
    """Each is met or has its reason next to it."""
    tables = report.read(RESULTS)
    asked = {
        row["job"].split(",")[0] for row in tables["Speed"].records() + tables["All pairs"].records() if row["required"] != "-"
    }
    assert asked >= {"Kendall's tau", "matrix of tau", "MLE of Gumbel", "MLE of Clayton", "ksd", "sample 1", "pairwise"}
    assert len(tables["Command line"].rows) == 6
    unexplained = report.ratio_row("tau", "scipy", 1.0, 1.0, asked=2.0)[6]
    assert unexplained.startswith("no")
    assert [row for table in tables.values() for row in table.rows if any(unexplained in cell for cell in row)] == []


def test_filling_needs_both_markers():
    with pytest.raises(ValueError, match=readme.END):
        readme.fill(f"text {readme.START} and no end", RESULTS)


def test_the_picture_is_drawn_from_the_file(tmp_path):
    figure.draw(RESULTS, tmp_path / "results.png")
    assert (tmp_path / "results.png").stat().st_size > 20_000


@pytest.mark.skipif(
    version("pyvinecopulib").startswith("0."), reason="the benchmark compares with pyvinecopulib 1; vine() works with 0.7 too"
)
def test_a_quick_run_writes_tables_that_can_be_read(tmp_path):
    path = tmp_path / "results.md"
    core.main(["--quick", "--only", "speed", "--write", str(path)])
    tables = report.read(path.read_text(encoding="utf-8"))
    assert list(tables) == ["Peers", "Speed"]
    assert {"Kendall's tau, n = 1,000", "ksd, n = 200, d = 2"} <= {row["job"] for row in tables["Speed"].records()}
    for row in tables["Speed"].records():
        assert row["ratio"] == "-" or float(row["ratio"][:-1]) > 0.0
    assert path.with_suffix(".png").exists()
