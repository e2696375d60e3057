"""What an audit says in words, where a careless sentence would mislead or bore."""

from __future__ import annotations

import numpy as np

import equipoise
from equipoise.foundation import number_of_people
from equipoise.reports.narrative._outcome_words import unknown_sentences
from equipoise.results import Record

SCORES = "the scores run from 1 to 10: they are not probabilities"


def test_a_reason_that_holds_for_everyone_is_said_once() -> None:
    generator = np.random.default_rng(0)
    result = equipoise.audit(
        target=generator.choice(["y", "n"], 300),
        score=generator.integers(1, 11, 300).astype(float),
        favourable="y",
        threshold=5,
        sensitive_features={"sex": generator.choice(["F", "M"], 300), "race": generator.choice(["a", "b", "c"], 300)},
        draws=0,
    )
    told = [line for line in result.untold if SCORES in line]
    assert len(told) == 1
    assert told[0].startswith(SCORES)
    for measure in ("brier_score", "ECE", "brier_score_difference", "calibration_error_difference"):
        assert measure in told[0]


def test_a_reason_of_one_split_or_label_stays_with_it() -> None:
    def undefined(measure: str, reason: str, **about: object) -> Record:
        return Record(
            measure=measure, kind="value", value=float("nan"), status="undefined", reason=reason, **about  # type: ignore[arg-type]
        )  # fmt: skip

    lines = list(
        unknown_sentences(
            [
                undefined("auc", "no scores", split="test"),
                undefined("auc", "no scores", split="test", attribute=("sex",), group="F"),
                undefined("auc", "no scores", split="train", attribute=("sex",), group="F"),
                undefined("ece", "no spread", label="cat"),
                undefined("ece", "no spread", label="dog", attribute=("sex",), group="F"),
            ]
        )
    )
    assert lines == [
        "sex (train), F: no scores (auc).",
        "sex, label dog, F: no spread (ece).",
        "(test): no scores (auc).",
        "label cat: no spread (ece).",
    ]


def test_one_person_is_not_people() -> None:
    assert [number_of_people(number) for number in (0, 1, 2, 1_200)] == [
        "0 people", "1 person", "2 people", "1,200 people",
    ]  # fmt: skip
    result = equipoise.audit(
        prediction=["y", "n"] * 40, favourable="y", sensitive_features={"x": ["lone"] + ["many"] * 79}, draws=20
    )
    assert "1 person on one side: fewer than 30" in {str(record.reason) for record in result.records}
    assert "1 people" not in result.to_json()
