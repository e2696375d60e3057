"""Records as people read them: the measures in plain words, what records are about, and the cells of their tables."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from equipoise.audits import AuditResult, GroupResult
from equipoise.foundation import (
    BadInput,
    Entry,
    registry,
)
from equipoise.reports import _formats as formats
from equipoise.reports._document import MOST_ROWS, Cell, Column, DataTable, Meaning, Name, Number, Row, Text, pieces
from equipoise.reports._formats import safe_name
from equipoise.results import Record, Status
from equipoise.stats import is_finding


@dataclass(frozen=True)
class MeasureText:
    """A heading, and a meaning in which ``{class}`` stands for the class that is spoken of.

    Measures of a kind of audit that has its own (``add_measure_texts``) also say which end is better, whether they are
    shares, and their formula; of others the registry says it.
    """

    title: str
    meaning: str
    better: str | None = None
    share: bool = False
    formula: str = ""


MEASURE_TEXTS = {
    "selection_rate": MeasureText("Selection rate", "how many are predicted {class}"),
    "base_rate": MeasureText("Base rate", "how many truly are {class}"),
    "true_positive_rate": MeasureText("True positive rate", "of those truly {class}, how many are predicted so"),
    "false_positive_rate": MeasureText(
        "False positive rate", "of those not {class}, how many are wrongly predicted so"
    ),
    "true_negative_rate": MeasureText("True negative rate", "of those not {class}, how many are predicted not so"),
    "false_negative_rate": MeasureText("False negative rate", "of those truly {class}, how many are missed"),
    "positive_predictive_value": MeasureText("Precision", "of those predicted {class}, how many truly are"),
    "negative_predictive_value": MeasureText(
        "Negative predictive value", "of those predicted not {class}, how many truly are not"
    ),
    "false_discovery_rate": MeasureText("False discovery rate", "of those predicted {class}, how many are not"),
    "false_omission_rate": MeasureText("False omission rate", "of those predicted not {class}, how many are"),
    "f1": MeasureText("F1", "precision and true positive rate in one number"),
    "accuracy": MeasureText("Accuracy", "how many are predicted right"),
    "auc": MeasureText("AUC", "the chance that one who is {class} scores above one who is not"),
    "brier_score": MeasureText("Brier score", "mean squared distance of score and outcome; lower is better"),
    "calibration_error": MeasureText("Calibration error", "mean distance of scores from what then happened"),
    "mean_score": MeasureText("Mean score", "the mean of the scores"),
    "mean_absolute_error": MeasureText("Mean absolute error", "how far predictions are off, on average"),
    "root_mean_squared_error": MeasureText(
        "Root mean squared error", "how far predictions are off; large errors weigh more"
    ),
    "mean_residual": MeasureText("Mean residual", "prediction minus truth: above 0 the group is overestimated"),
    "mean_prediction": MeasureText("Mean prediction", "the mean of the predictions"),
    "pearson": MeasureText("Correlation (Pearson)", "how well predictions follow the truth; 1 is best"),
    "demographic_parity": MeasureText("Demographic parity gap", "largest difference of selection rates"),
    "disparate_impact": MeasureText(
        "Disparate impact, 1 − ratio", "1 minus the lowest selection rate over the highest"
    ),
    "impact_ratio": MeasureText("Impact ratio", "the lowest selection rate over the highest; 1 is parity"),
    "statistical_parity_subgroup_fairness": MeasureText(
        "Statistical parity subgroup fairness", "distance of groups' selection rates from everyone's, by group size"
    ),
    "false_positive_subgroup_fairness": MeasureText(
        "False positive subgroup fairness", "distance of groups' false positive rates from everyone's, by group size"
    ),
    "equalized_odds_false_positive": MeasureText(
        "Equalized odds, false positives", "largest difference of false positive rates"
    ),
    "equalized_odds_true_positive": MeasureText(
        "Equalized odds, true positives", "largest difference of true positive rates (equal opportunity)"
    ),
    "equalized_odds": MeasureText("Equalized odds", "the larger of the two gaps, true and false positives"),
    "bias_amplification": MeasureText(
        "Bias amplification", "how much the largest group's share of a class differs between prediction and truth"
    ),
    "true_positive_rate_gap": MeasureText("True positive rate gap", "gaps of true positive rates, over all classes"),
    "standardised_mean_difference": MeasureText(
        "Standardised mean difference", "difference of selection rates in standard deviations"
    ),
    "recall_at_k": MeasureText("Recall@k", "how many have one of their class among the k nearest"),
    "mean_average_precision_at_r": MeasureText(
        "MAP@R", "how far up the nearest are those of the same class; 1 is best"
    ),
    "intra_class_alignment": MeasureText(
        "Alignment within classes", "mean squared distance to one's own class; low is close"
    ),
    "inter_class_alignment": MeasureText(
        "Alignment between classes", "mean squared distance to other classes; high is apart"
    ),
    "uniformity": MeasureText("Uniformity (U_KL)", "how unevenly directions are used; 0 is evenly"),
    "rbf_uniformity": MeasureText("Uniformity (RBF)", "how crowded the points are; lower is more even"),
    "normalised_mutual_information": MeasureText("NMI", "how well clusters agree with classes; read it against chance"),
    "adjusted_mutual_information": MeasureText("AMI", "how well clusters agree with classes; 0 is chance"),
    "normalised_mutual_information_by_chance": MeasureText("NMI by chance", "the NMI that random clusters would have"),
    "recall_at_k_gap": MeasureText("Recall@k gap", "recall of the majoritised minus that of the minoritised"),
    "mean_average_precision_at_r_gap": MeasureText(
        "MAP@R gap", "MAP@R of the majoritised minus that of the minoritised"
    ),
    "intra_class_alignment_gap": MeasureText(
        "Alignment gap within classes", "how much further the minoritised are from their own class"
    ),
    "inter_class_alignment_gap": MeasureText(
        "Alignment gap between classes", "how much closer the minoritised are to other classes"
    ),
    "uniformity_gap": MeasureText("Uniformity gap (U_KL)", "how much less evenly the minoritised use directions"),
    "rbf_uniformity_gap": MeasureText("Uniformity gap (RBF)", "how much more crowded the minoritised are"),
    "normalised_mutual_information_gap": MeasureText("NMI gap", "NMI of the majoritised minus that of the minoritised"),
    "adjusted_mutual_information_gap": MeasureText("AMI gap", "AMI of the majoritised minus that of the minoritised"),
}

# Headings for narrow columns.
SHORT = {
    "selection_rate": "Selection", "true_positive_rate": "TPR", "false_positive_rate": "FPR",
    "calibration_error": "Calib. error", "mean_absolute_error": "Mean error", "root_mean_squared_error": "RMSE",
    "mean_prediction": "Mean pred.", "mean_residual": "Mean resid.", "pearson": "Pearson", "recall_at_k": "R@k",
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


# Words of names that are written in capitals.
ACRONYMS = {"ami": "AMI", "auc": "AUC", "f1": "F1", "nmi": "NMI"}


def add_measure_texts(words: Mapping[str, MeasureText]) -> None:
    """Add the measures of a kind of audit that has its own."""
    MEASURE_TEXTS.update(words)


def title_of(measure: str) -> str:
    """Return the heading of a measure; one that is not known here is called by its name."""
    if measure in MEASURE_TEXTS:
        return MEASURE_TEXTS[measure].title
    title = " ".join(ACRONYMS.get(word, word) for word in measure.split("_"))
    return title[:1].upper() + title[1:]


def name_of(measure: str) -> str:
    """Return what a measure is called within a sentence."""
    title = title_of(measure)
    return title if title.partition(" ")[0].isupper() else title[:1].lower() + title[1:]


def short_title_of(measure: str) -> str:
    """Return a heading for a narrow column."""
    return SHORT.get(measure, title_of(measure))


def explanation_of(measure: str, class_: str | None) -> str:
    """Return what a number of the measure says, for a class or for any."""
    if measure not in MEASURE_TEXTS:
        return ""
    return MEASURE_TEXTS[measure].meaning.replace("{class}", "of a class" if class_ is None else repr(class_))


@functools.cache
def _entry(measure: str) -> Entry:
    """Return what the registry says of a measure. An unknown one raises, and what raises is not kept."""
    return registry.get("measure", measure)


def formula_of(measure: str) -> str:
    """Return the formula of a measure: the registry's line about it."""
    if measure in MEASURE_TEXTS and MEASURE_TEXTS[measure].formula:
        return MEASURE_TEXTS[measure].formula
    try:
        return _entry(measure).summary
    except BadInput:
        return ""


def is_share(record: Record) -> bool:
    """Tell whether a record's number is a share or a difference of shares, so that it can be told in points."""
    if record.measure in MEASURE_TEXTS and MEASURE_TEXTS[record.measure].share:
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


def is_embedding(result: AuditResult) -> bool:
    """Tell whether an audit is about an embedding: whether its measures need one."""
    return any(map(_needs_embedding, {record.measure for record in result.records if record.kind != "count"}))


def _needs_embedding(measure: str) -> bool:
    try:
        return _entry(measure).details.get("needs") == "embedding"
    except BadInput:
        return False


def better_end(measure: str) -> str:
    """Return which end of a measure is better: high, low or none."""
    if measure in MEASURE_TEXTS and (end := MEASURE_TEXTS[measure].better) is not None:
        return end
    try:
        return str(_entry(measure).details.get("better"))
    except BadInput:
        return "none"


def reading_order(measure: str) -> tuple[int, str]:
    """Sort the main measures first, in their own order, then the others by name."""
    ordered = RATES + GAPS
    return (ordered.index(measure) if measure in ordered else len(ordered), measure)


MISSING = "(missing)"

# A record and its place among the records of the result: every number on a page can be traced to its JSON.
Placed = tuple[int, Record]


@dataclass(frozen=True)
class Subject:
    """An attribute, or several crossed, within one split."""

    attribute: tuple[str, ...]
    split: str | None = None

    @property
    def title(self) -> str:
        """Name it as a heading does."""
        name = " × ".join(safe_name(part) for part in self.attribute)
        return name if self.split is None else f"{name} ({safe_name(self.split)})"

    def has(self, record: object) -> bool:
        """Tell whether a record (or a curve, a point, a rule) speaks of it."""
        own: bool = (
            getattr(record, "attribute", None) == self.attribute and getattr(record, "split", None) == self.split
        )
        return own


def subjects_of(result: GroupResult) -> list[Subject]:
    """Return what the groups are compared by, in the order of the audit."""
    subjects = (Subject(r.attribute, r.split) for r in result.records if r.attribute and r.control is None)
    return list(dict.fromkeys(subjects))


def splits_of(result: AuditResult) -> list[str | None]:
    """Return the splits that were audited each by itself; None stands for all rows."""
    return list(dict.fromkeys(subject.split for subject in subjects_of(result)))


def main_records(result: AuditResult, kinds: Sequence[str]) -> Iterator[Placed]:
    """Yield the records a reader wants first: of the favourable class if there is one, else over all classes."""
    scope = "favourable" if result.favourable is not None else "overall"
    for index, record in enumerate(result.records):
        if record.kind not in kinds or record.control is not None or record.label is not None:
            continue
        if record.variant != "micro" and (
            record.scope == scope or (record.scope == "overall" and not is_classwise(record.measure))
        ):
            yield index, record


def groups_of(records: Sequence[Placed]) -> list[str]:
    """Return the groups in the order of the records."""
    return list(dict.fromkeys(record.group for _, record in records if record.group is not None))


def contrasts_of(result: GroupResult, subject: Subject) -> list[Placed]:
    """Return the signed contrasts of a subject, those within the values of a control column left out."""
    return [
        (index, record)
        for index, record in enumerate(result.records)
        if record.kind == "contrast" and record.control is None and subject.has(record)
    ]


def least_people(result: AuditResult) -> int:
    """Return the number of people below which the audit tells nothing."""
    options = result.provenance.get("options")
    least = options.get("least_people") if isinstance(options, dict) else None
    return least if isinstance(least, int) else 0


def used_threshold(result: AuditResult) -> float | None:
    """Return the threshold that made the predictions, where they were made from the score."""
    columns, options = result.provenance.get("columns"), result.provenance.get("options")
    if not isinstance(columns, dict) or not isinstance(options, dict) or columns.get("prediction"):
        return None
    used = options.get("threshold")
    return used if isinstance(used, (int, float)) else None


def small_groups(result: AuditResult, subject: Subject) -> set[str]:
    """Return the groups with a rate that was not tested: too few people."""
    return {str(record.group) for _, record in contrasts_of(result, subject) if record.status != Status.OK}


def widest_groups(result: AuditResult, subject: Subject, groups: Sequence[str], most: int) -> list[str]:
    """Return the groups that there is room for, in their order: those with the widest contrasts, else the first."""
    if len(groups) <= most:
        return list(groups)
    widest = _widest(result, subject)
    chosen = set(sorted(groups, key=lambda group: -widest.get(group, -1.0))[:most])
    return [group for group in groups if group in chosen]


def widest_in_words(result: AuditResult, subject: Subject) -> str:
    """Say which groups ``widest_groups`` chooses; an audit without evidence has no contrasts."""
    return "with the widest contrasts" if _widest(result, subject) else "that come first"


def _widest(result: AuditResult, subject: Subject) -> dict[str, float]:
    """Return the size of each group's widest contrast."""
    widest: dict[str, float] = {}
    for _, record in contrasts_of(result, subject):
        if record.group is not None and record.defined and record.status == Status.OK:
            widest[record.group] = max(widest.get(record.group, 0.0), abs(record.value))
    return widest


CONFIRMED, NOT_SIGNIFICANT, NOT_TESTED = "confirmed", "not significant", "not tested"
# Of these a difference is neither better nor worse for a group: more false positives are errors in its favour.
NO_DIRECTION = ("false_positive_rate", "positive_predictive_value", "base_rate", "mean_prediction", "mean_residual")
Write = Callable[[float], str]


def finite(value: float | None) -> float | None:
    """Return a number that can be shown, or None."""
    return None if value is None or not math.isfinite(value) else value


def writer(record: Record) -> tuple[Write, Write]:
    """Return how a record's value and the ends of its interval are written."""
    if record.kind == "contrast":
        both = formats.points if is_share(record) else formats.signed
        return both, both
    if record.kind == "rate":
        return formats.percent, formats.bare_percent
    return formats.thousandths if is_share(record) else formats.decimal, formats.decimal


def number(index: int, value: float | None, write: Write, field: str = "value", source: str = "records") -> Text:
    """Return a number with its place in the JSON; nothing where it is not known."""
    return "" if finite(value) is None or value is None else Number(write(value), index, field, source)


def value_text(index: int, record: Record) -> Text:
    """Return the value of a record; where it has none, its status."""
    return number(index, record.value, writer(record)[0]) if record.defined else record.status


def value_cell(index: int, record: Record, *below: Text, bar: bool = False) -> Cell:
    """Return a record's value in a cell, with smaller lines below it."""
    if not record.defined:
        return Cell(record.status, meaning=Meaning.QUIET)
    return Cell(value_text(index, record), tuple(line for line in below if line), record.value if bar else None)


def span(
    index: int, low: float | None, high: float | None, write: Write, source: str = "records",
    fields: tuple[str, str] = ("low", "high"),
) -> Text:  # fmt: skip
    """Return an interval; nothing where one end is not known."""
    if finite(low) is None or finite(high) is None:
        return ""
    ends = [number(index, end, write, field, source) for end, field in zip((low, high), fields, strict=True)]
    return (*pieces(ends[0]), " to ", *pieces(ends[1]))


def interval(index: int, record: Record, write: Write | None = None) -> Text:
    """Return the interval of a record."""
    return span(index, record.low, record.high, write or writer(record)[1]) if record.defined else ""


def counts(index: int, record: Record) -> Text:
    """Return the counts behind a rate."""
    if not record.defined or finite(record.numerator) is None or finite(record.denominator) is None:
        return ""
    parts = [number(index, getattr(record, field), formats.count, field) for field in ("numerator", "denominator")]
    return (*pieces(parts[0]), " / ", *pieces(parts[1]))


def p_value(index: int, value: float | None, source: str = "records", field: str = "p_adjusted") -> Text:
    """Return a corrected p-value; nothing where nothing was tested."""
    return number(index, value, formats.p_value, field, source)


def lower_bound(index: int, record: Record) -> Text:
    """Return the lower bound of a gap; nothing where it has none."""
    bounded = record.interval == "lower-bound" and record.defined
    return number(index, record.low, formats.decimal, "low") if bounded else ""


def meaning_of(record: Record) -> Meaning:
    """Return what a record's verdict means: a confirmed gap is worse, a contrast better or worse for its group."""
    if not record.finding:
        return Meaning.QUIET
    if record.kind != "contrast":
        return Meaning.WORSE
    end = "high" if record.measure == "selection_rate" and record.scope == "favourable" else better_end(record.measure)
    if end not in ("high", "low") or record.measure in NO_DIRECTION:
        return Meaning.NEUTRAL
    return Meaning.BETTER if (record.value > 0) == (end == "high") else Meaning.WORSE


def verdict(finding: bool | None, meaning: Meaning = Meaning.WORSE) -> Cell:
    """Return the verdict of a test."""
    words = NOT_TESTED if finding is None else CONFIRMED if finding else NOT_SIGNIFICANT
    return Cell(words, meaning=meaning if finding else Meaning.QUIET)


def bound_includes_zero(record: Record) -> bool:
    """Tell whether a small p is no finding because the interval or the bound still has room for no difference."""
    return record.finding is False and record.p_adjusted is not None and bool(is_finding(record.p_adjusted))


def record_verdict(record: Record) -> Cell:
    """Return the verdict on a record, or why there is none."""
    if record.status != Status.OK:
        reason = f": {record.reason}" if record.reason else ""
        return Cell(f"{record.status}{reason}", meaning=Meaning.QUIET)
    cell = verdict(record.finding, meaning_of(record))
    return replace(cell, below=("its interval includes 0",)) if bound_includes_zero(record) else cell


def group_cell(record: Record) -> Cell:
    """Return the group of a record, with what it is about below it."""
    about = Subject(record.attribute, record.split).title
    within = (", within ", Name(record.control)) if record.control is not None else ()
    return Cell(group_or_everyone(record.group), ((about, *within),))


def group_or_everyone(group: str | None) -> Text:
    """Return the name of a group; no group is everyone."""
    return "everyone" if group is None else Name(group)


def measure_cell(record: Record) -> Cell:
    """Return the measure of a record, with its class or label below it."""
    of = class_of(record)
    return Cell(title_of(record.measure), (of,) if of else ())


def class_of(record: Record) -> Text:
    """Return the class or label that a record is of; a measure that speaks of one at a time may also be their mean."""
    of = record.class_ if record.label is None else record.label
    if of is not None:
        return Name(of)
    if not is_classwise(record.measure):
        return ""
    return "all rows together" if record.variant == "micro" else "mean of all"


def named_measure(record: Record) -> Cell:
    """Return the measure of a record with its short name."""
    title = title_of(record.measure)
    return Cell(f"{title} ({record.alias})" if record.alias and record.alias != title else title)


def limited_table(
    caption: Text, columns: Sequence[Column], rows: Sequence[Row], *, total: int | None = None, what: str = "rows",
    chosen: str = "", most: int = MOST_ROWS,
) -> DataTable:  # fmt: skip
    """Return a table of as many rows as a page can hold; the others are counted."""
    every = sum(not row.emphasis for row in rows) if total is None else total
    return DataTable(caption, tuple(columns), tuple(rows[:most]), every, what, chosen)
