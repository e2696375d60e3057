"""Readouts against counting row by row, and the truth of a cohort against its rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.cohorts import Cohort
from equipoise.foundation import BadInput
from equipoise.measures import distance_to_optimum
from equipoise.measures._scores import BY_NAME
from equipoise.studies.storage._labels import Names, Readouts, decoded, encoded, evaluation_labels, readout
from equipoise.training import BIN_NAMES, Predicted, encode_dataset
from helpers.cases.store import GROUPS, Predicting, trial, truth


def read(made: Predicting, number: int = 5, split: str = "test") -> tuple[Readouts, list[Predicted]]:
    """Read several trials through bytes, as a store does."""
    predicted = [made(trial(seed)).predictions[split] for seed in range(number)]
    packed = [encoded(readout(one, made.truth, split)) for one in predicted]
    counts = decoded(packed[0].kind, packed[0].shape, [one.content for one in packed])
    return Readouts(split, tuple(map(str, range(number))), counts, made.truth.names), predicted


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(0, 60), classes=st.integers(1, 5), seed=st.integers(0, 100))
def test_counts_are_those_of_a_loop_over_rows(rows: int, classes: int, seed: int) -> None:
    made = Predicting(truth(rows, classes=classes, seed=seed))
    counted, predicted = read(made)
    known = made.truth.of("test")
    for index, one in enumerate(predicted):
        table = Counter(zip(known.group.tolist(), known.target.tolist(), one.values.tolist(), strict=True))
        for group in range(len(GROUPS)):
            for true in range(classes):
                for guess in range(classes):
                    assert counted.counts[index, group, true, guess] == table[group, true, guess]


def test_groups_are_added_up_by_any_column() -> None:
    made = Predicting()
    counted, _ = read(made)
    whole = counted.confusion(include_missing=True)
    assert whole.groups == ("Female & Black", "Female & (missing)", "Male & Black", "Male & White")
    assert counted.confusion().groups == ("Female & Black", "Male & Black", "Male & White")
    sex, race = counted.confusion(["sex"]), counted.confusion(["race"])
    assert (sex.groups, race.groups) == (("Female", "Male"), ("Black", "White"))
    np.testing.assert_array_equal(sex.cells[:, 0], whole.cells[:, 0] + whole.cells[:, 1])
    np.testing.assert_array_equal(race.cells[:, 0], whole.cells[:, 0] + whole.cells[:, 2])
    assert counted.confusion(["race"], include_missing=True).groups == ("Black", "(missing)", "White")
    assert counted.confusion(["race", "sex"]).groups == ("Black & Female", "Black & Male", "White & Male")
    with pytest.raises(BadInput, match="group column 'gender' not found"):
        counted.confusion(["gender"])
    with pytest.raises(BadInput, match="use confusion"):
        counted.residuals()


def test_measures_take_all_trials_at_once() -> None:
    made = Predicting(truth(400, classes=2))
    counted, predicted = read(made)
    at_once = distance_to_optimum.by_class(counted.confusion(["sex"]))
    known = made.truth.of("test")
    rows = known.target >= 0
    sex = np.array([GROUPS[group][0] for group in known.group])
    for index, one in enumerate(predicted):
        alone = distance_to_optimum(known.target[rows], one.values[rows], sensitive_features=sex[rows])
        assert at_once[index] == pytest.approx(alone, abs=1e-12)


def test_a_regressions_sums_give_the_measures_of_its_rows() -> None:
    made = Predicting(truth(300, task="regression"))
    counted, predicted = read(made)
    assert counted.counts.shape == (5, len(GROUPS), 4, 11)
    known = made.truth.of("test")
    rows = known.is_known
    found = counted.residuals(["sex"])
    sex = np.array([GROUPS[group][0] for group in known.group])
    for index, one in enumerate(predicted):
        for group, name in enumerate(("Female", "Male")):
            chosen = rows & (sex == name)
            y, p = known.target[chosen], one.values[chosen].astype(np.float64)
            assert found.rows[index, group] == chosen.sum()
            assert found.mean_absolute_error[index, group] == pytest.approx(np.abs(p - y).mean(), rel=1e-9)
            pearson = BY_NAME["pearson"].by_class(found)[index, group]
            assert pearson == pytest.approx(np.corrcoef(y, p)[0, 1], abs=1e-9)
    quarters = np.bincount(known.cell[rows], minlength=4)  # type: ignore[index]
    np.testing.assert_array_equal(counted.counts[0, :, :, 0].sum(axis=0), quarters)
    with pytest.raises(BadInput, match="use residuals"):
        counted.confusion()


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (np.zeros(39, dtype=int), r"shape \(39,\) for the test rows, which are 40"),
        (np.zeros((40, 1), dtype=int), r"shape \(40, 1\)"),
        (np.full(40, 3), "codes from 3 to 3"),
        (np.full(40, -1), "codes from -1 to -1"),
        (np.zeros(40), "float64 numbers"),
        (np.array(["a"] * 40), "<U1 numbers"),
    ],
)
def test_predictions_that_are_no_codes_are_refused(values: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        readout(Predicted(values), truth(), "test")


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(BadInput, match="not finite"):
        readout(Predicted(np.full(40, np.inf)), truth(task="regression"), "test")
    with pytest.raises(BadInput, match="no truth of the split 'train'"):
        readout(Predicted(np.zeros(40)), truth(), "train")
    with pytest.raises(BadInput, match="numbers of the kind"):
        decoded("<i2", (2,), [b"abcd"])


def people(task: str = "class") -> Cohort:
    generator = np.random.default_rng(0)
    rows = 200
    split = np.array(["train"] * 100 + ["dev"] * 40 + ["test"] * 60)
    target = generator.choice(["no", "yes"], rows).astype(object)
    target[[120, 199]] = "maybe"  # of no training row
    target[[121, 150]] = None
    race = generator.choice(["b", "a", ""], rows).astype(object)
    race[race == ""] = None
    columns = {
        "x": generator.normal(size=rows), "split": split, "sex": generator.choice(["F", "M"], rows), "race": race,
        "target": target if task == "class" else generator.normal(5.0, 1.0, rows),
    }  # fmt: skip
    shuffled = generator.permutation(rows)
    columns = {name: column[shuffled] for name, column in columns.items()}
    return Cohort("people", columns, "target", ("sex", "race"), ("x",), split="split", task=task)  # type: ignore[arg-type]


def test_the_truth_of_a_cohort_is_that_of_its_rows() -> None:
    cohort = people()
    dataset = encode_dataset(cohort, "sex")
    found = evaluation_labels(cohort, fingerprint="sha256:x", classes=dataset.classes)
    assert found.classes == ("no", "yes", "maybe")
    assert found.attributes == ("sex", "race")
    assert found.groups == tuple((sex, race) for sex in "FM" for race in ("a", "b", None))
    for split, rows in (("dev", dataset.dev.ids), ("test", dataset.test.ids)):
        mine = found.of(split)
        assert len(mine) == len(rows)
        for index, row in enumerate(rows.tolist()):
            label = cohort["target"][row]
            assert mine.target[index] == (-1 if label is None else found.classes.index(label))
            assert found.groups[mine.group[index]] == (cohort["sex"][row], cohort["race"][row])


def test_a_class_that_no_training_row_has_counts_as_a_mistake() -> None:
    cohort = people()
    found = evaluation_labels(cohort, fingerprint="sha256:x", classes=("no", "yes"))
    counts = readout(Predicted(np.zeros(60, dtype=np.int64)), found, "test")
    assert counts[:, 2, 0].sum() == 1
    assert counts.sum() == 59  # one test row has no target


@pytest.mark.parametrize("quantiles", [4, 10])
def test_the_parts_are_those_of_the_training_targets(quantiles: int) -> None:
    cohort = replace(people("regression"), quantiles=quantiles)
    found = evaluation_labels(cohort, fingerprint="sha256:x", classes=())
    edges = np.quantile(cohort["target"][cohort["split"] == "train"], np.arange(1, quantiles) / quantiles)
    values = cohort["target"][cohort["split"] == "test"]
    np.testing.assert_array_equal(found.of("test").cell, [sum(value >= edge for edge in edges) for value in values])
    assert found.classes == BIN_NAMES[quantiles]
    np.testing.assert_allclose(found.of("test").target, values)
    assert found.pivot == pytest.approx(cohort["target"][cohort["split"] != "train"].mean())


def test_names_survive_json_and_another_truth_has_another_digest() -> None:
    assert Names.from_json(truth().names.to_json()) == truth().names
    digests = [
        truth().digest, truth(seed=1).digest, truth(rows=41).digest, truth(classes=4).digest,
        truth(task="regression").digest,
    ]  # fmt: skip
    assert truth().digest == digests[0]
    assert len(set(digests)) == len(digests)


def test_counts_of_many_classes_are_packed_and_read_back_as_they_were() -> None:
    generator = np.random.default_rng(0)
    tables = [np.bincount(generator.integers(0, 3 * 150 * 150, 400), minlength=3 * 150 * 150).reshape(3, 150, 150)
              for _ in range(2)]  # fmt: skip
    packed = [encoded(table) for table in tables]
    assert {one.kind for one in packed} == {"<u4 packed"}
    assert len(packed[0].content) < tables[0].nbytes // 50
    np.testing.assert_array_equal(decoded(packed[0].kind, packed[0].shape, [one.content for one in packed]), tables)
    with pytest.raises(BadInput, match=r"(?s)damaged.*restore"):
        decoded(packed[0].kind, packed[0].shape, [packed[0].content[:-9]])
    with pytest.raises(BadInput, match="damaged"):
        decoded(packed[0].kind, (3, 150, 149), [packed[0].content])


def test_where_crossing_all_groups_makes_too_many_counts_the_studys_own_are_counted(monkeypatch: Any) -> None:
    rows = 60
    columns = {
        "y": np.array(["a", "b", "c"] * 20), "sex": np.array(["f", "m"] * 30), "race": np.arange(rows) % 5,
        "x": np.arange(rows) * 1.0, "split": np.array(["train", "dev", "test"])[np.arange(rows) // 20],
    }  # fmt: skip
    cohort = Cohort("many", columns, target="y", groups=("sex", "race"), features=("x",), split="split")
    how = {"fingerprint": "x", "classes": ("a", "b", "c")}
    assert evaluation_labels(cohort, **how, needed=("sex",)).attributes == ("sex", "race")
    monkeypatch.setattr("equipoise.studies.storage._labels.MOST_COUNTS", 20)
    found = evaluation_labels(cohort, **how, needed=("sex",))
    assert (found.attributes, found.groups) == (("sex",), (("f",), ("m",)))
    test = np.flatnonzero(columns["split"] == "test")
    assert [found.groups[code][0] for code in found.of("test").group] == columns["sex"][test].tolist()
    assert evaluation_labels(cohort, **how).attributes == ("sex", "race")


def test_counts_that_no_report_could_hold_are_refused() -> None:
    rows = 12_000
    cohort = Cohort(
        name="faces",
        columns={"who": np.arange(rows) % 6_000, "g": np.arange(rows) % 2, "x": np.zeros(rows),
                 "split": np.repeat(["train", "dev", "test"], rows // 3)},
        target="who", groups=("g",), features=("x",), split="split",
    )  # fmt: skip
    with pytest.raises(
        BadInput, match=r"6,000 classes of 'who' and 2 groups make 72,000,000 counts.*\n.*\n.*least = 8"
    ):
        evaluation_labels(cohort, fingerprint="sha256:x", classes=tuple(map(str, range(6_000))))
