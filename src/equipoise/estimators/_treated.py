"""A learner with its treatments as a scikit-learn estimator: ``fit``, ``predict``, ``transform``."""

# ruff: noqa: N803 - X is what scikit-learn calls it.
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import TransformerTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from equipoise.cohorts import Task, columns_of
from equipoise.estimators._dataset import (
    EVERYONE,
    GroupCoder,
    Targets,
    encode_rows,
    has_several_labels,
    held_out,
    targets_of,
)
from equipoise.estimators._method import (
    SCIKIT_LEARN,
    ChosenLearner,
    SampleWeight,
    check_fits,
    check_gives_model,
    chooses_on_dev_rows,
    chosen_learner,
    chosen_treatments,
    has_effect,
    name_of,
)
from equipoise.foundation import (
    BadInput,
    as_weights,
    listing,
    require,
    same_length,
)
from equipoise.training import (
    COLLAPSED,
    Codes,
    EncodedDataset,
    FittedModel,
    InputEncoder,
    Job,
    Need,
    Outcome,
    Predicted,
    Selection,
    Settings,
    Treatment,
    preserved_generators,
    train,
)

if TYPE_CHECKING:
    from equipoise.cohorts import ColumnLike, ColumnsLike, InputsLike
    from equipoise.training import LearnerLike, TreatmentLike

GROUPS_AT_FIT = 'fit(X, y, sensitive_features=groups), or equipoise.fit(frame, ..., sensitive_features="COLUMN")'
GROUPS_AT_PREDICTION = "predict(X, sensitive_features=groups)"
ROUTED = "in a Pipeline or cross_validate also sklearn.set_config(enable_metadata_routing=True)"
# What an estimator may have by its learner.
HIDDEN, SCORES = "hidden layer", "scores"


class Treated(BaseEstimator):  # type: ignore[misc]
    """What classifiers, regressors and embeddings share."""

    _task: ClassVar[Task] = "class"
    # Metadata routing: groups are passed on wherever they are given, without set_fit_request.
    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {"sensitive_features": True}
    __metadata_request__predict: ClassVar[Mapping[str, bool]] = {"sensitive_features": True}
    __metadata_request__predict_proba: ClassVar[Mapping[str, bool]] = {"sensitive_features": True}
    __metadata_request__score: ClassVar[Mapping[str, bool]] = {"sensitive_features": True}

    def __init__(
        self,
        treatment: TreatmentLike = "reweighting",
        learner: LearnerLike = "mlp",
        *,
        treatment_settings: Mapping[str, Any] | None = None,
        learner_settings: Mapping[str, Any] | None = None,
        dev_size: float = 0.2,
        selection: Selection | None = None,
        standardise: bool = True,
        precision: str = "float32",
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.treatment = treatment
        self.learner = learner
        self.treatment_settings = treatment_settings
        self.learner_settings = learner_settings
        self.dev_size = dev_size
        self.selection = selection
        self.standardise = standardise
        self.precision = precision
        self.device = device
        self.random_state = random_state

    def fit(
        self, X: InputsLike, y: ColumnsLike | None = None, *, sensitive_features: ColumnsLike | None = None,
        sample_weight: ColumnLike | None = None,
    ) -> Self:  # fmt: skip
        """Train on rows, their targets and their groups.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), data frame, mapping of columns, or pictures
            Numbers, or a frame of pandas or Polars whose texts are categories. A learner of pictures takes uint8
            ``[row, height, width, channel]``.
        y : array of shape (n_rows,), or array or data frame of shape (n_rows, n_labels)
            The class or number of each row. A classifier takes several labels too: 0/1, true/false or yes/no in a
            column for each.
        sensitive_features : array, Series, list or data frame, optional
            The group of each row; several columns are crossed. Every treatment but ``untreated`` needs it.
        sample_weight : array of shape (n_rows,), optional
            What each row weighs in the training loss.

        Returns
        -------
        self
        """
        task = self._task_of(y)
        learner, treatments = self._method(task)
        columns = self._read(X, reset=True)
        targets = targets_of(y, task, type(self).__name__)
        same_length({"X": columns[next(iter(columns))], "y": targets.values})
        coder, group = self._groups(sensitive_features, len(targets.values), treatments)
        dataset = self._dataset(columns, targets, coder, group, chooses_on_dev_rows(learner, treatments))
        if sample_weight is not None:
            weights = as_weights(sample_weight)
            if Need.ROW_WEIGHTS not in learner.kind.offers:
                raise BadInput(f"sample_weight is given, and the learner {learner.name!r} takes no weights of rows")
            same_length({"y": targets.values, "sample_weight": weights})
            treatments = (self._weights(weights[dataset.train.ids], learner), *treatments)
        outcome = self._trained(dataset, learner, treatments, self._settings(learner, coder))
        return self._store_outcome(outcome, targets, coder)

    def _task_of(self, y: object) -> Task:
        """Return what is to be learnt."""
        return self._task

    def _method(self, task: Task) -> tuple[ChosenLearner, tuple[Treatment, ...]]:
        """Return learner and treatments; what does not go together is refused before anything is trained."""
        learner = chosen_learner(self.learner, self.learner_settings)
        treatments = chosen_treatments(self.treatment, self.treatment_settings)
        check_gives_model(learner)
        learner.with_defaults(task)
        check_fits(learner, treatments, task)
        return learner, treatments

    def _read(self, X: Any, *, reset: bool) -> Mapping[str, Any]:
        """Return the columns of X; an array is one column a feature, or one matrix where nothing is standardised."""
        if isinstance(X, np.ndarray) and (X.ndim > 3 or (X.ndim == 3 and X.dtype == np.uint8)):
            return {"X": X}  # pictures, or what is refused as none
        if isinstance(X, Mapping) and not issparse(X):  # some sparse matrices are mappings too
            return self._columns(X, reset=reset)
        if self.standardise and _is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return columns_of(X, [str(name) for name in X.columns], "X")
        finite: Any = "allow-nan" if self.standardise else True
        rows = validate_data(self, X, dtype=np.float64, ensure_all_finite=finite, reset=reset)
        return {f"x{number}": column for number, column in enumerate(rows.T)} if self.standardise else {"X": rows}

    def _columns(self, X: Mapping[str, Any], *, reset: bool) -> Mapping[str, Any]:
        """Return the columns of a mapping; at prediction those of the fit, and others are left out."""
        if reset:
            self.feature_names_in_ = np.array(list(map(str, X)), dtype=object)
            self.n_features_in_ = len(X)
        return columns_of(X, self.feature_names_in_.tolist(), "X")

    def _groups(
        self, sensitive_features: Any, rows: int, treatments: tuple[Treatment, ...]
    ) -> tuple[GroupCoder, Codes]:
        present: tuple[str, ...] = ()
        if sensitive_features is not None:
            coder, group = GroupCoder.fit(sensitive_features, rows)
            if len(coder.groups) > 1:
                return coder, group
            present = coder.groups
        needing = [name_of(treatment) for treatment in treatments if has_effect(treatment)]
        if needing:
            reason = f"all rows are of one group ({listing(present)})" if present else "no groups are given"
            raise BadInput(
                f"The treatment {listing(needing)} acts on groups, and {reason}",
                available="sensitive_features with two groups or more; treatment='untreated' needs none",
                help="name a column in which rows differ." if present else f"{GROUPS_AT_FIT}; {ROUTED}",
            )
        return GroupCoder(), np.zeros(rows, dtype=np.int64)

    def _dataset(
        self, columns: Mapping[str, Any], targets: Targets, coder: GroupCoder, group: Codes, chooses: bool
    ) -> EncodedDataset:
        is_dev = None
        if chooses:
            is_dev = held_out(targets.cell * len(coder.groups) + group, self.dev_size, self._seed())
            if not is_dev.any():
                raise BadInput(
                    f"X has n_samples={len(group)}, and no row can be held out to choose an epoch on",
                    available="at least one class that has two rows of a group",
                )
        train_rows = np.arange(len(group)) if is_dev is None else np.flatnonzero(~is_dev)
        self.encoder_ = InputEncoder.fit(columns, tuple(columns), train_rows, what="X")
        return encode_rows(self.encoder_.encode_columns(columns), targets, group, coder, is_dev)

    def _weights(self, weights: NDArray[np.float64], learner: ChosenLearner) -> SampleWeight:
        """Return the weights of the training rows as what acts first; the loss of a network has weights of mean 1."""
        return SampleWeight(weights if learner.name == SCIKIT_LEARN else weights / weights.mean())

    def _settings(self, learner: ChosenLearner, coder: GroupCoder) -> Settings:
        if self.precision not in learner.kind.precisions:
            raise BadInput(f"precision is {self.precision!r}", available=listing(learner.kind.precisions))
        _check_device(self.device)
        allowed = ("dto", "performance", "last")
        if self.selection is not None and self.selection not in allowed:
            raise BadInput(f"selection is {self.selection!r}", available=listing(allowed))
        grouped = coder.attributes != (EVERYONE,)
        selection: Selection = self.selection or ("dto" if grouped else "performance")
        return Settings(precision=self.precision, device=self.device, selection=selection)  # type: ignore[arg-type]

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer) and not isinstance(self.random_state, bool):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _trained(
        self, dataset: EncodedDataset, learner: ChosenLearner, treatments: tuple[Treatment, ...], settings: Settings
    ) -> Outcome:
        job = Job(np.arange(len(dataset.train)), self._seed(), treatments=treatments)
        with preserved_generators():
            (outcome,) = train(dataset, learner, [job], settings, keep_models=True)
        if outcome.failure is not None:
            reason = outcome.failure if outcome.traceback is None else f"{outcome.failure}\n{outcome.traceback}"
            raise BadInput(reason) if outcome.traceback is None else RuntimeError(reason)
        return outcome

    def _store_outcome(self, outcome: Outcome, targets: Targets, coder: GroupCoder) -> Self:
        """Remember what a training ended as."""
        if outcome.model is None:
            raise BadInput(outcome.no_model or "The training gave no model")
        self.model_: FittedModel = outcome.model
        self.group_coder_ = coder
        self.groups_ = coder.groups
        self.history_, self.best_epoch_, self.notes_ = outcome.history, outcome.best_epoch, outcome.notes
        self.task_ = targets.task
        if targets.task != "regression":
            self.classes_ = targets.labels
        if COLLAPSED in outcome.notes:
            warnings.warn(COLLAPSED, RuntimeWarning, stacklevel=3)
        return self

    def _predicted(self, X: Any, sensitive_features: Any) -> Predicted:
        """Return what the model predicts; it sees groups only where its treatment needs them."""
        check_is_fitted(self, "model_")
        inputs = self.encoder_.encode_columns(self._read(X, reset=False))
        if not self.model_.needs_group:
            return self.model_.predict(inputs)
        if sensitive_features is None:
            raise BadInput(
                f"The treatment {self.treatment!r} predicts by the group of each row, and no groups are given",
                available="sensitive_features, as in fit",
                help=f"{GROUPS_AT_PREDICTION}; {ROUTED}",
            )
        return self.model_.predict(inputs, self.group_coder_.codes(sensitive_features, len(inputs)))

    def _embedded(self, columns: Mapping[str, Any]) -> NDArray[np.float32]:
        """Return the last hidden layer of a network."""
        return self.model_.transform(self.encoder_.encode_columns(columns))

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn that a target is needed, and that missing numbers are encoded."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = bool(self.standardise)
        return tags


def _check_device(device: object) -> None:
    """Refuse a device that is none, or that this machine lacks."""
    if device not in ("cpu", "cuda"):
        raise BadInput(f"device is {device!r}", available="cpu, cuda")
    torch = require("torch", extra="train", purpose='device="cuda"') if device == "cuda" else None
    if torch is not None and not torch.cuda.is_available():
        raise BadInput("device is 'cuda', and torch finds no graphics card here", available="cpu", help='device="cpu"')


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def _learner_gives(output: str) -> Callable[[Any], bool]:
    """Tell whether the learner of an estimator gives something: scores, or a hidden layer."""

    def gives(estimator: Treated) -> bool:
        # Some hyper-parameters are those of several labels alone.
        tasks = (estimator._task, "multilabel") if estimator._task == "class" else (estimator._task,)
        for task in tasks:
            try:
                chosen = chosen_learner(estimator.learner, estimator.learner_settings)
                return chosen.has_hidden_layer if output == HIDDEN else chosen.gives_scores(task)
            except BadInput:  # ``fit`` says what is wrong
                continue
        return False

    return gives


class _HiddenLayer(TransformerMixin, auto_wrap_output_keys=None):  # type: ignore[misc,call-arg]
    """The last hidden layer as a representation, where the learner is a network."""

    @available_if(_learner_gives(HIDDEN))  # type: ignore[untyped-decorator]
    def transform(self, X: InputsLike) -> NDArray[np.float32]:
        """Return the last hidden layer of a network, ``[row, unit]``."""
        hidden: NDArray[np.float32] = self._embedded(self._read(X, reset=False))
        return hidden

    @available_if(_learner_gives(HIDDEN))  # type: ignore[untyped-decorator]
    def fit_transform(
        self, X: InputsLike, y: ColumnsLike | None = None, **options: ColumnsLike | None
    ) -> NDArray[np.float32]:
        """Fit, and return the last hidden layer of the same rows."""
        hidden: NDArray[np.float32] = self.fit(X, y, **options).transform(X)
        return hidden

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn whether there is a representation; it is float32 in every precision."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[]) if hasattr(self, "transform") else None
        return tags


class TreatedClassifier(_HiddenLayer, ClassifierMixin, Treated):  # type: ignore[misc]
    """A classifier that is trained with one or more debiasing treatments.

    No treatment guarantees anything: audit what the model predicts for people it was not trained on.

    Parameters
    ----------
    treatment : str, Treatment, or list of them
        A name or alias (``equipoise list treatments``); several act in order. ``"untreated"`` is the baseline.
    learner : str, scikit-learn estimator, or callable
        A name (``equipoise list learners``), any scikit-learn classifier, or a function of ``(features, classes)``
        that returns a torch module.
    treatment_settings : dict, optional
        Hyper-parameters of the treatment; of several, a dict for each name.
    learner_settings : dict, optional
        Hyper-parameters of the learner, such as ``{"epochs": 20}``.
    dev_size : float
        Share of the rows that is held out to choose the epoch on and to fit what acts after training. Where nothing
        is chosen (a scikit-learn estimator under a treatment before training) all rows are trained on.
    selection : {"dto", "performance", "last"}, optional
        What the epoch is chosen by: performance and fairness together, performance, or the last. By default "dto"
        with groups and "performance" without.
    standardise : bool
        Whether numbers are scaled to mean 0 and standard deviation 1, missing ones get an indicator, and texts of a
        frame become indicators. Without it X is taken as it is, and must be all numbers.
    precision : str
        In which precision a network computes.
    device : str
        "cpu" or "cuda".
    random_state : int, RandomState or None
        The seed of everything random.

    Attributes
    ----------
    classes_ : array
        The classes, or the names of several labels.
    task_ : str
        "class", or "multilabel" where y had a column for each of several labels.
    groups_ : tuple of str
        The groups of the training rows.
    model_ : FittedModel
        What predicts, from encoded inputs.
    history_ : tuple of Epoch
        Performance and fairness on the held-out rows after each epoch.
    best_epoch_ : int
        The epoch that was kept.
    notes_ : tuple of str
        What is to be known of the training.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from equipoise.estimators import TreatedClassifier
    >>> rng = np.random.default_rng(0)
    >>> group = rng.choice(["a", "b"], 200)
    >>> y = (rng.uniform(size=200) < np.where(group == "a", 0.7, 0.3)).astype(int)
    >>> X = np.column_stack([y + rng.normal(size=200), (group == "a") + rng.normal(size=200)])
    >>> model = TreatedClassifier("reweighting", LogisticRegression()).fit(X, y, sensitive_features=group)
    >>> model.predict(X).shape, model.groups_
    ((200,), ('a', 'b'))
    """

    def predict(self, X: InputsLike, *, sensitive_features: ColumnsLike | None = None) -> NDArray[Any]:
        """Return the class of each row; of several labels 0 or 1 for each, ``[row, label]``.

        Parameters
        ----------
        X : array or data frame
            Rows as in ``fit``.
        sensitive_features : array, Series, list or data frame, optional
            Used only by a treatment that predicts by the group of each row, which then needs it.

        Returns
        -------
        array of shape (n_rows,)
        """
        predicted = self._predicted(X, sensitive_features)
        labels: NDArray[Any] = predicted.values if self.task_ == "multilabel" else self.classes_[predicted.values]
        return labels

    def _task_of(self, y: object) -> Task:
        """Return whether rows have one class or several labels."""
        return "multilabel" if has_several_labels(y) else "class"

    @available_if(_learner_gives(SCORES))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: InputsLike, *, sensitive_features: ColumnsLike | None = None) -> NDArray[np.float64]:
        """Return the score of each class (of several labels the probability of each), in the order of ``classes_``.

        Parameters
        ----------
        X : array or data frame
            Rows as in ``fit``.
        sensitive_features : array, Series, list or data frame, optional
            Used only by a treatment that predicts by the group of each row, which then needs it.

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        predicted = self._predicted(X, sensitive_features)
        if predicted.scores is None:
            raise BadInput(f"The treatment {self.treatment!r} predicts classes without scores", help="predict(X)")
        return predicted.scores.astype(np.float64)

    def score(
        self, X: InputsLike, y: ColumnsLike, sample_weight: ColumnLike | None = None, *,
        sensitive_features: ColumnsLike | None = None,
    ) -> float:  # fmt: skip
        """Return the accuracy; of several labels the share of rows of which all are right, as scikit-learn does."""
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))


class TreatedRegressor(_HiddenLayer, RegressorMixin, Treated):  # type: ignore[misc]
    """A regressor that is trained with one or more debiasing treatments.

    Parameters and attributes are those of ``TreatedClassifier``, but for ``classes_``. Treatments that act on cells of
    class and group take the quarter of the training targets that a number falls into as its class.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from equipoise.estimators import TreatedRegressor
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> model = TreatedRegressor("reweighting", Ridge(alpha=1e-6))
    >>> model.fit(X, X[:, 0], sensitive_features=["a", "b"] * 10).predict(X[:2]).round(2).tolist()
    [0.0, 2.0]
    """

    _task: ClassVar[Task] = "regression"

    def predict(self, X: InputsLike, *, sensitive_features: ColumnsLike | None = None) -> NDArray[np.float64]:
        """Return the number that is predicted for each row.

        Parameters
        ----------
        X : array or data frame
            Rows as in ``fit``.
        sensitive_features : array, Series, list or data frame, optional
            Used only by a treatment that predicts by the group of each row, which then needs it.

        Returns
        -------
        array of shape (n_rows,)
        """
        return self._predicted(X, sensitive_features).values.astype(np.float64)

    def score(
        self, X: InputsLike, y: ColumnsLike, sample_weight: ColumnLike | None = None, *,
        sensitive_features: ColumnsLike | None = None,
    ) -> float:  # fmt: skip
        """Return R squared."""
        predicted = self.predict(X, sensitive_features=sensitive_features)
        return float(r2_score(y, predicted, sample_weight=sample_weight))
