"""Records and findings, and the codes they carry: statuses, verdicts, directions, and why a number is missing.

A record is one number with everything needed to read it. A finding is a typed statement of what was found: a subject,
an estimate, an interval, a test and a direction; words come from it last. A reason is a code that programs read, with
the details of its sentence for people. Values of all enums are those of the JSON documents.
"""

from __future__ import annotations

import dataclasses
import math
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Literal, Self, TypeVar

from equipoise.foundation import (
    listing,
    number_of_people,
    plural,
    unknown_name,
)

Scope = Literal["overall", "class", "favourable"]
AnyRecord = TypeVar("AnyRecord")


class Status(StrEnum):
    """Whether a number can be read."""

    OK = "ok"
    UNDEFINED = "undefined"
    TOO_SMALL = "too small"
    DROPPED = "dropped"


class Verdict(StrEnum):
    """How a treatment or technique compares with its baseline; none: no difference could be shown."""

    LOWER = "lower"
    HIGHER = "higher"
    NONE = "none"
    UNDECIDED = "undecided"

    @property
    def significant(self) -> bool:
        """Whether a difference was shown."""
        return self in (Verdict.LOWER, Verdict.HIGHER)


class SearchVerdict(StrEnum):
    """Whether a search found a direction that the classifier reacts to."""

    FOUND = "found"
    NOTHING_FOUND = "nothing found"


class GapVerdict(StrEnum):
    """Whether groups that a discovered direction makes differ in their outcomes."""

    GAP = "gap"
    NO_GAP_SHOWN = "no gap shown"


class ClaimVerdict(StrEnum):
    """Whether a published claim holds in a study."""

    HOLDS = "holds"
    IN_PART = "in part"
    DOES_NOT_HOLD = "does not hold"
    # The value is that of reproductions written before; JSON keeps it.
    NOT_ENOUGH_DATA = "cannot be told"
    INCONCLUSIVE = "inconclusive"


class Direction(StrEnum):
    """Which way a finding points; better and worse where the measure says which is which."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"


class ReasonCode(StrEnum):
    """The base of all codes. A room lists its own: the value is the code in JSON, the second text is the sentence.

    A sentence names the details of the reason in braces. ``{rows:plural row}`` writes a number of things,
    ``{people:people}`` a number of people, ``{groups:list}`` names between quotes, ``{groups:list 5}`` at most five,
    and ``{costs:join}`` several texts or reasons as they are.

    >>> class Why(ReasonCode):
    ...     EMPTY = "empty", "{rows:plural row} only in {groups:list}"
    >>> str(because(Why.EMPTY, rows=1, groups=("a", "b")))
    "1 row only in 'a', 'b'"
    """

    sentence: str

    def __new__(cls, code: str, sentence: str) -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.sentence = sentence
        return member


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is as it is: its code and the details that the sentence names. ``str(reason)`` is the sentence.

    Several reasons at once are one reason with ``parts``.
    """

    code: ReasonCode
    details: tuple[tuple[str, Any], ...] = ()
    parts: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        if self.parts:
            return "; ".join(map(str, self.parts))
        return _SENTENCES.format(self.code.sentence, **dict(self.details))

    def has(self, code: ReasonCode) -> bool:
        """Tell whether this is the reason, or one of several."""
        return self.code == code or any(part.has(code) for part in self.parts)


def because(code: ReasonCode, **details: Any) -> Reason:
    """Return a reason with its details."""
    return Reason(code, tuple(details.items()))


def all_reasons(reasons: Iterable[Reason | None]) -> Reason | None:
    """Return several reasons as one, which has the code of the first; None where there are none."""
    present = [reason for reason in reasons if reason is not None]
    if len(present) < 2:
        return present[0] if present else None
    return Reason(present[0].code, parts=tuple(present))


def reason_as_json(reason: Reason | None) -> dict[str, str | None]:
    """Return a reason as JSON has it: the sentence and the code."""
    if reason is None:
        return {"reason": None, "reason_code": None}
    return {"reason": str(reason), "reason_code": reason.code.value}


class _Sentences(string.Formatter):
    """Formats details: numbers of things and people, lists of names."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        form, _, rest = format_spec.partition(" ")
        if form == "plural":
            singular, _, more = rest.partition("/")
            return plural(int(value), singular, more or None)
        if form == "people":
            return number_of_people(float(value))
        if form == "join":
            return ", ".join(map(str, value))
        if form == "list":
            return listing(map(repr, value), int(rest) if rest else 12)
        return super().format_field(value, format_spec)


_SENTENCES = _Sentences()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One number with everything needed to read it: of whom, against whom, out of how many, and whether it holds.

    Parameters
    ----------
    measure, alias, variant : str
        What was measured, its short name, and by whose formula.
    kind : str
        A rate or value of a group, a contrast of two, a gap or ratio over all of them, a summary, a count.
    value : float
        The number; NaN where it is undefined, and then ``reason`` says why.
    scope, class_, label
        Whether it is overall, of the favourable class or of each class; which class; which label of several.
    attribute, group, against, control, split
        Whose number it is, with whom they were compared, and among which rows.
    low, high, interval, level
        The interval, its kind, and the level at which it holds: of tests the level that decides.
    p, p_adjusted, finding
        The p-value, the same after correction, and whether the difference is confirmed.
    numerator, denominator, effective_n : float, optional
        What a rate is made of; how many independent people without weights would know it as well.
    pair, left_out, draws
        Of a gap: the two groups (lower, higher) that differ most for their error, the groups too small for its test,
        and how many permutations its p rests on.
    margin, equivalence_p, equivalence_p_adjusted, equivalent
        Whether a difference is shown to be within the margin, and by which test.
    status, reason : Status, Reason
        Whether there is a number to read; otherwise why not.
    approximate : bool
        Whether interval and test hold their level only roughly: few clusters, or a jackknife of a bent number.
    limited_by_draws : bool, optional
        Whether more random draws could have made p smaller; None where p rests on none.
    """

    measure: str
    kind: str
    value: float
    alias: str | None = None
    variant: str = "paper"
    scope: Scope = "overall"
    class_: str | None = None
    label: str | None = None
    attribute: tuple[str, ...] = ()
    group: str | None = None
    against: str | None = None
    control: str | None = None
    split: str | None = None
    low: float | None = None
    high: float | None = None
    interval: str | None = None
    p: float | None = None
    p_adjusted: float | None = None
    finding: bool | None = None
    level: float | None = None
    numerator: float | None = None
    denominator: float | None = None
    effective_n: float | None = None
    pair: tuple[str, str] | None = None
    left_out: tuple[str, ...] = ()
    draws: int | None = None
    margin: float | None = None
    equivalence_p: float | None = None
    equivalence_p_adjusted: float | None = None
    equivalent: bool | None = None
    status: Status = Status.OK
    reason: Reason | None = None
    approximate: bool = False
    limited_by_draws: bool | None = None

    @property
    def defined(self) -> bool:
        """Tell whether there is a number to read."""
        return not math.isnan(self.value)


def without_tests(record: Record) -> Record:
    """Return a record without its interval, its tests and what belongs to them."""
    return dataclasses.replace(
        record, low=None, high=None, interval=None, p=None, p_adjusted=None, finding=None, level=None, effective_n=None,
        pair=None, left_out=(), draws=None, limited_by_draws=None, approximate=False, margin=None, equivalence_p=None,
        equivalence_p_adjusted=None, equivalent=None,
    )  # fmt: skip


RECORD_FIELDS = tuple(field.name for field in dataclasses.fields(Record))


def record_as_json(record: object) -> dict[str, object]:
    """Turn a record into JSON values: undefined is null, and a class is called "class"."""
    names = RECORD_FIELDS if isinstance(record, Record) else field_names(type(record))
    fields: dict[str, object] = {}
    for name in names:
        value = getattr(record, name)
        fields[name.rstrip("_")] = plain_value(value)
        if name == "reason":
            fields["reason_code"] = value.code.value if isinstance(value, Reason) else None
    return fields


def flat_records(records: Sequence[object]) -> tuple[list[str], list[list[object]]]:
    """Return records of one kind as headings and rows; what holds several names is joined."""
    names = field_names(type(records[0])) if records else ()
    rows = [[_joined(name, getattr(record, name)) for name in names] for record in records]
    return [name.rstrip("_") for name in names], rows


def _joined(name: str, value: object) -> object:
    if isinstance(value, tuple):
        return (" & " if name == "attribute" else "; ").join(map(str, value))
    return str(value) if isinstance(value, Reason) else value


def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields."""
    return tuple(field.name for field in dataclasses.fields(kind))


def matching(records: Sequence[AnyRecord], fields: Mapping[str, object]) -> tuple[AnyRecord, ...]:
    """Return the records whose fields have these values; where a field holds several names, one may stand alone."""
    for name in fields if records else ():
        if not hasattr(records[0], name):
            raise unknown_name("field", name, field_names(type(records[0])), "the records")
    return tuple(record for record in records if all(_is(getattr(record, name), fields[name]) for name in fields))


def _is(value: object, expected: object) -> bool:
    if isinstance(value, tuple):
        return value == (
            (expected,) if isinstance(expected, str) else tuple(expected) if isinstance(expected, list) else expected
        )
    return value == expected


def plain_value(value: object) -> object:
    """Turn a value into what JSON can say; a number JSON cannot say (NaN, infinity) is null, a record a mapping."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Reason):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    return record_as_json(value) if dataclasses.is_dataclass(value) else value


Better = Literal["low", "high", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement that a result makes: what was compared with what, by how much, and whether that is confirmed.

    Parameters
    ----------
    kind : str
        Which comparison it is: a ``contrast`` between groups, a ``gap`` over all groups, a ``change`` over time, a
        ``comparison`` with a baseline.
    measure, alias : str
        What was measured, and its short name.
    estimate : float
        The difference; NaN where it is undefined.
    direction : Direction
        Which way it points; inconclusive where nothing is shown.
    attribute, group, against, class_, label, split, control
        Which people it is about, and with whom they were compared.
    condition, learner, treatment, baseline : str, optional
        Which training it is about, and with which it was compared.
    low, high, level : float, optional
        The interval, and the confidence level at which it holds.
    p, p_adjusted : float, optional
        The p-value, and the same after correction for all tests of the report.
    n, n_against : float, optional
        How many people or runs stand on each side.
    status, reason : Status, Reason
        Whether there is a number to read; otherwise why not.
    source, place : str, int
        The field of the result that the numbers come from, and the position in it.
    """

    kind: str
    measure: str
    estimate: float
    direction: Direction
    alias: str | None = None
    attribute: tuple[str, ...] = ()
    group: str | None = None
    against: str | None = None
    class_: str | None = None
    label: str | None = None
    split: str | None = None
    control: str | None = None
    condition: str | None = None
    learner: str | None = None
    treatment: str | None = None
    baseline: str | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    n: float | None = None
    n_against: float | None = None
    status: Status = Status.OK
    reason: Reason | None = None
    source: str = "records"
    index: int = 0

    @property
    def confirmed(self) -> bool:
        """Whether the data show it: a difference, or that there is none beyond the margin."""
        return self.direction != Direction.INCONCLUSIVE

    @property
    def tested(self) -> bool:
        """Whether a test was made."""
        return self.p is not None and self.p == self.p


FINDING_NUMBERS = ("estimate", "low", "high", "level", "p", "p_adjusted", "n", "n_against")


def direction_of(
    estimate: float, *, significant: bool | None, better: Better = "none", equivalent: bool | None = None
) -> Direction:
    """Return which way a tested difference points, given which values of its measure are better."""
    if significant:
        if better == "none" or estimate == 0:
            return Direction.DIFFERENT
        return Direction.BETTER if (estimate < 0) == (better == "low") else Direction.WORSE
    return Direction.EQUIVALENT if equivalent else Direction.INCONCLUSIVE
