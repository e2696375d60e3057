"""The audit of a direction: the gap that a discovered direction causes among real, held-out rows.

The direction was chosen because this very classifier moves along it, so three things guard against finding what was put
in: rows that nothing was trained on, error rates given the true label, and the same gap of random directions that are
orthogonal to target and known attributes and label the same rows in the same way: at their own median or thirds, or,
where rows are parted at the plane itself, by a plane that is as far from the middle of the training rows. A random
direction has a share of the found one, so its gap is no zero: the rank among them is harder to pass than a test against
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.audits import AuditResult, audit
from equipoise.cohorts import (
    LOWER_HALF,
    UPPER_HALF,
    Cohort,
)
from equipoise.discovery._hyperplane import Hyperplane
from equipoise.discovery._judging import among_the_first, random_orthogonal_directions
from equipoise.discovery._reading import Encoder, Reader, pictures_of, read_distances, reader_of
from equipoise.discovery._reasons import GapReason
from equipoise.foundation import (
    BadInput,
    Floats,
    report_of,
    stream,
    unknown_name,
)
from equipoise.measures import equalized_odds, mean_over_classes
from equipoise.results import (
    Direction,
    Finding,
    GapVerdict,
    Reason,
    Record,
    Result,
    Status,
    because,
    reason_as_json,
    record_as_json,
)
from equipoise.stats import rank_among
from equipoise.tallies import (
    Confusion,
    factorise,
    label_of,
)

Halves = Literal["median", "plane", "outer thirds"]
HALVES: tuple[Halves, ...] = ("median", "plane", "outer thirds")
MIDDLE = "middle"
TRAIN = "train"
# The words of the sides -1, 0 and 1.
SIDES = np.array([LOWER_HALF, MIDDLE, UPPER_HALF], dtype=object)
WORDS = {
    "median": "the median of the training rows",
    "plane": "the plane itself",
    "outer thirds": "the thirds of the training rows",
}


def labelled(
    cohort: Cohort,
    plane: Hyperplane,
    *,
    encoder: Encoder | None = None,
    probe: Reader | None = None,
    halves: Halves = "median",
    name: str | None = None,
) -> Cohort:
    """Return a cohort with a new group column, "lower" or "upper": the side of the plane that a picture lies on.

    The sides part at the median of the training rows (so that no held-out row has a say), at the "plane" itself, or
    with "outer thirds" at the thirds of the training rows, what lies between them being "middle". ``name`` is the
    column's; by default the plane's.
    """
    reader = reader_of(encoder, probe)
    values = read_distances(pictures_of(cohort), [plane], reader)
    return with_sides(
        cohort, plane, sides(values, training_rows(cohort), halves)[:, 0], reader.description, halves, name
    )


def with_sides(
    cohort: Cohort, plane: Hyperplane, row_sides: NDArray[np.int64], how: str, halves: Halves, name: str | None = None
) -> Cohort:
    """Return a cohort with the sides -1, 0 and 1 as a group column, and a datasheet that says how they were made."""
    check_sides(row_sides, halves)
    column = plane.name if name is None else name
    if column in cohort.columns:
        raise BadInput(
            f"The cohort {cohort.name!r} has a column {column!r} already", help="give the new one another name=."
        )
    description = (
        f"{column}: a prediction, not self-reported, and wrong for some: the side of the plane {plane.name!r} of a "
        f"generator's latent space that a picture is on, as estimated by {how}, split at {WORDS[halves]}.\n"
    )
    return replace(
        cohort,
        columns={**cohort.columns, column: SIDES[row_sides + 1]},
        groups=(*cohort.groups, column),
        datasheet=cohort.datasheet + description,
    )


def training_rows(cohort: Cohort) -> NDArray[np.bool_]:
    """Return which rows the cohort says are trained on."""
    if cohort.split is None:
        return np.zeros(len(cohort), dtype=np.bool_)
    return np.array([label_of(value) == TRAIN for value in cohort[cohort.split].tolist()], dtype=np.bool_)


def sides(values: Floats, train: NDArray[np.bool_], halves: Halves) -> NDArray[np.int64]:
    """Return the side, -1, 0 or 1, of distances ``[row, plane]``; every plane has a cut of its own."""
    if halves not in HALVES:
        raise unknown_name("way to split rows", str(halves), HALVES, "labelled")
    if halves != "plane" and not train.any():
        raise BadInput(
            f"The rows are to be split at {WORDS[halves]}, and there are none",
            available=f"a split column with rows that say {TRAIN!r}",
            help='halves="plane" splits them at the plane itself.',
        )
    if halves == "plane":
        low = high = np.zeros(values.shape[1])
    else:
        shares = (0.5, 0.5) if halves == "median" else (1 / 3, 2 / 3)
        low, high = np.quantile(values[train], shares, axis=0)
    found: NDArray[np.int64] = np.where(values >= high, 1, np.where(values < low, -1, 0))
    return found


def check_sides(found: NDArray[np.int64], halves: Halves) -> None:
    """Refuse a column that tells nobody apart."""
    if not ((found == 1).any() and (found == -1).any()):
        raise BadInput(
            f"All rows are on one side of {WORDS[halves]}",
            available="rows on both sides",
            help='halves="median" splits them into two halves if their distances differ.',
        )


SCHEMA = "equipoise.direction-audit/2"
THRESHOLD = 0.05
PREDICTION = "prediction of the audit"
RATES = ("true_positive_rate", "false_positive_rate")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DirectionAudit(Result):
    """The gap between the two sides of a direction among held-out rows; NaN is undefined, and ``reason`` says why.

    ``gap`` is equalized odds, the larger of the gaps of true and of false positive rates (of the favourable class, or
    the mean over classes), and ``people`` its permutation test over rows. ``contrasts`` are upper less lower of either
    rate, with intervals. ``chance`` are the gaps of random directions, and ``rank_among_random`` is the place of this
    gap among them, 1 where none is as large. ``association`` is how differently often the two sides have a true label,
    ``cosines`` those to target and known attributes. ``audit`` has every other number. ``notes`` are reported with it:
    how well target and known ones are known. ``records`` are the contrasts and the association.
    """

    kind: ClassVar[str] = "direction_audit"
    record_type: ClassVar[type] = Record
    numbers: ClassVar[tuple[str, ...]] = AuditResult.numbers
    joined: ClassVar[Mapping[str, str]] = AuditResult.joined

    schema: str = SCHEMA
    records: tuple[Record, ...] = field(init=False)
    provenance: Mapping[str, object]
    name: str
    verdict: GapVerdict
    reason: Reason | None
    gap: float
    people: float
    rank_among_random: int | None
    chance: Floats
    contrasts: tuple[Record, ...]
    association: Record
    cosines: dict[str, float]
    rows: dict[str, int]
    split: str
    halves: Halves
    how: str
    audit: AuditResult
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", (*self.contrasts, self.association))

    @property
    def words(self) -> tuple[str, ...]:
        """What was found, in plain words."""
        return tuple(report_of("direction_audit").words(self))

    def as_json(self) -> dict[str, object]:
        """Return it as plain JSON values; undefined is null."""
        return {
            "schema": self.schema, "name": self.name, "verdict": self.verdict, **reason_as_json(self.reason),
            "gap": _plain(self.gap), "people_p": _plain(self.people), "rank_among_random": self.rank_among_random,
            "random_directions": len(self.chance), "chance": [_plain(value) for value in self.chance.tolist()],
            "contrasts": [record_as_json(record) for record in self.contrasts],
            "association": record_as_json(self.association), "cosines": self.cosines, "rows": self.rows,
            "split": self.split, "halves": self.halves, "how": self.how, "words": list(self.words),
            "provenance": dict(self.provenance),
        }  # fmt: skip

    def _statements(self) -> Iterator[Finding]:
        shown = self.verdict == GapVerdict.GAP
        yield Finding(
            kind="gap", measure="equalized_odds", estimate=self.gap, p=self.people, group=self.name,
            n=sum(self.rows.values()), reason=self.reason,
            direction=Direction.DIFFERENT if shown else Direction.INCONCLUSIVE, source="gap",
        )  # fmt: skip

    def _described(self) -> Sequence[str]:
        return [self.name, str(self.verdict)]

    def __str__(self) -> str:
        return "\n".join(self.words)


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def audit_direction(
    cohort: Cohort,
    predictions: object,
    plane: Hyperplane,
    *,
    encoder: Encoder | None = None,
    probe: Reader | None = None,
    target: Hyperplane | None = None,
    known: Sequence[Hyperplane] = (),
    null: int = 199,
    halves: Halves = "median",
    name: str | None = None,
    split: str = "test",
    favourable: str | None = None,
    draws: int = 2_000,
    seed: int = 0,
    notes: Sequence[str] = (),
    command: Iterable[str] | None = None,
) -> DirectionAudit:
    """Measure the gap of error rates between the two sides of a plane, on rows that nothing was trained on.

    ``cohort`` has pictures, a true label and a split; its training rows say where rows are parted and are not looked at
    otherwise. ``predictions`` is a column of it or an array, for all rows or for those of ``split``. ``target`` and
    ``known`` are the planes that the direction was found beside: the random ones avoid them too. ``notes`` are
    reported with the answer, such as how well those were fitted.
    """
    held = _held_out(cohort, split)
    predicted = _predictions(cohort, predictions, held)
    if null < 1 / THRESHOLD - 1:
        raise BadInput(f"{null} random directions are too few for a p of {THRESHOLD}", available="19 or more")
    reader = reader_of(encoder, probe)
    named = (*(() if target is None else (target,)), *known)
    seeded = int(stream(seed, "null of a direction's audit").integers(2**31))
    others = random_orthogonal_directions(plane.size, null, seeded, named)
    distances = read_distances(pictures_of(cohort), [plane, *others], reader)
    train = training_rows(cohort)
    plane_sides = sides(_as_far_off(distances, train) if halves == "plane" else distances, train, halves)
    marked = with_sides(cohort, plane, plane_sides[:, 0], reader.description, halves, name)
    column, favour = marked.groups[-1], favourable or cohort.favourable
    rows = _judged(marked, column, predicted, held)
    gaps = _gaps(rows, plane_sides[held], favour)
    outer_rows = rows.take(rows[column] != MIDDLE)
    _check_groups(outer_rows, column)
    result = audit(
        outer_rows, prediction=PREDICTION, sensitive_features=[column], reference={column: LOWER_HALF},
        favourable=favour, draws=draws, seed=seed, command=command,
    )  # fmt: skip
    return _answer(result, gaps, column, favour, {
        "cosines": {hyperplane.name: plane.cosine(hyperplane) for hyperplane in named}, "split": split,
        "halves": halves, "how": reader.description,
        "notes": tuple(notes),
        "rows": {side: int((rows[column] == side).sum()) for side in SIDES.tolist()},
    })  # fmt: skip


def _as_far_off(read: Floats, train: NDArray[np.bool_]) -> Floats:
    """Return distances ``[row, plane]`` to planes that are as far from the middle of the rows as the first one is.

    Far is counted in the spread of the rows along each normal: a reader hardly sees some directions, and so far off as
    the first one their planes would leave every row on one side. Without training rows the middle is that of all.
    """
    rows = read[train] if train.any() else read
    middle, spread = rows.mean(0), rows.std(0)
    if not spread[0] > 0:  # all rows lie on one side of the first one, which is refused where they are told apart
        return read
    moved = read - middle + middle[0] * spread / spread[0]
    return np.column_stack([read[:, 0], moved[:, 1:]])


def _answer(
    result: AuditResult, gaps: Floats, column: str, favour: str | None, details: dict[str, Any]
) -> DirectionAudit:
    (tested,) = _matching_records(result, "equalized_odds", column, favour)
    (association,) = _matching_records(result, "base_rate_difference", column, favour)
    gap, chance = float(gaps[0]), gaps[1:][np.isfinite(gaps[1:])]
    rank = rank_among(gap, chance) if np.isfinite(gap) else None
    people = float("nan") if tested.p is None else tested.p
    reason: Reason | None = None
    if not np.isfinite(gap):
        reason = tested.reason if isinstance(tested.reason, Reason) else because(GapReason.UNDEFINED)
    elif tested.status == Status.TOO_SMALL:
        reason = because(GapReason.TOO_FEW_PEOPLE, why=str(tested.reason))
    elif not people <= THRESHOLD:
        reason = because(GapReason.NOT_SIGNIFICANT, p=people)
    elif rank is None or not among_the_first(rank, len(chance), THRESHOLD):
        reason = because(GapReason.AS_LARGE_BY_CHANCE, rank=rank, of=len(chance) + 1)
    contrasts = tuple(contrast for rate in RATES for contrast in result.find(rate, kind="contrast"))
    return DirectionAudit(
        name=column, verdict=GapVerdict.GAP if reason is None else GapVerdict.NO_GAP_SHOWN, reason=reason, gap=gap,
        people=people, rank_among_random=rank, chance=chance, contrasts=contrasts, association=association,
        audit=result, provenance=result.provenance, **details,
    )  # fmt: skip


def _matching_records(result: AuditResult, measure: str, column: str, favour: str | None) -> tuple[Record, ...]:
    scope = "overall" if favour is None else "favourable"
    return result.find(measure, attribute=column, scope=scope, kind="gap")


def _held_out(cohort: Cohort, split: str) -> NDArray[np.int64]:
    """Return the rows that are judged; those that something was trained on are refused."""
    if split == TRAIN:
        raise BadInput(
            "The training rows cannot be audited: the classifier and the generator may have memorised them",
            available="held-out rows", help='split="test".',
        )  # fmt: skip
    if cohort.split is None or split not in cohort.splits:
        raise BadInput(
            f"The cohort {cohort.name!r} has no split {split!r}, so it is unknown which rows were held out",
            available=", ".join(split for split in cohort.splits if split != TRAIN) or "a split column with test rows",
            help="name the column of train and test as split= of the cohort.",
        )
    labels = [label_of(value) for value in cohort[cohort.split].tolist()]
    return np.array([index for index, label in enumerate(labels) if label == split], dtype=np.int64)


def _predictions(cohort: Cohort, predictions: object, held: NDArray[np.int64]) -> NDArray[Any]:
    """Return what was predicted of the held-out rows."""
    if cohort.task != "class":
        raise BadInput(f"The cohort {cohort.name!r} is a {cohort.task} task", available="classes and predicted classes")
    if isinstance(predictions, str):
        if predictions not in cohort.columns:
            raise BadInput(
                f"The cohort {cohort.name!r} has no column {predictions!r}", available="a column, or an array"
            )
        predictions = cohort[predictions]
    values = np.asarray(predictions)
    if values.ndim != 1 or len(values) not in (len(cohort), len(held)):
        raise BadInput(
            f"The predictions have the shape {list(values.shape)}",
            available=f"one for each of {len(cohort):,} rows, or of the {len(held):,} held-out ones",
        )
    return values[held] if len(values) == len(cohort) else values


def _judged(cohort: Cohort, column: str, predicted: NDArray[Any], held: NDArray[np.int64]) -> Cohort:
    """Return the held-out rows with what an audit needs of them."""
    wanted = dict.fromkeys(name for name in (cohort.target, column, cohort.weight, cohort.cluster) if name is not None)
    columns = {name: cohort[name][held] for name in wanted}
    return replace(
        cohort, columns={**columns, PREDICTION: predicted}, groups=(column,), features=(), split=None,
        prediction=None, score=None, score_class=None, pictures=None,
    )  # fmt: skip


def _gaps(rows: Cohort, plane_sides: NDArray[np.int64], favour: str | None) -> Floats:
    """Return equalized odds between the upper and the lower side of each plane."""
    truth, predicted = (
        [label_of(value) for value in rows[name].tolist()] for name in (rows.target, PREDICTION)
    )  # fmt: skip
    both = factorise(np.array([*truth, *predicted], dtype=object))
    classes = [label for label in both.labels if label is not None]
    order = np.array([classes.index(label) if label is not None else -1 for label in both.labels])[both.codes]
    y, p = order[: len(truth)], order[len(truth) :]
    weight = np.ones(len(y)) if rows.weight is None else np.asarray(rows[rows.weight], dtype=np.float64)
    number = len(classes)
    tables = np.zeros((plane_sides.shape[1], 2, number, number))
    for plane, side in enumerate(plane_sides.T):
        counted = (side != 0) & (y >= 0) & (p >= 0)
        cells = ((side[counted] == 1) * number + y[counted]) * number + p[counted]
        tables[plane] = np.bincount(cells, weight[counted], minlength=2 * number**2).reshape(2, number, number)
    odds = equalized_odds.by_class(Confusion(tables, (LOWER_HALF, UPPER_HALF), tuple(classes)))
    if favour is None:
        return np.array([mean_over_classes(gaps) for gaps in odds])
    if favour not in classes:
        raise BadInput(f"No held-out row is of the class {favour!r}", available=", ".join(classes))
    return odds[:, classes.index(favour)]


def _check_groups(kept: Cohort, column: str) -> None:
    present = set(kept[column].tolist())
    if present != {LOWER_HALF, UPPER_HALF}:
        raise BadInput(
            f"All held-out rows are on one side: {', '.join(sorted(present)) or 'none'}",
            available="rows on both sides", help='halves="median", or more rows.',
        )  # fmt: skip
