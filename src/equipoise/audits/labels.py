"""Multi-label tasks: what the labels say together. Paper 004 takes the unweighted mean over labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from equipoise.foundation.errors import listing
from equipoise.measures.measure import get_measure
from equipoise.results import Record, Status, without_tests
from equipoise.tallies.labels import MISSING, Label, shown

# The rates that are also pooled over labels before they are divided.
MICRO = ("positive_predictive_value", "true_positive_rate", "f1", "accuracy")


def over_labels(by_label: Mapping[Label, Sequence[Record]], *, strict: bool) -> Iterator[Record]:
    """Yield the mean over labels of everything that is told label by label, and pooled (micro) rates."""
    together: dict[tuple[object, ...], list[Record]] = {}
    for records in by_label.values():
        for record in records:
            if _one_per_label(record):
                key = (record.measure, record.kind, record.attribute, record.group if _of_group(record) else None)
                together.setdefault((*key, record.split, record.control), []).append(record)
    untold = _labels_untold(together.values())
    for records in together.values():
        yield _mean(records, untold.get(records[0].measure, set()), strict=strict)
        if records[0].measure in MICRO and records[0].kind == "rate":
            yield _pooled(records)


def _labels_untold(together: Iterable[Sequence[Record]]) -> dict[str, set[Label]]:
    """Return, for each rate, the labels that are undefined in some group: no group's mean takes them."""
    untold: dict[str, set[Label]] = {}
    for records in together:
        if records[0].kind == "rate" and records[0].group not in (None, MISSING):
            untold.setdefault(records[0].measure, set()).update(r.label for r in records if not r.defined)
    return untold


def _one_per_label(record: Record) -> bool:
    """Classwise numbers speak of the label's presence; a summary over both classes of a label is not averaged."""
    return record.kind in ("rate", "gap", "ratio") and (
        get_measure(record.measure).classwise or record.measure.startswith("accuracy")
    )


def _of_group(record: Record) -> bool:
    return record.kind == "rate"


def _mean(records: Sequence[Record], untold: set[Label], *, strict: bool) -> Record:
    left_out = untold if records[0].kind == "rate" else set()
    defined = [record.value for record in records if record.defined and record.label not in left_out]
    lost = [shown(record.label) for record in records if not record.defined or record.label in left_out]
    undefined = not defined or (strict and bool(lost))
    return replace(
        without_tests(records[0]),
        scope="overall",
        class_=None,
        label=None,
        group=records[0].group if _of_group(records[0]) else None,
        against=None,
        numerator=None,
        denominator=None,
        value=float("nan") if undefined else sum(defined) / len(defined),
        status=Status.UNDEFINED if undefined else Status.OK,
        reason=f"mean over {len(defined)} of {len(records)} labels; undefined in a group and left out: {listing(lost)}"
        if lost
        else None,
    )


def _pooled(records: Sequence[Record]) -> Record:
    numerator = sum(record.numerator or 0.0 for record in records)
    denominator = sum(record.denominator or 0.0 for record in records)
    return replace(
        without_tests(records[0]),
        variant="micro",
        scope="overall",
        class_=None,
        label=None,
        numerator=numerator,
        denominator=denominator,
        value=numerator / denominator if denominator else float("nan"),
        status=Status.OK if denominator else Status.UNDEFINED,
        reason=None if denominator else "no label has anybody in its denominator",
    )
