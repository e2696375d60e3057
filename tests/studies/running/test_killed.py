"""A study killed at any moment loses nothing, records nothing twice, and ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from helpers.cases.plan import PLAN, write_plan
from helpers.postgres import Server

pytest.importorskip("sqlalchemy")

from equipoise.studies.storage import open_store

SCRIPT = Path(__file__).parent / "killed_study.py"


class Running:
    """The study in a session (and so a process group) of its own."""

    def __init__(self, plan: str, store: str, workers: int, said: Path) -> None:
        self.said = said
        with open(self.said, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), plan, store, str(workers)],
                stdout=file, stderr=file, start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
        while "ready" not in self.said.read_text(encoding="utf-8"):
            assert self.process.poll() is None, self.said.read_text(encoding="utf-8")
            time.sleep(0.01)

    def kill_group(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_a_worker(self) -> None:
        """Kill one of the workers, if there are any by now."""
        workers = [child for child in psutil.Process(self.process.pid).children() if "worker_process" in _line(child)]
        if workers:
            random.choice(workers).kill()

    def wait(self) -> None:
        assert self.process.wait(timeout=300) == 0, self.said.read_text(encoding="utf-8")


def _line(child: psutil.Process) -> str:
    try:
        return " ".join(child.cmdline())
    except psutil.Error:
        return ""


def content(where: str, plan: str) -> dict[str, Any]:
    with open_store(where, plan=plan) as store:
        status = store.status()
        assert status.done == status.total == len(store.trials())
        assert store.owners() == ()
        keys = [trial.key for trial in store.trials()]
        assert len(set(keys)) == len(keys)
        readouts = {split: store.readouts(split) for split in ("dev", "test")}
        for split in readouts.values():
            assert sorted(split.keys) == sorted(keys), "each trial is counted once"
        found = {split: store.predictions_of(keys, split) for split in readouts}
        return {key: [found[split][key].values.tolist() for split in readouts] for key in keys}


def killed_and_resumed(
    plan: str, folder: Path, stores: tuple[str, str], *, kills: int, workers: int, seed: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let one study end, and kill another so many times, and a single worker in between; return what both recorded."""
    (whole, store), moments, said = stores, random.Random(seed), folder / "said.txt"
    began = time.monotonic()
    Running(plan, whole, workers, said).wait()
    longest = time.monotonic() - began
    for _ in range(kills):
        running = Running(plan, store, workers, said)
        time.sleep(moments.uniform(0, longest) / 2)
        if workers > 1:
            running.kill_a_worker()
            time.sleep(moments.uniform(0, longest) / 4)
        running.kill_group()
    last = Running(plan, store, workers, said)
    if workers > 1:
        time.sleep(moments.uniform(0, longest) / 2)
        last.kill_a_worker()
    last.wait()
    return content(whole, Path(plan).stem), content(store, Path(plan).stem)


@pytest.mark.long
@pytest.mark.parametrize(("kills", "workers"), [(3, 1), (1, 2)])
def test_a_killed_study_records_every_trial_once(tmp_path: Path, kills: int, workers: int) -> None:
    stores = str(tmp_path / "whole.db"), str(tmp_path / "killed.db")
    whole, found = killed_and_resumed("own", tmp_path, stores, kills=kills, workers=workers, seed=1)
    assert found == whole
    assert len(found) == 40


@pytest.mark.long
@pytest.mark.once
def test_workers_that_share_postgresql_and_are_killed_record_every_trial_once(tmp_path: Path, postgres: Server) -> None:
    with postgres.database() as one, postgres.database() as other:
        whole, found = killed_and_resumed("own", tmp_path, (one, other), kills=1, workers=2, seed=1)
    assert found == whole
    assert len(found) == 40


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_networks_killed_at_twenty_moments_end_like_those_that_nobody_killed(tmp_path: Path, workers: int) -> None:
    pytest.importorskip("torch")
    plan = write_plan(tmp_path, PLAN.replace("seeds = 2", "seeds = 8\nstack = 4").replace("epochs = 2", "epochs = 40"))
    stores = str(tmp_path / "whole.db"), str(tmp_path / "killed.db")
    whole, found = killed_and_resumed(str(plan), tmp_path, stores, kills=20, workers=workers, seed=workers)
    assert found == whole
    assert len(found) == 64
