"""Directions in files: whole, checked, and never a pickle."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from equipoise.discovery import Hyperplane, load_directions, save_directions
from equipoise.foundation import BadInput

PLANES = (Hyperplane("âge", np.array([1.0, 2.0, -0.5]), 0.7), Hyperplane("glasses", np.array([0.0, 1.0, 0.0]), -3.0))


def test_directions_come_back_to_the_last_bit(tmp_path: Path) -> None:
    path = save_directions(tmp_path / "found.safetensors", PLANES, {"seed": 3})
    planes, said = load_directions(path)
    assert said == {"seed": 3}
    for plane, other in zip(PLANES, planes, strict=True):
        assert plane.name == other.name
        np.testing.assert_allclose(other.normal, plane.normal, rtol=1e-15)
        assert other.offset == pytest.approx(plane.offset, rel=1e-15)
    assert json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["names"] == ["âge", "glasses"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"names": ["a", "b", "c"]}, "3 names"),
        ({"names": ["a", "a"]}, "one name"),
        ({"names": "ab"}, "not a list"),
        ({"latent_size": 4}, "size 4"),
        ({"schema": "equipoise.directions/9"}, "schema"),
        ({"said": 3}, "not a table"),
    ],
)
def test_a_file_beside_it_that_does_not_belong_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    path = save_directions(tmp_path / "found.safetensors", PLANES)
    beside = tmp_path / "found.json"
    beside.write_text(json.dumps({**json.loads(beside.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    with pytest.raises(BadInput, match=words):
        load_directions(path)


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"normals": np.ones((2, 3))}, "it holds normals"),
        ({"normals": np.ones((2, 2)), "offsets": np.zeros(2)}, r"\(2, 2\)"),
        ({"normals": np.full((2, 3), np.nan), "offsets": np.zeros(2)}, "not finite"),
        ({"normals": np.zeros((2, 3)), "offsets": np.zeros(2)}, "0 everywhere"),
        ({"normals": np.ones((2, 3), dtype=np.int64), "offsets": np.zeros(2)}, "normals are int64 and offsets float64"),
        ({"normals": np.ones((2, 3)), "offsets": np.zeros(2, dtype=bool)}, "offsets bool"),
    ],
)
def test_tensors_that_are_no_directions_are_refused(tmp_path: Path, tensors: Any, words: str) -> None:
    path = save_directions(tmp_path / "found.safetensors", PLANES)
    save_file(tensors, path)
    with pytest.raises(BadInput, match=words):
        load_directions(path)


@pytest.mark.parametrize(("kind", "size"), [("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1)])
def test_numbers_that_numpy_has_not_are_refused(tmp_path: Path, kind: str, size: int) -> None:
    path = save_directions(tmp_path / "found.safetensors", PLANES)
    tensors = {"normals": {"dtype": kind, "shape": [2, 3], "data_offsets": [0, 6 * size]},
               "offsets": {"dtype": kind, "shape": [2], "data_offsets": [6 * size, 8 * size]}}  # fmt: skip
    header = json.dumps(tensors).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8 * size))
    with pytest.raises(BadInput, match=rf"not whole \(KeyError: '{kind}'"):
        load_directions(path)


def test_a_file_beside_it_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = save_directions(tmp_path / "found.safetensors", PLANES)
    path.with_suffix(".json").write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(BadInput, match=r"not whole \(RecursionError"):
        load_directions(path)


def test_pickles_torn_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = save_directions(tmp_path / "found.safetensors", PLANES)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BadInput, match="not whole"):
        load_directions(path)
    path.write_bytes(pickle.dumps({"normals": [1.0]}))
    with pytest.raises(BadInput, match="pickle"):
        load_directions(path)
    path.unlink()
    with pytest.raises(BadInput, match="no file"):
        load_directions(path)
    with pytest.raises(BadInput, match="ending"):
        load_directions(tmp_path / "found.pt")


@pytest.mark.parametrize(
    ("planes", "said", "words"),
    [
        ((), None, "0 planes"),
        ((PLANES[0], Hyperplane("b", np.ones(2))), None, "one latent space"),
        ((PLANES[0], PLANES[0]), None, "one name"),
        (PLANES, {"loss": float("nan")}, "not JSON"),
        (PLANES, {"loss": object()}, "not JSON"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(
    tmp_path: Path, planes: Any, said: Any, words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        save_directions(tmp_path / "found.safetensors", planes, said)
    assert not list(tmp_path.iterdir())
