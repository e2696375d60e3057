"""What an audit of an embedding may say: what is confirmed of each attribute, then what is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from equipoise.audits.downstream import DownstreamRecord
from equipoise.audits.leakage import LeakageRecord
from equipoise.foundation.errors import listing
from equipoise.foundation.text import percent, plural, points
from equipoise.reports import formats
from equipoise.reports._document import Name, Text
from equipoise.reports._measure_words import name_of
from equipoise.reports._spaces import ORIENTED, POSITIVE, WIDEST, compared, learner_title, worse_side
from equipoise.reports.narrative._story import NOT_SIGNIFICANT, About, Story, edges, inside
from equipoise.results import Record, Status

# The gaps that are told, in this order; recall stands apart, with the rates of its groups.
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
    """What may be said of one attribute: its gaps, probes and classifiers, whether confirmed or not.

    ``groups`` are those with a value, ``against`` is the one that the others are compared with.
    """

    attribute: str
    groups: tuple[str, ...]
    against: str | None
    recall: Recall | None
    why_no_recall: str | None
    gaps: tuple[Record, ...]
    leakage: tuple[LeakageRecord, ...]
    downstream: tuple[DownstreamRecord, ...]

    @property
    def findings(self) -> list[bool]:
        """Return every verdict."""
        own = [*self.gaps] if self.recall is None else [self.recall.gap, *self.gaps]
        found = [record.finding for record in own] + [record.finding for record in self.leakage]
        found += [record.finding for record in self.downstream]
        return [finding for finding in found if finding is not None]


def space_story(
    records: Sequence[Record], leakage: Sequence[LeakageRecord] = (), downstream: Sequence[DownstreamRecord] = (),
    against: Mapping[str, str | None] | None = None,
) -> Story:  # fmt: skip
    """Tell an embedding, an attribute at a time: neighbours, other gaps, leakage and what carries over.

    ``against`` names the group of each attribute that the others are compared with. Where nothing is confirmed the
    first sentence says so.
    """
    names = dict.fromkeys(record.attribute[0] for record in records if record.attribute)
    made = [_headline(name, records, leakage, downstream, (against or {}).get(name)) for name in names]
    made.sort(key=lambda headline: not any(headline.findings))
    about = [
        About(one.attribute, tuple(_confirmed(one))[int(place == 0) :], tuple(_open(one)))
        for place, one in enumerate(made)
    ]
    if any(any(headline.findings) for headline in made):
        return Story(next(_confirmed(made[0], f" ({made[0].attribute})")), tuple(about))
    tested = sum(len(headline.findings) for headline in made)
    if not tested:
        return Story("No difference between groups could be tested in this space.", tuple(about), found=False)
    return Story(
        f"No difference between groups is confirmed in {plural(tested, 'test')} of this space. More rows would narrow "
        "the intervals.", tuple(about), "That does not show that the space is as good for everyone.", found=False,
    )  # fmt: skip


def _headline(
    name: str, records: Sequence[Record], leakage: Sequence[LeakageRecord], downstream: Sequence[DownstreamRecord],
    against: str | None,
) -> EmbeddingHeadline:  # fmt: skip
    own = [record for record in records if record.attribute == (name,)]
    recall, why = _recall(own)
    gaps = [record for record in own if record.measure in GAPS and record.variant == ORIENTED]
    accuracy = [r for r in downstream if r.attribute == name and r.measure == "accuracy" and r.defined]
    return EmbeddingHeadline(
        name, tuple(dict.fromkeys(str(r.group) for r in own if r.kind in ("rate", "value"))), against, recall, why,
        tuple(sorted(gaps, key=lambda record: GAPS.index(record.measure))),
        tuple(record for record in leakage if record.attribute == name),
        tuple([r for r in accuracy if r.kind == "largest gap"] or [r for r in accuracy if r.kind == "gap"]),
    )  # fmt: skip


def _recall(records: Sequence[Record]) -> tuple[Recall | None, str | None]:
    rates = compared([r for r in records if r.measure == "recall_at_k" and r.defined])
    gaps = {r.variant: r for r in records if r.measure == "recall_at_k_gap"}
    gap = gaps.get(WIDEST, gaps.get(ORIENTED))  # the widest, where several groups are compared
    if len(rates) < 2 or gap is None or not gap.defined:
        return None, str(gap.reason) if gap is not None and gap.reason else "fewer than two groups have a value"
    return Recall(gap, min(rates, key=lambda r: r.value), max(rates, key=lambda r: r.value)), None


def _confirmed(headline: EmbeddingHeadline, about: str = "") -> Iterator[Text]:
    """Yield what is confirmed; ``about`` says what the groups are groups of."""
    recall = headline.recall
    if recall is not None and recall.gap.finding:
        low, high = recall.low, recall.high
        yield (
            Name(str(low.group)), f"{about} have their own class among the nearest neighbours less often than ",
            Name(str(high.group)), f": {percent(low.value)} against {percent(high.value)}{_recall_gap(recall)}.",
        )  # fmt: skip
    for record in headline.gaps:
        if record.finding:
            side = worse_side(record, headline.groups, headline.against)
            numbers = inside(f"{name_of(record.measure)} {formats.fine(record.value)}", _corrected(record.p_adjusted))
            yield (Name(side), f"{about} {POSITIVE[record.measure]}{numbers}.")
    read = sorted((one for one in headline.leakage if one.finding), key=lambda one: -one.balanced)
    if read:
        best = read[0]
        around = edges(best.balanced_low, best.balanced_high, 0.95, formats.decimal)
        yield (
            f"A probe can read {headline.attribute} from the embedding: balanced accuracy {best.balanced:.3f}"
            f"{inside(f'{learner_title(best.probe)} probe', around)}, against {best.chance:.3f} by guessing and "
            f"{best.shuffled_balanced:.3f} with permuted groups."
        )
    carried = sorted((one for one in headline.downstream if one.finding), key=lambda one: -abs(one.value))
    if carried:
        widest, *others = carried
        worse = widest.group if widest.value > 0 else widest.against
        size = points(abs(widest.value))
        said = f"is {size} lower for {worse}{about}" if worse else f"differs by {size}"
        also = f"also confirmed for {listing([learner_title(one.learner) for one in others], 4)}" if others else ""
        yield f"Downstream, accuracy {said}{inside(learner_title(widest.learner), also)}."


def _corrected(p: float | None) -> str:
    return "" if p is None else f"corrected p {formats.p_value(p)}"


def _open(headline: EmbeddingHeadline) -> Iterator[str]:
    recall = headline.recall
    if recall is None:
        yield f"Recall cannot be compared: {headline.why_no_recall}."
    elif not recall.gap.finding:
        low, high = recall.low, recall.high
        sides = f"{low.group} {percent(low.value)}, {high.group} {percent(high.value)}{_recall_gap(recall)}"
        why = f"not tested, {recall.gap.reason}" if recall.gap.status == Status.TOO_SMALL else "not tested"
        yield f"{NOT_SIGNIFICANT if recall.gap.finding is False else why}: recall of {sides}."
    names = [name_of(record.measure) for record in headline.gaps if record.finding is False]
    names += [f"{learner_title(one.probe)} probe" for one in headline.leakage if one.finding is False]
    names += [
        f"accuracy downstream ({learner_title(one.learner)})" for one in headline.downstream if one.finding is False
    ]
    if names:
        yield f"{NOT_SIGNIFICANT}: {listing(names, 8)}."


def _recall_gap(recall: Recall) -> str:
    gap = recall.gap
    # The sentence says which group is worse off: a negative gap is turned round, with its interval.
    ends = (gap.low, gap.high) if gap.value >= 0 or gap.low is None or gap.high is None else (-gap.high, -gap.low)
    around = edges(*ends, gap.level, lambda end: formats.points(end).replace("+", ""))
    named = "recall" if gap.finding else ""
    return inside(named, points(recall.high.value - recall.low.value), around)
