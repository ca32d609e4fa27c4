"""The accessor: there whatever is imported first, and each method is the function of its name."""

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import copula_discrepancy as cd
from copula_discrepancy.report.accessor import DependenceAccessor, register
from tests.caveat_codes import codes_of
from tests.refusals import refused
from tests.trees import tree

pytestmark = pytest.mark.filterwarnings("ignore::copula_discrepancy.DependenceWarning")
METHODS = ("pairwise", "discrepancy", "summary", "screen", "interactions", "vine")
CODE = """
import sys
{imports}
for kind in (xarray.Dataset, xarray.DataArray, xarray.DataTree):
    assert type(kind().dependence).__name__ == "DependenceAccessor", kind
assert "copula_discrepancy.compare.many" not in sys.modules  # nothing is loaded before it is used
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "import copula_discrepancy, xarray",
        "import xarray, copula_discrepancy",
        "import copula_discrepancy\nassert 'xarray' not in sys.modules\nimport arviz_stats, xarray",
        "import copula_discrepancy, importlib, xarray\nimportlib.reload(copula_discrepancy)",
    ],
)
def test_it_is_there_whatever_is_imported_first(imports):
    ended = subprocess.run(
        [sys.executable, "-W", "error::Warning:xarray", "-c", CODE.format(imports=imports)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr


def test_registering_again_does_no_harm():
    register()
    assert isinstance(xr.Dataset().dependence, DependenceAccessor)


def test_another_librarys_accessor_of_that_name_is_replaced_with_a_warning(monkeypatch):
    monkeypatch.setattr(xr.DataArray, "dependence", property(lambda array: "theirs"))
    with pytest.warns(xr.core.extensions.AccessorRegistrationWarning):
        register()


@pytest.mark.parametrize("name", METHODS)
def test_options_have_the_names_and_defaults_of_the_functions(name):
    own, function = (inspect.signature(given).parameters for given in (getattr(DependenceAccessor, name), getattr(cd, name)))
    shared = [option for option in own if option in function and option != "draws"]
    assert {"pairwise": 5, "discrepancy": 1, "summary": 4}.get(name, 5) == len(shared)
    for option in shared:
        assert own[option].default == function[option].default, option
        assert own[option].kind == function[option].kind, option
    assert own["options"].kind == inspect.Parameter.VAR_KEYWORD
    assert getattr(DependenceAccessor, name).__doc__


def test_every_method_is_the_function():
    given, reference = tree(1, lost=True), tree(2)
    door = given.dependence
    quick = {"n_jobs": 1}
    assert door.pairwise(reference, **quick).overview() == cd.pairwise(given, reference, **quick).overview()
    pd.testing.assert_frame_equal(door.summary(var_names=["a", "c"]), cd.summary(given, var_names=["a", "c"]))
    assert repr(door.screen(reference).to_dict()) == repr(cd.screen(given, reference).to_dict())  # NaN is not itself
    ours, theirs = door.interactions(reference, **quick).to_dict(), cd.interactions(given, reference, **quick).to_dict()
    assert repr(ours) == repr(theirs)
    np.testing.assert_array_equal(door.draws().values, cd.as_draws(given).values)


def test_two_variables_of_many():
    given, reference = tree(1, lost=True), tree(2)
    one = given.dependence.discrepancy("b", "a", reference, family="gaussian")
    two = cd.discrepancy(
        cd.as_draws(given, var_names=["b", "a"]), cd.as_draws(reference, var_names=["b", "a"]), family="gaussian"
    )
    assert one.to_dict() == two.to_dict()
    known = given.dependence.discrepancy("a", "c", cd.Gaussian(0.0), coords={"chain": [0, 1]})
    assert known.n == 500
    assert codes_of(known).count("divergent-draws") == 1


def test_a_vine():
    pytest.importorskip("pyvinecopulib")
    edges = tree(1).dependence.vine(tree(2), n_jobs=1)
    assert codes_of(edges).count("divergent-draws") == 2  # one of each sample
    assert edges.divergences is None


def test_a_group_a_dataset_and_an_array():
    given, reference = tree(1), tree(2)
    node = given["posterior"].dependence.pairwise(reference, n_jobs=1)
    assert node.samples[0].n_divergent == cd.as_draws(given).n_divergent
    dataset = given["posterior"].to_dataset().dependence.pairwise(reference, n_jobs=1)
    assert dataset.samples[0].diverging is None
    array = given["posterior"].to_dataset().to_array("name").rename("x").dependence.draws()
    assert array.names == ("x[a]", "x[b]", "x[c]")
    with pytest.raises(cd.InputError, match="group"):
        given["posterior"].to_dataset().dependence.summary(group="prior")
    assert given.dependence.pairwise(reference, group="log_likelihood", n_jobs=1).names == ("y[0]", "y[1]")


def test_a_wrong_option_is_refused():
    with pytest.raises(TypeError, match="nonsense"):
        tree(1).dependence.pairwise(tree(2), nonsense=1)


def test_it_lists_what_it_can_do():
    said = repr(tree(1).dependence)
    assert said.startswith("dependence of a DataTree: ")
    assert {"pairwise", "summary", "plot_gap_forest"} <= {*said.partition(": ")[2].split(", ")}


def test_a_group_that_was_passed_itself_is_told_and_a_missing_one_has_its_sample():
    result = tree(1)["prior"].dependence.pairwise(tree(2))
    assert any("group prior" in note for note in result.notes)
    assert not any("group" in note for note in tree(1)["posterior"].dependence.pairwise(tree(2)).notes)
    without = tree(2)
    del without["prior"]
    with refused("unknown-name") as caught:
        tree(1).dependence.pairwise(without, group="prior")
    assert str(caught.value).startswith("reference: ")


@pytest.mark.parametrize("plot", ["plot_pairwise", "plot_gap_forest"])
def test_arguments_of_a_plot_are_no_options_of_the_comparison(plot):
    """`compare` has options of `pairwise`; what the method has itself would be passed twice."""
    with refused() as caught:
        getattr(tree(1).dependence, plot)(tree(2), compare={"var_names": ["a", "b"]})
    assert "'var_names'" in str(caught.value)
    for compare, named in (({"target": tree(2)}, "'target'"), ("x", "compare"), (3, "compare"), ([("n_jobs", 1)], "compare")):
        with refused() as caught:
            getattr(tree(1).dependence, plot)(tree(2), compare=compare)
        assert named in str(caught.value)


@pytest.mark.parametrize("method", ["discrepancy", "plot_pair"])
def test_a_pair_without_a_target_is_refused_as_by_the_function(method):
    with refused("no-target"):
        getattr(tree(1).dependence, method)("a", "b", None)


def test_options_of_a_pair_are_no_arguments_of_its_plot():
    for name in ("first", "target"):
        with refused() as caught:
            tree(1).dependence.plot_pair("a", "b", tree(2), compare={name: "c"})
        assert repr(name) in str(caught.value)


def test_a_reference_in_a_list_is_refused():
    for method in ("pairwise", "screen", "interactions"):
        for item in (tree(2), tree(2)["posterior"].to_dataset()):
            with refused("not-numeric") as caught:
                getattr(tree(1).dependence, method)([item])
            assert "without the list" in str(caught.value)
