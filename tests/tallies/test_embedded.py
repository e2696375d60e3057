"""Building the tally of an embedding: what is refused, what is dropped, and what is shared."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.tallies import (
    EmbeddingOptions,
    EmbeddingTally,
    embed,
)

GENERATOR = np.random.default_rng(0)
POINTS = GENERATOR.normal(size=(40, 3))
CLASSES = np.repeat(np.arange(8), 5)
GROUPS = np.array(["m", "w"])[GENERATOR.integers(0, 2, 40)]


def broken(row: int, value: float) -> np.ndarray:
    points = POINTS.copy()
    points[row, 1] = points[30, 2] = value
    return points


@pytest.mark.parametrize(
    ("points", "complaint"),
    [
        (broken(4, np.nan), "2 values that are missing or infinite, the first in row 4, column 1"),
        (broken(30, -np.inf), "2 values"),
        (POINTS[:, 0], r"shape \(40,\)"),
        (POINTS[:, :0], r"shape \(40, 0\)"),
        (np.array([POINTS[0], None], dtype=object), "Python objects, not numbers"),
        (np.array([["a"]] * 40), "not numbers"),
        (POINTS[:39], "different lengths: the embedding has 39, target has 40"),
    ],
)
def test_what_is_no_embedding_is_refused(points: np.ndarray, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        embed(points, CLASSES, GROUPS)


def test_a_zero_vector_has_no_direction() -> None:
    points = POINTS.copy()
    points[[3, 9]] = 0.0
    assert embed(points, CLASSES, GROUPS).space.hits[3] >= 0
    with pytest.raises(BadInput, match="2 rows are all zeros, the first is row 3"):
        _ = embed(points, CLASSES, GROUPS, metric="cosine").space.hits


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 1.5}, "k is 1.5"),
        ({"metric": "cosin"}, "did you mean 'cosine'"),
        ({"majoritised": "x"}, "group 'x' not found"),
        ({"majoritised": "m", "minoritised": ["m", "w"]}, "'m' is named as majoritised and as minoritised"),
        ({"neighbours": 3}, "option 'neighbours' not found"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint):
        embed(POINTS, CLASSES, GROUPS, **options)  # type: ignore[arg-type]


def test_rows_without_a_class_are_dropped_and_rows_without_a_group_stay_as_neighbours() -> None:
    classes = [None if index < 2 else int(name) for index, name in enumerate(CLASSES)]
    groups = [None if index == 7 else str(name) for index, name in enumerate(GROUPS)]
    found = embed(POINTS, classes, groups)
    assert (found.dropped, len(found.space)) == (2, 38)
    assert found.codes[5] == -1
    assert found.groups == ("m", "w")
    shown = embed(POINTS, classes, groups, include_missing=True)
    assert shown.groups == ("m", "w", "(missing)")
    assert shown.people.sum() == 38
    with pytest.raises(BadInput, match="No row has a class"):
        embed(POINTS, [None] * 40, groups)


def test_several_attributes_are_crossed() -> None:
    age = np.where(np.arange(40) % 2, "old", "young")
    found = embed(POINTS, CLASSES, {"sex": GROUPS, "age": age})
    assert found.groups == ("m & old", "m & young", "w & old", "w & young")
    for index, name in enumerate(found.groups):
        sex, years = name.split(" & ")
        assert (found.codes == index).tolist() == ((sex == GROUPS) & (years == age)).tolist()


def test_a_sample_is_of_the_group_without_replacement_and_the_same_in_any_order_of_rows() -> None:
    order = GENERATOR.permutation(40)
    first, second = embed(POINTS, CLASSES, GROUPS), embed(POINTS[order], CLASSES[order], GROUPS[order])
    drawn, again = first.sample(1, 6, "name"), second.sample(1, 6, "name")
    assert len(set(drawn.tolist())) == 6
    assert set(GROUPS[drawn]) == {"w"}
    assert POINTS[drawn] == pytest.approx(POINTS[order][again])
    assert embed(POINTS, CLASSES, GROUPS, seed=1).sample(1, 6, "name").tolist() != drawn.tolist()
    assert sorted(first.sample(0, 99).tolist()) == np.flatnonzero(GROUPS == "m").tolist()


def test_clusters_are_as_many_as_classes_and_every_point_is_nearest_to_the_middle_of_its_own() -> None:
    points = np.random.default_rng(3).normal(size=(200, 2)) + 1e3
    found = embed(points, np.arange(200) % 6).space.clusters
    middles = np.array([points[found == cluster].mean(axis=0) for cluster in range(6)])
    assert ((points[:, None] - middles) ** 2).sum(axis=-1).argmin(axis=1).tolist() == found.tolist()


def test_more_classes_than_distinct_points_are_clustered_without_a_word() -> None:
    assert len(set(embed(np.ones((6, 2)), [1, 2, 3, 1, 2, 3]).space.clusters.tolist())) == 1


def test_work_is_done_once_for_all_attributes() -> None:
    found = embed(POINTS, CLASSES, GROUPS)
    other = EmbeddingTally(found.space, np.arange(40) % 2, ("a", "b"))
    assert other.space.hits is found.space.hits
    assert found.overall.space is found.space
    assert found.options == EmbeddingOptions()
