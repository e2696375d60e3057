"""Progress where nobody looks at a terminal: a log gets plain lines."""

import threading

import pytest

from equipoise.cli import _console as console


def test_a_log_gets_lines_while_long_work_goes_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console, "LOG_EVERY", 0.01)
    written = threading.Event()
    lines: list[str] = []

    def write(self: object, line: str, **_: object) -> None:
        lines.append(line)
        if line.startswith("Judging"):
            written.set()

    monkeypatch.setattr("rich.console.Console.print", write)
    with console.show_progress("Searching", quiet=False) as tracker:
        tracker("Judging", 0.5)
        assert written.wait(60)
    assert lines[-1].startswith("Judging: 50% after ")
    assert lines[-1].endswith("left")


def test_quiet_work_writes_nothing(monkeypatch: pytest.MonkeyPatch):
    started: list[object] = []
    monkeypatch.setattr(console.threading, "Thread", lambda **options: started.append(options))
    with console.show_progress("Searching", quiet=True) as tracker:
        tracker("Judging", 0.5)
    assert not started
