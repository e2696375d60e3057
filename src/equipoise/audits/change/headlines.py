"""Which changes may be spoken of: a pure function of the changes of an audit, before any of it is a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from equipoise.audits.change.result import Change
from equipoise.audits.headlines import FIRST
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
    return tuple(_headline(attribute, split, part) for (attribute, split), part in own.items())


def lead_of(made: Iterable[ChangeHeadline]) -> tuple[ChangeHeadline, Change] | None:
    """Return the change to speak of first: of a difference between groups if one is confirmed, else of a rate."""
    leads = [(headline, change) for headline in made for change in headline.chosen()]
    return min(leads, key=lambda lead: (lead[1].kind != "contrast", *_order(lead[1])), default=None)


def _order(change: Change) -> tuple[bool, float]:
    """Sort as differences between groups are sorted: selection and true positive rates first, the largest first."""
    return change.measure not in FIRST, -abs(change.change)


def _headline(attribute: tuple[str, ...], split: str | None, changes: Sequence[Change]) -> ChangeHeadline:
    confirmed = sorted((change for change in changes if change.finding), key=_order)
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
