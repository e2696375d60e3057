"""Both sides of every attribute: rates before and after, of the same rows or of two samples of people.

What an audit is compared with is an earlier prediction of the same rows, or an earlier file with other people.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._columns import axes_of, named_cells
from equipoise.audits._counting import outcome_axes, tallies_of_counts, tally
from equipoise.audits._reasons import AuditReason
from equipoise.audits._spec import AuditSpec, resolve
from equipoise.audits._tallies import Tallies, View, big_enough
from equipoise.cohorts import (
    Axis,
    Bins,
)
from equipoise.foundation import (
    BadInput,
    Floats,
    fitting,
    listing,
    plural,
)
from equipoise.measures import Measure
from equipoise.results import Reason, ReasonCode, Status, because
from equipoise.stats import (
    PAIR_CASES,
    Estimate,
    pair_estimate,
    sample_estimate,
)
from equipoise.tallies import (
    BOOLEAN_LABELS,
    PREDICTION_AXIS,
    ROWS,
    SPLIT_AXIS,
    SQUARES,
    TARGET_AXIS,
    WEIGHT,
    Cells,
    Confusion,
    Counts,
    Label,
    boolean_spellings,
    class_labels,
    confusion_of,
    group_axis,
    group_labels,
    group_name,
    ordered,
    unify_booleans,
)

EARLIER = "earlier"
ABOVE, BELOW = "above the threshold", "below the threshold"


@dataclass(frozen=True)
class Before:
    """The earlier side: the same rows with both predictions (``pairs``), or the counts of other rows (``sample``)."""

    classes: tuple[str, ...]
    notes: tuple[str, ...]
    settings: Mapping[str, object]
    pairs: Cells | None = None
    sample: Cells | None = None


def check_change(spec: AuditSpec, against: object) -> None:
    """Refuse a change that cannot be measured, before anything is counted."""
    paired = [name for name in ("against_prediction", "against_score") if getattr(spec, name) is not None]
    if len(paired) + (against is not None) > 1:
        raise BadInput(
            "The audit is compared with more than one thing",
            available="one of --against (another file), --against-prediction and --against-score (columns of it)",
        )
    if spec.task != "class":
        raise BadInput(
            f"A change was asked for with --task {spec.task}",
            available="single classes: changes are of rates",
            help="audit both by themselves and compare their records.",
        )
    if spec.cluster is not None:
        raise BadInput(
            "A change was asked for together with a cluster column",
            available="rows that are independent of one another: a change of clusters has no interval here",
            help="keep one row of each cluster, or audit both by themselves.",
        )
    if spec.against_score is not None and spec.score is None:
        raise BadInput("--against-score was given without --score", help="name the new score with --score (score=).")


def resolve_earlier(data: object, against: object, arguments: Mapping[str, object]) -> AuditSpec:
    """Return the spec of the same audit of the earlier data."""
    if data is None:
        raise BadInput(
            "Arrays were given together with against",
            available="against_prediction or against_score as an array; or two frames, files or counts",
        )
    if isinstance(data, Counts) != isinstance(against, Counts):
        raise BadInput("Counts were given on one side only", available="counts on both sides, or rows on both")
    try:
        return resolve(against, {**arguments, "control": None, "reference": None})
    except BadInput as error:
        raise _of_earlier(error) from error


def _of_earlier(error: BadInput) -> BadInput:
    return BadInput(f"In the earlier data: {error.given}", available=error.available, help=error.help)


def before_of(spec: AuditSpec, tallies: Tallies, earlier: AuditSpec | None, data: object) -> Before:
    """Count the earlier side."""
    return before_of_rows(spec, tallies) if earlier is None else before_of_file(spec, tallies, earlier, data)


def before_of_rows(spec: AuditSpec, tallies: Tallies) -> Before:
    """Count the same rows by both predictions at once."""
    axes, words = axes_of(spec)
    outcome = outcome_axes(spec)
    column = spec.against_prediction or spec.against_score
    assert column is not None
    cut = spec.threshold if spec.against_score else None
    outcome[EARLIER] = Axis(column, None if cut is None else (cut,))
    cells = spec.table.count({**outcome, **axes}, spec.weight)
    for axis in ([] if spec.prediction else [PREDICTION_AXIS]) + ([EARLIER] if spec.against_score else []):
        cells = cells.relabel(axis, {"1": ABOVE, "0": BELOW})  # "1" may itself be the name of a class
    cells = named_cells(cells, spec, words)
    cells = _spelled(unify_booleans(cells, boolean_spellings(cells)), spec, tallies)
    total = cells.rows
    for axis in (TARGET_AXIS, PREDICTION_AXIS):
        cells = _with_known_labels(cells, axis)
    without = cells.rows - _with_known_labels(cells, EARLIER).rows
    cells = _with_known_labels(cells, EARLIER)
    if not cells.rows:
        raise BadInput(f"No row has both predictions, {column!r} being the earlier", help="name another column.")
    labels = {label for label in cells.axis(EARLIER) if label is not None}
    classes, notes = _common(tallies.classes, labels, f"the earlier predictions {column!r}")
    notes.insert(0, f"Changes compare with {column!r} on the same {plural(cells.rows, 'row')}.")
    if without:
        verb = fitting(without, "has no earlier prediction: it is", "have no earlier prediction: they are")
        notes.append(f"{without:,} of {plural(total, 'row')} {verb} left out of the changes.")
    return Before(tuple(classes), tuple(notes), {"data": spec.table.name, "column": column}, pairs=cells)


def before_of_file(spec: AuditSpec, tallies: Tallies, earlier: AuditSpec, data: object) -> Before:
    """Count the earlier rows, cut as the later ones are."""
    # Quantiles are cut where the later rows are cut: the groups must be the same.
    cut = {axis.column: axis.edges for axis in axes_of(replace(spec, control=None, bins=_bins(spec)))[0].values()}
    bins = {column: Bins(edges=edges) for column, edges in cut.items() if edges is not None}
    score = earlier.score if not earlier.prediction else None
    earlier = replace(
        earlier, bins=bins, reference={}, control=None, score=score, threshold=spec.threshold if score else None
    )
    try:
        earlier_tallies = tallies_of_counts(earlier, data) if isinstance(data, Counts) else tally(earlier)
    except BadInput as error:
        raise _of_earlier(error) from error
    cells = earlier_tallies.counts[None]
    cells = unify_booleans(cells, _spelling(class_labels(cells), tallies.classes))
    classes, notes = _common(tallies.classes, set(class_labels(cells)), "the earlier data")
    if (TARGET_AXIS in cells.axes) != (TARGET_AXIS in tallies.counts[None].axes):
        raise BadInput("One of the two has a target and the other has not", available="a target in both, or in neither")
    rows = cells.rows
    notes.insert(
        0, f"Changes compare with {earlier.table.name} ({plural(rows, 'row')}), taken as other people: two samples."
    )
    source = {
        "data": earlier.table.name,
        "rows": earlier_tallies.card_cells.rows,
        "fingerprint": earlier_tallies.fingerprint,
    }
    return Before(tuple(classes), tuple(notes), source, sample=cells)


def _bins(spec: AuditSpec) -> dict[str, Bins]:
    """Return the cuts of groups and splits."""
    used = {*spec.groups.values(), spec.split}
    return {column: request for column, request in spec.bins.items() if column in used}


def _with_known_labels(cells: Cells, axis: str) -> Cells:
    if axis not in cells.axes:
        return cells
    return cells.where(axis, [label for label in cells.axis(axis) if label is not None])


def _spelled(cells: Cells, spec: AuditSpec, tallies: Tallies) -> Cells:
    """Give every axis the classes of the audit: scores above and below the threshold, true for 1."""
    if spec.score is not None and (spec.against_score is not None or not spec.prediction):
        member = tallies.score_class
        assert member is not None
        others = [name for name in tallies.classes if name != member]
        if len(others) > 1:
            raise BadInput(
                f"The earlier score tells {member!r} from {len(others)} other classes",
                available="two classes, or an earlier prediction (--against-prediction)",
            )
        other = others[0] if others else f"not {member}"
        if TARGET_AXIS in cells.axes and not spec.prediction:
            joined: list[Label] = [name for name in cells.axis(TARGET_AXIS) if name is not None and name != member]
            cells = cells.relabel(TARGET_AXIS, dict.fromkeys(joined, other))
        for axis in (PREDICTION_AXIS, EARLIER):
            cells = cells.relabel(axis, {ABOVE: member, BELOW: other})
    labels = [label for label in cells.axis(EARLIER) if label is not None]
    return unify_booleans(cells, _spelling(labels, tallies.classes), [EARLIER])


def _spelling(spelled: Iterable[Label], classes: Sequence[str]) -> dict[Label, Label]:
    """Return new names where one side says true/false and the other 1/0."""
    labels = set(spelled)
    if labels and labels <= set(BOOLEAN_LABELS) and set(classes) <= {"0", "1"}:
        return {name: BOOLEAN_LABELS[name] for name in BOOLEAN_LABELS}
    if labels and labels <= {"0", "1"} and set(classes) <= set(BOOLEAN_LABELS):
        return {BOOLEAN_LABELS[name]: name for name in classes}
    return {}


def _common(classes: Sequence[str], labels: set[str], where: str) -> tuple[list[str], list[str]]:
    """Return the classes of both sides. Where each has one that the other lacks, they are named differently."""
    current = set(classes)
    if not (labels <= current or current <= labels):
        raise BadInput(
            f"The classes of {where} differ: {listing(ordered(labels), 6)} there, {listing(classes, 6)} here",
            available="the same names on both sides",
            help="rename the classes first, or leave out the rows of a class that one side never has.",
        )
    notes = [f"The class {name!r} is not among {where}." for name in ordered(current - labels)]
    notes += [f"The class {name!r} is among {where} only." for name in ordered(labels - current)]
    return ordered(current | labels), notes[:5]


Three = tuple[float, float, float]
Four = tuple[float, float, float, float]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int64]
# Of every case: is a row counted, and is it a success, after and before?
COUNTED = np.array([case[:2] for case in PAIR_CASES], dtype=bool)
SUCCESS = np.array([case[2:] for case in PAIR_CASES], dtype=bool)
Sums = tuple[Confusion, Confusion, Confusion]
# Groups that cannot be compared, and why.
Absent = Mapping[str, tuple[Status, Reason]]
# The two sides, in this order everywhere.
AFTER, BEFORE = 0, 1


class ChangeReason(ReasonCode):
    """Why a change is undefined or not tested."""

    NO_DENOMINATOR = "no_denominator_before_or_after", "there are no {of} before or after"
    FEW_PEOPLE = "few_people_before_or_after", "{people:people} before or after: fewer than {least:,}"
    NOT_EARLIER = "not_in_earlier_data", "not in the earlier data"
    NOT_LATER = "not_in_later_data", "not in the later data"


@dataclass(frozen=True)
class Side:
    """A rate after and before (in that order), the fewest people behind it, and what its tests need.

    ``pairs`` are the gained, the lost and all rows of a rate of the same rows; ``samples`` successes and trials of two.
    """

    successes: tuple[float, float]
    trials: tuple[float, float]
    people: float
    estimate: Estimate
    pairs: Three | None = None
    samples: Four | None = None

    @property
    def after(self) -> float:
        """The rate now."""
        return self.successes[0] / self.trials[0] if self.trials[0] > 0 else float("nan")

    @property
    def before(self) -> float:
        """The rate it is compared with."""
        return self.successes[1] / self.trials[1] if self.trials[1] > 0 else float("nan")


class Sides(ABC):
    """The rates of one attribute and split. ``groups`` are compared; ``absent`` ones are named with the reason."""

    design: Literal["paired", "independent"]

    def __init__(self, spec: AuditSpec, view: View, absent: Absent, people: Floats) -> None:
        self.view = view
        self.absent = absent
        self.people = people
        self.tested = spec.draws > 0
        self.has_target: bool = view.compared.has_target

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that are compared."""
        groups: tuple[str, ...] = self.view.compared.groups
        return groups

    @abstractmethod
    def side(self, measure: Measure, class_index: int | None, groups: Sequence[int]) -> Side:
        """Return a rate of some groups taken together."""

    @abstractmethod
    def overall(self, measure: Measure, class_index: int | None) -> Side:
        """Return a rate over everybody, with those who have no group."""

    def lone(self, measure: Measure, class_index: int | None, group: str) -> tuple[float, float]:
        """Return what is known of a group that cannot be compared: its rate before and after."""
        return float("nan"), float("nan")


class PairedSides(Sides):
    """The same rows, judged twice."""

    design = "paired"

    def __init__(self, spec: AuditSpec, view: View, absent: Absent, cells: Cells) -> None:
        super().__init__(spec, view, absent, view.compared.people[:, 0])
        self._rows = _Pairs.of(cells, view)
        self._tables: dict[tuple[str, int | None], Floats] = {}

    def side(self, measure: Measure, class_index: int | None, groups: Sequence[int]) -> Side:
        return _paired_side(self._table(measure, class_index)[list(groups)].sum(axis=0))

    def overall(self, measure: Measure, class_index: int | None) -> Side:
        return _paired_side(self._table(measure, class_index).sum(axis=0))

    def _table(self, measure: Measure, class_index: int | None) -> Floats:
        key = (measure.name, class_index)
        if key not in self._tables:
            self._tables[key] = self._rows.table(*key)
        return self._tables[key]


def _paired_side(table: Floats) -> Side:
    """Read a table ``[case, sum]``; weighted rows count as so many as their squared weights allow."""
    rows, weight, squares = table[:, ROWS], table[:, WEIGHT], table[:, SQUARES]
    any_time = COUNTED.any(axis=1)
    scale = weight[any_time].sum() / squares[any_time].sum() if squares[any_time].any() else 1.0
    counts = weight * scale
    pairs = None
    if not counts[COUNTED[:, AFTER] != COUNTED[:, BEFORE]].any():
        gained = counts[SUCCESS[:, AFTER] & ~SUCCESS[:, BEFORE]].sum()
        lost = counts[SUCCESS[:, BEFORE] & ~SUCCESS[:, AFTER]].sum()
        pairs = (float(gained), float(lost), float(counts[any_time].sum()))
    return Side(
        successes=(float(weight[SUCCESS[:, AFTER]].sum()), float(weight[SUCCESS[:, BEFORE]].sum())),
        trials=(float(weight[COUNTED[:, AFTER]].sum()), float(weight[COUNTED[:, BEFORE]].sum())),
        people=float(min(rows[COUNTED[:, AFTER]].sum(), rows[COUNTED[:, BEFORE]].sum())),
        estimate=pair_estimate(counts),
        pairs=pairs,
    )


@dataclass(frozen=True)
class _Pairs:
    """Every observed combination of group, truth and both predictions, as numbers; those without a group come last."""

    group: Codes
    truth: Codes | None
    after: Codes
    before: Codes
    sums: Floats
    groups: int

    @classmethod
    def of(cls, cells: Cells, view: View) -> _Pairs:
        axes = [group_axis(attribute) for attribute in view.attribute]
        outcome = [axis for axis in (TARGET_AXIS, PREDICTION_AXIS, EARLIER) if axis in cells.axes]
        joint = cells.marginal([*outcome, *axes])
        class_code = {name: number for number, name in enumerate(view.compared.classes)}
        codes = {
            axis: np.array([class_code.get(str(label), -1) for label in joint.labels[number]], dtype=np.int64)[
                joint.codes[:, number]
            ]
            for number, axis in enumerate(outcome)
        }
        group_code = {name: number for number, name in enumerate(view.compared.groups)}
        names = (
            group_name([labels[code] for labels, code in zip(joint.labels[len(outcome) :], row, strict=True)])
            for row in joint.codes[:, len(outcome) :].tolist()
        )
        group = np.array([group_code.get(name, len(group_code)) for name in names], dtype=np.int64)
        return cls(
            group, codes.get(TARGET_AXIS), codes[PREDICTION_AXIS], codes[EARLIER], joint.sums[:, :3], len(group_code)
        )

    def table(self, measure: str, class_index: int | None) -> Floats:
        """Return ``[group, case, sum]``: whether a row is counted, and is a success, after and before."""
        parts = [_parts(measure, self.truth, predictions, class_index) for predictions in (self.after, self.before)]
        (success_after, counted_after), (success_before, counted_before) = parts
        case = np.zeros(len(self.group), dtype=np.int64)
        for bit in (counted_after, counted_before, success_after, success_before):
            case = 2 * case + bit
        flat, size = self.group * len(PAIR_CASES) + case, (self.groups + 1) * len(PAIR_CASES)
        columns = [np.bincount(flat, weights=column, minlength=size) for column in self.sums.T]
        return np.stack(columns, axis=-1).astype(np.float64).reshape(self.groups + 1, len(PAIR_CASES), 3)


def _parts(measure: str, truth: Codes | None, predictions: Codes, class_index: int | None) -> tuple[Bools, Bools]:
    """Tell of each row whether it is a success of a rate, and whether it is counted at all."""
    everybody = np.ones(len(predictions), dtype=bool)
    if measure == "selection_rate":
        return predictions == class_index, everybody
    assert truth is not None
    if measure == "accuracy":
        return predictions == truth, everybody
    among = {"true_positive_rate": truth == class_index, "false_positive_rate": truth != class_index,
             "positive_predictive_value": predictions == class_index}[measure]  # fmt: skip
    is_hit = truth == class_index if measure == "positive_predictive_value" else predictions == class_index
    return is_hit & among, among


class SampledSides(Sides):
    """Other rows: two independent samples."""

    design = "independent"

    def __init__(self, spec: AuditSpec, view: View, absent: Absent, now: Sums, then: Sums) -> None:
        compared = list(view.compared.groups)
        people = view.compared.people[:, 0] + then[WEIGHT].only(compared).people[:, 0]
        super().__init__(spec, view, absent, people)
        self._samples = (now, then)
        self._group_indices = [[sums[WEIGHT].groups.index(group) for group in compared] for sums in self._samples]
        self._parts: dict[str, list[Floats]] = {}

    def side(self, measure: Measure, class_index: int | None, groups: Sequence[int]) -> Side:
        chosen = [[index_of[group] for group in groups] for index_of in self._group_indices]
        return _sampled_side(
            *(self._counted(measure, class_index, sample, chosen[sample]) for sample in (AFTER, BEFORE))
        )

    def overall(self, measure: Measure, class_index: int | None) -> Side:
        return _sampled_side(*(self._counted(measure, class_index, sample, slice(None)) for sample in (AFTER, BEFORE)))

    def lone(self, measure: Measure, class_index: int | None, group: str) -> tuple[float, float]:
        rates = [float("nan"), float("nan")]
        for sample in (AFTER, BEFORE) if self.absent[group][0] != Status.TOO_SMALL else ():
            groups = self._samples[sample][WEIGHT].groups
            if group in groups:
                x, n, _, _ = self._counted(measure, class_index, sample, [groups.index(group)])
                rates[sample] = x / n if n > 0 else float("nan")
        return rates[BEFORE], rates[AFTER]

    def _counted(self, measure: Measure, class_index: int | None, sample: int, groups: list[int] | slice) -> Four:
        """Return successes, trials, their squared weights and the rows among them, of some groups together."""
        if measure.name not in self._parts:
            self._parts[measure.name] = [_sums_of(measure, sums) for sums in self._samples]
        x, n, squares, rows = self._parts[measure.name][sample][:, groups, class_index or 0].sum(axis=1).tolist()
        return x, n, squares, rows


def _sums_of(measure: Measure, sums: Sums) -> Floats:
    """Return ``[part, group, class]``: what a rate is made of adds up over groups."""
    x, n = measure.function(sums[WEIGHT])
    parts = np.stack([x, n, measure.function(sums[SQUARES])[1], measure.function(sums[ROWS])[1]])
    return parts if measure.classwise else parts[..., None]


def _sampled_side(now: Four, then: Four) -> Side:
    """Make a side of two samples; weighted rows count as so many as their squared weights allow."""
    sizes = [n * n / squares if squares > 0 else 0.0 for _, n, squares, _ in (now, then)]
    counts = [x / n * size if n > 0 else 0.0 for (x, n, _, _), size in zip((now, then), sizes, strict=True)]
    samples = (counts[AFTER], sizes[AFTER], counts[BEFORE], sizes[BEFORE])
    return Side(
        successes=(now[0], then[0]), trials=(now[1], then[1]), people=min(now[3], then[3]),
        estimate=sample_estimate(*samples), samples=samples,
    )  # fmt: skip


def sides_of(
    spec: AuditSpec, counts: Cells, before: Before, favourable: str | None, splits: Sequence[str | None]
) -> Iterator[Sides]:
    """Yield the sides of every attribute and split."""
    for split in splits:
        for attributes in spec.attributes:
            yield _sides(spec, counts, before, favourable, attributes, split)


def _sides(
    spec: AuditSpec, counts: Cells, before: Before, favourable: str | None, attributes: list[str],
    split: str | None,
) -> Sides:  # fmt: skip
    def of_split(cells: Cells) -> Cells:
        return cells if split is None else cells.where(SPLIT_AXIS, [split])

    def sums(cells: Cells) -> Sums:
        first, second, third = (
            confusion_of(cells, attributes, include_missing=True, classes=before.classes, column=column)
            for column in (ROWS, WEIGHT, SQUARES)
        )
        return first, second, third

    every = [of_split(cells) for cells in (counts, before.pairs or before.sample) if cells is not None]
    if before.pairs is not None:
        joint = every[1]
        outcome = [axis for axis in joint.axes if axis not in (PREDICTION_AXIS, EARLIER)]
        now = sums(joint.marginal([*outcome, PREDICTION_AXIS]))
        earlier = joint.marginal([*outcome, EARLIER])
        then = sums(replace(earlier, axes=tuple(PREDICTION_AXIS if axis == EARLIER else axis for axis in earlier.axes)))
    else:
        now, then = sums(every[0]), sums(every[1])
    labels = (group_labels(cells, attributes, include_missing=spec.include_missing) for cells in every)
    known_groups = dict.fromkeys(group_name(group) for groups in labels for group in groups)
    compared, absent = _groups_compared(spec, list(known_groups), now, then)
    view = View(
        attribute=tuple(attributes),
        reported=now[WEIGHT],
        compared=now[WEIGHT].only(compared),
        favourable=favourable,
        split=split,
        reference=spec.reference.get(attributes[0]) if len(attributes) == 1 else None,
        least_people=spec.least_people,
    )
    if before.pairs is not None:
        return PairedSides(spec, view, absent, every[1])
    return SampledSides(spec, view, absent, now, then)


def _groups_compared(
    spec: AuditSpec, groups: list[str], now: Sums, then: Sums
) -> tuple[list[str], dict[str, tuple[Status, Reason]]]:
    """Return the groups of both sides, and the others with the reason that they are not compared."""
    compared: list[str] = []
    absent: dict[str, tuple[Status, Reason]] = {}
    least = spec.suppress_below
    big = [set(big_enough(sums[ROWS], least, by_class=sums[ROWS].has_target)) for sums in (now, then)]
    for group in groups:
        in_now, in_then = (group in sums[WEIGHT].groups for sums in (now, then))
        if (in_now and group not in big[0]) or (in_then and group not in big[1]):
            absent[group] = Status.TOO_SMALL, because(AuditReason.SUPPRESSED, least=least)
        elif not (in_now and in_then):
            absent[group] = Status.UNDEFINED, because(ChangeReason.NOT_EARLIER if in_now else ChangeReason.NOT_LATER)
        else:
            compared.append(group)
    return compared, absent
