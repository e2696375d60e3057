"""Exactly once: leases run out and are taken over, and whatever happens in whatever order, a trial is recorded once."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from equipoise.foundation import BadInput
from helpers.cases.store import Clock, Predicting, failed, planned, trial

DONE = Predicting()
OWNERS = ("one", "two", "three")


def test_a_lease_that_ran_out_is_taken_over_and_its_owner_cannot_record(store: Any, clock: Clock) -> None:
    store.plan(planned(3))
    slow = store.lease("slow", 10)
    clock.now += 9
    assert store.lease("quick", 10) == ()
    clock.now += 2
    assert store.lease("quick", 10) == slow
    assert store.extend("slow", 10) == 0
    written = store.record("slow", [DONE(one, seconds=9.0) for one in slow], DONE.truth)
    assert written.new == ()
    assert set(written.refused.values()) == {"slow does not hold its lease: quick took it over"}
    assert len(store.record("quick", [DONE(one) for one in slow], DONE.truth).new) == 3
    assert set(store.record("slow", [DONE(one) for one in slow], DONE.truth).refused.values()) == {"it is done already"}
    assert {(kept.seconds, kept.tries) for kept in store.trials()} == {(1.5, 2)}


def test_a_lease_that_ran_out_and_nobody_took_still_records(store: Any, clock: Clock) -> None:
    store.plan(planned(3))
    leased = store.lease("slow", 10)
    clock.now += 100
    assert len(store.record("slow", [DONE(one) for one in leased], DONE.truth).new) == 3


def test_a_lease_that_is_extended_is_not_taken_over(store: Any, clock: Clock) -> None:
    store.plan(planned(3))
    store.lease("slow", 10)
    for _ in range(5):
        clock.now += 9
        assert store.extend("slow", 10) == 3
        assert store.lease("quick", 10) == ()


def test_what_ended_is_recorded_and_the_next_stack_leased_at_once(store: Any) -> None:
    store.plan(planned(6))
    first = store.lease("one", 10)
    written, second = store.record_and_lease("one", [DONE(one) for one in first], DONE.truth, 10)
    assert written.new == tuple(one.key for one in first)
    assert [*first, *second] == [one for one, _, _ in planned(6)]
    assert store.record_and_lease("one", [DONE(one) for one in second], DONE.truth, 10)[1] == ()
    assert (store.status().done, store.status().running) == (6, 0)


def test_nothing_is_leased_where_nothing_can_be_recorded(store: Any) -> None:
    store.plan(planned(6))
    first = store.lease("one", 10)
    strange = replace(DONE.truth, cohort="sha256:another")
    with pytest.raises(BadInput, match="another cohort"):
        store.record_and_lease("one", [DONE(one) for one in first], strange, 10)
    assert (store.status().running, store.status().waiting) == (3, 3)


def test_stacks_before_the_last_one_are_leased_when_they_are_free_again(store: Any, clock: Clock) -> None:
    store.plan(planned(9))
    lost, kept = store.lease("lost", 10), store.lease("kept", 1000)
    clock.now += 11
    third = store.lease("other", 1000)
    assert [*lost, *kept, *third] == [one for one, _, _ in planned(9)]
    assert store.lease("other", 1000) == lost
    assert store.lease("other", 1000) == ()


def test_what_is_given_back_waits_for_the_next(store: Any) -> None:
    store.plan(planned(3))
    leased = store.lease("slow", 10)
    assert store.give_back("slow") == 3
    assert store.give_back("slow") == 0
    assert store.lease("quick", 10) == leased


@pytest.mark.parametrize(("owner", "seconds"), [("", 10), ("worker", 0), ("worker", float("nan"))])
def test_a_lease_needs_an_owner_and_time(store: Any, owner: str, seconds: float) -> None:
    with pytest.raises(BadInput, match="more than 0 seconds"):
        store.lease(owner, seconds)


class Workers(RuleBasedStateMachine):
    """Workers that do anything in any order, held against a table of who holds and who finished what."""

    @initialize(number=st.integers(1, 7), stack=st.integers(1, 4))
    def begin(self, number: int, stack: int) -> None:
        from equipoise.studies.storage import open_store

        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.store = open_store(Path(self.folder.name) / "study.db", clock=self.clock)
        self.plan = planned(number, stack)
        self.store.plan(self.plan)
        self.state = {one.key: "waiting" for one, _, _ in self.plan}
        self.holder: dict[str, tuple[str, float]] = {}
        self.hand: dict[str, tuple[Any, ...]] = dict.fromkeys(OWNERS, ())
        self.result: dict[str, float] = {}
        self.next = 1.0
        self.at = 0

    def free(self, key: str) -> bool:
        return self.state[key] == "waiting" or (self.state[key] == "running" and self.holder[key][1] < self.clock.now)

    @rule(owner=st.sampled_from(OWNERS), seconds=st.integers(1, 20))
    def lease(self, owner: str, seconds: int) -> None:
        stacks = [stack for one, stack, _ in self.plan if self.free(one.key)]
        # From the stack that was leased last on; those before it come after.
        wanted = min(stacks, key=lambda stack: (stack < self.at, stack), default=0)
        expected = [one for one, stack, _ in self.plan if stack == wanted and self.free(one.key)]
        leased = self.store.lease(owner, seconds)
        assert list(leased) == expected
        self.at = wanted
        self.hand[owner] = leased or self.hand[owner]
        for one in leased:
            self.state[one.key], self.holder[one.key] = "running", (owner, self.clock.now + seconds)

    @rule(seconds=st.integers(1, 30))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule(owner=st.sampled_from(OWNERS))
    def extend(self, owner: str) -> None:
        held = [key for key, state in self.state.items() if state == "running" and self.holder[key][0] == owner]
        assert self.store.extend(owner, 10) == len(held)
        self.holder |= dict.fromkeys(held, (owner, self.clock.now + 10))

    @rule(owner=st.sampled_from(OWNERS))
    def give_back(self, owner: str) -> None:
        held = [key for key, state in self.state.items() if state == "running" and self.holder[key][0] == owner]
        assert self.store.give_back(owner) == len(held)
        self.state |= dict.fromkeys(held, "waiting")

    @rule(owner=st.sampled_from(OWNERS), fails=st.booleans())
    def record(self, owner: str, fails: bool) -> None:
        hand = self.hand[owner]
        held = [one.key for one in hand if self.state[one.key] == "running" and self.holder[one.key][0] == owner]
        self.next += 1
        made = [failed(one) if fails else DONE(one, seconds=self.next) for one in hand]
        written = self.store.record(owner, made, DONE.truth)
        assert sorted(written.new) == sorted(held)
        assert set(written.refused) == {one.key for one in hand} - set(held)
        self.state |= dict.fromkeys(held, "failed" if fails else "done")
        self.result |= dict.fromkeys(held, 0.5 if fails else self.next)

    @rule(place=st.integers(0, 6))
    def merge(self, place: int) -> None:
        one = self.plan[place % len(self.plan)][0]
        self.next += 1
        new = self.state[one.key] != "done"
        assert self.store.add([DONE(one, seconds=self.next)], DONE.truth).new == ((one.key,) if new else ())
        if new:
            self.state[one.key], self.result[one.key] = "done", self.next

    @rule()
    def forget_failed(self) -> None:
        lost = [key for key, state in self.state.items() if state == "failed"]
        assert self.store.forget_failed() == len(lost)
        self.state |= dict.fromkeys(lost, "waiting")

    @rule()
    def plan_again(self) -> None:
        assert self.store.plan(self.plan) == 0

    @invariant()
    def the_store_says_what_happened(self) -> None:
        kept = {one.key: one for one in self.store.trials()}
        assert {key: one.state for key, one in kept.items()} == self.state
        finished = {key for key, state in self.state.items() if state in ("done", "failed")}
        assert {key: kept[key].seconds for key in finished} == {key: self.result[key] for key in finished}
        done = [one.key for one, _, _ in self.plan if self.state[one.key] == "done"]
        assert list(self.store.readouts("dev").keys) == list(self.store.readouts("test").keys) == done

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()


Workers.TestCase.settings = settings(
    max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture
def _sqlalchemy() -> None:
    pytest.importorskip("sqlalchemy")


@pytest.mark.usefixtures("_sqlalchemy")
class TestWorkers(Workers.TestCase):
    """Runs the machine above."""


def test_a_trial_knows_how_often_it_was_begun(store: Any, clock: Clock) -> None:
    store.plan([(trial(1), 0, "a")])
    for number in (1, 2, 3):
        store.lease("worker", 1)
        clock.now += 2
        assert store.trials()[0].tries == number
