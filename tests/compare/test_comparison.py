"""Rows of many pairs against `discrepancy` of each: numbers that are computed the same way, and interpolated ones."""

import functools
import itertools
import math
import re
import warnings

import numpy as np
import pytest
from scipy.special import stdtrit

import copula_discrepancy as cd
from copula_discrepancy._core import kernels
from copula_discrepancy._core.kernels import newton
from copula_discrepancy.compare.wording import NOT_TESTED
from copula_discrepancy.estimate.tails import CORNERS
from tests.pairwise_data import CORRELATIONS, autoregressive, clayton, gaussian, sticky, student

careful = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


ROUNDING = 1e-9  # the same sums in another order: 1e-12, times what a variance of differences loses


def assert_same(gap, single):
    """Every number of a row is that of a `Discrepancy`; of p-values, those that no interpolated bias enters."""
    assert gap.family == single.fit.family
    assert gap.tau == single.tau
    assert gap.tau_target == single.tau_target
    np.testing.assert_equal(gap.df, math.nan if single.fit.df is None else single.fit.df)
    assert gap.theta == pytest.approx(single.fit.theta, rel=1e-10, abs=1e-12)  # both at the maximum, to 1e-12 of theta's scale
    target = single.target.theta
    assert gap.theta_target == pytest.approx(target, rel=1e-10, abs=1e-12)
    for name in ("level", "shape", "total"):
        estimate = single.estimates[name]
        assert getattr(gap, name) == pytest.approx(estimate.value, abs=1e-11, nan_ok=True)
        assert getattr(gap, f"{name}_se") == pytest.approx(estimate.se, rel=ROUNDING, nan_ok=True)
        if math.isnan(estimate.pvalue) or estimate.bias == 0.0:  # far out in t's tail rounding grows
            assert getattr(gap, f"{name}_pvalue") == pytest.approx(estimate.pvalue, rel=1e-6, nan_ok=True)
    for name in CORNERS:
        estimate = single.estimates.get(name)
        if estimate is None:
            assert math.isnan(getattr(gap, name))
            assert math.isnan(getattr(gap, f"{name}_se"))
        else:  # the family's share is interpolated: off by less than a hundredth of a standard error
            assert getattr(gap, name) == pytest.approx(
                estimate.value, abs=0.01 * estimate.se + 1e-6
            )  # an empty corner has next to none
            assert getattr(gap, f"{name}_se") == pytest.approx(estimate.se, rel=3e-3, abs=1e-6, nan_ok=True)
            assert getattr(gap, f"{name}_pvalue") == pytest.approx(estimate.pvalue, rel=0.05, abs=1e-12, nan_ok=True)
            shares = single.corners[name].share, single.corners[name].share_target
            assert getattr(gap, f"{name}_share") == pytest.approx(shares[0], rel=1e-12)
            assert getattr(gap, f"{name}_share_target") == pytest.approx(shares[1], abs=1e-3)
    assert gap.n_eff == pytest.approx(single.fit.n_eff, rel=ROUNDING)
    assert gap.rhat == pytest.approx(single.agreement.rhat, rel=ROUNDING, nan_ok=True)
    theirs = math.nan if single.reference is None else single.reference.n_eff
    assert gap.n_eff_target == pytest.approx(theirs, rel=ROUNDING, nan_ok=True)
    theirs = math.nan if single.reference_agreement is None else single.reference_agreement.rhat
    assert gap.rhat_target == pytest.approx(theirs, rel=ROUNDING, nan_ok=True)
    assert gap.ckl == pytest.approx(single.ckl, rel=5e-4, abs=1e-12, nan_ok=True)  # interpolated, to four digits


def bias_error(gap, single):
    """By how many standard errors the interpolated bias is off, seen through the p-values of shape and total."""
    errors = []
    for name in ("shape", "total"):
        estimate, pvalue = single.estimates[name], getattr(gap, f"{name}_pvalue")
        if estimate.bias != 0.0 and estimate.pvalue > 1e-100:
            expected = abs(estimate.value - estimate.bias) / estimate.se
            errors.append(abs(-float(stdtrit(estimate.df, 0.5 * pvalue)) - expected))
    return max(errors, default=0.0)


def both_ways(draws, target, family=None, **options):
    """All pairs at once, and one by one through the same family."""
    draws = cd.as_draws(draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        result = cd.pairwise(draws, target, n_jobs=1, family=family, **options)
        found = []
        for gap in result:
            one, i, j = draws.select(gap.names), *(draws.names.index(name) for name in gap.names)
            if result.targets is not None:
                single = cd.discrepancy(one, result.targets[i, j], **options)
            else:
                template = cd.family(gap.family)
                template = template(0.5, df=gap.df) if math.isfinite(gap.df) else template
                single = cd.discrepancy(one, cd.as_draws(target).select(gap.names), family=template, **options)
            pair = result.pair(*gap.names)
            assert_equal(gap, pair)
            found.append((gap, single))
        return found


def assert_equal(gap, single):
    """Every number of a row is that of a `Discrepancy` from the same path, to the last digits."""

    def same(a, b):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12, nan_ok=True)

    for name in ("level", "shape", "total", *CORNERS):
        estimate = single.estimates.get(name)
        for part in ("value", "se", "pvalue"):
            there = getattr(gap, name if part == "value" else f"{name}_{part}")
            same(there, math.nan if estimate is None else getattr(estimate, part))
    for name in ("tau", "tau_target", "theta", "ckl", "rhat", "n_eff", "tails_pvalue"):
        same(getattr(gap, name), getattr(single, name))
    if single.reference is not None:
        same(gap.n_eff_target, single.reference.n_eff)
        same(gap.rhat_target, single.reference_agreement.rhat)
        same(gap.theta_target, single.reference.theta)
    assert gap.family == single.fit.family
    assert gap.verdict == single.verdict


def special_cases():
    """Draws and what they are compared with, for every special rule."""
    rng = np.random.default_rng(31)
    x = gaussian(rng, 300)[:, :2]
    other = gaussian(rng, 350)[:, :2]
    chains, still = autoregressive(rng, 4, 80, 0.5)[..., :2], autoregressive(rng, 4, 80, 0.5)[..., :2]
    still[1, :, 0] = still[1, 0, 0]
    perfect, opposite = np.column_stack([x[:, 0], np.exp(x[:, 0])]), np.column_stack([x[:, 0], -x[:, 0]])
    flags = (rng.random((2000, 2)) < 0.004).astype(float)
    return {
        "plain": (x, other, {"iid": True}),
        "perfect": (perfect, other, {"iid": True}),
        "opposite": (opposite, cd.Gaussian(0.4), {"iid": True}),
        "few values": (np.round(0.6 * x), np.round(0.6 * other), {"iid": True}),
        "uneven ties": (np.round(x[:60]), np.round(other), {"iid": True}),
        "rare flags": (flags, (rng.random((2000, 2)) < 0.004).astype(float), {"iid": True}),
        "few draws": (x[:15], other, {"iid": True}),
        "out of reach": (x * (1.0, -1.0), cd.Clayton(2.0), {}),
        "one chain": (chains[:1], chains[1:2], {}),
        "constant chain": (still, chains, {}),
        "slow chains": (autoregressive(rng, 4, 150, 0.95)[..., :2], autoregressive(rng, 4, 150, 0.95)[..., :2], {}),
        "draws alone independent": (x, chains, {"iid": "draws"}),
        "reference alone independent": (chains, x, {"iid": "reference"}),
        "moments": (x, other, {"iid": True, "method": "moment"}),
    }


@careful
@pytest.mark.parametrize("case", special_cases())
def test_a_row_of_the_exact_mode_is_discrepancy(case):
    """One rule for every special case: the two say the same, number for number and word for word."""
    draws, target, options = special_cases()[case]
    result, single = cd.pairwise(draws, target, exact=True, **options), cd.discrepancy(draws, target, **options)
    (gap,) = result
    assert_equal(gap, single)
    assert_equal(gap, result.pair(*gap.names))


@careful
@pytest.mark.parametrize(
    "case", [case for case, (_, target, _) in special_cases().items() if not isinstance(target, cd.Copula)]
)
def test_an_edge_of_a_vine_is_a_row_seen_through_its_family(case):
    pytest.importorskip("pyvinecopulib")
    draws, target, options = special_cases()[case]
    (edge,) = cd.vine(draws, target, **options)
    family = cd.family(edge.family)
    template = family(0.5, df=edge.df) if math.isfinite(edge.df) else family
    (gap,) = cd.pairwise(draws, target, family=template, **options)
    for name, number in edge.numbers.items():
        assert number == pytest.approx(gap.numbers[name], rel=1e-12, abs=1e-12, nan_ok=True), name
    assert edge.verdict == gap.verdict


@careful
def test_a_copy_is_void_in_every_result():
    x = gaussian(np.random.default_rng(5), 300)[:, :2]
    assert_equal(cd.pairwise(x, x.copy(), iid=True, exact=True)[0], cd.discrepancy(x, x.copy(), iid=True))


@functools.cache
def sample(kind, seed):
    """Draws of three variables, dependent in both directions, strongly and weakly; of one size, so that they share tables."""
    return _sample(kind, np.random.default_rng(seed))[..., [0, 1, 3] if seed % 2 else [0, 2, 3]]


def _sample(kind, rng):
    if kind == "iid":
        return gaussian(rng, 400)
    if kind == "student":
        return student(rng, 400, 3.0)
    if kind == "clayton":
        return clayton(rng, 400, 4, 1.5, turned=(3,))
    if kind == "rounded":
        return np.round(gaussian(rng, 400), 1)
    if kind == "discrete":
        return np.round(gaussian(rng, 400))
    if kind == "metropolis":
        return sticky(rng, autoregressive(rng, 4, 100, 0.7), 0.6)
    n_chains = {"one chain": 1, "three chains": 3, "four chains": 4}[kind]
    return autoregressive(rng, n_chains, 201, 0.6)  # halves of an odd number of draws leave one out


KINDS = ("iid", "student", "clayton", "rounded", "discrete", "metropolis", "one chain", "three chains", "four chains")


def combinations(others):
    """Every kind of sample with every one of `others`, as independent draws or as chains in turn.

    How errors are computed and which copula is fitted know nothing of each other: each kind and each copula meets both.
    """
    return [
        pytest.param(kind, other, (i + j) % 2 == 0, id=f"{kind}-{name}")
        for i, kind in enumerate(KINDS)
        for j, (name, other) in enumerate(others.items())
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "target", "iid"),
    combinations(
        {
            "Gumbel": cd.Gumbel(1.6), "Frank": cd.Frank(-2.0), "StudentT": cd.StudentT(0.4, 5.0),
            "Clayton90": cd.Rotated(cd.Clayton(0.8), 90), "correlations": CORRELATIONS[:3, :3],
        }
    ),
)  # fmt: skip
def test_rows_against_known_copulas(kind, target, iid):
    """Gumbel and Clayton cannot follow some of the pairs: their theta sits on a bound, without a test of shape."""
    for gap, single in both_ways(sample(kind, 1), target, iid=iid):
        assert_same(gap, single)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "family", "iid"),
    combinations(
        {"gumbel": "gumbel", "Gaussian": cd.Gaussian, "frank": "frank", "joe": "joe", "t3": cd.StudentT(0.5, 3.0), "auto": None}
    ),
)
def test_rows_against_a_reference(kind, family, iid):
    for gap, single in both_ways(sample(kind, 1), sample(kind, 3), family=family, iid=iid):
        if kind == "discrete" and family is None:  # no family describes levels, so none is chosen for many pairs
            assert (gap.level, gap.level_pvalue) == (single.level.value, single.level.pvalue)
            assert gap.form == pytest.approx(single.form.value, rel=ROUNDING)
        elif single.reference.regular or family is None:
            assert_same(gap, single)


@pytest.mark.parametrize("family", ["gumbel", "joe", "clayton"])
def test_rows_where_the_reference_asks_for_less_dependence_than_the_family_has(family):
    """Its copula is then independence, a member of the family still."""
    seen = 0
    for gap, single in both_ways(sample("iid", 1), sample("iid", 3), family=family, iid=True):
        seen += not single.reference.regular
        assert_same(gap, single)
    assert seen


@pytest.mark.slow
@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("target", ["reference", "copula"])
def test_the_interpolated_bias_is_off_by_a_hundredth_of_a_standard_error(target, iid):
    """As `tabulated` says; p-values differ by less than 0.01 then."""
    worst = {}
    for kind in KINDS:
        aim, family = (sample(kind, 3), "gaussian") if target == "reference" else (cd.Frank(2.0), None)
        pairs = both_ways(sample(kind, 1), aim, family=family, iid=iid)
        worst[kind] = max(bias_error(*pair) for pair in pairs)
    assert max(worst.values()) < 0.01, worst


@pytest.mark.parametrize("kind", ["iid", "student", "four chains"])
def test_rows_with_estimated_degrees_of_freedom(kind):
    draws, reference = sample(kind, 5)[..., :2], sample(kind, 7)[..., :2]
    ((gap, single),) = both_ways(draws, reference, family="studentt")
    assert_same(gap, single)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)  # normal draws ask for an infinite df
        assert gap.df == cd.fit(reference, "studentt").df


@careful
def test_rows_of_a_fixed_family_are_those_without_its_help():
    """`Pairwise.pair` hands the row's own family on; here `discrepancy` finds it by itself."""
    draws, reference = sample("student", 9), sample("student", 11)
    result = cd.pairwise(draws, reference, family="frank", iid=True)
    assert_same(result["x0", "x2"], cd.discrepancy(draws[:, [0, 2]], reference[:, [0, 2]], family="frank", iid=True))
    result = cd.pairwise(draws, cd.Frank(3.0))
    assert_same(result["x1", "x0"], cd.discrepancy(draws[:, [0, 1]], cd.Frank(3.0)))


@pytest.mark.parametrize("iid", [True, False])
@pytest.mark.parametrize("target", ["reference", "copula", "correlations"])
def test_rows_by_moments(target, iid):
    aims = {"reference": sample("four chains", 8), "copula": cd.Gumbel(1.4), "correlations": CORRELATIONS[:3, :3]}
    options = {"family": "frank"} if target == "reference" else {}
    for gap, single in both_ways(sample("four chains", 9), aims[target], method="moment", iid=iid, **options):
        assert gap.total == gap.level
        assert gap.shape == 0.0
        assert math.isnan(gap.shape_pvalue)
        assert_same(gap, single)


def test_rows_of_long_plain_sequences():
    """From 1000 draws on the halves of a plain sequence are compared: in the draws, and in a reference."""
    rng = np.random.default_rng(10)
    for gap, single in both_ways(gaussian(rng, 1200)[:, :2], gaussian(rng, 1100)[:, :2], family="gaussian"):
        assert math.isfinite(gap.rhat)
        assert_same(gap, single)


def test_rows_of_many_short_chains_and_long_ones():
    rng = np.random.default_rng(11)
    for shape in ((40, 15), (2, 8200)):
        for gap, single in both_ways(gaussian(rng, shape)[..., :3], cd.Gaussian(0.3)):
            assert_same(gap, single)


@careful
def test_perfect_dependence():
    """What says always the same has no error of its own: the other side's is the gap's."""
    rng = np.random.default_rng(12)
    draws, reference = gaussian(rng, 400)[:, :2], gaussian(rng, 500)[:, :2]
    twins, opposites = np.column_stack([draws, np.exp(draws[:, 0])]), np.column_stack([draws, -draws[:, 0]])
    both = {"twin": twins, "opposite": opposites}
    plain = np.column_stack([reference, gaussian(rng, 500)[:, 2]])
    se = {"draws": cd.fit(draws[:, [0, 1]], "gaussian", iid=True).estimates["tau"].se}
    se["reference"] = cd.fit(plain[:, [0, 2]], "gaussian", iid=True).estimates["tau"].se
    for name, sample_ in both.items():
        sign = 1.0 if name == "twin" else -1.0
        gap = cd.pairwise(sample_, plain, iid=True)["x0", "x2"]
        single = cd.discrepancy(sample_[:, [0, 2]], plain[:, [0, 2]], family="gaussian", iid=True)
        assert gap.tau == sign
        assert gap.level == single.level.value == sign - cd.kendall_tau(plain[:, 0], plain[:, 2])
        assert gap.level_se == pytest.approx(se["reference"], rel=1e-12)
        assert gap.level_pvalue < 1e-10
        assert math.isnan(gap.total_pvalue) or gap.total_se > 0
        assert gap.ckl == math.inf == single.ckl
        turned = cd.pairwise(plain, sample_, iid=True)["x0", "x2"]
        assert turned.level == -gap.level
        assert turned.level_se == pytest.approx(se["reference"], rel=1e-12)
        for gap, single in both_ways(sample_, cd.Gaussian(0.5), iid=True):
            if abs(gap.tau) == 1.0:
                # 200 independent pairs of draws, each concordant with probability (1 + tau) / 2
                chance = (0.5 * (1.0 + gap.tau * cd.Gaussian(0.5).tau)) ** 200
                assert gap.level_pvalue == pytest.approx(chance, rel=1e-9, abs=0.0)
            assert_same(gap, single)
    alike = cd.pairwise(twins, np.column_stack([reference, reference[:, 0]]), iid=True)["x0", "x2"]
    assert alike.level == alike.shape == alike.total == 0.0
    assert math.isnan(alike.level_pvalue)
    assert alike.verdict == NOT_TESTED
    unlike = cd.pairwise(twins, np.column_stack([reference, -reference[:, 0]]), iid=True)["x0", "x2"]
    assert unlike.level == 2.0


@pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")  # of chains so short
@pytest.mark.parametrize("iid", [True, False])
def test_a_row_is_the_same_whatever_is_compared_beside_it(iid):
    rng = np.random.default_rng(5)
    draws, reference = rng.standard_normal((2, 4, 50, 8)) @ np.triu(np.ones((8, 8)))
    together = cd.pairwise(draws, reference, iid=iid, n_jobs=1)
    numbers = [name for name in together.rows.dtype.names if not name.endswith("_adjusted") and name != "flagged"]
    places = {together.names.index(name): name for name in together.names}
    for first, second in itertools.combinations(places, 2):
        pair = draws[..., [first, second]], reference[..., [first, second]]
        alone = cd.pairwise(*pair, iid=iid, n_jobs=1).rows[0]
        row = together.rows[(together.rows["first"] == first) & (together.rows["second"] == second)][0]
        differing = [
            name for name in numbers if name not in ("first", "second") and alone[name].tobytes() != row[name].tobytes()
        ]
        assert differing == [], (first, second)


@pytest.mark.parametrize("kernel", ["finish_pairs", "newton_step"])
def test_a_kernel_is_compiled_for_one_order_in_memory(kernel):
    # two compilations for the same types need not round alike, and which one serves would depend on the number of pairs
    draws, reference = np.random.default_rng(6).standard_normal((2, 200, 3))
    for columns in (3, 2):
        cd.pairwise(draws[:, :columns], reference[:, :columns], iid=True, n_jobs=1)
    compiled = getattr(newton if kernel.startswith("newton") else kernels, kernel).signatures
    types = [re.sub("'[CFA]'", "", str(signature)) for signature in compiled]
    assert types
    assert len(types) == len(set(types))
