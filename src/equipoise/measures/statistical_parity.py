"""The statistical parity difference: one named group's selection rate minus another's, with its sign."""

from __future__ import annotations

from equipoise.foundation.errors import unknown_name
from equipoise.measures.rates import BY_NAME
from equipoise.tallies.labels import label_of


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
