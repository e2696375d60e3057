"""Counts of rows by group, true class and predicted class: the dense table, and the running tally that makes it.

Every classification measure is a function of a ``Confusion``. Any number of dimensions may stand in front of its table
(thresholds, bootstrap draws): a measure computes all of them at once. ``Counts`` is updated batch by batch and merged
across shards and ranks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    Floats,
    accepts,
    as_array,
    as_column,
    as_columns,
    as_weights,
    listing,
    reduce_axis,
    registry,
    same_length,
)
from equipoise.tallies._cells import Cells
from equipoise.tallies._labels import (
    Coded,
    Label,
    boolean_spellings,
    classes_of,
    factorise,
    label_of,
    label_text,
    ordered,
    presence_classes,
    unify_booleans,
)


@dataclass(frozen=True, eq=False)
class Confusion:
    """How much weight has (group, true class, predicted class); without weights, how many rows.

    ``cells`` has the shape ``[..., groups, classes, classes]``; without a target the true-class dimension has length 1
    and only what the predictions alone can tell is defined.

    Every property has the shape ``[..., group, class]``, each class against the rest, in the letters of paper 004,
    appendix A.1.
    """

    cells: Floats
    groups: tuple[str, ...]
    classes: tuple[str, ...]
    has_target: bool = True

    def __post_init__(self) -> None:
        expected = (len(self.groups), len(self.classes) if self.has_target else 1, len(self.classes))
        if self.cells.shape[-3:] != expected:
            raise ValueError(f"the table has shape {self.cells.shape[-3:]}, its labels say {expected}")

    @cached_property
    def people(self) -> Floats:
        """P + N: everybody in the group, whatever the class."""
        flat = self.cells.reshape(*self.cells.shape[:-2], -1)
        return np.broadcast_to(reduce_axis(-1, flat)[..., None], self.predicted.shape)

    @cached_property
    def predicted(self) -> Floats:
        """TP + FP: predicted to be of the class."""
        return reduce_axis(-2, self.cells)

    @cached_property
    def positives(self) -> Floats:
        """P: truly of the class."""
        self._needs_target()
        return reduce_axis(-1, self.cells)

    @cached_property
    def negatives(self) -> Floats:
        """N: truly of another class."""
        return _less(self.people, self.positives)

    @cached_property
    def true_positives(self) -> Floats:
        """TP: of the class and predicted so."""
        self._needs_target()
        return np.diagonal(self.cells, axis1=-2, axis2=-1)

    @cached_property
    def false_positives(self) -> Floats:
        """FP: of another class, predicted to be of this one."""
        return _less(self.predicted, self.true_positives)

    @cached_property
    def false_negatives(self) -> Floats:
        """FN: of the class, predicted to be of another."""
        return _less(self.positives, self.true_positives)

    @cached_property
    def true_negatives(self) -> Floats:
        """TN: of another class and predicted to be of another."""
        return _less(self.negatives, self.false_positives)

    @cached_property
    def correct(self) -> Floats:
        """Rows whose predicted class is the true one, the same for every class."""
        return np.broadcast_to(reduce_axis(-1, self.true_positives)[..., None], self.predicted.shape)

    @cached_property
    def overall(self) -> Confusion:
        """The same table with all groups taken together."""
        return Confusion(self.cells.sum(axis=-3, keepdims=True), ("everyone",), self.classes, self.has_target)

    def only(self, groups: Sequence[str]) -> Confusion:
        """Keep these groups, in this order."""
        indices = [self.groups.index(group) for group in groups]
        return Confusion(self.cells[..., indices, :, :], tuple(groups), self.classes, self.has_target)

    def _needs_target(self) -> None:
        if not self.has_target:
            raise ValueError("this table was counted without a target")


@dataclass(frozen=True, eq=False)
class ClassTotals(Confusion):
    """What measures read of a table, without the table: totals of each class ``[..., group, class]``.

    With very many classes a table of true by predicted class is mostly empty. ``cells`` is not filled.
    """

    predicted_of: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    positives_of: Floats | None = None
    hits_of: Floats | None = None

    def __post_init__(self) -> None:
        """The shape is that of the totals."""

    @classmethod
    def of(
        cls, groups: tuple[str, ...], classes: tuple[str, ...], predicted: Floats, positives: Floats | None,
        hits: Floats | None,
    ) -> ClassTotals:  # fmt: skip
        """Take what is predicted of each class and, with a target, what is truly of it and what is both."""
        return cls(np.zeros(0), groups, classes, positives is not None, predicted, positives, hits)

    @cached_property
    def people(self) -> Floats:
        """P + N: everybody in the group, whatever the class."""
        return np.broadcast_to(self.predicted_of.sum(axis=-1, keepdims=True), self.predicted_of.shape)

    @cached_property
    def predicted(self) -> Floats:
        """TP + FP: predicted to be of the class."""
        return self.predicted_of

    @cached_property
    def positives(self) -> Floats:
        """P: truly of the class."""
        self._needs_target()
        assert self.positives_of is not None
        return self.positives_of

    @cached_property
    def true_positives(self) -> Floats:
        """TP: of the class and predicted so."""
        self._needs_target()
        assert self.hits_of is not None
        return self.hits_of

    @cached_property
    def overall(self) -> Confusion:
        """The same totals with all groups taken together."""
        together = (
            None if part is None else part.sum(axis=-2, keepdims=True)
            for part in (self.predicted_of, self.positives_of, self.hits_of)
        )
        predicted, positives, hits = together
        assert predicted is not None
        return ClassTotals.of(("everyone",), self.classes, predicted, positives, hits)


def _less(total: Floats, part: Floats) -> Floats:
    """Subtract a part from its whole. What sums of weights leave behind by rounding is nothing, not a denominator."""
    rest = total - part
    return np.where(rest <= 1e-12 * total, 0.0, rest)


def confusion(cells: object, *, groups: Sequence[str] | None = None, classes: Sequence[str] | None = None) -> Confusion:
    """Build a table from plain numbers ``[group][true class][predicted class]``."""
    table = np.asarray(cells, dtype=np.float64)
    number = [str(index) for index in range(max(table.shape[-3:]))]
    return Confusion(
        table,
        tuple(groups) if groups is not None else tuple(number[: table.shape[-3]]),
        tuple(classes) if classes is not None else tuple(number[: table.shape[-1]]),
    )


TARGET_AXIS = "target"
PREDICTION_AXIS = "prediction"
SPLIT_AXIS = "split"
CONTROL_AXIS = "control"
CLUSTER_AXIS = "cluster"
GROUP_AXIS_PREFIX = "group:"

# Which of the three sums of a cell a confusion table takes.
ROWS, WEIGHT, SQUARES = 0, 1, 2


def group_axis(attribute: str) -> str:
    """Return the name of the axis of a group column."""
    return GROUP_AXIS_PREFIX + attribute


class Counts:
    """How many rows have each (groups, true class, predicted class); one table per label of a multi-label task.

    Use it inside a validation loop::

        counts = Counts()
        for batch in loader:
            counts.update(batch.target, model(batch.x), sensitive_features={"sex": batch.sex})
        counts.compute("demographic_parity")

    ``to_dict`` and ``from_dict`` carry it between processes as plain JSON values; ``merge`` adds two of them up.
    """

    def __init__(self, tables: Mapping[Label, Cells] | None = None) -> None:
        self.tables: dict[Label, Cells] = dict(tables or {})

    @accepts(weight="sample_weight")
    def update(
        self, target: object, prediction: object, *, sensitive_features: object, sample_weight: object = None
    ) -> Counts:
        """Add a batch of rows. A target of shape (n, labels) is a multi-label batch: one table per label."""
        groups = {group_axis(name): column for name, column in as_columns(sensitive_features).items()}
        weights = None if sample_weight is None else as_weights(sample_weight)
        for label, roles in _roles(target, prediction).items():
            columns = {**roles, **groups}
            same_length({**columns, **({} if weights is None else {"sample_weight": weights})})
            coded = {
                name: classes_of(column, name) if name in roles else factorise(column)
                for name, column in columns.items()
            }
            self._add(label, Cells.from_codes(coded, weights))
        return self

    def merge(self, other: Counts) -> Counts:
        """Add the counts of another shard or rank to these."""
        for label, cells in other.tables.items():
            self._add(label, cells)
        return self

    def _add(self, label: Label, cells: Cells) -> None:
        counted = self.tables.get(label)
        first = next(iter(self.tables.values()), cells)
        if set(first.axes) == set(cells.axes):
            cells = cells.marginal(first.axes)  # the same columns in another order
        else:
            raise BadInput(
                f"These counts are over {listing(cells.axes)}, the others over {listing(first.axes)}",
                available="the same target, prediction and group columns in every batch and shard",
            )
        self.tables[label] = cells if counted is None else counted.merge(cells)

    def compute(
        self, measures: str | Sequence[str] | None = None, *, favourable: object = None
    ) -> dict[str, dict[str, float]]:
        """Return each measure for each attribute: ``{"sex": {"demographic_parity": 0.19}}``.

        By default every registered gap that counts can tell. With ``favourable`` the numbers are those of that class,
        otherwise the mean over classes.
        """
        if not self.tables:
            raise BadInput("Nothing was counted yet", help="call update() with at least one batch first.")
        names = [measures] if isinstance(measures, str) else measures
        if names is None:
            entries = [entry for entry in registry.entries("measure") if entry.details["kind"] == "gap"]
            entries = [entry for entry in entries if entry.details["needs"] in ("predictions", "counts")]
        else:
            entries = [registry.get("measure", name) for name in names]
            for entry in entries:
                if entry.details["needs"] not in ("predictions", "counts"):
                    raise BadInput(
                        f"{entry.name} needs {entry.details['needs']}, and these are counts of classes",
                        help="call the measure with arrays, or audit with score= or task='regression'.",
                    )
        return {
            attribute: {
                entry.name: self._value(entry.implementation, attribute, label_of(favourable)) for entry in entries
            }
            for attribute in self.attributes
        }

    def _value(self, measure: object, attribute: str, favourable: str | None) -> float:
        from_counts = measure.from_counts  # type: ignore[attr-defined]  # the registry holds things of every kind
        tables = [self.confusion([attribute], label=label) for label in self.tables]
        if None in self.tables:
            return float(from_counts(tables[0], favourable=favourable))
        # Multi-label: the class asked about is "the label is present"; the mean is over the labels that are defined.
        values = [float(from_counts(table, favourable=table.classes[-1])) for table in tables]
        defined = [value for value in values if not np.isnan(value)]
        return sum(defined) / len(defined) if defined else float("nan")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The group columns that were counted."""
        axes = next(iter(self.tables.values())).axes if self.tables else ()
        return tuple(axis.removeprefix(GROUP_AXIS_PREFIX) for axis in axes if axis.startswith(GROUP_AXIS_PREFIX))

    def confusion(
        self, attributes: Iterable[str], *, label: Label = None, include_missing: bool = False, column: int = WEIGHT
    ) -> Confusion:
        """Return the dense table of one attribute, or of several crossed."""
        cells = unify_booleans(self.tables[label], boolean_spellings(self.tables[label]))
        classes = class_labels(cells)
        return confusion_of(
            cells,
            list(attributes),
            include_missing=include_missing,
            column=column,
            classes=presence_classes(classes) if label is not None else classes,
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can hold."""
        return {"tables": [[label, cells.to_dict()] for label, cells in self.tables.items()]}

    @classmethod
    def from_dict(cls, state: Mapping[str, object]) -> Counts:
        """Read back what ``to_dict`` wrote, on this or another machine."""
        tables = state["tables"]
        assert isinstance(tables, list)
        return cls({label: Cells.from_dict(cells) for label, cells in tables})

    def __repr__(self) -> str:
        rows = next(iter(self.tables.values())).rows if self.tables else 0
        return f"Counts({rows:,} rows, attributes={json.dumps(self.attributes)})"


def confusion_of(
    cells: Cells,
    attributes: Sequence[str],
    *,
    include_missing: bool = False,
    column: int = WEIGHT,
    classes: Sequence[str] | None = None,
) -> Confusion:
    """Return the dense (group, true, predicted) table. Rows without a class or a group are left out."""
    axes = [group_axis(attribute) for attribute in attributes]
    combinations = group_labels(cells, attributes, include_missing=include_missing)
    names = list(classes) if classes is not None else class_labels(cells)
    has_target = TARGET_AXIS in cells.axes
    outcome = [TARGET_AXIS, PREDICTION_AXIS] if has_target else [PREDICTION_AXIS]
    table = cells.crossed(axes, combinations, outcome, [names] * len(outcome))[..., column]
    if not has_target:
        table = table[:, None, :]
    return Confusion(table, tuple(group_name(labels) for labels in combinations), tuple(names), has_target)


def group_labels(
    cells: Cells,
    attributes: Sequence[str],
    *,
    include_missing: bool = False,
    only: Collection[str] | None = None,
) -> list[tuple[Label, ...]]:
    """Return the groups of an attribute (or of several crossed) that have rows, in a person's order, missing last."""
    joint = cells.marginal([group_axis(attribute) for attribute in attributes])
    present = {
        tuple(names[code] for names, code in zip(joint.labels, codes, strict=True)) for codes in joint.codes.tolist()
    }
    listed = [labels for labels in present if include_missing or None not in labels]
    listed = [labels for labels in listed if only is None or group_name(labels) in only]
    ranks = [
        {label: rank for rank, label in enumerate([*ordered({c for c in column if c is not None}), None])}
        for column in zip(*listed, strict=True)
    ]
    return sorted(listed, key=lambda labels: [rank[label] for rank, label in zip(ranks, labels, strict=True)])


def group_name(labels: Sequence[Label]) -> str:
    """Write a group for a person; crossed groups are joined by an ampersand."""
    names = [label_text(label) for label in labels]
    if len(names) > 1:  # a name that has an ampersand of its own is kept apart by brackets
        names = [f"({name})" if " & " in name else name for name in names]
    return " & ".join(names)


def row_group_codes(axes: Mapping[str, Coded], attributes: Sequence[str], groups: Sequence[str]) -> NDArray[np.int64]:
    """Return the place of each row's group among these names; -1 where it is in none of them."""
    columns = [axes[group_axis(attribute)] for attribute in attributes]
    shape = tuple(len(column.labels) for column in columns)
    index = {group: index for index, group in enumerate(groups)}
    joint = np.ravel_multi_index(tuple(column.codes for column in columns), shape)
    present, inverse = np.unique(joint, return_inverse=True) if len(columns) > 1 else (np.arange(shape[0]), joint)
    codes = zip(*(part.tolist() for part in np.unravel_index(present, shape)), strict=True)
    names = (
        group_name([column.labels[code] for column, code in zip(columns, combination, strict=True)])
        for combination in codes
    )
    return np.array([index.get(name, -1) for name in names], dtype=np.int64)[inverse]


def class_labels(cells: Cells) -> list[str]:
    """Return every class that the target or the prediction has in rows that have both, in a person's order."""
    axes = [axis for axis in (TARGET_AXIS, PREDICTION_AXIS) if axis in cells.axes]
    for axis in axes:
        cells = cells.where(axis, [label for label in cells.axis(axis) if label is not None])
    return ordered({label for axis in axes for label in cells.axis(axis) if label is not None})


def _roles(target: object, prediction: object) -> dict[Label, dict[str, object]]:
    """Split a batch into its labels: one without a name for ordinary targets, one a column for multi-label ones."""
    targets, predictions = _matrix(target), _matrix(prediction)
    if targets is None and predictions is None:
        columns = {} if target is None else {TARGET_AXIS: as_column(target, "target")}
        return {None: {**columns, PREDICTION_AXIS: as_column(prediction, "prediction")}}
    if targets is None or predictions is None or targets.shape != predictions.shape:
        shapes = [getattr(np.asarray(item), "shape", None) for item in (target, prediction)]
        raise BadInput(
            f"The target and the prediction have the shapes {listing(shapes)}",
            available="the same shape (rows, labels) for both",
        )
    return {
        str(label_index): {TARGET_AXIS: targets[:, label_index], PREDICTION_AXIS: predictions[:, label_index]}
        for label_index in range(targets.shape[1])
    }


def _matrix(value: object) -> NDArray[np.generic] | None:
    if value is None or not hasattr(value, "ndim") or value.ndim != 2:
        return None
    array = as_array(value, "target")
    return array if array.shape[1] > 1 else None
