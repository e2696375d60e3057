"""The numbers of one trial's space: of everyone, of each group, and kept from before."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream import MACRO_MEASURES, class_pairs, macro_values, stored_classifier
from equipoise.conditions import make_condition
from equipoise.foundation.errors import BadInput, EquipoiseError
from equipoise.foundation.files import write_whole
from equipoise.measures.measure import Better, get_measure
from equipoise.studies.findings._data import Attribute, Codes, Layout, TestRows
from equipoise.studies.findings.spaces._result import EMBEDDING, NEAREST, OWN
from equipoise.studies.storage import Truth
from equipoise.studies.trial import Named, Trial
from equipoise.tallies.embedded import Embedded, Options, Space
from equipoise.tallies.labels import Coded
from equipoise.tallies.neighbours import as_points

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
        made = make_condition(condition.name, **condition.settings)
        partition = getattr(made, "partition", None)
        return None if partition is None else tuple(partition(tuple(classes), seed))
    except EquipoiseError:  # one of a plug-in that is not here
        return None


def degree_of(condition: Named) -> float | None:
    """Return how far a condition's sides lie apart; None where it has none."""
    found = condition.settings.get("degree")
    return float(found) if isinstance(found, int | float) and condition.name == "minoritised" else None


def classes_grouping(sides: tuple[str, ...], number: int, rows: TestRows) -> Grouping:
    """Group rows by the side of their class; a class that nobody trained on has none."""
    names = (MAJORITISED_CLASSES, MINORITISED_CLASSES)
    # The last place is for rows whose class is not known (-1).
    place = np.full(number + 1, -1, dtype=np.int64)
    place[: len(sides)] = [names.index(side) for side in sides]
    return Grouping(CLASSES, place[rows.target], names, MAJORITISED_CLASSES)


def columns_grouping(layout: Layout, rows: TestRows, attribute: Attribute) -> Grouping:
    """Group rows by the values of one column or several crossed; a missing value is in no group."""
    matrix, names = layout.folding(attribute)
    inside = matrix.sum(axis=0) > 0
    place = np.where(inside, matrix.argmax(axis=0), -1) if len(names) else np.full(len(layout.groups), -1)
    return Grouping(" & ".join(attribute), place[rows.group].astype(np.int64), names)


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
    found = {}
    for name in names:
        parts = name.split(".")
        if len(parts) in (4, 5) and (parts[0], parts[-1]) == ("downstream", "test"):
            found[stored_classifier(parts[1], parts[3] if len(parts) == 5 else "").source, parts[2]] = name
    return {key: found[key] for key in sorted(found, key=lambda key: (key[0], key[1] != OWN, key[1]))}


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
    _check_lengths(len(target), {"the embedding": points, **{" ".join(key): own for key, own in guesses.items()}})
    known = target >= 0
    if not known.any():
        return {}
    truth = target[known]
    labels = tuple(map(str, range(classes)))
    space = Space(as_points(points)[known], Coded(truth, labels), Options(clusters=clusters))
    everyone = Embedded(space, np.zeros(len(truth), dtype=np.int64), ("everyone",))
    overall = upstream(everyone)[:, 0]
    macro = {key: downstream(truth, own[known], np.zeros(len(truth), dtype=np.int64), 1, classes)[0]
             for key, own in guesses.items()}  # fmt: skip
    found: Values = {}
    for grouping in groupings:
        name, codes = grouping.attribute, grouping.codes[known]
        by_group = upstream(Embedded(space, codes, grouping.groups))
        for place, group in ((-1, None), *enumerate(grouping.groups)):
            own = overall if group is None else by_group[:, place]
            found |= {Key(name, group, EMBEDDING, None, m): float(v) for m, v in zip(UPSTREAM, own, strict=True)}
        for (source, training), guess in guesses.items():
            told = downstream(truth, guess[known], codes, len(grouping.groups), classes)
            for place, group in ((-1, None), *enumerate(grouping.groups)):
                own = macro[source, training] if group is None else told[place]
                found |= {
                    Key(name, group, source, training, m): float(v) for m, v in zip(MACRO_MEASURES, own, strict=True)
                }
    return found


def upstream(embedded: Embedded) -> NDArray[np.float64]:
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
    return {(NEAREST, OWN): predicted}


TEST_EMBEDDING = "embedding.test"
ENDING = ".spaces.json"


@dataclass
class Remembered:
    """Numbers of trials by key, as a file beside the store; without a path they are kept for this report only."""

    path: Path | None = None
    # The test rows that the numbers are about: a store may hold trials of several cohorts.
    rows: str = ""
    found: dict[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError, IndexError):
                self._read(json.loads(self.path.read_text(encoding="utf-8")))

    def get(self, trial: str) -> Values | None:
        """Return the numbers of a trial by its key, where they are known."""
        return self.found.get(f"{self.rows} {trial}")

    def add(self, trial: str, values: Values) -> None:
        """Keep the numbers of a trial."""
        self.found[f"{self.rows} {trial}"] = values

    def _read(self, said: Mapping[str, Any]) -> None:
        if said["made_with"] != made_with():
            return
        keys = [Key(*one) for one in said["keys"]]
        self.found = {
            trial: {keys[place]: np.nan if value is None else float(value) for place, value in own}
            for trial, own in said["trials"].items()
        }

    def save(self) -> None:
        """Write what is known. A folder that cannot be written to costs time at the next report and nothing else."""
        if self.path is None:
            return
        keys = {key: place for place, key in enumerate(dict.fromkeys(k for own in self.found.values() for k in own))}
        said = {
            "made_with": made_with(),
            "keys": list(keys),
            "trials": {
                trial: [[keys[key], None if np.isnan(value) else value] for key, value in own.items()]
                for trial, own in self.found.items()
            },
        }
        with contextlib.suppress(OSError, BadInput):
            write_whole(self.path, json.dumps(said, separators=(",", ":"), allow_nan=False), announced=False)


def made_with() -> dict[str, object]:
    """Return what numbers of the same arrays depend on: our version, and the packages that compute them."""
    return {"version": VERSION, "packages": {name: metadata.version(name) for name in ("numpy", "scikit-learn")}}


@dataclass(frozen=True, eq=False)
class KeptArrays:
    """The further arrays of a study's trials: ``read(name, place)`` returns one of a trial; None where it has none."""

    names: tuple[str, ...]
    read: Callable[[str, int], NDArray[Any] | None]
    # Of dev rows too, where a setting is chosen by them.
    truth: Truth | None = None
    remembered: Remembered = field(default_factory=Remembered)

    @property
    def has_spaces(self) -> bool:
        """Whether any trial kept the embedding of the test rows."""
        return TEST_EMBEDDING in self.names


def remembered_beside(store: Path | None, rows: str) -> Remembered:
    """Return what was computed for the trials of a store before; a database without a file remembers nothing."""
    return Remembered(None if store is None else store.with_name(store.name + ENDING), rows)
