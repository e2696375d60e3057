"""An embedding with debiasing treatments, as a transformer of scikit-learn: a metric loss, or a hidden layer."""

# ruff: noqa: N803 - X is what scikit-learn calls it.
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from equipoise.estimators._dataset import targets_of
from equipoise.estimators._method import ChosenLearner, check_fits, chosen_learner, chosen_treatments
from equipoise.estimators._treated import Treated
from equipoise.foundation import same_length, unknown_name
from equipoise.training import InputEncoder, Selection, Treatment, overrides, preserved_generators

if TYPE_CHECKING:
    from equipoise.cohorts import ColumnsLike, InputsLike
    from equipoise.training import LearnerLike, TreatmentLike
    from equipoise.training.metric import MetricLearner

METRIC_LEARNER = "metric_learner"


class TreatedEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Treated):  # type: ignore[misc]
    """An embedding that is trained with one or more debiasing treatments.

    With the learner ``metric_learner`` a metric loss trains it, and ``learner_settings`` are those of
    ``equipoise.MetricLearner``; with ``mlp`` or a torch module it is the last hidden layer of a classifier. Under a
    treatment that acts before or after training, such as ``leace``, a metric loss is trained as in a study: rows are
    held out (``dev_size``), and ``learner_settings`` are those of the learner ``metric_learner``.

    Parameters are those of ``TreatedClassifier``, with other defaults: the treatment is ``parade``, and X is taken as
    it is, as features of a frozen network are (``standardise``).

    Examples
    --------
    >>> import numpy as np
    >>> from equipoise.estimators import TreatedEmbedding
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 20)
    >>> X = np.eye(3)[y] + 0.1 * rng.normal(size=(60, 3))
    >>> settings = {"embedding_size": 2, "epochs": 2, "batch_size": 12}
    >>> embedding = TreatedEmbedding("parade", learner_settings=settings)
    >>> embedding.fit(X, y, sensitive_features=["a", "b"] * 30).transform(X).shape
    (60, 2)
    """

    def __init__(
        self,
        treatment: TreatmentLike = "parade",
        learner: LearnerLike = METRIC_LEARNER,
        *,
        treatment_settings: Mapping[str, Any] | None = None,
        learner_settings: Mapping[str, Any] | None = None,
        dev_size: float = 0.2,
        selection: Selection | None = None,
        standardise: bool = False,
        precision: str = "float32",
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(
            treatment, learner, treatment_settings=treatment_settings, learner_settings=learner_settings,
            dev_size=dev_size, selection=selection, standardise=standardise, precision=precision, device=device,
            random_state=random_state,
        )  # fmt: skip

    def fit(  # type: ignore[override]
        self, X: InputsLike, y: ColumnsLike | None = None, *, sensitive_features: ColumnsLike | None = None
    ) -> Self:
        """Train on rows, their classes and their groups, as a ``TreatedClassifier`` does.

        Parameters
        ----------
        X : array of shape (n_rows, n_features), data frame, or pictures
            What is embedded.
        y : array of shape (n_rows,)
            The class of each row.
        sensitive_features : array, Series, list or data frame, optional
            The group of each row; several columns are crossed. Every treatment but ``untreated`` needs it.

        Returns
        -------
        self
        """
        learner = chosen_learner(self.learner, self.learner_settings)
        treatments = chosen_treatments(self.treatment, self.treatment_settings)
        self.__dict__.pop("embedding_", None)
        # What acts before or after training needs rows that are held out, as in a study.
        around = [override for moment in ("transform", "erase") for override in overrides(treatments, moment)]
        if learner.name == METRIC_LEARNER and not around:
            self._fit_by_metric(learner, treatments, X, y, sensitive_features)
        else:
            super().fit(X, y, sensitive_features=sensitive_features)
        first = {name: column[:1] for name, column in self._read(X, reset=False).items()}
        self._n_features_out = self._embedded(first).shape[1]
        return self

    def _fit_by_metric(
        self, learner: ChosenLearner, treatments: tuple[Treatment, ...], X: Any, y: Any, sensitive_features: Any
    ) -> None:
        check_fits(learner, treatments, self._task)
        columns = self._read(X, reset=True)
        targets = targets_of(y, self._task, type(self).__name__)
        rows = same_length({"X": columns[next(iter(columns))], "y": targets.values})
        self.group_coder_, _ = self._groups(sensitive_features, rows, treatments)
        self.encoder_ = InputEncoder.fit(columns, tuple(columns), what="X")
        self.embedding_ = self._metric_learner(learner.settings, treatments)
        with preserved_generators():
            self.embedding_.fit(self.encoder_.encode_columns(columns), y, sensitive_features)
        self.classes_, self.groups_ = targets.labels, self.group_coder_.groups

    def _metric_learner(self, settings: Mapping[str, Any], treatments: tuple[Treatment, ...]) -> MetricLearner:
        from equipoise.training.metric import MetricLearner

        passed_here = ("treatments", "precision", "device", "random_state")
        allowed = [name for name in MetricLearner._get_param_names() if name not in passed_here]
        stray = next((name for name in settings if name not in allowed), None)
        if stray is not None:
            raise unknown_name("learner setting", stray, allowed, "equipoise.MetricLearner")
        return MetricLearner(
            **settings, treatments=treatments, precision=self.precision, device=self.device, random_state=self._seed()
        )

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the embedding of rows, ``[row, dimension]``."""
        check_is_fitted(self, "encoder_")
        return self._embedded(self._read(X, reset=False))

    def _embedded(self, columns: Mapping[str, Any]) -> NDArray[np.float32]:
        if not hasattr(self, "embedding_"):
            return super()._embedded(columns)
        embedding: NDArray[np.float32] = self.embedding_.transform(self.encoder_.encode_columns(columns))
        return embedding

    def __sklearn_tags__(self) -> Any:
        """Say to scikit-learn that an embedding is float32 in every precision."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
