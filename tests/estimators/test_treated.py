"""Estimators with treatments: numbers are those of scikit-learn and of trainings by hand, inputs may be of any kind."""

# ruff: noqa: N803 - X is what scikit-learn calls it.
from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import equipoise
from equipoise.estimators import TreatedClassifier, TreatedEmbedding, TreatedRegressor
from equipoise.estimators._dataset import GroupCoder, held_out
from equipoise.foundation import BadInput, installed
from equipoise.studies.plans import Named
from equipoise.training import Job, Settings, encode_dataset, train
from equipoise.treatments import Adversarial, DomainIndependent, Downsampling, Reweighting

ROWS = 300
QUICK = {"width": 8, "layers": 1, "epochs": 6, "batch_size": 32, "learning_rate": 0.03}
needs_torch = pytest.mark.skipif(not installed("torch"), reason="needs torch (extra train)")


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def people(rows: int = ROWS, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows, p=[0.7, 0.3])
    y = np.where(rng.uniform(size=rows) < np.where(group == "a", 0.6, 0.25), "yes", "no")
    X = np.column_stack([3 * (y == "yes") + 2 * rng.normal(size=rows), 100 * (group == "a") + rng.normal(size=rows)])
    return X, y, group


def standardised(X: Any) -> Any:
    return StandardScaler().fit_transform(X).astype(np.float32)


def test_untreated_is_the_estimator_itself() -> None:
    X, y, group = people()
    model = TreatedClassifier("untreated", LogisticRegression()).fit(X, y, sensitive_features=group)
    own = LogisticRegression().fit(standardised(X), y)
    np.testing.assert_array_equal(model.predict(X), own.predict(standardised(X)))
    np.testing.assert_allclose(model.predict_proba(X), own.predict_proba(standardised(X)), atol=1e-5)
    assert model.score(X, y) == own.score(standardised(X), y)
    assert model.classes_.tolist() == ["no", "yes"]


def test_reweighting_is_a_weighted_fit() -> None:
    X, y, group = people()
    weights = np.zeros(ROWS)
    for label in ("no", "yes"):
        for name in "ab":
            cell = (y == label) & (group == name)
            weights[cell] = ROWS / (4 * cell.sum())
    own = LogisticRegression().fit(standardised(X), y, sample_weight=weights)
    model = TreatedClassifier("reweighting", LogisticRegression()).fit(X, y, sensitive_features=group)
    np.testing.assert_allclose(model.predict_proba(X), own.predict_proba(standardised(X)), atol=1e-5)
    # Weights of the rows themselves are multiplied.
    given = np.random.default_rng(0).uniform(size=ROWS)
    own = LogisticRegression().fit(standardised(X), y, sample_weight=weights * given)
    model.fit(X, y, sensitive_features=group, sample_weight=given)
    np.testing.assert_allclose(model.predict_proba(X), own.predict_proba(standardised(X)), atol=1e-5)


def test_a_regression_is_in_the_unit_of_its_target() -> None:
    X, _, group = people()
    y = 1000 + 50 * X[:, 0]
    model = TreatedRegressor("untreated", Ridge(alpha=1e-3)).fit(X, y, sensitive_features=group)
    own = Ridge(alpha=1e-3).fit(standardised(X), y)
    np.testing.assert_allclose(model.predict(X), own.predict(standardised(X)), rtol=1e-4)
    assert model.score(X, y) == pytest.approx(1.0, abs=1e-4)


@needs_torch
def test_a_perceptron_is_trained_as_in_a_study() -> None:
    X, y, group = people()
    model = TreatedClassifier("adversarial", learner_settings=QUICK, random_state=3)
    model.fit(X, y, sensitive_features=group)
    cells = 2 * (y == "yes") + (group == "b")
    split = np.where(held_out(cells, 0.2, 3), "dev", "train")
    # A study needs test rows: the last one again.
    again = [*range(ROWS), ROWS - 1]
    columns = {"p": X[again, 0], "q": X[again, 1], "y": y[again], "group": group[again], "split": [*split, "test"]}
    cohort = equipoise.Cohort.from_frame(columns, target="y", groups="group", split="split")
    dataset = encode_dataset(cohort)
    job = Job(np.arange(len(dataset.train)), 3, treatments=(Adversarial(),))
    (outcome,) = train(dataset, Named("mlp", 1, QUICK), [job], Settings())
    assert outcome.dev is not None
    assert outcome.dev.scores is not None
    np.testing.assert_array_equal(model.predict_proba(X[split == "dev"]), outcome.dev.scores)
    assert model.history_ == outcome.history
    assert model.best_epoch_ == outcome.best_epoch


def test_groups_as_array_series_list_and_frame() -> None:
    X, y, group = people()
    kinds = [group, pd.Series(group, name="sex"), pl.Series("sex", group), list(group), pd.DataFrame({"sex": group})]
    said = [
        TreatedClassifier("reweighting", LogisticRegression()).fit(X, y, sensitive_features=kind).predict_proba(X)
        for kind in kinds
    ]
    for other in said[1:]:
        np.testing.assert_array_equal(other, said[0])


def test_several_group_columns_are_crossed() -> None:
    X, y, group = people()
    old = np.random.default_rng(1).choice([30, 60], ROWS)
    crossed = np.char.add(np.char.add(group, " & "), old.astype(str))
    frame = pd.DataFrame({"sex": group, "age": old})
    one, two = (
        TreatedClassifier("reweighting", LogisticRegression()).fit(X, y, sensitive_features=given)
        for given in (crossed, frame)
    )
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.groups_ == two.groups_ == ("a & 30", "a & 60", "b & 30", "b & 60")
    coder, codes = GroupCoder.fit(frame, ROWS)
    assert coder.attributes == ("sex", "age")
    assert coder.values == (("a", "b"), ("30", "60"))
    assert coder.parts == ((0, 0), (0, 1), (1, 0), (1, 1))
    np.testing.assert_array_equal(codes, 2 * (group == "b") + (old == 60))
    other = pd.DataFrame({"age": [60, 30, 90], "sex": ["a", "b", "a"]})
    assert coder.codes(other, 3).tolist() == [1, 2, -1]
    with pytest.raises(BadInput, match="those of the fit: sex, age"):
        coder.codes(pd.DataFrame({"age": [60], "race": ["a"]}), 1)


def test_an_array_a_list_and_frames_say_the_same() -> None:
    X, y, group = people()
    frames = [X, X.tolist(), pd.DataFrame(X, columns=["p", "q"]), pl.DataFrame({"p": X[:, 0], "q": X[:, 1]})]
    said = [
        TreatedClassifier("reweighting", LogisticRegression())
        .fit(frame, y, sensitive_features=group)
        .predict_proba(frame)
        for frame in frames
    ]
    for other in said[1:]:
        np.testing.assert_array_equal(other, said[0])


@pytest.mark.parametrize("library", [pd, pl])
def test_texts_of_a_frame_are_categories_and_missing_numbers_have_an_indicator(library: Any) -> None:
    X, y, group = people()
    job = np.where(X[:, 0] > 2, "clerk", "cook")
    age = np.where(np.arange(ROWS) % 7 == 0, np.nan, X[:, 1])
    frame = library.DataFrame({"job": job, "age": age})
    model = TreatedClassifier("untreated", LogisticRegression()).fit(frame, y, sensitive_features=group)
    known = ~np.isnan(age)
    scaled = np.where(known, (age - age[known].mean()) / age[known].std(), 0)
    inputs = np.column_stack([OneHotEncoder(sparse_output=False).fit_transform(job[:, None]), scaled, ~known])
    own = LogisticRegression().fit(inputs.astype(np.float32), y)
    np.testing.assert_allclose(model.predict_proba(frame), own.predict_proba(inputs.astype(np.float32)), atol=1e-5)
    assert model.feature_names_in_.tolist() == ["job", "age"]
    # A category that no training row has is 0 everywhere.
    inputs[:, :2] = 0
    pilots = library.DataFrame({"job": np.full(ROWS, "pilot"), "age": age})
    np.testing.assert_allclose(model.predict_proba(pilots), own.predict_proba(inputs.astype(np.float32)), atol=1e-5)


def test_a_treatment_needs_groups_and_untreated_does_not() -> None:
    X, y, _ = people()
    with pytest.raises(BadInput, match=r"reweighting acts on groups, and no groups are given") as refused:
        TreatedClassifier("reweighting", LogisticRegression()).fit(X, y)
    assert "sensitive_features=groups" in refused.value.help
    with pytest.raises(BadInput, match=r"all rows are of one group \(a\)"):
        TreatedClassifier("reweighting", LogisticRegression()).fit(X, y, sensitive_features=["a"] * ROWS)
    without = TreatedClassifier("untreated", LogisticRegression()).fit(X, y)
    assert without.groups_ == ("everyone",)


@needs_torch
def test_without_groups_performance_alone_chooses_the_epoch() -> None:
    X, y, _ = people()
    by_default = TreatedClassifier("untreated", learner_settings=QUICK).fit(X, y)
    performance = TreatedClassifier("untreated", learner_settings=QUICK, selection="performance").fit(X, y)
    np.testing.assert_array_equal(by_default.predict_proba(X), performance.predict_proba(X))
    best = max(epoch.performance for epoch in by_default.history_)
    assert by_default.history_[by_default.best_epoch_ - 1].performance == best


@needs_torch
def test_groups_at_prediction_are_needed_where_a_treatment_reads_them() -> None:
    X, y, group = people()
    model = TreatedClassifier(
        "domain_independent", treatment_settings={"readout": "known_domain"}, learner_settings=QUICK
    ).fit(X, y, sensitive_features=group)
    with pytest.raises(BadInput, match="predicts by the group of each row"):
        model.predict(X)
    mine, swapped = (
        model.predict_proba(X, sensitive_features=one) for one in (group, np.where(group == "a", "b", "a"))
    )
    assert not np.allclose(mine, swapped)
    outputs = model.model_.outputs(model.encoder_.encode_columns({"x0": X[:, 0], "x1": X[:, 1]}))
    logits = outputs.reshape(ROWS, 2, 2)[np.arange(ROWS), (group == "b").astype(int)].astype(np.float64)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mine, expected, atol=1e-5)
    assert model.score(X, y, sensitive_features=group) == (model.predict(X, sensitive_features=group) == y).mean()
    # A group that was never trained is read as all groups together.
    assert np.isfinite(model.predict_proba(X[:3], sensitive_features=["a", "z", None])).all()


@needs_torch
def test_groups_change_nothing_where_a_treatment_does_not_read_them() -> None:
    X, y, group = people()
    model = TreatedClassifier("adversarial", learner_settings=QUICK).fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(model.predict(X), model.predict(X, sensitive_features=group[::-1]))


@pytest.mark.usefixtures("routing")
def test_cross_validate_routes_groups_without_a_request() -> None:
    X, y, group = people()
    folds = KFold(3, shuffle=True, random_state=0)
    found = cross_validate(
        make_pipeline(StandardScaler(), TreatedClassifier("reweighting", LogisticRegression())), X, y, cv=folds,
        params={"sensitive_features": group}, scoring=equipoise.scorer("DP", favourable="yes"), error_score="raise",
    )  # fmt: skip
    for (train_rows, test_rows), score in zip(folds.split(X), found["test_score"], strict=True):
        scaled = StandardScaler().fit(X[train_rows])
        model = TreatedClassifier("reweighting", LogisticRegression())
        model.fit(scaled.transform(X[train_rows]), y[train_rows], sensitive_features=group[train_rows])
        chosen = model.predict(scaled.transform(X[test_rows])) == "yes"
        rates = [chosen[group[test_rows] == name].mean() for name in "ab"]
        assert score == pytest.approx(-abs(rates[0] - rates[1]))


@needs_torch
@pytest.mark.usefixtures("routing")
def test_a_pipeline_passes_groups_to_predictions() -> None:
    X, y, group = people()
    last = TreatedClassifier(
        "domain_independent", treatment_settings={"readout": "known_domain"}, learner_settings=QUICK
    )
    score = equipoise.scorer("accuracy")
    fitted = make_pipeline(StandardScaler(), last).fit(X, y, sensitive_features=group)
    right = (fitted.predict(X, sensitive_features=group) == y).mean()
    assert score(fitted, X, y, sensitive_features=group) == pytest.approx(right)


@pytest.mark.usefixtures("routing")
def test_requests_can_be_changed() -> None:
    X, y, group = people()
    model = TreatedClassifier("reweighting", LogisticRegression()).set_fit_request(sensitive_features="sex")
    found = cross_validate(model, X, y, params={"sex": group}, error_score="raise")
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.usefixtures("routing")
def test_grids_over_treatments_settings_and_parameters_of_the_estimator() -> None:
    X, y, group = people()
    grid = [
        {"treatment": ["untreated", "reweighting", "downsampling"], "learner__C": [0.01, 1.0]},
        {"treatment": ["reweighting"], "treatment_settings": [{"balance": "joint"}, {"balance": "stratified_y"}]},
    ]
    search = GridSearchCV(TreatedClassifier(learner=LogisticRegression()), grid, cv=2, error_score="raise")
    search.fit(X, y, sensitive_features=group)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_clones_and_global_generators() -> None:
    X, y, group = people()
    model = TreatedClassifier([Reweighting(balance="stratified_y")], DecisionTreeClassifier(max_depth=3))
    copied = clone(model)
    np.random.seed(5)
    expected = np.random.uniform(size=2)
    np.random.seed(5)
    model.fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(np.random.uniform(size=2), expected)
    copied.fit(X, y, sensitive_features=group)
    np.testing.assert_array_equal(model.predict_proba(X), copied.predict_proba(X))


@needs_torch
def test_torch_generators_are_given_back() -> None:
    import torch

    X, y, group = people()
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    TreatedClassifier("reweighting", learner_settings=QUICK).fit(X, y, sensitive_features=group)
    assert torch.equal(torch.rand(3), expected)


@needs_torch
def test_seeds_decide() -> None:
    X, y, group = people()

    def said(seed: Any) -> Any:
        model = TreatedClassifier("reweighting", learner_settings=QUICK, random_state=seed)
        return model.fit(X, y, sensitive_features=group).predict_proba(X)

    np.testing.assert_array_equal(said(1), said(1))
    assert not np.allclose(said(1), said(2))
    np.testing.assert_array_equal(said(np.random.RandomState(4)), said(np.random.RandomState(4)))


def test_a_share_of_each_cell_is_held_out() -> None:
    cells = np.repeat([0, 1, 2, 3], [100, 10, 2, 1])
    held = held_out(cells, 0.2, seed=0)
    assert np.bincount(cells[held], minlength=4).tolist() == [20, 2, 1, 0]
    assert not np.array_equal(held, held_out(cells, 0.2, seed=1))
    for wrong in (0, 1, 1.5, True, "0.2"):
        with pytest.raises(BadInput, match="dev_size"):
            held_out(cells, wrong, 0)  # type: ignore[arg-type]


class Counted(LogisticRegression):  # type: ignore[misc]
    rows = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        type(self).rows = len(X)
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.mark.parametrize(("treatment", "rows"), [("reweighting", ROWS), ("inlp", ROWS - 60)])
def test_rows_are_held_out_only_where_something_is_chosen_on_them(treatment: str, rows: int) -> None:
    X, y, group = people()
    TreatedClassifier(treatment, Counted()).fit(X, y, sensitive_features=group)
    assert abs(Counted.rows - rows) <= 2  # shares of cells are rounded


@needs_torch
def test_treatments_in_order_with_settings_by_name() -> None:
    X, y, group = people()
    model = TreatedClassifier(
        ["downsampling", "ADV"], treatment_settings={"ADV": {"strength": 2.0}}, learner_settings=QUICK
    )
    assert model.fit(X, y, sensitive_features=group).predict(X).shape == (ROWS,)
    with pytest.raises(BadInput, match="treatment_settings are for reweighting"):
        clone(model).set_params(treatment_settings={"reweighting": {}}).fit(X, y, sensitive_features=group)


@needs_torch
def test_networks_of_your_own_and_hidden_layers() -> None:
    import torch

    class Network(torch.nn.Module):
        def __init__(self, features: int, classes: int) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Linear(features, 5), torch.nn.Linear(5, classes)

        def forward(self, rows: torch.Tensor) -> Any:
            hidden = self.first(rows).tanh()
            return self.last(hidden), hidden

    X, y, group = people()
    settings = {"epochs": 2, "batch_size": 32}
    model = TreatedClassifier("adversarial", Network, learner_settings=settings).fit(X, y, sensitive_features=group)
    assert model.transform(X).shape == (ROWS, 5)
    embedding = TreatedEmbedding("adversarial", Network, learner_settings=settings, standardise=True)
    found = embedding.fit(X, y, sensitive_features=group).transform(X)
    np.testing.assert_array_equal(found, model.transform(X))
    assert embedding.set_output(transform="pandas").transform(X).columns[0] == "treatedembedding0"
    with pytest.raises(BadInput, match="each training needs a new one"):
        TreatedClassifier("adversarial", Network(2, 2)).fit(X, y, sensitive_features=group)


def test_an_estimator_without_a_hidden_layer_has_no_transform() -> None:
    X, y, group = people()
    model = TreatedClassifier("reweighting", LogisticRegression()).fit(X, y, sensitive_features=group)
    assert not hasattr(model, "transform")
    assert not hasattr(TreatedClassifier("untreated", Ridge()), "predict_proba")
    assert hasattr(TreatedClassifier("untreated", "mlp"), "transform")


def test_a_model_that_collapsed_says_so() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) > 3
    with pytest.warns(RuntimeWarning, match="Collapsed"):
        model = TreatedClassifier("untreated", LogisticRegression()).fit(X, y)
    assert model.predict(X).all()
    assert any("Collapsed" in note for note in model.notes_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"treatment": "rewaiting"}, "did you mean 'reweighting'"),
        ({"treatment": "reweighting", "treatment_settings": {"balanse": "joint"}}, "hyper-parameter 'balanse'"),
        ({"treatment": Reweighting(), "treatment_settings": {"balance": "joint"}}, "is an object"),
        ({"treatment": []}, r"The treatment is \[\]"),
        ({"treatment": 3}, "The treatment is 3"),
        ({"treatment": ["reweighting", 3]}, "The treatment is 3"),
        ({"treatment_settings": [1]}, "treatment_settings is"),
        ({"learner": "mpl"}, "learner 'mpl' not found"),
        ({"learner": 3}, "The learner is 3"),
        ({"learner": "mlp", "learner_settings": {"epoch": 3}}, "did you mean 'epochs'"),
        ({"precision": "float16"}, "precision is 'float16'"),
        ({"selection": "best"}, "selection is 'best'"),
        ({"random_state": "zero"}, "cannot be used to seed"),
        ({"treatment": "adversarial"}, "'adversarial' does not fit the learner 'scikit_learn'"),
        ({"treatment": DomainIndependent()}, "help:"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    X, y, group = people()
    model = TreatedClassifier(**{"treatment": "inlp", "learner": LogisticRegression(), **parameters})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sensitive_features=group)


def test_bad_rows_are_refused() -> None:
    X, y, group = people()
    model = TreatedClassifier("reweighting", LogisticRegression())
    missing = group.astype(object)
    missing[3] = None
    for given, message in (
        ((X, y, missing), "in 1 row, the first in row 3"),
        ((X, y, group[1:]), "different lengths"),
        ((X, y[1:], group), "different lengths"),
        ((X, None, group), "requires y to be passed"),
        ((X, np.full(ROWS, "yes"), group), "y has 1 class"),
        ((X, np.where(np.arange(ROWS) == 5, None, y), group), "in 1 row, the first in row 5"),
        ((np.where(X[0, 0] == X, np.inf, X), y, group), "infinity"),
        ((pd.DataFrame({"note": [f"text {row}" for row in range(ROWS)]}), y, group), "free text or identifies"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(given[0], given[1], sensitive_features=given[2])
    with pytest.raises(ValueError, match="NaN"):
        clone(model).set_params(standardise=False).fit(np.where(X[0, 0] == X, np.nan, X), y, sensitive_features=group)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(BadInput, match="weights are negative"):
        model.fit(X, y, sensitive_features=group, sample_weight=np.where(np.arange(ROWS) < 2, -1.0, 1.0))
    with pytest.raises(BadInput, match="different lengths"):
        model.fit(X, y, sensitive_features=group, sample_weight=np.ones(3))


@needs_torch
def test_an_estimator_that_takes_no_weights_is_refused_under_a_treatment_that_weighs() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    X, y, group = people()
    with pytest.raises(BadInput, match="takes no sample_weight"):
        TreatedClassifier("reweighting", KNeighborsClassifier()).fit(X, y, sensitive_features=group)


def test_columns_are_those_of_the_fit() -> None:
    X, y, group = people()
    frame = pd.DataFrame(X, columns=["p", "q"])
    model = TreatedClassifier("reweighting", LogisticRegression()).fit(frame, y, sensitive_features=group)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"q": "r"}))
    with pytest.raises(ValueError, match="expecting 2 features"):
        clone(model).fit(X, y, sensitive_features=group).predict(X[:, :1])


@needs_torch
def test_a_metric_embedding_is_that_of_the_metric_learner() -> None:
    X, y, group = people()
    X = X.astype(np.float32)
    settings = {"embedding_size": 3, "epochs": 2, "batch_size": 16}
    treated = TreatedEmbedding(["downsampling"], learner_settings=settings, random_state=2)
    own = equipoise.MetricLearner(**settings, treatments=(Downsampling(),), random_state=2)
    expected = own.fit(X, y, sensitive_features=group).transform(X)
    np.testing.assert_array_equal(treated.fit(X, y, sensitive_features=group).transform(X), expected)
    assert treated.get_feature_names_out().tolist() == [f"treatedembedding{place}" for place in range(3)]
    with pytest.raises(BadInput, match="did you mean 'embedding_size'"):
        TreatedEmbedding(learner_settings={"embeding_size": 3}).fit(X, y, sensitive_features=group)


@pytest.mark.parametrize("name", ["dataset", "method", "scorer", "table", "treated"])
def test_examples_of_docstrings_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(f"equipoise.estimators._{name}"))
    assert found.attempted
    assert not found.failed


@needs_torch
def test_the_example_of_the_embedding_runs() -> None:
    found = doctest.testmod(importlib.import_module("equipoise.estimators._embedding"))
    assert found.attempted
    assert not found.failed


def test_an_estimator_of_scikit_learn_needs_no_torch() -> None:
    script = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name="torch")


sys.meta_path.insert(0, Absent())
import equipoise
from sklearn.linear_model import LogisticRegression
rows = {"age": [20, 30, 40, 50] * 10, "sex": ["f", "m", "m", "f"] * 10, "pay": ["a", "b", "b", "a"] * 10}
model = equipoise.fit(
    rows, target="pay", sensitive_features="sex", treatment="reweighting", learner=LogisticRegression(C=100)
)
print(len(model.predict(rows)), equipoise.scorer("DP", favourable="a"))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "40 equipoise.scorer('demographic_parity', favourable='a')\n", done.stderr


@pytest.mark.parametrize(("device", "says"), [("tpu", "device is 'tpu'"), ("cuda", "no graphics card")])
def test_a_device_that_is_not_there_is_refused(device: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(BadInput, match=says):
        TreatedClassifier("untreated", device=device).fit(np.zeros((8, 2)), [0, 1] * 4)


@pytest.mark.parametrize(
    ("y", "says"), [(np.array(["a", 3] * 4, dtype=object), "texts and other values"), (np.zeros(0), "no rows")]
)
def test_classes_that_cannot_be_put_in_order_and_no_rows_are_refused(y: Any, says: str) -> None:
    from equipoise.estimators._dataset import targets_of

    with pytest.raises(BadInput, match=says):
        targets_of(y, "class", "TreatedClassifier")


def test_rows_of_one_group_ask_for_another_column() -> None:
    with pytest.raises(BadInput, match=r"all rows are of one group \(f\)") as refused:
        TreatedClassifier("reweighting").fit(np.zeros((8, 2)), [0, 1] * 4, sensitive_features=["f"] * 8)
    assert refused.value.help == "name a column in which rows differ."


def test_data_that_are_no_table_are_not_told_of_the_arguments_of_an_audit() -> None:
    from equipoise.cohorts import columns_of

    with pytest.raises(BadInput, match="is a list") as refused:
        columns_of([[1, 2]], ["a"], "the data")
    assert "target=" not in refused.value.help
    assert "path" not in refused.value.available
