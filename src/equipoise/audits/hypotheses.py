"""Which tests of a report are one test said twice: each enters the correction for how many there are once.

The favourable class is a class that is told twice. Of two classes, what is not one is the other: as many are selected
for one as are not for the other, and a wrong call of the one is a missed other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from equipoise.results import Record

# Of any class, and of their mean: whether the groups have the same rate is one question, however the gap is counted.
SAME: Mapping[str, str] = {
    "impact_ratio": "demographic_parity",
    "disparate_impact": "demographic_parity",
    "standardised_mean_difference": "demographic_parity",
    "false_discovery_rate_difference": "positive_predictive_value_difference",
}
# Of two classes: what the first measure says of one class, the second says of the other.
OF_THE_OTHER: Mapping[str, str] = {
    "equalized_odds_false_positive": "equalized_odds_true_positive",
    "false_omission_rate_difference": "positive_predictive_value_difference",
}
# Of two classes these say the same of both, and of their mean.
OF_BOTH = ("demographic_parity", "statistical_parity_subgroup_fairness", "base_rate_difference", "equalized_odds")
# Kinds of records that compare all groups at once: which of them is worst is no part of the question.
OF_ALL_GROUPS = ("gap", "ratio")


def hypotheses(records: Sequence[Record], same: Mapping[str, str] = SAME) -> list[Hashable]:
    """Return a key for each record: two records with one key are one test."""
    classes = _classes(records)
    return [_key(record, classes[record.label], same) for record in records]


def _classes(records: Iterable[Record]) -> Mapping[str | None, Sequence[str]]:
    found: dict[str | None, dict[str, None]] = defaultdict(dict)
    for record in records:
        if record.class_ is not None:
            found[record.label][record.class_] = None
    return defaultdict(tuple, {label: tuple(names) for label, names in found.items()})


def _key(record: Record, classes: Sequence[str], same: Mapping[str, str]) -> Hashable:
    where = (record.attribute, record.control, record.split, record.label, record.variant)
    if record.kind not in OF_ALL_GROUPS:
        return (record.kind, record.measure, record.class_, *where, record.group, record.against)
    measure, class_ = same.get(record.measure, record.measure), record.class_
    if len(classes) == 2:
        if measure in OF_THE_OTHER:
            measure = OF_THE_OTHER[measure]
            class_ = None if class_ is None else classes[1 - classes.index(class_)]
        if measure in OF_BOTH:
            class_ = None
    return ("gap", measure, class_, *where)
