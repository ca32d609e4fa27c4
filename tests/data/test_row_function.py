"""Functions of a row: expressions, weights and Python functions."""

import numpy as np
import pytest

from copula_discrepancy.data.row_function import row_function
from tests.refusals import refused

NAMES = ("a", "b", "theta[1]")
COLUMNS = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, -6.0, 7.0, 0.5], [0.0, 1.0, 0.0, 1.0]])


def values(given):
    function = row_function(given, NAMES)
    used = COLUMNS[[NAMES.index(name) for name in function.names]]
    return function.settled(used)(used, "the draws").tolist()


@pytest.mark.parametrize(
    "given",
    [
        "0.5*a - 2*b",
        {"a": 0.5, "b": -2.0},
        {"b": -2.0, "a": 0.5, "theta[1]": 0.0},
        [0.5, -2.0, 0.0],
        np.array([0.5, -2.0, 0.0]),
        lambda rows: 0.5 * rows[:, 0] - 2 * rows[:, 1],
        lambda b, a: 0.5 * a - 2 * b,
        lambda b, a, scale=2: 0.5 * a - scale * b,
    ],
)
def test_ways_to_say_the_same(given):
    assert values(given) == [-9.5, 13.0, -12.5, 1.0]


@pytest.mark.parametrize("given", ["a > b", lambda rows: rows[:, 0] > rows[:, 1], lambda a, b: a > b])
def test_conditions_are_ones_and_zeros(given):
    assert values(given) == [0.0, 1.0, 0.0, 1.0]
    function = row_function(given, NAMES)
    assert function.settled(COLUMNS[: len(function.names)]).is_condition


def test_functions_use_what_they_name():
    assert row_function("theta[1] + a", NAMES).names == ("theta[1]", "a")
    assert row_function(lambda b, a: a, NAMES).names == ("b", "a")
    assert row_function(lambda rows: rows[:, 0], NAMES).names == NAMES
    assert row_function([1, 0, 2], NAMES).names == ("a", "theta[1]")


def test_labels():
    assert row_function(" a - b ", NAMES).label == "a - b"
    assert row_function([0.5, -2.0, 1.0], NAMES).label == "0.5*a - 2*b + 1*`theta[1]`"
    assert row_function(lambda a, b: a, NAMES).label == "the function"
    assert row_function(np.hypot, ("x1", "x2")).label == "hypot"
    many = [f"x{k}" for k in range(20)]
    assert row_function(np.ones(20), many).label.endswith("+ 12 more")


def test_a_function_cannot_change_the_draws():
    def spoil(rows):
        rows[:] = 0.0
        return rows[:, 0] + rows[:, 1]

    before = COLUMNS.copy()
    values(spoil)
    np.testing.assert_array_equal(COLUMNS, before)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("a +", "expression"),
        ("a + c", "unknown-name"),
        ("a > 1", "one-variable"),
        ({"a": 1.0}, "one-variable"),
        ({"c": 1.0, "a": 2.0}, "unknown-name"),
        ({"a": "1", "b": 1}, "argument"),
        ({"a": np.inf, "b": 1}, "argument"),
        ([0, 0, 0], "argument"),
        ([1, 2], "shape"),
        (3, "argument"),
        (None, "argument"),
        (lambda a, c: a, "unknown-name"),
        (lambda rows: rows[:2, 0], "shape"),
        (lambda rows: rows, "shape"),
        (lambda rows: rows[:, 0].mean(), "shape"),
        (lambda rows: [str(row) for row in rows], "not-numeric"),
        (lambda rows: rows["a"], "argument"),
        (lambda rows: rows[:, 0] - rows[:, 0].mean(), "argument"),
        (lambda rows: np.cumsum(rows[:, 0] - rows.sum()), "argument"),
        (lambda a, b: np.log(b), "nan"),
        ("log(b) + a", "nan"),
        ("log(b) > a", "nan"),
        ("a / theta[1]", "infinite"),
    ],
)
def test_what_is_not_a_function_of_a_row_is_refused(given, code):
    with np.errstate(all="ignore"), refused(code):
        values(given)


def test_errors_say_where():
    with refused("nan") as caught:
        values("log(b) + a")
    assert "1 of 4 rows of the draws" in str(caught.value)
    assert "b = -6" in str(caught.value)


@pytest.mark.parametrize(
    ("function", "additive"),
    [("a + 2*b", True), ("exp(a) - b ** 2", True), ("a * b", False), ("max(a, b)", False), ("a > b", False)],
)
def test_sums_of_functions_of_one_variable_are_known(function, additive):
    columns = np.random.default_rng(1).standard_normal((2, 300))
    assert row_function(function, ("a", "b")).is_additive(columns) is additive
