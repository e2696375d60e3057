"""K-fold cross-validation: folds, the study of each, and differences over folds by the corrected test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.stats import corrected_resampled_t, holm
from equipoise.studies import cross_validate
from equipoise.studies._cross_validation import fold_codes
from helpers.cases.plan import cohort

pytest.importorskip("sqlalchemy")
pytest.importorskip("torch")

OPTIONS: dict[str, Any] = {
    "folds": 3, "group": "sex", "seeds": 2, "treatments": ["untreated", "reweighting"], "learner": "scikit_learn",
    "measures": ["demographic_parity", "accuracy"],
}  # fmt: skip


@pytest.mark.parametrize("folds", [2, 3, 7])
def test_folds_are_equally_large_and_have_equally_many_rows_of_each_class(folds: int) -> None:
    people = cohort(rows=203)
    codes = fold_codes(people, folds, 4)
    sizes = np.bincount(codes, minlength=folds)
    assert sizes.sum() == 203
    assert np.ptp(sizes) <= 1
    for label in ("no", "yes"):
        assert np.ptp(np.bincount(codes[people["hired"] == label], minlength=folds)) <= 1
    assert np.array_equal(codes, fold_codes(people, folds, 4))
    assert not np.array_equal(codes, fold_codes(people, folds, 5))


def test_clusters_are_in_one_fold() -> None:
    people = cohort(rows=200)
    persons = np.random.default_rng(0).integers(0, 40, 200)
    whole = type(people)(**{**vars(people), "columns": {**people.columns, "person": persons}, "cluster": "person"})
    codes = fold_codes(whole, 4, 0)
    assert all(len(np.unique(codes[persons == person])) == 1 for person in np.unique(persons))
    assert np.ptp(np.bincount(codes)) <= 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 1}, "folds is 1"),
        ({"folds": 2.5}, "folds is 2.5"),
        ({"folds": 500}, "500 folds are asked of 400 rows"),
        ({"test": 0.2}, "test is given to a cross-validation"),
    ],
)
def test_what_cannot_be_folded_is_refused(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=words):
        cross_validate(cohort(), tmp_path, **{**OPTIONS, **options})


def test_treatments_are_compared_over_the_folds(tmp_path: Path) -> None:
    people = cohort()
    validated = cross_validate(people, tmp_path / "folds", **OPTIONS)
    assert sorted(path.name for path in (tmp_path / "folds").glob("*.db")) == [f"fold-{fold}.db" for fold in range(3)]
    assert len(validated.folds) == 3
    # 400 rows: a third is for testing, and a fifth of the others is for choosing.
    assert validated.test_ratio == pytest.approx(133.33 / (266.67 * 0.8), abs=0.01)
    found = {(one.measure, one.attribute): one for one in validated.comparisons}
    assert {one.treatment for one in validated.comparisons} == {"reweighting"}
    one = found["demographic_parity", ("sex",)]
    slow = []
    for result in validated.folds:
        means = {
            treatment: result.find(treatment=treatment, measure="demographic_parity", attribute=("sex",))[0].mean
            for treatment in ("reweighting", "untreated")
        }
        slow.append(means["reweighting"] - means["untreated"])
    assert one.differences == pytest.approx(slow)
    assert one.change == pytest.approx(np.mean(slow))
    assert one.p == corrected_resampled_t(slow, validated.test_ratio).p
    adjusted = holm([each.p for each in validated.comparisons])
    assert [each.p_adjusted for each in validated.comparisons] == pytest.approx(adjusted.tolist(), nan_ok=True)
    assert one.significant(1.0) is bool(one.p_adjusted < 1.0)
    assert validated.find(measure="demographic_parity", attribute=("sex",)) == (one,)
    frame: Any = validated.to_frame("pandas")
    assert len(frame) == len(validated.comparisons)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "folds").glob("*.db")}
    again = cross_validate(people, tmp_path / "folds", **OPTIONS)
    assert [each.differences for each in again.comparisons] == [each.differences for each in validated.comparisons]
    assert set(before) == set((tmp_path / "folds").glob("*.db"))
