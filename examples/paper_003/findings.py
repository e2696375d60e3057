"""The paper's findings, asked of every start: in what part of the starts does each hold?"""

from __future__ import annotations

from typing import Any

import numpy as np

from paper_003.people import People

FEW, MUCH = 0.75, 0.5


def findings_of(people: People, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return, for each kernel and finding, the share of the starts in which it holds."""
    return {kernel: {name: share(holds) for name, holds in _asked(people, runs, kernel).items()}
            for kernel in ("linear", "rbf")}  # fmt: skip


def share(holds: list[bool]) -> float:
    """Return in which part of the starts something holds."""
    return float(np.mean(holds))


def _asked(people: People, runs: list[dict[str, Any]], kernel: str) -> dict[str, list[bool]]:
    changes = [{arm: change[kernel] for arm, change in run["changes"].items()} for run in runs]
    asked = {
        # Three quarters of the people keep a PNKA of 0.8 and the lowest tenth falls below 0.5.
        "group_changes_few_much": [_few_much(change["group"]) for change in changes],
        # The middle half of the people is nearer together than under group fairness, and nobody keeps their place.
        "individual_changes_more_evenly": [
            _width(change["individual"]) < _width(change["group"]) for change in changes
        ],
        "individual_changes_everybody": [change["individual"]["high"] < 0.25 for change in changes],
        "group_changes_more_than_a_restart": [
            change["group"]["mean"] < change["restart"]["mean"] for change in changes
        ],
        "individual_changes_more_than_a_restart": [
            change["individual"]["mean"] < change["restart"]["mean"] for change in changes
        ],
    }
    asked["both_is_nearer_to_group_than_to_individual"] = [
        _apart(change["both"], change["group"]) < _apart(change["both"], change["individual"]) for change in changes
    ]
    asked[f"individual_dominated_by_{people.privileged}"] = [
        _dominant(people, change["individual"]) == people.privileged for change in changes
    ]
    for arm in ("group", "both"):
        dominant = [_dominant(people, change[arm]) for change in changes]
        moved = [_moved(people, run, arm) for run in runs]
        flipped = [max(run["flips"][arm], key=lambda name, run=run, arm=arm: run["flips"][arm][name]) for run in runs]
        asked |= {
            f"{arm}_dominated_by_{people.privileged}": [name == people.privileged for name in dominant],
            f"{arm}_rate_moves_most_for_{people.privileged}": [name == people.privileged for name in moved],
            f"{arm}_predictions_move_most_for_{people.privileged}": [name == people.privileged for name in flipped],
            f"{arm}_dominant_is_whose_rate_moves": [a == b for a, b in zip(dominant, moved, strict=True)],
            f"{arm}_dominant_is_whose_predictions_move": [a == b for a, b in zip(dominant, flipped, strict=True)],
        }
    return asked


def _few_much(change: dict[str, Any]) -> bool:
    return change["high"] >= FEW and change["quantiles"]["0.10"] < MUCH


def _apart(one: dict[str, Any], other: dict[str, Any]) -> float:
    """Return how far apart two distributions of scores are: the area between their running shares."""
    return float(np.abs(np.cumsum(one["histogram"]) - np.cumsum(other["histogram"])).sum())


def _width(change: dict[str, Any]) -> float:
    return float(change["quantiles"]["0.75"] - change["quantiles"]["0.25"])


def _dominant(people: People, change: dict[str, Any]) -> str:
    """Return the group that is more common among the lowest 10 % than among everyone."""
    groups = change["lowest"][people.protected]
    return max(groups, key=lambda name: groups[name]["of_lowest"] / groups[name]["of_everyone"])


def _moved(people: People, run: dict[str, Any], arm: str) -> str:
    """Return the group whose precision (COMPAS) or recall (Adult) changed more."""
    before, after = run["tables"]["utility"], run["tables"][arm]
    names = (people.unprivileged, people.privileged)
    moves = {name: abs(after[f"rate_{name}"] - before[f"rate_{name}"]) for name in names}
    return max(moves, key=lambda name: -1.0 if np.isnan(moves[name]) else moves[name])
