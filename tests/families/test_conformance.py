"""Every family through the same suite, and wrong families that must not pass it."""

from dataclasses import dataclass

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy._core.blocks import BLOCK
from copula_discrepancy.families.quadrature import ACCEPT
from tests.conformance import CHECKS, failures
from tests.refusals import refused

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


@pytest.mark.slow
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
        return self._information_integral(theta, ACCEPT).value * (1 + 1e-6)


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
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS) == 20


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


MANY = {
    "logpdf": lambda c, u, v: c.logpdf(u, v),
    "cdf": lambda c, u, v: c.cdf(u, v),
    "conditional_cdf": lambda c, u, v: c.conditional_cdf(u, v),
    "conditional_ppf": lambda c, u, v: c.conditional_ppf(u, v),
    "score": lambda c, u, v: c.score(u, v),
    "gradient": lambda c, u, v: np.stack(c.gradient(u, v)),
}


@pytest.mark.parametrize("what", MANY)
@pytest.mark.parametrize("copula", [cd.Gumbel(2.5), cd.StudentT(0.5, 4.0), cd.Rotated(cd.Clayton(2.0), 90)], ids=repr)
def test_many_points_of_any_shape_have_the_values_of_few(copula, what):
    """More than a block of them, in rows and columns that broadcast; neighbours across the blocks are not mixed up."""
    rng = np.random.default_rng(1)
    u, v = rng.uniform(0.01, 0.99, size=(92, 1)), rng.uniform(0.01, 0.99, size=(1, 90))
    assert u.size * v.size > BLOCK
    found = MANY[what](copula, u, v)
    assert found.shape[-2:] == (92, 90)
    few = np.stack([MANY[what](copula, row, v[0]) for row in u], axis=-2)
    np.testing.assert_allclose(found, few, rtol=1e-11, atol=1e-13)


def test_an_error_among_many_points_names_the_right_one():
    u, v = np.full(3 * BLOCK, 0.5), np.full(3 * BLOCK, 0.25)
    u[2 * BLOCK + 7] = 5e-324
    with refused() as caught:
        cd.Gumbel(2.0).gradient(u, v)
    for value in ("gradient", "Gumbel(theta=2.0)", "u=5e-324", "v=0.25"):
        assert value in str(caught.value)
