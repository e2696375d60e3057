"""What ``audit`` does: a table of rows, counted once, and every measure those counts can tell."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.audits._audit import audit as audit
    from equipoise.audits._group_result import GroupResult as GroupResult
    from equipoise.audits.result import AuditResult as AuditResult

_MODULES = {
    "_audit": ("audit",),
    "_group_result": ("GroupResult",),
    "result": ("AuditResult",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"equipoise.audits.{_HOME[name]}"), name)
    raise AttributeError(f"module 'equipoise.audits' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
