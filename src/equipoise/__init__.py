"""Equipoise puts a model's fairness on trial: it finds bias, measures it, treats it and proves whether that worked.

Nothing heavy is imported until it is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise import conditions as conditions
    from equipoise import estimators as estimators
    from equipoise import measures as measures
    from equipoise.audits import AuditResult as AuditResult
    from equipoise.audits import audit as audit
    from equipoise.audits.compare import CompareResult as CompareResult
    from equipoise.audits.compare import compare as compare
    from equipoise.audits.embedding import audit_embedding as audit_embedding
    from equipoise.audits.evidence import evidence as evidence
    from equipoise.audits.ranking import RankingResult as RankingResult
    from equipoise.audits.ranking import ranking as ranking
    from equipoise.cohorts import Cohort as Cohort
    from equipoise.cohorts import load as load
    from equipoise.discovery import discover as discover
    from equipoise.estimators import fit as fit
    from equipoise.estimators import load_model as load_model
    from equipoise.estimators import scorer as scorer
    from equipoise.foundation import BadInput as BadInput
    from equipoise.foundation import EquipoiseError as EquipoiseError
    from equipoise.foundation import MissingExtra as MissingExtra
    from equipoise.foundation import cohort as cohort
    from equipoise.foundation import condition as condition
    from equipoise.foundation import learner as learner
    from equipoise.foundation import treatment as treatment
    from equipoise.measures import comparison as comparison
    from equipoise.measures import measure as measure
    from equipoise.studies import Study as Study
    from equipoise.tallies import Counts as Counts
    from equipoise.training import extract as extract
    from equipoise.training.metric import MetricLearner as MetricLearner

__version__ = "0.2.0"

_DOORS = {
    "AuditResult": "equipoise.audits",
    "audit": "equipoise.audits",
    "CompareResult": "equipoise.audits.compare",
    "compare": "equipoise.audits.compare",
    "audit_embedding": "equipoise.audits.embedding",
    "Cohort": "equipoise.cohorts",
    "load": "equipoise.cohorts",
    "evidence": "equipoise.audits.evidence",
    "RankingResult": "equipoise.audits.ranking",
    "ranking": "equipoise.audits.ranking",
    "discover": "equipoise.discovery",
    "fit": "equipoise.estimators",
    "load_model": "equipoise.estimators",
    "scorer": "equipoise.estimators",
    "BadInput": "equipoise.foundation",
    "EquipoiseError": "equipoise.foundation",
    "MissingExtra": "equipoise.foundation",
    "cohort": "equipoise.foundation",
    "condition": "equipoise.foundation",
    "learner": "equipoise.foundation",
    "treatment": "equipoise.foundation",
    "comparison": "equipoise.measures",
    "measure": "equipoise.measures",
    "Study": "equipoise.studies",
    "Counts": "equipoise.tallies",
    "extract": "equipoise.training",
    "MetricLearner": "equipoise.training.metric",
}

__all__ = ["conditions", "estimators", "measures", *_DOORS]


def __getattr__(name: str) -> Any:
    if name in _DOORS:
        return getattr(importlib.import_module(_DOORS[name]), name)
    if name in ("conditions", "estimators", "measures", "testing"):
        return importlib.import_module(f"equipoise.{name}")
    if not name.startswith("_"):
        from equipoise.foundation import registry

        for entry in registry.entries("audit"):
            if entry.name == name:
                return entry.implementation.load()  # type: ignore[attr-defined]
    raise AttributeError(f"module 'equipoise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
