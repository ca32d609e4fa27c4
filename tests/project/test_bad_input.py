"""Invalid input raises a clear InputError; unusual but valid input gives the right result and is not modified."""

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.estimate.tails import Corner
from tests.caveat_codes import warned

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


PAIR_FUNCTIONS = [
    lambda draws: cd.fit(draws, "gumbel"),
    lambda draws: cd.fit(draws, "gumbel", method="moment"),
    lambda draws: cd.discrepancy(draws, TARGET),
]


@pytest.mark.parametrize("function", PAIR_FUNCTIONS, ids=["mle", "moment", "discrepancy"])
@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (with_value(np.nan), r"NaN in 1 variable: x1 \(1 of 50 draws, at draw 3\)"),
        (with_value(np.inf, column=0), "infinite values in 1 variable: x0 "),
        (np.full((5, 2), np.nan), r"NaN in 2 variables: x0 \(5 of 5 draws, from draw 0 on\), x1 "),
        (
            pd.DataFrame({"alpha": [1.0, np.nan, 3.0], "beta": [1.0, 2.0, -np.inf]}),
            r"alpha \(1 of 3 rows, at row 1\) and infinite values in 1 variable: beta \(1 of 3 rows, at row 2\)",
        ),
        (np.column_stack([np.ones(9), np.arange(9)]), r"variable x0 is constant \(all 9 values are 1\)"),
        (GOOD[:1], "at least 2 draws"),
        (GOOD[:0], "at least 2 draws"),
        (np.empty((0, 0)), "at least 2 draws"),
        (np.empty((0, 5, 2)), "at least 2 draws"),
        (np.random.default_rng(0).normal(size=(9, 3)), r"two variables, got 3 .*draws\[:, \[0, 1\]\]"),
        (GOOD[:, :1], "two variables, got 1"),
        (GOOD[:, 0], r"shape \(n, d\) or \(chain, draw, d\), got \(50,\)"),
        (5.0, r"shape \(n, d\)"),
        (np.zeros((2, 2, 2, 2)), r"got \(2, 2, 2, 2\)"),
        ([["a", "b"], ["c", "d"]], "real numbers, got an array of type <U1, for example 'a'"),
        ([[1, 2], [3]], "rows differ in length"),
        (None, "real numbers"),
        (GOOD + 1j, "real numbers, got an array of type complex128"),
        (np.array([["2020-01-01", "2020-01-02"]] * 3, dtype="datetime64[D]"), "real numbers"),
        (np.ma.masked_greater(GOOD, 0.9), "masked values"),
        (
            pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}),
            "variable a must be real numbers, got type (str|object), for example 'x'",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_draws_that_cannot_be_used(function, draws, message):
    with pytest.raises(cd.InputError, match=message):
        function(draws)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cd.Gumbel(0.4), r"theta must be >= 1 and finite for Gumbel, got 0.4; .*Frank or Rotated\(Gumbel"),
        (lambda: cd.Clayton(-0.1), "theta must be >= 0"),
        (lambda: cd.Joe(0.99), "theta must be >= 1"),
        (lambda: cd.A1(0.5), "theta must be >= 1.*another family"),
        (lambda: cd.A2(-3), "theta must be >= 1"),
        (lambda: cd.Gaussian(1.0), "strictly between -1 and 1 for Gaussian, got 1"),
        (lambda: cd.Gaussian(-1.5), "strictly between -1 and 1"),
        (lambda: cd.StudentT(0.5, 0.0), "df must be > 0 and finite for StudentT, got 0"),
        (lambda: cd.StudentT(0.5, np.inf), "use Gaussian"),
        (lambda: cd.Frank(np.inf), "finite"),
        (lambda: cd.Frank(np.nan), "got nan"),
        (lambda: cd.Gumbel(np.nan), "got nan"),
        (lambda: cd.Clayton("strong"), "theta of Clayton must be a number, got 'strong'"),
        (lambda: cd.Clayton(None), "must be a number"),
        (lambda: cd.Gumbel.from_tau(-0.2), "tau must lie between 0 and 1"),
        (lambda: cd.A1.from_tau(0.3), "between 0.5452 and 1"),
        (lambda: cd.Gaussian.from_tau(1.0), r"\|tau\| < 1"),
        (lambda: cd.Gumbel.from_tau("half"), "tau must be a number"),
        (lambda: cd.StudentT.from_tau(0.5), "degrees of freedom"),
        (lambda: cd.StudentT(0.5), "degrees of freedom"),
        (lambda: cd.Gumbel.from_tau(0.5, df=4), "Gumbel has no parameter df"),
        (lambda: cd.Gumbel(1e170), "beyond 1e.100 overflows"),
        (lambda: cd.discrepancy(GOOD, TARGET, estimate_df=1), "estimate_df must be True or False"),
        (lambda: cd.discrepancy(GOOD, TARGET, estimate_df=np.True_), "needs a StudentT target"),
        (lambda: cd.discrepancy(GOOD, cd.StudentT(0.5, 4), estimate_df=True, method="moment"), "does not determine"),
        (lambda: cd.Rotated(cd.Clayton(1.0), 45), "rotation must be 90, 180 or 270, got 45"),
        (lambda: cd.Rotated(cd.Rotated(cd.Clayton(1.0), 90), 90), "already rotated"),
        (lambda: cd.Rotated("clayton", 90), "must be a copula"),
        (lambda: cd.family("gumble"), "unknown family 'gumble'; choose one of clayton, gumbel, frank"),
        (lambda: cd.family(7), "unknown family 7"),
        (lambda: cd.fit(GOOD, "weibull"), "unknown family"),
        (lambda: cd.fit(GOOD, 3.0), "family must be a name"),
        (lambda: cd.fit(GOOD, cd.Rotated), "Rotated alone is not a family"),
        (lambda: cd.fit(GOOD, "gumbel", method="bayes"), "method must be 'mle' or 'moment', got 'bayes'"),
        (lambda: cd.fit(GOOD, "gumbel", margins="normal"), "margins must be 'rank' or 'uniform'"),
        (lambda: cd.fit(GOOD * 2, "gumbel", margins="uniform"), "strictly between 0 and 1, but variable x0 spans"),
        (lambda: cd.discrepancy(GOOD, "gumbel"), "target must be a copula with its parameter"),
        (lambda: cd.discrepancy(GOOD, cd.Gumbel), "target must be a copula with its parameter"),
        (lambda: cd.discrepancy(GOOD, TARGET, method="x"), "method must be"),
        (lambda: cd.discrepancy(GOOD, TARGET, shannon="approximate"), "shannon must be"),
        (lambda: cd.kendall_tau([1, 2], [1, 2, 3]), "same length, got 2 and 3"),
        (lambda: cd.kendall_tau([1, 2, 3], [1, 2, np.nan]), r"NaN in 1 variable: y \(1 of 3 draws"),
        (lambda: cd.kendall_tau([[1, 2]], [[1, 2]]), "x must be one-dimensional"),
        (lambda: cd.kendall_tau([1], [1]), "at least 2 draws, got 1"),
        (lambda: cd.kendall_tau([1, 2], [1, 2], variant="c"), "variant must be 'b' or 'a', got 'c'"),
        (lambda: cd.kendall_matrix(np.ones((4, 2))), "constant"),
        (lambda: TARGET.logpdf(0.0, 0.5), "u must lie strictly between 0 and 1, got 0"),
        (lambda: TARGET.logpdf(0.5, [0.2, 1.0]), r"v must lie strictly between 0 and 1, got 1 \(1 of 2 values"),
        (lambda: TARGET.logpdf(np.nan, 0.5), "got nan"),
        (lambda: TARGET.logpdf("a", 0.5), "u must be real numbers"),
        (lambda: TARGET.logpdf([0.1, 0.2], [0.1, 0.2, 0.3]), "shapes that broadcast"),
        (lambda: TARGET.cdf(-0.1, 0.5), "u must lie between 0 and 1"),
        (lambda: TARGET.cdf([0.1, 0.2], [0.1, 0.2, 0.3]), "shapes that broadcast"),
        (lambda: TARGET.conditional_ppf(1.5, 0.5), "p must lie strictly"),
        (lambda: TARGET.conditional_ppf(0.5, 1.5), "condition must lie strictly"),
        (lambda: TARGET.sample(-1), "n must be an integer >= 0 and < .*, got -1"),
        (lambda: TARGET.sample(2.5), "n must be an integer"),
        (lambda: TARGET.sample(5, rng="seed"), "rng must be"),
        (lambda: TARGET.entropy(method="guess"), "'exact' or 'monte_carlo'"),
        (lambda: TARGET.entropy(method="monte_carlo", m=0), "m must be an integer >= 1"),
        (lambda: TARGET.kl(2.0), "other must be a copula"),
        (lambda: cd.Clayton(True), "must be a number, got True"),
        (lambda: cd.Clayton("2"), "must be a number, got '2'"),
        (lambda: cd.Clayton(10**400), "must be a number"),
        (lambda: cd.Clayton(np.ma.masked), "must be a number"),
        (lambda: cd.Gaussian.from_tau(1 - 1e-12), "rounds to a limit"),
        (lambda: TARGET.logpdf([[0.1], [0.2, 0.3]], 0.5), "rows differ in length"),
        (lambda: TARGET.logpdf(np.ma.masked_less([0.1, 0.9], 0.5), 0.5), "masked"),
        (lambda: TARGET.sample(2**63), "< 2"),
        (lambda: TARGET.sample(5, rng=-1), "rng must be a seed"),
        (lambda: cd.fit(GOOD, cd.Copula), "family must be a name"),
        (lambda: cd.fit(GOOD, "gumbel", method=np.array(["mle", "moment"])), "method must be"),
        (lambda: cd.fit(GOOD, "studentt", method="moment"), "does not determine the degrees of freedom"),
        (lambda: cd.Rotated.family(cd.Clayton, [90]), "rotation must be"),
        (lambda: cd.Rotated.family(cd.Rotated, 90), "base must be a copula class"),
        (lambda: cd.Rotated(TARGET, 180.0), "rotation must be"),
        (lambda: cd.kendall_matrix(GOOD, n_jobs="two"), "n_jobs must be a nonzero integer"),
        (lambda: cd.kendall_matrix(GOOD, n_jobs=0), "n_jobs must be a nonzero integer"),
        (lambda: cd.kendall_tau(Refusing(KeyError("no")), [1, 2]), "x must be an array of numbers, got Refusing: KeyErr"),
        (lambda: cd.as_draws(np.ma.masked_all((3, 2), [("a", float)])), "variable a has 6 masked values"),
        (lambda: cd.as_draws(GOOD, delimiter=np.array([1, 2])), "delimiter must be one character"),
        (lambda: cd.as_draws(GOOD).select(3), "names must be a name or a list of names, got 3"),
        (lambda: cd.as_draws(GOOD).select([["x0"]]), "no variable"),
        (lambda: cd.as_draws(GOOD).column(2), "variable must be the index of one of 2 variables, got 2"),
        (lambda: cd.as_draws(GOOD).column("x0"), "variable must be the index"),
        (lambda: cd.as_draws({"a": [1, 10**400], "b": [1, 2]}), "variable a must be real numbers, got type .*for example 1000"),
        (lambda: TARGET.sample(np.timedelta64(3, "s")), "n must be an integer"),
        (lambda: cd.contamination_bound(np.timedelta64(0, "s")), "delta must be a fraction"),
        (lambda: cd.discrepancy(GOOD, TARGET, confidence=np.timedelta64(0, "s")), "confidence must lie strictly"),
        (lambda: cd.pairwise(TARGET.sample(200, rng=1), TARGET, iid=True)[1], "index 1 is out of range"),
        (lambda: cd.adjust_pvalues([0.1 + 1j]), "pvalues must be numbers between 0 and 1"),
        (lambda: cd.adjust_pvalues(["0.1"]), "pvalues must be numbers between 0 and 1"),
        (lambda: cd.adjust_pvalues(np.ma.masked_less([0.1, 0.9], 0.5)), "pvalues has masked values"),
        (lambda: cd.long_run_variance([1.0, 2.0, 3.0, 5.0], iid=NotImplemented), "iid must be True or False"),
        (lambda: cd.summary(GOOD, round_to="2"), "round_to must be an integer >= 0"),
        (lambda: cd.DependenceFidelity.normalize(1.5), "raw_score must be a score between 0 and 1, got 1.5"),
        (lambda: cd.DependenceFidelity.normalize("a"), "raw_score must be a number"),
        (lambda: cd.fit(GOOD, "gumbel").theta_estimate(1.0), "confidence must lie strictly between 0 and 1"),
        (lambda: cd.pairwise(TARGET.sample(200, rng=1), TARGET, iid=True).pair(np.array(["x0"]), "x1"), "no variable"),
        (lambda: cd.pairwise(GOOD, np.array([[1.0, np.inf], [np.inf, 1.0]])), "has 2 infinite values"),
        (lambda: cd.ksd(GOOD, np.negative, margins=pd.Series([1.0, 2.0])), "margins must be 'rank' or 'uniform'"),
        (lambda: TARGET.gradient(5e-324, 0.5), r"gradient of Gumbel\(theta=2.0\) overflows float64 at u=5e-324"),
        (lambda: cd.Clayton(1e4).pdf(1e-306, 1e-306), "overflows float64.*or use logpdf"),
        (lambda: cd.fit(GOOD, cd.StudentT, df=5e-324), "overflows float64; use a larger df"),
        (lambda: OPPOSITE.probability(cd.StudentT(0.2, 0.0044), 0.1, 0.1), "tail probabilities of StudentT.*a larger df"),
        (lambda: cd.GaussianTarget([0.0, 0.0], np.diag([1.0, 5e-324])), "inverse of covariance overflows.*4.94066e-324; scale"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_used(make, message):
    with pytest.raises(cd.InputError, match=message):
        make()


ODD = {
    "integers": (GOOD * 1e6).astype(np.int64),
    "int8": (GOOD * 100).astype(np.int8),
    "bool": GOOD > 0.5,
    "float32": GOOD.astype(np.float32),
    "float16": GOOD.astype(np.float16),
    "long double": GOOD.astype(np.longdouble),
    "big endian": GOOD.astype(">f8"),
    "fortran order": np.asfortranarray(GOOD),
    "every second": np.repeat(GOOD, 2, axis=0)[::2],
    "reversed": GOOD[::-1][::-1],
    "transposed": GOOD.T.copy().T,
    "list": GOOD.tolist(),
    "frame": pd.DataFrame(GOOD, columns=["<script>", "b"]),
    "integer frame": pd.DataFrame((GOOD * 1e6).astype(int)),
}


@pytest.mark.parametrize("draws", ODD.values(), ids=ODD.keys())
def test_odd_but_good_draws(draws):
    plain = np.asarray(draws, dtype=float)
    before = plain.copy()
    assert cd.fit(draws, "gumbel").theta == cd.fit(plain, "gumbel").theta
    assert cd.kendall_matrix(draws)[0, 1] == cd.kendall_tau(*plain.T)
    np.testing.assert_array_equal(cd.pseudo_observations(draws), cd.pseudo_observations(plain))
    np.testing.assert_array_equal(np.asarray(draws, dtype=float), before)


def test_a_frame_of_mixed_types_is_read_column_by_column():
    """As one array, 2**60 + k would round to floats that tie; nullable types would become objects."""
    frame = pd.DataFrame({"a": np.arange(50) + 2**60, "b": np.linspace(0, 1, 50)})
    assert cd.kendall_matrix(frame)[0, 1] == 1.0
    nullable = pd.DataFrame({"a": pd.array([3, 1, 2], dtype="Int64"), "b": pd.array([0.3, 0.1, 0.2], dtype="Float64")})
    assert cd.kendall_matrix(nullable)[0, 1] == 1.0
    with pytest.raises(cd.InputError, match="NaN in 1 variable: a "):
        cd.kendall_matrix(pd.DataFrame({"a": pd.array([3, None, 2], dtype="Int64"), "b": [1.0, 2.0, 3.0]}))
    with pytest.raises(cd.InputError, match="more than once: same;"):
        cd.kendall_matrix(pd.DataFrame(GOOD, columns=["same", "same"]))


def test_read_only_input_and_no_input_is_ever_modified():
    frozen = GOOD.copy()
    frozen.flags.writeable = False
    free = GOOD.copy()
    for draws in (frozen, free):
        cd.pseudo_observations(draws)
        cd.fit(draws, "gumbel")
        cd.fit(draws, "clayton", margins="uniform")
        with warned("few-effective-draws"):
            cd.discrepancy(draws, TARGET)
        cd.kendall_matrix(draws)
        cd.concordance(draws[:, 0], draws[:, 1])
        TARGET.logpdf(draws[:, 0], draws[:, 1])
        TARGET.score_gradient(draws[:, 0], draws[:, 1])
        np.testing.assert_array_equal(draws, GOOD)
    assert free.flags.writeable


def test_huge_and_tiny_values_are_only_ranks():
    x = np.array([-1e308, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1e308, 1.7e308])
    draws = np.column_stack([x, np.arange(8.0)[::-1] ** 3])
    assert cd.kendall_tau(*draws.T) == -1.0


def test_an_error_is_one_line_whatever_it_shows():
    with pytest.raises(cd.InputError) as caught:
        cd.fit(GOOD, "gumbel", iid=pd.Series([1.0, 2.0]))
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
def test_points_next_to_the_edge_give_no_warning_of_numpy():
    assert cd.Frank(4.35).cdf(0.5, 5e-324) == 0.0
    assert cd.StudentT(0.5, 4.0).cdf(5e-324, 0.5) < 1e-300
    draws = np.column_stack([[0.1, 0.001, 0.8, 1e-16, 0.5, 0.4], [0.67, 0.4, 0.001, 0.15, 0.62, 1e-300]])
    assert np.isfinite(cd.fit(draws, "studentt", margins="uniform", iid=True).theta)
    draws[2] = 1 - 2**-53, 0.02
    draws[3] = 0.3, 5e-324
    for family in ("clayton", "a1180", "a2180"):
        assert np.isfinite(cd.fit(draws, family, margins="uniform", iid=True).theta)


def test_minus_zero_is_zero():
    assert cd.kendall_tau([0.0, -0.0, 1.0], [1.0, 2.0, 3.0]) == cd.kendall_tau([0.0, 0.0, 1.0], [1.0, 2.0, 3.0])


def test_copulas_are_immutable_comparable_and_picklable():
    import pickle
    from dataclasses import FrozenInstanceError

    turned = cd.family("joe180")
    assert pickle.loads(pickle.dumps(turned)) is turned
    assert isinstance(turned(2.0), turned)
    assert not isinstance(turned(2.0), cd.family("joe90"))
    assert cd.family("studentt90")(0.5, 4) == cd.Rotated(cd.StudentT(0.5, 4), 90)
    for copula in (TARGET, cd.StudentT(0.5, 4.0), cd.Rotated(cd.Clayton(2.0), 90), cd.family("joe180")(2.0)):
        assert pickle.loads(pickle.dumps(copula)) == copula
        assert hash(copula) == hash(pickle.loads(pickle.dumps(copula)))
    with pytest.raises(FrozenInstanceError):
        TARGET.theta = 3.0
    assert cd.Gumbel(2) == cd.Gumbel(2.0)
    assert cd.Gumbel(2.0) != cd.Joe(2.0)


class TooLarge:
    def __array__(self, dtype=None, copy=None):
        raise MemoryError("8 TB")


def test_memory_that_runs_out_is_not_laid_to_the_values():
    with pytest.raises(cd.InputError, match=r"\(8 TB\)"):
        cd.kendall_matrix(TooLarge())
    with pytest.raises(MemoryError):
        cd.adjust_pvalues(TooLarge())
