"""Measures against the libraries of the field: Fairlearn, scikit-learn and SciPy, on random rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_difference,
    demographic_parity_ratio,
    equalized_odds_difference,
    false_positive_rate,
    selection_rate,
    true_positive_rate,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    mean_absolute_error,
    precision_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)

from equipoise import measures
from equipoise.measures import tally_of
from equipoise.tallies import ScoreHistogram

GROUPS = ["Asian", "Black", "Other", "White", "unknown", "10", "9"]
WEIGHTS = st.integers(1, 40).map(lambda quarter: quarter / 4)
MODERATE = settings(deadline=None, max_examples=40)


# Two classes, two to seven groups, and nobody without a denominator: Fairlearn answers 0 or 1 there.


@st.composite
def binary_rows(draw: st.DrawFn) -> tuple[Any, Any, Any, Any]:
    groups = GROUPS[: draw(st.integers(2, len(GROUPS)))]
    row = st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1]), st.sampled_from(groups), WEIGHTS)
    full = [(y, p, group, 1.0) for group in groups for y in (0, 1) for p in (0, 1)]
    rows = [*draw(st.lists(row, max_size=60)), *full]
    return tuple(np.array(column) for column in zip(*rows, strict=True))  # type: ignore[return-value]


@MODERATE
@given(rows=binary_rows(), weighted=st.booleans())
def test_parity_and_odds_agree_with_fairlearn(rows: tuple[Any, Any, Any, Any], weighted: bool) -> None:
    target, prediction, group, weights = rows
    heavy = weights if weighted else None
    pairs = (
        (measures.demographic_parity, demographic_parity_difference),
        (measures.impact_ratio, demographic_parity_ratio),
        (measures.equalized_odds, equalized_odds_difference),
    )
    for ours, theirs in pairs:
        value = ours(target, prediction, sensitive_features=group, favourable=1, sample_weight=heavy)
        expected = theirs(target, prediction, sensitive_features=group, sample_weight=heavy)
        assert value == pytest.approx(expected, abs=1e-12)


@MODERATE
@given(rows=binary_rows(), weighted=st.booleans())
def test_rates_by_group_agree_with_fairlearns_metric_frame(rows: tuple[Any, Any, Any, Any], weighted: bool) -> None:
    target, prediction, group, weights = rows
    theirs = {
        "selection_rate": selection_rate, "true_positive_rate": true_positive_rate,
        "false_positive_rate": false_positive_rate,
    }  # fmt: skip
    frame = MetricFrame(
        metrics=theirs,
        y_true=target,
        y_pred=prediction,
        sensitive_features=group,
        sample_params={name: {"sample_weight": weights} for name in theirs} if weighted else None,
    )
    for name in theirs:
        ours = getattr(measures, name).by_group(
            target, prediction, sensitive_features=group, favourable=1, sample_weight=weights if weighted else None
        )
        expected = frame.by_group[name].to_dict()
        assert {str(key): value for key, value in expected.items()} == pytest.approx(ours, abs=1e-12)
        overall = getattr(measures, name)(
            target, prediction, favourable=1, sample_weight=weights if weighted else None
        )  # fmt: skip
        assert overall == pytest.approx(frame.overall[name], abs=1e-12)


# Many classes, many groups, empty cells: scikit-learn, per class and over the classes that are defined.


@st.composite
def class_rows(draw: st.DrawFn) -> tuple[Any, Any, Any, Any]:
    classes = ["cat", "dog", "eel", "fox", "gnu", "hen"][: draw(st.integers(2, 6))]
    groups = GROUPS[: draw(st.integers(2, len(GROUPS)))]
    row = st.tuples(st.sampled_from(classes), st.sampled_from(classes), st.sampled_from(groups), WEIGHTS)
    rows = draw(st.lists(row, min_size=2, max_size=50))
    return tuple(np.array(column) for column in zip(*rows, strict=True))  # type: ignore[return-value]


PER_CLASS = (
    ("positive_predictive_value", precision_score),
    ("true_positive_rate", recall_score),
    ("f1", f1_score),
)


@MODERATE
@given(rows=class_rows(), weighted=st.booleans())
def test_precision_recall_and_f1_agree_with_sklearn_per_class_and_as_macro_mean(
    rows: tuple[Any, Any, Any, Any], weighted: bool
) -> None:
    target, prediction, _, weights = rows
    heavy = weights if weighted else None
    classes = sorted(set(target) | set(prediction))
    for name, theirs in PER_CLASS:
        expected = theirs(
            target, prediction, labels=classes, average=None, sample_weight=heavy, zero_division=np.nan
        )  # fmt: skip
        measure = getattr(measures, name)
        ours = [measure(target, prediction, favourable=one, sample_weight=heavy) for one in classes]
        assert ours == pytest.approx(list(expected), abs=1e-12, nan_ok=True)
        defined = [one for one, value in zip(classes, expected, strict=True) if not math.isnan(value)]
        macro = theirs(target, prediction, labels=defined, average="macro", sample_weight=heavy) if defined else np.nan
        assert measure(target, prediction, sample_weight=heavy) == pytest.approx(macro, abs=1e-12, nan_ok=True)


@MODERATE
@given(rows=class_rows(), weighted=st.booleans())
def test_accuracy_agrees_with_sklearn_over_everyone_and_in_each_group(
    rows: tuple[Any, Any, Any, Any], weighted: bool
) -> None:
    target, prediction, group, weights = rows
    heavy = weights if weighted else None
    value = measures.accuracy(target, prediction, sample_weight=heavy)
    assert value == pytest.approx(accuracy_score(target, prediction, sample_weight=heavy), abs=1e-12)
    ours = measures.accuracy.by_group(target, prediction, sensitive_features=group, sample_weight=heavy)
    assert set(ours) == set(group)
    for name, found in ours.items():
        here = group == name
        expected = accuracy_score(target[here], prediction[here], sample_weight=weights[here] if weighted else None)
        assert found == pytest.approx(expected, abs=1e-12)


@MODERATE
@given(rows=class_rows(), weighted=st.booleans())
def test_recall_precision_and_f1_of_each_group_agree_with_sklearn(
    rows: tuple[Any, Any, Any, Any], weighted: bool
) -> None:
    target, prediction, group, weights = rows
    one = str(target[0])
    for name, theirs in PER_CLASS:
        ours = getattr(measures, name).by_group(
            target, prediction, sensitive_features=group, favourable=one, sample_weight=weights if weighted else None
        )
        for who, value in ours.items():
            here = group == who
            (expected,) = theirs(
                target[here],
                prediction[here],
                labels=[one],
                average=None,
                sample_weight=weights[here] if weighted else None,
                zero_division=np.nan,
            )
            assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@MODERATE
@given(rows=class_rows())
def test_accuracy_is_the_micro_mean_of_precision_recall_and_f1(rows: tuple[Any, Any, Any, Any]) -> None:
    target, prediction, _, _ = rows
    for _, theirs in PER_CLASS:
        expected = theirs(target, prediction, average="micro")
        assert measures.accuracy(target, prediction) == pytest.approx(expected, abs=1e-12)


# Scores.


@st.composite
def score_rows(draw: st.DrawFn, *, decimals: int | None = None) -> tuple[Any, Any, Any, Any]:
    size = draw(st.integers(4, 120))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    target = generator.integers(0, 2, size)
    target[:2] = [0, 1]
    # Few different values, or many: ties within and across the classes.
    scores = generator.choice(generator.random(draw(st.sampled_from([3, 20, 500]))), size)
    scores = np.clip(scores + 0.1 * target * generator.random(size), 0.0, 1.0)
    if decimals is not None:
        scores = np.round(scores, decimals)
    group = generator.choice(GROUPS[: draw(st.integers(2, 5))], size)
    return target, scores, group, generator.integers(1, 40, size) / 4


@MODERATE
@given(rows=score_rows(decimals=4), weighted=st.booleans())
def test_auc_of_scores_with_four_decimals_is_that_of_sklearn(rows: tuple[Any, Any, Any, Any], weighted: bool) -> None:
    target, scores, group, weights = rows
    heavy = weights if weighted else None
    value = measures.auc(target, scores, sample_weight=heavy)
    assert value == pytest.approx(roc_auc_score(target, scores, sample_weight=heavy), abs=1e-9)
    ours = measures.auc.by_group(target, scores, sensitive_features=group, sample_weight=heavy)
    for name, found in ours.items():
        here = group == name
        if len(set(target[here])) < 2:
            assert math.isnan(found)
        else:
            expected = roc_auc_score(target[here], scores[here], sample_weight=weights[here] if weighted else None)
            assert found == pytest.approx(expected, abs=1e-9)


@MODERATE
@given(rows=score_rows(), stretch=st.sampled_from([None, (-3.0, 7.0), (0.4999, 0.5001)]))
def test_auc_of_any_scores_is_that_of_sklearn_within_the_bound_that_is_given(
    rows: tuple[Any, Any, Any, Any], stretch: tuple[float, float] | None
) -> None:
    target, scores, group, weights = rows
    if stretch is not None:
        scores = stretch[0] + (stretch[1] - stretch[0]) * scores
    tally = tally_of("scores", (target, scores), sensitive_features=group, sample_weight=weights)
    assert isinstance(tally, ScoreHistogram)
    values, bounds = measures.auc.by_class(tally), tally.auc_bound()
    for name, value, bound in zip(tally.groups, values, bounds, strict=True):
        here = group == name
        if len(set(target[here])) == 2:
            expected = roc_auc_score(target[here], scores[here], sample_weight=weights[here])
            assert abs(value - expected) <= bound + 1e-9
    overall = roc_auc_score(target, scores, sample_weight=weights)
    value = measures.auc(target, scores, sample_weight=weights)
    assert abs(value - overall) <= tally.overall.auc_bound()[0] + 1e-9


@MODERATE
@given(rows=score_rows(), weighted=st.booleans())
def test_the_brier_score_agrees_with_sklearn_however_many_decimals_the_scores_have(
    rows: tuple[Any, Any, Any, Any], weighted: bool
) -> None:
    target, scores, group, weights = rows
    heavy = weights if weighted else None
    expected = brier_score_loss(target, scores, sample_weight=heavy)
    assert measures.brier_score(target, scores, sample_weight=heavy) == pytest.approx(expected, abs=1e-12)
    ours = measures.brier_score.by_group(target, scores, sensitive_features=group, sample_weight=heavy)
    for name, found in ours.items():
        here = group == name
        expected = np.average((scores[here] - target[here]) ** 2, weights=weights[here] if weighted else None)
        assert found == pytest.approx(expected, abs=1e-12)


@MODERATE
@given(rows=score_rows(decimals=4))
def test_the_score_of_the_other_class_mirrors_the_auc(rows: tuple[Any, Any, Any, Any]) -> None:
    target, scores, _, _ = rows
    first, second = (measures.auc(target, scores, favourable=one) for one in (0, 1))
    assert first + second == pytest.approx(1.0, abs=1e-12)


# Predicted numbers.


@st.composite
def number_rows(draw: st.DrawFn) -> tuple[Any, Any, Any, Any]:
    groups = GROUPS[: draw(st.integers(2, 5))]
    size = draw(st.integers(4, 60))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    middle, scale = draw(st.sampled_from([(0.0, 1.0), (1e6, 1e3), (-50.0, 0.01), (3e4, 2e4)]))
    target = middle + scale * generator.normal(size=size)
    prediction = middle + scale * (0.5 * (target - middle) / scale + generator.normal(size=size))
    group = generator.choice(groups, size)
    return target, prediction, group, generator.integers(1, 40, size) / 4


@MODERATE
@given(rows=number_rows())
def test_pearson_agrees_with_scipy_over_everyone_and_in_each_group(rows: tuple[Any, Any, Any, Any]) -> None:
    target, prediction, group, _ = rows
    assert measures.pearson(target, prediction) == pytest.approx(pearsonr(target, prediction).statistic, abs=1e-7)
    for name, found in measures.pearson.by_group(target, prediction, sensitive_features=group).items():
        here = group == name
        if here.sum() == 1:
            assert math.isnan(found)
        elif here.sum() > 2:
            assert found == pytest.approx(pearsonr(target[here], prediction[here]).statistic, abs=1e-6)


@MODERATE
@given(rows=number_rows())
def test_weighted_pearson_agrees_with_numpys_weighted_covariance(rows: tuple[Any, Any, Any, Any]) -> None:
    target, prediction, _, weights = rows
    matrix = np.cov(target, prediction, aweights=weights)
    expected = matrix[0, 1] / math.sqrt(matrix[0, 0] * matrix[1, 1])
    assert measures.pearson(target, prediction, sample_weight=weights) == pytest.approx(expected, abs=1e-7)


@MODERATE
@given(rows=number_rows(), weighted=st.booleans())
def test_errors_agree_with_sklearn_over_everyone_and_in_each_group(
    rows: tuple[Any, Any, Any, Any], weighted: bool
) -> None:
    target, prediction, group, weights = rows
    for name, theirs in (
        ("mean_absolute_error", mean_absolute_error),
        ("root_mean_squared_error", root_mean_squared_error),
    ):
        measure, heavy = getattr(measures, name), weights if weighted else None
        expected = theirs(target, prediction, sample_weight=heavy)
        assert measure(target, prediction, sample_weight=heavy) == pytest.approx(expected, rel=1e-9)
        ours = measure.by_group(target, prediction, sensitive_features=group, sample_weight=heavy)
        each = []
        for who, found in ours.items():
            here = group == who
            each.append(theirs(target[here], prediction[here], sample_weight=weights[here] if weighted else None))
            assert found == pytest.approx(each[-1], rel=1e-9)
        assume(len(each) > 1)
        gap = getattr(measures, f"{name}_difference")(
            target, prediction, sensitive_features=group, sample_weight=heavy
        )  # fmt: skip
        assert gap == pytest.approx(max(each) - min(each), rel=1e-6, abs=1e-9 * max(each))
