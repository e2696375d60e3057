"""Draw the picture of README.md: what ``equipoise demo audit`` prints, as an SVG.

python examples/draw_demo.py docs/pictures/demo.svg

Gaps that no paper gave a short name to are left out, so that the picture fits on a page.
"""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

import equipoise
from equipoise.reports import show

WIDTH = 140


def draw() -> str:
    """Audit the test split of the bundled census cohort and return the picture."""
    result = equipoise.audit(equipoise.load("adult").where("test"), reference={"sex": "Male"})
    kept = [record for record in result.records if record.kind in ("rate", "value") or record.alias is not None]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    show(replace(result, records=tuple(kept)), console)
    picture = console.export_svg(title="equipoise demo audit")
    # Rich names a web font; a picture must not fetch anything, so the reader's own monospace font is used.
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo.svg")
    target.write_text(draw(), encoding="utf-8")
    print(f"wrote {target}")
