"""Numbers about outcomes: each measure is a plain function of a tally, registered under its full name.

``equipoise.measures.demographic_parity(target, prediction, sensitive_features=group)`` returns a float, or NaN where
the number is not defined; ``.record(...)`` says why; ``.from_counts(table)`` is the pure form.

Comparisons are numbers about two representations of the same rows: ``equipoise.measures.pnka(before, after)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.measures._classification import equalized_odds as equalized_odds
    from equipoise.measures._classification import optimum_distance as optimum_distance
    from equipoise.measures._classification import statistical_parity_difference as statistical_parity_difference
    from equipoise.measures._comparison import Comparison as Comparison
    from equipoise.measures._comparison import as_pair as as_pair
    from equipoise.measures._comparison import comparison as comparison
    from equipoise.measures._comparison import get_comparison as get_comparison
    from equipoise.measures._embeddings import GAP_RULES as GAP_RULES
    from equipoise.measures._embeddings import GAP_VARIANTS as GAP_VARIANTS
    from equipoise.measures._embeddings import NO_LARGEST_GROUP_HINT as NO_LARGEST_GROUP_HINT
    from equipoise.measures._embeddings import PAPER_SIGN as PAPER_SIGN
    from equipoise.measures._embeddings import RBF_ROWS as RBF_ROWS
    from equipoise.measures._embeddings import RBF_WEIGHT as RBF_WEIGHT
    from equipoise.measures._embeddings import Contingency as Contingency
    from equipoise.measures._embeddings import Pairs as Pairs
    from equipoise.measures._embeddings import across_class_distance as across_class_distance
    from equipoise.measures._embeddings import common_group_size as common_group_size
    from equipoise.measures._embeddings import compared_groups as compared_groups
    from equipoise.measures._embeddings import contingency_tables as contingency_tables
    from equipoise.measures._embeddings import divergence_from_uniform as divergence_from_uniform
    from equipoise.measures._embeddings import expected_mutual_information as expected_mutual_information
    from equipoise.measures._embeddings import float_spacing as float_spacing
    from equipoise.measures._embeddings import group_gap as group_gap
    from equipoise.measures._embeddings import halves_difference as halves_difference
    from equipoise.measures._embeddings import log_mean_rbf_kernel as log_mean_rbf_kernel
    from equipoise.measures._embeddings import pairs_of_all as pairs_of_all
    from equipoise.measures._embeddings import pairs_within as pairs_within
    from equipoise.measures._embeddings import singleton_counts as singleton_counts
    from equipoise.measures._embeddings import singular_values as singular_values
    from equipoise.measures._embeddings import squared_distances as squared_distances
    from equipoise.measures._embeddings import within_class_distance as within_class_distance
    from equipoise.measures._individual import consistency as consistency
    from equipoise.measures._measure import Better as Better
    from equipoise.measures._measure import Measure as Measure
    from equipoise.measures._measure import class_index as class_index
    from equipoise.measures._measure import get_measure as get_measure
    from equipoise.measures._measure import largest_difference as largest_difference
    from equipoise.measures._measure import mean_over_classes as mean_over_classes
    from equipoise.measures._measure import measure as measure
    from equipoise.measures._measure import tally_of as tally_of
    from equipoise.measures._neighbours import neighbour_overlap as neighbour_overlap
    from equipoise.measures._objectives import FAIRNESSES as FAIRNESSES
    from equipoise.measures._objectives import PERFORMANCES as PERFORMANCES
    from equipoise.measures._objectives import SKEWED_CLASSES as SKEWED_CLASSES
    from equipoise.measures._objectives import ClassCounts as ClassCounts
    from equipoise.measures._objectives import Fairness as Fairness
    from equipoise.measures._objectives import Performance as Performance
    from equipoise.measures._objectives import PerformanceReason as PerformanceReason
    from equipoise.measures._objectives import all_labels_have_collapsed as all_labels_have_collapsed
    from equipoise.measures._objectives import auc_of as auc_of
    from equipoise.measures._objectives import check_fairness as check_fairness
    from equipoise.measures._objectives import check_performance as check_performance
    from equipoise.measures._objectives import class_fairness as class_fairness
    from equipoise.measures._objectives import class_performance as class_performance
    from equipoise.measures._objectives import class_skew as class_skew
    from equipoise.measures._objectives import constant_prediction as constant_prediction
    from equipoise.measures._objectives import counts_have_collapsed as counts_have_collapsed
    from equipoise.measures._objectives import default_performance as default_performance
    from equipoise.measures._objectives import has_collapsed as has_collapsed
    from equipoise.measures._objectives import has_collapsed_regression as has_collapsed_regression
    from equipoise.measures._objectives import label_scores as label_scores
    from equipoise.measures._objectives import labels_have_collapsed as labels_have_collapsed
    from equipoise.measures._objectives import r_squared as r_squared
    from equipoise.measures._scores import CALIBRATION_BINS as CALIBRATION_BINS
    from equipoise.measures._scores import calibration_curve as calibration_curve
    from equipoise.measures._similarity import Approximation as Approximation
    from equipoise.measures._similarity import aggregate_pnka as aggregate_pnka
    from equipoise.measures._similarity import cka as cka
    from equipoise.measures._similarity import pnka as pnka
    from equipoise.tallies import confusion as confusion
    from equipoise.tallies import embed as embed

_MODULES = {
    "_classification": ("equalized_odds", "optimum_distance", "statistical_parity_difference"),
    "_comparison": ("Comparison", "as_pair", "comparison", "get_comparison"),
    "_embeddings": (
        "Contingency", "GAP_RULES", "GAP_VARIANTS", "NO_LARGEST_GROUP_HINT", "PAPER_SIGN", "Pairs", "RBF_ROWS",
        "RBF_WEIGHT", "across_class_distance", "common_group_size", "compared_groups", "contingency_tables",
        "divergence_from_uniform", "expected_mutual_information", "float_spacing", "group_gap", "halves_difference",
        "log_mean_rbf_kernel", "pairs_of_all", "pairs_within", "singleton_counts", "singular_values",
        "squared_distances", "within_class_distance",
    ),
    "_individual": ("consistency",),
    "_measure": (
        "Better", "Measure", "class_index", "get_measure", "largest_difference", "mean_over_classes", "measure",
        "tally_of",
    ),
    "_neighbours": ("neighbour_overlap",),
    "_objectives": (
        "ClassCounts", "FAIRNESSES", "Fairness", "PERFORMANCES", "Performance", "PerformanceReason", "SKEWED_CLASSES",
        "all_labels_have_collapsed", "auc_of", "check_fairness", "check_performance", "class_fairness",
        "class_performance", "class_skew", "constant_prediction", "counts_have_collapsed", "default_performance",
        "has_collapsed", "has_collapsed_regression", "label_scores", "labels_have_collapsed", "r_squared",
    ),
    "_scores": ("CALIBRATION_BINS", "calibration_curve"),
    "_similarity": ("Approximation", "aggregate_pnka", "cka", "pnka"),
}  # fmt: skip
_STATIC, _static, _ = door(__name__, _MODULES)
__all__ = [*_STATIC, "confusion", "embed"]
# What makes a tally of counts or of points, for ``from_counts`` of a measure.
_TALLIES = ("confusion", "embed")


def __getattr__(name: str) -> Any:
    if name in _STATIC:
        return _static(name)
    if name in _TALLIES:
        return getattr(importlib.import_module("equipoise.tallies"), name)
    from equipoise.foundation import BadInput, registry

    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _names("comparison"):
        return registry.get("comparison", name).implementation
    try:
        thing = registry.get("measure", name).implementation
    except BadInput as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {error}") from None
    return thing


def _names(kind: str) -> set[str]:
    from equipoise.foundation import registry

    return {name for entry in registry.entries(kind) for name in (entry.name, entry.alias) if name is not None}


def __dir__() -> list[str]:
    from equipoise.foundation import registry

    registered = (entry.name for kind in ("measure", "comparison") for entry in registry.entries(kind))
    return sorted({*__all__, *registered})
