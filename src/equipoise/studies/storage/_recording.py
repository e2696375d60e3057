"""How trials ended, into the store: a whole stack in one transaction, and no finished trial twice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    listing,
)
from equipoise.studies.plans import Recorded, canonical
from equipoise.studies.storage._artefacts import (
    TRACEBACK,
    Artefact,
    ArtefactStore,
    array_name,
    arrays_of,
    checked_array,
    checksum,
    details_checksum,
    history_bytes,
    readout_checksum,
    text_array,
)
from equipoise.studies.storage._database import insert_new, sql, tables
from equipoise.studies.storage._labels import PREDICTED, Encoded, EvaluationLabels, encoded, readout
from equipoise.studies.storage._planning import add_waiting, parts
from equipoise.studies.storage._queries import Written

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, eq=False)
class PreparedTrial:
    """A trial as rows of the store: its readouts by split, and its artefacts by name."""

    recorded: Recorded
    readouts: Mapping[str, Encoded] = field(default_factory=dict)
    artefacts: Mapping[str, Artefact] = field(default_factory=dict)


def prepare_trials(
    recorded: Sequence[Recorded], truth: EvaluationLabels, artefact_store: ArtefactStore
) -> list[PreparedTrial]:
    """Count and pack what trials predicted; what does not fit the truth is refused before anything is written."""
    return [_prepared(one, truth, artefact_store) for one in recorded]


def prepare_each_trial(
    recorded: Sequence[Recorded], truth: EvaluationLabels, artefact_store: ArtefactStore
) -> tuple[list[PreparedTrial], dict[str, str]]:
    """Do the same for each trial by itself: those that fit, and by key in words why the others do not."""
    fit, refused = [], {}
    for trial_recorded in recorded:
        try:
            fit.append(_prepared(trial_recorded, truth, artefact_store))
        except BadInput as error:
            refused[trial_recorded.trial.key] = error.given
    return fit, refused


def _prepared(recorded: Recorded, truth: EvaluationLabels, artefact_store: ArtefactStore) -> PreparedTrial:
    trial = recorded.trial
    if trial.cohort != truth.cohort:
        raise BadInput(
            f"The trial {trial.key} was trained on another cohort ({trial.cohort}) than the one it is judged by "
            f"({truth.cohort})",
            help="evaluate it on the data it was trained on: the file may have changed.",
        )
    if recorded.state == "failed":
        failed_record = replace(recorded, predictions={}, arrays={}, failure=recorded.failure or "no reason was given")
        text = recorded.traceback
        return PreparedTrial(
            failed_record,
            artefacts={TRACEBACK: artefact_store.pack(trial.key, TRACEBACK, text_array(text))} if text else {},
        )
    absent = [split for split in PREDICTED if split not in recorded.predictions]
    if absent:
        raise BadInput(f"The trial {trial.key} is done, but has no predictions for {listing(absent)}")
    predictions = {split: recorded.predictions[split] for split in PREDICTED}
    if any(
        prediction.values.dtype.kind == "f" and not _finite(prediction.values) for prediction in predictions.values()
    ):
        words = "Some predicted numbers are not finite: the training did not converge."
        return PreparedTrial(replace(recorded, state="failed", predictions={}, arrays={}, failure=words))
    return PreparedTrial(
        recorded,
        {split: encoded(readout(predicted, truth, split)) for split, predicted in predictions.items()},
        {
            name: artefact_store.pack(trial.key, name, array)
            for split, predicted in predictions.items()
            for name, array in arrays_of(split, predicted).items()
        }
        | {array_name(name): _keep(artefact_store, trial.key, name, array) for name, array in recorded.arrays.items()},
    )


def _keep(artefact_store: ArtefactStore, key: str, name: str, array: Any) -> Artefact:
    return artefact_store.pack(key, array_name(name), checked_array(name, array))


def _finite(values: Any) -> bool:
    import numpy as np

    return bool(np.isfinite(values).all())


def record(
    connection: Connection, owner: str, handed: Sequence[PreparedTrial], truth: EvaluationLabels, *, now: float
) -> Written:
    """Record the trials that the owner still holds; the others are refused with the reason."""
    trials = tables().trials
    held, refused = {}, {}
    for key, number, state, holder in _states(connection, handed):
        if state == "running" and holder == owner:
            held[key] = number
        elif state in ("done", "failed"):
            refused[key] = f"it is {state} already"
        else:
            refused[key] = f"{owner} does not hold its lease" + (f": {holder} took it over" if holder else "")
    unknown = {handed_trial.recorded.trial.key for handed_trial in handed} - set(held) - set(refused)
    refused |= dict.fromkeys(unknown, "it is not in the store")
    chosen = [handed_trial for handed_trial in handed if handed_trial.recorded.trial.key in held]
    _write(connection, chosen, held, truth, now, (trials.c.state == "running") & (trials.c.owner == owner))
    return Written(tuple(held), refused=refused)


def add(
    connection: Connection,
    handed: Sequence[PreparedTrial],
    refused: Mapping[str, str],
    truth: EvaluationLabels,
    *,
    now: float,
) -> Written:
    """Record trials that ran elsewhere, whoever holds them; a done one stays, a failed one gives way to a done one."""
    add_waiting(connection, [handed_trial.recorded.trial for handed_trial in handed])
    state_by_key = {key: (number, state) for key, number, state, _ in _states(connection, handed)}
    chosen: dict[str, PreparedTrial] = {}
    for handed_trial in handed:
        key = handed_trial.recorded.trial.key
        finished = ("done",) if handed_trial.recorded.state == "done" else ("done", "failed")
        if state_by_key[key][1] not in finished:
            chosen.setdefault(key, handed_trial)
    ids = {key: number for key, (number, _) in state_by_key.items()}
    _forget_tracebacks(connection, [ids[key] for key in chosen])
    _write(connection, list(chosen.values()), ids, truth, now, tables().trials.c.state != "done")
    return Written(tuple(chosen), tuple(key for key in state_by_key if key not in chosen), refused)


def forget_failed(connection: Connection, plan: str) -> int:
    """Let the failed trials of a plan wait again, without the reason they failed for."""
    schema, select = tables(), sql().select
    mine = select(schema.places.c.trial).where(schema.places.c.plan == plan)
    chosen = select(schema.trials.c.id).where(schema.trials.c.state == "failed", schema.trials.c.id.in_(mine))
    numbers = [number for (number,) in connection.execute(chosen.order_by(schema.trials.c.id).with_for_update())]
    _forget_tracebacks(connection, numbers)
    for part in parts(numbers):
        details = schema.details.update().where(schema.details.c.trial.in_(part))
        connection.execute(details.values(best_epoch=0, notes="[]", failure=None, history=None, checksum=None))
        trials = schema.trials.update().where(schema.trials.c.id.in_(part), schema.trials.c.state == "failed")
        connection.execute(trials.values(state="waiting", seconds=0.0, ended=None, environment=None))
    return len(numbers)


def _forget_tracebacks(connection: Connection, numbers: Sequence[int]) -> None:
    """Take away what trials left when they failed: they wait again, or have ended well."""
    artefacts = tables().artefacts
    for part in parts(numbers):
        connection.execute(artefacts.delete().where(artefacts.c.trial.in_(part), artefacts.c.name == TRACEBACK))


def _states(connection: Connection, handed: Sequence[PreparedTrial]) -> list[Any]:
    """Return (key, number, state, owner) of trials, locked until the transaction ends."""
    trials = tables().trials
    rows: list[Any] = []
    for part in parts(sorted({handed_trial.recorded.trial.key for handed_trial in handed})):
        chosen = sql().select(trials.c.key, trials.c.id, trials.c.state, trials.c.owner).where(trials.c.key.in_(part))
        rows += connection.execute(chosen.order_by(trials.c.id).with_for_update()).all()
    return rows


def _write(
    connection: Connection,
    handed: Sequence[PreparedTrial],
    ids: Mapping[str, int],
    truth: EvaluationLabels,
    now: float,
    guard: Any,
) -> None:
    """Write what trials left, and end them where the guard still holds; it must hold for all of them."""
    if not handed:
        return
    schema, bound = tables(), sql().bindparam
    _know_cohort(connection, truth)
    described = {
        id(handed_trial.recorded.environment): handed_trial.recorded.environment for handed_trial in handed
    }  # one a stack, as a rule
    texts = {environment_id: canonical(environment) for environment_id, environment in described.items()}
    environments = {_digest(text): text for text in texts.values()}
    connection.execute(
        insert_new(connection, schema.environments),
        [{"environment": digest, "described": text} for digest, text in environments.items()],
    )
    ended = schema.trials.update().where(schema.trials.c.id == bound("number"), guard).values(
        state=bound("to_state"), owner=None, until=None, seconds=bound("took"), ended=now, environment=bound("ran_in")
    )  # fmt: skip
    written = connection.execute(
        ended, [_trial_row(handed_trial.recorded, ids, texts) for handed_trial in handed]
    ).rowcount
    if written != len(handed):
        raise EquipoiseError(f"{len(handed) - written} trials were recorded by another process at the same time.")
    details = schema.details.update().where(schema.details.c.trial == bound("number")).values(
        best_epoch=bound("best"), notes=bound("noted"), failure=bound("reason"), history=bound("epochs"),
        checksum=bound("sum"),
    )  # fmt: skip
    descriptions = _descriptions(connection, [ids[handed_trial.recorded.trial.key] for handed_trial in handed])
    connection.execute(
        details, [_detail_row(handed_trial.recorded, ids, texts, descriptions) for handed_trial in handed]
    )
    readouts = [row for handed_trial in handed for row in _readout_rows(handed_trial, ids)]
    artefacts = [row for handed_trial in handed for row in _artefact_rows(handed_trial, ids)]
    if readouts:
        connection.execute(schema.readouts.insert(), readouts)
    if artefacts:
        connection.execute(schema.artefacts.insert(), artefacts)


def _know_cohort(connection: Connection, truth: EvaluationLabels) -> None:
    """Keep what the places of readouts mean; one cohort has one truth."""
    cohorts = tables().cohorts
    names = truth.names.to_json()
    row = {"cohort": truth.cohort, "digest": truth.digest, "names": names}
    row["checksum"] = checksum(truth.cohort, truth.digest, names)
    connection.execute(insert_new(connection, cohorts), [row])
    known = connection.execute(sql().select(cohorts.c.digest).where(cohorts.c.cohort == truth.cohort)).scalar_one()
    if known != truth.digest:
        raise BadInput(
            f"The store counted trials of the cohort {truth.cohort} with other targets, groups or classes",
            help="use another store, or the earlier cohort.",
        )


def _trial_row(recorded: Recorded, ids: Mapping[str, int], texts: Mapping[int, str]) -> dict[str, Any]:
    ran_in = _digest(texts[id(recorded.environment)])
    return {
        "number": ids[recorded.trial.key],
        "to_state": recorded.state,
        "took": float(recorded.seconds),
        "ran_in": ran_in,
    }


def _descriptions(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return cohort and description of trials as they stand in the store, by number."""
    detail = tables().details.c
    descriptions: dict[int, tuple[str, str]] = {}
    for part in parts(numbers):
        chosen = sql().select(detail.trial, detail.cohort, detail.described).where(detail.trial.in_(part))
        descriptions |= {number: (cohort, described) for number, cohort, described in connection.execute(chosen)}
    return descriptions


def _detail_row(
    recorded: Recorded, ids: Mapping[str, int], texts: Mapping[int, str], known: Mapping[int, tuple[str, str]]
) -> dict[str, Any]:
    number = ids[recorded.trial.key]
    # An error may quote anything, and no text of PostgreSQL holds a zero byte.
    reason = recorded.failure and recorded.failure.replace("\0", "\N{REPLACEMENT CHARACTER}")
    notes, history = json.dumps(recorded.notes), history_bytes(recorded.history)
    cohort, described = known[number]
    row = SimpleNamespace(
        key=recorded.trial.key, cohort=cohort, described=described, best_epoch=recorded.best_epoch, notes=notes,
        failure=reason,
        history=history, seconds=float(recorded.seconds), environment=_digest(texts[id(recorded.environment)]),
    )  # fmt: skip
    return {
        "number": number, "best": recorded.best_epoch, "noted": notes, "reason": reason, "epochs": history,
        "sum": details_checksum(row),
    }  # fmt: skip


def _readout_rows(handed_trial: PreparedTrial, ids: Mapping[str, int]) -> list[dict[str, Any]]:
    key = handed_trial.recorded.trial.key
    rows = []
    for split, readout_of_split in handed_trial.readouts.items():
        shape = json.dumps(readout_of_split.shape)
        digest = readout_checksum(key, split, readout_of_split.kind, shape, readout_of_split.content)
        rows.append(
            {
                "trial": ids[key], "split": split, "kind": readout_of_split.kind, "shape": shape,
                "counts": readout_of_split.content,
                "checksum": digest,
            }
        )  # fmt: skip
    return rows


def _artefact_rows(handed_trial: PreparedTrial, ids: Mapping[str, int]) -> list[dict[str, Any]]:
    number = ids[handed_trial.recorded.trial.key]
    return [{"trial": number, "name": name, **vars(artefact)} for name, artefact in handed_trial.artefacts.items()]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
