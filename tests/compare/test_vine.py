"""A vine's edges: their recursion against pyvinecopulib's, their numbers against `pairwise`, and what the tests find."""

import json
import math
import re
import sys

import numpy as np
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy.compare.one_of_many import place_of
from copula_discrepancy.compare.row_family import family_of
from copula_discrepancy.compare.vine import climb, template_of, vine
from copula_discrepancy.compare.vine_result import EdgeGap, VineGaps
from copula_discrepancy.compare.wording import NO_GAP, answer_line
from tests.caveat_codes import warned
from tests.compare.misuse import SAMPLE, VINE, refused_naming
from tests.compare.verdicts import TOO_WEAK, WRONG_SHAPE, WRONG_SIGN, faults, too_thick, too_thin

pv = pytest.importorskip("pyvinecopulib")
FAMILY = pv.BicopFamily
COPULAS = [
    (FAMILY.gaussian, 0, [0.6]),
    (FAMILY.gaussian, 0, [-0.4]),
    (FAMILY.student, 0, [0.5, 3.5]),
    (FAMILY.frank, 0, [-4.0]),
    *((FAMILY.clayton, turn, [2.0]) for turn in (0, 90, 180, 270)),
    *((FAMILY.gumbel, turn, [2.5]) for turn in (0, 90, 180, 270)),
    *((FAMILY.joe, turn, [3.0]) for turn in (0, 90, 180, 270)),
]


def bicop(family, rotation, parameters):
    return pv.Bicop(family, rotation, np.array(parameters, dtype=float).reshape(-1, 1))


def known_vine(tree_2=(FAMILY.frank, 0, [3.0])):
    """A vine of four variables: x0 - x1 - x2 - x3 in tree 1."""
    trees = [
        [bicop(FAMILY.gumbel, 0, [2.0]), bicop(FAMILY.clayton, 0, [2.0]), bicop(FAMILY.gaussian, 0, [0.6])],
        [bicop(*tree_2), bicop(FAMILY.clayton, 90, [0.8])],
        [bicop(FAMILY.gaussian, 0, [0.4])],
    ]
    return pv.Vinecop.from_structure(structure=pv.RVineStructure.from_order([1, 2, 3, 4]), pair_copulas=trees)


def sampled(model, rng, n):
    return model.inverse_rosenblatt(np.asfortranarray(rng.random((n, model.dim))))


def common_cause(rng, shape, correlation):
    """Two variables with one cause, and a correlation beside it that only conditioning shows."""
    noise = rng.multivariate_normal([0.0, 0.0], [[1.0, correlation], [correlation, 1.0]], shape)
    cause = rng.standard_normal(shape)
    return {"a": cause + 0.5 * noise[..., 0], "b": cause + 0.5 * noise[..., 1], "cause": cause}


@pytest.fixture(scope="module")
def too_weak():
    rng = np.random.default_rng(20)
    return vine(common_cause(rng, 1500, 0.0), common_cause(rng, 1500, -0.6), iid=True, n_jobs=1)


# ---- the vine itself ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [4, 2])
def test_densities_of_all_edges_add_up_to_the_density_of_the_vine(levels):
    rng = np.random.default_rng(2)
    mixed = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 5))
    mixed[:, 3] += mixed[:, 0] ** 2  # so that the families differ
    u = np.asfortranarray(cd.pseudo_observations(mixed))
    result = vine(mixed, rng.permuted(mixed, axis=0), truncate=levels, iid=True, n_jobs=1)
    model = pv.Vinecop.from_data(
        u, controls=pv.FitControlsVinecop(family_set=[FAMILY.gaussian, FAMILY.clayton, FAMILY.gumbel], trunc_lvl=levels)
    )
    assert len(result) == sum(4 - tree for tree in range(levels))
    for fitted in (model, result.model):
        trees = list(climb(fitted, u))
        total = sum(
            fitted.get_pair_copula(tree, k).loglik(np.asfortranarray(np.column_stack(pair)))
            for tree, pairs in enumerate(trees)
            for k, pair in enumerate(pairs)
        )
        assert [len(pairs) for pairs in trees] == [4 - tree for tree in range(levels)]
        assert total == pytest.approx(fitted.loglik(u), rel=1e-10)  # the same terms in another order


@pytest.mark.parametrize(("family", "rotation", "parameters"), COPULAS)
def test_families_and_rotations_have_the_same_density_in_both_libraries(family, rotation, parameters):
    theirs = bicop(family, rotation, parameters)
    u, v = np.random.default_rng(3).uniform(0.01, 0.99, (2, 200))
    expected = np.log(theirs.pdf(np.asfortranarray(np.column_stack([u, v]))))
    rtol = 1e-6  # pyvinecopulib differentiates its Student t quantiles' approximations; other families agree to 1e-11
    np.testing.assert_allclose(template_of(theirs).with_theta(parameters[0]).logpdf(u, v), expected, rtol=rtol, atol=1e-7)
    turned = template_of(theirs, turned=True).with_theta(parameters[0])
    np.testing.assert_allclose(turned.logpdf(v, u), expected, rtol=rtol, atol=1e-7)


def test_independence_is_seen_through_the_gaussian_family():
    assert template_of(pv.Bicop()).name == "Gaussian"


# ---- the numbers -------------------------------------------------------------------------------------------------------------


def test_tree_1_has_the_numbers_of_pairwise():
    rng = np.random.default_rng(4)
    draws, reference = (sampled(known_vine(), rng, 1200).reshape(4, 300, 4) for _ in range(2))
    result = vine(draws, reference, n_jobs=1)
    edges = [edge for edge in result if edge.tree == 1]
    assert {edge.label for edge in edges} == {"x0 ~ x1", "x1 ~ x2", "x2 ~ x3"}
    for edge in edges:
        places = [result.names.index(name) for name in edge.names]
        family = family_of(result, result.rows[place_of(result, *edge.names)])
        expected = cd.pairwise(draws[..., places], reference[..., places], family=family, n_jobs=1)[0]
        for name, value in edge.numbers.items():
            if not name.endswith("_adjusted"):
                assert value == pytest.approx(expected.numbers[name], rel=1e-9, nan_ok=True), name
    again = result.pair("x0", "x1")
    assert again.level.value == pytest.approx(result["x0", "x1"].level, rel=1e-12)


def test_tree_2_compares_conditional_distributions_under_the_reference():
    rng = np.random.default_rng(5)
    samples = common_cause(rng, 800, 0.3), common_cause(rng, 800, -0.6)
    result = vine(*samples, iid=True, n_jobs=1)
    edge, order, structure = result["a", "b"], result.model.order, result.model.structure
    assert (edge.tree, edge.given) == (2, ("cause",))
    taus = []
    for sample in samples:
        conditional = {}
        for k in range(2):
            theirs, names = (
                result.model.get_pair_copula(0, k),
                [result.names[order[k] - 1], result.names[structure.struct_array(0, k) - 1]],
            )
            assert "cause" in names
            ours = template_of(theirs).with_theta(float(theirs.parameters[0, 0]))
            u, v = cd.pseudo_observations(np.column_stack([sample[name] for name in names])).T
            if names[0] == "cause":
                conditional[names[1]] = ours.conditional_cdf(u, v, given="u")
            else:
                conditional[names[0]] = ours.conditional_cdf(u, v, given="v")
        taus.append(cd.kendall_tau(conditional["a"], conditional["b"]))
    assert taus == pytest.approx([edge.tau, edge.tau_target], abs=1e-5)  # h-functions that differ by rounding may swap a pair


def test_edges_that_a_family_cannot_follow_are_seen_through_the_gaussian_one():
    rng = np.random.default_rng(6)
    reference = cd.Clayton(3.0).sample(500, rng=rng)
    turned = reference * [1.0, -1.0]
    edge = vine(turned, reference, iid=True, n_jobs=1).worst
    assert edge.family == "Gaussian"
    assert faults(edge.verdict)[0] == WRONG_SIGN
    assert edge.level == pytest.approx(2 * edge.tau)


def test_rotations_follow_the_order_of_the_variables():
    # Clayton turned by 90 degrees is not exchangeable: mirrored the wrong way, its fit would miss the tail and the shape
    draws = cd.Rotated(cd.Clayton(3.0), 90).sample(2000, rng=7)
    reference = cd.Rotated(cd.Clayton(3.0), 90).sample(2000, rng=8)
    for columns, family in (([0, 1], "Clayton90"), ([1, 0], "Clayton270")):
        edge = vine(draws[:, columns], reference[:, columns], iid=True, n_jobs=1).worst
        assert edge.family == family
        assert edge.theta == pytest.approx(3.0, abs=0.4)  # four standard errors


# ---- the tests ---------------------------------------------------------------------------------------------------------------


def test_only_the_conditional_dependence_is_wrong(too_weak):
    assert (too_weak.worst.names, too_weak.worst.given) == (("a", "b"), ("cause",))
    assert too_weak.worst.label == "a ~ b | cause"
    assert too_weak.worst.verdict == TOO_WEAK
    assert too_weak.n_flagged == 1
    assert not too_weak.worst.echo
    assert too_weak.worst.tau_target == pytest.approx(2 / math.pi * math.asin(-0.6), abs=0.08)  # four standard errors


def test_a_wrong_shape_in_tree_2_is_found():
    rng = np.random.default_rng(9)
    right, wrong = (FAMILY.clayton, 90, [2.0]), (FAMILY.joe, 90, [cd.Joe.from_tau(0.5).theta])  # both have tau -0.5
    result = vine(sampled(known_vine(wrong), rng, 1500), sampled(known_vine(right), rng, 1500), iid=True, n_jobs=1)
    edge = result["x0", "x2"]
    assert (edge.tree, edge.given) == (2, ("x1",))
    # Clayton by 90 degrees has its tail where u is high and v is low, Joe where u is low and v is high
    assert faults(edge.verdict) == [WRONG_SHAPE, too_thick("low_high"), too_thin("high_low")]
    assert all(gap.label == edge.label or gap.tree > 1 for gap in result if gap.flagged)


def test_edges_above_a_gap_are_told_apart():
    rng = np.random.default_rng(10)
    reference = sampled(known_vine(), rng, 1500)
    draws = sampled(known_vine(), rng, 1500)
    draws[:, 0] = rng.random(1500)  # x0 has lost all its dependence
    result = vine(draws, reference, iid=True, n_jobs=1)
    assert not result["x0", "x1"].echo
    assert result["x0", "x1"].flagged
    assert result["x0", "x2"].echo
    assert "x0 ~ x1" in result.sentences()["Where"]
    assert "x0 ~ x2" not in result.sentences()["Where"]


@pytest.mark.slow
def test_tests_keep_their_level_in_every_tree():
    """25 replications of 6 edges at 5%: rejections inside the binomial 99.9% band of each tree's and test's count."""
    rng, model = np.random.default_rng(11), known_vine()
    pvalues = {}
    for _ in range(25):
        for edge in vine(sampled(model, rng, 300), sampled(model, rng, 300), iid=True, n_jobs=1):
            for name in ("level", "shape"):
                pvalues.setdefault((edge.tree, name), []).append(getattr(edge, f"{name}_pvalue"))
    for values in pvalues.values():
        low, high = stats.binom.interval(0.999, len(values), 0.05)
        assert low <= np.sum(np.array(values) < 0.05) <= high


def test_chains_have_larger_standard_errors_than_independent_draws():
    rng = np.random.default_rng(12)
    walk = rng.standard_normal((4, 500, 3))
    for t in range(1, 500):
        walk[:, t] += 0.9 * walk[:, t - 1]
    walk[..., :2] += walk[..., 2:]
    reference = rng.standard_normal((2000, 3))
    reference[:, :2] += reference[:, 2:]
    with pytest.warns(cd.DependenceWarning):  # chains this slow do not agree yet
        slow = vine(walk, reference)
    with warned("chains-disagree"):
        fast = vine(walk, reference, iid=True)
    for edge in slow:
        assert edge.level_se > 1.3 * fast[edge.names].level_se
        assert edge.n_eff < 1000 < fast[edge.names].n_eff


def test_threads_change_nothing():
    rng = np.random.default_rng(18)
    samples = sampled(known_vine(), rng, 200), sampled(known_vine(), rng, 300)
    one, two = (vine(*samples, iid=True, n_jobs=jobs) for jobs in (1, 2))
    assert one.rows.tobytes() == two.rows.tobytes()


# ---- words and tables --------------------------------------------------------------------------------------------------------


def test_the_answer_in_words_comes_first(too_weak):
    lines, worst = repr(too_weak).splitlines(), too_weak.worst
    assert lines[0].endswith(f": {answer_line(too_weak, capital=False)}")
    assert "1 of 3 edges" in lines[0]
    assert lines[1] == too_weak.title
    assert [int(word) for word in too_weak.title.replace(",", "").split() if word.isdigit()] == [1500, 3, 3, 2, 1500]
    table = next(k for k, line in enumerate(lines) if line.split()[:1] == ["edge"])
    assert lines[table].split().index("se") < lines[table].split().index("p")
    assert lines[table + 1].startswith(f"  {worst.label} ")
    said = too_weak.sentences()
    for shown in (f"{worst.label}: ", f"{worst.tau:.2f}", f"{worst.tau_target:.2f}", f"{worst.level:+.3f}"):
        assert shown in said["Worst"]
    assert re.findall(r"\d+", said["Trees"]) == ["1", "1", "2", "1"]  # one of one edge in tree 2, none in one other tree
    assert "pair" not in repr(too_weak)
    assert worst.label in too_weak._repr_html_()


def test_everything_is_in_the_dictionary_and_the_table(too_weak):
    plain = json.loads(json.dumps(too_weak.to_dict()))
    assert plain["n_edges"] == len(plain["edges"]) == len(too_weak) == 3
    assert plain["edges"][0]["edge"] == too_weak.worst.label
    assert plain["edges"][0]["given"] == ["cause"]
    assert [tree["n_flagged"] for tree in plain["trees"]] == [0, 1]
    table = too_weak.to_dataframe()
    assert list(table["tree"]) == [edge.tree for edge in too_weak]
    assert table["given"].iloc[0] == "cause"
    assert list(table["level"]) == [edge.level for edge in too_weak]
    assert too_weak.matrix("tau")[0, 1] == too_weak["b", "a"].tau
    assert isinstance(too_weak, VineGaps)
    assert all(isinstance(edge, EdgeGap) for edge in too_weak)
    with refused_naming("argument", "a ~ b | cause", "result['a', 'b']"):
        too_weak.pair("a", "b")


def test_moments_leave_out_the_shape():
    rng = np.random.default_rng(13)
    result = vine(common_cause(rng, 300, 0.0), common_cause(rng, 300, 0.0), iid=True, method="moment", n_jobs=1)
    assert all(math.isnan(edge.shape_pvalue) and math.isfinite(edge.level_pvalue) for edge in result)


# ---- input -------------------------------------------------------------------------------------------------------------------


def test_two_variables_make_one_edge():
    rng = np.random.default_rng(14)
    result = vine(rng.standard_normal((200, 2)), rng.standard_normal((200, 2)), iid=True)
    assert (len(result), result.n_trees, result.outcome, result.worst.verdict) == (1, 1, "no gap", NO_GAP)
    assert "1 edge," in result.title
    assert "tree" not in result.title


def test_perfect_dependence_is_no_accident():
    rng = np.random.default_rng(15)
    x = rng.standard_normal((300, 1))
    draws = np.hstack([x, 2 * x, -x, rng.standard_normal((300, 1))])
    with warned("same-rows"):
        result = vine(draws, draws[rng.permutation(300)], iid=True, n_jobs=1)
    assert result.n_flagged == 0
    assert len(result) == 6


def test_constant_variables_are_left_out():
    rng = np.random.default_rng(16)
    draws, reference = rng.standard_normal((2, 200, 3))
    draws[:, 1] = 4.0
    with warned("constant-in-draws"):
        result = vine(draws, reference, iid=True)
    assert result.names == ("x0", "x2")
    draws[:, 2] = 4.0
    with refused_naming("constant", "got 1", "x1", "x2"):
        vine(draws, reference, iid=True)


@pytest.mark.parametrize("case", VINE)
def test_bad_input_is_named(case):
    VINE[case].check()


def test_samples_rounded_differently_come_with_a_warning():
    with warned("rounded-values"):
        vine(np.round(2 * SAMPLE), SAMPLE[::-1].copy() ** 3, iid=True)


def test_the_draws_themselves_are_no_reference():
    with warned("same-rows"):
        vine(SAMPLE, SAMPLE, iid=True)


def test_pyvinecopulib_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyvinecopulib", None)
    with refused_naming("dependency", "vine()", "pyvinecopulib", '"copula-discrepancy[vine]"'):
        vine(SAMPLE, SAMPLE)
