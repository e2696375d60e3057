"""How far the trials are that train now, and what that says of the time left."""

from __future__ import annotations

import pytest

from equipoise.studies.running import _running as running
from equipoise.studies.running._progress import Standing, Steadied, Within, standing
from equipoise.studies.running._running import within_stack
from equipoise.studies.storage import CellStatus, Status
from equipoise.training import Progress

SOME_DONE = Status((CellStatus("cell", waiting=8, running=8, done=8, seconds=160.0),))
NONE_DONE = Status((CellStatus("cell", waiting=8, running=8),))


def set_clock(monkeypatch: pytest.MonkeyPatch, seconds: list[float]) -> None:
    clock = iter(seconds)
    monkeypatch.setattr(running.time, "monotonic", lambda: next(clock))


def test_before_a_trial_is_done_those_in_training_say_what_one_takes() -> None:
    # 8 trials at a quarter of their way after 20 s: 80 s for them, and as much for the others.
    found = standing(NONE_DONE, within=Within(8, 50, 200, 20.0))
    assert found.seconds_left == pytest.approx(80 + 80 - 20)
    assert found.words == "up to about 2 min left (8 in training, epoch 50 of 200)"


def test_what_is_under_way_is_taken_off_the_time_left() -> None:
    status = Status((CellStatus("cell", waiting=8, running=8, done=8, seconds=80.0),))
    assert standing(status, within=Within(8, 50, 200, 20.0)).seconds_left == pytest.approx(160 - 20)
    # They have taken longer than earlier ones did in all: what their own pace leaves is left.
    assert standing(status, within=Within(8, 199, 200, 398.0)).seconds_left == pytest.approx(2)


def test_epochs_of_a_run_that_was_killed_took_none_of_the_time() -> None:
    # 10 epochs in 4 s now, after 150 before: 80 s for 200, of which 40 epochs are left, and 80 s for the others.
    found = standing(NONE_DONE, within=Within(8, 160, 200, 4.0, before=150))
    assert found.seconds_left == pytest.approx(16 + 80)


def test_who_listens_hears_of_a_stack_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, [0.0, 0.1, 1.0, 2.0, 3.0, 4.0])
    heard: list[Within] = []
    hear = within_stack(heard.append)
    for epoch in (101, 102, 103, 1, 200):
        hear(Progress(8, 8, epoch, 200))
    # The first came too soon, and after the last epoch the trials are done. Where a stack is tried again by halves its
    # epochs begin anew.
    assert heard == [
        Within(8, 102, 200, 1.0, before=100, first=0.1), Within(8, 103, 200, 2.0, before=100, first=0.1),
        Within(8, 1, 200, 3.0, before=0),
    ]  # fmt: skip


def test_classifiers_to_come_make_the_time_left_the_least_until_one_is_trained() -> None:
    # 8 trials take 80 s of epochs; nobody knows yet what 64 classifiers take.
    found = standing(NONE_DONE, within=Within(8, 50, 200, 20.0, classifiers=64))
    assert found.words == "at least 2 min left (8 in training, epoch 50 of 200, then 64 classifiers)"
    found = standing(NONE_DONE, within=Within(8, 200, 200, 80.0, classifiers=64, classified=0, classifying=1.0))
    assert found.words == "at least 1 min left (8 in training, 0 of 64 classifiers trained)"
    # 16 of 64 in 40 s: 160 s for all, so 240 s a stack, of which 120 s are over; and 240 s for the other stack.
    within = Within(8, 200, 200, 80.0, classifiers=64, classified=16, classifying=40.0)
    found = standing(NONE_DONE, within=within)
    assert found.seconds_left == pytest.approx(120 + 240)
    assert found.words == "up to about 6 min left (8 in training, 16 of 64 classifiers trained)"


def test_where_trials_are_done_their_seconds_have_the_classifiers_in_them() -> None:
    within = Within(8, 200, 200, 80.0, classifiers=64, classified=0, classifying=1.0)
    found = standing(SOME_DONE, within=within)
    assert found.seconds_left == pytest.approx(320 - 81)
    assert not found.at_least
    # The last stack, slower than those before: what its own pace leaves.
    last = Status((CellStatus("cell", running=8, done=8, seconds=80.0),))
    slow = Within(8, 200, 200, 80.0, classifiers=64, classified=32, classifying=40.0)
    assert standing(last, within=slow).seconds_left == pytest.approx(40)


def test_epochs_that_were_all_done_before_say_nothing_of_the_time_left() -> None:
    within = Within(8, 200, 200, 3.0, before=200, classifiers=64, classified=32, classifying=40.0)
    assert (within.spent, within.rest) == (40.0, 40.0)


def test_who_listens_hears_that_classifiers_begin_and_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, [0.0, 1.0, 1.1, 1.2, 2.0, 9.0])
    heard: list[Within] = []
    hear = within_stack(heard.append)
    hear(Progress(8, 8, 59, 60, 4))
    hear(Progress(8, 8, 60, 60, 4))
    for classified in (0, 1, 2):
        hear(Progress(8, 0, 60, 60, 4, classified))
    # The last epoch came too soon after the one before, but that the classifiers begin is told whenever it is.
    assert heard == [
        Within(8, 59, 60, 1.0, before=58, classifiers=4, first=1.0),
        Within(8, 60, 60, 1.1, before=58, classifiers=4, classified=0, classifying=pytest.approx(0.1), first=1.0),
        Within(8, 60, 60, 1.1, before=58, classifiers=4, classified=1, classifying=pytest.approx(0.9), first=1.0),
        Within(8, 60, 60, 1.1, before=58, classifiers=4, classified=2, classifying=pytest.approx(7.9), first=1.0),
    ]


def test_the_last_epoch_is_told_where_classifiers_are_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, [0.0, 1.0, 2.0])
    heard: list[Within] = []
    hear = within_stack(heard.append)
    for classifiers in (4, 0):
        hear(Progress(8, 8, 60, 60, classifiers))
    assert [one.classifiers for one in heard] == [4]


def test_a_stack_that_goes_on_with_its_classifiers_has_run_no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, [0.0, 5.0])
    heard: list[Within] = []
    within_stack(heard.append)(Progress(8, 0, 60, 60, 4, 0))
    assert heard == [Within(8, 60, 60, 0.0, before=60, classifiers=4, classified=0, classifying=5.0)]


def test_nothing_is_said_of_the_time_left_after_one_epoch() -> None:
    """The first has the imports and the building of the network in it: times all epochs it said hours for seconds."""
    found = standing(NONE_DONE, within=Within(8, 1, 200, 12.0, first=12.0))
    assert found.seconds_left is None
    assert found.words == "time left: not known yet (8 in training, epoch 1 of 200)"
    # 4 epochs in 0.4 s after the first: 200 epochs take 20 s, of which 19.5 are left, and 20 for the others.
    found = standing(NONE_DONE, within=Within(8, 5, 200, 12.4, first=12.0))
    assert found.seconds_left == pytest.approx(19.5 + 20)
    assert found.words == "up to about 40 s left (8 in training, epoch 5 of 200)"


def test_the_first_epoch_is_timed_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    set_clock(monkeypatch, [0.0, 12.0, 12.1, 13.0])
    heard: list[Within] = []
    hear = within_stack(heard.append)
    for epoch in (1, 2, 3):
        hear(Progress(8, 8, epoch, 200))
    assert heard[-1] == Within(8, 3, 200, 13.0, before=0, first=12.0)


def test_the_time_left_does_not_jump() -> None:
    shown: list[float | None] = []
    clock = iter([0.0, 10.0, 20.0, 30.0, 40.0])
    steady = Steadied(lambda one: shown.append(one.seconds_left), clock=lambda: next(clock))
    for seconds in (100.0, 190.0):
        steady(Standing(10, 1, 0, 1, seconds))
    assert shown == [100.0, pytest.approx(0.3 * 190 + 0.7 * 90)]
    # From epochs to trials is another estimate, which begins anew; nothing known is nothing said.
    steady(Standing(10, 0, 0, 1, 18_000.0, at_most=True))
    steady(Standing(10, 1, 0, 1, None))
    steady(Standing(10, 1, 0, 1, 180.0))
    assert shown[2:] == [18_000.0, None, 180.0]
