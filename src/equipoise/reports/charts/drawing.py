"""Turning specifications into pictures, and the JavaScript that draws them in a browser. Nothing is fetched."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import subprocess
import sys

import vl_convert

from equipoise.reports.charts.chart import FONT, Chart

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
