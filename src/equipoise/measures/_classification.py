"""Measures of classes: rates per group and class, and gaps that say how far groups are apart.

Rates come from one table, with the differences no paper has named and the worst and best group. Letters are those of
paper 004, appendix A.1, each class against the rest; gaps have the formulas of its appendix A, and of paper 001.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equipoise.foundation import Floats, ratio, unknown_name
from equipoise.measures._measure import (
    Better,
    Measure,
    Needs,
    largest_difference,
    measure,
)
from equipoise.tallies import Confusion, label_of


@dataclass(frozen=True)
class Rate:
    """One row of the table: numerator / denominator, and whom it is taken over, in words."""

    name: str
    alias: str | None
    better: Better
    formula: str
    over: str
    parts: Callable[[Confusion], tuple[Floats, Floats]]
    needs: Needs = "counts"
    classwise: bool = True
    paper: str = "004"


RATES = (
    Rate(
        "selection_rate", "PPR", "none", "PPR = (TP + FP) / (P + N)", "people",
        lambda c: (c.predicted, c.people), needs="predictions",
    ),
    Rate("base_rate", None, "none", "P / (P + N)", "people", lambda c: (c.positives, c.people)),
    Rate(
        "true_positive_rate", "TPR", "high", "TPR (recall) = TP / P", "people truly of the class",
        lambda c: (c.true_positives, c.positives),
    ),
    Rate(
        "false_positive_rate", "FPR", "low", "FPR = FP / N", "people truly of another class",
        lambda c: (c.false_positives, c.negatives),
    ),
    Rate(
        "true_negative_rate", "TNR", "high", "TNR = TN / N", "people truly of another class",
        lambda c: (c.true_negatives, c.negatives),
    ),
    Rate(
        "false_negative_rate", "FNR", "low", "FNR = FN / P", "people truly of the class",
        lambda c: (c.false_negatives, c.positives),
    ),
    Rate(
        "positive_predictive_value", "PPV", "high", "PPV (precision) = TP / (TP + FP)", "people predicted of the class",
        lambda c: (c.true_positives, c.predicted), paper="field",
    ),
    Rate(
        "false_discovery_rate", "FDR", "low", "FDR = FP / (TP + FP)", "people predicted of the class",
        lambda c: (c.false_positives, c.predicted), paper="field",
    ),
    Rate(
        "false_omission_rate", "FOR", "low", "FOR = FN / (TN + FN)", "people predicted of another class",
        lambda c: (c.false_negatives, c.true_negatives + c.false_negatives), paper="field",
    ),
    Rate(
        "negative_predictive_value", "NPV", "high", "NPV = TN / (TN + FN)", "people predicted of another class",
        lambda c: (c.true_negatives, c.true_negatives + c.false_negatives), paper="field",
    ),
    Rate(
        "f1", "F1", "high", "F1 = 2 TP / (2 TP + FP + FN)", "people truly or by prediction of the class",
        lambda c: (2 * c.true_positives, c.positives + c.predicted), paper="000",
    ),
    Rate(
        "accuracy", None, "high", "correct / (P + N); for single-label rows also the micro mean of precision, recall "
        "and F1", "people", lambda c: (c.correct[..., 0], c.people[..., 0]), classwise=False, paper="001",
    ),
)  # fmt: skip


def _register(rate: Rate) -> Measure:
    def parts(table: Confusion) -> tuple[Floats, Floats]:
        return rate.parts(table)

    parts.__doc__ = rate.formula
    parts.__module__ = __name__
    return measure(
        rate.name,
        alias=rate.alias,
        kind="rate",
        better=rate.better,
        needs=rate.needs,
        paper=rate.paper,
        classwise=rate.classwise,
        denominator=rate.over,
    )(parts)


BY_NAME = {rate.name: _register(rate) for rate in RATES}

# The rates whose differences are measures, and those of which the worst and the best group's are: with the origin.
DIFFERENCES = {
    "accuracy": None,
    "positive_predictive_value": "chouldechova2017",
    "false_discovery_rate": None,
    "false_omission_rate": None,
    "f1": None,
    "base_rate": None,
}
EXTREMES = {
    ("worst", "accuracy"): "sagawa2020",
    ("best", "accuracy"): None,
    ("worst", "true_positive_rate"): None,
    ("best", "true_positive_rate"): None,
    ("worst", "f1"): None,
    ("best", "f1"): None,
}


def _group_axis(rate: Measure) -> int:
    return -2 if rate.classwise else -1


def _difference(rate: Measure, origin: str | None) -> Measure:
    def difference(table: Confusion) -> Floats:
        return largest_difference(ratio(*rate.function(table)), axis=_group_axis(rate))

    difference.__doc__ = f"max_g {rate.title} - min_g {rate.title}."
    difference.__module__ = __name__
    return measure(
        f"{rate.name}_difference",
        kind="gap",
        better="low",
        needs=rate.needs,
        paper=rate.paper,
        origin=origin,
        classwise=rate.classwise,
        of=rate.name,
    )(difference)


def _extreme(rate: Measure, which: str, origin: str | None) -> Measure:
    lowest = (which == "worst") == (rate.better == "high")

    def extreme(table: Confusion) -> Floats:
        values = ratio(*rate.function(table))
        pick: Callable[..., Floats] = values.min if lowest else values.max
        return pick(axis=_group_axis(rate))

    extreme.__doc__ = f"{'min' if lowest else 'max'}_g {rate.title}: the {which} group's."
    extreme.__module__ = __name__
    return measure(
        f"{which}_group_{rate.name}",
        kind="summary",
        better=rate.better,
        needs=rate.needs,
        paper="field",
        origin=origin,
        classwise=rate.classwise,
        of=rate.name,
    )(extreme)


for _name, _origin in DIFFERENCES.items():
    _difference(BY_NAME[_name], _origin)
for (_which, _name), _origin in EXTREMES.items():
    _extreme(BY_NAME[_name], _which, _origin)


# Demographic parity and disparate impact: are the groups selected equally often? (appendix A.2)


def selection_rates(table: Confusion) -> Floats:
    """PPR_g: how often each group is predicted to be of each class."""
    return ratio(table.predicted, table.people)


@measure(
    "demographic_parity",
    alias="DP",
    kind="gap",
    better="low",
    needs="predictions",
    paper="004",
    origin="calders2010",
    of="selection_rate",
)
def demographic_parity(table: Confusion) -> Floats:
    """DP = max_g PPR_g - min_g PPR_g; with two groups |PPR_0 - PPR_1|."""
    return largest_difference(selection_rates(table))


@measure(
    "impact_ratio",
    kind="ratio",
    better="high",
    needs="predictions",
    paper="004",
    origin="feldman2015",
    of="selection_rate",
)
def impact_ratio(table: Confusion) -> Floats:
    """min_g PPR_g / max_g PPR_g: the plain ratio, 1 is parity; the four-fifths rule asks for 0.8."""
    rates = selection_rates(table)
    return ratio(rates.min(axis=-2), rates.max(axis=-2))


@measure(
    "disparate_impact",
    alias="DI",
    kind="gap",
    better="low",
    needs="predictions",
    paper="004",
    origin="feldman2015",
    title="normalised disparate impact",
    of="selection_rate",
)
def disparate_impact(table: Confusion) -> Floats:
    """DI = 1 - min_g PPR_g / max_g PPR_g; undefined for a class that is never predicted."""
    return 1.0 - impact_ratio.by_class(table)


@disparate_impact.variant("authors")
def disparate_impact_authors(table: Confusion) -> Floats:
    """A class that is never predicted for any group counts as fully unfair (1), as in the authors' code."""
    rates = selection_rates(table)
    never = rates.max(axis=-2) == 0
    return np.where(never, 1.0, disparate_impact.by_class(table))


@measure(
    "standardised_mean_difference",
    alias="SMD",
    kind="gap",
    better="low",
    needs="predictions",
    paper="field",
    bounds=(0.0, float("inf")),
    of="selection_rate",
)
def standardised_mean_difference(table: Confusion) -> Floats:
    """SMD = DP / sqrt(PPR (1 - PPR)): the gap in standard deviations of the outcome over everyone."""
    overall = selection_rates(table.overall)[..., 0, :]
    return ratio(demographic_parity.by_class(table), np.sqrt(overall * (1.0 - overall)))


# Equalized odds: are the errors shared equally? (appendix A.2; Hardt et al. 2016)


@measure(
    "equalized_odds_true_positive",
    alias="EOTP",
    kind="gap",
    better="low",
    needs="counts",
    paper="004",
    origin="hardt2016",
    of="true_positive_rate",
)
def equalized_odds_true_positive(table: Confusion) -> Floats:
    """EOTP = max_g TPR_g - min_g TPR_g."""
    return largest_difference(ratio(table.true_positives, table.positives))


@measure(
    "equalized_odds_false_positive",
    alias="EOFP",
    kind="gap",
    better="low",
    needs="counts",
    paper="004",
    origin="hardt2016",
    of="false_positive_rate",
)
def equalized_odds_false_positive(table: Confusion) -> Floats:
    """EOFP = max_g FPR_g - min_g FPR_g."""
    return largest_difference(ratio(table.false_positives, table.negatives))


@measure(
    "equalized_odds",
    alias="EO",
    kind="gap",
    better="low",
    needs="counts",
    paper="field",
    origin="hardt2016",
    of="true_positive_rate",
)
def equalized_odds(table: Confusion) -> Floats:
    """max(EOTP, EOFP): the larger of the two gaps; undefined as soon as one of them is."""
    return np.maximum(equalized_odds_true_positive.by_class(table), equalized_odds_false_positive.by_class(table))


@equalized_odds_true_positive.variant("authors")
def equalized_odds_true_positive_authors(table: Confusion) -> Floats:
    """0 whenever the second group's rate is 0, as in the authors' code; two groups only."""
    return _odds_as_authors(ratio(table.true_positives, table.positives))


@equalized_odds_false_positive.variant("authors")
def equalized_odds_false_positive_authors(table: Confusion) -> Floats:
    """0 whenever the second group's rate is 0, as in the authors' code; two groups only."""
    return _odds_as_authors(ratio(table.false_positives, table.negatives))


def _odds_as_authors(rates: Floats) -> Floats:
    if rates.shape[-2] != 2:
        return np.full((*rates.shape[:-2], rates.shape[-1]), np.nan)
    return np.where(rates[..., 1, :] == 0, 0.0, largest_difference(rates))


# Subgroup fairness: how far each group is from everyone, weighted by its share (appendix A.2)


def _weighted_distance(rates: Floats, overall: Floats, shares: Floats) -> Floats:
    """Sum over g of share_g |rate - rate_g|; undefined as soon as one group's rate is."""
    return np.asarray((shares * np.abs(rates - overall)).sum(axis=-2), dtype=np.float64)


def _shares(table: Confusion) -> Floats:
    """Pr[g] = (P_g + N_g) / (P + N)."""
    return ratio(table.people, table.overall.people)


@measure(
    "statistical_parity_subgroup_fairness",
    alias="SPSF",
    kind="gap",
    better="low",
    needs="predictions",
    paper="004",
    origin="kearns2018",
    of="selection_rate",
)
def statistical_parity_subgroup_fairness(table: Confusion) -> Floats:
    """SPSF = sum_g Pr[g] |PPR - PPR_g|."""
    overall = table.overall
    return _weighted_distance(
        ratio(table.predicted, table.people), ratio(overall.predicted, overall.people), _shares(table)
    )


@measure(
    "false_positive_subgroup_fairness",
    alias="FPSF",
    kind="gap",
    better="low",
    needs="counts",
    paper="004",
    origin="kearns2018",
    of="false_positive_rate",
)
def false_positive_subgroup_fairness(table: Confusion) -> Floats:
    """FPSF = sum_g Pr[g] |FPR - FPR_g|."""
    return _weighted_distance(*_false_positive_rates(table), _shares(table))


@false_positive_subgroup_fairness.variant("authors")
def false_positive_subgroup_fairness_authors(table: Confusion) -> Floats:
    """Weights N_g / (P + N), the share of the data that is negative and in g, as in the authors' code."""
    return _weighted_distance(*_false_positive_rates(table), ratio(table.negatives, table.overall.people))


def _false_positive_rates(table: Confusion) -> tuple[Floats, Floats]:
    overall = table.overall
    return ratio(table.false_positives, table.negatives), ratio(overall.false_positives, overall.negatives)


# Bias amplification: do the predictions exaggerate the skew of the data? (appendix A.2)


@measure(
    "bias_amplification",
    alias="BA",
    kind="gap",
    better="low",
    needs="counts",
    paper="004",
    origin="zhao2017",
)
def bias_amplification(table: Confusion) -> Floats:
    """BA = |(TP_g + FP_g) / (TP + FP) - P_g / P| for g = argmax_g P_g / P; of tied groups the largest deviation."""
    true_share = ratio(table.positives, table.overall.positives)
    predicted_share = ratio(table.predicted, table.overall.predicted)
    deviation = np.abs(predicted_share - true_share)
    largest = true_share == true_share.max(axis=-2, keepdims=True)
    biased = np.where(largest, deviation, 0.0).max(axis=-2)
    defined = (table.overall.positives > 0) & (table.overall.predicted > 0)
    return np.where(defined[..., 0, :], biased, np.nan)


@bias_amplification.variant("authors")
def bias_amplification_authors(table: Confusion) -> Floats:
    """The last group with any positive is taken; undefined classes are skipped and as many zeros end the list."""
    true_share = ratio(table.positives, table.overall.positives)
    predicted_share = ratio(table.predicted, table.overall.predicted)
    groups = table.positives.shape[-2]
    last = groups - 1 - np.argmax((table.positives > 0)[..., ::-1, :], axis=-2)
    deviation = np.abs(predicted_share - true_share)
    chosen = np.take_along_axis(deviation, last[..., None, :], axis=-2)[..., 0, :]
    order = np.argsort(np.isnan(chosen), axis=-1, kind="stable")
    packed: Floats = np.take_along_axis(chosen, order, axis=-1)
    return np.nan_to_num(packed, nan=0.0)


# Paper 001's view: the root mean square of the per-class gaps, fairness, and the distance to the optimum


@measure(
    "true_positive_rate_gap",
    alias="GAP",
    kind="gap",
    better="low",
    needs="counts",
    paper="001",
    title="root mean square gap of true positive rates",
    classwise=False,
    of="true_positive_rate",
)
def true_positive_rate_gap(table: Confusion) -> Floats:
    """GAP = sqrt(mean_y (max_g TPR_yg - min_g TPR_yg)^2) over the classes defined in all groups."""
    gaps = equalized_odds_true_positive.by_class(table)
    defined = ~np.isnan(gaps)
    squares = np.where(defined, gaps, 0.0) ** 2
    return np.sqrt(ratio(squares.sum(axis=-1), defined.sum(axis=-1).astype(np.float64)))


@true_positive_rate_gap.variant("authors")
def true_positive_rate_gap_authors(table: Confusion) -> Floats:
    """Counts get +1e-5 and a class's gap is sum_g |TPR_yg - TPR_y|, as in the authors' code."""
    small = 1e-5
    pooled = table.overall
    rates = (table.true_positives + small) / (table.positives + 2 * small)
    overall = (pooled.true_positives + small) / (pooled.positives + 2 * small)
    gaps = np.abs(rates - overall).sum(axis=-2)
    return np.asarray(np.sqrt((gaps**2).mean(axis=-1)), dtype=np.float64)


@measure(
    "fairness",
    kind="summary",
    better="high",
    needs="counts",
    paper="001",
    title="1 - GAP",
    classwise=False,
    of="true_positive_rate",
)
def fairness(table: Confusion) -> Floats:
    """Fairness = 1 - GAP, paper 001's word for it."""
    return 1.0 - true_positive_rate_gap.by_class(table)


@measure(
    "distance_to_optimum",
    alias="DTO",
    kind="summary",
    better="low",
    needs="counts",
    paper="001",
    bounds=(0.0, float(np.sqrt(2.0))),
    classwise=False,
    of="true_positive_rate",
)
def distance_to_optimum(table: Confusion) -> Floats:
    """DTO = sqrt((1 - accuracy)^2 + (1 - Fairness)^2): the distance to the fixed point (1, 1)."""
    overall = table.overall
    accuracy = ratio(overall.correct, overall.people)[..., 0, 0]
    return optimum_distance(accuracy, fairness.by_class(table))


@fairness.variant("authors")
def fairness_authors(table: Confusion) -> Floats:
    """1 - GAP with GAP as in the authors' code."""
    return 1.0 - true_positive_rate_gap.by_class(table, "authors")


@distance_to_optimum.variant("authors")
def distance_to_optimum_authors(table: Confusion) -> Floats:
    """DTO with GAP as in the authors' code."""
    overall = table.overall
    return optimum_distance(ratio(overall.correct, overall.people)[..., 0, 0], fairness.by_class(table, "authors"))


def optimum_distance(performance: Floats, equity: Floats) -> Floats:
    """Return the distance of (performance, fairness) to the best there can be, (1, 1)."""
    return np.asarray(np.hypot(1.0 - performance, 1.0 - equity), dtype=np.float64)


def statistical_parity_difference(
    predictions: object,
    *,
    sensitive_features: object,
    favourable: object,
    unprivileged: object,
    privileged: object,
    target: object = None,
) -> float:
    """Return PPR_unprivileged - PPR_privileged of the favourable class: negative where the unprivileged get it less.

    A favourable class that nobody is predicted is refused as unknown, unless the true classes (``target``) have it.
    Without a sign and over any number of groups it is ``demographic_parity``; with an interval and a test it is the
    contrast of selection rates in an audit (``reference={"sex": "Male"}``).
    """
    rates = BY_NAME["selection_rate"].by_group(
        target, predictions, sensitive_features=sensitive_features, favourable=favourable
    )
    sides = []
    for group in (unprivileged, privileged):
        label = str(label_of(group))
        if label not in rates:
            raise unknown_name("group", label, rates, "sensitive_features")
        sides.append(rates[label])
    return sides[0] - sides[1]
