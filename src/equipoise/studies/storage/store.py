"""The store of a study: every trial once, waiting, running, done or failed, with what its report is made of.

SQLite in one file by default, another database by URL. Every method is one transaction: after a crash it happened
entirely or not at all. ``docs/store.md`` says what is kept and how to read it with other tools.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from equipoise.studies.recorded import Recorded, State
from equipoise.studies.storage import leases, looking_up, planning, recording
from equipoise.studies.storage.artefacts import Keeping
from equipoise.studies.storage.migrations import settle_schema
from equipoise.studies.storage.opening import Place, opened, place_of, reading, writing
from equipoise.studies.storage.readouts import Readouts
from equipoise.studies.storage.stored import Status, StoredTrial, Written
from equipoise.studies.storage.truth import Truth
from equipoise.studies.trial import Trial
from equipoise.training.material import Predicted

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


def open_store(
    where: str | Path,
    *,
    create: bool = True,
    read_only: bool = False,
    plan: str = "",
    artefacts: str | os.PathLike[str] | None = None,
    clock: Callable[[], float] = time.time,
) -> Store:
    """Open a store by path or URL; a file that is not there is made, unless ``create`` is False.

    Several plans may share a store: ``plan`` names the one that is planned, leased and read here, by its key
    (``Study.plan_key``) or by its name alone, which is the form of it that was planned last. ``artefacts`` is the
    folder for what is too large for the database, by default beside the store's file.
    """
    place = place_of(where, create=create, read_only=read_only)
    engine = opened(place)
    try:
        settle_schema(engine, place)
        with reading(engine, place) as connection:
            plan = planning.plan_in_store(connection, plan)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, place, plan, Keeping.beside(place, artefacts), clock)


class Store:
    """Trials and what is kept of them. Made by ``open_store``; a process opens its own and never inherits one."""

    def __init__(self, engine: Engine, place: Place, plan: str, keeping: Keeping, clock: Callable[[], float]) -> None:
        self._engine, self.place, self.plan_name = engine, place, plan
        self._keeping, self._clock = keeping, clock
        self._at = 0  # the stack that was leased last

    def plan(self, trials: Sequence[tuple[Trial, int, str]]) -> int:
        """Make these (trial, stack, cell), in this order, the plan; return how many the store did not know.

        New trials wait. What is running, done or failed stays so; trials that left the plan are kept, out of sight.
        """
        with self._writing() as connection:
            return planning.plan(connection, self.plan_name, trials)

    def is_planned(self) -> bool:
        """Tell whether the plan that this store was opened for was ever entered into it."""
        with self._reading() as connection:
            return planning.is_planned(connection, self.plan_name)

    def done_under_name(self, name: str) -> tuple[Trial, ...]:
        """Return the done trials of every plan of a name, in whatever form they were planned."""
        with self._reading() as connection:
            return planning.done_under_name(connection, name)

    def states(self, keys: Collection[str]) -> dict[str, tuple[State, float]]:
        """Return state and seconds of the trials that the store knows, by key, whatever plan they are of."""
        with self._reading() as connection:
            return looking_up.states(connection, keys)

    def lease(self, owner: str, seconds: float) -> tuple[Trial, ...]:
        """Lease the unfinished trials of one stack, in the order of the plan; nothing where nothing is left to do.

        Stacks after the one leased last come first, then those that others gave back or let run out. While training
        call ``extend`` in time.
        """
        with self._writing() as connection:
            return self._leased(connection, owner, seconds)

    def _leased(self, connection: Connection, owner: str, seconds: float) -> tuple[Trial, ...]:
        now = self._clock()
        found = leases.lease(connection, self.plan_name, owner, now=now, seconds=seconds, start=self._at)
        self._at = found.stack
        return found.trials

    def extend(self, owner: str, seconds: float) -> int:
        """Let all leases of an owner run for this long from now; return how many trials it still holds."""
        with self._writing() as connection:
            return leases.extend(connection, owner, until=self._clock() + seconds)

    def give_back(self, owner: str) -> int:
        """Let the trials that an owner holds wait again; return how many they were."""
        with self._writing() as connection:
            return leases.give_back(connection, owner)

    def owners(self) -> tuple[str, ...]:
        """Return everyone who holds trials of the store."""
        with self._reading() as connection:
            return leases.owners(connection)

    def record(self, owner: str, recorded: Sequence[Recorded], truth: Truth) -> Written:
        """Record how leased trials ended, all in one transaction, with the readouts of their predictions.

        A trial that its owner holds no longer (taken over, or recorded by another way) is refused and left as it is.
        """
        prepared = recording.prepared(recorded, truth, self._keeping)
        with self._writing() as connection:
            return recording.record(connection, owner, prepared, truth, now=self._clock())

    def record_and_lease(
        self, owner: str, recorded: Sequence[Recorded], truth: Truth, seconds: float
    ) -> tuple[Written, tuple[Trial, ...]]:
        """Do ``record`` and then ``lease`` in one transaction: a worker waits for the disk once a stack."""
        prepared = recording.prepared(recorded, truth, self._keeping)
        with self._writing() as connection:
            written = recording.record(connection, owner, prepared, truth, now=self._clock())
            return written, self._leased(connection, owner, seconds)

    def add(self, recorded: Sequence[Recorded], truth: Truth) -> Written:
        """Add trials that ran elsewhere. A trial that is done stays as it is; a failed one gives way to a done one.

        One that does not fit the truth is refused and stops no other.
        """
        prepared, refused = recording.prepared_apart(recorded, truth, self._keeping)
        with self._writing() as connection:
            return recording.add(connection, prepared, refused, truth, now=self._clock())

    def forget_failed(self) -> int:
        """Let the plan's failed trials wait again; return how many they were."""
        with self._writing() as connection:
            return recording.forget_failed(connection, self.plan_name)

    def status(self) -> Status:
        """Count the plan's trials by cell and state, with the seconds that finished ones took."""
        with self._reading() as connection:
            return looking_up.status(connection, self.plan_name, now=self._clock())

    def trials(self, states: Collection[State] | None = None) -> tuple[StoredTrial, ...]:
        """Return the plan's trials in order, those in ``states`` only where given."""
        with self._reading() as connection:
            return looking_up.trials(connection, self.plan_name, states)

    def readouts(self, split: str) -> Readouts:
        """Return the counts (or moments) of the plan's done trials on "dev" or "test", in the order of the plan."""
        with self._reading() as connection:
            return looking_up.readouts(connection, self.plan_name, split)

    def predictions(self, key: str, split: str) -> Predicted:
        """Return what one trial predicted for the rows of a split."""
        return self.predictions_of([key], split)[key]

    def predictions_of(self, keys: Collection[str], split: str, *, scores: bool = True) -> dict[str, Predicted]:
        """Return what several trials predicted for the rows of a split, by key, read in bulk.

        Without ``scores`` only the predicted classes (or numbers) are read, which are a small part of the store.
        """
        with self._reading() as connection:
            return looking_up.predictions(connection, keys, split, self._keeping, scores=scores)

    def kept(self, keys: Collection[str], name: str) -> dict[str, NDArray[Any]]:
        """Return a further array of trials, such as ``embedding.test``, by key; trials without it are left out."""
        with self._reading() as connection:
            return looking_up.kept(connection, keys, name, self._keeping)

    def kept_names(self) -> dict[str, int]:
        """Return the names of further arrays that the plan's trials have, and how many trials have each."""
        with self._reading() as connection:
            return looking_up.kept_names(connection, self.plan_name)

    def environments(self) -> dict[str, dict[str, object]]:
        """Return the environments that trials ran in, by the name that ``StoredTrial.environment`` has for them."""
        with self._reading() as connection:
            return looking_up.environments(connection)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.place.shown!r}{', read-only' if self.place.read_only else ''})"

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with writing(self._engine, self.place) as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with reading(self._engine, self.place) as connection:
            yield connection
