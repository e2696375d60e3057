"""Audits: fairness of a model's outcomes, embeddings, rankings and changes, measured, tested and corrected.

``audit`` counts a table of rows once and computes every measure those counts can tell. What it takes is declared once
(``AUDIT_OPTIONS``) for Python, the command line and config files, and checked in one place (``resolve``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.audits._config import config_text as config_text
    from equipoise.audits._config import read_config as read_config
    from equipoise.audits._contrasts import Power as Power
    from equipoise.audits._group_result import AuditKind as AuditKind
    from equipoise.audits._group_result import GroupResult as GroupResult
    from equipoise.audits._group_result import named_object as named_object
    from equipoise.audits._options import AUDIT_OPTIONS as AUDIT_OPTIONS
    from equipoise.audits._options import COMPARE_OPTIONS as COMPARE_OPTIONS
    from equipoise.audits._options import EMBEDDING as EMBEDDING
    from equipoise.audits._options import EVIDENCE_OPTIONS as EVIDENCE_OPTIONS
    from equipoise.audits._options import OUTCOMES as OUTCOMES
    from equipoise.audits._options import OUTPUT as OUTPUT
    from equipoise.audits._options import OUTPUTS as OUTPUTS
    from equipoise.audits._options import audit_option as audit_option
    from equipoise.audits._scores import CalibrationPoint as CalibrationPoint
    from equipoise.audits._scores import Curve as Curve
    from equipoise.audits._spec import AuditSpec as AuditSpec
    from equipoise.audits._spec import resolve as resolve
    from equipoise.audits.outcomes import SCHEMA as SCHEMA
    from equipoise.audits.outcomes import AuditResult as AuditResult
    from equipoise.audits.outcomes import FourFifths as FourFifths
    from equipoise.audits.outcomes import SpaceMap as SpaceMap
    from equipoise.audits.outcomes import audit as audit

_MODULES = {
    "outcomes": ("AuditResult", "FourFifths", "SCHEMA", "SpaceMap", "audit"),
    "_config": ("config_text", "read_config"),
    "_group_result": ("GroupResult", "AuditKind", "named_object"),
    "_options": (
        "AUDIT_OPTIONS", "COMPARE_OPTIONS", "EMBEDDING", "EVIDENCE_OPTIONS", "OUTCOMES", "OUTPUT", "OUTPUTS",
        "audit_option",
    ),
    "_spec": ("AuditSpec", "resolve"),
    "_contrasts": ("Power",),
    "_scores": ("CalibrationPoint", "Curve"),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
