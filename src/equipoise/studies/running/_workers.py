"""Several worker processes on one machine that share a store and the cores; one that dies is replaced."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    defer_interrupts,
    write_file,
)
from equipoise.studies.running._environment import available_cores
from equipoise.studies.running._handover import PROCESS, NotTransferable, StoreAccess, WorkerInput, worker_folder
from equipoise.studies.running._progress import Watcher, standing
from equipoise.studies.running._running import PAUSE, free_dead
from equipoise.studies.running._work import Work
from equipoise.studies.running._worker_process import REASON, START, process_preparation

if TYPE_CHECKING:
    from equipoise.studies.storage import EvaluationLabels, Store


__all__ = ["NotTransferable", "StoreAccess", "run_workers"]

# So many workers may die one after the other while nothing is recorded, before the study gives up.
MOST_DEATHS = 5
# How long a worker that was asked to stop may take, in seconds.
GRACE = 10.0


@dataclass(frozen=True, eq=False)
class Worker:
    """A worker process, and the file in which it says why it could not go on."""

    process: subprocess.Popen[bytes]
    reason: Path


def run_workers(
    work: Work,
    truth: EvaluationLabels,
    store: Store,
    store_access: StoreAccess,
    number: int,
    watcher: Watcher | None = None,
) -> None:
    """Let so many processes work through the store; return when every trial has ended."""
    threads = max(available_cores() // number, 1)
    process = json.dumps(process_preparation())
    with worker_folder(WorkerInput(work, truth, store_access, threads, os.getpid())) as folder:
        write_file(folder / PROCESS, process, announced=False)
        workers: list[Worker] = []
        try:
            while len(workers) < number:
                with defer_interrupts():
                    workers.append(_started(folder))
            _watch(workers, folder, store, watcher)
        finally:
            _stop(workers)
            with contextlib.suppress(EquipoiseError):
                free_dead(store)


def _watch(workers: list[Worker], folder: Path, store: Store, watcher: Watcher | None) -> None:
    """Replace workers that die, until every trial has ended."""
    deaths, ended = 0, -1
    while True:
        time.sleep(PAUSE)
        status = store.status()
        if watcher is not None:
            watcher(standing(status, len(workers)))
        finished = status.done + status.failed
        deaths, ended = (deaths, ended) if finished == ended else (0, finished)
        if not status.waiting + status.running:
            return
        for index, worker in enumerate(workers):
            code = worker.process.poll()
            if code is None:
                continue
            # One that found nothing to do is needed again where trials were given back since.
            if code:
                deaths += 1
                _check(worker, code, deaths)
            free_dead(store)
            with defer_interrupts():
                workers[index] = _started(folder)


def _started(folder: Path) -> Worker:
    token = secrets.token_hex(4)
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    with _without_interrupts():
        process = subprocess.Popen([sys.executable, *flags, "-P", "-c", START, str(folder), token])  # noqa: S603
    return Worker(process, folder / f"{token}{REASON}")


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let a process begin with Ctrl-C held back, until it has said what it makes of it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check(worker: Worker, code: int, deaths: int) -> None:
    """Raise what a worker said before it stopped; one that was killed is replaced, unless they die again and again."""
    with contextlib.suppress(OSError):
        raise BadInput(worker.reason.read_text(encoding="utf-8"))
    if deaths > MOST_DEATHS:
        raise BadInput(
            f"Workers died {deaths} times while no trial was recorded, at last with {_code(code)}",
            help="check the memory (fewer workers, or stack = 4 in the plan). Recorded trials are safe.",
        )


def _code(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _stop(workers: list[Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    until = time.monotonic() + GRACE
    for worker in workers:
        try:
            worker.process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
