"""Turning specifications into pictures, and the JavaScript that draws them in a browser. Nothing is fetched."""

from __future__ import annotations

import functools
import re

import vl_convert

from equipoise.reports.charts.chart import Chart

# Only shapes are shortened: what stands between tags is somebody's text.
TAG = re.compile(r"<(?:path|line|g|rect) [^<>]*>")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def svg(chart: Chart) -> str:
    """Return a chart as SVG, its lines to a hundredth of a pixel."""
    drawn: str = vl_convert.vegalite_to_svg(chart.spec)
    return TAG.sub(lambda tag: LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", tag[0]), drawn)


def png(chart: Chart, scale: float = 2.0) -> bytes:
    """Return a chart as PNG."""
    drawn: bytes = vl_convert.vegalite_to_png(chart.spec, scale=scale)
    return drawn


@functools.cache
def library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which leaves ``vegaEmbed`` behind."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")
