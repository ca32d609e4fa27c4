"""Every family through the same suite, and wrong families that must not pass it."""

from dataclasses import dataclass

import numpy as np
import pytest

import copula_discrepancy as cd
from tests.conformance import CHECKS, failures

ORDINARY = [
    cd.Clayton(3.0),
    cd.Clayton(0.5),
    cd.Gumbel(2.5),
    cd.Gumbel(1.2),
    cd.Frank(5.0),
    cd.Frank(-3.0),
    cd.Frank(0.4),
    cd.Joe(2.0),
    cd.Joe(3.5),
    cd.A1(1.5),
    cd.A2(1.3),
    cd.Gaussian(0.6),
    cd.Gaussian(-0.7),
    cd.StudentT(0.5, df=4.0),
    cd.StudentT(-0.4, df=2.5),
]
TURNED = [cd.Rotated(cd.Clayton(2.0), r) for r in (90, 180, 270)] + [
    cd.Rotated(cd.Gumbel(2.0), 180),
    cd.Rotated(cd.Joe(2.2), 90),
    cd.Rotated(cd.StudentT(0.5, df=3.0), 90),
]


@pytest.mark.parametrize("copula", ORDINARY + TURNED, ids=repr)
def test_conforms(copula):
    assert failures(copula) == []


def test_every_family_is_in_the_suite():
    assert {type(copula) for copula in ORDINARY} == set(cd.FAMILIES)


@dataclass(frozen=True)
class WrongDensity(cd.Clayton):
    """A slip in one exponent."""

    def _logpdf(self, theta, x, y):
        return super()._logpdf(theta, x, y) + 0.02 * (x - 1.0)


@dataclass(frozen=True)
class WrongScore(cd.Gumbel):
    """A forgotten term in the derivative."""

    def _theta_derivatives(self, theta, x, y):
        first, second = super()._theta_derivatives(theta, x, y)
        return first - 1e-3, second


@dataclass(frozen=True)
class WrongSampler(cd.Frank):
    """Draws from a neighbour."""

    def _sample(self, theta, n, rng):
        return super()._sample(theta * 1.1, n, rng)


@dataclass(frozen=True)
class WrongTau(cd.Joe):
    """Tau of another family."""

    def _tau(self, theta):
        return 1.0 - 1.0 / theta


@dataclass(frozen=True)
class WrongEntropy(cd.A2):
    """An entropy off by one part in a million."""

    def _mutual_information(self, theta):
        return super()._mutual_information(theta) * (1 + 1e-6)


@dataclass(frozen=True)
class WrongTail(cd.Gaussian):
    """Tail dependence that a Gaussian copula does not have."""

    @property
    def tail(self):
        return 0.5, 0.5


@pytest.mark.parametrize(
    ("copula", "expected"),
    [
        (WrongDensity(3.0), "unit_mass"),
        (WrongScore(2.5), "score_is_slope"),
        (WrongSampler(5.0), "sampler_follows_cdf"),
        (WrongTau(2.5), "tau_is_integral"),
        (WrongEntropy(1.5), "entropy_override_is_default"),
        (WrongTail(0.3), "tails_are_limits"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, cd.Copula) else value,
)
def test_a_wrong_family_fails(copula, expected):
    assert expected in failures(copula)


def test_checks_are_all_run():
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS) == 18


@dataclass(frozen=True)
class Minimal(cd.Clayton):
    """Clayton without its closed forms: every default of the base classes at work."""

    def _logpdf(self, theta, x, y):
        return super(cd.Clayton, self)._logpdf(theta, x, y)

    def _theta_derivatives(self, theta, x, y):
        return super(cd.Clayton, self)._theta_derivatives(theta, x, y)

    def _margin_derivatives(self, theta, x, y):
        return None

    def _sample(self, theta, n, rng):
        return super(cd.Clayton, self)._sample(theta, n, rng)

    def _conditional_inverse(self, theta, p, v, vc):
        return super(cd.Clayton, self)._conditional_inverse(theta, p, v, vc)

    def _theta_from_tau(self, tau):
        return super(cd.Clayton, self)._theta_from_tau(tau)

    def _tau_slope(self, theta):
        return super(cd.Clayton, self)._tau_slope(theta)

    def _mutual_information(self, theta):
        return super(cd.Clayton, self)._mutual_information(theta)


def test_a_family_without_closed_forms_works_by_defaults():
    assert failures(Minimal(2.0)) == []
    draws = cd.Clayton(2.0).sample(500, rng=1)
    np.testing.assert_allclose(cd.fit(draws, Minimal).theta, cd.fit(draws, cd.Clayton).theta, rtol=1e-9)
