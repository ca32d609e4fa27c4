"""Two samples brought together: by name, by position, and without what either of them left out."""

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.data.matching import is_bare_word, matched, read_reference
from copula_discrepancy.data.naming import listed
from tests.data.refusals import refusal

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(RNG.normal(size=(200, 3)), columns=["a", "b", "c"])
CHAINS = RNG.normal(size=(4, 100, 3))


def test_names_are_matched_in_the_order_of_the_draws():
    draws, reference = matched(cd.as_draws(TABLE), cd.as_draws(TABLE[["c", "a", "b"]]))
    assert draws.names == reference.names == ("a", "b", "c")
    np.testing.assert_array_equal(draws.values, reference.values)


def test_without_names_on_one_side_positions_count_and_are_noted():
    for here, there in ((TABLE, TABLE.to_numpy()), (TABLE.to_numpy(), TABLE)):
        draws, reference = matched(cd.as_draws(here), cd.as_draws(there))
        assert draws.names == reference.names == ("a", "b", "c")
        assert len(draws.notes) == 1
    bare = cd.as_draws(TABLE.to_numpy())
    assert matched(bare, bare)[0].notes == ()


def test_what_one_sample_left_out_the_other_leaves_out_too():
    keyed = cd.as_draws(TABLE.assign(key=np.arange(200)))
    repeated = cd.as_draws(TABLE.assign(key=7))
    for pair in ((keyed, repeated), (repeated, keyed)):
        for sample in matched(*pair):
            assert sample.names == ("a", "b", "c")
            assert sample.left_out == (("key", "identifier"),)
            assert len(sample.notes) == 1


@pytest.mark.parametrize("function", [cd.pairwise, cd.DependenceFidelity.compute, matched])
def test_names_that_differ_have_one_code_everywhere(function):
    other = TABLE.rename(columns={"c": "d"})
    given = (cd.as_draws(TABLE), cd.as_draws(other)) if function is matched else (TABLE, other)
    message = refusal("names-differ", function, *given)
    assert "a, b" in message
    assert "c" in message
    assert "d" in message
    refusal("names-differ", function, *(cd.as_draws(sample) for sample in (TABLE, RNG.normal(size=(200, 2)))))


def test_discrepancy_matches_its_reference_in_the_same_way():
    pair = TABLE[["a", "b"]]
    turned = cd.discrepancy(pair, TABLE[["b", "a"]] ** 3, family="gaussian", iid=True)
    assert turned.level.value == cd.discrepancy(pair, pair**3, family="gaussian", iid=True).level.value
    refusal("names-differ", cd.discrepancy, pair, TABLE[["a", "c"]])


def test_an_error_in_the_reference_keeps_its_code():
    draws = cd.as_draws(TABLE.assign(path=np.repeat([0, 1], 100)), chains="path")
    message = refusal("nan", read_reference, TABLE.where(TABLE < 1), draws, {"missing": "raise"})
    assert message.startswith("reference: ")
    assert read_reference(TABLE.assign(path=np.repeat(np.arange(4), 50)), draws, {}).n_chains == 4
    assert len(read_reference(TABLE, draws, {}).notes) == 1


@pytest.mark.parametrize(
    ("draws", "names"),
    [
        (CHAINS, ("x0", "x1")),
        (CHAINS[0], ("x0", "x1")),
        (pd.DataFrame(CHAINS[0], columns=["mu", "tau", "x"]), ("mu", "tau")),
        ({"theta": CHAINS}, ("theta[0]", "theta[1]")),
    ],
)
def test_the_way_to_a_pair_can_be_typed(draws, names):
    message = refusal("shape", cd.discrepancy, draws, cd.Gumbel(2.0))
    typed = message.rpartition(";")[2].partition("example")[2]  # an expression of `draws`
    pair = cd.as_draws(eval(typed.strip(), {"as_draws": cd.as_draws, "draws": draws}))
    assert pair.names == names
    np.testing.assert_array_equal(pair.values, cd.as_draws(draws).values[:, :, :2])  # all chains and draws


@pytest.mark.parametrize(
    ("target", "word"), [("gumbel", True), ("run_*.csv", False), ("a/b", False), ("draws.csv", False), (3, False)]
)
def test_words_that_cannot_be_files(target, word):
    assert is_bare_word(target) == word


def test_lists_of_names():
    assert listed([]) == "none"
    assert listed(["a", "b"]) == "a, b"
    assert listed(range(30), 2) == "0, 1 and 28 more"
    assert listed(["x" * 1000, "b"]) == "x" * 200 + "..., b"


def test_notes_survive_selection_chains_and_reading_again():
    given = cd.as_draws(TABLE.assign(id=np.arange(200)).where(TABLE["a"] < 9), missing="pairs")
    notes = given.notes
    assert len(notes) == 1
    assert given.select(["b", "a"]).notes == notes
    assert cd.as_draws(given).notes == notes
    assert cd.as_draws(given, var_names="b").notes == notes
    assert cd.as_draws(given, chains=4).notes == notes
    assert cd.as_draws(given, chains=4).chained
    parts = [TABLE[:80].assign(id=np.arange(80)), TABLE[80:].assign(id=np.arange(80, 200))]
    rows = cd.as_draws(parts, parts="rows").notes
    assert rows[0] == cd.as_draws(parts[0]).notes[0]  # what holds for all parts is told once
    assert len(rows) == 2
