"""Trials into a store, each with its place in the plan; who works on them (leases); when verdicts were read (looks)."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation import BadInput
from equipoise.studies.plans import Trial, canonical, trial_of
from equipoise.studies.storage._database import insert_new, opened, sql, store_location, tables, writing

if TYPE_CHECKING:
    from sqlalchemy import Connection


# How many values one question to the database names; every database takes as many.
AT_ONCE = 500
# What stands between the name of a plan and the digest of its trials.
FORM = "#"
# What the row of ``meta`` is called that says which form of a plan was planned last.
LATEST = "latest plan "


def plan_key(name: str, keys: Iterable[str]) -> str:
    """Return what a store knows a plan by: its name, and a digest of the keys of its trials."""
    return f"{name}{FORM}{hashlib.sha256(canonical(sorted(keys)).encode()).hexdigest()[:12]}"


def plan_in_store(connection: Connection, plan: str) -> str:
    """Return under which name the trials of a plan stand, given by its key or by its name alone.

    A key whose trials an earlier version wrote is found under the bare name, and a bare name is that of the form which
    was planned last. What is not there is returned as it is.
    """
    if not plan or is_planned(connection, plan):
        return plan
    name, mark, _ = plan.rpartition(FORM)
    if mark and is_planned(connection, name) and plan_key(name, _keys(connection, name)) == plan:
        return name
    meta = tables().meta
    latest = connection.execute(sql().select(meta.c.value).where(meta.c.name == LATEST + plan)).scalar()
    return plan if latest is None else str(latest)


def is_planned(connection: Connection, plan: str) -> bool:
    """Tell whether a plan of this key or name has trials in the store."""
    places = tables().places
    return connection.execute(sql().select(places.c.plan).where(places.c.plan == plan).limit(1)).scalar() is not None


def _keys(connection: Connection, plan: str) -> list[str]:
    schema = tables()
    joined = schema.places.join(schema.trials, schema.places.c.trial == schema.trials.c.id)
    chosen = sql().select(schema.trials.c.key).select_from(joined).where(schema.places.c.plan == plan)
    return [key for (key,) in connection.execute(chosen)]


def plan(connection: Connection, name: str, trials: Sequence[tuple[Trial, int, str]]) -> int:
    """Make these (trial, stack, cell) the plan of this name; return how many trials the store did not know."""
    keys = [trial.key for trial, _, _ in trials]
    if len(set(keys)) < len(keys):
        twice = next(trial for index, (trial, _, _) in enumerate(trials) if trial.key in keys[:index])
        raise BadInput(
            f"The plan has one trial twice: {twice.treatment} with seed {twice.seed} and repeat {twice.repeat}",
            help="name each condition, treatment and seed once.",
        )
    known_ids = ids_of(connection, keys)
    new = [trial for trial, _, _ in trials if trial.key not in known_ids]
    known_ids |= add_waiting(connection, new)
    places = tables().places
    planned = {
        known_ids[key]: (stack, index, cell)
        for index, (key, (_, stack, cell)) in enumerate(zip(keys, trials, strict=True))
    }  # fmt: skip
    mine = sql().select(places.c.trial, places.c.stack, places.c.place, places.c.cell).where(places.c.plan == name)
    if {trial: tuple(rest) for trial, *rest in connection.execute(mine)} != planned:
        connection.execute(places.delete().where(places.c.plan == name))
        rows = [
            {"plan": name, "trial": trial, "stack": stack, "place": position, "cell": cell}
            for trial, (stack, position, cell) in planned.items()
        ]
        if rows:
            connection.execute(places.insert(), rows)
    _remember_latest(connection, name)
    return len(new)


def _remember_latest(connection: Connection, plan: str) -> None:
    """Note which form of a plan was planned last, for who asks by the name alone."""
    name, mark, _ = plan.rpartition(FORM)
    if mark:
        meta = tables().meta
        connection.execute(insert_new(connection, meta), [{"name": LATEST + name, "value": plan}])
        connection.execute(meta.update().where(meta.c.name == LATEST + name).values(value=plan))


def form_with(connection: Connection, name: str, keys: Collection[str]) -> str | None:
    """Return a form of a plan that has all of these trials, the smallest; None where there is none."""
    required = set(keys)
    form_sizes = {
        form: len(form_keys)
        for form in _forms(connection, name)
        if required <= (form_keys := set(_keys(connection, form)))
    }
    return min(form_sizes, key=lambda form: form_sizes[form]) if form_sizes else None


def _forms(connection: Connection, name: str) -> list[str]:
    place = tables().places.c
    same_prefix = sql().select(place.plan).where(place.plan.startswith(name, autoescape=True)).distinct()
    return [plan for (plan,) in connection.execute(same_prefix) if plan == name or plan.rpartition(FORM)[0] == name]


def done_under_name(connection: Connection, name: str) -> tuple[Trial, ...]:
    """Return the done trials of every form of a plan that the store has, each once; not those it cannot describe."""
    schema = tables()
    place = schema.places.c
    forms = _forms(connection, name)
    joined = schema.trials.join(schema.details, schema.details.c.trial == schema.trials.c.id)
    mine = sql().select(place.trial).where(place.plan.in_(forms))
    chosen = (
        sql()
        .select(schema.details.c.described, schema.trials.c.key)
        .select_from(joined)
        .where(schema.trials.c.state == "done", schema.trials.c.id.in_(mine))
        .order_by(schema.trials.c.id)
    )
    trials = []
    for described, key in connection.execute(chosen):
        with suppress(BadInput):
            trials.append(trial_from(described, key))
    return tuple(trials)


def add_waiting(connection: Connection, trials: Sequence[Trial]) -> dict[str, int]:
    """Add trials that the store does not know, waiting; return their numbers by key."""
    if not trials:
        return {}
    schema = tables()
    connection.execute(
        insert_new(connection, schema.trials),
        [{"key": trial.key, "state": "waiting", "tries": 0, "seconds": 0.0} for trial in trials],
    )
    known_ids = ids_of(connection, [trial.key for trial in trials])
    connection.execute(
        insert_new(connection, schema.details),
        [
            {
                "trial": known_ids[trial.key],
                "cohort": trial.cohort,
                "described": description_of(trial),
                "best_epoch": 0,
                "notes": "[]",
            }
            for trial in trials
        ],
    )
    return known_ids


def description_of(trial: Trial) -> str:
    """Return all that names a trial, as the store keeps it."""
    return canonical(trial.meaning())


# What trials of one plan are mostly alike in.
SHARED_SETTINGS = (
    "cohort",
    "groups",
    "condition",
    "learner",
    "treatments",
    "rounding",
    "precision",
    "device",
    "selection",
)


def trial_from(described: str, key: str, shared: dict[str, Any] | None = None, *, verify: bool = False) -> Trial:
    """Make a trial again, under the key it was written with; only to ``verify`` it is the hash made again.

    Trials that are made with the same ``shared`` have what they are alike in once, which is most of their memory.
    """
    try:
        trial = trial_of(json.loads(described))
        if verify and trial.key != key:
            raise ValueError("another key")
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise BadInput(
            f"The description of the trial {key} in the store is damaged",
            help="equipoise study run PLAN writes it again and trains the trial once more.",
        ) from error
    if shared is not None:
        attributes = vars(trial)
        for name in SHARED_SETTINGS:
            attributes[name] = shared.setdefault(f"{name} {attributes[name]!r}", attributes[name])
    vars(trial)["key"] = key  # where the cached property keeps it
    return trial


def ids_of(connection: Connection, keys: Sequence[str]) -> dict[str, int]:
    """Return the numbers of the trials that the store knows, by key."""
    trials = tables().trials
    ids: dict[str, int] = {}
    for part in parts(keys):
        chosen = sql().select(trials.c.key, trials.c.id).where(trials.c.key.in_(part))
        ids.update((key, number) for key, number in connection.execute(chosen))
    return ids


def parts(values: Iterable[Any], most: int = AT_ONCE) -> Iterable[list[Any]]:
    """Cut values into as many as one question takes."""
    listed = list(values)
    return (listed[start : start + most] for start in range(0, len(listed), most))


@dataclass(frozen=True)
class Leased:
    """The trials of one stack that were leased together; none where nothing is left to do."""

    stack: int = 0
    trials: tuple[Trial, ...] = ()


def lease(connection: Connection, plan: str, owner: str, *, now: float, seconds: float, start: int = 0) -> Leased:
    """Give an owner the unfinished trials of the first stack that has any which nobody holds.

    The search begins at the stack ``start`` and comes back to those before it last: what was done long ago need not be
    walked through again for every lease.
    """
    if not owner or not seconds > 0:
        raise BadInput(f"A lease of {seconds} s for {owner!r}", available="a name, and more than 0 seconds")
    schema, select = tables(), sql().select
    trials, places, details = schema.trials, schema.places, schema.details
    placed = places.join(trials, places.c.trial == trials.c.id)
    free = (places.c.plan == plan) & _free(now)
    first = select(places.c.stack).select_from(placed).where(free).order_by(places.c.stack).limit(1)
    later = first.where(places.c.stack >= start)
    while (stack := _first(connection, later, first)) is not None:
        chosen = (
            select(trials.c.id)
            .select_from(placed)
            .where(free, places.c.stack == stack)
            .order_by(trials.c.id)
            .with_for_update(of=trials)
        )
        mine = [number for (number,) in connection.execute(chosen)]
        if not mine:
            continue  # another worker was faster
        connection.execute(
            trials.update()
            .where(trials.c.id.in_(mine))
            .values(state="running", owner=owner, until=now + seconds, tries=trials.c.tries + 1)
        )
        described = (
            select(details.c.described, trials.c.key)
            .select_from(placed.join(details, places.c.trial == details.c.trial))
            .where(places.c.plan == plan, places.c.trial.in_(mine))
            .order_by(places.c.place)
        )
        return Leased(stack, tuple(trial_from(text, key, verify=True) for text, key in connection.execute(described)))
    return Leased()


def _first(connection: Connection, *questions: Any) -> int | None:
    """Return the first answer there is to some questions in turn."""
    answers = (connection.execute(question).scalar() for question in questions)
    return next((answer for answer in answers if answer is not None), None)


def extend(connection: Connection, owner: str, *, until: float) -> int:
    """Let the leases of an owner run until then; return how many it still has."""
    return connection.execute(tables().trials.update().where(_held(owner)).values(until=until)).rowcount


def give_back(connection: Connection, owner: str) -> int:
    """Let the trials of an owner wait again."""
    values = {"state": "waiting", "owner": None, "until": None}
    return connection.execute(tables().trials.update().where(_held(owner)).values(values)).rowcount


def owners(connection: Connection) -> tuple[str, ...]:
    """Return everyone who holds a lease, one that ran out too."""
    trials = tables().trials
    held = sql().select(trials.c.owner).where(trials.c.state == "running", trials.c.owner.is_not(None)).distinct()
    return tuple(sorted(owner for (owner,) in connection.execute(held)))


def _free(now: float) -> Any:
    trials = tables().trials
    return (trials.c.state == "waiting") | ((trials.c.state == "running") & (trials.c.until < now))


def _held(owner: str) -> Any:
    trials = tables().trials
    return (trials.c.owner == owner) & (trials.c.state == "running")


LOOK, MARGIN = "look at ", "equivalence margin of "


@dataclass(frozen=True)
class Look:
    """One reading of verdicts: the data by a digest, when (seconds since 1970), how many seeds and trials."""

    digest: str
    at: float
    seeds: int
    trials: int


def digest_of(keys: Iterable[str]) -> str:
    """Name what there is to be read by the keys of the trials that are done."""
    return hashlib.sha256(canonical(sorted(keys)).encode()).hexdigest()[:16]


def looks(connection: Connection, name: str) -> tuple[Look, ...]:
    """Return the looks at a study, the earliest first."""
    looks_read = []
    for digest, value in _rows(connection, LOOK + name):
        with suppress(ValueError, KeyError, TypeError):  # what is damaged was a look nobody can tell apart
            look_content = json.loads(value)
            looks_read.append(
                Look(digest, float(look_content["at"]), int(look_content["seeds"]), int(look_content["trials"]))
            )
    return tuple(sorted(looks_read, key=lambda look: look.at))


def margins(connection: Connection, name: str) -> dict[float, int]:
    """Return the margins of equivalence that were given for a study, and after how many looks each was."""
    margins_read: dict[float, int] = {}
    for margin, value in _rows(connection, MARGIN + name):
        with suppress(ValueError, KeyError, TypeError):
            margins_read[float(margin)] = int(json.loads(value)["looks"])
    return margins_read


def remember_margin(connection: Connection, name: str, margin: float) -> None:
    """Write down a margin, with how many looks there were before; what is written already stays."""
    value = json.dumps({"at": time.time(), "looks": len(looks(connection, name))})
    _insert(connection, f"{MARGIN}{name}{FORM}{margin!r}", value)


def remember_look(where: str | Path, name: str, look: Look) -> bool:
    """Write down a look, unless the same data was looked at before; tell whether the store could be written to.

    The layout of the store stays as it is: reading an older one carries nothing forward.
    """
    try:
        location = store_location(where, create=False)
        engine = opened(location)
        try:
            with writing(engine, location) as connection:
                content = {"at": look.at, "seeds": look.seeds, "trials": look.trials}
                _insert(connection, f"{LOOK}{name}{FORM}{look.digest}", json.dumps(content))
        finally:
            engine.dispose()
    except (BadInput, OSError, sql().exc.SQLAlchemyError):
        return False
    return True


def _insert(connection: Connection, name: str, value: str) -> None:
    connection.execute(insert_new(connection, tables().meta), [{"name": name, "value": value}])


def _rows(connection: Connection, start: str) -> list[tuple[str, str]]:
    """Return what comes after the mark in the names of rows that start so, and their values."""
    meta = tables().meta
    chosen = sql().select(meta.c.name, meta.c.value).where(meta.c.name.startswith(start + FORM, autoescape=True))
    return [(str(name)[len(start + FORM) :], str(value)) for name, value in connection.execute(chosen)]
