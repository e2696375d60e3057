"""What changed, in plain words: confirmed changes with their numbers first, then what is not confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from equipoise.audits.change.headlines import ChangeHeadline, change_headlines, lead_of
from equipoise.audits.change.result import Change
from equipoise.audits.words import percent, points
from equipoise.foundation.text import plural

MOST_UNCONFIRMED = 2
MOST_ABSENT = 5

# How a rate is called, of the class c.
RATES = {
    "selection_rate": "the share predicted {c}",
    "true_positive_rate": "the share of those truly {c} who are found",
    "false_positive_rate": "the share of others wrongly predicted {c}",
    "positive_predictive_value": "the share of those predicted {c} who truly are",
    "accuracy": "the share judged correctly",
}


def say_changes(changes: Sequence[Change]) -> Iterator[str]:
    """Yield the sentences about what changed: the main confirmed change first, then attribute by attribute."""
    made = change_headlines(changes)
    if not made:
        return
    lead = lead_of(made)
    if lead is None:
        yield _nothing_confirmed(made)
    else:
        sentence = _change(lead[1], _about(lead[0]))
        yield f"{sentence[:1].upper()}{sentence[1:]}."
    for headline in made:
        name = " & ".join(headline.attribute) if headline.attribute else "everyone"
        name += "" if headline.split is None else f" ({headline.split})"
        told = headline if lead is None or lead[0] is not headline else headline.without(lead[1])
        for sentence in _of_attribute(told):
            yield f"{name}: {sentence}"


def _about(headline: ChangeHeadline) -> str:
    parts = [*([] if not headline.attribute else [" & ".join(headline.attribute)]),
             *([] if headline.split is None else [headline.split])]  # fmt: skip
    return f" ({', '.join(parts)})" if parts else ""


def _nothing_confirmed(made: Sequence[ChangeHeadline]) -> str:
    tested = [change for headline in made for change in headline.unconfirmed]
    if not tested:
        return "No change was tested."
    widest = max((change for change in tested if change.low is not None), key=_reach, default=None)
    may = "" if widest is None else (
        f" A change of up to {points(_reach(widest))} cannot be ruled out; more people would narrow that."
    )  # fmt: skip
    return f"No change is confirmed in {plural(len(tested), 'comparison')}.{may}"


def _reach(change: Change) -> float:
    """Return the largest change either way that an interval leaves possible."""
    return max(abs(change.low or 0.0), abs(change.high or 0.0))


def _of_attribute(headline: ChangeHeadline) -> Iterator[str]:
    told = headline.chosen()
    yield from (f"{_change(change)}." for change in told)
    more = headline.confirmed - len(told)
    if more:
        yield f"{plural(more, 'more change is', 'more changes are')} confirmed (see the changes)."
    if headline.unconfirmed:
        nearest = sorted(headline.unconfirmed, key=lambda change: change.p_adjusted or 1.0)
        listed = "; ".join(map(_unconfirmed, nearest[:MOST_UNCONFIRMED]))
        others = len(nearest) - MOST_UNCONFIRMED
        yield f"not significant after correction: {listed}{f'; and {others:,} more' if others > 0 else ''}."
    absent = list(dict.fromkeys((str(change.group), str(change.reason)) for change in headline.absent))
    if absent:
        named = "; ".join(f"{group} ({reason})" for group, reason in absent[:MOST_ABSENT])
        others = len(absent) - MOST_ABSENT
        yield f"some groups cannot be compared: {named}{f'; and {others:,} more' if others > 0 else ''}."


def _change(change: Change, about: str = "") -> str:
    return _contrast(change, about) if change.kind == "contrast" else _rate(change, about)


def _rate(change: Change, about: str) -> str:
    what = RATES[change.measure].format(c=repr(change.class_))
    who = what if change.group is None else f"among {change.group}{about}, {what}"
    way = "rose" if change.change > 0 else "fell"
    return f"{who} {way} from {percent(change.before)} to {percent(change.after)}{_interval(change)}"


def _contrast(change: Change, about: str) -> str:
    what = RATES[change.measure].format(c=repr(change.class_))
    edges = "" if change.low is None or change.high is None else (
        f" (95% interval of the change {signed_points(change.low)} to {signed_points(change.high)})"
    )  # fmt: skip
    return f"in {what}, the difference of {change.group}{about} to {change.against} {_moved(change)}{edges}"


def _moved(change: Change) -> str:
    before, after = signed_points(change.before), signed_points(change.after)
    if before == after:
        return f"stayed at {after} points"
    if change.before * change.after < 0:
        return f"turned from {before} to {after} points"
    way = "grew" if abs(change.after) > abs(change.before) else "shrank"
    return f"{way} by {points(abs(change.change))}, from {before} to {after}"


def _unconfirmed(change: Change) -> str:
    """Name a change that was tested, with its interval: how large it may be either way."""
    what = RATES[change.measure].format(c=repr(change.class_))
    if change.kind == "contrast":
        what = f"{what}, {change.group} against {change.against}"
    elif change.group is not None:
        what = f"{what}, {change.group}"
    return f"{what}{_interval(change)}"


def _interval(change: Change) -> str:
    """Say how far it moved, with the interval of that."""
    if change.low is None or change.high is None:
        return ""
    edges = f"{signed_points(change.low)} to {signed_points(change.high)}"
    return f" (a change of {signed_points(change.change)} points, 95% interval {edges})"


def signed_points(value: float) -> str:
    """Write a difference of shares in points with its sign; what rounds to nothing has none."""
    text = f"{100 * value:+.1f}"
    return text if float(text) else "0.0"
