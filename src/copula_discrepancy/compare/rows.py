"""The row of numbers of a pair of variables or an edge of a vine."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy.estimate.pattern import LONGEST
from copula_discrepancy.estimate.tails import CORNERS
from copula_discrepancy.families import LONGEST_NAME

GAPS = ("level", "shape", "total")
TESTED = ("level", "shape", "tails", "form")  # tests of every pair; the four corners share one test
FORM = (
    "form", "form_se", "form_pvalue", "kept", "kept_se", "dependence", "dependence_target", "dependence_se",
    "dependence_target_se", "form_rhat", "form_rhat_target",
)  # fmt: skip
CORNER_PARTS = ("", "_se", "_pvalue", "_share", "_share_target")
RHAT_KINDS = ("form_rhat_kind", "form_rhat_kind_target")  # what the largest R-hat of form is about, for its caveat
BLOCKS = "left_out"  # numbers of `LeftOut` of draws and reference, of no use to a reader
ROW = np.dtype(
    [
        ("first", np.int32), ("second", np.int32), ("n", float), ("n_target", float),
        ("tau", float), ("tau_se", float), ("tau_target", float), ("tau_target_se", float),
        *[(name + part, float) for name in GAPS for part in ("", "_se", "_pvalue")],
        ("tails_pvalue", float), *[(name + part, float) for name in CORNERS for part in CORNER_PARTS],
        *[(name, float) for name in FORM], ("pattern", f"U{LONGEST}"),
        ("ckl", float), ("n_eff", float), ("n_eff_target", float), ("rhat", float), ("rhat_target", float),
        ("theta", float), ("theta_target", float), ("df", float), ("family", f"U{LONGEST_NAME + 3}"),
        *[(name, "U16") for name in RHAT_KINDS], (BLOCKS, float, (2, 4)),  # last: a result has all columns before them
    ]
)  # fmt: skip


def empty_rows(count: int) -> NDArray[Any]:
    """Empty rows, filled with NaN."""
    return _EMPTY[np.zeros(count, np.intp)]  # np.repeat of a shared array is not safe in threads before NumPy 2.1


_EMPTY = np.zeros(1, ROW)
for _name in ROW.names or ():
    if ROW[_name].base.kind == "f":
        _EMPTY[_name] = math.nan
