"""What a store knows, read in bulk: one query for all trials, arrays stacked instead of rows looped over."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, listing
from equipoise.studies.plans import State, Trial
from equipoise.studies.storage._artefacts import (
    ARRAY_PREFIX,
    COLUMNS,
    FEW,
    TRACEBACK,
    Artefact,
    ArtefactStore,
    are_details_damaged,
    array_name,
    history_from,
    history_table,
    is_readout_damaged,
    names_from,
    predicted_of,
    text_of,
)
from equipoise.studies.storage._database import present, sql, tables
from equipoise.studies.storage._labels import PREDICTED, EvaluationLabels, Names, Readouts, decoded
from equipoise.studies.storage._planning import AT_ONCE, parts, trial_from
from equipoise.training import Epoch, Predicted

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class StoredTrial:
    """A trial in its place in the plan, and how it went. ``environment`` names an entry of ``Store.environments()``.

    Of one that is ``damaged``, history, notes or times are not what was written.
    """

    trial: Trial
    key: str
    cell: str
    stack: int
    state: State
    tries: int
    seconds: float
    environment: str | None
    best_epoch: int
    history: tuple[Epoch, ...]
    notes: tuple[str, ...]
    failure: str | None
    damaged: bool = False
    # The epochs as a table (number, loss, performance, fairness): what a report reads of many trials.
    epochs: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, COLUMNS)), compare=False, repr=False)


@dataclass(frozen=True)
class CellStatus:
    """How many trials of one cell are in each state; ``lapsed`` are the running ones whose lease ran out."""

    cell: str
    waiting: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    lapsed: int = 0
    # What done and failed trials took, added up.
    seconds: float = 0.0

    @property
    def total(self) -> int:
        """All trials of the cell."""
        return self.waiting + self.running + self.done + self.failed


@dataclass(frozen=True)
class Status:
    """The cells of a plan, in its order."""

    cells: tuple[CellStatus, ...]

    @property
    def waiting(self) -> int:
        """Trials that nobody has begun."""
        return sum(cell.waiting for cell in self.cells)

    @property
    def running(self) -> int:
        """Trials under a lease, the lapsed ones among them."""
        return sum(cell.running for cell in self.cells)

    @property
    def lapsed(self) -> int:
        """Running trials whose lease ran out: the next worker takes them over."""
        return sum(cell.lapsed for cell in self.cells)

    @property
    def done(self) -> int:
        """Trials with predictions and counts."""
        return sum(cell.done for cell in self.cells)

    @property
    def failed(self) -> int:
        """Trials that ended with a reason instead."""
        return sum(cell.failed for cell in self.cells)

    @property
    def total(self) -> int:
        """All trials of the plan."""
        return sum(cell.total for cell in self.cells)

    @property
    def seconds(self) -> float:
        """What finished trials took, added up."""
        return sum(cell.seconds for cell in self.cells)


@dataclass(frozen=True)
class Written:
    """What became of trials that were handed in: keys new, keys finished before, and why others are refused."""

    new: tuple[str, ...] = ()
    existing: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


STATES = get_args(State)
ENDED = ("done", "failed")


def status(connection: Connection, plan: str, *, now: float) -> Status:
    """Count the trials of a plan by cell and state, cells in the order of the plan."""
    schema, added = tables(), sql().func.sum
    trial, place = schema.trials.c, schema.places.c

    def number(condition: Any) -> Any:
        return added(sql().case((condition, 1), else_=0))

    # By cell alone, along the index: grouping by state as well would have the database sort.
    counted = (
        sql()
        .select(
            place.cell,
            *(number(trial.state == state) for state in STATES),
            number((trial.state == "running") & (trial.until < now)),
            added(trial.seconds),
        )
        .select_from(schema.places.join(schema.trials, place.trial == trial.id))
        .where(place.plan == plan)
        .group_by(place.cell)
        .order_by(sql().func.min(place.place))
    )
    return Status(tuple(CellStatus(*row) for row in connection.execute(counted)))


def states(connection: Connection, keys: Collection[str]) -> dict[str, tuple[State, float]]:
    """Return state and seconds of trials by key; those that the store does not know are left out."""
    trial = tables().trials.c
    state_by_key: dict[str, tuple[State, float]] = {}
    for part in parts(keys):
        chosen = sql().select(trial.key, trial.state, trial.seconds).where(trial.key.in_(part))
        state_by_key.update((key, (state, seconds)) for key, state, seconds in connection.execute(chosen))
    return state_by_key


def trials(
    connection: Connection, plan: str, states: Collection[State] | None, *, history: bool = True
) -> tuple[StoredTrial, ...]:
    """Return the trials of a plan, in its order; without their history where that is not asked for."""
    unknown = [state for state in states or () if state not in STATES]
    if unknown:
        raise BadInput(f"Unknown state {listing(unknown)}", available=listing(STATES))
    schema = tables()
    trial, place, detail = schema.trials.c, schema.places.c, schema.details.c
    joined = schema.places.join(schema.trials, place.trial == trial.id).join(schema.details, detail.trial == trial.id)
    chosen = (
        sql()
        .select(
            detail.described, trial.key, place.cell, place.stack, trial.state, trial.tries, trial.seconds,
            trial.environment,
            detail.best_epoch, detail.history, detail.notes, detail.failure, detail.cohort,
            present(connection, detail.checksum),
        )
        .select_from(joined)
        .where(place.plan == plan, *([] if states is None else [trial.state.in_(list(states))]))
        .order_by(place.place)
    )  # fmt: skip
    shared: dict[str, Any] = {}
    return tuple(_stored(row, history, shared) for row in connection.execute(chosen))


def _stored(row: Any, history: bool, shared: dict[str, Any]) -> StoredTrial:
    damaged = row.state in ENDED and are_details_damaged(row)
    trial = trial_from(row.described, row.key, shared, verify=damaged)
    history_content = None if damaged else row.history
    epochs, notes = history_from(history_content) if history else (), () if damaged else json.loads(row.notes)
    cell, environment = (shared.setdefault(f"text {text}", text) for text in (row.cell, row.environment))
    return StoredTrial(
        trial, row.key, cell, row.stack, row.state, row.tries, row.seconds, environment, row.best_epoch, epochs,
        tuple(notes), row.failure, damaged, history_table(history_content),
    )  # fmt: skip


def readouts(connection: Connection, plan: str, split: str, truth: EvaluationLabels | None = None) -> Readouts:
    """Return the readouts of a plan's done trials on one split, stacked; all must be of one cohort.

    Damaged ones are left out and named. ``truth`` says what the places mean where the store no longer does.
    """
    if split not in PREDICTED:
        raise BadInput(f"There are no readouts of the split {split!r}", available=" and ".join(PREDICTED))
    schema = tables()
    trial, place, readout = schema.trials.c, schema.places.c, schema.readouts.c
    joined = schema.places.join(schema.trials, place.trial == trial.id).join(
        schema.details, schema.details.c.trial == trial.id
    )
    joined = joined.join(schema.readouts, readout.trial == trial.id)
    chosen = (
        sql()
        .select(
            trial.key,
            schema.details.c.cohort,
            readout.kind,
            readout.shape,
            readout.counts,
            present(connection, readout.checksum),
        )
        .select_from(joined)
        .where(place.plan == plan, readout.split == split)
        .order_by(place.place)
    )
    rows, damaged = [], []
    for key, cohort, *counted in connection.execute(chosen):
        if is_readout_damaged(key, split, *counted):
            damaged.append(key)
        else:
            rows.append((key, cohort, *counted[:3]))
    if not rows:
        empty = Names("class", (), (), (), {})
        return Readouts(split, (), np.zeros((0, 0, 0, 0), dtype=np.int64), empty, tuple(damaged))
    keys, cohorts, kinds, shapes, contents = zip(*rows, strict=True)
    if len({*zip(cohorts, kinds, shapes, strict=True)}) > 1:
        raise BadInput(
            f"The trials of this plan were counted on {len(set(cohorts))} cohorts",
            help="use one plan per cohort.",
        )
    names = names_from(connection, cohorts[0], truth)
    return Readouts(split, keys, decoded(kinds[0], json.loads(shapes[0]), contents), names, tuple(damaged))


def predictions(
    connection: Connection, keys: Collection[str], split: str, artefact_store: ArtefactStore, *, scores: bool
) -> dict[str, Predicted]:
    """Return what trials predicted for one split, by key, in the order of the keys."""
    arrays_by_key: dict[str, dict[str, NDArray[Any]]] = {}
    names = [split, f"{split}.scores"] if scores else [split]
    for key, name, artefact in _artefacts(connection, keys, names):
        arrays_by_key.setdefault(key, {})[name] = artefact_store.read(
            artefact, f"What the trial {key} predicted ({name})"
        )
    absent = [key for key in keys if key not in arrays_by_key]
    if absent:
        raise BadInput(
            f"The store has no predictions on {split!r} of {len(absent):,} trials, such as {absent[0]}",
            available=f"done trials, and the splits {' and '.join(PREDICTED)}",
        )
    return {key: predicted_of(split, arrays_by_key[key]) for key in keys}


def stored_arrays(
    connection: Connection, keys: Collection[str], name: str, artefact_store: ArtefactStore
) -> dict[str, NDArray[Any]]:
    """Return the further array of a name of every trial that has one, by key, in the order of the keys."""
    arrays_by_key = {
        key: artefact_store.read(artefact, f"What the trial {key} kept ({name})")
        for key, _, artefact in _artefacts(connection, keys, [array_name(name)])
    }
    return {key: arrays_by_key[key] for key in keys if key in arrays_by_key}


def tracebacks(connection: Connection, keys: Collection[str], artefact_store: ArtefactStore) -> dict[str, str]:
    """Return where the errors came from that failed trials, by key; trials that have none are left out."""
    return {
        key: text_of(artefact_store.read(artefact, f"The traceback of the trial {key}"))
        for key, _, artefact in _artefacts(connection, keys, [TRACEBACK])
    }


def stored_array_names(connection: Connection, plan: str) -> dict[str, int]:
    """Return the names of further arrays that trials of a plan have, and how many trials have each."""
    schema = tables()
    place, artefact = schema.places.c, schema.artefacts.c
    counted = (
        sql()
        .select(artefact.name, sql().func.count())
        .select_from(schema.places.join(schema.artefacts, place.trial == artefact.trial))
        .where(place.plan == plan, artefact.name.like(f"{ARRAY_PREFIX}%"))
        .group_by(artefact.name)
        .order_by(artefact.name)
    )
    return {name.removeprefix(ARRAY_PREFIX): number for name, number in connection.execute(counted)}


def _artefacts(
    connection: Connection, keys: Collection[str], names: Collection[str], most: int = AT_ONCE
) -> Iterator[tuple[str, str, Artefact]]:
    """Yield (key, name, artefact) of trials, read in bulk."""
    schema = tables()
    trial, column = schema.trials.c, schema.artefacts.c
    for part in parts(keys, most):
        chosen = (
            sql()
            .select(trial.key, column.name, column.size, column.content, column.file, column.digest)
            .select_from(schema.artefacts.join(schema.trials, column.trial == trial.id))
            .where(column.name.in_(list(names)), trial.key.in_(part))
        )
        for key, name, *artefact in connection.execute(chosen):
            yield key, name, Artefact(*artefact)


def damaged_predictions(
    connection: Connection, keys: Collection[str], split: str, artefact_store: ArtefactStore
) -> set[str]:
    """Return the trials whose predictions of a split are damaged, by key."""
    return {
        key for key, _, artefact in _artefacts(connection, keys, [split], FEW) if artefact_store.is_damaged(artefact)
    }


def environments(connection: Connection) -> dict[str, dict[str, object]]:
    """Return the environments that trials ran in, by name; of one that is damaged nothing is known."""
    environment = tables().environments.c
    rows = connection.execute(sql().select(environment.environment, environment.described))
    return {name: _environment(described) for name, described in rows}


def _environment(described: Any) -> dict[str, object]:
    try:
        content = json.loads(described)
    except (TypeError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
