"""The loop of a study: lease a stack, train it, record it in one transaction; until nothing is left to do."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    listing,
)
from equipoise.studies.plans import (
    LearnerTexts,
    PlanChange,
    Recorded,
    Stack,
    Trial,
    condition_text,
    plan_change,
    trainings_of,
)
from equipoise.studies.running._environment import check_device, environment, is_dead, new_owner
from equipoise.studies.running._progress import Watcher, Within, standing
from equipoise.studies.running._work import Work, recorded
from equipoise.studies.running._worker_process import refuse_within_a_worker
from equipoise.training import Progress, is_deterministic

if TYPE_CHECKING:
    from equipoise.studies._study import Study
    from equipoise.studies.storage import EvaluationLabels, Store


# How long a lease runs without a sign of life, in seconds, how often there is one, and how long to wait for others and
# before the trials are counted again for who watches.
LEASE, BEAT, PAUSE = 60.0, 10.0, 0.5
SEPARATE_STACKS = (
    "Other readouts of this training were recorded before. The network used here was trained again, and may "
    "have rounded differently."
)


def run_in_store(
    study: Study,
    where: str | os.PathLike[str],
    *,
    workers: int = 1,
    watcher: Watcher | None = None,
    retry_failed: bool = False,
    artefacts: str | os.PathLike[str] | None = None,
    checkpoints: str | os.PathLike[str] | None = None,
    on_change: Callable[[PlanChange], None] | None = None,
    keep_models: bool = False,
    stages: Callable[[Store], Iterator[Sequence[Stack]]] | None = None,
) -> None:
    """Train every trial of a study that its store has not, and record it there.

    ``artefacts`` is the folder for what is too large for the store, and ``checkpoints`` the one in which long trainings
    keep where they are; by default both are beside the store. ``on_change`` is told where trials that were done under
    the study's name do not fit it any more, before anything is trained; by default that is a warning. ``keep_models``
    keeps the weights of perceptrons that are trained now, up to 4 MiB each. ``stages`` yields the stacks to train, a
    stage after another, where what is trained next depends on what is done.
    """
    from equipoise.studies.storage import open_store, plan_key

    refuse_within_a_worker()
    if workers < 1:
        raise BadInput(f"workers is {workers}", available="a whole number of at least 1")
    check_device(study.work)
    with open_store(os.fspath(where), plan=study.plan_key, artefacts=artefacts) as store:
        change = change_of(study, store)
        enter(study, store)
        if change is not None:
            (on_change or _warn_of_change)(change)
        train_damaged_again(study, store)
        if retry_failed:
            store.forget_failed()
        free_dead(store)
        work = replace(study.work, checkpoints=checkpoints_of(store, checkpoints), keep_models=keep_models)
        if stages is None:
            _train_plan(study, work, store, os.fspath(where), study.plan_key, workers, watcher, artefacts)
            return
        for stacks in stages(store):
            key = plan_key(study.name, (trial.key for stack in stacks for trial in stack.trials))
            with open_store(os.fspath(where), plan=key, artefacts=artefacts) as stage:
                enter_stacks(study, stage, stacks)
                enter_stacks(study, store, study.stacks())  # who asks by the name alone is told of all of it
                part = replace(work, stacks=tuple(stacks))
                _train_plan(study, part, stage, os.fspath(where), key, workers, watcher, artefacts)


def _train_plan(
    study: Study, work: Work, store: Store, where: str, key: str, workers: int, watcher: Watcher | None,
    artefacts: str | os.PathLike[str] | None,
) -> None:  # fmt: skip
    """Train what is open of the plan of this key."""
    shared = workers > 1 and _is_importable(study)
    if shared:
        from equipoise.studies.running._workers import NotTransferable, StoreAccess, run_workers

        try:
            run_workers(work, study.labels, store, StoreAccess(where, key, artefacts), workers, watcher)
        except NotTransferable as error:
            warnings.warn(f"{error}. One worker runs here.", stacklevel=4)
            shared = False
    if not shared:
        work_through(work, study.labels, store, new_owner(), watcher=watcher)


def change_of(study: Study, store: Store) -> PlanChange | None:
    """Compare the trials that were done under a study's name with those that it has now; None where nothing is lost."""
    change = plan_change(store.done_under_name(study.name), study.trials())
    return change if change.matters else None


def _warn_of_change(change: PlanChange) -> None:
    warnings.warn(change.words, stacklevel=4)


def checkpoints_of(store: Store, folder: str | os.PathLike[str] | None = None) -> str | None:
    """Return the folder that was named, or the one beside a store that is a file."""
    if folder is not None:
        return os.fspath(folder)
    path = store.location.path
    return None if path is None else f"{path}.checkpoints"


def enter(study: Study, store: Store) -> int:
    """Make the study the store's plan; return how many trials are new. A cohort that changed is refused first."""
    check_same_data(study.work, store)
    warn_of_changed_sources(study.work, store)
    if study.equivalence_margin is not None:
        store.remember_margin(study.name, study.equivalence_margin)
    return enter_stacks(study, store, study.stacks())


def enter_stacks(study: Study, store: Store, stacks: Sequence[Stack]) -> int:
    """Make some stacks of a study the store's plan; return how many trials are new."""
    labels = cell_labels(study)
    return store.plan([(trial, stack.number, labels[stack.cell]) for stack in stacks for trial in stack.trials])


def cell_labels(study: Study) -> dict[int, str]:
    """Name the cells of a study; each name is there once."""
    # Not by the stacks: a status imports nothing that a plan names.
    firsts = {cell: trials[0] for cell, trials in enumerate(study.cells())}
    texts = LearnerTexts([learner.named for learner in study.learners], numbers=not study.has_search)
    several = len({texts[learner.named] for learner in study.learners}) > 1
    labels: dict[int, str] = {}
    for cell in sorted(firsts):
        trial = firsts[cell]
        parts = [condition_text(trial.condition), *([texts[trial.learner]] if several else []), trial.treatment]
        parts += [f"by {trial.selection}"] if len(study.training_options.selections) > 1 else []
        label = "; ".join(parts)
        labels[cell] = label if label not in labels.values() else f"{label} ({cell + 1})"
    return labels


def check_same_data(work: Work, store: Store) -> None:
    """Refuse a cohort whose data are not those that the store's trials of the same cohort were trained on."""
    name, data = work.about["cohort"], work.about["data"]
    others = {
        described.get("data") for described in store.environments().values() if described.get("cohort") == name
    } - {data}
    if others:
        raise BadInput(
            f"The data of the cohort {name!r} are not those of the trials in {store.location.name!r}: they have "
            f"changed (fingerprint {str(data)[:15]}, there {', '.join(sorted(str(other)[:15] for other in others))})",
            help="restore the earlier data, or keep trials of the new data in another store: --store "
            "NEW.db (store=). Nothing was changed.",
        )


def warn_of_changed_sources(work: Work, store: Store) -> None:
    """Warn where a function of the user's own has another text than when earlier trials of its version ran."""
    environments: list[dict[str, Any]] = list(store.environments().values())
    for name, source in work.about.get("sources", {}).items():
        earlier = {described["sources"][name] for described in environments if name in described.get("sources", {})}
        if earlier - {source}:
            warnings.warn(
                f"The source of {name} has changed since earlier trials of this version were trained; they are kept as "
                "they are. If it now trains something else, raise version=.",
                stacklevel=4,
            )


def train_damaged_again(study: Study, store: Store) -> None:
    """Let trials wait again that are damaged in the store, and say so."""
    damages = store.forget_damaged(study.trials(), study.labels)
    if damages:
        what = listing(dict.fromkeys(str(damage) for damage in damages.values()))
        warnings.warn(
            f"{len(damages):,} trials in {store.location.name!r} are damaged ({what}): they are trained again.",
            stacklevel=3,
        )


def free_dead(store: Store) -> None:
    """Take back what dead processes of this machine hold: nobody has to wait for their leases to run out.

    From a database that is away just now it is taken back another time.
    """
    from equipoise.studies.storage import Unreachable

    with contextlib.suppress(Unreachable):
        for owner in store.owners():
            if is_dead(owner):
                store.give_back(owner)


def _is_importable(study: Study) -> bool:
    """Tell whether other processes find the study's functions; one of a notebook or a script is only here."""
    inside = next((function.name for function in study.functions if not function.importable), None)
    if inside is not None:
        warnings.warn(
            f"{inside} is defined in a notebook, a script or a function, where other processes cannot find it: one "
            "worker runs here. Move it to a module to use several.",
            stacklevel=3,
        )
    return inside is None


def work_through(
    work: Work, truth: EvaluationLabels, store: Store, owner: str, *, watcher: Watcher | None = None, alive: Any = None
) -> None:
    """Lease, train and record until every trial has ended; what is held is given back, whatever happens.

    ``alive`` is asked between stacks whether to go on.
    """
    last_report = -PAUSE
    try:
        leased = store.lease(owner, LEASE)
        while alive is None or alive():
            if leased:
                with beating(store, owner):
                    ended = trained(work, leased, _progress(store, watcher))
                    _, leased = store.record_and_lease(owner, ended, truth, LEASE)
                if watcher is not None and time.monotonic() >= last_report + PAUSE:
                    watcher(standing(store.status()))
                    last_report = time.monotonic()
                continue
            status = store.status()
            if watcher is not None:
                watcher(standing(status, note=_waiting(status.running) if status.running else ""))
            # What waits now was given back a moment ago: it is leased again below.
            if not status.running + status.waiting:
                return
            free_dead(store)
            time.sleep(PAUSE)
            leased = store.lease(owner, LEASE)
    finally:
        # Where the store cannot be written, the lease runs out by itself.
        with contextlib.suppress(EquipoiseError):
            store.give_back(owner)


def _waiting(running: int) -> str:
    return f"waiting for {running:,} trials that another worker holds"


def _progress(store: Store, watcher: Watcher | None) -> Callable[[Progress], None] | None:
    """Return what is told how far a stack is, and tells who watches, now and then."""
    return None if watcher is None else within_stack(lambda within: watcher(standing(store.status(), within=within)))


def within_stack(tell: Callable[[Within], None]) -> Callable[[Progress], None]:
    """Return what is told how far a stack is after each epoch and classifier, and passes it on now and then."""
    started = time.monotonic()
    last_report = trained_at = started
    before: int | None = None
    first = 0.0

    def heard(progress: Progress) -> None:
        nonlocal last_report, before, trained_at, first
        now, classified = time.monotonic(), progress.classified
        # One that was killed goes on: what it had done before took none of the time that is counted here.
        done = progress.epoch - (classified is None)
        # A stack that is tried again by halves begins anew, and nothing is imported a second time.
        if before is None or done < before:
            first = now - started if before is None and classified is None else 0.0
        before = done if before is None else min(before, done)
        if classified is None:
            trained_at = now
        # That classifiers begin is told at once: the first may take long. After the last of all the trials are done.
        ends = progress.epoch == progress.epochs and not progress.classifiers
        if classified == 0 or (now >= last_report + PAUSE and not ends):
            last_report = now
            tell(Within(progress.trials, progress.epoch, progress.epochs, trained_at - started, before,
                        progress.classifiers, classified, now - trained_at, first))  # fmt: skip

    return heard


def trained(work: Work, leased: Sequence[Trial], progress: Callable[[Progress], None] | None = None) -> list[Recorded]:
    """Train leased trials of one stack; ``progress`` is told after each epoch.

    Under deterministic rounding the whole stack is trained whenever a part of it is missing, for sums of another number
    of trials may round differently.
    """
    keys = {trial.key for trial in leased}
    stack = work.stack_of.get(leased[0].key)
    if stack is None:
        raise BadInput(
            f"The store asks for a trial that this plan does not have ({leased[0].treatment}, seed {leased[0].seed}): "
            "the plan was changed, or run again in another form",
            help="run the plan as it is now; what is recorded is kept.",
        )
    whole_stack = is_deterministic(leased[0].rounding)
    trials = [trial for trial in stack.trials if whole_stack or trial.key in keys]
    outcomes = work.outcomes(trials, progress)
    # Asked for now: training has imported what it needs.
    records = recorded(trials, outcomes, environment(leased[0].device, **work.about))
    retrained = set() if whole_stack else _trained_separately(stack, keys)
    return [
        replace(record, notes=(*record.notes, SEPARATE_STACKS)) if record.trial.key in retrained else record
        for record in records
        if record.trial.key in keys
    ]


def _trained_separately(stack: Stack, keys: set[str]) -> set[str]:
    """Return the trials whose training has other readouts that are not trained now: those are of another network."""
    trainings = [{trial.key for trial in training} for training in trainings_of(stack.trials)]
    return {key for training in trainings if not training <= keys for key in training & keys}


@contextlib.contextmanager
def beating(store: Store, owner: str) -> Iterator[None]:
    """Let a lease run on while its trials train."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(BEAT):
            # A store that is busy now is asked again, whatever its driver calls that.
            with contextlib.suppress(Exception):
                store.extend(owner, LEASE)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
