"""Study: treatments on trial under controlled data conditions, over identical runs. The door from Python."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from equipoise.cohorts import Cohort, Task
from equipoise.foundation import BadInput
from equipoise.measures import (
    Fairness,
    Performance,
    PerformanceReason,
    class_skew,
    default_performance,
)
from equipoise.studies.analysis import SMALLEST_EFFECT
from equipoise.studies.plans import (
    CHOICE,
    OWN_FUNCTION,
    Drawing,
    Function,
    Named,
    SearchedArm,
    Stack,
    Trial,
    _design,
    cells_of,
    check_function_study,
    check_no_function_options,
    check_seeds,
    data_fingerprint,
    expanded,
    function_baseline_of,
    functions_of,
    hyper_of,
    make_treatment,
    named_functions,
    placed,
    search_of,
    searched_arms,
    stacked,
    stopping_of,
    trained_fingerprint,
    trainings_of,
    with_splits,
)
from equipoise.studies.running import OwnWork, Work, draw_named, named_key, settings_of, visible_cohort
from equipoise.studies.storage import EvaluationLabels, evaluation_labels
from equipoise.training import Codes, EncodedDataset, encode_dataset, needs_scores

if TYPE_CHECKING:
    from equipoise.foundation import Progress
    from equipoise.studies._checking import Check
    from equipoise.studies._diagnosing import Diagnosis
    from equipoise.studies._refitting import Refit
    from equipoise.studies.findings import ReadingOptions, StudyResult
    from equipoise.studies.plans import ConditionEntry, LearnerEntry, TreatmentEntry
    from equipoise.studies.running import Watcher
    from equipoise.studies.storage import Status

STORE = "study.db"


class Study:
    """Every combination of conditions, learners, treatments, seeds and repeats is a trial, trained once and kept.

    ``conditions``, ``treatments`` and ``learner`` are names, or mappings with a name and settings in which a list
    stands for several; a list of names is treatments that compose, or several learners. ``train`` is a function of
    one's own (or several) in place of learner and treatments: see ``equipoise.studies.running._own_function``. ``dev``
    and ``test`` are shares of the training rows where the cohort lacks these splits.

    ``performance`` and ``fairness`` are what epochs and treatments are chosen by (``PERFORMANCES`` and
    ``FAIRNESSES`` of ``equipoise.measures``):
    accuracy, balanced_accuracy, auc or f1 (pearson or r2 of a regression), and GAP, DP, EO, EOTP or worst_group.
    Without a performance it is accuracy, or balanced accuracy where the largest class of the original training rows is
    more than four times the smallest.

    ``smallest_effect`` is the change that is worth detecting: an inconclusive comparison says what would detect it.
    ``equivalence_margin`` is how far a change may go and still be irrelevant; the store records it before results are
    read. ``against`` names treatments that every other one is compared with besides the baseline, or "all".

    ``seeds = "auto"`` adds paired seeds until each comparison of performance, fairness and their distance to the
    optimum is decided (different, or within the margin), is limited by test people, or 20 seeds are spent.
    ``stopping`` says how: ``rule`` ("looks" or "anytime"), ``looks`` ([5, 10, 15, 20]) and, with anytime,
    ``seeds_share``.

    ``search`` is a table such as ``{"trials": 20}``: before the trials that give the verdicts, so many settings of
    every arm are tried, the control's too, by seeds that no verdict has (``equipoise.studies.plans.Search``).
    """

    def __init__(
        self,
        cohort: Cohort,
        *,
        conditions: ConditionEntry | Sequence[ConditionEntry] = ("as_given",),
        treatments: TreatmentEntry | Sequence[TreatmentEntry] = ("untreated",),
        learner: LearnerEntry | Sequence[LearnerEntry] = "mlp",
        train: Function | Sequence[Function] | None = None,
        version: int | None = None,
        hyper: Mapping[str, Any] | None = None,
        needs_group_at_prediction: bool = False,
        group: str | Sequence[str] | None = None,
        seeds: int | Sequence[int] | Literal["auto"] = 5,
        stopping: Mapping[str, Any] | None = None,
        repeats: int = 1,
        size: int | None = None,
        rounding: str = "native",
        precision: str = "float32",
        device: str = "cpu",
        selection: str | Sequence[str] = "dto",
        performance: str | None = None,
        fairness: str = "GAP",
        stack: int | None = None,
        dev: float | None = None,
        test: float | None = None,
        split_seed: int = 0,
        split_within: Literal["class"] | None = None,
        measures: Sequence[str] = (),
        baseline: str | None = None,
        choose_by: str = "recall@1",
        smallest_effect: float = SMALLEST_EFFECT,
        equivalence_margin: float | None = None,
        against: str | Sequence[str] = (),
        search: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(cohort, Cohort):
            raise BadInput(
                f"The cohort is {cohort!r}", available="a cohort",
                help='equipoise.load("adult"), or equipoise.Cohort.from_frame(...).',
            )  # fmt: skip
        _design.check_favourable(cohort)
        self.name = name or cohort.name
        self.original = cohort
        with placed("cohort"):
            self.cohort = with_splits(cohort, dev=dev, test=test, seed=split_seed, within=split_within)
        self.groups = _design.groups_of(cohort, group)
        self.conditions = _design.conditions_of(conditions)
        self.training_options = _design.training_options_of(rounding, precision, device, selection)
        self._task: Task = cohort.task
        self._performance = _design.performance_of(performance, self._task)
        self.fairness: Fairness = _design.fairness_of(fairness, self._task)
        self.stopping = stopping_of(seeds, stopping)
        self.seeds = _design.seeds_of(self.stopping.most if self.stopping is not None else seeds)
        self.repeats = _design.positive_integer(repeats, "repeats")
        self.size = None if size is None else _design.positive_integer(size, "size")
        self.stack = None if stack is None else _design.positive_integer(stack, "stack")
        self.functions = () if train is None else functions_of(train, version)
        # Whether each setting is a treatment of its own, and none is chosen to speak for the others.
        self.every_setting = False
        if self.functions:
            check_function_study(treatments, learner, rounding)
            if cohort.task == "multilabel":
                raise BadInput(
                    f"The cohort {cohort.name!r} has several labels a row, and a training function returns one class",
                    available="a learner of several labels: mlp, module, image_network or scikit_learn",
                )
            # A single score a row is that of the favourable class, so it is part of what a function means.
            settings: dict[str, Any] = {
                "needs_group_at_prediction": needs_group_at_prediction, "favourable": cohort.favourable,
            }  # fmt: skip
            self.learners = [_design.Learning(Named(OWN_FUNCTION, 1, settings), settings)]
            named = named_functions(self.functions, expanded(hyper_of(hyper)))
            self.arms = [_design.Arm((learning,)) for learning in named]
            function_baseline, self.every_setting = function_baseline_of(baseline, self.functions, named)
            self.baseline = (
                function_baseline
                if self.every_setting and function_baseline is not None
                else _design.baseline_of(function_baseline, self.arms)
            )
        else:
            check_no_function_options(version, hyper, needs_group_at_prediction)
            self.learners = _design.learners_of(learner, cohort.task)
            self.arms = _design.arms_of(treatments)
            for learning in self.learners:
                _design.check_treatments(learning.named, self.arms, cohort.task)
                _design.check_precision(learning.named, self.training_options)
            self.arms = _design.acting_arms(self.arms, self.learners)
            self.baseline = _design.baseline_of(baseline, self.arms)
        self.measures, self.choose_by = _design.measures_of(measures), _design.choice_of(choose_by)
        self.smallest_effect = _design.effect_of(smallest_effect, "smallest_effect")
        self.equivalence_margin = (
            None if equivalence_margin is None else _design.effect_of(equivalence_margin, "equivalence_margin")
        )
        self.against = _design.against_of(against, self.arms)
        self.search = search_of(search)
        # What is searched, by the places of learner and arm.
        self.searched_arms: dict[tuple[int, int], SearchedArm] = {}
        if self.search is not None:
            if self.functions:
                with placed("search"):
                    raise BadInput(
                        "A search was given with a training function of your own, whose hyper-parameters declare no "
                        "ranges",
                        help="leave search out, and give several values: hyper={'rate': [0.1, 0.01]}.",
                    )
            check_seeds(self.seeds)
            self.searched_arms = searched_arms(self.search, self.learners, self.arms, learner, treatments, cohort.task)

    @cached_property
    def fingerprint(self) -> str:
        """What names the data that trials are trained and judged on."""
        return trained_fingerprint(self.cohort)

    @cached_property
    def dataset(self) -> EncodedDataset:
        """What trials may see: encoded once for all of them. A function of one's own gets columns instead."""
        # The labels are all that is taken from the rows where a function of one's own reads the features itself.
        cohort = replace(self.cohort, features=self.groups[:1]) if self.functions else self.cohort
        with placed("cohort"):
            return encode_dataset(cohort, self.groups, groups_at_prediction=self._needs_groups())

    def _needs_groups(self) -> bool:
        """Tell whether a treatment needs the groups of test rows; which, depends on how it is made."""
        treatments = () if self.functions else (named for arm in self.arms for named in arm.treatments)
        return any(make_treatment(named).needs_group_at_prediction for named in treatments)

    @property
    def performance(self) -> Performance:
        """What performance is in this study: as given, or by how skewed the original training classes are."""
        return self._performance_and_reason[0]

    @property
    def performance_reason(self) -> PerformanceReason:
        """Why performance is what it is."""
        return self._performance_and_reason[1]

    @cached_property
    def class_skew(self) -> float:
        """How many times the training rows of the smallest class the largest has, before any condition."""
        return class_skew(self._class_rows)

    @cached_property
    def _performance_and_reason(self) -> tuple[Performance, PerformanceReason]:
        if self._performance is not None:
            return self._performance, PerformanceReason.GIVEN
        return default_performance(self._task, self._class_rows)

    @cached_property
    def _class_rows(self) -> Codes:
        target = self.dataset.train.target
        if self._task != "class" or target is None:
            return np.zeros(0, dtype=np.int64)
        return np.bincount(target[target >= 0], minlength=len(self.dataset.classes))

    @cached_property
    def drawing(self) -> Drawing:
        """The training rows of every condition."""
        return Drawing(self.dataset, [condition for _, condition in self.conditions], self.size)

    @cached_property
    def equal_conditions(self) -> dict[int, tuple[int, ...]]:
        """The conditions that are trained, by place, and with each the later ones that draw the very same rows.

        CB and JB at alpha 0 are the data as they are, both of them: they are trained once, and counted once.
        """
        later_by_first: dict[int, tuple[int, ...]] = {}
        for index, first in enumerate(self.drawing.first_equal(self.seeds)):
            later_by_first[first] = (*later_by_first[first], index) if first in later_by_first else ()
        return later_by_first

    @cached_property
    def labels(self) -> EvaluationLabels:
        """What dev and test rows truly are, for counting; no training sees it."""
        with placed("cohort"):
            return evaluation_labels(
                self.cohort,
                fingerprint=self.fingerprint,
                classes=self.dataset.labels or self.dataset.classes,
                needed=self.groups,
            )

    def trials(self) -> tuple[Trial, ...]:
        """Return every trial of the study, in the order of the plan; repeats of one seed stand side by side."""
        return self._trials

    def trial(
        self, condition: Named, learner: Named, treatments: tuple[Named, ...], seed: int, repeat: int, selection: str
    ) -> Trial:
        """Return one trial on the study's data, trained and read as the study says."""
        # A function of one's own chooses for itself.
        choice: dict[str, Any] = {"performance": self.performance, "fairness": self.fairness, "choice": CHOICE}
        return Trial(
            cohort=self.fingerprint,
            groups=self.groups,
            condition=condition,
            size=self.drawing.size,
            learner=learner,
            treatments=treatments,
            seed=seed,
            repeat=repeat,
            rounding=self.training_options.rounding,
            precision=self.training_options.precision,
            device=self.training_options.device,
            selection=selection,
            **({} if self.functions else choice),
        )

    @cached_property
    def _trials(self) -> tuple[Trial, ...]:
        if self.search is not None:
            raise BadInput(
                f"The settings of the study {self.name!r} are searched, and its store decides which trials it has",
                help="equipoise study run PLAN searches and goes on (in Python: run(store)); searched(store) is the "
                "study with the settings that a store's search has chosen.",
            )
        return tuple(
            self.trial(condition, learning.named, arm.treatments, seed, repeat, selection)
            for selection in self.training_options.selections
            for condition in (self.conditions[place][0] for place in self.equal_conditions)
            for learning in self.learners
            for arm in self.arms
            for seed in self.seeds
            for repeat in range(self.repeats)
        )

    def of_trials(self, trials: Sequence[Trial], learners: Sequence[_design.Learning], **changes: Any) -> Study:
        """Return a study on the same data that has exactly these trials, and nothing to search."""
        # What takes long is done once for all of them.
        shared = (self.dataset, self.fingerprint, self.labels, self.equal_conditions, self.performance)
        assert shared
        study = copy.copy(self)
        for name in ("_trials", "plan_key", "work"):
            study.__dict__.pop(name, None)
        study.__dict__.update(changes, learners=list(learners), _trials=tuple(trials), search=None)
        return study

    def searched(self, store: str | os.PathLike[str] = STORE) -> Study:
        """Return the study with the settings that its search has chosen in a store; itself where it searches nothing.

        A search that is not done yet is refused.
        """
        from equipoise.studies._searching import searched

        return searched(self, store)

    @property
    def has_search(self) -> bool:
        """Whether the plan has a search, whose settings may be chosen already."""
        return bool(self.searched_arms)

    def cells(self) -> list[tuple[Trial, ...]]:
        """Return the trials by cell; a cell trains together."""
        return cells_of(self.trials(), searched=self.has_search)

    @cached_property
    def plan_key(self) -> str:
        """What a store knows this plan by: its name and a digest of its trials."""
        from equipoise.studies.storage import plan_key

        return plan_key(self.name, (trial.key for trial in self.trials()))

    @property
    def earlier_performance(self) -> Literal["accuracy", "pearson"]:
        """What performance was in earlier versions, which had no other."""
        return "pearson" if self._task == "regression" else "accuracy"

    @property
    def chooses_as_earlier(self) -> bool:
        """Whether performance and fairness are those that earlier versions chose by."""
        return (self.performance, self.fairness) == (self.earlier_performance, "GAP")

    def earlier_keys(self) -> list[str]:
        """Return the keys that earlier versions gave the trials of this plan, in which controls were not added."""
        added = [arm.treatments for arm in self.arms if arm.added]
        return [trial.as_earlier().key for trial in self.trials() if trial.treatments not in added]

    def stacks(self) -> tuple[Stack, ...]:
        """Return which trials train together, as the plan fixes it."""
        return self.work.stacks

    @cached_property
    def work(self) -> Work:
        """Return everything that training needs; what the plan names is imported now, and not before."""
        if not self.functions:
            _design.verify_learners(self.learners)
            _design.check_scores(self._performance, self.learners)
        draws, undrawn, partitions = self._draws()
        about: dict[str, Any] = {"cohort": self.original.name, "data": data_fingerprint(self.original)}
        sources = {function.name: function.source for function in self.functions if function.source is not None}
        about |= {"sources": sources} if sources else {}
        if self.functions:
            # A function trains one trial at a time; a stack of several is recorded together.
            stacks = stacked(cells_of(self.trials()), lambda cell: self.stack or 1, looks=self._looks)
            needs = bool(self.learners[0].values["needs_group_at_prediction"])
            return OwnWork(
                self.dataset, stacks, draws, undrawn=undrawn, about=about,
                cohort=visible_cohort(self.cohort, with_test_groups=needs),
                functions={function.name: function for function in self.functions}, favourable=self.cohort.favourable,
                scored=needs_scores(self._performance),
            )  # fmt: skip
        learners = {named_key(learner.named): learner.values for learner in self.learners}
        if sources := _design.sources_of(self.learners):
            about["sources"] = sources
        work = Work(self.dataset, (), draws, undrawn=undrawn, learners=learners, about=about, partitions=partitions)
        return replace(work, stacks=stacked(self.cells(), lambda cell: self._stack_size(work, cell), looks=self._looks))

    @property
    def _looks(self) -> tuple[int, ...]:
        return () if self.stopping is None else self.stopping.looks

    def _draws(self) -> tuple[dict[str, Codes], dict[str, str], dict[str, Codes]]:
        """Draw the rows of every condition and seed; where that cannot be done the trials fail with the reason.

        Where a condition parts classes, the last has the part of every class, as a code.
        """
        draws: dict[str, Codes] = {}
        partitions: dict[str, Codes] = {}
        undrawn: dict[str, str] = {}
        for index in self.equal_conditions:
            named, condition = self.conditions[index]
            for seed in self.seeds:
                key = draw_named(named, self.drawing.size, seed)
                try:
                    draws[key] = self.drawing.rows(index, seed)
                    sides = self.drawing.partition(index, seed)
                    if sides is not None:
                        partitions[key] = np.array([sorted(set(sides)).index(side) for side in sides], dtype=np.int64)
                except BadInput as error:
                    undrawn[key] = f"The condition {condition} cannot be drawn. {error}"
        return draws, undrawn, partitions

    def _stack_size(self, work: Work, cell: Sequence[Trial]) -> int:
        from equipoise.training import stack_size

        trainable = [trial for trial in cell if work.can_train(trial)]
        if self.stack is not None or not trainable:
            return self.stack or len(cell)
        jobs = work.jobs(trainable[:1]) * len(trainings_of(trainable))
        return stack_size(trainable[0].learner, self.dataset, jobs, settings_of(trainable[0]))

    def check(
        self, store: str | os.PathLike[str] | None = None, *, pilot: str | os.PathLike[str] | None = None
    ) -> Check:
        """Say how large it is, what it can decide, what conditions ask of the data, how long it takes; train nothing.

        ``pilot`` is the JSON of an earlier study's report, whose spreads tell whether this one can decide.
        """
        from equipoise.studies._checking import check

        return check(self, store, pilot=pilot)

    def run(
        self,
        store: str | os.PathLike[str] = STORE,
        *,
        workers: int = 1,
        to: str | os.PathLike[str] | None = None,
        artefacts: str | os.PathLike[str] | None = None,
        watcher: Watcher | None = None,
        keep_models: bool = False,
    ) -> StudyResult | None:
        """Train what is not trained yet, keep it in a store, and return the result.

        With ``to`` every trial becomes a file in that folder instead, for ``equipoise study merge``, and nothing is
        returned. ``artefacts`` is the folder for predictions that are too large for the store, by default beside it.
        ``keep_models`` keeps the weights of small networks in the store: ``refit`` then trains nothing.
        """
        from equipoise.studies._growing import check_fixed_seeds
        from equipoise.studies._searching import run_study

        if to is not None:
            from equipoise.studies.running import run_to_folder

            check_fixed_seeds(self, "run --to")
            run_to_folder(self.work, to, watcher=watcher)
            return None
        run_study(self, store, workers=workers, watcher=watcher, artefacts=artefacts, keep_models=keep_models)
        return self.result(store, artefacts=artefacts)

    def refit(
        self,
        treatment: str,
        to: str | os.PathLike[str],
        store: str | os.PathLike[str] = STORE,
        *,
        condition: str | None = None,
        learner: str | None = None,
        selection: str | None = None,
        seed: int | None = None,
        rounding: str | None = None,
        artefacts: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        command: Iterable[str] | None = None,
    ) -> Refit:
        """Train one cell again, compare it with what the store holds, and save the model with its audit.

        Parameters
        ----------
        treatment : str
            The treatment by name or alias, with settings where it has several: ``"adversarial(strength=1)"``.
        to : path
            A new folder, for ``equipoise.load_model``.
        store : path or URL
            The store of the study.
        condition, learner, selection : str, optional
            Which of several, as ``equipoise study status`` names them.
        seed : int, optional
            One of the plan's seeds; by default the first.
        rounding : str, optional
            Another rounding than the plan's, such as "deterministic".
        artefacts : path, optional
            Predictions too large for the store; by default beside it.
        progress : callable, optional
            Is told the stage and the share of the work that is done.
        command : iterable of str, optional
            The command that asked for it, for provenance.

        Returns
        -------
        Refit
        """
        from equipoise.studies._refitting import refit

        return refit(
            self.searched(store), store, treatment=treatment, to=to, condition=condition, learner=learner,
            selection=selection, seed=seed, rounding=rounding, artefacts=artefacts, progress=progress, command=command,
        )  # fmt: skip

    def diagnose(self, steps: int = 200) -> Diagnosis:
        """Run the first trial twice, step by step, and say where the two runs first differ; nothing is recorded."""
        from equipoise.studies._diagnosing import diagnose

        return diagnose(self, steps)

    def status(self, store: str | os.PathLike[str] = STORE) -> Status:
        """Count the trials of this plan by cell and state, its search's too; those the store does not have wait."""
        from equipoise.studies._checking import study_status

        return study_status(self, store)

    def result(self, store: str | os.PathLike[str] = STORE, **options: Unpack[ReadingOptions]) -> StudyResult:
        """Read what is done so far; the options are those of ``equipoise study report``."""
        from equipoise.studies._searching import read_result

        return read_result(self, store, **options)

    def report(self, path: str | os.PathLike[str], store: str | os.PathLike[str] = STORE) -> None:
        """Write what is done so far as one HTML page."""
        self.result(store).report(path)

    def __repr__(self) -> str:
        return (
            f"Study({self.name!r}, conditions={len(self.conditions)}, treatments={len(self.arms)}, "
            f"seeds={len(self.seeds)}, repeats={self.repeats})"
        )
