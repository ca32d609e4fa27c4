"""`consequence` and `compare --consequences`: what is printed and written, and the exit codes."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.options import SUMMARIES as NAMED
from copula_discrepancy.cli.options import _resamples
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare.consequence import FEWEST_RESAMPLES
from copula_discrepancy.estimate.summaries import SUMMARIES
from tests.numerals import one_line


@pytest.fixture(scope="module")
def tables():
    """A candidate without the dependence of the reference, of one size, with text and with a name of two words."""
    rng = np.random.default_rng(1)
    reference = rng.multivariate_normal([0.0, 0.5, 0.0], [[1, 0.8, 0], [0.8, 1, 0], [0, 0, 1]], 600)
    draws = rng.normal([0.0, 0.5, 0.0], 1.0, (600, 3))
    return [pd.DataFrame(values, columns=["a", "b", "bill length"]) for values in (draws, reference)]


@pytest.fixture
def folder(tmp_path, monkeypatch, tables):
    monkeypatch.chdir(tmp_path)
    for name, table in zip(("draws", "reference"), tables, strict=True):
        table.to_csv(f"{name}.csv", index=False)
        table.assign(city=np.where(np.arange(600) % 2, "Rome", "Paris")).to_csv(f"{name}_text.csv", index=False)
    return tmp_path


def run(capsys, expression, *options, draws="draws.csv", reference="reference.csv", command="consequence"):
    """Exit code, standard output and standard error; few resamples unless the options say otherwise."""
    words = [command, draws, reference, *([expression] if expression is not None else []), "--iid", *map(str, options)]
    words += ["--resamples", "50"] if command == "consequence" and "--resamples" not in options else []
    try:
        code = main(words)
    except SystemExit as ended:  # argparse
        code = ended.code
    told = capsys.readouterr()
    return code, told.out, told.err


# ---- the command ---------------------------------------------------------------------------------------------------


def test_prints_what_the_library_says(folder, capsys, tables):
    code, out, err = run(capsys, "a > b")
    result = cd.consequence(*tables, "a > b", iid=True, n_resamples=50)
    assert (code, err) == (0, "")
    verdict = result.verdict[0].upper() + result.verdict[1:]
    assert out.startswith(f"{verdict}\n{result.title}\n")
    for topic, sentence in result.sentences().items():
        assert one_line(f"{topic}: {sentence}") in one_line(out)
    for row in result.table_rows()[1:]:
        assert one_line(" ".join(row)) in one_line(out)


def test_options_reach_the_library(folder, capsys, tables):
    given = ("--summary", "quantile,sd", "--summary", "shortfall", "--q", "0.05,0.9", "--split", "average", "--seed", 7)
    code, out, err = run(capsys, "0.6*a + 0.4*b", *given, "--confidence", 0.9, "--resamples", 60, "--json")
    told = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (code, err) == (0, "")
    result = cd.consequence(
        *tables, "0.6*a + 0.4*b", summary=["quantile", "sd", "shortfall"], q=[0.05, 0.9], split="average", rng=7,
        confidence=0.9, n_resamples=60, iid=True,
    )  # fmt: skip
    assert [(effect["summary"], effect["q"]) for effect in told["effects"]] == [
        ("quantile", 0.05), ("quantile", 0.9), ("sd", None), ("shortfall", 0.05), ("shortfall", 0.9),
    ]  # fmt: skip
    assert told["effects"][0]["dependence"]["value"] == result.dependence.value
    assert told["effects"][0]["dependence"]["ci"] == [*result.dependence.ci]
    assert (told["outcome"], told["n"], told["n_resamples"]) == (result.outcome, [600, 600], 60)
    assert {"verdict", "words", "notes", "caveats", "warnings", "split", "iid", "names"} <= told.keys()


def test_csv_is_the_data_frame(folder, capsys, tables):
    _, out, _ = run(capsys, "a - b", "--summary", "sd", "--csv")
    frame = cd.consequence(*tables, "a - b", summary="sd", iid=True, n_resamples=50).to_dataframe()
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(out)), frame)


def test_files_are_written_once(folder, capsys):
    files = ("--plot", "p.png", "--json", "n.json")
    code, out, _ = run(capsys, "a + b", "--q", 0.05, *files)
    assert code == 0
    assert out.rstrip().endswith("Picture: p.png; Numbers: n.json")
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((folder / "n.json").read_text())["effects"][0]["q"] == 0.05
    for path, option in (("p.png", files[:2]), ("n.json", files[2:])):
        before = (folder / path).read_bytes()
        code, out, err = run(capsys, "a > b", *option)
        assert (code, out) == (1, "")
        assert path in err
        assert "--force" in err
        assert (folder / path).read_bytes() == before
    assert run(capsys, "a > b", *files, "--force")[0] == 0
    assert json.loads((folder / "n.json").read_text())["function"] == "a > b"
    assert sorted(path.suffix for path in folder.iterdir()) == [".csv"] * 4 + [".json", ".png"]


def test_files_are_looked_at_before_anything_is_computed(folder, capsys, monkeypatch):
    monkeypatch.setattr("copula_discrepancy.cli.consequence_command.weigh", lambda *_, **__: pytest.fail("computed in vain"))
    code, _, err = run(capsys, "a > b", "--plot", "nowhere/p.png")
    assert code == 1
    assert "nowhere" in err
    for wrong in (("--plot", "p.jpg"), ("--force",), ("--plot",)):
        assert run(capsys, "a > b", *wrong)[0] == 2


# ---- reading -------------------------------------------------------------------------------------------------------


def test_text_columns_do_not_matter_unless_named(folder, capsys):
    for draws, reference in (("draws_text.csv", "reference_text.csv"), ("draws.csv", "reference_text.csv")):
        code, out, err = run(capsys, "a > b", "--json", draws=draws, reference=reference)
        assert (code, err) == (0, "")
        assert json.loads(out)["effects"] == json.loads(run(capsys, "a > b", "--json")[1])["effects"]
    code, _, err = run(capsys, "a > city", draws="draws_text.csv", reference="reference_text.csv")
    assert code == 1
    assert "city" in err
    code, _, err = run(capsys, "a > c", draws="draws_text.csv", reference="reference_text.csv")
    assert code == 1
    assert "'c'" in err
    texts = {"draws": "draws_text.csv", "reference": "reference_text.csv"}
    assert run(capsys, "a > bill length", **texts)[0] == run(capsys, "a > `bill length`", **texts)[0] == 0
    code, _, err = run(capsys, "a > c and not b > 0", **texts)
    assert (code, "position 5" in err) == (1, True)
    assert run(capsys, "a > b", "--columns", "a,b,city", draws="draws_text.csv", reference="reference_text.csv")[0] == 1


def test_input_options(folder, capsys, tables):
    """Semicolons, a chain column, files in parts and names of two words, as for compare."""
    for name, table in zip(("draws", "reference"), tables, strict=True):
        table.assign(run=np.repeat([1, 2], 300)).to_csv(f"{name}_odd.csv", index=False, sep=";")
    odd = {"draws": "draws_odd.csv", "reference": "reference_odd.csv"}
    code, out, _ = run(capsys, "a > bill length", "--delimiter", ";", "--chains", "run", "--json", **odd)
    assert code == 0
    assert json.loads(out)["names"] == ["a", "bill length"]
    code, _, err = run(capsys, "a > b", "--exclude", "b")
    assert code == 1
    assert "'b'" in err
    code, _, err = run(capsys, "a > b", "--chains", "sun", **odd)
    assert code == 1
    assert "sun" in err
    for k in range(2):
        tables[0][300 * k : 300 * k + 300].to_csv(f"part_{k}.csv", index=False)
    whole = json.loads(run(capsys, "a > b", "--json")[1])
    parts = json.loads(run(capsys, "a > b", "--json", draws="part_*.csv")[1])
    assert parts["effects"] == whole["effects"]


def test_missing_values(folder, capsys, tables):
    holes = tables[0].copy()
    holes.loc[:9, "a"] = np.nan
    holes.loc[100:199, "bill length"] = np.nan
    holes.to_csv("holes.csv", index=False)
    for missing, rows in (("pairs", 590), ("listwise", 490)):
        _, out, _ = run(capsys, "a > b", "--missing", missing, "--json", draws="holes.csv")
        assert json.loads(out)["n"] == [rows, 600]
    assert run(capsys, "a > b", "--missing", "raise", draws="holes.csv")[0] == 1


# ---- errors and exit codes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("a - > 0", "position 5"),
        ("(a > b", "position 1"),
        ("a > c", "position 5: there is no variable 'c'"),
        ("a > 0", "one variable"),
        ("log(a) > b", "NaN"),
        ("a / (b - b)", "infinite"),
    ],
)
def test_expressions_that_cannot_be_used(folder, capsys, expression, said):
    code, out, err = run(capsys, expression)
    assert (code, out) == (1, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("expression", "options", "said"),
    [
        (" ", (), "empty"),
        ("a + b", ("--summary", "median"), "shortfall"),
        ("a + b", ("--summary", "quantile"), "--q"),
        ("a + b", ("--summary", "mean", "--q", "0.1"), "q is for quantiles"),
        ("a > b", ("--summary", "probability", "--q", "0.1"), "q is for quantiles"),
        ("a + b", ("--q", "1.5"), "between 0 and 1"),
        ("a + b", ("--resamples", "49"), "50"),
        ("a + b", ("--seed", "-1"), "not negative"),
        ("a + b", ("--split", "both"), "average"),
        ("a + b", ("--fail-above", "-1"), "not negative"),
        ("a + b", ("--json", "--csv"), "not allowed"),
        ("a + b", ("--filter", "regex"), "--filter"),
    ],
)
def test_invalid_usage_is_told_before_files_are_read(folder, capsys, monkeypatch, expression, options, said):
    monkeypatch.setattr("copula_discrepancy.cli.reading.as_draws", lambda *_, **__: pytest.fail("read in vain"))
    code, out, err = run(capsys, expression, *options)
    assert (code, out) == (2, "")
    assert said in err


def test_a_summary_that_does_not_suit_the_expression_is_an_error(folder, capsys):
    """Only the files tell whether it is a condition, as names may contain comparisons."""
    assert run(capsys, "a > b", "--summary", "sd")[0] == 1
    assert run(capsys, "a + b", "--summary", "probability")[0] == 1


def test_the_limit_decides_the_exit_code(folder, capsys, tables):
    size = abs(cd.consequence(*tables, "a > b", iid=True, n_resamples=50).dependence.value)
    code, _, err = run(capsys, "a > b", "--fail-above", f"{size - 0.001:.4f}")
    assert (code, "failed" in err) == (3, True)
    code, _, err = run(capsys, "a > b", "--fail-above", f"{size + 0.001:.4f}")
    assert (code, "passed" in err) == (0, True)
    # not significant: above the limit by chance
    code, out, err = run(capsys, "a + bill length", "--summary", "sd", "--fail-above", 0, "--json")
    assert (code, json.loads(out)["outcome"], "passed" in err) == (0, "no gap", True)
    # the second summary counts as well
    assert run(capsys, "a - b", "--summary", "mean,sd", "--fail-above", 0.3)[0] == 3
    code, _, err = run(capsys, "a > b", reference="draws.csv")
    assert (code, "undecided" in err) == (4, True)


def test_chains_that_disagree_do_not_pass(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    for name, shift in (("apart", 4.0), ("mixed", 0.0)):
        draws = rng.standard_normal((4, 250, 2))
        draws[0] += shift
        pd.DataFrame(draws.reshape(-1, 2), columns=["a", "b"]).to_csv(f"{name}.csv", index=False)
    words = ["consequence", "apart.csv", "mixed.csv", "a + b", "--summary", "sd", "--chains", "4", "--resamples", "50"]
    assert main(words) == 0
    assert main([*words, "--fail-above", "100"]) == 4
    assert "R-hat" in capsys.readouterr().err


def test_options_name_what_the_library_has():
    assert set(NAMED) == set(SUMMARIES)
    assert _resamples(str(FEWEST_RESAMPLES)) == FEWEST_RESAMPLES
    with pytest.raises(Exception, match=str(FEWEST_RESAMPLES)):
        _resamples(str(FEWEST_RESAMPLES - 1))


def test_help_has_the_language(capsys):
    with pytest.raises(SystemExit):
        main(["consequence", "--help"])
    told = capsys.readouterr().out
    for word in ("sqrt", "backquotes", "and or not", "exit codes", "--fail-above"):
        assert word in told


# ---- compare --consequences ----------------------------------------------------------------------------------------


def test_printed_below_pairs_and_triples(folder, capsys, tables):
    code, out, err = run(capsys, None, "--consequences", "--interactions", command="compare")
    assert (code, err) == (0, "")
    result = cd.worst_consequences(*tables, iid=True)
    places = [out.index(text) for text in ("Kendall's tau", "Three variables at a time", "What the worst pairs do to you")]
    assert places == sorted(places)
    below = one_line(out[places[-1] :])
    for sentence in result.sentences().values():
        assert one_line(sentence) in below
    for row in result.table_rows()[1:]:
        assert one_line(" ".join(row)) in below


def test_json_and_page(folder, capsys, tables):
    options = ("--confidence", 0.9, "--adjust", "holm", "--tail", 0.2)
    _, out, _ = run(capsys, None, "--consequences", "--json", *options, "--html", "page.html", command="compare")
    told = json.loads(out)
    result = cd.worst_consequences(*tables, iid=True, confidence=0.9, adjust="holm", tail=0.2)
    frame = result.to_dataframe()
    assert told["consequences"]["n_flagged"] == result.n_flagged
    assert told["consequences"]["tail"] == 0.2
    assert pd.DataFrame(told["effects"])[["first", "effect", "draws"]].equals(frame[["first", "effect", "draws"]])
    assert len(told["pairs"]) == 3
    beside = json.loads((folder / "page.json").read_text())
    assert beside["effects"] == told["effects"]
    assert beside["consequences"]["verdict"] == result.verdict
    assert 'id="consequences"' in (folder / "page.html").read_text()


def test_only_on_request_and_not_with_csv(folder, capsys):
    _, out, _ = run(capsys, None, "--json", "--html", "page.html", command="compare")
    assert not {"consequences", "effects"} & json.loads(out).keys()
    assert 'id="consequences"' not in (folder / "page.html").read_text()
    code, _, err = run(capsys, None, "--consequences", "--csv", command="compare")
    assert (code, "--json" in err) == (2, True)


def test_tables_with_holes(folder, capsys, tables):
    """Pairs use the rows that have both values; consequences those that have all, and say so."""
    holes = tables[0].copy()
    holes.loc[:9, "a"] = np.nan
    holes.to_csv("holes.csv", index=False)
    code, out, _ = run(capsys, None, "--consequences", "--json", draws="holes.csv", command="compare")
    told = json.loads(out)
    assert code == 0
    assert any("10 of 600" in note for note in told["consequences"]["notes"])
