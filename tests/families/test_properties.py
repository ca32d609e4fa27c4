"""What must hold for any sample: symmetries, bounds, and results that agree with each other."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import copula_discrepancy as cd

FAMILIES = ["clayton", "gumbel", "frank", "joe", "gaussian", "clayton180", "gumbel90"]
CLOSE = {"rel": 1e-9, "abs": 1e-11}  # equal up to the order in which sums are taken
few = settings(max_examples=12, deadline=None, derandomize=True, database=None, phases=(Phase.generate,))
# what fails is a seed already: there is nothing smaller to look for
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def quiet():
    """Small samples come with warnings about their size."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        yield


@st.composite
def samples(draw, d=2, chains=None, ties=True):
    """Draws (chain, draw, d) with some dependence; at times rounded, so that there are ties."""
    rng = np.random.default_rng(draw(seeds))
    k, n = draw(st.integers(1, 3)) if chains is None else chains, draw(st.integers(20, 40))
    common = rng.standard_normal((k, n, 1))
    x = draw(st.sampled_from([0.3, 0.6, 0.9])) * common + 0.5 * rng.standard_normal((k, n, d))
    return np.round(x, 1) if ties and draw(st.booleans()) else x


def increasing(x):
    """Other values in the same order: each column by another function."""
    functions = (np.exp, np.arctan, lambda column: 3.0 * column - 7.0, np.cbrt)
    return np.stack([functions[k % 4](x[..., k]) for k in range(x.shape[-1])], axis=-1)


def gaps(result):
    return {name: (gap.value, gap.se, gap.pvalue) for name, gap in result.estimates.items()}


def assert_same(first, second):
    """Two trees of dictionaries, lists and numbers; NaN equals NaN."""
    assert type(first) is type(second) or {type(first), type(second)} <= {int, float}
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for name in first:
            assert_same(first[name], second[name])
    elif isinstance(first, list | tuple):
        assert len(first) == len(second)
        for a, b in zip(first, second, strict=True):
            assert_same(a, b)
    elif isinstance(first, float):
        assert first == pytest.approx(second, **CLOSE, nan_ok=True)
    else:
        assert first == second


# ---- only the order counts ---------------------------------------------------------------------------------------------


@given(samples(d=3))
@few
def test_increasing_functions_change_nothing(x):
    y = increasing(x)
    assert np.array_equal(cd.pseudo_observations(x), cd.pseudo_observations(y))
    assert np.array_equal(cd.kendall_matrix(x), cd.kendall_matrix(y))
    assert_same(cd.pairwise(x, n_jobs=1).to_dict(), cd.pairwise(y, n_jobs=1).to_dict())


@given(samples(), st.sampled_from(FAMILIES))
@few
def test_increasing_functions_leave_a_fit(x, family):
    a, b = cd.fit(x, family), cd.fit(increasing(x), family)
    assert (a.theta, a.log_likelihood, a.on_bound) == (b.theta, b.log_likelihood, b.on_bound)
    target = cd.Gumbel(1.7)
    assert_same(gaps(cd.discrepancy(x, target)), gaps(cd.discrepancy(increasing(x), target)))


@given(samples(), st.integers(-30, 30))
@few
def test_a_power_of_two_as_unit(x, exponent):
    assert_same(gaps(cd.discrepancy(x, cd.Frank(3.0))), gaps(cd.discrepancy(x * 2.0**exponent, cd.Frank(3.0))))


@given(samples(d=3, ties=True))
@few
def test_float32_holds_the_same_draws(x):
    narrow = x.astype(np.float32)
    assert np.array_equal(cd.kendall_matrix(narrow), cd.kendall_matrix(narrow.astype(np.float64)))
    first, second = (cd.fit(each[..., :2], "clayton").theta for each in (narrow, narrow.astype(np.float64)))
    assert first == second


# ---- symmetries --------------------------------------------------------------------------------------------------------


@given(samples())
@few
def test_swapped_variables(x):
    a, b = x[..., 0].ravel(), x[..., 1].ravel()
    assert cd.kendall_tau(a, b) == cd.kendall_tau(b, a)
    assert np.array_equal(cd.concordance(a, b), cd.concordance(b, a))
    target = cd.Clayton(1.5)
    one, other = cd.discrepancy(x, target), cd.discrepancy(x[..., ::-1], target)
    assert one.theta == pytest.approx(other.theta, rel=1e-7)
    for name in ("level", "shape", "total", "ckl"):
        assert one.estimates[name].value == pytest.approx(other.estimates[name].value, rel=1e-6, abs=1e-8)


@given(samples(chains=3))
@few
def test_the_order_of_chains_does_not_matter(x):
    one, other = (cd.discrepancy(each, cd.Gumbel(1.5)) for each in (x, x[[2, 0, 1]]))
    assert one.theta == pytest.approx(other.theta, rel=1e-9)
    for name, gap in one.estimates.items():
        assert gap.se == pytest.approx(other.estimates[name].se, rel=1e-6, nan_ok=True)
    assert one.rhat == pytest.approx(other.rhat, rel=1e-9)
    assert [tau.value for tau in one.agreement.taus] == [other.agreement.taus[k].value for k in (1, 2, 0)]


@given(samples(), st.sampled_from(["clayton", "gumbel", "joe"]))
@few
def test_a_sign_turns_a_family(x, family):
    """Where the first variable is negated, a family becomes its rotation by 90 degrees, or by 270 where the second is."""
    plain = cd.fit(x, family)
    for signs, rotation in (((-1, 1), 90), ((1, -1), 270), ((-1, -1), 180)):
        turned = cd.fit(x * np.array(signs), f"{family}{rotation}")
        # rotations by 90 and 270 look at one another's mirror image: theta and likelihood are those of the plain family
        assert turned.theta == pytest.approx(plain.theta, rel=1e-6)
        assert turned.sample_tau == pytest.approx(plain.sample_tau * signs[0] * signs[1], abs=1e-12)
        assert turned.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-7, abs=1e-7)


@given(samples(d=4), st.permutations(range(4)))
@few
def test_the_order_of_variables_does_not_matter(x, order):
    names = [f"v{k}" for k in range(4)]
    frame = pd.DataFrame(x.reshape(-1, 4), columns=names)
    one = cd.pairwise(frame, cd.Gaussian(0.5), iid=True, n_jobs=1)
    other = cd.pairwise(frame[[names[k] for k in order]], cd.Gaussian(0.5), iid=True, n_jobs=1)
    assert one.n_flagged == other.n_flagged
    assert one.max == pytest.approx(other.max, rel=1e-6)
    for pair in one:
        again = other[pair.names]
        for name in ("tau", "level", "shape", "level_se", "shape_se", "level_adjusted", "shape_adjusted"):
            assert getattr(pair, name) == pytest.approx(getattr(again, name), rel=1e-5, abs=1e-7, nan_ok=True)


@given(samples(d=3))
@few
def test_reversed_time_keeps_independent_results(x):
    plain, reversed_ = (cd.pairwise(each, cd.Frank(2.0), iid=True, n_jobs=1) for each in (x, x[:, ::-1]))
    for name in ("tau", "level", "shape", "level_se"):
        assert plain.matrix(name) == pytest.approx(reversed_.matrix(name), rel=1e-6, abs=1e-9, nan_ok=True)


# ---- bounds ------------------------------------------------------------------------------------------------------------


@given(samples(), st.sampled_from(FAMILIES), st.floats(0.5, 0.999))
@few
def test_bounds(x, family, confidence):
    result = cd.discrepancy(x, cd.fit(x, family).copula if cd.fit(x, family).regular else cd.Gumbel(1.5), confidence=confidence)
    assert -1 <= result.tau <= 1
    assert result.cd == abs(result.total.value) <= 2
    assert result.ckl >= -1e-12
    for gap in result.estimates.values():
        assert not gap.se < 0
        assert math.isnan(gap.ci[0]) or gap.ci[0] <= gap.ci[1]
        assert math.isfinite(gap.ci[0]) == math.isfinite(gap.ci[1])
        assert math.isnan(gap.pvalue) or 0 <= gap.pvalue <= 1


@given(seeds, st.sampled_from(FAMILIES), st.floats(0.05, 0.9))
@few
def test_a_copula_lies_between_its_bounds_and_grows(seed, family, tau):
    kind = cd.family(family)
    copula = kind.from_tau(-tau if kind.from_tau and family == "gumbel90" else tau)
    rng = np.random.default_rng(seed)
    u, v = np.sort(rng.random(20)), rng.random()
    values = copula.cdf(u, v)
    assert (values <= np.minimum(u, v)).all()
    assert (values >= np.maximum(u + v - 1.0, 0.0)).all()
    assert (np.diff(values) >= -1e-12).all()
    h = copula.conditional_cdf(u, v)
    assert ((h >= 0) & (h <= 1)).all()
    inner = (h > 1e-6) & (h < 1 - 1e-6)
    assert copula.conditional_ppf(h[inner], v) == pytest.approx(u[inner], rel=1e-6)


# ---- results that agree ------------------------------------------------------------------------------------------------


@given(samples(d=3), st.booleans())
@few
def test_all_pairs_say_what_each_says(x, iid):
    ranking = cd.pairwise(x, cd.Gumbel(1.5), iid=iid, n_jobs=1)
    table = cd.summary(x, iid=iid)
    for row in ranking:
        single = ranking.pair(*row.names)
        assert row.tau == single.tau
        assert table.loc[row.label, "tau"] == row.tau
        assert row.level == pytest.approx(single.level.value, abs=1e-12)
        assert row.shape == pytest.approx(single.shape.value, abs=1e-6)
        assert row.level_se == pytest.approx(single.level.se, rel=1e-6, nan_ok=True)
        assert table.loc[row.label, "mcse"] == pytest.approx(single.fit.spreads["tau"].se, rel=1e-6, nan_ok=True)
        assert not single.level.se < single.fit.spreads["tau"].se * (1.0 - 1e-9)  # with what ties may do
        assert ranking.fitted(*row.names).theta == pytest.approx(row.theta, rel=1e-6)
    places = [(row.flagged, max(abs(row.level), abs(row.shape))) for row in ranking]
    assert places == sorted(places, reverse=True)


@given(samples(d=3))
@few
def test_json_brings_back_every_number(x):
    for result in (
        cd.pairwise(x, cd.Frank(2.0), n_jobs=1),
        cd.discrepancy(x[..., :2], cd.Frank(2.0)),
        cd.fit(x[..., 1:], "gumbel"),
    ):
        plain = result.to_dict()
        assert_same(json.loads(json.dumps(plain)), json.loads(json.dumps(result.to_dict())))
        assert_same(json.loads(json.dumps(plain)), json.loads(json.dumps(json.loads(json.dumps(plain)))))
    assert_same(json.loads(json.dumps(cd.fit(x[..., 1:], "gumbel").to_dict()))["theta"], cd.fit(x[..., 1:], "gumbel").theta)


@given(samples(d=3, chains=2))
@few
def test_a_container_is_a_container(x):
    names = ["a", "b", "c"]
    frame = pd.DataFrame(x.reshape(-1, 3), columns=names).assign(chain=np.repeat([0, 1], x.shape[1]))
    containers = [
        x.tolist(),
        list(x),
        frame,
        pl.from_pandas(frame),
        frame.set_index("chain"),
        xr.Dataset({name: (("chain", "draw"), x[..., k]) for k, name in enumerate(names)}),
        {name: x[..., k] for k, name in enumerate(names)},
        cd.as_draws(x),
        np.asfortranarray(x),
        x.astype(">f8"),
    ]
    first = cd.as_draws(x)
    matrix, taus = cd.kendall_matrix(x), cd.summary(x).to_numpy()
    for container in containers:
        again = cd.as_draws(container)
        assert np.array_equal(again.values, first.values)
        assert again.chained
        assert np.array_equal(cd.kendall_matrix(container), matrix)
    assert np.array_equal(cd.summary(frame).to_numpy(), taus, equal_nan=True)


@given(samples(), st.integers(0, 2**16))
@few
def test_a_seed_fixes_what_is_random(x, seed):
    result = cd.discrepancy(x, cd.Gumbel(1.5), shannon="monte_carlo", m=50, rng=seed)
    assert_same(gaps(result), gaps(cd.discrepancy(x, cd.Gumbel(1.5), shannon="monte_carlo", m=50, rng=seed)))
    assert np.array_equal(cd.Frank(3.0).sample(9, rng=seed), cd.Frank(3.0).sample(9, rng=seed))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@few
def test_adjusted_pvalues_keep_their_order(pvalues):
    for method in ("bh", "by", "holm", "bonferroni", "none"):
        adjusted = cd.adjust_pvalues(pvalues, method)
        order = np.argsort(pvalues, kind="stable")
        assert (np.diff(adjusted[order]) >= 0).all()
        assert (adjusted >= pvalues).all()
        assert cd.adjust_pvalues(pvalues[::-1], method) == pytest.approx(adjusted[::-1])
