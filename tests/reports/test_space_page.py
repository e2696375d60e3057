"""Embedding spaces on the page of a study and in the terminal: true to the JSON, whole, readable and harmless."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from equipoise.foundation import report_of
from equipoise.reports import charts_of, page, show
from equipoise.reports.charts import Chart
from helpers.cases.study import plain
from helpers.cases.study_space import CASES, apart, grid, hostile, imbalance, trainings
from helpers.chromium import Browser
from helpers.page_checks import check_number
from helpers.pages import Pages, check_figures

pytestmark = [pytest.mark.long, pytest.mark.once]


def parts_of(result: Any) -> dict[str, list[Chart]]:
    """Return the charts by the part of the page they belong to."""
    parts: dict[str, list[Chart]] = {}
    for name, chart in charts_of(result).items():
        parts.setdefault(re.sub(r"_\d+$", "", name), []).append(chart)
    return parts


PAGES = Pages(CASES, page, parts_of)
FITS = (
    "[...document.querySelectorAll('#spaces .live svg')]"
    ".every(s => s.getBoundingClientRect().width <= s.closest('figure').clientWidth + 1)"
)
PARTS = ("spaces", "space_contrasts", "space_settings")


@PAGES.every
def test_a_page_with_spaces_is_whole_harmless_and_keeps_to_the_schema(name: str) -> None:
    PAGES.check_whole(name)
    PAGES.check_fragment(name)
    PAGES.check_harmless(name)
    PAGES.check_schema(name)
    assert "spaces" in PAGES.ids(name)


@PAGES.every
def test_every_number_of_the_section_is_that_of_the_json(name: str) -> None:
    content: Any = PAGES.json(name)
    shown = [element for element in PAGES.tree(name).elements if element.attributes.get("data-list") in PARTS]
    assert len(shown) > 20
    for element in shown:
        row = content[str(element.attributes["data-list"])][int(str(element.attributes["data-r"]))]
        check_number(element.words, row[str(element.attributes["data-f"])])


def test_words_come_first_then_pictures_and_tables() -> None:
    text = PAGES.html("imbalance")
    own = text[text.index('<section id="spaces"') :]
    own = own[: own.index("</section>")]
    assert own.index("<li>") < own.index("<figure") < own.index("<table")
    assert "to the disadvantage of the minoritised" in PAGES.words("imbalance", "spaces")


def test_the_larger_gap_of_each_pair_is_marked() -> None:
    content: Any = PAGES.json("imbalance")
    number = r'<span data-r="(\d+)" data-list="space_contrasts" data-f="(value|against_value)">[^<]*</span>'
    shown = {place for place, _ in re.findall(number, PAGES.html("imbalance"))}
    marked = set(re.findall(number + r"\*", PAGES.html("imbalance")))
    assert marked
    for place, field in marked:
        row = content["space_contrasts"][int(place)]
        other = {"value": "against_value", "against_value": "value"}[field]
        assert abs(row[field]) > abs(row[other])
    assert {place for place, _ in marked} == {
        place for place in shown if content["space_contrasts"][int(place)]["larger"] is not None
    }


def test_charts_draw_what_the_json_says() -> None:
    result = imbalance()
    rows = PAGES.rows("imbalance", "space_curves")
    assert {row["degree"] for row in rows} == {0.5, 0.7, 0.9}
    for row in rows:
        record = result.spaces[row["space"]]
        assert record.kind == "gap"
        assert (row["mean"], row["low"], row["high"]) == pytest.approx((record.mean, record.low, record.high), rel=1e-4)
    above = {
        (space.condition, space.learner): space.mean
        for space in result.spaces if (space.kind, space.measure) == ("gap", "recall_at_k")
    }  # fmt: skip
    for row in PAGES.rows("imbalance", "space_scatter"):
        record = result.spaces[row["space"]]
        assert row["downstream"] == pytest.approx(record.mean, rel=1e-4)
        assert row["upstream"] == pytest.approx(above[record.condition, record.learner], rel=1e-4)
    for row in PAGES.rows("grid", "space_settings"):
        one = grid().space_settings[row["setting"]]
        assert row["chosen"] == one.chosen
        value = (one.overall, one.gap, one.worst, one.leakage["embedding"], one.leakage["features"])[row["panel"]]
        assert row["value"] == pytest.approx(value, rel=1e-4)
        assert -1 <= row["shade"] <= 1
    assert len(PAGES.rows("grid", "space_settings")) == 5 * 6
    assert len(PAGES.rows("grid", "space_maps")) == sum(len(one.x) for one in grid().space_maps)


def test_other_trainings_have_tables_and_only_the_usual_ones_have_panels() -> None:
    text = PAGES.html("trainings")
    for title in ("balanced rows: random forest", "domain-independent: logistic regression",
                  "oversampled rows: random forest"):  # fmt: skip
        assert f"Gaps downstream, trained on own rows → {title}" in text
    assert "domain-independent: random forest" not in text
    assert '<span class="hint">oversampled rows</span></th>' in text
    drawn = {trainings().spaces[row["space"]].training for row in PAGES.rows("trainings", "space_curves")}
    assert drawn == {None, "own", "balanced"}
    console = Console(width=150, record=True, file=io.StringIO())
    show(trainings(), console)
    assert "trained on own rows → oversampled rows" in console.export_text()


def test_the_released_and_the_sensitive_space_stand_side_by_side_with_examples_under_them() -> None:
    pytest.importorskip("PIL")
    own = [one for one in apart().space_maps if one.split == "dev"]
    rows = PAGES.rows("apart", "sensitive_maps")
    assert [sum(row["panel"] == panel for row in rows) for panel in (0, 1)] == [len(one.x) for one in own]
    words = PAGES.words("apart", "spaces")
    assert "colours should mix" in words
    assert "colours should part" in words
    found = apart().space_examples
    assert found is not None
    shown = [one for one in PAGES.tree("apart").all("img") if str(one.attributes["src"]).startswith("data:image/webp")]
    pictures = [one for line in found.examples for one in (line.query, *line.embedding, *line.sensitive)]
    assert [base64.b64decode(str(one.attributes["src"]).partition(",")[2]) for one in shown] == [
        picture.picture for picture in pictures
    ]
    assert [one.attributes["alt"] for one in shown] == [f"{picture.class_}, {picture.group}" for picture in pictures]
    assert "Examples: who lies next to whom" not in PAGES.html("grid")
    assert "sensitive_maps" not in PAGES.parts("grid")


def test_a_study_without_spaces_has_no_such_section() -> None:
    assert 'id="spaces"' not in page(plain())
    assert not any(name.startswith("space") for name in charts_of(plain()))


def test_the_charts_are_files_of_their_own(tmp_path: Path) -> None:
    names = check_figures(report_of("study").write_figures(grid(), tmp_path / "figures"), tmp_path / "figures")
    assert {"gaps-upstream-and-downstream.svg", "settings-of-parade.svg", "maps-of-spaces.svg"} <= {
        name[3:] for name in names
    }


@pytest.mark.parametrize("width", [80, 150])
def test_the_terminal_has_the_words_and_a_small_table(width: int) -> None:
    for result, title in ((imbalance(), "balanced control → imbalanced"), (grid(), "baseline → treated")):
        console = Console(width=width, record=True, file=io.StringIO())
        show(result, console)
        text = console.export_text()
        assert "Embedding spaces" in text
        assert title in text
        assert max(map(len, text.splitlines())) <= width
    console = Console(width=width, record=True, file=io.StringIO())
    show(hostile(), console)
    assert "\u202e" not in console.export_text()
    console = Console(width=width, record=True, file=io.StringIO())
    show(plain(), console)
    assert "Embedding spaces" not in console.export_text()


def test_pages_with_spaces_open_in_a_browser_without_a_word_of_complaint(browser: Browser, tmp_path: Path) -> None:
    for name, figures in (("imbalance", 3), ("grid", 3), ("apart", 3), ("hostile", 3)):
        file = tmp_path / f"{name}.html"
        file.write_text(PAGES.html(name), encoding="utf-8")
        for size in ((1200, 900), (400, 800)):
            browser.size(*size)
            browser.open(file)
            assert browser.complaints() == []
            assert browser.requests() == []
            drawn = "document.querySelectorAll(':is(#verdict, #spaces) figure.drawn .live svg').length"
            assert browser.evaluate(drawn) == figures
            assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            assert browser.evaluate(FITS)
