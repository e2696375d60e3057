"""What changed between two models or two samples: which changes may be spoken of, and how.

Only confirmed changes become claims; what was tested without a finding, and what could not be tested, is kept beside
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from equipoise.audits.change import Change
from equipoise.foundation import (
    percent,
    plural,
    points,
)
from equipoise.reports import formats
from equipoise.reports._records import name_of
from equipoise.reports.narrative._outcome_words import FIRST, MOST_SMALL, MOST_UNCONFIRMED
from equipoise.reports.narrative._report import (
    NOT_SIGNIFICANT,
    About,
    Story,
    and_more,
    by_reason,
    edges,
    inside,
    title_of_attribute,
)
from equipoise.results import Status

MOST_RATES = 3


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
        changes: list[Change] = []
        for change in self.rates:
            if all((other.measure, other.change > 0) != (change.measure, change.change > 0) for other in changes):
                changes.append(change)
        return (*self.widened[:1], *self.narrowed[:1], *changes[:MOST_RATES])

    def without(self, change: Change) -> ChangeHeadline:
        """Return the same without a change that is told elsewhere."""

        def others(changes: tuple[Change, ...]) -> tuple[Change, ...]:
            return tuple(other for other in changes if other is not change)

        return replace(self, rates=others(self.rates), widened=others(self.widened), narrowed=others(self.narrowed))


def change_headlines(changes: Sequence[Change]) -> tuple[ChangeHeadline, ...]:
    """Return what may be said of everyone, and of each attribute and split."""
    grouped: dict[tuple[tuple[str, ...], str | None], list[Change]] = {}
    for change in changes:
        grouped.setdefault((change.attribute, change.split), []).append(change)
    return tuple(_change_headline(attribute, split, part) for (attribute, split), part in grouped.items())


def lead_change_of(headlines: Iterable[ChangeHeadline]) -> tuple[ChangeHeadline, Change] | None:
    """Return the change to speak of first: of a difference between groups if one is confirmed, else of a rate."""
    leads = [(headline, change) for headline in headlines for change in headline.chosen()]
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
    headlines = change_headlines(changes)
    if not headlines:
        return Story()
    lead = lead_change_of(headlines)
    about = []
    for headline in headlines:
        remaining = headline if lead is None or lead[0] is not headline else headline.without(lead[1])
        about.append(
            About(
                title_of_attribute(remaining.attribute, remaining.split),
                tuple(_confirmed(remaining)),
                tuple(_open(remaining)),
            )
        )
    if lead is None:
        return Story(_nothing_confirmed(headlines), tuple(about), has_findings=False)
    where = title_of_attribute(lead[0].attribute, lead[0].split, "")
    return Story(f"{_change(lead[1], f' ({where.strip()})' if where else '')}.", tuple(about))


def _nothing_confirmed(headlines: Sequence[ChangeHeadline]) -> str:
    tested = [change for headline in headlines for change in headline.unconfirmed]
    if not tested:
        return "No change was tested."
    ends = [(change.low, change.high) for change in tested]
    reach = max((max(abs(low), abs(high)) for low, high in ends if low is not None and high is not None), default=None)
    may = "" if reach is None else (
        f" A change of up to {points(reach)} cannot be ruled out; more people would narrow that."
    )  # fmt: skip
    return f"No change is confirmed in {plural(len(tested), 'comparison')}.{may}"


def _confirmed(headline: ChangeHeadline) -> Iterator[str]:
    chosen = headline.chosen()
    yield from (f"{_change(change)}." for change in chosen)
    more = headline.confirmed - len(chosen)
    if more:
        yield f"{plural(more, 'more change is', 'more changes are')} confirmed (see the changes)."


def _open(headline: ChangeHeadline) -> Iterator[str]:
    nearest = sorted(headline.unconfirmed, key=lambda change: change.p_adjusted or 1.0)
    if nearest:
        subjects = [f"{_subject(change)}{_by(change)}" for change in nearest]
        yield f"changes {NOT_SIGNIFICANT}: {and_more(subjects, MOST_UNCONFIRMED)}."
    groups = {(str(change.group), str(change.reason)): change for change in headline.absent}
    yield from by_reason(
        ((change.reason, str(change.group)) for change in groups.values()), MOST_SMALL, "cannot be compared"
    )


def _change(change: Change, about: str = "") -> str:
    """Say one confirmed change: of a rate, or of the difference of a group from those it is compared with."""
    if change.kind != "contrast":
        way = "rose" if change.change > 0 else "fell"
        whose = f" for {change.group}{about}" if change.group is not None else ""
        return f"The {_name(change)}{whose} {way} from {percent(change.before)} to {percent(change.after)}{_by(change)}"
    before, after = formats.points(change.before), formats.points(change.after)
    moved = f"from {before} to {after} points"
    if before == after:
        moved = f"stayed at {after} points"
    elif change.before * change.after < 0:
        moved = f"changed sides, {moved}"
    else:
        moved = f"{'grew' if abs(change.after) > abs(change.before) else 'shrank'} {moved}"
    return (
        f"The difference between {change.group} and {change.against}{about} in the {_name(change)} {moved}{_by(change)}"
    )


def _subject(change: Change) -> str:
    against = "" if change.kind != "contrast" else f" against {change.against}"
    return _name(change) + ("" if change.group is None else f" of {change.group}{against}")


def _name(change: Change) -> str:
    """Name a rate with the class it is of."""
    return name_of(change.measure) + ("" if change.class_ is None else f" of {change.class_!r}")


def _by(change: Change) -> str:
    """Say how far it moved, with the interval of that."""
    around = edges(change.low, change.high, 0.95, formats.points)
    return inside(f"a change of {formats.points(change.change)} points", around) if around else ""
