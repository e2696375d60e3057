"""Sums of an embedding: what alignment over all pairs and linear kernels are functions of, so that no pair is formed.

Per class and group: how many rows, their sum and the sum of their squared norms. Per group: one d x d matrix of second
moments. One pass over blocks of rows, in float64, for numpy arrays (memory-mapped ones too) and tensors by one code.
Shards add up. Sums are taken about a pivot near the points, so that an embedding far from 0 loses no digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import array_api_compat as compat
import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.text import plural
from equipoise.tallies.factorise import Coded, Codes
from equipoise.tallies.labels import Label

Floats = NDArray[np.float64]
# An array of any library that the array API covers, in float64.
Sums = Any

# Numbers in a block: small enough to stay in the cache of a core.
BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums about ``pivot``. A cell is a class and a group that occur together; cells without rows are not kept.

    ``cells`` has a pair of codes (class, group) a row; ``number``, ``total`` and ``square`` are their sums. ``second``
    is ``[group, d, d]``, or None where it was not asked for. Sums stay where the points are: on the host or a device.
    """

    cells: Codes
    number: Floats
    total: Sums
    square: Sums
    second: Sums | None
    pivot: Sums
    classes: tuple[Label, ...]
    groups: tuple[Label, ...]

    @classmethod
    def of(
        cls,
        points: Any,
        classes: Coded,
        groups: Coded,
        *,
        norms: Floats | None = None,
        pivot: Any = None,
        second: bool = True,
    ) -> Moments:
        """Sum the rows of ``points`` ``[n, d]`` in one pass. A negative code leaves its row out.

        With ``norms`` each row is divided by its own first. Without a ``pivot`` it is the mean of the first block.
        ``second=False`` leaves out the d x d matrices, which are most of the work.
        """
        if not len(points) == len(classes) == len(groups):
            raise BadInput(
                f"There are {plural(len(points), 'point')}, {plural(len(classes), 'class', 'classes')} and "
                f"{plural(len(groups), 'group')}",
                available="one class and one group per point",
            )
        xp, like = _home(points)
        rows, width = points.shape
        step = max(1, BLOCK // max(width, 1))
        known = (classes.codes >= 0) & (groups.codes >= 0)
        number_of_groups = len(groups.labels)
        kept, cell_of = _cells(classes.codes * number_of_groups + groups.codes, known)
        if pivot is None:
            pivot = xp.mean(_block(points, norms, 0, step), axis=0) if rows else xp.zeros(width, **like)
        pivot = xp.asarray(pivot, **like)
        total, square = xp.zeros((len(kept), width), **like), xp.zeros((len(kept), 1), **like)
        matrices = xp.zeros((number_of_groups, width, width), **like) if second else None
        room = np.empty((min(step, rows), width)) if isinstance(points, np.ndarray) else None
        for start in range(0, rows, step):
            block, here = _shifted(points, norms, start, step, pivot, room), cell_of[start : start + step]
            if (here < 0).any():
                block, here = _rows(block, here >= 0), here[here >= 0]
            _add(total, here, block)
            _add(square, here, xp.vecdot(block, block)[:, None])
            if matrices is not None:
                _add_second(matrices, kept[here] % number_of_groups, block)
        return cls(
            cells=np.stack([kept // number_of_groups, kept % number_of_groups], axis=1).reshape(-1, 2),
            number=np.bincount(cell_of[known], minlength=len(kept)).astype(np.float64),
            total=total,
            square=square[:, 0],
            second=matrices,
            pivot=pivot,
            classes=classes.labels,
            groups=groups.labels,
        )

    def by_group(self) -> tuple[Sums, Sums]:
        """Return each group's sum ``[group, d]`` and number of rows ``[group]``."""
        xp, like = _home(self.total)
        sums = xp.zeros((len(self.groups), self.total.shape[1]), **like)
        _add(sums, self.cells[:, 1], self.total)
        sizes = np.bincount(self.cells[:, 1], weights=self.number, minlength=len(self.groups))
        return sums, xp.asarray(sizes, **like)

    def about(self, pivot: Any) -> Moments:
        """Return the same sums about another point: about 0 they are those of the points themselves."""
        xp, like = _home(self.total)
        pivot = xp.asarray(pivot, **like)
        shift, number = self.pivot - pivot, xp.asarray(self.number, **like)
        square = self.square + 2 * (self.total @ shift) + number * (shift @ shift)
        second = self.second
        if second is not None:
            sums, sizes = self.by_group()
            cross = sums[:, :, None] * shift[None, None, :]
            second = second + cross + xp.matrix_transpose(cross)
            second = second + sizes[:, None, None] * (shift[:, None] * shift[None, :])
        return replace(self, total=self.total + number[:, None] * shift, square=square, second=second, pivot=pivot)

    def merge(self, other: Moments) -> Moments:
        """Add another shard's sums; classes and groups that only one of them knows are kept."""
        if self.total.shape[1] != other.total.shape[1]:
            raise BadInput(
                f"One shard has {plural(self.total.shape[1], 'dimension')} and the other {other.total.shape[1]:,}",
                available="shards of one embedding",
            )
        if (self.second is None) != (other.second is None):
            raise BadInput("Only one of the shards has second moments", help="sum both with the same second=.")
        xp, like = _home(self.total)
        shards = (self, other.about(self.pivot))
        classes, groups = _united(self.classes, other.classes), _united(self.groups, other.groups)
        cells = np.concatenate([_recoded(shard, classes, groups) for shard in shards])
        kept, places = np.unique(cells, axis=0, return_inverse=True)
        total, square = xp.zeros((len(kept), self.total.shape[1]), **like), xp.zeros((len(kept), 1), **like)
        _add(total, places.reshape(-1), xp.concat([shard.total for shard in shards]))
        _add(square, places.reshape(-1), xp.concat([shard.square for shard in shards])[:, None])
        second = None
        if self.second is not None:
            second = xp.zeros((len(groups), *self.second.shape[1:]), **like)
            for shard in shards:
                second[[groups[label] for label in shard.groups]] += shard.second
        return replace(
            self,
            cells=kept,
            number=np.bincount(
                places.reshape(-1), weights=np.concatenate([shard.number for shard in shards]), minlength=len(kept)
            ).astype(np.float64),
            total=total,
            square=square[:, 0],
            second=second,
            classes=tuple(classes),
            groups=tuple(groups),
        )


def _home(array: Any) -> tuple[Any, dict[str, Any]]:
    """Return the library of an array, and what makes float64 arrays beside it."""
    xp = compat.array_namespace(array)
    return xp, {"dtype": xp.float64, "device": compat.device(array)}


def _block(points: Any, norms: Floats | None, start: int, step: int) -> Sums:
    xp, like = _home(points)
    block = xp.astype(xp.asarray(points[start : start + step]), xp.float64, copy=False)
    return block if norms is None else block / xp.asarray(norms[start : start + step], **like)[:, None]


def _shifted(points: Any, norms: Floats | None, start: int, step: int, pivot: Sums, room: Floats | None) -> Sums:
    """Return a block of rows about the pivot; on the host in the same room each time, which spares most of the time."""
    if room is None:
        return _block(points, norms, start, step) - pivot
    block = points[start : start + step] if norms is None else _block(points, norms, start, step)
    return np.subtract(block, pivot, out=room[: len(block)])


def _cells(codes: Codes, known: NDArray[np.bool_]) -> tuple[Codes, Codes]:
    """Return the codes that occur, and each row's place among them (-1 where the row is not known)."""
    cell_of = np.full(len(codes), -1, dtype=np.int64)
    used = codes if known.all() else codes[known]
    highest = int(used.max(initial=-1))
    if highest < 8 * len(codes):  # counting is faster than sorting where there are few empty cells
        kept = np.flatnonzero(np.bincount(used, minlength=highest + 1))
        place = np.zeros(highest + 1, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        cell_of[known] = place[used]
    else:
        kept, places = np.unique(used, return_inverse=True)
        cell_of[known] = places.reshape(-1)
    return kept, cell_of


def _rows(block: Sums, chosen: NDArray[np.bool_]) -> Sums:
    xp = compat.array_namespace(block)
    return xp.take(block, xp.asarray(np.flatnonzero(chosen), device=compat.device(block)), axis=0)


def _add(sums: Sums, places: Codes, rows: Sums) -> None:
    """Add each row to the sum at its place."""
    if compat.is_torch_array(sums):
        xp = compat.array_namespace(sums)
        sums.index_add_(0, xp.asarray(places, device=compat.device(sums)), rows)
        return
    from scipy import sparse

    # A sparse matrix of ones adds rows up in the order they are read; np.add.at takes ten times as long.
    ones, columns = np.ones(len(places)), np.arange(len(places) + 1)
    if len(sums) <= len(places):
        sums += sparse.csc_array((ones, places, columns), shape=(len(sums), len(places))) @ rows
        return
    local, where = np.unique(places, return_inverse=True)
    sums[local] += sparse.csc_array((ones, where.reshape(-1), columns), shape=(len(local), len(places))) @ rows


def _add_second(matrices: Sums, groups: Codes, block: Sums) -> None:
    xp = compat.array_namespace(block)
    present = np.unique(groups).tolist()
    for place in present:
        rows = block if len(present) == 1 else _rows(block, groups == place)
        matrices[place, ...] += xp.matrix_transpose(rows) @ rows


def _united(first: tuple[Label, ...], second: tuple[Label, ...]) -> dict[Label, int]:
    return {label: place for place, label in enumerate(dict.fromkeys([*first, *second]))}


def _recoded(shard: Moments, classes: dict[Label, int], groups: dict[Label, int]) -> Codes:
    by_class = np.array([classes[label] for label in shard.classes], dtype=np.int64)
    by_group = np.array([groups[label] for label in shard.groups], dtype=np.int64)
    return np.stack([by_class[shard.cells[:, 0]], by_group[shard.cells[:, 1]]], axis=1)
