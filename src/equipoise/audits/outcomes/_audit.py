"""The audit: count once, then compute every measure that those counts can tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from equipoise.audits._columns import check_favourable, with_threshold
from equipoise.audits._contrasts import power_of_rates
from equipoise.audits._counting import dropped_rows, tallies_of_counts, tally
from equipoise.audits._multiple_testing import MultipleTesting
from equipoise.audits._options import AUDIT_OPTIONS, OUTCOMES
from equipoise.audits._scores import CalibrationPoint, Curve, calibration_points, threshold_curves
from equipoise.audits._spec import AuditSpec, resolve
from equipoise.audits._tallies import Tallies, approximate_notes, auc_error, suppressed_card
from equipoise.audits.change import Before, Change, before_of, changes_of, check_change, resolve_earlier
from equipoise.audits.outcomes._attributes import (
    planned_tests,
    records_of_attribute,
    records_of_control,
    visible_groups,
)
from equipoise.audits.outcomes._result import SCHEMA, AuditResult, FourFifths
from equipoise.cohorts import (
    Bins,
    CohortCard,
    cohort_card,
)
from equipoise.foundation import (
    accepts,
    document_options,
    fitting,
    listing,
    plural,
    provenance,
    stream,
)
from equipoise.results import Record
from equipoise.tallies import (
    CONTROL_AXIS,
    SPLIT_AXIS,
    TARGET_AXIS,
    Cells,
    Counts,
    is_missing,
    label_text,
    match_class,
    ordered,
    positive_class,
)

if TYPE_CHECKING:
    from equipoise.cohorts import Cohort, ColumnLike, ColumnsLike, LabelLike, TableLike


@accepts(favorable="favourable", sample_weight="weight")
@document_options(AUDIT_OPTIONS, OUTCOMES)
def audit(  # noqa: D417 - the other parameters are written from their declarations
    data: TableLike | Cohort | Counts | None = None,
    *,
    target: ColumnsLike | None = None,
    prediction: ColumnsLike | None = None,
    score: ColumnsLike | None = None,
    favourable: LabelLike | None = None,
    sensitive_features: ColumnsLike | None = None,
    reference: Mapping[str, LabelLike] | None = None,
    control: ColumnsLike | None = None,
    split: ColumnLike | None = None,
    weight: ColumnLike | None = None,
    task: str = "class",
    threshold: float | None = None,
    score_class: LabelLike | None = None,
    bins: Mapping[str, str | Sequence[float] | Bins] | None = None,
    categorical: str | Sequence[str] = (),
    missing: str | Sequence[str] = (),
    intersections: bool | str = False,
    include_missing: bool = False,
    strict: bool = False,
    variant: str = "paper",
    suppress_below: int = 0,
    cluster: ColumnLike | None = None,
    measures: str | Sequence[str] = (),
    against: TableLike | Cohort | Counts | None = None,
    against_prediction: ColumnsLike | None = None,
    against_score: ColumnsLike | None = None,
    least_people: int = 30,
    gap_of_interest: float | None = None,
    equivalence_margin: float | None = None,
    draws: int = 2_000,
    seed: int = 0,
    command: Iterable[str] | None = None,
) -> AuditResult:
    """Audit any model's outcomes.

    Parameters
    ----------
    data : path, data frame, Cohort or Counts, optional
        CSV, Parquet (file, folder or glob) or Arrow, or any data frame narwhals knows; the other arguments then name
        its columns. Without data they are arrays, with one value per row.
    {parameters}

    Returns
    -------
    AuditResult
        Records, findings, words and provenance. Rates over fewer than ``least_people`` are marked as too small and
        are not tested.

    Examples
    --------
    >>> from equipoise import audit
    >>> result = audit(target=[1, 0, 1, 0], prediction=[1, 0, 0, 0], sensitive_features=["a", "a", "b", "b"], draws=0)
    >>> result.favourable
    '1'
    """
    arguments = {name: value for name, value in locals().items() if name not in ("data", "against", "command")}
    spec = resolve(data, arguments)
    changed = against is not None or spec.names_earlier
    if changed:
        check_change(spec, against)
    spec = with_threshold(spec)
    earlier = None if against is None else resolve_earlier(data, against, arguments)
    tallies = tallies_of_counts(spec, data) if isinstance(data, Counts) else tally(spec)
    before = before_of(spec, tallies, earlier, against) if changed else None
    return _answer(spec, tallies, before, command)


def _answer(spec: AuditSpec, tallies: Tallies, before: Before | None, command: Iterable[str] | None) -> AuditResult:
    classes = tallies.classes
    favourable = _favourable(spec, tallies, classes)
    records = list(_rows(tallies))
    testing = MultipleTesting(spec.equivalence_margin, spec.reports)
    tests = planned_tests(spec, tallies, favourable)
    curves: list[Curve] = []
    calibration: list[CalibrationPoint] = []
    for split in _splits(tallies):
        part = tallies if split is None else tallies.where(SPLIT_AXIS, split)
        records += _records(spec, part, favourable, split, testing, tests)
        if part.scores is not None:
            for attributes in spec.attributes:
                lines, points = _score_pictures(spec, part, attributes, split)
                curves += lines
                calibration += points
    records = testing.finish(records)
    changes: tuple[Change, ...] = ()
    if before is not None:
        changes = changes_of(spec, tallies.counts[None], before, favourable, _splits(tallies))
    bins, error = auc_error(spec, tallies)
    weight = float(tallies.card_cells.sums[:, 1].sum())
    rules = tuple(four_fifths(records, weight, stream(spec.seed, "four fifths"), spec.reference))
    return AuditResult(
        schema=SCHEMA,
        records=tuple(records),
        provenance=_provenance(spec, tallies, before, command, favourable, error),
        card=suppressed_card(_card(spec, tallies), spec.suppress_below),
        notes=(
            *_notes(spec, tallies, favourable, bins, error),
            *approximate_notes(records),
            *(before.notes if before is not None else ()),
        ),
        classes=tuple(classes),
        favourable=favourable,
        curves=tuple(curves),
        calibration=tuple(calibration),
        four_fifths=rules,
        power=tuple(power_of_rates(testing.contrasts, records, testing.level, spec.gap_of_interest)),
        changes=changes,
    )


def _favourable(spec: AuditSpec, tallies: Tallies, classes: Sequence[str]) -> str | None:
    if spec.task == "regression":
        return None
    favourable = spec.favourable
    if tallies.multilabel:
        return None
    if favourable is None:
        return positive_class(classes)
    favourable = match_class(favourable, classes) or favourable
    check_favourable(favourable, classes)
    return favourable


def _splits(tallies: Tallies) -> list[str | None]:
    if SPLIT_AXIS not in tallies.card_cells.axes:
        return [None]
    return list(ordered({label for label in tallies.card_cells.axis(SPLIT_AXIS) if label is not None}))


def _records(
    spec: AuditSpec, tallies: Tallies, favourable: str | None, split: str | None, testing: MultipleTesting, tests: int
) -> list[Record]:
    records: list[Record] = []
    for attributes in spec.attributes:
        records += records_of_attribute(spec, tallies, attributes, favourable, split, testing, tests)
        if CONTROL_AXIS in tallies.card_cells.axes:
            records += records_of_control(spec, tallies, attributes, favourable, split, testing, tests)
    return records


def _score_pictures(
    spec: AuditSpec, tallies: Tallies, attributes: list[str], split: str | None
) -> tuple[list[Curve], list[CalibrationPoint]]:
    assert tallies.scores is not None
    member = tallies.score_class
    assert member is not None
    if spec.suppress_below:  # a bin of the score is a small cell, and a curve tells every bin
        return [], []
    visible = visible_groups(spec, tallies, attributes)
    scores = tallies.histogram(attributes, include_missing=spec.include_missing, only=visible)
    others = [name for name in tallies.classes if name != member]
    classes = (others[0] if len(others) == 1 else f"not {member}", member)
    points = calibration_points(scores, tuple(attributes), split)
    return list(threshold_curves(scores, tuple(attributes), split, classes, member)), list(points)


def _rows(tallies: Tallies) -> Iterator[Record]:
    """Yield how many rows there were, and how many had to be dropped."""
    total = tallies.card_cells.rows
    yield Record(measure="rows", kind="count", value=float(total))
    without = tallies.card_cells.where(SPLIT_AXIS, [None]).rows if SPLIT_AXIS in tallies.card_cells.axes else 0
    for what, number in {**tallies.dropped, **({"split": without} if without else {})}.items():
        yield dropped_rows(number, total, what)


def _card(spec: AuditSpec, tallies: Tallies) -> CohortCard:
    card = cohort_card(tallies.card_cells, list(spec.groups))
    if not tallies.multilabel:
        return card
    labels = tuple(str(label) for label in tallies.counts)
    rows = []
    for row in card.groups:
        present = {}
        for label, cells in tallies.counts.items():
            cells_of_group = cells.where(
                f"group:{row.attribute}", [None if row.group == label_text(None) else row.group]
            )
            cells_of_group = cells_of_group if row.split is None else cells_of_group.where(SPLIT_AXIS, [row.split])
            present[str(label)] = cells_of_group.where(TARGET_AXIS, [tallies.classes_of(label)[-1]]).rows
        rows.append(replace(row, classes=present))
    return replace(card, classes=labels, groups=tuple(rows))


def _notes(spec: AuditSpec, tallies: Tallies, favourable: str | None, bins: int, error: float) -> Iterator[str]:
    total = tallies.card_cells.rows
    for what, number in tallies.dropped.items():
        dropped = fitting(number, "was dropped: it has", "were dropped: they have")
        yield f"{number:,} of {plural(total, 'row')} {dropped} no {what}."
    cells = tallies.card_cells
    treatment = "counted as a group" if spec.include_missing else "shown, and left out of gaps"
    remarks = [(f"group:{attribute}", attribute, f"{treatment}.") for attribute in spec.groups]
    remarks += [
        (axis, column, f"in no {axis} and left out of those numbers.")
        for axis, column in ((SPLIT_AXIS, spec.split), (CONTROL_AXIS, spec.control))
        if column is not None
    ]
    for axis, column, what in remarks:
        if axis in cells.axes and None in cells.axis(axis):
            number = cells.where(axis, [None]).rows
            lacking = fitting(number, f"has no {column}: it is", f"have no {column}: they are")
            yield f"{number:,} of {plural(total, 'row')} {lacking} {what}"
    yield from _missing_words(cells)
    yield from tallies.notes
    if error:
        yield (
            f"AUC: too many rows to rank one by one, so the scores are counted in {bins:,} bins. No AUC is off by more "
            f"than {_rounded_up(error)} because of that, and no difference of two by more than twice as much."
        )
    if tallies.multilabel and spec.favourable is not None:
        yield "A multi-label task has no favourable class: every number speaks of a label being present."
    if favourable is not None and spec.favourable is None:
        yield (
            f"No favourable class was named: {favourable!r} is taken to be favourable, the positive one of "
            f"{listing(map(repr, tallies.classes))}. Name another with --favourable (favourable=)."
        )
    if favourable is None and not tallies.multilabel and tallies.residuals is None and len(tallies.classes) == 2:
        yield (
            "No favourable class was declared: the numbers are means over the classes. "
            "Name it with --favourable (favourable=)."
        )
    if spec.suppress_below:
        yield f"Groups and rates with fewer than {spec.suppress_below:,} people are hidden."


# What other programs write for a missing value: R "NA", pandas all of these.
MISSING_WORDS = (
    "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None", "?", ".",
)  # fmt: skip


def _missing_words(cells: Cells) -> Iterator[str]:
    """Say which values look as if they meant missing, though they are counted as names."""
    for axis in cells.axes:
        for label in cells.axis(axis):
            if label in MISSING_WORDS:
                number = cells.where(axis, [label]).rows
                yield (
                    f"{plural(number, 'row')} {fitting(number, 'has', 'have')} the {axis.removeprefix('group:')} "
                    f"{label!r}, which is counted as a value like any other. If it means missing, say so: "
                    f"--missing {label!r} (missing={label!r})."
                )


def _rounded_up(error: float) -> str:
    """Write a bound with two digits, not below it."""
    step = 10.0 ** (math.floor(math.log10(error)) - 1)
    return f"{math.ceil(error / step) * step:.2g}"


def _provenance(
    spec: AuditSpec, tallies: Tallies, before: Before | None, command: Iterable[str] | None, favourable: str | None,
    error: float,
) -> dict[str, object]:  # fmt: skip
    return provenance(
        fingerprint=tallies.fingerprint,
        command=command,
        **({} if before is None else {"against": dict(before.settings)}),
        data=spec.table.name,
        rows=tallies.card_cells.rows,
        columns={
            "target": list(spec.target),
            "prediction": list(spec.prediction),
            "groups": list(spec.groups),
            **{role: getattr(spec, role) for role in ("score", "weight", "control", "split", "cluster")},
        },
        options=spec.options_as_given
        | {
            "favourable": favourable,
            "favourable_by_default": favourable is not None and spec.favourable is None,
            "score_class": tallies.score_class,
            "auc_error_bound": None if tallies.scores is None else error,
        },
    )  # fmt: skip


RULE = 0.8
# A group below this share of the rows is flagged: the rule was never meant for it.
SMALL_SHARE = 0.02
DRAWS = 20_000
# What no group is called.
HIGHEST = None
ScopeKey = tuple[tuple[str, ...], str | None]


def four_fifths(
    records: Sequence[Record], total: float, generator: np.random.Generator, reference: Mapping[str, object]
) -> Iterator[FourFifths]:
    """Yield the rule for every group: the ratio with its interval, and the probability that it is broken.

    A ratio is significantly below four fifths where the upper end of its interval is. ``probability_broken`` is by
    draws of all groups at once: a rate with x of n effective people has the Jeffreys posterior Beta(x + 1/2, n - x +
    1/2), and a group is compared with the highest rate of its own draw, or with that of the fixed group.

    ``total`` is the weight of all rows; ``reference`` are the groups that were named, by attribute.
    """
    rates: dict[ScopeKey, dict[str, Record]] = {}
    for r in records:
        if r.measure == "selection_rate" and r.kind == "rate" and r.scope == "favourable" and r.control is None:
            rates.setdefault((r.attribute, r.split), {})[str(r.group)] = r
    ratios: dict[ScopeKey, list[Record]] = {}
    for r in records:
        if r.kind == "ratio to group" and r.scope == "favourable" and r.control is None:
            ratios.setdefault((r.attribute, r.split), []).append(r)
    # Rates are drawn in the order they were told in, which the seed makes repeatable; after the last ratio none are.
    last = max((number for number, scope in enumerate(rates) if scope in ratios), default=-1)
    posterior = {scope: _posterior_draws(rates[scope], generator) for scope in list(rates)[: last + 1]}
    for scope, record in ((scope, record) for scope, ratio in ratios.items() for record in ratio):
        group, against = str(record.group), str(record.against)
        rate, other = rates[scope][group], rates[scope][against]
        highest = other.value >= max(r.value for name, r in rates[scope].items() if r.defined and not is_missing(name))
        named = len(record.attribute) == 1 and reference.get(record.attribute[0]) == against
        share = (rate.denominator or 0.0) / total if total else 0.0
        yield FourFifths(
            attribute=record.attribute,
            group=group,
            against=against,
            basis="highest rate" if highest else "reference" if named else "largest group",
            split=record.split,
            ratio=record.value,
            probability_broken=_probability(posterior[scope], group, HIGHEST if highest else against),
            share=share,
            small=share < SMALL_SHARE,
            low=record.low,
            high=record.high,
            level=record.level,
            significant=None if record.high is None else record.high < RULE,
        )


def _posterior_draws(rates: Mapping[str, Record], generator: np.random.Generator) -> dict[str | None, np.ndarray]:
    """Draw the rates of all groups at once; under ``HIGHEST`` is the highest in each draw."""
    draws: dict[str | None, np.ndarray] = {}
    for group, rate in rates.items():
        if rate.defined and rate.effective_n is not None and not is_missing(group):
            x, n = rate.value * rate.effective_n, rate.effective_n
            draws[group] = generator.beta(x + 0.5, max(n - x, 0.0) + 0.5, DRAWS)
    if draws:
        draws[HIGHEST] = np.max(list(draws.values()), axis=0)
    return draws


def _probability(posterior: Mapping[str | None, np.ndarray], group: str, against: str | None) -> float:
    """Return how often a group's rate is below four fifths of another's, or of the highest in the same draw."""
    if group not in posterior or against not in posterior:
        return float("nan")
    return float((posterior[group] < RULE * posterior[against]).mean())
