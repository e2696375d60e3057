"""CIFAR-10 and CIFAR-10S have their roles, and the planted bias is drawn as its authors draw it."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.cohorts import Cohort
from equipoise.cohorts.pictures._arrays import (
    grey,
    low_resolution,
)
from equipoise.cohorts.sources.cifar10s import CHANGED, COLOUR_MAJOR, domains
from equipoise.foundation import BadInput
from equipoise.testing import check
from helpers.cases.picture import CLASSES, write_binary

COLOUR = {"automobile", "cat", "dog", "horse", "truck"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("cifar")
    write_binary(made, train=400, test=30)
    return made


def test_cifar10_has_its_roles(folder: Path) -> None:
    cohort = equipoise.load("cifar10", path=folder)
    assert (cohort.target, cohort.groups, cohort.features, cohort.split) == ("class", ("kind",), ("image",), "split")
    assert cohort["image"].shape == (430, 32, 32, 3)
    assert cohort["image"].dtype == np.uint8
    kinds = dict(zip(cohort["class"].tolist(), cohort["kind"].tolist(), strict=True))
    assert {name for name, kind in kinds.items() if kind == "vehicle"} == {"airplane", "automobile", "ship", "truck"}
    assert len(set(cohort["picture"].tolist())) == 430
    assert Counter(cohort["split"].tolist()) == {"train": 400, "test": 30}


@pytest.mark.parametrize(("name", "options"), [("cifar10", {}), ("cifar10s", {}), ("cifar10s", {"low_resolution": 8})])
def test_the_shared_checks_hold(name: str, options: dict[str, Any], folder: Path) -> None:
    check("cohort", name, path=folder, **options)


@pytest.mark.parametrize("name", ["cifar10", "cifar10s"])
def test_the_datasheet_says_where_it_is_from_and_what_is_contested(name: str, folder: Path) -> None:
    cohort = equipoise.load(name, path=folder)
    for word in ("Source:", "Licence:", "Contested:"):
        assert word in cohort.datasheet


def authors_draw(labels: list[int], skew: float, per_class: int) -> set[int]:
    """The grey training pictures, drawn as the authors' recipe says: seeded once, class after class in order of id."""
    random.seed(42)
    found: set[int] = set()
    for number, name in enumerate(CLASSES):
        own = [row for row, label in enumerate(labels) if label == number]
        major = random.sample(own, int(per_class * skew))
        found |= set(own) - set(major) if name in COLOUR else set(major)
    return found


@pytest.mark.parametrize("skew", [0.75, 0.8, 0.875, 0.9, 0.95, 0.96, 0.975, 0.98, 0.99])
def test_the_full_training_set_is_drawn_as_the_authors_draw_it(skew: float) -> None:
    labels = np.random.default_rng(3).permutation(np.arange(50_000) % 10)
    found = domains(labels, skew, 42)
    assert set(np.flatnonzero(found == CHANGED).tolist()) == authors_draw(labels.tolist(), skew, 5_000)
    for number, name in enumerate(CLASSES):
        greys = int((found[labels == number] == CHANGED).sum())
        assert greys == round(5_000 * (1 - skew if name in COLOUR_MAJOR else skew))


def test_a_class_of_any_size_has_a_rounded_share_and_another_seed_draws_others() -> None:
    labels = np.repeat(np.arange(10), [7, 13, 20, 21, 33, 40, 41, 55, 60, 1])
    found = domains(labels, 0.95, 42)
    for number, name in enumerate(CLASSES):
        own = found[labels == number]
        assert (own == (0 if name in COLOUR_MAJOR else 1)).sum() == round(len(own) * 0.95)
    assert not np.array_equal(found, domains(labels, 0.95, 7))
    assert np.array_equal(found, domains(labels, 0.95, 42))


def test_the_draw_disturbs_nobody_elses_random_numbers(folder: Path) -> None:
    random.seed(5)
    expected = random.random()
    random.seed(5)
    equipoise.load("cifar10s", path=folder)
    assert random.random() == expected


def test_training_pictures_are_in_their_domain_and_test_pictures_in_both(folder: Path) -> None:
    plain, cohort = equipoise.load("cifar10", path=folder), equipoise.load("cifar10s", path=folder)
    train, test = cohort.where("train"), cohort.where("test")
    original = plain.where("train")["image"]
    in_grey = train["domain"] == "grey"
    assert np.array_equal(train["image"][in_grey], grey(original[in_grey]))
    assert np.array_equal(train["image"][~in_grey], original[~in_grey])
    assert np.array_equal(train["class"], plain.where("train")["class"])
    tested = plain.where("test")["image"]
    assert np.array_equal(test["image"][:30], tested)
    assert np.array_equal(test["image"][30:], grey(tested))
    assert test["domain"].tolist() == ["colour"] * 30 + ["grey"] * 30
    assert np.array_equal(test["class"][:30], test["class"][30:])


def test_the_two_rows_of_a_picture_share_its_cluster(folder: Path) -> None:
    cohort = equipoise.load("cifar10s", path=folder)
    assert cohort.cluster == "picture"
    numbers = Counter(cohort["picture"].tolist())
    assert all(numbers[name] == (2 if name.startswith("test") else 1) for name in numbers)
    assert len(numbers) == 430


def test_an_audit_draws_pictures_and_not_their_two_rows(tmp_path: Path) -> None:
    """Both rows of a picture are predicted alike here, so as rows they would count as twice the evidence."""
    write_binary(tmp_path, test=400)
    cohort = equipoise.load("cifar10s", path=tmp_path).where("test")
    wrong = np.tile(np.random.default_rng(0).random(400) < 0.4, 2)
    said = np.where(wrong, "cat", cohort["class"])
    told = replace(cohort, columns={**cohort.columns, "said": said}, prediction="said")
    by_picture, by_row = equipoise.audit(told), equipoise.audit(replace(told, cluster=None))
    assert "Intervals and tests draw 400 clusters, not 800 rows." in by_picture.notes

    def width(result: equipoise.AuditResult) -> float:
        [everyone] = [one for one in result.find(measure="accuracy", kind="rate") if one.group is None]
        assert everyone.low is not None
        assert everyone.high is not None
        return everyone.high - everyone.low

    # An interval over half as many independent things is about the root of 2 as wide.
    assert width(by_picture) / width(by_row) == pytest.approx(2**0.5, rel=0.05)


def test_a_study_draws_pictures_and_not_their_two_rows(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("sqlalchemy")
    write_binary(tmp_path / "cifar", test=40)
    study = equipoise.Study(
        equipoise.load("cifar10s", path=tmp_path / "cifar"), seeds=1, repeats=2, dev=0.2, selection="last",
        rounding="jitter", learner={"name": "image_network", "network": "small", "epochs": 1, "batch_size": 20},
    )  # fmt: skip
    cluster = study.labels.of("test").cluster
    assert cluster is not None
    assert set(Counter(cluster.tolist()).values()) == {2}
    assert np.array_equal(cluster[:40], cluster[40:])
    result = study.run(tmp_path / "study.db")
    assert result is not None
    assert any("resampled together" in note for note in result.notes)


def test_each_class_is_mostly_in_its_own_domain(folder: Path) -> None:
    train = equipoise.load("cifar10s", path=folder).where("train")
    counted = Counter(zip(train["class"].tolist(), train["domain"].tolist(), strict=True))
    for name in CLASSES:
        major = "colour" if name in COLOUR else "grey"
        minor = "grey" if major == "colour" else "colour"
        assert (counted[name, major], counted[name, minor]) == (38, 2)


@pytest.mark.parametrize("side", [16, 8])
def test_the_other_domain_may_be_a_low_resolution(side: int, folder: Path) -> None:
    plain = equipoise.load("cifar10", path=folder)
    cohort = equipoise.load("cifar10s", path=folder, low_resolution=side)
    low = cohort["domain"] == "low resolution"
    assert set(cohort["domain"].tolist()) == {"full resolution", "low resolution"}
    train = cohort["split"] == "train"
    assert np.array_equal(cohort["image"][train & low], low_resolution(plain["image"][:400][low[:400]], side))
    assert np.array_equal(cohort["image"][430:], low_resolution(plain["image"][400:], side))
    # The same pictures are changed as in grey.
    in_grey = equipoise.load("cifar10s", path=folder)["domain"] == "grey"
    assert np.array_equal(low, in_grey)


@pytest.mark.parametrize("skew", [0.5, 0, 1.01, float("nan"), "0.95", True, None])
def test_a_skew_that_is_none_is_refused(skew: Any, folder: Path) -> None:
    with pytest.raises(BadInput, match="skew is"):
        equipoise.load("cifar10s", path=folder, skew=skew)


def test_a_skew_of_1_leaves_the_minor_domain_of_every_class_empty(folder: Path) -> None:
    train = equipoise.load("cifar10s", path=folder, skew=1).where("train")
    assert set(zip(train["class"].tolist(), train["domain"].tolist(), strict=True)) == {
        (name, "colour" if name in COLOUR else "grey") for name in CLASSES
    }


def test_other_wrong_options_are_refused_with_what_is_allowed(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)low_resolution is 12.*16 or 8"):
        equipoise.load("cifar10s", path=folder, low_resolution=12)
    with pytest.raises(BadInput, match=r"(?s)seed is 'x'.*42"):
        equipoise.load("cifar10s", path=folder, seed="x")
    with pytest.raises(BadInput, match=r"(?s)option 'skewed' not found.*did you mean 'skew'"):
        equipoise.load("cifar10s", path=folder, skewed=0.9)


def test_without_a_copy_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EQUIPOISE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(BadInput, match=r"(?s)no local copy of the cifar10 data.*cifar-10-binary.tar.gz"):
        equipoise.load("cifar10s")


# The real pictures


@pytest.fixture(scope="module")
def real() -> Cohort:
    if not os.environ.get("EQUIPOISE_DATA"):
        pytest.skip("EQUIPOISE_DATA does not say where the real data is")
    pytest.importorskip("PIL")
    return equipoise.load("cifar10s")


def test_the_real_cohort_has_twenty_thousand_training_pictures_and_every_test_picture_twice(real: Cohort) -> None:
    assert Counter(real["split"].tolist()) == {"train": 20_000, "test": 20_000}
    test = real.where("test")
    assert Counter(test["class"].tolist()) == dict.fromkeys(CLASSES, 2_000)
    assert Counter(test["domain"].tolist()) == {"colour": 10_000, "grey": 10_000}
    train = real.where("train")
    for name in CLASSES:
        own = train["domain"][train["class"] == name].tolist()
        assert own.count("colour" if name in COLOUR else "grey") == round(0.95 * len(own))


def test_the_real_pictures_have_the_known_mean(real: Cohort) -> None:
    in_colour = real["image"][20_000:30_000]
    means = in_colour.mean(axis=(0, 1, 2)) / 255
    assert means == pytest.approx([0.4942, 0.4851, 0.4504], abs=2e-4)
    in_grey = real["image"][30_000:]
    assert np.array_equal(in_grey[..., 0], in_grey[..., 2])
