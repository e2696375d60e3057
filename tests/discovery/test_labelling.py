"""Real pictures get a group column by the side of a plane: which side, where the cut is, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise.cohorts import Cohort
from equipoise.discovery import EncoderDistances, Hyperplane, labelled, pictures_of, read_distances
from equipoise.foundation import BadInput

torch = pytest.importorskip("torch", reason="needs equipoise[train]")
PLANE = Hyperplane("shade", [2.0, 0.0], 1.0)


def shade(pictures: Any) -> Any:
    """An encoder that reads two pixels."""
    return pictures[:, 0, :2, 0].astype(float)


def cohort(values: list[int], splits: list[str] | None) -> Cohort:
    pictures = np.zeros((len(values), 2, 2, 1), dtype=np.uint8)
    pictures[:, 0, 0, 0] = values
    columns = {"image": pictures, "y": np.array(["a", "b"] * len(values))[: len(values)], "g": np.zeros(len(values))}
    if splits is not None:
        columns["split"] = np.array(splits)
    split = None if splits is None else "split"
    return Cohort("grey", columns, "y", ("g",), features=("image",), split=split, datasheet="Grey.\n")


def test_distances_are_those_of_the_formula() -> None:
    found = read_distances(cohort([0, 3, 10], None)["image"], [PLANE], EncoderDistances(shade))
    np.testing.assert_allclose(found, [[0.5], [3.5], [10.5]])


def test_the_cut_is_that_of_training_rows_alone() -> None:
    given = cohort([1, 2, 3, 4, 200, 201, 202, 0], ["train"] * 4 + ["test"] * 4)
    made = labelled(given, PLANE, encoder=shade)
    assert made["shade"].tolist() == ["lower", "lower", "upper", "upper", "upper", "upper", "upper", "lower"]
    assert made.groups == ("g", "shade")
    assert made.features == ("image",)
    assert made.datasheet.startswith("Grey.\nshade: a prediction, not self-reported")
    assert "the mean latent of an encoder" in made.datasheet
    assert "the median of the training rows" in made.datasheet
    assert "shade" not in given.columns


def test_rows_may_be_parted_at_the_plane_or_at_outer_thirds() -> None:
    plane = Hyperplane("shade", [1.0, 0.0], -3.0)
    given = cohort([0, 1, 2, 3, 4, 5], ["train"] * 6)
    assert labelled(given, plane, encoder=shade, halves="plane")["shade"].tolist() == ["lower"] * 3 + ["upper"] * 3
    thirds = labelled(given, plane, encoder=shade, halves="outer thirds", name="third")["third"].tolist()
    assert thirds == ["lower", "lower", "middle", "middle", "upper", "upper"]
    # Where nothing was trained on, only the plane is a cut that no held-out row had a say in.
    assert labelled(cohort([1, 9], None), plane, encoder=shade, halves="plane")["shade"].tolist() == ["lower", "upper"]
    with pytest.raises(BadInput, match=r"(?s)median of the training rows, and there are none.*halves=\"plane\""):
        labelled(cohort([1, 9], None), plane, encoder=shade)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "Neither an encoder nor a probe"),
        ({"encoder": shade, "probe": object()}, "An encoder and a probe"),
        ({"encoder": shade, "halves": "quarters"}, "way to split rows 'quarters' not found"),
        ({"encoder": shade, "name": "g"}, "has a column 'g' already"),
        ({"encoder": shade, "halves": "plane"}, "All rows are on one side of the plane"),
        ({"encoder": lambda given: np.zeros((len(given), 3))}, "latents have 3 dimensions"),
    ],
)
def test_what_cannot_label_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        labelled(cohort([1, 2, 3], ["train"] * 3), PLANE, **options)


def test_the_pictures_are_found_wherever_a_cohort_has_them() -> None:
    given = cohort([1, 2], None)
    shown = replace(
        given, columns={"y": given["y"], "g": given["g"]}, features=(), pictures=lambda rows: given["image"][rows]
    )
    assert pictures_of(shown).shape == (2, 2, 2, 3)
    with pytest.raises(BadInput, match="has no pictures"):
        pictures_of(replace(shown, pictures=None))
