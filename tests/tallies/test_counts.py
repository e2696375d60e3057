"""Counts as a running tally: batches, ranks and JSON in between change nothing."""

from __future__ import annotations

import datetime
import itertools
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise
from equipoise import Counts, measures
from equipoise.foundation import BadInput, registry
from equipoise.tallies import (
    Cells,
    label_of,
    label_text,
    ordered,
)

pytestmark = pytest.mark.once

MODERATE = settings(deadline=None, max_examples=40)

# Intervals and tests have tests of their own; one test here compares them, too.
PLAIN: dict[str, Any] = {"draws": 0, "least_people": 0}


def audit(rows: Any = None, **options: Any) -> equipoise.AuditResult:
    return equipoise.audit(rows, **{**PLAIN, **options})


ROW = st.tuples(
    st.sampled_from(["no", "yes", "perhaps", None]),
    st.sampled_from(["no", "yes", None]),
    st.sampled_from(["F", "M", "X", None]),
    st.sampled_from([1, 2, 10]),
    st.integers(0, 12).map(lambda quarter: quarter / 4),
)
Row = tuple[str | None, str | None, str | None, int, float]
FIRST: list[Row] = [("no", "no", "F", 1, 1.0), ("yes", "no", "M", 2, 0.5), ("yes", "yes", "F", 2, 1.0)]


def counted(rows: list[Row], *, weighted: bool) -> Counts:
    target, prediction, sex, age, weights = (list(column) for column in zip(*rows, strict=True))
    return Counts().update(
        target, prediction, sensitive_features={"sex": sex, "age": age}, sample_weight=weights if weighted else None
    )


def batches(rows: list[Row], cuts: list[int]) -> Iterator[list[Row]]:
    places = [0, *sorted({cut for cut in cuts if 0 < cut < len(rows)}), len(rows)]
    for low, high in itertools.pairwise(places):
        yield rows[low:high]


def audited(rows: list[Row], *, weighted: bool, **options: Any) -> equipoise.AuditResult:
    names = ("income", "predicted", "sex", "age", "weight")
    frame = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return audit(
        frame, target="income", prediction="predicted", sensitive_features=["sex", "age"],
        weight="weight" if weighted else None, **options,
    )  # fmt: skip


def same_records(first: equipoise.AuditResult, second: equipoise.AuditResult) -> None:
    assert len(first.records) == len(second.records)
    for one, other in zip(first.as_json()["records"], second.as_json()["records"], strict=True):  # type: ignore[call-overload]
        for field in one:
            if isinstance(one[field], float):
                assert one[field] == pytest.approx(other[field], rel=1e-12, abs=1e-12), (field, one, other)
            else:
                assert one[field] == other[field], (field, one, other)
    assert first.card == second.card
    assert first.words == second.words
    assert first.untold == second.untold


# Batches, ranks, JSON.


@MODERATE
@given(rows=st.lists(ROW, max_size=40), cuts=st.lists(st.integers(1, 42), max_size=5))
def test_batches_give_the_counts_of_all_rows_at_once(rows: list[Row], cuts: list[int]) -> None:
    rows = FIRST + rows
    whole = counted(rows, weighted=False)
    running = Counts()
    for batch in batches(rows, cuts):
        running.update(
            [row[0] for row in batch],
            [row[1] for row in batch],
            sensitive_features={"sex": [row[2] for row in batch], "age": [row[3] for row in batch]},
        )
    assert running.tables[None].fingerprint == whole.tables[None].fingerprint
    for attribute, values in whole.compute().items():
        assert running.compute()[attribute] == pytest.approx(values, abs=1e-15, nan_ok=True)


@MODERATE
@given(rows=st.lists(ROW, max_size=40), cut=st.integers(1, 42), weighted=st.booleans())
def test_two_ranks_that_send_json_add_up_to_the_whole(rows: list[Row], cut: int, weighted: bool) -> None:
    rows = FIRST + [row for row in rows if row[4] > 0] + FIRST
    cut = min(cut, len(rows) - 1)
    ranks = [counted(part, weighted=weighted) for part in (rows[:cut], rows[cut:])]
    sent = [Counts.from_dict(json.loads(json.dumps(rank.to_dict()))) for rank in ranks]
    merged, whole = sent[0].merge(sent[1]), counted(rows, weighted=weighted)
    assert merged.tables[None].fingerprint == whole.tables[None].fingerprint
    assert merged.attributes == ("sex", "age")


@pytest.mark.long
@MODERATE
@given(rows=st.lists(ROW, max_size=40), weighted=st.booleans(), favourable=st.sampled_from([None, "yes"]))
def test_an_audit_of_counts_is_the_audit_of_the_rows_record_by_record(
    rows: list[Row], weighted: bool, favourable: str | None
) -> None:
    rows = FIRST + rows
    counts = counted(rows, weighted=weighted)
    result = audit(counts, favourable=favourable, intersections=True)
    same_records(result, audited(rows, weighted=weighted, favourable=favourable, intersections=True))


@MODERATE
@given(rows=st.lists(ROW, max_size=40), favourable=st.sampled_from([None, "yes"]))
def test_compute_gives_the_numbers_of_the_audit(rows: list[Row], favourable: str | None) -> None:
    # A measure that is called by itself knows no classes but those of the rows it compares.
    rows = FIRST + [row for row in rows if None not in row[:3]]
    result = audited(rows, weighted=False, favourable=favourable)
    for attribute, values in counted(rows, weighted=False).compute(favourable=favourable).items():
        for name, value in values.items():
            # An audit takes yes for favourable where no class was named; counts are asked for what they were told.
            expected = result.value(name, attribute=attribute, scope="overall" if favourable is None else None)
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), name


def test_the_same_counts_give_the_same_audit_with_other_options() -> None:
    rows = FIRST * 4 + [("no", "yes", "M", 2, 1.0), ("no", "yes", None, 2, 1.0), (None, "yes", "F", 1, 1.0)]
    options: list[dict[str, Any]] = [
        {"strict": True},
        {"include_missing": True},
        {"suppress_below": 5, "favourable": "yes"},
        {"variant": "authors"},
        {"reference": {"sex": "M"}, "favourable": "yes"},
    ]
    for chosen in options:
        same_records(
            audit(counted(rows, weighted=False), **chosen), audited(rows, weighted=False, **chosen)
        )  # fmt: skip


def test_by_default_every_gap_that_counts_can_tell_is_computed() -> None:
    entries = [entry for entry in registry.entries("measure") if entry.details["kind"] == "gap"]
    expected = {entry.name for entry in entries if entry.details["needs"] in ("predictions", "counts")}
    assert set(counted(FIRST, weighted=False).compute()["sex"]) == expected


def test_measures_are_asked_for_by_name_or_alias_and_one_may_be_asked_alone() -> None:
    counts = counted(FIRST, weighted=False)
    assert counts.compute("DP", favourable="yes") == {
        "sex": {"demographic_parity": 0.5}, "age": {"demographic_parity": 0.5},
    }  # fmt: skip
    assert set(counts.compute(["demographic_parity", "GAP"])["age"]) == {"demographic_parity", "true_positive_rate_gap"}


def test_weights_are_summed_and_so_are_their_squares() -> None:
    counts = Counts().update(
        [1, 1, 1, 0], [1, 1, 0, 0], sensitive_features=["a", "a", "b", "b"], sample_weight=[2, 3, 0.5, 1]
    )  # fmt: skip
    cells = {tuple(labels): sums for labels, sums in counts.tables[None]._labelled()}
    assert cells["1", "1", "a"] == [2.0, 5.0, 13.0]
    assert cells["1", "0", "b"] == [1.0, 0.5, 0.25]
    assert counts.compute("DP", favourable=1)["group"]["demographic_parity"] == 1.0


def test_integer_weights_are_the_same_as_repeated_rows() -> None:
    generator = np.random.default_rng(3)
    columns = [generator.integers(0, 3, 50), generator.integers(0, 3, 50), generator.integers(0, 4, 50)]
    times = generator.integers(1, 5, 50)
    heavy = Counts().update(*columns[:2], sensitive_features=columns[2], sample_weight=times)
    repeated = [np.repeat(column, times) for column in columns]
    plain = Counts().update(*repeated[:2], sensitive_features=repeated[2])
    assert heavy.compute()["group"] == pytest.approx(plain.compute()["group"], abs=1e-12, nan_ok=True)


# Several labels a row.

TRUTH = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1]])
GUESS = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1]])
WHO = ["a", "a", "a", "b", "b", "b"]


def test_a_matrix_of_labels_has_a_table_for_each_label() -> None:
    counts = Counts().update(TRUTH, GUESS, sensitive_features=WHO)
    assert list(counts.tables) == ["0", "1", "2"]
    for place in range(3):
        alone = Counts().update(TRUTH[:, place], GUESS[:, place], sensitive_features=WHO)
        assert counts.tables[str(place)].fingerprint == alone.tables[None].fingerprint


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 1.0, 1.5, 0.25]])
def test_labels_in_batches_and_through_json_give_the_audit_of_the_whole(weights: list[float] | None) -> None:
    running = Counts()
    for part in (slice(0, 2), slice(2, 3), slice(3, 6)):
        other = Counts().update(
            TRUTH[part], GUESS[part], sensitive_features=WHO[part], sample_weight=weights and weights[part]
        )
        running.merge(Counts.from_dict(json.loads(json.dumps(other.to_dict()))))
    whole = audit(
        target=TRUTH, prediction=GUESS, sensitive_features=WHO, task="multilabel", weight=weights
    )  # fmt: skip
    same_records(audit(running), whole)
    for name, value in running.compute()["group"].items():
        if getattr(measures, name).classwise:
            assert value == pytest.approx(whole.value(name, attribute="group", scope="overall"))


def test_one_column_of_labels_is_an_ordinary_task() -> None:
    counts = Counts().update(TRUTH[:, :1], GUESS[:, :1], sensitive_features=WHO)
    assert list(counts.tables) == [None]


def test_frames_of_labels_are_matrices_too() -> None:
    counts = Counts().update(pd.DataFrame(TRUTH), pd.DataFrame(GUESS), sensitive_features=pd.Series(WHO))
    expected = Counts().update(TRUTH, GUESS, sensitive_features=WHO)
    assert [cells.fingerprint for cells in counts.tables.values()] == [
        cells.fingerprint for cells in expected.tables.values()
    ]


# What cannot be counted.


def test_nothing_counted_is_nothing_to_compute() -> None:
    with pytest.raises(BadInput, match="Nothing was counted yet"):
        Counts().compute()
    with pytest.raises(BadInput, match="Nothing was counted yet"):
        audit(Counts())


@pytest.mark.parametrize(
    ("target", "prediction", "options", "words"),
    [
        ([0, 1], [0, 1, 1], {}, "different lengths"),
        ([0, 1], [0, 1], {"sample_weight": [1.0]}, "different lengths"),
        ([0, 1], [0, 1], {"sample_weight": [1.0, -1.0]}, "1 weight is negative"),
        ([0, 1], [0, 1], {"sample_weight": [1.0, math.nan]}, "1 weight is negative"),
        (np.zeros((2, 3)), np.zeros((2, 2)), {}, "the same shape"),
        (np.zeros((2, 3)), [0, 1], {}, "the same shape"),
        (np.zeros((2, 2, 2)), [0, 1], {}, "3 dimensions"),
    ],
)
def test_batches_that_do_not_fit_are_refused(target: Any, prediction: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Counts().update(target, prediction, sensitive_features=["a", "b"], **options)


def test_counts_of_other_attributes_are_not_merged() -> None:
    counts = Counts().update([0, 1], [0, 1], sensitive_features={"sex": ["F", "M"]})
    with pytest.raises(ValueError, match="the same target, prediction and group columns in every batch"):
        counts.update([0, 1], [0, 1], sensitive_features={"race": ["x", "y"]})


def test_counts_tell_how_many_rows_they_have() -> None:
    assert repr(Counts()) == "Counts(0 rows, attributes=[])"
    assert repr(counted(FIRST, weighted=False)) == 'Counts(3 rows, attributes=["sex", "age"])'


# Labels.


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (None, None),
        (math.nan, None),
        (np.float32("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
        (Decimal("NaN"), None),
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (np.float32(2.0), "2"),
        (np.int64(7), "7"),
        (np.uint64(2**64 - 1), str(2**64 - 1)),
        (2**80, str(2**80)),
        (1e20, "100000000000000000000"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        (math.inf, "inf"),
        (True, "True"),
        (np.False_, "False"),
        ("1", "1"),
        ("1.0", "1.0"),
        ("", ""),
        (" a ", " a "),
        (np.str_("a"), "a"),
        (b"caf\xc3\xa9", "café"),
        (b"\xff", "\ufffd"),
        (Decimal("1.50"), "1.5"),
        (Decimal("2"), "2"),
        (datetime.date(2020, 1, 31), "2020-01-31"),
        (datetime.datetime(2020, 1, 31, 12), "2020-01-31T12:00:00"),
        (pd.Timestamp("2020-01-31 12:00"), "2020-01-31T12:00:00"),
        (np.array(3), "3"),
        (pd.Interval(0, 5), "(0, 5]"),
    ],
)
def test_a_value_has_one_label_whatever_holds_it(value: object, label: str | None) -> None:
    assert label_of(value) == label


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["10", "9", "1"], ["1", "9", "10"]),
        (["b", "10", "a", "-2", "2.5"], ["-2", "2.5", "10", "a", "b"]),
        (["inf", "nan", "1"], ["1", "inf", "nan"]),
        (["1e3", "999"], ["999", "1e3"]),
        (["1.0", "1"], ["1", "1.0"]),
        (["b", "B", "a"], ["B", "a", "b"]),
        ([], []),
    ],
)
def test_labels_stand_in_a_persons_order_however_they_come(labels: list[str], order: list[str]) -> None:
    assert ordered(labels) == order
    assert ordered(reversed(labels)) == order


def test_numbers_are_ordered_by_size_in_groups_and_classes() -> None:
    counts = Counts().update([10, 9, 100], [9, 10, 100], sensitive_features=[2, 10, 1])
    table = counts.confusion(["group"])
    assert table.classes == ("9", "10", "100")
    assert table.groups == ("1", "2", "10")


def test_the_missing_group_has_a_name_and_stands_last() -> None:
    counts = Counts().update([0, 1, 1], [0, 1, 0], sensitive_features=["z", None, "a"])
    assert label_text(None) == "(missing)"
    assert counts.confusion(["group"]).groups == ("a", "z")
    assert counts.confusion(["group"], include_missing=True).groups == ("a", "z", "(missing)")


@pytest.mark.parametrize(
    "same",
    [
        [1, 0, 1, 0],
        [1.0, 0.0, 1.0, 0.0],
        np.array([1, 0, 1, 0], dtype=np.int8),
        np.array(["1", "0", "1", "0"]),
        pd.Series([1, 0, 1, 0], dtype="Int64"),
        pd.Series(["1", "0", "1", "0"], dtype="category"),
        pl.Series([1.0, 0.0, 1.0, 0.0]),
        np.array([[1], [0], [1], [0]]),
    ],
)
def test_the_same_classes_are_counted_alike_whatever_holds_them(same: Any) -> None:
    expected = Counts().update([1, 0, 1, 0], [1, 1, 0, 0], sensitive_features=list("aabb"))
    found = Counts().update(same, [1, 1, 0, 0], sensitive_features=list("aabb"))
    assert found.tables[None].fingerprint == expected.tables[None].fingerprint


# The table underneath.


def test_cells_are_kept_narrowed_renamed_and_summed() -> None:
    cells = Cells.from_rows(
        ["a", "b"],
        [(("x", "1"), [1, 2, 4]), (("y", "1"), [1, 1, 1]), (("x", None), [2, 2, 2]), (("x", "1"), [1, 1, 1])],
    )
    assert cells.rows == 5
    assert set(cells.axis("b")) == {"1", None}
    assert cells.where("b", ["1"]).rows == 3
    assert cells.where("b", ["7"]).axis("b") == ()
    assert cells.relabel("a", {"y": "x"}).axis("a") == ("x",)
    assert cells.marginal(["a"]).fingerprint == cells.relabel("b", {"1": None}).marginal(["a"]).fingerprint
    table = cells.crossed(["a"], [("y",), ("x",)], ["b"], [["1", None, "2"]])
    assert table[:, :, 0].tolist() == [[1, 0, 0], [2, 2, 0]]
    with pytest.raises(ValueError, match="cannot be merged"):
        cells.merge(cells.marginal(["a"]))


def test_a_table_of_very_many_possible_combinations_stays_as_small_as_its_rows() -> None:
    rows = 500
    columns = {name: np.arange(rows) for name in ("one", "two", "three")}
    counts = Counts().update(np.arange(rows) % 2, np.arange(rows) % 2, sensitive_features=columns)
    assert counts.tables[None].codes.shape == (rows, 5)
    assert counts.tables[None].rows == rows


# Found while these tests were written.


def test_a_label_that_is_undefined_in_a_group_is_left_out_of_the_mean_by_compute_as_by_audit() -> None:
    truth = np.array([[1, 0], [1, 1], [0, 0], [1, 0]])
    counts = Counts().update(truth, truth, sensitive_features=list("aabb"))
    expected = audit(target=truth, prediction=truth, sensitive_features=list("aabb"), task="multilabel")
    assert counts.compute("EOTP")["group"]["equalized_odds_true_positive"] == expected.value("EOTP", attribute="group")


def test_a_label_that_nobody_has_and_nobody_is_predicted_is_selected_for_nobody() -> None:
    truth = np.array([[1, 0], [0, 0], [1, 0], [0, 0]])
    counts = Counts().update(truth, truth, sensitive_features=list("aabb"))
    rates = audit(counts).find("selection_rate", label="1", scope="class", attribute=("group",))
    assert [record.value for record in rates] == [0.0, 0.0]


def test_true_and_1_are_the_same_class_in_counts_as_in_an_audit() -> None:
    truth, guess = np.array([True, False, True, False]), np.array([1, 0, 0, 0])
    counts = Counts().update(truth, guess, sensitive_features=list("aabb"))
    expected = audit(target=truth, prediction=guess, sensitive_features=list("aabb"))
    assert audit(counts).classes == expected.classes


def test_the_order_of_attributes_may_differ_between_batches() -> None:
    counts = Counts().update([0, 1], [0, 1], sensitive_features={"sex": ["F", "M"], "race": ["x", "y"]})
    counts.update([0, 1], [0, 1], sensitive_features={"race": ["x", "y"], "sex": ["F", "M"]})


def test_an_audit_of_counts_of_one_group_is_refused_as_that_of_a_frame_is() -> None:
    with pytest.raises(BadInput, match="one group only"):
        audit(Counts().update([0, 1], [0, 1], sensitive_features=["a", "a"]))


def test_the_fingerprint_of_weighted_rows_does_not_depend_on_their_order() -> None:
    generator = np.random.default_rng(0)
    weights, who = generator.random(500), generator.integers(0, 2, 500)
    order = generator.permutation(500)
    first = Counts().update(who, who, sensitive_features=who, sample_weight=weights)
    second = Counts().update(who[order], who[order], sensitive_features=who[order], sample_weight=weights[order])
    assert first.tables[None].fingerprint == second.tables[None].fingerprint
