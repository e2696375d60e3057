"""Every number of the pages about the papers is the one in the JSON that it links to, at the digits shown.

A number of ours is written ``[0.123](003/lfr.json#/path/to/value)``: the link is a JSON pointer. ``[12%](...)`` is a
share. A number in italics (*0.678*) is one the paper reports. Any other decimal number on such a page is refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+\.json)#(/[^)\s]*)\)")
ANY_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def value_at(document: Any, pointer: str) -> Any:
    """Follow a JSON pointer (RFC 6901)."""
    for part in pointer.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def shown_as(text: str, value: Any) -> str:
    """Write a value as the text writes its own: the same digits, the same unit."""
    unit = next((unit for unit in (" %", "%") if text.endswith(unit)), "")
    digits = len(text.removesuffix(unit).partition(".")[2])
    if unit:
        return f"{100 * value:,.{digits}f}{unit}"
    return f"{value:,.{digits}f}"


def same(text: str, value: Any) -> bool:
    if value is None:
        return text == "undefined"
    return shown_as(text, value) in (text, f"-{text}" if float_is_zero(text) else text)


def float_is_zero(text: str) -> bool:
    return not re.search(r"[1-9]", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_number_of_a_papers_page_is_the_one_in_its_json(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = LINK.findall(text)
    assert links, f"{page.name} shows no number"
    for shown, file, pointer in links:
        document = json.loads((page.parent / file).read_text(encoding="utf-8"))
        value = value_at(document, pointer)
        assert same(shown, value), f"{page.name} says {shown}, but {file}#{pointer} is {value}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_decimal_number_stands_there_without_its_source(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for pattern in (ANY_LINK, re.compile(r"`[^`]*`"), re.compile(r"\*[^*\n]+\*")):
        text = pattern.sub("", text)
    loose = re.findall(r"-?\d+\.\d+", text)
    assert not loose, f"{page.name} shows {loose}: link them, or set the paper's own numbers in italics"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_a_papers_page_links_to_is_there(page: Path) -> None:
    for link in ANY_LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link.partition("#")[0]).exists(), f"{page.name} links to {link}, which is not there"


def test_the_comparison_bites() -> None:
    assert same("0.12", 0.1249)
    assert not same("0.13", 0.1249)
    assert same("12%", 0.1249)
    assert not same("13%", 0.1249)
    assert same("0.00", -0.0004)
    assert same("5,278", 5278)
    assert same("undefined", None)
    assert not same("-0.12", 0.1249)
