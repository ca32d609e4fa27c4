"""Fuzz targets: draws reordered to another dependence, in memory and in files."""

import io
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

import copula_discrepancy as cd
from tests.fuzz.arrays import Fuzz, anything, damaged, values
from tests.fuzz.files import folder_of
from tests.fuzz.kinds import COPULA, NAMES, SEED, Kind, draws, ordinary_copula, sample
from tests.fuzz.oracle import need, within
from tests.fuzz.target import Target

AIM = Kind(
    lambda f: f.one(
        sample(f, f.width), sample(f, f.width), np.corrcoef(f.rng.standard_normal((f.width, 9))), ordinary_copula(f)
    ),
    lambda f: f.one(
        None,
        damaged(f, sample(f, f.width)),
        {("x0", "x1"): ordinary_copula(f)},
        COPULA.odd(f),
        np.eye(f.width + 1),
        anything(f),
    ),
)
ONLY = Kind(lambda f: f.one("x0", ["x1"], ["x0", "x1"]), lambda f: f.one([], ["x9"], ["x0", 3], anything(f)))
ANCHOR = Kind(lambda f: f.one("x0", "x1"), lambda f: f.one("x9", anything(f)))


def check_repair(answer: cd.Repair, given: dict[str, Any]) -> None:
    """Every variable has exactly its values, and what stays has them where they were."""
    before = cd.as_draws(given["draws"], var_names=given.get("var_names"), missing="pairs")
    after = cd.as_draws(answer)
    need(before.names == after.names and before.values.shape == after.values.shape, "other variables or another shape")
    own, new = (x.values.reshape(-1, x.n_variables) for x in (before, after))
    need(np.array_equal(np.sort(own, axis=0), np.sort(new, axis=0), equal_nan=True), "other values")
    again = cd.as_draws(answer.draws, var_names=list(after.names), missing="pairs").values.reshape(new.shape)
    need(after.ranked or np.array_equal(again, new, equal_nan=True), "the container has other draws")
    for share in answer.moved.values():
        within(share, 0.0, 1.0, "a share that moved")
    if not np.isnan(answer.after):
        within(answer.after, 0.0, 2.0, "the largest difference of tau")
    need(answer.to_dict() and repr(answer) and answer._repr_html_() and answer.sentences() and answer.not_mended(), "no words")
    try:
        answer.save("never.csv")
    except cd.InputError:
        return
    need(False, "draws that came from no file were saved")


def repaired_file(table: np.ndarray, reference: np.ndarray, separator: str, path: Any) -> tuple[bytes, bytes]:
    """The contents of a text file before and after its repair."""
    raw = pd.DataFrame(table).add_prefix("x").to_csv(index=False, sep=separator).encode()
    with folder_of({"bad.csv": raw}) as folder:
        cd.repair("bad.csv", pd.DataFrame(reference).add_prefix("x"), delimiter=separator).save(path)
        need((folder / "bad.csv").read_bytes() == raw, "the input was changed")
        return raw, (folder / path).read_bytes()


def check_file(answer: tuple[bytes, bytes], given: dict[str, Any]) -> None:
    tables = [pd.read_csv(io.BytesIO(raw), sep=given["separator"], dtype=str) for raw in answer]
    need(list(tables[0].columns) == list(tables[1].columns), "other columns")
    for name in tables[0].columns:
        need(Counter(tables[0][name].astype(str)) == Counter(tables[1][name].astype(str)), f"other cells in {name}")


def _table(f: Fuzz) -> np.ndarray:
    return values(f, f.n, f.width)


TARGETS = [
    Target(
        "repair",
        cd.repair,
        {"draws": draws(None), "target": AIM},
        check_repair,
        2.0,
        ("Repair", "Repair.to_dict", "Repair.sentences", "Repair.not_mended"),
        options={"only": ONLY, "anchor": ANCHOR, "rng": SEED, "var_names": NAMES},
    ),
    Target(
        "Repair.save",
        repaired_file,
        {
            "table": Kind(_table, _table),
            "reference": Kind(_table, _table),
            "separator": Kind(lambda f: f.one(",", ";", "\t"), lambda f: f.one("|", ":", "~")),
            "path": Kind(lambda f: "out.csv", lambda f: f.one("bad.csv", "x.npy", "no/x.csv", "", 3, "x\0.csv", "./bad.csv")),
        },
        check_file,
        0.5,
    ),
]
