"""Who is compared with whom: one space of points, seen by the groups of each attribute."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from equipoise.audits.compare.rows import Attribute
from equipoise.audits.embedding.question import EmbeddingQuestion
from equipoise.tallies.embedded import Embedded, embed


def sizes_of(question: EmbeddingQuestion, attribute: Attribute) -> dict[str, int]:
    """Return how many rows the groups of an attribute have, those that may be compared and told."""
    rows = np.bincount(attribute.codes, minlength=len(attribute.groups))
    tested = attribute.tested(include_missing=question.include_missing)
    least = max(question.suppress_below, 1)
    return {attribute.groups[place]: int(rows[place]) for place in tested if rows[place] >= least}


def compared_groups(question: EmbeddingQuestion, attribute: Attribute) -> tuple[str, ...]:
    """Return the groups that are large enough; all of them where that leaves nothing to compare."""
    sizes = sizes_of(question, attribute)
    large = tuple(group for group, rows in sizes.items() if rows >= question.least_people)
    return large if len(large) > 1 else tuple(sizes)


def majoritised(question: EmbeddingQuestion, attribute: Attribute) -> tuple[str, ...]:
    """Return the groups that others are held against: those named, else the largest (the first, where several are)."""
    named = question.majoritised.get(attribute.name, ())
    if named or question.minoritised.get(attribute.name):
        return named
    sizes = sizes_of(question, attribute)
    return (max(compared_groups(question, attribute), key=lambda group: sizes[group]),)


def whole_space(question: EmbeddingQuestion) -> Embedded:
    """Return all rows as one group. Neighbours and clusters are looked for here once, for every attribute."""
    return embed(
        question.embedding.numbers(), question.target, cluster=question.cluster, k=question.k, metric=question.metric,
        seed=question.seed,
    )  # fmt: skip


def grouped(whole: Embedded, question: EmbeddingQuestion, attribute: Attribute, groups: Collection[str]) -> Embedded:
    """Return the same space in some groups of an attribute; rows of other groups are in none."""
    kept = tuple(group for group in attribute.groups if group in groups)
    place = np.array([kept.index(group) if group in kept else -1 for group in attribute.groups], dtype=np.int64)
    return replace(whole, codes=place[attribute.codes][question.has_class], groups=kept)


def compared_space(whole: Embedded, question: EmbeddingQuestion, attribute: Attribute) -> Embedded:
    """Return the space in the groups that are compared, with the sides of their gaps."""
    made = grouped(whole, question, attribute, compared_groups(question, attribute))
    sides = (majoritised(question, attribute), question.minoritised.get(attribute.name, ()))
    first, second = (tuple(group for group in side if group in made.groups) for side in sides)
    return replace(made, majoritised=first, minoritised=second)
