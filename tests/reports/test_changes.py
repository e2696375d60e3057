"""What changed, on the page and in the terminal: every number is that of the JSON."""

from __future__ import annotations

import math
import re
from io import StringIO

import altair
import pytest
from rich.console import Console

from equipoise.audits import AuditResult
from equipoise.foundation import report_of
from equipoise.reports.charts import Chart
from equipoise.reports.charts.dumbbells import _scale
from helpers.cases.report import HOSTILE, adult, changed, periods

REPORT = report_of("audit")
CASES = {"changed": changed, "periods": periods}
every_case = pytest.mark.parametrize("name", list(CASES))


def numbers_on(text: str) -> list[tuple[int, str, str]]:
    found = re.findall(r'<span data-r="(\d+)" data-list="changes" data-f="(\w+)">([^<]*)</span>', text)
    return [(int(place), what, shown) for place, what, shown in found]


def change_charts(result: AuditResult) -> list[Chart]:
    return [chart for name, chart in REPORT.charts(result).items() if name.startswith("changes")]


@every_case
def test_every_number_of_the_table_is_that_of_its_change(name: str) -> None:
    result: AuditResult = CASES[name]()
    shown = numbers_on(REPORT.page(result))
    assert {place for place, _, _ in shown} == set(range(len(result.changes)))
    for place, what, text in shown:
        value = getattr(result.changes[place], what)
        if text.startswith("&lt;"):
            assert value < 0.001
            continue
        whole = 1 if what == "p_adjusted" else 100
        digits = 3 if what == "p_adjusted" else 1
        plain = float(text.replace("−", "-").replace("+", ""))
        assert plain == pytest.approx(value * whole, abs=0.5000001 * 10.0**-digits), (what, text, value)


@every_case
def test_the_charts_draw_the_changes_as_they_are(name: str) -> None:
    result: AuditResult = CASES[name]()
    charts = change_charts(result)
    assert charts
    drawn = 0
    for chart in charts:
        altair.Chart.from_dict(chart.spec, validate=True)
        for row in chart.spec["datasets"]["rows"]:
            change = result.changes[row["change"]]
            drawn += 1
            assert row["rate"] == pytest.approx(
                100 * (change.before if row["what"] == "before" else change.after), rel=1e-4
            )
            assert ("confirmed" in row["what"]) == (bool(change.finding) and row["what"] != "before")
    assert drawn == 2 * sum(1 for change in result.changes if change.kind == "rate" and change.status == "ok")


@every_case
def test_all_panels_of_changes_have_one_scale_so_that_a_small_change_looks_small(name: str) -> None:
    for chart in change_charts(CASES[name]()):
        rates = [row["rate"] for row in chart.spec["datasets"]["rows"]]
        [low, high] = next(
            layer["encoding"]["x"]["scale"]["domain"]
            for layer in chart.spec["spec"]["layer"]
            if "domain" in layer["encoding"]["x"].get("scale", {})
        )
        assert 0 <= low <= min(rates) <= max(rates) <= high <= 100
        assert high - low >= 10
        assert "scale" not in chart.spec.get("resolve", {})
        assert f"All panels have one scale, from {low:g} to {high:g}%." in chart.caption


@pytest.mark.parametrize("rate", [0.0, 0.2, 5.0, 50.04, 97.5, 100.0])
def test_a_change_of_a_tenth_of_a_point_is_drawn_on_ten_points_at_least(rate: float) -> None:
    low, high = _scale([rate, min(rate + 0.1, 100.0)])
    assert high - low >= 10
    assert 0 <= low <= rate <= high <= 100


def test_names_in_changes_are_only_shown() -> None:
    text = REPORT.page(changed())
    assert 'id="changes"' in text
    assert '<a href="#changes">' in text
    assert HOSTILE[0] not in text
    assert "\u202e" not in text


@pytest.mark.long
def test_an_audit_without_changes_has_no_part_about_them() -> None:
    assert adult().changes == ()
    assert 'id="changes"' not in REPORT.page(adult())
    assert "What changed" not in printed(adult(), 100)


def printed(result: AuditResult, width: int) -> str:
    out = StringIO()
    REPORT.show(result, Console(width=width, file=out))
    return out.getvalue()


@pytest.mark.parametrize("width", [70, 120, 200])
def test_the_terminal_says_it_in_words_and_then_in_a_table_that_fits(width: int) -> None:
    text = printed(changed(), width)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    flat = " ".join(text.split())
    said = "The selection rate of '1' for plain rose"
    assert (
        flat.index(said) < flat.index("What changed (the same rows judged twice)") < flat.index("Before → after in %")
    )
    assert flat.count(said) == 1
    assert "\u202e" not in text
    change = next(c for c in changed().changes if c.measure == "selection_rate" and c.group == "plain")
    assert f"{100 * change.before:.1f} → {100 * change.after:.1f}" in text


def test_a_group_of_one_side_has_a_question_mark() -> None:
    text = printed(periods(), 160)
    later = next(c for c in periods().changes if c.group == "later" and c.measure == "accuracy")
    assert math.isnan(later.before)
    assert f"? → {100 * later.after:.1f}" in text
    assert "two samples of people" in text
