"""Columns of every kind: what they are read as, how two samples of them are matched, and what is refused."""

import datetime
import zlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import copula_discrepancy as cd
from copula_discrepancy.data.draws import numeric_draws, ordered_only
from copula_discrepancy.data.kinds import ChosenKinds, is_ordered
from copula_discrepancy.data.matching import matched
from copula_discrepancy.data.missingness import with_missingness
from tests.data.refusals import refusal

N = 60
RNG = np.random.default_rng(3)
NUMBER = RNG.normal(size=N)
DATES = pd.to_datetime(["2020-03-01", "1999-12-31", "2020-03-01T06:00"] * (N // 3), format="ISO8601")
DAYS = [18322.0, 10956.0, 18322.25]


def table(**columns):
    return pd.DataFrame({"number": NUMBER, **columns})


def read(given, name="x", **choices):
    """Kind, labels and the first three values of one column."""
    draws = cd.as_draws(given, missing="pairs", **choices)
    k = draws.names.index(name)
    return draws.kind(k), draws.labels(k), draws.values[0, :3, k].tolist()


def cycle(*values):
    return list(values) * (N // len(values))


COLUMNS = {
    "text": (cycle("b", "a", "c"), ("nominal", ("a", "b", "c"), [1, 0, 2])),
    "string": (pd.array(cycle("b", None, "c"), dtype="string"), ("nominal", ("b", "c"), [0, np.nan, 1])),
    "category": (pd.Categorical(cycle("b", "a", "c"), ["c", "b", "a", "unused"]), ("nominal", ("a", "b", "c"), [1, 0, 2])),
    "ordered": (pd.Categorical(cycle("S", "L", "M"), ["S", "M", "L"], ordered=True), ("ordinal", ("S", "M", "L"), [0, 2, 1])),
    "numbered": (pd.Categorical(cycle(10, 9, 10)), ("nominal", ("9", "10"), [1, 0, 1])),
    "bool": (cycle(True, False, True), ("boolean", ("False", "True"), [1, 0, 1])),
    "nullable": (pd.array(cycle(True, None, False), dtype="boolean"), ("boolean", ("False", "True"), [1, np.nan, 0])),
    "objects": (np.array(cycle(True, None, False), dtype=object), ("boolean", ("False", "True"), [1, np.nan, 0])),
    "words": (cycle("yes", "no", "yes"), ("boolean", ("no", "yes"), [1, 0, 1])),
    "integers": (pd.array(cycle(3, None, 5), dtype="Int64"), ("numeric", (), [3, np.nan, 5])),
    "datetime": (DATES, ("date", (), DAYS)),
    "zoned": (DATES.tz_localize("UTC").tz_convert("Asia/Tokyo"), ("date", (), DAYS)),
    "not a time": (DATES.where(np.arange(N) != 1), ("date", (), [DAYS[0], np.nan, DAYS[2]])),
    "iso text": (DATES.strftime("%Y-%m-%dT%H:%M:%S"), ("date", (), DAYS)),
    "timedelta": (pd.to_timedelta(cycle(36, 12, 24), "h"), ("duration", (), [1.5, 0.5, 1])),
    "dates": (DATES.date, ("date", (), [18322, 10956, 18322])),
    "far": (cycle(datetime.date(9999, 12, 31), datetime.date(1, 1, 1), None), ("date", (), [2932896, -719162, np.nan])),
    "clock": (cycle(datetime.time(12), datetime.time(6), datetime.time(18)), ("duration", (), [0.5, 0.25, 0.75])),
    "number text": (cycle("1.5", "-2", "10"), ("numeric", (), [1.5, -2, 10])),
    "padded": (cycle("007", "012", "007"), ("nominal", ("007", "012"), [0, 1, 0])),
}  # fmt: skip


@pytest.mark.parametrize("case", COLUMNS)
def test_kinds_of_pandas_columns(case):
    column, expected = COLUMNS[case]
    np.testing.assert_equal(read(table(x=column)), expected)


@pytest.mark.parametrize("case", [name for name in COLUMNS if name != "clock"])
@pytest.mark.parametrize("make", ["arrow", "parquet"])
def test_arrow_and_parquet_keep_the_kinds(case, make, tmp_path):
    if (case, make) == ("numbered", "parquet"):
        pytest.skip("the format has no categories of numbers")
    column, expected = COLUMNS[case]
    frame = table(x=column)
    if make == "parquet":
        given = tmp_path / "t.parquet"
        frame.to_parquet(given)
    else:
        given = pa.Table.from_pandas(frame)
    np.testing.assert_equal(read(given), expected)


@pytest.mark.parametrize("case", [name for name in COLUMNS if name not in ("ordered", "numbered", "clock")])
def test_polars_keeps_the_kinds(case):
    column, expected = COLUMNS[case]
    np.testing.assert_equal(read(pl.from_pandas(table(x=column))), expected)


def test_periods_and_other_types():
    months = pd.PeriodIndex(cycle("2020-03", "1999-12", "9999-01"), freq="M")
    assert read(table(x=months)) == ("date", (), [18322, 10926, 2932532])
    frame = pl.DataFrame({"x": cycle("lo", "hi", "lo"), "y": NUMBER}, schema_overrides={"x": pl.Enum(["lo", "hi"])})
    assert read(frame) == ("nominal", ("lo", "hi"), [0, 1, 0])
    assert read(frame, kinds={"x": "ordinal"}) == ("ordinal", ("lo", "hi"), [0, 1, 0])
    decimals = pa.table({"x": pa.array(cycle("1.5", "2.5", "0.5")).cast(pa.decimal128(5, 2)), "y": NUMBER})
    assert read(decimals) == ("numeric", (), [1.5, 2.5, 0.5])
    import duckdb

    days = DATES.strftime("%Y-%m-%d")
    frame = pd.DataFrame({"y": NUMBER, "x": days, "w": cycle("b", "a", "c")})
    relation = duckdb.sql("select y, cast(x as date) as x, w from frame")
    assert read(relation) == ("date", (), [18322, 10956, 18322])
    assert read(relation, "w") == ("nominal", ("a", "b", "c"), [1, 0, 2])


def test_dictionaries_and_structured_arrays():
    given = {"y": NUMBER, "x": cycle("b", None, "c"), "o": pd.Series(COLUMNS["ordered"][0]), "t": cycle(True, False, True)}
    np.testing.assert_equal(read(given), ("nominal", ("b", "c"), [0, np.nan, 1]))
    assert read(given, "o")[0] == "ordinal"
    assert read(given, "t") == ("boolean", ("False", "True"), [1, 0, 1])
    # NumPy would make text of a missing value
    np.testing.assert_equal(read({"y": NUMBER, "x": cycle("b", float("nan"), "c")}), ("nominal", ("b", "c"), [0, np.nan, 1]))
    rows = np.zeros(N, [("x", "U3"), ("d", "M8[D]"), ("b", bool), ("y", float)])
    rows["x"], rows["d"], rows["b"], rows["y"] = cycle("b", "a", "c"), DATES.to_numpy(), cycle(True, False, True), NUMBER
    assert read(rows) == ("nominal", ("a", "b", "c"), [1, 0, 2])
    assert read(rows, "d") == ("date", (), [18322, 10956, 18322])
    assert read(rows, "b")[0] == "boolean"


def test_text_files(tmp_path):
    frame = table(
        town=cycle("Wien", "Graz", "Linz"),
        day=DATES.strftime("%Y-%m-%d"),
        ok=cycle(True, False, True),
        zip=cycle(1010, 8010, 4020),
    )
    for path, separator in ((tmp_path / "t.csv", ","), (tmp_path / "t.tsv", "\t")):
        frame.to_csv(path, sep=separator, index=False)
        assert read(path, "town") == ("nominal", ("Graz", "Linz", "Wien"), [2, 0, 1])
        assert read(path, "day") == ("date", (), [18322, 10956, 18322])
        assert read(path, "ok") == ("boolean", ("False", "True"), [1, 0, 1])
        assert read(path, "zip") == ("nominal", ("1010", "4020", "8010"), [0, 2, 1])
        assert read(path, "zip", kinds={"zip": "numeric"}) == ("numeric", (), [1010, 8010, 4020])


def test_numbers_alone_have_no_kinds_and_are_not_copied():
    frame = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))
    given = cd.as_draws(frame)
    assert given.kinds == given.levels == given.chosen == ()
    assert given.kind(0) == "numeric"
    assert np.shares_memory(given.values, frame.to_numpy())


def test_selections_chains_and_missing_rows_keep_kinds():
    frame = table(x=cycle("b", None, "c"), o=COLUMNS["ordered"][0], chain=np.repeat([1, 2], N // 2)).dropna()
    given = cd.as_draws(frame, kinds={"x": "nominal"})
    assert given.chained
    assert (given.kinds, given.chosen) == (("numeric", "nominal", "ordinal"), ("x",))
    picked = given.select(["o", "x"])
    assert (picked.kinds, picked.levels, picked.chosen) == (("ordinal", "nominal"), (("S", "M", "L"), ("b", "c")), ("x",))
    assert (given.select("number").kinds, given.select("number").levels) == ((), ())
    assert cd.as_draws(given, var_names="o").kinds == ("ordinal",)
    rows = cd.as_draws(table(x=cycle("b", None, "c")), missing="pairs")
    dropped = cd.as_draws(rows, missing="listwise")
    assert dropped.levels == rows.levels
    assert dropped.n_draws == N * 2 // 3
    assert cd.as_draws(dropped, chains=2).kinds == rows.kinds


def test_parts_are_united_by_label():
    first, second = table(x=cycle("b", "a")), table(x=cycle("c", "a"))
    for parts in ("rows", "chains"):
        given = cd.as_draws([first, second], parts=parts)
        assert given.labels(1) == ("a", "b", "c")
        assert [given.labels(1)[int(code)] for code in given.column(1)] == [*first["x"], *second["x"]]
    numbers = table(x=cycle(0, 1))
    assert cd.as_draws([table(x=cycle(True, False)), numbers], parts="rows").kind(1) == "boolean"
    assert "part 1" in refusal("kinds-differ", cd.as_draws, [first, numbers], parts="rows")


def test_codes_are_guessed_and_told():
    frame = table(
        zip=cycle(1010, 8010, 4020),
        area_code=cycle(1.0, np.nan, 3.0),
        icd10=cycle(7, 8, 9),
        zipped=cycle(1, 2, 3),
        code_lines=cycle(1, 2, 3),
    )
    given = cd.as_draws(frame, missing="pairs")
    assert dict(zip(given.names, given.kinds, strict=True)) == {
        "number": "numeric", "zip": "nominal", "area_code": "nominal", "icd10": "nominal", "zipped": "numeric",
        "code_lines": "numeric",
    }  # fmt: skip
    assert sum("codes without order" in note for note in given.notes) == 3
    assert any("kinds={'zip': 'numeric'}" in note for note in given.notes)
    chosen = cd.as_draws(frame, missing="pairs", kinds={"zip": "numeric"})
    assert chosen.kind(1) == "numeric"
    assert not any(note.startswith("zip") for note in chosen.notes)
    many = cd.as_draws(table(zip=np.arange(N) * 7 % 1009))
    assert dict(many.left_out) == {"zip": "codes, nearly all different"}


def test_free_text_is_left_out_or_hashed():
    words = [f"remark {k}" for k in range(N)]
    given = cd.as_draws(table(x=words))
    assert given.left_out == (("x", "free text"),)
    assert "kinds" in given.notes[-1]
    for choice in ({"kinds": {"x": "nominal"}}, {"var_names": ["number", "x"]}):
        kept = cd.as_draws(table(x=words), **choice)
        assert kept.labels(1) == tuple(f"hash {k}" for k in range(8))
        assert kept.column(1).tolist() == [zlib.crc32(word.encode()) % 8 for word in words]
        assert any("8 groups" in note for note in kept.notes)
    # few different values in a short table are levels
    assert read(pd.DataFrame({"y": NUMBER[:15], "x": words[:15]}))[0] == "nominal"
    many = pd.DataFrame({"y": RNG.normal(size=3300), "x": [f"w{k % 1100}" for k in range(3300)]})
    assert read(many)[1][0] == "hash 0"
    assert len(read(many[many["x"] < "w5"])[1]) > 100


def test_mixtures_are_not_guessed():
    numbers = [f"{k}.5" for k in range(N)]
    wrong = [*numbers[:-2], "n.d.", "n.d."]
    told = refusal("not-numeric", cd.as_draws, table(x=wrong))
    assert "n.d." in told
    assert "kinds={'x': 'nominal'}" in told
    assert read(table(x=wrong), kinds={"x": "nominal"})[0] == "nominal"
    mixed = cd.as_draws(table(x=[*numbers[: N * 2 // 3], *["unknown"] * (N // 3)]))
    assert mixed.left_out == (("x", "numbers mixed with text"),)
    days = [*DATES.strftime("%Y-%m-%d")[:-1], "soon"]
    assert "soon" in refusal("not-numeric", cd.as_draws, table(x=days))
    assert cd.as_draws(table(x=cycle("2023-02-30", "2023-01-01"))).left_out == (("x", "dates"),)  # no such day
    assert cd.as_draws(table(x=cycle("01/02/2023", "03/04/2023"))).left_out == (("x", "dates"),)  # which is the month?
    zones = cycle("2023-01-01T00:00Z", "2023-01-02T00:00")
    assert cd.as_draws(table(x=zones)).left_out == (("x", "dates"),)
    refusal("not-numeric", cd.as_draws, table(x=cycle(1 + 2j, 2j)))
    refusal("not-numeric", cd.as_draws, table(x=[[1, 2]] * N))


def test_an_index_of_dates_stays_left_out():
    days = pd.date_range("2020-01-01", periods=N)
    for column in (days, days[::-1], days.strftime("%Y-%m-%d"), days - days[0], pd.Series(days).where(np.arange(N) != 7)):
        assert cd.as_draws(table(when=column)).left_out == (("when", "dates"),)
        assert cd.as_draws(table(when=column), kinds={"when": "date"}, missing="pairs").n_variables == 2
        assert cd.as_draws(table(when=column), var_names=["when", "number"], missing="pairs").n_variables == 2
    assert cd.as_draws(table(when=np.repeat(days[: N // 2], 2))).kinds == ("numeric", "date")


def test_identifiers_are_left_out_unless_a_kind_is_chosen():
    frame = table(customer_id=[f"c{k % 7}" for k in range(N)], x=cycle(1, 2, 3))
    assert cd.as_draws(frame).left_out == (("customer_id", "identifier"),)
    assert read(frame, "customer_id", kinds={"customer_id": "nominal"})[1] == tuple(f"c{k}" for k in range(7))
    given = cd.as_draws(frame, kinds={"x": "id"})
    assert given.names == ("number",)
    assert dict(given.left_out) == {"customer_id": "identifier", "x": "identifier"}


@pytest.mark.parametrize(
    ("column", "kind", "expected"),
    [
        (cycle(3, 1, 2), "nominal", ("nominal", ("1", "2", "3"), [2, 0, 1])),
        (cycle(3.5, 1, 3.5), "ordinal", ("ordinal", ("1", "3.5"), [1, 0, 1])),
        (cycle("S", "L", "M"), ["S", "M", "L", "XL"], ("ordinal", ("S", "M", "L", "XL"), [0, 2, 1])),
        (cycle(3, 1, 2), [3, 2, 1], ("ordinal", ("3", "2", "1"), [0, 2, 1])),
        (cycle("a", "b", "a"), "boolean", ("boolean", ("a", "b"), [0, 1, 0])),
        (cycle(0, 1, 0), "boolean", ("boolean", ("0", "1"), [0, 1, 0])),
        (cycle(True, False, True), "numeric", ("numeric", (), [1, 0, 1])),
        (cycle("2", "10", "2"), "ordinal", ("ordinal", ("2", "10"), [0, 1, 0])),
        (cycle("2", "10", "2"), "nominal", ("nominal", ("2", "10"), [0, 1, 0])),
        (pd.Categorical(cycle("1", "10", "2")), "numeric", ("numeric", (), [1, 10, 2])),
        (cycle("2020-03-01", "1999-12-31", "2020-03-01"), "nominal", ("nominal", ("1999-12-31", "2020-03-01"), [1, 0, 1])),
    ],
)
def test_chosen_kinds(column, kind, expected):
    assert read(table(x=column), kinds={"x": kind}) == expected
    # of draws that were read before as well
    before = cd.as_draws(table(x=column), missing="pairs", var_names=["number", "x"])
    if before.kind(1) != "date":
        assert read(before, kinds={"x": kind}) == expected


@pytest.mark.parametrize(
    ("column", "kind", "code", "words"),
    [
        (cycle("a", "b", "c"), "numeric", "not-numeric", ("'a'",)),
        (cycle("a", "b", "c"), "boolean", "argument", ("3 different", "a, b, c")),
        (cycle("a", "b", "c"), "ordinal", "argument", ("order", "a, b, c", "lowest first")),
        (cycle("a", "b", "c"), ["a", "b"], "argument", ("also has c",)),
        (cycle("a", "b", "c"), ["a", "b", "a"], "argument", ("each value once",)),
        (cycle("a", "b", "c"), "date", "not-numeric", ("'a'", "2024-12-31")),
        (cycle("a", "b", "c"), "unordered", "argument", ("'nominal'", "'unordered'")),
        (cycle("a", "b", "c"), 3, "argument", ("nominal", "3")),
        (cycle("a", "b", "c"), [], "argument", ("lowest first",)),
    ],
)
def test_kinds_that_do_not_fit(column, kind, code, words):
    told = refusal(code, cd.as_draws, table(x=column), kinds={"x": kind})
    assert all(word in told for word in ("'x'", *words)), told


def test_kinds_of_columns_that_do_not_exist(tmp_path):
    frame = table(size=cycle("S", "M"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    for given in (frame, tmp_path / "t.csv", cd.as_draws(frame), {"number": NUMBER, "size": cycle(1, 2)}):
        told = refusal("unknown-name", cd.as_draws, given, kinds={"sise": "nominal"})
        assert "did you mean 'size'" in told
        # a column that is not selected exists all the same
        assert cd.as_draws(given, var_names="number", kinds={"size": "nominal"} if given is not None else None).names == (
            "number",
        )
    refusal("unknown-name", cd.as_draws, RNG.normal(size=(9, 2)), kinds={"a": "nominal"})
    refusal("argument", cd.as_draws, frame, kinds=["nominal"])
    refusal("argument", cd.as_draws, frame, kinds={("size",): "nominal"})
    arrays = cd.as_draws(RNG.integers(0, 3, size=(4, 50, 2)), kinds={"x1": "nominal"})
    assert (arrays.kinds, arrays.labels(1), arrays.values.shape) == (("numeric", "nominal"), ("0", "1", "2"), (4, 50, 2))


def test_metadata_of_sdv():
    columns = {
        "number": {"sdtype": "numerical"}, "x": {"sdtype": "categorical"},
        "o": {"sdtype": "categorical", "order": ["S", "M", "L"]},
        "day": {"sdtype": "datetime", "datetime_format": "%d/%m/%Y"}, "mail": {"sdtype": "email"}, "ssn": {"sdtype": "ssn"},
        "k": {"sdtype": "id"}, "elsewhere": {"sdtype": "numerical"},
    }  # fmt: skip
    frame = table(
        x=cycle(1, 2, 3),
        o=cycle("S", "L", "M"),
        day=DATES.strftime("%d/%m/%Y"),
        mail="a@b.c",
        ssn=cycle(1, 2),
        k=range(N),
        more=1.0,
    )

    class Metadata:
        def to_dict(self):
            return {"tables": {"t": {"columns": columns}}}

    for kinds in ({"columns": columns}, Metadata(), ChosenKinds.of({"columns": columns})):
        given = cd.as_draws(frame, kinds=kinds)
        assert dict(zip(given.names, given.kinds, strict=True)) == {
            "number": "numeric", "x": "nominal", "o": "ordinal", "day": "date"
        }  # fmt: skip
        assert given.values[0, :3, 3].tolist() == [18322, 10956, 18322]
        assert dict(given.left_out) == {"mail": "email", "ssn": "ssn", "k": "id", "more": "not in the metadata"}
    refusal("argument", cd.as_draws, frame, kinds={"columns": {"number": {}}})
    # a column called columns is no metadata
    assert read(table(columns=cycle(1, 2)), "columns", kinds={"columns": "nominal"})[0] == "nominal"


def both(first, second, **choices):
    """A column of two samples, matched: the common kind and labels, the first two values of each, and the notes."""
    one, two = matched(*(cd.as_draws(table(x=column), missing="pairs", **choices) for column in (first, second)))
    assert (one.kinds, one.levels) == (two.kinds, two.levels)
    return one.kind(1), one.labels(1), one.values[0, :2, 1].tolist(), two.values[0, :2, 1].tolist(), one.notes


def test_levels_are_matched_by_label():
    kind, labels, own, other, notes = both(cycle("b", "a"), cycle("c", "b"))
    assert (kind, labels, own, other) == ("nominal", ("a", "b", "c"), [1, 0], [2, 1])
    assert notes[-1] == "x: a only in the draws, c only in the reference"
    first = pd.Categorical(cycle("b", "a"), ["b", "a"])
    assert both(first, pd.Categorical(cycle("b", "a"), ["a", "b"]))[:4] == ("nominal", ("a", "b"), [1, 0], [1, 0])
    assert both(cycle("b", "a"), cycle("b", "a"))[4] == ()
    # nothing that was read changes
    one, two = cd.as_draws(table(x=cycle("b", "a"))), cd.as_draws(table(x=cycle("c", "b")))
    before = two.values.copy()
    matched(one, two)
    np.testing.assert_array_equal(two.values, before)
    assert not matched(one, two)[1].values.flags.writeable


def ordered(labels, *values):
    return pd.Categorical(cycle(*values), list(labels), ordered=True)


def test_orders_must_agree():
    assert both(ordered("SML", "S", "L"), ordered("SML", "L", "S"))[:4] == ("ordinal", ("S", "M", "L"), [0, 2], [2, 0])
    assert both(ordered("SM", "S", "M"), ordered("ML", "M", "L"))[:4] == ("ordinal", ("S", "M", "L"), [0, 1], [1, 2])
    assert both(ordered("SML", "S", "L"), cycle("L", "M"))[:4] == ("ordinal", ("S", "M", "L"), [0, 2], [2, 1])
    assert both(ordered(["1", "5"], "5", "1"), cycle(3, 1))[:4] == ("ordinal", ("1", "3", "5"), [2, 0], [1, 0])
    for first, second in (
        (ordered("SML", "S", "L"), ordered("LMS", "L", "S")),  # contradiction
        (ordered("SL", "S", "L"), ordered("ML", "M", "L")),  # S or M first?
        (ordered("SML", "S", "L"), cycle("L", "XXL")),
    ):
        with pytest.raises(cd.InputError) as caught:
            both(first, second)
        assert caught.value.code == "kinds-differ"
        assert "variable x" in str(caught.value)
        assert "kinds={'x'" in str(caught.value)


def test_truth_values_match_numbers_and_words():
    truth, zeros, words = cycle(True, False), cycle(1, 0), cycle("yes", "no")
    assert both(truth, zeros)[:4] == ("boolean", ("False", "True"), [1, 0], [1, 0])
    assert both(zeros, truth)[:4] == ("boolean", ("False", "True"), [1, 0], [1, 0])
    assert both(words, truth)[:4] == ("boolean", ("no", "yes"), [1, 0], [1, 0])
    assert both(words, zeros)[:4] == ("boolean", ("no", "yes"), [1, 0], [1, 0])
    assert both(words, ["yes"] * N)[:4] == ("boolean", ("no", "yes"), [1, 0], [1, 1])
    assert both(words, cycle("yes", "unknown"))[:4] == ("nominal", ("no", "unknown", "yes"), [2, 0], [2, 1])
    assert both(cycle("m", "f"), ["f"] * N)[:4] == ("nominal", ("f", "m"), [1, 0], [0, 0])
    assert both(truth, cycle(0.5, 0.2))[:4] == ("numeric", (), [1, 0], [0.5, 0.2])
    for first, second in ((words, cycle(1, 2)), (truth, cycle("red", "blue"))):
        with pytest.raises(cd.InputError) as caught:
            both(first, second)
        assert caught.value.code == "kinds-differ"


def test_text_and_numbers_are_not_matched():
    for first, second in ((cycle("A", "7"), cycle(3, 7)), (cycle(3, 7), cycle("A", "7"))):
        with pytest.raises(cd.InputError) as caught:
            both(first, second)
        told = str(caught.value)
        assert caught.value.code == "kinds-differ"
        assert all(word in told for word in ("variable x", "'A'", "kinds={'x': 'nominal'}", "--exclude x"))
        assert both(first, second, kinds={"x": "nominal"})[:2] == ("nominal", ("3", "7", "A"))
    with pytest.raises(cd.InputError) as caught:
        both(DATES, cycle(3, 7, 2))
    assert "dates" in str(caught.value)


def test_a_chosen_kind_wins_over_a_guess():
    frame = table(zip=cycle(1010, 8010, 4020))
    guessed = cd.as_draws(frame)
    for chosen, kind in (("numeric", "numeric"), ("nominal", "nominal"), ("ordinal", "ordinal")):
        own = cd.as_draws(frame, kinds={"zip": chosen})
        for pair in (matched(own, guessed), matched(guessed, own)):
            assert [sample.kind(1) for sample in pair] == [kind] * 2
            np.testing.assert_array_equal(pair[0].values, pair[1].values)
    decimals = cd.as_draws(table(zip=cycle(0.5, 1.5, 2.5)))
    assert refusal("kinds-differ", matched, guessed, decimals)
    nominal = cd.as_draws(table(zip=cycle(0.5, 1.5, 2.5)), kinds={"zip": "nominal"})
    assert matched(guessed, nominal)[0].labels(1) == ("0.5", "1.5", "2.5", "1010", "4020", "8010")


def test_hashed_text_matches_text():
    words = [f"w{k}" for k in range(N)]
    hashed = cd.as_draws(table(x=words), kinds={"x": "nominal"})
    few = cd.as_draws(table(x=cycle("w0", "w1", "w2")), kinds={"x": "nominal"})
    one, two = matched(hashed, few)
    assert one.labels(1) == two.labels(1) == hashed.labels(1)
    np.testing.assert_array_equal(one.values[0, :3, 1], two.values[0, :3, 1])
    # left out of both if it is left out of one
    assert matched(cd.as_draws(table(x=words)), cd.as_draws(table(x=cycle("w0", "w1"))))[1].names == ("number",)


def test_functions_that_need_an_order_refuse_levels_without_one():
    frame = table(y=RNG.normal(size=N), x=cycle("b", "a", "c"))
    given = cd.as_draws(frame)
    for function in (cd.kendall_matrix, cd.pseudo_observations, cd.summary, numeric_draws):
        for draws in (frame, given):
            told = refusal("not-numeric", function, draws)
            assert "variable x" in told
            assert "var_names=['number', 'y']" in told
    pair = given.select(["number", "x"])
    refusal("not-numeric", cd.fit, pair, "clayton")
    refusal("not-numeric", cd.discrepancy, pair, cd.Gumbel(2))
    refusal("not-numeric", cd.ksd, pair, cd.Gumbel(2))
    refusal("not-numeric", cd.interactions, given, given)
    refusal("not-numeric", cd.screen, given, given)
    refusal("not-numeric", cd.worst_consequences, given, given)
    refusal("not-numeric", cd.repair, given, given)
    refusal("not-numeric", cd.consequence, given, given, "x + y")
    ordered_columns = ordered_only(given)
    assert (ordered_columns.names, ordered_columns.left_out) == (("number", "y"), (("x", "no order"),))
    # ordered levels are ranked like numbers
    order = cd.as_draws(frame, kinds={"x": ["b", "a", "c"]})
    expected = cd.kendall_tau(NUMBER, frame["x"].map({"b": 0, "a": 1, "c": 2}))
    assert cd.kendall_matrix(order)[0, 2] == pytest.approx(expected)


def test_order_of_kinds():
    assert [
        kind for kind in ("numeric", "boolean", "ordinal", "nominal", "date", "duration", "missing") if not is_ordered(kind)
    ] == ["nominal"]


def test_indicators_of_missing_values():
    gone = np.arange(N) % 4 == 0
    frame = table(
        a=np.where(gone, np.nan, NUMBER),
        b=np.where(gone, np.nan, NUMBER),
        c=np.where(np.arange(N) % 3 == 0, np.nan, 1.0),
        few=np.where(np.arange(N) < 4, np.nan, NUMBER),
    )
    other = frame.assign(c=NUMBER)
    one, two = (cd.as_draws(given, missing="pairs") for given in (frame, other))
    draws, reference, skipped = with_missingness(one, two)
    assert draws.names == reference.names == ("number", "a", "b", "c", "few", "a, b are missing", "c is missing")
    assert (draws.kinds[5:], draws.labels(5)) == (("missing", "missing"), ("present", "missing"))
    assert skipped == {(1, 5), (2, 5), (3, 6)}
    np.testing.assert_array_equal(draws.column(5), gone)
    assert reference.column(6).max() == 0  # it has all values of c
    np.testing.assert_array_equal(draws.values[:, :, :5], one.values)
    # where one sample alone has both, they are two
    apart = cd.as_draws(other.assign(b=NUMBER), missing="pairs")
    assert with_missingness(one, apart)[0].names[5:] == ("a is missing", "b is missing", "c is missing")
    alone, none, _ = with_missingness(two, None)
    assert (alone.names[5:], none) == (("a, b are missing",), None)
    assert with_missingness(cd.as_draws(table(c=NUMBER)), None)[2] == frozenset()
    named = cd.as_draws(frame.rename(columns={"few": "c is missing"}), missing="pairs")
    assert with_missingness(named, None)[0].names[-1] == "c is missing (indicator)"
