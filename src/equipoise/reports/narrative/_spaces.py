"""What an audit of an embedding says: sentences, values, gaps, leakage, downstream and propagation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from equipoise.audits import AuditResult
from equipoise.audits.downstream import DownstreamRecord
from equipoise.audits.leakage import LeakageRecord
from equipoise.foundation import (
    listing,
    percent,
    plural,
    points,
)
from equipoise.reports import formats
from equipoise.reports._document import (
    Block,
    Cell,
    ChartBlock,
    DataTable,
    Details,
    Meaning,
    Name,
    Section,
    Terms,
    Text,
    pieces,
)
from equipoise.reports._records import (
    Placed,
    Subject,
    better_end,
    counts,
    explanation_of,
    group_or_everyone,
    groups_of,
    interval,
    name_of,
    number,
    span,
    subjects_of,
    verdict,
)
from equipoise.reports._spaces import (
    CHANCE,
    NMI,
    ORIENTED,
    POSITIVE,
    RULES,
    VALUES,
    WIDEST,
    compared,
    finding_text,
    first_of,
    gaps_of,
    learner_title,
    main_gaps,
    majoritised,
    map_caution,
    space_order,
    value_title,
    values_of,
    worse_side,
)
from equipoise.reports.narrative._outcomes import most_groups
from equipoise.reports.narrative._report import (
    NOT_SIGNIFICANT,
    About,
    Field,
    Story,
    compared_groups,
    corrected,
    edges,
    ends,
    inside,
    matrix,
    quiet,
    record_table,
    value,
)
from equipoise.results import Record, Status

# The gaps that are told, in this order; recall stands apart, with the rates of its groups.
GAPS = (
    "mean_average_precision_at_r_gap", "intra_class_alignment_gap", "inter_class_alignment_gap", "uniformity_gap",
    "normalised_mutual_information_gap",
)  # fmt: skip


@dataclass(frozen=True)
class Recall:
    """The gap in recall, and the groups with the lowest and the highest."""

    gap: Record
    low: Record
    high: Record


@dataclass(frozen=True)
class EmbeddingHeadline:
    """What may be said of one attribute: its gaps, probes and classifiers, whether confirmed or not.

    ``groups`` are those with a value, ``against`` is the one that the others are compared with.
    """

    attribute: str
    groups: tuple[str, ...]
    against: str | None
    recall: Recall | None
    why_no_recall: str | None
    gaps: tuple[Record, ...]
    leakage: tuple[LeakageRecord, ...]
    downstream: tuple[DownstreamRecord, ...]

    @property
    def findings(self) -> list[bool]:
        """Return every verdict."""
        gaps = [*self.gaps] if self.recall is None else [self.recall.gap, *self.gaps]
        verdicts = [record.finding for record in gaps] + [record.finding for record in self.leakage]
        verdicts += [record.finding for record in self.downstream]
        return [finding for finding in verdicts if finding is not None]


def space_story(
    records: Sequence[Record], leakage: Sequence[LeakageRecord] = (), downstream: Sequence[DownstreamRecord] = (),
    against: Mapping[str, str | None] | None = None,
) -> Story:  # fmt: skip
    """Tell an embedding, an attribute at a time: neighbours, other gaps, leakage and what carries over.

    ``against`` names the group of each attribute that the others are compared with. Where nothing is confirmed the
    first sentence says so.
    """
    names = dict.fromkeys(record.attribute[0] for record in records if record.attribute)
    headlines = [_headline(name, records, leakage, downstream, (against or {}).get(name)) for name in names]
    headlines.sort(key=lambda headline: not any(headline.findings))
    about = [
        About(headline.attribute, tuple(_confirmed(headline))[int(index == 0) :], tuple(_open(headline)))
        for index, headline in enumerate(headlines)
    ]
    if any(any(headline.findings) for headline in headlines):
        return Story(next(_confirmed(headlines[0], f" ({headlines[0].attribute})")), tuple(about))
    tested = sum(len(headline.findings) for headline in headlines)
    if not tested:
        return Story("No difference between groups could be tested in this space.", tuple(about), has_findings=False)
    return Story(
        f"No difference between groups is confirmed in {plural(tested, 'test')} of this space. More rows would narrow "
        "the intervals.", tuple(about), "That does not show that the space is as good for everyone.",
        has_findings=False,
    )  # fmt: skip


def _headline(
    name: str, records: Sequence[Record], leakage: Sequence[LeakageRecord], downstream: Sequence[DownstreamRecord],
    against: str | None,
) -> EmbeddingHeadline:  # fmt: skip
    attribute_records = [record for record in records if record.attribute == (name,)]
    recall, why = _recall(attribute_records)
    gaps = [record for record in attribute_records if record.measure in GAPS and record.variant == ORIENTED]
    accuracy = [r for r in downstream if r.attribute == name and r.measure == "accuracy" and r.defined]
    return EmbeddingHeadline(
        name, tuple(dict.fromkeys(str(r.group) for r in attribute_records if r.kind in ("rate", "value"))), against,
        recall, why,
        tuple(sorted(gaps, key=lambda record: GAPS.index(record.measure))),
        tuple(record for record in leakage if record.attribute == name),
        tuple([r for r in accuracy if r.kind == "largest gap"] or [r for r in accuracy if r.kind == "gap"]),
    )  # fmt: skip


def _recall(records: Sequence[Record]) -> tuple[Recall | None, str | None]:
    rates = compared([r for r in records if r.measure == "recall_at_k" and r.defined])
    gaps = {r.variant: r for r in records if r.measure == "recall_at_k_gap"}
    gap = gaps.get(WIDEST, gaps.get(ORIENTED))  # the widest, where several groups are compared
    if len(rates) < 2 or gap is None or not gap.defined:
        return None, str(gap.reason) if gap is not None and gap.reason else "fewer than two groups have a value"
    return Recall(gap, min(rates, key=lambda r: r.value), max(rates, key=lambda r: r.value)), None


def _confirmed(headline: EmbeddingHeadline, about: str = "") -> Iterator[Text]:
    """Yield what is confirmed; ``about`` says what the groups are groups of."""
    recall = headline.recall
    if recall is not None and recall.gap.finding:
        low, high = recall.low, recall.high
        yield (
            "Nearest neighbours are of the same class less often ",
            *compared_groups((headline.attribute,), low.group, high.group, "than", about),
            f": {percent(low.value)} against {percent(high.value)}{_recall_gap(recall)}.",
        )  # fmt: skip
    for record in headline.gaps:
        if record.finding:
            side = worse_side(record, headline.groups, headline.against)
            numbers = inside(f"{name_of(record.measure)} {formats.fine(record.value)}", _corrected(record.p_adjusted))
            yield ("For ", Name(side), f"{about}, {POSITIVE[record.measure]}{numbers}.")
    leaks = sorted((record for record in headline.leakage if record.finding), key=lambda record: -record.balanced)
    if leaks:
        best = leaks[0]
        around = edges(best.balanced_low, best.balanced_high, 0.95, formats.decimal)
        yield (
            f"A probe can read {headline.attribute} from the embedding: balanced accuracy {best.balanced:.3f}"
            f"{inside(f'{learner_title(best.probe)} probe', around)}, against {best.chance:.3f} by guessing and "
            f"{best.shuffled_balanced:.3f} with permuted groups."
        )
    carried = sorted(
        (record for record in headline.downstream if record.finding), key=lambda record: -abs(record.value)
    )
    if carried:
        widest, *others = carried
        worse = widest.group if widest.value > 0 else widest.against
        size = points(abs(widest.value))
        size_words = f"is {size} lower for {worse}{about}" if worse else f"differs by {size}"
        also = f"also confirmed for {listing([learner_title(other.learner) for other in others], 4)}" if others else ""
        yield f"Downstream, accuracy {size_words}{inside(learner_title(widest.learner), also)}."


def _corrected(p: float | None) -> str:
    return "" if p is None else f"corrected p {formats.p_value(p)}"


def _open(headline: EmbeddingHeadline) -> Iterator[str]:
    recall = headline.recall
    if recall is None:
        yield f"Recall cannot be compared: {headline.why_no_recall}."
    elif not recall.gap.finding:
        low, high = recall.low, recall.high
        sides = f"{low.group} {percent(low.value)}, {high.group} {percent(high.value)}{_recall_gap(recall)}"
        why = f"not tested, {recall.gap.reason}" if recall.gap.status == Status.TOO_SMALL else "not tested"
        yield f"{NOT_SIGNIFICANT if recall.gap.finding is False else why}: recall of {sides}."
    names = [name_of(record.measure) for record in headline.gaps if record.finding is False]
    names += [f"{learner_title(record.probe)} probe" for record in headline.leakage if record.finding is False]
    names += [
        f"accuracy downstream ({learner_title(record.learner)})"
        for record in headline.downstream
        if record.finding is False
    ]
    if names:
        yield f"{NOT_SIGNIFICANT}: {listing(names, 8)}."


def _recall_gap(recall: Recall) -> str:
    gap = recall.gap
    # The sentence says which group is worse off: a negative gap is turned round, with its interval.
    ends = (gap.low, gap.high) if gap.value >= 0 or gap.low is None or gap.high is None else (-gap.high, -gap.low)
    around = edges(*ends, gap.level, lambda end: formats.points(end).replace("+", ""))
    named = "recall" if gap.finding else ""
    return inside(named, points(recall.high.value - recall.low.value), around)


def space_sections(result: AuditResult, charts: dict[str, tuple[str, ...]]) -> Iterator[Section]:
    """Yield the parts about an embedding; ``charts`` are the names of the charts of each part."""
    subjects = subjects_of(result)
    yield _gaps(result, subjects)
    yield _values(result, subjects, charts["values"])
    if result.leakage:
        yield _leakage(result, charts["leakage"])
    if result.downstream:
        yield _downstream(result, charts["downstream"])
    if result.propagation:
        yield _propagation(result, charts["propagation"])
    if result.map is not None:
        intro = (
            f"A picture to look at, not a measurement: no number here was computed from it. {map_caution(result)} "
            "Colour and shape tell the same."
        )
        yield Section("map", "The space on a plane", (ChartBlock(charts["map"]),), intro, short="Map")


def _values(result: AuditResult, subjects: Sequence[Subject], charts: tuple[str, ...]) -> Section:
    defined = {record.measure for subject in subjects for _, record in values_of(result, subject) if record.defined}
    columns = {name: value_title(result, name) for name in VALUES if name in defined}
    overall = values_of(result, None)
    tables: list[Block] = []
    for subject in subjects:
        subject_values = values_of(result, subject)
        groups = groups_of(subject_values)
        shown_groups = [None, *groups[: most_groups(len(subjects))]]
        cells = {
            (group, name): _value(subject_values if group is not None else overall, name, group)
            for group in shown_groups for name in columns
        }  # fmt: skip
        tables.append(matrix(subject.title, shown_groups, columns, cells, total=len(groups)))
    terms = tuple(
        (title, f"{explanation_of(name, None)} ({better_end(name)} is better)") for name, title in columns.items()
    )
    return Section(
        "values", "How good the space is for each group",
        (*tables, Details("What these numbers mean", (Terms(terms),)), ChartBlock(charts)),
        "Neighbours are looked for among everybody; a group's number is that of its own rows. Below a value "
        "are the counts of a rate, the chance level of NMI, and the 95% interval.", short="Values", essential=True,
    )  # fmt: skip


def _value(placed: Sequence[Placed], measure: str, group: str | None) -> Cell:
    entry = first_of(placed, measure, group)
    if entry is None:
        return Cell("–")
    index, record = entry
    if not record.defined:
        return Cell(record.status, meaning=Meaning.QUIET)
    chance = first_of(placed, CHANCE, group) if measure == NMI else None
    below: list[Text] = [counts(index, record)]
    if chance is not None and chance[1].defined:
        below.append(("chance ", *pieces(_number(*chance))))
    below.append(_interval(index, record))
    if record.status == Status.TOO_SMALL:
        below.append(str(record.reason or "too few rows"))
    return Cell(_number(index, record), tuple(line for line in below if line))


def _number(index: int, record: Record) -> Text:
    return number(index, record.value, formats.percent if record.kind == "rate" else formats.fine)


def _interval(index: int, record: Record) -> Text:
    return interval(index, record, formats.bare_percent if record.kind == "rate" else formats.fine)


GAP_FIELDS = (
    Field("Value", lambda place, r: _number(place, r) if r.defined else quiet(r.status), True),
    Field("95% interval", _interval, True), corrected(),
)  # fmt: skip


def _gaps(result: AuditResult, subjects: Sequence[Subject]) -> Section:
    tables: list[Block] = [_gap_table(result, subject) for subject in subjects]
    placed = [
        item for subject in subjects
        for item in sorted(gaps_of(result, subject), key=lambda item: (space_order(item[1].measure), item[0]))
    ]  # fmt: skip
    tested = [record for _, record in placed if record.p_adjusted is not None]
    confirmed = sum(bool(record.finding) for record in tested)
    fields = (
        Field("Gap in", lambda _, r: Cell(
            value_title(result, r.measure), (Subject(r.attribute, r.split).title,)
        )),
        Field("Rule", lambda _, r: RULES.get(r.variant, r.variant)), *GAP_FIELDS,
        Field("Verdict", lambda _, r: _gap_verdict(r)),
    )  # fmt: skip
    caption = (
        "Every gap by every rule; the paper's sign is majoritised minus minoritised whichever end is better, and is "
        "not tested a second time. The correction is for all that were tested"
    )
    every = record_table(caption, fields, placed, what="gaps")
    of = f"; of {len(tested):,} tested, {confirmed:,} confirmed" if tested else ""
    intro = (
        "Above 0 the minoritised groups are worse off, whichever end of the measure is better; below 0 they are better "
        "off. A gap is confirmed where permuted groups would hardly ever give one as wide (corrected for the number of "
        "tests). The interval of a gap is made another way, so the two can disagree at the edge."
    )
    return Section(
        "gaps", "Gaps between groups",
        (*tables, Details(f"Gaps by every rule ({len(placed):,}{of})", (every,))), intro, short="Gaps", essential=True,
    )  # fmt: skip


def _gap_table(result: AuditResult, subject: Subject) -> DataTable:
    against = majoritised(result, subject)
    fields = (
        Field("Gap in", lambda _, r: Cell(
            value_title(result, r.measure), () if r.variant == ORIENTED else (RULES.get(r.variant, r.variant),)
        )),
        *GAP_FIELDS,
        Field("Verdict", lambda _, r: _gap_verdict(r)),
        Field("What it says", lambda _, r: (r.status == Status.OK and finding_text(result, r)) or str(r.reason or "")),
    )  # fmt: skip
    caption = subject.title if against is None else f"{subject.title}: all other groups compared with {against}"
    return record_table(caption, fields, main_gaps(result, subject), what="gaps")


def _gap_verdict(record: Record) -> Cell:
    """A confirmed gap is worse for the minoritised; where it is below 0 it is better for them."""
    if record.status != Status.OK:
        return quiet(record.status)
    better = record.variant == ORIENTED and record.value < 0
    return verdict(record.finding, Meaning.BETTER if better else Meaning.WORSE)


def _leakage(result: AuditResult, charts: tuple[str, ...]) -> Section:
    source, write = "leakage", formats.thousandths
    fields = (
        Field("Attribute and probe", lambda _, r: Cell(Name(r.attribute), (learner_title(r.probe),))),
        value("Balanced accuracy", "balanced", write, source, unknown=""),
        ends("95% interval", write, source, ("balanced_low", "balanced_high")),
        value("Chance", "chance", write, source, unknown=""),
        value("Permuted groups", "shuffled_balanced", write, source, unknown=""),
        corrected(source, "balanced_p_adjusted"), Field("Verdict", lambda _, r: verdict(r.finding, Meaning.NEUTRAL)),
        Field("Accuracy", lambda index, r: Cell(
            number(index, r.accuracy, write, "accuracy", source),
            (("largest group ", *pieces(number(index, r.majority, write, "majority", source))),),
        ), True),
    )  # fmt: skip
    caption = "Probes: balanced accuracy against chance, accuracy against the share of the largest group"
    table = record_table(caption, fields, enumerate(result.leakage), what="probes")
    intro = (
        "Probes were trained to predict the group of a row from its point alone, and evaluated on rows they had not "
        "seen. Balanced accuracy is the mean of the groups' hit rates, so a large group counts no more than a small "
        "one. A low value says that these probes could not read the group, not that nobody can. Corrected among the "
        "probes."
    )
    return Section("leakage", "Can the group be read from the points?", (table, ChartBlock(charts)), intro,
                   short="Leakage", essential=True)  # fmt: skip


def _downstream(result: AuditResult, charts: tuple[str, ...]) -> Section:
    """Every downstream number: gaps first, then values of groups."""
    order = ("gap", "largest gap", "group", "overall")
    placed = sorted(enumerate(result.downstream), key=lambda item: (order.index(item[1].kind), item[0]))
    gaps = [(index, record) for index, record in placed if record.kind in order[:2]]
    tested = [record.finding for _, record in gaps if record.finding is not None]
    learners = ", ".join(learner_title(name) for name in dict.fromkeys(r.learner for r in result.downstream))
    trained_on = ", ".join(dict.fromkeys(record.training for record in result.downstream))
    confirmed_words = (
        f"{sum(tested):,} of {plural(len(tested), 'gap')} that could be tested {'is' if sum(tested) == 1 else 'are'} "
        "confirmed, after correction among the downstream gaps." if tested else "No gap was tested."
    )  # fmt: skip
    fields = (
        Field("Group", _downstream_group), Field("Classifier", lambda _, r: learner_title(r.learner)),
        Field("Measure", lambda _, r: r.measure.replace("_", " ")),
        Field("Value", _downstream_value, True), Field("95% interval", _downstream_interval, True),
        corrected("downstream"), Field("Verdict", _downstream_verdict),
    )  # fmt: skip
    caption = "Gaps in percentage points; above 0 the group is worse off"
    main = record_table(caption, fields, gaps, what="gaps", most=24)
    caption = "Gaps in percentage points (above 0 the group is worse off), then the values of each group in %"
    every = record_table(caption, fields, placed, what="values")
    blocks: list[Block] = [*([main] if gaps else []), ChartBlock(charts),
                           Details(f"All downstream values as a table ({len(placed):,})", (every,))]  # fmt: skip
    intro = (
        f"Classifiers ({learners}) were trained on the points (training data {trained_on}) and evaluated on rows they "
        f"had not seen. {confirmed_words}"
    )
    return Section("downstream", "What carries over downstream", tuple(blocks), intro, short="Downstream",
                   essential=True)  # fmt: skip


def _is_gap(record: DownstreamRecord) -> bool:
    return record.kind in ("gap", "largest gap")


def _downstream_group(_: int, record: DownstreamRecord) -> Cell:
    about: list[str | Name] = [] if record.attribute is None else [record.attribute]
    about += [", best minus worst"] if record.kind == "largest gap" else []
    group: Text = group_or_everyone(record.group)
    if record.against is not None:
        group = (record.group or "everyone", " compared with ", Name(record.against))
    return Cell(group, (tuple(about),) if about else ())


def _downstream_value(index: int, record: DownstreamRecord) -> Cell | Text:
    write = formats.points if _is_gap(record) else formats.percent
    return number(index, record.value, write, "value", "downstream") or quiet(record.status)


def _downstream_interval(index: int, record: DownstreamRecord) -> Text:
    write = formats.points if _is_gap(record) else formats.bare_percent
    return span(index, record.low, record.high, write, "downstream")


def _downstream_verdict(_: int, record: DownstreamRecord) -> Cell:
    if record.status != Status.OK:
        return quiet(str(record.reason or record.status))
    return verdict(record.finding, Meaning.BETTER if record.value < 0 else Meaning.WORSE) if _is_gap(record) else Cell()


def _propagation(result: AuditResult, charts: tuple[str, ...]) -> Section:
    source = "propagation"
    upstream = value_title(result, result.propagation[0].upstream_measure)
    fields = (
        Field("Attribute", lambda _, point: Name(point.attribute)),
        value(f"Gap in {upstream}", "upstream", formats.points, source),
        Field("Classifier", lambda _, point: learner_title(point.learner)),
        Field("Measure", lambda _, point: point.measure.replace("_", " ")),
        value("Gap downstream", "downstream", formats.points, source), ends("95% interval", formats.points, source),
    )  # fmt: skip
    caption = "Gap of the space and gap downstream, in percentage points"
    table = record_table(caption, fields, enumerate(result.propagation), what="pairs")
    return Section(
        "propagation", "Does the gap of the space carry over?",
        (ChartBlock(charts), Details(f"The pairs as a table ({len(result.propagation):,})", (table,))),
        "A gap of the space itself beside the gaps of what was trained on it. Of three groups or more both are best "
        "minus worst.", short="Carried over",
    )  # fmt: skip
