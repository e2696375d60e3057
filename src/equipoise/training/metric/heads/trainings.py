"""How classifiers on embeddings are trained: on own, balanced or oversampled rows, or domain by domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.reproducibility import stream
from equipoise.training.material import Codes, Material
from equipoise.training.preparing import Prepared

OWN, BALANCED, OVERSAMPLED, DOMAIN_INDEPENDENT = ("own", "balanced", "oversampled", "domain_independent")
# The same two on balanced rows, as in the paper's Tables 8 and 11.
BALANCED_OVERSAMPLED, BALANCED_DOMAIN_INDEPENDENT = ("balanced_oversampled", "balanced_domain_independent")
TRAININGS = (OWN, BALANCED, OVERSAMPLED, DOMAIN_INDEPENDENT, BALANCED_OVERSAMPLED, BALANCED_DOMAIN_INDEPENDENT)
BY_DOMAIN = (DOMAIN_INDEPENDENT, BALANCED_DOMAIN_INDEPENDENT)
# How a note names a training that is not "on ... rows".
SAID = {
    DOMAIN_INDEPENDENT: ", domain-independent",
    BALANCED_DOMAIN_INDEPENDENT: ", domain-independent on balanced rows",
    BALANCED_OVERSAMPLED: " on balanced, oversampled rows",
}
USUAL = (OWN, BALANCED)
# Domain-independent training gives a linear classifier outputs of every domain: this is the one that it is kin to.
KIN = "logistic_regression"


def check_trainings(given: object, downstream: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the trainings of classifiers in one order, the usual two where none are given; others are refused."""
    if given is None:
        return list(USUAL)
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise BadInput(f"trainings is {given!r}", available=f"a list of {', '.join(TRAININGS)}")
    for name in given:
        if name not in TRAININGS:
            raise unknown_name("training", str(name), TRAININGS, "those of classifiers on an embedding")
    by_domain = [name for name in BY_DOMAIN if name in given]
    if by_domain and not any(one["name"] == KIN for one in downstream):
        raise BadInput(
            f"trainings has {by_domain[0]!r} and downstream no {KIN!r}",
            available=f"{by_domain[0]!r} where {KIN!r} is trained: it is that with outputs of every domain",
            help=f"add {KIN!r} to downstream.",
        )
    return [name for name in TRAININGS if name in given]


def without_usual(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters that name a trial: trials of the usual trainings are those they were before."""
    return {name: value for name, value in values.items() if name != "trainings" or tuple(value) != USUAL}


def rows_for(training: str, trial: Prepared, material: Material) -> Codes:
    """Return the training rows of the cohort that a classifier is trained on; own rows where it differs otherwise."""
    target = material.train.target
    assert target is not None
    rows = trial.rows
    if training in (BALANCED, BALANCED_OVERSAMPLED, BALANCED_DOMAIN_INDEPENDENT):
        rows = balanced_rows(target, trial.seed)
    if training in (OVERSAMPLED, BALANCED_OVERSAMPLED):
        return oversampled_rows(rows, target, domains_of(trial, material, rows), trial.seed)
    return rows


def domains_of(trial: Prepared, material: Material, rows: Codes) -> Codes:
    """Return the domain of training rows: the part of its class where the condition parts classes, else the group."""
    target, group = material.train.target, material.train.group
    assert target is not None
    assert group is not None
    return group[rows] if trial.domains is None else trial.domains[target[rows]]


def balanced_rows(target: Codes, seed: int) -> Codes:
    """Return training rows with equally many of every class, as many as the smallest has, drawn by the seed."""
    from equipoise.audits.downstream import rebalanced

    known = np.flatnonzero(target >= 0)
    places, _ = rebalanced(target[known], "down", stream(seed, "downstream balanced"))
    return known[places]


def oversampled_rows(rows: Codes, target: Codes, domains: Codes, seed: int) -> Codes:
    """Return rows, repeated at random until every class of a domain has as many as the largest of them."""
    from equipoise.audits.downstream import rebalanced

    cells = target[rows] * (int(domains.max()) + 1) + domains
    places, _ = rebalanced(cells, "up", stream(seed, "downstream oversampled"))
    return rows[places]
