"""Copulas rotated by 90, 180 or 270 degrees."""

import copyreg
import math
from abc import ABCMeta
from dataclasses import dataclass
from functools import lru_cache
from inspect import isabstract
from operator import attrgetter
from typing import Any

from copula_discrepancy._core.blocks import Unit
from copula_discrepancy._core.checks import FloatArray, Pair, is_whole
from copula_discrepancy._core.errors import InputError
from copula_discrepancy.families.base import Copula
from copula_discrepancy.families.formulas import PairTables, Slopes
from copula_discrepancy.families.parameter import Parameter
from copula_discrepancy.families.quadrature import Integral

ROTATIONS = (90, 180, 270)


def _checked_rotation(rotation: Any) -> int:
    if not is_whole(rotation) or rotation not in ROTATIONS:
        raise InputError(f"rotation must be 90, 180 or 270, got {rotation!r}")
    return int(rotation)


def _of_base(name: str) -> Any:
    """A method that delegates to the base copula."""

    def method(self: "Rotated", *arguments: Any, **named: Any) -> Any:
        return getattr(self.base, name)(*arguments, **named)

    return method


@dataclass(frozen=True)
class Rotated(Copula):
    """A copula rotated counter-clockwise: density c(1-u, v) at 90, c(1-u, 1-v) at 180, c(u, 1-v) at 270 degrees.

    A rotation by 180 degrees swaps the tails (the survival copula); 90 or 270 degrees change the sign of Kendall's tau.

    Parameters
    ----------
    base : Copula
        The copula to rotate; it must not be rotated itself.
    rotation : {90, 180, 270}
        The angle in degrees.

    Attributes
    ----------
    base, rotation
        The base copula and the angle.

    See Also
    --------
    family : Look up a rotated family by name, such as "clayton180".

    Notes
    -----
    Domains and limits are those of the base copula, tau and tails those of its mirror image. No accuracy is lost: the rotated
    copula uses 1-u where the base uses u.

    Examples
    --------
    >>> import copula_discrepancy as cd
    >>> cd.Rotated(cd.Clayton(3.0), 90).tau
    -0.6
    """

    base: Copula
    rotation: int

    def __post_init__(self) -> None:
        if not isinstance(self.base, Copula):
            raise InputError(f"base must be a copula such as Clayton(3), got {self.base!r}")
        if isinstance(self.base, Rotated):
            raise InputError(f"base is already rotated by {self.base.rotation}; rotate {self.base.base!r} once instead")
        object.__setattr__(self, "rotation", _checked_rotation(self.rotation))

    @staticmethod
    def family(base: type[Copula], rotation: int) -> type["Rotated"]:
        """The class of rotated copulas whose instances are created from theta alone; also `family("clayton180")`.

        Parameters
        ----------
        base : type
            The class of a family, such as Clayton.
        rotation : {90, 180, 270}
            The angle in degrees.

        Returns
        -------
        type
            A subclass of `Rotated`.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.Rotated.family(cd.Clayton, 180)(3.0)
        Rotated(base=Clayton(theta=3.0), rotation=180)
        """
        if not (isinstance(base, type) and issubclass(base, Copula) and not issubclass(base, Rotated)) or isabstract(base):
            raise InputError(f"base must be a copula class such as Clayton, got {base!r}")
        return Rotated._family(base, _checked_rotation(rotation))

    @staticmethod
    @lru_cache(maxsize=64)
    def _family(base: type[Copula], rotation: int) -> type["Rotated"]:
        def build(cls: type[Rotated], *arguments: Any, **named: Any) -> Rotated:
            return Rotated(base(*arguments, **named), rotation)

        def template(**fixed: Any) -> Rotated:
            return Rotated(base._template(**fixed), rotation)

        members = {
            "__module__": Rotated.__module__, "__doc__": f"{base.name} copula rotated by {rotation} degrees.",
            "_choice": (base, rotation), "__new__": build, "_template": staticmethod(template),
            "name": f"{base.name}{rotation}", "parameter": base.parameter, "fixed_parameters": base.fixed_parameters,
        }  # fmt: skip
        made: Any = _RotatedFamily(f"{base.__name__}{rotation}", (Rotated,), members)
        return made

    @classmethod
    def _template(cls, **fixed: Any) -> "Rotated":
        raise InputError("Rotated alone is not a family; use family('clayton180') or an instance, Rotated(Clayton(3), 180)")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The base copula's name followed by the angle."""
        return f"{self.base.name}{self.rotation}"

    @property
    def parameter(self) -> Parameter:  # type: ignore[override]
        """Name and domain of theta, those of the base copula."""
        return self.base.parameter

    @property
    def theta(self) -> float:  # type: ignore[override]
        """The base copula's parameter."""
        return self.base.theta

    @property
    def _turns_u(self) -> bool:
        return self.rotation != 270

    @property
    def _turns_v(self) -> bool:
        return self.rotation != 90

    def with_theta(self, theta: float) -> "Rotated":
        return Rotated(self.base.with_theta(theta), self.rotation)

    @property
    def _signs(self) -> tuple[float, float]:
        """The signs of derivatives in u and in v."""
        return (-1.0 if self._turns_u else 1.0), (-1.0 if self._turns_v else 1.0)

    def _turn(self, *unit: *Unit) -> Unit:
        """The base copula's arguments; the map is its own inverse."""
        u, uc, v, vc = unit
        return *((uc, u) if self._turns_u else (u, uc)), *((vc, v) if self._turns_v else (v, vc))

    # ---- in coordinates a rotated copula equals its base ------------------------------------------------------------

    _mirror_images = property(attrgetter("base._mirror_images"))
    _scores_need_units = property(attrgetter("base._scores_need_units"))
    _margin = _of_base("_margin")
    _unmargin = _of_base("_unmargin")
    _logpdf = _of_base("_logpdf")
    _theta_derivatives = _of_base("_theta_derivatives")
    _prepare = _of_base("_prepare")
    _likelihood_sums = _of_base("_likelihood_sums")
    _nodes = _of_base("_nodes")
    _sample = _of_base("_sample")
    _information = _of_base("_information")
    _closed_domain = _of_base("_closed_domain")
    _scale = _of_base("_scale")
    _on_tensors = _of_base("_on_tensors")
    _tensor_sums = _of_base("_tensor_sums")
    _tensor_scores = _of_base("_tensor_scores")
    _tensor_margin = _of_base("_tensor_margin")
    _pair_loops = property(attrgetter("base._pair_loops"))
    _pair_sums = _of_base("_pair_sums")
    _pair_scores = _of_base("_pair_scores")
    _stencil_step = _of_base("_stencil_step")

    # ---- on the unit square it does not -----------------------------------------------------------------------------

    def _margin_tables(self, pair: Pair) -> Pair:
        turned, _ = self.base._margin_tables(pair[::-1])
        if self.rotation == 180:
            return turned, turned
        straight, _ = self.base._margin_tables(pair)
        return (turned, straight) if self._turns_u else (straight, turned)

    def _pair_tables(self, pair: Pair) -> PairTables | None:
        straight, turned = self.base._pair_tables(pair), self.base._pair_tables(pair[::-1])
        if straight is None or turned is None:
            return None
        first, second = (turned if turns else straight for turns in (self._turns_u, self._turns_v))
        sign_u, sign_v = self._signs
        return PairTables(first.x, second.y, sign_u * first.slope_x, sign_v * second.slope_y)

    @property
    def _margin_key(self) -> tuple[Any, ...]:
        return *self.base._margin_key, self.rotation

    def _coordinates(self, *unit: *Unit) -> Pair:
        return self.base._coordinates(*self._turn(*unit))

    def _unit(self, x: FloatArray, y: FloatArray) -> Unit:
        return self._turn(*self.base._unit(x, y))

    def _cdf(self, theta: float, x: FloatArray, y: FloatArray) -> FloatArray:
        base = self.base._cdf(theta, x, y)
        u, uc, v, _ = self.base._unit(x, y)
        if self.rotation == 180:
            return uc - v + base
        return (v if self._turns_u else u) - base

    def _conditional(self, theta: float, x: FloatArray, y: FloatArray) -> Pair:
        below, above = self.base._conditional(theta, x, y)
        return (above, below) if self._turns_u else (below, above)

    def _conditional_inverse(self, theta: float, p: FloatArray, v: FloatArray, vc: FloatArray) -> Pair:
        given = (vc, v) if self._turns_v else (v, vc)
        u, uc = self.base._conditional_inverse(theta, 1.0 - p if self._turns_u else p, *given)
        return (uc, u) if self._turns_u else (u, uc)

    def _unit_derivatives(self, theta: float, *unit: *Unit) -> Slopes:
        in_u, in_v, mixed_u, mixed_v = self.base._unit_derivatives(theta, *self._turn(*unit))
        sign_u, sign_v = self._signs
        return sign_u * in_u, sign_v * in_v, sign_u * mixed_u, sign_v * mixed_v

    def _score_derivatives(self, theta: float, x: FloatArray, y: FloatArray, *unit: *Unit) -> Slopes:
        first, second, in_u, in_v = self.base._score_derivatives(theta, x, y, *self._turn(*unit))
        sign_u, sign_v = self._signs
        return first, second, sign_u * in_u, sign_v * in_v

    def _exact_kl(self, other: Copula, accept: float) -> Integral:
        if isinstance(other, Rotated) and other.rotation == self.rotation:
            return self.base._exact_kl(other.base, accept)
        return super()._exact_kl(other, accept)

    def _same_family(self, other: Copula) -> bool:
        return False  # equal rotations are handled by the bases; different ones have different coordinates

    def _swapped(self) -> Copula:
        return self if self.rotation == 180 else Rotated(self.base, 360 - self.rotation)

    def _tau(self, theta: float) -> float:
        return math.prod(self._signs) * self.base._tau(theta) + 0.0  # + 0.0: no minus zero

    def _tau_at(self, end: str) -> float:
        return math.prod(self._signs) * self.base._tau_at(end) + 0.0

    def _tau_slope(self, theta: float) -> float:
        return math.prod(self._signs) * self.base._tau_slope(theta)

    def _theta_from_tau(self, tau: float) -> float:
        return self.base._theta_from_tau(math.prod(self._signs) * tau)

    def _taus(self, thetas: FloatArray) -> FloatArray:
        return math.prod(self._signs) * self.base._taus(thetas) + 0.0

    def _tau_slopes(self, thetas: FloatArray) -> FloatArray:
        return math.prod(self._signs) * self.base._tau_slopes(thetas)

    def _thetas_from_taus(self, taus: FloatArray) -> FloatArray:
        return self.base._thetas_from_taus(math.prod(self._signs) * taus)

    @property
    def tail(self) -> tuple[float, float]:
        return self.base.tail[::-1] if self.rotation == 180 else self.base._anti_tail

    @property
    def _anti_tail(self) -> tuple[float, float]:
        return self.base.tail


class _RotatedFamily(ABCMeta):
    """The type of `Rotated.family` classes: rotated copulas are their instances, and they can be pickled."""

    _choice: tuple[type[Copula], int]

    def __instancecheck__(cls, instance: object) -> bool:
        base, rotation = cls._choice
        return isinstance(instance, Rotated) and type(instance.base) is base and instance.rotation == rotation


copyreg.pickle(_RotatedFamily, lambda cls: (Rotated.family, cls._choice))  # type: ignore[arg-type, return-value]
