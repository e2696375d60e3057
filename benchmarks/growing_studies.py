"""Claim: a study that adds seeds until it is decided errs no more often than 5%, with 1 to 60 comparisons, and needs
fewer trainings than a fixed 20 seeds where effects are large.

Run it as: python benchmarks/growing_studies.py [--small] [--simulations N] [--json FILE]

Of every simulated study, m treatments are compared with one baseline over paired seeds; the baseline's draws are shared
by all of them. Seeds are normal, or skewed (lognormal on both sides). People add a shift to each change that all seeds
share, with a known standard error in multiples of that of 20 seeds. The rules are those of ``seeds = "auto"`` (looks at
5, 10, 15 and 20 pairs, Benjamini-Hochberg), its option ``anytime`` (Holm), 20 fixed seeds, and the mistake that both
replace: a fixed test that is read at every look. An error is a study with any comparison decided as different though
none is. Saved is the share of 20 trainings of each treatment (the baseline is trained as long as anything is open).
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.foundation import Floats
from equipoise.stats import (
    CORRECTIONS,
    LOOKS,
    SEEDS_SHARE,
    anytime_p,
    banerjee_p,
    looks_p,
)

THRESHOLD, MOST = 0.05, LOOKS[-1]
RULES = ("looks", "anytime", "fixed 20", "read at every look")


def drawn(
    simulations: int, comparisons: int, shape: str, ratio: float, effect: float, seed: int
) -> tuple[Floats, float]:
    """Return paired differences ``[study, treatment, seed]`` and the variance of people; effects in pairs' SDs."""
    generator = np.random.default_rng([seed, comparisons, int(100 * ratio), int(100 * effect), len(shape)])
    size = (simulations, comparisons + 1, MOST)
    values = generator.normal(size=size)
    if shape == "skewed":
        values = (np.exp(values) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)
    differences = (values[:, 1:] - values[:, :1]) / math.sqrt(2.0)
    people = (ratio / math.sqrt(MOST)) ** 2
    shift = math.sqrt(people) * generator.normal(size=(simulations, comparisons, 1))
    return differences + effect + shift, people


def p_of_looks(differences: Floats, people: float, rule: str) -> Floats:
    """Return p-values ``[look, study, treatment]`` of what is known at each look."""
    by_look = []
    for seeds in LOOKS:
        first = differences[..., :seeds]
        change, single = first.mean(axis=-1), first.var(axis=-1, ddof=1)
        if rule == "anytime":
            by_look.append(anytime_p(change, single, people, seeds, share=SEEDS_SHARE))
        else:
            variances = np.stack([single / seeds, np.full_like(single, people)], axis=-1)
            by_look.append(banerjee_p(change, variances, np.array([seeds - 1.0, np.inf])))
    nominal = np.stack(by_look)
    if rule == "fixed 20":
        return np.stack([*np.ones_like(nominal[:-1]), nominal[-1]])
    smallest = np.minimum.accumulate(nominal, axis=0)
    return looks_p(smallest) if rule == "looks" else smallest


def decided_at(p: Floats, rule: str) -> np.ndarray:
    """Return after how many looks each comparison is decided, ``[study, treatment]``; 0 where it never is.

    What is decided gets no more seeds: its p stays, and is corrected for with the others.
    """
    correction = CORRECTIONS["holm" if rule == "anytime" else "bh"]
    frozen, decided = p[0].copy(), np.zeros(p.shape[1:], dtype=np.int64)
    for look in range(len(LOOKS)):
        frozen = np.where(decided == 0, p[look], frozen)
        adjusted = np.stack([correction(row) for row in frozen])
        decided = np.where((decided == 0) & (adjusted <= THRESHOLD), look + 1, decided)
    return decided


def simulate(
    simulations: int, comparisons: int, shape: str, ratio: float, effect: float, seed: int = 0
) -> list[dict[str, Any]]:
    """Return a row for each rule: how often any comparison is decided, how many are, and how many seeds they take."""
    differences, people = drawn(simulations, comparisons, shape, ratio, effect, seed)
    rows = []
    for rule in RULES:
        decided = decided_at(p_of_looks(differences, people, rule), rule)
        seeds = np.where(decided > 0, np.array([MOST, *LOOKS])[decided], MOST)
        seeds = np.full_like(seeds, MOST) if rule == "fixed 20" else seeds
        any_decided = float((decided > 0).any(axis=1).mean())
        rows.append({
            "rule": rule, "comparisons": comparisons, "seeds": shape, "people": ratio, "effect": effect,
            "simulations": simulations, "any": any_decided,
            "error": math.sqrt(max(any_decided * (1 - any_decided), 0.05 * 0.95) / simulations),
            "decided": float((decided > 0).mean()), "pairs": float(seeds.mean()),
            "trainings_saved": 1 - float((seeds.sum(axis=1) + seeds.max(axis=1)).mean()) / (MOST * (comparisons + 1)),
        })  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true", help="few simulations: does it run?")
    parser.add_argument("--simulations", type=int, default=4000)
    parser.add_argument("--json", help="write the figures here")
    options = parser.parse_args()
    simulations = 200 if options.small else options.simulations
    rows: list[dict[str, Any]] = []
    print("no difference: studies with a false verdict (claimed: at most 5%, within 2 Monte Carlo errors)")
    for comparisons in (1, 6, 20, 60):
        for shape, ratio in (("normal", 0.0), ("normal", 1.0), ("skewed", 0.0), ("skewed", 1.0)):
            rows += told(simulate(simulations, comparisons, shape, ratio, 0.0))
    print("a difference in every comparison, in standard deviations of a pair of seeds")
    for comparisons in (1, 6):
        for effect in (0.5, 1.0, 2.0, 4.0):
            rows += told(simulate(simulations, comparisons, "normal", 0.0, effect))
    nulls = [row for row in rows if row["effect"] == 0 and row["rule"] in ("looks", "anytime")]
    held = sum(row["any"] <= THRESHOLD + 2 * row["error"] for row in nulls)
    print(f"held: {held} of {len(nulls)} settings; the highest error {max(row['any'] for row in nulls):.1%}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def told(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print a line for a setting."""
    first = rows[0]
    by_rule = "; ".join(
        f"{row['rule']} {row['any']:.1%}" if not first["effect"] else
        f"{row['rule']} {row['decided']:.0%} decided, {row['pairs']:.1f} pairs" for row in rows
    )  # fmt: skip
    setting = f"{first['comparisons']} x, {first['seeds']}, people {first['people']:g}, effect {first['effect']:g}"
    print(f"  {setting}: {by_rule}", flush=True)
    return rows


if __name__ == "__main__":
    main()
