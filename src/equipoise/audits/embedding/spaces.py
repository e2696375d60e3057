"""Who is compared with whom: one space of points, seen by the groups of each attribute."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from equipoise.audits.compare import Attribute
from equipoise.audits.embedding._spec import EmbeddingAuditSpec
from equipoise.tallies.embedded import Embedded, embed


def sizes_of(spec: EmbeddingAuditSpec, attribute: Attribute) -> dict[str, int]:
    """Return how many rows the groups of an attribute have, those that may be compared and told."""
    rows = np.bincount(attribute.codes, minlength=len(attribute.groups))
    tested = attribute.tested(include_missing=spec.include_missing)
    least = max(spec.suppress_below, 1)
    return {attribute.groups[place]: int(rows[place]) for place in tested if rows[place] >= least}


def compared_groups(spec: EmbeddingAuditSpec, attribute: Attribute) -> tuple[str, ...]:
    """Return the groups that are large enough; all of them where that leaves nothing to compare."""
    sizes = sizes_of(spec, attribute)
    large = tuple(group for group, rows in sizes.items() if rows >= spec.least_people)
    return large if len(large) > 1 else tuple(sizes)


def majoritised(spec: EmbeddingAuditSpec, attribute: Attribute) -> tuple[str, ...]:
    """Return the groups that others are held against: those named, else the largest (the first, where several are)."""
    named = spec.majoritised.get(attribute.name, ())
    if named or spec.minoritised.get(attribute.name):
        return named
    sizes = sizes_of(spec, attribute)
    return (max(compared_groups(spec, attribute), key=lambda group: sizes[group]),)


def whole_space(spec: EmbeddingAuditSpec) -> Embedded:
    """Return all rows as one group. Neighbours and clusters are looked for here once, for every attribute."""
    return embed(
        spec.embedding.numbers(), spec.target, cluster=spec.cluster, k=spec.k, metric=spec.metric,
        seed=spec.seed,
    )  # fmt: skip


def grouped(whole: Embedded, spec: EmbeddingAuditSpec, attribute: Attribute, groups: Collection[str]) -> Embedded:
    """Return the same space in some groups of an attribute; rows of other groups are in none."""
    kept = tuple(group for group in attribute.groups if group in groups)
    place = np.array([kept.index(group) if group in kept else -1 for group in attribute.groups], dtype=np.int64)
    return replace(whole, codes=place[attribute.codes][spec.has_class], groups=kept)


def compared_space(whole: Embedded, spec: EmbeddingAuditSpec, attribute: Attribute) -> Embedded:
    """Return the space in the groups that are compared, with the sides of their gaps."""
    made = grouped(whole, spec, attribute, compared_groups(spec, attribute))
    sides = (majoritised(spec, attribute), spec.minoritised.get(attribute.name, ()))
    first, second = (tuple(group for group in side if group in made.groups) for side in sides)
    return replace(made, majoritised=first, minoritised=second)
