"""The measures in plain words: a heading, and what one number of it says."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from equipoise.foundation.errors import BadInput
from equipoise.foundation.registry import Entry, registry
from equipoise.results import Record


@dataclass(frozen=True)
class Words:
    """A heading, and a meaning in which ``{class}`` stands for the class that is spoken of.

    Measures of a kind of audit that has its own (``add_words``) also say which end is better, whether they are shares,
    and their formula; of others the registry says it.
    """

    title: str
    meaning: str
    better: str | None = None
    share: bool = False
    formula: str = ""


WORDS = {
    "selection_rate": Words("Selection rate", "how many are predicted {class}"),
    "base_rate": Words("Base rate", "how many truly are {class}"),
    "true_positive_rate": Words("True positive rate", "of those truly {class}, how many are predicted so"),
    "false_positive_rate": Words("False positive rate", "of those not {class}, how many are wrongly predicted so"),
    "true_negative_rate": Words("True negative rate", "of those not {class}, how many are predicted not so"),
    "false_negative_rate": Words("False negative rate", "of those truly {class}, how many are missed"),
    "positive_predictive_value": Words("Precision", "of those predicted {class}, how many truly are"),
    "negative_predictive_value": Words(
        "Negative predictive value", "of those predicted not {class}, how many truly are not"
    ),
    "false_discovery_rate": Words("False discovery rate", "of those predicted {class}, how many are not"),
    "false_omission_rate": Words("False omission rate", "of those predicted not {class}, how many are"),
    "f1": Words("F1", "precision and true positive rate in one number"),
    "accuracy": Words("Accuracy", "how many are predicted right"),
    "auc": Words("AUC", "the chance that one who is {class} scores above one who is not"),
    "brier_score": Words("Brier score", "mean squared distance of score and outcome; lower is better"),
    "calibration_error": Words("Calibration error", "mean distance of scores from what then happened"),
    "mean_score": Words("Mean score", "the mean of the scores"),
    "mean_absolute_error": Words("Mean absolute error", "how far predictions are off, on average"),
    "root_mean_squared_error": Words("Root mean squared error", "how far predictions are off; large errors weigh more"),
    "mean_residual": Words("Mean residual", "prediction minus truth: above 0 the group is overestimated"),
    "mean_prediction": Words("Mean prediction", "the mean of the predictions"),
    "pearson": Words("Correlation (Pearson)", "how well predictions follow the truth; 1 is best"),
    "demographic_parity": Words("Demographic parity gap", "largest difference of selection rates"),
    "disparate_impact": Words("Disparate impact, 1 − ratio", "1 minus the lowest selection rate over the highest"),
    "impact_ratio": Words("Impact ratio", "the lowest selection rate over the highest; 1 is parity"),
    "statistical_parity_subgroup_fairness": Words(
        "Statistical parity subgroup fairness", "distance of groups' selection rates from everyone's, by group size"
    ),
    "false_positive_subgroup_fairness": Words(
        "False positive subgroup fairness", "distance of groups' false positive rates from everyone's, by group size"
    ),
    "equalized_odds_false_positive": Words(
        "Equalized odds, false positives", "largest difference of false positive rates"
    ),
    "equalized_odds_true_positive": Words(
        "Equalized odds, true positives", "largest difference of true positive rates (equal opportunity)"
    ),
    "equalized_odds": Words("Equalized odds", "the larger of the two gaps, true and false positives"),
    "bias_amplification": Words(
        "Bias amplification", "how much the largest group's share of a class differs between prediction and truth"
    ),
    "true_positive_rate_gap": Words("True positive rate gap", "gaps of true positive rates, over all classes"),
    "standardised_mean_difference": Words(
        "Standardised mean difference", "difference of selection rates in standard deviations"
    ),
    "recall_at_k": Words("Recall@k", "how many have one of their class among the k nearest"),
    "mean_average_precision_at_r": Words("MAP@R", "how far up the nearest are those of the same class; 1 is best"),
    "intra_class_alignment": Words(
        "Alignment within classes", "mean squared distance to one's own class; low is close"
    ),
    "inter_class_alignment": Words(
        "Alignment between classes", "mean squared distance to other classes; high is apart"
    ),
    "uniformity": Words("Uniformity (U_KL)", "how unevenly directions are used; 0 is evenly"),
    "rbf_uniformity": Words("Uniformity (RBF)", "how crowded the points are; lower is more even"),
    "normalised_mutual_information": Words("NMI", "how well clusters agree with classes; read it against chance"),
    "adjusted_mutual_information": Words("AMI", "how well clusters agree with classes; 0 is chance"),
    "normalised_mutual_information_by_chance": Words("NMI by chance", "the NMI that random clusters would have"),
    "recall_at_k_gap": Words("Recall@k gap", "recall of the majoritised minus that of the minoritised"),
    "mean_average_precision_at_r_gap": Words("MAP@R gap", "MAP@R of the majoritised minus that of the minoritised"),
    "intra_class_alignment_gap": Words(
        "Alignment gap within classes", "how much further the minoritised are from their own class"
    ),
    "inter_class_alignment_gap": Words(
        "Alignment gap between classes", "how much closer the minoritised are to other classes"
    ),
    "uniformity_gap": Words("Uniformity gap (U_KL)", "how much less evenly the minoritised use directions"),
    "rbf_uniformity_gap": Words("Uniformity gap (RBF)", "how much more crowded the minoritised are"),
    "normalised_mutual_information_gap": Words("NMI gap", "NMI of the majoritised minus that of the minoritised"),
    "adjusted_mutual_information_gap": Words("AMI gap", "AMI of the majoritised minus that of the minoritised"),
}

# Headings for narrow columns.
SHORT = {
    "selection_rate": "Selection", "true_positive_rate": "TPR", "false_positive_rate": "FPR",
    "calibration_error": "Calib. error", "mean_absolute_error": "Mean error", "root_mean_squared_error": "RMSE",
    "mean_prediction": "Mean pred.", "mean_residual": "Mean resid.", "recall_at_k": "R@k",
    "intra_class_alignment": "Intra", "inter_class_alignment": "Inter", "uniformity": "U_KL",
    "rbf_uniformity": "RBF unif.",
}  # fmt: skip

# The order in which measures of groups, and of gaps between them, are read.
RATES = (
    "selection_rate", "base_rate", "true_positive_rate", "false_positive_rate", "positive_predictive_value",
    "accuracy", "auc", "calibration_error",
    "mean_absolute_error", "root_mean_squared_error", "mean_residual", "pearson", "mean_prediction",
)  # fmt: skip
GAPS = (
    "demographic_parity", "disparate_impact", "statistical_parity_subgroup_fairness",
    "false_positive_subgroup_fairness", "equalized_odds_false_positive", "equalized_odds_true_positive",
    "bias_amplification", "true_positive_rate_gap", "equalized_odds", "standardised_mean_difference", "impact_ratio",
)  # fmt: skip


def add_words(words: Mapping[str, Words]) -> None:
    """Add the measures of a kind of audit that has its own."""
    WORDS.update(words)


def title_of(measure: str) -> str:
    """Return the heading of a measure; one that is not known here is called by its name."""
    return WORDS[measure].title if measure in WORDS else measure.replace("_", " ").capitalize()


def name_of(measure: str) -> str:
    """Return what a measure is called within a sentence."""
    title = title_of(measure)
    return title if title.partition(" ")[0].isupper() else title[:1].lower() + title[1:]


def short_title_of(measure: str) -> str:
    """Return a heading for a narrow column."""
    return SHORT.get(measure, title_of(measure))


def meaning_of(measure: str, class_: str | None) -> str:
    """Return what a number of the measure says, for a class or for any."""
    if measure not in WORDS:
        return ""
    return WORDS[measure].meaning.replace("{class}", "of a class" if class_ is None else repr(class_))


@functools.cache
def _entry(measure: str) -> Entry:
    """Return what the registry says of a measure. An unknown one raises, and what raises is not kept."""
    return registry.get("measure", measure)


def formula_of(measure: str) -> str:
    """Return the formula of a measure: the registry's line about it."""
    if measure in WORDS and WORDS[measure].formula:
        return WORDS[measure].formula
    try:
        return _entry(measure).summary
    except BadInput:
        return ""


def is_share(record: Record) -> bool:
    """Tell whether a record's number is a share or a difference of shares, so that it can be told in points."""
    if record.measure in WORDS and WORDS[record.measure].share:
        return True
    try:
        return record.kind == "rate" or _entry(record.measure).details.get("bounds") == (0.0, 1.0)
    except BadInput:
        return False


def is_classwise(measure: str) -> bool:
    """Tell whether a measure speaks of one class at a time."""
    try:
        return bool(_entry(measure).details.get("classwise"))
    except BadInput:
        return False


def better_end(measure: str) -> str:
    """Return which end of a measure is better: high, low or none."""
    if measure in WORDS and (end := WORDS[measure].better) is not None:
        return end
    try:
        return str(_entry(measure).details.get("better"))
    except BadInput:
        return "none"


def reading_order(measure: str) -> tuple[int, str]:
    """Sort the main measures first, in their own order, then the others by name."""
    known = RATES + GAPS
    return (known.index(measure) if measure in known else len(known), measure)
