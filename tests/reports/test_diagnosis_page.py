"""The page of a diagnosis: whole, small, safe, and true to the JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from equipoise import reports
from equipoise.foundation import provenance, report_of
from equipoise.studies import Diagnosis
from equipoise.studies._diagnosing import SCHEMA
from equipoise.training.diverging import ALL_LAYERS, Divergence, Flips, Growth
from helpers.cases.report import HOSTILE
from helpers.page_checks import check_alone, check_readable
from helpers.pages import Pages, check_figures, check_own_page


def diagnosis(found: Divergence, name: str = "pictures", notes: tuple[str, ...] = ()) -> Diagnosis:
    made = provenance(fingerprint="sha256:" + "0" * 64, data=name, rows=3, columns={"groups": [name]}, options={})
    made["created"] = "2026-01-01T00:00:00+00:00"
    return Diagnosis(
        SCHEMA, found.growth, made, found.words, notes, {"learner": name, "seed": 0}, found.steps, found.step,
        found.kind, found.name, found.largest, found.relative, found.units, found.flips,
    )  # fmt: skip


def grown(layers: list[str], steps: list[int]) -> Divergence:
    growth = [
        Growth(step, layer, math.nan if layer == layers[0] else 1e-8 * step**2 * (1 + index))
        for step in steps
        for index, layer in enumerate((*layers, ALL_LAYERS))
    ]
    flips = tuple(Flips(step, 50, 0.0 if step < steps[-1] else 0.02) for step in steps)
    return Divergence(steps[-1], steps[0], "activation", layers[-1], 1e-8, 1e-9, 2.0, tuple(growth), flips)


def hostile() -> Diagnosis:
    names = [str(name) for name in HOSTILE]
    return diagnosis(grown([*names[:5], "plain"], [2, 3, 4]), names[0], (names[0],))


CASES = {
    "same": lambda: diagnosis(Divergence(200)),
    "differs": lambda: diagnosis(grown(["stem.conv", "stage1.0.conv1", "head"], [3, 4, 5, 9, 20]), notes=("A note.",)),
    "many layers": lambda: diagnosis(grown([f"stage{n}.conv" for n in range(120)], [1, 2, 3, 4, 6, 8, 11])),
    "one look": lambda: diagnosis(grown(["a", "b"], [7])),
    "hostile": hostile,
}
BARE = ("same", "one look")
pages = Pages(CASES, reports.page, lambda made: {name: [one] for name, one in reports.charts_of(made).items()})


@pytest.mark.parametrize("name", [name for name in CASES if name not in BARE])
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    pages.check_whole(name)


@pytest.mark.parametrize("name", BARE)
def test_a_page_without_charts_has_no_library_to_draw_them(name: str) -> None:
    check_alone(pages.html(name), pages.tree(name))
    check_readable(pages.tree(name))
    assert pages.charts(name) == []
    data, _ = pages.tree(name).all("script")
    assert "".join(data.text) == "[]"
    assert len(pages.html(name)) < 50_000


def test_names_are_only_shown() -> None:
    pages.check_harmless("hostile")
    pages.check_schema("differs", "many layers")


@pages.every
def test_every_number_on_the_page_is_that_of_the_json(name: str) -> None:
    records: Any = pages.json(name)["records"]
    shown = [element for element in pages.tree(name).elements if "data-r" in element.attributes]
    assert len(shown) == sum(record["layer"] == ALL_LAYERS for record in records)
    for element in shown:
        value = records[int(str(element.attributes["data-r"]))][str(element.attributes["data-f"])]
        assert float(element.words) == pytest.approx(value, rel=0.06)


def test_charts_draw_what_the_records_say() -> None:
    result = CASES["differs"]()
    drift, layers = pages.charts("differs")
    whole = {record.step: record.relative for record in result.records if record.layer == ALL_LAYERS}
    rows = drift.spec["datasets"]["rows"]
    assert {row["step"]: row["value"] for row in rows if row["line"] == 0} == pytest.approx(whole)
    assert [row for row in rows if row["line"] == 1] == [{"step": 20, "value": 0.02, "line": 1}]
    drawn = layers.spec["datasets"]["rows"]
    assert len(drawn) == 2 * 5  # the first layer is undefined, so it has no colour
    for row in drawn:
        (record,) = [record for record in result.records if (record.step, record.layer) == (row["step"], row["layer"])]
        assert row["power"] == pytest.approx(math.log10(record.relative), rel=1e-5)


def test_many_layers_are_cut() -> None:
    assert pages.charts("many layers")[1].notes == ("The first 80 of 120 layers.",)


def test_the_words_are_on_the_page_and_in_a_notebook() -> None:
    for name in CASES:
        assert CASES[name]().words[0] in pages.words(name, "verdict") or name == "hostile"
        pages.check_fragment(name)


def test_a_result_writes_its_own_page_and_figures(tmp_path: Path) -> None:
    check_own_page(CASES["differs"](), report_of("diagnosis").write, tmp_path)
    written = report_of("diagnosis").write_figures(CASES["differs"](), tmp_path / "figures")
    assert check_figures(written, tmp_path / "figures") == ["01-drift.svg", "02-layers.svg"]


def test_the_answer_says_where_they_first_differ() -> None:
    def answer(name: str) -> str:
        return next(
            element.words for element in pages.tree(name).elements if element.attributes.get("class") == "headline"
        )

    assert answer("same") == "The two runs were the same to the last bit for 200 steps."
    assert answer("differs").startswith("The two runs were the same to the last bit for 2 steps. In step 3 the output")
    assert "head" in pages.words("differs", "growth")
    assert "predicted differently 2.0%" in pages.words("differs", "verdict")
    for name in CASES:
        assert reports.markdown(CASES[name]()).startswith("# Two identical runs on")
    assert list(CASES["differs"]().charts()) == ["drift", "layers"]
