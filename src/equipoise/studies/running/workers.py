"""Several worker processes on one machine, which share a store and the cores; a worker that dies is replaced."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import secrets
import signal
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput, EquipoiseError
from equipoise.studies.running.environment import available_cores, limit_threads
from equipoise.studies.running.owners import machine
from equipoise.studies.running.progress import Watcher, standing
from equipoise.studies.running.running import PAUSE, free_dead, work_through
from equipoise.studies.running.work import Work

if TYPE_CHECKING:
    from equipoise.studies.storage.store import Store
    from equipoise.studies.storage.truth import Truth

# So many workers may die one after the other while nothing is recorded, before the study gives up.
MOST_DEATHS = 5
# How long a worker that was asked to stop may take, in seconds.
GRACE = 10.0
# How a worker ends that could not go on, or was asked to stop.
STOPPED, INTERRUPTED = 2, 130


@dataclass(frozen=True)
class Shared:
    """The store that all workers open: its path or URL, the plan in it, and the folder for what is too large."""

    where: str
    plan: str
    artefacts: str | os.PathLike[str] | None = None


@dataclass(frozen=True, eq=False)
class Worker:
    """A worker process, and the pipe through which it says why it stopped."""

    process: Any
    heard: Connection
    owner: str


def run_workers(
    work: Work, truth: Truth, store: Store, shared: Shared, number: int, watcher: Watcher | None = None
) -> None:
    """Let so many processes work through the store; return when every trial has ended."""
    threads = max(available_cores() // number, 1)
    workers = [_started(work, truth, shared, threads) for _ in range(number)]
    deaths, ended = 0, -1
    try:
        while True:
            time.sleep(PAUSE)
            status = store.status()
            if watcher is not None:
                watcher(standing(status, number))
            finished = status.done + status.failed
            deaths, ended = (deaths, ended) if finished == ended else (0, finished)
            if not status.waiting + status.running:
                break
            for place, worker in enumerate(workers):
                if worker.process.is_alive():
                    continue
                # One that found nothing to do is needed again where trials were given back since.
                if worker.process.exitcode:
                    deaths += 1
                    _check(worker, deaths)
                free_dead(store)
                workers[place] = _started(work, truth, shared, threads)
    finally:
        _stop(workers)
        with contextlib.suppress(EquipoiseError):
            free_dead(store)


def _started(work: Work, truth: Truth, shared: Shared, threads: int) -> Worker:
    context = multiprocessing.get_context("spawn")
    heard, said = context.Pipe(duplex=False)
    token = secrets.token_hex(4)
    process = context.Process(target=_main, args=(work, truth, shared, token, threads, os.getpid(), said))
    process.start()
    said.close()
    return Worker(process, heard, f"{machine()}:{process.pid}:{token}")


def _main(work: Work, truth: Truth, shared: Shared, token: str, threads: int, parent: int, said: Connection) -> None:
    """Be a worker: until nothing is left, or the process that started it is gone."""
    from equipoise.studies.storage.store import open_store

    signal.signal(signal.SIGTERM, _interrupt)
    owner = f"{machine()}:{os.getpid()}:{token}"
    try:
        limit_threads(threads)
        with open_store(shared.where, create=False, plan=shared.plan, artefacts=shared.artefacts) as store:
            work_through(work, truth, store, owner, alive=lambda: os.getppid() == parent)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except EquipoiseError as error:
        said.send(str(error))
        sys.exit(STOPPED)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _check(worker: Worker, deaths: int) -> None:
    """Raise what a worker said before it stopped; one that was killed is replaced, unless they die again and again."""
    # A killed worker leaves an empty or a broken pipe.
    with contextlib.suppress(EOFError, OSError):
        if worker.heard.poll():
            raise BadInput(str(worker.heard.recv()))
    if deaths > MOST_DEATHS:
        raise BadInput(
            f"Workers died {deaths} times while no trial was recorded, at last with {_code(worker.process.exitcode)}",
            way_out="see whether memory is short (fewer workers, or stack = 4 in the plan), and whether the script "
            'that starts the study does so under if __name__ == "__main__":. What was recorded is safe.',
        )


def _code(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _stop(workers: list[Worker]) -> None:
    for worker in workers:
        if worker.process.is_alive():
            worker.process.terminate()
    until = time.monotonic() + GRACE
    for worker in workers:
        worker.process.join(max(until - time.monotonic(), 0.1))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.heard.close()
