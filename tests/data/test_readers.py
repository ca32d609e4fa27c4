"""Objects that hold draws: frames, xarray and ArviZ, dictionaries; and what is selected from them."""

import subprocess
import sys
import tracemalloc
import warnings
from types import SimpleNamespace

import arviz_base as az
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from arviz_base.labels import BaseLabeller
from arviz_base.sel_utils import xarray_sel_iter

import copula_discrepancy as cd
from tests.data.refusals import refusal, refused
from tests.numerals import numerals, numerals_of

RNG = np.random.default_rng(1)
CHAINS = RNG.normal(size=(3, 40, 2))  # (chain, draw, variable)
SCHOOLS = ["Choate", "Deerfield", "Phillips Andover"]
POSTERIOR = {
    "mu": RNG.normal(size=(4, 50)),
    "theta": RNG.normal(size=(4, 50, 3)),
    "cov": RNG.normal(size=(4, 50, 2, 2)),
}


def tree():
    return az.from_dict(
        {"posterior": POSTERIOR, "prior": {"mu": np.arange(30.0).reshape(1, 30)}},
        coords={"school": SCHOOLS},
        dims={"theta": ["school"]},
    )


DATASET = tree()["posterior"].to_dataset()


def long_table(chain="chain", draw=None):
    """The chains one below the other, as columns."""
    k, n, _ = CHAINS.shape
    columns = {chain: np.repeat(np.arange(1, k + 1), n)}
    if draw:
        columns[draw] = np.tile(np.arange(n), k)
    return {**columns, "a": CHAINS[:, :, 0].ravel(), "b": CHAINS[:, :, 1].ravel()}


# frames


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("chain", "draw"),
    [("chain", None), ("chain", "draw"), (".chain", ".iteration"), (".chain", ".draw"), ("chain__", "iter__")],
)
def test_a_chain_column_makes_chains(frame, chain, draw):
    given = cd.as_draws(frame(long_table(chain, draw)))
    assert given.names == ("a", "b")
    assert given.chained
    assert given.named
    np.testing.assert_array_equal(given.values, CHAINS)
    assert given.chain_column == chain
    assert chain in given.notes[0]
    assert numerals(given.notes[0]) == ["3"]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_rows_in_any_order(frame):
    table = pd.DataFrame(long_table("chain", "draw"))
    shuffled = table.sample(frac=1, random_state=3)
    given = cd.as_draws(frame(shuffled.to_dict("list")))
    np.testing.assert_array_equal(given.values, CHAINS)
    in_order = cd.as_draws(frame(table.to_dict("list")))
    assert given.notes[0].startswith(in_order.notes[0])
    assert given.notes[0].removeprefix(in_order.notes[0]).endswith(" draw")  # by what they were sorted
    interleaved = table.sort_values("draw", kind="stable").drop(columns="draw")
    np.testing.assert_array_equal(cd.as_draws(frame(interleaved.to_dict("list"))).values, CHAINS)


def test_posterior_writes_three_columns():
    frame = pd.DataFrame(long_table(".chain", ".iteration"))
    frame[".draw"] = np.arange(len(frame)) + 1
    given = cd.as_draws(frame.iloc[::-1])
    assert given.names == ("a", "b")
    np.testing.assert_array_equal(given.values, CHAINS)


@pytest.mark.parametrize("labels", [["b", "a", "c"], [10.0, 2.0, 30.0], [True, False]])
def test_chains_are_sorted_by_their_value(labels):
    frame = pd.DataFrame({"run": np.repeat(labels, 5), "x": np.arange(5.0 * len(labels))})
    given = cd.as_draws(frame, chains="run")
    np.testing.assert_array_equal(given.values[:, 0, 0], 5.0 * np.argsort(labels))


def test_an_index_with_chain_and_draw_counts_the_same():
    frame = DATASET[["mu"]].to_dataframe()
    assert frame.index.names == ["chain", "draw"]
    np.testing.assert_array_equal(cd.as_draws(frame).values[:, :, 0], POSTERIOR["mu"])
    np.testing.assert_array_equal(cd.as_draws(frame.sample(frac=1, random_state=1)).values[:, :, 0], POSTERIOR["mu"])
    np.testing.assert_array_equal(cd.as_draws(frame.reset_index("draw")).values[:, :, 0], POSTERIOR["mu"])
    refused("shape", DATASET[["theta"]].to_dataframe())
    other = cd.as_draws(pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index([7, 8], name="id")))
    assert len(other.notes) == 1


CHAIN_COLUMN_FAULTS = [
        (lambda t: t.iloc[:-3], "shape"),
        (lambda t: t.assign(chain=t.chain.astype(float).where(t.index > 1)), "nan"),
        (lambda t: t.assign(chain=t.chain.map({1: "x", 2: "y"})), "nan"),
        (lambda t: t.assign(chain=t.chain + 0.25), "argument"),
        (lambda t: t.assign(draw=t.a), "argument"),
        (lambda t: t.assign(draw=0), "argument"),
        (lambda t: t.assign(**{".chain": 1}), "argument"),
        (lambda t: t[["chain", "draw"]], "shape"),
        (lambda t: t.set_index("chain", append=False).assign(chain=1), "argument"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "code"),
    CHAIN_COLUMN_FAULTS,
)
def test_chain_columns_that_cannot_be_used(change, code):
    refused(code, change(pd.DataFrame(long_table("chain", "draw"))))


def test_polars_nulls_are_missing():
    refused("nan", pl.DataFrame({"chain": [1, None, 2], "a": [1.0, 2.0, 3.0]}))
    refused("nan", pl.DataFrame({"a": [1.0, None, 3.0]}))
    refused("nan", pl.DataFrame({"a": [1, None, 3]}))
    refused("nan", pl.DataFrame({"a": [True, None, False]}))


COLUMN_FAULTS = [
        (pd.Series(["1.5", "high", "2"]), "not-numeric"),
        (pd.Series(["1,5", "2,5", "3"]), "not-numeric"),
        (pd.Series(["1", "2", "3"]), "not-numeric"),
        (pd.Series([None, "low", "x"], dtype="string"), "not-numeric"),
        (pd.Series(["a", "b", "a"], dtype="category"), "not-numeric"),
        (pd.Series([1 + 2j] * 3), "not-numeric"),
        (pl.Series("word", ["a", "b", "c"]), "not-numeric"),
        (pl.Series("word", [[1], [2], [3]]), "not-numeric"),
        (pl.Series("word", [{"x": 1}] * 3), "not-numeric"),
        (pl.Series("word", [1, 2, 3], dtype=pl.Int128), "not-numeric"),
        (pl.Series("word", [[1, 2]] * 3, dtype=pl.Array(pl.Int64, 2)), "not-numeric"),
        (pl.Series("word", [None, None, None]), "nan"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("column", "code"),
    COLUMN_FAULTS,
)  # fmt: skip
def test_a_column_that_is_no_number(column, code):
    data = {"x": [1.0, 2.0, 4.0], "word": column}
    frame = pl.DataFrame(data) if isinstance(column, pl.Series) else pd.DataFrame(data)
    refused(code, frame)
    assert cd.as_draws(frame, var_names="x").names == ("x",)
    assert cd.as_draws(frame, var_names="~word").names == ("x",)


@pytest.mark.parametrize(
    "kind", ["Int64", "Float32", "boolean", "int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]", "category"]
)
def test_columns_of_pandas_own_types(kind):
    numbers = [1, 0, 1, 1]
    column = pd.Series(numbers).astype(bool if "bool" in kind else int).astype(kind)
    np.testing.assert_array_equal(cd.as_draws(pd.DataFrame({"a": column})).values[0, :, 0], numbers)


def test_frames_in_a_list_are_chains_matched_by_name():
    frames = [pd.DataFrame(chain, columns=["a", "b"]) for chain in CHAINS]
    frames[1] = frames[1][["b", "a"]]
    given = cd.as_draws(frames)
    assert given.names == ("a", "b")
    np.testing.assert_array_equal(given.values, CHAINS)
    refused("names-differ", [*frames[:2], frames[2].rename(columns={"a": "c"})])
    refused("shape", [*frames[:2], frames[2][:30]])
    refused("shape", [pd.DataFrame(long_table()), pd.DataFrame(long_table())])
    huge = [pd.DataFrame({"a": np.arange(5) + 2**60 + k}) for k in range(2)]
    refused("argument", huge)


def peak_over(frame, bytes_given):
    cd.as_draws(frame)  # whatever is imported on the way
    tracemalloc.start()
    given = cd.as_draws(frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / bytes_given, given


def test_memory_of_frames():
    """One block of floats is not copied at all; chains copy the data once, and only if rows have to move."""
    n, d = 100_000, 10
    values = RNG.normal(size=(n, d))
    frame = pd.DataFrame(values, columns=[f"v{k}" for k in range(d)])
    ratio, given = peak_over(frame, values.nbytes)
    assert ratio < 0.3
    assert np.shares_memory(given.values, frame.to_numpy())
    frame.insert(0, "chain", np.repeat(np.arange(4), n // 4))
    frame.insert(1, "draw", np.tile(np.arange(n // 4), 4))
    ratio, given = peak_over(frame, values.nbytes)
    copies = 0.0 if int(pd.__version__.split(".")[0]) >= 3 else 1.0  # selecting columns copies them before pandas 3
    assert ratio < 0.3 + copies
    assert given.values.shape == (4, n // 4, d)
    ratio, given = peak_over(frame.sample(frac=1, random_state=1), values.nbytes)
    assert ratio < 1.3 + copies
    np.testing.assert_array_equal(given.values.reshape(n, d), values)
    frame["whole"] = np.arange(n)[::-1]  # types differ: column by column into one new array
    assert peak_over(frame, values.nbytes)[0] < 1.3 + copies


# xarray and ArviZ


def arviz_labels(dataset):
    return tuple(BaseLabeller().make_label_flat(*entry) for entry in xarray_sel_iter(dataset, skip_dims={"chain", "draw"}))


def test_a_tree_of_groups():
    given = cd.as_draws(tree())
    assert given.names == ("mu", *(f"theta[{s}]" for s in SCHOOLS), "cov[0, 0]", "cov[0, 1]", "cov[1, 0]", "cov[1, 1]")
    assert given.values.shape == (4, 50, 8)
    np.testing.assert_array_equal(given.values[:, :, 2], POSTERIOR["theta"][:, :, 1])
    np.testing.assert_array_equal(given.values[:, :, 6], POSTERIOR["cov"][:, :, 1, 0])
    prior = cd.as_draws(tree(), group="prior")
    assert prior.values.shape == (1, 30, 1)
    assert prior.chained
    refused("unknown-name", tree(), group="priro")
    np.testing.assert_array_equal(cd.as_draws(tree()["posterior"]).values, given.values)
    np.testing.assert_array_equal(cd.as_draws(tree()["prior"]).values, prior.values)


def test_labels_are_those_of_arviz():
    rng = np.random.default_rng(2)
    shape = {"chain": 2, "draw": 5, "time": 3, "where": 2, "plain": 20, "step": 4}
    coords = {
        "time": pd.date_range("2020-01-01", periods=3),
        "where": ["north", "sü d"],
        "step": [0.1, 1e-7, 2.0, 1e20],
    }
    dims = {"a": ("time", "where"), "b": ("plain", "step", "where"), "c": (), "d": ("step",)}
    dataset = xr.Dataset(
        {
            name: (("chain", "draw", *extra), rng.normal(size=(2, 5, *(shape[d] for d in extra))))
            for name, extra in dims.items()
        },
        coords=coords,
    )
    assert cd.as_draws(dataset).names == arviz_labels(dataset)
    assert len(arviz_labels(dataset)) == 171


def test_an_old_inference_data():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it announces its successor
        arviz = pytest.importorskip("arviz", reason="arviz<1, which the test extra brings, has the old InferenceData")
    if not hasattr(arviz, "InferenceData"):  # the test extra asks for arviz<1; who has a newer one has no such object to give
        pytest.skip("arviz 1 has no InferenceData")
    old = arviz.from_dict(
        posterior=POSTERIOR, prior={"mu": np.ones((1, 9))}, coords={"school": SCHOOLS}, dims={"theta": ["school"]}
    )
    new = cd.as_draws(tree())
    given = cd.as_draws(old)
    assert given.names == new.names
    np.testing.assert_array_equal(given.values, new.values)
    assert cd.as_draws(old, group="prior").values.shape == (1, 9, 1)
    assert cd.as_draws(old, var_names="theta", coords={"school": ["Choate"]}).names == ("theta[Choate]",)
    refused("unknown-name", old, group="sample_stats")


def test_arrays_with_and_without_chains():
    array = DATASET["theta"]
    given = cd.as_draws(array)
    assert given.names == tuple(f"theta[{s}]" for s in SCHOOLS)
    turned = cd.as_draws(array.transpose("school", "draw", "chain"))
    np.testing.assert_array_equal(turned.values, given.values)
    single = cd.as_draws(array.isel(chain=0, drop=True))
    assert single.chained
    np.testing.assert_array_equal(single.values, given.values[:1])
    nameless = cd.as_draws(xr.DataArray(np.arange(6.0), dims="draw"))
    assert nameless.names == ("x",)
    whole = cd.as_draws(xr.Dataset({"k": ("draw", [1, 2, 3]), "yes": ("draw", [True, False, True])}))
    np.testing.assert_array_equal(whole.values[0], [[1, 1], [2, 0], [3, 1]])


DATASET_FAULTS = [
        (DATASET.stack(sample=("chain", "draw")), "shape"),
        (DATASET.assign(year=("t", [1.0, 2.0])), "shape"),
        (DATASET.assign(flat=("draw", np.ones(50))), "shape"),
        (DATASET.assign(word=(("chain", "draw"), np.full((4, 50), "low"))), "not-numeric"),
        (DATASET.assign(z=DATASET.mu * 1j), "not-numeric"),
        (DATASET.assign(o=(("chain", "draw"), np.full((4, 50), {}))), "not-numeric"),
        (DATASET.where(DATASET.mu < 1), "nan"),
        (xr.Dataset(), "shape"),
        (xr.concat([DATASET[["theta"]]] * 2, "school"), "argument"),
        (DATASET.rename(draw="drew"), "shape"),
        (DATASET.isel(draw=slice(0)), "too-few-draws"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("dataset", "code"),
    DATASET_FAULTS,
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_datasets_that_cannot_be_used(dataset, code):
    refused(code, dataset)


def test_labels_of_chains_that_are_not_unique_name_none():
    """As of two runs, one behind the other: "chain 1 has the same draws as chain 1" would say nothing."""
    twice = DATASET.assign_coords(chain=[0, 1, 0, 1])
    given = cd.as_draws(twice)
    assert [given.chain_name(k) for k in range(4)] == ["chain 0", "chain 1", "chain 2", "chain 3"]
    labelled = cd.as_draws(DATASET.assign_coords(chain=[3, 5, 7, 9]))
    assert labelled.chain_names == ("chain 3", "chain 5", "chain 7", "chain 9")
    assert cd.as_draws(DATASET.drop_vars("chain", errors="ignore")).chain_names == ()


@pytest.mark.parametrize(
    "coords",
    [
        {"school": ["Phillips Andover", "Choate"]},
        {"school": "Choate"},
        {"chain": [0, 2], "cov_dim_0": [1]},
        {"draw": slice(10, 19), "cov_dim_1": 0},
        {"chain": 1},
    ],
)
def test_coords_mean_what_they_mean_in_xarray(coords):
    expected = DATASET.sel(coords)
    given = cd.as_draws(DATASET, coords=coords)
    assert given.names == arviz_labels(expected)
    flat = expected if "chain" in expected.dims else expected.expand_dims("chain")
    np.testing.assert_array_equal(given.values[:, :, 0], flat["mu"])
    np.testing.assert_array_equal(
        given.values[:, :, -1], flat["cov"].transpose("chain", "draw", ...).values.reshape(*flat["mu"].shape, -1)[:, :, -1]
    )


COORDS_FAULTS = [
        ({"shcool": ["Choate"]}, "unknown-name"),
        ({"school": ["Eton"]}, "unknown-name"),
        ({"chain": 9}, "unknown-name"),
        ({"draw": 3}, "shape"),
        ("school", "argument"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("coords", "code"),
    COORDS_FAULTS,
)
def test_coords_that_cannot_be_used(coords, code):
    refused(code, DATASET, coords=coords)


def test_labels_that_are_numbers_may_be_text():
    """As they are on a command line."""
    theta = (("chain", "draw", "g"), np.arange(24.0).reshape(2, 4, 3))
    for labels, texts in (([0, 1, 2], ["2", "0"]), ([0.1, 0.5, 2.0], ["2", "0.1"])):
        given = xr.Dataset({"theta": theta}, coords={"g": np.asarray(labels, dtype=type(labels[0]))})
        np.testing.assert_array_equal(cd.as_draws(given, coords={"g": texts}).values, theta[1][:, :, [2, 0]])
    numbered = xr.Dataset({"theta": theta})  # by position, without labels
    np.testing.assert_array_equal(cd.as_draws(numbered, coords={"g": ["1"]}).values, theta[1][:, :, [1]])
    for text in ("1.5", "one", "3", "", "1e400"):
        refused("unknown-name", numbered, coords={"g": [text]})
    named = numbered.assign_coords(g=["1", "01", "x"])
    assert cd.as_draws(named, coords={"g": ["01"]}).names == ("theta[01]",)
    refused("unknown-name", named, coords={"g": [1]})


def test_containers_of_groups_are_no_list():
    for item in (DATASET, xr.DataTree.from_dict({"posterior": DATASET})):
        for given in ([item], (item,)):
            assert "without the list" in refused("not-numeric", given)
        assert "dimension chain" in refused("not-numeric", [item, item])
    assert cd.as_draws([DATASET["mu"].T, DATASET["mu"].T]).n_chains == 2


# dictionaries


def test_dictionaries_of_arrays():
    columns = cd.as_draws({"a": [1, 2, 3], "b": np.array([0.5, 1.0, 2.0])})
    assert columns.names == ("a", "b")
    assert not columns.chained
    assert columns.values.shape == (1, 3, 2)
    given = cd.as_draws(POSTERIOR)
    plain = az.from_dict({"posterior": POSTERIOR})["posterior"].to_dataset()
    assert given.names == arviz_labels(plain)
    np.testing.assert_array_equal(given.values, cd.as_draws(plain).values)
    np.testing.assert_array_equal(cd.as_draws(long_table("chain", "draw")).values, CHAINS)


DICTIONARY_FAULTS = [
        ({"a": [1, 2], "b": [1, 2, 3]}, "shape"),
        ({"a": [1, 2], "b": [[1, 2]]}, "shape"),
        ({"a": 1.0, "b": [1, 2]}, "shape"),
        ({"a": np.ones((2, 5)), "b": np.ones((2, 6))}, "shape"),
        ({"a": [[1, 2], [3]]}, "shape"),
        ({"a": ["x", "y"]}, "not-numeric"),
        ({"a": np.full((2, 3), "x")}, "not-numeric"),
        ({"a": np.ma.masked_less([1.0, 2.0], 1.5)}, "nan"),
        ({"a": np.ma.masked_less([[1.0, 2.0]], 1.5)}, "nan"),
        ({}, "shape"),
        ({1: [1.0, 2.0], "1": [2.0, 3.0]}, "argument"),
        ({"a[0]": np.arange(6.0).reshape(2, 3), "a": np.arange(6.0).reshape(2, 3, 1)}, "argument"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("draws", "code"),
    DICTIONARY_FAULTS,
)
def test_dictionaries_that_cannot_be_used(draws, code):
    refused(code, draws)


# selection


FLAT = pd.DataFrame({name: [1.0, 2.0] for name in ("mu", "theta[1]", "tau", "theta[2]", "log tau", "~odd")})


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        ({"var_names": "tau"}, ["tau"]),
        ({"var_names": ["tau", "mu"]}, ["tau", "mu"]),
        ({"var_names": ["theta", "mu"]}, ["theta[1]", "theta[2]", "mu"]),
        ({"var_names": ["theta[2]", "theta"]}, ["theta[2]", "theta[1]"]),
        ({"var_names": ["~theta", "~mu"]}, ["tau", "log tau", "~odd"]),
        ({"var_names": "~theta[1]"}, ["mu", "tau", "theta[2]", "log tau", "~odd"]),
        ({"var_names": "~odd"}, ["~odd"]),
        ({"var_names": ["tau", "mu"], "filter_vars": "like"}, ["mu", "tau", "log tau"]),
        ({"var_names": "[2", "filter_vars": "like"}, ["theta[2]"]),
        ({"var_names": "^t", "filter_vars": "regex"}, ["theta[1]", "tau", "theta[2]"]),
        ({"var_names": "^theta$", "filter_vars": "regex"}, ["theta[1]", "theta[2]"]),
        ({"var_names": "~ta", "filter_vars": "like"}, ["mu", "~odd"]),
        ({"var_names": r"~\d", "filter_vars": "regex"}, ["mu", "tau", "log tau", "~odd"]),
    ],
)
def test_selection_by_name(choices, names):
    assert list(cd.as_draws(FLAT, **choices).names) == names
    assert list(cd.as_draws(cd.as_draws(FLAT), **choices).names) == names
    assert list(cd.as_draws([FLAT, FLAT], **choices).names) == names


@pytest.mark.parametrize("source", [DATASET, tree(), POSTERIOR], ids=["Dataset", "DataTree", "dict"])
@pytest.mark.parametrize(
    ("choices", "variables"),
    [
        ({"var_names": ["cov", "mu"]}, ["cov", "mu"]),
        ({"var_names": ["~cov"]}, ["mu", "theta"]),
        ({"var_names": ["mu", "th"], "filter_vars": "like"}, ["mu", "theta"]),
        ({"var_names": "[uv]$", "filter_vars": "regex"}, ["mu", "cov"]),
        ({"var_names": ["~^t"], "filter_vars": "regex"}, ["mu", "cov"]),
    ],
)
def test_selection_is_that_of_arviz(source, choices, variables):
    given = cd.as_draws(source, **choices)
    assert [*dict.fromkeys(name.split("[")[0] for name in given.names)] == variables
    if not isinstance(source, dict):
        chosen = az.extract(DATASET, combined=False, keep_dataset=True, **choices)
        assert set(given.names) == set(arviz_labels(chosen))


def test_entries_of_labelled_variables():
    given = cd.as_draws(DATASET, var_names=["theta[Phillips Andover]", "mu", "cov[1, 0]"])
    assert given.names == ("theta[Phillips Andover]", "mu", "cov[1, 0]")
    np.testing.assert_array_equal(given.values[:, :, 0], POSTERIOR["theta"][:, :, 2])
    np.testing.assert_array_equal(given.values[:, :, 2], POSTERIOR["cov"][:, :, 1, 0])
    assert "theta[Choate]" not in cd.as_draws(DATASET, var_names="~theta[Choate]").names
    # a variable nobody asked for may hold anything
    assert cd.as_draws(DATASET.assign(word=("t", ["low"])), var_names=["mu"]).names == ("mu",)


OPTION_FAULTS = [
        ({"var_names": "tua"}, "unknown-name"),
        ({"var_names": "theta[3]"}, "unknown-name"),
        ({"var_names": ["~nothing"]}, "unknown-name"),
        ({"var_names": ["mu", "~tau"]}, "argument"),
        ({"var_names": ["zz"], "filter_vars": "like"}, "unknown-name"),
        ({"var_names": ["[("], "filter_vars": "regex"}, "argument"),
        ({"var_names": "~", "filter_vars": "like"}, "argument"),
        ({"var_names": []}, "argument"),
        ({"var_names": 3}, "argument"),
        ({"var_names": [3]}, "argument"),
        ({"filter_vars": "glob"}, "argument"),
        ({"group": "prior"}, "argument"),
        ({"group": None}, "argument"),
        ({"coords": {"school": 1}}, "argument"),
        ({"delimiter": ";"}, "argument"),
        ({"delimiter": "::"}, "argument"),
        ({"chains": "run"}, "unknown-name"),
        ({"chains": 0}, "argument"),
        ({"chains": True}, "argument"),
        ({"chains": 1.5}, "argument"),
        ({"chains": 3}, "shape"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("choices", "code"),
    OPTION_FAULTS,
)
def test_choices_that_cannot_be_used(choices, code):
    refused(code, FLAT, **choices)


def test_options_a_source_has_no_use_for_are_refused():
    refused("argument", CHAINS, group="prior")
    refused("argument", CHAINS, coords={"a": 1})
    refused("argument", POSTERIOR, coords={"a": 1})
    refused("argument", CHAINS, chains="a")
    refused("argument", DATASET, chains="a")
    refused("argument", DATASET, group="prior")
    refused("argument", cd.as_draws(CHAINS), group="prior")
    many = pd.DataFrame(np.ones((3, 30)))
    refused("unknown-name", many, var_names="nope")


def test_rows_are_cut_into_chains():
    flat = CHAINS.reshape(-1, 2)
    for source in (flat, pd.DataFrame(flat), {"a": flat[:, 0], "b": flat[:, 1]}, cd.as_draws(flat)):
        given = cd.as_draws(source, chains=3)
        assert given.chained
        np.testing.assert_array_equal(given.values, CHAINS)
        refused("shape", source, chains=7)
    for source in (CHAINS, DATASET, pd.DataFrame(long_table()), cd.as_draws(CHAINS), list(CHAINS)):
        k = cd.as_draws(source).n_chains
        assert cd.as_draws(source, chains=np.int64(k)).n_chains == k
        assert f" {k} chains" in refused("shape", source, chains=2)
    refused("shape", CHAINS[:1], chains=2)


def test_select_from_draws():
    given = cd.as_draws(CHAINS)
    chosen = given.select(["x1", "x0"])
    np.testing.assert_array_equal(chosen.values, CHAINS[:, :, ::-1])
    assert chosen.names == ("x1", "x0")
    assert chosen.chained
    assert not chosen.values.flags.writeable
    assert given.select("x1").names == ("x1",)
    for names, code in [
        (["x2"], "unknown-name"),
        ([], "argument"),
        (["x0"] * 2, "argument"),
    ]:
        refusal(code, given.select, names)
    assert cd.as_draws(CHAINS[0], var_names=["x1"]).names == ("x1",)


# everything else


OTHER_FAULTS = [
        (None, "not-numeric"),
        (object(), "not-numeric"),
        ({1, 2}, "not-numeric"),
        ((k for k in range(3)), "not-numeric"),
        (b"draws.csv", "not-numeric"),
        (SimpleNamespace(__array__=1), "not-numeric"),
        (pd.Series([1.0, 2.0]), "shape"),
        (pl.LazyFrame({"a": [1.0]}), "argument"),
        (np.empty((5, 0)), "shape"),
        (pd.DataFrame(index=range(5)), "shape"),
        (pd.DataFrame({"a": [1.0]}), "too-few-draws"),
        (pd.DataFrame({"a": []}, dtype=float), "too-few-draws"),
        (pd.DataFrame({"chain": [], "a": []}, dtype=float), "too-few-draws"),
        ([], "shape"),
        ([DATASET, DATASET], "not-numeric"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("draws", "code"),
    OTHER_FAULTS,
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_holds_no_draws(draws, code):
    refused(code, draws)


def test_nan_are_counted_per_variable_with_a_way_out():
    frame = pd.DataFrame({"chain": [0, 0, 1, 1], "a": [1.0, np.nan, 2.0, np.nan], "b": [1.0, 2.0, 3.0, np.inf]})
    message = refused("nan", frame)
    assert numerals_of("a", message) == ["2", "4", "2", "1", "0"]  # of 4 draws, in 2 chains, first draw 1 of chain 0
    assert numerals_of("b", message) == ["1", "4", "1", "1"]  # one of 4 draws, draw 1 of chain 1
    every = refused("nan", pd.DataFrame(np.full((2, 30), np.nan)))
    assert [numerals_of(name, every) for name in "0123"] == [["2", "2", "0"]] * 3 + [[]]  # three of thirty are told


@pytest.mark.parametrize("count", [1, 3, 25])
@pytest.mark.parametrize("chained", [True, False])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_told_once(count, chained, bad):
    values = RNG.normal(size=(4, 50, 30))
    values[1:, 7:9, :count] = bad
    names = [f"v{k}" for k in range(30)]
    draws = {name: values[:, :, k] if chained else values[:, :, k].ravel() for k, name in enumerate(names)}
    message = refused("infinite" if np.isinf(bad) else "nan", draws)
    place = ["6", "200", "3", "7", "1"] if chained else ["6", "200", "57"]  # of 200, in 3 chains; the first
    assert [numerals_of(name, message) for name in names[:4]] == [place if k < count else [] for k in range(3)] + [[]]
    assert numerals(message) == [str(count), *place * min(count, 3), *(["22"] if count == 25 else [])]
    assert message.count("sampler" if chained else "cells empty" if np.isinf(bad) else "missing='pairs'") == 1
    if not chained and np.isnan(bad):
        assert cd.as_draws(draws, missing="drop").n_draws == 194


def test_nan_and_infinite_values_together_are_counted_apart():
    frame = pd.DataFrame(RNG.normal(size=(10, 3)), columns=["a", "b", "c"])
    frame.loc[2, "a"], frame.loc[[3, 5], "b"] = np.nan, -np.inf
    frame.loc[8:, "c"] = np.nan
    message = refused("nan", frame)
    missing, infinite = message.split(" infinite ", 1)
    assert numerals(missing) == ["2", "1", "10", "2", "2", "10", "8"]  # variables; how many of 10 rows, and the first, twice
    assert numerals_of("a", missing) == ["1", "10", "2"]
    assert numerals_of("c", missing) == ["2", "10", "8"]
    assert numerals_of("b", infinite) == ["2", "10", "3"]
    assert "NaN" not in refused("infinite", frame, missing="pairs")


def test_arrays_and_pseudo_observations_keep_their_shapes():
    for source, shape in [
        (CHAINS[0], (40, 2)),
        (CHAINS, (3, 40, 2)),
        (pd.DataFrame(long_table()), (3, 40, 2)),
        (DATASET[["mu"]], (4, 50, 1)),
        ({"a": [1.0, 2.0]}, (2, 1)),
    ]:
        assert cd.pseudo_observations(source).shape == shape


def test_arrays_need_no_library_of_labels():
    code = (
        "import sys, numpy as np, copula_discrepancy as cd\n"
        "cd.as_draws(np.eye(3), var_names=['x1'])\n"
        "print([m for m in ('pandas', 'polars', 'xarray', 'arviz_base', 'h5py', 'pyarrow') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
