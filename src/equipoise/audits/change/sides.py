"""Both sides of every attribute: which groups can be compared before and after, and which are only shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from equipoise.audits._spec import AuditSpec
from equipoise.audits.change.earlier import EARLIER, Before
from equipoise.audits.change.paired import PairedSides
from equipoise.audits.change.sampled import SampledSides, Sums
from equipoise.audits.change.side import Sides
from equipoise.audits.suppression import big_enough
from equipoise.audits.view import View
from equipoise.results import Status
from equipoise.tallies.cells import Cells
from equipoise.tallies.counts import PREDICTION, ROWS, SPLIT, SQUARES, WEIGHT, confusion_of, group_labels, group_name


def sides_of(
    spec: AuditSpec, counts: Cells, before: Before, favourable: str | None, splits: Sequence[str | None]
) -> Iterator[Sides]:
    """Yield the sides of every attribute and split."""
    for split in splits:
        for attributes in spec.attributes:
            yield _sides(spec, counts, before, favourable, attributes, split)


def _sides(
    spec: AuditSpec, counts: Cells, before: Before, favourable: str | None, attributes: list[str],
    split: str | None,
) -> Sides:  # fmt: skip
    def of_split(cells: Cells) -> Cells:
        return cells if split is None else cells.where(SPLIT, [split])

    def sums(cells: Cells) -> Sums:
        first, second, third = (
            confusion_of(cells, attributes, include_missing=True, classes=before.classes, column=column)
            for column in (ROWS, WEIGHT, SQUARES)
        )
        return first, second, third

    every = [of_split(cells) for cells in (counts, before.pairs or before.sample) if cells is not None]
    if before.pairs is not None:
        joint = every[1]
        outcome = [axis for axis in joint.axes if axis not in (PREDICTION, EARLIER)]
        now = sums(joint.marginal([*outcome, PREDICTION]))
        earlier = joint.marginal([*outcome, EARLIER])
        then = sums(replace(earlier, axes=tuple(PREDICTION if axis == EARLIER else axis for axis in earlier.axes)))
    else:
        now, then = sums(every[0]), sums(every[1])
    labels = (group_labels(cells, attributes, include_missing=spec.include_missing) for cells in every)
    known = dict.fromkeys(group_name(group) for groups in labels for group in groups)
    compared, absent = _compared(spec, list(known), now, then)
    view = View(
        attribute=tuple(attributes),
        shown=now[WEIGHT],
        compared=now[WEIGHT].only(compared),
        favourable=favourable,
        split=split,
        reference=spec.reference.get(attributes[0]) if len(attributes) == 1 else None,
        least_people=spec.least_people,
    )
    if before.pairs is not None:
        return PairedSides(spec, view, absent, every[1])
    return SampledSides(spec, view, absent, now, then)


def _compared(
    spec: AuditSpec, known: list[str], now: Sums, then: Sums
) -> tuple[list[str], dict[str, tuple[Status, str]]]:
    """Return the groups of both sides, and the others with the reason that they are not compared."""
    compared: list[str] = []
    absent: dict[str, tuple[Status, str]] = {}
    least = spec.suppress_below
    big = [set(big_enough(sums[ROWS], least, by_class=sums[ROWS].has_target)) for sums in (now, then)]
    for group in known:
        here, there = (group in sums[WEIGHT].groups for sums in (now, then))
        if (here and group not in big[0]) or (there and group not in big[1]):
            absent[group] = Status.TOO_SMALL, f"fewer than {least:,} people"
        elif not (here and there):
            absent[group] = Status.UNDEFINED, "not in the earlier data" if here else "not in the later data"
        else:
            compared.append(group)
    return compared, absent
