"""How often each value of C was chosen on dev rows, for docs/papers/000.md.

python docs/papers/000/chosen.py STORE PLAN-NAME OUT.json
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from equipoise.studies.storage import open_store

ENDING = ".c_dev__std_no.chosen_c"


def chosen(store: str, plan: str) -> dict[str, dict[str, int]]:
    """Return, by degree of imbalance and training rows, how many trials chose each value of C."""
    found: dict[str, Counter[str]] = {}
    with open_store(store, plan=plan) as opened:
        degrees = {one.key: one.trial.condition.settings["degree"] for one in opened.trials(["done"])}
        for name in (one for one in opened.stored_array_names() if one.endswith(ENDING)):
            for key, value in opened.stored_arrays(list(degrees), name).items():
                told = f"{degrees[key]}:{name.removesuffix(ENDING).rpartition('.')[2]}"
                found.setdefault(told, Counter())[f"{float(value[0]):g}"] += 1
    return {name: dict(sorted(own.items(), key=lambda item: float(item[0]))) for name, own in sorted(found.items())}


if __name__ == "__main__":
    made = chosen(*sys.argv[1:3])
    Path(sys.argv[3]).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
