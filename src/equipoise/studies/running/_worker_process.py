"""A worker process of a study: it reads what it was handed, and trains until nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    write_file,
)

# How a worker ends that could not go on, or was asked to stop.
STOPPED, INTERRUPTED = 2, 130
# The file in which a worker says why it could not go on ends so.
REASON = ".reason"
# What a worker takes over of the process that starts it, as multiprocessing does: where modules are found, and the
# script in which the user may have registered something.
INHERITED = ("sys_path", "sys_argv", "orig_dir", "dir", "init_main_from_name", "init_main_from_path")
# Python does not look for modules in the current folder (-P), but where the process that starts it does.
START = (
    "import json, sys; folder, token = sys.argv[1:]; "
    "sys.path[:] = json.load(open(folder + '/process.json', encoding='utf-8'))['sys_path']; "
    "from equipoise.studies.running._worker_process import main; main(folder, token)"
)

_preparing = False


def process_preparation() -> dict[str, Any]:
    """Return what workers take over of this process; a script that is imported by a worker may not start a study."""
    refuse_within_a_worker()
    preparation: dict[str, Any] = spawn.get_preparation_data("worker")
    return {name: preparation[name] for name in INHERITED if name in preparation}


def refuse_within_a_worker() -> None:
    """Refuse a study that a script starts while a worker imports that script: workers would start workers."""
    if _preparing:
        raise BadInput(
            "The script starts its study whenever it is imported, and workers import it",
            help='start the study under if __name__ == "__main__":.',
        )


def main(folder: str, token: str) -> None:
    """Be a worker: until nothing is left, or the process that started it is gone."""
    # Ctrl-C reaches all processes of a terminal; the one that started this worker decides, and says so by SIGTERM.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    work_folder = Path(folder)
    try:
        _work(work_folder, token)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except EquipoiseError as error:
        write_file(work_folder / f"{token}{REASON}", str(error), announced=False)
        sys.exit(STOPPED)


def _work(folder: Path, token: str) -> None:
    import json

    from equipoise.studies.running._handover import PROCESS, read

    global _preparing  # a script is imported below, and must not start the study again
    _preparing = True
    spawn.prepare(json.loads((folder / PROCESS).read_text(encoding="utf-8")))
    handed = read(folder)
    _preparing = False

    from equipoise.studies.running._environment import limit_threads, machine
    from equipoise.studies.running._running import work_through
    from equipoise.studies.storage import OUTAGE, open_store

    shared, parent = handed.store, handed.parent
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        limit_threads(handed.threads)
        with open_store(
            shared.location, create=False, plan=shared.plan, artefacts=shared.artefacts, outage=OUTAGE
        ) as store:
            owner = f"{machine()}:{os.getpid()}:{token}"
            work_through(handed.work, handed.labels, store, owner, alive=lambda: os.getppid() == parent)
    finally:
        if os.getppid() != parent:  # nobody else is left to do it
            shutil.rmtree(folder, ignore_errors=True)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt
