"""A study in plain words, made from its claims: what is confirmed, condition by condition, and what flips."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum

from equipoise.foundation.errors import listing
from equipoise.foundation.text import plural
from equipoise.results import Verdict
from equipoise.stats import FEWEST_SEEDS, LimitedBy
from equipoise.studies.findings.claims import Claim, ClaimKind, Under, ranks_under
from equipoise.studies.findings.identical.words import identical_words
from equipoise.studies.findings.quantities import LABELS
from equipoise.studies.findings.result import Alternative, RankRecord, StudyRecord, StudyResult
from equipoise.studies.findings.spaces.words import space_headline, space_words
from equipoise.studies.findings.units import RERUNS

# So many conditions are named in one sentence.
FEW = 4
SHORT = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "pearson": "correlation"}
STANDINGS = (ClaimKind.NEAREST, ClaimKind.AMONG, ClaimKind.NOT_SEPARABLE)
UNTREATED = "untreated"


def under_name(result: StudyResult, under: Under) -> str:
    """Name a condition; with several learners, by both."""
    return under[0] if len({learner for _, learner in result.unders}) == 1 else f"{under[0]}, {under[1]}"


def record_of(result: StudyResult, under: Under, treatment: str, measure: str) -> StudyRecord | None:
    """Return the record of a treatment on a measure of everyone or of the main attribute."""
    for attribute in ((), result.attribute):
        found = result.spoken_for.get((*under, treatment, measure, attribute))
        if found is not None:
            return found[1]
    return None


class Section(StrEnum):
    """What a sentence of a study is about."""

    MAIN = "main"
    IDENTICAL_RUNS = "identical runs"
    SPACES = "embedding spaces"


def words_of(result: StudyResult) -> Iterator[str]:
    """Yield the main sentences: the headline, then condition by condition, then alternatives and what flips."""
    return (sentence for _, sentence in sections_of(result))


def sections_of(result: StudyResult) -> Iterator[tuple[Section, str]]:
    """Yield every sentence with the section that it belongs to, in order."""
    yield from ((Section.MAIN, sentence) for sentence in _main_words(result))
    yield from ((Section.IDENTICAL_RUNS, sentence) for sentence in identical_words(result))
    yield from ((Section.SPACES, sentence) for sentence in space_words(result))
    yield from ((Section.MAIN, sentence) for sentence in _failure_words(result))


def _main_words(result: StudyResult) -> Iterator[str]:
    yield headline(result)
    yield from constant_words(result)
    yield from shown_words(result)
    yield from condition_words(result)
    yield from (one.words for one in result.alternatives)
    yield from flip_words(result)


def _failure_words(result: StudyResult) -> Iterator[str]:
    if result.failures:
        number = sum(failure.trials for failure in result.failures)
        reasons = listing(dict.fromkeys(failure.reason for failure in result.failures), 3)
        trials = "1 trial failed and is" if number == 1 else f"{number:,} trials failed and are"
        yield f"{trials} in no number here: {reasons}"


def headline(result: StudyResult) -> str:
    """Say first whether the baseline has collapsed, then what is confirmed, or what would be needed."""
    return _collapsed_baseline(result) + _headline(result)


def _collapsed_baseline(result: StudyResult) -> str:
    own = (claim for claim in result.claims if claim.kind is ClaimKind.COLLAPSED)
    claim = next((claim for claim in own if claim.treatments[0] == result.baseline), None)
    if claim is None:
        return ""
    name = "The untreated model" if result.baseline == UNTREATED else result.baseline
    return (
        f"{name} itself has collapsed under {_conditions_named(result, claim.unders)}: differences from it are "
        "differences from a constant prediction. "
    )


def only_baseline(result: StudyResult) -> bool:
    """Tell whether nothing but the baseline was run."""
    return {cell.treatment for cell in result.cells if cell.chosen} == {result.baseline}


def _headline(result: StudyResult) -> str:
    first = next(iter(result.claims), None)
    if first is None or first.kind is ClaimKind.UNDEFINED:
        undefined = (
            f"No treatment can be called best: the distance to the optimum on {_on(result)} is undefined everywhere."
        )
        return space_headline(result) or undefined
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
        return _nothing_words(result, first)
    return _confirmed_words(result)


def _nothing_words(result: StudyResult, claim: Claim) -> str:
    """Say that nothing is confirmed on the main measures, and how many seeds would be needed."""
    had = f"{claim.runs} identical runs of one seed" if claim.unit == RERUNS else plural(claim.runs or 0, "seed")
    told = f"No treatment is distinguishable from {_baseline(result)} with {had}"
    if claim.elsewhere:
        names = f"{measure_name(result, result.performance[0])}, fairness and their distance to the optimum"
        changed = plural(claim.elsewhere, "change of another measure is", "changes of other measures are")
        told += f" on {names} ({changed} significant)"
    return f"{told}. {_needed_words(result, claim)}".rstrip()


def _needed_words(result: StudyResult, claim: Claim) -> str:
    needed = claim.needed
    if claim.unit == RERUNS:
        return f"At least {FEWEST_SEEDS} seeds per treatment are needed to say anything about other seeds."
    if claim.runs is not None and claim.runs < FEWEST_SEEDS:
        return f"At least {FEWEST_SEEDS} seeds per treatment are needed before a difference can be confirmed."
    if needed is None:
        untested = any(one.people_untested for one in result.records if one.measure == result.fairness)
        return "Fairness is not tested over people, which more seeds would not change." if untested else ""
    change = f"a change of {100 * needed.change:g} points in fairness"
    if needed.seeds is None:
        if needed.limited_by is LimitedBy.PEOPLE:
            return f"More seeds cannot detect {change}: only more test people can."
        if needed.limited_by is LimitedBy.BOTH:
            return f"It takes more seeds and more test people to detect {change}."
        return f"More than 1,000 seeds per treatment would be needed to detect {change}: the runs spread too far."
    if claim.runs is not None and needed.seeds <= claim.runs:
        return f"So many would detect {change} with a power of 80%; smaller changes need more."
    told = f"About {needed.seeds} seeds per treatment would detect {change}"
    if needed.most is None and needed.most_of is not None:
        told += f" ({needed.most_of}: no number of seeds would)"
    elif needed.most is not None and needed.most > 2 * needed.seeds:
        told += f" ({needed.most_of}: about {needed.most})"
    return told + "."


def _confirmed_words(result: StudyResult) -> str:
    """Say which treatment comes nearest where one is separable, else what is confirmed of treatments."""
    nearest = [claim for claim in result.claims if claim.kind is ClaimKind.NEAREST]
    main = (result.fairness, result.performance[0], result.distance)
    changes = [
        claim for claim in result.claims if claim.kind in (ClaimKind.BETTER, ClaimKind.WORSE) and claim.measure in main
    ]
    parts = [_nearest_words(result, nearest)] if nearest else []
    told: dict[tuple[bool, str], list[str]] = {}
    for claim in changes:
        if not (nearest and claim.measure == result.distance):
            key = (claim.kind is ClaimKind.BETTER, str(claim.measure))
            told.setdefault(key, []).append(f"{claim.treatments[0]}{_where(result, claim)}")
    for place, (better, measure) in enumerate(sorted(told, key=lambda key: (main.index(key[1]), not key[0]))):
        word = _compared_word(result, measure, better=better)
        first = f"significantly {word} than {_baseline(result)}"
        start = word if place else first if parts else first.capitalize()
        parts.append(f"{start}: {listing(told[better, measure], FEW - 1)}")
    if not any(claim.kind is ClaimKind.BETTER and claim.measure == result.fairness for claim in changes):
        parts.append(f"no treatment is significantly fairer (by {_fairness_by(result)})")
    return "; ".join(parts) + "."


def _nearest_words(result: StudyResult, claims: Sequence[Claim]) -> str:
    """Say which treatment comes nearest to the optimum under which conditions."""
    where: dict[str, list[Under]] = {}
    for claim in claims:
        where.setdefault(claim.treatments[0], []).extend(claim.unders)
    parts = [f"{name} under {_conditions_named(result, own)}" for name, own in where.items()]
    if len(parts) > 1:
        return f"Nearest to the optimum on {_on(result)}: {'; '.join(parts)}"
    name, own = next(iter(where.items()))
    told = f"{name} comes nearest to the optimum on {_on(result)} under {_conditions_named(result, own)}"
    if name == result.baseline:
        return f"{told}: every treatment is significantly further from it"
    return told


def _compared_word(result: StudyResult, measure: str, *, better: bool) -> str:
    """Say how a treatment compares on a measure."""
    if measure == result.fairness:
        return "fairer" if better else "less fair"
    if measure == result.distance:
        return "nearer to the optimum" if better else "further from the optimum"
    if measure == "accuracy":
        return "more accurate" if better else "less accurate"
    return f"{'better' if better else 'worse'} in {measure_name(result, measure)}"


def _where(result: StudyResult, claim: Claim) -> str:
    """Say under how many conditions, where not under all; of one condition, by how much."""
    if len(result.unders) == 1:
        return f" ({_by(claim)})"
    if len(claim.unders) == len(result.unders):
        return ""
    return f" ({_conditions_named(result, claim.unders)})"


def _by(claim: Claim) -> str:
    low, high = _signed(min(claim.changes)), _signed(max(claim.changes))
    return low if low == high else f"{low} to {high}"


def shown_words(result: StudyResult) -> Iterator[str]:
    """Say which changes are confirmed, for the better and for the worse, and which treatments have collapsed."""
    for kind, word in ((ClaimKind.BETTER, "better"), (ClaimKind.WORSE, "worse")):
        own = [_change_words(result, claim) for claim in result.claims if claim.kind is kind]
        if own:
            yield f"Significant after correction, for the {word}: {listing(own, 2 * FEW)}."
    yield from equivalence_words(result)
    yield from contrast_words(result)
    yield from look_words(result)
    for claim in result.claims:
        if claim.kind is ClaimKind.COLLAPSED:
            yield _collapsed_words(result, claim)


def equivalence_words(result: StudyResult) -> Iterator[str]:
    """Say which changes of the main measures are shown to be within the margin, if one was given."""
    main = (result.performance[0], result.fairness, result.distance)
    own = [
        record for record in result.records
        if record.margin is not None and record.chosen and record.measure in main
        and record.attribute in ((), result.attribute)
    ]  # fmt: skip
    if not own:
        return
    margin = own[0].margin
    late = "" if own[0].margin_recorded else " (the margin was not recorded before results were read)"
    found: dict[tuple[str, str], int] = {}
    for record in own:
        if record.equivalent:
            key = (record.treatment, record.measure)
            found[key] = found.get(key, 0) + 1
    if not found:
        yield f"No change of {_listed_main(result)} is shown to be within {margin:g} of {_baseline(result)}{late}."
        return
    number = len(result.unders)
    parts = [
        f"{treatment} on {measure_name(result, measure)}"
        + (f" under {times} of {number} conditions" if number > 1 else "")
        for (treatment, measure), times in found.items()
    ]
    yield f"Shown to be within {margin:g} of {_baseline(result)}: {listing(parts, 2 * FEW)}{late}."


def _listed_main(result: StudyResult) -> str:
    return f"{measure_name(result, result.performance[0])}, fairness or distance"


def contrast_words(result: StudyResult) -> Iterator[str]:
    """Say which treatments differ from one another on the main measures, where that was asked for."""
    main = (result.performance[0], result.fairness, result.distance)
    own = [one for one in result.contrasts if one.measure in main and one.attribute in ((), result.attribute)]
    if not own:
        return
    number = len(result.unders)
    found: dict[str, list[str]] = {}
    for one in own:
        if one.good is not None:
            told = f"{one.treatment} than {one.against} ({_signed(one.change)}"
            where = f", {under_name(result, (one.condition, one.learner))}" if number > 1 else ""
            found.setdefault(_compared_word(result, one.measure, better=one.good), []).append(f"{told}{where})")
    pairs = plural(len({(one.treatment, one.against) for one in own}), "pair of treatments", "pairs of treatments")
    if not found:
        yield f"Treatments compared with one another ({pairs}): none differs significantly on {_listed_main(result)}."
        return
    parts = [f"{word}: {listing(names, FEW)}" for word, names in found.items()]
    yield f"Treatments compared with one another ({pairs}), significantly {'; '.join(parts)}."


def look_words(result: StudyResult) -> Iterator[str]:
    """Say that verdicts were read before, and what that costs."""
    looks = result.looks
    if looks is None or looks.number < 2:
        return
    seeds = listing([str(one.seeds) for one in looks.looks], 6)
    trials = listing([f"{one.trials:,}" for one in looks.looks], 6)
    given = result.provenance.get("options")
    threshold = given.get("threshold", 0.05) if isinstance(given, dict) else 0.05
    yield (
        f"The verdicts of this study were read {looks.number} times with different data (seeds: {seeds}; trials: "
        f"{trials}), so each is decided at {threshold / looks.number:.3g} instead of {threshold:g}."
    )


def _change_words(result: StudyResult, claim: Claim) -> str:
    name = measure_name(result, str(claim.measure))
    number = len(result.unders)
    where = f" under {len(claim.changes)} of {number} conditions" if number > 1 else ""
    return f"{claim.treatments[0]} on {name}{where} ({_by(claim)})"


def _collapsed_words(result: StudyResult, claim: Claim) -> str:
    """Say that a treatment does no better than a constant prediction, and in how many of its runs."""
    cells = [
        cell
        for cell in result.cells
        if cell.chosen and cell.treatment == claim.treatments[0] and (cell.condition, cell.learner) in claim.unders
    ]
    runs, collapsed = sum(cell.runs for cell in cells), sum(cell.collapsed_runs for cell in cells)
    what = "so no alternative to it is named" if (
        claim.treatments[0] == result.baseline
    ) else "so it is neither best nor an alternative"  # fmt: skip
    return (
        f"{claim.treatments[0]} has collapsed under {_conditions_named(result, claim.unders)}: on the dev rows it does "
        f"no better than a constant prediction ({collapsed:,} of {plural(runs, 'run')}), {what}."
    )


def constant_words(result: StudyResult) -> Iterator[str]:
    """Say what a model that predicts the same for everybody would get, and who does no better."""
    constant = result.constant
    if constant is None or not result.cells:
        return
    always = (
        f"a model that always predicts {constant.prediction if constant.share is None else repr(constant.prediction)}"
    )
    performance = measure_name(result, result.performance[0])
    if math.isnan(constant.distance):
        numbers = "" if math.isnan(constant.performance) else f" has {performance} {constant.performance:.3f}, and"
        yield f"For orientation, {always}{numbers} has no distance to the optimum: {constant.reason}."
        return
    told = (
        f"For orientation, {always} would score {constant.distance:.3f} ({performance} {constant.performance:.3f}, "
        f"fairness {constant.fairness:.3f})"
    )
    further = [
        cell
        for cell in result.cells
        if cell.chosen and not math.isnan(cell.test_distance) and cell.test_distance >= constant.distance
    ]
    defined = [cell for cell in result.cells if cell.chosen and not math.isnan(cell.test_distance)]
    if not further:
        yield f"{told}; every treatment is nearer to the optimum than that on average."
        return
    if len(further) == len(defined):
        yield f"{told}; on average no treatment is nearer to the optimum than that."
        return
    where: dict[str, list[Under]] = {}
    for cell in further:
        where.setdefault(cell.treatment, []).append((cell.condition, cell.learner))
    names = [
        name if len(result.unders) == 1 else f"{name} under {_conditions_named(result, own)}"
        for name, own in where.items()
    ]
    yield f"{told}; on average no nearer to the optimum than that: {listing(names, 2 * FEW)}."


def condition_words(result: StudyResult, most: int | None = None) -> Iterator[str]:
    """Say condition by condition which treatment comes nearest to the optimum, if any is separable."""
    standings = {claim.unders[0]: claim for claim in result.claims if len(claim.unders) == 1 and _is_standing(claim)}
    for under in result.unders[:most]:
        claim = standings.get(under)
        if claim is not None:
            yield condition_sentence(result, under, claim)


def _is_standing(claim: Claim) -> bool:
    """Tell whether a claim says who is nearest under one condition, or why nobody is."""
    about_one = claim.kind in (ClaimKind.UNDEFINED, ClaimKind.NO_BASELINE, ClaimKind.ALL_COLLAPSED)
    return claim.kind in STANDINGS or about_one


def condition_sentence(result: StudyResult, under: Under, claim: Claim) -> str:
    """Say of one condition which treatment is nearest to the optimum, if any, its cost, and if a rerun would agree."""
    name = under_name(result, under)
    ranks = sorted(ranks_under(result, under), key=lambda rank: rank.rank)
    if claim.kind is ClaimKind.ALL_COLLAPSED:
        return f"{name}: every model has collapsed to a constant prediction, so no treatment is compared."
    if claim.kind is ClaimKind.UNDEFINED or not ranks:
        return f"{name}: the distance to the optimum is undefined, so no treatment is called best."
    if claim.kind is ClaimKind.NO_BASELINE:
        return f"{name}: {_range(ranks)}" + (
            "." if only_baseline(result) else "; nothing is tested without a baseline."
        )
    base = record_of(result, under, result.baseline, result.distance)
    if claim.kind is ClaimKind.NOT_SEPARABLE:
        return f"{name}: no treatment is significantly nearer to the optimum than {result.baseline}; {_range(ranks)}."
    if claim.kind is ClaimKind.AMONG:
        shown = [f"{rank.treatment} {rank.value:.3f}" for rank in ranks if rank.treatment in claim.treatments]
        against = "" if base is None else f", {result.baseline} {base.mean:.3f}"
        return (
            f"{name}: {ranks[0].treatment} is significantly nearer to the optimum than {result.baseline}, but which "
            f"treatment is nearest is not decided (distance {', '.join(shown)}{against})."
        )
    best = next(rank for rank in ranks if rank.treatment == claim.treatments[0])
    record = record_of(result, under, best.treatment, result.distance)
    assert record is not None
    if best.treatment == result.baseline:
        return (
            f"{name}: every treatment is significantly further from the optimum than {best.treatment}; {_range(ranks)}."
        )
    drawn = "identical runs and people" if record.unit == RERUNS else "seeds and people"
    told = [
        f"{name}: {best.treatment} is nearest to the optimum (distance {best.value:.3f}"
        + ("" if base is None else f", {result.baseline} {base.mean:.3f}")
        + f"), in {_in_100(best.prob_best)} of 100 draws of {drawn}{_if_equal(best)}",
        _difference_words(record, result.baseline),
        _cost_words(result, under, best.treatment),
        f"with one run of each, {_in_100(best.prob_best_single)} of 100 reruns would name it again",
    ]
    return "; ".join(part for part in told if part) + "."


def _range(ranks: Sequence[RankRecord]) -> str:
    """Write the distances from the least to the largest, with who has them."""
    low, high = ranks[0], ranks[-1]
    if len(ranks) == 1:
        return f"distance {low.value:.3f} ({low.treatment})"
    return f"distances from {low.value:.3f} ({low.treatment}) to {high.value:.3f} ({high.treatment})"


def _if_equal(best: RankRecord) -> str:
    """Say how often the nearest of equal treatments would have been drawn."""
    return "" if math.isnan(best.prob_best_if_equal) else f" (of equal treatments: {_in_100(best.prob_best_if_equal)})"


def _in_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _difference_words(record: StudyRecord, baseline: str) -> str:
    low, high = record.change_low, record.change_high
    between = ""
    if low is not None and high is not None and not math.isnan(low):
        between = f", {interval_name(record.level)} {low:+.3f} to {high:+.3f}"
    return f"the difference from {baseline} is {_signed(record.change)}{between}, significant after correction"


def interval_name(level: float | None) -> str:
    """Name an interval by its level: that at which the verdict was decided."""
    return "95% interval" if level is None else f"{100 * (1 - level):.4g}% interval"


def _signed(value: float | None) -> str:
    """Write a change with its sign; what rounds to 0 has none."""
    text = f"{value or 0.0:+.3f}"
    return "0.000" if float(text) == 0 else text


def _cost_words(result: StudyResult, under: Under, treatment: str) -> str:
    """Say what a treatment does to performance."""
    record = record_of(result, under, treatment, result.performance[0])
    name = measure_name(result, result.performance[0])
    if record is None or record.verdict is None:
        return ""
    return {
        Verdict.LOWER: f"it costs {abs(record.change or 0.0):.3f} of {name}",
        Verdict.HIGHER: f"{name} rises by {abs(record.change or 0.0):.3f}",
        Verdict.NONE: f"no significant change of {name} ({_signed(record.change)})",
        Verdict.UNDECIDED: f"whether {name} changes is undecided ({_signed(record.change)})",
    }[record.verdict]


def flip_words(result: StudyResult) -> Iterator[str]:
    """Say how many predictions flip between identical runs."""
    own = [flip for flip in result.flips if flip.group is None]
    if not own:
        return
    worst = max(own, key=lambda flip: flip.share)
    if worst.flipped == 0:
        yield f"No prediction differs between identical runs ({max(flip.runs for flip in own)} of a seed)."
        return
    yield (
        f"Predictions that flip between identical runs: most for {worst.treatment} under {worst.condition}, "
        f"{worst.flipped:,} of {worst.people:,} test rows ({100 * worst.share:.1f}%) over {worst.runs} runs."
    )


def alternative_words(made: Alternative, performance: str) -> str:
    """Say the less discriminatory alternative by name where the test rows confirm it, or that there is none."""
    name = SHORT.get(performance) or LABELS.get(performance) or performance.replace("_", " ")
    where = f"under {made.condition}"
    equal = f"an equal {name} (within {made.margin:g})"
    if made.outcome == "no candidate":
        return f"No treatment {where} is fairer than {made.baseline} at {equal} on dev rows."
    called = f"{made.candidate} ({made.candidate_setting})" if made.candidate_setting else str(made.candidate)
    numbers = (
        f"on test rows fairness {_three(made.fairness)} against {_three(made.baseline_fairness)}, {name} "
        f"{_three(made.performance)} against {_three(made.baseline_performance)}"
    )
    if made.outcome == "confirmed":
        return (
            f"Less discriminatory alternative {where}: {called}, significantly fairer than {made.baseline} at {equal}; "
            f"{numbers}."
        )
    why = {
        "not confirmed": "the difference in fairness is not significant",
        "less fair": "it is less fair there",
        "less performance": f"it costs more {name} than that there",
    }[made.outcome]
    return (
        f"No less discriminatory alternative is confirmed {where}: {called} is fairer than {made.baseline} at {equal} "
        f"on dev rows, but {why} ({numbers})."
    )


def _conditions_named(result: StudyResult, unders: Sequence[Under]) -> str:
    number = len(result.unders)
    if len(unders) == 1:
        return under_name(result, unders[0])
    if len(unders) == number:
        return "both conditions" if number == 2 else f"all {number} conditions"
    return f"{len(unders)} of {number} conditions"


def measure_name(result: StudyResult, measure: str) -> str:
    """Name a measure in a sentence."""
    own = {result.fairness: "fairness", result.distance: "distance"}
    return SHORT.get(measure) or own.get(measure) or LABELS.get(measure) or measure.replace("_", " ")


def _baseline(result: StudyResult) -> str:
    return "the untreated model" if result.baseline == UNTREATED else result.baseline


def _fairness_by(result: StudyResult) -> str:
    """Say which measure fairness is."""
    return {"fairness": "1 - GAP", "regression_fairness": "1 - gap"}.get(
        result.fairness, LABELS.get(result.fairness, result.fairness).removeprefix("Fairness (").removesuffix(")")
    )


def _on(result: StudyResult) -> str:
    return " & ".join(result.attribute)


def _three(value: float | None) -> str:
    return "undefined" if value is None or math.isnan(value) else f"{value:.3f}"
