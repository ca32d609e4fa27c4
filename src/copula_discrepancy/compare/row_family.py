"""The copula family of a row of a ranking, as `discrepancy` accepts it."""

import math
from typing import TYPE_CHECKING, Any

from copula_discrepancy.estimate.likelihood import with_df
from copula_discrepancy.families import Copula, resolve_family

if TYPE_CHECKING:
    from copula_discrepancy.compare.many_result import Pairwise


def family_of(result: "Pairwise", row: Any) -> Any:
    """The family used for a pair; None for one that ran out of memory and is tried again on its own."""
    if result.template is not None and math.isnan(row["df"]):
        return result.template
    if not row["family"]:
        return None
    template, _ = resolve_family(str(row["family"]), None)
    return template if math.isnan(row["df"]) else with_df(template, float(row["df"]))


def fitted_copula(result: "Pairwise", row: Any) -> Copula | None:
    """The copula fitted to the draws of a pair; None if there is none."""
    template = family_of(result, row)
    found: Copula | None = None if template is None or math.isnan(row["theta"]) else template.with_theta(float(row["theta"]))
    return found
