"""Claim: a bootstrap draw at 100,000 rows is at least 100,000 times faster than fairlearn's on counts, and 500 times
where rows must be drawn (clusters, labels).

Run it as: python benchmarks/bootstrap_draw.py [--rows N]
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace

import numpy as np
from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
from scipy import sparse

from equipoise.foundation import ratio
from equipoise.stats import (
    bootstrap_counts,
    bootstrap_totals,
)
from equipoise.tallies import Confusion

RATES = {"selection": selection_rate, "tpr": true_positive_rate, "fpr": false_positive_rate}
DRAWS = 2000


def rates_of(table: Confusion) -> np.ndarray:
    """The same three rates for every draw, group and class."""
    return np.stack(
        [
            ratio(table.predicted, table.people),
            ratio(table.true_positives, table.positives),
            ratio(table.false_positives, table.negatives),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    warnings.simplefilter("ignore")
    generator = np.random.default_rng(0)
    group = generator.integers(0, 4, rows)
    target = generator.integers(0, 2, rows)
    guess = np.where(generator.random(rows) < 0.8, target, 1 - target)

    start = time.perf_counter()
    made = 3
    frame = MetricFrame(
        metrics=RATES, y_true=target, y_pred=guess, sensitive_features=group, n_boot=made, ci_quantiles=[0.025, 0.975]
    )
    plain = time.perf_counter()
    MetricFrame(metrics=RATES, y_true=target, y_pred=guess, sensitive_features=group)
    theirs = (plain - start - (time.perf_counter() - plain)) / made

    cells = np.zeros((4, 2, 2))
    np.add.at(cells, (group, target, guess), 1)
    table = Confusion(cells, tuple("0123"), ("0", "1"))
    assert np.allclose(ratio(table.predicted, table.people)[:, 1], frame.by_group["selection"])
    rates_of(replace(table, cells=bootstrap_counts(cells, 10, generator)))
    start = time.perf_counter()
    counted = rates_of(replace(table, cells=bootstrap_counts(cells, DRAWS, generator)))
    on_counts = (time.perf_counter() - start) / DRAWS

    places = np.ravel_multi_index((group, target, guess), cells.shape)
    units = sparse.csc_array((np.ones(rows), (np.arange(rows), places)), shape=(rows, cells.size))
    start = time.perf_counter()
    few = max(DRAWS // 20, 2)
    totals = bootstrap_totals(units, generator, few).reshape(few, *cells.shape)
    drawn = rates_of(Confusion(totals, table.groups, table.classes))
    on_rows = (time.perf_counter() - start) / few

    spread = np.std(counted, axis=1)
    assert np.allclose(np.std(drawn, axis=1), spread, rtol=0.6)
    print(f"{rows:,} rows, 4 groups, 3 rates; a draw takes fairlearn {1000 * theirs:,.0f} ms,")
    print(f"equipoise {1e6 * on_counts:,.1f} microseconds on counts and {1000 * on_rows:,.2f} ms where rows are drawn")
    print(f"ratio: {theirs / on_counts:,.0f} on counts, {theirs / on_rows:,.0f} on rows")


if __name__ == "__main__":
    main()
