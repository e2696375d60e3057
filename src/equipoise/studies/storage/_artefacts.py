"""Arrays and histories as they are kept, and damage to them that the database does not notice.

They are packed in the database, or in a file beside it if they are large. Checksums find what was changed since, and
which trials must run again.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, write_file
from equipoise.studies.plans import Trial
from equipoise.studies.storage._database import StoreLocation, present, sql, tables
from equipoise.studies.storage._labels import PREDICTED, EvaluationLabels, Names, decoded
from equipoise.studies.storage._planning import description_of, parts, trial_from
from equipoise.training import Epoch, Predicted

if TYPE_CHECKING:
    from sqlalchemy import Connection


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"The folder {str(folder)!r} cannot be created ({error.strerror})", help="name one that you may write to."
        ) from error


def write_durably(path: Path, content: bytes) -> None:
    """Write a file whole and wait until the disk has its bytes and its name."""
    write_file(path, content, announced=False)
    if hasattr(os, "O_DIRECTORY"):  # elsewhere a folder cannot be waited for
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# Bytes, compressed, of what the database itself holds.
MOST_IN_DATABASE = 4 * 1024**2
# Runs and frequencies of bytes: of zlib's ways the one that packs codes of classes about as small as level 6 in a fifth
# of its time. Scores become a tenth smaller at ten times the cost, and are not packed.
LEVEL, STRATEGY = 1, zlib.Z_RLE
ARRAY = "array"
# What a trial that failed left behind, under this name.
TRACEBACK = "traceback"
# Further arrays of a trial stand under this and their own name, which may become part of a file's name.
ARRAY_PREFIX = "kept."
NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")
LONGEST_NAME = 100
AGAIN = "equipoise study run PLAN trains what is damaged again; or restore a copy of the store."
# What rounding may leave of 1 where float32 probabilities are added up.
ROUNDING = np.float32(2**-22)


@dataclass(frozen=True)
class Artefact:
    """What is kept under a name: the bytes themselves, or the file that holds them, and their hash.

    Bytes in the database that an earlier version wrote have none; what they were packed with notices damage as well.
    """

    size: int
    content: bytes | None
    file: str | None = None
    digest: str | None = None


@dataclass(frozen=True)
class ArtefactStore:
    """Where artefacts go that are too large for the database; None where no folder is known."""

    folder: Path | None

    @classmethod
    def for_store(cls, location: StoreLocation, folder: str | os.PathLike[str] | None) -> ArtefactStore:
        """Return the folder that was named, or the one beside a store that is a file."""
        if folder is not None:
            return cls(Path(folder))
        return cls(None if location.path is None else location.path.with_name(location.path.name + ".artefacts"))

    def pack(self, key: str, name: str, array: NDArray[Any]) -> Artefact:
        """Pack an array; a large one is written to a file now, before any row names it."""
        content = packed(array)
        digest = hashlib.sha256(content).hexdigest()
        if len(content) <= MOST_IN_DATABASE:
            return Artefact(len(content), content, digest=digest)
        file = f"{key[:2]}/{key}.{name}.{digest[:16]}"
        path = self._folder() / file
        if not path.exists() or path.read_bytes() != content:  # one that was damaged is written anew
            make_folder(path.parent)
            write_durably(path, content)
        return Artefact(len(content), None, file, digest)

    def read(self, artefact: Artefact, what: str) -> NDArray[Any]:
        """Unpack an array, from the row or from the file that it names."""
        if artefact.content is not None:
            return unpacked(artefact.content, what)
        if artefact.file is None:
            raise BadInput(f"{what} is damaged: the store names no file of it", help=AGAIN)
        path = self._folder() / artefact.file
        try:
            content = path.read_bytes()
        except OSError as error:
            raise BadInput(
                f"{what} should be in the file {str(path)!r}, which cannot be read ({error.strerror})",
                help="restore the folder of artefacts, or name it with --artefacts.",
            ) from error
        if hashlib.sha256(content).hexdigest() != artefact.digest:
            raise BadInput(f"{what} in the file {str(path)!r} is not what was written there", help="restore the file.")
        return unpacked(content, what)

    def is_damaged(self, artefact: Artefact, *, read_files: bool = True) -> bool:
        """Tell whether an array is not what was written; of a file that is not there nothing is known.

        Without ``read_files`` only the length of a file is compared: those of all trials may be more than a disk reads
        in an hour.
        """
        content = artefact.content
        if content is None and artefact.file is not None:
            try:
                path = self._folder() / artefact.file
                if path.stat().st_size != artefact.size or not read_files:
                    return path.stat().st_size != artefact.size
                content = path.read_bytes()
            except (OSError, BadInput):
                return False
        if not isinstance(content, bytes):
            return True
        if artefact.digest is not None:
            return hashlib.sha256(content).hexdigest() != artefact.digest
        try:
            unpacked(content, "An array")
        except BadInput:
            return True
        return False

    def _folder(self) -> Path:
        if self.folder is None:
            raise BadInput(
                f"Predictions of more than {MOST_IN_DATABASE:,} bytes need a folder, and none was given",
                help="name one that every worker can reach: --artefacts DIR.",
            )
        return self.folder


def packed(array: NDArray[Any]) -> bytes:
    """Return an array as safetensors, compressed where it holds codes: numbers would hardly become smaller."""
    from safetensors.numpy import save

    codes = array.dtype.kind in "iu"
    packer = zlib.compressobj(LEVEL if codes else 0, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, STRATEGY)
    return packer.compress(save({ARRAY: _small(array) if codes else np.ascontiguousarray(array)})) + packer.flush()


def unpacked(whole: bytes, what: str) -> NDArray[Any]:
    """Read back what ``packed`` wrote; codes are wide again."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        array: NDArray[Any] = load(zlib.decompress(whole))[ARRAY]
    except (zlib.error, SafetensorError, KeyError, TypeError) as error:
        raise BadInput(f"{what} is damaged ({error})", help=AGAIN) from error
    return array.astype(np.int64) if array.dtype.kind in "iu" else array


def _small(codes: NDArray[Any]) -> NDArray[Any]:
    """Return codes in as few bytes as they need."""
    lowest, highest = (int(codes.min()), int(codes.max())) if len(codes) else (0, 0)
    kind = np.uint8 if highest < 1 << 8 else np.uint16 if highest < 1 << 16 else np.int64
    return codes.astype(np.int64 if lowest < 0 else kind)


def arrays_of(split: str, predicted: Predicted) -> dict[str, NDArray[Any]]:
    """Return the arrays of predictions by the names they are kept under.

    Of the probabilities of two classes the second says both, to the last digit or nearly so, in half the room.
    """
    arrays = {split: np.asarray(predicted.values)}
    if predicted.scores is not None:
        scores = np.asarray(predicted.scores)
        arrays[f"{split}.scores"] = scores[:, 1] if _are_two(scores) else scores
    return arrays


def array_name(name: str) -> str:
    """Return the name that a further array of a trial is kept under; one that is no plain name is refused."""
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise BadInput(
            f"An array of a trial is named {name[:LONGEST_NAME]!r}",
            available="small letters, digits and _, parts separated by dots, such as embedding.test",
        )
    return ARRAY_PREFIX + name


def checked_array(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is kept under a plain name: numbers, whole ones as int64."""
    array_name(name)
    numbers = np.asarray(array)
    if numbers.dtype.kind not in "iuf":
        raise BadInput(f"The array {name!r} of a trial holds {numbers.dtype}", available="numbers")
    return numbers.astype(np.int64, copy=False) if numbers.dtype.kind in "iu" else numbers


def text_array(text: str) -> NDArray[np.uint8]:
    """Return a text as an array that can be kept."""
    return np.frombuffer(text.encode("utf-8", "replace"), dtype=np.uint8)


def text_of(array: NDArray[Any]) -> str:
    """Return the text that ``text_array`` made an array of."""
    return array.astype(np.uint8).tobytes().decode("utf-8", "replace")


def predicted_of(split: str, arrays: Mapping[str, NDArray[Any]]) -> Predicted:
    """Put together what ``arrays_of`` took apart."""
    scores = arrays.get(f"{split}.scores")
    if scores is not None and scores.ndim == 1:
        scores = np.stack([1 - scores, scores], axis=1)
    return Predicted(arrays[split], scores)


def _are_two(scores: NDArray[Any]) -> bool:
    """Tell whether scores are the probabilities of two classes: they add up to 1 in every row."""
    if scores.ndim != 2 or scores.shape[1] != 2 or scores.dtype != np.float32:
        return False
    return bool((np.abs(scores[:, 0] + scores[:, 1] - np.float32(1)) <= ROUNDING).all() and (scores >= 0).all())


# number, loss, performance, fairness
COLUMNS = 4


def history_array(history: Sequence[Epoch]) -> NDArray[np.float64]:
    """Return a row an epoch."""
    rows = [(epoch.number, epoch.loss, epoch.performance, epoch.fairness) for epoch in history]
    return np.array(rows, dtype="<f8").reshape(-1, COLUMNS)


def history_of(rows: NDArray[np.float64]) -> tuple[Epoch, ...]:
    """Read back what ``history_array`` made."""
    return tuple(
        Epoch(int(number), loss, performance, fairness) for number, loss, performance, fairness in rows.tolist()
    )


def history_bytes(history: Sequence[Epoch]) -> bytes | None:
    """Return the epochs as bytes, None where there are none."""
    return history_array(history).tobytes() if history else None


def history_from(content: bytes | None) -> tuple[Epoch, ...]:
    """Read back what ``history_bytes`` made."""
    return history_of(history_table(content))


def history_table(content: bytes | None) -> NDArray[np.float64]:
    """Read back what ``history_bytes`` made as a table, a row an epoch."""
    return np.frombuffer(content or b"", dtype="<f8").reshape(-1, COLUMNS)


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
    for value in what:
        content = (
            b"" if value is None else value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        )
        digest.update(b"-" if value is None else f"{len(content)}:".encode())
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


def damaged_trials(connection: Connection, plan: str, artefact_store: ArtefactStore) -> dict[str, Damage]:
    """Return the ended trials of a plan of which something is damaged, by key, and what."""
    schema, select = tables(), sql().select
    trial, detail, place = schema.trials.c, schema.details.c, schema.places.c
    joined = schema.places.join(schema.trials, place.trial == trial.id).join(schema.details, detail.trial == trial.id)
    ended = select(trial.id, trial.key, trial.state).select_from(joined)
    ended = ended.where(place.plan == plan, trial.state.in_(["done", "failed"])).order_by(trial.id)
    trials = connection.execute(ended).all()
    damages: dict[str, Damage] = {}
    columns = (
        trial.key, detail.cohort, detail.described, detail.best_epoch, detail.notes, detail.failure, detail.history,
        trial.seconds,
        trial.environment, present(connection, detail.checksum),
    )  # fmt: skip
    for part in parts([number for number, _, _ in trials]):
        chosen = (
            select(*columns)
            .select_from(schema.trials.join(schema.details, detail.trial == trial.id))
            .where(trial.id.in_(part))
        )
        for row in connection.execute(chosen):
            try:
                trial_from(row.described, row.key, verify=True)
            except BadInput:
                damages[row.key] = Damage.DESCRIPTION
                continue
            if are_details_damaged(row):
                damages[row.key] = Damage.DETAILS
    done = {number: key for number, key, state in trials if state == "done" and key not in damages}
    damages |= dict.fromkeys(damaged_counts(connection, done), Damage.COUNTS)
    undamaged = {number: key for number, key in done.items() if key not in damages}
    return damages | dict.fromkeys(damaged_predictions(connection, undamaged, artefact_store), Damage.PREDICTIONS)


def damaged_counts(connection: Connection, trials: Mapping[int, str]) -> Iterator[str]:
    """Yield the keys of trials, given by number, whose counts are damaged or missing."""
    readout = tables().readouts.c
    chosen = sql().select(
        readout.trial, readout.split, readout.kind, readout.shape, readout.counts, present(connection, readout.checksum)
    )
    for part in parts(trials):
        intact_splits: dict[int, set[str]] = {number: set() for number in part}
        for number, split, *rest in connection.execute(chosen.where(readout.trial.in_(part))):
            if not is_readout_damaged(trials[number], split, *rest):
                intact_splits[number].add(split)
        yield from (trials[number] for number, splits in intact_splits.items() if not splits >= set(PREDICTED))


def damaged_predictions(
    connection: Connection, trials: Mapping[int, str], artefact_store: ArtefactStore
) -> Iterator[str]:
    """Yield the keys of trials, given by number, of which an array is damaged, or predictions are missing."""
    column = tables().artefacts.c
    chosen = sql().select(column.trial, column.name, column.size, column.content, column.file, column.digest)
    for part in parts(trials, FEW):
        present_names: dict[int, set[str]] = {number: set() for number in part}
        damaged: set[int] = set()
        for number, name, *artefact in connection.execute(chosen.where(column.trial.in_(part))):
            present_names[number].add(name)
            if artefact_store.is_damaged(Artefact(*artefact), read_files=name in PREDICTED):
                damaged.add(number)
        yield from (
            trials[number]
            for number, names_present in present_names.items()
            if number in damaged or not names_present >= set(PREDICTED)
        )


def reset_to_waiting(connection: Connection, trials: Sequence[Trial]) -> int:
    """Let ended trials wait as if they had never run, described anew; return how many they were."""
    schema = tables()
    described = {trial.key: trial for trial in trials}
    numbers: dict[int, Trial] = {}
    for part in parts(described):
        trial_column = schema.trials.c
        chosen = (
            sql()
            .select(trial_column.id, trial_column.key)
            .where(trial_column.key.in_(part), trial_column.state.in_(["done", "failed"]))
        )
        numbers |= {number: described[key] for number, key in connection.execute(chosen.with_for_update())}
    for part in parts(numbers):
        for table in (schema.readouts, schema.artefacts):
            connection.execute(table.delete().where(table.c.trial.in_(part)))
        for number in part:
            described_anew = {"cohort": numbers[number].cohort, "described": description_of(numbers[number])}
            empty = {"best_epoch": 0, "notes": "[]", "failure": None, "history": None, "checksum": None}
            connection.execute(
                schema.details.update().where(schema.details.c.trial == number).values(described_anew | empty)
            )
        waiting = {"state": "waiting", "owner": None, "until": None, "seconds": 0.0, "ended": None, "environment": None}
        connection.execute(schema.trials.update().where(schema.trials.c.id.in_(part)).values(waiting))
    return len(numbers)


def names_from(connection: Connection, cohort: str, truth: EvaluationLabels | None) -> Names:
    """Return what the places of readouts of a cohort mean; where that is damaged, the truth says it again."""
    cohort_column = tables().cohorts.c
    chosen = (
        sql()
        .select(cohort_column.digest, cohort_column.names, present(connection, cohort_column.checksum))
        .where(cohort_column.cohort == cohort)
    )
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


def restore_names(connection: Connection, truth: EvaluationLabels) -> None:
    """Write what the places of readouts mean once more, where it is not what was written."""
    cohorts = tables().cohorts
    names = truth.names.to_json()
    right = {"names": names, "checksum": checksum(truth.cohort, truth.digest, names)}
    same = (cohorts.c.cohort == truth.cohort) & (cohorts.c.digest == truth.digest)
    connection.execute(cohorts.update().where(same, cohorts.c.names != names).values(right))
