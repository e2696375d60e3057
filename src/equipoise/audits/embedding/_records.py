"""Records of an embedding: every measure for each group, and its gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from equipoise.audits._records import measures_for
from equipoise.audits.embedding._evidence import EMBEDDING_EVIDENCE, EmbeddingEvidence, EmbeddingReason, evidence_of
from equipoise.audits.embedding._intervals import LEVEL
from equipoise.foundation.reproducibility import stream
from equipoise.measures.embeddings import GAP_VARIANTS, NO_LARGEST, PAPER_SIGN, compared_sets
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Reason, Record, Status, because
from equipoise.tallies.embedded import Embedded

if TYPE_CHECKING:
    pass

# A jackknife of these is off where classes are small: intervals of their gaps cover about 84%.
JACKKNIFED = ("normalised_mutual_information", "adjusted_mutual_information")
# Rules that compare three groups or more; of two, they equal the plain gap.
OF_MANY = ("best_minus_worst", "each_against_worst", "halves")


@dataclass(frozen=True)
class Context:
    """Which attribute the records are about, and how its numbers are tested."""

    attribute: str
    least_people: int
    draws: int
    seed: int
    progress: Callable[[str], None]
    # How many gaps the report tests.
    tests: int = 1


def tests_of(embedded: Embedded) -> int:
    """Return how many gaps of an attribute are tested."""
    gaps = sum(measure.kind == "gap" for measure in measures_for(("embedding",)))
    return gaps * sum(variant != PAPER_SIGN for variant in _variants(embedded))


def everyone_records(embedded: Embedded, context: Context) -> Iterator[Record]:
    """Yield every value over all rows together."""
    for measure in _values_of_spaces():
        for record in _values(
            measure, embedded.everyone, _evidence(measure, embedded.everyone, (), context)[0], context
        ):
            yield replace(record, attribute=(), group=None)


def attribute_records(embedded: Embedded, context: Context) -> Iterator[Record]:
    """Yield the values of each group of an attribute, and the gaps between them."""
    gaps = {measure.of: measure for measure in measures_for(("embedding",)) if measure.kind == "gap"}
    for measure in _values_of_spaces():
        context.progress(measure.title)
        gap = gaps.get(measure.name)
        variants = () if gap is None else _variants(embedded)
        # The paper's sign turns the same gap round: it is shown, and not tested a second time.
        tested = tuple(variant for variant in variants if variant != PAPER_SIGN)
        value, evidence = _evidence(measure, embedded, tested, context)
        yield from _values(measure, embedded, value, context)
        if gap is not None:
            for variant in variants:
                yield _gap(gap, embedded, variant, evidence.get(variant), context)


def small_records(embedded: Embedded, context: Context) -> Iterator[Record]:
    """Yield the values of groups that are too small to be compared, without intervals."""
    for measure in _values_of_spaces():
        yield from _values(measure, embedded, None, context)


def _values_of_spaces() -> list[Measure]:
    return [measure for measure in measures_for(("embedding",)) if measure.kind in ("rate", "value")]


def _evidence(
    measure: Measure, embedded: Embedded, variants: tuple[str, ...], context: Context
) -> tuple[EmbeddingEvidence | None, dict[str, EmbeddingEvidence]]:
    if measure.name not in EMBEDDING_EVIDENCE or not context.draws:
        return None, {}
    generator = stream(context.seed, "embedding", context.attribute, measure.name)
    return evidence_of(measure.name, embedded, generator, context.draws, variants, context.tests)


def _variants(embedded: Embedded) -> list[str]:
    return [variant for variant in GAP_VARIANTS if variant not in OF_MANY or len(embedded.groups) > 2]


def _has_majority(embedded: Embedded) -> bool:
    return all(side.any() for side in compared_sets(embedded))


def _values(
    measure: Measure, embedded: Embedded, evidence: EmbeddingEvidence | None, context: Context
) -> Iterator[Record]:
    values = measure.by_class(embedded) if evidence is None else evidence.value
    numerators, denominators = measure.function(embedded) if measure.kind == "rate" else (None, None)
    for at, group in enumerate(embedded.groups):
        people, reason = int(embedded.people[at]), None
        if np.isnan(values[at]):
            reason = because(EmbeddingReason.UNDEFINED, why=measure.undefined)
        elif people < context.least_people:
            reason = because(EmbeddingReason.FEW_ROWS, rows=people, least=context.least_people)
        record = Record(
            measure=measure.name, alias=measure.alias, kind=measure.kind, attribute=(context.attribute,), group=group,
            value=float(values[at]),
            numerator=None if numerators is None else float(numerators[at]),
            denominator=None if denominators is None else float(denominators[at]),
            status=_status(reason), reason=reason,
        )  # fmt: skip
        yield record if evidence is None else _with_interval(record, evidence, at, measure.name)


def _gap(
    measure: Measure, embedded: Embedded, variant: str, evidence: EmbeddingEvidence | None, context: Context
) -> Record:
    value = float(measure.by_class(embedded, variant) if evidence is None else evidence.value)
    reason = None
    if np.isnan(value):
        reason = _undefined(measure, embedded, variant)
    elif embedded.people.min() < context.least_people:
        reason = because(EmbeddingReason.SMALL_GROUP, least=context.least_people)
    record = Record(
        measure=measure.name, alias=measure.alias, kind="gap", variant=variant, attribute=(context.attribute,),
        value=value, status=_status(reason), reason=reason,
    )  # fmt: skip
    if evidence is None:
        return record
    if not np.isnan(evidence.p) and record.status != Status.TOO_SMALL:
        record = replace(record, p=evidence.p, limited_by_draws=evidence.limited)
    return _with_interval(record, evidence, 0, measure.of)


def _status(reason: Reason | None) -> Status:
    """Return the status of a number; what has neither of these reasons is undefined."""
    if reason is None:
        return Status.OK
    small = reason.has(EmbeddingReason.FEW_ROWS) or reason.has(EmbeddingReason.SMALL_GROUP)
    return Status.TOO_SMALL if small else Status.UNDEFINED


def _with_interval(record: Record, evidence: EmbeddingEvidence, at: int, value: str | None) -> Record:
    """Return a record of a value's group (or of a gap) with its interval, or with the reason why it has none."""
    if record.reason is None and evidence.reasons:
        record = replace(record, reason=evidence.reasons[at])
    low, high = np.atleast_1d(evidence.low)[at], np.atleast_1d(evidence.high)[at]
    if np.isnan(low) or evidence.method is None or not record.defined:
        return record
    return replace(
        record, low=float(low), high=float(high), interval=evidence.method.kind, level=LEVEL,
        approximate=value in JACKKNIFED,
    )  # fmt: skip


def _undefined(measure: Measure, embedded: Embedded, variant: str) -> Reason:
    if variant not in OF_MANY and not _has_majority(embedded):
        return because(EmbeddingReason.NO_LARGEST_GROUP, why=NO_LARGEST)
    return because(EmbeddingReason.UNDEFINED_IN_A_GROUP, why=get_measure(measure.of or measure.name).undefined)
