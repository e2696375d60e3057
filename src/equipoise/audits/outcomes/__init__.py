"""The audit of a model's outcomes: ``audit`` counts rows once, computes every measure for each group and tests gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.audits.outcomes._audit import audit as audit
    from equipoise.audits.outcomes._result import SCHEMA as SCHEMA
    from equipoise.audits.outcomes._result import AuditResult as AuditResult
    from equipoise.audits.outcomes._result import FourFifths as FourFifths
    from equipoise.audits.outcomes._result import SpaceMap as SpaceMap

_MODULES = {
    "_audit": ("audit",),
    "_result": ("SCHEMA", "AuditResult", "FourFifths", "SpaceMap"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
