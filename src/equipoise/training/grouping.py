"""Which jobs train together: those that differ in seed, repeat and real-valued hyper-parameters only.

A whole number or a choice (epochs, batch size, width, a variant) shapes the network or the loop, so it is the same for
all of a stack, and so is the number of training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from equipoise.training.parameters import Parameter, Table
from equipoise.training.preparing import Prepared

Numbered = tuple[int, Prepared]


def stacks_of(
    jobs: Sequence[Numbered], table: Table, size_of: Callable[[Sequence[Prepared]], int]
) -> list[list[Numbered]]:
    """Deal numbered jobs into stacks, in order; ``size_of`` says how many of one kind are best trained together."""
    kinds: dict[Hashable, list[Numbered]] = {}
    for place, job in jobs:
        kinds.setdefault(kind_of(job, table), []).append((place, job))
    return [stack for alike in kinds.values() for stack in _cut(alike, size_of([job for _, job in alike]))]


def kind_of(job: Prepared, table: Table) -> Hashable:
    """Return what all jobs of a stack share; ``table`` has the hyper-parameters of the learner."""
    treatments = tuple((type(one), _shape(one.parameters, one.values)) for one in job.treatments)
    return len(job.rows), _shape(table, job.values), treatments


def _shape(table: Table, values: Mapping[str, Any]) -> Hashable:
    return tuple((name, _hashable(value)) for name, value in values.items() if not _may_differ(table.get(name)))


def _may_differ(parameter: object) -> bool:
    return isinstance(parameter, Parameter) and not parameter.whole


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)


def _cut(alike: list[Numbered], size: int) -> list[list[Numbered]]:
    """Cut into as few stacks as there can be, whose sizes differ by one at most."""
    number = -(-len(alike) // size)
    edges = [len(alike) * part // number for part in range(number + 1)]
    return [alike[begin:end] for begin, end in pairwise(edges)]
