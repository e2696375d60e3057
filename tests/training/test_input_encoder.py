"""Columns as inputs: fitted on training rows, the same numbers for other rows, and back from JSON."""

from __future__ import annotations

import doctest
import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.foundation import BadInput
from equipoise.training import InputEncoder
from equipoise.training import _input_encoder as input_encoder

COLUMNS = {
    "age": np.array([20.0, np.nan, 40.0, 60.0]),
    "job": np.array(["b", "a", None, "b"], dtype=object),
    "points": np.arange(8.0).reshape(4, 2),
}
FEATURES = ("age", "job", "points")


def test_numbers_categories_and_matrices_stand_side_by_side() -> None:
    encoder = InputEncoder.fit(COLUMNS, FEATURES)
    found = encoder.encode_columns(COLUMNS)
    spread = np.std([20, 40, 60])
    expected = [
        [(20 - 40) / spread, 0, 0, 1, 0, 0, 1],
        [0, 1, 1, 0, 0, 2, 3],
        [0, 0, 0, 0, 1, 4, 5],
        [20 / spread, 0, 0, 1, 0, 6, 7],
    ]
    order = encoder.columns[1].values  # type: ignore[union-attr]
    places = [2 + order.index(name) for name in ("a", "b", "(missing)")]
    np.testing.assert_allclose(found[:, [0, 1, *places, 5, 6]], expected, atol=1e-6)
    assert (encoder.width, encoder.names) == (7, FEATURES)


def test_only_training_rows_are_learnt_from() -> None:
    first = InputEncoder.fit(COLUMNS, FEATURES[:2], np.array([0, 3]))
    changed = {**COLUMNS, "age": np.array([20.0, 1e9, -1e9, 60.0])}
    assert first.state() == InputEncoder.fit(changed, FEATURES[:2], np.array([0, 3])).state()
    assert [one["kind"] for one in first.state()] == ["number", "category"]
    assert first.columns[1].values == ("b",)  # type: ignore[union-attr]


def test_a_category_that_no_training_row_has_is_none_of_the_known_ones() -> None:
    encoder = InputEncoder.fit(COLUMNS, ("job",))
    np.testing.assert_array_equal(encoder.encode({"job": ["z"]}), np.zeros((1, 3)))
    assert encoder.unknown_values({"job": ["z", "a", "y"]}) == {"job": ("y", "z")}


def test_a_number_is_the_same_category_in_any_spelling() -> None:
    encoder = InputEncoder.fit({"code": np.array(["1", "2", "x"], dtype=object)}, ("code",))
    expected = encoder.encode({"code": ["1", "2"]})
    for same in (np.array([1, 2]), np.array([1.0, 2.0]), [1, 2]):
        np.testing.assert_array_equal(encoder.encode({"code": same}), expected)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, dict])
def test_frames_of_all_libraries_give_the_same_inputs(library: Any) -> None:
    encoder = InputEncoder.fit(COLUMNS, ("age", "job"))
    frame = library({"job": ["a", None, "b"], "age": [30, 20, 50]})
    expected = encoder.encode_columns({"job": np.array(["a", None, "b"], dtype=object), "age": np.array([30, 20, 50])})
    np.testing.assert_array_equal(encoder.encode(frame), expected)


def test_a_column_of_lists_is_a_matrix() -> None:
    encoder = InputEncoder.fit(COLUMNS, ("points",))
    np.testing.assert_array_equal(encoder.encode(pl.DataFrame({"points": [[1.0, 2.0], [3.0, 4.0]]})), [[1, 2], [3, 4]])
    with pytest.raises(BadInput, match="2 numbers per row"):
        encoder.encode({"points": np.zeros((3, 5))})


def test_all_missing_numbers_are_the_mean() -> None:
    encoder = InputEncoder.fit(COLUMNS, ("age",))
    np.testing.assert_array_equal(encoder.encode({"age": [None, None]}), [[0, 1], [0, 1]])


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        ({"job": ["a"]}, "no column 'age'"),
        ({}, "no columns 'age', 'job'"),
        ({"age": ["old"], "job": ["a"]}, "holds 'old'"),
        ({"age": np.zeros((2, 2)), "job": np.array(["a", "b"])}, "available: numbers"),
        ({"age": np.zeros(2), "job": np.zeros((2, 2))}, "one value per row"),
    ],
)
def test_other_columns_than_at_the_fit_are_refused_by_name(frame: Any, says: str) -> None:
    encoder = InputEncoder.fit(COLUMNS, ("age", "job"))
    with pytest.raises(BadInput, match=says):
        encoder.encode(frame)


numbers = st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-1000, 1000))


@given(st.lists(st.tuples(numbers, st.sampled_from(["a", "b", "c", None, "1", "(missing)"])), min_size=2, max_size=30))
def test_state_goes_through_json_and_gives_the_same_inputs(rows: list[Any]) -> None:
    ages, jobs = (np.array(list(column), dtype=object) for column in zip(*rows, strict=True))
    columns = {"age": ages, "job": jobs}
    encoder = InputEncoder.fit(columns, ("age", "job"))
    again = InputEncoder.restore(json.loads(json.dumps(encoder.state(), allow_nan=False)))
    assert again == encoder
    np.testing.assert_array_equal(again.encode_columns(columns), encoder.encode_columns(columns))


def test_pictures_pass_as_they_are() -> None:
    pictures = np.zeros((3, 4, 5, 1), dtype=np.uint8)
    encoder = InputEncoder.restore(InputEncoder.fit({"image": pictures}, ("image",)).state())
    assert encoder.encode({"image": pictures}) is pictures
    with pytest.raises(BadInput, match="pictures"):
        encoder.encode({"image": pictures[:, :2]})


@pytest.mark.parametrize(
    "state",
    [
        None, [], ["age"], [{"kind": "exec"}], [{"kind": "number", "name": 1, "mean": 0, "scale": 1, "missing": False}],
        [{"kind": "number", "name": "a", "mean": float("nan"), "scale": 1, "missing": False}],
        [{"kind": "number", "name": "a", "mean": 0, "scale": -1, "missing": False}],
        [{"kind": "number", "name": "a", "mean": 0, "scale": 1, "missing": "no"}],
        [{"kind": "category", "name": "a", "values": []}], [{"kind": "category", "name": "a", "values": ["x", "x"]}],
        [{"kind": "category", "name": "a", "values": [1]}], [{"kind": "matrix", "name": "a", "width": 10**12}],
        [{"kind": "matrix", "name": "a", "width": True}], [{"kind": "pictures", "name": "a", "shape": [1, 2]}],
        [{"kind": "matrix", "name": "a", "width": 1}] * 2,
    ],
)  # fmt: skip
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(BadInput):
        InputEncoder.restore(state)


def test_the_example_runs() -> None:
    assert doctest.testmod(input_encoder).failed == 0


def test_a_number_that_no_input_can_hold_is_refused() -> None:
    encoder = InputEncoder.fit({"age": np.array([0.2, 0.4])}, ("age",))
    with pytest.raises(BadInput, match=r"holds 1e\+308, too large"):
        encoder.encode({"age": np.array([0.3, 1e308])})
