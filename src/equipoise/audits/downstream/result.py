"""What ``downstream`` returns: one record for each learner, measure, group and gap, as plain data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from equipoise.audits.downstream.settings import Value, told
from equipoise.foundation.tabular import frame_of
from equipoise.results import Status, field_names, matching, record_as_json
from equipoise.stats import is_finding

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


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
    reason: str | None = None
    # Of a classifier that came along; ``C`` is "dev" where dev rows chose it.
    settings: Mapping[str, Value] = field(default_factory=dict)
    # More random draws could have made p smaller; None where p rests on no draws.
    limited_by_draws: bool | None = None

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
        for name in ("value", "low", "high", "p", "p_adjusted"):
            columns[name] = [getattr(record, name) for record in self.records]
        columns["settings"] = [told(record.settings) for record in self.records]
        return frame_of(columns, backend)

    def as_json(self) -> dict[str, object]:
        """Return the whole result as plain JSON values; undefined is null."""
        parts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        parts |= {name: list(part) for name, part in parts.items() if isinstance(part, tuple)}
        return parts | {"records": [record_as_json(record) for record in self.records]}
