"""The page of a fidelity score: it says what the breakdown says, for any table, and to any reader."""

import json
import math
import re
from functools import partial
from html import unescape

import numpy as np
import pytest

import copula_discrepancy as cd
from copula_discrepancy.report.page import fidelity, strip
from copula_discrepancy.report.page.fidelity import GOOD, column_scores, write_fidelity_page
from tests.kinds_data import breakdown, table
from tests.lean_pages import not_drawn


@pytest.fixture
def page_of(monkeypatch, tmp_path):
    """A page without the drawing of its pictures, which takes nearly all of the time."""
    not_drawn(monkeypatch)
    return partial(page, tmp_path)


def page(tmp_path, found, real, synthetic, **options):
    path = write_fidelity_page(found, tmp_path / "fidelity.html", real=real, synthetic=synthetic, **options)
    return path.read_text(encoding="utf-8"), json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


def text_of(html, tag):
    return [unescape(re.sub(r"<[^>]*>", " ", part)).strip() for part in re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", html, re.S)]


def test_the_answer_is_the_score_with_its_interval(page_of):
    found, real, synthetic = breakdown("passengers")
    html, _ = page_of(found, real, synthetic)
    low, high = found["interval"]
    assert f"keeps {100 * found['score']:.0f}% of the dependence" in text_of(html, "h1")[0]
    assert 'class="off"' in html
    assert f"95% interval {100 * low:.0f}% to {100 * high:.0f}%" in html


def test_every_pair_is_in_the_table_worst_first(page_of):
    found, real, synthetic = breakdown("passengers")
    html, numbers = page_of(found, real, synthetic)
    rows = re.search(r'<table id="ranking">.*?</table>', html, re.S)[0]
    names = [re.sub(r"\s+", " ", text) for text in text_of(rows, "th") if "~" in text]
    assert names == [f"{first}  ~  {second}".replace("  ", " ") for first, second in found["pairs"]]
    assert "ordinal ~ numeric" in rows
    assert [(entry["first"], entry["second"]) for entry in numbers["pairs"]] == [*found["pairs"]]
    assert numbers["score"] == found["score"]


def test_columns_have_kinds_levels_and_missing_shares(page_of):
    found, real, synthetic = breakdown("passengers")
    html, _ = page_of(found, real, synthetic)
    strip = re.search(r'<table class="strip">.*?</table>', html, re.S)[0]
    assert strip.count('role="img"') == len(real.names) + 1  # whether age is missing
    for kind in ("ordinal", "nominal", "boolean", "numeric", "missing"):
        assert f"<td>{kind}</td>" in strip
    for draws in (real, synthetic):
        assert f">{100 * np.isnan(draws.column(4)).mean():.0f}%<" in strip
    share = 100 * np.mean(real.column(1) == 0), 100 * np.mean(synthetic.column(1) == 0)
    assert f"male {share[0]:.0f}/{share[1]:.0f}%" in strip


def test_column_scores_are_weighted_means():
    pairs = {
        ("a", "b"): {"score": 1.0, "weight": 0.75}, ("a", "c"): {"score": 0.0, "weight": 0.25},
        ("b", "d"): {"score": 1.0, "weight": 0.0}, ("c", "d"): {"score": 1.0, "weight": 0.0},
    }  # fmt: skip
    scores = column_scores(pairs)
    assert scores["a"] == 0.75
    assert scores["b"] == 1.0
    assert scores["c"] == 0.0
    assert math.isnan(scores["d"])  # it depends on nothing


def test_what_the_table_can_be_used_for(page_of):
    found, real, synthetic = breakdown("passengers")
    html, _ = page_of(found, real, synthetic)
    listed = re.search(r'<dl class="uses">.*?</dl>', html, re.S)[0]
    uses = dict(zip(text_of(listed, "dt"), text_of(listed, "dd"), strict=True))
    worst = next(iter(found["pairs"]))
    assert " ~ ".join(worst) in uses["Do not use it for"]
    assert "class ~ age" in uses["It can stand in for"]
    assert "survived" in uses["Models"]
    assert "copy of the real rows scores 100%" in uses["Not judged here"]


def test_a_faithful_table(page_of):
    found, real, synthetic = breakdown("penguins", faithful=True)
    assert found["score"] > GOOD
    html, _ = page_of(found, real, synthetic)
    assert "keeps" in text_of(html, "h1")[0]
    assert '<h1 class="fine">' in html
    assert "Do not use it for" not in html
    assert "It can stand in for" in html
    assert 'class="first"' not in html  # no worst pair beside a good answer


def test_scores_and_weights_are_enough(page_of):
    """Without interval, kinds, verdicts, meanings and groups."""
    real, synthetic = (cd.as_draws(cd.Gumbel(2.0).sample(400, rng=seed)) for seed in (1, 2))
    found = cd.DependenceFidelity.compute_breakdown(real, synthetic)
    pairs = {names: {key: entry[key] for key in ("score", "weight")} for names, entry in found["pairs"].items()}
    html, _ = page_of({"score": found["score"], "pairs": pairs}, real, synthetic)
    assert "interval" not in html.split("<main>")[0].split("</style>")[-1]
    assert "Groups of rows" not in html
    assert ">kinds<" not in html


def test_groups_are_listed_worst_first(page_of):
    found, real, synthetic = breakdown("penguins")
    groups = {
        "north": {"score": 0.9, "n_real": 1200, "n_synthetic": 800},
        ("south", "x"): {"score": 0.2, "interval": (0.1, 0.3)},
    }
    groups["nowhere"] = {"score": math.nan}
    html, _ = page_of(found | {"groups": groups}, real, synthetic)
    section = html.split('<section id="groups"')[1].split("</section>")[0]
    assert [text.strip() for text in text_of(section.split("<tbody>")[1], "th")] == ["south / x", "north", "nowhere"]
    assert "1,200" in section
    assert "10% to 30%" in section
    assert "not tested" in section


def test_caveats_come_with_their_advice(page_of):
    found, real, synthetic = breakdown("penguins")
    caveat = {"code": "same-rows", "sentence": "the rows are the same", "advice": "Compare other rows."}
    html, _ = page_of(found | {"caveats": [caveat]}, real, synthetic)
    assert '<h1 class="unknown">' in html  # void
    assert "Before you rely on this:</b> the rows are the same" in html
    assert "Compare other rows." in html


def test_nothing_to_compare(page_of):
    _, real, synthetic = breakdown("penguins")
    empty = {"score": math.nan, "pairs": {}, "answer": None, "caveats": [], "left_out": {"gone": "constant in the real table"}}
    html, numbers = page_of(empty, real, synthetic)
    assert text_of(html, "h1")[0].endswith("No pair of columns could be compared")
    assert "left out: constant in the real table" in html
    assert numbers["score"] is None
    assert "nan" not in html.split("<main>")[1].split("</main>")[0]


def test_hostile_names_and_levels_are_text(page_of):
    names = ('"><img src=x onerror="alert(1)">', "</script><script>alert(2)</script>", "{{ 7 * 7 }}")
    levels = ("<b>", "&amp;", "'\"")
    rng = np.random.default_rng(1)
    tables = [
        table({
            names[0]: ("nominal", levels, rng.integers(0, 3, 200)), names[1]: ("nominal", levels, rng.integers(0, 3, 200)),
            names[2]: ("numeric", (), rng.normal(size=200)),
        })
        for _ in range(2)
    ]  # fmt: skip
    pairs = {(names[i], names[j]): {"score": 0.1, "weight": 0.3} for i, j in ((0, 1), (0, 2), (1, 2))}
    for entry in pairs.values():
        entry |= {"meaning": "<i>hm</i>", "verdict": "<u>lost</u>"}
    found = {"score": 0.1, "pairs": pairs, "caveats": [], "answer": "<script>", "left_out": {"<x>": "<y>"}}
    html, _ = page_of(found, *tables)
    assert "<img src=x" not in html
    assert html.count("<script") == 2  # the numbers of the map, and the page's own
    assert not any(foreign in html for foreign in ("<i>hm", "<u>lost", "<y>", "<x>", "<b>3"))
    assert "{{ 7 * 7 }}" in unescape(html)


def test_errors_name_the_argument(tmp_path):
    found, real, synthetic = breakdown("penguins")
    with pytest.raises(cd.InputError, match="breakdown must be"):
        write_fidelity_page({"pairs": {}}, tmp_path / "a.html", real=real, synthetic=synthetic)
    with pytest.raises(cd.InputError, match="real must be Draws"):
        write_fidelity_page(found, tmp_path / "a.html", real=None, synthetic=synthetic)
    with pytest.raises(cd.InputError, match=r"must end in \.html"):
        write_fidelity_page(found, tmp_path / "a.txt", real=real, synthetic=synthetic)
    write_fidelity_page(found, tmp_path / "a.html", real=real, synthetic=synthetic, pictures=0)
    with pytest.raises(cd.InputError, match="already exist"):
        write_fidelity_page(found, tmp_path / "a.html", real=real, synthetic=synthetic)


def test_the_pictures_have_unique_ids_and_descriptions(tmp_path):
    found, real, synthetic = breakdown("passengers")
    html, _ = page(tmp_path, found, real, synthetic, pictures=6)
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    targets = set(re.findall(r'href="#([^"]+)"', html))
    assert targets <= set(ids)
    assert "fare by class; medians in the real table and in the synthetic table" in html
    assert "Mosaic of survived by sex in the synthetic table" in html
    assert len(html) < 500_000


def test_of_many_columns_those_that_lost_most_are_shown(page_of, monkeypatch):
    monkeypatch.setattr(strip, "SHOWN", 3)
    monkeypatch.setattr(fidelity, "SHOWN", 3)
    found, real, synthetic = breakdown("passengers")
    html, _ = page_of(found, real, synthetic)
    rows = re.search(r'<table class="strip">.*?</table>', html, re.S)[0].split("<tbody>")[1]
    scores = column_scores(found["pairs"])
    known = sorted(score for score in scores.values() if not math.isnan(score))
    assert sorted(scores[name] for name in text_of(rows, "th")) == known[:3]
    assert "4 more columns, which kept more, are not shown" in html


def test_a_good_mean_with_a_lost_pair_or_group_has_no_tick(page_of):
    found, real, synthetic = breakdown("penguins", faithful=True)
    worst = {names: entry | ({"score": 0.1} if k == 0 else {}) for k, (names, entry) in enumerate(found["pairs"].items())}
    html, _ = page_of(found | {"score": 0.92, "pairs": worst}, real, synthetic)
    assert '<h1 class="care">' in html
    assert "✓" not in html.split("<main>")[0].split("</style>")[-1]
    html, _ = page_of(found | {"groups": {"north": {"score": 0.0}}}, real, synthetic, force=True)
    assert '<h1 class="care">' in html
    html, _ = page_of(found | {"groups": {"north": {"score": 0.95}}}, real, synthetic, force=True)
    assert '<h1 class="fine">' in html


def test_a_void_score_is_not_shown(page_of):
    found, real, synthetic = breakdown("penguins", faithful=True)
    caveat = {"code": "same-rows", "sentence": "the rows are the same", "advice": "Compare other rows."}
    html, _ = page_of(found | {"caveats": [caveat]}, real, synthetic)
    assert "Void: both tables contain the same rows" in text_of(html, "h1")[0]
    assert 'class="gauge"' not in html
    assert "It can stand in for" not in html
