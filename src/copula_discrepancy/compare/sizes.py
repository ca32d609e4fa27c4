"""The size of a pair's gaps on one scale, for rankings and gates."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.pattern import Pattern
from copula_discrepancy.estimate.tails import CORNERS

# A difference in tau changes form by about 1.5 times as much where dependence is weak, and 2.5 times where it is strong.
FORM_PER_TAU = 2.0


def gap_sizes(rows: NDArray[Any], names: Sequence[str], alpha: float) -> NDArray[np.float64]:
    """The largest of some gaps of every pair, including corners and form if these are significant; NaN if none is available.

    Form is on the scale of tau (see FORM_PER_TAU), and counts if it has a pattern of its own or nothing else is significant:
    what strength explains is counted once.
    """
    sizes = np.abs(rows[names[0]])
    for name in names[1:]:
        sizes = np.fmax(sizes, np.abs(rows[name]))
    others = np.any([rows[f"{name}_adjusted"] < alpha for name in ("level", "shape", "tails")], axis=0)
    codes = rows["pattern"].tolist()
    by_code = {code: pattern is not None and pattern.own for code in set(codes) for pattern in [Pattern.known(code)]}
    own = np.array([by_code[code] for code in codes], bool)
    alone = (rows["form_adjusted"] < alpha) & (own | ~others)
    for name in CORNERS:
        sizes = np.fmax(sizes, np.where(rows["tails_adjusted"] < alpha, np.abs(rows[name]), math.nan))
    return np.fmax(sizes, np.where(alone, rows["form"] / FORM_PER_TAU, math.nan))
