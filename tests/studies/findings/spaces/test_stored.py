"""Spaces from a store: what was kept is what is reported, and a report of other studies asks for nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from equipoise.studies.findings.exporting import columns_of
from equipoise.studies.findings.reading import data_of
from equipoise.studies.findings.reporting import measure_study, result_of
from equipoise.studies.findings.spaces.measuring import spaces_of
from store_cases import Predicting, trial
from study_space_cases import RAW, Method, minoritised, study


def test_a_store_says_of_spaces_what_was_kept(store: Any) -> None:
    data, drawn = study((Method("margin"), RAW), [minoritised(0.5), minoritised(0.9)], seeds=3)
    assert data.kept is not None
    truth = data.kept.truth
    store.plan([(one, place, "cell") for place, one in enumerate(data.trials)])
    store.add(drawn.recorded(data), truth)
    read = data_of(store, name="birds", truth=truth, compositions=data.compositions)
    assert read.kept is not None
    assert read.kept.has_spaces
    straight, stored = (spaces_of(measure_study(one)) for one in (data, read))
    assert straight is not None
    assert stored is not None
    assert stored.quantities == straight.quantities
    np.testing.assert_array_equal(stored.values, straight.values)
    path = store.place.path
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

    monkeypatch.setattr(type(store), "kept", never)
    data = data_of(store, name="plan", truth=predicting.truth)
    assert data.kept is None
    assert result_of(data).spaces == ()


def test_an_export_has_a_row_for_each_number_of_a_space() -> None:
    data, _ = study((Method("margin"), RAW), [minoritised(0.5), minoritised(0.9)], seeds=2)
    spaces = spaces_of(measure_study(data))
    assert spaces is not None
    table = columns_of(measure_study(data), spaces)
    number = len(measure_study(data).quantities) * 2 * len(data)
    assert {len(column) for column in table.values()} == {number + len(data) * len(spaces.quantities)}
    own = table["source"] == "embedding"
    recall = own & (table["measure"] == "recall_at_k") & (table["kind"] == "gap")
    place = spaces.place(source="embedding", measure="recall_at_k", kind="gap")
    assert place is not None
    np.testing.assert_array_equal(table["value"][recall].astype(float), spaces.values[:, place])
    assert table["key"][recall].tolist() == [one.key for one in data.trials]
    assert set(table["source"][:number]) == {None}
    assert "source" not in columns_of(measure_study(data), None)
