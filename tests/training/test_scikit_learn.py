"""scikit-learn's estimators as learners, which need no torch."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from equipoise import BadInput
from equipoise.foundation import registry
from equipoise.training import Afterwards, Predicted, Settings, Treatment, learner_of, train
from helpers.cases.training import Learns, Rival, jobs_of, planted

FOREST = Learns("scikit_learn", {"estimator": "sklearn.ensemble.RandomForestClassifier",
                                 "settings": {"n_estimators": 5}})  # fmt: skip


class Double(Treatment):
    def weigh(self, rows: Any) -> Any:
        return 1.0 + (rows.cell == 0)


class Flipped(Treatment):
    def after(self, found: Any) -> Afterwards:
        assert found.train.inputs.shape == (240, 6)  # the inputs, where there is no hidden layer
        made = [Predicted(np.ones(len(rows), dtype=np.int64)) for rows in (found.dev, found.test)]
        return Afterwards(*made)


def test_every_learner_is_registered_and_described() -> None:
    assert {"mlp", "scikit_learn", "module"} <= {entry.name for entry in registry.entries("learner")}
    assert all(entry.summary.endswith(".") for entry in registry.entries("learner"))


def test_an_estimator_by_name_says_what_it_says_by_itself() -> None:
    dataset = planted(classes=3)
    learner = Learns("scikit_learn", {"settings": {"C": 0.1}})
    (ended,) = train(dataset, learner, jobs_of(dataset, [0]))
    own = LogisticRegression(C=0.1).fit(dataset.train.inputs, dataset.train.target)
    assert np.array_equal(ended.test.values, own.predict(dataset.test.inputs))  # type: ignore[union-attr]
    assert np.allclose(ended.test.scores, own.predict_proba(dataset.test.inputs), atol=1e-6)  # type: ignore[union-attr]
    assert ended.best_epoch == 1
    assert ended.history[0].performance == pytest.approx(own.score(dataset.dev.inputs, dataset.dev.target))


@pytest.mark.parametrize("pipeline", [False, True])
def test_weights_of_a_treatment_reach_the_estimator(pipeline: bool) -> None:
    dataset = planted()
    plain = LogisticRegression()
    given = make_pipeline(StandardScaler(), LogisticRegression()) if pipeline else plain
    (ended,) = train(dataset, Learns("scikit_learn", {"estimator": given}), jobs_of(dataset, [0], [Double()]))
    inputs = StandardScaler().fit(dataset.train.inputs) if pipeline else None
    rows = dataset.train.inputs if inputs is None else inputs.transform(dataset.train.inputs)
    test = dataset.test.inputs if inputs is None else inputs.transform(dataset.test.inputs)
    plain.fit(rows, dataset.train.target, sample_weight=1.0 + (dataset.train.target == 0))
    assert np.allclose(ended.test.scores, plain.predict_proba(test), atol=1e-5)  # type: ignore[union-attr]


def test_an_estimator_without_weights_or_a_treatment_during_training_is_refused_in_words() -> None:
    dataset = planted()
    neighbours = Learns("scikit_learn", {"estimator": KNeighborsClassifier()})
    (weighed,) = train(dataset, neighbours, jobs_of(dataset, [0], [Double()]))
    assert "KNeighborsClassifier takes no sample_weight" in (weighed.failure or "")
    (during,) = train(dataset, neighbours, jobs_of(dataset, [0], [Rival()]))
    assert "'Rival' does not fit the learner 'scikit_learn': it is not trained step by step" in (during.failure or "")
    assert "learner = 'mlp' takes it." in (during.failure or "")
    assert train(dataset, neighbours, jobs_of(dataset, [0]))[0].failure is None


def test_treatments_after_training_see_the_inputs() -> None:
    dataset = planted()
    (ended,) = train(dataset, Learns("scikit_learn"), jobs_of(dataset, [0], [Flipped()]))
    assert ended.failure is None
    assert ended.test.values.all()  # type: ignore[union-attr]


def test_a_seed_fixes_what_an_estimator_draws_and_jitter_permutes_its_rows() -> None:
    dataset = planted()
    jobs = jobs_of(dataset, [0, 0, 1])
    same, again, other = train(dataset, FOREST, jobs)
    assert np.array_equal(same.test.scores, again.test.scores)  # type: ignore[union-attr]
    assert not np.array_equal(same.test.scores, other.test.scores)  # type: ignore[union-attr]
    moved = train(
        dataset, Learns("scikit_learn"), [*jobs_of(dataset, [0]), *jobs_of(dataset, [0], repeat=1)],
        Settings(rounding="jitter"),
    )  # fmt: skip
    assert "Jitter permuted the training rows" in moved[0].notes[0]
    assert np.allclose(moved[0].test.scores, moved[1].test.scores, atol=1e-3)  # type: ignore[union-attr]
    (fixed,) = train(dataset, FOREST, jobs[:1], Settings(rounding="deterministic"))
    assert "one thread" in fixed.notes[0]
    (both,) = train(dataset, Learns("scikit_learn"), jobs[:1], Settings(rounding="deterministic jitter"))
    assert "Jitter permuted" in both.notes[0]
    assert "one thread" in both.notes[1]


def test_a_regression_and_what_an_estimator_warns_of() -> None:
    dataset = planted(task="regression")
    (ridge,) = train(dataset, Learns("scikit_learn"), jobs_of(dataset, [0]))
    assert ridge.history[0].performance > 0.95
    (plain,) = train(dataset, Learns("scikit_learn", {"estimator": LinearRegression}), jobs_of(dataset, [0]))
    assert plain.failure is None
    few = Learns("scikit_learn", {"settings": {"max_iter": 1}})
    (short,) = train(planted(), few, jobs_of(planted(), [0]))
    assert any("LogisticRegression: lbfgs failed to converge" in note for note in short.notes)
    wrong = Learns("scikit_learn", {"estimator": LinearRegression()})
    assert "is a regressor, and the target is a class" in train(planted(), wrong, jobs_of(planted(), [0]))[0].failure
    other = Learns("scikit_learn", {"estimator": LogisticRegression()})
    assert "is a classifier, and the target is a number" in train(dataset, other, jobs_of(dataset, [0]))[0].failure


def test_a_class_that_no_training_row_has_gets_no_score() -> None:
    dataset = planted(classes=3)
    rows = np.flatnonzero(dataset.train.target != 1)  # type: ignore[arg-type]
    jobs = [type(job)(rows, job.seed) for job in jobs_of(dataset, [0])]
    (ended,) = train(dataset, Learns("scikit_learn"), jobs)
    assert ended.test.scores.shape == (120, 3)  # type: ignore[union-attr]
    assert not ended.test.scores[:, 1].any()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"estimator": "os.system"}, "package.module:name"),
        ({"estimator": "LogisticRegression"}, "package.module:name"),
        ({"estimator": "sklearn.linear_model.LogisticRegresion"}, "did you mean 'LogisticRegression'"),
        ({"estimator": "no_such_package:Thing"}, "cannot be imported"),
        ({"estimator": "sklearn.linear_model:LogisticRegression", "settings": {"D": 1}}, "cannot be made with"),
        ({"estimator": StandardScaler()}, "has no fit and predict"),
        ({"estimator": "subprocess:Popen", "settings": {"args": ["false"]}}, "has no fit and predict"),
        ({"estimator": "subprocess:run", "settings": {"args": ["false"]}}, "has no fit and predict"),
        ({"estimator": ".relative:Thing"}, "cannot be imported"),
        ({"estimators": 3}, "did you mean 'estimator'"),
    ],
)
def test_what_is_no_estimator_is_refused(values: Any, said: str) -> None:
    kind = learner_of("scikit_learn")
    with pytest.raises(BadInput, match=said):
        kind.verify(kind.with_defaults(values))


def test_an_object_is_described_by_its_class_and_parameters() -> None:
    kind = learner_of("scikit_learn")
    described = kind.described(kind.with_defaults({"estimator": LogisticRegression(C=3.0)}))
    assert described["estimator"].endswith(":LogisticRegression")
    assert described["settings"]["C"] == 3.0
    again = kind.described(kind.with_defaults({"estimator": described["estimator"], "settings": described["settings"]}))
    assert again == described


class Bare:
    """Says not what it was made with."""

    def __init__(self, C: float = 1.0) -> None:  # noqa: N803
        self.own = LogisticRegression(C=C)

    def fit(self, rows: Any, target: Any) -> Bare:
        self.own.fit(rows, target)
        return self

    def predict(self, rows: Any) -> Any:
        return self.own.predict(rows)


def described(estimator: Any, **settings: Any) -> dict[str, Any]:
    kind = learner_of("scikit_learn")
    return kind.described(kind.with_defaults({"estimator": estimator, "settings": settings}))


def test_an_object_that_does_not_say_what_it_was_made_with_names_no_trial() -> None:
    with pytest.raises(BadInput, match="no get_params"):
        described(Bare(C=2.0))
    assert described(Bare, C=2.0)["settings"] == {"C": 2.0}
    assert (
        train(planted(), Learns("scikit_learn", {"estimator": Bare(2.0)}), jobs_of(planted(), [0]))[0].failure is None
    )

    class Inner(LogisticRegression):  # type: ignore[misc]
        pass

    with pytest.raises(BadInput, match="shares its name with others"):
        described(Inner())


def test_estimators_that_differ_anywhere_are_described_differently() -> None:
    def piped(first: Any, C: float = 1.0) -> Any:  # noqa: N803
        return make_pipeline(first, LogisticRegression(C=C))

    wide = [f"a column with a long name, number {place}" for place in range(100)]
    cut = [{"names": names} for names in (wide, [*wide[:50], "", *wide[51:]])]  # the same where a text is cut short
    pairs: list[Any] = [
        [piped(StandardScaler(), C) for C in (1.0, 2.0)],
        [piped(FunctionTransformer(one)) for one in (np.log1p, np.sqrt)],
        [piped(FunctionTransformer(kw_args=one)) for one in cut],
        [GridSearchCV(Ridge(), {"alpha": [1]}, cv=KFold(folds)) for folds in (3, 4)],
        [LogisticRegression(class_weight={0: 1, 1: weight}) for weight in (1, 2)],
    ]
    for one, other in pairs:
        assert described(one) != described(other)
        assert json.dumps(described(one), allow_nan=False) == json.dumps(described(clone(one)))
    assert described(HistGradientBoostingClassifier(learning_rate=float("inf")))["settings"]["learning_rate"] == "inf"
    for unnamed in (lambda rows: rows, np.random.default_rng(0)):
        with pytest.raises(BadInput, match="setting of an estimator"):
            described(FunctionTransformerThatPredicts(unnamed))


class FunctionTransformerThatPredicts(FunctionTransformer):  # type: ignore[misc]
    """Has fit and predict."""

    def predict(self, rows: Any) -> Any:
        return rows


def test_own_estimators_have_a_source_and_scikit_learns_have_not() -> None:
    kind = learner_of("scikit_learn")
    own = kind.source(kind.with_defaults({"estimator": Bare()}))
    assert own == kind.source(kind.with_defaults({"estimator": Bare})) is not None
    assert kind.source(kind.with_defaults({})) is None
    assert kind.source(kind.with_defaults({"estimator": LogisticRegression()})) is None
    assert kind.described(kind.with_defaults({"version": 3}))["version"] == 3
