"""The page of a comparison: whole, small, safe, and true to the JSON. test_browser opens it."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare_cases import CASES, HOSTILE, copies, hidden, noise, planted
from equipoise.audits.compare.words import percent
from equipoise.reports.charts.chart import INK
from equipoise.reports.charts.rings import TINTS
from equipoise.reports.compare_page import charts_of, page, write_figures, write_page
from equipoise.reports.formats import safe_name
from page_checks import Tree, check_number, contrast
from pages import Pages, check_figures, check_own_page
from running import Program

pytestmark = pytest.mark.once

pages = Pages(CASES, page, charts_of)
every_case, html_of, tree_of, drawn_of, rows_of = pages.every, pages.html, pages.tree, pages.parts, pages.rows
SHARES = re.compile(
    r"share(_|$)|difference|exploded|covered|changed_within|auc|low|high"
)  # shown in per cent, or in points
LISTS = ("records", "floor", "descriptions", "projections", "outcomes", "rings", "rows")


@every_case
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    pages.check_whole(name)


@every_case
def test_every_number_on_the_page_is_that_of_the_json(name: str) -> None:
    result = CASES[name]()
    plain: Any = result.as_json()
    shown = [element.attributes | {"words": element.words} for element in tree_of(name).elements
             if "data-l" in element.attributes]  # fmt: skip
    assert len(shown) > 10
    for element in shown:
        part, place, what = (str(element[key]) for key in ("data-l", "data-i", "data-f"))
        value = (plain[part][int(place)] if place else plain[part])[what]
        words = str(element["words"])
        in_shifts = part == "floor" or (part == "outcomes" and bool(result.outcomes[0].mean_shift))
        whole = 100 if words.endswith("%") or (SHARES.match(what) and not in_shifts) else 1
        check_number(words, value, whole=whole)
    told = {str(element["data-l"]) for element in shown}
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
        assert (row["what"] == "finding") <= bool(record.finding)
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
    everyone, *by_attribute = drawn_of(name)["scores"]
    known = [count for count in result.histograms[0].counts if count]
    assert [row["people"] for row in everyone.spec["datasets"]["rows"] if "people" in row] == known
    lines = {row["what"]: row["at"] for row in everyone.spec["datasets"]["rows"] if "what" in row}
    assert lines["mean score"] == pytest.approx(result.similarity.pnka, rel=1e-5)
    assert ("noise floor (a rerun)" in lines) == (result.similarity.rerun_pnka is not None)
    for attribute, chart in zip(result.attributes, by_attribute, strict=False):
        own = [one for one in result.histograms if one.attribute == attribute]
        panels: dict[int, list[int]] = {}
        for row in chart.spec["datasets"]["rows"]:
            if "people" in row:
                panels.setdefault(row["panel"], []).append(row["people"])
        counts = [[count for count in one.counts if count] for one in own]
        assert all(drawn in counts for drawn in panels.values())
        assert len(panels) == min(len([count for count in counts if count]), 12)


@pytest.mark.parametrize("name", ["planted", "hostile", "hidden", "copies"])
def test_rings_are_whole_and_their_table_has_every_part(name: str) -> None:
    result = CASES[name]()
    arcs = [row for row in rows_of(name, "rings") if "start" in row]
    for panel in (0, 1):
        for ring in {row["inner"] for row in arcs}:
            own = [row for row in arcs if (row["panel"], row["inner"]) == (panel, ring)]
            assert own[0]["start"] == 0
            assert own[-1]["end"] == pytest.approx(1, abs=1e-5)
            assert sum(row["share"] for row in own) == pytest.approx(100, abs=1e-3)
    assert {row["panel"] for row in arcs} == {0, 1}
    told = tree_of(name).by_id("rings").words
    for part in result.rings:
        assert " ".join(safe_name(part.group).split()) in told
        assert f"{100 * part.share:.1f} %" in told
    assert all(contrast(INK, tint) >= 4.5 for tint in TINTS)


def test_the_verdict_comes_first_in_words() -> None:
    told, result = tree_of("planted").by_id("verdict").words, planted()
    findings = sum(bool(record.finding) for record in result.records)
    assert findings >= 4
    assert all(record.finding for record in result.find(attribute="sex"))  # two groups, mirrored: one finding
    assert f"findings after correction {findings - 1}" in told
    [young] = result.find(attribute="age", group="under 25")
    assert f"alike: {percent(young.share_changed)} of the 10 % most changed are under 25 (age), against" in told
    for sentence in result.words:
        assert sentence in told
    order = [element.attributes.get("id") for element in tree_of("planted").all("section")]
    assert order == [
        "verdict", "compared", "scores", "changed", "rings", "description", "projection", "outcomes", "aggregates",
        "untold", "provenance",
    ]  # fmt: skip
    assert "Nobody changed more than the others" in tree_of("same").by_id("verdict").words
    assert "was not tested; the shares" in tree_of("many").by_id("verdict").words
    assert result.descriptions[0].words in tree_of("planted").by_id("description").words


def test_the_headline_speaks_relative_to_an_identical_rerun() -> None:
    def headline(name: str) -> str:
        [told] = [element.words for element in tree_of(name).elements if element.attributes.get("class") == "headline"]
        return told

    def scores(name: str) -> str:
        everyone = CASES[name]().floor[0]
        return f"(mean score {everyone.mean:.3f}; of an identical rerun {everyone.floor_mean:.3f})"

    result = planted()
    assert result.floor[0].excess > 0
    assert headline("planted").startswith(
        f"The change goes beyond what an identical rerun changes {scores('planted')}. The change did not touch"
    )
    [young] = result.find(attribute="age", group="under 25")
    assert young.share_changed_rerun is not None
    assert f"against {percent(young.share_population)} of the population" in headline("planted")
    assert f"a rerun alone would make it {percent(young.share_changed_rerun)}" in headline("planted")
    # The rerun changes as much, and the same people: findings among the most changed are no news of the change.
    [women] = noise().find(attribute="sex", group="Female")
    assert women.finding
    assert noise().floor[0].excess < 0.05
    assert headline("noise").startswith(
        f"The change is not shown to go beyond what an identical rerun changes {scores('noise')}: who is among the "
        f"most changed may be that noise. {percent(women.share_changed)} of the 10 % most changed are Female (sex)"
    )
    assert "did not touch everybody alike" not in headline("noise")
    assert "verdict none" in str(tree_of("noise").by_id("verdict").attributes["class"])
    assert headline("many").startswith(
        f"Whether the change goes beyond an identical rerun was not tested {scores('many')}. Who is among"
    )
    assert "rerun" not in headline("hostile")


def test_what_was_not_asked_for_has_no_part() -> None:
    ids = {element.attributes.get("id") for element in tree_of("same").elements}
    assert not ids & {"changed", "rings", "projection", "outcomes", "people", "description"}
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
    assert "60; tests deal scores out to these" in tree_of("copies").by_id("compared").words


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
    drawn = [label for chart in drawn_of("hidden")["scores"] for label in chart.spec["params"][0]["value"]]
    assert not any(label.startswith("tiny") for label in drawn)
    assert all(row["people"] >= 20 for row in rows_of("hidden", "scores") if "people" in row)
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
    assert "Shown are the first 6 of 9 attributes." in text
    largest = sorted((abs(record.difference) for record in CASES["many"]().records[1:]), reverse=True)[:40]
    assert {abs(row["moved"]) for row in rows_of("many", "changed")} == {
        float(f"{100 * size:.6g}") for size in largest if not math.isnan(size)
    }


def test_charts_keep_to_the_schema_of_vega_lite() -> None:
    pages.check_schema("planted", "copies")


def test_a_result_writes_its_own_page(tmp_path: Path) -> None:
    check_own_page(hidden(), write_page, tmp_path)


@every_case
def test_a_notebook_shows_a_small_fragment(name: str) -> None:
    assert bool(pages.check_fragment(name).all("table")) == (name != "same")


def test_every_chart_can_be_had_as_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    assert check_figures(write_figures(hidden(), folder), folder) == [
        "01-scores.svg", "02-scores-by-site.svg", "03-scores-by-sex.svg", "04-most-changed.svg", "05-rings.svg",
        "06-projection.svg", "07-outcomes.svg",
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
    assert len(list(folder.glob("*.png"))) == len(list(folder.glob("*.svg"))) == 4
