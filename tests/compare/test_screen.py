"""The form of all pairs at once, as users see it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare.joint_wording import joint_words
from tests.caveat_codes import codes_of, warned


@pytest.fixture(scope="module")
def banana():
    """A dependence without correlation that the draws lost, in one of six pairs."""
    rng = np.random.default_rng(1)
    reference = pd.DataFrame(rng.standard_normal((1000, 4)), columns=list("abcd"))
    reference["b"] += reference["a"] ** 2
    return cd.screen(pd.DataFrame(rng.standard_normal((1000, 4)), columns=list("abcd")), reference, iid=True)


def test_worst_first(banana):
    assert banana.pair(0) == ("a", "b")
    assert banana.flagged.tolist() == [True] + 5 * [False]
    assert banana.outcome == "gap"
    assert abs(banana.kept[0]) < 0.1
    assert (np.diff(banana.distance[1:]) <= 0).all()
    table = banana.to_dataframe()
    assert table.loc[0, ["first", "second", "cell"]].tolist() == ["a", "b", "2,1"]
    assert abs(table.loc[0, "target"]) > 10 * table.loc[0, "se"]


def test_words(banana):
    assert banana.sentences()["Joint"].startswith("the joint dependence differs (p < 0.001); the rows keep ")
    assert "no joint difference" not in repr(banana)
    assert "a ~ b" in banana._repr_html_()
    plain = json.loads(json.dumps(banana.to_dict()))
    assert plain["n_flagged"] == 1
    assert plain["joint"]["n_pairs"] == len(plain["pairs"]) == 6
    assert repr(banana).startswith(f"Form of all pairs: {banana.verdict}\n")
    none = replace(banana, kept=np.full(6, -0.001))  # a little less than nothing
    assert "-0%" not in repr(none)
    assert "0% of the reference's dependence kept" in none.sentences()["Worst"]


def test_the_same_rows_are_void():
    draws = np.random.default_rng(2).standard_normal((200, 3))
    with warned("same-rows"):
        result = cd.screen(draws, draws, iid=True)
    assert result.outcome == result.verdict == "void"
    assert "no test is valid" in result.sentences()["Answer"]


def test_chains_without_a_gap():
    draws, reference = np.random.default_rng(3).standard_normal((2, 4, 300, 5))
    result = cd.screen(draws, reference)
    assert result.outcome == "no gap"
    assert codes_of(result) == []
    assert joint_words(result.joint, 0.95).startswith("no joint difference found (p = ")


def test_variables_left_out_are_told():
    rng = np.random.default_rng(4)
    samples = []
    for _ in range(2):
        table = pd.DataFrame(rng.standard_normal((300, 4)), columns=list("abcd"))
        table["c"] = table["c"] > 0
        table.loc[5, "d"] = np.nan
        samples.append(table)
    with warned("variables-left-out"):
        result = cd.screen(*samples, iid=True)
    assert len(result) == 1
    assert dict(result.left_out) == {"c": "too few different values", "d": "missing values"}
    listwise = cd.screen(samples[0].drop(columns="c"), samples[1].drop(columns="c"), iid=True, missing="listwise")
    assert len(listwise) == 3


def test_slow_chains_are_told():
    rng = np.random.default_rng(5)
    walk = np.cumsum(rng.standard_normal((2, 4, 200, 2)), axis=2)
    with warned("few-effective-draws", "chains-disagree"):
        cd.screen(*walk)


@pytest.mark.parametrize(
    ("call", "code", "word"),
    [
        (lambda x: cd.screen(x, None), "no-target", "reference sample"),
        (lambda x: cd.screen(x, np.eye(3)), "no-target", "pairwise"),
        (lambda x: cd.screen(x, x[::-1], order=9), "argument", "order"),
        (lambda x: cd.screen(x[:10], x[50:60], iid=True), "too-few-draws", "at least 20"),
        (lambda x: cd.screen(x, x[::-1]).pair(3), "argument", "rank"),
        (lambda x: cd.screen(x[:, :1], x[:, :1]), "shape", "at least 2"),
    ],
)
@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
def test_what_cannot_be_used(call, code, word):
    with pytest.raises(cd.InputError, match=word) as caught:
        call(np.random.default_rng(6).standard_normal((100, 3)))
    assert caught.value.code == code
