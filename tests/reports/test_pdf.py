"""A page as a PDF: printed by the Chromium of the machine, or refused with the line that helps."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
)
from equipoise.reports import find_browser
from equipoise.reports.render.pdf import VARIABLE, pdf
from helpers import chromium
from helpers.cases import report as report_cases
from helpers.required import missing
from helpers.running import Program

# A browser as it is called: it keeps the page that it was given beside itself.
STAND_IN = """#!/bin/sh
for word in "$@"; do
  case "$word" in
    --print-to-pdf=*) target="${word#--print-to-pdf=}" ;;
    file://*) page="${word#file://}" ;;
  esac
done
cp "$page" "$(dirname "$0")/page.html"
"""
PRINTS = 'printf "%%PDF-1.7 printed" > "$target"\n'


def stand_in(folder: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a program that is called as a browser is, and name it."""
    program = folder / "browser"
    program.write_text(STAND_IN + end)
    program.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(program))
    return program


def test_without_a_browser_nothing_is_printed_and_the_way_to_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match=rf"(?s)none was found.*google-chrome.*help: install Chromium.*\${VARIABLE}"):
        report_cases.CASES["adult"]().report(tmp_path / "audit.pdf")
    assert not list(tmp_path.iterdir())


def test_a_variable_that_names_no_program_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/chrome")
    with pytest.raises(BadInput, match="names '/nowhere/chrome', which is no program"):
        find_browser()


def test_the_first_browser_on_the_path_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("google-chrome", "chromium-browser"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert find_browser() == str(tmp_path / "chromium-browser")


def test_a_result_is_printed_as_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, PRINTS, monkeypatch)
    result = report_cases.CASES["adult"]()
    assert result.report(tmp_path / "audit.pdf") == tmp_path / "audit.pdf"
    assert (tmp_path / "audit.pdf").read_bytes() == b"%PDF-1.7 printed"
    result.report(tmp_path / "audit.html")
    assert (tmp_path / "page.html").read_text() == (tmp_path / "audit.html").read_text()


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("echo one >&2; echo no usable sandbox >&2; exit 1", "printed no PDF: no usable sandbox"),
        ("exit 0", "printed no PDF: it said nothing"),
        ('echo not a document > "$target"', "printed no PDF"),
    ],
)
def test_a_browser_that_prints_nothing_is_an_error_with_its_words(
    end: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, end, monkeypatch)
    with pytest.raises(EquipoiseError, match=rf"(?s){why}.*help: "):
        pdf("<p>a page</p>")


def test_a_browser_that_hangs_is_ended_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, f'sleep 600 & echo $! > "{tmp_path}/child"; sleep 600', monkeypatch)
    with pytest.raises(EquipoiseError, match="printed no PDF within 1 s"):
        pdf("<p>a page</p>", seconds=1)
    child = int((tmp_path / "child").read_text())
    until = time.monotonic() + 30
    while alive(child):
        assert time.monotonic() < until
        time.sleep(0.02)


def alive(process: int) -> bool:
    """Tell whether a process runs: one that ended and waits for whoever started it does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = stand_in(tmp_path, "", monkeypatch)
    program.write_bytes(b"\x00\x01")
    with pytest.raises(EquipoiseError, match="could not be started"):
        pdf("<p>a page</p>")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("sex,y,p\n" + "Female,1,0\nMale,1,1\nFemale,0,0\nMale,0,1\n" * 20)
    return path


AUDIT = ("--target", "y", "--prediction", "p", "--group", "sex")


def test_the_command_line_prints_what_the_page_shows(
    people: Path, equipoise: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(people.parent, PRINTS, monkeypatch)
    ended = equipoise("audit", people, *AUDIT, "--pdf", people.parent / "audit.out")
    assert ended.code == 0, ended.err
    assert (people.parent / "audit.out").read_bytes() == b"%PDF-1.7 printed"
    assert f"The page, printed: {people.parent / 'audit.out'}" in ended.out


def test_the_command_line_asks_for_a_browser_before_any_work(
    people: Path, equipoise: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere/chrome")
    folder = people.parent
    ended = equipoise("audit", people, *AUDIT, "--pdf", folder / "audit.pdf", "--json", folder / "audit.json")
    assert ended.code == 2
    assert "names '/nowhere/chrome'" in ended.err
    assert "help: " in ended.err
    assert [file.name for file in folder.iterdir()] == ["people.csv"]


def test_chromium_prints_a_page_on_paper_of_its_own_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = chromium.program()
    if program is None:
        missing("chromium", "Chromium", "install Chromium to print pages here")
    monkeypatch.setenv(VARIABLE, program)
    path = report_cases.CASES["adult"]().report(tmp_path / "audit.pdf")
    content = path.read_bytes()
    assert content.startswith(b"%PDF-")
    boxes = re.findall(rb"/MediaBox \[([^\]]*)\]", content)
    # A4, which only the print style of the page asks for.
    assert {tuple(round(float(side)) for side in box.split()) for box in boxes} == {(0, 0, 595, 842)}
    assert len(re.findall(rb"/Type\s*/Page\b", content)) > 2
