"""The page of the benchmark on sprites in a real browser: nothing is fetched, everybody can read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproductions.sprites.report import Sprites

from helpers.cases.sprites import CASES
from helpers.chromium import Browser, check_opened

pytestmark = pytest.mark.once

DESKTOP, PHONE = (1280, 900), (375, 800)
NAMES = ("whole", "few", "stopped", "hostile")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {name: Sprites.of(CASES[name]()).report(folder / f"{name}.html") for name in NAMES}


@pytest.mark.parametrize(
    ("name", "size"),
    [("whole", DESKTOP), ("whole", PHONE), ("few", PHONE), ("stopped", DESKTOP), ("hostile", PHONE)],
    ids=lambda part: part if isinstance(part, str) else f"{part[0]} wide",
)
def test_a_page_opens_without_complaint_and_keeps_nobody_out(
    browser: Browser, pages: dict[str, Path], axe: str, name: str, size: tuple[int, int]
) -> None:
    check_opened(browser, pages[name], axe, size)
