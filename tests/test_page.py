"""The page as a file: what stands in it, what stands beside it, and what happens where it cannot be written."""

import json
import math
import os
import re
import shutil
import time
import warnings
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy._written import json_text
from copula_discrepancy.cli import main
from copula_discrepancy.pages import content, meaning, writing
from tests.page_samples import HOSTILE, comparison
from tests.pairwise_data import gaussian

MEGABYTE = 2**20


@pytest.fixture
def few_pictures(monkeypatch):
    """For pages of which the pictures are not the matter."""
    monkeypatch.setattr(content, "DETAILS", 1)


def words_of(path):
    """What a reader reads: the page's text without its tags."""
    text = re.sub(r"<(style|script).*?</\1>", "", Path(path).read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_a_page_says_what_was_found_how_sure_it_is_and_how_it_was_made(tmp_path, few_pictures):
    result = comparison("eight")
    path = result.to_html(tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    told = words_of(path)
    assert "Gaps in 24 of 45 pairs" in told
    for sentence in result.sentences().values():
        assert sentence in told
    for warning in result.warnings:
        assert warning in told
    assert "worth" in told
    assert "These 2,000 say as much about the dependence as 432 to 954 independent ones would" in told
    assert "above the limit in 7 of 45 pairs" in told
    assert "90 tests" in told
    assert "seed 1" in told
    assert f"copula-discrepancy {cd.__version__}" in told
    assert f"numpy {np.__version__}" in told
    assert "cd.pairwise(draws, reference, method='mle', iid=False, confidence=0.95, adjust='bh')" in told
    assert "report.json" in told


def test_the_json_beside_the_page_has_every_number(tmp_path, few_pictures):
    result = comparison("eight")
    page = result.to_html(tmp_path / "report.html")
    found = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    plain = json.loads(json_text(result.to_dict()))
    assert {name: found[name] for name in plain} == plain
    assert len(found["pairs"]) == 45
    detail = found["details"][0]
    single = result.pair(*result.worst.names)
    assert detail["names"] == list(result.worst.names)
    assert [tau["value"] for tau in detail["agreement"]["taus"]] == [tau.value for tau in single.agreement.taus]
    assert detail["running"]["total"][-1] == single.total.value
    assert found["made"]["seed"] == 1
    first = found["pairs"][0]
    cells = re.findall(r"<td class=n>([^<\n]*)", page.read_text(encoding="utf-8"))
    assert cells[:5] == [f"{first[name]:{form}}" for name, form in zip(
        ("tau", "tau_target", "level", "level_se", "shape"), (".2f", ".2f", "+.3f", ".3f", "+.3f"), strict=True)]  # fmt: skip


def test_the_page_of_one_pair(tmp_path):
    result = comparison("single")
    told = words_of(result.to_html(tmp_path / "pair.html"))
    assert "Shape off" in told
    assert result.sentences()["Tails"] in told
    assert "cd.discrepancy(draws, Gumbel(theta=2.5), method='mle'" in told
    found = json.loads((tmp_path / "pair.json").read_text(encoding="utf-8"))
    assert found["shape"]["value"] == result.shape.value
    assert len(found["agreement"]["taus"]) == 4
    assert found["running"]["draws"][-1] == 2000


def test_names_are_escaped(tmp_path, few_pictures):
    path = comparison("hostile").to_html(tmp_path / "report.html")
    page = path.read_text(encoding="utf-8")
    for name in HOSTILE[:3]:
        assert name not in page.replace("\\u003c", "<").split('id="map-data"')[0]
    assert page.count("<script") == 2  # the page's own, and its numbers
    assert "<img src=x" not in page
    assert HOSTILE[0] in words_of(path)
    data = re.search(r'id="map-data">(.*?)</script>', page, flags=re.DOTALL).group(1)
    assert json.loads(data)["names"][2] == HOSTILE[2]


@pytest.mark.parametrize(
    ("name", "heading", "state"),
    [
        ("fine", "No gap found in 6 pairs", "fine"),
        ("untestable", "No pair could be tested", "unknown"),
        ("two", "Gaps in 1 of 1 pair", "off"),
        ("failed chain", "No gap found in 6 pairs, with reservations", "unknown"),
        ("moment", "Gaps in 4 of 15 pairs", "off"),
    ],
)
def test_headings(tmp_path, few_pictures, name, heading, state):
    page = comparison(name).to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<h1 class="(\w+)">.*?</span>(.*?)</h1>', page)
    assert (found.group(2).strip(), found.group(1)) == (heading, state)


def test_a_single_pair_has_no_map_and_more_have_one_for_each_gap(tmp_path, few_pictures):
    def maps(name):
        page = comparison(name).to_html(tmp_path / "report.html", force=True).read_text(encoding="utf-8")
        return re.findall(r'data-map="(\w+)"', page)

    assert maps("two") == []
    assert maps("fine") == ["level", "shape"]
    assert maps("moment") == ["level"]  # there is no shape
    assert maps("nothing") == ["shape"]  # there is no target


def test_doubtful_answers_are_told_beside_the_answer(tmp_path, few_pictures):
    told = words_of(comparison("failed chain").to_html(tmp_path / "report.html"))
    head = told.split("Every pair at a glance")[0]
    assert "Before you rely on this: chain 2 does not move in x0 from draw 100 on" in head
    assert "and 9 more notes" in head
    assert "Before you rely on this" not in words_of(comparison("fine").to_html(tmp_path / "fine.html"))


# ---- size and time -------------------------------------------------------------------------------------------------


def test_fifty_variables_take_a_page_below_three_megabytes_and_ten_seconds(tmp_path):
    result = comparison("fifty")
    start = time.perf_counter()
    page = result.to_html(tmp_path / "report.html")
    assert time.perf_counter() - start < 10.0
    assert page.stat().st_size < 3 * MEGABYTE


def test_pages_stay_small_with_many_variables_long_names_and_many_chains(tmp_path):
    rng = np.random.default_rng(1)
    d = content.MAPPED + 20
    columns = [
        f"{k} " + "\N{GREEK SMALL LETTER ALPHA}&" * 5000 for k in range(d)
    ]  # ten thousand characters, escaped five times
    draws = pd.DataFrame(rng.normal(size=(120, d)), columns=columns)
    draws[columns[1]] += 3.0 * draws[columns[0]]
    result = cd.pairwise(draws, np.eye(d), iid=True, method="moment")
    page = result.to_html(tmp_path / "report.html")
    assert page.stat().st_size < 3 * MEGABYTE
    told = words_of(page)
    assert "The 2,000 worst of 51,040 pairs" in told
    assert "Of 320 variables, the 300 with the largest gaps are shown" in told
    chains = cd.discrepancy(cd.Gumbel(2.0).sample(16000, rng=1).reshape(400, 40, 2), cd.Gumbel(2.0), iid=True)
    assert chains.to_html(tmp_path / "chains.html").stat().st_size < MEGABYTE


def test_the_table_has_the_worst_pairs(tmp_path, few_pictures, monkeypatch):
    monkeypatch.setattr(content, "TABLE_ROWS", 7)
    result = comparison("eight")
    page = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    rows = re.findall(r"<th scope=\"row\">(?:<a[^>]*>)?([^<\n]*)", page.split('id="ranking"')[1].split("</table>")[0])
    assert [unescape(row) for row in rows] == [gap.label for gap, _ in zip(result, range(7), strict=False)]
    assert "The 7 worst of 45 pairs" in words_of(tmp_path / "report.html")


# ---- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("report.pdf", r"must end in \.html, got 'report\.pdf'"),
        ("report", r"must end in \.html"),
        ("nowhere/report.html", "the folder nowhere is not there; make it first"),
        ("folder.html", r"folder\.html is a folder; give the path of a page inside it"),
        ("file.txt/report.html", r"the folder file\.txt is not there"),
        (3, "path must be the path of a page, such as 'report.html', got 3"),
    ],
)
def test_paths_that_no_page_can_have(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(cd.InputError, match=message):
        comparison("single").to_html(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file.txt", "folder.html"]


@pytest.mark.parametrize("there", ["report.html", "report.json"])
def test_files_that_are_there_are_kept_unless_forced(tmp_path, there):
    (tmp_path / there).write_text("mine")
    with pytest.raises(cd.InputError, match=rf"{there} already there; give another name, or overwrite with force=True"):
        comparison("single").to_html(tmp_path / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"
    comparison("single").to_html(tmp_path / "report.html", force=True)
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["n"] == 2000
    with pytest.raises(cd.InputError, match="force must be True or False"):
        comparison("single").to_html(tmp_path / "report.html", force="yes")


def test_a_folder_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(cd.InputError, match="no permission in"):
        comparison("single").to_html(tmp_path / "report.html")


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    page = tmp_path / "report.html"
    page.write_text("mine")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(cd.InputError, match="cannot be written: No space left on device"):
        comparison("single").to_html(page, force=True)
    assert page.read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]  # nothing half done beside it


def test_json_takes_missing_and_infinite_numbers():
    text = json_text({"a": [math.nan, math.inf, -math.inf, 1.5], "rows": [{"b": math.nan}, {"b": 2}], "none": []})
    assert json.loads(text) == {"a": [None, "inf", "-inf", 1.5], "rows": [{"b": None}, {"b": 2}], "none": []}
    assert text.count("\n") == 8  # a line for every row


# ---- words ---------------------------------------------------------------------------------------------------------


def announced(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        return make().warnings


def test_every_warning_comes_with_what_it_asks_of_the_reader():
    rng = np.random.default_rng(2)
    draws = gaussian(rng, (4, 100))
    rounded, coin, still = np.round(draws, 0), np.sign(draws), draws.copy()
    still[1] = still[1, 0]
    told = [
        *announced(lambda: cd.pairwise(rounded, gaussian(rng, (4, 100)), family="gaussian")),
        *announced(lambda: cd.pairwise(coin, np.sign(gaussian(rng, (4, 100))), family="gaussian")),
        *announced(lambda: cd.pairwise(still, gaussian(rng, (4, 100)), family="gaussian")),
        *announced(lambda: cd.pairwise(draws, draws, family="gaussian")),
        *announced(lambda: cd.pairwise(draws.swapaxes(0, 1), np.eye(4))),
        *announced(lambda: cd.pairwise(np.concatenate([draws, np.ones((4, 100, 1))], axis=2), np.eye(5))),
        *announced(lambda: cd.discrepancy(np.repeat(rng.normal(size=(1, 400, 1)), 2, axis=2), cd.Gumbel(2.0))),
        *announced(lambda: cd.discrepancy(cd.Gaussian(-0.5).sample(400, rng=1), cd.Gumbel(2.0))),
    ]
    assert len({re.sub(r"[\d.]+", "", warning) for warning in told}) > 10
    silent = [warning for warning in told if not meaning.advice(warning)]
    assert not silent


def test_what_is_asked_is_said_once_of_several_of_a_kind():
    told = meaning.explained(
        ["chain 1 never moves in a", "chain 1 never moves in b", "n_eff is 12, below 100", "something new"]
    )
    assert [bool(meant) for _, meant in told] == [False, True, True, False]


@pytest.mark.parametrize(
    ("rhat", "n_eff", "agree", "trust"),
    [
        ([1.0, 1.001], [400.0, 500.0], "1.001 at most, they agree", "All are above 100"),
        ([1.0, 1.2], [40.0, 500.0], "above the limit in 1 of 2 pairs", "rough, as they are here in places"),
        ([math.nan, math.nan], [math.nan, math.nan], "too little to compare", "no standard error can be had"),
    ],
)
def test_effective_draws_and_rhat_in_words(rhat, n_eff, agree, trust):
    sample = meaning.Sample(4, 500, np.array(n_eff), np.array(rhat))
    assert agree in meaning._agreement([sample], "pair")
    assert trust in meaning._effective([sample], False, "pair")


# ---- command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch, few_pictures):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    for name in ("a", "b"):
        pd.DataFrame(gaussian(rng, 400), columns=list("wxyz")).to_csv(f"{name}.csv", index=False)
    return tmp_path


def test_commands_write_the_page_and_name_it(folder, capsys):
    assert main(["compare", "a.csv", "b.csv", "--html", "report.html"]) == 0
    told = capsys.readouterr()
    assert told.out.endswith("\nPage: report.html (open it in a browser); every number: report.json\n")
    assert "copula-discrepancy compare a.csv b.csv --html report.html" in words_of("report.html")
    assert main(["check", "a.csv", "--html", "check.html", "--family", "frank", "--tau", "0.2"]) == 0
    assert "--family frank --tau 0.2" in words_of("check.html")


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_numbers_on_standard_output_stay_alone(folder, capsys, form):
    assert main(["compare", "a.csv", "b.csv", "--html", "report.html", form]) == 0
    told = capsys.readouterr()
    assert "Page: report.html" in told.err
    assert "Page:" not in told.out
    if form == "--json":
        assert json.loads(told.out)["n_pairs"] == 6


def test_commands_look_at_the_path_before_they_compute(folder, capsys, monkeypatch):
    (folder / "report.html").write_text("mine")
    monkeypatch.setattr("copula_discrepancy.commands.rank_pairs", lambda *_, **__: pytest.fail("computed in vain"))
    for arguments in (["compare", "a.csv", "b.csv"], ["check", "a.csv"], ["demo"]):
        assert main([*arguments, "--html", "report.html"]) == 1
        assert "report.html already there; give another name, or overwrite with force=True (--force)" in capsys.readouterr().err
        assert main([*arguments, "--html", "nowhere/report.html"]) == 1
        assert "the folder nowhere is not there" in capsys.readouterr().err
    assert (folder / "report.html").read_text() == "mine"
    with pytest.raises(SystemExit) as end:
        main(["check", "a.csv", "--force"])
    assert end.value.code == 2
    assert "--force belongs to --html" in capsys.readouterr().err


def test_force_overwrites(folder, capsys):
    (folder / "report.html").write_text("mine")
    assert main(["compare", "a.csv", "b.csv", "--html", "report.html", "--force"]) == 0
    assert "pairs" in words_of("report.html")


def test_a_gate_that_fails_still_writes_its_page(folder, capsys):
    assert main(["compare", "a.csv", "b.csv", "--html", "report.html", "--fail-above", "0.0001"]) == 3
    assert (folder / "report.html").exists()


def test_file_names_in_the_command_are_escaped(folder, capsys):
    shutil.copy("a.csv", "<b>&.csv")
    assert main(["check", "<b>&.csv", "--html", "report.html"]) == 0
    assert "<b>&" not in (folder / "report.html").read_text(encoding="utf-8")
    assert "copula-discrepancy check '<b>&.csv' --html report.html" in words_of("report.html")


def test_the_template_refuses_what_it_is_not_given():
    with pytest.raises(Exception, match="undefined"):
        writing.render({})
