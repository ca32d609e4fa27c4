"""Variables next to their past: columns, names and pairs, path by path."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.data.lagging import (
    CLUSTERING,
    LEVERAGE,
    OTHERS_PAST,
    OWN_PAST,
    SAME_TIME,
    SPILLOVER,
    checked_lags,
    distances_from_median,
    lagged,
    plan_lags,
)


def paths(n_paths=3, steps=12, d=2, seed=1):
    names = ["a", "b", "c", "d"][:d]
    values = np.random.default_rng(seed).standard_normal((n_paths, steps, d))
    return cd.as_draws({name: values[:, :, k] for k, name in enumerate(names)})


def planned(draws, lags, reference=None):
    return plan_lags(draws, draws if reference is None else reference, lags)


def test_a_column_is_the_variable_so_many_steps_before_in_the_same_path():
    draws = paths()
    lagging, *_ = planned(draws, (1, 3))
    made = lagged(draws, lagging)
    assert made.values.shape == (3, 9, 12)
    for path in range(3):
        for k, (variable, lag, absolute) in enumerate(lagging.columns):
            column = draws.values[:, :, variable]
            if absolute:
                column = np.abs(column - np.sort(column, axis=None)[column.size // 2 - 1])  # the lower median
            expected = [column[path, t - lag] for t in range(3, 12)]  # step by step: nothing from another path
            assert np.allclose(made.values[path, :, k], expected, rtol=1e-14, atol=0)


def test_names_fit_a_table():
    lagging, *_ = planned(paths(d=1), (1, 2))
    assert lagging.names == ("a", "|a|", "a[t-1]", "|a|[t-1]", "a[t-2]", "|a|[t-2]")


def test_the_first_column_of_a_pair_is_that_of_now():
    lagging, *_ = planned(paths(d=3), (1, 2))
    assert all(first < second and not lagging.columns[first].lag for first, second in lagging.pairs)


def test_every_kind_of_pair_is_there_once():
    lagging, *_ = planned(paths(d=3), (1, 4))
    names = {(lagging.names[i], lagging.names[j]): lagging.kind(i, j) for i, j in lagging.pairs}
    assert len(names) == len(lagging.pairs) == 3 + 2 * (9 + 9 + 9)
    assert names["a", "b"] == SAME_TIME
    assert names["a", "a[t-4]"] == OWN_PAST
    assert names["a", "c[t-1]"] == names["c", "a[t-1]"] == OTHERS_PAST
    assert names["|b|", "|b|[t-1]"] == CLUSTERING
    assert names["|b|", "|a|[t-4]"] == SPILLOVER
    assert names["|b|", "b[t-1]"] == names["|b|", "a[t-1]"] == LEVERAGE
    assert ("a", "|a|[t-1]") not in names


def test_ten_variables_and_five_lags_are_about_1_600_pairs():
    values = np.random.default_rng(1).standard_normal((1, 50, 10))
    lagging, *_ = planned(cd.as_draws(values), (1, 2, 3, 4, 5))
    assert len(lagging.pairs) == 1545


def test_too_many_pairs_name_a_way_out():
    values = np.random.default_rng(1).standard_normal((1, 60, 40))
    with pytest.raises(cd.InputError, match=r"24,780 pairs, more than 20,000; use fewer lags") as error:
        planned(cd.as_draws(values), (1, 2, 3, 4, 5))
    assert error.value.code == "shape"


def test_left_out_steps_are_told():
    draws = paths(n_paths=3, steps=12)
    lagging, _, notes = planned(draws, (1, 3))
    assert "(9 of 36)" in lagged(draws, lagging).notes[-1]
    assert "median" in notes[0]


@pytest.mark.parametrize("lags", [0, -1, 1.5, True, "5", [], [1, 0], [1, 1], [1, 2.0], {1, 2}, 10**400])
def test_invalid_lags_are_refused(lags):
    with pytest.raises(cd.InputError, match=r"^lags must be a whole number of steps"):
        checked_lags(lags)


def test_lags_are_listed_in_order():
    assert checked_lags(None) == ()
    assert checked_lags(np.int64(3)) == (1, 2, 3)
    assert checked_lags([20, 1, 5]) == checked_lags(np.array([20, 1, 5])) == (1, 5, 20)


def test_a_short_path_is_refused_with_the_longest_lag_it_allows():
    with pytest.raises(
        cd.InputError, match=r"at least 14 steps, but the draws have 3 paths of 12; use lags of at most 8"
    ) as error:
        planned(paths(), (10,))
    assert error.value.code == "too-few-draws"
    with pytest.raises(cd.InputError, match="the reference has one path of 12"):
        planned(paths(steps=30), (10,), paths(n_paths=1))


def test_distances_of_rounded_values_are_tied():
    values = np.array([[0.1, 0.2, 0.3, 0.2, 0.2, 0.1, 0.3]])
    assert 0.3 - 0.2 != 0.2 - 0.1  # what the distances would be without care
    assert np.unique(distances_from_median(values)).size == 2


def test_distances_keep_missing_values_and_do_not_overflow():
    found = distances_from_median(np.array([[-1.7e308, np.nan, 1.7e308, 1.7e308]]))
    assert np.isnan(found[0, 1])
    assert np.isfinite(found[0, [0, 2, 3]]).all()
    assert found[0, 0] > found[0, 2] == found[0, 3]


def test_a_variable_with_two_values_has_no_volatility():
    draws = paths()
    coin = cd.as_draws({"a": draws.values[:, :, 0], "coin": (draws.values[:, :, 1] > 0).astype(float)})
    lagging, _, notes = planned(coin, (1,))
    assert lagging.names == ("a", "coin", "|a|", "a[t-1]", "coin[t-1]", "|a|[t-1]")
    assert any(note.startswith("no volatility of coin") for note in notes)


def test_a_name_that_a_past_would_have_is_refused():
    values = paths().values
    draws = cd.as_draws({"a": values[:, :, 0], "a[t-1]": values[:, :, 1]})
    with pytest.raises(cd.InputError, match=r"called a\[t-1\]"):
        planned(draws, (1,))


@dataclass(frozen=True, eq=False)
class OfKinds(cd.Draws):
    """Draws that know the kinds of their variables."""

    kinds: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()


def test_nominal_variables_are_left_out_and_labels_have_no_volatility():
    values = np.random.default_rng(1).integers(0, 4, (3, 12, 3)).astype(float)
    kinds = {"kinds": ("numeric", "nominal", "ordinal"), "levels": ((), ("r", "g", "b", "y"), ("1", "2", "3", "4"))}
    draws = OfKinds(values, ("a", "colour", "grade"), **kinds)
    lagging, left_out, _ = planned(draws, (1,))
    assert [*left_out] == ["colour"]
    assert lagging.names == ("a", "grade", "|a|", "a[t-1]", "grade[t-1]", "|a|[t-1]")
    made = lagged(draws, lagging)
    assert made.kinds == ("numeric", "ordinal", "numeric", "numeric", "ordinal", "numeric")
    assert made.levels[1] == made.levels[4] == ("1", "2", "3", "4")
    with pytest.raises(cd.InputError, match="all are nominal"):
        planned(replace(draws, kinds=("nominal",) * 3), (1,))
