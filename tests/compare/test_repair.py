"""Repaired draws have the dependence of the reference, keep every value, and say what is not mended."""

import json
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import copula_discrepancy as cd
from tests.caveat_codes import codes_of, warned
from tests.refusals import refused


def banana(rng, n):
    x = rng.standard_normal((n, 2))
    x[:, 1] = 0.7 * x[:, 0] ** 2 + 0.5 * x[:, 1]
    return x


def funnel(rng, n):
    scale = rng.standard_normal(n)
    return np.column_stack([scale, np.exp(scale) * rng.standard_normal(n)])


def normal(rng, n, d=3, correlation=0.8):
    return rng.multivariate_normal(np.zeros(d), (1 - correlation) * np.eye(d) + correlation, n)


def broken(sample, rng):
    """The same margins, every column but the first drawn independently."""
    x = sample.copy()
    for k in range(1, x.shape[1]):
        x[:, k] = rng.permutation(x[:, k])
    return x


def same_margins(before, after):
    return np.array_equal(np.sort(before, axis=0), np.sort(after, axis=0))


def ranks(x):
    return np.argsort(np.argsort(x, axis=0), axis=0)


# ---- dependence --------------------------------------------------------------------------------------------------------


def test_ranks_are_the_rows_of_the_reference():
    rng = np.random.default_rng(1)
    draws, reference = rng.normal(size=(200, 4)), normal(rng, 200, 4)
    result = cd.repair(draws, reference)
    assert same_margins(draws, result.draws)
    assert np.array_equal(ranks(result.draws), ranks(reference)[result.reference_rows])
    assert np.array_equal(np.sort(result.reference_rows), np.arange(200))
    assert np.array_equal(np.take_along_axis(draws, result.positions, axis=0), result.draws)
    assert result.in_place == ("x0",)
    assert np.array_equal(result.draws[:, 0], draws[:, 0])
    assert result.moved == {f"x{k}": np.mean(draws[:, k] != result.draws[:, k]) for k in (1, 2, 3)}
    assert result.before > 0.5
    assert result.after == 0.0


RUNS = 60


@pytest.mark.slow
@pytest.mark.parametrize("sample", [banana, funnel, normal])
def test_repaired_draws_are_flagged_at_the_rate_of_false_alarms(sample):
    """Against a fresh reference: 5% of 60 runs, within the exact binomial 99.9% limit; unrepaired draws in all of them."""
    flagged = lost = 0
    for seed in range(RUNS):
        rng = np.random.default_rng([7, seed])
        good, reference, fresh = (sample(rng, 400) for _ in range(3))
        draws = broken(good, rng)
        result = cd.repair(draws, reference)
        assert same_margins(draws, result.draws)
        flagged += cd.pairwise(result, fresh, iid=True).n_flagged > 0
        lost += cd.pairwise(draws, fresh, iid=True).n_flagged > 0
    assert lost == RUNS
    # all pairs of a run together, at 5%: Benjamini-Hochberg's rate if no pair has a gap
    assert flagged <= scipy.stats.binom.ppf(0.999, RUNS, 0.05)


@pytest.mark.slow
def test_chains_are_repaired_too():
    """Autocorrelated chains with a correlated target; their own standard errors hold, or are too wide, after the repair."""
    flagged = lost = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        for seed in range(30):
            rng = np.random.default_rng([8, seed])
            chains = np.empty((4, 250, 2))
            state = rng.standard_normal((4, 2))
            for t in range(250):
                chains[:, t] = state = 0.5 * state + 0.75**0.5 * rng.standard_normal((4, 2))
            reference, fresh = normal(rng, 1000, 2, 0.6), normal(rng, 1000, 2, 0.6)
            result = cd.repair(chains, reference)
            assert result.draws.shape == chains.shape
            assert same_margins(chains.reshape(-1, 2), result.draws.reshape(-1, 2))
            flagged += cd.pairwise(result, fresh, iid="reference").n_flagged > 0
            lost += cd.pairwise(chains, fresh, iid="reference").n_flagged > 0
    assert lost == 30
    assert flagged <= scipy.stats.binom.ppf(0.999, 30, 0.05)


@pytest.mark.parametrize("m", [150, 1000, 3001])
def test_references_of_another_length(m):
    rng = np.random.default_rng(1)
    draws, reference = broken(banana(rng, 1000), rng), banana(rng, m)
    if m < 1000:
        with warned("few-reference-rows"):
            result = cd.repair(draws, reference)
    else:
        result = cd.repair(draws, reference)
        assert result.caveats == ()
    assert same_margins(draws, result.draws)
    uses = np.bincount(result.reference_rows, minlength=m)
    assert set(uses.tolist()) == ({6, 7} if m == 150 else {1} if m == 1000 else {0, 1})
    assert result.provenance["reference_rows"] == m
    assert result.provenance["most_uses_of_a_row"] == uses.max()
    bend = [np.corrcoef(np.abs(x[:, 0]), ranks(x)[:, 1])[0, 1] for x in (draws, result.draws, reference)]
    # the reference's own error, 1/sqrt(150) at most, is shared; copies of a row blur ranks by a 150th
    assert abs(bend[1] - bend[2]) < 0.1 < abs(bend[0] - bend[2])


def test_two_rows():
    result = cd.repair(np.array([[1.0, 9.0], [2.0, 8.0]]), np.array([[0.0, 1.0], [5.0, 6.0]]))
    assert result.draws.tolist() == [[1.0, 8.0], [2.0, 9.0]]
    assert (result.before, result.after) == (2.0, 0.0)


def test_counts_keep_their_dependence():
    """Independent counts stay independent, dependent ones become dependent, although most values are tied."""
    rng = np.random.default_rng(1)
    n = 4000
    shared = rng.poisson(1.0, (n, 1))
    for reference, least, most in ((rng.poisson(0.5, (n, 2)), -0.05, 0.05), (shared + rng.poisson(0.3, (n, 2)), 0.6, 0.9)):
        draws = rng.poisson(0.8, (n, 2))
        got = cd.repair(draws, reference).draws
        assert got.dtype == draws.dtype
        assert same_margins(draws, got)
        assert least < np.corrcoef(got.T)[0, 1] < most


def test_targets_other_than_samples():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(4000, 2))
    copula = cd.Clayton.from_tau(0.6)
    result = cd.repair(draws, copula)
    assert result.target == "copula"
    # the standard error of tau at n = 4000 is below 0.01
    assert abs(cd.kendall_tau(*result.draws.T) - 0.6) < 0.04
    assert cd.pairwise(result, copula, iid=True).n_flagged == 0
    wide = rng.normal(size=(4000, 3))
    matrix = np.array([[1.0, 0.7, 0.0], [0.7, 1.0, -0.5], [0.0, -0.5, 1.0]])
    result = cd.repair(wide, matrix)
    assert result.target == "correlations"
    assert cd.pairwise(result, matrix, iid=True).n_flagged == 0
    assert cd.pairwise(wide, matrix, iid=True).n_flagged >= 2
    named = pd.DataFrame(wide, columns=list("abc"))
    swapped = cd.repair(named, pd.DataFrame(matrix, columns=list("cba"), index=list("cba"))).draws
    assert swapped["a"].corr(swapped["c"], method="spearman") == pytest.approx(0.0, abs=0.06)
    assert swapped["c"].corr(swapped["b"], method="spearman") > 0.6
    singular = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, 0.62], [0.9, 0.62, 1.0]])
    assert np.linalg.eigvalsh(singular)[0] < 1e-8
    assert same_margins(wide, cd.repair(wide, singular).draws)


def test_vines():
    pv = pytest.importorskip("pyvinecopulib")
    rng = np.random.default_rng(1)
    names = list("abc")
    reference = pd.DataFrame(normal(rng, 1000), columns=names)
    draws = pd.DataFrame(rng.normal(size=(1000, 3)), columns=names[::-1])
    gaps = cd.vine(draws, reference, iid=True)
    result = cd.repair(draws, gaps)
    assert result.target == "vine"
    assert list(result.draws.columns) == names[::-1]
    assert np.abs(cd.kendall_matrix(result) - cd.kendall_matrix(reference)).max() < 0.08
    model = pv.Vinecop.from_data(cd.pseudo_observations(reference.to_numpy()))
    bare = cd.repair(draws, model)
    assert any("by position" in note for note in bare.notes)
    assert bare.draws.equals(cd.repair(draws, model).draws)
    pair = pv.Bicop.from_data(cd.pseudo_observations(reference.to_numpy()[:, :2]))
    assert cd.kendall_tau(*cd.repair(draws.to_numpy()[:, :2], pair).draws.T) > 0.4
    with refused("shape"):
        cd.repair(draws, pair)
    with refused("names-differ"):
        cd.repair(draws.rename(columns={"a": "z"}), gaps)


# ---- which variables move ----------------------------------------------------------------------------------------------


def test_one_fixed_variable_is_the_anchor():
    rng = np.random.default_rng(1)
    draws, reference = rng.normal(size=(300, 3)), normal(rng, 300)
    by_only = cd.repair(draws, reference, only=["x0", "x1"])
    by_anchor = cd.repair(draws, reference, anchor="x2")
    assert np.array_equal(by_only.draws, by_anchor.draws)
    assert np.array_equal(by_only.draws[:, 2], draws[:, 2])
    assert by_only.in_place == ("x2",)
    assert np.array_equal(ranks(by_only.draws), ranks(reference)[by_only.reference_rows])
    everything = cd.repair(draws, reference, only=["x2", "x1", "x0"])
    assert np.array_equal(everything.draws, cd.repair(draws, reference).draws)


def test_several_fixed_variables():
    rng = np.random.default_rng(1)
    flags = lost = 0
    for seed in range(20):
        rng = np.random.default_rng([9, seed])
        good, reference, fresh = (normal(rng, 800) for _ in range(3))
        draws = good.copy()
        draws[:, 2] = rng.permutation(draws[:, 2])
        result = cd.repair(draws, reference, only="x2")
        assert np.array_equal(result.draws[:, :2], draws[:, :2])
        assert same_margins(draws, result.draws)
        assert list(result.moved) == ["x2"]
        flags += cd.pairwise(result, fresh, iid=True).n_flagged > 0
        lost += cd.pairwise(draws, fresh, iid=True).n_flagged > 0
    assert lost == 20
    # rows used more than once add to the noise that the test knows of: more alarms than 5%, but few
    assert flags <= 8
    assert any("x0, x1" in note for note in result.notes)
    assert "variables in place" in result.not_mended()
    assert result.after < 0.1 < result.before


@pytest.mark.parametrize("only", [None, ["x3"], [f"x{k}" for k in range(398)]])
def test_hundreds_of_variables(only):
    """The look at tau is at a few of them, so that a repair stays fast."""
    rng = np.random.default_rng(1)
    draws, reference = rng.normal(size=(60, 400)), rng.normal(size=(60, 1)) + rng.normal(size=(60, 400))
    begin = time.process_time()
    result = cd.repair(draws, reference, only=only)
    assert time.process_time() - begin < 20  # of all pairs, tau alone would take minutes
    assert same_margins(draws, result.draws)
    if only is None or len(only) > 1:  # one variable cannot follow 399 that depend on each other as they should not
        assert result.after < result.before
    assert len(result.moved) == (399 if only is None else len(only))


def test_variables_that_are_not_selected_stay():
    rng = np.random.default_rng(1)
    draws = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    reference = pd.DataFrame(normal(rng, 100), columns=list("cab"))
    result = cd.repair(draws, reference, exclude="b")
    assert result.draws["b"].equals(draws["b"])
    assert result.names == ("a", "c")
    assert list(result.moved) == ["c"]
    assert result.draws["a"].rank().corr(result.draws["c"].rank()) > 0.6


# ---- rows and values that are special ----------------------------------------------------------------------------------


def test_rows_with_missing_values_stay():
    rng = np.random.default_rng(1)
    draws = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    draws.iloc[::7, 1] = np.nan
    reference = pd.DataFrame(normal(rng, 100), columns=list("abc"))
    with refused("nan"):
        cd.repair(draws, reference)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cd.repair(draws, reference, missing="listwise")
    complete = draws["b"].notna()
    pd.testing.assert_frame_equal(result.draws[~complete], draws[~complete])
    assert same_margins(draws[complete].to_numpy(), result.draws[complete].to_numpy())
    assert result.n == complete.sum()
    assert result.draws[complete].corr(method="spearman").to_numpy().min() > 0.6
    reference.iloc[0, 0] = np.nan
    with_holes = cd.repair(draws, reference, missing="listwise", rng=2)
    assert codes_of(with_holes) == []
    assert 0 not in with_holes.reference_rows  # counted in the reference as it was passed
    assert with_holes.provenance["reference_rows"] == 99
    with refused("nan"):
        cd.repair(draws.iloc[::7], reference, missing="listwise")


def test_constant_variables():
    rng = np.random.default_rng(1)
    draws, reference = rng.normal(size=(100, 3)), normal(rng, 100)
    still = draws.copy()
    still[:, 0] = 4.0
    with warned("constant-in-draws"):
        result = cd.repair(still, reference)
    assert np.array_equal(result.draws[:, 0], still[:, 0])
    assert result.in_place == ("x1",)
    assert np.array_equal(ranks(result.draws[:, 1:]), ranks(reference[:, 1:])[result.reference_rows])
    silent = reference.copy()
    silent[:, 0] = 4.0
    with warned("constant"):
        assert list(cd.repair(still, silent).moved) == ["x2"]
    with refused("constant") as caught:
        cd.repair(draws, silent)
    assert "exclude" in str(caught.value)
    assert cd.repair(draws, silent, exclude="x0").names == ("x1", "x2")
    with refused("constant"):
        cd.repair(still[:, :2], reference[:, :2])
    with refused("constant"):
        cd.repair(still, reference, only=["x0"])


def test_a_reference_that_is_the_draws():
    draws = normal(np.random.default_rng(1), 100)
    result = cd.repair(draws, draws)
    assert np.array_equal(result.draws, draws)
    assert set(result.moved.values()) == {0.0}
    assert any("same rows" in note for note in result.notes)


def test_values_at_the_ends_of_floats():
    x = np.array([[1e308, -1e308], [-1e308, 5e-324], [0.0, -0.0], [5e-324, 1e308]])
    result = cd.repair(x, np.arange(8.0).reshape(4, 2))
    assert np.sort(result.draws, axis=0).tobytes() == np.sort(x, axis=0).tobytes()
    assert np.array_equal(np.argsort(result.draws[:, 0]), np.argsort(result.draws[:, 1]))


# ---- reproducible, and told --------------------------------------------------------------------------------------------


def test_a_repair_can_be_repeated():
    rng = np.random.default_rng(1)
    draws, reference = rng.integers(0, 4, (200, 2)), rng.integers(0, 3, (200, 2))
    first = cd.repair(draws, reference).draws
    assert np.array_equal(first, cd.repair(draws, reference).draws)
    assert np.array_equal(first, cd.repair(draws, reference, rng=np.random.default_rng(1)).draws)
    assert not np.array_equal(first, cd.repair(draws, reference, rng=2).draws)
    assert cd.repair(draws, reference, rng=2).provenance["seed"] == 2
    assert cd.repair(draws, reference, rng=None).provenance["seed"] is None


def test_what_is_not_mended_is_told():
    rng = np.random.default_rng(1)
    draws = pd.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50), "text": "t"})
    with warned("few-reference-rows"):
        result = cd.repair(draws, pd.DataFrame(normal(rng, 30, 2), columns=["a", "b"]), var_names=["a", "b"])
    assert {*result.not_mended()} == {"margins", "serial order", "other columns", "evidence", "sample size"}
    for text in (repr(result), result._repr_html_()):
        assert "Not mended" in text
        assert "b" in text
    assert {*cd.repair(draws[["a", "b"]], cd.Frank(5.0)).not_mended()} == {"margins", "serial order", "other columns"}
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["provenance"]["moved"] == ["b"]
    assert plain["provenance"]["reference_rows"] == 30
    assert plain["caveats"][0]["code"] == "few-reference-rows"
    page = cd.repair(pd.DataFrame(normal(rng, 50, 2), columns=["<i>", "b"]), cd.Frank(5.0))._repr_html_()
    assert "<i>" not in page


@pytest.mark.parametrize(
    ("target", "options", "code"),
    [
        (None, {}, "no-target"),
        ("gumbel", {}, "no-target"),
        (3.0, {}, "no-target"),
        (cd.Gumbel, {}, "no-target"),
        (cd.Gumbel(2.0), {}, "shape"),
        ({("x0", "x1"): cd.Gumbel(2.0)}, {}, "argument"),
        (np.zeros((0, 3)), {}, "too-few-draws"),
        (np.ones((9, 2)), {}, "names-differ"),
        (np.full((9, 3), np.nan), {}, "nan"),
        (np.full((9, 3), np.inf), {}, "infinite"),
        (np.eye(3), {"only": []}, "argument"),
        (np.eye(3), {"only": 3}, "argument"),
        (np.eye(3), {"only": ["x0", "X1"]}, "unknown-name"),
        (np.eye(3), {"anchor": "x9"}, "unknown-name"),
        (np.eye(3), {"anchor": 0}, "argument"),
        (np.eye(3), {"anchor": "x0", "only": ["x1"]}, "argument"),
        (np.eye(3), {"missing": "pairs"}, "argument"),
        (np.eye(3), {"rng": -1}, "argument"),
        (np.eye(3), {"var_names": "x7"}, "unknown-name"),
        (np.eye(3), {"var_names": "x1"}, "shape"),
        (np.eye(3), {"delimiter": ";"}, "argument"),
    ],
)
def test_what_cannot_be_used(target, options, code):
    draws = np.random.default_rng(1).normal(size=(20, 3))
    with refused(code):
        cd.repair(draws, target, **options)


def test_names_that_differ():
    rng = np.random.default_rng(1)
    draws = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    for names in (["a", "B"], ["a", "b", "c"], ["a"]):
        with refused("names-differ"):
            cd.repair(draws, pd.DataFrame(rng.normal(size=(20, len(names))), columns=names))
    with refused():
        cd.repair(pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "a"]), draws)


@pytest.mark.parametrize("container", [pd.DataFrame, lambda table: xr.Dataset({name: ("draw", table[name]) for name in table})])
def test_repaired_containers_say_so_when_they_are_read_again(container):
    """Comparing them with the reference that they took their ranks from is no evidence."""
    rng = np.random.default_rng(5)
    draws, reference = (container(pd.DataFrame(rng.standard_normal((60, 2)), columns=["a", "b"])) for _ in range(2))
    repaired = cd.repair(draws, reference).draws
    assert any(note.startswith("repaired: ") for note in cd.as_draws(repaired).notes)
    assert not any(note.startswith("repaired: ") for note in cd.as_draws(draws).notes)


def test_a_reference_of_few_effective_rows_is_told():
    rng = np.random.default_rng(7)
    walk = np.cumsum(rng.standard_normal((600, 2)), axis=0)
    with warned("few-reference-rows"):
        cd.repair(rng.standard_normal((600, 2)), walk)
    assert not cd.repair(rng.standard_normal((600, 2)), rng.standard_normal((600, 2))).caveats


def test_only_takes_all_of_a_variable():
    rng = np.random.default_rng(6)
    draws, reference = ({"mu": rng.standard_normal((2, 50)), "theta": rng.standard_normal((2, 50, 2))} for _ in range(2))
    repaired = cd.repair(draws, reference, only="theta")
    assert set(repaired.moved) == {"theta[0]", "theta[1]"}
    np.testing.assert_array_equal(repaired.draws["mu"], draws["mu"])
