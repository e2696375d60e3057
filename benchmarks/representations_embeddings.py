"""Claim: an embedding is judged without its pairs. Recall@1 and NMI of 50,000 rows (width 128, 200 classes) at least 2
times faster than pytorch-metric-learning's calculator with faiss at k="max_bin_count", in at most a quarter of its
memory; alignment over all pairs of 100,000 rows at least 3,000 times faster than a blocked loop, equal to 1e-6.

Run it as: python benchmarks/representations_embeddings.py [--small]
Both sides run in processes of their own, on the same points (seed 0), after a small run that loads every library.
Without pytorch-metric-learning and faiss the other side is scikit-learn, and that is said.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

WIDTH, CLASSES = 128, 200


def clusters_of_points(rows: int, classes: int, noise: float = 2.2) -> tuple[np.ndarray, np.ndarray]:
    """Points around a centre for each class, on the unit sphere, in float32 throughout: half find their class."""
    generator = np.random.default_rng(0)
    target = generator.integers(0, classes, rows)
    centres = generator.standard_normal((classes, WIDTH), dtype=np.float32)
    points = generator.standard_normal((rows, WIDTH), dtype=np.float32)
    for start in range(0, rows, 1000):  # in small steps, so that making them leaves no mark on the peak of memory
        block = points[start : start + 1000]
        block *= np.float32(noise)
        block += centres[target[start : start + 1000]]
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return points, target


def ours(points: np.ndarray, target: np.ndarray) -> dict[str, float]:
    from equipoise.measures import get_measure
    from equipoise.tallies import embed

    embedded = embed(points, target)
    return {
        "recall": get_measure("recall_at_k").from_counts(embedded),
        "NMI": get_measure("normalised_mutual_information").from_counts(embedded),
    }


def metric_learning(points: np.ndarray, target: np.ndarray) -> dict[str, float]:
    import torch
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    calculator = AccuracyCalculator(
        include=("precision_at_1", "NMI"), k="max_bin_count", device=torch.device("cpu"), return_per_class=False
    )
    found = calculator.get_accuracy(torch.from_numpy(points), torch.from_numpy(target))
    return {"recall": float(found["precision_at_1"]), "NMI": float(found["NMI"])}


def scikit_learn(points: np.ndarray, target: np.ndarray) -> dict[str, float]:
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score
    from sklearn.neighbors import NearestNeighbors

    number = int(np.bincount(target).max())
    near = NearestNeighbors(n_neighbors=number + 1, algorithm="brute").fit(points).kneighbors(return_distance=False)
    clusters = KMeans(len(np.unique(target)), n_init=1, random_state=0).fit(points).labels_
    return {
        "recall": float((target[near[:, 0]] == target).mean()),
        "NMI": float(normalized_mutual_info_score(target, clusters)),
    }


SIDES = {"equipoise": ours, "pytorch-metric-learning with faiss": metric_learning, "scikit-learn": scikit_learn}


def most_memory() -> float:
    """The most memory this program has held, in MB: getrusage would count what the process was before it became it."""
    with Path("/proc/self/status").open() as lines:
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def child(side: str, rows: int, classes: int) -> None:
    """Run one side and print what it took; memory is the most the process ever held."""
    SIDES[side](*clusters_of_points(1000, 10))
    points, target = clusters_of_points(rows, classes)
    before = most_memory()
    start, worked = time.perf_counter(), time.process_time()
    found = SIDES[side](points, target)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    memory = {"peak": most_memory(), "grown": most_memory() - before}
    print(json.dumps({**found, "seconds": seconds, "worked": worked, **memory}))


def in_a_child(side: str, rows: int, classes: int) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__)), "--child", side, "--rows", str(rows), "--classes", str(classes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def retrieval(rows: int, classes: int) -> None:
    there = all(importlib.util.find_spec(module) for module in ("pytorch_metric_learning", "faiss"))
    other = "pytorch-metric-learning with faiss" if there else "scikit-learn"
    if not there:
        print("pytorch-metric-learning and faiss are not installed: the other side is scikit-learn")
    mine, theirs = in_a_child("equipoise", rows, classes), in_a_child(other, rows, classes)
    assert abs(mine["recall"] - theirs["recall"]) < 1e-4, (mine, theirs)
    print(f"recall@1 and NMI of {rows:,} rows, width {WIDTH}, {classes} classes")
    for side, found in (("equipoise", mine), (other, theirs)):
        print(
            f"  {side}: {found['seconds']:.2f} s ({found['worked']:.1f} s of the processors), {found['peak']:,.0f} MB "
            f"in all, {found['grown']:,.0f} MB of them for this; recall@1 {found['recall']:.5f}, NMI {found['NMI']:.4f}"
        )
    ratios = {name: theirs[name] / max(mine[name], 0.1) for name in ("seconds", "worked", "peak", "grown")}
    print(
        f"ratio: {ratios['seconds']:.1f} in time, {ratios['worked']:.1f} in processor time, {ratios['peak']:.1f} in "
        f"memory, {ratios['grown']:.1f} in what memory grew"
    )


def pairwise_loop(points: np.ndarray, target: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Definition 2 by every pair of rows, a block of rows against all: ``[intra or inter, group]``."""
    exact = points.astype(np.float64)
    norms = np.einsum("ij,ij->i", exact, exact)
    member = np.eye(groups)[group]
    sums, numbers = np.zeros((2, groups, groups)), np.zeros((2, groups, groups))
    step = max(1, 40_000_000 // len(points) // 8)
    for start in range(0, len(points), step):
        here = slice(start, start + step)
        apart = exact[here] @ exact.T
        apart *= -2
        apart += norms[here, None]
        apart += norms
        same = target[here, None] == target
        within = np.where(same, apart, 0.0) @ member
        sums[0] += member[here].T @ within
        sums[1] += member[here].T @ (apart @ member - within)
        counted = same.astype(np.float32) @ member.astype(np.float32)
        numbers[0] += member[here].T @ counted
        numbers[1] += member[here].T @ (member.sum(axis=0) - counted)
    numbers[0] -= np.diag(member.sum(axis=0))  # a row is no pair with itself
    # Pairs with at least one in a: those with the others once, and those inside a, which were met from both ends.
    total, number = (table.sum(axis=2) - np.einsum("xii->xi", table) / 2 for table in (sums, numbers))
    return total / number


def closed_form(points: np.ndarray, target: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    from equipoise.measures import get_measure
    from equipoise.tallies import (
        Coded,
        EmbeddingSpace,
        EmbeddingTally,
    )

    classes = Coded(target, tuple(str(place) for place in range(int(target.max()) + 1)))
    embedded = EmbeddingTally(EmbeddingSpace(points, classes), group, tuple(str(place) for place in range(groups)))
    return np.stack([get_measure(f"{part}_class_alignment").by_class(embedded) for part in ("intra", "inter")])


def alignment(rows: int, classes: int, groups: int = 4) -> None:
    points, target = clusters_of_points(rows, classes)
    group = np.random.default_rng(1).integers(0, groups, rows)
    closed_form(points[:1000], target[:1000], group[:1000], groups)
    durations = []
    for _ in range(7):
        start = time.perf_counter()
        fast = closed_form(points, target, group, groups)
        durations.append(time.perf_counter() - start)
    mine = sorted(durations)[3]
    start = time.perf_counter()
    slow = pairwise_loop(points, target, group, groups)
    loop = time.perf_counter() - start
    assert np.allclose(fast, slow, rtol=1e-6, atol=0), (fast, slow)
    off = float(np.abs(fast / slow - 1).max())
    print(
        f"alignment (intra and inter, {groups} groups) over all pairs of {rows:,} rows, width {WIDTH}; off by {off:.0e}"
    )
    print(f"  equipoise: {1000 * mine:.1f} ms (median of 7)   blocked pairwise loop: {loop:,.1f} s")
    print(f"ratio: {loop / mine:,.0f}")


def run(small: bool) -> None:
    """Both claims, at full size or at a size for CI."""
    retrieval(3_000 if small else 50_000, 20 if small else CLASSES)
    alignment(4_000 if small else 100_000, CLASSES)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="sizes for CI: it must run, the ratios decide nothing")
    parser.add_argument("--child", choices=list(SIDES), help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, default=50_000, help=argparse.SUPPRESS)
    parser.add_argument("--classes", type=int, default=CLASSES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.rows, given.classes)
    else:
        run(given.small)


if __name__ == "__main__":
    main()
