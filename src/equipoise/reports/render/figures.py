"""The charts of a result as files of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import make_output_folder, write_whole
from equipoise.reports.charts import drawing
from equipoise.reports.charts.chart import Chart, titled


def draw_into(folder: str | os.PathLike[str], charts: Iterable[Chart]) -> list[Path]:
    """Write every chart as SVG and as PNG into a folder, which is made if it is not there."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise BadInput(f"The folder for figures {str(target)!r} is a file", help="name a folder.")
    make_output_folder(target)
    written: list[Path] = []
    for place, untitled in enumerate(charts, start=1):
        name = f"{place:02d}-{_slug(untitled.name)}"
        chart = titled(untitled)
        written.append(write_whole(target / f"{name}.svg", drawing.svg(chart)))
        written.append(write_whole(target / f"{name}.png", drawing.png(chart)))
    return written


def _slug(name: str) -> str:
    """Return a file name made of small letters and digits only."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-")
