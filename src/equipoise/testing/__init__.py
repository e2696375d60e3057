"""The shared checks, for everything registered here and for the things that plug-ins register.

A plug-in's own tests run them in two lines::

    from equipoise.testing import check
    check("measure", "my_measure", reference=my_slow_version)
"""

from __future__ import annotations

from equipoise.testing.checks import check
from equipoise.testing.cohort_checks import check_cohort
from equipoise.testing.comparison_checks import check_comparison
from equipoise.testing.condition_checks import check_condition
from equipoise.testing.measure_checks import check_measure
from equipoise.testing.treatment_checks import check_treatment

__all__ = ["check", "check_cohort", "check_comparison", "check_condition", "check_measure", "check_treatment"]
