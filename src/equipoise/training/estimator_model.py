"""A fitted scikit-learn estimator as a model: what it predicts in classes that are known, or in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput
from equipoise.training.material import Codes, Predicted
from equipoise.training.model import FittedModel, checked_settings

# The entry of a saved model that is a mixture, and how far from 1 rounding may take the sum of its weights.
MIXTURE, ROUNDING = "mixture", 1e-6


class Mixture:
    """Fitted classifiers of the classes 0 and 1, with weights that add up to 1."""

    classes_: ClassVar[NDArray[np.int64]] = np.arange(2)

    def __init__(self, classifiers: Sequence[Any], weights: NDArray[np.float64]) -> None:
        self.classifiers, self.weights = list(classifiers), weights

    def predict_proba(self, inputs: NDArray[Any]) -> NDArray[np.float64]:
        """Return the weight of the classifiers that predict each class."""
        second = sum(
            weight * np.asarray(one.predict(inputs), dtype=np.float64)
            for weight, one in zip(self.weights, self.classifiers, strict=True)
        )
        chance = np.clip(second, 0.0, 1.0)
        return np.stack([1.0 - chance, chance], axis=1)

    def predict(self, inputs: NDArray[Any]) -> Codes:
        """Return the class that most of the mixture predicts."""
        return np.asarray(self.predict_proba(inputs)[:, 1] > 0.5, dtype=np.int64)

    def as_estimator(self) -> Any:
        """Return the classifiers and their weights in an estimator of scikit-learn's own, which a file can hold."""
        from sklearn.ensemble import VotingClassifier

        held = VotingClassifier([], weights=self.weights)
        held.estimators_ = self.classifiers
        return held

    @classmethod
    def of_estimator(cls, held: Any) -> Mixture:
        """Take classifiers and weights out of such an estimator; what does not fit together is refused."""
        classifiers, weights = getattr(held, "estimators_", None), getattr(held, "weights", None)
        if not isinstance(classifiers, list) or not isinstance(weights, np.ndarray) or not classifiers:
            raise BadInput(f"The saved mixture is {type(held).__name__} without classifiers or weights")
        sound = weights.shape == (len(classifiers),) and weights.dtype == np.float64 and bool((weights >= 0).all())
        if not sound or abs(float(weights.sum()) - 1) > ROUNDING:
            raise BadInput("The weights of the saved mixture do not add up to 1")
        return cls(classifiers, weights)


class EstimatorModel(FittedModel):
    """A fitted estimator that was given ``inputs`` columns and ``classes`` classes (codes 0, 1, ...), or labels."""

    kind: ClassVar[str] = "scikit_learn"

    def __init__(self, fitted: Any, inputs: int, classes: int, task: str = "class") -> None:
        self.fitted, self.inputs, self.classes, self.task = fitted, inputs, classes, task
        self.class_count = classes if task == "class" else None

    def own_predict(self, inputs: NDArray[Any]) -> Predicted:
        """Return classes, with probabilities where the estimator has some, or numbers."""
        rows = np.asarray(inputs)
        if rows.ndim != 2 or rows.shape[1] != self.inputs:
            raise BadInput(
                f"The inputs have the shape {rows.shape}", available=f"one row of {self.inputs:,} numbers for each row"
            )
        if not len(rows):  # scikit-learn refuses to predict nothing
            return self._nothing()
        values = np.asarray(self.fitted.predict(rows))
        if self.task == "regression":
            return Predicted(_numbers(values, len(rows)).astype(np.float32))
        if self.task == "multilabel":
            return self._labels(values, rows)
        if values.shape != (len(rows),) or not np.isin(values, np.arange(self.classes)).all():
            raise BadInput(
                f"{type(self.fitted).__name__} predicted {values.dtype} of the shape {values.shape}, not classes",
                available=f"one class code per row, 0 to {self.classes - 1}",
                help="use a classifier; a regressor is for cohorts whose task is a regression.",
            )
        return Predicted(values.astype(np.int64), self._scores(rows))

    def _labels(self, values: NDArray[Any], rows: NDArray[Any]) -> Predicted:
        """Return 1 for each label that is predicted, with probabilities of labels where there are some."""
        if values.shape != (len(rows), self.classes) or not np.isin(values, (0, 1)).all():
            raise BadInput(
                f"{type(self.fitted).__name__} predicted {values.dtype} of the shape {values.shape}, not labels",
                available=f"0 or 1 for each of the {self.classes:,} labels of a row",
                help="use an estimator of several labels.",
            )
        if not hasattr(self.fitted, "predict_proba"):
            return Predicted(values.astype(np.int64))
        found = self.fitted.predict_proba(rows)
        if isinstance(found, list):  # an array [row, class] for each label
            known = getattr(self.fitted, "classes_", None) or [np.arange(one.shape[1]) for one in found]
            found = np.stack(
                [one[:, np.asarray(own) == 1].sum(axis=1) for one, own in zip(found, known, strict=True)], axis=1
            )
        return Predicted(values.astype(np.int64), np.asarray(found, dtype=np.float32))

    def _nothing(self) -> Predicted:
        if self.task == "regression":
            return Predicted(np.zeros(0, dtype=np.float32))
        scored = hasattr(self.fitted, "predict_proba")
        scores = np.zeros((0, self.classes), dtype=np.float32) if scored else None
        if self.task == "multilabel":
            return Predicted(np.zeros((0, self.classes), dtype=np.int64), scores)
        return Predicted(np.zeros(0, dtype=np.int64), scores)

    def _scores(self, inputs: NDArray[Any]) -> NDArray[np.float32] | None:
        """Return probabilities ``[row, class]``; a class that no training row had gets 0."""
        if not hasattr(self.fitted, "predict_proba"):
            return None
        found = np.asarray(self.fitted.predict_proba(inputs), dtype=np.float32)
        seen: Codes = np.asarray(getattr(self.fitted, "classes_", np.arange(found.shape[1])), dtype=np.int64)
        scores = np.zeros((len(inputs), self.classes), dtype=np.float32)
        scores[:, seen] = found
        return scores

    def representations(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the inputs: treatments after training work on them, as there is no hidden layer."""
        found: NDArray[np.float32] = np.asarray(inputs, dtype=np.float32)
        return found

    def transform(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Refuse: an estimator has no hidden layer; with a treatment of the inputs, return what it makes of them."""
        if self.postprocessor is None or self.postprocessor.reads != "representations":
            raise BadInput(
                f"{type(self.fitted).__name__} has no hidden layer", available="predictions: predict, predict_proba"
            )
        return super().transform(inputs)

    def estimator(self) -> Any:
        """Return the fitted estimator."""
        return self.fitted.as_estimator() if isinstance(self.fitted, Mixture) else self.fitted

    def own_settings(self) -> dict[str, Any]:
        """Return the task, the numbers of inputs and classes, and whether it is a mixture of classifiers."""
        plain = {"task": self.task, "inputs": self.inputs, "classes": self.classes}
        return {**plain, MIXTURE: True} if isinstance(self.fitted, Mixture) else plain

    def own_tensors(self) -> dict[str, NDArray[Any]]:
        """Return nothing: the arrays of an estimator are its own."""
        return {}

    @classmethod
    def own_restore(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Take a fitted estimator that was read."""
        known = checked_settings(settings, {"task": str, "inputs": int, "classes": int}, "the estimator")
        if tensors:
            raise BadInput(f"The saved estimator has weights {sorted(tensors)[0]!r}", available="none of its own")
        module = Mixture.of_estimator(module) if settings.get(MIXTURE) is True else module
        if not callable(getattr(module, "predict", None)):
            raise BadInput(f"The saved estimator is {type(module).__name__}, which cannot predict")
        expected = getattr(module, "n_features_in_", known["inputs"])
        if expected != known["inputs"]:
            raise BadInput(f"The saved estimator takes {expected!r} inputs", available=f"{known['inputs']:,} inputs")
        return cls(module, known["inputs"], known["classes"], known["task"])


def _numbers(values: NDArray[Any], rows: int) -> NDArray[Any]:
    if values.shape != (rows,) or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        raise BadInput(
            f"The estimator predicted {values.dtype} of the shape {values.shape}", available="one finite number per row"
        )
    return values
