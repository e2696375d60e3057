"""What all tests share."""

from __future__ import annotations

import hypothesis
import pytest

from running import Program

# However busy the machine is: time decides no test.
hypothesis.settings.register_profile("equipoise", deadline=None)
hypothesis.settings.load_profile("equipoise")


@pytest.fixture
def equipoise(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)
