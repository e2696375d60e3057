"""Claim: 200 techniques x 10 metrics x 16 runs are judged in under 2 s by studentised permutation.

The naive way beside it: pandas groups the runs, and scipy tests them one technique and metric at a time by
Mann-Whitney. Both read the same CSV file. The numbers of that test are compared and equal; those of the permutation are
compared with scipy's on some of the comparisons.

Run it as: python benchmarks/evidence_speed.py [--small]
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import equipoise

LIMIT = 2.0
BASE = "technique 0"
NUMBERS = ("mean", "stdev", "p", "p_adjusted", "d", "levene_p")


def write(path: Path, techniques: int, metrics: int, runs: int) -> None:
    generator = np.random.default_rng(0)
    names = [(f"technique {t}", f"metric {m}") for t in range(techniques) for m in range(metrics)]
    level = generator.uniform(0.1, 0.3, len(names))
    frame = pd.DataFrame(
        {
            "technique": np.repeat([technique for technique, _ in names], runs),
            "metric": np.repeat([metric for _, metric in names], runs),
            "run": np.tile(np.arange(runs), len(names)),
            "value": generator.normal(np.repeat(level, runs), 0.01),
        }
    )
    frame.sample(frac=1, random_state=0).to_csv(path, index=False)


def ours(path: Path, test: str = "permutation") -> dict[tuple[str, str], tuple[float, ...]]:
    result = equipoise.evidence(
        path, technique="technique", metric="metric", run="run", value="value", baseline=BASE, performance="metric 0",
        test=test,
    )  # fmt: skip
    return {
        (record.technique, record.metric): tuple(getattr(record, name) for name in NUMBERS)
        for record in result.records
        if record.verdict is not None
    }


def naive(path: Path) -> dict[tuple[str, str], tuple[float, ...]]:
    frame = pd.read_csv(path)
    values = {name: group["value"].to_numpy() for name, group in frame.groupby(["technique", "metric"])}
    found = {}
    for (technique, metric), x in values.items():
        if technique != BASE:
            y = values[BASE, metric]
            d = (x.mean() - y.mean()) / math.sqrt((x.var(ddof=1) + y.var(ddof=1)) / 2)
            p, levene = stats.mannwhitneyu(x, y).pvalue, stats.levene(x / x.mean(), y / y.mean()).pvalue
            found[technique, metric] = (x.mean(), x.std(ddof=1), p, d, levene)
    adjusted = stats.false_discovery_control([numbers[2] for numbers in found.values()])
    return {
        name: (mean, stdev, p, q, d, levene)
        for (name, (mean, stdev, p, d, levene)), q in zip(found.items(), adjusted, strict=True)
    }


def check_permutation(path: Path, found: dict[tuple[str, str], tuple[float, ...]], comparisons: int = 8) -> None:
    """Compare some p-values with scipy's: the larger of Welch's p and its permutation version's, within its error."""
    frame = pd.read_csv(path)
    values = {name: group["value"].to_numpy() for name, group in frame.groupby(["technique", "metric"])}
    unclear = sorted(found, key=lambda name: abs(math.log(found[name][2] / 0.05)))[:comparisons]
    for technique, metric in unclear:
        x, y = values[technique, metric], values[BASE, metric]
        draws = stats.PermutationMethod(n_resamples=4_999, rng=np.random.default_rng(0))
        p = max(stats.ttest_ind(x, y, equal_var=False, **how).pvalue for how in ({}, {"method": draws}))
        mine = found[technique, metric][2]
        assert abs(mine - p) < 5 * math.hypot(mine / math.sqrt(20), math.sqrt(p / 5_000)), (technique, metric, mine, p)


def seconds(judge, path: Path, times: int) -> tuple[float, dict]:
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        found = judge(path)
        durations.append(time.perf_counter() - start)
    return statistics.median(durations), found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="a tenth of the techniques")
    techniques = 20 if parser.parse_args().small else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.csv"
        write(path, techniques, 10, 16)
        ours(path)
        fast, found = seconds(ours, path, 5)
        ranks, mine = seconds(lambda file: ours(file, "mann-whitney"), path, 5)
        slow, theirs = seconds(naive, path, 1)
        check_permutation(path, found)
    assert mine.keys() == theirs.keys()
    for name, numbers in theirs.items():
        assert np.allclose(mine[name], numbers, rtol=1e-9, atol=0), (name, mine[name], numbers)
    print(f"{techniques} techniques, 10 metrics, 16 runs: {len(mine):,} comparisons, numbers compared and equal")
    print(f"equipoise, permutation: {fast:.2f} s (limit {LIMIT:.0f})")
    print(f"equipoise, Mann-Whitney: {ranks:.2f} s   scipy in a loop over pandas groups: {slow:.2f} s")
    print(f"ratio: {slow / ranks:.1f}")


if __name__ == "__main__":
    main()
