"""What the points give away, and what carries over to classifiers trained on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.propagation import PropagationPoint, propagation
from equipoise.audits.downstream.result import Downstream
from equipoise.audits.downstream.splits import carried_by
from equipoise.audits.downstream.training import downstream
from equipoise.audits.embedding._spec import EmbeddingAuditSpec
from equipoise.audits.embedding.spaces import majoritised
from equipoise.audits.leakage.probing import Leakage, leakage
from equipoise.results import Record
from equipoise.tallies.factorise import factorise

Progress = Callable[[str, float], None]
# The upstream number whose gap is set against the gaps downstream.
UPSTREAM = "recall_at_k"
# Fewer classes cannot be dealt to folds whole.
MANY_CLASSES = 10


def told_groups(spec: EmbeddingAuditSpec) -> dict[str, NDArray[np.object_]]:
    """The groups of every row, those that are too small to be told left out."""
    found = spec.groups()
    for attribute in spec.attributes:
        sizes = np.bincount(attribute.codes, minlength=len(attribute.groups))
        found[attribute.name][sizes[attribute.codes] < spec.suppress_below] = None
    return found


def trained(spec: EmbeddingAuditSpec, tell: Progress) -> Downstream | None:
    """Train the classifiers that were asked for."""
    if not spec.learners:
        return None
    target = spec.target if spec.downstream_target is None else spec.downstream_target
    found = downstream(
        spec.embedding,
        target,
        told_groups(spec),
        learners=spec.learners,
        train=spec.train,
        cluster=kept_together(spec, None if spec.downstream_target is None else [target]),
        rebalance=spec.rebalance,
        variant=spec.macro,
        seed=spec.seed,
        draws=spec.draws,
        reference={a.name: sides[0] for a in spec.attributes if len(sides := majoritised(spec, a)) == 1},
        progress=lambda what, done, total: tell(what, 0.75 + 0.22 * done / total),
    )
    told = (record for record in found.records if record.kind != "group" or record.people >= spec.suppress_below)
    return replace(found, records=tuple(told))


def probed(spec: EmbeddingAuditSpec) -> Leakage | None:
    """Read the groups from the points, if that was asked for."""
    if not spec.leakage:
        return None
    groups = told_groups(spec)
    cluster = kept_together(spec, list(groups.values()))
    return leakage(spec.embedding, groups, cluster=cluster, seed=spec.seed, draws=spec.draws)


def kept_together(spec: EmbeddingAuditSpec, columns: Sequence[Any] | None) -> NDArray[np.int64] | None:
    """Return which rows must not be on both sides of a split: clusters, else classes that tell what is to be learnt.

    A probe that has seen a person would recognise the person, not the group.
    """
    if spec.cluster is not None or columns is None:
        return spec.cluster
    codes = spec.classes.codes
    several = MANY_CLASSES <= len(np.unique(codes)) < len(codes)
    return codes if several and any(carried_by(codes, factorise(column).codes) for column in columns) else None


def carried_over(records: Iterable[Record], carried: Downstream) -> tuple[PropagationPoint, ...]:
    """Set the gap of the space against every gap downstream."""
    gaps = [record for record in records if record.measure == f"{UPSTREAM}_gap" and record.defined]
    upstream = {
        gap.attribute[0]: gap.value for gap in gaps if gap.variant in ("paper", _widest(gap.attribute[0], carried))
    }
    return propagation(upstream, carried, measure=UPSTREAM) if upstream else ()


def _widest(attribute: str, carried: Downstream) -> str | None:
    """Of three groups or more the widest gap is set against the widest downstream; of two there is one."""
    return "best_minus_worst" if carried.find(kind="largest gap", attribute=attribute) else None
