"""What an audit of an embedding says in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from equipoise.audits.downstream.result import Downstream, DownstreamRecord
from equipoise.audits.leakage.probing import Leakage
from equipoise.audits.words import percent, points
from equipoise.foundation.results import Record
from equipoise.foundation.text import fitting
from equipoise.measures.measure import get_measure

# The gaps that are told first, each with what a positive one means.
TOLD = {
    "mean_average_precision_at_r_gap": "has fewer of its own class among its nearest neighbours",
    "intra_class_alignment_gap": "has classes that are spread wider",
    "inter_class_alignment_gap": "has classes that lie closer to others",
    "uniformity_gap": "fills fewer directions of the space",
    "normalised_mutual_information_gap": "is clustered less like its classes",
}
ALPHA = 0.05


def say_embedding(records: Sequence[Record], leaked: Leakage | None, carried: Downstream | None) -> Iterator[str]:
    """Yield the main sentences, an attribute at a time: neighbours, other gaps, leakage and what carries over."""
    for name in dict.fromkeys(record.attribute[0] for record in records if record.attribute):
        own = [record for record in records if record.attribute == (name,)]
        sentences = [*_neighbours(own), *_others(own), *_leakage(leaked, name), *_downstream(carried, name)]
        for sentence in sentences:
            yield f"{name}: {sentence}"


def _neighbours(records: Sequence[Record]) -> Iterator[str]:
    rates = compared([r for r in records if r.measure == "recall_at_k" and r.defined])
    gaps = {r.variant: r for r in records if r.measure == "recall_at_k_gap"}
    gap = gaps.get("best_minus_worst", gaps.get("paper"))  # the widest, where several groups are compared
    if len(rates) < 2 or gap is None or not gap.defined:
        reason = gap.reason if gap is not None and gap.reason else "fewer than two groups have a value"
        yield f"how often a row finds its own class nearby cannot be compared: {reason}."
        return
    low, high = min(rates, key=lambda r: r.value), max(rates, key=lambda r: r.value)
    yield (
        f"a row's nearest neighbours hold its own class for {percent(low.value)} of {low.group} and "
        f"{percent(high.value)} of {high.group}: {points(high.value - low.value)} apart, {_verdict(_unsigned(gap))}."
    )


def compared(values: Sequence[Record]) -> Sequence[Record]:
    """Return the values that gaps compare: groups that are too small are shown, and left out unless no two are left."""
    large = [record for record in values if record.status != "too small"]
    return large if len(large) > 1 else values


def _unsigned(gap: Record) -> Record:
    """Turn a negative gap round, with its interval: the sentence says which group is worse off."""
    if gap.value >= 0 or gap.low is None or gap.high is None:
        return gap
    return replace(gap, value=-gap.value, low=-gap.high, high=-gap.low)


def _verdict(record: Record) -> str:
    if record.status == "too small":
        return f"not tested ({record.reason})"
    if record.finding is None:
        return "not tested"
    interval = "" if record.low is None or record.high is None else f" [{points(record.low)} to {points(record.high)}]"
    if record.finding:
        return f"more than chance would give{interval}"
    return f"which chance alone could give{interval}"


def _others(records: Sequence[Record]) -> Iterator[str]:
    tested = [r for r in records if r.measure in TOLD and r.variant == "paper" and r.finding is not None]
    found = [r for r in tested if r.finding]
    for record in found:
        title = get_measure(record.measure).title
        side = "the minoritised" if record.value > 0 else "the majoritised"
        yield f"{side} side {TOLD[record.measure]} ({title} {record.value:.3g}, p {record.p_adjusted:.2g} corrected)."
    if tested and not found:
        others = fitting(
            len(tested), "the other gap of the space is not", f"none of the {len(tested)} other gaps of the space is"
        )
        yield f"{others} more than chance would give."


def _leakage(leaked: Leakage | None, name: str) -> Iterator[str]:
    records = [] if leaked is None else [r for r in leaked.records if r.attribute == name]
    if not records:
        return
    best = max(records, key=lambda r: r.balanced)
    yield (
        f"the group can be read from the embedding with balanced accuracy {best.balanced:.3f} ({best.probe} probe); "
        f"chance is {best.chance:.3f}, and with shuffled groups it was {best.shuffled_balanced:.3f}."
    )


def _downstream(carried: Downstream | None, name: str) -> Iterator[str]:
    if carried is None:
        return
    gaps = [r for r in carried.records if r.attribute == name and r.measure == "accuracy" and r.defined]
    gaps = [r for r in gaps if r.kind == "largest gap"] or [r for r in gaps if r.kind == "gap"]
    found = [r for r in gaps if r.p_adjusted is not None and r.p_adjusted <= ALPHA]
    if not gaps:
        return
    widest = max(gaps, key=lambda r: abs(r.value))
    yield (
        f"of the gaps in accuracy downstream {len(found)} of {len(gaps)} {'is' if len(found) == 1 else 'are'} more "
        f"than chance would give; the widest is {points(abs(widest.value))} ({_who(widest)})."
    )


def _who(record: DownstreamRecord) -> str:
    worse = record.group if record.value > 0 else record.against
    return record.learner.replace("_", " ") + (f", {worse} worse off" if worse else "")
