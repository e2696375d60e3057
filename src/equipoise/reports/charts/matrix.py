"""Matrices of verdicts: a technique by a measure, a condition or a class, each cell in the colour of its step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, get_args

import altair as alt

from equipoise.audits.evidence import (
    METRIC_VARIANCE,
    PERFORMANCE_LOWER,
    PERFORMANCE_VARIANCE,
    RULE,
    EvidenceResult,
    VarianceChange,
)
from equipoise.foundation import plural
from equipoise.measures import Better
from equipoise.reports._comparisons import (
    TechniqueMetric,
    by_cell,
    columns_of,
    heading_of,
    metrics_of,
    nearest_treatments,
    placed,
    ranks_of,
    title_of_under,
    with_largest_effects,
)
from equipoise.reports._formats import p_value, probability, safe_name, signed_short, times
from equipoise.reports.charts.chart import CELL, INK, QUIET, Chart, Lines, Row, draw, grid, rounded, tips, used
from equipoise.results import Verdict
from equipoise.stats import EffectBand
from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    IMPACT,
    ClassRecord,
    StudyRecord,
)

MOST_TECHNIQUES = 40
MOST_METRICS = 12
# With more columns, cells are made narrower so that the page is wide enough.
MANY_COLUMNS, NARROW_CELL = 8, 70
# From negligible to huge, light enough at the end for dark letters; grey is not significant, white is inconclusive.
BLUES = ("#EAF5FC", "#D2EAF9", "#B5DDF5", "#97CFF1", "#78C2ED", "#56B4E9")
ORANGES = ("#FDF3E0", "#FBE6BE", "#F7D695", "#F2C46A", "#ECB238", "#E69F00")
GREY, WHITE, NEUTRAL = "#DDE2E7", "#FFFFFF", "#D8D3E6"
NO_DIFFERENCE, UNDECIDED, NO_BAND, NEITHER = (
    "not significant",
    "inconclusive",
    "d undefined",
    "neither better nor worse",
)
LESS, MORE, NO_CHANGE, UNDEFINED = "varies less", "varies more", "not significant", "undefined"
SIGNS = {"lower": "▼ ", "higher": "▲ "}
BANDS = (*get_args(EffectBand), NO_BAND)
EFFECTS = {
    **{f"better, {band}": colour for band, colour in zip(reversed(BANDS), (BLUES[-1], *reversed(BLUES)), strict=True)},
    NO_DIFFERENCE: GREY,
    **{f"worse, {band}": colour for band, colour in zip(BANDS, (*ORANGES, ORANGES[-1]), strict=True)},
    NEITHER: NEUTRAL,
    UNDECIDED: WHITE,
}
CHANGES = {LESS: BLUES[-1], NO_CHANGE: GREY, MORE: ORANGES[-1], UNDEFINED: WHITE}
# Of one map; that of an attribute that the study is not about is shorter.
MOST_LINES, MOST_OTHER_LINES = 40, 22
MOST_CONDITIONS = 10
# Of a probability: from never to always, light enough for dark letters.
LIKELY = {
    "never": (0.005, WHITE), "up to 20%": (0.2, BLUES[0]), "up to 50%": (0.5, BLUES[2]),
    "up to 80%": (0.8, BLUES[4]), "above 80%": (1.01, BLUES[5]),
}  # fmt: skip
FREE, AT_A_COST, NOT_LOWER, RAISED = "lower, no cost shown", "lower, at a cost", "not lower", "higher"
COSTLY = {FREE: BLUES[4], AT_A_COST: ORANGES[1], NOT_LOWER: GREY, RAISED: ORANGES[5], UNDECIDED: WHITE}
LETTERS = {PERFORMANCE_LOWER: "p", PERFORMANCE_VARIANCE: "s", METRIC_VARIANCE: "v"}
MOST_CLASS_LINES, MOST_CLASSES = 36, 12
CLASS_CELL = 74
# Of a difference between identical runs, light enough for dark letters.
MOVES = {
    "under 2 points": (0.02, WHITE), "2 to 5": (0.05, ORANGES[0]), "5 to 10": (0.10, ORANGES[2]),
    "10 to 20": (0.20, ORANGES[3]), "20 points or more": (float("inf"), ORANGES[5]),
}  # fmt: skip


class Effect(Protocol):
    """What a comparison says of its effect, whichever result it belongs to."""

    @property
    def verdict(self) -> Verdict | None:
        """Lower, higher, none or undecided (which people read as inconclusive)."""

    @property
    def d(self) -> float | None:
        """Cohen's d."""

    @property
    def band(self) -> EffectBand | None:
        """What an effect of that size is called."""

    @property
    def p_adjusted(self) -> float | None:
        """The p after correction."""

    @property
    def costs(self) -> tuple[str, ...]:
        """What it costs besides."""


def effects(result: EvidenceResult) -> Chart | None:
    """Draw the size of each effect: blue where the technique is better, orange where it is worse, else grey."""
    cells = {
        cell: effect_cell(index, record, "high" if record.metric in result.performance else "low")
        for cell, (index, record) in by_cell(result).items()
        if record.verdict
    }
    return _evidence_map(
        result, cells, EFFECTS,
        name="effects",
        title="Effect of each technique on each metric",
        what="effect sizes",
        caption=(
            "Cohen's d, compared with the baseline. Blue is better, orange is worse; the deeper the colour, the larger "
            "the effect. ▼: lower, ▲: higher. Grey: not significant after correction. A question mark in a dashed "
            "frame: too few runs to decide."
        ),
    )  # fmt: skip


def variances(result: EvidenceResult) -> Chart | None:
    """Draw whether the runs of each technique vary more or less than the baseline's."""
    cells = {
        (variance.technique, variance.metric): change_cell(index, variance)
        for index, variance in enumerate(result.variances)
    }
    relative = (
        ", both relative to their means" if any(variance.spread == "relative" for variance in result.variances) else ""
    )
    return _evidence_map(
        result, cells, CHANGES,
        name="variances",
        title="Does each technique vary more between runs?",
        what="changes of the variance",
        caption=(
            f"Spread of the runs divided by that of the baseline's runs{relative} (Levene's test): at 2 × "
            "they lie twice as far from their median. ▼ blue: they vary less; ▲ orange: more, which is a cost; grey: "
            "not significant. A question mark in a dashed frame: undefined."
        ),
    )  # fmt: skip


def effect_cell(index: int, record: Effect, better: Better) -> Row:
    """Return what the cell of a comparison shows of its effect on a measure that is better low, high or neither."""
    is_defined = record.d is not None and not math.isnan(record.d)
    if record.verdict in (Verdict.LOWER, Verdict.HIGHER):
        way = "better" if (record.verdict == Verdict.LOWER) == (better == "low") else "worse"
        step = NEITHER if better == "none" else f"{way}, {record.band or NO_BAND}"
    else:
        step = UNDECIDED if record.verdict == Verdict.UNDECIDED else NO_DIFFERENCE
    number = signed_short(record.d) if is_defined else ""
    return {
        "record": index,
        "step": step,
        "text": "?" if step == UNDECIDED else (SIGNS.get(str(record.verdict), "") + number).strip() or "–",
        "found": record.verdict in SIGNS,
        "open": step == UNDECIDED,
        "d": rounded(record.d),
        "told": f"p {p_value(record.p_adjusted)}" + (f"; cost: {', '.join(record.costs)}" if record.costs else ""),
    }


def change_cell(index: int, change: VarianceChange) -> Row:
    """Return what the cell of a comparison shows of its variance."""
    number, p, way = change.counted
    step = {"lower": LESS, "higher": MORE, "none": NO_CHANGE, None: UNDEFINED}[way]
    ratio = "" if math.isnan(number) else f"{times(number)} ×"
    return {
        "variance": index,
        "step": step,
        "text": "?" if way is None else (SIGNS.get(way, "") + ratio).strip() or "–",
        "found": way in SIGNS,
        "open": way is None,
        "ratio": rounded(number),
        "told": f"p {p_value(p)}",
    }


def _evidence_map(
    result: EvidenceResult, cells: Mapping[TechniqueMetric, Row], steps: Mapping[str, str], *, name: str, title: str,
    what: str,
    caption: str,
) -> Chart | None:  # fmt: skip
    """Draw cells of technique by metric, one block per baseline."""
    every_metric = metrics_of(result)
    metrics = every_metric[:MOST_METRICS]
    families, left_out = with_largest_effects(result, MOST_TECHNIQUES, metrics)
    lines, rows = Lines(), []
    for family in families:
        lines.add(f"compared with {safe_name(family.baseline, 30)}", head=True)
        for technique in family.techniques:
            line = lines.add(safe_name(technique, 40))
            cells_of_line = ((column, cells.get((technique, metric))) for column, metric in enumerate(metrics))
            names = {"technique": safe_name(technique), "line": line}
            rows += [
                {**cell, **names, "column": column, "metric": safe_name(metrics[column])}
                for column, cell in cells_of_line
                if cell is not None
            ]
    if not rows:
        return None
    words = f"Heat map of {what}: {plural(lines.heads.count(False), 'technique')} by {plural(len(metrics), 'metric')}."
    columns: list[object] = [
        [safe_name(metric, 24), "better high"] if metric in result.performance else [safe_name(metric, 24)]
        for metric in metrics
    ]
    some = len(metrics) < len(every_metric)
    return draw(
        verdict_cells(used(steps, rows, "step"), len(lines.names), len(metrics)), rows, lines.labels(columns),
        name=name, title=title, caption=caption, words=words,
        notes=(left_out, f"Shown are {len(metrics)} of {len(every_metric)} metrics; the table has all of them." * some),
        marks=2, bare=True,
    )  # fmt: skip


def verdict_cells(steps: Mapping[str, str], lines: int, columns: int) -> alt.TopLevelMixin:
    """Draw cells in the colours of their steps, each with its sign and number."""
    tooltip = tips(technique="technique", metric="metric", step="verdict", text="size", told="corrected")
    return _cells(steps, lines, columns, tooltip, width=CELL if columns <= MANY_COLUMNS else NARROW_CELL, frames=True)


def _cells(
    steps: Mapping[str, str], lines: int, columns: int, tooltip: list[alt.Tooltip], *, width: int,
    frames: bool = False, legend_columns: int | None = None,
) -> alt.TopLevelMixin:  # fmt: skip
    """Draw cells in the colours of their steps with their texts: those ``found`` are bold, ``open`` ones framed."""
    base = grid(lines, width)
    colour = alt.Color("step:N").scale(domain=list(steps), range=list(steps.values()))
    named: dict[str, Any] = {"title": None, "orient": "bottom", "symbolType": "square", "symbolStrokeColor": QUIET,
             "symbolStrokeWidth": 1, **({"columns": legend_columns} if legend_columns else {})}  # fmt: skip
    box = base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour.legend(**named), tooltip=tooltip)
    frame = base.mark_rect(filled=False, stroke=QUIET, strokeDash=[3, 3]).transform_filter("datum.open")
    # Vega-Lite has no channel for the weight of letters: what was found is written in a layer of its own.
    plain = base.mark_text(fontSize=12, color=INK).encode(text="text:N").transform_filter("!datum.found")
    bold = base.mark_text(fontSize=12, color=INK, fontWeight="bold").encode(text="text:N")
    texts = [plain, bold.transform_filter("datum.found")]
    layers = [box, frame, *texts] if frames else [box, *texts]
    return alt.layer(*layers).properties(width=columns * width, height=alt.Step(26))


def study_effects(result: StudyResult, attribute: tuple[str, ...]) -> Chart | None:
    """Draw the size of each effect on an attribute: blue where better than the baseline, orange where worse."""
    return _study_map(
        result, attribute, lambda index, record: effect_cell(index, record, record.better) if record.verdict else None,
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


def study_variances(result: StudyResult, attribute: tuple[str, ...]) -> Chart | None:
    """Draw whether the runs of each treatment vary more or less than the baseline's."""
    return _study_map(
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
    """Draw what lowering each bias costs, as Figures 2 and 3 of Qian et al. (2021) do."""
    return _study_map(
        result, result.attribute, _cost, COSTLY,
        name="costs",
        title="What does lowering each bias cost?",
        what="biases lowered and their costs",
        caption=(
            "▼ blue: lower than the baseline's, with no cost shown; orange: lower at a cost (p: performance is lower; "
            "s: performance is less steady; v: the bias itself varies more); ✕: not lower; ▲: higher. A question "
            "mark: inconclusive."
        ),
        kept=lambda record: record.better == "low" and record.measure != result.distance and bool(record.attribute),
    )  # fmt: skip


def _cost(index: int, record: StudyRecord) -> Row | None:
    if record.verdict is None:
        return None
    letters = " ".join(letter for cost, letter in LETTERS.items() if cost in record.costs)
    step, text = {
        "lower": (AT_A_COST, f"▼ {letters}") if letters else (FREE, "▼"),
        "higher": (RAISED, "▲"),
        "none": (NOT_LOWER, "✕"),
        "undecided": (UNDECIDED, "?"),
    }[record.verdict]
    return {**effect_cell(index, record, record.better), "step": step, "text": text}


def _variance(index: int, record: StudyRecord) -> Row | None:
    if record.verdict is None or record.variance_ratio is None or record.levene_p_adjusted is None:
        return None
    change = VarianceChange(
        record.treatment, record.baseline or "", record.measure, record.variance_ratio, record.levene_p_adjusted,
        record.variance_change,
    )  # fmt: skip
    return change_cell(index, change)


def _column_heading(record: StudyRecord) -> list[str]:
    title = heading_of(record).replace("Balanced accuracy", "Bal. acc.").replace(" (1 − GAP)", "")
    return [safe_name(title, 24)] + (["better high"] if record.better == "high" else [])


def _broken(name: str) -> list[str]:
    """Break a long heading into two lines, at a space or comma near its middle."""
    if len(name) <= 16:
        return [name]
    spots = [index for index, char in enumerate(name) if char == " "]
    middle = min(spots, key=lambda record_index: abs(record_index - len(name) / 2), default=len(name) // 2)
    return [name[:middle].strip(), name[middle:].strip()]


def _study_map(
    result: StudyResult, attribute: tuple[str, ...], cell_of: Callable[[int, StudyRecord], Row | None],
    steps: Mapping[str, str], *, name: str, title: str, what: str, caption: str,
    kept: Callable[[StudyRecord], bool] = lambda record: True,
) -> Chart | None:  # fmt: skip
    """Draw cells of treatment by measure, one block per condition."""
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
        cells_of_line = []
        for treatment in treatments:
            cells = [
                {**cell, "column": column, "metric": heading_of(measure), "technique": safe_name(treatment)}
                for column, measure in enumerate(columns)
                if (entry := placed(result, under, treatment, measure.measure, attribute)) is not None
                and (cell := cell_of(*entry)) is not None
            ]
            if cells:
                cells_of_line.append((treatment, cells))
        if cells_of_line:
            lines.add(title_of_under(result, under), head=True)
        for treatment, cells in cells_of_line:
            line = lines.add(safe_name(treatment, 40))
            rows += [{**cell, "line": line} for cell in cells]
    if not rows:
        return None
    on = " & ".join(attribute)
    words = f"Heat map of {what}: {lines.heads.count(False)} lines by {len(columns)} measures."
    return draw(
        verdict_cells(used(steps, rows, "step"), len(lines.names), len(columns)), rows,
        lines.labels([_column_heading(measure) for measure in columns]),
        name=f"{name} {on}", title=f"{title} ({safe_name(on, 40)})", caption=caption, words=words,
        notes=(
            left_out, _of_all(columns, every, "measures", "table"),
            _of_all(unders, result.unders, "conditions", "table"),
        ),
        marks=2, room=True, bare=True,
    )  # fmt: skip


def _of_all(displayed: Sequence[object], every: Sequence[object], what: str, where: str) -> str:
    """Say how many of all there are shown; nothing where all are."""
    if len(displayed) == len(every):
        return ""
    return f"Shown are {len(displayed)} of {len(every)} {what}; the {where} has all of them."


def ranks(result: StudyResult) -> Chart | None:
    """Draw the probability of being best by distance to the optimum: treatments by conditions."""
    treatments, left_out = nearest_treatments(result, 30)
    unders = result.unders[:MOST_CONDITIONS]
    lines = Lines()
    headings: list[object] = [_broken(title_of_under(result, under, 44)) for under in unders]
    if any(isinstance(heading, list) and len(heading) > 1 for heading in headings):
        lines.add("", head=True)  # headings of two lines reach into the first row
    places = {treatment: lines.add(safe_name(treatment, 40)) for treatment in treatments}
    everything = {id(rank): index for index, rank in enumerate(result.ranks)}
    rows: list[Row] = []
    for rank in ranks_of(result):
        under = (rank.condition, rank.learner)
        if rank.treatment in places and under in unders and rank.prob_best == rank.prob_best:
            step = next(step for step, (most, _) in LIKELY.items() if rank.prob_best < most)
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
    tooltip = tips(
        technique="treatment", metric="condition", value=("mean distance", ".4f"), place=("rank", ""), best="best",
        single="best with one run of each",
    )  # fmt: skip
    steps = {step: colour for step, (_, colour) in LIKELY.items()}
    width = 110 if len(unders) <= 7 else CELL
    return draw(
        _cells(steps, len(lines.names), len(unders), tooltip, width=width, legend_columns=5), rows,
        lines.labels(headings),
        name="ranks", title="Probability of being best (distance to the optimum)",
        caption=(
            "How often a treatment has the least distance when seeds, runs and people are drawn again together. Bold: "
            "the first by its mean. A column adds up to 100%."
        ),
        words=f"Probability of being best of {plural(len(lines.names), 'treatment')} under {number}.",
        notes=(left_out, _of_all(unders, result.unders, "conditions", "JSON")),
        marks=2, room=True, bare=True,
    )  # fmt: skip


def classes(result: StudyResult) -> Chart | None:
    """Draw the range of identical runs of each class, on disparate impact or else on the first bias told by class."""
    records = _classes_shown(result)
    if not records:
        return None
    columns, left_out = _classes_moved(records)
    lines, rows = Lines(), []
    for under in result.unders:
        treatments = list(
            dict.fromkeys(record.treatment for record in records if (record.condition, record.learner) == under)
        )
        if not treatments or len(lines.names) + len(treatments) >= MOST_CLASS_LINES:
            left_out += bool(treatments)
            continue
        if len(result.unders) > 1:
            lines.add(title_of_under(result, under), head=True)
        places = {treatment: lines.add(safe_name(treatment, 40)) for treatment in treatments}
        rows += [
            _class_cell(index, record, places[record.treatment], columns.index(record.class_))
            for index, record in enumerate(records)
            if (record.condition, record.learner) == under and record.class_ in columns
        ]
    if not rows:
        return None
    name = records[0].alias or records[0].measure
    words = (
        f"Range of {safe_name(name, 30)} over identical runs, {plural(len(columns), 'class', 'classes')} by technique."
    )
    tooltip = tips(
        technique="technique", of="class", low=("lowest run", ".1%"), high=("highest run", ".1%"),
        best=("the lowest is run", ""), worst=("the highest is run", ""), runs=("runs", ""),
    )  # fmt: skip
    steps = {step: colour for step, (_, colour) in used(MOVES, rows, "step").items()}
    return draw(
        _cells(steps, len(lines.names), len(columns), tooltip, width=CLASS_CELL, legend_columns=5), rows,
        lines.labels([safe_name(column, 14) for column in columns]),
        name="classes",
        title=f"Identical runs class by class ({safe_name(name, 30)})",
        caption=(
            "In each cell the lowest and the highest of the identical runs, in percent. The deeper the colour, the "
            "further they lie apart. Bold: some runs are within the 20% rule and others are not."
        ),
        words=words, where="The numbers are in the JSON.",
        notes=("Classes or conditions that move less are left out here; the JSON has them.",) if left_out else (),
        marks=2, room=True, bare=True,
    )  # fmt: skip


def _classes_shown(result: StudyResult) -> list[ClassRecord]:
    """Return the classes on one bias, of one seed of each technique."""
    measures = list(dict.fromkeys(record.measure for record in result.identical_classes))
    measure = IMPACT if IMPACT in measures else next(iter(measures), "")
    best: dict[tuple[str, str, str], tuple[int, int, int]] = {}
    for record in result.identical_classes:
        key, size = (
            (record.condition, record.learner, record.treatment),
            (record.runs, -record.seed, -record.environment),
        )
        best[key] = max(best.get(key, size), size)
    return [
        record
        for record in result.identical_classes
        if record.measure == measure
        and (-record.seed, -record.environment) == best[record.condition, record.learner, record.treatment][1:]
    ]


def _classes_moved(records: list[ClassRecord]) -> tuple[list[str], int]:
    """Return the classes in their order; of too many those that move furthest, and how many are left out."""
    most: dict[str, float] = {}
    for record in records:
        most[record.class_] = max(most.get(record.class_, 0.0), record.maxdiff)
    chosen = set(sorted(most, key=lambda name: -most[name])[:MOST_CLASSES])
    return [name for name in most if name in chosen], len(most) - len(chosen)


def _class_cell(index: int, record: ClassRecord, line: int, column: int) -> Row:
    step = next(step for step, (most, _) in MOVES.items() if record.maxdiff < most)
    return {
        "place": index, "line": line, "column": column, "step": step,
        "text": f"{100 * record.min:.0f}–{100 * record.max:.0f}", "found": record.min <= RULE < record.max,
        "low": rounded(record.min), "high": rounded(record.max), "diff": rounded(record.maxdiff),
        "technique": safe_name(record.treatment), "of": safe_name(record.class_), "runs": record.runs,
        "best": record.lowest_run, "worst": record.highest_run,
    }  # fmt: skip
