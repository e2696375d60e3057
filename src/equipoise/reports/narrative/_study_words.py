"""What a study says, made from its claims: the answer, what else is confirmed, and what is inconclusive and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from equipoise.foundation import (
    listing,
    plural,
)
from equipoise.reports._document import Name, Statements, Text, plain
from equipoise.reports._formats import signed_thousandths
from equipoise.reports.narrative._report import and_more, joined, title_of_attribute
from equipoise.reports.narrative._study_identical import flip_words, identical_words
from equipoise.reports.narrative._study_spaces import space_answer, space_words
from equipoise.reports.narrative._study_standings import condition_sentences
from equipoise.results import Verdict
from equipoise.stats import (
    MIN_SEEDS,
    LimitedBy,
)
from equipoise.studies import StudyResult
from equipoise.studies.analysis import LABELS, RERUNS, UNTREATED
from equipoise.studies.findings import (
    Claim,
    ClaimKind,
    StudyRecord,
    Under,
    baseline_name,
    change_claims,
    measure_name,
    only_baseline,
    record_of,
    under_name,
    under_noun,
    under_phrase,
)

# So many names stand in one sentence.
FEW = 4
# A longer sentence is taken apart, where it can be.
LONGEST_SENTENCE = 400
NEAREST = "Nearest to the optimum"
LIMITS = {
    LimitedBy.SEEDS: "limited by {unit} (more would detect {change})",
    LimitedBy.PEOPLE: "limited by test people (more {unit} cannot detect {change})",
    LimitedBy.BOTH: "limited by {unit} and test people (it takes more of both to detect {change})",
}


def study_words(result: StudyResult) -> Iterator[str]:
    """Yield everything as plain sentences, as the JSON has it: the answer first."""
    yield answer(result)
    yield from filter(None, [orientation(result)])
    for statements in (*confirmed(result), *inconclusive(result)):
        title = plain(statements.title)
        yield from (f"{title}: {plain(item)}" if title else plain(item) for item in statements.items)
    yield from flip_words(result)
    yield from identical_words(result)
    yield from space_words(result)
    yield from look_words(result)


def answer(result: StudyResult) -> str:
    """Say first whether the baseline has collapsed, then the largest confirmed finding, or what would decide."""
    return _collapsed_baseline(result) + _answer(result)


def _collapsed_baseline(result: StudyResult) -> str:
    claims = (claim for claim in result.claims if claim.kind is ClaimKind.COLLAPSED)
    claim = next((claim for claim in claims if claim.treatments[0] == result.baseline), None)
    if claim is None:
        return ""
    name = "The untreated model" if result.baseline == UNTREATED else result.baseline
    return (
        f"{name} itself has collapsed {_scope(result, claim.unders)}: differences from it are differences from "
        "a constant prediction. "
    )


def _answer(result: StudyResult) -> str:
    first = next(iter(result.claims), None)
    if first is None or first.kind is ClaimKind.UNDEFINED:
        undefined = (
            f"No treatment can be called best: the distance to the optimum on {_on(result)} is undefined everywhere."
        )
        return space_answer(result) or undefined
    if first.kind is ClaimKind.ALL_COLLAPSED:
        return (
            "Every model has collapsed: on the dev rows none does better than a constant prediction, so no treatment "
            "is compared with another."
        )
    if first.kind is ClaimKind.NO_BASELINE:
        if only_baseline(result):
            return f"Only {result.baseline} was run: there is nothing to compare it with."
        return (
            f"No treatment is called better or worse: there is no baseline ({result.baseline!r}) to compare them with."
        )
    if first.kind is ClaimKind.NOTHING_CONFIRMED:
        return _nothing_confirmed(result, first)
    return _confirmed_answer(result)


def _nothing_confirmed(result: StudyResult, claim: Claim) -> str:
    """Say that nothing is confirmed on the main measures, and how many seeds would be needed."""
    had = f"{claim.runs} identical runs of one seed" if claim.unit == RERUNS else plural(claim.runs or 0, "seed")
    sentence = f"No treatment is distinguishable from {baseline_name(result)} with {had}"
    if claim.elsewhere:
        names = f"{measure_name(result, result.performance[0])}, fairness and their distance to the optimum"
        changed = plural(claim.elsewhere, "change of another measure is", "changes of other measures are")
        sentence += f" on {names} ({changed} significant)"
    return f"{sentence}. {_needed(result, claim)}".rstrip()


def _needed(result: StudyResult, claim: Claim) -> str:
    needed = claim.needed
    if claim.unit == RERUNS:
        return f"At least {MIN_SEEDS} seeds per treatment are needed to say anything about other seeds."
    if claim.runs is not None and claim.runs < MIN_SEEDS:
        return f"At least {MIN_SEEDS} seeds per treatment are needed before a difference can be confirmed."
    if needed is None:
        untested = any(record.people_untested for record in result.records if record.measure == result.fairness)
        return "Fairness is not tested over people, which more seeds would not change." if untested else ""
    change = f"a change of {100 * needed.change:g} points in fairness"
    if needed.seeds is None:
        if needed.limited_by is LimitedBy.PEOPLE:
            return f"More seeds cannot detect {change}: only more test people can."
        if needed.limited_by is LimitedBy.BOTH:
            return f"It takes more seeds and more test people to detect {change}."
        return f"More than 1,000 seeds per treatment would be needed to detect {change}: the runs vary too much."
    if claim.runs is not None and needed.seeds <= claim.runs:
        return f"That is enough to detect {change} with a power of 80%; smaller changes need more seeds."
    sentence = f"About {needed.seeds} seeds per treatment would detect {change}"
    if needed.most is None and needed.most_of is not None:
        sentence += f" ({needed.most_of}: no number of seeds would)"
    elif needed.most is not None and needed.most > 2 * needed.seeds:
        sentence += f" ({needed.most_of}: about {needed.most})"
    return sentence + "."


def _confirmed_answer(result: StudyResult) -> str:
    """Say what is confirmed of one treatment: that nearest to the optimum, the fairest, or that which changed most.

    Where every treatment is confirmed to be further from the optimum than the baseline, that is the answer.
    """
    nearest = [claim for claim in result.claims if claim.kind is ClaimKind.NEAREST]
    at_baseline = [claim for claim in nearest if claim.treatments[0] == result.baseline]
    if len(at_baseline) == len(result.unders):
        where = f" {_scope(result, result.unders)}" if len(result.unders) > 1 else ""
        return (
            f"Every treatment is significantly further from full {measure_name(result, result.performance[0])} and "
            f"full fairness than {baseline_name(result)}{where}."
        )
    treatments = _changed_treatments(result)
    chosen = next(iter(treatments))
    sentence = _treatment_answer(result, chosen, treatments[chosen])
    near = [under for claim in nearest if claim.treatments[0] == chosen for under in claim.unders]
    if near:
        where = f" {_scope(result, near)}" if len(result.unders) > 1 else ""
        sentence += f" Of all treatments it comes nearest to the optimum{where}."
    fairer = {
        name for name, claims in treatments.items() if any(_is(claim, result.fairness, better=True) for claim in claims)
    }
    others = {cell.treatment for cell in result.cells} - {result.baseline, chosen}
    measured = any(record_of(result, under, chosen, result.fairness) is not None for under in result.unders)
    if others and measured and not fairer:
        return f"{sentence} No treatment is significantly fairer ({fairness_by(result)})."
    if chosen in fairer and len(fairer) > 1 and not near:
        also = plural(len(fairer) - 1, "other treatment is", "other treatments are")
        return f"{sentence} {also} significantly fairer too."
    return sentence


def answered_treatment(result: StudyResult) -> tuple[str, ...]:
    """Return the treatment that the answer is about; none where it is about no single one."""
    first = next(iter(result.claims), None)
    if first is None or first.kind not in (ClaimKind.BETTER, ClaimKind.WORSE, ClaimKind.NEAREST, ClaimKind.AMONG):
        return ()
    return tuple(_changed_treatments(result))[:1]


def _changed_treatments(result: StudyResult) -> dict[str, list[Claim]]:
    """Return the treatments with confirmed changes of main measures, that of which most is to be said first."""
    treatments: dict[str, list[Claim]] = {}
    for claim in _main_changes(result):
        treatments.setdefault(claim.treatments[0], []).append(claim)
    best = {claim.treatments[0] for claim in result.claims if claim.kind is ClaimKind.NEAREST}
    order = sorted(treatments, key=lambda name: _weight(result, treatments[name], name in best), reverse=True)
    return {name: treatments[name] for name in order}


def _main_changes(result: StudyResult) -> list[Claim]:
    main = (result.fairness, result.performance[0], result.distance)
    kinds = (ClaimKind.BETTER, ClaimKind.WORSE)
    return [claim for claim in result.claims if claim.kind in kinds and claim.measure in main]


def _weight(result: StudyResult, claims: Sequence[Claim], nearest: bool) -> tuple[bool, int, int, int, float]:
    """Order treatments: nearest to the optimum, fairer under most conditions at the least cost, or changed most."""
    fairer = sum(len(claim.changes) for claim in claims if _is(claim, result.fairness, better=True))
    worse = sum(len(claim.changes) for claim in claims if claim.kind is ClaimKind.WORSE)
    changed = sum(len(claim.changes) for claim in claims if claim.measure != result.distance)
    counted = [claim for claim in claims if not fairer or _is(claim, result.fairness, better=True)]
    return nearest, fairer, -worse if fairer else 0, changed, max(abs(by) for claim in counted for by in claim.changes)


def _is(claim: Claim, measure: str, *, better: bool) -> bool:
    return claim.measure == measure and (claim.kind is ClaimKind.BETTER) == better


def _treatment_answer(result: StudyResult, treatment: str, claims: Sequence[Claim]) -> str:
    """Say what a treatment does to fairness and performance (or else to their distance), with the numbers."""
    performance = result.performance[0]
    ordered = [claim for claim in claims if claim.measure != result.distance] or list(claims)
    ordered = sorted(ordered, key=lambda claim: (claim.measure != result.fairness, claim.kind is ClaimKind.WORSE))
    number = len(result.unders)
    places = {claim.unders for claim in ordered}
    together = len(places) == 1
    parts = []
    for claim in ordered:
        where = f" {_scope(result, claim.unders)}" if not together else ""
        parts.append(compared_word(result, str(claim.measure), better=claim.kind is ClaimKind.BETTER) + where)
    measures = {claim.measure for claim in ordered}
    if result.fairness not in measures and performance in measures:
        parts.append(_no_fairer(result, treatment))
    sentence = f"With {treatment}, the model is {joined(parts)} than {baseline_name(result)}"
    under = ordered[0].unders[max(range(len(ordered[0].changes)), key=lambda at: abs(ordered[0].changes[at]))]
    numbers = [_against(result, under, treatment, str(claim.measure)) for claim in ordered if under in claim.unders]
    numbers = list(dict.fromkeys(filter(None, numbers)))
    significant = "significant after correction"
    if number > 1:
        numbers[-1:] = [f"{numbers[-1]} {under_phrase(result, under)}"]
        if together:
            [unders] = places
            significant = "significant after correction"
            if len(unders) > 1:
                significant = f"significant {_scope(result, unders)}"
    sentence += f" ({', '.join(numbers)}; {significant})"
    if any(_is(claim, result.fairness, better=True) for claim in ordered) and performance not in measures:
        sentence += f", with no significant change of {measure_name(result, performance)}"
    return sentence + "."


def _no_fairer(result: StudyResult, treatment: str) -> str:
    changes = [
        record.change for under in result.unders
        if (record := record_of(result, under, treatment, result.fairness)) is not None and record.change is not None
    ]  # fmt: skip
    return "no fairer" if changes and all(change <= 0 for change in changes) else "not significantly fairer"


def _against(result: StudyResult, under: Under, treatment: str, measure: str) -> str:
    """Write a treatment's number against the baseline's."""
    record, base = (record_of(result, under, name, measure) for name in (treatment, result.baseline))
    if record is None:
        return ""
    against = "" if base is None or math.isnan(base.mean) else f" against {base.mean:.3f}"
    return f"{measure_name(result, measure)} {record.mean:.3f}{against}"


def compared_word(result: StudyResult, measure: str, *, better: bool) -> str:
    """Say how a treatment compares on a measure."""
    if measure == result.fairness:
        return "fairer" if better else "less fair"
    if measure == result.distance:
        return "nearer to the optimum" if better else "further from the optimum"
    if measure == "accuracy":
        return "more accurate" if better else "less accurate"
    return f"{'better' if better else 'worse'} in {measure_name(result, measure)}"


def orientation(result: StudyResult) -> str:
    """Say what a model that predicts the same for everybody would get, and who does no better."""
    constant = result.constant
    if constant is None or not result.cells:
        return ""
    always = (
        f"a model that always predicts {constant.prediction if constant.share is None else repr(constant.prediction)}"
    )
    performance = measure_name(result, result.performance[0])
    if math.isnan(constant.distance):
        numbers = "" if math.isnan(constant.performance) else f" has {performance} {constant.performance:.3f}, and"
        return f"For orientation, {always}{numbers} has no distance to the optimum: {constant.reason}."
    sentence = (
        f"For orientation, {always} would score {constant.distance:.3f} in distance to the optimum (lower is better; "
        f"{performance} {constant.performance:.3f}, fairness {constant.fairness:.3f})"
    )
    defined = [cell for cell in result.cells if cell.chosen and not math.isnan(cell.test_distance)]
    further = [cell for cell in defined if cell.test_distance >= constant.distance]
    if not further:
        return f"{sentence}; every treatment is better than that on average."
    if len(further) == len(defined):
        return f"{sentence}; on average no treatment is better than that."
    where: dict[str, list[Under]] = {}
    for cell in further:
        where.setdefault(cell.treatment, []).append((cell.condition, cell.learner))
    names = [name if len(result.unders) == 1 else f"{name} {_scope(result, unders)}" for name, unders in where.items()]
    return f"{sentence}; on average no better than that: {listing(names, 2 * FEW)}."


def confirmed(result: StudyResult) -> Iterator[Statements]:
    """Yield what is confirmed: of each treatment, of conditions, of treatments against one another, and collapses."""
    treatments: dict[str, list[Claim]] = {name: [] for name in _changed_treatments(result)}
    for claim in result.claims:
        if claim.kind in (ClaimKind.BETTER, ClaimKind.WORSE):
            treatments.setdefault(claim.treatments[0], []).append(claim)
    main = (result.fairness, result.performance[0], result.distance)
    elsewhere = _changes_elsewhere(result)
    for treatment, claims in treatments.items():
        items = [change_sentence(result, claim) for claim in claims if claim.measure in main]
        for kind, word in ((ClaimKind.BETTER, "Better"), (ClaimKind.WORSE, "Worse")):
            others = [
                _other_change(result, claim) for claim in claims if claim.measure not in main and claim.kind is kind
            ]
            items += [f"{word} on other measures: {listing(others, FEW)}."] if others else []
        yield Statements(Name(treatment), (*items, *elsewhere.pop(treatment, ())))
    yield from (Statements(Name(treatment), tuple(items)) for treatment, items in elsewhere.items())
    standings = (ClaimKind.NEAREST, ClaimKind.AMONG)
    yield from _statements(NEAREST, condition_sentences(result, standings))
    alternatives = (alternative.words for alternative in result.alternatives if alternative.outcome == "confirmed")
    yield from _statements("Less discriminatory alternatives", alternatives)
    yield from _statements("Equivalence", equivalence_words(result, shown=True))
    yield from _statements("Treatments compared with one another", contrast_words(result, found=True))
    collapsed = (_collapsed_words(result, claim) for claim in result.claims if claim.kind is ClaimKind.COLLAPSED)
    yield from _statements("Collapsed to a constant prediction", collapsed)


def _changes_elsewhere(result: StudyResult) -> dict[str, list[str]]:
    """Say what is confirmed of each treatment between the groups of other attributes than the study's main one."""
    main = ((), result.attribute)
    others = dict.fromkeys(record.attribute for record in result.records if record.attribute not in main)
    sentences: dict[str, list[str]] = {}
    for attribute in others:
        claims = list(change_claims(result, attribute))
        for treatment in dict.fromkeys(claim.treatments[0] for claim in claims):
            for kind, word in ((ClaimKind.BETTER, "Better"), (ClaimKind.WORSE, "Worse")):
                ofs = [claim for claim in claims if claim.kind is kind and claim.treatments[0] == treatment]
                changes = [_other_change(result, claim) for claim in ofs]
                if changes:
                    where = f"{word} between groups of {title_of_attribute(attribute)}: {listing(changes, FEW)}."
                    sentences.setdefault(treatment, []).append(where)
    return sentences


def inconclusive(result: StudyResult) -> Iterator[Statements]:
    """Yield what is not known: who is nearest, alternatives, equivalence, and comparisons by what limits them."""
    undecided = (ClaimKind.NOT_SEPARABLE, ClaimKind.UNDEFINED, ClaimKind.NO_BASELINE, ClaimKind.ALL_COLLAPSED)
    if not only_baseline(result):
        yield from _statements(NEAREST, condition_sentences(result, undecided))
    main = (result.performance[0], result.fairness, result.distance)
    yield from _statements("Comparisons with the baseline", unknown(result, main))
    yield from _statements("Treatments compared with one another", contrast_words(result, found=False))
    yield from _statements("Equivalence", equivalence_words(result, shown=False))
    yield from _statements(
        "Less discriminatory alternatives",
        (alternative.words for alternative in result.alternatives if alternative.outcome != "confirmed"),
    )
    yield from _statements("Failed trials", failure_words(result))


def _statements(title: str, items: Iterable[Text]) -> Iterator[Statements]:
    sentences = tuple(items)
    if sentences:
        yield Statements(title, sentences)


def change_sentence(result: StudyResult, claim: Claim) -> str:
    """Say one confirmed change with its numbers; of several conditions the smallest and the largest change."""
    measure = str(claim.measure)
    word = compared_word(result, measure, better=claim.kind is ClaimKind.BETTER)
    word = word[:1].upper() + word[1:]
    if len(claim.unders) == 1:
        where = f" {under_phrase(result, claim.unders[0])}" if len(result.unders) > 1 else ""
        numbers = _against(result, claim.unders[0], claim.treatments[0], measure)
        return f"{word}{where}: {numbers} ({signed_thousandths(claim.changes[0])})."
    (low, at_low), (high, at_high) = _smallest_and_largest(claim)
    by = low
    if low != high:
        to = "and" if len(claim.changes) == 2 else "to"
        by = f"{low} ({under_noun(result, at_low)}) {to} {high} ({under_noun(result, at_high)})"
    return f"{word} {_scope(result, claim.unders)}: {measure_name(result, measure)} changes by {by}."


def _other_change(result: StudyResult, claim: Claim) -> str:
    """Name a measure that is not a main one, under how many conditions it changed, and by how much."""
    number = len(result.unders)
    where = f"; {len(claim.changes)} of {number} conditions" if number > 1 else ""
    (low, at_low), (high, at_high) = _smallest_and_largest(claim)
    by = low
    if low != high:
        smallest, largest = ("", "") if len(claim.changes) == 2 else ("smallest ", "largest ")
        by = f"{smallest}{low} {under_phrase(result, at_low)}, {largest}{high} {under_phrase(result, at_high)}"
    return f"{measure_name(result, str(claim.measure))} ({by}{where})"


def _smallest_and_largest(claim: Claim) -> tuple[tuple[str, Under], tuple[str, Under]]:
    """Return the smallest and the largest change, each with its condition: bare ends would read as an interval."""
    by_size = sorted(zip(map(abs, claim.changes), claim.changes, claim.unders, strict=True))
    (_, least, at_least), (_, most, at_most) = by_size[0], by_size[-1]
    return (signed_thousandths(least), at_least), (signed_thousandths(most), at_most)


def equivalence_words(result: StudyResult, *, shown: bool) -> Iterator[str]:
    """Say which changes of the main measures are shown to be within the margin, or that none is, if one was given."""
    main = (result.performance[0], result.fairness, result.distance)
    tested = [
        record for record in result.records
        if record.margin is not None and record.chosen and record.measure in main
        and record.attribute in ((), result.attribute)
    ]  # fmt: skip
    if not tested:
        return
    margin = tested[0].margin
    late = "" if tested[0].margin_recorded else " (the margin was not recorded before results were read)"
    counts: dict[tuple[str, str], int] = {}
    for record in tested:
        if record.equivalent:
            key = (record.treatment, record.measure)
            counts[key] = counts.get(key, 0) + 1
    if not counts and not shown:
        yield f"No change of {_listed_main(result)} is shown to be within {margin:g} of {baseline_name(result)}{late}."
    if counts and shown:
        number = len(result.unders)
        parts = [
            f"{treatment} on {measure_name(result, measure)}"
            + (f" under {times} of {number} conditions" if number > 1 else "")
            for (treatment, measure), times in counts.items()
        ]
        yield f"Shown to be within {margin:g} of {baseline_name(result)}: {listing(parts, 2 * FEW)}{late}."


def _listed_main(result: StudyResult) -> str:
    return f"{measure_name(result, result.performance[0])}, fairness or distance to the optimum"


def contrast_words(result: StudyResult, *, found: bool) -> Iterator[str]:
    """Say which treatments differ from one another on the main measures, or that none does, where it was asked."""
    main = (result.performance[0], result.fairness, result.distance)
    contrasts = [
        contrast
        for contrast in result.contrasts
        if contrast.measure in main and contrast.attribute in ((), result.attribute)
    ]
    pairs = plural(
        len({(contrast.treatment, contrast.against) for contrast in contrasts}),
        "pair of treatments",
        "pairs of treatments",
    )
    differing: dict[str, list[str]] = {}
    for contrast in contrasts:
        if contrast.good is not None:
            where = f", {under_name(result, (contrast.condition, contrast.learner))}" if len(result.unders) > 1 else ""
            words = f"{contrast.treatment} than {contrast.against} ({signed_thousandths(contrast.change)}{where})"
            differing.setdefault(compared_word(result, contrast.measure, better=contrast.good), []).append(words)
    if contrasts and not differing and not found:
        yield f"None of {pairs} differs significantly on {_listed_main(result)}."
    if found:
        yield from (f"Significantly {word}: {listing(names, FEW)}." for word, names in differing.items())


def look_words(result: StudyResult) -> Iterator[str]:
    """Say that verdicts were read before, and what that costs."""
    looks = result.looks
    if looks is None or looks.number < 2:
        return
    seeds = listing([str(look.seeds) for look in looks.looks], 6)
    trials = listing([f"{look.trials:,}" for look in looks.looks], 6)
    options = result.provenance.get("options")
    threshold = options.get("threshold", 0.05) if isinstance(options, dict) else 0.05
    yield (
        f"The verdicts of this study were read {looks.number} times with different data (seeds: {seeds}; trials: "
        f"{trials}), so each is decided at {threshold / looks.number:.3g} instead of {threshold:g}."
    )


def _collapsed_words(result: StudyResult, claim: Claim) -> str:
    """Say that a treatment does no better than a constant prediction, and in how many of its runs."""
    cells = [
        cell
        for cell in result.cells
        if cell.chosen and cell.treatment == claim.treatments[0] and (cell.condition, cell.learner) in claim.unders
    ]
    runs, collapsed = sum(cell.runs for cell in cells), sum(cell.collapsed_runs for cell in cells)
    consequence = "so no alternative to it is named" if (
        claim.treatments[0] == result.baseline
    ) else "so it is neither best nor an alternative"  # fmt: skip
    return (
        f"{claim.treatments[0]} has collapsed {_scope(result, claim.unders)}: on the dev rows it does no better "
        f"than a constant prediction ({collapsed:,} of {plural(runs, 'run')}), {consequence}."
    )


def unknown(result: StudyResult, measures: Sequence[str] | None = None) -> Iterator[str]:
    """Yield what is inconclusive or undefined (on some measures) and why; those with the same reason together."""
    reasons: dict[str, dict[str, dict[str, list[str]]]] = {}
    for record in result.records:
        if measures is not None and (record.measure not in measures or record.attribute not in ((), result.attribute)):
            continue
        if record.verdict == Verdict.UNDECIDED or (math.isnan(record.mean) and record.reason):
            on = f" ({' & '.join(record.attribute)})" if record.attribute and measures is None else ""
            treatments = reasons.setdefault(_why(record), {}).setdefault(measure_name(result, record.measure) + on, {})
            treatments.setdefault(record.treatment, []).append(under_name(result, (record.condition, record.learner)))
    for reason, names in reasons.items():
        parts = [f"{name} of {listing(_placed(result, treatments), 4)}" for name, treatments in names.items()]
        together = f"{reason[:1].upper()}{reason[1:]}: {and_more(parts, 4)}."
        if len(together) <= LONGEST_SENTENCE:
            yield together
        else:
            yield from (f"{reason[:1].upper()}{reason[1:]}: {part}." for part in parts)


def _placed(result: StudyResult, treatments: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield treatments, each with its conditions where it is not about all of them."""
    for name, where in treatments.items():
        some = len(result.unders) > 1 and len(where) < len(result.unders)
        yield f"{name} ({listing(dict.fromkeys(where), 3)})" if some else name


def _why(record: StudyRecord) -> str:
    """Say why a comparison is inconclusive: what limits it, where it was tested; those limited alike stand together."""
    if record.limited_by not in LIMITS or record.smallest_effect is None:
        return str(record.reason or "")
    return LIMITS[record.limited_by].format(unit=record.unit, change=f"a change of {record.smallest_effect:g}")


def failure_words(result: StudyResult) -> Iterator[str]:
    """Say how many trials failed, and why."""
    if result.failures:
        number = sum(failure.trials for failure in result.failures)
        errors = listing(dict.fromkeys(failure.error for failure in result.failures), 3)
        trials = "1 trial failed and is" if number == 1 else f"{number:,} trials failed and are"
        yield f"{trials} in no number here: {errors}"


def _scope(result: StudyResult, unders: Sequence[Under]) -> str:
    number = len(result.unders)
    if len(unders) == 1:
        return under_phrase(result, unders[0])
    if len(unders) == number:
        return "under both conditions" if number == 2 else f"under all {number} conditions"
    return f"under {len(unders)} of {number} conditions"


def fairness_by(result: StudyResult) -> str:
    """Say which measure fairness is."""
    return {"fairness": "1 − GAP", "regression_fairness": "1 − gap"}.get(
        result.fairness, LABELS.get(result.fairness, result.fairness).removeprefix("Fairness (").removesuffix(")")
    )


def _on(result: StudyResult) -> str:
    return " & ".join(result.attribute)
