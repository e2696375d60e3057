"""A study without a store: every trial becomes a file in a folder, which a store takes in later."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation import BadInput, fingerprint_of
from equipoise.studies.plans import IDENTITY, Recorded, Stack, Trial, canonical, trainings_of, trial_of
from equipoise.studies.running._environment import check_device
from equipoise.studies.running._own_function import OwnWork
from equipoise.studies.running._progress import Watcher, Within, standing
from equipoise.studies.running._running import trained, within_stack
from equipoise.studies.running._work import Work
from equipoise.studies.storage import (
    ARRAY_PREFIX,
    COLUMNS,
    CellStatus,
    EvaluationLabels,
    Status,
    Store,
    array_name,
    checked_array,
    history_array,
    history_of,
    make_folder,
    write_durably,
)
from equipoise.training import Predicted, needs_scores

ENDING = ".safetensors"
# Raised when files come to say something else; readers refuse what they do not know.
FORMAT = 1
# The entry of the header that says what the trial is and how it ended.
ENTRY = "equipoise.trial"
SPLITS = ("dev", "test")
MOST_HEADER = 16 * 1024**2
DAMAGED = "copy or write the file again; missing trials are trained again."

Tensors = Mapping[str, NDArray[Any]]


def trial_file(folder: Path, key: str) -> Path:
    """Return where the trial of a key is, or will be."""
    return folder / f"{key}{ENDING}"


def written_keys(folder: Path) -> set[str]:
    """Return the keys that the files of a folder are named by; files that are still being written are not there yet."""
    return {path.stem for path in files_of(folder)} if folder.is_dir() else set()


def files_of(folder: Path) -> list[Path]:
    """Return the trial files of a folder, in the order of their names."""
    return sorted(path for path in folder.glob(f"*{ENDING}") if path.is_file() and not path.name.startswith("."))


def write_trial(folder: Path, recorded: Recorded) -> Path:
    """Write how a trial ended as ``<key>.safetensors``; a file that is there already is left as it is."""
    from safetensors.numpy import save

    path = trial_file(folder, recorded.trial.key)
    if path.exists():
        return path
    tensors = {"history": history_array(recorded.history)}
    for split, predicted in recorded.predictions.items():
        tensors[f"{split}.values"] = np.ascontiguousarray(predicted.values)
        if predicted.scores is not None:
            tensors[f"{split}.scores"] = np.ascontiguousarray(predicted.scores)
    for name, array in recorded.arrays.items():
        tensors[array_name(name)] = np.ascontiguousarray(checked_array(name, array))
    header = {
        "format": FORMAT,
        "identity": IDENTITY,
        "trial": recorded.trial.described(),
        "state": recorded.state,
        "best_epoch": recorded.best_epoch,
        "notes": list(recorded.notes),
        "failure": recorded.failure,
        "seconds": recorded.seconds,
        "environment": dict(recorded.environment),
    }
    if recorded.traceback is not None:
        header["traceback"] = recorded.traceback
    header["digest"] = digest_of(header, tensors)
    make_folder(folder)
    write_durably(path, save(tensors, metadata={ENTRY: canonical(header)}))
    return path


def read_trial(path: Path) -> Recorded:
    """Read a trial file; one that is torn, damaged or says what cannot be is refused with the reason."""
    header, tensors = _content(path)
    if header.get("format") != FORMAT or header.get("identity") != IDENTITY:
        raise BadInput(
            f"{path.name} was written by another version (format {header.get('format')!r}, identity "
            f"{header.get('identity')!r})",
            available=f"format {FORMAT} and identity {IDENTITY}",
            help="merge it with the version of equipoise that wrote it, or run the trial again.",
        )
    try:
        intact = header.get("digest") == digest_of(header, tensors)
        recorded = _recorded(header, tensors) if intact else None
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadInput(f"{path.name} does not say how a trial ended ({_words(error)})", help=DAMAGED) from error
    if recorded is None:
        raise BadInput(f"The content of {path.name} is not what was written", help=DAMAGED)
    return recorded


def _content(path: Path) -> tuple[dict[str, Any], Tensors]:
    from safetensors import SafetensorError, safe_open

    try:
        _check_header(path)
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})[ENTRY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except KeyError as error:
        raise BadInput(
            f"{path.name} is a .safetensors file, but no trial", help="name the folder that --to wrote."
        ) from error
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{path.name} is not a whole trial file ({_words(error)})", help=DAMAGED) from error
    if not isinstance(header, dict):
        raise BadInput(f"{path.name} does not say how a trial ended", help=DAMAGED)
    return header, tensors


def _check_header(path: Path) -> None:
    """Refuse a header larger than any trial's before anything is allocated for it."""
    with open(path, "rb") as file:
        start = file.read(8)
    if len(start) < 8:
        raise ValueError("it ends within its first bytes")
    (length,) = struct.unpack("<Q", start)
    if length > MOST_HEADER:
        raise ValueError(f"its header says that it is {length:,} bytes long")


def _recorded(header: Mapping[str, Any], tensors: Tensors) -> Recorded:
    state, failure, seconds = header["state"], header["failure"], header["seconds"]
    _need(state in ("done", "failed"), f"its state is {state!r}")
    _need(failure is None or isinstance(failure, str), "its failure is not text")
    _need(_is_number(seconds) and math.isfinite(seconds) and seconds >= 0, f"it took {seconds!r} seconds")
    traceback = header.get("traceback")
    _need(traceback is None or isinstance(traceback, str), "its traceback is not text")
    best = header["best_epoch"]
    _need(_is_whole(best) and 0 <= best < 2**31, f"its best epoch is {best!r}")
    _need(isinstance(header["environment"], dict), "its environment is not a table")
    _need(all(isinstance(note, str) for note in header["notes"]), "its notes are not text")
    history = tensors["history"]
    _need(
        history.dtype == np.float64 and history.ndim == 2 and history.shape[1] == COLUMNS, "its epochs are not a table"
    )
    splits = SPLITS if state == "done" else ()
    return Recorded(
        trial=_trial(header["trial"]),
        state=state,
        predictions={split: _predicted(split, tensors) for split in splits},
        history=history_of(history),
        best_epoch=best,
        notes=tuple(header["notes"]),
        failure=failure,
        seconds=float(seconds),
        environment=header["environment"],
        arrays=_kept_arrays(tensors) if state == "done" else {},
        traceback=traceback,
    )


def _trial(described: Any) -> Trial:
    """Make the trial again; every field must be of its kind, or the key would name what no plan can mean."""
    _need(isinstance(described, dict), "it has no trial")
    trial = trial_of(described)
    texts = (trial.cohort, trial.rounding, trial.precision, trial.device, trial.selection, *trial.groups)
    _need(all(isinstance(text, str) for text in texts), "a name is not text")
    chosen_by = (trial.performance, trial.fairness)
    _need(all(text is None or isinstance(text, str) for text in chosen_by), "its selection is not text")
    numbers = (trial.size, trial.seed, trial.repeat, trial.choice)
    _need(all(_is_whole(number) for number in numbers), "a number is not whole")
    for named in (trial.condition, trial.learner, *trial.treatments):
        _need(isinstance(named.name, str) and _is_whole(named.version), "a part of it has no name or version")
        _need(isinstance(named.settings, dict), f"the settings of {named.name!r} are not a table")
    return trial


def _predicted(split: str, tensors: Tensors) -> Predicted:
    values, scores = tensors[f"{split}.values"], tensors.get(f"{split}.scores")
    _need(values.ndim == 1 and values.dtype.kind in "iuf", f"the predictions of {split} are not a column of numbers")
    if scores is not None:
        _need(scores.ndim == 2 and scores.dtype.kind == "f", f"the scores of {split} are not a table of numbers")
        _need(len(scores) == len(values), f"{split} has {len(values):,} predictions and {len(scores):,} scores")
    return Predicted(values.astype(np.int64) if values.dtype.kind in "iu" else values, scores)


def _kept_arrays(tensors: Tensors) -> dict[str, NDArray[Any]]:
    """Return the further arrays of a trial; codes are wide again, as those of a store are."""
    found = {name.removeprefix(ARRAY_PREFIX): array for name, array in tensors.items() if name.startswith(ARRAY_PREFIX)}
    return {name: checked_array(name, array) for name, array in found.items()}


def digest_of(said: Mapping[str, Any], tensors: Tensors) -> str:
    """Return the hash of all that a file says, but for the hash itself."""
    parts = [canonical({name: value for name, value in said.items() if name != "digest"}).encode()]
    for name in sorted(tensors):
        array = tensors[name]
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        parts += [name.encode(), f"{little.dtype.str} {array.shape}".encode(), little.tobytes()]
    return fingerprint_of(parts)


def _need(holds: object, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _words(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]!r}"
    return (str(error).splitlines() or [type(error).__name__])[0]


Part = tuple[int, int]


def run_to_folder(
    work: Work,
    to: str | os.PathLike[str],
    *,
    part: Part = (1, 1),
    watcher: Watcher | None = None,
    scores: bool = True,
    checkpoints: str | os.PathLike[str] | None = None,
) -> int:
    """Train every trial that has no file in the folder yet; return how many were trained now.

    ``part`` (2, 4) is the second of four parts of the stacks, for four machines (or processes) that share the work.
    Without ``scores`` a file holds the predicted classes alone, which is a small part of its size. ``checkpoints`` is
    the folder in which long trainings keep where they are, by default one inside.
    """
    folder = Path(to)
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{str(folder)!r} is a file", available="a folder for trial files, created if needed")
    if not scores and _is_decided_by_scores(work):
        raise BadInput(
            "Performance is auc, which is computed from scores, and scores are not kept",
            help='leave out --no-scores (scores=False), or choose performance = "balanced_accuracy". Nothing was '
            "trained.",
        )
    check_device(work)
    work = replace(work, checkpoints=os.fspath(checkpoints or folder / "checkpoints"))
    mine = work.stacks[part[0] - 1 :: part[1]]
    written = written_keys(folder)
    measured: dict[int, list[float]] = {}
    number = 0
    _tell(watcher, mine, written, measured)
    for stack in mine:
        missing = _untrained(stack, folder, written)
        if not missing:
            continue
        tell = partial(_tell, watcher, mine, written, measured)
        for record in trained(work, missing, within_stack(tell)):
            write_trial(folder, record if scores else _without_scores(record))
            written.add(record.trial.key)
            measured.setdefault(stack.cell, []).append(record.seconds)
            number += 1
        _tell(watcher, mine, written, measured)
    return number


def _is_decided_by_scores(work: Work) -> bool:
    if isinstance(work, OwnWork):
        return work.scored
    return any(needs_scores(trial.performance) for stack in work.stacks for trial in stack.trials)  # type: ignore[arg-type]


def part_of(text: str) -> Part:
    """Read a part such as 2/4."""
    first, sign, last = text.partition("/")
    if sign and first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last):
        return int(first), int(last)
    raise BadInput(f"--part is {text!r}", available="a part of the work, from 1/4 to 4/4 for four machines")


def _untrained(stack: Stack, folder: Path, written: set[str]) -> list[Trial]:
    """Return the trials that have no file, and those they share a training with: one network is read for all of them.

    Files that a killed run left of a part of a training are removed, and written again with the others.
    """
    trials: list[Trial] = []
    for training in trainings_of(stack.trials):
        if all(trial.key in written for trial in training):
            continue
        for trial in training:
            if trial.key in written:
                trial_file(folder, trial.key).unlink()
                written.discard(trial.key)
        trials += training
    return trials


def _without_scores(ended: Recorded) -> Recorded:
    return replace(
        ended, predictions={split: Predicted(prediction.values) for split, prediction in ended.predictions.items()}
    )


def _tell(
    watcher: Watcher | None,
    stacks: Sequence[Stack],
    written: set[str],
    measured: dict[int, list[float]],
    within: Within | None = None,
) -> None:
    """Tell how far it is; files of an earlier run count as done, and do not say how long they took."""
    if watcher is None:
        return
    earlier = sum(trial.key in written for stack in stacks for trial in stack.trials) - sum(map(len, measured.values()))
    cells = [
        CellStatus(
            str(cell),
            waiting=sum(trial.key not in written for stack in stacks if stack.cell == cell for trial in stack.trials),
            done=len(measured.get(cell, ())),
            seconds=sum(measured.get(cell, ())),
        )
        for cell in dict.fromkeys(stack.cell for stack in stacks)
    ]
    watcher(standing(Status(tuple(cells)), earlier=earlier, within=within))


# Trials that are counted and written together: enough to wait for the disk seldom, few enough to hold in memory.
AT_ONCE = 64


@dataclass(frozen=True)
class Merged:
    """What a folder brought: keys new in the store, keys that it had, and by file's name why others stay out."""

    new: tuple[str, ...] = ()
    existing: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def merge(
    folder: Path, store: Store, truth: EvaluationLabels, progress: Callable[[int, int], None] | None = None
) -> Merged:
    """Add the trial files of a folder to a store. ``progress`` is told how many of how many files were read."""
    if not folder.is_dir():
        raise BadInput(f"There is no folder {str(folder)!r}", help="name the folder that --to wrote.")
    files = files_of(folder)
    if not files:
        raise BadInput(f"The folder {str(folder)!r} has no trial files", available=f"files named <key>{ENDING}")
    new: list[str] = []
    known: list[str] = []
    refused: dict[str, str] = {}
    for start in range(0, len(files), AT_ONCE):
        read: dict[str, tuple[str, Recorded]] = {}
        for path in files[start : start + AT_ONCE]:
            try:
                recorded = read_trial(path)
                # Of two files of one trial the one that ended well counts.
                if recorded.state == "done" or recorded.trial.key not in read:
                    read[recorded.trial.key] = path.name, recorded
            except BadInput as error:
                refused[path.name] = error.given
        written = store.add([recorded for _, recorded in read.values()], truth)
        new += written.new
        known += written.existing
        refused |= {read[key][0]: reason for key, reason in written.refused.items()}
        if progress is not None:
            progress(min(start + AT_ONCE, len(files)), len(files))
    return Merged(tuple(new), tuple(known), refused)
