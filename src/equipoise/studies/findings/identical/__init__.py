"""Findings of identical runs, in the manner of paper 004: their spread, and whether one run would have misled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies.findings.identical._fairest import FairestRecord as FairestRecord
    from equipoise.studies.findings.identical._fairest import chosen_fairest as chosen_fairest
    from equipoise.studies.findings.identical._fairest import identical_parts as identical_parts
    from equipoise.studies.findings.identical._paper import PaperClaim as PaperClaim
    from equipoise.studies.findings.identical._paper import Reproduction as Reproduction
    from equipoise.studies.findings.identical._paper import TechniqueSpread as TechniqueSpread
    from equipoise.studies.findings.identical._paper import read_reproduction as read_reproduction
    from equipoise.studies.findings.identical._paper import reproduction_from as reproduction_from
    from equipoise.studies.findings.identical._paper import reproduction_of as reproduction_of
    from equipoise.studies.findings.identical._paper import verdict_words as verdict_words
    from equipoise.studies.findings.identical._runs import IMPACT as IMPACT
    from equipoise.studies.findings.identical._runs import BothSides as BothSides
    from equipoise.studies.findings.identical._runs import ClassFailure as ClassFailure
    from equipoise.studies.findings.identical._runs import ClassRecord as ClassRecord
    from equipoise.studies.findings.identical._runs import Experiment as Experiment
    from equipoise.studies.findings.identical._runs import RunsRecord as RunsRecord
    from equipoise.studies.findings.identical._runs import records_of_one_seed as records_of_one_seed
    from equipoise.studies.findings.identical._runs import unlisted_note as unlisted_note

_MODULES = {
    "_fairest": ("FairestRecord", "chosen_fairest", "identical_parts"),
    "_paper": (
        "PaperClaim",
        "Reproduction",
        "TechniqueSpread",
        "read_reproduction",
        "reproduction_from",
        "reproduction_of",
        "verdict_words",
    ),
    "_runs": (
        "IMPACT",
        "BothSides",
        "ClassFailure",
        "ClassRecord",
        "Experiment",
        "RunsRecord",
        "records_of_one_seed",
        "unlisted_note",
    ),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
