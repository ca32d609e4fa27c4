"""How the numbers of a page came about: definitions, methods, versions, seed and command."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from copula_discrepancy.multiplicity import in_words

PACKAGES = ("copula-discrepancy", "numpy", "scipy", "numba", "matplotlib")
SEED = 1  # of the clouds that are simulated from a known copula; nothing else on a page is random
PAPER = "A. Aich and A. B. Aich (2025), Copula Discrepancy: Benchmarking Dependence Structure"

# What the columns and maps show, in the order of the table.
TERMS: dict[str, str] = {
    "tau": "Kendall's tau of the draws: the probability that two draws order both variables the same way, less that of "
    "opposite ways. Between -1 and 1; increasing transforms of a variable do not change it.",
    "target": "Kendall's tau of the target, or of the reference sample.",
    "level": "tau less the target's tau: the strength of dependence is off by so much.",
    "shape": "The tau of the family fitted to the draws by maximum likelihood, less their own tau: not zero where the family's "
    "tails and asymmetry are not theirs. Against a reference sample, the draws' shape less the reference's.",
    "total": "level and shape together; its size is the Copula Discrepancy, CD.",
    "se": "Standard error of the number before it, from the long-run variance of its influence values.",
    "p": "The smaller of the adjusted p-values of level and shape.",
    "lower tail, upper tail": "Share of the lowest (highest) tenth of one variable that lies in that of the other, "
    "less what the family has at the same tau; for a reference, less the reference's gap. For negative dependence: low "
    "with high, high with low.",
    "CKL": "Kullback-Leibler divergence of the fitted copula from the target's, in nats.",
    "n_eff": "How many independent draws would say as much; the smaller one of draws and reference.",
    "R-hat": "Do the chains agree about Kendall's tau? Near 1 they do.",
    "family": "The copula family that the pair is looked at through.",
}


def of_pairs(result: Any) -> list[str]:
    """How a ranking was made, in sentences."""
    through = {
        "reference": "For every pair a family is chosen on the reference (likelihood of binned ranks, then AIC of the best two)"
        if result.family is None
        else f"Every pair is looked at through the family {result.family}",
        "copulas": "Every pair is looked at through the family of its target",
        "correlations": "Every pair is compared with the Gaussian copula of its correlation",
        "nothing": "For every pair the best family is chosen (likelihood of binned ranks, then AIC of the best two); "
        "there is no target"
        if result.family is None
        else f"Every pair is looked at through the family {result.family}; there is no target",
    }[result.kind]
    if result.unit == "edge":
        through = "A vine is fitted to the reference; on every edge, draws and reference are compared through its family"
    return [
        "Draws are replaced by their ranks, divided by n + 1, so that only the dependence is left.",
        f"{through}; {_fitted(result.method)}",
        _errors(result.iid),
        f"All tests of level and shape are adjusted together: {in_words(result.adjust, 1.0 - result.confidence)}.",
    ]


def of_one(result: Any) -> list[str]:
    """How the numbers of a single pair were made."""
    aim = "the same family fitted to the reference" if result.reference is not None else f"the target {result.target!r}"
    return [
        "Draws are replaced by their ranks, divided by n + 1, so that only the dependence is left."
        if result.margins == "rank"
        else "The draws were given as uniform margins.",
        f"The family {result.fit.family} is compared with {aim}; {_fitted(result.method)}",
        _errors(result.iid) if result.inference == "influence" else f"Standard errors come from the {result.inference}.",
    ]


def _fitted(method: str) -> str:
    if method == "moment":
        return "it is fitted by inverting Kendall's tau, so there is no shape."
    return "it is fitted to the draws by maximum likelihood."


def _errors(iid: bool) -> str:
    if iid:
        return "Standard errors take the draws as independent, and come from the variance of influence values, one per draw."
    return "Standard errors come from the long-run variance of influence values, one per draw, and hold on Markov chains."


def call(function: str, arguments: Sequence[str], options: dict[str, Any], path: Path) -> str:
    """The Python that makes a page, as far as the result knows it; options that are None are left out."""
    given = [*arguments, *(f"{name}={value!r}" for name, value in options.items() if value is not None)]
    return f"cd.{function}({', '.join(given)}).to_html({str(path)!r})"


def made(command: str) -> dict[str, Any]:
    """With what, when, and by which command a page was made."""
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seed": SEED,
        "versions": {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }
