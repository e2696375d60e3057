"""The shared checks, for everything registered here and for the things that plug-ins register.

A plug-in's own tests run them in two lines::

    from equipoise.testing import check
    check("measure", "my_measure", reference=my_slow_version)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.testing._checks import check as check
    from equipoise.testing._cohort_checks import check_cohort as check_cohort
    from equipoise.testing._comparison_checks import check_comparison as check_comparison
    from equipoise.testing._condition_checks import check_condition as check_condition
    from equipoise.testing._embedding_checks import check_embedding_measure as check_embedding_measure
    from equipoise.testing._measure_checks import check_measure as check_measure
    from equipoise.testing._measure_checks import random_rows as random_rows
    from equipoise.testing._planted import Planted as Planted
    from equipoise.testing._planted import planted as planted
    from equipoise.testing._planted_pictures import planted_pictures as planted_pictures
    from equipoise.testing._treatment_checks import check_treatment as check_treatment
    from equipoise.testing._treatment_checks import check_treatment_on as check_treatment_on
    from equipoise.testing._treatment_checks import first_learner as first_learner
    from equipoise.testing._treatment_checks import quick_settings as quick_settings

_MODULES = {
    "_checks": ("check",),
    "_cohort_checks": ("check_cohort",),
    "_comparison_checks": ("check_comparison",),
    "_condition_checks": ("check_condition",),
    "_embedding_checks": ("check_embedding_measure",),
    "_measure_checks": ("check_measure", "random_rows"),
    "_planted": ("Planted", "planted"),
    "_planted_pictures": ("planted_pictures",),
    "_treatment_checks": ("check_treatment", "check_treatment_on", "first_learner", "quick_settings"),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
