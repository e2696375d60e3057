"""What an audit returns: the card, the records, plain words, curves, and what could not be told."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.cohorts.card import Card
from equipoise.foundation.results import Record, Result

SCHEMA = "equipoise.audit/1"


@dataclass(frozen=True)
class Curve:
    """A measure as a function of the threshold on the score. Undefined points are NaN."""

    measure: str
    alias: str | None
    attribute: tuple[str, ...]
    group: str | None
    class_: str
    split: str | None
    thresholds: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class CalibrationPoint:
    """One group and score bin: the mean score beside the share truly of the class."""

    attribute: tuple[str, ...]
    group: str
    split: str | None
    low: float
    high: float
    mean_score: float
    observed: float
    weight: float


@dataclass(frozen=True)
class FourFifths:
    """Whether a group is selected at least four fifths as often as another, and the chance that it is not."""

    attribute: tuple[str, ...]
    group: str
    against: str
    basis: str
    split: str | None
    ratio: float
    probability_broken: float
    share: float
    small: bool


@dataclass(frozen=True)
class Power:
    """What these numbers of people could show: the smallest gap found 8 times in 10, and the people a gap needs."""

    measure: str
    attribute: tuple[str, ...]
    group: str
    against: str
    split: str | None
    rate: float
    detectable: float
    gap: float | None
    people_needed: float | None


@dataclass(frozen=True)
class AuditResult(Result):
    """An audit. ``print(result)`` says it in words; ``records`` and ``to_json`` hold every number."""

    card: Card
    words: tuple[str, ...]
    untold: tuple[str, ...]
    notes: tuple[str, ...]
    classes: tuple[str, ...]
    favourable: str | None
    curves: tuple[Curve, ...] = ()
    calibration: tuple[CalibrationPoint, ...] = ()
    four_fifths: tuple[FourFifths, ...] = ()
    power: tuple[Power, ...] = ()

    def __str__(self) -> str:
        parts = [f"{self.card.rows:,} rows", *self.words]
        parts += ["What could not be told:", *self.untold] if self.untold else []
        parts += ["Notes:", *self.notes] if self.notes else []
        return "\n".join(parts)

    def find(self, measure: str, **fields: object) -> tuple[Record, ...]:
        """Return the records of a measure (name or alias) whose fields have these values."""
        return tuple(
            record
            for record in self.records
            if measure in (record.measure, record.alias)
            and all(getattr(record, name) == value for name, value in fields.items())
        )

    def value(self, measure: str, *, attribute: str | tuple[str, ...], scope: str | None = None) -> float:
        """Return one number: of the favourable class if it was declared, otherwise the overall one."""
        names = (attribute,) if isinstance(attribute, str) else attribute
        scopes = [scope] if scope is not None else ["favourable", "overall"]
        for wanted in scopes:
            found = self.find(measure, attribute=names, scope=wanted, control=None, label=None)
            values = {record.split: record.value for record in found if record.kind in ("gap", "ratio", "summary")}
            if len(values) > 1:
                raise KeyError(
                    f"{measure} has a value for each split: {', '.join(map(str, values))}; use find(split=...)"
                )
            if values:
                return next(iter(values.values()))
        raise KeyError(f"there is no {measure} for {names} in this audit")
