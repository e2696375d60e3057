"""What people and repeats allow us to say: intervals, tests, effects, corrections and verdicts.

``evidence(runs, ...)`` judges repeated training runs. The other files of this room are what audits stand on.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

# Not lazily: importing the file evidence.py binds its name here, and only this line puts the function over it.
from equipoise.evidence.evidence import evidence
from equipoise.evidence.result import EvidenceRecord, EvidenceResult

__all__ = ["EvidenceRecord", "EvidenceResult", "evidence"]


class _Room(ModuleType):
    """Importing this room hides the function ``equipoise.evidence`` behind it, so the room can be called like it."""

    def __call__(self, *given: Any, **named: Any) -> EvidenceResult:
        return evidence(*given, **named)


sys.modules[__name__].__class__ = _Room
