"""Total variation with its interval: one direction beside random ones, or every method from the same latents."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.discovery.investigation import Shown
from equipoise.discovery.judging import Judged
from equipoise.reports._formats import decimal, plural, safe_name
from equipoise.reports.charts.chart import Chart, Row, finish
from equipoise.reports.charts.dumbbells import CHANCE, FOUND, RING
from equipoise.reports.charts.intervals import alone, fit, interval_panels, spanned, with_room
from equipoise.results import SearchVerdict

CONFIRMED, NOT_CONFIRMED, BY_CHANCE = "confirmed", "not confirmed", "random: median to 95%"
LOOKS = {CONFIRMED: FOUND, NOT_CONFIRMED: RING, BY_CHANCE: CHANCE}
NUMBERS = {"value": ("change per step", ".4g"), "low": ("from", ".4g"), "high": ("to", ".4g")}
TITLE = "change of the probability per step"
WIDEST = 520


def against_chance(shown: Shown, name: str) -> Chart | None:
    """Draw the interval of one direction over the random ones that it is compared with."""
    judged = shown.judged
    if judged.variation != judged.variation or judged.chance != judged.chance:
        return None
    rows = [
        {"line": 0, "panel": 0, "of": safe_name(judged.name), "what": _word(judged), **_own(judged)},
        {"line": 1, "panel": 0, "of": "random directions", "what": BY_CHANCE, **_null(judged)},
    ]
    words = (
        f"The probability changes by {decimal(judged.variation)} per step ({decimal(judged.low)} to "
        f"{decimal(judged.high)}); random directions have a median of {decimal(judged.chance)}, and 95% of them are "
        f"below {decimal(judged.chance_high)}."
    )
    return _chart(
        name, f"{safe_name(judged.name, 40)} compared with random directions", words, rows,
        ["this direction", "random ones"],
        "Mean change of the probability per step on fresh latents, with its interval over them; below it that of "
        "random directions that are orthogonal to the same attributes, through the middle or as far off.",
    )  # fmt: skip


def methods_chart(methods: Sequence[tuple[str, Shown]]) -> Chart | None:
    """Draw every method's direction on one scale."""
    drawn = [(label, one.judged) for label, one in methods if one.judged.variation == one.judged.variation]
    if len(drawn) < 2:
        return None
    rows: list[Row] = [
        {"line": place, "panel": 0, "of": safe_name(label), "what": _word(judged), **_own(judged)}
        for place, (label, judged) in enumerate(drawn)
    ]
    words = f"Change of the probability along the directions of {plural(len(drawn), 'method')}, with intervals."
    return _chart(
        "methods", "Every method on one scale", words, rows, [safe_name(label, 32) for label, _ in drawn],
        "The direction of each method, measured on the same fresh latents. A baseline chose the one with the lowest "
        "loss among its own.",
    )  # fmt: skip


def _chart(name: str, title: str, words: str, rows: list[Row], labels: list[str], caption: str) -> Chart:
    looks = {what: look for what, look in LOOKS.items() if any(row["what"] == what for row in rows)}
    plot = interval_panels(looks, NUMBERS, panels=1, lines=len(labels), title=TITLE, zero=True)
    spec = alone(with_room(finish(plot, rows, {"labels": labels, "panels": [""]}, alt=words)))
    return Chart(
        name=name, title=title, caption=caption, alt=words, spec=spec, rows=3 * len(rows),
        fit=fit(1, labels, looks, columns=1, widest=WIDEST),
    )  # fmt: skip


def _word(judged: Judged) -> str:
    return CONFIRMED if judged.verdict == SearchVerdict.FOUND else NOT_CONFIRMED


def _own(judged: Judged) -> Row:
    return spanned(judged.variation, judged.low, judged.high)


def _null(judged: Judged) -> Row:
    return spanned(judged.chance, judged.chance, judged.chance_high)
