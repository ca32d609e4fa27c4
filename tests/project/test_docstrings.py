"""Docstrings of public names document the return value, arguments, sources, and the behaviour with ties, NaN and at limits.

That examples are true is checked where they stand: they run as doctests.
"""

import dataclasses
import inspect
import re
from functools import cache
from pathlib import Path

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import copula_discrepancy as cd

# What numpydoc may find and this project does not ask for.
LEFT_OUT = {
    "GL01": "older versions want the first line below the quotes; here it stands beside them, as PEP 257 has it",
    "SS05": "first lines say what comes back: 'Chains of ...', 'Mid-ranks ...' are plurals, not verbs in the third person",
    "ES01": "what one line says in full needs no second one",
}
# Asked of functions and classes, not of each of their methods and properties.
OF_NAMES_ONLY = {
    "SA01": "a method's relations are those of its class",
    "EX01": "attributes, and methods that print or write, are shown in the class's own example",
}
# What has no author but this library, or says where its author is named.
NO_SOURCE = {
    "results": [
        "Chains", "Discrepancy", "Draws", "EdgeGap", "Estimate", "Fit", "GroupedPairwise", "Interaction", "Interactions",
        "LevelDifference", "LevelGaps", "LongRun", "PairGap", "Pairwise", "Repair", "Reproduction", "Reversal", "Screening",
        "Selection", "SteinDiscrepancy", "TunedSetting", "Tuning", "VineGaps",
    ],
    "watch names them": ["WatchUpdate"],
    "consequence names them": ["Consequence", "Effect", "WorstConsequences", "worst_consequences"],
    "errors": ["Caveat", "DependenceWarning", "DivergenceError", "InputError"],
    "pictures": ["plot_form", "plot_gap_forest", "plot_lags", "plot_pair", "plot_pairwise", "plot_tau_forest", "plot_trace"],
    "reading and naming": ["Copula", "Rotated", "as_draws", "family", "register"],
    "textbook formulas": ["GaussianTarget", "MetaCopula", "concordance"],
    "kendall_tau names them": ["kendall_matrix"],
}  # fmt: skip
# "Kendall, 1945", "Geyer's (1992)", "Vehtari et al., 2021", "Aich and Aich (2025", "Knight, W. R. (1966)"
SOURCE = re.compile(r"[A-Z](?:[a-z]+(?:'s)?|\.)(?:,? (?:and [A-Z][a-z]+|et al\.))?,? \(?(?:19|20)\d\d")
TIES, NOT_A_NUMBER, LIMIT = re.compile(r"\b[Tt]ie[sd]?\b"), re.compile(r"\bNaN\b"), re.compile(r"\blimits?\b")

NO_EXAMPLE, NO_AUTHOR = "no example that runs", "no source: an author and a year"
NO_TIES, NO_NAN, NO_LIMITS = (f"nothing on {topic}" for topic in ("ties", "NaN", "limits"))

NAMES = [name for name in cd.__all__ if name != "FAMILIES"]  # a tuple has the docstring of all tuples; `family` shows it


def members(cls):
    """Public methods, properties and lazy attributes that a class defines itself or takes from a base that is not public."""
    public = {getattr(cd, name) for name in NAMES if inspect.isclass(getattr(cd, name))} - {cls}
    bases = [base for base in cls.__mro__ if base.__module__.startswith("copula_discrepancy") and base not in public]
    found = {}
    for base in reversed(bases):
        found |= {
            name: member
            for name, member in vars(base).items()
            if not name.startswith("_") and hasattr(type(member), "__get__") and not inspect.isclass(member)
        }
    return found


METHODS = [
    (name, method) for name in NAMES if inspect.isclass(getattr(cd, name)) for method in sorted(members(getattr(cd, name)))
]


@cache
def sections(obj):
    """The docstring, parsed by numpydoc."""
    return get_doc_object(obj)


def documented(obj, section):
    """The names that a section lists; `level, shape : Estimate` is two of them."""
    return {name.strip() for entry in sections(obj)[section] for name in entry.name.split(",")}


def is_result(obj):
    """Whether a class is created only by the library, so that its fields are documented as attributes, not as parameters."""
    return dataclasses.is_dataclass(obj) and inspect.isclass(obj) and not sections(obj)["Parameters"]


def numpydoc_complaints(obj, not_asked):
    found = validate(sections(obj))["errors"]
    return [f"{code} {message}" for code, message in found if code not in {*LEFT_OUT, *not_asked}]


def complaints(obj, name=""):
    """What is wrong with the docstring of a public function or class."""
    found = numpydoc_complaints(obj, {"PR01"} if is_result(obj) else ())
    text = inspect.getdoc(obj) or ""
    if is_result(obj):
        fields = {field.name for field in dataclasses.fields(obj) if not field.name.startswith("_")}
        found += [f"field {field} is not among the attributes" for field in sorted(fields - documented(obj, "Attributes"))]
    if "\n>>> " not in text:
        found.append(NO_EXAMPLE)
    if name not in {name for names in NO_SOURCE.values() for name in names} and not SOURCE.search(text):
        found.append(NO_AUTHOR)
    given = set() if inspect.isclass(obj) else set(inspect.signature(obj).parameters)
    ranked = bool(given & {"draws", "x"}) or name == "DependenceFidelity"
    if ranked and not TIES.search(text):
        found.append(NO_TIES)
    if (ranked or given & {"influence", "pvalues", "delta", "sampler", "start"}) and not NOT_A_NUMBER.search(text):
        found.append(NO_NAN)
    if inspect.isclass(obj) and issubclass(obj, cd.Copula) and not LIMIT.search(text):
        found.append(NO_LIMITS)
    return found


def method_complaints(cls, name):
    """What is wrong with the docstring of a public method or attribute."""
    member = members(cls)[name]
    function = getattr(member, "__func__", member)
    if not function.__doc__ and inspect.getdoc(getattr(cls, name)):
        return []  # described where a base class declares it
    asked_for = set(inspect.signature(function).parameters) - {"self", "cls"} if callable(function) else set()
    return numpydoc_complaints(function, {*OF_NAMES_ONLY, *([] if asked_for else ["RT01"])})


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_documented(name):
    assert complaints(getattr(cd, name), name) == []


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_a_method_is_documented(name, method):
    assert method_complaints(getattr(cd, name), method) == []


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isclass(getattr(cd, name))])
def test_attributes_are_there(name):
    cls = getattr(cd, name)
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    missing = {attribute for attribute in documented(cls, "Attributes") - fields if not hasattr(cls, attribute)}
    if name == "PairGap":  # it has the numbers of a row, by name
        pair = cd.pairwise(cd.Gumbel(2.0).sample(200, rng=1), cd.Gumbel(2.0), iid=True).worst
        assert all(isinstance(getattr(pair, attribute), float) for attribute in missing - {"df"})
    elif name == "Copula":  # declared there, given by every family
        assert all(hasattr(cd.Gumbel(2.0), attribute) for attribute in missing)
    else:
        assert missing == set()


def test_every_exception_is_still_needed():
    unsourced = [name for names in NO_SOURCE.values() for name in names]
    assert sorted(unsourced) == sorted(set(unsourced) & set(NAMES))
    assert [name for name in unsourced if SOURCE.search(inspect.getdoc(getattr(cd, name)))] == []


def test_the_reference_lists_every_name_once():
    page = (Path(__file__).parents[2] / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   ([A-Za-z]\w*)$", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(NAMES)
    assert re.findall(r"py:data:: (\w+)", page) == ["FAMILIES"]


# ---- negative controls ---------------------------------------------------------------------------------------------


def poor(draws, scale=1.0):
    """computes a thing

    Parameters
    ----------
    drawings : array
        The draws
    """
    return draws, scale


def rich(draws):
    """A number that nobody asked for.

    Parameters
    ----------
    draws : array
        NaN is an error; ties count as such.

    Returns
    -------
    float
        The number (Nelsen, 2006).

    See Also
    --------
    poor : The same, badly told.

    Examples
    --------
    >>> rich([1.0])
    1.0
    """
    return draws[0]


class Result:
    """A result that keeps a field to itself.

    Attributes
    ----------
    value : float
        The value.
    """

    value: float
    secret: float

    @property
    def silent(self):
        return self.value

    def loud(self, volume):
        """Noise."""
        return volume * self.value


def without(part):
    """The well documented function with a part of its docstring taken out."""

    def copy(draws):
        return rich(draws)

    assert part in rich.__doc__
    copy.__doc__ = rich.__doc__.replace(part, "")
    return copy


def test_a_bad_docstring_is_found():
    assert complaints(rich) == []
    codes = {complaint.split()[0] for complaint in complaints(poor)}
    assert {"SS02", "SS03", "PR01", "PR02", "PR09", "RT01", "SA01", "EX01"} <= codes
    assert {NO_EXAMPLE, NO_AUTHOR, NO_TIES, NO_NAN} <= set(complaints(poor))


@pytest.mark.parametrize(
    ("part", "rule"),
    [
        (" (Nelsen, 2006)", NO_AUTHOR),
        ("NaN is an error; ", NO_NAN),
        (" ties count as such", NO_TIES),
        (">>> rich([1.0])\n", NO_EXAMPLE),
    ],
)
def test_a_missing_sentence_is_found(part, rule):
    assert rule in complaints(without(part))


def test_a_family_without_its_limits_is_found():
    copula = type("Silent", (cd.Gumbel,), {"__doc__": "A copula that says nothing."})
    assert NO_LIMITS in complaints(copula)
    assert NO_LIMITS not in complaints(cd.Gumbel)


def test_a_field_or_a_method_without_words_is_found():
    made = dataclasses.dataclass(Result)
    assert [complaint.split()[1] for complaint in complaints(made) if complaint.startswith("field")] == ["secret"]
    made.__module__ = "copula_discrepancy.made_up"
    assert any(complaint.startswith("GL08") for complaint in method_complaints(made, "silent"))
    assert any(complaint.startswith("PR01") for complaint in method_complaints(made, "loud"))
