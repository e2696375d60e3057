"""Slow and obvious versions of every registered condition, cell by cell, in exact fractions where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from equipoise.foundation import stream

Table = list[list[Fraction]]


def exact(counts: Any) -> Table:
    total = sum(Fraction(int(n)) for row in counts for n in row)
    return [[Fraction(int(n)) / total for n in row] for row in counts]


def transposed(table: Table) -> Table:
    return [list(column) for column in zip(*table, strict=True)]


def clipped(values: list[Fraction]) -> list[Fraction]:
    kept = [max(value, Fraction(0)) for value in values]
    return [value / sum(kept) for value in kept]


def interpolation(counts: Any, classes: Sequence[str], groups: Sequence[str], *, mode: str, alpha: float) -> Table:
    P, step = exact(counts), Fraction(alpha)
    if mode in ("y_cond_g", "class_given_group", "g", "group_only"):
        other = {"y_cond_g": "CB", "class_given_group": "CB", "g": "y", "group_only": "y"}[mode]
        return transposed(interpolation(transposed_counts(counts), groups, classes, mode=other, alpha=alpha))
    if mode in ("JB", "joint"):
        flat = clipped([(1 - step) * p + step / (len(P) * len(P[0])) for row in P for p in row])
        return [flat[start : start + len(P[0])] for start in range(0, len(flat), len(P[0]))]
    if mode in ("CB", "g_cond_y", "group_given_class"):
        return [[sum(row) * share for share in clipped([(1 - step) * p / sum(row) + step / len(row) for p in row])]
                for row in P]  # fmt: skip
    assert mode in ("y", "class_only")
    moved = clipped([(1 - step) * sum(row) + step / len(P) for row in P])
    return [[share * p / sum(row) for p in row] for share, row in zip(moved, P, strict=True)]


def transposed_counts(counts: Any) -> list[list[int]]:
    return [[int(n) for n in column] for column in zip(*counts, strict=True)]


def as_given(counts: Any, classes: Sequence[str], groups: Sequence[str]) -> Table:
    return exact(counts)


def rest_shared(shares: dict[str, float], classes: Sequence[str]) -> list[float]:
    others = [name for name in classes if name not in shares]
    return [shares[name] if name in shares else (1 - sum(shares.values())) / len(others) for name in classes]


def most_lifted(P: Table, place: int) -> int:  # noqa: N803
    totals = [sum(column) for column in transposed(P)]
    lifts = [p / total for p, total in zip(P[place], totals, strict=True)]
    return lifts.index(max(lifts))


def inside_class(P: Table, place: int, ratio: float) -> list[float]:  # noqa: N803
    paired, number = most_lifted(P, place), len(P[0])
    return [ratio if group == paired else (1 - ratio) / (number - 1) for group in range(number)]


def class_ratio(
    counts: Any, classes: Sequence[str], groups: Sequence[str], *, shares: dict[str, float], stereotyping: Any = "none"
) -> list[list[float]]:
    P, found = exact(counts), []
    for index, share in enumerate(rest_shared(shares, classes)):
        if stereotyping == "none":
            inside = [1 / len(groups)] * len(groups)
        elif stereotyping == "as_given":
            inside = [float(p / sum(P[index])) for p in P[index]]
        else:
            inside = inside_class(P, index, stereotyping)
        found.append([share * part for part in inside])
    return found


def stereotyping(
    counts: Any, classes: Sequence[str], groups: Sequence[str], *, ratio: float, shares: Any = "balanced"
) -> list[list[float]]:
    P = exact(counts)
    if shares == "balanced":
        parts = [1 / len(classes)] * len(classes)
    elif shares == "as_given":
        parts = [float(sum(row)) for row in P]
    else:
        parts = rest_shared(shares, classes)
    return [[whole * part for part in inside_class(P, index, ratio)] for index, whole in enumerate(parts)]


def minoritised(
    counts: Any, classes: Sequence[str], groups: Sequence[str], *, degree: float, classes_: int
) -> list[list[float]]:
    """The classes that seed 0 draws get 1 - degree where each other one gets the degree."""
    few = set(stream(0, "minoritised classes").permutation(sorted(classes))[:classes_].tolist())
    weights = [1 - degree if name in few else degree for name in classes]
    return [[weight / sum(weights) * float(p / sum(row)) for p in row]
            for weight, row in zip(weights, exact(counts), strict=True)]  # fmt: skip


CONDITION_ORACLES: dict[str, Callable[..., Any]] = {
    "interpolation": interpolation,
    "as_given": as_given,
    "class_ratio": class_ratio,
    "stereotyping": stereotyping,
    "minoritised": lambda counts, names, groups, degree, classes: minoritised(
        counts, names, groups, degree=degree, classes_=classes
    ),
}
