"""The section of a page on what the worst pairs do: its numbers, its names, its notes, and the JSON beside it."""

import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.report.page import consequences as section_of
from copula_discrepancy.report.page import content
from tests.lean_pages import not_drawn
from tests.page_samples import WITH_CONSEQUENCES, consequences, page_of
from tests.refusals import refused


@pytest.fixture(autouse=True)
def lean(monkeypatch):
    not_drawn(monkeypatch)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(1)
    reference = rng.multivariate_normal(np.zeros(4), 0.6 * np.ones((4, 4)) + 0.4 * np.eye(4), 500)
    names = ["a", "b", "<b>c</b>", "d & e"]
    return [pd.DataFrame(values, columns=names) for values in (rng.standard_normal((500, 4)), reference)]


@pytest.fixture(scope="module")
def pairs(samples):
    return cd.pairwise(*samples, iid=True, family="gaussian")


@pytest.fixture(scope="module")
def found(samples):
    return cd.worst_consequences(*samples, iid=True)


def section(page):
    return re.search(r'<section id="consequences".*?</section>', page, re.S)[0]


def cells(text):
    """The body of a table as text."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", text.split("<tbody>")[1], re.S)
    return [[unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def test_every_pair_with_its_largest_effect(pairs, found, tmp_path):
    page = pairs.to_html(tmp_path / "page.html", consequences=found).read_text(encoding="utf-8")
    part = section(page)
    assert "What the worst pairs do to you</h2>" in part
    expected = [[pair, effect, verdict, *numbers] for pair, effect, *numbers, verdict in found.table_rows(None)[1:]]
    assert cells(part) == expected
    assert part.count('<tr class="off">') == found.n_flagged > 0
    for sentence in found.sentences().values():
        assert sentence in unescape(part)
    assert "with the reference's dependence, so only dependence differs" in unescape(part)
    assert '<a href="#consequences">' in page.split("<main>")[0]
    assert page.index('id="table"') < page.index('id="consequences"') < page.index('id="details"')


def test_the_json_beside_it(pairs, found, tmp_path, monkeypatch):
    monkeypatch.setattr(content, "JSON_PAIRS", 20)  # rows: of two pairs
    pairs.to_html(tmp_path / "page.html", consequences=found)
    numbers = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert numbers["consequences"]["verdict"] == found.verdict
    frame = found.to_dataframe()
    assert [row["dependence"] for row in numbers["effects"]] == frame["dependence"][:20].tolist()
    pairs.to_html(tmp_path / "page.html", consequences=found, all_pairs=True, force=True)
    numbers = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert [row["flagged"] for row in numbers["effects"]] == frame["flagged"].tolist()


def test_only_on_request(pairs, tmp_path):
    page = pairs.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "consequences" not in page.split("<body>")[1]
    assert not {"consequences", "effects"} & json.loads((tmp_path / "page.json").read_text(encoding="utf-8")).keys()


def test_a_long_ranking_says_what_it_leaves_out(pairs, found, tmp_path, monkeypatch):
    monkeypatch.setattr(section_of, "SHOWN", 2)
    part = section(pairs.to_html(tmp_path / "page.html", consequences=found).read_text(encoding="utf-8"))
    assert len(cells(part)) == 2
    assert "2 worst of 6 pairs" in part
    assert "page.json" in part


def test_how_the_page_was_made(pairs, found, tmp_path):
    page = pairs.to_html(tmp_path / "page.html", consequences=found).read_text(encoding="utf-8")
    made = unescape(re.search(r"<pre>(.*?)</pre>", page, re.S)[1])
    assert "consequences=cd.worst_consequences(draws, reference, iid=True" in made
    assert "nothing else here is random" not in page
    assert f"{found.n_resamples} resamples" in page


def test_right_pairs_are_no_good_news_if_their_effects_are_not(samples, found, tmp_path):
    fine = cd.pairwise(samples[1][:250].reset_index(drop=True), samples[1][250:].reset_index(drop=True), iid=True)
    assert fine.outcome == "no gap"
    page = fine.to_html(tmp_path / "page.html", consequences=found).read_text(encoding="utf-8")
    heading = re.search(r'<h1 class="off">.*?</h1>', page, re.S)
    assert heading is not None
    assert found.verdict in heading[0]
    quiet = cd.worst_consequences(samples[1][:250], samples[1][250:], iid=True)
    page = fine.to_html(tmp_path / "page.html", consequences=quiet, force=True).read_text(encoding="utf-8")
    assert '<h1 class="fine">' in page


def test_triples_reach_a_page_from_python(samples, pairs, tmp_path):
    triples = cd.interactions(*samples, iid=True)
    page = pairs.to_html(tmp_path / "page.html", interactions=triples).read_text(encoding="utf-8")
    assert 'id="triples"' in page
    assert "interactions=cd.interactions(draws, reference" in unescape(page)


@pytest.mark.parametrize("name", ["interactions", "consequences"])
def test_anything_else_is_refused(pairs, found, tmp_path, name):
    for wrong in ("yes", pairs, [found]):
        with refused() as caught:
            pairs.to_html(tmp_path / "page.html", **{name: wrong})
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_CONSEQUENCES)
def test_pages_of_people(name):
    """Real chains with ties and reservations, and names that try to break out."""
    page = page_of(name).read_text(encoding="utf-8")
    part, result = section(page), consequences(name)
    assert len(cells(part)) == len(result)
    assert [row[3:] for row in cells(part)] == [row[2:-1] for row in result.table_rows(None)[1:]]
    assert "<script" not in part
    if name == "eight":
        told = {caveat.code: caveat.sentence for caveat in result.caveats}
        assert told["few-effective-draws"] in unescape(part)
        assert told["divergent-draws"] not in unescape(part)  # it is about the draws, and said with the pairs
        assert told["divergent-draws"] in unescape(page)
        assert f"consequences: {result.notes[-1]}" in unescape(page)
