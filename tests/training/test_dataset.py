"""A cohort as numbers: fitted on training rows alone, without test labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput, Cohort
from equipoise.training import BIN_NAMES, encode_dataset, target_bins

SPLIT = ["train"] * 6 + ["dev"] * 3 + ["test"] * 3


def cohort(**changes: Any) -> Cohort:
    columns = {
        "income": np.array(["low", "high"] * 6, dtype=object),
        "sex": np.array(["f", "m", "m", "f", "f", "m"] * 2, dtype=object),
        "race": np.array(["a", "b"] * 3 + ["a"] * 6, dtype=object),
        "age": np.array([20, 30, 40, 50, 60, 70, 45, 10, 100, 45, 45, 45]),
        "wealth": np.array([1.0, np.nan, 3.0, np.nan, 5.0, 3.0, np.nan, 3.0, 3.0, 1.0, 1.0, np.inf]),
        "job": np.array(["b", "a", None, "b", "c", "b", "d", "a", None, "c", "c", "c"], dtype=object),
        "when": np.array(SPLIT, dtype=object),
    }
    given = {"target": "income", "groups": ("sex", "race"), "features": ("age", "wealth", "job"), "split": "when"}
    return Cohort(name="tiny", columns={**columns, **changes.pop("columns", {})}, **{**given, **changes})


def test_numbers_are_standardised_and_text_is_one_hot_by_the_training_rows() -> None:
    dataset = encode_dataset(cohort(), "sex")
    train, dev, test = dataset.train.inputs, dataset.dev.inputs, dataset.test.inputs
    # age, wealth, wealth missing, then job: a, b, c and missing in a person's order
    assert train.shape == (6, 7)
    ages = np.array([20, 30, 40, 50, 60, 70])
    assert np.allclose(train[:, 0], (ages - 45) / ages.std(), atol=1e-6)
    assert np.allclose(dev[:, 0], (np.array([45, 10, 100]) - 45) / ages.std(), atol=1e-5)
    assert train[:, 2].tolist() == [0, 1, 0, 1, 0, 0]
    assert train[1, 1] == 0 == dev[0, 1]
    assert test[2, 1:3].tolist() == [0, 1]  # infinite is missing
    assert abs(train[[0, 2, 4, 5], 1].mean()) < 1e-6
    jobs = train[:, 3:].tolist()
    assert sorted(map(tuple, np.unique(jobs, axis=0).tolist())) == sorted(map(tuple, np.eye(4).tolist()))
    assert dev[0, 3:].sum() == 0  # "d" is in no training row
    assert dev[2, 3:].tolist() == train[2, 3:].tolist()  # missing is a value of its own
    assert train.dtype == np.float32


def test_what_dev_and_test_rows_hold_changes_nothing_about_training_rows() -> None:
    other = cohort()
    columns = {name: column.copy() for name, column in other.columns.items()}
    columns["age"][6:] = 1000
    columns["job"][6:] = "zzz"
    changed = encode_dataset(replace(other, columns=columns), "sex")
    assert np.array_equal(changed.train.inputs, encode_dataset(cohort(), "sex").train.inputs)


def test_test_rows_have_no_target_and_groups_only_where_they_are_asked_for() -> None:
    dataset = encode_dataset(cohort(), "sex")
    assert dataset.test.target is None
    assert dataset.test.cell is None
    assert dataset.test.group is None
    assert encode_dataset(cohort(), "sex", groups_at_prediction=True).test.group is not None
    assert dataset.dev.target is not None
    assert dataset.dev.ids.tolist() == [6, 7, 8]
    assert dataset.classes == ("high", "low")
    assert dataset.train.target.tolist() == [1, 0, 1, 0, 1, 0]  # type: ignore[union-attr]


def test_groups_cross_and_what_training_rows_do_not_have_has_no_code() -> None:
    changed = cohort(columns={"race": np.array(["a", "b"] * 3 + ["a", "c", None] + ["a"] * 3, dtype=object)})
    dataset = encode_dataset(changed, ("sex", "race"))
    assert dataset.groups == ("f & a", "f & b", "m & a", "m & b")
    assert dataset.train.group.tolist() == [0, 3, 2, 1, 0, 3]  # type: ignore[union-attr]
    assert dataset.dev.group.tolist() == [0, -1, -1]  # type: ignore[union-attr]


def test_a_regression_has_numbers_and_quarters_of_the_training_targets() -> None:
    numbers = np.array([1.0, 2, 3, 4, 5, 6, -100, 100, np.nan, 1, 1, 1])
    dataset = encode_dataset(cohort(task="regression", columns={"income": numbers}), "sex")
    assert dataset.classes == BIN_NAMES[4]
    assert dataset.task == "regression"
    assert dataset.train.cell.tolist() == [0, 0, 1, 2, 3, 3]  # type: ignore[union-attr]
    assert dataset.dev.cell.tolist() == [0, 3, -1]  # type: ignore[union-attr]
    assert dataset.dev.target.dtype == np.float32  # type: ignore[union-attr]
    equal = np.array([1.0] * 5 + [9.0] + [1.0] * 6)
    tied = encode_dataset(cohort(task="regression", columns={"income": equal}), "sex")
    assert tied.classes == ("highest quarter",)  # all three quartiles are 1


@pytest.mark.parametrize("quantiles", [4, 10])
@pytest.mark.parametrize("ties", [False, True])
def test_targets_are_cut_at_the_quantiles_of_training_rows(quantiles: int, ties: bool) -> None:
    generator = np.random.default_rng(quantiles)
    numbers = generator.exponential(size=203)
    if ties:
        numbers = np.round(numbers)
    numbers[[7, 190]] = np.nan
    train = np.arange(150)
    codes, names = target_bins(numbers, train, quantiles)
    trained = sorted(number for number in numbers[train].tolist() if number == number)

    def edge(share: float) -> float:
        """A sample quantile between two sorted values, by hand."""
        place = share * (len(trained) - 1)
        low = int(place)
        high = min(low + 1, len(trained) - 1)
        return trained[low] + (place - low) * (trained[high] - trained[low])

    edges = [edge(part / quantiles) for part in range(1, quantiles)]
    parts = [sum(number >= at for at in edges) if number == number else -1 for number in numbers.tolist()]
    used = sorted({part for row, part in enumerate(parts) if row < 150 and part >= 0})
    assert names == tuple(BIN_NAMES[quantiles][part] for part in used)
    assert (len(names) == quantiles) is not ties
    assert codes.tolist() == [used.index(part) if part >= 0 else -1 for part in parts]
    if not ties:
        sizes = np.bincount(codes[train][codes[train] >= 0])
        assert sizes.max() - sizes.min() <= 1


def test_a_cohort_says_into_how_many_parts_its_numbers_are_cut() -> None:
    numbers = np.arange(12.0)
    data = cohort(task="regression", columns={"income": numbers})
    tenths = encode_dataset(replace(data, quantiles=10), "sex")
    assert set(tenths.classes) < set(BIN_NAMES[10])
    assert tenths.train.cell.tolist() == list(range(6))  # type: ignore[union-attr]
    for wrong in (3, 0, "4", True):
        with pytest.raises(BadInput, match=r"4 \(quarters\) or 10"):
            replace(data, quantiles=wrong)
    with pytest.raises(BadInput, match="quantiles is 10, and the cohort is a class task"):
        cohort(quantiles=10)


def test_a_matrix_of_numbers_passes_as_it_is() -> None:
    points = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float16)
    dataset = encode_dataset(cohort(features=("points",), columns={"points": points}), "sex")
    assert np.array_equal(dataset.train.inputs, points[:6].astype(np.float32))
    with pytest.raises(BadInput, match="not all finite"):
        encode_dataset(cohort(features=("points",), columns={"points": points * np.float16(np.nan)}), "sex")


@pytest.mark.parametrize(
    ("changes", "group", "said"),
    [
        ({"split": None}, "sex", "has no train, dev, test split"),
        ({"columns": {"when": np.array(["train"] * 9 + ["test"] * 3, dtype=object)}}, "sex", "has no dev split"),
        ({"features": ()}, "sex", "no feature columns"),
        ({}, None, "several group columns"),
        ({}, "sx", "did you mean 'sex'"),
        ({"columns": {"sex": np.array(["f"] * 12, dtype=object)}}, "sex", "1 group of sex"),
        ({"task": "multilabel"}, "sex", "several labels a row"),
        ({"task": "regression"}, "sex", "holds no numbers"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(changes: Any, group: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        encode_dataset(cohort(**changes), group)


def test_free_text_is_refused() -> None:
    rows = 3_000
    columns = {
        "y": np.arange(rows) % 2, "g": np.arange(rows) % 3, "note": np.array([f"text {row}" for row in range(rows)]),
        "split": np.array(["train", "train", "train", "dev", "test"] * (rows // 5)),
    }  # fmt: skip
    free = Cohort(name="free", columns=columns, target="y", groups=("g",), features=("note",), split="split")
    with pytest.raises(BadInput, match="1,800 different texts"):
        encode_dataset(free)


def test_crossed_groups_come_apart_again() -> None:
    group = np.array(["a", "a", "b", "b", "a", "b", None, "a"], dtype=object)
    other = np.array(["y", "x", "x", "x", "y", "x", "y", "x"], dtype=object)
    columns: dict[str, Any] = {
        "f": np.arange(8.0), "g": group, "h": other, "c": np.array(list("pqpqpqpq"), dtype=object),
        "split": np.array(["train"] * 4 + ["dev", "dev", "dev", "test"], dtype=object),
    }  # fmt: skip
    cohort = Cohort("few", columns, target="c", groups=("g", "h"), features=("f",), split="split")
    dataset = encode_dataset(cohort, group=["g", "h"])
    assert dataset.attributes == ("g", "h")
    assert dataset.attribute_values == (("a", "b"), ("x", "y"))
    assert dataset.train.group is not None
    assert dataset.dev.group is not None
    codes = dataset.attribute_codes(dataset.train.group)
    assert codes.tolist() == [[0, 0, 1, 1], [1, 0, 0, 0]]
    # Of a dev row whose crossed group no training row has, nothing is known.
    assert dataset.attribute_codes(dataset.dev.group).tolist() == [[0, 1, -1], [1, 0, -1]]
