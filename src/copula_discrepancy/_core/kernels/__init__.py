"""All compiled loops of the library; nothing outside this package is compiled.

All functions are cached on disk if possible (`compiled.py`) and release the interpreter lock, so they can be called from
several threads at once.
"""

from copula_discrepancy._core.kernels import newton
from copula_discrepancy._core.kernels.chains import LONG_CHAIN, MANY_CHAINS, long_run, split_rhat
from copula_discrepancy._core.kernels.counting import bin_column, count_pairs, count_triples, edge_buckets, sum_triples
from copula_discrepancy._core.kernels.coupling import SPARE, count_copies, pair_effects, transplant
from copula_discrepancy._core.kernels.elliptical import (
    elliptical_mixed,
    elliptical_scores,
    gaussian_sums,
    student_from_normal,
    student_sums,
)
from copula_discrepancy._core.kernels.form import form_pairs
from copula_discrepancy._core.kernels.many_pairs import (
    archimedean_pair_scores,
    clayton_pair_sums,
    elliptical_pair_scores,
    gaussian_pair_sums,
    gumbel_pair_sums,
    pair_squares,
    student_pair_sums,
)
from copula_discrepancy._core.kernels.pairs import (
    corner_shares,
    dependence_rhats,
    finish_pairs,
    gather,
    score_influence,
    spread,
    start_pairs,
    tail_flags,
    tau_and_influence,
)
from copula_discrepancy._core.kernels.ranks import (
    concordance_counts,
    concordance_total,
    concordance_totals,
    leave_out,
    rank_column,
    sums_above,
)
from copula_discrepancy._core.kernels.stein import stein_sums, stein_tile
from copula_discrepancy._core.kernels.vector import clayton_derivatives, clayton_sums, gumbel_derivatives, gumbel_sums

__all__ = [
    "LONG_CHAIN",
    "MANY_CHAINS",
    "SPARE",
    "archimedean_pair_scores",
    "bin_column",
    "clayton_derivatives",
    "clayton_pair_sums",
    "clayton_sums",
    "concordance_counts",
    "concordance_total",
    "concordance_totals",
    "corner_shares",
    "count_copies",
    "count_pairs",
    "count_triples",
    "dependence_rhats",
    "edge_buckets",
    "elliptical_mixed",
    "elliptical_pair_scores",
    "elliptical_scores",
    "finish_pairs",
    "form_pairs",
    "gather",
    "gaussian_pair_sums",
    "gaussian_sums",
    "gumbel_derivatives",
    "gumbel_pair_sums",
    "gumbel_sums",
    "leave_out",
    "long_run",
    "newton",
    "pair_effects",
    "pair_squares",
    "rank_column",
    "score_influence",
    "split_rhat",
    "spread",
    "start_pairs",
    "stein_sums",
    "stein_tile",
    "student_from_normal",
    "student_pair_sums",
    "student_sums",
    "sum_triples",
    "sums_above",
    "tail_flags",
    "tau_and_influence",
    "transplant",
]
