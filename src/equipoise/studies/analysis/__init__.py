"""The analysis of a study: its trials as arrays, cells and their numbers, other people, verdicts and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.studies.analysis._cells import MEAN_LEVEL as MEAN_LEVEL
    from equipoise.studies.analysis._cells import RERUNS as RERUNS
    from equipoise.studies.analysis._cells import SEEDS as SEEDS
    from equipoise.studies.analysis._cells import UNTREATED as UNTREATED
    from equipoise.studies.analysis._cells import Cell as Cell
    from equipoise.studies.analysis._cells import Measured as Measured
    from equipoise.studies.analysis._cells import SpreadNote as SpreadNote
    from equipoise.studies.analysis._cells import Under as Under
    from equipoise.studies.analysis._cells import Units as Units
    from equipoise.studies.analysis._cells import baselines_of as baselines_of
    from equipoise.studies.analysis._cells import cells_of as cells_of
    from equipoise.studies.analysis._cells import mean_intervals as mean_intervals
    from equipoise.studies.analysis._cells import nested as nested
    from equipoise.studies.analysis._cells import units_of as units_of
    from equipoise.studies.analysis._data import DEV as DEV
    from equipoise.studies.analysis._data import STILL_FALLING as STILL_FALLING
    from equipoise.studies.analysis._data import TEST as TEST
    from equipoise.studies.analysis._data import WORDS as WORDS
    from equipoise.studies.analysis._data import Attribute as Attribute
    from equipoise.studies.analysis._data import Codes as Codes
    from equipoise.studies.analysis._data import Composition as Composition
    from equipoise.studies.analysis._data import Failure as Failure
    from equipoise.studies.analysis._data import Layout as Layout
    from equipoise.studies.analysis._data import StudyData as StudyData
    from equipoise.studies.analysis._data import TestRows as TestRows
    from equipoise.studies.analysis._data import Unfinished as Unfinished
    from equipoise.studies.analysis._data import attributes_of as attributes_of
    from equipoise.studies.analysis._data import cell_end as cell_end
    from equipoise.studies.analysis._data import training_ends as training_ends
    from equipoise.studies.analysis._people import NO_LABELS as NO_LABELS
    from equipoise.studies.analysis._people import NO_PREDICTIONS as NO_PREDICTIONS
    from equipoise.studies.analysis._people import NOT_RESAMPLED as NOT_RESAMPLED
    from equipoise.studies.analysis._people import Counted as Counted
    from equipoise.studies.analysis._people import FlipRecord as FlipRecord
    from equipoise.studies.analysis._people import FlipRow as FlipRow
    from equipoise.studies.analysis._people import Resampled as Resampled
    from equipoise.studies.analysis._people import flips_of as flips_of
    from equipoise.studies.analysis._people import is_clustered as is_clustered
    from equipoise.studies.analysis._people import resample_people as resample_people
    from equipoise.studies.analysis._quantities import LABELS as LABELS
    from equipoise.studies.analysis._quantities import Aucs as Aucs
    from equipoise.studies.analysis._quantities import ConstantRecord as ConstantRecord
    from equipoise.studies.analysis._quantities import aucs_of as aucs_of
    from equipoise.studies.analysis._quantities import batched as batched
    from equipoise.studies.analysis._quantities import collapsed_cells as collapsed_cells
    from equipoise.studies.analysis._quantities import collapsed_runs as collapsed_runs
    from equipoise.studies.analysis._quantities import constant_record as constant_record
    from equipoise.studies.analysis._quantities import fill_in as fill_in
    from equipoise.studies.analysis._quantities import is_bounded as is_bounded
    from equipoise.studies.analysis._quantities import label_quantities as label_quantities
    from equipoise.studies.analysis._quantities import main_measures_of as main_measures_of
    from equipoise.studies.analysis._quantities import needs_scores as needs_scores
    from equipoise.studies.analysis._quantities import quantities_of as quantities_of
    from equipoise.studies.analysis._quantities import requested_measures as requested_measures
    from equipoise.studies.analysis._ranking import EQUAL_WITHIN as EQUAL_WITHIN
    from equipoise.studies.analysis._ranking import RankedUnder as RankedUnder
    from equipoise.studies.analysis._ranking import alternative_to as alternative_to
    from equipoise.studies.analysis._ranking import front_of as front_of
    from equipoise.studies.analysis._ranking import ranked as ranked
    from equipoise.studies.analysis._ranking import with_best as with_best
    from equipoise.studies.analysis._reasons import SpaceReason as SpaceReason
    from equipoise.studies.analysis._reasons import StudyReason as StudyReason
    from equipoise.studies.analysis._verdicts import POWER as POWER
    from equipoise.studies.analysis._verdicts import SMALLEST_EFFECT as SMALLEST_EFFECT
    from equipoise.studies.analysis._verdicts import Case as Case
    from equipoise.studies.analysis._verdicts import Judged as Judged
    from equipoise.studies.analysis._verdicts import Rules as Rules
    from equipoise.studies.analysis._verdicts import StudyTest as StudyTest
    from equipoise.studies.analysis._verdicts import Undecided as Undecided
    from equipoise.studies.analysis._verdicts import deciding_level as deciding_level
    from equipoise.studies.analysis._verdicts import is_open as is_open
    from equipoise.studies.analysis._verdicts import judge as judge
    from equipoise.studies.analysis._verdicts import limit_reason as limit_reason

_MODULES = {
    "_cells": (
        "Cell",
        "MEAN_LEVEL",
        "Measured",
        "RERUNS",
        "SEEDS",
        "SpreadNote",
        "UNTREATED",
        "Under",
        "Units",
        "baselines_of",
        "cells_of",
        "mean_intervals",
        "nested",
        "units_of",
    ),
    "_data": (
        "Attribute",
        "Codes",
        "Composition",
        "DEV",
        "Failure",
        "Layout",
        "STILL_FALLING",
        "StudyData",
        "TEST",
        "TestRows",
        "Unfinished",
        "WORDS",
        "attributes_of",
        "cell_end",
        "training_ends",
    ),
    "_people": (
        "Counted",
        "FlipRecord",
        "FlipRow",
        "NOT_RESAMPLED",
        "NO_LABELS",
        "NO_PREDICTIONS",
        "Resampled",
        "flips_of",
        "is_clustered",
        "resample_people",
    ),
    "_quantities": (
        "Aucs",
        "ConstantRecord",
        "LABELS",
        "requested_measures",
        "aucs_of",
        "batched",
        "collapsed_cells",
        "collapsed_runs",
        "constant_record",
        "fill_in",
        "is_bounded",
        "label_quantities",
        "main_measures_of",
        "needs_scores",
        "quantities_of",
    ),
    "_ranking": ("EQUAL_WITHIN", "RankedUnder", "alternative_to", "front_of", "ranked", "with_best"),
    "_reasons": ("SpaceReason", "StudyReason"),
    "_verdicts": (
        "Case",
        "Judged",
        "POWER",
        "Rules",
        "SMALLEST_EFFECT",
        "StudyTest",
        "Undecided",
        "deciding_level",
        "is_open",
        "judge",
        "limit_reason",
    ),
}
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
