"""Conditions on a cohort: Adult's own numbers, and proof that only training rows change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise import BadInput, Cohort, load
from equipoise.conditions import (
    AsGiven,
    ClassRatio,
    Condition,
    Interpolation,
    Stereotyping,
    apply,
    draw_training,
    feasibility,
    interpolate,
)
from equipoise.conditions._condition import training_cells

ROWS = 32_561


@pytest.fixture(scope="module")
def adult() -> Cohort:
    return load("adult")


def small(rows: int = 300, **changes: Any) -> Cohort:
    generator = np.random.default_rng(0)
    columns = {
        "split": generator.choice(["train", "dev", "test"], rows, p=[0.6, 0.2, 0.2]),
        "x": generator.normal(size=rows),
        "y": generator.choice(["no", "yes"], rows, p=[0.7, 0.3]),
        "g": generator.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]),
        "h": generator.choice([0, 1], rows),
        "id": np.arange(rows),
    }
    given = {"target": "y", "groups": ("g",), "features": ("x",), "split": "split", **changes}
    return Cohort(name="small", columns={**columns, **given.pop("columns", {})}, **given)


# Adult's numbers.


@pytest.mark.parametrize(("alpha", "times", "wanted"), [(1, 130.24, 3256), (2, 178.43, 4461)])
def test_by_race_the_25_rich_people_called_other_are_repeated_that_often(
    adult: Cohort, alpha: float, times: float, wanted: int
) -> None:
    said = feasibility(Interpolation("JB", alpha), adult, ROWS, group="race")
    worst = said.repeated[0]
    assert (worst.name, worst.available, worst.requested) == (">50K / Other", 25, wanted)
    assert worst.times == pytest.approx(times, abs=0.05)
    assert any(f">50K / Other {times:.1f} times" in sentence for sentence in said.words)


def test_by_sex_rows_are_repeated_12_8_times_and_2542_rows_need_no_repetition(adult: Cohort) -> None:
    plan = [Interpolation("JB", alpha) for alpha in (0, 1, 2)]
    said = feasibility(plan[2], adult, ROWS, group="sex", plan=plan)
    assert (said.repeated[0].name, said.repeated[0].available) == (">50K / Female", 1179)
    assert said.repeated[0].times == pytest.approx(12.8, abs=0.05)
    assert said.largest == 2542
    for condition in plan:
        drawn = draw_training(condition, adult, 0, group="sex", plan=plan)
        assert len(drawn.rows) == len(np.unique(drawn.rows)) == 2542


def test_by_race_the_share_of_classes_stays(adult: Cohort) -> None:
    conditioned = apply(Interpolation("CB", 2), adult, 0, ROWS, group="race").where("train")
    assert np.mean(conditioned["income"] == "<=50K") == pytest.approx(0.759, abs=5e-4)
    assert np.mean(adult.where("train")["income"] == "<=50K") == pytest.approx(0.759, abs=5e-4)


def test_as_given_at_its_own_size_is_every_training_row_once_in_another_order(adult: Cohort) -> None:
    rows = draw_training(AsGiven(), adult, 0, group="sex").rows
    assert np.array_equal(np.sort(rows), np.flatnonzero(adult["split"] == "train"))
    assert not np.array_equal(rows, np.sort(rows))


# Only training rows change.

EVERY = [
    AsGiven(),
    Interpolation("JB", 2),
    Interpolation("CB", 1.5),
    Interpolation("y", 1),
    ClassRatio({">50K": 0.9}),
    Stereotyping(0.9, {">50K": 0.1}),
]


def as_bytes(cohort: Cohort) -> dict[str, bytes]:
    return {
        name: "\x1f".join(map(repr, column.tolist())).encode() if column.dtype == object else column.tobytes()
        for name, column in cohort.columns.items()
    }


@pytest.mark.parametrize("condition", EVERY, ids=str)
def test_test_rows_of_adult_are_the_same_to_the_byte(adult: Cohort, condition: Condition) -> None:
    conditioned = apply(condition, adult, 7, 5000, group="sex")
    assert as_bytes(conditioned.where("test")) == as_bytes(adult.where("test"))
    assert len(conditioned.where("train")) == 5000
    assert conditioned.splits == ("train", "test")


def test_dev_and_test_rows_are_the_same_to_the_byte_and_the_cohort_given_is_left_alone() -> None:
    cohort = small()
    before = as_bytes(cohort)
    conditioned = apply(Interpolation("JB", 2), cohort, 7, 1000)
    for split in ("dev", "test"):
        assert as_bytes(conditioned.where(split)) == as_bytes(cohort.where(split))
    assert as_bytes(cohort) == before
    assert set(conditioned.where("train")["id"]) <= set(cohort.where("train")["id"])
    assert replace(conditioned, columns=cohort.columns).__dict__ == cohort.__dict__  # every role is kept


# What is drawn follows the condition.


def test_the_drawn_rows_have_the_shares_of_the_condition() -> None:
    cohort = small(3000)
    cells = training_cells(cohort)
    assert (cells.classes, cells.groups) == (("no", "yes"), ("a", "b", "c"))
    conditioned = training_cells(apply(Interpolation("JB", 2), cohort, 0, 4000))
    shares = interpolate(cells.counts, "JB", 2)
    assert np.abs(conditioned.counts - 4000 * shares).max() < 1


def test_seeds_decide_the_rows_and_sizes_are_equal_over_a_plan() -> None:
    cohort = small(2000)
    plan = [AsGiven(), *(Interpolation(mode, alpha) for mode in ("CB", "JB") for alpha in (0, 1, 2)), Stereotyping(0.8)]
    sizes = {len(apply(condition, cohort, 0, plan=plan).where("train")) for condition in plan}
    assert len(sizes) == 1
    assert sizes.pop() == min(feasibility(condition, cohort).largest for condition in plan)
    first, again, other = (apply(plan[1], cohort, seed, plan=plan).where("train")["id"] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert set(first) != set(other)


def test_groups_can_be_crossed_and_missing_values_are_left_out() -> None:
    cohort = small(600, groups=("g", "h"))
    assert training_cells(cohort, ["g", "h"]).groups == ("a & 0", "a & 1", "b & 0", "b & 1", "c & 0", "c & 1")
    values = cohort["g"].astype(object)
    values[values == "c"] = None
    gone = int((values[cohort["split"] == "train"] == None).sum())  # noqa: E711
    holey = small(600, columns={"g": values})
    said = feasibility(AsGiven(), holey)
    assert said.unlabelled == gone > 0
    assert said.size == said.available == len(holey.where("train")) - gone
    drawn = apply(AsGiven(), holey, 0).where("train")
    assert None not in drawn["g"].tolist()
    assert training_cells(holey).groups == ("a", "b")


def test_a_class_that_only_rows_without_a_group_have_is_no_class_here() -> None:
    cohort = small(600)
    y, g = cohort["y"].astype(object), cohort["g"].astype(object)
    y[:20], g[:20] = "rare", None
    assert training_cells(small(600, columns={"y": y, "g": g})).classes == ("no", "yes")


def test_an_empty_cell_is_stated_by_feasibility_and_refused_by_a_draw() -> None:
    cohort = small(600)
    y = np.where(cohort["g"] == "c", "no", cohort["y"])
    thin = small(600, columns={"y": y})
    plan = [AsGiven(), Interpolation("CB", 1)]
    said = feasibility(plan[1], thin, plan=plan)
    assert [cell.name for cell in said.empty] == ["yes / c"]
    with pytest.raises(BadInput, match="There are no rows of yes / c"):
        apply(plan[1], thin, 0, plan=plan)
    # The other condition of the plan is not held back by it.
    assert len(apply(plan[0], thin, 0, plan=plan).where("train")) == len(thin.where("train"))
    assert feasibility(plan[1], thin).size == 0


@pytest.mark.parametrize(
    ("cohort", "group", "complaint"),
    [
        (small(split=None), None, "has no training split"),
        (small(columns={"split": np.array(["fit"] * 300)}), None, "here the splits are fit"),
        (small(groups=("g", "h")), None, r"several group columns \(g, h\)"),
        (small(groups=("g", "h")), (), "No group column is named"),
        (small(groups=("g", "h")), "gg", "did you mean 'g'"),
        (small(task="regression", target="x"), None, "is a regression task"),
        (small(columns={"g": np.array([None] * 300)}), None, "has both a class and a group"),
    ],
)
def test_a_cohort_that_cannot_be_conditioned_is_refused(cohort: Cohort, group: Any, complaint: str) -> None:
    for act in (lambda: apply(AsGiven(), cohort, 0, group=group), lambda: feasibility(AsGiven(), cohort, group=group)):
        with pytest.raises(BadInput, match=complaint):
            act()


def test_a_size_of_0_is_refused() -> None:
    with pytest.raises(BadInput, match="size is 0"):
        apply(AsGiven(), small(), 0, 0)
    with pytest.raises(BadInput, match="size is 0"):
        feasibility(AsGiven(), small(), 0)
