"""Mergeable sufficient statistics: counts, score histograms and residual moments.

Everything an audit says is computed from these small tables, never from rows, so that one file, a folder of shards
and a table in a database give the same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.tallies._cells import Cells as Cells
    from equipoise.tallies._counts import CLUSTER_AXIS as CLUSTER_AXIS
    from equipoise.tallies._counts import CONTROL_AXIS as CONTROL_AXIS
    from equipoise.tallies._counts import GROUP_AXIS_PREFIX as GROUP_AXIS_PREFIX
    from equipoise.tallies._counts import PREDICTION_AXIS as PREDICTION_AXIS
    from equipoise.tallies._counts import ROWS as ROWS
    from equipoise.tallies._counts import SPLIT_AXIS as SPLIT_AXIS
    from equipoise.tallies._counts import SQUARES as SQUARES
    from equipoise.tallies._counts import TARGET_AXIS as TARGET_AXIS
    from equipoise.tallies._counts import WEIGHT as WEIGHT
    from equipoise.tallies._counts import ClassTotals as ClassTotals
    from equipoise.tallies._counts import Confusion as Confusion
    from equipoise.tallies._counts import Counts as Counts
    from equipoise.tallies._counts import class_labels as class_labels
    from equipoise.tallies._counts import confusion as confusion
    from equipoise.tallies._counts import confusion_of as confusion_of
    from equipoise.tallies._counts import group_axis as group_axis
    from equipoise.tallies._counts import group_labels as group_labels
    from equipoise.tallies._counts import group_name as group_name
    from equipoise.tallies._counts import row_group_codes as row_group_codes
    from equipoise.tallies._embedded import CHUNK_ROWS as CHUNK_ROWS
    from equipoise.tallies._embedded import EmbeddingMoments as EmbeddingMoments
    from equipoise.tallies._embedded import EmbeddingOptions as EmbeddingOptions
    from equipoise.tallies._embedded import EmbeddingSpace as EmbeddingSpace
    from equipoise.tallies._embedded import EmbeddingTally as EmbeddingTally
    from equipoise.tallies._embedded import embed as embed
    from equipoise.tallies._labels import BOOLEAN_LABELS as BOOLEAN_LABELS
    from equipoise.tallies._labels import MISSING as MISSING
    from equipoise.tallies._labels import Coded as Coded
    from equipoise.tallies._labels import Codes as Codes
    from equipoise.tallies._labels import Label as Label
    from equipoise.tallies._labels import boolean_spellings as boolean_spellings
    from equipoise.tallies._labels import check_same_classes as check_same_classes
    from equipoise.tallies._labels import classes_of as classes_of
    from equipoise.tallies._labels import continuous_classes_error as continuous_classes_error
    from equipoise.tallies._labels import factorise as factorise
    from equipoise.tallies._labels import is_fraction as is_fraction
    from equipoise.tallies._labels import is_missing as is_missing
    from equipoise.tallies._labels import label_of as label_of
    from equipoise.tallies._labels import label_text as label_text
    from equipoise.tallies._labels import match_class as match_class
    from equipoise.tallies._labels import ordered as ordered
    from equipoise.tallies._labels import positive_class as positive_class
    from equipoise.tallies._labels import presence_classes as presence_classes
    from equipoise.tallies._labels import presence_codes as presence_codes
    from equipoise.tallies._labels import unify_booleans as unify_booleans
    from equipoise.tallies._lazy import BIN_COLUMN as BIN_COLUMN
    from equipoise.tallies._lazy import add_bins as add_bins
    from equipoise.tallies._lazy import check_weights_lazily as check_weights_lazily
    from equipoise.tallies._lazy import collect_coded_rows as collect_coded_rows
    from equipoise.tallies._lazy import collect_rows as collect_rows
    from equipoise.tallies._lazy import count_lazily as count_lazily
    from equipoise.tallies._lazy import frequent_values as frequent_values
    from equipoise.tallies._lazy import open_engines as open_engines
    from equipoise.tallies._lazy import register_engine as register_engine
    from equipoise.tallies._lazy import run_query as run_query
    from equipoise.tallies._lazy import sampled_values as sampled_values
    from equipoise.tallies._lazy import unreadable_error as unreadable_error
    from equipoise.tallies._neighbours import NeighbourSearch as NeighbourSearch
    from equipoise.tallies._neighbours import as_points as as_points
    from equipoise.tallies._scores import RESIDUAL_SUMS as RESIDUAL_SUMS
    from equipoise.tallies._scores import SCORE_AXIS as SCORE_AXIS
    from equipoise.tallies._scores import SCORE_BINS as SCORE_BINS
    from equipoise.tallies._scores import RankedScores as RankedScores
    from equipoise.tallies._scores import ResidualMoments as ResidualMoments
    from equipoise.tallies._scores import ResidualPivot as ResidualPivot
    from equipoise.tallies._scores import ScoreHistogram as ScoreHistogram
    from equipoise.tallies._scores import ScoreScale as ScoreScale
    from equipoise.tallies._scores import cut_scale as cut_scale
    from equipoise.tallies._scores import fit_scale as fit_scale
    from equipoise.tallies._scores import residual_moments as residual_moments
    from equipoise.tallies._scores import residual_sums as residual_sums
    from equipoise.tallies._scores import residual_units as residual_units
    from equipoise.tallies._scores import residuals_of as residuals_of
    from equipoise.tallies._scores import scale_of_rows as scale_of_rows
    from equipoise.tallies._scores import score_cells as score_cells
    from equipoise.tallies._scores import score_range as score_range
    from equipoise.tallies._scores import score_units as score_units
    from equipoise.tallies._scores import scores_of as scores_of

_MODULES = {
    "_cells": ("Cells",),
    "_counts": (
        "CLUSTER_AXIS", "CONTROL_AXIS", "ClassTotals", "Confusion", "Counts", "GROUP_AXIS_PREFIX", "PREDICTION_AXIS",
        "ROWS", "SPLIT_AXIS", "SQUARES", "TARGET_AXIS", "WEIGHT", "class_labels", "confusion", "confusion_of",
        "group_axis", "group_labels", "group_name", "row_group_codes",
    ),
    "_embedded": ("CHUNK_ROWS", "EmbeddingMoments", "EmbeddingOptions", "EmbeddingSpace", "EmbeddingTally", "embed"),
    "_labels": (
        "BOOLEAN_LABELS", "Coded", "Codes", "Label", "MISSING", "boolean_spellings", "check_same_classes",
        "classes_of", "continuous_classes_error", "factorise", "is_fraction", "is_missing", "label_of", "match_class",
        "ordered", "positive_class", "presence_classes", "presence_codes", "label_text", "unify_booleans",
    ),
    "_lazy": (
        "BIN_COLUMN", "add_bins", "check_weights_lazily", "collect_coded_rows", "collect_rows", "count_lazily",
        "frequent_values", "open_engines", "register_engine", "run_query", "sampled_values", "unreadable_error",
    ),
    "_neighbours": ("NeighbourSearch", "as_points"),
    "_scores": (
        "RESIDUAL_SUMS", "RankedScores", "ResidualMoments", "ResidualPivot", "SCORE_AXIS", "SCORE_BINS",
        "ScoreHistogram", "ScoreScale", "cut_scale", "fit_scale", "residual_moments", "residual_sums",
        "residual_units", "residuals_of", "scale_of_rows", "score_cells", "score_range", "score_units", "scores_of",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
