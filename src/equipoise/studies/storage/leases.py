"""Leases: who works on which trials, and until when. A lease that ran out is anybody's again.

Only the holder of a lease may record, so that a trial is recorded once however many workers began it. Rows are locked
in one order, so that workers of a database that locks rows wait for each other and never both get a stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.studies.storage.planning import trial_from
from equipoise.studies.storage.tables import sql, tables
from equipoise.studies.trial import Trial

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
    made, select = tables(), sql().select
    trials, places, details = made.trials, made.places, made.details
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
