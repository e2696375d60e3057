"""Files that a command writes are apart: from each other, and from everything that it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

# A file of known attributes may be as large as its lists of numbers; larger ones are refused where they are read.
MOST_BYTES = 2**28


def check_apart(written: Mapping[str, Iterable[Path]], inputs: Iterable[str]) -> None:
    """Refuse files that cannot be written, that are read, or that two options write, before any work is done."""
    from equipoise.foundation.errors import BadInput
    from equipoise.foundation.files import check_writable

    read = list(inputs)
    places: dict[Path, str] = {}
    for option, files in written.items():
        for file in files:
            check_writable(file, inputs=read)
            place = file.resolve()
            if place in places:
                raise BadInput(f"{places[place]} and {option} both write {str(file)!r}", help="give each its own file.")
            places[place] = option


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
    from equipoise.discovery.saving import ENDING

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
