"""Zarr stores in every state that nutpie and PyMC leave them in while they write, and files that are replaced."""

import errno
import json
import os
import shutil
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import copula_discrepancy as cd
from copula_discrepancy.data.following.opening import follow
from copula_discrepancy.data.following.progress import UNREAD
from copula_discrepancy.data.following.zarr_store import ZarrFollower
from copula_discrepancy.data.readers.options import ReadOptions
from tests.data.refusals import refusal

zarr = pytest.importorskip("zarr", reason="Zarr stores need zarr")
FORMATS = (2, 3) if int(zarr.__version__.split(".")[0]) >= 3 else (2,)
RNG = np.random.default_rng(1)
CHAINS, DRAWS, CHUNK, TUNING = 2, 50, 8, 10
MU = RNG.normal(size=(CHAINS, TUNING + DRAWS))
THETA = RNG.normal(size=(CHAINS, TUNING + DRAWS, 3))
COUNT = RNG.integers(0, 2, size=(CHAINS, TUNING + DRAWS))
COUNT[:, 16:40] = 0  # chunks of zeros are not written
DIVERGING = RNG.random((CHAINS, TUNING + DRAWS)) < 0.2
NAMES = ("count", "mu", "theta[a]", "theta[b]", "theta[c]")
ROWS = np.concatenate([COUNT[..., None], MU[..., None], THETA], axis=2)


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("copula_discrepancy.data.following.labelled_rows._SETTLED", 0.0)
    monkeypatch.setattr("copula_discrepancy.data.following.zarr_store.SETTLED", 0.0)


def group_in(path, name, version, **attributes):
    choices = {"zarr_format": version} if len(FORMATS) > 1 else {}
    root = zarr.open_group(path, mode="a", **choices)
    root.attrs.update(attributes)
    return root.require_group(name) if name else root


def create(group, name, values, dims, version, *, shape=None, chunks=None, fill=None):
    """An array as both samplers create them: of its full shape, with chunks that are not there yet, or with its values."""
    values = np.asarray(values)
    shape, chunks = shape or values.shape, chunks or values.shape
    kwargs = {"dimension_names": dims} if version == 3 else {}
    make = group.create_array if len(FORMATS) > 1 else group.create_dataset
    array = make(
        name, shape=shape, chunks=tuple(max(size, 1) for size in chunks), dtype=values.dtype, fill_value=fill, **kwargs
    )
    if version == 2:
        array.attrs["_ARRAY_DIMENSIONS"] = list(dims)
    return array


def store_of(path, version, *, total, chunk=CHUNK, group="posterior", stats="sample_stats", chains=CHAINS):
    """The headers of a store, before there are draws."""
    posterior, statistics = group_in(path, group, version), group_in(path, stats, version)
    arrays = {}
    for name, values, inner in (("mu", MU, ()), ("theta", THETA, (3,)), ("count", COUNT, ())):
        dims = ("chain", "draw", "g")[: 2 + len(inner)]
        fill = np.nan if values.dtype.kind == "f" else 0
        arrays[name] = create(
            posterior, name, values, dims, version, shape=(chains, total, *inner), chunks=(1, chunk, *inner), fill=fill
        )
    create(posterior, "g", np.array([0, 1, 2]), ("g",), version)[:] = [0, 1, 2]
    for name, values in (("logp", MU), ("diverging", DIVERGING)):
        fill = np.nan if values.dtype.kind == "f" else False
        arrays[name] = create(
            statistics, name, values, ("chain", "draw"), version, shape=(chains, total), chunks=(1, chunk), fill=fill
        )
    return arrays


VALUES = {"mu": MU, "theta": THETA, "count": COUNT, "logp": MU, "diverging": DIVERGING}


def fill(arrays, chain, begin, end, *, offset=0, only=None):
    for name, array in arrays.items():
        if only is None or name in only:
            array[chain, begin:end] = VALUES[name][chain, begin + offset : end + offset]


def expected(progress, offset=0):
    """The draws that each chain must have by its length."""
    places = [[name.split("[")[0] for name in progress.names].index(name) for name in ("count", "mu", "theta")]
    order = [places[0], places[1], places[2], places[2] + 1, places[2] + 2]
    for chain, rows in enumerate(progress.chains):
        np.testing.assert_array_equal(rows[:, order], ROWS[chain, offset : offset + len(rows)])
        np.testing.assert_array_equal(progress.divergent[chain], DIVERGING[chain, offset : offset + len(rows)])


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("consolidated", [False, True])
def test_variables_of_a_store_have_one_order(version, consolidated):
    """While it grows and when it is read: that of its metadata, or that of names; file systems list them in any order."""
    from copula_discrepancy.data.readers.pymc_store import open_store

    names = ["h", "b", "g", "a", "f", "c", "e", "d"]
    values = RNG.normal(size=(CHAINS, DRAWS, len(names)))
    data = {name: (("chain", "draw"), values[:, :, k]) for k, name in enumerate(names)}
    labels = {"chain": np.arange(CHAINS), "draw": np.arange(DRAWS)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # format 3 says that consolidated metadata are no part of it
        xr.Dataset(data, labels).to_zarr("run.zarr", group="posterior", zarr_format=version, consolidated=False)
        if consolidated:
            zarr.consolidate_metadata("run.zarr")
        tree = open_store("run.zarr", "posterior", None)
    read = cd.as_draws("run.zarr")
    if not consolidated:
        assert read.names == tuple(sorted(names))
    assert tuple(tree["posterior"].data_vars) == read.names
    follower = follow("run.zarr")
    while set(follower.poll().lengths) != {DRAWS}:
        pass
    whole = follower.whole()
    assert whole.names == read.names
    np.testing.assert_array_equal(whole.values, read.values)


# nutpie's layout


@pytest.mark.parametrize("version", FORMATS)
def test_a_store_of_nutpie_while_it_grows(version):
    follower = follow("run.zarr")
    assert "run.zarr" in follower.poll().waiting_for
    os.mkdir("run.zarr")
    assert "run.zarr" in follower.poll().waiting_for
    group_in("run.zarr", "", version, sampler="nuts-rs")
    assert follower.poll().waiting_for
    arrays = store_of("run.zarr", version, total=DRAWS)
    progress = follower.poll()
    assert (progress.lengths, progress.expected, progress.new) == ((0, 0), DRAWS, 0)
    assert progress.waiting_for
    fill(arrays, 0, 0, 2 * CHUNK)
    fill(arrays, 1, 0, CHUNK + 3)  # a chunk that inspect() wrote before it was full
    progress = follower.poll()
    assert (progress.lengths, progress.new, progress.waiting_for) == ((16, 11), 27, "")
    expected(progress)
    before = progress.chains
    fill(arrays, 1, CHUNK, 2 * CHUNK)
    fill(arrays, 0, 2 * CHUNK, 5 * CHUNK)
    progress = follower.poll()
    assert (progress.lengths, progress.finished) == ((40, 16), None)
    expected(progress)
    np.testing.assert_array_equal(before[1], progress.chains[1][:11])
    assert progress.notes
    assert follower.whole().values.shape == (2, 16, 5)
    for chain, begin in ((0, 40), (1, 16)):
        fill(arrays, chain, begin, DRAWS)
    progress = follower.poll()
    assert (progress.lengths, progress.finished, progress.generation, progress.notes) == ((50, 50), True, 0, ())
    expected(progress)
    whole = follower.whole()
    np.testing.assert_array_equal(whole.values, np.stack(progress.chains))
    assert whole.names == progress.names


def test_the_number_of_chains_is_that_of_the_source():
    store_of("run.zarr", FORMATS[-1], total=DRAWS)
    assert follow("run.zarr", chains=CHAINS).poll().lengths == (0,) * CHAINS
    refusal("shape", follow("run.zarr", chains=CHAINS + 1).poll)
    netcdf("a.nc", 10)
    os.utime("a.nc", (0, 0))
    assert follow("a.nc", chains=2).poll().lengths == (10, 10)
    refusal("shape", follow("a.nc", chains=1).poll)
    netcdf("b.nc", 10)
    os.utime("b.nc", (0, 0))
    assert follow(["a.nc", "b.nc"], chains=4).poll().lengths == (10,) * 4
    refusal("shape", follow(["a.nc", "b.nc"], chains=3).poll)


def test_values_that_are_not_written_yet_are_not_taken_for_draws():
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    fill(arrays, 0, 0, 3 * CHUNK, only=("mu", "logp"))
    follower = follow("run.zarr")
    assert follower.poll().lengths == (0, 0)  # theta is missing
    fill(arrays, 0, 0, 2 * CHUNK, only=("theta",))
    fill(arrays, 0, 0, CHUNK + 1, only=("count", "diverging"))
    assert follow("run.zarr", exclude="count").poll().lengths == (16, 0)


def test_a_chunk_that_was_never_written_ends_a_chain():
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    fill(arrays, 0, 0, 14)
    fill(arrays, 0, 32, 40)  # of a sampler that was killed
    fill(arrays, 1, 24, 40)
    follower = follow("run.zarr")
    assert follower.poll().lengths == (14, 0)
    fill(arrays, 0, 14, 32)
    assert follower.poll().lengths == (40, 0)


def test_whole_numbers_wait_until_they_must_have_been_written(monkeypatch):
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    follower = follow("run.zarr")
    fill(arrays, 0, 0, CHUNK, only=("mu", "logp", "theta"))
    monkeypatch.setattr("copula_discrepancy.data.following.labelled_rows._SETTLED", 0.2)
    progress = follower.poll()
    assert progress.lengths == (0, 0)
    assert progress.waiting_for
    fill(arrays, 0, 0, CHUNK)
    time.sleep(0.25)
    progress = follower.poll()
    assert progress.lengths == (8, 0)
    expected(progress)


def test_a_variable_that_is_nan_is_an_error_and_one_without_values_waits():
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    fill(arrays, 0, 0, 20)
    arrays["mu"][0, 5] = np.nan
    assert "draw 5" in refusal("nan", follow("run.zarr").poll)
    arrays["mu"][:] = np.nan
    progress = follow("run.zarr").poll()
    assert progress.lengths == (0, 0)
    assert progress.waiting_for


def test_values_that_are_written_late_are_those_of_the_store_at_the_end():
    """Floating numbers tell which draws are there; whole numbers and flags are 0 until they are written."""
    group_in("run.zarr", "", FORMATS[-1], sampler="nuts-rs")
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    follower = follow("run.zarr")
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS, only=("mu", "theta", "logp"))
    progress = follower.poll()
    assert progress.finished
    assert not progress.chains[0][:, progress.names.index("count")].any()
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS, only=("count", "diverging"))
    whole, read = follower.whole(), cd.as_draws("run.zarr")
    assert whole.names == progress.names
    assert whole.notes == read.notes
    np.testing.assert_array_equal(whole.values, read.select(progress.names).values)
    np.testing.assert_array_equal(whole.diverging, DIVERGING[:, :DRAWS])


def test_values_that_are_written_late_are_read_again_in_a_store_that_is_not_full():
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    follower = follow("run.zarr")
    for chain in (0, 1):
        fill(arrays, chain, 0, 24, only=("mu", "theta", "logp"))
    assert follower.poll().lengths == (24, 24)
    for chain in (0, 1):
        fill(arrays, chain, 0, 24, only=("count", "diverging"))
    whole = follower.whole()
    np.testing.assert_array_equal(whole.values[..., whole.names.index("count")], COUNT[:, :24])
    np.testing.assert_array_equal(whole.diverging, DIVERGING[:, :24])


@pytest.mark.parametrize("late", [0, 24])
def test_a_variable_without_values_where_others_have_them_is_an_error(late):
    """A chain is not over where one of its variables is NaN; one chunk may have come before another."""
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS, only=("theta", "count", "logp", "diverging"))
        fill(arrays, chain, 0, late if chain else DRAWS, only=("mu",))
    follower = follow("run.zarr")
    follower.poll()
    error = refusal("nan", lambda: [follower.poll() for _ in range(3)])
    assert "mu" in error
    assert "chain 1" in error
    assert follow("run.zarr", exclude="mu").poll().lengths == (DRAWS, DRAWS)
    behind = store_of("other.zarr", FORMATS[-1], total=DRAWS)
    for chain in (0, 1):
        fill(behind, chain, 0, 40, only=("theta", "count", "logp", "diverging"))
        fill(behind, chain, 0, 24, only=("mu",))
    follower = follow("other.zarr")
    assert [follower.poll().lengths for _ in range(3)] == [(24, 24)] * 3


def test_divergences_in_a_store_are_those_of_its_draws():
    """Chains in another order are matched at the end, and not used before."""
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    posterior, stats = (group_in("run.zarr", name, FORMATS[-1]) for name in ("posterior", "sample_stats"))
    for group, labels in ((posterior, [0, 1]), (stats, [1, 0])):
        create(group, "chain", np.array(labels), ("chain",), FORMATS[-1])[:] = labels
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS)
    follower = follow("run.zarr")
    progress = follower.poll()
    assert progress.divergent is None
    assert any(note.startswith("divergences were not used") for note in progress.notes)
    np.testing.assert_array_equal(follower.whole().diverging, DIVERGING[::-1, :DRAWS])


def test_selection_of_whole_numbers_alone():
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    fill(arrays, 0, 0, 24)
    fill(arrays, 1, 0, 24)
    progress = follow("run.zarr", var_names="count").poll()
    assert progress.lengths == (24, 24)  # by the statistics of the sampler
    np.testing.assert_array_equal(progress.chains[1][:, 0], COUNT[1, :24])
    shutil.rmtree("run.zarr/sample_stats")
    assert follow("run.zarr", var_names="count").poll().lengths == (24, 24)  # by the other variables
    refusal("unknown-name", follow("run.zarr", var_names="nothing").poll)
    chosen = follow("run.zarr", var_names="theta", coords={"g": [2, 0]}).poll()
    np.testing.assert_array_equal(chosen.chains[0], THETA[0, :24][:, [2, 0]])
    shutil.rmtree("run.zarr/posterior/mu")
    shutil.rmtree("run.zarr/posterior/theta")
    refusal("file-format", follow("run.zarr").poll)  # nothing tells what is there


@pytest.mark.parametrize("version", FORMATS)
def test_a_store_that_is_written_anew(version):
    arrays = store_of("run.zarr", version, total=DRAWS)
    fill(arrays, 0, 0, 20)
    follower = follow("run.zarr")
    assert follower.poll().lengths == (20, 0)
    shutil.rmtree("run.zarr")
    progress = follower.poll()
    assert (progress.lengths, progress.generation) == ((20, 0), 0)
    assert "run.zarr" in progress.waiting_for
    arrays = store_of("run.zarr", version, total=DRAWS)
    fill(arrays, 0, 0, 10, offset=7)
    progress = follower.poll()
    assert (progress.lengths, progress.generation, progress.new) == ((10, 0), 1, 10)
    expected(progress, 7)
    assert ": 20 earlier draws" in progress.restarts[0]
    shutil.rmtree("run.zarr")
    fill(store_of("run.zarr", version, total=DRAWS), 0, 0, 5, offset=3)
    assert ": 30 earlier draws" in follower.poll().restarts[0]  # of both runs


def test_two_runs_in_one_store_of_nutpie():
    group_in("run.zarr", "", FORMATS[-1], sampler="nuts-rs")
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS)
    if FORMATS[-1] < 3:
        pytest.skip("nutpie writes the third format")
    assert follow("run.zarr").poll().finished
    for header in Path("run.zarr").rglob("zarr.json"):
        os.utime(header, (time.time() + 60, time.time() + 60))
    refusal("two-runs", follow("run.zarr").poll)


def test_a_chunk_that_is_half_written_waits():
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    fill(arrays, 0, 0, 24)
    follower = follow("run.zarr")
    follower.poll()
    kept = {path: path.read_bytes() for path in Path("run.zarr/posterior/mu").rglob("*") if path.is_file()}
    fill(arrays, 0, 24, 32)
    new = [path for path in Path("run.zarr/posterior/mu").rglob("*") if path.is_file() and path not in kept]
    content = new[0].read_bytes()
    new[0].write_bytes(content[:5])  # less than the header of a codec
    progress = follower.poll()
    assert progress.lengths == (24, 0)
    assert "run.zarr" in progress.waiting_for
    new[0].write_bytes(content)
    assert follower.poll().lengths == (32, 0)


def test_headers_that_are_half_written_wait():
    store_of("run.zarr", FORMATS[-1], total=DRAWS)
    header = next(path for path in Path("run.zarr/posterior/mu").iterdir() if path.name in ("zarr.json", ".zarray"))
    content = header.read_bytes()
    header.write_bytes(content[:20])
    follower = follow("run.zarr")
    assert "run.zarr" in follower.poll().waiting_for
    header.write_bytes(content)
    assert follower.poll().names


def test_catching_up_goes_on_in_further_looks(monkeypatch):
    monkeypatch.setattr("copula_discrepancy.data.following.zarr_store._MOST_CHUNKS", 12)
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS)
    follower = follow("run.zarr")
    lengths = []
    for _ in range(4):
        progress = follower.poll()
        lengths.append(progress.lengths[0])
        assert bool(progress.waiting_for) == progress.behind == (progress.lengths[0] < DRAWS)
    assert lengths == [16, 32, 48, 50]
    expected(progress)


def test_draws_that_a_store_has_lost_are_kept_and_told():
    """As by a disk that was full: what is missing in an array reads as NaN."""
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    for chain in (0, 1):
        fill(arrays, chain, 0, 30)
    follower = follow("run.zarr")
    assert follower.poll().lengths == (30, 30)
    assert follower.whole().notes[-1] == "read while the store was still written"
    arrays["mu"][1, :8] = np.nan
    whole = follower.whole()
    assert whole.notes[-1].startswith(f"{UNREAD}: draws of the store are gone")
    np.testing.assert_array_equal(whole.values[1], follower._last.chains[1])
    assert np.isfinite(whole.values).all()


def test_an_error_of_zarr_is_shown_when_it_lasts(monkeypatch):
    """What is half written raises any error for a moment."""
    store_of("run.zarr", FORMATS[-1], total=DRAWS)
    follower = follow("run.zarr")
    monkeypatch.setattr("copula_discrepancy.data.following.zarr_store.SETTLED", 10.0)
    monkeypatch.setattr(
        "copula_discrepancy.data.following.zarr_store.opened_group", lambda path: (_ for _ in ()).throw(KeyError("codec"))
    )
    assert follower.poll().waiting_for == "run.zarr is not complete yet"
    monkeypatch.setattr("copula_discrepancy.data.following.zarr_store.SETTLED", 0.0)
    assert follower.poll().waiting_for == "run.zarr is not complete yet (KeyError: 'codec')"


def test_a_store_that_is_full_at_first_sight_may_grow(monkeypatch):
    posterior = xr.Dataset({"mu": (("chain", "draw"), MU), "theta": (("chain", "draw", "g"), THETA)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from zarr, about text in its third format
        xr.DataTree.from_dict({"posterior": posterior}).to_zarr("store.zarr")
    monkeypatch.setattr("copula_discrepancy.data.following.zarr_store._MOST_CHUNKS", 2)  # read in several looks
    follower = follow("store.zarr")
    for _ in range(3):
        progress = follower.poll()
        assert (progress.expected, progress.finished) == (None, None)
    assert (progress.lengths, progress.waiting_for) == ((60, 60), "")
    np.testing.assert_array_equal(follower.whole().values, cd.as_draws(posterior).values)


def appended(draws, group="posterior"):
    """Append draws, or the statistics that belong to them, as xarray does it."""
    there = os.path.exists(f"run.zarr/{group}")
    begin = xr.open_zarr(f"run.zarr/{group}", consolidated=False).sizes["draw"] if there else 0
    part = slice(begin, begin + draws)
    arrays = {"mu": (("chain", "draw"), MU[:, part]), "theta": (("chain", "draw", "g"), THETA[:, part])}
    block = xr.Dataset(arrays if group == "posterior" else {"diverging": (("chain", "draw"), DIVERGING[:, part])})
    more = {"append_dim": "draw"} if begin else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        block.to_zarr("run.zarr", group=group, consolidated=False, **more)


def test_statistics_that_are_appended_after_the_draws_are_read_then():
    follower = follow("run.zarr")
    for length in (20, 40, 60):
        appended(20)
        progress = follower.poll()
        assert (progress.lengths, progress.divergent) == ((length,) * 2, None)
        appended(20, "sample_stats")
        follower.poll()
        np.testing.assert_array_equal(np.stack(follower.poll().divergent), DIVERGING[:, :length])
    np.testing.assert_array_equal(follower.whole().diverging, DIVERGING)


def test_a_store_that_was_made_before_its_draws_may_grow():
    """A block that takes long to write looks like room for all draws: a full store of no known sampler tells nothing."""
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    follower = follow("run.zarr")
    for end in (0, DRAWS, DRAWS):
        for chain in (0, 1):
            fill(arrays, chain, 0, end)
        progress = follower.poll()
        assert (progress.lengths, progress.finished, progress.expected) == ((end, end), None, None)


def test_a_store_that_grows_by_appending_never_tells_its_end():
    follower = follow("run.zarr")
    for length in (20, 40, 60):
        appended(20)
        for _ in range(2):
            progress = follower.poll()
            assert (progress.lengths, progress.finished, progress.expected) == ((length,) * 2, None, None)
    assert progress.generation == 0


@pytest.mark.parametrize("version", FORMATS)
def test_a_dataset_that_was_written_without_a_group_is_followed(version):
    """As by `Dataset.to_zarr`; groups beside it do not matter, those of another name are waited for."""
    root = group_in("run.zarr", "", version)
    mu = create(root, "mu", MU, ("chain", "draw"), version, shape=(CHAINS, DRAWS), chunks=(1, CHUNK), fill=np.nan)
    group_in("run.zarr", "observed_data", version)
    follower = follow("run.zarr")
    assert follower.poll().lengths == (0, 0)
    mu[:, : 2 * CHUNK] = MU[:, : 2 * CHUNK]
    progress = follower.poll()
    assert (progress.names, progress.lengths, progress.waiting_for) == (("mu",), (16, 16), "")
    np.testing.assert_array_equal(np.stack(progress.chains)[..., 0], MU[:, :16])
    assert "no group prior" in follow("run.zarr", group="prior").poll().waiting_for


def test_a_store_of_nutpie_is_made_for_all_draws():
    group_in("run.zarr", "", FORMATS[-1], sampler="nuts-rs")
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    follower = follow("run.zarr")
    assert (follower.poll().finished, follower.poll().expected) == (None, DRAWS)
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS)
    assert follower.poll().finished
    assert follow("run.zarr").poll().finished


def test_a_store_of_nutpie_that_is_made_longer_tells_no_end():
    """As by a program that appends to it."""
    group_in("run.zarr", "", FORMATS[-1], sampler="nuts-rs")
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    follower = follow("run.zarr")
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS - 10)
    follower.poll()
    for array in arrays.values():
        array.resize((CHAINS, DRAWS + TUNING, *array.shape[2:]))
    for chain in (0, 1):
        fill(arrays, chain, DRAWS - 10, DRAWS + TUNING)
    progress = [follower.poll() for _ in range(3)][-1]
    assert (progress.lengths, progress.finished, progress.expected) == ((60, 60), None, None)


def test_stores_that_cannot_be_followed(monkeypatch):
    Path("file.zarr").write_text("zip")
    refusal("file-format", follow("file.zarr").poll)
    refusal("file", follow, ["a.zarr", "b.zarr"])
    refusal("argument", follow, "a.zarr", chains="mu")
    refusal("argument", follow, "a.zarr", coords={"chain": [0]})
    create(group_in("bare.zarr", "posterior", 2), "mu", MU, (), 2).attrs.pop("_ARRAY_DIMENSIONS")
    refusal("file-format", follow("bare.zarr").poll)
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    refusal("dependency", ZarrFollower, "a.zarr", ReadOptions())


# PyMC's layout


def pymc_store(path, *, tuning=TUNING):
    """The headers of a store of PyMC: format 2, warm-up and draws in the same arrays, and a count of what is complete."""
    arrays = store_of(path, 2, total=tuning + DRAWS, chunk=7)
    state = group_in(path, "_sampling_state", 2)
    counts = create(state, "draw_idx", np.zeros(CHAINS, int), ("chain",), 2, chunks=(1,), fill=-1)
    counts[:] = 0
    create(state, "tuning_steps", np.array(tuning), (), 2, fill=0)[...] = tuning
    os.rename(f"{path}/sample_stats/diverging", f"{path}/sample_stats/sampler_0__diverging")
    arrays["diverging"] = zarr.open_group(path, mode="a")["sample_stats/sampler_0__diverging"]
    for name in ("sample_stats/sampler_0__warning", "_sampling_state/sampling_state"):  # pickled objects
        write_objects(f"{path}/{name}")
    return arrays, counts


def write_objects(folder):
    """The header of an array of objects, which zarr's third version refuses to open."""
    about = {"chunks": [1], "compressor": None, "dtype": "|O", "fill_value": None, "filters": [{"id": "pickle", "protocol": 5}]}
    os.makedirs(folder)
    Path(folder, ".zarray").write_text(json.dumps({**about, "order": "C", "shape": [CHAINS], "zarr_format": 2}))


def consolidate(path):
    """All headers in one file, as PyMC writes them when it converts its trace."""
    files = [file for file in Path(path).rglob(".z*") if file.name != ".zmetadata"]
    metadata = {str(file.relative_to(path)): json.loads(file.read_text()) for file in files}
    Path(path, ".zmetadata").write_text(json.dumps({"metadata": metadata, "zarr_consolidated_format": 1}))


def test_a_store_of_pymc_from_its_first_draw_to_the_end():
    arrays, counts = pymc_store("run.zarr")
    follower = follow("run.zarr")
    assert (follower.poll().expected, follower.poll().lengths) == (DRAWS, (0, 0))
    fill(arrays, 0, 0, 7)
    counts[0] = 7
    progress = follower.poll()
    assert progress.lengths == (0, 0)  # warm-up
    assert str(TUNING) in progress.notes[0]
    fill(arrays, 0, 7, 28)
    counts[0] = 21  # the last chunk is there, but may be half of it
    progress = follower.poll()
    assert (progress.lengths, progress.new) == ((11, 0), 11)
    expected(progress, TUNING)
    for chain in (0, 1):
        fill(arrays, chain, 0, TUNING + DRAWS)
        counts[chain] = TUNING + DRAWS
    progress = follower.poll()
    assert (progress.lengths, progress.finished) == ((50, 50), True)
    expected(progress, TUNING)
    np.testing.assert_array_equal(follower.whole().values, np.stack(progress.chains))
    rearrange("run.zarr", "posterior", follower)
    waiting = follower.poll()
    assert (waiting.lengths, waiting.new, waiting.generation, waiting.finished) == ((50, 50), 0, 0, True)
    assert follow("run.zarr").poll().waiting_for
    rearrange("run.zarr", "sample_stats", follower)
    consolidate("run.zarr")
    after = follower.poll()
    assert (after.lengths, after.new, after.generation, after.finished) == ((50, 50), 0, 0, True)
    np.testing.assert_array_equal(follower.whole().values, np.stack(progress.chains))
    late = follow("run.zarr").poll()
    assert (late.lengths, late.finished) == ((50, 50), True)
    expected(late, TUNING)


def test_a_draw_of_pymc_is_divergent_if_any_of_its_step_methods_diverged():
    arrays, counts = pymc_store("run.zarr")
    group = zarr.open_group("run.zarr", mode="a")["sample_stats"]
    other = create(group, "sampler_1__diverging", DIVERGING, ("chain", "draw"), 2, shape=DIVERGING.shape, fill=False)
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS + TUNING)
        counts[chain] = DRAWS + TUNING
    other[:] = ~DIVERGING
    assert np.stack(follow("run.zarr").poll().divergent).all()


def test_a_store_of_pymc_whose_arrays_have_no_names_of_dimensions_yet_is_waited_for():
    """At the end of a run PyMC writes each array anew, and names its dimensions last."""
    arrays, counts = pymc_store("run.zarr")
    for chain in (0, 1):
        fill(arrays, chain, 0, TUNING + 40)
        counts[chain] = TUNING + 40
    follower = follow("run.zarr")
    before = follower.poll()
    for name in ("posterior/mu", "sample_stats/sampler_0__diverging"):
        header = Path("run.zarr", name, ".zattrs")
        named = header.read_text()
        header.write_text("{}")
        # headers of statistics are read with those of the draws
        for each in [follow("run.zarr"), follower][: 2 if name.startswith("posterior") else 1]:
            assert "rearranging" in each.poll().waiting_for
        assert follower.poll().lengths == before.lengths
        header.write_text(named)
        assert follower.poll().lengths == before.lengths


def test_a_store_of_pymc_is_read_like_any_other_when_its_run_has_ended():
    arrays, counts = pymc_store("run.zarr")
    for chain in (0, 1):
        fill(arrays, chain, 0, TUNING + DRAWS)
        counts[chain] = TUNING + DRAWS
    assert "warm-up" in refusal("file-format", cd.as_draws, "run.zarr")
    follower = follow("run.zarr")
    followed = follower.poll()
    for name in ("posterior", "sample_stats"):
        rearrange("run.zarr", name, follower)
    consolidate("run.zarr")
    read = cd.as_draws("run.zarr").select(followed.names)
    np.testing.assert_array_equal(read.values, np.stack(followed.chains))
    np.testing.assert_array_equal(read.diverging, np.stack(followed.divergent))
    refusal("unknown-name", cd.as_draws, "run.zarr", group="prior")
    pytest.importorskip("dask", reason="pairwise looks at a store through it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        both = (
            cd.pairwise("run.zarr", cd.Gaussian(0.0), var_names=["mu", "theta"]),
            cd.pairwise(read, cd.Gaussian(0.0), var_names=["mu", "theta"]),
        )
    assert both[0].rows.tobytes() == both[1].rows.tobytes()


def arrays_of(group):
    """The names of the arrays that have draws."""
    return [name for name in ("count", "logp", "mu", "sampler_0__diverging", "theta") if name in group]


def rearrange(path, name, follower):
    """What PyMC does with a group at the end: the warm-up moves into another one. Looks in between find no draw wrong."""
    group, warmup = group_in(path, name, 2), group_in(path, f"warmup_{name}", 2)
    for array, values in [(key, group[key][...]) for key in arrays_of(group)]:
        dims = list(group[array].attrs["_ARRAY_DIMENSIONS"])
        for target, part in ((warmup, values[:, :TUNING]), (group, values[:, TUNING:])):
            if target is group:
                del group[array]
            chunks = (1, 7, *values.shape[2:])
            fill = np.nan if values.dtype.kind == "f" else 0
            create(target, array, part, dims, 2, chunks=chunks, fill=fill)[...] = part
        progress = follower.poll()
        assert progress.generation == 0
        expected(progress, TUNING)


def test_pymc_without_warm_up():
    arrays, counts = pymc_store("run.zarr", tuning=0)
    fill(arrays, 1, 0, 14)
    counts[1] = 14
    progress = follow("run.zarr").poll()
    assert progress.lengths == (0, 14)
    expected(progress)
    assert "some of its draws are not there" in refusal("file-format", cd.as_draws, "run.zarr")
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS)
    counts[:] = DRAWS
    assert cd.as_draws("run.zarr").n_draws == DRAWS


def test_the_trace_object_of_pymc():
    class Store:
        path = "run.zarr"

    class Root:
        store = Store()

    class Trace:
        root = Root()

        def split_warmup_groups(self):
            raise AssertionError("a follower changes nothing")

    arrays, counts = pymc_store("run.zarr")
    fill(arrays, 0, 0, 21)
    counts[0] = 21
    assert follow(Trace()).poll().lengths == (11, 0)
    Root.store = object()
    refusal("file", follow, Trace())


# files that are replaced


def netcdf(path, draws, *, chains=2, offset=0, diverging=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = {"posterior": xr.Dataset({
            "mu": (("chain", "draw"), MU[:chains, offset : offset + draws]),
            "theta": (("chain", "draw", "g"), THETA[:chains, offset : offset + draws]),
        })}  # fmt: skip
        if diverging:
            groups["sample_stats"] = xr.Dataset({"diverging": (("chain", "draw"), DIVERGING[:chains, offset : offset + draws])})
        xr.DataTree.from_dict(groups).to_netcdf("next.nc", engine="h5netcdf")
    os.replace("next.nc", path)


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr("copula_discrepancy.data.following.replaced._QUIET", -1.0)


@pytest.mark.usefixtures("quiet")
def test_a_netcdf_file_that_is_replaced():
    follower = follow("run.nc")
    assert "run.nc" in follower.poll().waiting_for
    netcdf("run.nc", 10)
    first = follower.poll()
    assert (first.lengths, first.labels, first.finished) == ((10, 10), ("chain 0", "chain 1"), None)
    assert first.names == ("mu", "theta[0]", "theta[1]", "theta[2]")
    np.testing.assert_array_equal(first.divergent[0], DIVERGING[0, :10])
    assert follower.poll().new == 0
    netcdf("run.nc", 25)
    progress = follower.poll()
    assert (progress.lengths, progress.new, progress.generation) == ((25, 25), 30, 0)
    np.testing.assert_array_equal(progress.chains[1][:, 0], MU[1, :25])
    np.testing.assert_array_equal(follower.whole().values, cd.as_draws("run.nc").values)
    netcdf("run.nc", 20, offset=5, diverging=False)
    progress = follower.poll()
    assert (progress.lengths, progress.new, progress.generation, progress.divergent) == ((20, 20), 40, 1, None)
    assert ": 50 earlier draws" in progress.restarts[0]
    netcdf("run.nc", 20, offset=15)
    assert ": 90 earlier draws" in follower.poll().restarts[0]  # of both runs
    os.remove("run.nc")
    progress = follower.poll()
    assert (progress.lengths, progress.generation) == ((20, 20), 2)
    assert "run.nc" in progress.waiting_for
    assert follower.whole().n_draws == 20


@pytest.mark.usefixtures("quiet")
def test_a_file_that_is_replaced_by_one_of_another_model():
    netcdf("run.nc", 10)
    follower = follow("run.nc")
    follower.poll()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = xr.Dataset({"mu": (("chain", "draw"), MU[:, :20]), "zz": (("chain", "draw"), MU[:, :20])})
        xr.DataTree.from_dict({"posterior": posterior}).to_netcdf("next.nc", engine="h5netcdf")
    os.replace("next.nc", "run.nc")
    for _ in range(2):  # it will not come right
        message = refusal("names-differ", follower.poll)
        assert "run.nc: its variables changed during the run" in message
        assert "zz new" in message
        assert "theta[0], theta[1], theta[2] gone" in message


@pytest.mark.usefixtures("quiet")
def test_a_netcdf_file_in_the_middle_of_being_written():
    netcdf("whole.nc", 10)
    content = Path("whole.nc").read_bytes()
    follower = follow("run.nc")
    for size in (0, 7, 3000, len(content) - 100):
        Path("run.nc").write_bytes(content[:size])
        progress = follower.poll()
        assert progress.chains == ()
        assert "run.nc" in progress.waiting_for
    Path("run.nc").write_bytes(content)
    assert follower.poll().lengths == (10, 10)
    Path("run.nc").write_bytes(content[:3000])
    progress = follower.poll()
    assert (progress.lengths, progress.generation) == ((10, 10), 0)
    assert "run.nc" in progress.waiting_for


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("function", ["stat", "read"])
def test_a_file_system_that_is_away_is_waited_for(function, monkeypatch):
    netcdf("run.nc", 10)
    follower = follow("run.nc")
    follower.poll()
    netcdf("run.nc", 20)

    def away(*given, **named):
        raise OSError(errno.ESTALE, "Stale file handle")

    with monkeypatch.context() as broken:
        if function == "stat":
            broken.setattr(os, "stat", away)
        else:
            broken.setattr("copula_discrepancy.data.following.replaced.read", away)
        progress = follower.poll()
    assert progress.lengths == (10, 10)
    assert "cannot be read (Stale file handle)" in progress.waiting_for
    assert follower.poll().lengths == (20, 20)


@pytest.mark.usefixtures("quiet")
def test_the_whole_of_a_file_is_what_was_followed():
    netcdf("run.nc", 10)
    follower = follow("run.nc")
    follower.poll()
    netcdf("run.nc", 20, offset=5)  # another run takes its place before it is read for the last time
    whole = follower.whole()
    np.testing.assert_array_equal(whole.values, np.stack(follower._last.chains))
    assert whole.notes[-1] == f"{UNREAD}: the files have changed"


def test_a_file_that_has_just_changed_is_read_at_the_next_look():
    netcdf("run.nc", 10)
    os.utime("run.nc")
    follower = follow("run.nc")
    progress = follower.poll()
    assert progress.waiting_for
    assert progress.chains == ()
    assert follower.poll().lengths == (10, 10)


def test_a_file_that_is_always_replaced_before_it_rests_is_read():
    follower = follow("run.nc")
    for draws in (10, 20, 30):
        netcdf("run.nc", draws)
        progress = follower.poll()
    assert (progress.lengths, progress.generation) == ((30, 30), 0)
    assert progress.waiting_for == ""


def test_a_file_that_changes_in_its_place_rests_before_it_is_read():
    for draws in (10, 20, 30):
        netcdf(f"{draws}.nc", draws)
    follower = follow("run.nc")
    for draws in (10, 20, 30):
        Path("run.nc").write_bytes(Path(f"{draws}.nc").read_bytes())
        progress = follower.poll()
        assert (progress.chains, bool(progress.waiting_for)) == ((), True)
    assert follower.poll().lengths == (30, 30)


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(monkeypatch):
    from copula_discrepancy.data.following import replaced

    before = replaced.read

    def read(path, options):
        table = before(path, options)
        if options.group == "posterior":
            netcdf("run.nc", 20)
        return table

    follower = follow("run.nc")
    netcdf("run.nc", 10)
    follower.poll()
    netcdf("run.nc", 12)
    monkeypatch.setattr(replaced, "read", read)
    progress = follower.poll()
    assert 12 not in progress.lengths
    assert "run.nc" in progress.waiting_for
    monkeypatch.setattr(replaced, "read", before)
    assert follower.poll().lengths == (20, 20)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", ["run.nc", "run.npy", "run.npz"])
def test_what_happened_to_a_file_is_noted_and_its_draws_are_kept(name):
    if name == "run.nc":
        netcdf(name, 10)
    else:
        (np.save if name == "run.npy" else np.savez)(name, ROWS[:, :10])
    content = Path(name).read_bytes()
    follower = follow(name)
    assert follower.poll().notes == ()
    kept = Path(name).stat()
    for harm in (None, content[:500], b"x" * 900):
        if harm is None:
            os.remove(name)
        else:
            Path(name).write_bytes(harm)
        for _ in range(2):
            progress = follower.poll()
            assert (progress.lengths, progress.generation) == ((10, 10), 0)
            assert name in progress.waiting_for
            assert len(progress.notes) == 1
            assert name in progress.notes[0]
            assert "20 draws" in progress.notes[0]
    Path(name).write_bytes(content)
    os.utime(name, ns=(kept.st_mtime_ns, kept.st_mtime_ns))
    progress = follower.poll()
    assert (progress.lengths, progress.notes, progress.waiting_for) == ((10, 10), (), "")


@pytest.mark.usefixtures("quiet")
def test_several_files_that_are_replaced():
    follower = follow(["a.nc", "b.nc"])
    netcdf("a.nc", 10, chains=1)
    progress = follower.poll()
    assert (progress.labels, progress.lengths) == (("a.nc", "b.nc"), (10, 0))
    netcdf("b.nc", 12, chains=1)
    progress = follower.poll()
    assert (progress.lengths, progress.generation) == ((10, 12), 0)
    assert follower.whole().values.shape == (2, 10, 4)
    netcdf("a.nc", 12, chains=1)
    follower.poll()
    np.testing.assert_array_equal(follower.whole().values, cd.as_draws(["a.nc", "b.nc"]).values)
    assert follow("a.nc", var_names="mu").poll().names == ("mu",)
    refusal("unknown-name", follow("a.nc", var_names="nothing").poll)
    refusal("file", follow, "*.nc")
    refusal("file", follow, ["a.nc", "a.csv"])


@pytest.mark.usefixtures("quiet")
def test_a_file_that_is_damaged_after_the_last_look():
    netcdf("run.nc", 10)
    follower = follow("run.nc")
    follower.poll()
    Path("run.nc").write_bytes(b"half")
    whole = follower.whole()
    assert whole.n_draws == 10
    assert len(whole.notes) == 1


@pytest.mark.usefixtures("quiet")
def test_arrays_that_are_replaced():
    np.save("run.npy", ROWS[:, :10])
    follower = follow("run.npy")
    assert follower.poll().lengths == (10, 10)
    np.save("run.npy", np.where(np.arange(5) == 1, np.nan, ROWS[:, :12]))
    assert "run.npy" in refusal("nan", follower.poll)


def test_draws_that_are_gone_are_not_caught_up_with(monkeypatch):
    """A watch that is interrupted reads what is there already, and must not wait for what is not."""
    monkeypatch.setattr("copula_discrepancy.data.following.zarr_store._MOST_CHUNKS", 2)
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    for chain in (0, 1):
        fill(arrays, chain, 0, DRAWS)
    follower = follow("run.zarr")
    progress = follower.poll()
    assert progress.behind
    assert not progress.settling
    shutil.rmtree("run.zarr")
    assert not follower.poll().behind


@pytest.mark.usefixtures("quiet")
def test_chains_have_the_labels_of_their_file_or_store():
    """In looks as at the end: "chain 2" must not be another one then."""
    posterior = xr.Dataset({"mu": (("chain", "draw"), MU), "theta": (("chain", "draw", "g"), THETA)}, coords={"chain": [3, 7]})
    posterior.to_netcdf("run.nc", group="posterior")
    os.utime("run.nc", (0, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xr.DataTree.from_dict({"posterior": posterior}).to_zarr("run.zarr")
    for path in ("run.nc", "run.zarr"):
        follower = follow(path)
        assert follower.poll().labels == ("chain 3", "chain 7") == follower.whole().chain_names


def test_a_slow_watch_takes_what_is_not_read_yet_for_no_missing_numbers(monkeypatch):
    """Of a sampler that was killed: the last chunks of some variables were not written. Readings may be far apart."""
    monkeypatch.setattr("copula_discrepancy.data.following.zarr_store._MOST_CHUNKS", 2)
    arrays = store_of("run.zarr", FORMATS[-1], total=DRAWS)
    for chain in (0, 1):
        fill(arrays, chain, 0, 40)
    arrays["mu"][:, 40:44] = 0.5
    settled = [0.0]
    monkeypatch.setattr("copula_discrepancy.data.following.labelled_rows.time.monotonic", lambda: settled[0])
    monkeypatch.setattr("copula_discrepancy.data.following.labelled_rows._SETTLED", 0.5)
    follower = follow("run.zarr")
    for _ in range(30):
        progress = follower.poll()
        settled[0] += 20.0
    assert progress.lengths == (40, 40)
    assert (progress.behind, progress.settling) == (False, False)
    expected(progress)
