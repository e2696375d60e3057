"""Where trials are kept: the store, its tables, leases and readouts, and the truth they are counted against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies.storage._artefacts import ARRAY_PREFIX as ARRAY_PREFIX
    from equipoise.studies.storage._artefacts import COLUMNS as COLUMNS
    from equipoise.studies.storage._artefacts import Damage as Damage
    from equipoise.studies.storage._artefacts import array_name as array_name
    from equipoise.studies.storage._artefacts import checked_array as checked_array
    from equipoise.studies.storage._artefacts import history_array as history_array
    from equipoise.studies.storage._artefacts import history_of as history_of
    from equipoise.studies.storage._artefacts import make_folder as make_folder
    from equipoise.studies.storage._artefacts import packed as packed
    from equipoise.studies.storage._artefacts import write_durably as write_durably
    from equipoise.studies.storage._database import OUTAGE as OUTAGE
    from equipoise.studies.storage._database import Unreachable as Unreachable
    from equipoise.studies.storage._labels import OUTCOMES as OUTCOMES
    from equipoise.studies.storage._labels import EvaluationLabels as EvaluationLabels
    from equipoise.studies.storage._labels import Names as Names
    from equipoise.studies.storage._labels import Readouts as Readouts
    from equipoise.studies.storage._labels import SplitLabels as SplitLabels
    from equipoise.studies.storage._labels import evaluation_labels as evaluation_labels
    from equipoise.studies.storage._planning import Look as Look
    from equipoise.studies.storage._planning import digest_of as digest_of
    from equipoise.studies.storage._planning import plan_key as plan_key
    from equipoise.studies.storage._planning import remember_look as remember_look
    from equipoise.studies.storage._queries import CellStatus as CellStatus
    from equipoise.studies.storage._queries import Status as Status
    from equipoise.studies.storage._queries import StoredTrial as StoredTrial
    from equipoise.studies.storage._store import Store as Store
    from equipoise.studies.storage._store import open_store as open_store

_MODULES = {
    "_artefacts": (
        "COLUMNS",
        "Damage",
        "ARRAY_PREFIX",
        "history_array",
        "history_of",
        "checked_array",
        "array_name",
        "make_folder",
        "packed",
        "write_durably",
    ),
    "_database": ("OUTAGE", "Unreachable"),
    "_labels": ("Names", "OUTCOMES", "Readouts", "SplitLabels", "EvaluationLabels", "evaluation_labels"),
    "_planning": ("Look", "digest_of", "plan_key", "remember_look"),
    "_queries": ("CellStatus", "Status", "StoredTrial"),
    "_store": ("Store", "open_store"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
