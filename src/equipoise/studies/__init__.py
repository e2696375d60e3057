"""Plans of many trials: run, resumed, kept and read. A trial is never lost and never run twice.

``Study`` is the door from Python and ``read_plan`` that from a file. plans/ is what shall be trained, running/ trains
it, storage/ keeps it, analysis/ makes numbers and tests of it, and findings/ says what it means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies._checking import Check as Check
    from equipoise.studies._checking import check as check
    from equipoise.studies._checking import study_status as study_status
    from equipoise.studies._cross_validation import CrossValidation as CrossValidation
    from equipoise.studies._cross_validation import FoldComparison as FoldComparison
    from equipoise.studies._cross_validation import cross_validate as cross_validate
    from equipoise.studies._diagnosing import Diagnosis as Diagnosis
    from equipoise.studies._diagnosing import diagnose as diagnose
    from equipoise.studies._growing import check_fixed_seeds as check_fixed_seeds
    from equipoise.studies._options import FOR_CHECK as FOR_CHECK
    from equipoise.studies._options import FOR_DIAGNOSE as FOR_DIAGNOSE
    from equipoise.studies._options import FOR_EXPORT as FOR_EXPORT
    from equipoise.studies._options import FOR_FOLDER as FOR_FOLDER
    from equipoise.studies._options import FOR_OPEN as FOR_OPEN
    from equipoise.studies._options import FOR_REFIT as FOR_REFIT
    from equipoise.studies._options import FOR_RESULT as FOR_RESULT
    from equipoise.studies._options import FOR_RUN as FOR_RUN
    from equipoise.studies._options import REPRODUCE_OPTIONS as REPRODUCE_OPTIONS
    from equipoise.studies._options import STUDY_OPTIONS as STUDY_OPTIONS
    from equipoise.studies._planfile import CohortPlan as CohortPlan
    from equipoise.studies._planfile import Plan as Plan
    from equipoise.studies._planfile import planned_cohort as planned_cohort
    from equipoise.studies._planfile import read_plan as read_plan
    from equipoise.studies._planfile import schema_text as schema_text
    from equipoise.studies._refitting import Refit as Refit
    from equipoise.studies._refitting import refit as refit
    from equipoise.studies._searching import of_verdicts as of_verdicts
    from equipoise.studies._searching import run_study as run_study
    from equipoise.studies._study import Study as Study
    from equipoise.studies.findings._result import StudyResult as StudyResult
    from equipoise.studies.plans._naming import Trial as Trial

_MODULES = {
    "_checking": ("Check", "check", "study_status"),
    "_cross_validation": ("CrossValidation", "FoldComparison", "cross_validate"),
    "_diagnosing": ("Diagnosis", "diagnose"),
    "_growing": ("check_fixed_seeds",),
    "findings._result": ("StudyResult",),
    "_planfile": ("CohortPlan", "Plan", "planned_cohort", "read_plan", "schema_text"),
    "plans._naming": ("Trial",),
    "_refitting": ("Refit", "refit"),
    "_searching": ("of_verdicts", "run_study"),
    "_study": ("Study",),
    "_options": (
        "FOR_CHECK", "FOR_DIAGNOSE", "FOR_EXPORT", "FOR_FOLDER", "FOR_OPEN", "FOR_REFIT", "FOR_RESULT", "FOR_RUN",
        "REPRODUCE_OPTIONS", "STUDY_OPTIONS",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
