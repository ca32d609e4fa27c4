"""What was tested where no gap was found: which tests, in how many pairs, and what none of them sees.

"No gap found" says little without it: a test that could not be made finds nothing either.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from copula_discrepancy.compare.ranking import Ranking
from copula_discrepancy.compare.rows import TESTED
from copula_discrepancy.estimate.form import order_for

if TYPE_CHECKING:
    from copula_discrepancy.compare.many_result import Pairwise
    from copula_discrepancy.compare.one_result import Discrepancy


def tested(result: "Pairwise | Discrepancy") -> str:
    """What the tests behind "no gap found" looked at, in how many pairs, and what they cannot see."""
    if isinstance(result, Ranking):
        counts = {name: int(np.isfinite(result.rows[f"{name}_pvalue"]).sum()) for name in TESTED}
        of, unit = len(result), result.unit
        ordered = sum(map(result.ordered, result.rows))
    else:
        counts, of, unit = {name: int(math.isfinite(p)) for name, p in result.tests.adjusted.items()}, 1, "pair"
        ordered = 1
    words = {"level": "strength", "shape": "shape", "form": f"form up to order {tested_order(result)}", "tails": "the corners"}
    every = [words[name] for name in words if counts[name] == of]
    some = [f"{words[name]} in {counts[name]:,} of {of:,} {unit}s" for name in words if 0 < counts[name] < of]
    missing = [
        words[name].split(" up")[0]
        for name in words
        if not counts[name] and (ordered or name == "form") and (name != "level" or has_target(result))
    ]
    if ordered < of:
        some.append(f"{of - ordered:,} {unit}{'s' * (of - ordered != 1)} with categories without order have form only")
    parts = [f"{enumerated(every)}{f', in every {unit}' if of > 1 else ''}"] if every else []
    untested = f" Not tested: {enumerated(missing)}." if missing else ""
    finer = "patterns finer than form, and " if counts["form"] else ""
    return f"{'; '.join([*parts, *some])}.{untested} Not seen: {finer}interactions of three or more variables."


def has_target(result: "Pairwise | Discrepancy") -> bool:
    """Whether the draws were compared with anything other than families fitted to themselves."""
    return not isinstance(result, Ranking) or result.kind != "nothing"


def tested_order(result: "Pairwise | Discrepancy") -> int:
    """The order up to which form was tested, in every pair that was."""
    if not isinstance(result, Ranking):
        return result.form.tested_order
    fewest = fewest_for_form(result)
    return result.order if fewest is None else order_for(fewest, result.order)


def fewest_for_form(result: "Pairwise") -> int | None:
    """The smallest number of draws, or of the reference's, with which form was tested; None if it was tested nowhere."""
    rows = result.rows[np.isfinite(result.rows["form_pvalue"])]
    return int(np.nanmin([rows["n"], rows["n_target"]])) if rows.size else None


def enumerated(names: Sequence[str]) -> str:
    """Names in a sentence: level, shape and tails."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
