"""Programs that a test needs and a machine may lack: without them it is skipped, or fails where they are required."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(program: str, what: str, advice: str) -> NoReturn:
    """Skip, or fail where EQUIPOISE_REQUIRE names the program, such as "chromium" in "chromium,postgres"."""
    if program in os.environ.get("EQUIPOISE_REQUIRE", "").split(","):
        pytest.fail(f"{what} is required by EQUIPOISE_REQUIRE, and missing: {advice}")
    pytest.skip(f"{what} is not here: {advice}")
