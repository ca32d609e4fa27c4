"""A copula with any margins as a target."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from copula_discrepancy._core.checks import FloatArray, RandomSource, real_array
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.kernels import scores as kernels
from copula_discrepancy.families import A1, A2, Clayton, Copula, Frank, Gaussian, Gumbel, Joe, Rotated, StudentT
from copula_discrepancy.studies.samplers.targets import Compiled, Target, points, set_fields

_PLAIN: dict[type[Copula], int] = {
    Gaussian: kernels.GAUSSIAN,
    Clayton: kernels.CLAYTON,
    Gumbel: kernels.GUMBEL,
    Joe: kernels.JOE,
}
# Below df = 1 quantiles at 25 normal scores overflow when squared, above 10^4 the continued fraction becomes long.
_COMPILED_DF = (1.0, 1e4)
_PROBABILITIES = np.linspace(0.05, 0.95, 31)  # a discrete distribution has equal quantiles among them
_MARGIN_METHODS = ("ppf", "cdf", "logpdf")
_LOG_2PI = 1.8378770664093453


@dataclass(frozen=True)
class MetaCopula(Target):
    """Two variables with the dependence of a copula and any continuous margins.

    Chains move in normal scores z, where the density is c(Phi(z1), Phi(z2)) phi(z1) phi(z2), and their states become draws
    through the margins' quantile functions, x = F^-1(Phi(z)), at the end of the run. So the speed and the sampler's errors in
    the dependence do not depend on the margins, and `scale`, `step` and `friction` of the samplers are in normal scores.
    `start` is on the scale of the draws. `log_density` (normalised) and `gradient` are those in normal scores.

    Beyond 25 normal scores, a probability of 3e-138, the density is treated as 0: there `log_density` is -inf and `gradient`
    NaN, so that Metropolis rejects and a gradient sampler reports a divergence.

    Chains of all families, rotated ones included, are compiled; for a StudentT with df below 1 or above 10000, and for copula
    classes from outside this package, they call the copula's vectorised methods at each step instead, with the same result.

    Parameters
    ----------
    copula : Copula
        Any copula, such as Gumbel(2.5) or Rotated(Clayton(3), 90).
    margins : pair of distributions, optional
        Frozen continuous scipy.stats distributions, or objects with the same methods ppf, cdf and logpdf (and, if available,
        isf and sf for the upper tail). None means standard normal margins.

    See Also
    --------
    metropolis, sgld, sghmc : Samplers for it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> import copula_discrepancy as cd
    >>> target = cd.MetaCopula(cd.Gumbel(2.5), (stats.expon(), stats.gamma(3.0)))
    >>> target.tau
    0.6
    >>> np.round(target.to_draws([[0.0, 0.0]]), 4)
    array([[0.6931, 2.6741]])
    """

    copula: Copula
    margins: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.copula, Copula):
            raise InputError(f"copula must be a copula such as Gumbel(2.5), got {self.copula!r:.60}")
        if self.margins is not None:
            set_fields(self, margins=_checked_margins(self.margins))

    def __repr__(self) -> str:
        if self.margins is None:
            return f"MetaCopula({self.copula!r})"
        return f"MetaCopula({self.copula!r}, margins=({', '.join(_margin_name(margin) for margin in self.margins)}))"

    @property
    def tau(self) -> float:
        """Kendall's tau of the copula."""
        return self.copula.tau

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Log density in normal scores, normalised; -inf beyond 25 of them.

        Parameters
        ----------
        x : array (..., 2)
            Normal scores.

        Returns
        -------
        array (...)
            One number per point.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.MetaCopula(cd.Gumbel(2.5)).log_density([[0.0, 0.0], [0.0, 30.0]]).round(4)
        array([-1.2272,    -inf])
        """
        z = points(x, 2)
        inside = np.all(np.abs(z) <= kernels.SCORE_LIMIT, axis=-1)
        out = np.where(np.isnan(z).any(axis=-1), np.nan, -np.inf)
        at = z[inside]
        first, second = at[..., 0], at[..., 1]
        unit = ndtr(first), ndtr(-first), ndtr(second), ndtr(-second)  # all four with full relative accuracy
        log_c = self.copula._logpdf(self.copula.theta, *self.copula._coordinates(*unit))
        out[inside] = log_c - 0.5 * np.sum(at**2, axis=-1) - _LOG_2PI
        return out[()]

    def gradient(self, x: ArrayLike) -> FloatArray:
        """Gradient of the log density in normal scores, d log c/du phi(z) - z; NaN beyond 25 of them.

        Parameters
        ----------
        x : array (..., 2)
            Normal scores.

        Returns
        -------
        array (..., 2)
            One vector per point.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.MetaCopula(cd.Gaussian(0.0)).gradient([1.0, -1.0]).round(6)
        array([-1.,  1.])
        """
        z = points(x, 2)
        inside = np.all(np.abs(z) <= kernels.SCORE_LIMIT, axis=-1)
        out = np.full(z.shape, np.nan)
        at = z[inside]
        out[inside] = self.copula._normal_gradient(at[..., 0], at[..., 1]).T
        return out

    def sample(self, n: int, *, rng: RandomSource = None) -> FloatArray:
        """An (n, 2) array of independent draws on the scale of the margins.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : int, Generator, SeedSequence or None
            Seed or source of randomness.

        Returns
        -------
        array (n, 2)
            The draws.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> cd.MetaCopula(cd.Gumbel(2.5)).sample(100, rng=1).shape
        (100, 2)
        """
        u = self.copula.sample(n, rng=rng)
        return self._quantiles(u, 1.0 - u)

    def to_draws(self, z: ArrayLike) -> FloatArray:
        """Normal scores (..., 2) as values of the variables.

        Parameters
        ----------
        z : array (..., 2)
            Normal scores.

        Returns
        -------
        array (..., 2)
            Values on the scale of the margins.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> from scipy import stats
        >>> cd.MetaCopula(cd.Gumbel(2.5), (stats.expon(), stats.norm())).to_draws([0.0, 0.0]).round(4)
        array([0.6931, 0.    ])
        """
        at = points(z, 2)
        return at if self.margins is None else self._quantiles(ndtr(at), ndtr(-at))

    def from_draws(self, x: ArrayLike) -> FloatArray:
        """Values of the variables (..., 2) as normal scores; values at or outside the ends of a margin raise an error.

        Parameters
        ----------
        x : array (..., 2)
            Values on the scale of the margins.

        Returns
        -------
        array (..., 2)
            Normal scores.

        Raises
        ------
        InputError
            For values at or outside the ends of a margin that was passed, or NaN; standard normal margins leave values
            unchanged.

        Examples
        --------
        >>> import copula_discrepancy as cd
        >>> from scipy import stats
        >>> cd.MetaCopula(cd.Gumbel(2.5), (stats.expon(), stats.norm())).from_draws([1.0, 1.0]).round(4)
        array([0.3375, 1.    ])
        """
        at = points(x, 2)
        if self.margins is None:
            return at
        scores = np.empty_like(at)
        for k, margin in enumerate(self.margins):
            below = real_array(margin.cdf(at[..., k]), f"cdf of margin {k}")
            above = real_array(margin.sf(at[..., k]), f"sf of margin {k}") if hasattr(margin, "sf") else 1.0 - below
            scores[..., k] = np.where(below < 0.5, ndtri(below), -ndtri(above))
        wrong = ~np.isfinite(scores)
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0])
            found = f"{at[place]:g} for margin {place[-1]}, whose distribution function is 0 or 1 there"
            raise InputError(f"draws must lie strictly inside the margins' supports, got {found}; start closer to its median")
        return scores

    def _quantiles(self, u: FloatArray, uc: FloatArray) -> FloatArray:
        """Quantiles from probabilities and their complements, using whichever is accurate."""
        if self.margins is None:
            return np.where(u < 0.5, ndtri(u), -ndtri(uc))
        draws = np.empty_like(u)
        for k, margin in enumerate(self.margins):
            upper = (u[..., k] > 0.5) & hasattr(margin, "isf")
            draws[..., k][~upper] = margin.ppf(u[..., k][~upper])
            if upper.any():
                draws[..., k][upper] = margin.isf(uc[..., k][upper])
        if not np.isfinite(draws).all():
            k = int(np.argwhere(~np.isfinite(draws))[0][-1])
            raise InputError(f"the quantile function of margin {k} is not finite; use a lighter tail", "infinite")
        return draws

    _chain_points, _draw_points = from_draws, to_draws

    def _compiled(self) -> Compiled | None:
        base, signs = self.copula, [1.0, 1.0]
        if isinstance(base, Rotated):
            # 1 - Phi(z) = Phi(-z): reversing a margin changes the sign of its score
            signs, base = list(base._signs), base.base
        family, theta = type(base), base.theta
        if family in _PLAIN:
            return _form(_PLAIN[family], [*signs, theta])
        if family is Frank:  # a negative theta is the mirror image of a positive one in u
            return _form(kernels.FRANK, [-signs[0] if theta < 0 else signs[0], signs[1], abs(theta)])
        if family in (A1, A2):
            return _form(kernels.HYPERBOLIC, [*signs, theta, theta if family is A1 else 1.0])
        if isinstance(base, StudentT) and family is StudentT and _COMPILED_DF[0] <= base.df <= _COMPILED_DF[1]:
            # the density at 0 is 1/(sqrt(df) B(df/2, 1/2)); betaln would lose digits to the difference of two log gammas
            log_beta = -float(base._log_margin_density(np.asarray(0.0))) - 0.5 * math.log(base.df)
            constant = float(base._logpdf(theta, np.asarray(0.0), np.asarray(0.0)))  # all other terms vanish at the centre
            return _form(kernels.STUDENT, [*signs, theta, base.df, log_beta, constant])
        return None


def _form(kind: int, params: list[float]) -> Compiled:
    return Compiled(kind, np.array(params), np.empty(0))


def _margin_name(margin: Any) -> str:
    """A frozen scipy distribution as Python code, if known."""
    law = getattr(getattr(margin, "dist", None), "name", None)
    if law is None:
        return f"{margin!r:.60}"
    named = [f"{name}={value!r}" for name, value in margin.kwds.items()]
    return f"{law}({', '.join([repr(value) for value in margin.args] + named)})"


def _checked_margins(margins: Any) -> tuple[Any, Any]:
    if not isinstance(margins, tuple | list) or len(margins) != 2:
        raise InputError(f"margins must be None or a pair of frozen scipy.stats distributions, got {margins!r:.60}")
    for k, margin in enumerate(margins):
        missing = [name for name in _MARGIN_METHODS if not callable(getattr(margin, name, None))]
        if missing or isinstance(margin, type):
            rule = "a frozen continuous distribution with ppf, cdf and logpdf, such as scipy.stats.norm(0, 1)"
            lacks = f" without {', '.join(missing)}" if missing else ""
            raise InputError(f"margin {k} must be {rule}, got {margin!r:.60}{lacks}")
        try:
            quantiles = real_array(margin.ppf(_PROBABILITIES), f"the quantiles of margin {k}").astype(np.float64)
        except TypeError:  # scipy.stats.gamma instead of scipy.stats.gamma(3.0)
            raise InputError(f"margin {k} must have its parameters fixed, such as gamma(3.0), got {margin!r:.60}") from None
        except InputError:
            raise
        except ValueError as error:
            raise InputError(f"margin {k} must be one distribution; its quantiles cannot be computed: {error!s:.80}") from None
        if quantiles.shape != _PROBABILITIES.shape or not np.isfinite(quantiles).all() or not (np.diff(quantiles) > 0).all():
            found = f"those at 0.05, 0.5, 0.95 are {quantiles.ravel()[[0, quantiles.size // 2, -1]].tolist()}"
            rule = f"margin {k} must be continuous, with finite, increasing quantiles"
            raise InputError(f"{rule}, but {found}; check its parameters")
    return margins[0], margins[1]
