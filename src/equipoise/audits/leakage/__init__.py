"""How well the group can be read from an embedding: probes, cross-validated, against guessing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.audits.leakage._leakage import PROBES as PROBES
    from equipoise.audits.leakage._leakage import Leakage as Leakage
    from equipoise.audits.leakage._leakage import LeakageRecord as LeakageRecord
    from equipoise.audits.leakage._leakage import leakage as leakage

_MODULES = {
    "_leakage": ("PROBES", "Leakage", "LeakageRecord", "leakage"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"equipoise.audits.leakage.{_HOME[name]}"), name)
    raise AttributeError(f"module 'equipoise.audits.leakage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
