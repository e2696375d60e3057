"""The search of hyper-parameters: settings of every arm are asked for a generation at a time, trained together, told.

What was asked follows from the plan and from what the store has recorded: nothing else is kept of a search, and one
that was interrupted goes on as if it had not been.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from equipoise.foundation import BadInput, require
from equipoise.studies._growing import train_study
from equipoise.studies.analysis import (
    DEV,
    StudyData,
    attributes_of,
    batched,
    collapsed_cells,
    collapsed_runs,
    fill_in,
    main_measures_of,
    needs_scores,
    quantities_of,
)
from equipoise.studies.findings import (
    SearchedRange,
    SearchSetting,
    StudySearch,
    check_same_plan,
    data_of,
    read_study,
    training_of,
)
from equipoise.studies.plans import LearnerTexts, Named, SearchedArm, canonical, condition_text, survivors
from equipoise.studies.running import Standing, Watcher, run_in_store
from equipoise.studies.storage import CellStatus, open_store
from equipoise.training import seed_of

if TYPE_CHECKING:
    from equipoise.studies._study import Study
    from equipoise.studies.findings import StudyResult

# What a setting is worth to the sampler that gave no distance to the optimum, or a constant prediction: it goes by
# ranks, so these come after all others, which are at most the square root of 2.
COLLAPSED, UNDEFINED = 10.0, 100.0
# How often a setting is asked for again that was tried before, until an arm is taken to have no other.
MOST_ASKED = 50
# With fewer settings nothing is said of which hyper-parameter mattered more than another.
LEAST_SETTINGS = 10


@dataclass(frozen=True)
class Reading:
    """What dev rows say of one trial of the search; NaN where it failed or a number is not defined."""

    performance: float = math.nan
    fairness: float = math.nan
    distance: float = math.nan
    collapsed: bool = False
    failed: bool = False


@dataclass
class Tried:
    """One setting of an arm: its values, its generation, what dev rows say of it by seed, and whether it is chosen.

    ``pruned`` says that it was not trained with every seed of the search.
    """

    values: tuple[float, ...]
    generation: int
    readings: list[Reading] = field(default_factory=list)
    pruned: bool = False
    chosen: bool = False

    def mean(self, name: str) -> float:
        """Return the mean of a number over the seeds for which it is defined."""
        values = [getattr(reading, name) for reading in self.readings if not math.isnan(getattr(reading, name))]
        return math.fsum(values) / len(values) if values else math.nan

    @property
    def collapsed(self) -> bool:
        """Whether at least half of its trainings do no better than a constant prediction."""
        return 2 * sum(reading.collapsed for reading in self.readings) >= max(len(self.readings), 1)

    @property
    def failed(self) -> bool:
        """Whether no training of it ended well."""
        return all(reading.failed for reading in self.readings)

    @property
    def worth(self) -> float:
        """What it is ranked by, better low: its distance to the optimum, after which come those that collapsed."""
        distance = self.mean("distance")
        if math.isnan(distance):
            return UNDEFINED
        return distance + COLLAPSED if self.collapsed else distance


@dataclass(eq=False)
class Unit:
    """An arm with one learner under one condition: what is searched by itself, and what was tried."""

    searched: SearchedArm
    # The places of condition (in the plan), learner and arm.
    places: tuple[int, int, int]
    condition: Named
    selection: str
    tried: list[Tried] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """What names its random numbers."""
        arm = [[named.name, named.version, named.settings] for named in self.searched.arm.treatments]
        learner = self.searched.learning.named
        return canonical([
            self.condition.name, self.condition.version, self.condition.settings, self.selection,
            learner.name, learner.version, learner.settings, arm,
        ])  # fmt: skip

    @property
    def best(self) -> Tried:
        """The setting that is chosen: the first of the best by dev rows, among those trained with most seeds."""
        most = max(len(one.readings) for one in self.tried)
        return min((one for one in self.tried if len(one.readings) == most), key=lambda one: one.worth)


@dataclass(frozen=True, eq=False)
class Searched:
    """How far the search of a study is in a store, and what it found."""

    units: tuple[Unit, ...]
    done: bool

    def study(self, study: Study) -> Study:
        """Return the study with the chosen settings; where nothing was tried, with those where a search begins."""
        best = {(unit.selection, *unit.places): unit.best.values for unit in self.units if unit.tried}
        conditions = list(study.equal_conditions)
        per_condition = study.search is None or study.search.per_condition
        trials, learners = [], {}
        for selection in study.training_options.selections:
            for condition in conditions:
                of = condition if per_condition else conditions[0]
                for (learner, arm), searched in study.searched_arms.items():
                    values = best.get((selection, of, learner, arm), searched.start)
                    learning, treatments = searched.with_values(values)
                    learners[canonical([learning.named.name, learning.named.settings])] = learning
                    trials += [
                        study.trial(study.conditions[condition][0], learning.named, treatments, seed, repeat, selection)
                        for seed in study.seeds
                        for repeat in range(study.repeats)
                    ]
        return study.of_trials(trials, list(learners.values()))


def at_defaults(study: Study) -> Study:
    """Return the study with every setting where its search begins; itself where it searches nothing."""
    return study if study.search is None else Searched((), False).study(study)


def of_verdicts(study: Study, where: str | os.PathLike[str]) -> Study:
    """Return the study as far as a store knows it: with chosen settings, or where its search begins."""
    if study.search is None:
        return study
    found = searched_in(study, where)
    return found.study(study) if found.done else at_defaults(study)


def units_of(study: Study) -> tuple[Unit, ...]:
    """Return what is searched by itself: every arm with every learner, under each condition or the first alone."""
    assert study.search is not None
    conditions = list(study.equal_conditions)
    return tuple(
        Unit(searched, (condition, *places), study.conditions[condition][0], selection)
        for selection in study.training_options.selections
        for condition in (conditions if study.search.per_condition else conditions[:1])
        for places, searched in study.searched_arms.items()
    )


@dataclass(frozen=True, eq=False)
class Step:
    """Trials of a search that train at once: a generation with one seed. ``units`` has the unit of each trial."""

    study: Study
    units: tuple[Unit, ...]
    generation: int
    rung: int


# Returns what dev rows say of a step's trials, by key, or None where they are not all trained.
Obtain = Callable[[Step], Mapping[str, Reading] | None]


def follow(study: Study, obtain: Obtain) -> Searched:
    """Go through the search of a study, step by step, as far as its trials can be obtained."""
    search = study.search
    assert search is not None
    units = units_of(study)
    for generation, size in enumerate(search.sizes):
        going: dict[Unit, list[Tried]] = {
            unit: [Tried(values, generation) for values in asked(unit, size, generation)] for unit in units
        }
        for rung in range(search.seeds):
            step = _step(study, going, generation, rung)
            readings = obtain(step)
            if readings is None:
                return Searched(units, False)
            each = iter(step.study.trials())
            for unit in units:
                for one in going[unit]:
                    one.readings.append(readings.get(next(each).key, Reading(failed=True)))
                if rung == 0:
                    unit.tried += going[unit]
                if rung + 1 < search.seeds:
                    kept = sorted(going[unit], key=lambda one: one.worth)[: survivors(size, rung + 1)]
                    for one in going[unit]:
                        one.pruned = one not in kept
                    going[unit] = [one for one in going[unit] if not one.pruned]
    for unit in units:
        unit.best.chosen = True
    return Searched(units, True)


def _step(study: Study, going: Mapping[Unit, Sequence[Tried]], generation: int, rung: int) -> Step:
    """Return the trials of some settings with one seed."""
    assert study.search is not None
    seed = study.search.seed_numbers[rung]
    trials, learners, units = [], {}, []
    for unit, settings in going.items():
        for one in settings:
            learning, treatments = unit.searched.with_values(one.values)
            learners[canonical([learning.named.name, learning.named.settings])] = learning
            trials.append(study.trial(unit.condition, learning.named, treatments, seed, 0, unit.selection))
            units.append(unit)
    name = f"{study.name} search {generation + 1}" + (f" seed {rung + 1}" if study.search.seeds > 1 else "")
    of_trials = study.of_trials(
        trials, list(learners.values()), name=name, seeds=(seed,), equivalence_margin=None, stopping=None
    )
    return Step(of_trials, tuple(units), generation, rung)


def asked(unit: Unit, number: int, generation: int) -> list[tuple[float, ...]]:
    """Ask the sampler for the next settings of a unit; the first of all is where the search begins.

    What comes out depends on what was tried before and on the names of unit and generation alone.
    """
    space = unit.searched.space
    known = {one.values for one in unit.tried}
    new = [] if known else [unit.searched.start]
    known |= set(new)
    if len(new) == number:
        return new
    with _sampler(unit, generation) as (study, distributions):
        for _ in range(number * MOST_ASKED):
            if len(new) == number:
                break
            params = study.ask(distributions).params
            values = tuple(
                dimension.rounded(params[label]) for dimension, label in zip(space, unit.searched.labels, strict=True)
            )
            if values not in known:
                known.add(values)
                new.append(values)
    return new


@contextmanager
def _sampler(unit: Unit, generation: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield a study of Optuna's that knows what was tried, in memory, and what a setting is drawn from."""
    optuna: Any = require("optuna", extra="search", purpose="A search of hyper-parameters")
    loud = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        distributions = distributions_of(unit.searched)
        seed = seed_of(0, "search", unit.name, generation)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        study = optuna.create_study(sampler=sampler)
        add_trials(study, unit, distributions)
        yield study, distributions
    finally:
        optuna.logging.set_verbosity(loud)


def add_trials(study: Any, unit: Unit, distributions: Mapping[str, Any]) -> None:
    """Tell a study of Optuna's what was tried."""
    optuna: Any = require("optuna", extra="search", purpose="A search of hyper-parameters")
    for one in unit.tried:
        params = dict(zip(unit.searched.labels, one.values, strict=True))
        study.add_trial(optuna.trial.create_trial(params=params, distributions=dict(distributions), value=one.worth))


def distributions_of(searched: SearchedArm) -> dict[str, Any]:
    """Return what Optuna draws each hyper-parameter from."""
    optuna: Any = require("optuna", extra="search", purpose="A search of hyper-parameters")
    drawn: dict[str, Any] = {}
    for label, dimension in zip(searched.labels, searched.space, strict=True):
        kind = optuna.distributions.IntDistribution if dimension.integer else optuna.distributions.FloatDistribution
        low, high = (int(dimension.low), int(dimension.high)) if dimension.integer else (dimension.low, dimension.high)
        drawn[label] = kind(low, high, log=dimension.scale == "log")
    return drawn


def run_study(study: Study, where: str | os.PathLike[str], *, watcher: Watcher | None = None, **options: Any) -> Study:
    """Search what the study searches, then train the trials that are needed; return it with the chosen settings.

    ``options`` are those of ``run_in_store``.
    """
    if study.search is not None:
        study = _search_in_store(study, where, watcher, options).study(study)
    train_study(study, where, watcher=watcher, **options)
    return study


def _search_in_store(
    study: Study, where: str | os.PathLike[str], watcher: Watcher | None, options: Mapping[str, Any]
) -> Searched:
    assert study.search is not None
    require("optuna", extra="search", purpose="A search of hyper-parameters")
    generations = len(study.search.sizes)
    # A changed plan is told once, where the verdicts are trained; models of trials of the search are of no use.
    options = {**options, "on_change": _silent, "keep_models": False}

    def obtain(step: Step) -> Mapping[str, Reading]:
        told = None if watcher is None else _told(watcher, step, generations)
        if options.get("retry_failed") or not _is_trained(step, where):
            run_in_store(step.study, where, watcher=told, **options)
        return _readings(step, where)

    return follow(study, obtain)


def _silent(change: object) -> None:
    """Say nothing."""


def _told(watcher: Watcher, step: Step, generations: int) -> Watcher:
    """Return a watcher that says which generation it is."""

    def tell(standing: Standing) -> None:
        words = f"search, generation {step.generation + 1} of {generations}"
        within = f"{words}: {standing.within}" if standing.within else words
        watcher(replace(standing, within=within))

    return tell


def searched_in(study: Study, where: str | os.PathLike[str]) -> Searched:
    """Read how far the search of a study is in a store; nothing is trained."""

    def obtain(step: Step) -> Mapping[str, Reading] | None:
        states = _states(step, where)
        return _readings(step, where) if all(state in ("done", "failed") for state in states) else None

    return follow(study, obtain)


def _is_trained(step: Step, where: str | os.PathLike[str]) -> bool:
    """Tell whether a store has a step as it is, and every trial of it has ended."""
    location = os.fspath(where)
    if "://" not in location and not os.path.exists(location):
        return False
    with open_store(location, plan=step.study.plan_key) as store:
        return store.is_planned() and not any(status.waiting + status.running for status in store.status().cells)


def _states(step: Step, where: str | os.PathLike[str]) -> list[str]:
    """Return the state of each trial of a step, and let its unit count them."""
    with open_store(os.fspath(where), create=False, read_only=True) as store:
        known = store.states([trial.key for trial in step.study.trials()])
    states: list[str] = []
    for unit, trial in zip(step.units, step.study.trials(), strict=True):
        state, seconds = known.get(trial.key, ("waiting", 0.0))
        unit.states[state] += 1
        unit.seconds += seconds
        states.append(state)
    return states


def _readings(step: Step, where: str | os.PathLike[str]) -> dict[str, Reading]:
    """Return what the dev rows say of each trial of a step; those that failed are left out."""
    study = step.study
    with open_store(os.fspath(where), create=False, read_only=True, plan=study.plan_key) as store:
        data = data_of(
            store, name=study.name, truth=study.labels, favourable=study.cohort.favourable,
            keys=check_same_plan(study, store), **training_of(study),
        )  # fmt: skip
        return dev_readings(data, study.performance, study.fairness)


def dev_readings(data: StudyData, performance: str, fairness: str) -> dict[str, Reading]:
    """Return what the dev rows say of each done trial, by key."""
    if not len(data):
        return {}
    main = data.trials[0].groups
    deciding = main_measures_of(data.layout.task, performance, fairness)
    quantities = quantities_of(data.layout, attributes_of(data.layout, main), None, deciding)
    values = batched(quantities, data.tables[DEV], data.layout)
    if needs_scores(deciding):
        assert data.aucs is not None
        aucs = data.aucs
        fill_in(values, quantities, deciding, lambda attribute: aucs(DEV, attribute, deciding.by[0]))
    places = {(quantity.measure, quantity.attribute): index for index, quantity in enumerate(quantities)}
    columns = [
        values[:, places[measure, attribute]].tolist()
        for measure, attribute in ((deciding.performance, ()), (deciding.fairness, main), (deciding.distance, main))
    ]
    collapsed = collapsed_cells(data, collapsed_runs(data), [np.array([at], dtype=np.int64) for at in range(len(data))])
    return {
        key: Reading(good, fair, distance, collapsed=bool(flag))
        for key, good, fair, distance, flag in zip(data.keys, *columns, collapsed.tolist(), strict=True)
    }


def searched(study: Study, where: str | os.PathLike[str]) -> Study:
    """Return the study with the settings that its search has chosen in a store."""
    return study if study.search is None else finished(study, where).study(study)


def finished(study: Study, where: str | os.PathLike[str]) -> Searched:
    """Return the search of a study as a store has it, which must be done."""
    found = searched_in(study, where)
    if not found.done:
        assert study.search is not None
        trained = sum(unit.states["done"] + unit.states["failed"] for unit in found.units)
        total = study.search.trainings * len(found.units)
        raise BadInput(
            f"The search of the study {study.name!r} is not done: {trained:,} of its {total:,} trials are, and the "
            "settings of the others follow from it",
            help="equipoise study run PLAN goes on with it.",
        )
    return found


def read_result(study: Study, where: str | os.PathLike[str], **how: Any) -> StudyResult:
    """Report a study; one that searched, with the settings that were chosen, and what was tried."""
    if study.search is None:
        return read_study(study, where, **how)
    found = finished(study, where)
    chosen = found.study(study)
    return replace(read_study(chosen, where, **how), search=search_of_units(study, chosen, found.units))


def search_of_units(study: Study, chosen: Study, units: Sequence[Unit]) -> StudySearch:
    """Return what was tried as data."""
    optuna: Any = require("optuna", extra="search", purpose="A search of hyper-parameters")
    assert study.search is not None
    texts = LearnerTexts([learning.named for learning in chosen.learners], numbers=False)
    ranges: list[SearchedRange] = []
    settings: list[SearchSetting] = []
    for unit in units:
        about: dict[str, str] = {
            "condition": condition_text(unit.condition), "learner": texts[unit.searched.learning.named],
            "treatment": unit.searched.arm.name, "selection": unit.selection,
        }  # fmt: skip
        labels, weights = unit.searched.labels, importances(unit)
        for index, (label, dimension) in enumerate(zip(labels, unit.searched.space, strict=True)):
            ranges.append(SearchedRange(
                **about, name=label, low=dimension.low, high=dimension.high, scale=dimension.scale,
                integer=dimension.integer, start=dimension.start, chosen=unit.best.values[index],
                importance=weights.get(label), correlation=correlation(unit, index),
            ))  # fmt: skip
        settings += [
            SearchSetting(
                **about, values=dict(zip(labels, one.values, strict=True)), generation=one.generation + 1,
                seeds=len(one.readings), performance=one.mean("performance"), fairness=one.mean("fairness"),
                distance=one.mean("distance"), collapsed=one.collapsed, failed=one.failed, pruned=one.pruned,
                chosen=one.chosen,
            )
            for one in unit.tried
        ]  # fmt: skip
    return StudySearch(
        trials=study.search.trials, generation=study.search.generation, seeds=study.search.seed_numbers,
        per_condition=study.search.per_condition, sampler=f"TPE of Optuna {optuna.__version__}",
        importance_method="PED-ANOVA", ranges=tuple(ranges), settings=tuple(settings),
    )  # fmt: skip


def importances(unit: Unit) -> dict[str, float]:
    """Return the share of each hyper-parameter in what was better, where there are several and enough settings."""
    if len(unit.searched.space) < 2 or len(unit.tried) < LEAST_SETTINGS:
        return {}
    optuna: Any = require("optuna", extra="search", purpose="A search of hyper-parameters")
    with _sampler(unit, 0) as (study, _):
        found = optuna.importance.get_param_importances(
            study, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
        )
    return {label: float(share) for label, share in found.items() if math.isfinite(share)}


def correlation(unit: Unit, index: int) -> float | None:
    """Return the rank correlation of a hyper-parameter with the distance to the optimum; None where nothing differs."""
    pairs = [(one.values[index], one.mean("distance")) for one in unit.tried if not math.isnan(one.mean("distance"))]
    if len({value for value, _ in pairs}) < 3 or len({distance for _, distance in pairs}) < 3:
        return None
    ranks = [rankdata([pair[side] for pair in pairs]) for side in (0, 1)]
    return float(np.corrcoef(*ranks)[0, 1])


def search_cells(study: Study, units: Iterable[Unit]) -> tuple[CellStatus, ...]:
    """Count the trials of a search by what is searched by itself; what is not asked for yet waits."""
    assert study.search is not None
    cells = []
    learners = {unit.places[1] for unit in units}
    for unit in units:
        states = unit.states
        ended = states["done"] + states["failed"] + states["running"]
        waiting = max(study.search.trainings - ended, 0)
        parts = [condition_text(unit.condition)] if study.search.per_condition else ["every condition"]
        parts += [unit.searched.learning.named.name] if len(learners) > 1 else []
        parts += [unit.searched.arm.name]
        parts += [f"by {unit.selection}"] if len(study.training_options.selections) > 1 else []
        cells.append(CellStatus(
            f"search: {'; '.join(parts)}", waiting=waiting, running=states["running"], done=states["done"],
            failed=states["failed"], seconds=unit.seconds,
        ))  # fmt: skip
    return tuple(cells)
