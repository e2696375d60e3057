"""Classifiers trained on embeddings (paper 000, section 5 and Tables 8, 11, 12, 21): by one or several trainings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.training.fixing import seed_of
from equipoise.training.material import Codes, Material
from equipoise.training.metric.heads.trainings import DOMAIN_INDEPENDENT, KIN, domains_of, rows_for
from equipoise.training.preparing import Prepared

Embedding = Mapping[str, NDArray[np.float32]]
# What a classifier said of the test rows, and what it warned of.
Said = tuple[Codes, tuple[str, ...]]
# The classifier's name and seed, the points and classes it is trained on, their domains where these are trained one by
# one, and the points that it is asked about.
Task = tuple[str, int, NDArray[np.float32], Codes, Codes | None, NDArray[np.float32]]
# The classifiers of downstream audits, which are imported when one is trained: audits are much to import.
CLASSIFIERS = ("logistic_regression", "svm", "random_forest", "k_means")
# From so many numbers to train on it is worth starting processes: fewer are done before one has begun.
LARGE = 100_000


def check_downstream(given: object) -> list[str]:
    """Return the names of the classifiers to train on an embedding; what is none of them is refused."""
    if given is None:
        return []
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise BadInput(f"downstream is {given!r}", allowed=f"a list of {', '.join(CLASSIFIERS)}")
    for name in given:
        if name not in CLASSIFIERS:
            raise unknown_name("classifier", str(name), CLASSIFIERS, "those that are trained on an embedding")
    return list(dict.fromkeys(given))


def classifiers_of(trials: Sequence[Prepared]) -> list[tuple[int, str, str]]:
    """Return the classifiers that trials ask for: the place of the trial, the classifier and how it is trained."""
    return [
        (place, name, how)
        for place, trial in enumerate(trials)
        for name in trial.values["downstream"]
        for how in trial.values["trainings"]
        if how != DOMAIN_INDEPENDENT or name == KIN
    ]


def downstream_predictions(
    trials: Sequence[Prepared], material: Material, embeddings: Sequence[Embedding], tell: Callable[[int, int], None]
) -> list[tuple[dict[str, Codes], tuple[str, ...]]]:
    """Return for each trial the class of every test row by each classifier that it asks for, and what they warned of.

    ``own`` is trained on the trial's training rows; ``balanced`` on all training rows of the cohort, of every class as
    many as the smallest has; ``oversampled`` on its own rows, repeated until every class of a domain has as many;
    ``domain_independent`` on its own rows, outputs of every domain. Of test rows no domain is known. Large ones are
    trained beside each other where there are cores: they take longer than many a head. ``tell`` hears before the first
    and after each one how many are trained, of how many.
    """
    target = material.train.target
    assert target is not None
    wanted = classifiers_of(trials)
    if wanted:
        tell(0, len(wanted))

    def task(place: int, name: str, how: str) -> Task:
        trial, embedding = trials[place], embeddings[place]
        rows = rows_for(how, trial, material)
        domains = domains_of(trial, material, rows) if how == DOMAIN_INDEPENDENT else None
        seed = seed_of(trial.seed, "downstream", name, how)
        return name, seed, embedding["train"][rows], target[rows], domains, embedding["test"]

    found: list[tuple[dict[str, Codes], tuple[str, ...]]] = [({}, ()) for _ in trials]
    large = any(embeddings[place]["train"].size >= LARGE for place, _, _ in wanted)
    answers = _all((task(*one) for one in wanted), large)
    for number, ((place, name, how), (said, warned)) in enumerate(zip(wanted, answers, strict=True), 1):
        known, notes = found[place]
        known[f"downstream.{name}.{how}.test"] = said
        by = f"{name}, domain-independent" if how == DOMAIN_INDEPENDENT else f"{name} on {how} rows"
        found[place] = known, (*notes, *(f"{by}: {warning}." for warning in warned))
        tell(number, len(wanted))
    return found


def _all(tasks: Iterable[Task], large: bool) -> Iterator[Said]:
    """Train classifiers, each by itself: what they say does not depend on how many train at once."""
    number = cores() if large else 1
    if number == 1:
        return (_one(*one) for one in tasks)
    from sklearn.utils.parallel import Parallel, delayed

    found: Iterator[Said] = Parallel(n_jobs=number, return_as="generator")(delayed(_one)(*one) for one in tasks)
    return found


def cores() -> int:
    """Return how many cores this process may use: as many as it was given threads."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _one(
    name: str,
    seed: int,
    points: NDArray[np.float32],
    classes: Codes,
    domains: Codes | None,
    test: NDArray[np.float32],
) -> Said:
    if domains is not None:
        from equipoise.audits.downstream.domain_independent import DomainIndependent

        apart = DomainIndependent().fit(points, classes, domains)
        return apart.predict(test), apart.warned
    from equipoise.audits.downstream.learners import LEARNERS, fitted

    made, warned = fitted(LEARNERS[name](seed), name, points, classes)
    return np.asarray(made.predict(test), dtype=np.int64), warned
