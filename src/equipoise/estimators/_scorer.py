"""Measures as scorers of scikit-learn: what ``cross_validate``, ``GridSearchCV`` and the like can choose by."""

# ruff: noqa: N803 - X is what scikit-learn calls it.
from __future__ import annotations

import copy
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from equipoise.foundation import BadInput, accepts, as_columns, listing, registry
from equipoise.measures import (
    Measure,
    get_measure,
)
from equipoise.tallies import (
    factorise,
    label_of,
)

if TYPE_CHECKING:
    from equipoise.cohorts import ColumnLike, ColumnsLike, InputsLike, LabelLike
    from equipoise.training import Estimator

GROUPS, WEIGHTS = "sensitive_features", "sample_weight"
# Greater is better: a measure that is better low has its sign changed.
SIGNS = {"high": 1.0, "low": -1.0}
# The method of an estimator whose answer a measure is a function of.
METHODS = {
    "predictions": "predict", "counts": "predict", "residuals": "predict", "scores": "predict_proba",
    "embedding": "transform",
}  # fmt: skip


@accepts(favorable="favourable")
def scorer(measure: str, *, favourable: LabelLike | None = None) -> MeasureScorer:
    """Return a measure as a scorer for ``cross_validate``, ``GridSearchCV`` and whatever else takes ``scoring=``.

    Greater is better: a measure that is better low, as all gaps are, comes with its sign changed. Where a measure is
    undefined the score is NaN, with a warning that says why.

    Parameters
    ----------
    measure : str
        A name or alias, as ``equipoise list measures`` shows it.
    favourable : label, optional
        The class that is good to be predicted as. Without it a measure of classes is the mean over the classes.

    Returns
    -------
    MeasureScorer
        Called as ``scorer(estimator, X, y, sensitive_features=groups)``. It requests ``sensitive_features`` by
        metadata routing, which ``sklearn.set_config(enable_metadata_routing=True)`` turns on.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from equipoise import scorer
    >>> X, y, group = np.zeros((4, 1)), [0, 1, 1, 1], ["a", "a", "b", "b"]
    >>> model = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    >>> scorer("accuracy")(model, X, y), scorer("accuracy_difference")(model, X, y, sensitive_features=group)
    (0.75, -0.5)
    """
    return MeasureScorer(get_measure(measure), favourable)


class MeasureScorer:
    """A measure of a fitted estimator: greater is better, NaN where it is undefined."""

    def __init__(self, measure: Measure, favourable: LabelLike | None = None) -> None:
        if measure.better not in SIGNS:
            raise BadInput(
                f"The measure {measure.name!r} is neither better high nor better low, and nothing can be chosen by it",
                available=listing(_measures_with_a_direction(measure.needs)),
            )
        if favourable is not None and not measure.classwise and measure.needs != "scores":
            raise BadInput(
                f"The measure {measure.name!r} is of all classes together, and favourable={favourable!r} was given",
                help="leave favourable out.",
            )
        self.measure, self.favourable = measure.name, favourable
        self._request = MetadataRequest(owner=self)
        self._request.score.add_request(param=GROUPS, alias=True)
        self._request.score.add_request(param=WEIGHTS, alias=None)

    def __call__(
        self,
        estimator: Estimator,
        X: InputsLike,
        y_true: ColumnLike,
        *,
        sensitive_features: ColumnsLike | None = None,
        sample_weight: ColumnLike | None = None,
    ) -> float:
        """Return the measure of an estimator on rows, with the sign that makes greater better."""
        measure = get_measure(self.measure)
        outcome = self._outcome(estimator, X, sensitive_features)
        reason = self._undefined(measure, estimator, y_true, outcome, sensitive_features)
        if reason is None:
            record = measure.record(
                y_true, outcome, favourable=self.favourable, sensitive_features=sensitive_features,
                sample_weight=sample_weight,
            )  # fmt: skip
            if not math.isnan(record.value):
                return SIGNS[measure.better] * record.value
            reason = record.reason
        warnings.warn(f"{measure.name} is undefined: {reason}", UndefinedMetricWarning, stacklevel=2)
        return math.nan

    def set_score_request(
        self, *, sensitive_features: str | bool | None = True, sample_weight: str | bool | None = None
    ) -> MeasureScorer:
        """Return the scorer with other requests: True, False, None or the name that the metadata has elsewhere."""
        changed = copy.deepcopy(self)
        changed._request.score.add_request(param=GROUPS, alias=sensitive_features)
        changed._request.score.add_request(param=WEIGHTS, alias=sample_weight)
        return changed

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn what the scorer takes beside X and y."""
        return self._request

    def _outcome(self, estimator: Any, X: Any, groups: Any) -> Any:
        """Return what the estimator says of rows; it gets their groups where it asks for them."""
        method = METHODS[get_measure(self.measure).needs]
        asks = groups is not None and get_routing_for_object(estimator).consumes(method, [GROUPS])
        output = getattr(estimator, method)(X, **({GROUPS: groups} if asks else {}))
        return output if method != "predict_proba" else self._score(np.asarray(output), estimator)

    def _score(self, probabilities: Any, estimator: Any) -> Any:
        """Return the probability of the favourable class, or of the second of two."""
        names = [label_of(label) for label in estimator.classes_]
        favourable = label_of(self.favourable)
        if favourable is None and len(names) == 2:
            return probabilities[:, 1]
        if favourable not in names:
            raise BadInput(
                f"{self.measure} is of the score of one class, and favourable is {self.favourable!r}",
                available=listing(names), help=f"scorer({self.measure!r}, favourable={names[-1]!r})",
            )  # fmt: skip
        return probabilities[:, names.index(favourable)]

    def _undefined(self, measure: Measure, estimator: Any, y_true: Any, outcome: Any, groups: Any) -> str | None:
        """Return why these rows have no answer, such as a fold in which there is one group only."""
        compares = measure.kind not in ("rate", "value")
        if compares and groups is None:
            raise BadInput(
                f"{measure.name} compares groups, and the scorer was given none",
                help='sklearn.set_config(enable_metadata_routing=True), and params={"sensitive_features": groups}',
            )
        if compares and _number_of_groups(groups) < 2:
            return "the rows are all of one group"
        if self.favourable is None or (measure.needs != "counts" and measure.needs != "predictions"):
            return None
        favourable = label_of(self.favourable)
        class_labels = {label_of(label) for label in getattr(estimator, "classes_", ())}
        absent = favourable not in {label_of(label) for column in (y_true, outcome) for label in np.unique(column)}
        return (
            f"no row is of the class {favourable!r} or predicted as it"
            if absent and favourable in class_labels
            else None
        )

    def __repr__(self) -> str:
        favourable = "" if self.favourable is None else f", favourable={self.favourable!r}"
        return f"equipoise.scorer({self.measure!r}{favourable})"


def _measures_with_a_direction(needs: str) -> list[str]:
    measures = [entry.implementation for entry in registry.entries("measure")]
    return [
        measure.name
        for measure in measures
        if isinstance(measure, Measure) and measure.needs == needs and measure.better in SIGNS
    ]


def _number_of_groups(groups: Any) -> int:
    """Return how many combinations of values the group columns have; a missing value makes no group."""
    coded = [factorise(column) for column in as_columns(groups).values()]
    is_known = [np.array([label is not None for label in column.labels])[column.codes] for column in coded]
    rows = np.stack([column.codes for column in coded], axis=1)[np.all(is_known, axis=0)]
    return len(np.unique(rows, axis=0))
