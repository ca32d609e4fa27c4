"""Does a sample keep the dependence it should keep?

The names below load their modules when first used, so that importing the package stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copula_discrepancy.agreement import Agreement
    from copula_discrepancy.companions.classic import ess, naive_tau, paper_ess, rhat
    from copula_discrepancy.companions.stein import SteinDiscrepancy, ksd
    from copula_discrepancy.draws import Draws, as_draws
    from copula_discrepancy.errors import DependenceWarning, InputError
    from copula_discrepancy.experiments.reproduce import Reproduction, reproduce
    from copula_discrepancy.families import (
        A1,
        A2,
        FAMILIES,
        Clayton,
        Copula,
        Frank,
        Gaussian,
        Gumbel,
        Joe,
        Rotated,
        StudentT,
        family,
    )
    from copula_discrepancy.fidelity import DependenceFidelity
    from copula_discrepancy.fitting import Fit, fit
    from copula_discrepancy.gaps import discrepancy
    from copula_discrepancy.inference import (
        Estimate,
        LongRun,
        PaperTest,
        contamination_bound,
        long_run_variance,
        tau_influence_bound,
    )
    from copula_discrepancy.multiplicity import adjust_pvalues
    from copula_discrepancy.pairwise_result import PairGap, Pairwise
    from copula_discrepancy.plots.clouds import plot_pair
    from copula_discrepancy.plots.forests import plot_tau_forest
    from copula_discrepancy.plots.traces import plot_trace
    from copula_discrepancy.ranking import pairwise
    from copula_discrepancy.ranks import concordance, kendall_matrix, kendall_tau, pseudo_observations
    from copula_discrepancy.result import Discrepancy
    from copula_discrepancy.samplers import (
        BimodalMixture,
        Chains,
        DivergenceError,
        GaussianTarget,
        MetaCopula,
        WellingTeh,
        metropolis,
        sghmc,
        sgld,
    )
    from copula_discrepancy.selection import Selection, select_family
    from copula_discrepancy.summaries import summary
    from copula_discrepancy.tuning import TunedSetting, Tuning, tune
    from copula_discrepancy.vine_result import EdgeGap, VineGaps
    from copula_discrepancy.vines import vine

_HOME = {
    "fidelity": ("DependenceFidelity",),
    "summaries": ("summary",),
    "agreement": ("Agreement",),
    "multiplicity": ("adjust_pvalues",),
    "ranking": ("pairwise",),
    "pairwise_result": ("PairGap", "Pairwise"),
    "gaps": ("discrepancy",),
    "result": ("Discrepancy",),
    "inference": ("Estimate", "LongRun", "PaperTest", "contamination_bound", "long_run_variance", "tau_influence_bound"),
    "selection": ("Selection", "select_family"),
    "companions.classic": ("ess", "naive_tau", "paper_ess", "rhat"),
    "companions.stein": ("SteinDiscrepancy", "ksd"),
    "draws": ("Draws", "as_draws"),
    "errors": ("DependenceWarning", "InputError"),
    "experiments.reproduce": ("Reproduction", "reproduce"),
    "samplers": (
        "BimodalMixture", "Chains", "DivergenceError", "GaussianTarget", "MetaCopula", "WellingTeh", "metropolis", "sghmc",
        "sgld",
    ),
    "plots.clouds": ("plot_pair",),
    "plots.forests": ("plot_tau_forest",),
    "plots.traces": ("plot_trace",),
    "vine_result": ("EdgeGap", "VineGaps"),
    "vines": ("vine",),
    "tuning": ("TunedSetting", "Tuning", "tune"),
    "families": (
        "A1", "A2", "FAMILIES", "Clayton", "Copula", "Frank", "Gaussian", "Gumbel", "Joe", "Rotated", "StudentT", "family",
    ),
    "fitting": ("Fit", "fit"),
    "ranks": ("concordance", "kendall_matrix", "kendall_tau", "pseudo_observations"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "A1",
    "A2",
    "FAMILIES",
    "Agreement",
    "BimodalMixture",
    "Chains",
    "Clayton",
    "Copula",
    "DependenceFidelity",
    "DependenceWarning",
    "Discrepancy",
    "DivergenceError",
    "Draws",
    "EdgeGap",
    "Estimate",
    "Fit",
    "Frank",
    "Gaussian",
    "GaussianTarget",
    "Gumbel",
    "InputError",
    "Joe",
    "LongRun",
    "MetaCopula",
    "PairGap",
    "Pairwise",
    "PaperTest",
    "Reproduction",
    "Rotated",
    "Selection",
    "SteinDiscrepancy",
    "StudentT",
    "TunedSetting",
    "Tuning",
    "VineGaps",
    "WellingTeh",
    "adjust_pvalues",
    "as_draws",
    "concordance",
    "contamination_bound",
    "discrepancy",
    "ess",
    "family",
    "fit",
    "kendall_matrix",
    "kendall_tau",
    "ksd",
    "long_run_variance",
    "metropolis",
    "naive_tau",
    "pairwise",
    "paper_ess",
    "plot_pair",
    "plot_tau_forest",
    "plot_trace",
    "pseudo_observations",
    "reproduce",
    "rhat",
    "select_family",
    "sghmc",
    "sgld",
    "summary",
    "tau_influence_bound",
    "tune",
    "vine",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("copula-discrepancy")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
