"""Draws with the scores of a target: normal scores or pseudo-observations for a copula, or any values for a score function."""

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from copula_discrepancy._core.checks import real_array
from copula_discrepancy._core.errors import InputError
from copula_discrepancy._core.tensors.device import Device
from copula_discrepancy.data.draws import Draws
from copula_discrepancy.data.resident import at_home
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.families import Copula
from copula_discrepancy.studies.baselines.imq import Points


def copula_points(pair: RankedPair, copula: Copula, space: str) -> Points:
    """Normal scores or pseudo-observations, with the gradient of their log density under the copula."""
    parts = []
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # reported below, with the draw
        for u, uc, v, vc in pair.units():
            if space == "unit":
                parts.append(Points(np.stack([u, v]), np.stack(copula._unit_derivatives(copula.theta, u, uc, v, vc)[:2])))
            else:
                # each from the tail that is accurate
                scores = [np.where(p < 0.5, ndtri(p), -ndtri(q)) for p, q in ((u, uc), (v, vc))]
                parts.append(normal_points(copula, *scores))
    points = Points(*(np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("x", "score")))
    _require_finite(points, np.stack([pair.x, pair.y], axis=1))
    return points


def normal_points(copula: Copula, first: NDArray[np.float64], second: NDArray[np.float64]) -> Points:
    """Normal scores z with the gradient of log c(Phi(z)) phi(z1) phi(z2)."""
    return Points(np.stack([first, second]), copula._normal_gradient(first, second))


def scored_points(given: Draws, score: Any, whole: Any = None, device: Device | None = None) -> Points:
    """The draws with a user's score.

    `whole` is what the user passed as draws if it is an array on `device`: the score is then called with that array.
    """
    if not callable(score) or isinstance(score, type):
        rule = "target must be a copula with its parameter, such as Gumbel(2.5), or a score function"
        raise InputError(f"{rule}, got {score!r:.60}")
    _require_one_argument(score)
    if given.n_variables == 0:
        raise InputError("draws must have at least one variable, got none", "shape")
    x = given.values.reshape(-1, given.n_variables)
    found = score(x.copy() if whole is None else whole.reshape(-1, given.n_variables))
    slopes = real_array(at_home(found, device, "scores"), "the score")
    if slopes.shape != x.shape:
        rule = f"the score of {x.shape} draws must have the same shape, one gradient per draw"
        raise InputError(f"{rule}, got {slopes.shape}", "shape")
    points = Points(x.T, np.asarray(slopes, np.float64).T)
    _require_finite(points, x)
    return points


def _require_one_argument(score: Any) -> None:
    try:
        inspect.signature(score).bind(None)
    except TypeError:
        raise InputError("the score must be a function of one argument, the draws (n, d); others need a default") from None
    except ValueError:  # some compiled functions have no signature
        return


def _require_finite(points: Points, draws: NDArray[np.float64]) -> None:
    if not np.isfinite(np.sum(points.score)):  # of which large ones may overflow
        bad = ~np.isfinite(points.score).all(axis=0)
        if not bad.any():
            return
        first = int(np.argmax(bad))
        where = f"{int(bad.sum())} of {points.n} draws, first at draw {first}, {draws[first].tolist()!r:.80}"
        raise InputError(f"the score is not finite at {where}; omit these or rescale", "infinite")
