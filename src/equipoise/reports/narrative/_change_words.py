"""What changed between two models or two samples: which changes may be spoken of, and how.

Only confirmed changes become claims; what was tested without a finding, and what could not be tested, is kept beside
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from equipoise.audits.change import Change
from equipoise.foundation.text import percent, plural, points
from equipoise.reports.narrative._outcome_findings import FIRST
from equipoise.reports.narrative._story import About, Story, capitalised
from equipoise.results import Status

MOST_UNCONFIRMED = 2
MOST_ABSENT = 5
MOST_RATES = 3

# How a rate is called, of the class c.
RATES = {
    "selection_rate": "the share predicted {c}",
    "true_positive_rate": "the share of those truly {c} who are found",
    "false_positive_rate": "the share of others wrongly predicted {c}",
    "positive_predictive_value": "the share of those predicted {c} who truly are",
    "accuracy": "the share judged correctly",
}


@dataclass(frozen=True)
class ChangeHeadline:
    """What may be said of one attribute (everyone: none) in one split; the largest confirmed changes come first.

    ``rates`` are confirmed changes of a rate, ``widened`` and ``narrowed`` those of a difference between groups.
    """

    attribute: tuple[str, ...]
    split: str | None
    rates: tuple[Change, ...] = ()
    widened: tuple[Change, ...] = ()
    narrowed: tuple[Change, ...] = ()
    unconfirmed: tuple[Change, ...] = ()
    absent: tuple[Change, ...] = ()

    @property
    def confirmed(self) -> int:
        """How many changes are confirmed."""
        return len(self.rates) + len(self.widened) + len(self.narrowed)

    def chosen(self) -> tuple[Change, ...]:
        """Return the changes to put in words: the differences that widened and narrowed most, and a few rates."""
        told: list[Change] = []
        for change in self.rates:
            if all((own.measure, own.change > 0) != (change.measure, change.change > 0) for own in told):
                told.append(change)
        return (*self.widened[:1], *self.narrowed[:1], *told[:MOST_RATES])

    def without(self, change: Change) -> ChangeHeadline:
        """Return the same without a change that is told elsewhere."""

        def others(changes: tuple[Change, ...]) -> tuple[Change, ...]:
            return tuple(own for own in changes if own is not change)

        return replace(self, rates=others(self.rates), widened=others(self.widened), narrowed=others(self.narrowed))


def change_headlines(changes: Sequence[Change]) -> tuple[ChangeHeadline, ...]:
    """Return what may be said of everyone, and of each attribute and split."""
    own: dict[tuple[tuple[str, ...], str | None], list[Change]] = {}
    for change in changes:
        own.setdefault((change.attribute, change.split), []).append(change)
    return tuple(_change_headline(attribute, split, part) for (attribute, split), part in own.items())


def lead_change_of(made: Iterable[ChangeHeadline]) -> tuple[ChangeHeadline, Change] | None:
    """Return the change to speak of first: of a difference between groups if one is confirmed, else of a rate."""
    leads = [(headline, change) for headline in made for change in headline.chosen()]
    return min(leads, key=lambda lead: (lead[1].kind != "contrast", *_change_order(lead[1])), default=None)


def _change_order(change: Change) -> tuple[bool, float]:
    """Sort as differences between groups are sorted: selection and true positive rates first, the largest first."""
    return change.measure not in FIRST, -abs(change.change)


def _change_headline(attribute: tuple[str, ...], split: str | None, changes: Sequence[Change]) -> ChangeHeadline:
    confirmed = sorted((change for change in changes if change.finding), key=_change_order)
    contrasts = [change for change in confirmed if change.kind == "contrast"]
    return ChangeHeadline(
        attribute,
        split,
        rates=tuple(change for change in confirmed if change.kind == "rate"),
        widened=tuple(change for change in contrasts if abs(change.after) >= abs(change.before)),
        narrowed=tuple(change for change in contrasts if abs(change.after) < abs(change.before)),
        unconfirmed=tuple(change for change in changes if change.finding is False),
        absent=tuple(change for change in changes if change.finding is None and change.status != Status.OK),
    )


def change_story(changes: Sequence[Change]) -> Story:
    """Tell what changed: the main confirmed change first, then attribute by attribute; nothing without changes."""
    made = change_headlines(changes)
    if not made:
        return Story(())
    lead = lead_change_of(made)
    about = []
    for headline in made:
        told = headline if lead is None or lead[0] is not headline else headline.without(lead[1])
        about.append(About(headline.attribute, headline.split, tuple(_confirmed(told)), tuple(_open(told))))
    first = _nothing_confirmed(made) if lead is None else capitalised(f"{_change(lead[1], _about(lead[0]))}.")
    return Story((first,), tuple(about))


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


def _confirmed(headline: ChangeHeadline) -> Iterator[str]:
    told = headline.chosen()
    yield from (f"{_change(change)}." for change in told)
    more = headline.confirmed - len(told)
    if more:
        yield f"{plural(more, 'more change is', 'more changes are')} confirmed (see the changes)."


def _open(headline: ChangeHeadline) -> Iterator[str]:
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
