"""Calls that must be refused: the code of the error, and what its message must name.

The wording is pinned in messages_errors.txt; see test_messages_errors.py.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import copula_discrepancy as cd
from tests.pairwise_data import CORRELATIONS, gaussian
from tests.refusals import refused

NAMES = ("mu", "sigma", "nu", "rho")


def table(seed, n=600, names=NAMES):
    return pd.DataFrame(gaussian(np.random.default_rng(seed), n), columns=list(names))


@contextmanager
def refused_naming(code: str, *values: object) -> Iterator[None]:
    """What runs inside raises an InputError with this code, whose message has each value as a word or words of its own."""
    with refused(code) as caught:
        yield
    message = str(caught.value)
    for value in map(str, values):
        assert re.search(rf"(?<!\w){re.escape(value)}(?!\w)", message), (value, message)


class Misuse(NamedTuple):
    """A call that must raise an InputError with this code, and what the message names."""

    call: Callable[[], Any]
    code: str
    names: tuple[object, ...]

    def check(self) -> None:
        with refused_naming(self.code, *self.names):
            self.call()


def _without(matrix, i, j, value):
    changed = np.array(matrix)
    changed[i, j] = changed[j, i] = value
    return changed


def _target(target, code, *names):
    return Misuse(lambda: cd.pairwise(table(21), target), code, names)


PAIRWISE_TARGETS = {
    "other names": _target(table(20, names=("mu", "sigma", "phi", "psi")), "names-differ", "nu, rho", "phi, psi"),
    "fewer names": _target(table(20)[["mu", "nu"]], "names-differ", "sigma, rho", "mu, nu"),
    "no name in common": _target(table(20, names="abcd"), "names-differ", "none"),
    "fewer columns": _target(
        gaussian(np.random.default_rng(1), 50)[:, :3], "names-differ", 4, "mu, sigma, nu, rho", 3, "x0, x1, x2"
    ),
    "a covariance matrix": _target(np.cov(table(20).T * 3), "argument", "target", "4 x 4", "diagonal"),
    "an indefinite matrix": _target(
        _without(_without(CORRELATIONS, 0, 3, -0.9), 1, 3, 0.9), "argument", "target", "eigenvalue"
    ),
    "a correlation of 1": _target(_without(CORRELATIONS, 0, 2, 1.0), "argument", "got 1", "row 0", "column 2"),
    "a correlation below -1": _target(_without(CORRELATIONS, 1, 2, -1.2), "argument", "got -1.2", "row 1", "column 2"),
    "a matrix of other names": _target(
        pd.DataFrame(np.eye(3), list("abc"), list("abc")), "names-differ", "mu, sigma, nu, rho", "a, b, c"
    ),
    "an asymmetric matrix": _target(
        CORRELATIONS - 0.7 * np.eye(1, 4, k=1) * np.eye(4, 1), "argument", "symmetric", 0.1, "row 0", "column 1", 0.8
    ),
    "no copulas": _target({}, "argument", "target", "empty"),
    "a key of three": _target({("mu", "sigma", "nu"): cd.Gaussian(0.1)}, "argument", "('mu', 'sigma', 'nu')"),
    "a key of one": _target({"mu": cd.Gaussian(0.1)}, "argument", "'mu'"),
    "a misspelt key": _target({("mu", "sigm"): cd.Gaussian(0.1)}, "unknown-name", "'sigm'", "'sigma'"),
    "a variable with itself": _target({("mu", "mu"): cd.Gaussian(0.1)}, "argument", "('mu', 'mu')"),
    "a number for a copula": _target({("mu", "nu"): 0.3}, "argument", "'mu'", "'nu'", "got 0.3"),
    "a class for a copula": _target({("mu", "nu"): cd.Gaussian}, "argument", "'mu'", "'nu'", "Gaussian"),
    "two copulas for a pair": _target(
        {("mu", "nu"): cd.Gaussian(0.1), ("nu", "mu"): cd.Gaussian(0.2)}, "argument", "'mu', 'nu'", "two"
    ),
    "a family": _target(cd.Gumbel, "no-target", "target", "Gumbel"),
    "the name of a family": _target("gumbel", "no-target", "target", "'gumbel'"),
    "a number": _target(2.5, "no-target", "target", "2.5"),
}


def _choice(code, *names, **options):
    return Misuse(lambda: cd.pairwise(table(23), **options), code, names)


PAIRWISE_CHOICES = {
    "weights of three variables": _choice("argument", "weights", "(4, 4)", "(3, 3)", weights=np.ones((3, 3))),
    "negative weights": _choice("argument", "weights", "negative", weights=-np.ones((4, 4))),
    "weights that are NaN": _choice("argument", "weights", "finite", weights=np.full((4, 4), np.nan)),
    "no positive weight": _choice("argument", "weights", "positive", weights=np.eye(4)),
    "a weight of an unknown pair": _choice("argument", "weights", "('mu', 'phi')", weights={("mu", "phi"): 1.0}),
    "a weight of one variable": _choice("argument", "weights", "'mu'", weights={"mu": 1.0}),
    "a weight in words": _choice("argument", "weights[('mu', 'nu')]", "'much'", weights={("mu", "nu"): "much"}),
    "weights by name": _choice("not-numeric", "weights", weights="tau"),
    "a family beside a copula": _choice("argument", "family", "'gumbel'", family="gumbel", target=cd.Gumbel(2.0)),
    "a family beside correlations": _choice("argument", "family", "'auto'", family="auto", target=CORRELATIONS),
    "a misspelt family": _choice("unknown-name", "gumbl", family="gumbl"),
    "an unknown adjustment": _choice("argument", "adjust", "'bh'", "'fdr'", adjust="fdr"),
    "an unknown method": _choice("argument", "method", "'mle'", "'bayes'", method="bayes"),
    "a confidence in percent": _choice("argument", "confidence", "0", "1", "95", confidence=95),
    "iid in words": _choice("argument", "iid", "True", "False", "'yes'", iid="yes"),
    "no workers": _choice("argument", "n_jobs", "0", n_jobs=0),
    "one variable": _choice("shape", "1", "mu", var_names=["mu"]),
    "moments without a target": _choice("argument", "method='moment'", method="moment"),
    "moments without a target, with a family": _choice("argument", "method='moment'", method="moment", family="gumbel"),
}

SAMPLE = np.random.default_rng(17).standard_normal((100, 3))


def _vine(draws, reference, code, *names, **options):
    return Misuse(lambda: cd.vine(draws, reference, **options), code, names)


VINE = {
    "one variable": _vine(SAMPLE[:, :1], SAMPLE[:, :1], "shape", "1", "x0"),
    "fewer variables": _vine(SAMPLE, SAMPLE[:, :2], "names-differ", "3", "2"),
    "other names": _vine(
        {"a": SAMPLE[:, 0], "b": SAMPLE[:, 1]}, {"a": SAMPLE[:, 0], "c": SAMPLE[:, 1]}, "names-differ", "b", "c"
    ),
    "no reference": _vine(SAMPLE, None, "no-target", "reference", "None"),
    "a copula": _vine(SAMPLE, cd.Gumbel(2.0), "no-target", "reference", "pairwise()"),
    "a correlation matrix": _vine(SAMPLE, np.eye(3), "no-target", "reference"),
    "the name of a family": _vine(SAMPLE, "gumbel", "no-target", "'gumbel'"),
    "a short reference": _vine(SAMPLE, SAMPLE[:10], "too-few-draws", "11", "10", iid=True),
    "few draws": _vine(SAMPLE[:10], SAMPLE, "too-few-draws", "11", "10", iid=True),
    "short chains": _vine(SAMPLE[:99].reshape(33, 3, 3), SAMPLE, "too-few-draws", "4", "got 3"),
    "no trees": _vine(SAMPLE, SAMPLE, "argument", "truncate", "1 to 2", "3", "0", truncate=0),
    "too many trees": _vine(SAMPLE, SAMPLE, "argument", "truncate", "1 to 2", "got 3", truncate=3),
    "a float of trees": _vine(SAMPLE, SAMPLE, "argument", "truncate", "1.0", truncate=1.0),
    "a truth value of trees": _vine(SAMPLE, SAMPLE, "argument", "truncate", "True", truncate=True),
    "an unknown method": _vine(SAMPLE, SAMPLE, "argument", "method", "'mle'", "'moment'", "'ml'", method="ml"),
    "an unknown adjustment": _vine(SAMPLE, SAMPLE, "argument", "adjust", "'fdr'", adjust="fdr"),
    "iid in words": _vine(SAMPLE, SAMPLE, "argument", "iid", "True", "False", "'yes'", iid="yes"),
    "a confidence in percent": _vine(SAMPLE, SAMPLE, "argument", "confidence", "95", confidence=95),
    "no workers": _vine(SAMPLE, SAMPLE, "argument", "n_jobs", "0", n_jobs=0),
    "an unknown variable": _vine(SAMPLE, SAMPLE, "unknown-name", "'x7'", var_names=["x7"]),
}

_PAIR = pd.DataFrame(np.random.default_rng(2).normal(size=(60, 2)), columns=["mu", "sigma"])
_NORMAL = np.random.default_rng(1).normal(size=(50, 3))
_DRAWS = cd.Gumbel(2.0).sample(300, rng=20)
_TWINS = pd.DataFrame(_DRAWS, columns=["a", "a"])


def _reference(reference, code, *names, draws=_PAIR, family="gumbel"):
    return Misuse(lambda: cd.discrepancy(draws, reference, family=family), code, names)


REFERENCES = {
    "other names": _reference(pd.DataFrame(_NORMAL[:, :2], columns=["mu", "nu"]), "names-differ", "sigma", "nu"),
    "three columns": _reference(_NORMAL, "names-differ", "2", "mu, sigma", "3"),
    "a NaN": _reference(np.array([[1.0, 2.0], [np.nan, 3.0]]), "nan", "x0", "1 of 2"),
    "three rows": _reference(_NORMAL[:3, :2], "too-few-draws", "4", "got 3"),
    "constants": _reference(np.zeros((50, 2)), "constant", "mu"),
    "the name of a family": _reference("gumbel", "no-target", "target", "'gumbel'", family=None),
    "a family": _reference(cd.Gumbel, "no-target", "target", "Gumbel", family=None),
    "nothing": _reference(None, "no-target", "target", "None", family=None),
    "a number": _reference(2.5, "no-target", "target", "2.5", family=None),
    "a copula beside a family": _reference(cd.Gumbel(2.0), "argument", "family", "Gumbel", family="clayton"),
    "ragged chains": _reference([_DRAWS[:50], _DRAWS[:60]], "shape", "chain 0", "50", "chain 1", "60", draws=_DRAWS),
    "perfect dependence": _reference(_DRAWS[:, [0, 0]], "perfect-dependence", "reference", draws=_DRAWS),
    "a name twice": _reference(_TWINS, "argument", "unique", "a", draws=_TWINS),
}

SUMMARY = {
    "one variable": Misuse(lambda: cd.summary(np.ones((10, 1))), "shape", ("1", "x0")),
    "three draws": Misuse(lambda: cd.summary(SAMPLE[:3, :2]), "too-few-draws", ("4", "got 3")),
    "a confidence of 1": Misuse(lambda: cd.summary(SAMPLE[:, :2], confidence=1.0), "argument", ("confidence", "1.0")),
    "an unknown variable": Misuse(lambda: cd.summary(SAMPLE[:, :2], var_names="mu"), "unknown-name", ("'mu'",)),
    "no file": Misuse(lambda: cd.summary("nowhere.csv"), "file", ("nowhere.csv",)),
}

_PAIR = pd.DataFrame(SAMPLE[:, :2], columns=["a", "b"])


def _function(function, code, *names, reference=None, **choices):
    other = _PAIR.iloc[::-1] + 0.1 if reference is None else reference
    return Misuse(lambda: cd.consequence(_PAIR, other, function, **choices), code, names)


CONSEQUENCES = {
    "an unknown name": _function("a - c", "unknown-name", "position 5", "'c'", "a, b"),
    "not in the language": _function("a.sum() - b", "unknown-name", "position 1"),
    "an unknown function": _function("sin(a) - b", "unknown-name", "position 1", "'sin'", "sqrt"),
    "an unfinished expression": _function("a - ", "expression", "position"),
    "one variable": _function("a > 0", "one-variable", "a"),
    "no value": _function("log(a) - b", "nan", "'log(a) - b'", "a = -1.26024"),
    "an infinite value": _function("a / (b - b)", "infinite", "'a / (b - b)'"),
    "a function of another length": _function(lambda a, b: a[1:], "shape", "(100,)", "(99,)"),
    "a function of all rows": _function(lambda rows: rows[:, 0] - rows[:, 0].mean(), "argument", "the function"),
    "a function that raises": _function(lambda rows: rows["a"], "argument", "IndexError", "(100, 2)"),
    "a function of other names": _function(lambda a, c: a, "unknown-name", "'c'", "a, b"),
    "three weights": _function([1, 2, 3], "shape", "3", "2", "a, b"),
    "a constant in the reference": _function("a - b", "constant", "reference", "b", reference=_PAIR.assign(b=1.0)),
    "a reference without the variable": _function("a - b", "unknown-name", "reference", "'b'", reference=_PAIR[["a"]]),
    "a copula": _function("a - b", "no-target", "Gumbel", "copula", reference=cd.Gumbel(2.0)),
    "ten rows": _function("a - b", "too-few-draws", "20", "10", reference=_PAIR[:10]),
    "a quantile without its probability": _function("a - b", "argument", "q=0.01", summary="quantile"),
    "a quantile of a condition": _function("a > b", "argument", "'quantile'", summary="quantile", q=0.1),
    "an unknown summary": _function("a - b", "argument", "summary", "'median'", "quantile", summary="median"),
    "two references": Misuse(lambda: cd.worst_consequences(_PAIR, None), "no-target", ("reference", "None")),
    "one column": Misuse(lambda: cd.worst_consequences(_PAIR[["a"]], _PAIR), "shape", ("2", "1", "a")),
}

GROUPS = {
    "targets of pairwise": PAIRWISE_TARGETS,
    "choices of pairwise": PAIRWISE_CHOICES,
    "vine": VINE,
    "references of discrepancy": REFERENCES,
    "summary": SUMMARY,
    "consequences": CONSEQUENCES,
}
