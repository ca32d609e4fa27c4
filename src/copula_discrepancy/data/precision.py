"""What is to be said of draws that were given in single or half precision, where rounding makes ties."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_discrepancy._core.caveats import Caveat, caveat_of

_HALF = {"float16": 11, "bfloat16": 8}  # binary digits
_SINGLE = "float32"


_TABLES = ("pandas", "polars")


def _kinds(part: Any) -> Sequence[Any]:
    """The types of an array, or of the columns of a table in memory."""
    if type(part).__module__.partition(".")[0] in _TABLES and type(part).__name__ == "DataFrame":
        return list(part.dtypes)
    return [part.dtype] if hasattr(type(part), "__dlpack__") and hasattr(part, "dtype") else []


class Precision(NamedTuple):
    """The least precise type of floating-point numbers of what a user passed as draws: its name, or an empty one if double."""

    name: str

    @classmethod
    def of(cls, given: Any) -> "Precision":
        """Of an array or tensor, of several with names, or of a table; of anything else, such as a file, none."""
        parts: Sequence[Any] = list(given.values()) if isinstance(given, Mapping) else [given]
        found = {str(kind).rpartition(".")[2].lower() for part in parts for kind in _kinds(part)}
        return cls(next((name for name in (*_HALF, _SINGLE) if name in found), ""))

    def remarks(
        self, ties: NDArray[np.int64], sizes: Callable[[int], NDArray[np.int64]], names: Sequence[str], whose: str
    ) -> tuple[tuple[Caveat, ...], tuple[str, ...]]:
        """Caveats and notes about ties.

        Parameters
        ----------
        ties : array (variable,)
            The number of tied pairs of draws of each variable.
        sizes : callable
            How many draws share the value of each draw of a variable, given its number.
        names : sequence of str
            The variables.
        whose : str
            "draws" or "reference".
        """
        if not self.name or not np.any(ties > 0):
            return (), ()
        worst = int(np.argmax(ties))
        share = float(np.mean(sizes(worst) > 1))
        where = f"{100.0 * share:.2g}% of the values of {names[worst]} occur more than once, and ties share mid-ranks"
        if self.name in _HALF:
            digits = f"{self.name}, {_HALF[self.name]} binary digits"
            text = f"the {whose} are in half precision ({digits}): {where}; pass what they were computed in, float32 or float64"
            return (caveat_of("rounded-values", text),), ()
        return (), (f"the {whose} are float32 and have ties: {where}; if the variable is continuous, float64 would have none",)
