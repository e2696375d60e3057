"""Who and what: cohorts of rows with a target and groups, the readers that open them, and the bundled sources."""

from __future__ import annotations

from equipoise.cohorts.cohort import Cohort
from equipoise.cohorts.loading import load

__all__ = ["Cohort", "load"]
