"""Filled-in naming sheets and their key, read as what a stranger may have sent: checked, and nothing in them obeyed."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from equipoise.discovery.hyperplane import Hyperplane
from equipoise.discovery.name_words import LONGEST, cleaned
from equipoise.discovery.naming import COLUMNS, SCHEMA
from equipoise.foundation.errors import BadInput

MOST_BYTES = 16_000_000
CONFIDENCE = ("1", "2", "3", "4", "5")


@dataclass(frozen=True, eq=False)
class Coded:
    """What a code stands for: the direction's name, the method it came by, its verdict, and its normals."""

    direction: str
    method: str
    verdict: str
    planes: tuple[Hyperplane, ...]


@dataclass(frozen=True)
class Named:
    """What a rater wrote beside a code; an empty name is none, and a confidence may be missing."""

    name: str
    confidence: int | None = None
    changes_what: str = ""


def read_key(path: str | os.PathLike[str]) -> dict[str, Coded]:
    """Read what the codes of a sheet stand for."""
    file = Path(path)
    try:
        content = json.loads(_text(file, "key"))
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise ValueError("its schema is another")
        key = {str(code): _coded(one) for code, one in content["codes"].items()}
        if not key:
            raise ValueError("it has no codes")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise BadInput(
            f"{file.name!r} is not the key of a naming sheet ({error})", available="the .key.json written with it"
        ) from error
    return key


def _coded(one: dict[str, object]) -> Coded:
    direction, method, verdict, normals = (one[name] for name in ("direction", "method", "verdict", "normals"))
    if not isinstance(direction, str) or not isinstance(method, str) or not isinstance(verdict, str):
        raise ValueError("a code has no direction")
    if not isinstance(normals, list) or not normals:
        raise ValueError("a code has no direction")
    planes = tuple(Hyperplane("key", np.array(normal, dtype=np.float64)) for normal in normals)
    return Coded(direction, method, verdict, planes)


def read_sheet(path: str | os.PathLike[str], codes: Collection[str]) -> dict[str, Named]:
    """Read a filled-in sheet; codes that it leaves out have no name."""
    file = Path(path)
    text = _text(file, "naming sheet")
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=_separator(text))
    try:
        lines = list(reader)
    except csv.Error as error:
        raise BadInput(
            f"The naming sheet {file.name!r} is not CSV ({error})", available="the columns of a sheet"
        ) from error
    missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        raise BadInput(
            f"The naming sheet {file.name!r} has no column {', '.join(missing)}", available=", ".join(COLUMNS),
            help="fill in a copy of the sheet, and leave its first line as it is.",
        )  # fmt: skip
    named: dict[str, Named] = {}
    for number, line in enumerate(lines, start=2):
        code = (line["code"] or "").strip().upper()
        where = f"Line {number} of {file.name!r}"
        if not code and not any((line[column] or "").strip() for column in COLUMNS):
            continue
        if code not in codes:
            raise BadInput(f"{where} has the code {code!r}", available=f"the codes of the key: {', '.join(codes)}")
        if code in named:
            raise BadInput(f"{where} has the code {code!r} again", available="one line per code")
        named[code] = _named(line, where)
    return named


def _separator(text: str) -> str:
    """Return what separates cells: spreadsheets of many countries write semicolons for commas."""
    heading = text.partition("\n")[0]
    return max(",;\t", key=heading.count)


def _named(line: dict[str, str | None], where: str) -> Named:
    name, sure = cleaned(line["name"] or ""), (line["confidence"] or "").strip()
    if len(name) > LONGEST:
        raise BadInput(
            f"{where} has a name of {len(name)} letters", available=f"a word or two, at most {LONGEST} letters"
        )
    if sure and sure not in CONFIDENCE:
        raise BadInput(f"{where} has the confidence {sure!r}", available="1 (a guess) to 5 (sure), or nothing")
    return Named(name, int(sure) if sure else None, cleaned(line["changes_what"] or ""))


def _text(file: Path, what: str) -> str:
    if not file.is_file():
        raise BadInput(f"There is no {what} {str(file)!r}", available="an existing file")
    if file.stat().st_size > MOST_BYTES:
        raise BadInput(f"The {what} {file.name!r} is too large for one", available=f"at most {MOST_BYTES:,} bytes")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"The {what} {file.name!r} is not in UTF-8", help="save it as CSV in UTF-8.") from error
    if "\0" in text:
        raise BadInput(f"The {what} {file.name!r} is not text", available="text in UTF-8")
    return text
