"""A page as a PDF, printed by a Chromium that is on the machine; nothing is fetched, and the page's own style prints.

The program is the first of ``PROGRAMS`` on the path, or the one that the variable ``EQUIPOISE_CHROMIUM`` names.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
)

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
VARIABLE = "EQUIPOISE_CHROMIUM"
# The page is ours, runs its own scripts alone and asks for nothing; a sandbox is missing in most containers.
SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-default-apps",
    "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND", "--no-pdf-header-footer",
    "--virtual-time-budget=10000",
)  # fmt: skip
# A page of 3 MB takes some seconds; a browser that says nothing for so long is stuck.
SECONDS = 120.0
BEGINNING = b"%PDF-"
HELP = f"install Chromium (on Debian: apt install chromium), name it in ${VARIABLE}, or write a page and print that."


def find_browser() -> str:
    """Return the program that prints, or raise ``BadInput`` where there is none."""
    named = os.environ.get(VARIABLE)
    browser = next((path for name in ([named] if named else PROGRAMS) if (path := shutil.which(name))), None)
    if browser is None and named:
        raise BadInput(f"${VARIABLE} names {named!r}, which is no program", available="the path of Chromium", help=HELP)
    if browser is None:
        raise BadInput("A PDF is printed by Chromium, and none was found", available=", ".join(PROGRAMS), help=HELP)
    return browser


def pdf(page: str, *, seconds: float = SECONDS) -> bytes:
    """Return a page, given as HTML, as it is printed."""
    program = find_browser()
    with tempfile.TemporaryDirectory(prefix="equipoise-", ignore_cleanup_errors=True) as directory:
        folder = Path(directory)
        source, printed = folder / "page.html", folder / "page.pdf"
        source.write_text(page, encoding="utf-8")
        command = [
            program, *SWITCHES, f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={printed}", source.as_uri()
        ]  # fmt: skip
        output = _run(command, folder / "said.txt", seconds)
        content = printed.read_bytes() if printed.is_file() else b""
    if not content.startswith(BEGINNING):
        last = output.strip().splitlines()[-1:] or ["it said nothing"]
        raise EquipoiseError(f"{program} printed no PDF: {last[0][:300]}", help=HELP)
    return content


def _run(command: list[str], log: Path, seconds: float) -> str:
    """Run a program to its end, and return what it said; one that takes too long is ended, and all that it started."""
    with log.open("wb") as stream:
        try:
            running = subprocess.Popen(  # noqa: S603 - the browser of the machine, and a page of ours
                command, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
            )
        except OSError as error:
            raise EquipoiseError(f"{command[0]} could not be started: {error.strerror}", help=HELP) from error
        try:
            running.wait(seconds)
        except subprocess.TimeoutExpired:
            raise EquipoiseError(f"{command[0]} printed no PDF within {seconds:g} s", help=HELP) from None
        finally:
            _end(running)
    return log.read_text(encoding="utf-8", errors="replace")


def _end(running: subprocess.Popen[bytes]) -> None:
    """End a program and its children, if they still run."""
    if running.poll() is not None:
        return
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(running.pid, signal.SIGKILL)
        else:
            running.kill()
    running.wait()
