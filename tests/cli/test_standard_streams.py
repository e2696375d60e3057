"""Standard output and input: - writes to the one, and the other is refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.running import Program

ASK = ("--target", "y", "--prediction", "p", "--favourable", "1", "--group", "sex")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("y,p,sex\n" + "1,1,f\n0,1,m\n1,0,m\n0,0,f\n" * 5)
    return path


@pytest.mark.parametrize("option", ["--json", "--csv", "--latex"])
def test_a_dash_writes_to_standard_output_and_nothing_else_does(
    equipoise: Program, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written = equipoise("audit", people, *ASK, "--draws", "0", option, tmp_path / "out", "--quiet")
    assert written.code == 0
    ended = equipoise("audit", people, *ASK, "--draws", "0", option, "-")
    assert ended.code == 0
    assert not (tmp_path / "-").exists()
    if option == "--json":
        assert json.loads(ended.out)["records"] == json.loads((tmp_path / "out").read_text())["records"]
    else:
        assert ended.out.replace("\r\n", "\n") == (tmp_path / "out").read_text().replace("\r\n", "\n")


def test_a_dash_that_stands_for_two_outputs_or_a_page_is_refused(equipoise: Program, people: Path) -> None:
    for options in (("--json", "-", "--csv", "-"), ("--html", "-"), ("--pdf", "-"), ("--figures", "-")):
        ended = equipoise("audit", people, *ASK, *options)
        assert ended.code == 2
        assert "-" in ended.err
        assert "Traceback" not in ended.err


def test_standard_input_is_refused_with_what_to_do(equipoise: Program) -> None:
    ended = equipoise("audit", "-", *ASK)
    assert ended.code == 2
    assert "COMMAND > people.csv" in ended.err
