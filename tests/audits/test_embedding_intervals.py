"""Intervals and tests of embeddings: coverage by simulation, spreads by leaving rows out, and what is permuted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.audits.embedding import EMBEDDING_EVIDENCE
from equipoise.audits.embedding._intervals import carried_codes, permuted_codes, permuted_units, resampled_units
from equipoise.foundation import registry
from equipoise.measures import get_measure
from equipoise.stats import wilson
from equipoise.tallies import (
    Coded,
    EmbeddingSpace,
    EmbeddingTally,
    embed,
)


def some(seed: int = 0, rows: int = 240, by_class: bool = False, **options: Any) -> EmbeddingTally:
    generator = np.random.default_rng(seed)
    classes = np.arange(rows) % 24
    points = generator.normal(size=(rows, 3)) + 1.5 * generator.normal(size=(24, 3))[classes]
    groups = np.where(classes < 15, "m", "w") if by_class else np.where(generator.random(rows) < 0.6, "m", "w")
    return embed(points, classes, groups, **options)


def test_every_value_with_a_better_end_and_every_gap_has_evidence() -> None:
    own = {entry.name for entry in registry.entries("measure") if entry.details["needs"] == "embedding"}
    assert set(EMBEDDING_EVIDENCE) == own - {"normalised_mutual_information_by_chance"}


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("name", sorted(EMBEDDING_EVIDENCE))
def test_an_interval_holds_the_value_and_repeats_with_its_seed(name: str, by_class: bool) -> None:
    embedded = some(by_class=by_class)
    first, second = (EMBEDDING_EVIDENCE[name](embedded, np.random.default_rng(5), 40) for _ in range(2))
    assert first.unit == ("classes" if by_class else "rows")
    assert np.all(first.low <= first.value)
    assert np.all(first.value <= first.high)
    assert np.all(first.low < first.high)
    assert np.array_equal(first.low, second.low)
    if name.endswith("_gap"):
        assert first.p == second.p
        assert 0 < first.p <= 1
        assert first.value == pytest.approx(get_measure(name).by_class(embedded))
        rule = EMBEDDING_EVIDENCE[name](embedded, np.random.default_rng(5), 20, variant="best_minus_worst")
        assert np.isnan(rule.low)  # what cannot be negative has no two-sided interval
        assert 0 < rule.p <= 1


class Answered(EmbeddingSpace):
    """A space whose queries are answered as told: what stands for the gallery is fixed."""

    def __init__(self, hits: np.ndarray, classes: np.ndarray) -> None:
        labels = tuple(str(place) for place in range(int(classes.max()) + 1))
        super().__init__(np.zeros((len(hits), 1)), Coded(classes, labels))
        self.__dict__["hits"] = hits


@pytest.mark.parametrize(("rate", "queries"), [(0.5, 40), (0.95, 60), (0.98, 200)])
def test_the_interval_of_recall_covers_as_often_as_it_says(rate: float, queries: int) -> None:
    covered, trials = np.zeros(2), 400
    for seed in range(trials):
        generator = np.random.default_rng([seed, queries])
        groups = np.arange(2 * queries) % 2
        chances = np.where(groups == 0, rate, 0.8)
        space = Answered((generator.random(2 * queries) < chances).astype(float), np.arange(2 * queries) // 2 % 7)
        embedded = EmbeddingTally(space, groups, ("a", "b"))
        found = EMBEDDING_EVIDENCE["recall_at_k"](embedded, generator, 100)
        covered += (found.low <= [rate, 0.8]) & ([rate, 0.8] <= found.high)
    assert (covered / trials > 0.91).all()
    assert covered[1] / trials < 0.985  # 0.8 of so many can be told well; near 1 the interval is wider than it must be


def test_the_interval_of_recall_covers_where_whole_classes_succeed_or_fail() -> None:
    covered, naive, trials = 0, 0, 120
    for seed in range(trials):
        generator = np.random.default_rng(seed)
        classes = np.repeat(np.arange(40), 10)
        ease = generator.beta(4, 1, 40)  # a mean of 0.8
        space = Answered((generator.random(400) < ease[classes]).astype(float), classes)
        embedded = EmbeddingTally(space, classes // 20, ("a", "b"))
        covered += holds(embedded, 0.8, generator)
        low, high = wilson(space.hits[:200].sum(), 200)  # rows as their own units
        naive += bool(low <= 0.8 <= high)
    assert 0.9 < covered / trials < 0.99
    assert naive / trials < 0.85  # what counting rows as witnesses would claim


def holds(embedded: EmbeddingTally, rate: float, generator: np.random.Generator) -> bool:
    found = EMBEDDING_EVIDENCE["recall_at_k"](embedded, generator, 100)
    return bool(found.low[0] <= rate <= found.high[0])


def test_recall_that_is_always_right_is_not_certain() -> None:
    embedded = EmbeddingTally(Answered(np.ones(40), np.arange(40) % 5), np.arange(40) % 2, ("a", "b"))
    found = EMBEDDING_EVIDENCE["recall_at_k"](embedded, np.random.default_rng(0), 100)
    assert found.high.tolist() == [1.0, 1.0]
    assert (found.low < 0.9).all()
    gap = EMBEDDING_EVIDENCE["recall_at_k_gap"](
        replace(embedded, codes=np.r_[np.zeros(25), np.ones(15)].astype(np.int64)), np.random.default_rng(0), 100
    )
    assert gap.low < 0 < gap.high
    assert gap.p == 1.0


@pytest.mark.parametrize("name", ["intra_class_alignment", "inter_class_alignment", "normalised_mutual_information"])
@pytest.mark.parametrize("unit", ["rows", "classes", "clusters"])
def test_spreads_in_closed_form_agree_with_leaving_units_out(name: str, unit: str) -> None:
    embedded = some(seed=3, by_class=unit == "classes")
    if unit == "clusters":
        embedded = replace(embedded, unit=Coded(np.arange(240) // 3, tuple(map(str, range(80)))))
    units = resampled_units(embedded)
    assert units.name == unit
    left_out = []
    for place in range(units.number):
        keep = units.of_row != place
        classes = Coded(embedded.space.classes.codes[keep], embedded.space.classes.labels)
        space = EmbeddingSpace(embedded.space.points[keep], classes)
        space.__dict__["clusters"] = embedded.space.clusters[keep]  # the clustering stays as it is
        left_out.append(get_measure(name).by_class(EmbeddingTally(space, embedded.codes[keep], embedded.groups)))
    spread = np.var(left_out, axis=0) * (units.number - 1)
    found = EMBEDDING_EVIDENCE[name](embedded, np.random.default_rng(0))
    reach = (found.high - found.low) / 2
    assert reach / 2.1 == pytest.approx(np.sqrt(spread), rel=0.12)


def test_uniformity_varies_over_new_samples_as_its_interval_says() -> None:
    values, reaches = [], []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        points = generator.normal(size=(300, 5)) * [3, 2, 1, 1, 1]
        embedded = embed(points, np.arange(300) % 3, np.arange(300) // 150)
        found = EMBEDDING_EVIDENCE["uniformity"](embedded, generator, 60)
        values.append(found.value)
        reaches.append((found.high - found.low) / 2)
    assert np.mean(reaches, axis=0) / 1.98 == pytest.approx(np.std(values, axis=0), rel=0.35)


# What is drawn and permuted.


def test_groups_are_permuted_over_what_carries_them() -> None:
    generator = np.random.default_rng(0)
    by_row, by_class = some(), some(by_class=True)
    assert permuted_units(by_row).name == "rows"
    assert permuted_units(by_class).name == "classes"
    permuted = permuted_codes(by_class, permuted_units(by_class), generator)
    classes = by_class.space.classes.codes
    assert all(len(set(permuted[classes == own].tolist())) == 1 for own in range(24))
    assert sum(len(set(permuted[classes == own].tolist()) & {0}) for own in range(24)) == 15
    identities = replace(by_row, unit=Coded(np.arange(240) // 2, tuple(map(str, range(120)))))
    assert resampled_units(identities).name == "clusters"
    assert permuted_units(identities).name == "rows"  # a pair of rows may have two groups
    constant = replace(identities, codes=np.arange(240) // 2 % 2)
    assert permuted_units(constant).name == "clusters"


def test_rows_of_no_group_stay_so() -> None:
    embedded = some()
    codes = embedded.codes.copy()
    codes[:10] = -1
    some_missing = replace(embedded, codes=codes)
    permuted = permuted_codes(some_missing, permuted_units(some_missing), np.random.default_rng(0))
    assert (permuted[:10] == -1).all()
    assert sorted(permuted.tolist()) == sorted(codes.tolist())
    # A picture without a label leaves its person's other pictures together.
    codes = some(by_class=True).codes.copy()
    codes[:10] = -1
    by_class = replace(some(by_class=True), codes=codes)
    assert permuted_units(by_class).name == "classes"
    assert (permuted_codes(by_class, permuted_units(by_class), np.random.default_rng(0))[:10] == -1).all()


def test_a_planted_gap_is_found_and_equal_groups_are_seldom_called_different() -> None:
    generator = np.random.default_rng(0)
    classes, women = np.arange(300) % 5, generator.random(300) < 0.35
    centres = 2.5 * generator.normal(size=(5, 4))
    noise = generator.normal(size=(300, 4))
    planted = embed(centres[classes] + noise * np.where(women, 3, 1)[:, None], classes, np.where(women, "w", "m"))
    found = EMBEDDING_EVIDENCE["recall_at_k_gap"](planted, generator, 300)
    assert found.p < 0.02
    assert found.low > 0
    alike = [
        EMBEDDING_EVIDENCE["recall_at_k_gap"](
            replace(planted, codes=(np.random.default_rng(seed).random(300) < 0.35).astype(np.int64)), generator, 99
        ).p
        for seed in range(60)
    ]
    assert np.mean(np.array(alike) <= 0.05) < 0.15
    assert np.mean(alike) > 0.35


# A few rows that disagree with their unit.


def flipped(embedded: EmbeddingTally, rows: list[int]) -> EmbeddingTally:
    codes = embedded.codes.copy()
    codes[rows] = 1 - codes[rows]
    return replace(embedded, codes=codes)


def test_a_wrong_label_leaves_classes_the_units() -> None:
    embedded = flipped(some(by_class=True), [0])
    for units in (resampled_units(embedded), permuted_units(embedded)):
        assert (units.name, units.number, units.mixed) == ("classes", 24, True)
        assert units.by_group(2).tolist() == [15, 9]
    codes = carried_codes(embedded, units)
    assert codes[0] == -1
    assert (codes[1:] == embedded.codes[1:]).all()
    permuted = permuted_codes(embedded, units, np.random.default_rng(0))
    assert permuted[0] == -1
    classes = embedded.space.classes.codes
    assert all(len(set(permuted[1:][classes[1:] == own].tolist())) == 1 for own in range(24))
    identities = replace(embedded, unit=Coded(classes, tuple(map(str, range(24)))))
    assert permuted_units(identities).name == "clusters"


def test_a_rare_group_in_all_classes_is_carried_by_none() -> None:
    embedded = some()
    rare = replace(embedded, codes=(np.arange(240) % 13 == 0).astype(np.int64))
    assert permuted_units(rare).name == resampled_units(rare).name == "rows"
    many = flipped(some(by_class=True), list(range(0, 240, 7)))  # one in seven disagrees
    assert permuted_units(many).name == "rows"


def test_a_wrong_label_changes_neither_the_test_nor_the_width() -> None:
    rejected, widths, trials = np.zeros(2), np.zeros(2), 80
    for seed in range(trials):
        generator = np.random.default_rng(seed)
        classes = np.repeat(np.arange(30), 20)
        hits = (generator.random(600) < generator.beta(2, 1, 30)[classes]).astype(float)
        whole = EmbeddingTally(Answered(hits, classes), (classes >= 16).astype(np.int64), ("a", "b"))
        for index, embedded in enumerate((whole, flipped(whole, [0]))):
            found = EMBEDDING_EVIDENCE["recall_at_k_gap"](embedded, generator, 99)
            assert found.unit == "classes"
            rejected[index] += found.p <= 0.05
            widths[index] += found.high - found.low
    assert (rejected / trials <= 0.12).all()
    assert widths[1] / widths[0] == pytest.approx(1, abs=0.1)


def test_clusters_that_groups_share_are_drawn_whole() -> None:
    embedded = replace(some(), unit=Coded(np.arange(240) // 6, tuple(map(str, range(40)))))
    found = EMBEDDING_EVIDENCE["recall_at_k"](embedded, np.random.default_rng(0), 100)
    assert found.unit == "clusters"
    assert (found.low < found.value).all()
    gap = EMBEDDING_EVIDENCE["recall_at_k_gap"](embedded, np.random.default_rng(0), 100)
    assert gap.low < gap.value < gap.high


def test_clusters_inside_classes_that_carry_the_group_are_no_witnesses_of_their_own() -> None:
    classes = np.repeat(np.arange(20), 20)
    day = Coded(np.arange(400) // 5, tuple(map(str, range(80))))
    rejected = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        hits = (generator.random(400) < generator.beta(2, 1, 20)[classes]).astype(float)
        embedded = EmbeddingTally(Answered(hits, classes), (classes >= 12).astype(np.int64), ("a", "b"), day)
        assert resampled_units(embedded).name == permuted_units(embedded).name == "classes"
        rejected += EMBEDDING_EVIDENCE["recall_at_k_gap"](embedded, generator, 99).p <= 0.05
    assert rejected / 60 <= 0.15
    # Days that several classes share, or of groups that no class carries, stay the units.
    shared = replace(embedded, unit=Coded(np.arange(400) % 80, day.labels))
    by_day = replace(embedded, codes=day.codes % 2)
    assert resampled_units(shared).name == resampled_units(by_day).name == permuted_units(by_day).name == "clusters"


@pytest.mark.parametrize(("units", "known"), [(1, False), (2, False), (3, True)])
def test_fewer_than_three_units_have_no_interval_of_recall(units: int, known: bool) -> None:
    classes = np.repeat(np.arange(10), 8)
    hits = (np.random.default_rng(0).random(80) < 0.7).astype(float)
    embedded = EmbeddingTally(Answered(hits, classes), (classes < units).astype(np.int64), ("many", "few"))
    found = EMBEDDING_EVIDENCE["recall_at_k"](embedded, np.random.default_rng(0), 100)
    assert np.isfinite(found.low).tolist() == np.isfinite(found.high).tolist() == [True, known]
    few = f"'few' has only {'1 class' if units == 1 else '2 classes'}: no interval"
    assert [reason and str(reason) for reason in found.reasons] == [None, None if known else few]
    gap = EMBEDDING_EVIDENCE["recall_at_k_gap"](embedded, np.random.default_rng(0), 100)
    assert gap.reasons == found.reasons[1:]
    assert np.isnan(gap.low) != known
