"""Pages in a real browser: nothing is fetched, nothing runs that is not ours, and everybody can read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.cases import compare as compare_cases
from helpers.cases import embedding as embedding_cases
from helpers.cases import evidence as evidence_cases
from helpers.cases import report as report_cases
from helpers.cases import study as study_cases
from helpers.chromium import Browser

pytestmark = pytest.mark.once

AUDITS = ("adult", "hostile", "fifty_groups", "regression", "changed")
EVIDENCE = ("plain", "hostile", "odd", "classes", "many_techniques")
EMBEDDINGS = ("plain", "hostile", "hidden", "many_groups")
COMPARISONS = ("planted", "hostile", "hidden", "copies")
STUDIES = ("curves", "hostile")
TITLES = {"evidence": "Evidence from ", "compare": "Comparison of ", "study": "Study of "}
CASES = {
    **{name: report_cases.CASES[name] for name in AUDITS},
    **{f"evidence, {name}": evidence_cases.CASES[name] for name in EVIDENCE},
    **{f"embedding, {name}": embedding_cases.CASES[name] for name in EMBEDDINGS},
    **{f"compare, {name}": compare_cases.CASES[name] for name in COMPARISONS},
    **{f"study, {name}": study_cases.CASES[name] for name in STUDIES},
}
PAGES = tuple(CASES)
PLAIN = ["adult", "evidence, plain", "compare, planted", "embedding, plain", "study, curves"]
OPENED = ["adult", "evidence, classes", "compare, planted", "embedding, plain", "study, curves"]
DESKTOP, PHONE = (1280, 900), (375, 800)
TAB, ENTER = ("Tab", 9), ("Enter", 13)


class Pages(dict[str, Path]):
    """Pages by name, each made when a test asks for it: of several processes none makes all of them."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, name: str) -> Path:
        self[name] = CASES[name]().report(self.folder / f"{name}.html")
        return self[name]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))


def unfold(browser: Browser) -> None:
    """Open what is folded: charts are drawn where they can be seen."""
    browser.evaluate("document.querySelectorAll('details.fold').forEach(part => { part.open = true; }); 0")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_a_word_of_complaint_and_asks_for_nothing(
    browser: Browser, pages: dict[str, Path], name: str, size: tuple[int, int]
) -> None:
    browser.size(*size)
    browser.open(pages[name])
    assert browser.complaints() == []
    assert browser.requests() == []
    assert browser.files() == {pages[name].resolve().as_uri()}
    assert browser.evaluate("typeof window.injected") == "undefined"
    title = TITLES.get(name.partition(",")[0], "Fairness audit of ")
    assert browser.evaluate("document.title").startswith(title)
    unfold(browser)
    charts = browser.evaluate("document.querySelectorAll('figure').length")
    assert charts >= 2
    browser.wait_for(f"document.querySelectorAll('figure.drawn .live svg[role=img][aria-label]').length === {charts}")
    assert browser.complaints() == []
    assert browser.evaluate(
        "[...document.querySelectorAll('.live svg')].every(s => s.querySelectorAll('path, line').length > 5)"
    )
    assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
        "the page is wider than its window"
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_chart_of_several_panels_fits_the_window(browser: Browser, pages: dict[str, Path], name: str) -> None:
    for size in (DESKTOP, PHONE):
        browser.size(*size)
        browser.open(pages[name])
        unfold(browser)
        browser.wait_for("[...document.querySelectorAll('.live')].every(live => live.querySelector('svg'))")
        wide = browser.evaluate("""
            JSON.parse(document.getElementById('charts').textContent).filter(chart => {
                const figure = document.getElementById(chart.id);
                const drawn = figure.querySelector('.live svg').getBoundingClientRect();
                return chart.fit && drawn.width > figure.clientWidth + 1;
            }).map(chart => chart.id)""")
        assert wide == []


@pytest.mark.parametrize("name", ["adult", "evidence, plain", "study, curves"])
def test_a_grid_of_cells_keeps_its_columns_on_a_phone(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.size(*PHONE)
    browser.open(pages[name])
    unfold(browser)
    browser.wait_for("[...document.querySelectorAll('.live')].every(live => live.querySelector('svg'))")
    grids = browser.evaluate("""
        JSON.parse(document.getElementById('charts').textContent)
            .filter(chart => !chart.fit && chart.spec.params.some(one => one.name === 'columns')).map(chart => {
                const figure = document.getElementById(chart.id);
                const drawn = figure.querySelector('.live svg').getBoundingClientRect();
                const columns = chart.spec.params.find(one => one.name === 'columns').value.length;
                return [columns, drawn.width - figure.clientWidth];
            })""")
    assert grids
    # Seven columns of readable numbers and their names fit; what has more can be scrolled.
    assert all(over <= 1 for columns, over in grids if columns <= 7), grids


def test_charts_are_drawn_anew_when_the_window_changes(browser: Browser, pages: dict[str, Path]) -> None:
    width = "document.querySelector('.live svg').getBoundingClientRect().width"
    browser.size(*DESKTOP)
    browser.open(pages["adult"])
    before = browser.evaluate(width)
    browser.size(*PHONE)
    browser.wait_for(f"{width} < 370")
    assert before > 370
    assert browser.complaints() == []


@pytest.mark.parametrize("name", PAGES)
def test_without_scripts_every_chart_is_a_picture(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.size(*DESKTOP)
    browser.open(pages[name], scripts=False)
    browser.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; }); 0")
    assert browser.evaluate("document.querySelectorAll('figure.drawn').length") == 0
    assert browser.evaluate("[...document.images].length") >= 2
    assert browser.evaluate(
        "[...document.images].every(i => i.complete && i.naturalWidth > 100 && i.offsetHeight > 20)"
    )
    assert browser.requests() == []


@pytest.mark.parametrize("name", PLAIN)
def test_on_paper_the_still_pictures_are_shown(
    browser: Browser, pages: dict[str, Path], tmp_path: Path, name: str
) -> None:
    browser.size(*DESKTOP)
    browser.open(pages[name])
    browser.call("Emulation.setEmulatedMedia", media="print")
    try:
        unfold(browser)  # as printing does
        assert browser.evaluate("[...document.querySelectorAll('.still')].every(s => s.offsetHeight > 20)")
        assert browser.evaluate("[...document.querySelectorAll('.live')].every(s => s.offsetHeight === 0)")
        assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    finally:
        browser.call("Emulation.setEmulatedMedia", media="")
    browser.print_to(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("name", OPENED)
def test_the_keyboard_reaches_the_skip_link_and_every_detail(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.size(*DESKTOP)
    browser.open(pages[name])
    focus = "document.activeElement.tagName + '|' + document.activeElement.className"
    browser.press(*TAB)
    assert browser.evaluate(focus) == "A|skip"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().left") >= 0, "the skip link is seen"
    browser.press(*ENTER)
    assert browser.evaluate("location.hash") == "#verdict"
    seen = set()
    for _ in range(200):
        browser.press(*TAB)
        at = browser.evaluate("""(() => {
            const here = document.activeElement, all = [...document.querySelectorAll('summary, .scroll, .canvas')];
            return all.indexOf(here);
        })()""")
        seen.add(at)
        if browser.evaluate("document.activeElement === document.body"):
            break
    reachable = browser.evaluate("""(() => {
        const all = [...document.querySelectorAll('summary, .scroll, .canvas')];
        const around = e => e.tagName === 'SUMMARY' ? e.parentElement.parentElement : e;
        return all.map((e, place) => around(e).closest('details:not([open])') ? -1 : place).filter(p => p >= 0);
    })()""")
    assert set(reachable) <= seen
    browser.evaluate("document.querySelector('details:not([open]) > summary').focus()")
    browser.press(*ENTER)
    assert browser.evaluate("document.activeElement.parentElement.open") is True


@pytest.mark.parametrize(
    ("name", "size", "opened"),
    [
        pytest.param("adult", DESKTOP, True, id="adult, opened"),
        pytest.param("hostile", PHONE, False, id="hostile"),
        pytest.param("fifty_groups", DESKTOP, False, id="fifty groups"),
        pytest.param("regression", PHONE, True, id="regression, opened"),
        pytest.param("evidence, plain", DESKTOP, True, id="evidence, opened"),
        pytest.param("evidence, hostile", PHONE, True, id="evidence, hostile, opened"),
        pytest.param("evidence, odd", DESKTOP, True, id="evidence, odd, opened"),
        pytest.param("evidence, classes", PHONE, True, id="evidence, classes, opened"),
        pytest.param("embedding, plain", DESKTOP, True, id="embedding, opened"),
        pytest.param("embedding, hostile", PHONE, True, id="embedding, hostile, opened"),
        pytest.param("embedding, hidden", PHONE, False, id="embedding, hidden"),
        pytest.param("embedding, many_groups", DESKTOP, True, id="embedding, many groups, opened"),
        pytest.param("compare, planted", DESKTOP, True, id="compare, opened"),
        pytest.param("compare, hostile", PHONE, True, id="compare, hostile, opened"),
        pytest.param("compare, hidden", DESKTOP, False, id="compare, hidden"),
        pytest.param("compare, copies", PHONE, True, id="compare, copies, opened"),
        pytest.param("study, curves", DESKTOP, False, id="study"),
        pytest.param("study, hostile", PHONE, True, id="study, hostile, opened"),
    ],
)
def test_axe_finds_nothing_that_keeps_anybody_out(
    browser: Browser, pages: dict[str, Path], axe: str, name: str, size: tuple[int, int], opened: bool
) -> None:
    browser.size(*size)
    browser.open(pages[name])
    if opened:
        browser.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; }); 0")
    # The rows of a table are alike; some of each are enough, for what axe takes grows faster than their number.
    browser.evaluate(
        "document.querySelectorAll('tbody').forEach(t => [...t.rows].slice(20).forEach(r => r.remove())); 0"
    )
    browser.evaluate(f"{axe}; 0")
    # Inside a chart there are only shapes; that its letters can be read is told in test_page.
    found = browser.evaluate("""axe.run({exclude: [['.live svg > *']]}).then(report => ({
        violations: report.violations.map(rule => ({
            id: rule.id, nodes: rule.nodes.slice(0, 3).map(node => node.html.slice(0, 200)),
        })),
        contrast: report.passes.filter(rule => rule.id === 'color-contrast').flatMap(rule => rule.nodes).length,
    }))""")
    assert found["violations"] == [], json.dumps(found["violations"], indent=1)
    assert found["contrast"] > 50


def test_the_switch_opens_and_closes_everything_that_is_not_essential(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(*DESKTOP)
    browser.open(pages["adult"])
    shown = "[...document.querySelectorAll('details.fold')].filter(part => part.open).length"
    every = browser.evaluate("document.querySelectorAll('details.fold').length")
    essential = browser.evaluate("document.querySelectorAll('details.fold[data-essential]').length")
    assert browser.evaluate(shown) == essential < every
    browser.evaluate("document.querySelector('.switch button[data-level=detail]').click()")
    assert browser.evaluate(shown) == every
    assert browser.evaluate("document.querySelector('.switch [aria-pressed=true]').textContent") == "All details"
    browser.evaluate("document.querySelector('.switch button[data-level=summary]').click()")
    assert browser.evaluate(shown) == essential


def test_a_link_opens_the_section_it_leads_to(browser: Browser, pages: dict[str, Path]) -> None:
    browser.size(*DESKTOP)
    browser.open(pages["adult"])
    assert browser.evaluate("document.querySelector('#power details.fold').open") is False
    browser.evaluate("document.querySelector('nav a[href=\"#power\"]').click()")
    browser.wait_for("document.querySelector('#power details.fold').open")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_dark_page_can_be_read(browser: Browser, pages: dict[str, Path], axe: str, size: tuple[int, int]) -> None:
    browser.size(*size)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    try:
        browser.open(pages["adult"])
        assert (
            browser.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor") == "rgb(24, 32, 40)"
        )
        assert "invert" in browser.evaluate("getComputedStyle(document.querySelector('.live svg')).filter")
        browser.evaluate(f"{axe}; 0")
        found = browser.evaluate("""axe.run({exclude: [['.live svg > *']]}).then(report =>
            report.violations.map(rule => ({id: rule.id, nodes: rule.nodes.slice(0, 3).map(node => node.html)})))""")
        assert found == [], json.dumps(found, indent=1)
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])
