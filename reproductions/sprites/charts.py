"""The benchmark on one scale: the difference of every method, and what is above chance in every group of triplets."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.foundation import plural
from equipoise.reports import formats
from equipoise.reports.charts import (
    COLOURS,
    OPEN,
    QUIET,
    REFERENCE,
    WORSE,
    Chart,
    Lines,
    Look,
    Row,
    alone,
    draw,
    fit,
    interval_panels,
    spanned,
    used,
)
from reproductions.sprites.reading import Place
from reproductions.sprites.report import CHANCES, FITTED
from reproductions.sprites.words import METHOD_TITLES, Against, Estimate, agreement_words, gap_words, known_words

SEARCH = Look(COLOURS[0], COLOURS[0], "circle")
OURS, BY_CHANCE, OTHERS = "the search", "random directions", "other methods"
METHOD_LOOKS = {OURS: SEARCH, OTHERS: OPEN, BY_CHANCE: REFERENCE}
KINDS = {"ours": OURS, "right_angled": OURS, "random": BY_CHANCE, "random_orthogonal": BY_CHANCE}
SIDES: dict[Against, str] = {
    "above": "above chance", "below": "below chance", "open": "includes 0", "no interval": "no interval",
}  # fmt: skip
SIDE_LOOKS = {
    SIDES["above"]: Look(COLOURS[0], COLOURS[0], "triangle-up"),
    SIDES["below"]: Look(WORSE, WORSE, "triangle-down"),
    SIDES["open"]: OPEN,
    SIDES["no interval"]: Look(QUIET, "#FFFFFF", "cross"),
}
NUMBERS = {"value": ("mean", ".3f"), "low": ("from", ".3f"), "high": ("to", ".3f")}
PANELS = ("search, as in the paper", "its part at right angles")
# A part of the document, what it is called, and what a row of it is called.
PARTS: tuple[tuple[str, str, Callable[[Place], str]], ...] = (
    ("by_gap", "by the classifier's gap", gap_words),
    ("by_fit", "by the fit of planes", lambda row: FITTED[bool(row.entries.get("told"))]),
    ("by_kind", "by kind of generator", lambda row: row.text("kind")),
    ("known", "by number of known factors", known_words),
    ("skew", "by the generator's skew", agreement_words),
)
MOST_LINES = 30
WIDEST_ALONE, WIDEST = 520, 360


def differences(document: Place) -> Chart | None:
    """Draw the difference of every method of Table 1 with its interval."""
    estimates = [
        (row.text("method"), Estimate.of(row.inner("difference"))) for row in document.rows("table")[:MOST_LINES]
    ]
    estimates = [(name, estimate) for name, estimate in estimates if estimate.mean is not None]
    if not estimates:
        return None
    rows: list[Row] = [
        {"line": line, "panel": 0, "of": formats.safe_name(METHOD_TITLES.get(name, name)),
         "what": KINDS.get(name, OTHERS), **_spanned(estimate)}
        for line, (name, estimate) in enumerate(estimates)
    ]  # fmt: skip
    labels = [formats.safe_name(METHOD_TITLES.get(name, name), 40) for name, _ in estimates]
    words = "Difference of |cos| to the biased factor and to the target: " + "; ".join(
        f"{label} {estimate}" for label, (_, estimate) in zip(labels, estimates, strict=True)
    )
    looks = used(METHOD_LOOKS, rows)
    plot = interval_panels(looks, NUMBERS, panels=1, lines=len(labels), title="difference", zero=True)
    return alone(draw(
        plot, rows, {"labels": labels, "panels": [""]},
        name="difference by method",
        title="How much nearer to the biased factor than to the target",
        caption=(
            "|cos| to the biased factor less |cos| to the target, mean over triplets with its 95% interval over "
            "generators; further right is better. A method works where it lies right of random directions at right "
            "angles, not where it lies right of 0. A mark without a line has no interval, or one that is hidden by it."
        ),
        words=f"{words}.", where="", fit=fit(1, labels, looks, columns=1, widest=WIDEST_ALONE), marks=3, room=True,
    ))  # fmt: skip


def above_chance(document: Place) -> Chart | None:
    """Draw what the search and its part at right angles are above chance, in all triplets and in groups of them."""
    lines, rows = Lines(), _lines_of(document, "all triplets", 0)
    lines.add("all triplets")
    for part, title, name in PARTS:
        part_rows = document.rows(part)
        # One group of all triplets would say the same again.
        same = part.startswith("by_") and len(part_rows) == 1
        if (
            not same
            and len(lines.names) + len(part_rows) < MOST_LINES
            and any(_lines_of(row, "", 0) for row in part_rows)
        ):
            lines.add(title, head=True)
            for row in part_rows:
                label = formats.safe_name(name(row), 32)
                rows += _lines_of(row, label, lines.add(label))
    if not rows:
        return None
    looks = used(SIDE_LOOKS, rows)
    panels = [panel for index, panel in enumerate(PANELS) if any(row["panel"] == index for row in rows)]
    plot = interval_panels(
        looks, NUMBERS, panels=len(panels), lines=len(lines.names), title="less chance", heads=True, zero=True,
        own_scales=False,
    )  # fmt: skip
    return draw(
        plot, rows, lines.labels([]) | {"panels": list(PANELS)},
        name="above chance",
        title="The search less chance, in all triplets and in groups of them",
        caption=(
            "The difference less that of random directions at right angles to the same, in the same triplets, with its "
            "95% interval over generators. Right of 0 is better than chance. Colour and shape say on which side the "
            "interval lies; with fewer than five generators there is none."
        ),
        words=f"What is above chance in all triplets and in groups of them: {plural(len(rows), 'interval')}.",
        where="The numbers are in the tables below.",
        fit=fit(len(panels), lines.names, looks, columns=2, widest=WIDEST), marks=3, room=True,
    )  # fmt: skip


def _lines_of(place: Place, label: str, line: int) -> list[Row]:
    rows = []
    for panel, name in enumerate(CHANCES):
        estimate = Estimate.of(place.inner(name))
        if estimate.mean is not None:
            rows.append(
                {"line": line, "panel": panel, "of": label, "what": SIDES[estimate.against], **_spanned(estimate)}
            )
    return rows


def _spanned(estimate: Estimate) -> Row:
    assert estimate.mean is not None
    return spanned(estimate.mean, estimate.low, estimate.high)
