"""The three splits that a study needs: those of the cohort, or seeded shares that the plan asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.cohort import Cohort
from equipoise.foundation.errors import BadInput, listing, nearest, unknown_name
from equipoise.foundation.seeds import stream
from equipoise.tallies.factorise import Coded, factorise
from equipoise.tallies.labels import shown

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
    and not by the order of rows; no cluster is parted. A split that is there already is kept, and asking for it again
    is refused. With ``within="class"`` the share is taken of the rows of each class: at least one of two or more, and
    never all of them.
    """
    labels = _labels(cohort)
    clusters = None if cohort.cluster is None else cluster_codes(cohort[cohort.cluster])
    classes = _classes(cohort, clusters, labels == "train") if _is_within(within, dev, test) else None
    for name, share in (("test", test), ("dev", dev)):
        if share is not None:
            labels = _taken(labels, clusters, classes, name, share, seed, cohort.name)
    _check(labels, cohort)
    return cohort if dev is None and test is None else _with_column(cohort, labels)


def _labels(cohort: Cohort) -> NDArray[np.str_]:
    if cohort.split is None:
        return np.full(len(cohort), "train")
    coded = factorise(cohort[cohort.split])
    return np.array([shown(label) for label in coded.labels])[coded.codes]


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
            f"A share is to be taken within each {within}, and no share is given",
            help="say how large it is: dev = 0.2; or leave it out.",
        )
    return within is not None


def _classes(cohort: Cohort, clusters: NDArray[np.int64] | None, train: NDArray[np.bool_]) -> Coded:
    """Return the class of each row; training rows that belong together must be of one class."""
    if cohort.task != "class":
        raise BadInput(
            f"A share is to be taken within each class, and the cohort {cohort.name!r} is a {cohort.task} task",
            help="leave it out: the share is then one of all training rows.",
        )
    coded = factorise(cohort[cohort.target])
    if clusters is not None:
        pairs = np.unique(np.stack([clusters[train], coded.codes[train]]), axis=1)
        if pairs.shape[1] > len(np.unique(clusters[train])):
            raise BadInput(
                f"A share is to be taken within each class, and rows of one {cohort.cluster} are of several classes",
                help="leave it out: the share is then one of all training rows, and no cluster is parted.",
            )
    return coded


def _taken(
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
            f"{name} = {share:g} was asked for, and the cohort {cohort!r} has a split {name!r} of its own",
            help=f"leave {name} out: the split that is there is used.",
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
    rows: NDArray[np.int64], clusters: NDArray[np.int64] | None, wanted: int, generator: np.random.Generator
) -> NDArray[np.int64]:
    if clusters is None:
        return generator.permutation(rows)[:wanted]
    return rows[_in_whole(clusters[rows], wanted, generator)]


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
    for code, own in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
        units = len(own) if clusters is None else len(np.unique(clusters[own]))
        if units < 2:  # what is one piece stays to be learnt from
            continue
        wanted = min(max(round(share * len(own)), 1), len(own) - 1)
        taken = _some(own, clusters, wanted, stream(seed, "split", name, CLASS, classes.labels[code]))
        if len(taken) == len(own):  # in whole clusters that was too many
            assert clusters is not None
            taken = taken[clusters[taken] != clusters[taken[-1]]]
        parts.append(taken)
    if not parts:
        raise BadInput(
            f"{name} = {share:g} is to be taken within each class, and none has two training rows that may be parted",
            help="leave it out: the share is then one of all training rows.",
        )
    return np.concatenate(parts)


def _in_whole(clusters: NDArray[np.int64], wanted: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the places of so many rows, cluster by cluster: of the last one all rows, though that may be too many."""
    own, sizes = np.unique(clusters, return_inverse=True, return_counts=True)[1:]
    order = generator.permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.flatnonzero(np.isin(own, order[before < wanted]))


def _check(labels: NDArray[np.str_], cohort: Cohort) -> None:
    present = list(dict.fromkeys(labels.tolist()))
    absent = [name for name in SPLITS if name not in present]
    if not absent:
        return
    similar = {name: found for name in absent if (found := _alike(name, present)) is not None}
    ways = [f"rename {found!r} to {name!r} in the column {cohort.split!r}" for name, found in similar.items()]
    shares = [name for name in absent if name != "train" and name not in similar]
    if shares:
        asked = " and ".join(f"{name} = 0.2" for name in shares)
        ways.append(f"{asked} takes a seeded share of the training rows")
    raise BadInput(
        f"The cohort {cohort.name!r} has no {listing(absent)} split"
        + (f"; its splits are {listing(present)}" if cohort.split is not None else " and no split column"),
        available="train to learn from, dev to select on, test to judge by",
        help=f"{'; '.join(ways) or 'name the split column with split='}.",
    )


def _alike(name: str, present: Sequence[str]) -> str | None:
    others = {"dev": ("validation", "valid", "val", "development"), "test": ("eval", "testing"), "train": ("training",)}
    known = [one for one in present if one.casefold() in others[name]]
    found = known[0] if known else nearest(name, [one for one in present if one not in SPLITS])
    return found


def _with_column(cohort: Cohort, labels: NDArray[np.str_]) -> Cohort:
    return replace(cohort, columns={**cohort.columns, COLUMN: labels.astype(object)}, split=COLUMN)


def rows_of(cohort: Cohort, split: str) -> NDArray[np.int64]:
    """Return the positions of a split's rows, in the order of the cohort."""
    return np.flatnonzero(_labels(cohort) == split)
