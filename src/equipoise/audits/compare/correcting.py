"""One correction for all tests of a report, whatever kind of record carries them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from equipoise.stats import benjamini_hochberg, is_finding, limited_by_draws


def corrected(*lists: Sequence[Any], draws: int = 0) -> tuple[list[Any], ...]:
    """Return the lists with ``p_adjusted`` and ``finding`` filled in wherever there is a ``p``.

    The two groups of a binary attribute are one test: what one has more of, the other has less of. A p that rests on
    fewer than 20 extreme of the ``draws``, where the tests of the report need more draws, is limited by them.
    """
    ps: list[float] = []
    places = []
    for records in lists:
        twins = mirrored(records)
        seen: dict[object, int] = {}
        for record in records:
            key = getattr(record, "attribute", None)
            if record.p is None:
                places.append(-1)
            elif key in twins and key in seen:
                places.append(seen[key])
            else:
                seen[key] = len(ps)
                places.append(len(ps))
                ps.append(record.p)
    adjusted = benjamini_hochberg(ps).tolist()
    place = iter(places)
    return tuple(
        [
            record if (at := next(place)) < 0 else _limited(_with(record, adjusted[at]), draws, len(ps))
            for record in records
        ]
        for records in lists
    )


def _limited(record: Any, draws: int, tests: int) -> Any:
    """Tell of a record with a permutation test whether more draws could have made its p smaller."""
    if not hasattr(record, "limited_by_draws"):
        return record
    return replace(record, limited_by_draws=bool(limited_by_draws(record.p, draws, tests)))


def mirrored(records: Sequence[Any]) -> set[object]:
    """Return the attributes whose two groups are one test: two were tested, with one p and opposite differences."""
    by_attribute: dict[object, list[tuple[float, float]]] = {}
    for record in records:
        if record.p is not None and getattr(record, "attribute", None) is not None:
            tested = (record.p, getattr(record, "difference", math.nan))
            by_attribute.setdefault(record.attribute, []).append(tested)
    return {name for name, tests in by_attribute.items() if len(tests) == 2 and _are_mirrored(*tests)}


def _are_mirrored(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return math.isclose(one[0], other[0], rel_tol=1e-9) and math.isclose(one[1], -other[1], rel_tol=1e-6, abs_tol=1e-12)


def _with(record: Any, adjusted: float) -> Any:
    if math.isnan(adjusted):
        return record
    ends, null = (getattr(record, "low", None), getattr(record, "high", None)), getattr(record, "NULL", 0.0)
    return replace(record, p_adjusted=adjusted, finding=is_finding(adjusted, *ends, null=null))
