"""The house: rooms and layers, what a call visits, what is public, and how large it may grow."""

import ast
import sys
import threading
import tomllib
from pathlib import Path

import numpy as np
import pytest

import copula_discrepancy as cd

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "copula_discrepancy"
ROOMS = {"_core", "data", "families", "estimate", "compare", "report", "studies", "cli"}


def imports(path):
    """(module, name) of everything a file imports from the package, in functions and for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("copula_discrepancy"):
            yield from ((node.module, alias.name) for alias in node.names)


def private(name):
    return name.startswith("_") and not name.startswith("__") and name not in ROOMS


def crossing(path, room):
    """Private names that a file of one room imports from another."""
    found = []
    for module, name in imports(path):
        _, *parts = module.split(".")
        other = parts[0] if parts else name
        if other != room and any(private(part) for part in (*parts, name)):
            found.append(f"{module}.{name}")
    return found


def test_every_module_is_in_a_room():
    assert {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"} == ROOMS
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_no_private_name_crosses_rooms(room):
    wrong = {str(path.relative_to(PACKAGE)): crossing(path, room) for path in sorted((PACKAGE / room).rglob("*.py"))}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_a_private_name_would_be_seen(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f():\n    from copula_discrepancy.families.base import _hidden, Copula\n")
    assert crossing(path, "estimate") == ["copula_discrepancy.families.base._hidden"]
    assert crossing(path, "families") == []


def test_at_most_eight_layers_type_checking_included():
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    assert not linter.get("exclude_type_checking_imports", False)
    layers = linter["contracts"][0]["layers"]
    assert len(layers) <= 8
    assert {room.strip().rpartition(".")[2] for layer in layers for room in layer.split("|")} == ROOMS
    # only results may reach up, for .plot() and .to_html(), and a score that is no object, for .report()
    assert {line.split(" -> ")[0].rpartition(".")[2] for line in linter["contracts"][0]["ignore_imports"]} <= {
        "one_result", "many_result", "consequence_result", "groups_result", "fidelity",
    }  # fmt: skip


def visited(call):
    """Folders of the package, and its top-level files, in which a call runs code."""
    places = set()

    def hook(frame, event, arg):
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            relative = path.relative_to(PACKAGE)
            places.add(str(relative.parent) if len(relative.parts) > 1 else relative.name)

    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return places


def test_a_call_visits_few_places():
    rng = np.random.default_rng(1)
    draws, reference = rng.standard_normal((2, 400, 3))

    def one():
        cd.discrepancy(draws[:, :2], cd.Gaussian(0.1), iid=True)

    def many():
        cd.pairwise(draws, reference, iid=True)

    for call in (one, many):
        call()  # what is loaded and compiled on the way is not visited again
    assert len(visited(one)) <= 7, visited(one)
    assert len(visited(many)) <= 9, visited(many)  # one of them is _core/tensors, where the device is checked
    assert "compare" in visited(one)


# Public names stay: a rename keeps the old one with a DeprecationWarning.
FIRST_RELEASE = [
    "A1", "A2", "FAMILIES", "Agreement", "BimodalMixture", "Chains", "Clayton", "Copula", "DependenceFidelity",
    "DependenceWarning", "Discrepancy", "DivergenceError", "Draws", "EdgeGap", "Estimate", "Fit", "Frank", "Gaussian",
    "GaussianTarget", "Gumbel", "InputError", "Joe", "LongRun", "MetaCopula", "PairGap", "Pairwise", "PaperTest",
    "Reproduction", "Rotated", "Selection", "SteinDiscrepancy", "StudentT", "TunedSetting", "Tuning", "VineGaps",
    "WellingTeh", "adjust_pvalues", "as_draws", "concordance", "contamination_bound", "discrepancy", "ess", "family", "fit",
    "kendall_matrix", "kendall_tau", "ksd", "long_run_variance", "metropolis", "naive_tau", "pairwise", "paper_ess",
    "plot_pair", "plot_tau_forest", "plot_trace", "pseudo_observations", "reproduce", "rhat", "select_family", "sghmc",
    "sgld", "summary", "tau_influence_bound", "tune", "vine",
]  # fmt: skip
ADDED = [
    "watch",
    "Caveat",
    "Consequence",
    "DependenceSketch",
    "Effect",
    "Form",
    "GroupedPairwise",
    "Interaction",
    "Interactions",
    "LevelDifference",
    "LevelGaps",
    "Margins",
    "Repair",
    "Reversal",
    "Screening",
    "WatchUpdate",
    "WorstConsequences",
    "consequence",
    "interactions",
    "plot_form",
    "plot_gap_forest",
    "plot_lags",
    "plot_pairwise",
    "register",
    "repair",
    "screen",
    "worst_consequences",
]


def test_public_names_stay():
    assert sorted(cd.__all__) == sorted(FIRST_RELEASE + ADDED)
