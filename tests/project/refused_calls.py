"""Calls that raise an InputError: as text, the code of the error, and what its message must name.

As text, so that messages.txt shows what was typed above what was answered.
"""

import re

import numpy as np
import pandas as pd

import copula_discrepancy as cd
from copula_discrepancy.estimate.tails import Corner

GOOD = cd.Gumbel(2.0).sample(50, rng=1)
TARGET = cd.Gumbel(2.0)
OPPOSITE = Corner(False, True)


class Refusing:
    """An object of another library that raises."""

    def __init__(self, error):
        self.error = error

    def __array__(self, dtype=None, copy=None):
        raise self.error


def with_value(value, row=3, column=1):
    draws = GOOD.copy()
    draws[row, column] = value
    return draws


def evaluated(text):
    """What a line of Python gives, with the names of this module."""
    return eval(text, {"np": np, "pd": pd, "cd": cd, **globals()})


def missing_in(message, named):
    """Those of some arguments and values that a message does not name, each as a whole word or number."""
    return [part for part in named if not re.search(rf"(?<![\w-])(?<!\d\.){re.escape(part)}(?!\w|\.\d)", message)]


DRAWS = [
    ("with_value(np.nan)", "nan", "x1", "1 of 50", "draw 3"),
    ("with_value(np.inf, column=0)", "infinite", "x0", "1 of 50", "draw 3"),
    ("np.full((5, 2), np.nan)", "nan", "x0", "x1", "5 of 5", "draw 0"),
    ("pd.DataFrame({'alpha': [1.0, np.nan, 3.0], 'beta': [1.0, 2.0, -np.inf]})", "nan", "alpha", "row 1", "beta", "row 2"),
    ("np.column_stack([np.ones(9), np.arange(9)])", "constant", "x0", "9", "1"),
    ("GOOD[:1]", "too-few-draws", "draws", "2", "(1, 2)"),
    ("GOOD[:0]", "too-few-draws", "draws", "2", "(0, 2)"),
    ("np.empty((0, 0))", "too-few-draws", "draws", "2", "(0, 0)"),
    ("np.empty((0, 5, 2))", "too-few-draws", "draws", "2", "(0, 5, 2)"),
    ("np.random.default_rng(0).normal(size=(9, 3))", "shape", "3", "x0, x1, x2", "draws[:, [0, 1]]"),
    ("GOOD[:, :1]", "shape", "draws", "1", "x0"),
    ("GOOD[:, 0]", "shape", "draws", "(n, d)", "(chain, draw, d)", "(50,)"),
    ("5.0", "shape", "draws", "(n, d)", "()"),
    ("np.zeros((2, 2, 2, 2))", "shape", "draws", "(2, 2, 2, 2)"),
    ("[['a', 'b'], ['c', 'd']]", "not-numeric", "draws", "<U1", "'a'"),
    ("[[1, 2], [3]]", "shape", "draws"),
    ("None", "not-numeric", "draws", "object", "None"),
    ("np.full((9, 2), 1j)", "not-numeric", "draws", "complex128", "1j"),
    ("np.array([['2020-01-01', '2020-01-02']] * 3, dtype='datetime64[D]')", "not-numeric", "draws", "datetime64[D]"),
    ("np.ma.masked_greater(GOOD, 0.9)", "nan", "draws", "9", "masked"),
    ("pd.DataFrame({'a': pd.Series(['x', 'y'], dtype=object), 'b': [1, 2]})", "not-numeric", "a", "object", "'x'", "row 0"),
]

COPULAS = [
    ("cd.Gumbel(0.4)", "argument", "theta", "1", "Gumbel", "0.4", "Frank", "Rotated(Gumbel(...), 90)"),
    ("cd.Clayton(-0.1)", "argument", "theta", "0", "Clayton", "-0.1"),
    ("cd.Joe(0.99)", "argument", "theta", "1", "Joe", "0.99"),
    ("cd.A1(0.5)", "argument", "theta", "1", "A1", "0.5", "0.545"),
    ("cd.A2(-3)", "argument", "theta", "1", "A2", "-3", "0.545"),
    ("cd.Gaussian(1.0)", "argument", "theta", "-1", "1", "Gaussian"),
    ("cd.Gaussian(-1.5)", "argument", "theta", "-1", "1", "Gaussian", "-1.5"),
    ("cd.StudentT(0.5, 0.0)", "argument", "df", "StudentT", "0"),
    ("cd.StudentT(0.5, np.inf)", "argument", "df", "StudentT", "inf", "Gaussian"),
    ("cd.Frank(np.inf)", "argument", "theta", "Frank", "inf"),
    ("cd.Frank(np.nan)", "argument", "theta", "Frank", "nan"),
    ("cd.Gumbel(np.nan)", "argument", "theta", "Gumbel", "nan"),
    ("cd.Gumbel(1e170)", "argument", "theta", "Gumbel", "1e+170", "1e+100"),
    ("cd.Clayton('strong')", "argument", "theta", "Clayton", "'strong'"),
    ("cd.Clayton(None)", "argument", "theta", "Clayton", "None"),
    ("cd.Clayton(True)", "argument", "theta", "Clayton", "True"),
    ("cd.Clayton('2')", "argument", "theta", "Clayton", "'2'"),
    ("cd.Clayton(10**400)", "argument", "theta", "Clayton"),
    ("cd.Clayton(np.ma.masked)", "argument", "theta", "Clayton", "masked"),
    ("cd.Gumbel.from_tau(-0.2)", "argument", "tau", "0", "1", "Gumbel", "-0.2"),
    ("cd.A1.from_tau(0.3)", "argument", "tau", "0.5452", "1", "A1", "0.3"),
    ("cd.Gaussian.from_tau(1.0)", "argument", "|tau| < 1", "Gaussian"),
    ("cd.Gaussian.from_tau(1 - 1e-12)", "argument", "tau", "0.999999999999", "theta", "Gaussian"),
    ("cd.Gumbel.from_tau('half')", "argument", "tau", "'half'"),
    ("cd.StudentT.from_tau(0.5)", "argument", "StudentT", "df"),
    ("cd.StudentT(0.5)", "argument", "StudentT", "df"),
    ("cd.Gumbel.from_tau(0.5, df=4)", "argument", "Gumbel", "df"),
    ("cd.Rotated(cd.Clayton(1.0), 45)", "argument", "rotation", "90", "180", "270", "45"),
    ("cd.Rotated(cd.Rotated(cd.Clayton(1.0), 90), 90)", "argument", "base", "90", "Clayton(theta=1.0)"),
    ("cd.Rotated('clayton', 90)", "argument", "base", "'clayton'"),
    ("cd.Rotated(TARGET, 180.0)", "argument", "rotation", "180.0"),
    ("cd.Rotated.family(cd.Clayton, [90])", "argument", "rotation", "[90]"),
    ("cd.Rotated.family(cd.Rotated, 90)", "argument", "base", "Rotated"),
    ("cd.family('gumble')", "unknown-name", "family", "'gumble'", "clayton, gumbel, frank"),
    ("cd.family(7)", "unknown-name", "family", "7"),
    ("TARGET.logpdf(0.0, 0.5)", "argument", "u", "0", "1", "1 of 1"),
    ("TARGET.logpdf(0.5, [0.2, 1.0])", "argument", "v", "0", "1", "1 of 2"),
    ("TARGET.logpdf(np.nan, 0.5)", "argument", "u", "nan"),
    ("TARGET.logpdf('a', 0.5)", "not-numeric", "u", "'a'"),
    ("TARGET.logpdf([0.1, 0.2], [0.1, 0.2, 0.3])", "argument", "u", "v", "(2,)", "(3,)"),
    ("TARGET.logpdf([[0.1], [0.2, 0.3]], 0.5)", "shape", "u"),
    ("TARGET.logpdf(np.ma.masked_less([0.1, 0.9], 0.5), 0.5)", "nan", "u", "1", "masked"),
    ("TARGET.cdf(-0.1, 0.5)", "argument", "u", "0", "1", "-0.1"),
    ("TARGET.cdf([0.1, 0.2], [0.1, 0.2, 0.3])", "argument", "u", "v", "(2,)", "(3,)"),
    ("TARGET.conditional_ppf(1.5, 0.5)", "argument", "p", "1.5"),
    ("TARGET.conditional_ppf(0.5, 1.5)", "argument", "condition", "1.5"),
    ("TARGET.sample(-1)", "argument", "n", "0", "-1"),
    ("TARGET.sample(2.5)", "argument", "n", "2.5"),
    ("TARGET.sample(2**63)", "argument", "n", "2**40", "9223372036854775808"),
    ("TARGET.sample(np.timedelta64(3, 's'))", "argument", "n"),
    ("TARGET.sample(5, rng='seed')", "argument", "rng", "'seed'"),
    ("TARGET.sample(5, rng=-1)", "argument", "rng", "-1"),
    ("TARGET.entropy(method='guess')", "argument", "method", "'exact'", "'monte_carlo'", "'guess'"),
    ("TARGET.entropy(method='monte_carlo', m=0)", "argument", "m", "1", "0"),
    ("TARGET.kl(2.0)", "argument", "other", "2.0"),
    ("TARGET.gradient(5e-324, 0.5)", "argument", "gradient", "Gumbel(theta=2.0)", "u=5e-324"),
    ("cd.Clayton(1e4).pdf(1e-306, 1e-306)", "argument", "pdf", "Clayton(theta=10000.0)", "u=1e-306", "logpdf"),
    ("OPPOSITE.probability(cd.StudentT(0.2, 0.0044), 0.1, 0.1)", "argument", "StudentT(theta=0.2, df=0.0044)", "df"),
]

DATA = [
    ("cd.kendall_tau([1, 2], [1, 2, 3])", "argument", "x", "y", "2", "3"),
    ("cd.kendall_tau([1, 2, 3], [1, 2, np.nan])", "nan", "y", "1 of 3"),
    ("cd.kendall_tau([[1, 2]], [[1, 2]])", "shape", "x", "(1, 2)"),
    ("cd.kendall_tau([1], [1])", "too-few-draws", "x", "2", "1"),
    ("cd.kendall_tau([1, 2], [1, 2], variant='c')", "argument", "variant", "'b'", "'a'", "'c'"),
    ("cd.kendall_tau(Refusing(KeyError('no')), [1, 2])", "not-numeric", "x", "Refusing", "KeyError"),
    ("cd.kendall_matrix(np.ones((4, 2)))", "constant", "x0", "4"),
    ("cd.kendall_matrix(GOOD, n_jobs='two')", "argument", "n_jobs", "'two'"),
    ("cd.kendall_matrix(GOOD, n_jobs=0)", "argument", "n_jobs", "0"),
    ("cd.kendall_matrix(pd.DataFrame(GOOD, columns=['same', 'same']))", "argument", "same"),
    ("cd.as_draws(np.ma.masked_all((3, 2), [('a', float)]))", "nan", "a", "6"),
    ("cd.as_draws({'a': [1, 10**400], 'b': [1, 2]})", "not-numeric", "a", "row 1"),
    ("cd.as_draws(GOOD, delimiter=np.array([1, 2]))", "argument", "delimiter", "array([1, 2])"),
    ("cd.as_draws(GOOD).select(3)", "argument", "names", "3"),
    ("cd.as_draws(GOOD).select([['x0']])", "unknown-name", "['x0']", "x0, x1"),
    ("cd.as_draws(GOOD).column(2)", "argument", "variable", "2"),
    ("cd.as_draws(GOOD).column('x0')", "argument", "variable", "'x0'"),
]

COMPARISONS = [
    ("cd.fit(GOOD, 'weibull')", "unknown-name", "family", "'weibull'", "clayton, gumbel, frank"),
    ("cd.fit(GOOD, 3.0)", "argument", "family", "3.0"),
    ("cd.fit(GOOD, cd.Rotated)", "argument", "Rotated", "family('clayton180')"),
    ("cd.fit(GOOD, cd.Copula)", "argument", "family", "Copula"),
    ("cd.fit(GOOD, 'gumbel', method='bayes')", "argument", "method", "'mle'", "'moment'", "'bayes'"),
    ("cd.fit(GOOD, 'gumbel', method=np.array(['mle', 'moment']))", "argument", "method"),
    ("cd.fit(GOOD, 'gumbel', margins='normal')", "argument", "margins", "'rank'", "'uniform'", "'normal'"),
    ("cd.fit(GOOD * 2, 'gumbel', margins='uniform')", "argument", "margins='uniform'", "x0", "1.92192", "margins='rank'"),
    ("cd.fit(GOOD, 'studentt', method='moment')", "argument", "df=4", "method='mle'"),
    ("cd.fit(GOOD, cd.StudentT, df=5e-324)", "argument", "df=4.94066e-324"),
    ("cd.fit(GOOD, 'gumbel').theta_estimate(1.0)", "argument", "confidence", "0", "1", "1.0"),
    ("cd.discrepancy(GOOD, 'gumbel')", "no-target", "target", "'gumbel'"),
    ("cd.discrepancy(GOOD, cd.Gumbel)", "no-target", "target", "Gumbel(2.5)"),
    ("cd.discrepancy(GOOD, TARGET, method='x')", "argument", "method", "'x'"),
    ("cd.discrepancy(GOOD, TARGET, shannon='approximate')", "argument", "shannon", "'approximate'"),
    ("cd.discrepancy(GOOD, TARGET, estimate_df=1)", "argument", "estimate_df", "True", "False", "1"),
    ("cd.discrepancy(GOOD, TARGET, estimate_df=np.True_)", "argument", "estimate_df=True", "StudentT", "Gumbel(theta=2.0)"),
    ("cd.discrepancy(GOOD, cd.StudentT(0.5, 4), estimate_df=True, method='moment')", "argument", "df=4", "method='mle'"),
    ("cd.discrepancy(GOOD, TARGET, confidence=np.timedelta64(0, 's'))", "argument", "confidence", "0", "1"),
    ("cd.pairwise(GOOD, np.array([[1.0, np.inf], [np.inf, 1.0]]))", "infinite", "target", "2"),
    ("cd.pairwise(TARGET.sample(200, rng=1), TARGET, iid=True)[1]", "argument", "index 1", "1 pair"),
    (
        "cd.pairwise(TARGET.sample(200, rng=1), TARGET, iid=True).pair(np.array(['x0']), 'x1')",
        "unknown-name",
        "['x0']",
        "x0, x1",
    ),
    ("cd.repair(GOOD, 'gumbel')", "no-target", "target", "'gumbel'", "vine()"),
    ("cd.repair(GOOD, np.column_stack([np.ones(50), GOOD[:, 1]]))", "constant", "x0", "exclude=", "--exclude"),
    ("cd.repair(GOOD, TARGET, only='x7')", "unknown-name", "only", "'x7'", "x0, x1"),
    ("cd.repair(GOOD, TARGET, only=[])", "argument", "only"),
    ("cd.repair(GOOD, TARGET, anchor='x0', only='x1')", "argument", "anchor", "only=", "'x0'"),
    ("cd.repair(np.c_[GOOD, GOOD], TARGET)", "shape", "Gumbel(theta=2.0)", "4", "var_names"),
    ("cd.repair(GOOD, TARGET, missing='pairs')", "argument", "missing", "'raise'", "'listwise'", "'pairs'"),
    ("cd.repair(GOOD, TARGET).save('fixed.csv')", "argument", "save", "ndarray"),
    ("cd.adjust_pvalues([0.1 + 1j])", "argument", "pvalues", "0", "1"),
    ("cd.adjust_pvalues(['0.1'])", "argument", "pvalues", "'0.1'"),
    ("cd.adjust_pvalues(np.ma.masked_less([0.1, 0.9], 0.5))", "argument", "pvalues", "masked"),
    ("cd.long_run_variance([1.0, 2.0, 3.0, 5.0], iid=NotImplemented)", "argument", "iid", "True", "False", "NotImplemented"),
    ("cd.contamination_bound(np.timedelta64(0, 's'))", "argument", "delta", "0", "1"),
    ("cd.summary(GOOD, round_to='2')", "argument", "round_to", "0", "'2'"),
    ("cd.DependenceFidelity.normalize(1.5)", "argument", "raw_score", "0", "1", "1.5"),
    ("cd.DependenceFidelity.normalize('a')", "argument", "raw_score", "'a'"),
    ("cd.ksd(GOOD, np.negative, margins=pd.Series([1.0, 2.0]))", "argument", "margins", "'rank'", "'uniform'"),
    ("cd.GaussianTarget([0.0, 0.0], np.diag([1.0, 5e-324]))", "argument", "covariance", "4.94066e-324"),
]
