"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from equipoise.foundation._text import forget_secrets
from helpers.running import Program

# However busy the machine is: time decides no test.
hypothesis.settings.register_profile("equipoise", deadline=None)
hypothesis.settings.load_profile("equipoise")


@pytest.fixture
def equipoise(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def _no_secrets() -> Iterator[None]:
    """Let no password of one test be cut out of what another reads."""
    yield
    forget_secrets()
