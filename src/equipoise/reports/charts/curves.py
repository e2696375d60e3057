"""Curves: gaps and rates over thresholds, degrees of imbalance, penalties, alpha and steps of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from equipoise.audits import AuditResult, Curve
from equipoise.foundation import fitting, plural
from equipoise.reports._comparisons import main_measures, nearest_treatments, placed, title_of_measure
from equipoise.reports._formats import safe_name
from equipoise.reports._records import (
    Subject,
    small_groups,
    subjects_of,
    title_of,
    used_threshold,
    widest_groups,
    widest_in_words,
)
from equipoise.reports.charts.chart import (
    COLOURS,
    DASHES,
    LINE,
    QUIET,
    ROWS,
    SHAPES,
    ZERO,
    Channels,
    Chart,
    Fit,
    Row,
    by_line,
    draw,
    in_panels,
    marks_once,
    rounded,
    tips,
)
from equipoise.studies import Diagnosis, StudyResult
from equipoise.studies.findings import (
    AMI,
    BALANCED,
    EMBEDDING,
    MAIN_RULES,
    MAJORITISED,
    OWN_ROWS,
    RECALL,
    SPOKEN,
    UNIFORMITY,
    SpaceRecord,
    Sweep,
    set_aside,
    source_title,
    sweeps_of,
    training_title,
)
from equipoise.studies.findings import title_of as title_of_space
from equipoise.training.diverging import ALL_LAYERS

# Three more than groups have: no two treatments share a colour.
TEN_COLOURS = (*COLOURS, "#7A5195", "#8C6D31", "#5F6B76")
TEN_SHAPES = (*SHAPES, "M0,-1L.87,-.5L.87,.5L0,1L-.87,.5L-.87,-.5Z", "M-1,-1L1,-1L-1,1Z", "M-1,-1L1,-1L1,1Z")

GAPS = ("demographic_parity", "equalized_odds_true_positive", "equalized_odds_false_positive", "disparate_impact")
RATES = ("selection_rate", "true_positive_rate", "false_positive_rate")
MOST_ATTRIBUTES = 6
MOST_GROUPS = len(COLOURS)
MOST_METHODS, MOST_PANELS = len(COLOURS), 12
UPSTREAM = (RECALL, AMI, UNIFORMITY)
SpacePanel = tuple[str, str | None, str]
MEASURE = "accuracy"
MOST_SWEEPS = 8
# Of a training, the gap on the left and the accuracy of everyone on the right.
KINDS = ("gap", "overall")
Placed = tuple[int, SpaceRecord]
MOST_CURVES = 10
MOST_STUDY_PANELS = 12
MOST_DIRECTIONS, MOST_GROUPS, MOST_LOSSES = 9, len(COLOURS), 3_000
DRIFTS = ("everything learned, relative difference", "share of rows predicted differently")


def _banded(
    lines: int, x: alt.X, y: alt.Y, ends: tuple[str, str], tooltip: list[alt.Tooltip], channels: Channels, *,
    size: int = 50, many: tuple[int, float] = (4, 0.06),
) -> list[alt.Chart]:  # fmt: skip
    """Return means as lines with their marks, and bands between two ends: faint where many lie over each other."""
    base, few = alt.Chart(), many[0]
    shape, dash = channels["shape"], channels["strokeDash"]
    colour = channels["color"]
    return [
        base.mark_area(opacity=0.12 if lines <= few else many[1]).encode(
            x=x, y=alt.Y(f"{ends[0]}:Q"), y2=f"{ends[1]}:Q", color=colour
        ),
        base.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, strokeDash=dash),
        base.mark_point(filled=True, size=size, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
    ]


def gap_curves(result: AuditResult, split: str | None) -> Chart | None:
    """Draw the main gaps against the threshold: one panel per attribute, one line per measure."""
    subjects = [subject for subject in subjects_of(result) if subject.split == split][:MOST_ATTRIBUTES]
    rows: list[Row] = []
    for panel, subject in enumerate(subjects):
        for curve in result.curves:
            if subject.has(curve) and curve.measure in GAPS:
                rows += _points(curve, panel, GAPS.index(curve.measure))
    if not rows:
        return None
    labels = {"panels": [subject.title for subject in subjects], "lines": [title_of(name) for name in GAPS]}
    words = f"Lines of {len(GAPS)} gaps against the threshold on the score, for {plural(len(subjects), 'attribute')}."
    return _wide_legend(draw(
        _threshold_plot(len(subjects), len(GAPS), "gap", used_threshold(result)), rows, labels,
        name=f"gaps by threshold {split or ''}".strip(),
        title="Gaps at every threshold" + (f" ({safe_name(split)})" if split is not None else ""),
        caption=(
            "A gap is the largest difference between any two groups, so a group with few people can make it wide by "
            "chance. A line stops where its gap is undefined."
        ),
        words=words, where="",
        fit=Fit(min(3, len(subjects)), 210, 420, 70, max(map(len, labels["lines"]))),
    ), labels["lines"])  # fmt: skip


def rate_curves(result: AuditResult, subject: Subject) -> Chart | None:
    """Draw the main rates of an attribute's groups against the threshold: one panel per rate, one line per group."""
    curves = [
        curve for curve in result.curves if subject.has(curve) and curve.measure in RATES and curve.group is not None
    ]
    small = small_groups(result, subject)
    every_group = list(dict.fromkeys(str(curve.group) for curve in curves))
    groups = [group for group in every_group if group not in small]
    chosen = widest_groups(result, subject, groups, MOST_GROUPS)
    rows: list[Row] = []
    for curve in curves:
        if curve.group in chosen:
            rows += _points(curve, RATES.index(curve.measure), chosen.index(curve.group))
    if not rows:
        return None
    labels = {"panels": [title_of(name) for name in RATES], "lines": [safe_name(group, 40) for group in chosen]}
    words = (
        f"Lines of {len(RATES)} rates against the threshold on the score, for {plural(len(chosen), 'group')} of "
        f"{subject.title}."
    )
    return _wide_legend(draw(
        _threshold_plot(len(RATES), len(chosen), "rate", used_threshold(result)), rows, labels,
        name=f"rates by threshold {subject.title}",
        title=f"{subject.title}: rates at every threshold",
        caption=f"One line for each group of {subject.title}.",
        words=words, where="",
        fit=Fit(len(RATES), 210, 420, 70, max(map(len, labels["lines"]))),
        notes=_left_out(len(chosen), len(groups), len(every_group), widest_in_words(result, subject)),
    ), labels["lines"])  # fmt: skip


def _left_out(drawn: int, large: int, every: int, which: str) -> Iterator[str]:
    if large < every:
        are = fitting(every - large, "is", "are")
        yield f"{plural(every - large, 'group')} with too few people {are} not drawn: the lines would be noise."
    if drawn < large:
        yield f"Shown are the {drawn} of {large} groups {which}."


def _points(curve: Curve, panel: int, line: int) -> list[Row]:
    return [
        {"panel": panel, "line": line, "x": rounded(threshold), "y": rounded(value)}
        for threshold, value in zip(curve.thresholds, curve.values, strict=True)
    ]


def _wide_legend(chart: Chart, names: Sequence[str]) -> Chart:
    """Give the legend of a chart as many columns as paper has room for."""
    chart.spec["config"]["legend"]["columns"] = max(1, min(4, 740 // (7 * max(map(len, names)) + 45)))
    return chart


def _threshold_plot(panels: int, lines: int, title: str, at: float | None) -> alt.FacetChart:
    channels = by_line(range(lines), dashes=DASHES, kind="O", symbolType="stroke", symbolSize=400)
    x = alt.X("x:Q").title("threshold on the score").scale(zero=False, nice=False)
    x = x.axis(tickCount=5, labelOverlap="greedy", labelSeparation=6)
    y = alt.Y("y:Q").title(title).axis(tickCount=5, format=".0%").scale(domain=[0, 1])
    layers = [alt.Chart().mark_line(strokeWidth=2).encode(x=x, y=y, **channels)]
    if at is not None:
        layers.append(marks_once().mark_rule(color=QUIET, strokeDash=[3, 3]).encode(x=alt.datum(at)))
    return in_panels(layers, columns=min(panels, 3), width=215, height=190)


def space_curves(result: StudyResult) -> Chart | None:
    """Draw the gap of every method over the degree, one panel per measure of the space and a classifier.

    Classifiers on own and on balanced rows are drawn; those that were trained otherwise are in the tables, and a sweep
    has a chart of its own.
    """
    aside = set_aside(space.source for space in result.spaces)
    placed = [
        (index, space) for index, space in enumerate(result.spaces) if _is_gap(space) and space.source not in aside
    ]
    if len({record.degree for _, record in placed}) < 2:
        return None
    every = sorted(dict.fromkeys(_space_panel(record) for _, record in placed), key=lambda panel: panel[0] != EMBEDDING)
    panels = every[:MOST_PANELS]
    methods = list(dict.fromkeys(_method(record) for _, record in placed))
    lines = methods[:MOST_METHODS]
    rows = [
        _space_row(record_index, record, panels.index(_space_panel(record)), lines.index(_method(record)))
        for record_index, record in placed
        if _space_panel(record) in panels and _method(record) in lines
    ]
    notes = []
    if len(lines) < len(methods):
        notes.append(f"Shown are the first {len(lines)} of {len(methods)} methods.")
    if len(panels) < len(every):
        notes.append(f"Shown are {len(panels)} of {len(every)} panels; the JSON has all of them.")
    words = f"Gaps of {plural(len(lines), 'method')} over the degree of imbalance in {plural(len(panels), 'panel')}."
    names = [safe_name(line, 40) for line in lines]
    return draw(
        _space_plot(len(lines), len(panels)),
        rows,
        {"panels": [_space_title(panel) for panel in panels], "lines": names},
        name="gaps over imbalance",
        title="Gaps over the degree of imbalance, in the space and downstream",
        caption=(
            "Across, the share of images that a majoritised class has beside a minoritised one (0.5 is the balanced "
            "control); up, the gap: above 0 the minoritised are worse off. A line is the mean over seeds, the band its "
            "95% interval over them."
        ),
        words=words,
        where="The numbers are in the tables below.",
        fit=Fit(min(3, len(panels)), 190, 330, 60, max(map(len, names))),
        notes=notes,
        marks=3,
    )


def _is_gap(record: SpaceRecord) -> bool:
    measures = UPSTREAM if record.upstream else (SPOKEN,)
    return (
        record.kind == "gap" and record.rule == MAJORITISED and record.degree is not None and record.chosen
        and record.defined
        and record.measure in measures and record.training in (None, OWN_ROWS, BALANCED)
    )  # fmt: skip


def _space_panel(record: SpaceRecord) -> SpacePanel:
    return record.source, record.training, record.measure


def _method(record: SpaceRecord) -> str:
    return record.learner if record.treatment == "untreated" else f"{record.learner}: {record.treatment}"


def _space_title(panel: SpacePanel) -> str:
    source, training, measure = panel
    if source == EMBEDDING:
        return f"Space: {title_of_space(measure)}"
    rows = "" if training is None else f", {safe_name(training, 12)}"
    title = safe_name(source_title(source), 44)
    return f"{title[:1].upper()}{title[1:]}{rows}"


def _space_row(index: int, record: SpaceRecord, panel: int, line: int) -> Row:
    low, high = (record.mean if edge is None or edge != edge else edge for edge in (record.low, record.high))
    return {
        "space": index, "panel": panel, "line": line, "degree": rounded(record.degree), "mean": rounded(record.mean),
        "low": rounded(low), "high": rounded(high), "of": safe_name(_method(record)), "seeds": record.seeds,
    }  # fmt: skip


def _space_plot(lines: int, panels: int) -> alt.FacetChart:
    channels = by_line(range(lines), dashes=DASHES, shapes=SHAPES, symbolOpacity=1)
    x = alt.X("degree:Q").title("degree of imbalance").scale(nice=False, zero=False, padding=8)
    x = x.axis(tickCount=5, gridColor=LINE, labelOverlap="greedy", format=".2~f")
    y = alt.Y("mean:Q").title(None).axis(tickCount=5, format="+.3~f", gridColor=LINE)
    tooltip = tips(
        of="method", degree=("degree", ""), mean=("gap", "+.4f"), low=("from", "+.4f"), high=("to", "+.4f"),
        seeds=("seeds", ""),
    )  # fmt: skip
    zero = marks_once().mark_rule(color=ZERO).encode(y=alt.datum(0))
    return in_panels(
        [zero, *_banded(lines, x, y, ("low", "high"), tooltip, channels)], columns=min(panels, 3), width=230,
        height=180, axes="xy", scales="y",
    )  # fmt: skip


def space_sweep(result: StudyResult) -> Chart | None:
    """Draw the gap and the accuracy of every method over C; none where no classifier has several values of C."""
    sweeps = {source: sweep for sweep in sweeps_of(space.source for space in result.spaces) for source in sweep.sources}
    placed = _furthest(
        [(index, space) for index, space in enumerate(result.spaces) if space.source in sweeps and _is_swept(space)]
    )
    if not placed:
        return None
    every = sorted(
        dict.fromkeys(_sweep_panel(record, sweeps) for _, record in placed),
        key=lambda panel: _sweep_order(panel, sweeps),
    )
    panels = every[:MOST_SWEEPS]
    methods = list(dict.fromkeys(_swept_method(record, placed) for _, record in placed))
    lines = methods[:MOST_METHODS]
    rows = [
        _sweep_row(
            record_index, record, panels.index(_sweep_panel(record, sweeps)), lines.index(_swept_method(record, placed))
        )
        for record_index, record in placed
        if _sweep_panel(record, sweeps) in panels and _swept_method(record, placed) in lines
    ]
    notes = []
    if len(lines) < len(methods):
        notes.append(f"Shown are the first {len(lines)} of {len(methods)} methods.")
    if len(panels) < len(every):
        notes.append(f"Shown are {len(panels)} of {len(every)} panels; the JSON has all of them.")
    conditions = list(dict.fromkeys(record.condition for _, record in placed))
    where = f" {safe_name(conditions[0], 60)}." if len(conditions) == 1 else ""
    words = f"Gap and accuracy of {plural(len(lines), 'method')} over C in {plural(len(panels), 'panel')}."
    names = [safe_name(line, 60) for line in lines]
    several = len({panel[0] for panel in panels}) > 1
    return draw(
        _sweep_plot(len(lines), sorted({float(str(row["c"])) for row in rows})),
        rows,
        {"panels": [_sweep_title(panel, several) for panel in panels], "lines": names},
        name="gaps over C",
        title="Gap and accuracy over the penalty of the classifier",
        caption=(
            f"Across, C (the inverse strength of the penalty); up, on the left the gap in {MEASURE} (above 0 the "
            f"minoritised are worse off), on the right the {MEASURE} of everyone.{where} A line is the mean over "
            "seeds, the band its 95% interval over them. C = 1 is the primary choice; the rest show what depends on it."
        ),
        words=words,
        where="The numbers are in the tables below.",
        fit=Fit(2, 190, 330, 60, max(map(len, names))),
        notes=notes,
        marks=3,
    )


def _is_swept(record: SpaceRecord) -> bool:
    kind = record.kind == "overall" or (record.kind == "gap" and record.rule in MAIN_RULES)
    return kind and record.measure == MEASURE and record.chosen and record.defined


def _furthest(placed: Sequence[Placed]) -> list[Placed]:
    """Keep the furthest imbalance, and its control where lines are left for it."""
    degrees = sorted({record.degree for _, record in placed if record.degree is not None})
    extremes = [item for item in placed if not degrees or item[1].degree in (degrees[0], degrees[-1])]
    if len({(record.learner, record.treatment, record.condition) for _, record in extremes}) <= MOST_METHODS:
        return extremes
    return [item for item in extremes if item[1].degree == degrees[-1]] if degrees else extremes


def _sweep_panel(record: SpaceRecord, sweeps: dict[str, Sweep]) -> SpacePanel:
    return sweeps[record.source].title, record.training, record.kind


def _sweep_order(panel: SpacePanel, sweeps: dict[str, Sweep]) -> tuple[int, int, str, int]:
    titles = list(dict.fromkeys(sweep.title for sweep in sweeps.values()))
    usual = {"own": 0, "balanced": 1}
    return titles.index(panel[0]), usual.get(str(panel[1]), 2), str(panel[1]), KINDS.index(panel[2])


def _swept_method(record: SpaceRecord, placed: Sequence[Placed]) -> str:
    name = record.learner if record.treatment == "untreated" else f"{record.learner}: {record.treatment}"
    return f"{name}, {record.condition}" if len({other.condition for _, other in placed}) > 1 else name


def _sweep_title(panel: SpacePanel, several: bool) -> str:
    classifier, training, kind = panel
    title = f"{'Gap' if kind == 'gap' else MEASURE.capitalize()}, {safe_name(training_title(training), 40)}"
    return f"{safe_name(classifier, 30)}: {title}" if several else title


def _sweep_row(index: int, record: SpaceRecord, panel: int, line: int) -> Row:
    low, high = (record.mean if edge is None or edge != edge else edge for edge in (record.low, record.high))
    return {
        "space": index, "panel": panel, "line": line, "c": float(record.source_settings["C"]),
        "mean": rounded(record.mean),
        "low": rounded(low), "high": rounded(high), "seeds": record.seeds, "zero": 0 if record.kind == "gap" else None,
    }  # fmt: skip


def _sweep_plot(lines: int, values: list[float]) -> alt.FacetChart:
    channels = by_line(
        range(lines), dashes=DASHES, shapes=SHAPES, symbolOpacity=1, labelLimit=400, orient="bottom", columns=2
    )
    x = alt.X("c:Q").title("C").scale(type="log", nice=False, padding=8)
    x = x.axis(values=values, gridColor=LINE, labelOverlap="greedy", format="~g")
    y = alt.Y("mean:Q").title(None).scale(zero=False).axis(tickCount=5, format=".3~f", gridColor=LINE)
    tooltip = tips(c=("C", "~g"), mean=("mean", "+.4f"), low=("from", "+.4f"), high=("to", "+.4f"), seeds=("seeds", ""))
    rule = alt.Chart().mark_rule(color=ZERO).encode(y=alt.Y("zero:Q"))
    return in_panels(
        [rule, *_banded(lines, x, y, ("low", "high"), tooltip, channels)], columns=2, width=260, height=190,
        axes="xy", scales="y",
    )  # fmt: skip


def alpha_curves(result: StudyResult) -> Chart | None:
    """Draw accuracy, balanced accuracy, fairness and distance over alpha, a row of panels a mode."""
    modes: dict[tuple[str, str], dict[str, float]] = {}
    for condition in result.conditions:
        # Those that draw the same rows have the same point, each in its own mode.
        for mode, alpha in [(equal.mode, equal.alpha) for equal in condition.equal] + [
            (condition.mode, condition.alpha)
        ]:
            if mode is not None and alpha is not None:
                for learner in dict.fromkeys(learner for name, learner in result.unders if name == condition.condition):
                    modes.setdefault((mode, learner), {})[condition.condition] = alpha
    modes = {mode: alphas for mode, alphas in modes.items() if len(set(alphas.values())) > 1}
    treatments, note = nearest_treatments(result, MOST_CURVES)
    measures = main_measures(result)
    shown_modes = list(modes)[: max(1, MOST_STUDY_PANELS // len(measures))]
    rows, panels = _alpha_rows(result, {mode: modes[mode] for mode in shown_modes}, treatments, measures)
    if not rows:
        return None
    names = [safe_name(name, 40) for name in treatments]
    words = (
        f"Curves of {', '.join(map(title_of_measure, measures))} over alpha for {plural(len(treatments), 'treatment')}."
    )
    notes = [note] if note else []
    if len(shown_modes) < len(modes):
        notes.append(f"Shown are {len(shown_modes)} of {len(modes)} modes; the table has all of them.")
    return draw(
        _alpha_plot(len(treatments), len(measures)),
        rows,
        {"panels": panels, "lines": names},
        name="curves",
        title="From the data as they are (alpha 0) over balance (1) to the reverse (2)",
        caption=(
            "A line is the mean over runs on the test rows, the band goes from the lowest run to the highest. "
            "Only the training rows change with alpha; every alpha has equally many of them. DTO is better low."
        ),
        words=words,
        fit=Fit(min(4, len(measures)), 185, 300, 60, max(map(len, names))),
        notes=notes,
        marks=3,
    )


def _alpha_rows(
    result: StudyResult, modes: dict[tuple[str, str], dict[str, float]], treatments: list[str], measures: list[str]
) -> tuple[list[Row], list[str]]:
    """Return the points of every curve, and the names of the panels."""
    rows: list[Row] = []
    panels: list[str] = []
    several = len({learner for _, learner in result.unders}) > 1
    for (mode, learner), alphas in modes.items():
        for measure in measures:
            for line, treatment in enumerate(treatments):
                for condition, alpha in sorted(alphas.items(), key=lambda item: item[1]):
                    entry = placed(result, (condition, learner), treatment, measure)
                    if entry is not None and entry[1].mean == entry[1].mean:
                        rows.append({
                            "record": entry[0], "panel": len(panels), "line": line, "alpha": rounded(alpha),
                            "mean": rounded(entry[1].mean), "min": rounded(entry[1].min),
                            "max": rounded(entry[1].max), "of": safe_name(treatment),
                        })  # fmt: skip
            panels.append(
                f"{safe_name(mode, 20)}{f', {safe_name(learner, 20)}' * several}: {title_of_measure(measure)}"
            )
    return rows, panels


def _alpha_plot(lines: int, columns: int) -> alt.FacetChart:
    places = range(lines)
    dashes = [DASHES[(index + 3 * (index // len(DASHES))) % len(DASHES)] for index in places]
    channels = by_line(places, colours=TEN_COLOURS, dashes=dashes, shapes=TEN_SHAPES, symbolSize=110, symbolOpacity=1)
    x = alt.X("alpha:Q").title("alpha").scale(nice=False, padding=8)
    x = x.axis(tickCount=5, gridColor=LINE, labelOverlap="greedy")
    y = alt.Y("mean:Q").title(None).scale(zero=False).axis(tickCount=5, format=".3~f", gridColor=LINE)
    tooltip = tips(
        of="treatment", alpha=("alpha", ""), mean=("mean", ".4f"), min=("lowest run", ".4f"), max=("highest run", ".4f")
    )
    layers = _banded(lines, x, y, ("min", "max"), tooltip, channels, size=45, many=(5, 0.05))
    return in_panels(layers, columns=min(columns, 4), width=205, height=190, axes="xy", scales="y")


def loss_curves(curves: NDArray[np.float64]) -> Chart | None:
    """Draw the loss of every restart; None where nothing was searched."""
    losses = np.asarray(curves, dtype=np.float64)
    if losses.ndim != 3 or losses.shape[2] < 2:
        return None
    done = [index for index, loss in enumerate(losses) if np.isfinite(loss).any()]
    if not done:
        return None
    panels, lines = done[:MOST_DIRECTIONS], range(min(losses.shape[1], MOST_GROUPS))
    # The first and the last step, and as many between them as there is room for.
    most = max(10, MOST_LOSSES // (len(panels) * len(lines)))
    steps = np.unique(np.linspace(0, losses.shape[2] - 1, min(most, losses.shape[2])).round().astype(int))
    rows: list[Row] = [
        {"panel": index, "line": line, "step": int(step) + 1, "loss": rounded(float(losses[panel, line, step]))}
        for index, panel in enumerate(panels)
        for line in lines
        for step in steps
        if np.isfinite(losses[panel, line, step])
    ]
    notes = []
    if len(panels) < len(done):
        notes.append(f"Shown are the first {len(panels)} of {len(done)} directions.")
    if len(lines) < losses.shape[1]:
        notes.append(f"Shown are the first {len(lines)} of {losses.shape[1]} restarts.")
    words = f"Losses of {plural(len(lines), 'restart')} over the steps, for {plural(len(panels), 'direction')}."
    return draw(
        _loss_plot(len(lines), len(panels)),
        rows,
        {
            "panels": [f"Direction {panel + 1}" for panel in panels],
            "lines": [f"restart {line + 1}" for line in lines],
        },
        name="loss curves",
        title="The search, step by step",
        caption=(
            "Lower is better. Every step draws new latents, so the lines are noisy; where they still fall at the end, "
            "more steps (--steps) may find more. Restarts that end at the same loss agree."
        ),
        words=words,
        where="The last losses say whether the search had settled.",
        fit=Fit(min(3, len(panels)), 190, 320, 60, len("restart 10")),
        notes=notes,
    )


def _loss_plot(lines: int, panels: int) -> alt.FacetChart:
    x = alt.X("step:Q").title("step").scale(nice=False, zero=False)
    x = x.axis(tickCount=4, tickMinStep=1, gridColor=LINE, labelOverlap="greedy")
    y = alt.Y("loss:Q").title("loss").scale(zero=False).axis(tickCount=5, format=".2~f", gridColor=LINE)
    line = alt.Chart().mark_line(strokeWidth=1.4).encode(x=x, y=y, **by_line(range(lines), dashes=DASHES))
    return in_panels(line, columns=min(panels, 3), width=230, height=170, axes="xy", scales="y")


def drift(result: Diagnosis) -> Chart | None:
    """Draw the difference of all layers together, and the share of flipped predictions, over the steps."""
    rows: list[Row] = [
        {"step": record.step, "value": rounded(record.relative), "line": 0}
        for record in result.records
        if record.layer == ALL_LAYERS and record.relative > 0
    ]
    rows += [{"step": flip.step, "value": rounded(flip.share), "line": 1} for flip in result.flips if flip.share > 0]
    if len({row["step"] for row in rows}) < 2:
        return None
    present = sorted({int(str(row["line"])) for row in rows})
    words = f"Two runs over {plural(result.steps, 'step')}: the relative difference of everything they have learned."
    return draw(
        _drift_plot(present),
        rows,
        {"lines": DRIFTS},
        name="drift",
        title="How the two runs drift apart",
        caption=(
            f"The first difference was in step {result.step:,}. The scale is logarithmic: a straight line upwards "
            "is growth by the same factor in every step. Nothing is drawn where nothing differs."
        ),
        words=words,
        marks=2,
    )


def _drift_plot(present: list[int]) -> alt.TopLevelMixin:
    channels = by_line(
        present, colours=[COLOURS[index] for index in present], dashes=[DASHES[index] for index in present],
        labelLimit=320,
    )  # fmt: skip
    x = alt.X("step:Q").title("step").axis(gridColor=LINE, tickMinStep=1).scale(nice=False, zero=False, padding=8)
    y = alt.Y("value:Q").title(None).scale(type="log").axis(format=".0e", gridColor=LINE, tickCount=6)
    base = alt.Chart(alt.NamedData(ROWS)).encode(x=x, y=y, color=channels["color"])
    line = base.mark_line(strokeWidth=1.8).encode(strokeDash=channels["strokeDash"])
    point = base.mark_point(filled=True, size=40).encode(
        tooltip=tips(step=("after step", ""), value=("difference", ".3g"))
    )
    return alt.layer(line, point).properties(width=620, height=280)
