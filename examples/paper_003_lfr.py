"""Paper 003, section 3: whom did fairness interventions change? LFR on COMPAS and Adult, with controls.

    python examples/paper_003_lfr.py docs/papers/003    writes lfr.json and the figures (needs COMPAS; minutes)
    python examples/paper_003_lfr.py                    Adult only, two starts; prints, writes nothing

docs/papers/003.md reads the numbers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from paper_003 import fits
from paper_003.figures import draw
from paper_003.findings import findings_of
from paper_003.measured import KERNELS, change_of, flips, outcome_of
from paper_003.people import People, adult, compas
from threadpoolctl import threadpool_limits

from equipoise.foundation import stream
from equipoise.treatments import LFRWeights

STARTS = 10
MOST_RBF = 3_000
DIGITS = 6


def runs_of(people: People, weights: dict[str, LFRWeights], setting: str, starts: int) -> list[dict[str, Any]]:
    """Run the four objectives from every start, and the controls."""
    matched = setting == "matched"
    most = MOST_RBF if starts == STARTS else MOST_RBF // 10
    learn = fits.fit if matched else fits.fit_as_aif360
    made = []
    for start in range(starts):
        learnt = {arm: learn(people, weight, start) for arm, weight in weights.items()}
        outcomes = {arm: outcome_of(people, fit.representation) for arm, fit in learnt.items()}
        others = {arm: fit for arm, fit in learnt.items() if arm != "utility"}
        # Controls: the same objective from another start, and group fairness for groups that mean nothing.
        others["restart"] = learn(people, weights["utility"], 1000 + start)
        if matched:
            shuffled = stream(start, "shuffled").permutation(people.group)
            others["shuffled"] = fits.fit(people, weights["group"], start, shuffled)
        baseline = learnt["utility"].representation
        made.append(
            {
                "tables": {arm: outcome.table for arm, outcome in outcomes.items()},
                "parts": {arm: vars(fit.parts) for arm, fit in learnt.items()},
                "collapsed": {arm: float(fit.collapsed) for arm, fit in learnt.items()},
                "flips": {
                    arm: flips(people, outcomes["utility"], outcomes[arm]) for arm in weights if arm != "utility"
                },
                "changes": {
                    arm: {kernel: change_of(people, baseline, fit.representation, kernel, most) for kernel in KERNELS}
                    for arm, fit in others.items()
                },
            }
        )
    return made


def together(parts: list[Any]) -> Any:
    """Return the mean over starts, wherever there is a number; starts where it is undefined are left out."""
    first = parts[0]
    if isinstance(first, dict):
        return {key: together([part[key] for part in parts]) for key in first}
    if isinstance(first, list):
        return [together(list(column)) for column in zip(*parts, strict=True)]
    return float(np.mean([part for part in parts if part == part] or [np.nan]))


def spread(parts: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the standard deviation over starts of a table."""
    return {
        arm: {key: float(np.nanstd([part[arm][key] for part in parts], ddof=1)) for key in row}
        for arm, row in parts[0].items()
    }


def study(people: People, starts: int) -> dict[str, Any]:
    """Return every number about one data set."""
    matched, price = fits.matched_weights(
        people, steps=14 if starts == STARTS else 5, seeds=3 if starts == STARTS else 1
    )
    settings = {}
    for setting, weights in (("matched", matched), ("aif360", fits.AIF360)):
        runs = runs_of(people, weights, setting, starts)
        settings[setting] = {
            "weights": {arm: vars(weight) for arm, weight in weights.items()},
            **together(runs),
            "table_spread": spread([run["tables"] for run in runs]),
            "findings": findings_of(people, runs),
        }
    test = ~people.train
    return {
        "people": len(people.label),
        "test_people": int(test.sum()),
        "profiles": len(set(people.profiles.tolist())),
        "test_profiles": len(set(people.profiles[test].tolist())),
        "columns": people.rows.shape[1],
        "base_rate": float(people.label.mean()),
        "matched_utility": price,
        "settings": settings,
    }


def rounded(value: Any) -> Any:
    """Return the same with short numbers; what is not a number is null."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, float):
        return round(value, DIGITS) if np.isfinite(value) else None
    return value


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    starts = STARTS if folder else 2
    with threadpool_limits(limits=1, user_api="blas"):
        datasets = {people.name: study(people, starts) for people in ([compas(), adult()] if folder else [adult()])}
    found = rounded(
        {
            "command": "python examples/paper_003_lfr.py docs/papers/003",
            "starts": starts,
            "prototypes": fits.PROTOTYPES,
            "share_of_full_price": fits.SHARE,
            "datasets": datasets,
        }
    )
    for name, one in found["datasets"].items():
        table = one["settings"]["matched"]["tables"]
        for arm, row in table.items():
            numbers = "  ".join(f"{key} {value:.3f}" for key, value in row.items() if value is not None)
            print(f"{name:<7} {arm:<11} {numbers}")
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lfr.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"wrote {folder / 'lfr.json'}", *draw(found, folder))


if __name__ == "__main__":
    main()
