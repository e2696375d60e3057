"""Evidence of every shape, as the tests of its page need it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

import equipoise
from equipoise.audits.evidence import EvidenceResult
from helpers.cases.report import HOSTILE

NAMES = {"technique": "technique", "metric": "metric", "run": "run", "value": "value"}
# Mean and spread of the baseline, and what each technique adds to the one and multiplies the other by.
BASE = {"DP": (0.30, 0.010), "DI": (0.42, 0.020), "EOTP": (0.12, 0.012), "accuracy": (0.90, 0.002)}
CHANGES: dict[str, dict[str, tuple[float, float]]] = {
    "untreated": {},
    "reweighting": {"DP": (-0.03, 2), "DI": (-0.06, 1.5), "accuracy": (-0.01, 1)},
    "adversarial": {"DP": (-0.02, 5), "DI": (0.05, 3), "accuracy": (-0.004, 4)},
    "undersampling": {"DP": (-0.05, 1), "DI": (-0.1, 0.3), "EOTP": (-0.03, 1), "accuracy": (-0.05, 2)},
    "domain independent": {"EOTP": (-0.004, 1)},
    "thresholds": {"DP": (-0.20, 0.5), "EOTP": (0.05, 1)},
}

Rows = Iterator[tuple[str, str, str, float]]


def columns(rows: Rows) -> dict[str, list[object]]:
    return dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))


def drawn(changes: Mapping[str, Mapping[str, tuple[float, float]]], runs: int) -> Rows:
    generator = np.random.default_rng(runs)
    for technique, change in changes.items():
        for metric, (mean, spread) in BASE.items():
            shift, times = change.get(metric, (0.0, 1.0))
            for run, value in enumerate(generator.normal(mean + shift, spread * times, runs)):
                yield technique, metric, str(run), float(value)


@cache
def plain() -> EvidenceResult:
    """Five techniques, four metrics, 16 runs of each."""
    return equipoise.evidence(columns(drawn(CHANGES, 16)), **NAMES, baseline="untreated", performance="accuracy")


@cache
def few() -> EvidenceResult:
    """Too few runs to decide anything, and no performance."""
    return equipoise.evidence(columns(drawn(CHANGES, 3)), **NAMES, baseline="untreated")


@cache
def odd() -> EvidenceResult:
    """Two baselines, one run, no spread, a missing metric, a mean of 0, and huge numbers."""
    table: dict[str, dict[str, list[float]]] = {
        "base one": {"DP": [0.5] * 6, "far": [1e12, 2e12, 3e12, 4e12, 5e12, 6e12]},
        "constant": {"DP": [0.25] * 6, "far": [9e12] * 6},
        "once": {"DP": [0.3]},
        "base two": {"DP": [-0.1, 0.1, -0.2, 0.2, -0.3, 0.3], "far": [1.0, 2, 3, 4, 5, 6]},
        "same": {"DP": [-0.1, 0.1, -0.2, 0.2, -0.3, 0.3], "far": [1.0, 2, 3, 4, 5, 60]},
    }
    above = {"constant": "base one", "once": "base one", "same": "base two"}
    rows = columns(
        (technique, metric, str(run), value)
        for technique, metrics in table.items()
        for metric, values in metrics.items()
        for run, value in enumerate(values)
    )
    baselines = [above.get(str(technique), technique) for technique in rows["technique"]]
    return equipoise.evidence({**rows, "baseline": baselines}, **NAMES, baseline_column="baseline", performance="far")


@cache
def classes() -> EvidenceResult:
    """Told class by class; some classes flip, two of them from 0 % to 100 %."""
    generator = np.random.default_rng(8)
    rows = [
        (technique, metric, str(run), float(np.clip(generator.normal(level, 0.06 + 2.0 * (index == 3)), 0, 1)), name)
        for technique, level in (("untreated", 0.25), ("reweighting", 0.18), ("adversarial", 0.3))
        for metric in ("DP", "EOTP")
        for index, name in enumerate(("cat", "dog", "ship", "<b>truck</b>"))
        for run in range(12)
    ]
    table = {name: [row[index] for row in rows] for index, name in enumerate((*NAMES, "class"))}
    return equipoise.evidence(table, **NAMES, baseline="untreated", by="class")


@cache
def hostile() -> EvidenceResult:
    """Names of techniques, metrics, runs and columns that try to run, to break out or to break the page."""
    generator = np.random.default_rng(2)
    techniques = [f"{name}{index}" for index, name in enumerate(HOSTILE)]
    rows = columns(
        (technique, metric, f"</script>{run}", float(value))
        for index, technique in enumerate(techniques)
        for metric in ("<b>DP</b> {{ 7*7 }}", "</script><script>window.injected = 2</script>", "a.b['c']")
        for run, value in enumerate(generator.normal(0.3 + 0.01 * index, 0.01, 6))
    )
    return equipoise.evidence(
        rows,
        **NAMES,
        baseline=techniques[0],
        performance="a.b['c']",
        command=["equipoise", "evidence", "</script><script>window.injected = 4</script>"],
    )


@cache
def many_runs() -> EvidenceResult:
    """More runs than a chart can hold."""
    return equipoise.evidence(columns(drawn(CHANGES, 1_000)), **NAMES, baseline="untreated", performance="accuracy")


@cache
def many_techniques() -> EvidenceResult:
    """200 techniques by 10 metrics by 16 runs."""
    generator = np.random.default_rng(3)
    rows = columns(
        (f"technique {technique} of a long name", f"metric {metric}", str(run), float(value))
        for technique in range(200)
        for metric in range(10)
        for run, value in enumerate(generator.normal(0.2 + 0.02 * generator.normal(), 0.01, 16))
    )
    return equipoise.evidence(
        rows, **NAMES, baseline="technique 0 of a long name", performance=["metric 0", "metric 1"]
    )


CASES = {
    "plain": plain, "few": few, "odd": odd, "classes": classes, "hostile": hostile, "many_runs": many_runs,
    "many_techniques": many_techniques,
}  # fmt: skip
