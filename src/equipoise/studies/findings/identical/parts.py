"""Everything that a study's identical runs say, as the parts of its result; nothing where no seed was run twice."""

from __future__ import annotations

from typing import Any

from equipoise.studies.findings.identical.experiments import experiments_of
from equipoise.studies.findings.identical.fairest import fairest_of
from equipoise.studies.findings.identical.per_class import class_values, classes_of, failures_of
from equipoise.studies.findings.identical.rule import both_sides_of
from equipoise.studies.findings.identical.runs import runs_of
from equipoise.studies.findings.identical.sets import sets_of, told_of
from equipoise.studies.findings.measuring import Measured


def identical_parts(study: Measured, *, seed: int = 0) -> dict[str, Any]:
    """Return the fields of a ``StudyResult`` that are about identical runs."""
    sets = told_of(sets_of(study))
    if not sets:
        return {}
    classes = class_values(study)
    return {
        "identical_runs": tuple(runs_of(study, sets, classes)),
        "identical_classes": tuple(classes_of(study, sets, classes)),
        "both_sides": both_sides_of(study, sets, classes),
        "class_failures": tuple(failures_of(study, sets, classes)),
        "fairest_of_n": tuple(fairest_of(study, sets, seed=seed)),
        "experiments": tuple(experiments_of(study, sets)),
    }
