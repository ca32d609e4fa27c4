"""Diagnostics that show whether a sample keeps the dependence it should keep.

The names below load their modules on first use, so that importing the package is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from copula_discrepancy._core.when_imported import when_imported

if TYPE_CHECKING:
    from copula_discrepancy._core.caveats import Caveat
    from copula_discrepancy._core.errors import DependenceWarning, InputError
    from copula_discrepancy.compare.consequence import consequence
    from copula_discrepancy.compare.consequence_result import Consequence, Effect
    from copula_discrepancy.compare.fidelity import DependenceFidelity
    from copula_discrepancy.compare.form_result import Form
    from copula_discrepancy.compare.groups_result import GroupedPairwise
    from copula_discrepancy.compare.interactions import interactions
    from copula_discrepancy.compare.interactions_result import Interaction, Interactions
    from copula_discrepancy.compare.level_gaps import LevelDifference, LevelGaps
    from copula_discrepancy.compare.many import pairwise
    from copula_discrepancy.compare.many_result import Pairwise
    from copula_discrepancy.compare.margins import Margins
    from copula_discrepancy.compare.one import discrepancy
    from copula_discrepancy.compare.one_result import Discrepancy
    from copula_discrepancy.compare.pair_gap import PairGap
    from copula_discrepancy.compare.repair import repair
    from copula_discrepancy.compare.repair_result import Repair
    from copula_discrepancy.compare.reversals import Reversal
    from copula_discrepancy.compare.screen import screen
    from copula_discrepancy.compare.screen_result import Screening
    from copula_discrepancy.compare.summary import summary
    from copula_discrepancy.compare.vine import vine
    from copula_discrepancy.compare.vine_result import EdgeGap, VineGaps
    from copula_discrepancy.compare.watch_result import WatchUpdate
    from copula_discrepancy.compare.worst_consequences import worst_consequences
    from copula_discrepancy.compare.worst_result import WorstConsequences
    from copula_discrepancy.data.draws import Draws, as_draws
    from copula_discrepancy.estimate.agreement import Agreement
    from copula_discrepancy.estimate.fit import fit
    from copula_discrepancy.estimate.fit_result import Fit
    from copula_discrepancy.estimate.multiplicity import adjust_pvalues
    from copula_discrepancy.estimate.ranks import concordance, kendall_matrix, kendall_tau, pseudo_observations
    from copula_discrepancy.estimate.selection import Selection, select_family
    from copula_discrepancy.estimate.sketch import DependenceSketch
    from copula_discrepancy.estimate.uncertainty import (
        Estimate,
        LongRun,
        PaperTest,
        contamination_bound,
        long_run_variance,
        tau_influence_bound,
    )
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
        register,
    )
    from copula_discrepancy.report.plots.arviz_forest import plot_gap_forest
    from copula_discrepancy.report.plots.arviz_matrix import plot_pairwise
    from copula_discrepancy.report.plots.clouds import plot_pair
    from copula_discrepancy.report.plots.densities import plot_form
    from copula_discrepancy.report.plots.forests import plot_tau_forest
    from copula_discrepancy.report.plots.lags import plot_lags
    from copula_discrepancy.report.plots.traces import plot_trace
    from copula_discrepancy.report.watch import watch
    from copula_discrepancy.studies.baselines.classic import ess, naive_tau, paper_ess, rhat
    from copula_discrepancy.studies.baselines.stein import SteinDiscrepancy, ksd
    from copula_discrepancy.studies.paper.reproduce import Reproduction, reproduce
    from copula_discrepancy.studies.samplers import (
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
    from copula_discrepancy.studies.tuning import tune
    from copula_discrepancy.studies.tuning_result import TunedSetting, Tuning

_HOME = {
    "_core.caveats": "Caveat",
    "_core.errors": "DependenceWarning InputError",
    "compare.consequence": "consequence",
    "compare.consequence_result": "Consequence Effect",
    "compare.fidelity": "DependenceFidelity",
    "compare.form_result": "Form",
    "compare.groups_result": "GroupedPairwise",
    "compare.interactions": "interactions",
    "compare.interactions_result": "Interaction Interactions",
    "compare.many": "pairwise",
    "compare.many_result": "Pairwise",
    "compare.level_gaps": "LevelDifference LevelGaps",
    "compare.margins": "Margins",
    "compare.one": "discrepancy",
    "compare.one_result": "Discrepancy",
    "compare.pair_gap": "PairGap",
    "compare.repair": "repair",
    "compare.repair_result": "Repair",
    "compare.reversals": "Reversal",
    "compare.screen": "screen",
    "compare.screen_result": "Screening",
    "compare.summary": "summary",
    "compare.vine": "vine",
    "compare.vine_result": "EdgeGap VineGaps",
    "compare.watch_result": "WatchUpdate",
    "compare.worst_consequences": "worst_consequences",
    "compare.worst_result": "WorstConsequences",
    "data.draws": "Draws as_draws",
    "estimate.agreement": "Agreement",
    "estimate.fit": "fit",
    "estimate.fit_result": "Fit",
    "estimate.multiplicity": "adjust_pvalues",
    "estimate.ranks": "concordance kendall_matrix kendall_tau pseudo_observations",
    "estimate.selection": "Selection select_family",
    "estimate.sketch": "DependenceSketch",
    "estimate.uncertainty": "Estimate LongRun PaperTest contamination_bound long_run_variance tau_influence_bound",
    "families": "A1 A2 FAMILIES Clayton Copula Frank Gaussian Gumbel Joe Rotated StudentT family register",
    "report.plots.clouds": "plot_pair",
    "report.plots.densities": "plot_form",
    "report.plots.arviz_forest": "plot_gap_forest",
    "report.plots.arviz_matrix": "plot_pairwise",
    "report.plots.forests": "plot_tau_forest",
    "report.plots.lags": "plot_lags",
    "report.plots.traces": "plot_trace",
    "report.watch": "watch",
    "studies.baselines.classic": "ess naive_tau paper_ess rhat",
    "studies.baselines.stein": "SteinDiscrepancy ksd",
    "studies.paper.reproduce": "Reproduction reproduce",
    "studies.samplers": "BimodalMixture Chains DivergenceError GaussianTarget MetaCopula WellingTeh metropolis sghmc sgld",
    "studies.tuning": "tune",
    "studies.tuning_result": "TunedSetting Tuning",
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "A1", "A2", "FAMILIES", "Agreement", "BimodalMixture", "Caveat", "Chains", "Clayton", "Consequence", "Copula",
    "DependenceFidelity", "DependenceSketch", "DependenceWarning", "Discrepancy", "DivergenceError", "Draws", "EdgeGap",
    "Effect", "Estimate", "Fit", "Form", "Frank", "Gaussian", "GaussianTarget", "GroupedPairwise", "Gumbel", "InputError",
    "Interaction", "Interactions", "Joe", "LevelDifference", "LevelGaps", "LongRun", "Margins", "MetaCopula", "PairGap",
    "Pairwise", "PaperTest", "Repair", "Reproduction", "Reversal", "Rotated", "Screening", "Selection",
    "SteinDiscrepancy", "StudentT", "TunedSetting", "Tuning", "VineGaps", "WatchUpdate", "WellingTeh",
    "WorstConsequences", "adjust_pvalues", "as_draws",
    "concordance", "consequence", "contamination_bound", "discrepancy", "ess", "family",
    "fit", "interactions", "kendall_matrix", "kendall_tau", "ksd", "long_run_variance", "metropolis", "naive_tau",
    "pairwise", "paper_ess", "plot_form", "plot_gap_forest", "plot_lags", "plot_pair", "plot_pairwise", "plot_tau_forest",
    "plot_trace", "pseudo_observations", "register", "repair", "reproduce", "rhat", "screen", "select_family", "sghmc", "sgld",
    "summary", "tau_influence_bound", "tune", "vine", "watch", "worst_consequences",
]  # fmt: skip

# Dataset, DataArray and DataTree get .dependence; xarray itself is not imported here
when_imported("xarray", f"{__name__}.report.accessor", "register")


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
