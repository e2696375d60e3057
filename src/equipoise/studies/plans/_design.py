"""The design of a study, checked name by name before anything is read or trained; which trials train together.

A plan may change after trials were trained: how far those of a store still fit it is said here too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast, get_args

from equipoise.cohorts import Cohort, Task
from equipoise.conditions import Condition, make_condition, settings_of
from equipoise.foundation import (
    BadInput,
    listing,
    registry,
    unknown_name,
)
from equipoise.measures import (
    Fairness,
    Performance,
    check_fairness,
    check_performance,
)
from equipoise.studies.plans._naming import (
    ChooseBy,
    Named,
    Trial,
    canonical,
    condition_text,
    control_of,
    distinct,
    expanded,
    kind_of,
    name_and_settings,
    placed,
    plain,
    treatment_name,
    treatments_of,
    unread,
)
from equipoise.tallies import (
    factorise,
    label_text,
)
from equipoise.training import (
    FreeParameter,
    Learner,
    Need,
    Precision,
    Rounding,
    Selection,
    Treatment,
    check_compatible,
    has_hook,
    may_differ,
    needs_scores,
    no_scores,
    with_defaults,
)

if TYPE_CHECKING:
    from equipoise.studies.plans._types import ConditionEntry, LearnerEntry, TreatmentEntry

DEVICES = ("cpu", "cuda")
BALANCED_ACCURACY = "balanced_accuracy"  # a number of the report that no measure is registered for


@dataclass(frozen=True, eq=False)
class Arm:
    """One treatment (or several that compose) with its hyper-parameters.

    ``added`` says of a control that the plan does not name it: it is run beside the treatment that it is one of.
    """

    treatments: tuple[Named, ...]
    added: bool = False

    @property
    def name(self) -> str:
        """How tables and charts name it."""
        return " + ".join(map(treatment_name, self.treatments))


@dataclass(frozen=True, eq=False)
class Learning:
    """One learner by name, and the hyper-parameters it is made with, which may be objects."""

    named: Named
    values: Mapping[str, Any]


@dataclass(frozen=True)
class TrainingOptions:
    """How trials are trained and read."""

    rounding: str
    precision: str
    device: str
    selections: tuple[str, ...]


def groups_of(cohort: Cohort, group: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the group columns: those named, or the one that there is."""
    with placed("group"):
        if not isinstance(group, str | Sequence | None):
            raise BadInput(f"group is {group!r}", available=f"the name of a group column: {listing(cohort.groups)}")
        names = cohort.groups if group is None else (group,) if isinstance(group, str) else tuple(group)
        if group is None and len(names) > 1:
            raise BadInput(
                f"The cohort {cohort.name!r} has several group columns ({', '.join(names)})",
                help=f'name one, such as group = "{names[0]}", or several to cross them.',
            )
        for name in names:
            if name not in cohort.groups:
                raise unknown_name("group column", name, cohort.groups, f"the cohort {cohort.name!r}")
        return names


def conditions_of(entries: ConditionEntry | Sequence[ConditionEntry]) -> list[tuple[Named, Condition]]:
    """Return the conditions of a study; a list among the settings of one is several."""
    conditions: list[tuple[Named, Condition]] = []
    for index, entry in enumerate(_sequence(entries, "conditions")):
        with placed("conditions", index):
            conditions += _conditions(entry)
    keys = [canonical([named.name, named.settings]) for named, _ in conditions]
    with placed("conditions"):
        distinct(keys, [str(condition) for _, condition in conditions], "condition")
    return conditions


def _conditions(entry_given: Any) -> list[tuple[Named, Condition]]:
    if isinstance(entry_given, Condition) and not isinstance(entry_given, type):
        return [(_named_condition(_condition_name(entry_given), entry_given), entry_given)]
    name, settings = name_and_settings(entry_given, "condition")
    with placed("name"):
        if not isinstance(name, str):
            raise BadInput(f"The name of a condition is {name!r}", available='text such as "as_given"')
        entry = registry.get("condition", name)
    conditions = [make_condition(entry.name, **values) for values in expanded(settings)]
    return [(_named_condition(entry.name, condition), condition) for condition in conditions]


def _named_condition(name: str, condition: Condition) -> Named:
    return Named(name, condition.version, plain(settings_of(condition)))


def _condition_name(condition: Condition) -> str:
    for entry in registry.entries("condition"):
        if entry.implementation is type(condition):
            return entry.name
    raise BadInput(f"The condition {condition!r} is not registered", help="decorate its class: @condition(name, ...)")


def arms_of(entries: TreatmentEntry | Sequence[TreatmentEntry]) -> list[Arm]:
    """Return the treatments of a study; a list among the hyper-parameters of one is a grid."""
    arms: list[Arm] = []
    for index, entry in enumerate(_sequence(entries, "treatments")):
        with placed("treatments", index):
            arms += _distinct_controls([Arm(treatments) for treatments in treatments_of(entry)])
    with placed("treatments"):
        distinct([_arm_key(arm) for arm in arms], [" + ".join(map(str, arm.treatments)) for arm in arms], "treatment")
    return _with_controls(arms)


def _arm_key(arm: Arm) -> str:
    return canonical([[named.name, named.settings] for named in arm.treatments])


def _distinct_controls(arms: Sequence[Arm]) -> list[Arm]:
    """Leave out what a grid has twice because a control does not differ in the other hyper-parameters."""
    distinct_arms: dict[str, Arm] = {}
    for index, arm in enumerate(arms):
        has_own_control = any(control_of(named) == named for named in arm.treatments)
        distinct_arms.setdefault(_arm_key(arm) if has_own_control else str(index), arm)
    return list(distinct_arms.values())


def _with_controls(arms: Sequence[Arm]) -> list[Arm]:
    """Put the control of a treatment that has one behind it, where the plan does not name it."""
    arm_keys = {_arm_key(arm) for arm in arms}
    with_controls: list[Arm] = []
    for arm in arms:
        with_controls.append(arm)
        control = Arm(tuple(control_of(named) or named for named in arm.treatments), added=True)
        if _arm_key(control) not in arm_keys:
            arm_keys.add(_arm_key(control))
            with_controls.append(control)
    return with_controls


def acting_arms(arms: Sequence[Arm], learners: Sequence[Learning]) -> list[Arm]:
    """Leave out controls that the plan does not name and that do nothing on these learners.

    The control of what acts after training has its refitted classifier. From an embedding groups are only erased: the
    control would be the embedding as it is, which is what the treatment is compared with anyway.
    """
    kinds: list[Any] = [registry.get("learner", learning.named.name).implementation for learning in learners]
    if not all(Need.EMBEDDING in getattr(kind, "offers", ()) for kind in kinds):
        return list(arms)
    return [arm for arm in arms if not (arm.added and all(_only_erases(named) for named in arm.treatments))]


def _only_erases(named: Named) -> bool:
    """Tell whether all that a treatment does to an embedding is left out by its control, if it has one."""
    kind: Any = registry.get("treatment", named.name).implementation
    return control_of(named) is None or has_hook(kind, "erase")


def learners_of(entries: LearnerEntry | Sequence[LearnerEntry], task: str) -> list[Learning]:
    """Return the learners of a study; a list of them is several, and so is a list among the settings of one."""
    several = isinstance(entries, Sequence) and not isinstance(entries, str)
    learnings: list[Learning] = []
    for index, entry in enumerate(_sequence(entries, "learner")):
        with placed("learner", *([index] if several else [])):
            learnings += _learners(entry, task)
    keys = [canonical([learning.named.name, learning.named.settings]) for learning in learnings]
    with placed("learner"):
        distinct(keys, [str(learning.named) for learning in learnings], "learner")
    return learnings


def _learners(entries: Any, task: str) -> list[Learning]:
    name, settings = name_and_settings(_as_entry(entries), "learner")
    with placed("name"):
        entry = registry.get("learner", name)
    kind: Any = entry.implementation
    # What is no number and no choice may be a list by itself.
    table = kind.table(task)
    fixed = {setting_name: value for setting_name, value in settings.items() if _is_whole(table.get(setting_name))}
    listed = expanded({setting_name: value for setting_name, value in settings.items() if setting_name not in fixed})
    for setting, value in [*fixed.items(), *(pair for values in listed for pair in values.items())]:
        with placed(setting):
            with_defaults(table, {setting: value}, f"the learner {entry.name!r}")
    settings_made = [kind.with_defaults({**fixed, **values}, task) for values in listed]
    return [
        Learning(Named(entry.name, kind.version, plain(kind.described(values))), values) for values in settings_made
    ]


def _is_whole(parameter: object) -> bool:
    """Tell whether a list is one value of a hyper-parameter, and not several."""
    return isinstance(parameter, FreeParameter) and not parameter.grid


def verify_learners(learners: Sequence[Learning]) -> None:
    """Import what learners name, and see that it can be trained."""
    for learning in learners:
        kind: Any = registry.get("learner", learning.named.name).implementation
        with placed("learner"):
            kind.verify(learning.values)


def sources_of(learners: Sequence[Learning]) -> dict[str, str]:
    """Return a hash of the user's own code and files that each learner names, where it names some."""
    source_of: dict[str, str | None] = {}
    for learning in learners:
        kind: Any = registry.get("learner", learning.named.name).implementation
        source_of[str(learning.named)] = kind.source(learning.values)
    return {name: source for name, source in source_of.items() if source is not None}


def _as_entry(learner: Any) -> Any:
    """Take an estimator for the learner scikit_learn, and anything else that can be called for a factory."""
    if isinstance(learner, str | Mapping):
        return learner
    if hasattr(learner, "fit") and hasattr(learner, "predict"):
        return {"name": "scikit_learn", "estimator": learner}
    if callable(learner):
        return {"name": "module", "factory": learner}
    raise BadInput(f"The learner is {learner!r}", available="a name, settings with a name, an estimator, or a factory")


def check_treatments(learner: Named, arms: Sequence[Arm], task: str) -> None:
    """Refuse a treatment whose ground the learner does not have."""
    kind: Any = registry.get("learner", learner.name).implementation
    if not (isinstance(kind, type) and issubclass(kind, Learner)):
        return
    for named in (named for arm in arms for named in arm.treatments):
        with placed("treatments"):
            treatment = cast(type[Treatment], registry.get("treatment", named.name).implementation)
            check_compatible(kind, learner.name, treatment, named.name, task)


def check_precision(learner: Named, options: TrainingOptions) -> None:
    """Refuse a precision in which the learner does not compute."""
    kind: Any = registry.get("learner", learner.name).implementation
    if options.precision not in kind.precisions:
        able = [entry.name for entry in registry.entries("learner")
                if options.precision in getattr(entry.implementation, "precisions", ())]  # fmt: skip
        with placed("precision"):
            raise BadInput(
                f"precision is {options.precision!r}, in which the learner {learner.name!r} does not compute",
                available=listing(map(repr, kind.precisions)),
                help=f"learner = {listing(able)} takes it." if able else "choose another precision.",
            )


def seeds_of(requested: int | str | Sequence[int]) -> tuple[int, ...]:
    """Return the seeds: so many from 0 on, or those that are listed."""
    with placed("seeds"):
        seeds = (
            ()
            if isinstance(requested, bool)
            else tuple(range(requested))
            if isinstance(requested, int)
            else _listed(requested)
        )
        if not seeds or any(not isinstance(seed, int) or isinstance(seed, bool) or seed < 0 for seed in seeds):
            raise BadInput(
                f"seeds is {requested!r}", available="how many, such as 5, or a list of whole numbers from 0 on"
            )
        if len(set(seeds)) < len(seeds):
            raise BadInput(f"seeds names one twice: {listing(seeds)}", help="repeats = 2 runs every seed twice.")
        return seeds


def _listed(value: Any) -> tuple[Any, ...]:
    """Return a list as it is; nothing of what is not one."""
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else ()


def training_options_of(rounding: str, precision: str, device: str, selection: str | Sequence[str]) -> TrainingOptions:
    """Check how trials are trained."""
    selections = (selection,) if isinstance(selection, str) else tuple(selection)
    for name, value, options in (
        ("rounding", rounding, get_args(Rounding)), ("precision", precision, get_args(Precision)),
        ("device", device, DEVICES), *(("selection", selection, get_args(Selection)) for selection in selections),
    ):  # fmt: skip
        if value not in options:
            with placed(name):
                raise unknown_name(name, str(value), options, "a study")
    if not selections or len(set(selections)) < len(selections):
        with placed("selection"):
            raise BadInput(f"selection is {list(selections)!r}", available="dto, performance, last, each once at most")
    return TrainingOptions(rounding, precision, device, selections)


def performance_of(performance: str | None, task: Task) -> Performance | None:
    """Check what performance is; None where the classes of the training rows are to say."""
    with placed("performance"):
        return None if performance is None else check_performance(performance, task)


def fairness_of(fairness: str, task: Task) -> Fairness:
    """Check what fairness is."""
    with placed("fairness"):
        return check_fairness(fairness, task)


def check_scores(performance: Performance | None, learners: Sequence[Learning]) -> None:
    """Refuse AUC where a learner gives no scores; what learners name is imported for that."""
    if not needs_scores(performance):
        return
    for learner in learners:
        kind: Any = registry.get("learner", learner.named.name).implementation
        if not kind.gives_scores(learner.values):
            with placed("performance"):
                raise no_scores()


def baseline_of(baseline: str | None, arms: Sequence[Arm]) -> str:
    """Return the treatment that others are compared with: the one named, untreated, or the first."""
    names = list(dict.fromkeys(arm.name for arm in arms))
    if baseline is None:
        return "untreated" if "untreated" in names else names[0]
    if baseline not in names:
        with placed("baseline"):
            raise unknown_name("treatment", str(baseline), names, "this study")
    return baseline


def measures_of(measures: str | Sequence[str]) -> tuple[str, ...]:
    """Check that the measures are there."""
    measures = (measures,) if isinstance(measures, str) else measures
    for index, name in enumerate(measures):
        if name != BALANCED_ACCURACY:
            with placed("measures", index):
                registry.get("measure", name)
    return tuple(measures)


def choice_of(choose_by: str) -> str:
    """Check what a treatment's setting is chosen by where trials embed rows."""
    if choose_by not in get_args(ChooseBy):
        with placed("choose_by"):
            raise unknown_name(
                "measure", str(choose_by), get_args(ChooseBy), "the choice of a setting by its worst group"
            )
    return choose_by


def check_favourable(cohort: Cohort) -> None:
    """Refuse a favourable class that nobody has: every rate would speak of another."""
    if cohort.favourable is None or cohort.task != "class":
        return
    classes = [label_text(label) for label in factorise(cohort[cohort.target]).labels if label is not None]
    if cohort.favourable not in classes:
        with placed("cohort", "favourable"):
            raise unknown_name("class", cohort.favourable, classes, f"the target {cohort.target!r}")


def positive_integer(value: Any, name: str) -> int:
    """Check a whole number of at least 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        with placed(name):
            raise BadInput(f"{name} is {value!r}", available="a whole number of at least 1")
    return value


def _sequence(value: Any, what: str) -> Sequence[Any]:
    """Take one thing for a list of one."""
    single = isinstance(value, str | Mapping) or not isinstance(value, Sequence)
    values = [value] if single else list(value)
    if not values:
        with placed(what):
            raise BadInput(f"There are no {what}", available="at least one")
    return values


def effect_of(value: Any, name: str) -> float:
    """Return an effect or a margin: a number above 0, in the unit of the measures (0.02 is 2 points)."""
    with placed(name):
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not 0 < value < 1:
            raise BadInput(
                f"{name} is {value!r}", available="a number above 0 and below 1, in the unit of the measures",
                help=f"{name} = 0.02 is 2 points.",
            )  # fmt: skip
        return float(value)


ALL = "all"


def against_of(against: str | Sequence[str], arms: Sequence[Arm]) -> tuple[str, ...]:
    """Return the treatments that others are compared with besides the baseline; "all" is every pair of them."""
    with placed("against"):
        names = (against,) if isinstance(against, str) else tuple(against)
        known_names = list(dict.fromkeys(arm.name for arm in arms))
        for name in names:
            if name != ALL and name not in known_names:
                raise unknown_name("treatment", name, [*known_names, ALL], "this study, to compare others with")
        return names


@dataclass(frozen=True)
class Stack:
    """Trials that train together, by their place in the plan's order of stacks and the cell they belong to."""

    number: int
    cell: int
    trials: tuple[Trial, ...]

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its trials, in order."""
        return tuple(trial.key for trial in self.trials)


def cells_of(trials: Sequence[Trial], *, searched: bool = False) -> list[tuple[Trial, ...]]:
    """Group trials by cell, in the order in which the plan names them.

    Those of a search that are ``searched`` may differ in what scales of the learner too, and train together.
    """
    cells: dict[str, list[Trial]] = {}
    for trial in trials:
        cells.setdefault(cell_kind(trial, searched=searched), []).append(trial)
    return [tuple(cell) for cell in cells.values()]


def cell_kind(trial: Trial, *, searched: bool = False) -> str:
    """Say what the trials of a cell have in common."""
    return canonical(
        {
            "condition": [trial.condition.name, trial.condition.version, trial.condition.settings],
            "size": trial.size,
            "learner": _scaled_alike(trial.learner) if searched else _whole(trial.learner),
            "treatments": [kind_of(named) for named in trial.treatments],
            "how": [trial.rounding, trial.precision, trial.device, trial.selection],
            "choice": [trial.performance, trial.fairness, trial.choice],
        }
    )


def _whole(named: Named) -> list[Any]:
    return [named.name, named.version, named.settings]


def _scaled_alike(learner: Named) -> list[Any]:
    """Return a learner without the numbers that trials of one stack may differ in."""
    kind: Any = registry.get("learner", learner.name).implementation
    fixed = {name: value for name, value in learner.settings.items() if not may_differ(kind.parameters.get(name))}
    return [learner.name, learner.version, fixed]


def stacked(
    cells: Sequence[Sequence[Trial]], largest: Callable[[Sequence[Trial]], int], *, looks: Sequence[int] = ()
) -> tuple[Stack, ...]:
    """Cut cells into stacks of at most ``largest(cell)`` trainings, and let the cells take turns.

    No stack reaches over one of the ``looks``, numbers of seeds after which a study may end.
    """
    parts = [
        (turn, index, part)
        for index, cell in enumerate(cells)
        for turn, part in enumerate(
            part for batch in _batches(cell, looks) for part in _parts(batch, max(largest(batch), 1))
        )
    ]
    parts.sort(key=lambda part: part[:2])
    return tuple(Stack(number, cell, tuple(part)) for number, (_, cell, part) in enumerate(parts))


def _batches(cell: Sequence[Trial], looks: Sequence[int]) -> list[list[Trial]]:
    """Return the trials of a cell from one look to the next."""
    if not looks:
        return [list(cell)]
    bounds = [0, *looks]
    batches = [[trial for trial in cell if first <= trial.seed < end] for first, end in itertools.pairwise(bounds)]
    return [batch for batch in batches if batch]


def trainings_of(cell: Sequence[Trial]) -> list[tuple[Trial, ...]]:
    """Group the trials of a cell by training, in order: those of one training differ in their readouts alone."""
    trainings: dict[tuple[int, int, str], list[Trial]] = {}
    for trial in cell:
        numbers = canonical([trial.learner.settings, *(unread(named).settings for named in trial.treatments)])
        trainings.setdefault((trial.seed, trial.repeat, numbers), []).append(trial)
    return [tuple(training) for training in trainings.values()]


def _parts(cell: Sequence[Trial], largest: int) -> list[list[Trial]]:
    """Cut into as few parts as there can be, whose sizes in trainings differ by one at most."""
    trainings = trainings_of(cell)
    number = -(-len(trainings) // largest)
    edges = [len(trainings) * part // number for part in range(number + 1)]
    return [
        [trial for training in trainings[start:stop] for trial in training] for start, stop in itertools.pairwise(edges)
    ]


# How many values of a field a sentence names.
MOST_NAMED = 3


@dataclass(frozen=True)
class FieldChange:
    """A part of trials that has other values in the store than in the plan: ``old`` there alone, ``new`` here alone."""

    field: str
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def words(self) -> str:
        """Say it: size 1,927 -> 2,840."""
        if self.old and self.new:
            return f"{self.field} {listing(self.old, MOST_NAMED)} -> {listing(self.new, MOST_NAMED)}"
        named = listing(self.old or self.new, MOST_NAMED)
        return f"{self.field} {named} {'no longer in the plan' if self.old else 'new in the plan'}"


@dataclass(frozen=True)
class PlanChange:
    """So many trials that were done under a plan's name are ``stored``, so many of them are ``fitting`` the plan.

    ``missing`` trials of the plan are not done, and ``changes`` say in which fields these and those that do not fit
    differ.
    """

    stored: int
    fitting: int
    missing: int
    changes: tuple[FieldChange, ...] = ()

    @property
    def matters(self) -> bool:
        """Whether trials are kept that the plan cannot use while it lacks others."""
        return self.fitting < self.stored and self.missing > 0

    @property
    def words(self) -> str:
        """Say how many stored trials fit and what differs; nothing where no trial is out of use."""
        if not self.matters:
            return ""
        why = "; ".join(change.words for change in self.changes)
        return (
            f"The plan has changed: {self.fitting:,} of {self.stored:,} stored trials fit this plan"
            + (f": {why}" if why else "")
            + f". {self.missing:,} trials will be trained; those that do not fit are kept."
        )


def plan_change(stored: Sequence[Trial], planned: Sequence[Trial]) -> PlanChange:
    """Compare done trials of a plan's name with the trials that the plan has now.

    Where a field has no value in common on both sides, no trial can fit, and only such fields are named.
    """
    stored_by_key, planned_by_key = {trial.key: trial for trial in stored}, {trial.key: trial for trial in planned}
    unused = [trial for key, trial in stored_by_key.items() if key not in planned_by_key]
    missing = [trial for key, trial in planned_by_key.items() if key not in stored_by_key]
    changes, disjoint = [], []
    if unused and missing:
        for name, read in _READ.items():
            old, new = _values(unused, read), _values(missing, read)
            if old != new:
                parted = (tuple(value for value in old if value not in new),
                          tuple(value for value in new if value not in old))  # fmt: skip
                change = FieldChange(name, *parted)
                changes.append(change)
                if not set(old) & set(new):
                    disjoint.append(change)
    named = [
        _learner_change(unused, missing, field_change) if field_change.field == "learner" else field_change
        for field_change in disjoint or changes
    ]
    return PlanChange(len(stored_by_key), len(stored_by_key) - len(unused), len(missing), tuple(named))


def _values(trials: Iterable[Trial], read: Callable[[Trial], str]) -> list[str]:
    return list(dict.fromkeys(read(trial) for trial in trials))


def _learner_change(unused: Sequence[Trial], missing: Sequence[Trial], change: FieldChange) -> FieldChange:
    """Name the settings in which one learner differs from the other, rather than all that both have."""
    old, new = ({_versioned([trial.learner]): trial.learner for trial in trials} for trials in (unused, missing))
    if len(old) > 1 or len(new) > 1:
        return change
    (before,), (after,) = old.values(), new.values()
    if before.name != after.name:
        return FieldChange("learner", (before.name,), (after.name,))
    if before.version != after.version:
        return FieldChange(f"version of the learner {before.name}", (str(before.version),), (str(after.version),))
    differ = [name for name in {**before.settings, **after.settings} if _of(before, name) != _of(after, name)]
    return FieldChange(
        f"learner {before.name},",
        (", ".join(f"{name}={_of(before, name)}" for name in differ),),
        (", ".join(f"{name}={_of(after, name)}" for name in differ),),
    )


def _of(named: Named, setting: str) -> str:
    return str(named.settings[setting]) if setting in named.settings else "not given"


def _versioned(named: Iterable[Named]) -> str:
    # Settings that were stored come back in the order of their names.
    ordered = [replace(treatment, settings=dict(sorted(treatment.settings.items()))) for treatment in named]
    return " + ".join(
        f"{treatment}{f' version {treatment.version}' if treatment.version > 1 else ''}" for treatment in ordered
    )


# How the parts of a trial are called, and read.
_READ: Mapping[str, Callable[[Trial], str]] = {
    "data, features or splits (fingerprint)": lambda trial: trial.cohort[:15],
    "group": lambda trial: " x ".join(trial.groups),
    "size": lambda trial: f"{trial.size:,}",
    "condition": lambda trial: condition_text(trial.condition),
    "learner": lambda trial: _versioned([trial.learner]),
    "treatment": lambda trial: _versioned(trial.treatments),
    "seed": lambda trial: str(trial.seed),
    "repeat": lambda trial: str(trial.repeat),
    "rounding": lambda trial: trial.rounding,
    "precision": lambda trial: trial.precision,
    "device": lambda trial: trial.device,
    "selection": lambda trial: trial.selection,
    "performance": lambda trial: trial.performance or "not named",
    "fairness": lambda trial: trial.fairness or "not named",
    "how epochs are chosen, version": lambda trial: str(trial.choice),
}
assert len(_READ) == len(fields(Trial)), "every part of a trial's identity is compared"


def check_no_function_options(version: int | None, hyper: Mapping[str, Any] | None, needs_group: bool) -> None:
    """Refuse what only a function of one's own has a use for."""
    for name, value in (("version", version), ("hyper", hyper), ("needs_group_at_prediction", needs_group)):
        if value:
            raise BadInput(f"{name} was given without train", help="it is for your own training function.")
