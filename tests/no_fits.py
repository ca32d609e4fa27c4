"""Searches for the maximum of a likelihood that a test forbids: pages and pictures show fits, and make none."""

import numpy as np
import pytest

import copula_discrepancy as cd


def not_fitted(monkeypatch):
    """From here on every fit fails the test, as one of a single pair and those of a comparison are seen to do at once."""

    def fitted(*given):
        pytest.fail("fitted again")

    # every search takes its steps here: of one pair or of many, whatever evaluates their likelihoods, and without a block
    monkeypatch.setattr("copula_discrepancy._core.kernels.newton.newton_step", fitted)
    draws = np.random.default_rng(1).standard_normal((40, 2))
    for fit in (lambda: cd.fit(draws, "frank"), lambda: cd.pairwise(draws, cd.Gaussian(0.1), iid=True, n_jobs=1)):
        with pytest.raises(pytest.fail.Exception, match="fitted again"):
            fit()
