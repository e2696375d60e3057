"""What a study says of its embedding spaces: sentences, charts, gaps side by side, settings, maps and examples."""

from __future__ import annotations

import base64
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from equipoise.foundation import plural
from equipoise.reports import formats
from equipoise.reports._comparisons import (
    ARROWS,
    interval_of,
    meaning_of,
    text_of,
    treatment_cell,
    under_cell,
)
from equipoise.reports._document import (
    Block,
    Bullets,
    Cell,
    ChartBlock,
    Column,
    DataTable,
    Details,
    Heading,
    Images,
    Meaning,
    Name,
    Paragraph,
    Picture,
    Row,
    Section,
    Text,
    pieces,
)
from equipoise.reports._formats import safe_name, signed_thousandths
from equipoise.reports._records import limited_table
from equipoise.reports.narrative._report import Field, edges, ends, inside, quiet, record_table, value
from equipoise.results import Verdict
from equipoise.studies import StudyResult
from equipoise.studies.findings import (
    AMI,
    BALANCED,
    BALANCED_DOMAIN_INDEPENDENT,
    DOMAIN_INDEPENDENT,
    EMBEDDING,
    MAIN_RULES,
    NMI,
    OWN_ROWS,
    RECALL,
    SCOPE,
    SPOKEN,
    UNIFORMITY,
    ExamplePicture,
    SpaceContrast,
    SpaceRecord,
    SpaceSetting,
    baseline_name,
    set_aside,
    source_title,
    sweeps_of,
    title_of,
    training_title,
)

MOST_ROWS, MOST_VALUES = 60, 300
Placed = tuple[int, SpaceContrast]
# How a table of each kind is called, and its two numbers; those of trainings are called by the training.
TABLES = {
    "imbalance": ("Gaps, balanced control → imbalanced", "the control", "imbalanced"),
    "treatment": ("Gaps, baseline → treated", "the baseline", "treated"),
}
SIDE_BY_SIDE = (
    "Each cell has both numbers (* the gap further from 0), then their difference and its interval over seeds at the "
    "level that decided. ▲ significantly higher and ▼ lower after correction, with ■ where that is better and ◆ where "
    "it is worse; ○ not significant, ? inconclusive with so few seeds. With several degrees of imbalance, the furthest "
    "is shown; the others are in the JSON."
)


def space_words(result: StudyResult) -> Iterator[str]:
    """Yield the sentences; nothing where no trial kept its space."""
    if not result.spaces:
        return
    yield from _imbalance(result)
    yield from _trainings(result)
    yield from sweep_words(result)
    yield from _treatments(result)
    if not result.space_contrasts:
        yield "No two cells share a seed, so no embedding space is compared with another."


def space_answer(result: StudyResult) -> str | None:
    """Say in one sentence what imbalance, or else a treatment, does to the gap in recall@1; None where neither is."""
    for kind in ("imbalance", "treatment"):
        contrasts = _gaps(result, kind, EMBEDDING, RECALL, None)
        degrees = [contrast.degree for contrast in contrasts if contrast.degree is not None]
        contrasts = [contrast for contrast in contrasts if not degrees or contrast.degree == max(degrees)]
        if contrasts and kind == "imbalance":
            return f"{_capitalised(_phrase(result, contrasts[0]))}, the gap in recall@1 {_moved(contrasts)}."
        if contrasts:
            return f"Compared with {baseline_name(result)}, {_narrowed(contrasts)}."
    return None


def _narrowed(contrasts: Sequence[SpaceContrast]) -> str:
    """Say in how many cases the gap in recall@1 of a treatment fell or rose significantly."""
    down, up = (
        sum(contrast.verdict == verdict for contrast in contrasts) for verdict in (Verdict.LOWER, Verdict.HIGHER)
    )
    if not down and not up:
        return f"no treatment changed the gap in recall@1 significantly (in {plural(len(contrasts), 'case')})"
    return f"the gap in recall@1 fell significantly in {down} of {plural(len(contrasts), 'case')} and rose in {up}"


def _gaps(result: StudyResult, kind: str, source: str, measure: str, training: str | None) -> list[SpaceContrast]:
    return [
        space_contrast for space_contrast in result.space_contrasts
        if (space_contrast.kind, space_contrast.of, space_contrast.source) == (kind, "gap", source)
        and (space_contrast.measure, space_contrast.training) == (measure, training)
    ]  # fmt: skip


def _imbalance(result: StudyResult) -> Iterator[str]:
    """Say of the furthest degree whose gaps widened; upstream by measure, downstream by classifier."""
    contrasts = [
        space_contrast
        for space_contrast in result.space_contrasts
        if space_contrast.kind == "imbalance" and space_contrast.degree is not None
    ]
    if not contrasts:
        return
    furthest = max(contrast.degree or 0.0 for contrast in contrasts)
    condition = next(contrast for contrast in contrasts if contrast.degree == furthest)
    yield f"{_title(result, condition)} against its control ({_named(result, condition.versus)}), paired by seed:"
    for measure in (RECALL, NMI, AMI, UNIFORMITY):
        gaps = [gap for gap in _gaps(result, "imbalance", EMBEDDING, measure, None) if gap.degree == furthest]
        if gaps:
            yield f"In the embedding space, the gap in {title_of(measure)} {_moved(gaps)}."
    aside = set_aside(space.source for space in result.spaces)
    for source, training in _classifiers(result):
        if source in aside:
            continue
        gaps = [gap for gap in _gaps(result, "imbalance", source, SPOKEN, training) if gap.degree == furthest]
        if gaps:
            gap_words = f"the gap in {title_of(SPOKEN)} of {source_title(source)}"
            yield f"Downstream, {gap_words} {_trained(training)} {_moved(gaps)}."


def _classifiers(result: StudyResult) -> list[tuple[str, str | None]]:
    return list(dict.fromkeys((r.source, r.training) for r in result.spaces if not r.upstream))


def _moved(contrasts: Sequence[SpaceContrast]) -> str:
    """Say how many methods' gaps widened or narrowed significantly, and the largest difference."""
    up, down = (
        sum(contrast.verdict == verdict for contrast in contrasts) for verdict in (Verdict.HIGHER, Verdict.LOWER)
    )
    largest = max(contrasts, key=lambda contrast: abs(contrast.difference))
    methods = plural(len(contrasts), "method")
    sentence = f"grew significantly, to the disadvantage of the minoritised, for {up} of {methods}"
    if down:
        sentence += f" and shrank for {down}"
    if not up and not down:
        sentence = f"changed significantly for none of {methods}"
    undecided = sum(contrast.verdict == Verdict.UNDECIDED for contrast in contrasts)
    if undecided:
        pairs = plural(max(contrast.pairs for contrast in contrasts), "pair")
        sentence += f", inconclusive for {undecided} (with {pairs} of seeds)"
    most = "most for" if up or down else "the largest change is that of"
    return f"{sentence}; {most} {_name(largest)}, from {_between(largest)}"


def _name(contrast: SpaceContrast) -> str:
    treated = f" with {contrast.treatment}" if contrast.treatment != "untreated" else ""
    return contrast.learner + treated


def _between(contrast: SpaceContrast) -> str:
    before, after, change = map(signed_thousandths, (contrast.against_value, contrast.value, contrast.difference))
    around = edges(contrast.low, contrast.high, None, signed_thousandths) if not math.isnan(contrast.low) else ""
    return f"{before} to {after}{inside(f'a change of {change}', around)}"


def _trained(training: str | None) -> str:
    """Say in a sentence how a classifier was trained."""
    if training == DOMAIN_INDEPENDENT:
        return "with domain-independent training"
    if training == BALANCED_DOMAIN_INDEPENDENT:
        return "with domain-independent training on balanced rows"
    return "on its own rows" if training in (None, OWN_ROWS) else f"on {training_title(training)}"


def _trainings(result: StudyResult) -> Iterator[str]:
    """Say whether classifiers on balanced rows, or trained otherwise, have smaller gaps than on a trial's own rows."""
    contrasts = [
        space_contrast for space_contrast in result.space_contrasts
        if space_contrast.kind in ("balanced training", "other training") and space_contrast.of == "gap"
    ]  # fmt: skip
    degrees = [contrast.degree for contrast in contrasts if contrast.degree is not None]
    aside = set_aside(space.source for space in result.spaces)
    counted = [contrast for contrast in contrasts if contrast.measure == SPOKEN and contrast.source not in aside]
    for training, source in dict.fromkeys((contrast.training, contrast.source) for contrast in counted):
        gaps = [
            contrast
            for contrast in contrasts
            if (contrast.training, contrast.source, contrast.measure) == (training, source, SPOKEN)
        ]
        gaps = [contrast for contrast in gaps if not degrees or contrast.degree == max(degrees)]
        if not gaps:
            continue
        fell, rose = (
            sum(contrast.verdict == verdict for contrast in gaps) for verdict in (Verdict.LOWER, Verdict.HIGHER)
        )
        mean = sum(contrast.difference for contrast in gaps) / len(gaps)
        where = f" {_phrase(result, gaps[0])}" if degrees else ""
        unsure = sum(contrast.verdict == Verdict.UNDECIDED for contrast in gaps)
        instead = "plain training on its own rows" if training == DOMAIN_INDEPENDENT else "its own"
        if gaps[0].versus == BALANCED:
            instead = "plain training on balanced rows"
        yield (
            f"{_capitalised(_trained(training))} instead of {instead}, the gap in {title_of(SPOKEN)} of "
            f"{source_title(source)} changes by {signed_thousandths(mean)} on average{where}: significantly smaller in "
            f"{fell} of {plural(len(gaps), 'case')}, larger in {rose}"
            + (f", inconclusive in {unsure}." if unsure else ".")
        )


def sweep_words(result: StudyResult) -> Iterator[str]:
    """Say how gap and accuracy move over the values of C: means over methods and seeds, which nothing is tested on."""
    for sweep in sweeps_of(space.source for space in result.spaces):
        settings = [
            space
            for space in result.spaces
            if space.source in sweep.sources and space.measure == "accuracy" and space.chosen
        ]
        degrees = [setting.degree for setting in settings if setting.degree is not None]
        settings = [setting for setting in settings if not degrees or setting.degree == max(degrees)]
        where = f" {_phrase(result, settings[0])}" if degrees else ""
        for training in dict.fromkeys(setting.training for setting in settings):
            of_training = [setting for setting in settings if setting.training == training]
            gap = [setting for setting in of_training if setting.kind == "gap" and setting.rule in MAIN_RULES]
            overall = [setting for setting in of_training if setting.kind == "overall"]
            gaps, accuracies = (
                [_mean(setting.mean for setting in part if setting.source == source) for source in sweep.sources]
                for part in (gap, overall)
            )
            if any(math.isnan(value) for value in (*gaps, *accuracies)):
                continue
            best = max(range(len(accuracies)), key=lambda index: accuracies[index])
            lowest, highest = (f"{sweep.values[index]:g}" for index in (0, -1))
            yield (
                f"Over C from {lowest} to {highest} the gap in accuracy of {sweep.title} {_trained(training)} changes "
                f"from {signed_thousandths(gaps[0])} to {signed_thousandths(gaps[-1])}{where}; accuracy is highest at "
                f"C = {sweep.values[best]:g} ({accuracies[best]:.3f}), where the gap is "
                f"{signed_thousandths(gaps[best])} (means over seeds and methods, not tested)."
            )


def _mean(values: Iterator[float]) -> float:
    """Return the mean of what is defined; NaN of nothing."""
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan


def _treatments(result: StudyResult) -> Iterator[str]:
    """Say what each treatment does to the gap in recall@1 and to recall@1 itself."""
    contrasts = [space_contrast for space_contrast in result.space_contrasts if space_contrast.kind == "treatment"]
    for gap in _gaps(result, "treatment", EMBEDDING, RECALL, None):
        same = (gap.condition, gap.learner, gap.treatment, gap.setting, gap.attribute)
        of_everyone = next(
            contrast for contrast in contrasts
            if (contrast.condition, contrast.learner, contrast.treatment, contrast.setting, contrast.attribute) == same
            and (contrast.of, contrast.source, contrast.measure) == ("overall", EMBEDDING, RECALL)
        )  # fmt: skip
        narrowed = [
            contrast for contrast in contrasts
            if contrast.of == "gap"
            and (contrast.condition, contrast.learner, contrast.treatment, contrast.setting, contrast.attribute) == same
        ]  # fmt: skip
        better, worse = (sum(contrast.good is good for contrast in narrowed) for good in (True, False))
        yield (
            f"{gap.treatment} against {gap.versus} ({gap.learner}, {_title(result, gap)}, {gap.attribute}): the gap in "
            f"recall@1 changes from {_between(gap)}, {_sure(gap)}; recall@1 of everyone changes by "
            f"{signed_thousandths(of_everyone.difference)}, {_sure(of_everyone)}. Of {plural(len(narrowed), 'gap')}, "
            f"{better} narrowed and {worse} widened significantly."
        )


def _sure(contrast: SpaceContrast) -> str:
    if contrast.verdict.significant:
        return "significant"
    return (
        "not significant"
        if contrast.verdict == Verdict.NONE
        else f"inconclusive with {plural(contrast.pairs, 'pair')} of seeds"
    )


def _capitalised(phrase: str) -> str:
    return phrase[:1].upper() + phrase[1:]


def _title(result: StudyResult, contrast: SpaceContrast) -> str:
    return _named(result, contrast.condition)


def _named(result: StudyResult, condition: str) -> str:
    return result.condition_titles.get(condition, condition)


def _phrase(result: StudyResult, record: SpaceContrast | SpaceRecord) -> str:
    return result.condition_phrases.get(record.condition, f"under {record.condition}")


@dataclass(frozen=True)
class Comparison:
    """The contrasts of one kind, of trainings those of one training; how its tables are called, and two numbers."""

    kind: str
    title: str
    before: str
    after: str
    contrasts: tuple[Placed, ...]

    @property
    def of_trainings(self) -> bool:
        """Whether a training of classifiers is compared with another."""
        return self.kind not in TABLES


def comparisons(result: StudyResult) -> Iterator[Comparison]:
    """Yield what is compared with what, in the order of the page."""
    placed = list(enumerate(result.space_contrasts))
    for kind, names in TABLES.items():
        yield Comparison(kind, *names, tuple(item for item in placed if item[1].kind == kind))
    others = [item for item in placed if item[1].kind not in TABLES]
    for kind, training in dict.fromkeys((contrast.kind, contrast.training) for _, contrast in others):
        contrasts = tuple(item for item in others if (item[1].kind, item[1].training) == (kind, training))
        name = training_title(training)
        before = training_title(contrasts[0][1].versus)
        yield Comparison(kind, f"Gaps downstream, trained on {before} → {name}", before, name, contrasts)


def spaces_section(result: StudyResult, charts: Mapping[str, tuple[str, ...]]) -> Section:
    """Return the section of a study in which trials kept their embedding spaces."""
    blocks: list[Block] = [
        Bullets(tuple(space_words(result))), ChartBlock(charts["space_curves"]), ChartBlock(charts["space_sweep"]),
        ChartBlock(charts["space_scatter"]), *_side_by_side(result),
    ]  # fmt: skip
    if result.space_settings:
        table = Details(f"The settings as a table ({plural(len(result.space_settings), 'row')})", (_settings(result),))
        rule = "The setting that is best for the worst group on dev rows is the one compared with the baseline."
        blocks += [Heading("Which setting was chosen, on dev rows"), Paragraph(rule)]
        blocks += [ChartBlock(charts["space_settings"]), table]
    blocks += [ChartBlock(charts["space_maps"]), ChartBlock(charts["sensitive_maps"]), *_examples(result)]
    blocks.append(Details(f"Every number of the spaces ({plural(len(result.spaces), 'row')})", (_values(result),)))
    return Section(
        "spaces", "Embedding spaces: do they serve every group equally, and what is built on them?", tuple(blocks),
        short="Spaces", essential=True,
        intro=(
            "Above 0, a gap means that the minoritised (or the smaller group) are worse off, whichever end of a "
            f"measure is better. Neighbours and clusters are searched among all test rows. {SCOPE}"
        ),
    )  # fmt: skip


def furthest(contrasts: Sequence[Placed]) -> list[Placed]:
    """Return those under the furthest imbalance, where there are several degrees."""
    degrees = [contrast.degree for _, contrast in contrasts if contrast.degree is not None]
    return [(index, contrast) for index, contrast in contrasts if not degrees or contrast.degree == max(degrees)]


def _side_by_side(result: StudyResult) -> Iterator[Block]:
    """Yield the first table of each comparison, and the others folded away."""
    several = len({space_contrast.attribute for space_contrast in result.space_contrasts}) > 1
    first: list[DataTable] = []
    others: list[DataTable] = []
    for comparison in comparisons(result):
        tables = list(_tables(result, comparison, several))
        first += tables[:1]
        others += tables[1:]
    if not first:
        return
    yield Heading("Side by side, paired by seed")
    yield Paragraph(SIDE_BY_SIDE)
    yield from first
    if others:
        yield Details(f"{plural(len(others), 'more table')}: other classifiers and comparisons", tuple(others))


def _tables(result: StudyResult, comparison: Comparison, several: bool) -> Iterator[DataTable]:
    """Yield a table of the space, and one for each classifier: one row per method, one column per measure."""
    for of in ("gap", "overall") if comparison.kind == "treatment" else ("gap",):
        contrasts = furthest([item for item in comparison.contrasts if item[1].of == of])
        heading = comparison.title if of == "gap" else comparison.title.replace("Gaps", "Everyone")
        for source in dict.fromkeys(contrast.source for _, contrast in contrasts):
            yield _table(result, comparison, heading, [item for item in contrasts if item[1].source == source], several)


def _table(
    result: StudyResult, comparison: Comparison, heading: str, contrasts: Sequence[Placed], several: bool
) -> DataTable:
    source, of = contrasts[0][1].source, contrasts[0][1].of
    measures = list(dict.fromkeys((contrast.training, contrast.measure) for _, contrast in contrasts))
    conditions = list(dict.fromkeys(contrast.condition for _, contrast in contrasts))
    shared = conditions[0] if len(conditions) == 1 else None
    where = f", {safe_name(result.condition_titles.get(shared, shared), 60)}" if shared else ""
    subject = "in the space" if source == EMBEDDING else source_title(source)
    treated = any(contrast.treatment != result.baseline for _, contrast in contrasts)
    columns = [Column("Learner" if shared else "Condition and learner")]
    columns += [Column("Treatment", always_shown=True)] if treated else []
    columns += [Column("Groups")] if several else []
    for training, measure in measures:
        hint = "" if comparison.of_trainings else training_title(training)
        columns.append(Column(title_of(measure), number=True, hint=hint))
    lines: dict[tuple[str, ...], dict[tuple[str | None, str], Placed]] = {}
    for index, contrast in contrasts:
        key = (contrast.condition, contrast.learner, contrast.treatment, contrast.setting, contrast.attribute)
        lines.setdefault(key, {})[contrast.training, contrast.measure] = (index, contrast)
    rows = []
    for (condition, learner, treatment, setting, attribute), entries in lines.items():
        cells = [Cell(Name(safe_name(learner, 60))) if shared else under_cell(result, (condition, learner), 60)]
        cells += [treatment_cell(treatment, setting)] if treated else []
        cells += [Cell(Name(attribute))] if several else []
        dash = Cell("–", meaning=Meaning.QUIET)
        cells += [_pair(*entries[column], of) if column in entries else dash for column in measures]
        rows.append(Row(tuple(cells)))
    return limited_table(f"{heading}: {safe_name(subject, 40)}{where}", columns, rows, most=MOST_ROWS)


def _pair(index: int, contrast: SpaceContrast, of: str) -> Cell:
    """Return both numbers, the larger gap marked; below them the difference with its verdict, and its interval."""
    source, write = "space_contrasts", formats.signed_thousandths if of == "gap" else formats.fine
    first = text_of(source, index, contrast, "against_value", write) or formats.UNDEFINED
    second = text_of(source, index, contrast, "value", write) or formats.UNDEFINED
    text = (
        *pieces(first), *(["*"] if contrast.larger == "against" else []), " → ",
        *pieces(second), *(["*"] if contrast.larger == "this" else []),
    )  # fmt: skip
    difference = pieces(text_of(source, index, contrast, "difference", formats.signed_thousandths))
    below: list[Text] = [(*difference, f" {ARROWS[contrast.verdict]}")]
    below.append(interval_of(source, index, contrast, ("low", "high"), formats.signed_thousandths))
    return Cell(text, tuple(line for line in below if line), meaning=meaning_of(contrast))


def _settings(result: StudyResult) -> DataTable:
    leaks = list(dict.fromkeys(name for space_setting in result.space_settings for name in space_setting.leakage))
    source = "space_settings"
    fields = (
        *_fields(result), Field("Measure", lambda _, record: title_of(record.measure)),
        value("Overall", "overall", source=source), value("Gap of halves", "gap", source=source),
        value("Worst group", "worst", source=source),
        Field("Which", lambda _, record: "" if record.worst_group is None else Name(record.worst_group)),
        *(Field(("Leakage: ", Name(name)), functools.partial(_leak, name=name), True) for name in leaks),
        Field("Seeds", lambda _, record: str(record.seeds), True),
        Field("Chosen", lambda _, record: Cell("chosen", meaning=Meaning.NEUTRAL) if record.chosen
              else quiet(str(record.reason or "–"))),
    )  # fmt: skip
    caption = "Settings on dev rows, means over seeds; leakage is the balanced accuracy of an attribute probe"
    return record_table(caption, fields, enumerate(result.space_settings), most=MOST_ROWS)


def _fields(result: StudyResult) -> tuple[Field, Field]:
    """Return the condition with its learner, and the treatment with its setting."""
    return (
        Field("Condition and learner", lambda _, record: under_cell(result, (record.condition, record.learner), 60)),
        Field("Treatment", lambda _, record: treatment_cell(record.treatment, record.setting), always_shown=True),
    )


def _leak(_: int, setting: SpaceSetting, name: str) -> Cell:
    return Cell(formats.fine(setting.leakage[name])) if name in setting.leakage else quiet()


def _values(result: StudyResult) -> DataTable:
    source = "spaces"
    fields = (
        *_fields(result), Field("Groups", lambda _, record: Name(record.attribute)),
        Field("Of", lambda _, record: _subject(record)),
        Field("Evaluated on", lambda _, record: _evaluated(record)),
        Field("Measure", lambda _, record: title_of(record.measure)),
        value("Mean", "mean", source=source), value("SD", "stdev", source=source), ends("Interval", source=source),
        Field("Seeds", lambda _, record: str(record.seeds), True),
        Field("Note", lambda _, record: str(record.reason or "")),
    )  # fmt: skip
    caption = "Means over seeds with their intervals, on these test rows"
    return record_table(caption, fields, enumerate(result.spaces), most=MOST_VALUES)


def _evaluated(record: SpaceRecord) -> str:
    trained = training_title(record.training)
    return "space" if record.upstream else f"{source_title(record.source)}{f', {trained}' if trained else ''}"


def _subject(record: SpaceRecord) -> Text:
    if record.kind == "overall":
        return "everyone"
    if record.kind == "worst":
        return "the worst group"
    if record.kind == "group":
        return Name(str(record.group))
    if record.rule == "halves":
        return "gap of halves"
    return ("gap: ", Name(str(record.against)), " against ", Name(str(record.group)))


def _examples(result: StudyResult) -> Iterator[Block]:
    examples = result.space_examples
    if examples is None or not examples.examples:
        return
    first = examples.examples[0]
    yield Heading("Examples: who lies next to whom")
    yield Paragraph((
        "Dev rows drawn at random, of several values of ", Name(first.attribute), "; beside each the nearest other dev "
        "rows, the nearest first, by the embedding that is released and by the sensitive one. C: the same class, G: "
        "the same ", Name(first.attribute), ". ", Name(f"{first.learner}: {first.treatment}"), ", ",
        Name(result.condition_titles.get(first.condition, first.condition)), f", seed {first.seed}.",
    ))  # fmt: skip
    yield Images(
        f"{plural(len(examples.examples), 'dev row')}, each with its nearest others",
        ("Class", "Row", *(f"Released {at + 1}" for at in range(len(first.embedding))),
         *(f"Sensitive {at + 1}" for at in range(len(first.sensitive)))),
        tuple(
            (Name(example.query.class_),
             (_picture(example.query, None),
              *(_picture(near, example.query) for near in (*example.embedding, *example.sensitive))))
            for example in examples.examples
        ),
    )  # fmt: skip


def _picture(picture: ExamplePicture, query: ExamplePicture | None) -> Picture:
    signs = (
        ""
        if query is None
        else " ".join(["C"] * (picture.class_ == query.class_) + ["G"] * (picture.group == query.group))
    )
    return Picture(
        f"data:image/webp;base64,{base64.b64encode(picture.picture).decode('ascii')}",
        f"{safe_name(picture.class_, 60)}, {safe_name(picture.group, 40)}", (signs,) if signs else (),
    )  # fmt: skip
