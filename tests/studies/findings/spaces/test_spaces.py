"""Spaces of a whole study: gaps by hand, pairs by scipy, what is remembered, and what a study without them reads."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from scipy import stats

from equipoise.results import because
from equipoise.stats import benjamini_hochberg
from equipoise.studies import StudyResult
from equipoise.studies.analysis import SpaceReason
from equipoise.studies.analysis import _people as people
from equipoise.studies.findings import (
    measure_study,
    result_of,
)
from equipoise.studies.findings.spaces._result import EMBEDDING, HALVES, LARGEST, MAJORITISED
from equipoise.studies.findings.spaces._values import (
    NMI,
    NMI_BY_CHANCE,
    RECALL,
    UNIFORMITY,
    Spaces,
    ValueCache,
    spaces_of,
    value_cache,
)
from equipoise.studies.plans import Named
from helpers.cases.study import plain
from helpers.cases.study_space import (
    CASES,
    RAW,
    Method,
    grid,
    grid_data,
    imbalance,
    minoritised,
    mixed,
    study,
    trainings,
)

SCHEMA = json.loads((Path(__file__).parents[4] / "docs" / "schemas" / "study-2.json").read_text(encoding="utf-8"))
PARTS = ("spaces", "space_contrasts", "space_settings", "space_maps")


def small(**how: Any) -> tuple[Spaces, Any, Any]:
    data, drawn = study((Method("margin"), RAW), [minoritised(0.5), minoritised(0.9)], seeds=3, **how)
    spaces = spaces_of(measure_study(data))
    assert spaces is not None
    return spaces, data, drawn


@pytest.mark.parametrize("name", list(CASES))
def test_the_json_keeps_to_the_schema_and_the_schema_names_every_field(name: str) -> None:
    def refuse(constant: str) -> Any:
        raise AssertionError(constant)

    content = json.loads(CASES[name]().to_json(), parse_constant=refuse)
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(content)] == []
    for part in PARTS:
        fields = SCHEMA["properties"][part]["items"]["properties"]
        assert all(set(row) == set(fields) for row in content[part])


def test_a_gap_is_majoritised_minus_minoritised_and_turned_round_where_low_is_better() -> None:
    spaces, _, _ = small()
    for measure, sign in ((RECALL, 1), (NMI, 1), (UNIFORMITY, -1)):
        many, few, gap, worst = (
            spaces.values[:, spaces.quantity_index(source=EMBEDDING, measure=measure, **fields)]  # type: ignore[arg-type]
            for fields in ({"kind": "group", "group": "majoritised"}, {"kind": "group", "group": "minoritised"},
                           {"kind": "gap"}, {"kind": "worst"})
        )  # fmt: skip
        np.testing.assert_allclose(gap, sign * (many - few))
        np.testing.assert_allclose(worst, (np.minimum if sign == 1 else np.maximum)(many, few))
    assert spaces.quantity_index(source=EMBEDDING, measure=NMI_BY_CHANCE, kind="gap") is None, "neither end is better"
    assert len({quantity.name for quantity in spaces.quantities}) == len(spaces.quantities)


def test_more_than_two_groups_are_held_against_the_largest_and_cut_into_halves() -> None:
    data, _ = study([Method("margin")], [Named("as_given", 1, {})], seeds=2)
    spaces = spaces_of(measure_study(data))
    assert spaces is not None
    groups = [labels[0] for labels in data.layout.groups]
    values = np.stack([
        spaces.values[:, spaces.quantity_index(source=EMBEDDING, measure=RECALL, kind="group", group=group)]  # type: ignore
        for group in groups
    ])  # fmt: skip
    ranked = np.sort(values, axis=0)
    halves = spaces.values[:, spaces.quantity_index(source=EMBEDDING, measure=RECALL, rule=HALVES)]  # type: ignore[arg-type]
    np.testing.assert_allclose(halves, ranked[2:].mean(axis=0) - ranked[:2].mean(axis=0))
    against = [q for q in spaces.quantities if q.rule == LARGEST and q.measure == RECALL]
    assert {(q.group, q.against) for q in against} == {(group, groups[0]) for group in groups[1:]}
    records = [record for record in result_of(data).spaces if record.rule == HALVES]
    assert records
    assert all(record.low is None and "by construction" in str(record.reason) for record in records)


def test_means_and_intervals_of_a_cell_are_students_over_seeds() -> None:
    spaces, data, _ = small()
    result = result_of(data)
    for record in result.spaces:
        cell = next(c for c in spaces.study.cells if (c.under.condition, c.under.learner) == (
            record.condition, record.learner))  # fmt: skip
        place = spaces.quantity_index(
            attribute=record.attribute, kind=record.kind, source=record.source, training=record.training,
            measure=record.measure, group=record.group, rule=record.rule,
        )  # fmt: skip
        own = spaces.values[cell.indices, place]
        assert record.mean == pytest.approx(own.mean(), nan_ok=True)
        if record.rule != HALVES and record.defined and own.std() > 1e-12:
            low, high = stats.t.interval(0.95, 2, own.mean(), stats.sem(own))
            assert (record.low, record.high) == pytest.approx((low, high))


def _of(result: StudyResult, spaces: Spaces, condition: str, record: Any) -> np.ndarray:
    cell = next(c for c in spaces.study.cells if (c.under.condition, c.under.learner, c.treatment, c.setting) == (
        condition, record.learner, record.treatment, record.setting))  # fmt: skip
    kind = record.of
    place = spaces.quantity_index(
        attribute=record.attribute, kind=kind, source=record.source, training=record.training,
        measure=record.measure, group=record.group, rule=record.rule,
    )  # fmt: skip
    return np.asarray(spaces.values[cell.indices, place])


def test_imbalance_is_held_against_its_control_seed_by_seed() -> None:
    result = imbalance()
    methods = (Method("margin"), Method("triplet", noise=0.7, harm=0.5), RAW)
    spaces = spaces_of(measure_study(study(methods, [minoritised(d) for d in (0.5, 0.7, 0.9)])[0]))
    assert spaces is not None
    own = [space_contrast for space_contrast in result.space_contrasts if space_contrast.kind == "imbalance"]
    assert {one.degree for one in own} == {0.7, 0.9}
    for one in own:
        difference = _of(result, spaces, one.condition, one) - _of(result, spaces, one.versus, one)
        assert one.difference == pytest.approx(difference.mean(), abs=1e-12)
        low, high = stats.t.interval(1 - one.level, len(difference) - 1, difference.mean(), stats.sem(difference))
        assert (one.low, one.high) == pytest.approx((low, high), abs=1e-9)
        assert one.p == pytest.approx(stats.ttest_1samp(difference, 0).pvalue, rel=1e-6)
        assert (one.verdict in ("lower", "higher")) == (one.low > 0 or one.high < 0), (
            "verdict and interval are one test"
        )
        if len(set(np.abs(difference).round(12))) == len(difference):  # ties are ties despite rounding
            assert one.p_rank == pytest.approx(stats.wilcoxon(difference).pvalue)
        if one.larger is not None:
            sizes = abs(one.value), abs(one.against_value)
            assert one.larger == ("this" if sizes[0] > sizes[1] else "against")
    for of in ("gap", "overall", "worst"):
        table = [one for one in own if one.of == of]
        adjusted = benjamini_hochberg([one.p for one in table])
        assert [one.p_adjusted for one in table] == pytest.approx(adjusted.tolist(), nan_ok=True)
    gaps = [one for one in own if (one.of, one.measure, one.degree) == ("gap", RECALL, 0.9)]
    assert {gap.learner: gap.verdict for gap in gaps}["metric_learner, margin"] == "higher"
    raw = next(gap for gap in gaps if gap.learner == "raw_features")
    assert raw.verdict in ("none", "undecided"), "imbalance cannot touch features that nobody trains"


def test_balanced_rows_are_held_against_own_rows_of_the_same_space() -> None:
    own = [
        space_contrast for space_contrast in imbalance().space_contrasts if space_contrast.kind == "balanced training"
    ]
    assert {(one.training, one.versus) for one in own} == {("balanced", "own")}
    means = {
        (
            space.condition,
            space.learner,
            space.attribute,
            space.kind,
            space.source,
            space.training,
            space.measure,
            space.rule,
        ): space.mean
        for space in imbalance().spaces
    }
    for one in own:
        key = (one.condition, one.learner, one.attribute, one.of, one.source)
        for training, value in (("balanced", one.value), ("own", one.against_value)):
            assert value == pytest.approx(means[(*key, training, one.measure, one.rule)])


def test_every_other_training_is_held_against_own_rows_and_corrected_by_itself() -> None:
    own = [space_contrast for space_contrast in trainings().space_contrasts if "training" in space_contrast.kind]
    assert list(dict.fromkeys((one.kind, one.training) for one in own)) == [
        ("balanced training", "balanced"), ("other training", "domain_independent"), ("other training", "oversampled"),
        ("other training", "re_weighted"),
    ]  # fmt: skip
    assert {one.versus for one in own} == {"own"}
    assert {one.source for one in own if one.training == "domain_independent"} == {"logistic_regression"}
    for training in ("balanced", "domain_independent", "oversampled", "re_weighted"):
        for of in ("gap", "worst", "overall"):
            table = [one for one in own if (one.training, one.of) == (training, of)]
            adjusted = benjamini_hochberg([one.p for one in table])
            assert [one.p_adjusted for one in table] == pytest.approx(adjusted.tolist(), nan_ok=True)
    worse = [one for one in own if (one.training, one.of, one.measure) == ("domain_independent", "overall", "accuracy")]
    assert {one.verdict for one in worse} == {"lower"}


def test_other_trainings_are_told_in_words() -> None:
    said = " ".join(trainings().words)
    for words in (
        "On balanced rows instead of its own, the gap in macro recall of random forest changes by",
        "On oversampled rows instead of its own, the gap in macro recall of logistic regression (C = 1, standardised) "
        "changes by",
        "On re weighted rows instead of its own",
        "With domain-independent training instead of plain training on its own rows, the gap in macro recall of "
        "logistic regression",
        "of logistic regression (C = 1, standardised) with domain-independent training grew",
        "of random forest on oversampled rows grew",
        "of random forest on its own rows grew",
    ):
        assert words in said


def test_a_treatment_is_held_against_the_baseline_by_the_setting_that_dev_rows_chose() -> None:
    result = grid()
    [chosen] = [space_setting for space_setting in result.space_settings if space_setting.chosen]
    own = [
        space_contrast
        for space_contrast in result.space_contrasts
        if space_contrast.kind == "treatment" and space_contrast.treatment == "parade"
    ]
    assert {one.setting for one in own} == {chosen.setting}
    assert {one.versus for one in own} == {"untreated"}
    assert any("represents it" in note and chosen.setting in note for note in result.notes)
    assert {one.rule for one in own if one.of == "gap"} == {HALVES}


def test_one_seed_is_told_and_nothing_is_paired() -> None:
    result = mixed()
    assert result.space_contrasts == ()
    assert {record.learner for record in result.spaces} == {"metric_learner"}, "the other one kept no space"
    assert any("no embedding space is compared with another" in word for word in result.words)
    assert {record.rule for record in result.spaces if record.kind == "gap"} == {MAJORITISED}


def test_words_say_which_gaps_rose_and_how_sure_that_is() -> None:
    words = " ".join(imbalance().words)
    assert "the gap in recall@1 grew significantly, to the disadvantage of the minoritised, for 2 of 3 methods" in words
    assert "On balanced rows instead of its own" in words
    assert any("They say nothing about other test rows" in note for note in imbalance().notes)
    assert any("above 0 even where nothing differs" in note for note in grid().notes)


def test_maps_show_the_same_rows_side_by_side() -> None:
    maps = grid().space_maps
    assert [one.learner for one in maps] == ["raw_features", "metric_learner", "metric_learner"]
    assert [one.treatment for one in maps] == ["untreated", "untreated", "parade"]
    assert len({one.group for one in maps}) == 1
    assert all(len(one.x) == len(one.y) == len(one.group) <= 1_000 for one in maps)
    assert [one.condition for one in imbalance().space_maps][1:] == [
        "50-50, 3 classes minoritised", "90-10, 3 classes minoritised",
    ]  # fmt: skip


def test_a_second_report_remembers_the_numbers_and_reads_no_space_again(tmp_path: Path) -> None:
    data, drawn = grid_data(seeds=2)
    store = tmp_path / "study.db"

    def reported(rows: str = "rows") -> tuple[StudyResult, int]:
        drawn.read.clear()
        kept = drawn.arrays(None, value_cache(store, rows))
        return result_of(replace(data, stored_arrays=kept)), sum(name.endswith(".test") for name, _ in drawn.read)

    first, reads = reported()
    again, later = reported()
    assert reads == len(data) * 5 + len(again.space_maps)
    assert later == len(again.space_maps)
    assert again.spaces == first.spaces or str(again.spaces) == str(first.spaces), "NaN is not itself"
    assert reported("other rows")[1] == reads, "another test set has other numbers"
    whole = json.loads((tmp_path / "study.db.spaces.json").read_text(encoding="utf-8"))
    whole["made_with"]["version"] = -1
    (tmp_path / "study.db.spaces.json").write_text(json.dumps(whole), encoding="utf-8")
    assert reported()[1] == reads, "an earlier version is not believed"
    (tmp_path / "study.db.spaces.json").write_text("{torn", encoding="utf-8")
    assert reported()[1] == reads


def test_what_cannot_be_written_costs_time_and_nothing_else(tmp_path: Path) -> None:
    gone = ValueCache(tmp_path / "nowhere" / "study.db.spaces.json", "rows")
    gone.add("key", {})
    gone.save()
    assert gone.get("key") == {}
    assert ValueCache(None, "rows").get("key") is None


def test_progress_is_told_and_an_interruption_keeps_what_was_computed(tmp_path: Path) -> None:
    data, drawn = grid_data(seeds=2)
    remembered = value_cache(tmp_path / "study.db", "rows")
    told: list[float] = []

    def stop(what: str, done: float) -> None:
        told.append(done)
        if len(told) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        result_of(replace(data, stored_arrays=drawn.arrays(None, remembered)), progress=stop)
    assert told == sorted(told)
    assert len(value_cache(tmp_path / "study.db", "rows").values) == 3


def test_a_study_without_spaces_says_nothing_of_them() -> None:
    content = plain().as_json()
    assert all(content[part] == [] for part in PARTS)
    data, drawn = study([Method("margin")], [minoritised(0.9)], seeds=1, keeps=lambda trial: False)
    assert result_of(data).spaces == ()
    assert drawn.read == [], "nothing is read where nothing was kept"


def test_a_number_that_no_group_has_is_undefined_and_says_why() -> None:
    colours = ("black", *(f"colour {place}" for place in range(11)))
    data, _ = study([Method("margin")], [Named("as_given", 1, {})], seeds=2, colours=colours)
    lone = [space for space in result_of(data).spaces if space.measure == NMI and space.kind == "group"]
    assert all(math.isnan(one.mean) and one.reason == because(SpaceReason.ONE_CLASS) for one in lone)


def test_of_many_classes_and_groups_people_are_not_drawn_again_and_the_report_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, _ = grid_data(seeds=3)
    monkeypatch.setattr(people, "MOST_COUNTS", 100_000)
    assert people.NOT_RESAMPLED not in result_of(data).notes
    monkeypatch.setattr(people, "MOST_COUNTS", 100)
    result = result_of(data)
    assert people.NOT_RESAMPLED in result.notes
    assert all(record.p_people is None or math.isnan(record.p_people) for record in result.records)
    assert all("other people" not in record.scope or "says nothing" in record.scope for record in result.records)
