"""Fill in the numbers of the README: `python -m benchmarks.readme` replaces the blocks between markers.

One is taken from results.md, the other from gpu.md; as long as there is no gpu.md, that block is empty.
"""

import re
from pathlib import Path

from benchmarks.report import Report, ratios, read

ROOT = Path(__file__).parents[1]
START, END = "<!-- benchmarks: speed -->", "<!-- /benchmarks -->"
GPU_START, GPU_END = "<!-- gpu: speed -->", "<!-- /gpu -->"
HEAD = ("job", "peer", "ours", "peer's", "ratio")
GPU_HEAD = ("job", "device", "processor", "peak memory")


def of_the_same_answer(tables: dict[str, Report]) -> list[dict[str, str]]:
    """The rows in which the result of the peer agrees with ours."""
    return [row for row in ratios(tables) if not row["result of the peer"].startswith(("differs", "wrong"))]


def least_of_each_kind(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The row with the smallest ratio for each kind of job, so that the short table is not too favourable to us."""
    kinds: dict[str, dict[str, str]] = {}
    for row in rows:
        kind = re.split(r" of (?!tau)|, | \d", row["job"])[0]
        if kind not in kinds or _ratio(row) < _ratio(kinds[kind]):
            kinds[kind] = row
    return list(kinds.values())


def _ratio(row: dict[str, str]) -> float:
    return float(row["ratio"].rstrip("x"))


def accuracy(corners: Report, thetas: Report) -> str:
    """A sentence on accuracy."""
    rows = corners.records()
    worst = max(rows, key=lambda row: _leading(row["ours"]))
    asked = [f"{row['ours']} for {row['logpdf'].split(',')[0]}" for row in rows if row["required"] != "-"]
    fitted = max(float(row["error"]) for row in thetas.records() if row["against"] == "30-digit Newton")
    return (
        f"For u and v from 1e-15 to 1 - 1e-15, the error of log densities relative to max(1, |log c|) is at most "
        f"{' and '.join(asked)}, and {worst['ours']} for the least accurate family, {worst['logpdf'].split(',')[0]}. Fitted "
        f"parameters are within {fitted:.0e} of the maximum of the likelihood."
    )


def _leading(cell: str) -> float:
    return float(re.split(r"[,;]", cell)[0])


def block(results: str) -> str:
    """The text between the markers."""
    tables = read(results)
    lines = _table(HEAD, least_of_each_kind(of_the_same_answer(tables)))
    machine = re.search(r"^Written by .*? minutes\. (.*)$", results, re.MULTILINE)
    where = machine.group(1) if machine else ""
    lines += ["", accuracy(tables["Corners"], tables["Accuracy"])]
    return "\n".join([*lines, f"Measured with {where}"])


def _table(head: tuple[str, ...], rows: list[dict[str, str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        "|" + "---|" * len(head),
        *(f"| {' | '.join(row[name] for name in head)} |" for row in rows),
    ]


def gpu_agreement(table: Report) -> str:
    """A sentence on how far the numbers of a device are from the processor's."""
    rows = table.records()

    def largest(begins: str, *without: str) -> str:
        named = [row for row in rows if row["number"].startswith(begins) and not any(word in row["number"] for word in without)]
        difference = max(float(row["difference"]) for row in named)
        return f"{difference:.1e}" if difference else "0"

    verdicts = [float(row["difference"]) for row in rows if row["number"].startswith("pairwise, verdicts")]
    near_zero = "U-statistic, right"  # relative to a number whose expectation is 0
    return (
        f"Numbers differ from the processor's by at most {largest('pairwise', 'verdicts')} in `pairwise`, where "
        f"{sum(verdicts):.0f} verdicts differ, {largest('screen')} in `screen`, {largest('kendall_matrix')} in "
        f"`kendall_matrix` and, relative to their size, {largest('ksd', near_zero)} in `ksd` "
        f"({largest(f'ksd, {near_zero}')} in a U-statistic of draws from the target, which is close to 0)."
    )


def gpu_block(results: str) -> str:
    """The text between the markers of the graphics processor."""
    tables = read(results)
    where = re.search(r"^Written by `make bench-gpu`\. (.*? cores\.)", results, re.MULTILINE)
    if where is None:
        raise ValueError("gpu.md must say where it was measured; write it by `make bench-gpu`")
    remarks = results.partition("\n## ")[0].split("\n\n")[2:]  # below the title and where it was measured
    return "\n".join(
        [
            *_table(GPU_HEAD, tables["Speed"].records()),
            "",
            f"{gpu_agreement(tables['Agreement'])} Measured with {where.group(1)}",
            *(remark.strip().replace("\n", " ") for remark in remarks if remark.strip()),
            "All numbers: [benchmarks/gpu.md](benchmarks/gpu.md).",
        ]
    )


def fill(readme: str, results: str) -> str:
    """The text of the README with the block between the markers regenerated from the text of results.md."""
    return _between(readme, START, END, block(results))


def fill_gpu(readme: str, results: str | None) -> str:
    """The text of the README with the block on graphics processors regenerated from that of gpu.md, None if there is none."""
    return _between(readme, GPU_START, GPU_END, "" if results is None else gpu_block(results))


def _between(readme: str, start: str, end: str, text: str) -> str:
    before, found_start, rest = readme.partition(start)
    _, found_end, after = rest.partition(end)
    if not found_start or not found_end:
        raise ValueError(f"README must hold {start} and, after it, {end}")
    lines = [start, *([text] if text else []), end]
    return before + "\n".join(lines) + after


def measured(name: str) -> str | None:
    """The text of a file that a benchmark wrote, or None if it has not been written."""
    path = ROOT / "benchmarks" / name
    return path.read_text(encoding="utf-8") if path.exists() else None


def main() -> None:
    """Fill README."""
    path = ROOT / "README.md"
    results = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")
    text = fill(path.read_text(encoding="utf-8"), results)
    path.write_text(fill_gpu(text, measured("gpu.md")), encoding="utf-8")


if __name__ == "__main__":
    main()
