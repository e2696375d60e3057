"""What a study will ask of the data and of the machine, before anything is trained."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from equipoise.conditions import Feasibility
from equipoise.foundation import BadInput, duration, listing
from equipoise.measures import PerformanceReason
from equipoise.results import record_as_json
from equipoise.studies._plan_power import (
    PlanPower,
    Spreads,
    SpreadSource,
    assumed_spreads,
    pilot_spreads,
    plan_power,
    spreads_of,
)
from equipoise.studies._searching import at_defaults, search_cells, searched_in
from equipoise.studies.analysis import StudyData, attributes_of, baselines_of, main_measures_of, quantities_of
from equipoise.studies.analysis import cells_of as gathered
from equipoise.studies.findings import layout_of, read_study
from equipoise.studies.plans import PlanChange, Trial, condition_text, equal_words
from equipoise.studies.running import Work, cell_labels, change_of, check_device, named_key, seconds_left
from equipoise.studies.storage import CellStatus, Status
from equipoise.training import (
    Need,
    check_dataset,
    check_one_after,
    failure_of,
    learner_of,
    outputs_of,
    overrides,
    prepare_job,
    recipe_of_treatments,
)

if TYPE_CHECKING:
    from equipoise.studies._study import Study
    from equipoise.studies.storage import Store
    from equipoise.training import EncodedDataset, Learner, Treatment


@dataclass(frozen=True)
class Check:
    """The size of a study, what every condition draws, what is done already, and how long the rest may take.

    ``seconds`` is what the rest takes by the trials in the store, on one worker; ``at_most`` is every epoch of every
    trial, from a timed probe. Both are None where nothing was measured. ``change`` says what differs where trials that
    were done under this name do not fit the plan, and ``equal`` which conditions draw the same rows as another, by that
    other one. ``problems`` are treatments that cannot act under a condition: their trials would fail. ``comparisons``
    is how many tests the report will correct for, and ``power`` whether the plan can decide the effect that it names.
    """

    cohort: str
    rows: Mapping[str, int]
    group: str
    trials: int
    stacks: int
    treatments: tuple[str, ...]
    learners: int
    seeds: int
    repeats: int
    size: int
    conditions: tuple[tuple[str, Feasibility], ...]
    done: int = 0
    failed: int = 0
    seconds: float | None = None
    unmeasured: int = 0
    at_most: float | None = None
    change: PlanChange | None = None
    equal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What performance is where the plan does not say: why, and how skewed the training classes are.
    performance: str = "accuracy"
    performance_reason: PerformanceReason = PerformanceReason.USUAL
    class_skew: float = 1.0
    # Controls that are run beside treatments though the plan does not name them, and how many trials they are.
    added: tuple[str, ...] = ()
    added_trials: int = 0
    problems: tuple[str, ...] = ()
    comparisons: int = 0
    power: PlanPower | None = None
    # Of a study that adds seeds: after how many it may end.
    looks: tuple[int, ...] = ()
    # What a search trains before these: trials in all and so far, settings of each arm, and what is searched.
    search_trials: int = 0
    search_done: int = 0
    search_settings: int = 0
    searched: tuple[str, ...] = ()

    @property
    def can_decide(self) -> bool:
        """Tell whether a change of the size that the plan names would be detected in 8 of 10 studies, corrected."""
        return self.power is None or self.power.can_decide

    @property
    def feasible(self) -> bool:
        """Tell whether every condition can be drawn."""
        return all(asked.feasible for _, asked in self.conditions)

    @property
    def sound(self) -> bool:
        """Tell whether every condition can be drawn, and every treatment can act before training under each."""
        return self.feasible and not self.problems

    @property
    def words(self) -> tuple[str, ...]:
        """What there is to know, a sentence each."""
        rows = ", ".join(f"{number:,} {split}" for split, number in self.rows.items())
        sentences = [
            f"Cohort {self.cohort}: {rows} rows; groups by {self.group}.",
            f"{_number(self.trials, 'trial')} in {_number(self.stacks, 'stack')} that train together: "
            f"{_number(len(self.conditions) - sum(map(len, self.equal.values())), 'condition')} x {self._learners()}"
            f"{_number(len(self.treatments), 'treatment')} x "
            f"{_number(self.seeds, 'seed')} x {_number(self.repeats, 'repeat')}.",
        ]
        if self.looks:
            sentences.append(
                "These are the most: seeds are added until each comparison is decided, after "
                f"{listing([str(look) for look in self.looks], len(self.looks))} seeds."
            )
        sentences += [equal_words(condition, others) for condition, others in self.equal.items()]
        if self.added:
            sentences.append(
                f"{_number(self.added_trials, 'trial')} of these are controls that the plan does not name: "
                f"{'; '.join(self.added)}."
            )
        if self.performance_reason is PerformanceReason.SKEWED:
            sentences.append(
                f"The largest training class has {self.class_skew:.1f} times the rows of the smallest, so epochs and "
                'treatments are chosen by balanced accuracy; performance = "accuracy" chooses by accuracy.'
            )
        if self.search_trials:
            sentences.append(
                f"Before these a search trains {_number(self.search_trials, 'trial')}: "
                f"{_number(self.search_settings, 'setting')} for each arm; {self.search_done:,} are done."
            )
            sentences += self.searched
        if self.done or self.failed:
            sentences.append(f"{self.done:,} are done" + (f" and {self.failed:,} failed." if self.failed else "."))
        if self.change is not None:
            sentences.append(self.change.words)
        sentences += self.problems
        sentences += () if self.power is None else self.power.words
        return (*sentences, self._time())

    def _learners(self) -> str:
        return f"{_number(self.learners, 'learner')} x " if self.learners > 1 else ""

    def _time(self) -> str:
        if self.trials == self.done + self.failed and self.search_trials == self.search_done:
            return "Every trial is done."
        if self.seconds is not None:
            about = " (some treatments are not measured yet)" if self.unmeasured else ""
            return f"Based on the finished trials, the rest takes {duration(self.seconds)} on one worker{about}."
        if self.at_most is not None:
            return f"Based on one epoch of each treatment, it takes at most {duration(self.at_most)} on one worker."
        return "The time is known once a trial is done; --probe times one epoch of each treatment first."


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def check(
    study: Study,
    store: str | os.PathLike[str] | None = None,
    *,
    probe: bool = False,
    pilot: str | os.PathLike[str] | None = None,
) -> Check:
    """Look at a study and train nothing (a probe trains one epoch of each treatment, and throws it away).

    ``pilot`` is the JSON of an earlier study's report: whether the plan can decide is then told by its spreads.
    """
    with_search, study = study, at_defaults(study)
    drawing, dataset, truth = study.drawing, study.dataset, study.labels
    judged = {split: len(truth.of(split)) for split in ("dev", "test")}
    checked = Check(
        cohort=study.original.name,
        rows={"train": len(dataset.train), **judged},
        group=" x ".join(study.groups),
        trials=len(study.trials()),
        stacks=len(study.stacks()),
        treatments=tuple(" + ".join(map(str, arm.treatments)) for arm in study.arms),
        learners=len(study.learners),
        seeds=len(study.seeds),
        looks=() if study.stopping is None else study.stopping.looks,
        repeats=study.repeats,
        performance=study.performance,
        performance_reason=study.performance_reason,
        class_skew=study.class_skew,
        added=tuple(dict.fromkeys(arm.name for arm in study.arms if arm.added)),
        added_trials=len(study.trials()) * sum(arm.added for arm in study.arms) // len(study.arms),
        size=drawing.size,
        conditions=tuple(
            (condition_text(named), drawing.feasibility(index)) for index, (named, _) in enumerate(study.conditions)
        ),
    )
    names = [name for name, _ in checked.conditions]
    equal = {
        names[first_index]: tuple(names[other] for other in same)
        for first_index, same in study.equal_conditions.items()
        if same
    }
    checked = replace(checked, equal=equal, problems=tuple(_problems(study)), comparisons=comparisons_of(study))
    checked = _with_search(checked, with_search)
    checked = checked if store is None else _with_store(checked, with_search, store)
    if checked.comparisons:
        checked = replace(checked, power=plan_power(study, checked.comparisons, _spreads(checked, study, store, pilot)))
    if probe and checked.seconds is None:
        at_most = _probe(study.work)
        search = with_search.search
        if at_most is not None and search is not None:
            # A search trains each arm so many times as often, under every condition or one.
            conditions = 1 if search.per_condition else len(study.equal_conditions)
            at_most *= 1 + search.trainings / (conditions * len(study.seeds) * study.repeats)
        checked = replace(checked, at_most=at_most)
    return checked


def _with_search(checked: Check, study: Study) -> Check:
    """Say what the search of a study adds, where it has one."""
    search = study.search
    if search is None:
        return checked
    arms = study.searched_arms.values()
    conditions = len(study.equal_conditions) if search.per_condition else 1
    texts = [
        f"{searched.arm.name} searches "
        + listing(
            f"{label} {dimension.low:g} to {dimension.high:g}"
            for label, dimension in zip(searched.labels, searched.space, strict=True)
        )
        + "."
        for searched in arms
    ]
    number = search.trainings * len(arms) * conditions * len(study.training_options.selections)
    return replace(checked, search_trials=number, search_settings=search.trials, searched=tuple(dict.fromkeys(texts)))


def _problems(study: Study) -> Iterator[str]:
    """Let every treatment choose and weigh the rows of each condition, and say where that fails; train nothing."""
    conditions_by_failure: dict[str, tuple[str, list[str]]] = {}
    work = study.work
    for cell in () if study.functions else study.cells():
        first = next((trial for trial in cell if work.can_train(trial)), None)
        if first is None or first.selection != study.training_options.selections[0]:
            continue
        (job,) = work.jobs([first])
        try:
            for treatment in job.treatments:
                check_dataset(treatment, work.dataset)
            _check_composed(learner_of(first.learner.name), job.treatments, work.dataset)
            if overrides(job.treatments, "choose") or overrides(job.treatments, "weigh"):
                prepare_job(job, work.dataset, dict(job.learner), transforms=False)
        except Exception as error:  # noqa: BLE001 - a treatment of anybody's may act here
            failing_conditions = conditions_by_failure.setdefault(
                first.treatment + failure_of(error), (_sentence(first, error), [])
            )[1]
            failing_conditions.append(condition_text(first.condition))
    for sentence, conditions in conditions_by_failure.values():
        yield f"{listing(dict.fromkeys(conditions), 4)}: {sentence}"


def _check_composed(learner: type[Learner], treatments: Sequence[Treatment], dataset: EncodedDataset) -> None:
    """Refuse treatments of a trial of which two decide the same thing, as far as that is known before training."""
    recipe_of_treatments(treatments)
    outputs_of(treatments, len(dataset.classes), len(dataset.groups))
    if Need.EMBEDDING not in learner.offers:  # from an embedding one may erase after another
        check_one_after(treatments)


def _sentence(trial: Trial, error: Exception) -> str:
    given, fix = (error.given, error.help) if isinstance(error, BadInput) else (failure_of(error), "")
    return f"every trial of {trial.treatment} will fail. {given.rstrip('.')}." + (f" Fix: {fix}" if fix else "")


def comparisons_of(study: Study) -> int:
    """Return how many comparisons with the baseline the report of a study will make and correct for."""
    trials = study.trials()
    layout = layout_of(study.labels.names, study.cohort.favourable)
    nothing = np.zeros(len(trials))
    planned = StudyData(
        name=study.name, layout=layout, trials=trials, tables={}, seconds=nothing, environments=(),
        environment=np.zeros(len(trials), dtype=np.int64),
    )  # fmt: skip
    cells = gathered(planned, nothing, every_setting=study.every_setting)
    compared = sum(above is not None for above in baselines_of(cells, study.baseline))
    attributes = attributes_of(layout, study.groups)
    main = main_measures_of(layout.task, study.performance, study.fairness)
    return compared * len(quantities_of(layout, attributes, study.measures or None, main))


def _spreads(
    checked: Check, study: Study, store: str | os.PathLike[str] | None, pilot: str | os.PathLike[str] | None
) -> Spreads:
    """Return the spreads of the pilot, else those of the trials in the store, else assumed ones."""
    if pilot is not None:
        return pilot_spreads(pilot)
    if checked.done and store is not None:
        try:
            result = read_study(study, store, count_look=False)
        except BadInput:
            # What was done does not fit the plan as it is now.
            return assumed_spreads(study)
        fairness_records = (
            record
            for record in result.records
            if (record.measure, record.attribute) == (result.fairness, result.attribute)
        )
        spreads = spreads_of(SpreadSource.STORE, map(record_as_json, fairness_records))
        if spreads is not None:
            return spreads
    return assumed_spreads(study)


def _with_store(checked: Check, study: Study, where: str | os.PathLike[str]) -> Check:
    from equipoise.studies.storage import open_store

    if "://" not in os.fspath(where) and not os.path.exists(where):
        return checked
    status = study_status(study, where)
    cells = status.cells[len(status.cells) - len(at_defaults(study).cells()) :]
    found = None if study.search is None else searched_in(study, where)
    change = None
    if found is None or found.done:
        of_plan = study if found is None else found.study(study)
        with open_store(os.fspath(where), create=False, read_only=True, plan=of_plan.plan_key) as store:
            change = change_of(of_plan, store)
    seconds, unmeasured = seconds_left(status)
    done, failed = sum(cell.done for cell in cells), sum(cell.failed for cell in cells)
    return replace(
        checked, done=done, failed=failed, seconds=seconds, unmeasured=unmeasured, change=change,
        search_done=status.done + status.failed - done - failed,
    )  # fmt: skip


def study_status(study: Study, where: str | os.PathLike[str]) -> Status:
    """Count the trials of a study in a store: those of its search first, then those that give the verdicts."""
    from equipoise.studies.storage import open_store

    with open_store(os.fspath(where), create=False, read_only=True):
        pass
    found = None if study.search is None else searched_in(study, where)
    cells = () if found is None else search_cells(study, found.units)
    of_plan = study if found is None else found.study(study) if found.done else at_defaults(study)
    with open_store(os.fspath(where), create=False, read_only=True, plan=of_plan.plan_key) as store:
        return Status((*cells, *status_of(of_plan, store).cells))


def status_of(study: Study, store: Store) -> Status:
    """Count the trials of a study in a store, whatever plan they were trained for; those it does not have wait."""
    if store.is_planned():
        return store.status()
    states = store.states([trial.key for trial in study.trials()])
    cells = []
    for label, trials in zip(cell_labels(study).values(), study.cells(), strict=True):
        trial_states = [states.get(trial.key, ("waiting", 0.0)) for trial in trials]
        number: dict[str, int] = Counter(state for state, _ in trial_states)
        cells.append(CellStatus(label, **number, seconds=sum(seconds for _, seconds in trial_states)))
    return Status(tuple(cells))


def _probe(work: Work) -> float | None:
    """Time one epoch of the first stack of each learner and treatment; all its epochs then take at most so often that.

    A learner without epochs cannot be timed so, and nothing is said then.
    """
    if not all("epochs" in values for values in work.learners.values()):
        return None
    check_device(work)
    short = replace(work, learners={key: {**values, "epochs": 1} for key, values in work.learners.items()})
    each: dict[tuple[str, str], float] = {}
    for stack in work.stacks:
        trials = [trial for trial in stack.trials if work.can_train(trial)]
        if trials and _timed(trials[0]) not in each:
            began = time.perf_counter()
            outcomes = short.outcomes(trials)
            if all(outcome.failure is not None for outcome in outcomes):
                raise BadInput(
                    f"One epoch of {trials[0].treatment} was tried and failed: {outcomes[0].failure}",
                    help="fix the cause, or check the plan without --probe, which trains nothing.",
                )
            epochs = float(work.learners[named_key(trials[0].learner)]["epochs"])
            each[_timed(trials[0])] = epochs * (time.perf_counter() - began) / len(trials)
    able = [trial for stack in work.stacks for trial in stack.trials if work.can_train(trial)]
    return sum(each[_timed(trial)] for trial in able) if each else None


def _timed(trial: Trial) -> tuple[str, str]:
    """Return what trials that take equally long have in common."""
    return named_key(trial.learner), trial.treatment
