"""Counts of Spark data frames, by a local session of two threads: the same as those of the rows, to the last bit."""

import os
import sys

import numpy as np
import pyarrow as pa
import pytest

import copula_discrepancy as cd
from copula_discrepancy.estimate.scanning import ScanOptions, open_any, plan_source, scan
from copula_discrepancy.estimate.scanning_spark import sketch_of_spark
from copula_discrepancy.estimate.sketch import DependenceSketch
from tests.estimate.test_scanning_dask import assert_same, table

sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets to the virtual machine, which PySpark leaves open
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
]
N = 12_000
OPTIONS = ScanOptions(2e9, n_jobs=1)


@pytest.fixture(scope="module")
def spark():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = sql.SparkSession.builder.master("local[2, 4]")  # four attempts of each task
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1g",
        }.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def spread(spark, frame, partitions=3):
    """The rows in this many partitions."""
    return spark.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False)).repartition(partitions)


def planned(given):
    return plan_source(open_any(given, group="posterior"), iid=False, options=OPTIONS)


def test_counts_are_those_of_the_rows(spark):
    frame = table(N).rename(columns={"a": "a.of `b`"})
    plan, layout, source = planned(spread(spark, frame))
    assert plan.n_pilot == N
    assert not plan.serial  # rows of a data frame have no order
    assert any("no order" in note for note in plan.notes)
    assert_same(scan(source, plan, layout, OPTIONS), DependenceSketch.empty(plan).update(frame))


def test_chains_and_draws_in_columns(spark):
    frame = table(N).fillna(0.0)
    frame["chain"], frame["draw"] = np.arange(N) // 4000, np.arange(N) % 4000
    plan, layout, source = planned(spread(spark, frame))
    expected = DependenceSketch.empty(plan)
    for chain, rows in frame.groupby("chain"):
        expected.update(rows.drop(columns=["chain", "draw"]), chain=chain)
    sketch = scan(source, plan, layout, OPTIONS)
    assert len(sketch.blocks) > 3
    assert_same(sketch, expected)


def test_a_pilot_of_many_rows(spark):
    source = open_any(spread(spark, table(N)), group="posterior")
    block = source.pieces[0].sample(("a", "b"), 2000, np.random.default_rng(0))
    assert 1800 <= len(block) <= 2400  # seven standard deviations around 2100


def test_a_worker_that_dies(spark, tmp_path):
    armed, frame = str(tmp_path / "armed"), table(N)

    def dying(batches):
        if os.path.exists(armed):
            os.remove(armed)
            os._exit(1)
        yield from batches

    given = spread(spark, frame)
    given = given.mapInArrow(dying, given.schema)
    plan, layout, source = planned(given)
    (tmp_path / "armed").touch()
    sketch = scan(source, plan, layout, OPTIONS)
    assert not os.path.exists(armed)
    assert_same(sketch, DependenceSketch.empty(plan).update(frame))


def test_bad_data_name_their_partition(spark):
    from pyspark.sql import functions

    frame = spread(spark, table(N))
    plan, layout, _ = planned(frame)
    column = functions.when(functions.spark_partition_id() == 2, float("inf")).otherwise(frame.b)
    with pytest.raises(cd.InputError, match="partition 2: ") as failure:
        scan(open_any(frame.withColumn("b", column), group="posterior"), plan, layout, OPTIONS)
    assert failure.value.code == "not-finite"


def test_comparison(spark):
    frame = table(N)
    given, reference = spread(spark, frame.iloc[::2]), frame.iloc[1::2]
    result = cd.pairwise(given, reference, iid=True, progress=False)
    sketch, caveats = sketch_of_spark(given, iid=True, options=OPTIONS)
    assert not caveats
    assert cd.DependenceSketch.of(given, iid=True).n == sketch.n == N // 2
    assert result.worst.tau == cd.pairwise(sketch, reference, iid=True, progress=False).worst.tau


def test_counts_are_not_saved(spark, tmp_path):
    with pytest.raises(cd.InputError, match="checkpoint"):
        cd.DependenceSketch.of(spread(spark, table(N)), checkpoint=tmp_path)
