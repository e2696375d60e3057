"""What holds for every page: it is one file, small, made for everybody, and shows names without obeying them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest

from equipoise.reports.charts.chart import MOST_MARKS, Chart

MEGABYTE = 1_000_000
INLINE = {"span", "bdi", "code", "strong", "small", "i", "a"}
VOID = {"meta", "img", "br", "hr", "link", "input"}


@dataclass
class Element:
    """An element with its attributes, the text in it, and those around it."""

    tag: str
    attributes: dict[str, str | None]
    parents: tuple[str, ...]
    text: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        return " ".join("".join(self.text).split())


class Tree(HTMLParser):
    """All elements of a page in their order; what is opened must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open[-1]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs), tuple(parent.tag for parent in self._open))
        if tag not in INLINE:
            self.handle_data(" ")
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag, f"</{tag}> closes {self._open[-1].tag}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text.append(data)

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    def by_id(self, name: str) -> Element:
        return next(element for element in self.elements if element.attributes.get("id") == name)

    def specs(self) -> list[dict[str, Any]]:
        """What the charts are drawn from."""
        content = [element for element in self.all("script") if element.attributes.get("id") == "charts"]
        return [chart["spec"] for chart in json.loads("".join(content[0].text))] if content else []


def check_alone(text: str, tree: Tree) -> None:
    """A page is one file that asks for nothing, and runs nothing but its own scripts."""
    assert text.startswith("<!DOCTYPE html>")
    for element in tree.elements:
        for attribute in ("src", "href", "action", "srcset", "poster", "data"):
            address = element.attributes.get(attribute)
            # Examples and strips are the only pictures that are no charts; an image can run nothing.
            embedded = ("data:image/webp;base64,", "data:image/png;base64,") if element.tag == "img" else ()
            own = ("#", "data:image/svg+xml,", *embedded)
            assert address is None or address.startswith(own), (element.tag, address)
        assert not any(key.startswith("on") for key in element.attributes), element
    assert not tree.all("link", "iframe", "object", "embed", "base", "form", "audio", "video")
    style = "".join(tree.all("style")[0].text)
    assert "url(" not in style
    assert "@import" not in style
    assert "@font-face" not in style
    policy = next(m.attributes["content"] for m in tree.all("meta") if m.attributes.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy


def check_small(text: str, tree: Tree) -> None:
    """A page is smaller than three megabytes and has the library once."""
    assert len(text.encode("utf-8")) < 3 * MEGABYTE
    scripts = tree.all("script")
    assert [script.attributes.get("type") for script in scripts] == ["application/json", None, None]
    assert [len("".join(script.text)) > MEGABYTE // 2 for script in scripts] == [False, True, False]


def check_charts(charts: Sequence[Chart]) -> None:
    """No chart has more marks than a browser draws quickly, and each is told in words."""
    assert charts
    for chart in charts:
        assert 0 < chart.rows <= MOST_MARKS
        assert sum(len(rows) for rows in chart.spec["datasets"].values()) <= MOST_MARKS
        assert chart.alt
        assert chart.caption


def check_readable(tree: Tree) -> None:
    """Headings, tables, pictures and links are made for everybody."""
    assert tree.all("html")[0].attributes["lang"] == "en"
    assert len(tree.all("h1")) == 1
    levels = [int(heading.tag[1]) for heading in tree.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert len(tree.all("table")) == len(tree.all("caption"))
    assert all(caption.words for caption in tree.all("caption"))
    assert all(cell.attributes.get("scope") in ("col", "row") for cell in tree.all("th"))
    assert all(picture.attributes.get("alt") for picture in tree.all("img"))
    ids = Counter(element.attributes["id"] for element in tree.elements if "id" in element.attributes)
    assert set(ids.values()) == {1}
    links = [link.attributes["href"] for link in tree.all("a")]
    assert links[0] == "#verdict"
    assert all(str(link).removeprefix("#") in ids for link in links)


def check_names_are_data(specs: Sequence[dict[str, Any]]) -> None:
    """A name from a file is never a field nor part of an expression."""
    for spec in specs:
        datasets = spec.pop("datasets")
        allowed = {key for row in datasets["rows"] for key in row}
        assert all(re.fullmatch("[a-z_]+", key) for key in allowed)
        for key, value in walk({k: v for k, v in spec.items() if k not in ("params", "description")}):
            if key == "field":
                assert value in allowed
            elif key in ("labelExpr", "expr", "test", "filter", "calculate"):
                assert re.fullmatch(r"[a-z]+\[datum\.value\]|!?datum\.[a-z]+", value), value


def check_number(text: str, value: float, *, whole: int = 1) -> None:
    if text.startswith(("<", ">")):
        bound = float(text[2:].rstrip("%"))
        assert value * whole < bound if text.startswith("<") else value * whole > bound
        return
    plain = text.rstrip(" %").replace(",", "").replace("−", "-").replace("+", "")
    digits = len(plain.partition("e")[0].partition(".")[2])
    exponent = int(plain.partition("e")[2] or 0)
    assert float(plain) == pytest.approx(value * whole, abs=0.500001 * 10.0 ** (exponent - digits), rel=1e-9), text


def walk(part: object) -> Iterator[tuple[str, Any]]:
    if isinstance(part, dict):
        for key, value in part.items():
            if isinstance(value, (dict, list)):
                yield from walk(value)
            else:
                yield key, value
    elif isinstance(part, list):
        for item in part:
            yield from walk(item)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
