"""A training function of one's own: any model, under any condition, judged like every other treatment."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Cohort
from equipoise.foundation import BadInput, listing
from equipoise.studies.plans import OwnFunction, Trial, rows_of
from equipoise.studies.running._work import Work, draw_name
from equipoise.tallies import factorise
from equipoise.training import Outcome, Predicted, failed_outcome, fix_seeds, no_scores

SPLIT = "split"
THRESHOLD = 0.5


@dataclass(frozen=True, eq=False)
class OwnWork(Work):
    """Work that users' functions do: the cohort without what they may not see, and the functions by name."""

    cohort: Cohort | None = None
    functions: Mapping[str, OwnFunction] = None  # type: ignore[assignment]  # always given
    favourable: str | None = None
    # Whether performance is told from scores: classes alone are refused then.
    scored: bool = False

    def train(self, trials: Sequence[Trial], progress: Any = None) -> list[Outcome]:
        """Call the function of each trial; what goes wrong in it is told and stops nothing else."""
        return [self._trained(trial) for trial in trials]

    def _trained(self, trial: Trial) -> Outcome:
        (named,) = trial.treatments
        began = time.perf_counter()
        fix_seeds(trial.seed, with_torch=True)
        try:
            visible_cohort = self._visible_cohort(trial)
            returned = self.functions[named.name].function(visible_cohort, trial.seed, **named.settings)
            dev, test = (
                self._predicted(predictions, split)
                for predictions, split in zip(_pair(returned), ("dev", "test"), strict=True)
            )
            if self.scored and (dev.scores is None or test.scores is None):
                raise no_scores()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's code must not stop the other trials
            return failed_outcome(error, Outcome(seconds=time.perf_counter() - began))
        return Outcome(dev=dev, test=test, seconds=time.perf_counter() - began)

    def _visible_cohort(self, trial: Trial) -> Cohort:
        assert self.cohort is not None
        places = self.dataset.train.ids[self.draws[draw_name(trial)]]
        rows = np.concatenate([places, self.dataset.dev.ids, self.dataset.test.ids])
        columns = {name: column.take(rows, axis=0) for name, column in self.cohort.columns.items()}
        return replace(self.cohort, columns=columns)

    def _predicted(self, found: Any, split: str) -> Predicted:
        rows = len(getattr(self.dataset, split))
        array = np.asarray(found)
        if array.ndim not in (1, 2) or len(array) != rows:
            raise BadInput(
                f"The function returned {array.shape} for the {split} rows",
                available=f"one prediction for each of the {rows:,} rows, or scores [row, class]",
            )
        if self.dataset.task == "regression":
            return Predicted(_finite(array.reshape(rows, -1)[:, 0], split).astype(np.float32))
        return self._classes(array, split)

    def _classes(self, array: NDArray[Any], split: str) -> Predicted:
        classes = self.dataset.classes
        if array.ndim == 2:
            if array.shape[1] != len(classes):
                raise BadInput(
                    f"The function returned {array.shape[1]} scores per {split} row",
                    available=f"one for each of the classes {listing(classes)}, in this order",
                )
            scores = _finite(array, split).astype(np.float32)
            return Predicted(scores.argmax(axis=1), scores)
        if len(classes) == 2 and array.dtype.kind == "f" and len(np.unique(array)) > 2:
            return self._two(_finite(array, split))
        coded = factorise(array)
        places = {name: index for index, name in enumerate(classes)}
        if all(label in places for label in coded.labels):
            self._check_unambiguous(array, split)
            return Predicted(np.array([places[str(label)] for label in coded.labels])[coded.codes])
        if len(classes) == 2 and array.dtype.kind == "f":
            return self._two(_finite(array, split))
        strange = [label for label in coded.labels if label not in places]
        raise BadInput(
            f"The function returned {listing(map(repr, strange), 3)} for {split} rows", available=listing(classes)
        )

    def _check_unambiguous(self, array: NDArray[Any], split: str) -> None:
        """Refuse 0.0 and 1.0 that may be classes, or scores of a favourable class that is the first of two."""
        if array.dtype.kind == "f" and len(self.dataset.classes) == 2 and self.favourable == self.dataset.classes[0]:
            raise BadInput(
                f"The function returned {listing(np.unique(array).tolist())} for the {split} rows, which may be "
                f"classes or scores of the favourable class {self.favourable!r}",
                help="return classes as whole numbers or text, or scores [row, class].",
            )

    def _two(self, scores: NDArray[Any]) -> Predicted:
        """Take one score a row for that of the favourable class."""
        outside = scores[(scores < 0) | (scores > 1)]
        if len(outside):
            raise BadInput(
                f"The function returned {len(outside):,} scores outside 0 to 1, such as {outside[0]:g}",
                available="one score per row from 0 to 1, predicted from 0.5 on",
                help="convert it to a probability, or return scores [row, class], of which the largest is predicted.",
            )
        favourable_index = self.dataset.classes.index(self.favourable) if self.favourable in self.dataset.classes else 1
        both = np.stack([1.0 - scores, scores], axis=1).astype(np.float32)
        return Predicted(
            np.where(scores >= THRESHOLD, favourable_index, 1 - favourable_index),
            both if favourable_index == 1 else both[:, ::-1].copy(),
        )


def _pair(returned: Any) -> tuple[Any, Any]:
    if isinstance(returned, Mapping) and {"dev", "test"} <= set(returned):
        return returned["dev"], returned["test"]
    if isinstance(returned, tuple | list) and len(returned) == 2:
        return returned[0], returned[1]
    raise BadInput(
        f"The function returned {type(returned).__name__}",
        available='what it predicts of dev and test rows: {"dev": ..., "test": ...} or a pair',
    )


def _finite(array: NDArray[Any], split: str) -> NDArray[Any]:
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise BadInput(f"The function returned numbers that are not finite for {split} rows")
    return numbers


def visible_cohort(cohort: Cohort, *, with_test_groups: bool) -> Cohort:
    """Return a cohort without what a function may not see: test targets, test groups, and columns that play no part."""
    assert cohort.split is not None
    test = rows_of(cohort, "test")
    hidden = {cohort.target, *(() if with_test_groups else cohort.groups)}
    visible = dict.fromkeys((*cohort.features, cohort.target, *cohort.groups))
    columns = {name: _without(cohort[name], test) if name in hidden else cohort[name] for name in visible}
    split_column = SPLIT if SPLIT not in columns else cohort.split
    return replace(
        cohort,
        columns={name: _shared(column) for name, column in {**columns, split_column: cohort[cohort.split]}.items()},
        split=split_column,
        features=tuple(name for name in cohort.features if name not in hidden),
        prediction=None,
        score=None,
        score_class=None,
        weight=None,
        cluster=None,
    )


def _without(column: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Blank some rows: NaN among numbers, None elsewhere."""
    blank = column.astype(np.float64) if column.dtype.kind in "iuf" else column.astype(object)
    blank[rows] = np.nan if blank.dtype.kind == "f" else None
    return blank


def _shared(column: NDArray[Any]) -> NDArray[Any]:
    """Let equal texts be one object: rows of a trial are taken twice as fast from a few objects as from many."""
    if column.dtype != object:
        return column
    known: dict[str, str] = {}
    values = [known.setdefault(value, value) if type(value) is str else value for value in column.tolist()]
    shared = np.empty(len(values), dtype=object)
    shared[:] = values
    return shared
