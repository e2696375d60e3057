"""The table of a study for other tools: any study, any number of trials, and a disk that is full."""

from __future__ import annotations

import csv
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

import duckdb

from equipoise.foundation import BadInput
from equipoise.studies import Study
from equipoise.studies.analysis import Measured
from equipoise.studies.findings import data_of, measure_study
from equipoise.studies.findings._exporting import write_measured, write_table
from equipoise.studies.storage import open_store
from helpers.cases.plan import cohort, threshold
from helpers.cases.store import Predicting, planned


def measured(folder: Path, trials: int) -> Measured:
    """Return a study of so many trials whose cohort says of no class that people want it."""
    predicting = Predicting()
    with open_store(folder / "study.db") as store:
        store.plan(planned(trials))
        store.add([predicting(one) for one, _, _ in planned(trials)], predicting.truth)
        return measure_study(data_of(store, name="plan", truth=predicting.truth), baseline="untreated")


def test_a_table_without_a_favourable_class_is_written_as_parquet(tmp_path: Path) -> None:
    study = measured(tmp_path, 400)
    rows = write_measured(study, None, tmp_path / "a.parquet")
    assert rows > 10_000
    assert write_measured(study, None, tmp_path / "a.csv") == rows
    ((number, classes),) = duckdb.sql(f"SELECT count(*), count(class) FROM '{tmp_path / 'a.parquet'}'").fetchall()
    assert (number, classes) == (rows, 0)
    kinds = dict(zip(*(lambda table: (table.columns, map(str, table.types)))(
        duckdb.sql(f"SELECT * FROM '{tmp_path / 'a.parquet'}'")), strict=True))  # fmt: skip
    assert (kinds["class"], kinds["value"], kinds["seed"]) == ("VARCHAR", "DOUBLE", "BIGINT")


def test_csv_and_parquet_have_the_same_rows_in_the_same_order(tmp_path: Path) -> None:
    study = measured(tmp_path, 12)
    for name in ("a.csv", "a.parquet"):
        write_measured(study, None, tmp_path / name)
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    table = duckdb.sql(f"SELECT * FROM '{tmp_path / 'a.parquet'}'")
    assert list(read[0]) == table.columns
    rows = table.fetchall()
    assert len(rows) == len(read)
    for row, line in zip(rows, read, strict=True):
        for value, text in zip(row, line.values(), strict=True):
            if isinstance(value, float):
                assert text == "" if np.isnan(value) else float(text) == value
            else:
                assert text == ("" if value is None else str(value))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_an_export_takes_memory_for_its_trials_and_not_for_its_rows(tmp_path: Path, name: str) -> None:
    study = measured(tmp_path, 600)
    write_measured(study, None, tmp_path / name)  # imports and the like
    tracemalloc.start()
    try:
        rows = write_measured(study, None, tmp_path / name)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 200 * rows, "a row of the table alone is larger"
    assert most < 5_000 * len(study.data)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_an_export_to_a_disk_that_is_full_is_told_in_words_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    resource = pytest.importorskip("resource")
    study = measured(tmp_path, 60)
    before = set(os.listdir(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))  # no file may become larger, as on a full disk
    try:
        with pytest.raises(BadInput, match="could not be written") as refused:
            write_measured(study, None, tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert name in refused.value.given
    assert set(os.listdir(tmp_path)) == before


def test_a_study_of_ones_own_function_is_exported(tmp_path: Path) -> None:
    study = Study(cohort(favourable=None), train=threshold, version=1, group="sex", seeds=2, name="own")
    study.run(tmp_path / "own.db")
    assert write_table(study, tmp_path / "own.db", tmp_path / "a.parquet") > 0
