"""The rows that classifiers are trained and tested on: read, split into parts or folds, and re-balanced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._units import Attribute, Codes, constant_in, most_common
from equipoise.cohorts.embeddings import open_embedding
from equipoise.foundation.arrays import as_column, as_columns, same_length
from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.reproducibility import stream
from equipoise.foundation.text import fitting, plural
from equipoise.tallies.labels import factorise, shown

Floats = NDArray[np.float64]
Points = NDArray[Any]
Rebalance = Literal["up", "down", "weights"]
REBALANCED: dict[Rebalance, str] = {
    "up": "re-balanced by up-sampling",
    "down": "re-balanced by down-sampling",
    "weights": "re-balanced by weights",
}
# What a column may say of a row: whether it is trained on, chooses among settings, or is tested.
ROLES = {"true": "train", "1": "train", "train": "train", "dev": "dev", "false": "test", "0": "test", "test": "test"}


@dataclass(eq=False)
class Rows:
    """The rows that are used, and notes on those that are not."""

    points: Points
    classes: Codes
    labels: tuple[str, ...]
    groups: dict[str, Attribute]
    clusters: Codes | None
    roles: NDArray[np.str_] | None
    notes: list[str] = field(default_factory=list)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Leave out all other rows."""
        self.points, self.classes = self.points[rows], self.classes[rows]
        self.groups = {name: groups.only(rows) for name, groups in self.groups.items()}
        self.clusters = None if self.clusters is None else self.clusters[rows]
        self.roles = None if self.roles is None else self.roles[rows]

    @property
    def dev(self) -> Codes:
        """The indices of the dev rows: neither trained on nor tested."""
        return np.flatnonzero(self.roles == "dev") if self.roles is not None else np.empty(0, dtype=np.int64)


def groups_of(column: object, name: str) -> Attribute:
    """Code one attribute's values."""
    coded = factorise(as_column(column, name))
    return Attribute.of(name, coded.codes, coded.labels)


def read_rows(points: object, target: object, groups: object, cluster: object, train: object) -> Rows:
    """Read what was given; rows without a target are left out."""
    matrix = open_embedding(points, name="the embedding").numbers()
    attributes = {name: groups_of(column, name) for name, column in as_columns(groups, "groups").items()}
    truth = groups_of(target, "the target")
    clusters = None if cluster is None else factorise(as_column(cluster, "cluster")).codes
    roles = None if train is None else roles_of(train)
    columns: dict[str, NDArray[Any]] = {"points": matrix, "target": truth.codes} | {
        name: part.codes for name, part in attributes.items()
    }
    columns |= {} if clusters is None else {"cluster": clusters}
    columns |= {} if roles is None else {"train": roles}
    same_length(columns)
    for name, part in attributes.items():
        if len(part.tested()) < 2:
            raise BadInput(
                f"{name} has {plural(len(part.tested()), 'group')}",
                available="two groups or more",
                help="choose another column.",
            )
    data = Rows(matrix, truth.codes, truth.groups, attributes, clusters, roles)
    if truth.has_missing:
        known = truth.codes < len(truth.groups) - 1
        data.labels = truth.groups[:-1]
        lost = int((~known).sum())
        data.notes.append(f"{plural(lost, 'row')} without a target {fitting(lost, 'was', 'were')} left out")
        data.keep(known)
    if len(data.labels) < 2:
        raise BadInput(
            f"The target has {plural(len(data.labels), 'class', 'classes')}", available="two classes or more"
        )
    return data


def roles_of(column: object) -> NDArray[np.str_]:
    """Return what each row is for, ``"train"``, ``"dev"`` or ``"test"``, of a column of these or of true and false."""
    values = factorise(as_column(column, "train"))
    roles = [None if label is None else ROLES.get(label.lower()) for label in values.labels]
    if None in roles:
        raise BadInput(
            f"The train column has the value {shown(values.labels[roles.index(None)])!r}",
            available="true (train on the row) or false (test on it), 1 or 0; or train, dev and test; none missing",
        )
    return np.array(roles)[values.codes]


def split_rows(data: Rows, folds: int, seed: int) -> tuple[list[tuple[Codes, Codes]], str]:
    """Return the rows to train on and to test on of each part, and a description of the split."""
    if data.roles is not None:
        parts = [(np.flatnonzero(data.roles == "train"), np.flatnonzero(data.roles == "test"))]
        dev = f", {len(data.dev):,} dev rows" if len(data.dev) else ""
        sizes = f"{len(parts[0][0]):,} rows to train on, {len(parts[0][1]):,} to test on{dev}"
        words = f"as given: {sizes}"
        if not len(parts[0][0]) or not len(parts[0][1]):
            raise BadInput(f"train leaves {sizes}", available="some of both")
    else:
        apart = data.clusters is not None and not constant_in(data.classes, data.clusters)
        if not apart:
            _leave_out_single_rows(data)
        fold = stratified_folds(data.classes, data.clusters if apart else None, folds, stream(seed, "folds"))
        parts = [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(folds)]
        words = f"{folds} folds, classes spread evenly" + (", no cluster on both sides" if apart else "")
    for training, test in parts:
        _check_part(data, training, test)
    if data.clusters is not None and data.roles is not None and not constant_in(data.classes, data.clusters):
        both = np.intersect1d(data.clusters[parts[0][0]], data.clusters[parts[0][1]])
        if len(both):
            clusters = plural(len(both), "cluster is", "clusters are")
            data.notes.append(f"{clusters} on both sides of the split that was given")
    return parts, words


def _leave_out_single_rows(data: Rows) -> None:
    """A class of one row cannot be both learnt and tested."""
    sizes = np.bincount(data.classes, minlength=len(data.labels))
    if not (sizes == 1).any():
        return
    alone = plural(int((sizes == 1).sum()), "class with one row was", "classes with one row each were")
    data.notes.append(f"{alone} left out: nothing to learn from")
    data.keep(sizes[data.classes] > 1)
    kept = np.flatnonzero(sizes > 1)
    if len(kept) < 2:
        raise BadInput("Fewer than two classes have two rows or more", available="two such classes or more")
    data.classes = np.searchsorted(kept, data.classes)
    data.labels = tuple(data.labels[code] for code in kept)


def _check_part(data: Rows, training: Codes, test: Codes) -> None:
    learnt = np.unique(data.classes[training])
    if len(learnt) < 2:
        raise BadInput(
            f"A training part holds {len(learnt)} class of {len(data.labels):,}",
            available="two classes or more",
            help="use fewer folds, another train column, or no cluster.",
        )
    lacking = np.setdiff1d(data.classes[test], learnt)
    if len(lacking):
        names = listing([repr(data.labels[code]) for code in lacking], 5)
        data.notes.append(f"classes tested but missing from a training part, so never predicted there: {names}")


def training_rows(
    data: Rows, training: Codes, attribute: str | None, method: Rebalance | None, generator: np.random.Generator
) -> tuple[Codes, Floats | None]:
    """Return the rows to train on, re-balanced for an attribute where asked, with weights where rows are weighted."""
    if method is None or attribute is None:
        return training, None
    groups = data.groups[attribute]
    if groups.has_missing:
        known = groups.codes[training] < len(groups.groups) - 1
        if not known.all():
            data.notes.append(f"rows without {attribute} were not trained on: they have no cell to balance")
        training = training[known]
    cells = data.classes[training] * len(groups.groups) + groups.codes[training]
    sizes = np.unique(cells, return_counts=True)[1]
    empty = len(np.unique(data.classes[training])) * len(groups.tested()) - len(sizes)
    if empty:
        has = fitting(empty, "has no training row and stays", "have no training row and stay")
        data.notes.append(f"{plural(empty, 'cell')} of class x {attribute} {has} empty")
    data.notes.append(f"training cells of class x {attribute} had {sizes.min():,} to {sizes.max():,} rows")
    chosen, weights = rebalanced(cells, method, generator)
    return training[chosen], weights


def rebalancing(given: bool | str) -> Rebalance | None:
    """Return the method of re-balancing: True is ``"up"``, which every learner can take and which loses nobody."""
    if given is False:
        return None
    for method in REBALANCED:
        if given == method or (given is True and method == "up"):
            return method
    raise BadInput(f"rebalance was {given!r}", available="False, True (the same as 'up'), 'up', 'down', 'weights'")


def rebalanced(cells: Codes, method: Rebalance, generator: np.random.Generator) -> tuple[Codes, Floats | None]:
    """Return which of the rows in ``cells`` (a class x group each) to train on, with weights if rows are weighted.

    Up: every row, and random repeats until each cell is as large as the largest. Down: a random part of each cell, as
    large as the smallest. A cell without rows stays without.
    """
    _, codes, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    if method == "weights":
        return np.arange(len(cells)), len(cells) / (len(sizes) * sizes[codes])
    parts = []
    for cell in range(len(sizes)):
        rows = np.flatnonzero(codes == cell)
        if method == "down":
            parts.append(generator.choice(rows, int(sizes.min()), replace=False))
        else:
            parts += [rows, generator.choice(rows, int(sizes.max() - sizes[cell]), replace=True)]
    return np.sort(np.concatenate(parts)).astype(np.int64), None


def stratified_folds(classes: Codes, units: Codes | None, folds: int, generator: np.random.Generator) -> Codes:
    """Return each row's fold: every row is tested once, classes are spread evenly, and no unit is parted.

    Units are sorted by class, then size, then chance, and assigned to the folds in turn. A class of no more units than
    folds so has each of them in a fold of its own. A unit with several classes counts as of the class that most of its
    rows have.
    """
    unit_of_row = np.arange(len(classes)) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    number = int(unit_of_row.max()) + 1 if len(unit_of_row) else 0
    if not 2 <= folds <= number:
        kind = "rows" if units is None else "clusters"
        raise BadInput(
            f"folds is {folds:,} and there are {number:,} {kind}", available=f"2 to {max(number, 2):,} folds"
        )
    sizes = np.bincount(unit_of_row, minlength=number)
    order = np.lexsort((generator.random(number), -sizes, most_common(unit_of_row, classes, number)))
    fold_of_unit = np.empty(number, dtype=np.int64)
    fold_of_unit[order] = np.arange(number) % folds
    return fold_of_unit[unit_of_row]
