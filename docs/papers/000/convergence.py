"""Mean loss and dev performance over the epochs of each cell of a study, for docs/papers/000.md.

python docs/papers/000/convergence.py STORE PLAN-NAME OUT.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from equipoise.studies.storage import open_store

DIGITS = 4


def curves(store: str, plan: str) -> dict[str, dict[str, list[float]]]:
    """Return, by condition and learner, the epochs that were judged, and the means over trials there."""
    cells: dict[str, list[list[tuple[float, float, float]]]] = {}
    with open_store(store, plan=plan) as opened:
        for one in opened.trials(["done"]):
            learner = one.trial.learner.settings
            degree = one.trial.condition.settings.get("degree", "as_given")
            name = f"{degree}:{learner.get('loss', 'raw')}:{learner.get('miner', '')}"
            if one.history:
                cells.setdefault(name, []).append([(row.number, row.loss, row.performance) for row in one.history])
    found = {}
    for name, histories in cells.items():
        means = np.mean(np.array(histories), axis=0)
        found[name] = {key: [round(float(value), DIGITS) for value in means[:, column]]
                       for column, key in enumerate(("epoch", "loss", "dev"))}  # fmt: skip
    return found


if __name__ == "__main__":
    made = curves(*sys.argv[1:3])
    Path(sys.argv[3]).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
