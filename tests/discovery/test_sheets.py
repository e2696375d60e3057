"""Sheets as strangers send them: read if they can be, refused in words if not, and never obeyed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.discovery import key_path, read_key, read_sheet, write_sheet
from equipoise.discovery._naming import Named, cleaned, normalised_name
from equipoise.foundation import FORMULA_STARTS, BadInput
from helpers.cases.investigation import found

HEAD = "code,name,confidence,changes_what\n"
CODES = ("A", "B", "C")


def sheet(folder: Path, text: str | bytes) -> Path:
    path = folder / "rater.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_filled_in_sheet_is_read(tmp_path: Path) -> None:
    read = read_sheet(
        sheet(tmp_path, HEAD + 'A,Glasses,4,"frames, then none"\n b ,,,\nC, skin-tone ,5,\n\n,,,\n'), CODES
    )
    assert read == {
        "A": Named("Glasses", 4, "frames then none"), "B": Named("", None, ""), "C": Named("skin-tone", 5, ""),
    }  # fmt: skip


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_spreadsheets_write_is_read(tmp_path: Path, separator: str, start: str, end: str) -> None:
    lines = [["code", "name", "confidence", "changes_what", "remark"], ["A", "beard", "3", "", "x"], ["B", "age"]]
    text = start + "".join(separator.join(line) + end for line in lines)
    assert read_sheet(sheet(tmp_path, text), CODES) == {"A": Named("beard", 3), "B": Named("age")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("code,name,changes_what\nA,x,\n", "no column confidence"),
        ("", "no column code, name, confidence, changes_what"),
        (HEAD + "Z,x,3,\n", "the code 'Z'"),
        (HEAD + ",x,3,\n", "the code ''"),
        (HEAD + "A,x,3,\na,y,3,\n", "the code 'A' again"),
        (HEAD + "A,x,6,\n", "the confidence '6'"),
        (HEAD + "A,x,sure,\n", "the confidence 'sure'"),
        (HEAD + "A,x,=1+1,\n", "the confidence '=1\\+1'"),
        (HEAD + "A," + "x" * 61 + ",3,\n", "61 letters"),
        (HEAD + "=cmd(),x,3,\n", "the code '=CMD\\(\\)'"),
        (HEAD.encode() + b"A,caf\xe9,3,\n", "not in UTF-8"),
        (HEAD.encode() + b"A,\x00,3,\n", "not text"),
        (HEAD + 'A,"' + "x" * 200_000 + '",3,\n', "not CSV"),
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        read_sheet(sheet(tmp_path, text), CODES)


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no naming sheet"):
        read_sheet(tmp_path / "nobody.csv", CODES)
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(16_000_001)
    with pytest.raises(BadInput, match="too large"):
        read_sheet(path, CODES)


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("=cmd()", "cmd"),
        ('=HYPERLINK("http://x";"y")', "HYPERLINK http x y"),
        ("@SUM(A1)", "SUM A1"),
        ("-2+3", "2 3"),
        ("<script>alert(1)</script>", "script alert 1 script"),
        ("\u202eeman\u200b", "eman"),
        ("\x1b[31mred", "31mred"),
        ("  Âge  ", "Âge"),
        ("rock'n'roll", "rock'n'roll"),
        ("?", ""),
        ("- -", ""),
        ("眼鏡", "眼鏡"),
    ],
)
def test_of_a_cell_only_its_words_are_kept(cell: str, name: str) -> None:
    assert cleaned(cell) == name


@given(st.text(max_size=60))
def test_a_name_is_harmless_whatever_was_written(text: str) -> None:
    name = cleaned(text)
    assert not name.startswith(FORMULA_STARTS)
    assert cleaned(name) == name
    assert name == " ".join(name.split())
    assert name.isprintable()
    assert not set(name) & set('<>&"=+@;,{}[]()|\\`$#%/')
    assert normalised_name(text.upper()) == normalised_name(text.upper().lower().upper())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Glasses", "glass"), ("hair colour", " Hair  Colours "), ("Skin-tone", "skin tone"), ("babies", "baby"),
        ("boxes", "box"), ("Beards", "beard"), ("brushes", "brush"),
    ],
)  # fmt: skip
def test_names_are_the_same_whatever_their_case_blanks_and_plural(one: str, other: str) -> None:
    assert normalised_name(one) == normalised_name(other)


@pytest.mark.parametrize(("one", "other"), [("age", "beard"), ("focus", "focu"), ("bias", "bia s"), ("dress", "dre")])
def test_other_names_stay_other_names(one: str, other: str) -> None:
    assert normalised_name(one) != normalised_name(other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "equipoise.naming/9"}, "schema"),
        ({"codes": {}}, "no codes"),
        ({"codes": []}, "not the key"),
        ({"codes": {"A": {"direction": "x"}}}, "method"),
        ({"codes": {"A": {"direction": 3, "method": "search", "verdict": "found", "normals": [[1]]}}}, "no direction"),
        ({"codes": {"A": {"direction": "x", "method": "search", "verdict": "", "normals": []}}}, "no direction"),
        ({"codes": {"A": {"direction": "x", "method": "search", "verdict": "", "normals": [["a"]]}}}, "not the key"),
        ({"codes": {"A": {"direction": "x", "method": "search", "verdict": "", "normals": [[0, 0]]}}}, "not the key"),
        ({"codes": {"A": {"direction": "x", "method": "search", "verdict": "", "normals": [[10**400]]}}}, "too large"),
    ],
)
def test_a_key_that_was_changed_is_refused(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = key_path(write_sheet(found(), tmp_path / "sheet.csv"))
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(BadInput, match=words):
        read_key(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, "3"])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "sheet.key.json").write_text(text)
    with pytest.raises(BadInput, match="not the key"):
        read_key(tmp_path / "sheet.key.json")
