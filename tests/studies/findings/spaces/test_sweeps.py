"""Sweeps of C in a study: what speaks, what is drawn, and what is compared with what."""

from __future__ import annotations

import math

import pytest

from equipoise.reports.charts.curves import space_curves, space_sweep
from equipoise.reports.charts.scatter import space_scatter
from equipoise.reports.narrative._study_spaces import comparisons
from equipoise.studies.findings.spaces._parts import source_title
from equipoise.studies.findings.spaces._result import set_aside, sweeps_of
from helpers.cases.study_space import imbalance, sweep

SOURCES = [f"logistic_regression:C={value}" for value in ("0.01", "0.1", "1", "10", "100")]


def test_values_of_c_of_one_classifier_are_a_sweep_and_c_1_speaks_for_it() -> None:
    [one] = sweeps_of(
        [*reversed(SOURCES), "logistic_regression:C=dev", "random_forest", "embedding", "logistic_regression"]
    )
    assert (one.values, one.sources) == ((0.01, 0.1, 1.0, 10.0, 100.0), tuple(SOURCES))
    assert (one.primary, one.title) == ("logistic_regression:C=1", "logistic regression")
    assert set_aside(SOURCES) == set(SOURCES) - {"logistic_regression:C=1"}
    assert sweeps_of(SOURCES[:2]) == [], "two values are no sweep"
    [other] = sweeps_of(["svm:C=0.1", "svm:C=10", "svm:C=100"])
    assert other.primary == "svm:C=10"


def test_titles_say_the_settings() -> None:
    assert source_title("logistic_regression") == "logistic regression (C = 1, standardised)"
    assert source_title("logistic_regression:C=1") == "logistic regression (C = 1)"
    assert source_title("logistic_regression:C=dev") == "logistic regression (C by dev accuracy)"
    assert source_title("svm") == "SVM"


def test_the_chart_draws_gap_and_accuracy_over_c_as_the_records_say() -> None:
    result = sweep()
    chart = space_sweep(result)
    assert chart is not None
    [rows] = [own for own in chart.spec["datasets"].values() if own and "c" in own[0]]
    assert {row["c"] for row in rows} == {0.01, 0.1, 1.0, 10.0, 100.0}
    for row in rows:
        record = result.spaces[row["space"]]
        assert record.source_settings["C"] == row["c"]
        assert (record.measure, record.kind in ("gap", "overall")) == ("accuracy", True)
        assert row["mean"] == pytest.approx(record.mean, rel=1e-4)
    trainings = {record.training for record in (result.spaces[row["space"]] for row in rows)}
    assert trainings == {"own", "balanced", "balanced_oversampled", "balanced_domain_independent"}
    # Two methods, two conditions, five values, and two panels of each of four trainings.
    assert len(rows) == 2 * 2 * 5 * 2 * 4
    assert space_sweep(imbalance()) is None


def test_other_charts_and_sentences_have_the_primary_value_and_the_one_of_dev_rows() -> None:
    result = sweep()
    for made in (space_curves(result), space_scatter(result)):
        assert made is not None
        places = {row["space"] for own in made.spec["datasets"].values() for row in own if "space" in row}
        sources = {result.spaces[place].source for place in places} - {"embedding", "nearest_training_row"}
        assert sources == {"logistic_regression:C=1", "logistic_regression:C=dev", "random_forest"}
    words = " ".join(result.words)
    assert "of logistic regression (C by dev accuracy) on balanced rows" in words
    assert "logistic regression (C = 10)" not in words
    assert "Over C from 0.01 to 100 the gap in accuracy of logistic regression on balanced rows changes from" in words


def test_the_sentence_of_a_sweep_has_the_means_of_the_records() -> None:
    result = sweep()
    own = [
        space for space in result.spaces
        if (space.training, space.measure, space.degree) == ("balanced", "accuracy", 0.9) and space.source in SOURCES
    ]  # fmt: skip
    means = {
        (source, kind): math.fsum(one.mean for one in own if (one.source, one.kind) == (source, kind)) / 2
        for source in SOURCES for kind in ("gap", "overall")
    }  # fmt: skip
    best = max(SOURCES, key=lambda source: means[source, "overall"])
    [sentence] = [word for word in result.words if "logistic regression on balanced rows changes from" in word]
    assert f"changes from {means[SOURCES[0], 'gap']:+.3f} to {means[SOURCES[-1], 'gap']:+.3f}" in sentence
    assert f"({means[best, 'overall']:.3f}), where the gap is {means[best, 'gap']:+.3f}" in sentence


def test_other_trainings_on_balanced_rows_are_compared_with_plain_training_on_balanced_rows() -> None:
    result = sweep()
    versus = {
        (space_contrast.training, space_contrast.versus)
        for space_contrast in result.space_contrasts
        if "training" in space_contrast.kind
    }
    assert versus == {
        ("balanced", "own"), ("balanced_oversampled", "balanced"), ("balanced_domain_independent", "balanced"),
    }  # fmt: skip
    titles = [comparison.title for comparison in comparisons(result)]
    assert "Gaps downstream, trained on balanced rows → domain-independent, balanced rows" in titles
    words = " ".join(result.words)
    assert "With domain-independent training on balanced rows instead of plain training on balanced rows" in words
