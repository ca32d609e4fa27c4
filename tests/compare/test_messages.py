"""The wording of every caveat and verdict, kept in one file, messages.txt, so that a better sentence changes that file alone.

``python -m tests.compare.test_messages`` in the repository's root writes the file anew.
"""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy._core.caveats import KINDS
from copula_discrepancy.compare import vine as vine_module
from copula_discrepancy.compare.comparison import PairComparison
from copula_discrepancy.compare.pacing import Pace
from copula_discrepancy.compare.verdict import PairTests
from copula_discrepancy.compare.watching import Watching
from copula_discrepancy.compare.wording import answer_line, pattern_words
from copula_discrepancy.data.following.progress import UNREAD
from copula_discrepancy.data.readers.divergences import unknown_divergences
from copula_discrepancy.estimate import likelihood
from copula_discrepancy.estimate.pattern import CHANGES, Pattern
from copula_discrepancy.estimate.pattern import KINDS as PATTERNS
from copula_discrepancy.families import archimedean, formulas, quadrature
from tests.growing import Clock, Scripted, chains_of

SNAPSHOT = Path(__file__).with_name("messages.txt")
NAMES = ["a", "b", "c"]


def normal(seed, n=500, d=3, correlation=0.5):
    """Normal draws that are the same everywhere: singular vectors, NumPy's default, depend on the library that finds them."""
    covariance = (1.0 - correlation) * np.eye(d) + correlation
    return np.random.default_rng(seed).multivariate_normal(np.zeros(d), covariance, n, method="cholesky")


def table(seed, n=500, d=3, correlation=0.5):
    return pd.DataFrame(normal(seed, n, d, correlation), columns=NAMES[:d])


def fails_for(pair):
    """`PairComparison.rows`, out of memory for one pair."""
    rows = PairComparison.rows

    def failing(comparison, pairs):
        if pair in pairs:
            raise MemoryError
        return rows(comparison, pairs)

    return failing


def first_constant(tree, pairs):
    """A tree's pairs of pseudo-observations, from the second tree on the first of them without variation."""
    (u, v), *others = pairs
    return pairs if tree == 0 else [(np.zeros_like(u), v), *others]


def with_divergences(chains, count):
    """The same chains, the first `count` draws of two of which, or of one, diverged."""
    diverging = np.zeros(chains.shape[:2], bool)
    diverging[:2, :count] = count > 1
    diverging[1, :count] = True
    return replace(cd.as_draws(chains), diverging=diverging)


def results(monkeypatch):
    """Comparisons that need every kind of caveat, each with what it shows."""
    rng = np.random.default_rng(1)
    chains = normal(2, 2000, 2).reshape(4, 500, 2)
    twice = replace(cd.as_draws(chains[[0, 1, 2, 1]]), notes=(unknown_divergences("sample_stats has other draws"),))
    apart = chains + np.array([0.0, 0.0, 0.0, 3.0])[:, None, None]
    stuck, steps = chains.copy(), normal(16, 600, 2)
    stuck[1, :, 0], stuck[2, 200:, 1] = 7.0, 0.5
    stopped = np.where(np.arange(600) > 200, 0.5, steps[:, 1])
    line = np.linspace(0.0, 1.0, 300)
    rare = [np.column_stack([np.arange(1000) < 3, rng.normal(size=1000)]) for _ in range(2)]
    strong = cd.Gaussian.from_tau(0.98)
    negative = cd.Frank(-5.0).sample(400, rng=1)
    yield "one pair of 60 rows", cd.discrepancy(table(4, 60, 2), table(5, 500, 2), family="gaussian", iid=True)
    yield "three pairs of 60 rows", cd.pairwise(table(4, 60), table(5), family="gaussian", iid=True)
    yield "a short reference", cd.pairwise(table(4), table(5, 60), family="gaussian", iid=True)
    yield "four short chains", cd.discrepancy(chains[:, :60], cd.Gaussian(0.5))
    yield "chains in two places", cd.discrepancy(apart, cd.Gaussian(0.5))
    yield "chains in two places, three pairs", cd.pairwise(np.dstack([apart, chains[..., :1]]), np.eye(3))
    yield "chains that stop", cd.discrepancy(stuck, cd.Gaussian(0.5))
    yield "a table that stops", cd.discrepancy(pd.DataFrame({"a": steps[:, 0], "b": stopped}), cd.Gaussian(0.5))
    yield "one chain", cd.discrepancy(steps[None], cd.Gaussian(0.5))
    others = with_divergences(normal(3, 2000, 2).reshape(4, 500, 2), 1)
    yield "divergent draws", cd.discrepancy(with_divergences(chains, 8), others, family="gaussian")
    yield "a chain twice, divergences of other draws", cd.discrepancy(twice, others, family="gaussian")
    yield "swapped axes", cd.discrepancy(steps[:360].reshape(90, 4, 2), cd.Gaussian(0.5))
    yield "the same sample", cd.pairwise(table(6), table(6), iid=True)
    yield "the same rows in another order", cd.discrepancy(normal(6, 500, 2), normal(6, 500, 2)[::-1], iid=True)
    yield "half of the rows copied", cd.pairwise(table(6), pd.concat([table(6)[:250], table(7)[:250]]), iid=True)
    yield "every row three times", cd.discrepancy(np.tile(normal(87, 200, 2), (3, 1)), cd.Gaussian(0.5), iid=True)
    yield (
        "rows drawn with replacement",
        cd.discrepancy(normal(87, 400, 2)[rng.integers(0, 400, 600)], cd.Gaussian(0.5), iid=True),
    )
    yield "rare values", cd.pairwise(*rare, iid=True)
    yield "binary values", cd.pairwise((table(24) > 0).assign(c=table(24)["c"]), table(25), iid=True)
    yield "rounded values", cd.discrepancy(table(24, d=2).round(1), cd.Gaussian(0.5), iid=True)
    yield "values rounded in one sample", cd.discrepancy(table(24, d=2).round(1), table(25, d=2), family="frank", iid=True)
    yield "strong dependence", cd.discrepancy(strong.sample(300, rng=1), strong, iid=True)
    yield "perfect dependence", cd.discrepancy(np.column_stack([line, line]), cd.Gumbel(2.5), iid=True)
    yield "perfect dependence by moments", cd.fit(np.column_stack([line, line]), "gumbel", method="moment", iid=True)
    yield "nearly perfect dependence", cd.fit(np.column_stack([line, np.r_[line[1], line[0], line[2:]]]), cd.StudentT, df=4.0)
    yield "negative dependence seen through Gumbel", cd.pairwise(negative, cd.Gumbel(2.0), iid=True)
    yield "the same by moments", cd.fit(negative, "gumbel", method="moment", iid=True)
    yield "a normal sample seen through Student t", cd.fit(cd.Gaussian(0.3).sample(300, rng=1), "studentt", iid=True)
    with monkeypatch.context() as patch:
        patch.setattr(likelihood, "MAX_STEPS", 1)
        yield "one Newton step", cd.fit(normal(11, 300, 2), "frank", iid=True)
    with monkeypatch.context() as patch:
        patch.setattr(PairComparison, "rows", fails_for((0, 1)))
        yield "no memory for a pair", cd.pairwise(table(12), np.eye(3), iid=True, n_jobs=1)
    perfect = np.column_stack([line, 2.0 * line, -line, rng.normal(size=300)])
    yield "a vine over perfect dependence", cd.vine(perfect, perfect[rng.permutation(300)], iid=True, n_jobs=1)
    with monkeypatch.context() as patch:
        climb = vine_module.climb
        patch.setattr(
            vine_module, "climb", lambda model, u: (first_constant(tree, pairs) for tree, pairs in enumerate(climb(model, u)))
        )
        yield "a vine whose h-functions round to 0", cd.vine(table(14), table(15), iid=True, n_jobs=1)
    yield "a constant", cd.pairwise(table(12).assign(k=1.0), table(13).assign(k=2.0), iid=True)
    yield "a constant in the draws", cd.pairwise(table(12).assign(c=1.0), table(13), iid=True)
    yield "a constant in the reference", cd.pairwise(table(12), table(13).assign(c=1.0), iid=True)
    with monkeypatch.context() as patch:
        patch.setattr(quadrature, "LAST_LEVEL", 3)
        for limit in ("_ROUNDING", "_PROMISE"):
            patch.setattr(quadrature, limit, 0.0)
        for module in (archimedean, formulas):
            patch.setattr(module, "refine", lambda terms, *, floor, accept: quadrature.refine(terms, floor=floor, accept=0.0))
        yield "a coarse quadrature", cd.discrepancy(cd.Frank(3.0).sample(400, rng=1), cd.Frank(5.0), iid=True)
    binary = [table(seed).assign(k=table(seed + 2)["a"] > 0) for seed in (12, 13)]
    yield "three variables at a time, one of them binary", cd.interactions(*binary, iid=True)
    yield "all pairs at once, chains in two places", cd.screen(apart, chains[:, ::-1])
    yield "ties in one sample only", cd.consequence(table(12), table(13).round(), "a > b", iid=True, n_resamples=50)
    yield "a far quantile, of chains in two places", cd.consequence(apart, chains, "x0 + x1", q=0.001, n_resamples=50)
    yield "a repair with a short reference", cd.repair(table(12), table(13, 60))
    yield "a repair of a constant", cd.repair(table(12).assign(c=1.0), table(13))
    towns = [rng.choice([f"t{k}" for k in range(40)], 500) for _ in range(3)]
    yield "rare levels", cd.pairwise(table(12).assign(town=towns[0]), table(13).assign(town=towns[1]), iid=True)
    other = np.where(rng.random(500) < 0.5, "new", towns[2])
    yield "levels of one sample only", cd.pairwise(table(12).assign(town=towns[0]), table(13).assign(town=other), iid=True)
    holes = table(13).mask(rng.random((500, 3)) < 0.1)
    yield "missing values in the reference only", cd.pairwise(table(12), holes, iid=True)
    groups = [table(seed).assign(g=np.where(np.arange(500) < small, "few", "many")) for seed, small in ((12, 9), (13, 200))]
    yield "a small group", cd.pairwise(*groups, iid=True, by="g")
    rows = table(12, 3000).assign(town=rng.choice(["Graz", "Wien"], 3000))
    sketch = cd.DependenceSketch.plan(rows, iid=True).update(rows).update(rows.assign(a=rows["a"] + 9.0, town="Linz"))
    yield "rows unlike those of the pilot sample", cd.pairwise(sketch, rows)
    slow = np.cumsum(normal(14, 4000, 2), axis=0)
    yield "blocks shorter than the memory of the rows", cd.pairwise(cd.DependenceSketch.of(slow), cd.Gaussian(0.5))
    follower = Scripted(chains_of(4, 200, 0.5, seed=1), [[100, 100, 100, 20], [200, 200, 200, 20]], finished=False)
    watch = Watching(follower, None, pace=Pace(every=0.0), error=0.02, n_jobs=1, sleep=lambda _: None)
    yield "a look at an unfinished run", next(watch.updates()).result
    yield "a watch that was interrupted", watch.final(interrupted=True).result
    clock, quiet = Clock(), Scripted(chains_of(4, 200, 0.5, seed=1), [[200] * 4], finished=False)
    watch = Watching(quiet, None, pace=Pace(every=0.0), error=0.02, n_jobs=1, clock=clock, sleep=clock.sleep)
    [*watch.updates()]
    yield "a source that does not tell its end", watch.final().result
    quiet.notes = (f"{UNREAD}: the files have changed",)
    watch = Watching(quiet, None, pace=Pace(every=0.0), error=0.02, n_jobs=1, clock=clock, sleep=clock.sleep)
    [*watch.updates()]
    yield "a source that was changed", watch.final().result
    yield "ksd on the unit square", cd.ksd(cd.Gumbel(2.5).sample(100, rng=1), cd.Clayton(3.0), space="unit")


def scores():
    """Breakdowns of the fidelity of synthetic tables that leave columns out."""
    breakdown = cd.DependenceFidelity.compute_breakdown
    yield "fidelity of a table with a constant", breakdown(table(12).assign(k=1.0), table(13).assign(k=1.0))
    described = {"a": "numerical", "b": "numerical", "town": "categorical", "grade": "categorical", "day": "datetime"}
    columns = {name: {"sdtype": kind} for name, kind in described.items()}
    columns["grade"]["order"] = ["low", "high"]
    real, synthetic = (
        table(seed).assign(town="A", grade=grade, day="2020-01-01") for seed, grade in ((12, "low"), (13, "none"))
    )
    few = table(13).assign(town=np.where(np.arange(500) < 7, "B", "A"))
    yield "fidelity of a table with a pair that cannot be tested", breakdown(table(12).assign(town=few["town"]), few)
    holes = table(12).mask(np.random.default_rng(3).random((500, 3)) < 0.1)
    yield "fidelity of a table without missing values", breakdown(holes, table(13))
    yield "fidelity of a described table", breakdown(real, synthetic, {"columns": columns})


def judged(level, shape, tails, form=0.5, *, void=False, against=True, taus=(0.1, 0.4), pattern=""):
    corners = {"low_low": (-0.2, 0.001), "high_high": (0.1, 0.3)}
    adjusted = {"level": level, "shape": shape, "tails": tails, "form": form}
    return PairTests(taus, (0.02, 0.02), adjusted, corners, against, 0.05, void, pattern).verdict


def verdicts():
    """Everything that a pair may be told, by p-values of level, shape and tails."""
    nan = float("nan")
    cases = [
        (0.5, 0.5, 0.5),
        (0.01, 0.5, 0.5),
        (0.5, 0.01, 0.5),
        (0.01, 0.01, 0.01),
        (0.5, nan, nan),
        (nan, 0.5, 0.5),
        (nan, nan, nan),
    ]
    yield from (judged(*case) for case in cases)
    yield judged(0.01, 0.5, 0.5, taus=(0.6, 0.4))
    yield judged(0.01, 0.5, 0.5, taus=(-0.3, 0.4))
    yield judged(nan, 0.01, 0.01, against=False)
    yield judged(0.5, 0.5, 0.5, void=True)
    yield judged(0.5, 0.5, 0.5, nan)
    yield judged(0.5, nan, nan, nan)
    for against in (True, False):
        yield judged(0.5 if against else nan, 0.5, 0.5, 0.01, against=against)
        for kind in PATTERNS:
            for change in CHANGES if against and kind == "bend first" else ("lost",):
                code = Pattern(kind, change).code
                yield judged(0.5 if against else nan, 0.5, 0.5, 0.01, against=against, pattern=code)
                yield "    " + pattern_words(code, ("a", "b"), "the reference" if against else None, "draws")


def messages(monkeypatch):
    """The text of the snapshot, and the codes in it."""
    blocks, codes = ["# Verdicts of a pair\n" + "\n".join(verdicts())], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        for scene, result in results(monkeypatch):
            lines = [f"# {scene}"]
            lines += [f"answer: {answer_line(result)}"] if hasattr(result, "outcome") else []
            for caveat in result.caveats:
                codes.add(caveat.code)
                lines += [f"[{caveat.code}, {caveat.severity}] {caveat.sentence}", f"    {caveat.advice}"]
            blocks.append("\n".join(lines))
        for scene, told in scores():
            for caveat in told["caveats"]:
                codes.add(caveat["code"])
                blocks.append(f"# {scene}\n[{caveat['code']}] {caveat['sentence']}\n    {caveat['advice']}")
    return "\n\n".join(blocks) + "\n", codes


@pytest.mark.slow
def test_every_message_is_as_it_was_agreed_on(monkeypatch):
    """A change of wording is a change of messages.txt, which a reviewer reads; see the top of this file."""
    pytest.importorskip("pyvinecopulib")
    text, codes = messages(monkeypatch)
    assert codes == set(KINDS)
    assert text == SNAPSHOT.read_text()


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as own_patch:
        SNAPSHOT.write_text(messages(own_patch)[0])
