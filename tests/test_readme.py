"""README shows what the commands and the code really print."""

import contextlib
import io
import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language, after=""):
    start = README.index(after)
    return re.search(rf"```{language}\n(.*?)```", README[start:], re.S).group(1)


def printed(action):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        action()
    return [line.rstrip() for line in out.getvalue().strip().splitlines()]


def test_the_demo_prints_what_readme_shows(monkeypatch, tmp_path):
    from copula_discrepancy.cli import main

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("copula_discrepancy.pages.content.DETAILS", 1)  # of six pairs in pictures: they are not what is printed
    monkeypatch.chdir(tmp_path)
    shown = [line.rstrip() for line in block("text", "`make demo` prints").strip().splitlines()]
    command = re.search(r"/copula-discrepancy (demo .*)", (ROOT / "Makefile").read_text(encoding="utf-8")).group(1)
    assert printed(lambda: main(command.split())) == shown
    assert (tmp_path / "demo.html").exists()


def test_the_ten_lines_print_what_readme_shows():
    shown = [line.rstrip() for line in block("text", "## Ten lines").strip().splitlines()]
    assert printed(lambda: exec(block("python", "## Ten lines"), {})) == shown


def test_readme_names_only_what_exists():
    import copula_discrepancy as cd

    for name in re.findall(r"`([a-z_]+)`", block_of_table()):
        assert hasattr(cd, name) or hasattr(cd.Copula, name), name
    for name in re.search(r"\| each has \| `([^`]+)`", README).group(1).split():
        assert hasattr(cd.Gumbel(2.0), name), name


def block_of_table():
    return README[README.index("## What is in it") : README.index("Entropies and divergences")]


def test_the_summary_is_the_studys():
    study = (ROOT / "benchmarks" / "inference.md").read_text(encoding="utf-8")
    table = re.search(r"## Summary.*?\n\n(.*?)\n\n", study, re.S).group(1)
    assert table in README


def test_nothing_is_left_to_fill_in_and_links_lead_somewhere():
    assert "@@" not in README
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert link.startswith("http") or (ROOT / link).exists(), link


def test_what_readme_says_of_the_paper_is_the_reports():
    report = (ROOT / "benchmarks" / "reproduction" / "report.md").read_text(encoding="utf-8")
    told = README[README.index("## The paper, reproduced") : README.index("![Experiment 2, corrected]")]
    quoted = [line for line in told.splitlines() if line.startswith("- ") or "published means of CD" in line]
    assert len(quoted) == 5
    for line in quoted:
        assert line in report
    more = (ROOT / "benchmarks" / "reproduction" / "more_replications.md").read_text(encoding="utf-8")
    assert re.findall(r"^- experiment.*z = ([+-][0-9.]+)\.$", more, re.M) == ["-2.4", "+2.9", "+2.8", "-2.5"]
    assert len(re.findall(r"^- experiment[13],.*z = ", report, re.M)) == 7


def test_the_study_in_readme_is_the_examples():
    """Its numbers come from chains that another processor may round otherwise; its settings and its end do not."""
    example = (ROOT / "examples" / "step_size_study.py").read_text(encoding="utf-8")
    steps = [float(text) for text in re.search(r"\[([0-9e., -]+)\]", example).group(1).split(",")]
    shown = block("text", "## Tune a sampler").splitlines()
    assert [float(line.split()[0]) for line in shown[2 : 2 + len(steps)]] == steps
    assert any("ESS and CD disagree" in line for line in shown)


def test_false_alarms_are_the_studys():
    study = (ROOT / "benchmarks" / "pairs.md").read_text(encoding="utf-8")
    table = re.search(r"## A reference sample split in two.*?\n\n(.*?)\n\n", study, re.S).group(1)
    assert table in README
    flagged = [float(row.split("|")[4].split("(")[0]) for row in table.splitlines()[2:]]
    assert max(flagged) <= 5.0


def test_the_lines_about_all_pairs_run(tmp_path, monkeypatch, recwarn):
    """What README shows of `pairwise` and its neighbours, on the eight schools."""
    import numpy as np
    import pandas as pd
    from arviz_base import load_arviz_data

    import copula_discrepancy as cd

    monkeypatch.chdir(tmp_path)
    load_arviz_data("centered_eight").to_netcdf("candidate.nc", engine="h5netcdf")
    load_arviz_data("non_centered_eight").to_netcdf("reference.nc", engine="h5netcdf")
    rng = np.random.default_rng(1)
    draws = pd.DataFrame(cd.Gumbel(2.5).sample(500, rng=1), columns=["a", "b"])
    names = {"draws": draws, "reference": pd.DataFrame(cd.Gumbel(2.5).sample(500, rng=2), columns=["a", "b"])}
    names |= {"real": draws, "synthetic": draws.sample(frac=1.0, random_state=rng.bit_generator)}
    shown = printed(lambda: exec(block("python", "## Every pair of your draws"), names))
    assert shown[0].startswith("Copula discrepancy: gaps in")
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a plot called show"))
    exec(block("python", "## A page, and pictures"), names)
    assert len(plt.get_fignums()) == 5
    plt.close("all")
    with plt.style.context(re.search(r"plt\.style\.use\(\"([^\"]+)\"\)", README).group(1)):
        assert mpl.rcParams["svg.hashsalt"] == "copula-discrepancy"
    assert isinstance(names["result"], cd.Pairwise)
