"""Findings on the embedding spaces of trials: are they as good for every group, and what can be built on them?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies.findings.spaces._choosing import DEFAULT as DEFAULT
    from equipoise.studies.findings.spaces._choosing import Choosing as Choosing
    from equipoise.studies.findings.spaces._choosing import rechosen as rechosen
    from equipoise.studies.findings.spaces._parts import BALANCED_DOMAIN_INDEPENDENT as BALANCED_DOMAIN_INDEPENDENT
    from equipoise.studies.findings.spaces._parts import DOMAIN_INDEPENDENT as DOMAIN_INDEPENDENT
    from equipoise.studies.findings.spaces._parts import MAIN_RULES as MAIN_RULES
    from equipoise.studies.findings.spaces._parts import SCOPE as SCOPE
    from equipoise.studies.findings.spaces._parts import SPOKEN as SPOKEN
    from equipoise.studies.findings.spaces._parts import choice_notes as choice_notes
    from equipoise.studies.findings.spaces._parts import chosen_by_spaces as chosen_by_spaces
    from equipoise.studies.findings.spaces._parts import source_title as source_title
    from equipoise.studies.findings.spaces._parts import space_notes as space_notes
    from equipoise.studies.findings.spaces._parts import space_parts as space_parts
    from equipoise.studies.findings.spaces._parts import title_of as title_of
    from equipoise.studies.findings.spaces._parts import training_title as training_title
    from equipoise.studies.findings.spaces._result import BALANCED as BALANCED
    from equipoise.studies.findings.spaces._result import EMBEDDING as EMBEDDING
    from equipoise.studies.findings.spaces._result import HALVES as HALVES
    from equipoise.studies.findings.spaces._result import MAJORITISED as MAJORITISED
    from equipoise.studies.findings.spaces._result import OWN_ROWS as OWN_ROWS
    from equipoise.studies.findings.spaces._result import ExamplePicture as ExamplePicture
    from equipoise.studies.findings.spaces._result import SpaceContrast as SpaceContrast
    from equipoise.studies.findings.spaces._result import SpaceExamples as SpaceExamples
    from equipoise.studies.findings.spaces._result import SpaceRecord as SpaceRecord
    from equipoise.studies.findings.spaces._result import SpaceSetting as SpaceSetting
    from equipoise.studies.findings.spaces._result import StudyMap as StudyMap
    from equipoise.studies.findings.spaces._result import Sweep as Sweep
    from equipoise.studies.findings.spaces._result import set_aside as set_aside
    from equipoise.studies.findings.spaces._result import sweeps_of as sweeps_of
    from equipoise.studies.findings.spaces._values import AMI as AMI
    from equipoise.studies.findings.spaces._values import NMI as NMI
    from equipoise.studies.findings.spaces._values import RECALL as RECALL
    from equipoise.studies.findings.spaces._values import UNIFORMITY as UNIFORMITY
    from equipoise.studies.findings.spaces._values import Spaces as Spaces
    from equipoise.studies.findings.spaces._values import StoredArrays as StoredArrays
    from equipoise.studies.findings.spaces._values import spaces_of as spaces_of
    from equipoise.studies.findings.spaces._values import value_cache as value_cache

_MODULES = {
    "_choosing": ("DEFAULT", "Choosing", "rechosen"),
    "_parts": (
        "BALANCED_DOMAIN_INDEPENDENT",
        "DOMAIN_INDEPENDENT",
        "MAIN_RULES",
        "SCOPE",
        "SPOKEN",
        "choice_notes",
        "chosen_by_spaces",
        "source_title",
        "space_notes",
        "space_parts",
        "title_of",
        "training_title",
    ),
    "_result": (
        "BALANCED",
        "EMBEDDING",
        "HALVES",
        "MAJORITISED",
        "OWN_ROWS",
        "ExamplePicture",
        "SpaceContrast",
        "SpaceExamples",
        "SpaceRecord",
        "SpaceSetting",
        "StudyMap",
        "Sweep",
        "set_aside",
        "sweeps_of",
    ),
    "_values": ("AMI", "NMI", "RECALL", "UNIFORMITY", "Spaces", "StoredArrays", "spaces_of", "value_cache"),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
