"""What a training ended as: a model that predicts from encoded inputs, as settings in JSON and arrays in safetensors.

A model has up to four parts: transformations of its inputs, the network or estimator itself, what a treatment after
training made of it (a ``PostProcessor``), and adjustments of what it predicts. The parts that treatments fit are found
again by their ``kind``: ``@fitted_part`` registers a class in the file of its treatment. Nothing is ever pickled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, listing, registry
from equipoise.training._dataset import Codes, Predicted

Reads = Literal["outputs", "representations"]
# The names of entries that a model adds for its parts to those of its own.
TRANSFORMATIONS, POSTPROCESSOR, ADJUSTMENTS = "transformations", "postprocessor", "adjustments"


class FittedPart(ABC):
    """Something that a treatment fitted and that acts again at every prediction, under ``@fitted_part``."""

    kind: ClassVar[str]
    # What a report has to say of it, such as that a representation has collapsed; no part of the state.
    notes: tuple[str, ...] = ()

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what it is made of, by name: arrays, and values that JSON can write."""

    @classmethod
    @abstractmethod
    def restore(cls, state: Mapping[str, Any]) -> Self:
        """Make it again from its state; what does not fit together is refused."""


class Transformation(FittedPart):
    """What is done to inputs before a model sees them, fitted on training rows."""

    @abstractmethod
    def __call__(self, inputs: NDArray[Any]) -> NDArray[Any]:
        """Return transformed inputs, one row for each row."""


class PostProcessor(FittedPart):
    """What predicts in place of a trained model, from its outputs or from its last hidden layer.

    ``needs_group`` says that it cannot predict without the group of every row.
    """

    reads: ClassVar[Reads]
    needs_group: bool = False

    @abstractmethod
    def predict(self, values: NDArray[Any], group: Codes | None = None) -> Predicted:
        """Return predictions for rows of what it reads; a group of -1 is unknown."""

    def transform(self, representations: NDArray[Any]) -> NDArray[Any]:
        """Return what it makes of representations before it predicts, such as a projection; here: nothing."""
        return representations


class Adjustment(FittedPart):
    """What is made of the classes and scores that a model predicts, fitted on dev rows.

    ``needs_group`` says that it cannot act without the group of every row.
    """

    needs_group: bool = False

    @abstractmethod
    def __call__(self, predicted: Predicted, group: Codes | None, ids: Codes) -> Predicted:
        """Return adjusted predictions; a group of -1 is unknown, and random numbers are keyed by the ids of rows."""

    def notes_on(self, group: Codes | None) -> tuple[str, ...]:
        """Say what a report should know of test rows with these groups."""
        return ()


Part = TypeVar("Part", bound=type[FittedPart])
_parts: dict[str, type[FittedPart]] = {}


def fitted_part(part: Part) -> Part:
    """Register a class of fitted parts by its ``kind``."""
    registered = _parts.get(part.kind)
    if registered is not None and (registered.__module__, registered.__qualname__) != (
        part.__module__,
        part.__qualname__,
    ):
        raise BadInput(f"The fitted part {part.kind!r} is already registered by {registered.__module__}")
    _parts[part.kind] = part
    return part


def part_of_kind(kind: str) -> type[FittedPart]:
    """Return the class of a fitted part; the treatments register theirs when they are imported."""
    if kind not in _parts:
        registry.entries("treatment")
    if kind not in _parts:
        raise BadInput(
            f"The model has a part of the kind {kind!r}, which nothing here is registered for",
            available=listing(sorted(_parts)),
            help="install the package whose treatment made it.",
        )
    return _parts[kind]


class FittedModel(ABC):
    """What a training ended as: from encoded inputs to predictions.

    Subclasses say how the network or estimator itself predicts (``predict_inputs``), what it puts out before it is read
    (``outputs``) and what its last hidden layer is (``representations``).
    """

    kind: ClassVar[str]
    # How many classes it tells apart, where it gives no scores that say so.
    class_count: int | None = None
    transformations: tuple[Transformation, ...] = ()
    postprocessor: PostProcessor | None = None
    adjustments: tuple[Adjustment, ...] = ()

    def predict(self, inputs: NDArray[Any], group: Codes | None = None, ids: Codes | None = None) -> Predicted:
        """Return classes with scores, or numbers, of encoded inputs; the group where the model needs it.

        A prediction that is drawn is drawn by the seed of the training and the id of its row: its place, unless ``ids``
        are given.
        """
        needing = [
            part.kind for part in (self.postprocessor, *self.adjustments) if part is not None and part.needs_group
        ]
        if needing and group is None:
            raise BadInput(
                f"The model predicts by the group of every row ({listing(needing)}), and no groups are given",
                available="a group code for every row, -1 where it is unknown",
            )
        predicted = self._before_adjustments(self._transformed(inputs), group)
        ids = np.arange(len(inputs)) if ids is None else ids
        for adjustment in self.adjustments:
            predicted = adjustment(predicted, group if adjustment.needs_group else None, ids)
        return predicted

    def _before_adjustments(self, inputs: NDArray[Any], group: Codes | None) -> Predicted:
        after = self.postprocessor
        if after is None:
            return self.predict_inputs(inputs)
        read = self.outputs(inputs) if after.reads == "outputs" else self.representations(inputs)
        return after.predict(read, group if after.needs_group else None)

    def transform(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the last hidden layer or embedding of encoded inputs, as a treatment left it.

        A model without one refuses.
        """
        hidden = self.representations(self._transformed(inputs))
        if self.postprocessor is not None and self.postprocessor.reads == "representations":
            hidden = self.postprocessor.transform(hidden).astype(np.float32)
        return hidden

    @property
    def needs_group(self) -> bool:
        """Whether predictions need the group of every row."""
        return any(part is not None and part.needs_group for part in (self.postprocessor, *self.adjustments))

    def _transformed(self, inputs: NDArray[Any]) -> NDArray[Any]:
        for transformation in self.transformations:
            inputs = transformation(inputs)
        return inputs

    @abstractmethod
    def predict_inputs(self, inputs: NDArray[Any]) -> Predicted:
        """Return predictions of the network or estimator itself, from inputs as it was trained on."""

    def outputs(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return what the model puts out before it is read, ``[row, output]``."""
        raise BadInput(f"A model of the learner {self.kind} has no outputs that a treatment could read")

    def representations(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the last hidden layer, or the inputs of a model whose treatments work on them."""
        raise BadInput(
            f"A model of the learner {self.kind} has no hidden layer",
            available="predictions: predict",
            help="transform needs a network or an embedding.",
        )

    def settings(self) -> dict[str, Any]:
        """Return everything but arrays, as values that JSON can write."""
        settings_made = self.base_settings()
        if self.transformations:
            settings_made[TRANSFORMATIONS] = [part_described(transformation) for transformation in self.transformations]
        if self.postprocessor is not None:
            settings_made[POSTPROCESSOR] = part_described(self.postprocessor)
        if self.adjustments:
            settings_made[ADJUSTMENTS] = [part_described(adjustment) for adjustment in self.adjustments]
        return settings_made

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        arrays = self.base_tensors()
        for index, transformation in enumerate(self.transformations):
            arrays |= part_arrays(transformation, f"{TRANSFORMATIONS}.{index}.")
        if self.postprocessor is not None:
            arrays |= part_arrays(self.postprocessor, f"{POSTPROCESSOR}.")
        for number, adjustment in enumerate(self.adjustments):
            arrays |= part_arrays(adjustment, f"{ADJUSTMENTS}.{number}.")
        return arrays

    @property
    def needs_module(self) -> bool:
        """Whether it can be made again with code of the user's alone."""
        return False

    def estimator(self) -> Any:
        """Return the scikit-learn estimator that the model consists of; None of a network."""
        return None

    @abstractmethod
    def base_settings(self) -> dict[str, Any]:
        """Return the settings of the network or estimator itself."""

    @abstractmethod
    def base_tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the network or estimator itself."""

    @classmethod
    def restore(
        cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any = None
    ) -> FittedModel:
        """Make a model again from ``settings`` and ``tensors``.

        ``module`` is what arrays cannot say: the factory of a torch module, or the fitted scikit-learn estimator.
        """
        parts = (TRANSFORMATIONS, POSTPROCESSOR, ADJUSTMENTS)
        own_arrays = {name: tensor for name, tensor in tensors.items() if not name.startswith(parts)}
        model = cls.restore_base(settings, own_arrays, module)
        model.transformations = restored_parts(settings, tensors, TRANSFORMATIONS, Transformation)
        model.adjustments = restored_parts(settings, tensors, ADJUSTMENTS, Adjustment)
        if settings.get(POSTPROCESSOR) is not None:
            model.postprocessor = _restored(settings[POSTPROCESSOR], tensors, f"{POSTPROCESSOR}.", PostProcessor)
        return model

    @classmethod
    @abstractmethod
    def restore_base(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Make the network or estimator itself again."""


def check_width(inputs: NDArray[Any], width: int) -> None:
    """Refuse what is not rows of so many numbers."""
    if inputs.ndim != 2 or inputs.shape[1] != width:
        raise BadInput(
            f"The inputs have the shape {inputs.shape}", available=f"one row of {width:,} numbers for each row"
        )


def part_described(part: FittedPart) -> dict[str, Any]:
    """Return a fitted part without its arrays, as values that JSON can write."""
    plain = {name: value for name, value in part.state().items() if not isinstance(value, np.ndarray)}
    return {"kind": part.kind, "state": plain}


def part_arrays(part: FittedPart, before: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a fitted part; ``before`` begins their names."""
    return {before + name: value for name, value in part.state().items() if isinstance(value, np.ndarray)}


def restored_parts(settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], name: str, kind: Any) -> Any:
    """Make all fitted parts of a kind again, those that ``settings`` describes under a name."""
    described = settings.get(name, [])
    if not isinstance(described, Sequence) or isinstance(described, str):
        raise BadInput(f"The model describes its {name} as {described!r}", available="a list")
    return tuple(
        _restored(description, tensors, f"{name}.{index}.", kind) for index, description in enumerate(described)
    )


def _restored(described: Any, tensors: Mapping[str, NDArray[Any]], before: str, kind: Any) -> Any:
    if not isinstance(described, Mapping) or not isinstance(described.get("state"), Mapping):
        raise BadInput(f"The model describes a part as {described!r}", available='{"kind": ..., "state": {...}}')
    thing = part_of_kind(str(described.get("kind")))
    if not issubclass(thing, kind):
        raise BadInput(f"The part {thing.kind!r} of a model is no {kind.__name__}")
    arrays = {name.removeprefix(before): tensor for name, tensor in tensors.items() if name.startswith(before)}
    return thing.restore({**described["state"], **arrays})


def checked_array(
    state: Mapping[str, Any], name: str, shape: Sequence[int | None], owner: str, dtype: Any = np.float64
) -> NDArray[Any]:
    """Return an array of a restored state; one that is absent or has another shape is refused. None is any length."""
    array = state.get(name)
    fits = isinstance(array, np.ndarray) and array.ndim == len(shape)
    if not fits or any(want not in (None, has) for want, has in zip(shape, array.shape, strict=True)):  # type: ignore[union-attr]
        has = f"the shape {array.shape}" if isinstance(array, np.ndarray) else "no such array"
        expected_shape = ", ".join("any" if side is None else str(side) for side in shape)
        raise BadInput(f"The array {name!r} of {owner} has {has}", available=f"the shape ({expected_shape})")
    assert isinstance(array, np.ndarray)
    if array.dtype.kind not in "fiu":
        raise BadInput(f"The array {name!r} of {owner} holds {array.dtype}", available="numbers")
    return np.asarray(array, dtype=dtype)


def checked_settings(settings: Mapping[str, Any], kinds: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return the settings of these names; one that is absent or of another type is refused."""
    for name, kind in kinds.items():
        value = settings.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise BadInput(
                f"The setting {name!r} of {owner} is {value!r}", available="what was saved", help="save it again."
            )
    return {name: settings[name] for name in kinds}


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
            weight * np.asarray(classifier.predict(inputs), dtype=np.float64)
            for weight, classifier in zip(self.weights, self.classifiers, strict=True)
        )
        chance = np.clip(second, 0.0, 1.0)
        return np.stack([1.0 - chance, chance], axis=1)

    def predict(self, inputs: NDArray[Any]) -> Codes:
        """Return the class that most of the mixture predicts."""
        return np.asarray(self.predict_proba(inputs)[:, 1] > 0.5, dtype=np.int64)

    def as_estimator(self) -> Any:
        """Return the classifiers and their weights in an estimator of scikit-learn's own, which a file can hold."""
        from sklearn.ensemble import VotingClassifier

        voting = VotingClassifier([], weights=self.weights)
        voting.estimators_ = self.classifiers
        return voting

    @classmethod
    def of_estimator(cls, voting: Any) -> Mixture:
        """Take classifiers and weights out of such an estimator; what does not fit together is refused."""
        classifiers, weights = getattr(voting, "estimators_", None), getattr(voting, "weights", None)
        if not isinstance(classifiers, list) or not isinstance(weights, np.ndarray) or not classifiers:
            raise BadInput(f"The saved mixture is {type(voting).__name__} without classifiers or weights")
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

    def predict_inputs(self, inputs: NDArray[Any]) -> Predicted:
        """Return classes, with probabilities where the estimator has some, or numbers."""
        rows = np.asarray(inputs)
        check_width(rows, self.inputs)
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
        probabilities = self.fitted.predict_proba(rows)
        if isinstance(probabilities, list):  # an array [row, class] for each label
            label_classes = getattr(self.fitted, "classes_", None) or [
                np.arange(columns.shape[1]) for columns in probabilities
            ]
            probabilities = np.stack(
                [
                    columns[:, np.asarray(classes) == 1].sum(axis=1)
                    for columns, classes in zip(probabilities, label_classes, strict=True)
                ],
                axis=1,
            )
        return Predicted(values.astype(np.int64), np.asarray(probabilities, dtype=np.float32))

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
        probabilities = np.asarray(self.fitted.predict_proba(inputs), dtype=np.float32)
        codes: Codes = np.asarray(getattr(self.fitted, "classes_", np.arange(probabilities.shape[1])), dtype=np.int64)
        scores = np.zeros((len(inputs), self.classes), dtype=np.float32)
        scores[:, codes] = probabilities
        return scores

    def representations(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """Return the inputs: treatments after training work on them, as there is no hidden layer."""
        values: NDArray[np.float32] = np.asarray(inputs, dtype=np.float32)
        return values

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

    def base_settings(self) -> dict[str, Any]:
        """Return the task, the numbers of inputs and classes, and whether it is a mixture of classifiers."""
        plain = {"task": self.task, "inputs": self.inputs, "classes": self.classes}
        return {**plain, MIXTURE: True} if isinstance(self.fitted, Mixture) else plain

    def base_tensors(self) -> dict[str, NDArray[Any]]:
        """Return nothing: the arrays of an estimator are its own."""
        return {}

    @classmethod
    def restore_base(cls, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], module: Any) -> Self:
        """Take a fitted estimator that was read."""
        sizes = checked_settings(settings, {"task": str, "inputs": int, "classes": int}, "the estimator")
        if tensors:
            raise BadInput(f"The saved estimator has weights {sorted(tensors)[0]!r}", available="none of its own")
        module = Mixture.of_estimator(module) if settings.get(MIXTURE) is True else module
        if not callable(getattr(module, "predict", None)):
            raise BadInput(f"The saved estimator is {type(module).__name__}, which cannot predict")
        expected = getattr(module, "n_features_in_", sizes["inputs"])
        if expected != sizes["inputs"]:
            raise BadInput(f"The saved estimator takes {expected!r} inputs", available=f"{sizes['inputs']:,} inputs")
        return cls(module, sizes["inputs"], sizes["classes"], sizes["task"])


def _numbers(values: NDArray[Any], rows: int) -> NDArray[Any]:
    if values.shape != (rows,) or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        raise BadInput(
            f"The estimator predicted {values.dtype} of the shape {values.shape}", available="one finite number per row"
        )
    return values
