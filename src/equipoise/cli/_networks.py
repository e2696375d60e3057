"""Networks, directions and attributes that discovery reads, as they are named on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cli._options import arguments
from equipoise.discovery import (
    CLASSIFIER_OPTIONS,
    FOR_CLASSIFIER,
)
from equipoise.foundation import Option

if TYPE_CHECKING:
    from equipoise.discovery import Classifier

LONGEST_SIDE = 100_000
# A file of known attributes may be as large as its lists of numbers; larger ones are refused where they are read.
MOST_BYTES = 2**28


def named_classifier(options: Iterable[Option], values: Mapping[str, Any]) -> Classifier:
    """Run the file that a classifier is in, and return it as the options describe it."""
    from equipoise.discovery import load_classifier

    settings = arguments(options, values, FOR_CLASSIFIER)
    return load_classifier(
        values["classifier"], **{**settings, "names": _names(settings["names"]), "size": _size(settings["size"])}
    )


def check_used(values: Mapping[str, Any]) -> None:
    """Refuse what is said of a classifier where none is given."""
    from equipoise.foundation import BadInput

    unused = [of.flag for of in CLASSIFIER_OPTIONS if values[of.name] is not None]
    if values["classifier"] is None and unused:
        raise BadInput(f"{unused[0]} was given without --classifier", help=f"leave out {unused[0]}.")


def _names(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(name.strip() for name in text.split(","))


def _size(text: str | None) -> tuple[int, int] | None:
    from equipoise.foundation import BadInput

    if text is None:
        return None
    parts = text.lower().split("x")
    digits = len(parts) <= 2 and all(part.isdecimal() and len(part) <= len(str(LONGEST_SIDE)) for part in parts)
    if not digits or not all(0 < int(part) <= LONGEST_SIDE for part in parts):
        raise BadInput(f"--size {text!r} could not be read", available="HEIGHTxWIDTH, such as 64x48, or one number")
    return int(parts[0]), int(parts[-1])


def network_file(named: str) -> str:
    """Return the file of FILE.py:NAME."""
    file, colon, _ = named.rpartition(":")
    return file if colon and file.endswith(".py") else named


def directions_files(path: str | Path) -> list[str]:
    """Return the files of saved directions: the .safetensors, and the .json beside it."""
    file = Path(path)
    # A folder such as "." has no name to change; it is refused where it is read or written.
    return [str(path), str(file.with_suffix(".json"))] if file.name else [str(path)]


def known_files(path: Path | None) -> list[str]:
    """Return the files of known attributes: saved directions, or a table in JSON and the arrays that it names."""
    from equipoise.discovery import ENDING

    if path is None:
        return []
    if path.suffix == ENDING:
        return directions_files(path)
    return [str(path), *(str(path.parent / name) for name in _arrays(path))]


def _arrays(path: Path) -> list[str]:
    """Return the arrays that a file names; what is wrong with it is told where it is read."""
    import json

    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size <= MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return []
    if not isinstance(content, dict):
        return []
    attributes = content.get("attributes")
    named = [content.get("latents"), *(attributes.values() if isinstance(attributes, dict) else ())]
    return [name for name in named if isinstance(name, str)]
