"""The benchmark on sprites as one plain dictionary: everything its page says, before any of it is HTML."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from equipoise.discovery.benchmark.classifiers import WORDS as CLASSIFIER_WORDS
from equipoise.discovery.benchmark.document import SCHEMA
from equipoise.discovery.benchmark.methods import METHODS
from equipoise.discovery.benchmark.planes import WORDS as PLANE_WORDS
from equipoise.discovery.benchmark.summary import WORDS
from equipoise.reports import benchmark_tables as tables
from equipoise.reports.benchmark_document import Place, checked
from equipoise.reports.benchmark_words import CAUTIONS, METHOD_TITLES, TITLES, headline, sentences
from equipoise.reports.formats import safe_name
from equipoise.reports.plain_tables import Table, limited
from equipoise.reports.provenance import NOT_CERTIFIED, settings_lines

MOST_WORDS = 80
LONGEST_COMMAND = 2_000
# Of the document's entries those that say how it was run.
RUN = ("device", "precision", "graphics", "jobs", "parts")


def summarise(document: object) -> Table:
    """Return what the page says, as plain data."""
    whole = checked(document)
    return {
        "title": "Paper 002's benchmark on sprites",
        "call": "docs/papers/002/benchmark.py",
        "created": (whole.inner("provenance") or Place({})).text("created") or None,
        "headline": headline(whole),
        "sentences": sentences(whole),
        "tiles": _tiles(whole),
        "table": _main_table(whole),
        "by_kind": tables.by_kind(whole),
        "by_fit": tables.by_fit(whole),
        "by_gap": tables.by_gap(whole),
        "factors": [one for one in (tables.by_factor(whole, which) for which in ("biased", "target")) if one],
        "ablation": tables.ablation(whole),
        "known": tables.known(whole),
        "skew": tables.skew(whole),
        "classifiers": tables.classifiers(whole),
        "generators": tables.generators(whole),
        "settings": _settings(whole),
        "words": _words(whole),
        "cautions": CAUTIONS,
        "not_certified": NOT_CERTIFIED,
        "provenance": _provenance(whole),
    }


def _main_table(whole: Place) -> Table | None:
    rows = whole.rows("table")
    return tables.main_table(rows, "Means over triplets, 95 % intervals over generators") if rows else None


def _tiles(whole: Place) -> list[Table]:
    counts = whole.inner("counts") or Place({})
    counted = {"Triplets scored": "scored", "Unfitted": "unfitted", "Generators": "generators"}
    cells = {title: tables.number_cell(counts, name) for title, name in counted.items()}
    cells |= {TITLES[name]: tables.cell(whole, name) for name in tables.CHANCES}
    return [{"title": title, "cell": cell} for title, cell in cells.items()]


def _settings(whole: Place) -> list[tuple[str, list[Table]]]:
    """Return every setting, in the groups that the document has them in."""
    given = whole.inner("settings") or Place({})
    score = given.inner("score") or Place({})
    search = score.inner("search") or Place({})
    # Lines of settings say where traversals begin and end.
    if search.has("alphas") and None in (search.numbers("alphas") or [None]):
        search = Place({name: value for name, value in search.entries.items() if name != "alphas"})
    groups = {
        "Classifiers": given.inner("classifiers"), "Planes of truth": given.inner("planes"),
        "Scoring": Place({name: value for name, value in score.entries.items() if name != "search"}), "Search": search,
    }  # fmt: skip
    return [(title, settings_lines(one.entries)) for title, one in groups.items() if one is not None and one.entries]


def _words(whole: Place) -> list[Table]:
    """Return words for every column and method: the document's own, and ours for what it does not explain."""
    said = whole.inner("words") or Place({})
    groups = (
        ("Columns", WORDS, said.entries, TITLES),
        ("Methods", METHODS, (whole.inner("methods") or Place({})).entries, METHOD_TITLES),
        ("Of a classifier", CLASSIFIER_WORDS, (said.inner("a classifier") or Place({})).entries, TITLES),
        ("Of a generator", PLANE_WORDS, (said.inner("a generator") or Place({})).entries, TITLES),
    )
    return [
        {"title": title, **limited(_lines({**ours, **own}, titles), MOST_WORDS)} for title, ours, own, titles in groups
    ]


def _lines(words: Mapping[str, object], titles: Mapping[str, str]) -> list[Table]:
    return [
        {"name": name, "title": titles.get(name, ""), "words": text}
        for name, text in words.items()
        if isinstance(text, str)
    ]


def _provenance(whole: Place) -> Table:
    given, made = (whole.inner(name) or Place({}) for name in ("settings", "provenance"))
    run = {name: given.entries.get(name, whole.entries.get(name)) for name in RUN}
    seconds = whole.inner("seconds") or Place({})
    told = ", ".join(
        f"{name} {seconds.number(name):,.1f}" for name in seconds.entries if seconds.number(name) is not None
    )
    return {
        "data": "sprites that the package draws; the generators and classifiers above learnt from them",
        "fingerprint": safe_name(made.text("fingerprint", "none was taken")),
        "command": safe_name(made.text("command"), LONGEST_COMMAND) if made.text("command") else None,
        "created": safe_name(made.text("created", "at a time that was not noted")),
        "platform": safe_name(made.text("platform", "on a machine that was not noted")),
        "schema": SCHEMA,
        "versions": [
            {"name": "equipoise (this page)", "value": sys.modules["equipoise"].__version__},
            {"name": "equipoise (the run)", "value": safe_name(made.text("equipoise", "not noted"))},
            {"name": "torch", "value": safe_name(whole.text("torch", "not noted"))},
        ],
        "settings": settings_lines({**run, "seconds": told or None, "triplets asked for": whole.count("asked")}),
    }
