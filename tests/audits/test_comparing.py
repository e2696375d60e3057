"""Who changed: shares and tests against slow references, ties, clones, noise, and every part of the report."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from jsonschema import Draft202012Validator
from scipy import stats
from sklearn.metrics import roc_auc_score

import equipoise
from equipoise.audits import compare as compare_result
from equipoise.audits.compare import (
    Attribute,
    ChangeRecord,
    CompareReason,
    CompareResult,
    bounded_omega,
    composition,
    cut_lowest,
    omega,
)
from equipoise.foundation import BadInput
from equipoise.measures import pnka
from equipoise.results import because
from equipoise.stats import Units

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "compare-1.json").read_text(encoding="utf-8"))


def world(people: int = 400, seed: int = 0, planted: bool = True) -> tuple[Any, Any, pd.DataFrame]:
    """People whose points change a little; with ``planted``, those of young women change much."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": draw.choice(["Female", "Male"], people, p=[0.35, 0.65]),
            "race": draw.choice(["a", "b", "c"], people),
            "age": draw.integers(18, 70, people),
        }
    )
    before = draw.normal(size=(people, 8))
    after = before + 0.2 * draw.normal(size=before.shape)
    hit = ((frame["sex"] == "Female") & (frame["age"] < 40)).to_numpy() & planted
    after[hit] += 1.5 * draw.normal(size=(int(hit.sum()), 8))
    frame["said"] = draw.choice(["no", "yes"], people)
    flips = np.where(hit, draw.random(people) < 0.6, draw.random(people) < 0.02)
    frame["says"] = np.where(flips, np.where(frame["said"] == "no", "yes", "no"), frame["said"])
    return before, after, frame


BEFORE, AFTER, PEOPLE = world()
ASK: dict[str, Any] = {"rows": PEOPLE, "sensitive_features": ["sex", "race"], "draws": 500}


@pytest.fixture(scope="module")
def full() -> CompareResult:
    rerun = AFTER + 0.05 * np.random.default_rng(9).normal(size=AFTER.shape)
    return equipoise.compare(
        BEFORE, AFTER, **ASK, describe="age", direction="sex=Male,Female", prediction_before="said",
        prediction_after="says", rerun=rerun,
    )  # fmt: skip


def one(result: CompareResult, attribute: str, group: str) -> ChangeRecord:
    [record] = result.find(attribute=attribute, group=group)
    return record


# The cut.


@settings(max_examples=150, deadline=None)
@given(
    some.lists(some.integers(0, 6), min_size=1, max_size=60),
    some.floats(0.02, 0.98),
    some.sampled_from(["whole", "fractional"]),
    some.randoms(use_true_random=False),
)
def test_ties_are_never_cut_at_random(scores: list[int], share: float, ties: str, shuffle: Any) -> None:
    cut = cut_lowest(np.array(scores, dtype=float), share, ties)
    by_score: dict[int, set[float]] = {}
    for score, weight in zip(scores, cut.weights, strict=True):
        by_score.setdefault(score, set()).add(round(float(weight), 9))
    assert all(len(weights) == 1 for weights in by_score.values())
    in_order = [by_score[score].pop() for score in sorted(by_score)]
    assert in_order == sorted(in_order, reverse=True)
    wanted = share * len(scores)
    if ties == "fractional":
        assert cut.changed == pytest.approx(wanted)
    else:
        assert set(np.unique(cut.weights)) <= {0.0, 1.0}
        totals = [sum(score <= edge for score in scores) for edge in sorted(set(scores))]
        assert abs(cut.changed - wanted) == pytest.approx(min(abs(total - wanted) for total in totals))
    order = list(range(len(scores)))
    shuffle.shuffle(order)
    again = cut_lowest(np.array(scores, dtype=float)[order], share, ties)
    assert again.weights == pytest.approx(cut.weights[order])


def test_the_share_and_ties_are_checked() -> None:
    for given_share in (0, 1, -0.1, "much"):
        with pytest.raises(BadInput, match="share is"):
            equipoise.compare(BEFORE, AFTER, **ASK, share=given_share)
    with pytest.raises(BadInput, match="whole, fractional"):
        equipoise.compare(BEFORE, AFTER, **ASK, ties="random")


def test_whole_ties_that_miss_the_share_are_said() -> None:
    before, after = np.repeat(BEFORE[:40], 5, axis=0), np.repeat(AFTER[:40], 5, axis=0)
    rows = PEOPLE.iloc[np.repeat(np.arange(40), 5)]
    found = equipoise.compare(before, after, rows=rows, sensitive_features="sex", share=0.11, draws=50)
    assert found.similarity.changed in (20, 25)
    assert any("5 people share the score at the cut" in note for note in found.notes)
    exact = equipoise.compare(
        before, after, rows=rows, sensitive_features="sex", share=0.11, ties="fractional", draws=50
    )
    assert exact.similarity.changed == pytest.approx(22)


# Scores and shares.


def test_scores_and_shares_are_those_of_a_slow_reference(full: CompareResult) -> None:
    frame = PEOPLE.assign(score=pnka(BEFORE, AFTER))
    changed = frame.nsmallest(40, "score")
    assert full.similarity.pnka == pytest.approx(frame["score"].mean())
    for attribute in ("sex", "race"):
        for group, own in frame.groupby(attribute):
            record = one(full, attribute, group)
            assert record.people == len(own)
            assert record.mean == pytest.approx(own["score"].mean())
            assert record.median == pytest.approx(own["score"].median())
            assert record.q05 == pytest.approx(own["score"].quantile(0.05))
            assert record.changed == (changed[attribute] == group).sum()
            assert record.share_changed == pytest.approx((changed[attribute] == group).mean())
            assert record.share_population == pytest.approx((frame[attribute] == group).mean())
            assert record.difference == pytest.approx(record.share_changed - record.share_population)
            assert record.lift == pytest.approx(record.share_changed / record.share_population)
            assert record.h == pytest.approx(
                2 * math.asin(math.sqrt(record.share_changed)) - 2 * math.asin(math.sqrt(record.share_population))
            )
            # Everybody is distinct here, so counting profiles once is counting people.
            assert record.share_changed_profiles == pytest.approx(record.share_changed)


def test_a_planted_change_is_found_and_said(full: CompareResult) -> None:
    women = one(full, "sex", "Female")
    assert women.finding
    assert women.low is not None
    assert women.low > 0
    assert not any(record.finding for record in full.find(attribute="race"))
    expected = (
        f"Of the 10% most changed people, {100 * women.share_changed:.3g}% are Female (sex), against "
        f"{100 * women.share_population:.1f}% of the population"
    )
    assert full.words[0].startswith(expected), full.words
    assert any(sentence.startswith("race: No group is significantly more or less common") for sentence in full.words)
    assert "distinct profiles" in full.notes[0]
    assert "is fair" not in str(full)


def test_p_is_that_of_the_hypergeometric_distribution() -> None:
    found = equipoise.compare(BEFORE, AFTER, rows=PEOPLE, sensitive_features="race", draws=4_000)
    record = one(found, "race", "a")
    people = int((PEOPLE["race"] == "a").sum())
    counts = np.arange(41)
    chances = stats.hypergeom(400, people, 40).pmf(counts)
    away = abs(record.changed - 40 * people / 400)  # type: ignore[operator]
    assert record.p == pytest.approx(chances[np.abs(counts - 40 * people / 400) >= away - 1e-9].sum(), abs=0.03)


def test_the_result_does_not_depend_on_the_order_of_rows() -> None:
    order = np.random.default_rng(3).permutation(400)
    first = equipoise.compare(BEFORE, AFTER, **ASK)
    second = equipoise.compare(BEFORE[order], AFTER[order], **{**ASK, "rows": PEOPLE.iloc[order]})
    for a, b in zip(first.records, second.records, strict=True):
        assert (a.group, a.share_changed, a.mean) == (b.group, b.share_changed, pytest.approx(b.mean))


def test_points_that_did_not_move_are_told_as_such() -> None:
    found = equipoise.compare(BEFORE, 3 * BEFORE + 1, **ASK, describe="age")
    assert "Nobody changed more than anybody else" in str(found)
    assert found.records[0].status == "undefined"
    assert math.isnan(found.similarity.share_reached)
    assert not any(record.finding for record in found.records)
    assert found.rings == ()
    assert found.similarity.pnka == pytest.approx(1)


def test_a_point_at_the_mean_is_undefined_and_counted() -> None:
    before, after = BEFORE.copy(), AFTER.copy()
    before[5] = np.delete(before, 5, axis=0).mean(axis=0)
    before -= before.mean(axis=0)
    before[5] = 0.0
    found = equipoise.compare(before, after, **ASK)
    assert found.similarity.undefined == 1
    assert one(found, "sex", PEOPLE["sex"][5]).undefined == 1
    assert any("1 person has no score: the point lies at the mean" in note for note in found.notes)


# Copies are no people.


def test_cloning_every_profile_makes_no_finding_and_changes_no_test() -> None:
    before, after, frame = world(120, seed=5, planted=False)
    options = {"sensitive_features": ["sex", "race"], "describe": "age", "draws": 500}
    plain = equipoise.compare(before, after, rows=frame, **options)
    times = np.repeat(np.arange(120), 10)
    cloned = equipoise.compare(before[times], after[times], rows=frame.iloc[times], **options)
    assert (plain.similarity.units, cloned.similarity.units, cloned.similarity.rows) == (120, 120, 1_200)
    for a, b in zip(plain.records, cloned.records, strict=True):
        assert a.share_changed == pytest.approx(b.share_changed, nan_ok=True)
        assert (a.p is None and b.p is None) or a.p == pytest.approx(b.p, abs=0.03)
        assert not b.finding
    assert not any(description.finding for description in cloned.descriptions)


def test_one_large_profile_is_one_profile() -> None:
    times = np.repeat(np.arange(60), [100, *[15] * 59])
    sex = Attribute("sex", (np.arange(60) >= 30).astype(np.int64)[times], ("Female", "Male"))
    cut = cut_lowest(np.linspace(0, 1, 60)[times], 0.1, "whole")
    found = composition(sex, cut, Units.of_codes(times), draws=1_000, generator=np.random.default_rng(0))
    assert found.share_changed.tolist() == [1, 0]
    assert found.share_changed_units.tolist() == [1, 0]
    # Of people this would be overwhelming; of profiles it is one side of a coin.
    assert stats.fisher_exact([[100, 0], [435, 450]]).pvalue < 1e-20
    assert found.p.min() > 0.1


@pytest.mark.long
@pytest.mark.parametrize("copies", [1, 10])
def test_noise_seldom_makes_a_finding(copies: int) -> None:
    """Where scores have nothing to do with groups, at most about one report in twenty has any finding at all."""
    reports, found = 120, 0
    for seed in range(reports):
        before, after, frame = world(90, seed=1_000 + seed, planted=False)
        times = np.repeat(np.arange(90), copies)
        result = equipoise.compare(
            before[times], after[times], rows=frame.iloc[times], sensitive_features=["sex", "race"], describe="age",
            prediction_before="said", prediction_after="says", draws=200, seed=seed,
        )  # fmt: skip
        tested = (*result.records, *result.descriptions, *result.outcomes, *([result.link] if result.link else []))
        found += any(record.finding for record in tested)
    # More than 13 of 120 would be a chance of 1 in 200 at 5 %. Taking each copy for a person gives 119 (cluster=row).
    assert found <= 13


def test_clusters_are_units_where_they_are_named() -> None:
    families = np.arange(400) // 4
    found = equipoise.compare(BEFORE, AFTER, **{**ASK, "rows": PEOPLE.assign(family=families)}, cluster="family")
    assert (found.similarity.units, found.similarity.unit) == (100, "clusters")
    assert "100 clusters" in found.notes[0]
    assert one(found, "sex", "Female").finding
    with pytest.raises(BadInput, match="one value only"):
        equipoise.compare(BEFORE, AFTER, **{**ASK, "rows": PEOPLE.assign(family=1)}, cluster="family")


# Descriptions.


def test_the_most_changed_are_described_together(full: CompareResult) -> None:
    best = full.descriptions[0]
    assert best.finding
    assert set(best.conditions) == {"sex is Female", "age under 40"}
    assert best.lift > 3
    assert best.people is not None
    assert best.people < 200
    [sentence] = [words for words in full.words if words.startswith(f"Where {best.words}")]
    assert "people the rule was not learned from" in sentence


def test_a_description_needs_enough_units_and_says_so() -> None:
    found = equipoise.compare(BEFORE[:30], AFTER[:30], rows=PEOPLE[:30], sensitive_features="sex", draws=50)
    assert found.descriptions == ()
    assert any("30 units are too few" in note for note in found.notes)


def test_numbers_with_gaps_and_categories_describe_too() -> None:
    rows = PEOPLE.assign(
        income=np.where(np.arange(400) % 5 == 0, np.nan, PEOPLE["age"] / 7), town=PEOPLE["race"].map({"a": "x"})
    )
    found = equipoise.compare(
        BEFORE, AFTER, rows=rows, sensitive_features="sex", describe=["income", "town"], draws=200
    )
    assert any("income" in condition for description in found.descriptions for condition in description.conditions)
    with pytest.raises(BadInput, match="too many to describe"):
        equipoise.compare(BEFORE, AFTER, rows=PEOPLE.assign(name=[f"n{i}" for i in range(400)]),
                          sensitive_features="sex", describe="name")  # fmt: skip


# Projections.


def test_projections_are_those_of_a_slow_reference() -> None:
    male, female = (PEOPLE["sex"] == "Male").to_numpy(), (PEOPLE["sex"] == "Female").to_numpy()
    sides = []
    spaces = BEFORE + 2.0 * male[:, None], AFTER - male[:, None]
    full = equipoise.compare(*spaces, rows=PEOPLE, sensitive_features=["sex"], direction="sex=Male,Female", draws=0)
    for space in spaces:
        direction = space[male].mean(axis=0) - space[female].mean(axis=0)
        sides.append([float(np.dot(row, direction) / np.linalg.norm(direction)) for row in space])
    p, q = map(np.array, sides)
    [record] = [projection for projection in full.projections if projection.group == "Female"]
    assert record.mean_before == pytest.approx(p[female].mean())
    assert record.mean_after == pytest.approx(q[female].mean())
    assert record.median_omega == pytest.approx(np.median(((q - p) / np.abs(p))[female]))
    assert record.median_bounded == pytest.approx(np.median(((q - p) / (np.abs(p) + np.abs(q)))[female]))
    assert record.exploded == pytest.approx((np.abs((q - p) / np.abs(p))[female] > 10).mean())


@settings(max_examples=100, deadline=None)
@given(some.lists(some.tuples(some.floats(-1e6, 1e6), some.floats(-1e6, 1e6)), min_size=1, max_size=20))
def test_the_bounded_form_has_omegas_sign_and_stays_within_one(pairs: list[tuple[float, float]]) -> None:
    p, q = np.array(pairs).T
    plain, bounded = omega(p, q), bounded_omega(p, q)
    assert np.array_equal(np.isnan(plain), p == 0)
    assert np.array_equal(np.isnan(bounded), (p == 0) & (q == 0))
    both = ~np.isnan(plain)
    assert np.array_equal(np.sign(plain[both]), np.sign(bounded[both]))
    assert (np.abs(bounded[~np.isnan(bounded)]) <= 1).all()
    assert bounded_omega(q, p) == pytest.approx(-bounded, nan_ok=True)


def test_a_direction_may_be_a_vector_a_file_or_one_for_each_space(tmp_path: Path) -> None:
    vector = np.arange(8.0) - 3
    np.save(tmp_path / "d.npy", vector)
    np.savez(tmp_path / "d.npz", before=vector, after=np.ones(5))
    plain = equipoise.compare(BEFORE, AFTER, **ASK, direction=vector).projections[0]
    from_file = equipoise.compare(BEFORE, AFTER, **ASK, direction=tmp_path / "d.npy").projections[0]
    assert plain.mean_after == from_file.mean_after == pytest.approx((AFTER @ vector).mean() / np.linalg.norm(vector))
    narrow = equipoise.compare(BEFORE, AFTER[:, :5], **ASK, direction=tmp_path / "d.npz").projections[0]
    assert narrow.mean_after == pytest.approx(AFTER[:, :5].sum(axis=1).mean() / math.sqrt(5))
    for bad, words in (
        (np.ones(3), "3 numbers"), (np.zeros(8), "0 everywhere"), (np.full(8, np.nan), "not finite"),
        (tmp_path / "none.npy", "could not be read"), ("sex=Male", "two groups"),
        ("sex=Male,Mle", "did you mean 'Male'"), ("sx=Male,Female", "did you mean 'sex'"),
        ({"before": vector}, "'before' and 'after'"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=words):
            equipoise.compare(BEFORE, AFTER, **ASK, direction=bad)


# Outcomes.


def test_moved_predictions_are_counted_and_linked_to_the_score(full: CompareResult) -> None:
    moved = (PEOPLE["said"] != PEOPLE["says"]).to_numpy()
    women = (PEOPLE["sex"] == "Female").to_numpy()
    everyone, record = full.outcomes[0], next(outcome for outcome in full.outcomes if outcome.group == "Female")
    assert everyone.share_moved == pytest.approx(moved.mean())
    assert (record.moved, record.share_moved) == (moved[women].sum(), pytest.approx(moved[women].mean()))
    assert record.difference == pytest.approx(moved[women].mean() - moved.mean())
    assert record.finding
    moves = {(move.before, move.after): move.people for move in record.moves}
    for said, says in (("no", "yes"), ("yes", "no")):
        assert moves[said, says] == ((PEOPLE["said"] == said) & (PEOPLE["says"] == says) & women).sum()
    link = full.link
    assert link is not None
    score = pnka(BEFORE, AFTER)
    assert link.auc == pytest.approx(roc_auc_score(moved, -score))
    assert link.rank_correlation == pytest.approx(stats.spearmanr(-score, moved).statistic)
    assert link.finding
    assert link.low is not None
    assert link.high is not None
    assert 0.5 < link.low < link.auc < link.high < 1


def test_predictions_that_are_numbers_have_shifts() -> None:
    rows = PEOPLE.assign(
        first=np.linspace(0, 1, 400), second=np.linspace(0, 1, 400) + (PEOPLE["sex"] == "Female") * 0.1
    )
    found = equipoise.compare(BEFORE, AFTER, rows=rows, sensitive_features="sex", prediction_before="first",
                              prediction_after="second", draws=200)  # fmt: skip
    women = next(outcome for outcome in found.outcomes if outcome.group == "Female")
    assert women.mean_shift == pytest.approx(0.1)
    assert women.finding
    assert any("The predictions of Female changed by 0.1 on average" in sentence for sentence in found.words)


def test_predictions_that_never_or_always_move_have_no_link() -> None:
    for column, code in (("said", CompareReason.NONE_MOVED), ("other", CompareReason.ALL_MOVED)):
        rows = PEOPLE.assign(other=PEOPLE["said"].map({"no": "x", "yes": "y"}))
        found = equipoise.compare(BEFORE, AFTER, rows=rows, sensitive_features="sex", prediction_before="said",
                                  prediction_after=column, draws=50)  # fmt: skip
        assert found.link is not None
        assert (found.link.status, found.link.reason) == ("undefined", because(code))
    few = PEOPLE.assign(says=PEOPLE["said"].where(np.arange(400) > 2, "maybe"))
    found = equipoise.compare(BEFORE, AFTER, rows=few, sensitive_features="sex", prediction_before="said",
                              prediction_after="says", draws=50)  # fmt: skip
    assert found.link is not None
    assert (found.link.status, found.link.low, found.link.p) == ("too small", None, None)
    with pytest.raises(BadInput, match="before and after, or neither"):
        equipoise.compare(BEFORE, AFTER, **ASK, prediction_before="said")


# The noise floor.


def test_every_interval_has_its_level(full: CompareResult) -> None:
    for record in (*full.records, *full.outcomes, *full.floor, full.link):
        assert (record.low is None) == (record.level is None)
        assert record.level in (None, 0.95)
    assert {finding.level for finding in full.statements if finding.low is not None} == {0.95}
    assert any(record.level for record in full.floor)


def test_the_floor_tells_a_change_from_a_rerun(full: CompareResult) -> None:
    assert all(record.finding and record.excess > 0 for record in full.floor)
    assert full.similarity.rerun_pnka is not None
    assert full.similarity.rerun_pnka > full.similarity.pnka
    noise = one(full, "sex", "Female").share_changed_rerun
    assert noise is not None
    assert noise < one(full, "sex", "Female").share_changed
    assert any("in a rerun alone" in sentence for sentence in full.words)
    # A rerun that differs as much as the change itself is no less than the change.
    draw = np.random.default_rng(1)
    before = draw.normal(size=(300, 6))
    after, rerun = (before + 0.3 * draw.normal(size=before.shape) for _ in range(2))
    middle = equipoise.compare(before, after, sensitive_features=PEOPLE["sex"][:300].to_numpy(), rerun=rerun, draws=50)
    assert not any(record.finding and record.excess > 0 for record in middle.floor)
    same = equipoise.compare(BEFORE, AFTER, **ASK, rerun=AFTER)
    assert one(same, "sex", "Female").share_changed_rerun is None


# What is shown and what is hidden.


def test_individuals_are_listed_only_on_request(full: CompareResult) -> None:
    assert full.rows == ()
    found = equipoise.compare(BEFORE, AFTER, **ASK, show_rows=True)
    assert len(found.rows) == 40
    scores = pnka(BEFORE, AFTER)
    assert [row.row for row in found.rows] == np.argsort(scores)[:40].tolist()
    assert found.rows[0].groups == (PEOPLE["sex"][found.rows[0].row], PEOPLE["race"][found.rows[0].row])
    with pytest.raises(BadInput, match="single people"):
        equipoise.compare(BEFORE, AFTER, **ASK, show_rows=True, suppress_below=5)


def test_small_groups_are_hidden_everywhere() -> None:
    rows = PEOPLE.assign(race=PEOPLE["race"].where(np.arange(400) > 3, "rare"))
    options = {"sensitive_features": "race", "draws": 50, "prediction_before": "said", "prediction_after": "says"}
    found = equipoise.compare(BEFORE, AFTER, rows=rows, **options, direction="race=a,b",
                              rerun=AFTER + 0.01 * BEFORE[::-1], suppress_below=10)  # fmt: skip
    record = one(found, "race", "rare")
    assert (record.people, record.changed, record.p, record.status) == (None, None, None, "too small")
    assert math.isnan(record.mean)
    for part in (found.outcomes, found.floor, found.projections):
        [hidden] = [one for one in part if one.group == "rare"]
        assert (hidden.people, hidden.status) == (None, "too small")
    assert not [histogram for histogram in found.histograms if histogram.group == "rare"]
    assert all(
        count is None or count == 0 or count >= 10 for histogram in found.histograms for count in histogram.counts
    )
    assert "rare" not in {part.group for part in found.rings}
    assert any("1 group is hidden: fewer than 10 people" in note for note in found.notes)
    moves = [move.people for outcome in found.outcomes for move in outcome.moves]
    assert all(people is None or people >= 10 for people in moves)


def test_missing_groups_are_shown_and_not_tested_unless_asked() -> None:
    rows = PEOPLE.assign(race=PEOPLE["race"].where(np.arange(400) % 4 > 0, None))
    found = equipoise.compare(BEFORE, AFTER, rows=rows, sensitive_features="race", draws=100)
    record = one(found, "race", "(missing)")
    assert record.people == 100
    assert record.p is None
    asked = equipoise.compare(BEFORE, AFTER, rows=rows, sensitive_features="race", draws=100, include_missing=True)
    assert one(asked, "race", "(missing)").p is not None
    named = equipoise.compare(BEFORE, AFTER, rows=PEOPLE, sensitive_features="race", draws=100, missing="c")
    assert one(named, "race", "(missing)").people == (PEOPLE["race"] == "c").sum()


def test_rings_go_round_once_for_everyone_and_for_the_most_changed(full: CompareResult) -> None:
    for whom in ("population", "changed"):
        for ring, attribute in enumerate(("sex", "race")):
            parts = [part for part in full.rings if (part.whom, part.ring) == (whom, ring)]
            assert {part.attribute for part in parts} == {attribute}
            assert parts[0].start == 0
            assert parts[-1].end == pytest.approx(1)
            assert [part.end for part in parts[:-1]] == [part.start for part in parts[1:]]
            for part in parts:
                record = one(full, attribute, part.group)
                assert part.share == pytest.approx(
                    record.share_changed if whom == "changed" else record.share_population
                )


def test_histograms_count_everybody_once(full: CompareResult) -> None:
    counts = {
        (histogram.attribute, histogram.group): sum(count or 0 for count in histogram.counts)
        for histogram in full.histograms
    }
    assert counts[None, None] == 400
    assert counts["sex", "Female"] + counts["sex", "Male"] == 400


# Ways in.


def test_arrays_columns_and_bins_are_taken() -> None:
    by_arrays = equipoise.compare(BEFORE, AFTER, sensitive_features=PEOPLE["sex"].to_numpy(), draws=50)
    assert by_arrays.attributes == ("group",)
    several = equipoise.compare(
        BEFORE, AFTER, sensitive_features={"sex": PEOPLE["sex"]}, describe={"age": PEOPLE["age"]}, draws=50,
        prediction_before=PEOPLE["said"], prediction_after=PEOPLE["says"], cluster=np.arange(400),
    )  # fmt: skip
    assert (several.attributes, several.similarity.units) == (("sex",), 400)
    binned = equipoise.compare(BEFORE, AFTER, rows=PEOPLE, sensitive_features="age", bins={"age": "30,50"}, draws=50)
    assert [record.group for record in binned.records[1:]] == ["under 30", "30 to under 50", "50 and over"]
    with pytest.raises(BadInput, match="--bin age=25,45"):
        equipoise.compare(BEFORE, AFTER, rows=PEOPLE, sensitive_features="age")
    with pytest.raises(BadInput, match="not a group column"):
        equipoise.compare(BEFORE, AFTER, **ASK, bins={"age": "30"})


def test_a_file_may_hold_points_and_groups_together(tmp_path: Path) -> None:
    np.savez(tmp_path / "before.npz", z=BEFORE, sex=PEOPLE["sex"].to_numpy(dtype=str))
    np.save(tmp_path / "after.npy", AFTER)
    found = equipoise.compare(tmp_path / "before.npz", tmp_path / "after.npy", sensitive_features="sex", draws=50)
    assert one(found, "sex", "Female").people == (PEOPLE["sex"] == "Female").sum()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sensitive_features": None}, "No groups were given"),
        ({"sensitive_features": []}, "No groups were given"),
        ({"sensitive_features": ["sx"]}, "did you mean --group sex"),
        ({"sensitive_features": 3}, "name of a column"),
        ({"describe": ["agee"]}, "did you mean --describe age"),
        ({"cluster": 7}, "name of a column"),
        ({"draws": -1}, "draws is -1"),
        ({"suppress_below": 2.5}, "suppress_below is 2.5"),
        ({"kernel": "cubic"}, "cubic"),
        ({"bandwidth": 2.0}, "kernel is linear"),
        ({"rows": PEOPLE[:7]}, "numbers of rows differ"),
        ({"rows": PEOPLE.assign(sex="Female")}, "one group only: 'Female'"),
        ({"rows": PEOPLE.assign(sex=None)}, "has no values: every one is missing"),
        ({"rows": None, "sensitive_features": "sex"}, "sensitive_features is the name 'sex', and there is no table"),
        ({"bins": ["age"]}, r"bins is \['age'\]"),
        ({"rerun": AFTER[:5]}, "rerun has 5"),
        ({"rerun": 0 * AFTER}, "rerun is constant"),
        ({"kernel": "rbf", "bandwidth": "wide"}, "The bandwidth is 'wide'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        equipoise.compare(BEFORE, AFTER, **{**ASK, **options})


def test_a_side_that_cannot_be_compared_is_called_by_its_file(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.ones_like(AFTER))
    with pytest.raises(BadInput, match=r"flat\.npy is constant: all its 400 rows are the same"):
        equipoise.compare(BEFORE, tmp_path / "flat.npy", **ASK)
    np.save(tmp_path / "before.npy", BEFORE)
    with pytest.raises(BadInput, match=r"before\.npy holds one array, not columns with names(?s:.*)--rows FILE"):
        equipoise.compare(tmp_path / "before.npy", AFTER, sensitive_features="sex")


def test_an_rbf_kernel_gives_its_own_scores() -> None:
    found = equipoise.compare(BEFORE, AFTER, **ASK, kernel="rbf", self_term=False)
    assert found.similarity.pnka == pytest.approx(np.nanmean(pnka(BEFORE, AFTER, kernel="rbf", self_term=False)))
    assert one(found, "sex", "Female").finding


def test_without_draws_nothing_is_tested() -> None:
    found = equipoise.compare(BEFORE, AFTER, **{**ASK, "draws": 0}, describe="age")
    assert all(record.p is None and record.finding is None for record in (*found.records, *found.descriptions))


# What is written.


def test_json_keeps_to_its_schema(full: CompareResult, tmp_path: Path) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    rows = PEOPLE.assign(race=PEOPLE["race"].where(np.arange(400) > 3, None))
    others = [
        equipoise.compare(BEFORE, AFTER, **ASK, show_rows=True),
        equipoise.compare(BEFORE, BEFORE, rows=rows, sensitive_features="race", suppress_below=10, draws=0),
        equipoise.compare(BEFORE, AFTER, rows=PEOPLE.assign(p=PEOPLE["age"] / 7, q=PEOPLE["age"] / 6), draws=50,
                          sensitive_features="sex", prediction_before="p", prediction_after="q"),
    ]  # fmt: skip
    for result in (full, *others):
        written = json.loads(result.to_json(tmp_path / "compare.json"))
        Draft202012Validator(SCHEMA).validate(written)
        assert (tmp_path / "compare.json").read_text(encoding="utf-8") == result.to_json()


def test_the_schema_names_every_field_there_is() -> None:
    names = {
        "record": "ChangeRecord", "similarity": "Similarity", "histogram": "Histogram", "ring_part": "RingPart",
        "description": "Description", "projection": "ProjectionRecord", "outcome": "OutcomeRecord", "move": "Move",
        "link": "OutcomeLink", "floor": "FloorRecord", "row": "RowRecord",
    }  # fmt: skip
    assert set(SCHEMA["$defs"]) == set(names)
    for name, kind in names.items():
        fields = [field.name for field in dataclasses.fields(getattr(compare_result, kind))]
        fields = [name for field in fields for name in ([field, "reason_code"] if field == "reason" else [field])]
        assert list(SCHEMA["$defs"][name]["properties"]) == fields
        # Documents from before these were added stay valid.
        assert SCHEMA["$defs"][name]["required"] == [field for field in fields if field not in ("reason_code", "level")]
    head, tail = ["schema", "records", "provenance"], [field.name for field in dataclasses.fields(CompareResult)][3:]
    assert SCHEMA["required"] == [*head, "words", *tail]


def test_a_frame_and_a_flat_dictionary_hold_the_records(full: CompareResult) -> None:
    frame = full.to_frame("pandas")
    assert len(frame) == len(full.records) == 6
    flat = full.to_dict()
    assert flat["sex/Female/share_changed"] == one(full, "sex", "Female").share_changed
    assert flat["pnka"] == full.similarity.pnka
    assert not any(math.isnan(value) for value in flat.values())


def test_the_same_seed_gives_the_same_result() -> None:
    first, second = (equipoise.compare(BEFORE, AFTER, **ASK, describe="age", seed=3) for _ in range(2))
    texts = [json.dumps({**result.as_json(), "provenance": None}) for result in (first, second)]
    assert texts[0] == texts[1]
    assert first.provenance["fingerprint"] == second.provenance["fingerprint"]
    assert first.provenance["fingerprint"] != equipoise.compare(BEFORE, BEFORE + 1, **ASK).provenance["fingerprint"]


def test_progress_is_told_step_by_step() -> None:
    told: list[tuple[str, float]] = []
    rerun = AFTER + 0.1 * BEFORE
    equipoise.compare(
        BEFORE, AFTER, **{**ASK, "draws": 50}, rerun=rerun, direction="sex=Male,Female",
        progress=lambda what, done: told.append((what, done)),
    )  # fmt: skip
    assert [what for what, _ in told] == ["Reading", "Comparing", "Comparing the rerun", "Testing", "Projecting"]
    assert [done for _, done in told] == sorted(done for _, done in told)


def test_points_without_ids_take_labels_of_the_rows_that_are_listed() -> None:
    people = PEOPLE.assign(person=[f"p{number}" for number in range(len(PEOPLE))])
    found = equipoise.compare(
        BEFORE, AFTER, rows=people, sensitive_features="sex", id="person", show_rows=True, draws=50
    )
    assert found.rows
    assert all(row.id == f"p{row.row}" for row in found.rows)
    assert any("Nothing was matched by it" in note for note in found.notes)


def test_the_function_is_documented_and_its_example_runs() -> None:
    documented = "\n".join(map(str.strip, str(equipoise.compare.__doc__).splitlines()))
    assert all(f"{part}\n{'-' * len(part)}" in documented for part in ("Parameters", "Returns", "Examples"))
    missing = [name for name in inspect.signature(equipoise.compare).parameters
               if not re.search(rf"^[\w, ]*\b{name}\b[\w, ]* : ", documented, re.MULTILINE)]  # fmt: skip
    assert missing == []
    [example] = doctest.DocTestFinder(recurse=False).find(equipoise.compare, "compare", globs={})
    assert doctest.DocTestRunner().run(example) == (0, 8)
