"""Progress where nobody looks at a terminal: a log gets plain lines."""

import threading

import pytest

from equipoise.cli import _console as console


def test_a_log_gets_lines_while_long_work_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(console, "LOG_EVERY", 0.01)
    steps = console.Steps("Searching")
    steps("Judging", 0.5)
    written = threading.Event()
    monkeypatch.setattr("rich.console.Console.print", lambda self, text, **_: (lines.append(text), written.set()))
    lines: list[str] = []
    with console.watching("Searching", quiet=False, steps=steps):
        assert written.wait(60)
    assert lines[0].startswith("Judging: 50% after ")
    assert "left" in lines[0]


def test_quiet_work_writes_nothing(monkeypatch: pytest.MonkeyPatch):
    started: list[object] = []
    monkeypatch.setattr(console.threading, "Thread", lambda **options: started.append(options))
    with console.watching("Searching", quiet=True):
        pass
    assert not started
