"""`DependenceFidelity` as metrics of SDMetrics, which finds them by the entry points in its group `sdmetrics_modules`.

``import sdmetrics`` is enough: then ``sdmetrics.single_table.DependenceFidelity`` judges a table, and
``sdmetrics.column_pairs.DependenceFidelity`` two columns. Arguments have SDMetrics' order, the real table first. SDMetrics is
not a dependency: its base classes are imported when it asks for the metrics, and the comparison itself on the first use of one,
so that this package makes ``import sdmetrics`` no slower.
"""

from collections.abc import Mapping
from typing import Any

from copula_discrepancy._core.errors import InputError
from copula_discrepancy.data.naming import listed
from copula_discrepancy.data.readers.frames import is_frame

_OF_PAIRS, _OF_TABLES = "ColumnPairsDependenceFidelity", "SingleTableDependenceFidelity"


class OfTwoColumns:
    """How much of the dependence of two columns a synthetic table keeps, from 0 (none) to 1 (all)."""

    @classmethod
    def compute(cls, real_data: Any, synthetic_data: Any, **choices: Any) -> float:
        """The score of two columns, the real ones first; choices are those of `DependenceFidelity.compute`."""
        return float(cls.compute_breakdown(real_data, synthetic_data, **choices)["score"])

    @classmethod
    def compute_breakdown(cls, real_data: Any, synthetic_data: Any, **choices: Any) -> dict[str, Any]:
        """The score, and what `DependenceFidelity.compute_breakdown` says about the pair."""
        for name, table in (("real_data", real_data), ("synthetic_data", synthetic_data)):
            if is_frame(table) and len(table.columns) != 2:
                columns = [str(column) for column in table.columns]
                raise InputError(
                    f"{name} must have two columns, got {len(columns)}: {listed(columns)}; "
                    "sdmetrics.single_table.DependenceFidelity compares all pairs of a table"
                )
        from copula_discrepancy.compare.fidelity import DependenceFidelity

        return DependenceFidelity.compute_breakdown(real_data, synthetic_data, **choices)


class OfOneTable:
    """How much of a table's dependence a synthetic table keeps, from 0 (none) to 1 (all)."""

    @classmethod
    def compute(
        cls, real_data: Any, synthetic_data: Any, metadata: Any = None, table_name: str | None = None, **choices: Any
    ) -> float:
        """The score of a table, the real one first; choices are those of `DependenceFidelity.compute`."""
        return float(cls.compute_breakdown(real_data, synthetic_data, metadata, table_name, **choices)["score"])

    @classmethod
    def compute_breakdown(
        cls, real_data: Any, synthetic_data: Any, metadata: Any = None, table_name: str | None = None, **choices: Any
    ) -> dict[str, Any]:
        """The score, and everything else that `DependenceFidelity.compute_breakdown` returns."""
        from copula_discrepancy.compare.fidelity import DependenceFidelity

        real, synthetic = (
            _one_table(real_data, table_name, "real_data"),
            _one_table(synthetic_data, table_name, "synthetic_data"),
        )
        return DependenceFidelity.compute_breakdown(real, synthetic, _of_table(metadata, table_name), **choices)


def _one_table(data: Any, table_name: str | None, argument: str) -> Any:
    """The table itself, or the named one of a dictionary of tables, SDMetrics' other form of data."""
    if not isinstance(data, Mapping) or not data or not all(map(is_frame, data.values())):
        return data
    return _named(data, table_name, argument)


def _of_table(metadata: Any, table_name: str | None) -> Any:
    """The metadata of one table, where it describes several."""
    about = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
    tables = about.get("tables") if isinstance(about, Mapping) else None
    return _named(tables, table_name, "metadata") if isinstance(tables, Mapping) and tables else about


def _named(tables: Mapping[str, Any], table_name: str | None, argument: str) -> Any:
    if table_name is None and len(tables) == 1:
        return next(iter(tables.values()))
    if table_name is None or table_name not in tables:
        has = f"{argument} has the tables {listed(list(map(str, tables)))}"
        raise InputError(f"table_name must name one of the tables, got {table_name!r}; {has}")
    return tables[table_name]


def __getattr__(name: str) -> Any:
    """The classes that the entry points name, made when SDMetrics, which is then imported, asks for them."""
    if name not in (_OF_PAIRS, _OF_TABLES):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sdmetrics.column_pairs.base import ColumnPairsMetric
    from sdmetrics.goal import Goal
    from sdmetrics.single_table.base import SingleTableMetric

    if name not in globals():  # if nobody had imported SDMetrics before, it has asked for them by now
        own, theirs, place = {
            _OF_PAIRS: (OfTwoColumns, ColumnPairsMetric, "sdmetrics.column_pairs"),
            _OF_TABLES: (OfOneTable, SingleTableMetric, "sdmetrics.single_table"),
        }[name]
        about = {"name": "DependenceFidelity", "goal": Goal.MAXIMIZE, "min_value": 0.0, "max_value": 1.0}
        # the module is the one that users import it from; a process that unpickles it imports SDMetrics first, as it has to
        globals()[name] = type("DependenceFidelity", (own, theirs), {**about, "__module__": place, "__doc__": own.__doc__})
    return globals()[name]
