"""Rows that follow a distribution: shares of classes and groups, what they ask of the data, and seeded draws.

Inside a cell rows stand in an order that depends on the seed and the cell alone, and the first k are taken. So two
conditions with the same seed share as many rows as their shares allow, and their difference is not a matter of who
happened to be drawn. Where k is more than there are, every row is taken equally often, give or take one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.foundation import BadInput, Floats, listing, stream
from equipoise.tallies import label_of

# How far from what it should be a sum of shares may lie: rounding, and nothing more.
ROUNDING = 1e-9


def shares_of(counts: ArrayLike, *, empty: bool = False) -> Floats:
    """Return P(y, z) of counts ``[class, group]``; a class or group without rows is refused unless ``empty``."""
    try:
        table = np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"The counts are not numbers ({error})", available="a table, one row per class, one column per group"
        ) from error
    if table.ndim != 2 or 0 in table.shape:
        raise BadInput(f"The counts have the shape {table.shape}", available="one row per class, one column per group")
    _refuse(~np.isfinite(table), table, "missing or infinite")
    _refuse(table < 0, table, "negative")
    for axis, what in () if empty else ((1, "class"), (0, "group")):
        without = np.flatnonzero(table.sum(axis=axis) == 0)
        if without.size:
            raise BadInput(
                f"There are no rows of {what} {listing(without.tolist())} (counted from 0)",
                available=f"at least one row of each {what}: shares inside an empty {what} are not defined",
                help=f"leave the empty {what} out of the table.",
            )
    if not table.any():
        raise BadInput("There are no rows in any class and group", available="at least one row")
    shares: Floats = table / table.sum()
    return shares


def _refuse(bad: NDArray[np.bool_], table: Floats, what: str) -> None:
    if bad.any():
        row, column = (int(position) for position in np.argwhere(bad)[0])
        raise BadInput(
            f"The count of class {row}, group {column} is {table[row, column]:g}, which is {what}",
            available="finite numbers of 0 and above",
        )


def names_of(names: Sequence[object] | None, length: int, what: str) -> tuple[str, ...]:
    """Return the names of classes or groups; without names they are called 0, 1, 2 and so on."""
    if names is None:
        return tuple(str(index) for index in range(length))
    labels = tuple(str(label_of(name)) for name in names)
    if len(labels) != length or len(set(labels)) != length:
        raise BadInput(
            f"There are {length:,} {what} in the counts and the names {listing(labels)}",
            available="one name each, no name twice",
        )
    return labels


def checked_share(value: object, what: str) -> float:
    """Return a share as a float, or refuse what is not between 0 and 1."""
    try:
        share = float(value)  # type: ignore[arg-type]  # what cannot be a float is refused here
    except (TypeError, ValueError):
        share = float("nan")
    if isinstance(value, bool) or not 0.0 <= share <= 1.0:
        raise BadInput(f"{what} is {value!r}", available="a number from 0 to 1")
    return share


WHAT_TO_DO = (
    "merge the group or the class with another, leave it out of the cohort, or choose a condition that gives the cell "
    "no share (as_given does)"
)


@dataclass(frozen=True)
class Cell:
    """One class in one group: how many rows there are, the share it shall have, and how many rows that is."""

    class_name: str
    group: str
    available: int
    probability: float
    requested: int

    @property
    def times(self) -> float:
        """How often each row is taken on average; NaN where there is none."""
        return self.requested / self.available if self.available else math.nan

    @property
    def repeated(self) -> bool:
        """Tell whether rows must be taken more than once."""
        return self.requested > self.available > 0

    @property
    def empty(self) -> bool:
        """Tell whether the cell shall have a share and there are no rows to give it."""
        return self.probability > 0 and not self.available

    @property
    def unused(self) -> bool:
        """Tell whether there are rows and none is taken."""
        return self.available > 0 and not self.requested

    @property
    def name(self) -> str:
        """The class and the group."""
        return f"{self.class_name} / {self.group}"


@dataclass(frozen=True)
class Feasibility:
    """What a condition does to the training rows at one size.

    ``largest`` is the largest size at which no row is repeated under any condition of the plan; ``unlabelled`` counts
    the training rows without a class or a group, which no condition can use. ``remarks`` are a condition's own
    sentences.
    """

    size: int
    available: int
    largest: int
    unlabelled: int
    cells: tuple[Cell, ...]
    remarks: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        """Tell whether every cell that shall have a share has rows."""
        return not self.empty

    @property
    def repeated(self) -> tuple[Cell, ...]:
        """The cells whose rows are taken more than once, the most often first."""
        return tuple(sorted((cell for cell in self.cells if cell.repeated), key=lambda cell: -cell.times))

    @property
    def empty(self) -> tuple[Cell, ...]:
        """The cells that shall have a share and have no rows."""
        return tuple(cell for cell in self.cells if cell.empty)

    @property
    def unused(self) -> tuple[Cell, ...]:
        """The cells that have rows of which none is taken."""
        return tuple(cell for cell in self.cells if cell.unused)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What cannot be done, repeats rows or leaves rows out, a sentence each."""
        return (*self._empty_words(), *self._repeated_words(), *self._unlabelled_words())

    @property
    def words(self) -> tuple[str, ...]:
        """What there is to know, a sentence each."""
        sentences = [f"{self.size:,} training rows are drawn from {self.available:,}.", *self._empty_words()]
        sentences += self._repeated_words()
        if not self.repeated and not self.empty:
            sentences.append("No row is repeated.")
        if self.unused:
            sentences.append(f"No row is drawn from {listing(cell.name for cell in self.unused)}.")
        return (*sentences, *self._unlabelled_words(), *self.remarks)

    def _empty_words(self) -> list[str]:
        if not self.empty:
            return []
        cells = listing(f"{cell.name} (share {cell.probability:.3g})" for cell in self.empty)
        return [f"It is not possible: there are no rows of {cells}. Fix: {WHAT_TO_DO}."]

    def _repeated_words(self) -> list[str]:
        if not self.repeated:
            return []
        cells = listing(
            f"{cell.name} {cell.times:,.1f} times ({cell.requested:,} from {cell.available:,})"
            for cell in self.repeated
        )
        return [f"Rows are repeated: {cells}. No row is repeated up to a size of {self.largest:,}."]

    def _unlabelled_words(self) -> list[str]:
        if not self.unlabelled:
            return []
        return [f"{self.unlabelled:,} training rows have no class or no group and are left out."]


Rows = NDArray[np.int64]

# Shares are floats: n / P(cell) may fall a hair short of a whole number that it is.
HAIR = 1e-12


@dataclass(frozen=True, eq=False)
class Draw:
    """Drawn rows, as positions in random order, and what the draw asked of the data."""

    rows: Rows
    feasibility: Feasibility


def apportion(probabilities: ArrayLike, size: int, *, by_class: bool = False) -> Rows:
    """Return how many of ``size`` rows each cell gets: whole numbers that sum to it, by largest remainder.

    Of equal remainders the first cell's goes first. ``by_class`` makes the rows of each class whole before those of
    its groups, so that classes of equal shares differ by one row at the most, however many groups they have.
    """
    shares, rows = _checked(probabilities), checked_size(size)
    if not by_class:
        return _whole_numbers(shares, rows)
    classwise = shares.sum(axis=1)
    numbers = _whole_numbers(classwise, rows).tolist()
    return np.stack(
        [_whole_numbers(inside / max(share, HAIR), number) if share > 0 else np.zeros(len(inside), dtype=np.int64)
         for inside, share, number in zip(shares, classwise.tolist(), numbers, strict=True)]
    )  # fmt: skip


def _whole_numbers(shares: Floats, rows: int) -> Rows:
    exact = shares * rows
    floors = np.floor(exact + ROUNDING)
    left = rows - int(floors.sum())
    # Rounded, so that remainders that differ by the last bits of a float count as equal.
    order = np.argsort(-np.round(exact - floors, 9), axis=None, kind="stable")
    sizes = floors.astype(np.int64).reshape(-1)
    sizes[order[:left]] += 1
    return sizes.reshape(shares.shape)


def largest_size(counts: ArrayLike, tables: Iterable[ArrayLike]) -> int:
    """Return the largest N with N P'(cell) <= n(cell) in every cell, under every table of probabilities.

    A table that gives a share to a cell without rows cannot be drawn at any size: it is passed over, and where no other
    is left the answer is 0.
    """
    available = np.asarray(counts, dtype=np.float64)
    limits = []
    for table in tables:
        shares = _checked(table)
        used = shares > 0
        if (available[used] > 0).all():
            limits.append(float((available[used] / shares[used]).min()))
    return int(np.floor(min(limits) * (1.0 + HAIR))) if limits else 0


def feasibility_of(
    counts: ArrayLike,
    probabilities: ArrayLike,
    size: int,
    *,
    classes: Sequence[object] | None = None,
    groups: Sequence[object] | None = None,
    largest: int | None = None,
    unlabelled: int = 0,
    by_class: bool = False,
) -> Feasibility:
    """Say what ``size`` rows of a distribution ask of the counts there are. An empty cell leaves a size of 0."""
    shares, available = _checked(probabilities), np.asarray(counts, dtype=np.int64)
    names, columns = names_of(classes, shares.shape[0], "classes"), names_of(groups, shares.shape[1], "groups")
    requested = apportion(shares, size, by_class=by_class) if size else np.zeros(shares.shape, dtype=np.int64)
    cells = tuple(
        Cell(names[c], columns[g], int(available[c, g]), float(shares[c, g]), int(requested[c, g]))
        for c in range(len(names))
        for g in range(len(columns))
    )
    limit = largest_size(available, [shares]) if largest is None else largest
    return Feasibility(size, int(available.sum()), limit, unlabelled, cells)


def draw(
    class_codes: ArrayLike,
    group_codes: ArrayLike,
    probabilities: ArrayLike,
    size: int | None = None,
    *,
    seed: int,
    classes: Sequence[object] | None = None,
    groups: Sequence[object] | None = None,
    largest: int | None = None,
    by_class: bool = False,
) -> Draw:
    """Draw ``size`` rows whose shares of classes and groups are ``probabilities [class, group]``.

    Codes number each row's class and group from 0; a row with a code below 0 has none, and is never drawn. By default
    the size is the largest at which no row is repeated (``largest``, where it was found over several distributions).
    ``by_class`` is that of ``apportion``.
    """
    shares = _checked(probabilities)
    cells, known_rows = _cells(class_codes, group_codes, shares.shape)
    counts = np.bincount(cells[known_rows], minlength=shares.size).reshape(shares.shape)
    limit = largest_size(counts, [shares]) if largest is None else largest
    feasibility = feasibility_of(
        counts, shares, limit if size is None else checked_size(size), classes=classes, groups=groups, largest=limit,
        unlabelled=len(cells) - len(known_rows), by_class=by_class,
    )  # fmt: skip
    if feasibility.empty:
        empty = listing(f"{cell.name} (share {cell.probability:.3g})" for cell in feasibility.empty)
        raise BadInput(
            f"There are no rows of {empty}",
            available="at least one training row in every cell with a share above 0",
            help=f"{WHAT_TO_DO}.",
        )
    rows = known_rows[np.argsort(cells[known_rows], kind="stable")]
    starts = np.cumsum(counts.reshape(-1)) - counts.reshape(-1)
    parts = [
        _sampled_rows(
            rows[start : start + cell.available],
            cell.requested,
            stream(operator.index(seed), "cell", cell.class_name, cell.group),
        )
        for start, cell in zip(starts.tolist(), feasibility.cells, strict=True)
        if cell.requested
    ]
    drawn_rows = np.concatenate(parts)
    return Draw(stream(operator.index(seed), "order of rows").permutation(drawn_rows), feasibility)


def _sampled_rows(rows: Rows, number: int, generator: np.random.Generator) -> Rows:
    """Return ``number`` rows of a cell: the first in a random order, which begins anew where it ends."""
    return np.resize(generator.permutation(rows), number)


def _cells(class_codes: ArrayLike, group_codes: ArrayLike, shape: tuple[int, ...]) -> tuple[Rows, Rows]:
    """Return each row's cell as one number, and the rows that have one."""
    codes = [np.asarray(values) for values in (class_codes, group_codes)]
    for array, what, number in zip(codes, ("class", "group"), shape, strict=True):
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise BadInput(
                f"The {what} codes have the shape {array.shape} and the type {array.dtype}",
                available="whole numbers, one per row",
            )
        if array.size and array.max() >= number:
            raise BadInput(
                f"There is a {what} code {array.max()}",
                available=f"below {number}, one per {what} of the probabilities",
            )
    if len(codes[0]) != len(codes[1]):
        raise BadInput(
            f"There are {len(codes[0]):,} class codes and {len(codes[1]):,} group codes",
            available="one of each per row",
        )
    classes, groups = (array.astype(np.int64) for array in codes)
    return classes * shape[1] + groups, np.flatnonzero((classes >= 0) & (groups >= 0))


def _checked(probabilities: ArrayLike) -> Floats:
    shares = np.asarray(probabilities, dtype=np.float64)
    if shares.ndim != 2 or not shares.size or not (shares >= 0).all() or abs(float(shares.sum()) - 1.0) > ROUNDING:
        raise BadInput(
            f"Probabilities of the shape {shares.shape} sum to {shares.sum():g}"
            + (f", the least is {shares.min():g}" if shares.size else ""),
            available="a table of classes by groups without negative shares that sums to 1",
        )
    return shares


def checked_size(size: object) -> int:
    """Return a size as a whole number of at least 1."""
    try:
        rows = operator.index(size)  # type: ignore[arg-type]  # what is no whole number is refused here
    except TypeError:
        rows = 0
    if isinstance(size, bool) or rows < 1:
        raise BadInput(
            f"size is {size!r}",
            available="a whole number of at least 1",
            help="leave it out to use the largest size at which no row is repeated.",
        )
    return rows
