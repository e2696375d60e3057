"""Can it be told? All tests of a report are corrected together, and intervals are widened to agree with verdicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.contrasts import Contrast, intervals_of
from equipoise.audits.hypotheses import hypotheses
from equipoise.foundation.results import Record
from equipoise.stats import LEVEL, benjamini_hochberg, is_finding

Floats = NDArray[np.float64]

RATE = LEVEL


@dataclass
class Proof:
    """The tests of one report: gaps already carry their p-value, contrasts are collected here."""

    contrasts: list[Contrast] = field(default_factory=list)

    def add(self, contrasts: Iterable[Contrast]) -> None:
        """Collect the contrasts of a view."""
        self.contrasts.extend(contrasts)

    def finish(self, records: Sequence[Record]) -> list[Record]:
        """Correct every test of the report together, and give the contrasts their intervals.

        A test that is told several times counts once. With R findings among m tests, intervals are at level
        1 - R q / m: exactly the contrasts that are findings then exclude 0, and of the intervals of findings at most q
        miss on average. A finding needs its test and its interval or bound: of records that say one number in two ways
        (an impact ratio and 1 minus it) all are findings or none is.
        """
        keys = hypotheses([*records, *(contrast.record for contrast in self.contrasts)])
        tested = [place for place, record in enumerate(records) if record.p is not None]
        p = np.array([records[place].p for place in tested] + [contrast.p for contrast in self.contrasts], dtype=float)
        adjusted, found, number = _corrected(p, [keys[place] for place in tested] + keys[len(records) :])
        level = 1.0 - RATE * max(found, 1) / max(number, 1)
        corrected = list(records)
        for place, value in zip(tested, adjusted[: len(tested)], strict=True):
            record = replace(records[place], p_adjusted=float(value))
            corrected[place] = replace(record, finding=_finding(record))
        for same in _same_number([(keys[place], place) for place in tested], records):
            if not all(corrected[place].finding for place in same):
                for place in same:
                    corrected[place] = replace(corrected[place], finding=False)
        return [*corrected, *_contrast_records(self.contrasts, adjusted[len(tested) :].tolist(), level)]


def _finding(record: Record) -> bool | None:
    return is_finding(record.p_adjusted, record.low, record.high, null=1.0 if record.kind == "ratio" else 0.0)


def _same_number(keys: Iterable[tuple[Hashable, int]], records: Sequence[Record]) -> Iterable[list[int]]:
    """Return the places of records that are one test of one class (or of one mean over classes)."""
    places: dict[Hashable, list[int]] = {}
    for key, place in keys:
        places.setdefault((key, records[place].scope, records[place].class_), []).append(place)
    return places.values()


def _corrected(p: Floats, keys: Sequence[Hashable]) -> tuple[Floats, int, int]:
    """Return corrected p-values, how many tests are findings, and how many tests there are; one for each key."""
    largest: dict[Hashable, float] = {}
    for key, value in zip(keys, p.tolist(), strict=True):
        if not np.isnan(value):
            largest[key] = max(value, largest.get(key, 0.0))
    told = benjamini_hochberg(list(largest.values()))
    of_key = dict(zip(largest, told.tolist(), strict=True))
    adjusted = [float("nan") if np.isnan(value) else of_key[key] for key, value in zip(keys, p.tolist(), strict=True)]
    return np.array(adjusted, dtype=np.float64), int((told <= RATE).sum()), len(largest)


def _contrast_records(contrasts: Sequence[Contrast], adjusted: Sequence[float], level: float) -> Iterator[Record]:
    for contrast, value, (low, high, how) in zip(contrasts, adjusted, intervals_of(contrasts, level), strict=True):
        known = not np.isnan(low)
        tested = not np.isnan(contrast.p)
        record = replace(
            contrast.record,
            p=contrast.p if tested else None,
            p_adjusted=float(value) if tested else None,
            low=low if known else None,
            high=high if known else None,
            interval=how if known else None,
        )
        yield replace(record, finding=_finding(record))
