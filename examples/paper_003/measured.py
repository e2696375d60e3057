"""What is measured of a representation: PNKA against the baseline, who changed most, and a model trained on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equipoise import measures
from equipoise.audits.compare import cut_lowest
from equipoise.foundation import stream
from paper_003.people import People

KERNELS = ("linear", "rbf")
LOWEST = 0.10
EDGES = np.round(np.linspace(-1, 1, 41), 2)
HIGH = 0.8
DIGITS = 9  # people with the same row have the same score; rounding makes no differences


@dataclass(frozen=True)
class Outcome:
    """Predictions of a logistic regression on a representation, for the test people, and Tables 1 and 2 of them."""

    predicted: np.ndarray
    table: dict[str, float]


def outcome_of(people: People, representation: np.ndarray) -> Outcome:
    """Train on the training rows, predict the others."""
    test = ~people.train
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(representation[people.train], people.label[people.train])
    predicted = model.predict(representation[test])
    truth, group = people.label[test], people.group[test]
    rates = getattr(measures, people.rate).by_group(truth, predicted, sensitive_features=group, favourable=1)
    parity = measures.statistical_parity_difference(
        predicted, target=truth, sensitive_features=group, favourable=1,
        unprivileged=people.unprivileged, privileged=people.privileged,
    )  # fmt: skip
    table = {
        "accuracy": float((predicted == truth).mean()),
        "statistical_parity": parity,
        "consistency": measures.consistency(people.rows[test], predicted),
        **{f"rate_{name}": value for name, value in rates.items()},
    }
    return Outcome(predicted, table)


def change_of(people: People, before: np.ndarray, after: np.ndarray, kernel: str, most: int) -> dict[str, Any]:
    """Compare two representations of the test people, person by person."""
    chosen = _scored(people, kernel, most)
    one, other = before[chosen], after[chosen]
    scores = np.round(np.asarray(measures.pnka(one, other, kernel=kernel)), DIGITS)
    cut = cut_lowest(scores, LOWEST, "fractional")
    return {
        "cka": measures.cka(one, other, kernel=kernel),
        "mean": float(scores.mean()),
        "spread": float(scores.std()),
        "quantiles": {f"{share:.2f}": float(np.quantile(scores, share)) for share in (0.01, 0.1, 0.25, 0.5, 0.75, 0.9)},
        "high": float((scores >= HIGH).mean()),
        "histogram": (np.histogram(np.clip(scores, -1, 1), EDGES)[0] / len(scores)).tolist(),
        "lowest": composition(people, chosen, cut.weights),
        "lowest_tied": cut.tied / len(scores),
    }


def _scored(people: People, kernel: str, most: int) -> np.ndarray:
    """Return which test people are compared: an RBF kernel needs every pair, so it sees a sample of Adult's."""
    test = np.flatnonzero(~people.train)
    if kernel == "linear" or len(test) <= most:
        return test
    return np.sort(stream(0, "rbf", people.name).choice(test, most, replace=False))


def composition(people: People, chosen: np.ndarray, weights: np.ndarray) -> dict[str, dict[str, dict[str, float]]]:
    """Return each group's share of the chosen and of everyone, and both with each distinct profile counted once."""
    _, profile, size = np.unique(people.profiles[chosen], return_inverse=True, return_counts=True)
    once = weights / size[profile]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for attribute, labels in people.attributes.items():
        own = labels[chosen]
        found[attribute] = {
            group: {
                "of_lowest": float(weights[own == group].sum() / weights.sum()),
                "of_everyone": float((own == group).mean()),
                "of_lowest_profiles": float(once[own == group].sum() / once.sum()),
                "of_profiles": float((1.0 / size[profile])[own == group].sum() / len(size)),
            }
            for group in sorted(set(own.tolist()))
        }
    return found


def flips(people: People, before: Outcome, after: Outcome) -> dict[str, float]:
    """Return which part of each group is predicted otherwise than before."""
    group = people.group[~people.train]
    moved = before.predicted != after.predicted
    return {name: float(moved[group == name].mean()) for name in (people.unprivileged, people.privileged)}
