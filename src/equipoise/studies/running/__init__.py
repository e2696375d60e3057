"""How trials are run: the loop, workers, bare machines, and bringing trials home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies.running._environment import check_device as check_device
    from equipoise.studies.running._environment import new_owner as new_owner
    from equipoise.studies.running._folder import Merged as Merged
    from equipoise.studies.running._folder import merge as merge
    from equipoise.studies.running._folder import part_of as part_of
    from equipoise.studies.running._folder import run_to_folder as run_to_folder
    from equipoise.studies.running._kept_models import MODEL as MODEL
    from equipoise.studies.running._kept_models import model_of as model_of
    from equipoise.studies.running._own_function import OwnWork as OwnWork
    from equipoise.studies.running._own_function import visible_cohort as visible_cohort
    from equipoise.studies.running._packing import is_pack as is_pack
    from equipoise.studies.running._packing import pack as pack
    from equipoise.studies.running._packing import unpack as unpack
    from equipoise.studies.running._progress import Standing as Standing
    from equipoise.studies.running._progress import Steadied as Steadied
    from equipoise.studies.running._progress import Watcher as Watcher
    from equipoise.studies.running._progress import seconds_left as seconds_left
    from equipoise.studies.running._running import cell_labels as cell_labels
    from equipoise.studies.running._running import change_of as change_of
    from equipoise.studies.running._running import check_same_data as check_same_data
    from equipoise.studies.running._running import checkpoints_of as checkpoints_of
    from equipoise.studies.running._running import enter as enter
    from equipoise.studies.running._running import run_in_store as run_in_store
    from equipoise.studies.running._running import work_through as work_through
    from equipoise.studies.running._work import Work as Work
    from equipoise.studies.running._work import draw_named as draw_named
    from equipoise.studies.running._work import named_key as named_key
    from equipoise.studies.running._work import settings_of as settings_of

_MODULES = {
    "_environment": ("check_device", "new_owner"),
    "_folder": ("Merged", "merge", "part_of", "run_to_folder"),
    "_kept_models": ("MODEL", "model_of"),
    "_own_function": ("OwnWork", "visible_cohort"),
    "_packing": ("is_pack", "pack", "unpack"),
    "_progress": ("Standing", "Steadied", "Watcher", "seconds_left"),
    "_running": (
        "cell_labels",
        "change_of",
        "check_same_data",
        "checkpoints_of",
        "enter",
        "run_in_store",
        "work_through",
    ),
    "_work": ("Work", "draw_named", "named_key", "settings_of"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
