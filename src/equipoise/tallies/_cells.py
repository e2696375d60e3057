"""The joint count table: how many rows, and how much weight, each observed combination of labels has."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import Floats, fingerprint_of
from equipoise.tallies._labels import (
    Coded,
    Label,
)

if TYPE_CHECKING:
    from scipy import sparse

Integers = NDArray[np.int64]

# Up to this many possible combinations the joint code is counted by one bincount; above, by sorting.
DENSE = 1 << 22


@dataclass(frozen=True)
class Cells:
    """A sparse table over named axes. Tables with the same axes add up.

    ``codes`` has a row per observed cell and a column per axis. ``sums`` has a column each for the number of rows, the
    sum of weights and the sum of squared weights (all three equal where there are no weights), and then one for the
    weighted sum of every further quantity that was summed.
    """

    axes: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    codes: Integers
    sums: Floats

    @classmethod
    def from_codes(
        cls, columns: Mapping[str, Coded], weights: Floats | None = None, quantities: Sequence[Floats] = ()
    ) -> Cells:
        """Count rows eagerly: mix the codes into one number a row and bincount it."""
        sizes = [max(len(column.labels), 1) for column in columns.values()]
        joint = _mixed(list(columns.values()), sizes)
        total = int(np.prod([float(size) for size in sizes]))
        if total <= DENSE:
            keys, positions = np.arange(total, dtype=np.int64), joint
        else:
            keys, positions = np.unique(joint, return_inverse=True)
        sums = _sums(positions, len(keys), weights, quantities)
        occupied = sums[:, 0] > 0
        no_axes = np.zeros((int(occupied.sum()), 0))
        codes = np.stack(np.unravel_index(keys[occupied], sizes), axis=1) if sizes else no_axes
        return cls(
            axes=tuple(columns),
            labels=tuple(column.labels for column in columns.values()),
            codes=codes.astype(np.int64),
            sums=sums[occupied],
        )

    @classmethod
    def from_rows(
        cls, axes: Sequence[str], rows: Iterable[tuple[Sequence[Label], Sequence[float]]], width: int = 3
    ) -> Cells:
        """Build the table from already grouped rows; rows that share their labels are added up."""
        codes_by_axis: list[dict[Label, int]] = [{} for _ in axes]
        totals: dict[tuple[int, ...], Floats] = {}
        for labels, sums in rows:
            key = tuple(codes.setdefault(label, len(codes)) for codes, label in zip(codes_by_axis, labels, strict=True))
            cell_sums = totals.setdefault(key, np.zeros(width))
            cell_sums += np.asarray(sums, dtype=np.float64)
        return cls(
            axes=tuple(axes),
            labels=tuple(tuple(codes) for codes in codes_by_axis),
            codes=np.asarray(list(totals), dtype=np.int64).reshape(len(totals), len(axes)),
            sums=np.asarray(list(totals.values()), dtype=np.float64).reshape(len(totals), width),
        )

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(self.sums[:, 0].sum())

    def axis(self, name: str) -> tuple[Label, ...]:
        """Return the labels of an axis that at least one row has."""
        position = self.axes.index(name)
        return tuple(self.labels[position][code] for code in np.unique(self.codes[:, position]))

    def merge(self, other: Cells) -> Cells:
        """Add two tables over the same axes."""
        if self.axes != other.axes:
            raise ValueError(f"tables over {self.axes} and {other.axes} cannot be merged")
        return Cells.from_rows(self.axes, [*self._labelled(), *other._labelled()], self.sums.shape[1])

    def marginal(self, axes: Sequence[str]) -> Cells:
        """Sum over every axis that is not named."""
        return self._of_axes(axes)._added_up()

    def _of_axes(self, axes: Sequence[str]) -> Cells:
        """Return the table with these axes alone; a combination of codes may occur several times."""
        positions = [self.axes.index(name) for name in axes]
        labels = tuple(self.labels[position] for position in positions)
        return Cells(tuple(axes), labels, self.codes[:, positions], self.sums)

    def relabel(self, axis: str, names: Mapping[Label, Label]) -> Cells:
        """Give labels of an axis other names; labels that get the same name are added up."""
        position = self.axes.index(axis)
        new_codes: dict[Label, int] = {}
        recode = [new_codes.setdefault(names.get(label, label), len(new_codes)) for label in self.labels[position]]
        codes = self.codes.copy()
        codes[:, position] = np.array(recode, dtype=np.int64)[codes[:, position]] if recode else codes[:, position]
        labels = (*self.labels[:position], tuple(new_codes), *self.labels[position + 1 :])
        return Cells(self.axes, labels, codes, self.sums)._added_up()

    def _added_up(self) -> Cells:
        """Return the table with every combination of codes once."""
        if not len(self.codes):
            return self
        number, inverse, rows = self._distinct()
        if number == len(inverse) and bool((inverse[1:] > inverse[:-1]).all()):
            return self
        sums = np.stack([_sum(inverse, number, column) for column in self.sums.T], axis=1)
        return Cells(self.axes, self.labels, self.codes[rows], sums)

    def _distinct(self) -> tuple[int, Integers, Integers]:
        """Number the combinations of codes: how many there are, the number of each row, and a row of each number."""
        keys = self._keys()
        most = int(keys.max(initial=0)) + 1
        if most <= max(DENSE, 4 * len(keys)):
            occurs = np.zeros(most, dtype=np.int64)
            occurs[keys] = 1
            inverse = (np.cumsum(occurs) - 1)[keys]
            number = int(occurs.sum())
        else:
            distinct, inverse = np.unique(keys, return_inverse=True)
            number = len(distinct)
        rows = np.zeros(number, dtype=np.int64)
        rows[inverse] = np.arange(len(inverse))
        return number, inverse, rows

    def _keys(self) -> Integers:
        """Return one number for each row's combination of codes."""
        sizes = [max(len(names), 1) for names in self.labels]
        if float(np.prod([float(size) for size in sizes])) < 2**62:
            return _mixed([Coded(column, ()) for column in self.codes.T], sizes) if sizes else self.codes.sum(axis=1)
        return np.unique(self.codes, axis=0, return_inverse=True)[1].reshape(-1)

    def where(self, axis: str, keep: Iterable[Label]) -> Cells:
        """Keep only the rows whose label on an axis is one of these."""
        position, labels_kept = self.axes.index(axis), set(keep)
        is_kept = np.array([label in labels_kept for label in self.labels[position]], dtype=bool)
        chosen = is_kept[self.codes[:, position]]
        return Cells(self.axes, self.labels, self.codes[chosen], self.sums[chosen])

    def crossed(
        self,
        axes: Sequence[str],
        combinations: Sequence[tuple[Label, ...]],
        others: Sequence[str],
        labels: Sequence[Sequence[Label]],
    ) -> Floats:
        """Return the sums as an array ``[combination, *others, sum]``, in the order of the labels given.

        Several axes crossed are one dimension, so that only combinations that occur take room. Rows with a label that
        is not listed are left out.
        """
        marginal = self._of_axes([*axes, *others])
        shape = (len(combinations), *(len(axis_labels) for axis_labels in labels))
        listed, flat = marginal._places(len(axes), combinations, labels)
        sums = marginal.sums if listed.all() else marginal.sums[listed]
        columns = [_sum(flat, int(np.prod(shape)), column) for column in sums.T]
        return np.stack(columns, axis=-1).reshape(*shape, self.sums.shape[1])

    def crossed_by(
        self,
        unit: str,
        axes: Sequence[str],
        combinations: Sequence[tuple[Label, ...]],
        others: Sequence[str],
        labels: Sequence[Sequence[Label]],
        column: int = 1,
    ) -> sparse.csc_array:
        """Return one sum for every unit: a sparse row a unit, flat over ``[combination, *others]``."""
        from scipy import sparse

        marginal = self.marginal([*axes, *others, unit])
        size = int(np.prod([len(combinations), *(len(axis_labels) for axis_labels in labels)]))
        listed, flat = marginal._places(len(axes), combinations, labels)
        units, codes = np.unique(marginal.codes[:, -1], return_inverse=True)
        return sparse.csc_array((marginal.sums[listed, column], (codes[listed], flat)), shape=(len(units), size))

    def _places(
        self, width: int, combinations: Sequence[tuple[Label, ...]], labels: Sequence[Sequence[Label]]
    ) -> tuple[NDArray[np.bool_], Integers]:
        """Tell which cells are listed, and where those stand in the flat array of combinations by labels."""
        positions = [self._combination_places(width, combinations)]
        for position, axis_labels in enumerate(labels, start=width):
            order = {label: index for index, label in enumerate(axis_labels)}
            names = np.array([order.get(label, -1) for label in self.labels[position]], dtype=np.int64)
            positions.append(names[self.codes[:, position]])
        shape = (len(combinations), *(len(axis_labels) for axis_labels in labels))
        listed = np.logical_and.reduce([positions_on_axis >= 0 for positions_on_axis in positions])
        if not listed.any():
            return listed, np.zeros(0, dtype=np.int64)
        return listed, np.ravel_multi_index(tuple(positions_on_axis[listed] for positions_on_axis in positions), shape)

    def _combination_places(self, width: int, combinations: Sequence[tuple[Label, ...]]) -> Integers:
        """Return where each row's first labels stand among the combinations; -1 where they do not."""
        index = {combination: index for index, combination in enumerate(combinations)}
        head = Cells(self.axes[:width], self.labels[:width], self.codes[:, :width], self.sums)
        _, inverse, rows = head._distinct()
        names = [
            tuple(labels[code] for labels, code in zip(head.labels, codes, strict=True))
            for codes in head.codes[rows].tolist()
        ]
        return np.array([index.get(name, -1) for name in names], dtype=np.int64)[inverse]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what was counted, the same whatever order, file or shard the rows came from."""
        names, codes = [], []
        for axis_labels, column in zip(self.labels, self.codes.T, strict=True):
            distinct = {axis_labels[code] for code in np.unique(column)}
            used = sorted(distinct, key=lambda label: (label is not None, label or ""))
            index = {label: index for index, label in enumerate(used)}
            codes.append(np.array([index.get(label, -1) for label in axis_labels], dtype=np.int64)[column])
            names.append(used)
        order = np.lexsort(codes[::-1]) if codes else np.arange(len(self.sums))
        # Sums of weights are rounded to nine digits: their last bits depend on the order of rows.
        sums = _rounded(self.sums[order])
        parts = [json.dumps([self.axes, names]).encode(), *(column[order].tobytes() for column in codes)]
        return fingerprint_of([*parts, np.ascontiguousarray(sums).tobytes()])

    def _labelled(self) -> Iterable[tuple[tuple[Label, ...], list[float]]]:
        for codes, sums in zip(self.codes.tolist(), self.sums.tolist(), strict=True):
            yield tuple(names[code] for names, code in zip(self.labels, codes, strict=True)), sums

    def to_dict(self) -> dict[str, object]:
        """Return plain values that JSON can hold; ``from_dict`` reads them back."""
        cells = [[list(labels), sums] for labels, sums in self._labelled()]
        return {"axes": list(self.axes), "width": self.sums.shape[1], "cells": cells}

    @classmethod
    def from_dict(cls, state: Mapping[str, object]) -> Cells:
        """Read back what ``to_dict`` wrote."""
        axes, cells, width = state["axes"], state["cells"], state["width"]
        assert isinstance(axes, list)
        assert isinstance(cells, list)
        assert isinstance(width, int)
        return cls.from_rows(axes, cells, width)


def _mixed(columns: list[Coded], sizes: list[int]) -> Integers:
    """Mix the codes of several columns into one number a row."""
    if not columns:
        raise ValueError("there is no column to count")
    total = math.prod(sizes)
    # Small numbers are mixed several times faster.
    kind = np.int16 if total < 1 << 15 else np.int32 if total < 1 << 31 else np.int64
    joint: NDArray[Any] = columns[0].codes.astype(kind)
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        joint *= size
        joint += column.codes.astype(kind)
    return joint.astype(np.int64)


def _sums(positions: Integers, cells: int, weights: Floats | None, quantities: Sequence[Floats]) -> Floats:
    rows = np.bincount(positions, minlength=cells).astype(np.float64)
    if weights is None:
        sums = [rows, rows, rows, *(_sum(positions, cells, quantity) for quantity in quantities)]
    else:
        weighted = [weights, weights * weights, *(weights * quantity for quantity in quantities)]
        sums = [rows, *(_sum(positions, cells, quantity) for quantity in weighted)]
    return np.stack(sums, axis=1)


def _sum(positions: Integers, cells: int, quantity: Floats) -> Floats:
    return np.asarray(np.bincount(positions, weights=quantity, minlength=cells), dtype=np.float64)


def _rounded(sums: Floats) -> Floats:
    """Round to nine significant digits; whole numbers up to a billion stay as they are."""
    size = np.floor(np.log10(np.maximum(np.abs(sums), 1e-300)))
    scale = 10.0 ** np.clip(8 - size, -300, 300)
    return np.where(sums == 0, 0.0, np.round(sums * scale) / scale)
