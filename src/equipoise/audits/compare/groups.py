"""Every group's record: its scores, and its share among the most changed against its share of everyone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.audits.compare.most_changed import Composition, Cut, composition, effect, lowest
from equipoise.audits.compare.result import ChangeRecord
from equipoise.audits.compare.rows import Attribute
from equipoise.audits.compare.score_spread import QUANTILES, spread
from equipoise.audits.compare.scores import Scored
from equipoise.foundation.seeds import stream
from equipoise.results import Status
from equipoise.stats import Units, share_interval
from equipoise.tallies.arrays import Floats

NO_SCORES: dict[str, Any] = dict.fromkeys(("mean", *QUANTILES), math.nan)


def change_records(
    scores: Scored, attributes: Sequence[Attribute], units: Units, cut: Cut, floor: Scored | None, *,
    include_missing: bool, least: int, draws: int, seed: int,
) -> list[ChangeRecord]:  # fmt: skip
    """Return a record for everyone, then one for each group of each attribute."""
    known = scores.known
    held = units.only(known)
    told = cut.tells_apart
    everyone = ChangeRecord(
        attribute=None,
        group=None,
        people=len(known),
        undefined=int((~known).sum()),
        profiles=units.number,
        **_spread(scores.values[known]),
        changed=cut.changed if told else None,
        share_changed=cut.reached if told else math.nan,
        status=Status.OK if told else Status.UNDEFINED,
        reason=None if told else "every score is the same: nobody changed more than the others",
    )
    records = [everyone]
    for attribute in attributes:
        own = attribute.only(known)
        found = composition(own, cut, held, draws=draws, generator=stream(seed, "most changed", attribute.name))
        noise = None if floor is None else _noise(attribute, floor, cut)
        tested = attribute.tested(include_missing=include_missing) if told and draws else []
        for place in range(len(attribute.groups)):
            people = int((attribute.codes == place).sum())
            if people < least:
                records.append(_hidden(attribute, place, least))
                continue
            record = _record(attribute, place, people, scores, units)
            if told:
                record = _with_shares(record, found, place, noise)
            records.append(_with_test(record, found, place) if place in tested else record)
    return records


def _spread(values: Floats) -> dict[str, Any]:
    return {**spread(values)}


def _hidden(attribute: Attribute, place: int, least: int) -> ChangeRecord:
    return ChangeRecord(
        attribute=attribute.name, group=attribute.groups[place], people=None, undefined=None, profiles=None,
        **NO_SCORES, status=Status.TOO_SMALL, reason=f"fewer than {least:,} people",
    )  # fmt: skip


def _record(attribute: Attribute, place: int, people: int, scores: Scored, units: Units) -> ChangeRecord:
    rows = attribute.codes == place
    known = rows & scores.known
    nobody = not known.any()
    return ChangeRecord(
        attribute=attribute.name,
        group=attribute.groups[place],
        people=people,
        undefined=people - int(known.sum()),
        profiles=len(np.unique(units.codes[rows])),
        **_spread(scores.values[known]),
        status=Status.UNDEFINED if nobody else Status.OK,
        reason="nobody in the group has a score" if nobody else None,
    )


def _with_shares(record: ChangeRecord, found: Composition, place: int, noise: Floats | None) -> ChangeRecord:
    share, population = float(found.share_changed[place]), float(found.share_population[place])
    if found.people[place] == 0:
        return record
    lift, h = effect(share, population)
    return replace(
        record,
        changed=float(found.changed[place]),
        share_changed=share,
        share_population=population,
        difference=share - population,
        lift=lift,
        h=h,
        share_changed_profiles=float(found.share_changed_units[place]),
        share_population_profiles=float(found.share_population_units[place]),
        share_changed_rerun=None if noise is None else float(noise[place]),
    )


def _with_test(record: ChangeRecord, found: Composition, place: int) -> ChangeRecord:
    p, half = float(found.p[place]), float(found.half[place])
    if math.isnan(p) or found.people[place] == 0:
        return record
    record = replace(record, p=p)
    if math.isnan(half) or not 0 < record.share_population < 1:
        return record
    low, high = share_interval(record.difference, record.share_population, half)
    return replace(record, low=low, high=high, interval="permutation")


def _noise(attribute: Attribute, floor: Scored, cut: Cut) -> Floats | None:
    """Return the shares of the groups among those whom the rerun alone would make the most changed."""
    known = floor.known
    other = lowest(floor.ranked, cut.share, cut.ties)
    if not other.tells_apart:
        return None
    parts = np.bincount(attribute.codes[known], weights=other.weights, minlength=len(attribute.groups))
    return np.asarray(parts / other.changed, dtype=np.float64)
