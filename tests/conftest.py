"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from equipoise.foundation._text import forget_secrets
from helpers.running import Program

# However busy the machine is: time decides no test.
hypothesis.settings.register_profile("equipoise", deadline=None)
hypothesis.settings.load_profile("equipoise")


# What these folders test knows nothing of torch.
ALIKE = tuple(Path(__file__).parent / room for room in ("audits/evidence", "conditions", "foundation", "stats"))


@pytest.hookimpl(tryfirst=True)  # before marks select
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(folder in item.path.parents for folder in ALIKE):
            item.add_marker(pytest.mark.once)


@pytest.fixture
def equipoise(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    return Program(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def _no_secrets() -> Iterator[None]:
    """Let no password of one test be cut out of what another reads."""
    yield
    forget_secrets()
