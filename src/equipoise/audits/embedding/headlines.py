"""What an audit of an embedding may say first: a pure function of its records, before any of it is a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.audits.downstream.result import DownstreamRecord
from equipoise.audits.leakage.probing import LeakageRecord
from equipoise.results import Record, Status

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


def compared(values: Sequence[Record]) -> Sequence[Record]:
    """Return the values that gaps compare: groups that are too small are shown, and left out unless no two are left."""
    large = [record for record in values if record.status != Status.TOO_SMALL]
    return large if len(large) > 1 else values


def _recall(records: Sequence[Record]) -> tuple[Recall | None, str | None]:
    rates = compared([r for r in records if r.measure == "recall_at_k" and r.defined])
    gaps = {r.variant: r for r in records if r.measure == "recall_at_k_gap"}
    gap = gaps.get("best_minus_worst", gaps.get("paper"))  # the widest, where several groups are compared
    if len(rates) < 2 or gap is None or not gap.defined:
        return None, gap.reason if gap is not None and gap.reason else "fewer than two groups have a value"
    return Recall(gap, min(rates, key=lambda r: r.value), max(rates, key=lambda r: r.value)), None


def _downstream(records: Sequence[DownstreamRecord], name: str) -> tuple[DownstreamRecord, ...]:
    gaps = [r for r in records if r.attribute == name and r.measure == "accuracy" and r.defined]
    return tuple([r for r in gaps if r.kind == "largest gap"] or [r for r in gaps if r.kind == "gap"])
