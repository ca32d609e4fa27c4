"""`compare --interactions`: triples below the pairs, in the JSON, on the page and in the exit code."""

import json

import numpy as np
import pytest

from copula_discrepancy.cli import main


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("triples"), np.random.default_rng(1)
    draws, reference = rng.standard_normal((2, 500, 3))
    reference[:, 2] = np.abs(reference[:, 2]) * np.sign(reference[:, 0] * reference[:, 1])
    for name, values in (("draws", draws), ("reference", reference)):
        np.savetxt(folder / f"{name}.csv", values, delimiter=",", header="a,b,c", comments="")
    return folder


def run(files, *options):
    return main(["compare", str(files / "draws.csv"), str(files / "reference.csv"), "--iid", "--interactions", *options])


def test_printed_below_the_pairs(files, capsys):
    assert run(files) == 0
    printed = capsys.readouterr().out
    assert printed.index("a ~ b") < printed.index("Three variables at a time") < printed.index("a ~ b ~ c")
    assert "rises with c in the reference" in printed


def test_json_and_exit_code(files, capsys):
    assert run(files, "--json", "--fail-above", "0.4") == 3
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["n_flagged"] == 0
    assert numbers["interactions"]["n_flagged"] == 1
    assert [gap["third"] for gap in numbers["triples"]] == ["c"]


def test_page(files, capsys):
    page = files / "page.html"
    assert run(files, "--html", str(page)) == 0
    text = page.read_text(encoding="utf-8")
    assert "Three variables at a time" in text
    assert '<h1 class="off">' in text  # although no pair differs
    assert json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["triples"]


def test_not_with_csv(files, capsys):
    with pytest.raises(SystemExit):
        run(files, "--csv")
    assert "--json" in capsys.readouterr().err
