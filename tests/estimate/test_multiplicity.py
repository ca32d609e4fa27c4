"""Adjusted p-values, against SciPy and against the procedures as published."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.estimate.multiplicity import ADJUSTMENTS, in_words
from tests.refusals import refused

CLAIMING = ("bh", "by", "holm", "bonferroni")
SAMPLES = [
    np.random.default_rng(1).random(50),
    np.random.default_rng(2).beta(0.2, 2.0, 200),  # many small ones, as where there is much to find
    np.round(np.random.default_rng(3).random(60), 1),  # ties, zeros and ones
    np.zeros(5),
    np.ones(5),
    np.array([0.03]),
]


def claims(pvalues, method, alpha):
    """Which hypotheses a procedure rejects, step by step as published."""
    m = len(pvalues)
    order = sorted(range(m), key=lambda i: pvalues[i])
    rejected = np.zeros(m, bool)
    if method == "bonferroni":
        return np.array([p <= alpha / m for p in pvalues])
    if method == "holm":  # Holm (1979): down from the smallest, stop at the first that is too large
        for k, i in enumerate(order):
            if pvalues[i] > alpha / (m - k):
                break
            rejected[i] = True
        return rejected
    harmonic = sum(1 / k for k in range(1, m + 1)) if method == "by" else 1.0
    # Benjamini and Hochberg (1995), (1): all up to the largest k with p_(k) <= k alpha / m
    passed = [k for k in range(1, m + 1) if pvalues[order[k - 1]] <= k * alpha / (m * harmonic)]
    for k in range(max(passed, default=0)):
        rejected[order[k]] = True
    return rejected


@pytest.mark.parametrize("method", ["bh", "by"])
@pytest.mark.parametrize("pvalues", SAMPLES, ids=range(len(SAMPLES)))
def test_discovery_rates_are_scipys(pvalues, method):
    expected = stats.false_discovery_control(pvalues, method=method)
    np.testing.assert_allclose(cd.adjust_pvalues(pvalues, method), expected, rtol=1e-14)  # a product and a sum, rounded


@pytest.mark.parametrize("method", CLAIMING)
@pytest.mark.parametrize("alpha", [0.001, 0.0123, 0.05, 0.2, 0.77])
def test_claims_are_those_of_the_procedure(method, alpha):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pvalues = rng.beta(0.4, 2.0, rng.integers(1, 30))
        adjusted = cd.adjust_pvalues(pvalues, method)
        # no p-value is next to its limit by chance, so <= and < claim the same
        np.testing.assert_array_equal(adjusted < alpha, claims(pvalues, method, alpha))


@pytest.mark.parametrize("pvalues", SAMPLES, ids=range(len(SAMPLES)))
def test_family_wise_rates_as_defined(pvalues):
    m = len(pvalues)
    bonferroni = [min(1.0, m * p) for p in pvalues]
    holm = [min(1.0, max((m - np.sum(pvalues < q)) * q for q in pvalues if q <= p)) for p in pvalues]
    np.testing.assert_allclose(cd.adjust_pvalues(pvalues, "bonferroni"), bonferroni, rtol=1e-14)
    np.testing.assert_allclose(cd.adjust_pvalues(pvalues, "holm"), holm, rtol=1e-14)


@given(st.lists(st.one_of(st.floats(0.0, 1.0), st.just(float("nan"))), max_size=30), st.sampled_from(ADJUSTMENTS))
def test_order_is_kept_and_nothing_gets_smaller(pvalues, method):
    raw = np.array(pvalues, dtype=float)
    adjusted = cd.adjust_pvalues(raw, method)
    tested = ~np.isnan(raw)
    np.testing.assert_array_equal(np.isnan(adjusted), ~tested)
    assert (adjusted[tested] >= raw[tested] * (1.0 - 1e-15)).all()  # m/m may round
    assert (adjusted[tested] <= 1.0).all()
    order = np.argsort(raw[tested])
    assert (np.diff(adjusted[tested][order]) >= 0.0).all()
    np.testing.assert_array_equal(adjusted[tested], cd.adjust_pvalues(raw[tested], method))  # NaN are not counted


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30))
def test_the_strict_claim_less(pvalues):
    bh, by, holm, bonferroni = (cd.adjust_pvalues(pvalues, method) for method in CLAIMING)
    assert (bh <= by).all()
    assert (bh <= holm + 1e-15).all()
    assert (holm <= bonferroni).all()


def test_shapes_scalars_and_input_are_kept():
    raw = np.array([[0.01, np.nan, 0.04], [0.02, 0.9, np.nan]])
    copy = raw.copy()
    adjusted = cd.adjust_pvalues(raw, "bh")
    assert adjusted.shape == raw.shape
    np.testing.assert_array_equal(raw, copy)
    np.testing.assert_allclose(adjusted, [[0.04, np.nan, 0.16 / 3], [0.04, 0.9, np.nan]], rtol=1e-14)
    np.testing.assert_array_equal(cd.adjust_pvalues(np.asfortranarray(raw)), adjusted)
    np.testing.assert_array_equal(cd.adjust_pvalues(raw.T), adjusted.T)
    assert cd.adjust_pvalues(0.3) == 0.3
    assert cd.adjust_pvalues([]).shape == (0,)
    np.testing.assert_array_equal(cd.adjust_pvalues([np.nan, np.nan]), [np.nan, np.nan])
    np.testing.assert_array_equal(cd.adjust_pvalues(raw, "none"), raw)
    assert cd.adjust_pvalues(raw, "none") is not raw


@pytest.mark.parametrize(
    ("pvalues", "method", "named", "shown"),
    [
        ([0.5, 1.2], "bh", "pvalues", "1.2"),
        ([-1e-9], "holm", "pvalues", "-1e-09"),
        ([np.inf], "by", "pvalues", "inf"),
        (["small"], "bh", "pvalues", "['small']"),
        ([[0.1], [0.2, 0.3]], "bh", "pvalues", "[[0.1], [0.2, 0.3]]"),
        ([0.5 + 1j], "bh", "pvalues", "[(0.5+1j)]"),
        ([0.5], "fdr", "method", "'fdr'"),
        ([0.5], None, "method", "None"),
    ],
    ids=str,
)
def test_what_cannot_be_adjusted(pvalues, method, named, shown):
    with refused() as caught:
        cd.adjust_pvalues(pvalues, method)
    message = str(caught.value)
    assert message.startswith(f"{named} ")
    assert message.endswith(f"got {shown}")
    assert all((f"'{name}'" in message) == (named == "method") for name in ADJUSTMENTS)  # the choices there are


@pytest.mark.parametrize("method", ADJUSTMENTS)
def test_words_name_the_level(method):
    assert "5%" in in_words(method, 0.05)
    assert "0.1%" in in_words(method, 1.0 - 0.999)  # the level comes as 1 - confidence, which is not 0.001 to the last digit
