"""Trial files into a store: each once, however often a folder is merged, and a bad file stops no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from equipoise.foundation.errors import BadInput
from equipoise.studies.recorded import Recorded
from equipoise.studies.running.trial_files import ENDING, files_of, read_trial
from equipoise.studies.storage.store import Store
from equipoise.studies.storage.truth import Truth

# Trials that are counted and written together: enough to wait for the disk seldom, few enough to hold in memory.
AT_ONCE = 64


@dataclass(frozen=True)
class Merged:
    """What a folder brought: keys new in the store, keys that it had, and by file's name why others stay out."""

    new: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


def merge(folder: Path, store: Store, truth: Truth, progress: Callable[[int, int], None] | None = None) -> Merged:
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
        known += written.known
        refused |= {read[key][0]: reason for key, reason in written.refused.items()}
        if progress is not None:
            progress(min(start + AT_ONCE, len(files)), len(files))
    return Merged(tuple(new), tuple(known), refused)
