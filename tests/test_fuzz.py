"""Two thousand inputs at random, none of which may end in anything but a sound answer or the library's own error."""

import inspect

import pytest

import copula_discrepancy as cd
from tests import fuzzing

CHUNKS, INPUTS = 20, 100
# Names that only carry what the functions return, or are classes of errors; their methods are called all the same.
CARRIERS = {
    "Agreement", "Chains", "DependenceWarning", "Discrepancy", "DivergenceError", "Draws", "EdgeGap", "Estimate", "FAMILIES",
    "Fit", "InputError", "LongRun", "PairGap", "Pairwise", "PaperTest", "Selection", "SteinDiscrepancy", "TunedSetting",
    "Tuning", "VineGaps",
}  # fmt: skip
# Methods that are called on every answer (tests/fuzz/oracle.py), that build a result from its parts, or that the copulas share.
NOT_TARGETS = {
    "Agreement.to_dict", "Selection.to_dict", "Selection.words", "Estimate.of", "Estimate.unknown", "Pairwise.of",
    "VineGaps.of", "DependenceFidelity.get_subclasses", "Reproduction.plot",
}  # fmt: skip
COPULAS = {family.__name__ for family in cd.FAMILIES} | {"Rotated"}


def covered() -> set[str]:
    return {name for target in fuzzing.ALL for name in (target.name, *target.covers)}


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
