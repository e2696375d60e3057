"""A study in plain words: which treatment is best where, is the difference real, its costs, and would a rerun agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from equipoise.foundation.errors import listing
from equipoise.studies.findings.identical.words import identical_words
from equipoise.studies.findings.result import Alternative, RankRecord, StudyRecord, StudyResult
from equipoise.studies.findings.spaces.words import space_headline, space_words
from equipoise.studies.findings.units import RERUNS

Under = tuple[str, str]
# So many conditions are named in one sentence.
FEW = 4
SHORT = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "pearson": "correlation"}


def under_name(result: StudyResult, under: Under) -> str:
    """Name a condition; with several learners, by both."""
    return under[0] if len({learner for _, learner in result.unders}) == 1 else f"{under[0]}, {under[1]}"


def best_of(result: StudyResult, under: Under) -> RankRecord | None:
    """Return the treatment with the least distance to the optimum under a condition; None where none is defined."""
    return _best_by_under(result).get(under)


def _best_by_under(result: StudyResult) -> dict[Under, RankRecord]:
    found: dict[Under, RankRecord] = {}
    for rank in result.ranks:
        if rank.measure != result.distance or rank.attribute != result.attribute or math.isnan(rank.rank):
            continue
        under = (rank.condition, rank.learner)
        if under not in found or rank.rank < found[under].rank:
            found[under] = rank
    return found


def record_of(result: StudyResult, under: Under, treatment: str, measure: str) -> StudyRecord | None:
    """Return the record of a treatment on a measure of everyone or of the main attribute."""
    for attribute in ((), result.attribute):
        found = result.spoken_for.get((*under, treatment, measure, attribute))
        if found is not None:
            return found[1]
    return None


def words_of(result: StudyResult) -> Iterator[str]:
    """Yield the main sentences: the headline, then condition by condition, then alternatives and what flips."""
    unders = result.unders
    yield headline(result)
    yield from shown_words(result)
    best = _best_by_under(result)
    # Where none is best anywhere the headline has said so.
    yield from (condition_sentence(result, under, best.get(under)) for under in unders if best)
    yield from (one.words for one in result.alternatives)
    yield from flip_words(result)
    yield from identical_words(result)
    yield from space_words(result)
    if result.failures:
        number = sum(failure.trials for failure in result.failures)
        reasons = listing(dict.fromkeys(failure.reason for failure in result.failures), 3)
        trials = "1 trial failed and is" if number == 1 else f"{number:,} trials failed and are"
        yield f"{trials} in no number here: {reasons}"


def headline(result: StudyResult) -> str:
    """Say in one sentence which treatment is best, where, and whether that is more than chance."""
    best = _best_by_under(result)
    on = " & ".join(result.attribute)
    if not best:
        undefined = f"No treatment can be called best: the distance to the optimum on {on} is undefined everywhere."
        return space_headline(result) or undefined
    winners = list(dict.fromkeys(found.treatment for found in best.values()))
    real = [under for under, found in best.items() if _is_real(result, under, found.treatment)]
    if len(winners) == 1:
        where = f"under {_conditions_named(result, list(best))}"
        told = f"{winners[0]} comes nearest to the optimum on {on} {where}"
    else:
        told = f"What comes nearest to the optimum on {on} depends on the training data: {_by_winner(result, best)}"
    if winners == [result.baseline]:
        return f"{told}: no treatment improves on it on average."
    if not _has_baseline(result):
        return f"{told}. There is no baseline ({result.baseline!r}) to hold it against."
    treated = [under for under, found in best.items() if found.treatment != result.baseline]
    if len(real) == len(treated):
        told += f"; the difference from {result.baseline} is more than chance" + (
            " in each" if len(treated) > 1 else ""
        )
    elif not real:
        told += f"; whether it differs from {result.baseline} these runs do not show"
    else:
        told += f"; the difference from {result.baseline} is more than chance under {len(real)} of {len(treated)}"
    return told + "."


def shown_words(result: StudyResult) -> Iterator[str]:
    """Say which treatments change performance, fairness or distance by more than chance, and by how much."""
    found: dict[tuple[str, str, bool], list[float]] = {}
    for record in result.records:
        main = record.measure in (result.performance[0], result.fairness, result.distance)
        if main and record.chosen and record.good is not None and record.attribute in ((), result.attribute):
            found.setdefault((record.treatment, record.measure, record.good), []).append(record.change or 0.0)
    for good, word in ((False, "worse"), (True, "better")):
        kept = sorted((key for key in found if key[2] == good), key=lambda key: -len(found[key]))
        own = [_change_words(result, *key[:2], found[key]) for key in kept]
        if own:
            yield f"More than chance, for the {word}: {listing(own, FEW)}."


def _change_words(result: StudyResult, treatment: str, measure: str, changes: Sequence[float]) -> str:
    name = SHORT.get(measure, {result.fairness: "fairness", result.distance: "distance"}.get(measure, measure))
    low, high = min(changes), max(changes)
    by = _signed(low) if _signed(low) == _signed(high) else f"{_signed(low)} to {_signed(high)}"
    number = len(result.unders)
    where = f" under {len(changes)} of {number} conditions" if number > 1 else ""
    return f"{treatment} on {name}{where} ({by})"


def _by_winner(result: StudyResult, best: Mapping[Under, RankRecord]) -> str:
    """Say who is best where; of many conditions, how many each."""
    where: dict[str, list[str]] = {}
    for under, found in best.items():
        where.setdefault(found.treatment, []).append(under_name(result, under))
    if len(best) <= FEW:
        return "; ".join(f"{winner} under {listing(own)}" for winner, own in where.items())
    most = sorted(where, key=lambda winner: -len(where[winner]))
    parts = [f"{winner} under {len(where[winner])}" for winner in most]
    return f"of {len(best)} conditions, {listing(parts, 4)}"


def _conditions_named(result: StudyResult, unders: Sequence[Under]) -> str:
    if len(unders) == 1:
        return under_name(result, unders[0])
    return "both conditions" if len(unders) == 2 else f"all {len(unders)} conditions"


def _has_baseline(result: StudyResult) -> bool:
    return any(record.baseline is not None for record in result.records)


def _is_real(result: StudyResult, under: Under, treatment: str) -> bool:
    record = record_of(result, under, treatment, result.distance)
    return record is not None and record.good is True


def condition_sentence(result: StudyResult, under: Under, best: RankRecord | None) -> str:
    """Say of one condition what is best, whether it is real, what it costs, and whether a rerun would agree."""
    name = under_name(result, under)
    if best is None:
        return f"{name}: the distance to the optimum is undefined, so no treatment is called best."
    record = record_of(result, under, best.treatment, result.distance)
    base = record_of(result, under, result.baseline, result.distance)
    assert record is not None
    drawn = "identical runs and people" if record.unit == RERUNS else "seeds and people"
    told = [
        f"{name}: {best.treatment} is best (distance {best.value:.3f}"
        + (f", {result.baseline} {base.mean:.3f}" if base is not None and best.treatment != result.baseline else "")
        + f"), in {_in_100(best.prob_best)} of 100 draws of {drawn}"
    ]
    if record.verdict is not None:
        told.append(_real_words(record, result.baseline))
        told.append(_cost_words(result, under, best.treatment))
    told.append(f"with one run of each, {_in_100(best.prob_best_single)} of 100 reruns would name it again")
    return "; ".join(part for part in told if part) + "."


def _in_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _real_words(record: StudyRecord, baseline: str) -> str:
    if record.verdict in ("lower", "higher"):
        low, high = record.change_low, record.change_high
        between = "" if low is None or high is None or math.isnan(low) else f" ({low:+.3f} to {high:+.3f})"
        return f"the difference from {baseline} is {_signed(record.change)}{between}, more than chance"
    if record.verdict == "none":
        return f"a difference from {baseline} could be chance"
    return f"whether it differs from {baseline} is undecided{_advice(record)}"


def _advice(record: StudyRecord) -> str:
    """Return what a reason advises, if anything."""
    return next((f" ({part.strip()} that)" for part in (record.reason or "").split(";") if "could decide" in part), "")


def _signed(value: float | None) -> str:
    """Write a change with its sign; what rounds to 0 has none."""
    text = f"{value or 0.0:+.3f}"
    return "0.000" if float(text) == 0 else text


def _cost_words(result: StudyResult, under: Under, treatment: str) -> str:
    """Say what a treatment does to performance and time."""
    record = record_of(result, under, treatment, result.performance[0])
    cell = next(
        c for c in result.cells if (c.condition, c.learner, c.treatment) == (*under, treatment) and c.chosen
    )  # fmt: skip
    name = SHORT.get(result.performance[0], result.performance[0])
    parts = []
    if record is not None and record.verdict is not None:
        parts.append({
            "lower": f"it costs {abs(record.change or 0.0):.3f} of {name}",
            "higher": f"{name} rises by {abs(record.change or 0.0):.3f}",
            "none": f"no change of {name} is shown ({_signed(record.change)})",
            "undecided": f"whether {name} changes is undecided ({_signed(record.change)})",
        }[record.verdict])  # fmt: skip
    if cell.seconds_ratio is not None:
        equal = 0.95 <= cell.seconds_ratio < 1.05
        parts.append("a run takes as long" if equal else f"a run takes {cell.seconds_ratio:.1f} times as long")
    return ", ".join(parts)


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
        f"{worst.flipped:,} of {worst.people:,} people ({100 * worst.share:.1f} %) over {worst.runs} runs."
    )


def alternative_words(made: Alternative, performance: str) -> str:
    """Say the less discriminatory alternative by name, or that there is none."""
    name, where = SHORT.get(performance, performance), f"under {made.condition}"
    equal = f"an equal {name} (within {made.margin:g}) on dev rows"
    if made.treatment is None:
        return f"No treatment {where} is fairer than {made.baseline} at {equal}."
    called = f"{made.treatment} ({made.setting})" if made.setting else made.treatment
    verdict = {"higher": "more than chance", "none": "a difference that could be chance",
               "undecided": "a difference these runs cannot decide", "lower": "less fair there, more than chance",
               None: "not tested"}[made.verdict]  # fmt: skip
    return (
        f"Less discriminatory alternative {where}: {called}, fairer than {made.baseline} at {equal}; on test rows "
        f"fairness {_three(made.fairness)} against {_three(made.baseline_fairness)} ({verdict}), {name} "
        f"{_three(made.performance)} against {_three(made.baseline_performance)}."
    )


def _three(value: float | None) -> str:
    return "undefined" if value is None or math.isnan(value) else f"{value:.3f}"
