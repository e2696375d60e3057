"""Pictures pass through the encoding untouched; learners of numbers refuse them and say what to use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import equipoise
from equipoise import BadInput, Cohort, Study
from equipoise.foundation import registry
from equipoise.studies.plans import data_fingerprint, trained_fingerprint
from equipoise.studies.running import Work, pack, unpack
from equipoise.training import (
    Afterwards,
    Choice,
    Job,
    PreparedJob,
    Representations,
    Settings,
    Table,
    Treatment,
    encode_dataset,
    train,
)
from equipoise.training._prediction import representations_of
from helpers.cases.picture import write_binary
from helpers.cases.training import Learns

SPLITS = np.array(["train"] * 40 + ["dev"] * 10 + ["test"] * 10, dtype=object)


def pictures(**changes: Any) -> Cohort:
    generator = np.random.default_rng(0)
    columns = {
        "image": generator.integers(0, 256, (60, 4, 5, 3), dtype=np.uint8),
        "class": np.array(["cat", "dog", "frog"] * 20, dtype=object),
        "domain": np.array(["colour", "grey"] * 30, dtype=object),
        "age": generator.normal(size=60),
        "split": SPLITS,
    }
    given = {"target": "class", "groups": ("domain",), "features": ("image",), "split": "split"}
    return Cohort(name="pictures", columns={**columns, **changes.pop("columns", {})}, **{**given, **changes})


def test_pictures_pass_as_they_are() -> None:
    cohort = pictures()
    dataset = encode_dataset(cohort)
    assert dataset.train.inputs.dtype == np.uint8
    assert dataset.train.inputs.shape == (40, 4, 5, 3)
    for split in ("train", "dev", "test"):
        assert np.array_equal(getattr(dataset, split).inputs, cohort.where(split)["image"])
    assert dataset.classes == ("cat", "dog", "frog")
    assert dataset.test.group is None


def test_pictures_with_anything_beside_them_are_refused() -> None:
    with pytest.raises(BadInput, match=r"(?s)'image' holds pictures.* other features: age.*features=\('image',\)"):
        encode_dataset(pictures(features=("age", "image")))


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((60, 4, 5), dtype=np.uint8), np.zeros((60, 4, 5, 3)), np.zeros((60, 0, 5, 3), dtype=np.uint8),
        np.zeros((60, 1, 4, 5, 3), dtype=np.uint8),
    ],
)  # fmt: skip
def test_what_is_no_picture_is_refused_with_its_shape(image: np.ndarray) -> None:
    with pytest.raises(BadInput, match=r"(?s)'image' holds .* of the shape .*uint8 \[row, height, width, channel\]"):
        encode_dataset(pictures(columns={"image": image}))


@pytest.mark.parametrize("name", ["mlp", "scikit_learn"])
def test_learners_of_numbers_refuse_pictures_before_anything_is_trained(name: str) -> None:
    if name == "mlp":
        pytest.importorskip("torch")
    study = Study(pictures(), learner=name, seeds=2)
    with pytest.raises(BadInput, match=rf"(?s)learner '{name}' was given pictures \(4 x 5 x 3\).*image_network"):
        study.stacks()


def linear(features: int, classes: int) -> Any:
    import torch

    return torch.nn.Linear(features, classes)


@pytest.mark.parametrize(("name", "values"), [("mlp", {}), ("scikit_learn", {}), ("module", {"factory": linear})])
def test_a_training_on_pictures_fails_with_the_same_words(name: str, values: dict[str, Any]) -> None:
    if name != "scikit_learn":
        pytest.importorskip("torch")
    dataset = encode_dataset(pictures())
    jobs = [Job(np.arange(40), seed=seed) for seed in range(2)]
    for outcome in train(dataset, Learns(name, values), jobs, Settings()):
        assert outcome.failure is not None
        assert "was given pictures" in outcome.failure
        assert "image_network" in outcome.failure


def test_a_function_of_ones_own_gets_the_pictures_of_its_rows() -> None:
    seen: list[Cohort] = []

    def nothing(cohort: Cohort, seed: int) -> dict[str, Any]:
        seen.append(cohort)
        return {split: np.full(10, "cat") for split in ("dev", "test")}

    cohort = pictures()
    study = Study(cohort, train=nothing, version=1, seeds=1)
    (stack,) = study.stacks()
    (outcome,) = study.work.outcomes(stack.trials)
    assert outcome.failure is None
    (given,) = seen
    assert given["image"].shape[1:] == (4, 5, 3)
    rows = study.dataset.train.ids[next(iter(study.work.draws.values()))]
    assert np.array_equal(given["image"][: len(rows)], cohort["image"][rows])
    assert np.array_equal(given["image"][-10:], cohort["image"][50:])


def test_a_function_of_ones_own_gets_the_matrix_of_its_rows() -> None:
    points = np.arange(60 * 3.0).reshape(60, 3)

    def nothing(cohort: Cohort, seed: int) -> dict[str, Any]:
        assert cohort["image"].shape[1:] == (3,)
        assert np.array_equal(cohort.where("test")["image"], points[50:])
        return {split: np.full(10, "cat") for split in ("dev", "test")}

    study = Study(pictures(columns={"image": points}), train=nothing, version=1, seeds=1)
    (outcome,) = study.work.outcomes(study.stacks()[0].trials)
    assert outcome.failure is None


# Fingerprints


def test_a_fingerprint_follows_the_pixels_and_the_shape() -> None:
    plain = pictures()
    assert trained_fingerprint(plain) == trained_fingerprint(pictures())
    changed = plain["image"].copy()
    changed[59, 3, 4, 2] ^= 1
    for other in (changed, plain["image"].reshape(60, 5, 4, 3), plain["image"][:, ::-1]):
        altered = pictures(columns={"image": other})
        assert trained_fingerprint(altered) != trained_fingerprint(plain)
        assert data_fingerprint(altered) != data_fingerprint(plain)
    assert trained_fingerprint(pictures(columns={"image": np.asfortranarray(plain["image"])})) == trained_fingerprint(
        plain
    )


# Test groups, for those who declare that they need them


class Reads(Treatment):
    """It needs the groups of test rows for one of its readouts only."""

    parameters: ClassVar[Table] = {"readout": Choice("how it is read", "blind", ("blind", "told"))}

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.needs_group_at_prediction = self.values["readout"] == "told"  # type: ignore[misc]


@pytest.fixture
def reads() -> Any:
    equipoise.treatment("reads_groups", stage="post", paper="none")(Reads)
    yield
    registry._entries["treatment"].pop("reads_groups")


def numbers(**changes: Any) -> Cohort:
    return pictures(features=("age",), **changes)


@pytest.mark.usefixtures("reads")
@pytest.mark.parametrize(("readout", "told"), [("blind", False), ("told", True), (["blind", "told"], True)])
def test_a_study_knows_test_groups_only_if_a_treatment_as_it_is_made_needs_them(
    readout: Any, told: bool, tmp_path: Path
) -> None:
    treatments = ["untreated", {"name": "reads_groups", "readout": readout}]
    study = Study(numbers(), learner="scikit_learn", treatments=treatments, seeds=1)
    assert (study.dataset.test.group is not None) == told
    again = unpack(pack(study.work, tmp_path / "pack")).dataset.test
    assert (again.group is not None) == told
    assert again.target is None


class Looks(Treatment):
    """It keeps what it is shown after training."""

    shown: ClassVar[list[Representations]] = []

    def after(self, found: Representations) -> Afterwards | None:
        Looks.shown.append(found)
        return None


def test_a_treatment_that_does_not_declare_it_never_sees_test_groups_that_another_needs() -> None:
    dataset = encode_dataset(numbers(), groups_at_prediction=True)

    def shown(treatment: Treatment) -> Representations:
        job = Job(np.arange(40), seed=0, treatments=(treatment,))
        prepared = PreparedJob(job, job.rows, None, {})
        return representations_of(dataset, prepared, Settings(), lambda rows: rows)

    assert shown(Looks()).test.group is None
    assert shown(Reads(readout="blind")).test.group is None
    assert shown(Reads(readout="told")).test.group is not None
    Looks.shown.clear()
    (outcome,) = train(dataset, Learns("scikit_learn"), [Job(np.arange(40), seed=0, treatments=(Looks(),))])
    assert outcome.failure is None
    assert Looks.shown[0].test.group is None


# Packs


def test_a_pack_carries_pictures_byte_for_byte(tmp_path: Path) -> None:
    write_binary(tmp_path / "cifar")
    cohort = equipoise.load("cifar10s", path=tmp_path / "cifar", skew=0.8)
    study = Study(cohort, learner="scikit_learn", dev=0.2, seeds=1)
    dataset = study.dataset
    # The learner takes no pictures, and a pack asks no learner.
    again = unpack(pack(Work(dataset, (), {}), tmp_path / "pack")).dataset
    for split in ("train", "dev", "test"):
        one, other = getattr(dataset, split), getattr(again, split)
        assert other.inputs.dtype == np.uint8
        assert np.array_equal(one.inputs, other.inputs)
        assert np.array_equal(one.ids, other.ids)
    assert again.test.target is None
    assert again.classes == dataset.classes


def test_conditions_draw_pictures_as_they_draw_anything(tmp_path: Path) -> None:
    write_binary(tmp_path, train=400)
    cohort = equipoise.load("cifar10s", path=tmp_path, skew=0.8)
    conditions = ["as_given", {"name": "interpolation", "mode": "joint", "alpha": 1}]
    drawn = [
        Study(one, learner="scikit_learn", dev=0.2, seeds=1, conditions=conditions).drawing
        for one in (cohort, replace(cohort, features=cohort.groups))
    ]
    for place in range(2):
        rows = drawn[0].rows(place, 0)
        assert len(rows) > 50
        assert np.array_equal(rows, drawn[1].rows(place, 0))
