"""Which draws diverged, as containers and files tell it; and groups other than the posterior."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import copula_discrepancy as cd
from copula_discrepancy.data.lagging import lagged, plan_lags
from tests.caveat_codes import warned
from tests.data.test_files import STAN_DRAWS, stan_text
from tests.refusals import refused
from tests.trees import CHAINS, DRAWS, dataset, flags, tree

GROUPS = ("posterior", "prior", "posterior_predictive", "prior_predictive", "log_likelihood", "sample_stats")
OF_POSTERIOR = ("posterior", "log_likelihood", "posterior_predictive", "sample_stats")  # computed from its draws


def inference_data(given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from ArviZ, about its next version, once a day
        arviz = pytest.importorskip("arviz", reason="InferenceData needs arviz < 1")
    if int(arviz.__version__.partition(".")[0]) >= 1:
        pytest.skip("InferenceData needs arviz < 1")
    return arviz.InferenceData(**{name: node.to_dataset() for name, node in given.children.items()})


def netcdf(given, folder):
    given.to_netcdf(folder / "draws.nc", engine="h5netcdf")
    return str(folder / "draws.nc")


def zarr(given, folder):
    pytest.importorskip("zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from zarr, about consolidated metadata
        given.to_zarr(folder / "draws.zarr")
    return str(folder / "draws.zarr")


CONTAINERS = {
    "DataTree": lambda given, _: given,
    "netCDF": netcdf,
    "Zarr": zarr,
    "InferenceData": lambda given, _: inference_data(given),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_divergent_draws_are_known_from_every_container(tmp_path, kind):
    draws = cd.as_draws(CONTAINERS[kind](tree(1), tmp_path))
    assert np.array_equal(draws.diverging, flags(1))
    assert draws.n_divergent == flags(1).sum() > 0
    assert not draws.diverging.flags.writeable


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*CONTAINERS][1:])
@pytest.mark.parametrize("group", GROUPS)
def test_every_group_of_every_container_is_read_alike(tmp_path, group, kind):
    given = tree(1)
    other = CONTAINERS[kind](given, tmp_path)
    one, two = (cd.as_draws(sample, group=group) for sample in (given, other))
    assert one.names == two.names
    assert np.array_equal(one.values, two.values)
    assert (one.diverging is None) == (two.diverging is None) == (group not in OF_POSTERIOR)


def test_groups_with_other_dimensions_compare_as_the_posterior_does():
    """Observations are flattened like any dimension; their draws are those of the posterior."""
    with warned("divergent-draws"):
        result = cd.pairwise(tree(1), tree(2), group="log_likelihood", n_jobs=1)
    assert result.names == ("y[0]", "y[1]")
    assert [caveat.code for caveat in result.caveats].count("divergent-draws") == 2


def test_a_group_deep_in_a_tree_has_the_statistics_beside_it():
    deep = xr.DataTree.from_dict({f"/runs/first/{name}": tree(1)[name].to_dataset() for name in ("posterior", "sample_stats")})
    for given, group in ((deep, "runs/first/posterior"), (deep, "/runs/first/posterior"), (deep["runs"], "first/posterior")):
        assert np.array_equal(cd.as_draws(given, group=group).diverging, flags(1))
    assert np.array_equal(cd.as_draws(deep["runs/first"]).diverging, flags(1))


@pytest.mark.parametrize("chosen", [{"chain": [1, 0]}, {"draw": slice(10, 49)}, {"chain": 1, "draw": [3, 5, 9]}])
def test_a_selection_of_chains_and_draws_selects_their_divergences(chosen):
    expected = xr.DataArray(flags(1), dims=("chain", "draw"), coords=dataset(1).coords).sel(chosen)
    assert np.array_equal(cd.as_draws(tree(1), coords=chosen).diverging, np.atleast_2d(expected))


def test_variables_that_are_selected_keep_the_divergences():
    draws = cd.as_draws(tree(1), var_names=["b", "a"])
    assert np.array_equal(draws.diverging, flags(1))
    assert np.array_equal(cd.as_draws(draws, var_names="a").diverging, flags(1))
    assert np.array_equal(cd.as_draws(draws, chains=CHAINS).diverging, flags(1))


def test_a_group_of_a_tree_finds_the_statistics_beside_it():
    assert np.array_equal(cd.as_draws(tree(1)["posterior"]).diverging, flags(1))
    assert cd.as_draws(tree(1)["posterior"].to_dataset()).diverging is None
    assert cd.as_draws(tree(1)["log_likelihood"], group="log_likelihood").names == ("y[0]", "y[1]")


def test_warm_up_has_statistics_of_its_own():
    given = tree(1)
    given["warmup_posterior"] = xr.DataTree(dataset(3))
    assert cd.as_draws(given, group="warmup_posterior").diverging is None
    given["warmup_sample_stats"] = xr.DataTree(given["sample_stats"].to_dataset())
    assert np.array_equal(cd.as_draws(given, group="warmup_posterior").diverging, flags(1))


def test_draws_that_are_a_part_of_the_run_have_the_divergences_with_their_labels():
    given = tree(1)
    given["posterior"] = xr.DataTree(dataset(1).isel(draw=slice(20, None, 2)))
    assert np.array_equal(cd.as_draws(given).diverging, flags(1)[:, 20::2])


def other_draws(given):
    given["posterior"] = xr.DataTree(dataset(1).assign_coords(draw=np.arange(DRAWS) + 7))


def thinned_and_renumbered(given):
    given["posterior"] = xr.DataTree(dataset(1).isel(draw=slice(None, None, 5)).assign_coords(draw=np.arange(DRAWS // 5)))


def thinned_and_numbered_from_one(given):
    given["posterior"] = xr.DataTree(dataset(1).isel(draw=slice(None, None, 5)).assign_coords(draw=np.arange(DRAWS // 5) + 1))


def fewer_chains_numbered_anew(given):
    given["posterior"] = xr.DataTree(dataset(1).sel(chain=[2, 3]).assign_coords(chain=[0, 1]))


def statistics_of_another_chain(given):
    given["posterior"] = xr.DataTree(dataset(1).sel(chain=[1]))
    given["sample_stats"] = xr.DataTree(given["sample_stats"].to_dataset().sel(chain=2))


def other_length(given):
    given["sample_stats"] = xr.DataTree(given["sample_stats"].to_dataset().drop_vars("draw").isel(draw=slice(5)))


def text(given):
    given["sample_stats"] = xr.DataTree(given["sample_stats"].to_dataset().astype(str))


def missing_flags(given):
    found = given["sample_stats"].to_dataset().astype(float)
    found["diverging"][0, 0] = np.nan
    given["sample_stats"] = xr.DataTree(found)


def without_chains(given):
    given["sample_stats"] = xr.DataTree(given["sample_stats"].to_dataset().isel(chain=0, drop=True))


def without_draws(given):
    given["sample_stats"] = xr.DataTree(given["sample_stats"].to_dataset().isel(draw=0, drop=True))


def coordinate_of_other_length(given):
    other_length(given)
    given["sample_stats"] = xr.DataTree(given["sample_stats"].to_dataset().set_coords("diverging"))


SPOILT = {
    other_draws: "some of the draws",
    thinned_and_renumbered: "250 draws per chain and there are 50, both numbered consecutively",
    thinned_and_numbered_from_one: "250 draws per chain and there are 50, both numbered consecutively",
    fewer_chains_numbered_anew: "4 chains and there are 2, both numbered consecutively",
    statistics_of_another_chain: "no statistics of some of the chains",
    other_length: "4 x 5 draws, and there are 4 x 250",
    text: "must be numbers",
    missing_flags: "missing values",
    without_chains: "no dimension chain",
    without_draws: "must be numbers by chain and draw",
    coordinate_of_other_length: "4 x 5 draws, and there are 4 x 250",
}


@pytest.mark.parametrize("kind", ["DataTree", "InferenceData"])
@pytest.mark.parametrize("spoil", SPOILT)
def test_divergences_of_other_draws_are_not_used_and_noted(spoil, kind):
    given = tree(1)
    spoil(given)
    given = CONTAINERS[kind](given, None)
    draws = cd.as_draws(given)
    assert draws.diverging is None
    (note,) = [note for note in draws.notes if note.startswith("divergences were not used")]
    assert SPOILT[spoil] in note
    with warned("divergent-draws"):  # of the other sample alone
        assert note in cd.pairwise(given, tree(2), n_jobs=1).notes
        assert f"reference: {note}" in cd.pairwise(tree(2), given, n_jobs=1).notes


@pytest.mark.parametrize("kind", ["DataTree", "InferenceData"])
def test_divergences_that_are_a_coordinate_are_read(kind):
    given = tree(1)
    given["sample_stats"] = xr.DataTree(given["sample_stats"].to_dataset().set_coords("diverging"))
    assert np.array_equal(cd.as_draws(CONTAINERS[kind](given, None)).diverging, flags(1))


def stan_file(path, diverging, warmup):
    """One chain of CmdStan, with saved warm-up; `divergent__` is the sixth column."""
    rows = iter(diverging.astype(int))
    lines = stan_text(STAN_DRAWS[0], warmup=warmup).splitlines(keepends=True)
    path.write_text(
        "".join(line.replace(",3,0,", f",3,{next(rows)},", 1) if line.startswith("-7.1") else line for line in lines)
    )
    return path


def test_stan_files_have_divergences(tmp_path):
    """Without warm-up, chain after chain."""
    diverging = np.random.default_rng(1).random((2, 50)) < 0.3
    paths = [stan_file(tmp_path / f"chain_{k}.csv", rows, 20) for k, rows in enumerate(diverging)]
    assert np.array_equal(cd.as_draws(paths).diverging, diverging[:, 20:])
    assert np.array_equal(cd.as_draws(paths[0]).diverging, diverging[:1, 20:])


@pytest.mark.parametrize("cell", ["", "x"])
def test_a_stan_file_that_does_not_tell_all_divergences_tells_none(tmp_path, cell):
    path = stan_file(tmp_path / "chain.csv", np.ones(50, bool), 20)
    path.write_text(path.read_text().replace(",3,1,", f",3,{cell},", 1).replace(",3,1,8.2,-", f",3,{cell},8.2,-", 2))
    draws = cd.as_draws(path)
    assert draws.diverging is None
    assert any("divergences were not used" in note for note in draws.notes)


def test_rows_of_several_draws_have_no_divergences_but_rows_over_time_have_those_of_now():
    draws, reference = cd.as_draws(tree(1)), cd.as_draws(tree(2))
    lagging = plan_lags(draws, reference, (1, 3))[0]
    assert np.array_equal(lagged(draws, lagging).diverging, flags(1)[:, 3:])
    assert cd.repair(draws, reference).draws.diverging is None


def test_a_reference_without_groups_is_read_whatever_group_was_chosen():
    given, reference = tree(1), cd.as_draws(tree(2), group="log_likelihood")
    for target in (reference, tree(2)["log_likelihood"].to_dataset(), tree(2)["log_likelihood"], tree(2)):
        with warned("divergent-draws"):
            assert cd.pairwise(given, target, group="log_likelihood", n_jobs=1)[0].names == ("y[0]", "y[1]")
    # a posterior next to its own prior
    with warned("divergent-draws"):
        assert cd.pairwise(given, cd.as_draws(given, group="prior"), n_jobs=1).names == ("a", "b", "c")
    with refused():
        cd.as_draws(reference, group="prior")


def test_divergences_can_be_set_by_hand():
    draws = replace(cd.as_draws(dataset(1)), diverging=flags(1))
    assert draws.n_divergent == flags(1).sum()
    assert cd.as_draws(dataset(1)).n_divergent == 0


MASKS = {
    "transposed": (flags(1).T, "shape", f"shape ({DRAWS}, {CHAINS}); pass diverging.T"),
    "too short": (flags(1)[:, :-1], "shape", f"shape ({CHAINS}, {DRAWS - 1})"),
    "too long": (np.zeros((CHAINS, DRAWS + 1), bool), "shape", f"shape ({CHAINS}, {DRAWS + 1})"),
    "flat": (flags(1).ravel(), "shape", f"shape ({CHAINS * DRAWS},)"),
    "a list": (flags(1).tolist(), "argument", "a list"),
    "labelled": (xr.DataArray(flags(1), dims=("chain", "draw")), "argument", "a DataArray"),
    "numbers": (flags(1).astype(float), "argument", "float64"),
}


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_that_does_not_fit_is_refused_wherever_it_is_used(mask):
    given, code, got = MASKS[mask]
    draws, reference = replace(cd.as_draws(dataset(1)), diverging=given), dataset(2)
    uses = [
        lambda: cd.as_draws(draws),
        lambda: draws.n_divergent,
        lambda: cd.pairwise(draws, reference, n_jobs=1),
        lambda: cd.pairwise(reference, draws, n_jobs=1),
        lambda: cd.discrepancy(cd.Gumbel(2.0).sample(100, rng=1), draws.select(["a", "b"])),
        lambda: cd.discrepancy(draws.select(["a", "b"]), cd.Gumbel(2.0)),
        lambda: cd.fit(draws.select(["a", "b"]), "gumbel"),
        lambda: cd.interactions(draws, reference),
        lambda: cd.vine(draws, reference),
        lambda: cd.worst_consequences(draws, reference),
        lambda: cd.repair(draws, reference),
        lambda: cd.summary(draws),
    ]
    for use in uses:
        with refused(code) as caught:
            use()
        assert f"shape ({CHAINS}, {DRAWS})" in str(caught.value)
        assert got in str(caught.value)
        assert "diverging" in str(caught.value)


def test_a_mask_of_one_sample_is_split_into_chains_and_loses_the_rows_that_are_left_out():
    mask = np.random.default_rng(1).random((1, 200)) < 0.3
    table = {name: np.random.default_rng(k).standard_normal(200) for k, name in enumerate("ab")}
    assert np.array_equal(cd.as_draws(replace(cd.as_draws(table), diverging=mask), chains=4).diverging, mask.reshape(4, 50))
    table["a"][[3, 8]] = np.nan
    draws = replace(cd.as_draws(table, missing="pairs"), diverging=mask)
    assert np.array_equal(cd.as_draws(draws, missing="listwise").diverging, np.delete(mask, [3, 8], axis=1))
