"""What ``downstream`` returns: one record for each learner, measure, group and gap, beside upstream gaps."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from equipoise.audits.downstream._settings import Value, settings_line
from equipoise.foundation import BadInput, listing, make_frame
from equipoise.results import Reason, ReasonCode, Status, because, field_names, matching, record_as_json
from equipoise.stats import is_finding

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


class DownstreamReason(ReasonCode):
    """Why a number downstream is undefined, has no interval or no test, or leaves something out."""

    NO_TEST_ROWS = "no_test_rows", "{groups:list} has no test rows"
    FEW_TEST_ROWS = "few_test_rows", "{rows:plural test row}: fewer than {least:,}"
    NONE_PREDICTED = "no_class_predicted", "none of the group's classes is predicted in it"
    UNDEFINED_IN_A_GROUP = "undefined_in_a_group", "undefined in at least one group"
    NEVER_PREDICTED = (
        "classes_never_predicted",
        "{classes:plural class/classes} of the group not in the mean: never predicted in it",
    )
    FEW_CLASSES = "few_classes", "{group!r} has {classes:plural class/classes} of its own: no interval and no test"
    NO_VARIATION = "no_variation", "resampled test rows always give the same value: no interval"
    NOT_PERMUTABLE = (
        "not_permutable", "it depends on which classes share a group, and permuting classes changes that: no test",
    )  # fmt: skip
    UPSTREAM_UNDEFINED = "upstream_undefined", "the upstream gap is undefined"


@dataclass(frozen=True, slots=True, kw_only=True)
class DownstreamRecord:
    """One number of one learner.

    ``kind`` is ``"overall"``, ``"group"``, ``"gap"`` (the reference group ``against`` minus ``group``: positive means
    that ``group`` is worse off) or ``"largest gap"`` (best minus worst, where three or more groups are compared).
    ``classes`` is how many classes the mean is over, ``left_out`` how many more the group has without a denominator.
    """

    learner: str
    training: str
    measure: str
    kind: str
    value: float
    attribute: str | None = None
    group: str | None = None
    against: str | None = None
    variant: str = "default"
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    p: float | None = None
    p_adjusted: float | None = None
    test: str | None = None
    people: int = 0
    classes: int | None = None
    left_out: int = 0
    status: Status = Status.OK
    reason: Reason | None = None
    # Of a classifier of ``CLASSIFIER_SETTINGS``; ``C`` is "dev" where dev rows chose it.
    settings: Mapping[str, Value] = field(default_factory=dict)
    # More random draws could have made p smaller; None where p rests on no draws.
    limited_by_draws: bool | None = None
    # The confidence level of the interval.
    level: float | None = None

    @property
    def defined(self) -> bool:
        """Tell whether there is a number to read."""
        return not math.isnan(self.value)

    @property
    def finding(self) -> bool | None:
        """Tell whether the gap is confirmed, by its corrected test and its interval; None where it was not tested."""
        return is_finding(self.p_adjusted, self.low, self.high)


@dataclass(frozen=True)
class Downstream:
    """Classifiers on a frozen embedding, per group. ``split`` and ``notes`` say in words what was done."""

    records: tuple[DownstreamRecord, ...]
    learners: tuple[str, ...]
    classes: tuple[str, ...]
    training: str
    split: str
    variant: str
    seed: int
    draws: int
    rows: int
    tested: int
    notes: tuple[str, ...]

    def find(self, **fields: object) -> tuple[DownstreamRecord, ...]:
        """Return the records whose fields have these values."""
        return matching(self.records, fields)

    def to_frame(self, backend: str | None = None) -> IntoDataFrame:
        """Return the records as a data frame of pandas, polars or pyarrow: the first that is installed by default."""
        rows = [record_as_json(record) for record in self.records]
        columns = {name: [row[name] for row in rows] for name in field_names(DownstreamRecord)}
        for name in ("value", "low", "high", "level", "p", "p_adjusted"):
            columns[name] = [getattr(record, name) for record in self.records]
        columns["settings"] = [settings_line(record.settings) for record in self.records]
        return make_frame(columns, backend)

    def as_json(self) -> dict[str, object]:
        """Return the whole result as plain JSON values; undefined is null."""
        parts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        parts |= {name: list(part) for name, part in parts.items() if isinstance(part, tuple)}
        return parts | {"records": [record_as_json(record) for record in self.records]}


@dataclass(frozen=True, slots=True, kw_only=True)
class PropagationPoint:
    """One point of the figure: an upstream gap across, a downstream gap up."""

    upstream_measure: str
    attribute: str
    group: str | None
    against: str | None
    learner: str
    training: str
    measure: str
    upstream: float
    downstream: float
    low: float | None
    high: float | None
    p: float | None
    status: Status
    reason: Reason | None
    level: float | None = None


def propagation(
    upstream: Mapping[str, float] | Mapping[tuple[str, str], float], result: Downstream, *, measure: str = "recall@1"
) -> tuple[PropagationPoint, ...]:
    """Pair each upstream gap with every downstream gap of the same attribute and, where it is named, group.

    Parameters
    ----------
    upstream : mapping
        The gap of an attribute, or of (attribute, group). Of an attribute with three groups or more the attribute alone
        means the largest downstream gap. Positive should mean worse for the group, as it does downstream.
    result : Downstream
        The classifiers.
    measure : str
        What the upstream gap is a gap of.

    Returns
    -------
    tuple of PropagationPoint
    """
    points: list[PropagationPoint] = []
    for key, value in upstream.items():
        attribute, group = (key, None) if isinstance(key, str) else key
        gaps = _gaps(result, attribute, group)
        if not gaps:
            attribute_groups = dict.fromkeys((r.attribute, r.group) for r in result.records if r.kind == "gap")
            raise BadInput(
                f"There is no downstream gap for {key!r}",
                available=listing(f"{name!r}, {of!r}" for name, of in attribute_groups),
            )
        points += [_point(measure, attribute, float(value), record) for record in gaps]
    return tuple(points)


def _gaps(result: Downstream, attribute: str, group: str | None) -> tuple[DownstreamRecord, ...]:
    if group is not None:
        return result.find(attribute=attribute, kind="gap", group=group)
    return result.find(attribute=attribute, kind="largest gap") or result.find(attribute=attribute, kind="gap")


def _point(measure: str, attribute: str, value: float, record: DownstreamRecord) -> PropagationPoint:
    undefined = math.isnan(value)
    return PropagationPoint(
        upstream_measure=measure, attribute=attribute, upstream=value, downstream=record.value,
        group=record.group, against=record.against, learner=record.learner, training=record.training,
        measure=record.measure, low=record.low, high=record.high, level=record.level, p=record.p,
        status=Status.UNDEFINED if undefined else record.status,
        reason=because(DownstreamReason.UPSTREAM_UNDEFINED) if undefined else record.reason,
    )  # fmt: skip
