"""Tables as spreadsheets save them: semicolons, decimal commas, empty margins, titles, columns of text, empty cells."""

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy import cli


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(content, name="sheet.csv"):
    with open(name, "w", encoding="utf-8", newline="") as file:
        file.write(content)
    return name


def refused(message, content, name="sheet.csv", **choices):
    with pytest.raises(cd.InputError, match=message):
        cd.as_draws(saved(content, name), **choices)


def test_semicolons_and_decimal_commas_are_read_and_told():
    given = cd.as_draws(saved("a;b;c\r\n1,5;2;,5\r\n-2,25;3;1\r\n1e3;4;7,125\r\n"))
    assert given.names == ("a", "b", "c")
    assert np.array_equal(given.values[0], [[1.5, 2, 0.5], [-2.25, 3, 1], [1000, 4, 7.125]])
    assert given.notes == ("its values are separated by semicolons", "decimal commas read in a, c")


def test_decimal_commas_with_a_delimiter_that_was_asked_for():
    given = cd.as_draws(saved("a\tb\n1,5\t2\n2,5\t\n", "sheet.tsv"), missing="drop", var_names="a")
    assert np.array_equal(given.values[0, :, 0], [1.5, 2.5])
    assert given.notes == ("decimal commas read in a",)


@pytest.mark.parametrize("values", ["1,234;1\n999;2", "1,234;1\n2,345;2"])
def test_a_comma_that_may_mark_thousands_is_not_guessed(values):
    # as decimals 1,234 lies below 999, as thousands above: the order, which is all that counts, would differ
    refused("column a has commas with three digits.*decimals or thousands", f"a;b\n{values}\n")


def test_a_comma_file_keeps_its_meaning():
    assert cd.as_draws(saved("a;b,c\n1,2\n3,4\n")).names == ("a;b", "c")
    refused("looks separated by ';'", "a;b\n1;2;3\n4;5;6\n")


def test_empty_margins_are_left_out_and_told():
    given = cd.as_draws(saved("a,b,,\n1,2,,\n3,4,,\n5,6,,\n,,,\n,,,\n"))
    assert given.names == ("a", "b")
    assert np.array_equal(given.values[0], [[1, 2], [3, 4], [5, 6]])
    assert given.notes == ("columns without name and values left out: 2", "rows without values at the end left out: 2")


def test_a_gap_between_rows_is_a_missing_value_and_not_a_margin():
    refused("variable a: 1 NaN at draw 1.*variable b: 1 NaN at draw 1", "a,b\n1,2\n,\n3,4\n")
    refused("variable b: 1 NaN at draw 2", "a,b\n1,2\n3,4\n5,\n")


def test_a_named_column_without_values_is_not_left_out():
    refused("variable b: 2 NaN", "a,b\n1,\n3,\n")


def test_a_title_above_the_names():
    refused("has no name.*take out any title above", "My customers,,\n,,\nname,age,spend\nx,1,2\ny,3,4\n")


def test_columns_of_text_are_all_named_with_what_to_type_instead():
    content = "Customer,Income (EUR),Region,Spend\nC1,1.5,N,40\nC2,2.5,S,20\nC3,3.5,N,60\n"
    refused(r"variable Customer must be .*'C1' at draw 0 \(nor are Region\); .*--columns 'Income \(EUR\),Spend'", content)
    with pytest.raises(cd.InputError) as error:
        cd.as_draws(saved(content))
    names = eval(str(error.value).split("var_names=")[1].split("]")[0] + "]")  # what it says can be typed
    assert cd.as_draws("sheet.csv", var_names=names).names == ("Income (EUR)", "Spend")


def test_names_with_commas_are_not_offered_to_the_shell():
    refused("select the other variables by name, or", 'who,"a,b",c\nx,1,2\ny,3,4\n')


@pytest.mark.parametrize("value", ['"1,234.50"', "$12.5", '"€1,234"', "12%", "1 234.5"])
def test_numbers_in_dress(value):
    refused("write its numbers plain, without separators of thousands", f"a,b\n{value},1\n{value},2\n")


@pytest.mark.parametrize("name", ["book.xlsx", "book.ODS"])
def test_a_workbook_is_told_how_to_become_a_table(name):
    refused("is a spreadsheet; save its sheet as CSV", "PK", name)


def test_missing_values_may_be_dropped_and_are_counted():
    given = cd.as_draws(saved("a,b,c\n1,2,\n3,,4\n5,6,7\n8,9,1\n"), var_names=["a", "b"], missing="drop")
    assert np.array_equal(given.values[0], [[1, 2], [5, 6], [8, 9]])  # c was not asked for: its empty cell costs nothing
    assert given.notes == ("rows with a missing value left out: 1 of 4",)


def test_what_cannot_be_dropped():
    refused("missing must be", "a,b\n1,2\n3,4\n", missing="ignore")
    refused("every one of 2 rows has a missing value: b has no values", "a,b\n1,\n3,\n", missing="drop")
    refused("1 infinite", "a,b\n1,2\ninf,3\n,4\n5,6\n", missing="drop")
    refused("these are chains, 1 of whose draws", "chain,a,b\n1,1,2\n1,3,4\n2,,6\n2,7,8\n", missing="drop")


def test_the_command_line_drops_them_when_told(capsys):
    rng = np.random.default_rng(1)
    rows = [f"{a:.6f};{b:.6f}".replace(".", ",") for a, b in rng.normal(size=(50, 2))]
    saved("\n".join(["a;b", *rows[:20], ";1,5", *rows[20:]]) + "\n")
    assert cli.main(["check", "sheet.csv", "--iid"]) == 1
    assert "--drop-missing" in capsys.readouterr().err
    assert cli.main(["check", "sheet.csv", "--iid", "--drop-missing"]) == 0
    shown = capsys.readouterr().out
    assert "rows with a missing value left out: 1 of 51" in shown
    assert "decimal commas read in a, b" in shown
