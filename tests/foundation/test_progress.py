"""One tracker: its stage, the share that is done, and a time left that waits for something to go by."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from equipoise.foundation import (
    ProgressTracker,
    StagedProgress,
    duration,
)


def clock_at(times: list[float]) -> Callable[[], float]:
    return lambda: times[-1]


def test_the_time_left_follows_from_the_share_that_is_done() -> None:
    times = [100.0]
    tracker = ProgressTracker("Reading", clock=clock_at(times))
    assert (tracker.stage, tracker.done, tracker.time_left) == ("Reading", 0.0, "")
    times.append(130.0)
    tracker("Judging", 0.25)
    assert tracker.time_left == "about 2 min left", "30 s are a quarter: 90 s are left"
    assert tracker.line == "Judging: 25% after 30 s, about 2 min left"


def test_too_little_work_says_nothing_of_the_rest() -> None:
    times = [0.0]
    tracker = ProgressTracker("Reading", clock=clock_at(times))
    times.append(10.0)
    tracker("Reading", 0.05)
    assert tracker.line == "Reading: 5% after 10 s"


def test_work_that_knows_its_time_left_says_so() -> None:
    tracker = ProgressTracker("Training", clock=clock_at([0.0]))
    tracker("3 of 9 trials", 1 / 3, time_left="at least 2 min left")
    assert tracker.line == "3 of 9 trials: 33% after less than 1 s, at least 2 min left"
    tracker("Reporting", 0.9)
    assert "2 min" not in tracker.line


@pytest.mark.parametrize(("told", "done"), [(-1.0, 0.0), (0.4, 0.4), (7.0, 1.0)])
def test_a_share_that_is_measured_stays_between_nothing_and_all(told: float, done: float) -> None:
    assert ProgressTracker("Counting", measure=lambda: told).done == done


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "less than 1 s"),
        (40, "40 s"),
        (150, "2 min"),
        (7_800, "2 h 10 min"),
        (7_200, "2 h"),
        (200_000, "2.3 days"),
    ],
)
def test_a_duration_is_written_as_people_say_it(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_stages_are_reported_as_a_share_of_all_by_their_weight() -> None:
    told: list[tuple[str, float]] = []
    progress = StagedProgress(lambda stage, share: told.append((stage, share)), {"search": 3.0, "judge": 1.0})
    step = progress.stage("search")
    step(1, 2)
    step(2, 2)
    progress.update("judge", 1, 2)
    assert told == [("search", 0.0), ("search", 0.375), ("search", 0.75), ("judge", 0.875)]
    StagedProgress(None, {"search": 1.0}).update("search", 1, 1)
