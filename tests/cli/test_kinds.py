"""`--kinds`: the kinds of columns on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli import parser


def saved(name, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=400)
    size = np.array(["S", "M", "L"])[np.digitize(a + rng.normal(size=400), [-0.8, 0.8])]
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=400), "size": size, "zip": rng.integers(1, 4, 400)})
    frame.to_csv(name, index=False)
    return frame


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return saved("a.csv", 1), saved("b.csv", 2)


def test_kinds_are_those_of_the_library(files, capsys):
    assert parser.main(["compare", "a.csv", "b.csv", "--iid", "--json", "--kinds", "size=S,M,L", "zip=id"]) == 0
    told = json.loads(capsys.readouterr().out)
    taus = {(pair["first"], pair["second"]): pair["tau"] for pair in told["pairs"]}
    assert len(taus) == 3  # of a, b and size
    expected = cd.kendall_tau(files[0]["a"], files[0]["size"].map({"S": 0, "M": 1, "L": 2}))
    assert next(tau for pair, tau in taus.items() if set(pair) == {"a", "size"}) == pytest.approx(expected)
    assert parser.main(["check", "a.csv", "--iid", "--kinds", "size=S,M,L", "--kinds", "zip=numeric"]) == 0
    assert "size" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["zip"], "zip=nominal"),
        (["zip=unordered"], "numeric, ordinal, nominal"),
        (["zip=id", "zip=nominal"], "twice"),
        (["=nominal"], "a column and its kind"),
    ],
)
def test_invalid_kinds_are_invalid_usage(files, words, told, capsys):
    with pytest.raises(SystemExit) as left:
        parser.main(["compare", "a.csv", "b.csv", "--kinds", *words])
    assert left.value.code == 2
    assert told in capsys.readouterr().err


def test_kinds_of_unknown_columns(files, capsys):
    assert parser.main(["compare", "a.csv", "b.csv", "--kinds", "sizes=nominal"]) == 1
    assert "did you mean 'size'" in capsys.readouterr().err
