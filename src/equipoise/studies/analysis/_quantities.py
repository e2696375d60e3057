"""The numbers of every trial, all trials at once: measures of counts, the AUC, and what a constant prediction gets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Task
from equipoise.foundation import BadInput, Floats, listing, ratio, registry
from equipoise.measures import (
    FAIRNESSES,
    PERFORMANCES,
    Better,
    ClassCounts,
    Measure,
    all_labels_have_collapsed,
    auc_of,
    check_fairness,
    check_performance,
    class_fairness,
    class_index,
    class_performance,
    constant_prediction,
    get_measure,
    has_collapsed,
    has_collapsed_regression,
    label_scores,
    optimum_distance,
    r_squared,
)
from equipoise.results import Reason, because
from equipoise.studies.analysis._data import (
    DEV,
    TEST,
    Attribute,
    Codes,
    Layout,
    StudyData,
)
from equipoise.studies.analysis._reasons import StudyReason
from equipoise.studies.storage import OUTCOMES, EvaluationLabels, Store
from equipoise.tallies import (
    Confusion,
    ResidualMoments,
    residual_moments,
)
from equipoise.tallies import residual_sums as summed

Role = Literal["performance", "fairness", "distance"]
BALANCED = "balanced_accuracy"
# What is better high and said of everyone: a loss there is a cost.
PERFORMANCE = {
    "class": ("accuracy", BALANCED), "regression": ("pearson",), "multilabel": ("macro_f1", "accuracy", BALANCED),
}  # fmt: skip
# What decides a study where nothing is said, by its name in ``measures.objectives``.
USUAL = {"class": "accuracy", "regression": "pearson", "multilabel": "f1"}
# Of several labels no registered measure says them: each is a mean over labels.
FAIRNESS = {"class": "fairness", "regression": "regression_fairness", "multilabel": "fairness_of_labels"}
DISTANCE = {
    "class": "distance_to_optimum", "regression": "regression_distance_to_optimum",
    "multilabel": "distance_to_optimum_of_labels",
}  # fmt: skip


# What performances and fairnesses of ``measures.objectives`` are called among measures, where not by their own names.
MEASURE_NAMES = {"f1": "macro_f1", "DP": "fairness_dp", "EO": "fairness_eo", "EOTP": "fairness_eotp"}
LABELS = {
    MEASURE_NAMES.get(name, name): own.label
    for name, own in (*PERFORMANCES.items(), *FAIRNESSES.items())
    if name not in ("accuracy", "balanced_accuracy", "GAP", "pearson")
} | {"fairness_of_labels": "Fairness (1 - GAP)", "distance_to_optimum_of_labels": "DTO"}


@dataclass(frozen=True)
class MainMeasures:
    """The measures that a study is decided by: performance and fairness, both better high, and their distance.

    ``by`` are their names in ``measures.objectives``. ``secondary`` are further measures of performance that are always
    told.
    """

    performance: str
    fairness: str
    distance: str
    by: tuple[str, str]
    secondary: tuple[str, ...] = ()

    @property
    def performances(self) -> tuple[str, ...]:
        """Every measure of performance that is told, the deciding one first."""
        return (self.performance, *self.secondary)

    @property
    def roles(self) -> dict[str, Role]:
        """What each of the three is."""
        return {self.performance: "performance", self.fairness: "fairness", self.distance: "distance"}


def main_measures_of(task: Task, performance: str | None = None, fairness: str | None = None) -> MainMeasures:
    """Return the measures that decide a study of this task; by default accuracy (or Pearson's r) and 1 - GAP."""
    usual = PERFORMANCE[task]
    chosen = check_performance(performance or USUAL[task], task)
    fair = check_fairness(fairness or "GAP", task)
    first = MEASURE_NAMES.get(chosen, chosen)
    named = FAIRNESS[task] if fair == "GAP" else MEASURE_NAMES.get(fair, fair)
    return MainMeasures(
        first, named, DISTANCE[task], (chosen, fair), tuple(measure for measure in usual if measure != first)
    )


# The seven of paper 004.
GAPS = {
    "class": ("DP", "DI", "SPSF", "FPSF", "EOFP", "EOTP", "BA"),
    "regression": ("pearson_difference", "mean_absolute_error_difference", "mean_residual_difference"),
    "multilabel": ("DP", "EOFP", "EOTP"),
}
NEEDS = {
    "class": ("predictions", "counts"), "regression": ("residuals",), "multilabel": ("predictions", "counts"),
}  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """One number of a trial: a measure of everyone (no attribute), or one that compares the groups of an attribute.

    ``class_`` is the class or label it speaks of; without one it is the mean over them, or there are none.
    """

    measure: str
    alias: str | None
    better: Better
    attribute: Attribute
    class_: str | None = None
    # What it is for a study that is decided by other measures than the usual ones, which are given by name.
    role: Role | None = None
    by: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        """How verdicts name it."""
        return (self.alias or self.measure) + (f" ({' & '.join(self.attribute)})" if self.attribute else "")


def quantities_of(
    layout: Layout,
    attributes: Sequence[Attribute],
    measures: Sequence[str] | None = None,
    main: MainMeasures | None = None,
) -> tuple[Quantity, ...]:
    """Return what is reported: by default performance, fairness, the distance to the optimum and the usual gaps.

    With ``measures`` those, together with performance, fairness and distance, which verdicts and ranks stand on.
    """
    task = layout.task
    main = main or main_measures_of(task)
    always = (*main.performances, main.fairness, main.distance)
    wanted = dict.fromkeys((*always, *(GAPS[task] if measures is None else measures)))
    quantities: dict[tuple[str, Attribute], Quantity] = {}
    for name in wanted:
        for quantity in _of_main(name, main, task, attributes) or _of_measure(name, layout, attributes):
            quantities.setdefault((quantity.measure, quantity.attribute), quantity)
    return tuple(quantities.values())


def is_bounded(quantity: Quantity) -> bool:
    """Tell whether a quantity has bounds, as shares have: an effect in points means nothing to one in other units."""
    if quantity.role is not None or quantity.measure in (BALANCED, *PERFORMANCE["multilabel"]):
        return True
    return all(math.isfinite(end) for end in _measure(quantity.measure).bounds)


def requested_measures(quantities: Sequence[Quantity], measures: Sequence[str] | None) -> tuple[str, ...]:
    """Return the full names of the measures that were asked for, in their order; nothing where none were."""
    named: dict[str, str] = {}
    for quantity in quantities:
        named |= {quantity.measure.casefold(): quantity.measure}
        named |= {} if quantity.alias is None else {quantity.alias.casefold(): quantity.measure}
    wanted = (named.get(name.casefold()) or get_measure(name).name for name in measures or ())
    return tuple(dict.fromkeys(wanted))


def _of_main(name: str, main: MainMeasures, task: str, attributes: Sequence[Attribute]) -> list[Quantity]:
    """Return what decides a study, where that is not what the registered measures are."""
    role = main.roles.get(name)
    if task == "multilabel" and name in main.performances and role is None:
        return [Quantity(name, None, "high", ())]
    usual = (PERFORMANCE[task][0], "GAP")
    registered = task != "multilabel"
    if role is None or (registered and (main.by == usual or (role == "fairness" and main.by[1] == "GAP"))):
        return []
    if registered and role == "performance" and main.by[0] in (*PERFORMANCE[task], usual[0]):
        return []
    over: Sequence[Attribute] = [()] if role == "performance" else attributes
    better: Better = "low" if role == "distance" else "high"
    alias = "DTO" if role == "distance" else None
    return [Quantity(name, alias, better, tuple(attribute), role=role, by=main.by) for attribute in over]


def _of_measure(name: str, layout: Layout, attributes: Sequence[Attribute]) -> list[Quantity]:
    if name == BALANCED:
        return [Quantity(BALANCED, None, "high", ())]
    measure = get_measure(name)
    if layout.task == "multilabel" and not (measure.classwise and measure.needs in NEEDS[layout.task]):
        raise BadInput(
            f"The measure {measure.name!r} says nothing of each label by itself, of which a study takes the mean",
            available="measures that speak of one class, such as demographic_parity or true_positive_rate",
        )
    if measure.needs not in NEEDS[layout.task]:
        known_measures = [e.name for e in registry.entries("measure") if e.details["needs"] in NEEDS[layout.task]]
        raise BadInput(
            f"The measure {measure.name!r} needs {measure.needs}, and a trial keeps "
            + ("counts of classes" if layout.task == "class" else "sums of a regression"),
            available=", ".join([BALANCED, *known_measures] if layout.task == "class" else known_measures),
        )
    class_ = layout.favourable if measure.classwise and layout.favourable in layout.classes else None
    over = [()] if measure.kind in ("rate", "value") else attributes
    return [Quantity(measure.name, measure.alias, measure.better, tuple(attribute), class_) for attribute in over]


def measured(quantities: Sequence[Quantity], tables: Floats, layout: Layout) -> Floats:
    """Return the value of every quantity, ``[..., quantity]``, of tables ``[..., group, ...]``; undefined is NaN."""
    lead = tables.ndim - layout.depth
    values = np.full((*tables.shape[:lead], len(quantities)), np.nan)
    for attribute in dict.fromkeys(quantity.attribute for quantity in quantities):
        tally, comparable = _tally(tables, layout, attribute)
        for index, quantity in enumerate(quantities):
            if quantity.attribute == attribute and (comparable or not attribute):
                values[..., index] = _values(quantity, tally)
    return values


def _tally(tables: Floats, layout: Layout, attribute: Attribute) -> tuple[Any, bool]:
    """Return the tally of an attribute, and whether it has two groups to compare."""
    if not attribute:
        axis = tables.ndim - layout.depth
        names: tuple[str, ...] = ("everyone",)
        cells: Floats = tables.sum(axis=axis, keepdims=True)
    else:
        cells, names = layout.folded(tables, attribute)
    if layout.task == "regression":
        return residual_moments(cells, names, layout.pivot), len(names) > 1
    if layout.task == "multilabel":
        return LabelTally(cells, names, layout.classes), len(names) > 1
    return Confusion(cells, names, layout.classes), len(names) > 1


@dataclass(frozen=True, eq=False)
class LabelTally:
    """How many rows have each (group, label, outcome), ``[..., group, label, outcome]``."""

    cells: Floats
    groups: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def counts(self) -> ClassCounts:
        """The same as counts of present labels."""
        return ClassCounts.of_labels(self.cells)

    @property
    def confusion(self) -> Confusion:
        """The table of each label by itself, ``[..., label, group, true, predicted]``, absent before present."""
        tables = np.moveaxis(self.cells, -2, -3)
        return Confusion(tables.reshape(*tables.shape[:-1], 2, 2), self.groups, PRESENCE)

    def only(self, label: str) -> LabelTally:
        """Return what is told of one label."""
        index = self.labels.index(label)
        return LabelTally(self.cells[..., index : index + 1, :], self.groups, (label,))


PRESENCE = ("absent", "present")


def label_quantities(layout: Layout, attributes: Sequence[Attribute]) -> tuple[Quantity, ...]:
    """Return what is told of each label by itself: how well it is predicted, and the gaps between groups."""
    # The F1 of one label is the registered measure; of all of them it is macro F1.
    performances: list[tuple[str, Attribute]] = [(name, ()) for name in ("f1", "accuracy", BALANCED)]
    gaps = [(get_measure(name), tuple(attribute)) for name in GAPS["multilabel"] for attribute in attributes]
    return tuple(
        quantity for label in layout.classes for quantity in (
            *(Quantity(name, None, "high", over, label) for name, over in performances),
            *(Quantity(measure.name, measure.alias, measure.better, over, label) for measure, over in gaps),
        )
    )  # fmt: skip


def _of_labels(quantity: Quantity, tally: LabelTally) -> Floats:
    """Return the value of one label, or the mean over the labels for which it is defined."""
    tally = tally if quantity.class_ is None else tally.only(quantity.class_)
    if quantity.role is not None and quantity.by is not None:
        performance, fairness = quantity.by
        scored = PERFORMANCES[performance].needs_scores
        undefined = np.full(tally.cells.shape[:-3], np.nan)
        performed = undefined if scored else class_performance(performance, tally.counts.overall)  # type: ignore[arg-type]
        if quantity.role == "performance":
            return performed
        if fairness == "worst_group" and scored:
            fair = undefined
        else:
            fair = class_fairness(fairness, tally.counts, performance)  # type: ignore[arg-type]
        return fair if quantity.role == "fairness" else optimum_distance(performed, fair)
    if quantity.measure in PERFORMANCE["multilabel"]:
        name: Any = {"macro_f1": "f1"}.get(quantity.measure, quantity.measure)
        return class_performance(name, tally.counts.overall)
    measure = _measure(quantity.measure)
    values = np.asarray(measure.by_class(tally.confusion), dtype=np.float64)[..., PRESENCE.index("present")]
    # Of everyone, who are one group.
    return _mean_over_classes(values[..., 0] if measure.kind in ("rate", "value") else values)


@cache
def _measure(name: str) -> Measure:
    """Return a measure that is known to be registered; asking the registry each time takes longer than counting."""
    return get_measure(name)


def _values(quantity: Quantity, tally: Any) -> Floats:
    if isinstance(tally, LabelTally):
        return _of_labels(quantity, tally)
    if quantity.role is not None and quantity.by is not None:
        return _objective(quantity.role, *quantity.by, tally)
    if quantity.measure == BALANCED:
        return _mean_over_classes(_measure("true_positive_rate").by_class(tally)[..., 0, :])
    measure = _measure(quantity.measure)
    values = measure.by_class(tally)
    if measure.kind in ("rate", "value"):  # of everyone, who are one group
        values = values[..., 0, :] if measure.classwise else values[..., 0]
    if not measure.classwise:
        return values
    if quantity.class_ is not None:
        return np.asarray(values[..., class_index(tally, quantity.class_)], dtype=np.float64)
    return _mean_over_classes(values)


def _objective(role: Role, performance: str, fairness: str, tally: Any) -> Floats:
    """Return a study's own performance, fairness or distance; what needs scores is undefined here."""
    if role == "performance":
        return _performance(performance, tally.overall)[..., 0]
    if isinstance(tally, ResidualMoments):
        each = _performance("pearson" if fairness == "GAP" else performance, tally)
        fair = each.min(axis=-1) if fairness == "worst_group" else 1.0 - (each.max(axis=-1) - each.min(axis=-1))
    elif fairness == "worst_group" and PERFORMANCES[performance].needs_scores:
        fair = np.full(tally.cells.shape[:-3], np.nan)
    else:
        fair = class_fairness(fairness, ClassCounts.of(tally.cells), performance)  # type: ignore[arg-type]
    if role == "fairness":
        return np.asarray(fair, dtype=np.float64)
    return optimum_distance(_performance(performance, tally.overall)[..., 0], np.asarray(fair, dtype=np.float64))


def _performance(name: str, tally: Any) -> Floats:
    """Return a performance by group, ``[..., group]``."""
    if isinstance(tally, ResidualMoments):
        if name == "r2":
            return r_squared(tally.mean_squared_error, tally.variance_target)
        return np.asarray(_measure("pearson").by_class(tally), dtype=np.float64)
    if PERFORMANCES[name].needs_scores:
        return np.full(tally.cells.shape[:-2], np.nan)
    return class_performance(name, ClassCounts.of(tally.cells))  # type: ignore[arg-type]


def _mean_over_classes(values: Floats) -> Floats:
    """Return the mean over the classes that are defined; NaN where none is."""
    defined = ~np.isnan(values)
    total = np.where(defined, values, 0.0).sum(axis=-1)
    return ratio(total, defined.sum(axis=-1).astype(np.float64))


def batched(quantities: Sequence[Quantity], tables: Floats, layout: Layout, most: int = 2_000_000) -> Floats:
    """Return ``measured`` of stacked tables ``[table, group, ...]``, in parts that fit the memory."""
    step = max(1, most // max(int(np.prod(tables.shape[1:])), 1))
    compute = partial(measured, quantities, layout=layout)
    parts = [compute(tables=tables[first : first + step]) for first in range(0, len(tables), step)]
    return np.concatenate(parts) if parts else np.empty((0, len(quantities)))


# Of a split, an attribute and a performance of scores (``auc``, ``average_precision``): that of everyone and of each
# group, ``[trial, 1 + group]``.
Aucs = Callable[[str, Attribute, str], Floats]
# What a prediction that is the same for everybody has.
CONSTANT_AUC = 0.5
# Trials whose scores are read at once.
AT_ONCE = 50


def needs_scores(main: MainMeasures) -> bool:
    """Tell whether a study is decided by something that counts cannot tell."""
    return PERFORMANCES[main.by[0]].needs_scores


def aucs_of(store: Store, keys: Sequence[str], truth: EvaluationLabels, layout: Layout) -> Aucs:
    """Return what reads the scores of trials from a store and computes their AUC when it is asked for."""
    computed: dict[tuple[str, Attribute, str], Floats] = {}

    def aucs(split: str, attribute: Attribute, performance: str) -> Floats:
        requested = split, attribute, performance
        if requested not in computed:
            computed[requested] = _aucs(store, keys, truth, layout, *requested)
        return computed[requested]

    return aucs


def _aucs(
    store: Store,
    keys: Sequence[str],
    truth: EvaluationLabels,
    layout: Layout,
    split: str,
    attribute: Attribute,
    performance: str,
) -> Floats:
    rows = truth.of(split)
    is_known = np.asarray(rows.is_known)
    matrix, _ = layout.folding(attribute)
    members = [is_known, *(is_known & (is_member[rows.group] > 0) for is_member in matrix)]
    values = np.full((len(keys), len(members)), np.nan)
    for first in range(0, len(keys), AT_ONCE):
        part = keys[first : first + AT_ONCE]
        predictions = store.predictions_of(part, split, scores=True)
        for index, key in enumerate(part):
            scores = predictions[key].scores
            if scores is None:
                raise BadInput(
                    f"The trial {key} kept no scores, and this study is decided by the AUC",
                    help="train it with scores: without --no-scores, by a learner or function that gives them. "
                    'performance = "balanced_accuracy" needs none, but learners are then trained again, because '
                    "performance also chooses their epochs.",
                )
            values[first + index] = [
                float(
                    label_scores(performance, scores[member], rows.target[member])  # type: ignore[arg-type]
                    if layout.task == "multilabel" else auc_of(scores[member], rows.target[member])
                )
                for member in members
            ]  # fmt: skip
    return values


def fill_in(
    values: Floats, quantities: Sequence[Quantity], main: MainMeasures, of: Callable[[Attribute], Floats]
) -> None:
    """Put the AUC, and what is made of it, into the values ``[trial, quantity]`` of one split."""
    places = {(quantity.measure, quantity.attribute): index for index, quantity in enumerate(quantities)}
    for index, quantity in enumerate(quantities):
        if quantity.role is None:
            continue
        aucs = of(quantity.attribute)
        fair = values[:, places[main.fairness, quantity.attribute]] if quantity.attribute else None
        if main.by[1] == "worst_group" and quantity.attribute:
            fair = aucs[:, 1:].min(axis=1)
        if quantity.role == "performance":
            values[:, index] = aucs[:, 0]
        elif fair is not None:
            values[:, index] = fair if quantity.role == "fairness" else optimum_distance(aucs[:, 0], fair)


def constant_scores(layout: Layout, tables: Floats, performance: str, attribute: Attribute) -> Floats:
    """Return what equal scores for everybody have, ``[1, 1 + group]``: an AUC of 1/2, or the share of present rows."""
    groups, _ = layout.folded(tables[:1], attribute)
    overall_and_groups = np.concatenate([tables[:1].sum(axis=1, keepdims=True), groups], axis=1)
    if performance != "average_precision":
        return np.full(overall_and_groups.shape[:2], CONSTANT_AUC)
    counts = ClassCounts.of_labels(overall_and_groups)
    shares = ratio(counts.actual, np.broadcast_to(counts.people, counts.actual.shape))
    # A label that nobody has is left out, as it is of the trials.
    return _mean_over_classes(np.where(counts.actual > 0, shares, np.nan))


Flags = NDArray[np.bool_]

# A cell has collapsed where at least this share of its runs has.
COLLAPSED_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantValue:
    """One number of the constant prediction on the test rows; NaN where a constant has none."""

    measure: str
    alias: str | None
    attribute: tuple[str, ...]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantRecord:
    """What a model that predicts the same for everybody gets on the test rows.

    ``prediction`` is the most frequent class of the original training rows (``basis`` says where it was counted), the
    labels that more than half of them have, or in a regression their mean. ``share`` is how many of those rows have
    that class. ``reason`` says why a number is undefined.
    """

    prediction: str
    share: float | None
    basis: str
    attribute: tuple[str, ...]
    performance: float
    fairness: float
    distance: float
    values: tuple[ConstantValue, ...] = ()
    reason: Reason | None = None


TRAINING, DEV_ROWS = "original training rows", "dev rows"


def constant_record(
    data: StudyData, quantities: tuple[Quantity, ...], main: MainMeasures, attribute: Attribute
) -> ConstantRecord | None:
    """Return what a constant prediction gets on the test rows; None where no row of them can be predicted."""
    layout, test = data.layout, data.tables[TEST][:1]
    if not _can_be_right(data):
        return None
    if layout.task == "regression":
        tables, basis = _constant_sums(data)
        prediction, share = "the mean", None
    elif layout.task == "multilabel":
        tables, prediction, basis = _constant_labels(data)
        share = None
    else:
        majority, share, basis = _majority(data)
        tables, prediction = constant_prediction(test, majority), layout.classes[majority]
    if not np.nansum(tables):
        return None
    computed = measured(quantities, tables, layout)
    if needs_scores(main):
        fill_in(computed, quantities, main, partial(constant_scores, layout, test, main.by[0]))
    values = computed[0]
    value_of = {
        (quantity.measure, quantity.attribute): float(value) for quantity, value in zip(quantities, values, strict=True)
    }
    performance, fairness = value_of[main.performance, ()], value_of[main.fairness, attribute]
    distance = value_of[main.distance, attribute]
    reason = None
    if np.isnan(distance):
        reason = because(StudyReason.NO_CORRELATION if layout.task == "regression" else StudyReason.NO_SHARED_CLASS)
    return ConstantRecord(
        prediction=prediction, share=share, basis=basis, attribute=attribute, performance=performance,
        fairness=fairness, distance=distance, reason=reason,
        values=tuple(
            ConstantValue(
                measure=quantity.measure, alias=quantity.alias, attribute=quantity.attribute, value=float(value)
            )
            for quantity, value in zip(quantities, values, strict=True)
        ),
    )  # fmt: skip


def _majority(data: StudyData) -> tuple[int, float | None, str]:
    """Return the place of the most frequent class, its share, and in which rows it was counted."""
    if data.training_rows is not None and any(data.training_rows):
        rows, basis = np.asarray(data.training_rows, dtype=np.float64), TRAINING
    else:
        rows, basis = data.tables[DEV][0].sum(axis=(0, 2)), DEV_ROWS
    place = int(rows.argmax())
    total = float(rows.sum())
    return place, float(rows[place]) / total if total else None, basis


def _constant_labels(data: StudyData) -> tuple[Floats, str, str]:
    """Return the tables of a model that says of each label what most training rows say, its words and its basis."""
    tables = np.asarray(data.tables[TEST][:1], dtype=np.float64)
    if data.training_rows is not None and data.training_total:
        often, basis = 2 * np.asarray(data.training_rows) > data.training_total, TRAINING
    else:
        dev = data.tables[DEV][0].sum(axis=0)
        often, basis = dev[:, 2:].sum(axis=-1) > dev[:, :2].sum(axis=-1), DEV_ROWS
    truly = np.stack([tables[..., :2].sum(axis=-1), tables[..., 2:].sum(axis=-1)], axis=-1)
    constant_tables = np.zeros_like(tables)
    for outcome in range(OUTCOMES):
        constant_tables[..., outcome] = truly[..., outcome // 2] * (often == outcome % 2)
    names = [label for label, flag in zip(data.layout.classes, often.tolist(), strict=True) if flag]
    return constant_tables, listing(names) if names else "no label", basis


def _constant_sums(data: StudyData) -> tuple[Floats, str]:
    """Return the sums ``[1, group, sum]`` of a regression that predicts one number for every test row, and its basis.

    Without the rows themselves, sums of absolute errors and of fourth powers are not known, so they are undefined.
    """
    pivot, tables = data.layout.pivot, data.tables[TEST][:1]
    if data.training_mean is not None:
        mean, basis = data.training_mean, TRAINING
    else:
        dev = data.tables[DEV][0].sum(axis=0)
        mean, basis = pivot.target + float(ratio(dev[3:4], dev[1:2])[0]), DEV_ROWS
    constant_tables = np.array(tables, dtype=np.float64)
    if data.rows is not None:
        target = np.asarray(data.rows.target, dtype=np.float64)
        is_finite = np.isfinite(target)
        group, number = data.rows.group[is_finite], constant_tables.shape[1]
        sums = summed(target[is_finite], np.full(int(is_finite.sum()), mean), pivot)
        constant_tables[0, :, 3:] = np.stack(
            [np.bincount(group, weights=row_sums, minlength=number) for row_sums in sums], axis=-1
        )
        return constant_tables, basis
    away, weight, y, yy = (
        mean - pivot.prediction,
        constant_tables[..., 1],
        constant_tables[..., 3],
        constant_tables[..., 5],
    )
    shift = mean - pivot.target
    constant_tables[..., 4], constant_tables[..., 6], constant_tables[..., 7] = (
        away * weight,
        away**2 * weight,
        away * y,
    )
    constant_tables[..., 8] = constant_tables[..., 10] = np.nan
    constant_tables[..., 9] = shift**2 * weight - 2 * shift * y + yy
    return constant_tables, basis


def collapsed_runs(data: StudyData) -> Flags:
    """Tell of each trial whether it has collapsed, from its dev rows alone."""
    return collapsed_tables(data.tables[DEV], data.layout, _can_be_right(data))


def collapsed_cells(data: StudyData, runs: Flags, members: list[Codes]) -> Flags:
    """Tell of each cell whether it has collapsed: by the mean of its runs' dev counts, or half of its runs or more."""
    if not members:
        return np.zeros(0, dtype=bool)
    tables = data.tables[DEV]
    means = np.stack([tables[places].mean(axis=0) for places in members])
    shares = np.array([runs[places].mean() for places in members])
    return collapsed_tables(means, data.layout, _can_be_right(data)) | (shares >= COLLAPSED_SHARE)


def collapsed_tables(tables: Floats, layout: Layout, can_be_right: bool = True) -> Flags:
    """Tell of each table ``[..., group, ...]`` whether what it counts is no better than a constant prediction."""
    if layout.task == "regression":
        moments = residual_moments(tables.sum(axis=-2, keepdims=True), ("everyone",), layout.pivot)
        r_squared = 1.0 - ratio(moments.mean_squared_error, moments.variance_target)[..., 0]
        return has_collapsed_regression(r_squared)
    if layout.task == "multilabel":
        return all_labels_have_collapsed(ClassCounts.of_labels(tables.sum(axis=-3)))
    if not can_be_right:
        return np.zeros(tables.shape[:-3], dtype=bool)
    return has_collapsed(tables.sum(axis=-3))


def _can_be_right(data: StudyData) -> bool:
    """Tell whether dev rows have classes that can be predicted; where they were kept from training, none can."""
    if data.layout.task != "class":
        return True
    return bool(np.trace(data.tables[DEV].sum(axis=(0, 1))))
