"""The strips of a blind naming sheet, for the screen or on paper: no probabilities, ranks, names or methods."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.discovery.naming import Sheet
from equipoise.foundation.files import check_writable, write_whole
from equipoise.reports.pictures import Album
from equipoise.reports.plain_tables import Table
from equipoise.reports.rendering import render


def summarise(sheet: Sheet) -> Table:
    """Return what the page shows, as plain data."""
    album = Album([strip for _, shown in sheet.lines for strip in shown.strips])
    strips = []
    for code, shown in sheet.lines:
        rows = [
            {
                "lead": str(latent),
                "cells": [
                    {"address": address, "alt": f"Strip {code}, row {latent}, picture {place}"}
                    for place, address in enumerate(album.addresses(strip), start=1)
                ],
            }
            for latent, strip in enumerate(shown.strips, start=1)
        ]
        pictures = range(1, 1 + len(shown.strips[0].pictures))
        caption = f"Strip {code}, from left to right"
        strips.append({"code": code, "caption": caption, "heading": "Row", "alphas": pictures, "rows": rows})
    return {"title": "Naming sheet", "strips": strips, "sharp": album.sharp}


def write_page(sheet: Sheet, path: str | os.PathLike[str]) -> Path:
    """Write the page; it appears whole or not at all."""
    check_writable(Path(path))
    return write_whole(path, page(sheet))


def page(sheet: Sheet) -> str:
    """Return the page as one HTML text."""
    return render("naming.html.jinja", summarise(sheet), {})
