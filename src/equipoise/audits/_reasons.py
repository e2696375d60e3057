"""Why a number of an audit is undefined, not tested or told with a limit: every code, with its sentence."""

from __future__ import annotations

from equipoise.results import ReasonCode


class AuditReason(ReasonCode):
    """The codes of all audits of groups. A program reads the code; the sentence is for people and may be reworded."""

    # Too few people or clusters.
    FEW_PEOPLE = "few_people", "{people:people}: fewer than {least:,}"
    FEW_ON_ONE_SIDE = "few_people_on_one_side", "{people:people}{of} on one side: fewer than {least:,}"
    SUPPRESSED = "suppressed", "fewer than {least:,} people"
    FEW_CLUSTERS = "few_clusters", "{group} has {clusters:plural cluster} only: fewer than {least}"
    FEW_CLUSTERS_ON_ONE_SIDE = (
        "few_clusters_on_one_side", "{clusters:plural cluster} only on one side: fewer than {least}"
    )  # fmt: skip
    FEW_CLUSTERS_WITH_BOTH = (
        "few_clusters_with_both_sides", "{clusters:plural cluster} with both sides: fewer than {least}"
    )  # fmt: skip
    FEW_GROUPS = "few_groups", "fewer than two groups are left to compare"
    FEW_LARGE_GROUPS = "few_large_groups", "fewer than two groups have at least {least:,} {whom}"

    # Nothing to test with.
    NO_SPREAD = "no_spread", "nothing varies on either side"
    UNDEFINED_DRAWS = "undefined_draws", "undefined in most draws of clusters"

    # Undefined numbers.
    NO_ROWS = "no_rows", "the group has no rows"
    NO_DENOMINATOR = "no_denominator", "there are no {of} in {groups:list}"
    NO_DENOMINATOR_OF_CLASS = "no_denominator_of_class", "there are no {of} ({name!r}) in {groups:list}"
    NO_DENOMINATOR_ON_ONE_SIDE = "no_denominator_on_one_side", "there are no {of} on one side"
    UNDEFINED_ON_ONE_SIDE = "undefined_on_one_side", "undefined on one side"
    NOT_PROBABILITIES = "not_probabilities", "the scores run from {low:g} to {high:g}: they are not probabilities"
    ONE_CLASS_ONLY = "one_class_only", "{group!r} has nobody of the class, or nobody of another"
    CONSTANT = "constant", "the target or the prediction is constant in {group!r}, or it has no weight"
    ALL_EQUAL = "all_equal", "everyone has the same value"
    NOT_PREDICTED = "not_predicted", "nobody is predicted {name!r}, or everybody is"
    NOT_TRUE_OR_NOT_PREDICTED = "not_true_or_not_predicted", "the class {name!r} is never true, or never predicted"
    BASE_IS_ZERO = "base_is_zero", "{against!r} is never predicted {name!r}"
    NONE_ABOVE_ZERO = "none_above_zero", "no group has a value above 0"

    # Means over classes, labels and values of a control column.
    NO_COMMON_CLASS = "no_common_class", "no class is defined in all groups"
    NO_COMMON_CLASS_OF = "no_common_class_of_measure", "{measure} is defined for no class in all groups"
    CLASS_UNDEFINED_IN_GROUP = "class_undefined_in_group", "{measure} is not defined for every class in {group!r}"
    STRICT_MEAN = "strict_mean", "undefined in a group for {names:list}, and a strict mean needs every class"
    CLASSES_LEFT_OUT = (
        "classes_left_out", "mean over {kept} of {total} classes; undefined in a group and left out: {names:list}"
    )  # fmt: skip
    LABELS_LEFT_OUT = (
        "labels_left_out", "mean over {kept} of {total} labels; undefined in a group and left out: {names:list}"
    )  # fmt: skip
    NO_COMMON_LABEL = "no_common_label", "no label is defined on both sides"
    NO_LABEL_HAS_ANYBODY = "no_label_has_anybody", "no label has anybody in its denominator"
    MEAN_OVER_STRATA = "mean_over_strata", "weighted mean over {kept} of {total} values of {control}"
    STRATA_LEFT_OUT = "strata_left_out", "undefined in {names:list 5}"

    # Rows that were not counted.
    ROWS_WITHOUT = "rows_without", "{rows:,} of {total:plural row} {have} no {what}"

    # Rankings.
    NOTHING_RELEVANT = "nothing_relevant", "nothing is relevant"
    NOTHING_RELEVANT_FOR_GROUP = "nothing_relevant_for_group", "nothing is relevant in any ranking that has the group"
    NO_MERIT = "no_merit", "the group has no merit"
    FEW_GROUPS_WITH_MERIT = "few_groups_with_merit", "fewer than two groups have merit"
