"""The page of evidence over runs: whole, small, safe, and true to the JSON. test_browser opens it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from equipoise.audits.evidence import EvidenceResult
from equipoise.foundation import report_of
from equipoise.reports._formats import safe_name
from equipoise.reports.charts.chart import INK
from equipoise.reports.charts.matrix import CHANGES, EFFECTS, GREY
from equipoise.reports.charts.strips import BINS, VERDICTS
from helpers.cases.evidence import CASES, NAMES, classes, few, many_runs, many_techniques, plain
from helpers.cases.report import HOSTILE
from helpers.page_checks import MEGABYTE, Tree, check_number, contrast
from helpers.pages import Pages, check_figures, check_own_page
from helpers.running import Program

pytestmark = [pytest.mark.long, pytest.mark.once]

REPORT = report_of("evidence")
pages = Pages(CASES, REPORT.page, lambda result: {name: [chart] for name, chart in REPORT.charts(result).items()})
every_case, html_of, tree_of, drawn_of = pages.every, pages.html, pages.tree, pages.charts


def rows_of(name: str, chart: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = next(own.spec["datasets"]["rows"] for own in drawn_of(name) if own.name == chart)
    return rows


@every_case
def test_a_page_is_whole_small_and_made_for_everybody(name: str) -> None:
    pages.check_whole(name)


@every_case
def test_every_number_on_the_page_is_that_of_the_json(name: str) -> None:
    document: Any = CASES[name]().as_json()
    shown = [element for element in tree_of(name).elements if "data-r" in element.attributes]
    assert len(shown) > 10
    for element in shown:
        what = str(element.attributes["data-f"])
        source = str(element.attributes.get("data-list", "records"))
        value = document[source][int(str(element.attributes["data-r"]))][what]
        check_number(element.words, value, whole=100 if element.words.endswith("%") else 1)


@every_case
def test_what_charts_draw_is_what_the_json_says(name: str) -> None:
    result = CASES[name]()
    for row in rows_of(name, "effects"):
        record = result.records[row["record"]]
        assert row["d"] == (pytest.approx(record.d, rel=1e-5) if record.d == record.d else None)
        better = "lower" if record.metric not in result.performance else "higher"
        way = "better, " if record.verdict == better else "worse, "
        assert row["step"].startswith(
            {"none": "not significant", "undecided": "inconclusive"}.get(str(record.verdict), way)
        )
        assert row["text"].startswith({"lower": "▼", "higher": "▲"}.get(str(record.verdict), ""))
        assert record.band is None or record.verdict in ("none", "undecided") or row["step"].endswith(record.band)
    for row in rows_of(name, "variances"):
        change = result.variances[row["variance"]]
        ratio, _, way = change.counted
        assert row["ratio"] == (pytest.approx(ratio, rel=1e-5) if ratio == ratio else None)
        assert row["open"] == (way is None)
    summaries = [row for chart in drawn_of(name) for row in chart.spec["datasets"]["rows"] if "base" in row]
    assert summaries
    for row in summaries:
        record = result.records[row["record"]]
        assert [row[end] for end in ("min", "max", "mean")] == pytest.approx(
            [record.min, record.max, record.mean], 1e-5
        )
        [own] = result.find(technique=record.baseline or record.technique, metric=record.metric)
        assert row["base"] == pytest.approx(own.mean, rel=1e-5)


@pytest.mark.parametrize("name", ["plain", "few", "odd"])
def test_every_run_is_drawn_once(name: str) -> None:
    drawn = sorted(
        row["x"] for chart in drawn_of(name) for row in chart.spec["datasets"]["rows"] if row.get("x") is not None
    )
    assert drawn == pytest.approx(sorted(value for run in CASES[name]().runs for value in run.values), rel=1e-5)


def test_too_many_runs_are_drawn_as_shares_of_bins() -> None:
    rows = [row for row in rows_of("many_runs", "runs") if "share" in row]
    lines = {(row["panel"], row["line"]) for row in rows}
    assert len(lines) == len(many_runs().runs)
    for line in lines:
        own = [row for row in rows if (row["panel"], row["line"]) == line]
        assert len(own) <= BINS
        assert sum(row["binned"] for row in own) == 1_000
        assert sum(row["share"] for row in own) == pytest.approx(1, abs=1e-4)
    assert not any("x" in row for row in rows_of("many_runs", "runs"))


def test_the_answer_comes_first_in_words_with_scope_and_costs() -> None:
    told, result = tree_of("plain").by_id("verdict").words, plain()
    assert result.words[0] in told
    assert "at a cost: it lowered accuracy" in told
    assert result.records[0].scope in told
    for sentence in result.words:
        assert sentence in told or sentence.partition(": ")[2] in told
    judged = [record for record in result.records if record.verdict is not None and record.metric != "accuracy"]
    lower = [record for record in judged if record.verdict == "lower"]
    costly = sum(bool(record.costs) for record in lower)
    assert f"changes for the better {len(lower)} of {len(judged)} {costly} of them at a cost" in told
    order = [element.attributes.get("id") for element in tree_of("plain").all("section")]
    assert order == ["verdict", "costs", "table", "runs", "variances", "untold", "notes", "provenance"]
    first = tree_of("plain").all("figure")[0]
    assert "Effect of each technique on each metric" in first.words


def test_costs_name_the_metrics_and_the_performance_of_both_sides() -> None:
    told = tree_of("plain").by_id("costs").words
    assert "one row per technique, compared with untreated" in told
    assert "undersampling ■ 3 of 3 DI, DP, EOTP" in told
    [own], [base] = (plain().find(technique=name, metric="accuracy") for name in ("undersampling", "untreated"))
    assert f"◆ {own.mean:.4g} against {base.mean:.4g} ▼ lower" in told
    wider = {
        change.metric
        for change in plain().variances
        if change.technique == "adversarial" and change.counted[2] == "higher" and change.metric != "accuracy"
    }
    assert wider
    assert f"▼ lower varies more ◆ {len(wider)} of 3 {', '.join(sorted(wider))}" in told
    assert "No metric was named as the performance" in tree_of("few").by_id("costs").words


def test_what_is_undecided_or_undefined_is_told_with_its_reason() -> None:
    assert "Every number that was asked for could be computed" in tree_of("plain").by_id("untold").words
    told = tree_of("few").by_id("untold").words
    assert "inconclusive with 3 runs against 3" in told
    assert told.count("inconclusive with 3 runs against 3") < len(few().variances), "one reason is told once"
    told = tree_of("odd").by_id("untold").words
    assert "constant on DP: d, Levene's p, Levene's p of relative values undefined" in told
    assert "once has no runs on far" in tree_of("odd").by_id("notes").words
    assert "undefined" in tree_of("odd").by_id("table").words
    assert {row["text"] for row in rows_of("few", "effects")} == {"?"}


def test_each_baseline_heads_the_techniques_compared_with_it() -> None:
    [labels] = [param["value"] for param in drawn_of("odd")[0].spec["params"] if param["name"] == "labels"]
    assert labels == ["compared with base one", "constant", "once", "compared with base two", "same"]
    told = tree_of("odd").by_id("costs").words
    assert "constant compared with base one" in told
    assert "same compared with base two" in told


def test_classes_that_flip_are_drawn_and_listed() -> None:
    result = classes()
    assert any(straddle.complete for straddle in result.straddling)
    for row in rows_of("classes", "straddling classes"):
        straddle = result.straddling[row["straddle"]]
        assert (row["low"], row["high"]) == pytest.approx((straddle.min, straddle.max), rel=1e-5)
        assert row["text"] == f"{straddle.broken} of {straddle.runs}"
        assert row["kind"].startswith("0%") == straddle.complete
    told = tree_of("classes").by_id("straddling").words
    for straddle in result.straddling:
        name, low, high = safe_name(straddle.by), 100 * straddle.min, 100 * straddle.max
        counted = f"{straddle.broken} of {straddle.runs} {low:.1f}% {high:.1f}%"
        assert f"{name} {straddle.technique} {straddle.metric} {counted}" in told
    assert "straddling" not in {element.attributes.get("id") for element in tree_of("plain").elements}


def test_names_that_try_to_run_are_only_shown() -> None:
    pages.check_harmless("hostile")
    tree = tree_of("hostile")
    told = tree.by_id("table").words
    for index, technique in enumerate(HOSTILE):
        assert " ".join(safe_name(f"{technique}{index}").split()) in told
    assert "equipoise evidence '</script><script>window.injected = 4</script>'" in tree.by_id("provenance").words


def test_the_page_says_where_its_numbers_come_from() -> None:
    told, made = tree_of("plain").by_id("provenance").words, plain().provenance
    for part in (made["fingerprint"], made["equipoise"], made["python"], made["created"], "altair", "bh", "accuracy"):
        assert str(part) in told


def test_a_large_page_shows_the_largest_effects_and_says_so() -> None:
    text = html_of("many_techniques")
    assert "Shown are the 40 of 199 techniques with the largest effects." in text
    assert "Left out, to keep the page small" not in text
    assert "The first 250 of 2,000 rows; all of them are in the JSON." in text
    size: dict[str, float] = {}
    for record in many_techniques().records:
        if record.verdict in ("lower", "higher"):
            size[record.technique] = max(size.get(record.technique, 0.0), abs(record.d or 0.0))
    assert {row["technique"] for row in rows_of("many_techniques", "effects")} == set(
        sorted(size, key=lambda technique: -size[technique])[:40]
    )


def test_the_largest_page_still_fits() -> None:
    rows = [
        (
            f"{'名前' * 40}{technique}",
            f"{'測定' * 40}{metric}",
            run,
            (technique * 7 + metric * 3 + run * 11) % 101 / 100,
        )
        for technique in range(90)
        for metric in range(12)
        for run in range(8)
    ]
    table = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    assert len(REPORT.page(equipoise.evidence(table, **NAMES, baseline=rows[0][0])).encode("utf-8")) < 3 * MEGABYTE


def test_charts_keep_to_the_schema_of_vega_lite() -> None:
    pages.check_schema("plain", "classes", "many_runs")


def test_letters_can_be_read_on_every_colour_and_no_verdict_is_told_by_colour_alone() -> None:
    assert all(contrast(INK, paper) >= 4.5 for paper in (*EFFECTS.values(), *CHANGES.values()))
    assert all(contrast(colour, "#ffffff") >= 4.5 for colour in (look.colour for look in VERDICTS.values()))
    looks = {name: look.shape for name, look in VERDICTS.items()}
    assert {name for name, shape in looks.items() if shape == "triangle-down"} == {"lower, better", "lower, worse"}
    assert len(set(looks.values())) == len(VERDICTS) - 2, "a shape is a direction; better and worse have their colours"
    for row in rows_of("plain", "effects"):
        assert (EFFECTS[row["step"]] == GREY) == (row["text"][0] not in "▼▲")


def test_a_result_writes_its_own_page(tmp_path: Path) -> None:
    check_own_page(plain(), REPORT.write, tmp_path)


@every_case
def test_a_notebook_shows_a_small_fragment(name: str) -> None:
    assert pages.check_fragment(name).all("table")


def test_every_chart_can_be_had_as_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    assert check_figures(REPORT.write_figures(classes(), folder), folder) == [
        "01-effects.svg", "02-variances.svg", "03-straddling-classes.svg", "04-runs.svg",
    ]  # fmt: skip


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    lines = (f"{own.technique},{own.metric},{run},{value}\n" for own in plain().runs
             for run, value in zip(own.runs, own.values, strict=True))  # fmt: skip
    path.write_text("technique,metric,run,value\n" + "".join(lines))
    return path


def test_the_command_writes_the_page_and_the_figures(equipoise: Program, runs: Path, tmp_path: Path) -> None:
    target, folder = tmp_path / "page.html", tmp_path / "figures"
    ended = equipoise(
        "evidence", runs, "--baseline", "untreated", "--performance", "accuracy", "--html", target, "--figures", folder
    )
    assert (ended.code, ended.err) == (0, "")
    assert "The page:" in ended.out
    tree = Tree(target.read_text(encoding="utf-8"))
    assert "This command makes them again: equipoise evidence" in tree.by_id("provenance").words
    assert len(list(folder.glob("*.png"))) == len(list(folder.glob("*.svg"))) == 3


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--html", "."), "is a folder"),
        (("--html", "nowhere/page.html"), "does not exist"),
        (("--html", "runs.csv"), "is an input file"),
        (("--html", "a.html", "--json", "a.html"), "both write"),
        (("--figures", "runs.csv"), "is a file"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_before_the_work(
    equipoise: Program, runs: Path, options: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(runs.parent)
    before = runs.read_bytes()
    ended = equipoise("evidence", "runs.csv", "--baseline", "nobody", *options)
    assert ended.code == 2
    assert complaint in " ".join(ended.err.split())
    assert runs.read_bytes() == before
    assert os.listdir(runs.parent) == ["runs.csv"]


def test_the_variances_of_the_json_are_those_of_levene() -> None:
    result: EvidenceResult = plain()
    for change in result.variances:
        [record] = result.find(technique=change.technique, metric=change.metric)
        assert (change.baseline, change.levene_p_adjusted >= (record.levene_p or 0)) == (record.baseline, True)
        sides = [
            next(run.values for run in result.runs if (run.technique, run.metric) == (name, change.metric))
            for name in (change.technique, change.baseline)
        ]
        assert change.ratio == pytest.approx(_distance(sides[0]) / _distance(sides[1]))
        assert change.absolute_ratio == pytest.approx(
            _distance(sides[0]) * np.mean(sides[0]) / (_distance(sides[1]) * np.mean(sides[1]))
        )
        if change.change in ("lower", "higher"):
            assert change.levene_p_adjusted <= 0.05
            assert (change.ratio > 1) == (change.change == "higher")
        for cost in ("metric variance higher",) if change.metric != "accuracy" else ():
            assert (cost in record.costs) == (change.absolute_change == "higher")


def _distance(values: tuple[float, ...]) -> float:
    """How far runs lie from their median on average, relative to their mean: the slow and obvious way."""
    ordered, middle = sorted(values), len(values) // 2
    median = ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    mean = sum(values) / len(values)
    return sum(abs(value - median) for value in values) / len(values) / mean
