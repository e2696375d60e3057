"""Networks, directions and attributes that discovery reads: their options, and the files behind them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from equipoise.discovery.classifier import Classifier

LONGEST_SIDE = 100_000
# A file of known attributes may be as large as its lists of numbers; larger ones are refused where they are read.
MOST_BYTES = 2**28

Logits = Annotated[
    bool | None, typer.Option("--logits/--no-logits", help="The classifier gives logits.", show_default=False)
]
ClassOption = Annotated[
    str | None,
    typer.Option("--class", metavar="CLASS", help="The class to read, by index or name, if there are several."),
]
ClassNames = Annotated[
    str | None, typer.Option(metavar="A,B", help="The names of the classes, in the order of the outputs.")
]
Size = Annotated[
    str | None, typer.Option(metavar="HxW", help="The pictures that the classifier was trained on: 64 or 64x48.")
]
Resize = Annotated[
    bool | None, typer.Option("--resize/--no-resize", help="Resize pictures to that size.", show_default=False)
]


@dataclass(frozen=True)
class NamedClassifier:
    """A classifier as it is named on the command line, with what is said of it there."""

    named: str
    output: str | None = None
    names: str | None = None
    logits: bool | None = None
    size: str | None = None
    resize: bool | None = None
    device: str = "cpu"

    def loaded(self) -> Classifier:
        """Run the file that it is in, and return it."""
        from equipoise.discovery.user_files import load_classifier

        return load_classifier(
            self.named, output=self.output, names=_names(self.names), logits=self.logits, resize=self.resize,
            size=_size(self.size), device=self.device,
        )  # fmt: skip


def check_used(
    classifier: str | None, output: str | None, names: str | None, logits: bool | None, size: str | None,
    resize: bool | None,
) -> None:  # fmt: skip
    """Refuse what is said of a classifier where none is given."""
    from equipoise.foundation.errors import BadInput

    given = {"--class": output, "--class-names": names, "--logits": logits, "--size": size, "--resize": resize}
    unused = [option for option, value in given.items() if value is not None]
    if classifier is None and unused:
        raise BadInput(f"{unused[0]} was given without --classifier", help=f"leave out {unused[0]}.")


def _names(given: str | None) -> tuple[str, ...]:
    return () if given is None else tuple(name.strip() for name in given.split(","))


def _size(given: str | None) -> tuple[int, int] | None:
    from equipoise.foundation.errors import BadInput

    if given is None:
        return None
    parts = given.lower().split("x")
    digits = len(parts) <= 2 and all(part.isdecimal() and len(part) <= len(str(LONGEST_SIDE)) for part in parts)
    if not digits or not all(0 < int(part) <= LONGEST_SIDE for part in parts):
        raise BadInput(f"--size {given!r} could not be read", available="HEIGHTxWIDTH, such as 64x48, or one number")
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
