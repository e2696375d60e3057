"""The page of a comparison: whole, small, safe, and true to the JSON. test_browser opens it."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.foundation import report_of
from equipoise.reports._formats import safe_name
from equipoise.reports._formats import short_percent as percent
from helpers.cases.compare import CASES, HOSTILE, copies, hidden, noise, planted
from helpers.page_checks import Tree, check_number
from helpers.pages import Pages, check_figures, check_own_page
from helpers.running import Program

pytestmark = [pytest.mark.long, pytest.mark.once]

REPORT = report_of("compare")


def charts_by_part(result: Any) -> dict[str, list[Any]]:
    parts: dict[str, list[Any]] = {"changed": [], "scores": [], "groups": [], "outcomes": [], "projection": []}
    for name, chart in REPORT.charts(result).items():
        parts[name.partition("_")[0]].append(chart)
    return parts


pages = Pages(CASES, REPORT.page, charts_by_part)
every_case, html_of, tree_of, drawn_of, rows_of = pages.every, pages.html, pages.tree, pages.parts, pages.rows
SHARES = re.compile(
    r"share(_|$)|difference|exploded|covered|changed_within|auc|low|high"
)  # shown in per cent, or in points
LISTS = ("records", "floor", "descriptions", "projections", "outcomes", "rows")


@every_case
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    pages.check_whole(name)


@every_case
def test_every_number_on_the_page_is_that_of_the_json(name: str) -> None:
    result = CASES[name]()
    plain: Any = result.as_json()
    shown = [element.attributes | {"words": element.words} for element in tree_of(name).elements
             if "data-r" in element.attributes]  # fmt: skip
    assert len(shown) > 10
    for element in shown:
        part, place, what = (
            str(element.get("data-list", "records")),
            int(str(element["data-r"])),
            str(element["data-f"]),
        )
        value = (plain[part][place] if isinstance(plain[part], list) else plain[part])[what]
        words = str(element["words"])
        in_shifts = part == "floor" or (part == "outcomes" and bool(result.outcomes[0].mean_shift))
        whole = 100 if words.endswith("%") or (SHARES.match(what) and not in_shifts) else 1
        check_number(words, value, whole=whole)
    told = {str(element.get("data-list", "records")) for element in shown}
    assert told >= {part for part in LISTS if plain[part]}


@every_case
def test_what_charts_draw_is_what_the_json_says(name: str) -> None:
    result = CASES[name]()
    for row in rows_of(name, "changed"):
        record = result.records[row["record"]]
        of_profiles = "_profiles" if row["panel"] else ""
        field = {"population": "share_population", "by a rerun alone": "share_changed_rerun"}.get(
            row["what"], "share_changed"
        )
        assert row["rate"] == pytest.approx(100 * getattr(record, field + of_profiles), rel=1e-5)
        assert (row["what"] == "confirmed") <= bool(record.finding)
        if "from" in row:
            assert row["from"] == pytest.approx(100 * (record.share_population + (record.low or 0)), rel=1e-4, abs=1e-6)
    for row in rows_of(name, "outcomes"):
        outcome, everyone = result.outcomes[row["outcome"]], result.outcomes[0]
        numbers = everyone.mean_shift is not None
        of = everyone if row["what"] == "everyone" else outcome
        value = of.mean_absolute_shift if numbers else 100 * of.share_moved
        assert row["rate"] == pytest.approx(value, rel=1e-5)
    for row in rows_of(name, "projection"):
        projected = result.projections[row["projection"]]
        assert row["rate"] == pytest.approx(getattr(projected, f"mean_{row['what']}"), rel=1e-5)


@every_case
def test_histograms_draw_the_counts_they_were_given(name: str) -> None:
    result = CASES[name]()
    [everyone], by_attribute = drawn_of(name)["scores"], drawn_of(name)["groups"]
    known = [count for count in result.histograms[0].counts if count]
    assert [row["people"] for row in everyone.spec["datasets"]["rows"] if "people" in row] == known
    lines = {row["what"]: row["at"] for row in everyone.spec["datasets"]["rows"] if "what" in row}
    assert lines["mean score"] == pytest.approx(result.similarity.pnka, rel=1e-5)
    assert ("noise floor (a rerun)" in lines) == (result.similarity.rerun_pnka is not None)
    for attribute, chart in zip(result.attributes, by_attribute, strict=False):
        own = [histogram for histogram in result.histograms if histogram.attribute == attribute]
        panels: dict[int, list[int]] = {}
        for row in chart.spec["datasets"]["rows"]:
            if "people" in row:
                panels.setdefault(row["panel"], []).append(row["people"])
        counts = [[count for count in one.counts if count] for one in own]
        assert all(drawn in counts for drawn in panels.values())
        assert len(panels) == min(len([count for count in counts if count]), 12)


def headline(name: str) -> str:
    [told] = [element.words for element in tree_of(name).elements if element.attributes.get("class") == "headline"]
    return told


def test_the_answer_comes_first_in_words() -> None:
    told, result = tree_of("planted").by_id("verdict").words, planted()
    findings = sum(bool(record.finding) for record in result.records)
    assert findings >= 4
    assert all(record.finding for record in result.find(attribute="sex"))  # two groups, mirrored: one finding
    assert f"differences confirmed {findings - 1} of {len(result.records) - 2}" in told
    [young] = result.find(attribute="age", group="under 25")
    assert headline("planted").startswith(
        f"Of the 10% most changed people, {percent(young.share_changed)} are under 25 (age), against "
        f"{percent(young.share_population)} of the population"
    )
    everywhere = tree_of("planted").elements[0].words
    for sentence in result.words:
        assert sentence.partition(": ")[2] in everywhere or sentence in everywhere
    order = [element.attributes.get("id") for element in tree_of("planted").all("section")]
    assert order == [
        "verdict", "changed", "scores", "groups", "outcomes", "description", "projection", "aggregates", "compared",
        "untold", "notes", "provenance",
    ]  # fmt: skip
    assert "Nobody changed more than anybody else" in tree_of("same").by_id("verdict").words
    assert "was not tested: shares" in tree_of("many").by_id("verdict").words
    assert result.descriptions[0].words in tree_of("planted").by_id("description").words


def test_the_answer_speaks_relative_to_an_identical_rerun() -> None:
    def scores(name: str) -> str:
        everyone = CASES[name]().floor[0]
        return f"(mean score {everyone.mean:.3f} against {everyone.floor_mean:.3f})"

    result = planted()
    assert result.floor[0].excess > 0
    larger = "The change is larger than that of an identical rerun"
    assert f"{larger} {scores('planted')}." in tree_of("planted").by_id("verdict").words
    [young] = result.find(attribute="age", group="under 25")
    assert young.share_changed_rerun is not None
    assert f"in a rerun alone {percent(young.share_changed_rerun)}" in headline("planted")
    # The rerun changes as much, and the same people: findings among the most changed are no news of the change.
    [women] = noise().find(attribute="sex", group="Female")
    assert women.finding
    assert noise().floor[0].excess < 0.05
    assert headline("noise") == (
        f"The change is not confirmed to be larger than that of an identical rerun {scores('noise')}; who is among the "
        "10% most changed people may be noise."
    )
    assert f"{percent(women.share_changed)} are Female" in tree_of("noise").by_id("verdict").words
    assert "verdict quiet" in str(tree_of("noise").by_id("verdict").attributes["class"])
    untested = f"Whether the change is larger than that of an identical rerun was not tested {scores('many')}."
    assert untested in tree_of("many").by_id("verdict").words
    assert "rerun" not in headline("hostile")


def test_to_be_changed_is_neither_better_nor_worse() -> None:
    for name in ("planted", "copies"):
        classes = {str(element.attributes.get("class")) for element in tree_of(name).elements}
        assert not classes & {"worse", "better", "verdict worse", "verdict better"}


def test_what_was_not_asked_for_has_no_part() -> None:
    ids = {element.attributes.get("id") for element in tree_of("same").elements}
    assert not ids & {"changed", "projection", "outcomes", "people", "description"}
    for name in ("planted", "hostile", "hidden", "same"):
        assert "people" not in {element.attributes.get("id") for element in tree_of(name).elements}


def test_individuals_are_listed_only_where_the_result_lists_them() -> None:
    told = tree_of("copies").by_id("people").words
    assert f"The first 50 of {len(copies().rows):,} people" in told
    assert f"{copies().rows[0].score:.3f}" in told


def test_copies_are_counted_once_beside_people() -> None:
    [chart] = drawn_of("copies")["changed"]
    assert {row["panel"] for row in chart.spec["datasets"]["rows"]} == {0, 1}
    assert "every distinct profile is counted once" in chart.caption
    assert {row["panel"] for row in rows_of("planted", "changed")} == {0}
    assert "60; tests permute scores among these" in tree_of("copies").by_id("compared").words


def test_what_is_hidden_stays_hidden() -> None:
    result = hidden()
    [tiny] = result.find(attribute="site", group="tiny")
    assert tiny.status == "too small"
    tree = tree_of("hidden")
    rows = [element.words for element in tree.all("tr") if element.words.startswith("tiny")]
    assert rows
    assert all(not re.search(r"\d", row) for row in rows)
    for part in ("changed", "outcomes", "projection"):
        assert "tiny" not in {row["group"] for row in rows_of("hidden", part)}
    drawn = [label for chart in drawn_of("hidden")["groups"] for label in chart.spec["params"][0]["value"]]
    assert not any(label.startswith("tiny") for label in drawn)
    assert all(
        row["people"] >= 20 for part in ("scores", "groups") for row in rows_of("hidden", part) if "people" in row
    )
    assert "Bars of a few people are hidden." in html_of("hidden")
    assert "Scores and shares of site tiny: fewer than 20 people." in tree.by_id("untold").words
    assert "Every number that was asked for could be computed." in tree_of("planted").by_id("untold").words


def test_names_that_try_to_run_are_only_shown() -> None:
    pages.check_harmless("hostile")
    tree = tree_of("hostile")
    told = tree.by_id("compared").words
    for name in HOSTILE:
        assert " ".join(safe_name(name).split()) in told or not name
    assert "equipoise compare '</script><script>window.injected = 4</script>'" in tree.by_id("provenance").words


def test_a_large_page_shows_what_differs_most_and_says_so() -> None:
    text = html_of("many")
    groups = sum(record.attribute is not None for record in CASES["many"]().records)
    assert f"Shown are 40 of {groups} groups, those that differ most." in text
    assert "Scores are drawn for 6 of 9 attributes; the table has all of them." in text
    largest = sorted((abs(record.difference) for record in CASES["many"]().records[1:]), reverse=True)[:40]
    assert {abs(row["moved"]) for row in rows_of("many", "changed")} == {
        float(f"{100 * size:.6g}") for size in largest if not math.isnan(size)
    }


def test_charts_keep_to_the_schema_of_vega_lite() -> None:
    pages.check_schema("planted", "copies")


def test_a_result_writes_its_own_page(tmp_path: Path) -> None:
    check_own_page(hidden(), REPORT.write, tmp_path)


@every_case
def test_a_notebook_shows_a_small_fragment(name: str) -> None:
    assert pages.check_fragment(name).all("table")


def test_every_chart_can_be_had_as_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    assert check_figures(REPORT.write_figures(hidden(), folder), folder) == [
        "01-most-changed.svg", "02-scores.svg", "03-outcomes.svg", "04-projection.svg", "05-scores-by-site.svg",
        "06-scores-by-sex.svg",
    ]  # fmt: skip


def test_the_command_writes_the_page_and_the_figures(equipoise: Program, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    before = draw.normal(size=(200, 4))
    np.save(tmp_path / "before.npy", before)
    np.save(tmp_path / "after.npy", before + 0.3 * draw.normal(size=before.shape))
    (tmp_path / "people.csv").write_text("sex\n" + "\n".join(draw.choice(["f", "m"], 200)) + "\n")
    target, folder = tmp_path / "changed.html", tmp_path / "figures"
    ended = equipoise(
        "compare", tmp_path / "before.npy", tmp_path / "after.npy", "--rows", tmp_path / "people.csv", "--group", "sex",
        "--draws", "100", "--html", target, "--figures", folder,
    )  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    assert "The page:" in ended.out
    tree = Tree(target.read_text(encoding="utf-8"))
    assert "This command makes them again: equipoise compare" in tree.by_id("provenance").words
    assert "before.npy, 4 dimensions" in tree.by_id("compared").words
    assert len(list(folder.glob("*.png"))) == len(list(folder.glob("*.svg"))) == 3
