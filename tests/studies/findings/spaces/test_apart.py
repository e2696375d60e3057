"""The sensitive space beside the released one: which trial, which rows, who is near whom, and what is not shown."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import BadInput
from equipoise.studies.findings import measure_study, result_of
from equipoise.studies.findings.spaces._parts import (
    NEIGHBOURS,
    QUERIES,
    SIDE,
    SeparatedSpaces,
    examples_of,
    nearest_of,
    queries_of,
    separated_spaces_of,
)
from equipoise.studies.findings.spaces._values import spaces_of
from equipoise.studies.plans import Named
from helpers.cases.study_space import Method, apart, apart_data, grid, imbalance, minoritised, painted, parade, study


def told(data: Any) -> list[SeparatedSpaces]:
    spaces = spaces_of(measure_study(data))
    assert spaces is not None
    return separated_spaces_of(spaces)


def test_maps_are_of_the_same_dev_rows_of_a_treated_trial() -> None:
    released, sensitive = (one for one in apart().space_maps if one.split == "dev")
    assert (released.space, sensitive.space) == ("embedding", "sensitive")
    assert {one.treatment for one in (released, sensitive)} == {"parade"}
    assert {one.attribute for one in (released, sensitive)} == {"colour"}
    assert released.group == sensitive.group
    assert released.of == len(released.x) == 72
    data, drawn = apart_data()
    (own,) = told(data)
    assert data.trials[own.trial_index].seed == 0
    np.testing.assert_array_equal(own.sensitive, drawn.kept["sensitive.0", own.trial_index].astype(np.float32))
    np.testing.assert_array_equal(own.embedding, drawn.kept["embedding.dev", own.trial_index].astype(np.float32))
    assert data.stored_arrays is not None
    assert data.stored_arrays.labels is not None
    np.testing.assert_array_equal(own.codes, data.stored_arrays.labels.of("dev").group)
    # Colours of the sensitive space lie in corners, so their centres part; those of the released one do not as far.
    spread = [_between(np.array([one.x, one.y]).T, np.array(one.group)) for one in (released, sensitive)]
    assert spread[1] > 2 * spread[0]


def _between(points: np.ndarray, groups: np.ndarray) -> float:
    """Return the share of the variance that lies between groups."""
    centred = points - points.mean(axis=0)
    centres = np.stack([centred[groups == group].mean(axis=0) for group in np.unique(groups)])[groups]
    return float((centres**2).sum() / (centred**2).sum())


def test_the_lowest_seed_that_kept_it_is_shown_and_a_space_of_other_rows_is_refused() -> None:
    data, drawn = apart_data()
    first = told(data)[0].trial_index
    del drawn.kept["sensitive.0", first]
    (own,) = told(data)
    assert data.trials[own.trial_index].seed == 1
    drawn.kept["sensitive.0", own.trial_index] = drawn.kept["sensitive.0", own.trial_index][1:]
    with pytest.raises(BadInput, match=r"of the shape \(71, 6\)(?s:.*)the 72 dev rows"):
        told(data)


def test_a_control_is_never_shown_and_the_furthest_imbalance_first() -> None:
    methods = [Method("margin"), Method("margin", treatments=parade(0.3, 0.0))]
    data, _ = study(methods, [Named("as_given", 1, {})], seeds=2, sensitive=True)
    assert told(data) == []
    methods[1] = Method("margin", treatments=parade(0.3, 1500.0))
    data, _ = study(methods, [minoritised(degree) for degree in (0.5, 0.9, 0.7)], seeds=2, sensitive=True)
    (own,) = told(data)
    assert data.trials[own.trial_index].condition == minoritised(0.9)
    assert own.attribute == "colour", "not the sides of classes: the head learnt the column"


def test_without_a_sensitive_space_nothing_is_read_or_shown() -> None:
    for result in (grid(), imbalance()):
        assert {(one.split, one.space) for one in result.space_maps} == {("test", "embedding")}
        assert result.space_examples is None
    data, drawn = apart_data(sensitive=False)
    result_of(data)
    assert not any(name.startswith("sensitive") for name, _ in drawn.read)


def test_examples_are_the_nearest_rows_of_each_space_encoded_anew() -> None:
    images = pytest.importorskip("PIL.Image")
    data, _ = apart_data()
    (own,) = told(data)
    found = examples_of(data, own)
    assert found is not None
    assert found.reason is None
    assert len(found.examples) == QUERIES
    for query, example in zip(queries_of(own.codes), found.examples, strict=True):
        for points, shown in ((own.embedding, example.embedding), (own.sensitive, example.sensitive)):
            by_hand = sorted(
                (place for place in range(len(points)) if place != query),
                key=lambda place: float(np.linalg.norm(points[place].astype(float) - points[query].astype(float))),
            )[:NEIGHBOURS]
            assert [picture.class_ for picture in shown] == [
                data.layout.classes[own.target[place]] for place in by_hand
            ]
            for place, picture in zip(by_hand, shown, strict=True):
                with images.open(io.BytesIO(picture.picture), formats=("WEBP",)) as opened:
                    assert max(opened.size) <= SIDE
                    assert abs(float(np.asarray(opened).mean()) - 3 * place % 256) < 4
        assert {picture.group for picture in example.sensitive} == {example.query.group}
    assert len({example.query.group for example in found.examples}) == 4, "every colour is asked about"


def test_large_pictures_become_small() -> None:
    images = pytest.importorskip("PIL.Image")
    data, _ = apart_data()
    large = replace(data, pictures=lambda rows: np.repeat(np.repeat(painted(rows), 4, axis=1), 4, axis=2))
    found = examples_of(large, told(data)[0])
    assert found is not None
    with images.open(io.BytesIO(found.examples[0].query.picture)) as opened:
        assert opened.size == (SIDE, SIDE)


def test_pictures_are_no_part_of_the_json() -> None:
    assert apart().space_examples is not None
    assert "space_examples" not in apart().as_json()
    assert "webp" not in apart().to_json().lower()


def test_what_cannot_be_shown_is_noted_and_a_cohort_without_pictures_shows_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, _ = apart_data()
    assert result_of(replace(data, pictures=None)).space_examples is None

    def gone(rows: np.ndarray) -> np.ndarray:
        raise BadInput("There is no file 'thumbs.npz' beside the other")

    notes = result_of(replace(data, pictures=gone)).notes
    assert any("Example pictures are not shown. There is no file" in note for note in notes)

    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    result = result_of(data)
    assert result.space_examples is not None
    assert result.space_examples.examples == ()
    assert any("Example pictures are not shown" in note and "'.[vision]'" in note for note in result.notes)


def test_queries_take_the_groups_in_turn_and_rows_without_one_are_not_asked() -> None:
    codes = np.array([-1, 0, 0, 0, 2, -1])
    assert sorted(queries_of(codes)) == [1, 2, 3, 4]
    assert queries_of(np.array([-1, -1])) == []
    assert nearest_of(np.array([[0.0], [5.0], [1.0], [1.0]], dtype=np.float32), 0) == [2, 3, 1]
