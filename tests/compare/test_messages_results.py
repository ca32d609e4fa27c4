"""What printed results look like, kept in one file, messages_results.txt; their numbers and outcomes are tested elsewhere.

``python -m tests.compare.test_messages_results`` in the repository's root writes the file anew.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from tests.pairwise_data import CORRELATIONS, gaussian

SNAPSHOT = Path(__file__).with_name("messages_results.txt")
TARGET = cd.Gumbel(2.5)
NAMES = ["mu", "sigma", "nu", "rho"]


def table(seed, n=600):
    return pd.DataFrame(gaussian(np.random.default_rng(seed), n), columns=NAMES)


def holes(seed, n=600, share=0.2):
    rng = np.random.default_rng(seed)
    return table(seed, n).mask(rng.random((n, 4)) < share)


def common_cause(seed, correlation):
    """Two variables with one cause, and a correlation beside it that only conditioning shows."""
    rng = np.random.default_rng(seed)
    noise = rng.multivariate_normal([0.0, 0.0], [[1.0, correlation], [correlation, 1.0]], 1500)
    cause = rng.standard_normal(1500)
    return {"a": cause + 0.5 * noise[:, 0], "b": cause + 0.5 * noise[:, 1], "cause": cause}


def one_pair():
    """Results of `discrepancy`, and the parts of one."""
    line = np.linspace(0.0, 1.0, 300)
    chains = TARGET.sample(2000, rng=13).reshape(4, 500, 2)
    apart = chains.copy()
    apart[3, :, 1] = np.random.default_rng(1).permutation(apart[3, :, 1])
    named = pd.DataFrame(cd.Clayton(3.0).sample(3000, rng=3), columns=["mu", "log_sigma"])
    turned = cd.Rotated(cd.Gumbel(2.0), 90).sample(3000, rng=4)
    coins = np.where(np.arange(2) == 0, gaussian(np.random.default_rng(1), 600)[:, :2] > 0, line.repeat(2)[:, None])
    yield "no gap", cd.discrepancy(TARGET.sample(3000, rng=1), TARGET)
    yield "too weak", cd.discrepancy(cd.Gumbel(1.8).sample(2000, rng=2), TARGET)
    yield "too strong", cd.discrepancy(cd.Gumbel(3.5).sample(2000, rng=2), TARGET)
    yield "of the wrong sign", cd.discrepancy(cd.Frank(-6.0).sample(2000, rng=2), cd.Frank.from_tau(0.6))
    yield "wrong shape and tails, of a table", cd.discrepancy(named, TARGET)
    yield "wrong tails of negative dependence", cd.discrepancy(turned, cd.Rotated(cd.Clayton.from_tau(0.5), 90))
    yield "strength, shape and tails", cd.discrepancy(cd.Clayton(1.0).sample(3000, rng=5), TARGET)
    yield "a family at its bound", cd.discrepancy(cd.Frank(-4.0).sample(500, rng=6), TARGET)
    yield "perfect dependence", cd.discrepancy(np.column_stack([line, line]), TARGET, iid=True)
    yield "perfect dependence of four rows", cd.discrepancy(np.column_stack([line[:4], line[:4]]), TARGET, iid=True)
    yield "few rows", cd.discrepancy(TARGET.sample(60, rng=7), TARGET, iid=True)
    yield "two values", cd.discrepancy(coins, cd.Gaussian(0.5), iid=True)
    yield "by moments", cd.discrepancy(cd.Clayton(3.0).sample(2000, rng=10), TARGET, method="moment")
    yield (
        "a short reference",
        cd.discrepancy(TARGET.sample(2000, rng=11), TARGET.sample(60, rng=12), family="gumbel", iid=True),
    )
    yield (
        "a reference of another shape",
        cd.discrepancy(TARGET.sample(2000, rng=1), cd.Clayton(3.0).sample(2000, rng=2), family="gumbel"),
    )
    yield "a family chosen on the reference", cd.discrepancy(TARGET.sample(500, rng=8), cd.Clayton(2.0).sample(2000, rng=9))
    yield "chains that do not agree", cd.discrepancy(apart, TARGET)
    result = cd.discrepancy(chains, TARGET)
    yield "an estimate", result.level
    yield "the agreement of chains", result.agreement
    yield "an estimate without a standard error", cd.discrepancy(np.column_stack([line, line]), TARGET, iid=True).total


def selections():
    """Choices of a family, in a sentence."""
    repeated = np.repeat(cd.Gumbel(1.6).sample(300, rng=24), 10, axis=0)
    yield "a close race", cd.select_family(cd.Gaussian(0.1).sample(60, rng=11)).words()
    yield "draws worth a tenth of their number", cd.select_family(repeated).words()


def many_pairs():
    """Results of `pairwise`."""
    spoilt = table(1).assign(sigma=np.random.default_rng(2).permutation(table(1)["sigma"]))
    apart, lost = gaussian(np.random.default_rng(25), (4, 200)), holes(8, share=0.0)
    apart[0] += 4.0
    lost.loc[:299, "mu"] = lost.loc[300:, "sigma"] = lost.loc[5:, "nu"] = np.nan
    stuck = gaussian(np.random.default_rng(3), (2, 300))
    stuck[..., 3] = 0.0
    bent = np.random.default_rng(35).normal(size=(1000, 3))
    bent[:, 1] = np.abs(bent[:, 0]) + 0.3 * bent[:, 1]
    wide = np.random.default_rng(11).standard_normal((200, 7))
    yield "a variable without its dependence", cd.pairwise(spoilt, table(3, 800), iid=True)
    yield "nothing is off", cd.pairwise(table(10), CORRELATIONS, iid=True)
    yield "given weights", cd.pairwise(spoilt, table(3, 800), iid=True, weights={("mu", "rho"): 3.0, ("sigma", "nu"): 1.0})
    yield "no target", cd.pairwise(table(17), iid=True)
    yield "no target, and no family fits", cd.pairwise(bent, iid=True)
    yield "one family for all", cd.pairwise(table(17), family="gumbel180", iid=True, var_names=["mu", "sigma"])
    yield "chains that do not agree", cd.pairwise(apart, CORRELATIONS)
    yield "missing values", cd.pairwise(holes(6), holes(7), iid=True)
    yield "pairs without rows in common", cd.pairwise(lost, holes(9), iid=True)
    yield "a constant in a table", cd.pairwise(table(2).assign(rho=0.0), table(3), iid=True)
    yield "a stuck variable in chains", cd.pairwise(stuck, CORRELATIONS)
    yield "variables matched by position", cd.pairwise(table(4), table(8).to_numpy(), iid=True)
    yield "more pairs than a screen has lines", cd.pairwise(wide, np.eye(7), iid=True)
    yield "three variables at a time, nothing is off", cd.interactions(table(10), table(12), iid=True)
    yield "three variables at a time, no target and no effect", cd.interactions(table(3), iid=True)
    yield "all pairs at once, nothing is off", cd.screen(table(10), table(12), iid=True)


def within_groups():
    """Results of `pairwise` within groups."""
    rng, species = np.random.default_rng(1), np.array(["Adelie", "Chinstrap", "Gentoo"])

    def birds(slope, n=150):
        group = np.repeat(np.arange(3), n)
        x, noise, mass = rng.standard_normal((3, 3 * n))
        bill = {"bill_length": x + 3.0 * group, "bill_depth": slope * x + noise - 3.0 * group}
        return pd.DataFrame({"species": species[group], **bill, "mass": mass}).sample(frac=1.0, random_state=1)

    real = birds(1.0)
    yield "a reversal", cd.pairwise(birds(-1.0), real, by="species", iid=True)
    yield "a paradox that is kept", cd.pairwise(birds(1.0), real, by="species", iid=True)
    few = birds(1.0)
    few = few[(few["species"] != "Gentoo") & ((few["species"] != "Adelie") | (few["mass"] > 1.2))]
    few["species"] = few["species"].where(few["mass"] < 1.5)
    yield "groups left out", cd.pairwise(few, real, by="species", iid=True)


def vines():
    """Results of `vine`."""
    rng = np.random.default_rng(14)
    lost = table(5).assign(mu=rng.random(600))
    yield "a wrong conditional dependence", cd.vine(common_cause(20, 0.0), common_cause(21, -0.6), iid=True, n_jobs=1)
    yield "a gap that later trees reflect", cd.vine(lost, table(6), iid=True, n_jobs=1)
    yield "one edge", cd.vine(rng.standard_normal((200, 2)), rng.standard_normal((200, 2)), iid=True)


def consequences():
    """Results of `consequence` and `worst_consequences`."""
    lost = table(1).assign(sigma=np.random.default_rng(2).permutation(table(1)["sigma"]))
    yield "a condition", cd.consequence(lost, table(3, 800), "sigma - mu > 0.5", iid=True)
    yield "a tail, and more", cd.consequence(lost, table(3), "0.5*mu + 0.5*sigma", summary=["quantile", "sd"], q=[0.05, 0.95])
    yield "nothing is found", cd.consequence(table(10), table(12), "mu > nu", iid=True, split="average")
    yield "no part for dependence", cd.consequence(lost, table(3), "mu + sigma", iid=True, split="margins")
    yield "never seen", cd.consequence(lost, table(3), "mu > 3 and sigma < -3", iid=True)
    yield "all pairs", cd.worst_consequences(lost, table(3, 800), iid=True)
    yield "all pairs, nothing is found", cd.worst_consequences(table(10), table(12), iid=True)


def messages():
    """The text of the snapshot."""
    groups = {"One pair": one_pair, "The choice of a family": selections, "Many pairs": many_pairs, "A vine": vines}
    groups |= {"Within groups": within_groups, "Consequences": consequences}
    blocks = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        for group, scenes in groups.items():
            blocks += [f"# {group}: {scene}\n{shown}" for scene, shown in scenes()]
    return "\n\n".join(blocks) + "\n"


@pytest.mark.slow
def test_every_printed_result_is_as_it_was_agreed_on():
    """A change of wording is a change of messages_results.txt, which a reviewer reads; see the top of this file."""
    pytest.importorskip("pyvinecopulib")
    assert messages() == SNAPSHOT.read_text()


if __name__ == "__main__":
    SNAPSHOT.write_text(messages())
