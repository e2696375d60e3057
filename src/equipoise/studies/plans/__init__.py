"""What is planned: a plan's text, its design, and the stacks of trials it becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation.imports import door

if TYPE_CHECKING:
    from equipoise.studies.plans._design import ALL as ALL
    from equipoise.studies.plans._design import PlanChange as PlanChange
    from equipoise.studies.plans._design import Stack as Stack
    from equipoise.studies.plans._design import cells_of as cells_of
    from equipoise.studies.plans._design import effect_of as effect_of
    from equipoise.studies.plans._design import plan_change as plan_change
    from equipoise.studies.plans._design import stacked as stacked
    from equipoise.studies.plans._design import trainings_of as trainings_of
    from equipoise.studies.plans._naming import OWN as OWN
    from equipoise.studies.plans._naming import BadPlan as BadPlan
    from equipoise.studies.plans._naming import ChooseBy as ChooseBy
    from equipoise.studies.plans._naming import Function as Function
    from equipoise.studies.plans._naming import LearnerTexts as LearnerTexts
    from equipoise.studies.plans._naming import OwnFunction as OwnFunction
    from equipoise.studies.plans._naming import Place as Place
    from equipoise.studies.plans._naming import alpha_of as alpha_of
    from equipoise.studies.plans._naming import check_not_own as check_not_own
    from equipoise.studies.plans._naming import check_own as check_own
    from equipoise.studies.plans._naming import condition_text as condition_text
    from equipoise.studies.plans._naming import equal_words as equal_words
    from equipoise.studies.plans._naming import expanded as expanded
    from equipoise.studies.plans._naming import functions_of as functions_of
    from equipoise.studies.plans._naming import hyper_of as hyper_of
    from equipoise.studies.plans._naming import make_treatment as make_treatment
    from equipoise.studies.plans._naming import named_functions as named_functions
    from equipoise.studies.plans._naming import own_baseline as own_baseline
    from equipoise.studies.plans._naming import placed as placed
    from equipoise.studies.plans._naming import unread as unread
    from equipoise.studies.plans._rows import Drawing as Drawing
    from equipoise.studies.plans._rows import cluster_codes as cluster_codes
    from equipoise.studies.plans._rows import data_fingerprint as data_fingerprint
    from equipoise.studies.plans._rows import rows_of as rows_of
    from equipoise.studies.plans._rows import trained_fingerprint as trained_fingerprint
    from equipoise.studies.plans._rows import with_splits as with_splits
    from equipoise.studies.plans._trial import CHOICE as CHOICE
    from equipoise.studies.plans._trial import IDENTITY as IDENTITY
    from equipoise.studies.plans._trial import Named as Named
    from equipoise.studies.plans._trial import Recorded as Recorded
    from equipoise.studies.plans._trial import State as State
    from equipoise.studies.plans._trial import Trial as Trial
    from equipoise.studies.plans._trial import canonical as canonical
    from equipoise.studies.plans._trial import trial_of as trial_of

_MODULES = {
    "_design": ("ALL", "PlanChange", "Stack", "cells_of", "effect_of", "plan_change", "stacked", "trainings_of"),
    "_naming": (
        "BadPlan",
        "ChooseBy",
        "Function",
        "LearnerTexts",
        "OWN",
        "OwnFunction",
        "Place",
        "alpha_of",
        "check_not_own",
        "check_own",
        "condition_text",
        "equal_words",
        "expanded",
        "functions_of",
        "hyper_of",
        "make_treatment",
        "named_functions",
        "own_baseline",
        "placed",
        "unread",
    ),
    "_rows": ("Drawing", "cluster_codes", "data_fingerprint", "rows_of", "trained_fingerprint", "with_splits"),
    "_trial": ("CHOICE", "IDENTITY", "Named", "Recorded", "State", "Trial", "canonical", "trial_of"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
