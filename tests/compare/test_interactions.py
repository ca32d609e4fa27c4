"""Three variables at a time, as users see it."""

import json

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare.gate import gate
from copula_discrepancy.compare.interactions import rank_triples
from copula_discrepancy.compare.interactions_wording import effect, roles
from copula_discrepancy.compare.many import rank_pairs
from copula_discrepancy.report.page.interactions import section
from tests.caveat_codes import codes_of, warned


def exclusive_or(rng, n):
    values = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    values["c"] = np.abs(values["c"]) * np.sign(values["a"] * values["b"])
    return values


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.standard_normal((800, 4)), columns=list("abcd")), exclusive_or(rng, 800)


@pytest.fixture(scope="module")
def lost(samples):
    return cd.interactions(*samples, iid=True)


def test_only_triples_show_it(samples, lost):
    assert rank_pairs(*samples, iid=True).n_flagged == 0
    assert lost.flagged.tolist() == [True, False, False, False]
    worst = lost.worst
    assert worst.names == ("a", "b", "c")
    assert worst.cell == (1, 1, 1)
    assert worst.verdict == "the correlation of a and b rises with c in the reference, not in the rows"
    assert not worst.in_pairs
    assert lost.outcome == "gap"
    assert lost["c", "a", "b"] == worst == next(iter(lost))
    assert lost.coefficients.shape == lost.targets.shape == (4, 8)


def test_words_and_numbers(lost):
    assert "rises with c" in repr(lost)
    assert "rises with c" in lost._repr_html_()
    table = lost.to_dataframe()
    assert table.loc[0, ["first", "second", "third", "cell"]].tolist() == ["a", "b", "c", "1,1,1"]
    plain = json.loads(json.dumps(lost.to_dict()))
    assert len(plain["triples"]) == plain["n_triples"] == 4
    assert plain["triples"][0]["cell"] == [1, 1, 1]


def test_a_pair_that_differs_is_mentioned():
    rng = np.random.default_rng(2)
    log_scale, mean = rng.standard_normal((2, 1500))
    groups = {f"g{k}": mean + np.exp(log_scale) * rng.standard_normal(1500) for k in range(2)}
    reference = pd.DataFrame({"log_scale": log_scale, **groups})
    draws = pd.DataFrame({name: rng.permutation(reference[name]) for name in reference})
    result = cd.interactions(draws, reference, iid=True)
    assert result.worst.flagged
    assert result.worst.in_pairs
    assert "pairwise" in result.sentences()["Pairs"]


def test_without_a_reference():
    rng = np.random.default_rng(3)
    result = cd.interactions(exclusive_or(rng, 800), iid=True)
    assert result.worst.flagged
    assert result.worst.verdict == "the correlation of a and b rises with c"
    assert np.isnan(result.worst.target)
    assert "elliptical" in result.sentences()["Null"]
    normal = cd.interactions(rng.multivariate_normal(np.zeros(3), 0.4 * np.eye(3) + 0.6, 800), iid=True)
    assert normal.outcome == "no gap"
    assert normal.verdict == "no effect found in 1 triple"


def test_halves_of_one_sample_are_alike():
    """Flags in at most 7% of runs at 5%; here none in 20 may be more than 4 (probability 0.3%)."""
    rng = np.random.default_rng(4)
    flagged = 0
    for _ in range(20):
        chains = rng.standard_normal((4, 250, 6))
        chains[..., 1] += chains[..., 0] ** 2
        flagged += rank_triples(chains[:2], chains[2:]).n_flagged > 0
    assert flagged <= 4


def test_the_same_rows_are_void(samples):
    with warned("same-rows"):
        result = cd.interactions(samples[0], samples[0], iid=True)
    assert result.outcome == result.verdict == "void"
    assert {gap.verdict for gap in result} == {"void"}


def test_effects_in_words(lost):
    assert roles(("a", "b", "c"), (2, 1, 1)) == ("the correlation of b and c", "towards the ends of a")
    assert roles(("a", "b", "c"), (2, 1, 2)) == ("the tendency of a and c to be extreme together", "with b")
    assert roles(("a", "b", "c"), (2, 2, 2)) == ("the tendency of a and b to be extreme together", "towards the ends of c")
    said = {}
    for value, target in ((0.5, 0.0), (0.0, -0.5), (0.5, -0.5), (0.5, 0.3), (0.1, 0.3), (0.01, -0.01)):
        gap = cd.Interaction(("a", "b", "c"), (1, 1, 1), value, 0.02, target, 0.02, value - target, 0.03, 0.0, 0.0, False, True)
        said[value, target] = effect(gap, "draws").removeprefix("the correlation of a and b ")
    assert list(said.values()) == [
        "rises with c in the draws, not in the reference",
        "falls with c in the reference, not in the draws",
        "rises with c in the draws, but falls in the reference",
        "rises more with c in the draws than in the reference",
        "rises less with c in the draws than in the reference",
        "changes with c differently in the draws and in the reference",
    ]


def test_a_gate_looks_at_triples(samples, lost):
    pairs = rank_pairs(*samples, iid=True)
    assert gate(pairs, max_gap=0.3).code == "passed"
    failed = gate(pairs, max_gap=0.3, triples=lost)
    assert failed.failed
    assert "a ~ b ~ c" in failed.sentence
    assert gate(pairs, max_gap=0.9, triples=lost).code == "passed"


def test_the_section_of_a_page(lost):
    found = section(lost)
    assert found["rows"][0]["flagged"]
    assert found["rows"][0]["names"] == ["a", "b", "c"]
    assert len(found["rows"][0]["cells"]) == len(found["heads"])
    assert found["total"] == found["shown"] == 4


def test_a_constant_variable_is_lost():
    rng = np.random.default_rng(5)
    draws, reference = rng.standard_normal((2, 300, 4))
    draws[:, 3] = 1.0
    with warned("constant-in-draws"):
        result = cd.interactions(draws, reference, iid=True)
    assert result.stuck == ("x3",)
    assert result.outcome == "gap"
    assert codes_of(result) == ["constant-in-draws"]


@pytest.mark.parametrize(
    ("call", "code", "word"),
    [
        (lambda x: cd.interactions(x, x[::-1]), "shape", "var_names"),  # 101 variables
        (lambda x: cd.interactions(x[:, :2]), "shape", "at least 3"),
        (lambda x: cd.interactions(x[:, :3], np.eye(3)), "no-target", "pairwise"),
        (lambda x: cd.interactions(x[:, :3], cd.Gaussian(0.5)), "no-target", "pairwise"),
        (lambda x: cd.interactions(x[:, :3], iid="reference"), "argument", "reference"),
        (lambda x: cd.interactions(x[:, :3], adjust="no"), "argument", "adjust"),
        (lambda x: cd.interactions(x[:, :3])[1], "argument", "index 1"),
        (lambda x: cd.interactions(x[:, :3])["x0", "x1", "x9"], "unknown-name", "x9"),
        (lambda x: cd.interactions(x[:, :3])["x0", "x1", "x1"], "unknown-name", "different"),
        (lambda x: cd.interactions(x[:, :3])["x0"], "argument", "three names"),
    ],
)
def test_what_cannot_be_used(call, code, word):
    with pytest.raises(cd.InputError, match=word) as caught:
        call(np.random.default_rng(6).standard_normal((200, 101)))
    assert caught.value.code == code
