"""Can it be told? All tests of a report are corrected together, and intervals are widened to agree with verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from equipoise.audits.contrasts import Contrast, intervals_of
from equipoise.evidence.correction import benjamini_hochberg
from equipoise.foundation.results import Record

RATE = 0.05


@dataclass
class Proof:
    """The tests of one report: gaps already carry their p-value, contrasts are collected here."""

    contrasts: list[Contrast] = field(default_factory=list)

    def add(self, contrasts: Iterable[Contrast]) -> None:
        """Collect the contrasts of a view."""
        self.contrasts.extend(contrasts)

    def finish(self, records: Sequence[Record]) -> list[Record]:
        """Correct every test of the report together, and give the contrasts their intervals.

        With R findings among m tests, intervals are at level 1 - R q / m: exactly the contrasts that are findings then
        exclude 0, and of the intervals of findings at most q miss on average.
        """
        tested = [place for place, record in enumerate(records) if record.p is not None]
        p = np.array([records[place].p for place in tested] + [contrast.p for contrast in self.contrasts], dtype=float)
        adjusted = benjamini_hochberg(p)
        found = int((adjusted <= RATE).sum())
        number = int((~np.isnan(p)).sum())
        level = 1.0 - RATE * max(found, 1) / max(number, 1)
        corrected = list(records)
        for place, value in zip(tested, adjusted[: len(tested)], strict=True):
            corrected[place] = replace(records[place], p_adjusted=float(value), finding=bool(value <= RATE))
        return [*corrected, *_contrast_records(self.contrasts, adjusted[len(tested) :].tolist(), level)]


def _contrast_records(contrasts: Sequence[Contrast], adjusted: Sequence[float], level: float) -> Iterator[Record]:
    for contrast, value, (low, high, how) in zip(contrasts, adjusted, intervals_of(contrasts, level), strict=True):
        known = not np.isnan(low)
        tested = not np.isnan(contrast.p)
        yield replace(
            contrast.record,
            p=contrast.p if tested else None,
            p_adjusted=float(value) if tested else None,
            finding=bool(value <= RATE) if tested else None,
            low=low if known else None,
            high=high if known else None,
            interval=how if known else None,
        )
