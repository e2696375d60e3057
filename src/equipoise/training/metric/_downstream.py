"""Classifiers trained on embeddings (paper 000, section 5 and Tables 8, 11, 12, 21), by one or several trainings.

A training is on own, balanced or oversampled rows, or domain by domain.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import (
    BadInput,
    stream,
    unknown_name,
)
from equipoise.training._dataset import Codes, EncodedDataset
from equipoise.training._learner import Learner
from equipoise.training._parameters import FreeParameter
from equipoise.training._preparation import PreparedJob
from equipoise.training._seeding import seed_of

if TYPE_CHECKING:
    from equipoise.audits.downstream import Classifier

Points = NDArray[np.float32]
Embedding = Mapping[str, Points]
# What a classifier said of the test rows, what it warned of, and which one it is where dev rows chose among several.
ClassifierPredictions = tuple[Codes, tuple[str, ...], "Classifier"]
# Classifiers that differ in their settings alone and their seed; the points and classes they are trained on, with
# domains where these are trained one by one; dev points and classes; and the points that they are asked about.
Task = tuple[Sequence["Classifier"], int, Points, Codes, Codes | None, tuple[Points, Codes], Points]
# From so many numbers to train on it is worth starting processes: fewer are done before one has begun.
LARGE = 100_000
OWN_CLASSIFIER, BALANCED, OVERSAMPLED, DOMAIN_INDEPENDENT = ("own", "balanced", "oversampled", "domain_independent")
# The same two on balanced rows, as in the paper's Tables 8 and 11.
BALANCED_OVERSAMPLED, BALANCED_DOMAIN_INDEPENDENT = ("balanced_oversampled", "balanced_domain_independent")
TRAININGS = (
    OWN_CLASSIFIER,
    BALANCED,
    OVERSAMPLED,
    DOMAIN_INDEPENDENT,
    BALANCED_OVERSAMPLED,
    BALANCED_DOMAIN_INDEPENDENT,
)
BY_DOMAIN = (DOMAIN_INDEPENDENT, BALANCED_DOMAIN_INDEPENDENT)
# How a note names a training that is not "on ... rows".
TRAINING_NOTES = {
    DOMAIN_INDEPENDENT: ", domain-independent",
    BALANCED_DOMAIN_INDEPENDENT: ", domain-independent on balanced rows",
    BALANCED_OVERSAMPLED: " on balanced, oversampled rows",
}
USUAL = (OWN_CLASSIFIER, BALANCED)
# Domain-independent training gives a linear classifier outputs of every domain: this is the one that it is kin to.
KIN = "logistic_regression"


DOWNSTREAM = FreeParameter(
    "classifiers that are trained on the embedding",
    "a list of logistic_regression, random_forest, svm and k_means, with settings where wanted: "
    '"logistic_regression:C=0.01,1,100" or { name = "logistic_regression", C = "dev" }',
)
TRAINED = FreeParameter(
    "how the classifiers are trained; none: on own and on balanced rows",
    "a list of own, balanced, oversampled, domain_independent, balanced_oversampled and balanced_domain_independent",
)


class DownstreamLearner(Learner):
    """A learner of an embedding, on which classifiers are trained afterwards."""

    @classmethod
    def with_defaults(cls, values: Mapping[str, Any], task: str = "class") -> dict[str, Any]:
        """Return all hyper-parameters; classifiers and their trainings that are not allowed are refused."""
        completed_values = super().with_defaults(values, task)
        completed_values["downstream"] = check_downstream(completed_values["downstream"])
        completed_values["trainings"] = check_trainings(completed_values["trainings"], completed_values["downstream"])
        return completed_values

    @classmethod
    def described(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return hyper-parameters that name a trial."""
        return described_downstream(without_usual(super().described(values)))


def check_downstream(requested: object) -> list[dict[str, Any]]:
    """Return the classifiers to train on an embedding, each a table of its name and all its settings."""
    if requested is None or (isinstance(requested, Sequence) and not len(requested)):
        return []
    from equipoise.audits.downstream import CLASSIFIER_SETTINGS, classifiers_of

    if isinstance(requested, str) or not isinstance(requested, Sequence):
        raise BadInput(
            f"downstream is {requested!r}",
            available=f"a list of {', '.join(CLASSIFIER_SETTINGS)}, with settings where wanted",
            help='write it as ["logistic_regression"] or ["logistic_regression:C=0.01,0.1,1,10,100"].',
        )  # fmt: skip
    return [{"name": classifier.name, **classifier.settings} for classifier in classifiers_of(requested)]


def described_downstream(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters that name a trial: a classifier by its name and what differs from its stored meaning."""
    if not values.get("downstream"):
        return dict(values)
    return {**values, "downstream": [classifier.plain for classifier in _requested_classifiers(values)]}


def _requested_classifiers(values: Mapping[str, Any]) -> list[Classifier]:
    from equipoise.audits.downstream import classifiers_of

    return classifiers_of(values["downstream"]) if values["downstream"] else []


def classifiers_of(trials: Sequence[PreparedJob]) -> list[tuple[int, Classifier, str]]:
    """Return the classifiers that trials ask for: the place of the trial, the classifier and how it is trained."""
    return [
        (index, classifier, training)
        for index, trial in enumerate(trials)
        for classifier in _requested_classifiers(trial.values)
        for training in trial.values["trainings"]
        if training not in BY_DOMAIN or classifier.name == KIN
    ]


def stored_name(classifier: Classifier, training: str) -> str:
    """Return the name that predictions are kept under; settings are in it where they are not the stored meaning."""
    return ".".join(filter(None, ("downstream", classifier.name, training, classifier.code, "test")))


def downstream_predictions(
    trials: Sequence[PreparedJob],
    dataset: EncodedDataset,
    embeddings: Sequence[Embedding],
    tell: Callable[[int, int], None],
) -> list[tuple[dict[str, NDArray[Any]], tuple[str, ...]]]:
    """Return for each trial the class of every test row by each classifier that it asks for, and what they warned of.

    ``own`` is trained on the trial's training rows; ``balanced`` on all training rows of the cohort, of every class as
    many as the smallest has; ``oversampled`` on its own rows, repeated until every class of a domain has as many;
    ``domain_independent`` on its own rows, outputs of every domain; ``balanced_oversampled`` and
    ``balanced_domain_independent`` likewise on the balanced rows. Of test rows no domain is known. Where dev rows chose
    C, it is kept too. Large ones are trained beside each other where there are cores: they take longer than many a
    head. ``tell`` hears before the first and after each one how many are trained, of how many.
    """
    requested = classifiers_of(trials)
    if requested:
        tell(0, len(requested))
    together: dict[tuple[int, str, str], list[Classifier]] = {}
    for index, wanted_classifier, training in requested:
        together.setdefault((index, wanted_classifier.name, training), []).append(wanted_classifier)

    def task(key: tuple[int, str, str]) -> Task:
        index, name, training = key
        trial, embedding = trials[index], embeddings[index]
        target, dev = dataset.train.target, dataset.dev.target
        assert target is not None
        assert dev is not None
        rows, labelled = rows_for(training, trial, dataset), np.flatnonzero(dev >= 0)
        domains = domains_of(trial, dataset, rows) if training in BY_DOMAIN else None
        seed = seed_of(trial.seed, "downstream", name, training)
        judged = embedding["dev"][labelled], dev[labelled]
        return together[key], seed, embedding["train"][rows], target[rows], domains, judged, embedding["test"]

    predictions: list[tuple[dict[str, NDArray[Any]], tuple[str, ...]]] = [({}, ()) for _ in trials]
    large = any(embeddings[index]["train"].size >= LARGE for index, _, _ in requested)
    number = 0
    for ((index, _, training), group_classifiers), answers in zip(
        together.items(), _all(map(task, together), large), strict=True
    ):
        for classifier, (guesses, warned, chosen) in zip(group_classifiers, answers, strict=True):
            arrays, notes = predictions[index]
            arrays[stored_name(classifier, training)] = guesses
            if chosen != classifier:
                arrays[stored_name(classifier, training).replace(".test", ".chosen_c")] = np.array([chosen["C"]])
            by = f"{classifier.label}{TRAINING_NOTES.get(training, f' on {training} rows')}"
            predictions[index] = arrays, (*notes, *(f"{by}: {warning}." for warning in warned))
            number += 1
            tell(number, len(requested))
    return predictions


def _all(tasks: Iterable[Task], large: bool) -> Iterator[list[ClassifierPredictions]]:
    """Train classifiers, each by itself: what they say does not depend on how many train at once."""
    number = cores() if large else 1
    if number == 1:
        return (_trained(*task) for task in tasks)
    from sklearn.utils.parallel import Parallel, delayed

    answers: Iterator[list[ClassifierPredictions]] = Parallel(n_jobs=number, return_as="generator")(
        delayed(_trained)(*task) for task in tasks
    )
    return answers


def cores() -> int:
    """Return how many cores this process may use: as many as it was given threads."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdigit() and int(threads):
        return int(threads)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _trained(
    classifiers_asked: Sequence[Classifier],
    seed: int,
    points: Points,
    classes: Codes,
    domains: Codes | None,
    dev: tuple[Points, Codes],
    test: Points,
) -> list[ClassifierPredictions]:
    """Train classifiers of one name on the same rows, each setting once, and ask them about the test rows."""
    from equipoise.audits import downstream as classifiers

    def fit(classifier: Classifier) -> tuple[Any, tuple[str, ...]]:
        if domains is None:
            return classifiers.fitted(classifiers.estimator(classifier, seed), classifier.name, points, classes)
        values: Mapping[str, Any] = classifier.settings
        by_domain = classifiers.DomainIndependent(values["C"], standardise=values["standardise"])
        by_domain.fit(points, classes, domains)
        return by_domain, by_domain.warned

    def accuracy(fitted: Any) -> float:
        return float((np.asarray(fitted.predict(dev[0])) == dev[1]).mean())

    fits = classifiers.Fits(fit, accuracy if len(dev[1]) else None)
    answers: list[ClassifierPredictions] = []
    for setting in classifiers_asked:
        fitted, warned, chosen = fits(setting)
        answers.append((np.asarray(fitted.predict(test), dtype=np.int64), warned, chosen))
    return answers


def check_trainings(requested: object, downstream: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the trainings of classifiers in one order, the usual two where none are given; others are refused."""
    if requested is None:
        return list(USUAL)
    if isinstance(requested, str) or not isinstance(requested, Sequence) or not len(requested):
        raise BadInput(f"trainings is {requested!r}", available=f"a list of {', '.join(TRAININGS)}")
    for name in requested:
        if name not in TRAININGS:
            raise unknown_name("training", str(name), TRAININGS, "those of classifiers on an embedding")
    by_domain = [name for name in BY_DOMAIN if name in requested]
    if by_domain and not any(classifier["name"] == KIN for classifier in downstream):
        raise BadInput(
            f"trainings has {by_domain[0]!r} and downstream no {KIN!r}",
            available=f"{by_domain[0]!r} where {KIN!r} is trained: it is that with outputs of every domain",
            help=f"add {KIN!r} to downstream.",
        )
    return [name for name in TRAININGS if name in requested]


def without_usual(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters that name a trial: trials of the usual trainings are those they were before."""
    return {name: value for name, value in values.items() if name != "trainings" or tuple(value) != USUAL}


def rows_for(training: str, trial: PreparedJob, dataset: EncodedDataset) -> Codes:
    """Return the training rows of the cohort that a classifier is trained on; own rows where it differs otherwise."""
    target = dataset.train.target
    assert target is not None
    rows = trial.rows
    if training in (BALANCED, BALANCED_OVERSAMPLED, BALANCED_DOMAIN_INDEPENDENT):
        rows = balanced_rows(target, trial.seed)
    if training in (OVERSAMPLED, BALANCED_OVERSAMPLED):
        return oversampled_rows(rows, target, domains_of(trial, dataset, rows), trial.seed)
    return rows


def domains_of(trial: PreparedJob, dataset: EncodedDataset, rows: Codes) -> Codes:
    """Return the domain of training rows: the part of its class where the condition parts classes, else the group."""
    target, group = dataset.train.target, dataset.train.group
    assert target is not None
    assert group is not None
    return group[rows] if trial.domains is None else trial.domains[target[rows]]


def balanced_rows(target: Codes, seed: int) -> Codes:
    """Return training rows with equally many of every class, as many as the smallest has, drawn by the seed."""
    from equipoise.audits.downstream import rebalanced

    labelled = np.flatnonzero(target >= 0)
    places, _ = rebalanced(target[labelled], "down", stream(seed, "downstream balanced"))
    return labelled[places]


def oversampled_rows(rows: Codes, target: Codes, domains: Codes, seed: int) -> Codes:
    """Return rows, repeated at random until every class of a domain has as many as the largest of them."""
    from equipoise.audits.downstream import rebalanced

    cells = target[rows] * (int(domains.max()) + 1) + domains
    places, _ = rebalanced(cells, "up", stream(seed, "downstream oversampled"))
    return rows[places]
