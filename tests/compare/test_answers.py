"""Answers that must not reassure: void comparisons, gates with nothing to judge, strengths that nobody could test."""

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare.wording import NO_GAP, NOT_TESTED, VOID, answer_line
from copula_discrepancy.data.repeats import in_a_row
from tests.caveat_codes import codes_of, warned
from tests.compare.verdicts import LEVEL_UNTESTED
from tests.refusals import refused

RNG = np.random.default_rng(1)
REAL = pd.DataFrame(RNG.multivariate_normal(np.zeros(3), 0.5 * np.eye(3) + 0.5, 500), columns=["a", "b", "c"])
COPY = REAL.sample(frac=1.0, random_state=1)
HONEST = pd.DataFrame(RNG.multivariate_normal(np.zeros(3), 0.5 * np.eye(3) + 0.5, 500), columns=["a", "b", "c"])


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = pd.DataFrame({"x": np.eye(1, 500, 3)[0], "y": np.eye(1, 500, 7)[0]})
    for name, table in {"real": REAL, "copy": COPY, "flags": flags, "others": flags[::-1]}.items():
        table.to_csv(f"{name}.csv", index=False)


def test_a_copy_is_void_and_says_so_first():
    for copy in (REAL, COPY):
        with warned("same-rows"):
            result = cd.pairwise(copy, REAL, iid=True)
            single = result.pair("a", "b")
        assert result.void
        assert (result.verdict, result.outcome, result.caveats[0].code) == (VOID, "void", "same-rows")
        assert all(gap.verdict == VOID for gap in result)
        assert (single.verdict, single.outcome, single.caveats[0]) == (VOID, "void", result.caveats[0])
        assert answer_line(single) == answer_line(result)
        with warned("same-rows"):
            cd.DependenceFidelity.compute(REAL, copy)
    assert not cd.pairwise(HONEST, REAL, iid=True).void


@pytest.mark.parametrize("files", [("copy.csv", "real.csv"), ("flags.csv", "others.csv")])
def test_a_gate_does_not_pass_what_was_not_tested(tables, capsys, files):
    assert main(["compare", *files, "--iid", "--fail-above", "0.5"]) == 4


def test_reservations_are_told_in_python_too():
    """In the first line, right behind the verdict; a note is no reservation."""
    with warned("few-effective-draws"):
        few = cd.pairwise(*RNG.normal(size=(2, 60, 2)), iid=True)
    with warned("few-effective-draws"):
        single = cd.discrepancy(cd.Gumbel(2.0).sample(60, rng=1), cd.Gumbel(2.0), iid=True)
    k = pd.Series(np.arange(500.0))
    with warned("constant"):  # no dependence is lost with a variable that has none
        noted = cd.pairwise(HONEST.assign(k=1.0), REAL.assign(k=2.0), iid=True)
    with warned("constant-in-reference"):
        unknown = cd.pairwise(HONEST.assign(k=k), REAL.assign(k=2.0), iid=True)
    for result, reserved in ((few, True), (single, True), (noted, False), (unknown, True)):
        answer = answer_line(result, capital=False)
        assert result.outcome == "no gap"
        assert answer.startswith(result.verdict)
        assert (answer != result.verdict) == reserved
        assert repr(result).splitlines()[0].endswith(f": {answer}")
        assert answer_line(result).lower() == answer


def test_perfect_dependence_of_few_rows_is_of_few_rows():
    few = pd.DataFrame({"a": [1.0, 2.3, 3.0], "b": [0.4, 0.5, 0.9]})
    with warned("few-effective-draws"):
        result = cd.pairwise(few, REAL[["a", "b"]], iid=True)
    assert result[0].n_eff == 3


def test_a_strength_that_could_not_be_tested_is_told():
    """Rare values leave level untested; a corner without a gap does not make that good news."""
    first, second = RNG.normal(size=(2, 1000, 2))
    for table in (first, second):
        table[:, 0] = 0.0
        table[:3, 0] = (1.0, 2.0, 3.0)
    with warned("rare-values"):
        result = cd.pairwise(first, second, iid=True)
    assert result[0].verdict in (NOT_TESTED, LEVEL_UNTESTED)


def test_rare_values_among_missing_ones_are_told():
    tables = []
    for _ in range(2):
        table = pd.DataFrame(RNG.normal(size=(1000, 2)), columns=["debt", "fraud"])
        table["fraud"] = 0.0
        table.loc[:5, "fraud"] = 1.0  # six, four of which miss the other value
        table.loc[:3, "debt"] = np.nan
        tables.append(table)
    with warned("rare-values"):
        cd.pairwise(*tables, iid=True)


def test_rows_that_lack_a_value_are_no_repeats():
    rng = np.random.default_rng(3)
    ages = [pd.DataFrame({"age": rng.integers(20, 80, 800), "debt": rng.normal(size=800)}) for _ in range(2)]
    for table in ages:
        table.loc[rng.random(800) < 0.3, "debt"] = np.nan
    result = cd.pairwise(*ages, iid=True)
    assert "repeated-rows" not in codes_of(result)


def test_series_that_are_taken_as_independent_are_noted():
    rng = np.random.default_rng(4)
    size = np.exp(np.cumsum(0.15 * rng.normal(size=2000)))
    volatile = np.column_stack([size * rng.normal(size=2000), rng.normal(size=2000)])
    noted = cd.pairwise(volatile, cd.Gaussian(0.0), iid=True).notes
    assert noted == in_a_row(cd.as_draws(volatile)) != ()
    assert cd.discrepancy(volatile, cd.Gaussian(0.0), iid=True).notes == noted
    flags = cd.as_draws((rng.random((2000, 3)) < 0.3).astype(float))
    assert in_a_row(flags) == ()
    assert in_a_row(cd.as_draws(rng.normal(size=(500, 4)))) == ()
    assert cd.pairwise(volatile, cd.Gaussian(0.0)).notes == ()


def test_no_answer_begins_with_a_name(tables, capsys):
    constant = (REAL + RNG.normal(scale=0.1, size=REAL.shape)).assign(c=0.0)
    constant.to_csv("constant.csv", index=False)
    assert main(["compare", "constant.csv", "real.csv", "--iid"]) == 0
    with warned("constant-in-draws"):
        result = cd.pairwise("constant.csv", "real.csv", iid=True)
    told = capsys.readouterr().out
    assert told.startswith(answer_line(result))
    assert not told.startswith(result.stuck)
    assert "(c)" in answer_line(result)


def test_a_bare_array_beside_a_table_is_judged_whole():
    honest = RNG.multivariate_normal(np.zeros(3), 0.5 * np.eye(3) + 0.5, 500)
    result = cd.pairwise(honest, REAL, iid=True)
    assert "Judged" not in result.sentences()
    assert result.left_out == {}


def test_exclude_takes_what_one_side_has(tables, capsys):
    REAL.assign(day=RNG.normal(size=500)).to_csv("longer.csv", index=False)
    REAL.sample(frac=0.9, random_state=2).to_csv("shorter.csv", index=False)
    for files in (("longer.csv", "shorter.csv"), ("shorter.csv", "longer.csv")):
        assert main(["compare", *files, "--iid", "--exclude", "day"]) == 0
        capsys.readouterr()
        assert main(["compare", *files, "--iid", "--exclude", "day,dya"]) == 1
        assert "'dya'" in capsys.readouterr().err


def test_truth_values_with_gaps_are_numbers(tables):
    text = "member,x\n" + "\n".join(f"{value},{k * 37 % 101}" for k, value in enumerate(["True", "False", "", "True"] * 50))
    with open("truth.csv", "w") as file:
        file.write(text)
    draws = cd.as_draws("truth.csv", missing="pairs")
    assert draws.names == ("member", "x")
    assert np.isnan(draws.values[0, :, 0]).sum() == 50
    assert set(draws.values[0, ~np.isnan(draws.values[0, :, 0]), 0]) == {0.0, 1.0}


def test_corners_need_tails_of_about_the_size_asked_for():
    """A flag that is rare has no highest tenth; one that is on in a tenth of all rows has."""
    rng = np.random.default_rng(5)

    def table(rate):
        values = rng.normal(size=(4000, 2))
        return np.column_stack([values[:, 0], values[:, 1] > np.quantile(values[:, 1], 1.0 - rate)])

    with pytest.warns(cd.DependenceWarning):
        rare = cd.discrepancy(table(0.01), table(0.01), iid=True).estimates
    with pytest.warns(cd.DependenceWarning):
        usual = cd.discrepancy(table(0.1), table(0.1), iid=True).estimates
    assert "high_high" not in rare or np.isnan(rare["high_high"].value)
    assert np.isfinite(usual["high_high"].value)
    # of many pairs, the corners of columns with levels are not computed: they are not tested
    with pytest.warns(cd.DependenceWarning):
        assert np.isnan(cd.pairwise(table(0.1), table(0.1), iid=True)[0].high_high)


def test_one_idea_has_one_name():
    table = REAL.mask(RNG.random(REAL.shape) < 0.1)
    listwise = cd.as_draws(table, missing="listwise")
    np.testing.assert_array_equal(listwise.values, cd.as_draws(table, missing="drop").values)
    pair = table[["a", "b"]]
    found = [cd.discrepancy(pair, cd.Gaussian(0.5), iid=True, missing=way).tau for way in ("listwise", "drop", "pairs")]
    assert len(set(found)) == 1


def test_scores_of_what_cannot_be_judged():
    """Perfect dependence that is kept scores 1; where nothing could be judged there is no score, and not a score of 0."""
    x, y = RNG.normal(size=(2, 500))
    tables = pd.DataFrame({"a": x, "b": 2 * x}), pd.DataFrame({"a": y, "b": 2 * y})
    assert cd.DependenceFidelity.compute(*tables) == 1.0
    flags = [pd.DataFrame({"a": np.arange(1000) < 3, "b": np.arange(1000) > 996}) for _ in range(2)]
    flags[1] = flags[1].sample(frac=1.0, random_state=1).iloc[:900]
    told = cd.DependenceFidelity.compute_breakdown(*flags)
    assert np.isnan(told["score"])
    assert told["n_pairs"] == 0


def test_most_rows_may_be_zero():
    """Amounts that are mostly 0 repeat the row of zeros, and nobody should delete it."""
    rng = np.random.default_rng(6)
    tables = [np.exp(rng.normal(size=(3000, 2))) * (rng.random((3000, 2)) < 0.05) for _ in range(2)]
    with pytest.warns(cd.DependenceWarning):
        result = cd.pairwise(*tables, iid=True)
    assert "repeated-rows" not in codes_of(result)
    assert result[0].verdict == NO_GAP
    assert np.isfinite(result[0].form_pvalue)  # zeros and the rest are levels


def test_green_is_for_what_was_tested(tables, monkeypatch, capsys):
    """In a terminal, neither a void comparison nor pairs that nobody could test are green."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    green = "\x1b[32m"
    main(["compare", "copy.csv", "real.csv", "--iid"])
    assert green not in capsys.readouterr().out
    main(["compare", "flags.csv", "others.csv", "--iid"])
    assert green not in capsys.readouterr().out
    HONEST.to_csv("honest.csv", index=False)
    main(["compare", "honest.csv", "real.csv", "--iid"])
    assert green in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
def test_each_sample_is_described_as_it_was_taken():
    """Independent draws against chains: what is said of one sample is not said of the other."""
    rng = np.random.default_rng(8)
    draws, chains = rng.standard_normal((500, 2)), rng.standard_normal((4, 200, 2))
    ways = [(draws, chains, "draws", (True, False)), (chains, draws, "reference", (False, True))]
    for sample, reference, iid, independent in ways:
        for result in (cd.discrepancy(sample, reference, iid=iid), cd.pairwise(sample, reference, iid=iid)):
            assert result.independent == independent
            own, other = result.sentences()["Rows" if independent[0] else "Draws"], result.sentences()["Reference"]
            assert ["independent" in said for said in (own, other)] == [*independent]
        with refused("argument"):
            cd.discrepancy(sample, cd.Gaussian(0.1), iid="reference")
        errors = [cd.pairwise(sample, reference, iid=way)[0].level_se for way in (iid, True, False)]
        assert len(set(errors)) == 3  # one sample's error is as if independent, the other's is not
