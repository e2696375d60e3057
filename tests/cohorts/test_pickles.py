"""Pickled tables: columns of frames and dicts are read, and nothing that a hostile file names is run or imported."""

from __future__ import annotations

import copyreg
import io
import os
import pickle
import random
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from equipoise.cohorts._pickles import NAMES, read_pickled_columns
from equipoise.foundation import BadInput

POINTS = np.arange(12, dtype=np.float32).reshape(4, 3)
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def frame() -> pd.DataFrame:
    """What pandas before 3 wrote of such a table: text as objects, also in the names of columns."""
    columns: dict[str, Any] = {
        "points": list(POINTS), "lists": POINTS.tolist(), "code": [3, 1, 2, 0], "number": [0.5, 1.5, -1.0, 2.0],
        "word": ["a", "b", None, "é"], "mixed": [np.int64(1), 2, "c", np.float32(0.5)],
    }  # fmt: skip
    table = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    table = table.astype({"code": "int64", "number": "float64"})
    table.columns = pd.Index(list(columns), dtype=object)
    return table


def check_columns(read: dict[str, Any]) -> None:
    assert np.array_equal(read["points"], POINTS)
    assert read["points"].dtype == np.float32
    assert np.array_equal(read["lists"], POINTS)
    assert read["code"].tolist() == [3, 1, 2, 0]
    assert read["number"].tolist() == [0.5, 1.5, -1.0, 2.0]
    assert read["word"].tolist() == ["a", "b", None, "é"]
    assert read["mixed"].tolist() == [1, 2, "c", 0.5]


def written(folder: Path, content: bytes, name: str = "table.pkl") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_columns_of_a_frame_are_what_pandas_reads(protocol: int, tmp_path: Path) -> None:
    path = written(tmp_path, pickle.dumps(frame(), protocol=protocol))
    check_columns(read_pickled_columns(path, list(frame().columns)))


def test_names_of_numpy_before_2_are_read(tmp_path: Path) -> None:
    content = pickle.dumps(frame(), protocol=2)
    assert b"numpy._core.multiarray\n" in content
    path = written(tmp_path, content.replace(b"numpy._core.multiarray\n", b"numpy.core.multiarray\n"))
    check_columns(read_pickled_columns(path, list(frame().columns)))


def test_frames_as_pandas_before_1_3_pickled_them_are_read(tmp_path: Path) -> None:
    table = frame()
    manager = table._mgr

    class Earlier(pickle._Pickler):
        def reducer_override(self, value: Any) -> Any:
            if value is manager:
                axes = list(manager.axes)
                blocks = [{"values": block.values, "mgr_locs": block.mgr_locs.indexer} for block in manager.blocks]
                state = (axes, [], [], {"0.14.1": {"axes": axes, "blocks": blocks}})
                return copyreg.__newobj__, (type(manager),), state  # type: ignore[attr-defined]
            return NotImplemented

    file = io.BytesIO()
    Earlier(file, protocol=4).dump(table)
    check_columns(read_pickled_columns(written(tmp_path, file.getvalue()), list(table.columns)))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_dict_of_arrays_and_lists_is_read(protocol: int, tmp_path: Path) -> None:
    if protocol < 2:
        content = pickle.dumps({"code": [1, 2], "word": ["x", "y"]}, protocol=protocol)
    else:
        arrays = {
            "big": np.array([1, 256], dtype=">i4"),
            "points": POINTS[:2].T.copy().T,
            "text": np.array(["u", "vé"]),
        }
        content = pickle.dumps({"code": [1, 2], "word": ["x", "y"], **arrays}, protocol=protocol)
        read = read_pickled_columns(written(tmp_path, content), ["big", "points", "text"])
        assert (read["big"].tolist(), read["text"].tolist()) == ([1, 256], ["u", "vé"])
        assert np.array_equal(read["points"], POINTS[:2])
    read = read_pickled_columns(written(tmp_path, content), ["code", "word"])
    assert (read["code"].tolist(), read["word"].tolist()) == ([1, 2], ["x", "y"])


def test_a_column_that_is_not_there_and_columns_of_other_lengths_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, pickle.dumps({"code": [1, 2], "word": ["x"]}))
    with pytest.raises(BadInput, match="did you mean 'code'"):
        read_pickled_columns(path, ["kode"])
    with pytest.raises(BadInput, match="different lengths"):
        read_pickled_columns(path, ["code", "word"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([1, 2], "it holds a list"),
        ({"points": [[1.0, 2.0], [3.0]]}, "its rows have 1, 2 numbers"),
        ({"points": [[1.0], [float("nan")]]}, "not finite"),
        ({"points": [{}, {}]}, "it holds a dict"),
        ({"points": np.array(["2020-01-01"], dtype="datetime64[D]")}, "of the type 'M8"),
        ({"points": np.zeros(2, dtype=[("a", "f4"), ("b", "O")])}, "of the type 'V"),
        ({"points": np.zeros(2, dtype=complex)}, "of the type 'c16'"),
    ],
)
def test_what_is_no_table_is_refused(content: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=words):
        read_pickled_columns(written(tmp_path, pickle.dumps(content)), ["points"])


# Hostile files. Each would write the file `marker`, or do something worse, where it was unpickled.


class Called:
    """Pickled as a call of a function."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = (function, args)

    def __reduce__(self) -> Any:
        return self.call


def hostile(marker: Path) -> dict[str, bytes]:
    touch = f"touch {marker}"
    system = Called(os.system, touch)
    code = f"open({str(marker)!r}, 'w').close()"
    named = f"cposix\nsystem\n(V{touch}\ntR.".encode()
    objects = pickle.dumps(np.array([system], dtype=object), protocol=4)
    cell = pd.DataFrame({"points": pd.Series([system], dtype=object)})
    cell.columns = pd.Index(["points"], dtype=object)
    return {
        **{f"os.system {protocol}": pickle.dumps(system, protocol=protocol) for protocol in range(6)},
        "os.system in protocol 0": named,
        "an instance of protocol 0": f"(V{touch}\niposix\nsystem\n.".encode(),
        "a class object of protocol 1": f"(cposix\nsystem\nV{touch}\no.".encode(),
        "eval": pickle.dumps(Called(eval, code)),
        "exec": pickle.dumps(Called(exec, code)),
        "getattr": pickle.dumps(Called(getattr, "a", "upper")),
        "a name with dots": b"\x80\x04\x8c\x05numpy\x8c\x15ndarray.__reduce_ex__\x93.",
        "an array of objects": objects,
        "a cell of a frame": pickle.dumps(cell),
        "behind a column": pickle.dumps({"points": [1.0], "other": system}),
        "a subclass of an array": pickle.dumps(Called(np.ndarray.__reduce__, np.zeros(1))),
        "a persistent id": b"Pposix.system\n.",
        "a state for a class": b"\x80\x02cnumpy\nndarray\n}X\x04\x00\x00\x00kindX\x01\x00\x00\x00xsb.",
        "a state for a list": b"\x80\x02]}X\x01\x00\x00\x00aK\x01sb.",
        "a buffer from outside": b"\x80\x05\x97.",
        "a call of a text": b"\x80\x02X\x06\x00\x00\x00system)R.",
        "a memo of billions": b"\x80\x02]r" + struct.pack("<I", 2**31 - 1) + b".",
        "bytes that are not there": b"\x80\x04\x8e" + struct.pack("<Q", 2**61) + b"abc.",
        "deep lists": b"\x80\x02" + b"]" * 10 + b"a" * 5_000 + b".",
        "nothing": b"",
        "no pickle": b"hard_text,profession\n",
    }


@pytest.mark.parametrize("name", list(hostile(Path("marker"))))
def test_a_hostile_file_is_refused_and_nothing_of_it_is_run(name: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with pytest.raises(BadInput) as caught:
        read_pickled_columns(written(tmp_path, hostile(marker)[name]), ["points"])
    assert "table.pkl" in caught.value.given
    assert "Parquet" in caught.value.help
    assert not marker.exists()


def test_the_hostile_files_do_run_where_they_are_unpickled(tmp_path: Path) -> None:
    for name in ("os.system 4", "an instance of protocol 0", "eval", "an array of objects", "behind a column"):
        marker = tmp_path / name.replace(" ", "_")
        pickle.loads(hostile(marker)[name])
        assert marker.exists(), name


def test_a_refused_name_is_said_and_its_module_is_not_imported(tmp_path: Path) -> None:
    path = written(tmp_path, b"\x80\x02cantigravity\nfly\n)R.")
    with pytest.raises(BadInput, match=r"names 'antigravity\.fly'"):
        read_pickled_columns(path, ["points"])
    assert "antigravity" not in sys.modules


def test_a_name_by_its_number_is_refused_also_where_this_process_knows_it(tmp_path: Path) -> None:
    copyreg.add_extension("posix", "system", 4711)
    try:
        marker = tmp_path / "marker"
        content = pickle.dumps(Called(os.system, f"touch {marker}"), protocol=2)
        assert b"posix" not in content
        for _ in range(2):
            with pytest.raises(BadInput, match="by the number 4711"):
                read_pickled_columns(written(tmp_path, content), ["points"])
            assert not marker.exists()
            pickle.loads(content)  # from now on the number is known to stand for the function
            marker.unlink()
    finally:
        copyreg.remove_extension("posix", "system", 4711)
        copyreg._extension_cache.pop(4711, None)  # type: ignore[attr-defined]


def test_numbers_that_are_said_to_be_objects_are_refused(tmp_path: Path) -> None:
    good = pickle.dumps({"points": np.arange(4, dtype=np.int64)}, protocol=2)
    as_objects = good.replace(b"X\x02\x00\x00\x00i8", b"X\x02\x00\x00\x00O8")
    assert as_objects != good
    with pytest.raises(BadInput, match="other objects than its shape says"):
        read_pickled_columns(written(tmp_path, as_objects), ["points"])


@pytest.mark.parametrize(("old", "new"), [(b"K\x04\x85", b"K\x05\x85"), (b"K\x04\x85", b"J\xff\xff\xff\xff\x85")])
def test_a_shape_that_does_not_fit_its_numbers_is_refused(old: bytes, new: bytes, tmp_path: Path) -> None:
    good = pickle.dumps({"points": np.arange(4, dtype=np.int64)}, protocol=2)
    with pytest.raises(BadInput, match="points"):
        read_pickled_columns(written(tmp_path, good.replace(old, new)), ["points"])


def test_a_file_that_is_cut_short_anywhere_is_refused(tmp_path: Path) -> None:
    content = pickle.dumps(frame(), protocol=4)
    for length in range(0, len(content), 7):
        with pytest.raises(BadInput, match="cannot be read"):
            read_pickled_columns(written(tmp_path, content[:length]), ["points"])


def test_a_damaged_file_is_read_or_refused_and_never_anything_else(tmp_path: Path) -> None:
    draw, content = random.Random(3), pickle.dumps(frame(), protocol=4)
    refused = 0
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        try:
            read_pickled_columns(written(tmp_path, bytes(damaged)), ["points", "word"])
        except BadInput:
            refused += 1
    assert 50 < refused < 300


def test_every_name_of_the_list_is_one_of_arrays_and_frames() -> None:
    modules = {module.partition(".")[0] for module, _ in NAMES}
    assert modules == {"numpy", "pandas", "_codecs", "builtins", "__builtin__"}
    assert {name for module, name in NAMES if "builtin" in module} == {"bytearray", "slice"}
