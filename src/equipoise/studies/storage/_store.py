"""The store of a study: every trial once, waiting, running, done or failed."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

import equipoise
from equipoise.foundation import BadInput
from equipoise.studies.plans import Recorded, State, Trial
from equipoise.studies.storage import _artefacts, _planning, _queries, _recording
from equipoise.studies.storage._artefacts import ArtefactStore, Damage
from equipoise.studies.storage._database import (
    READABLE,
    VERSION,
    StoreLocation,
    backup,
    insert_new,
    looked_at,
    opened,
    reading,
    sql,
    store_location,
    tables,
    through_outage,
    writing,
)
from equipoise.studies.storage._labels import EvaluationLabels, Readouts
from equipoise.studies.storage._planning import Look
from equipoise.studies.storage._queries import Status, StoredTrial, Written
from equipoise.training import Predicted

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine


SCHEMA_TABLE, SCHEMA = "meta", "schema"
TABLES_OF_SQLITE = "SELECT name FROM sqlite_master WHERE type = 'table'"
# With blanks where another program's table of this name has fewer columns.
ALL_OF_META = "SELECT *, '', '' FROM meta"


def settle_schema(engine: Engine, location: StoreLocation) -> None:
    """See that the tables are there, and of the version that this program reads and writes."""
    version = _version(engine, location)
    if version is None:
        _make(engine, location)
    elif version > VERSION:
        raise BadInput(
            f"The store {location.name!r} has the layout of version {version}, which is newer than this program",
            available=f"version {VERSION} and older",
            help=f"update equipoise (this is {equipoise.__version__}); the store was not touched.",
        )
    elif version < VERSION and not (location.read_only and version >= READABLE):
        _migrate(engine, location, version)


def _version(engine: Engine, location: StoreLocation) -> int | None:
    """Return the version of a store, None where there is no store yet; another program's database is refused."""
    version = None
    if location.path is not None:
        tables_present = set() if location.is_new else {name for (name,) in looked_at(location, TABLES_OF_SQLITE)}
        if SCHEMA_TABLE in tables_present:
            version = _as_version([value for name, value, *_ in looked_at(location, ALL_OF_META) if name == SCHEMA])
    else:
        with reading(engine, location) as connection:
            tables_present = set(sql().inspect(connection).get_table_names())
            tables_present &= set(tables().metadata.tables)  # other programs may have tables in the same database
            if SCHEMA_TABLE in tables_present:
                version = _version_within(connection)
    if tables_present and version is None:
        raise BadInput(
            f"The database {location.name!r} is not a store: it belongs to another program",
            help="name the store of a study, or a file that does not exist yet.",
        )
    return version


def _version_within(connection: Connection) -> int | None:
    found = connection.execute(sql().text("SELECT value FROM meta WHERE name = :name"), {"name": SCHEMA})
    return _as_version(found.scalars().all())


def _as_version(values: Sequence[object]) -> int | None:
    return int(str(values[0])) if len(values) == 1 and str(values[0]).isdecimal() else None


def _make(engine: Engine, location: StoreLocation) -> None:
    if location.read_only:
        raise BadInput(f"The store {location.name!r} is empty", help="run the study first, or name its store.")
    schema = tables()
    with writing(engine, location) as connection:
        schema.metadata.create_all(connection)
        connection.execute(
            insert_new(connection, schema.meta),
            [
                {"name": SCHEMA, "value": str(VERSION)},
                {"name": "made by", "value": f"equipoise {equipoise.__version__}"},
            ],
        )


def _migrate(engine: Engine, location: StoreLocation, version: int) -> None:
    steps = [MIGRATIONS.get(older) for older in range(version, VERSION)]
    if None in steps:
        raise BadInput(
            f"The store {location.name!r} has the layout of version {version}, which is no longer supported",
            available=f"versions {min(MIGRATIONS)} to {VERSION}",
        )
    if location.read_only:
        raise BadInput(
            f"The store {location.name!r} has the layout of version {version}, and this program reads version "
            f"{VERSION}",
            help="open it once where it can be written: it is migrated, and a copy of the original is kept.",
        )
    backup_file: Path | None = backup(location, f"version-{version}") if location.path is not None else None
    try:
        with writing(engine, location) as connection:
            now = _version_within(connection)  # another process may have been faster
            for older in range(VERSION if now is None else now, VERSION):
                MIGRATIONS[older](connection)
                connection.execute(
                    sql().text("UPDATE meta SET value = :value WHERE name = :name"),
                    {"value": str(older + 1), "name": SCHEMA},
                )
    except BadInput as error:
        backup_words = f"; a copy of it is {str(backup_file)!r}" if backup_file else ""
        raise BadInput(
            f"The store {location.name!r} could not be migrated from version {version} "
            f"({error.given.rstrip('.')}); it is unchanged{backup_words}",
            help=error.help,
        ) from error


def _from_0(connection: Connection) -> None:
    """Version 0 wrote the environment into every trial, and did not say how often a trial was begun."""
    text = sql().text
    connection.execute(
        text("CREATE TABLE environments (environment TEXT NOT NULL PRIMARY KEY, described TEXT NOT NULL)")
    )
    connection.execute(text("ALTER TABLE trials ADD COLUMN tries INTEGER NOT NULL DEFAULT 0"))
    found = connection.execute(text("SELECT DISTINCT environment FROM trials WHERE environment IS NOT NULL"))
    for (described,) in found.all():
        named = {"name": hashlib.sha256(described.encode()).hexdigest()[:16], "described": described}
        connection.execute(text("INSERT INTO environments VALUES (:name, :described)"), named)
        connection.execute(text("UPDATE trials SET environment = :name WHERE environment = :described"), named)
    connection.execute(text("UPDATE trials SET tries = 1 WHERE state <> 'waiting'"))


def _from_1(connection: Connection) -> None:
    """Version 1 had no checksums; rows of before stay without."""
    for table in ("cohorts", "details", "readouts"):
        connection.execute(sql().text(f"ALTER TABLE {table} ADD COLUMN checksum TEXT"))


# By the version that a step starts from.
MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {0: _from_0, 1: _from_1}


T = TypeVar("T")
# Workers may be on machines whose clocks differ; that of the database is one for all of them.
SERVER_TIME = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"


def open_store(
    where: str | Path,
    *,
    create: bool = True,
    read_only: bool = False,
    plan: str = "",
    artefacts: str | os.PathLike[str] | None = None,
    clock: Callable[[], float] | None = None,
    outage: float = 0.0,
) -> Store:
    """Open a store by path or URL; a file that is not there is made, unless ``create`` is False.

    Several plans may share a store: ``plan`` names the one that is planned, leased and read here, by its key
    (``Study.plan_key``) or by its name alone, which is the form of it that was planned last. ``artefacts`` is the
    folder for what is too large for the database, by default beside the store's file. ``clock`` is by default that of
    the database server, or of this machine where the store is a file. ``outage`` is how many seconds a server may be
    away when the store is opened; once it is open, a server that is restarted is waited for.
    """
    location = store_location(where, create=create, read_only=read_only)
    engine = opened(location)
    try:
        through_outage(lambda again: settle_schema(engine, location), outage)
        plan = through_outage(lambda again: _plan_in_store(engine, location, plan), outage)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, location, plan, ArtefactStore.for_store(location, artefacts), clock)


def _plan_in_store(engine: Engine, place: StoreLocation, plan: str) -> str:
    with reading(engine, place) as connection:
        return _planning.plan_in_store(connection, plan)


class Store:
    """Trials and what is kept of them. Made by ``open_store``; a process opens its own and never inherits one."""

    def __init__(
        self,
        engine: Engine,
        location: StoreLocation,
        plan: str,
        artefact_store: ArtefactStore,
        clock: Callable[[], float] | None,
    ) -> None:
        self._engine, self.location, self.plan_name = engine, location, plan
        self._artefact_store, self._clock = artefact_store, clock
        self._at = 0  # the stack that was leased last

    def plan(self, trials: Sequence[tuple[Trial, int, str]]) -> int:
        """Make these (trial, stack, cell), in this order, the plan; return how many the store did not know.

        New trials wait. What is running, done or failed stays so; trials that left the plan are kept, out of sight.
        """
        return self._write(lambda connection: _planning.plan(connection, self.plan_name, trials))

    def is_planned(self) -> bool:
        """Tell whether the plan that this store was opened for was ever entered into it."""
        return self._read(lambda connection: _planning.is_planned(connection, self.plan_name))

    def read_within(self, name: str, keys: Collection[str]) -> bool:
        """Read these trials within another form of the plan of a name that has them all; tell whether there is one."""
        form = self._read(lambda connection: _planning.form_with(connection, name, keys))
        self.plan_name = self.plan_name if form is None else form
        return form is not None

    def done_under_name(self, name: str) -> tuple[Trial, ...]:
        """Return the done trials of every plan of a name, in whatever form they were planned."""
        return self._read(lambda connection: _planning.done_under_name(connection, name))

    def looks(self, name: str) -> tuple[Look, ...]:
        """Return every reading of the verdicts of a study of this name with data of its own, the earliest first."""
        return self._read(lambda connection: _planning.looks(connection, name))

    def margins(self, name: str) -> dict[float, int]:
        """Return the margins of equivalence that were given for a study, and after how many looks each was."""
        return self._read(lambda connection: _planning.margins(connection, name))

    def remember_margin(self, name: str, margin: float) -> None:
        """Write down the margin of equivalence that a plan gives, with how many looks there were before."""
        self._write(lambda connection: _planning.remember_margin(connection, name, margin))

    def states(self, keys: Collection[str]) -> dict[str, tuple[State, float]]:
        """Return state and seconds of the trials that the store knows, by key, whatever plan they are of."""
        return self._read(lambda connection: _queries.states(connection, keys))

    def lease(self, owner: str, seconds: float) -> tuple[Trial, ...]:
        """Lease the unfinished trials of one stack, in the order of the plan; nothing where nothing is left to do.

        Stacks after the one leased last come first, then those that others gave back or let run out. While training
        call ``extend`` in time.
        """
        return through_outage(
            lambda again: self._write_once(lambda connection: self._leased(connection, owner, seconds, again))
        )

    def _leased(self, connection: Connection, owner: str, seconds: float, again: bool) -> tuple[Trial, ...]:
        """Lease a stack; ``again`` says that a lease may have been given before whose answer was lost: it is let go."""
        if again:
            _planning.give_back(connection, owner)
        now = self._now(connection)
        leased = _planning.lease(connection, self.plan_name, owner, now=now, seconds=seconds, start=self._at)
        self._at = leased.stack
        return leased.trials

    def extend(self, owner: str, seconds: float) -> int:
        """Let all leases of an owner run for this long from now; return how many trials it still holds.

        A server that is away is not waited for: who trains asks again in time.
        """
        return self._write_once(
            lambda connection: _planning.extend(connection, owner, until=self._now(connection) + seconds)
        )

    def give_back(self, owner: str) -> int:
        """Let the trials that an owner holds wait again; return how many they were.

        A server that is away is not waited for: leases run out by themselves.
        """
        return self._write_once(lambda connection: _planning.give_back(connection, owner))

    def owners(self) -> tuple[str, ...]:
        """Return everyone who holds trials of the store; a server that is away is not waited for."""
        return self._read_once(_planning.owners)

    def record(self, owner: str, recorded: Sequence[Recorded], truth: EvaluationLabels) -> Written:
        """Record how leased trials ended, all in one transaction, with the readouts of their predictions.

        A trial that its owner holds no longer (taken over, or recorded by another way) is refused and left as it is.
        """
        prepared = _recording.prepare_trials(recorded, truth, self._artefact_store)
        return self._write(
            lambda connection: _recording.record(connection, owner, prepared, truth, now=self._now(connection))
        )

    def record_and_lease(
        self, owner: str, recorded: Sequence[Recorded], truth: EvaluationLabels, seconds: float
    ) -> tuple[Written, tuple[Trial, ...]]:
        """Do ``record`` and then ``lease`` in one transaction: a worker waits for the disk once a stack.

        Where the connection broke after the transaction, the trials are found recorded, and refused as "done already".
        """
        prepared = _recording.prepare_trials(recorded, truth, self._artefact_store)

        def both(connection: Connection, again: bool) -> tuple[Written, tuple[Trial, ...]]:
            written = _recording.record(connection, owner, prepared, truth, now=self._now(connection))
            return written, self._leased(connection, owner, seconds, again)

        return through_outage(lambda again: self._write_once(lambda connection: both(connection, again)))

    def add(self, recorded: Sequence[Recorded], truth: EvaluationLabels) -> Written:
        """Add trials that ran elsewhere. A trial that is done stays as it is; a failed one gives way to a done one.

        One that does not fit the truth is refused and stops no other.
        """
        prepared, refused = _recording.prepare_each_trial(recorded, truth, self._artefact_store)
        return self._write(
            lambda connection: _recording.add(connection, prepared, refused, truth, now=self._now(connection))
        )

    def forget_failed(self) -> int:
        """Let the plan's failed trials wait again; return how many they were."""
        return self._write(lambda connection: _recording.forget_failed(connection, self.plan_name))

    def forget_damaged(self, trials: Sequence[Trial], truth: EvaluationLabels) -> dict[str, Damage]:
        """Let those of the plan's trials wait again of which something is damaged; return which, by key, and what.

        ``trials`` and ``truth`` describe them anew: the store's own words may be damaged too.
        """
        damages = self._read(
            lambda connection: _artefacts.damaged_trials(connection, self.plan_name, self._artefact_store)
        )
        again = [trial for trial in trials if trial.key in damages]

        def renew(connection: Connection) -> None:
            _artefacts.restore_names(connection, truth)
            _artefacts.reset_to_waiting(connection, again)

        self._write(renew)
        return damages

    def status(self) -> Status:
        """Count the plan's trials by cell and state, with the seconds that finished ones took."""
        return self._read(lambda connection: _queries.status(connection, self.plan_name, now=self._now(connection)))

    def trials(self, states: Collection[State] | None = None, *, history: bool = True) -> tuple[StoredTrial, ...]:
        """Return the plan's trials in order, those in ``states`` only where given; a history takes much room."""
        return self._read(lambda connection: _queries.trials(connection, self.plan_name, states, history=history))

    def readouts(self, split: str, truth: EvaluationLabels | None = None) -> Readouts:
        """Return the counts (or moments) of the plan's done trials on "dev" or "test", in the order of the plan.

        Damaged counts are left out. ``truth`` says what places mean where the store's names are damaged.
        """
        return self._read(lambda connection: _queries.readouts(connection, self.plan_name, split, truth))

    def damaged_predictions(self, keys: Collection[str], split: str) -> set[str]:
        """Return the trials whose predictions of a split are not what was written, by key."""
        return self._read(
            lambda connection: _queries.damaged_predictions(connection, keys, split, self._artefact_store)
        )

    def predictions(self, key: str, split: str) -> Predicted:
        """Return what one trial predicted for the rows of a split."""
        return self.predictions_of([key], split)[key]

    def predictions_of(self, keys: Collection[str], split: str, *, scores: bool = True) -> dict[str, Predicted]:
        """Return what several trials predicted for the rows of a split, by key, read in bulk.

        Without ``scores`` only the predicted classes (or numbers) are read, which are a small part of the store.
        """
        return self._read(
            lambda connection: _queries.predictions(connection, keys, split, self._artefact_store, scores=scores)
        )

    def stored_arrays(self, keys: Collection[str], name: str) -> dict[str, NDArray[Any]]:
        """Return a further array of trials, such as ``embedding.test``, by key; trials without it are left out."""
        return self._read(lambda connection: _queries.stored_arrays(connection, keys, name, self._artefact_store))

    def tracebacks(self, keys: Collection[str]) -> dict[str, str]:
        """Return where the errors came from that failed trials, by key; trials that have none are left out."""
        return self._read(lambda connection: _queries.tracebacks(connection, keys, self._artefact_store))

    def stored_array_names(self) -> dict[str, int]:
        """Return the names of further arrays that the plan's trials have, and how many trials have each."""
        return self._read(lambda connection: _queries.stored_array_names(connection, self.plan_name))

    def environments(self) -> dict[str, dict[str, object]]:
        """Return the environments that trials ran in, by the name that ``StoredTrial.environment`` has for them."""
        return self._read(_queries.environments)

    def close(self) -> None:
        """Release the database."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.location.name!r}{', read-only' if self.location.read_only else ''})"

    def _write(self, work: Callable[[Connection], T]) -> T:
        """Do something in one transaction that writes, and that may safely happen twice; a restart is waited for."""
        return through_outage(lambda again: self._write_once(work))

    def _write_once(self, work: Callable[[Connection], T]) -> T:
        with writing(self._engine, self.location) as connection:
            return work(connection)

    def _read(self, work: Callable[[Connection], T]) -> T:
        """Read one moment of the store; a restart is waited for."""
        return through_outage(lambda again: self._read_once(work))

    def _read_once(self, work: Callable[[Connection], T]) -> T:
        with reading(self._engine, self.location) as connection:
            return work(connection)

    def _now(self, connection: Connection) -> float:
        """Return the time by which leases run out: the same for everybody who shares the store."""
        if self._clock is not None:
            return self._clock()
        if self.location.url is None:
            return time.time()
        return float(connection.execute(sql().text(SERVER_TIME)).scalar_one())
