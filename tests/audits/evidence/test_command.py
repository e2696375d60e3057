"""``equipoise evidence`` as a person sees it."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from equipoise.audits.evidence import evidence
from equipoise.reports import show
from helpers.running import Program


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    path = tmp_path / "runs.csv"
    rows = [
        (technique, metric, run, start + run / 1000)
        for technique, dp, accuracy in (("base", 0.3, 0.8), ("better", 0.2, 0.7), ("same", 0.3, 0.8))
        for metric, start in (("DP", dp), ("accuracy", accuracy))
        for run in range(6)
    ]
    path.write_text("technique,metric,run,value\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    return path


def test_words_come_first_then_the_table_then_the_notes(equipoise: Program, runs: Path) -> None:
    ended = equipoise("evidence", runs, "--baseline", "base", "--performance", "accuracy")
    assert (ended.code, ended.err) == (0, "")
    words, table, notes = (
        ended.out.index(text) for text in ("better lowered DP from", "One row per technique and metric", "Notes")
    )
    assert words < table < notes
    told = " ".join(ended.out.split())
    assert "at a cost: it lowered accuracy from 0.8025 to 0.7025 (6 runs each, compared with base)." in told
    assert "changes for the better ■ 1 of 2" in told
    assert "same • No significant effect on any mean (DP, accuracy)." in told
    assert "other seeds or other people" in " ".join(ended.out.split())


def test_the_command_of_the_issue_runs(equipoise: Program, runs: Path, tmp_path: Path) -> None:
    output = tmp_path / "evidence.json"
    columns = [word for name in ("technique", "metric", "run", "value") for word in (f"--{name}", name)]
    ended = equipoise("evidence", runs, *columns, "--baseline", "base", "--json", output)
    assert ended.code == 0
    assert f"Every number: {output}" in ended.out.replace("\n", "")
    written = json.loads(output.read_text(encoding="utf-8"))
    assert written["schema"] == "equipoise.evidence/1"
    assert written["provenance"]["command"].startswith("equipoise evidence ")
    assert written["provenance"]["columns"]["value"] == "value"


def test_quiet_prints_nothing(equipoise: Program, runs: Path, tmp_path: Path) -> None:
    ended = equipoise("evidence", runs, "--baseline", "base", "--quiet", "--json", tmp_path / "evidence.json")
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_bad_input_leaves_an_older_output_as_it_was(equipoise: Program, runs: Path, tmp_path: Path) -> None:
    output = tmp_path / "evidence.json"
    output.write_text("the old one")
    assert equipoise("evidence", runs, "--baseline", "nobody", "--json", output).code == 2
    assert output.read_text() == "the old one"


@pytest.mark.parametrize("width", [60, 80, 110, 140])
def test_a_narrow_and_a_wide_terminal_both_fit(runs: Path, width: int) -> None:
    names = {name: name for name in ("technique", "metric", "run", "value")}
    result = evidence(runs, **names, baseline="base", performance="accuracy")
    console = Console(width=width, record=True, file=StringIO())
    show(result, console)
    text = console.export_text()
    assert "…" not in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width


def test_what_has_no_number_is_called_undefined(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("technique,metric,run,value\nbase,DP,1,0.1\nt,DP,1,\nu,DP,1,0.1\n")
    ended = equipoise("evidence", path, "--baseline", "base")
    assert ended.code == 0, ended.err
    assert "undefined" in ended.out
    assert "2 more inconclusive" in ended.out or ended.out.count("inconclusive") >= 2


def test_names_cannot_drive_the_terminal(equipoise: Program, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text('technique,metric,run,value\nbase,"[red]\x1b[31m",1,0.1\n[/],"[red]\x1b[31m",1,0.2\n')
    ended = equipoise("evidence", path, "--baseline", "base")
    assert ended.code == 0, ended.err
    assert "\x1b[31m" not in ended.out
    assert "[/]" in ended.out


def test_many_records_are_cut_short_in_the_terminal_only(equipoise: Program, tmp_path: Path) -> None:
    path, output = tmp_path / "runs.csv", tmp_path / "evidence.json"
    rows = [f"t{number},DP,{run},{number + run}\n" for number in range(80) for run in range(3)]
    path.write_text("technique,metric,run,value\n" + "".join(rows))
    ended = equipoise("evidence", path, "--baseline", "t0", "--json", output)
    assert "more rows (all are in --json)" in " ".join(ended.out.split())
    assert len(json.loads(output.read_text(encoding="utf-8"))["records"]) == 80
