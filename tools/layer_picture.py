"""Draw the rooms of the package and which room imports from which, from the import graph itself.

python tools/layer_picture.py [--check] writes docs/pictures/layers.svg; with --check it only says whether that file is
up to date (exit code 1 where it is not).
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
import tomllib
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "layers.svg"
PACKAGE = "equipoise"
STEP, LEFT, TOP, DOT, RIGHT, WORDS = 26, 120, 106, 6, 560, 84
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .purpose { fill: #59636e; }
  .line { stroke: #d1d9e0; }
  .self { fill: #d1d9e0; }
  .import { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .purpose { fill: #9198a1; } .line, .self { stroke: #3d444d; fill: #3d444d; }
    .import { fill: #4493f8; }
  }
"""


def rooms() -> list[str]:
    """Return the rooms from the lowest to the highest, as the contract of the layers lists them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = next(
        one["layers"] for one in project["tool"]["importlinter"]["contracts"] if one["containers"] == [PACKAGE]
    )
    return [name.strip("()") for name in reversed(layers)]


def imports(names: list[str]) -> set[tuple[str, str]]:
    """Return which room imports from which: imports for type checkers do not count."""
    graph = grimp.build_graph(PACKAGE, exclude_type_checking_imports=True)
    found = set()
    for module in graph.modules:
        room = module.split(".")[1] if "." in module else ""
        for imported in graph.find_modules_directly_imported_by(module):
            other = imported.split(".")[1] if "." in imported else ""
            if room in names and other in names and room != other:
                found.add((room, other))
    return found


def purpose(room: str) -> str:
    """Return what the door of a room says it is for, in a few words."""
    text = (importlib.import_module(f"{PACKAGE}.{room}").__doc__ or "").partition("\n")[0]
    return textwrap.shorten(re.split(r": |\. ", text)[0].rstrip("."), WORDS, placeholder=" ...")


def picture() -> str:
    """Return the picture: a row for each room, and a dot in the column of every room that it imports from."""
    names = rooms()
    edges = imports(names)
    width, height = LEFT + STEP * len(names) + RIGHT, TOP + STEP * len(names) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Rooms of equipoise, and which room imports from which">',
        f"<style>{STYLE}</style>",
    ]
    place = {name: number for number, name in enumerate(names)}
    for name, number in place.items():
        row, column = TOP + STEP * (len(names) - 1 - number) + STEP // 2, LEFT + STEP * number + STEP // 2
        parts += [
            f'<line class="line" x1="{LEFT}" x2="{LEFT + STEP * len(names)}" y1="{row}" y2="{row}"/>',
            f'<text x="{LEFT - 10}" y="{row + 4}" text-anchor="end">{escape(name)}</text>',
            f'<text transform="translate({column + 4} {TOP - 8}) rotate(-60)">{escape(name)}</text>',
            f'<rect class="self" x="{column - DOT}" y="{row - DOT}" width="{2 * DOT}" height="{2 * DOT}"/>',
            f'<text class="purpose" x="{LEFT + STEP * len(names) + 14}" y="{row + 4}">{escape(purpose(name))}</text>',
        ]
        parts += [
            f'<circle class="import" cx="{LEFT + STEP * place[other] + STEP // 2}" cy="{row}" r="{DOT}">'
            f"<title>{name} imports from {other}</title></circle>"
            for other in names if (name, other) in edges
        ]  # fmt: skip
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> int:
    """Write the picture, or compare it with the one that is there."""
    drawn = picture()
    if "--check" in sys.argv[1:]:
        if PICTURE.read_text(encoding="utf-8") != drawn:
            sys.stderr.write("docs/pictures/layers.svg is not up to date: python tools/layer_picture.py\n")
            return 1
        return 0
    PICTURE.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
