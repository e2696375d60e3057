"""Trials into a store: new ones wait, known ones stay as they are, and each has its place in the plan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.studies.storage.tables import insert_new, sql, tables
from equipoise.studies.trial import Trial, canonical, trial_of

if TYPE_CHECKING:
    from sqlalchemy import Connection

# How many values one question to the database names; every database takes as many.
AT_ONCE = 500


def plan(connection: Connection, name: str, trials: Sequence[tuple[Trial, int, str]]) -> int:
    """Make these (trial, stack, cell) the plan of this name; return how many trials the store did not know."""
    keys = [trial.key for trial, _, _ in trials]
    if len(set(keys)) < len(keys):
        twice = next(trial for place, (trial, _, _) in enumerate(trials) if trial.key in keys[:place])
        raise BadInput(
            f"The plan has one trial twice: {twice.treatment} with seed {twice.seed} and repeat {twice.repeat}",
            way_out="name each condition, treatment and seed once.",
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
    return len(new)


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
                "described": canonical(asdict(trial)),
                "best_epoch": 0,
                "notes": "[]",
            }
            for trial in trials
        ],
    )
    return known


def trial_from(described: str, key: str) -> Trial:
    """Make a trial again, under the key it was written with: the hash need not be made again."""
    trial = trial_of(json.loads(described))
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


def parts(values: Iterable[Any]) -> Iterable[list[Any]]:
    """Cut values into as many as one question takes."""
    whole = list(values)
    return (whole[start : start + AT_ONCE] for start in range(0, len(whole), AT_ONCE))
