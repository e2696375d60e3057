"""Plans of many trials: run, resumed, kept and read. A trial is never lost and never run twice.

``Study`` is the door from Python and ``read_plan`` that from a file. plans/ is what shall be trained, running/ trains
it, storage/ keeps it, analysis/ makes numbers and tests of it, and findings/ says what it means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies.checking import Check as Check
    from equipoise.studies.checking import check as check
    from equipoise.studies.checking import status_of as status_of
    from equipoise.studies.diagnosing import Diagnosis as Diagnosis
    from equipoise.studies.diagnosing import diagnose as diagnose
    from equipoise.studies.findings._result import StudyResult as StudyResult
    from equipoise.studies.planfile import CohortPlan as CohortPlan
    from equipoise.studies.planfile import Plan as Plan
    from equipoise.studies.planfile import planned_cohort as planned_cohort
    from equipoise.studies.planfile import read_plan as read_plan
    from equipoise.studies.plans._naming import Trial as Trial
    from equipoise.studies.refitting import Refit as Refit
    from equipoise.studies.refitting import refit as refit
    from equipoise.studies.study import Study as Study

_MODULES = {
    "checking": ("Check", "check", "status_of"),
    "diagnosing": ("Diagnosis", "diagnose"),
    "findings._result": ("StudyResult",),
    "planfile": ("CohortPlan", "Plan", "planned_cohort", "read_plan"),
    "plans._naming": ("Trial",),
    "refitting": ("Refit", "refit"),
    "study": ("Study",),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
