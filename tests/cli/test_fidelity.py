"""`fidelity`: a synthetic table against a real one, printed, as JSON, on a page and in the exit code."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.cli import main


def birds(seed, n=300, lost=False):
    """Mass depends on the species, and bill on mass; in a lost table, species and bill depend on nothing."""
    rng = np.random.default_rng(seed)
    species = rng.choice(["Adelie", "Gentoo", "Rare"], n, p=[0.5, 0.47, 0.03])
    mass = np.where(species == "Gentoo", 5.0, 3.7) + 0.4 * rng.standard_normal(n)
    bill = 8.0 * mass + 2.0 * rng.standard_normal(n)
    if lost:
        species, bill = rng.permutation(species), rng.permutation(bill)
    ring = [f"r{seed}-{k}" for k in range(n)]
    return pd.DataFrame({"ring": ring, "species": species, "mass": mass, "bill": bill})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, table in (("real", birds(1)), ("copy", birds(2)), ("lost", birds(3, lost=True))):
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def run(files, name, *options):
    return main(["fidelity", str(files / "real.csv"), str(files / f"{name}.csv"), *options])


def test_printed(files, capsys):
    assert run(files, "lost", "--top", "1") == 0
    printed = capsys.readouterr().out
    assert re.match(r"Fidelity 0\.0\d \(95% interval 0\.00 to 0\.\d\d\): the synthetic table keeps", printed)
    assert "Left out:  ring (" in printed
    assert "3 of 6 pairs of columns compared" in printed
    assert "nominal ~ numeric" in printed or "numeric ~ numeric" in printed
    assert "cannot learn that" in " ".join(printed.split())
    assert "and 2 more pairs" in printed
    assert "nan" not in printed


def test_the_score_is_that_of_the_library_with_the_real_table_first(files, capsys):
    assert run(files, "lost", "--json") == 0
    numbers = json.loads(capsys.readouterr().out)
    tables = [cd.as_draws(files / f"{name}.csv") for name in ("real", "lost")]
    found = cd.DependenceFidelity.compute_breakdown(*tables)
    assert numbers["score"] == found["score"]
    assert numbers["interval"] == list(found["interval"])
    entry = next(pair for pair in numbers["pairs"] if {pair["first"], pair["second"]} == {"mass", "bill"})
    assert entry["tau_real"] > 0.4 > 0.2 > abs(entry["tau_synthetic"])


def test_groups(files, capsys):
    assert run(files, "lost", "--by", "species") == 0
    printed = capsys.readouterr().out
    assert re.search(r"Adelie +0\.0\d ", printed)
    assert "No score:  Rare (" in printed
    found = cd.DependenceFidelity.compute_breakdown(birds(1), birds(3, lost=True), by="species")
    assert set(found["groups"]) == {"Adelie", "Gentoo"}
    assert set(found["groups_left_out"]) == {"Rare"}
    assert "groups-left-out" in [caveat["code"] for caveat in found["caveats"]]
    for label, entry in found["groups"].items():
        within = [table[table["species"] == label].drop(columns="species") for table in (birds(1), birds(3, lost=True))]
        alone = cd.DependenceFidelity.compute_breakdown(*within)
        assert entry["score"] == alone["score"]
        assert entry["interval"] == alone["interval"]
        assert [entry["n_real"], entry["n_synthetic"]] == [len(table) for table in within]
    assert found["score"] == cd.DependenceFidelity.compute(birds(1), birds(3, lost=True))


def test_groups_of_a_column_that_is_no_variable(files, capsys):
    assert run(files, "copy", "--by", "species", "--columns", "mass,bill", "--json") == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["n_pairs"] == 1
    found = cd.DependenceFidelity.compute_breakdown(birds(1), birds(2), var_names=["mass", "bill"], by="species")
    assert numbers["groups"]["Gentoo"]["score"] == found["groups"]["Gentoo"]["score"]
    assert set(found["kinds"]) == {"mass", "bill"}


def test_groups_that_cannot_be_used(files, capsys):
    assert run(files, "copy", "--by", "specis") == 1
    assert "did you mean 'species'" in capsys.readouterr().err
    small = birds(1, 30), birds(2, 30)
    with pytest.raises(cd.InputError, match="no group of species can be compared") as caught:
        cd.DependenceFidelity.compute(*small, by="species")
    assert caught.value.code == "too-small"
    other = birds(2).assign(species="another")
    with pytest.raises(cd.InputError, match="the real table has Adelie, Gentoo, Rare, the synthetic table another"):
        cd.DependenceFidelity.compute(birds(1), other, by="species", var_names=["mass", "bill"])


def test_exit_code(files, capsys):
    assert run(files, "copy", "--fail-below", "0.8") == 0
    assert run(files, "lost", "--fail-below", "0.8") == 3
    assert "is below 0.8 (exit code 3)" in capsys.readouterr().err
    assert run(files, "real", "--fail-below", "0.8") == 4
    assert "undecided" in capsys.readouterr().err
    with pytest.raises(SystemExit) as exited:
        run(files, "copy", "--fail-below", "80")
    assert exited.value.code == 2


def test_files(files, capsys, tmp_path):
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    assert run(files, "lost", "--by", "species", "--html", str(page), "--json", str(numbers)) == 0
    html = page.read_text(encoding="utf-8")
    assert "copula-discrepancy fidelity" in html.partition("How this page was made")[2]
    assert "Groups of rows, worst first" in html
    assert re.search(r"Where species is Gentoo, mass is at percentile \d\d on average, \d\d in the real table\.", html)
    assert json.loads(numbers.read_text(encoding="utf-8"))["by"] == ["species"]
    assert str(page) in capsys.readouterr().out
    assert run(files, "lost", "--html", str(page)) == 1
    assert "already exist" in capsys.readouterr().err


def test_help_says_which_table_is_first(capsys):
    with pytest.raises(SystemExit):
        main(["fidelity", "--help"])
    printed = capsys.readouterr().out
    assert "The real table comes first, the synthetic one second" in printed
    assert re.search(r"REAL SYNTHETIC", printed)


def test_report_in_one_call(tmp_path, monkeypatch):
    path = cd.DependenceFidelity.report(birds(1), birds(3, lost=True), tmp_path / "page.html", by="species")
    assert path == tmp_path / "page.html"
    assert "DependenceFidelity.report(real_data, synthetic_data" in path.read_text(encoding="utf-8")
    assert json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["groups"]["Adelie"]["score"] < 0.3
    with pytest.raises(cd.InputError, match="already exist"):
        cd.DependenceFidelity.report(birds(1), birds(2), path)
    cd.DependenceFidelity.report(birds(1), birds(2), path, force=True)
    assert "It can stand in for" in path.read_text(encoding="utf-8")


def test_a_missing_value_is_drawn_as_a_column_of_its_own(tmp_path):
    tables = [birds(seed) for seed in (1, 2)]
    rng = np.random.default_rng(4)
    tables[0].loc[(tables[0]["species"] == "Gentoo") & (rng.random(300) < 0.6), "bill"] = np.nan
    tables[1].loc[rng.random(300) < 0.3, "bill"] = np.nan
    html = cd.DependenceFidelity.report(*tables, tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(r"Mosaic of (species by bill is missing|bill is missing by species) in the real table", html)


@pytest.mark.parametrize("options", [(), ("--by", "species")])
def test_the_same_rows_are_void_and_have_no_score(files, capsys, recwarn, options):
    assert run(files, "real", *options) == 4
    printed = capsys.readouterr()
    assert printed.out.startswith("Void: the synthetic table contains the same rows")
    assert "100%" not in printed.out
    assert "Fidelity" not in printed.out
    assert "undecided" in printed.err
    assert [warning for warning in recwarn if issubclass(warning.category, cd.DependenceWarning)] == []


def test_a_good_table_may_hide_groups_that_lost_all(tmp_path, capsys):
    """Within each group, y depends on x in the real table only; the groups are far apart in both."""
    for name, slope, seed in (("real", 0.9, 1), ("fake", 0.0, 2)):
        rng = np.random.default_rng(seed)
        g = rng.integers(0, 2, 600)
        x = rng.standard_normal(600)
        y = slope * x + np.sqrt(1 - slope**2) * rng.standard_normal(600)
        pd.DataFrame({"g": np.array(["a", "b"])[g], "x": x + 20.0 * g, "y": y + 20.0 * g}).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    command = ["fidelity", str(tmp_path / "real.csv"), str(tmp_path / "fake.csv"), "--fail-below", "0.5"]
    assert main(command) == 0
    assert "worst group" not in capsys.readouterr().out
    assert main([*command, "--by", "g"]) == 3
    printed = capsys.readouterr()
    assert re.search(r"; worst group: [ab], 0\.0\d$", printed.out.splitlines()[0])
    assert re.search(r"failed: the score 0\.0\d\d of group [ab] and of 1 more group are below 0\.5", printed.err)


def test_a_note_on_both_tables_is_printed_once(files, capsys):
    run(files, "copy")
    printed = capsys.readouterr().out
    assert "note: both tables: left out: ring" in printed
    assert "note: real table: left out" not in printed
    main(["compare", str(files / "copy.csv"), str(files / "real.csv"), "--iid"])
    printed = capsys.readouterr().out
    assert "note: both: left out: ring" in printed
    assert "note: reference: left out" not in printed
    assert "note: both: left out: ring" in " ".join(str(cd.pairwise(birds(2), birds(1), iid=True)).split())
