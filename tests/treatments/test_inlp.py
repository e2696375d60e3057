"""INLP: its SVM against scikit-learn's, its projections against the authors' formula, and what is left."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from equipoise import BadInput
from equipoise.measures._classification import distance_to_optimum
from equipoise.training import UNDEFINED, Rows
from equipoise.treatments import IterativeNullSpaceProjection, inlp
from equipoise.treatments._linear_head import NullSpace
from equipoise.treatments.inlp import linear_regressors, linear_svm
from helpers.cases.treatment import representations


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_the_svm_is_scikit_learns(groups: int) -> None:
    found = representations(groups=groups, rows=500)
    rows, codes = found.train.inputs.astype(np.float64), found.train.group
    weights, biases = linear_svm(rows, codes, 0.1)
    assert len(weights) == (1 if groups == 2 else groups)
    for index, weight in enumerate(weights):
        side = codes == (1 if groups == 2 else index)
        slow = LinearSVC(C=0.1, class_weight="balanced", dual=False, tol=1e-10, max_iter=10_000).fit(rows, side)
        assert weight == pytest.approx(slow.coef_[0], abs=1e-4)
        assert biases[index] == pytest.approx(slow.intercept_[0], abs=1e-4)


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_the_linear_regressors_are_least_squares_with_balanced_sides(groups: int) -> None:
    found = representations(groups=groups, rows=300)
    rows, codes = found.train.inputs.astype(np.float64), found.train.group
    kept = np.ones(len(rows), dtype=bool)
    kept[np.flatnonzero(codes == 0)[:60]] = False  # sides of different sizes
    rows, codes = rows[kept], codes[kept]
    weights, biases = linear_regressors(rows, codes)
    assert len(weights) == (1 if groups == 2 else groups)
    for index, weight in enumerate(weights):
        side = codes == (1 if groups == 2 else index)
        # The normal equations, row by row.
        gram, moment = np.zeros((rows.shape[1] + 1,) * 2), np.zeros(rows.shape[1] + 1)
        for row, member in zip(rows, side, strict=True):
            extended = np.append(row, 1.0)
            counts = 1 / side.sum() if member else 1 / (~side).sum()
            gram += counts * np.outer(extended, extended)
            moment += counts * (1.0 if member else -1.0) * extended
        slow = np.linalg.solve(gram, moment)
        assert np.append(weight, biases[index]) == pytest.approx(slow, abs=1e-8)
        counts = np.where(side, 1 / side.sum(), 1 / (~side).sum())
        model = LinearRegression().fit(rows, np.where(side, 1.0, -1.0), sample_weight=counts)
        assert weight == pytest.approx(model.coef_, abs=1e-8)
        assert biases[index] == pytest.approx(model.intercept_, abs=1e-8)


def test_a_linear_regressor_takes_nothing_from_directions_that_are_gone() -> None:
    found = representations(rows=400)
    rows, codes = found.train.inputs.astype(np.float64), found.train.group
    gone = np.linalg.qr(np.random.default_rng(1).normal(size=(rows.shape[1], 2)))[0].T
    left = (rows - (rows @ gone.T) @ gone).astype(np.float32).astype(np.float64)  # with the digits of a network
    weights, biases = linear_regressors(left, codes)
    assert np.abs(gone @ weights[0]).max() < 1e-5 * np.linalg.norm(weights[0])
    kept = scipy.linalg.null_space(gone)
    counts = np.where(codes == 1, 1 / (codes == 1).sum(), 1 / (codes == 0).sum())
    model = LinearRegression().fit(left @ kept, 2.0 * codes - 1, sample_weight=counts)
    assert left @ weights[0] + biases[0] == pytest.approx(model.predict(left @ kept), abs=1e-4)


def by_the_authors(directions: list[Any], columns: int) -> Any:
    """The identity less the projection onto the row space of the sum of the row-space projections."""

    def onto_rows(matrix: Any) -> Any:
        basis = scipy.linalg.orth(matrix.T)
        return basis @ basis.T

    return np.eye(columns) - onto_rows(np.sum([onto_rows(direction) for direction in directions], axis=0))


def test_projections_are_idempotent_orthogonal_to_all_directions_and_those_of_the_formula() -> None:
    generator = np.random.default_rng(0)
    space, seen = NullSpace(7), []
    for number in (1, 3, 1):
        directions = generator.normal(size=(number, 7))
        seen.append(directions)
        space = space.without(space.new(directions))
        P = space.projection
        assert pytest.approx(P, abs=1e-12) == P @ P
        assert pytest.approx(P, abs=1e-12) == P.T
        assert np.abs(np.vstack(seen) @ P).max() < 1e-12
        assert pytest.approx(by_the_authors(seen, 7), abs=1e-9) == P
        rows = generator.normal(size=(4, 7))
        assert space.project(rows) == pytest.approx(rows @ P, abs=1e-12)
        assert space.project(space.project(rows)) == pytest.approx(space.project(rows), abs=1e-12)


def test_a_direction_that_is_gone_is_not_taken_again() -> None:
    space = NullSpace(3).without(np.array([[1.0, 0.0, 0.0]]))
    assert len(space.new(np.array([[5.0, 0.0, 0.0]]))) == 0
    assert len(space.new(np.array([[5.0, 0.0, 1e-3], [1.0, 0.0, 0.0]]))) == 1
    assert len(space.new(np.zeros((2, 3)))) == 0


def search_of(found: Any, **values: Any) -> tuple[Any, list[NullSpace]]:
    treatment = IterativeNullSpaceProjection(**values)
    search = inlp._Search(found, treatment.values["classifier"], treatment.values["conditional_on_class"])
    return search, list(search.spaces(int(treatment.values["iterations"])))


@pytest.mark.parametrize(
    "values", [{}, {"classifier": "logistic"}, {"classifier": "least_squares"}, {"conditional_on_class": True}]
)
@pytest.mark.parametrize("groups", [2, 3])
def test_what_is_left_no_longer_tells_the_group(values: dict[str, Any], groups: int) -> None:
    # Class and group are independent: what hides the one does not hide the other.
    found = representations(groups=groups, rows=1500, bias=0.0)
    search, spaces = search_of(found, **values)
    last = spaces[-1]
    assert pytest.approx(found.train.inputs @ last.projection, abs=1e-5) == search.train
    rows, group = last.project(found.train.inputs.astype(np.float64)), found.train.group
    before = LogisticRegression().fit(found.train.inputs, group).score(found.dev.inputs, found.dev.group)
    after = LogisticRegression().fit(rows, group)
    after = after.score(last.project(found.dev.inputs.astype(np.float64)), found.dev.group)
    assert before > 1 / groups + 0.2
    assert after < 1 / groups + 0.06
    assert all(len(one.basis) < len(two.basis) for one, two in pairwise(spaces))


def test_the_first_direction_is_that_of_the_classifier_and_the_second_that_of_one_trained_on_what_is_left() -> None:
    found = representations(rows=400)
    rows, group = found.train.inputs.astype(np.float64), found.train.group
    _, spaces = search_of(found, classifier="logistic", iterations=2)
    for number, space in enumerate(spaces):
        model = LogisticRegression(C=0.1, class_weight="balanced").fit(rows, group)
        own = model.coef_[0] / np.linalg.norm(model.coef_[0])
        assert abs(own @ space.basis[number]) == pytest.approx(1, abs=1e-6)
        rows = rows - np.outer(rows @ own, own)


def test_each_direction_of_least_squares_is_that_of_a_regression_on_what_is_left() -> None:
    found = representations(rows=400)
    rows, group = found.train.inputs.astype(np.float64), found.train.group
    counts = np.where(group == 1, 1 / (group == 1).sum(), 1 / (group == 0).sum())
    _, spaces = search_of(found, classifier="least_squares", iterations=3)
    for number, space in enumerate(spaces):
        model = LinearRegression().fit(rows, group, sample_weight=counts)
        own = model.coef_ / np.linalg.norm(model.coef_)
        assert abs(own @ space.basis[number]) == pytest.approx(1, abs=1e-6)
        rows = rows - np.outer(rows @ own, own)
    assert spaces


def test_conditional_classifiers_see_one_class_only(monkeypatch: pytest.MonkeyPatch) -> None:
    found = representations(classes=3, rows=600)
    asked = []

    def spy(rows: Any, codes: Any, strength: float) -> Any:
        asked.append(len(rows))
        return linear_svm(rows, codes, strength)

    monkeypatch.setattr(inlp, "linear_svm", spy)
    search_of(found, conditional_on_class=True, iterations=12)
    sizes = np.bincount(found.train.cell).tolist()
    assert set(asked) <= set(sizes)
    assert len(set(asked)) > 1
    asked.clear()
    search_of(found, iterations=2)
    assert asked == [600, 600]


@pytest.mark.parametrize("selection", ["dto", "performance"])
def test_dev_rows_choose_the_iteration(selection: Any) -> None:
    found = representations(selection=selection, rows=800, seed=2)
    ended = IterativeNullSpaceProjection(iterations=6).after(found)
    _, spaces = search_of(found, iterations=6)
    losses, said = [], []
    for space in spaces:
        train, dev = (space.project(rows.inputs.astype(np.float64)) for rows in (found.train, found.dev))
        model = LogisticRegression(max_iter=1000).fit(train, found.train.target)
        said.append(model.predict(dev))
        if selection == "performance":
            losses.append(1 - model.score(dev, found.dev.target))
        else:
            losses.append(distance_to_optimum(found.dev.target, said[-1], sensitive_features=found.dev.group))
    best = int(np.argmin(losses))
    assert ended.notes[0] == f"INLP: dev rows chose iteration {best + 1} of {len(spaces)}."
    assert (ended.dev.values == said[best]).mean() > 0.995
    assert ended.dev.scores is not None
    assert ended.dev.scores.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert (ended.dev.scores.argmax(axis=1) == ended.dev.values).all()
    assert len(ended.test.values) == len(found.test)


def test_the_last_iteration_is_taken_where_last_epochs_are() -> None:
    found = representations(selection="last", rows=800, seed=2)
    ended = IterativeNullSpaceProjection(iterations=6).after(found)
    _, spaces = search_of(found, iterations=6)
    train, dev = (spaces[-1].project(rows.inputs.astype(np.float64)) for rows in (found.train, found.dev))
    model = LogisticRegression(max_iter=1000).fit(train, found.train.target)
    assert ended.notes[0] == f"INLP: the last of {len(spaces)} iterations was taken."
    assert (ended.dev.values == model.predict(dev)).mean() > 0.995


@pytest.mark.parametrize("classes", [2, 3])
def test_without_iterations_the_head_is_a_logistic_regression_of_the_hidden_layer(classes: int) -> None:
    found = representations(classes=classes, rows=600, seed=3)
    for values in ({}, {"classifier": "logistic"}, {"conditional_on_class": True}):
        ended = IterativeNullSpaceProjection(iterations=0, **values).after(found)
        model = LogisticRegression(max_iter=100).fit(found.train.inputs.astype(np.float64), found.train.target)
        for said, rows in ((ended.dev, found.dev), (ended.test, found.test)):
            assert said.scores == pytest.approx(model.predict_proba(rows.inputs.astype(np.float64)), abs=1e-6)
            assert (said.values == model.predict(rows.inputs.astype(np.float64))).all()
        assert ended.notes == (inlp.HEAD_ALONE,)
    weights = np.where(found.train.group == 0, 3.0, 0.5)
    ended = IterativeNullSpaceProjection(iterations=0).after(replace(found, weights=weights))
    model = LogisticRegression(max_iter=100)
    model.fit(found.train.inputs.astype(np.float64), found.train.target, sample_weight=weights)
    assert ended.dev.scores == pytest.approx(model.predict_proba(found.dev.inputs.astype(np.float64)), abs=1e-6)


def test_without_iterations_a_regression_is_least_squares_on_the_hidden_layer() -> None:
    found = representations(task="regression")
    ended = IterativeNullSpaceProjection(iterations=0).after(found)
    slow = LinearRegression().fit(found.train.inputs.astype(np.float64), found.train.target)
    assert ended.dev.values == pytest.approx(slow.predict(found.dev.inputs.astype(np.float64)), abs=1e-4)


def test_a_collapsed_candidate_is_not_taken_while_another_exists() -> None:
    # The second direction tells the group a little and a rare class well: without it nobody is predicted to be of it.
    generator = np.random.default_rng(0)

    def split(rows: Rows) -> Rows:
        group = generator.integers(0, 2, len(rows))
        target = (generator.random(len(rows)) < 0.1).astype(np.int64)
        inputs = np.stack([3.0 * group, (1.6 - 0.7 * group) * target + 0.5 * group], axis=1)
        inputs += generator.normal(0, 0.3, inputs.shape)
        return replace(rows, inputs=inputs.astype(np.float32), target=target, cell=target, group=group)

    found = representations(rows=1200)
    found = replace(found, train=split(found.train), dev=split(found.dev), test=split(found.test))
    ended = IterativeNullSpaceProjection(iterations=2).after(found)
    _, spaces = search_of(found, iterations=2)
    said = []
    for space in spaces:
        train, dev = (space.project(rows.inputs.astype(np.float64)) for rows in (found.train, found.dev))
        said.append(LogisticRegression(max_iter=1000).fit(train, found.train.target).predict(dev))
    constant = [len(np.unique(one)) == 1 for one in said]
    assert constant == [False, True]
    distances = [distance_to_optimum(found.dev.target, one, sensitive_features=found.dev.group) for one in said]
    assert distances[1] < distances[0]  # the distance alone would have taken a constant model
    assert len(np.unique(ended.dev.values)) == 2


def test_28_classes_of_which_one_has_no_training_rows() -> None:
    found = representations(classes=28, rows=1500, strength=3.0)
    kept = found.train.cell != 5
    train = replace(found.train, **{n: v[kept] for n, v in vars(found.train).items()})
    ended = IterativeNullSpaceProjection(iterations=3).after(replace(found, train=train))
    assert ended.dev.scores is not None
    assert ended.dev.scores.shape == (750, 28)
    assert (ended.dev.scores[:, 5] == 0).all()
    assert (ended.dev.values == found.dev.target).mean() > 4 / 28


def test_a_regression_ends_in_least_squares() -> None:
    found = representations(task="regression")
    ended = IterativeNullSpaceProjection(iterations=1, conditional_on_class=True).after(found)
    assert ended.dev.scores is None
    _, (space,) = search_of(found, iterations=1, conditional_on_class=True)
    train, dev = (space.project(rows.inputs.astype(np.float64)) for rows in (found.train, found.dev))
    slow = LinearRegression().fit(train, found.train.target).predict(dev)
    assert ended.dev.values == pytest.approx(slow, abs=1e-4)
    assert np.corrcoef(ended.dev.values, found.dev.target)[0, 1] > 0.9


def test_a_regression_is_least_squares_throughout_where_that_is_asked_for() -> None:
    found = representations(task="regression")
    ended = IterativeNullSpaceProjection(iterations=2, classifier="least_squares").after(
        replace(found, selection="last")
    )
    _, spaces = search_of(found, iterations=2, classifier="least_squares")
    rows, group = found.train.inputs.astype(np.float64), found.train.group
    counts = np.where(group == 1, 1 / (group == 1).sum(), 1 / (group == 0).sum())
    gone = []
    for _ in spaces:
        direction = LinearRegression().fit(rows, group, sample_weight=counts).coef_
        gone.append(direction)
        unit = direction / np.linalg.norm(direction)
        rows = rows - np.outer(rows @ unit, unit)
    left = by_the_authors([np.atleast_2d(one) for one in gone], rows.shape[1])
    slow = LinearRegression().fit(found.train.inputs @ left, found.train.target)
    assert ended.dev.values == pytest.approx(slow.predict(found.dev.inputs @ left), abs=1e-3)


def test_an_empty_cell_is_passed_over_and_a_class_of_one_group_is_not_drawn() -> None:
    found = representations(classes=3, groups=3)
    group = np.where(found.train.cell == 0, 1, found.train.group)  # class 0: one group
    group = np.where((found.train.cell == 1) & (group == 2), 0, group)  # class 1: two of three
    changed = replace(found, train=replace(found.train, group=group))
    search, _ = search_of(changed, conditional_on_class=True, iterations=8)
    assert search.classes == [1, 2]
    ended = IterativeNullSpaceProjection(iterations=8, conditional_on_class=True).after(changed)
    assert (ended.dev.values == found.dev.target).mean() > 0.6


def test_one_group_alone_cannot_be_hidden() -> None:
    found = representations()
    alone = replace(found, train=replace(found.train, group=np.zeros(len(found.train), dtype=np.int64)))
    with pytest.raises(BadInput, match="only one group"):
        IterativeNullSpaceProjection().after(alone)
    parted = replace(found, train=replace(found.train, group=found.train.cell.copy()))
    with pytest.raises(BadInput, match="No class has training rows of two groups"):
        IterativeNullSpaceProjection(conditional_on_class=True).after(parted)
    single = replace(found, train=replace(found.train, target=np.zeros(len(found.train), dtype=np.int64)))
    with pytest.raises(BadInput, match="the same class"):
        IterativeNullSpaceProjection(iterations=1).after(single)


def test_a_layer_that_does_not_tell_the_group_is_left_as_it_is() -> None:
    found = representations(bias=0.0, rows=200)
    # The layer says the class and no more, and both groups have equally many of each class on dev.
    cell, group = np.tile([0, 1], 50), np.repeat([0, 1], 50)
    dev = replace(found.dev, inputs=cell[:, None].astype(np.float32), target=cell, cell=cell, group=group)
    train = replace(found.train, inputs=found.train.cell[:, None].astype(np.float32))
    test = replace(found.test, inputs=found.test.inputs[:, :1])
    ended = IterativeNullSpaceProjection().after(replace(found, train=train, dev=dev, test=test))
    assert (ended.dev.values == cell).all()
    assert ended.notes == (
        "INLP: the group could not be predicted from the hidden layer, so nothing was removed.",
        "No classifier predicts the groups of dev rows better than chance any more.",
    )


def test_rows_of_no_known_group_are_left_out_of_the_search_and_undefined_fairness_is_said() -> None:
    found = representations()
    unknown = replace(found, dev=replace(found.dev, group=np.where(found.dev.group == 1, -1, 0)))
    ended = IterativeNullSpaceProjection(iterations=2).after(unknown)
    assert UNDEFINED["class"] in ended.notes
    assert len(ended.dev.values) == len(found.dev)


def test_the_same_seed_gives_the_same_predictions() -> None:
    found = representations(classes=3)
    first, again = (
        IterativeNullSpaceProjection(conditional_on_class=True, iterations=5).after(found) for _ in range(2)
    )
    assert np.array_equal(first.test.values, again.test.values)
    assert np.array_equal(first.test.scores, again.test.scores)


def test_a_regression_whose_fairness_is_undefined_is_told_so_in_its_own_words() -> None:
    found = representations(task="regression")
    flat = replace(found.dev, target=np.where(found.dev.group == 1, np.float32(2.0), found.dev.target))
    ended = IterativeNullSpaceProjection(iterations=2).after(replace(found, dev=flat))
    assert UNDEFINED["regression"] in ended.notes
    assert "class" not in UNDEFINED["regression"]


@pytest.mark.parametrize("task", ["class", "regression"])
def test_weights_of_rows_reach_the_candidates(task: str) -> None:
    found = replace(representations(task=task), selection="performance")
    weights = np.where(found.train.cell == 0, 5.0, 0.2)
    ended = IterativeNullSpaceProjection(iterations=1).after(replace(found, weights=weights))
    _, (space,) = search_of(found, iterations=1)
    train, dev = (space.project(rows.inputs.astype(np.float64)) for rows in (found.train, found.dev))
    model = LinearRegression() if task == "regression" else LogisticRegression(max_iter=1000)
    slow, light = (model.fit(train, found.train.target, sample_weight=one).predict(dev) for one in (weights, None))
    if task == "regression":
        assert ended.dev.values == pytest.approx(slow, abs=1e-4)
        assert ended.dev.values != pytest.approx(light, abs=1e-4)
    else:
        assert (ended.dev.values == slow).mean() > 0.995
        assert (slow != light).mean() > 0.02
