"""The page of an audit: whole, small, safe, and true to the JSON."""

from __future__ import annotations

import functools
import io
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import equipoise
from equipoise.audits import AuditResult
from equipoise.foundation import (
    Entry,
    registry,
    report_of,
)
from equipoise.reports._formats import safe_name, safe_text
from equipoise.reports.charts import chart as drawing
from equipoise.reports.charts.chart import COLOURS, INK, MOST_MARKS, QUIET, WORSE, Chart
from equipoise.reports.charts.heatmap import ABOVE, BELOW, SAME
from equipoise.results import Result
from helpers.cases.report import (
    CASES,
    HOSTILE,
    adult,
    clusters,
    fifty_groups,
    hidden,
    hostile,
    many_classes,
    many_labels,
    no_target,
    splits,
    stated_gap,
)
from helpers.page_checks import MEGABYTE, Tree, check_number, contrast
from helpers.pages import Pages, check_figures, check_own_page

pytestmark = [pytest.mark.long, pytest.mark.once]


def drawn(result: AuditResult) -> dict[str, tuple[Chart, ...]]:
    return {"all": tuple(REPORT.charts(result).values())}


REPORT = report_of("audit")
pages = Pages(CASES, REPORT.page, drawn)
every_case, html_of, tree_of, json_of = pages.every, pages.html, pages.tree, pages.json


def specs_of(name: str) -> list[dict[str, Any]]:
    return tree_of(name).specs()


@every_case
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    pages.check_whole(name)


@every_case
def test_every_number_on_the_page_is_that_of_the_json(name: str) -> None:
    records = json_of(name)["records"]
    shown = [element for element in tree_of(name).elements if "data-r" in element.attributes]
    shown = [element for element in shown if "data-list" not in element.attributes]
    assert len(shown) > 10
    for element in shown:
        record = records[int(str(element.attributes["data-r"]))]
        value = record[str(element.attributes["data-f"])]
        assert value is not None
        check_number(element.words, value, whole=100 if in_points(record, str(element.attributes["data-f"])) else 1)


def in_points(record: dict[str, Any], what: str) -> bool:
    if what not in ("value", "low", "high"):
        return False
    no_share = ("mean_residual", "mean_absolute_error", "pearson", "mean_prediction")
    return record["kind"] == "rate" or (record["kind"] == "contrast" and record["measure"] not in no_share)


@every_case
def test_what_charts_draw_is_what_the_json_says(name: str) -> None:
    records = json_of(name)["records"]
    drawn = 0
    for spec in specs_of(name):
        for row in spec["datasets"]["rows"]:
            if "record" not in row:
                continue
            record = records[row["record"]]
            drawn += 1
            for what in ("value", "low", "high"):
                if row.get(what) is not None:
                    whole = 100 if in_points(record, what) else 1
                    assert row[what] == pytest.approx(record[what] * whole, rel=1e-4, abs=1e-9)
            if "verdict" in row:
                assert (row["verdict"] != "not significant") == record["finding"]
    assert drawn


def test_charts_keep_to_the_schema_of_vega_lite() -> None:
    pages.check_schema("adult", "regression")


@every_case
def test_the_first_screen_counts_contrasts_as_the_records_do(name: str) -> None:
    contrasts = [record for record in json_of(name)["records"] if record["kind"] == "contrast"]
    tested = [record for record in contrasts if record["p_adjusted"] is not None]
    findings = sum(1 for record in tested if record["finding"])
    verdict = tree_of(name).by_id("verdict").words
    assert f"differences confirmed {findings:,} of {len(tested):,}" in verdict
    if tested:
        assert ("No difference between groups is confirmed" in verdict) == (not findings)
    small = {record["group"] for record in contrasts if record["status"] == "too small"}
    told = tree_of(name).by_id("untold").words
    for group in small:
        assert safe_name(group) in told
    shortened = any(len(record["group"] or "") > 60 for record in contrasts)
    for sentence in [] if shortened else json_of(name)["words"]:
        last = safe_text(sentence.partition(": ")[2])
        assert len(last) > 400 or " ".join(last[1:].split()) in verdict


def test_names_that_try_to_run_are_only_shown() -> None:
    pages.check_harmless("hostile")
    tree = tree_of("hostile")
    assert "window.injected" in tree.by_id("cohort").words
    assert "{{ 7*7 }}{% raw %}${7*7}" in tree.by_id("cohort").words
    assert tree.all("title")[0].words == "Fairness audit of the data"
    for group in HOSTILE:
        assert " ".join(safe_name(group).split()) in tree.by_id("rates").words


def test_two_long_names_stay_apart() -> None:
    assert safe_name("x" * 500 + "a") != safe_name("x" * 500 + "b")
    assert len(safe_name("x" * 500)) == 60
    assert safe_name("  ") == "(empty) '  '"


def test_fifty_groups_show_those_with_the_widest_contrasts_and_say_so() -> None:
    words = tree_of("fifty_groups").by_id("scores").words
    assert "Shown are the 7 of 50 groups with the widest contrasts." in words
    widest = {}
    for record in fifty_groups().records:
        if record.kind == "contrast" and record.status == "ok":
            widest[record.group] = max(widest.get(record.group, 0.0), abs(record.value))
    chosen = sorted(widest, key=lambda group: -widest[group])[:7]
    lines = [
        param["value"] for spec in specs_of("fifty_groups") for param in spec["params"] if param["name"] == "lines"
    ]
    assert set(chosen) == set(lines[-1])


def test_a_regression_has_no_rates_and_a_page_without_target_no_errors() -> None:
    told = tree_of("regression").by_id("rates").words
    assert "Mean absolute error" in told
    assert "Selection rate" not in told
    assert not any(element.attributes.get("id") == "four-fifths" for element in tree_of("regression").elements)
    told = tree_of("no_target").by_id("rates").words
    assert "Selection rate" in told
    assert "True positive rate" not in told
    assert no_target().find("true_positive_rate") == ()


def test_classes_labels_splits_and_strata_are_told_apart() -> None:
    assert all(name in tree_of("many_classes").by_id("cohort").words for name in many_classes().classes)
    assert "cat: north" in labels_of("many_classes")
    assert "0: f" in labels_of("many_labels")
    assert len(many_labels().card.classes) == 3
    for split in splits().card.splits:
        assert f"sex ({split})" in tree_of("splits").by_id("verdict").words
    assert "within control=university" in tree_of("splits").by_id("contrasts").words


def labels_of(name: str) -> set[str]:
    return {
        label for spec in specs_of(name) for param in spec["params"] if param["name"] == "labels"
        for label in param["value"]
    }  # fmt: skip


def test_what_is_hidden_stays_hidden() -> None:
    row = next(row for row in hidden().card.groups if row.group == "tiny")
    assert row.rows is None
    cohort = tree_of("hidden").by_id("cohort").words
    assert "tiny hidden hidden hidden" in cohort
    for spec in specs_of("hidden"):
        for line in spec["datasets"]["rows"]:
            if line.get("group") == "tiny":
                assert line["text"] == "too small"
                assert line["far"] is None


def test_clusters_are_mentioned_and_have_bootstrapped_contrasts() -> None:
    assert any(record.interval == "bootstrap" for record in clusters().records)
    assert "clusters" in tree_of("clusters").by_id("notes").words


@pytest.mark.parametrize("name", ["adult", "hostile", "no_target", "stated_gap"])
def test_the_four_fifths_rule_and_power_are_those_of_the_json(name: str) -> None:
    tree, whole = tree_of(name), json_of(name)
    for source, field, times in (
        ("four_fifths", "ratio", 1),
        ("power", "detectable", 100),
        ("power", "people_needed", 1),
    ):
        shown = [
            element for element in tree.elements
            if (element.attributes.get("data-list"), element.attributes.get("data-f")) == (source, field)
        ]  # fmt: skip
        assert len(shown) == sum(entry[field] is not None for entry in whole[source])
        for element in shown:
            check_number(element.words, whole[source][int(str(element.attributes["data-r"]))][field], whole=times)
    rules = tree.by_id("four-fifths").words
    assert rules.count("under 2%: the rule") == sum(rule["small"] for rule in whole["four_fifths"])
    assert rules.count("significantly below 0.80") - 1 == sum(
        bool(rule["significant"]) for rule in whole["four_fifths"]
    )
    assert stated_gap().power[0].gap == 0.05
    assert "People needed for 5.0%" in html_of("stated_gap")


def test_the_page_says_where_its_numbers_come_from() -> None:
    told = tree_of("adult").by_id("provenance").words
    made = json_of("adult")["provenance"]
    for part in (
        made["fingerprint"],
        made["equipoise"],
        made["python"],
        made["created"],
        "altair",
        "income",
        "sex, race",
    ):
        assert str(part) in told
    command = tree_of("hostile").by_id("provenance").words
    assert "equipoise audit '</script><script>window.injected = 4</script>'" in command


def test_the_largest_page_still_fits() -> None:
    generator = np.random.default_rng(5)
    number = 30_000
    names = np.array([f"{'very long name ' * 30}{place}" for place in range(50)])
    result = equipoise.audit(
        target=generator.integers(0, 6, number).astype(str),
        prediction=generator.integers(0, 6, number).astype(str),
        split=np.array(["train", "dev", "test", "later"])[generator.integers(0, 4, number)],
        sensitive_features={
            "one": names[generator.integers(0, 50, number)],
            "two": names[generator.integers(0, 50, number)],
        },
        draws=0,
    )
    text = REPORT.page(result)
    assert len(text.encode("utf-8")) < 3 * MEGABYTE
    assert "Charts are drawn for 3 of 4 splits" in text
    assert "all of them are in the JSON" in text


@functools.cache
def three_hundred_groups(draws: int = 100) -> AuditResult:
    """One group is never selected; it is the last by name. Another is the largest, and the last but one."""
    generator = np.random.default_rng(11)
    places = np.concatenate([np.repeat(np.arange(300), 40), np.full(200, 298)])
    prediction = generator.integers(0, 2, len(places))
    prediction[places == 299] = 0
    return equipoise.audit(
        target=generator.integers(0, 2, len(places)).astype(str),
        prediction=prediction.astype(str),
        favourable="1",
        sensitive_features={"g": np.array([f"g{place:03d}" for place in range(300)])[places]},
        draws=draws,
    )


def test_a_page_of_hundreds_of_groups_shows_the_largest_and_the_widest_and_says_how_many_are_left_out() -> None:
    result = three_hundred_groups()
    charts = list(REPORT.charts(result).values())
    text = REPORT.page(result)
    tree = Tree(text)
    assert len(text.encode("utf-8")) < 3 * MEGABYTE
    assert len(charts) == 3
    assert all(chart.rows <= MOST_MARKS for chart in charts)
    assert len(tree.all("tr")) < 1_500
    cohort, rates, contrasts = (tree.by_id(part).words for part in ("cohort", "rates", "contrasts"))
    assert "The 120 of 300 groups with the most rows; all of them are in the JSON." in cohort
    assert "The 120 of 300 groups with the widest contrasts; all of them are in the JSON." in rates
    assert "(confirmed first, then the widest); all of them are in the JSON." in contrasts
    assert "g298" in cohort
    assert "g299" in rates
    assert "g299" in contrasts
    rule = tree.by_id("four-fifths").words
    assert "The 250 of 598 rows with the lowest ratios; all of them are in the JSON." in rule
    assert "g299" in rule


def test_a_page_without_contrasts_shows_the_first_of_hundreds_of_groups_and_says_so() -> None:
    result = three_hundred_groups(draws=0)
    assert REPORT.charts(result)["rates"].notes == ("Of g, the 60 of 300 groups that come first.",)
    text = REPORT.page(result)
    assert "The 120 of 300 groups that come first; all of them are in the JSON." in text
    assert "widest contrasts" not in text


def test_groups_with_too_few_people_that_the_page_has_no_room_for_are_counted() -> None:
    generator = np.random.default_rng(12)
    places = np.concatenate([np.repeat(np.arange(200), 3), np.full(400, 200)])
    result = equipoise.audit(
        prediction=generator.integers(0, 2, len(places)).astype(str),
        favourable="1",
        sensitive_features={"g": np.array([f"g{place:03d}" for place in range(201)])[places]},
        draws=100,
    )
    untold = Tree(REPORT.page(result)).by_id("untold").words
    assert "and 50 more, in the JSON" in untold


def test_a_page_asks_once_what_a_measure_needs_however_many_records_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    result, asked = three_hundred_groups(), Counter[str]()
    get = registry.get

    def counted(kind: str, name: str) -> Entry:
        asked[name] += 1
        return get(kind, name)

    monkeypatch.setattr(registry, "get", counted)
    REPORT.document(result)
    REPORT.charts(result)
    assert len(result.records) > 5_000
    assert max(asked.values(), default=0) < 20


def test_the_terminal_shows_the_widest_of_hundreds_of_groups_and_says_how_many_are_left_out() -> None:
    console = Console(file=io.StringIO(), width=110)
    REPORT.show(three_hundred_groups(), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert len(text.splitlines()) < 160
    assert "and 260 more groups (all are in --json)" in text
    assert "those with the widest contrasts, and 260 more groups (all are in --json)" in text
    assert "g299" in text


def test_an_audit_of_nothing_to_compare_has_a_page() -> None:
    result = equipoise.audit(
        prediction=["a", "b"] * 20, favourable="a", sensitive_features={"g": ["x"] * 39 + ["y"]}, suppress_below=5
    )
    told = Tree(REPORT.page(result)).by_id("verdict").words
    assert "There was nothing to compare" in told


def test_a_result_writes_its_own_page(tmp_path: Path) -> None:
    check_own_page(adult(), REPORT.write, tmp_path)


def test_where_no_other_process_can_help_the_library_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = drawing.library()
    for path in ("/bin/false", "/nowhere/python"):
        monkeypatch.setattr(sys, "executable", path)
        drawing.library.cache_clear()
        drawing.begin_library()
        assert drawing.library() == wanted
        assert "vegaEmbed" in wanted


def test_a_result_without_a_page_says_what_to_do_instead(tmp_path: Path) -> None:
    result = Result(schema="equipoise.nothing/1", records=(), provenance={})
    with pytest.raises(equipoise.BadInput, match=r"no page for equipoise.nothing/1\n.*to_json"):
        result.report(tmp_path / "a.html")
    assert result._repr_html_() is None


@every_case
def test_a_notebook_shows_a_small_fragment(name: str) -> None:
    assert pages.check_fragment(name).all("table")


def test_an_audit_alone_imports_no_charts() -> None:
    code = (
        "import sys, equipoise; r = equipoise.audit(prediction=['a', 'b'], sensitive_features={'g': ['x', 'y']}); "
        "r.to_json(); print(*(m for m in ('altair', 'vl_convert', 'jinja2', 'rich') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("case", [adult, hostile], ids=lambda case: case.__name__)
def test_every_chart_can_be_had_as_a_file(case: Any, tmp_path: Path) -> None:
    result: AuditResult = case()
    folder = tmp_path / "figures"
    assert len(check_figures(REPORT.write_figures(result, folder), folder)) == len(REPORT.charts(result))
    (tmp_path / "file").write_text("")
    with pytest.raises(equipoise.BadInput, match="is a file"):
        REPORT.write_figures(result, tmp_path / "file")


def test_colours_can_be_seen_and_letters_read() -> None:
    for ink, paper in [(INK, "#ffffff"), (QUIET, "#ffffff"), (WORSE, "#ffffff"), (QUIET, SAME)]:
        assert contrast(ink, paper) >= 4.5
    assert all(contrast(INK, paper) >= 4.5 for paper in (BELOW, SAME, ABOVE))
    # Lines differ in their dash too; still each must be seen on white.
    assert all(contrast(colour, "#ffffff") >= 2.2 for colour in COLOURS)
    assert len(set(COLOURS)) == len(COLOURS)


def test_findings_differ_in_shape_as_well_as_in_colour() -> None:
    shapes = [value for key, value in walk_ranges(specs_of("adult")[0]) if key == "shape"]
    assert shapes
    assert all(len(set(shape)) == len(shape) for shape in shapes)
    assert {"diamond", "circle"} <= {shape for own in shapes for shape in own}


def walk_ranges(part: object) -> Iterator[tuple[str, Any]]:
    if isinstance(part, dict):
        for key, value in part.items():
            if isinstance(value, dict) and "scale" in value and "range" in value["scale"]:
                yield key, value["scale"]["range"]
            yield from walk_ranges(value)
    elif isinstance(part, list):
        for item in part:
            yield from walk_ranges(item)
