"""Student's distribution against sixty digits: in both tails, next to the median, one value or many at once."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtr

import copula_discrepancy as cd
from copula_discrepancy.families import t_distribution
from copula_discrepancy.families.t_distribution import t_cdf, t_quantile, t_quantile_df_slope
from tests import reference


@pytest.mark.parametrize("df", [2.5, 30.0, 301.0, 1e4, 1e6])
@pytest.mark.parametrize("x", [-7.0, -3.0, -0.4, -1e-6, 0.5, 4.0])
def test_cdf_and_quantile_keep_their_tails(df, x):
    truth = reference.t_cdf(mp.mpf(df), mp.mpf(x))
    value = float(t_cdf(df, np.array([x]))[0][0])
    assert value == pytest.approx(float(truth), rel=1e-11)
    u = np.array([float(truth)])
    back = float(t_quantile(df, u, np.array([float(1 - truth)]))[0])
    assert back == pytest.approx(x, rel=1e-10, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("df", [0.3, 2.5, 4.0, 30.5, 500.0])
@pytest.mark.parametrize("u", [1e-12, 1e-4, 0.2, 0.4999, 0.9])
def test_the_quantile_moves_with_df_as_it_should(df, u):
    """Central difference of the 60-digit quantile in df; its error is 1e-22 times a third derivative."""
    h = mp.mpf(10) ** -11 * mp.mpf(df)
    truth = (reference.t_quantile(mp.mpf(df) + h, mp.mpf(u)) - reference.t_quantile(mp.mpf(df) - h, mp.mpf(u))) / (2 * h)
    x = np.array([float(reference.t_quantile(mp.mpf(df), mp.mpf(u)))])
    # at df = 500 the integrand is a difference of order 1/df^2
    assert float(t_quantile_df_slope(df, x)[0]) == pytest.approx(float(truth), rel=1e-10)


@pytest.mark.parametrize("df", [0.03, 0.5, 1.0, 1.7, 20.0, 99.0, 150.0, 2e4])
def test_the_distribution_function_next_to_the_median_and_far_out(df):
    """On both sides of the places where one way of computing it takes over from another, and where squares leave the floats."""
    sizes = np.array([1e-12, 1e-6, 0.0499, 0.0501, 0.3, 999.0, 1001.0, 1e8, 1e120, 1e158])
    below, above = t_cdf(df, -sizes)
    for size, tail, rest in zip(sizes, below, above, strict=True):
        truth = reference.t_cdf(mp.mpf(df), -mp.mpf(size))
        # the tail is a power of w = df/(df + x^2), df/2: its rounding counts so many times, twice with SciPy's oldest
        assert tail == pytest.approx(float(truth), rel=max(1e-15, 5e-16 * df) if df < 1e3 else 1e-12, abs=1e-300)
        assert rest == pytest.approx(float(1 - truth), rel=1e-15)
    np.testing.assert_array_equal(t_cdf(df, sizes), (above, below))


MANY = np.concatenate([[1e-300, 1e-60, 1e-20], ndtr(-np.linspace(0.0, 9.1, 500)), 0.5 - np.logspace(-12.0, -1.0, 40)])


@pytest.mark.parametrize("df", [1.0, 2.0, 2.7, 4.0, 30.0, 1e3, 1e6])
def test_many_quantiles_at_once(df):
    """Beyond a few hundred they come from a table made for their df; the probability at a quantile tells what it misses."""
    assert MANY.size > t_distribution._TABLED
    found = t_quantile(df, MANY, 1.0 - MANY)
    for p, x in zip(MANY[::23].tolist(), found[::23].tolist(), strict=True):
        nu, at = mp.mpf(df), mp.mpf(x)
        density = mp.exp(mp.loggamma((nu + 1) / 2) - mp.loggamma(nu / 2) - (nu + 1) / 2 * mp.log1p(at**2 / nu))
        missed = (reference.t_cdf(nu, at) - mp.mpf(p)) / (density / mp.sqrt(nu * mp.pi))
        assert abs(missed) <= (5e-14 if df < 10.0 else 1e-14) * abs(x)
    few = np.concatenate([t_quantile(df, MANY[k : k + 100], 1.0 - MANY[k : k + 100]) for k in range(0, MANY.size, 100)])
    np.testing.assert_allclose(found, few, rtol=5e-14)
    np.testing.assert_allclose(found[MANY > 0.4], few[MANY > 0.4], rtol=5e-15)
    np.testing.assert_array_equal(t_quantile(df, 1.0 - MANY, MANY), -found)
    square = MANY[:525].reshape(25, 21)
    np.testing.assert_array_equal(t_quantile(df, square, 1.0 - square).ravel(), found[:525])


@pytest.mark.parametrize("df", [2.0, 3.7, 1e4])
def test_many_quantiles_are_in_the_order_of_their_probabilities(df):
    """Across the edges of the table's panels too, where two polynomials meet."""
    p = ndtr(-np.sort(np.concatenate([np.linspace(0.0, 9.5, 3000), *(k + np.linspace(-1e-9, 1e-9, 21) for k in range(1, 10))])))
    p = np.unique(p)
    assert (np.diff(t_quantile(df, p, 1.0 - p)) >= 0.0).all()
    assert np.unique(t_quantile(df, p, 1.0 - p)).size == p.size


def test_log_densities_in_the_far_corner():
    """Where thirty degrees of freedom multiply what is wrong with a quantile; 2e-13 with those of SciPy's inverse."""
    copula, points = cd.StudentT(0.95, 30.0), np.array([[1e-7, 1e-13], [1e-8, 1e-8], [1e-6, 1e-14], [1e-9, 1e-5]])
    truth = [float(reference.logpdf(copula, *point)) for point in points.tolist()]
    for times in (1, 200):  # few, and as many as a table is made for
        found = copula.logpdf(*np.tile(points, (times, 1)).T)[:4]
        np.testing.assert_allclose(found, truth, rtol=5e-14, atol=5e-14)


@pytest.mark.parametrize("shape", [(1,), (9000,), (3, 3), (90, 100)])
def test_scores_where_squares_of_quantiles_overflow(shape):
    """One point or many, in whichever shape: compiled loops square, and what they lose is found another way."""
    copula, u = cd.StudentT(0.5, 1.0), np.full(shape, 0.3)
    u.flat[0] = 1e-200
    for slope, truth in ((copula.score, 5 / 3), (copula.score_slope, 14 / 9)):
        assert slope(u, u).flat[0] == pytest.approx(truth, rel=1e-13)
    assert np.isfinite(copula.score(u, u)).all()


@pytest.mark.parametrize("df", [0.3, 4.0, 500.0])
def test_what_underflows_is_no_error_where_users_ask_for_errors(df):
    with np.errstate(all="raise"):
        assert cd.StudentT(0.5, df).kl(cd.Gumbel(2.0)) > 0.0
