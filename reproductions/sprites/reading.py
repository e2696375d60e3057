"""A document of the benchmark on sprites as its page reads it: of the right schema, and every entry of its kind."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from equipoise.foundation import BadInput
from equipoise.reports import Number, safe_name
from reproductions.sprites.document import SCHEMA

ALLOWED = f"{SCHEMA}, as python -m reproductions.sprites.benchmark --json writes it"
HELP = "give that file, or run the benchmark again."


@dataclass(frozen=True)
class Place:
    """A table of the document, and where it stands in it (a JSON pointer)."""

    entries: Mapping[str, Any]
    at: str = ""

    def shown(self, name: str, text: str) -> Number:
        """Return the number of that name as it is shown, with its place in the JSON."""
        source, *rest = f"{self.at}/{name}".split("/")[1:]
        index = int(rest.pop(0)) if rest and rest[0].isdecimal() else 0
        return Number(text, index, "/".join(rest), source)

    def has(self, name: str) -> bool:
        """Tell whether there is such an entry; older documents lack some."""
        return name in self.entries

    def number(self, name: str) -> float | None:
        """Return a number; what is undefined or not there is None."""
        value = self.entries.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._refuse(name, "not a number")
        try:
            finite_value = float(value)
        except OverflowError:
            return None
        return finite_value if math.isfinite(finite_value) else None

    def count(self, name: str) -> int | None:
        """Return a whole number; what is not there is None."""
        value = self.number(name)
        if value is not None and not value.is_integer():
            self._refuse(name, "not a whole number")
        return None if value is None else int(value)

    def text(self, name: str, missing: str = "") -> str:
        """Return a text."""
        value = self.entries.get(name)
        if value is None:
            return missing
        if not isinstance(value, str):
            self._refuse(name, "not text")
        return value

    def inner(self, name: str) -> Place | None:
        """Return the table of that name; None where it is null or not there."""
        value = self.entries.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._refuse(name, "not a table")
        return Place(value, f"{self.at}/{name}")

    def rows(self, name: str) -> list[Place]:
        """Return the rows of a list of tables; none where it is not there."""
        listed = self._list(name)
        if not all(isinstance(row, dict) for row in listed):
            self._refuse(name, "not a list of tables")
        return [Place(row, f"{self.at}/{name}/{index}") for index, row in enumerate(listed)]

    def numbers(self, name: str) -> list[float | None]:
        """Return a list of numbers, in which null is None."""
        listed = self._list(name)
        inner_table = Place({str(index): value for index, value in enumerate(listed)}, f"{self.at}/{name}")
        return [inner_table.number(str(position)) for position in range(len(listed))]

    def _list(self, name: str) -> list[Any]:
        value = self.entries.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self._refuse(name, "not a list")
        return value

    def _refuse(self, name: str, why: str) -> NoReturn:
        raise BadInput(
            f"{safe_name(f'{self.at}/{name}')} of the benchmark's document is {why}", available=ALLOWED, help=HELP
        )


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the document that the benchmark wrote."""
    file = Path(path)

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not a number")

    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_constant=constant)
    except OSError as error:
        raise BadInput(
            f"{str(file)!r} could not be read ({error.strerror})", available=ALLOWED, help="name a file that is there."
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file.name!r} is not JSON ({error})", available=ALLOWED, help=HELP) from error
    return dict(checked(content, repr(file.name)).entries)


def checked(content: object, name: str = "The benchmark's document") -> Place:
    """Return the document as a place, its schema and its main parts checked."""
    if not isinstance(content, Mapping):
        raise BadInput(f"{name} is a {type(content).__name__}", available=ALLOWED, help=HELP)
    if content.get("schema") != SCHEMA:
        schema = safe_name(repr(content.get("schema")))
        raise BadInput(f"{name} has the schema {schema}", available=ALLOWED, help=HELP)
    missing = [part for part in ("settings", "counts", "table", "above_chance") if part not in content]
    if missing:
        raise BadInput(f"{name} has no {' and no '.join(missing)}", available=ALLOWED, help=HELP)
    return Place(content)
