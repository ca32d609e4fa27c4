"""Comparisons whose pages are tested: few and many variables, one chain, a failed chain, hostile names, nothing to find."""

import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.report.page import content
from tests.pairwise_data import autoregressive, gaussian

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 2">',
    "</script><script>window.hacked = 3</script>",
    "{{ 7 * 7 }} {% if true %}",
    "$\\frac{a$ & _x",
    "a" * 300,
)


def factors(rng, d, n, broken=0):
    """A sample of d dependent variables, and another one in which the first few are independent of all others."""
    loadings = rng.normal(size=(d, 4))
    x, y = (rng.normal(size=(n, 4)) @ loadings.T + 1.5 * rng.normal(size=(n, d)) for _ in range(2))
    y[:, :broken] = rng.normal(size=(n, broken))
    return y, x


@cache
def comparison(name):
    """The result with this name; its warnings are recorded in the result and shown on the pages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return _MAKERS[name]()


_FOLDER = tempfile.TemporaryDirectory(prefix="pages-")  # removed when the process ends


def page_of(name):
    """The path of its page, written once."""
    return timed_page_of(name)[0]


@cache
def timed_page_of(name):
    """Its path and the CPU seconds it took, which do not depend on other processes.

    One pair in pictures says enough, where nothing else is asked for; fifty variables have as many as a user's page.
    """
    result, folder = comparison(name), Path(_FOLDER.name) / name.replace(" ", "_")
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "DETAILS", {"vine": 2, "eight": 2, "many": 0, "fifty": content.DETAILS}.get(name, 1))
        sections = {"consequences": consequences(name)} if name in WITH_CONSEQUENCES else {}
        start = time.process_time()
        return result.to_html(folder / "report.html", **sections), time.process_time() - start


@cache
def consequences(name):
    """What the worst pairs of a comparison do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.worst_consequences(*comparison(name).samples)


def _eight():
    from arviz_base import load_arviz_data

    chosen = ["mu", "theta", "tau"]
    centered, other = (
        cd.as_draws(load_arviz_data(kind), var_names=chosen) for kind in ("centered_eight", "non_centered_eight")
    )
    return cd.pairwise(centered, other)


def _two():
    return cd.pairwise(cd.Clayton(3.0).sample(2000, rng=1).reshape(4, 500, 2), cd.Gumbel(2.5))


def _many():
    """More variables than a map takes, with long names, independent of their neighbours but for two that should not depend.

    The page has as many rows, cells and letters as that of all pairs, which only take longer to count.
    """
    d = content.MAPPED + 5
    names = [f"{k} " + "&" * 100 for k in range(d)]  # escaped, each is five characters
    draws = pd.DataFrame(np.random.default_rng(3).normal(size=(60, d)), columns=names)
    draws[names[1]] += 3.0 * draws[names[0]]
    neighbours = {(names[i], names[j]): cd.Gaussian(0.0) for i in range(d) for j in range(i + 1, min(i + 9, d))}
    return cd.pairwise(draws, neighbours, iid=True, method="moment")


def _one_chain():
    rng = np.random.default_rng(4)
    return cd.pairwise(autoregressive(rng, 1, 2000, 0.5), gaussian(rng, (1, 2000)), family="gaussian")


def _failed_chain():
    rng = np.random.default_rng(5)
    draws = autoregressive(rng, 4, 500, 0.5)
    draws[2, 100:] = draws[2, 100]  # one chain stops
    draws[3] = draws[3, 0]  # and one never starts
    return cd.pairwise(draws, gaussian(rng, (4, 500)), family="gaussian")


def _hostile():
    rng = np.random.default_rng(6)
    d = len(HOSTILE)
    correlations = np.full((d, d), 0.5) + 0.5 * np.eye(d)
    given, reference = (pd.DataFrame(gaussian(rng, 800, correlations), columns=list(HOSTILE)) for _ in range(2))
    given[HOSTILE[0]] = rng.normal(size=800)
    return cd.pairwise(given, reference, family="gaussian")


def _fine():
    rng = np.random.default_rng(7)
    return cd.pairwise(gaussian(rng, (4, 500)), gaussian(rng, (4, 500)), family="gaussian")


def _short():
    """Nothing to find, but few draws: an answer with reservations."""
    rng = np.random.default_rng(15)
    return cd.pairwise(gaussian(rng, (4, 60)), gaussian(rng, (4, 500)), family="gaussian")


def crash(rng, n, crashes):
    """Two assets that are negatively dependent on most days and fall together on some; three with positive dependence."""
    days = gaussian(rng, n, np.array([[1.0, -0.35], [-0.35, 1.0]]))
    days[:crashes] = -2.5 + 0.3 * rng.normal(size=(crashes, 2))
    others = rng.normal(size=(n, 3)) + rng.normal(size=(n, 1))
    return pd.DataFrame(np.concatenate([days, others], axis=1), columns=["equity", "bonds", "gold", "oil", "credit"])


def _crash():
    """A table without its joint crashes, of the same Kendall's tau: one corner is off, across the dependence."""
    rng = np.random.default_rng(16)
    reference = crash(rng, 3000, 90)
    rho = np.sin(0.5 * np.pi * cd.kendall_tau(reference["equity"], reference["bonds"]))
    given = crash(rng, 3000, 0)
    given[["equity", "bonds"]] = gaussian(rng, 3000, np.array([[1.0, rho], [rho, 1.0]]))
    return cd.pairwise(given, reference, iid=True)


def _table():
    """The crashes against no target: the best family has tails at both ends."""
    return cd.pairwise(crash(np.random.default_rng(16), 3000, 90), iid=True)


def _untestable():
    """All variables are equal, so no family can be fitted."""
    x = np.random.default_rng(8).normal(size=(4, 100, 1))
    return cd.pairwise(np.concatenate([x, 2.0 * x, x + 1.0], axis=2))


def _nothing():
    rng = np.random.default_rng(9)
    mixture = np.where(rng.random((4, 500, 1)) < 0.5, gaussian(rng, (4, 500)), -3.0 * rng.random((4, 500, 4)))
    return cd.pairwise(mixture)


def _moment():
    rng = np.random.default_rng(10)
    return cd.pairwise(*factors(rng, 6, 1000, broken=1), method="moment")


def _fifty():
    rng = np.random.default_rng(13)
    draws, reference = (sample.reshape(4, 1000, 50) for sample in factors(rng, 50, 4000, broken=5))
    return cd.pairwise(draws, reference)


def _two_signs():
    """The strongest dependence of either sign against independence: saturated colours."""
    rng = np.random.default_rng(14)
    x = rng.normal(size=(400, 1))
    return cd.pairwise(np.concatenate([x, -x, x], axis=1) + 0.3 * rng.normal(size=(400, 3)), np.eye(3), iid=True)


def _single():
    return cd.discrepancy(cd.Clayton(3.0).sample(2000, rng=1).reshape(4, 500, 2), cd.Gumbel(2.5))


def _vine():
    rng = np.random.default_rng(12)
    return cd.vine(*factors(rng, 5, 800, broken=2))


_MAKERS = {
    "eight": _eight, "two": _two, "many": _many, "one chain": _one_chain, "failed chain": _failed_chain, "hostile": _hostile,
    "fine": _fine, "untestable": _untestable, "nothing": _nothing, "moment": _moment, "single": _single, "vine": _vine,
    "fifty": _fifty, "two signs": _two_signs, "short": _short, "crash": _crash, "table": _table,
}  # fmt: skip
NAMES = tuple(_MAKERS)
WITH_CONSEQUENCES = ("eight", "hostile")  # pages that have this section too
