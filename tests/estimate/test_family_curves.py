"""Tabulated functions of a family against the exact ones."""

import functools
import math
import warnings

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.estimate.family_curves import EXACT, TABULATED
from copula_discrepancy.estimate.likelihood import student_part, with_df
from copula_discrepancy.estimate.tails import CORNERS
from copula_discrepancy.families import candidates


def families(degrees=(1.0, 4.0, 25.0)):
    return [
        member
        for template, estimate_df in candidates()
        for member in ([with_df(template, df) for df in degrees] if estimate_df else [template])
    ]


# rotations are mirror images: one is enough where a table takes long
FEWER = [member for member in families((1.0, 25.0)) if not member.name.endswith("0") or member.name == "Clayton90"]
TAUS = (0.03, 0.07, 0.13, 0.22, 0.37, 0.52, 0.78, 0.88, 0.93)


def taus_of(template):
    low, high = template.tau_range
    return [tau for size in TAUS for tau in (size, -size) if low + 1e-3 < tau < high]


def name_of(template):
    inner = student_part(template)
    return template.name if inner is None else f"{template.name} df={inner.df:g}"


@pytest.mark.slow
@pytest.mark.parametrize("template", families(), ids=name_of)
def test_corner_shares_between_the_nodes(template):
    """To a hundredth of a standard error of 10^4 independent draws, sqrt(p (1-p)/n), and the slope to a thousandth."""
    for tau in taus_of(template):
        for corner in CORNERS.values():
            for p, q in ((0.1, 0.1), (0.0987, 0.1)):
                member = template, np.array([tau]), corner, np.array([p]), np.array([q]), 4000
                (share,), (slope,) = TABULATED.corner_shares(*member)
                (expected,), (expected_slope,) = EXACT.corner_shares(*member)
                assert share == pytest.approx(expected, abs=0.01 * math.sqrt(expected * (1.0 - expected) / 1e4))
                # four digits; of a corner that hardly any draw reaches, its logarithm to a twentieth is more than counts use
                assert share == pytest.approx(expected, rel=5e-4 if expected > 0.01 else 0.05)
                assert slope == pytest.approx(expected_slope, rel=1e-3, abs=3e-4)


@pytest.mark.slow
@pytest.mark.parametrize("template", families((1.0, 25.0)), ids=name_of)
def test_divergences_between_the_nodes(template):
    """Four digits, for members close together, far apart and beyond what is tabulated."""
    low, high = template.tau_range
    for tau in taus_of(template):
        for step in (1e-4, 0.02, -0.07, 0.3):
            if not (low + 1e-3 < tau + step < high - 1e-3):
                continue
            a, b = (template.with_theta(template._theta_from_tau(t)) for t in (tau, tau + step))
            both = (np.array([a.theta]), np.array([b.theta])), (np.array([tau]), np.array([tau + step]))
            assert EXACT.divergences(template, *both).value == pytest.approx([a.kl(b)], rel=1e-15)
            assert TABULATED.divergences(template, *both).value == pytest.approx([a.kl(b)], rel=5e-4), (tau, step)
        same = np.array([template._theta_from_tau(tau)]), np.array([tau])
        found = TABULATED.divergences(template, (same[0], same[0]), (same[1], same[1]))
        assert found.value == pytest.approx([0.0], abs=1e-15)


@pytest.mark.parametrize("share", [1.0, 0.7, 0.1])
@pytest.mark.parametrize("template", FEWER, ids=name_of)
def test_bias_between_the_nodes(template, share):
    """The module says: off by less than a hundredth of a standard error, of the shape gap that it corrects."""
    worst = 0.0, ""
    for tau in (tau for tau in taus_of(template) if abs(tau) in (0.22, 0.52, 0.88)):
        spread = shape_spread(template, tau)
        n, n_eff = 200, 200 * share
        member = template, np.array([template._theta_from_tau(tau)]), np.array([tau]), n, np.array([n_eff])
        off = abs(float(TABULATED.tau_biases(*member)[0] - EXACT.tau_biases(*member)[0]))
        if spread is not None:
            worst = max(worst, (off / (spread / math.sqrt(n_eff)), f"tau={tau}"))
    assert worst[0] < 0.01, worst


@functools.cache
def shape_spread(template, tau):
    """Standard deviation of the shape gap's influence at the truth; None where the fit sits on a bound."""
    truth = template.with_theta(template._theta_from_tau(tau))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        fitted = cd.fit(truth.sample(1000, rng=1), template, iid=True)
    return float(np.std(fitted.influence["shape"])) if fitted.regular else None
