"""Dask and PySpark frames give the numbers that pandas gives. Run by `make test-frames`, which installs both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import equipoise

pd = pytest.importorskip("pandas")


def people() -> Any:
    generator = np.random.default_rng(0)
    rows = 3000
    target = generator.integers(0, 2, rows)
    return pd.DataFrame(
        {
            "sex": generator.choice(["F", "M"], rows),
            "race": generator.choice(list("abcd"), rows),
            "age": generator.integers(18, 90, rows),
            "y": target,
            "p": np.where(generator.random(rows) < 0.7, target, 1),
            "s": generator.random(rows),
            "w": generator.random(rows) + 0.5,
        }
    )


def dask_frame(frame: Any) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


def spark_frame(frame: Any) -> Any:
    sql = pytest.importorskip("pyspark.sql")
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    return session.createDataFrame(list(frame.itertuples(index=False, name=None)), list(frame.columns))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", [dask_frame, spark_frame])
def test_a_cluster_engine_gives_the_same_audit(made: Any) -> None:
    frame = people()
    ask = {
        "target": "y", "prediction": "p", "score": "s", "favourable": 1, "weight": "w",
        "sensitive_features": ["sex", "race", "age"], "bins": {"age": "quantile:3"},
    }  # fmt: skip
    regression = {"target": "w", "prediction": "s", "task": "regression", "sensitive_features": ["sex"]}
    elsewhere = made(frame)
    for question in (ask, regression):
        here, there = equipoise.audit(frame, **question), equipoise.audit(elsewhere, **question)
        for record, other in zip(here.records, there.records, strict=True):
            assert (record.measure, record.group, record.scope, record.class_) == (
                other.measure, other.group, other.scope, other.class_,
            )  # fmt: skip
            assert np.isclose(record.value, other.value, rtol=1e-9, atol=1e-12, equal_nan=True)
