"""The page of a study: whole, small, safe, and true to the JSON; one of them in a real browser."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import altair
import pytest
from rich.console import Console

import equipoise
from equipoise.foundation import report_of
from equipoise.reports import Meaning, charts_of, page, show
from equipoise.reports._document import NOT_CERTIFIED
from equipoise.reports._formats import safe_name
from equipoise.reports.charts.chart import INK, Chart
from equipoise.reports.charts.matrix import LIKELY
from equipoise.studies.findings import ClaimKind
from helpers.cases.report import HOSTILE
from helpers.cases.study import CASES, plain
from helpers.chromium import Browser
from helpers.page_checks import (
    Tree,
    check_alone,
    check_charts,
    check_names_are_data,
    check_number,
    check_readable,
    check_small,
    contrast,
)
from helpers.pages import LARGEST_FRAGMENT

pytestmark = [pytest.mark.long, pytest.mark.once]

every_case = pytest.mark.parametrize("name", list(CASES))
SHARES = (
    "prob_best", "prob_best_if_equal", "prob_best_single", "power", "relative_maxdiff", "survives",
)  # fmt: skip


@cache
def drawn_of(name: str) -> list[Chart]:
    return list(charts_of(CASES[name]()).values())


@cache
def html_of(name: str) -> str:
    return page(CASES[name]())


@cache
def tree_of(name: str) -> Tree:
    return Tree(html_of(name))


def rows_of(name: str, chart: str) -> list[dict[str, Any]]:
    return next((own.spec["datasets"]["rows"] for own in drawn_of(name) if own.name == chart), [])


@every_case
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    check_alone(html_of(name), tree_of(name))
    check_small(html_of(name), tree_of(name))
    check_readable(tree_of(name))
    check_charts(drawn_of(name))
    check_names_are_data(tree_of(name).specs())
    assert NOT_CERTIFIED in html_of(name)


@every_case
def test_every_number_on_the_page_is_that_of_the_json(name: str) -> None:
    content: Any = CASES[name]().as_json()
    shown = [element for element in tree_of(name).elements if "data-r" in element.attributes]
    assert len(shown) > 10
    for element in shown:
        what = str(element.attributes["data-f"])
        source = str(element.attributes.get("data-list", "records"))
        value = content[source][int(str(element.attributes["data-r"]))][what]
        check_number(element.words, value, whole=100 if what in SHARES else 1)


@every_case
def test_what_charts_draw_is_what_the_json_says(name: str) -> None:
    result = CASES[name]()
    for row in [*rows_of(name, "values"), *rows_of(name, "curves")]:
        record = result.records[row["record"]]
        drawn = [row.get("value", row.get("mean")), row.get("from", row.get("min")), row.get("to", row.get("max"))]
        assert drawn == pytest.approx([record.mean, record.min, record.max], rel=1e-5)
    for row in rows_of(name, "spreads"):
        assert row["value"] == pytest.approx(getattr(result.records[row["record"]], row["field"]), rel=1e-5)
    for row in rows_of(name, "ranks"):
        assert row["value"] == pytest.approx(result.ranks[row["rank"]].value, rel=1e-5)
    for row in rows_of(name, "front"):
        if row["cell"] is None:
            assert result.constant is not None
            assert (row["x"], row["y"]) == pytest.approx(
                (result.constant.performance, result.constant.fairness), rel=1e-5
            )
            continue
        cell = result.cells[row["cell"]]
        assert (row["x"], row["y"]) == pytest.approx((cell.test_performance, cell.test_fairness), rel=1e-5)
        assert row["front"] == cell.on_front
    for row in rows_of(name, "effects sex"):
        record = result.records[row["record"]]
        unchanged = {"none": "not significant", "undecided": "inconclusive"}
        changed = {True: "better, ", False: "worse, ", None: "neither better nor worse"}[record.good]
        way = unchanged.get(str(record.verdict), changed)
        assert row["step"].startswith(way)


def test_the_headline_comes_first_and_every_part_is_there() -> None:
    tree, result = tree_of("plain"), plain()
    told = tree.by_id("verdict").words
    assert told.startswith(f"In one sentence {result.words[0]} {result.words[1]}")
    for record in result.records:
        assert not record.scope or record.scope in told
    order = [element.attributes.get("id") for element in tree.all("section")]
    assert order == [
        "verdict", "numbers", "ranks", "curves", "effects", "costs", "variances", "alternatives", "spreads",
        "identical", "flips", "conditions", "table", "untold", "notes", "provenance",
    ]  # fmt: skip
    assert all(line in tree.by_id("conditions").words for line in result.differences)


def test_failures_environments_and_what_is_not_done_are_told() -> None:
    told = tree_of("settings").by_id("untold").words
    assert "the cell >50K / Female is empty" in told
    assert "processor another" in told
    notes = tree_of("settings").by_id("notes").words
    assert "Runs come from 2 environments" in notes
    assert "5 trials of the plan are not done yet" in notes
    assert "There is one: nothing is mixed." in tree_of("plain").by_id("untold").words


def test_single_people_are_listed_only_when_asked_for() -> None:
    assert "--show-rows" in tree_of("plain").by_id("flips").words
    assert "Predictions of the runs" in tree_of("hostile").by_id("flips").words


def test_names_that_try_to_run_are_only_shown() -> None:
    text, tree = html_of("hostile"), tree_of("hostile")
    outside = text.replace("".join(tree.all("script")[1].text), "")
    assert "<script>window" not in outside
    assert "<img src=x" not in outside
    assert "\u202e" not in outside
    assert not re.search("[\ud800-\udfff]", text)
    assert not tree.all("b")
    for index, treatment in enumerate(HOSTILE[:8]):
        assert " ".join(safe_name(f"{treatment}{index}").split()) in tree.by_id("table").words


def test_charts_keep_to_the_schema_of_vega_lite_and_letters_can_be_read() -> None:
    for name in ("plain", "curves"):
        for chart in drawn_of(name):
            altair.Chart.from_dict(chart.spec, validate=True)
    assert all(contrast(INK, colour) >= 4.5 for _, colour in LIKELY.values())


@every_case
def test_a_notebook_and_a_terminal_show_it_too(name: str) -> None:
    fragment = CASES[name]()._repr_html_()
    assert fragment is not None
    tree = Tree(fragment)
    assert len(fragment) < LARGEST_FRAGMENT
    assert not tree.all("script", "style", "link", "b")
    assert all(str(image.attributes["src"]).startswith("data:image/svg+xml,") for image in tree.all("img"))
    for width in (80, 140):
        console = Console(width=width, record=True, file=io.StringIO())
        show(CASES[name](), console)
        text = console.export_text()
        assert "Notes" in text
        assert "\u202e" not in text


def test_no_two_curves_share_a_colour_and_no_two_names_a_place() -> None:
    (chart,) = [chart for chart in drawn_of("curves") if chart.name == "curves"]
    [colours] = set(re.findall(r"'range': (\['#[^]]*\])", str(chart.spec)))
    assert len(set(re.findall(r"#[0-9A-F]{6}", colours))) == 9
    named = [row for row in rows_of("curves", "front") if row["above"] or row["below"]]
    assert len(named) > 20
    assert all(not (row["above"] and row["below"]) for row in named)


def test_an_attribute_without_a_number_has_no_map() -> None:
    gone = replace(plain(), records=tuple(
        replace(record, mean=float("nan")) if record.attribute == ("race",) else record for record in plain().records
    ))  # fmt: skip
    names = [
        [chart.name for name, chart in charts_of(result).items() if name.startswith("effects")]
        for result in (plain(), gone)
    ]
    assert names == [["effects sex", "effects race"], ["effects sex"]]


def test_where_nothing_is_compared_the_table_has_no_columns_of_comparisons() -> None:
    for name, compared in (("plain", True), ("odd", False)):
        text = html_of(name)
        own = text[text.index('<section id="table"') : text.index('<section id="untold"')]
        heading, *lines = re.findall("<tr.*?</tr>", own, flags=re.DOTALL)
        assert len(lines) > 5
        assert all((f">{title}</th>" in heading) == compared for title in ("Change", "Interval", "d", "Costs"))
        assert ("Cohen" in own) == compared
        columns = heading.count("<th ")
        for line in lines:
            assert len(re.findall("<t[hd]", line)) == columns


def test_what_is_significant_is_said_with_its_size() -> None:
    words = " ".join(CASES["curves"]().words)
    assert "significant after correction" in words
    number = r"[+−]0\.\d{3}"
    assert re.search(
        rf"under \d+ of 10 conditions: accuracy changes by {number} \([^()]+\) to {number} \([^()]+\)\.", words
    )
    assert " up to " not in words, "no range with its conditions between its ends"


def test_a_result_writes_its_page_and_its_figures(tmp_path: Path) -> None:
    assert plain().report(tmp_path / "study.html").stat().st_size > 100_000
    with pytest.raises(equipoise.BadInput, match="is a folder"):
        plain().report(tmp_path)
    names = [path.name for path in report_of("study").write_figures(CASES["odd"](), tmp_path / "figures")]
    assert any(name.endswith("-values.svg") for name in names)


def test_a_hostile_study_opens_in_a_browser_without_a_word_of_complaint(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "study.html"
    file.write_text(html_of("hostile"), encoding="utf-8")
    for size in ((1280, 900), (375, 800)):
        browser.size(*size)
        browser.open(file)
        assert browser.complaints() == []
        assert browser.requests() == []
        assert browser.evaluate("typeof window.injected") == "undefined"
        figures = browser.evaluate("document.querySelectorAll('figure').length")
        assert figures == browser.evaluate("document.querySelectorAll('figure.drawn .live svg').length") > 5
        assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_colour_of_the_first_screen_is_that_of_its_answer() -> None:
    """Better for an answer that is good news, even where another treatment is worse; both at once has no colour."""
    for made in (CASES[name]() for name in ("demo", "plain", "curves")):
        told = report_of("study").document(made)
        first = made.claims[0]
        changed = [claim for claim in made.claims if claim.kind in (ClaimKind.BETTER, ClaimKind.WORSE)]
        if first.kind not in (ClaimKind.BETTER, ClaimKind.WORSE):
            assert told.meaning is Meaning.QUIET
            continue
        about = next(one.treatments[0] for one in changed if str(told.answer).startswith(f"With {one.treatments[0]}"))
        kinds = {one.kind for one in changed if one.treatments[0] == about}
        expected = (
            Meaning.NEUTRAL if len(kinds) == 2 else Meaning.BETTER if ClaimKind.BETTER in kinds else Meaning.WORSE
        )
        assert told.meaning is expected
