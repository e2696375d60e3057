"""What people and repeats allow us to say: intervals, tests, effects, corrections and verdicts.

``evidence(runs, ...)`` judges repeated training runs. The other files of this room are what audits stand on.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.evidence.evidence import evidence as evidence
    from equipoise.evidence.result import EvidenceRecord as EvidenceRecord
    from equipoise.evidence.result import EvidenceResult as EvidenceResult

_DOORS = {"evidence": "evidence", "EvidenceRecord": "result", "EvidenceResult": "result"}


class _Room(ModuleType):
    """Importing this room hides the function ``equipoise.evidence`` behind it, so the room can be called like it."""

    def __call__(self, *given: Any, **named: Any) -> EvidenceResult:
        from equipoise.evidence.evidence import evidence

        return evidence(*given, **named)


def __getattr__(name: str) -> object:
    if name in _DOORS:
        return getattr(importlib.import_module(f"{__name__}.{_DOORS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _Room
