"""Known attributes from a file: read whole, checked, and nothing is read from outside its folder."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.discovery import Hyperplane, read_known_attributes, save_directions
from equipoise.foundation import BadInput

GIVEN = {
    "schema": "equipoise.known/1", "latent_size": 3, "target": "gender",
    "hyperplanes": [{"name": "gender", "normal": [2, 0, 0], "offset": 4}, {"name": "âge", "normal": [0, 1, 0]}],
}  # fmt: skip


def written(folder: Path, content: Any) -> Path:
    path = folder / "known.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def labelled(folder: Path, **change: Any) -> Path:
    rng = np.random.default_rng(0)
    latents = rng.normal(size=(400, 3))
    np.save(folder / "latents.npy", latents)
    np.save(folder / "age.npy", latents[:, 0] + 0.1 * rng.normal(size=400))
    content = {
        "latents": "latents.npy", "target": "smiles",
        "attributes": {"age": "age.npy", "smiles": (latents[:, 1] > 0).tolist(),
                       "coin": ["heads" if one else "tails" for one in rng.random(400) < 0.5]},
    }  # fmt: skip
    return written(folder, {**content, **change})


def test_hyperplanes_are_read_with_their_target(tmp_path: Path) -> None:
    known = read_known_attributes(written(tmp_path, GIVEN), 3)
    assert known.target is not None
    assert (known.target.name, known.target.offset) == ("gender", 2.0)
    assert [plane.name for plane in known.hyperplanes] == ["âge"]
    other = read_known_attributes(written(tmp_path, GIVEN), 3, target="âge")
    assert other.target is not None
    assert other.target.name == "âge"
    none = read_known_attributes(written(tmp_path, {**GIVEN, "target": None}), 3)
    assert none.target is None
    assert len(none.hyperplanes) == 2


def test_labelled_latents_are_fitted_and_what_is_dropped_is_said(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs equipoise[train]")
    known = read_known_attributes(labelled(tmp_path), 3)
    assert known.target is not None
    assert abs(known.target.normal[1]) > 0.98
    assert [plane.name for plane in known.hyperplanes] == ["age"]
    assert "age (R2" in known.notes[0]
    assert known.notes[1].startswith("Left out: coin (AUC is")
    with pytest.raises(BadInput, match=r"The target 'coin' of known\.json could not be fitted: AUC"):
        read_known_attributes(tmp_path / "known.json", 3, target="coin")


def test_labels_of_people_are_told_as_a_pseudo_ground_truth(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs equipoise[train]")
    known = read_known_attributes(labelled(tmp_path, source="annotators' labels of real faces"), 3)
    begun = "Fitted to labelled latents (pseudo ground truth, annotators' labels of real faces), on held-out rows: age"
    assert known.notes[0].startswith(begun)
    plain = read_known_attributes(labelled(tmp_path), 3)
    assert plain.notes[0].startswith("Fitted to labelled latents, on held-out rows: age")


def test_directions_that_were_saved_are_known_attributes(tmp_path: Path) -> None:
    path = save_directions(tmp_path / "named.safetensors", [Hyperplane("tint", np.eye(3)[1])])
    assert read_known_attributes(path, 3).hyperplanes[0].name == "tint"
    target = read_known_attributes(path, 3, target="tint").target
    assert target is not None
    with pytest.raises(BadInput, match="'tint' has 3 dimensions"):
        read_known_attributes(path, 4)


def headed(header: str) -> bytes:
    """Return the beginning of a .npy, with a header of anybody's choice."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def plane(**change: Any) -> dict[str, Any]:
    return {**GIVEN, "hyperplanes": [{"name": "a", "normal": [1, 0, 0], "offset": 0, **change}], "target": None}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        (json.dumps(plane(normal=[float("nan"), 0, 0])), "NaN is not a number"),
        (json.dumps(plane(offset=float("inf"))), "Infinity is not a number"),
        ("[]", "it is not a table"),
        ({}, "neither hyperplanes nor latents"),
        ({**GIVEN, "latents": "a.npy"}, "hyperplanes and latents"),
        ({**GIVEN, "hyperplane": []}, "entry 'hyperplane' not found"),
        ({**GIVEN, "source": "labels"}, "entry 'source' not found"),
        ({**GIVEN, "schema": "equipoise.known/2"}, "its schema is"),
        ({**GIVEN, "target": "gendr"}, "did you mean 'gender'"),
        ({**GIVEN, "target": 3}, "target is not a name"),
        ({**GIVEN, "hyperplanes": []}, "not a list of tables"),
        ({**GIVEN, "hyperplanes": [3]}, "not a list of tables"),
        (plane(name=" "), "is not a name"),
        (plane(name="a" * 1000), "is not a name"),
        (plane(name=None), "is not a name"),
        (plane(normal=[1, 0]), "has 2 numbers"),
        (plane(normal=[1, True, 0]), "no normal and offset in numbers"),
        (plane(normal="100"), "no normal and offset in numbers"),
        (plane(offset=None), "no normal and offset in numbers"),
        (plane(weight=3), "no normal and offset in numbers"),
        (plane(normal=[0, 0, 0]), "0 everywhere"),
        (plane(normal=[10**400, 0, 0]), "'a' has a number that is too large"),
        (plane(offset=-(10**400)), "'a' has a number that is too large"),
        (plane(normal=[1e999, 0, 0]), "Infinity is not a number|not finite"),
        ({"hyperplanes": [{"name": "a", "normal": [1, 0]}]}, "'a' has 2 dimensions"),
        ({"hyperplanes": [{"name": "a", "normal": [1, 0, 0]}] * 2}, "two attributes have one name"),
    ],
)
def test_hyperplanes_that_are_none_are_refused(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read_known_attributes(written(tmp_path, content), 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"latents": "../latents.npy"}, "is outside its folder"),
        ({"latents": "/etc/passwd"}, "is outside its folder"),
        ({"latents": "none.npy"}, "there is no 'none.npy'"),
        ({"latents": [[1, 2, 3]]}, "latents is not a file name"),
        ({"latents": "known.json"}, "known.json is not an array"),
        ({"latents": "age.npy"}, r"of the shape \(400,\)"),
        ({"attributes": {}}, "no attributes"),
        ({"attributes": {"age": [1, "a"]}}, "not a list of one kind"),
        ({"attributes": {"age": [[1], [2]]}}, "not a list of one kind"),
        ({"attributes": {"age": [10**400] * 400}}, "too large"),
        ({"attributes": {"age": [1, 2, 3]}}, r"age has the shape \(3,\)"),
        ({"attributes": {"age": ["a" * 201, "b"] * 200}}, "'age' has a word that is too long"),
        ({"latents": "none\0.npy"}, "names the file 'none.x00.npy'"),
        ({"latents": "n" * 5000}, "names the file 'n{200}' .OSError"),
        ({"latents": "loop/latents.npy"}, "names the file 'loop/latents.npy' .RuntimeError"),
        ({"latents": "minus.npy"}, "minus.npy is not an array"),
        ({"latents": "zip.npy"}, "zip.npy is not an array"),
        ({"latents": "torn.npy"}, "torn.npy is not an array"),
        ({"latents": "wide.npy"}, "values of 1000000000 bytes"),
        ({"circular": ["none"]}, "circular is"),
        ({"circular": [["age"]]}, r"circular is \[\['age'\]\]"),
        ({"circular": {"age": 1}}, "circular is"),
        ({"latent_size": 4}, "the latents have 3 dimensions"),
        ({"source": 3}, "its source is '3'"),
        ({"source": None}, "its source is 'None'"),
        ({"source": " "}, r"(?s)its source is ' '.*words of 1 to 200 letters"),
        ({"source": "s" * 201}, "its source is 's{200}'"),
        ({"target": "coyn"}, "attribute 'coyn' not found"),
    ],
)
def test_labelled_latents_that_cannot_be_read_are_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    pytest.importorskip("torch", reason="needs equipoise[train]")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "minus.npy").write_bytes(headed("-" * 9000 + "1"))
    (tmp_path / "zip.npy").write_bytes(b"PK\x03\x04 and no more")
    (tmp_path / "torn.npy").write_bytes(headed("{'descr': '<f8', 'fortran_order': False, 'shape': (400, 3)}"))
    with (tmp_path / "wide.npy").open("wb") as file:  # it takes no room: nothing is written behind its header
        file.write(headed("{'descr': '|S1000000000', 'fortran_order': False, 'shape': (3,)}"))
        file.truncate(3_000_001_000)
    with pytest.raises(BadInput, match=words):
        read_known_attributes(labelled(tmp_path, **change), 3)


def test_a_pickle_is_never_read_and_a_link_leads_nowhere(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    inner = tmp_path / "inner"
    inner.mkdir()
    path = labelled(inner, latents="trap.npy")
    (inner / "trap.npy").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(BadInput, match="pickles are not read"):
        read_known_attributes(path, 3)
    assert not (tmp_path / "sprung").exists()
    (inner / "trap.npy").unlink()
    np.save(tmp_path / "outside.npy", np.zeros((400, 3)))
    (inner / "trap.npy").symlink_to(tmp_path / "outside.npy")
    with pytest.raises(BadInput, match="is outside its folder"):
        read_known_attributes(path, 3)
    (inner / "trap.npy").unlink()
    np.savez(inner / "several.npz", a=np.zeros(3))
    with pytest.raises(BadInput, match=r"several\.npz is not an array"):
        read_known_attributes(labelled(inner, latents="several.npz"), 3)


def test_latents_with_nan_are_refused(tmp_path: Path) -> None:
    path = labelled(tmp_path)
    np.save(tmp_path / "latents.npy", np.full((400, 3), np.nan))
    with pytest.raises(BadInput, match="finite numbers"):
        read_known_attributes(path, 3)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="There is no file"):
        read_known_attributes(tmp_path / "none.json", 3)
