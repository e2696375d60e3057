"""Check a built site: every link and anchor leads somewhere in it, and no page fetches anything from elsewhere.

python tools/site/check.py out/site
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

# What a browser fetches by itself; a link that a reader clicks may lead outside.
FETCHED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
RELATIONS = {"canonical", "alternate", "prev", "next", "license"}
CSS_URL = re.compile(r"""url\(\s*["']?(?!data:)([^"')]+)|@import\s+["']([^"']+)""")


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.words = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag points to, and what can be pointed to."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if given.get("rel") not in RELATIONS:
            self.fetched += [given[name] for of, name in FETCHED if of == tag and given.get(name)]

    def handle_data(self, data: str) -> None:
        """Count words, so that an empty page is seen."""
        self.words += len(data.split())


def problems_of(site: Path) -> tuple[int, list[str]]:
    """Return how many pages the site has, and what is wrong."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        if not path.is_relative_to(site / "gallery" / "pages"):  # reports: tests of their own open them in a browser
            pages[path] = Page()
            pages[path].feed(path.read_text(encoding="utf-8"))
    problems = []
    for path, page in pages.items():
        name = path.relative_to(site)
        problems += [f"{name} fetches {link}" for link in page.fetched if re.match(r"(\w+:)?//", link)]
        if page.words < 20:
            problems.append(f"{name} is empty")
        for link in {*page.links, *page.fetched}:
            file, _, anchor = link.partition("#")
            if re.match(r"\w+:|//", link) or path.name == "404.html":
                continue
            target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            if not target.exists():
                problems.append(f"{name} links to {link}, which is not there")
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                problems.append(f"{name} links to {link}, which has no such anchor")
    for path in site.rglob("*.css"):
        for first, second in CSS_URL.findall(path.read_text(encoding="utf-8")):
            if re.match(r"(\w+:)?//", first or second):
                problems.append(f"{path.relative_to(site)} fetches {first or second}")
    return len(pages), problems


def main() -> None:
    """Print what is wrong, and end with 1 if anything is."""
    number, problems = problems_of(Path(sys.argv[1]))
    for problem in problems:
        print(f"site: {problem}", file=sys.stderr)
    if problems or not number:
        sys.exit(1)
    print(f"site: {number} pages, every link leads somewhere, nothing is fetched")


if __name__ == "__main__":
    main()
