"""Performance that counts cannot tell: the AUC of every trial, from the scores that were kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from equipoise.foundation.errors import BadInput
from equipoise.measures.gaps import distance
from equipoise.measures.objectives import PERFORMANCES, auc_of
from equipoise.studies.findings.data import Attribute, Floats, Layout
from equipoise.studies.findings.quantities import MainMeasures, Quantity
from equipoise.studies.storage.store import Store
from equipoise.studies.storage.truth import Truth

# Of a split and an attribute: the AUC of everyone and of each group, ``[trial, 1 + group]``.
Aucs = Callable[[str, Attribute], Floats]
# What a prediction that is the same for everybody has.
CONSTANT_AUC = 0.5
# Trials whose scores are read at once.
AT_ONCE = 50


def needs_scores(main: MainMeasures) -> bool:
    """Tell whether a study is decided by something that counts cannot tell."""
    return PERFORMANCES[main.by[0]].needs_scores


def aucs_of(store: Store, keys: Sequence[str], truth: Truth, layout: Layout) -> Aucs:
    """Return what reads the scores of trials from a store and computes their AUC when it is asked for."""
    kept: dict[tuple[str, Attribute], Floats] = {}

    def aucs(split: str, attribute: Attribute) -> Floats:
        if (split, attribute) not in kept:
            kept[split, attribute] = _aucs(store, keys, truth, layout, split, attribute)
        return kept[split, attribute]

    return aucs


def _aucs(
    store: Store, keys: Sequence[str], truth: Truth, layout: Layout, split: str, attribute: Attribute
) -> Floats:  # fmt: skip
    rows = truth.of(split)
    known = np.asarray(rows.known)
    matrix, _ = layout.folding(attribute)
    members = [known, *(known & (own[rows.group] > 0) for own in matrix)]
    made = np.full((len(keys), len(members)), np.nan)
    for first in range(0, len(keys), AT_ONCE):
        part = keys[first : first + AT_ONCE]
        found = store.predictions_of(part, split, scores=True)
        for place, key in enumerate(part):
            scores = found[key].scores
            if scores is None:
                raise BadInput(
                    f"The trial {key} kept no scores, and this study is decided by the AUC",
                    help="train it with scores: without --no-scores, by a learner or function that gives them. "
                    'performance = "balanced_accuracy" needs none, but learners are then trained again, because '
                    "performance also chooses their epochs.",
                )
            made[first + place] = [float(auc_of(scores[own], rows.target[own])) for own in members]
    return made


def fill_in(
    values: Floats, quantities: Sequence[Quantity], main: MainMeasures, of: Callable[[Attribute], Floats]
) -> None:
    """Put the AUC, and what is made of it, into the values ``[trial, quantity]`` of one split."""
    places = {(own.measure, own.attribute): place for place, own in enumerate(quantities)}
    for place, quantity in enumerate(quantities):
        if quantity.role is None:
            continue
        found = of(quantity.attribute)
        fair = values[:, places[main.fairness, quantity.attribute]] if quantity.attribute else None
        if main.by[1] == "worst_group" and quantity.attribute:
            fair = found[:, 1:].min(axis=1)
        if quantity.role == "performance":
            values[:, place] = found[:, 0]
        elif fair is not None:
            values[:, place] = fair if quantity.role == "fairness" else distance(found[:, 0], fair)
