"""A browser for the pages, started once in a process, and the script that says whom a page keeps out."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.chromium import Browser, browsing, program
from helpers.required import missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what opens a browser, which takes long."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("long")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = program()
    if path is None:
        missing("chromium", "Chromium", "apt-get install chromium")
    assert path is not None
    with browsing(path) as running:
        yield running


@pytest.fixture(scope="session")
def axe() -> str:
    found = importlib.util.find_spec("axe_core_python")
    if found is None or found.origin is None:
        missing("chromium", "axe", "pip install axe-core-python")
    assert found is not None
    return Path(str(found.origin)).with_name("axe.min.js").read_text(encoding="utf-8")
