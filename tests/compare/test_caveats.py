"""Caveats are the same data wherever a pair is compared: alone, in a ranking, taken from one, on a vine, on a page."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy._core.caveats import KINDS
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare.caveats import ComparedSample, _repeated_chains
from copula_discrepancy.compare.gate import gate
from copula_discrepancy.compare.verdict import PairTests
from copula_discrepancy.compare.wording import answer_line
from copula_discrepancy.data.readers.divergences import unknown_divergences
from copula_discrepancy.report.page import content
from tests.caveat_codes import codes_of, warned
from tests.compare.verdicts import TOO_WEAK, WRONG_SHAPE, too_thick, too_thin
from tests.lean_pages import not_drawn

pytest.importorskip("pyvinecopulib")
pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


def normal(seed, n=400, correlation=0.5):
    return np.random.default_rng(seed).multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n)


def chains(seed, shift=0.0):
    values = normal(seed, 1000).reshape(4, 250, 2)
    values[3] += shift
    return values


def stopped(seed):
    values = chains(seed)
    values[1, 100:, 0] = 0.25
    return values


def flags(seed):
    values = normal(seed, 1000)
    values[:, 0] = np.arange(1000) < 3
    return values


LINE = np.linspace(0.0, 1.0, 400)
SCENES = {
    "few": (normal(1, 60), normal(2), True, "few-effective-draws"),
    "few in the reference": (normal(1), normal(2, 60), True, "few-effective-draws"),
    "chains apart": (chains(1, 3.0), chains(2), False, "chains-disagree"),
    "a stopped chain": (stopped(1), chains(2), False, "stuck-chain"),
    "one chain": (normal(1)[None], chains(2), False, "one-chain"),
    "one chain as reference": (chains(1), normal(2)[None], False, "one-chain"),
    "swapped axes": (normal(1).reshape(80, 5, 2), chains(2), False, "swapped-axes"),
    "two values": ((normal(1) > 0) * 1.0, normal(2), True, "few-values"),
    "rounded": (normal(1).round(1), normal(2), True, "rounded-values"),
    "rare": (flags(1), flags(2), True, "rare-values"),
    "strong": (normal(1, 300, 0.9995), normal(2, 300, 0.9995), True, "strong-dependence"),
    "perfect": (np.column_stack([LINE, LINE]), normal(2), True, "perfect-dependence"),
    "a chain twice": (chains(1)[[0, 1, 2, 1]], chains(2), False, "repeated-chains"),
    "repeated": (np.tile(normal(1, 200), (3, 1)), normal(2), True, "repeated-rows"),
    "copied": (np.vstack([normal(1)[:200], normal(2)[:200]]), normal(2), True, "copied-rows"),
    "the same": (normal(1), normal(1), True, "same-rows"),
}


def test_a_chain_that_stands_still_is_told_once():
    """Not once for each of its variables, of which there may be hundreds; those that stop alone are told one by one."""
    draws = np.random.default_rng(1).normal(size=(4, 200, 5))
    draws[2] = draws[2, 0]
    draws[3, 50:] = draws[3, 50]
    draws[1, 20:, 4] = 0.5
    sentences = [caveat.sentence for caveat in cd.pairwise(draws).caveats if caveat.code == "stuck-chain"]
    assert sentences == [
        "chain 2 stands still in all variables from its first draw on",
        "chain 3 stands still in all variables from draw 50 on",
        "chain 1 is stuck in x4 from draw 20 on (at 0.5)",
    ]


def test_chains_that_repeat_each_other_pass_no_limit():
    """A file that was read twice, or two chains with one seed, have R-hat and errors that look better than they are."""
    twice = cd.pairwise(chains(1)[[0, 1, 2, 1]], chains(2))
    assert codes_of(twice) == ["repeated-chains"]
    assert twice.warnings[0] == "chain 3 has the same draws as chain 1, and is left out"
    assert twice.samples[0].chain_names == ("chain 0", "chain 1", "chain 2")
    once = cd.pairwise(chains(1)[:3], chains(2))
    assert np.array_equal(twice.rows["level_se"], once.rows["level_se"])
    assert twice.margins.line == once.margins.line
    assert gate(twice, max_gap=0.9, max_rhat=9.0).code == "incomplete"
    assert gate(twice).code == "answered"
    reference = cd.pairwise(chains(1), chains(2)[[0, 1, 2, 0]])
    assert reference.warnings[0].startswith("reference: chain 3 has the same draws as chain 0")
    # neither chains of which only a part repeats, nor few values that coincide by chance, nor chains that stand still
    partly = chains(1)[[0, 1, 2, 1]]
    partly[3, -1] += 0.1
    flat = np.full((4, 30, 2), 0.5)
    coins = np.random.default_rng(1).integers(0, 2, (2, 3, 2)).astype(float)[[0, 0]]
    for sample in (partly, flat, coins):
        assert not _repeated_chains(ComparedSample(cd.as_draws(sample), None, False))
    many = chains(1)[[0] * 12]
    (caveat,) = _repeated_chains(ComparedSample(cd.as_draws(many), None, False))
    assert caveat.sentence.endswith("; 3 more chains repeat others")


@pytest.mark.parametrize("function", [cd.pairwise, cd.discrepancy])
def test_divergences_that_cannot_be_placed_are_a_caveat(function):
    """A note is soon overlooked, and "no gap found" without it would reassure."""
    told = unknown_divergences("sample_stats has other draws than the posterior")
    sample = replace(cd.as_draws(chains(1)), notes=(told,))
    result = function(sample, chains(2))
    assert "divergences-unknown" in codes_of(result)
    assert next(caveat.sentence for caveat in result.caveats if caveat.code == "divergences-unknown") == told
    assert "with reservations" in repr(result).splitlines()[0]
    assert "divergences-unknown" not in codes_of(function(chains(1), chains(2)))


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_a_pair_has_the_same_caveats_wherever_it_is_compared(scene):
    """Word for word: alone, as the only pair of a ranking, taken from a ranking of three pairs, and as a vine's edge."""
    draws, reference, iid, code = SCENES[scene]
    alone = cd.discrepancy(draws, reference, family="gaussian", iid=iid)
    assert code in codes_of(alone)
    pair = cd.pairwise(draws, reference, family="gaussian", iid=iid, n_jobs=1)
    assert pair.caveats == alone.caveats
    assert pair.pair("x0", "x1").caveats == alone.caveats
    assert pair[0].verdict == pair.pair("x0", "x1").verdict
    edge = cd.vine(draws, reference, iid=iid, n_jobs=1)
    assert edge.caveats == alone.caveats
    third = [np.random.default_rng(3).normal(size=(*sample.shape[:-1], 1)) for sample in (draws, reference)]
    wide = [np.concatenate(columns, -1) for columns in zip((draws, reference), third, strict=True)]
    ranking = cd.pairwise(*wide, family="gaussian", iid=iid, n_jobs=1)
    whole_rows = {"repeated-rows", "repeated-chains", "copied-rows", "same-rows"}  # a third column makes different rows of them
    taken = ranking.pair("x0", "x1").caveats
    assert [caveat for caveat in taken if caveat.code not in whole_rows] == [
        caveat for caveat in alone.caveats if caveat.code not in whole_rows
    ]
    assert {caveat.code for caveat in taken} <= set(codes_of(ranking))


def test_a_caveat_about_one_pair_of_many_says_which():
    draws = np.random.default_rng(1).normal(size=(300, 4))
    draws[:, 3] = draws[:, 2]
    ranking = cd.pairwise(draws, np.eye(4), iid=True)
    (caveat,) = ranking.caveats
    (own,) = ranking.pair("x2", "x3").caveats
    assert caveat.code == own.code == "perfect-dependence"
    assert caveat.sentence == f"{own.sentence} (in x2 ~ x3)"
    assert ranking.pair("x0", "x1").caveats == ()


def test_every_result_has_caveats_and_the_sentences_of_them():
    few, reference = normal(1, 60), normal(2)
    rounded = np.round(cd.Gumbel(2.0).sample(60, rng=1), 1).clip(0.05, 0.95)
    results = [
        cd.discrepancy(few, reference, iid=True),
        cd.pairwise(few, reference, iid=True),
        cd.vine(few, reference, iid=True),
        cd.fit(np.column_stack([LINE, -LINE]), "gumbel"),
        cd.ksd(rounded, cd.Gumbel(2.0), margins="uniform", iid=True, bootstrap=10, rng=1),
    ]
    for result in results:
        assert result.caveats
        assert result.warnings == tuple(caveat.sentence for caveat in result.caveats)
        plain = json.loads(json.dumps(result.to_dict()))
        assert plain["warnings"] == list(result.warnings)
        assert plain["caveats"] == [
            {"code": caveat.code, "sentence": caveat.sentence, "advice": KINDS[caveat.code][1]} for caveat in result.caveats
        ]


def test_warnings_carry_their_caveat():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = [cd.discrepancy(normal(1, 60), cd.Gaussian(0.5), iid=True), cd.pairwise(normal(1, 60), np.eye(2), iid=True)]
    issued = [entry.message for entry in caught]
    assert [message.caveat for message in issued] == [caveat for result in results for caveat in result.caveats]
    assert {message.code for message in issued} == {"few-effective-draws"}
    plain = cd.DependenceWarning("by hand")
    assert (plain.caveat, plain.code, str(plain)) == (None, "", "by hand")


@pytest.mark.parametrize(
    ("draws", "reference", "outcome"),
    [(normal(1, 60), normal(2), "no gap"), (normal(1), normal(1), "void"), (normal(1), normal(2, 400, -0.5), "gap")],
    ids=["reserved", "void", "gap"],
)
def test_the_answer_is_the_same_in_python_on_the_page_and_on_the_command_line(
    draws, reference, outcome, tmp_path, capsys, monkeypatch
):
    not_drawn(monkeypatch)
    tables = [pd.DataFrame(sample, columns=["a", "b"]) for sample in (draws, reference)]
    for name, table in zip(("draws", "reference"), tables, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    ranking = cd.pairwise(*tables, iid=True)
    alone = ranking.pair("a", "b")
    assert ranking.outcome == alone.outcome == outcome
    assert (answer_line(alone).partition(",")[0] in answer_line(ranking)) or outcome == "gap"
    main(["compare", str(tmp_path / "draws.csv"), str(tmp_path / "reference.csv"), "--iid"])
    assert capsys.readouterr().out.startswith(f"{answer_line(ranking)}: ")
    for result, of in ((ranking, content.of_pairs), (alone, content.of_one)):
        assert repr(result).splitlines()[0].lower().endswith(answer_line(result).lower())
        page, _ = of(result, "")
        assert page["heading"] == answer_line(result)
        assert page["state"] == {"gap": "off"}.get(outcome, "unknown")
    told = cd.DependenceFidelity.compute_breakdown(tables[1], tables[0])
    assert told["answer"] == answer_line(ranking)
    assert [caveat["code"] for caveat in told["caveats"]] == codes_of(ranking)


def test_reading_notes_travel_into_every_result(tmp_path, monkeypatch):
    """Decimal commas, and rows left out for a missing value, are told by every function that reads them."""
    not_drawn(monkeypatch)
    path, other = tmp_path / "draws.csv", tmp_path / "reference.csv"
    for seed, file in ((1, path), (2, other)):
        lines = [";".join(f"{value:.6f}".replace(".", ",") for value in row) for row in normal(seed)]
        file.write_text("a;b\n" + "\n".join(lines) + "\n")
    notes = cd.as_draws(path).notes
    assert notes
    expected = (*notes, *(f"reference: {note}" for note in cd.as_draws(other).notes))
    for result in (cd.discrepancy(path, other), cd.pairwise(path, other), cd.pairwise(path, other).pair("a", "b")):
        assert result.notes == expected
        assert result.to_dict()["notes"] == list(expected)
        # what is true of both is told once
        assert all(note.removeprefix("reference: ") in " ".join(repr(result).split()) for note in expected)
        shown = page_notes(result)
        assert all((note, "") in shown for note in expected)
    assert cd.fit(path, "gaussian").notes == cd.select_family(path).notes == notes
    assert all(f"note: {note}" in repr(cd.fit(path, "gaussian")) for note in notes)
    assert cd.discrepancy(path, cd.Gaussian(0.5)).notes == notes
    holes = pd.DataFrame(normal(3), columns=["a", "b"])
    holes.loc[:9, "a"] = np.nan
    assert len(cd.discrepancy(holes, cd.Gaussian(0.5), missing="drop").notes) == 1


def page_notes(result):
    page, _ = (content.of_one if isinstance(result, cd.Discrepancy) else content.of_pairs)(result, "")
    return page["notes"]


def test_kinds_of_gaps_add_up():
    """Every flagged pair counts once: 13 too weak, 6 wrong shape and 5 both are 24."""
    rng = np.random.default_rng(5)
    reference = cd.Clayton(2.0).sample(1000, rng=1)
    reference = np.column_stack([reference, rng.normal(size=(1000, 3)) + rng.normal(size=(1000, 1))])
    draws = np.column_stack([cd.Gumbel.from_tau(0.3).sample(1000, rng=2), rng.normal(size=(1000, 3))])
    result = cd.pairwise(draws, reference, iid=True)
    counted = result.sentences()["Answer"].partition(": ")[2].partition(" (")[0]
    numbers = [int(part.split()[0]) for part in counted.split(", ")]
    assert len(numbers) > 1
    assert sum(numbers) == result.n_flagged


def test_kinds_have_one_word_for_all_corners():
    corners = {"low_low": (0.2, 0.001), "high_high": (-0.2, 0.001)}
    tests = PairTests((0.1, 0.4), (0.02, 0.02), dict.fromkeys(("level", "shape", "tails", "form"), 0.01), corners, True, 0.05)
    assert tests.kinds[:2] == (TOO_WEAK, WRONG_SHAPE)
    assert len(tests.kinds) == 3
    assert tests.faults == [TOO_WEAK, WRONG_SHAPE, too_thick("low_low"), too_thin("high_high")]


def test_degrees_of_freedom_at_a_bound_are_told_alike():
    x, y = cd.Gaussian(0.6).sample(400, rng=2), cd.Gaussian(0.6).sample(400, rng=52)
    with warned("df-bound"):
        one = cd.discrepancy(x, y, family="studentt", iid=True)
    with warned("df-bound"):
        many = cd.pairwise(x, y, family="studentt", iid=True, exact=True)
    for result in (many, many.pair("x0", "x1")):
        assert result.warnings == one.warnings
        assert answer_line(result).split(", ")[1:] == answer_line(one).split(", ")[1:]
