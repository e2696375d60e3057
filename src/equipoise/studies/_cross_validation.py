"""K-fold cross-validation of a study: each fold is a study of its own, and treatments are compared over the folds."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts import Cohort
from equipoise.foundation import BadInput, make_frame, stream
from equipoise.results import matching
from equipoise.stats import ResampledT, corrected_resampled_t, holm
from equipoise.studies._study import Study
from equipoise.studies.plans import cluster_codes, with_splits
from equipoise.tallies import factorise

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from equipoise.studies.findings._result import StudyRecord, StudyResult

LEAST_FOLDS = 2
COLUMN = "fold of the study"


@dataclass(frozen=True)
class FoldComparison:
    """A treatment against its baseline in one measure: the difference in each fold, and the corrected test of it.

    ``differences`` are those of means over seeds. ``p_adjusted`` is corrected by Holm over all comparisons; both
    p-values are NaN where the measure is undefined in a fold.
    """

    condition: str
    learner: str
    treatment: str
    baseline: str
    measure: str
    class_: str | None
    attribute: tuple[str, ...]
    differences: tuple[float, ...]
    change: float
    low: float
    high: float
    p: float
    p_adjusted: float

    def significant(self, level: float = 0.05) -> bool:
        """Tell whether the change is significant after correction."""
        return self.p_adjusted < level


@dataclass(frozen=True)
class CrossValidation:
    """The result of each fold, and the comparisons over them; ``test_ratio`` is test rows over training rows."""

    folds: tuple[StudyResult, ...]
    comparisons: tuple[FoldComparison, ...]
    test_ratio: float

    def find(self, **fields: object) -> tuple[FoldComparison, ...]:
        """Return the comparisons whose fields have these values."""
        return matching(self.comparisons, fields)

    def to_frame(self, backend: str | None = None) -> IntoDataFrame:
        """Return the comparisons as a data frame."""
        names = [name for name in FoldComparison.__dataclass_fields__ if name not in ("differences", "attribute")]
        columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in self.comparisons] for name in names}
        columns["attribute"] = [" & ".join(row.attribute) or None for row in self.comparisons]
        return make_frame(columns, backend)


def cross_validate(
    cohort: Cohort,
    folder: str | os.PathLike[str],
    *,
    folds: int = 5,
    dev: float = 0.2,
    split_seed: int = 0,
    measures: Sequence[str] = (),
    workers: int = 1,
    **study: Any,
) -> CrossValidation:
    """Run a study on each of k folds, and compare every treatment with the baseline over them.

    Parameters
    ----------
    cohort : Cohort
        All its rows are used; splits that it has are not. Rows of one cluster are in one fold.
    folder : path
        A store for each fold, ``fold-0.db`` and so on: what is there already is not trained again.
    folds : int
        How many parts there are; each is the test split once.
    dev : float
        The share of the other rows that epochs and settings are chosen by.
    split_seed : int
        The seed of the folds, and of the dev rows in each.
    measures : sequence of str
        As of ``Study``.
    workers : int
        As of ``Study.run``.
    **study
        Further arguments of ``Study``, such as treatments, learner and seeds.

    Returns
    -------
    CrossValidation
        The test is the corrected resampled t test (Nadeau and Bengio 2003), over the folds and not over seeds: with 5
        folds it detects large differences only.
    """
    taken = {"test", "split_within", "dev", "split_seed"} & set(study)
    if taken:
        raise BadInput(f"{min(taken)} is given to a cross-validation", help="the folds are its splits: leave it out.")
    codes = fold_codes(cohort, folds, split_seed)
    Path(folder).mkdir(parents=True, exist_ok=True)
    results, ratios = [], []
    for fold in range(folds):
        fold_study = Study(_with_fold(cohort, codes, fold, dev, split_seed), measures=measures, **study)
        result = fold_study.run(Path(folder) / f"fold-{fold}.db", workers=workers)
        assert result is not None
        results.append(result)
        ratios.append(len(fold_study.dataset.test) / len(fold_study.dataset.train))
    ratio = float(np.mean(ratios))
    return CrossValidation(tuple(results), compared(results, ratio), ratio)


def fold_codes(cohort: Cohort, folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each row, drawn by the seed: equally large folds with equally many rows of each class.

    Clusters stay whole: each goes to the fold that has the fewest rows so far, and folds are then nearly equal.
    """
    whole = isinstance(folds, int) and not isinstance(folds, bool)
    if not whole or folds < LEAST_FOLDS:
        raise BadInput(f"folds is {folds!r}", available="2 or more; 5 and 10 are usual")
    rows = len(cohort)
    units = np.arange(rows) if cohort.cluster is None else factorise(cluster_codes(cohort[cohort.cluster])).codes
    number = int(units.max()) + 1
    if number < folds:
        what = "rows" if cohort.cluster is None else "clusters"
        raise BadInput(f"{folds} folds are asked of {number} {what}", available=f"up to {number} folds")
    order = stream(seed, "folds").permutation(number)
    sizes = np.bincount(units, minlength=number)
    if cohort.task == "class":
        classes = np.zeros(number, dtype=np.int64)
        classes[units] = factorise(cohort[cohort.target]).codes
        order = order[np.argsort(classes[order], kind="stable")]
    fold_of = np.empty(number, dtype=np.int64)
    filled = np.zeros(folds, dtype=np.int64)
    for unit in order.tolist():
        fold_of[unit] = filled.argmin()
        filled[fold_of[unit]] += sizes[unit]
    return fold_of[units]


def _with_fold(cohort: Cohort, codes: NDArray[np.int64], fold: int, dev: float, seed: int) -> Cohort:
    """Return the cohort with one fold as its test split, and a share of the others as dev."""
    split = np.where(codes == fold, "test", "train").astype(object)
    parted = replace(cohort, columns={**cohort.columns, COLUMN: split}, split=COLUMN)
    return with_splits(parted, dev=dev, seed=seed)


def compared(results: Sequence[StudyResult], test_ratio: float) -> tuple[FoldComparison, ...]:
    """Return every treatment against its baseline over the results of the folds."""
    by_fold = [{_key(record): record for record in result.records if record.chosen} for result in results]
    cases: list[tuple[StudyRecord, tuple[float, ...], ResampledT]] = []
    for key, record in by_fold[0].items():
        if record.baseline is None or record.baseline == record.treatment:
            continue
        against = (*key[:2], record.baseline, *key[3:])
        differences = tuple(
            fold[key].mean - fold[against].mean if key in fold and against in fold else math.nan for fold in by_fold
        )
        cases.append((record, differences, corrected_resampled_t(differences, test_ratio)))
    adjusted = holm([test.p for _, _, test in cases])
    return tuple(
        FoldComparison(
            record.condition, record.learner, record.treatment, str(record.baseline), record.measure, record.class_,
            record.attribute, differences, test.mean, test.low, test.high, test.p, float(p_adjusted),
        )
        for (record, differences, test), p_adjusted in zip(cases, adjusted, strict=True)
    )  # fmt: skip


def _key(record: StudyRecord) -> tuple[Any, ...]:
    return (
        record.condition, record.learner, record.treatment, record.measure, record.class_, record.attribute,
    )  # fmt: skip
