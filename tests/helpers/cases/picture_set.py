"""Small files in the layouts of CUB-200-2011, Stanford Cars, LFW, FairFace and Omniglot, for tests."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

SPECIES = ("001.Black_footed_Albatross", "002.Brewer_Sparrow", "003.Song_Sparrow")
COLOURS = (
    "blue", "brown", "iridescent", "purple", "rufous", "grey", "yellow", "olive", "green", "pink", "orange", "black",
    "white", "red", "buff",
)  # fmt: skip
FIRST_COLOUR = 248
EACH = 6


def attribute_names() -> list[str]:
    """312 names, fifteen of them primary colours at their published places."""
    names = [f"has_other::{place}" for place in range(312)]
    names[FIRST_COLOUR : FIRST_COLOUR + 15] = [f"has_primary_color::{colour}" for colour in COLOURS]
    return names


def class_table() -> np.ndarray:
    """The albatross is black; the first sparrow brown and buff alike; the second grey."""
    table = np.zeros((3, 312), dtype=np.float32)
    for species, colour, share in ((0, "black", 70), (0, "white", 40), (1, "buff", 62.5), (1, "brown", 62.5),
                                   (2, "grey", 55.5)):  # fmt: skip
        table[species, FIRST_COLOUR + COLOURS.index(colour)] = share
    return table


def webp(pictures: np.ndarray) -> dict[str, np.ndarray]:
    """Each picture by itself; it needs Pillow."""
    from PIL import Image

    parts = []
    for picture in pictures:
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "WEBP", lossless=True, exact=True)
        parts.append(file.getvalue())
    offsets = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    return {"blob": np.frombuffer(b"".join(parts), dtype=np.uint8), "offsets": offsets}


def drawn(rows: int, side: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (rows, side, side, 3), dtype=np.uint8)


def feature_arrays(classes: tuple[str, ...]) -> dict[str, Any]:
    rows = EACH * len(classes)
    return {
        "features_u8": np.random.default_rng(1).integers(0, 256, (rows, 5), dtype=np.uint8),
        "scale": np.linspace(0.01, 0.02, 5).astype(np.float32),
        "label": np.repeat(np.arange(len(classes)), EACH).astype(np.uint8),
        "is_test": (np.arange(rows) % 2).astype(np.uint8),
        "file_name": np.array([f"{row:04d}.jpg" for row in range(rows)]),
        "class_names": np.array(classes),
    }


def write_birds(folder: Path, *, pictures: bool = False, **changed: Any) -> dict[str, Any]:
    """CUB200 as arrays; ``changed`` replaces arrays of any of its files."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = feature_arrays(SPECIES)
    arrays |= {name: value for name, value in changed.items() if name in arrays}
    np.savez_compressed(folder / "cub200_effnetlite0_u8.npz", **arrays)
    attributes: dict[str, Any] = {
        "attributes": class_table(), "attribute_names": np.array(attribute_names()), "class_names": np.array(SPECIES),
    }  # fmt: skip
    attributes |= {name: value for name, value in changed.items() if name in ("attributes", "attribute_names")}
    if "attribute_classes" in changed:
        attributes["class_names"] = changed["attribute_classes"]
    np.savez_compressed(folder / "cub200_class_attributes.npz", **attributes)
    if pictures:
        np.savez_compressed(folder / "cub200_thumbs_64.npz", **webp(drawn(EACH * 3, 64)))
    return arrays


def write_bird_folder(folder: Path) -> None:
    """CUB-200-2011 as its authors lay it out, with pictures of different sizes; it needs Pillow."""
    from PIL import Image

    (folder / "attributes").mkdir(parents=True)
    rows = [(species, number) for species in range(3) for number in range(EACH)]
    files = [f"{SPECIES[species]}/bird_{number}.jpg" for species, number in rows]

    def write(name: str, lines: list[str]) -> None:
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    write("images.txt", [f"{index} {file}" for index, file in enumerate(files, start=1)])
    write("classes.txt", [f"{index} {name}" for index, name in enumerate(SPECIES, start=1)])
    write("image_class_labels.txt", [f"{index} {species + 1}" for index, (species, _) in enumerate(rows, start=1)])
    write("train_test_split.txt", [f"{place} {place % 2}" for place in range(1, len(rows) + 1)])
    table = class_table()
    write(
        "attributes/class_attribute_labels_continuous.txt", [" ".join(f"{one:.6f}" for one in line) for line in table]
    )
    (folder.parent / "attributes.txt").write_text(
        "".join(f"{index} {name}\n" for index, name in enumerate(attribute_names(), start=1)), encoding="utf-8"
    )
    write("attributes/image_attribute_labels.txt", image_labels(rows))
    for index, file in enumerate(files):
        path = folder / "images" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((20 + index, 30, 3), 10 * index, dtype=np.uint8)).save(path)


def image_labels(rows: list[tuple[int, int]]) -> list[str]:
    """Every picture is surely red; the first is guessed blue too, the second has no colour, the third has two as sure.

    One line has fields too many, as a few of the published file have.
    """
    lines = []
    for place in range(1, len(rows) + 1):
        for column, colour in enumerate(COLOURS, start=FIRST_COLOUR + 1):
            certain = {"red": 4}.get(colour, 3)
            present = int(colour == "red" and place != 2)
            if place == 1 and colour == "blue":
                present, certain = 1, 2
            if place == 3 and colour == "blue":
                present, certain = 1, 4
            lines.append(f"{place} {column} {present} {certain} 1.5" + (" 0 7.25" if place == 4 else ""))
    return lines


CARS = ("Ford Focus Sedan 2007", "Acura TL Sedan 2012", "Dodge Ram Van 2001")


def write_cars(folder: Path, *, pictures: bool = False, **changed: Any) -> dict[str, Any]:
    """Stanford Cars as arrays."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        **feature_arrays(CARS), "class_body_type": np.array([0, 0, 1], dtype=np.uint8),
        "body_type_names": np.array(["Sedan", "Van"]), "class_make": np.array([2, 0, 1], dtype=np.uint8),
        "make_names": np.array(["Acura", "Dodge", "Ford"]), "class_year": np.array([2007, 2012, 2001], dtype=np.int16),
        **changed,
    }  # fmt: skip
    np.savez_compressed(folder / "cars196_effnetlite0_u8.npz", **arrays)
    if pictures:
        np.savez_compressed(folder / "cars196_thumbs_48.npz", **webp(drawn(EACH * 3, 48)))
    return arrays


def write_faces(folder: Path, *, pictures: bool = False, **changed: Any) -> None:
    """LFW: Ann has four pictures, Bob three, Cy one, and Dee two without any guess."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        "identity": np.array([0, 0, 0, 0, 1, 1, 1, 2, 3, 3], dtype=np.uint16),
        "identity_names": np.array(["Ann", "Bob", "Cy", "Dee"]),
        "image_num": np.array([1, 2, 3, 4, 1, 2, 3, 1, 1, 2], dtype=np.uint16),
        "gender_male": np.array([0, 0, 0, 0, 1, 1, 1, 1, 255, 0], dtype=np.uint8),
        "pred_race": np.array([0, 0, 2, 2, 1, 2, 2, 1, 255, 255], dtype=np.uint8),
        "pred_race_prob": np.array([0.4, 0.5, 0.9, 0.8, 0.99, 0.3, 0.3, 0.5, 0, 0], dtype=np.float16),
        "pred_race_names": np.array(["asian", "black", "white"]),
        **changed,
    }
    np.savez_compressed(folder / "lfw_labels.npz", **arrays)
    points = np.random.default_rng(2).normal(size=(10, 4)).astype(np.float16)
    np.savez_compressed(folder / "lfw_dlib128_f16.npz", embedding=points, face_found=np.ones(10, dtype=bool))
    if pictures:
        np.savez_compressed(folder / "lfw_deepfunneled_64.npz", **webp(drawn(10, 64)))


def write_ages(folder: Path) -> None:
    """FairFace: eight faces to train on and four to test on; it needs Pillow."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("train", 8), ("val", 4)):
        number = np.arange(rows)
        np.savez_compressed(
            folder / f"fairface_{name}_64.npz", **webp(drawn(rows, 64)), file_id=number.astype(np.int32),
            race=(number % 3).astype(np.uint8), gender=(number // 2 % 2).astype(np.uint8),
            age=(number // 4).astype(np.uint8), service_test=number > 1,
            race_names=np.array(["Black", "Latino_Hispanic", "White"]), gender_names=np.array(["Female", "Male"]),
            age_names=np.array(["0-2", "more than 70"]),
        )  # fmt: skip


def write_characters(folder: Path) -> np.ndarray:
    """Omniglot: three alphabets of two characters, six drawings each; returns the ink."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = 36
    ink = np.random.default_rng(3).integers(0, 2, (rows, 28, 28), dtype=np.uint8)
    number = np.arange(rows)
    np.savez_compressed(
        folder / "omniglot_28x28.npz", packed=np.packbits(ink.reshape(rows, -1), axis=1),
        alphabet=(number // 12).astype(np.uint8), character=(number // 6 % 2 + 1).astype(np.uint8),
        drawer=(number % 6 + 1).astype(np.uint8), char_id=number.astype(np.uint16),
        alphabet_names=np.array(["Greek", "Latin", "Braille"]), alphabet_is_evaluation=np.array([False, True, False]),
    )  # fmt: skip
    return ink
