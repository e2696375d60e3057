"""Exactly once, with real processes: some are late, some are killed, and all work on one store at the same time."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.cases.store import planned

CROWD = Path(__file__).parent / "crowd.py"

Crowd = Callable[..., Any]


@pytest.fixture
def crowd(tmp_path: Path) -> Crowd:
    """A function that lets real processes work on stores, and returns what they say."""

    def said(what: str, *places: str) -> Any:
        command = [sys.executable, "-W", "error", str(CROWD), what, str(tmp_path), *places]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return said


def test_processes_that_lease_late_die_and_come_again_record_every_trial_once(crowd: Crowd, new_place: Any) -> None:
    said = crowd("race", new_place())
    assert said["states"] == {"done": said["trials"]}
    # Nobody was told twice that a trial was recorded, and what was told is what the store holds, by a number that only
    # that process had. A process that died before it was told may have recorded all the same.
    assert len(said["told"]) == len(set(said["told"]))
    assert {key: said["kept"][key] for key in said["told"]} == said["told seconds"]
    assert said["readouts"] == said["trials"]


@pytest.mark.long
def test_a_stack_is_recorded_whole_or_not_at_all_whenever_its_process_is_killed(crowd: Crowd, new_place: Any) -> None:
    where = new_place()
    said = crowd("kill", where)
    assert said["kills"] == 20
    assert said["torn"] == 0
    assert said["lost"] == 0
    assert said["states"] == {"done": said["trials"]}
    if "://" not in where:
        with contextlib.closing(sqlite3.connect(where)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_worker_that_is_killed_between_lease_and_record_loses_nothing(crowd: Crowd, new_place: Any) -> None:
    said = crowd("die", new_place())
    assert said["while it lived"] == []
    assert said["after its lease ran out"] == [one.key for one, stack, _ in planned(4) if stack == 0]
    assert said["recorded"] == 3


@pytest.mark.long
def test_processes_that_make_a_store_at_the_same_moment_make_one(crowd: Crowd, new_place: Any) -> None:
    said = crowd("begin", *(new_place() for _ in range(5)))
    assert said["failed"] == 0
    assert said["states"] == [{"waiting": 5}] * 5
