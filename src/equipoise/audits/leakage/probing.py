"""How well the group can be read from an embedding: probes, cross-validated, against the majority rate and chance.

Accuracy is compared with the rate of the largest group. Balanced accuracy (the mean of the groups' hit rates) is
compared with 1 / groups; for it the probe's probabilities are divided by the groups' training shares, so that a small
group is not simply passed over. Every probe is trained once more with the groups dealt out at random: the control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.learners import Learner, Points, estimator, fitted, named_learners, predicted
from equipoise.audits.downstream.rows import groups_of
from equipoise.audits.downstream.settings import stored_as
from equipoise.audits.downstream.splits import Codes, constant_in, dealt_folds
from equipoise.audits.leakage.evidence import Reading, reading_of
from equipoise.cohorts.embeddings import open_embedding
from equipoise.foundation.errors import BadInput
from equipoise.foundation.seeds import stream
from equipoise.results import matching
from equipoise.stats import benjamini_hochberg, is_finding
from equipoise.tallies.arrays import as_column, as_columns, same_length
from equipoise.tallies.factorise import factorise

SAMPLE = 10_000
DRAWS = 2_000
# A group with fewer rows than this cannot be learnt and tested in turn.
LEAST = 20
# Below this number of training rows a part set aside for early stopping would be too small to go by.
EARLY = 1_000

# Told after every training: what was trained, how many are done, of how many.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakageRecord:
    """One probe of one attribute: how often it is right, with interval, test and the same for shuffled groups."""

    attribute: str
    probe: str
    groups: tuple[str, ...]
    people: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    majority: float
    accuracy_p: float
    balanced: float
    balanced_low: float
    balanced_high: float
    chance: float
    balanced_p: float | None
    balanced_p_adjusted: float | None
    shuffled_accuracy: float
    shuffled_balanced: float
    interval: str
    test: str
    # More random draws could have made balanced_p smaller; None where it rests on no draws.
    limited_by_draws: bool | None = None

    @property
    def finding(self) -> bool | None:
        """Tell whether the group is read better than by guessing, by test and interval; None if not tested."""
        return is_finding(self.balanced_p_adjusted, self.balanced_low, null=self.chance)


@dataclass(frozen=True)
class Leakage:
    """What probes could read from the embedding. ``notes`` say what was left out and what was drawn."""

    records: tuple[LeakageRecord, ...]
    folds: int
    seed: int
    rows: int
    notes: tuple[str, ...]

    def find(self, **fields: object) -> tuple[LeakageRecord, ...]:
        """Return the records whose fields have these values."""
        return matching(self.records, fields)


class MultilayerPerceptron:
    """A probe with one hidden layer of 64; with enough rows it stops when a tenth set aside stops improving."""

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Points, y: Codes) -> MultilayerPerceptron:  # noqa: N803
        """Standardise the columns and learn."""
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        early = len(X) >= EARLY
        network = MLPClassifier((64,), alpha=1e-2, max_iter=500, early_stopping=early, random_state=self.random_state)
        self.made = make_pipeline(StandardScaler(), network).fit(X, y)
        self.classes_ = self.made.classes_
        return self

    def predict(self, X: Points) -> Codes:  # noqa: N803
        """Return the likeliest group."""
        return np.asarray(self.made.predict(X), dtype=np.int64)

    def predict_proba(self, X: Points) -> NDArray[np.float64]:  # noqa: N803
        """Return the probability of each group."""
        return np.asarray(self.made.predict_proba(X), dtype=np.float64)


def _linear(seed: int) -> Any:
    """A probe is to read what it can, whatever the scale of a column: columns are standardised, C is 1."""
    return estimator(stored_as("logistic_regression"), seed)


PROBES: dict[str, Callable[[int], Any]] = {
    "linear": _linear,
    "mlp": MultilayerPerceptron,
}


def leakage(
    points: object,
    groups: object,
    *,
    probes: Sequence[object] | Mapping[str, object] | str = ("linear", "mlp"),
    folds: int = 5,
    cluster: object = None,
    seed: int = 0,
    sample: int = SAMPLE,
    least: int = LEAST,
    draws: int = DRAWS,
    progress: Progress | None = None,
) -> Leakage:
    """Probe how well each group column can be read from the points, out of fold.

    With ``cluster`` (whose rows they are) nobody is on both sides of a fold, and intervals and tests count people, not
    rows. Groups of fewer than ``least`` rows are left out. Of more than ``sample`` rows a random part is used, in which
    every group keeps at least ``least``.
    """
    known = named_learners(probes, seed, PROBES)
    matrix = open_embedding(points, name="the embedding").numbers()
    attributes = as_columns(groups, "groups")
    clusters = None if cluster is None else factorise(as_column(cluster, "cluster")).codes
    same_length({"points": matrix, **attributes} | ({} if clusters is None else {"cluster": clusters}))
    notes: list[str] = []
    records: list[LeakageRecord] = []
    steps, done = len(attributes) * len(known) * folds * 2, 0
    for attribute, column in attributes.items():
        codes, names, rows = _usable(column, attribute, least, sample, stream(seed, "sample"), notes)
        units = None if clusters is None else np.unique(clusters[rows], return_inverse=True)[1].reshape(-1)
        parts = _Parts(matrix[rows], codes, len(names), units, folds, attribute, seed)
        for name, probe in known.items():
            found = []
            for what, number in ((parts, draws), (parts.shuffled(), 0)):
                guesses = []
                for guess, warned in what.guesses(probe, name):
                    guesses.append(guess)
                    notes += [f"{name} probe of {attribute}: {warning}" for warning in warned]
                    done += 1
                    if progress is not None:
                        progress(f"probing {attribute}", done, steps)
                plain, even = np.sum(guesses, axis=0)
                generator = stream(seed, "permutation", attribute)
                tests = len(attributes) * len(known)
                found.append(reading_of(what.codes, plain, even, len(names), units, number, generator, folds, tests))
            records.append(_record(attribute, name, names, *found))
    return Leakage(_adjusted(records), folds, seed, len(matrix), tuple(dict.fromkeys(notes)))


def _usable(
    column: object, attribute: str, least: int, sample: int, generator: np.random.Generator, notes: list[str]
) -> tuple[Codes, tuple[str, ...], Codes]:
    """Return codes, names and places of the rows whose group is known and large enough, about ``sample`` at most."""
    groups = groups_of(column, attribute)
    sizes = np.bincount(groups.codes, minlength=len(groups.names))
    large = [place for place in groups.compared if sizes[place] >= least]
    for place, name in enumerate(groups.names):
        if place not in large:
            why = "not known" if place not in groups.compared else f"fewer than {least:,}"
            notes.append(f"{attribute}: {name!r} was left out (rows: {sizes[place]:,}, {why})")
    if len(large) < 2:
        raise BadInput(
            f"{attribute} has {len(large)} group{'' if len(large) == 1 else 's'} of {least:,} rows or more",
            available="two such groups or more",
            help="choose another column, or lower the least number of rows.",
        )
    rows = np.flatnonzero(np.isin(groups.codes, large))
    if len(rows) > sample:
        rows = _drawn(rows, groups.codes, sample, least, generator)
        notes.append(
            f"{attribute}: {len(rows):,} of {len(groups.codes):,} rows were drawn at random, "
            f"of each group {least:,} at least"
        )
    return np.searchsorted(large, groups.codes[rows]), tuple(groups.names[place] for place in large), rows


def _drawn(rows: Codes, codes: Codes, sample: int, least: int, generator: np.random.Generator) -> Codes:
    """Return so many rows drawn at random; a group of which there would be fewer than ``least`` has that many."""
    mixed = generator.permutation(rows)
    firsts = [mixed[codes[mixed] == group][:least] for group in np.unique(codes[rows])]
    chosen = mixed[:sample]
    missing = np.concatenate([first[~np.isin(first, chosen)] for first in firsts])
    # What is added for a small group is taken off the end of those drawn beyond the least of theirs.
    spare = chosen[~np.isin(chosen, np.concatenate(firsts))]
    kept = chosen[~np.isin(chosen, spare[max(len(spare) - len(missing), 0) :])]
    return np.sort(np.concatenate([kept, missing]))


@dataclass(frozen=True, eq=False)
class _Parts:
    """Points and groups to probe, in folds."""

    points: Points
    codes: Codes
    number: int
    units: Codes | None
    folds: int
    attribute: str
    seed: int

    def shuffled(self) -> _Parts:
        """Return the same points with groups dealt out at random: to clusters where they carry the group."""
        generator = stream(self.seed, "shuffle", self.attribute)
        if self.units is None or not constant_in(self.units, self.codes):
            return replace(self, codes=generator.permutation(self.codes))
        of_unit = np.zeros(int(self.units.max()) + 1, dtype=np.int64)
        of_unit[self.units] = self.codes
        return replace(self, codes=generator.permutation(of_unit)[self.units])

    def guesses(self, probe: Learner, name: str) -> Iterator[tuple[NDArray[np.int64], tuple[str, ...]]]:
        """Yield each fold's guesses among zeros ``[2, row]``: the likeliest group, and that at equal shares."""
        fold = dealt_folds(self.codes, self.units, self.folds, stream(self.seed, "folds", self.attribute))
        for number in range(self.folds):
            own, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            sizes = np.bincount(self.codes[own], minlength=self.number)
            if (sizes == 0).any():
                raise BadInput(
                    f"A training part holds {int((sizes > 0).sum())} of the {self.number} groups of {self.attribute}",
                    available="every group in every training part",
                    help="use more folds, or raise the least number of rows of a group.",
                )
            made, warned = fitted(probe, name, self.points[own], self.codes[own])
            guesses = np.zeros((2, len(self.codes)), dtype=np.int64)
            guesses[0, test] = predicted(made, name, self.points[test], self.number)
            likely: Any = getattr(made, "predict_proba", None)
            guesses[1, test] = guesses[0, test]
            if likely is not None:
                guesses[1, test] = np.argmax(np.asarray(likely(self.points[test])) / sizes, axis=1)
            yield guesses, warned


def _record(attribute: str, probe: str, names: tuple[str, ...], real: Reading, shuffled: Reading) -> LeakageRecord:
    return LeakageRecord(
        attribute=attribute, probe=probe, groups=names, people=real.people, accuracy=real.accuracy,
        accuracy_low=real.accuracy_ends[0], accuracy_high=real.accuracy_ends[1], majority=real.majority,
        accuracy_p=real.accuracy_p, balanced=real.balanced, balanced_low=real.balanced_ends[0],
        balanced_high=real.balanced_ends[1], chance=1 / len(names), balanced_p=real.balanced_p,
        balanced_p_adjusted=None, shuffled_accuracy=shuffled.accuracy, shuffled_balanced=shuffled.balanced,
        interval=real.interval, test=real.test, limited_by_draws=real.limited,
    )  # fmt: skip


def _adjusted(records: list[LeakageRecord]) -> tuple[LeakageRecord, ...]:
    """Correct every p for how many there are (Benjamini-Hochberg)."""
    p = benjamini_hochberg([float("nan") if record.balanced_p is None else record.balanced_p for record in records])
    return tuple(
        record if record.balanced_p is None else replace(record, balanced_p_adjusted=float(value))
        for record, value in zip(records, p, strict=True)
    )
