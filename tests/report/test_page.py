"""The page as a file: what stands in it, what stands beside it, and what happens where it cannot be written."""

import base64
import errno
import io
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import copula_discrepancy as cd
from copula_discrepancy._core.caveats import KINDS, caveat_of
from copula_discrepancy._core.files import json_text
from copula_discrepancy.cli.parser import main
from copula_discrepancy.compare import tested_wording
from copula_discrepancy.compare.wording import answer_line
from copula_discrepancy.estimate.agreement import RHAT_LIMIT
from copula_discrepancy.estimate.multiplicity import in_words
from copula_discrepancy.estimate.tails import CORNERS
from copula_discrepancy.report.page import content, details, meaning, methods, writing
from copula_discrepancy.report.plots.densities import Densities
from copula_discrepancy.report.plots.maps import beyond_chance, cell_colours
from tests.caveat_codes import codes_of
from tests.lean_pages import not_drawn, not_written
from tests.no_fits import not_fitted
from tests.page_samples import HOSTILE, comparison, page_of, timed_page_of
from tests.pairwise_data import autoregressive, gaussian
from tests.refusals import refused

MEGABYTE = 2**20


@pytest.fixture
def few_pictures(monkeypatch):
    """For pages of which one pair in pictures says enough."""
    monkeypatch.setattr(content, "DETAILS", 1)


@pytest.fixture
def no_pictures(monkeypatch):
    """For pages of which the pictures are not the matter."""
    monkeypatch.setattr(content, "DETAILS", 0)


def words_of(path):
    """What a reader reads: the page's text without its tags."""
    text = re.sub(r"<(style|script).*?</\1>", "", Path(path).read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def command_of(path):
    """The call that the page says it was made by."""
    return unescape(re.search(r"<pre>(.*?)</pre>", Path(path).read_text(encoding="utf-8"), flags=re.DOTALL).group(1))


def repeated(path, draws):
    """The result of that call, with these draws."""
    return eval(command_of(path).rpartition(".to_html(")[0], {"cd": cd, "draws": draws})


def numbers_of(page, place):
    """The whole numbers in the heading or paragraph that begins here."""
    text = re.split("</h2>|</p>", page.split(place)[1])[0]
    return [int(number.replace(",", "")) for number in re.findall(r"(?<=[>\s])\d[\d,]*(?=\s)", text)]


def table_of(page):
    """The ranking, row by row: what stands below every heading, and where the pair leads."""
    table = page.split('<table id="ranking">')[1].split("</table>")[0]
    head, body = table.split("<tbody>")
    heads = re.findall(r"<button type=\"button\">(.*?)</button>", head)
    found = []
    for row in re.findall(r"<tr[^>]*>(.*)", body):
        cells = [unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.split(r"<t[dh][^>]*>", row)[1:]]
        link = re.search(r'href="#([^"]*)"', row)
        found.append(dict(zip(heads, cells, strict=True)) | {"link": link and link.group(1)})
    return found


def test_a_page_says_what_was_found_how_sure_it_is_and_how_it_was_made():
    result, told = comparison("eight"), words_of(page_of("eight"))
    assert answer_line(result) in told
    assert (result.n_flagged, len(result)) == (34, 45)
    for sentence in result.sentences().values():
        assert sentence in told
    for warning in result.warnings:
        assert warning in told
    for _, sentence in meaning.of_pairs(result):
        assert sentence in told
    for name in ("n_eff", "n_eff_target"):
        assert f"{result.rows[name].min():,.0f} to {result.rows[name].max():,.0f}" in told
    assert f" {(result.rows['rhat'] > RHAT_LIMIT).sum()} of 45 pairs" in told
    tests = sum(np.isfinite(result.rows[f"{name}_pvalue"]).sum() for name in ("level", "shape", "tails", "form"))
    assert f"{tests} tests" in told
    for sentence in methods.of_pairs(result):
        assert sentence in told
    assert "seed 1" in told
    assert f"copula-discrepancy {cd.__version__}" in told
    assert f"numpy {np.__version__}" in told
    call = command_of(page_of("eight"))
    function, _, arguments = call.partition("(")
    assert function == "cd.pairwise"
    assert {"draws", "reference", "method='mle'", "iid=False", "confidence=0.95"} <= set(arguments.split(", "))
    assert "report.json" in told


def test_the_json_beside_the_page_has_every_number():
    result = comparison("eight")
    found = json.loads(page_of("eight").with_name("report.json").read_text(encoding="utf-8"))
    plain = json.loads(json_text(result.to_dict()))
    assert {name: found[name] for name in plain} == plain
    assert len(found["pairs"]) == 45
    detail = found["details"][0]
    single = result.pair(*result.worst.names)
    assert detail["names"] == list(result.worst.names)
    assert [tau["value"] for tau in detail["agreement"]["taus"]] == [tau.value for tau in single.agreement.taus]
    assert detail["running"]["total"][-1] == single.total.value
    assert found["made"]["seed"] == 1


def test_the_table_shows_the_numbers_of_the_json():
    result, page = comparison("eight"), page_of("eight").read_text(encoding="utf-8")
    forms = {
        "tau": ("tau", ".2f"), "target": ("tau_target", ".2f"), "level": ("level", "+.3f"), "level se": ("level_se", ".3f"),
        "shape": ("shape", "+.3f"), "shape se": ("shape_se", ".3f"), "form": ("form", ".2f"),
        "kept": ("kept", ".0%"), "low-low": ("low_low", "+.2f"),
        "high-high": ("high_high", "+.2f"), "low-high": ("low_high", "+.2f"), "CKL": ("ckl", ".4f"), "R-hat": ("rhat", ".3f"),
    }  # fmt: skip
    articles = dict(re.findall(r'<article id="([^"]*)".*?<h3[^>]*>(.*?) <span', page, flags=re.DOTALL))
    for rank, (row, gap) in enumerate(zip(table_of(page), result, strict=True), start=1):
        plain = gap.to_dict()
        for head, (name, form) in forms.items():
            text = f"{plain[name]:{form}}" if math.isfinite(plain[name]) else "-"
            if text == "-":
                assert (head, row[head]) == ("kept", "-")  # of nothing
                continue
            assert row[head] == (text.lstrip("+-") if float(text.strip("%")) == 0.0 else text), (head, gap.label)
        p = min(gap.level_adjusted, gap.shape_adjusted, gap.tails_adjusted, gap.form_adjusted)
        assert row["p"] == ("<0.001" if p < 0.001 else f"{p:.3f}")
        assert row["n_eff"] == f"{min(gap.n_eff, gap.n_eff_target):,.0f}"
        assert (row["#"], row["pair"], row["verdict"], row["family"]) == (str(rank), gap.label, gap.verdict, gap.family)
        assert row["link"] == (f"pair-{rank}" if rank <= 2 else None)
        if rank <= 2:
            assert unescape(re.sub(r"<[^>]*>", "", articles[row["link"]])) == gap.label


def test_the_page_of_one_pair():
    result, told = comparison("single"), words_of(page_of("single"))
    assert answer_line(result) in told
    assert result.tests.beyond("shape")
    assert result.tests.off_corners == ["low_low", "high_high"]
    assert result.sentences()["Tails"] in told
    again = repeated(page_of("single"), cd.Clayton(3.0).sample(2000, rng=1).reshape(4, 500, 2))
    assert again.estimates["total"] == result.estimates["total"]
    found = json.loads(page_of("single").with_name("report.json").read_text(encoding="utf-8"))
    assert found["shape"]["value"] == result.shape.value
    assert len(found["agreement"]["taus"]) == 4
    assert found["running"]["draws"][-1] == 2000


def warned():
    """A hostile name in a warning: its chain stands still."""
    rng = np.random.default_rng(6)
    columns = {HOSTILE[0]: rng.normal(size=(4, 100)), HOSTILE[1]: rng.normal(size=(4, 100)), "c": rng.normal(size=(4, 100))}
    columns[HOSTILE[0]][1] = 0.0
    return columns


@pytest.mark.parametrize("make", ["one pair", "all pairs", "vine", "nothing"])
def test_hostile_names_are_text_wherever_they_stand(tmp_path, few_pictures, make):
    draws = warned()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        two = {name: draws[name] for name in HOSTILE[:2]}
        result = {
            "one pair": lambda: cd.discrepancy(two, cd.Gaussian(0.0)),
            "all pairs": lambda: cd.pairwise(draws, np.eye(3)),
            "vine": lambda: cd.vine(draws, {name: np.random.default_rng(7).normal(size=(4, 100)) for name in draws}),
            "nothing": lambda: cd.pairwise(draws, family="frank"),
        }[make]()
    path = tmp_path / "<b>&'x' #1.html"
    page = result.to_html(path).read_text(encoding="utf-8")
    assert page.count("<script") == (1 if make == "one pair" else 2)
    assert "<img src=x" not in page
    assert "<b>&'x'" not in page
    assert 'href="./%3Cb%3E%26%27x%27%20%231.json"' in page
    (sentence,) = [caveat.sentence for caveat in result.caveats if caveat.code == "stuck-chain"]
    assert HOSTILE[0] in sentence
    assert sentence in words_of(path)


ODD = (
    "data:image/png;base64,x", "", "fill: #000000", " \n", 'a id="q" url(#x', "a\u202eb\0", "a\udc80", "\u53d8\u91cf",
)  # fmt: skip


@pytest.fixture(scope="module")
def odd_pages(tmp_path_factory):
    """Two odd names on each page: what a reader reads there, and the names in the file beside it."""
    folder, draws = tmp_path_factory.mktemp("odd"), cd.Gumbel(2.0).sample(200, rng=1)
    found = {}
    for k in range(0, len(ODD), 2):
        names = ODD[k : k + 2]
        result = cd.discrepancy(dict(zip(names, draws.T, strict=True)), cd.Gumbel(2.0))
        told = words_of(result.to_html(folder / f"{k}.html"))
        written = json.loads((folder / f"{k}.json").read_text(encoding="utf-8"))["names"]
        found |= {name: (told, written, [*names]) for name in names}
    return found


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("data:image/png;base64,x", "rank of data:image/png;base64,x"),
        ("fill: #000000", "rank of fill: #000000"),
        ('a id="q" url(#x', 'rank of a id="q" url(#x'),
        ("", "rank of (blank)"),
        (" \n", "rank of (blank)"),
        ("a\u202eb\0", "rank of a\ufffdb\ufffd"),
        ("a\udc80", "rank of a\ufffd"),
        ("\u53d8\u91cf", "rank of \u53d8\u91cf"),
    ],
)
def test_odd_names_stand_in_pictures_as_they_are(odd_pages, name, shown):
    told, written, names = odd_pages[name]
    assert shown in told
    assert "\0" not in told
    assert written == names


def test_names_that_look_alike_when_cut_are_told_apart(tmp_path, few_pictures):
    names = [f"{'p' * 60}{sign}{'q' * 60}" for sign in "ABC"]
    result = cd.pairwise(pd.DataFrame(gaussian(np.random.default_rng(8), 200, np.eye(3)), columns=names), np.eye(3))
    rows = table_of(result.to_html(tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len({row["pair"] for row in rows}) == 3
    labels = cd.pairwise(pd.DataFrame(gaussian(np.random.default_rng(8), 200), columns=["a ~ b", "c", "a", "b ~ c"]), np.eye(4))
    page = labels.to_html(tmp_path / "labels.html").read_text(encoding="utf-8")
    assert [row["link"] for row in table_of(page)] == ["pair-1", *[None] * 5]


def test_pictures_point_to_parts_of_their_own():
    page = page_of("single").read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]*)"', page)
    assert len(set(ids)) == len(ids)
    used = re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"', page)
    assert len(used) > 20
    assert {first or second for first, second in used} <= set(ids)


def test_pictures_are_told_in_words():
    result, page = comparison("single"), page_of("single").read_text(encoding="utf-8")
    labels = [unescape(text) for text in re.findall(r'role="img" aria-label="([^"]*)"', page)]
    draws, target, form, gaps, chains, trace = labels[2:]
    assert labels[:2] == [draws, target]  # beside the answer
    assert form == Densities.of(result.form).words("draws", "target", result.fit.pair.names)
    assert f"form {result.form.value:.3f} ({result.form.ci[0]:.3f} to {result.form.ci[1]:.3f})" in gaps
    assert f" {result.tau:.2f}," in draws
    assert f" {result.tau_target:.2f}." in target
    assert f"shape {result.shape.value:.3f} ({result.shape.ci[0]:.3f} to {result.shape.ci[1]:.3f})" in gaps
    pooled = result.estimates["tau"]
    assert f"{pooled.value:.3f} ({pooled.ci[0]:.3f} to {pooled.ci[1]:.3f})" in chains
    assert f" {result.tau_target:.2f}." in chains
    assert all(f"{tau.value:.3f} ({tau.ci[0]:.3f}" in chains for tau in result.agreement.taus)
    assert f" {result.total.value:.3f} ({result.total.ci[0]:.3f}" in trace


def test_without_a_target_the_json_has_what_the_pictures_show(tmp_path, few_pictures):
    rng = np.random.default_rng(9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        result = cd.pairwise(gaussian(rng, (4, 200)), family="frank", confidence=0.8)
    page = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    detail = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["details"][0]
    (first, second), taus = detail["names"], detail["agreement"]["taus"]
    single = cd.discrepancy(result.samples[0].select([first, second]), cd.Frank(1.0), confidence=0.8)
    assert [tau["ci"] for tau in taus] == [list(tau.ci) for tau in single.agreement.taus]
    assert f"{taus[3]['value']:.3f} ({taus[3]['ci'][0]:.3f}" in page
    assert len(detail["tail_shares"]["draws"]) == 2
    assert "80% intervals" in page


def test_names_are_escaped():
    path = page_of("hostile")
    page = path.read_text(encoding="utf-8")
    for name in HOSTILE[:3]:
        assert name not in page.replace("\\u003c", "<").split('id="map-data"')[0]
    assert page.count("<script") == 2  # the page's own, and its numbers
    assert "<img src=x" not in page
    assert HOSTILE[0] in words_of(path)
    data = re.search(r'id="map-data">(.*?)</script>', page, flags=re.DOTALL).group(1)
    assert json.loads(data)["names"][2] == HOSTILE[2]


@pytest.mark.parametrize(
    ("name", "outcome", "flagged", "state"),
    [
        ("fine", "no gap", 0, "fine"),
        ("untestable", "not tested", 0, "unknown"),
        ("two", "gap", 1, "off"),
        ("short", "no gap", 0, "unknown"),  # with reservations
        ("moment", "gap", 3, "off"),
        ("crash", "gap", 1, "off"),
    ],
)
def test_headings(name, outcome, flagged, state):
    result, page = comparison(name), page_of(name).read_text(encoding="utf-8")
    found = re.search(r'<h1 class="(\w+)">.*?</span>(.*?)</h1>', page)
    assert (found.group(2).strip(), found.group(1)) == (answer_line(result), state)
    assert (result.outcome, result.n_flagged) == (outcome, flagged)


def test_a_page_whose_margins_differ_is_not_green(tmp_path):
    draws, reference = np.random.default_rng(3).standard_normal((2, 500, 2))
    result = cd.pairwise(draws + [0.0, 1.0], reference, family="gaussian", iid=True)
    page = result.to_html(tmp_path / "moved.html")
    assert result.outcome == "no gap"
    assert re.search(r'<h1 class="(\w+)">', page.read_text(encoding="utf-8")).group(1) == "unknown"
    assert result.margins.line in words_of(page)
    assert json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["margins"]["n_flagged"] == 1


def test_a_single_pair_has_no_map_and_more_have_one_for_each_gap():
    def maps(name):
        return re.findall(r'data-map="(\w+)"', page_of(name).read_text(encoding="utf-8"))

    assert maps("two") == []
    assert maps("fine") == ["level", "shape", "kept"]
    assert maps("moment") == ["level", "kept"]  # there is no shape
    assert maps("nothing")[:3] == ["shape", "form", "low_low"]  # there is no target to keep anything of, and tails are off
    assert set(maps("nothing")[3:]) < {"high_high", "low_high", "high_low"}
    assert maps("crash") == ["level", "shape", "kept", "low_low"]


def test_doubtful_answers_are_told_beside_the_answer():
    def notes(name):
        head = page_of(name).read_text(encoding="utf-8").split("</header>")[0]
        return [unescape(re.sub(r"<[^>]*>", "", note)) for note in re.findall(r'<p class="note">(.*?)</p>', head)]

    first, *others = comparison("failed chain").warnings
    (note,) = notes("failed chain")
    assert first in note
    assert re.findall(r"\d+", note.replace(first, "")) == [f"{len(others)}"]
    assert notes("fine") == []


def test_notes_beside_the_pictures_of_a_pair_are_text(tmp_path):
    draws = warned()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        result = cd.pairwise({name: draws[name] for name in HOSTILE[:2]}, np.eye(2))
    page = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    article = page.split("<article")[1].split("</article>")[0]
    (sentence,) = [caveat.sentence for caveat in result.caveats if caveat.code == "stuck-chain"]
    assert "<script" not in article
    assert f"<b>{sentence}" in unescape(article)
    assert KINDS["stuck-chain"][1] in article
    assert page.count("<script") == 1  # the page's own: two variables have no map


def test_a_page_fits_nothing(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    draws, reference = (autoregressive(rng, 4, 300, 0.95) for _ in range(2))  # slow: errors from left-out blocks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        results = [cd.discrepancy(draws[..., :2], cd.Gaussian(0.5)), cd.discrepancy(draws[..., :2], reference[..., :2])]
        results += [cd.pairwise(draws, reference), cd.pairwise(draws, cd.Frank(3.0)), cd.pairwise(draws)]
    not_fitted(monkeypatch)
    not_written(monkeypatch)  # every pair is drawn, and only drawing could fit
    for k, result in enumerate(results):
        result.to_html(tmp_path / f"{k}.html")


def test_the_name_of_the_json_is_text_below_a_cut_table(tmp_path, no_pictures, monkeypatch):
    monkeypatch.setattr(content, "TABLE_ROWS", 2)
    path = comparison("fine").to_html(tmp_path / "<u>&.html")
    page = path.read_text(encoding="utf-8")
    assert "<u>" not in page
    assert "&lt;u&gt;&amp;.json" in page.split('<section id="table"')[1].split("<form")[0]


def test_a_map_that_has_room_for_half_a_pair_keeps_the_worst_ones(tmp_path, no_pictures, monkeypatch):
    """Taus of about 0.7 and 0.5 where none should be; all others are chance, about 0.03 with so many draws."""
    monkeypatch.setattr(content, "MAPPED", 3)
    draws = np.random.default_rng(1).normal(size=(400, 6))
    draws[:, 1] += 2.0 * draws[:, 0]
    draws[:, 4] += draws[:, 3]
    result = cd.pairwise(draws, np.eye(6), iid=True, method="moment")
    assert [gap.names for gap in (result[0], result[1])] == [("x0", "x1"), ("x3", "x4")]
    page = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="map-data">(.*?)</script>', page, flags=re.DOTALL).group(1))
    assert data["names"] == ["x0", "x1", "x3"]


def test_methods_tell_how_families_were_fitted():
    draws = cd.Gumbel(2.0).sample(300, rng=1)

    def told(of, function, method):
        return of(function(draws, cd.Gumbel(2.0), method=method))

    for of, function in ((methods.of_one, cd.discrepancy), (methods.of_pairs, cd.pairwise)):
        likely, inverted = (told(of, function, method) for method in ("mle", "moment"))
        (changed,) = [pair for pair in zip(likely, inverted, strict=True) if pair[0] != pair[1]]
        assert ["likelihood" in sentence for sentence in changed] == [True, False]
        assert ["Kendall's tau" in sentence for sentence in changed] == [False, True]


def test_without_a_target_notes_and_words_of_a_pair_are_those_of_its_fit():
    def article(name):
        page = page_of(name).read_text(encoding="utf-8")
        return page.split("<article")[1].split("</article>")[0]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        fits = {name: comparison(name).fitted(*comparison(name).worst.names) for name in ("table", "untestable")}
    (note,) = fits["untestable"].warnings
    assert f"<b>{note}" in unescape(article("untestable"))
    fit = fits["table"]
    assert f"{fit.tau:.2f}" != f"{fit.sample_tau:.2f}"
    own, beside, form, _ = re.findall(r'role="img" aria-label="([^"]*)"', article("table"))
    assert unescape(form) == Densities.of_fit(fit, 4).words("rows", f"fitted {fit.family}", fit.pair.names)
    assert f" {fit.sample_tau:.2f}," in unescape(own)
    assert f" {fit.family}," in unescape(beside)
    assert unescape(beside).endswith(f" {fit.tau:.2f}.")


def test_corners_have_columns_where_they_are_off_or_along_the_dependence():
    """Two of the four, where the others say nothing; the JSON has all."""

    def columns(name):
        return [head for head in table_of(page_of(name).read_text(encoding="utf-8"))[0] if re.fullmatch(r"(low|high)-.*", head)]

    assert columns("fine") == ["low-low", "high-high"]  # four of six pairs depend positively
    assert columns("two signs") == ["low-high", "high-low"]  # two of three pairs depend negatively
    assert columns("eight") == ["low-low", "high-high", "low-high"]  # where one pair is off
    assert columns("crash") == ["low-low", "high-high"]
    labels = [corner.label for corner in CORNERS.values()]
    some, every = (methods.terms(shown, "", "draws")[", ".join(labels)] for shown in (labels[:2], labels))
    assert some.startswith(every)
    assert some != every  # it says which are shown
    assert some in words_of(page_of("eight"))
    pairs = json.loads(page_of("fine").with_name("report.json").read_text(encoding="utf-8"))["pairs"]
    assert all(f"{corner}{end}" in pair for pair in pairs for corner in CORNERS for end in ("", "_se", "_pvalue", "_share"))


@pytest.mark.parametrize("name", ["crash", "table", "hostile"])
def test_pages_of_tables_speak_of_rows(name):
    """But for what is typed, and for the names of the pictures' parts; a sampler's draws are draws."""
    page = page_of(name).read_text(encoding="utf-8").split("How this page was made")[0]
    seen = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    told = " ".join([re.sub(r"<[^>]*>", " ", seen), *re.findall(r'(?:aria-label|alt)="([^"]*)"', seen)])
    strange = re.findall(r".{0,40}\b(?:draws?|Draws?|chains?|sampler|stuck)\b.{0,40}", unescape(told))
    assert [words for words in strange if "time series" not in words] == []
    assert len(re.findall(r"\brows?\b", told)) > 10
    assert "all rows" in told  # in the picture of Kendall's tau
    assert len(re.findall(r"\bdraws?\b", words_of(page_of("fine")))) > 10
    assert re.findall(r"\brows?\b", words_of(page_of("fine"))) == []


def test_corners_that_are_off_are_marked_and_told_without_a_target_too():
    result, told = comparison("table"), words_of(page_of("table"))
    off = [name for name in CORNERS if beyond_chance(result, name)[0]]
    assert "low_low" in off
    assert "low_high" in off  # along the dependence
    detail = json.loads(page_of("table").with_name("report.json").read_text(encoding="utf-8"))["details"][0]
    assert set(detail["tail_shares"]["rows"]) == {CORNERS[name].label for name in (*off, "high_low")}
    share = result.worst.low_low_share
    assert detail["tail_shares"]["rows"]["low-low"] == share
    begin, there = CORNERS["low_low"].words(("equity", "bonds"), result.tail, result.things)
    assert f"{begin}, {100 * share:.0f} are {there}" in told
    maps = told.split(" at a glance")[1].split("worst first")[0]
    assert all(CORNERS[name].label in maps for name in off)


def article_of(name, place=0):
    return page_of(name).read_text(encoding="utf-8").split("<article")[place + 1].split("</article>")[0]


def test_form_is_in_the_details_of_a_pair_and_in_the_json():
    result = comparison("eight")
    found = json.loads(page_of("eight").with_name("report.json").read_text(encoding="utf-8"))
    for place, whole in enumerate(found["details"]):
        form, detail = result.pair(*result[place].names).form, whole["form"]
        assert detail["coefficients"] == form.coefficients.tolist()
        assert (detail["pattern"], detail["code"], detail["kept"]["value"]) == (form.pattern, form.code, form.kept.value)
        assert form.pattern[1:] in unescape(article_of("eight", place))
        assert f"form {form.value:.2f}, kept {100 * form.kept.value:.0f}%" in article_of("eight", place)
    for gap, pair in zip(result, found["pairs"], strict=True):
        kept = None if math.isnan(gap.kept) else gap.kept
        assert (pair["form"], pair["kept"], pair["pattern"]) == (gap.form, kept, gap.pattern)
    assert any(pair["pattern"] for pair in found["pairs"])


def test_without_a_target_form_is_that_of_the_fitted_family():
    result = comparison("nothing")
    detail = json.loads(page_of("nothing").with_name("report.json").read_text(encoding="utf-8"))["details"][0]
    gap = result.worst
    assert (detail["form"], detail["form_adjusted"], detail["pattern"]) == (gap.form, gap.form_adjusted, gap.pattern)
    assert f"{gap.pattern}, which {gap.family} cannot describe" in unescape(article_of("nothing"))
    fine = cd.pairwise(gaussian(np.random.default_rng(1), (4, 500)), family="gaussian")
    assert not fine.n_flagged
    (told,) = [worst.sentences["Form"] for worst in details.worst_pairs(fine, 1)]
    assert told.startswith("no gap found")


def test_the_map_of_a_pair_has_the_colours_of_its_densities():
    """The image in the page is the difference of the densities, from above, whatever way it was written."""
    result = comparison("single")
    drawn = article_of("single").split('id="pair-1-form-scale"')[1].split("</svg>")[0]
    (image,) = re.findall(r'<image href="data:image/png;base64,([^"]*)"', drawn)
    pixels = np.round(255.0 * plt.imread(io.BytesIO(base64.b64decode(image)))).astype(np.uint8)
    found = Densities.of(result.form)
    np.testing.assert_array_equal(pixels, cell_colours(found.difference[::-1], found.limit))
    blue, orange = pixels[0, -1], pixels[-1, 0]  # Clayton's draws: too few where both are high, too many where both are low
    assert blue[2] > blue[0]
    assert orange[0] > orange[2]


def test_contours_of_a_family_that_does_not_fit_are_pale():
    """Clayton's draws fitted by a Gumbel copula; the target's own contours are right."""

    def strokes(name, panel):
        cloud = article_of(name).split(f'id="pair-1-cloud-{panel}-figure_1"')[1].split("</svg>")[0]
        contours = cloud.split("-QuadContourSet_1")[1].split("</g>")[0]
        return set(re.findall(r"stroke: ([^;\"]*)", contours)), "the family does not fit" in cloud

    assert strokes("single", 0) == ({"var(--faint)"}, True)
    assert strokes("single", 1) == ({"currentColor"}, False)
    assert strokes("fine", 0) == strokes("fine", 1) == ({"currentColor"}, False)
    assert strokes("nothing", 0) == ({"var(--faint)"}, True)
    found = json.loads(page_of("single").with_name("report.json").read_text(encoding="utf-8"))
    assert found["family_fits"] == [False, True]


def test_where_no_gap_is_found_the_page_says_what_was_tested():
    def topics(name):
        answer = page_of(name).read_text(encoding="utf-8").split('<dl class="answer">')[1].split("</dl>")[0]
        return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", answer))

    told = topics("fine")
    assert list(told)[:2] == ["Answer", "Tested"]
    assert told["Tested"] == tested_wording.tested(comparison("fine"))
    assert "Tested" not in topics("two")  # gaps were found
    assert words_of(page_of("fine")).count(told["Tested"]) == 1  # not again at every pair
    assert "<dt>Tested</dt>" not in page_of("two").read_text(encoding="utf-8")


# ---- size and time -------------------------------------------------------------------------------------------------


def test_fifty_variables_take_a_page_below_three_megabytes_and_ten_seconds():
    page, seconds = timed_page_of("fifty")
    assert page.read_text(encoding="utf-8").count("<article") == content.DETAILS > 1
    assert seconds < 10.0
    assert page.stat().st_size < 3 * MEGABYTE


def test_pages_of_many_variables_stay_small():
    result, page = comparison("many"), page_of("many")
    assert page.stat().st_size < 3 * MEGABYTE
    text = page.read_text(encoding="utf-8")
    assert numbers_of(text, '<h2 id="table-head"') == [2000, 2404]
    assert numbers_of(text, "at a glance</h2>") == [305, 300]
    data = json.loads(re.search(r'id="map-data">(.*?)</script>', text, flags=re.DOTALL).group(1))
    kept = {int(name.split()[0]) for name in data["names"]}
    worst = {int(gap.names[k].split()[0]) for gap, _ in zip(result, range(100), strict=False) for k in (0, 1)}
    assert len(kept) == 300
    assert worst <= kept


def test_pages_of_endless_names_stay_small(tmp_path, few_pictures):
    rng = np.random.default_rng(2)
    names = [f"{k}" + "<" * 100_000 + f"{k}" for k in range(6)]
    samples = (pd.DataFrame(gaussian(rng, 300, np.eye(6)), columns=names) for _ in range(2))
    result = cd.pairwise(*samples, family="gaussian", iid=True)
    page = result.to_html(tmp_path / "report.html")
    assert page.stat().st_size < 0.4 * MEGABYTE  # one name takes as much, escaped
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["names"] == names


def test_pages_of_a_thousand_chains_stay_small(tmp_path, few_pictures):
    rng = np.random.default_rng(3)
    draws, reference = (gaussian(rng, (1000, 20)) for _ in range(2))
    result = cd.pairwise(draws, reference, family="gaussian", iid=True)
    assert result.to_html(tmp_path / "report.html").stat().st_size < MEGABYTE / 2  # with one pair of six


def test_the_table_has_the_worst_pairs(tmp_path, no_pictures, monkeypatch):
    monkeypatch.setattr(content, "TABLE_ROWS", 7)
    result = comparison("eight")
    page = result.to_html(tmp_path / "report.html").read_text(encoding="utf-8")
    rows = table_of(page)
    assert [row["pair"] for row in rows] == [gap.label for gap, _ in zip(result, range(7), strict=False)]
    assert numbers_of(page, '<h2 id="table-head"') == [7, 45]


def test_the_json_has_the_worst_of_very_many_pairs_unless_all_are_asked_for(tmp_path, no_pictures, monkeypatch):
    monkeypatch.setattr(content, "JSON_PAIRS", 7)
    result = comparison("eight")
    part = json.loads(result.to_html(tmp_path / "part.html").with_suffix(".json").read_text(encoding="utf-8"))
    whole = json.loads(result.to_html(tmp_path / "all.html", all_pairs=True).with_suffix(".json").read_text(encoding="utf-8"))
    assert len(part["pairs"]) == 7
    assert part["pairs"] == whole["pairs"][:7]
    assert part["n_pairs"] == len(whole["pairs"]) == 45
    assert "omitted" not in whole
    assert "all_pairs=True" in part["omitted"]
    assert "--json" in part["omitted"]
    assert part["omitted"] in words_of(tmp_path / "part.html")
    assert "all_pairs" not in words_of(tmp_path / "all.html")
    edges = comparison("vine").to_html(tmp_path / "vine.html").with_suffix(".json")
    assert len(json.loads(edges.read_text(encoding="utf-8"))["edges"]) == 7
    with pytest.raises(cd.InputError) as error:
        result.to_html(tmp_path / "other.html", all_pairs="yes")
    assert "all_pairs" in str(error.value)
    assert not (tmp_path / "other.html").exists()


# ---- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("report.pdf", r"\.html.*'report\.pdf'"),
        ("report", r"\.html.*'report'"),
        ("nowhere/report.html", r" nowhere\b(?!/)"),  # the folder
        ("folder.html", r"^folder\.html"),
        ("beside.html", r"^beside\.json"),
        ("x" * 300 + ".html", os.strerror(errno.ENAMETOOLONG)),
        ("a\0b.html", r"'a\\x00b\.html'"),
        ("file.txt/report.html", r" file\.txt\b(?!/)"),
        (3, r"^path.*'report\.html', got 3"),
    ],
)
def test_paths_that_no_page_can_have(tmp_path, no_pictures, monkeypatch, path, named):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "beside.json").mkdir()
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(cd.InputError, match=named):
        comparison("fine").to_html(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["beside.json", "file.txt", "folder.html"]


@pytest.mark.parametrize("there", ["report.html", "report.json"])
def test_files_that_are_there_are_kept_unless_forced(tmp_path, no_pictures, there):
    (tmp_path / there).write_text("mine")
    with pytest.raises(cd.InputError, match=rf"{there}\b.*\bforce=True"):
        comparison("fine").to_html(tmp_path / "report.html")
    assert [file.name for file in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"
    assert comparison("fine").to_html(tmp_path / "report.html", force=True) == tmp_path / "report.html"
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["n_pairs"] == 6
    with pytest.raises(cd.InputError, match=r"^force .*'yes'"):
        comparison("fine").to_html(tmp_path / "report.html", force="yes")


def test_a_folder_without_permission(tmp_path, no_pictures, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(cd.InputError, match=rf" {re.escape(str(tmp_path))}; {re.escape(writing.WAY_OUT)}$"):
        comparison("fine").to_html(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_links_that_lead_nowhere_are_there(tmp_path, no_pictures):
    (tmp_path / "report.html").symlink_to(tmp_path / "nowhere")
    with pytest.raises(cd.InputError, match=r"report\.html\b.*\bforce=True"):
        comparison("fine").to_html(tmp_path / "report.html")


@pytest.mark.parametrize("linked", [True, False])
def test_what_comes_into_being_meanwhile_is_kept(tmp_path, no_pictures, monkeypatch, linked):
    """Another process writes the same page while this one computes."""
    page = tmp_path / "report.html"
    render = writing.render

    def slow(*arguments):
        page.write_text("theirs")
        return render(*arguments)

    def no_links(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(writing, "render", slow)
    if not linked:
        monkeypatch.setattr(os, "link", no_links)
    with refused("file"):
        comparison("fine").to_html(page)
    assert page.read_text() == "theirs"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    monkeypatch.setattr(writing, "render", render)
    comparison("fine").to_html(tmp_path / "other.html")  # with links or without
    assert (tmp_path / "other.json").exists()


def test_a_page_that_cannot_be_made_leaves_its_numbers_as_they_were(tmp_path, no_pictures, monkeypatch):
    comparison("fine").to_html(tmp_path / "report.html")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    monkeypatch.setattr(writing, "render", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        comparison("fine").to_html(tmp_path / "report.html", force=True)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_threads_leave_the_settings_of_matplotlib_alone(tmp_path, few_pictures):
    before = dict(mpl.rcParams)
    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(lambda k: comparison("nothing").to_html(tmp_path / f"{k}.html"), range(4)))
    assert dict(mpl.rcParams) == before
    assert len({re.sub(r"\d\.(html|json)|On \d{4}.*? UTC", "", page.read_text(encoding="utf-8")) for page in pages}) == 1
    assert not plt.get_fignums()


def test_a_full_disk_leaves_what_was_there(tmp_path, no_pictures, monkeypatch):
    page = tmp_path / "report.html"
    page.write_text("mine")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with refused("file") as caught:
        comparison("fine").to_html(page, force=True)
    assert os.strerror(errno.ENOSPC) in str(caught.value)
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
        return make().caveats


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
    assert len({caveat.code for caveat in told}) > 8
    assert all(caveat.advice == KINDS[caveat.code][1] for caveat in told)


def test_what_is_asked_is_said_once_of_several_of_a_kind():
    codes = ("stuck-chain", "stuck-chain", "few-effective-draws")
    told = meaning.explained([*(caveat_of(code, "a sentence") for code in codes), cd.Caveat("new", "a sentence")])
    assert [bool(meant) for _, meant in told] == [False, True, True, False]


def without_numbers(text):
    return re.sub(r"\d[\d.,]*", "#", text)


def test_effective_draws_are_enough_or_not():
    def told(n_eff, iid=False):
        return meaning._effective([meaning.Sample(4, 500, np.array(n_eff), np.ones(2))], (iid, iid), "pair", "draws")

    enough, rough, few = (told([lowest, 500.0]) for lowest in (400.0, 399.0, 40.0))  # 100 for each of four chains
    assert "400 to 500" in enough
    assert "399 to 500" in rough
    assert "2,000" in enough
    assert without_numbers(enough) != without_numbers(rough) == without_numbers(few)
    nothing = told([math.nan, math.nan])
    assert re.findall(r"\d[\d,]*", nothing) == ["2,000"]
    assert re.findall(r"\d[\d,]*", told([400.0, 500.0], iid=True)) == ["2,000"]
    assert told([400.0, 500.0], iid=True) != nothing


def test_chains_agree_or_not():
    def told(rhat, n_chains=4, things="draws"):
        return meaning._agreement([meaning.Sample(n_chains, 500, np.ones(2), np.array(rhat))], "pair", things)

    limit = f"{RHAT_LIMIT:.3f}"
    agree, at_limit, apart = (told([1.0, highest]) for highest in (1.001, RHAT_LIMIT, RHAT_LIMIT + 0.001))
    assert "1.001" in agree
    assert limit in at_limit
    assert without_numbers(agree) == without_numbers(at_limit)
    assert "1 of 2 pairs" in apart
    assert " of 2 pairs" not in agree
    assert " of 2 pairs" not in told([math.nan, math.nan])
    rows = told([1.0, 1.2], n_chains=1, things="rows") + methods.terms(["R-hat"], "", "rows")["R-hat"]
    assert "chain" not in rows
    assert "rows" in rows


def told_of(result, term):
    return dict(meaning.of_pairs(result))[term]


def test_adjustments_in_words():
    rng = np.random.default_rng(4)
    samples = gaussian(rng, 300), gaussian(rng, 300)

    def told(adjust, **options):
        return told_of(cd.pairwise(*samples, family="gaussian", iid=True, adjust=adjust, **options), "p-values")

    for adjust in ("bh", "by", "holm", "bonferroni", "none"):
        sentence = told(adjust, confidence=0.9)
        assert sentence.startswith("24 tests")
        assert in_words(adjust, 0.1) in sentence
        assert set(re.findall(r"\d+%", sentence)) == {"10%"}
    promises = {adjust: told(adjust).split("): ")[1] for adjust in ("bh", "by", "holm", "bonferroni", "none")}
    assert promises["holm"] == promises["bonferroni"]  # of the family-wise error rate
    assert len(set(promises.values())) == 4
    assert told("bh", method="moment").startswith("18 tests")
    assert re.findall(r"\d", told_of(comparison("untestable"), "p-values")) == []


def test_what_may_hide_would_be_found_four_times_in_five():
    """The power of a two-sided test at the level that Bonferroni, or Benjamini-Hochberg's next step, leaves to each."""
    rng = np.random.default_rng(5)
    samples = gaussian(rng, 400), gaussian(rng, 400)

    def size(adjust, name):
        result = cd.pairwise(*samples, family="gaussian", iid=True, adjust=adjust)
        assert result.n_flagged == 0
        told = told_of(result, "No gap found")
        return float(re.search(rf"of ([0-9.e-]+) in {name}", told).group(1)), float(np.median(result.rows[f"{name}_se"]))

    for name in ("level", "shape"):
        for adjust, tests in (("none", 1), ("bonferroni", 24), ("bh", 24)):
            gap, se = size(adjust, name)
            z = stats.norm.isf(0.025 / tests)
            power = stats.norm.sf(z - gap / se) + stats.norm.cdf(-z - gap / se)
            assert power == pytest.approx(0.8, abs=0.05)  # two digits of the gap


def test_a_single_pair_tells_its_tests():
    draws = cd.Gumbel(2.0).sample(1000, rng=1)
    whole = dict(meaning.of_one(cd.discrepancy(draws, cd.Gumbel(2.0))))

    def tested(told):
        names, level = re.match(r"(.*) (\d+)%", told["p-values"]).groups()
        return re.findall("level|shape|tails|form", names), int(level)

    assert tested(whole) == (["level", "shape", "tails", "form"], 5)
    assert "in level" in whole["No gap found"]
    assert "in shape" in whole["No gap found"]
    moment = dict(meaning.of_one(cd.discrepancy(draws, cd.Gumbel(2.0), method="moment", confidence=0.9)))
    assert tested(moment) == (["level", "tails", "form"], 10)
    ranked = dict(meaning.of_one(cd.pairwise(draws, cd.Gumbel(2.0)).pair("x0", "x1")))
    assert tested(ranked) == tested(whole)
    assert ranked["p-values"] != whole["p-values"]  # adjusted with the tests of all pairs
    off = dict(meaning.of_one(comparison("single")))
    assert "in level" in off["No gap found"]  # of the two, only shape was found
    assert "in shape" not in off["No gap found"]


def test_few_independent_draws_are_not_told_to_run_longer(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        result = cd.discrepancy(cd.Gumbel(2.0).sample(60, rng=1), cd.Gumbel(2.0), iid=True)
    told = words_of(result.to_html(tmp_path / "few.html"))
    assert answer_line(result) in told
    assert result.outcome == "no gap"
    assert codes_of(result) == ["few-effective-draws"]
    assert KINDS["few-effective-draws"][1] in told
    assert re.findall(r"(?i)\bchains?\b|\blonger\b", told) == []
    assert "R-hat" not in told.split(" sure ")[1]
    assert methods.spoken(methods.ERRORS[True], result.things) in told


def test_pages_name_what_is_random_and_how_they_were_made(tmp_path, monkeypatch):
    not_drawn(monkeypatch)
    draws = cd.Gumbel(2.0).sample(200, rng=1)
    plain = cd.discrepancy(draws, cd.Rotated(cd.Gumbel(2.0), 180))
    told = words_of(plain.to_html(tmp_path / "plain.html"))
    assert methods.made("")["random"] in told
    assert repeated(tmp_path / "plain.html", draws).estimates["total"] == plain.estimates["total"]
    bootstrap = plain.infer(replications=20, rng=1)
    resampled = words_of(bootstrap.to_html(tmp_path / "bootstrap.html"))
    assert ".infer(method='bootstrap').to_html(" in resampled
    assert methods.made("", ["the bootstrap"])["random"] in resampled
    assert methods.errors_of(bootstrap) in resampled
    unranked = cd.discrepancy(draws, cd.Gumbel(2.0), margins="uniform")
    uniform = words_of(unranked.to_html(tmp_path / "uniform.html"))
    assert "margins='uniform'" in uniform
    assert methods.of_one(plain)[0] not in uniform  # nothing is ranked
    assert methods.of_one(unranked)[0] in uniform
    simulated = words_of(
        cd.discrepancy(draws, cd.Gumbel(2.0), shannon="monte_carlo", m=100, rng=1).to_html(tmp_path / "mc.html")
    )
    assert methods.made("", ["CKL and CED"])["random"] in simulated
    assert len({methods.made("", random)["random"] for random in ((), ("the bootstrap",), ("CKL and CED",))}) == 3


def test_the_same_result_gives_the_same_page(tmp_path):
    def page(path):
        return re.sub(r"On \d{4}-\d\d-\d\d.*? UTC", "", path.read_text(encoding="utf-8")).replace(str(path.parent), "")

    assert page(comparison("single").to_html(tmp_path / "report.html")) == page(page_of("single"))  # the simulated cloud too


# ---- command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch, no_pictures):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    for name in ("a", "b"):
        pd.DataFrame(gaussian(rng, 400), columns=list("wxyz")).to_csv(f"{name}.csv", index=False)
    return tmp_path


def test_commands_write_the_page_and_name_it(folder, capsys):
    compare = ["compare", "a.csv", "b.csv", "--html", "report.html"]
    assert main(compare) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert "report.html" in last
    assert "report.json" in last
    assert command_of("report.html") == shlex.join(["copula-discrepancy", *compare])
    check = ["check", "a.csv", "--html", "check.html", "--family", "frank", "--tau", "0.2"]
    assert main(check) == 0
    assert command_of("check.html") == shlex.join(["copula-discrepancy", *check])


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_numbers_on_standard_output_stay_alone(folder, capsys, form):
    assert main(["compare", "a.csv", "b.csv", "--html", "report.html", form]) == 0
    told = capsys.readouterr()
    assert "report.html" in told.err
    assert "report.html" not in told.out
    if form == "--json":
        assert json.loads(told.out)["n_pairs"] == 6


def test_commands_look_at_the_path_before_they_compute(folder, capsys, monkeypatch):
    (folder / "report.html").write_text("mine")
    monkeypatch.setattr("copula_discrepancy.cli.commands.rank_pairs", lambda *_, **__: pytest.fail("computed in vain"))
    for arguments in (["compare", "a.csv", "b.csv"], ["check", "a.csv"], ["demo"]):
        assert main([*arguments, "--html", "report.html"]) == 1
        assert re.search(r"report\.html.*--force", capsys.readouterr().err)
        assert main([*arguments, "--html", "nowhere/report.html"]) == 1
        assert re.search(r" nowhere\b(?!/)", capsys.readouterr().err)  # the folder
    assert (folder / "report.html").read_text() == "mine"
    with pytest.raises(SystemExit) as end:
        main(["check", "a.csv", "--force"])
    assert end.value.code == 2
    assert re.search(r"--force .*--html", capsys.readouterr().err)


def test_force_overwrites(folder, capsys):
    (folder / "report.html").write_text("mine")
    assert main(["compare", "a.csv", "b.csv", "--html", "report.html", "--force"]) == 0
    assert "pairs" in words_of("report.html")


def test_a_page_is_written_for_a_reader_who_has_gone(folder):
    command = ["check", "a.csv", "--family", "frank", "--tau", "0.2", "--html", "report.html"]
    code = "import sys; from copula_discrepancy.report.page import content; content.DETAILS = 0\n"
    code += "from copula_discrepancy.cli.parser import main; sys.exit(main(sys.argv[1:]))"
    with open("/dev/full", "w") as full:  # every write fails
        ended = subprocess.run([sys.executable, "-c", code, *command], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert os.strerror(errno.ENOSPC) in ended.stderr
    assert (folder / "report.html").exists()


def test_signs_that_are_no_text_are_escaped(folder, capsys):
    shutil.copy("a.csv", os.fsdecode(b"caf\xe9.csv"))
    assert main(["check", os.fsdecode(b"caf\xe9.csv"), "--html", os.fsdecode(b"caf\xe9.html")]) == 0
    assert (folder / os.fsdecode(b"caf\xe9.json")).exists()


def test_a_gate_that_fails_still_writes_its_page(folder, capsys):
    assert main(["compare", "a.csv", "b.csv", "--html", "report.html", "--fail-above", "0.0001"]) == 3
    assert (folder / "report.html").exists()


def test_file_names_in_the_command_are_escaped(folder, capsys):
    shutil.copy("a.csv", "<b>&.csv")
    assert main(["check", "<b>&.csv", "--html", "report.html"]) == 0
    assert "<b>&" not in (folder / "report.html").read_text(encoding="utf-8")
    assert command_of("report.html") == shlex.join(["copula-discrepancy", "check", "<b>&.csv", "--html", "report.html"])


def test_the_template_refuses_what_it_is_not_given():
    with pytest.raises(Exception, match="undefined"):
        writing.render({})
