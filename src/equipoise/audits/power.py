"""What an audit of this size could have found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.audits.contrasts import REST
from equipoise.audits.result import Power
from equipoise.evidence.power import detectable_gap, people_needed
from equipoise.foundation.results import Record

TOLD = ("selection_rate", "true_positive_rate")


def power_of_audit(records: Sequence[Record], gap: float | None) -> Iterator[Power]:
    """Yield, for each contrast of the main rates, the gap it would find and the people a stated gap needs."""
    rates = {
        (r.measure, r.attribute, r.split, r.group): r
        for r in records
        if r.kind == "rate" and r.measure in TOLD and r.scope == "favourable" and r.control is None
    }
    for record in records:
        if record.kind != "contrast" or record.measure not in TOLD or record.scope != "favourable" or record.control:
            continue
        sizes = {r.group: r for key, r in rates.items() if key[:3] == (record.measure, record.attribute, record.split)}
        own = sizes[record.group]
        others = [r for group, r in sizes.items() if group in ((record.against,) if record.against != REST else sizes)
                  and group not in (record.group, "(missing)")]  # fmt: skip
        n1 = own.denominator or 0.0
        n2 = sum(r.denominator or 0.0 for r in others)
        total = n1 + n2
        if not total:
            continue
        rate = ((own.numerator or 0.0) + sum(r.numerator or 0.0 for r in others)) / total
        yield Power(
            measure=record.measure,
            attribute=record.attribute,
            group=str(record.group),
            against=str(record.against),
            split=record.split,
            rate=rate,
            detectable=detectable_gap(rate, n1, n2),
            gap=gap,
            people_needed=None if gap is None or not n1 or not n2 else people_needed(gap, rate, n1 / total),
        )
