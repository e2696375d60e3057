"""Statistics as pure functions on arrays: intervals, tests, corrections for multiplicity, power.

Nothing here knows of audits, studies or reports; those choose the statistic, and this room computes it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.stats._clusters import ENOUGH_CLUSTERS as ENOUGH_CLUSTERS
    from equipoise.stats._clusters import clustered_rate as clustered_rate
    from equipoise.stats._clusters import clustered_trials as clustered_trials
    from equipoise.stats._equivalence import Margin as Margin
    from equipoise.stats._equivalence import equivalence_p as equivalence_p
    from equipoise.stats._equivalence import interval_within as interval_within
    from equipoise.stats._equivalence import is_equivalent as is_equivalent
    from equipoise.stats._equivalence import margin_ends as margin_ends
    from equipoise.stats._equivalence import sources_equivalence_p as sources_equivalence_p
    from equipoise.stats._exact import exact_difference_interval as exact_difference_interval
    from equipoise.stats._exact import exact_difference_p as exact_difference_p
    from equipoise.stats._exact import exact_equivalence_p as exact_equivalence_p
    from equipoise.stats._exact import exact_ratio_interval as exact_ratio_interval
    from equipoise.stats._exact import is_rare as is_rare
    from equipoise.stats._gaps import NullSample as NullSample
    from equipoise.stats._gaps import PairBound as PairBound
    from equipoise.stats._gaps import bounds_of as bounds_of
    from equipoise.stats._gaps import candidate_pairs as candidate_pairs
    from equipoise.stats._gaps import compare_with_null as compare_with_null
    from equipoise.stats._gaps import critical_value as critical_value
    from equipoise.stats._gaps import largest_studentised as largest_studentised
    from equipoise.stats._gaps import null_variances as null_variances
    from equipoise.stats._gaps import pairs_equivalence_p as pairs_equivalence_p
    from equipoise.stats._gaps import pooled_rate as pooled_rate
    from equipoise.stats._gaps import root_chi_square as root_chi_square
    from equipoise.stats._multiple_testing import CORRECTIONS as CORRECTIONS
    from equipoise.stats._multiple_testing import benjamini_hochberg as benjamini_hochberg
    from equipoise.stats._multiple_testing import deciding_level as deciding_level
    from equipoise.stats._multiple_testing import excludes as excludes
    from equipoise.stats._multiple_testing import holm as holm
    from equipoise.stats._multiple_testing import is_finding as is_finding
    from equipoise.stats._multiple_testing import uncorrected as uncorrected
    from equipoise.stats._permutation import ENOUGH as ENOUGH
    from equipoise.stats._permutation import SequentialResult as SequentialResult
    from equipoise.stats._permutation import SequentialTests as SequentialTests
    from equipoise.stats._permutation import draws_needed as draws_needed
    from equipoise.stats._permutation import most_draws as most_draws
    from equipoise.stats._permutation import sequential_permutation as sequential_permutation
    from equipoise.stats._power import LEVEL as LEVEL
    from equipoise.stats._power import detectable_gap as detectable_gap
    from equipoise.stats._power import people_needed as people_needed
    from equipoise.stats._power import power_of as power_of
    from equipoise.stats._proportions import HALVINGS as HALVINGS
    from equipoise.stats._proportions import difference_equivalence_p as difference_equivalence_p
    from equipoise.stats._proportions import difference_interval as difference_interval
    from equipoise.stats._proportions import difference_p as difference_p
    from equipoise.stats._proportions import effective_counts as effective_counts
    from equipoise.stats._proportions import quantile as quantile
    from equipoise.stats._proportions import ratio_interval as ratio_interval
    from equipoise.stats._proportions import ratio_statistic as ratio_statistic
    from equipoise.stats._proportions import score_statistic as score_statistic
    from equipoise.stats._proportions import wilson as wilson
    from equipoise.stats._ranking import WithBest as WithBest
    from equipoise.stats._ranking import compare_with_best as compare_with_best
    from equipoise.stats._ranking import winner_if_equal as winner_if_equal
    from equipoise.stats._seeds_and_people import FEW_SEEDS as FEW_SEEDS
    from equipoise.stats._seeds_and_people import FEWEST_SEEDS as FEWEST_SEEDS
    from equipoise.stats._seeds_and_people import MOST_SEEDS as MOST_SEEDS
    from equipoise.stats._seeds_and_people import Change as Change
    from equipoise.stats._seeds_and_people import LimitedBy as LimitedBy
    from equipoise.stats._seeds_and_people import detection_power as detection_power
    from equipoise.stats._seeds_and_people import limited_by as limited_by
    from equipoise.stats._seeds_and_people import paired_change as paired_change
    from equipoise.stats._seeds_and_people import people_variance as people_variance
    from equipoise.stats._seeds_and_people import seeds_to_detect as seeds_to_detect
    from equipoise.stats._seeds_and_people import sources_critical as sources_critical
    from equipoise.stats._seeds_and_people import sources_interval as sources_interval
    from equipoise.stats._seeds_and_people import sources_p as sources_p
    from equipoise.stats._seeds_and_people import unpaired_change as unpaired_change
    from equipoise.stats._seeds_and_people import with_people as with_people
    from equipoise.stats._two_samples import ARRANGEMENTS as ARRANGEMENTS
    from equipoise.stats._two_samples import Permuted as Permuted
    from equipoise.stats._two_samples import permutation_test as permutation_test
    from equipoise.stats._two_samples import student as student
    from equipoise.stats._two_samples import t_interval as t_interval
    from equipoise.stats._two_samples import t_p as t_p
    from equipoise.stats._two_samples import welch as welch
    from equipoise.stats._variance_components import VarianceComponents as VarianceComponents
    from equipoise.stats._variance_components import variance_components as variance_components

_MODULES = {
    "_clusters": ("ENOUGH_CLUSTERS", "clustered_rate", "clustered_trials"),
    "_equivalence": (
        "Margin",
        "equivalence_p",
        "interval_within",
        "is_equivalent",
        "margin_ends",
        "sources_equivalence_p",
    ),
    "_exact": (
        "exact_difference_interval",
        "exact_difference_p",
        "exact_equivalence_p",
        "exact_ratio_interval",
        "is_rare",
    ),
    "_gaps": (
        "NullSample",
        "PairBound",
        "bounds_of",
        "candidate_pairs",
        "compare_with_null",
        "critical_value",
        "largest_studentised",
        "null_variances",
        "pairs_equivalence_p",
        "pooled_rate",
        "root_chi_square",
    ),
    "_multiple_testing": (
        "CORRECTIONS",
        "benjamini_hochberg",
        "deciding_level",
        "excludes",
        "holm",
        "is_finding",
        "uncorrected",
    ),
    "_permutation": (
        "ENOUGH",
        "SequentialResult",
        "SequentialTests",
        "draws_needed",
        "most_draws",
        "sequential_permutation",
    ),
    "_power": ("LEVEL", "detectable_gap", "people_needed", "power_of"),
    "_proportions": (
        "HALVINGS",
        "difference_equivalence_p",
        "difference_interval",
        "difference_p",
        "effective_counts",
        "quantile",
        "ratio_interval",
        "ratio_statistic",
        "score_statistic",
        "wilson",
    ),
    "_ranking": ("WithBest", "compare_with_best", "winner_if_equal"),
    "_seeds_and_people": (
        "FEWEST_SEEDS",
        "FEW_SEEDS",
        "MOST_SEEDS",
        "Change",
        "LimitedBy",
        "detection_power",
        "limited_by",
        "paired_change",
        "people_variance",
        "seeds_to_detect",
        "sources_critical",
        "sources_interval",
        "sources_p",
        "unpaired_change",
        "with_people",
    ),
    "_two_samples": ("ARRANGEMENTS", "Permuted", "permutation_test", "student", "t_interval", "t_p", "welch"),
    "_variance_components": ("VarianceComponents", "variance_components"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"equipoise.stats.{_HOME[name]}"), name)
    raise AttributeError(f"module 'equipoise.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
