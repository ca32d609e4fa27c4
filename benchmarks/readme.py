"""Fill in the numbers of the README from results.md: `python -m benchmarks.readme` replaces the block between the markers."""

import re
from pathlib import Path

from benchmarks.report import Report, ratios, read

ROOT = Path(__file__).parents[1]
START, END = "<!-- benchmarks: speed -->", "<!-- /benchmarks -->"
HEAD = ("job", "peer", "ours", "peer's", "ratio")


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
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    lines += [f"| {' | '.join(row[name] for name in HEAD)} |" for row in least_of_each_kind(of_the_same_answer(tables))]
    machine = re.search(r"^Written by .*? minutes\. (.*)$", results, re.MULTILINE)
    where = machine.group(1) if machine else ""
    lines += ["", accuracy(tables["Corners"], tables["Accuracy"])]
    return "\n".join([*lines, f"Measured with {where}"])


def fill(readme: str, results: str) -> str:
    """The text of the README with the block between the markers regenerated from the text of results.md."""
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
