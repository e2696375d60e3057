"""``equipoise name``: sheets in, agreement in words, named directions out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.discovery import key_path, load_directions, read_key, save_directions, write_sheet
from helpers.cases.investigation import found
from helpers.running import Ended, Program

NAMES = {"direction 1": "Beards", "direction 2": "age", "random 7": "noise"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    planes = [direction.judged.plane for direction in found().directions]
    save_directions(tmp_path / "found.safetensors", [plane for plane in planes if plane is not None], {"seed": 4})
    write_sheet(found(), tmp_path / "sheet.csv")
    return tmp_path


def filled(folder: Path, rater: str, names: dict[str, str]) -> Path:
    key = read_key(key_path(folder / "sheet.csv"))
    lines = [
        f"{code},{names.get(one.direction, '')},{3 if one.direction in names else ''}," for code, one in key.items()
    ]
    path = folder / f"{rater}.csv"
    path.write_text("code,name,confidence,changes_what\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def refused(ended: Ended, *words: str) -> None:
    assert (ended.code, ended.out) == (2, "")
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err, ended.err


def test_directions_get_the_names_that_most_raters_give(equipoise: Program, folder: Path) -> None:
    one = filled(folder, "one", NAMES)
    two = filled(folder, "two", {"direction 1": "beard", "direction 2": "smile"})
    three = filled(folder, "three", {"direction 1": "beard", "direction 3": "hat"})
    ended = equipoise(
        "name", folder / "found.safetensors", "--sheet", one, "--sheet", two, "--sheet", three,
        "--key", folder / "sheet.key.json", "--save", folder / "named.safetensors",
    )  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    words = " ".join(ended.out.split())
    assert "75% of the pairs that both gave a name gave the same one" in words
    assert "“beard” (3 of 3 raters)" in words
    assert "direction 2 • No agreement: no name has more than 1 of 3 raters." in words
    assert "direction 3 • No agreement: the most usual name, “hat”, has 1 of 3 raters." in words
    assert "direction 1 is now called “beard” direction 2 keeps its name" in words
    assert "The named directions:" in words
    planes, said = load_directions(folder / "named.safetensors")
    assert [plane.name for plane in planes] == ["beard", "direction 2", "direction 3"]
    before, _ = load_directions(folder / "found.safetensors")
    assert all(abs(new.cosine(old)) > 0.999999 for new, old in zip(planes, before, strict=True))
    assert said["seed"] == 4
    naming = said["naming"]
    assert isinstance(naming, dict)
    assert naming["same"] == 0.75
    assert naming["winners"][0] | {"code": ""} == {
        "code": "", "direction": "direction 1", "method": "search", "name": "beard", "votes": 3, "named": 3,
        "raters": 3, "pairs": 1.0, "confidence": 3.0, "agreed": True,
    }  # fmt: skip


def test_one_rater_and_ones_own_names_are_enough(equipoise: Program, folder: Path) -> None:
    sheet = filled(folder, "one", NAMES)
    ended = equipoise(
        "name", folder / "found.safetensors", "--sheet", sheet, "--key", folder / "sheet.key.json", "--name",
        "direction 3=hat", "--save", folder / "named.safetensors",
    )  # fmt: skip
    assert "one rater cannot agree with another" in " ".join(ended.out.split())
    assert [plane.name for plane in load_directions(folder / "named.safetensors")[0]] == ["Beards", "age", "hat"]
    ended = equipoise("name", folder / "found.safetensors", "--name", "direction 2=age")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[:2] == ["direction 1 keeps its name", "direction 2 is now called “age”"]
    assert equipoise("name", folder / "found.safetensors", "--name", "direction 2=age", "-q").out == ""


def test_formulas_and_tags_in_a_sheet_are_only_words(equipoise: Program, folder: Path) -> None:
    bad = {"direction 1": "=cmd|' /C calc'!A0", "direction 2": "<b>\x1b[31mred</b>"}
    ended = equipoise(
        "name", folder / "found.safetensors", "--sheet", filled(folder, "one", bad), "--sheet",
        filled(folder, "two", bad), "--key", folder / "sheet.key.json", "--save", folder / "named.safetensors",
    )  # fmt: skip
    assert (ended.code, ended.err) == (0, "")
    names = json.loads((folder / "named.json").read_text(encoding="utf-8"))["names"]
    assert names == ["cmd C calc A0", "b 31mred b", "direction 3"]
    assert "\x1b" not in ended.out


def test_bad_input_is_refused_and_nothing_is_written(equipoise: Program, folder: Path) -> None:
    directions, sheet, key = folder / "found.safetensors", filled(folder, "one", NAMES), folder / "sheet.key.json"
    save = ("--save", folder / "named.safetensors")
    refused(equipoise("name", directions, *save), "No name was given", "--sheet with --key, or --name")
    refused(equipoise("name", directions, "--sheet", sheet, *save), "without --key")
    refused(equipoise("name", directions, "--key", key, "--name", "direction 1=x", *save), "without --sheet")
    refused(equipoise("name", directions, "--sheet", sheet, "--sheet", sheet, "--key", key, *save), "given twice")
    refused(equipoise("name", directions, "--sheet", sheet, "--key", sheet, *save), "not the key of a naming sheet")
    refused(equipoise("name", directions, "--sheet", key, "--key", key, *save), "no column")
    refused(equipoise("name", folder / "no.safetensors", "--sheet", sheet, "--key", key, *save), "There is no file")
    refused(equipoise("name", directions, "--name", "direction 7=x", *save), "direction 'direction 7' not found")
    refused(equipoise("name", directions, "--name", "direction 1=x", "--save", directions), "an input file")
    refused(equipoise("name", directions, "--name", "direction 1=x", "--save", folder / "x.pickle"), "another ending")
    page = ("--html", folder / "page.html")
    refused(
        equipoise("name", directions, "--name", "direction 1=x", *page), "--html was given, and there are no sheets"
    )
    assert not (folder / "page.html").exists()
    unknown = folder / "unknown.csv"
    unknown.write_text("code,name,confidence,changes_what\nQ,x,3,\n")
    refused(equipoise("name", directions, "--sheet", unknown, "--key", key, *save), "the code 'Q'", "A, B, C")
    refused(equipoise("name", directions, "--name", "direction 1=x", "--save", "."), "is a folder")
    refused(equipoise("name", ".", "--name", "direction 1=x", *save), "another ending")
    beside = folder / "sheet.key.safetensors"
    refused(equipoise("name", directions, "--sheet", sheet, "--key", key, "--save", beside), "an input file")
    assert not (folder / "named.safetensors").exists()
    assert not (folder / "x.json").exists()
    assert not beside.exists()


def test_agreement_is_written_as_every_other_result(equipoise: Program, folder: Path) -> None:
    sheets = [arg for rater in ("one", "two") for arg in ("--sheet", filled(folder, rater, NAMES))]
    key = folder / "sheet.key.json"
    page, summary, numbers = folder / "page.html", folder / "summary.md", folder / "numbers.json"
    outputs = ("--html", page, "--markdown", summary, "--json", numbers)
    ended = equipoise("name", folder / "found.safetensors", *sheets, "--key", key, *outputs)
    assert ended.code == 0, ended.err
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert summary.read_text(encoding="utf-8").startswith("# Do people agree")
    assert json.loads(numbers.read_text(encoding="utf-8"))["schema"] == "equipoise.agreement/1"
    assert ended.out.rstrip().endswith("keeps its name") or "is now called" in ended.out
