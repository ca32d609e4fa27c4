"""The study of consequences: its truths by another route, and its tables."""

import numpy as np
import pytest
from scipy.stats import norm, poisson

from benchmarks import consequence, report

FIRST = next(iter(consequence.SIDES))


def test_closed_forms_agree_with_many_draws(monkeypatch):
    monkeypatch.setattr(consequence, "MANY", 400_000)
    found = consequence.truth(*consequence.SIDES[FIRST], "dependence", np.random.default_rng(1))
    for label, question in consequence.QUESTIONS.items():
        # of 400,000 draws, a 1% quantile of a sum has a standard error of 0.01, all others less
        assert found[label] == pytest.approx(consequence.normal_truth(question), abs=0.06), label


def test_margins_and_dependence_are_those_named():
    rng = np.random.default_rng(2)
    own, other = consequence.SIDES["counts, independent / Clayton"]
    rows = consequence.drawn(other, own, (1, 100_000), 0.0, rng)[0]
    assert np.bincount(rows[:, 0].astype(int))[:9] / 1e5 == pytest.approx(poisson(3).pmf(range(9)), abs=0.006)
    assert np.corrcoef(rows.T)[0, 1] > 0.5
    bent = consequence.drawn(*[consequence.SIDES["normal, independent / bend"][1]] * 2, (1, 100_000), 0.0, rng)[0]
    assert abs(np.corrcoef(bent.T)[0, 1]) < 0.02
    assert np.corrcoef(np.abs(bent[:, 0]), bent[:, 1])[0, 1] > 0.7
    assert norm.cdf(bent).mean() == pytest.approx(0.5, abs=0.005)
    chains = consequence.normals((2, 5000, 1), 0.9, rng)
    assert np.corrcoef(chains[0, 1:, 0], chains[0, :-1, 0])[0, 1] == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("name", consequence.SIDES)
def test_a_run_of_every_kind(name, monkeypatch):
    monkeypatch.setitem(consequence.SAMPLES, "short", (2, 60, 0.5))
    monkeypatch.setattr(consequence, "RESAMPLES", 50)
    truths = dict.fromkeys(consequence.QUESTIONS, 0.0)
    found = consequence.coverage_run(name, "short", "average", truths, np.random.SeedSequence(1))
    assert list(found) == list(consequence.asked(name))
    assert all(isinstance(bool(covered), bool) and distance >= 0 for covered, distance in found.values())


def test_lost_dependence_is_flagged_and_repaired():
    before, after, _, same = consequence.repair_run("banana", "independent, n = 1,000", 1, np.random.SeedSequence(1))
    assert (before, after, same) == (True, False, True)


def test_the_command_writes_what_it_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(consequence, "RESAMPLES", 50)
    monkeypatch.setattr(consequence, "SAMPLES", {"short": (1, 100, 0.0)})
    path = tmp_path / "consequence.md"
    consequence.main(["--only", "alarms", "--runs", "2", "--write", str(path)])
    assert list(report.read(path.read_text(encoding="utf-8"))) == ["False alarms of worst_consequences"]
