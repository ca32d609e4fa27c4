"""`compare --by`: groups in the table, the JSON, the CSV, on the page and in the exit code."""

import json

import numpy as np
import pytest

from copula_discrepancy.cli import main
from tests.compare.test_groups import simpson


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("groups"), np.random.default_rng(1)
    for name, slope in (("draws", -1.0), ("reference", 1.0)):
        simpson(rng, slope).to_csv(folder / f"{name}.csv", index=False)
    return folder


def run(files, *options):
    return main(["compare", str(files / "draws.csv"), str(files / "reference.csv"), "--iid", *options])


def test_printed(files, capsys):
    assert run(files, "--by", "species") == 0
    printed = capsys.readouterr().out
    assert (
        printed.index("Gaps within 3 of 3 groups") < printed.index("Simpson's reversal: within") < printed.index("\n all rows ")
    )
    assert run(files, "--by", "species", "--columns", "x,y", "--top", "1") == 0
    assert "and 2 more groups (--top 0 shows all; --csv and --json include every number)" in capsys.readouterr().out


def test_json_csv_and_exit_code(files, capsys):
    assert run(files, "--by", "species", "--json", "--fail-above", "0.5") == 3
    caught = capsys.readouterr()
    numbers = json.loads(caught.out)
    assert numbers["reversals"][0]["simpson"]
    assert set(numbers["groups"]) == {"0", "1", "2"}
    assert "failed: within species" in caught.err
    assert run(files, "--by", "species", "--csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("group,first,second,verdict")
    assert len(lines) == 1 + 6 + 3 * 3


@pytest.mark.slow
def test_files(files, capsys, tmp_path):
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    assert run(files, "--by", "species", "--html", str(page), "--json", str(numbers)) == 0
    assert "compare" in page.read_text(encoding="utf-8").partition("How this page was made")[2]
    assert json.loads(numbers.read_text(encoding="utf-8"))["by"] == ["species"]
    assert str(page) in capsys.readouterr().out


def test_what_cannot_be_used(files, capsys):
    assert run(files, "--by", "specis") == 1
    assert "did you mean 'species'" in capsys.readouterr().err
    for option in ("--interactions", "--consequences"):
        with pytest.raises(SystemExit) as exited:
            run(files, "--by", "species", option)
        assert exited.value.code == 2
        assert "cannot be used with --by" in capsys.readouterr().err
