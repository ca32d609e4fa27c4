"""The wording of pages, pictures and their errors, kept in one file, messages.txt, so that a better sentence changes that file
alone.

``python -m tests.report.test_messages`` in the repository's root writes the file anew.
"""

import contextlib
import io
import os
import re
import tempfile
import warnings
from html import unescape
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import copula_discrepancy as cd
from copula_discrepancy.cli.parser import main
from copula_discrepancy.report.page import content, meaning, methods
from copula_discrepancy.report.plots.gap_bars import plot_gaps
from tests.lean_pages import not_written
from tests.picture_cases import result

SNAPSHOT = Path(__file__).with_name("messages.txt")
BLOCKS = r"p|h\d|dl|dt|li|pre|div|figure|figcaption|output|form|table|caption|tr|section|article"


# ---- pages ---------------------------------------------------------------------------------------------------------


def paragraphs(page):
    """What a reader reads, line by line, but for names and numbers of maps and tables and the text inside pictures."""
    text = " ".join(page.split("<body>")[1].split())
    text = re.sub(r"<(script|nav|svg|tbody)\b.*?</\1>", "", text)
    text = re.sub(r'<div class="(?:corner|top|left)".*?</div>|<i\b.*?</i>', "", text)
    text = re.sub(r'<(?:div|span)[^>]* role="img" aria-label="(.*?)">', r"<p>[picture] \1<p>", text)
    text = re.sub(r'<img[^>]* alt="(.*?)">', r"<p>[map] \1<p>", text)
    text = text.replace("</dt><dd>", ": ").replace("</th>", " | ")
    text = re.sub(r"On [\d-]+ [\d:]+ UTC, with Python .*?\. (?=[A-Z])", "On DATE, with VERSIONS. ", text)
    lines = re.split(rf"</?(?:{BLOCKS})\b[^>]*>", text)
    plain = (" ".join(unescape(re.sub(r"<[^>]*>", " ", line)).split()) for line in lines)
    return [line for line in plain if line]


def pages(monkeypatch):
    """Pages of every kind, written into the current folder."""
    monkeypatch.setattr(content, "DETAILS", 1)
    not_written(monkeypatch)  # `paragraphs` takes the text inside pictures away; `pictures` below has it
    scenes = {
        "a ranking against a reference sample": "pairs",
        "a ranking without a target": "no_target",
        "one pair of chains against a copula": "target",
        "one pair of a table against a copula": "crash",
    }
    for scene, name in scenes.items():
        lines = page_of(name)
        if name != "pairs":  # methods have blocks of their own below
            lines[lines.index("Methods") : lines.index("How this page was made")] = []
        yield scene, lines
    pair = result("crash").fit.pair
    gold = np.random.default_rng(5).normal(size=len(pair.x))
    table = cd.pairwise(pd.DataFrame({"equity": pair.x, "bonds": pair.y, "gold": gold}), iid=True)
    colours = [line for line in page_of(table) if re.search("^Above|^Tails|low-low : ", line)]
    yield "a table without a target, a corner with a gap", colours
    monkeypatch.setattr(content, "TABLE_ROWS", 5)
    yield "a ranking longer than its table", [line for line in page_of("pairs") if re.search("worst|report.json", line)]
    monkeypatch.setattr(content, "JSON_PAIRS", 7)
    monkeypatch.setattr(content, "MAPPED", 20)
    few = [line for line in page_of("many_pairs") if re.search("worst|report.json|30 variables", line)]
    yield "more pairs than its JSON has, and more variables than its maps", few
    yield "one chain that never moves", [line for line in page_of("stuck") if "chain 2" in line]


def page_of(found):
    """The paragraphs of a result's page, or of that of a named result."""
    found = result(found) if isinstance(found, str) else found
    return paragraphs(found.to_html("report.html", force=True).read_text(encoding="utf-8"))


def said(entries):
    return [f"{term}: {text}" for term, text in entries]


def sure():
    """Sentences on how sure an answer is, that the pages above do not have."""
    draws = np.random.default_rng(1).normal(size=(2, 300, 3)) + np.random.default_rng(2).normal(size=(2, 300, 1))

    def ranking(**options):
        return cd.pairwise(*draws, family="gaussian", iid=True, **options)

    for adjust in ("bh", "by", "holm", "bonferroni", "none"):
        yield f"tests adjusted by {adjust}", [dict(meaning.of_pairs(ranking(adjust=adjust)))["p-values"]]
    yield "tests of level and tails at 10%", said(meaning.of_pairs(ranking(method="moment", confidence=0.9)))
    same = draws[0, :, [0, 0]].T
    yield "perfect dependence, one pair", said(meaning.of_one(cd.discrepancy(same, cd.Gumbel(2.0))))
    yield "perfect dependence, a ranking", said(meaning.of_pairs(cd.pairwise(np.c_[same, same[:, :1]])))
    yield "a pair of a ranking", said(meaning.of_one(ranking().pair("x0", "x1")))
    for n_chains, rhat, n_eff in (
        (4, [1.0, 1.001], [400.0, 500.0]),
        (4, [1.0, 1.001], [390.0, 500.0]),
        (4, [1.0, 1.2], [40.0, 500.0]),
        (1, [1.0, 1.2], [40.0, 500.0]),
        (4, [np.nan, np.nan], [np.nan, np.nan]),
    ):
        sample = meaning.Sample(n_chains, 500, np.array(n_eff), np.array(rhat))
        for things in ("draws", "rows") if n_chains == 1 else ("draws",):
            yield (
                f"{n_chains} x 500 {things}, R-hat {rhat}, n_eff {n_eff}",
                [meaning._agreement([sample], "pair", things), meaning._effective([sample], (False, False), "pair", things)],
            )
    yield "independent draws", [meaning._effective([sample], (True, True), "pair", "draws")]


def how():
    """Sentences on methods."""
    draws = cd.Gumbel(2.0).sample(300, rng=1)
    uniform = cd.discrepancy(draws, cd.Rotated(cd.Gumbel(2.0), 180), margins="uniform")
    yield "one pair, uniform margins", methods.of_one(uniform)
    yield "one pair, bootstrap", methods.of_one(cd.discrepancy(draws, cd.Gumbel(2.0)).infer(replications=20, rng=1))
    yield "one pair by moments", methods.of_one(cd.discrepancy(draws, cd.Gumbel(2.0), method="moment"))
    yield "all pairs against a copula, by moments", methods.of_pairs(cd.pairwise(draws, cd.Gumbel(2.0), method="moment"))
    yield "all pairs against correlations, not adjusted", methods.of_pairs(cd.pairwise(draws, np.eye(2), adjust="none"))
    yield "all pairs of one family", methods.of_pairs(cd.pairwise(draws, family="frank", iid=True))
    table = {name: np.random.default_rng(k).normal(size=300) for k, name in enumerate("abc")}
    yield "a vine", methods.of_pairs(cd.vine(table, {name: column[::-1] for name, column in table.items()}, n_jobs=1))
    yield "what is random", [methods.made("", random)["random"] for random in ((), ("the bootstrap", "CKL and CED"))]
    yield "terms of draws", said(methods.terms(["R-hat", "n", "low-low"], methods.ERRORS[False], "draws").items())
    yield "terms of rows", said(methods.terms(["R-hat", "n", "low-low"], methods.ERRORS[True], "rows").items())


# ---- pictures ------------------------------------------------------------------------------------------------------


def texts(axes):
    """What is written in and around axes, but for the numbers of their scales."""
    for ax in np.atleast_1d(axes):
        legend = ax.get_legend()
        ticks = [label.get_text() for label in ax.get_yticklabels()]
        parts = {
            "title": [ax.get_title(loc="left"), ax.get_title()],
            "x": [ax.get_xlabel()],
            "y": [ax.get_ylabel()],
            "rows": [text for text in ticks if re.search(r"[a-z]{2}|~", text)],
            "legend": [] if legend is None else [text.get_text() for text in legend.get_texts()],
            "text": [text.get_text() for text in ax.texts if re.search("[a-z]", text.get_text())],
        }
        for part, found in parts.items():
            if any(found):
                yield f"{part}: {'; '.join(text.replace(chr(10), ' / ') for text in found if text)}"


def pictures():
    """The words of pictures."""
    shown = {
        (cd.plot_pair, 2): ("target", "reference", "crash", "perfect", "independent", "fit"),
        (cd.plot_pair, 1): ("target",),
        (cd.plot_form, 3): ("target", "reference", "few", "perfect"),
        (cd.plot_tau_forest, 1): ("reference", "stuck", "crash", "pairs", "many_pairs", "no_target", "fit"),
        (cd.plot_trace, 1): ("target", "reference", "crash"),
        (plot_gaps, 1): ("target", "reference", "crash", "perfect", "moment"),
        (cd.Pairwise.plot, 1): ("pairs", "no_target"),
    }
    for (function, panels), subjects in shown.items():
        for subject in subjects:
            axes = Figure(figsize=(7.0, 4.0), layout="constrained").subplots(1, panels)
            yield f"{function.__qualname__} of {subject}, panels: {panels}", list(texts(function(result(subject), ax=axes)))
    line = np.arange(50.0)
    axes = Figure(figsize=(7.0, 4.0)).subplots(1, 2)
    yield "plot_pair of a perfectly dependent fit", list(texts(cd.plot_pair(cd.fit(np.c_[line, line], "clayton"), ax=axes)))


# ---- errors --------------------------------------------------------------------------------------------------------


def error_of(call):
    with pytest.raises(cd.InputError) as caught:
        call()
    return f"[{caught.value.code}] {caught.value}"


def errors():
    """Paths that no page can have, and arguments that no picture takes."""
    found = result("target")
    for name in ("folder.html", "beside.json"):
        os.mkdir(name)
    Path("there.html").write_text("mine")
    Path("file.txt").write_text("mine")
    paths = ("report.pdf", "nowhere/report.html", "folder.html", "beside.html", "there.html", "file.txt/report.html")
    long, odd = "x" * 300 + ".html", ("a\0b.html", 3)
    yield "paths of pages", [error_of(lambda path=path: found.to_html(path)) for path in (*paths, long, *odd)]
    yield "options of pages", [error_of(lambda: found.to_html("report.html", force="yes"))]
    four = Figure().subplots(1, 4)
    single = (cd.plot_pair, cd.plot_form, cd.plot_tau_forest, cd.plot_trace, plot_gaps)
    yield "results of pictures", [error_of(lambda plot=plot: plot(np.zeros((9, 2)))) for plot in single]
    axes = product(single, (four, "axes"))
    yield "axes of pictures", [error_of(lambda plot=plot, ax=ax: plot(found, ax=ax)) for plot, ax in axes]
    yield (
        "numbers of pictures",
        [
            error_of(lambda: cd.plot_pair(found, points=0)),
            error_of(lambda: cd.plot_pair(found, rng="x")),
            error_of(lambda: cd.plot_tau_forest(result("fit"), confidence=95)),
            error_of(lambda: result("pairs").plot("pvalue")),
        ],
    )


def commands():
    """What the command line says about pages."""
    for name, seed in (("a", 1), ("b", 2)):
        np.savetxt(f"{name}.csv", np.random.default_rng(seed).normal(size=(200, 2)), delimiter=",", header="x,y", comments="")
    for line in (
        "compare a.csv b.csv --html report.html",
        "compare a.csv b.csv --html new.html",
        "check a.csv --html nowhere/report.html",
        "check a.csv --force",
    ):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
            main(line.split())
        last = (err.getvalue() or out.getvalue()).strip().splitlines()[-1]
        yield f"copula-discrepancy {line}", [last]


# ---- the file ------------------------------------------------------------------------------------------------------


def messages(monkeypatch, folder):
    """The text of the snapshot; pages are written into a folder."""
    monkeypatch.chdir(folder)
    parts = {
        "Pages": pages(monkeypatch),
        "How sure is this?": sure(),
        "Methods": how(),
        "Pictures": pictures(),
        "Errors": errors(),
        "Commands": commands(),
    }
    blocks = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cd.DependenceWarning)
        for part, scenes in parts.items():
            blocks += ["\n".join([f"# {part}: {scene}", *lines]) for scene, lines in scenes]
    return "\n\n".join(blocks) + "\n"


@pytest.mark.slow
def test_every_message_is_as_it_was_agreed_on(monkeypatch, tmp_path):
    """A change of wording is a change of messages.txt, which a reviewer reads; see the top of this file."""
    assert messages(monkeypatch, tmp_path) == SNAPSHOT.read_text(encoding="utf-8")


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as own_patch, tempfile.TemporaryDirectory() as own_folder:
        text = messages(own_patch, own_folder)
    SNAPSHOT.write_text(text, encoding="utf-8")
