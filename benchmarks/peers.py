"""Other libraries: which of them are installed, and a small adapter for each, so that all of them do the same jobs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations
from typing import Any

import numpy as np

import copula_discrepancy as cd
from benchmarks.report import Report, error_in_a_line


class Missing(Exception):
    """The peer lacks this feature, or is not installed."""


@dataclass(frozen=True)
class Peer:
    """A library: its name on PyPI, the module that is used, and what for."""

    name: str
    module: str
    used_for: str


PEERS = {
    peer.name: peer
    for peer in (
        Peer("scipy", "scipy.stats", "Kendall's tau; ranks and maximum likelihood as in the paper"),
        Peer("pandas", "pandas", "matrix of Kendall's tau"),
        Peer("pyvinecopulib", "pyvinecopulib", "Kendall's tau, MLE, densities, samples, a loop over all pairs"),
        Peer("statsmodels", "statsmodels.distributions.copula.api", "densities, samples, the moment fit (it has no MLE)"),
        Peer("copulae", "copulae", "densities, samples, MLE"),
        Peer("openturns", "openturns", "Kendall's tau and its matrix, MLE, densities, samples"),
        Peer("stein-thinning", "stein_thinning.stein", "kernel Stein discrepancy"),
        Peer("mpmath", "mpmath", "reference values with fifty digits or more for the tables of accuracy"),
    )
}


@cache
def load(name: str) -> Any:
    """The peer's module; raises Missing with the reason if it cannot be used."""
    peer = PEERS[name]
    try:
        version(name)
    except PackageNotFoundError:
        raise Missing("not installed") from None
    try:
        return import_module(peer.module)
    except Exception as error:  # whatever goes wrong inside a foreign package is told in the table
        raise Missing(f"installed, but fails on import: {error_in_a_line(error)}") from error


def table() -> Report:
    """Every peer, its version or why it is missing, and what it is used for."""
    report = Report("Peers", ("library", "version", "used for"))
    for name, peer in PEERS.items():
        try:
            load(name)
            report.rows.append((name, version(name), peer.used_for))
        except Missing as missing:
            report.rows.append((name, f"missing: {missing}", peer.used_for))
    return report


def _vine_copula(copula: cd.Copula) -> Any:
    pv = load("pyvinecopulib")
    names = {"Gaussian": "gaussian", "StudentT": "student"}
    names |= {name: name.lower() for name in ("Clayton", "Gumbel", "Frank", "Joe")}
    if copula.name not in names:
        raise Missing(f"has no {copula.name}")
    parameters = [[copula.theta], [copula.df]] if isinstance(copula, cd.StudentT) else [[copula.theta]]
    return pv.Bicop(family=getattr(pv.BicopFamily, names[copula.name]), parameters=np.array(parameters, dtype=float))


def _statsmodels_copula(copula: cd.Copula) -> Any:
    api = load("statsmodels")
    if copula.name == "Gaussian":
        return api.GaussianCopula(corr=copula.theta, k_dim=2)
    if isinstance(copula, cd.StudentT):
        return api.StudentTCopula(corr=copula.theta, df=copula.df, k_dim=2)
    if copula.name not in ("Clayton", "Gumbel", "Frank"):
        raise Missing(f"has no {copula.name}")
    return getattr(api, f"{copula.name}Copula")(theta=copula.theta, k_dim=2)


def _copulae_copula(copula: cd.Copula) -> Any:
    copulae = load("copulae")
    if copula.name in ("Gaussian", "StudentT"):
        made = copulae.StudentCopula(2) if isinstance(copula, cd.StudentT) else copulae.GaussianCopula(2)
        made.params = np.array([copula.df, copula.theta] if isinstance(copula, cd.StudentT) else [copula.theta])
        return made
    if copula.name not in ("Clayton", "Gumbel", "Frank"):
        raise Missing(f"has no {copula.name}")
    return getattr(copulae, f"{copula.name}Copula")(copula.theta, 2)


def _openturns_copula(copula: cd.Copula) -> Any:
    ot = load("openturns")
    if copula.name in ("Gaussian", "StudentT"):
        matrix = ot.CorrelationMatrix(2)
        matrix[0, 1] = copula.theta
        return ot.StudentCopula(copula.df, matrix) if isinstance(copula, cd.StudentT) else ot.NormalCopula(matrix)
    if copula.name not in ("Clayton", "Gumbel", "Frank"):  # its JoeCopula is another family
        raise Missing(f"has no {copula.name}")
    return getattr(ot, f"{copula.name}Copula")(copula.theta)


Call = Callable[[], Any]
MATRIX_POINTS = 10_000  # an n x n matrix of doubles takes 0.8 GB
COPULA_PEERS = ("pyvinecopulib", "statsmodels", "copulae", "openturns")


def logpdf(peer: str, copula: cd.Copula, u: np.ndarray) -> Call:
    """The peer's log density of these points, as a job."""
    if peer == "pyvinecopulib":
        vine = _vine_copula(copula)
        columns = np.asfortranarray(u)
        return lambda: np.log(vine.pdf(columns))
    if peer == "statsmodels":
        model = _statsmodels_copula(copula)
        return lambda: np.asarray(model.logpdf(u))
    if peer == "copulae":
        made = _copulae_copula(copula)
        if copula.name == "StudentT" and len(u) > MATRIX_POINTS:
            raise Missing(f"fills an n x n matrix for its Student t density: {8e-9 * len(u) ** 2:.0f} GB here")
        return lambda: np.asarray(made.pdf(u, log=True))
    distribution, sample = _openturns_copula(copula), load("openturns").Sample(u)
    return lambda: np.asarray(distribution.computeLogPDF(sample)).ravel()


def sampler(peer: str, copula: cd.Copula, n: int) -> Call:
    """The peer's draws from this copula, as a job."""
    if peer == "pyvinecopulib":
        vine = _vine_copula(copula)
        draw = getattr(vine, "sample", None) or vine.simulate  # the name has changed between versions
        return lambda: np.asarray(draw(n))
    if peer == "statsmodels":
        model = _statsmodels_copula(copula)
        return lambda: np.asarray(model.rvs(n, random_state=np.random.default_rng(1)))
    if peer == "copulae":
        made = _copulae_copula(copula)
        return lambda: np.asarray(made.random(n, seed=1))
    distribution = _openturns_copula(copula)
    return lambda: np.asarray(distribution.getSample(n))


def likelihood_fit(peer: str, name: str, u: np.ndarray) -> Call:
    """The peer's maximum likelihood theta, as a job."""
    if peer == "pyvinecopulib":
        pv = load(peer)
        family = getattr(pv.BicopFamily, name.lower())
        controls = pv.FitControlsBicop(family_set=[family], parametric_method="mle", allow_rotations=False)
        return lambda: float(pv.Bicop.from_data(u, controls=controls).parameters[0, 0])
    if peer == "copulae":
        kind = getattr(load(peer), f"{name}Copula")

        def fit() -> float:
            made = kind(2.0, 2)
            made.fit(u, method="ml", to_pobs=False, verbose=0, x0=np.array([2.0]))
            return float(np.ravel(made.params)[0])

        return fit
    if peer == "openturns":
        ot = load(peer)
        sample, factory = ot.Sample(u), ot.MaximumLikelihoodFactory(getattr(ot, f"{name}Copula")())
        return lambda: float(factory.build(sample).getParameter()[0])
    raise Missing("has no maximum likelihood fit")


def moment_fit(name: str, u: np.ndarray) -> Call:
    """statsmodels' only fit, by Kendall's tau, as a job."""
    kind = getattr(load("statsmodels"), f"{name}Copula")
    return lambda: float(np.ravel(kind(k_dim=2).fit_corr_param(u))[0])


def kendall(peer: str, x: np.ndarray, y: np.ndarray) -> Call:
    """The peer's Kendall's tau, as a job."""
    if peer == "scipy":
        stats = load(peer)
        return lambda: float(stats.kendalltau(x, y).statistic)
    if peer == "pandas":
        first, second = load(peer).Series(x), load(peer).Series(y)
        return lambda: float(first.corr(second, method="kendall"))
    if peer == "pyvinecopulib":
        return lambda: float(_wdm()(x, y, "kendall"))
    sample = load("openturns").Sample(np.column_stack([x, y]))
    return lambda: float(sample.computeKendallTau()[0, 1])


def _wdm() -> Call:
    """pyvinecopulib's dependence measures, whose location depends on the version; raises if there are none."""
    library = load("pyvinecopulib")
    return getattr(library, "utils", library).wdm


def kendall_matrix(peer: str, values: np.ndarray) -> Call:
    """The peer's matrix of Kendall's tau, as a job."""
    if peer == "pandas":
        frame = load(peer).DataFrame(values)
        return lambda: frame.corr("kendall").to_numpy()
    if peer == "pyvinecopulib":
        columns = [np.ascontiguousarray(column) for column in values.T]

        def loop() -> np.ndarray:
            matrix, wdm = np.eye(len(columns)), _wdm()
            for i, j in combinations(range(len(columns)), 2):
                matrix[i, j] = matrix[j, i] = wdm(columns[i], columns[j], "kendall")
            return matrix

        return loop
    sample = load("openturns").Sample(values)
    return lambda: np.asarray(sample.computeKendallTau())
