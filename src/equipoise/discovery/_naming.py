"""Blind naming: strips under codes, so that who names a direction knows neither its rank nor how it was come by.

A sheet is three files: ``sheet.csv``, which every rater gets a copy of and fills in; ``sheet.strips.html``, the strips
without probabilities; and ``sheet.key.json``, which says what the codes stand for and stays away from the raters.
Directions of baselines are put among those that were searched for: a rater who sees something in everything names
them, too.
"""

from __future__ import annotations

import csv
import io
import json
import os
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from equipoise.discovery._hyperplane import Hyperplane
from equipoise.foundation import (
    BadInput,
    check_writable,
    csv_text,
    plural,
    stream,
    write_file,
)
from equipoise.results import Result

if TYPE_CHECKING:
    from equipoise.discovery._investigation import Investigation, PresentedDirection


LONGEST = 60
# Letters, the marks on them, and digits; anything else (signs that begin a formula or a tag, control characters) is a
# blank.
KEPT_CATEGORIES = ("L", "M", "N")
INSIDE = "-'’"


def cleaned(text: str) -> str:
    """Return the words of a cell in their own spelling: letters, digits, and hyphens and apostrophes inside words."""
    plain = unicodedata.normalize("NFKC", text)
    kept = "".join(
        char if unicodedata.category(char)[0] in KEPT_CATEGORIES or char in INSIDE else " " for char in plain
    )
    return " ".join(word.strip(INSIDE) for word in kept.split() if word.strip(INSIDE))


def normalised_name(text: str) -> str:
    """Return what names that are the same have in common: no capitals, blanks or hyphens, nor a simple plural."""
    words = cleaned(text).casefold().replace("-", " ").replace("’", "'").split()
    return " ".join(map(_singular, words))


def _singular(word: str) -> str:
    """Return an English word without a simple plural's ending; both forms of a word come to the same."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


SCHEMA = "equipoise.naming/1"
COLUMNS = ("code", "name", "confidence", "changes_what")
ENDING = ".csv"
SEARCHED = "search"
# Enough to tell two directions apart, and short enough to be read.
DECIMALS = 6


@dataclass(frozen=True)
class SheetRecord:
    """What a code of a sheet stands for."""

    code: str
    direction: str
    method: str
    verdict: str


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sheet(Result):
    """What is to be named, in the order of the codes.

    Its page is for raters and tells them nothing; its records and its JSON are the key.
    """

    kind: ClassVar[str] = "naming"
    record_type: ClassVar[type] = SheetRecord

    schema: str = SCHEMA
    records: tuple[SheetRecord, ...] = field(init=False)
    provenance: Mapping[str, object] = field(default_factory=dict)
    lines: tuple[tuple[str, PresentedDirection], ...]
    seed: int

    def __post_init__(self) -> None:
        named = [(code, shown.judged.name, shown.method, shown.judged.verdict) for code, shown in self.lines]
        object.__setattr__(self, "records", tuple(SheetRecord(*parts) for parts in named))

    def as_json(self) -> dict[str, object]:
        """Return the key: what the codes stand for."""
        return {
            "schema": self.schema, "seed": self.seed, "codes": {code: _coded(shown) for code, shown in self.lines}
        }  # fmt: skip

    def _described(self) -> Sequence[str]:
        return [plural(len(self.lines), "strip"), f"seed {self.seed}"]


def sheet_of(investigation: Investigation, seed: int = 0) -> Sheet:
    """Return the directions of an investigation and of its baselines under shuffled codes."""
    decoys = [method for method in investigation.methods if method.method != SEARCHED]
    directions = [position for position in (*investigation.directions, *decoys) if position.strips]
    if not directions:
        raise BadInput(
            "There is no strip to name", available="an investigation that looked for a direction",
            help="search first; where the classifier is constant there is nothing to name.",
        )  # fmt: skip
    order = stream(seed, "naming sheet").permutation(len(directions))
    return Sheet(
        lines=tuple((code_of(index), directions[int(position)]) for index, position in enumerate(order)), seed=seed,
        provenance=investigation.provenance,
    )  # fmt: skip


def code_of(index: int) -> str:
    """Return the code of a place: A to Z, then AA."""
    return (code_of(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def write_sheet(investigation: Investigation, path: str | os.PathLike[str], *, seed: int = 0) -> Path:
    """Write a naming sheet to ``path`` (.csv), and beside it its strips (.strips.html) and its key (.key.json)."""
    target = Path(path)
    if target.suffix != ENDING:
        raise BadInput(f"The naming sheet {target.name!r} has another ending", available=ENDING)
    strips, key = strips_path(target), key_path(target)
    for file in (target, strips, key):
        check_writable(file)
    sheet = sheet_of(investigation, seed)
    sheet.report(strips)
    write_file(key, json.dumps(sheet.as_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n")
    return write_file(target, csv_text(COLUMNS, [(code, None, None, None) for code, _ in sheet.lines]))


def strips_path(sheet: str | os.PathLike[str]) -> Path:
    """Return where the strips of a sheet lie."""
    return Path(sheet).with_suffix(".strips.html")


def key_path(sheet: str | os.PathLike[str]) -> Path:
    """Return where the key of a sheet lies."""
    return Path(sheet).with_suffix(".key.json")


def _coded(shown: PresentedDirection) -> dict[str, object]:
    judged = shown.judged
    # Two of them, for what is saved may be the direction as it was found or the part of it that was judged.
    planes = (judged.original, *(() if judged.plane is None else (judged.plane,)))
    return {
        "direction": judged.name,
        "method": shown.method,
        "verdict": judged.verdict,
        "normals": [[round(float(number), DECIMALS) for number in plane.normal] for plane in planes],
    }


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
        key = {str(code): _coded_of(one) for code, one in content["codes"].items()}
        if not key:
            raise ValueError("it has no codes")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise BadInput(
            f"{file.name!r} is not the key of a naming sheet ({error})", available="the .key.json written with it"
        ) from error
    return key


def _coded_of(one: dict[str, object]) -> Coded:
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
