"""Claim: a full audit with its page, 1,000,000 rows, 50 groups, 2,000 draws, in under 5 s on two cores after imports.

It is made twice: of predictions, and of predictions with a score (histograms, thresholds, calibration, AUC).

The naive way beside it: fairlearn's MetricFrame for three rates on the same rows, without any draw, test or page.

Run it as: python benchmarks/full_audit.py [--rows N]
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate

import equipoise

RATES = {"selection": selection_rate, "tpr": true_positive_rate, "fpr": false_positive_rate}


def people(rows: int) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    target = generator.integers(0, 2, rows)
    return pd.DataFrame(
        {
            "group": generator.choice([f"group {number}" for number in range(50)], rows),
            "target": target,
            "prediction": np.where(generator.random(rows) < 0.8, target, 1 - target),
            "score": np.clip(0.3 * target + 0.7 * generator.random(rows), 0.0, 1.0),
        }
    )


def audit(frame: pd.DataFrame, path: Path, score: str | None = None) -> equipoise.AuditResult:
    result = equipoise.audit(
        frame, target="target", prediction="prediction", score=score, favourable=1, sensitive_features=["group"]
    )
    result.report(path)
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    frame = people(parser.parse_args().rows)
    warnings.simplefilter("ignore")
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for score in (None, "score"):
            audit(people(5000), Path(folder) / "warm.html", score)
            start = time.perf_counter()
            result = audit(frame, Path(folder) / "audit.html", score)
            seconds[score] = time.perf_counter() - start
            size = (Path(folder) / "audit.html").stat().st_size
            tests = sum(record.p is not None for record in result.records)
            print(
                f"{len(frame):,} rows, 50 groups, {'with' if score else 'without'} a score: {tests} tests, 2,000 draws "
                f"and a page of {size / 1e6:.1f} MB in {seconds[score]:.2f} s"
            )
    start = time.perf_counter()
    MetricFrame(metrics=RATES, y_true=frame["target"], y_pred=frame["prediction"], sensitive_features=frame["group"])
    theirs = time.perf_counter() - start
    print(f"fairlearn, three rates by group and nothing else: {theirs:.2f} s")
    print(f"ratio: {theirs / seconds[None]:.1f}")


if __name__ == "__main__":
    main()
