"""Pictures are read as they were written; what is wrong with a file is said with its name."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from equipoise.cohorts import Cohort
from equipoise.cohorts.pictures import (
    cohort_of_folder,
    read_pictures,
    with_pictures,
)
from equipoise.cohorts.pictures._arrays import (
    grey,
    low_resolution,
    read_strips,
)
from equipoise.cohorts.pictures._cifar_files import read_cifar
from equipoise.foundation import BadInput
from helpers.cases.picture import drawn, strips, write_binary, write_strips

# Other versions of a picture


def test_grey_is_the_luminance_in_whole_numbers() -> None:
    pictures, _ = drawn(3)
    found = grey(pictures)
    for row, down, across in ((0, 0, 0), (1, 31, 7), (2, 16, 31)):
        red, green, blue = (int(one) for one in pictures[row, down, across])
        light = (19_595 * red + 38_470 * green + 7_471 * blue + 32_768) >> 16
        assert found[row, down, across].tolist() == [light] * 3
    assert grey(np.full((1, 2, 2, 3), 255, dtype=np.uint8)).tolist() == [[[[255] * 3] * 2] * 2]


def test_grey_is_what_pillow_makes_of_a_picture() -> None:
    image = pytest.importorskip("PIL.Image")
    pictures = np.random.default_rng(0).integers(0, 256, (1_200, 16, 16, 3), dtype=np.uint8)
    found = grey(pictures)
    long = image.fromarray(pictures.reshape(-1, 16, 3)).convert("L")
    assert np.array_equal(found[..., 0].reshape(-1, 16), np.asarray(long))
    assert np.array_equal(found[..., 0], found[..., 1])
    assert np.array_equal(found[..., 0], found[..., 2])


@pytest.mark.parametrize("side", [16, 8])
def test_low_resolution_is_the_mean_of_blocks_repeated(side: int) -> None:
    pictures, _ = drawn(2)
    found, block = low_resolution(pictures, side), 32 // side
    for row in range(2):
        for down in range(side):
            for across in range(side):
                own = (slice(down * block, (down + 1) * block), slice(across * block, (across + 1) * block))
                for channel in range(3):
                    mean = int(np.floor(pictures[row][own][..., channel].astype(float).mean() + 0.5))
                    assert (found[row][own][..., channel] == mean).all()


@pytest.mark.parametrize("side", [16, 8])
def test_low_resolution_is_pillows_box_filter_and_nearest_pixel(side: int) -> None:
    image = pytest.importorskip("PIL.Image")
    pictures, _ = drawn(20)
    for picture, found in zip(pictures, low_resolution(pictures, side), strict=True):
        small = image.fromarray(picture).resize((side, side), image.Resampling.BOX)
        again = np.asarray(small.resize((32, 32), image.Resampling.NEAREST))
        assert np.abs(again.astype(int) - found.astype(int)).max() <= 1  # Pillow rounds its weights as well


def test_a_resolution_that_does_not_divide_the_side_is_refused() -> None:
    with pytest.raises(BadInput, match=r"(?s)32 x 32 pixels are to have 12 x 12.*1, 2, 4, 8, 16"):
        low_resolution(drawn(1)[0], 12)


# CIFAR-10's own files


@pytest.mark.parametrize("inside", ["", "cifar-10-batches-bin"])
def test_the_binary_version_is_read_as_it_is_described(inside: str, tmp_path: Path) -> None:
    written = write_binary(tmp_path / inside)
    read = read_cifar(tmp_path)
    for one, other in zip(written, (read.train, read.train_labels, read.test, read.test_labels), strict=True):
        assert np.array_equal(one, other)
    assert read.train.flags.c_contiguous


def test_strips_are_read_as_they_were_written(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    written = write_strips(tmp_path)
    read = read_cifar(tmp_path)
    for one, other in zip(written, (read.train, read.train_labels, read.test, read.test_labels), strict=True):
        assert np.array_equal(one, other)


def test_the_python_version_is_refused_without_being_opened(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-py").mkdir()
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(BadInput, match=r"(?s)Python version and is refused.*pickled.*cifar-10-binary.tar.gz"):
        read_cifar(tmp_path)


def test_a_file_that_is_something_else_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(b"not unpacked")
    with pytest.raises(BadInput, match=r"(?s)cifar-10-binary.tar.gz is not a readable file of CIFAR-10.*unpack it"):
        read_cifar(tmp_path / "cifar-10-binary.tar.gz")
    with pytest.raises(BadInput, match="There is no cifar10 file"):
        read_cifar(tmp_path / "nowhere")


def truncate(path: Path, by: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - by])


@pytest.mark.parametrize(
    ("file", "by", "words"),
    [
        ("data_batch_3.bin", 1, r"data_batch_3.bin is truncated or damaged: it has 61,459 bytes"),
        ("data_batch_3.bin", 3_073, r"data_batch_3.bin holds 19 pictures and another file 20"),
        ("test_batch.bin", 10, r"test_batch.bin is truncated"),
        ("test_batch.bin", 30 * 3_073, r"test_batch.bin is truncated or damaged: it has 0 bytes"),
    ],
)
def test_a_truncated_file_is_named(file: str, by: int, words: str, tmp_path: Path) -> None:
    write_binary(tmp_path)
    truncate(tmp_path / file, by)
    with pytest.raises(BadInput, match=words):
        read_cifar(tmp_path)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    write_binary(tmp_path)
    (tmp_path / "data_batch_4.bin").unlink()
    with pytest.raises(BadInput, match=r"has no data_batch_4.bin"):
        read_cifar(tmp_path)


def test_a_label_out_of_range_is_named_with_its_row(tmp_path: Path) -> None:
    write_binary(tmp_path)
    content = bytearray((tmp_path / "data_batch_2.bin").read_bytes())
    content[7 * 3_073] = 10
    (tmp_path / "data_batch_2.bin").write_bytes(content)
    with pytest.raises(
        BadInput, match=r"(?s)1 label of data_batch_2.bin out of range: the first is 10 in row 7.*0 to 9"
    ):
        read_cifar(tmp_path)


def test_other_classes_than_cifar_10s_are_refused(tmp_path: Path) -> None:
    write_binary(tmp_path)
    (tmp_path / "batches.meta.txt").write_text("apple\npear\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"batches.meta.txt lists the classes apple, pear"):
        read_cifar(tmp_path)
    (tmp_path / "batches.meta.txt").unlink()
    assert len(read_cifar(tmp_path).train) == 100


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labels": np.full(20, 10, dtype=np.uint8)}, "20 labels of strange.npz out of range"),
        ({"labels": np.zeros(20)}, "labels of strange.npz are float64"),
        ({"labels": np.zeros(30, dtype=np.uint8)}, "30 pictures by 8 are 4 strips"),
        ({"labels": np.zeros(0, dtype=np.uint8)}, "0 pictures by 8 are 0 strips"),
        ({"strip": np.int64(0)}, "does not say how many pictures a strip has"),
        ({"strip": np.int64(10**9)}, "does not say how many pictures a strip has"),
        ({"blob": np.zeros(5)}, "holds no strips of pictures"),
        ({"blob": np.zeros(200_000, dtype=np.uint8)}, "Strip 0 of strange.npz is damaged"),
        ({"blob": np.zeros(5, dtype=np.uint8)}, "its offsets do not fit"),
        ({"offsets": np.array([0, -5, 3, 4])}, "its offsets do not fit"),
        ({"offsets": np.array([], dtype=np.int64)}, "its offsets do not fit"),
    ],
)
def test_strips_that_do_not_fit_are_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    path = tmp_path / "strange.npz"
    np.savez(path, **{**strips(*drawn(20)), **change})
    with pytest.raises(BadInput, match=words):
        read_strips(path, 32, 10)


def test_a_strip_of_another_size_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    made, other = strips(*drawn(16)), strips(*drawn(16), strip=4)
    np.savez(tmp_path / "odd.npz", **{**made, "blob": other["blob"], "offsets": other["offsets"][:3]})
    with pytest.raises(BadInput, match=r"(?s)Strip 0 of odd.npz is 32 x 128 pixels.*32 x 256"):
        read_strips(tmp_path / "odd.npz", 32, 10)


def test_pickled_objects_in_an_npz_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", labels=np.array([{}, 1], dtype=object))
    with pytest.raises(BadInput, match="pickled Python objects"):
        read_strips(tmp_path / "bad.npz", 32, 10)


# Picture files


def write_pictures(folder: Path, names: list[str], size: tuple[int, int] = (6, 4), seed: int = 0) -> list[np.ndarray]:
    image = pytest.importorskip("PIL.Image")
    generator = np.random.default_rng(seed)
    made = []
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pixels = generator.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
        image.fromarray(pixels).save(folder / name)
        made.append(pixels)
    return made


def test_picture_files_are_read_in_their_order(tmp_path: Path) -> None:
    made = write_pictures(tmp_path, ["b.png", "a.bmp"])
    read = read_pictures(tmp_path, ["b.png", "a.bmp", "b.png"])
    assert np.array_equal(read.pictures, np.stack([made[0], made[1], made[0]]))
    assert read.indices.tolist() == [0, 1, 2]


def test_pictures_of_different_sizes_are_refused_with_help(tmp_path: Path) -> None:
    write_pictures(tmp_path, ["a.png", "b.png"])
    write_pictures(tmp_path, ["c.png"], size=(10, 10))
    with pytest.raises(
        BadInput, match=r"(?s)2 different sizes: 6 x 4 \(2 pictures, such as 'a.png'\), 10 x 10 \(1.*resi"
    ):
        read_pictures(tmp_path, ["a.png", "b.png", "c.png"])
    assert read_pictures(tmp_path, ["a.png", "b.png", "c.png"], resize=5).pictures.shape == (3, 5, 5, 3)
    assert read_pictures(tmp_path, ["a.png", "c.png"], resize=(8, 2)).pictures.shape == (2, 2, 8, 3)


@pytest.mark.parametrize("resize", [0, -3, True, 1.5, (1, 2, 3), "32", (10**6, 10**6)])
def test_a_size_that_is_none_is_refused(resize: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="resize is"):
        read_pictures(tmp_path, [], resize=resize)


def test_a_damaged_picture_stops_or_is_left_out_by_choice(tmp_path: Path) -> None:
    made = write_pictures(tmp_path, ["a.png", "b.png", "c.jpg", "d.png"])
    truncate(tmp_path / "b.png", 30)
    (tmp_path / "c.jpg").write_bytes(b"")
    names = ["a.png", "b.png", "c.jpg", "gone.png", "d.png"]
    with pytest.raises(BadInput, match=r"(?s)'b.png' cannot be read.*on_damaged=\"skip\""):
        read_pictures(tmp_path, names)
    with pytest.warns(
        UserWarning, match=r"3 of 5 pictures cannot be read and are left out: 'b.png', 'c.jpg', 'gone.png'"
    ):
        read = read_pictures(tmp_path, names, on_damaged="skip")
    assert read.indices.tolist() == [0, 4]
    assert read.damaged == ("b.png", "c.jpg", "gone.png")
    assert np.array_equal(read.pictures, np.stack([made[0], made[3]]))


def test_nothing_but_damaged_pictures_is_an_error_all_the_same(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    (tmp_path / "a.png").write_bytes(b"nothing")
    with pytest.raises(BadInput, match="No picture of"):
        read_pictures(tmp_path, ["a.png"], on_damaged="skip")


def test_a_file_that_says_it_is_huge_is_not_unpacked(tmp_path: Path) -> None:
    pytest.importorskip("PIL")

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"0")) + chunk(b"IEND", b"")
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + content)
    with pytest.raises(BadInput, match=r"'bomb.png' cannot be read"):
        read_pictures(tmp_path, ["bomb.png"])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["png", "jpg", "webp", "bmp"]))
def test_bytes_that_were_changed_are_read_or_refused_and_nothing_else(seed: int, kind: str, tmp_path: Path) -> None:
    write_pictures(tmp_path, [f"a.{kind}"], size=(9, 9))
    generator, path = random.Random(seed), tmp_path / f"a.{kind}"
    content = bytearray(path.read_bytes())
    for _ in range(generator.randint(1, 8)):
        content[generator.randrange(len(content))] = generator.randrange(256)
    path.write_bytes(content[: generator.randint(1, len(content))])
    try:
        told = str(read_pictures(tmp_path, [path.name]).pictures.dtype)
    except BadInput as error:
        told = str(error)
    assert told == "uint8" or path.name in told


@pytest.mark.parametrize("name", ["../secret.png", "/etc/secret.png", "a/../../secret.png", "a\0.png"])
def test_a_name_that_leads_out_of_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    with pytest.raises(BadInput, match="lies outside"):
        read_pictures(tmp_path, [name], on_damaged="skip")


def test_a_kind_of_file_that_is_not_known_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    (tmp_path / "a.svg").write_text("<svg/>", encoding="utf-8")
    with pytest.raises(BadInput, match=r"(?s)'a.svg' has an unknown format.*\.png"):
        read_pictures(tmp_path, ["a.svg"])
    with pytest.raises(BadInput, match="did you mean 'skip'"):
        read_pictures(tmp_path, [], on_damaged="skipp")  # type: ignore[arg-type]


# Cohorts of pictures


def test_folders_say_what_is_in_them(tmp_path: Path) -> None:
    names = [f"{split}/{kind}/{sex}/{number}.png" for split in ("train", "test") for kind in ("nurse", "doctor")
             for sex in ("man", "woman") for number in range(2)]  # fmt: skip
    write_pictures(tmp_path, names)
    cohort = cohort_of_folder(tmp_path, levels=("split", "class", "sex"), groups=("sex",), split="split")
    assert cohort["image"].shape == (16, 4, 6, 3)
    assert cohort.features == ("image",)
    assert cohort["file"].tolist() == sorted(names)
    assert [row.split("/")[1] for row in cohort["file"]] == cohort["class"].tolist()
    assert set(cohort.splits) == {"train", "test"}
    assert len(cohort.where("test")) == 8
    assert "image" not in cohort.to_frame("pandas").columns


def test_a_picture_that_lies_too_deep_or_no_picture_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No picture lies in"):
        cohort_of_folder(tmp_path, groups=("sex",))
    write_pictures(tmp_path, ["nurse/1.png", "nurse/man/2.png"])
    with pytest.raises(
        BadInput, match=r"(?s)The picture 'nurse/man/2.png' lies in folders other than class.*<class>/<file>"
    ):
        cohort_of_folder(tmp_path, groups=("class",))
    with pytest.raises(BadInput, match="There is no folder"):
        cohort_of_folder(tmp_path / "gone", groups=("sex",))
    with pytest.raises(BadInput, match="levels is"):
        cohort_of_folder(tmp_path, levels=("file",), groups=("file",))


def table(names: list[Any]) -> Cohort:
    columns = {
        "photo": np.array(names, dtype=object), "job": np.array(["nurse", "doctor"] * 2, dtype=object),
        "sex": np.array(["f", "f", "m", "m"], dtype=object),
    }  # fmt: skip
    return Cohort(name="people", columns=columns, target="job", groups=("sex",), cluster="photo")


def test_a_table_names_its_pictures_and_loses_the_rows_of_damaged_ones(tmp_path: Path) -> None:
    made = write_pictures(tmp_path, ["a.png", "b.png", "c.png"])
    (tmp_path / "b.png").write_bytes(b"torn")
    with pytest.warns(UserWarning, match=r"2 of 4 pictures .* 'b.png', 'd.png'"):
        cohort = with_pictures(table(["a.png", "b.png", "c.png", "d.png"]), "photo", tmp_path, on_damaged="skip")
    assert cohort["photo"].tolist() == ["a.png", "c.png"]
    assert cohort["sex"].tolist() == ["f", "m"]
    assert np.array_equal(cohort["image"], np.stack([made[0], made[2]]))


def test_a_row_without_a_file_name_and_a_wrong_column_are_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"Row 2 of the column 'photo'"):
        with_pictures(table(["a.png", "b.png", None, "d.png"]), "photo", tmp_path)
    with pytest.raises(BadInput, match="did you mean 'photo'"):
        with_pictures(table(["a.png"] * 4), "photos", tmp_path)
