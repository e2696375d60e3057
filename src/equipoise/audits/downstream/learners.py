"""Classifiers on frozen points: scikit-learn's by name and settings, or any object with ``fit`` and ``predict``.

Paper 000 trains logistic regression, SVM, random forest and k-means and gives no settings. ``settings.py`` has
ours; with its defaults they are

- ``logistic_regression``: scikit-learn's as it comes (L2 penalty with C = 1, columns as they are), at most 1,000 steps
- ``svm``: columns standardised on the training part, linear, one class against the rest, squared hinge, C = 1
- ``random_forest``: 100 trees
- ``k_means``: as many clusters as training classes, 4 starts; a cluster is named by its training majority
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.settings import RULES, Classifier, classifiers_of, is_asked
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

    def __init__(self, random_state: int = 0, starts: int = 4) -> None:
        self.random_state, self.starts = random_state, starts

    def fit(self, X: Points, y: Codes, sample_weight: Floats | None = None) -> KMeansClassifier:  # noqa: N803
        """Cluster the points into as many clusters as there are classes, and name the clusters."""
        from sklearn.cluster import KMeans

        classes, codes = np.unique(y, return_inverse=True)
        number = min(len(classes), len(X))
        self.clusters = KMeans(number, n_init=self.starts, random_state=self.random_state).fit(
            X, sample_weight=sample_weight
        )
        votes = np.zeros((number, len(classes)))
        np.add.at(votes, (self.clusters.labels_, codes), 1.0 if sample_weight is None else sample_weight)
        self.names = classes[votes.argmax(axis=1)]
        return self

    def predict(self, X: Points) -> Codes:  # noqa: N803
        """Return the class of the nearest cluster."""
        return np.asarray(self.names[self.clusters.predict(X)], dtype=np.int64)


def estimator(classifier: Classifier, seed: int) -> Any:
    """Return an untrained classifier with its settings; one whose C is still to be chosen is none yet."""
    return _MAKERS[classifier.name](seed, **classifier.settings)


def _logistic_regression(seed: int, C: float, standardise: bool, tolerance: float) -> Any:  # noqa: N803
    from sklearn.linear_model import LogisticRegression

    return _scaled(LogisticRegression(C=C, tol=tolerance, max_iter=1_000, random_state=seed), standardise)


def _svm(seed: int, C: float, standardise: bool) -> Any:  # noqa: N803
    from sklearn.svm import LinearSVC

    return _scaled(LinearSVC(C=C, max_iter=5_000, random_state=seed), standardise)


def _scaled(classifier: Any, standardise: bool) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), classifier) if standardise else classifier


def _random_forest(seed: int, trees: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, n_jobs=-1, random_state=seed)


def _k_means(seed: int, starts: int) -> Any:
    return KMeansClassifier(seed, starts)


_MAKERS: dict[str, Callable[..., Any]] = {
    "logistic_regression": _logistic_regression,
    "svm": _svm,
    "random_forest": _random_forest,
    "k_means": _k_means,
}


class Fits:
    """Classifiers fitted on one training part: every setting once, whoever asks for it, and C by dev rows.

    ``fit`` trains one classifier and returns it with its warnings; ``accuracy`` is that of a trained one on dev rows.
    """

    def __init__(
        self, fit: Callable[[Classifier], tuple[Any, tuple[str, ...]]], accuracy: Callable[[Any], float] | None
    ) -> None:
        self._fit, self._accuracy = fit, accuracy
        self._made: dict[Classifier, tuple[Any, tuple[str, ...]]] = {}

    def __call__(self, asked: Classifier) -> tuple[Any, tuple[str, ...], Classifier]:
        """Return the trained classifier, its warnings, and which one it is where dev rows chose among several."""
        candidates = asked.candidates
        if len(candidates) > 1 and self._accuracy is None:
            raise no_dev_rows(asked)
        for one in candidates:
            if one not in self._made:
                self._made[one] = self._fit(one)
        chosen = candidates[0]
        if len(candidates) > 1:
            assert self._accuracy is not None
            scores = [self._accuracy(self._made[one][0]) for one in candidates]
            chosen = candidates[int(np.argmax(scores))]
        return (*self._made[chosen], chosen)


def no_dev_rows(asked: Classifier) -> BadInput:
    """Say that C cannot be chosen by dev rows where there are none."""
    return BadInput(
        f"The classifier {asked.label} chooses C by its accuracy on dev rows, and there are none",
        available="a train column of train, dev and test (audits), or a cohort with dev rows (studies)",
        help=f"name a number, such as {asked.name}:C=1, or several, such as {asked.name}:C=0.1,1,10.",
    )


def asked_learners(given: object) -> dict[str, Classifier | Learner]:
    """Return what is to be trained by label: names, lines and tables with settings, or objects with fit and predict.

    A mapping gives labels of its own, unless it is the table of one classifier (it then has a ``name``).
    """
    if isinstance(given, Mapping) and not is_asked(given):
        pairs = [(str(label), thing) for label, thing in given.items()]
    else:
        things = [given] if is_asked(given) or not isinstance(given, Iterable) else list(given)
        pairs = [("", thing) for thing in things]
    if not pairs:
        raise BadInput("No learner was given", available=", ".join(RULES))
    found: dict[str, Classifier | Learner] = {}
    for label, thing in pairs:
        if isinstance(thing, str | Mapping):
            made = classifiers_of([thing], "learner")
            several: list[tuple[str, Classifier | Learner]] = [
                (f"{label} ({one.label})" if label and len(made) > 1 else label or one.label, one) for one in made
            ]
        else:
            label = label or type(thing).__name__
            several = [(label, _checked(label, thing, RULES))]
        for name, one in several:
            if name in found:
                raise BadInput(f"Two learners are called {name!r}", help="pass a mapping of names to learners.")
            found[name] = one
    return found


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
        raise BadInput("No learner was given", available=", ".join(known))
    found: dict[str, Learner] = {}
    for name, thing in pairs:
        if name in found:
            raise BadInput(f"Two learners are called {name!r}", help="pass a mapping of names to learners.")
        found[name] = _learner(name, thing, seed, known)
    return found


def _learner(name: str, thing: object, seed: int, known: Mapping[str, Callable[[int], Any]]) -> Learner:
    if isinstance(thing, str):
        if thing not in known:
            raise unknown_name("learner", thing, known, "the learners that come along")
        thing = known[thing](seed)
    return _checked(name, thing, known)


def _checked(name: str, thing: object, known: Iterable[str]) -> Learner:
    if isinstance(thing, type) or not isinstance(thing, Learner):
        raise BadInput(
            f"The learner {name!r} has no fit and predict",
            available=f"{', '.join(known)}, or an object with fit(points, classes) and predict(points)",
            help="pass an instance, not the class." if isinstance(thing, type) else "give it both.",
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
        raise BadInput(f"The learner {name!r} takes no weights", help="re-balance with 'up' or 'down' instead.")
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
            available=f"one of the numbers 0 to {number - 1} for each of the {len(points):,} rows",
        )
    return made.astype(np.int64)
