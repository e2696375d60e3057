"""Sweeps: one classifier on the same spaces with several values of C, and which of them speaks for all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from equipoise.audits.downstream.settings import Classifier, from_source
from equipoise.studies.findings.spaces.result import EMBEDDING, NEAREST

# From so many values of C they are a sweep, which has a chart and a sentence of its own.
SEVERAL = 3
# The value that speaks for a sweep: scikit-learn's default, fixed before any result was seen.
PRIMARY = 1.0


@dataclass(frozen=True)
class Sweep:
    """The values of C of one classifier, in their order; ``sources`` are what findings call them."""

    family: Classifier
    values: tuple[float, ...]
    sources: tuple[str, ...]

    @property
    def primary(self) -> str:
        """The source that speaks for all: C = 1, or else the value in the middle."""
        if PRIMARY in self.values:
            return self.sources[self.values.index(PRIMARY)]
        return self.sources[(len(self.values) - 1) // 2]

    @property
    def title(self) -> str:
        """The classifier as people read it, without C."""
        rest = self.family.title.replace("C = 1, ", "").replace("C = 1", "").replace(" ()", "")
        return rest


def sweeps_of(sources: Iterable[str]) -> list[Sweep]:
    """Return the sweeps among sources.

    >>> [one.values for one in sweeps_of(f"svm:C={value}" for value in (10, 0.1, 1))]
    [(0.1, 1.0, 10.0)]
    """
    found: dict[Classifier, dict[float, str]] = {}
    for source in dict.fromkeys(sources):
        if source in (EMBEDDING, NEAREST):
            continue
        one = from_source(source)
        value = one.settings.get("C")
        if isinstance(value, float):
            found.setdefault(one.having(C=PRIMARY), {})[value] = source
    return [
        Sweep(family, tuple(sorted(own)), tuple(own[value] for value in sorted(own)))
        for family, own in found.items()
        if len(own) >= SEVERAL
    ]


def set_aside(sources: Iterable[str]) -> set[str]:
    """Return the sources that are parts of a sweep and do not speak for it."""
    return {source for sweep in sweeps_of(sources) for source in sweep.sources if source != sweep.primary}
