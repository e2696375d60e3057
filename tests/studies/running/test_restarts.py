"""Studies through kills and restarts, by the command line: nothing hangs, nothing is lost, nothing is done twice."""

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

pytest.importorskip("sqlalchemy")

from equipoise.studies.storage import open_store
from helpers.cases.plan import COHORT, write_people
from helpers.postgres import Server

# Enough rows that what a worker is handed does not fit into a pipe, as it once had to.
ROWS = 150_000
HEAD = 'schema = "equipoise.study-plan/1"\nrounding = "deterministic"\n'
SKLEARN = '[learner]\nname = "scikit_learn"\nestimator = "sklearn.naive_bayes.GaussianNB"\n'


def plan_in(folder: Path, *, rows: int, seeds: int) -> Path:
    write_people(folder / "people.csv", rows)
    plan = folder / "plan.toml"
    plan.write_text(f"{HEAD}seeds = {seeds}\n{COHORT}{SKLEARN}")
    return plan


def started(plan: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "equipoise", "study", "run", str(plan), "--quiet", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    try:
        children = psutil.Process(process.pid).children()
        return [child for child in children if any("worker_process" in part for part in child.cmdline())]
    except psutil.Error:
        return []


def recorded(where: str) -> dict[str, Any]:
    """Return what every trial predicted; each must be there once."""
    with open_store(where, plan="plan") as store:
        keys = [trial.key for trial in store.trials()]
        assert store.status().done == len(keys) == len(set(keys))
        assert store.owners() == ()
        return {key: one.values.tolist() for key, one in store.predictions_of(keys, "test").items()}


@pytest.mark.slow
def test_twenty_studies_whose_first_worker_is_killed_at_its_start_all_end(tmp_path: Path) -> None:
    plan = plan_in(tmp_path, rows=ROWS, seeds=6)
    moments, found = random.Random(0), []
    for number in range(20):
        store = tmp_path / f"{number}.db"
        running = started(plan, "--store", store, "--workers", 2)
        while not (workers := workers_of(running)):
            assert running.poll() is None
            time.sleep(0.005)
        delay = moments.uniform(0, 1)
        time.sleep(delay)
        workers[0].send_signal(signal.SIGKILL)
        began = time.monotonic()
        _, said = running.communicate(timeout=300)
        sys.stdout.write(f"kill {number}: {delay:.2f} s after the start; exit {running.returncode} after ")
        sys.stdout.write(f"{time.monotonic() - began:.1f} s\n")
        assert running.returncode == 0, said
        found.append(recorded(str(store)))
    assert all(one == found[0] for one in found)
    assert len(found[0]) == 6


@pytest.mark.slow
def test_a_study_goes_on_through_fourteen_restarts_of_its_database(tmp_path: Path, postgres: Server) -> None:
    """Seven are crashes of the server and seven orderly stops, five seconds long each, while trials are recorded."""
    plan = plan_in(tmp_path, rows=4_000, seeds=400)
    postgres.tell("ALTER SYSTEM SET synchronous_commit = 'on'")
    postgres.tell("SELECT pg_reload_conf()")
    with postgres.database() as where:
        running, restarts = started(plan, "--store", where, "--workers", 2, "--artefacts", tmp_path / "large"), 0
        done = 0
        while restarts < 14 and running.poll() is None:
            time.sleep(0.2)
            now = _done(where)
            if now <= done:
                continue
            done = now
            postgres.stop("immediate" if restarts % 2 else "fast")
            time.sleep(5)
            postgres.start()
            restarts += 1
            sys.stdout.write(f"restart {restarts}: {done} trials were done, the run is {running.poll() or 'alive'}\n")
            sys.stdout.flush()
        _, said = running.communicate(timeout=600)
        assert running.returncode == 0, said
        assert restarts == 14
        through = recorded(where)
    alone = started(plan, "--store", tmp_path / "alone.db")
    _, said = alone.communicate(timeout=600)
    assert alone.returncode == 0, said
    assert through == recorded(str(tmp_path / "alone.db"))
    assert len(through) == 400


def _done(where: str) -> int:
    import psycopg

    try:
        with psycopg.connect(where) as connection:
            answer = connection.execute("SELECT count(*) FROM trials WHERE state = 'done'").fetchone()
            return 0 if answer is None else int(answer[0])
    except psycopg.Error:
        return 0
