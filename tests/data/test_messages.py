"""The wording of messages and notes about draws, in one snapshot; tests elsewhere look at codes and numbers.

After a change of wording, write the snapshot again with ``python -m tests.data.test_messages`` and read the difference.
"""

import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.data.draws import numeric_draws
from copula_discrepancy.data.expression import parse
from copula_discrepancy.data.matching import matched, read_reference
from tests.data import test_expression, test_files, test_following, test_parts, test_readers
from tests.data.refusals import refusal

SNAPSHOT = Path(__file__).with_name("messages.txt")
TABLE = pd.DataFrame(np.random.default_rng(1).normal(size=(120, 2)).round(2), columns=["a", "b"])
CHAINS = TABLE.assign(chain=np.repeat([1, 2], 60), draw=np.tile(np.arange(60), 2))
KEYED = TABLE.assign(key=np.arange(120)[::-1])
NOTES = {
    "chain column": (CHAINS[::-1], {}),
    "left out": (TABLE.assign(id=np.arange(120), day=pd.date_range("2020-01-01", periods=120)), {}),
    "kinds": (TABLE.assign(zip=np.arange(120) % 7, remark=[f"r{k}" for k in range(120)], n=[*"123"] * 40), {}),
    "hashed": (TABLE.assign(remark=[f"r{k}" for k in range(120)]), {"kinds": {"remark": "nominal"}}),
    "missing": (TABLE.where(TABLE < 2), {"missing": "pairs"}),
    "dropped": (TABLE.where(TABLE < 2), {"missing": "drop"}),
    "index": (TABLE.rename_axis("who"), {}),
    "dates": (TABLE.set_axis(pd.date_range("2020-01-01", periods=120)[::-1], axis=0), {}),
    "parts": ([TABLE, TABLE], {"parts": "rows"}),
    "semicolons": ("a;b\n1,5;1.000%\n2,5;2%\n", {}),
    "accounting": ('a,b\n"($1,234.50)",1\n$2.00,2\n', {}),
    "encoding": ("größe,b\n1,2\n3,4\n".encode("cp1252"), {}),
    "margins": ("a,b,\n1,2,\n3,4,\n,,\n", {}),
    "row numbers": (",a,b\n0,1,2\n1,3,4\n", {}),
    "no header": ("1,2\n3,4\n", {}),
    "Stan": (test_files.stan_text(test_files.STAN_DRAWS[0], warmup=20).replace("samples = 30", "samples = 50"), {}),
}


def not_finite():
    """Chains and tables with NaN and infinite values at one place, at several, from some place on, and in many variables."""
    values = TABLE.to_numpy().reshape(4, 30, 2)
    for place in ((0, 5, 1), (1, [3, 9], 1), (2, slice(17, None), 0), (slice(None), 29, 0)):
        chains = values.copy()
        chains[place] = np.nan
        yield chains, "nan", {}
    table = TABLE.assign(c=TABLE["a"])
    table.loc[2, "a"], table.loc[[3, 5], "b"], table.loc[118:, "c"] = np.nan, -np.inf, np.nan
    yield table, "nan", {}
    yield table, "infinite", {"missing": "pairs"}
    yield pd.DataFrame(np.full((20, 30), np.nan)), "nan", {}


def given_of(content):
    """The content itself, or the name of a file that holds it."""
    if not isinstance(content, str | bytes):
        return content
    return test_files.write("bad.csv", content)


def refusals():
    """Every table of input that is refused, by name: what is given, the code and the options."""
    chains = pd.DataFrame(test_readers.long_table("chain", "draw"))
    yield "chain columns", [(change(chains), code, {}) for change, code in test_readers.CHAIN_COLUMN_FAULTS]
    yield "datasets", [(dataset, code, {}) for dataset, code in test_readers.DATASET_FAULTS]
    yield "coords", [(test_readers.DATASET, code, {"coords": coords}) for coords, code in test_readers.COORDS_FAULTS]
    yield "dictionaries", [(given, code, {}) for given, code in test_readers.DICTIONARY_FAULTS]
    yield "options", [(test_readers.FLAT, code, choices) for choices, code in test_readers.OPTION_FAULTS]
    yield "text", [(content, code, choices) for content, code, choices in test_files.TEXT_FAULTS if "1e999" not in str(content)]
    yield "Stan", [(text, code, {}) for text, code in test_files.STAN_FAULTS]
    yield "values that are not finite", list(not_finite())
    yield "parts", [([TABLE[:70], TABLE[70:]], "shape", {})]
    yield "selected text", [(text, code, {"var_names": ["a", "b"]}) for text, code in test_parts.SELECTION_FAULTS]


def messages():
    """The snapshot: a block per table, a line per message; without what other libraries and their versions add."""
    lines = []
    for table, cases in refusals():
        lines += ["", f"# {table}"]
        for given, code, choices in cases:
            try:
                (numeric_draws if code == "not-numeric" else cd.as_draws)(given_of(given), **choices)
            except cd.InputError as error:
                text = re.sub(
                    r"(cannot be read as [^:]*: ).*", r"\1...", re.sub(r"got type [^,;]*", "got type ...", str(error))
                )
                lines.append(f"{error.code}: {text}")
    lines += ["", "# more than one pair"]
    three = np.zeros((4, 30, 3))
    for draws in (three, three[0], pd.DataFrame(three[0], columns=["mu", "tau", "x"]), {"theta": three}):
        lines.append(refusal("shape", cd.discrepancy, draws, cd.Gumbel(2.0)))
    lines += ["", "# expressions"]
    for text, _, code in test_expression.FAULTS:
        lines.append(f"{code}: {refusal(code, parse, text, test_expression.OWN_NAMES.get(text, test_expression.NAMES))}")
    lines.append(f"argument: {refusal('argument', parse, 5, ['a'])}")
    for columns, code in (({"b": np.ones(3)}, "unknown-name"), ({"a": np.ones(3), "b": np.ones(4)}, "shape")):
        lines.append(f"{code}: {refusal(code, parse('a > b', ['a', 'b']), columns)}")
    lines += ["", "# notes"]
    lines += [
        f"{name}: {note}" for name, (given, choices) in NOTES.items() for note in cd.as_draws(given_of(given), **choices).notes
    ]
    paths = cd.as_draws(CHAINS.rename(columns={"chain": "path"}), chains="path")
    lines += [f"chain column of the draws alone: {note}" for note in read_reference(TABLE, paths, {}).notes]
    sizes = [TABLE.assign(size=[*sizes] * 60) for sizes in ("SM", "ML")]
    for draws, reference in ((TABLE, TABLE.to_numpy()), (cd.as_draws(KEYED), KEYED[::-1].assign(key=7)), sizes):
        lines += [f"matched: {note}" for sample in matched(*map(cd.as_draws, (draws, reference))) for note in sample.notes]
    lines += ["", "# kinds"]
    text = TABLE.assign(size=[*"SML"] * 40)
    choices = ("none", "numeric", "ordinal", ["S", "M"], "boolean", "date")
    for kinds in ({"sise": "nominal"}, *({"size": choice} for choice in choices), 3):
        with pytest.raises(cd.InputError) as caught:
            cd.as_draws(text, kinds=kinds)
        lines.append(f"{caught.value.code}: {caught.value}")
    wrong = [*map(str, range(118)), "n.d.", "n.d."]
    lines.append(f"not-numeric: {refusal('not-numeric', cd.as_draws, TABLE.assign(size=wrong))}")
    lines.append(f"not-numeric: {refusal('not-numeric', numeric_draws, cd.as_draws(text))}")
    for other in (TABLE.assign(size=1.5), TABLE.assign(size=pd.Categorical([*"SL"] * 60, ordered=True))):
        lines.append(f"kinds-differ: {refusal('kinds-differ', matched, *map(cd.as_draws, (text, other)))}")
    orders = [TABLE.assign(size=pd.Categorical([*"SL"] * 60, order, ordered=True)) for order in (["S", "L"], ["L", "S"])]
    lines.append(f"kinds-differ: {refusal('kinds-differ', matched, *map(cd.as_draws, orders))}")
    lines += ["", "# following", *(f"{what}: {text}" for what, text in in_a_folder(test_following.spoken))]
    return "\n".join(lines[1:]) + "\n"


def in_a_folder(speak):
    """What a function says in an empty folder."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return list(speak())
        finally:
            os.chdir(here)


def test_wording_is_that_of_the_snapshot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert messages() == SNAPSHOT.read_text("utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        SNAPSHOT.write_text(messages(), "utf-8")
