"""What a study says of embedding spaces: values and gaps of cells, paired differences, settings, sweeps and maps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from equipoise.audits.downstream import Classifier, classifier_from_source
from equipoise.measures import Better
from equipoise.results import Reason, Verdict

Kind = Literal["overall", "group", "worst", "gap"]
ContrastKind = Literal["imbalance", "treatment", "balanced training", "other training"]
Side = Literal["this", "against"]
Space = Literal["embedding", "sensitive"]

# Where a number is read from: the space itself, what the learner predicts from it, or a classifier trained on it.
EMBEDDING, NEAREST = "embedding", "nearest_training_row"
# How a classifier was trained: on the trial's own rows, or on equally many of every class. There may be others.
OWN_ROWS, BALANCED = "own", "balanced"
# How groups become a gap.
MAJORITISED, LARGEST, HALVES = "majoritised", "largest", "halves"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceRecord:
    """One number of the spaces of one cell on the test rows: the mean over seeds, with its interval over them.

    ``kind`` is ``"overall"`` (everyone), ``"group"``, ``"worst"`` (the group that is worst off, run by run) or
    ``"gap"``, where above 0 ``group`` is worse off than ``against``. ``source`` is ``"embedding"``,
    ``"nearest_training_row"`` or a classifier with ``source_settings``, and ``training`` how that was trained, such as
    ``"own"`` (rows). A gap by ``"halves"`` has no interval: it cannot be negative.
    """

    condition: str
    learner: str
    treatment: str
    setting: str
    chosen: bool
    degree: float | None
    attribute: str
    kind: Kind
    source: str
    source_settings: Mapping[str, Any] = field(default_factory=dict)
    training: str | None
    measure: str
    better: Better
    group: str | None = None
    against: str | None = None
    rule: str | None = None
    unit: str
    runs: int
    seeds: int
    mean: float
    stdev: float
    low: float | None
    high: float | None
    reason: Reason | None = None

    @property
    def upstream(self) -> bool:
        """Whether it is a number of the space itself."""
        return self.source == EMBEDDING

    @property
    def defined(self) -> bool:
        """Whether there is a number to read."""
        return not math.isnan(self.mean)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceContrast:
    """A number of one cell compared with the same number elsewhere, seed by seed.

    ``kind`` is ``"imbalance"`` (against the balanced control of the condition), ``"treatment"`` (against the baseline),
    ``"balanced training"`` (a classifier trained on balanced rows against one trained on the trial's own) or ``"other
    training"`` (trained as ``training`` says, such as ``"oversampled"``, against the same; ``"balanced_oversampled"``
    and ``"balanced_domain_independent"`` against ``"balanced"``). ``versus`` names the other side.
    ``difference`` is the mean of the pairs' differences, ``value`` minus ``against_value``; ``larger`` names the side
    whose number is further from 0, for gaps only. ``low`` to ``high`` is the interval at the ``level`` that decided;
    ``p_rank`` is Wilcoxon's, which decides nothing.
    """

    kind: ContrastKind
    condition: str
    learner: str
    treatment: str
    setting: str
    versus: str
    degree: float | None
    attribute: str
    of: Kind
    source: str
    source_settings: Mapping[str, Any] = field(default_factory=dict)
    training: str | None
    measure: str
    better: Better
    group: str | None = None
    against: str | None = None
    rule: str | None = None
    value: float
    against_value: float
    difference: float
    low: float
    high: float
    pairs: int
    test: str
    p: float
    p_adjusted: float
    verdict: Verdict
    reason: Reason
    larger: Side | None = None

    @property
    def good(self) -> bool | None:
        """Tell whether the verdict is a change for the better: a gap nearer to 0, or a number at its better end."""
        if self.verdict not in (Verdict.LOWER, Verdict.HIGHER):
            return None
        if self.of == "gap":
            return abs(self.value) < abs(self.against_value)
        return None if self.better == "none" else (self.verdict == Verdict.LOWER) == (self.better == "low")

    level: float = math.nan
    p_rank: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceSetting:
    """One setting of a treatment on the dev rows: overall, gap and worst group of a measure, and what leaks."""

    condition: str
    learner: str
    treatment: str
    setting: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    measure: str
    overall: float
    gap: float
    worst: float
    worst_group: str | None
    seeds: int
    leakage: Mapping[str, float] = field(default_factory=dict)
    chosen: bool = False
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyMap:
    """Rows of one trial on the plane of the first two principal components, with the group of each.

    ``space`` is ``"embedding"``, or ``"sensitive"``: that of a head which learnt ``attribute`` beside the target head.
    """

    condition: str
    learner: str
    treatment: str
    setting: str
    seed: int
    attribute: str
    groups: tuple[str, ...]
    group: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    explained: tuple[float, float] | None
    of: int
    split: Literal["test", "dev"] = "test"
    space: Space = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamplePicture:
    """A row that may be shown: a small WebP of our own making, its class and its group."""

    picture: bytes = field(repr=False)
    class_: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceExample:
    """A dev row and its nearest others, the nearest first: by what is released, and by a sensitive head."""

    condition: str
    learner: str
    treatment: str
    setting: str
    seed: int
    attribute: str
    query: ExamplePicture
    embedding: tuple[ExamplePicture, ...]
    sensitive: tuple[ExamplePicture, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceExamples:
    """Rows as pictures with their nearest others, or the reason why there are none."""

    examples: tuple[SpaceExample, ...] = ()
    reason: Reason | None = None


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
    families: dict[Classifier, dict[float, str]] = {}
    for source in dict.fromkeys(sources):
        if source in (EMBEDDING, NEAREST):
            continue
        classifier = classifier_from_source(source)
        value = classifier.settings.get("C")
        if isinstance(value, float):
            families.setdefault(classifier.having(C=PRIMARY), {})[value] = source
    return [
        Sweep(family, tuple(sorted(by_value)), tuple(by_value[value] for value in sorted(by_value)))
        for family, by_value in families.items()
        if len(by_value) >= SEVERAL
    ]


def set_aside(sources: Iterable[str]) -> set[str]:
    """Return the sources that are parts of a sweep and do not speak for it."""
    return {source for sweep in sweeps_of(sources) for source in sweep.sources if source != sweep.primary}
