"""Tests that a report tells several times count once, and no two that differ are taken for one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest

import equipoise
from equipoise.audits._multiple_testing import MultipleTesting, hypotheses, with_adjusted_p
from equipoise.results import Record


def audited(classes: int, groups: int, favourable: int | None, **options: object) -> equipoise.AuditResult:
    generator = np.random.default_rng(classes + 10 * groups)
    target = generator.integers(0, classes, 500)
    guess = np.where(generator.random(500) < 0.7, target, generator.integers(0, classes, 500))
    data = {"y": target, "p": guess, "group": generator.choice(list("abcd")[:groups], 500)}
    return equipoise.audit(
        data, target="y", prediction="p", sensitive_features="group", favourable=favourable, draws=200, **options
    )  # type: ignore[arg-type]


def by_hypothesis(result: equipoise.AuditResult) -> dict[Hashable, list[Record]]:
    found = defaultdict(list)
    for key, record in zip(hypotheses(result.records), result.records, strict=True):
        if record.p is not None:
            found[key].append(record)
    return found


@pytest.mark.parametrize("groups", [2, 3, 4])
@pytest.mark.parametrize("favourable", [None, 1])
@pytest.mark.parametrize("classes", [2, 3])
def test_what_counts_once_has_one_p_value(classes: int, favourable: int | None, groups: int) -> None:
    found = by_hypothesis(audited(classes, groups, favourable))
    for records in found.values():
        assert len({round(record.p or 0.0, 12) for record in records}) == 1
        assert len({record.p_adjusted for record in records}) == 1
        assert len({record.finding for record in records}) == 1
    several = {
        frozenset((record.measure, record.class_) for record in records)
        for records in found.values()
        if len({(record.measure, record.class_) for record in records}) > 1
    }
    names = {name for both in several for name, _ in both}
    if classes == 2:
        assert frozenset({("equalized_odds_false_positive", "0"), ("equalized_odds_true_positive", "1")}) in several
        assert frozenset({("equalized_odds", "0"), ("equalized_odds", "1"), ("equalized_odds", None)}) in several
        assert len(found) < 0.7 * sum(map(len, found.values()))
    else:
        assert names == {
            "disparate_impact", "impact_ratio", "positive_predictive_value_difference",
            "false_discovery_rate_difference", "demographic_parity", "standardised_mean_difference",
        }  # fmt: skip
        assert all(len({class_ for _, class_ in both}) == 1 for both in several)


def test_telling_a_test_twice_changes_no_verdict() -> None:
    values = np.linspace(0.001, 0.3, 12)
    records = [
        Record(measure="true_positive_rate_gap", kind="gap", value=0.1, p=float(p), class_=str(index), scope="class")
        for index, p in enumerate(values)
    ]
    again = [*records, *(replace(record, scope="favourable") for record in records[6:])]
    once, twice = MultipleTesting().finish(records), MultipleTesting().finish(again)
    assert [record.p_adjusted for record in twice[:12]] == [record.p_adjusted for record in once]
    assert [record.p_adjusted for record in twice[12:]] == [record.p_adjusted for record in once[6:]]
    smallest = once[0].p_adjusted
    assert smallest == pytest.approx(12 * values[0])


def test_groups_places_and_kinds_keep_tests_apart() -> None:
    one = Record(measure="demographic_parity", kind="gap", value=0.1, p=0.01, attribute=("sex",), group="a")
    same = replace(one, group="b")  # the groups that lie farthest apart are no part of the question
    others = [
        replace(one, attribute=("race",)),
        replace(one, control="x"),
        replace(one, split="test"),
        replace(one, variant="other"),
        replace(one, label="x"),
        replace(one, kind="contrast"),
        replace(one, kind="contrast", group="b"),
    ]
    keys = hypotheses([one, same, *others])
    assert keys[0] == keys[1]
    assert len(set(keys)) == 1 + len(others)


def test_records_that_are_a_test_each_are_corrected_together_and_the_untested_stay() -> None:
    """Benjamini and Hochberg by hand: of three tests 0.01 x 3 / 1, 0.04 x 3 / 2 and 0.05 x 3 / 3, made monotone."""
    records = [Record(measure="m", kind="gap", value=0.1, p=p) for p in (0.04, None, 0.01, 0.05)]
    adjusted = [record.p_adjusted for record in with_adjusted_p(records)]
    assert adjusted[1] is None
    assert [value for value in adjusted if value is not None] == pytest.approx([0.05, 0.03, 0.05])
    by_other_names = with_adjusted_p(records, "p", "equivalence_p_adjusted")
    assert [record.equivalence_p_adjusted for record in by_other_names] == adjusted
    assert with_adjusted_p(()) == ()
