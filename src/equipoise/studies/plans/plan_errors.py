"""What is wrong with a plan, told with the line it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.studies.plans.naming import Place

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$")
KEY = re.compile(r"\s*([A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')\s*(=|\.)")

# What is allowed, by what pydantic found wrong.
ALLOWED = {
    "string_type": "text in quotes", "int_type": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "bool_type": "true or false", "list_type": 'a list such as ["a", "b"]',
    "dict_type": "a table", "model_type": "a table", "model_attributes_type": "a table",
}  # fmt: skip


def told(error: BadInput, file: Path, text: str, place: Place) -> BadInput:
    """Return an error that begins with the file, the line and the field."""
    return BadInput(f"{_where(file, text, place)}: {error.given}", available=error.available, help=error.help)


def refused(error: ValidationError, file: Path, text: str, model: type[BaseModel]) -> BadInput:
    """Say which key is wrong, what it holds, and what it may hold."""
    found = error.errors()
    unknown = next((item for item in found if item["type"] == "extra_forbidden"), None)
    if unknown is not None:
        place: Place = tuple(unknown["loc"])
        table = str(place[-2]) if len(place) > 1 else "a plan"
        return told(unknown_name("key", str(place[-1]), _keys(model, place), table), file, text, place)
    absent = next((item for item in found if item["type"] == "missing"), None)
    if absent is not None:
        place = _plain_place(absent["loc"])
        return told(BadInput(f"There is no {place[-1]}", available=str(_field(model, place))), file, text, place[:-1])
    place = _plain_place(found[0]["loc"])
    own = [item for item in found if _plain_place(item["loc"])[:1] == place[:1]]
    allowed = dict.fromkeys(_allowed(item["type"], item.get("ctx", {}), item["msg"]) for item in own)
    given = own[-1]["input"]
    return told(
        BadInput(f"{place[-1]} is {given!r}", available=_allowed_at(place, " or ".join(allowed))), file, text, place
    )


def _allowed(kind: str, context: dict[str, object], message: str) -> str:
    if kind == "literal_error":
        return str(context["expected"])
    limits = {"greater_than_equal": ("ge", "{} or more"), "greater_than": ("gt", "more than {}"),
              "less_than": ("lt", "less than {}"), "too_short": ("min_length", "at least {} of them")}  # fmt: skip
    if kind in limits:
        name, words = limits[kind]
        return words.format(context[name])
    return ALLOWED.get(kind, message)


def _allowed_at(place: Place, allowed: str) -> str:
    """Give numbers as the example of a list where numbers are meant."""
    return allowed.replace('["a", "b"]', "[0, 1, 2]") if place == ("seeds",) else allowed


def _plain_place(place: Sequence[str | int]) -> Place:
    """Leave out what pydantic adds to tell the members of a union apart."""
    return tuple(part for part in place if isinstance(part, int) or re.fullmatch(r"[a-z_]+", part))


def _keys(model: type[BaseModel], place: Place) -> list[str]:
    """Return the keys that the table at a place may have."""
    for part in place[:-1]:
        inner: Any = model.model_fields[str(part)].annotation if str(part) in model.model_fields else None
        model = inner if isinstance(inner, type) else model
    return [field.alias or name for name, field in model.model_fields.items()]


def _field(model: type[BaseModel], place: Place) -> str:
    name = str(place[-1])
    return f"{name} = ... ({model.model_fields[name].description})" if name in model.model_fields else f"{name} = ..."


def _where(file: Path, text: str, place: Place) -> str:
    line = line_of(text, place)
    field = "".join(f" {part + 1}" if isinstance(part, int) else f"{', ' if at else ''}{part}"
                    for at, part in enumerate(place))  # fmt: skip
    return file.name + (f", line {line}" if line else "") + (f" ({field})" if field else "")


def line_of(text: str, place: Place) -> int | None:
    """Return the line of a key, or of the nearest table around it; None where there is neither."""
    best, depth = None, 0
    for number, here in enumerate(_places(text), start=1):
        if here and here == place[: len(here)] and len(here) > depth:
            best, depth = number, len(here)
    return best


def _places(text: str) -> list[Place]:
    """Return where each line of a plan belongs; an empty place for lines that begin nothing."""
    table: Place = ()
    counts: dict[str, int] = {}
    found: list[Place] = []
    for line in text.splitlines():
        header, key = HEADER.match(line), KEY.match(line)
        if header is not None and "=" not in line.partition("#")[0].partition("]")[0]:
            name = header[2].strip("\"'")
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                table = (name, counts[name])
            else:
                table = tuple(part.strip(" \"'") for part in name.split("."))
            found.append(table)
        elif key is not None:
            found.append((*table, key[1].strip("\"'")))
        else:
            found.append(())
    return found
