"""Bias amplification: do the predictions exaggerate the skew of the data? (paper 004, appendix A.2)"""

from __future__ import annotations

import numpy as np

from equipoise.measures.measure import Floats, measure
from equipoise.tallies.confusion import Confusion, ratio


@measure(
    "bias_amplification",
    alias="BA",
    kind="gap",
    better="low",
    needs="counts",
    paper="004",
)
def bias_amplification(table: Confusion) -> Floats:
    """BA = |(TP_g + FP_g) / (TP + FP) - P_g / P| for g = argmax_g P_g / P; of tied groups the largest deviation."""
    true_share = ratio(table.positives, table.everyone.positives)
    predicted_share = ratio(table.predicted, table.everyone.predicted)
    deviation = np.abs(predicted_share - true_share)
    largest = true_share == true_share.max(axis=-2, keepdims=True)
    biased = np.where(largest, deviation, 0.0).max(axis=-2)
    defined = (table.everyone.positives > 0) & (table.everyone.predicted > 0)
    return np.where(defined[..., 0, :], biased, np.nan)


@bias_amplification.variant("authors")
def bias_amplification_authors(table: Confusion) -> Floats:
    """The last group with any positive is taken; undefined classes are skipped and as many zeros end the list."""
    true_share = ratio(table.positives, table.everyone.positives)
    predicted_share = ratio(table.predicted, table.everyone.predicted)
    groups = table.positives.shape[-2]
    last = groups - 1 - np.argmax((table.positives > 0)[..., ::-1, :], axis=-2)
    deviation = np.abs(predicted_share - true_share)
    chosen = np.take_along_axis(deviation, last[..., None, :], axis=-2)[..., 0, :]
    order = np.argsort(np.isnan(chosen), axis=-1, kind="stable")
    packed: Floats = np.take_along_axis(chosen, order, axis=-1)
    return np.nan_to_num(packed, nan=0.0)
