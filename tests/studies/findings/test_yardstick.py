"""A constant prediction is the yardstick: told everywhere, and what has collapsed to one wins nothing."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from rich.console import Console

import equipoise
from equipoise.measures import optimum_distance
from equipoise.reports import page, show
from equipoise.reports.charts.scatter import COLLAPSED, CONSTANT, front
from equipoise.results import because
from equipoise.studies import StudyResult
from equipoise.studies.analysis import StudyData, StudyReason
from equipoise.studies.findings import result_of
from helpers.cases.study import ARMS, Arm, interpolation, plain, regression_data, study

CONDITION = [interpolation(0)]
# Whatever the row, the answer is '<=50K'.
CONSTANT_ARM = Arm("adversarial", rates=(-9.0, -9.0), correct=9.0, seeds=0.0, reruns=0.0)


@cache
def with_a_constant() -> StudyResult:
    """Return a study in which adversarial training ends as a constant prediction, which is fairest of all."""
    arms = (replace(ARMS[0], correct=0.66), ARMS[3], CONSTANT_ARM)
    return result_of(study(arms=arms, conditions=CONDITION, seeds=6, repeats=1, people=1_500))


def shown(result: StudyResult, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(result, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_constant_prediction_has_the_numbers_of_a_model_that_always_says_the_majority() -> None:
    data = replace(study(conditions=CONDITION, seeds=2, repeats=1, people=400), training_rows=(30, 90))
    constant = result_of(data).constant
    assert constant is not None
    rows = data.rows
    assert rows is not None
    assert (constant.prediction, constant.share, constant.basis) == (">50K", 0.75, "original training rows")
    assert constant.performance == pytest.approx(float((rows.target == 1).mean()))
    assert (constant.fairness, constant.distance) == (1.0, pytest.approx(1.0 - constant.performance))
    balanced = [value.value for value in constant.values if value.measure == "balanced_accuracy"]
    assert balanced == [0.5]


def test_without_the_training_rows_the_majority_is_that_of_dev_rows_and_it_says_so() -> None:
    constant = plain().constant
    assert constant is not None
    assert (constant.prediction, constant.basis) == ("<=50K", "dev rows")


def test_a_constant_model_is_neither_best_nor_on_the_front_nor_an_alternative() -> None:
    result = with_a_constant()
    [cell] = [cell for cell in result.cells if cell.treatment == "adversarial"]
    assert (cell.collapsed, cell.collapsed_runs, cell.collapsed_share) == (True, 6, 1.0)
    assert cell.test_fairness == 1.0
    assert not cell.on_front
    assert all(math.isnan(rank.rank) and math.isnan(rank.prob_best) for rank in result.ranks
               if rank.treatment == "adversarial")  # fmt: skip
    assert all(
        alternative.treatment != "adversarial" and alternative.candidate != "adversarial"
        for alternative in result.alternatives
    )
    words = " ".join(result.words)
    assert "adversarial has collapsed" in words
    assert "adversarial comes nearest" not in words
    assert "adversarial is nearest" not in words


def test_verdicts_and_means_keep_what_has_collapsed() -> None:
    judged = [
        record
        for record in with_a_constant().records
        if record.treatment == "adversarial" and record.verdict is not None
    ]
    assert judged
    assert {one.runs for one in judged if one.measure in ("accuracy", "fairness")} == {6}


def test_terminal_page_and_chart_mark_what_has_collapsed_and_show_the_constant() -> None:
    result = with_a_constant()
    text = shown(result, 140)
    assert re.search("adversarial +collapsed", text)
    assert "always <=50K" in text
    html = page(result)
    assert '<span class="part">collapsed</span>' in html
    assert "always <bdi>&lt;=50K</bdi>" in html
    assert "collapsed to a constant" in html
    chart = front(result)
    assert chart is not None
    marks = {row["what"]: row for row in chart.spec["datasets"]["rows"]}
    assert {COLLAPSED, CONSTANT} <= set(marks)
    assert result.constant is not None
    assert (marks[CONSTANT]["x"], marks[CONSTANT]["y"]) == pytest.approx(
        (result.constant.performance, result.constant.fairness), rel=1e-5
    )


def test_seeds_that_have_collapsed_are_counted_and_do_not_make_a_cell_of_it_when_few() -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=5, repeats=1, people=1_500)
    places = [index for index, trial in enumerate(data.trials) if trial.treatment == "reweighting"]
    few, many = (result_of(collapsing(data, places[:number])) for number in (2, 3))
    for result, number, gone in ((few, 2, False), (many, 3, True)):
        [cell] = [cell for cell in result.cells if cell.treatment == "reweighting"]
        assert (cell.collapsed, cell.collapsed_runs, cell.collapsed_share) == (gone, number, number / 5)
        assert f"{number} of 5" in shown(result, 140)
        assert any(f"{number} of 10 runs have collapsed" in note for note in result.notes)


def collapsing(data: StudyData, places: list[int]) -> StudyData:
    """Let some trials say the first class of every row."""
    tables = {split: table.copy() for split, table in data.tables.items()}
    for table in tables.values():
        table[places, :, :, 0] = table[places].sum(axis=-1)
        table[places, :, :, 1] = 0
    return replace(data, tables=tables, rows=None, predictions=None)


def test_a_collapsed_setting_does_not_speak_for_a_treatment_while_another_has_not_collapsed() -> None:
    good = replace(ARMS[2], settings={"strength": 1.0}, rates=(0.3, 0.7), correct=0.6)
    arms = (ARMS[0], good, replace(CONSTANT_ARM, settings={"strength": 483.0}))
    result = result_of(study(arms=arms, conditions=CONDITION, seeds=3, repeats=1, people=1_000))
    cells = {cell.setting: cell for cell in result.cells if cell.treatment == "adversarial"}
    assert cells["strength=483.0"].dev_distance < cells["strength=1.0"].dev_distance
    assert [setting for setting, cell in cells.items() if cell.chosen] == ["strength=1.0"]


def test_when_every_model_has_collapsed_the_first_sentence_says_so() -> None:
    arms = (replace(CONSTANT_ARM, name="untreated"), CONSTANT_ARM)
    result = result_of(study(arms=arms, conditions=CONDITION, seeds=2, repeats=1, people=400))
    assert result.words[0].startswith("Every model has collapsed")
    assert page(result)


def test_of_a_regression_the_constant_has_no_correlation_and_r2_decides_what_has_collapsed() -> None:
    data = replace(regression_data(), training_mean=3.1)
    result = result_of(data)
    assert result.constant is not None
    assert math.isnan(result.constant.distance)
    assert result.constant.reason == because(StudyReason.NO_CORRELATION)
    assert "always predicts the mean" in " ".join(result.words)
    errors = {value.measure: value.value for value in result.constant.values}
    assert errors["mean_absolute_error_difference"] >= 0
    assert not any(cell.collapsed for cell in result.cells)
    worse = data.tables["dev"].copy()
    worse[:6, :, 9] *= 50  # the squared errors of the untreated runs
    gone = result_of(replace(data, tables={**data.tables, "dev": worse}))
    assert {cell.treatment: cell.collapsed for cell in gone.cells} == {"untreated": True, "reweighting": False}


def test_a_regression_that_predicts_one_number_says_that_its_predictions_do_not_vary() -> None:
    data = regression_data()
    tables = data.tables["test"].copy()
    # Column 4 is the sum of predictions about the pivot, 6 of their squares, 7 of their products with the target.
    tables[:6, :, 4], tables[:6, :, 6], tables[:6, :, 7] = 0.0, 0.0, 0.0
    result = result_of(replace(data, tables={"dev": tables, "test": tables}, rows=None, predictions=None))
    [record] = result.find(treatment="untreated", measure="pearson")
    assert record.reason == because(StudyReason.PREDICTIONS_DO_NOT_VARY)
    assert any(note.startswith("Test people were not resampled: for a regression") for note in result.notes)
    assert not any("must also hold when test people are resampled" in note for note in result.notes)


def test_classes_that_were_kept_from_training_have_no_constant_prediction() -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=2, repeats=1, people=400, kept=False)
    tables = {split: table.copy() for split, table in data.tables.items()}
    for table in tables.values():
        table[..., 0, 0] = table[..., 1, 1] = 0
    result = result_of(replace(data, tables=tables, training_rows=(30, 90)))
    assert result.constant is None
    assert "For orientation" not in str(result)
    assert page(result)
    assert shown(result)


def test_a_collapsed_baseline_has_no_alternatives_and_the_words_say_so() -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=5, repeats=1, people=1_500)
    places = [index for index, trial in enumerate(data.trials) if trial.treatment == "untreated"]
    result = result_of(collapsing(data, places))
    assert result_of(data).alternatives
    assert result.alternatives == ()
    assert result.words[0].startswith("The untreated model itself has collapsed")
    assert any(words.endswith("so no alternative to it is named.") for words in result.words)
    assert page(result)


def test_balanced_accuracy_that_was_asked_for_reaches_the_narrow_table() -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=2, repeats=1, people=400)
    for measures, named in ((None, False), (["balanced_accuracy", "dp"], True)):
        told = shown(result_of(data, measures=measures), 60).split("Effects and costs")[1]
        heading = next(line for line in told.splitlines() if "Treatment" in line)
        assert ("Balanced" in heading) == named
        assert ("Demographic parity" in told) == named


@pytest.mark.parametrize("fairness", ["GAP", "DP", "worst_group"])
def test_the_chosen_performance_and_fairness_make_the_distance_ranks_front_and_tables(fairness: str) -> None:
    data = study(arms=ARMS[:3], conditions=CONDITION, seeds=2, repeats=1, people=600)
    result = result_of(data, performance="balanced_accuracy", fairness=fairness)
    assert result.performance[0] == "balanced_accuracy"
    for cell in result.cells:
        [performance] = result.find(treatment=cell.treatment, measure="balanced_accuracy")
        [fair] = result.find(treatment=cell.treatment, measure=result.fairness, attribute=("sex",))
        assert (cell.test_performance, cell.test_fairness) == pytest.approx((performance.mean, fair.mean))
    tables, layout = data.tables["test"], data.layout
    own, _ = layout.folded(tables, ("sex",))
    rates = np.diagonal(own, axis1=-2, axis2=-1) / own.sum(axis=-1)
    everyone = own.sum(axis=1)
    balanced = (np.diagonal(everyone, axis1=-2, axis2=-1) / everyone.sum(axis=-1)).mean(axis=-1)
    fair_values = {
        "GAP": 1 - np.sqrt((np.ptp(rates, axis=1) ** 2).mean(axis=-1)),
        "DP": 1 - np.ptp(own.sum(axis=-2) / own.sum(axis=(-1, -2))[..., None], axis=1).mean(axis=-1),
        "worst_group": rates.mean(axis=-1).min(axis=1),
    }[fairness]
    expected = optimum_distance(balanced, fair_values)
    for cell in result.cells:
        places = [index for index, trial in enumerate(data.trials) if trial.treatment == cell.treatment]
        assert cell.test_distance == pytest.approx(expected[places].mean())
    assert "Balanced accuracy" in page(result)


def test_a_performance_that_there_is_not_is_refused_with_what_there_is() -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=2, repeats=1, people=200)
    with pytest.raises(equipoise.BadInput, match="balanced_accuracy"):
        result_of(data, performance="balanced_acuracy")


def test_no_verdict_contradicts_the_interval_that_stands_beside_it() -> None:
    for result in (plain(), with_a_constant()):
        for record in result.records:
            if (
                record.verdict in ("lower", "higher")
                and record.change_low is not None
                and record.change_high is not None
            ):
                assert not record.change_low <= 0 <= record.change_high


def test_jitter_is_not_advised_to_a_study_that_jitters_already() -> None:
    data = study(arms=ARMS[:2], conditions=CONDITION, seeds=1, repeats=3, people=300, kept=False)
    first = np.repeat(np.arange(0, 6, 3), 3)
    copies = replace(data, tables={split: table[first] for split, table in data.tables.items()})
    native = replace(copies, trials=tuple(replace(trial, rounding="native") for trial in copies.trials))
    for same, advised in ((copies, False), (native, True)):
        result = result_of(same)
        told = " ".join([*result.words, *(str(record.reason) for record in result.records)])
        assert "the same to the last digit" in told
        assert ('"jitter"' in told) == advised


def test_what_was_said_to_be_enough_reckons_with_the_correction() -> None:
    result = result_of(study(arms=ARMS[:3], conditions=CONDITION, seeds=3, repeats=1, people=600))
    undecided = [
        record for record in result.records if record.verdict == "undecided" and record.runs_needed is not None
    ]
    assert undecided
    assert min(one.runs_needed or 0 for one in undecided) > 4, "4 of each could, if there were no correction"
    by_seeds = [one for one in undecided if one.limited_by == "seeds"]
    assert all(f"about {one.runs_needed} seeds would detect a change of 0.02" in str(one.reason) for one in by_seeds)
