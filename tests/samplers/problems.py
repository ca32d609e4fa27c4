"""Small posteriors whose dependence is known without a sampler, and what a good and a bad run of a sampler must get."""

import numpy as np

import copula_discrepancy as cd

# Seeds are fixed, but random streams change between versions of a sampler. At this level one good run in a thousand is
# accused, whatever the version, and the gaps of the bad runs are many standard errors wide.
CONFIDENCE = 0.999


def regression() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictors, outcomes, and the posterior's correlation for y ~ N(X b, 1), b ~ N(0, 10), which is normal."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1]  # b[0] and b[1] depend strongly, b[2] hardly
    y = X @ [1.0, -0.5, 0.2] + rng.normal(size=40)
    covariance = np.linalg.inv(X.T @ X + np.eye(3) / 100)
    sd = np.sqrt(np.diag(covariance))
    return X, y, covariance / np.outer(sd, sd)


def banana(n: int, seed: int) -> dict[str, np.ndarray]:
    """Independent draws of x ~ N(0, 1), y ~ N(x**2, 1), whose Kendall's tau is 0."""
    x, noise = np.random.default_rng(seed).normal(size=(2, 1, n))
    return {"x": x, "y": x**2 + noise}


def assert_no_gap(draws, reference, **choices) -> cd.Pairwise:
    """Nothing is found by tests that would find a difference of 0.2 in Kendall's tau."""
    result = cd.pairwise(draws, reference, confidence=CONFIDENCE, **choices)
    assert result.n_flagged == 0, result.verdict
    assert np.all(result.rows["level_se"] < 0.2 / 5)
    assert not np.any(result.rows["rhat"] > 1.05)  # not 1.01: good chains of 500 draws exceed that now and then
    return result


def assert_gap(draws, reference, names, **choices) -> cd.Pairwise:
    """The worst pair is the one named, and it is found."""
    result = cd.pairwise(draws, reference, confidence=CONFIDENCE, **choices)
    assert set(result.worst.names) == set(names)
    assert result.worst.flagged
    return result


def assert_same_answer(watched, exact) -> None:
    """The last answer of a watch is that of `pairwise`, to the last digit."""
    assert watched.final
    for name in exact.rows.dtype.names:
        ours, theirs = watched.result.rows[name], exact.rows[name]
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f"), name
