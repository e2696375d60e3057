"""What conditions made of the training rows, in words: a few cells by name, many as how many have how many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from equipoise.foundation.errors import listing
from equipoise.studies.findings.data import Composition

# More cells than these nobody reads one by one.
MANY = 24
EXAMPLES = 3
# A number of rows stands apart where it is so many, and this share of the whole range, above the next smaller one.
LEAST_STEP, STEP = 2, 0.2


@dataclass(frozen=True)
class Move:
    """A cell, its share of the rows under the first condition and under this one, and by how many rows it moved."""

    label: str
    was: float
    now: float
    rows: float


def composition_words(name: str, own: Composition | None, first: Composition | None) -> str:
    """Say what a condition made of the training rows, against the first condition."""
    if own is None or first is None:
        return ""
    total = _total(own)
    head = f"{name}: {total:,} training rows"
    alone = own is first or own.classes != first.classes or own.groups != first.groups
    cells = _cells(own)
    if len(cells) > MANY:
        return f"{head}, {'; '.join(_many(own, None if alone else first))}"
    if alone:
        parts = [f"{label} {100 * rows / max(total, 1):.1f}%" for label, rows in cells]
        return f"{head}, {listing(parts, 8)}"
    moved = sorted((one for one in _moves(cells, _cells(first)) if abs(one.now - one.was) >= 0.0005), key=_least_first)
    if not moved:
        return f"{head} with the same shares"
    parts = [f"{one.label} {100 * one.now:.1f}% instead of {100 * one.was:.1f}%" for one in moved]
    return f"{head}, {listing(parts, 4)}"


def _many(own: Composition, first: Composition | None) -> Iterator[str]:
    """Say how many classes have how many rows, or cells where there are few classes or none of them changed."""
    noun, now, before = "classes", _classes(own), None if first is None else _classes(first)
    if len(now) <= MANY or (first is not None and not _shifted(_moves(now, before or [])) and own.rows != first.rows):
        noun, now, before = "cells of class and group", _cells(own), None if first is None else _cells(first)
    yield _sizes([rows for _, rows in now], noun)
    if before is not None:
        yield _changes(_moves(now, before), noun, own.seed)


def _sizes(sizes: Sequence[int], noun: str) -> str:
    clumps = _clumps(sorted(sizes))
    if len(clumps) == 1:
        return f"each of {len(sizes):,} {noun} has {_range(clumps[0])}"
    first, *others = clumps
    parts = [f"{len(first):,} of {len(sizes):,} {noun} {_has(first)} {_range(first)}"]
    return ", ".join(parts + [f"{len(one):,} {_has(one)} {_range(one)}" for one in others])


def _clumps(ordered: Sequence[int]) -> list[list[int]]:
    """Part numbers where they jump; those that are 0 stand by themselves."""
    step = max(LEAST_STEP, STEP * (ordered[-1] - ordered[0]))
    clumps = [[ordered[0]]]
    for before, size in pairwise(ordered):
        if size - before > step or (size and not before):
            clumps.append([])
        clumps[-1].append(size)
    return clumps


def _has(clump: Sequence[int]) -> str:
    return "has" if len(clump) == 1 else "have"


def _range(clump: Sequence[int]) -> str:
    low, high = clump[0], clump[-1]
    if not high:
        return "none"
    if high - low <= 1:
        return f"{low:,} row{'' if high == 1 else 's'}" if low == high else f"{low:,} or {high:,} rows"
    middle = f", half of them at least {clump[len(clump) // 2]:,}" if high > 2 * low else ""
    return f"{low:,} to {high:,} rows{middle}"


def _changes(moves: Sequence[Move], noun: str, seed: int | None) -> str:
    """Say how many have a smaller and a larger share than under the first condition; what is within a row is neither.

    Where the seed draws which, examples are those of one.
    """
    moved = _shifted(moves)
    if not moved:
        return "as under the first condition"
    smaller = sum(one.rows < 0 for one in moved)
    larger = len(moved) - smaller
    than = "than under the first condition"
    parts = [f"of {len(moves):,} {noun} the share is smaller {than} for {smaller:,}, larger for {larger:,}"]
    parts += [f"the same for {len(moves) - len(moved):,}"] if len(moved) < len(moves) else []
    examples = sorted(moved, key=_least_first)[:EXAMPLES]
    shown = ", ".join(f"{one.label} {_percent(one.now)} instead of {_percent(one.was)}" for one in examples)
    drawn = "" if seed is None else f" (with seed {seed}; another draws others)"
    return f"{', '.join(parts)}; changed most{drawn}: {shown}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%" if share < 0.01 else f"{100 * share:.1f}%"


def _shifted(moves: Sequence[Move]) -> list[Move]:
    """Return what moved by more than the row that rounding may give or take."""
    return [one for one in moves if abs(one.rows) > 1 + 1e-9]


def _least_first(one: Move) -> float:
    return -abs(one.now - one.was)


def _moves(now: Sequence[tuple[str, int]], before: Sequence[tuple[str, int]]) -> list[Move]:
    total, earlier = (max(sum(rows for _, rows in one), 1) for one in (now, before))
    return [
        Move(label, was / earlier, rows / total, rows - was / earlier * total)
        for (label, rows), (_, was) in zip(now, before, strict=True)
    ]


def _total(own: Composition) -> int:
    return sum(map(sum, own.rows))


def _classes(own: Composition) -> list[tuple[str, int]]:
    return [(name, sum(row)) for name, row in zip(own.classes, own.rows, strict=True)]


def _cells(own: Composition) -> list[tuple[str, int]]:
    return [
        (f"{name} / {group}", rows)
        for name, row in zip(own.classes, own.rows, strict=True)
        for group, rows in zip(own.groups, row, strict=True)
    ]
