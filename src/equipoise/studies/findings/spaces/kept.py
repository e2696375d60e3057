"""What trials kept beside their predictions, and the numbers that were computed from it before.

A trial's numbers take a second or more (k-means), so they stand in a small file beside the store; what they were
computed from is in the key, so a file of an earlier version or of other rows is not believed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import write_whole
from equipoise.studies.findings.spaces.values import VERSION, Key, Values
from equipoise.studies.storage.truth import Truth

TEST_EMBEDDING = "embedding.test"
ENDING = ".spaces.json"


@dataclass
class Remembered:
    """Numbers of trials by key, as a file beside the store; without a path they are kept for this report only."""

    path: Path | None = None
    # The test rows that the numbers are about: a store may hold trials of several cohorts.
    rows: str = ""
    found: dict[str, Values] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError, IndexError):
                self._read(json.loads(self.path.read_text(encoding="utf-8")))

    def get(self, trial: str) -> Values | None:
        """Return the numbers of a trial by its key, where they are known."""
        return self.found.get(f"{self.rows} {trial}")

    def add(self, trial: str, values: Values) -> None:
        """Keep the numbers of a trial."""
        self.found[f"{self.rows} {trial}"] = values

    def _read(self, said: Mapping[str, Any]) -> None:
        if said["made_with"] != made_with():
            return
        keys = [Key(*one) for one in said["keys"]]
        self.found = {
            trial: {keys[place]: np.nan if value is None else float(value) for place, value in own}
            for trial, own in said["trials"].items()
        }

    def save(self) -> None:
        """Write what is known. A folder that cannot be written to costs time at the next report and nothing else."""
        if self.path is None:
            return
        keys = {key: place for place, key in enumerate(dict.fromkeys(k for own in self.found.values() for k in own))}
        said = {
            "made_with": made_with(),
            "keys": list(keys),
            "trials": {
                trial: [[keys[key], None if np.isnan(value) else value] for key, value in own.items()]
                for trial, own in self.found.items()
            },
        }
        with contextlib.suppress(OSError, BadInput):
            write_whole(self.path, json.dumps(said, separators=(",", ":"), allow_nan=False), announced=False)


def made_with() -> dict[str, object]:
    """Return what numbers of the same arrays depend on: our version, and the packages that compute them."""
    return {"version": VERSION, "packages": {name: metadata.version(name) for name in ("numpy", "scikit-learn")}}


@dataclass(frozen=True, eq=False)
class KeptArrays:
    """The further arrays of a study's trials: ``read(name, place)`` returns one of a trial; None where it has none."""

    names: tuple[str, ...]
    read: Callable[[str, int], NDArray[Any] | None]
    # Of dev rows too, where a setting is chosen by them.
    truth: Truth | None = None
    remembered: Remembered = field(default_factory=Remembered)

    @property
    def has_spaces(self) -> bool:
        """Whether any trial kept the embedding of the test rows."""
        return TEST_EMBEDDING in self.names


def remembered_beside(store: Path | None, rows: str) -> Remembered:
    """Return what was computed for the trials of a store before; a database without a file remembers nothing."""
    return Remembered(None if store is None else store.with_name(store.name + ENDING), rows)
