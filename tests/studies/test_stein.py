"""The kernel Stein discrepancy against brute force, its mean under the target, its tests, and bad input."""

import math
import tracemalloc

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

import copula_discrepancy as cd
from copula_discrepancy.estimate.pair import RankedPair
from copula_discrepancy.estimate.ranks import rank_column
from copula_discrepancy.studies.baselines import imq, points, resampling
from tests.caveat_codes import codes_of, warned
from tests.numerals import numerals
from tests.refusals import refused


def stein_matrix(x, s, c=1.0, beta=-0.5):
    """k_p(x_i, x_j) for all i and j, term by term from the definition with k = (c^2 + r^2)^beta."""
    gap = x[:, None] - x[None]
    r2 = (gap**2).sum(-1)
    q = c * c + r2
    k = q**beta
    gradient = (2 * beta * q ** (beta - 1))[..., None] * gap  # in the first argument; minus it in the second
    trace = -2 * beta * x.shape[1] * q ** (beta - 1) - 4 * beta * (beta - 1) * q ** (beta - 2) * r2
    return (s @ s.T) * k - np.einsum("id,ijd->ij", s, gradient) + np.einsum("jd,ijd->ij", s, gradient) + trace


def statistics(matrix):
    n = len(matrix)
    return (matrix.sum() - np.trace(matrix)) / (n * (n - 1)), matrix.mean()


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize(("c", "beta"), [(1.0, -0.5), (0.3, -0.5), (2.0, -0.8)])
@pytest.mark.parametrize("n", [2, 17, 600, 1100])  # one tile, several, and dealt out to threads
def test_equals_brute_force(d, c, beta, n):
    x = np.random.default_rng(n + d).normal(0.0, 2.0, (n, d))

    def score(points):
        return np.cos(points) - points

    matrix = stein_matrix(x, score(x), c, beta)
    u, v = statistics(matrix)
    tolerance = {"rtol": 1e-11, "atol": 1e-13 * np.abs(matrix).mean()}  # sums of n^2 terms in another order
    np.testing.assert_allclose(cd.ksd(x, score, c=c, beta=beta, iid=True).value, u, **tolerance)
    np.testing.assert_allclose(cd.ksd(x, score, c=c, beta=beta, iid=True, statistic="v").value, v, **tolerance)


@pytest.mark.parametrize(
    "copula", [cd.Clayton(3.0), cd.Gumbel(2.5), cd.StudentT(0.5, df=4.0), cd.Rotated(cd.Joe(2.0), 90)], ids=repr
)
@pytest.mark.parametrize("space", ["normal", "unit"])
def test_copula_scores_are_gradients_of_the_log_density(copula, space):
    """The points' scores by differences of the log density on the same scale."""
    draws = copula.sample(60, rng=3)
    found = points.copula_points(RankedPair.from_draws(draws), copula, space)
    u = cd.pseudo_observations(draws)
    x = ndtri(u) if space == "normal" else u
    np.testing.assert_allclose(found.x.T, x, rtol=1e-12)

    def log_density(at):
        if space == "unit":
            return copula.logpdf(*at.T)
        from scipy.special import ndtr

        return copula.logpdf(*ndtr(at).T) - 0.5 * (at**2).sum(axis=1)

    h = 1e-6
    for k, axis in enumerate(np.eye(2)):
        slope = (log_density(x + h * axis) - log_density(x - h * axis)) / (2 * h)
        np.testing.assert_allclose(found.score[k], slope, rtol=1e-5, atol=1e-5)  # of the differences: h^2 and 1e-16/h


def test_known_margins_take_the_values_themselves():
    u = cd.Gumbel(2.0).sample(300, rng=1)
    target = cd.Gumbel(2.0)
    scores = np.stack(target.gradient(*u.T), axis=1)
    expected = statistics(stein_matrix(u, scores))[0]
    with warned("not-a-discrepancy"):
        result = cd.ksd(u, target, space="unit", margins="uniform", iid=True)
    assert result.value == pytest.approx(expected, rel=1e-10)
    assert math.isfinite(result.se)


def test_vanishes_on_target_on_normal_scores_but_not_on_the_unit_square():
    """With known margins the U-statistic has mean 0 under Stein's identity: that of normal scores, not of the square."""
    target = cd.Clayton(3.0)
    samples = [target.sample(300, rng=seed) for seed in range(60)]
    normal = np.array([cd.ksd(draws, target, margins="uniform", iid=True, n_jobs=1).value for draws in samples])
    assert abs(normal.mean()) < 4 * normal.std(ddof=1) / math.sqrt(60)
    with warned("not-a-discrepancy"):
        ranked = [cd.ksd(target.sample(2000, rng=seed), target, space="unit", iid=True).value for seed in range(8)]
    assert np.mean(ranked) < -2.0  # settles near -4
    off = [cd.ksd(cd.Gumbel(2.5).sample(500, rng=seed), target, iid=True).value for seed in range(8)]
    assert min(off) > 0.08  # 0.14 on average
    on = [cd.ksd(target.sample(500, rng=seed), target, iid=True).value for seed in range(8)]
    assert max(np.abs(on)) < 0.04  # -0.018 on average


def test_the_unit_square_is_marked_as_no_discrepancy():
    draws = cd.Clayton(3.0).sample(100, rng=1)
    with warned("not-a-discrepancy"):
        result = cd.ksd(draws, cd.Clayton(3.0), space="unit")
    assert not result.is_discrepancy
    assert codes_of(result) == ["not-a-discrepancy"]
    assert result.to_dict()["warnings"] == list(result.warnings)
    valid = cd.ksd(draws, cd.Clayton(3.0))
    assert valid.is_discrepancy
    assert codes_of(valid) == []


def test_digits_do_not_depend_on_threads():
    draws = cd.Gumbel(2.0).sample(1500, rng=2)
    values = {cd.ksd(draws, cd.Clayton(2.0), n_jobs=jobs).value for jobs in (1, 2, 3, None)}
    assert len(values) == 1


def test_memory_grows_with_n_not_with_its_square():
    x = np.random.default_rng(1).standard_normal((20_000, 2))
    cd.ksd(x[:50], lambda points: -points)
    tracemalloc.start()
    try:
        cd.ksd(x, lambda points: -points)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30e6  # the matrix would take 3.2 GB; asked for: 100 MB


def test_standard_error_covers_the_spread_of_samples():
    """Off target, draws with a wrong mean: independent ones, 1000 samples, whose spread is known to 2.2%, and chains, 300, 4%.

    Three times that, and 3% for terms of order 1/n.
    """

    def score(x):
        return -(x - 0.7)

    rng = np.random.default_rng(5)
    for make, count, options, tolerance in (
        (lambda: rng.standard_normal((300, 2)), 1000, {"iid": True}, 0.1),
        (lambda: chain(rng, 0.6, 4, 250), 300, {}, 0.15),
    ):
        found = [cd.ksd(make(), score, n_jobs=1, **options) for _ in range(count)]
        values, errors = np.array([r.value for r in found]), np.array([r.se for r in found])
        assert errors.mean() == pytest.approx(values.std(ddof=1), rel=tolerance)


def chain(rng, phi, chains, draws):
    noise = rng.standard_normal((chains, draws, 2))
    noise[:, 1:] *= math.sqrt(1 - phi**2)
    for t in range(1, draws):
        noise[:, t] += phi * noise[:, t - 1]
    return noise


def rejections(make, runs, *, bootstrap=99, **options):
    rng = np.random.default_rng(7)
    return sum(cd.ksd(make(rng), bootstrap=bootstrap, rng=rng, n_jobs=1, **options).pvalue <= 0.05 for _ in range(runs))


GUMBEL = cd.Gumbel(2.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "options"),
    [
        (lambda rng: rng.standard_normal((150, 2)), {"target": lambda x: -x, "iid": True}),
        (lambda rng: chain(rng, 0.7, 4, 200), {"target": lambda x: -x}),
        (lambda rng: GUMBEL.sample(150, rng=rng), {"target": GUMBEL, "iid": True}),
        (lambda rng: GUMBEL.sample(300, rng=rng).reshape(2, 150, 2), {"target": GUMBEL}),
        (
            lambda rng: cd.metropolis(cd.MetaCopula(GUMBEL), np.zeros((4, 2)), scale=1.5, n_draws=100, rng=rng),
            {"target": GUMBEL},
        ),
        (lambda rng: chain(rng, -0.9, 1, 300), {"target": lambda x: -x}),
        # so coarse that samples without ties would be no match
        (lambda rng: np.round(5.0 * GUMBEL.sample(200, rng=rng)) / 5.0, {"target": GUMBEL, "iid": True}),
    ],
    ids=["wild", "wild, chains", "parametric", "wild, ranks", "wild, ranks of Metropolis chains", "antithetic", "tied"],
)
def test_size_of_the_bootstrap(make, options):
    """90 runs at a nominal 5%: below the exact 99.9% limit of a true rate of 6%. Chains give 1 to 3%, see the power cases.

    19 samples give a test of 5% as 99 do: the draws' value is beyond all of them once in 20 times.
    """
    assert rejections(make, 90, bootstrap=19, **options) <= binom.ppf(0.999, 90, 0.06)


def test_power_of_the_bootstrap():
    gaussian = cd.Gaussian.from_tau(0.6)
    for options in ({"iid": True}, {}):
        found = rejections(lambda rng: gaussian.sample(500, rng=rng).reshape(2, 250, 2), 20, target=GUMBEL, **options)
        assert found >= 10  # some 70%
    assert rejections(lambda rng: rng.standard_normal((200, 2)) + 0.3, 20, target=lambda x: -x, iid=True) >= 18


def test_chains_taken_for_independent_raise_false_alarms():
    assert rejections(lambda rng: chain(rng, 0.9, 4, 200), 20, target=lambda x: -x, iid=True) >= 15


def test_bootstrap_is_seeded():
    draws = GUMBEL.sample(200, rng=1)
    for iid in (True, False):
        first, second, *others = (cd.ksd(draws, GUMBEL, iid=iid, bootstrap=50, rng=seed).pvalue for seed in (1, 1, 2, 3, 4))
        assert first == second
        assert len({first, *others}) > 1  # p-values inside (0, 1) vary with the seed


def test_multipliers_have_variance_1_and_the_correlation_asked_for():
    """20,000 of them: standard errors of a variance and a correlation below 0.011; from the first draw of a chain on."""
    for time, rho in ((1.0, 0.0), (3.0, math.exp(-1 / 8)), (1.5, math.exp(-1 / 4))):
        w = resampling.multipliers(20_000, 2, 6, time, np.random.default_rng(1)).reshape(2, 6, -1)
        np.testing.assert_allclose(w.mean(axis=2), 0.0, atol=0.05)
        np.testing.assert_allclose((w**2).mean(axis=2), 1.0, atol=0.05)
        np.testing.assert_allclose((w[:, 1:] * w[:, :-1]).mean(axis=2), rho, atol=0.05)
        assert abs((w[0, -1] * w[1, 0]).mean()) < 0.05  # chains are independent


def test_slowest_time_sees_what_alternates():
    rng = np.random.default_rng(3)
    noise = chain(rng, -0.9, 1, 20_000)[0].T
    for scores in (noise, noise[:1]):
        assert resampling.slowest_time(scores, 1) == pytest.approx((1 + 0.81) / (1 - 0.81), rel=0.2)  # of squares and products
    assert resampling.slowest_time(rng.standard_normal((2, 20_000)), 1) < 1.3


@pytest.mark.parametrize("tied", [False, True])
def test_what_ranks_add_by_its_definition(tied):
    """Against the sum over all pairs; half counts for a tie."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal(40)
    x = np.round(x, 0) if tied else x
    slope, weights = rng.uniform(0.5, 2.0, 40), rng.standard_normal((40, 3))
    u = cd.pseudo_observations(np.c_[x, x])[:, 0]
    before = (x[:, None] < x[None]) + 0.5 * (x[:, None] == x[None])
    expected = (before - u[None]).T @ weights / 40 / slope[:, None]
    found = resampling._carried(rank_column(x), slope, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_simulated_columns_are_tied_like_the_draws():
    like = rank_column(np.array([3.0, 1.0, 1.0, 2.0, 3.0, 3.0]))
    tied = resampling._tied(np.array([0.4, 0.1, 0.9, 0.3, 0.2, 0.7]), like)
    assert tied.tolist() == [3.0, 0.0, 3.0, 2.0, 0.0, 3.0]  # the two lowest, one, the three highest


@pytest.mark.parametrize("target", [cd.Gaussian(0.5), lambda x: -x])
def test_chains_that_repeat_others_are_left_out(target):
    draws = np.random.default_rng(1).normal(size=(2, 200, 2))
    options = {"bootstrap": 20, "rng": 1, "n_jobs": 1}
    once = cd.ksd(draws, target, **options)
    with warned("repeated-chains"):
        twice = cd.ksd(draws[[0, 1, 1, 0]], target, **options)
    assert codes_of(twice) == ["repeated-chains"]
    for name in ("value", "se", "pvalue", "n"):
        np.testing.assert_equal(getattr(twice, name), getattr(once, name))


def test_scores_of_tensors_are_those_of_the_chains_that_are_left():
    torch = pytest.importorskip("torch")
    draws = torch.tensor(np.random.default_rng(1).normal(size=(2, 200, 2)))
    shapes = []

    def score(x):
        shapes.append((type(x), tuple(x.shape)))
        return -x

    once = cd.ksd(draws, score, n_jobs=1)
    with warned("repeated-chains"):
        twice = cd.ksd(draws[[0, 1, 0]], score, n_jobs=1)
    assert (twice.value, twice.se) == (once.value, once.se)
    assert shapes == [(torch.Tensor, (400, 2))] * 2


def test_values_too_large_for_a_score_are_refused():
    x = np.random.default_rng(1).integers(0, 10, (50, 2)) + 2**60
    assert cd.ksd(x, cd.Gumbel(2.0)).n == 50  # ranks are enough
    with refused() as caught:
        cd.ksd(x, lambda points: -points)
    assert "float64" in str(caught.value)
    assert cd.ksd(x - 2**60, lambda points: -points).n == 50  # without the offset, they are exact


def test_quadratic_forms_equal_the_matrix():
    x = np.random.default_rng(3).standard_normal((700, 2))  # three tiles, the last one not full
    kernel = imq.Kernel(1.0, -0.5)
    at = imq.Points(x.T.copy(), -x.T.copy())
    weights = np.random.default_rng(4).standard_normal((700, 5))
    large = np.random.default_rng(5).standard_normal((1300, 3))  # dealt out to threads
    many = imq.Points(large.T.copy(), -large.T.copy())
    ones = np.ones((1300, 1))
    found = imq.ThreadedSums(2).quadratic_forms(many, kernel, ones)
    assert found[0] == pytest.approx(stein_matrix(large, -large).sum(), rel=1e-10)
    expected = np.einsum("ik,ij,jk->k", weights, stein_matrix(x, -x), weights)
    np.testing.assert_allclose(imq.ThreadedSums(1).quadratic_forms(at, kernel, weights), expected, rtol=1e-10)


def test_what_a_person_sees():
    x = np.random.default_rng(1).standard_normal((200, 2))
    result = cd.ksd(x, lambda points: -points)
    assert numerals(repr(result))[:2] == [f"{result.value:.6g}", "200"]
    assert "bootstrap=" in repr(result)  # the way to a p-value
    assert "p <= 0.048" in repr(cd.ksd(x + 3.0, lambda points: -points, bootstrap=20, rng=1))
    assert float(cd.ksd(x, lambda points: -points)) == cd.ksd(x, lambda points: -points).value
    assert cd.ksd(x, lambda points: -points, statistic="v").ksd > 0


@pytest.mark.parametrize(
    ("call", "named", "code"),
    [
        (lambda x: cd.ksd(x, 3.0), "target", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel), "target", "argument"),
        (lambda x: cd.ksd(x, lambda p, q: p), "the score", "argument"),
        (lambda x: cd.ksd(x[:, :0], lambda p: p), "draws", "shape"),
        (lambda x: cd.ksd(x * 1e160, lambda p: -p), "the sum", "infinite"),
        (lambda x: cd.ksd(x, lambda p: -p, c=1e-200), "c", "argument"),
        (
            lambda x: cd.ksd(np.r_[cd.Gumbel(2.0).sample(50, rng=1), [[1e-320, 1e-320]]], cd.Gumbel(2.0), margins="uniform"),
            "the score",
            "infinite",
        ),
        (lambda x: cd.ksd(x, lambda p: p[:, :1]), "the score", "shape"),
        (lambda x: cd.ksd(x, lambda p: p * np.nan), "the score", "infinite"),
        (lambda x: cd.ksd(x, lambda p: -p, space="unit"), "space", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), beta=0.5), "beta", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), beta=-1.0), "beta", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), c=0.0), "c", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), bootstrap=-1), "bootstrap", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), statistic="w"), "statistic", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), space="cube"), "space", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), n_jobs=0), "n_jobs", "argument"),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), space="unit", bootstrap=9), "space", "argument"),
        (lambda x: cd.ksd(np.c_[x, x], cd.Gumbel(2.0)), "", None),
        (lambda x: cd.ksd(x, cd.Gumbel(2.0), margins="uniform"), "", None),
        (lambda x: cd.ksd(x[:3], lambda p: -p, bootstrap=9), "", None),
    ],
)
def test_bad_input(call, named, code):
    """Without a code here, it is that of another room."""
    with pytest.raises(cd.InputError, match=f"^{named}") as caught:
        call(np.random.default_rng(1).standard_normal((50, 2)))
    assert code in (caught.value.code, None)
