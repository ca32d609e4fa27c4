"""Work in threads and processes: every result once, whatever the backend, and nothing lost after an error."""

import warnings

import joblib
import pytest

import copula_discrepancy as cd
from copula_discrepancy._core.workers import checked_jobs, in_order, outcomes, silenced
from tests.refusals import refused


def square(k):
    if k == 7:
        raise ZeroDivisionError("seven")
    return k * k


def warned(k):
    warnings.warn("few draws", cd.DependenceWarning, stacklevel=1)
    return k


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_every_backend_gives_every_result(backend):
    with joblib.parallel_config(backend, n_jobs=2):
        assert sorted(outcomes(square, range(6), None, "")) == [0, 1, 4, 9, 16, 25]
        assert in_order(square, range(6), None, "") == [0, 1, 4, 9, 16, 25]


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_an_error_comes_after_the_results_that_were_under_way(backend):
    found = []
    with joblib.parallel_config(backend, n_jobs=2), pytest.raises(ZeroDivisionError, match="seven"):
        found.extend(outcomes(square, [7, 1, 2], None, "", pre_dispatch="all"))
    assert sorted(found) == [1, 4]


def test_threads_and_processes_are_silent(recwarn):
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend, n_jobs=2), silenced(warned) as quiet:
            assert in_order(quiet, range(4), None, "") == [0, 1, 2, 3]
    assert not [warning for warning in recwarn if warning.category is cd.DependenceWarning]
    with pytest.warns(cd.DependenceWarning):
        warned(1)


def test_numbers_of_jobs():
    assert [checked_jobs(n) for n in (None, 2, -1)] == [None, 2, -1]
    for wrong in (0, True, 1.5, "2"):
        with refused():
            checked_jobs(wrong)
