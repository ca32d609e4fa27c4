"""Two thousand random inputs, each of which must give a valid result or the library's own error."""

import inspect
import math
import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import pytest

import copula_discrepancy as cd
from tests import fuzzing
from tests.fuzz import oracle

CHUNKS, INPUTS = 20, 100
# Names that only carry what the functions return, or are classes of errors; their methods are called all the same.
CARRIERS = {"Caveat",
    "Agreement", "Chains", "DependenceWarning", "Discrepancy", "DivergenceError", "Draws", "EdgeGap", "Estimate", "FAMILIES",
    "Fit", "Form", "InputError", "LevelDifference", "LevelGaps",
    "LongRun", "Margins", "PairGap", "Pairwise", "PaperTest", "Selection", "SteinDiscrepancy",
    "TunedSetting", "Tuning", "VineGaps",
}  # fmt: skip
# Methods that are called on every answer (tests/fuzz/oracle.py), that build a result from its parts, or that the copulas share.
NOT_TARGETS = {
    "Agreement.to_dict", "Selection.to_dict", "Selection.words", "Caveat.to_dict", "Estimate.of", "Estimate.unknown",
    "Form.density", "Form.of", "Form.paper_test", "Form.to_dict", "Form.unknown",
    "Fit.score_in", "Fit.spreads_in", "Fit.with_blocks", "Margins.to_dataframe", "Margins.to_dict", "Pairwise.of",
    "Pairwise.ordered", "Pairwise.pattern", "VineGaps.of",
    "DependenceFidelity.get_subclasses", "Reproduction.plot",
}  # fmt: skip
forking = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
COPULAS = {family.__name__ for family in cd.FAMILIES} | {"Rotated"}


def covered() -> set[str]:
    return {name for target in fuzzing.ALL for name in (target.name, *target.covers)}


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_inputs_at_random(chunk):
    outcomes = [fuzzing.run_one(2, number) for number in range(chunk * INPUTS, (chunk + 1) * INPUTS)]
    failures = [f"--seed 2 --only {o.number}  # {o.target}\n{o.told}" for o in outcomes if o.kind == "failure"]
    assert not failures, "\n\n".join(failures)
    # an oracle that never sees an answer proves nothing
    assert 0.25 < sum(outcome.kind == "answer" for outcome in outcomes) / INPUTS < 0.75


def test_every_public_name_is_a_target():
    assert {*cd.__all__} - covered() - CARRIERS == set()
    assert {*cd.__all__} >= CARRIERS


def test_every_public_method_is_called():
    methods = set()
    for name in cd.__all__:
        owner = getattr(cd, name)
        if not inspect.isclass(owner) or issubclass(owner, BaseException | Warning) or name in COPULAS - {"Rotated"}:
            continue
        found = inspect.getmembers(owner, predicate=callable)
        base = "Copula" if name == "Rotated" else "Pairwise" if name == "VineGaps" else "PairGap" if name == "EdgeGap" else name
        for method, _ in found:
            own = method in vars(owner) or base == name
            if not method.startswith("_") and (own or not hasattr(getattr(cd, base), method)):
                methods.add(f"{name if own else base}.{method}")
    shared = {
        f"{name}.{method.split('.')[1]}" for name in ("Rotated", "VineGaps", "EdgeGap") for method in covered() if "." in method
    }
    assert methods - covered() - NOT_TARGETS - shared == set()


def test_an_input_is_known_by_its_number():
    first, again = (fuzzing.planned(3, 17) for _ in range(2))
    assert first[0].name == again[0].name
    assert repr(first[1]) == repr(again[1])
    assert fuzzing.planned(3, 18)[0].name != first[0].name or repr(fuzzing.planned(3, 18)[1]) != repr(first[1])


def test_every_exception_of_the_oracle_is_used_and_documented():
    source = "".join(path.read_text() for path in sorted(Path(oracle.__file__).parent.glob("*.py")))
    assert {name for name in oracle.DOCUMENTED if f'unless("{name}"' not in source} == set()
    assert set(re.findall(r'unless\("(.*?)"', source)) == {*oracle.DOCUMENTED}


@pytest.mark.parametrize("value", [math.nan, 1.5, -1.0000001], ids=["nan", "above", "below"])
def test_the_oracle_can_fail(value):
    with pytest.raises(oracle.Broken, match=f"tau is {value}"):
        oracle.within(value, -1.0, 1.0, "tau")
    with pytest.raises(oracle.Broken, match="se is"):
        oracle.estimate(cd.Estimate(value, -abs(value), (0.0, 1.0), 0.5, 10.0), "level", excused=False)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ({"share": 1.01}, "draws' share is 1.01"),
        ({"share_target": -0.1}, "target's share is -0.1"),
        ({"value": -1.5}, "low_low is -1.5"),
        ({"pvalue": 1.2}, "low_low.pvalue is 1.2"),
        ({"share_target": 0.9}, "shares"),
    ],
)
def test_the_oracle_looks_at_corners(broken, fault):
    found = cd.discrepancy(cd.Clayton(3.0).sample(200, rng=1), cd.Gumbel(2.0), iid=True)
    oracle.discrepancy(found)
    corners = found.corners | {"low_low": replace(found.corners["low_low"], **broken)}
    with pytest.raises(oracle.Broken, match=fault):
        oracle.discrepancy(replace(found, corners=corners))


def test_the_oracle_looks_at_the_corners_of_rows():
    found = cd.pairwise(cd.Clayton(3.0).sample(200, rng=1), cd.Gumbel(2.0), iid=True)
    oracle.pairwise(found)
    for name, value in (("low_low_share", 1.1), ("high_low", -1.1), ("low_high_pvalue", 2.0), ("tails_adjusted", -0.1)):
        rows = found.rows.copy()
        rows[name] = value
        with pytest.raises(oracle.Broken, match=f"{name} is"):
            oracle.pairwise(replace(found, rows=rows))


@forking
def test_what_breaks_a_promise_is_told(monkeypatch):
    """Unexpected failures of a function, here and in a worker, are reported with the command that reproduces them."""

    def broken(**arguments):
        raise KeyError("no promise")

    monkeypatch.setattr(fuzzing, "ALL", tuple(replace(target, function=broken) for target in fuzzing.ALL))
    assert {fuzzing.run_one(1, number).kind for number in range(5)} == {"failure"}
    found = list(fuzzing.run_many(1, 0, 3, 1))
    assert [(outcome.number, outcome.kind, "no promise" in outcome.told) for outcome in found] == [
        (number, "failure", True) for number in range(3)
    ]


@forking
def test_a_crash_is_laid_to_its_input(monkeypatch):
    def crash(**arguments):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(fuzzing, "ALL", tuple(replace(target, function=crash) for target in fuzzing.ALL))
    found = list(fuzzing.run_many(1, 0, 2, 1))
    assert [(outcome.number, outcome.target, outcome.kind) for outcome in found] == [
        (0, "crash", "failure"),
        (1, "crash", "failure"),
    ]
    assert "exit code -9" in found[0].told
