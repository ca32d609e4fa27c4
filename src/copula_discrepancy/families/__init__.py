"""The copula families, by name, and the base classes for user-defined families."""

from copula_discrepancy._core.checks import FloatArray
from copula_discrepancy.families.a1 import A1
from copula_discrepancy.families.a2 import A2
from copula_discrepancy.families.archimedean import Archimedean
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.catalogue import FAMILIES, LONGEST_NAME, candidates, family, register, resolve_family
from copula_discrepancy.families.clayton import Clayton
from copula_discrepancy.families.elliptical import Elliptical
from copula_discrepancy.families.frank import Frank
from copula_discrepancy.families.gaussian import Gaussian
from copula_discrepancy.families.gumbel import Gumbel
from copula_discrepancy.families.joe import Joe
from copula_discrepancy.families.parameter import Parameter
from copula_discrepancy.families.quadrature import Integral
from copula_discrepancy.families.rotated import Rotated
from copula_discrepancy.families.student_t import StudentT

__all__ = [
    "A1", "A2", "FAMILIES", "LONGEST_NAME", "Archimedean", "Clayton", "Copula", "Elliptical", "FloatArray", "Frank", "Gaussian",
    "Gumbel", "Integral", "Joe", "Parameter", "Rotated", "StudentT", "candidates", "family", "register", "resolve_family",
]  # fmt: skip
