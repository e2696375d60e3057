"""How often evidence over runs is wrong, through the public functions.

The long version, on many cores, writes its tables as JSON:

    python tests/simulations/test_evidence.py --simulations 2000 --json OUT --workers 16

A share from n simulations has a Monte Carlo error of sqrt(share (1 - share) / n), told in each row.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.audits.evidence import EvidenceRecord

pytestmark = pytest.mark.long

Row = dict[str, Any]

# Comparisons that are judged in one call, each with a baseline of its own.
AT_ONCE = 200
SHAPES = [(5, 5, 1.0), (5, 5, 3.0), (5, 16, 1.0), (5, 16, 3.0), (16, 5, 3.0), (16, 16, 1.0), (16, 16, 3.0)]
TESTS = ("permutation", "mann-whitney", "brunner-munzel")


def row(hits: int, simulations: int, **said: Any) -> Row:
    share = hits / simulations
    error = math.sqrt(max(share * (1 - share), 1e-9) / simulations)
    return {**said, "simulations": simulations, "share": share, "monte_carlo_error": error}


def judged(x: np.ndarray, y: np.ndarray, **options: Any) -> list[EvidenceRecord]:
    """Judge samples ``[comparison, run]``, each against a baseline of its own, without a correction."""
    rows = [
        (f"{side}{index}", f"base{index}", "DP", run, float(value))
        for side, samples in (("t", x), ("base", y))
        for index, sample in enumerate(samples)
        for run, value in enumerate(sample)
    ]
    names = ("technique", "of", "metric", "run", "value")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    result = equipoise.evidence(columns, baseline_column="of", correction="none", **options)
    return [record for record in result.records if record.verdict is not None]


def batches(simulations: int) -> list[int]:
    whole, rest = divmod(simulations, AT_ONCE)
    return [AT_ONCE] * whole + [rest] * bool(rest)


def type_one(simulations: int, seed: int = 0, *, n: int, m: int, ratio: float, **options: Any) -> Row:
    """Verdicts "lower" or "higher" where both sides have the same mean, and the first ratio times the spread."""
    generator = np.random.default_rng([seed, n, m, int(10 * ratio)])
    hits = 0
    for size in batches(simulations):
        x, y = generator.normal(0.3, 0.01 * ratio, (size, n)), generator.normal(0.3, 0.01, (size, m))
        hits += sum(record.verdict in ("lower", "higher") for record in judged(x, y, **options))
    return row(hits, simulations, what="type I error", runs=n, baseline_runs=m, spread_ratio=ratio, **options)


def paired_type_one(simulations: int, seed: int = 0, *, n: int) -> Row:
    """The same of pairs: seeds move both sides alike, and differences are skewed."""
    generator = np.random.default_rng([seed, n])
    hits = 0
    for _ in range(simulations):
        shared = generator.normal(0.3, 0.05, n)
        sides = [shared + 0.01 * (generator.exponential(1.0, n) - 1.0), shared]
        rows = [(name, "DP", run, run, float(value))
                for name, side in zip(("t", "base"), sides, strict=True) for run, value in enumerate(side)]  # fmt: skip
        names = ("technique", "metric", "run", "seed", "value")
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        [record] = equipoise.evidence(columns, baseline="base", pair="seed").find(technique="t")
        hits += record.verdict in ("lower", "higher")
    return row(hits, simulations, what="type I error of pairs, skewed", pairs=n)


def equivalence(simulations: int, seed: int = 0, *, n: int, true: float, margin: float = 0.02) -> Row:
    """Differences called equivalent: at the margin itself that is an error, at 0 it is the power."""
    generator = np.random.default_rng([seed, n, int(1e4 * true)])
    hits = 0
    for size in batches(simulations):
        x, y = generator.normal(0.3 + true, 0.02, (size, n)), generator.normal(0.3, 0.01, (size, n))
        hits += sum(bool(record.equivalent) for record in judged(x, y, margin=margin))
    return row(hits, simulations, what="called equivalent", runs=n, true_difference=true, margin=margin)


def relative_spread_cost(simulations: int, seed: int = 0, *, spread: str) -> Row:
    """Costs charged to a technique that halves a bias and leaves its standard deviation alone."""
    generator = np.random.default_rng(seed)
    hits = 0
    for size in batches(simulations):
        x, y = generator.normal(0.05, 0.01, (size, 16)), generator.normal(0.10, 0.01, (size, 16))
        hits += sum("metric variance higher" in record.costs for record in judged(x, y, spread=spread))
    return row(hits, simulations, what="metric variance higher, of halved biases of the same spread", spread=spread)


def components(simulations: int, seed: int = 0, *, sizes: Sequence[int], seeds: float, reruns: float) -> Row:
    """Coverage of the 95% intervals of the spreads over seeds and over reruns."""
    from equipoise.stats import variance_components

    generator = np.random.default_rng([seed, *sizes])
    y = np.concatenate([
        generator.normal(0.0, seeds, (1, simulations)) + generator.normal(0.0, reruns, (size, simulations))
        for size in sizes
    ])  # fmt: skip
    found = variance_components(y, np.repeat(np.arange(len(sizes)), sizes))
    covered = (found.seeds_low <= seeds**2) & (seeds**2 <= found.seeds_high)
    inner = (found.reruns_low <= reruns**2) & (reruns**2 <= found.reruns_high)
    made = row(int(covered.sum()), simulations, what="coverage of the variance over seeds", reruns_of_seeds=list(sizes),
               seeds=seeds, reruns=reruns)  # fmt: skip
    return {**made, "share_reruns": float(inner.mean())}


def clustered_coverage(simulations: int, seed: int = 0, *, clusters: int, rows: int = 10, rate: float = 0.1) -> Row:
    """Coverage of the 95% interval of a rate of clustered rows (intra-cluster correlation 0.5), in an audit."""
    generator = np.random.default_rng([seed, clusters, rows])
    covered = told = 0
    for _ in range(simulations):
        probability = generator.beta(rate, 1 - rate, 2 * clusters)  # a + b = 1: a correlation of 1 / 2
        picked = generator.random((2 * clusters, rows)) < probability[:, None]
        cluster = np.repeat(np.arange(2 * clusters), rows)
        data = {"person": cluster, "group": np.where(cluster < clusters, "a", "b"), "p": picked.reshape(-1).astype(int)}
        if picked.all() or not picked.any():
            continue
        result = equipoise.audit(
            data, prediction="p", sensitive_features="group", cluster="person", favourable="1", draws=50
        )
        for group in ("a", "b"):
            [record] = result.find("selection_rate", attribute=("group",), group=group, class_="1", scope="class")
            told += 1
            covered += record.low is not None and record.high is not None and record.low <= rate <= record.high
    return row(covered, max(told, 1), what="coverage of a clustered rate", clusters=clusters, rows=rows, rate=rate)


def tasks(simulations: int) -> list[Callable[[], Row]]:
    made: list[Callable[[], Row]] = []
    for n, m, ratio in SHAPES:
        made += [partial(type_one, simulations, n=n, m=m, ratio=ratio, test=test) for test in TESTS]
    made += [partial(type_one, simulations, n=8, m=8, ratio=1.0, alternative="observed")]
    made += [partial(paired_type_one, simulations, n=n) for n in (6, 12)]
    made += [partial(equivalence, simulations, n=n, true=true) for n in (5, 16) for true in (0.02, 0.0)]
    made += [partial(clustered_coverage, simulations // 2, clusters=k, rows=n) for k in (8, 20, 50) for n in (10, 50)]
    made += [partial(relative_spread_cost, simulations, spread=spread) for spread in ("relative", "absolute")]
    for sizes, seeds, reruns in (
        ((4,) * 5, 1.0, 1.0),
        ((4,) * 5, 0.2, 1.0),
        ((2,) * 12, 1.0, 0.2),
        ((1, 2, 4, 4, 7), 1.0, 1.0),
    ):
        made.append(partial(components, simulations, sizes=sizes, seeds=seeds, reruns=reruns))
    return made


def _called(task: Callable[[], Row]) -> Row:
    return task()


def simulate(simulations: int = 2_000, workers: int = 1) -> list[Row]:
    """Return every table, a row each."""
    todo = tasks(simulations)
    if workers < 2:
        return [task() for task in todo]
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(_called, todo))


def at_most(found: Row, nominal: float, errors: float = 3.0) -> bool:
    """Tell whether a share is nominal or below, but for so many Monte Carlo errors."""
    return bool(found["share"] <= nominal + errors * math.sqrt(nominal * (1 - nominal) / found["simulations"]))


@pytest.mark.parametrize(("n", "m", "ratio"), [(5, 5, 3.0), (5, 16, 3.0), (16, 16, 1.0)])
def test_the_usual_test_keeps_its_error_rate_where_spreads_differ(n: int, m: int, ratio: float) -> None:
    found = type_one(1_000, n=n, m=m, ratio=ratio, test="permutation")
    assert at_most(found, 0.055), found
    assert found["share"] > 0.02


def test_mann_whitney_does_not() -> None:
    found = type_one(1_000, n=5, m=16, ratio=3.0, test="mann-whitney")
    assert found["share"] > 0.07, found  # so the check above can fail


def test_the_observed_direction_has_twice_the_error_rate() -> None:
    found = type_one(1_000, n=8, m=8, ratio=1.0, alternative="observed")
    assert at_most(found, 0.10)
    assert found["share"] > 0.07


def test_no_more_than_five_in_a_hundred_differences_at_the_margin_are_called_equivalent() -> None:
    assert at_most(equivalence(1_000, n=5, true=0.02), 0.05)
    assert equivalence(400, n=16, true=0.0)["share"] > 0.5


def test_halving_a_bias_costs_nothing() -> None:
    assert relative_spread_cost(400, spread="relative")["share"] > 0.4
    assert at_most(relative_spread_cost(400, spread="absolute"), 0.025)


@pytest.mark.parametrize("sizes", [(4,) * 5, (1, 2, 4, 4, 7)])
def test_intervals_of_variance_components_cover(sizes: tuple[int, ...]) -> None:
    found = components(4_000, sizes=sizes, seeds=1.0, reruns=0.5)
    assert found["share"] == pytest.approx(0.95, abs=0.015)
    assert found["share_reruns"] == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("clusters", [8, 20])
def test_rates_of_few_clusters_are_covered(clusters: int) -> None:
    found = clustered_coverage(60, clusters=clusters)
    assert found["share"] >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / found["simulations"]), found


@pytest.mark.slow
def test_the_long_version_holds() -> None:
    for found in simulate(2_000):
        if found["what"] == "type I error" and found.get("test") == "permutation":
            assert at_most(found, 0.06), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = simulate(given.simulations, given.workers)
    for one in found:
        sys.stdout.write(json.dumps(one) + "\n")
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
