"""Warnings point at the line of the user's code, whatever lies between it and the library's own call."""

import warnings

import numpy as np

import copula_discrepancy as cd

RNG = np.random.default_rng(1)
FEW, OTHER = RNG.standard_normal((40, 3)), RNG.standard_normal((40, 3))  # fewer than 100 effective draws


def test_every_public_function_warns_at_its_caller():
    calls = (
        lambda: cd.discrepancy(FEW[:, :2], OTHER[:, :2]),
        lambda: cd.pairwise(FEW, OTHER, n_jobs=1),
        lambda: cd.vine(FEW, OTHER, n_jobs=1),
        lambda: cd.fit([[1, 3], [2, 2], [3, 1], [4, 0]], "clayton"),
        lambda: cd.ksd(FEW[:, :2], cd.Gumbel(2.0), space="unit"),
        lambda: cd.pairwise(FEW, OTHER, n_jobs=1)[0].lower_tail,
    )
    for call in calls:
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            call()
        assert issued
        assert {warning.filename for warning in issued} == {__file__}
        assert {warning.lineno for warning in issued} == {call.__code__.co_firstlineno}


def test_a_warning_inside_a_users_own_function_points_there():
    def score(x):
        cd.fit(x, "clayton")
        return -x

    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        cd.ksd(np.column_stack([FEW[:, 0], -FEW[:, 0]]), score)
    assert {warning.lineno for warning in issued} == {score.__code__.co_firstlineno + 1}
