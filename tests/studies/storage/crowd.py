"""Real processes on one store, some of which are killed. Run by test_crowds.py, which reads what is printed.

python crowd.py TASK FOLDER STORE..., where each store is a path or a URL at which nothing is yet.

Children are forked from this process, which has no threads; each opens a store of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from equipoise.studies.storage import open_store
from equipoise.studies.storage._database import opened, store_location
from helpers.cases.store import Predicting, planned

DONE = Predicting()


def child(work: Callable[[], None]) -> int:
    """Start a process that does this and ends."""
    number = os.fork()
    if number:
        return number
    try:
        work()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - whatever happens, the child ends here
        traceback.print_exc()
        os._exit(1)


def ended(number: int) -> int:
    _, status = os.waitpid(number, 0)
    return os.waitstatus_to_exitcode(status)


def states(where: str) -> dict[str, int]:
    with open_store(where, read_only=True) as store:
        return dict(Counter(kept.state for kept in store.trials()))


def race(folder: Path, where: str) -> dict[str, Any]:
    """Four processes with leases of a moment: some are late, some die, some give back; all are started again."""
    plan = planned(60, stack=4)
    with open_store(where) as store:
        store.plan(plan)
    told = folder / "told"

    def work(seed: int) -> None:
        chance, owner = random.Random(seed), f"host:{os.getpid()}:{seed}"
        with open_store(where) as store, open(told, "ab", buffering=0) as file:
            for step in range(1, 1_000):
                leased = list(
                    store.lease(owner, 0.05 * (1 + step / 20))
                )  # longer and longer, or a slow machine never ends
                if not leased:
                    if store.status().done == len(plan):
                        return
                    time.sleep(0.01)
                    continue
                what = chance.random()
                if what < 0.05:
                    os.kill(os.getpid(), signal.SIGKILL)
                if what < 0.15:
                    store.give_back(owner)
                    continue
                time.sleep(chance.choice([0.0, 0.01, 0.1]))
                chance.shuffle(leased)
                seconds = seed + step / 1_024  # exact in binary, and of this process alone
                written = store.record(owner, [DONE(one, seconds=seconds) for one in leased], DONE.truth)
                file.write("".join(f"{key} {seconds}\n" for key in written.new).encode())

    seeds, running = iter(range(1, 10_000)), {}
    deadline = time.monotonic() + 90
    for _ in range(4):
        seed = next(seeds)
        running[child(lambda seed=seed: work(seed))] = seed
    while running:
        assert time.monotonic() < deadline, "the crowd does not come to an end"
        number, status = os.wait()
        running.pop(number)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, -signal.SIGKILL), code
        if code:
            seed = next(seeds)
            running[child(lambda seed=seed: work(seed))] = seed
    with open_store(where, read_only=True) as store:
        kept = {trial.key: trial.seconds for trial in store.trials()}
        readouts = len(store.readouts("test").keys)
    lines = [line.split() for line in told.read_text().splitlines()]
    return {
        "trials": len(plan), "states": states(where), "kept": kept, "readouts": readouts,
        "told": [key for key, _ in lines], "told seconds": {key: float(seconds) for key, seconds in lines},
    }  # fmt: skip


def kill(_: Path, where: str) -> dict[str, Any]:
    """Kill a process that leases and records stacks, at twenty random moments; then let one finish.

    The moment is a random time after a random number of steps that the process has told of, however fast it is.
    """
    plan, stack = planned(640, stack=8), 8
    reader, writer = os.pipe()
    with open_store(where) as store:
        store.plan(plan)
    chance, kills, torn, lost, before = random.Random(0), 0, 0, 0, set()

    def work(offset: float, forever: bool = True) -> None:
        # Every process is later than the leases of those before it.
        with open_store(where, clock=lambda: time.time() + offset) as store:
            while leased := store.lease(f"worker {offset}", 60):
                os.write(writer, b".")
                store.record(f"worker {offset}", [DONE(one) for one in leased], DONE.truth)
                os.write(writer, b".")
            while forever:
                os.write(writer, b".")
                time.sleep(0.01)

    for turn in range(20):
        number = child(lambda turn=turn: work(100.0 * turn))
        for _ in range(chance.randint(1, 6)):
            os.read(reader, 1)
        time.sleep(chance.uniform(0, 0.01))
        os.kill(number, signal.SIGKILL)
        assert ended(number) == -signal.SIGKILL
        kills += 1
        with open_store(where, read_only=True) as store:
            done = {kept.key: kept.stack for kept in store.trials({"done"})}
        lost += len(before - set(done))
        torn += sum(number % stack != 0 for number in Counter(done.values()).values())
        before = set(done)
        os.set_blocking(reader, False)
        with contextlib.suppress(BlockingIOError):
            while os.read(reader, 1_000):
                pass
        os.set_blocking(reader, True)
    assert before, "the kills met nothing"
    assert ended(child(lambda: work(100_000.0, forever=False))) == 0
    return {"kills": kills, "torn": torn, "lost": lost, "trials": len(plan), "states": states(where)}


def die(_: Path, where: str) -> dict[str, Any]:
    """Kill a process between lease and record; another takes over when the lease has run out, and not before."""
    with open_store(where) as store:
        store.plan(planned(4))
    reader, writer = os.pipe()

    def work() -> None:
        with open_store(where) as store:
            store.lease("dead", 3_600)
            os.write(writer, b"leased")
            time.sleep(60)

    number = child(work)
    os.read(reader, 6)
    os.kill(number, signal.SIGKILL)
    ended(number)
    with open_store(where) as store:
        store.lease("next", 9_000)  # the other stack
        early = [one.key for one in store.lease("next", 9_000)]
    with open_store(where, clock=lambda: time.time() + 3_601) as store:
        late = store.lease("other", 60)
        recorded = len(store.record("other", [DONE(one) for one in late], DONE.truth).new)
    return {"while it lived": early, "after its lease ran out": [one.key for one in late], "recorded": recorded}


def begin(_: Path, *places: str) -> dict[str, Any]:
    """At every place six processes that open a store at the same moment, which none of them finds there."""
    failed = 0
    for where in places:
        reader, writer = os.pipe()

        def work(where: str = where, reader: int = reader, writer: int = writer) -> None:
            os.close(writer)
            os.read(reader, 1)  # until the pipe is closed, for all at once
            with open_store(where) as store:
                store.plan(planned(5))

        children = [child(work) for _ in range(6)]
        os.close(reader)
        os.close(writer)
        failed += sum(ended(number) != 0 for number in children)
    return {"failed": failed, "states": [states(where) for where in places]}


@contextlib.contextmanager
def ended_with_this_process() -> Iterator[None]:
    """Take no child along when this process is stopped."""
    os.setpgrp()
    try:
        yield
    except BaseException:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
        raise


TASKS = {"race": race, "kill": kill, "die": die, "begin": begin}

if __name__ == "__main__":
    for name in sys.argv[3:]:
        opened(store_location(name)).dispose()  # imports what children need, once, before they are forked
    with ended_with_this_process():
        sys.stdout.write(json.dumps(TASKS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])))
