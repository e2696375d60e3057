"""From a store to the result of a study: everything is read in bulk, and counts of all trials are stacked."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, registry
from equipoise.measures import (
    SKEWED_CLASSES,
    PerformanceReason,
)
from equipoise.studies.analysis import (
    DEV,
    TEST,
    Composition,
    Failure,
    Layout,
    StudyData,
    TestRows,
    aucs_of,
    training_ends,
)
from equipoise.studies.findings._reporting import result_of, undecided_trials
from equipoise.studies.findings._result import LookRecord, Looks, StudyResult
from equipoise.studies.findings._words import look_notes, note_texts
from equipoise.studies.findings.spaces import StoredArrays, value_cache
from equipoise.studies.plans import (
    CHOICE,
    Named,
    Trial,
    cells_of,
    condition_text,
    plan_change,
    rows_of,
    trainings_of,
    unread,
)
from equipoise.studies.running import MODEL
from equipoise.studies.storage import (
    Damage,
    EvaluationLabels,
    Look,
    Names,
    Readouts,
    Store,
    StoredTrial,
    digest_of,
    open_store,
    remember_look,
)
from equipoise.tallies import ResidualPivot
from equipoise.training import COLLAPSED, CONSTRAINTS, known_targets

if TYPE_CHECKING:
    from equipoise.foundation import Progress
    from equipoise.studies._study import Study


EARLIER = (
    "These trials were run by an earlier version, which chose epochs by {performance} and 1 - GAP and could keep one "
    "that predicts the same for everybody: run the study again to choose epochs as this version does."
)

# So many bytes of predictions are kept while a report is made.
MOST_REMEMBERED = 200_000_000

BALANCED = (
    "Performance is balanced accuracy, as the largest class of the original training rows has more than "
    f'{SKEWED_CLASSES:g} times the rows of the smallest; performance = "accuracy" decides by accuracy.'
)


class ReadingOptions(TypedDict, total=False):
    """How ``Study.result`` reads and reports; what is left out is as the plan has it."""

    artefacts: str | os.PathLike[str] | None
    measures: Sequence[str] | None
    show_rows: bool
    command: Iterable[str] | None
    count_look: bool
    baseline: str
    performance: str
    fairness: str
    every_setting: bool
    people: bool
    threshold: float
    margin: float
    smallest_effect: float
    equivalence_margin: float | None
    against: str | Sequence[str]
    seed: int
    progress: Progress | None


def read_study(
    study: Study,
    store: str | os.PathLike[str],
    *,
    artefacts: str | os.PathLike[str] | None = None,
    measures: Sequence[str] | None = None,
    show_rows: bool = False,
    command: Iterable[str] | None = None,
    count_look: bool = True,
    **options: Any,
) -> StudyResult:
    """Read what is done of a study, and report it; ``options`` are those of ``result_of``.

    The store records that verdicts were read, unless ``count_look`` is False: nobody reads them then.
    """
    with open_store(os.fspath(store), create=False, read_only=True, plan=study.plan_key, artefacts=artefacts) as opened:
        data = _data_of_study(study, opened)
        if _chose_epochs_as_earlier(data.trials):
            chosen_by = {"pearson": "Pearson's r", "accuracy": "accuracy"}[study.earlier_performance]
            data = replace(data, notes=(*data.notes, EARLIER.format(performance=chosen_by)))
        change = plan_change(opened.done_under_name(study.name), study.trials()).words if data.unfinished else ""
        if change:
            data = replace(data, notes=(*data.notes, change))
        if study.performance_reason is PerformanceReason.SKEWED:
            data = replace(data, notes=(*data.notes, BALANCED))
        options = {"performance": study.performance, "fairness": study.fairness, **options}
        options = {"smallest_effect": study.smallest_effect, "against": study.against, **options}
        if study.stopping is not None:
            # Its tests take every look into account, however often it is read between them.
            options, count_look = {"stopping": study.stopping, **options}, False
        margin = options.setdefault("equivalence_margin", study.equivalence_margin)
        options["margin_recorded"] = None if margin is None else opened.margins(study.name).get(margin) == 0
        now = _look(data)
        looks = counted_looks(opened.looks(study.name), now) if count_look else []
        chosen_measures = measures if measures is not None else study.measures or None
        baseline = options.pop("baseline", study.baseline)
        result = result_of(
            data, baseline=baseline, measures=chosen_measures, choose_by=study.choose_by, show_rows=show_rows,
            command=command,
            looks=max(len(looks), 1),
            **{"every_setting": study.every_setting, **options},
        )  # fmt: skip
    return _with_looks(result, looks, now, study.name, store) if count_look else result


def _data_of_study(study: Study, opened: Store) -> StudyData:
    """Return the done trials of a study as arrays."""
    keys = check_same_plan(study, opened)
    data = data_of(
        opened,
        name=study.name,
        truth=study.labels,
        ids=rows_of(study.cohort, TEST),
        favourable=study.cohort.favourable,
        compositions=compositions_of(study),
        equal_conditions=_equal_conditions(study),
        pictures=_pictures(study),
        keys=keys,
        **training_of(study),
    )
    # Which of the others are needed is known when those that are done have been judged.
    return data if study.stopping is None else replace(data, unfinished=0)


def read_undecided(
    study: Study, store: str | os.PathLike[str], *, artefacts: str | os.PathLike[str] | None = None
) -> list[Trial]:
    """Return the trials that are done of arms which more seeds may decide, in a study that adds seeds."""
    assert study.stopping is not None
    with open_store(os.fspath(store), create=False, read_only=True, plan=study.plan_key, artefacts=artefacts) as opened:
        data = _data_of_study(study, opened)
        if not len(data):
            return []
        return undecided_trials(
            data, study.stopping, baseline=study.baseline, against=study.against, measures=study.measures or None,
            every_setting=study.every_setting, choose_by=study.choose_by, performance=study.performance,
            fairness=study.fairness, smallest_effect=study.smallest_effect,
            equivalence_margin=study.equivalence_margin,
        )  # fmt: skip


def _look(data: StudyData) -> Look:
    """Return what there is to be read now."""
    return Look(digest_of(data.keys), time.time(), len({trial.seed for trial in data.trials}), len(data))


def counted_looks(earlier: Sequence[Look], now: Look) -> list[Look]:
    """Return the looks that the threshold is divided by: those that had more to read than any before, and other trials.

    The same data read twice is one look; so is a part of what was read before, as where trials are damaged.
    """
    looks: list[Look] = []
    known = any(look.digest == now.digest for look in earlier)
    for look in (*earlier, *(() if known else (now,))):
        if all(look.trials >= other.trials for other in looks):
            looks.append(look)
    return looks


def _with_looks(
    result: StudyResult, looks: Sequence[Look], now: Look, name: str, store: str | os.PathLike[str]
) -> StudyResult:  # fmt: skip
    """Let the store remember that these verdicts were read, and the result say so."""
    if not any(record.verdict is not None for record in result.records):
        return result
    recorded = remember_look(os.fspath(store), name, now)
    looks_recorded = Looks(
        number=len(looks), recorded=recorded,
        looks=tuple(LookRecord(at=datetime.fromtimestamp(look.at, UTC).isoformat(timespec="seconds"),
                               seeds=look.seeds, trials=look.trials) for look in looks),
    )  # fmt: skip
    result = replace(result, looks=looks_recorded)
    return replace(result, notes=(*result.notes, *look_notes(looks_recorded)))


def check_same_plan(study: Study, store: Store, *, to_train: bool = False) -> list[str]:
    """Refuse a plan that the store has not, or has in another form: on other data, or before it was changed.

    A plan that has fewer trials than an earlier form of it can be read within that one, and not ``to_train``. So can a
    plan that an earlier version ran and this one did not, if it says what that version chose by. Returns the keys of
    the trials to read.
    """
    keys = [trial.key for trial in study.trials()]
    if store.is_planned() or (not to_train and store.read_within(study.name, keys)):
        return keys
    done = store.done_under_name(study.name)
    earlier = study.earlier_keys()
    # Trials of this version are never passed over for those of an earlier one.
    has_earlier = not to_train and all(trial.choice < CHOICE for trial in done)
    has_earlier = has_earlier and store.read_within(study.name, earlier)
    if has_earlier and study.chooses_as_earlier:
        return earlier
    trained = {trial.cohort for trial in done}
    if trained and study.fingerprint not in trained:
        raise BadInput(
            f"The trials in {store.location.name!r} were trained on other data, groups or splits than the cohort "
            f"{study.original.name!r} has now (fingerprint {study.fingerprint[:15]}, there "
            f"{', '.join(sorted(one[:15] for one in trained))})",
            help="restore the earlier data, or run the study on the new data in another store: --store NEW.db.",
        )
    change = plan_change(done, study.trials()).words
    raise BadInput(
        f"The plan {study.name!r} was not run in {store.location.name!r} as it is now"
        + (f". {change}" if change else ""),
        help="run this study first (what is trained already is not trained again), or restore the earlier plan"
        + (f': performance = "{study.earlier_performance}", fairness = "GAP".' if has_earlier else "."),
    )


def _chose_epochs_as_earlier(trials: Iterable[Trial]) -> bool:
    """Tell whether dev rows chose epochs as earlier versions did; own functions and some learners have none."""
    choosing = {
        entry.name for entry in registry.entries("learner") if getattr(entry.implementation, "chooses_epochs", True)
    }
    return any(
        trial.choice < CHOICE and trial.selection != "last" and trial.learner.name in choosing for trial in trials
    )


def data_of(
    store: Store,
    *,
    name: str,
    truth: EvaluationLabels | None = None,
    ids: NDArray[np.int64] | None = None,
    favourable: str | None = None,
    compositions: Mapping[str, Composition] | None = None,
    equal_conditions: Mapping[str, tuple[Named, ...]] | None = None,
    pictures: Callable[[NDArray[np.int64]], NDArray[np.uint8]] | None = None,
    keys: Collection[str] | None = None,
    training_rows: tuple[int, ...] | None = None,
    training_mean: float | None = None,
    training_total: int | None = None,
) -> StudyData:
    """Return the done trials of a store's plan as arrays, those of ``keys`` only where given.

    With the truth, people can be drawn again together and flips told by group; ``ids`` are what rows are called there.
    ``pictures`` shows dev rows.
    The store must stay open while the predictions are read.
    """
    chosen_keys = None if keys is None else set(keys)
    stored = [trial for trial in store.trials(history=False) if chosen_keys is None or trial.key in chosen_keys]
    counted = {split: store.readouts(split, truth) for split in (DEV, TEST)}
    damaged = _damaged(store, stored, counted, truth)
    # Trials that are being recorded meanwhile are counted the next time.
    both = set(counted[DEV].keys) & set(counted[TEST].keys)
    done = [
        stored_trial
        for stored_trial in stored
        if stored_trial.state == "done" and stored_trial.key in both and stored_trial.key not in damaged
    ]
    done_keys = tuple(stored_trial.key for stored_trial in done)
    names = next((stored_trial.names for stored_trial in counted.values() if stored_trial.keys), counted[TEST].names)
    environments = store.environments()
    places = {key: index for index, key in enumerate(dict.fromkeys(stored_trial.environment for stored_trial in done))}
    rows = None if truth is None else _rows(truth, ids)

    remembered_predictions: dict[int, NDArray[Any]] = {}

    def predictions(requested: Sequence[int]) -> NDArray[Any] | None:
        missing = [position for position in requested if position not in remembered_predictions]
        predicted = _predicted(store, [done_keys[position] for position in missing]) if missing else None
        if missing and (predicted is None or (rows is not None and predicted.shape[1] != len(rows))):
            return None
        predicted = None if predicted is None else _compact(predicted)
        if predicted is not None and predicted.nbytes // len(missing) * len(done_keys) > MOST_REMEMBERED:
            return (
                predicted
                if len(missing) == len(requested)
                else _predicted(store, [done_keys[position] for position in requested])
            )
        # Several parts of a report read them, and unpacking takes longer than anything that is done with them.
        remembered_predictions.update(zip(missing, () if predicted is None else predicted, strict=True))
        return np.stack([remembered_predictions[position] for position in requested])

    def kept(name: str, position: int) -> NDArray[Any] | None:
        return store.stored_arrays([done_keys[position]], name).get(done_keys[position])

    kept_names = tuple(name for name in store.stored_array_names() if name != MODEL)
    remembered = value_cache(store.location.path, "" if truth is None else truth.digest) if kept_names else None
    return StudyData(
        name=name,
        layout=layout_of(names, favourable),
        trials=tuple(stored_trial.trial for stored_trial in done),
        tables={split: _tables(_of(readouts, done_keys), names) for split, readouts in counted.items()},
        seconds=_seconds(done),
        environments=tuple(environments.get(key or "", {}) for key in places),
        environment=np.array([places[stored_trial.environment] for stored_trial in done], dtype=np.int64),
        rows=rows,
        predictions=predictions,
        failures=(
            *_failures(store, [stored_trial for stored_trial in stored if stored_trial.state == "failed"]),
            *(
                Failure(stored_trial.trial, _damage_sentence(damaged[stored_trial.key]), damaged=True)
                for stored_trial in stored
                if stored_trial.key in damaged
            ),
        ),
        unfinished=sum(stored_trial.state in ("waiting", "running") for stored_trial in stored),
        compositions=compositions or {},
        equal_conditions=equal_conditions or {},
        keys=done_keys,
        notes=(*_damage_note(len(damaged)), *note_texts([_notes_of(stored_trial.notes) for stored_trial in done])),
        stored_arrays=None if remembered is None else StoredArrays(kept_names, kept, truth, remembered),
        pictures=pictures,
        training_rows=training_rows if training_rows is not None and len(training_rows) == len(names.classes) else None,
        training_mean=training_mean,
        training_total=training_total,
        training_ends=training_ends(
            done, store.stored_arrays(done_keys, CONSTRAINTS) if CONSTRAINTS in kept_names else {}
        ),
        aucs=None if truth is None else aucs_of(store, done_keys, truth, layout_of(names, favourable)),
    )


def _equal_conditions(study: Study) -> dict[str, tuple[Named, ...]]:
    """Return the conditions that draw the rows of another, by the text of the one that was trained."""
    named = [condition_name for condition_name, _ in study.conditions]
    return {
        condition_text(named[index]): tuple(named[other] for other in others)
        for index, others in study.equal_conditions.items()
        if others
    }


def training_of(study: Study) -> dict[str, Any]:
    """Return what the original training rows say a constant prediction should be: rows by class or label, or a mean."""
    train = study.dataset.train
    if train.target is None:
        return {}
    if study.dataset.task == "regression":
        targets = np.asarray(train.target, dtype=np.float64)
        targets = targets[np.isfinite(targets)]
        return {"training_mean": float(targets.mean()) if len(targets) else None}
    codes = np.asarray(train.target)
    if study.dataset.task == "multilabel":
        codes = codes[known_targets(codes)]
        return {"training_rows": tuple((codes > 0).sum(axis=0).tolist()), "training_total": len(codes)}
    return {"training_rows": tuple(np.bincount(codes[codes >= 0], minlength=len(study.dataset.classes)).tolist())}


def _pictures(study: Study) -> Callable[[NDArray[np.int64]], NDArray[np.uint8]] | None:
    """Return what shows dev rows by their places in the split; None where the cohort has nothing to show."""
    cohort = study.cohort
    return None if cohort.pictures is None else lambda places: cohort.examples(rows_of(cohort, DEV)[places])


def _seconds(done: Sequence[StoredTrial]) -> NDArray[np.float64]:
    """Return what each trial's training took: trials that share one say their share, and together the whole."""
    seconds_by_key = {trial.key: trial.seconds for trial in done}
    if any(unread(named) != named for named in {str(n): n for trial in done for n in trial.trial.treatments}.values()):
        for cell in cells_of([trial.trial for trial in done]):
            for training in trainings_of(cell):
                training_seconds = sum(seconds_by_key[trial.key] for trial in training)
                seconds_by_key |= dict.fromkeys((trial.key for trial in training), training_seconds)
    return np.array([seconds_by_key[trial.key] for trial in done])


def layout_of(names: Names, favourable: str | None) -> Layout:
    """Return what the axes of the counts of a cohort mean."""
    return Layout(
        attributes=names.attributes,
        groups=names.groups,
        classes=names.classes,
        favourable=favourable if names.task == "class" and favourable in names.classes else None,
        task=names.task,
        pivot=ResidualPivot(names.pivot, names.pivot),
    )


def _of(readouts: Readouts, keys: Sequence[str]) -> NDArray[Any]:
    """Return the counts of some trials, in their order."""
    places = {key: index for index, key in enumerate(readouts.keys)}
    return readouts.counts[[places[key] for key in keys]]


def _tables(counts: NDArray[Any], names: Names) -> NDArray[np.float64]:
    """Return counts as numbers; sums of a regression are added up over the quarters of the target."""
    whole = counts.sum(axis=-2) if names.task == "regression" else counts
    return np.asarray(whole, dtype=np.float64)


def _rows(truth: EvaluationLabels, ids: NDArray[np.int64] | None) -> TestRows:
    labels = truth.of(TEST)
    return TestRows(np.arange(len(labels)) if ids is None else ids, labels.group, labels.target, labels.cluster)


def _predicted(store: Store, keys: Sequence[str]) -> NDArray[Any] | None:
    """Return what trials said of the test rows, ``[trial, row]``; None, with a warning, where it cannot be read."""
    try:
        found = store.predictions_of(keys, TEST, scores=False)
    except BadInput as error:
        warnings.warn(f"The report is made without predictions. {error}", stacklevel=2)
        return None
    return np.stack([found[key].values for key in keys])


def _compact(codes: NDArray[Any]) -> NDArray[Any]:
    """Return class codes in one byte each where that holds them, which is an eighth of the room."""
    fits = codes.dtype.kind in "iu" and codes.size and codes.min() >= 0 and codes.max() < 256
    return codes.astype(np.uint8) if fits else codes


def _failures(store: Store, failed: Sequence[StoredTrial]) -> tuple[Failure, ...]:
    """Return trials that failed; of each error in a cell one says where it came from."""
    first = {(trial.cell, _error_of(trial)): trial.key for trial in reversed(failed)}
    traces = store.tracebacks(list(first.values())) if first else {}
    return tuple(Failure(trial.trial, _error_of(trial), traces.get(trial.key)) for trial in failed)


def _damaged(
    store: Store, stored: Sequence[StoredTrial], counted: Mapping[str, Readouts], truth: EvaluationLabels | None
) -> dict[str, Damage]:
    """Return the done trials of which the store no longer has what was written, by key, and what is damaged."""
    done = [trial for trial in stored if trial.state == "done"]
    counts = {key for readouts in counted.values() for key in (*readouts.damaged, *_implausible(readouts, truth))}
    predictions = store.damaged_predictions([trial_done.key for trial_done in done], TEST)
    damages: dict[str, Damage] = {}
    for trial_done in done:
        if trial_done.damaged:
            damages[trial_done.key] = Damage.DETAILS
        elif trial_done.key in counts:
            damages[trial_done.key] = Damage.COUNTS
        elif trial_done.key in predictions:
            damages[trial_done.key] = Damage.PREDICTIONS
    return damages


def _implausible(readouts: Readouts, truth: EvaluationLabels | None) -> list[str]:
    """Return trials whose counts do not add up to the people of each group and class, whatever they predict."""
    if truth is None or not readouts.keys or readouts.names.task != truth.task:
        return []
    labels = truth.of(readouts.split)
    if truth.task == "multilabel":
        return _implausible_labels(readouts, truth)
    within = labels.cell if truth.task == "regression" else np.asarray(labels.target)
    shape = readouts.counts.shape[1:3]
    if within is None or shape != (len(truth.groups), len(truth.classes)):
        return []
    places = labels.group[labels.is_known] * shape[1] + within[labels.is_known]
    people = np.bincount(places.astype(np.int64), minlength=shape[0] * shape[1]).reshape(shape)
    counted = readouts.counts[..., 0] if truth.task == "regression" else readouts.counts.sum(axis=-1)
    wrong = (counted != people).any(axis=(1, 2))
    return [key for key, bad in zip(readouts.keys, wrong.tolist(), strict=True) if bad]


def _implausible_labels(readouts: Readouts, truth: EvaluationLabels) -> list[str]:
    """Return trials whose counts do not add up to the rows of each group with each label, and without it."""
    labels = truth.of(readouts.split)
    target, group = np.asarray(labels.target)[labels.is_known], labels.group[labels.is_known]
    shape = (len(truth.groups), len(truth.classes))
    if readouts.counts.shape[1:3] != shape:
        return []
    members = (group == np.arange(shape[0])[:, None]).astype(np.int64)
    people = np.stack([members @ (1 - target), members @ target], axis=-1)
    counted = np.stack([readouts.counts[..., :2].sum(axis=-1), readouts.counts[..., 2:].sum(axis=-1)], axis=-1)
    wrong = (counted != people).any(axis=(1, 2, 3))
    return [key for key, bad in zip(readouts.keys, wrong.tolist(), strict=True) if bad]


def _damage_note(number: int) -> Iterator[str]:
    if number:
        trials = "1 trial is" if number == 1 else f"{number:,} trials are"
        yield f"{trials} damaged in the store and left out of every number: equipoise study run PLAN trains again."


def _damage_sentence(damage: Damage) -> str:
    return f"The store is damaged: {damage} cannot be read as written. equipoise study run PLAN trains it again."


def _error_of(stored: StoredTrial) -> str:
    return " ".join((stored.failure or "no reason was kept").split())


def compositions_of(study: Study) -> dict[str, Composition]:
    """Return what each condition makes of the training rows."""
    drawing = study.drawing
    compositions: dict[str, Composition] = {}
    for index, (named, _) in enumerate(study.conditions):
        feasibility = drawing.feasibility(index)
        wanted = {(cell.class_name, cell.group): cell.requested for cell in feasibility.cells}
        classes, groups = study.dataset.classes, study.dataset.groups
        rows = tuple(tuple(wanted.get((c, g), 0) for g in groups) for c in classes)
        seed = None if drawing.partition(index, 0) is None else 0
        compositions[condition_text(named)] = Composition(tuple(classes), tuple(groups), rows, seed)
    return compositions


def _notes_of(notes: Sequence[str]) -> list[str]:
    """Return what a trial noted, but that it has collapsed: the report counts that itself."""
    return [note for note in notes if note != COLLAPSED]
