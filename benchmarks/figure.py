"""The picture of results.md: ratios by job and peer, growth with n and d. `python -m benchmarks.figure` draws it again."""

import re
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.report import Report, ratios, read
from benchmarks.timing import in_seconds
from copula_discrepancy.report.plots.look import BLUE, GREEN, GREY, ORANGE, PURPLE

RESULTS = Path(__file__).with_name("results.md")
VERMILION, SKY = "#D55E00", "#56B4E9"  # the rest of Okabe and Ito's colours
LOOKS = {
    "scipy": (BLUE, "o"), "pandas": (ORANGE, "s"), "pyvinecopulib": (GREEN, "D"), "statsmodels": (PURPLE, "^"),
    "copulae": (GREY, "v"), "openturns": (VERMILION, "P"), "stein-thinning": (SKY, "X"),
}  # fmt: skip
CURVES = (BLUE, ORANGE, GREEN, PURPLE, GREY, VERMILION)


def short(job: str) -> str:
    """A job's name in the width of a label: sizes in powers of ten, fewer words."""
    job = re.sub(r"[0-9],000,000", lambda found: f"{found.group()[0]}e6", job)
    job = re.sub(r"[0-9]00,000", lambda found: f"{found.group()[0]}e5", job)
    return job.replace("a reference sample, family", "a reference,").replace("level, shape, total", "level, shape")


def draw_ratios(ax: Any, rows: list[dict[str, str]]) -> None:
    """A dot for each peer's ratio, by job, and a tick of the peer's colour at what was asked."""
    jobs = list(dict.fromkeys(row["job"] for row in rows))
    for place, job in enumerate(jobs):
        mine = [row for row in rows if row["job"] == job]
        for number, row in enumerate(mine):
            color, marker = LOOKS[row["peer"].split(":")[0]]
            height = place + 0.15 * (number - (len(mine) - 1) / 2)  # equal ratios lie above each other
            edge = {"markersize": 5.5, "markeredgecolor": "white", "markeredgewidth": 0.5}
            ax.plot(float(row["ratio"][:-1]), height, marker, color=color, **edge)
            if row["required"] != "-":
                asked = float(row["required"][:-1])
                ax.plot([asked, asked], [place - 0.38, place + 0.38], color=color, linewidth=1.8, zorder=1.5)
    ax.axvline(1.0, color="black", linewidth=0.9, zorder=1)
    ax.set_xscale("log")
    ax.set_yticks(range(len(jobs)), [short(job) for job in jobs])
    ax.set_ylim(len(jobs) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    ax.set_xlabel("time of the peer / ours; right of 1x, ours is faster")
    ax.set_title("Speed compared with peers")
    present = [peer for peer in LOOKS if any(row["peer"].split(":")[0] == peer for row in rows)]
    handles = [Line2D([], [], color=LOOKS[peer][0], marker=LOOKS[peer][1], linestyle="", markersize=5.5) for peer in present]
    handles.append(Line2D([], [], color="black", marker="|", markersize=9, markeredgewidth=1.8, linestyle=""))
    ax.legend(
        handles, [*present, "required"], loc="upper right", bbox_to_anchor=(1.0, -0.075), ncols=4, columnspacing=1.0,
        handletextpad=0.1, borderaxespad=0.0,
    )  # fmt: skip


def draw_growth(ax: Any, table: Report, letter: str) -> None:
    """Seconds by size on logarithmic axes: ours as lines, a peer's dashed in the same colour, the exponents in the legend."""
    jobs = list(dict.fromkeys(row["job"] for row in table.records()))
    columns = [column for column in table.columns if column.startswith(f"{letter} = ")]
    sizes = [int(column.split(" = ")[1].replace(",", "")) for column in columns]
    labels: dict[str, str] = {}
    for row in table.records():
        job, exponent = row["job"], re.match(r"-?[0-9.]+ ", row["exponent"])
        if exponent is None:
            continue
        power, color = f"${letter}^{{{exponent.group().strip()}}}$", CURVES[jobs.index(job) % len(CURVES)]
        ours = row["who"] == "ours"
        labels[job] = f"{job.replace(', Gumbel', '')}: {power}" if ours else f"{labels[job]} ({row['who']}: {power})"
        look = {"marker": "o", "markersize": 3.5} if ours else {"linestyle": "--", "linewidth": 1.0}
        ax.plot(sizes, [in_seconds(row[column]) for column in columns], color=color, **look)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.minorticks_off()
    ax.set_xlabel("draws, n" if letter == "n" else "variables, d")
    ax.set_ylabel("seconds")
    ax.set_title(f"Growth with {letter}; dashed: the peer")
    handles = [Line2D([], [], color=CURVES[jobs.index(job) % len(CURVES)], marker="o", markersize=3.5) for job in labels]
    ax.legend(handles, labels.values(), loc="upper left", bbox_to_anchor=(-0.16, -0.21), borderaxespad=0.0, handlelength=1.4)


def draw(text: str, path: Path) -> None:
    """The picture of the text of results.md; what was not measured is left out."""
    tables = read(text)
    rows = ratios(tables)
    growth = [(tables[name], name[-1]) for name in ("Growth with n", "Growth with d") if name in tables]
    with style.context("copula_discrepancy.style"):
        figure = Figure(figsize=(9.6, 8.2), layout="constrained")
        grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.05), height_ratios=(1.1, 1.0))
        draw_ratios(figure.add_subplot(grid[:, 0]), rows)
        for place, (table, letter) in enumerate(growth):
            draw_growth(figure.add_subplot(grid[place, 1]), table, letter)
        figure.savefig(path)


if __name__ == "__main__":
    draw(RESULTS.read_text(encoding="utf-8"), RESULTS.with_suffix(".png"))
