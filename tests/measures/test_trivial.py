"""Trivial models: the rule that marks a collapsed model, and its interval, against simulation and scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

from equipoise.measures import (
    constant_prediction,
    has_collapsed,
    has_collapsed_regression,
)
from equipoise.measures._objectives import balanced_accuracy_interval


def test_a_constant_prediction_has_collapsed_however_many_rows_there_are():
    for rows in (10, 1_000, 100_000):
        counts = np.array([[rows * 0.9, 0], [rows * 0.1, 0]])
        assert has_collapsed(counts)


def test_a_model_that_predicts_one_class_for_99_percent_has_collapsed_and_for_98_percent_has_not():
    assert has_collapsed([[940, 0], [50, 10]])
    assert not has_collapsed([[940, 0], [40, 20]])


def test_coin_tosses_have_collapsed_where_there_are_rows_enough_to_say_so():
    assert has_collapsed([[25_000, 25_000], [25_000, 25_000]])
    assert not has_collapsed([[5, 5], [5, 5]])


def test_a_model_that_learnt_has_not_collapsed():
    assert not has_collapsed([[900, 40], [30, 30]])


def test_nothing_is_said_without_rows_or_with_rows_of_one_class():
    assert not has_collapsed(np.zeros((2, 2)))
    assert not has_collapsed([[100, 0], [0, 0]])


def test_classes_without_rows_do_not_count_towards_chance():
    alike = np.zeros((5, 5))
    alike[:2, :2] = 25_000
    assert has_collapsed(alike)


def test_many_models_are_told_at_once():
    stacked = np.stack([[[900, 40], [30, 30]], [[940, 0], [60, 0]]])
    assert has_collapsed(stacked).tolist() == [False, True]


def test_a_regression_collapses_at_an_r_squared_of_0_and_is_not_judged_without_one():
    assert has_collapsed_regression([-0.1, 0.0, 1e-9, np.nan]).tolist() == [True, True, False, False]


def test_the_interval_encloses_the_balanced_accuracy_of_scikit_learn():
    generator = np.random.default_rng(3)
    target, said = generator.integers(0, 4, 500), generator.integers(0, 4, 500)
    low, high = balanced_accuracy_interval(confusion_matrix(target, said))
    assert low < balanced_accuracy_score(target, said) < high


@pytest.mark.parametrize("rates", [(0.95, 0.3), (0.5, 0.5), (0.99, 0.02, 0.6)])
def test_the_interval_covers_the_truth_in_about_95_percent(rates):
    generator = np.random.default_rng(11)
    rows = np.array([400, 60, 90][: len(rates)])
    right = generator.binomial(rows, rates, size=(4_000, len(rates)))
    counts = np.zeros((4_000, len(rates), len(rates)))
    for place in range(len(rates)):
        counts[:, place, place] = right[:, place]
        counts[:, place, (place + 1) % len(rates)] = rows[place] - right[:, place]
    low, high = balanced_accuracy_interval(counts)
    covered = np.mean((low <= np.mean(rates)) & (np.mean(rates) <= high))
    assert 0.935 < covered < 0.975


def test_a_constant_prediction_keeps_the_true_classes():
    counts = np.array([[[5.0, 1.0], [2.0, 3.0]]])
    assert constant_prediction(counts, 1).tolist() == [[[0.0, 6.0], [0.0, 5.0]]]
