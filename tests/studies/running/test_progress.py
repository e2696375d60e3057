"""How far the trials are that train now, and what that says of the time left."""

from __future__ import annotations

import pytest

from equipoise.studies.running import running
from equipoise.studies.running.progress import Within, standing
from equipoise.studies.running.running import within_stack
from equipoise.studies.storage.stored import CellStatus, Status
from equipoise.training.learner import Progress

NONE_DONE = Status((CellStatus("cell", waiting=8, running=8),))


def test_before_a_trial_is_done_those_in_training_say_what_one_takes() -> None:
    # 8 trials at a quarter of their way after 20 s: 80 s for them, and as much for the others.
    found = standing(NONE_DONE, within=Within(8, 50, 200, 20.0))
    assert found.seconds_left == pytest.approx(80 + 80 - 20)
    assert found.words == "about 2 min left (8 in training, epoch 50 of 200)"


def test_what_is_under_way_is_taken_off_the_time_left() -> None:
    status = Status((CellStatus("cell", waiting=8, running=8, done=8, seconds=80.0),))
    assert standing(status, within=Within(8, 50, 200, 20.0)).seconds_left == pytest.approx(160 - 20)
    assert standing(status, within=Within(8, 199, 200, 500.0)).seconds_left == 0


def test_epochs_of_a_run_that_was_killed_took_none_of_the_time() -> None:
    # 10 epochs in 4 s now, after 150 before: 80 s for 200, of which 40 epochs are left, and 80 s for the others.
    found = standing(NONE_DONE, within=Within(8, 160, 200, 4.0, before=150))
    assert found.seconds_left == pytest.approx(16 + 80)


def test_who_listens_hears_of_a_stack_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.1, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0])
    monkeypatch.setattr(running.time, "monotonic", lambda: next(clock))
    heard: list[Within] = []
    hear = within_stack(heard.append)
    for epoch in (101, 102, 103, 1, 200):
        hear(Progress(8, 8, epoch, 200))
    # The first came too soon, and after the last epoch the trials are done. Where a stack is tried again by halves its
    # epochs begin anew.
    assert heard == [
        Within(8, 102, 200, 1.0, before=100), Within(8, 103, 200, 2.0, before=100), Within(8, 1, 200, 3.0, before=0),
    ]  # fmt: skip
