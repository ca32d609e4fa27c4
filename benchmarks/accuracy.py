"""Accuracy: log densities to the corners of the unit square, Kendall's tau, entropies and fitted thetas, against mpmath."""

import warnings

import joblib
import mpmath as mp
import numpy as np

import copula_discrepancy as cd
from benchmarks import peers
from benchmarks.newton import newton_distance
from benchmarks.report import Report, error_in_a_line
from benchmarks.sizes import Sizes
from tests import reference

ASKED = {"Gumbel": "1e-12", "Clayton": "1e-12"}
MEMBERS: dict[str, tuple[cd.Copula, ...]] = {
    "Gumbel": tuple(cd.Gumbel(theta) for theta in (1.001, 1.1, 2.5, 10.0, 50.0)),
    "Clayton": tuple(cd.Clayton(theta) for theta in (1e-6, 1e-2, 1.0, 30.0, 80.0)),
    "Frank": tuple(cd.Frank(theta) for theta in (-30.0, -1.0, 1e-3, 5.0, 30.0)),
    "Joe": tuple(cd.Joe(theta) for theta in (1.001, 1.5, 3.0, 10.0, 30.0)),
    "A1": tuple(cd.A1(theta) for theta in (1.0, 2.0, 5.0)),
    "A2": tuple(cd.A2(theta) for theta in (1.0, 2.0, 5.0)),
    "Gaussian": tuple(cd.Gaussian(theta) for theta in (-0.95, 0.1, 0.6, 0.95, 0.999)),
    "StudentT": tuple(cd.StudentT(theta, df=df) for theta, df in ((0.6, 4.0), (-0.9, 2.5), (0.95, 30.0))),
}


def corner_points(decades: int) -> np.ndarray:
    """(points, 2): a grid of u and v from 1e-15 to 1 - 1e-15, a node per decade where there are 15."""
    near = np.logspace(-15, -1, decades)
    grid = np.concatenate([near, [0.3, 0.5, 0.7], 1 - near[::-1]])
    return np.column_stack([axis.ravel() for axis in np.meshgrid(grid, grid)])


def largest_error(values: np.ndarray, truth: np.ndarray) -> tuple[float, int]:
    """Largest |value - truth| / max(1, |truth|) of the finite values, and how many are not finite."""
    finite = np.isfinite(values)
    errors = np.abs(values[finite] - truth[finite]) / np.maximum(1.0, np.abs(truth[finite]))
    return float(np.max(errors, initial=0.0)), int(np.sum(~finite))


def corners(sizes: Sizes) -> Report:
    """log c of every family at the corners, ours and the peers'."""
    columns = ("logpdf", "points", "required", "met", "ours", *peers.COPULA_PEERS)
    report = Report("Corners: largest error of logpdf over max(1, |log c|), u and v from 1e-15 to 1 - 1e-15", columns)
    points = corner_points(sizes.grid)
    for name, copulas in MEMBERS.items():
        truth = [np.array([float(reference.logpdf(copula, *point)) for point in points]) for copula in copulas]
        thetas = [copula.theta for copula in copulas]
        found = [copula.logpdf(*points.T) for copula in copulas]
        error, lost = largest_error(np.concatenate(found), np.concatenate(truth))
        cells = [f"{error:.1e}" if lost == 0 else f"{error:.1e}, {lost} not finite"]
        cells += [peer_at_corners(peer, copulas, points, truth) for peer in peers.COPULA_PEERS]
        label = f"{name}, theta {min(thetas):g} to {max(thetas):g}"
        asked = ASKED.get(name, "-")
        reached = "-" if asked == "-" else "yes" if lost == 0 and error <= float(asked) else "no: not explained"
        report.rows.append((label, f"{len(points) * len(copulas):,}", asked, reached, *cells))
    report.note = (
        "Reference values: textbook formulas in mpmath with 60 digits. The error of a peer is that of its finite values, for "
        "the parameters it accepts; log(0) and log(inf) of a density that underflows or overflows count as not finite. "
        "pyvinecopulib moves u and v to at least 1e-10 from the edge."
    )
    return report


def peer_at_corners(peer: str, copulas: tuple[cd.Copula, ...], points: np.ndarray, truth: list[np.ndarray]) -> str:
    """The peer's largest error, its values that are not finite, and what it refuses."""
    values, expected, refused = [], [], []
    for copula, log_density in zip(copulas, truth, strict=True):
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                values.append(np.asarray(peers.logpdf(peer, copula, points)(), dtype=float).ravel())
                expected.append(log_density)
        except peers.Missing as missing:
            return f"- ({missing})"
        except Exception as error:  # what a foreign package refuses, and how, is its own affair; the table says it
            refused.append((f"{copula.theta:g}", error_in_a_line(error, 60)))
    if not values:
        return f"refuses all: {refused[0][1]}"
    error, lost = largest_error(np.concatenate(values), np.concatenate(expected))
    words = [f"{error:.1e}"]
    if lost:
        words.append(f"{lost:,} not finite")
    if refused:
        words.append(f"refuses theta {', '.join(theta for theta, _ in refused)}")
    return "; ".join(words)


def closed_forms() -> list[tuple[str, str, float, str]]:
    """Kendall's tau and entropies beside closed forms and an integral at 30 digits: (quantity, against, error, asked)."""
    rows = []

    def compare(what: str, copula: cd.Copula, value: float, against: str, truth: mp.mpf, asked: str) -> None:
        rows.append((f"{what} of {copula.name}({copula.theta:g})", against, abs(value / float(truth) - 1.0), asked))

    with mp.workdps(30):
        for frank in (cd.Frank(0.1), cd.Frank(5.0), cd.Frank(50.0)):
            t = mp.mpf(frank.theta)
            debye = mp.quad(lambda x: x / mp.expm1(x), [0, min(t, mp.mpf(5)), t]) / t
            compare("tau", frank, frank.tau, "Debye's integral", 1 - 4 / t * (1 - debye), "-")
        for clayton in (cd.Clayton(0.1), cd.Clayton(3.0), cd.Clayton(50.0)):
            t = mp.mpf(clayton.theta)
            compare("entropy", clayton, clayton.entropy(), "closed form", t / (1 + t) - mp.log(1 + t), "1e-8")
        for gumbel in (cd.Gumbel(1.1), cd.Gumbel(2.5), cd.Gumbel(20.0)):
            d = mp.mpf(gumbel.theta) - 1
            truth = -(mp.euler - 1 + 1 / (1 + d) + mp.log(d) + mp.exp(d) * mp.e1(d) / (1 + d))
            compare("entropy", gumbel, gumbel.entropy(), "closed form", truth, "1e-8")
        for gaussian in (cd.Gaussian(0.1), cd.Gaussian(0.6), cd.Gaussian(0.99)):
            truth = mp.log(1 - mp.mpf(gaussian.theta) ** 2) / 2
            compare("entropy", gaussian, gaussian.entropy(), "closed form", truth, "1e-8")
    return rows


def _distance(truth: cd.Copula, family: str, n: int) -> float:
    draws = truth.sample(n, rng=6)
    return newton_distance(cd.fit(draws, family), draws)


def accuracy(sizes: Sizes) -> Report:
    """Fitted thetas, Kendall's tau and entropies."""
    report = Report("Accuracy: relative errors", ("quantity", "against", "error", "required", "met"))
    jobs = [(cd.Gumbel(2.5), "Clayton"), (cd.Clayton(3.0), "Gumbel")]
    # the largest take minutes of Python each: side by side
    work = [(truth, family, n) for n in sizes.newton for truth, family in jobs]
    found = joblib.Parallel(n_jobs=-1)(joblib.delayed(_distance)(*one) for one in work)
    rows = [
        (f"theta of {family} fitted to {truth.name}, n = {n:,}", "30-digit Newton", error, "1e-10")
        for (truth, family, n), error in zip(work, found, strict=True)
    ]
    for quantity, against, error, asked in sorted(rows) + closed_forms():
        reached = "-" if asked == "-" else "yes" if error <= float(asked) else "no: not explained"
        report.rows.append((quantity, against, f"{error:.1e}", asked, reached))
    return report
