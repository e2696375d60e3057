"""What changed since an earlier model: every rate and every difference between groups, before and after."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.audits.change._changes import Change as Change
    from equipoise.audits.change._changes import change_statements as change_statements
    from equipoise.audits.change._changes import changes_of as changes_of
    from equipoise.audits.change._earlier import Before as Before
    from equipoise.audits.change._earlier import before_of as before_of
    from equipoise.audits.change._earlier import check_change as check_change
    from equipoise.audits.change._earlier import resolve_earlier as resolve_earlier
    from equipoise.audits.change._sides import ChangeReason as ChangeReason

_MODULES = {
    "_changes": (
        "Change",
        "change_statements",
        "changes_of",
    ),
    "_earlier": (
        "Before",
        "before_of",
        "check_change",
        "resolve_earlier",
    ),
    "_sides": ("ChangeReason",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"equipoise.audits.change.{_HOME[name]}"), name)
    raise AttributeError(f"module 'equipoise.audits.change' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
