"""The command line as a person or a continuous integration job uses it."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare.wording import pair_label
from tests import loaded
from tests.caveat_codes import warned
from tests.numerals import numerals, one_line
from tests.refusals import refused


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, values, columns=("a", "b")):
    pd.DataFrame(values, columns=list(columns)).to_csv(name, index=False)


def run(*arguments, capsys):
    """Exit code, standard output and standard error."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as end:  # argparse
        code = end.code
    told = capsys.readouterr()
    return code, told.out, told.err


def test_check_says_that_a_right_sample_is_right(folder, capsys):
    write("draws.csv", cd.Gumbel(2.5).sample(2000, rng=1))
    code, out, err = run("check", "draws.csv", "--family", "gumbel", "--theta", "2.5", capsys=capsys)
    assert (code, err) == (0, "")
    result = cd.pairwise("draws.csv", cd.Gumbel(2.5))
    assert out.startswith(f"{answer(result)}: {result.title}\n")
    for topic in result.sentences():
        assert f"\n{topic}:" in out


def answer(result):
    """What Python prints first, with a capital letter."""
    told = repr(result).splitlines()[0].removeprefix("Copula discrepancy: ")
    return told[0].upper() + told[1:]


def test_reservations_and_void_comparisons_are_told_as_in_python(folder, capsys):
    write("few.csv", cd.Gumbel(2.5).sample(60, rng=1))
    write("others.csv", cd.Gumbel(2.5).sample(60, rng=2))
    for reference in ("others.csv", "few.csv"):
        _, out, _ = run("compare", "few.csv", reference, "--iid", capsys=capsys)
        with pytest.warns(cd.DependenceWarning):
            result = cd.pairwise("few.csv", reference, iid=True)
        assert out.startswith(f"{answer(result)}: {result.title}\n")


def test_check_finds_the_wrong_tails(folder, capsys):
    write("draws.csv", cd.Clayton(3.0).sample(2000, rng=1))
    code, out, _ = run("check", "draws.csv", "--family", "gumbel", "--tau", "0.6", "--iid", "--json", capsys=capsys)
    told = json.loads(out)
    assert (code, told["n_flagged"]) == (0, 1)
    assert told["pairs"][0]["shape_adjusted"] < 0.001


def test_the_threshold_decides_the_exit_code(folder, capsys):
    write("draws.csv", cd.Clayton(3.0).sample(2000, rng=1))
    row = cd.pairwise("draws.csv", cd.Gumbel(2.5)).worst
    target = ("--family", "gumbel", "--theta", "2.5", "--fail-above")
    code, _, err = run("check", "draws.csv", *target, f"{abs(row.total) - 0.005:.4f}", capsys=capsys)
    assert code == 3
    assert "a ~ b" in err
    # shape is the largest gap here: level and shape have opposite signs, so that |total| alone would hide part of it
    code, _, err = run("check", "draws.csv", *target, f"{abs(row.shape) + 0.001:.4f}", capsys=capsys)
    assert code == 3  # the corners are off by more, and beyond chance
    assert row.verdict in err
    largest = max(abs(row.numbers[name]) for name in ("level", "shape", "total", "low_low", "high_high"))
    code, _, err = run("check", "draws.csv", *target, f"{largest + 0.001:.4f}", capsys=capsys)
    assert code == 0
    assert f"{largest:.4f}" in err


def test_margins_are_told_and_decide_the_exit_code_on_request(folder, capsys):
    draws, reference = (cd.Gaussian(0.5).sample(1000, rng=seed) for seed in (1, 2))
    write("moved.csv", 3.0 + 2.0 * draws)
    write("fine.csv", draws)
    write("reference.csv", reference)
    code, out, _ = run("compare", "moved.csv", "reference.csv", "--iid", "--fail-above", 0.2, capsys=capsys)
    assert code == 0
    lines = out.splitlines()
    topics = [line.partition(":")[0] for line in lines if line[:1].isalpha()]
    assert topics[topics.index("Answer") :][:3] == ["Answer", "Tested", "Margins"]
    assert "2 of 2 variables differ" in out
    for options in (("--fail-above", 0.2), ()):
        code, _, err = run("compare", "moved.csv", "reference.csv", "--iid", "--margins", *options, capsys=capsys)
        assert (code, "margins" in err) == (3, True)
    assert run("compare", "fine.csv", "reference.csv", "--iid", "--margins", capsys=capsys)[0] == 0
    code, out, _ = run("compare", "moved.csv", "reference.csv", "--iid", "--json", capsys=capsys)
    assert [variable["flagged"] for variable in json.loads(out)["margins"]["variables"]] == [True, True]
    assert run("check", "fine.csv", "--margins", capsys=capsys)[0] == 2  # there is no reference


def test_a_threshold_counts_gaps_that_cancel(folder, capsys):
    """Strength too high and shape too low by as much: total is near 0, and the gate must not be fooled."""
    draws = cd.Clayton.from_tau(0.7).sample(4000, rng=2)
    row = cd.pairwise(draws, cd.Gumbel.from_tau(0.6), iid=True).worst
    assert abs(row.total) < min(abs(row.level), abs(row.shape))
    write("draws.csv", draws)
    limit = 0.5 * (abs(row.total) + max(abs(row.level), abs(row.shape)))
    code, _, _ = run("check", "draws.csv", "--family", "gumbel", "--tau", 0.6, "--fail-above", limit, capsys=capsys)
    assert code == 3


def test_compare_two_files(folder, capsys):
    rng = np.random.default_rng(2)
    strong = rng.multivariate_normal([0, 0, 0], [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], 1500)
    write("reference.csv", strong, "abc")
    # the candidate has its columns in another order
    write("candidate.csv", rng.standard_normal((1500, 3)), "cab")
    code, out, _ = run("compare", "candidate.csv", "reference.csv", "--iid", "--csv", capsys=capsys)
    assert code == 0
    table = pd.read_csv(io.StringIO(out))
    assert table["flagged"].tolist() == [True, False, False]
    assert table.loc[0, ["first", "second"]].tolist() == ["a", "b"]
    assert table.loc[0, "level"] < -0.4


def test_json_is_strict_and_csv_is_complete(folder, capsys):
    draws = np.random.default_rng(3).standard_normal((400, 3))
    draws = np.column_stack([draws, draws[:, 0]])  # perfect dependence: missing standard errors
    write("draws.csv", draws, "abcd")
    code, out, err = run("check", "draws.csv", "--json", capsys=capsys)
    assert (code, err) == (0, "")
    told = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert told["n_pairs"] == 6
    assert len(told["pairs"]) == 6
    perfect = next(pair for pair in told["pairs"] if {pair["first"], pair["second"]} == {"a", "d"})
    assert perfect["shape_se"] is None
    code, out, _ = run("check", "draws.csv", "--csv", capsys=capsys)
    table = pd.read_csv(io.StringIO(out))
    assert len(table) == 6
    expected = {"first", "second", "verdict", "pvalue", "tau", "shape", "shape_se", "n_eff", "rhat", "family"}
    assert expected <= set(table.columns)
    with warned("perfect-dependence"):
        same = cd.pairwise("draws.csv")
    np.testing.assert_allclose(table["shape"], same.rows["shape"], rtol=1e-12)


def test_columns_chains_and_a_chain_column(folder, capsys):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.standard_normal((400, 3)), columns=["mu", "cov[0, 1]", "tau"])
    frame.to_csv("draws.csv", index=False)
    _, out, _ = run("check", "draws.csv", "--columns", "cov[0, 1],mu", "--chains", 4, "--json", capsys=capsys)
    told = json.loads(out)
    assert told["names"] == ["cov[0, 1]", "mu"]
    assert told["draws"] == {"n_chains": 4, "n_draws": 100}
    frame.assign(run=np.repeat([7, 9], 200)).to_csv("chains.csv", index=False)
    _, out, _ = run("check", "chains.csv", "--chains", "run", "--json", capsys=capsys)
    assert json.loads(out)["draws"] == {"n_chains": 2, "n_draws": 200}
    _, out, _ = run("check", "draws.csv", "--columns", "u", "--filter", "like", "--json", capsys=capsys)
    assert json.loads(out)["names"] == ["mu", "tau"]


def test_several_files_and_patterns_are_chains(folder, capsys):
    rng = np.random.default_rng(5)
    for k in (1, 2, 10):
        write(f"run_{k}.csv", rng.standard_normal((100, 2)))
    write("reference.csv", rng.standard_normal((300, 2)))
    _, out, _ = run("check", "run_1.csv", "run_2.csv", "--json", capsys=capsys)
    assert json.loads(out)["draws"] == {"n_chains": 2, "n_draws": 100}
    _, out, _ = run("compare", "run_*.csv", "reference.csv", "--json", capsys=capsys)
    assert json.loads(out)["draws"] == {"n_chains": 3, "n_draws": 100}


@pytest.mark.slow
def test_netcdf_with_group_and_coordinates(folder, capsys):
    from arviz_base import load_arviz_data

    load_arviz_data("centered_eight").to_netcdf("centered.nc", engine="h5netcdf")
    load_arviz_data("non_centered_eight").to_netcdf("other.nc", engine="h5netcdf")
    chosen = ("--columns", "theta", "--coords", "school=Hotchkiss,Phillips Exeter")
    code, out, _ = run("compare", "centered.nc", "other.nc", *chosen, "--json", capsys=capsys)
    (pair,) = json.loads(out)["pairs"]
    assert (code, round(pair["tau"], 2), round(pair["tau_target"], 2)) == (0, 0.19, 0.35)
    code, _, err = run("compare", "centered.nc", "other.nc", capsys=capsys)
    assert code == 1
    assert "theta_t[Choate]" in err  # centered has no theta_t
    code, _, err = run("check", "centered.nc", "--group", "prior_predictve", capsys=capsys)
    assert code == 1
    assert "prior_predictive" in err


def test_labels_that_are_numbers_are_selected_by_text(folder, capsys):
    import xarray as xr

    for seed, name in enumerate(("given.nc", "other.nc")):
        values = np.random.default_rng(seed).standard_normal((2, 100, 4))
        dims, labels = ("chain", "draw", "y_dim_0"), {"y_dim_0": np.arange(4)}
        xr.Dataset({"y": (dims, values)}, coords=labels).to_netcdf(name, engine="h5netcdf")
    code, out, _ = run("compare", "given.nc", "other.nc", "--coords", "y_dim_0=3,1", "--json", capsys=capsys)
    assert code == 0
    assert [(pair["first"], pair["second"]) for pair in json.loads(out)["pairs"]] == [("y[3]", "y[1]")]


@pytest.mark.slow
def test_the_demo_finds_what_is_known(capsys):
    code, out, err = run("demo", capsys=capsys)
    assert (code, err) == (0, "")
    told = " ".join(out.split())
    assert "theta[Phillips Exeter] and tau have Kendall's tau 0.00, 0.00 in the reference" in told
    assert re.search(r'nothing of this is left, the verdict is "[^"]*funnel lost', told)
    assert re.search(r"level -?[+0-9.]+ \(p = 0\.[1-9]", told)  # strength does not see what is lost
    assert "4% of the draws are in the lowest quarter of tau in the reference" in told
    code, out, _ = run("demo", "--json", capsys=capsys)
    told = json.loads(out)
    (known,) = (p for p in told["pairs"] if {p["first"], p["second"]} == {"theta[Phillips Exeter]", "theta[Hotchkiss]"})
    assert (round(known["tau"], 2), round(known["tau_target"], 2)) == (0.19, 0.35)  # centered, non-centered
    schools = [p for p in told["pairs"] if p["first"].startswith("theta") and p["second"].startswith("theta")]
    assert all(pair["level"] < 0 for pair in schools if pair["level_adjusted"] < 0.05)
    assert sum(pair["level_adjusted"] < 0.05 for pair in schools) >= 5
    assert np.mean([pair["level"] for pair in schools]) < -0.05


@pytest.mark.parametrize(
    ("content", "arguments", "named"),
    [
        (None, (), "draws.csv"),
        ("", (), "draws.csv"),
        ("a|b\n1|2\n3|4\n5|6\n", (), "'|'"),
        ("a,name\n1,x\n2,y\n3,z\n4,w\n", (), "name"),
        ("price,b\n1,2\n3,\n5,6\n,7\n8,9\n", ("--missing", "raise"), "price"),
        ("a\n1\n2\n3\n4\n", (), "(a)"),
        ("a,a\n1,2\n3,4\n5,6\n7,8\n", (), "a"),
        ("a,b\n1,2\n1,3\n1,4\n1,5\n", (), "a"),
        ("a,b\n1,2\n3,4\n5,7\n2,1\n", ("--columns", "a,c"), "'c'"),
        ("a,b\n1,2\n3,4\n5,7\n", (), "3"),
    ],
)
def test_bad_files_get_one_sentence(folder, capsys, content, arguments, named):
    if content is not None:
        (folder / "draws.csv").write_text(content)
    code, out, err = run("check", "draws.csv", *arguments, capsys=capsys)
    assert (code, out) == (1, "")
    assert err.startswith("copula-discrepancy: ")
    assert named in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_mismatched_variables_are_listed_on_both_sides(folder, capsys):
    rng = np.random.default_rng(6)
    write("one.csv", rng.standard_normal((50, 3)), ("own", "b", "c"))
    write("two.csv", rng.standard_normal((50, 3)), ("b", "c", "other"))
    code, _, err = run("compare", "one.csv", "two.csv", capsys=capsys)
    assert code == 1
    assert "own" in err
    assert "other" in err


def test_debug_shows_where_an_error_comes_from(folder):
    with refused("file") as caught:
        main(["check", "missing.csv", "--debug"])
    assert "missing.csv" in str(caught.value)


def test_defects_are_told_in_one_sentence_too(folder, capsys, monkeypatch):
    import copula_discrepancy.cli.commands as commands

    write("draws.csv", np.random.default_rng(7).standard_normal((50, 2)))
    monkeypatch.setattr(commands, "rank_pairs", lambda *given, **choices: {}["nothing"])
    code, _, err = run("check", "draws.csv", capsys=capsys)
    assert code == 1
    assert "KeyError: 'nothing'" in err
    assert "--debug" in err  # which shows the traceback that a report needs
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("check",), "file"),
        (("check", "x.csv", "--theta", "2"), "--family"),
        (("check", "x.csv", "--family", "gumbel", "--theta", "0.4"), "theta"),
        (("check", "x.csv", "--family", "gumble", "--theta", "2"), "gumbel"),
        (("check", "x.csv", "--family", "gumbel", "--theta", "2", "--tau", "0.5"), "--tau"),
        (("check", "x.csv", "--family", "gumbel", "--theta", "2", "--df", "4"), "--df"),
        (("check", "x.csv", "--family", "studentt", "--theta", "0.5"), "degrees of freedom"),
        (("check", "x.csv", "--df", "4"), "--df"),
        (("check", "x.csv", "--fail-above", "-1"), "--fail-above"),
        (("check", "x.csv", "--fail-above", "lots"), "--fail-above"),
        (("check", "x.csv", "--max-rhat", "0.9"), "--max-rhat"),
        (("check", "x.csv", "--max-rhat", "nan"), "--max-rhat"),
        (("check", "x.csv", "--min-n-eff", "-400"), "--min-n-eff"),
        (("check", "x.csv", "--iid-draws"), "--iid-draws"),
        (("check", "x.csv", "--json", "--csv"), "--csv"),
        (("check", "x.csv", "--json=numbers.txt"), "--json"),
        (
            ("compare", "x.csv", "y.csv", "--json", "numbers.txt"),
            "compare: error: unrecognized arguments: numbers.txt; the file after --json",
        ),
        (("reproduce", "--ot"), "reproduce: error"),
        (("check", "x.csv", "--json", "--force"), "--force"),
        (("check", "x.csv", "--top", "-3"), "--top"),
        (("check", "x.csv", "--jobs", "0"), "--jobs"),
        (("check", "x.csv", "--columns", " , "), "--columns"),
        (("check", "x.csv", "--coords", "school"), "--coords"),
        (("check", "x.csv", "--adjust", "fdr"), "--adjust"),
        (("compare", "x.csv"), "reference"),
        (("explain",), "explain"),
        ((), "usage"),
    ],
)
def test_wrong_usage_ends_with_two(folder, capsys, arguments, named):
    code, out, err = run(*arguments, capsys=capsys)
    assert code == 2
    assert named in (err + out).splitlines()[-1] or (not arguments and named in out)


# ---- exit codes of gates ----------------------------------------------------------------------------------------------


def chains(seed, shift=0.0):
    """Four chains; `shift` moves half of them, so that they disagree about the dependence of a and b."""
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((4, 250, 2))
    draws[:2, :, 1] += shift * draws[:2, :, 0]
    return np.concatenate(draws)


@pytest.mark.parametrize("options", [(), ("--fail-above", "0.5"), ("--iid",), ("--iid", "--fail-above", "0.5"), ("--json",)])
def test_a_comparison_with_itself_is_undecided(folder, capsys, options):
    write("draws.csv", chains(1))
    code, out, err = run("compare", "draws.csv", "draws.csv", *options, capsys=capsys)
    assert code == 4
    assert err.endswith("(exit code 4)\n")
    assert err.count("\n") == 1
    assert out  # the numbers are told all the same


@pytest.mark.slow
def test_a_reader_that_leaves_early_does_not_hide_the_exit_code(folder):
    write("draws.csv", chains(1))
    script = f"{sys.executable} -m copula_discrepancy compare draws.csv draws.csv --iid | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", script], capture_output=True).returncode == 4


@pytest.mark.parametrize("options", [(), ("--fail-above", "0.5"), ("--min-n-eff", "10")])
def test_a_comparison_that_tests_nothing_is_undecided(folder, capsys, options):
    values = np.zeros((300, 2))
    values[:2, 0] = values[2:4, 1] = 1.0
    write("draws.csv", values)
    code, _, err = run("check", "draws.csv", "--iid", *options, capsys=capsys)
    assert code == 4
    assert err.endswith("(exit code 4)\n")


def test_chains_that_disagree_are_undecided_where_a_limit_is_set(folder, capsys):
    write("draws.csv", chains(2, shift=2.0))
    write("reference.csv", chains(3, shift=2.0))
    command = ("compare", "draws.csv", "reference.csv", "--chains", "4")
    code, out, err = run(*command, "--json", capsys=capsys)
    pair = json.loads(out)["pairs"][0]
    largest = max(pair["rhat"], pair["rhat_target"])
    assert (code, err) == (0, "")  # nothing was to be judged
    assert largest > 1.1
    for options in (("--fail-above", "0.9"), ("--max-rhat", "1.01"), ("--max-rhat", f"{largest - 0.001:.4f}")):
        code, _, err = run(*command, *options, capsys=capsys)
        assert code == 4
        assert f"{largest:.3f}" in err
    for options in (("--max-rhat", "inf"), ("--max-rhat", f"{largest + 0.001:.4f}")):
        assert run(*command, "--fail-above", "0.9", *options, capsys=capsys)[0] == 0
    # a gap above its limit fails whether the chains agree or not
    assert run(*command, "--fail-above", "0.0001", capsys=capsys)[0] == 3


def test_an_r_hat_that_nobody_knows_passes_no_limit(folder, capsys):
    write("draws.csv", chains(4))
    command = ("check", "draws.csv", "--iid", "--family", "gaussian", "--theta", "0")
    assert run(*command, "--max-rhat", "1.01", capsys=capsys)[0] == 4
    for options in (("--fail-above", "0.5"), ("--max-rhat", "inf")):  # independent rows have no chains to compare
        assert run(*command, *options, capsys=capsys)[0] == 0


def test_effective_draws_have_a_limit(folder, capsys):
    write("draws.csv", chains(5))
    write("reference.csv", chains(6)[:400])
    command = ("compare", "draws.csv", "reference.csv")
    _, out, _ = run(*command, "--json", capsys=capsys)
    pair = json.loads(out)["pairs"][0]
    least = min(pair["n_eff"], pair["n_eff_target"])
    code, _, err = run(*command, "--min-n-eff", f"{least + 1:.0f}", capsys=capsys)
    assert code == 4
    assert f"{least:.0f}" in err
    code, _, err = run(*command, "--min-n-eff", f"{least - 1:.0f}", capsys=capsys)
    assert code == 0
    assert err.count("\n") == 1  # a gate that passes says so


def test_help_lists_every_exit_code_and_the_default_limit(capsys):
    from copula_discrepancy.estimate.agreement import RHAT_LIMIT

    for command in ((), ("check",), ("compare",)):
        _, out, _ = run(*command, "--help", capsys=capsys)
        listed = [line.split()[0] for line in out.partition("exit codes:\n")[2].splitlines() if line.split()[0].isdigit()]
        assert listed == ["0", "1", "2", "3", "4", "130"]
    described = one_line(out).rpartition("--max-rhat X ")[2].partition(" --min-n-eff")[0]
    assert str(RHAT_LIMIT) in numerals(described)
    assert "--fail-above" in described  # with which it holds


# ---- what is passed on and written ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "iid", "parts"),
    [
        ((), False, ["auto", "auto"]),
        (("--iid",), True, ["rows", "rows"]),
        (("--iid-draws",), "draws", ["rows", "auto"]),
        (("--iid-reference",), "reference", ["auto", "rows"]),
        (("--iid-draws", "--iid-reference"), True, ["rows", "rows"]),
        (("--iid", "--iid-draws"), True, ["rows", "rows"]),
    ],
)
def test_each_side_may_be_independent(folder, capsys, monkeypatch, options, iid, parts):
    from copula_discrepancy.cli import commands, reading

    passed, usual = [], reading.as_draws

    def read(path, **choices):
        passed.append(choices["parts"])
        return usual(path, **choices)

    def ranked(draws, target, **choices):
        passed.append(choices["iid"])
        raise cd.InputError("seen")

    monkeypatch.setattr(reading, "as_draws", read)
    monkeypatch.setattr(commands, "rank_pairs", ranked)
    write("draws.csv", chains(7))
    write("reference.csv", chains(8))
    assert run("compare", "draws.csv", "reference.csv", *options, capsys=capsys)[0] == 1
    assert passed == [*parts, iid]


def test_json_goes_to_a_file(folder, capsys):
    write("draws.csv", chains(9))
    _, printed, _ = run("check", "--json", "draws.csv", "--iid", capsys=capsys)
    code, out, _ = run("check", "draws.csv", "--iid", "--json", "numbers.json", capsys=capsys)
    assert code == 0
    assert (folder / "numbers.json").read_text() == printed
    assert "numbers.json" in out  # beside the table
    assert "a ~ b" in out
    code, out, err = run("check", "draws.csv", "--iid", "--json", "numbers.json", capsys=capsys)
    assert (code, out) == (1, "")
    assert "numbers.json" in err
    assert run("check", "draws.csv", "--iid", "--json=numbers.json", "--force", capsys=capsys)[0] == 0
    assert run("check", "draws.csv", "--iid", "--json", "nowhere/numbers.json", capsys=capsys)[0] == 1


@pytest.mark.parametrize("command", [["check", "draws.csv"], ["compare", "draws.csv", "draws.csv"], ["watch", "draws.csv"]])
def test_the_json_of_a_page_is_no_other_file(folder, capsys, command):
    """They differ: the page's has its worst pairs only."""
    write("draws.csv", chains(10))
    code, out, err = run(*command, "--html", "page.html", "--json", "./page.json", capsys=capsys)
    assert (code, out) == (2, "")
    assert "--json page.json is the file that --html writes next to its page" in err
    assert not (folder / "page.html").exists()


def test_a_folder_of_tables_may_be_chains(folder, capsys):
    (folder / "run").mkdir()
    for k in range(2):
        write(f"run/chain_{k}.csv", chains(k))
    files = [f"run/chain_{k}.csv" for k in range(2)]
    for options, chained in (
        (files, True), ([*files, "--parts", "rows"], False), (["run"], False), (["run", "--parts", "chains"], True),
        (["run", "--parts", "chains", "--iid"], True),
    ):  # fmt: skip
        code, out, _ = run("check", *options, capsys=capsys)
        assert code == 0
        assert ("2 x 1000 " in out) == chained
        assert ("2 parts read as one table" in out) == (not chained)
    code, _, err = run("check", "run", "--parts", "chains", "--engine", "counted", capsys=capsys)
    assert code == 2
    assert "--parts" in err


def test_hostile_names_are_shown_as_they_are(folder, capsys):
    names = ("[bold]x[/bold]", "<script>")
    write("draws.csv", np.random.default_rng(9).standard_normal((100, 2)), names)
    _, out, _ = run("check", "draws.csv", capsys=capsys)
    assert pair_label(*names) in out


def test_top_says_how_many_rows(folder, capsys):
    write("draws.csv", np.random.default_rng(10).standard_normal((60, 6)), "abcdef")
    counts = {}
    for top in (3, 10, 0):
        _, out, _ = run("check", "draws.csv", "--iid", "--top", top, capsys=capsys)
        lines = out.splitlines()
        start = next(k for k, line in enumerate(lines) if "───" in line)
        counts[top] = sum(" ~ " in line for line in lines[start:] if "note" not in line)
    assert counts == {3: 3, 10: 10, 0: 15}


def command(*arguments, **options):
    return [sys.executable, "-m", "copula_discrepancy", *arguments]


def test_help_is_quick_and_loads_nothing_heavy():
    """0.3 s of wall time on an idle machine is asked; loaded modules are what can be tested on a busy one."""
    code = "import sys, copula_discrepancy.cli.parser as c\ntry: c.main(['check', '--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('numpy', 'numba', 'pandas', 'scipy', 'rich', 'xarray') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip().endswith("[]")


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error_and_a_csv_does_not_load_arviz(folder):
    """A second of import would be half of the time asked for. Standard error has the list of what was loaded, no more."""
    write("few.csv", np.random.default_rng(11).standard_normal((100, 2)))
    write("draws.csv", np.random.default_rng(12).standard_normal((60, 30)), [f"v{k}" for k in range(30)])
    (folder / "both.py").write_text(
        "import contextlib, io, sys\n"
        "from copula_discrepancy.cli.parser import main\n"
        "with contextlib.redirect_stdout(io.StringIO()) as told:\n"
        "    assert main(['check', 'few.csv', '--json']) == 0\n"
        "assert told.getvalue().startswith('{')\n"
        "code = main(['check', 'draws.csv', '--iid', '--csv'])\n"
        "heavy = [m for m in ('arviz_stats', 'arviz_base', 'xarray', 'matplotlib', 'rich') if m in sys.modules]\n"
        "print(heavy, file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    run = subprocess.run(f"{sys.executable} both.py | head -1", shell=True, capture_output=True, text=True)
    assert run.stderr == "[]\n"
    assert run.stdout.startswith("first,second,verdict")


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupt_ends_a_long_run_with_130(folder):
    """Half a second into 44,850 pairs, which take far longer; all that has to be imported and loaded was before."""
    np.save("draws.npy", np.random.default_rng(13).standard_normal((4, 500, 300)))
    np.save("few.npy", np.random.default_rng(14).standard_normal((4, 500, 2)))
    code = (
        "import os, signal, sys, threading\n"
        "from copula_discrepancy.cli.parser import main\n"
        "main(['check', 'few.npy', '--csv'])\n"
        "print('begin', flush=True)\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "sys.exit(main(['check', 'draws.npy']))\n"
    )
    told = loaded.run(code)
    assert told.returncode == 130
    assert told.stderr.endswith(" interrupted\n")
    assert "Traceback" not in told.stderr
    assert told.stdout.partition("begin\n")[1:] == ("begin\n", "")


def test_the_module_runs_as_a_program(folder):
    told = subprocess.run(command("--version"), capture_output=True, text=True, check=True)
    assert told.stdout.strip() == cd.__version__
    assert Path("draws.csv").exists() is False


def test_the_table_fits_the_terminal():
    from copula_discrepancy.report.terminal import fitting

    rows = [["pair", "tau", "target", "level", "se", "shape", "se", "p", "n_eff", "verdict"]]
    rows += [["theta[Phillips Exeter] ~ theta[Hotchkiss]", "0.19", "0.35", "-0.160", "0.034", "-0.015", "0.010", "<0.001",
              "555", "too weak"]]  # fmt: skip
    assert fitting(rows, 120) == rows
    for width, columns in ((100, 10), (85, 8), (70, 7)):
        found = fitting(rows, width)
        assert len(found[0]) == columns
        assert "\n ~ " in found[1][0]
        widest = sum(max(len(part) for row in found for part in row[k].split("\n")) + 2 for k in range(columns))
        assert widest <= max(width, 78)
    assert found[0] == ["pair", "tau", "target", "level", "shape", "p", "verdict"]


@pytest.mark.parametrize("width", [20, 40, 50, 60, 70, 80, 100])
def test_a_narrow_table_has_pairs_and_verdicts_and_whole_numbers(width):
    """Columns are left out, and words folded between words where there is room for the longest."""
    from rich.console import Console

    from copula_discrepancy.report.terminal import fitting, rows_table

    rows = [["pair", "tau", "target", "level", "se", "shape", "se", "form", "kept", "p", "n_eff", "verdict"]]
    rows += [["theta[Phillips Exeter] ~ tau", "0.19", "0.35", "-0.160", "0.034", "-0.015", "0.010", "0.43", "123%", "<0.001",
              "555", "too strong, wrong shape, joint extremes too weak, high-high tail too thin"],
             ["mu ~ tau", "0.39", "0.35", "+0.040", "0.034", "-0.015", "0.010", "0.43", "98%", "0.450",
              "600", "no gap found"]]  # fmt: skip
    found = fitting(rows, width)
    where = Console(file=io.StringIO(), width=width)
    where.print(rows_table(found, (0, -1)))
    text = where.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    places = [rows[0].index(name) for name in found[0]]
    assert {"pair", "verdict"} <= {*found[0]}
    assert "level" in found[0] or width == 20
    assert "p" in found[0] or width <= 40
    for line, whole in zip(found, rows, strict=True):
        for cell, k in zip(line, places, strict=True):
            words = 0 < k < len(whole) - 1 or width > 20  # then none has to be broken
            assert " ".join(cell.split()) == whole[k] if words else "".join(cell.split()) == whole[k].replace(" ", "")
            assert all(part.strip() in text for part in cell.split("\n"))
