"""The page of an investigation and a naming sheet in a real browser: nothing is fetched, everybody can read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.discovery import strips_path, write_sheet
from helpers.cases.investigation import CASES
from helpers.chromium import Browser, check_opened

pytestmark = pytest.mark.once

DESKTOP, PHONE = (1280, 900), (375, 800)
NAMES = ("found", "hostile", "known only")
SHEETS = ("sheet", "sheet of hostile")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {name: CASES[name]().report(folder / f"{name}.html") for name in NAMES}
    for sheet, name in zip(SHEETS, NAMES, strict=False):
        made[sheet] = strips_path(write_sheet(CASES[name](), folder / f"{sheet}.csv"))
    return made


@pytest.mark.parametrize(
    ("name", "size"),
    [("found", DESKTOP), ("hostile", PHONE), ("known only", DESKTOP), ("sheet", PHONE), ("sheet of hostile", DESKTOP)],
    ids=lambda part: part if isinstance(part, str) else f"{part[0]} wide",
)
def test_a_page_opens_without_complaint_and_keeps_nobody_out(
    browser: Browser, pages: dict[str, Path], axe: str, name: str, size: tuple[int, int]
) -> None:
    check_opened(browser, pages[name], axe, size)
    assert browser.files() == {pages[name].resolve().as_uri()}
    assert browser.evaluate("[...document.querySelectorAll('.strips img')].every(i => i.naturalWidth === 32)")


def test_without_scripts_every_chart_is_a_picture(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(*DESKTOP)
    browser.open(pages["found"], scripts=False)
    assert browser.evaluate("document.querySelectorAll('figure.drawn').length") == 0
    assert browser.evaluate("[...document.images].every(i => i.complete && i.naturalWidth > 20 && i.offsetHeight > 20)")
    assert browser.requests() == []


@pytest.mark.parametrize("width", [420, 1300])
def test_the_marks_that_answer_are_on_the_screen(browser: Browser, pages: dict[str, Path], width: int) -> None:
    browser.size(width, 900)
    browser.open(pages["found"])
    box = "part.getBoundingClientRect()"
    seen = f"part => {box}.width > 0 && {box}.left >= 0 && {box}.right <= innerWidth"
    # The marks of confirmed directions in the charts, in the table, and every picture of the first strips.
    marks = (
        "[...document.querySelectorAll('figure.drawn .live path')].filter(p => p.getAttribute('fill') === '#1B2733')"
    )
    for every in (
        marks,
        "[...document.querySelectorAll('#directions td .neutral')]",
        "[...document.querySelectorAll('#verdict img')]",
    ):
        assert browser.evaluate(f"{every}.length > 1 && {every}.every({seen})"), every
