"""Pairs level by level in words."""

import numpy as np
import pytest

import copula_discrepancy as cd


def incomes(seed, depends):
    """Income is missing for a third of the men or, if it does not depend on sex, for a sixth of all."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], 600), rng.normal(40.0, 10.0, 600)
    chance = np.where(sex == "m", 1 / 3, 0.0) if depends else np.full(600, 1 / 6)
    income = np.where(rng.random(600) < chance + 0.3 * depends * (age > 50), np.nan, rng.normal(size=600))
    return {"sex": sex, "age": age, "income": income}


def test_missing_values_are_told_as_such():
    result = cd.pairwise(incomes(1, False), incomes(2, True), iid=True, missing="pairs")
    told = result.levels("sex", "income is missing").sentence
    assert told.startswith(("of 100 rows with sex f, income is ", "of 100 rows with sex m, income is "))
    assert "missing missing" not in told
    assert told.endswith(" in the reference")
    where = result.levels("age", "income is missing").sentence
    assert where.startswith(("where income is missing, age is at", "where income is not missing, age is at"))


@pytest.mark.filterwarnings("ignore:levels with few rows:copula_discrepancy.DependenceWarning")
def test_many_rare_levels_end():
    """Their margins are tested with rare levels pooled, whose name must not be one of the labels."""
    rng = np.random.default_rng(5)
    tables = [{"kind": [f"level {k % 40}" for k in range(n)], "x": rng.normal(size=n)} for n in (131, 142)]
    result = cd.pairwise(*tables, iid=True, missing="pairs")
    assert result.levels("kind", "x").differences


def test_shares_have_a_unit_and_the_order_that_was_asked_for():
    rng = np.random.default_rng(6)
    grades = {"grade": ["low", "middle", "high"]}
    tables = [{"town": rng.choice(["A", "B", "C"], 300), "grade": rng.choice(grades["grade"], 300)} for _ in range(2)]
    result = cd.pairwise(*tables, iid=True, kinds=grades)
    for names in (("town", "grade"), ("grade", "town")):
        gaps = result.levels(*names)
        assert gaps.names == names
        assert gaps.differences[0].level in tables[0][names[0]]
        head = str(gaps).splitlines()[2]
        assert head.split()[:2] == [*names]
        assert "here, %  reference, %" in head
