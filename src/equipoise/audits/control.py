"""Conditional measures: a gap within each value of a control column, and their mean over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from equipoise.foundation.errors import listing
from equipoise.foundation.results import Record


def over_strata(control: str, strata: Mapping[str, tuple[float, Sequence[Record]]]) -> Iterator[Record]:
    """Yield each gap's mean over the strata where it is defined, weighted by the people in them."""
    kept: dict[tuple[object, ...], list[tuple[str, float, Record]]] = {}
    for stratum, (people, records) in strata.items():
        for record in records:
            if record.kind in ("gap", "ratio"):
                key = (record.measure, record.attribute, record.scope, record.class_, record.label, record.split)
                kept.setdefault(key, []).append((stratum, people, record))
    for found in kept.values():
        defined = [(people, record.value) for _, people, record in found if record.defined]
        total = sum(people for people, _ in defined)
        value = sum(people * value for people, value in defined) / total if total else float("nan")
        lost = [stratum for stratum, _, record in found if not record.defined]
        yield replace(
            found[0][2],
            control=control,
            group=None,
            against=None,
            value=value,
            numerator=None,
            denominator=None,
            low=None,
            interval=None,
            p=None,
            status="ok" if defined else "undefined",
            reason=f"weighted mean over {len(defined)} of {len(found)} values of {control}"
            + (f"; undefined in {listing(lost, 5)}" if lost else ""),
        )
