"""Running the program inside the test process, as a user would call it."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from equipoise.cli import main


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


class Program:
    """Calls ``equipoise`` with arguments and tells how it ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: object) -> Ended:
        self._monkeypatch.setattr(sys, "argv", ["equipoise", *map(str, arguments)])
        self._monkeypatch.setenv("COLUMNS", "120")
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = self._capsys.readouterr()
        return Ended(code, captured.out, captured.err)
