"""The page as people meet it: in Chromium, on a desk and on a phone, light and dark, by mouse, by keyboard and on paper."""

import itertools
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from copula_discrepancy.pages import content
from tests.page_samples import HOSTILE, NAMES, comparison

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# As root there is no sandbox; the others keep Chromium from looking for its own updates.
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SCREENSHOTS = os.environ.get("SCREENSHOTS")  # a folder that keeps what the tests saw, for people to look at

PICTURED = ("eight", "fifty", "vine")  # pages with all their pictures; one pair in pictures does for the others

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here; `make browser` installs Debian's")


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The path of the page of a comparison, each written once."""
    folder, done = tmp_path_factory.mktemp("pages"), {}

    def path(name):
        if name not in done:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(content, "DETAILS", 6 if name in PICTURED else 1)
                done[name] = comparison(name).to_html(folder / f"{name.replace(' ', '_')}.html")
        return done[name]

    return path


@pytest.fixture
def opened(chromium, written):
    """Open the page of a comparison; at the end, nothing may have gone wrong in it and nothing may have been asked for."""
    contexts, trouble = [], []

    def open_page(name, width=1280, **options):
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        address = written(name).as_uri()
        page.on("request", lambda request: None if request.url.startswith((address, "data:")) else trouble.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not trouble


def seen(page, name):
    """Keep a picture for people to look at, where a folder for it is given."""
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name.replace(' ', '_')}.png", full_page=True)


def wider_than_window(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def column(page, heading):
    """The texts of a column of the ranking, top to bottom, of the rows that are shown."""
    return page.evaluate(
        """heading => {
            const table = document.getElementById("ranking"), heads = [...table.tHead.rows[0].cells];
            const k = heads.findIndex(head => head.textContent.trim() === heading);
            return [...table.tBodies[0].rows].filter(row => !row.hidden).map(row => row.cells[k].textContent.trim());
        }""",
        heading,
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_page_on_a_desk_and_on_a_phone(opened, name):
    page, result = opened(name), comparison(name)
    seen(page, f"{name}_desk")
    assert result.verdict.lower() in page.locator("h1").inner_text().lower()
    assert page.locator("h1").count() == 1
    assert wider_than_window(page) == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(set(ids)) == len(ids)
    links = page.evaluate("[...document.querySelectorAll('a[href^=\"#\"]')].map(link => link.getAttribute('href').slice(1))")
    assert set(links) <= set(ids)
    phone = opened(name, width=400, device_scale_factor=2)
    seen(phone, f"{name}_phone")
    assert wider_than_window(phone) == 0
    small = phone.evaluate(
        """() => [...document.querySelectorAll("body :not(script):not(style)")]
            .filter(e => e.closest("svg") === null && e.offsetParent)
            .filter(e => [...e.childNodes].some(node => node.nodeType === 3 && node.data.trim()))
            .map(e => [parseFloat(getComputedStyle(e).fontSize), e.tagName]).filter(([size]) => size < 11)"""
    )
    assert not small  # pixels; smaller is not read on a phone
    pictures = phone.evaluate("[...document.querySelectorAll('.pictures svg')].map(e => e.getBoundingClientRect().width)")
    assert all(300 <= width <= 400 for width in pictures)  # as wide as the phone: their text keeps its size


@pytest.mark.parametrize("name", ["eight", "failed chain"])
def test_dark_pages_are_dark_and_can_be_read(opened, name):
    page = opened(name, color_scheme="dark")
    seen(page, f"{name}_dark")
    colours = page.evaluate(
        """() => ["body", "dd", "dt", "a", "#ranking td", "tr.off td:nth-of-type(2)", "thead th", ".note", ".pictures text"]
            .map(what => document.querySelector(what)).filter(Boolean)
            .map(e => getComputedStyle(e)[e.closest("svg") ? "fill" : "color"])"""
    )
    paper = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert paper < 0.03
    assert all((luminance(colour) + 0.05) / (paper + 0.05) >= 4.5 for colour in colours)  # WCAG 2, level AA


def test_light_pages_have_the_same_contrast(opened):
    page = opened("eight")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) == 1.0
    for what in ("body", "dt", "a", "#ranking tr.off td:nth-of-type(2)", ".verdict", "#count"):
        colour = page.evaluate("what => getComputedStyle(document.querySelector(what)).color", what)
        assert 1.05 / (luminance(colour) + 0.05) >= 4.5, what


def luminance(colour):
    """Relative luminance of a CSS colour, as WCAG 2 defines it."""
    shares = np.array([float(part) for part in re.findall(r"[\d.]+", colour)[:3]]) / 255.0
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("name", ["eight", "fifty"])
def test_a_click_sorts_and_another_turns_it_round(opened, name):
    page, result = opened(name), comparison(name)
    shown = min(len(result), 2000)
    assert column(page, "#") == [str(k + 1) for k in range(shown)]
    button = page.get_by_role("button", name="level", exact=True)
    button.click()
    levels = [float(text) for text in column(page, "level")]
    assert levels == sorted(levels)
    assert levels != [float(f"{value:+.3f}") for value in result.rows["level"][:shown]]
    assert page.locator("th[aria-sort]").inner_text().strip().startswith("level")
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    button.click()
    assert [float(text) for text in column(page, "level")] == sorted(levels, reverse=True)
    page.get_by_role("button", name="pair", exact=True).click()
    names = column(page, "pair")
    assert names == page.evaluate("names => names.toSorted((a, b) => a.localeCompare(b, undefined, {numeric: true}))", names)
    page.get_by_role("button", name="#", exact=True).click()
    assert column(page, "#") == [str(k + 1) for k in range(shown)]


def test_small_p_values_sort_first_and_missing_numbers_last(opened):
    page = opened("failed chain")
    button = page.get_by_role("button", name="p", exact=True)
    for _ in range(2):  # up and down
        button.click()
        found = column(page, "p")
        assert found == sorted(found, key=lambda text: text == "-")
    tails = page.get_by_role("button", name="upper tail", exact=True)
    tails.click()
    numbers = [float(text) for text in column(page, "upper tail") if text != "-"]
    assert numbers == sorted(numbers)


def test_the_filter_keeps_rows_with_all_words(opened):
    page, result = opened("eight"), comparison("eight")
    page.get_by_role("searchbox").fill("hotchkiss WEAK")
    kept = [gap.label for gap in result if "Hotchkiss" in gap.label and "weak" in gap.verdict]
    assert 0 < len(kept) < len(result)
    assert column(page, "pair") == kept
    assert page.locator("#count").inner_text() == f"{len(kept)} of 45 pairs"
    page.get_by_role("searchbox").fill("")
    page.get_by_role("checkbox").check()
    assert column(page, "pair") == [gap.label for gap in result if gap.flagged]
    page.get_by_role("searchbox").fill("no such name")
    assert column(page, "pair") == []
    assert page.locator("#count").inner_text() == "0 of 45 pairs"
    page.keyboard.press("Enter")  # does not send the form anywhere
    page.get_by_role("searchbox").fill("")
    page.get_by_role("checkbox").uncheck()
    assert len(column(page, "pair")) == 45


def test_pages_open_and_sort_within_a_second(opened):
    """50 variables, 1,225 pairs; the better of two visits, as other work may share the machine."""
    opening, sorting = [], []
    for _ in range(2):
        page = opened("fifty")
        opening.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        sorting.append(
            page.evaluate(
                """() => {
                    const start = performance.now();
                    document.querySelectorAll("#ranking thead button")[4].click();
                    document.body.getBoundingClientRect();  // lays the page out
                    return performance.now() - start;
                }"""
            )
        )
    assert min(opening) < 1000.0
    assert min(sorting) < 1000.0


def test_names_are_shown_and_never_run(opened):
    page = opened("hostile")
    assert page.evaluate("window.hacked") is None
    pairs = " ".join(column(page, "pair"))
    for name in HOSTILE[:-1]:
        assert name in pairs  # letter by letter
    assert page.locator("img:not([src^='data:'])").count() == 0
    assert page.locator("#ranking tbody script").count() == 0
    labels = page.locator(".frame .left").first.inner_text()
    assert "<script>" in labels
    page.locator(".frame").first.focus()
    page.keyboard.press("ArrowRight")
    assert "<script>" in page.locator(".map output").first.inner_text()
    assert page.evaluate("window.hacked") is None


def test_injected_scripts_would_not_run(opened):
    """Even if a name got through: the page's policy knows one script only."""
    page = opened("eight")
    policy = page.locator("meta[http-equiv='Content-Security-Policy']").get_attribute("content")
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]


def test_maps_are_read_by_mouse_and_by_keyboard(opened):
    page, result = opened("eight"), comparison("eight")
    names, levels = result.names, result.matrix("level")
    sure = {frozenset(gap.names): gap.level_adjusted < 0.05 for gap in result}
    frame, output = page.locator(".frame[data-map=level]"), page.locator(".map output").first
    cells = frame.locator(".cells")

    def expected(i, j):
        low, high = sorted((i, j))
        chance = "beyond chance" if sure[frozenset((names[i], names[j]))] else "may be chance"
        return f"{names[low]} ~ {names[high]}: level {levels[i, j]:+.3f}, {chance}"

    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    size = box["width"] / len(names)
    for i, j in ((0, 4), (4, 0), (9, 8), (4, 5)):
        page.mouse.move(box["x"] + (j + 0.5) * size, box["y"] + (i + 0.5) * size)
        assert output.inner_text() == expected(i, j)
    frame.focus()
    page.keyboard.press("ArrowRight")  # from row 4, column 5
    assert output.inner_text() == expected(4, 6)
    page.keyboard.press("ArrowUp")
    assert output.inner_text() == expected(3, 6)
    for _ in range(12):
        page.keyboard.press("ArrowLeft")  # stops at the edge
    assert output.inner_text() == expected(3, 0)


def test_map_cells_have_the_colours_of_their_gaps(opened):
    """Blue below zero, orange above, nothing where chance explains it, symmetric in size."""
    page, result = opened("eight"), comparison("eight")
    pixels = page.evaluate(
        """async () => {
            const image = document.querySelector(".frame[data-map=level] img"), canvas = document.createElement("canvas");
            await image.decode();
            canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
            const context = canvas.getContext("2d");
            context.drawImage(image, 0, 0);
            return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
        }"""
    )
    d = len(result.names)
    colours, levels = np.array(pixels).reshape(d, d, 4), result.matrix("level")
    sure = np.zeros((d, d), bool)
    for row in result.rows:
        sure[row["second"], row["first"]] = row["level_adjusted"] < 0.05
    shown = np.triu(np.ones((d, d), bool), 1) | sure
    assert not colours[~shown].any()
    strong = shown & (np.abs(levels) > 0.03)  # pale pixels come back rounded
    assert (strong & (levels < 0)).sum() > 20
    blue_over_red = colours[..., 2].astype(int) - colours[..., 0]
    assert (blue_over_red[strong & (levels < 0)] > 100).all()
    assert (blue_over_red[strong & (levels > 0)] < -100).all()
    np.testing.assert_allclose(colours[strong][:, 3], 255 * np.abs(levels[strong]) / 0.2, atol=1.0)  # the scale ends at 0.2


def test_keyboard_reaches_and_sorts_the_table(opened):
    page = opened("eight")
    page.get_by_role("searchbox").focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "tau":
            break
    page.keyboard.press("Enter")
    taus = [float(text) for text in column(page, "tau")]
    assert taus == sorted(taus)


def test_screen_readers_have_words_for_everything(opened):
    page = opened("eight")
    assert page.evaluate("document.documentElement.lang") == "en"
    silent = page.evaluate("[...document.querySelectorAll('img')].filter(e => !e.alt).length")
    pictures = page.evaluate("[...document.querySelectorAll('[role=img]')].map(e => e.getAttribute('aria-label') || '')")
    assert silent == 0
    assert len(pictures) > 20
    assert all(len(label) > 20 for label in pictures)
    heads = page.evaluate("[...document.querySelectorAll('thead th')].filter(e => e.scope !== 'col').length")
    rows = page.evaluate("[...document.querySelectorAll('tbody tr')].filter(e => !e.querySelector('th[scope=row]')).length")
    assert (heads, rows) == (0, 0)
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(e => Number(e.tagName[1]))")
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    unnamed = page.evaluate("[...document.querySelectorAll('input')].filter(e => !e.labels.length).length")
    assert unnamed == 0


def test_pages_work_without_scripts(opened):
    page = opened("eight", java_script_enabled=False)
    assert page.get_by_text("Gaps in 24 of 45 pairs").is_visible()
    assert page.locator("#ranking tbody tr").count() == 45


def test_printed_pages_are_light_and_whole(opened):
    page = opened("eight", color_scheme="dark")
    page.emulate_media(media="print")
    seen(page, "eight_print")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) == 1.0
    assert page.locator("nav").is_hidden()
    page.set_viewport_size({"width": 720, "height": 1000})  # A4 with margins, in CSS pixels
    assert wider_than_window(page) == 0
    cut = page.evaluate(
        "[...document.querySelectorAll('.scroll, .frame')].filter(e => e.scrollHeight > e.clientHeight + 1).length"
    )
    assert cut == 0
    assert page.pdf().startswith(b"%PDF")


def test_a_failed_chain_is_named_and_explained(opened):
    page = opened("failed chain")
    told = page.locator("#sure").inner_text()
    assert "chain 3 never moves in x0" in told
    assert "has failed" in told
    chains = page.locator("article [role=img]").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    assert any("unknown" in label for label in chains if "chain by chain" in label)
