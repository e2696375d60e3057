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
from equipoise.training._dataset import Codes, Material
from equipoise.training._learner import Learner
from equipoise.training._parameters import Given
from equipoise.training._preparation import Prepared
from equipoise.training._seeding import seed_of

if TYPE_CHECKING:
    from equipoise.audits.downstream import Classifier

Points = NDArray[np.float32]
Embedding = Mapping[str, Points]
# What a classifier said of the test rows, what it warned of, and which one it is where dev rows chose among several.
Said = tuple[Codes, tuple[str, ...], "Classifier"]
# Classifiers that differ in their settings alone and their seed; the points and classes they are trained on, with
# domains where these are trained one by one; dev points and classes; and the points that they are asked about.
Task = tuple[Sequence["Classifier"], int, Points, Codes, Codes | None, tuple[Points, Codes], Points]
# From so many numbers to train on it is worth starting processes: fewer are done before one has begun.
LARGE = 100_000
OWN, BALANCED, OVERSAMPLED, DOMAIN_INDEPENDENT = ("own", "balanced", "oversampled", "domain_independent")
# The same two on balanced rows, as in the paper's Tables 8 and 11.
BALANCED_OVERSAMPLED, BALANCED_DOMAIN_INDEPENDENT = ("balanced_oversampled", "balanced_domain_independent")
TRAININGS = (OWN, BALANCED, OVERSAMPLED, DOMAIN_INDEPENDENT, BALANCED_OVERSAMPLED, BALANCED_DOMAIN_INDEPENDENT)
BY_DOMAIN = (DOMAIN_INDEPENDENT, BALANCED_DOMAIN_INDEPENDENT)
# How a note names a training that is not "on ... rows".
SAID = {
    DOMAIN_INDEPENDENT: ", domain-independent",
    BALANCED_DOMAIN_INDEPENDENT: ", domain-independent on balanced rows",
    BALANCED_OVERSAMPLED: " on balanced, oversampled rows",
}
USUAL = (OWN, BALANCED)
# Domain-independent training gives a linear classifier outputs of every domain: this is the one that it is kin to.
KIN = "logistic_regression"


DOWNSTREAM = Given(
    "classifiers that are trained on the embedding",
    "a list of logistic_regression, random_forest, svm and k_means, with settings where wanted: "
    '"logistic_regression:C=0.01,1,100" or { name = "logistic_regression", C = "dev" }',
)
TRAINED = Given(
    "how the classifiers are trained; none: on own and on balanced rows",
    "a list of own, balanced, oversampled, domain_independent, balanced_oversampled and balanced_domain_independent",
)


class DownstreamLearner(Learner):
    """A learner of an embedding, on which classifiers are trained afterwards."""

    @classmethod
    def completed(cls, values: Mapping[str, Any], task: str = "class") -> dict[str, Any]:
        """Return all hyper-parameters; classifiers and their trainings that are not allowed are refused."""
        made = super().completed(values, task)
        made["downstream"] = check_downstream(made["downstream"])
        made["trainings"] = check_trainings(made["trainings"], made["downstream"])
        return made

    @classmethod
    def described(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return hyper-parameters that name a trial."""
        return described_downstream(without_usual(super().described(values)))


def check_downstream(given: object) -> list[dict[str, Any]]:
    """Return the classifiers to train on an embedding, each a table of its name and all its settings."""
    if given is None or (isinstance(given, Sequence) and not len(given)):
        return []
    from equipoise.audits.downstream import CLASSIFIER_SETTINGS, classifiers_of

    if isinstance(given, str) or not isinstance(given, Sequence):
        raise BadInput(
            f"downstream is {given!r}",
            available=f"a list of {', '.join(CLASSIFIER_SETTINGS)}, with settings where wanted",
            help='write it as ["logistic_regression"] or ["logistic_regression:C=0.01,0.1,1,10,100"].',
        )  # fmt: skip
    return [{"name": one.name, **one.settings} for one in classifiers_of(given)]


def described_downstream(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters that name a trial: a classifier by its name and what differs from its stored meaning."""
    if not values.get("downstream"):
        return dict(values)
    return {**values, "downstream": [one.plain for one in _asked(values)]}


def _asked(values: Mapping[str, Any]) -> list[Classifier]:
    from equipoise.audits.downstream import classifiers_of

    return classifiers_of(values["downstream"]) if values["downstream"] else []


def classifiers_of(trials: Sequence[Prepared]) -> list[tuple[int, Classifier, str]]:
    """Return the classifiers that trials ask for: the place of the trial, the classifier and how it is trained."""
    return [
        (index, one, how)
        for index, trial in enumerate(trials)
        for one in _asked(trial.values)
        for how in trial.values["trainings"]
        if how not in BY_DOMAIN or one.name == KIN
    ]


def stored_name(classifier: Classifier, how: str) -> str:
    """Return the name that predictions are kept under; settings are in it where they are not the stored meaning."""
    return ".".join(filter(None, ("downstream", classifier.name, how, classifier.code, "test")))


def downstream_predictions(
    trials: Sequence[Prepared], material: Material, embeddings: Sequence[Embedding], tell: Callable[[int, int], None]
) -> list[tuple[dict[str, NDArray[Any]], tuple[str, ...]]]:
    """Return for each trial the class of every test row by each classifier that it asks for, and what they warned of.

    ``own`` is trained on the trial's training rows; ``balanced`` on all training rows of the cohort, of every class as
    many as the smallest has; ``oversampled`` on its own rows, repeated until every class of a domain has as many;
    ``domain_independent`` on its own rows, outputs of every domain; ``balanced_oversampled`` and
    ``balanced_domain_independent`` likewise on the balanced rows. Of test rows no domain is known. Where dev rows chose
    C, it is kept too. Large ones are trained beside each other where there are cores: they take longer than many a
    head. ``tell`` hears before the first and after each one how many are trained, of how many.
    """
    wanted = classifiers_of(trials)
    if wanted:
        tell(0, len(wanted))
    together: dict[tuple[int, str, str], list[Classifier]] = {}
    for place, one, how in wanted:
        together.setdefault((place, one.name, how), []).append(one)

    def task(key: tuple[int, str, str]) -> Task:
        place, name, how = key
        trial, embedding = trials[place], embeddings[place]
        target, dev = material.train.target, material.dev.target
        assert target is not None
        assert dev is not None
        rows, known = rows_for(how, trial, material), np.flatnonzero(dev >= 0)
        domains = domains_of(trial, material, rows) if how in BY_DOMAIN else None
        seed = seed_of(trial.seed, "downstream", name, how)
        judged = embedding["dev"][known], dev[known]
        return together[key], seed, embedding["train"][rows], target[rows], domains, judged, embedding["test"]

    found: list[tuple[dict[str, NDArray[Any]], tuple[str, ...]]] = [({}, ()) for _ in trials]
    large = any(embeddings[place]["train"].size >= LARGE for place, _, _ in wanted)
    number = 0
    for ((place, _, how), own), said in zip(together.items(), _all(map(task, together), large), strict=True):
        for asked, (guesses, warned, chosen) in zip(own, said, strict=True):
            kept, notes = found[place]
            kept[stored_name(asked, how)] = guesses
            if chosen != asked:
                kept[stored_name(asked, how).replace(".test", ".chosen_c")] = np.array([chosen["C"]])
            by = f"{asked.label}{SAID.get(how, f' on {how} rows')}"
            found[place] = kept, (*notes, *(f"{by}: {warning}." for warning in warned))
            number += 1
            tell(number, len(wanted))
    return found


def _all(tasks: Iterable[Task], large: bool) -> Iterator[list[Said]]:
    """Train classifiers, each by itself: what they say does not depend on how many train at once."""
    number = cores() if large else 1
    if number == 1:
        return (_trained(*task) for task in tasks)
    from sklearn.utils.parallel import Parallel, delayed

    found: Iterator[list[Said]] = Parallel(n_jobs=number, return_as="generator")(
        delayed(_trained)(*task) for task in tasks
    )
    return found


def cores() -> int:
    """Return how many cores this process may use: as many as it was given threads."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _trained(
    asked: Sequence[Classifier],
    seed: int,
    points: Points,
    classes: Codes,
    domains: Codes | None,
    dev: tuple[Points, Codes],
    test: Points,
) -> list[Said]:
    """Train classifiers of one name on the same rows, each setting once, and ask them about the test rows."""
    from equipoise.audits import downstream as classifiers

    def fit(classifier: Classifier) -> tuple[Any, tuple[str, ...]]:
        if domains is None:
            return classifiers.fitted(classifiers.estimator(classifier, seed), classifier.name, points, classes)
        values: Mapping[str, Any] = classifier.settings
        apart = classifiers.DomainIndependent(values["C"], standardise=values["standardise"])
        apart.fit(points, classes, domains)
        return apart, apart.warned

    def accuracy(made: Any) -> float:
        return float((np.asarray(made.predict(dev[0])) == dev[1]).mean())

    fits = classifiers.Fits(fit, accuracy if len(dev[1]) else None)
    found: list[Said] = []
    for one in asked:
        made, warned, chosen = fits(one)
        found.append((np.asarray(made.predict(test), dtype=np.int64), warned, chosen))
    return found


def check_trainings(given: object, downstream: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the trainings of classifiers in one order, the usual two where none are given; others are refused."""
    if given is None:
        return list(USUAL)
    if isinstance(given, str) or not isinstance(given, Sequence) or not len(given):
        raise BadInput(f"trainings is {given!r}", available=f"a list of {', '.join(TRAININGS)}")
    for name in given:
        if name not in TRAININGS:
            raise unknown_name("training", str(name), TRAININGS, "those of classifiers on an embedding")
    by_domain = [name for name in BY_DOMAIN if name in given]
    if by_domain and not any(one["name"] == KIN for one in downstream):
        raise BadInput(
            f"trainings has {by_domain[0]!r} and downstream no {KIN!r}",
            available=f"{by_domain[0]!r} where {KIN!r} is trained: it is that with outputs of every domain",
            help=f"add {KIN!r} to downstream.",
        )
    return [name for name in TRAININGS if name in given]


def without_usual(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return hyper-parameters that name a trial: trials of the usual trainings are those they were before."""
    return {name: value for name, value in values.items() if name != "trainings" or tuple(value) != USUAL}


def rows_for(training: str, trial: Prepared, material: Material) -> Codes:
    """Return the training rows of the cohort that a classifier is trained on; own rows where it differs otherwise."""
    target = material.train.target
    assert target is not None
    rows = trial.rows
    if training in (BALANCED, BALANCED_OVERSAMPLED, BALANCED_DOMAIN_INDEPENDENT):
        rows = balanced_rows(target, trial.seed)
    if training in (OVERSAMPLED, BALANCED_OVERSAMPLED):
        return oversampled_rows(rows, target, domains_of(trial, material, rows), trial.seed)
    return rows


def domains_of(trial: Prepared, material: Material, rows: Codes) -> Codes:
    """Return the domain of training rows: the part of its class where the condition parts classes, else the group."""
    target, group = material.train.target, material.train.group
    assert target is not None
    assert group is not None
    return group[rows] if trial.domains is None else trial.domains[target[rows]]


def balanced_rows(target: Codes, seed: int) -> Codes:
    """Return training rows with equally many of every class, as many as the smallest has, drawn by the seed."""
    from equipoise.audits.downstream import rebalanced

    known = np.flatnonzero(target >= 0)
    places, _ = rebalanced(target[known], "down", stream(seed, "downstream balanced"))
    return known[places]


def oversampled_rows(rows: Codes, target: Codes, domains: Codes, seed: int) -> Codes:
    """Return rows, repeated at random until every class of a domain has as many as the largest of them."""
    from equipoise.audits.downstream import rebalanced

    cells = target[rows] * (int(domains.max()) + 1) + domains
    places, _ = rebalanced(cells, "up", stream(seed, "downstream oversampled"))
    return rows[places]
