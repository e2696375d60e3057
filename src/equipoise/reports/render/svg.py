"""Charts as pictures and as files, and the JavaScript that draws them in a browser. Nothing is fetched."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import vl_convert

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import make_output_folder, write_whole
from equipoise.reports.charts.theme import FONT, INK, Chart, Spec

TITLE: Spec = {"anchor": "start", "color": INK, "fontSize": 15, "offset": 12}
# Only tags are changed: what stands between them is somebody's text.
TAG = re.compile(r"<[a-zA-Z][^<>]*>")
NUMBERED = re.compile(r"(?<=[#\"])(clip|gradient_)\d+")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
UNSEEN = re.compile(r' (?:class|role|aria-[a-z]+|pointer-events|font-family)="[^"<>]*"')


def svg(chart: Chart) -> str:
    """Return a chart as SVG, the same each time: its marks are numbered from 0, not from the last chart's."""
    drawn: str = vl_convert.vegalite_to_svg(chart.spec)
    numbers: dict[str, int] = {}

    def renumbered(name: re.Match[str]) -> str:
        return f"{name[1]}{numbers.setdefault(name[0], len(numbers))}"

    return TAG.sub(lambda tag: NUMBERED.sub(renumbered, tag[0]), drawn)


def small_svg(chart: Chart) -> str:
    """Return a chart as an SVG of half the size: lines to a hundredth of a pixel, and nothing that is not seen."""

    def shorter(tag: re.Match[str]) -> str:
        return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", UNSEEN.sub("", tag[0]))

    return TAG.sub(shorter, svg(chart)).replace("<svg ", f'<svg font-family="{FONT}" ', 1)


def png(chart: Chart, scale: float = 2.0) -> bytes:
    """Return a chart as PNG."""
    drawn: bytes = vl_convert.vegalite_to_png(chart.spec, scale=scale)
    return drawn


SNIPPET = "window.vegaEmbed = vegaEmbed;"
BUNDLE = f"import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle({SNIPPET!r}).encode())"
_BEGUN: list[subprocess.Popen[bytes]] = []


def begin_library() -> None:
    """Begin to make the script in another process: it takes a second, in which the charts can be drawn."""
    if _BEGUN or library.cache_info().currsize or (os.cpu_count() or 1) < 2 or getattr(sys, "frozen", False):
        return
    with contextlib.suppress(OSError):
        command = [sys.executable, "-P", "-c", BUNDLE]
        _BEGUN.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))  # noqa: S603


@functools.cache
def library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which leaves ``vegaEmbed`` behind."""
    script = _begun_library() or vl_convert.javascript_bundle(SNIPPET)
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _begun_library() -> str:
    """Return the script that the other process made; nothing where it did not."""
    if not _BEGUN:
        return ""
    made, _ = (process := _BEGUN.pop()).communicate()
    return made.decode("utf-8") if process.returncode == 0 and b"vegaEmbed" in made else ""


def titled(chart: Chart) -> Chart:
    """Return the chart with its title in the picture, for when no page is around it."""
    return dataclasses.replace(chart, spec={**chart.spec, "title": {"text": chart.title, **TITLE}})


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
        written.append(write_whole(target / f"{name}.svg", svg(chart)))
        written.append(write_whole(target / f"{name}.png", png(chart)))
    return written


def _slug(name: str) -> str:
    """Return a file name made of small letters and digits only."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:50].strip("-")
