"""The rows that classifiers are trained and tested on: read, split, re-balanced, and what is said about the rest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.learners import Points
from equipoise.audits.downstream.rebalancing import Rebalance, rebalanced
from equipoise.audits.downstream.splits import Codes, constant_in, dealt_folds
from equipoise.cohorts.embeddings import open_embedding
from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.seeds import stream
from equipoise.foundation.text import fitting, plural
from equipoise.tallies.arrays import as_column, as_columns, same_length
from equipoise.tallies.factorise import factorise
from equipoise.tallies.labels import ordered, shown

# What a column may say of a row: whether it is trained on, chooses among settings, or is tested.
ROLES = {"true": "train", "1": "train", "train": "train", "dev": "dev", "false": "test", "0": "test", "test": "test"}


@dataclass(frozen=True, eq=False)
class Groups:
    """One attribute of the rows: codes, names in order, and whether the last is the missing one."""

    codes: Codes
    names: tuple[str, ...]
    has_missing: bool

    @property
    def compared(self) -> tuple[int, ...]:
        """Return the places of the groups that gaps are about: not the missing."""
        return tuple(range(len(self.names) - self.has_missing))

    def only(self, rows: NDArray[np.bool_]) -> Groups:
        """Keep these rows, and every name."""
        return replace(self, codes=self.codes[rows])


@dataclass(eq=False)
class Rows:
    """The rows that are used, and what is said about those that are not."""

    points: Points
    classes: Codes
    labels: tuple[str, ...]
    groups: dict[str, Groups]
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
        """The places of the dev rows: neither trained on nor tested."""
        return np.flatnonzero(self.roles == "dev") if self.roles is not None else np.empty(0, dtype=np.int64)


def groups_of(column: object, what: str) -> Groups:
    """Code one attribute's values, in the order a person would put them, the missing one last."""
    coded = factorise(as_column(column, what))
    names = ordered([label for label in coded.labels if label is not None])
    has_missing = None in coded.labels
    place = {label: number for number, label in enumerate([*names, *([None] if has_missing else [])])}
    recode = np.array([place[label] for label in coded.labels], dtype=np.int64)
    return Groups(recode[coded.codes], (*names, *([shown(None)] if has_missing else [])), has_missing)


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
        if len(part.compared) < 2:
            raise BadInput(
                f"{name} has {len(part.compared)} group{'' if len(part.compared) == 1 else 's'}",
                available="two groups or more",
                help="choose another column.",
            )
    data = Rows(matrix, truth.codes, truth.names, attributes, clusters, roles)
    if truth.has_missing:
        known = truth.codes < len(truth.names) - 1
        data.labels = truth.names[:-1]
        lost = int((~known).sum())
        data.notes.append(f"{plural(lost, 'row')} without a target {fitting(lost, 'was', 'were')} left out")
        data.keep(known)
    if len(data.labels) < 2:
        raise BadInput(f"The target has {len(data.labels)} class", available="two classes or more")
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
    """Return places to train on and places to test on, and how they were split, in words."""
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
        fold = dealt_folds(data.classes, data.clusters if apart else None, folds, stream(seed, "folds"))
        parts = [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(folds)]
        words = f"{folds} folds, classes spread evenly" + (", no cluster on both sides" if apart else "")
    for own, test in parts:
        _check_part(data, own, test)
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
    data.labels = tuple(data.labels[place] for place in kept)


def _check_part(data: Rows, own: Codes, test: Codes) -> None:
    learnt = np.unique(data.classes[own])
    if len(learnt) < 2:
        raise BadInput(
            f"A training part holds {len(learnt)} class of {len(data.labels):,}",
            available="two classes or more",
            help="use fewer folds, another train column, or no cluster.",
        )
    lacking = np.setdiff1d(data.classes[test], learnt)
    if len(lacking):
        names = listing([repr(data.labels[place]) for place in lacking], 5)
        data.notes.append(f"classes tested but missing from a training part, so never predicted there: {names}")


def training_rows(
    data: Rows, own: Codes, attribute: str | None, way: Rebalance | None, generator: np.random.Generator
) -> tuple[Codes, NDArray[np.float64] | None]:
    """Return the places to train on, re-balanced for an attribute where asked, with weights where rows are weighted."""
    if way is None or attribute is None:
        return own, None
    groups = data.groups[attribute]
    if groups.has_missing:
        known = groups.codes[own] < len(groups.names) - 1
        if not known.all():
            data.notes.append(f"rows without {attribute} were not trained on: they have no cell to balance")
        own = own[known]
    cells = data.classes[own] * len(groups.names) + groups.codes[own]
    sizes = np.unique(cells, return_counts=True)[1]
    full = len(np.unique(data.classes[own])) * len(groups.compared)
    empty = full - len(sizes)
    if empty:
        has = fitting(empty, "has no training row and stays", "have no training row and stay")
        data.notes.append(f"{plural(empty, 'cell')} of class x {attribute} {has} empty")
    data.notes.append(f"training cells of class x {attribute} had {sizes.min():,} to {sizes.max():,} rows")
    places, weights = rebalanced(cells, way, generator)
    return own[places], weights
