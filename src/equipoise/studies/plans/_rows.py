"""The rows of a study: the fingerprint of its data, the three splits, and the training rows of every trial."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import QUARTILES, Cohort
from equipoise.conditions import (
    Condition,
    Feasibility,
    SeededCondition,
    TrainingCells,
    apportion,
    by_class,
    for_seed,
    largest_size,
    partition_of,
    sizing_shares,
)
from equipoise.foundation import (
    BadInput,
    fingerprint_of,
    listing,
    nearest,
    stream,
    unknown_name,
)
from equipoise.studies.plans._naming import BadPlan
from equipoise.tallies import (
    Coded,
    factorise,
    label_text,
)
from equipoise.training import Codes, EncodedDataset


def trained_fingerprint(cohort: Cohort) -> str:
    """Name what a trial is trained and judged on: features, target, groups and splits, row by row."""
    assert cohort.split is not None, "splits are decided first"
    # Quarters were there first, and do not change a name.
    cut = [] if cohort.quantiles == QUARTILES else [f"quantiles {cohort.quantiles}".encode()]
    parts = [cohort.task.encode(), *cut, *(name.encode() for name in (*cohort.target_columns, *cohort.groups))]
    columns = dict.fromkeys((*cohort.features, *cohort.target_columns, *cohort.groups))
    # The splits by what they are, not by the name of the column they stand in.
    return fingerprint_of([*parts, *_columns(cohort, columns), *_values(cohort[cohort.split])])


# Columns of these that are no features stay as they are.
LISTS = (list, tuple, set, frozenset, dict, np.ndarray)


def data_fingerprint(cohort: Cohort) -> str:
    """Name all columns that a cohort came with, so that a file that changed under its name is noticed."""
    return fingerprint_of(_columns(cohort, cohort.columns))


def _columns(cohort: Cohort, names: Iterable[str]) -> Iterable[bytes]:
    for name in names:
        yield name.encode("utf-8", "surrogatepass")
        yield from _values(cohort[name])


def _values(column: NDArray[Any]) -> Iterable[bytes]:
    """Give the values in one spelling: numbers as float64, everything else as sorted labels and codes into them.

    Of pictures the bytes themselves are hashed: as float64 they would take eight times the memory.
    """
    array = np.asarray(column)
    if array.ndim > 1:
        yield str(array.shape).encode()
    if array.ndim > 2 and array.dtype == np.uint8:
        yield b"pictures"
        yield hashlib.sha256(np.ascontiguousarray(array).data).digest()
        return
    if array.dtype.kind in "iuf" or (array.dtype.kind == "O" and array.ndim == 1 and _all_numbers(array)):
        yield b"numbers"
        # None becomes NaN.
        yield (np.array(array.tolist(), dtype="<f8") if array.dtype.kind == "O" else array.astype("<f8")).tobytes()
        return
    if array.dtype.kind == "O" and any(isinstance(value, LISTS) for value in array.flat):
        yield b"lists"
        for value in array.flat:
            yield repr(_listed(value)).encode("utf-8", "surrogatepass")
        return
    yield b"labels"
    coded = factorise(array.reshape(-1))
    order = sorted(range(len(coded.labels)), key=lambda place: (coded.labels[place] is not None, coded.labels[place]))
    ranks = np.empty(len(order), dtype="<i8")
    ranks[order] = np.arange(len(order))
    for index in order:
        label = coded.labels[index]
        yield b"" if label is None else b"=" + label.encode("utf-8", "surrogatepass")
    yield ranks[coded.codes].tobytes()


def _listed(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value


def _all_numbers(array: NDArray[Any]) -> bool:
    kinds = set(map(type, array.tolist())) - {type(None)}
    return bool(kinds) and kinds <= {int, float}


SPLITS = ("train", "dev", "test")
# The column that is added where a share is taken; a cohort's own columns are left as they are.
COLUMN = "split of the study"
CLASS = "class"


def with_splits(
    cohort: Cohort,
    *,
    dev: float | None = None,
    test: float | None = None,
    seed: int = 0,
    within: Literal["class"] | None = None,
) -> Cohort:
    """Return a cohort that has the splits train, dev and test.

    ``test`` and then ``dev`` are shares of the training rows (of all rows, where there is no split), chosen by the seed
    and not by the order of rows; no cluster is split. A split that is there already is kept, and asking for it again
    is refused. With ``within="class"`` the share is taken of the rows of each class: at least one of two or more, and
    never all of them.
    """
    labels = _labels(cohort)
    clusters = None if cohort.cluster is None else cluster_codes(cohort[cohort.cluster])
    classes = _classes(cohort, clusters, labels == "train") if _is_within(within, dev, test) else None
    for name, share in (("test", test), ("dev", dev)):
        if share is not None:
            labels = _with_split(labels, clusters, classes, name, share, seed, cohort.name)
    _check(labels, cohort)
    return cohort if dev is None and test is None else _with_column(cohort, labels)


def _labels(cohort: Cohort) -> NDArray[np.str_]:
    if cohort.split is None:
        return np.full(len(cohort), "train")
    coded = factorise(cohort[cohort.split])
    return np.array([label_text(label) for label in coded.labels])[coded.codes]


def cluster_codes(column: NDArray[Any]) -> NDArray[np.int64]:
    """Number the clusters of rows; a row without one is a cluster of its own."""
    coded = factorise(column)
    codes: NDArray[np.int64] = coded.codes.copy()
    if None in coded.labels:
        missing = np.flatnonzero(codes == coded.labels.index(None))
        codes[missing] = len(coded.labels) + np.arange(len(missing))
    return codes


def _is_within(within: str | None, dev: float | None, test: float | None) -> bool:
    if within not in (None, CLASS):
        raise unknown_name("within", str(within), (CLASS,), "the splits of a study")
    if within is not None and dev is None and test is None:
        raise BadInput(
            f"A share within each {within} was requested, and no share is given",
            help="say how large it is: dev = 0.2; or leave it out.",
        )
    return within is not None


def _classes(cohort: Cohort, clusters: NDArray[np.int64] | None, train: NDArray[np.bool_]) -> Coded:
    """Return the class of each row; training rows that belong together must be of one class."""
    if cohort.task != "class":
        raise BadInput(
            f"A share within each class was requested, and the cohort {cohort.name!r} is a {cohort.task} task",
            help="leave it out: the share is then of all training rows.",
        )
    coded = factorise(cohort[cohort.target])
    if clusters is not None:
        pairs = np.unique(np.stack([clusters[train], coded.codes[train]]), axis=1)
        if pairs.shape[1] > len(np.unique(clusters[train])):
            raise BadInput(
                f"A share within each class was requested, and one {cohort.cluster} has rows of several classes",
                help="leave it out: the share is then of all training rows, and no cluster is split.",
            )
    return coded


def _with_split(
    labels: NDArray[np.str_],
    clusters: NDArray[np.int64] | None,
    classes: Coded | None,
    name: str,
    share: float,
    seed: int,
    cohort: str,
) -> NDArray[np.str_]:
    """Rename a seeded share of the training rows."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise BadInput(
            f"{name} is {share!r}", available=f"the share of training rows that becomes the {name} split: 0.2"
        )
    if name in labels:
        raise BadInput(
            f"{name} = {share:g} was given, and the cohort {cohort!r} already has a split {name!r}",
            help=f"leave {name} out: the existing split is used.",
        )
    rows = np.flatnonzero(labels == "train")
    if classes is not None:
        chosen = _of_classes(rows, clusters, classes, share, seed, name)
    else:
        chosen = _some(rows, clusters, max(round(share * len(rows)), 1), stream(seed, "split", name))
    # Wide enough for the longer of the names.
    renamed = labels.astype(f"<U{max(labels.itemsize // 4, len(name))}")
    renamed[chosen] = name
    return renamed


def _some(
    rows: NDArray[np.int64], clusters: NDArray[np.int64] | None, number: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    if clusters is None:
        return generator.permutation(rows)[:number]
    return rows[_in_whole(clusters[rows], number, generator)]


def _of_classes(
    rows: NDArray[np.int64],
    clusters: NDArray[np.int64] | None,
    classes: Coded,
    share: float,
    seed: int,
    name: str,
) -> NDArray[np.int64]:
    """Choose a share of the rows of each class, by a stream of its own: no class moves what another gives."""
    order = rows[np.argsort(classes.codes[rows], kind="stable")]
    present, starts = np.unique(classes.codes[order], return_index=True)
    parts = []
    for code, class_rows in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
        units = len(class_rows) if clusters is None else len(np.unique(clusters[class_rows]))
        if units < 2:  # what is one piece stays to be learnt from
            continue
        number = min(max(round(share * len(class_rows)), 1), len(class_rows) - 1)
        chosen = _some(class_rows, clusters, number, stream(seed, "split", name, CLASS, classes.labels[code]))
        if len(chosen) == len(class_rows):  # in whole clusters that was too many
            assert clusters is not None
            chosen = chosen[clusters[chosen] != clusters[chosen[-1]]]
        parts.append(chosen)
    if not parts:
        raise BadInput(
            f"{name} = {share:g} is to be taken within each class, and none has two separable training rows",
            help="leave it out: the share is then of all training rows.",
        )
    return np.concatenate(parts)


def _in_whole(clusters: NDArray[np.int64], number: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the places of so many rows, cluster by cluster: of the last one all rows, though that may be too many."""
    cluster_of_row, sizes = np.unique(clusters, return_inverse=True, return_counts=True)[1:]
    order = generator.permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.flatnonzero(np.isin(cluster_of_row, order[before < number]))


def _check(labels: NDArray[np.str_], cohort: Cohort) -> None:
    present = list(dict.fromkeys(labels.tolist()))
    absent = [name for name in SPLITS if name not in present]
    if not absent:
        return
    similar = {name: existing for name in absent if (existing := _similar_split(name, present)) is not None}
    ways = [f"rename {existing!r} to {name!r} in the column {cohort.split!r}" for name, existing in similar.items()]
    shares = [name for name in absent if name != "train" and name not in similar]
    if shares:
        requested = " and ".join(f"{name} = 0.2" for name in shares)
        ways.append(f"{requested} takes a seeded share of the training rows")
    raise BadInput(
        f"The cohort {cohort.name!r} has no {listing(absent)} split"
        + (f"; its splits are {listing(present)}" if cohort.split is not None else " and no split column"),
        available="train to learn from, dev to select on, test to evaluate on",
        help=f"{'; '.join(ways) or 'name the split column with split='}.",
    )


def _similar_split(name: str, present: Sequence[str]) -> str | None:
    others = {"dev": ("validation", "valid", "val", "development"), "test": ("eval", "testing"), "train": ("training",)}
    conventional = [split for split in present if split.casefold() in others[name]]
    alike = conventional[0] if conventional else nearest(name, [split for split in present if split not in SPLITS])
    return alike


def _with_column(cohort: Cohort, labels: NDArray[np.str_]) -> Cohort:
    return replace(cohort, columns={**cohort.columns, COLUMN: labels.astype(object)}, split=COLUMN)


def rows_of(cohort: Cohort, split: str) -> NDArray[np.int64]:
    """Return the positions of a split's rows, in the order of the cohort."""
    return np.flatnonzero(_labels(cohort) == split)


@dataclass(frozen=True, eq=False)
class Drawing:
    """Training rows by class (or quarter, in a regression) and group, and the conditions that will be compared."""

    dataset: EncodedDataset
    conditions: Sequence[Condition]
    requested_size: int | None = None

    @cached_property
    def cells(self) -> TrainingCells:
        """The training rows by class (or quarter) and group, below 0 where they have none."""
        train = self.dataset.train
        assert train.cell is not None
        assert train.group is not None
        names = (tuple(self.dataset.classes), tuple(self.dataset.groups))
        return TrainingCells(np.arange(len(train.cell)), train.cell, train.group, *names)

    def _shares(self, condition: Condition, seed: int | None = None) -> NDArray[np.float64]:
        """Return the shares that a condition wants with a seed; without one, those by which sizes are found."""
        cells = self.cells
        try:
            if seed is None:
                return sizing_shares(condition, cells.counts, cells.classes, cells.groups)
            return cells.probabilities(for_seed(condition, seed))
        except BadInput as error:
            refusal = BadInput(f"The condition {condition}: {error.given}", available=error.available, help=error.help)
            raise BadPlan(refusal, ("conditions",)) from error

    @cached_property
    def largest(self) -> int:
        """The largest size at which no row is repeated under any of the conditions, with any seed."""
        return largest_size(self.cells.counts, [self._shares(condition) for condition in self.conditions])

    @property
    def size(self) -> int:
        """How many training rows every condition draws."""
        return self.largest if self.requested_size is None else self.requested_size

    def feasibility(self, index: int) -> Feasibility:
        """Say what one condition asks of the data (that of seed 0, where the seed has a say)."""
        condition = self.conditions[index]
        return self.cells.feasibility(condition, self._shares(condition, 0), self.size, self.largest)

    def rows(self, index: int, seed: int) -> Codes:
        """Draw the rows of one condition and seed, as positions among the training rows; an empty cell is refused."""
        condition = self.conditions[index]
        return self.cells.draw(condition, self._shares(condition, seed), seed, self.size or None, self.largest).rows

    def first_equal(self, seeds: Sequence[int]) -> list[int]:
        """Return for each condition the place of the first that draws the same rows with all of these seeds.

        Rows of a cell stand in an order that hangs on the seed and the cell alone, so equal numbers in all cells are
        equal rows. What cannot be drawn is like nothing else.
        """
        firsts: dict[object, int] = {}
        return [
            firsts.setdefault(self._drawing_key(index, seeds) if self._can_draw(index) else index, index)
            for index in range(len(self.conditions))
        ]

    def _can_draw(self, index: int) -> bool:
        return self.size > 0 and self.feasibility(index).feasible

    def _drawing_key(self, index: int, seeds: Sequence[int]) -> tuple[object, ...]:
        """Return what settles the rows of a condition: how many of each cell and how classes are parted, by seed."""
        condition = self.conditions[index]
        seeded = isinstance(condition, SeededCondition)
        by_seed = [
            (
                apportion(self._shares(condition, seed), self.size, by_class=by_class(condition)).tobytes(),
                self.partition(index, seed),
            )
            for seed in (seeds if seeded else seeds[:1])
        ]
        return tuple(by_seed if seeded else by_seed * len(seeds))

    def partition(self, index: int, seed: int) -> tuple[str, ...] | None:
        """Say for every class of the dataset what one condition and seed make of it; None where it parts none."""
        return partition_of(self.conditions[index], self.dataset.classes, seed)
