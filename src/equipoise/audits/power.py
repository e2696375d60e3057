"""What an audit of this size could have found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.audits.contrasts import REST
from equipoise.audits.result import Power
from equipoise.results import Record
from equipoise.stats import detectable_gap, people_needed

TOLD = ("selection_rate", "true_positive_rate")


def power_of_audit(records: Sequence[Record], gap: float | None, level: float) -> Iterator[Power]:
    """Yield, for each contrast of the main rates, the gap it would find and the people a stated gap needs.

    Both are at the level that decides in the report. People are counted by their effective number, which weights and
    clusters make smaller.
    """
    rates = {
        (r.measure, r.attribute, r.split, r.group): r
        for r in records
        if r.kind == "rate" and r.measure in TOLD and r.scope == "favourable" and r.control is None
    }
    by_place: dict[tuple[object, ...], dict[str | None, Record]] = {}
    for (measure, attribute, split, group), rate in rates.items():
        by_place.setdefault((measure, attribute, split), {})[group] = rate
    known = {
        place: [sum(part(r) for group, r in sizes.items() if group != "(missing)") for part in (_trials, _successes)]
        for place, sizes in by_place.items()
    }
    for record in records:
        if record.kind != "contrast" or record.measure not in TOLD or record.scope != "favourable" or record.control:
            continue
        place = (record.measure, record.attribute, record.split)
        sizes = by_place[place]
        own = sizes[record.group]
        n1 = _trials(own)
        if record.against == REST:
            counted = 0.0 if record.group == "(missing)" else 1.0
            n2, x2 = (
                total - counted * part(own) for total, part in zip(known[place], (_trials, _successes), strict=True)
            )
        else:
            n2, x2 = _trials(sizes[record.against]), _successes(sizes[record.against])
        total = n1 + n2
        if not total:
            continue
        rate_of_all = (_successes(own) + x2) / total
        yield Power(
            measure=record.measure,
            attribute=record.attribute,
            group=str(record.group),
            against=str(record.against),
            split=record.split,
            rate=rate_of_all,
            detectable=detectable_gap(rate_of_all, n1, n2, level=1.0 - level),
            gap=gap,
            people_needed=None
            if gap is None or not n1 or not n2
            else people_needed(gap, rate_of_all, n1 / total, level=1.0 - level),
            level=level,
        )


def _trials(record: Record) -> float:
    return record.effective_n or 0.0


def _successes(record: Record) -> float:
    return record.value * record.effective_n if record.effective_n else 0.0
