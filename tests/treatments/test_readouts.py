"""Readouts of the networks of paper 004 against loops over rows, classes and groups."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput
from equipoise.training import Outputs
from equipoise.treatments import DomainDiscriminative, DomainIndependent
from equipoise.treatments.domain_discriminative import READOUTS, balanced
from helpers.cases.treatment import names

SHAPES = [(10, 2), (3, 4), (2, 2)]
KINDS = [(DomainDiscriminative, readout) for readout in READOUTS] + [
    (DomainIndependent, one) for one in ("known_domain", "sum")
]


def outputs(classes: int, groups: int, rows: int = 40, seed: int = 0, **changes: Any) -> Outputs:
    generator = np.random.default_rng(seed)
    logits = [(3 * generator.normal(size=(rows, classes * groups))).astype(np.float32) for _ in range(2)]
    group = [generator.integers(0, groups, rows) for _ in range(2)]
    made = Outputs(
        logits[0], logits[1], generator.integers(0, classes, rows), group[0], group[1],
        generator.integers(1, 90, (classes, groups)), names("class ", classes), names("group ", groups),
    )  # fmt: skip
    return replace(made, **changes)


def logit(said: Outputs, row: int, y: int, g: int) -> float:
    return float(said.test[row, g * len(said.classes) + y])


def scores_by_hand(said: Outputs, row: int, how: str) -> list[float]:
    """The score of every class of a test row, up to scale."""
    classes, groups = range(len(said.classes)), range(len(said.groups))
    made = []
    for y in classes:
        joint = [math.exp(logit(said, row, y, g)) for g in groups]
        prior = [said.counts[y, g] / said.counts.sum() for g in groups]
        shifted = [p / share if share else 0.0 for p, share in zip(joint, prior, strict=True)]
        logits = [logit(said, row, y, g) for g in groups]
        made.append(
            {
                "sum": sum(joint), "max_prior_shift": max(shifted), "sum_prior_shift": sum(shifted),
                "sum of logits": sum(logits), "known_domain": logit(said, row, y, int(said.test_group[row])),
            }[how]
        )  # fmt: skip
    return made


def best(scores: list[float]) -> int:
    return max(range(len(scores)), key=lambda y: scores[y])


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
@pytest.mark.parametrize("readout", ["sum", "max_prior_shift", "sum_prior_shift"])
def test_discriminative_readouts_are_those_of_a_loop(classes: int, groups: int, readout: str) -> None:
    said = outputs(classes, groups)
    found = DomainDiscriminative(readout=readout).read(said).test
    for row in range(40):
        expected = scores_by_hand(said, row, readout)
        assert found.values[row] == best(expected)
        np.testing.assert_allclose(found.scores[row], np.array(expected) / sum(expected), rtol=1e-5)


def test_at_95_to_5_the_prior_shift_is_the_papers_fifth_and_ninety_fifth() -> None:
    counts = np.array([[95, 5], [5, 95]])
    said = outputs(2, 2, counts=counts)
    weights = np.array([[1 / 95, 1 / 5], [1 / 5, 1 / 95]])  # [group, class]
    joint = np.exp(said.test.astype(float)).reshape(-1, 2, 2) * weights
    for readout, expected in (("sum_prior_shift", joint.sum(axis=1)), ("max_prior_shift", joint.max(axis=1))):
        found = DomainDiscriminative(readout=readout).read(said).test.values
        assert np.array_equal(found, expected.argmax(axis=1))


def test_a_cell_without_training_rows_does_not_count_where_there_is_a_prior_shift() -> None:
    said = outputs(3, 2, counts=np.array([[5, 0], [3, 3], [0, 0]]))
    for readout in ("max_prior_shift", "sum_prior_shift"):
        found = DomainDiscriminative(readout=readout).read(said).test
        assert np.isfinite(found.scores).all()
        assert set(found.values.tolist()) <= {0, 1}
        assert found.values.tolist() == [best(scores_by_hand(said, row, readout)) for row in range(40)]


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
@pytest.mark.parametrize(("readout", "how"), [("sum", "sum of logits"), ("known_domain", "known_domain")])
def test_independent_readouts_are_those_of_a_loop(classes: int, groups: int, readout: str, how: str) -> None:
    said = outputs(classes, groups)
    found = DomainIndependent(readout=readout).read(said).test
    for row in range(40):
        expected = scores_by_hand(said, row, how)
        assert found.values[row] == best(expected)
        part = groups if readout == "sum" else 1
        raised = [math.exp(one / part) for one in expected]
        np.testing.assert_allclose(found.scores[row], np.array(raised) / sum(raised), rtol=1e-5)


def test_a_row_of_no_known_group_is_read_by_all_of_them_and_that_is_said() -> None:
    said = outputs(3, 2)
    group = said.test_group.copy()
    group[:3] = -1
    found = DomainIndependent(readout="known_domain").read(replace(said, test_group=group))
    plain = DomainIndependent(readout="sum").read(said)
    assert np.array_equal(found.test.values[:3], plain.test.values[:3])
    assert found.notes == ("3 test rows have no group that was trained: they use the sum over the groups.",)


def test_a_class_that_the_classifier_of_a_group_never_saw_is_said() -> None:
    said = outputs(3, 2, counts=np.array([[5, 0], [3, 3], [2, 2]]))
    (note,) = DomainIndependent(readout="known_domain").read(said).notes
    assert note.startswith("There are no training rows of class 0 / group 1 (class / group)")
    assert DomainIndependent(readout="sum").read(said).notes == ()


@pytest.mark.parametrize(("classes", "groups"), SHAPES)
def test_rba_balances_the_sums_of_all_test_rows(classes: int, groups: int) -> None:
    said = outputs(classes, groups, rows=90)
    found = DomainDiscriminative(readout="rba").read(said)
    sums = np.array([scores_by_hand(said, row, "sum") for row in range(90)])
    expected = balanced(sums, said.test_group, groups)
    assert np.array_equal(found.test.values, expected.scores.argmax(axis=1))
    assert (found.test.values != sums.argmax(axis=1)).any()
    assert "the test rows" in found.notes[0]
    half = replace(said, test=said.test[:45], test_group=said.test_group[:45])
    assert not np.array_equal(DomainDiscriminative(readout="rba").read(half).test.values, found.test.values[:45])


def test_rba_of_dev_rows_reads_each_test_row_by_itself_as_multipliers_of_balanced_dev_rows_say() -> None:
    said = outputs(3, 2, rows=90)
    treatment = DomainDiscriminative(readout="rba_dev")
    found = treatment.read(said)
    for row in range(90):
        one = replace(said, test=said.test[row : row + 1], test_group=said.test_group[row : row + 1])
        assert treatment.read(one).test.values[0] == found.test.values[row]
    assert "the dev rows" in found.notes[0]
    mirrored = treatment.read(replace(said, test=said.dev, test_group=said.dev_group))
    assert np.array_equal(mirrored.test.values, mirrored.dev.values)


def test_dev_rows_that_are_biased_but_said_rightly_need_no_multipliers() -> None:
    classes, groups = 2, 2
    target = np.repeat([0, 0, 1, 1], [95, 5, 5, 95])
    group = np.repeat([0, 1, 0, 1], [95, 5, 5, 95])
    logits = np.full((200, 4), -5.0, dtype=np.float32)
    logits[np.arange(200), group * classes + target] = 5.0
    said = outputs(classes, groups, rows=200, dev=logits, dev_target=target, dev_group=group)
    found = DomainDiscriminative(readout="rba_dev").read(said)
    assert np.array_equal(found.dev.values, target)
    plain = DomainDiscriminative(readout="sum").read(said)
    assert np.array_equal(found.test.values, plain.test.values)


def test_a_class_that_the_balance_wipes_out_is_said() -> None:
    generator = np.random.default_rng(0)
    group = generator.integers(0, 2, 2_000)
    # Low scores against steps of three times so many rows.
    logits = generator.normal(size=(2_000, 2, 5))
    logits[np.arange(2_000), :, group] += 2.0
    said = outputs(5, 2, test=logits.reshape(2_000, 10).astype(np.float32), test_group=group)
    found = DomainDiscriminative(readout="rba").read(said)
    assert len(set(found.test.values.tolist())) == 4
    assert found.notes[1] == "RBA: 1 class that the network names of test rows is named of none any more."


@pytest.mark.parametrize(("kind", "readout"), KINDS)
def test_scores_are_shares_whose_highest_is_the_class_that_is_said(kind: Any, readout: str) -> None:
    said = outputs(4, 3, rows=120)
    found = kind(readout=readout).read(said)
    for one in (found.dev, found.test):
        assert one.scores.shape == (120, 4)
        assert one.scores.min() >= 0
        np.testing.assert_allclose(one.scores.sum(axis=1), 1, rtol=1e-5)
        assert np.array_equal(one.scores[np.arange(120), one.values], one.scores.max(axis=1))


@pytest.mark.parametrize(("kind", "readout"), KINDS)
def test_what_a_readout_needs_is_said_by_the_treatment_that_was_made(kind: Any, readout: str) -> None:
    made = kind(readout=readout)
    assert made.needs_group_at_prediction is (readout in ("rba", "rba_dev", "known_domain"))
    assert made.transductive is (readout == "rba")
    without = outputs(3, 2, test_group=None)
    if made.needs_group_at_prediction:
        with pytest.raises(BadInput, match=f"The readout '{readout}' needs the groups of test rows"):
            made.read(without)
    else:
        assert len(made.read(without).test.values) == 40


@pytest.mark.parametrize(("kind", "readout"), KINDS)
def test_no_test_rows_are_read_too_as_between_epochs(kind: Any, readout: str) -> None:
    said = outputs(3, 2)
    found = kind(readout=readout).read(replace(said, test=said.test[:0], test_group=None))
    assert found.test.values.shape == (0,)
    assert found.test.scores.shape == (0, 3)
    assert np.array_equal(found.dev.values, kind(readout=readout).read(said).dev.values)
