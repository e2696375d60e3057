"""Spaces from a store: what was kept is what is reported, and a report of other studies asks for nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from equipoise.studies.findings import data_of, measure_study, result_of
from equipoise.studies.findings._exporting import write_measured
from equipoise.studies.findings.spaces._values import spaces_of
from helpers.cases.store import Predicting, trial
from helpers.cases.study_space import RAW, Method, minoritised, study


def test_a_store_says_of_spaces_what_was_kept(store: Any) -> None:
    data, drawn = study((Method("margin"), RAW), [minoritised(0.5), minoritised(0.9)], seeds=3)
    assert data.stored_arrays is not None
    truth = data.stored_arrays.labels
    store.plan([(one, index, "cell") for index, one in enumerate(data.trials)])
    store.add(drawn.recorded(data), truth)
    read = data_of(store, name="birds", truth=truth, compositions=data.compositions)
    assert read.stored_arrays is not None
    assert read.stored_arrays.has_spaces
    straight, stored = (spaces_of(measure_study(one)) for one in (data, read))
    assert straight is not None
    assert stored is not None
    assert stored.quantities == straight.quantities
    np.testing.assert_array_equal(stored.values, straight.values)
    path = store.location.path
    assert path is None or path.with_name(path.name + ".spaces.json").exists()
    again = spaces_of(measure_study(data_of(store, name="birds", truth=truth, compositions=data.compositions)))
    assert again is not None
    np.testing.assert_array_equal(again.values, straight.values)


def test_a_store_without_kept_arrays_is_asked_for_none(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    predicting = Predicting()
    trials = [trial(seed) for seed in range(3)]
    store.plan([(one, 0, "cell") for one in trials])
    store.add([replace(predicting(one)) for one in trials], predicting.truth)

    def never(*asked: object) -> Any:
        raise AssertionError("nothing was kept, so nothing is to be read")

    monkeypatch.setattr(type(store), "stored_arrays", never)
    data = data_of(store, name="plan", truth=predicting.truth)
    assert data.stored_arrays is None
    assert result_of(data).spaces == ()


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_an_export_has_a_row_for_each_number_of_a_space(tmp_path: Path, name: str) -> None:
    import duckdb

    data, _ = study((Method("margin"), RAW), [minoritised(0.5), minoritised(0.9)], seeds=2)
    measured = measure_study(data)
    spaces = spaces_of(measured)
    assert spaces is not None
    number = len(measured.quantities) * 2 * len(data)
    written = write_measured(measured, spaces, tmp_path / name)
    assert written == number + len(data) * len(spaces.quantities)
    table = duckdb.sql(f"SELECT * FROM '{tmp_path / name}'")
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
    assert len(rows) == written
    recall = [
        row for row in rows if (row["source"], row["measure"], row["kind"]) == ("embedding", "recall_at_k", "gap")
    ]
    place = spaces.quantity_index(source="embedding", measure="recall_at_k", kind="gap")
    assert place is not None
    np.testing.assert_array_equal([row["value"] for row in recall], spaces.values[:, place])
    assert [row["key"] for row in recall] == [one.key for one in data.trials]
    assert {row["source"] for row in rows[:number]} == {None}
    assert write_measured(measured, None, tmp_path / name) == number
    assert "source" not in duckdb.sql(f"SELECT * FROM '{tmp_path / name}'").columns
