"""How well the group can be read from an embedding: probes, cross-validated, against the majority rate and chance.

Accuracy is compared with the rate of the largest group. Balanced accuracy (the mean of the groups' hit rates) is
compared with 1 / groups; for it the probe's probabilities are divided by the groups' training shares, so that a small
group is not simply passed over. Every probe is trained once more with permuted groups: the control.

Accuracy has Wilson's interval. Balanced accuracy puts the groups' Wilson intervals together by the distance of each
end from its rate (MOVER; Zou and Donner 2008). With clusters the rows count as fewer: n is divided by how much the
clusters widen the variance. Out-of-fold guesses help or mislead each other: two rows of different folds are each among
those that the other's guess was learnt from, and what they share counts twice. So where nothing can be read the
variance can be 1 + (folds - 1) / folds times that of independent guesses; every interval and test allows for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.audits._multiple_testing import with_adjusted_p
from equipoise.audits._units import Codes, GroupedUnits, constant_in
from equipoise.audits.downstream import (
    Learner,
    class_pairs,
    estimator,
    fitted,
    groups_of,
    permuted_rows,
    permuted_units,
    predicted,
    resolve_probes,
    stored_classifier,
    stratified_folds,
)
from equipoise.cohorts import open_embedding
from equipoise.foundation import (
    BadInput,
    Floats,
    Progress,
    as_column,
    as_columns,
    plural,
    same_length,
    stream,
)
from equipoise.results import Reason, ReasonCode, because, field_names, matching
from equipoise.stats import (
    clustered_rate,
    combined_interval,
    draw_limits,
    is_finding,
    sequential_permutation,
    wilson,
)
from equipoise.tallies import factorise

Points = NDArray[Any]

SAMPLE = 10_000
DRAWS = 2_000
# A group with fewer rows than this cannot be learnt and tested in turn.
LEAST = 20
# Below this number of training rows a part set aside for early stopping would be too small to go by.
EARLY = 1_000

# Tables are cheap to draw: so many times the draws that were asked for at the most.
CHEAP = 10


class LeftOut(ReasonCode):
    """Why a group was not probed."""

    UNKNOWN = "group_unknown", "{attribute}: {group!r} was not probed ({rows:plural row} without a group)"
    FEW_ROWS = "group_small", "{attribute}: {group!r} was not probed ({rows:plural row}: fewer than {least:,})"


class NoTest(ReasonCode):
    """Why a probe was not tested."""

    GROUP_VARIES = "group_varies_within_clusters", "the group varies within clusters: no test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How well groups were read, from one set of guesses."""

    people: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    # The share of the largest group.
    majority: float
    accuracy_p: float
    balanced: float
    balanced_low: float
    balanced_high: float
    balanced_p: float | None
    interval: str
    test: str
    # Why there is no test.
    reason: Reason | None = None
    # More random draws could have made balanced_p smaller; None where it rests on no draws.
    limited_by_draws: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakageRecord(Reading):
    """One probe of one attribute: how often it is right, with interval, test and the same for permuted groups."""

    attribute: str
    probe: str
    groups: tuple[str, ...]
    chance: float
    balanced_p_adjusted: float | None = None
    shuffled_accuracy: float
    shuffled_balanced: float

    @property
    def finding(self) -> bool | None:
        """Tell whether the group is read better than by guessing, by test and interval; None if not tested."""
        return is_finding(self.balanced_p_adjusted, self.balanced_low, null=self.chance)


@dataclass(frozen=True)
class Leakage:
    """What probes could read from the embedding.

    ``left_out`` are the groups that were not probed; ``remarks`` say which rows were sampled, and what probes warned.
    """

    records: tuple[LeakageRecord, ...]
    folds: int
    seed: int
    rows: int
    left_out: tuple[Reason, ...]
    remarks: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that was left out, sampled or warned of."""
        return (*map(str, self.left_out), *self.remarks)

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
        self.pipeline = make_pipeline(StandardScaler(), network).fit(X, y)
        self.classes_ = self.pipeline.classes_
        return self

    def predict(self, X: Points) -> Codes:  # noqa: N803
        """Return the likeliest group."""
        return np.asarray(self.pipeline.predict(X), dtype=np.int64)

    def predict_proba(self, X: Points) -> NDArray[np.float64]:  # noqa: N803
        """Return the probability of each group."""
        return np.asarray(self.pipeline.predict_proba(X), dtype=np.float64)


def _linear(seed: int) -> Any:
    """Return a logistic regression with C = 1; columns are standardised, so their scale does not matter."""
    return estimator(stored_classifier("logistic_regression"), seed)


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

    Parameters
    ----------
    points : array or path
        One row per point.
    groups : array, mapping or frame
        The groups of the rows, of one attribute or several.
    probes : names, objects with fit and predict, or a mapping of labels to them
        ``"linear"`` is a logistic regression, ``"mlp"`` a network with one hidden layer.
    folds : int
        How many folds.
    cluster : array, optional
        Whose rows they are: nobody is on both sides of a fold, and intervals and tests count people, not rows.
    seed, draws : int
        The seed, and how many permutations a test takes; 0 for none.
    sample, least : int
        Groups of fewer than ``least`` rows are left out. Of more than ``sample`` rows a random part is used, in which
        every group keeps at least ``least``.
    progress : callable, optional
        Called after every training with the attribute and the share that is done.

    Returns
    -------
    Leakage
        A record for each attribute and probe.

    Examples
    --------
    >>> import numpy as np
    >>> group = np.arange(200) % 2
    >>> points = 2.0 * group[:, None] + np.random.default_rng(0).normal(size=(200, 1))
    >>> [probe] = leakage(points, group, probes="linear", draws=200).records
    >>> probe.finding, round(probe.balanced, 1), probe.chance
    (True, 0.9, 0.5)
    """
    resolved = resolve_probes(probes, seed, PROBES)
    matrix = open_embedding(points, name="the embedding").numbers()
    attributes = as_columns(groups, "groups")
    clusters = None if cluster is None else factorise(as_column(cluster, "cluster")).codes
    same_length({"points": matrix, **attributes} | ({} if clusters is None else {"cluster": clusters}))
    left_out: list[Reason] = []
    remarks: list[str] = []
    records: list[LeakageRecord] = []
    steps, done = len(attributes) * len(resolved) * folds * 2, 0
    tests = len(attributes) * len(resolved)
    for attribute, column in attributes.items():
        codes, names, rows, lacking = _usable(column, attribute, least)
        left_out += lacking
        if len(rows) > sample:
            rows = _sampled(rows, codes, sample, least, stream(seed, "sample"))
            remarks.append(
                f"{attribute}: a random sample of {len(rows):,} of {len(codes):,} rows, with at least {least:,} of "
                "each group"
            )
        units = None if clusters is None else np.unique(clusters[rows], return_inverse=True)[1].reshape(-1)
        probed = _Probed(matrix[rows], codes[rows], len(names), units, folds, attribute, seed)
        for name, probe in resolved.items():
            readings = []
            for control in (False, True):
                part = probed.permuted() if control else probed
                guesses = []
                for guess, warned in part.guesses(probe, name):
                    guesses.append(guess)
                    remarks += [f"{name} probe of {attribute}: {warning}" for warning in warned]
                    done += 1
                    if progress is not None:
                        progress(f"probing {attribute}", done / steps)
                plain, even = np.sum(guesses, axis=0)
                generator = stream(seed, "permutation", attribute)
                readings.append(
                    reading_of(
                        part.codes, plain, even, len(names), units, 0 if control else draws, generator, folds, tests
                    )
                )
            probed_groups, control_groups = readings
            records.append(
                LeakageRecord(
                    attribute=attribute, probe=name, groups=names, chance=1 / len(names),
                    shuffled_accuracy=control_groups.accuracy, shuffled_balanced=control_groups.balanced,
                    **{field: getattr(probed_groups, field) for field in field_names(Reading)},
                )
            )  # fmt: skip
    corrected = with_adjusted_p(records, "balanced_p", "balanced_p_adjusted")
    return Leakage(corrected, folds, seed, len(matrix), tuple(left_out), tuple(dict.fromkeys(remarks)))


def _usable(column: object, attribute: str, least: int) -> tuple[Codes, tuple[str, ...], Codes, list[Reason]]:
    """Return codes (-1 where left out), names of groups, the rows whose group is known and large enough, and why not.

    The last are the groups that were left out.
    """
    groups = groups_of(column, attribute)
    sizes = np.bincount(groups.codes, minlength=len(groups.groups)).tolist()
    large = [group for group in groups.tested() if sizes[group] >= least]
    left_out = []
    for group, name in enumerate(groups.groups):
        if group not in groups.tested():
            left_out.append(because(LeftOut.UNKNOWN, attribute=attribute, group=name, rows=sizes[group]))
        elif group not in large:
            left_out.append(because(LeftOut.FEW_ROWS, attribute=attribute, group=name, rows=sizes[group], least=least))
    if len(large) < 2:
        raise BadInput(
            f"{attribute} has {plural(len(large), 'group')} of {least:,} rows or more",
            available="two such groups or more",
            help="choose another column, or lower the least number of rows.",
        )
    code = np.full(len(groups.groups), -1)
    code[large] = np.arange(len(large))
    codes = code[groups.codes]
    return codes, tuple(groups.groups[group] for group in large), np.flatnonzero(codes >= 0), left_out


def _sampled(rows: Codes, codes: Codes, sample: int, least: int, generator: np.random.Generator) -> Codes:
    """Return a random sample of rows; a group of which there would be fewer than ``least`` has that many."""
    mixed = generator.permutation(rows)
    firsts = [mixed[codes[mixed] == group][:least] for group in np.unique(codes[rows])]
    chosen = mixed[:sample]
    missing = np.concatenate([first[~np.isin(first, chosen)] for first in firsts])
    # What is added for a small group is taken off the end of those drawn beyond the least of theirs.
    spare = chosen[~np.isin(chosen, np.concatenate(firsts))]
    sampled = chosen[~np.isin(chosen, spare[max(len(spare) - len(missing), 0) :])]
    return np.sort(np.concatenate([sampled, missing]))


@dataclass(frozen=True, eq=False)
class _Probed:
    """Points and groups to probe, in folds."""

    points: Points
    codes: Codes
    number: int
    units: Codes | None
    folds: int
    attribute: str
    seed: int

    def permuted(self) -> _Probed:
        """Return the same points with permuted groups: over clusters where they carry the group."""
        generator = stream(self.seed, "shuffle", self.attribute)
        if self.units is None or not constant_in(self.units, self.codes):
            return replace(self, codes=generator.permutation(self.codes))
        of_unit = np.zeros(int(self.units.max()) + 1, dtype=np.int64)
        of_unit[self.units] = self.codes
        return replace(self, codes=generator.permutation(of_unit)[self.units])

    def guesses(self, probe: Learner, name: str) -> Iterator[tuple[NDArray[np.int64], tuple[str, ...]]]:
        """Yield each fold's guesses among zeros ``[2, row]``: the likeliest group, and that at equal shares."""
        fold = stratified_folds(self.codes, self.units, self.folds, stream(self.seed, "folds", self.attribute))
        for number in range(self.folds):
            training, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            sizes = np.bincount(self.codes[training], minlength=self.number)
            if (sizes == 0).any():
                raise BadInput(
                    f"A training part holds {int((sizes > 0).sum())} of the {self.number} groups of {self.attribute}",
                    available="every group in every training part",
                    help="use more folds, or raise the least number of rows of a group.",
                )
            trained, warned = fitted(probe, name, self.points[training], self.codes[training])
            guesses = np.zeros((2, len(self.codes)), dtype=np.int64)
            guesses[0, test] = predicted(trained, name, self.points[test], self.number)
            probabilities: Any = getattr(trained, "predict_proba", None)
            guesses[1, test] = guesses[0, test]
            if probabilities is not None:
                guesses[1, test] = np.argmax(np.asarray(probabilities(self.points[test])) / sizes, axis=1)
            yield guesses, warned


def reading_of(
    codes: Codes, plain: Codes, even: Codes, number: int, units: Codes | None, draws: int,
    generator: np.random.Generator, folds: int, tests: int = 1,
) -> Reading:  # fmt: skip
    """Judge guesses: ``plain`` for accuracy, ``even`` (at equal shares) for balanced accuracy.

    With one fold the guesses were learnt elsewhere, and are independent. ``tests`` is how many the report makes.
    """
    widening = 1 + (folds - 1) / folds
    right = (plain == codes).astype(np.float64)
    accuracy, people = float(right.mean()), effective_rows(right, units) / widening
    majority = float(np.bincount(codes, minlength=number).max() / len(codes))
    ends = wilson(accuracy * people, people)
    rates, rows = np.empty(number), np.empty(number)
    for group in range(number):
        members = codes == group
        hits = (even[members] == group).astype(np.float64)
        rates[group] = hits.mean()
        rows[group] = effective_rows(hits, None if units is None else units[members]) / widening
    low, high = combined_interval(np.full(number, 1 / number), rates, *wilson(rates * rows, rows))
    p, limited, test, reason = _permutation(
        codes, even, number, units, draw_limits(tests, CHEAP * draws), generator, widening
    )
    return Reading(
        people=len(codes),
        accuracy=accuracy,
        accuracy_low=float(ends[0]),
        accuracy_high=float(ends[1]),
        majority=majority,
        accuracy_p=_above(right, majority, people),
        balanced=float(rates.mean()),
        balanced_low=float(low),
        balanced_high=float(high),
        balanced_p=p,
        interval="score" if units is None else "score, for clusters",
        test=test,
        reason=reason,
        limited_by_draws=limited,
    )


def effective_rows(hits: Floats, units: Codes | None) -> float:
    """Return how many independent rows would vary as much as these, which come in clusters."""
    rows = len(hits)
    if units is None:
        return float(rows)
    codes = np.unique(units, return_inverse=True)[1].reshape(-1)
    sizes, successes = np.bincount(codes), np.bincount(codes, weights=hits)
    rate, variance, _ = (float(number) for number in clustered_rate(successes, sizes))
    # Nobody or everybody is right: nothing varies, and only the clusters can be counted on.
    if rate in (0.0, 1.0) or len(sizes) < 2:
        return float(len(sizes))
    return float(np.clip(rate * (1 - rate) / variance, 1.0, rows)) if variance > 0 else float(rows)


def _above(right: Floats, majority: float, people: float) -> float:
    """Return the one-sided p that the accuracy is no higher than the majority rate: binomial, on effective rows."""
    hits = right.mean() * people
    return float(stats.binomtest(round(hits), max(round(people), 1), majority, alternative="greater").pvalue)


def _permutation(
    codes: Codes, guesses: Codes, number: int, units: Codes | None, draws: tuple[int, int],
    generator: np.random.Generator, widening: float,
) -> tuple[float | None, bool | None, str, Reason | None]:  # fmt: skip
    """Return the one-sided p that the balanced accuracy is by chance: true groups permuted, guesses kept.

    Guesses that are kept are independent of the permuted groups, so what comes of it is widened. Beside it: whether
    more draws could have made it smaller.
    """
    most, needed = draws
    if not most:
        return None, None, "none", None
    # A table of guesses by true group: the "class" of a pair is the guess alone, so pairs are the guesses.
    pairs = class_pairs(guesses, guesses, number)
    table = pairs.table(codes, number)
    if units is None:
        tables, test = partial(permuted_rows, table, None), "permutation of rows"
    else:
        grouped = GroupedUnits.of(units, codes)
        if grouped.group is None:
            return None, None, "none", because(NoTest.GROUP_VARIES)
        tables, test = partial(permuted_units, grouped, pairs, number, None), "permutation of clusters"

    def permute(times: int, names: Sequence[str]) -> Floats:
        return np.concatenate([_balanced(part, pairs.truth) for part in tables(times, generator)])

    def widened(name: str, samples: Floats) -> Floats:
        return np.asarray(1 / number + (samples - 1 / number) * np.sqrt(widening))[:, None]

    observed = {"balanced accuracy": _balanced(table, pairs.truth)}
    [sample] = sequential_permutation(observed, permute, widened, most=most, needed=needed)["balanced accuracy"]
    return sample.p, sample.limited, test, None


def _balanced(tables: Floats, guessed: Codes) -> Floats:
    """Return the mean hit rate of tables ``[..., group, guess]``; ``guessed`` names the guesses that occur."""
    sizes = tables.sum(axis=-1)
    hits = np.zeros(sizes.shape)
    hits[..., guessed] = tables[..., guessed, np.arange(len(guessed))]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((hits / sizes).mean(axis=-1), dtype=np.float64)
