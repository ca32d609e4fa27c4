"""Several files: chains, or the parts of one table; folders; and only the columns that are asked for."""

import gzip
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from tests.data.refusals import refused
from tests.data.test_files import STAN_DRAWS, stan_text
from tests.numerals import numerals

RNG = np.random.default_rng(1)
TABLE = pd.DataFrame(RNG.normal(size=(90, 3)), columns=["a", "b", "c"])
CUTS = {1: slice(0, 40), 2: slice(40, 70), 10: slice(70, 90)}  # unequal, and in natural order of their names


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(ending, *, folder="parts", cuts=CUTS, table=TABLE):
    """The table in parts, in a folder."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for k, rows in cuts.items():
        path = f"{folder}/part-{k}{ending}"
        part = table[rows].reset_index(drop=True)
        if ending == ".parquet":
            part.to_parquet(path)
        else:
            part.to_csv(path, index=False, sep="\t" if ending.startswith(".tsv") else ",")
        paths.append(path)
    return paths


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".txt", ".parquet"])
def test_a_folder_of_tables_is_one_table(ending):
    written(ending)
    for name in (".hidden.csv", "_SUCCESS", "_metadata", ".part-1.parquet.crc"):
        Path("parts", name).write_text("x")
    for folder in ("parts", "parts/", Path("parts")):
        given = cd.as_draws(folder)
        assert not given.chained
        assert [note.split()[:2] for note in given.notes] == [["3", "parts"]]
        np.testing.assert_array_equal(given.values[0], TABLE)
    even = written(ending, folder="even", cuts={k: slice(30 * k, 30 * k + 30) for k in range(3)})
    np.testing.assert_array_equal(cd.as_draws("even").values[0], TABLE)
    np.testing.assert_array_equal(cd.as_draws("even", parts="chains").values, TABLE.to_numpy().reshape(3, 30, 3))
    assert cd.as_draws(even).n_chains == 3
    np.testing.assert_array_equal(cd.as_draws(even, parts="rows").values[0], TABLE)


def test_a_folder_of_a_samplers_files_is_chains():
    os.mkdir("stan")
    for k, draws in enumerate(STAN_DRAWS):
        Path("stan", f"out_{k}.csv").write_text(stan_text(draws))
    for choices in ({}, {"parts": "rows"}):
        np.testing.assert_array_equal(cd.as_draws("stan", **choices).values, STAN_DRAWS)
    os.mkdir("arrays")
    for k, draws in enumerate(STAN_DRAWS):
        np.save(f"arrays/{k}.npy", draws)
    np.testing.assert_array_equal(cd.as_draws("arrays").values, STAN_DRAWS)
    np.testing.assert_array_equal(cd.as_draws("arrays", parts="rows").values[0], STAN_DRAWS.reshape(-1, 6))
    Path("stan", "other.csv").write_text("mu,tau\n1,2\n3,5\n")
    refused("file", "stan")


def test_a_folder_with_one_file_is_the_file():
    written(".csv", cuts={1: slice(0, 90)})
    assert cd.as_draws("parts").notes == ()
    np.testing.assert_array_equal(cd.as_draws("parts").values[0], TABLE)


def test_folders_that_cannot_be_used():
    written(".csv")
    TABLE.to_parquet("parts/z.parquet")
    refused("file", "parts")
    os.remove("parts/z.parquet")
    Path("parts/notes.md").write_text("x")
    refused("file", "parts")
    os.remove("parts/notes.md")
    os.mkdir("parts/year=2020")
    refused("file", "parts")
    os.mkdir("empty")
    Path("empty/.keep").write_text("")
    refused("file", "empty")
    refused("file", ["empty", "parts/part-1.csv"])
    refused("file", "parts/*")
    written(".parquet", folder="delta")
    os.mkdir("delta/_delta_log")
    refused("file", "delta")
    Path("alien").mkdir()
    Path("alien/a.doc").write_text("x")
    refused("file-format", "alien")


def test_parquet_of_unequal_length_is_parts_and_csv_has_to_be_told():
    paths = written(".parquet")
    for source in (paths, "parts/*.parquet"):
        given = cd.as_draws(source)
        assert not given.chained
        assert [note.split()[:2] for note in given.notes] == [["3", "parts"]]
        np.testing.assert_array_equal(given.values[0], TABLE)
    assert "parts='rows'" in refused("shape", paths, parts="chains")
    texts = written(".csv")
    assert "parts='rows'" in refused("shape", texts)
    np.testing.assert_array_equal(cd.as_draws(texts, parts="rows").values[0], TABLE)
    np.save("one.npy", TABLE[:50])
    np.save("two.npy", TABLE[50:])
    np.testing.assert_array_equal(cd.as_draws(["one.npy", "two.npy"], parts="rows").values[0], TABLE)
    refused("argument", texts, parts="row")


def test_stan_files_of_unequal_length_are_no_parts():
    Path("1.csv").write_text(stan_text(STAN_DRAWS[0]))
    Path("2.csv").write_text(stan_text(STAN_DRAWS[1][:20]))
    for choices in ({}, {"parts": "rows"}):
        assert "parts" not in refused("shape", ["1.csv", "2.csv"], **choices)  # a sampler's chains are not parts


def test_parts_are_matched_by_name_and_judged_together():
    written(".csv")
    TABLE[70:][["c", "a", "b"]].to_csv("parts/part-10.csv", index=False)
    np.testing.assert_array_equal(cd.as_draws("parts").values[0], TABLE)
    TABLE[70:].assign(d=1.0).to_csv("parts/part-10.csv", index=False)
    refused("names-differ", "parts")
    np.testing.assert_array_equal(cd.as_draws("parts", var_names=["b", "a"]).values[0], TABLE[["b", "a"]])
    # whole numbers that differ in each part, but not in the whole, are no identifier; nor is a code that is short of rows
    code = TABLE.assign(id=np.arange(90) % 45, key=np.arange(90))
    for ending in (".csv", ".parquet"):
        written(ending, folder=f"codes{ending[1:]}", table=code)
        given = cd.as_draws(f"codes{ending[1:]}")
        assert given.names == ("a", "b", "c", "id")
        assert given.left_out == (("key", "identifier"),)
    # a chain column over parts makes chains
    written(".parquet", folder="chains", table=TABLE.assign(chain=np.arange(90) % 3))
    given = cd.as_draws("chains")
    assert given.values.shape == (3, 30, 3)
    np.testing.assert_array_equal(given.values[1], TABLE[1::3])
    # text in one part is told with its place in the whole
    written(".csv", folder="words", table=TABLE.assign(b=TABLE["b"].astype(object).where(TABLE.index != 75, "low")))
    refused("not-numeric", "words")


def test_parts_with_an_index_of_dates_are_put_in_its_order():
    dated = TABLE.set_axis(pd.date_range("2020-01-01", periods=90)[::-1], axis=0)
    os.mkdir("dated")
    for k in range(3):
        dated[30 * k : 30 * k + 30].to_parquet(f"dated/{k}.parquet")
    given = cd.as_draws("dated")
    np.testing.assert_array_equal(given.values[0], TABLE[::-1])
    assert len(given.notes) == 2  # parts, and the order


# only the columns that are asked for


def test_parquet_reads_only_the_selected_columns():
    table = TABLE.assign(chain=np.repeat([1, 0], 45))
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), "t.parquet", compression="none", use_dictionary=False)
    column = pq.ParquetFile("t.parquet").metadata.row_group(0).column(1)
    assert column.path_in_schema == "b"
    raw = bytearray(Path("t.parquet").read_bytes())
    raw[column.data_page_offset : column.data_page_offset + 20] = b"\xff" * 20  # whoever reads b fails
    Path("t.parquet").write_bytes(bytes(raw))
    refused("file", "t.parquet")
    for choices in (
        {"var_names": ["c", "a"]},
        {"exclude": "b"},
        {"var_names": "~b"},
        {"var_names": "[ac]", "filter_vars": "regex"},
    ):
        given = cd.as_draws("t.parquet", **choices)
        assert given.n_chains == 2
        np.testing.assert_array_equal(given.values[0], TABLE[45:][list(given.names)])
    refused("unknown-name", "t.parquet", var_names="d")


def test_nested_and_repeated_columns_of_parquet():
    table = pa.table({"a": [1.0, 2.0], "deep": [[1], [2]], "a.b": [3.0, 4.0]})
    pq.write_table(table, "t.parquet")
    refused("shape", "t.parquet")
    assert cd.as_draws("t.parquet", var_names="a").names == ("a",)
    assert cd.as_draws("t.parquet", exclude="deep").values[0].tolist() == [[1.0, 3.0], [2.0, 4.0]]
    pq.write_table(pa.Table.from_arrays([table["a"], table["a"]], names=["a", "a"]), "twice.parquet")
    refused("argument", "twice.parquet")


def test_text_is_parsed_for_the_selected_columns_only():
    n, d = 20_000, 40
    wide = pd.DataFrame(RNG.normal(size=(n, d)).round(3), columns=[f"v{k}" for k in range(d)])
    wide.assign(word="x").to_csv("wide.csv", index=False)
    cd.as_draws("wide.csv", var_names="v3")  # whatever is imported on the way
    tracemalloc.start()
    given = cd.as_draws("wide.csv", var_names=["v30", "v3"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(given.values[0], wide[["v30", "v3"]])
    # the text itself, some copies of a line, and two columns; all columns would take 6.4 MB beside
    assert peak < os.path.getsize("wide.csv") + 3e6
    assert cd.as_draws("wide.csv", exclude=["word", *(f"v{k}" for k in range(38))]).names == ("v38", "v39")


SELECTION_FAULTS = [
        ("a,b,c\n1,2,3\n4,5,6,7\n8,9,1\n", "file-format"),
        ("a,b,c\n1,2,3\n4,5\n8,9,1\n", "file-format"),
        ("who,a,b\nx,1,2\ny,3,4\nTotal,4,6\n", "file-format"),
        ("a,b,c\n1,2,3\n,,6\n", "nan"),
        ("a,b,\n1,2,\n4,5,6\n", "file-format"),
        ("a,b,a\n1,2,3\n4,5,6\n", "argument"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "code"),
    SELECTION_FAULTS,
)
def test_a_selection_hides_no_fault_of_the_text(content, code):
    Path("bad.csv").write_text(content)
    refused(code, "bad.csv", var_names=["a", "b"])


@pytest.mark.parametrize(
    "content",
    [
        "c,a,b\n9,1,2\n8,3,4\n,,\n",
        ",a,b,c\n0,1,2,9\n1,3,4,8\n",
        "Unnamed: 0,a,b,c\n0,1,2,9\n1,3,4,8\n",
        '"c",a,b\n"9,9",1,2\n8,3,4\n',
        "c;a;b\n9,5;1;2\n8,5;3;4\n",
        "a,b,c,\n1,2,5,\n3,4,6,\n",
        "chain,a,b,c\n1,1,2,7\n1,3,4,6\n",
    ],
)
def test_a_selection_reads_what_all_would(content):
    Path("t.csv").write_text(content)
    for choices in ({"var_names": ["a", "b"]}, {"exclude": "c"}, {"var_names": "~c"}):
        given = cd.as_draws("t.csv", **choices)
        assert given.names == ("a", "b")
        np.testing.assert_array_equal(given.values, [[[1, 2], [3, 4]]])


def test_a_named_identifier_in_a_file_is_read():
    n = 120
    days = pd.date_range("2020-01-01", periods=90)
    TABLE.assign(id=np.arange(90) * 3, when=days.strftime("%Y-%m-%d")).to_csv("t.csv", index=False)
    TABLE.assign(id=np.arange(90) * 3, when=days).to_parquet("t.parquet")
    for path in ("t.csv", "t.parquet"):
        assert cd.as_draws(path).left_out == (("id", "identifier"), ("when", "dates"))
        assert cd.as_draws(path, var_names=["id", "a"]).names == ("id", "a")
        assert cd.as_draws(path, exclude="id").left_out == (("when", "dates"),)
        refused("not-numeric", path, var_names=["a", "when"])
    Path("count.csv").write_text("n,a\n" + "".join(f"{k},{k * k % 7}\n" for k in range(n)))
    assert cd.as_draws("count.csv").names == ("a",)


def test_a_damaged_part_is_named():
    written(".parquet")
    Path("parts/part-2.parquet").write_bytes(b"PAR1 no more")
    refused("file-format", "parts")
    written(".csv.gz", folder="zipped")
    Path("zipped/part-2.csv.gz").write_bytes(gzip.compress(b"a,b,c\n1,2,3\n4,5\n"))
    refused("file-format", "zipped")


# the command line


def run(*arguments, capsys):
    import json

    code = main([*arguments, "--json"])
    told = capsys.readouterr()
    return (json.loads(told.out) if code in (0, 4) else told.err), code


def test_parts_and_folders_on_the_command_line(capsys):
    paths = written(".csv")
    told, code = run("check", *paths, capsys=capsys)
    assert code == 1
    assert "--iid" in told
    for source in (paths, ["parts"]):
        told, _ = run("check", *source, "--iid", capsys=capsys)
        assert told["draws"] == {"n_chains": 1, "n_draws": 90}
    even = written(".csv", folder="even", cuts={k: slice(30 * k, 30 * k + 30) for k in range(3)})
    assert run("check", *even, capsys=capsys)[0]["draws"] == {"n_chains": 3, "n_draws": 30}


def test_exclude_on_the_command_line(capsys):
    TABLE.assign(d=TABLE["a"] ** 2).to_csv("t.csv", index=False)
    assert run("check", "t.csv", "--iid", "--exclude", "b", capsys=capsys)[0]["names"] == ["a", "c", "d"]
    told = run("compare", "t.csv", "t.csv", "--iid", "--columns", "d,b,a", "--exclude", "a", capsys=capsys)[0]
    assert told["names"] == ["d", "b"]
    told = run("check", "t.csv", "--iid", "--filter", "regex", "--exclude", "^[bd]$", capsys=capsys)[0]
    assert told["names"] == ["a", "c"]
    told, code = run("check", "t.csv", "--iid", "--exclude", "z", capsys=capsys)
    assert code == 1
    assert "'z'" in told
    assert told.endswith("a, b, c, d\n")  # the names there are
    with pytest.raises(SystemExit) as ended:
        main(["check", "t.csv", "--filter", "regex", "--exclude", "("])
    assert ended.value.code == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert "--exclude" in told
    assert "'('" in told


def test_a_chain_column_of_one_side(capsys):
    paths = pd.concat([TABLE, TABLE + 1.0], ignore_index=True).assign(path=np.repeat(np.arange(4), 45))
    paths.to_csv("paths.csv", index=False)
    TABLE[::-1].to_csv("sample.csv", index=False)
    paths.rename(columns={"path": "run"}).to_csv("runs.csv", index=False)
    for files, counts in (
        (("paths.csv", "sample.csv"), (4, 1)),
        (("sample.csv", "paths.csv"), (1, 4)),
        (("paths.csv", "paths.csv"), (4, 4)),
    ):
        told = run("compare", *files, "--chains", "path", capsys=capsys)[0]
        assert (told["draws"]["n_chains"], told["reference"]["n_chains"]) == counts
        assert all("path" in note for note in told["notes"])  # how many chains it identifies, or that it is missing
        assert [numerals(note) for note in told["notes"]] == [[str(count)] if count > 1 else [] for count in counts]
    told = run("compare", "paths.csv", "runs.csv", "--chains", "path", "--reference-chains", "run", capsys=capsys)[0]
    assert (told["draws"]["n_chains"], told["reference"]["n_chains"]) == (4, 4)
    told = run("compare", "sample.csv", "sample.csv", "--reference-chains", "2", capsys=capsys)[0]
    assert (told["draws"]["n_chains"], told["reference"]["n_chains"]) == (1, 2)
    told, code = run("compare", "sample.csv", "sample.csv", "--chains", "path", capsys=capsys)
    assert code == 1
    assert "'path'" in told
    assert told.endswith("a, b, c\n")
