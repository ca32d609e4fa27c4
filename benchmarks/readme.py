"""The numbers in README, taken from results.md, never typed: `python -m benchmarks.readme` fills the block between markers."""

import re
from pathlib import Path

from benchmarks.report import Report, ratios, read

ROOT = Path(__file__).parents[1]
START, END = "<!-- benchmarks: speed -->", "<!-- /benchmarks -->"
HEAD = ("job", "peer", "ours", "peer's", "ratio")


def of_the_same_answer(tables: dict[str, Report]) -> list[dict[str, str]]:
    """The rows of peers that did the job: one with another answer did something else."""
    return [row for row in ratios(tables) if not row["the peer's answer"].startswith(("differs", "wrong"))]


def least_of_each_kind(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Of all peers, in jobs that differ in family or data only, the smallest ratio: a short table must not flatter."""
    kinds: dict[str, dict[str, str]] = {}
    for row in rows:
        kind = re.split(r" of (?!tau)|, | \d", row["job"])[0]
        if kind not in kinds or _ratio(row) < _ratio(kinds[kind]):
            kinds[kind] = row
    return list(kinds.values())


def _ratio(row: dict[str, str]) -> float:
    return float(row["ratio"].rstrip("x"))


def accuracy(corners: Report, thetas: Report) -> str:
    """One sentence about digits."""
    rows = corners.records()
    worst = max(rows, key=lambda row: _leading(row["ours"]))
    asked = [f"{row['ours']} for {row['logpdf'].split(',')[0]}" for row in rows if row["asked"] != "-"]
    fitted = max(float(row["error"]) for row in thetas.records() if row["against"] == "30-digit Newton")
    return (
        f"For u and v from 1e-15 to 1 - 1e-15, the error of log densities relative to max(1, |log c|) is at most "
        f"{' and '.join(asked)}, and {worst['ours']} for the least accurate family, {worst['logpdf'].split(',')[0]}. Fitted "
        f"parameters are within {fitted:.0e} of the maximum of the likelihood."
    )


def _leading(cell: str) -> float:
    return float(re.split(r"[,;]", cell)[0])


def block(results: str) -> str:
    """What stands between the markers."""
    tables = read(results)
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    lines += [f"| {' | '.join(row[name] for name in HEAD)} |" for row in least_of_each_kind(of_the_same_answer(tables))]
    machine = re.search(r"^Written by .*? minutes\. (.*)$", results, re.MULTILINE)
    where = machine.group(1) if machine else ""
    lines += ["", accuracy(tables["Corners"], tables["Accuracy"])]
    return "\n".join([*lines, f"Measured with {where}"])


def fill(readme: str, results: str) -> str:
    """README's text with the block between its markers made anew from the text of results.md."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"README must hold {START} and, after it, {END}")
    return f"{before}{START}\n{block(results)}\n{END}{after}"


def main() -> None:
    """Fill README."""
    path = ROOT / "README.md"
    results = (ROOT / "benchmarks" / "results.md").read_text(encoding="utf-8")
    path.write_text(fill(path.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
