"""Every container comes back as it was, with values of the repaired variables in another order, none changed."""

import dataclasses
import gzip
import json
from collections import Counter, namedtuple
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

import copula_discrepancy as cd
from copula_discrepancy.data.readers.table import REPAIRED
from copula_discrepancy.data.text_cells import Cells
from tests.refusals import refused

N = 60
DTYPES = ["f8", "f4", "f2", "g", ">f8", "i1", "i8", "u8", "?"]


def values(seed=1, n=N, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


def dependent(seed=2, n=N, d=3):
    x = values(seed, n, d)
    x[:, 1:] = 0.9 * x[:, :1] + 0.4 * x[:, 1:]
    return x


def frame(x=None, names="abc"):
    x = values() if x is None else x
    return pd.DataFrame(x, columns=list(names)[: x.shape[1]])


def ranks(x):
    return np.argsort(np.argsort(x, axis=0), axis=0)


def same_values(before, after):
    """Every column has exactly its values, to the last bit and with its type."""
    before, after = np.asarray(before), np.asarray(after)
    assert before.dtype == after.dtype
    assert before.shape == after.shape
    a, b = (np.sort(x.reshape(-1, x.shape[-1]), axis=0) for x in (before, after))
    if before.dtype.itemsize > 8:  # such a number has bytes that mean nothing
        assert np.array_equal(a, b)
    else:
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("kind", DTYPES)
def test_arrays_of_every_type(kind):
    x = values() * 30
    x = x > 0 if kind == "?" else (np.abs(x) if kind == "u8" else x).astype(kind)
    result = cd.repair(x, dependent())
    same_values(x, result.draws)
    assert not np.array_equal(x, result.draws)
    assert np.array_equal(x[:, 0], result.draws[:, 0])


def test_integers_that_no_float_distinguishes():
    x = np.random.default_rng(3).permuted(np.tile(np.arange(N)[:, None] + 2**62, 3), axis=0)
    result = cd.repair(x, dependent())
    same_values(x, result.draws)
    assert np.array_equal(ranks(result.draws), ranks(dependent())[result.reference_rows])


@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, lambda x: x[::-1], lambda x: np.repeat(x, 2, axis=0)[::2], lambda x: np.ascontiguousarray(x.T).T],
)
def test_arrays_of_every_memory_order_are_not_written_to(layout):
    x = layout(values())
    kept = x.copy()
    x.flags.writeable = False
    result = cd.repair(x, dependent())
    same_values(x, result.draws)
    assert np.array_equal(x, kept)
    assert result.draws.flags.writeable
    assert np.array_equal(ranks(result.draws), ranks(dependent())[result.reference_rows])


def test_chains_of_arrays_and_lists_of_them():
    x = values().reshape(4, -1, 3)
    expected = cd.repair(x.reshape(-1, 3), dependent()).draws
    whole, in_list, in_tuple = (cd.repair(given, dependent()).draws for given in (x, list(x), tuple(x)))
    assert np.array_equal(whole.reshape(-1, 3), expected)
    assert isinstance(in_list, list)
    assert isinstance(in_tuple, tuple)
    assert np.array_equal(np.concatenate(in_list), expected)
    assert np.array_equal(np.concatenate(in_tuple), expected)
    assert np.array_equal(cd.repair(x.reshape(-1, 3), dependent(), chains=4).draws, expected)


def test_chains_of_different_types_are_refused():
    x = (values() * 100).reshape(2, -1, 3)
    with refused() as caught:
        cd.repair([x[0], x[1].astype(int)], dependent())
    assert "int64" in str(caught.value)


def test_structured_arrays_and_named_tuples():
    x = values()
    array = np.zeros(N, dtype=[("a", "f4"), ("label", "U3"), ("b", "i2"), ("c", "f8")])
    for k, name in enumerate("abc"):
        array[name] = x[:, k] * 100
    array["label"] = [f"r{k}" for k in range(N)]
    result = cd.repair(array, frame(dependent()), var_names=["a", "b", "c"]).draws
    assert result.dtype == array.dtype
    assert (result["label"] == array["label"]).all()
    assert all(np.array_equal(np.sort(result[name]), np.sort(array[name])) for name in "abc")
    assert not np.array_equal(result["b"], array["b"])
    row = namedtuple("row", "a b c")
    rows = [row(*map(float, line)) for line in x]
    got = cd.repair(rows, frame(dependent()))
    assert np.array_equal(np.column_stack([got.draws[name] for name in "abc"]), cd.repair(x, dependent()).draws)
    assert any("is not rebuilt" in note for note in got.notes)


def test_draws_and_sampled_chains():
    draws = cd.as_draws({"a": values()[:, :1].T, "b": values()[:, 1:2].T})
    result = cd.repair(draws, cd.Clayton(4.0)).draws
    assert isinstance(result, cd.Draws)
    assert result.names == draws.names
    assert np.array_equal(np.sort(result.values, axis=1), np.sort(draws.values, axis=1))
    chains = cd.metropolis(cd.BimodalMixture(), [[1.5, 1.5], [-1.5, -1.5]], scale=0.5, n_draws=100, rng=0)
    repaired = cd.repair(chains, cd.Clayton(4.0)).draws
    assert isinstance(repaired, cd.Chains)
    assert repaired.settings == chains.settings
    same_values(chains.values, repaired.values)


def test_dictionaries():
    x = values()
    given = {"a": x[:, 0], "b": x[:, 1].tolist(), "c": pd.Series(x[:, 2], index=range(5, N + 5), name="see"), "text": ["t"] * N}
    result = cd.repair(given, frame(dependent()), var_names=["a", "b", "c"]).draws
    assert isinstance(result["b"], list)
    assert result["text"] == given["text"]
    assert result["c"].index.equals(given["c"].index)
    assert sorted(result["b"]) == sorted(given["b"])
    assert np.array_equal(np.column_stack([result[name] for name in "abc"]), cd.repair(x, dependent()).draws)
    chained = {"mu": x[:, 0].reshape(2, -1), "theta": x[:, 1:].reshape(2, -1, 2)}
    got = cd.repair(chained, {"mu": dependent()[:, 0][None], "theta": dependent()[None, :, 1:]}).draws
    flat = np.concatenate([got["mu"][..., None], got["theta"]], axis=2).reshape(-1, 3)
    assert np.array_equal(flat, cd.repair(x, dependent()).draws)


def test_pandas_keeps_index_types_and_other_columns():
    x = values()
    table = pd.DataFrame({
        "day": pd.date_range("2020-01-01", periods=N), "a": x[:, 0].astype("f4"), "text": [f"t{k}" for k in range(N)],
        "b": pd.array((x[:, 1] * 1000).astype(int), dtype="Int64"), "c": pd.array(x[:, 2] > 0, dtype="boolean"),
    }, index=[7] * N)  # fmt: skip
    table.attrs["source"] = "a sampler"
    before = table.copy(deep=True)
    result = cd.repair(table, frame(dependent()), var_names=["a", "b", "c"])
    pd.testing.assert_frame_equal(table, before)
    after = result.draws
    assert list(after.columns) == list(table.columns)
    assert (after.dtypes == table.dtypes).all()
    assert after.index.equals(table.index)
    pd.testing.assert_frame_equal(after[["day", "text", "a"]], table[["day", "text", "a"]])
    for name in "bc":
        assert sorted(after[name]) == sorted(table[name])
    assert not after["b"].equals(table["b"])
    assert after.attrs["source"] == "a sampler"
    assert after.attrs[REPAIRED]["moved"] == ["b", "c"]
    json.dumps(after.attrs)


def test_pandas_rows_of_chains_in_any_order():
    """Rows are repaired in the order of chains and draws, and stay where they stand in the table."""
    x = values()
    order = np.random.default_rng(5).permutation(N)
    sorted_table = frame(x).assign(chain=np.repeat([0, 1, 2], N // 3), draw=np.tile(np.arange(N // 3), 3))
    shuffled = sorted_table.iloc[order]
    one, other = cd.repair(sorted_table, frame(dependent())).draws, cd.repair(shuffled, frame(dependent())).draws
    pd.testing.assert_frame_equal(other, one.iloc[order], check_flags=False)
    dated = frame(x).set_index(pd.date_range("2020-01-01", periods=N)).iloc[order]
    got = cd.repair(dated, frame(dependent())).draws
    assert got.index.equals(dated.index)
    assert np.array_equal(got.sort_index().to_numpy(), cd.repair(x, dependent()).draws)


def test_polars_and_arrow():
    expected = cd.repair(values(), dependent()).draws
    table = frame().assign(text="t")
    for given in (pl.from_pandas(table), pa.Table.from_pandas(table), pa.RecordBatch.from_pandas(table)):
        got = cd.repair(given, frame(dependent()), var_names=["a", "b", "c"]).draws
        assert type(got) is type(given)
        assert got.schema == given.schema
        back = got.to_pandas()
        assert np.array_equal(back[["a", "b", "c"]].to_numpy(), expected)
        assert (back["text"] == "t").all()


def test_lists_of_frames_are_chains():
    parts = [frame(values())[:30], frame(values())[30:]]
    for made in (parts, [pl.from_pandas(part) for part in parts], [pa.Table.from_pandas(part) for part in parts]):
        got = cd.repair(made, frame(dependent())).draws
        assert [type(part) for part in got] == [type(part) for part in made]
        back = np.concatenate([np.asarray(p if isinstance(p, pd.DataFrame) else p.to_pandas())[:, :3] for p in got])
        assert np.array_equal(back, cd.repair(values(), dependent()).draws)


def test_other_tables_come_back_as_frames_with_a_note():
    duckdb = pytest.importorskip("duckdb")
    got = cd.repair(duckdb.from_df(frame()), frame(dependent()))
    assert isinstance(got.draws, pd.DataFrame)
    assert any("is not rebuilt" in note for note in got.notes)
    assert np.array_equal(got.draws.to_numpy(), cd.repair(values(), dependent()).draws)
    dask = pytest.importorskip("dask.dataframe")
    got = cd.repair(dask.from_pandas(frame(), npartitions=2), frame(dependent()))
    assert isinstance(got.draws, pd.DataFrame)
    assert np.array_equal(got.draws.to_numpy(), cd.repair(values(), dependent()).draws)


def posterior(x):
    chains = {
        "mu": (("chain", "draw"), x[:, 0].reshape(2, -1)),
        "theta": (("school", "draw", "chain"), np.empty((2, N // 2, 2))),
    }
    dataset = xr.Dataset(chains, coords={"school": ["A", "B"]}, attrs={"made_by": "hand"})
    dataset["theta"][:] = x[:, 1:].reshape(2, -1, 2).transpose(2, 1, 0)
    dataset["energy"] = ("step",), np.arange(4.0)
    dataset["theta"].attrs["unit"] = "points"
    return dataset


def flat(dataset):
    theta = dataset["theta"].transpose("chain", "draw", "school").values
    return np.concatenate([dataset["mu"].values[..., None], theta], axis=2).reshape(-1, 3)


def test_datasets_keep_coordinates_attributes_and_the_order_of_dimensions():
    given, reference = posterior(values()), posterior(dependent())
    names = ["mu", "theta"]
    got = cd.repair(given, reference, var_names=names).draws
    assert np.array_equal(flat(got), cd.repair(values(), dependent()).draws)
    assert got["theta"].dims == given["theta"].dims
    assert got["theta"].attrs == given["theta"].attrs
    assert got.attrs["made_by"] == "hand"
    assert json.loads(got.attrs[REPAIRED])["in_place"] == ["mu"]
    assert got["energy"].equals(given["energy"])
    assert flat(given).tobytes() == values().tobytes()
    one = cd.repair(given, reference, var_names=names, coords={"school": ["B"]}).draws
    assert one["theta"].sel(school="A").equals(given["theta"].sel(school="A"))
    assert not one["theta"].sel(school="B").equals(given["theta"].sel(school="B"))
    array = cd.repair(given["theta"], reference["theta"]).draws
    assert isinstance(array, xr.DataArray)
    assert array.attrs["unit"] == "points"


def test_trees_and_inference_data_keep_other_groups():
    given, reference = posterior(values()), posterior(dependent())
    other = xr.Dataset({"y": ("obs", np.arange(5.0))})
    tree = xr.DataTree.from_dict({"posterior": given, "observed_data": other}, name="run")
    got = cd.repair(tree, reference, var_names=["mu", "theta"]).draws
    assert isinstance(got, xr.DataTree)
    assert np.array_equal(flat(got["posterior"].to_dataset()), cd.repair(values(), dependent()).draws)
    assert got["observed_data"].to_dataset().identical(other)
    assert tree["posterior"].to_dataset().identical(given)
    prior = cd.repair(xr.DataTree.from_dict({"prior": given}), xr.DataTree.from_dict({"prior": reference}),
                      group="prior", var_names=["mu", "theta"]).draws  # fmt: skip
    assert np.array_equal(flat(prior["prior"].to_dataset()), cd.repair(values(), dependent()).draws)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_inference_data():
    az = pytest.importorskip("arviz")
    given = az.InferenceData(posterior=posterior(values()), observed_data=xr.Dataset({"y": ("obs", np.arange(5.0))}))
    before = given.posterior.copy(deep=True)
    got = cd.repair(given, posterior(dependent()), var_names=["mu", "theta"]).draws
    assert isinstance(got, az.InferenceData)
    assert got.groups() == given.groups()
    assert np.array_equal(flat(got.posterior), cd.repair(values(), dependent()).draws)
    assert given.posterior.identical(before)
    assert got.observed_data.identical(given.observed_data)


# ---- files -------------------------------------------------------------------------------------------------------------


def cells(text, separator=","):
    rows = [line.split(separator) for line in text.splitlines()]
    return [Counter(column) for column in zip(*rows, strict=True)]


def test_cells_of_text_are_moved_as_text(tmp_path):
    """Formats of numbers, quotes, blanks, comments and line endings stay as they were."""
    rng = np.random.default_rng(1)
    body = "".join(f'{x:.6f}; "{y:+.6e}" ;"a ; ""b""";{z:12.6f}0\r\n'.replace(".", ",") for x, y, z in rng.normal(size=(N, 3)))
    text = f"\ufeffx;y;label;z\r\n{body}"
    path, out = tmp_path / "bad.csv", tmp_path / "fixed.csv"
    path.write_bytes(text.encode())
    result = cd.repair(path, frame(dependent(), "xyz"), var_names=["x", "y", "z"], delimiter=";")
    assert result.save(out) == out
    written = out.read_bytes().decode()
    assert written != text
    assert written.count("\r\n") == N + 1
    assert [line.split(";")[2:4] for line in written.splitlines()] == [line.split(";")[2:4] for line in text.splitlines()]
    before, after = (Counter(line.split(";")[k] for line in t.splitlines()) for t in (text, written) for k in (1,))
    assert before == after
    again = cd.as_draws(out, var_names=["x", "y", "z"], delimiter=";").values[0]
    assert np.array_equal(ranks(again), ranks(dependent())[result.reference_rows])
    assert np.array_equal(again, result.draws.values[0])


@pytest.mark.parametrize(("name", "separator"), [("t.csv", ","), ("t.tsv", "\t"), ("t.csv.gz", ","), ("t.txt", ",")])
def test_text_files(tmp_path, name, separator):
    text = frame().to_csv(index=False, sep=separator, lineterminator="\n")
    path, out = tmp_path / name, tmp_path / f"out_{name}"
    packed = gzip.compress if name.endswith(".gz") else bytes
    path.write_bytes(packed(text.encode()))
    cd.repair(path, frame(dependent())).save(out)
    raw = out.read_bytes()
    written = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    assert cells(written, separator) == cells(text, separator)
    assert np.array_equal(cd.as_draws(out).values[0], cd.repair(values(), dependent()).draws)


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-8"])
def test_encodings_blank_delimiters_and_missing_headers(tmp_path, encoding):
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    text = frame().to_csv(index=False).replace("a,", "\u00e4,", 1)
    path.write_bytes(text.encode(encoding))
    cd.repair(path, frame(dependent(), "\u00e4bc")).save(out)
    assert out.read_bytes().decode(encoding) != text
    assert sorted(out.read_bytes().decode(encoding)) == sorted(text)
    assert out.read_bytes()[:2] == path.read_bytes()[:2]
    bare = tmp_path / "bare.txt"
    bare.write_text("\n".join("  ".join(map(repr, row)) for row in values().tolist()) + "\n\n")
    result = cd.repair(bare, dependent(), delimiter=" ")
    result.save(tmp_path / "bare_out.txt")
    assert np.array_equal(np.loadtxt(tmp_path / "bare_out.txt"), cd.repair(values(), dependent()).draws)
    assert (tmp_path / "bare_out.txt").read_text().endswith("\n\n")


def test_a_cell_keeps_what_stands_around_it():
    raw = b'# made by hand\na,b\n# in between\n1,"2\n3"\n\n 4 ,5\n# end\n'
    found = Cells.of(raw, ",")
    assert found.rows == [["a", "b"], ["1", '"2\n3"'], [" 4 ", "5"]]
    assert found.replaced({}, []) == raw
    assert found.replaced({0: np.array([" 4 ", "1"], object)}, [1, 2]) == raw.replace(b"1", b"X").replace(b" 4 ", b"1").replace(
        b"X", b" 4 "
    )
    for other in (b"a;b\r1;2\r3;4", b"sep=;\r\na;b\r\n1;2\r\n", b"a;b\n1;2\n \n", b'x;"a;b"\n"";2\n'):
        assert Cells.of(other, ";").replaced({}, []) == other


STAN = """# stan_version_major = 2
# method = sample (Default)
#     num_samples = {n}
#     num_warmup = 5
#     save_warmup = 1
lp__,accept_stat__,mu,theta.1,theta.2
{warmup}# Adaptation terminated
# Step size = 0.8
{rows}#
#  Elapsed Time: 0.1 seconds
"""


def stan_file(path, x):
    def lines(rows):
        return "".join(f"-1.5,0.9,{','.join(map(repr, row))}\n" for row in rows.tolist())

    path.write_text(STAN.format(n=len(x), warmup=lines(np.arange(15.0).reshape(5, 3)), rows=lines(x)))


def test_stan_files_are_chains_and_keep_comments_and_warmup(tmp_path):
    x, reference = values(), {"mu": dependent()[:, 0][None], "theta": dependent()[None, :, 1:]}
    for k in (1, 2):
        stan_file(tmp_path / f"run_{k}.csv", x[(k - 1) * 30 : k * 30])
    named = {"mu": reference["mu"], "theta[1]": reference["theta"][..., 0], "theta[2]": reference["theta"][..., 1]}
    result = cd.repair(str(tmp_path / "run_*.csv"), named)
    out = result.save(tmp_path / "fixed", record=True)
    expected = cd.repair(x, dependent()).draws
    assert np.array_equal(cd.as_draws(str(out / "run_*.csv")).values.reshape(-1, 3), expected)
    for k in (1, 2):
        before, after = ((folder / f"run_{k}.csv").read_text().splitlines() for folder in (tmp_path, out))
        assert [line for line in before if line.startswith("#")] == [line for line in after if line.startswith("#")]
        assert before[5:11] == after[5:11]  # the header and warm-up
    assert json.loads((out / "repair.json").read_text())["moved"] == ["theta[1]", "theta[2]"]


def test_a_folder_of_tables_is_one_table(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame()[:10].to_csv(folder / "p1.csv", index=False)
    frame()[10:].to_csv(folder / "p2.csv", index=False)
    out = cd.repair(folder, frame(dependent())).save(tmp_path / "out")
    got = pd.concat([pd.read_csv(out / "p1.csv"), pd.read_csv(out / "p2.csv")])
    assert np.array_equal(got.to_numpy(), cd.repair(values(), dependent()).draws)
    lists = cd.repair([folder / "p2.csv"], frame(dependent()))
    assert lists.draws.values.shape == (1, 50, 3)


def test_parquet_npy_npz_and_netcdf(tmp_path):
    expected = cd.repair(values(), dependent()).draws
    table = pa.Table.from_pandas(frame().assign(text="t"))
    pq.write_table(table, tmp_path / "t.parquet", compression="gzip", row_group_size=7)
    cd.repair(tmp_path / "t.parquet", frame(dependent()), var_names=["a", "b", "c"]).save(tmp_path / "o.parquet")
    got = pq.ParquetFile(tmp_path / "o.parquet")
    assert got.schema_arrow.equals(table.schema, check_metadata=True)
    assert np.array_equal(got.read().to_pandas()[["a", "b", "c"]].to_numpy(), expected)
    assert (got.metadata.row_group(0).column(0).compression, got.metadata.row_group(0).num_rows) == ("GZIP", 7)

    for array in (values(), np.asfortranarray(values().astype("f4")), values().reshape(3, -1, 3)):
        np.save(tmp_path / "t.npy", array)
        cd.repair(tmp_path / "t.npy", dependent()).save(tmp_path / "o.npy", force=True)
        same_values(array, np.load(tmp_path / "o.npy"))
        assert np.array_equal(np.load(tmp_path / "o.npy"), cd.repair(array, dependent()).draws)

    np.savez_compressed(tmp_path / "t.npz", a=values()[:, 0], b=values()[:, 1], c=values()[:, 2].astype("f4"))
    cd.repair(tmp_path / "t.npz", frame(dependent())).save(tmp_path / "o.npz")
    with np.load(tmp_path / "o.npz") as archive:
        assert list(archive) == ["a", "b", "c"]
        assert archive["c"].dtype == np.float32
        assert np.array_equal(np.column_stack([archive["a"], archive["b"]]), expected[:, :2])
    np.savez(tmp_path / "one.npz", draws=values())
    cd.repair(tmp_path / "one.npz", dependent()).save(tmp_path / "one_out.npz")
    with np.load(tmp_path / "one_out.npz") as archive:
        assert np.array_equal(archive["draws"], expected)

    other = xr.Dataset({"y": ("obs", np.arange(5.0))})
    xr.DataTree.from_dict({"posterior": posterior(values()), "observed_data": other}).to_netcdf(
        tmp_path / "t.nc", engine="h5netcdf"
    )
    cd.repair(tmp_path / "t.nc", posterior(dependent()), var_names=["mu", "theta"]).save(tmp_path / "o.nc")
    with xr.open_datatree(tmp_path / "o.nc", engine="h5netcdf") as tree:
        assert np.array_equal(flat(tree["posterior"].to_dataset()), expected)
        assert tree["observed_data"].to_dataset().identical(other)
    posterior(values()).to_netcdf(tmp_path / "classic.nc", engine="scipy")
    cd.repair(tmp_path / "classic.nc", posterior(dependent()), var_names=["mu", "theta"]).save(tmp_path / "classic_out.nc")
    with xr.open_dataset(tmp_path / "classic_out.nc", engine="scipy") as dataset:
        assert np.array_equal(flat(dataset), expected)


def test_several_arrays_in_files_are_chains(tmp_path):
    x = values().reshape(2, -1, 3)
    for k in range(2):
        np.save(tmp_path / f"c{k}.npy", x[k])
    out = cd.repair([tmp_path / "c0.npy", tmp_path / "c1.npy"], dependent(), chains=2).save(tmp_path / "out")
    got = np.concatenate([np.load(out / f"c{k}.npy") for k in range(2)])
    assert np.array_equal(got, cd.repair(values(), dependent()).draws)


def test_files_are_not_overwritten(tmp_path):
    path, out = tmp_path / "bad.csv", tmp_path / "fixed.csv"
    frame().to_csv(path, index=False)
    before = path.read_bytes()
    result = cd.repair(path, frame(dependent()))
    out.write_text("mine")
    with refused("file"):
        result.save(out)
    assert out.read_text() == "mine"
    result.save(out, force=True)
    assert out.read_text() != "mine"
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    for same in (path, link, tmp_path / "." / "bad.csv"):
        with refused("file"):
            result.save(same, force=True)
    assert path.read_bytes() == before
    frame(dependent()).to_csv(tmp_path / "reference.csv", index=False)
    with refused("file"):
        cd.repair(path, str(tmp_path / "ref*.csv")).save(tmp_path / "reference.csv", force=True)
    for wrong, code in ((tmp_path / "x.parquet", "file-format"), (tmp_path / "no" / "x.csv", "file"), (3, "argument")):
        with refused(code):
            result.save(wrong)
    with refused("file"):
        result.save(tmp_path / f"{'x' * 300}.csv")
    (tmp_path / "folder.csv").mkdir()
    with refused("file"):
        result.save(tmp_path / "folder.csv", force=True)
    (tmp_path / "new.repair.json").write_text("mine")
    with refused("file"):
        result.save(tmp_path / "new.csv", record=True)
    assert not (tmp_path / "new.csv").exists()
    with refused():
        cd.repair(values(), dependent()).save(out, force=True)
    assert not list(tmp_path.glob("*.partial"))


def test_a_result_is_draws():
    result = cd.repair(frame(), frame(dependent()))
    again = cd.as_draws(result)
    assert np.array_equal(again.values[0], result.draws.to_numpy())
    assert any("no evidence" in note for note in again.notes)
    twice = cd.repair(result, frame(dependent(9)))
    assert isinstance(twice.draws, cd.Draws)
    same_values(values(), twice.draws.values[0])
    assert dataclasses.is_dataclass(result)


class Converts:
    """A table of another library: column names, and a way to pandas."""

    columns = ("a", "b", "c")

    def to_pandas(self):
        return frame()


class Streams:
    """A table of another library that supports Arrow's protocol alone."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.Table.from_pandas(frame()).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (values().tolist(), np.ndarray),
        ([values()[:30].tolist(), values()[30:].tolist()], np.ndarray),
        (Converts(), pd.DataFrame),
        (Streams(), pa.Table),
        (namedtuple("columns", "a b c")(*values().T), dict),
        (MappingProxyType(dict(zip("abc", values().T, strict=True))), dict),
    ],
)
def test_what_is_not_rebuilt_comes_back_as_something_else_with_a_note(given, kind):
    result = cd.repair(given, frame(dependent()))
    assert isinstance(result.draws, kind)
    assert any("is not rebuilt" in note for note in result.notes)
    assert np.array_equal(result.sample.values.reshape(-1, 3), cd.repair(values(), dependent()).draws)


class OldProtocol:
    """A table that supports only the older protocol for tables."""

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        raise NotImplementedError


def test_a_table_that_cannot_be_rebuilt_is_refused():
    with refused():
        cd.repair(OldProtocol(), frame(dependent()))


def test_lists_of_structured_arrays_are_chains():
    array = np.rec.fromarrays(values().T, names="a,b,c").view(np.ndarray)
    got = cd.repair([array[:30], array[30:]], frame(dependent())).draws
    assert np.array_equal(np.concatenate(got)["b"], cd.repair(values(), dependent()).draws[:, 1])


def test_parquet_files_of_unequal_length_are_one_table(tmp_path):
    """With a chain column that runs through all of them: rows are repaired by chain, and stay in their files."""
    table = frame().assign(chain=np.tile([1, 0], N // 2))
    table[:13].to_parquet(tmp_path / "p1.parquet")
    table[13:].to_parquet(tmp_path / "p2.parquet")
    out = cd.repair(str(tmp_path / "p*.parquet"), frame(dependent())).save(tmp_path / "out")
    got = pd.concat([pd.read_parquet(out / "p1.parquet"), pd.read_parquet(out / "p2.parquet")])
    pd.testing.assert_frame_equal(got, cd.repair(table, frame(dependent())).draws, check_flags=False)
    tables = tmp_path / "tables"
    tables.mkdir()
    table[:13].to_csv(tables / "p1.csv", index=False)
    table[13:].to_csv(tables / "p2.csv", index=False)
    folder = cd.repair(tables, frame(dependent())).save(tmp_path / "folder")
    text = pd.concat([pd.read_csv(folder / "p1.csv"), pd.read_csv(folder / "p2.csv")], ignore_index=True)
    assert np.array_equal(text.to_numpy(), got.to_numpy())


def test_several_files_are_written_to_a_folder(tmp_path):
    for folder, step in (("one", 1), ("two", -1)):
        (tmp_path / folder).mkdir()
        frame()[::step].to_csv(tmp_path / folder / "t.csv", index=False)
    paths = [tmp_path / "one" / "t.csv", tmp_path / "two" / "t.csv"]
    with refused("file"):
        cd.repair(paths, cd.as_draws(frame(dependent(n=2 * N)))).save(tmp_path / "out")
    (tmp_path / "two" / "t.csv").rename(tmp_path / "two" / "u.csv")
    result = cd.repair([paths[0], tmp_path / "two" / "u.csv"], frame(dependent(n=2 * N)))
    (tmp_path / "file").write_text("mine")
    with refused("file"):
        result.save(tmp_path / "file")
    assert sorted(path.name for path in result.save(tmp_path / "out").iterdir()) == ["t.csv", "u.csv"]


def test_a_file_that_is_found_to_be_another_is_not_written(tmp_path, monkeypatch):
    """If rows of text and rows that were read ever disagreed, an error, and no file with wrong values."""
    path = tmp_path / "bad.csv"
    frame().to_csv(path, index=False)
    of = Cells.of

    def shifted(raw, delimiter):
        found = of(raw, delimiter)
        return dataclasses.replace(found, rows=[found.rows[0], *found.rows[2:], found.rows[1]])

    monkeypatch.setattr(Cells, "of", shifted)
    result = cd.repair(path, frame(dependent()))
    with refused("file-format"):
        result.save(tmp_path / "fixed.csv")
    assert not (tmp_path / "fixed.csv").exists()
