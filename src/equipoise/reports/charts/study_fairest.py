"""The fairest of n identical runs: what it gains where it was chosen, and what is left on fresh people."""

from __future__ import annotations

from equipoise.reports._formats import plural, safe_name
from equipoise.reports.charts.chart import INK, Chart, Row, finish, rounded
from equipoise.reports.charts.dumbbells import Look
from equipoise.reports.charts.grid import Lines
from equipoise.reports.charts.intervals import fit, interval_panels, with_room
from equipoise.reports.study_terms import nearest_treatments, title_of_under
from equipoise.studies.findings import FairestRecord, StudyResult, chosen_fairest

MOST_LINES, MOST_PANELS = 32, 4
THERE, FRESH = "on the people it was chosen on", "on fresh people"
LOOKS = {THERE: Look(INK, "#FFFFFF", "circle"), FRESH: Look("#0072B2", "#0072B2", "diamond")}
NUMBERS = {
    "value": ("lower by (points)", ".2f"), "from": ("from", ".2f"), "to": ("to", ".2f"), "runs": ("runs", "d"),
}  # fmt: skip


def fairest(result: StudyResult) -> Chart | None:
    """Draw both gains of every technique, a panel for each number of runs to choose from."""
    shown = chosen_fairest(result)
    if not shown:
        return None
    measure = shown[0].measure
    own = [one for one in result.fairest_of_n if one.measure == measure]
    numbers = sorted({one.n for one in own})[-MOST_PANELS:]
    treatments, left_out = nearest_treatments(result, 12)
    lines, rows = Lines(), []
    for under in result.unders[: max(1, MOST_LINES // (len(treatments) + 1))]:
        here = [one for one in own if (one.condition, one.learner) == under and one.treatment in treatments]
        if here and len(result.unders) > 1:
            lines.add(title_of_under(result, under), head=True)
        places = {name: lines.add(safe_name(name, 40)) for name in dict.fromkeys(one.treatment for one in here)}
        for one in here:
            if one.n in numbers and one.apparent == one.apparent:
                rows += _pair(result.fairest_of_n.index(one), one, places[one.treatment], numbers.index(one.n))
    if not rows:
        return None
    name = safe_name(shown[0].alias or measure, 30)
    words = f"Gains of choosing the fairest of n identical runs by {name}, for {plural(len(lines.names), 'technique')}."
    plot = interval_panels(
        LOOKS, NUMBERS, panels=len(numbers), lines=len(lines.names), heads=True, zero=True, own_scales=False,
    )  # fmt: skip
    labels = lines.labels([]) | {"panels": [f"fairest of {number}" for number in numbers]}
    return Chart(
        name="fairest",
        title=f"What is keeping the fairest run worth? ({name})",
        caption=(
            f"How many points lower {name} is than the mean of the runs to choose from. Hollow: on the half of the "
            "people it was chosen on; filled: on the other half, with the middle 95% of random halves. What lies "
            "between the two marks was luck."
        ),
        alt=words + " The numbers are in the table below.",
        spec=with_room(finish(plot, rows, labels, alt=words)),
        fit=fit(len(numbers), lines.names, LOOKS, columns=4),
        notes=(left_out,) if left_out else (),
        rows=2 * len(rows),
    )


def _pair(place: int, one: FairestRecord, line: int, panel: int) -> list[Row]:
    common: Row = {"fairest": place, "line": line, "panel": panel, "of": safe_name(one.treatment), "runs": one.runs}
    there, fresh = rounded(one.apparent, 100), rounded(one.honest, 100)
    return [
        {**common, "what": THERE, "value": there, "from": there, "to": there},
        {**common, "what": FRESH, "value": fresh, "from": rounded(one.honest_low, 100),
         "to": rounded(one.honest_high, 100)},
    ]  # fmt: skip
