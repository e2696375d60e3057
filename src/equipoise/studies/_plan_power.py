"""Can a plan decide? The power to detect the effect that it names, before anything is trained.

The spreads that power rests on come from trials in the store, from the report of a pilot study, or from an assumption;
``SpreadSource`` says which. The level is that at which one of all comparisons of the report is confirmed alone.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation import BadInput
from equipoise.stats import (
    MAX_SEEDS,
    MIN_SEEDS,
    LimitedBy,
    detection_power,
    limited_by,
    nominal_level,
    seeds_to_detect,
)
from equipoise.studies.analysis import POWER, limit_reason
from equipoise.studies.findings import SCHEMA, layout_of

if TYPE_CHECKING:
    from equipoise.studies._study import Study

# The standard deviation of one pair of seeds where nothing is known: a change of 2 points is one of them.
ASSUMED_PAIR = 0.02
# The share of predictions that a treatment is assumed to change.
ASSUMED_CHANGED = 0.1
# Reruns matter little where their variance is below this share of the seeds'.
LITTLE = 0.25


class SpreadSource(StrEnum):
    """Where the spreads come from that a plan's power rests on."""

    PILOT = "pilot"
    STORE = "store"
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Spreads:
    """Standard deviations of fairness: of one pair of seeds, of the change over test people, of seeds and of reruns.

    The last two are None where they are not known.
    """

    source: SpreadSource
    pair: float
    people: float
    seeds: float | None = None
    reruns: float | None = None

    @property
    def reruns_matter_little(self) -> bool | None:
        """Tell whether identical reruns add little to what seeds do; None where that is not known."""
        if self.reruns is None or self.seeds is None or math.isnan(self.reruns) or math.isnan(self.seeds):
            return None
        return self.reruns**2 <= LITTLE * self.seeds**2


@dataclass(frozen=True)
class PlanPower:
    """Whether a plan can decide a change of fairness of the size that it names, after correction.

    ``power`` is that of the planned seeds, ``seeds_needed`` how many have 0.8 of it (None: no number up to 1,000 has).
    ``advised`` are seeds and repeats that use as many trainings better, where there are such.
    """

    effect: float
    comparisons: int
    level: float
    seeds: int
    repeats: int
    spreads: Spreads
    power: float
    seeds_needed: int | None
    limited_by: LimitedBy
    advised: tuple[int, int] | None = None

    @property
    def can_decide(self) -> bool:
        """Tell whether a change of this size is detected in 8 of 10 studies."""
        return self.power >= POWER

    @property
    def words(self) -> tuple[str, ...]:
        """What there is to know, a sentence each."""
        return (self._power_words(), *(() if self.advised is None else (self._advice(),)))

    def _power_words(self) -> str:
        change = f"a change of {100 * self.effect:g} points in fairness"
        basis = (
            f"standard deviation {self.spreads.pair:.2g} of a pair of seeds and {self.spreads.people:.2g} of test "
            f"people, {_SOURCES[self.spreads.source]}"
        )
        corrected = f"after correction over {self.comparisons:,} comparisons"
        if self.seeds < MIN_SEEDS:
            return (
                f"Warning: with {_number(self.seeds, 'seed')} no difference can be confirmed: that takes at least "
                f"{MIN_SEEDS}. {self._enough(change)} ({basis})."
            )
        if self.can_decide:
            return f"{self.seeds} seeds detect {change} with a power of {100 * self.power:.0f}% {corrected} ({basis})."
        return (
            f"Warning: {self.seeds} seeds detect {change} with a power of only {100 * self.power:.0f}% {corrected} "
            f"({basis}). {self._enough(change)}."
        )

    def _enough(self, change: str) -> str:
        if self.seeds_needed is not None:
            return f"About {self.seeds_needed} seeds would do"
        if self.limited_by is LimitedBy.SEEDS:
            return f"More than {MAX_SEEDS:,} seeds would be needed"
        sentence = str(limit_reason(self.limited_by, None, self.effect))
        return sentence[0].upper() + sentence[1:]

    def _advice(self) -> str:
        assert self.advised is not None
        seeds, repeats = self.advised
        little = self.spreads.reruns_matter_little
        why = (
            "unless identical reruns differ as much as seeds do, other seeds say more than reruns" if little is None
            else f"identical reruns add little (standard deviation {self.spreads.reruns:.2g} against "
            f"{self.spreads.seeds:.2g} of seeds)"
        )  # fmt: skip
        return f"Advice: repeats = {repeats}, seeds = {seeds} takes as many trainings and decides more: {why}."


_SOURCES = {
    SpreadSource.PILOT: "from the pilot study",
    SpreadSource.STORE: "from the trials in the store",
    SpreadSource.ASSUMED: "assumed: --pilot REPORT.json takes them from an earlier study",
}


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def plan_power(study: Study, comparisons: int, spreads: Spreads, threshold: float = 0.05) -> PlanPower | None:
    """Say whether a plan can decide the effect that it names; None where it compares nothing."""
    if not comparisons:
        return None
    seeds, repeats, effect = len(study.seeds), study.repeats, study.smallest_effect
    level = threshold / comparisons
    if study.stopping is not None:
        level = float(nominal_level(level, study.stopping.looks))
    single, people = spreads.pair**2, spreads.people**2
    number = float(seeds_to_detect(effect, single, people, level=level))
    enough = seeds >= MIN_SEEDS
    power = float(detection_power(effect, single, people, seeds, level)) if enough else 0.0
    limit = limited_by(effect, single, people, max(seeds, MIN_SEEDS), level=level)
    better = seeds > 1 and repeats > 1 and spreads.reruns_matter_little is not False
    return PlanPower(
        effect, comparisons, level, seeds, repeats, spreads, power, int(number) if math.isfinite(number) else None,
        limit if enough or limit is not LimitedBy.NOTHING else LimitedBy.SEEDS,
        advised=(seeds * repeats, 1) if better else None,
    )  # fmt: skip


def assumed_spreads(study: Study) -> Spreads:
    """Return spreads where nothing is known: 2 points of a pair of seeds; of people by how many there are to test.

    A treatment is taken to change a tenth of the predictions. A rate of n people then moves by sqrt(0.1 / n), and
    fairness (1 - GAP) by that of the gap between the largest and the smallest group, averaged over classes.
    """
    test_labels = study.labels.of("test")
    matrix, _ = layout_of(study.labels.names, study.cohort.favourable).folding(study.groups)
    places = np.where(matrix.any(axis=0), matrix.argmax(axis=0), -1)[np.asarray(test_labels.group)]
    usable = np.asarray(test_labels.is_known) & (places >= 0)
    target = (
        np.asarray(test_labels.target)[usable]
        if study.labels.task == "class"
        else np.zeros(int(usable.sum()), dtype=int)
    )
    group = places[usable]
    variances = []
    for code in np.unique(target).tolist():
        sizes = np.bincount(group[target == code])
        sizes = np.sort(sizes[sizes > 0])
        if len(sizes) > 1:
            variances.append(ASSUMED_CHANGED * (1 / sizes[0] + 1 / sizes[-1]))
    people = math.sqrt(float(np.mean(variances)) / len(variances)) if variances else 0.0
    return Spreads(SpreadSource.ASSUMED, ASSUMED_PAIR, people)


def pilot_spreads(path: str | os.PathLike[str]) -> Spreads:
    """Read the spreads of fairness from the report of an earlier study (``study report PLAN --json FILE``)."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"The pilot {os.fspath(path)!r} cannot be read: {error}",
            help="name the JSON of a study: equipoise study report PILOT.toml --json pilot.json",
        ) from error
    kind = content.get("schema") if isinstance(content, dict) else type(content).__name__
    if kind != SCHEMA:
        raise BadInput(
            f"The pilot {os.fspath(path)!r} is {kind!r}", available=SCHEMA,
            help="create it again with this version: equipoise study report PILOT.toml --json pilot.json",
        )  # fmt: skip
    spreads = spreads_of(
        SpreadSource.PILOT, (record for record in content["records"] if record.get("measure") == content["fairness"])
    )
    if spreads is None:
        raise BadInput(
            f"The pilot {os.fspath(path)!r} has no comparison of fairness over {MIN_SEEDS} shared seeds or more",
            help="run the pilot with more seeds.",
        )
    return spreads


def spreads_of(source: SpreadSource, records: Iterable[dict[str, Any]]) -> Spreads | None:
    """Return the median spreads of records of fairness, given as plain values; None where none was tested."""
    fairness_records = list(records)
    tested = [
        record for record in fairness_records if record.get("p") is not None and record.get("spread_pair") is not None
    ]
    if not tested:
        return None

    def middle(name: str, among: list[dict[str, Any]]) -> float | None:
        values = [
            float(record[name]) for record in among if record.get(name) is not None and not math.isnan(record[name])
        ]
        return median(values) if values else None

    return Spreads(
        source, middle("spread_pair", tested) or 0.0, middle("spread_change_people", tested) or 0.0,
        seeds=middle("spread_seeds", fairness_records), reruns=middle("spread_reruns", fairness_records),
    )  # fmt: skip
