"""Arrays to tallies, for measures that are called directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from equipoise.foundation.arrays import Column, as_column, as_columns, as_floats, as_weights, same_length
from equipoise.foundation.errors import BadInput
from equipoise.foundation.options import ELSEWHERE, unknown_argument
from equipoise.tallies.cells import Cells, Floats
from equipoise.tallies.counts import PREDICTION, TARGET, Confusion, confusion_of, group_axis
from equipoise.tallies.embedded import Embedded, embed
from equipoise.tallies.labels import Coded, classes_of, factorise, label_of, ordered, same_truths, truth_names
from equipoise.tallies.scores import (
    Pivot,
    RankedScores,
    Residuals,
    Scores,
    quantities,
    residuals_of,
    scale_of_rows,
    scores_of,
)

Needs = Literal["predictions", "counts", "scores", "residuals", "embedding"]


def tally_of(
    needs: Needs,
    data: Sequence[object],
    *,
    sensitive_features: object = None,
    favourable: object = None,
    sample_weight: object = None,
    compares: bool = False,
    **options: Any,
) -> Confusion | Scores | Residuals | Embedded:
    """Tally arrays for one measure. Several group columns are crossed; without any, everyone is one group."""
    target, outcome = data
    if target is None and needs != "predictions":
        raise BadInput("No target was given", available="one true value per row", help="pass it as the first argument.")
    if compares and sensitive_features is None:
        raise BadInput("No groups were given", help="pass sensitive_features=, one value per row.")
    if needs == "embedding":
        embedded = _embedded(target, outcome, sensitive_features, favourable, sample_weight, options)
        return _several(embedded) if compares else embedded
    if options:
        known = ["target", "prediction", "sensitive_features", "favourable", "sample_weight", "variant", "strict"]
        raise unknown_argument(next(iter(options)), known, {**ELSEWHERE, "weight": "sample_weight"})
    groups = _groups(sensitive_features, outcome)
    weights = None if sample_weight is None else as_weights(sample_weight)
    lengths = {"target": target, "prediction": outcome, **groups}
    lengths |= {} if weights is None else {"sample_weight": weights}
    same_length({name: as_column(column, name) for name, column in lengths.items() if column is not None})
    coded = {group_axis(name): factorise(column) for name, column in groups.items()}
    if needs == "scores":
        tally: Confusion | Scores | Residuals = _scores(target, outcome, coded, weights, favourable, list(groups))
    elif needs == "residuals":
        tally = _residuals(target, outcome, coded, weights, list(groups))
    else:
        tally = _confusion(target, outcome, coded, weights, list(groups))
    return _several(tally) if compares else tally


def _several(tally: Confusion | Scores | Residuals | Embedded) -> Confusion | Scores | Residuals | Embedded:
    if len(tally.groups) < 2:
        raise BadInput(
            f"There is only one group: {', '.join(tally.groups) or 'none'}",
            available="at least two groups",
            help="check that the group column is the right one.",
        )
    return tally


def _embedded(
    target: object,
    outcome: object,
    sensitive_features: object,
    favourable: object,
    sample_weight: object,
    options: dict[str, Any],
) -> Embedded:
    for given, what in ((favourable, "favourable class"), (sample_weight, "weights")):
        if given is not None:
            raise BadInput(f"A measure of an embedding takes no {what}", help="leave it out.")
    return embed(outcome, target, sensitive_features, **options)


def _groups(sensitive_features: object, outcome: object) -> dict[str, Column]:
    if sensitive_features is None:
        return {"everyone": np.zeros(len(as_column(outcome, "prediction")), dtype=np.int64)}
    return as_columns(sensitive_features)


def _confusion(
    target: object, outcome: object, groups: dict[str, Coded], weights: Floats | None, attributes: list[str]
) -> Confusion:
    columns = {} if target is None else {TARGET: classes_of(target, "target")}
    columns |= {PREDICTION: classes_of(outcome, "prediction")}
    cells = Cells.from_codes({**columns, **groups}, weights)
    return confusion_of(same_truths(cells, truth_names(cells)), attributes)


def _scores(
    target: object,
    outcome: object,
    groups: dict[str, Coded],
    weights: Floats | None,
    favourable: object,
    attributes: list[str],
) -> Scores:
    scores = as_floats(outcome, "the scores")
    if not len(scores) or not np.isfinite(scores).all():
        raise BadInput("The scores are empty, missing or infinite in some rows", help="drop those rows first.")
    truth = classes_of(target, "target")
    classes = ordered(label for label in truth.labels if label is not None)
    of_class = label_of(favourable) if favourable is not None else classes[-1]
    if of_class not in classes or (favourable is None and len(classes) > 2):
        raise BadInput(
            f"It is not clear which class the score is for ({favourable!r} was given)",
            available=", ".join(classes),
            help="name it with favourable=.",
        )
    assert of_class is not None
    columns = {**groups, TARGET: truth}
    ranked = RankedScores.from_rows(columns, scores, weights)
    member = np.array([label == of_class for label in truth.labels])[ranked.axes[TARGET].codes]
    scale = scale_of_rows(ranked, member)
    return scores_of(ranked.cells(scale), attributes, of_class, scale, ranked=None if scale.exact else ranked)


def _residuals(
    target: object, outcome: object, groups: dict[str, Coded], weights: Floats | None, attributes: list[str]
) -> Residuals:
    y, p = as_floats(target, "the target"), as_floats(outcome, "the prediction")
    if not len(y) or np.isnan(y).any() or np.isnan(p).any():
        raise BadInput("The target or prediction is empty or has missing values", help="drop those rows first.")
    pivot = Pivot(float(y.mean()), float(p.mean()))
    return residuals_of(Cells.from_codes(groups, weights, quantities(y, p, pivot)), attributes, pivot)
