"""Every compiled loop of the library; nothing outside this package is compiled.

All functions are cached on disk and release the interpreter lock, so they may be called from several threads at once.
"""

from copula_discrepancy._kernels._ranks import (
    concordance_counts,
    concordance_total,
    concordance_totals,
    rank_column,
    sums_above,
)
from copula_discrepancy._kernels._stein import stein_sums, stein_tile
from copula_discrepancy._kernels._vector import clayton_sums, gumbel_sums

__all__ = [
    "clayton_sums",
    "concordance_counts",
    "concordance_total",
    "concordance_totals",
    "gumbel_sums",
    "rank_column",
    "stein_sums",
    "stein_tile",
    "sums_above",
]
