"""What carries over: classifiers trained on a frozen embedding, and how they serve each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.audits._multiple_testing import with_adjusted_p
from equipoise.audits._units import Attribute, Codes, UnitName, carried_by, constant_in
from equipoise.audits.downstream._classifiers import (
    Fits,
    Learner,
    estimator,
    fitted,
    no_dev_rows,
    predicted,
    resolve_learners,
)
from equipoise.audits.downstream._group_values import GroupValues, HeldOutRows, Sampling
from equipoise.audits.downstream._macro import MACRO_MEASURES, check_variant
from equipoise.audits.downstream._result import Downstream, DownstreamRecord
from equipoise.audits.downstream._rows import (
    REBALANCED,
    Floats,
    Points,
    Rows,
    read_rows,
    rebalancing,
    split_rows,
    training_rows,
)
from equipoise.audits.downstream._settings import CLASSIFIER_SETTINGS, Classifier
from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.long_work import Progress
from equipoise.foundation.reproducibility import stream

DRAWS = 1_000
# A group with fewer test rows than this is shown, but neither tested nor given an interval.
LEAST = 10


def downstream(
    points: object,
    target: object,
    groups: object,
    *,
    learners: Sequence[object] | Mapping[str, object] | str = tuple(CLASSIFIER_SETTINGS),
    rebalance: bool | str = False,
    train: object = None,
    cluster: object = None,
    folds: int = 5,
    reference: Mapping[str, str] | str | None = None,
    variant: str = "default",
    seed: int = 0,
    draws: int = DRAWS,
    least: int = LEAST,
    progress: Progress | None = None,
) -> Downstream:
    """Train classifiers on points and measure how well they do for each group.

    Parameters
    ----------
    points : array or path
        One row per point.
    target, groups : array, or for groups a mapping or a frame of several columns
        The class to learn, and the groups of the rows.
    learners : names, tables, objects, or a mapping of labels to them
        Classifiers by name, with settings where wanted (``"logistic_regression:C=0.01,1,100"`` is three of them,
        ``"logistic_regression:C=dev"`` takes the C that is most accurate on dev rows), tables such as
        ``{"name": "svm", "C": 10}``, or objects with fit and predict.
    rebalance : bool or {"up", "down", "weights"}
        Train on equal class x group; True is ``"up"``.
    train : array, optional
        True for rows to train on and false for rows to test on; or train, dev and test. Without it rows are split into
        ``folds``.
    cluster : array, optional
        Whose rows they are: nobody is on both sides of a split, unless the target is the cluster.
    folds : int
        How many folds there are without ``train``.
    reference : mapping or str, optional
        The group that others are compared with, by attribute; by default the one with most test rows.
    variant : {"default", "paper"}
        Which classes a macro mean is over.
    seed, draws : int
        The seed, and how many resamples intervals and tests take; 0 for none.
    least : int
        A group with fewer test rows is shown, but neither tested nor given an interval.
    progress : callable, optional
        Called after every training with what was trained and the share that is done.

    Returns
    -------
    Downstream
        A record for each learner, measure, group and gap.

    Examples
    --------
    >>> import numpy as np
    >>> group, kind = np.arange(200) % 2, np.arange(200) // 2 % 2
    >>> points = (np.where(group == 1, 0.2, 3.0) * kind)[:, None] + np.random.default_rng(0).normal(size=(200, 1))
    >>> [gap] = downstream(points, kind, group, learners="svm", draws=200).find(kind="gap", measure="accuracy")
    >>> gap.group, gap.against, gap.finding
    ('1', '0', True)
    """
    method = rebalancing(rebalance)
    check_variant(variant)
    resolved = resolve_learners(learners)
    data = read_rows(points, target, groups, cluster, train)
    given = len(data.points)
    for learner in resolved.values():
        if isinstance(learner, Classifier) and len(learner.candidates) > 1 and not len(data.dev):
            raise no_dev_rows(learner)
    split, description = split_rows(data, folds, seed)
    references = _references(reference, data.groups)
    balanced_for: list[str | None] = [None] if method is None else list(data.groups)
    steps, done = len(resolved) * len(balanced_for) * len(split), 0
    records: list[DownstreamRecord] = []
    tests = len(resolved) * sum(_tests_of(groups) for groups in data.groups.values())
    sampling = Sampling(draws, least, tests)
    for attribute in balanced_for:
        parts = []
        for number, (training, _) in enumerate(split):
            generator = stream(seed, "rebalance", attribute, number)
            parts.append(_Part(data, *training_rows(data, training, attribute, method, generator), seed))
        for name, learner in resolved.items():
            guesses = np.full(len(data.classes), -1, dtype=np.int64)
            for part, (_, test) in zip(parts, split, strict=True):
                trained, warned = part.trained(learner, name)
                guesses[test] = predicted(trained, name, data.points[test], len(data.labels))
                data.notes += [f"{name}: {warning}" for warning in warned]
                done += 1
                if progress is not None:
                    progress(f"training {name}", done / steps)
            training_name = "as given" if method is None else f"{REBALANCED[method]} by {attribute}"
            settings = learner.settings if isinstance(learner, Classifier) else {}
            shared = {"learner": name, "settings": settings, "training": training_name, "variant": variant}
            for of in [None, *([attribute] if attribute else data.groups)]:
                held_out = _held_out(data, guesses, of, references, shared, sampling, stream(seed, "draws", of))
                records += GroupValues(held_out).records()
    order = {name: number for number, name in enumerate(resolved)}
    records.sort(key=lambda record: order[record.learner])  # stable: attributes stay in their order
    return Downstream(
        records=with_adjusted_p(records),
        learners=tuple(resolved),
        classes=data.labels,
        training="as given" if method is None else f"{REBALANCED[method]} (class x group)",
        split=description,
        variant=variant,
        seed=seed,
        draws=draws,
        rows=given,
        tested=sum(len(test) for _, test in split),
        notes=tuple(dict.fromkeys(data.notes)),
    )


class _Part:
    """One training part: each classifier is trained on it once, whoever asks for it."""

    def __init__(self, data: Rows, rows: Codes, weights: Floats | None, seed: int) -> None:
        self.points, self.classes = data.points[rows], data.classes[rows]
        self.weights, self.seed = weights, seed
        self.dev: tuple[Points, Codes] = data.points[data.dev], data.classes[data.dev]
        self.fits = Fits(self._fit, self._accuracy if len(data.dev) else None)

    def _fit(self, classifier: Classifier) -> tuple[Learner, tuple[str, ...]]:
        return fitted(estimator(classifier, self.seed), classifier.name, self.points, self.classes, self.weights)

    def _accuracy(self, trained: Learner) -> float:
        return float((np.asarray(trained.predict(self.dev[0])) == self.dev[1]).mean())

    def trained(self, learner: Classifier | Learner, name: str) -> tuple[Learner, tuple[str, ...]]:
        """Return the trained learner with its warnings, and which C was chosen where dev rows chose."""
        if not isinstance(learner, Classifier):
            return fitted(learner, name, self.points, self.classes, self.weights)
        trained, warned, chosen = self.fits(learner)
        choice = () if chosen == learner else (f"C = {chosen['C']:g} has the highest accuracy on dev rows",)
        return trained, (*warned, *choice)


def _tests_of(groups: Attribute) -> int:
    """Return how many gaps of one learner are tested: each group against the reference, and the largest of several."""
    number = len(groups.tested())
    return len(MACRO_MEASURES) * (max(number - 1, 0) + (number > 2))


def _references(given: Mapping[str, str] | str | None, groups: Mapping[str, Attribute]) -> dict[str, str]:
    if given is None:
        return {}
    named = {next(iter(groups)): given} if isinstance(given, str) and len(groups) == 1 else given
    if isinstance(named, str):
        raise BadInput(f"reference was {named!r} with several attributes", available="a mapping of attribute to group")
    for attribute, group in named.items():
        if attribute not in groups:
            raise unknown_name("attribute", attribute, groups, "the groups")
        names = [groups[attribute].groups[code] for code in groups[attribute].tested()]
        if str(group) not in names:
            raise unknown_name("group", str(group), names, attribute)
    return {attribute: str(group) for attribute, group in named.items()}


def _held_out(
    data: Rows, guesses: Codes, attribute: str | None, references: Mapping[str, str], shared: Mapping[str, Any],
    sampling: Sampling, generator: np.random.Generator,
) -> HeldOutRows:  # fmt: skip
    """Return the rows that were tested, by the groups of an attribute, or as one group where there is none."""
    rows = guesses >= 0
    truth, clusters = data.classes[rows], None if data.clusters is None else data.clusters[rows]
    everyone = Attribute("everyone", np.zeros(len(truth), dtype=np.int64), ("everyone",))
    groups = everyone if attribute is None else data.groups[attribute].only(rows)
    units, unit_name = _units(clusters, truth, groups)
    return HeldOutRows(
        shared=shared, attribute=attribute, truth=truth, guess=guesses[rows], classes=len(data.labels), by=groups,
        reference=references.get(attribute or ""), units=units, unit_name=unit_name, sampling=sampling,
        generator=generator,
    )  # fmt: skip


def _units(clusters: Codes | None, truth: Codes, groups: Attribute) -> tuple[Codes | None, UnitName]:
    """Return what is resampled and permuted whole: clusters, else classes where they carry the group, else rows.

    Clusters inside classes that carry the group are no witnesses of their own about it: then classes are the units.
    """
    known = np.isin(groups.codes, groups.tested())  # a row without a group says nothing about its class
    by_class = len(groups.tested()) > 1 and carried_by(truth[known], groups.codes[known])
    if by_class and (clusters is None or constant_in(clusters, truth)):
        return truth, "classes"
    return (None, "rows") if clusters is None else (clusters, "clusters")
