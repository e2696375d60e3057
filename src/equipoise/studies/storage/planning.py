"""Trials into a store: new ones wait, known ones stay as they are, and each has its place in the plan.

A plan is known by its name and a digest of its trials (``plan_key``), so that plans of one name, and a plan before and
after it was changed, stand side by side. Stores of earlier versions have the name alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.studies.storage.tables import insert_new, sql, tables
from equipoise.studies.trial import Trial, canonical, trial_of

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
    made = tables()
    joined = made.places.join(made.trials, made.places.c.trial == made.trials.c.id)
    chosen = sql().select(made.trials.c.key).select_from(joined).where(made.places.c.plan == plan)
    return [key for (key,) in connection.execute(chosen)]


def plan(connection: Connection, name: str, trials: Sequence[tuple[Trial, int, str]]) -> int:
    """Make these (trial, stack, cell) the plan of this name; return how many trials the store did not know."""
    keys = [trial.key for trial, _, _ in trials]
    if len(set(keys)) < len(keys):
        twice = next(trial for place, (trial, _, _) in enumerate(trials) if trial.key in keys[:place])
        raise BadInput(
            f"The plan has one trial twice: {twice.treatment} with seed {twice.seed} and repeat {twice.repeat}",
            help="name each condition, treatment and seed once.",
        )
    known = ids_of(connection, keys)
    new = [trial for trial, _, _ in trials if trial.key not in known]
    known |= add_waiting(connection, new)
    places = tables().places
    wanted = {
        known[key]: (stack, place, cell)
        for place, (key, (_, stack, cell)) in enumerate(zip(keys, trials, strict=True))
    }  # fmt: skip
    mine = sql().select(places.c.trial, places.c.stack, places.c.place, places.c.cell).where(places.c.plan == name)
    if {trial: tuple(rest) for trial, *rest in connection.execute(mine)} != wanted:
        connection.execute(places.delete().where(places.c.plan == name))
        rows = [
            {"plan": name, "trial": trial, "stack": stack, "place": place, "cell": cell}
            for trial, (stack, place, cell) in wanted.items()
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
    wanted = set(keys)
    found = {form: len(own) for form in _forms(connection, name) if wanted <= (own := set(_keys(connection, form)))}
    return min(found, key=lambda form: found[form]) if found else None


def _forms(connection: Connection, name: str) -> list[str]:
    place = tables().places.c
    alike = sql().select(place.plan).where(place.plan.startswith(name, autoescape=True)).distinct()
    return [plan for (plan,) in connection.execute(alike) if plan == name or plan.rpartition(FORM)[0] == name]


def done_under_name(connection: Connection, name: str) -> tuple[Trial, ...]:
    """Return the done trials of every form of a plan that the store has, each once; not those it cannot describe."""
    made = tables()
    place = made.places.c
    forms = _forms(connection, name)
    joined = made.trials.join(made.details, made.details.c.trial == made.trials.c.id)
    mine = sql().select(place.trial).where(place.plan.in_(forms))
    chosen = (
        sql()
        .select(made.details.c.described, made.trials.c.key)
        .select_from(joined)
        .where(made.trials.c.state == "done", made.trials.c.id.in_(mine))
        .order_by(made.trials.c.id)
    )
    found = []
    for described, key in connection.execute(chosen):
        with suppress(BadInput):
            found.append(trial_from(described, key))
    return tuple(found)


def add_waiting(connection: Connection, trials: Sequence[Trial]) -> dict[str, int]:
    """Add trials that the store does not know, waiting; return their numbers by key."""
    if not trials:
        return {}
    made = tables()
    connection.execute(
        insert_new(connection, made.trials),
        [{"key": trial.key, "state": "waiting", "tries": 0, "seconds": 0.0} for trial in trials],
    )
    known = ids_of(connection, [trial.key for trial in trials])
    connection.execute(
        insert_new(connection, made.details),
        [
            {
                "trial": known[trial.key],
                "cohort": trial.cohort,
                "described": description_of(trial),
                "best_epoch": 0,
                "notes": "[]",
            }
            for trial in trials
        ],
    )
    return known


def description_of(trial: Trial) -> str:
    """Return all that names a trial, as the store keeps it."""
    return canonical(trial.meaning())


# What trials of one plan are mostly alike in.
SHARED = ("cohort", "groups", "condition", "learner", "treatments", "rounding", "precision", "device", "selection")


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
        own = vars(trial)
        for name in SHARED:
            own[name] = shared.setdefault(f"{name} {own[name]!r}", own[name])
    vars(trial)["key"] = key  # where the cached property keeps it
    return trial


def ids_of(connection: Connection, keys: Sequence[str]) -> dict[str, int]:
    """Return the numbers of the trials that the store knows, by key."""
    trials = tables().trials
    found: dict[str, int] = {}
    for part in parts(keys):
        chosen = sql().select(trials.c.key, trials.c.id).where(trials.c.key.in_(part))
        found.update((key, number) for key, number in connection.execute(chosen))
    return found


def parts(values: Iterable[Any], most: int = AT_ONCE) -> Iterable[list[Any]]:
    """Cut values into as many as one question takes."""
    whole = list(values)
    return (whole[start : start + most] for start in range(0, len(whole), most))
