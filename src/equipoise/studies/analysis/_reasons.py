"""Why a number of a study is undefined, a comparison inconclusive, a setting not chosen: codes with their sentences."""

from __future__ import annotations

from equipoise.results import ReasonCode


class StudyReason(ReasonCode):
    """The reasons that a study gives for its records, contrasts and verdicts."""

    # Numbers that are undefined.
    NO_ROWS = "no_rows", "undefined in every run: a group or class has no rows to compare"
    PREDICTIONS_DO_NOT_VARY = "predictions_do_not_vary", "undefined in every run: the predictions do not vary"
    LABEL_UNDEFINED = "label_undefined", "undefined in every run: no row, or none of some group, is there to count"
    NOT_CHOSEN = "not_chosen", "another setting of this treatment was chosen on the dev rows"
    NO_CORRELATION = "no_correlation", "a constant prediction has no correlation with the target"
    NO_SHARED_CLASS = "no_shared_class", "no class has rows in two groups or more"
    # Verdicts.
    NO_VALUES = "no_values", "no run of {treatment!r} has a value on {measure!r}"
    TOO_FEW_SEEDS = (
        "too_few_seeds", "inconclusive with {seeds:plural seed} on both sides: a comparison needs at least {least}"
    )  # fmt: skip
    TOO_FEW_RUNS = "too_few_runs", "inconclusive with {runs:plural run} of each: a comparison needs at least {least}"
    TOO_FEW_PAIRS = "too_few_pairs", "inconclusive with {pairs:plural pair}: a comparison needs at least {least}"
    NOT_TESTED_OVER_PEOPLE = (
        "not_tested_over_people",
        "not tested over people: it cannot be computed from resampled counts, or is undefined in most resamples",
    )
    SIGNIFICANT = "significant", "mean {mean:.4g} against {against:.4g}, {units}, p = {p:.2g} after correction"
    NOT_SIGNIFICANT = (
        "not_significant",
        "not significant: mean {mean:.4g} against {against:.4g}, {units}, p = {p:.2g} after correction",
    )
    # What limits a comparison that is inconclusive.
    LIMITED_BY_SEEDS = (
        "limited_by_seeds",
        "limited by {unit}: about {needed} {unit} would detect a change of {effect:g}",
    )
    LIMITED_BY_MANY_SEEDS = (
        "limited_by_many_seeds", "limited by {unit}: more than 1,000 {unit} would detect a change of {effect:g}"
    )  # fmt: skip
    LIMITED_BY_PEOPLE = (
        "limited_by_people", "limited by test people: more {unit} cannot detect a change of {effect:g}"
    )  # fmt: skip
    LIMITED_BY_BOTH = (
        "limited_by_both",
        "limited by {unit} and test people: it takes more of both to detect a change of {effect:g}",
    )
    NOT_LIMITED = "not_limited", "a change of {effect:g} would have been detected"
    # What else must be known to read a comparison.
    FEW_SEEDS = "few_seeds", "few seeds: with {seeds} the test assumes that their spread is normal"
    OTHER_PEOPLE = (
        "other_people",
        "seeds agree (p = {seeds:.2g}), but other people could give the opposite (p = {people:.2g})",
    )
    SEEDS_LEFT_OUT = "seeds_left_out", "{seeds} seeds that only one side has are not compared"
    DIFFERENT_SEEDS = (
        "different_seeds", "the two sides were run with different seeds, so their difference may be that of the seeds"
    )  # fmt: skip
    IDENTICAL_RUNS = (
        "identical_runs",
        "identical runs were the same to the last digit, so they count as one run of each: ask for {advice}",
    )
    OTHER_ENVIRONMENT = "other_environment", "{runs} runs of another environment are not compared"
    COSTS = "costs", "costs: {costs}"


class SpaceReason(ReasonCode):
    """The reasons that a study gives for numbers and settings of embedding spaces."""

    POSITIVE_BY_CONSTRUCTION = (
        "positive_by_construction",
        "the halves are chosen by their values, so the gap is above 0 by construction and has no interval: use its "
        "difference from another cell instead",
    )
    NO_OTHER_ROW_OF_CLASS = "no_other_row_of_class", "no row of the group has another row of its class"
    ONE_CLASS = "one_class", "the group has only one class"
    ROWS_DO_NOT_SPAN = "rows_do_not_span", "the group's rows do not span min(rows, dimensions) directions"
    NO_DENOMINATOR = "no_denominator", "the group has no rows or no class with a denominator"
    NO_SHARED_SEED = "no_shared_seed", "the settings have no seed in common"
    NO_GROUP_VALUE = "no_group_value", "no group has a value"
    NO_EMBEDDING = "no_embedding", "no embedding was kept"
    CONTROL = "control", "a control is never selected"
    NOT_SHOWN = "not_shown", "Example pictures are not shown. {error}"
