"""Where divergent draws are, in a ranking and in a pair: counts by another route, and what is not answered."""

import json
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import copula_discrepancy as cd
from copula_discrepancy.compare.divergences import FORM
from copula_discrepancy.data.readers.divergences import unknown_divergences
from copula_discrepancy.report.plots import look
from tests.caveat_codes import codes_of
from tests.trees import CHAINS, DRAWS, flags, tree

pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")


@cache
def ranking():
    """Where a is small, b is wrong, and trajectories diverge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return cd.pairwise(tree(1, lost=True), tree(2), n_jobs=1)


def anywhere(count, seed=1):
    """A mask with so many divergences in no particular place."""
    mask = np.zeros(CHAINS * DRAWS, bool)
    mask[np.random.default_rng(seed).choice(mask.size, count, replace=False)] = True
    return mask.reshape(CHAINS, DRAWS)


def test_divergences_where_a_pair_is_wrong_are_found():
    found = ranking().divergences
    assert (found.n_divergent, found.n) == (flags(1, lost=True).sum(), CHAINS * DRAWS)
    assert found.by_chain == tuple(flags(1, lost=True).sum(axis=1))
    assert [place.names for place in found.found] == [("a", "b")]
    place = found.found[0]
    assert place.where == FORM
    assert place.pvalue < 1e-4
    assert place.share > 1.5 * place.share_of_all
    assert place.share_of_all == pytest.approx(0.25, abs=1.0 / found.n)
    assert place.pvalue <= place.adjusted <= len(found.places) * place.pvalue


def test_the_count_is_that_of_the_densities_of_the_pair():
    """By the result of the pair: the draws where `Form.density` differs most."""
    one = ranking().pair("a", "b")
    draws = one.fit.pair
    u, v = ((column.doubled_mid_ranks - 1.0) / (2.0 * draws.n) for column in (draws.first, draws.second))
    grids = (one.form.density(u, v, target=target) for target in (False, True))
    gap = np.abs(np.subtract(*(np.diag(grid) for grid in grids)))
    inside = gap >= np.quantile(gap, 0.75)
    expected = np.count_nonzero(inside & flags(1, lost=True).ravel())
    place = next(place for place in one.divergences.places if place.where == FORM)
    assert place.inside == expected
    assert place.share == expected / one.divergences.n_divergent
    assert place.pvalue == pytest.approx(next(p for p in ranking().divergences.places if p.names == ("a", "b")).pvalue)


def test_corners_with_a_gap_are_looked_at():
    """Divergences in the corner that the draws fill too much."""
    draws = cd.as_draws(cd.Clayton(4.0).sample(2000, rng=1).reshape(4, 500, 2))
    low = (draws.values < 0.1).all(axis=2)
    given = replace(draws, diverging=low & (np.random.default_rng(1).random(low.shape) < 0.2))
    place = next(p for p in cd.discrepancy(given, cd.Gumbel(3.0)).divergences.places if p.where == "low_low")
    assert place.share == 1.0
    assert place.inside == given.n_divergent
    assert place.share_of_all == pytest.approx(low.mean(), abs=0.01)
    assert place.pvalue < 1e-6


def test_divergences_anywhere_are_not_found():
    draws = replace(cd.as_draws(tree(1, lost=True)), diverging=anywhere(40))
    found = cd.pairwise(draws, tree(2), n_jobs=1).divergences
    assert found.places
    assert not found.found
    assert found.n_divergent == 40


def test_no_gap_leaves_nothing_to_look_for():
    result = cd.pairwise(tree(1), tree(2), n_jobs=1)
    assert not result.n_flagged
    assert result.divergences.places == ()
    assert "Divergent" not in result.sentences()
    assert codes_of(result).count("divergent-draws") == 2


def test_without_divergences_without_statistics_and_without_a_target():
    none = replace(cd.as_draws(tree(1, lost=True)), diverging=np.zeros((CHAINS, DRAWS), bool))
    result = cd.pairwise(none, cd.as_draws(tree(2)["posterior"].to_dataset()), n_jobs=1)
    assert (result.divergences.n_divergent, result.divergences.places) == (0, ())
    assert "divergent-draws" not in codes_of(result)
    unknown = cd.pairwise(tree(1, lost=True)["posterior"].to_dataset(), tree(2)["posterior"].to_dataset(), n_jobs=1)
    assert unknown.divergences is None
    assert unknown.to_dict()["divergences"] is None


def test_without_a_target_they_are_looked_for_where_the_family_does_not_fit():
    alone = cd.pairwise(tree(1, lost=True), n_jobs=1)
    assert codes_of(alone) == ["divergent-draws"]
    found = alone.divergences
    assert found.n_gaps == alone.n_flagged > 0
    place = next(place for place in found.places if (place.names, place.where) == (("a", "b"), FORM))
    assert place in found.found
    assert "the part that differs most from its family" in alone.sentences()["Divergent"]
    # by the copula that was fitted, as a known target
    fitted = alone.fitted("a", "b").copula
    both = cd.as_draws(tree(1, lost=True), var_names=["a", "b"])
    other = next(place for place in cd.discrepancy(both, fitted).divergences.places if place.where == FORM)
    assert (place.inside, place.share_of_all, place.pvalue) == (other.inside, other.share_of_all, other.pvalue)


def test_a_pair_of_a_ranking_has_the_answer_of_the_ranking():
    """On one page, both answers are next to each other."""
    result = ranking()
    for names in {place.names for place in result.divergences.places}:
        expected = tuple(place for place in result.divergences.places if place.names == names)
        assert result.pair(*names).divergences.places == expected
    draws = cd.as_draws(tree(1, lost=True))
    values = draws.values.copy()
    values[..., 2] += values[..., 0]
    result = cd.pairwise(replace(draws, values=values), tree(2), n_jobs=1)
    assert result.divergences.n_gaps > 1
    places = [place for place in result.divergences.places if place.adjusted > place.pvalue]
    for place in places:  # for all places of all pairs
        assert place in result.pair(*place.names).divergences.places
    assert places


def test_rows_with_missing_values_are_left_out():
    """Divergences in a corner, with values missing elsewhere: the count is that of the rows that have both."""
    rng = np.random.default_rng(3)
    x, noise = rng.standard_normal((2, 4000))
    y = 0.6 * x + 0.8 * noise
    wrong = x < -0.8
    y[wrong] = rng.standard_normal(wrong.sum())
    marked = wrong & (y > 0)
    holes = rng.random(4000) < 0.25
    rows = np.stack([x, np.where(holes, np.nan, y)], axis=1)
    table = cd.as_draws({"x": rows[:, 0], "y": rows[:, 1]}, missing="pairs")
    a, b = rng.standard_normal((2, 4000))
    result = cd.pairwise(replace(table, diverging=marked[None]), {"x": a, "y": 0.6 * a + 0.8 * b}, iid=True, n_jobs=1)
    places = {place.where: place for place in result.divergences.places}
    known = ~holes
    u, v = ((np.argsort(np.argsort(column[known])) + 0.5) / known.sum() for column in (x, y))
    corner = (u <= 0.1) & (v >= 0.9)
    assert places["low_high"].inside == np.count_nonzero(corner & marked[known])
    assert places["low_high"].share_of_all == pytest.approx(corner.mean(), abs=2e-3)
    assert places[FORM].share == places[FORM].inside / marked[known].sum()
    assert places[FORM].pvalue < 1e-3
    assert result.pair("x", "y").divergences.places == result.divergences.places


def test_with_lags_divergent_draws_are_counted_once_for_each_sample():
    result = cd.pairwise(tree(1), tree(2), lags=1, n_jobs=1)
    assert codes_of(result).count("divergent-draws") == 2


@pytest.mark.parametrize("compare", [cd.pairwise, cd.interactions, cd.screen, cd.worst_consequences])
def test_every_comparison_counts_them_once_for_each_sample(compare):
    told = [caveat.sentence for caveat in compare(tree(1), tree(2)).caveats if caveat.code == "divergent-draws"]
    assert len(told) == 2
    assert f"{flags(1).sum()} of 1,000" in told[0]
    assert told[1].startswith("reference: ")
    assert f"{flags(2).sum()} of 1,000" in told[1]


@pytest.mark.slow
@pytest.mark.parametrize("group", ["posterior", "log_likelihood"])
def test_files_compare_as_trees_do(tmp_path, group):
    """From netCDF and from Zarr."""
    pytest.importorskip("zarr")
    pytest.importorskip("dask", reason="pairwise looks at a store through it")
    expected = cd.pairwise(tree(1), tree(2), group=group, n_jobs=1)
    for ending in ("nc", "zarr"):
        paths = [str(tmp_path / f"{seed}.{ending}") for seed in (1, 2)]
        for seed, path in enumerate(paths, 1):
            if ending == "nc":
                tree(seed).to_netcdf(path, engine="h5netcdf")
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # from zarr, about consolidated metadata
                    tree(seed).to_zarr(path)
        found = cd.pairwise(*paths, group=group, n_jobs=1)
        assert repr(found.to_dict()) == repr(expected.to_dict())  # NaN is not itself
        assert codes_of(found) == codes_of(expected)


def test_draws_of_a_run_without_divergences_have_none_whichever_they_are():
    """Thinned and numbered anew: of which statistics they are is not known, and it does not matter."""
    given = tree(1)
    thinned = given["posterior"].to_dataset().isel(draw=slice(None, None, 5)).drop_vars("draw")
    given["posterior"] = xr.DataTree(thinned.assign_coords(draw=np.arange(thinned.sizes["draw"])))
    assert cd.as_draws(given).diverging is None
    assert "divergences-unknown" in codes_of(cd.pairwise(given, tree(2), n_jobs=1))
    given["sample_stats"]["diverging"] = given["sample_stats"]["diverging"] & False
    read = cd.as_draws(given)
    assert not read.diverging.any()
    assert read.diverging.shape == (CHAINS, DRAWS // 5)
    result = cd.pairwise(given, tree(2), n_jobs=1)
    assert "divergences-unknown" not in codes_of(result)


def test_unknown_divergences_of_one_file_of_several_are_a_caveat_told_once():
    """The note names the file."""
    told = f"run_2.csv: {unknown_divergences('divergent__ has missing values')}"
    result = cd.pairwise(replace(cd.as_draws(tree(1)), diverging=None, notes=(told,)), tree(2), n_jobs=1)
    assert "divergences-unknown" in codes_of(result)
    assert " ".join(repr(result).split()).count("divergent__ has missing values") == 1


def test_draws_of_the_prior_have_the_statistics_of_the_prior():
    """Those of the posterior are about other draws."""
    given = tree(1)
    statistics = given["sample_stats"].to_dataset().isel(chain=[0])
    given["sample_stats_prior"] = xr.DataTree(~statistics[["diverging"]])
    read = cd.as_draws(given, group="prior")
    assert np.array_equal(read.diverging[0], ~cd.as_draws(given).diverging[0])


def test_groups_of_other_draws_have_no_divergences():
    assert "divergent-draws" not in codes_of(cd.pairwise(tree(1), tree(2), group="prior", n_jobs=1))


def test_a_pair_has_those_of_both_samples():
    one = ranking().pair("a", "b")
    assert np.array_equal(one.diverging[0], flags(1, lost=True))
    assert np.array_equal(one.diverging[1], flags(2))
    assert codes_of(one).count("divergent-draws") == 2


def test_results_say_it_and_files_hold_it(tmp_path):
    result = ranking()
    assert "Divergent" in result.sentences()
    assert "Divergent" in result.pair("a", "b").sentences()
    plain = json.loads(json.dumps(result.to_dict()))["divergences"]
    assert plain["n_divergent"] == result.divergences.n_divergent
    assert plain["places"][0]["names"] == ["a", "b"]
    table = result.divergences.to_dataframe()
    assert len(table) == len(result.divergences.places)
    assert table["pvalue"].tolist() == [place.pvalue for place in result.divergences.places]
    page = result.to_html(tmp_path / "page.html").read_text()
    assert "Divergent" in page
    assert f"{result.divergences.n_divergent} divergent" in page
    numbers = json.loads((tmp_path / "page.json").read_text())
    assert numbers["divergences"]["by_chain"] == list(result.divergences.by_chain)


def test_the_sentence_of_a_ranking_in_which_none_gather(tmp_path):
    draws = replace(cd.as_draws(tree(1, lost=True)), diverging=anywhere(40))
    sentence = cd.pairwise(draws, tree(2), n_jobs=1).sentences()["Divergent"]
    assert "40 of 1,000" in sentence
    assert "evidence" in sentence  # that there is none, and not that they are elsewhere


@pytest.mark.parametrize(("count", "tells"), [(1, False), (3, True)])
def test_few_divergent_draws_are_said_to_be_too_few(count, tells):
    """All where the dependence is wrong: of one draw, a quarter of all rotations are there."""
    inside = np.argwhere(flags(1, lost=True))
    mask = np.zeros((CHAINS, DRAWS), bool)
    mask[tuple(inside[np.linspace(0, len(inside) - 1, count).astype(int)].T)] = True
    both = [cd.as_draws(tree(seed, lost=seed == 1), var_names=["a", "b"]) for seed in (1, 2)]
    result = cd.discrepancy(replace(both[0], diverging=mask), both[1])
    assert (min(place.least for place in result.divergences.places) < 0.05) == tells
    assert ("too few to tell" in result.sentences()["Divergent"]) != tells


def test_divergences_of_one_chain_alone_are_told():
    """A chain that is stuck where the dependence is wrong: draws are compared within chains, which cannot show that."""
    sentence = marked({2: 0.3}).sentences()["Divergent"]
    assert "All of them are in chain 2" in sentence
    assert "R-hat" in sentence
    assert "All of them" not in marked({1: 0.1, 2: 0.3}).sentences()["Divergent"]


def test_where_most_draws_diverged_their_places_say_little():
    sentence = marked({0: 0.9, 1: 1.0, 2: 1.0, 3: 1.0}).sentences()["Divergent"]
    assert "more than half" in sentence
    assert "gather" not in sentence


def marked(chains):
    """A comparison in which this share of the draws of these chains diverged, in no particular place."""
    rng, mask = np.random.default_rng(1), np.zeros((CHAINS, DRAWS), bool)
    for chain, rate in chains.items():
        mask[chain] = rng.random(DRAWS) < rate
    return cd.pairwise(replace(cd.as_draws(tree(1, lost=True)), diverging=mask), tree(2), n_jobs=1)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((1.0, 1.0, 1.0, 1.0), ("all 1,000 draws diverged", "says nothing", "this run")),
        ((0.0, 1.0, 0.0, 0.0), ("250 of 1,000 draws", "says nothing", "chain 1.")),
        ((1.0, 0.0, 0.0, 1.0), ("500 of 1,000 draws", "says nothing", "chains 0, 3.")),
    ],
)
def test_chains_that_diverge_throughout_are_not_said_to_be_harmless(rates, said):
    """Rotated along their chains, such marks do not change, and every p-value is 1."""
    result = marked(dict(enumerate(rates)))
    assert {place.pvalue for place in result.divergences.places} == {1.0}
    for sentence in (result.sentences()["Divergent"], result.pair("a", "b").sentences()["Divergent"]):
        assert "gather" not in sentence
        for words in said:
            assert words in sentence


def test_chains_that_diverge_throughout_are_told_without_a_gap_too():
    """Where no pair is wrong, there is nothing to look for; a run of which most draws diverged is none to trust."""
    for rates, words in (
        ({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}, "all 1,000 draws diverged"),
        ({2: 1.0}, "Do not trust chain 2."),
        ({0: 0.05, 2: 1.0}, "and all of chain 2 did. Do not trust chain 2."),
        (dict.fromkeys(range(4), 0.7), "more than half"),
    ):
        sentence = replace(marked(rates).divergences, places=()).sentence("the reference")
        assert words in sentence
        assert "gather" not in sentence
    assert replace(marked({0: 0.05}).divergences, places=()).sentence("the reference") == ""


def test_shares_are_those_of_chains_that_diverged_in_part():
    """In a chain of which every draw diverged these are everywhere, which is not where the sampler had trouble."""
    with_one, without = (marked({0: 0.05} | more).divergences.places[0] for more in ({2: 1.0}, {}))
    assert with_one.share < 1.0
    assert with_one.inside == without.inside
    assert with_one.share == without.share


def test_a_chain_that_diverges_throughout_is_named_next_to_an_answer_about_the_others():
    result = marked({0: 0.04, 2: 1.0, 3: 0.04})
    assert result.divergences.whole_chains == (2,)
    sentence = result.sentences()["Divergent"]
    assert "gather" in sentence
    assert sentence.endswith("It says nothing about chain 2, where every draw diverged: do not trust chain 2.")
    assert "chain" not in marked({0: 0.04, 2: 0.99}).sentences()["Divergent"]  # nor of less than all of its draws


@pytest.mark.parametrize(("rate", "edges"), [(0.05, True), (0.2, True), (0.3, False), (1.0, False)])
def test_many_divergent_draws_are_drawn_without_edges_and_smaller(rate, edges):
    """More than a quarter of those shown, whose marks would hide the cloud; all of them are drawn."""
    result = marked(dict.fromkeys(range(CHAINS), rate)).pair("a", "b")
    panel = cd.plot_pair(result, ax=Figure(figsize=(7, 4)).subplots(1, 2))[0]
    points = [part for part in panel.collections if isinstance(part, PathCollection)]
    (marks,) = [part for part in points if tuple(part.get_facecolor()[0][:3]) == to_rgb(look.PURPLE)]
    (cloud,) = [part for part in points if part is not marks]
    assert len(marks.get_offsets()) == result.divergences.n_divergent
    assert bool(marks.get_linewidths().all()) == edges
    assert (marks.get_sizes()[0] > cloud.get_sizes().max()) == edges


def test_with_lags_a_row_is_divergent_if_its_draw_of_now_is():
    """Draws that follow a large one are large too, which those of the reference are not, and diverge."""
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((2, CHAINS, DRAWS))
    values = noise[0].copy()
    after = np.roll(values, 1, axis=1) > 0.8
    values[after] = 0.8 + np.abs(noise[1][after])
    mask = after & (rng.random(after.shape) < 0.3)
    mask[:, 0] = True  # which have no past
    draws = replace(cd.as_draws({"a": values, "b": noise[1]}), diverging=mask)
    result = cd.pairwise(draws, {"a": noise[0], "b": noise[1]}, lags=1, n_jobs=1)
    found = result.divergences
    assert found.by_chain == tuple(mask[:, 1:].sum(axis=1))
    assert found.n == CHAINS * (DRAWS - 1)
    assert ("a", "a[t-1]") in {place.names for place in found.found}
    assert result.sentences()["Divergent"]
    (told,) = (caveat for caveat in result.caveats if caveat.code == "divergent-draws")
    assert f"{mask.sum()} of {mask.size:,} draws" in str(told)
    assert result.pair("a", "a[t-1]").divergences.n_divergent == mask[:, 1:].sum()
    assert cd.pairwise(replace(draws, diverging=None), draws, lags=1, n_jobs=1).divergences is None
