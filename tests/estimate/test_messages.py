"""The wording of fits, bootstraps, chains, corners and adjustments, in one snapshot; tests elsewhere look at codes and numbers.

After a change of wording, write the snapshot again with ``python -m tests.estimate.test_messages`` and read the difference.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import copula_discrepancy as cd
from copula_discrepancy.estimate.multiplicity import ADJUSTMENTS, in_words
from copula_discrepancy.estimate.tails import CORNERS
from tests.estimate.test_chains import modes
from tests.estimate.test_tails import NAMES, crashes, generated

SNAPSHOT = Path(__file__).with_name("messages.txt")
LINE = np.linspace(0.0, 1.0, 200)
DRAWS = cd.Gumbel(2.0).sample(200, rng=14)


def refusals(chain, independent):
    """What cannot be computed, by the call that asks for it."""
    perfect = cd.discrepancy(np.column_stack([LINE, LINE]), cd.Gumbel(2.0), iid=True)
    bound = cd.discrepancy(cd.Frank(-3.0).sample(300, rng=12), cd.Gumbel(2.0), iid=True)
    short = cd.discrepancy(DRAWS, DRAWS.reshape(4, 50, 2), family="gumbel")
    yield "infer(method='magic')", lambda: chain.infer(method="magic")
    yield "infer(replications=3)", lambda: chain.infer(replications=3)
    yield "infer(block=500)", lambda: chain.infer(block=500)
    yield "infer(block=200) of one chain of 200", lambda: chain.infer(replications=20, block=200)
    yield "infer(block=100), chains of 50 in the reference", lambda: short.infer(block=100)
    yield "infer(block=5), iid=True", lambda: independent.infer(block=5)
    yield "infer(), perfect dependence", lambda: perfect.infer(replications=20)
    yield "infer(), a family at its bound", lambda: bound.infer(replications=20)
    yield "discrepancy(method='bootstrap')", lambda: cd.discrepancy(DRAWS, cd.Gumbel(2.0), method="bootstrap")
    yield "discrepancy(iid='yes')", lambda: cd.discrepancy(DRAWS, cd.Gumbel(2.0), iid="yes")
    yield "discrepancy(confidence=95)", lambda: cd.discrepancy(DRAWS, cd.Gumbel(2.0), confidence=95)
    yield "discrepancy(tail=0.6)", lambda: cd.discrepancy(DRAWS, cd.Gumbel(2.0), tail=0.6)
    yield "discrepancy(tail='0.1')", lambda: cd.discrepancy(DRAWS, cd.Gumbel(2.0), tail="0.1")
    yield "discrepancy() of chains of 3 draws", lambda: cd.discrepancy(DRAWS[:198].reshape(66, 3, 2), cd.Gumbel(2.0))
    yield "discrepancy() of unequal chains", lambda: cd.discrepancy([DRAWS[:120], DRAWS[120:]], cd.Gumbel(2.0))
    yield "fit(df=3), Gumbel", lambda: cd.fit(DRAWS, "gumbel", df=3.0)
    yield "fit(iid=None)", lambda: cd.fit(DRAWS, "gumbel", iid=None)
    yield "fit(), Student t by moments", lambda: cd.fit(DRAWS, "studentt", method="moment")
    yield "adjust_pvalues([1.2])", lambda: cd.adjust_pvalues([1.2])
    yield "adjust_pvalues(['small'])", lambda: cd.adjust_pvalues(["small"])
    yield "adjust_pvalues(method='fdr')", lambda: cd.adjust_pvalues([0.5], "fdr")
    yield "contamination_bound(1.1)", lambda: cd.contamination_bound(1.1)
    yield "long_run_variance() of NaN", lambda: cd.long_run_variance([[1.0, np.nan, 2.0, 3.0]])
    yield "paper_test(alpha=5)", lambda: chain.level.paper_test(alpha=5)


def sentences(chain, independent):
    """What results say about their draws, corners and errors: a scene, and a sentence on one topic."""
    chained = {
        "four chains that mix": (modes(None, None, None, None), {}),
        "one chain of four stuck": (modes(None, None, 1.5, None), {}),
        "the same as independent draws": (modes(None, None, 1.5, None), {"iid": True}),
        "chains as if axes were swapped": (np.random.default_rng(10).standard_normal((300, 4, 2)), {}),
    }
    for scene, (draws, options) in chained.items():
        yield scene, "Draws", cd.discrepancy(draws, cd.Gaussian(0.7), **options)
    mixed = modes(None, None, None, None, seed=11)
    yield "a reference in two modes", "Reference", cd.discrepancy(mixed, modes(-1.5, 1.5, seed=12), family="gaussian")

    rng = np.random.default_rng(2)
    real, fake = crashes(rng, 2500), generated(rng, 2500)
    yield "joint crashes that a generator has lost", "Tails", cd.pairwise(fake, real, iid=True, tail=0.05)
    yield "the same pair alone", "Tails", cd.pairwise(fake, real, iid=True, tail=0.05).pair(*NAMES)
    yield "the other way round", "Tails", cd.pairwise(real, fake, iid=True, tail=0.05)
    stronger, weaker = cd.Frank.from_tau(0.6).sample(4000, rng=rng), cd.Gumbel.from_tau(0.3).sample(4000, rng=rng)
    yield "draws far stronger than the reference", "Tails", cd.discrepancy(stronger, weaker, family="gumbel", iid=True)
    flag = pd.DataFrame({"a": rng.standard_normal(1000), "b": rng.random(1000) < 0.1})
    yield "a column of two values", "Tails", cd.discrepancy(flag, cd.Gaussian(0.0), iid=True)
    together, apart = np.zeros((2, 1000, 2))
    together[5] = apart[3, 0] = apart[9, 1] = 1.0
    for topic in ("Answer", "Tails", "Judged"):
        yield "flags in one or two of 1,000 rows", topic, cd.pairwise(together, apart, iid=True)

    yield "a bootstrap of independent draws", "Errors", independent.infer(replications=20, rng=1)
    yield "a bootstrap of a chain", "Errors", chain.infer(replications=20, rng=1, block=10)


def messages():
    """The snapshot: blocks of messages, sentences and printed fits."""
    results = [cd.discrepancy(DRAWS, cd.Gumbel(2.0), iid=iid) for iid in (False, True)]
    lines = ["# what cannot be computed"]
    for scene, call in refusals(*results):
        try:
            call()
        except cd.InputError as error:
            lines.append(f"{scene}: [{error.code}] {error}")
        else:
            lines.append(f"{scene}: no error")
    lines += ["", "# sentences of results"]
    lines += [f"{scene}: {topic}: {result.sentences()[topic]}" for scene, topic, result in sentences(*results)]
    lines += ["", "# corners"]
    lines += [f"{name}: {', '.join(corner.words(('a', 'b'), 0.01, 'rows'))}" for name, corner in CORNERS.items()]
    lines += ["", "# adjustments"]
    lines += [f"{method}: {in_words(method, 0.05)}" for method in ADJUSTMENTS]
    lines += ["", "# printed fits", repr(cd.fit(DRAWS, "gumbel", iid=True)), repr(cd.fit(DRAWS, "gumbel", method="moment"))]
    lines += [repr(cd.fit(DRAWS, cd.StudentT)), repr(cd.fit(np.column_stack([LINE, LINE]), "gumbel"))]
    lines += [repr(cd.fit(DRAWS[:3], "gaussian"))]
    return "\n".join(lines) + "\n"


def quiet_messages():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return messages()


def test_wording_is_that_of_the_snapshot():
    assert quiet_messages() == SNAPSHOT.read_text("utf-8")


if __name__ == "__main__":
    SNAPSHOT.write_text(quiet_messages(), "utf-8")
