"""The numbers of spaces: of one trial (everyone and each group), kept from before, and of all trials as one array."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream import MACRO_MEASURES, class_pairs, macro_values, stored_classifier
from equipoise.conditions import make_condition
from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    Floats,
    Progress,
    write_file,
)
from equipoise.measures import (
    Better,
    get_measure,
    halves_difference,
)
from equipoise.studies.analysis import (
    Attribute,
    Codes,
    Layout,
    Measured,
    StudyData,
    TestRows,
)
from equipoise.studies.findings.spaces._result import EMBEDDING, HALVES, LARGEST, MAJORITISED, NEAREST, OWN_ROWS, Kind
from equipoise.studies.plans import Named, Trial
from equipoise.studies.storage import EvaluationLabels
from equipoise.tallies import (
    Coded,
    EmbeddingOptions,
    EmbeddingSpace,
    EmbeddingTally,
    as_points,
)

CLASSES = "classes"
MAJORITISED_CLASSES, MINORITISED_CLASSES = "majoritised", "minoritised"


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of every test row; -1 is none. ``majoritised`` is the side that others are compared with, if named."""

    attribute: str
    codes: Codes
    groups: tuple[str, ...]
    majoritised: str | None = None

    @property
    def sizes(self) -> Codes:
        """How many rows each group has."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.groups))


def groupings_of(
    trial: Trial, layout: Layout, rows: TestRows, attributes: Sequence[Attribute], classes: Sequence[str]
) -> list[Grouping]:
    """Return the groups of a trial; ``classes`` are those that were trained on."""
    sides = partition_of(trial.condition, classes, trial.seed)
    if sides is not None:
        return [classes_grouping(sides, len(layout.classes), rows)]
    return [columns_grouping(layout, rows, attribute) for attribute in attributes]


def partition_of(condition: Named, classes: Sequence[str], seed: int) -> tuple[str, ...] | None:
    """Return the side of each class where a condition has sides; None where it has none, or is not known here."""
    try:
        built = make_condition(condition.name, **condition.settings)
        partition = getattr(built, "partition", None)
        return None if partition is None else tuple(partition(tuple(classes), seed))
    except EquipoiseError:  # one of a plug-in that is not here
        return None


def degree_of(condition: Named) -> float | None:
    """Return how far a condition's sides lie apart; None where it has none."""
    degree = condition.settings.get("degree")
    return float(degree) if isinstance(degree, int | float) and condition.name == "minoritised" else None


def classes_grouping(sides: tuple[str, ...], number: int, rows: TestRows) -> Grouping:
    """Group rows by the side of their class; a class that nobody trained on has none."""
    names = (MAJORITISED_CLASSES, MINORITISED_CLASSES)
    # The last place is for rows whose class is not known (-1).
    group_of_class = np.full(number + 1, -1, dtype=np.int64)
    group_of_class[: len(sides)] = [names.index(side) for side in sides]
    return Grouping(CLASSES, group_of_class[rows.target], names, MAJORITISED_CLASSES)


def columns_grouping(layout: Layout, rows: TestRows, attribute: Attribute) -> Grouping:
    """Group rows by the values of one column or several crossed; a missing value is in no group."""
    matrix, names = layout.folding(attribute)
    inside = matrix.sum(axis=0) > 0
    group_of_cell = np.where(inside, matrix.argmax(axis=0), -1) if len(names) else np.full(len(layout.groups), -1)
    return Grouping(" & ".join(attribute), group_of_cell[rows.group].astype(np.int64), names)


# Raised when the same arrays come to have other numbers: what was computed before is then computed again.
VERSION = 1
RECALL, NMI, AMI = "recall_at_k", "normalised_mutual_information", "adjusted_mutual_information"
NMI_BY_CHANCE, UNIFORMITY = "normalised_mutual_information_by_chance", "uniformity"
UPSTREAM = (RECALL, NMI, NMI_BY_CHANCE, AMI, UNIFORMITY)
DOWNSTREAM = MACRO_MEASURES


class Key(NamedTuple):
    """What a number is: of which attribute and group (None: everyone), read from where, by which measure."""

    attribute: str
    group: str | None
    source: str
    training: str | None
    measure: str


Values = dict[Key, float]


def better_of(measure: str) -> Better:
    """Return which end of a measure is better."""
    return "high" if measure in DOWNSTREAM else get_measure(measure).better


def sources_of(names: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return the kept arrays that hold predictions of classifiers, by classifier and training rows, own rows first.

    A name without settings is what it was when they were not known: logistic regression with standardised columns.
    """
    names_by_source = {}
    for name in names:
        parts = name.split(".")
        if len(parts) in (4, 5) and (parts[0], parts[-1]) == ("downstream", "test"):
            names_by_source[stored_classifier(parts[1], parts[3] if len(parts) == 5 else "").source, parts[2]] = name
    return {
        key: names_by_source[key]
        for key in sorted(names_by_source, key=lambda key: (key[0], key[1] != OWN_ROWS, key[1]))
    }


def values_of(
    points: NDArray[Any],
    target: Codes,
    groupings: Sequence[Grouping],
    guesses: Mapping[tuple[str, str], Codes],
    *,
    classes: int,
    clusters: int | None = None,
) -> Values:
    """Return every number of one trial. ``guesses`` are by source and training rows; ``clusters`` is k of k-means."""
    _check_lengths(len(target), {"the embedding": points, **{" ".join(key): guess for key, guess in guesses.items()}})
    known_rows = target >= 0
    if not known_rows.any():
        return {}
    truth = target[known_rows]
    labels = tuple(map(str, range(classes)))
    space = EmbeddingSpace(as_points(points)[known_rows], Coded(truth, labels), EmbeddingOptions(clusters=clusters))
    everyone_tally = EmbeddingTally(space, np.zeros(len(truth), dtype=np.int64), ("everyone",))
    overall = upstream(everyone_tally)[:, 0]
    macro = {key: downstream(truth, guess[known_rows], np.zeros(len(truth), dtype=np.int64), 1, classes)[0]
             for key, guess in guesses.items()}  # fmt: skip
    values: Values = {}
    for grouping in groupings:
        name, codes = grouping.attribute, grouping.codes[known_rows]
        by_group = upstream(EmbeddingTally(space, codes, grouping.groups))
        for column, group in ((-1, None), *enumerate(grouping.groups)):
            measured = overall if group is None else by_group[:, column]
            values |= {Key(name, group, EMBEDDING, None, m): float(v) for m, v in zip(UPSTREAM, measured, strict=True)}
        for (source, training), guess in guesses.items():
            by_group_downstream = downstream(truth, guess[known_rows], codes, len(grouping.groups), classes)
            for column, group in ((-1, None), *enumerate(grouping.groups)):
                measured = macro[source, training] if group is None else by_group_downstream[column]
                values |= {
                    Key(name, group, source, training, m): float(v)
                    for m, v in zip(MACRO_MEASURES, measured, strict=True)
                }
    return values


def upstream(embedded: EmbeddingTally) -> NDArray[np.float64]:
    """Return the numbers of a space, ``[measure, group]``."""
    return np.stack([get_measure(name).by_class(embedded) for name in UPSTREAM])


def downstream(truth: Codes, guess: Codes, codes: Codes, groups: int, classes: int) -> NDArray[np.float64]:
    """Return macro precision, macro recall and accuracy, ``[group, measure]``; NaN of a group without rows."""
    inside = codes >= 0
    if not inside.any():
        return np.full((groups, len(MACRO_MEASURES)), np.nan)
    if guess.min() < 0 or guess.max() >= classes:
        raise BadInput(
            f"A classifier's predictions go from {guess.min()} to {guess.max()}",
            available=f"classes 0 to {classes - 1}",
        )
    pairs = class_pairs(truth[inside], guess[inside], classes)
    return macro_values(pairs, pairs.table(codes[inside], groups))


def _check_lengths(rows: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    for name, array in arrays.items():
        if len(array) != rows:
            raise BadInput(
                f"What a trial kept of {name} has {len(array):,} rows", available=f"the {rows:,} test rows",
                help="run these trials again: they were kept by another version of the learner.",
            )  # fmt: skip


def nearest(predicted: Codes) -> dict[tuple[str, str], Codes]:
    """Return the learner's own prediction, the class of the nearest training row, as a source."""
    return {(NEAREST, OWN_ROWS): predicted}


TEST_EMBEDDING = "embedding.test"
ENDING = ".spaces.json"


@dataclass
class ValueCache:
    """Numbers of trials by key, as a file beside the store; without a path they are kept for this report only."""

    path: Path | None = None
    # The test rows that the numbers are about: a store may hold trials of several cohorts.
    rows: str = ""
    values: dict[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError, IndexError):
                self._read(json.loads(self.path.read_text(encoding="utf-8")))

    def get(self, trial: str) -> Values | None:
        """Return the numbers of a trial by its key, where they are known."""
        return self.values.get(f"{self.rows} {trial}")

    def add(self, trial: str, values: Values) -> None:
        """Keep the numbers of a trial."""
        self.values[f"{self.rows} {trial}"] = values

    def _read(self, content: Mapping[str, Any]) -> None:
        if content["made_with"] != made_with():
            return
        keys = [Key(*fields) for fields in content["keys"]]
        self.values = {
            trial: {keys[index]: np.nan if value is None else float(value) for index, value in numbers}
            for trial, numbers in content["trials"].items()
        }

    def save(self) -> None:
        """Write what is known. A folder that cannot be written to costs time at the next report and nothing else."""
        if self.path is None:
            return
        keys = {
            key: index
            for index, key in enumerate(dict.fromkeys(k for numbers in self.values.values() for k in numbers))
        }
        content = {
            "made_with": made_with(),
            "keys": list(keys),
            "trials": {
                trial: [[keys[key], None if np.isnan(value) else value] for key, value in numbers.items()]
                for trial, numbers in self.values.items()
            },
        }
        with contextlib.suppress(OSError, BadInput):
            write_file(self.path, json.dumps(content, separators=(",", ":"), allow_nan=False), announced=False)


def made_with() -> dict[str, object]:
    """Return what numbers of the same arrays depend on: our version, and the packages that compute them."""
    return {"version": VERSION, "packages": {name: metadata.version(name) for name in ("numpy", "scikit-learn")}}


@dataclass(frozen=True, eq=False)
class StoredArrays:
    """The further arrays of a study's trials: ``read(name, place)`` returns one of a trial; None where it has none."""

    names: tuple[str, ...]
    read: Callable[[str, int], NDArray[Any] | None]
    # Of dev rows too, where a setting is chosen by them.
    labels: EvaluationLabels | None = None
    cache: ValueCache = field(default_factory=ValueCache)

    @property
    def has_spaces(self) -> bool:
        """Whether any trial kept the embedding of the test rows."""
        return TEST_EMBEDDING in self.names


def value_cache(store: Path | None, rows: str) -> ValueCache:
    """Return what was computed for the trials of a store before; a database without a file remembers nothing."""
    return ValueCache(None if store is None else store.with_name(store.name + ENDING), rows)


@dataclass(frozen=True)
class SpaceQuantity:
    """One number of a trial's space: ``kind`` says of whom; of a gap, ``group`` is compared with ``against``."""

    attribute: str
    kind: Kind
    source: str
    training: str | None
    measure: str
    group: str | None = None
    against: str | None = None
    rule: str | None = None

    @property
    def name(self) -> str:
        """What tells it from all others, for tools that know a metric by its name alone."""
        read = self.source if self.training is None else f"{self.source} ({self.training})"
        of = {"overall": "everyone", "group": str(self.group), "worst": "worst group"}.get(self.kind)
        gap = "gap of halves" if self.rule == HALVES else f"gap {self.against} - {self.group}"
        return f"{self.measure}, {read}, {self.attribute}: {of or gap}"

    @property
    def main(self) -> bool:
        """Whether it is tested: everyone, the worst group, and one gap of an attribute."""
        return self.kind in ("overall", "worst") or self.rule in (HALVES, MAJORITISED)


@dataclass(frozen=True, eq=False)
class Spaces:
    """Every number of every trial, ``values [trial, quantity]``: NaN where it is undefined or the trial has no space.

    ``trials`` are the trials that have one, by their positions in the study.
    """

    study: Measured
    trials: tuple[int, ...]
    quantities: tuple[SpaceQuantity, ...]
    values: Floats

    def quantity_index(self, **fields: object) -> int | None:
        """Return where the quantity with these fields stands."""
        for number, quantity in enumerate(self.quantities):
            if all(getattr(quantity, name) == value for name, value in fields.items()):
                return number
        return None


def training_classes(data: StudyData) -> tuple[str, ...]:
    """Return the classes that were trained on, as far as it is known; they come first among those of the layout."""
    for composition in data.compositions.values():
        return composition.classes
    return data.layout.classes


def groupings(study: Measured, index: int) -> list[Grouping]:
    """Return the groups of a trial's test rows."""
    data = study.data
    assert data.rows is not None
    return groupings_of(data.trials[index], data.layout, data.rows, study.attributes, training_classes(data))


def spaces_of(study: Measured, progress: Progress | None = None) -> Spaces | None:
    """Compute (or remember) the numbers of every trial that kept its space; None where none did."""
    data, arrays = study.data, study.data.stored_arrays
    if arrays is None or data.rows is None or not data.has_spaces:
        return None
    values_by_trial = _values_by_trial(study, arrays, progress)
    first = {
        grouping.attribute: grouping for index in reversed(values_by_trial) for grouping in groupings(study, index)
    }
    columns = _columns(values_by_trial, first)
    values = np.full((len(data), len(columns)), np.nan)
    for index, trial_values in values_by_trial.items():
        values[index] = [_value(trial_values, column, first[column.attribute].groups) for column in columns]
    return Spaces(study, tuple(values_by_trial), tuple(columns), values)


def _values_by_trial(study: Measured, arrays: StoredArrays, progress: Progress | None) -> dict[int, Values]:
    """Return the numbers of every trial that kept its space, by its place."""
    values_by_trial: dict[int, Values] = {}
    trials, new = study.data.trials, False
    try:
        for index, trial in enumerate(trials):
            trial_values = arrays.cache.get(trial.key)
            if trial_values is None:
                if progress is not None:
                    progress(f"spaces of {len(trials):,} trials", index / len(trials))
                points = arrays.read(TEST_EMBEDDING, index)
                if points is None:
                    continue
                trial_values, new = _trial_values(study, arrays, index, points), True
                arrays.cache.add(trial.key, trial_values)
            values_by_trial[index] = trial_values
    finally:
        # What was computed before an interruption is not computed again.
        if new:
            arrays.cache.save()
    return values_by_trial


def _trial_values(study: Measured, arrays: StoredArrays, index: int, points: NDArray[Any]) -> Values:
    data = study.data
    assert data.rows is not None
    guesses: dict[tuple[str, str], Codes] = {}
    predicted = data.predictions([index]) if data.predictions is not None else None
    if predicted is not None:
        guesses |= nearest(predicted[0].astype(np.int64))
    for source, name in sources_of(arrays.names).items():
        array = arrays.read(name, index)
        if array is not None:
            guesses[source] = array.astype(np.int64)
    return values_of(
        points, data.rows.target, groupings(study, index), guesses,
        classes=len(data.layout.classes), clusters=len(training_classes(data)),
    )  # fmt: skip


def _columns(values_by_trial: dict[int, Values], first: dict[str, Grouping]) -> list[SpaceQuantity]:
    """Return the quantities, in the order of attributes and measures: everyone, groups, worst group, gaps."""
    kinds = dict.fromkeys(
        (k.attribute, k.source, k.training, k.measure)
        for trial_values in values_by_trial.values()
        for k in trial_values
    )
    quantities: list[SpaceQuantity] = []
    for attribute, source, training, measure in kinds:
        grouping, overall = first[attribute], SpaceQuantity(attribute, "overall", source, training, measure)
        quantities.append(overall)
        quantities += [replace(overall, kind="group", group=group) for group in grouping.groups]
        if better_of(measure) != "none" and len(grouping.groups) > 1:
            quantities.append(replace(overall, kind="worst"))
            quantities += _gaps(grouping, replace(overall, kind="gap"))
    return quantities


def _gaps(grouping: Grouping, gap: SpaceQuantity) -> list[SpaceQuantity]:
    largest = grouping.majoritised or grouping.groups[int(grouping.sizes.argmax())]
    rule = MAJORITISED if len(grouping.groups) == 2 else LARGEST
    others = [group for group in grouping.groups if group != largest]
    gaps = [replace(gap, group=group, against=largest, rule=rule) for group in others]
    return [*gaps, replace(gap, rule=HALVES)] if rule == LARGEST else gaps


def _value(trial_values: Values, column: SpaceQuantity, groups: Sequence[str]) -> float:
    """Return one quantity of one trial; a gap is oriented: above 0 the group is worse off, whatever is better."""

    def of(group: str | None) -> float:
        return trial_values.get(Key(column.attribute, group, column.source, column.training, column.measure), np.nan)

    if column.kind in ("overall", "group"):
        return of(column.group)
    sign = -1.0 if better_of(column.measure) == "low" else 1.0
    if column.kind == "gap" and column.rule != HALVES:
        return sign * (of(column.against) - of(column.group))
    oriented = sign * np.array([of(group) for group in groups])
    # A group without rows has no value, and is in no half.
    defined = oriented[~np.isnan(oriented)]
    if column.rule == HALVES:
        return float(halves_difference(defined))
    return sign * float(defined.min()) if len(defined) else np.nan
