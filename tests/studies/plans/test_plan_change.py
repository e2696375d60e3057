"""What a changed plan says of the trials that were done before: how many fit, and what differs."""

from __future__ import annotations

from dataclasses import replace

from equipoise.studies import Trial
from equipoise.studies.plans import (
    Named,
    plan_change,
)

CONDITIONS = [Named("interpolation", 1, {"mode": "joint", "alpha": alpha}) for alpha in (0, 1, 1.5)]


def trials(conditions: list[Named] = CONDITIONS, size: int = 1_927, treatments: tuple[str, ...] = ("untreated",),
           width: int = 300, seeds: int = 2) -> list[Trial]:  # fmt: skip
    return [
        Trial("sha256:" + "a" * 64, ("sex",), condition, size, Named("mlp", 1, {"width": width, "epochs": 9}),
              (Named(treatment, 1),), seed, 0, "native", "float32", "cpu", "dto")
        for condition in conditions for treatment in treatments for seed in range(seeds)
    ]  # fmt: skip


def test_a_dropped_condition_that_changes_the_size_names_the_size() -> None:
    change = plan_change(trials(), trials(CONDITIONS[:2], size=2_840))
    assert "0 of 6 stored trials fit this plan: size 1,927 -> 2,840. 4 trials will be trained" in change.words


def test_what_only_some_trials_differ_in_is_named_too() -> None:
    change = plan_change(trials(treatments=("untreated", "inlp")), trials(treatments=("untreated", "reweighting")))
    assert (change.stored, change.fitting, change.missing) == (12, 6, 6)
    assert "treatment inlp -> reweighting" in change.words


def test_of_a_learner_the_settings_that_differ_are_named() -> None:
    assert "learner mlp, width=300 -> width=64." in plan_change(trials(), trials(width=64)).words


def test_a_plan_that_lacks_nothing_has_nothing_to_say() -> None:
    assert not plan_change(trials(), trials(seeds=5)).words, "more seeds: all that is stored fits"
    assert not plan_change(trials(), trials(CONDITIONS[:1])).words, "all that is wanted is stored"
    assert not plan_change([], trials()).words


def test_a_stored_trial_fits_whatever_the_order_of_its_settings() -> None:
    turned = [replace(trial, learner=Named("mlp", 1, {"epochs": 9, "width": 300})) for trial in trials()]
    assert "learner" not in plan_change(turned, trials(size=5)).words
