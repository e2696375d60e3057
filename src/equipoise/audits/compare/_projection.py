"""Projection on a concept direction before and after: how much of a concept a point holds (Kolling et al. 2025).

With the direction g of a space, p = z · g / |g|. The paper's percentage difference

    omega = (p' - p) / |p|

explodes where p is near 0 and is undefined at 0. Its bounded form

    (p' - p) / (|p'| + |p|)

has the same sign, lies between -1 and 1 (beyond 0.5: more than three times as much, or gone; 1: there was none, or it
changed sides), treats growing and shrinking alike, and is undefined only where both are 0. Like omega it does not tell
whether a p of nearly nothing is noise: read it beside the means.

Where the direction is the difference of two groups' means, a space may have none: once a concept is erased, the means
differ by rounding alone, and a projection on that says nothing. How far apart the groups are is given for each space,
in standard deviations, and a space whose means differ by no more than sampling noise has no direction left.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from equipoise.audits._reasons import AuditReason
from equipoise.audits.compare._result import CompareReason, ProjectionRecord
from equipoise.audits.compare._spec import Attribute, CompareSpec
from equipoise.cohorts import (
    ARRAY_ENDINGS,
    NPY,
    Embedding,
    array_names,
    file_ending,
    read_array,
)
from equipoise.foundation import (
    BadInput,
    Floats,
    as_array,
    plural,
    unknown_name,
)
from equipoise.results import Reason, Status, because

EXPLODED = 10.0
# Means of two groups make a direction where their difference is significant at this level.
DISTINCT = 0.05
SIDES = ("before", "after")


@dataclass(frozen=True, eq=False)
class Direction:
    """A concept's direction in both spaces."""

    name: str
    before: Floats
    after: Floats
    # Of a direction between two groups: how far apart they are in each space.
    separations: tuple[Separation, Separation] | None = None

    @property
    def lost(self) -> tuple[bool, bool]:
        """Whether each space has no such direction."""
        return (False, False) if self.separations is None else (self.separations[0].lost, self.separations[1].lost)


@dataclass(frozen=True)
class Separation:
    """How far two groups' means lie apart: in standard deviations along the line between them, and a test of that.

    ``p`` tests whether the means differ at all: |difference|^2 over its expectation from the spread within groups,
    approximately chi-square over its degrees of freedom (Box 1954; Bai and Saranadasa 1996).
    """

    deviations: float
    p: float

    @property
    def lost(self) -> bool:
        """Whether the means differ by no more than sampling noise."""
        return not self.p <= DISTINCT


def direction_of(spec: CompareSpec) -> Direction:
    """Read a direction: ``sex=Male,Female`` (in each space one group's mean minus the other's), a file, an array."""
    direction, before, after = spec.direction, spec.before, spec.after
    if isinstance(direction, str) and "=" in direction and not os.path.exists(direction):
        return _between_groups(direction, before, after, spec.people.attributes, spec.suppress_below)
    if isinstance(direction, (str, os.PathLike)):
        name, vectors = Path(direction).name, _from_file(Path(direction))
    elif isinstance(direction, Mapping):
        name, vectors = "the direction", {str(key): as_array(value, "direction") for key, value in direction.items()}
    else:
        name, vectors = "the direction", {side: as_array(direction, "direction") for side in SIDES}
    if set(vectors) != set(SIDES):
        raise BadInput(
            f"{name} has {', '.join(map(repr, vectors)) or 'nothing'}", available="one vector, or 'before' and 'after'"
        )
    sides = [
        _checked(vectors[side], space, f"{name} ({side})") for side, space in zip(SIDES, (before, after), strict=True)
    ]
    return Direction(name, sides[0], sides[1])


def _from_file(path: Path) -> dict[str, NDArray[Any]]:
    if file_ending(path) not in ARRAY_ENDINGS or not path.is_file():
        raise BadInput(
            f"The direction {str(path)!r} could not be read",
            available=f"a vector in a file ({', '.join(ARRAY_ENDINGS)}), or two groups such as sex=Male,Female",
        )
    names = list(array_names(path))
    if set(SIDES) <= set(names):
        return {side: np.asarray(read_array(path, side)) for side in SIDES}
    if file_ending(path) != NPY and len(names) != 1:
        raise BadInput(f"{path.name} has {len(names)} arrays", available="one vector, or 'before' and 'after'")
    return dict.fromkeys(SIDES, np.asarray(read_array(path, names[0])))


def _checked(vector: NDArray[Any], space: Embedding, where: str) -> Floats:
    if vector.dtype.kind not in "fiub":
        raise BadInput(f"{where} does not hold numbers", available="a vector of numbers")
    flat = np.asarray(vector, dtype=np.float64).reshape(-1)
    if len(flat) != space.width:
        raise BadInput(
            f"{where} has {plural(len(flat), 'number')}, and {space.name} has {plural(space.width, 'dimension')}",
            available="a number for each dimension",
            help="where the two spaces differ, give both: numpy.savez(file, before=..., after=...).",
        )
    if not np.isfinite(flat).all() or not flat.any():
        raise BadInput(
            f"{where} is {'not finite' if flat.any() else '0 everywhere'}", available="a finite vector but 0"
        )
    return flat


def _between_groups(
    text: str, before: Embedding, after: Embedding, attributes: Sequence[Attribute], least: int
) -> Direction:
    column, _, pair = text.partition("=")
    attribute = next((attribute for attribute in attributes if attribute.name == column), None)
    if attribute is None:
        raise unknown_name("group column", column, [attribute.name for attribute in attributes], "this comparison")
    groups = pair.split(",")
    if len(groups) != 2 or groups[0] == groups[1]:
        raise BadInput(f"The direction {text!r} could not be read", available="two groups, such as sex=Male,Female")
    for group in groups:
        if group not in attribute.groups:
            raise unknown_name("group", group, attribute.groups, f"the groups of {column!r}")
    first, second = (attribute.codes == attribute.groups.index(group) for group in groups)
    if min(first.sum(), second.sum()) < least:
        raise BadInput(f"A group of the direction {text!r} has fewer than {least:,} people", help="choose others.")
    sides = [_mean(space, first) - _mean(space, second) for space in (before, after)]
    separations = [
        _separation(space, side, (first, second)) for space, side in zip((before, after), sides, strict=True)
    ]
    name = f"{groups[0]} minus {groups[1]} ({column})"
    return Direction(name, sides[0], sides[1], (separations[0], separations[1]))


def _mean(space: Embedding, rows: NDArray[np.bool_]) -> Floats:
    total, done = np.zeros(space.width), 0
    for block in space.blocks():
        total += block[rows[done : done + len(block)]].sum(axis=0, dtype=np.float64)
        done += len(block)
    return total / float(rows.sum())


def _separation(space: Embedding, difference: Floats, groups: Sequence[NDArray[np.bool_]]) -> Separation:
    """Compare the difference of two means with the spread of the points within both groups."""
    sizes = [float(rows.sum()) for rows in groups]
    scatter, done = np.zeros((space.width, space.width)), 0
    means = [_mean(space, rows) for rows in groups]
    for block in space.blocks():
        for rows, mean in zip(groups, means, strict=True):
            centred = block[rows[done : done + len(block)]].astype(np.float64) - mean
            scatter += centred.T @ centred
        done += len(block)
    free = sum(sizes) - 2
    length = float(np.linalg.norm(difference))
    total = float(np.trace(scatter)) / free if free > 0 else math.nan
    if not total > 0:  # no spread: the groups are two points, together or apart
        return Separation(math.nan if length > 0 else 0.0, 0.0 if length > 0 else 1.0)
    covariance = scatter / free
    along = float(difference @ covariance @ difference) / length**2 if length > 0 else total
    dimensions = total**2 / float((covariance**2).sum())
    statistic = length**2 / (total * sum(1 / size for size in sizes))
    deviations = length / math.sqrt(along) if along > 0 else math.nan
    return Separation(deviations, float(special.chdtrc(dimensions, statistic * dimensions)))


def projected(space: Embedding, direction: Floats, *, lost: bool = False) -> Floats:
    """Return p for every row; NaN where the space has no such direction."""
    if lost:
        return np.full(len(space), np.nan)
    unit = direction / np.linalg.norm(direction)
    return np.concatenate([block.astype(np.float64) @ unit for block in space.blocks()])


def omega(before: Floats, after: Floats) -> Floats:
    """Return the paper's (p' - p) / |p|; NaN where p is 0."""
    return _divided(after - before, np.abs(before))


def bounded_omega(before: Floats, after: Floats) -> Floats:
    """Return (p' - p) / (|p'| + |p|), between -1 and 1; NaN where both are 0."""
    return _divided(after - before, np.abs(before) + np.abs(after))


def _divided(numerator: Floats, denominator: Floats) -> Floats:
    with np.errstate(over="ignore"):  # by next to nothing it is infinite, which is what it means to explode
        return np.divide(numerator, denominator, out=np.full_like(numerator, np.nan), where=denominator > 0)


def projection_records(spec: CompareSpec, direction: Direction) -> Iterator[ProjectionRecord]:
    """Yield a record for everyone, then for each group."""
    before, after = (
        projected(space, vector, lost=lost)
        for space, vector, lost in zip(
            (spec.before, spec.after), (direction.before, direction.after), direction.lost, strict=True
        )
    )
    least = spec.suppress_below
    all_rows = np.ones(len(before), dtype=bool)
    overall = _record(direction, None, None, before, after, all_rows, least)
    if direction.separations is not None:
        first, second = direction.separations
        overall = replace(overall, separation_before=first.deviations, separation_after=second.deviations)
    yield overall
    for attribute in spec.people.attributes:
        for index, group in enumerate(attribute.groups):
            yield _record(direction, attribute.name, group, before, after, attribute.codes == index, least)


def _record(
    direction: Direction, attribute: str | None, group: str | None, before: Floats, after: Floats,
    rows: NDArray[np.bool_], least: int,
) -> ProjectionRecord:  # fmt: skip
    name = direction.name
    people = int(rows.sum())
    if people < least:
        hidden = dict.fromkeys(
            ("mean_before", "mean_after", "median_omega", "exploded", "median_bounded"), float("nan")
        )
        return ProjectionRecord(
            direction=name, attribute=attribute, group=group, people=None, omega_undefined=None,
            bounded_undefined=None, status=Status.TOO_SMALL, reason=because(AuditReason.SUPPRESSED, least=least),
            **hidden,
        )  # fmt: skip
    change, bounded = omega(before[rows], after[rows]), bounded_omega(before[rows], after[rows])
    defined = change[~np.isnan(change)]
    return ProjectionRecord(
        direction=name,
        attribute=attribute,
        group=group,
        people=people,
        mean_before=float(before[rows].mean()),
        mean_after=float(after[rows].mean()),
        median_omega=_median(change),
        omega_undefined=int(np.isnan(change).sum()),
        exploded=float((np.abs(defined) > EXPLODED).mean()) if len(defined) else float("nan"),
        median_bounded=_median(bounded),
        bounded_undefined=int(np.isnan(bounded).sum()),
        status=Status.UNDEFINED if any(direction.lost) else Status.OK,
        reason=_why_lost(direction) if any(direction.lost) else None,
    )


def _why_lost(direction: Direction) -> Reason:
    sides = [side for side, lost in zip(SIDES, direction.lost, strict=True) if lost]
    return because(CompareReason.NO_DIRECTION, where=" and ".join(sides))


def _median(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(np.median(defined)) if len(defined) else float("nan")
