"""The page of an embedding's audit: whole, small, safe, true to the JSON, and without what makes no sense here."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import altair
import pytest

from equipoise.audits import AuditResult, SpaceMap
from equipoise.foundation import report_of
from equipoise.reports._formats import fine, safe_name
from equipoise.reports._records import Subject, is_embedding
from equipoise.reports._spaces import RULES, finding_text, main_gaps, map_caution
from equipoise.reports.charts.chart import COLOURS, MOST_MARKS, Chart
from equipoise.reports.charts.forest import GAP_LOOKS
from equipoise.reports.charts.maps import MOST_POINTS_ON_A_PAGE, OTHERS
from helpers.cases.embedding import CASES, classes, hidden, hostile, many_groups, plain
from helpers.cases.report import HOSTILE, adult
from helpers.page_checks import check_number
from helpers.pages import Pages, check_figures

pytestmark = [pytest.mark.long, pytest.mark.once]


def drawn(result: AuditResult) -> dict[str, tuple[Chart, ...]]:
    return {"all": tuple(REPORT.charts(result).values())}


def part(result: AuditResult, name: str) -> list[Chart]:
    return [chart for own, chart in REPORT.charts(result).items() if own.rpartition("_")[0] == name or own == name]


REPORT = report_of("audit")
pages = Pages(CASES, REPORT.page, drawn)
every_case, html_of, tree_of, json_of, ids_of = pages.every, pages.html, pages.tree, pages.json, pages.ids


@every_case
def test_a_page_is_one_small_file_that_asks_for_nothing_and_that_everybody_can_read(name: str) -> None:
    pages.check_whole(name)


@every_case
def test_only_what_makes_sense_of_an_embedding_is_there(name: str) -> None:
    parts = ids_of(name)
    assert {"values", "gaps"} <= parts
    assert not parts & {"contrasts", "rates", "scores", "four-fifths", "power", "changes"}
    assert "cannot be negative, so chance" not in html_of(name)
    result = CASES[name]()
    assert ("map" in parts) == (result.map is not None)
    assert ("leakage" in parts) == bool(result.leakage)
    assert ("downstream" in parts) == bool(result.downstream)
    assert ("propagation" in parts) == bool(result.propagation)


def test_an_audit_of_outcomes_has_no_part_about_a_space() -> None:
    assert not is_embedding(adult())
    assert not part(adult(), "map")
    assert {section.id for section in REPORT.document(adult()).sections}.isdisjoint({"map", "values", "leakage"})


@every_case
def test_every_number_on_the_page_is_that_of_the_json(name: str) -> None:
    whole = json_of(name)
    shown = [element for element in tree_of(name).elements if "data-f" in element.attributes]
    assert len(shown) > 10
    for element in shown:
        field = str(element.attributes["data-f"])
        if "data-list" not in element.attributes:
            record = whole["records"][int(str(element.attributes["data-r"]))]
            in_points = record["kind"] == "rate" and field in ("value", "low", "high")
        else:
            of = str(element.attributes["data-list"])
            record = whole[of][int(str(element.attributes["data-r"]))]
            in_points = of in ("downstream", "propagation") and "p_adjusted" not in field
        assert record[field] is not None, field
        check_number(element.words, record[field], whole=100 if in_points else 1)


@every_case
def test_what_charts_draw_is_what_the_json_says(name: str) -> None:
    whole, drawn = json_of(name), 0
    for chart in REPORT.charts(CASES[name]()).values():
        for row in chart.spec["datasets"]["rows"]:
            of = next((of for of in ("record", "downstream", "propagation", "leakage") if of in row), None)
            if of is None:
                continue
            record = whole["records" if of == "record" else of][row[of]]
            drawn += 1
            if of == "leakage":
                wanted = {"value": {record["balanced"], record["shuffled_balanced"]}}
                assert any(row["value"] == pytest.approx(value, rel=1e-4) for value in wanted["value"])
                continue
            times = 1 if of == "record" else 100
            value = record["downstream" if of == "propagation" else "value"]
            assert row["value"] == pytest.approx(value * times, rel=1e-4, abs=1e-9)
            for edge in ("low", "high"):
                if row[edge] is not None:
                    assert row[edge] == pytest.approx(record[edge] * times, rel=1e-4, abs=1e-9)
            if of == "record" and row["what"] in (*GAP_LOOKS,):
                assert row["what"].startswith("confirmed") == bool(record["finding"])
    assert drawn > 10


@every_case
def test_the_verdict_counts_the_gaps_that_its_sections_show(name: str) -> None:
    every = [r for r in json_of(name)["records"] if r["kind"] == "gap" and r["p_adjusted"] is not None]
    gaps = [r for r in every if r["variant"] in ("paper", "best_minus_worst")]
    verdict, section = (tree_of(name).by_id(part).words for part in ("verdict", "gaps"))
    findings = sum(r["finding"] for r in gaps)
    assert f"gaps confirmed {findings:,} of {len(gaps):,}" in verdict
    marks = part(CASES[name](), "space_gaps")[0].spec["datasets"]["rows"]
    assert sum(row["what"].startswith("confirmed") for row in marks) == findings
    assert sum(row["what"] != "not tested" for row in marks) == len(gaps)
    if every:
        assert f"of {len(every):,} tested, {sum(r['finding'] for r in every):,} confirmed" in section


def test_a_gap_is_told_by_its_own_rule_with_its_interval_and_in_words() -> None:
    result, subject = plain(), Subject(("group",))
    told = {record.measure: record for _, record in main_gaps(result, subject)}
    gap = told["recall_at_k_gap"]
    assert gap.variant == "paper"
    assert gap.low is not None
    words = " ".join(tree_of("plain").by_id("gaps").words.split())
    assert f"Recall@1 {fine(gap.value)} {fine(gap.low)} to {fine(gap.high)}" in words
    assert "for b, nearest neighbours are of the same class less often" in words
    assert finding_text(result, replace(gap, value=-0.1)).startswith("for a, nearest")
    assert finding_text(result, replace(gap, finding=False)) == "", "what is not significant says nothing"
    # Where no group is the largest the others are compared with the first.
    assert {record.variant for _, record in main_gaps(result, Subject(("half",)))} == {"paper"}


def test_every_rule_of_the_paper_is_in_the_table() -> None:
    words = tree_of("classes").by_id("gaps").words
    for rule in RULES.values():
        assert rule in words
    assert "Recall@3" in words


def test_a_map_says_what_it_shows_and_what_not() -> None:
    principal = " ".join(tree_of("plain").by_id("map").words.split())
    assert re.search(r"the two axes show \d+% and \d+% of the variance", principal)
    neighbours = tree_of("classes").by_id("map").words
    assert "distances between clusters, their sizes and the empty space mean nothing" in neighbours
    titles = [chart.title for chart in part(classes(), "map")]
    assert titles == ["The points by site", "The points by class"]
    assert [chart.title for chart in part(plain(), "map")] == ["The points by group", "The points by half"]
    flat = SpaceMap(
        method="pca", x=(0.0,) * 3, y=(0.0,) * 3, explained=None, of=3, classes=(), groups={"g": ("a",) * 3}
    )
    same = replace(plain(), map=flat)
    assert "nothing to see" in map_caution(same)
    (drawn,) = part(same, "map")
    assert {(row["x"], row["y"]) for row in drawn.spec["datasets"]["rows"]} == {(0.0, 0.0)}


def test_a_map_of_many_points_draws_some_and_says_so() -> None:
    number = MOST_MARKS
    many = SpaceMap(
        method="pca", x=tuple(map(float, range(number))), y=tuple(float(place % 7) for place in range(number)),
        explained=(0.5, 0.2), of=90_000, classes=(),
        groups={name: tuple("ab"[place % 2] for place in range(number)) for name in ("one", "two")},
    )  # fmt: skip
    charts = part(replace(plain(), map=many), "map")
    assert sum(chart.rows for chart in charts) <= MOST_POINTS_ON_A_PAGE
    assert "1,500 of 90,000 points, drawn at random" in charts[0].caption
    first, second = (chart.spec["datasets"]["rows"] for chart in charts)
    assert first == second, "both maps show the same points"


def test_groups_on_a_map_differ_in_shape_as_well_as_in_colour() -> None:
    for case in (hostile, classes):
        for chart in part(case(), "map"):
            encoding = chart.spec["spec"]["encoding"]
            colours, shapes = (encoding[name]["scale"]["range"] for name in ("color", "shape"))
            assert len(set(zip(colours, shapes, strict=True))) == len(colours)
            if len(colours) <= len(COLOURS):
                assert len(set(shapes)) == len(shapes)


def test_of_too_many_groups_some_are_drawn_and_the_page_says_so() -> None:
    charts = part(many_groups(), "map")
    names = next(p["value"] for p in charts[0].spec["params"] if p["name"] == "lines")
    assert names[-1] == OTHERS
    assert len(names) == len(COLOURS)
    assert "20 of 50 groups are drawn" in tree_of("many_groups").by_id("values").words
    assert "all of them are in the JSON" not in tree_of("plain").by_id("values").words


def test_names_that_try_to_run_are_only_shown() -> None:
    pages.check_harmless("hostile")
    for group in HOSTILE:
        assert " ".join(safe_name(group).split()) in pages.words("hostile", "values")


def test_what_is_hidden_stays_hidden_and_what_was_not_tested_is_no_finding() -> None:
    result = hidden()
    assert result.map is None
    assert "tiny" not in str(result.downstream)
    assert not any("6 rows" in note for note in result.notes)
    assert "tiny" not in tree_of("hidden").by_id("values").words
    assert "tiny" not in tree_of("hidden").by_id("downstream").words
    assert "tiny hidden" in tree_of("hidden").by_id("cohort").words
    assert "No difference between groups could be tested" in tree_of("hidden").by_id("verdict").words
    assert "No gap was tested" in tree_of("hidden").by_id("downstream").words


def test_charts_keep_to_the_schema_of_vega_lite() -> None:
    for chart in (*REPORT.charts(plain()).values(), *part(classes(), "map")):
        altair.Chart.from_dict(chart.spec, validate=True)


def test_every_chart_can_be_had_as_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    assert check_figures(REPORT.write_figures(plain(), folder), folder) == [
        "01-map-group.svg", "02-map-half.svg", "03-values.svg", "04-gaps-of-the-space.svg", "05-leakage.svg",
        "06-downstream.svg", "07-propagation.svg",
    ]  # fmt: skip


@every_case
def test_a_notebook_shows_a_small_fragment_with_the_gaps(name: str) -> None:
    assert any("Gap in" in heading.words for heading in pages.check_fragment(name).all("th"))
