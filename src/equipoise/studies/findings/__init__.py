"""What trials say: measures, evidence and the result that a report shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies.findings._claims import Claim as Claim
    from equipoise.studies.findings._claims import ClaimKind as ClaimKind
    from equipoise.studies.findings._claims import change_claims as change_claims
    from equipoise.studies.findings._claims import ranks_under as ranks_under
    from equipoise.studies.findings._claims import seeds_needed as seeds_needed
    from equipoise.studies.findings._exporting import check_ending as check_ending
    from equipoise.studies.findings._exporting import write_table as write_table
    from equipoise.studies.findings._reading import ReadingOptions as ReadingOptions
    from equipoise.studies.findings._reading import check_same_plan as check_same_plan
    from equipoise.studies.findings._reading import data_of as data_of
    from equipoise.studies.findings._reading import layout_of as layout_of
    from equipoise.studies.findings._reading import read_study as read_study
    from equipoise.studies.findings._reading import read_undecided as read_undecided
    from equipoise.studies.findings._reading import training_of as training_of
    from equipoise.studies.findings._reporting import measure_study as measure_study
    from equipoise.studies.findings._reporting import result_of as result_of
    from equipoise.studies.findings._result import SCHEMA as SCHEMA
    from equipoise.studies.findings._result import CellRecord as CellRecord
    from equipoise.studies.findings._result import ContrastRecord as ContrastRecord
    from equipoise.studies.findings._result import LabelRecord as LabelRecord
    from equipoise.studies.findings._result import RankRecord as RankRecord
    from equipoise.studies.findings._result import StudyRecord as StudyRecord
    from equipoise.studies.findings._result import StudyResult as StudyResult
    from equipoise.studies.findings._search import SearchedRange as SearchedRange
    from equipoise.studies.findings._search import SearchSetting as SearchSetting
    from equipoise.studies.findings._search import StudySearch as StudySearch
    from equipoise.studies.findings._words import Under as Under
    from equipoise.studies.findings._words import baseline_name as baseline_name
    from equipoise.studies.findings._words import measure_name as measure_name
    from equipoise.studies.findings._words import only_baseline as only_baseline
    from equipoise.studies.findings._words import record_of as record_of
    from equipoise.studies.findings._words import undefined_everywhere as undefined_everywhere
    from equipoise.studies.findings._words import under_name as under_name
    from equipoise.studies.findings._words import under_noun as under_noun
    from equipoise.studies.findings._words import under_phrase as under_phrase
    from equipoise.studies.findings._words import with_symbol as with_symbol
    from equipoise.studies.findings.identical import IMPACT as IMPACT
    from equipoise.studies.findings.identical import BothSides as BothSides
    from equipoise.studies.findings.identical import ClassFailure as ClassFailure
    from equipoise.studies.findings.identical import ClassRecord as ClassRecord
    from equipoise.studies.findings.identical import FairestRecord as FairestRecord
    from equipoise.studies.findings.identical import PaperClaim as PaperClaim
    from equipoise.studies.findings.identical import Reproduction as Reproduction
    from equipoise.studies.findings.identical import RunsRecord as RunsRecord
    from equipoise.studies.findings.identical import TechniqueSpread as TechniqueSpread
    from equipoise.studies.findings.identical import chosen_fairest as chosen_fairest
    from equipoise.studies.findings.identical import read_reproduction as read_reproduction
    from equipoise.studies.findings.identical import records_of_one_seed as records_of_one_seed
    from equipoise.studies.findings.identical import reproduction_from as reproduction_from
    from equipoise.studies.findings.identical import reproduction_of as reproduction_of
    from equipoise.studies.findings.identical import verdict_words as verdict_words
    from equipoise.studies.findings.spaces import AMI as AMI
    from equipoise.studies.findings.spaces import BALANCED as BALANCED
    from equipoise.studies.findings.spaces import BALANCED_DOMAIN_INDEPENDENT as BALANCED_DOMAIN_INDEPENDENT
    from equipoise.studies.findings.spaces import DOMAIN_INDEPENDENT as DOMAIN_INDEPENDENT
    from equipoise.studies.findings.spaces import EMBEDDING as EMBEDDING
    from equipoise.studies.findings.spaces import HALVES as HALVES
    from equipoise.studies.findings.spaces import MAIN_RULES as MAIN_RULES
    from equipoise.studies.findings.spaces import MAJORITISED as MAJORITISED
    from equipoise.studies.findings.spaces import NMI as NMI
    from equipoise.studies.findings.spaces import OWN_ROWS as OWN_ROWS
    from equipoise.studies.findings.spaces import RECALL as RECALL
    from equipoise.studies.findings.spaces import SCOPE as SCOPE
    from equipoise.studies.findings.spaces import SPOKEN as SPOKEN
    from equipoise.studies.findings.spaces import UNIFORMITY as UNIFORMITY
    from equipoise.studies.findings.spaces import ExamplePicture as ExamplePicture
    from equipoise.studies.findings.spaces import SpaceContrast as SpaceContrast
    from equipoise.studies.findings.spaces import SpaceRecord as SpaceRecord
    from equipoise.studies.findings.spaces import SpaceSetting as SpaceSetting
    from equipoise.studies.findings.spaces import StudyMap as StudyMap
    from equipoise.studies.findings.spaces import Sweep as Sweep
    from equipoise.studies.findings.spaces import set_aside as set_aside
    from equipoise.studies.findings.spaces import source_title as source_title
    from equipoise.studies.findings.spaces import space_parts as space_parts
    from equipoise.studies.findings.spaces import sweeps_of as sweeps_of
    from equipoise.studies.findings.spaces import title_of as title_of
    from equipoise.studies.findings.spaces import training_title as training_title

_MODULES = {
    "spaces": (
        "AMI",
        "BALANCED",
        "BALANCED_DOMAIN_INDEPENDENT",
        "DOMAIN_INDEPENDENT",
        "EMBEDDING",
        "ExamplePicture",
        "HALVES",
        "MAIN_RULES",
        "MAJORITISED",
        "NMI",
        "OWN_ROWS",
        "RECALL",
        "SCOPE",
        "SPOKEN",
        "SpaceContrast",
        "SpaceRecord",
        "SpaceSetting",
        "StudyMap",
        "Sweep",
        "UNIFORMITY",
        "set_aside",
        "source_title",
        "space_parts",
        "sweeps_of",
        "title_of",
        "training_title",
    ),
    "identical": (
        "BothSides",
        "ClassFailure",
        "ClassRecord",
        "FairestRecord",
        "IMPACT",
        "PaperClaim",
        "Reproduction",
        "RunsRecord",
        "TechniqueSpread",
        "chosen_fairest",
        "read_reproduction",
        "records_of_one_seed",
        "reproduction_from",
        "reproduction_of",
        "verdict_words",
    ),
    "_claims": ("Claim", "ClaimKind", "change_claims", "ranks_under", "seeds_needed"),
    "_exporting": ("check_ending", "write_table"),
    "_reading": (
        "ReadingOptions",
        "check_same_plan",
        "data_of",
        "layout_of",
        "read_study",
        "read_undecided",
        "training_of",
    ),
    "_reporting": ("measure_study", "result_of"),
    "_result": ("CellRecord", "ContrastRecord", "LabelRecord", "RankRecord", "SCHEMA", "StudyRecord", "StudyResult"),
    "_search": ("SearchSetting", "SearchedRange", "StudySearch"),
    "_words": (
        "Under",
        "baseline_name",
        "measure_name",
        "only_baseline",
        "record_of",
        "undefined_everywhere",
        "under_name",
        "under_noun",
        "under_phrase",
        "with_symbol",
    ),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
