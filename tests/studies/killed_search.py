"""A search that kills its process when so many trials have trained: python killed_search.py STORE NUMBER."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers.cases import search
from helpers.cases.plan import cohort


def main(store: str, number: str) -> None:
    from equipoise.studies import Study, run_study

    trained, ended = [], search.ended

    def counted(dataset: Any, job: Any) -> Any:
        trained.append(job)
        if len(trained) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)
        return ended(dataset, job)

    search.ended = counted

    with search.registered():
        study = Study(
            cohort(1200), group="sex", learner="bowl", treatments=["untreated", "tilted"],
            seeds=3, stack=2, name="searching", search={"trials": 12, "generation": 6},
        )  # fmt: skip
        run_study(study, store)


if __name__ == "__main__":
    main(*sys.argv[1:])
