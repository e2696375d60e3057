"""Conditional measures: a gap within each value of a control column, and their mean over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from scipy import stats

from equipoise.foundation.errors import listing
from equipoise.results import Record, Status, without_tests


def over_strata(control: str, strata: Mapping[str, tuple[float, Sequence[Record]]]) -> Iterator[Record]:
    """Yield each gap's mean over the strata where it is defined, weighted by the people in them.

    Strata have no row in common, so their p-values are put together by Fisher's method: groups were permuted within
    each. The bounds of the strata hold all together, and so does their mean.
    """
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
        low = _mean_bound([(people, record) for _, people, record in found if record.defined])
        yield replace(
            without_tests(found[0][2]),
            control=control,
            group=None,
            against=None,
            value=value,
            numerator=None,
            denominator=None,
            low=low,
            interval=None if low is None else "lower-bound",
            p=_together([record.p for _, _, record in found if record.p is not None]),
            status=Status.OK if defined else Status.UNDEFINED,
            reason=f"weighted mean over {len(defined)} of {len(found)} values of {control}"
            + (f"; undefined in {listing(lost, 5)}" if lost else ""),
        )


def _mean_bound(strata: Sequence[tuple[float, Record]]) -> float | None:
    """Return the weighted mean of the strata's lower bounds, where each has one."""
    bounds = [(people, record.low) for people, record in strata]
    known = [(people, low) for people, low in bounds if low is not None]
    if not known or len(known) < len(bounds):
        return None
    return sum(people * low for people, low in known) / sum(people for people, _ in known)


def _together(p_values: Sequence[float]) -> float | None:
    """Return one p-value for independent ones (Fisher)."""
    return float(stats.combine_pvalues(p_values, method="fisher").pvalue) if p_values else None
