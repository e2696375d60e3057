"""Identical runs of a study against explicit loops over rows: spreads, classes, the 20 % rule and single failures."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    measure_study,
    result_of,
)
from equipoise.studies.findings.identical._runs import one_of_each, sets_of
from helpers.cases.study import CASES, TECHNIQUES, Arm, demo, interpolation, picture_data, pictures, plain, study


@cache
def by_rows() -> dict[str, list[dict[str, float]]]:
    """Disparate impact of every class in every run, technique by technique, counted row by row."""
    data = picture_data()
    assert data.rows is not None
    assert data.predictions is not None
    found: dict[str, list[dict[str, float]]] = {}
    for index, trial in enumerate(data.trials):
        [said] = data.predictions([index])
        times = {(domain, code): 0 for domain in (0, 1) for code in range(10)}
        people = {0: 0, 1: 0}
        for domain, code in zip(data.rows.group.tolist(), said.tolist(), strict=True):
            times[domain, code] += 1
            people[domain] += 1
        own = {}
        for code, name in enumerate(data.layout.classes):
            rates = [times[domain, code] / people[domain] for domain in (0, 1)]
            own[name] = math.nan if max(rates) == 0 else 1 - min(rates) / max(rates)
        readout = trial.treatments[0].settings.get("readout")
        found.setdefault(trial.treatment + (f": {readout}" if readout else ""), []).append(own)
    return found


def test_every_readout_of_a_training_is_a_treatment_of_its_own() -> None:
    names = [name if readout is None else f"{name}: {readout}" for name, readout, _, _ in TECHNIQUES]
    assert [cell.treatment for cell in pictures().cells] == names
    assert all(cell.chosen and cell.setting == "" for cell in pictures().cells)


def test_a_setting_that_is_no_readout_is_still_chosen_among() -> None:
    arms = [Arm("untreated"), *(Arm("adversarial", settings={"strength": s}) for s in (0.1, 1.0))]
    result = result_of(study(arms=arms, conditions=[interpolation(0)], seeds=2, repeats=1, people=200))
    assert [(cell.treatment, cell.setting) for cell in result.cells] == [
        ("untreated", ""), ("adversarial", "strength=0.1"), ("adversarial", "strength=1.0"),
    ]  # fmt: skip


def test_the_table_is_that_of_the_runs_counted_row_by_row() -> None:
    for record in pictures().identical_runs:
        if record.alias != "DI":
            continue
        runs = by_rows()[record.treatment]
        overall = [statistics.fmean(run.values()) for run in runs]
        assert record.values == pytest.approx(overall)
        assert record.runs == 16
        assert record.mean == pytest.approx(statistics.fmean(overall))
        assert (record.min, record.max) == pytest.approx((min(overall), max(overall)))
        assert record.maxdiff == pytest.approx(max(overall) - min(overall))
        assert record.relative_maxdiff == pytest.approx((max(overall) - min(overall)) / statistics.fmean(overall))
        assert record.stdev == pytest.approx(statistics.stdev(overall))
        spreads = {name: max(o[name] for o in runs) - min(o[name] for o in runs) for name in runs[0]}
        widest = max(spreads, key=lambda name: spreads[name])
        assert record.class_ == widest
        assert record.class_maxdiff == pytest.approx(spreads[widest])
        assert record.class_stdev == pytest.approx(statistics.stdev(run[widest] for run in runs))


def test_the_seven_biases_and_accuracy_are_told_of_every_technique() -> None:
    told = {(record.treatment, record.alias or record.measure) for record in pictures().identical_runs}
    metrics = ("DP", "DI", "SPSF", "FPSF", "EOFP", "EOTP", "BA", "accuracy")
    assert told == {(cell.treatment, metric) for cell in pictures().cells for metric in metrics}


def test_classes_and_their_lowest_and_highest_runs_are_those_counted_row_by_row() -> None:
    records = [record for record in pictures().identical_classes if record.alias == "DI"]
    assert len(records) == 100
    for record in records:
        own = [run[record.class_] for run in by_rows()[record.treatment]]
        assert (record.min, record.max, record.mean) == pytest.approx((min(own), max(own), statistics.fmean(own)))
        assert (record.lowest_run, record.highest_run) == (own.index(min(own)), own.index(max(own)))
        assert record.stdev == pytest.approx(statistics.stdev(own))


def test_both_sides_of_the_rule_are_those_counted_row_by_row() -> None:
    expected = {}
    for technique, runs in by_rows().items():
        columns = {None: [statistics.fmean(run.values()) for run in runs]}
        columns |= {name: [run[name] for run in runs] for name in runs[0]}
        for name, values in columns.items():
            above = sum(value > 0.2 for value in values)
            if 0 < above < 16:
                expected[technique, name] = (16 - above, above, min(values), max(values))
    found = {(o.treatment, o.class_): (o.within, o.broken, o.min, o.max) for o in pictures().both_sides}
    assert found.keys() == expected.keys()
    assert any(name is None for _, name in found)
    for key, numbers in expected.items():
        assert found[key] == pytest.approx(numbers)
    kinds = [both_side.class_ is not None for both_side in pictures().both_sides]
    assert kinds == sorted(kinds), "whole techniques come first"
    assert not any(both_side.complete for both_side in pictures().both_sides)


def test_a_class_fails_where_it_lies_20_points_above_the_mean_of_its_run() -> None:
    expected = {}
    for technique, runs in by_rows().items():
        for name in runs[0]:
            above = [run[name] - statistics.fmean(run.values()) for run in runs]
            if max(above) >= 0.2:
                worst = above.index(max(above))
                expected[technique, name] = (worst, sum(one >= 0.2 for one in above), runs[worst][name])
    found = {
        (failure.treatment, failure.class_): (failure.run, failure.failed, failure.value)
        for failure in pictures().class_failures
    }
    assert expected
    assert found.keys() == expected.keys()
    for key, numbers in expected.items():
        assert found[key] == pytest.approx(numbers)
    ahead = [failure.value - failure.overall for failure in pictures().class_failures]
    assert ahead == sorted(ahead, reverse=True)


def test_a_class_that_is_never_predicted_is_undefined_and_no_failure() -> None:
    data = picture_data(images=200, runs=3, techniques=TECHNIQUES[:2])
    tables = {split: table.copy() for split, table in data.tables.items()}
    for table in tables.values():
        table[:, :, :, 0] += table[:, :, :, 9]
        table[:, :, :, 9] = 0
    result = result_of(replace(data, tables=tables, predictions=None, rows=None))
    assert not [one for one in result.identical_classes if (one.class_, one.alias) == ("truck", "DI")]
    assert "truck" not in {one.class_ for one in (*result.class_failures, *result.both_sides)}
    assert result.fairest_of_n == ()
    assert len(result.identical_runs) == 16
    assert all(not math.isnan(identical_run.mean) for identical_run in result.identical_runs)


def test_with_a_favourable_class_there_is_nothing_to_tell_by_class() -> None:
    assert plain().identical_classes == ()
    assert {record.class_ for record in plain().identical_runs} == {None}
    assert {record.seed for record in plain().identical_runs} == set(range(6))


@pytest.mark.parametrize("name", ["curves", "odd", "regression"])
def test_without_identical_runs_nothing_is_said(name: str) -> None:
    result: StudyResult = CASES[name]()
    parts = ("identical_runs", "identical_classes", "both_sides", "class_failures", "fairest_of_n", "experiments")
    assert all(getattr(result, part) == () for part in parts)


def test_runs_of_two_environments_are_never_one_set() -> None:
    data = study(seeds=2, repeats=4, people=200, environments=lambda seed, repeat: int(seed == 0 and repeat == 3))
    sets = sets_of(measure_study(data))
    assert {(one.seed, one.environment, len(one.indices)) for one in sets} == {(0, 0, 3), (1, 0, 4)}
    kept = one_of_each([one for one in sets if one.cell.under == sets[0].cell.under])
    assert {(one.seed, len(one.indices)) for one in kept} == {(1, 4)}


def test_runs_that_are_copies_are_told_as_no_proof_of_stability() -> None:
    data = picture_data(images=100, runs=3, techniques=TECHNIQUES[:2])
    first = np.repeat(np.arange(0, 6, 3), 3)
    tables = {split: table[first] for split, table in data.tables.items()}
    copies = replace(data, tables=tables, rows=None, predictions=None)
    native = replace(copies, trials=tuple(replace(trial, rounding="native") for trial in data.trials))
    for own, advised in ((native, True), (copies, False)):
        words = " ".join(result_of(own).words)
        assert "gave identical results, to the last digit" in words
        assert ("no proof of stability" in words) == advised


def test_the_words_say_the_largest_difference_and_who_is_on_both_sides() -> None:
    words = " ".join(pictures().words)
    most = max((r for r in pictures().identical_runs if r.better == "low"), key=lambda record: record.maxdiff)
    assert f"({100 * most.maxdiff:.1f} points)" in words
    assert "One run says fair, another unfair: domain_discriminative: rba has identical runs on both sides" in words
    assert "on new people" in words
    assert "Repeating the same training" in " ".join(demo().words)


def test_a_large_study_tells_the_first_seeds_of_each_technique_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    data = study(people=300)  # eight cells of six seeds, each run three times
    whole = result_of(data)
    assert not any("told one by one" in note for note in whole.notes)
    monkeypatch.setattr("equipoise.studies.findings.identical._runs.MOST_SETS", 16)
    part = result_of(data)
    assert "Identical runs are listed for the first seeds of each treatment: 16 of 48 sets." in part.notes
    assert {identical_run.seed for identical_run in part.identical_runs} == {0, 1}
    assert {one.seeds for one in part.fairest_of_n} == {2}
    assert set(part.identical_runs) < set(whole.identical_runs)
    assert part.records == whole.records
