"""What changed, in plain words: how many changes are more than chance, and the main ones with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.audits.change.result import Change
from equipoise.audits.words import percent, points
from equipoise.foundation.text import fitting, plural

MOST_GROUPS = 3

# How a rate is called, of the class c.
RATES = {
    "selection_rate": "the share predicted {c}",
    "true_positive_rate": "the share of those truly {c} who are found",
    "false_positive_rate": "the share of others wrongly predicted {c}",
    "positive_predictive_value": "the share of those predicted {c} who truly are",
    "accuracy": "the share judged correctly",
}
REAL, CHANCE = "more than chance after correction", "it could be chance"


def say_changes(changes: Sequence[Change]) -> Iterator[str]:
    """Yield the sentences about what changed, of everyone first and then of each attribute and split."""
    for attribute, split in dict.fromkeys((change.attribute, change.split) for change in changes):
        own = [change for change in changes if (change.attribute, change.split) == (attribute, split)]
        name = " & ".join(attribute) if attribute else "everyone"
        name += "" if split is None else f" ({split})"
        for sentence in _of_attribute(own) if attribute else _of_everyone(own):
            yield f"{name}: {sentence}"


def _of_everyone(changes: Sequence[Change]) -> Iterator[str]:
    """Say what became of accuracy, or without a target of the share that is selected."""
    wanted = next((c for c in changes if c.measure == "accuracy"), changes[0])
    yield f"{_rate(wanted)}."


def _of_attribute(changes: Sequence[Change]) -> Iterator[str]:
    tested = [change for change in changes if change.finding is not None]
    findings = [change for change in tested if change.finding]
    if tested:
        are = fitting(len(findings), "is", "are")
        yield f"{len(findings)} of {plural(len(tested), 'change')} {are} more than chance after correction."
    for change in _chosen([c for c in changes if c.kind == "rate" and c.status == "ok"]):
        yield f"{_rate(change)}."
    for change in _chosen([c for c in changes if c.kind == "contrast" and c.status == "ok"])[:1]:
        yield f"{_contrast(change)}."
    absent = dict.fromkeys((str(c.group), str(c.reason)) for c in changes if (c.reason or "").startswith("not in"))
    if absent:
        told = "; ".join(f"{group} ({reason})" for group, reason in list(absent)[:5])
        yield f"some groups cannot be compared: {told}."


def _chosen(changes: Sequence[Change]) -> list[Change]:
    """Return the changes to speak of: of the selection rate, findings before others, the widest first."""
    selected = [change for change in changes if change.measure == "selection_rate"]
    selected.sort(key=lambda change: (not change.finding, -abs(change.change)))
    return selected[:MOST_GROUPS]


def _rate(change: Change) -> str:
    what = RATES[change.measure].format(c=repr(change.class_))
    who = what if change.group is None else f"among {change.group}, {what}"
    before, after = percent(change.before), percent(change.after)
    if before == after:
        return f"{who} stayed at {after}{_verdict(change)}"
    return f"{who} {'rose' if change.change > 0 else 'fell'} from {before} to {after}{_verdict(change)}"


def _contrast(change: Change) -> str:
    what = RATES[change.measure].format(c=repr(change.class_))
    return f"in {what}, the difference of {change.group} to {change.against} {_moved(change)}{_verdict(change)}"


def _moved(change: Change) -> str:
    before, after = signed_points(change.before), signed_points(change.after)
    if before == after:
        return f"stayed at {after} points"
    if change.before * change.after < 0:
        return f"turned from {before} to {after} points"
    way = "grew" if abs(change.after) > abs(change.before) else "shrank"
    return f"{way} by {points(abs(change.change))}, from {before} to {after}"


def _verdict(change: Change) -> str:
    """Say how far it moved with its interval, and whether that is more than chance."""
    if change.finding is None or change.low is None or change.high is None:
        return ""
    edges = f"{signed_points(change.low)} to {signed_points(change.high)}"
    return f" (a change of {signed_points(change.change)} points [{edges}]: {REAL if change.finding else CHANCE})"


def signed_points(value: float) -> str:
    """Write a difference of shares in points with its sign; what rounds to nothing has none."""
    text = f"{100 * value:+.1f}"
    return text if float(text) else "0.0"
