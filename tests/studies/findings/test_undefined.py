"""A study of which fairness is undefined everywhere: no ranks, charts or columns of it, and one note that says so."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from functools import cache

import numpy as np
from rich.console import Console

from equipoise.reports import charts_of, page, show
from equipoise.reports._comparisons import main_measures, spread_measures
from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    result_of,
    undefined_everywhere,
)
from helpers.cases.study import plain, study


@cache
def without_fairness() -> StudyResult:
    """Return a study in which no class has rows of both groups, as each kind of bird has one colour."""
    data = study(seeds=2, repeats=1, people=400, kept=False)
    present = np.ones((len(data.layout.groups), 2, 1))
    present[:2, 1] = present[2:, 0] = 0
    return result_of(replace(data, tables={split: tables * present for split, tables in data.tables.items()}))


def shown(result: StudyResult, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(result, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_measures_without_a_number_are_left_out() -> None:
    result = without_fairness()
    assert {"fairness", "distance_to_optimum"} <= undefined_everywhere(result, ("sex",))
    assert "accuracy" not in undefined_everywhere(result, ("sex",))
    assert main_measures(result) == ["accuracy", "balanced_accuracy"]
    assert spread_measures(result) == ["accuracy"]
    assert main_measures(plain())[-2:] == ["fairness", "distance_to_optimum"]
    assert not undefined_everywhere(plain(), ("sex",))


def test_where_nothing_is_defined_everything_says_so() -> None:
    result = without_fairness()
    empty = replace(result, records=tuple(replace(record, mean=float("nan")) for record in result.records))
    assert main_measures(empty) == ["accuracy", "balanced_accuracy", "fairness", "distance_to_optimum"]


def test_one_note_says_what_is_left_out() -> None:
    (note,) = (note for note in without_fairness().notes if "left out" in note)
    assert note.startswith("Undefined under every condition: fairness and distance to optimum on sex (")
    assert not any("are left out" in note for note in plain().notes)


def test_nothing_is_called_fairer_or_not_where_fairness_is_undefined() -> None:
    assert without_fairness().alternatives == ()
    assert len(plain().alternatives) == 2
    assert not any("fairer" in words for words in without_fairness().words)


def test_the_terminal_has_no_empty_column() -> None:
    for width in (80, 160):
        text = shown(without_fairness(), width)
        heading = next(line for line in text.splitlines() if line.startswith("Condition "))
        assert "Accuracy" in heading
        assert not re.search("Fairness|DTO|best", heading)
        assert "undefined" not in text[text.index("Effects and costs") : text.index("Notes")]
    assert re.search("Fairness +DTO", shown(plain(), 110))


def test_the_page_has_no_empty_part() -> None:
    html = page(without_fairness())
    sections = re.findall(r'<section id="(\w+)"', html)
    assert not {"ranks", "alternatives"} & set(sections)
    assert {"numbers", "effects", "costs", "spreads"} <= set(sections)
    assert {"ranks", "alternatives"} <= set(re.findall(r'<section id="(\w+)"', page(plain())))
    assert all(f'id="{target}"' in html for target in re.findall(r'href="#(\w+)"', html))
    numbers = html[html.index('<section id="numbers"') : html.index('<section id="effects"')]
    assert "undefined" not in re.sub("<svg.*?</svg>|<script.*?</script>|<img [^>]*>", "", numbers, flags=re.DOTALL)
    assert "Identical reruns</th>" not in html
    assert "Other seeds</th>" in html


def test_charts_have_no_empty_panel_or_column() -> None:
    charts = {chart.name: chart for chart in charts_of(without_fairness()).values()}
    assert charts["values"].title == "Performance of every treatment"
    for name in ("values", "spreads"):
        sets = charts[name].spec["datasets"]
        assert {row["panel"] for row in sets["rows"]} == set(range(2 if name == "values" else 1))
    for name in ("effects sex", "variances sex"):
        metrics = {row["metric"] for row in charts[name].spec["datasets"]["rows"]}
        assert not {"Fairness (1 − GAP)", "DTO"} & metrics
