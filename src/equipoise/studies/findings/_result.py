"""What a study returns: a record for each cell, measure and attribute, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

from equipoise.audits.evidence import SpreadChange
from equipoise.foundation import plural
from equipoise.measures import Better
from equipoise.results import Finding, Interval, NarratedResult, Reason, Table, Verdict, direction_of, matching
from equipoise.stats import (
    EffectBand,
    LimitedBy,
)
from equipoise.studies.analysis import ConstantRecord, FlipRecord, FlipRow, SpreadNote, Undecided, Unfinished
from equipoise.studies.findings._claims import Claim
from equipoise.studies.findings._search import StudySearch
from equipoise.studies.findings._words import condition_nouns, condition_phrases, condition_titles
from equipoise.studies.findings.identical import (
    BothSides,
    ClassFailure,
    ClassRecord,
    Experiment,
    FairestRecord,
    RunsRecord,
)
from equipoise.studies.findings.spaces import SpaceContrast, SpaceExamples, SpaceRecord, SpaceSetting, StudyMap

SCHEMA = "equipoise.study/2"
# What the test rows say of the treatment that was the fairest on dev rows at an equal performance.
AlternativeOutcome = Literal["no candidate", "confirmed", "not confirmed", "less fair", "less performance"]
NUMBERS = (
    "mean", "stdev", "low", "high", "min", "max", "spread_people", "spread_reruns", "spread_seeds", "change",
    "change_low", "change_high", "p_runs", "p_people", "p", "p_adjusted", "d", "levene_p", "levene_p_adjusted",
    "variance_ratio", "prob_single_run_misleads", "prob_best", "p_rank", "level", "power", "equivalence_p",
    "p_equivalence_adjusted", "margin", "spread_pair", "spread_change_people",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRecord:
    """One number of one cell on the test rows, and what it is against the baseline under the same condition.

    ``mean`` and ``stdev`` are over ``unit`` (seeds, each the mean of its identical runs; or identical runs of one
    seed), ``low`` to ``high`` is the interval of that mean at ``mean_level`` over training runs, on these people;
    ``min`` and ``max`` are over all runs. What is undefined is NaN; what a baseline has no use for is None.

    ``change`` is the mean minus the baseline's over ``pairs`` shared seeds (or runs of the smaller side), and ``p``,
    ``change_low`` and ``change_high`` are one test over seeds and test people, the interval at the ``level`` that
    decided: a verdict "lower" or "higher" stands exactly where it leaves out 0. ``p_runs`` and ``p_people`` are those
    of each source alone, ``p_rank`` that of a test on ranks, which decides nothing. ``power`` is that of a change of
    ``smallest_effect`` at this level, ``runs_needed`` how many seeds (or identical runs) of each have 0.8 of it, and
    ``limited_by`` what an inconclusive comparison lacks. ``equivalent`` says whether the change is within ``margin`` by
    two one-sided tests; it is None where there is no margin or no test.
    """

    condition: str
    learner: str
    treatment: str
    setting: str
    chosen: bool
    baseline: str | None
    measure: str
    alias: str | None
    better: Better
    class_: str | None
    attribute: tuple[str, ...]
    unit: str
    runs: int
    seeds: int
    mean: float
    stdev: float
    low: float
    high: float
    min: float
    max: float
    spread_people: float
    spread_reruns: float
    spread_seeds: float
    spread_note: SpreadNote | None = None
    change: float | None = None
    change_low: float | None = None
    change_high: float | None = None
    test: str | None = None
    p_runs: float | None = None
    p_people: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    d: float | None = None
    band: EffectBand | None = None
    levene_p: float | None = None
    levene_p_adjusted: float | None = None
    variance_ratio: float | None = None
    variance_change: SpreadChange | None = None
    overlap: bool | None = None
    prob_single_run_misleads: float | None = None
    prob_best: float | None = None
    verdict: Verdict | None = None
    reason: Reason | None = None
    costs: tuple[str, ...] = ()
    scope: str = ""
    runs_needed: int | None = None
    # The confidence level of the interval of the mean.
    mean_level: float | None = None
    # The standard deviation of the change over test people.
    spread_change_people: float | None = None
    # People were drawn again for the study, but not for this number: no verdict rests on the runs alone.
    people_untested: bool = False
    # 95% intervals of the spreads over reruns and seeds.
    spread_reruns_low: float = math.nan
    spread_reruns_high: float = math.nan
    spread_seeds_low: float = math.nan
    spread_seeds_high: float = math.nan
    pairs: int | None = None
    level: float | None = None
    p_rank: float | None = None
    rank_test: str | None = None
    undecided: Undecided | None = None
    limited_by: LimitedBy | None = None
    power: float | None = None
    smallest_effect: float | None = None
    # Three or four seeds: the test rests on their spread being normal.
    few_seeds: bool = False
    # The standard deviation of the difference of one pair of seeds (of two single runs where there are no pairs).
    spread_pair: float | None = None
    margin: float | None = None
    # Whether the store knew the margin before anybody had read verdicts.
    margin_recorded: bool | None = None
    equivalent: bool | None = None
    equivalence_p: float | None = None
    p_equivalence_adjusted: float | None = None

    @property
    def good(self) -> bool | None:
        """Tell whether the verdict is a change for the better; None where there is no change, or neither is better."""
        if self.verdict not in (Verdict.LOWER, Verdict.HIGHER) or self.better == "none":
            return None
        return (self.verdict == Verdict.LOWER) == (self.better == "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRecord:
    """One cell: how many runs, what they took, and where it stands on dev (where it is selected) and on test."""

    condition: str
    learner: str
    treatment: str
    setting: str
    chosen: bool
    size: int
    runs: int
    seeds: int
    repeats: int
    seconds: float
    seconds_ratio: float | None
    attribute: tuple[str, ...]
    dev_performance: float
    dev_fairness: float
    dev_distance: float
    test_performance: float
    test_fairness: float
    test_distance: float
    on_front: bool
    environments: int
    settings: dict[str, Any] = field(default_factory=dict)
    # Whether it does no better than a constant prediction on dev rows, and how many of its runs do not.
    collapsed: bool = False
    collapsed_runs: int = 0
    collapsed_share: float = 0.0
    # Why its trainings are too short to judge by (in at least half of its runs), how many runs are for any reason, the
    # mean share of the decline in loss that the last fifth of the epochs brought, and the mean of each run's largest
    # residual of a constraint; see findings.unfinished.
    unfinished_training: tuple[Unfinished, ...] = ()
    unfinished_runs: int = 0
    late_decline: float | None = None
    constraint_residual: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRecord:
    """One number of one label in one cell on the test rows, where rows have several: the mean over ``runs``.

    ``rows`` are the test rows that have the label. A gap between groups is undefined (NaN) where a group has no row
    that it is counted on; the numbers of all labels together leave it out.
    """

    condition: str
    learner: str
    treatment: str
    setting: str
    chosen: bool
    label: str
    rows: int
    measure: str
    alias: str | None
    better: Better
    attribute: tuple[str, ...]
    runs: int
    mean: float
    min: float
    max: float
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRecord:
    """The rank of a treatment on one measure under one condition, by its mean over runs on the test rows.

    A cell that has collapsed to a constant prediction has no rank, and no probability of being best.

    ``prob_best`` is how often it is the best when seeds, runs and people are drawn again; ``prob_best_single`` when one
    run of each treatment is drawn and nothing else: what a rerun of the study with one run each would say.
    ``prob_best_if_equal`` is what the best would have were all treatments equal. ``may_be_best`` says whether it is
    in the set that contains the best with the probability 1 - ``level`` (Hsu's comparisons), and ``better_low`` to
    ``better_high`` is the simultaneous interval of how much better it is than the best of the others; None for measures
    that are not compared so. ``change_low`` to ``change_high`` is the interval of its change from the baseline,
    simultaneous over the treatments of the condition, so that it holds for the best of them too.
    """

    condition: str
    learner: str
    treatment: str
    setting: str
    measure: str
    alias: str | None
    attribute: tuple[str, ...]
    value: float
    rank: float
    prob_best: float
    prob_best_single: float
    prob_best_if_equal: float = math.nan
    may_be_best: bool | None = None
    better_low: float | None = None
    better_high: float | None = None
    level: float | None = None
    change: float | None = None
    change_low: float | None = None
    change_high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A less discriminatory alternative: fairer than the baseline at an equal performance, confirmed on test rows.

    ``candidate`` is the treatment that is fairest on dev rows at an equal performance there. It is named as
    ``treatment`` only where the test rows confirm it, and ``outcome`` says what they do. The numbers are those of the
    candidate on the test rows, which had no say in the choice.
    """

    condition: str
    learner: str
    attribute: tuple[str, ...]
    baseline: str
    treatment: str | None
    setting: str | None
    margin: float
    performance: float | None
    baseline_performance: float | None
    fairness: float | None
    baseline_fairness: float | None
    verdict: Verdict | None
    words: str
    candidate: str | None = None
    candidate_setting: str | None = None
    performance_verdict: Verdict | None = None
    outcome: AlternativeOutcome = "no candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualCondition:
    """A condition of the plan that draws the same rows as another, whose trials stand for both."""

    condition: str
    mode: str | None
    alpha: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionRecord:
    """A condition of the training data: its mode and alpha where it is an interpolation, and what it made of the rows.

    ``rows`` are ``[class][group]``; empty where they are not known. ``equal`` are conditions that draw the same rows:
    they were trained once, and the records under this condition are theirs too.
    """

    condition: str
    mode: str | None
    alpha: float | None
    size: int
    classes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    rows: tuple[tuple[int, ...], ...] = ()
    words: str = ""
    equal: tuple[EqualCondition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRecord:
    """Trials of one cell that failed with one error, in its own words."""

    condition: str
    learner: str
    treatment: str
    trials: int
    seeds: tuple[int, ...]
    error: str
    # Where the first of them failed: files, lines and functions.
    traceback: str | None = None
    # They did not fail: what the store has of them is damaged.
    damaged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastRecord:
    """A treatment compared with another one that is not the baseline, on request.

    Fields are those of ``StudyRecord``. The correction goes over all contrasts of the report, apart from the
    comparisons with the baseline.
    """

    condition: str
    learner: str
    treatment: str
    against: str
    measure: str
    alias: str | None
    better: Better
    attribute: tuple[str, ...]
    test: str
    pairs: int
    change: float
    change_low: float
    change_high: float
    level: float
    p: float
    p_adjusted: float
    p_rank: float
    verdict: Verdict
    undecided: Undecided | None
    limited_by: LimitedBy | None
    power: float
    runs_needed: int | None
    few_seeds: bool
    margin: float | None
    equivalent: bool | None
    equivalence_p: float | None
    reason: Reason

    @property
    def good(self) -> bool | None:
        """Tell whether the treatment is better than the other; None where that is not shown."""
        if self.verdict not in (Verdict.LOWER, Verdict.HIGHER) or self.better == "none":
            return None
        return (self.verdict == Verdict.LOWER) == (self.better == "low")


@dataclass(frozen=True, slots=True, kw_only=True)
class LookRecord:
    """One reading of the verdicts: when, and with how many seeds and trials."""

    at: str
    seeds: int
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """How often the verdicts of the study were read with data of its own each time, this one included.

    The threshold is divided by ``number``. Without ``recorded`` the store could not be written to, and the next report
    does not know of this one.
    """

    number: int
    recorded: bool
    looks: tuple[LookRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedsOfArm:
    """How many seeds a treatment has under a condition, and whether a comparison of it is open."""

    treatment: str
    condition: str
    learner: str
    seeds: int
    undecided: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRecord:
    """How seeds were added until comparisons were decided: by which test, at which looks, and how many there are."""

    rule: str
    looks: tuple[int, ...]
    seeds_share: float | None
    arms: tuple[SeedsOfArm, ...]


@dataclass(frozen=True, repr=False)
class StudyResult(NarratedResult):
    """A study. ``print(result)`` says it in words; ``records`` and ``to_json`` hold every number."""

    kind: ClassVar[str] = "study"
    record_type: ClassVar[type] = StudyRecord
    numbers: ClassVar[tuple[str, ...]] = NUMBERS
    joined: ClassVar[Mapping[str, str]] = {"costs": "; ", "attribute": " & "}

    records: tuple[StudyRecord, ...]
    notes: tuple[str, ...]
    attribute: tuple[str, ...]
    performance: tuple[str, ...]
    fairness: str
    distance: str
    baseline: str
    cells: tuple[CellRecord, ...] = ()
    ranks: tuple[RankRecord, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    conditions: tuple[ConditionRecord, ...] = ()
    differences: tuple[str, ...] = ()
    flips: tuple[FlipRecord, ...] = ()
    failures: tuple[FailureRecord, ...] = ()
    environments: tuple[dict[str, Any], ...] = ()
    flip_rows: tuple[FlipRow, ...] = field(default=(), repr=False)
    # What a constant prediction gets, and the measures that were asked for.
    constant: ConstantRecord | None = None
    measures: tuple[str, ...] = ()
    # Treatments compared with one another, on request.
    contrasts: tuple[ContrastRecord, ...] = field(default=(), repr=False)
    # Of each label by itself, where rows have several.
    labels: tuple[LabelRecord, ...] = field(default=(), repr=False)
    # How often verdicts were read; None where nothing counted it.
    looks: Looks | None = None
    stopping: StoppingRecord | None = None
    # The search that chose the settings, where the plan has one.
    search: StudySearch | None = field(default=None, repr=False)
    # What is confirmed, and so may be said first.
    claims: tuple[Claim, ...] = ()
    # Of identical runs, where there are any.
    identical_runs: tuple[RunsRecord, ...] = field(default=(), repr=False)
    identical_classes: tuple[ClassRecord, ...] = field(default=(), repr=False)
    both_sides: tuple[BothSides, ...] = field(default=(), repr=False)
    class_failures: tuple[ClassFailure, ...] = field(default=(), repr=False)
    fairest_of_n: tuple[FairestRecord, ...] = field(default=(), repr=False)
    experiments: tuple[Experiment, ...] = field(default=(), repr=False)
    # Of embedding spaces, where trials kept theirs.
    spaces: tuple[SpaceRecord, ...] = field(default=(), repr=False)
    space_contrasts: tuple[SpaceContrast, ...] = field(default=(), repr=False)
    space_settings: tuple[SpaceSetting, ...] = field(default=(), repr=False)
    space_maps: tuple[StudyMap, ...] = field(default=(), repr=False)
    # Pictures, for the page alone.
    space_examples: SpaceExamples | None = field(default=None, repr=False)

    def as_json(self) -> dict[str, object]:
        """Return the result as plain JSON values, but for the pictures of examples.

        What an error says stands there as ``reason`` too, as it always did; it is no code.
        """
        parts = super().as_json()
        del parts["space_examples"]
        if not self.labels:
            del parts["labels"]
        if self.search is None:
            del parts["search"]
        failures = cast("list[dict[str, object]]", parts["failures"])
        parts["failures"] = [{**failure, "reason": failure["error"], "reason_code": None} for failure in failures]
        return parts

    @cached_property
    def unders(self) -> tuple[tuple[str, str], ...]:
        """The conditions and learners that treatments were compared under, in order."""
        return tuple(dict.fromkeys((cell.condition, cell.learner) for cell in self.cells))

    @cached_property
    def condition_titles(self) -> dict[str, str]:
        """What people read for the name of each condition."""
        return condition_titles(self.conditions)

    @cached_property
    def condition_phrases(self) -> dict[str, str]:
        """What a sentence says for each condition."""
        return condition_phrases(self.conditions)

    @cached_property
    def condition_nouns(self) -> dict[str, str]:
        """What each condition is called beside a number, by its name in the plan."""
        return condition_nouns(self.conditions)

    @cached_property
    def spoken_for(self) -> dict[tuple[str, str, str, str, tuple[str, ...]], tuple[int, StudyRecord]]:
        """The record (and its place) of each chosen cell, by condition, learner, treatment, measure and attribute."""
        return {
            (record.condition, record.learner, record.treatment, record.measure, record.attribute): (index, record)
            for index, record in enumerate(self.records)
            if record.chosen
        }

    @cached_property
    def chosen_cells(self) -> dict[tuple[str, str], list[CellRecord]]:
        """The cells that speak for their treatments, by condition and learner."""
        cells_by_under: dict[tuple[str, str], list[CellRecord]] = {}
        for cell in self.cells:
            if cell.chosen:
                cells_by_under.setdefault((cell.condition, cell.learner), []).append(cell)
        return cells_by_under

    @cached_property
    def distance_ranks(self) -> dict[tuple[str, str], list[RankRecord]]:
        """The ranks by distance to the optimum on the main attribute, by condition and learner."""
        ranks_by_under: dict[tuple[str, str], list[RankRecord]] = {}
        for rank in self.ranks:
            if (rank.measure, rank.attribute) == (self.distance, self.attribute):
                ranks_by_under.setdefault((rank.condition, rank.learner), []).append(rank)
        return ranks_by_under

    def find(self, **fields: object) -> tuple[StudyRecord, ...]:
        """Return the records whose fields have these values, as in ``find(treatment="inlp", measure="fairness")``."""
        return matching(self.records, fields)

    def tables(self) -> tuple[Table, ...]:
        """Return the table that a paper shows: performance, fairness and distance of each treatment by condition."""
        main_measures = (self.performance[0], self.fairness, self.distance)
        main_records = [
            r for r in self.records if r.chosen and r.measure in main_measures and r.attribute in ((), self.attribute)
        ]
        rows = tuple(
            (r.condition, r.treatment, r.measure, r.mean, r.stdev, r.change, Interval(r.change_low, r.change_high),
             r.verdict or "baseline", r.prob_best)
            for r in main_records
        )  # fmt: skip
        headings = ("condition", "treatment", "measure", "mean", "SD", "change", "interval", "verdict", "P(best)")
        return (Table("study", "Treatments by condition, compared with the baseline", headings, rows),)

    def _statements(self) -> Iterator[Finding]:
        for index, record in enumerate(self.records):
            if record.chosen and record.verdict is not None:
                estimate = math.nan if record.change is None else record.change
                yield Finding(
                    kind="comparison", measure=record.measure, alias=record.alias, class_=record.class_,
                    attribute=record.attribute, condition=record.condition, learner=record.learner,
                    treatment=record.treatment, baseline=record.baseline, estimate=estimate, low=record.change_low,
                    high=record.change_high, level=record.level, p=record.p, p_adjusted=record.p_adjusted,
                    n=record.runs, n_against=record.pairs, reason=record.reason,
                    direction=direction_of(
                        estimate, significant=record.verdict.significant, better=record.better,
                        equivalent=record.equivalent,
                    ),
                    index=index,
                )  # fmt: skip
        for index, contrast in enumerate(self.contrasts):
            yield Finding(
                kind="contrast", measure=contrast.measure, alias=contrast.alias, attribute=contrast.attribute,
                condition=contrast.condition, learner=contrast.learner, treatment=contrast.treatment,
                baseline=contrast.against, estimate=contrast.change, low=contrast.change_low,
                high=contrast.change_high, level=contrast.level, p=contrast.p, p_adjusted=contrast.p_adjusted,
                n=contrast.pairs, n_against=contrast.pairs, reason=contrast.reason,
                direction=direction_of(
                    contrast.change, significant=contrast.verdict.significant, better=contrast.better,
                    equivalent=contrast.equivalent,
                ),
                source="contrasts", index=index,
            )  # fmt: skip

    def _described(self) -> Sequence[str]:
        treatments = {cell.treatment for cell in self.cells}
        conditions = {cell.condition for cell in self.cells}
        seeds = max((record.seeds for record in self.records), default=0)
        parts = [plural(len(treatments), "treatment"), plural(len(conditions), "condition"), plural(seeds, "seed")]
        return [*parts, self._findings_described()]

    def _name_parts(self, record: StudyRecord) -> Sequence[str | None]:
        measured = record.alias or record.measure
        return record.condition, record.learner, record.treatment, record.setting, measured, "&".join(record.attribute)
