"""Birds, cars, faces and characters: roles, colours and votes, both layouts of CUB, and files of another version."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.cohorts.sources import _known_files, cub200
from equipoise.cohorts.sources._cub_colours import colours_of_pictures
from equipoise.cohorts.sources._voting import halved, voted
from equipoise.foundation import BadInput
from equipoise.studies.plans import data_fingerprint
from equipoise.testing import check
from helpers.cases.picture_set import (
    CARS,
    COLOURS,
    EACH,
    FIRST_COLOUR,
    SPECIES,
    attribute_names,
    class_table,
    drawn,
    write_ages,
    write_bird_folder,
    write_birds,
    write_cars,
    write_characters,
    write_faces,
)

LABELS = "attributes/image_attribute_labels.txt"
WRITERS: dict[str, Callable[[Path], Any]] = {
    "cub200": write_birds,
    "cars196": write_cars,
    "lfw": write_faces,
    "fairface": write_ages,
    "omniglot": write_characters,
}


@pytest.mark.parametrize("name", list(WRITERS))
def test_the_shared_checks_hold_and_the_datasheet_is_whole(name: str, tmp_path: Path) -> None:
    if name == "fairface":
        pytest.importorskip("PIL")
    WRITERS[name](tmp_path)
    check("cohort", name, path=tmp_path)
    datasheet = equipoise.load(name, path=tmp_path).datasheet
    for word in ("Source:", "Licence", "Contested:", "another copy than the one that is known here"):
        assert word in datasheet
    assert max(map(len, datasheet.splitlines())) <= 130


@pytest.mark.parametrize("name", list(WRITERS))
def test_a_folder_without_the_files_says_how_to_get_them(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=rf"(?s)no {name} file at.*help: (Get|Keep)"):
        equipoise.load(name, path=tmp_path)
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    with pytest.raises(BadInput, match=r"notes.txt is not a readable file of"):
        equipoise.load(name, path=tmp_path / "notes.txt")


@pytest.mark.parametrize("name", list(WRITERS))
def test_only_things_may_be_shown_and_people_never(name: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    WRITERS[name](tmp_path)
    made = equipoise.load(name, path=tmp_path)
    assert (made.pictures is None) == (name in ("lfw", "fairface"))
    if made.pictures is None:
        with pytest.raises(BadInput, match="has no pictures that may be shown"):
            made.examples(np.array([0]))


def test_examples_are_read_when_they_are_asked_for_and_follow_the_rows_that_were_taken(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write_birds(tmp_path)
    birds = equipoise.load("cub200", path=tmp_path)
    with pytest.raises(BadInput, match=r"no file 'cub200_thumbs_64.npz' beside the other"):
        birds.examples(np.array([0]))
    write_birds(tmp_path, pictures=True)
    whole = drawn(3 * EACH, 64)
    rows = np.array([5, 0, 17])
    assert np.array_equal(birds.examples(rows), whole[rows])
    mask = np.arange(len(birds)) % 3 == 1
    taken = birds.take(mask).take(np.array([3, 1, 0]))
    assert np.array_equal(taken.examples(np.array([2, 0])), whole[mask][[0, 3]])
    as_pictures = equipoise.load("cub200", path=tmp_path, pixels=True)
    assert np.array_equal(as_pictures.take(mask).examples(np.array([1])), whole[mask][[1]])
    assert data_fingerprint(birds) == data_fingerprint(replace(birds, pictures=None))


def test_ink_is_shown_in_three_channels_and_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    ink = write_characters(tmp_path)
    made = equipoise.load("omniglot", path=tmp_path)
    assert np.array_equal(made.examples(np.array([4])), np.repeat(255 * ink[[4], :, :, None], 3, axis=3))
    with pytest.raises(BadInput, match=r"uint8 \[row, height, width, channel\]"):
        replace(made, pictures="drawer").examples(np.array([0]))
    with pytest.raises(BadInput, match="nothing_like_it"):
        replace(made, pictures="nothing_like_it")


# Birds.


def test_birds_have_features_colours_of_classes_and_the_official_split(tmp_path: Path) -> None:
    arrays = write_birds(tmp_path)
    birds = equipoise.load("cub200", path=tmp_path)
    roles = (birds.target, birds.groups, birds.features, birds.split, birds.cluster)
    assert roles == ("class", ("colour", "kind"), ("features",), "split", None)
    slow = [[np.float32(byte) * scale for byte, scale in zip(row, arrays["scale"], strict=True)]
            for row in arrays["features_u8"]]  # fmt: skip
    assert birds["features"].dtype == np.float32
    assert np.array_equal(birds["features"], np.array(slow, dtype=np.float32))
    # Where two colours are equal the first as published counts: brown before buff.
    pairs = dict(zip(birds["class"].tolist(), birds["colour"].tolist(), strict=True))
    assert pairs == dict(zip(SPECIES, ("black", "brown", "grey"), strict=True))
    assert birds["kind"].tolist() == ["Albatross"] * EACH + ["Sparrow"] * (2 * EACH)
    assert birds["split"].tolist() == ["train", "test"] * (3 * EACH // 2)
    assert birds["file"][3] == "0003.jpg"
    assert "class-level" in birds.datasheet


@pytest.mark.parametrize("pixels", ["pictures", True])
def test_birds_may_be_pictures(pixels: Any, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write_birds(tmp_path, pictures=True)
    birds = equipoise.load("cub200", path=tmp_path, pixels=pixels, resize=64)
    assert birds.features == ("image",)
    assert np.array_equal(birds["image"], drawn(3 * EACH, 64))
    with pytest.raises(BadInput, match=r"resize is 32, and the pictures of cub200_thumbs_64.npz are 64 x 64"):
        equipoise.load("cub200", path=tmp_path, pixels=pixels, resize=32)


def test_pictures_that_are_missing_cut_short_or_of_another_size_are_named(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write_cars(tmp_path)
    with pytest.raises(BadInput, match=r"no file 'cars196_thumbs_48.npz' beside the other"):
        equipoise.load("cars196", path=tmp_path, pixels="pictures")
    from helpers.cases.picture_set import webp

    for pictures, words in ((drawn(17, 48), "is damaged: 18 pictures by 1 are 18 strips"),
                            (drawn(18, 32), "Picture 0 of cars196_thumbs_48.npz is 32 x 32 pixels")):  # fmt: skip
        np.savez(tmp_path / "cars196_thumbs_48.npz", **webp(pictures))
        with pytest.raises(BadInput, match=words):
            equipoise.load("cars196", path=tmp_path, pixels="pictures")


def renamed(place: int, name: str) -> np.ndarray:
    names = attribute_names()
    names[place] = name
    return np.array(names)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"attribute_names": np.array(attribute_names()[:300]), "attributes": class_table()[:, :300]},
         "names 300 attributes, 15 of them primary colours: it is of another version"),
        ({"attribute_names": renamed(FIRST_COLOUR, "has_colour::blue")}, "312 attributes, 14 of them primary colours"),
        ({"attributes": class_table()[:2]}, r"a table of the shape \(2, 312\): it is of another version"),
        ({"attributes": np.full((3, 312), np.nan)}, "shares that are missing or negative"),
        ({"attribute_classes": np.array(["001.Crow", *SPECIES[1:]])}, "differ in 001.Black_footed_Albatross"),
        ({"attribute_classes": np.array(SPECIES[::-1])}, "the same in another order"),
        ({"label": np.full(18, 9, dtype=np.uint8)}, "18 labels .* out of range"),
        ({"is_test": np.zeros(17, dtype=np.uint8)}, r"18 labels and is_test of the shape \(17,\)"),
        ({"is_test": np.full(18, 2, dtype=np.uint8)}, "other values than 0 and 1"),
        ({"scale": np.ones(4, dtype=np.float32)}, "a finite scale for each column"),
        ({"scale": np.full(5, np.inf, dtype=np.float32)}, "a finite scale for each column"),
    ],
)  # fmt: skip
def test_files_of_another_version_are_refused(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_birds(tmp_path, **changed)
    with pytest.raises(BadInput, match=f"(?s){words}.*"):
        equipoise.load("cub200", path=tmp_path)


def test_birds_without_their_attributes_are_refused(tmp_path: Path) -> None:
    write_birds(tmp_path)
    (tmp_path / "cub200_class_attributes.npz").unlink()
    with pytest.raises(BadInput, match=r"(?s)no file 'cub200_class_attributes.npz'.*it has the colours"):
        equipoise.load("cub200", path=tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pixels": "picture"}, "did you mean 'pictures'"),
        ({"colour": "image"}, "comes with the colours of classes"),
        ({"resize": 32}, "resize is 32"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_birds(tmp_path)
    with pytest.raises(BadInput, match=words):
        equipoise.load("cub200", path=tmp_path, **options)


def test_a_copy_of_full_size_with_another_checksum_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_birds(tmp_path)
    monkeypatch.setattr(cub200, "ROWS", 18)
    with pytest.warns(UserWarning, match="is another version than the one that is known here"):
        equipoise.load("cub200", path=tmp_path)
    file = tmp_path / "known.bin"
    file.write_bytes(b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    told = _known_files.describe_copies([file], {"known.bin": digest}, has_all_rows=True)
    assert told == "File: known.bin, sha256 ba7816bf8f01..., the copy that is known here.\n"


# Birds as their authors lay them out.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("PIL")
    write_bird_folder(tmp_path / "CUB_200_2011")
    return tmp_path


def test_the_authors_folder_has_pictures_and_colours_of_pictures(folder: Path) -> None:
    birds = equipoise.load("cub200", path=folder, pixels="pictures", resize=8)
    assert birds["image"].shape == (18, 8, 8, 3)
    assert [int(picture.mean()) for picture in birds["image"]] == pytest.approx([10 * row for row in range(18)], abs=2)
    # Red is surer than the guessed blue; one bird has no colour; of two as sure red is commoner in the class.
    assert birds["colour"].tolist() == ["red", None, "red", *["red"] * 15]
    assert birds["split"].tolist() == ["train", "test"] * 9
    assert birds["file"][0] == "001.Black_footed_Albatross/bird_0.jpg"
    assert "image-level" in birds.datasheet
    assert equipoise.load("cub200", path=folder, pixels="pictures")["image"].shape == (18, 64, 64, 3)
    check("cohort", "cub200", path=folder / "CUB_200_2011", pixels="pictures", resize=8, colour="class")


def test_the_authors_folder_has_colours_of_classes_too(folder: Path) -> None:
    birds = equipoise.load("cub200", path=folder, pixels="pictures", resize=8, colour="class")
    assert birds["colour"].tolist() == ["black"] * EACH + ["brown"] * EACH + ["grey"] * EACH
    with pytest.raises(BadInput, match="colour 'bird' not found"):
        equipoise.load("cub200", path=folder, pixels="pictures", colour="bird")
    with pytest.raises(BadInput, match="holds pictures and no features"):
        equipoise.load("cub200", path=folder)


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("classes.txt", None, "no file 'classes.txt'"),
        ("classes.txt", lambda text: text.replace("3 003", "4 003"), "classes.txt lacks: 3"),
        ("train_test_split.txt", lambda text: text[4:], "it lacks the numbers 1"),
        ("train_test_split.txt", lambda text: text.replace("2 0\n", "2 yes\n", 1), "says 'yes'"),
        ("images.txt", lambda text: text.replace("2 001", "1 001", 1), "Line 2 of images.txt"),
        ("images.txt", lambda text: "", "images.txt is empty"),
        ("images.txt", lambda text: text.replace("bird_3", "bird_9", 1), "'001.*bird_9.jpg' cannot be read"),
        (LABELS, lambda text: text[: len(text) // 2], "one of each colour a picture"),
        (LABELS, lambda text: text.replace("1 249 1 2", "99 249 1 2"), "has a line '99"),
        (LABELS, lambda text: text.replace("1 249 1 2", "1 249 1 7"), "certainty"),
        ("../attributes.txt", lambda text: "1 has_wings\n", "names 1 attributes"),
    ],
)  # fmt: skip
def test_a_broken_folder_is_refused_with_the_file_s_name(
    file: str, change: Callable[[str], str] | None, words: str, folder: Path
) -> None:
    path = folder / "CUB_200_2011" / file
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(BadInput, match=f"(?s){words}"):
        equipoise.load("cub200", path=folder, pixels="pictures", resize=8)


@pytest.mark.parametrize("text", ["1 2\n3\n", "1 2\n"])
def test_a_class_table_of_another_version_is_refused(text: str, folder: Path) -> None:
    file = folder / "CUB_200_2011" / "attributes" / "class_attribute_labels_continuous.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"class_attribute_labels_continuous.txt is"):
        equipoise.load("cub200", path=folder, pixels="pictures", resize=8, colour="class")


def test_the_colour_of_a_picture_agrees_with_a_slow_rule() -> None:
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 3, 60)
    certainty = generator.integers(0, 5, (60, 15)) * (generator.random((60, 15)) < 0.25)
    found = colours_of_pictures(certainty, labels, COLOURS)
    for row in range(60):
        present = [column for column in range(15) if certainty[row, column]]
        common = {column: sum(certainty[other, column] > 0 for other in range(60) if labels[other] == labels[row])
                  for column in present}  # fmt: skip
        best = sorted(present, key=lambda column: (-certainty[row, column], -common[column], column))
        assert found[row] == (COLOURS[best[0]] if best else None)


# Cars.


def test_cars_have_a_body_a_make_and_a_band_of_years(tmp_path: Path) -> None:
    write_cars(tmp_path)
    cars = equipoise.load("cars196", path=tmp_path)
    assert (cars.target, cars.groups, cars.features) == ("class", ("body", "make", "year"), ("features",))
    first = {name: cars[name][cars["class"] == CARS[0]][0] for name in cars.groups}
    assert first == {"body": "Sedan", "make": "Ford", "year": "2007 to 2011"}
    assert Counter(cars["year"].tolist()) == {"2007 to 2011": EACH, "2012 and later": EACH, "1991 to 2006": EACH}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"class_make": np.array([9, 0, 1], dtype=np.uint8)}, "has the number 9, and there are 3 make_names"),
        ({"class_year": np.array([2007, 2012])}, r"class_year .*shape \(2,\): it is of another version"),
    ],
)
def test_cars_of_another_version_are_refused(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    write_cars(tmp_path, **changed)
    with pytest.raises(BadInput, match=words):
        equipoise.load("cars196", path=tmp_path)


# Faces and characters.


def test_faces_have_a_race_by_vote_and_a_checked_gender(tmp_path: Path) -> None:
    write_faces(tmp_path)
    faces = equipoise.load("lfw", path=tmp_path)
    assert (faces.target, faces.groups, faces.features) == ("identity", ("race", "gender"), ("features",))
    # Ann: two votes each, white is surer; Bob: two against a very sure one; nobody guessed Dee's.
    pairs = dict(zip(faces["identity"].tolist(), faces["race"].tolist(), strict=True))
    assert pairs == {"Ann": "white", "Bob": "white", "Cy": "black", "Dee": None}
    assert faces["gender"].tolist() == ["woman"] * 4 + ["man"] * 4 + [None, "woman"]
    split = Counter(zip(faces["identity"].tolist(), faces["split"].tolist(), strict=True))
    assert split == {("Ann", "train"): 2, ("Ann", "test"): 2, ("Bob", "train"): 2, ("Bob", "test"): 1,
                     ("Cy", "train"): 1, ("Dee", "train"): 1, ("Dee", "test"): 1}  # fmt: skip
    assert any(equipoise.load("lfw", path=tmp_path, seed=seed)["split"].tolist() != faces["split"].tolist()
               for seed in range(1, 6))  # fmt: skip
    assert "never for deciding who somebody is" in faces.datasheet


def test_people_with_few_pictures_may_be_left_out(tmp_path: Path) -> None:
    write_faces(tmp_path)
    every, some = (equipoise.load("lfw", path=tmp_path, least=least) for least in (1, 3))
    kept = np.isin(every["identity"], ["Ann", "Bob"])
    assert some["identity"].tolist() == every["identity"][kept].tolist()
    assert some["split"].tolist() == every["split"][kept].tolist()
    assert "the 2 people with 3 pictures or more" in some.datasheet
    for least in (0, 5, True, 2.5):
        with pytest.raises(BadInput, match=r"least is .*\n.*1 to 4"):
            equipoise.load("lfw", path=tmp_path, least=least)


def test_faces_may_be_pictures_and_broken_files_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write_faces(tmp_path, pictures=True)
    assert np.array_equal(equipoise.load("lfw", path=tmp_path, pixels="pictures")["image"], drawn(10, 64))
    np.savez(tmp_path / "lfw_dlib128_f16.npz", embedding=np.zeros((3, 4)))
    with pytest.raises(BadInput, match=r"of the shape \(3, 4\)"):
        equipoise.load("lfw", path=tmp_path)
    (tmp_path / "lfw_dlib128_f16.npz").unlink()
    with pytest.raises(BadInput, match=r"no file 'lfw_dlib128_f16.npz'"):
        equipoise.load("lfw", path=tmp_path)
    write_faces(tmp_path, pred_race=np.zeros(3, dtype=np.uint8))
    with pytest.raises(BadInput, match=r"pred_race of lfw_labels.npz has the shape \(3,\)"):
        equipoise.load("lfw", path=tmp_path)


def test_a_vote_agrees_with_a_slow_count() -> None:
    generator = np.random.default_rng(8)
    person, said = generator.integers(0, 20, 100), generator.integers(0, 5, 100)
    certainty, names = generator.random(100), ["a", "b", "c", "d"]  # a fifth label is none
    found = voted(person, said, certainty, names)
    for one in range(int(person.max()) + 1):
        rows = [row for row in range(100) if person[row] == one and said[row] < 4]
        votes = Counter(said[row] for row in rows)
        sums = {code: sum(certainty[row] for row in rows if said[row] == code) for code in votes}
        best = sorted(votes, key=lambda code: (-votes[code], -sums[code], code))
        assert found[one] == (names[best[0]] if best else None)


def test_every_class_is_halved_whatever_the_order_of_its_rows() -> None:
    classes = np.random.default_rng(0).permutation(np.repeat(np.arange(5), [1, 2, 3, 8, 9]))
    split = halved(classes, np.random.default_rng(1))
    for number, size in enumerate([1, 2, 3, 8, 9]):
        assert Counter(split[classes == number].tolist())["test"] == size // 2


def test_fairface_predicts_age_and_has_both_its_files(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write_ages(tmp_path)
    faces = equipoise.load("fairface", path=tmp_path)
    assert (faces.target, faces.groups, faces.features) == ("age", ("race", "gender"), ("image",))
    assert Counter(faces["split"].tolist()) == {"train": 8, "test": 4}
    assert np.array_equal(faces["image"], np.concatenate([drawn(8, 64), drawn(4, 64)]))
    assert faces["race"].tolist()[:3] == ["Black", "Latino Hispanic", "White"]
    assert faces["age"].tolist() == ["0-2"] * 4 + ["more than 70"] * 4 + ["0-2"] * 4
    small = equipoise.load("fairface", path=tmp_path, side=16)["image"]
    means = faces["image"].reshape(len(small), 16, 4, 16, 4, 3).mean(axis=(2, 4))
    assert small.dtype == np.uint8
    assert np.abs(small - means).max() <= 0.5
    with pytest.raises(BadInput, match="side is 20"):
        equipoise.load("fairface", path=tmp_path, side=20)
    (tmp_path / "fairface_val_64.npz").unlink()
    with pytest.raises(BadInput, match=r"no file 'fairface_val_64.npz'"):
        equipoise.load("fairface", path=tmp_path)


def test_omniglot_has_characters_in_alphabets(tmp_path: Path) -> None:
    ink = write_characters(tmp_path)
    characters = equipoise.load("omniglot", path=tmp_path)
    assert np.array_equal(characters["image"], ink[..., None] * 255)
    assert characters["class"].tolist()[5:7] == ["Greek 01", "Greek 02"]
    halves = Counter(zip(characters["class"].tolist(), characters["split"].tolist(), strict=True))
    assert set(halves.values()) == {3}
    held_out = equipoise.load("omniglot", path=tmp_path, part="evaluation")
    assert set(held_out["alphabet"].tolist()) == {"Latin"}
    background = equipoise.load("omniglot", path=tmp_path, part="background")
    assert len(held_out) + len(background) == len(characters) == 36
    with pytest.raises(BadInput, match="part 'some' not found"):
        equipoise.load("omniglot", path=tmp_path, part="some")


# The real data.


@pytest.mark.skipif(not os.environ.get("EQUIPOISE_DATA"), reason="EQUIPOISE_DATA does not say where the real data is")
@pytest.mark.parametrize(
    ("name", "rows", "train", "classes", "group", "groups"),
    [
        ("cub200", 11_788, 5_994, 200, "colour", 10),
        ("cars196", 16_170, 8_137, 196, "body", 10),
        ("lfw", 13_233, 8_926, 5_749, "race", 7),
        ("omniglot", 32_460, 16_230, 1_623, "alphabet", 50),
    ],
)
def test_the_real_data_has_the_known_numbers(
    name: str, rows: int, train: int, classes: int, group: str, groups: int
) -> None:
    cohort = equipoise.load(name)
    assert len(cohort) == rows
    assert Counter(cohort["split"].tolist())["train"] == train
    assert len(set(cohort[cohort.target].tolist())) == classes
    assert len(set(cohort[group].tolist())) == groups
    assert "another copy" not in cohort.datasheet
    if name in ("cub200", "cars196"):
        assert cohort["features"].shape == (rows, 1_280)
        assert cohort["features"].dtype == np.float32


@pytest.mark.skipif(not os.environ.get("EQUIPOISE_DATA"), reason="EQUIPOISE_DATA does not say where the real data is")
def test_the_real_thumbnails_can_be_read() -> None:
    pytest.importorskip("PIL")
    assert equipoise.load("cub200", pixels="pictures")["image"].shape == (11_788, 64, 64, 3)
    cars = equipoise.load("cars196", pixels="pictures")
    assert cars["image"].shape == (16_170, 48, 48, 3)
    assert 100 < cars["image"][:500].mean() < 140
