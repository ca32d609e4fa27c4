"""How the dependence of a pair changed, from three numbers."""

import pytest

from copula_discrepancy.compare import fidelity_score


@pytest.mark.parametrize(
    ("synthetic", "real", "squared", "change"),
    [
        (0.0, 0.5, 0.25, "lost"),
        (0.5, 0.0, 0.25, "added"),
        (0.5, 0.5, 1.0, "reversed"),
        (0.5, 0.5, 0.5, "other"),
        (0.4, 0.5, 0.01, "weaker"),
        (0.5, 0.4, 0.01, "stronger"),
        (0.0, 0.0, 0.004, ""),  # a pair of the credit data whose columns were permuted: significant by chance
    ],
)
def test_changes(synthetic, real, squared, change):
    assert fidelity_score._change(synthetic, real, squared) == change
