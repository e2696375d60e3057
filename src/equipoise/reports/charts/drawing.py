"""Turning specifications into pictures, and the JavaScript that draws them in a browser. Nothing is fetched."""

from __future__ import annotations

import functools

import vl_convert

from equipoise.reports.charts.chart import Chart


def svg(chart: Chart) -> str:
    """Return a chart as SVG."""
    drawn: str = vl_convert.vegalite_to_svg(chart.spec)
    return drawn


def png(chart: Chart, scale: float = 2.0) -> bytes:
    """Return a chart as PNG."""
    drawn: bytes = vl_convert.vegalite_to_png(chart.spec, scale=scale)
    return drawn


@functools.cache
def library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script."""
    script: str = vl_convert.javascript_bundle(None)
    return script.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")
