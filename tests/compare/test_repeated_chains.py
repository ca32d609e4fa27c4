"""Chains that repeat others count once in every comparison, in memory and counted, and every result says so."""

import math

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare.gate import gate, gate_consequence
from copula_discrepancy.estimate.sketch import DependenceSketch
from tests.caveat_codes import codes_of, warned
from tests.estimate.test_repeated_chains import chains

CODE = "repeated-chains"
COPIES = [0, 1, 1, 0]
QUIET = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


def three(seed):
    """Chains of three variables."""
    draws = chains(seed)
    return np.concatenate([draws, chains(seed + 100)[..., :1] - 0.3 * draws[..., :1]], axis=-1)


FUNCTIONS = {
    "pairwise": (cd.pairwise, {"n_jobs": 1}, ["level_se", "form_se", "n_eff", "rhat"]),
    "pairwise over time": (cd.pairwise, {"lags": 1, "n_jobs": 1}, ["level_se", "form_se", "n_eff"]),
    "interactions": (cd.interactions, {"n_jobs": 1}, ["se", "pvalue"]),
    "worst_consequences": (cd.worst_consequences, {"n_resamples": 50, "n_jobs": 1}, ["se", "pvalue"]),
}


@QUIET
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_ranking_is_that_of_different_chains(name):
    function, options, columns = FUNCTIONS[name]
    draws, reference = three(1), three(2)
    once, twice = (function(sample, reference, **options) for sample in (draws[:2], draws[COPIES]))
    for column in columns:
        np.testing.assert_array_equal(twice.rows[column], once.rows[column])
    assert codes_of(twice).count(CODE) == 1
    assert CODE not in codes_of(once)
    sentence = next(caveat.sentence for caveat in twice.caveats if caveat.code == CODE)
    assert sentence.startswith("chain 2 has the same draws as chain 1, and is left out; ")
    # on the side of the reference as well
    once, twice = (function(reference, sample, **options) for sample in (draws[:2], draws[COPIES]))
    np.testing.assert_array_equal(twice.rows[columns[0]], once.rows[columns[0]])
    sentence = next(caveat.sentence for caveat in twice.caveats if caveat.code == CODE)
    assert sentence.startswith("reference: chain 2 has the same draws as chain 1, and is left out; ")


@QUIET
def test_no_false_gap_over_time():
    """Four copies of an honest path had a gap in each of 20 comparisons."""
    path, reference = chains(3)[:1], chains(4)
    result = cd.pairwise(path[[0] * 4], reference, lags=1, n_jobs=1)
    assert result.n_flagged == 0
    assert result.margins.line == cd.pairwise(path, reference, lags=1, n_jobs=1).margins.line
    assert gate(result, max_gap=0.9).code == "incomplete"


@QUIET
def test_a_screening_is_that_of_different_chains():
    draws, reference = three(5), three(6)
    once, twice = (cd.screen(sample, reference, n_jobs=1) for sample in (draws[:2], draws[COPIES]))
    assert (twice.joint.pvalue, CODE in codes_of(twice)) == (once.joint.pvalue, True)
    np.testing.assert_array_equal(twice.se, once.se)
    # four copies of an honest chain
    assert cd.screen(draws[[0] * 4], reference, n_jobs=1).joint.pvalue > 0.01
    triples = cd.interactions(draws[[0] * 4], reference, n_jobs=1)
    assert triples.joint.pvalue > 0.01


@QUIET
def test_a_consequence_is_that_of_different_chains():
    draws, reference = chains(7), chains(8)
    options = {"summary": "sd", "n_resamples": 50, "n_jobs": 1}
    once, twice = (cd.consequence(sample, reference, "x0 - x1", **options) for sample in (draws[:2], draws[COPIES]))
    assert twice.dependence.to_dict() == once.dependence.to_dict()
    assert (codes_of(twice).count(CODE), CODE in codes_of(once)) == (1, False)
    assert not any("left out" in note for note in twice.notes)  # told once
    # R-hat of chains as short as these is above its limit by chance in some samples
    assert gate_consequence(once, max_effect=9.0).code == "passed"
    assert gate_consequence(twice, max_effect=9.0).code == "incomplete"
    assert gate_consequence(twice).code == "answered"


def test_a_summary_is_that_of_different_chains():
    draws = three(9)
    once = cd.summary(draws[:2])
    with warned(CODE):
        twice = cd.summary(draws[COPIES])
    pd.testing.assert_frame_equal(twice, once)
    assert cd.summary(draws[COPIES], iid=True)["n_eff"].gt(once["n_eff"]).all()


def test_a_repair_moves_all_chains_and_tells():
    """Ties are broken at random, so that nobody can find the copies in the repaired draws."""
    draws, reference = chains(10), chains(11)
    with warned(CODE):
        result = cd.repair(draws[COPIES], reference)
    assert result.draws.shape == draws.shape
    assert result.warnings[0] == "chain 2 has the same draws as chain 1; chain 3 has the same draws as chain 0"
    with warned(CODE):
        result = cd.repair(draws, reference[COPIES])
    assert result.warnings[0].startswith("reference: chain 2 has the same draws as chain 1; ")
    assert CODE not in codes_of(cd.repair(draws, reference))


# ---- rows that were counted ----------------------------------------------------------------------------------------


def counted_pair(draws, plan):
    sketch = DependenceSketch.empty(plan)
    for k, chain in enumerate(draws):
        sketch.update(chain, chain=k)
    return cd.pairwise(sketch, cd.Gaussian(0.6), n_jobs=1)


@QUIET
def test_errors_of_counts_are_those_of_different_chains():
    draws = chains(12)
    # chains this short are counted in the same blocks, of 16 rows, however many there are
    plan = DependenceSketch.plan(draws[:1]).plan_
    once, twice = (counted_pair(sample, plan) for sample in (draws[:1], draws[[0] * 4]))
    # ranks of four times as many rows are nearer to the corners, where scores are large
    for name, rtol in (("level_se", 5e-3), ("shape_se", 0.05), ("form_se", 5e-3)):
        np.testing.assert_allclose(twice.rows[name], once.rows[name], rtol=rtol)
    np.testing.assert_allclose(twice.rows["n_eff"], once.rows["n_eff"], rtol=0.02)
    assert twice.samples[0].n_chains == 1
    assert CODE not in codes_of(once)
    sentence = next(caveat.sentence for caveat in twice.caveats if caveat.code == CODE)
    assert sentence.startswith("chain 1 has the same counts as chain 0, and counts as the same chain; ")
    assert gate(once, max_gap=0.9, max_rhat=9.0).code == "passed"
    assert gate(twice, max_gap=0.9, max_rhat=9.0).code == "incomplete"


@QUIET
def test_errors_of_counts_in_which_one_chain_weighs_more():
    """A mean with weights 3/4 and 1/4 of two chains: its variance is (9 s^2 + t^2)/16."""
    draws = chains(13)
    plan = DependenceSketch.plan(draws[:2]).plan_
    first, second = (counted_pair(draws[k : k + 1], plan).rows["level_se"][0] for k in (0, 1))
    found = counted_pair(draws[[0, 0, 1, 0]], plan).rows["level_se"][0]
    # blocks are too few for more, and the tau that influence values are about is that of both chains
    assert found == pytest.approx(math.sqrt(9.0 * first**2 + second**2) / 4.0, rel=0.1)
    assert found > 1.2 * counted_pair(draws, plan).rows["level_se"][0]


@QUIET
def test_files_with_a_chain_column_that_are_counted(tmp_path):
    """Four copies of one chain had a gap in 10 of 20 comparisons, and no caveat."""

    def saved(draws, name):
        table = pd.DataFrame(draws.reshape(-1, 2), columns=["a", "b"])
        table.insert(0, "chain", np.repeat(np.arange(1, len(draws) + 1), draws.shape[1]))
        table.to_parquet(tmp_path / name)
        return tmp_path / name

    reference = saved(chains(14), "reference.parquet")
    copies = saved(chains(15)[[0] * 4], "copies.parquet")
    exact, counted = (cd.pairwise(copies, reference, engine=engine, n_jobs=1) for engine in ("exact", "counted"))
    assert counted.rows["n_eff"] < 1.5 * exact.rows["n_eff"]  # three times as many before
    assert counted.margins.line == exact.margins.line
    for result, same in ((exact, "draws"), (counted, "counts")):
        sentence = next(caveat.sentence for caveat in result.caveats if caveat.code == CODE)
        assert sentence.startswith(f"chain 2 has the same {same} as chain 1, and ")
    other_way = cd.pairwise(reference, copies, engine="counted", n_jobs=1)
    assert any(caveat.sentence.startswith("reference: chain 2 has the same counts") for caveat in other_way.caveats)
    alone = cd.discrepancy(DependenceSketch.of(copies), DependenceSketch.of(reference))
    assert CODE in codes_of(alone)
    # one that treats rows as independent has no chains
    assert CODE not in codes_of(cd.pairwise(copies, reference, engine="counted", iid=True, n_jobs=1))


@pytest.mark.parametrize(
    "words", [["compare", "--engine", "counted", "--max-rhat", "9"], ["consequence", "a - b", "--summary", "sd"]]
)
def test_no_command_passes_a_limit(tmp_path, capsys, words):
    tables = []
    for name, draws in (("copies", chains(18)[[0] * 4]), ("reference", chains(17))):
        table = pd.DataFrame(draws.reshape(-1, 2), columns=["a", "b"])
        table.insert(0, "chain", np.repeat(np.arange(4), draws.shape[1]))
        tables.append(str(tmp_path / f"{name}.parquet"))
        table.to_parquet(tables[-1])
    assert main([words[0], *tables, *words[1:], "--fail-above", "9"]) == 4
    assert "undecided: chain 1 has the same" in capsys.readouterr().err
