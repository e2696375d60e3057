"""Known attributes from a file: hyperplanes as they are, or labelled latents that hyperplanes are fitted to.

``{"latent_size": 10, "target": "gender", "hyperplanes": [{"name": "gender", "normal": [...], "offset": 0.0}]}``, or
``{"latents": "latents.npy", "attributes": {"age": "age.npy", "smiles": [0, 1, ...]}, "circular": [], "target": null}``,
or the .safetensors of ``save_directions``. Arrays lie in the folder of the file or below it, and are never pickles.
Labelled latents may have a ``"source"``, which says whose labels they are: what is fitted to them is then told as a
pseudo ground truth.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery._hyperplane import ENDING, Hyperplane, load_directions
from equipoise.discovery._truth import Fit, hyperplanes_from_labels
from equipoise.foundation import (
    BadInput,
    describe_error,
    unknown_name,
)

SCHEMA = "equipoise.known/1"
MOST_BYTES = 2**28
MOST_NUMBERS = 2**28
BYTES_OF_A_NUMBER = 8
LONGEST_NAME = 200
KEYS = {
    "hyperplanes": ("schema", "latent_size", "target", "hyperplanes"),
    "latents": ("schema", "latent_size", "target", "latents", "attributes", "circular", "source"),
}


@dataclass(frozen=True, eq=False)
class KnownAttributes:
    """The target (if any), the known attributes, how well each was fitted, and what there is to say of it."""

    target: Hyperplane | None
    hyperplanes: tuple[Hyperplane, ...]
    fits: tuple[Fit, ...] = field(default=())
    notes: tuple[str, ...] = ()


def read_known_attributes(path: str | os.PathLike[str], latent_size: int, target: str | None = None) -> KnownAttributes:
    """Read known attributes of a latent space; ``target`` names the target, whatever the file says of it."""
    where = Path(path)
    if not where.is_file():
        raise BadInput(f"There is no file {str(where)!r}", available=f"known attributes as .json or {ENDING}")
    fits: tuple[Fit, ...] = ()
    source: str | None = None
    if where.suffix == ENDING:
        planes, said = load_directions(where)
        aimed = said.get("target")
    else:
        content = _content(where)
        aimed = content.get("target")
        if "hyperplanes" in content:
            planes = _listed_planes(where, content)
        else:
            source = _source(where, content)
            planes, fits = _fitted(where, content, latent_size)
    if aimed is not None and not isinstance(aimed, str):
        _refuse(where, "target is not a name", "the name of an attribute, or null")
    _check_size(where, planes, latent_size)
    return _parted(planes, fits, target if target is not None else aimed, where, source)


def _parted(
    planes: Sequence[Hyperplane], fits: tuple[Fit, ...], target: str | None, where: Path, source: str | None
) -> KnownAttributes:
    """Part the target from the rest, and say how good the fits are."""
    dropped = {fit.name: fit.reason for fit in fits if not fit.accepted}
    if target in dropped:
        raise BadInput(
            f"The target {target!r} of {where.name} could not be fitted: {dropped[target]}",
            available="a target that can be predicted from the latents",
            help="more labelled latents, another target, or a generator that shows it.",
        )
    names = [plane.name for plane in planes]
    if target is not None and target not in names:
        raise unknown_name("attribute", target, names, where.name)
    fits_kept = ", ".join(f"{fit.name} ({fit.measure} {fit.value:.2f})" for fit in fits if fit.accepted)
    whose = "" if source is None else f" (pseudo ground truth, {source})"
    notes = [f"Fitted to labelled latents{whose}, on held-out rows: {fits_kept}."] if fits_kept else []
    notes += [f"Left out: {name} ({reason})." for name, reason in dropped.items()]
    aim = next((plane for plane in planes if plane.name == target), None)
    return KnownAttributes(aim, tuple(plane for plane in planes if plane is not aim), fits, tuple(notes))


def _content(where: Path) -> dict[str, Any]:
    """Return what a file says, its kind and its keys checked."""
    if where.stat().st_size > MOST_BYTES:
        _refuse(where, f"it has {where.stat().st_size:,} bytes", f"at most {MOST_BYTES:,}; save large arrays as .npy")

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not a number")

    try:
        content = json.loads(where.read_text(encoding="utf-8"), parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{where.name} is not JSON ({error})", available=f"{SCHEMA}, as docs/guide/discovery.md describes"
        ) from error
    if not isinstance(content, dict):
        _refuse(where, "it is not a table", "hyperplanes, or latents and attributes")
    kinds = [kind for kind in KEYS if kind in content]
    if len(kinds) != 1:
        _refuse(where, f"it has {' and '.join(kinds) or 'neither hyperplanes nor latents'}", "one of the two")
    strange = [key for key in content if key not in KEYS[kinds[0]]]
    if strange:
        raise unknown_name("entry", str(strange[0]), KEYS[kinds[0]], where.name)
    if content.get("schema", SCHEMA) != SCHEMA:
        _refuse(where, f"its schema is {content['schema']!r}", SCHEMA)
    return content


def _listed_planes(where: Path, content: Mapping[str, Any]) -> tuple[Hyperplane, ...]:
    listed = content["hyperplanes"]
    if not isinstance(listed, list) or not listed or not all(isinstance(entry, dict) for entry in listed):
        _refuse(where, "hyperplanes is not a list of tables", '[{"name": "age", "normal": [...], "offset": 0.0}, ...]')
    size = content.get("latent_size")
    planes = []
    for entry in listed:
        name, normal, offset = entry.get("name"), entry.get("normal"), entry.get("offset", 0.0)
        _check_name(where, name)
        numbers = isinstance(normal, list) and all(map(_is_number, normal)) and _is_number(offset)
        if not numbers or set(entry) - {"name", "normal", "offset"}:
            _refuse(where, f"the hyperplane {name!r} has no normal and offset in numbers", "name, normal, offset")
        if size is not None and len(normal) != size:
            _refuse(where, f"the normal of {name!r} has {len(normal)} numbers", f"{size}, its latent_size")
        try:
            planes.append(Hyperplane(name, np.array(normal, dtype=np.float64), float(offset)))
        except OverflowError:
            _refuse(where, f"{name!r} has a number that is too large", "numbers of a float64")
    return tuple(planes)


def _fitted(where: Path, content: Mapping[str, Any], size: int) -> tuple[tuple[Hyperplane, ...], tuple[Fit, ...]]:
    """Fit hyperplanes to labelled latents."""
    attributes, circular = content.get("attributes"), content.get("circular", [])
    if not isinstance(attributes, dict) or not attributes:
        _refuse(where, "it has latents and no attributes", '{"age": "age.npy", "smiles": [0, 1, ...]}')
    if not isinstance(circular, list) or not all(
        isinstance(name_listed, str) and name_listed in attributes for name_listed in circular
    ):
        _refuse(where, f"circular is {str(circular)[:LONGEST_NAME]}", "a list of names of attributes")
    if not isinstance(content["latents"], str):
        _refuse(where, "latents is not a file name", '"latents.npy"')
    latents = _array(where, content["latents"], "latents")
    if latents.ndim != 2 or latents.dtype.kind not in "fiu":
        _refuse(where, f"the latents are {latents.dtype} of the shape {latents.shape}", "numbers [row, dimension]")
    if latents.shape[1] != size or content.get("latent_size", size) != size:
        _refuse(where, f"the latents have {latents.shape[1]} dimensions", f"{size}, as the generator has")
    labels: dict[str, NDArray[Any]] = {}
    for name, values in attributes.items():
        _check_name(where, name)
        labels[name] = _array(where, values, name) if isinstance(values, str) else _listed(where, name, values)
    truth = hyperplanes_from_labels(latents, labels, circular=circular)
    return truth.hyperplanes, truth.fits


def _source(where: Path, content: Mapping[str, Any]) -> str | None:
    """Return whose labels they are, where the file says it."""
    if "source" not in content:
        return None
    source = content["source"]
    if not _is_short_text(source):
        _refuse(
            where, f"its source is {str(source)[:LONGEST_NAME]!r}",
            f"words of 1 to {LONGEST_NAME} letters, such as \"annotators' labels of real faces\"",
        )  # fmt: skip
    return str(source)


def _listed(where: Path, name: str, values: Any) -> NDArray[Any]:
    """Return labels that stand in the file itself: numbers, booleans or words."""
    kinds = {type(value) for value in values} if isinstance(values, list) else set()
    if kinds not in ({bool}, {str}, {int}, {float}, {int, float}):
        _refuse(where, f"the values of {name!r} are not a list of one kind", "numbers, true and false, or words")
    if kinds == {str} and max(map(len, values)) > LONGEST_NAME:
        _refuse(where, f"{name!r} has a word that is too long", f"words of at most {LONGEST_NAME} letters")
    try:
        return np.array(values, dtype=np.float64 if kinds <= {int, float} else None)
    except OverflowError:
        _refuse(where, f"{name!r} has a number that is too large", "numbers of a float64")


def _array(where: Path, name: str, what: str) -> NDArray[Any]:
    """Read an array that lies in the folder of a file or below it."""
    folder = where.parent.resolve()
    try:
        file = (folder / name).resolve()
        inside, exists = file.is_relative_to(folder), file.is_file()
    except (ValueError, OSError, RuntimeError) as error:  # a NUL, too many letters, links that go in a circle
        short = name[:LONGEST_NAME]
        raise BadInput(
            f"{where.name} names the file {short!r} ({describe_error(error)})", available=f"{what} as .npy"
        ) from error
    if not inside:
        _refuse(where, f"{name!r} is outside its folder", "arrays in the folder of the file, or below it")
    if not exists:
        _refuse(where, f"there is no {name!r} beside it", f"an array of {what} as .npy")
    try:
        array = np.lib.format.open_memmap(file, mode="r")
    except Exception as error:  # numpy evaluates a header that anybody may have written: it fails in many ways
        raise BadInput(
            f"{name} is not an array ({error})", available=".npy of numbers; pickles are not read"
        ) from error
    if array.size > MOST_NUMBERS or array.nbytes > BYTES_OF_A_NUMBER * MOST_NUMBERS:
        _refuse(where, f"{name!r} has {array.size:,} values of {array.itemsize} bytes", f"{MOST_NUMBERS:,} numbers")
    return np.array(array)


def _check_name(where: Path, name: object) -> None:
    if not _is_short_text(name):
        _refuse(where, f"{str(name)[:LONGEST_NAME]!r} is not a name", f"words of 1 to {LONGEST_NAME} letters")


def _is_short_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= LONGEST_NAME


def _check_size(where: Path, planes: Sequence[Hyperplane], size: int) -> None:
    names = [plane.name for plane in planes]
    if len(set(names)) < len(names):
        _refuse(where, "two attributes have one name", "a different name for each")
    for plane in planes:
        if plane.size != size:
            _refuse(where, f"{plane.name!r} has {plane.size} dimensions", f"{size}, as the generator has")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _refuse(where: Path, given: str, allowed: str) -> NoReturn:
    raise BadInput(f"{where.name} holds no known attributes that can be read: {given}", available=allowed)
