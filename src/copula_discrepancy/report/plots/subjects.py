"""What a picture is of: results are made in higher layers, so here they are known by what they carry."""

from typing import TYPE_CHECKING, Any, TypeGuard

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.estimate.agreement import Agreement
from copula_discrepancy.estimate.fit_result import Fit
from copula_discrepancy.families import Copula

if TYPE_CHECKING:
    from copula_discrepancy.compare.many_result import Pairwise
    from copula_discrepancy.compare.one_result import Discrepancy


def is_discrepancy(result: Any) -> "TypeGuard[Discrepancy]":
    """Whether it is the result of `discrepancy`."""
    carried = (("fit", Fit), ("target", Copula), ("agreement", Agreement))
    return all(isinstance(getattr(result, name, None), kind) for name, kind in carried)


def is_pairwise(result: Any) -> "TypeGuard[Pairwise]":
    """Whether it is the result of `pairwise` or `vine`."""
    samples = getattr(result, "samples", None)
    return isinstance(samples, tuple) and isinstance(samples[0], Draws) and hasattr(result, "rows")


def wrong_subject(function: str, takes: str, result: Any) -> InputError:
    """The error for anything else."""
    return InputError(f"{function} takes {takes}, got {type(result).__name__}; call cd.discrepancy(draws, target) first")
