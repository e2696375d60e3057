"""One way to look at the rows: what every record of an attribute is computed from, and who is too few to tell.

Groups are hidden below a number of people (``suppressed``) and untested below a number of clusters (``ClusterCounts``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from equipoise.audits._reasons import AuditReason
from equipoise.cohorts.cohort import Card
from equipoise.results import Reason, Record, Status, because, without_tests
from equipoise.stats import ENOUGH_CLUSTERS, FEWEST_UNITS
from equipoise.tallies.counts import Confusion

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """One way to look at the rows: which attribute, label, split and stratum, and whose class is favourable.

    ``shown`` has every group; ``compared`` only those that enter gaps (not the missing, not the suppressed). ``rows``
    and ``squares`` are the shown table in rows and in squared weights; ``drawn`` is it with clusters drawn again,
    and ``behind`` how many clusters are behind each group. ``tests`` is how many tests
    the report has in all.
    """

    attribute: tuple[str, ...]
    shown: Any
    compared: Any
    rows: Confusion | None = None
    squares: Confusion | None = None
    drawn: Confusion | None = None
    behind: ClusterCounts | None = None
    favourable: str | None = None
    classes: tuple[str, ...] = ()
    label: str | None = None
    split: str | None = None
    control: str | None = None
    reference: str | None = None
    strict: bool = False
    variant: str = "paper"
    least_people: int = 0
    risk: float = 0.05
    tests: int = 1
    # Tables of some groups, made once: by the identity of the whole table, which is kept, too.
    _made: dict[tuple[int, tuple[str, ...]], tuple[Confusion, Confusion]] = field(
        default_factory=dict, init=False, repr=False
    )

    def place(self) -> dict[str, Any]:
        """The fields that every record of this view shares."""
        return {"attribute": self.attribute, "label": self.label, "split": self.split, "control": self.control}

    @property
    def everyone(self) -> View:
        """The same view with all shown groups taken together."""
        rows, squares, drawn = (None if table is None else table.everyone
                                for table in (self.rows, self.squares, self.drawn))  # fmt: skip
        behind = None if self.behind is None else self.behind.everyone
        return replace(
            self, attribute=(), shown=self.shown.everyone, rows=rows, squares=squares, drawn=drawn, behind=behind
        )

    def only_compared(self, table: Confusion | None) -> Confusion:
        """Return a table of counts with the compared groups only."""
        assert table is not None
        return self.of_groups(table, self.compared.groups)

    def of_groups(self, table: Confusion, groups: Sequence[str]) -> Confusion:
        """Return a table of counts with some groups only; the same one when it is asked for again."""
        key = (id(table), tuple(groups))
        if key not in self._made:
            self._made[key] = (table, table if table.groups == key[1] else table.only(groups))
        return self._made[key][1]

    def why_untold(self, groups: Sequence[str]) -> Reason | None:
        """Say why these groups have no interval or test: too few clusters; None where they can have one."""
        return None if self.behind is None else self.behind.why_untold(groups)


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """Which clusters have any row in which group, a sparse table ``[cluster, group]``.

    ``units`` has the sums of each cluster, flat over ``[group, ...]``, where they are counts of outcomes.
    """

    groups: tuple[str, ...]
    present: sparse.csc_array
    units: sparse.csc_array | None = None

    def of(self, groups: Sequence[str]) -> int:
        """How many clusters have a row in any of these groups."""
        places = [self.groups.index(group) for group in groups]
        return int((np.asarray(self.present[:, places].sum(axis=1)) > 0).sum()) if places else 0

    def fewest(self, groups: Sequence[str]) -> int:
        """The number of clusters of the group that has fewest."""
        return min((self.of([group]) for group in groups), default=0)

    def why_untold(self, groups: Sequence[str]) -> Reason | None:
        """Return which of these groups has too few clusters for an interval or a test; None where all have enough."""
        few = [group for group in groups if self.of([group]) < FEWEST_UNITS]
        if not few:
            return None
        clusters = self.of(few[:1])
        return because(AuditReason.FEW_CLUSTERS, group=few[0], clusters=clusters, least=FEWEST_UNITS)

    @property
    def everyone(self) -> ClusterCounts:
        """The same clusters with all groups taken together."""
        together = sparse.csc_array(np.asarray(self.present.sum(axis=1), dtype=np.float64).reshape(-1, 1))
        units = None if self.units is None else sparse.csc_array(sum(self.of_group(group) for group in self.groups))
        return ClusterCounts(("everyone",), together, units)

    def of_group(self, group: str) -> sparse.csc_array:
        """Return the sums of each cluster in one group, a sparse row a cluster."""
        assert self.units is not None
        width = self.units.shape[1] // len(self.groups)
        place = self.groups.index(group)
        return self.units[:, place * width : (place + 1) * width]


def marked_approximate(records: Iterable[Record], behind: ClusterCounts | None) -> Iterator[Record]:
    """Yield records, marked where an interval or a test rests on too few clusters to hold its level closely."""
    everyone = None if behind is None else behind.everyone
    for record in records:
        told = record.low is not None or record.p is not None
        if behind is None or everyone is None or not told:
            yield record
            continue
        if record.group is not None:
            number = behind.of([record.group])
        else:
            number = everyone.of(["everyone"]) if not record.attribute else behind.fewest(behind.groups)
        yield replace(record, approximate=True) if number < ENOUGH_CLUSTERS else record


def say_approximate(records: Iterable[Record]) -> Iterator[str]:
    """Yield a note on intervals and tests that rest on few clusters."""
    number = sum(record.approximate for record in records)
    if number:
        yield (
            f"{number:,} intervals or tests rest on fewer than {ENOUGH_CLUSTERS} clusters of a group and are "
            "approximate (`approximate` in the JSON): of a rare outcome they cover 90 to 99% instead of 95%."
        )


def cluster_counts(units: sparse.csc_array, groups: Sequence[str]) -> ClusterCounts:
    """Count clusters by group from a sparse row a cluster, flat over ``[group, ...]``, of sums not negative."""
    width = units.shape[1] // max(len(groups), 1)
    entries = units.tocoo()
    some = entries.data > 0
    place = entries.col[some] // max(width, 1)
    table = sparse.csc_array(
        (np.ones(int(some.sum())), (entries.row[some], place)), shape=(units.shape[0], len(groups))
    )
    return ClusterCounts(tuple(groups), table, units)


def big_enough(rows: Confusion, least: int, *, by_class: bool) -> list[str]:
    """Return the groups with at least so many rows; with ``by_class`` in each true class.

    A group with a small class is left out of everything that needs the target: from its other rates and counts the
    small one could be worked out.
    """
    smallest = rows.positives.min(axis=1) if by_class and rows.has_target else rows.people[:, 0]
    return [group for group, people in zip(rows.groups, smallest, strict=True) if people >= least]


def suppressed(records: Iterable[Record], kept: Collection[str], least: int) -> Iterator[Record]:
    """Yield the records, those about groups that are not kept emptied."""
    for record in records:
        own = record.kind in ("rate", "value") and record.group is not None
        yield _hidden(record, least) if least and own and record.group not in kept else record


def _hidden(record: Record, least: int) -> Record:
    return replace(
        without_tests(record),
        value=float("nan"),
        numerator=None,
        denominator=None,
        group=record.group if record.kind in ("rate", "value") else None,
        against=None,
        status=Status.TOO_SMALL,
        reason=because(AuditReason.SUPPRESSED, least=least),
    )


def suppressed_card(card: Card, least: int) -> Card:
    """Return the card with small groups and small classes emptied."""
    if not least:
        return card
    rows = []
    for row in card.groups:
        if row.rows is not None and row.rows < least:
            rows.append(replace(row, rows=None, share=None, classes=None))
        elif row.classes is not None and min(row.classes.values(), default=least) < least:
            rows.append(replace(row, classes=None))
        else:
            rows.append(row)
    return replace(card, groups=tuple(rows))
