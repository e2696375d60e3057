"""What MkDocs does beside rendering docs: pages made from the program, files from elsewhere, and links between them.

Generated pages (``reference/``, ``gallery/``) are made from the registry, the program and the doors, so that
they cannot say anything else than the package does. Files that documentation links to outside ``docs``
become part of the site, because it is read offline.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import gallery
import reference
import tutorials

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages outside docs, and where they lie on the site. Other files that are linked to are copied as they are.
PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "reproductions/README.md": "project/reproductions.md",
    "reproductions/sprites/README.md": "project/sprites.md",
}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
# Folders that pages link to: where files are read on GitHub, the site has a page made of them.
FOLDERS = {
    "examples": "project/examples.md",
    "benchmarks": "project/benchmarks.md",
    "docs/schemas": "reference/plans.md",
    "src/equipoise/cli": "reference/cli/index.md",
    "src/equipoise/cohorts": "reference/cohorts.md",
    "src/equipoise/conditions": "reference/conditions.md",
    "src/equipoise/measures": "reference/measures.md",
    "src/equipoise/training/learners": "reference/learners.md",
    "src/equipoise/training/metric": "reference/metric-learning.md",
    "src/equipoise/treatments": "reference/treatments.md",
}
ELSEWHERE = {
    **PAGES,
    **FOLDERS,
    **{f"examples/notebooks/{name}.ipynb": f"tutorials/{name}.md" for name in tutorials.ORDER},
}
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Add the generated pages to the navigation."""
    tabs = config.nav
    tabs.insert(2, {"Tutorials": [f"tutorials/{name}.md" for name in tutorials.ORDER]})
    place = next(at for at, tab in enumerate(tabs) if "Papers" in tab)
    tabs.insert(place, {"Reference": reference.navigation()})
    tabs.insert(-2, {"Gallery": ["gallery/index.md"]})
    tabs[-1]["Project"] += ["project/examples.md", *PAGES.values()]
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add pages that are generated, and what lies outside docs."""
    for path, text in reference.pages().items():
        files.append(File.generated(config, path, content=text))
    reports = gallery.made()
    files.append(File.generated(config, "gallery/index.md", content=gallery.page(reports)))
    for report in reports:
        files.append(File.generated(config, f"gallery/pages/{report.item.name}.html", content=report.page))
        files.append(File.generated(config, f"gallery/pictures/{report.item.name}.svg", content=report.chart))
    for name in tutorials.ORDER:
        text, pictures = tutorials.page(name)
        files.append(File.generated(config, f"tutorials/{name}.md", content=text))
        for picture, content in pictures.items():
            files.append(File.generated(config, f"tutorials/{picture}", content=content))
    for path, place in PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / path).read_text(encoding="utf-8")))
    files.append(File.generated(config, "project/examples.md", content=examples()))
    notebooks = {f"examples/notebooks/{name}.ipynb" for name in tutorials.ORDER}
    for path in sorted({*linked(), *notebooks, *(str(path.relative_to(ROOT)) for path in example_files())}):
        files.append(File.generated(config, f"files/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Let links lead to where a file lies on the site."""
    uri = page.file.src_uri
    home = ROOT / next((path for path, place in ELSEWHERE.items() if place == uri), f"docs/{uri}")
    return rewritten(markdown, home, uri)


def example_files() -> list[Path]:
    """Return the scripts and plans of the folder of examples."""
    return sorted(path for path in (ROOT / "examples").glob("*.*") if path.suffix in (".py", ".toml", ".yml"))


def examples() -> str:
    """Return the page of examples: each with what its first lines say."""
    rows = []
    for path in example_files():
        text = path.read_text(encoding="utf-8")
        said = ast.get_docstring(ast.parse(text)) or "" if path.suffix == ".py" else comment(text)
        first = " ".join(said.partition("\n\n")[0].split())
        rows.append([f"[{path.name}](../files/examples/{path.name})", reference.prose(first)])
    return "# Examples\n\nScripts and plans; tests run them.\n\n" + reference.table(["file", "what it is"], rows)


def comment(text: str) -> str:
    """Return the comment that a file begins with."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.lstrip("# ") for line in lines)


def linked() -> set[str]:
    """Return the files outside docs that pages link to, which are no pages themselves."""
    files = set()
    for home in [*DOCS.rglob("*.md"), *(ROOT / path for path in PAGES)]:
        for part in FENCE.split(home.read_text(encoding="utf-8"))[::2]:
            for _, link, _ in LINK.findall(part):
                target = resolved(link.partition("#")[0], home)
                if target and not target.startswith("docs/") and target not in PAGES and (ROOT / target).is_file():
                    files.add(target)
    return files


def rewritten(markdown: str, home: Path, uri: str) -> str:
    """Return the text of a page with the links that leave docs, or its place, put right."""

    def placed(match: re.Match[str]) -> str:
        file, sign, anchor = match[2].partition("#")
        target = resolved(file, home)
        if not target:
            return match[0]
        if target in ELSEWHERE:
            there = ELSEWHERE[target]
        elif target.startswith("docs/"):
            there = target.removeprefix("docs/")
            there = "index.md" if not there.strip("/") else there
        elif (ROOT / target).is_file():
            there = f"files/{target}"
        else:
            return match[0]
        return f"{match[1]}{os.path.relpath(there, Path(uri).parent)}{sign}{anchor}{match[3]}"

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(placed, part) for part in parts[::2]]
    return "".join(parts)


def resolved(link: str, home: Path) -> str | None:
    """Return the path of a relative link from the root of the repository."""
    if not link or ":" in link:
        return None
    return os.path.relpath(home.parent / link, ROOT)
