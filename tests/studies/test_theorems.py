"""The paper's statements that no other file tests, each with a case in which it has to fail; and the page that lists them all.

The page is docs/mathematics/theorems.md. Replications are seeded; where a rate is counted its band is the exact binomial one.
"""

import ast
import math
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, stats

import copula_discrepancy as cd

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "mathematics" / "theorems.md"
ARCHIMEDEAN = [cd.Clayton(3.0), cd.Gumbel(2.5), cd.Frank(5.0), cd.Joe(2.0), cd.A1(1.5), cd.A2(1.3)]


def concordance_at(copula, u, v):
    """E[sign((u - U)(v - V))] = 4 C(u, v) - 2u - 2v + 1, the mean concordance of a point with a draw of the copula."""
    return 4.0 * copula.cdf(u, v) - 2.0 * u - 2.0 * v + 1.0


@cache
def tau_deviation(copula):
    """The paper's sigma_tau: twice the standard deviation of the mean concordance, by quadrature."""
    x, y, weight = copula._nodes(copula.theta, 5)
    u, _, v, _ = copula._unit(x, y)
    values = 2.0 * concordance_at(copula, u, v)
    return math.sqrt(np.sum(weight * values**2) - np.sum(weight * values) ** 2)


@cache
def taus(copula, n, replications=400):
    """Kendall's tau of many samples."""
    rng = np.random.default_rng(1)
    return np.array([cd.kendall_tau(*copula.sample(n, rng=rng).T) for _ in range(replications)])


@cache
def pseudo_true(copula, family):
    """The member of a family that is next to a copula, by Kullback-Leibler divergence from it."""
    found = optimize.minimize_scalar(
        lambda theta: copula.kl(family(theta)), bounds=(0.3, 8.0), method="bounded", options={"xatol": 1e-6}
    )
    return family(float(found.x))


def band(replications, rate=0.05):
    """Smallest and largest count of an event with this rate, 99.9% of the time."""
    return stats.binom.ppf((5e-4, 1.0 - 5e-4), replications, rate)


# ---- definition 4.1, assumption 1 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("copula", ARCHIMEDEAN, ids=repr)
def test_generators_fall_are_convex_and_give_the_copula(copula):
    t = np.linspace(0.001, 0.999, 999)
    phi = np.exp(copula._log_generator(copula.theta, copula._margin(t, 1.0 - t)))
    assert np.all(np.diff(phi) < 0)
    assert np.all(np.diff(phi, 2) > 0)
    ends = np.array([1e-300, 1.0 - 1e-15])
    low, high = copula._log_generator(copula.theta, copula._margin(ends, np.array([1.0, 1e-15])))
    assert low > math.log(20.0)  # infinite in the limit: that of Frank grows as -log t, of A1 as a power of 1/t
    assert high < -15.0  # log 0 in the limit
    u, v = t[::111], t[::-111]
    total = np.log(np.interp(u, t, phi) + np.interp(v, t, phi))
    inverse = copula._unmargin(copula._inverse_log_generator(copula.theta, total))[0]
    assert inverse == pytest.approx(copula.cdf(u, v), rel=1e-9)


def test_a_generator_that_is_not_convex_gives_no_copula():
    """sqrt(1 - t) falls from 1 to 0 but is concave: a rectangle gets a negative probability."""

    def c(u, v):
        return max(1.0 - (math.sqrt(1.0 - u) + math.sqrt(1.0 - v)) ** 2, 0.0)

    def mass(c, a, b):
        return c(b, b) - 2.0 * c(a, b) + c(a, a)

    assert mass(c, 0.8, 0.9) < -0.01
    assert mass(lambda u, v: float(cd.Clayton(1.0).cdf(u, v)), 0.8, 0.9) > 0.0


@pytest.mark.parametrize(("family", "slope"), [(cd.Clayton, lambda t: 2 / (t + 2) ** 2), (cd.Gumbel, lambda t: 1 / t**2)])
def test_the_slope_of_tau_stays_away_from_zero(family, slope):
    grid = np.linspace(1.05, 20.0, 200)
    tau = np.array([family(theta).tau for theta in grid])
    assert np.all(np.diff(tau) > 0)
    assert np.gradient(tau, grid)[1:-1] == pytest.approx(slope(grid)[1:-1], rel=0.03)
    assert slope(grid).min() == slope(20.0) > 0
    assert family(1e6).tau - family(1e5).tau < 1e-4  # without compactness the slope falls to 0, and inversion is unstable


def test_on_the_boundary_half_of_all_fits_fail():
    """Independent draws: tau of the sample is negative half of the time, and Gumbel has no member with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        rng = np.random.default_rng(2)
        edge = sum(cd.fit(rng.uniform(size=(100, 2)), "gumbel", method="moment").on_bound == "lower" for _ in range(300))
        inside = sum(
            cd.fit(cd.Gumbel(2.5).sample(100, rng=rng), "gumbel", method="moment").on_bound is None for _ in range(300)
        )
    low, high = band(300, 0.5)
    assert low <= edge <= high
    assert inside == 300


# ---- theorems 1 and 2, corollary 4.1, definition 4.3, theorem 3 ------------------------------------------------------


def test_the_moment_cd_goes_to_zero_as_one_over_root_n():
    target = cd.Gumbel(2.5)
    sizes = np.array([100, 400, 1600, 6400])
    means = [np.mean(np.abs(taus(target, int(n), 120) - target.tau)) for n in sizes]
    slope = np.polyfit(np.log(sizes), np.log(means), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.1)  # a mean of 120 is known to 7%, the slope to 0.03
    fits = [cd.fit(target.sample(n, rng=3), "gumbel", method="moment").theta for n in (10**3, 10**5)]
    assert abs(fits[1] - 2.5) < 4 * tau_deviation(target) * 2.5**2 / math.sqrt(10**5)
    other = np.abs(taus(cd.Gumbel(2.0), 6400, 120) - target.tau)
    assert np.mean(other) == pytest.approx(0.1, abs=0.005)  # another strength: the CD goes to the difference of the taus


@pytest.mark.parametrize("target", [cd.Gumbel(2.5), cd.Clayton(3.0)], ids=repr)
def test_the_moment_cd_is_folded_normal(target):
    scaled = math.sqrt(500) * np.abs(taus(target, 500) - target.tau) / tau_deviation(target)
    assert stats.kstest(scaled, "halfnorm").pvalue > 0.001
    assert np.mean(scaled) == pytest.approx(math.sqrt(2 / math.pi), abs=4 * 0.603 / 20)  # of 400: never 0, though all is right
    assert stats.kstest(1.3 * scaled, "halfnorm").pvalue < 0.001
    assert stats.kstest(scaled, "norm").pvalue < 1e-10


@pytest.mark.parametrize("target", [cd.Gumbel(2.5), cd.Clayton(3.0)], ids=repr)
def test_a_known_deviation_holds_the_level(target):
    statistics = math.sqrt(500) * np.abs(taus(target, 500) - target.tau) / tau_deviation(target)
    low, high = band(400)
    assert low <= np.sum(statistics > stats.norm.ppf(0.975)) <= high
    weaker = target.from_tau(0.5)
    statistics = math.sqrt(500) * np.abs(taus(weaker, 500, 100) - target.tau) / tau_deviation(target)
    assert np.mean(statistics > stats.norm.ppf(0.975)) > 0.9


def test_equal_taus_are_not_equal_copulas():
    """Definition 4.3's two hypotheses are equivalent within a family only: on Clayton draws level sees nothing, shape all."""
    target, rng = cd.Gumbel(2.5), np.random.default_rng(4)
    results = [cd.discrepancy(cd.Clayton(3.0).sample(500, rng=rng), target, iid=True) for _ in range(100)]
    low, high = band(100)
    assert low <= sum(result.level.paper_test().reject for result in results) <= high
    assert sum(result.shape.pvalue < 0.05 for result in results) > 95


# ---- theorems 4 and 5, remark 4.2 ------------------------------------------------------------------------------------


def weighted_tau(points, weights):
    """tau-a of a discrete distribution: E[sign((X - X')(Y - Y'))], the paper's functional, all pairs."""
    signs = np.prod(np.sign(points[:, None] - points[None]), axis=2)
    return float(weights @ signs @ weights)


@pytest.mark.parametrize("place", [(0.1, 0.9), (0.5, 0.5), (0.0, 1.0)])
def test_at_the_kink_the_influence_is_absolute(place):
    """Mass epsilon at a point: CD moves by epsilon |IF(tau)|, to first order, in both directions away from 0."""
    points = np.vstack([cd.Gumbel(2.5).sample(300, rng=5), place])
    clean = np.append(np.full(300, 1 / 300), 0.0)
    own, step = weighted_tau(points, clean), 1e-6
    moved = weighted_tau(points, (1.0 - step) * clean + step * np.eye(301)[300])
    concordance = float(np.mean(np.prod(np.sign(points[300] - points[:300]), axis=1)))
    influence = 2.0 * (concordance - own)
    assert abs(moved - own) / step == pytest.approx(abs(influence), rel=1e-4)
    assert abs(influence) <= 2.0 * (1.0 + abs(own)) + 1e-12 <= cd.tau_influence_bound()
    if place == (0.0, 1.0):
        assert influence == pytest.approx(-2.0 * (1.0 + own))  # the sharper bound is reached in a corner


def test_the_bound_of_four_needs_perfect_dependence():
    line = np.linspace(0.001, 0.999, 300)
    concordance = np.mean(np.sign(0.0 - line) * np.sign(1.0 - line))
    assert 2.0 * (concordance - 1.0) == -cd.tau_influence_bound()
    for copula in (cd.Gumbel(2.5), cd.Clayton(3.0)):
        u, v = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 1, 101))
        influence = 2.0 * (concordance_at(copula, u, v) - copula.tau)
        assert np.max(np.abs(influence)) == pytest.approx(2.0 * (1.0 + copula.tau))  # 3.2, not 4


@pytest.mark.parametrize("delta", [0.05, 0.3, 0.8])
def test_the_contamination_bound_is_sharp(delta):
    """Foreign draws that are discordant with everything, themselves included, move tau by all of 4 delta - 2 delta^2."""
    own, foreign = np.linspace(0.4, 0.6, 20), np.linspace(0.0, 0.1, 20)
    points = np.vstack([np.column_stack([own, own]), np.column_stack([foreign, 1.0 - foreign])])
    clean, mixed = np.repeat([0.05, 0.0], 20), np.repeat([0.05 * (1 - delta), 0.05 * delta], 20)
    diagonal = (
        0.05  # of 20 points a pair is the same point twice with probability 1/20, which a continuous distribution has not
    )
    moved = weighted_tau(points, clean) / (1 - diagonal) - (
        weighted_tau(points, mixed) + diagonal * ((1 - delta) ** 2 - delta**2)
    )
    assert moved == pytest.approx(cd.contamination_bound(delta), rel=1e-9)


def test_both_bounds_fail_for_tau_b_with_heavy_ties():
    clean = np.repeat([[0.0, 0.0], [1.0, 1.0]], [980, 20], axis=0)
    mixed = np.repeat([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [960, 20, 10, 10], axis=0)
    moved = {kind: abs(cd.kendall_tau(*clean.T, variant=kind) - cd.kendall_tau(*mixed.T, variant=kind)) for kind in "ab"}
    assert moved["a"] < cd.contamination_bound(0.02) < moved["b"]
    nearly = np.repeat([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [980, 19, 1], axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        influence = cd.fit(nearly, "frank", method="moment").influence["tau"]
    assert np.max(np.abs(influence)) > cd.tau_influence_bound()


@pytest.mark.parametrize("target", [cd.Gumbel(2.5), cd.Frank(-4.0)], ids=repr)
def test_the_largest_moment_cd(target):
    line = np.linspace(0.0, 1.0, 50)
    opposite = np.column_stack([line, -math.copysign(1.0, target.tau) * line])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        worst = cd.discrepancy(opposite, target, method="moment", iid=True).cd_moment
    assert worst == pytest.approx(1.0 + abs(target.tau))
    assert worst < 2.0


# ---- remark 4.1 and theorem 6: the pseudo-true parameter -------------------------------------------------------------


def test_a_wrong_family_goes_to_its_nearest_member():
    truth = cd.Gumbel(2.5)
    draws, near = truth.sample(100_000, rng=6), pseudo_true(truth, cd.Clayton)
    likelihood, moment = (cd.fit(draws, "clayton", method=method) for method in ("mle", "moment"))
    assert abs(likelihood.tau - near.tau) < 4 * likelihood.spreads["tau_fitted"].se
    # the moment estimate goes elsewhere: to the tau of the draws, not to the smallest divergence
    assert moment.theta == pytest.approx(3.0, abs=0.1)
    assert truth.kl(cd.Clayton(3.0)) > 1.5 * truth.kl(near)


def test_shape_sees_what_the_mle_cd_is_blind_to():
    truth = cd.Gumbel(2.5)
    near = pseudo_true(truth, cd.Clayton)
    results = [cd.discrepancy(truth.sample(20_000, rng=seed), near, iid=True) for seed in range(10)]
    assert max(result.cd for result in results) < 0.02
    assert max(result.ckl for result in results) < 0.002  # all of the Shannon scores, too: they know theta only
    assert all(result.shape.value < -0.15 and result.shape.pvalue < 1e-6 for result in results)


def test_scores_go_to_the_pseudo_true_ones():
    truth, target = cd.Gumbel(2.5), cd.Clayton(3.0)
    near = pseudo_true(truth, cd.Clayton)
    draws = truth.sample(100_000, rng=7)
    result = cd.discrepancy(draws, target, iid=True)
    assert abs(result.ckl - near.kl(target)) < 4 * result.estimates["ckl"].se
    assert abs(result.ced - abs(near.entropy() - target.entropy())) < 4 * result.estimates["ced"].se
    simulated = cd.discrepancy(draws, target, iid=True, shannon="monte_carlo", m=200_000, rng=8)
    assert abs(simulated.ckl - result.ckl) < 4 * math.sqrt(simulated.estimates["ckl"].se ** 2 - result.estimates["ckl"].se ** 2)
    assert abs(result.ckl - near.kl(cd.Clayton(2.5))) > 10 * result.estimates["ckl"].se  # another target, another limit


# ---- section 5: entropy and divergence -------------------------------------------------------------------------------


@pytest.mark.parametrize("copula", [cd.Clayton(2.0), cd.Gumbel(2.0), cd.Frank(-4.0)], ids=repr)
def test_mutual_information_is_minus_the_entropy(copula):
    """Logistic and Gumbel-distributed margins: the integral of f log(f / (f_x f_y)) on a grid of the plane."""
    x, y = np.linspace(-32, 32, 1201), np.linspace(-3.5, 32, 1201)
    u, v = stats.logistic.cdf(x), stats.gumbel_r.cdf(y)
    log_c = copula.logpdf(*np.meshgrid(u, v, indexing="ij"))
    joint = np.exp(log_c) * np.outer(stats.logistic.pdf(x), stats.gumbel_r.pdf(y))
    information = float(np.sum(joint * log_c)) * (x[1] - x[0]) * (y[1] - y[0])
    assert information == pytest.approx(-copula.entropy(), rel=2e-3)  # of the trapezoidal rule
    correlation = float(np.sum(joint * np.outer(x - np.sum(joint * x[:, None]) / joint.sum(), y))) / joint.sum()
    correlation /= math.sqrt(stats.logistic.var() * stats.gumbel_r.var())
    assert (
        abs(-0.5 * math.log1p(-(correlation**2)) / information - 1.0) > 0.02
    )  # what a normal pair would have is another number


def test_divergence_tells_families_apart_at_one_tau():
    copulas = [family.from_tau(0.6) for family in (cd.Clayton, cd.Gumbel, cd.Frank, cd.A1, cd.A2)]
    for a in copulas:
        for b in copulas:
            assert (a.kl(b) == 0.0) if a is b else (a.kl(b) > 5e-4)  # A1 and A2 are the closest, 7e-4


def test_equal_entropies_are_not_equal_copulas():
    """CED is 0 for mirror images; CKL is not."""
    for one, other in ((cd.Frank(5.0), cd.Frank(-5.0)), (cd.Clayton(2.0), cd.Rotated(cd.Clayton(2.0), 180))):
        assert one.entropy() == pytest.approx(other.entropy(), abs=1e-12)
        assert one.kl(other) > 0.1
    grid = [cd.Gumbel(theta).entropy() for theta in (1.0, 1.5, 2.0, 3.0, 6.0)]
    assert np.all(np.diff(grid) < 0)  # in a family of one sign it falls with theta, and CED does identify it


def test_bounded_integrals_do_not_make_entropy_continuous():
    """The premise of lemma 1 is not enough: a mixture of independence and K blocks on the diagonal, share 1/log K.

    Its density goes to that of independence almost everywhere, the integrals of c |log c| stay bounded, its entropy goes to -1.
    """

    def integrals(k):
        share = 1.0 / math.log(k)
        inside, outside = 1.0 - share + share * k, 1.0 - share
        parts = inside / k * math.log(inside), (1.0 - 1.0 / k) * outside * math.log(outside)
        return -sum(parts), sum(map(abs, parts))

    entropies, sizes = np.array([integrals(10.0**power) for power in (10, 50, 150, 300)]).T
    assert np.max(sizes) < 1.5
    assert np.all(entropies < -0.8)
    assert entropies[-1] == pytest.approx(-1.0, abs=0.02)
    # within the families there is no such jump
    for family, theta in ((cd.Clayton, 3.0), (cd.Gumbel, 2.5), (cd.Gumbel, 1.0)):
        assert family(theta + 1e-9).entropy() == pytest.approx(family(theta).entropy(), abs=1e-7)


def envelope(u):
    """x + |log x| with x = -log u: square integrable under a uniform margin, hence under every copula."""
    x = -np.log(u)
    return x + np.abs(np.log(x))


@pytest.mark.parametrize(("family", "thetas"), [(cd.Clayton, (0.1, 1.0, 3.0, 20.0)), (cd.Gumbel, (1.0, 1.1, 2.5, 20.0))])
def test_log_densities_lie_under_an_envelope(family, thetas):
    """What lemmas 1 and 2 need: |log c_theta(u, v)| <= A + B (g(u) + g(v)) for all theta of a compact range."""
    p = np.concatenate([10.0 ** -np.arange(1.0, 16.0), np.linspace(0.01, 0.99, 50), 1.0 - 10.0 ** -np.arange(1.0, 16.0)])
    u, v = np.meshgrid(p, p)
    largest = max(float(np.max(np.abs(family(theta).logpdf(u, v)) / (1.0 + envelope(u) + envelope(v)))) for theta in thetas)
    assert largest < 3.0 * max(thetas) + 20.0
    cross = [float(np.mean(family(thetas[1]).logpdf(*family(3.0 + step).sample(20_000, rng=9).T))) for step in (0.0, 1e-6)]
    assert cross[1] == pytest.approx(cross[0], abs=1e-4)  # continuous in the other index, too
    normal = cd.Gaussian(0.9).logpdf(u, v) / (1.0 + np.sqrt(envelope(u)) + np.sqrt(envelope(v)))
    assert np.max(np.abs(normal)) > 20.0  # a smaller envelope is passed in the corners


# ---- theorem 7 and remark 5.2 ----------------------------------------------------------------------------------------


def test_ckl_away_from_zero_is_normal():
    truth, target = cd.Gumbel(2.0), cd.Gumbel(2.6)
    limit, rng = truth.kl(target), np.random.default_rng(10)
    n = m = 1500
    scores, simulated = [], []
    for k in range(100):
        draws = truth.sample(n, rng=rng)
        found = cd.discrepancy(draws, target, iid=True).estimates["ckl"]
        scores.append((found.value - limit) / found.se)
        simulated.append((cd.fit(draws, "gumbel").copula.kl(target, method="monte_carlo", m=m, rng=k) - limit) / found.se)
    assert np.std(scores) == pytest.approx(1.0, abs=4 / math.sqrt(200))
    assert abs(np.mean(scores)) < 0.6  # ranks and the curvature of CKL add a bias of order 1/n to an error of order 1/sqrt(n)
    assert stats.kstest((scores - np.mean(scores)) / np.std(scores), "norm").pvalue > 0.001
    # the condition m/n -> infinity: with m = n the simulation's own noise adds a good half to the variance
    assert np.std(simulated) > 1.1 * np.std(scores)


def divergence_and_slope(copula, target):
    """D(C_theta || C_target) and its derivative in theta, E[score log(c / c_target)]."""
    x, y, weight = copula._nodes(copula.theta, 3)
    ratio = copula._logpdf(copula.theta, x, y) - target._logpdf(target.theta, x, y)
    score = copula._theta_derivatives(copula.theta, x, y)[0]
    rest = ratio - (copula.theta - target.theta) * score  # the score has mean 0: what is left is of the result's order
    return np.sum(weight * rest), np.sum(weight * score * ratio)


def test_ckl_at_zero_is_chi_square():
    """2 n CKL / (I Sigma) of 250 samples, Sigma from their influence values; theta without the bias that ranks have."""
    target, rng = cd.Clayton(2.0), np.random.default_rng(11)
    x, y, weight = target._nodes(target.theta, 5)
    information = float(np.sum(weight * target._theta_derivatives(target.theta, x, y)[0] ** 2))
    statistics, wald = np.empty((2, 250))
    for k in range(250):
        fitted = cd.fit(target.sample(1000, rng=rng), "clayton", iid=True)
        se = fitted.spreads["theta"].se
        ckl, slope = divergence_and_slope(target.with_theta(fitted.theta - fitted.theta_bias), target)
        statistics[k], wald[k] = 2.0 * ckl / (information * se**2), ckl / (abs(slope) * se)
    assert stats.kstest(statistics, stats.chi2(1).cdf).pvalue > 0.001
    low, high = band(250)
    assert low <= np.sum(statistics > stats.chi2.ppf(0.95, 1)) <= high
    # it is half the root of the chi-square and needs four deviations; 5% would be 12, 3 and fewer with probability 0.002
    assert np.sum(wald > stats.norm.ppf(0.975)) <= 3
    assert wald == pytest.approx(0.5 * np.sqrt(statistics), rel=0.3)
    assert stats.kstest(statistics, stats.chi2(2).cdf).pvalue < 1e-6


# ---- the page --------------------------------------------------------------------------------------------------------

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
# as LaTeX numbers them: theorems, lemmas and assumptions through the paper, all others within their section
STATEMENTS = [
    "Remark 3.1", "Definition 4.1", "Assumption 1", "Definition 4.2", "Remark 4.1", "Theorem 1", "Theorem 2", "Corollary 4.1",
    "Definition 4.3", "Theorem 3", "Theorem 4", "Theorem 5", "Remark 4.2", "Definition 5.1", "Definition 5.2", "Remark 5.1",
    "Proposition 5.1", "Proposition 5.2", "Assumption 2", "Theorem 6", "Theorem 7", "Remark 5.2", "Lemma 1", "Lemma 2",
]  # fmt: skip


def sections(text):
    """Title and body of every section of the second level."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@cache
def test_functions(path):
    """Names of the test functions of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


test_functions.__test__ = False  # it is no test itself


def missing(text):
    """What a page names that is not there, and its sections that name nothing."""
    wrong = [title for title, body in sections(text).items() if not _TEST.search(body)]
    for path, name in _TEST.findall(text):
        if not (ROOT / path).is_file() or name not in test_functions(ROOT / path):
            wrong.append(f"{path}::{name}")
    return wrong


def test_every_statement_of_the_theorems_page_names_tests_that_exist():
    text = PAGE.read_text(encoding="utf-8")
    assert missing(text) == []
    titles = list(sections(text))
    for statement in STATEMENTS:
        assert any(re.match(rf"{re.escape(statement)}\b(?!\.\d)", title) for title in titles), statement
    # the check itself can fail
    assert missing("## Theorem 9\nnothing\n") == ["Theorem 9"]
    assert missing("## Theorem 9\n`tests/studies/test_theorems.py::test_none`\n") == [
        "tests/studies/test_theorems.py::test_none"
    ]
    assert missing("## Theorem 9\n`tests/test_nowhere.py::test_none`\n") == ["tests/test_nowhere.py::test_none"]
