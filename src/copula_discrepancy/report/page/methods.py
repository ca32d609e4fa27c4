"""How the numbers of a page were computed: definitions, methods, versions, seed and command."""

import platform
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from copula_discrepancy.compare.many_result import Pairwise
from copula_discrepancy.compare.margins import Margins
from copula_discrepancy.compare.one_result import Discrepancy
from copula_discrepancy.data.kinds import NOMINAL
from copula_discrepancy.estimate.multiplicity import in_words
from copula_discrepancy.estimate.tails import CORNERS, part_name
from copula_discrepancy.families import Copula

PACKAGES = ("copula-discrepancy", "numpy", "scipy", "numba", "matplotlib")
SEED = 1  # seed of the clouds simulated from a known copula; nothing else on a page is random
RUNNING = (
    "The running gap ranks the first draws among themselves and takes one scoring step from the fit to all draws; its last "
    "point is the total gap."
)
PAPER = "A. Aich and A. B. Aich (2025), Copula Discrepancy: Benchmarking Dependence Structure"

# Definitions of the columns and maps, in the order of the table.
TERMS: dict[str, str] = {
    "tau": "Kendall's tau of the draws: the probability that two draws order both variables the same way, minus the "
    "probability that they order them in opposite ways (tau-b, which allows for ties). Between -1 and 1; increasing transforms "
    "of a variable do not change it.",
    "target": "Kendall's tau of the target, or of the reference sample.",
    "level": "tau minus the target's tau: the error in the strength of dependence.",
    "shape": "The tau of the family fitted to the draws by maximum likelihood, minus their own tau: zero if the family fits; "
    "if it is not zero, the tails or the asymmetry of the draws differ from the family's. Against a reference sample, the "
    "draws' shape minus the reference's.",
    "total": "level plus shape; its absolute value is the Copula Discrepancy, CD.",
    "form": "The root mean square difference of the two densities of the ranks, smoothed by polynomials, in units of the "
    "density of independence, less what chance adds: 0 if they are equal, about 1 if strong dependence is lost. It has no sign "
    "and sees dependence of any kind between two variables. Without a target, the draws are compared with the family fitted to "
    "them.",
    "kept": "The share of the target's dependence, of any kind, that the draws keep: 100% is right, 0% if all is lost, "
    "negative if it is reversed; missing if the target has too little dependence to tell.",
    "pattern": "The kind of dependence that differs most in form beyond what a gap in strength explains, in words.",
    "se": "Standard error, {errors}.",
    "p": "The smallest of the adjusted p-values of level, shape, tails and form.",
    "low-low, high-high, low-high, high-low": "The four corners. low-low: of the draws in the low tail of the first variable, "
    "the share that is in the low tail of the second, minus the share that the family has at the same tau; with a reference, "
    "minus the same difference for the reference. The other corners are defined in the same way: both high, the first low and "
    "the second high, the first high and the second low. One test covers all four.{corners}",
    "CKL": "Kullback-Leibler divergence of the fitted copula from the target's, in nats.",
    "n": "The number of draws with a value of both variables.",
    "n_eff": "The number of independent draws with the same standard error; the smaller of draws and reference.",
    "R-hat": "Convergence of Kendall's tau: near 1 if {parts} agree on it.",
    "family": "The copula family fitted to the pair.",
}
_LABELS = {corner.label for corner in CORNERS.values()}
_SOME_CORNERS = " The table shows the two corners along most of the dependences, and those with a gap in some pair."
_RANKED = "Draws are replaced by their ranks divided by n + 1, which leaves only the dependence."
_DIVERGENT = (
    "Divergent draws are counted in the quarter of the draws where the smoothed densities differ most, and in corners with a "
    "gap. Their number is compared with those of all rotations of the divergences along their chains, which keep the runs of "
    "both; the tests of all pairs with a gap are adjusted together. A difference between chains alone is no evidence."
)
_MARGINS = (
    "Margins are compared variable by variable: by the means of four polynomials of the ranks in both samples together, with "
    "one test per variable. These tests are adjusted together, separately from those of dependence."
)
_LEVELS = "Variables whose levels have no order are compared by the shares of their levels, rare ones together."
SINGLE_P = "The probability of a gap at least this large if there is no true gap."
ERRORS = {
    False: "from the long-run variance of influence values, one per draw, which is valid for stationary sequences of draws",
    True: "from the variance of influence values, one per draw, which is valid for independent draws",
}


def errors_of(result: Discrepancy | Pairwise) -> str:
    """Where standard errors come from."""
    if isinstance(result, Discrepancy) and result.resampled:
        return f"from the {result.inference}, and those of the tails from influence values"
    own, other = result.independent
    return ERRORS[own] if own == other else f"{ERRORS[own]}, for the draws, and {ERRORS[other]}, for the reference"


def terms(shown: Collection[str], errors: str, things: str) -> dict[str, str]:
    """Definitions of the columns of a page; `errors` is the source of standard errors, `things` the noun for observations."""
    names = {"total", *shown}
    names |= {"low-low, high-high, low-high, high-low"} if _LABELS & names else set()
    names |= {"se"} if any(name.endswith("se") for name in names) else set()
    corners = _SOME_CORNERS if 0 < len(_LABELS & names) < len(_LABELS) and "total" not in shown else ""
    words = {"errors": errors, "corners": corners, "parts": "the chains" if things == "draws" else "both halves of the rows"}
    return {name: spoken(text.format(**words), things) for name, text in TERMS.items() if name in names}


def spoken(text: str, things: str) -> str:
    """A sentence of a page, written for draws, with "rows" if the sample is a table; it must not contain a variable's name."""
    return (
        text if things == "draws" else re.sub(r"\b([Dd])raw(s?)\b", lambda m: ("R" if m[1] == "D" else "r") + "ow" + m[2], text)
    )


def of_pairs(result: Pairwise) -> list[str]:
    """The methods of a ranking, in sentences."""
    through = {
        "reference": "For every pair a family is chosen on the reference (likelihood of binned ranks, then AIC of the best two)"
        if result.family is None
        else f"The family {result.family} is used for every pair",
        "copulas": "The family of the target is used for every pair",
        "correlations": "Every pair is compared with the Gaussian copula of its correlation",
        "nothing": "For every pair the best family is chosen (likelihood of binned ranks, then AIC of the best two); "
        "there is no target"
        if result.family is None
        else f"The family {result.family} is used for every pair; there is no target",
    }[result.kind]
    if result.unit == "edge":
        through = "A vine is fitted to the reference; on every edge, draws and reference are compared with its family"
    rate = in_words(result.adjust, 1.0 - result.confidence)
    sentences = [
        _RANKED,
        f"{through}; {_fitted(result, result.kind == 'reference')}",
        f"Standard errors come {errors_of(result)}.",
        f"Tails are the lowest and the highest {part_name(result.tail)}; corners with few draws have an exact test.",
        _form_method(result.order),
        *([RUNNING] if result.kind != "nothing" else []),
        f"Tests of level, shape, tails and form: {rate}."
        if result.adjust == "none"
        else f"All tests are adjusted together: {rate}.",
        *_divergent(result),
        *_margins(result.margins),
    ]
    return [spoken(sentence, result.things) for sentence in sentences]


def of_one(result: Discrepancy) -> list[str]:
    """The methods of a single pair, in sentences."""
    aim = "the same family fitted to the reference" if result.reference is not None else f"the target {result.target!r}"
    sentences = [
        _RANKED if result.margins == "rank" else "The draws have uniform margins and are used as they are.",
        f"The family {result.fit.family} is compared with {aim}; {_fitted(result, result.reference is not None)}",
        f"Standard errors come {errors_of(result)}.",
        f"Tails are the lowest and the highest {part_name(result.tail)}; corners with few draws have an exact test.",
        _form_method(result.form.order),
        RUNNING,
        *_divergent(result),
        *_margins(result.margin_gaps),
    ]
    return [spoken(sentence, result.things) for sentence in sentences]


def _divergent(result: Pairwise | Discrepancy) -> list[str]:
    return [_DIVERGENT] if result.divergences is not None and result.divergences.places else []


def _margins(margins: Margins | None) -> list[str]:
    if margins is None:
        return []
    return [_MARGINS, _LEVELS] if NOMINAL in margins.kinds else [_MARGINS]


def _form_method(order: int) -> str:
    return (
        f"Form compares the means of products of Legendre polynomials of the ranks, up to order {order} (lower with few draws "
        "or values): the sum of squared differences and the largest one are tested together."
    )


def _fitted(result: Pairwise | Discrepancy, reference: bool) -> str:
    to = "the draws, and to the reference," if reference else "the draws"
    if result.method == "moment":
        return f"it is fitted to {to} by inverting Kendall's tau, so there is no shape gap."
    return f"it is fitted to {to} by maximum likelihood."


def typed(target: Copula) -> str:
    """A copula as Python code."""
    return re.sub(r"\b([A-Z]\w*)\(", r"cd.\1(", repr(target))


def call(
    function: str,
    arguments: Sequence[str],
    options: dict[str, Any],
    path: Path,
    *,
    then: str = "",
    sections: Mapping[str, str] | None = None,
) -> str:
    """The Python call that creates a page, as far as the result records it; options that are None are omitted.

    `sections` are further arguments of `to_html`, as code.
    """
    parts = [*arguments, *(f"{name}={value!r}" for name, value in options.items() if value is not None)]
    more = "".join(f", {name}={code}" for name, code in (sections or {}).items())
    return f"cd.{function}({', '.join(parts)}){then}.to_html({str(path)!r}{more})"


def made(command: str, random: Sequence[str] = (), *, resampled: bool = False) -> dict[str, Any]:
    """Versions, date and command of a page, and which parts of it are random."""
    clouds = f"Clouds of known copulas are simulated with seed {SEED}"
    also = f", {' and '.join(random)} with the seed given there" if random else "; nothing else here is random"
    if resampled:
        also = f", the resamples behind consequences for consequences with theirs, {SEED} by default"
    return {
        "command": command,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seed": SEED,
        "random": clouds + also,
        "versions": {"Python": platform.python_version()} | {name: version(name) for name in PACKAGES},
    }
