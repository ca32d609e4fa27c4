"""Files that hold draws, of every kind and in every bad shape."""

import gzip
import io
import os
import pickle
import re
import shutil
import struct
import sys
import time
import zipfile
from pathlib import Path

import arviz_base as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import copula_discrepancy as cd
from tests.data.refusals import refused

RNG = np.random.default_rng(1)
CHAINS = RNG.normal(size=(3, 40, 2))
FRAME = pd.DataFrame(CHAINS[0], columns=["a", "b"])
POSTERIOR = {"mu": CHAINS[:, :, 0], "theta": RNG.normal(size=(3, 40, 2))}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


# which files


def test_one_file_by_text_or_path():
    FRAME.to_csv("draws.csv", index=False)
    for path in ("draws.csv", Path("draws.csv"), Path("draws.csv").resolve(), ["draws.csv"]):
        given = cd.as_draws(path)
        assert given.names == ("a", "b")
        assert given.named
        assert not given.chained
        np.testing.assert_array_equal(given.values[0], CHAINS[0])  # to the last digit


def test_several_files_are_chains():
    for k, chain in zip((1, 2, 10), CHAINS, strict=True):
        columns = {"a": chain[:, 0], "b": chain[:, 1]}
        pd.DataFrame(dict(reversed(columns.items())) if k == 2 else columns).to_csv(f"run_{k}.csv", index=False)
    names = ["run_1.csv", Path("run_2.csv"), "run_10.csv"]
    for source in (names, tuple(names), "run_*.csv", "run_*[0-9].csv", "*.csv"):
        given = cd.as_draws(source)
        assert given.names == ("a", "b")
        assert given.chained
        np.testing.assert_array_equal(given.values, CHAINS)
    np.testing.assert_array_equal(cd.as_draws(names[::-1], var_names="a").values[:, :, 0], CHAINS[::-1, :, 0])
    assert cd.as_draws(names, chains=3).n_chains == 3
    refused("shape", names, chains=2)


def test_a_pattern_that_is_a_file():
    FRAME.to_csv("run[1].csv", index=False)
    assert cd.as_draws("run[1].csv").n_chains == 1
    refused("file", "run_*.csv")
    refused("file", Path("none*.csv"))


def test_files_that_do_not_go_together():
    write("a.csv", "x,y\n1,2\n3,4\n")
    write("b.csv", "x,z\n1,2\n3,4\n")
    write("c.csv", "x,y\n1,2\n3,4\n5,6\n")
    write("d.tsv", "x\ty\n1\t2\n3\t4\n")
    write("e.csv", "chain,x,y\n1,1,2\n2,3,4\n")
    refused("names-differ", ["a.csv", "b.csv"])
    assert cd.as_draws(["a.csv", "b.csv"], var_names="x").values.shape == (2, 2, 1)
    refused("shape", ["a.csv", "c.csv"])
    refused("file", ["a.csv", "d.tsv"])
    refused("shape", ["e.csv", "a.csv"])
    refused("argument", ["a.csv", CHAINS[0]])


PATH_FAULTS = [
        ("gumbel", "file"),
        ("", "file"),
        ("a\0b.csv", "file"),
        ("a\0*.csv", "file"),
        ("x" * 5000 + ".csv", "file"),
        ("folder", "file"),
        ("notes.doc", "file-format"),
        ("csv", "file-format"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "code"),
    PATH_FAULTS,
)
def test_names_that_cannot_be_used(name, code):
    os.mkdir("folder")
    write("notes.doc", "1,2\n")
    write("csv", "1,2\n")
    refused(code, name)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission():
    os.chmod(write("a.csv", "x,y\n1,2\n3,4\n"), 0)
    refused("file", "a.csv")


# text


@pytest.mark.parametrize(
    ("name", "content", "choices"),
    [
        ("plain.csv", "a,b\n1,2\n3,4.5\n", {}),
        ("UPPER.CSV", "a,b\n1,2\n3,4.5\n", {}),
        ("no_newline.csv", "a,b\n1,2\n3,4.5", {}),
        ("windows.csv", "a,b\r\n1,2\r\n3,4.5\r\n", {}),
        ("old_mac.csv", "a,b\r1,2\r3,4.5\r", {}),
        ("bom.csv", b"\xef\xbb\xbfa,b\n1,2\n3,4.5\n", {}),
        ("quoted.csv", '"a","b"\n"1",2\n3,"4.5"\n', {}),
        ("blank_lines.csv", "\n\na,b\n\n1,2\n\n3,4.5\n\n\n", {}),
        ("blanks.csv", "a , b\n 1, 2\n3 ,  4.5 \n", {}),
        ("quoted_blanks.csv", 'a, "b"\n1, "2"\n3, "4.5"\n', {}),
        ("tab.tsv", "a\tb\n1\t2\n3\t4.5\n", {}),
        ("semicolon.csv", "a;b\n1;2\n3;4.5\n", {"delimiter": ";"}),
        ("pipe.csv", "a|b\n1|2\n3|4.5\n", {"delimiter": "|"}),
        ("tab.csv", "a\tb\n1\t2\n3\t4.5\n", {"delimiter": "\\t"}),
        ("spaces.csv", " a   b\n 1   2\n 3 4.5 \n", {"delimiter": " "}),
        ("spaces_quoted.csv", '"a" \t "b"\n"1" 2\n3\t4.5\n', {"delimiter": " "}),
        ("pandas.csv", ",a,b\n0,1,2\n1,3,4.5\n", {}),
        ("pandas_twice.csv", "Unnamed: 0,a,b\n0,1,2\n1,3,4.5\n", {}),
        ("r.csv", '"","a","b"\n"1",1,2\n"2",3,4.5\n', {}),
        ("comments.csv", "# written by me, \"today\n#\na,b\n1,2\n# half\n3,4.5\n", {}),
        ("zipped.csv.gz", gzip.compress(b"a,b\n1,2\n3,4.5\n"), {}),
        ("zipped.tsv.gz", gzip.compress(b"a\tb\n1\t2\n3\t4.5\n"), {}),
        ("other.csv", "word,a,b\nlow,1,2\nhigh,3,4.5\n", {"var_names": ["a", "b"]}),
        ("newline.csv", '"no\nte",a,b\nlow,1,2\nhigh,3,4.5\n', {"var_names": ["a", "b"]}),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)  # fmt: skip
def test_text_that_can_be_read(name, content, choices):
    given = cd.as_draws(write(name, content), **choices)
    assert given.names == ("a", "b")
    np.testing.assert_array_equal(given.values, [[[1, 2], [3, 4.5]]])
    assert len(given.notes) == (name in ("pandas.csv", "pandas_twice.csv", "r.csv"))  # row numbers left out


@pytest.mark.parametrize("content", ["1,2\n3,4\n", "# x, y\n1,2\n3,4\n", "1.0e0,+2\n3.,4\n"])
def test_numbers_at_the_top_are_no_header(content):
    given = cd.as_draws(write("bare.csv", content))
    assert given.names == ("x0", "x1")
    assert not given.named
    np.testing.assert_array_equal(given.values, [[[1, 2], [3, 4]]])
    assert len(given.notes) == 1


@pytest.mark.parametrize("header", ["1_000,2", "1e,2", "\u0661,2"])
def test_what_only_looks_like_a_number_is_a_name(header):
    assert cd.as_draws(write("odd.csv", f"{header}\n1,2\n3,4\n")).names == tuple(header.split(","))


TEXT_FAULTS = [
        ("", "too-few-draws", {}),
        ("\n \n", "too-few-draws", {}),
        ("# nothing\n", "too-few-draws", {}),
        ("a,b\n", "too-few-draws", {}),
        ("a;b\n1\n3\n", "file-format", {}),
        ("a\tb\n1,2\n", "file-format", {}),
        ("a|b\n1|2\n", "file-format", {}),
        ("a b\n1 2\n", "file-format", {}),
        ("1.5 2\n1 2\n", "file-format", {}),
        ("a,b\n1,2\n", "file-format", {"delimiter": ";"}),
        ("a,b\n1,2\n3,4,5\n", "file-format", {}),
        ("a,b\n1,2,3\n3,4,5\n", "file-format", {}),
        ("a,b\n1,2\n3\n4,5\n", "file-format", {}),
        ("# c\n# c\na,b\n1,2\n# c\n3\n4,5\n", "file-format", {}),
        ("a,b\n1,2\n3", "file-format", {}),
        ("1,2\n3,4,5\n", "file-format", {}),
        ("a,b,a\n1,2,3\n4,5,6\n", "argument", {}),
        ("a,b,\n1,2,\n4,5,6\n", "file-format", {}),
        ("a,b\n1,2\r3,4\n5,6\n", "file-format", {}),
        ('"a,b\n1,2\n3,4\n', "too-few-draws", {}),
        (",\n1,2\n3,4\n", "file-format", {}),
        (",a\n7,2\n9,5\n", "file-format", {}),
        ("a,b\n1,\n3,4\n", "nan", {}),
        ("a,b\n1,NA\n3,4\n", "nan", {}),
        ("a,b\n1,inf\n3,4\n", "infinite", {}),
        ("a,b\n1,1e999\n3,4\n", "infinite", {}),  # text to pandas 2
        ("a,b\n1,1_000\n3,4\n", "not-numeric", {}),
        ('a,b\n1,"1,00,0"\n3,4\n', "not-numeric", {}),
        ("a,b\n1,2020-01-01\n3,2020-01-02\n", "not-numeric", {"var_names": "b"}),
        ("a,b\n1,2 # why\n3,4\n", "not-numeric", {}),
        ("# c\na,b\n1,2 # why\n3,4\n", "not-numeric", {}),
        ("a,b\n1,2\n# late\n3,4\n", "file-format", {}),
        ("a,b\nc,d\n1,2\n", "not-numeric", {}),
        (b"a,\x81\n1,2\n3,4\n", "file-format", {}),
        (b"a,b\n1,2\n3,\x02\xff\n", "file-format", {}),
        (b"a,b\n1,2\n3,\xff\n", "not-numeric", {}),
        ("a,b\n1,2\n3,4\n".encode("utf-16")[:-1], "file-format", {}),
        (b"a,b\n1,2\n\0\0,4\n", "file-format", {}),
        ('a,b\n1,2\n"3,4\n5,6\n', "file-format", {}),
        ("a,b\n1,2\n", "too-few-draws", {}),
        ("chain,a\n1,2\n1,3\n2,4\n", "shape", {}),
        ("chain,a\n1,2\n,3\n", "nan", {}),
        ("a,b\n1,2\n3,4\n", "unknown-name", {"var_names": "c"}),
        ("a,b\n1,2\n3,4\n", "argument", {"group": "prior"}),
        ("a,b\n1,2\n3,4\n", "argument", {"coords": {"a": 1}}),
        ("a" * 200_000 + ",b\n1,2\n", "file-format", {}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "code", "choices"),
    TEXT_FAULTS,
    ids=lambda value: repr(value)[:40] if isinstance(value, str) else "",
)  # fmt: skip
def test_text_that_cannot_be_read(content, code, choices):
    refused(code, write("bad.csv", content), **choices)


def test_a_chain_column_in_a_file():
    long = pd.concat(
        [pd.DataFrame(chain, columns=["a", "b"]).assign(chain=k, draw=range(40)) for k, chain in enumerate(CHAINS)]
    )
    long.sample(frac=1, random_state=1).to_csv("long.csv", index=False)
    given = cd.as_draws("long.csv")
    np.testing.assert_array_equal(given.values, CHAINS)
    np.testing.assert_array_equal(cd.as_draws(long.rename(columns={"chain": "run"}), chains="run").values, CHAINS)
    long.rename(columns={"chain": "run"}).to_csv("runs.csv", index=False)
    np.testing.assert_array_equal(cd.as_draws("runs.csv", chains="run").values, CHAINS)
    FRAME.to_csv("flat.csv", index=False)
    np.testing.assert_array_equal(cd.as_draws("flat.csv", chains=4).values, CHAINS[0].reshape(4, 10, 2))


@pytest.mark.parametrize("name", ["b c", "β", "日本語", "<b>", "theta[1]", "a.b", "'", "nan x"])
def test_names_are_kept_as_they_are(name):
    pd.DataFrame({"a": [1, 2], name: [3, 4]}).to_csv("names.csv", index=False)
    assert cd.as_draws("names.csv").names == ("a", name)


def test_integers_too_large_for_a_float_keep_their_order():
    write("large.csv", "a,b\n" + "".join(f"{2**60 + k},{k}\n" for k in range(9)))
    given = cd.as_draws("large.csv")
    assert given.ranked
    np.testing.assert_array_equal(given.values[0, :, 0], np.arange(9))


def test_a_damaged_archive():
    whole = gzip.compress(("a,b\n" + "1.25,2.5\n" * 5000).encode())
    refused("file-format", write("cut.csv.gz", whole[:-20]))
    refused("file-format", write("plain.csv.gz", "a,b\n1,2\n"))
    refused("file-format", write("flipped.csv.gz", whole[:30] + b"\xff\xff\xff" + whole[33:]))


def test_reading_is_fast():
    """A hundred thousand draws of two variables in well under a second (about 0.1 s on one core)."""
    pd.DataFrame(RNG.normal(size=(100_000, 2)), columns=["a", "b"]).to_csv("big.csv", index=False)
    begin = time.perf_counter()
    assert cd.as_draws("big.csv").n_draws == 100_000
    assert time.perf_counter() - begin < 1.5


# Stan


def stan_text(draws, *, warmup=0, settings="", end="#\n#  Elapsed Time: 0.01 seconds (Total)\n#\n", old=False):
    """What CmdStan 2.3x writes: settings, header, saved warm-up, adaptation, draws, timing."""
    out = io.StringIO()
    saved = ("1" if old else "true") if warmup else ("0 (Default)" if old else "false (Default)")
    out.write(
        "# stan_version_major = 2\n# stan_version_minor = 36\n# model = m_model\n# method = sample (Default)\n#   sample\n"
    )
    out.write(f"#     num_samples = {len(draws)}\n#     num_warmup = {warmup or 1000}\n#     save_warmup = {saved}\n")
    out.write(f"#     thin = 1 (Default)\n{settings}")
    out.write(
        "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,theta.1,theta.2,S.1.2,p:1,z.real\n"
    )
    row = "-7.1,0.9,0.8,2,3,0,8.2,"
    out.writelines(row + ",".join(["9e9"] * 6) + "\n" for _ in range(warmup))
    out.write("# Adaptation terminated\n# Step size = 0.8\n# Diagonal elements of inverse mass matrix:\n# 1.1, 0.9\n")
    out.writelines(row + ",".join(map(repr, map(float, values))) + "\n" for values in draws)
    return out.getvalue() + end


STAN_NAMES = ("mu", "theta[1]", "theta[2]", "S[1, 2]", "p:1", "z.real")
STAN_DRAWS = RNG.normal(size=(2, 30, 6))


def test_stan_files():
    paths = [write(f"out_{k}.csv", stan_text(draws)) for k, draws in enumerate(STAN_DRAWS, 1)]
    given = cd.as_draws(paths[0])
    assert given.names == STAN_NAMES
    assert given.chained
    assert len(given.notes) == 1
    assert {"lp__", "accept_stat__"} <= set(re.findall(r"\w+__", given.notes[0]))
    np.testing.assert_array_equal(given.values[0], STAN_DRAWS[0])
    both = cd.as_draws("out_*.csv", var_names=["theta", "mu"])
    assert both.names == ("theta[1]", "theta[2]", "mu")
    assert both.notes == given.notes  # once, and not for each file
    np.testing.assert_array_equal(both.values, STAN_DRAWS[:, :, [1, 2, 0]])
    assert cd.as_draws(paths[0], var_names=["lp__", "mu"]).names == ("lp__", "mu")
    refused("shape", paths[0], chains=2)
    refused("argument", paths[0], chains="mu")


@pytest.mark.parametrize("old", [False, True])
def test_saved_warm_up_is_left_out(old):
    given = cd.as_draws(write("out.csv", stan_text(STAN_DRAWS[0], warmup=20, old=old)))
    np.testing.assert_array_equal(given.values[0], STAN_DRAWS[0])
    assert given.notes[1].startswith("20 ")


def test_thinned_warm_up_is_counted_as_stan_does():
    text = (
        stan_text(STAN_DRAWS[0], warmup=7)
        .replace("num_warmup = 7", "num_warmup = 20")
        .replace("thin = 1 (Default)", "thin = 3")
    )
    given = cd.as_draws(write("out.csv", text.replace("num_samples = 30", "num_samples = 90")))
    np.testing.assert_array_equal(given.values[0], STAN_DRAWS[0])
    assert [note.split()[0] for note in given.notes[1:]] == ["7"]


def test_other_methods_of_stan():
    text = stan_text(STAN_DRAWS[0]).replace("method = sample (Default)", "method = variational")
    given = cd.as_draws(write("advi.csv", text))
    np.testing.assert_array_equal(given.values[0], STAN_DRAWS[0][1:])
    assert len(given.notes) == 2
    generated = "# stan_version_major = 2\n# method = generate_quantities\ny.1,y.2\n1,2\n3,4\n"
    assert cd.as_draws(write("gq.csv", generated)).names == ("y[1]", "y[2]")


def test_a_variable_of_a_stan_model_may_be_called_chain():
    given = cd.as_draws(write("out.csv", stan_text(STAN_DRAWS[0]).replace(",mu,", ",chain,")))
    assert given.names[0] == "chain"
    np.testing.assert_array_equal(given.values[0], STAN_DRAWS[0])


STAN_FAULTS = [
        (stan_text(STAN_DRAWS[0], end="")[:-60], "file-format"),
        (stan_text(STAN_DRAWS[0], end="")[:-3], "file-format"),
        (stan_text(STAN_DRAWS[0], end="-7.1,0.9\n"), "file-format"),
        (stan_text([]), "too-few-draws"),
        (stan_text([], warmup=20), "too-few-draws"),
        (stan_text(STAN_DRAWS[0]).replace("theta.2", "theta.1"), "argument"),
        (stan_text(STAN_DRAWS[0]).replace("p:1", "theta[1]"), "argument"),
        ("# c\nlp__,b__\n1,2\n3,4\n", "shape"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "code"),
    STAN_FAULTS,
)
def test_stan_files_that_cannot_be_used(text, code):
    refused(code, write("out.csv", text))


def test_an_unfinished_run_of_stan_is_noted():
    text = stan_text(STAN_DRAWS[0]).replace("num_samples = 30", "num_samples = 1000")
    assert "30 of 1000" in cd.as_draws(write("out.csv", text)).notes[1]


def test_columns_with_underscores_are_variables_elsewhere():
    assert cd.as_draws(write("plain.csv", "lp__,a.1\n1,2\n3,4\n")).names == ("lp__", "a.1")


# NumPy


def test_numpy_files():
    np.save("flat.npy", CHAINS[0])
    np.save("chains.npy", CHAINS)
    np.savez("one.npz", anything=CHAINS)
    np.savez_compressed("many.npz", **POSTERIOR)
    assert not cd.as_draws("flat.npy").chained
    np.testing.assert_array_equal(cd.as_draws("flat.npy").values[0], CHAINS[0])
    np.testing.assert_array_equal(cd.as_draws("flat.npy", chains=4).values, CHAINS[0].reshape(4, 10, 2))
    for name in ("chains.npy", "one.npz"):
        np.testing.assert_array_equal(cd.as_draws(name).values, CHAINS)
    np.testing.assert_array_equal(cd.as_draws("chains.npy", var_names="x1").values, CHAINS[:, :, 1:])
    assert cd.as_draws("many.npz").names == ("mu", "theta[0]", "theta[1]")
    np.save("again.npy", CHAINS[1])
    assert cd.as_draws(["flat.npy", "again.npy"]).n_chains == 2
    os.remove("chains.npy")


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


def test_nothing_is_ever_unpickled():
    np.save("objects.npy", np.array([Bomb(), 1], dtype=object), allow_pickle=True)
    np.savez("objects.npz", a=np.array([Bomb()], dtype=object), b=np.ones(3), allow_pickle=True)
    Path("pickle.npy").write_bytes(pickle.dumps(Bomb()))
    Path("pickle.npz").write_bytes(pickle.dumps(Bomb()))
    for name in ("objects.npy", "objects.npz", "pickle.npy", "pickle.npz"):
        assert refused("file-format", name).startswith(f"{name}: ")
    assert not os.path.exists("exploded")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.npy", b""),
        ("empty.npz", b""),
        ("text.npy", b"a,b\n1,2\n"),
        ("cut.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }"),
        ("header.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': ((((  "),
        ("zip.npz", b"PK\x03\x04 not a zip"),
    ],
)
def test_damaged_numpy_files(name, content):
    assert refused("file-format", write(name, content)).startswith(f"{name}: ")


def test_odd_archives():
    with zipfile.ZipFile("none.npz", "w"):
        pass
    with zipfile.ZipFile("text.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    np.save("zero.npy", np.empty((0, 2)))
    np.save("fields.npy", np.array([(1.0, 4), (2.0, 5)], dtype=[("a", float), ("b", int)]))
    np.save("vector.npy", np.zeros(3))
    np.savez("mixed.npz", a=np.zeros(3), b=np.zeros((2, 3)))
    refused("file-format", "none.npz")
    refused("not-numeric", "text.npz")
    refused("too-few-draws", "zero.npy")
    fields = cd.as_draws("fields.npy", var_names=["b", "a"])
    assert (fields.names, fields.named) == (("b", "a"), True)
    np.testing.assert_array_equal(fields.values, [[[4, 1], [5, 2]]])
    refused("shape", "vector.npy")
    refused("shape", "mixed.npz")
    refused("argument", "vector.npy", delimiter=";")


# parquet


def test_parquet_files(monkeypatch):
    FRAME.to_parquet("plain.parquet")
    np.testing.assert_array_equal(cd.as_draws("plain.parquet").values[0], CHAINS[0])
    frame = xr.Dataset({name: (("chain", "draw"), CHAINS[:, :, k]) for k, name in enumerate("ab")}).to_dataframe()
    frame.to_parquet("chains.parquet")
    np.testing.assert_array_equal(cd.as_draws("chains.parquet").values, CHAINS)
    frame.reset_index().to_parquet("columns.parquet")
    np.testing.assert_array_equal(cd.as_draws("columns.parquet").values, CHAINS)
    assert cd.as_draws("columns.parquet", var_names="b").names == ("b",)
    refused("file-format", write("damaged.parquet", b"PAR1 no more"))
    refused("argument", "plain.parquet", delimiter=";")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused("dependency", "plain.parquet")


# netCDF


def tree():
    return az.from_dict(
        {"posterior": POSTERIOR, "prior": {"mu": np.arange(20.0).reshape(1, 20)}},
        coords={"school": ["Choate", "Eton"]},
        dims={"theta": ["school"]},
    )


def test_netcdf_files():
    tree().to_netcdf("tree.nc", engine="h5netcdf")
    given = cd.as_draws("tree.nc")
    assert given.names == ("mu", "theta[Choate]", "theta[Eton]")
    np.testing.assert_array_equal(given.values, cd.as_draws(tree()).values)
    assert cd.as_draws("tree.nc", group="prior").values.shape == (1, 20, 1)
    assert cd.as_draws("tree.nc", var_names="theta", coords={"school": ["Eton"]}).names == ("theta[Eton]",)
    refused("unknown-name", "tree.nc", group="sample_stats")
    dataset = tree()["posterior"].to_dataset()
    for engine in ("h5netcdf", "scipy"):  # the second writes netCDF 3
        name = f"{engine}.nc"
        dataset.drop_attrs().to_netcdf(name, engine=engine)  # newer releases of ArviZ keep lists, of which netCDF 3 has none
        np.testing.assert_array_equal(cd.as_draws(name).select(given.names).values, given.values)
        refused("unknown-name", name, group="prior")
        os.remove(name)
    os.rename("tree.nc", "closed.nc")  # nothing holds it open
    xr.DataTree.from_dict({"prior": tree()["prior"].to_dataset()}).to_netcdf("prior.nc", engine="h5netcdf")
    refused("unknown-name", "prior.nc")
    refused("argument", "closed.nc", delimiter=";")
    refused("argument", "closed.nc", chains="mu")


def test_only_selected_variables_are_loaded(monkeypatch):
    from xarray.backends.h5netcdf_ import H5NetCDFArrayWrapper

    tree().to_netcdf("tree.nc", engine="h5netcdf")
    read, original = [], H5NetCDFArrayWrapper._getitem

    def spied(self, key):
        read.append(self.variable_name)
        return original(self, key)

    monkeypatch.setattr(H5NetCDFArrayWrapper, "_getitem", spied)
    cd.as_draws("tree.nc", var_names="mu")
    assert "mu" in read
    assert "theta" not in read


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"CDF\x01 cut", b"\x89HDF\r\n\x1a\n cut"])
def test_files_that_are_no_netcdf(content):
    refused("file-format", write("bad.nc", content))


def test_lengths_that_no_memory_holds():
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,)}".ljust(117) + b"\n"
    with zipfile.ZipFile("bomb.npz", "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    refused("file-format", "bomb.npz")


def test_an_archive_is_not_an_array():
    np.savez("arrays.npz", a=np.arange(4.0))
    refused("file-format", shutil.copy("arrays.npz", "arrays.npy"))


def test_headers_of_python_2_are_read_without_a_word():
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 2L)}".ljust(117) + b"\n"
    write("old.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + np.arange(6.0).tobytes())
    assert cd.as_draws("old.npy").values.shape == (1, 3, 2)


def test_a_damaged_parquet_file_is_told_in_one_line():
    pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]}).to_parquet("a.parquet")
    raw = Path("a.parquet").read_bytes()
    end = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")  # where the description of the columns begins
    write("a.parquet", raw[:end] + b"\x0f" * 40 + raw[end + 40 :])
    refused("file", "a.parquet")
