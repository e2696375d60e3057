"""What a reader must know to read the numbers of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from equipoise.audits.compare.result import CompareResult
from equipoise.foundation.text import fitting, percent, plural
from equipoise.results import Status


def notes_of(
    result: CompareResult, others: Iterable[str], *, draws: int, clusters: bool, undescribed: str | None
) -> Iterator[str]:
    """Yield what a reader must know to read the numbers."""
    similarity = result.similarity
    unit = "clusters" if clusters else "distinct profiles (rows that are equal before and after)"
    if draws:
        yield (
            f"Tests permute groups over {similarity.units:,} {unit}, not over {similarity.rows:,} people: copies are "
            f"not independent. Permutation tests use {plural(draws, 'draw')}; p-values are corrected for every test of "
            "this report (Benjamini-Hochberg); an interval excludes 0 where its test, before correction, has p of at "
            "most 0.05."
        )
    if abs(similarity.share_reached - similarity.share) > 0.0005:
        yield (
            f"The most changed are {percent(similarity.share_reached)} instead of the {percent(similarity.share)} "
            f"asked for: {plural(similarity.tied, 'person has', 'people share')} the score at the cut, and ties are "
            "included or excluded together; --ties fractional counts each by a fraction."
        )
    if similarity.undefined:
        whose = fitting(similarity.undefined, "the point lies", "their points lie")
        yield f"{plural(similarity.undefined, 'person has', 'people have')} no score: {whose} at the mean of a space."
    hidden = sum(record.status == Status.TOO_SMALL for record in result.records)
    if hidden:
        why = next(record.reason for record in result.records if record.status == Status.TOO_SMALL)
        yield f"{plural(hidden, 'group is', 'groups are')} hidden: {why}."
    if result.outcomes and result.link is not None and result.link.reason is not None:
        yield f"Scores and predictions: {result.link.reason}."
    if result.floor:
        yield (
            "One rerun is one sample of the noise: intervals of the noise floor are about other people, not about "
            "other reruns."
        )
    if result.projections:
        yield (
            "omega = (p' - p) / |p| has no limit where p is near 0; the bounded form (p' - p) / (|p'| + |p|) lies "
            "between -1 and 1. Both compare lengths: a space that is only scaled up has larger projections."
        )
    if undescribed is not None and similarity.share_reached == similarity.share_reached:
        yield f"No rule describes the most changed taken together: {undescribed}."
    yield from others
    yield (
        "A score says how much a person's similarities to all others changed, not whether that is good for them. A "
        "different share among the most changed is not by itself unfair: a treatment may be meant for them."
    )
