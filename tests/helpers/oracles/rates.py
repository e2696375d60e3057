"""Slow, obvious references for every registered measure: plain loops over rows, and nothing shared with the package.

Each reference is called as ``reference(target, outcome, group, weights, favourable)`` and returns a float, NaN where
the number is not defined. ``outcome`` is a prediction or a score; ``weights`` may be None. A rate or value is taken
over everyone; a gap compares the groups. Where ``favourable`` is None, a measure of one class against the rest is the
plain mean over the classes where it is defined. ``AUTHORS`` holds the references of what the papers' own code does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from helpers.oracles.embedding import EMBEDDING_ORACLES

NAN = math.nan
Reference = Callable[..., float]


class Row(NamedTuple):
    """One person: what is true, what was said, the group, and how much the row counts."""

    truth: Any
    said: Any
    group: Any
    weight: float


def rows_of(target: Any, outcome: Any, group: Any, weights: Any) -> list[Row]:
    columns = [
        list(column) if not hasattr(column, "tolist") else column.tolist() for column in (target, outcome, group)
    ]
    heavy = [1.0] * len(columns[0]) if weights is None else [float(weight) for weight in weights]
    return [Row(*values) for values in zip(*columns, heavy, strict=True)]


def by_group(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each group, in the order of the groups' names."""
    names = sorted({row.group for row in rows})
    return [[row for row in rows if row.group == name] for name in names]


def weight(rows: Iterable[Row]) -> float:
    total = 0.0
    for row in rows:
        total += row.weight
    return total


def divided(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else NAN


def defined(value: float) -> bool:
    return not math.isnan(value)


def mean(values: Iterable[float]) -> float:
    known = [value for value in values if defined(value)]
    return sum(known) / len(known) if known else NAN


# Rates: among the rows for which the second is true, the weight of those for which the first is true, too.

Test = Callable[[Row, Any], bool]


def share(having: Test, among: Test) -> Callable[[Sequence[Row], Any], float]:
    def rate(rows: Sequence[Row], name: Any) -> float:
        whole = part = 0.0
        for row in rows:
            if among(row, name):
                whole += row.weight
                part += row.weight if having(row, name) else 0.0
        return divided(part, whole)

    return rate


def anybody(row: Row, name: Any) -> bool:
    return True


def is_it(row: Row, name: Any) -> bool:
    return bool(row.truth == name)


def is_not(row: Row, name: Any) -> bool:
    return bool(row.truth != name)


def said_it(row: Row, name: Any) -> bool:
    return bool(row.said == name)


def said_not(row: Row, name: Any) -> bool:
    return bool(row.said != name)


def right(row: Row, name: Any) -> bool:
    return bool(row.said == row.truth)


def f1(rows: Sequence[Row], name: Any) -> float:
    found = wrong = missed = 0.0
    for row in rows:
        found += row.weight if row.truth == name and row.said == name else 0.0
        wrong += row.weight if row.truth != name and row.said == name else 0.0
        missed += row.weight if row.truth == name and row.said != name else 0.0
    return divided(2 * found, 2 * found + wrong + missed)


RATES: dict[str, Callable[[Sequence[Row], Any], float]] = {
    "selection_rate": share(said_it, anybody),
    "base_rate": share(is_it, anybody),
    "true_positive_rate": share(said_it, is_it),
    "false_positive_rate": share(said_it, is_not),
    "true_negative_rate": share(said_not, is_not),
    "false_negative_rate": share(said_not, is_it),
    "positive_predictive_value": share(is_it, said_it),
    "false_discovery_rate": share(is_not, said_it),
    "false_omission_rate": share(is_it, said_not),
    "negative_predictive_value": share(is_not, said_not),
    "f1": f1,
}
accuracy = share(right, anybody)


def lowest_and_highest(values: Sequence[float]) -> tuple[float, float]:
    """Undefined as soon as one group's value is."""
    if not all(defined(value) for value in values):
        return NAN, NAN
    return min(values), max(values)


def difference(values: Sequence[float]) -> float:
    low, high = lowest_and_highest(values)
    return high - low


def rates(name: str, rows: Sequence[Row], of_class: Any) -> list[float]:
    return [RATES[name](group, of_class) for group in by_group(rows)]


def gap(rate: str) -> Callable[[Sequence[Row], Any], float]:
    return lambda rows, name: difference(rates(rate, rows, name))


# Gaps of one class against the rest.


def impact_ratio(rows: Sequence[Row], name: Any) -> float:
    low, high = lowest_and_highest(rates("selection_rate", rows, name))
    return divided(low, high)


def disparate_impact(rows: Sequence[Row], name: Any) -> float:
    return 1.0 - impact_ratio(rows, name)


def disparate_impact_authors(rows: Sequence[Row], name: Any) -> float:
    selected = rates("selection_rate", rows, name)
    return 1.0 if all(value == 0 for value in selected) else disparate_impact(rows, name)


def standardised_mean_difference(rows: Sequence[Row], name: Any) -> float:
    everyone = RATES["selection_rate"](rows, name)
    return divided(gap("selection_rate")(rows, name), math.sqrt(everyone * (1 - everyone)))


def subgroup_fairness(
    rate: str, counted: Callable[[Row, Any], bool] = anybody
) -> Callable[[Sequence[Row], Any], float]:
    """Sum over the groups of the share of the data that is counted and in the group, times the rate's distance."""

    def per_class(rows: Sequence[Row], name: Any) -> float:
        everyone, total = RATES[rate](rows, name), 0.0
        for group in by_group(rows):
            part = weight(row for row in group if counted(row, name)) / weight(rows)
            total += part * abs(everyone - RATES[rate](group, name))
        return total

    return per_class


def equalized_odds(rows: Sequence[Row], name: Any) -> float:
    gaps = [gap(rate)(rows, name) for rate in ("true_positive_rate", "false_positive_rate")]
    return max(gaps) if all(defined(value) for value in gaps) else NAN


def odds_authors(rate: str) -> Callable[[Sequence[Row], Any], float]:
    """Two groups only, and 0 whenever the second group's rate is 0."""

    def per_class(rows: Sequence[Row], name: Any) -> float:
        values = rates(rate, rows, name)
        if len(values) != 2:
            return NAN
        return 0.0 if values[1] == 0 else difference(values)

    return per_class


def amplification_shares(rows: Sequence[Row], name: Any) -> list[tuple[float, float]]:
    """For each group: its share of those truly of the class, and of those said to be."""
    of_class = weight(row for row in rows if row.truth == name)
    said = weight(row for row in rows if row.said == name)
    found = []
    for group in by_group(rows):
        true_share = divided(weight(row for row in group if row.truth == name), of_class)
        said_share = divided(weight(row for row in group if row.said == name), said)
        found.append((true_share, said_share))
    return found


def bias_amplification(rows: Sequence[Row], name: Any) -> float:
    shares = amplification_shares(rows, name)
    if not all(defined(part) for pair in shares for part in pair):
        return NAN
    largest = max(true_share for true_share, _ in shares)
    return max(abs(said - true_share) for true_share, said in shares if true_share == largest)


def bias_amplification_authors(
    target: Any, outcome: Any, group: Any, weights: Any = None, favourable: Any = None
) -> float:
    """The last group with anybody of the class; undefined classes are skipped, later ones shift, zeros fill the end."""
    rows = rows_of(target, outcome, group, weights)
    values = []
    for name in classes_of(rows):
        shares = amplification_shares(rows, name)
        if all(defined(part) for pair in shares for part in pair):
            values.append([abs(said - true_share) for true_share, said in shares if true_share > 0][-1])
    values += [0.0] * (len(classes_of(rows)) - len(values))
    return mean(values) if favourable is None else values[classes_of(rows).index(favourable)]


def worst(rate: str) -> Callable[[Sequence[Row], Any], float]:
    return lambda rows, name: lowest_and_highest(rates(rate, rows, name))[0]


def best(rate: str) -> Callable[[Sequence[Row], Any], float]:
    return lambda rows, name: lowest_and_highest(rates(rate, rows, name))[1]


# Numbers that put the classes together.


def classes_of(rows: Sequence[Row]) -> list[Any]:
    return sorted({row.truth for row in rows} | {row.said for row in rows})


def true_positive_rate_gap(rows: Sequence[Row]) -> float:
    gaps = [gap("true_positive_rate")(rows, name) for name in classes_of(rows)]
    return math.sqrt(mean(value**2 for value in gaps))


def true_positive_rate_gap_authors(rows: Sequence[Row]) -> float:
    """Every count gets 1e-5 more; a class's gap is the sum over groups of the distance to everyone's rate."""
    gaps = []
    for name in classes_of(rows):
        total = 0.0
        for group in by_group(rows):
            total += abs(padded_rate(group, name) - padded_rate(rows, name))
        gaps.append(total)
    return math.sqrt(sum(value**2 for value in gaps) / len(gaps))


def padded_rate(rows: Sequence[Row], name: Any) -> float:
    found = weight(row for row in rows if row.truth == name and row.said == name) + 1e-5
    missed = weight(row for row in rows if row.truth == name and row.said != name) + 1e-5
    return found / (found + missed)


def distance_to_optimum(rows: Sequence[Row]) -> float:
    return math.sqrt((1 - accuracy(rows, None)) ** 2 + true_positive_rate_gap(rows) ** 2)


def distance_to_optimum_authors(rows: Sequence[Row]) -> float:
    return math.sqrt((1 - accuracy(rows, None)) ** 2 + true_positive_rate_gap_authors(rows) ** 2)


# Scores.


def members_and_others(rows: Sequence[Row], name: Any) -> tuple[list[Row], list[Row]]:
    return [row for row in rows if row.truth == name], [row for row in rows if row.truth != name]


def auc(rows: Sequence[Row], name: Any) -> float:
    members, others = members_and_others(rows, name)
    won = 0.0
    for member in members:
        for other in others:
            pair = member.weight * other.weight
            won += pair if member.said > other.said else pair / 2 if member.said == other.said else 0.0
    return divided(won, weight(members) * weight(others))


def brier_score(rows: Sequence[Row], name: Any) -> float:
    total = 0.0
    for row in rows:
        total += row.weight * (row.said - (1.0 if row.truth == name else 0.0)) ** 2
    return divided(total, weight(rows))


def calibration_error(rows: Sequence[Row], name: Any) -> float:
    total = 0.0
    for step in range(10):
        here = [row for row in rows if sum(row.said >= edge / 10 for edge in range(1, 10)) == step]
        if here:
            observed = weight(row for row in here if row.truth == name)
            total += abs(observed - sum(row.weight * row.said for row in here))
    return divided(total, weight(rows))


def mean_score(rows: Sequence[Row], name: Any) -> float:
    return divided(sum(row.weight * row.said for row in rows), weight(rows))


def spread(values: Sequence[float], weights: Sequence[float]) -> float:
    middle = sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)
    return math.sqrt(sum(w * (value - middle) ** 2 for w, value in zip(weights, values, strict=True)) / sum(weights))


def only_probabilities(
    value: Callable[[Sequence[Row], Any], float],
) -> Callable[[Sequence[Row], Sequence[Row], Any], float]:
    """Undefined where any score of anybody is no probability."""
    return lambda part, rows, name: value(part, name) if all(0 <= row.said <= 1 for row in rows) else NAN


def any_scores(value: Callable[[Sequence[Row], Any], float]) -> Callable[[Sequence[Row], Sequence[Row], Any], float]:
    return lambda part, rows, name: value(part, name)


SCORES = {
    "auc": any_scores(auc),
    "brier_score": only_probabilities(brier_score),
    "calibration_error": only_probabilities(calibration_error),
    "mean_score": any_scores(mean_score),
}


def score_standardised_difference(rows: Sequence[Row], name: Any) -> float:
    means = [mean_score(group, name) for group in by_group(rows)]
    return divided(difference(means), spread([row.said for row in rows], [row.weight for row in rows]))


# Predicted numbers.


def pearson(rows: Sequence[Row]) -> float:
    total = weight(rows)
    y = sum(row.weight * row.truth for row in rows) / total
    p = sum(row.weight * row.said for row in rows) / total
    yy = sum(row.weight * (row.truth - y) ** 2 for row in rows)
    pp = sum(row.weight * (row.said - p) ** 2 for row in rows)
    yp = sum(row.weight * (row.truth - y) * (row.said - p) for row in rows)
    return divided(yp, math.sqrt(yy) * math.sqrt(pp))


def averaged(value: Callable[[Row], float]) -> Callable[[Sequence[Row]], float]:
    return lambda rows: divided(sum(row.weight * value(row) for row in rows), weight(rows))


VALUES: dict[str, Callable[[Sequence[Row]], float]] = {
    "pearson": pearson,
    "mean_absolute_error": averaged(lambda row: abs(row.said - row.truth)),
    "root_mean_squared_error": lambda rows: math.sqrt(averaged(lambda row: (row.said - row.truth) ** 2)(rows)),
    "mean_prediction": averaged(lambda row: row.said),
    "mean_residual": averaged(lambda row: row.said - row.truth),
}


def value_gap(name: str) -> Callable[[Sequence[Row]], float]:
    return lambda rows: difference([VALUES[name](group) for group in by_group(rows)])


def prediction_standardised_difference(rows: Sequence[Row]) -> float:
    return divided(value_gap("mean_prediction")(rows), spread([r.said for r in rows], [r.weight for r in rows]))


def regression_distance(rows: Sequence[Row]) -> float:
    return math.sqrt((1 - pearson(rows)) ** 2 + value_gap("pearson")(rows) ** 2)


# From the functions above to references that are called with columns.


def classwise(per_class: Callable[[Sequence[Row], Any], float]) -> Reference:
    def reference(target: Any, outcome: Any, group: Any, weights: Any = None, favourable: Any = None) -> float:
        rows = rows_of(target, outcome, group, weights)
        if favourable is not None:
            return per_class(rows, favourable)
        return mean(per_class(rows, name) for name in classes_of(rows))

    return reference


def whole(function: Callable[[Sequence[Row]], float]) -> Reference:
    """A number that no class is asked for."""

    def reference(target: Any, outcome: Any, group: Any, weights: Any = None, favourable: Any = None) -> float:
        return function(rows_of(target, outcome, group, weights))

    return reference


def of_score(function: Callable[[Sequence[Row], Any], float]) -> Reference:
    """Without a class named, the score speaks for the last one."""

    def reference(target: Any, outcome: Any, group: Any, weights: Any = None, favourable: Any = None) -> float:
        rows = rows_of(target, outcome, group, weights)
        return function(rows, max(row.truth for row in rows) if favourable is None else favourable)

    return reference


def score_value(name: str) -> Reference:
    return of_score(lambda rows, of_class: SCORES[name](rows, rows, of_class))


def score_gap(name: str) -> Reference:
    return of_score(
        lambda rows, of_class: difference([SCORES[name](group, rows, of_class) for group in by_group(rows)])
    )


def group_accuracies(rows: Sequence[Row]) -> list[float]:
    return [accuracy(group, None) for group in by_group(rows)]


ORACLES: dict[str, Reference] = {
    **{name: classwise(rate) for name, rate in RATES.items()},
    **{
        f"{name}_difference": classwise(gap(name))
        for name in ("positive_predictive_value", "false_discovery_rate", "false_omission_rate", "f1", "base_rate")
    },
    "accuracy": whole(lambda rows: accuracy(rows, None)),
    "accuracy_difference": whole(lambda rows: difference(group_accuracies(rows))),
    "worst_group_accuracy": whole(lambda rows: lowest_and_highest(group_accuracies(rows))[0]),
    "best_group_accuracy": whole(lambda rows: lowest_and_highest(group_accuracies(rows))[1]),
    "worst_group_true_positive_rate": classwise(worst("true_positive_rate")),
    "best_group_true_positive_rate": classwise(best("true_positive_rate")),
    "worst_group_f1": classwise(worst("f1")),
    "best_group_f1": classwise(best("f1")),
    "demographic_parity": classwise(gap("selection_rate")),
    "impact_ratio": classwise(impact_ratio),
    "disparate_impact": classwise(disparate_impact),
    "standardised_mean_difference": classwise(standardised_mean_difference),
    "statistical_parity_subgroup_fairness": classwise(subgroup_fairness("selection_rate")),
    "false_positive_subgroup_fairness": classwise(subgroup_fairness("false_positive_rate")),
    "equalized_odds_true_positive": classwise(gap("true_positive_rate")),
    "equalized_odds_false_positive": classwise(gap("false_positive_rate")),
    "equalized_odds": classwise(equalized_odds),
    "bias_amplification": classwise(bias_amplification),
    "true_positive_rate_gap": whole(true_positive_rate_gap),
    "fairness": whole(lambda rows: 1.0 - true_positive_rate_gap(rows)),
    "distance_to_optimum": whole(distance_to_optimum),
    **{name: score_value(name) for name in SCORES},
    **{f"{name}_difference": score_gap(name) for name in ("auc", "brier_score", "calibration_error")},
    "score_standardised_difference": of_score(score_standardised_difference),
    **{name: whole(value) for name, value in VALUES.items()},
    **{f"{name}_difference": whole(value_gap(name)) for name in VALUES},
    "prediction_standardised_difference": whole(prediction_standardised_difference),
    "regression_fairness": whole(lambda rows: 1.0 - value_gap("pearson")(rows)),
    "regression_distance_to_optimum": whole(regression_distance),
    **EMBEDDING_ORACLES,
}

AUTHORS: dict[str, Reference] = {
    "disparate_impact": classwise(disparate_impact_authors),
    "false_positive_subgroup_fairness": classwise(subgroup_fairness("false_positive_rate", counted=is_not)),
    "equalized_odds_true_positive": classwise(odds_authors("true_positive_rate")),
    "equalized_odds_false_positive": classwise(odds_authors("false_positive_rate")),
    "bias_amplification": bias_amplification_authors,
    "true_positive_rate_gap": whole(true_positive_rate_gap_authors),
    "fairness": whole(lambda rows: 1.0 - true_positive_rate_gap_authors(rows)),
    "distance_to_optimum": whole(distance_to_optimum_authors),
}
