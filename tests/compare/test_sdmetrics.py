"""`DependenceFidelity` as SDMetrics finds and calls it; `make test-sdmetrics` has SDMetrics, which requires pandas 2."""

import importlib.util
import pickle
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import copula_discrepancy as cd
from copula_discrepancy.compare import sdmetrics_metrics
from copula_discrepancy.compare.sdmetrics_metrics import OfOneTable, OfTwoColumns
from tests.compare.misuse import refused_naming

METADATA = {"columns": {name: {"sdtype": "numerical"} for name in "abc"}}


def table(seed: int, rho: float = 0.7) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((400, 1))
    return pd.DataFrame(np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.standard_normal((400, 3)), columns=list("abc"))


def test_the_scores_are_those_of_the_library():
    real, synthetic = table(1), table(2, 0.2)
    score = cd.DependenceFidelity.compute(real, synthetic)
    assert score < 0.5
    assert OfOneTable.compute(real, synthetic) == OfOneTable.compute_breakdown(real, synthetic)["score"] == score
    pair = cd.DependenceFidelity.compute_breakdown(real[["a", "b"]], synthetic[["a", "b"]])
    found = OfTwoColumns.compute_breakdown(real[["a", "b"]], synthetic[["a", "b"]])
    assert found == pair
    assert OfTwoColumns.compute(real[["a", "b"]], synthetic[["a", "b"]]) == pair["score"]


def test_the_real_table_comes_first():
    real, synthetic = table(1).head(300), table(2, 0.2)
    pair = OfTwoColumns.compute_breakdown(real[["a", "b"]], synthetic[["a", "b"]])["pairs"]["a", "b"]
    assert pair["tau_real"] == pytest.approx(cd.kendall_tau(real["a"], real["b"]), abs=1e-12)  # the same integers, divided
    assert pair["tau_synthetic"] == pytest.approx(cd.kendall_tau(synthetic["a"], synthetic["b"]), abs=1e-12)


def test_choices_reach_the_comparison():
    real, synthetic = table(1), table(2, 0.2)
    found = OfOneTable.compute_breakdown(real, synthetic, var_names=["a", "c"])
    assert list(found["pairs"]) == [("a", "c")]


def test_tables_by_name_as_sdmetrics_passes_them():
    real, synthetic, several = table(1), table(2, 0.2), {"tables": {"t": METADATA, "other": {"columns": {}}}}
    alone = OfOneTable.compute(real, synthetic, METADATA)
    assert OfOneTable.compute({"t": real}, {"t": synthetic}, {"tables": {"t": METADATA}}) == alone
    both = {"t": real, "other": real}, {"t": synthetic, "other": real}
    assert OfOneTable.compute(*both, several, table_name="t") == alone
    for name in (None, "q"):
        with refused_naming("argument", "table_name", repr(name), "other"):
            OfOneTable.compute(*both, several, table_name=name)


def test_more_than_two_columns_are_refused():
    for tables, argument in (((table(1), table(2)), "real_data"), ((table(1)[["a", "b"]], table(2)), "synthetic_data")):
        with refused_naming("argument", argument, "got 3", "single_table"):
            OfTwoColumns.compute(*tables)


def test_the_entry_points_name_what_the_module_makes():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"]["sdmetrics_modules"]
    assert set(declared) == {"sdmetrics.column_pairs:DependenceFidelity", "sdmetrics.single_table:DependenceFidelity"}
    modules, names = zip(*(value.split(":") for value in declared.values()), strict=True)
    assert set(modules) == {sdmetrics_metrics.__name__}
    assert set(names) == {sdmetrics_metrics._OF_PAIRS, sdmetrics_metrics._OF_TABLES}
    with pytest.raises(AttributeError, match="Nonsense"):
        _ = sdmetrics_metrics.Nonsense


def test_without_sdmetrics_the_reason_is_plain(monkeypatch):
    monkeypatch.setitem(sys.modules, "sdmetrics", None)
    monkeypatch.delitem(vars(sdmetrics_metrics), "SingleTableDependenceFidelity", raising=False)
    with pytest.raises(ImportError, match="sdmetrics"):
        _ = sdmetrics_metrics.SingleTableDependenceFidelity


# ---- with SDMetrics -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sdmetrics():
    if importlib.util.find_spec("sdmetrics") is None:
        pytest.skip("SDMetrics is not installed: it requires pandas 2; `make test-sdmetrics` makes an environment for it")
    if not entry_points(group="sdmetrics_modules"):
        pytest.skip("this package was installed before it had entry points: install it again")
    return importlib.import_module("sdmetrics")


@pytest.mark.parametrize(("place", "base"), [("column_pairs", "ColumnPairsMetric"), ("single_table", "SingleTableMetric")])
def test_sdmetrics_has_both_metrics(sdmetrics, place, base):
    module = getattr(sdmetrics, place)
    metric, parent = module.DependenceFidelity, getattr(module, base)
    assert issubclass(metric, parent)
    assert parent.get_subclasses()["DependenceFidelity"] is metric
    assert metric.goal is sdmetrics.goal.Goal.MAXIMIZE
    assert (metric.name, metric.min_value, metric.max_value) == ("DependenceFidelity", 0.0, 1.0)
    assert metric.normalize(0.25) == 0.25
    with pytest.raises(ValueError, match="raw_score"):
        metric.normalize(1.5)
    assert pickle.loads(pickle.dumps(metric)) is metric
    real, synthetic = table(1)[["a", "b"]], table(2, 0.2)[["a", "b"]]
    assert metric.compute(real, synthetic) == cd.DependenceFidelity.compute(real, synthetic)
    assert metric.compute_breakdown(real, synthetic)["score"] == metric.compute(real, synthetic)


def test_compute_metrics_lists_it_beside_sdmetrics_own(sdmetrics):
    names = "DependenceFidelity", "CorrelationSimilarity"
    metrics = {name: getattr(sdmetrics.single_table, name) for name in names}
    found = sdmetrics.compute_metrics(metrics, table(1), table(2, 0.0), metadata={"tables": {"t": METADATA}}).set_index(
        "metric"
    )
    assert found.loc["DependenceFidelity", ["error", "goal"]].tolist() == [None, "MAXIMIZE"]
    assert found.loc["DependenceFidelity", "normalized_score"] < 0.1


@pytest.mark.parametrize("first", ["sdmetrics", "copula_discrepancy.compare.sdmetrics_metrics"])
def test_the_order_of_imports_does_not_matter(sdmetrics, first):
    """And SDMetrics is not slowed down: nothing is compiled, or loaded that compiles, before a metric is used."""
    code = (
        f"import {first}, sys\n"
        "from copula_discrepancy.compare import sdmetrics_metrics as ours\n"
        "made = ours.ColumnPairsDependenceFidelity, ours.SingleTableDependenceFidelity\n"
        "import sdmetrics\n"
        "assert made == (sdmetrics.column_pairs.DependenceFidelity, sdmetrics.single_table.DependenceFidelity)\n"
        "assert 'copula_discrepancy.compare.fidelity' not in sys.modules and 'numba' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
