"""What carries over: classifiers trained on a frozen embedding, and how they serve each group.

Rows are read, split into parts or folds and re-balanced; classifiers are trained on some and tested on others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.audits._multiple_testing import with_adjusted_p
from equipoise.audits._units import Attribute, Codes, UnitName, carried_by, constant_in, most_common
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
from equipoise.audits.downstream._settings import CLASSIFIER_SETTINGS, Classifier
from equipoise.cohorts import open_embedding
from equipoise.foundation import (
    BadInput,
    Floats,
    Progress,
    as_column,
    as_columns,
    fitting,
    listing,
    plural,
    same_length,
    stream,
    unknown_name,
)
from equipoise.tallies import (
    factorise,
    label_text,
)

Points = NDArray[Any]
Rebalance = Literal["up", "down", "weights"]
REBALANCED: dict[Rebalance, str] = {
    "up": "re-balanced by up-sampling",
    "down": "re-balanced by down-sampling",
    "weights": "re-balanced by weights",
}
# What a column may say of a row: whether it is trained on, chooses among settings, or is tested.
ROLES = {"true": "train", "1": "train", "train": "train", "dev": "dev", "false": "test", "0": "test", "test": "test"}


@dataclass(eq=False)
class Rows:
    """The rows that are used, and notes on those that are not."""

    points: Points
    classes: Codes
    labels: tuple[str, ...]
    groups: dict[str, Attribute]
    clusters: Codes | None
    roles: NDArray[np.str_] | None
    notes: list[str] = field(default_factory=list)

    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Leave out all other rows."""
        self.points, self.classes = self.points[rows], self.classes[rows]
        self.groups = {name: groups.only(rows) for name, groups in self.groups.items()}
        self.clusters = None if self.clusters is None else self.clusters[rows]
        self.roles = None if self.roles is None else self.roles[rows]

    @property
    def dev(self) -> Codes:
        """The indices of the dev rows: neither trained on nor tested."""
        return np.flatnonzero(self.roles == "dev") if self.roles is not None else np.empty(0, dtype=np.int64)


def groups_of(column: object, name: str) -> Attribute:
    """Code one attribute's values."""
    coded = factorise(as_column(column, name))
    return Attribute.of(name, coded.codes, coded.labels)


def read_rows(points: object, target: object, groups: object, cluster: object, train: object) -> Rows:
    """Read what was given; rows without a target are left out."""
    matrix = open_embedding(points, name="the embedding").numbers()
    attributes = {name: groups_of(column, name) for name, column in as_columns(groups, "groups").items()}
    truth = groups_of(target, "the target")
    clusters = None if cluster is None else factorise(as_column(cluster, "cluster")).codes
    roles = None if train is None else roles_of(train)
    columns: dict[str, NDArray[Any]] = {"points": matrix, "target": truth.codes} | {
        name: part.codes for name, part in attributes.items()
    }
    columns |= {} if clusters is None else {"cluster": clusters}
    columns |= {} if roles is None else {"train": roles}
    same_length(columns)
    for name, part in attributes.items():
        if len(part.tested()) < 2:
            raise BadInput(
                f"{name} has {plural(len(part.tested()), 'group')}",
                available="two groups or more",
                help="choose another column.",
            )
    data = Rows(matrix, truth.codes, truth.groups, attributes, clusters, roles)
    if truth.has_missing:
        has_class = truth.codes < len(truth.groups) - 1
        data.labels = truth.groups[:-1]
        lost = int((~has_class).sum())
        data.notes.append(f"{plural(lost, 'row')} without a target {fitting(lost, 'was', 'were')} left out")
        data.keep(has_class)
    if len(data.labels) < 2:
        raise BadInput(
            f"The target has {plural(len(data.labels), 'class', 'classes')}", available="two classes or more"
        )
    return data


def roles_of(column: object) -> NDArray[np.str_]:
    """Return what each row is for, ``"train"``, ``"dev"`` or ``"test"``, of a column of these or of true and false."""
    values = factorise(as_column(column, "train"))
    roles = [None if label is None else ROLES.get(label.lower()) for label in values.labels]
    if None in roles:
        raise BadInput(
            f"The train column has the value {label_text(values.labels[roles.index(None)])!r}",
            available="true (train on the row) or false (test on it), 1 or 0; or train, dev and test; none missing",
        )
    return np.array(roles)[values.codes]


def split_rows(data: Rows, folds: int, seed: int) -> tuple[list[tuple[Codes, Codes]], str]:
    """Return the rows to train on and to test on of each part, and a description of the split."""
    if data.roles is not None:
        parts = [(np.flatnonzero(data.roles == "train"), np.flatnonzero(data.roles == "test"))]
        dev = f", {len(data.dev):,} dev rows" if len(data.dev) else ""
        sizes = f"{len(parts[0][0]):,} rows to train on, {len(parts[0][1]):,} to test on{dev}"
        words = f"as given: {sizes}"
        if not len(parts[0][0]) or not len(parts[0][1]):
            raise BadInput(f"train leaves {sizes}", available="some of both")
    else:
        by_cluster = data.clusters is not None and not constant_in(data.classes, data.clusters)
        if not by_cluster:
            _leave_out_single_rows(data)
        fold = stratified_folds(data.classes, data.clusters if by_cluster else None, folds, stream(seed, "folds"))
        parts = [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(folds)]
        words = f"{folds} folds, classes spread evenly" + (", no cluster on both sides" if by_cluster else "")
    for training, test in parts:
        _check_part(data, training, test)
    if data.clusters is not None and data.roles is not None and not constant_in(data.classes, data.clusters):
        both = np.intersect1d(data.clusters[parts[0][0]], data.clusters[parts[0][1]])
        if len(both):
            clusters = plural(len(both), "cluster is", "clusters are")
            data.notes.append(f"{clusters} on both sides of the split that was given")
    return parts, words


def _leave_out_single_rows(data: Rows) -> None:
    """A class of one row cannot be both learnt and tested."""
    sizes = np.bincount(data.classes, minlength=len(data.labels))
    if not (sizes == 1).any():
        return
    alone = plural(int((sizes == 1).sum()), "class with one row was", "classes with one row each were")
    data.notes.append(f"{alone} left out: nothing to learn from")
    data.keep(sizes[data.classes] > 1)
    classes = np.flatnonzero(sizes > 1)
    if len(classes) < 2:
        raise BadInput("Fewer than two classes have two rows or more", available="two such classes or more")
    data.classes = np.searchsorted(classes, data.classes)
    data.labels = tuple(data.labels[code] for code in classes)


def _check_part(data: Rows, training: Codes, test: Codes) -> None:
    learnt = np.unique(data.classes[training])
    if len(learnt) < 2:
        raise BadInput(
            f"A training part holds {len(learnt)} class of {len(data.labels):,}",
            available="two classes or more",
            help="use fewer folds, another train column, or no cluster.",
        )
    lacking = np.setdiff1d(data.classes[test], learnt)
    if len(lacking):
        names = listing([repr(data.labels[code]) for code in lacking], 5)
        data.notes.append(f"classes tested but missing from a training part, so never predicted there: {names}")


def training_rows(
    data: Rows, training: Codes, attribute: str | None, method: Rebalance | None, generator: np.random.Generator
) -> tuple[Codes, Floats | None]:
    """Return the rows to train on, re-balanced for an attribute where asked, with weights where rows are weighted."""
    if method is None or attribute is None:
        return training, None
    groups = data.groups[attribute]
    if groups.has_missing:
        has_group = groups.codes[training] < len(groups.groups) - 1
        if not has_group.all():
            data.notes.append(f"rows without {attribute} were not trained on: they have no cell to balance")
        training = training[has_group]
    cells = data.classes[training] * len(groups.groups) + groups.codes[training]
    sizes = np.unique(cells, return_counts=True)[1]
    empty = len(np.unique(data.classes[training])) * len(groups.tested()) - len(sizes)
    if empty:
        has = fitting(empty, "has no training row and stays", "have no training row and stay")
        data.notes.append(f"{plural(empty, 'cell')} of class x {attribute} {has} empty")
    data.notes.append(f"training cells of class x {attribute} had {sizes.min():,} to {sizes.max():,} rows")
    chosen, weights = rebalanced(cells, method, generator)
    return training[chosen], weights


def rebalancing(rebalance: bool | str) -> Rebalance | None:
    """Return the method of re-balancing: True is ``"up"``, which every learner can take and which loses nobody."""
    if rebalance is False:
        return None
    for method in REBALANCED:
        if rebalance == method or (rebalance is True and method == "up"):
            return method
    raise BadInput(f"rebalance was {rebalance!r}", available="False, True (the same as 'up'), 'up', 'down', 'weights'")


def rebalanced(cells: Codes, method: Rebalance, generator: np.random.Generator) -> tuple[Codes, Floats | None]:
    """Return which of the rows in ``cells`` (a class x group each) to train on, with weights if rows are weighted.

    Up: every row, and random repeats until each cell is as large as the largest. Down: a random part of each cell, as
    large as the smallest. A cell without rows stays without.
    """
    _, codes, sizes = np.unique(cells, return_inverse=True, return_counts=True)
    codes = codes.reshape(-1)
    if method == "weights":
        return np.arange(len(cells)), len(cells) / (len(sizes) * sizes[codes])
    parts = []
    for cell in range(len(sizes)):
        rows = np.flatnonzero(codes == cell)
        if method == "down":
            parts.append(generator.choice(rows, int(sizes.min()), replace=False))
        else:
            parts += [rows, generator.choice(rows, int(sizes.max() - sizes[cell]), replace=True)]
    return np.sort(np.concatenate(parts)).astype(np.int64), None


def stratified_folds(classes: Codes, units: Codes | None, folds: int, generator: np.random.Generator) -> Codes:
    """Return each row's fold: every row is tested once, classes are spread evenly, and no unit is parted.

    Units are sorted by class, then size, then chance, and assigned to the folds in turn. A class of no more units than
    folds so has each of them in a fold of its own. A unit with several classes counts as of the class that most of its
    rows have.
    """
    unit_of_row = np.arange(len(classes)) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    number = int(unit_of_row.max()) + 1 if len(unit_of_row) else 0
    if not 2 <= folds <= number:
        kind = "rows" if units is None else "clusters"
        raise BadInput(
            f"folds is {folds:,} and there are {number:,} {kind}", available=f"2 to {max(number, 2):,} folds"
        )
    sizes = np.bincount(unit_of_row, minlength=number)
    order = np.lexsort((generator.random(number), -sizes, most_common(unit_of_row, classes, number)))
    fold_of_unit = np.empty(number, dtype=np.int64)
    fold_of_unit[order] = np.arange(number) % folds
    return fold_of_unit[unit_of_row]


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
    number_read = len(data.points)
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
        rows=number_read,
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


def _references(reference: Mapping[str, str] | str | None, groups: Mapping[str, Attribute]) -> dict[str, str]:
    if reference is None:
        return {}
    named = {next(iter(groups)): reference} if isinstance(reference, str) and len(groups) == 1 else reference
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
    data: Rows, guesses: Codes, attribute: str | None, references: Mapping[str, str], record_fields: Mapping[str, Any],
    sampling: Sampling, generator: np.random.Generator,
) -> HeldOutRows:  # fmt: skip
    """Return the rows that were tested, by the groups of an attribute, or as one group where there is none."""
    rows = guesses >= 0
    truth, clusters = data.classes[rows], None if data.clusters is None else data.clusters[rows]
    all_rows = Attribute("everyone", np.zeros(len(truth), dtype=np.int64), ("everyone",))
    groups = all_rows if attribute is None else data.groups[attribute].only(rows)
    units, unit_name = _units(clusters, truth, groups)
    return HeldOutRows(
        record_fields=record_fields, attribute=attribute, truth=truth, guess=guesses[rows], classes=len(data.labels),
        by=groups,
        reference=references.get(attribute or ""), units=units, unit_name=unit_name, sampling=sampling,
        generator=generator,
    )  # fmt: skip


def _units(clusters: Codes | None, truth: Codes, groups: Attribute) -> tuple[Codes | None, UnitName]:
    """Return what is resampled and permuted whole: clusters, else classes where they carry the group, else rows.

    Clusters inside classes that carry the group are no witnesses of their own about it: then classes are the units.
    """
    has_group = np.isin(groups.codes, groups.tested())  # a row without a group says nothing about its class
    by_class = len(groups.tested()) > 1 and carried_by(truth[has_group], groups.codes[has_group])
    if by_class and (clusters is None or constant_in(clusters, truth)):
        return truth, "classes"
    return (None, "rows") if clusters is None else (clusters, "clusters")
