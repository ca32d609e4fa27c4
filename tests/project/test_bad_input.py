"""Invalid input raises a clear InputError; unusual but valid input gives the right result and is not modified."""

from operator import itemgetter

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from tests.caveat_codes import warned
from tests.project import refused_calls
from tests.project.refused_calls import GOOD, TARGET
from tests.refusals import refused

PAIR_FUNCTIONS = [
    lambda draws: cd.fit(draws, "gumbel"),
    lambda draws: cd.fit(draws, "gumbel", method="moment"),
    lambda draws: cd.discrepancy(draws, TARGET),
]


PLAIN_STRINGS = (
    "pd.DataFrame({'a': ['x', 'y'], 'b': [1, 2]})",
    "not-numeric",
    "a",
    "'x'",
)  # pandas 3 says str, pandas 2 object


@pytest.mark.parametrize("function", PAIR_FUNCTIONS, ids=["mle", "moment", "discrepancy"])
@pytest.mark.parametrize("case", [*refused_calls.DRAWS, PLAIN_STRINGS], ids=itemgetter(0))
def test_draws_that_cannot_be_used(function, case):
    draws, code, *named = case
    with refused(code) as caught:
        function(refused_calls.evaluated(draws))
    assert refused_calls.missing_in(str(caught.value), named) == []


@pytest.mark.parametrize("case", [*refused_calls.COPULAS, *refused_calls.DATA, *refused_calls.COMPARISONS], ids=itemgetter(0))
def test_arguments_that_cannot_be_used(case):
    call, code, *named = case
    with refused(code) as caught:
        refused_calls.evaluated(call)
    assert refused_calls.missing_in(str(caught.value), named) == []


def test_names_in_messages_are_whole_words():
    message = "theta must be >= 1 for Gumbel, got -0.4"
    assert refused_calls.missing_in(message, ["theta", "1", "Gumbel", "-0.4"]) == []
    assert refused_calls.missing_in(message, ["eta", "0.4", "4", "-0", "Gum"]) == ["eta", "0.4", "4", "-0", "Gum"]


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
    with refused("nan") as caught:
        cd.kendall_matrix(pd.DataFrame({"a": pd.array([3, None, 2], dtype="Int64"), "b": [1.0, 2.0, 3.0]}))
    assert refused_calls.missing_in(str(caught.value), ["a", "row 1"]) == []


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
    with refused("memory") as caught:
        cd.kendall_matrix(TooLarge())
    assert "8 TB" in str(caught.value)
    with pytest.raises(MemoryError):
        cd.adjust_pvalues(TooLarge())
