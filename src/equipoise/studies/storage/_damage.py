"""Damage to a store that its database does not notice: checksums, and trials that must run again."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.studies.storage._artefacts import Artefact, Keeping, history_from
from equipoise.studies.storage._database import present, sql, tables
from equipoise.studies.storage._labels import PREDICTED, Names, Truth, decoded
from equipoise.studies.storage._planning import description_of, parts, trial_from
from equipoise.studies.trial import Trial

if TYPE_CHECKING:
    from sqlalchemy import Connection


# Trials whose predictions are looked at in one question: each may have megabytes.
FEW = 50


class Damage(StrEnum):
    """What of a trial is damaged."""

    DESCRIPTION = "its description"
    DETAILS = "its history, notes or times"
    COUNTS = "its counts"
    PREDICTIONS = "its predictions"


def checksum(*what: str | bytes | float | None) -> str:
    """Return a checksum of some values in order, 16 hexadecimal digits."""
    digest = hashlib.blake2b(digest_size=8)
    for one in what:
        content = b"" if one is None else one if isinstance(one, bytes) else str(one).encode("utf-8", "surrogatepass")
        digest.update(b"-" if one is None else f"{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()


def details_checksum(row: Any) -> str:
    """Return the checksum of what is known of a trial that ended, by the names of the columns."""
    return checksum(
        row.key, row.cohort, row.described, row.best_epoch, row.notes, row.failure, row.history,
        _number(row.seconds), row.environment,
    )  # fmt: skip


def _number(value: Any) -> str | None:
    """Return a number in the one way in which databases give it back."""
    return None if value is None else repr(float(value)) if isinstance(value, int | float) else str(value)


def readout_checksum(key: str, split: str, kind: str, shape: str, counts: bytes) -> str:
    """Return the checksum of a trial's counts on one split."""
    return checksum(key, split, kind, shape, counts)


def are_details_damaged(row: Any) -> bool:
    """Tell whether history, notes or anything else of a trial that ended is not what was written."""
    if row.checksum is not None:
        return bool(row.checksum != details_checksum(row))
    try:
        history_from(row.history)
        notes = json.loads(row.notes)
        return not isinstance(notes, list) or not math.isfinite(row.seconds)
    except (TypeError, ValueError):
        return True


def is_readout_damaged(key: str, split: str, kind: Any, shape: Any, counts: Any, known: str | None) -> bool:
    """Tell whether counts are not what was written, or (of earlier versions) cannot be read."""
    if not isinstance(counts, bytes):
        return True
    if known is not None:
        return known != readout_checksum(key, split, kind, shape, counts)
    try:
        decoded(kind, [int(length) for length in json.loads(shape)], [counts])
    except (TypeError, ValueError, zlib.error):  # BadInput is a ValueError
        return True
    return False


def damaged_trials(connection: Connection, plan: str, keeping: Keeping) -> dict[str, Damage]:
    """Return the ended trials of a plan of which something is damaged, by key, and what."""
    made, select = tables(), sql().select
    one, more, place = made.trials.c, made.details.c, made.places.c
    joined = made.places.join(made.trials, place.trial == one.id).join(made.details, more.trial == one.id)
    ended = select(one.id, one.key, one.state).select_from(joined)
    ended = ended.where(place.plan == plan, one.state.in_(["done", "failed"])).order_by(one.id)
    trials = connection.execute(ended).all()
    found: dict[str, Damage] = {}
    columns = (
        one.key, more.cohort, more.described, more.best_epoch, more.notes, more.failure, more.history, one.seconds,
        one.environment, present(connection, more.checksum),
    )  # fmt: skip
    for part in parts([number for number, _, _ in trials]):
        chosen = (
            select(*columns).select_from(made.trials.join(made.details, more.trial == one.id)).where(one.id.in_(part))
        )
        for row in connection.execute(chosen):
            try:
                trial_from(row.described, row.key, verify=True)
            except BadInput:
                found[row.key] = Damage.DESCRIPTION
                continue
            if are_details_damaged(row):
                found[row.key] = Damage.DETAILS
    done = {number: key for number, key, state in trials if state == "done" and key not in found}
    found |= dict.fromkeys(damaged_counts(connection, done), Damage.COUNTS)
    left = {number: key for number, key in done.items() if key not in found}
    return found | dict.fromkeys(damaged_predictions(connection, left, keeping), Damage.PREDICTIONS)


def damaged_counts(connection: Connection, trials: Mapping[int, str]) -> Iterator[str]:
    """Yield the keys of trials, given by number, whose counts are damaged or missing."""
    kept = tables().readouts.c
    chosen = sql().select(
        kept.trial, kept.split, kept.kind, kept.shape, kept.counts, present(connection, kept.checksum)
    )
    for part in parts(trials):
        whole: dict[int, set[str]] = {number: set() for number in part}
        for number, split, *rest in connection.execute(chosen.where(kept.trial.in_(part))):
            if not is_readout_damaged(trials[number], split, *rest):
                whole[number].add(split)
        yield from (trials[number] for number, splits in whole.items() if not splits >= set(PREDICTED))


def damaged_predictions(connection: Connection, trials: Mapping[int, str], keeping: Keeping) -> Iterator[str]:
    """Yield the keys of trials, given by number, of which an array is damaged, or predictions are missing."""
    kept = tables().artefacts.c
    chosen = sql().select(kept.trial, kept.name, kept.size, kept.content, kept.file, kept.digest)
    for part in parts(trials, FEW):
        there: dict[int, set[str]] = {number: set() for number in part}
        bad: set[int] = set()
        for number, name, *artefact in connection.execute(chosen.where(kept.trial.in_(part))):
            there[number].add(name)
            if keeping.is_damaged(Artefact(*artefact), read_files=name in PREDICTED):
                bad.add(number)
        yield from (trials[number] for number, own in there.items() if number in bad or not own >= set(PREDICTED))


def let_wait_again(connection: Connection, trials: Sequence[Trial]) -> int:
    """Let ended trials wait as if they had never run, described anew; return how many they were."""
    made = tables()
    described = {trial.key: trial for trial in trials}
    numbers: dict[int, Trial] = {}
    for part in parts(described):
        one = made.trials.c
        chosen = sql().select(one.id, one.key).where(one.key.in_(part), one.state.in_(["done", "failed"]))
        numbers |= {number: described[key] for number, key in connection.execute(chosen.with_for_update())}
    for part in parts(numbers):
        for table in (made.readouts, made.artefacts):
            connection.execute(table.delete().where(table.c.trial.in_(part)))
        for number in part:
            own = {"cohort": numbers[number].cohort, "described": description_of(numbers[number])}
            empty = {"best_epoch": 0, "notes": "[]", "failure": None, "history": None, "checksum": None}
            connection.execute(made.details.update().where(made.details.c.trial == number).values(own | empty))
        waiting = {"state": "waiting", "owner": None, "until": None, "seconds": 0.0, "ended": None, "environment": None}
        connection.execute(made.trials.update().where(made.trials.c.id.in_(part)).values(waiting))
    return len(numbers)


def names_from(connection: Connection, cohort: str, truth: Truth | None) -> Names:
    """Return what the places of readouts of a cohort mean; where that is damaged, the truth says it again."""
    kept = tables().cohorts.c
    chosen = sql().select(kept.digest, kept.names, present(connection, kept.checksum)).where(kept.cohort == cohort)
    row = connection.execute(chosen).first()
    try:
        if row is not None and row.checksum in (None, checksum(cohort, row.digest, row.names)):
            return Names.from_json(row.names)
    except (TypeError, ValueError, KeyError):
        pass
    if truth is not None and truth.cohort == cohort:
        return truth.names
    raise BadInput(
        "The names of classes and groups in the store are damaged",
        help="restore a copy of the store, or report with the plan, which has them too.",
    )


def restore_names(connection: Connection, truth: Truth) -> None:
    """Write what the places of readouts mean once more, where it is not what was written."""
    kept = tables().cohorts
    names = truth.names.to_json()
    right = {"names": names, "checksum": checksum(truth.cohort, truth.digest, names)}
    same = (kept.c.cohort == truth.cohort) & (kept.c.digest == truth.digest)
    connection.execute(kept.update().where(same, kept.c.names != names).values(right))
