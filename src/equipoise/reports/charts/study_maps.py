"""Maps of treatment by measure, a block a condition: effect sizes, changes of the variance, and who is best."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import altair as alt

from equipoise.audits.evidence import METRIC_VARIANCE, PERFORMANCE_LOWER, PERFORMANCE_VARIANCE, VarianceChange
from equipoise.reports._formats import plural, probability, safe_name
from equipoise.reports.charts.chart import INK, QUIET, Chart, Row, finish, rounded
from equipoise.reports.charts.effects import (
    BLUES,
    CHANGES,
    EFFECTS,
    GREY,
    MOST_METRICS,
    ORANGES,
    UNDECIDED,
    WHITE,
    cells_plot,
    change_cell,
    effect_cell,
)
from equipoise.reports.charts.grid import Lines, grid
from equipoise.reports.charts.intervals import with_room
from equipoise.reports.study_terms import (
    columns_of,
    heading_of,
    nearest_treatments,
    placed,
    ranks_of,
    title_of_under,
)
from equipoise.studies.findings import StudyRecord, StudyResult

# Of one map; that of an attribute that the study is not about is shorter.
MOST_LINES, MOST_OTHER_LINES = 40, 22
MOST_CONDITIONS = 10
# Of a probability: from never to always, light enough for dark letters.
LIKELY = ((0.005, WHITE), (0.2, BLUES[0]), (0.5, BLUES[2]), (0.8, BLUES[4]), (1.01, BLUES[5]))
FREE, AT_A_COST, NOT_LOWER, RAISED = "lower, no cost shown", "lower, at a cost", "not lower", "higher"
COSTLY = {FREE: BLUES[4], AT_A_COST: ORANGES[1], NOT_LOWER: GREY, RAISED: ORANGES[5], UNDECIDED: WHITE}
LETTERS = {PERFORMANCE_LOWER: "p", PERFORMANCE_VARIANCE: "s", METRIC_VARIANCE: "v"}
STEPS = ("never", "up to 20%", "up to 50%", "up to 80%", "above 80%")


def effects(result: StudyResult, attribute: tuple[str, ...]) -> Chart | None:
    """Draw the size of each effect on an attribute: blue where better than the baseline, orange where worse."""
    return _map(
        result, attribute, lambda place, record: effect_cell(place, record, record.better) if record.verdict else None,
        EFFECTS,
        name="effects",
        title="Effect of each treatment on each measure",
        what="effect sizes",
        caption=(
            "Cohen's d, compared with the baseline under the same condition. Blue is better, orange is worse; the "
            "deeper the colour, the larger the effect. ▼: lower, ▲: higher. Grey: not significant after correction. A "
            "question mark: too few runs to decide."
        ),
    )  # fmt: skip


def variances(result: StudyResult, attribute: tuple[str, ...]) -> Chart | None:
    """Draw whether the runs of each treatment vary more or less than the baseline's."""
    return _map(
        result, attribute, _variance, CHANGES,
        name="variances",
        title="Do the runs of each treatment vary more?",
        what="changes of the variance",
        caption=(
            "Spread of the runs over that of the baseline's, both relative to their means (Levene's test). ▼ blue: "
            "they vary less; ▲ orange: more, which is a cost; grey: no change shown; a question mark: undefined."
        ),
    )  # fmt: skip


def costs(result: StudyResult) -> Chart | None:
    """Draw what lowering each bias costs: the maps of figures 2 and 3 of paper 004 in one."""
    return _map(
        result, result.attribute, _cost, COSTLY,
        name="costs",
        title="What does lowering each bias cost?",
        what="biases lowered and their costs",
        caption=(
            "▼ blue: lower than the baseline's, with no cost shown; orange: lower at a cost (p: performance is lower; "
            "s: performance is less steady; v: the bias itself varies more); ✕: not lower; ▲: higher. A question "
            "mark: undecided."
        ),
        kept=lambda record: record.better == "low" and record.measure != result.distance and bool(record.attribute),
    )  # fmt: skip


def _cost(place: int, record: StudyRecord) -> Row | None:
    if record.verdict is None:
        return None
    letters = " ".join(letter for cost, letter in LETTERS.items() if cost in record.costs)
    step, text = {
        "lower": (AT_A_COST, f"▼ {letters}") if letters else (FREE, "▼"),
        "higher": (RAISED, "▲"),
        "none": (NOT_LOWER, "✕"),
        "undecided": (UNDECIDED, "?"),
    }[record.verdict]
    return {**effect_cell(place, record, record.better), "step": step, "text": text}


def _variance(place: int, record: StudyRecord) -> Row | None:
    if record.verdict is None or record.variance_ratio is None or record.levene_p_adjusted is None:
        return None
    change = VarianceChange(
        record.treatment, record.baseline or "", record.measure, record.variance_ratio, record.levene_p_adjusted,
        record.variance_change,
    )  # fmt: skip
    return change_cell(place, change)


def _map(
    result: StudyResult, attribute: tuple[str, ...], cell_of: Callable[[int, StudyRecord], Row | None],
    steps: Mapping[str, str], *, name: str, title: str, what: str, caption: str,
    kept: Callable[[StudyRecord], bool] = lambda record: True,
) -> Chart | None:  # fmt: skip
    every = [record for record in columns_of(result, attribute) if kept(record)]
    # The map of the main attribute has the numbers of everyone: another, without a number of its own, adds nothing.
    if attribute != result.attribute and not any(record.attribute for record in every):
        return None
    columns = every if len(every) <= MOST_METRICS else [*every[: MOST_METRICS - 2], *every[-2:]]
    treatments, left_out = nearest_treatments(result, 20)
    treatments = [treatment for treatment in treatments if treatment != result.baseline]
    most = MOST_LINES if attribute == result.attribute else MOST_OTHER_LINES
    unders = result.unders[: max(1, most // (len(treatments) + 1))]
    lines, rows = Lines(), []
    for under in unders:
        own = []
        for treatment in treatments:
            cells = [
                {**cell, "column": column, "metric": heading_of(measure), "technique": safe_name(treatment)}
                for column, measure in enumerate(columns)
                if (found := placed(result, under, treatment, measure.measure, attribute)) is not None
                and (cell := cell_of(*found)) is not None
            ]
            if cells:
                own.append((treatment, cells))
        if own:
            lines.add(title_of_under(result, under), head=True)
        for treatment, cells in own:
            line = lines.add(safe_name(treatment, 40))
            rows += [{**cell, "line": line} for cell in cells]
    if not rows:
        return None
    words = f"Heat map of {what}: {lines.heads.count(False)} lines by {len(columns)} measures."
    headings: list[object] = [_column(measure) for measure in columns]
    used = {step: colour for step, colour in steps.items() if any(row["step"] == step for row in rows)}
    spec = with_room(finish(cells_plot(used, len(lines.names), len(columns)), rows, lines.labels(headings), alt=words))
    spec["config"]["view"] = {"stroke": None}
    on = " & ".join(attribute)
    notes = [left_out] if left_out else []
    if len(columns) < len(every):
        notes.append(f"Shown are {len(columns)} of {len(every)} measures; the table has all of them.")
    if len(unders) < len(result.unders):
        notes.append(f"Shown are {len(unders)} of {len(result.unders)} conditions; the table has all of them.")
    return Chart(
        name=f"{name} {on}", title=f"{title} ({safe_name(on, 40)})", caption=caption,
        alt=words + " The numbers are in the table below.", spec=spec, notes=tuple(notes), rows=2 * len(rows),
    )  # fmt: skip


def _column(record: StudyRecord) -> list[str]:
    title = heading_of(record).replace("Balanced accuracy", "Bal. acc.").replace(" (1 − GAP)", "")
    return [safe_name(title, 24)] + (["better high"] if record.better == "high" else [])


def ranks(result: StudyResult) -> Chart | None:
    """Draw the probability of being best by distance to the optimum: treatments by conditions."""
    treatments, left_out = nearest_treatments(result, 30)
    unders = result.unders[:MOST_CONDITIONS]
    lines = Lines()
    headings: list[object] = [_broken(title_of_under(result, under, 44)) for under in unders]
    if any(isinstance(heading, list) and len(heading) > 1 for heading in headings):
        lines.add("", head=True)  # headings of two lines reach into the first row
    places = {treatment: lines.add(safe_name(treatment, 40)) for treatment in treatments}
    everything = {id(rank): place for place, rank in enumerate(result.ranks)}
    rows: list[Row] = []
    for rank in ranks_of(result):
        under = (rank.condition, rank.learner)
        if rank.treatment in places and under in unders and rank.prob_best == rank.prob_best:
            step = next(STEPS[at] for at, (most, _) in enumerate(LIKELY) if rank.prob_best < most)
            rows.append({
                "rank": everything[id(rank)], "line": places[rank.treatment], "column": unders.index(under),
                "step": step, "text": f"{100 * rank.prob_best:.0f}%", "found": rank.rank == 1, "open": False,
                "place": rounded(rank.rank), "value": rounded(rank.value), "technique": safe_name(rank.treatment),
                "metric": title_of_under(result, under), "best": probability(rank.prob_best),
                "single": probability(rank.prob_best_single),
            })  # fmt: skip
    if not rows:
        return None
    number = plural(len(unders), "condition")
    words = f"Probability of being best of {plural(len(lines.names), 'treatment')} under {number}."
    spec = with_room(finish(_rank_plot(len(lines.names), len(unders)), rows, lines.labels(headings), alt=words))
    spec["config"]["view"] = {"stroke": None}
    notes = [left_out] if left_out else []
    if len(unders) < len(result.unders):
        notes.append(f"Shown are {len(unders)} of {len(result.unders)} conditions; the JSON has all of them.")
    return Chart(
        name="ranks", title="Probability of being best (distance to the optimum)",
        caption=(
            "How often a treatment has the least distance when seeds, runs and people are drawn again together. Bold: "
            "the first by its mean. A column adds up to 100%."
        ),
        alt=words + " The numbers are in the table below.", spec=spec, notes=tuple(notes), rows=2 * len(rows),
    )  # fmt: skip


def _broken(name: str) -> list[str]:
    """Break a long heading into two lines, at a space or comma near its middle."""
    if len(name) <= 16:
        return [name]
    spots = [place for place, char in enumerate(name) if char == " "]
    middle = min(spots, key=lambda place: abs(place - len(name) / 2), default=len(name) // 2)
    return [name[:middle].strip(), name[middle:].strip()]


def _rank_plot(lines: int, columns: int) -> alt.TopLevelMixin:
    width = 110 if columns <= 7 else 84
    base = grid(lines, width)
    colour = (
        alt.Color("step:N")
        .scale(domain=list(STEPS), range=[colour for _, colour in LIKELY])
        .legend(
            title=None, orient="bottom", symbolType="square", symbolStrokeColor=QUIET, symbolStrokeWidth=1, columns=5
        )
    )
    tooltip = [
        alt.Tooltip("technique:N", title="treatment"),
        alt.Tooltip("metric:N", title="condition"),
        alt.Tooltip("value:Q", title="mean distance", format=".4f"),
        alt.Tooltip("place:Q", title="rank"),
        alt.Tooltip("best:N", title="best"),
        alt.Tooltip("single:N", title="best with one run of each"),
    ]
    box = base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tooltip)
    plain = base.mark_text(fontSize=12, color=INK).encode(text="text:N").transform_filter("!datum.found")
    bold = (
        base.mark_text(fontSize=12, color=INK, fontWeight="bold").encode(text="text:N").transform_filter("datum.found")
    )
    return alt.layer(box, plain, bold).properties(width=columns * width, height=alt.Step(26))
