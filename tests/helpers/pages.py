"""The pages of all cases of one kind of result, made once, and the checks that every kind shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import altair
import pytest

import equipoise
from equipoise.reports._document import NOT_CERTIFIED
from equipoise.reports.charts import Chart
from helpers.page_checks import Tree, check_alone, check_charts, check_names_are_data, check_readable, check_small

LARGEST_FRAGMENT = 200_000


class Pages:
    """What the cases of one kind of result look like, by name: as HTML, as elements, as JSON, as charts."""

    def __init__(
        self,
        cases: Mapping[str, Callable[[], Any]],
        page: Callable[[Any], str],
        charts: Callable[[Any], Mapping[str, Iterable[Chart]]],
    ) -> None:
        self.cases = cases
        self.every = pytest.mark.parametrize("name", list(cases))
        self.html = cache(lambda name: page(cases[name]()))
        self.tree = cache(lambda name: Tree(self.html(name)))
        self.json = cache(lambda name: cases[name]().as_json())
        self.parts = cache(lambda name: {part: list(chart) for part, chart in charts(cases[name]()).items()})

    def charts(self, name: str) -> list[Chart]:
        """Return every chart of a case."""
        return [chart for charts in self.parts(name).values() for chart in charts]

    def rows(self, name: str, part: str) -> list[dict[str, Any]]:
        """Return what the charts of one part are drawn from."""
        return [row for chart in self.parts(name)[part] for row in chart.spec["datasets"]["rows"]]

    def words(self, name: str, part: str) -> str:
        """Return what one section says."""
        return self.tree(name).by_id(part).words

    def ids(self, name: str) -> set[str | None]:
        """Return the names of the parts that are there."""
        return {element.attributes.get("id") for element in self.tree(name).elements}

    def check_whole(self, name: str) -> None:
        """A page is one small file that asks for nothing, that everybody can read, and that certifies nothing."""
        check_alone(self.html(name), self.tree(name))
        check_small(self.html(name), self.tree(name))
        check_readable(self.tree(name))
        check_charts(self.charts(name))
        check_names_are_data(self.tree(name).specs())
        assert NOT_CERTIFIED in self.html(name)

    def check_fragment(self, name: str) -> Tree:
        """A notebook shows a small fragment, and nothing that runs."""
        fragment = self.cases[name]()._repr_html_()
        assert fragment is not None
        tree = Tree(fragment)
        assert len(fragment) < LARGEST_FRAGMENT
        assert not tree.all("script", "style", "link", "b")
        assert all(str(image.attributes["src"]).startswith("data:image/svg+xml,") for image in tree.all("img"))
        assert NOT_CERTIFIED in " ".join(tree.elements[0].words.split())
        return tree

    def check_harmless(self, name: str) -> None:
        """Names that try to run, to break out or to turn the text round are only shown."""
        text, tree = self.html(name), self.tree(name)
        outside = text.replace("".join(tree.all("script")[1].text), "")
        for bad in ("<script>window", "<img src=x", "\u202e", "\x00", "<b>yes"):
            assert bad not in outside
        assert not re.search("[\ud800-\udfff]", text)
        assert not tree.all("b")

    def check_schema(self, *names: str) -> None:
        """Charts keep to the schema of Vega-Lite."""
        for name in names:
            for chart in self.charts(name):
                altair.Chart.from_dict(chart.spec, validate=True)


def check_own_page(result: Any, write: Callable[[Any, Path], Path], folder: Path) -> None:
    """A result writes its own page, whole or not at all."""
    target = folder / "page.html"
    assert result.report(target) == target
    assert write(result, folder / "again.html").read_bytes() == target.read_bytes()
    with pytest.raises(equipoise.BadInput, match="is a folder"):
        result.report(folder)
    with pytest.raises(equipoise.BadInput, match="does not exist"):
        result.report(folder / "nowhere" / "page.html")
    assert [path.name for path in folder.iterdir() if path.suffix == ".part"] == []


def check_figures(written: Iterable[Path], folder: Path) -> list[str]:
    """Charts are files of their own, each as SVG and as PNG; the names of the former are returned."""
    paths = list(written)
    assert sorted(folder.iterdir()) == sorted(paths)
    for path in paths:
        assert re.fullmatch(r"\d\d-[a-z0-9-]+\.(svg|png)", path.name)
        content = path.read_bytes()
        assert content.startswith(b"<svg" if path.suffix == ".svg" else b"\x89PNG")
        assert b"<script" not in content
    names = [path.name for path in paths if path.suffix == ".svg"]
    assert len(paths) == 2 * len(names)
    return names
