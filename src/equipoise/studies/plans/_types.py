"""What users give a study as a condition, a treatment and a learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from equipoise.conditions import Condition
from equipoise.training import LearnerLike, Treatment

# A name with settings, in which a list stands for several values; a setting may be an object, such as an estimator.
Settings: TypeAlias = Mapping[str, Any]
ConditionEntry: TypeAlias = str | Settings | Condition
# Several names are treatments that compose.
TreatmentEntry: TypeAlias = str | Settings | Treatment | Sequence[str]
LearnerEntry: TypeAlias = LearnerLike | Settings
