"""The result of a study: every number is that of the slow way, and the JSON keeps to its schema."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import equipoise
from equipoise.measures import get_measure
from equipoise.studies.analysis import Layout
from equipoise.studies.analysis._quantities import measured, quantities_of
from equipoise.studies.findings import result_of
from equipoise.tallies import Confusion
from helpers.cases.study import ARMS, CASES, interpolation, plain, settings, study

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schemas" / "study-2.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)


@pytest.mark.parametrize("name", list(CASES))
def test_every_result_keeps_to_its_published_schema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMA)

    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    content = json.loads(CASES[name]().to_json(), parse_constant=refuse)
    assert [error.message for error in VALIDATOR.iter_errors(content)] == []
    for part in ("records", "cells", "ranks"):
        kind = SCHEMA["properties"][part]["items"]
        fields = SCHEMA["$defs"]["record"] if "$ref" in kind else kind
        assert all(set(row) == set(fields["properties"]) for row in content[part]), "the schema names every field"


@pytest.mark.parametrize("favourable", [None, "b"])
def test_stacked_measures_are_those_of_each_table_alone(favourable: str | None) -> None:
    generator = np.random.default_rng(4)
    groups = (("F", "x"), ("F", None), ("M", "x"), ("M", "y"), (None, "y"))
    layout = Layout(("sex", "race"), groups, ("a", "b", "c"), favourable)
    tables = generator.integers(0, 9, (7, 5, 3, 3)).astype(np.float64)
    quantities = quantities_of(layout, [("sex",), ("race",), ("sex", "race")])
    found = measured(quantities, tables, layout)
    for trial in range(7):
        for index, quantity in enumerate(quantities):
            if quantity.measure == "balanced_accuracy":
                everyone = tables[trial].sum(axis=0)
                rates = [everyone[c, c] / everyone[c].sum() for c in range(3) if everyone[c].sum()]
                expected = sum(rates) / len(rates)
            else:
                table = _folded(tables[trial], groups, layout, quantity.attribute)
                expected = get_measure(quantity.measure).from_counts(table, favourable=quantity.class_)
            assert found[trial, index] == pytest.approx(expected, nan_ok=True), quantity


def _folded(table: np.ndarray, groups: tuple, layout: Layout, attribute: tuple[str, ...]) -> Confusion:
    places = [layout.attributes.index(name) for name in attribute]
    cells: dict[tuple, np.ndarray] = {}
    for labels, counts in zip(groups, table, strict=True):
        own = tuple(labels[place] for place in places)
        if None not in own:
            cells[own] = cells.get(own, 0) + counts
    return Confusion(np.stack(list(cells.values())), tuple(map(str, cells)), layout.classes)


def test_means_changes_and_spans_are_those_of_the_runs() -> None:
    data, result = study(), plain()
    quantities = quantities_of(data.layout, [("sex",), ("race",)])
    values = measured(quantities, data.tables["test"], data.layout)
    places = {(q.measure, q.attribute): index for index, q in enumerate(quantities)}
    for record in result.records[::7]:
        own = {}
        for index, trial in enumerate(data.trials):
            if (
                trial.treatment == record.treatment
                and f"JB alpha {trial.condition.settings['alpha']}" == record.condition
            ):
                own.setdefault(trial.seed, []).append(values[index, places[record.measure, record.attribute]])
        means = [sum(runs) / len(runs) for runs in own.values()]
        every = [value for runs in own.values() for value in runs]
        assert (record.runs, record.seeds) == (18, 6)
        assert record.mean == pytest.approx(sum(means) / 6)
        assert record.stdev == pytest.approx(np.std(means, ddof=1))
        assert (record.min, record.max) == pytest.approx((min(every), max(every)))
        if record.change is not None:
            [base] = result.find(condition=record.condition, treatment="untreated", measure=record.measure,
                                 attribute=record.attribute)  # fmt: skip
            assert record.change == pytest.approx(record.mean - base.mean)
            assert record.change_low < record.change < record.change_high  # type: ignore[operator]


def test_one_setting_speaks_for_its_treatment_and_only_dev_rows_choose_it() -> None:
    result = settings()
    cells = [cell for cell in result.cells if cell.treatment == "adversarial"]
    assert len(cells) == 4
    [chosen] = [cell for cell in cells if cell.chosen]
    assert chosen.dev_distance == min(cell.dev_distance for cell in cells)
    assert all(record.verdict is None for record in result.records if not record.chosen)
    data = study(arms=(ARMS[0], ARMS[2]), conditions=[interpolation(0)], seeds=2, repeats=1, people=300)
    turned = replace(data, tables={**data.tables, "test": data.tables["test"][::-1]})
    one, other = result_of(data), result_of(turned)
    assert [cell.on_front for cell in one.cells] == [cell.on_front for cell in other.cells]
    assert [one.treatment for one in one.alternatives] == [alternative.treatment for alternative in other.alternatives]


def test_every_setting_can_be_a_treatment_of_its_own_and_be_the_baseline() -> None:
    grid = [replace(ARMS[2], settings={"strength": strength}) for strength in (0.1, 1.0)]
    data = study(arms=grid, conditions=[interpolation(0)], seeds=3, repeats=1, people=300)
    result = result_of(data, every_setting=True, baseline="adversarial (strength=0.1)")
    assert {r.baseline for r in result.records if r.verdict} == {"adversarial (strength=0.1)"}
    with pytest.raises(equipoise.BadInput, match="did you mean 'adversarial'"):
        result_of(data, baseline="adversrial")


def test_measures_can_be_asked_for_later_and_what_counts_cannot_tell_is_refused() -> None:
    data = study(conditions=[interpolation(0)], seeds=2, repeats=1, people=300)
    result = result_of(data, measures=["f1", "equalized_odds"])
    assert {r.measure for r in result.records} == {
        "accuracy", "balanced_accuracy", "fairness", "distance_to_optimum", "f1", "equalized_odds",
    }  # fmt: skip
    with pytest.raises(equipoise.BadInput, match="needs scores"):
        result_of(data, measures=["auc"])


def test_the_control_selected_by_performance_is_held_against_the_control() -> None:
    records = settings().find(treatment="untreated, selected by performance")
    assert {record.baseline for record in records} == {"untreated"}


def test_nothing_done_is_said_with_help() -> None:
    data = study(conditions=[interpolation(0)], seeds=1, repeats=1, people=100)
    with pytest.raises(equipoise.BadInput, match="No trial of the study 'adult' is done"):
        result_of(replace(data, trials=()))


def test_a_result_is_also_a_frame_a_dictionary_and_tables() -> None:
    result = plain()
    frame = result.to_frame("pandas")
    assert len(frame) == len(result.records)
    assert set(frame["attribute"]) == {"", "sex", "race"}
    flat = result.to_dict()
    assert (
        flat["JB alpha 0/mlp/untreated/accuracy/mean"]
        == result.find(condition="JB alpha 0", treatment="untreated", measure="accuracy")[0].mean
    )
    assert "P(best)" in result.tables()[0].headings
    assert result.to_csv().count("\n") == len(result.records) + 1
    assert "longtable" in result.to_latex()


def test_the_words_answer_the_four_questions() -> None:
    words = " ".join(plain().words)
    for part in ("the model is fairer than the untreated model", "For orientation, a model that always predicts",
                 "Fairer under", "Less accurate under", "accuracy", "which treatment is nearest is not decided",
                 "Less discriminatory alternative", "flip between identical runs"):  # fmt: skip
        assert part in words
    assert "would name it again" in " ".join(CASES["regression"]().words)
    assert "1 trial failed" in " ".join(settings().words)
    assert not re.search(r"\bis fair\b", words)
