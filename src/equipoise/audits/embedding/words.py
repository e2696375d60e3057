"""What an audit of an embedding says in plain words: what is confirmed, then what is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from equipoise.audits.downstream.result import Downstream, DownstreamRecord
from equipoise.audits.downstream.settings import classifier_title
from equipoise.audits.embedding.headlines import EmbeddingHeadline, Recall, embedding_headlines
from equipoise.audits.leakage.probing import Leakage
from equipoise.audits.words import percent, points
from equipoise.foundation.errors import listing
from equipoise.foundation.text import plural
from equipoise.measures.measure import get_measure
from equipoise.results import Record, Status

# What a positive gap says of the side that is worse off.
TOLD = {
    "mean_average_precision_at_r_gap": "has fewer of its own class among its nearest neighbours",
    "intra_class_alignment_gap": "has classes that are spread wider",
    "inter_class_alignment_gap": "has classes that lie closer to others",
    "uniformity_gap": "fills fewer directions of the space",
    "normalised_mutual_information_gap": "is clustered less like its classes",
}


def say_embedding(records: Sequence[Record], leaked: Leakage | None, carried: Downstream | None) -> Iterator[str]:
    """Yield the main sentences, an attribute at a time: neighbours, other gaps, leakage and what carries over.

    Where nothing is confirmed the first sentence says so.
    """
    made = embedding_headlines(
        records, () if leaked is None else leaked.records, () if carried is None else carried.records
    )
    if not any(headline.confirmed for headline in made):
        yield _nothing_confirmed(made)
    for headline in made:
        sentences = [*_confirmed(headline), *_unconfirmed(headline)]
        yield from (f"{headline.attribute}: {sentence}" for sentence in sentences)


def _nothing_confirmed(made: Sequence[EmbeddingHeadline]) -> str:
    tested = sum(headline.tested for headline in made)
    if not tested:
        return "No difference between groups could be tested in this space."
    return (
        f"No difference between groups is confirmed in this space in {plural(tested, 'test')}; intervals below say how "
        "large one may be, and more rows would narrow them. That does not show that the space is as good for everyone."
    )


def _confirmed(headline: EmbeddingHeadline) -> Iterator[str]:
    if headline.recall is not None and headline.recall.gap.finding:
        yield f"a row's nearest neighbours hold its own class for {_neighbours(headline.recall)}."
    for record in headline.gaps:
        title = get_measure(record.measure).title
        side = "the minoritised" if record.value > 0 else "the majoritised"
        yield f"{side} side {TOLD[record.measure]} ({title} {record.value:.3g}, p {record.p_adjusted:.2g} corrected)."
    if headline.read:
        best = headline.read[0]
        yield (
            f"the group can be read from the embedding with balanced accuracy {best.balanced:.3f} ({best.probe} probe, "
            f"95% interval {best.balanced_low:.3f} to {best.balanced_high:.3f}); guessing gives {best.chance:.3f}, and "
            f"shuffled groups gave {best.shuffled_balanced:.3f}."
        )
    if headline.carried:
        widest, *others = headline.carried
        also = f"; also confirmed for {listing([_learner(one) for one in others], 4)}" if others else ""
        yield f"downstream, accuracy differs by {points(abs(widest.value))} with {_who(widest)}{also}."


def _unconfirmed(headline: EmbeddingHeadline) -> Iterator[str]:
    recall = headline.recall
    if recall is None:
        yield f"how often a row finds its own class nearby cannot be compared: {headline.why_no_recall}."
    elif not recall.gap.finding:
        why = "not significant after correction" if recall.gap.finding is False else "not tested"
        why = f"{why} ({recall.gap.reason})" if recall.gap.status == Status.TOO_SMALL else why
        yield f"how often a row's nearest neighbours hold its own class: {why}: {_neighbours(recall)}."
    names = [get_measure(record.measure).title for record in headline.unconfirmed]
    names += [f"reading the group with the {one.probe} probe" for one in headline.leakage if one.finding is False]
    names += [f"accuracy downstream with {_learner(one)}" for one in headline.downstream if one.finding is False]
    if names:
        yield f"not significant after correction: {listing(names, 8)}."


def _neighbours(recall: Recall) -> str:
    gap = _unsigned(recall.gap)
    edges = "" if gap.low is None or gap.high is None else (
        f" (95% interval {100 * gap.low:.1f} to {100 * gap.high:.1f})"
    )  # fmt: skip
    low, high = recall.low, recall.high
    return (
        f"{percent(low.value)} of {low.group} and {percent(high.value)} of {high.group}: "
        f"{points(high.value - low.value)} apart{edges}"
    )


def _unsigned(gap: Record) -> Record:
    """Turn a negative gap round, with its interval: the sentence says which group is worse off."""
    if gap.value >= 0 or gap.low is None or gap.high is None:
        return gap
    return replace(gap, value=-gap.value, low=-gap.high, high=-gap.low)


def _who(record: DownstreamRecord) -> str:
    worse = record.group if record.value > 0 else record.against
    return _learner(record) + (f", {worse} worse off" if worse else "")


def _learner(record: DownstreamRecord) -> str:
    return record.learner.replace("_", " ") if ":" not in record.learner else classifier_title(record.learner)
