"""A study packed into a folder for a machine that has torch and little else: JSON and tensors, no test labels."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, write_file
from equipoise.studies.plans import IDENTITY, Stack, canonical, trial_of
from equipoise.studies.running._work import Work
from equipoise.training import EncodedDataset, Rows

SCHEMA = "equipoise.study-pack/1"
DESCRIPTION, TENSORS = "study.json", "material.safetensors"
SPLITS = ("train", "dev", "test")
PARTS = ("inputs", "ids", "target", "group", "cell")
# What the names of tensors begin with that there is one of for every draw.
DRAW, PARTITION = "draw.", "partition."
AGAIN = "pack the plan again: equipoise study pack PLAN DIR."


def is_pack(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is a folder that ``pack`` wrote."""
    return (Path(path) / DESCRIPTION).is_file()


def pack(work: Work, folder: str | os.PathLike[str]) -> Path:
    """Write everything that training needs into a folder."""
    from safetensors.numpy import save

    if type(work) is not Work or not all(map(_is_plain, work.learners.values())):
        raise BadInput(
            "A function or an object of your own trains here, and cannot be packed",
            help="run the study where it is, or register a learner (@learner) in a package that is installed there.",
        )
    target = Path(folder)
    if target.exists() and not is_pack(target) and (not target.is_dir() or any(target.iterdir())):
        raise BadInput(f"{str(target)!r} is there already", available="a new or an empty folder, or an earlier pack")
    target.mkdir(parents=True, exist_ok=True)
    content = save(tensors_of(work))
    write_file(target / TENSORS, content)
    # Last, so that a folder with it is whole.
    said = description_of(work, hashlib.sha256(content).hexdigest())
    write_file(target / DESCRIPTION, json.dumps(said, allow_nan=False) + "\n")
    return target


def _is_plain(values: Any) -> bool:
    try:
        return bool(json.loads(canonical(values)) == json.loads(json.dumps(values)))
    except (TypeError, ValueError):
        return False


def tensors_of(work: Work) -> dict[str, NDArray[Any]]:
    """Return the arrays that training needs, by the names they have in a file."""
    tensors: dict[str, NDArray[Any]] = {}
    for split in SPLITS:
        rows: Rows = getattr(work.dataset, split)
        assert split != "test" or rows.target is None, "test labels stay here"
        for part in PARTS:
            values = getattr(rows, part)
            if values is not None:
                tensors[f"{split}.{part}"] = np.ascontiguousarray(values)
    named = {DRAW: work.draws, PARTITION: work.partitions}
    return tensors | {
        before + name: np.ascontiguousarray(codes)
        for before, named_codes in named.items()
        for name, codes in named_codes.items()
    }


def description_of(work: Work, digest: str) -> dict[str, Any]:
    """Return everything else that training needs, as JSON values; ``digest`` is the hash of the arrays' file."""
    dataset = work.dataset
    return {
        "schema": SCHEMA,
        "identity": IDENTITY,
        "tensors": digest,
        "task": dataset.task,
        "classes": dataset.classes,
        "groups": dataset.groups,
        "labels": dataset.labels,
        "attributes": dataset.attributes,
        "attribute_values": dataset.attribute_values,
        "parts": None if dataset.parts is None else dataset.parts.tolist(),
        # Of several, the trials say all that there is to know.
        "learner": next(iter(work.learners.values())) if len(work.learners) == 1 else {},
        "about": work.about,
        "undrawn": work.undrawn,
        "stacks": [
            {"cell": stack.cell, "trials": [trial.described() for trial in stack.trials]} for stack in work.stacks
        ],
    }


def unpack(folder: str | os.PathLike[str]) -> Work:
    """Read a packed study; one that is torn, or was written by another version, is refused."""
    path = Path(folder)
    content = _read(path)
    return work_of(content, _loaded(path, str(content["tensors"])))


def work_of(content: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Work:
    """Make the work again from its description and its arrays."""
    rows = {split: Rows(**{part: tensors.get(f"{split}.{part}") for part in PARTS}) for split in SPLITS}  # type: ignore[arg-type]
    stacks = tuple(
        Stack(number, stack["cell"], tuple(trial_of(trial) for trial in stack["trials"]))
        for number, stack in enumerate(content["stacks"])
    )
    return Work(
        _dataset(rows, content),
        stacks,
        _named(tensors, DRAW),
        content["undrawn"],
        about=content["about"],
        partitions=_named(tensors, PARTITION),  # packs of earlier versions have none
    )


def _named(tensors: dict[str, NDArray[Any]], before: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(before): codes for name, codes in tensors.items() if name.startswith(before)}


def _dataset(rows: dict[str, Rows], content: dict[str, Any]) -> EncodedDataset:
    attributes = content.get("attributes")  # packs of earlier versions have none
    group_parts = () if attributes is None else (
        tuple(attributes),
        tuple(map(tuple, content["attribute_values"])),
        np.array(content["parts"], dtype=np.int64).reshape(len(content["groups"]), len(attributes)),
    )  # fmt: skip
    dataset = EncodedDataset(
        rows["train"],
        rows["dev"],
        rows["test"],
        tuple(content["classes"]),
        tuple(content["groups"]),
        content["task"],
        *group_parts,
    )
    return replace(dataset, labels=tuple(content.get("labels", ())))


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads((path / DESCRIPTION).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{str(path / DESCRIPTION)!r} cannot be read ({error})", help=AGAIN) from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or content.get("identity") != IDENTITY:
        schema = content.get("schema") if isinstance(content, dict) else None
        raise BadInput(
            f"The folder {str(path)!r} was packed by another version ({schema})", available=SCHEMA, help=AGAIN
        )
    return content


def _loaded(path: Path, digest: str) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        content = (path / TENSORS).read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise BadInput(f"{str(path / TENSORS)!r} is not what was packed", help="copy the folder again.")
        found: dict[str, NDArray[Any]] = load(content)
        return found
    except (OSError, SafetensorError) as error:
        raise BadInput(f"{str(path / TENSORS)!r} cannot be read ({error})", help=AGAIN) from error
