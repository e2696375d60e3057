"""Classifiers on frozen points: scikit-learn's by name, or any object with ``fit`` and ``predict``.

Paper 000 trains logistic regression, SVM, random forest and k-means and gives no settings; these are stated here:

- ``logistic_regression``: columns standardised on the training part, L2 penalty with C = 1, at most 1,000 steps
- ``svm``: standardised likewise, linear, one class against the rest, squared hinge, C = 1
- ``random_forest``: 100 trees
- ``k_means``: as many clusters as training classes, 4 starts; a cluster is named by its training majority
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.splits import Codes
from equipoise.foundation.errors import BadInput, unknown_name

Floats = NDArray[np.float64]
Points = NDArray[Any]


@runtime_checkable
class Learner(Protocol):
    """What can be trained on points and class numbers, and then predicts class numbers."""

    def fit(self, X: Points, y: Codes) -> object:  # noqa: N803
        """Learn."""

    def predict(self, X: Points) -> Any:  # noqa: N803
        """Return a class number a row."""


class KMeansClassifier:
    """k-means as a classifier: a point gets the class that most training points of its cluster have."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Points, y: Codes, sample_weight: Floats | None = None) -> KMeansClassifier:  # noqa: N803
        """Cluster the points into as many clusters as there are classes, and name the clusters."""
        from sklearn.cluster import KMeans

        classes, codes = np.unique(y, return_inverse=True)
        number = min(len(classes), len(X))
        self.clusters = KMeans(number, n_init=4, random_state=self.random_state).fit(X, sample_weight=sample_weight)
        votes = np.zeros((number, len(classes)))
        np.add.at(votes, (self.clusters.labels_, codes), 1.0 if sample_weight is None else sample_weight)
        self.names = classes[votes.argmax(axis=1)]
        return self

    def predict(self, X: Points) -> Codes:  # noqa: N803
        """Return the class of the nearest cluster."""
        return np.asarray(self.names[self.clusters.predict(X)], dtype=np.int64)


def _logistic_regression(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000, random_state=seed))


def _svm(seed: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    return make_pipeline(StandardScaler(), LinearSVC(max_iter=5_000, random_state=seed))


def _random_forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=-1, random_state=seed)


LEARNERS: dict[str, Callable[[int], Any]] = {
    "logistic_regression": _logistic_regression,
    "svm": _svm,
    "random_forest": _random_forest,
    "k_means": KMeansClassifier,
}


def named_learners(
    given: Sequence[object] | Mapping[str, object] | str, seed: int, known: Mapping[str, Callable[[int], Any]]
) -> dict[str, Learner]:
    """Return learners by name: from names, objects (called by their class), or a mapping of names to either."""
    if isinstance(given, Mapping):
        pairs = [(str(name), thing) for name, thing in given.items()]
    else:
        things = [given] if isinstance(given, str) else list(given)
        pairs = [(thing if isinstance(thing, str) else type(thing).__name__, thing) for thing in things]
    if not pairs:
        raise BadInput("No learner was given", allowed=", ".join(known))
    found: dict[str, Learner] = {}
    for name, thing in pairs:
        if name in found:
            raise BadInput(f"Two learners are called {name!r}", way_out="pass a mapping of names to learners.")
        found[name] = _learner(name, thing, seed, known)
    return found


def _learner(name: str, thing: object, seed: int, known: Mapping[str, Callable[[int], Any]]) -> Learner:
    if isinstance(thing, str):
        if thing not in known:
            raise unknown_name("learner", thing, known, "the learners that come along")
        thing = known[thing](seed)
    if isinstance(thing, type) or not isinstance(thing, Learner):
        raise BadInput(
            f"The learner {name!r} has no fit and predict",
            allowed=f"{', '.join(known)}, or an object with fit(points, classes) and predict(points)",
            way_out="pass an instance, not the class." if isinstance(thing, type) else "give it both.",
        )
    return thing


def fitted(
    learner: Learner, name: str, points: Points, classes: Codes, weights: Floats | None = None
) -> tuple[Learner, tuple[str, ...]]:
    """Train a fresh copy (the object given stays as it is); return it with what it warned of."""
    made = _fresh(learner)
    options = {} if weights is None else {_weight_option(made, name): weights}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made.fit(points, classes, **options)
    return made, tuple(dict.fromkeys(_short(str(warning.message)) for warning in caught))


def _fresh(learner: Learner) -> Any:
    if hasattr(learner, "get_params"):
        from sklearn.base import clone

        return clone(learner)
    return copy.deepcopy(learner)


def _weight_option(learner: Any, name: str) -> str:
    """Return what the learner calls the weights of rows; of a pipeline its last step has them."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    step, last = learner.steps[-1] if isinstance(learner, Pipeline) else ("", learner)
    if not has_fit_parameter(last, "sample_weight"):
        raise BadInput(f"The learner {name!r} takes no weights", way_out="re-balance with 'up' or 'down' instead.")
    return f"{step}__sample_weight" if step else "sample_weight"


def _short(message: str) -> str:
    return message.strip().splitlines()[0].rstrip(".:") if message.strip() else "a warning without words"


def predicted(learner: Learner, name: str, points: Points, number: int) -> Codes:
    """Return the predicted class numbers, or refuse what is not one of them a row."""
    made = np.asarray(learner.predict(points))
    whole = made.dtype.kind in "iufb" and made.shape == (len(points),)
    if not whole or not np.isin(made, np.arange(number)).all():
        raise BadInput(
            f"The learner {name!r} predicted {made.dtype} of the shape {made.shape}, not a class it was trained on",
            allowed=f"one of the numbers 0 to {number - 1} for each of the {len(points):,} rows",
        )
    return made.astype(np.int64)
