"""Classifiers on frozen points: scikit-learn's by name and settings, or any object with ``fit`` and ``predict``.

Paper 000 trains logistic regression, SVM, random forest and k-means and gives no settings. With the defaults of
``CLASSIFIER_SETTINGS`` they are

- ``logistic_regression``: scikit-learn's as it comes (L2 penalty with C = 1, columns as they are), at most 1,000 steps
- ``svm``: columns standardised on the training part, linear, one class against the rest, squared hinge, C = 1
- ``random_forest``: 100 trees
- ``k_means``: as many clusters as training classes, 4 starts; a cluster is named by its training majority
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._units import Codes
from equipoise.audits.downstream._settings import CLASSIFIER_SETTINGS, Classifier, classifiers_of, names_classifier
from equipoise.foundation import (
    BadInput,
    Floats,
    listing,
    unknown_name,
)

Points = NDArray[Any]
Resolved = TypeVar("Resolved")


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
    return _ESTIMATORS[classifier.name](seed, **classifier.settings)


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


_ESTIMATORS: dict[str, Callable[..., Any]] = {
    "logistic_regression": _logistic_regression,
    "svm": _svm,
    "random_forest": _random_forest,
    "k_means": _k_means,
}


class DomainIndependent:
    """Domain-independent training (Wang et al. 2020): a softmax regression with class outputs of its own for a domain.

    The rows of a domain d train its outputs alone, by a softmax over all classes, those that it lacks included:

        sum over rows i of d: -log softmax(W_d x_i + b_d)[y_i], plus (|W_d|^2 + |b_d|^2) / (2 C)

    That is the logistic regression of these audits (C = 1, columns as they are; with ``standardise`` they are brought
    to mean 0 and variance 1 on all rows), which leaves b unpenalised; so does this in a domain that has every class. In
    one that lacks a class b would fall there without end, and a sum over domains would depend on where the steps
    stopped. Without a domain classes are read from the sum of the logits of all.

    ``strength`` is C of the L2 penalty. Steps start at 0 and end when no part of the gradient (per row) is above
    ``tolerance``; ``warned`` says which domains did not come so far in ``steps``.
    """

    def __init__(
        self, strength: float = 1.0, steps: int = 1_000, tolerance: float = 1e-6, *, standardise: bool = False
    ) -> None:
        self.strength, self.steps, self.tolerance = strength, steps, tolerance
        self.standardise = standardise
        self.warned: tuple[str, ...] = ()

    def fit(self, points: Points, classes: Codes, domains: Codes) -> DomainIndependent:
        """Learn the outputs of each domain, in the order of their codes."""
        from sklearn.preprocessing import StandardScaler

        if not len(points) == len(classes) == len(domains):
            raise BadInput(
                f"There are {len(points):,} points, {len(classes):,} classes and {len(domains):,} domains",
                available="a class and a domain for every point",
            )
        self.scaler = StandardScaler().fit(points) if self.standardise else None
        scaled = self._scaled(points)
        self.classes, codes = np.unique(classes, return_inverse=True)
        self.domains, of_row = np.unique(domains, return_inverse=True)
        self.outputs: Floats = np.zeros((len(self.domains), len(self.classes), scaled.shape[1] + 1))
        unfinished = []
        for domain in range(len(self.domains)):
            rows = np.flatnonzero(of_row.reshape(-1) == domain)
            self.outputs[domain], converged = self._outputs(scaled[rows], codes.reshape(-1)[rows])
            unfinished += [] if converged else [str(self.domains[domain])]
        self.warned = (
            (f"not converged after {self.steps:,} steps: domains {listing(unfinished)}",) if unfinished else ()
        )
        return self

    def predict(self, points: Points, domains: Codes | None = None) -> Codes:
        """Return classes: by the outputs of each row's domain where domains are given, else by the sum over them."""
        scaled = self._scaled(points)
        if domains is None:
            # A sum of linear outputs is linear: no logits of single domains are needed.
            return self._predicted(scaled, self.outputs.sum(axis=0))
        if len(domains) != len(points):
            raise BadInput(f"There are {len(points):,} points and {len(domains):,} domains", available="as many")
        unknown = np.setdiff1d(domains, self.domains)
        if len(unknown):
            raise BadInput(
                f"The domain {unknown[0]} was not in the training rows",
                available=listing(map(str, self.domains)),
                help="leave domains out: classes are then read from the sum over all of them.",
            )
        classes = np.empty(len(points), dtype=np.int64)
        for outputs, domain in zip(self.outputs, self.domains, strict=True):
            rows = np.asarray(domains) == domain
            classes[rows] = self._predicted(scaled[rows], outputs)
        return classes

    def _scaled(self, points: Points) -> Floats:
        return np.asarray(points if self.scaler is None else self.scaler.transform(points), dtype=np.float64)

    def _predicted(self, scaled: Floats, outputs: Floats) -> Codes:
        logits = scaled @ outputs[:, :-1].T + outputs[:, -1]
        return np.asarray(self.classes[logits.argmax(axis=1)], dtype=np.int64)

    def _outputs(self, points: Floats, codes: Codes) -> tuple[Floats, bool]:
        """Return the outputs ``[class, column + 1]`` of one domain, and whether the steps converged."""
        from scipy.optimize import minimize

        number, shape = len(self.classes), (len(self.classes), points.shape[1] + 1)
        decay = np.full(shape, 1.0 / (self.strength * len(points)))
        if len(np.unique(codes)) == number:
            decay[:, -1] = 0.0
        solution = minimize(
            lambda flat: objective(flat, points, codes, decay), np.zeros(decay.size), jac=True, method="L-BFGS-B",
            options={"maxiter": self.steps, "maxfun": 2 * self.steps, "gtol": self.tolerance, "ftol": 0.0},
        )  # fmt: skip
        # Where no step makes it smaller in the last digit, it is at its end too.
        return solution.x.reshape(shape), solution.nit < self.steps and solution.nfev < 2 * self.steps


def objective(flat: Floats, points: Floats, codes: Codes, decay: Floats) -> tuple[float, Floats]:
    """Return what a domain makes smaller and its gradient; ``decay`` weighs half the square of every output."""
    outputs = flat.reshape(decay.shape)
    rows = np.arange(len(points))
    logits = points @ outputs[:, :-1].T
    logits += outputs[:, -1]
    logits -= logits.max(axis=1, keepdims=True)
    of_truth = logits[rows, codes]
    shares = np.exp(logits, out=logits)
    sums = shares.sum(axis=1)
    loss = float((np.log(sums) - of_truth).mean())
    shares /= (sums * len(points))[:, None]
    shares[rows, codes] -= 1.0 / len(points)
    gradient = decay * outputs
    gradient[:, :-1] += shares.T @ points
    gradient[:, -1] += shares.sum(axis=0)
    return loss + 0.5 * float((decay * outputs**2).sum()), gradient.reshape(-1)


class Fits:
    """Classifiers fitted on one training part: every setting once, whoever asks for it, and C by dev rows.

    ``fit`` trains one classifier and returns it with its warnings; ``accuracy`` is that of a trained one on dev rows.
    """

    def __init__(
        self, fit: Callable[[Classifier], tuple[Any, tuple[str, ...]]], accuracy: Callable[[Any], float] | None
    ) -> None:
        self._fit, self._accuracy = fit, accuracy
        self._trained: dict[Classifier, tuple[Any, tuple[str, ...]]] = {}

    def __call__(self, classifier: Classifier) -> tuple[Any, tuple[str, ...], Classifier]:
        """Return the trained classifier, its warnings, and which one it is where dev rows chose among several."""
        candidates = classifier.candidates
        if len(candidates) > 1 and self._accuracy is None:
            raise no_dev_rows(classifier)
        for candidate in candidates:
            if candidate not in self._trained:
                self._trained[candidate] = self._fit(candidate)
        chosen = candidates[0]
        if len(candidates) > 1:
            assert self._accuracy is not None
            scores = [self._accuracy(self._trained[candidate][0]) for candidate in candidates]
            chosen = candidates[int(np.argmax(scores))]
        return (*self._trained[chosen], chosen)


def no_dev_rows(classifier: Classifier) -> BadInput:
    """Say that C cannot be chosen by dev rows where there are none."""
    return BadInput(
        f"The classifier {classifier.label} chooses C by its accuracy on dev rows, and there are none",
        available="a train column of train, dev and test (audits), or a cohort with dev rows (studies)",
        help=f"name a number, such as {classifier.name}:C=1, or several, such as {classifier.name}:C=0.1,1,10.",
    )


def resolve_learners(learners: object) -> dict[str, Classifier | Learner]:
    """Return what is to be trained by label: names, lines and tables with settings, or objects with fit and predict.

    A mapping gives labels of its own, unless it is the table of one classifier (it then has a ``name``).
    """

    def resolve(label: str, learner: object) -> Iterable[tuple[str, Classifier | Learner]]:
        if not isinstance(learner, str | Mapping):
            name = label or type(learner).__name__
            return [(name, _checked(name, learner, CLASSIFIER_SETTINGS))]
        several = classifiers_of([learner], "learner")
        return [
            (f"{label} ({classifier.label})" if label and len(several) > 1 else label or classifier.label, classifier)
            for classifier in several
        ]

    return _by_label([learners] if names_classifier(learners) else learners, resolve, CLASSIFIER_SETTINGS)


def resolve_probes(probes: object, seed: int, built_in: Mapping[str, Callable[[int], Any]]) -> dict[str, Learner]:
    """Return untrained learners by label: from names of ``built_in``, or objects with fit and predict."""

    def resolve(label: str, learner: object) -> Iterable[tuple[str, Learner]]:
        name = label or (learner if isinstance(learner, str) else type(learner).__name__)
        if isinstance(learner, str):
            if learner not in built_in:
                raise unknown_name("learner", learner, built_in, "the built-in learners")
            learner = built_in[learner](seed)
        return [(name, _checked(name, learner, built_in))]

    return _by_label([probes] if isinstance(probes, str) else probes, resolve, built_in)


def _by_label(
    learners_given: object, resolve: Callable[[str, object], Iterable[tuple[str, Resolved]]], names: Iterable[str]
) -> dict[str, Resolved]:
    """Return learners by label, each label once."""
    if isinstance(learners_given, Mapping):
        labelled = [(str(label), learner) for label, learner in learners_given.items()]
    else:
        labelled = [
            ("", learner) for learner in (learners_given if isinstance(learners_given, Iterable) else [learners_given])
        ]
    if not labelled:
        raise BadInput("No learner was given", available=", ".join(names))
    learners: dict[str, Resolved] = {}
    for label, learner in labelled:
        for name, resolved in resolve(label, learner):
            if name in learners:
                raise BadInput(f"Two learners are called {name!r}", help="pass a mapping of names to learners.")
            learners[name] = resolved
    return learners


def _checked(name: str, thing: object, names: Iterable[str]) -> Learner:
    if isinstance(thing, type) or not isinstance(thing, Learner):
        raise BadInput(
            f"The learner {name!r} has no fit and predict",
            available=f"{', '.join(names)}, or an object with fit(points, classes) and predict(points)",
            help="pass an instance, not the class." if isinstance(thing, type) else "give it both.",
        )
    return thing


def fitted(
    learner: Learner, name: str, points: Points, classes: Codes, weights: Floats | None = None
) -> tuple[Learner, tuple[str, ...]]:
    """Train a fresh copy (the object given stays as it is); return it with what it warned of."""
    trained = _fresh(learner)
    options = {} if weights is None else {_weight_option(trained, name): weights}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trained.fit(points, classes, **options)
    return trained, tuple(dict.fromkeys(_first_line(str(warning.message)) for warning in caught))


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


def _first_line(message: str) -> str:
    return message.strip().splitlines()[0].rstrip(".:") if message.strip() else "a warning without text"


def predicted(learner: Learner, name: str, points: Points, number: int) -> Codes:
    """Return the predicted class numbers, or refuse what is not one of them a row."""
    classes = np.asarray(learner.predict(points))
    is_numeric = classes.dtype.kind in "iufb" and classes.shape == (len(points),)
    if not is_numeric or not np.isin(classes, np.arange(number)).all():
        raise BadInput(
            f"The learner {name!r} predicted {classes.dtype} of shape {classes.shape}, not a class it was trained on",
            available=f"one of the numbers 0 to {number - 1} for each of the {len(points):,} rows",
        )
    return classes.astype(np.int64)
