"""Tables as spreadsheets save them: other signs and encodings, empty margins, titles, totals, columns of text, empty cells."""

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli import parser
from copula_discrepancy.data.draws import numeric_draws
from tests.data import refusals
from tests.data.refusals import refusal
from tests.numerals import numerals


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(content, name="sheet.csv", encoding="utf-8"):
    with open(name, "w", encoding=encoding, newline="") as file:
        file.write(content)
    return name


def refused(code, content, name="sheet.csv", **choices):
    return refusals.refused(code, saved(content, name), **choices)


def column(*cells, separator=";"):
    """What is read of these cells beside plain numbers, and the notes."""
    rows = [f'"{cell}"{separator}{k}' for k, cell in enumerate(cells)]
    given = cd.as_draws(saved("\n".join([f"a{separator}b", *rows]) + "\n"), delimiter=separator)
    return given.values[0, :, 0].tolist(), list(given.notes)


def test_semicolons_and_decimal_commas_are_read_and_told():
    given = cd.as_draws(saved("a;b;c\r\n1,5;2;,5\r\n-2,25;3;1\r\n1e3;4;7,125\r\n"))
    assert given.names == ("a", "b", "c")
    assert np.array_equal(given.values[0], [[1.5, 2, 0.5], [-2.25, 3, 1], [1000, 4, 7.125]])
    assert len(given.notes) == 2
    assert given.notes[1].endswith(" a, c")


def test_tabs_with_any_ending_and_excels_line_about_separators():
    for name, content in [
        ("t.csv", "a\tb\n1\t2\n3\t4\n"),
        ("t.txt", "a\tb\n1\t2\n3\t4\n"),
        ("s.csv", "sep=;\r\na;b\r\n1;2\r\n3;4\r\n"),
    ]:
        given = cd.as_draws(saved(content, name))
        assert given.names == ("a", "b")
        assert np.array_equal(given.values[0], [[1, 2], [3, 4]])


def test_decimal_commas_with_a_delimiter_that_was_asked_for():
    given = cd.as_draws(saved("a\tb\n1,5\t2\n2,5\t\n", "sheet.tsv"), missing="drop", var_names="a")
    assert np.array_equal(given.values[0, :, 0], [1.5, 2.5])
    assert len(given.notes) == 1


@pytest.mark.parametrize("sign", [",", "."])
def test_a_sign_that_may_mark_decimals_or_thousands_is_not_guessed(sign):
    # as decimals 1,234 lies below 999, as thousands above: the order, which is all that counts, would differ
    assert f"'1{sign}234'" in refused("not-numeric", f"a;b\n1{sign}234;1\n999;2\n")


def test_where_both_readings_have_one_order_either_will_do():
    assert column("1.234", "2.345") == ([1.234, 2.345], [])


def test_another_column_tells_which_sign_is_which():
    given = cd.as_draws(saved("km;price\n1.445;26,91\n713;17,04\n2.250;9,5\n"))
    assert np.array_equal(given.values[0], [[1445, 26.91], [713, 17.04], [2250, 9.5]])
    assert [note.split()[-1] for note in given.notes[1:]] == ["km", "price"]
    given = cd.as_draws(saved("km;price\n1,445;26.91\n713;17.04\n2,250;9.5\n"))
    assert np.array_equal(given.values[0], [[1445, 26.91], [713, 17.04], [2250, 9.5]])


def test_points_that_cannot_be_thousands_are_decimals():
    assert column("1.5", "713", "2.25")[0] == [1.5, 713, 2.25]
    assert column("0.125", "713", "2.225")[0] == [0.125, 713, 2.225]
    assert column("1234.125", "713", "2.225")[0] == [1234.125, 713, 2.225]


@pytest.mark.parametrize(
    ("cells", "values", "note"),
    [
        (["1,234.50", "12.25"], [1234.5, 12.25], "thousands"),
        (["1.234.567,5", "3"], [1234567.5, 3], "decimal"),
        (["1'234.5", "12"], [1234.5, 12], "thousands"),
        (["1\u202f234,5", "12"], [1234.5, 12], "thousands"),
        (["12.5%", "3%"], [12.5, 3], "percent"),
        (["$12.50", "-$3.00", "$ 4"], [12.5, -3, 4], "currencies"),
        (["1.234,50 €", "-3,00 €"], [1234.5, -3], "currencies"),
        (["(1,234.5)", "2.5"], [-1234.5, 2.5], "parentheses"),
        (["\u22121.5%", "2%"], [-1.5, 2], "percent"),
    ],
)
def test_numbers_in_dress_are_read_and_told(cells, values, note):
    found, notes = column(*cells)
    assert found == values
    assert any(note in told.split() for told in notes)


def test_in_a_comma_file_the_point_is_the_decimal_sign():
    assert column("1,234", "999", separator=",")[0] == [1234, 999]
    found, notes = column("1,5", "9", separator=",")
    assert found == [1.5, 9]  # and it can be nothing else
    assert notes == column("1,5", "9,0", separator=";")[1][-1:]  # the same note as where a comma is expected


@pytest.mark.parametrize(
    "cells",
    [
        ["12%", "0.5"],
        ["$1.5", "€2.5"],
        ["1.2.3", "4"],
        ["030 123", "040 567"],
        ["(1", "2"],
        ["1,23,456", "1.5.5"],
        ["12:30", "1"],
    ],
)
def test_what_follows_no_convention_is_text(cells):
    content = "k,x\n" + "".join(f'{k},"{cell}"\n' for k, cell in enumerate(cells))
    assert cd.as_draws(saved(content)).kind(1) == "nominal"
    refusal("not-numeric", numeric_draws, "sheet.csv")


def test_only_columns_that_are_asked_for_must_be_clear():
    given = cd.as_draws(saved("a;b;c\n1,234;1;5\n999;2;6\n"), var_names=["b", "c"])
    assert np.array_equal(given.values[0], [[1, 5], [2, 6]])


@pytest.mark.parametrize(
    ("encoding", "note"),
    [("cp1252", "Windows-1252"), ("utf-16", "UTF-16")],
)
def test_other_encodings_of_excel(encoding, note):
    given = cd.as_draws(saved("Größe;Preis €\n1,5;2\n2,5;3\n", encoding=encoding))
    assert given.names == ("Größe", "Preis €")
    assert note in given.notes[0]


def test_what_is_no_text_in_any_encoding():
    with open("sheet.csv", "wb") as file:
        file.write(b"a,b\n1,2\n\x01\xff,4\n")
    refusal("file-format", cd.as_draws, "sheet.csv")


def test_a_comma_file_keeps_its_meaning():
    assert cd.as_draws(saved("a;b,c\n1,2\n3,4\n")).names == ("a;b", "c")
    refused("file-format", "a;b\n1;2;3\n4;5;6\n")


def test_empty_margins_are_left_out_and_told():
    given = cd.as_draws(saved("a,b,,\n1,2,,\n3,4,,\n5,6,,\n,,,\n,,,\n"))
    assert given.names == ("a", "b")
    assert np.array_equal(given.values[0], [[1, 2], [3, 4], [5, 6]])
    assert [note.split()[-1] for note in given.notes] == ["2", "2"]


def test_a_gap_between_rows_is_a_missing_value_and_not_a_margin():
    refused("nan", "a,b\n1,2\n,\n3,4\n")
    refused("nan", "a,b\n1,2\n3,4\n5,\n")


def test_a_named_column_without_values_is_not_left_out():
    refused("nan", "a,b\n1,\n3,\n")


def test_a_title_above_the_names():
    refused("file-format", "My customers,,\n,,\nname,age,spend\nx,1,2\ny,3,4\n")
    refused("file-format", "My good customers\nname,age,spend\nx,1,2\ny,3,4\n")


@pytest.mark.parametrize("label", ["Total", "grand total", "Summe", "Average"])
def test_a_row_of_totals_is_no_draw(label):
    refused(
        "file-format",
        f"who,a,b\nx,1,2\ny,3,4\n{label},4,6\n",
        var_names=["a", "b"],
    )
    refused("file-format", f"a,b\n1,2\n3,4\n{label},6\n")
    assert cd.as_draws(saved(f"who,a,b\n{label},1,2\n{label},4,6\n"), var_names=["a", "b"]).n_draws == 2  # a kind of its own


def test_sums_without_a_label_are_seen_too():
    refused("file-format", "a,b\n1.5,2\n2.25,4\n-1,7\n2.75,13\n")
    assert cd.as_draws(saved("a,b\n1.5,2\n2.25,4\n-1,7\n2.75,12\n")).n_draws == 4


def test_columns_of_text_are_all_named_with_what_to_type_instead():
    content = "Customer,Income (EUR),Region,Spend\nC1,1.5,N,40\nC2,2.5,S,20\nC3,3.5,N,60\n"
    refused("not-numeric", content)
    with pytest.raises(cd.InputError) as error:
        numeric_draws(saved(content))
    names = eval(str(error.value).split("var_names=")[1].split("]")[0] + "]")  # what it says can be typed
    assert cd.as_draws("sheet.csv", var_names=names).names == ("Income (EUR)", "Spend")


def test_names_with_commas_can_be_typed_too(capsys):
    rng = np.random.default_rng(2)
    rows = [f"x,{a:.5f},{b:.5f}" for a, b in rng.normal(size=(40, 2))]
    told = refusal("not-numeric", numeric_draws, saved("\n".join(['who,"a, b",c', *rows]) + "\n"))
    assert """--columns '"a, b",c'""" in told
    assert parser.main(["check", "sheet.csv", "--iid", "--columns", '"a, b",c']) == 0
    assert "a, b ~ c" in capsys.readouterr().out


def test_a_few_cells_at_fault_do_not_cost_a_column():
    rows = "\n".join(f"{k}.5,{k * k % 7}" for k in range(30))
    refused("not-numeric",
            f"a,b\n{rows}\nn.d.,3\n")  # fmt: skip


@pytest.mark.parametrize("name", ["book.xlsx", "book.ODS"])
def test_a_workbook_is_told_how_to_become_a_table(name):
    refused("file-format", "PK", name)


@pytest.mark.parametrize("mark", ["", "-", "#DIV/0!", "#N/A", "NULL", "?"])
def test_missing_values_may_be_dropped_and_are_counted(mark):
    given = cd.as_draws(saved(f"a,b,c\n1,2,\n3,{mark},4\n5,6,7\n8,9,1\n"), var_names=["a", "b"], missing="drop")
    assert np.array_equal(given.values[0], [[1, 2], [5, 6], [8, 9]])  # c was not asked for: its empty cell costs nothing
    assert [note.split()[-3:] for note in given.notes] == [["1", "of", "4"]]


def test_what_cannot_be_dropped():
    refused("argument", "a,b\n1,2\n3,4\n", missing="ignore")
    refused("nan", "a,b\n1,\n3,\n", missing="drop")
    refused("infinite", "a,b\n1,2\ninf,3\n,4\n5,6\n", missing="drop")
    refused("nan", "chain,a,b\n1,1,2\n1,3,4\n2,,6\n2,7,8\n", missing="drop")


def test_the_command_line_drops_them_when_told(capsys):
    rng = np.random.default_rng(1)
    rows = [f"{a:.6f};{b:.6f}".replace(".", ",") for a, b in rng.normal(size=(50, 2))]
    saved("\n".join(["a;b", *rows[:20], ";1,5", *rows[20:]]) + "\n")
    assert parser.main(["check", "sheet.csv", "--iid", "--missing", "raise"]) == 1
    told = capsys.readouterr().err
    assert "--missing listwise" in told
    assert "--missing pairs" in told
    assert "sampler" not in told
    assert parser.main(["check", "sheet.csv", "--iid", "--missing", "listwise"]) == 0
    shown = capsys.readouterr().out
    notes = cd.as_draws("sheet.csv", missing="drop").notes
    assert ["1", "51"] in [numerals(note) for note in notes]  # rows left out, of all
    assert len(notes) == 3  # these, the semicolons and the decimal commas
    assert all(f"note: {note}\n" in shown for note in notes)
    assert "family" in shown  # without a target, which family describes a pair is an answer
    assert "R-hat" not in shown  # one sample: there are no chains to agree
    assert "n_eff is 50" in shown  # the reservation, below the table


def test_names_that_differ_in_capitals_only():
    here, there = (cd.as_draws({name: np.arange(9.0) ** 2 % 7, "b": np.arange(9.0)}) for name in ("Age", "age"))
    refusal("names-differ", cd.pairwise, here, there, iid=True)
