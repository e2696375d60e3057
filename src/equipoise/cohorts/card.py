"""The cohort card: how many people of which class are in which group and split. Every result opens with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import GROUP, SPLIT, TARGET, group_axis, group_labels, group_name
from equipoise.tallies.labels import ordered


@dataclass(frozen=True)
class CardRow:
    """One group (of one split): how many rows, their share of the cohort, and how many are of each class."""

    attribute: str
    group: str
    split: str | None
    rows: int | None
    share: float | None
    classes: dict[str, int] | None


@dataclass(frozen=True)
class Card:
    """What was looked at, before any number about it."""

    rows: int
    classes: tuple[str, ...]
    splits: tuple[str, ...]
    groups: tuple[CardRow, ...]


def card_of(cells: Cells, attributes: Sequence[str] | None = None) -> Card:
    """Build the card from counts; without a target there are no classes to show."""
    names = attributes if attributes is not None else _attributes(cells)
    has_target, has_split = TARGET in cells.axes, SPLIT in cells.axes
    classes = ordered({label for label in cells.axis(TARGET) if label is not None}) if has_target else []
    splits = ordered({label for label in cells.axis(SPLIT) if label is not None}) if has_split else []
    rows: list[CardRow] = []
    for attribute in names:
        parts: list[str | None] = [*splits] if splits else [None]
        for split in parts:
            part = cells if split is None else cells.where(SPLIT, [split])
            rows.extend(_rows(part, attribute, split, classes))
    return Card(cells.rows, tuple(classes), tuple(splits), tuple(rows))


def _rows(cells: Cells, attribute: str, split: str | None, classes: Sequence[str]) -> list[CardRow]:
    total = cells.rows
    rows = []
    for labels in group_labels(cells, [attribute], include_missing=True):
        here = cells.where(group_axis(attribute), labels)
        counts = _by_class(here, classes) if TARGET in cells.axes else None
        rows.append(
            CardRow(attribute, group_name(labels), split, here.rows, here.rows / total if total else None, counts)
        )
    return rows


def _by_class(cells: Cells, classes: Sequence[str]) -> dict[str, int]:
    """Count the rows of all classes in one pass: there may be thousands of them."""
    table = cells.marginal([TARGET])
    names = [table.labels[0][code] for code in table.codes[:, 0].tolist()]
    found = dict(zip(names, table.sums[:, 0].tolist(), strict=True))
    return {name: int(found.get(name, 0)) for name in classes}


def _attributes(cells: Cells) -> list[str]:
    return [axis.removeprefix(GROUP) for axis in cells.axes if axis.startswith(GROUP)]
