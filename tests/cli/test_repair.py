"""The command that repairs files."""

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc")).assign(label='x, "y"').to_csv("bad.csv", index=False)
    covariance = 0.2 * np.eye(3) + 0.8
    for name in ("reference", "fresh"):
        pd.DataFrame(rng.multivariate_normal(np.zeros(3), covariance, 200), columns=list("cab")).to_csv(
            f"{name}.csv", index=False
        )
    return tmp_path


def run(words, capsys):
    try:
        code = main(words.split())
    except SystemExit as end:  # argparse
        code = end.code
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_file_is_repaired(folder, capsys):
    before = (folder / "bad.csv").read_bytes()
    code, out, err = run("repair bad.csv reference.csv --out fixed.csv --columns a,b,c", capsys)
    assert (code, err) == (0, "")
    result = cd.repair("bad.csv", "reference.csv", var_names=["a", "b", "c"])
    assert out.startswith(repr(result))
    assert "fixed.csv" in out.splitlines()[-1]
    assert (folder / "bad.csv").read_bytes() == before
    cells = [pd.read_csv(name, dtype=str) for name in ("bad.csv", "fixed.csv")]
    for name in cells[0]:
        assert Counter(cells[0][name]) == Counter(cells[1][name])
    assert (cells[0][["a", "label"]] == cells[1][["a", "label"]]).all(axis=None)
    record = json.loads((folder / "fixed.repair.json").read_text())
    assert record["reference"] == "reference.csv"
    assert record["input"] == ["bad.csv"]
    assert record["moved"] == ["b", "c"]
    assert record["seed"] == 1
    assert run("compare fixed.csv fresh.csv --columns a,b,c --iid --fail-above 0.2", capsys)[0] == 0
    assert run("compare bad.csv fresh.csv --columns a,b,c --iid --fail-above 0.2", capsys)[0] == 3


def test_options_reach_the_repair(folder, capsys):
    code, out, err = run("repair bad.csv reference.csv --out f.csv --exclude label --only c --seed 7 --json", capsys)
    assert code == 0
    told = json.loads(out)
    assert told["provenance"]["only"] == ["c"]
    assert told["provenance"]["seed"] == 7
    assert told["in_place"] == ["a", "b"]
    assert told["written"] == "f.csv"
    assert "f.csv" in err
    kept, moved = pd.read_csv("bad.csv"), pd.read_csv("f.csv")
    assert kept[["a", "b"]].equals(moved[["a", "b"]])
    assert not kept["c"].equals(moved["c"])
    assert run("repair bad.csv reference.csv --out g.csv --exclude label --anchor c", capsys)[0] == 0
    assert pd.read_csv("g.csv")["c"].equals(kept["c"])


def test_files_are_not_overwritten(folder, capsys):
    command = "repair bad.csv reference.csv --columns a,b,c --out"
    assert run(f"{command} fixed.csv", capsys)[0] == 0
    written = (folder / "fixed.csv").read_bytes()
    for words in (f"{command} fixed.csv --seed 2", f"{command} bad.csv --force", f"{command} reference.csv --force",
                  f"{command} bad.csv", f"{command} no/fixed.csv", f"{command} fixed.parquet"):  # fmt: skip
        code, out, err = run(words, capsys)
        assert (code, out) == (1, "")
        assert err.startswith("copula-discrepancy: ")
        assert err.count("\n") == 1
    assert (folder / "fixed.csv").read_bytes() == written
    (folder / "fixed.csv").unlink()
    assert run(f"{command} fixed.csv", capsys)[0] == 1  # its record is still there
    assert run(f"{command} fixed.csv --force", capsys)[0] == 0
    assert (folder / "fixed.csv").read_bytes() == written


def test_chains_and_missing_cells(folder, capsys):
    table = pd.read_csv("bad.csv").drop(columns="label")
    table.assign(run=np.repeat([1, 0], 100)).to_csv("chains.csv", index=False)
    assert run("repair chains.csv reference.csv --chains run --out o.csv", capsys)[0] == 0
    assert pd.read_csv("o.csv")["run"].tolist() == [1] * 100 + [0] * 100
    assert pd.read_csv("o.csv")["a"].equals(table["a"])
    table.loc[3, "b"] = np.nan
    table.to_csv("holes.csv", index=False)
    assert run("repair holes.csv reference.csv --out h.csv", capsys)[0] == 1
    assert run("repair holes.csv reference.csv --out h.csv --missing listwise", capsys)[0] == 0
    assert (folder / "h.csv").read_text().splitlines()[4] == (folder / "holes.csv").read_text().splitlines()[4]
    for k in range(2):
        table[k * 50 : (k + 1) * 50].fillna(0.5).to_csv(f"run_{k}.csv", index=False)
    assert run("repair run_*.csv reference.csv --out both", capsys)[0] == 0
    assert sorted(path.name for path in (folder / "both").iterdir()) == ["repair.json", "run_0.csv", "run_1.csv"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("repair bad.csv reference.csv", 2),
        ("repair bad.csv --out x.csv", 2),
        ("repair bad.csv reference.csv --out x.csv --seed x", 2),
        ("repair bad.csv reference.csv --out x.csv --missing pairs", 2),
        ("repair bad.csv reference.csv --out x.csv --filter regex --columns (", 2),
        ("repair none.csv reference.csv --out x.csv", 1),
        ("repair bad.csv reference.csv --out x.csv --exclude z", 1),
        ("repair bad.csv reference.csv --out x.csv --columns a,b --only z", 1),
        ("repair bad.csv reference.csv --out x.csv --columns a,b --anchor z", 1),
    ],
)
def test_what_cannot_be_used(folder, capsys, words, code):
    assert run(words, capsys)[0] == code
    assert not (folder / "x.csv").exists()


@pytest.mark.slow
def test_plots_are_not_loaded(folder):
    """A repair needs neither plots nor the samplers."""
    code = (
        "import sys; from copula_discrepancy.cli.parser import main; "
        "main('repair bad.csv reference.csv --columns a,b,c --out f.csv'.split()); "
        "print([name for name in ('matplotlib', 'arviz_stats', 'jinja2') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-1] == "[]"


def test_a_name_to_exclude_may_be_in_one_file_only(folder, capsys):
    assert run("repair bad.csv reference.csv --out f.csv --exclude label", capsys)[0] == 0
    pd.read_csv("reference.csv").assign(extra="t").to_csv("wider.csv", index=False)
    assert run("repair bad.csv wider.csv --out g.csv --exclude label,extra", capsys)[0] == 0
    assert (folder / "f.csv").read_bytes() == (folder / "g.csv").read_bytes()
