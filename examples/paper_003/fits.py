"""LFR for four objectives: at matched utility by our optimiser, and as AIF360 runs it at its default weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from equipoise.treatments import (
    LearnedFairRepresentations,
    LFRObjective,
    LFRParts,
    LFRWeights,
    distinct_patterns,
    lfr_objective_parts,
    prototype_memberships,
)
from paper_003.people import People

PROTOTYPES = 5
STARTS = 3  # each fit is the best of three starts
FULL = 50.0  # AIF360's default weight of group fairness
SHARE = 0.99  # what every debiased objective pays: this share of what group fairness at full weight costs
AIF360_EVALUATIONS = 5000
AIF360 = {
    "utility": LFRWeights(1.0, 0.0, 0.0),
    "group": LFRWeights(1.0, 50.0, 0.0),
    "individual": LFRWeights(1.0, 0.0, 0.01),
    "both": LFRWeights(1.0, 50.0, 0.01),
}


@dataclass(frozen=True)
class Fit:
    """A learnt representation of everybody, the parts of its objective on the training rows, and its collapse."""

    representation: np.ndarray
    parts: LFRParts
    collapsed: bool


def fit(people: People, weights: LFRWeights, seed: int, group: np.ndarray | None = None) -> Fit:
    """Learn from the training rows and represent everybody; ``group`` stands in for the protected attribute."""
    model = LearnedFairRepresentations(
        PROTOTYPES, utility=weights.utility, group_fairness=weights.group, individual_fairness=weights.individual,
        starts=STARTS, seed=seed,
    )  # fmt: skip
    groups = people.group if group is None else group
    model.fit(people.rows[people.train], people.label[people.train], groups[people.train])
    return Fit(model.transform(people.rows), model.parts_, model.collapsed_)


def fit_as_aif360(people: People, weights: LFRWeights, seed: int) -> Fit:
    """Learn as AIF360 does, with the exact gradient: kinks as they are, as many gradients as its budget pays for."""
    rows, label = people.rows[people.train], people.label[people.train] == 1
    patterns = distinct_patterns(rows, label, (people.group[people.train] == people.privileged).astype(np.intp))
    objective = LFRObjective(patterns, PROTOTYPES, weights)
    size = PROTOTYPES * (1 + rows.shape[1])
    found = fmin_l_bfgs_b(
        lambda point: objective(point)[1:], np.random.RandomState(seed).uniform(size=size),
        bounds=[(0, 1)] * PROTOTYPES + [(None, None)] * (size - PROTOTYPES), maxfun=AIF360_EVALUATIONS // (size + 1),
    )[0]  # fmt: skip
    outcome, prototypes = objective.split(found)
    guess = prototype_memberships(patterns.rows, prototypes) @ outcome
    above = guess > label.mean()
    parts = lfr_objective_parts(outcome, prototypes, patterns)
    representation = prototype_memberships(people.rows, prototypes) @ prototypes
    return Fit(representation, parts, bool(above.all() or not above.any()))


def matched_weights(people: People, steps: int, seeds: int) -> tuple[dict[str, LFRWeights], float]:
    """Return weights at which every debiased objective pays the same L_y on the training rows, and that L_y."""

    def paid(weights: LFRWeights) -> float:
        return float(np.mean([fit(people, weights, seed).parts.utility for seed in range(seeds)]))

    def match(group: float, individual: float) -> LFRWeights:
        low, high = 1e-4, 1.0  # in parts of the highest weights; on a logarithmic scale
        nearest = (np.inf, LFRWeights(1.0, group, individual))
        for _ in range(steps):
            middle = float(np.sqrt(low * high))
            tried = LFRWeights(1.0, float(f"{middle * group:.4g}"), float(f"{middle * individual:.4g}"))
            cost = paid(tried)
            nearest = min(nearest, (abs(cost - price), tried), key=lambda pair: pair[0])
            low, high = (middle, high) if cost < price else (low, middle)
        return nearest[1]

    plain = LFRWeights(1.0, 0.0, 0.0)
    free, full = paid(plain), paid(LFRWeights(1.0, FULL, 0.0))
    price = free + SHARE * (full - free)
    group, individual = match(FULL, 0.0), match(0.0, FULL)
    both = match(group.group, individual.individual)
    return {"utility": plain, "group": group, "individual": individual, "both": both}, price
