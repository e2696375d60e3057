"""Blind naming: strips under codes, so that who names a direction knows neither its rank nor how it was come by.

A sheet is three files: ``sheet.csv``, which every rater gets a copy of and fills in; ``sheet.strips.html``, the strips
without probabilities; and ``sheet.key.json``, which says what the codes stand for and stays away from the raters.
Directions of baselines are put among those that were searched for: a rater who sees something in everything names
them, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import check_writable, write_whole
from equipoise.foundation.reproducibility import stream
from equipoise.foundation.tabular import csv_text
from equipoise.foundation.text import plural
from equipoise.results import Result

if TYPE_CHECKING:
    from equipoise.discovery.investigation import Investigation, Shown

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
    lines: tuple[tuple[str, Shown], ...]
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
    decoys = [one for one in investigation.methods if one.method != SEARCHED]
    shown = [one for one in (*investigation.directions, *decoys) if one.strips]
    if not shown:
        raise BadInput(
            "There is no strip to name", available="an investigation that looked for a direction",
            help="search first; where the classifier is constant there is nothing to name.",
        )  # fmt: skip
    order = stream(seed, "naming sheet").permutation(len(shown))
    return Sheet(
        lines=tuple((code_of(place), shown[int(one)]) for place, one in enumerate(order)), seed=seed,
        provenance=investigation.provenance,
    )  # fmt: skip


def code_of(place: int) -> str:
    """Return the code of a place: A to Z, then AA."""
    return (code_of(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


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
    write_whole(key, json.dumps(sheet.as_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n")
    return write_whole(target, csv_text(COLUMNS, [(code, None, None, None) for code, _ in sheet.lines]))


def strips_path(sheet: str | os.PathLike[str]) -> Path:
    """Return where the strips of a sheet lie."""
    return Path(sheet).with_suffix(".strips.html")


def key_path(sheet: str | os.PathLike[str]) -> Path:
    """Return where the key of a sheet lies."""
    return Path(sheet).with_suffix(".key.json")


def _coded(shown: Shown) -> dict[str, object]:
    judged = shown.judged
    # Two of them, for what is saved may be the direction as it was found or the part of it that was judged.
    planes = (judged.given, *(() if judged.plane is None else (judged.plane,)))
    return {
        "direction": judged.name,
        "method": shown.method,
        "verdict": judged.verdict,
        "normals": [[round(float(number), DECIMALS) for number in plane.normal] for plane in planes],
    }
