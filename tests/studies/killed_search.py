"""A search for tests to kill: python killed_search.py STORE."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.cases.plan import cohort
from helpers.cases.search import registered


def main(store: str) -> None:
    from equipoise.studies import Study, run_study

    with registered():
        study = Study(
            cohort(1200), group="sex", learner={"name": "bowl", "seconds": 0.03}, treatments=["untreated", "tilted"],
            seeds=3, stack=2, name="searching", search={"trials": 12, "generation": 6},
        )  # fmt: skip
        run_study(study, store)


if __name__ == "__main__":
    main(*sys.argv[1:])
