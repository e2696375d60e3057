"""What is planned: a plan's text, its design, and the stacks of trials it becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies.plans._design import ALL as ALL
    from equipoise.studies.plans._design import PlanChange as PlanChange
    from equipoise.studies.plans._design import Stack as Stack
    from equipoise.studies.plans._design import cells_of as cells_of
    from equipoise.studies.plans._design import check_no_function_options as check_no_function_options
    from equipoise.studies.plans._design import effect_of as effect_of
    from equipoise.studies.plans._design import plan_change as plan_change
    from equipoise.studies.plans._design import stacked as stacked
    from equipoise.studies.plans._design import trainings_of as trainings_of
    from equipoise.studies.plans._naming import CHOICE as CHOICE
    from equipoise.studies.plans._naming import IDENTITY as IDENTITY
    from equipoise.studies.plans._naming import BadPlan as BadPlan
    from equipoise.studies.plans._naming import ChooseBy as ChooseBy
    from equipoise.studies.plans._naming import LearnerTexts as LearnerTexts
    from equipoise.studies.plans._naming import Named as Named
    from equipoise.studies.plans._naming import PlanPath as PlanPath
    from equipoise.studies.plans._naming import Recorded as Recorded
    from equipoise.studies.plans._naming import State as State
    from equipoise.studies.plans._naming import Trial as Trial
    from equipoise.studies.plans._naming import alpha_of as alpha_of
    from equipoise.studies.plans._naming import canonical as canonical
    from equipoise.studies.plans._naming import condition_text as condition_text
    from equipoise.studies.plans._naming import equal_words as equal_words
    from equipoise.studies.plans._naming import expanded as expanded
    from equipoise.studies.plans._naming import make_treatment as make_treatment
    from equipoise.studies.plans._naming import placed as placed
    from equipoise.studies.plans._naming import trial_of as trial_of
    from equipoise.studies.plans._naming import unread as unread
    from equipoise.studies.plans._own_functions import OWN_FUNCTION as OWN_FUNCTION
    from equipoise.studies.plans._own_functions import Function as Function
    from equipoise.studies.plans._own_functions import OwnFunction as OwnFunction
    from equipoise.studies.plans._own_functions import check_function_study as check_function_study
    from equipoise.studies.plans._own_functions import function_baseline_of as function_baseline_of
    from equipoise.studies.plans._own_functions import functions_of as functions_of
    from equipoise.studies.plans._own_functions import hyper_of as hyper_of
    from equipoise.studies.plans._own_functions import named_functions as named_functions
    from equipoise.studies.plans._rows import Drawing as Drawing
    from equipoise.studies.plans._rows import cluster_codes as cluster_codes
    from equipoise.studies.plans._rows import data_fingerprint as data_fingerprint
    from equipoise.studies.plans._rows import rows_of as rows_of
    from equipoise.studies.plans._rows import trained_fingerprint as trained_fingerprint
    from equipoise.studies.plans._rows import with_splits as with_splits
    from equipoise.studies.plans._search import Search as Search
    from equipoise.studies.plans._search import SearchedArm as SearchedArm
    from equipoise.studies.plans._search import check_seeds as check_seeds
    from equipoise.studies.plans._search import search_of as search_of
    from equipoise.studies.plans._search import searched_arms as searched_arms
    from equipoise.studies.plans._search import survivors as survivors
    from equipoise.studies.plans._stopping import AUTO as AUTO
    from equipoise.studies.plans._stopping import Stopping as Stopping
    from equipoise.studies.plans._stopping import StoppingRule as StoppingRule
    from equipoise.studies.plans._stopping import stopping_of as stopping_of
    from equipoise.studies.plans._types import ConditionEntry as ConditionEntry
    from equipoise.studies.plans._types import LearnerEntry as LearnerEntry
    from equipoise.studies.plans._types import TreatmentEntry as TreatmentEntry

_MODULES = {
    "_design": (
        "ALL", "PlanChange", "Stack", "cells_of", "check_no_function_options", "effect_of", "plan_change", "stacked",
        "trainings_of",
    ),
    "_naming": (
        "BadPlan", "CHOICE", "ChooseBy", "IDENTITY", "LearnerTexts", "Named", "PlanPath", "Recorded", "State", "Trial",
        "alpha_of", "canonical", "condition_text", "equal_words", "expanded", "make_treatment", "placed", "trial_of",
        "unread",
    ),
    "_own_functions": (
        "Function", "OWN_FUNCTION", "OwnFunction", "check_function_study", "function_baseline_of", "functions_of",
        "hyper_of", "named_functions",
    ),
    "_types": ("ConditionEntry", "LearnerEntry", "TreatmentEntry"),
    "_rows": ("Drawing", "cluster_codes", "data_fingerprint", "rows_of", "trained_fingerprint", "with_splits"),
    "_search": ("Search", "SearchedArm", "check_seeds", "search_of", "searched_arms", "survivors"),
    "_stopping": ("AUTO", "Stopping", "StoppingRule", "stopping_of"),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
