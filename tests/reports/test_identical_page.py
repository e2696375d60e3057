"""Identical runs on the page of a study, and the page of a reproduction: true to the JSON, whole and readable."""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import altair
import pytest
from rich.console import Console

from equipoise.foundation import report_of
from equipoise.reports import charts_of, page, show
from equipoise.reports.charts.chart import INK
from equipoise.reports.charts.matrix import COSTLY, MOVES
from equipoise.reports.charts.strips import MOST_LINES
from equipoise.reports.narrative.study import OVERALL, as_evidence
from equipoise.studies.findings import result_of
from equipoise.studies.findings.identical._paper import Reproduction, reproduction_of
from helpers.cases.study import TECHNIQUES, demo, hostile, picture_data, pictures, plain, settings
from helpers.chromium import Browser
from helpers.page_checks import Tree, check_number, contrast
from helpers.pages import Pages, check_figures, check_own_page

pytestmark = [pytest.mark.long, pytest.mark.once]

SHARES = ("relative_maxdiff", "survives")
LISTS = ("identical_runs", "both_sides", "class_failures", "fairest_of_n")
CASES = {"pictures": pictures, "plain": plain, "demo": demo, "hostile": hostile, "settings": settings}
every_case = pytest.mark.parametrize("name", list(CASES))


@cache
def html_of(name: str) -> str:
    return page(CASES[name]())


@cache
def tree_of(name: str) -> Tree:
    return Tree(html_of(name))


@cache
def drawn(name: str) -> dict[str, list[Any]]:
    parts: dict[str, list[Any]] = {}
    for part, chart in charts_of(CASES[name]()).items():
        parts.setdefault(re.sub(r"_\d+$", "", part), []).append(chart)
    return parts


def rows_of(name: str, part: str) -> list[dict[str, Any]]:
    return [row for chart in drawn(name)[part] for row in chart.spec["datasets"]["rows"]]


@every_case
def test_every_number_of_the_section_is_that_of_the_json(name: str) -> None:
    content: Any = CASES[name]().as_json()
    shown = [element for element in tree_of(name).elements if element.attributes.get("data-list") in LISTS]
    assert len(shown) > 20
    for element in shown:
        part, place, what = (str(element.attributes[key]) for key in ("data-list", "data-r", "data-f"))
        check_number(element.words, content[part][int(place)][what], whole=100 if what in SHARES else 1)


@every_case
def test_words_and_pictures_come_before_tables(name: str) -> None:
    section = tree_of(name).by_id("identical")
    assert "Repeating the same training" in section.words
    text = html_of(name)
    own = text[text.index('<section id="identical"') :]
    own = own[: own.index("</section>")]
    assert own.index("<li>") < own.index("<figure") < own.index("<table")


def test_the_charts_draw_what_the_json_says() -> None:
    result = pictures()
    adapted = as_evidence(result, MOST_LINES)
    marks = [row for row in rows_of("pictures", "runs") if "x" in row]
    assert len(marks) == 10 * 8 * 16
    assert {round(row["x"], 5) for row in marks} == {
        round(float(f"{value:.6g}"), 5) for record in result.identical_runs for value in record.values
    }
    for row in rows_of("pictures", "runs"):
        if "mean" in row:
            record = adapted.records[row["record"]]
            assert (row["mean"], row["min"], row["max"]) == pytest.approx(
                (record.mean, record.min, record.max), rel=1e-5
            )
    impact = [one for one in result.identical_classes if one.alias == "DI"]
    assert len(rows_of("pictures", "classes")) == len(impact) == 100
    for row in rows_of("pictures", "classes"):
        record = impact[row["place"]]
        assert (row["low"], row["high"]) == pytest.approx((record.min, record.max), rel=1e-5)
        assert row["found"] == (record.min <= 0.2 < record.max)
    assert len(rows_of("pictures", "sides")) == len(result.both_sides)
    for row in rows_of("pictures", "fairest"):
        record = result.fairest_of_n[row["fairest"]]
        value = record.apparent if row["what"].endswith("chosen on") else record.honest
        assert row["value"] == pytest.approx(100 * value, rel=1e-4, abs=1e-9)
    assert len(rows_of("pictures", "fairest")) == 10 * 4 * 2
    for row in rows_of("pictures", "costs"):
        record = result.records[row["record"]]
        assert row["step"].startswith("lower") == (record.verdict == "lower")
        assert ("at a cost" in row["step"]) == (record.verdict == "lower" and bool(record.costs))


def test_the_runs_of_a_study_are_evidence_with_the_studys_verdicts() -> None:
    adapted = as_evidence(plain(), MOST_LINES)
    assert {record.baseline for record in adapted.records if record.verdict} == {
        f"untreated, {condition}" for condition in ("original data", "jointly balanced")
    }
    assert all(len(run.values) == 3 for run in adapted.runs), "one seed of each"
    sides = as_evidence(pictures(), MOST_LINES).straddling
    assert sides[0].by == OVERALL


def test_of_several_seeds_the_section_says_which_is_drawn() -> None:
    assert "Of several seeds" in tree_of("plain").by_id("identical").words
    assert "Of several seeds" not in tree_of("pictures").by_id("identical").words


def test_a_control_alone_shows_its_runs_too() -> None:
    result = result_of(picture_data(images=60, runs=3, techniques=TECHNIQUES[:1]))
    charts = charts_of(result)
    assert "runs" in charts
    assert "costs" not in charts
    assert 'id="identical"' in page(result)


def test_the_new_charts_keep_to_the_schema_and_letters_can_be_read() -> None:
    for part in ("runs", "classes", "sides", "fairest", "costs"):
        for chart in drawn("pictures")[part]:
            altair.Chart.from_dict(chart.spec, validate=True)
    assert all(contrast(INK, colour) >= 4.5 for _, colour in MOVES.values())
    assert all(contrast(INK, colour) >= 4.5 for colour in COSTLY.values())


def test_the_terminal_has_a_short_part_of_its_own() -> None:
    for width in (80, 140):
        console = Console(width=width, record=True, file=io.StringIO())
        show(pictures(), console)
        text = console.export_text()
        assert text.count("Repeating the same training") == 1
        assert text.index("Identical runs: how much is luck?") < text.index("Repeating the same training")


@cache
def reproduced() -> Reproduction:
    return reproduction_of(pictures(), ["equipoise", "reproduce", "004"])


@cache
def in_part() -> Reproduction:
    return reproduction_of(result_of(picture_data(images=60, runs=2, techniques=TECHNIQUES[:2])))


@cache
def harmful() -> Reproduction:
    return reproduction_of(hostile())


REPORT = report_of("reproduction")
REPRODUCTIONS = Pages(
    {"whole": reproduced, "part": in_part, "hostile": harmful}, REPORT.page,
    lambda result: {name: [chart] for name, chart in REPORT.charts(result).items()},
)  # fmt: skip


@REPRODUCTIONS.every
def test_a_reproduction_has_a_whole_page_and_a_fragment(name: str) -> None:
    REPRODUCTIONS.check_whole(name)
    REPRODUCTIONS.check_fragment(name)
    REPRODUCTIONS.check_harmless(name)
    REPRODUCTIONS.check_schema(name)
    words = REPRODUCTIONS.words(name, "claims")
    first = REPRODUCTIONS.words(name, "verdict")
    assert "Qian et al. 2021" in first
    for claim in REPRODUCTIONS.cases[name]().records:
        assert claim.claim in words
        assert f"Finding {claim.finding}: " in first


def test_the_numbers_of_table_4_are_those_of_the_json() -> None:
    content: Any = reproduced().as_json()
    shown = [
        element
        for element in REPRODUCTIONS.tree("whole").elements
        if element.attributes.get("data-list") == "techniques"
    ]
    assert len(shown) == 40
    for element in shown:
        row = content["techniques"][int(str(element.attributes["data-r"]))]
        check_number(element.words, row[str(element.attributes["data-f"])], whole=100)


def test_a_reproduction_writes_its_page_its_figures_and_speaks_in_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "page").mkdir()
    check_own_page(reproduced(), REPORT.write, tmp_path / "page")
    names = check_figures(REPORT.write_figures(reproduced(), tmp_path / "figures"), tmp_path / "figures")
    assert names == ["01-table-4.svg"]
    for made in (reproduced(), harmful()):
        console = Console(width=100, record=True, file=io.StringIO())
        REPORT.show(made, console)
        text = console.export_text()
        assert all(f"Finding {claim.finding}:" in text for claim in made.records)
        assert "\u202e" not in text


def test_a_study_of_pictures_opens_in_a_browser_without_a_word_of_complaint(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "study.html"
    file.write_text(html_of("pictures"), encoding="utf-8")
    for size in ((1280, 900), (375, 800)):
        browser.size(*size)
        browser.open(file)
        assert browser.complaints() == []
        assert browser.requests() == []
        assert browser.evaluate("document.querySelectorAll('#identical figure.drawn .live svg').length") == 5
        assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
