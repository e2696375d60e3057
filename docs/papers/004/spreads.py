"""Compare how far runs lie apart: of the arms, of two precisions, of seeds and reruns of a seed.

    python docs/papers/004/spreads.py out/c004 docs/papers/004/spreads.json

The folder holds PLAN.db and PLAN.json (``equipoise study report PLAN --json``) of the plans beside this file. Churn is
the share of test rows that two runs predict differently. Intervals are of 90 %, so that an interval within a margin
shows two arms to be equivalent: of churn over runs (jackknife) and pictures, of a ratio of standard deviations over
runs (drawn again), of the part that seeds have in a variance by the F distribution.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from equipoise.studies import Trial, read_plan
from equipoise.studies.storage import open_store

PLANS = Path(__file__).parent
PAIRS = {
    "cpu-jitter:gpu-native": ("arms-cpu-jitter", "arms-gpu-native"),
    "gpu-jitter:gpu-native": ("arms-gpu-deterministic-jitter", "arms-gpu-native"),
    "cpu-jitter:gpu-jitter": ("arms-cpu-jitter", "arms-gpu-deterministic-jitter"),
    "float32:tf32": ("float32", "cifar10s"),
}
CONTROL, NESTED = "untreated", "nested"
MEASURES = ("accuracy", "DI", "BA", "EOTP")
LEVEL, DRAWS, DIGITS, MARGIN = 0.90, 10_000, 6, 0.01
NORMAL = float(stats.norm.ppf(0.5 + LEVEL / 2))

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
# What the runs of a technique say, by seed: values of a measure, or predictions [run, row].
BySeed = dict[int, Any]


def main(folder: Path, target: Path) -> dict[str, Any]:
    """Read, compare and write."""
    said: dict[str, dict[str, BySeed]] = {}
    values: dict[str, dict[str, dict[str, BySeed]]] = {}
    cluster: Codes = np.zeros(0, dtype=np.int64)
    for plan in dict.fromkeys([*(one for pair in PAIRS.values() for one in pair), NESTED]):
        said[plan], cluster = predictions_of(plan, folder)
        values[plan] = values_of(json.loads((folder / f"{plan}.json").read_text(encoding="utf-8")))
    found = {
        "level": LEVEL, "margin": MARGIN,
        "pairs": {name: {"churn": churn_compared([said[one][CONTROL][0] for one in pair], cluster),
                         "measures": {measure: spread_compared([values[one][CONTROL][measure][0] for one in pair])
                                      for measure in MEASURES}} for name, pair in PAIRS.items()},
        "repeating": repeating(folder),
        "nested": {name: {"churn": churn_by_seed(said[NESTED][name]),
                          "measures": {measure: seeds_and_reruns(own[measure])
                                       | beside_control(own[measure], values[NESTED][CONTROL][measure])
                                       for measure in MEASURES}} for name, own in values[NESTED].items()},
    }  # fmt: skip
    target.write_text(json.dumps(rounded(found), indent=1) + "\n", encoding="utf-8")
    return found


def predictions_of(plan: str, folder: Path) -> tuple[dict[str, BySeed], Codes]:
    """Return the test predictions of each technique by seed, ``[run, row]``, and which rows are of one picture."""
    read = read_plan(PLANS / f"{plan}.toml")
    with read.located():
        study = read.study()
    trials = study.trials()
    with open_store(str(folder / f"{plan}.db"), create=False, read_only=True, plan=study.name) as store:
        kept = store.predictions_of([trial.key for trial in trials], "test", scores=False)
    found: dict[str, dict[int, list[Any]]] = {}
    for trial in trials:
        found.setdefault(technique_of(trial), {}).setdefault(trial.seed, []).append(kept[trial.key].values)
    cluster = study.labels.of("test").cluster
    assert cluster is not None
    return {name: {seed: np.stack(runs) for seed, runs in own.items()} for name, own in found.items()}, cluster


def technique_of(trial: Trial) -> str:
    """Name a technique as shorten.py does: ``domain_independent:sum``."""
    readout = trial.treatments[0].settings.get("readout")
    return f"{trial.treatment}:{readout}" if readout else trial.treatment


def values_of(report: Mapping[str, Any]) -> dict[str, dict[str, BySeed]]:
    """Return what each run of a report measured, by technique, measure and seed."""
    found: dict[str, dict[str, BySeed]] = {}
    for row in report["identical_runs"]:
        own = found.setdefault(row["treatment"].replace(": ", ":"), {})
        own.setdefault(row["alias"] or row["measure"], {})[row["seed"]] = np.array(row["values"])
    return found


def churn_compared(arms: Sequence[Codes], cluster: Codes) -> dict[str, Any]:
    """Compare the churn of two arms, on the same pictures; ``across`` is that between a run of each."""
    rows = [disagreement(arm) for arm in arms]
    _, picture = np.unique(cluster, return_inverse=True)
    apart = np.bincount(picture, weights=rows[0] - rows[1]) / np.bincount(picture)
    error = np.sqrt(np.var(apart, ddof=1) / len(apart) + sum(jackknife(arm) for arm in arms))
    difference = float(rows[0].mean() - rows[1].mean())
    low, high = difference - NORMAL * error, difference + NORMAL * error
    return {
        "first": rows[0].mean(), "second": rows[1].mean(), "difference": difference, "low": low, "high": high,
        "equivalent": bool(low > -MARGIN and high < MARGIN),
        "across": np.mean([(a != b).mean() for a in arms[0] for b in arms[1]]),
    }  # fmt: skip


def disagreement(said: Codes) -> Floats:
    """Return for each row the share of pairs of runs that differ."""
    pairs: Floats = np.mean([said[a] != said[b] for a, b in combinations(range(len(said)), 2)], axis=0)
    return pairs


def jackknife(said: Codes) -> float:
    """Return the variance of an arm's churn over runs."""
    runs = len(said)
    apart = np.array([[(a != b).mean() for b in said] for a in said])
    without = [np.delete(np.delete(apart, run, 0), run, 1).sum() / ((runs - 1) * (runs - 2)) for run in range(runs)]
    return float((runs - 1) * np.var(without))


def repeating(folder: Path) -> dict[str, float]:
    """Compare what a CPU says, which repeats itself, with what a deterministic GPU does; beside it, their own churn."""
    cpu, gpu = (predictions_of(f"arms-{one}", folder)[0][CONTROL][0] for one in ("cpu-native", "gpu-deterministic"))
    return {"across": float((cpu[0] != gpu[0]).mean()), "cpu": float(disagreement(cpu).mean()),
            "gpu": float(disagreement(gpu).mean())}  # fmt: skip


def spread_compared(arms: Sequence[Floats]) -> dict[str, Any]:
    """Compare the standard deviations of two arms; the test is Levene's about the median (Brown and Forsythe)."""
    generator = np.random.default_rng(0)
    drawn = [arm[generator.integers(0, len(arm), (DRAWS, len(arm)))].std(axis=1, ddof=1) for arm in arms]
    low, high = np.quantile(drawn[0] / drawn[1], [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    deviations = [float(arm.std(ddof=1)) for arm in arms]
    return {
        "means": [float(arm.mean()) for arm in arms], "stdevs": deviations,
        "ratio": deviations[0] / deviations[1], "low": low, "high": high, "p": stats.levene(*arms).pvalue,
        "p_means": stats.mannwhitneyu(*arms).pvalue,
    }  # fmt: skip


def churn_by_seed(said: BySeed) -> dict[str, float]:
    """Return the churn between runs of one seed, and between runs of two seeds."""
    within = [disagreement(runs).mean() for runs in said.values()]
    between = [(a != b).mean() for one, two in combinations(said.values(), 2) for a in one for b in two]
    return {"within": np.mean(within), "lowest_seed": min(within), "highest_seed": max(within),
            "between": np.mean(between)}  # fmt: skip


def seeds_and_reruns(own: BySeed) -> dict[str, float]:
    """Return the part that seeds have in the variance of runs, and the p of the F test that they have none."""
    runs = np.stack([own[seed] for seed in sorted(own)])
    seeds, reruns = runs.shape
    inside = runs.var(axis=1, ddof=1).mean()
    ratio = reruns * runs.mean(axis=1).var(ddof=1) / inside
    freedom = (seeds - 1, seeds * (reruns - 1))
    low, high = (ratio / stats.f.ppf(0.5 + side * LEVEL / 2, *freedom) for side in (1, -1))
    # Of a ratio F the part is (F - 1) / (F + reruns - 1); a negative estimate is 0.
    part, low, high = (max(float((one - 1) / (one + reruns - 1)), 0.0) for one in (ratio, low, high))
    return {"seeds_part": part, "seeds_low": low, "seeds_high": high, "p": float(stats.f.sf(ratio, *freedom))}


def beside_control(own: BySeed, control: BySeed) -> dict[str, Any]:
    """Return the mean of each seed, its change from the control's, and of how many seeds it is lower."""
    change = {str(seed): float(own[seed].mean() - control[seed].mean()) for seed in sorted(own)}
    return {
        "mean": {str(seed): float(own[seed].mean()) for seed in sorted(own)}, "change": change,
        "lower": sum(one < 0 for one in change.values()), "smallest": min(change.values()),
        "largest": max(change.values()),
    }  # fmt: skip


def rounded(value: Any) -> Any:
    """Return numbers with fewer digits."""
    if isinstance(value, Mapping):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(float(value), DIGITS) if isinstance(value, float | np.floating) else value


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
