"""Which treatment comes nearest to the optimum: a sentence for each condition, and how certain each rank is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from equipoise.foundation import plural
from equipoise.reports import formats
from equipoise.reports._comparisons import (
    Charts,
    chosen_cells,
    marks_text,
    ranks_of,
    title_of_measure,
    treatment_cell,
    under_cell,
    under_of,
)
from equipoise.reports._document import (
    Block,
    ChartBlock,
    Details,
    Section,
)
from equipoise.reports._formats import signed_thousandths
from equipoise.reports.narrative._report import Field, record_table, value
from equipoise.results import Verdict
from equipoise.studies import StudyResult
from equipoise.studies.analysis import RERUNS
from equipoise.studies.findings import (
    Claim,
    ClaimKind,
    RankRecord,
    StudyRecord,
    Under,
    measure_name,
    ranks_under,
    record_of,
    under_name,
)

# A table of ranks that is longer is folded away.
LONG = 12
# So many conditions are told of one by one; the tables have all.
MOST_CONDITIONS = 40


def condition_field(result: StudyResult) -> Field:
    """Return the column of conditions."""
    return Field("Condition", lambda _, record: under_cell(result, under_of(record)))


def condition_sentences(result: StudyResult, kinds: Sequence[ClaimKind]) -> Iterator[str]:
    """Say condition by condition which treatment comes nearest to the optimum, for claims of some kinds."""
    standings = {claim.unders[0]: claim for claim in result.claims if len(claim.unders) == 1 and claim.kind in kinds}
    for under in result.unders[:MOST_CONDITIONS]:
        if under in standings:
            yield condition_sentence(result, under, standings[under])


def condition_sentence(result: StudyResult, under: Under, claim: Claim) -> str:
    """Say of one condition which treatment is nearest to the optimum, if any, its cost, and if a rerun would agree."""
    name = under_name(result, under)
    ranks = sorted(ranks_under(result, under), key=lambda rank: rank.rank)
    if claim.kind is ClaimKind.ALL_COLLAPSED:
        return f"{name}: every model has collapsed to a constant prediction, so no treatment is compared."
    if claim.kind is ClaimKind.UNDEFINED or not ranks:
        return f"{name}: the distance to the optimum is undefined, so no treatment is called best."
    if claim.kind is ClaimKind.NO_BASELINE:
        return f"{name}: {_range(ranks)}; nothing is tested without a baseline."
    base = record_of(result, under, result.baseline, result.distance)
    if claim.kind is ClaimKind.NOT_SEPARABLE:
        return f"{name}: no treatment is significantly nearer to the optimum than {result.baseline}; {_range(ranks)}."
    if claim.kind is ClaimKind.AMONG:
        values = [f"{rank.treatment} {rank.value:.3f}" for rank in ranks if rank.treatment in claim.treatments]
        against = "" if base is None else f", {result.baseline} {base.mean:.3f}"
        return (
            f"{name}: {ranks[0].treatment} is significantly nearer to the optimum than {result.baseline}, but which "
            f"treatment is nearest is not decided (distance {', '.join(values)}{against})."
        )
    best = next(rank for rank in ranks if rank.treatment == claim.treatments[0])
    record = record_of(result, under, best.treatment, result.distance)
    assert record is not None
    if best.treatment == result.baseline:
        return (
            f"{name}: every treatment is significantly further from the optimum than {best.treatment}; {_range(ranks)}."
        )
    resampled = "identical runs and people" if record.unit == RERUNS else "seeds and people"
    parts = [
        f"{name}: {best.treatment} is nearest to the optimum (distance {best.value:.3f}"
        + ("" if base is None else f", {result.baseline} {base.mean:.3f}")
        + f"), and stays nearest in {_in_100(best.prob_best)} of 100 resamples of {resampled}{_if_equal(best)}",
        _difference_words(record, result.baseline),
        _cost_words(result, under, best.treatment),
        f"a rerun with one run of each would name it again {_in_100(best.prob_best_single)} times in 100",
    ]
    return "; ".join(part for part in parts if part) + "."


def _range(ranks: Sequence[RankRecord]) -> str:
    """Write the distances from the least to the largest, with who has them."""
    low, high = ranks[0], ranks[-1]
    if len(ranks) == 1:
        return f"distance {low.value:.3f} ({low.treatment})"
    return f"distances from {low.value:.3f} ({low.treatment}) to {high.value:.3f} ({high.treatment})"


def _if_equal(best: RankRecord) -> str:
    """Say how often the nearest of equal treatments would have been drawn."""
    if math.isnan(best.prob_best_if_equal):
        return ""
    return f" (the first of equal treatments would in {_in_100(best.prob_best_if_equal)})"


def _in_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _difference_words(record: StudyRecord, baseline: str) -> str:
    low, high = record.change_low, record.change_high
    between = ""
    if low is not None and high is not None and not math.isnan(low):
        level = "95%" if record.level is None else f"{100 * (1 - record.level):.4g}%"
        between = f", {level} interval {signed_thousandths(low)} to {signed_thousandths(high)}"
    difference = signed_thousandths(record.change)
    return f"the difference from {baseline} is {difference}{between}, significant after correction"


def _cost_words(result: StudyResult, under: Under, treatment: str) -> str:
    """Say what a treatment does to performance."""
    record = record_of(result, under, treatment, result.performance[0])
    name = measure_name(result, result.performance[0])
    if record is None or record.verdict is None:
        return ""
    change = signed_thousandths(record.change or 0.0)
    return {
        Verdict.LOWER: f"it costs {abs(record.change or 0.0):.3f} of {name}",
        Verdict.HIGHER: f"{name} rises by {abs(record.change or 0.0):.3f}",
        Verdict.NONE: f"no significant change of {name} ({change})",
        Verdict.UNDECIDED: f"whether {name} changes is inconclusive ({change})",
    }[record.verdict]


def ranks_section(result: StudyResult, charts: Charts) -> Section | None:
    """Return who is best by the distance to the optimum, and how sure that is; None where nobody has a rank."""
    order = {under: index for index, under in enumerate(result.unders)}
    main_ranks = {id(rank) for rank in ranks_of(result)}
    ranks = [item for item in enumerate(result.ranks) if id(item[1]) in main_ranks and not math.isnan(item[1].rank)]
    ranks.sort(key=lambda item: (order[under_of(item[1])], item[1].rank))
    if not ranks:
        return None
    marks = {(*under_of(cell), cell.treatment): marks_text(cell) for cell in chosen_cells(result)}
    may = {True: "yes", False: "no", None: ""}
    fields = (
        condition_field(result),
        Field("Treatment", lambda _, rank: treatment_cell(
            rank.treatment, rank.setting, marks.get((*under_of(rank), rank.treatment), "")
        ), always_shown=True),
        value("Rank", "rank", formats.digits, "ranks"),
        value(title_of_measure(result.distance), "value", formats.thousandths, "ranks"),
        value("P(best)", "prob_best", formats.probability, "ranks"),
        value("Best of equal treatments", "prob_best_if_equal", formats.probability, "ranks"),
        Field("May be the best", lambda _, rank: may[rank.may_be_best]),
        value("Best with one run of each", "prob_best_single", formats.probability, "ranks"),
    )  # fmt: skip
    caption = "Ranks, and how often each treatment would be best"
    table: Block = record_table(caption, fields, ranks)
    if len(ranks) > LONG:
        table = Details(f"The ranks as a table ({plural(len(ranks), 'row')})", (table,))
    on = " & ".join(result.attribute)
    return Section(
        "ranks", "Which treatment is best, and how certain is that?", (ChartBlock(charts["ranks"]), table),
        short="Best",
        intro=(
            f"By the distance to the optimum ({title_of_measure(result.distance)}): how far a treatment is from full "
            f"performance and full fairness on {on}, together. P(best) is how often it is the best when runs and "
            "people are resampled."
        ),
    )  # fmt: skip
