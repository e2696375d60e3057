"""Statistics as pure functions on arrays: intervals, tests, resampling, multiple testing, power.

Nothing here knows of audits, studies or reports; those choose the statistic, and this room computes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation.imports import door

if TYPE_CHECKING:
    from equipoise.stats._cluster_permutation import Units as Units
    from equipoise.stats._cluster_permutation import clustered_auc as clustered_auc
    from equipoise.stats._cluster_permutation import clustered_mean_error as clustered_mean_error
    from equipoise.stats._cluster_permutation import compare_with_null as compare_with_null
    from equipoise.stats._cluster_permutation import dealt_out as dealt_out
    from equipoise.stats._cluster_permutation import mean_of_values as mean_of_values
    from equipoise.stats._cluster_permutation import profiles_of as profiles_of
    from equipoise.stats._cluster_permutation import share_interval as share_interval
    from equipoise.stats._cluster_permutation import shares_of_groups as shares_of_groups
    from equipoise.stats._exact import exact_difference_interval as exact_difference_interval
    from equipoise.stats._exact import exact_difference_p as exact_difference_p
    from equipoise.stats._exact import exact_equivalence_p as exact_equivalence_p
    from equipoise.stats._exact import exact_ratio_interval as exact_ratio_interval
    from equipoise.stats._group_means import ENOUGH_CLUSTERS as ENOUGH_CLUSTERS
    from equipoise.stats._group_means import ClusterMeans as ClusterMeans
    from equipoise.stats._group_means import Differences as Differences
    from equipoise.stats._group_means import GroupMeans as GroupMeans
    from equipoise.stats._group_means import RowMeans as RowMeans
    from equipoise.stats._group_means import Sides as Sides
    from equipoise.stats._group_means import clustered_rate as clustered_rate
    from equipoise.stats._group_means import clustered_trials as clustered_trials
    from equipoise.stats._multiple_comparisons import CORRECTIONS as CORRECTIONS
    from equipoise.stats._multiple_comparisons import LEVEL as LEVEL
    from equipoise.stats._multiple_comparisons import MOST_PAIRED as MOST_PAIRED
    from equipoise.stats._multiple_comparisons import PairBound as PairBound
    from equipoise.stats._multiple_comparisons import WithBest as WithBest
    from equipoise.stats._multiple_comparisons import benjamini_hochberg as benjamini_hochberg
    from equipoise.stats._multiple_comparisons import bounds_of as bounds_of
    from equipoise.stats._multiple_comparisons import box as box
    from equipoise.stats._multiple_comparisons import candidate_pairs as candidate_pairs
    from equipoise.stats._multiple_comparisons import compare_with_best as compare_with_best
    from equipoise.stats._multiple_comparisons import critical_value as critical_value
    from equipoise.stats._multiple_comparisons import deciding_level as deciding_level
    from equipoise.stats._multiple_comparisons import excludes as excludes
    from equipoise.stats._multiple_comparisons import holm as holm
    from equipoise.stats._multiple_comparisons import is_equivalent as is_equivalent
    from equipoise.stats._multiple_comparisons import is_finding as is_finding
    from equipoise.stats._multiple_comparisons import largest_studentised as largest_studentised
    from equipoise.stats._multiple_comparisons import least_difference as least_difference
    from equipoise.stats._multiple_comparisons import least_weighted_distance as least_weighted_distance
    from equipoise.stats._multiple_comparisons import null_variances as null_variances
    from equipoise.stats._multiple_comparisons import pairs_equivalence_p as pairs_equivalence_p
    from equipoise.stats._multiple_comparisons import pooled_rate as pooled_rate
    from equipoise.stats._multiple_comparisons import root_chi_square as root_chi_square
    from equipoise.stats._multiple_comparisons import share_of_best as share_of_best
    from equipoise.stats._multiple_comparisons import tie_tolerance as tie_tolerance
    from equipoise.stats._multiple_comparisons import uncorrected as uncorrected
    from equipoise.stats._multiple_comparisons import winner_if_equal as winner_if_equal
    from equipoise.stats._permutation import ENOUGH as ENOUGH
    from equipoise.stats._permutation import NullSample as NullSample
    from equipoise.stats._permutation import SequentialTests as SequentialTests
    from equipoise.stats._permutation import draws_needed as draws_needed
    from equipoise.stats._permutation import limited_by_draws as limited_by_draws
    from equipoise.stats._permutation import most_draws as most_draws
    from equipoise.stats._permutation import permutation_p as permutation_p
    from equipoise.stats._permutation import rank_among as rank_among
    from equipoise.stats._permutation import sequential_permutation as sequential_permutation
    from equipoise.stats._power import Margin as Margin
    from equipoise.stats._power import detectable_gap as detectable_gap
    from equipoise.stats._power import equivalence_p as equivalence_p
    from equipoise.stats._power import interval_within as interval_within
    from equipoise.stats._power import margin_ends as margin_ends
    from equipoise.stats._power import people_needed as people_needed
    from equipoise.stats._power import power_of as power_of
    from equipoise.stats._power import sources_equivalence_p as sources_equivalence_p
    from equipoise.stats._proportions import CASES as CASES
    from equipoise.stats._proportions import Estimate as Estimate
    from equipoise.stats._proportions import combined_interval as combined_interval
    from equipoise.stats._proportions import crossing as crossing
    from equipoise.stats._proportions import difference_equivalence_p as difference_equivalence_p
    from equipoise.stats._proportions import difference_interval as difference_interval
    from equipoise.stats._proportions import difference_p as difference_p
    from equipoise.stats._proportions import effective_counts as effective_counts
    from equipoise.stats._proportions import is_rare as is_rare
    from equipoise.stats._proportions import pair_estimate as pair_estimate
    from equipoise.stats._proportions import pair_interval as pair_interval
    from equipoise.stats._proportions import pair_p as pair_p
    from equipoise.stats._proportions import pair_statistic as pair_statistic
    from equipoise.stats._proportions import quantile as quantile
    from equipoise.stats._proportions import ratio_interval as ratio_interval
    from equipoise.stats._proportions import ratio_statistic as ratio_statistic
    from equipoise.stats._proportions import sample_estimate as sample_estimate
    from equipoise.stats._proportions import score_statistic as score_statistic
    from equipoise.stats._proportions import wilson as wilson
    from equipoise.stats._resampling import FEWEST_UNITS as FEWEST_UNITS
    from equipoise.stats._resampling import MOST_BLOCKS as MOST_BLOCKS
    from equipoise.stats._resampling import MOST_DENSE_CLASSES as MOST_DENSE_CLASSES
    from equipoise.stats._resampling import TABLE_BATCH as TABLE_BATCH
    from equipoise.stats._resampling import block_p as block_p
    from equipoise.stats._resampling import clustered_null as clustered_null
    from equipoise.stats._resampling import drawn_cells as drawn_cells
    from equipoise.stats._resampling import jackknife as jackknife
    from equipoise.stats._resampling import null_totals as null_totals
    from equipoise.stats._resampling import percentiles as percentiles
    from equipoise.stats._resampling import permuted as permuted
    from equipoise.stats._resampling import permuted_weights as permuted_weights
    from equipoise.stats._resampling import row_blocks as row_blocks
    from equipoise.stats._resampling import spread_of as spread_of
    from equipoise.stats._resampling import stretches as stretches
    from equipoise.stats._resampling import unit_totals as unit_totals
    from equipoise.stats._resampling import weighted_null as weighted_null
    from equipoise.stats._resampling import widening as widening
    from equipoise.stats._scores import auc_interval as auc_interval
    from equipoise.stats._scores import auc_spread as auc_spread
    from equipoise.stats._scores import brier_spread as brier_spread
    from equipoise.stats._scores import calibration_bounds as calibration_bounds
    from equipoise.stats._scores import calibration_p as calibration_p
    from equipoise.stats._scores import heterogeneity as heterogeneity
    from equipoise.stats._scores import logit_spread as logit_spread
    from equipoise.stats._scores import mean_score_spread as mean_score_spread
    from equipoise.stats._scores import weighted_mean_error as weighted_mean_error
    from equipoise.stats._seeds_and_people import FEW_SEEDS as FEW_SEEDS
    from equipoise.stats._seeds_and_people import FEWEST_SEEDS as FEWEST_SEEDS
    from equipoise.stats._seeds_and_people import MOST_SEEDS as MOST_SEEDS
    from equipoise.stats._seeds_and_people import Change as Change
    from equipoise.stats._seeds_and_people import LimitedBy as LimitedBy
    from equipoise.stats._seeds_and_people import VarianceComponents as VarianceComponents
    from equipoise.stats._seeds_and_people import detection_power as detection_power
    from equipoise.stats._seeds_and_people import limited_by as limited_by
    from equipoise.stats._seeds_and_people import paired_change as paired_change
    from equipoise.stats._seeds_and_people import people_variance as people_variance
    from equipoise.stats._seeds_and_people import seeds_to_detect as seeds_to_detect
    from equipoise.stats._seeds_and_people import sources_critical as sources_critical
    from equipoise.stats._seeds_and_people import sources_interval as sources_interval
    from equipoise.stats._seeds_and_people import sources_p as sources_p
    from equipoise.stats._seeds_and_people import unpaired_change as unpaired_change
    from equipoise.stats._seeds_and_people import variance_components as variance_components
    from equipoise.stats._seeds_and_people import with_people as with_people
    from equipoise.stats._two_samples import ARRANGEMENTS as ARRANGEMENTS
    from equipoise.stats._two_samples import LEAST_FOR_LEVENE as LEAST_FOR_LEVENE
    from equipoise.stats._two_samples import Band as Band
    from equipoise.stats._two_samples import Permuted as Permuted
    from equipoise.stats._two_samples import Side as Side
    from equipoise.stats._two_samples import band_of as band_of
    from equipoise.stats._two_samples import cohens_d as cohens_d
    from equipoise.stats._two_samples import levene_p as levene_p
    from equipoise.stats._two_samples import paired_lean as paired_lean
    from equipoise.stats._two_samples import permutation_test as permutation_test
    from equipoise.stats._two_samples import rank_test_p as rank_test_p
    from equipoise.stats._two_samples import share_above as share_above
    from equipoise.stats._two_samples import smallest_p as smallest_p
    from equipoise.stats._two_samples import smallest_paired_p as smallest_paired_p
    from equipoise.stats._two_samples import student as student
    from equipoise.stats._two_samples import t_interval as t_interval
    from equipoise.stats._two_samples import t_p as t_p
    from equipoise.stats._two_samples import welch as welch

_MODULES = {
    "_cluster_permutation": (
        "Units", "clustered_auc", "clustered_mean_error", "compare_with_null", "dealt_out", "mean_of_values",
        "profiles_of", "share_interval", "shares_of_groups",
    ),
    "_group_means": (
        "ENOUGH_CLUSTERS", "clustered_rate", "clustered_trials", "ClusterMeans", "Differences", "GroupMeans",
        "RowMeans", "Sides",
    ),
    "_power": (
        "Margin", "equivalence_p", "interval_within", "margin_ends", "sources_equivalence_p",
        "detectable_gap", "people_needed", "power_of",
    ),
    "_exact": ("exact_difference_interval", "exact_difference_p", "exact_equivalence_p", "exact_ratio_interval"),
    "_proportions": (
        "is_rare", "CASES", "Estimate", "pair_estimate", "pair_interval", "pair_p", "pair_statistic",
        "sample_estimate", "combined_interval", "crossing", "difference_equivalence_p", "difference_interval",
        "difference_p", "effective_counts", "quantile", "ratio_interval", "ratio_statistic", "score_statistic",
        "wilson",
    ),
    "_multiple_comparisons": (
        "CORRECTIONS", "LEVEL", "MOST_PAIRED", "benjamini_hochberg", "deciding_level", "excludes", "holm",
        "is_equivalent", "is_finding", "uncorrected", "PairBound", "bounds_of", "box", "candidate_pairs",
        "critical_value", "largest_studentised", "least_difference", "least_weighted_distance", "null_variances",
        "pairs_equivalence_p", "pooled_rate", "root_chi_square", "WithBest", "compare_with_best", "share_of_best",
        "tie_tolerance", "winner_if_equal",
    ),
    "_permutation": (
        "ENOUGH", "NullSample", "SequentialTests", "draws_needed", "limited_by_draws", "most_draws", "permutation_p",
        "rank_among", "sequential_permutation",
    ),
    "_resampling": (
        "MOST_DENSE_CLASSES", "TABLE_BATCH", "clustered_null", "null_totals", "permuted", "permuted_weights",
        "weighted_null", "FEWEST_UNITS", "drawn_cells", "percentiles", "spread_of", "stretches", "unit_totals",
        "widening", "MOST_BLOCKS", "block_p", "row_blocks", "jackknife",
    ),
    "_two_samples": (
        "LEAST_FOR_LEVENE", "Side", "levene_p", "paired_lean", "rank_test_p", "share_above", "smallest_p",
        "smallest_paired_p", "ARRANGEMENTS", "Band", "Permuted", "band_of", "cohens_d", "permutation_test",
        "student", "t_interval", "t_p", "welch",
    ),
    "_scores": (
        "auc_interval", "auc_spread", "brier_spread", "calibration_bounds", "calibration_p", "heterogeneity",
        "logit_spread", "mean_score_spread", "weighted_mean_error",
    ),
    "_seeds_and_people": (
        "Change", "FEWEST_SEEDS", "FEW_SEEDS", "LimitedBy", "MOST_SEEDS", "detection_power", "limited_by",
        "paired_change", "people_variance", "seeds_to_detect", "sources_critical", "sources_interval", "sources_p",
        "unpaired_change", "with_people", "VarianceComponents", "variance_components",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
