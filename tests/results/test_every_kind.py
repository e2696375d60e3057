"""What every result offers, whichever command returned it: one contract, tested on one result of each kind."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import altair
import narwhals as nw
import pytest

from equipoise.foundation import report_of
from equipoise.results import Finding, Records, Result, Table
from helpers.cases.result import KINDS

# Claims, and the names that people gave, are told in tables alone; a sheet shows pictures.
WITHOUT_CHARTS = ("reproduction", "naming", "agreement")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def result(kind: str) -> Result:
    return KINDS[kind]()


def test_it_is_a_result_with_a_report(kind: str, result: Result) -> None:
    assert isinstance(result, Result)
    assert result.schema.startswith("equipoise.")
    assert report_of(type(result).kind) is not None


def test_records_are_of_one_type_and_every_number_is_a_field(result: Result) -> None:
    assert result.records
    assert {type(record) for record in result.records} == {type(result).record_type}
    fields = {field.name for field in dataclasses.fields(type(result).record_type)}
    assert fields >= {*result.numbers, *result.joined}


def test_findings_are_the_confirmed_statements(result: Result) -> None:
    assert isinstance(result.statements, Records)
    assert all(isinstance(statement, Finding) for statement in result.statements)
    assert tuple(result.findings) == tuple(statement for statement in result.statements if statement.confirmed)
    for finding in result.statements:
        source = getattr(result, finding.source)
        assert not isinstance(source, tuple) or 0 <= finding.index < len(source)


def test_an_interval_has_its_level(result: Result) -> None:
    tuples = [getattr(result, field.name) for field in dataclasses.fields(result)]
    records = [one for part in (*tuples, result.statements) if isinstance(part, (tuple, Records)) for one in part]
    for record in records:
        ends = [getattr(record, name, None) for name in ("low", "high")]
        if any(end is not None and not math.isnan(end) for end in ends):
            # A record of a study has two intervals: of its mean, and of its change.
            level = record.mean_level if hasattr(record, "mean_level") else record.level
            assert level is not None, record
            assert 0 <= level < 1


def test_tables_have_a_name_a_caption_and_a_cell_under_every_heading(result: Result) -> None:
    tables = result.tables()
    assert all(isinstance(table, Table) for table in tables)
    assert len({table.name for table in tables}) == len(tables) > 0
    for table in tables:
        assert table.caption
        assert {len(row) for row in table.rows} <= {len(table.headings)}


def test_charts_have_names_to_type(kind: str, result: Result) -> None:
    charts = result.charts()
    assert bool(charts) == (kind not in WITHOUT_CHARTS)
    assert dir(result.plot) == sorted(charts)
    assert repr(result.plot).startswith("charts: " if charts else "no charts")
    for name, chart in charts.items():
        assert name.isidentifier()
        assert isinstance(chart, altair.TopLevelMixin)
        assert getattr(result.plot, name)().to_dict(validate=False) == chart.to_dict(validate=False)
        assert "mark" in json.dumps(chart.to_dict(validate=False))


def test_provenance_says_where_it_came_from(result: Result) -> None:
    assert isinstance(result.provenance, Mapping)
    assert result.provenance["equipoise"]
    json.dumps(result.as_json(), allow_nan=False)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_one_row_per_record(result: Result, backend: str) -> None:
    frame = nw.from_native(result.to_frame(backend), eager_only=True)
    assert len(frame) == len(result.records)
    fields = [field.name.rstrip("_") for field in dataclasses.fields(type(result).record_type)]
    assert frame.columns == fields


def test_a_dictionary_has_defined_numbers_under_unique_names(result: Result) -> None:
    flat = result.to_dict()
    assert all(isinstance(name, str) and math.isfinite(value) for name, value in flat.items())


def test_json_is_strict_and_says_what_it_is(result: Result, tmp_path: Path) -> None:
    text = result.to_json(tmp_path / "result.json")
    assert (tmp_path / "result.json").read_text(encoding="utf-8") == text

    def refused(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    content = json.loads(text, parse_constant=refused)
    assert content["schema"] == result.schema


def test_csv_has_a_line_for_every_record(result: Result, tmp_path: Path) -> None:
    text = result.to_csv(tmp_path / "result.csv")
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) > len(result.records)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert (tmp_path / "result.csv").exists()


def test_latex_has_a_table(result: Result, tmp_path: Path) -> None:
    text = result.to_latex(tmp_path / "result.tex")
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") > 0
    assert (tmp_path / "result.tex").exists()


@pytest.mark.parametrize(("ending", "start"), [(".html", "<!doctype html>"), (".md", "#")])
def test_a_report_is_one_file(result: Result, tmp_path: Path, ending: str, start: str) -> None:
    path = result.report(tmp_path / f"report{ending}")
    assert path.read_text(encoding="utf-8").lower().startswith(start)


def test_its_representation_is_one_line(result: Result) -> None:
    line = repr(result)
    assert line.startswith(f"{type(result).__name__}(")
    assert line.isprintable()
    assert len(line) < 160


def test_a_notebook_shows_the_first_screen_with_its_main_chart(kind: str, result: Result) -> None:
    shown = result._repr_html_()
    assert shown is not None
    assert "<script" not in shown
    assert ('src="data:image/' in shown) == (kind not in WITHOUT_CHARTS)


@pytest.mark.parametrize("name", ["audit", "change", "ranking", "evidence"])
def test_kinds_with_gates_pass_or_break_them(name: str) -> None:
    gate = {"ranking": "exposure_ratio < {}", "evidence": "share(DP > {}) > 0.05"}.get(name, "DP > {}")
    passes, breaks = ("0", "1.1") if name == "ranking" else ("1.1", "0")
    gated: Callable[..., Any] = KINDS[name]().check
    assert gated(gate.format(passes)).passed
    assert not gated(gate.format(breaks)).passed
