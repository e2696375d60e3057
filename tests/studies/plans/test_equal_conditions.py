"""Conditions that draw the same rows are one under several names: trained, reported and counted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.reports.charts.curves import alpha_curves
from equipoise.studies import Study
from equipoise.studies.plans import condition_text
from equipoise.studies.running import draw_named, enter, run_in_store, work_through
from equipoise.studies.storage import open_store
from helpers.cases.plan import by_the_mean, cohort, threshold

pytest.importorskip("sqlalchemy")

BOTH = [{"name": "interpolation", "mode": ["CB", "JB"], "alpha": [0, 1]}]


def study(conditions: list[Any] = BOTH, **changes: Any) -> Study:
    how: dict[str, Any] = {"train": [threshold, by_the_mean], "version": 1, "group": "sex", "seeds": 3, **changes}
    return Study(cohort(), conditions=conditions, **how)


def test_cb_and_jb_at_alpha_0_are_trained_and_counted_once(tmp_path: Path) -> None:
    both = study()
    conditions = {condition_text(trial.condition) for trial in both.trials()}
    assert conditions == {"CB alpha 0", "CB alpha 1", "JB alpha 1"}
    assert len(both.trials()) == 3 * 2 * 3
    checked = both.check()
    assert "18 trials" in checked.words[1]
    assert "3 conditions x 2 treatments" in checked.words[1]
    told = "JB alpha 0 draws the same training rows as CB alpha 0: trained and counted once, as CB alpha 0."
    assert told in checked.words
    result = both.run(tmp_path / "s.db")
    assert result is not None
    assert told in result.differences
    compared = {record.condition for record in result.records if record.p_adjusted is not None}
    assert "JB alpha 0" not in compared
    (record,) = [condition for condition in result.conditions if condition.condition == "CB alpha 0"]
    assert [(one.condition, one.mode, one.alpha) for one in record.equal] == [("JB alpha 0", "JB", 0.0)]


def test_the_curves_of_both_modes_begin_at_the_same_point(tmp_path: Path) -> None:
    result = study().run(tmp_path / "s.db")
    assert result is not None
    chart = alpha_curves(result)
    assert chart is not None
    rows = next(iter(chart.spec["datasets"].values()))
    alphas: dict[int, set[float]] = {}
    for row in rows:
        alphas.setdefault(row["panel"], set()).add(row["alpha"])
    assert all(found == {0, 1} for found in alphas.values())
    assert len(alphas) == 8, "four measures of two modes"


def test_equal_conditions_draw_equal_rows_whatever_they_are_called() -> None:
    several = study(["as_given", *BOTH, {"name": "stereotyping", "ratio": 0.5, "shares": {"yes": 0.5}}])
    drawing, names = several.drawing, [named for named, _ in several.conditions]
    assert {place: others for place, others in several.equal_conditions.items() if others} == {0: (1, 3), 4: (5,)}
    for place, others in several.equal_conditions.items():
        for other in others:
            for seed in several.seeds:
                np.testing.assert_array_equal(drawing.rows(place, seed), drawing.rows(other, seed))
    work = several.work
    assert set(work.draws) == {
        draw_named(names[p], drawing.size, s) for p in several.equal_conditions for s in range(3)
    }


def test_conditions_that_differ_by_a_row_stay_apart() -> None:
    close = study([{"name": "interpolation", "mode": "JB", "alpha": [0, 0.05, 1]}])
    assert len(close.equal_conditions) == 3


def test_what_cannot_be_drawn_is_like_nothing_else() -> None:
    people = cohort()
    people.columns["hired"][people.columns["sex"] == "F"] = "no"
    empty = Study(people, conditions=[{"name": "interpolation", "mode": ["JB", "y_cond_g"], "alpha": 1}],
                  train=threshold, version=1, group="sex", seeds=1)  # fmt: skip
    assert len(empty.equal_conditions) == 2


def test_a_store_in_which_both_were_trained_is_reported_without_training(tmp_path: Path) -> None:
    both = study(train=threshold)
    first = both.trials()
    vars(both)["equal_conditions"] = dict.fromkeys(range(4), ())  # as versions before trained them
    del vars(both)["_trials"]
    assert len(both.trials()) == 12
    with open_store(tmp_path / "s.db", plan=both.name) as store:
        enter(both, store)
        work_through(both.work, both.labels, store, "me:1:x")
    now = study(train=threshold)
    assert now.trials() == first, "keys stay what they are"
    assert now.status(tmp_path / "s.db").done == 9
    assert len(now.result(tmp_path / "s.db").cells) == 3
    run_in_store(now, tmp_path / "s.db", on_change=lambda change: pytest.fail(change.words))
