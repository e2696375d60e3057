"""The tables of the benchmark's page as plain data: every cell knows where in the document its number stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from equipoise.discovery.benchmark.methods import ABLATION
from equipoise.reports.benchmark_document import Place
from equipoise.reports.benchmark_words import METHOD_TITLES, TITLES, Estimate, gap_words
from equipoise.reports.plain_tables import Table, limited

COLUMNS = ("biased", "target", "difference")
CHANCES = ("above_chance", "right_angled_above_chance")
# The methods that a comparison with chance is made of.
COMPARED = ("ours", "right_angled", "random_orthogonal")
# How a column is shown; what is not here is an estimate.
COUNTS, SHARES = ("unfitted",), ("leading", "leading_of_paper")
NUMBERS, SIGNED_NUMBERS = ("chance", "accuracy", "agree", "disagree", "loss"), ("gap",)
UNSIGNED = ("biased", "target")
# Those that are held against 0.
CONTRASTS = (*CHANCES, "step", "less_even")
# What null means in a column, where it does not mean that the number is undefined.
NULLS = {"leading_of_paper": "not among them", "step": "the first", "less_even": "the even ones"}

Lead = Callable[[Place], Table]


def main_table(rows: Sequence[Place], caption: str, columns: Sequence[str] = ("leading_of_paper", "leading")) -> Table:
    """Return a table in the manner of the paper's Table 1: a row a method, means with intervals and deviations."""
    return _table(caption, "Method", rows, _method, ("triplets", *COLUMNS, *columns), deviations=True)


def ablation(document: Place) -> Table | None:
    """Return Table 2's ablation; None where only the search itself was run."""
    rows = document.rows("ablation")
    if not any(row.text("method") in ABLATION for row in rows):
        return None
    return main_table(rows, "The search with and without its parts", ("leading",))


def by_kind(document: Place) -> tuple[Table, list[Table]] | None:
    """Return a row for each kind of generator, and the whole table of each."""
    return _grouped(document.rows("by_kind"), "In each kind of generator", "Kind", lambda row: _named(row.text("kind")))


def by_fit(document: Place) -> tuple[Table, list[Table]] | None:
    """Return a row for triplets whose planes tell their factors and one for the others, and the whole table of each."""
    words = {True: "both tell their factor", False: "one does not"}
    return _grouped(
        document.rows("by_fit"), "Where the planes of target and biased factor tell them, and where not", "Planes",
        lambda row: _named(words[bool(row.entries.get("told"))]),
    )  # fmt: skip


def by_gap(document: Place) -> Table | None:
    """Return the recovery by how far the planted bias went."""
    return _some(
        "In triplets whose classifier has so large a gap in accuracy", "Classifiers with", document.rows("by_gap"),
        lambda row: _named(gap_words(row)), ("triplets", *COLUMNS, *CHANCES),
    )  # fmt: skip


def by_factor(document: Place, which: str) -> Table | None:
    """Return the recovery by the biased factor or by the target."""
    caption = "By the biased factor" if which == "biased" else "By the target"
    return _some(
        caption, "Factor", document.rows(f"by_{which}"), lambda row: _named(row.text(which)),
        ("triplets", "difference", "above_chance"),
    )  # fmt: skip


def known(document: Place) -> list[Table]:
    """Return the recovery by the number of known factors: of the search as it is, and of its part at right angles."""
    rows = document.rows("known")
    parts = {
        "The search, as in the paper": ("triplets", *COLUMNS, "chance", "above_chance", "step"),
        "Its part at right angles to what is known": (
            "triplets", "right_angled", "chance", "right_angled_above_chance"
        ),
    }  # fmt: skip
    made = [
        _some(caption, TITLES["known"], rows, lambda row: _named(known_words(row)), columns)
        for caption, columns in parts.items()
    ]
    return [one for one in made if one is not None]


def known_words(row: Place) -> str:
    """Say how many other factors were known."""
    number = row.count("known")
    return "unknown" if number is None else f"{number:,}"


def skew(document: Place) -> Table | None:
    """Return the recovery by the generator's own skew."""
    return _some(
        "By how often the halves went together in what the generator saw", "Agreement", document.rows("skew"),
        lambda row: _named(agreement_words(row)), ("triplets", "unfitted", *COLUMNS, *CHANCES, "less_even"),
    )  # fmt: skip


def agreement_words(row: Place) -> str:
    """Say how often two halves went together."""
    agreement = row.number("agreement")
    return "unknown" if agreement is None else f"{agreement:g}{' (no skew)' if agreement == 0.5 else ''}"


def classifiers(document: Place) -> Table | None:
    """Return how right the classifiers are, and how far the planted bias went in each."""
    return _some(
        "Accuracy on held-out sprites, and how far the planted bias went", "Classifier of",
        document.rows("classifiers"), lambda row: _named(f"{row.text('target')}, biased by {row.text('biased')}"),
        ("accuracy", "agree", "disagree", "gap", "loss"),
    )  # fmt: skip


def generators(document: Place) -> Table | None:
    """Return how well planes tell the factors in each generator."""
    rows = document.rows("generators")
    fits = [{_fit(fit): fit for fit in row.rows("fits")} for row in rows]
    columns = list(dict.fromkeys(key for own in fits for key in own))
    if not columns:
        return None
    made: list[Table] = [
        {"lead": _named(row.text("generator"), _skew_words(row)), "cells": [_plane(own.get(key)) for key in columns]}
        for row, own in zip(rows, fits, strict=True)
    ]  # fmt: skip
    heads = [{"title": name, "hint": measure} for name, measure in columns]
    return {"caption": "How well a plane tells each factor, on sprites that it was not fitted on", "lead": "Generator",
            "heads": heads, **limited(made)}  # fmt: skip


def _fit(fit: Place) -> tuple[str, str]:
    return fit.text("name"), fit.text("measure")


def _plane(fit: Place | None) -> Table:
    if fit is None:
        return _nothing("not fitted")
    reason = fit.text("reason")
    return {**number_cell(fit, "value", "thousandths"), "below": f"no plane: {reason}" if reason else ""}


def _skew_words(row: Place) -> str:
    skewed = row.inner("skew")
    if skewed is None:
        return ""
    return f"skewed: {skewed.text('target')} goes with {skewed.text('biased')}, {agreement_words(skewed)}"


def _grouped(rows: Sequence[Place], caption: str, heading: str, lead: Lead) -> tuple[Table, list[Table]] | None:
    """Return a row a group, with the difference of search and chance and one less the other; and each group's table."""
    if not rows:
        return None
    own = [{one.text("method"): one for one in row.rows("table")} for row in rows]
    methods = [name for name in COMPARED if any(name in by_name for by_name in own)]
    chances = [name for name in CHANCES if any(row.has(name) for row in rows)]
    made: list[Table] = []
    for row, by_name in zip(rows, own, strict=True):
        cells = [cell(row if row.has("triplets") else row.inner("above_chance") or Place({}), "triplets")]
        cells += [cell(by_name[name], "difference") if name in by_name else _nothing("not run") for name in methods]
        made.append({"lead": lead(row), "cells": cells + [cell(row, name) for name in chances]})
    heads = [_head("triplets")]
    heads += [{"title": METHOD_TITLES.get(name, name), "hint": "difference"} for name in methods]
    heads += [_head(name) for name in chances]
    whole = [main_table(row.rows("table"), str(lead(row)["name"])) for row in rows if row.rows("table")]
    return {"caption": caption, "lead": heading, "heads": heads, **limited(made)}, whole


def _some(caption: str, heading: str, rows: Sequence[Place], lead: Lead, columns: Sequence[str]) -> Table | None:
    return _table(caption, heading, rows, lead, columns) if rows else None


def _table(
    caption: str, heading: str, rows: Sequence[Place], lead: Lead, columns: Sequence[str], *, deviations: bool = False
) -> Table:
    """Return a table of those columns that the document has."""
    there = [name for name in columns if any(row.has(name) for row in rows)]
    made: list[Table] = [{"lead": lead(row), "cells": [cell(row, name, deviations) for name in there]} for row in rows]
    return {"caption": caption, "lead": heading, "heads": [_head(name) for name in there], **limited(made)}


def _head(name: str) -> Table:
    return {"title": TITLES[name], "hint": ""}


def _named(name: str, hint: str = "") -> Table:
    return {"name": name, "hint": hint}


def _method(row: Place) -> Table:
    name = row.text("method")
    return _named(METHOD_TITLES.get(name, name), name if name in METHOD_TITLES else "")


def cell(row: Place, name: str, deviations: bool = False) -> Table:
    """Return what a table shows of an entry; undefined is never 0."""
    if name in NULLS and row.has(name) and row.entries[name] is None:
        return _nothing(NULLS[name])
    if name == "triplets":
        return {**number_cell(row, name), "of": number_cell(row, "generators") if row.has("generators") else None}
    if name in COUNTS:
        return number_cell(row, name, "count")
    if name in SHARES:
        return number_cell(row, name, "percent")
    if name in NUMBERS or name in SIGNED_NUMBERS:
        return number_cell(row, name, "signed" if name in SIGNED_NUMBERS else "thousandths")
    place = row.inner(name)
    found = Estimate.of(place)
    if place is None or found.mean is None:
        return _nothing("undefined")
    return {
        "form": "estimate", "at": place.at, "shown": "thousandths" if name in UNSIGNED else "signed",
        "mean": found.mean, "low": found.low, "high": found.high,
        "deviation": place.number("deviation") if deviations else None,
        "against": found.against if name in CONTRASTS else None,
    }  # fmt: skip


def number_cell(row: Place, name: str, shown: str = "count") -> Table:
    """Return a single number."""
    value = row.count(name) if shown == "count" else row.number(name)
    if value is None:
        return _nothing("undefined")
    return {"form": "number", "at": f"{row.at}/{name}", "shown": shown, "value": value, "below": "", "of": None}


def _nothing(word: str) -> Table:
    return {"form": "nothing", "word": word, "below": ""}
