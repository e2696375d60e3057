"""Records of an embedding: every measure for each group, its gaps, and what can be said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from equipoise.audits.embedding._evidence import EMBEDDING_EVIDENCE, EmbeddingEvidence, judged
from equipoise.audits.embedding._spreads import LEVEL
from equipoise.audits.records import measures_for
from equipoise.foundation.seeds import stream
from equipoise.foundation.text import plural
from equipoise.measures.embeddings import GAP_VARIANTS, NO_LARGEST, PAPER_SIGN, compared_sets
from equipoise.measures.measure import Measure, get_measure
from equipoise.results import Record, Status
from equipoise.tallies.embedded import Embedded

# A jackknife of these is off where classes are small: intervals of their gaps cover about 84%.
BENT = ("normalised_mutual_information", "adjusted_mutual_information")
# Rules that compare three groups or more; of two, they say what the plain gap says.
OF_MANY = ("best_minus_worst", "each_against_worst", "halves")


@dataclass(frozen=True)
class Where:
    """Which attribute is told of, and how its numbers are tested."""

    attribute: str
    least_people: int
    draws: int
    seed: int
    tell: Callable[[str], None]
    # How many gaps the report tests.
    tests: int = 1


def tests_of(embedded: Embedded) -> int:
    """Return how many gaps of an attribute are tested."""
    gaps = sum(measure.kind == "gap" for measure in measures_for(("embedding",)))
    return gaps * sum(variant != PAPER_SIGN for variant in _variants(embedded))


def everyone_records(embedded: Embedded, where: Where) -> Iterator[Record]:
    """Yield every value over all rows together."""
    for measure in _values_of_spaces():
        for record in _values(measure, embedded.everyone, _judged(measure, embedded.everyone, (), where)[0], where):
            yield replace(record, attribute=(), group=None)


def attribute_records(embedded: Embedded, where: Where) -> Iterator[Record]:
    """Yield the values of each group of an attribute, and the gaps between them."""
    gaps = {measure.of: measure for measure in measures_for(("embedding",)) if measure.kind == "gap"}
    for measure in _values_of_spaces():
        where.tell(measure.title)
        gap = gaps.get(measure.name)
        variants = () if gap is None else _variants(embedded)
        # The paper's sign turns the same gap round: it is told, and not tested a second time.
        tested = tuple(variant for variant in variants if variant != PAPER_SIGN)
        value, evidence = _judged(measure, embedded, tested, where)
        yield from _values(measure, embedded, value, where)
        if gap is not None:
            for variant in variants:
                yield _gap(gap, embedded, variant, evidence.get(variant), where)


def small_records(embedded: Embedded, where: Where) -> Iterator[Record]:
    """Yield the values of groups that are too small to be compared, without intervals."""
    for measure in _values_of_spaces():
        yield from _values(measure, embedded, None, where)


def _values_of_spaces() -> list[Measure]:
    return [measure for measure in measures_for(("embedding",)) if measure.kind in ("rate", "value")]


def _judged(
    measure: Measure, embedded: Embedded, variants: tuple[str, ...], where: Where
) -> tuple[EmbeddingEvidence | None, dict[str, EmbeddingEvidence]]:
    if measure.name not in EMBEDDING_EVIDENCE or not where.draws:
        return None, {}
    generator = stream(where.seed, "embedding", where.attribute, measure.name)
    return judged(measure.name, embedded, generator, where.draws, variants, where.tests)


def _variants(embedded: Embedded) -> list[str]:
    return [variant for variant in GAP_VARIANTS if variant not in OF_MANY or len(embedded.groups) > 2]


def _has_majority(embedded: Embedded) -> bool:
    return all(side.any() for side in compared_sets(embedded))


def _values(measure: Measure, embedded: Embedded, evidence: EmbeddingEvidence | None, where: Where) -> Iterator[Record]:
    values = measure.by_class(embedded) if evidence is None else evidence.value
    numerators, denominators = measure.function(embedded) if measure.kind == "rate" else (None, None)
    for place, group in enumerate(embedded.groups):
        people = int(embedded.people[place])
        value, small = float(values[place]), people < where.least_people
        low, high = (np.nan, np.nan) if evidence is None else (evidence.low[place], evidence.high[place])
        known = not np.isnan(value) and not np.isnan(low)
        untold = evidence.untold[place] if evidence is not None and evidence.untold else None
        yield Record(
            measure=measure.name,
            alias=measure.alias,
            kind=measure.kind,
            attribute=(where.attribute,),
            group=group,
            value=value,
            numerator=None if numerators is None else float(numerators[place]),
            denominator=None if denominators is None else float(denominators[place]),
            low=float(low) if known else None,
            high=float(high) if known else None,
            interval=_interval(evidence) if known else None,
            level=LEVEL if known else None,
            approximate=known and measure.name in BENT,
            status=Status.UNDEFINED if np.isnan(value) else Status.TOO_SMALL if small else Status.OK,
            reason=measure.undefined if np.isnan(value) else f"{plural(people, 'row')} only" if small else untold,
        )


def _gap(
    measure: Measure, embedded: Embedded, variant: str, evidence: EmbeddingEvidence | None, where: Where
) -> Record:
    value = float(measure.by_class(embedded, variant) if evidence is None else evidence.value)
    small = bool(embedded.people.min() < where.least_people)
    tested = evidence is not None and not np.isnan(evidence.p) and not small
    known = evidence is not None and not np.isnan(evidence.low)
    untold = evidence.untold[0] if evidence is not None and evidence.untold else None
    return Record(
        measure=measure.name,
        alias=measure.alias,
        kind="gap",
        variant=variant,
        attribute=(where.attribute,),
        value=value,
        p=evidence.p if tested and evidence is not None else None,
        low=float(evidence.low) if known and evidence is not None else None,
        high=float(evidence.high) if known and evidence is not None else None,
        interval=_interval(evidence) if known else None,
        level=LEVEL if known else None,
        approximate=known and measure.of in BENT,
        limited_by_draws=evidence.limited if tested and evidence is not None else None,
        status=Status.UNDEFINED if np.isnan(value) else Status.TOO_SMALL if small else Status.OK,
        reason=_why(measure, embedded, variant) if np.isnan(value) else _too_small(where) if small else untold,
    )


def _why(measure: Measure, embedded: Embedded, variant: str) -> str:
    if variant not in OF_MANY and not _has_majority(embedded):
        return NO_LARGEST
    return f"a group has no value: {get_measure(measure.of or measure.name).undefined}"


def _too_small(where: Where) -> str:
    return f"a group has fewer than {where.least_people:,} rows"


def _interval(evidence: EmbeddingEvidence | None) -> str | None:
    """Return the kind of an interval, from the words that say how it was made."""
    if evidence is None:
        return None
    return "bootstrap" if "draw" in evidence.method or "resampl" in evidence.method else "normal"
