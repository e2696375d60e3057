"""Points from files and from memory: every format gives the same numbers, and what cannot be read is refused."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from equipoise.cohorts import (
    Embedding,
    align_embeddings,
    open_embedding,
    pair_rows,
)
from equipoise.cohorts import _array_files as array_files
from equipoise.cohorts._pairing import read_rows
from equipoise.foundation import BadInput

POINTS = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
NAMES = [f"p{number}" for number in range(60)]


def parquet(path: Path, points: Any, **columns: Any) -> Path:
    pd.DataFrame({**columns, "z": list(points)}).to_parquet(path, row_group_size=7)
    return path


def written(folder: Path, kind: str) -> Path:
    path = folder / kind
    if kind.endswith(".npy"):
        np.save(path, POINTS)
    elif kind == "packed.npz":
        np.savez_compressed(path, z=POINTS, other=np.arange(3))
    elif kind.endswith(".npz"):
        np.savez(path, other=np.arange(3), z=POINTS)
    elif kind.endswith(".safetensors"):
        save_file({"z": POINTS, "other": np.arange(3)}, path)
    elif kind.endswith(".parquet"):
        parquet(path, POINTS)
    elif kind.endswith(".csv"):
        pd.DataFrame({"z": [str(row.tolist()) for row in POINTS.astype(np.float64)]}).to_csv(path, index=False)
    else:
        import pyarrow as pa
        from pyarrow import feather

        feather.write_feather(pa.table({"z": list(POINTS)}), path, compression="uncompressed")
    return path


@pytest.mark.parametrize("kind", ["z.npy", "z.npz", "packed.npz", "z.safetensors", "z.parquet", "z.csv", "z.arrow"])
def test_every_format_gives_the_same_points(tmp_path: Path, kind: str) -> None:
    found = open_embedding(written(tmp_path, kind), "z" if kind.endswith(".csv") else None)
    assert np.array_equal(np.asarray(found.points, dtype=np.float32), POINTS)
    assert (len(found), found.width, found.ids, found.name) == (60, 5, None, kind)


@pytest.mark.parametrize("kind", ["z.npy", "z.npz", "packed.npz", "z.safetensors", "z.parquet"])
def test_the_fingerprint_tells_numbers_not_files(tmp_path: Path, kind: str) -> None:
    assert open_embedding(written(tmp_path, kind)).fingerprint == open_embedding(POINTS).fingerprint
    changed = POINTS.copy()
    changed[59, 4] += 1
    assert open_embedding(POINTS).fingerprint != open_embedding(changed).fingerprint
    assert open_embedding(POINTS).fingerprint != open_embedding(POINTS.reshape(30, 10)).fingerprint


@pytest.mark.parametrize("kind", ["z.npy", "z.npz", "z.safetensors"])
def test_what_lies_uncompressed_stays_on_the_disk(tmp_path: Path, kind: str) -> None:
    assert isinstance(open_embedding(written(tmp_path, kind)).points, np.memmap)


def test_fortran_order_big_ends_and_extra_axes_are_read_right(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.asfortranarray(POINTS))
    np.save(tmp_path / "b.npy", POINTS.astype(">f4"))
    np.save(tmp_path / "a.npy", POINTS.reshape(20, 3, 5))
    np.savez_compressed(tmp_path / "f.npz", z=np.asfortranarray(POINTS))
    for name in ("f.npy", "b.npy", "f.npz"):
        assert np.array_equal(open_embedding(tmp_path / name).numbers(), POINTS), name
    assert np.array_equal(open_embedding(tmp_path / "a.npy").points, POINTS.reshape(20, 15))


@pytest.mark.parametrize("kind", [np.float16, np.uint8, np.int32, np.int64, np.bool_, np.float64])
def test_other_kinds_of_numbers_become_float_block_by_block(
    kind: type, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("equipoise.cohorts._embeddings.BLOCK_BYTES", 64)
    values = (10 * np.abs(POINTS)).astype(kind)
    np.save(tmp_path / "z.npy", values)
    found = open_embedding(tmp_path / "z.npy")
    assert found.points.dtype == kind
    assert np.array_equal(found.numbers(), values.astype(np.float64))
    assert found.numbers().dtype == (np.float32 if kind in (np.float16, np.uint8, np.bool_) else np.float64)
    assert len(list(found.blocks())) > 1


def test_bfloat16_is_read(tmp_path: Path) -> None:
    upper = (POINTS.view(np.uint32) >> 16).astype(np.uint16)
    header = b'{"z":{"dtype":"BF16","shape":[60,5],"data_offsets":[0,600]}}'
    (tmp_path / "z.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + upper.tobytes())
    found = open_embedding(tmp_path / "z.safetensors").points
    assert np.array_equal(found, (upper.astype(np.uint32) << 16).view(np.float32))


def test_arrays_in_memory_are_taken_as_they_are() -> None:
    assert np.shares_memory(open_embedding(POINTS).points, POINTS)
    with pytest.raises(BadInput, match="nan in row 0, column 1"):
        open_embedding(np.ma.masked_array(POINTS[:1], mask=[[0, 1, 0, 0, 0]]))
    assert open_embedding(POINTS.tolist()).points.shape == (60, 5)
    assert open_embedding(open_embedding(POINTS)).width == 5
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(POINTS, requires_grad=True)
    assert np.array_equal(open_embedding(tensor).points, POINTS)
    assert np.array_equal(open_embedding(tensor.bfloat16()).points, tensor.bfloat16().float().detach().numpy())


def test_more_dimensions_than_rows_are_allowed_and_said() -> None:
    assert open_embedding(POINTS).notes == ()
    [note] = open_embedding(POINTS[:3]).notes
    assert "more dimensions (5) than rows (3)" in note


def test_rows_of_many_files_and_row_groups_keep_their_order(tmp_path: Path) -> None:
    numbers = np.arange(40_000, dtype=np.float64).reshape(-1, 2)
    for part in range(4):
        own = numbers[part * 5_000 : (part + 1) * 5_000]
        frame = pd.DataFrame({"z": list(own), "first": own[:, 0]})
        frame.to_parquet(tmp_path / f"part-{part}.parquet", row_group_size=500)
    found = open_embedding(tmp_path, "z")
    assert np.array_equal(found.points, numbers)
    table = pair_rows(found, tmp_path, columns=["first"])
    assert np.array_equal(np.asarray(table.column("first"), dtype=np.float64), numbers[:, 0])


# What is refused: how the file is made, and words of the refusal.


def npz_with(folder: Path, header: bytes, body: bytes, how: int = zipfile.ZIP_DEFLATED) -> Path:
    path = folder / "z.npz"
    with zipfile.ZipFile(path, "w", how) as archive:
        archive.writestr("z.npy", header + body)
    return path


def header_of(shape: tuple[int, ...], kind: str = "<f4") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue()


def saved(folder: Path, values: Any) -> Path:
    np.save(folder / "z.npy", values)
    return folder / "z.npy"


def cut(path: Path, keep: float) -> Path:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])
    return path


def text(folder: Path, name: str, content: bytes = b"something else") -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def with_bad_numbers() -> Any:
    values = POINTS.copy()
    values[7, 3], values[9, 0] = np.nan, -np.inf
    return values


REFUSED: dict[str, tuple[Callable[[Path], Path], tuple[str, ...]]] = {
    "nothing there": (lambda folder: folder / "z.npy", ("There is no file",)),
    "empty": (lambda folder: text(folder, "z.npy", b""), ("is empty",)),
    "no npy": (lambda folder: text(folder, "z.npy"), ("not an array in numpy's format",)),
    "no zip": (lambda folder: text(folder, "z.npz"), ("not a whole .npz",)),
    "no safetensors": (lambda folder: text(folder, "z.safetensors"), ("not a whole .safetensors",)),
    "no parquet": (lambda folder: text(folder, "z.parquet"), ("z.parquet",)),
    "unknown ending": (lambda folder: text(folder, "z.mat"), ("an unknown file ending", ".safetensors")),
    "a pickle": (lambda folder: text(folder, "z.pt"), ("could run code", "safetensors.torch.save_file")),
    "cut npy": (lambda folder: cut(saved(folder, POINTS), 0.7), ("truncated", "1,200 bytes")),
    "cut npz": (lambda folder: cut(written(folder, "z.npz"), 0.7), ("not a whole .npz",)),
    "cut packed": (lambda folder: cut(written(folder, "packed.npz"), 0.9), ("not a whole .npz",)),
    "cut safetensors": (lambda folder: cut(written(folder, "z.safetensors"), 0.8), ("not a whole .safetensors",)),
    "cut parquet": (lambda folder: cut(written(folder, "z.parquet"), 0.8), ("z.parquet",)),
    "one axis": (lambda folder: saved(folder, POINTS[:, 0]), ("1 axis", "reshape(-1, 1)")),
    "a number": (lambda folder: saved(folder, np.float64(3)), ("0 axes",)),
    "no rows": (lambda folder: saved(folder, POINTS[:0]), ("has no rows",)),
    "no dimensions": (lambda folder: saved(folder, POINTS[:, :0]), ("has no dimensions",)),
    "text": (lambda folder: saved(folder, np.array([["a", "b"]])), ("does not hold numbers",)),
    "complex": (lambda folder: saved(folder, POINTS.astype(complex)), ("does not hold numbers",)),
    "not finite": (
        lambda folder: saved(folder, with_bad_numbers()),
        ("2 numbers of z.npy are not finite", "nan in row 7, column 3"),
    ),
    "huge shape": (lambda folder: text(folder, "z.npy", header_of((10**15, 10**15))), ("truncated",)),
    "huge member": (lambda folder: npz_with(folder, header_of((10**13, 8)), bytes(10_000)), ("truncated",)),
    "huge stored member": (
        lambda folder: npz_with(folder, header_of((10**13, 8)), bytes(10_000), zipfile.ZIP_STORED),
        ("truncated",),
    ),
    "ragged lists": (lambda folder: parquet(folder / "z.parquet", [[1.0, 2.0], [1.0]]), ("not equally long", "row 1")),
    "a missing list": (lambda folder: parquet(folder / "z.parquet", [[1.0, 2.0], None]), ("row 1 has none",)),
    "a missing number": (
        lambda folder: parquet(folder / "z.parquet", [[1.0, 2.0], [None, 1.0]]),
        ("1 number of", "nan in row 1, column 0"),
    ),
    "lists of text": (
        lambda folder: parquet(folder / "z.parquet", [["a"], ["b"]]),
        ("does not hold lists of numbers",),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_embedding_is_refused_in_words(tmp_path: Path, case: str) -> None:
    make, words = REFUSED[case]
    with pytest.raises(BadInput) as told:
        open_embedding(make(tmp_path))
    for word in words:
        assert word in str(told.value)


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_pickled_objects_are_refused_and_not_run(tmp_path: Path, ending: str) -> None:
    sprung = tmp_path / "sprung"
    values = np.array([[Trap(sprung)]], dtype=object)
    path = tmp_path / f"z.{ending}"
    np.save(path, values, allow_pickle=True) if ending == "npy" else np.savez(path, z=values)
    with pytest.raises(BadInput, match=r"pickled Python objects.*could run code"):
        open_embedding(path)
    assert not sprung.exists()
    with pytest.raises(BadInput, match="Python objects"):
        open_embedding(values)


def test_a_file_that_would_unpack_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = npz_with(tmp_path, header_of((1_000, 250)), bytes(1_000_000))
    assert open_embedding(path).points.nbytes == 1_000_000
    monkeypatch.setattr(array_files, "MOST_UNPACKED", 10_000)
    with pytest.raises(BadInput, match=r"unpacks to 1,000,000 bytes"):
        open_embedding(path)


def test_a_size_that_no_compression_reaches_is_refused_before_anything_is_allocated(tmp_path: Path) -> None:
    path = npz_with(tmp_path, header_of((1_000_000, 250)), bytes(1_000))
    content = bytearray(path.read_bytes())
    # The directory says that the member unpacks to a gigabyte.
    place = content.rindex(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<L", 1_000_000_128)
    path.write_bytes(content)
    with pytest.raises(BadInput, match="truncated"):
        open_embedding(path)


def test_an_unknown_name_is_told_with_the_nearest(tmp_path: Path) -> None:
    np.savez(tmp_path / "z.npz", embedding=POINTS, layer=POINTS)
    for wanted, words in (("embeding", "did you mean 'embedding'"), (None, "several arrays")):
        with pytest.raises(BadInput, match=words):
            open_embedding(tmp_path / "z.npz", wanted)
    with pytest.raises(BadInput, match="did you mean 'z'"):
        open_embedding(parquet(tmp_path / "z.parquet", POINTS), "Z")
    with pytest.raises(BadInput, match="without a name"):
        open_embedding(saved(tmp_path, POINTS), "z")
    np.savez(tmp_path / "v.npz", v=np.arange(3))
    with pytest.raises(BadInput, match="no array"):
        open_embedding(tmp_path / "v.npz")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(BadInput, match="no column of lists"):
        open_embedding(tmp_path / "a.parquet")


# Ids and rows.


def with_ids(path: Path, points: Any, ids: Any) -> Path:
    np.savez(path, z=points, person=np.array(ids))
    return path


def test_rows_are_matched_by_id_in_whatever_order_they_lie(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(60)
    first = open_embedding(with_ids(tmp_path / "a.npz", POINTS, NAMES), id="person")
    second = open_embedding(with_ids(tmp_path / "b.npz", POINTS[order], np.array(NAMES)[order]), id="person")
    assert np.array_equal(align_embeddings(first, second, by_id=True).points, POINTS)
    frame = pd.DataFrame({"person": np.array(NAMES)[order], "age": order})
    for rows in (frame, frame.to_dict("list")):
        table = pair_rows(first, rows, columns=["age"], id="person")
        assert [int(age) for age in table.column("age")] == list(range(60))
    in_table = parquet(tmp_path / "c.parquet", POINTS[order], person=np.array(NAMES)[order])
    assert np.array_equal(align_embeddings(first, open_embedding(in_table, id="person"), by_id=True).points, POINTS)


def test_numbers_and_text_are_the_same_id(tmp_path: Path) -> None:
    found = open_embedding(with_ids(tmp_path / "a.npz", POINTS[:3], [3, 1, 2]), id="person")
    table = pair_rows(found, {"person": ["1", "2", "3"], "age": [10, 20, 30]}, columns=["age"], id="person")
    assert list(table.column("age")) == [30, 10, 20]


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (
            [*NAMES[:58], "x", "y"],
            r"2 ids of a.npz are not in b.npz \(p58, p59\); 2 ids of b.npz are not in a.npz \(x, y",
        ),
        ([*NAMES[:59], "p0"], "1 id of b.npz occurs more than once: p0"),
    ],
)
def test_ids_that_do_not_match_one_to_one_are_counted_and_shown(tmp_path: Path, ids: list[str], words: str) -> None:
    first = open_embedding(with_ids(tmp_path / "a.npz", POINTS, NAMES), id="person")
    with pytest.raises(BadInput, match=words):
        align_embeddings(first, open_embedding(with_ids(tmp_path / "b.npz", POINTS, ids), id="person"), by_id=True)


def test_ids_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no ids: a \.npy file holds one array"):
        open_embedding(saved(tmp_path, POINTS), id="person")
    np.savez(tmp_path / "z.npz", z=POINTS, person=np.arange(59))
    with pytest.raises(BadInput, match="have shape"):
        open_embedding(tmp_path / "z.npz", "z", id="person")
    with pytest.raises(BadInput, match="did you mean 'person'"):
        open_embedding(tmp_path / "z.npz", "z", id="persn")
    missing = parquet(tmp_path / "m.parquet", POINTS[:2], person=["a", None])
    with pytest.raises(BadInput, match=r"1 id of m\.parquet is missing, the first in row 1"):
        open_embedding(missing, id="person")
    with pytest.raises(BadInput, match="in memory has no ids"):
        open_embedding(POINTS, id="person")


def test_files_whose_own_ids_contradict_their_order_are_not_taken_in_order(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", z=POINTS, id=np.arange(60))
    np.savez(tmp_path / "b.npz", z=POINTS[::-1], id=np.arange(60)[::-1])
    first, second = (open_embedding(tmp_path / name) for name in ("a.npz", "b.npz"))
    with pytest.raises(BadInput, match=r"60 of 60 rows differ in them: row 0 is '0' in one and '59' in the other"):
        align_embeddings(first, second, by_id=False)
    assert align_embeddings(first, first, by_id=False) is first
    with pytest.raises(BadInput, match="rows differ in them"):
        pair_rows(first, {"id": list(range(1, 61)), "age": list(range(60))}, columns=["age"])


@pytest.mark.long
@pytest.mark.parametrize("name", ["pid", "ids", "person_id", "userId", "PersonID", "filename", "subjectid", "key"])
@pytest.mark.parametrize("kind", ["npz", "safetensors", "parquet"])
def test_any_column_that_says_whose_row_it_is_must_agree_with_the_order(tmp_path: Path, name: str, kind: str) -> None:
    def saved_with(file: str, numbers: Any) -> Path:
        if kind == "parquet":
            return parquet(tmp_path / f"{file}.parquet", POINTS, **{name: numbers.tolist()})
        if kind == "safetensors":
            save_file({"z": POINTS, name: np.ascontiguousarray(numbers)}, tmp_path / f"{file}.safetensors")
        else:
            np.savez(tmp_path / f"{file}.npz", z=POINTS, **{name: numbers})
        return tmp_path / f"{file}.{kind}"

    numbers = np.arange(60) + 1_000
    first, same, turned, others = (
        open_embedding(saved_with(file, column))
        for file, column in (("a", numbers), ("b", numbers.copy()), ("c", numbers[::-1]), ("d", numbers + 7))
    )
    assert align_embeddings(first, same, by_id=False) is same
    with pytest.raises(BadInput, match=rf"both have ids \({name!r}\), and 60 of 60(?s:.*)help: match.*--id {name}"):
        align_embeddings(first, turned, by_id=False)
    with pytest.raises(BadInput, match=rf"help: keep the people who are in both, and match.*--id {name}"):
        align_embeddings(first, others, by_id=False)
    with pytest.raises(BadInput, match="rows differ in them"):
        pair_rows(first, {name: numbers[::-1], "age": numbers}, columns=["age"])
    with pytest.raises(BadInput, match="rows differ in them"):  # one side that repeats an id is no better
        pair_rows(first, {name: numbers // 2, "age": numbers}, columns=["age"])
    assert pair_rows(first, {name: numbers.astype(str), "age": numbers}, columns=["age"]).rows == 60
    assert first.ids == tuple(map(str, numbers))


def test_what_holds_the_same_values_in_another_order_is_an_id_whatever_its_name(tmp_path: Path) -> None:
    def opened(file: str, **columns: Any) -> Embedding:
        np.savez(tmp_path / f"{file}.npz", z=POINTS, **columns)
        return open_embedding(tmp_path / f"{file}.npz")

    first = opened("a", who=np.array(NAMES), classes=np.array(["x", "y"]))
    with pytest.raises(BadInput, match=r"both have ids \('who'\)"):
        align_embeddings(first, opened("b", who=np.array(NAMES[::-1])), by_id=False)
    with pytest.raises(BadInput, match=r"call 'ids' of d.npz 'id' too"):
        align_embeddings(opened("c", id=np.array(NAMES)), opened("d", ids=np.array(NAMES[::-1])), by_id=False)
    # Labels, ranks, scores and other text may well differ from before to after.
    numbers = np.arange(60)
    for column in ("label", "rank", "score", "note"):
        before, after = {
            "label": (numbers % 2, numbers % 3),
            "rank": (numbers, numbers[::-1]),
            "score": (numbers / 7, numbers[::-1] / 7),
            "note": (np.array([f"one {n}" for n in numbers]), np.array([f"other {n}" for n in numbers])),
        }[column]
        align_embeddings(opened("e", **{column: before}), opened("f", **{column: after}), by_id=False)
    np.savez(tmp_path / "rows.npz", sex=numbers % 2, classes=np.array(["x", "y", "z"]))
    assert pair_rows(first, tmp_path / "rows.npz", columns=["sex"]).rows == 60
    turned = first.take(np.arange(60)[::-1])
    assert align_embeddings(turned, turned, by_id=False) is turned, "its file is in another order by now"


def test_different_numbers_of_rows_are_refused() -> None:
    found = open_embedding(POINTS, name="a.npy")
    with pytest.raises(BadInput, match=r"a\.npy has 60, b\.npy has 59"):
        align_embeddings(found, open_embedding(POINTS[:59], name="b.npy"), by_id=False)
    with pytest.raises(BadInput, match="numbers of rows differ"):
        pair_rows(found, {"age": [1, 2]}, columns=["age"])
    with pytest.raises(BadInput, match="No table of rows"):
        pair_rows(found, columns=["age"])


def test_columns_may_be_arrays_of_a_file_that_also_holds_other_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "labels.npz", sex=np.arange(60) % 2, names=np.array(["a", "b"]), wide=POINTS)
    found: Embedding = open_embedding(POINTS)
    table = pair_rows(found, tmp_path / "labels.npz", columns=["sex"])
    assert list(table.column("sex")[:3]) == [0, 1, 0]
    with pytest.raises(BadInput, match="did you mean 'sex'"):
        read_rows(tmp_path / "labels.npz", ["sexx"])
    with pytest.raises(BadInput, match="one value per row"):
        read_rows(tmp_path / "labels.npz", ["wide"])
    with pytest.raises(BadInput, match="not columns with names"):
        read_rows(saved(tmp_path, POINTS), ["sex"])
    with pytest.raises(BadInput, match="There is no file"):
        read_rows(tmp_path / "none.npz", ["sex"])


@pytest.mark.skipif(not os.environ.get("EQUIPOISE_DATA"), reason="EQUIPOISE_DATA is not set")
def test_the_faces_of_lfw_are_paired_with_their_labels() -> None:
    folder = Path(os.environ["EQUIPOISE_DATA"]) / "lfw"
    found = open_embedding(folder / "lfw_dlib128_f16.npz", "embedding")
    assert (found.points.shape, found.points.dtype) == ((13_233, 128), np.float16)
    table = pair_rows(found, folder / "lfw_labels.npz", columns=["gender_male"])
    assert table.rows == 13_233
