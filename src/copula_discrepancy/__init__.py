"""Does a sample keep the dependence it should keep?

The names below load their modules when first used, so that importing the package stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copula_discrepancy.agreement import Agreement
    from copula_discrepancy.draws import Draws, as_draws
    from copula_discrepancy.errors import DependenceWarning, InputError
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
    from copula_discrepancy.ranks import concordance, kendall_matrix, kendall_tau, pseudo_observations
    from copula_discrepancy.result import Discrepancy
    from copula_discrepancy.selection import Selection, select_family

_HOME = {
    "agreement": ("Agreement",),
    "gaps": ("discrepancy",),
    "result": ("Discrepancy",),
    "inference": ("Estimate", "LongRun", "PaperTest", "contamination_bound", "long_run_variance", "tau_influence_bound"),
    "selection": ("Selection", "select_family"),
    "draws": ("Draws", "as_draws"),
    "errors": ("DependenceWarning", "InputError"),
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
    "Clayton",
    "Copula",
    "DependenceWarning",
    "Discrepancy",
    "Draws",
    "Estimate",
    "Fit",
    "Frank",
    "Gaussian",
    "Gumbel",
    "InputError",
    "Joe",
    "LongRun",
    "PaperTest",
    "Rotated",
    "Selection",
    "StudentT",
    "as_draws",
    "concordance",
    "contamination_bound",
    "discrepancy",
    "family",
    "fit",
    "kendall_matrix",
    "kendall_tau",
    "long_run_variance",
    "pseudo_observations",
    "select_family",
    "tau_influence_bound",
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
