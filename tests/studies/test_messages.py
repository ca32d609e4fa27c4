"""The wording of the paper's statements, of studies of settings and of their refusals, in one snapshot.

After a change of wording, write the snapshot again with ``python -m tests.studies.test_messages`` and read the difference.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.studies.paper import report, statements, store
from copula_discrepancy.studies.paper.reproduce import reproduce
from copula_discrepancy.studies.samplers import MetaCopula, metropolis
from tests.studies import test_paper as paper

SNAPSHOT = Path(__file__).with_name("messages.txt")


def sayings():
    """What the experiments say about made-up means, each with a scene."""
    yield "agreement, one of twenty off", [statements.agreement(paper.COMPARED), *statements.outside(paper.COMPARED)]
    yield "agreement, nothing measured", [statements.agreement([])]
    yield "experiment 1, noise in the entropies", statements.experiment1(paper.NOISY, paper.ENTROPIES)
    yield "experiment 1, little noise", statements.experiment1(paper.CALM, paper.ENTROPIES)
    yield "experiment 2", statements.experiment2(paper.CURVED, paper.REFERENCES)
    yield "experiment 2, no optimum", statements.experiment2(paper.FLAT, paper.REFERENCES)[3:4]
    yield "experiment 3", statements.experiment3(paper.GROWING, {})
    yield "experiment 3, one size", statements.experiment3(paper.ONE_SIZE, {})[:1]
    yield "experiment 3, near 0", statements.experiment3(paper.NEAR_ZERO, {})[:1]
    yield "overhead", statements.overhead(paper.TIMES, {})
    yield "titles", report.TITLES.values()
    yield "labels", ["; ".join(labels.values()) for labels in (report.LABELS, report.OUR_LABELS)]


def row(setting, cd_value, ess, pvalue, **other):
    return cd.TunedSetting(
        setting, cd=cd_value, cd_se=0.012, shape=-0.03, shape_se=0.01, ess=ess, ess_se=4.0, pvalue=pvalue, **other
    )


def tunings():
    """Studies of settings, printed: the answer depends on which of them are near the best, and on ESS."""
    best, failed = row(0.1, 0.02, 210.0, 1.0, near_best=True), cd.TunedSetting(5.0, failure="2 of 2 runs: overflow")
    fine, bad = row(0.2, 0.03, 300.0, 0.4, near_best=True), row(0.4, 0.3, 900.0, 1e-5)
    for scene, rows in {
        "one setting": [best],
        "the best has the largest ESS": [best, row(0.4, 0.3, 90.0, 1e-5)],
        "another one is as good and has the largest ESS": [best, fine],
        "ESS and CD disagree": [best, fine, row(0.3, 0.04, 150.0, 0.2, near_best=True), bad],
        "one fails": [best, failed],
        "all fail": [failed],
    }.items():
        yield scene, repr(cd.Tuning(tuple(rows), "step", "total", 2, 0.95))
    with_ksd = [row(0.1, 0.02, 210.0, 1.0, near_best=True, ksd=0.05, ksd_se=0.01)]
    yield "one run with KSD", repr(cd.Tuning(tuple(with_ksd), "step", "level", 1, 0.95))


def shown():
    """Results that are printed in a line."""
    draws = cd.Clayton(3.0).sample(100, rng=1)
    for options in ({}, {"iid": True}, {"statistic": "v"}, {"bootstrap": 99, "rng": 1}, {"space": "unit"}):
        result = cd.ksd(draws, cd.Clayton(3.0), **options)
        yield f"ksd({', '.join(f'{name}={value!r}' for name, value in options.items())})", repr(result)
    given = cd.ksd(cd.Gaussian(0.0).sample(100, rng=1), lambda points: -points)
    yield "ksd() with a score", repr(given)
    yield "chains", repr(metropolis(cd.BimodalMixture(), [[1.5, 1.5], [-1.5, -1.5]], scale=0.3, n_draws=20, rng=0))
    yield "margins", repr(MetaCopula(cd.Clayton(2.0), (stats.expon(scale=2.0), stats.t(3.0))))


def refusals(folder):
    """What cannot be run, by the call that asks for it."""
    target, large = cd.Gaussian(0.7), np.random.default_rng(1).integers(0, 10, (50, 2)) + 2**60
    for option in (
        {"experiment": "experiment4"}, {"replications": 0}, {"sizes": []}, {"sizes": [5]}, {"sizes": [10**9]}, {"sizes": 100},
        {"seed": -1}, {"progress": "x"}, {"n_jobs": 0},
    ):  # fmt: skip
        given = ", ".join(f"{name}={value!r}" for name, value in option.items())
        yield f"reproduce({given})", lambda option=option: reproduce(**{"experiment": "experiment1", "out": folder, **option})
    store.open_store(folder, 1)
    yield "reproduce(seed=2) in a folder of seed 1", lambda: store.open_store(folder, 2)
    yield "tune(settings=[])", lambda: cd.tune(print, [], target)
    yield "tune(settings=[0.1, 0.1])", lambda: cd.tune(print, [0.1, 0.1], target)
    yield "tune(sampler=3.0)", lambda: cd.tune(3.0, [0.1], target)
    yield "tune(family=...) with a target", lambda: cd.tune(print, [0.1], target, family="gumbel")
    failed = cd.Tuning((cd.TunedSetting(5.0, failure="2 of 2 runs: overflow"),), "step", "total", 2, 0.95)
    yield "best of nothing", lambda: failed.best
    yield "a score of values too large", lambda: cd.ksd(large, lambda points: -points)


def messages(folder):
    """The snapshot: a block per scene."""
    blocks = [f"# {scene}\n" + "\n".join(sentences) for scene, sentences in sayings()]
    blocks += [f"# tuning: {scene}\n{text}" for scene, text in tunings()]
    blocks.append("\n".join(["# printed results", *(f"{scene}: {text}" for scene, text in shown())]))
    lines = ["# what cannot be run"]
    for scene, call in refusals(folder):
        with pytest.raises(cd.InputError) as caught:
            call()
        lines.append(f"{scene}: [{caught.value.code}] {str(caught.value).replace(str(folder), 'FOLDER')}")
    return "\n\n".join([*blocks, "\n".join(lines)]) + "\n"


def quiet_messages(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return messages(folder)


def test_wording_is_that_of_the_snapshot(tmp_path):
    assert quiet_messages(tmp_path / "run") == SNAPSHOT.read_text("utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        SNAPSHOT.write_text(quiet_messages(Path(name) / "run"), "utf-8")
