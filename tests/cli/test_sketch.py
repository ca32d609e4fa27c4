"""The command `sketch`, and commands on files that are counted."""

import json

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main

pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")


@pytest.fixture
def folders(tmp_path):
    """Two folders of Parquet files; one has lost the dependence of its first two columns."""
    rng = np.random.default_rng(1)
    for name in ("real", "fake"):
        (tmp_path / name).mkdir()
        for k in range(2):
            x, y, z = rng.normal(size=(3, 3000))
            y = y if name == "fake" else 0.7 * x + 0.7 * y
            pd.DataFrame({"x": x, "y": y, "z": z + x}).to_parquet(tmp_path / name / f"part{k}.parquet")
    return tmp_path


def test_a_table_counted_once(folders, capsys):
    real, fake, sketch = (str(folders / name) for name in ("real", "fake", "real.sketch"))
    assert main(["sketch", real, "--iid", "--out", sketch]) == 0
    told = capsys.readouterr().out
    assert "6,000 rows" in told
    assert "no rows" in told
    assert cd.DependenceSketch.load(sketch).n == 6000
    assert main(["compare", fake, sketch, "--iid", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["n_flagged"] >= 1
    assert found["pairs"][0]["first"] == "x"
    assert any("counted" in note for note in found["notes"])
    assert main(["compare", fake, sketch, "--iid", "--fail-above", "0.05"]) == 3
    assert main(["check", sketch, "--iid", "--columns", "x,z"]) == 0


def test_an_existing_file_is_kept(folders, capsys):
    real, sketch = str(folders / "real"), folders / "real.sketch"
    sketch.write_text("mine")
    assert main(["sketch", real, "--iid", "--out", str(sketch)]) == 1
    assert "exists" in capsys.readouterr().err
    assert sketch.read_text() == "mine"
    assert main(["sketch", real, "--iid", "--out", str(sketch), "--force"]) == 0


def test_triples_for_interactions(folders, capsys):
    real, fake, sketch = (str(folders / name) for name in ("real", "fake", "real.sketch"))
    assert main(["sketch", real, "--iid", "--triples", "--out", sketch]) == 0
    assert main(["compare", fake, sketch, "--iid", "--interactions"]) == 0
    assert "Three variables at a time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sketch", "real", "--out", "real.txt"], "ends in .sketch"),
        (["sketch", "real", "--out", "r.sketch", "--memory", "two"], "--memory must be"),
        (["sketch", "real", "--out", "r.sketch", "--resolution", "9"], "16 to 240"),
        (["compare", "fake", "real", "--engine", "counted", "--by", "x"], "--by needs rows in memory"),
        (["compare", "fake", "real", "--engine", "counted", "--lags", "2"], "--lags needs rows in memory"),
        (["compare", "fake", "real", "--engine", "counted", "--consequences"], "--consequences needs rows in memory"),
        (["compare", "fake", "real", "--memory", "much"], "--memory must be"),
    ],
)
def test_usage(folders, monkeypatch, capsys, words, said):
    monkeypatch.chdir(folders)
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_a_damaged_file_is_refused(folders, capsys):
    real, sketch = str(folders / "real"), folders / "real.sketch"
    main(["sketch", real, "--iid", "--out", str(sketch)])
    sketch.write_bytes(sketch.read_bytes()[:-100])
    capsys.readouterr()
    assert main(["compare", real, str(sketch), "--iid"]) == 1
    assert "real.sketch" in capsys.readouterr().err


def test_counted_and_ranked_give_one_answer(folders, capsys):
    words = ["compare", str(folders / "fake"), str(folders / "real"), "--iid", "--json"]
    numbers = []
    for engine in ("exact", "counted"):
        assert main([*words, "--engine", engine]) == 0
        numbers.append(
            {tuple(sorted((pair["first"], pair["second"]))): pair for pair in json.loads(capsys.readouterr().out)["pairs"]}
        )
    for key, pair in numbers[0].items():
        assert numbers[1][key]["verdict"] == pair["verdict"]
        assert numbers[1][key]["level"] == pytest.approx(pair["level"], abs=0.1 * pair["level_se"])
