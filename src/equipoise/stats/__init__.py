"""Statistics as pure functions on arrays: intervals, tests, resampling, multiple testing, power.

Nothing here knows of audits, studies or reports; those choose the statistic, and this room computes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.stats._cluster_permutation import Units as Units
    from equipoise.stats._cluster_permutation import clustered_auc as clustered_auc
    from equipoise.stats._cluster_permutation import clustered_mean_standard_error as clustered_mean_standard_error
    from equipoise.stats._cluster_permutation import compare_with_null as compare_with_null
    from equipoise.stats._cluster_permutation import permuted_sums as permuted_sums
    from equipoise.stats._cluster_permutation import share_interval as share_interval
    from equipoise.stats._cluster_permutation import shares_of_groups as shares_of_groups
    from equipoise.stats._cluster_permutation import unit_profiles as unit_profiles
    from equipoise.stats._cluster_permutation import weighted_mean_shift as weighted_mean_shift
    from equipoise.stats._exact import exact_difference_interval as exact_difference_interval
    from equipoise.stats._exact import exact_difference_p as exact_difference_p
    from equipoise.stats._exact import exact_equivalence_p as exact_equivalence_p
    from equipoise.stats._exact import exact_ratio_interval as exact_ratio_interval
    from equipoise.stats._group_means import ENOUGH_CLUSTERS as ENOUGH_CLUSTERS
    from equipoise.stats._group_means import ClusterMeans as ClusterMeans
    from equipoise.stats._group_means import ComparisonSides as ComparisonSides
    from equipoise.stats._group_means import GroupMeans as GroupMeans
    from equipoise.stats._group_means import MeanDifferences as MeanDifferences
    from equipoise.stats._group_means import RowMeans as RowMeans
    from equipoise.stats._group_means import clustered_rate as clustered_rate
    from equipoise.stats._group_means import clustered_trials as clustered_trials
    from equipoise.stats._growing_studies import LOOKS as LOOKS
    from equipoise.stats._growing_studies import SEEDS_SHARE as SEEDS_SHARE
    from equipoise.stats._growing_studies import anytime_critical as anytime_critical
    from equipoise.stats._growing_studies import anytime_p as anytime_p
    from equipoise.stats._growing_studies import check_looks as check_looks
    from equipoise.stats._growing_studies import looks_p as looks_p
    from equipoise.stats._growing_studies import nominal_level as nominal_level
    from equipoise.stats._multiple_comparisons import CORRECTIONS as CORRECTIONS
    from equipoise.stats._multiple_comparisons import LEVEL as LEVEL
    from equipoise.stats._multiple_comparisons import MAX_PAIRED_GROUPS as MAX_PAIRED_GROUPS
    from equipoise.stats._multiple_comparisons import BestComparison as BestComparison
    from equipoise.stats._multiple_comparisons import PairBound as PairBound
    from equipoise.stats._multiple_comparisons import benjamini_hochberg as benjamini_hochberg
    from equipoise.stats._multiple_comparisons import candidate_pairs as candidate_pairs
    from equipoise.stats._multiple_comparisons import compare_with_best as compare_with_best
    from equipoise.stats._multiple_comparisons import critical_value as critical_value
    from equipoise.stats._multiple_comparisons import deciding_level as deciding_level
    from equipoise.stats._multiple_comparisons import holm as holm
    from equipoise.stats._multiple_comparisons import interval_excludes as interval_excludes
    from equipoise.stats._multiple_comparisons import is_equivalent as is_equivalent
    from equipoise.stats._multiple_comparisons import is_finding as is_finding
    from equipoise.stats._multiple_comparisons import largest_studentised as largest_studentised
    from equipoise.stats._multiple_comparisons import least_possible_difference as least_possible_difference
    from equipoise.stats._multiple_comparisons import least_weighted_distance as least_weighted_distance
    from equipoise.stats._multiple_comparisons import null_variances as null_variances
    from equipoise.stats._multiple_comparisons import pair_bounds as pair_bounds
    from equipoise.stats._multiple_comparisons import pairs_equivalence_p as pairs_equivalence_p
    from equipoise.stats._multiple_comparisons import pooled_rate as pooled_rate
    from equipoise.stats._multiple_comparisons import root_chi_square as root_chi_square
    from equipoise.stats._multiple_comparisons import share_of_best as share_of_best
    from equipoise.stats._multiple_comparisons import simultaneous_intervals as simultaneous_intervals
    from equipoise.stats._multiple_comparisons import tie_tolerance as tie_tolerance
    from equipoise.stats._multiple_comparisons import uncorrected as uncorrected
    from equipoise.stats._multiple_comparisons import winner_if_equal as winner_if_equal
    from equipoise.stats._permutation import ENOUGH_EXTREME_DRAWS as ENOUGH_EXTREME_DRAWS
    from equipoise.stats._permutation import NullSample as NullSample
    from equipoise.stats._permutation import SequentialTests as SequentialTests
    from equipoise.stats._permutation import draw_limits as draw_limits
    from equipoise.stats._permutation import draws_needed as draws_needed
    from equipoise.stats._permutation import limited_by_draws as limited_by_draws
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
    from equipoise.stats._proportions import PAIR_CASES as PAIR_CASES
    from equipoise.stats._proportions import Estimate as Estimate
    from equipoise.stats._proportions import combined_interval as combined_interval
    from equipoise.stats._proportions import difference_equivalence_p as difference_equivalence_p
    from equipoise.stats._proportions import difference_interval as difference_interval
    from equipoise.stats._proportions import difference_p as difference_p
    from equipoise.stats._proportions import effective_counts as effective_counts
    from equipoise.stats._proportions import find_root as find_root
    from equipoise.stats._proportions import is_rare as is_rare
    from equipoise.stats._proportions import normal_quantile as normal_quantile
    from equipoise.stats._proportions import pair_estimate as pair_estimate
    from equipoise.stats._proportions import pair_interval as pair_interval
    from equipoise.stats._proportions import pair_p as pair_p
    from equipoise.stats._proportions import pair_statistic as pair_statistic
    from equipoise.stats._proportions import ratio_interval as ratio_interval
    from equipoise.stats._proportions import ratio_statistic as ratio_statistic
    from equipoise.stats._proportions import sample_estimate as sample_estimate
    from equipoise.stats._proportions import score_statistic as score_statistic
    from equipoise.stats._proportions import wilson as wilson
    from equipoise.stats._resampled_t import ResampledT as ResampledT
    from equipoise.stats._resampled_t import corrected_resampled_t as corrected_resampled_t
    from equipoise.stats._resampling import MIN_UNITS as MIN_UNITS
    from equipoise.stats._resampling import MOST_BLOCKS as MOST_BLOCKS
    from equipoise.stats._resampling import MOST_DENSE_CLASSES as MOST_DENSE_CLASSES
    from equipoise.stats._resampling import TABLE_BATCH as TABLE_BATCH
    from equipoise.stats._resampling import block_p as block_p
    from equipoise.stats._resampling import bootstrap_counts as bootstrap_counts
    from equipoise.stats._resampling import bootstrap_totals as bootstrap_totals
    from equipoise.stats._resampling import clustered_null as clustered_null
    from equipoise.stats._resampling import jackknife as jackknife
    from equipoise.stats._resampling import null_totals as null_totals
    from equipoise.stats._resampling import percentiles as percentiles
    from equipoise.stats._resampling import permuted_tables as permuted_tables
    from equipoise.stats._resampling import permuted_weights as permuted_weights
    from equipoise.stats._resampling import row_blocks as row_blocks
    from equipoise.stats._resampling import small_sample_factor as small_sample_factor
    from equipoise.stats._resampling import standard_deviation_of_draws as standard_deviation_of_draws
    from equipoise.stats._resampling import student_factors as student_factors
    from equipoise.stats._resampling import weighted_null as weighted_null
    from equipoise.stats._scores import auc_interval as auc_interval
    from equipoise.stats._scores import auc_standard_error as auc_standard_error
    from equipoise.stats._scores import brier_standard_error as brier_standard_error
    from equipoise.stats._scores import calibration_bounds as calibration_bounds
    from equipoise.stats._scores import calibration_p as calibration_p
    from equipoise.stats._scores import heterogeneity as heterogeneity
    from equipoise.stats._scores import logit_standard_error as logit_standard_error
    from equipoise.stats._scores import mean_score_standard_error as mean_score_standard_error
    from equipoise.stats._scores import weighted_mean_standard_error as weighted_mean_standard_error
    from equipoise.stats._seeds_and_people import FEW_SEEDS as FEW_SEEDS
    from equipoise.stats._seeds_and_people import MAX_SEEDS as MAX_SEEDS
    from equipoise.stats._seeds_and_people import MIN_SEEDS as MIN_SEEDS
    from equipoise.stats._seeds_and_people import Change as Change
    from equipoise.stats._seeds_and_people import LimitedBy as LimitedBy
    from equipoise.stats._seeds_and_people import VarianceComponents as VarianceComponents
    from equipoise.stats._seeds_and_people import add_people_variance as add_people_variance
    from equipoise.stats._seeds_and_people import banerjee_critical_value as banerjee_critical_value
    from equipoise.stats._seeds_and_people import banerjee_p as banerjee_p
    from equipoise.stats._seeds_and_people import detection_power as detection_power
    from equipoise.stats._seeds_and_people import limited_by as limited_by
    from equipoise.stats._seeds_and_people import paired_change as paired_change
    from equipoise.stats._seeds_and_people import people_variance as people_variance
    from equipoise.stats._seeds_and_people import seeds_to_detect as seeds_to_detect
    from equipoise.stats._seeds_and_people import sources_interval as sources_interval
    from equipoise.stats._seeds_and_people import unpaired_change as unpaired_change
    from equipoise.stats._seeds_and_people import variance_components as variance_components
    from equipoise.stats._two_samples import MAX_ARRANGEMENTS as MAX_ARRANGEMENTS
    from equipoise.stats._two_samples import MIN_FOR_LEVENE as MIN_FOR_LEVENE
    from equipoise.stats._two_samples import EffectBand as EffectBand
    from equipoise.stats._two_samples import PermutationResult as PermutationResult
    from equipoise.stats._two_samples import Side as Side
    from equipoise.stats._two_samples import cohens_d as cohens_d
    from equipoise.stats._two_samples import effect_band as effect_band
    from equipoise.stats._two_samples import levene_p as levene_p
    from equipoise.stats._two_samples import paired_t as paired_t
    from equipoise.stats._two_samples import permutation_test as permutation_test
    from equipoise.stats._two_samples import probability_of_superiority as probability_of_superiority
    from equipoise.stats._two_samples import rank_test_p as rank_test_p
    from equipoise.stats._two_samples import signed_rank_direction as signed_rank_direction
    from equipoise.stats._two_samples import smallest_p as smallest_p
    from equipoise.stats._two_samples import smallest_paired_p as smallest_paired_p
    from equipoise.stats._two_samples import t_interval as t_interval
    from equipoise.stats._two_samples import t_p as t_p
    from equipoise.stats._two_samples import welch as welch

_MODULES = {
    "_cluster_permutation": (
        "Units", "clustered_auc", "clustered_mean_standard_error", "compare_with_null", "permuted_sums",
        "share_interval", "shares_of_groups", "unit_profiles", "weighted_mean_shift",
    ),
    "_group_means": (
        "ClusterMeans", "ComparisonSides", "ENOUGH_CLUSTERS", "GroupMeans", "MeanDifferences", "RowMeans",
        "clustered_rate", "clustered_trials",
    ),
    "_growing_studies": (
        "LOOKS", "SEEDS_SHARE", "anytime_critical", "anytime_p", "check_looks", "looks_p", "nominal_level",
    ),
    "_power": (
        "Margin", "detectable_gap", "equivalence_p", "interval_within", "margin_ends", "people_needed", "power_of",
        "sources_equivalence_p",
    ),
    "_exact": ("exact_difference_interval", "exact_difference_p", "exact_equivalence_p", "exact_ratio_interval"),
    "_proportions": (
        "Estimate", "PAIR_CASES", "combined_interval", "difference_equivalence_p", "difference_interval",
        "difference_p", "effective_counts", "find_root", "is_rare", "normal_quantile", "pair_estimate",
        "pair_interval", "pair_p", "pair_statistic", "ratio_interval", "ratio_statistic", "sample_estimate",
        "score_statistic", "wilson",
    ),
    "_multiple_comparisons": (
        "BestComparison", "CORRECTIONS", "LEVEL", "MAX_PAIRED_GROUPS", "PairBound", "benjamini_hochberg",
        "candidate_pairs", "compare_with_best", "critical_value", "deciding_level", "holm", "interval_excludes",
        "is_equivalent", "is_finding", "largest_studentised", "least_possible_difference", "least_weighted_distance",
        "null_variances", "pair_bounds", "pairs_equivalence_p", "pooled_rate", "root_chi_square", "share_of_best",
        "simultaneous_intervals", "tie_tolerance", "uncorrected", "winner_if_equal",
    ),
    "_permutation": (
        "ENOUGH_EXTREME_DRAWS", "NullSample", "SequentialTests", "draw_limits", "draws_needed", "limited_by_draws",
        "permutation_p", "rank_among", "sequential_permutation",
    ),
    "_resampled_t": ("ResampledT", "corrected_resampled_t"),
    "_resampling": (
        "MIN_UNITS", "MOST_BLOCKS", "MOST_DENSE_CLASSES", "TABLE_BATCH", "block_p", "bootstrap_counts",
        "bootstrap_totals", "clustered_null", "jackknife", "null_totals", "percentiles", "permuted_tables",
        "permuted_weights", "row_blocks", "small_sample_factor", "standard_deviation_of_draws", "student_factors",
        "weighted_null",
    ),
    "_two_samples": (
        "EffectBand", "MAX_ARRANGEMENTS", "MIN_FOR_LEVENE", "PermutationResult", "Side", "cohens_d", "effect_band",
        "levene_p", "paired_t", "permutation_test", "probability_of_superiority", "rank_test_p",
        "signed_rank_direction", "smallest_p", "smallest_paired_p", "t_interval", "t_p", "welch",
    ),
    "_scores": (
        "auc_interval", "auc_standard_error", "brier_standard_error", "calibration_bounds", "calibration_p",
        "heterogeneity", "logit_standard_error", "mean_score_standard_error", "weighted_mean_standard_error",
    ),
    "_seeds_and_people": (
        "Change", "FEW_SEEDS", "LimitedBy", "MAX_SEEDS", "MIN_SEEDS", "VarianceComponents", "add_people_variance",
        "detection_power", "limited_by", "paired_change", "people_variance", "seeds_to_detect",
        "banerjee_critical_value",
        "sources_interval", "banerjee_p", "unpaired_change", "variance_components",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
