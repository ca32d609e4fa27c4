"""Where no gap is found, the answer says what was tested and what is not seen, wherever it is shown."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare import interactions_wording, tested_wording
from copula_discrepancy.compare.tested_wording import fewest_for_form, has_target
from tests.pairwise_data import gaussian


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(7)
    return gaussian(rng, 400), gaussian(rng, 400)


@pytest.fixture(scope="module")
def fine(samples):
    result = cd.pairwise(*samples, family="gaussian", iid=True)
    assert result.outcome == "no gap"
    return result


def one_line(text):
    return " ".join(text.split())


def test_everything_that_shows_a_ranking_says_it(fine):
    told = fine.sentences()
    assert list(told)[:2] == ["Answer", "Tested"]
    assert told["Tested"] == tested_wording.tested(fine)
    assert all(word in told["Tested"] for word in ("strength", "shape", "form up to order 4", "corners", "interactions"))
    assert "Not tested" not in told["Tested"]
    for shown in (one_line(repr(fine)), fine._repr_html_(), fine.to_dict()["words"]["Tested"]):
        assert shown.count(told["Tested"]) == 1


def test_everything_that_shows_a_pair_says_it(samples):
    result = cd.discrepancy(samples[0][:, :2], samples[1][:, :2], family="gaussian", iid=True)
    assert result.outcome == "no gap"
    told = result.sentences()
    assert next(iter(told)) == "Tested"
    assert "in every" not in told["Tested"]  # there is one
    for shown in (one_line(repr(result)), result._repr_html_(), json.loads(json.dumps(result.to_dict()))["words"]["Tested"]):
        assert shown.count(told["Tested"]) == 1


def test_the_command_line_says_it(samples, fine, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, sample in zip(("a.csv", "b.csv"), samples, strict=True):
        pd.DataFrame(sample, columns=[f"x{k}" for k in range(sample.shape[1])]).to_csv(name, index=False)
    assert main(["compare", "a.csv", "b.csv", "--iid", "--family", "gaussian"]) == 0
    assert one_line(capsys.readouterr().out).count(f"Tested: {fine.sentences()['Tested']}") == 1


def test_a_gap_void_samples_and_no_tests_have_no_such_line(samples):
    draws, reference = samples
    lost = cd.pairwise(np.random.default_rng(1).permuted(draws, axis=0), reference, iid=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        void = cd.pairwise(draws, draws, iid=True)
        flags = np.eye(500)[:, [3, 7]]  # one value of 500 differs
        untested = cd.pairwise(flags, flags[::-1], iid=True)
    assert [result.outcome for result in (lost, void, untested)] == ["gap", "void", "not tested"]
    for result in (lost, void, untested):
        assert "Tested" not in result.sentences()
    assert "Tested" not in lost.pair(*lost.worst.names).sentences()


def test_what_was_not_tested_is_told(samples):
    moment = cd.pairwise(*samples, family="gaussian", method="moment", iid=True)
    assert moment.outcome == "no gap"
    assert "Not tested: shape." in tested_wording.tested(moment)
    rng = np.random.default_rng(8)
    coin = gaussian(rng, 400)
    coin[:, 0] = coin[:, 0] > 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        some = cd.pairwise(coin, np.corrcoef(gaussian(rng, 4000).T), iid=True)
    count = int(np.isfinite(some.rows["shape_pvalue"]).sum())
    assert 0 < count < len(some)
    assert f"; shape in {count} of {len(some)} pairs" in tested_wording.tested(some)


def test_without_a_target_strength_is_not_missing(samples):
    alone = cd.pairwise(samples[0], iid=True)
    assert alone.outcome == "no gap"
    assert not has_target(alone)
    assert "strength" not in tested_wording.tested(alone)
    assert has_target(cd.pairwise(*samples, iid=True))
    assert has_target(cd.discrepancy(samples[0][:, :2], cd.Gaussian(0.5), iid=True))


def test_the_order_is_what_the_rows_allow():
    """Not what was asked for, in the sentence on tests and in that on form."""
    rng = np.random.default_rng(9)
    few = cd.pairwise(gaussian(rng, 150), gaussian(rng, 140), family="gaussian", iid=True, order=8)
    assert few.outcome == "no gap"
    order = tested_wording.tested_order(few)
    assert order == tested_wording.tested_order(few.pair("x0", "x1")) == few.pair("x0", "x1").form.tested_order < 8
    assert fewest_for_form(few) == 140
    assert re.findall(r"order (\d)", few.sentences()["Tested"]) == [str(order)]
    assert re.findall(r"\d+", few.sentences()["Form"]) == [str(order), "140"]


def test_a_vine_says_it_next_to_the_answer(samples):
    pytest.importorskip("pyvinecopulib")
    result = cd.vine(*(sample[:, :3] for sample in samples), iid=True)
    assert result.outcome == "no gap"
    assert list(result.sentences())[:2] == ["Answer", "Tested"]
    assert ", in every edge. " in result.sentences()["Tested"]
    assert repr(result).startswith(f"Copula discrepancy: {result.verdict}")


def test_three_variables(samples):
    """Without a reference fewer coefficients are tested, and the answer says which are not."""
    against, alone = cd.interactions(*samples, iid=True), cd.interactions(samples[0], iid=True)
    assert against.outcome == alone.outcome == "no gap"
    for result in (against, alone):
        told = result.sentences()
        assert list(told)[:2] == ["Answer", "Tested"]
        assert told["Tested"] == interactions_wording.tested(result)
        assert all(word in told["Tested"] for word in ("order 2", "four or more", "finer", "pairs"))
        assert one_line(repr(result)).count(told["Tested"]) == 1
    assert "even order" not in against.sentences()["Tested"]
    assert "even order" in alone.sentences()["Tested"]


def test_four_variables_are_not_seen_and_the_answer_says_so():
    """The sign of each is the product of those of the other three: any three are independent."""
    rng = np.random.default_rng(11)
    reference, draws = rng.standard_normal((2, 2000, 4))
    draws[:, 3] = np.abs(draws[:, 3]) * np.sign(draws[:, :3].prod(axis=1))
    result = cd.interactions(draws, reference, iid=True)
    assert result.outcome == "no gap"
    assert "Not seen: effects of four or more variables" in result.sentences()["Tested"]
