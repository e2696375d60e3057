"""Weights say how rows compare with each other: in which unit they are counted changes no number and no test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.results import Record

COUNTED = ("numerator", "denominator")


def rows(seed: int, size: int = 600, groups: int = 5) -> dict[str, Any]:
    """Groups that are ranked alike, and weights that have nothing to do with the outcome."""
    generator = np.random.default_rng(seed)
    target = (generator.random(size) < 0.4).astype(int)
    score = 1 / (1 + np.exp(-(generator.normal(size=size) + target)))
    return {
        "target": target, "score": score, "sensitive_features": generator.integers(0, groups, size),
        "weight": generator.lognormal(size=size),
    }  # fmt: skip


def told(records: tuple[Record, ...]) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {
        (r.measure, r.kind, r.scope, r.class_, r.group, r.against, r.attribute): (
            r.value, r.low, r.high, r.p, r.p_adjusted, r.status, r.finding
        )
        for r in records
    }  # fmt: skip


def same(one: tuple[object, ...], two: tuple[object, ...]) -> bool:
    def near(a: object, b: object) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
        return a == b

    return all(near(a, b) for a, b in zip(one, two, strict=True))


TASKS = {
    "scores": lambda given: {**given, "favourable": 1},
    "predictions": lambda given: {
        **{k: v for k, v in given.items() if k != "score"}, "prediction": (given["score"] > 0.6).astype(int)
    },
    "three classes": lambda given: {
        "target": np.digitize(given["score"], [0.4, 0.7]),
        "prediction": np.roll(np.digitize(given["score"], [0.5, 0.8]), 3),
        "sensitive_features": given["sensitive_features"], "weight": given["weight"],
    },
    "regression": lambda given: {
        **{k: v for k, v in given.items() if k != "score"}, "prediction": given["score"] * 3,
        "target": given["target"] + given["score"], "task": "regression",
    },
}  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize("unit", [1000.0, 1e-6])
@pytest.mark.parametrize("task", TASKS)
def test_multiplying_all_weights_changes_no_value_interval_or_p(task: str, unit: float) -> None:
    given = TASKS[task](rows(3))
    plain = told(equipoise.audit(**given, draws=200).records)
    other = told(equipoise.audit(**{**given, "weight": given["weight"] * unit}, draws=200).records)
    assert plain.keys() == other.keys()
    differing = {key: (plain[key], other[key]) for key in plain if not same(plain[key], other[key])}
    assert not differing


def auc_p(given: dict[str, Any], weight: object) -> float:
    result = equipoise.audit(**{**given, "weight": weight}, favourable=1, draws=199)
    (p,) = (r.p for r in result.records if r.measure == "auc_difference")
    assert p is not None
    return p


@pytest.mark.long
@pytest.mark.once
def test_weights_do_not_make_differences_of_the_auc_out_of_chance() -> None:
    """5 groups ranked alike: about 5% have p <= 0.05 without weights, with equal and with unequal ones."""
    reports = 80
    found = {"none": 0, "equal": 0, "unequal": 0}
    for seed in range(reports):
        given = rows(seed)
        p = {"none": auc_p(given, None), "equal": auc_p(given, np.full(600, 1000.0)),
             "unequal": auc_p(given, given["weight"])}  # fmt: skip
        assert p["equal"] == p["none"]
        for name, value in p.items():
            found[name] += value <= 0.05
    for number in found.values():
        assert number / reports <= 0.05 + 2.6 * math.sqrt(0.05 * 0.95 / reports)
