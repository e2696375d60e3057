"""An investigation as one plain dictionary: everything its page says, before any of it is HTML."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from equipoise.discovery.investigation import Investigation, KnownChange, Shown, Strip
from equipoise.reports.discovery_words import CAUTIONS, direction_words, headline, sentences
from equipoise.reports.formats import safe_name, signed_short
from equipoise.reports.pictures import Album
from equipoise.reports.plain_tables import Table
from equipoise.reports.provenance import NOT_CERTIFIED, settings_lines
from equipoise.results import SearchVerdict

SCHEMA = "equipoise.discovery/2"
MOST_DIRECTIONS, MOST_KNOWN = 12, 12
# Latents from which each is shown: of a direction, of every method, of a known attribute.
MOST_LATENTS, LATENTS_OF_METHODS, LATENTS_OF_KNOWN = 8, 2, 2
METHODS = {
    "search": "this search", "axes": "best axis", "pca": "best principal component", "hessian": "Hessian penalty",
    "random": "best random direction", "random orthogonal": "best random orthogonal direction",
}  # fmt: skip

ASKED = {
    "investigation": "What was asked for", "surrogate": "Settings of the surrogate",
    "classifier": "How the classifier was read", "reference": "How the reference was read",
    "generator": "What latents were drawn",
}  # fmt: skip


def method_lines(investigation: Investigation) -> list[tuple[str, Shown]]:
    """Return what is held against each other: the first direction of the search, then every baseline."""
    if not investigation.methods:
        return []
    own = [] if any(one.method == "search" for one in investigation.methods) else list(investigation.directions[:1])
    return [(METHODS.get(one.method, one.method), one) for one in (*own, *investigation.methods)]


def summarise(investigation: Investigation) -> Table:
    """Return what the page says, as plain data."""
    shown = investigation.directions[:MOST_DIRECTIONS]
    methods = method_lines(investigation)
    known = investigation.known[:MOST_KNOWN]
    strips = [*(strip for one in shown for strip in one.strips[:MOST_LATENTS])]
    strips += [strip for _, one in methods for strip in one.strips[:LATENTS_OF_METHODS]]
    strips += [strip for one in known for strip in one.strips[:LATENTS_OF_KNOWN]]
    album = Album(strips)
    looker = _Looker(album, investigation.strip_alphas)
    return {
        "title": f"What moves {safe_name(investigation.classifier)}?",
        "call": "equipoise.discovery.investigating.investigate",
        "created": investigation.provenance.get("created"),
        "classifier": investigation.classifier,
        "generator": investigation.generator,
        "verdict": investigation.verdict,
        "headline": headline(investigation),
        "sentences": sentences(investigation),
        "cautions": CAUTIONS,
        "notes": list(investigation.notes),
        "sharp": album.sharp,
        "shrunk": album.factor,
        "directions": [_direction(investigation, rank, one, looker) for rank, one in enumerate(shown, start=1)],
        "directions_total": len(investigation.directions),
        "methods": [_method(investigation, label, one) for label, one in methods],
        "method_strips": _method_strips(methods, looker),
        "known": [_known(one, looker, one.name == investigation.target) for one in known],
        "known_total": len(investigation.known),
        "searched": investigation.verdict is not None,
        "search": settings_lines(investigation.search),
        "judging": settings_lines(investigation.judging),
        "asked": [(ASKED.get(part, part), settings_lines(one)) for part, one in investigation.asked.items() if one],
        "level": f"{100 * investigation.judging.level:g} %",
        "steps": len(investigation.search.alphas),
        "not_certified": NOT_CERTIFIED,
        "provenance": _provenance(investigation),
    }


class _Looker:
    """Turns strips into the rows of a table: the address of each picture, words for it, and its probability."""

    def __init__(self, album: Album, alphas: Sequence[float]) -> None:
        self.album, self.alphas = album, alphas

    def table(self, caption: str, rows: Sequence[tuple[str, str, Strip]], heading: str = "Latent") -> Table:
        """Return a table of strips; rows are what leads them, the words before each picture's alt text, and a strip."""
        return {
            "caption": caption,
            "heading": heading,
            "alphas": [signed_short(alpha) if alpha else "0" for alpha in self.alphas],
            "rows": [{"lead": lead, "cells": self._cells(words, strip)} for lead, words, strip in rows],
        }

    def _cells(self, words: str, strip: Strip) -> list[Table]:
        addresses = self.album.addresses(strip)
        return [
            {
                "address": address,
                "p": float(p),
                "alt": f"{words}, step {signed_short(alpha)}: probability {float(p):.2f}",
            }
            for address, p, alpha in zip(addresses, strip.probabilities, self.alphas, strict=True)
        ]


def _direction(investigation: Investigation, rank: int, shown: Shown, looker: _Looker) -> Table:
    judged = shown.judged
    rows = [
        (str(place), f"{safe_name(judged.name)}, latent {place}", strip)
        for place, strip in enumerate(shown.strips[:MOST_LATENTS], start=1)
    ]
    caption = (
        f"{safe_name(judged.name)}: each row is one latent, and under every picture is the classifier's probability"
    )
    return {
        "rank": rank,
        "words": direction_words(investigation, shown),
        "way_low": judged.way_low,
        "way_high": judged.way_high,
        "strips": looker.table(caption, rows) if rows else None,
        "cosines": [{"name": name, "value": value} for name, value in judged.cosines.items()],
        **_judged(shown),
    }


def _judged(shown: Shown) -> Table:
    judged = shown.judged
    fields = (
        "name", "kept", "variation", "low", "high", "way", "steadiness", "chance", "chance_high", "rank_among_random",
        "random_directions",
        "reason",
    )  # fmt: skip
    return {**{name: getattr(judged, name) for name in fields}, "found": judged.verdict == SearchVerdict.FOUND}


def _method(investigation: Investigation, label: str, shown: Shown) -> Table:
    first = investigation.directions[0].judged.plane if investigation.directions else None
    own = shown.judged.plane
    return {"label": label, "cosine": None if first is None or own is None else own.cosine(first), **_judged(shown)}


def _method_strips(methods: Sequence[tuple[str, Shown]], looker: _Looker) -> list[Table]:
    """Return a table a latent, with a row a method: the same picture walked along each."""
    tables = []
    for place in range(LATENTS_OF_METHODS):
        rows = [
            (label, f"{safe_name(label)}, latent {place + 1}", one.strips[place])
            for label, one in methods
            if place < len(one.strips)
        ]
        if rows:
            caption = f"Latent {place + 1}, walked along the direction of each method"
            tables.append(looker.table(caption, rows, heading="Method"))
    return tables


def _known(one: KnownChange, looker: _Looker, target: bool) -> Table:
    name = safe_name(one.name)
    rows = [
        (str(place), f"{name}, latent {place}", strip)
        for place, strip in enumerate(one.strips[:LATENTS_OF_KNOWN], start=1)
    ]
    parts = {part: dict(zip(("value", "low", "high"), getattr(one, part), strict=True))
             for part in ("change", "variation", "flips")}  # fmt: skip
    caption = f"{name}: each row is one latent, from the lower end to the upper"
    return {"name": one.name, "target": target, "strips": looker.table(caption, rows) if rows else None, **parts}


def _provenance(investigation: Investigation) -> Table:
    made = dict(investigation.provenance)
    packages = made.get("packages")
    versions = {
        "equipoise": made.get("equipoise", sys.modules["equipoise"].__version__), "Python": made.get("python"),
        **(packages if isinstance(packages, Mapping) else {}),
    }  # fmt: skip
    return {
        "data": f"pictures of {safe_name(investigation.generator)}, read by {safe_name(investigation.classifier)}",
        "fingerprint": made.get("fingerprint") or "none was taken",
        "command": made.get("command"),
        "created": made.get("created") or "at a time that was not noted",
        "platform": made.get("platform") or "on a machine that was not noted",
        "schema": SCHEMA,
        "versions": [{"name": name, "value": str(value)} for name, value in versions.items() if value is not None],
        # How it searched and judged is told where it is told how it was done.
        "settings": [
            {"name": name.replace("_", " "), "value": str(made[name])}
            for name in ("torch", "device", "latent_size")
            if made.get(name) is not None
        ],
    }
