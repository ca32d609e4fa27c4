"""Form: coefficients in polynomials of ranks, their errors on draws and chains, the test, what is kept, and the pattern."""

import math

import numpy as np
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.estimate.basis import centred_ranks, polynomials, slopes
from copula_discrepancy.estimate.block import Block
from copula_discrepancy.estimate.family_curves import EXACT, TABULATED
from copula_discrepancy.estimate.form import FEWEST_FOR_FORM, form_gaps, order_for
from copula_discrepancy.estimate.form_target import copula_coefficients
from copula_discrepancy.estimate.pattern import Pattern
from copula_discrepancy.estimate.rank_table import RankedTable
from copula_discrepancy.estimate.ranks import rank_column
from tests.caveat_codes import codes_of, warned
from tests.compare.verdicts import FORM_UNTESTED
from tests.refusals import refused


def finished(x, y, *, iid=True, n_chains=1, order=4, keep=False):
    table = RankedTable.of_columns([np.ascontiguousarray(x).ravel(), np.ascontiguousarray(y).ravel()], n_chains)
    return Block(table, [(0, 1)], compare=False, iid=iid, order=order).finish(keep=keep)


def gap_of(draws, reference, **options):
    return form_gaps(finished(*draws, **options).form, finished(*reference, **options).form, None, np.ones(1, bool)).at(0)


def shapes(kind, rng, shape):
    """Two variables of a textbook posterior; every standard normal in it comes from `normal`, which may be a chain."""
    normal = (lambda: ar1(rng, shape)) if len(shape) > 1 else lambda: rng.standard_normal(shape)
    first, second = normal(), normal()
    if kind == "independent":
        return first, second
    if kind == "gaussian":
        return first, 0.8 * first + 0.6 * second
    if kind == "funnel":
        return first, np.exp(1.5 * first) * second
    if kind == "banana":
        return first, first**2 + 0.3 * second
    if kind == "cross":
        return first, np.sign(second) * first + 0.1 * normal()
    if kind == "ring":
        angle, radius = 2.0 * np.pi * stats.norm.cdf(first), 1.0 + 0.1 * second
        return radius * np.cos(angle), radius * np.sin(angle)
    scale = np.sqrt(sum(normal() ** 2 for _ in range(3)) / 3.0)
    return first / scale, second / scale  # "t3"


def ar1(rng, shape, rho=0.7):
    noise = rng.standard_normal(shape)
    chain = np.empty(shape)
    chain[:, 0] = noise[:, 0]
    for k in range(1, shape[1]):
        chain[:, k] = rho * chain[:, k - 1] + math.sqrt(1.0 - rho**2) * noise[:, k]
    return chain


# ---- coefficients and influence values -------------------------------------------------------------------------------


def test_polynomials_are_orthonormal_and_have_their_slopes():
    nodes, weights = np.polynomial.legendre.leggauss(20)
    u, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    values = polynomials(u, 8)
    np.testing.assert_allclose(values * weights @ values.T, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(slopes(u, 8), (polynomials(u + 1e-6, 8) - polynomials(u - 1e-6, 8)) / 2e-6, atol=1e-6)


def test_the_first_coefficient_is_spearmans_rho():
    x, y = np.random.default_rng(1).standard_normal((2, 257))
    rho = stats.spearmanr(x, y).statistic
    assert finished(x, y).form.means[0, 0] == pytest.approx(rho * (1.0 - 257.0**-2), rel=1e-12)


@pytest.mark.parametrize("digits", [None, 1, 0])
def test_influence_values_by_brute_force(digits):
    """Every pair of draws in the double sums of the definition; with ties, equal draws count by halves."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(60)
    y = 0.5 * x**2 + rng.standard_normal(60)
    x, y = (x, y) if digits is None else (x.round(digits), y.round(digits))
    u, v = (centred_ranks(rank_column(column)) for column in (x, y))
    phi, psi, steep, steep_psi = polynomials(u), polynomials(v), slopes(u), slopes(v)
    above_x, above_y = (np.greater.outer(c, c) + 0.5 * np.equal.outer(c, c) for c in (x, y))  # [j, i]: x_j above x_i
    block = finished(x, y, keep=True)
    kept = block.form_influence[0].reshape(4, 4, 60)
    for j in range(4):
        for k in range(4):
            through_x = (steep[j] * psi[k]) @ above_x / 60
            through_y = (phi[j] * steep_psi[k]) @ above_y / 60
            expected = phi[j] * psi[k] + through_x + through_y
            np.testing.assert_allclose(kept[j, k], expected - expected.mean(), atol=1e-11)
            assert block.form.means[0, 4 * j + k] == pytest.approx(np.mean(phi[j] * psi[k]), abs=1e-13)


def test_errors_are_those_of_repeated_samples():
    """Without the rank terms the error of (1, 1) would be twice too large here, and that of (1, 2) in a funnel thrice."""
    for kind, cells in (("gaussian", (0, 1, 5)), ("funnel", (0, 1, 4))):
        rng = np.random.default_rng(3)
        forms = [finished(*shapes(kind, rng, (400,))).form for _ in range(300)]
        spread = np.std([form.means[0] for form in forms], axis=0)
        told = np.sqrt(np.mean([form.se[0] ** 2 for form in forms], axis=0))
        np.testing.assert_allclose((told / spread)[list(cells)], 1.0, atol=0.12)  # 300 runs: 0.04


def test_swapping_the_variables_transposes_everything():
    x, y = shapes("banana", np.random.default_rng(4), (500,))
    other = shapes("independent", np.random.default_rng(5), (500,))
    straight, turned = gap_of((x, y), other), gap_of((y, x), other[::-1])
    np.testing.assert_allclose(straight.own.reshape(4, 4), turned.own.reshape(4, 4).T, atol=1e-13)
    np.testing.assert_allclose(straight.errors.reshape(4, 4), turned.errors.reshape(4, 4).T, atol=1e-13)
    assert math.log(straight.pvalue) == pytest.approx(math.log(turned.pvalue), rel=1e-6)
    assert straight.value == pytest.approx(turned.value, rel=1e-9)


# ---- known copulas ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.0, 0.5, 0.95])
def test_coefficients_of_a_gaussian_copula(rho):
    """Spearman's rho has a closed form; the mirror image has the signs of odd first orders changed."""
    found = copula_coefficients(cd.Gaussian(rho), 4).reshape(4, 4)
    assert found[0, 0] == pytest.approx(6.0 / np.pi * np.arcsin(rho / 2.0), abs=1e-6)
    np.testing.assert_allclose(found, found.T, atol=1e-6)
    mirrored = copula_coefficients(cd.Gaussian(-rho), 4).reshape(4, 4)
    np.testing.assert_allclose(found, mirrored * np.array([-1.0, 1.0, -1.0, 1.0])[:, None], atol=1e-6)


@pytest.mark.parametrize("tau", [0.25, 0.69, 0.71, 0.97])
@pytest.mark.parametrize("name", ["clayton", "gumbel", "frank", "joe", "clayton180"])
def test_coefficients_of_a_copula_are_those_of_its_draws(name, tau):
    """Below 0.7 the distribution function is integrated, above it the conditional quantiles; both agree with 1e5 draws."""
    copula = cd.family(name).from_tau(tau)
    form = finished(*copula.sample(100_000, rng=6).T).form
    z = (form.means[0] - copula_coefficients(copula, 4)) / form.se[0]
    assert np.max(np.abs(z)) < 4.0


@pytest.mark.parametrize("template", [cd.Clayton(2.0), cd.Gumbel(2.0), cd.Frank(5.0), cd.StudentT(0.5, df=3.3)], ids=str)
def test_tabulated_coefficients_are_the_exact_ones(template):
    for tau in (0.17, 0.52, 0.83):
        exact, tabulated = (
            [part[0] for part in curves.coefficients(template, np.array([tau]), 4)] for curves in (EXACT, TABULATED)
        )
        np.testing.assert_allclose(tabulated[0], exact[0], atol=5e-4)
        np.testing.assert_allclose(tabulated[1], exact[1], atol=0.02)


# ---- the test ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["independent", "gaussian", "banana", "t3"])
def test_size(kind):
    rng = np.random.default_rng(7)
    pvalues = [gap_of(shapes(kind, rng, (300,)), shapes(kind, rng, (300,))).pvalue for _ in range(300)]
    assert 0.015 <= np.mean(np.array(pvalues) < 0.05) <= 0.09  # 5% and three errors


def test_size_on_chains():
    rng = np.random.default_rng(8)
    shape = 4, 300
    pairs = ((shapes("funnel", rng, shape), shapes("funnel", rng, shape)) for _ in range(150))
    pvalues = [gap_of(*pair, iid=False, n_chains=4).pvalue for pair in pairs]
    assert np.mean(np.array(pvalues) < 0.05) <= 0.1
    ignoring = (gap_of(shapes("gaussian", rng, shape), shapes("gaussian", rng, shape)).pvalue < 0.05 for _ in range(60))
    assert np.mean([*ignoring]) > 0.12  # as if draws were independent


def test_power_where_tau_is_zero():
    """A weak banana and a weak funnel against independence: level sees nothing."""
    rng = np.random.default_rng(9)
    bent = lambda z, e: (z, 0.2 * z**2 + e)  # noqa: E731
    wide = lambda z, e: (z, np.exp(0.15 * z) * e)  # noqa: E731
    for weak, least in ((bent, 0.65), (wide, 0.35)):
        found = [gap_of(weak(*rng.standard_normal((2, 500))), rng.standard_normal((2, 500))).pvalue < 0.05 for _ in range(100)]
        assert np.mean(found) > least


def test_what_is_kept():
    """Half of the rows independent of each other keep half; the interval covers the truth; too little is not known."""
    rng = np.random.default_rng(10)
    inside = 0
    for _ in range(100):
        x, y = shapes("ring", rng, (400,))
        mixed = np.where(rng.random(400) < 0.5, y, rng.permutation(y))
        gap = gap_of((x, mixed), shapes("ring", rng, (400,)))
        inside += abs(gap.kept - 0.5) < gap.kept_spread.reach(0.95)
    assert inside >= 88
    assert math.isnan(gap_of(shapes("ring", rng, (400,)), shapes("independent", rng, (400,))).kept)


def test_slow_margins_widen_the_errors():
    """Volatility that comes in clusters: the ranks of few independent stretches; the jackknife's errors are wider."""
    rng = np.random.default_rng(11)
    scale = np.exp(ar1(rng, (2, 2000), rho=0.99))
    x, y = scale[:1] * rng.standard_normal((1, 2000)), scale[:1] * rng.standard_normal((1, 2000))
    slow, fast = finished(x, y, iid=False).form.se[0], finished(x, y, iid=True).form.se[0]
    assert np.median(slow / fast) > 1.1


# ---- patterns ---------------------------------------------------------------------------------------------------------

LOST = {
    "funnel": "spread second", "banana": "bend second", "cross": "together", "ring": "apart",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")  # of families that do not fit
@pytest.mark.parametrize("kind", LOST)
def test_dependence_that_has_no_tau_is_found_and_named(kind):
    rng = np.random.default_rng(12)
    for _ in range(3):
        x, y = shapes(kind, rng, (4, 500))
        lost = np.stack([shapes(kind, rng, (4, 500))[0], shapes(kind, rng, (4, 500))[1]], -1)
        reference = np.stack([x, y], -1)
        for samples, change in (((lost, reference), "lost"), ((reference, lost), "added")):
            result = cd.discrepancy(*samples)
            assert result.outcome == "gap"
            assert Pattern.known(result.form.code) == (LOST[kind], change)
            assert result.form.kept.value < 0.2 or change == "added"
        turned = cd.discrepancy(lost[..., ::-1], reference[..., ::-1]).form.code
        mirrored = LOST[kind].replace("second", "first")
        assert turned == f"{mirrored}: lost"


@pytest.mark.parametrize("kind", LOST)
def test_no_family_fits(kind):
    draws = np.stack(shapes(kind, np.random.default_rng(13), (2000,)), -1)
    (gap,) = cd.pairwise(draws, iid=True)
    assert gap.flagged
    assert math.isnan(gap.kept)
    if kind != "cross":  # a t copula of small df is close to it
        assert Pattern.known(str(cd.pairwise(draws, iid=True).rows[0]["pattern"])).kind == LOST[kind]


@pytest.mark.parametrize(("draws", "target"), [(cd.Clayton(3.0), cd.Gumbel(2.5)), (cd.Gumbel(2.5), cd.Clayton(3.0))])
def test_what_is_reversed_is_told_as_the_target_has_it(draws, target):
    result = cd.discrepancy(draws.sample(2000, rng=1), target, iid=True)
    corner = "high high" if target.tail[1] > target.tail[0] else "low low"
    assert result.form.code == f"{corner}: reversed"


def test_strength_alone_has_no_pattern():
    weak, strong = (cd.Gaussian(rho).sample(2000, rng=14) for rho in (0.3, 0.8))
    result = cd.discrepancy(weak, strong, iid=True)
    assert result.form.pvalue < 1e-6
    assert result.form.pattern == ""
    assert 0.1 < result.form.kept.value < 0.5


# ---- chains, few draws, few values ----------------------------------------------------------------------------------------


def test_chains_on_different_arms_disagree_in_form():
    """Each chain has one arm of an X mirrored so that every chain's tau is 0, but its ring is another one."""
    rng = np.random.default_rng(15)
    chains = [np.stack(shapes("independent", rng, (1000,)), -1) for _ in range(2)]
    chains += [np.stack(shapes("ring", rng, (1000,)), -1) for _ in range(2)]
    with warned("chains-disagree-form"):
        result = cd.discrepancy(np.stack(chains), cd.Gaussian(0.0))
    assert result.rhat < 1.01
    assert result.form_rhats[0] > 1.02
    same = np.stack([np.stack(shapes("ring", rng, (1000,)), -1) for _ in range(4)])
    assert "chains-disagree-form" not in codes_of(cd.discrepancy(same, same[::-1] + 0.01, family="gaussian"))


def test_few_draws_allow_a_lower_order():
    assert [order_for(n, 4) for n in (20, FEWEST_FOR_FORM, 54, 96, 10_000)] == [1, 2, 3, 4, 4]
    draws, reference = (cd.Gaussian(0.3).sample(60, rng=seed) for seed in (16, 17))
    with warned("few-effective-draws"):
        form = cd.discrepancy(draws, reference, iid=True).form
    assert form.tested_order == 3
    assert np.isnan(form.coefficients[3]).all()
    assert math.isfinite(form.pvalue)


def test_few_values_allow_few_polynomials():
    rng = np.random.default_rng(18)
    flag = rng.integers(0, 2, (2, 1500))
    amount = rng.standard_normal((2, 1500)) * np.array([np.ones(1500), 1.0 + flag[1]])
    with warned("few-values"):
        result = cd.pairwise(*(np.stack([flag[k], amount[k]], -1) for k in range(2)), iid=True)
    assert Pattern.known(str(result.rows[0]["pattern"])).kind == "spread second"  # the spread differs, in one sample
    assert result[0].flagged


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
def test_what_cannot_be_tested_is_no_tick():
    rng = np.random.default_rng(19)
    x = rng.standard_normal(300)
    assert math.isnan(cd.pairwise(np.column_stack([x, x]), np.column_stack([x, x]) + 0.1, iid=True)[0].form_pvalue)
    few = cd.discrepancy(*(cd.Gaussian(0.3).sample(22, rng=seed) for seed in (20, 21)), iid=True)
    assert few.verdict == FORM_UNTESTED


@pytest.mark.parametrize("order", [0, 9, 2.5, "4", True, None])
def test_orders_that_do_not_exist(order):
    draws = cd.Gaussian(0.3).sample(100, rng=22)
    for call in (cd.discrepancy, cd.pairwise):
        with refused("argument"):
            call(draws, cd.Gaussian(0.3), order=order, iid=True)


def test_another_order():
    draws = np.stack(shapes("ring", np.random.default_rng(23), (1000,)), -1)
    forms = [cd.discrepancy(draws, cd.Gaussian(0.0), order=order, iid=True).form for order in (1, 2, 8)]
    assert [form.coefficients.shape for form in forms] == [(1, 1), (2, 2), (8, 8)]
    assert math.isnan(forms[0].pvalue)  # Spearman's rho alone is no form
    assert forms[1].pvalue < 1e-6
    np.testing.assert_allclose(forms[2].coefficients[:2, :2], forms[1].coefficients, atol=1e-13)


def test_the_density_is_that_of_the_coefficients():
    draws = cd.Clayton(2.0).sample(3000, rng=24)
    form = cd.discrepancy(draws, cd.Clayton(2.0), iid=True).form
    nodes, weights = np.polynomial.legendre.leggauss(16)
    u, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    for target, coefficients in ((False, form.coefficients), (True, form.target_coefficients)):
        density = form.density(u, u, target=target)
        assert weights @ density @ weights == pytest.approx(1.0)
        np.testing.assert_allclose(polynomials(u) * weights @ density @ (polynomials(u) * weights).T, coefficients, atol=1e-12)
    difference = form.density(u, u) - form.density(u, u, target=True)
    squared = weights @ difference**2 @ weights
    assert form.value**2 <= squared  # without the part that chance adds


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")  # the chain that stands still
@pytest.mark.parametrize("place", [0.5, 1.0])
def test_a_chain_that_stands_still_is_no_certainty(place):
    """Influence values of some coefficients vary little between chains by chance, as if thousands of draws knew them."""
    correlation = np.full((6, 6), 0.6) + 0.4 * np.eye(6)
    certain, pairs = 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        draws, reference = rng.multivariate_normal(np.zeros(6), correlation, (2, 4, 1000))
        draws[3] = place * np.array([1, -1, 1, -1, 1, -1])
        result = cd.pairwise(draws, reference, n_jobs=1)
        certain += int(np.sum(result.rows["form_pvalue"] < 1e-3))
        pairs += len(result)
    assert pairs == 45
    assert certain == 0
