"""What an audit of an embedding may say: what is confirmed, then what is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from equipoise.audits.downstream.result import DownstreamRecord
from equipoise.audits.downstream.settings import classifier_title
from equipoise.audits.leakage.probing import LeakageRecord
from equipoise.foundation.errors import listing
from equipoise.foundation.text import percent, plural, points
from equipoise.measures.measure import get_measure
from equipoise.reports.formats import interval_name
from equipoise.reports.narrative._story import About, Story
from equipoise.reports.spaces import compared
from equipoise.results import Record, Status

# What a positive gap says of the side that is worse off.
TOLD = {
    "mean_average_precision_at_r_gap": "has fewer of its own class among its nearest neighbours",
    "intra_class_alignment_gap": "has classes that are spread wider",
    "inter_class_alignment_gap": "has classes that lie closer to others",
    "uniformity_gap": "fills fewer directions of the space",
    "normalised_mutual_information_gap": "is clustered less like its classes",
}


# The gaps of a space that are told, in this order; recall stands apart, with the rates of its groups.
GAPS = (
    "mean_average_precision_at_r_gap", "intra_class_alignment_gap", "inter_class_alignment_gap", "uniformity_gap",
    "normalised_mutual_information_gap",
)  # fmt: skip


@dataclass(frozen=True)
class Recall:
    """The gap in recall, and the groups with the lowest and the highest."""

    gap: Record
    low: Record
    high: Record


@dataclass(frozen=True)
class EmbeddingHeadline:
    """What may be said of one attribute: what is confirmed, and beside it what was tested without a finding."""

    attribute: str
    recall: Recall | None
    why_no_recall: str | None
    gaps: tuple[Record, ...]
    unconfirmed: tuple[Record, ...]
    leakage: tuple[LeakageRecord, ...]
    downstream: tuple[DownstreamRecord, ...]

    @property
    def read(self) -> tuple[LeakageRecord, ...]:
        """The probes that are shown to read the group, the best first."""
        return tuple(sorted((one for one in self.leakage if one.finding), key=lambda one: -one.balanced))

    @property
    def carried(self) -> tuple[DownstreamRecord, ...]:
        """The confirmed gaps in accuracy of classifiers trained on the space, the widest first."""
        return tuple(sorted((one for one in self.downstream if one.finding), key=lambda one: -abs(one.value)))

    @property
    def confirmed(self) -> bool:
        """Tell whether anything is confirmed."""
        recall = self.recall is not None and bool(self.recall.gap.finding)
        return recall or bool(self.gaps or self.read or self.carried)

    @property
    def tested(self) -> int:
        """How many gaps were tested, those of classifiers and probes included."""
        recall = self.recall is not None and self.recall.gap.finding is not None
        read = sum(one.finding is not None for one in self.leakage)
        carried = sum(one.finding is not None for one in self.downstream)
        return int(recall) + len(self.gaps) + len(self.unconfirmed) + read + carried


def embedding_headlines(
    records: Sequence[Record], leakage: Sequence[LeakageRecord], downstream: Sequence[DownstreamRecord]
) -> tuple[EmbeddingHeadline, ...]:
    """Return what may be said of each attribute, those with something confirmed first."""
    made = []
    for name in dict.fromkeys(record.attribute[0] for record in records if record.attribute):
        own = [record for record in records if record.attribute == (name,)]
        recall, why = _recall(own)
        told = sorted(
            (r for r in own if r.measure in GAPS and r.variant == "paper"), key=lambda r: GAPS.index(r.measure)
        )
        made.append(
            EmbeddingHeadline(
                attribute=name,
                recall=recall,
                why_no_recall=why,
                gaps=tuple(record for record in told if record.finding),
                unconfirmed=tuple(record for record in told if record.finding is False),
                leakage=tuple(record for record in leakage if record.attribute == name),
                downstream=_downstream(downstream, name),
            )
        )
    return tuple(sorted(made, key=lambda headline: not headline.confirmed))


def _recall(records: Sequence[Record]) -> tuple[Recall | None, str | None]:
    rates = compared([r for r in records if r.measure == "recall_at_k" and r.defined])
    gaps = {r.variant: r for r in records if r.measure == "recall_at_k_gap"}
    gap = gaps.get("best_minus_worst", gaps.get("paper"))  # the widest, where several groups are compared
    if len(rates) < 2 or gap is None or not gap.defined:
        return None, str(gap.reason) if gap is not None and gap.reason else "fewer than two groups have a value"
    return Recall(gap, min(rates, key=lambda r: r.value), max(rates, key=lambda r: r.value)), None


def _downstream(records: Sequence[DownstreamRecord], name: str) -> tuple[DownstreamRecord, ...]:
    gaps = [r for r in records if r.attribute == name and r.measure == "accuracy" and r.defined]
    return tuple([r for r in gaps if r.kind == "largest gap"] or [r for r in gaps if r.kind == "gap"])


def space_story(
    records: Sequence[Record], leakage: Sequence[LeakageRecord] = (), downstream: Sequence[DownstreamRecord] = ()
) -> Story:
    """Tell an embedding, an attribute at a time: neighbours, other gaps, leakage and what carries over.

    Where nothing is confirmed the first sentence says so.
    """
    made = embedding_headlines(records, leakage, downstream)
    about = tuple(
        About((headline.attribute,), None, tuple(_confirmed(headline)), tuple(_unconfirmed(headline)))
        for headline in made
    )
    if not any(headline.confirmed for headline in made):
        return Story((_nothing_confirmed(made),), about)
    first = next(place for place, one in enumerate(about) if one.confirmed)
    return Story((), about, first=first)


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
        f" ({interval_name(gap.level)} {100 * gap.low:.1f} to {100 * gap.high:.1f})"
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
