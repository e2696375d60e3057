"""Learned fair representations: objective and gradient against slow and automatic ones, then what a fit promises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.base import clone

from equipoise import BadInput
from equipoise.foundation import registry
from equipoise.testing import check
from equipoise.treatments import (
    LearnedFairRepresentations,
    LFRObjective,
    LFRWeights,
    distinct_patterns,
    lfr_objective_parts,
    prototype_memberships,
)

ALL = LFRWeights(utility=1.0, group=5.0, individual=0.3)


def people(rows: int = 120, groups: int = 2, seed: int = 0, *, discrete: bool = True) -> tuple[Any, Any, Any]:
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 2, (rows, 4)).astype(float) if discrete else generator.normal(size=(rows, 4))
    group = generator.integers(0, groups, rows)
    group[:groups] = np.arange(groups)
    y = generator.random(rows) < 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1] + group - 1)))
    return X, y, group


def point_of(columns: int, prototypes: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.05, 0.95, prototypes * (1 + columns))


def aif360_objective(w: Any, v: Any, X: Any, y: Any, group: Any, weights: LFRWeights) -> float:  # noqa: N803
    """AIF360's objective for two groups, row by row, as its helper computes it."""
    parts, shares = [], []
    guesses, truths = [], []
    for g in (0, 1):
        rows = X[group == g]
        member = softmax(-cdist(rows, v), axis=1)
        parts.append(np.mean((member @ v - rows) ** 2))
        shares.append(member.mean(axis=0))
        guesses.append(np.clip(member @ w, np.finfo(float).eps, 1 - np.finfo(float).eps))
        truths.append(y[group == g])
    guess, truth = np.concatenate(guesses), np.concatenate(truths)
    entropy = -np.mean(truth * np.log(guess) + (1 - truth) * np.log(1 - guess))
    apart = np.mean(np.abs(shares[0] - shares[1]))
    return float(weights.individual * sum(parts) + weights.utility * entropy + weights.group * apart)


@pytest.mark.parametrize("discrete", [True, False])
def test_with_two_groups_the_objective_is_aif360s(discrete: bool) -> None:
    X, y, group = people(discrete=discrete)
    patterns = distinct_patterns(X, y, group)
    objective = LFRObjective(patterns, 3, ALL)
    for seed in range(5):
        point = point_of(4, seed=seed)
        w, v = objective.split(point)
        expected = aif360_objective(w, v, X, y, group, ALL)
        assert objective(point).exact == pytest.approx(expected, rel=1e-12)
        assert lfr_objective_parts(w, v, patterns).total(ALL) == pytest.approx(expected, rel=1e-12)


def test_with_three_groups_it_is_the_mean_over_pairs_and_twice_the_mean_over_groups() -> None:
    X, y, group = people(groups=3)
    w, v = np.array([0.2, 0.5, 0.9]), np.random.default_rng(4).random((3, 4))
    parts = lfr_objective_parts(w, v, distinct_patterns(X, y, group))
    member = [softmax(-cdist(X[group == g], v), axis=1) for g in range(3)]
    means = [part.mean(axis=0) for part in member]
    apart = [np.abs(means[a] - means[b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))]
    errors = [np.mean((member[g] @ v - X[group == g]) ** 2) for g in range(3)]
    assert parts.group == pytest.approx(np.mean(apart))
    assert parts.individual == pytest.approx(2 * np.mean(errors))


def test_equal_rows_are_put_together_and_change_nothing() -> None:
    X, y, group = people(rows=400)
    patterns = distinct_patterns(X, y, group)
    assert len(patterns.rows) == 16
    assert patterns.people == 400
    apart = X + np.random.default_rng(0).normal(0, 1e-9, X.shape)  # no two rows are equal now
    assert len(distinct_patterns(apart, y, group).rows) == 400
    point = point_of(4)
    one, other = (LFRObjective(distinct_patterns(rows, y, group), 3, ALL)(point) for rows in (X, apart))
    assert one.exact == pytest.approx(other.exact, rel=1e-6)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-5, atol=1e-7)


WEIGHT = st.sampled_from([0.0, 0.01, 1.0, 50.0])


@settings(deadline=None, max_examples=40)
@given(
    weights=st.builds(LFRWeights, utility=WEIGHT, group=WEIGHT, individual=WEIGHT),
    groups=st.integers(2, 4),
    smoothing=st.sampled_from([0.0, 1e-3, 0.1]),
    seed=st.integers(0, 1000),
)
def test_the_gradient_is_that_of_finite_differences(
    weights: LFRWeights, groups: int, smoothing: float, seed: int
) -> None:
    X, y, group = people(groups=groups, seed=seed, discrete=bool(seed % 2))
    objective = LFRObjective(distinct_patterns(X, y, group), 3, weights)
    point = point_of(4, seed=seed)
    if closest_kink(objective, point, X, group) < 1e-4:
        return
    found = objective(point, smoothing)
    expected = approx_fprime(point, lambda at: objective(at, smoothing).value, 1e-7)
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-4, atol=2e-5)


def closest_kink(objective: LFRObjective, point: np.ndarray, X: np.ndarray, group: np.ndarray) -> float:  # noqa: N803
    _, v = objective.split(point)
    means = [prototype_memberships(X[group == g], v).mean(axis=0) for g in np.unique(group)]
    apart = [np.abs(a - b).min() for index, a in enumerate(means) for b in means[:index]]
    return float(min(*apart, cdist(X, v).min()))


@pytest.mark.parametrize("groups", [2, 3])
def test_the_gradient_is_that_of_autograd(groups: int) -> None:
    torch = pytest.importorskip("torch")
    X, y, group = people(groups=groups, discrete=False)
    objective = LFRObjective(distinct_patterns(X, y, group), 3, ALL)
    point = point_of(4)
    at = torch.tensor(point, requires_grad=True)
    w, v = at[:3], at[3:].reshape(3, 4)
    rows = torch.tensor(X)
    member = torch.softmax(-torch.cdist(rows, v, compute_mode="donot_use_mm_for_euclid_dist"), dim=1)
    guess = (member @ w).clamp(np.finfo(float).eps, 1 - np.finfo(float).eps)
    masks = [torch.tensor(group == g) for g in range(groups)]
    errors = [((member[mask] @ v - rows[mask]) ** 2).mean() for mask in masks]
    means = [member[mask].mean(dim=0) for mask in masks]
    apart = [(means[a] - means[b]).abs().mean() for a in range(groups) for b in range(a)]
    loss = ALL.individual * 2 * sum(errors) / groups + ALL.group * sum(apart) / len(apart)
    loss = loss + ALL.utility * torch.nn.functional.binary_cross_entropy(guess, torch.tensor(y, dtype=torch.float64))
    loss.backward()
    found = objective(point)
    assert found.exact == pytest.approx(loss.item(), rel=1e-12)
    np.testing.assert_allclose(found.gradient, at.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_on_a_kink_the_gradient_is_finite() -> None:
    X, y, group = people()
    objective = LFRObjective(distinct_patterns(X, y, group), 2, ALL)
    # Prototypes on a row and on each other (every difference of L_z is 0), and weights at their bounds (clipped).
    found = objective(np.concatenate([[1.0, 1.0], X[0], X[0]]))
    assert math.isfinite(found.exact)
    assert np.isfinite(found.gradient).all()
    assert found.gradient[:2].tolist() == [0.0, 0.0]


# The estimator.


def test_it_learns_and_hides_what_the_weights_ask_for() -> None:
    X, y, group = people(rows=1500, seed=2)
    X = np.column_stack([X, group])
    useful = LearnedFairRepresentations(group_fairness=0, individual_fairness=0).fit(X, y, group)
    hidden = LearnedFairRepresentations(group_fairness=50, individual_fairness=0).fit(X, y, group)
    faithful = LearnedFairRepresentations(group_fairness=0, individual_fairness=10).fit(X, y, group)
    assert useful.parts_.utility < hidden.parts_.utility
    assert hidden.parts_.group < 0.01 < useful.parts_.group
    assert faithful.parts_.individual < 0.6 * useful.parts_.individual
    assert (useful.predict(X) == y).mean() > max(y.mean(), 1 - y.mean())
    error = ((faithful.transform(X) - X) ** 2).mean()
    assert error < ((useful.transform(X) - X) ** 2).mean()


def test_the_smoothed_kinks_end_lower_than_the_kinked_objective_does() -> None:
    from scipy.optimize import fmin_l_bfgs_b

    X, y, group = people(rows=800, seed=3)
    X = np.column_stack([X, group])
    objective = LFRObjective(distinct_patterns(X, y, group), 5, LFRWeights(1.0, 50.0, 0.01))
    bounds = [(0, 1)] * 5 + [(None, None)] * 25
    kinked = [
        fmin_l_bfgs_b(lambda at: objective(at)[1:], np.random.default_rng(s).random(30), bounds=bounds)[1]
        for s in range(3)
    ]
    assert LearnedFairRepresentations().fit(X, y, group).objective_ < min(kinked)


def test_what_it_reports_is_what_it_found() -> None:
    X, y, group = people(rows=300)
    model = LearnedFairRepresentations(prototypes=4, starts=3, seed=5).fit(X, y, group)
    weights = LFRWeights(1.0, 50.0, 0.01)
    assert model.prototypes_.shape == (4, 4)
    assert ((model.weights_ >= 0) & (model.weights_ <= 1)).all()
    assert model.objective_ == pytest.approx(aif360_objective(model.weights_, model.prototypes_, X, y, group, weights))
    assert model.objective_ == pytest.approx(min(step.objective for step in model.history_))
    assert model.objective_ == pytest.approx(min(model.objectives_))
    assert {step.start for step in model.history_} == {0, 1, 2}
    assert model.patterns_ == 16
    assert model.classes_ == (False, True)
    assert model.groups_ == ("0", "1")
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(chances[:, 1], model.memberships(X) @ model.weights_)
    np.testing.assert_allclose(model.transform(X), model.memberships(X) @ model.prototypes_)
    assert (model.predict(X) == (chances[:, 1] > 0.5)).all()


def test_the_same_seed_gives_the_same_prototypes_and_another_seed_others() -> None:
    X, y, group = people(rows=200)
    first, again, other = (LearnedFairRepresentations(starts=1, seed=s).fit(X, y, group) for s in (1, 1, 2))
    assert np.array_equal(first.prototypes_, again.prototypes_)
    assert not np.array_equal(first.prototypes_, other.prototypes_)


def test_a_further_start_never_moves_the_earlier_ones_and_never_makes_it_worse() -> None:
    X, y, group = people(rows=200)
    two, three = (LearnedFairRepresentations(starts=s).fit(X, y, group) for s in (2, 3))
    assert three.objectives_[:2] == two.objectives_
    assert three.objective_ <= two.objective_


def test_a_start_stops_at_its_evaluations() -> None:
    X, y, group = people(rows=200)
    model = LearnedFairRepresentations(starts=2, evaluations=7).fit(X, y, group)
    assert len(model.history_) == 14
    assert model.objective_ == pytest.approx(min(step.objective for step in model.history_))


def test_classes_and_groups_may_have_any_names_and_the_order_of_groups_does_not_matter() -> None:
    X, y, group = people(rows=200)
    plain = LearnedFairRepresentations(starts=1).fit(X, y, group)
    named = LearnedFairRepresentations(starts=1).fit(X, np.where(y, "yes", "no"), np.where(group == 1, "a", "b"))
    assert named.classes_ == ("no", "yes")
    np.testing.assert_allclose(named.prototypes_, plain.prototypes_)
    assert set(named.predict(X).tolist()) <= {"no", "yes"}


def test_a_collapse_is_said_in_words() -> None:
    generator = np.random.default_rng(0)
    group = np.repeat([0, 1], 200)
    X, y = group[:, None].astype(float), generator.random(400) < np.where(group == 1, 0.6, 0.2)
    model = LearnedFairRepresentations(group_fairness=100, individual_fairness=0).fit(X, y, group)
    assert model.collapsed_
    assert "base rate 0.380 as threshold: every row gets the same score" in model.collapse_
    free = LearnedFairRepresentations(group_fairness=0, individual_fairness=0).fit(X, y, group)
    assert not free.collapsed_
    assert free.collapse_ == ""


def test_one_class_at_the_base_rate_is_a_collapse_too_and_names_the_class() -> None:
    model = LearnedFairRepresentations()
    model.base_rate_, model.classes_ = 0.5, ("no", "yes")
    assert "every row is predicted 'yes'" in model._collapse(np.array([0.6, 0.9]))
    assert "every row is predicted 'no'" in model._collapse(np.array([0.1, 0.4]))
    assert model._collapse(np.array([0.1, 0.9])) == ""


def test_it_is_registered_cloned_and_declares_where_to_search() -> None:
    pytest.importorskip("torch")  # the shared checks train a perceptron
    check("treatment", "lfr", group_fairness=1.0, starts=1)
    assert registry.get("treatment", "lfr").details["stage"] == "pre"
    model = clone(LearnedFairRepresentations(prototypes=7, utility=2.0, seed=9))
    assert (model.prototypes, model.utility, model.seed) == (7, 2.0, 9)
    assert model.set_params(starts=2).starts == 2
    with pytest.raises(BadInput, match="no parameter 'Az'"):
        model.set_params(Az=1)
    for name, parameter in LearnedFairRepresentations.parameters.items():
        assert LearnedFairRepresentations().get_params()[name] == parameter.default
        assert parameter.least <= parameter.low < parameter.high
        for edge in (parameter.low, parameter.high):
            parameter.check(name, int(edge) if parameter.integer else edge)


def fit(X: Any = None, y: Any = None, group: Any = None, **options: Any) -> LearnedFairRepresentations:  # noqa: N803
    rows, truth, groups = people(rows=20)
    return LearnedFairRepresentations(**options).fit(
        rows if X is None else X, truth if y is None else y, groups if group is None else group
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prototypes": 0}, "prototypes is 0"),
        ({"prototypes": 2.5}, "a whole number"),
        ({"utility": -1}, "utility is -1"),
        ({"group_fairness": -0.1}, "group_fairness is -0.1"),
        ({"individual_fairness": float("nan")}, "individual_fairness is nan"),
        ({"utility": True}, "utility is True"),
        ({"utility": "much"}, "utility is 'much'"),
        ({"starts": 0}, "starts is 0"),
        ({"utility": 0, "group_fairness": 0, "individual_fairness": 0}, "All three weights are 0"),
        ({"X": np.zeros(20)}, "X has the shape"),
        ({"X": np.zeros((20, 0))}, "X has the shape"),
        ({"X": [["a"]] * 20}, "not made of numbers"),
        ({"X": np.where(np.eye(20) > 0, np.nan, 0.0)}, "20 missing or infinite values, the first in row 0, column 0"),
        ({"X": np.where(np.eye(20) > 0, 1e200, 0.0)}, "X has 1e.200 in row 0, column 0: no distance can be computed"),
        ({"X": np.full((20, 2), -1e101)}, "available: numbers up to 1e.100 in size"),
        ({"y": np.arange(20)}, "y has 20 classes"),
        ({"y": np.zeros(20)}, r"y has 1 class \("),
        ({"y": [0, 1] * 9}, "y has the shape"),
        ({"y": np.array([0, "1"] * 10, dtype=object)}, "mixes kinds"),
        ({"y": [None, 1.0] * 10}, "y has 10 missing values, the first in row 0"),
        ({"group": ["a"] * 20}, "only one group"),
        ({"group": ["a", None] * 10}, "sensitive_features has 10 missing values, the first in row 1"),
        ({"group": ["a"] * 19}, "sensitive_features has the shape"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        fit(**options)


def test_it_must_be_fitted_and_given_the_same_columns() -> None:
    with pytest.raises(BadInput, match="not been fitted"):
        LearnedFairRepresentations().transform([[1.0]])
    for asked in ("predict", "predict_proba", "memberships"):
        with pytest.raises(BadInput, match="not been fitted"):
            getattr(LearnedFairRepresentations(), asked)([[1.0]])
    with pytest.raises(BadInput, match="not been fitted"):
        _ = LearnedFairRepresentations().collapsed_
    fitted = fit()
    with pytest.raises(BadInput, match="in row 0, column 1: no distance can be computed"):
        fitted.predict(np.array([[1.0, 1e200, *[0.0] * (fitted.prototypes_.shape[1] - 2)]]))
    large = fit(X=1e100 * np.sign(people(rows=20)[0]), starts=1, evaluations=50)
    assert np.isfinite(large.objective_)
    with pytest.raises(BadInput, match="5 columns"):
        fit().predict(np.zeros((2, 5)))
