"""Qian et al. (2021) beside a study of identical runs: its findings, and the spreads of its Table 4 for CIFAR-10S."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.audits.evidence import METRIC_VARIANCE, PERFORMANCE_LOWER, PERFORMANCE_VARIANCE
from equipoise.foundation import (
    BadInput,
    citation,
    fingerprint_of,
    listing,
    plural,
    provenance,
)
from equipoise.results import ClaimVerdict, Direction, Finding, Result, Table, Verdict
from equipoise.studies.analysis import WORDS, Unfinished
from equipoise.studies.findings.identical._runs import IMPACT

if TYPE_CHECKING:
    from equipoise.studies.findings._result import StudyResult


class Inconclusive(StrEnum):
    """Why a finding is inconclusive though the study has numbers on it."""

    UNFINISHED_TRAINING = "unfinished_training"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperClaim:
    """A finding of the paper beside what a study says of it.

    ``holds`` is by the paper's rule, ``holds_corrected`` by the study's own; None where there is one rule only. Where
    it is inconclusive, ``inconclusive`` says why and ``as_trained`` what it would be if that were passed over.
    ``unfinished`` names the techniques with numbers here whose trainings were too short.
    """

    finding: str
    claim: str
    here: str
    holds: ClaimVerdict
    holds_corrected: ClaimVerdict | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)
    inconclusive: Inconclusive | None = None
    as_trained: ClaimVerdict | None = None
    unfinished: tuple[str, ...] = ()


def read_claim(content: Mapping[str, Any]) -> PaperClaim:
    """Return a claim as its JSON document has it."""
    verdicts = {name: content.get(name) for name in ("holds", "holds_corrected", "as_trained")}
    typed: dict[str, Any] = {
        name: None if verdict is None else ClaimVerdict(verdict) for name, verdict in verdicts.items()
    }
    return PaperClaim(**{**content, **typed})


def judged(holds: bool) -> ClaimVerdict:
    """Say whether a finding holds."""
    return ClaimVerdict.HOLDS if holds else ClaimVerdict.DOES_NOT_HOLD


def most_do(number: int, of: int) -> ClaimVerdict:
    """Tell whether most do: more than half; fewer are a part, and of none there is not enough data."""
    if of == 0:
        return ClaimVerdict.NOT_ENOUGH_DATA
    return ClaimVerdict.IN_PART if 0 < 2 * number <= of else judged(number > 0)


def points(value: float) -> str:
    """Write a difference of shares in percentage points."""
    return f"{100 * value:.1f} points"


def share(value: float) -> str:
    """Write a share as a percentage."""
    return f"{100 * value:.1f}%"


def metric_of(row: Mapping[str, Any]) -> str:
    """Name the measure of a row."""
    return str(row["alias"] or row["measure"].replace("_", " "))


def out_of(number: int, total: int, what: str) -> str:
    """Write how many of how many."""
    return f"{number:,} of {plural(total, what)}"


def have(number: int) -> str:
    """Return the verb that fits a number."""
    return "has" if number == 1 else "have"


def raises(number: int) -> str:
    """Return the verb that fits a number."""
    return "raises" if number == 1 else "raise"


def sentence(parts: Sequence[str]) -> str:
    """Join parts to a sentence."""
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


Row = Mapping[str, Any]
COSTS = {
    METRIC_VARIANCE: "a more variable bias", PERFORMANCE_LOWER: "a lower performance",
    PERFORMANCE_VARIANCE: "a more variable performance",
}  # fmt: skip
# A difference of one percentage point between identical runs is one that a report would show.
NOTICEABLE = 0.01


@dataclass(frozen=True)
class _Study:
    """What claims are read from: the parts of a study's JSON."""

    runs: Sequence[Row]
    sides: Sequence[Row]
    experiments: Sequence[Row]
    corrected: Sequence[Row]
    conditions: int
    # Cells whose trainings were too short, as ``_cell`` names them.
    unfinished: frozenset[tuple[str, ...]] = frozenset()

    def is_unfinished(self, row: Row) -> bool:
        """Tell whether the trainings that a row is about, or those of its baseline, were too short."""
        condition, learner, _, _ = cell_name = _cell(row)
        baseline_name = (condition, learner, str(row.get("baseline")))
        return cell_name in self.unfinished or any(cell[:3] == baseline_name for cell in self.unfinished)

    def finished(self) -> _Study:
        """Return the study without what rests on trainings that were too short."""

        def left(rows: Sequence[Row]) -> list[Row]:
            return [row for row in rows if not self.is_unfinished(row)]

        return replace(
            self, runs=left(self.runs), sides=left(self.sides), experiments=left(self.experiments),
            corrected=left(self.corrected),
        )  # fmt: skip

    def called(self, row: Row) -> str:
        """Name a technique; with several conditions, by both."""
        setting = f" ({row['setting']})" if row["setting"] else ""
        return f"{row['treatment']}{setting}" + (f" under {row['condition']}" if self.conditions > 1 else "")


def paper_claims(result: StudyResult | Mapping[str, Any]) -> tuple[PaperClaim, ...]:
    """Hold a study of identical runs against the findings of paper 004."""
    content: Mapping[str, Any] = result if isinstance(result, Mapping) else result.as_json()
    if not content.get("identical_runs"):
        raise BadInput(
            "The study has no identical runs",
            available="the result of a study (equipoise study report --json) in which seeds were run twice or more",
            help="give repeats = 16 in the plan, as the paper does, and run it again.",
        )
    study = _read(content)
    claims = [claim for make in CLAIMS for claim in make(study)]
    if not study.unfinished:
        return tuple(claims)
    finished = [claim for make in CLAIMS for claim in make(study.finished())]
    names = tuple(dict.fromkeys(study.called(row) for row in study.runs if study.is_unfinished(row)))
    return tuple(_decided(claim, alone, names) for claim, alone in zip(claims, finished, strict=True))


def _decided(claim: PaperClaim, finished: PaperClaim, unfinished: tuple[str, ...]) -> PaperClaim:
    """Let a finding stand that holds (or not) without the trainings that were too short; else it is inconclusive."""
    claim = replace(claim, unfinished=unfinished)
    if claim.holds == ClaimVerdict.NOT_ENOUGH_DATA or (claim.holds, claim.holds_corrected) == (
        finished.holds, finished.holds_corrected,
    ):  # fmt: skip
        return claim
    return replace(
        claim,
        holds=ClaimVerdict.INCONCLUSIVE,
        holds_corrected=None if claim.holds_corrected is None else ClaimVerdict.INCONCLUSIVE,
        inconclusive=Inconclusive.UNFINISHED_TRAINING,
        as_trained=claim.holds,
    )


def _read(content: Mapping[str, Any]) -> _Study:
    biases = {(row["measure"], tuple(row["attribute"])) for row in content["identical_runs"] if row["better"] == "low"}
    judged_records = [
        row
        for row in content["records"]
        if row["verdict"] is not None and (row["measure"], tuple(row["attribute"])) in biases
    ]
    return _Study(
        content["identical_runs"], content["both_sides"], content["experiments"], judged_records,
        len({(row["condition"], row["learner"]) for row in content["identical_runs"]}),
        frozenset(_cell(cell) for cell in content["cells"] if cell.get("unfinished_training")),
    )  # fmt: skip


def _cell(row: Row) -> tuple[str, ...]:
    """Name the cell that a row is about."""
    return tuple(str(row[name]) for name in ("condition", "learner", "treatment", "setting"))


def _runs_differ(study: _Study) -> Iterator[PaperClaim]:
    biases = [row for row in study.runs if row["better"] == "low" and row["maxdiff"] is not None]
    claim = "Identical runs differ: by up to 12.6 points in DP, and up to 11.8 points in DI (gradient reversal)."
    if not biases:
        yield PaperClaim(
            finding="1", claim=claim, here="No bias is defined in these runs.", holds=ClaimVerdict.NOT_ENOUGH_DATA
        )
        return
    widest = max(biases, key=lambda row: row["maxdiff"])
    yield PaperClaim(
        finding="1", claim=claim,
        here=(
            f"Identical runs differ by up to {points(widest['maxdiff'])} in {metric_of(widest)} "
            f"({study.called(widest)}, {share(widest['min'])} to {share(widest['max'])} over "
            f"{plural(widest['runs'], 'run')})."
        ),
        holds=judged(widest["maxdiff"] >= NOTICEABLE),
        numbers={"maxdiff": widest["maxdiff"], "stdev": widest["stdev"], "runs": widest["runs"]},
    )  # fmt: skip


def _class_differs(study: _Study) -> Iterator[PaperClaim]:
    claim = (
        "A single class differs further than the mean over classes: by up to 50.1 points in DI on CIFAR-10S, and from "
        "0 to 100% on MS-COCO."
    )
    runs = [row for row in study.runs if row["class_maxdiff"] is not None]
    overall_maxdiffs = [row["maxdiff"] for row in runs if row["maxdiff"] is not None]
    if not overall_maxdiffs:
        yield PaperClaim(
            finding="1, classes",
            claim=claim,
            here="These runs have no values of single classes.",
            holds=ClaimVerdict.NOT_ENOUGH_DATA,
        )
        return
    widest = max(runs, key=lambda row: row["class_maxdiff"])
    overall = max(overall_maxdiffs)
    complete = sum(bool(row["complete"]) for row in study.sides)
    yield PaperClaim(
        finding="1, classes", claim=claim,
        here=(
            f"{metric_of(widest)} of {widest['class']!r} differs by {points(widest['class_maxdiff'])} "
            f"({study.called(widest)}), the mean over classes by {points(overall)} at most. "
            + ("No class goes" if not complete else f"{plural(complete, 'class goes', 'classes go')}")
            + " from 0 to 100%."
        ),
        holds=judged(widest["class_maxdiff"] > overall),
        numbers={"class_maxdiff": widest["class_maxdiff"], "maxdiff": overall, "complete": complete},
    )  # fmt: skip


def _both_sides(study: _Study) -> Iterator[PaperClaim]:
    claim = "One run is within the 20% rule for disparate impact, an identical one is not (17.9% and 20.4%)."
    techniques = {study.called(row) for row in study.runs if row["measure"] == "disparate_impact"}
    if not techniques:
        here = "Disparate impact was not measured."
        yield PaperClaim(finding="1, the 20 % rule", claim=claim, here=here, holds=ClaimVerdict.NOT_ENOUGH_DATA)
        return
    both_sides = list(dict.fromkeys(study.called(row) for row in study.sides if row["class"] is None))
    classes = sum(row["class"] is not None for row in study.sides)
    yield PaperClaim(
        finding="1, the 20 % rule", claim=claim,
        here=(
            f"{out_of(len(both_sides), len(techniques), 'technique')} {have(len(both_sides))} identical runs on both "
            "sides"
            + (f" ({listing(both_sides, 4)})" if both_sides else "")
            + f"; of single classes with a technique, {classes:,}."
        ),
        holds=judged(bool(both_sides)),
        numbers={"techniques": len(both_sides), "of": len(techniques), "classes": classes},
    )  # fmt: skip


def _one_run_misleads(study: _Study) -> Iterator[PaperClaim]:
    claim = (
        "One run misleads: in 34 of 154 experiments the ranges overlap with the baseline's, and in 14 the mean is "
        "higher yet a single run is lower than one of the baseline."
    )
    experiments = study.experiments
    if not experiments:
        yield PaperClaim(finding="2", claim=claim, here=NO_BASELINE, holds=ClaimVerdict.NOT_ENOUGH_DATA)
        return
    overlap, lower = (sum(bool(row[name]) for row in experiments) for name in ("overlap", "one_run_lower"))
    risk = [row["prob_single_run_misleads"] for row in experiments if row["prob_single_run_misleads"] is not None]
    yield PaperClaim(
        finding="2", claim=claim,
        here=(
            f"In {out_of(overlap, len(experiments), 'experiment')} the ranges overlap; in {lower:,} the mean is higher "
            "yet some run is lower than one of the baseline."
            + (f" At worst one run of each misleads {share(max(risk))} of the time." if risk else "")
        ),
        holds=judged(lower > 0),
        numbers={"experiments": len(experiments), "overlap": overlap, "one_run_lower": lower,
                 **({"largest_risk": max(risk)} if risk else {})},
    )  # fmt: skip


def _another_metric(study: _Study) -> Iterator[PaperClaim]:
    claim = "Most techniques (15 of 22) raise at least one of the seven biases."
    if not study.experiments:
        yield PaperClaim(finding="3", claim=claim, here=NO_BASELINE, holds=ClaimVerdict.NOT_ENOUGH_DATA)
        return
    counts, parts = {}, []
    for name, rows in (("paper", study.experiments), ("corrected", study.corrected)):
        every = dict.fromkeys(study.called(row) for row in rows)
        raising = list(dict.fromkeys(study.called(row) for row in rows if row["verdict"] == Verdict.HIGHER))
        counts[name] = (len(raising), len(every))
        parts.append(
            f"{RULES[name]} {out_of(len(raising), len(every), 'technique')} {raises(len(raising))} at least one bias"
            + (f" ({listing(raising, 4)})" if raising and name == "paper" else "")
        )
    yield PaperClaim(
        finding="3", claim=claim, here=sentence(parts),
        holds=most_do(*counts["paper"]), holds_corrected=most_do(*counts["corrected"]),
        numbers={"raising": counts["paper"][0], "techniques": counts["paper"][1],
                 "raising_corrected": counts["corrected"][0]},
    )  # fmt: skip


def _carry_costs(study: _Study) -> Iterator[PaperClaim]:
    claim = (
        "Most reductions of a bias carry a cost: 70 of 103 (36 a more variable bias, 54 a lower accuracy, 15 a more "
        "variable accuracy)."
    )
    if not study.experiments:
        yield PaperClaim(finding="4", claim=claim, here=NO_BASELINE, holds=ClaimVerdict.NOT_ENOUGH_DATA)
        return
    counts, texts = {}, []
    numbers: dict[str, float] = {}
    for name, rows in (("paper", study.experiments), ("corrected", study.corrected)):
        lower = [row for row in rows if row["verdict"] == Verdict.LOWER]
        costly = [row for row in lower if row["costs"]]
        counts[name] = (len(costly), len(lower))
        parts = [f"{sum(cost in row['costs'] for row in lower)} {words}" for cost, words in COSTS.items()]
        text = f"{RULES[name]} {len(costly):,} of {plural(len(lower), 'reduction')} carry a cost"
        texts.append(text + (f" ({', '.join(parts)})" if costly else ""))
        aside = "" if name == "paper" else "_corrected"
        numbers |= {f"reductions{aside}": len(lower), f"at_a_cost{aside}": len(costly)}
        numbers |= {f"{key.replace(' ', '_')}{aside}": sum(key in row["costs"] for row in lower) for key in COSTS}
    yield PaperClaim(
        finding="4", claim=claim, here=sentence(texts),
        holds=most_do(*counts["paper"]), holds_corrected=most_do(*counts["corrected"]), numbers=numbers,
    )  # fmt: skip


def _free_of_cost(study: _Study) -> Iterator[PaperClaim]:
    claim = "One technique (S-DD4, RBA) lowers all seven biases at no cost."
    if not study.experiments:
        yield PaperClaim(finding="4, without a cost", claim=claim, here=NO_BASELINE, holds=ClaimVerdict.NOT_ENOUGH_DATA)
        return
    free = {}
    for name, rows in (("paper", study.experiments), ("corrected", study.corrected)):
        by_technique: dict[str, list[Row]] = {}
        for row in rows:
            by_technique.setdefault(study.called(row), []).append(row)
        free[name] = [
            technique
            for technique, technique_rows in by_technique.items()
            if all(row["verdict"] == Verdict.LOWER and not row["costs"] for row in technique_rows)
        ]
    texts = [
        f"{RULES[name]} these lower every bias at no cost: {listing(technique_rows, 6) or 'none'}"
        for name, technique_rows in free.items()
    ]
    yield PaperClaim(
        finding="4, without a cost", claim=claim, here=sentence(texts),
        holds=judged(bool(free["paper"])), holds_corrected=judged(bool(free["corrected"])),
        numbers={"techniques": len(free["paper"]), "techniques_corrected": len(free["corrected"])},
    )  # fmt: skip


NO_BASELINE = "No technique has a baseline with identical runs of the same seed."
RULES = {"paper": "by the paper's rule", "corrected": "after correction, and for other people too,"}
CLAIMS: tuple[Callable[[_Study], Iterator[PaperClaim]], ...] = (
    _runs_differ, _class_differs, _both_sides, _one_run_misleads, _another_metric, _carry_costs, _free_of_cost,
)  # fmt: skip


SCHEMA = "equipoise.reproduction/1"
# Identical runs are told alike in both.
STUDIES = ("equipoise.study/2", "equipoise.study/1")
# Table 4 (CIFAR-10S): MaxDiff and STDEV of DI over 16 identical runs, overall and of the class that varies most, in
# percentage points; before them the treatment here and how it is read.
TABLE_4: dict[str, tuple[str, str | None, float, float, float, float]] = {
    "S-Base": ("untreated", None, 2.0, 0.5, 7.0, 1.9),
    "S-RS": ("oversampling", None, 2.0, 0.5, 5.8, 1.2),
    "S-UC": ("uniform_confusion", None, 5.1, 1.7, 18.4, 4.6),
    "S-GR": ("gradient_projection", None, 11.8, 3.5, 50.1, 12.7),
    "S-DD1": ("domain_discriminative", "sum", 2.3, 0.6, 5.4, 1.5),
    "S-DD2": ("domain_discriminative", "max_prior_shift", 1.5, 0.4, 5.3, 1.7),
    "S-DD3": ("domain_discriminative", "sum_prior_shift", 1.4, 0.4, 5.7, 1.7),
    "S-DD4": ("domain_discriminative", "rba", 1.0, 0.2, 8.0, 1.8),
    "S-DI1": ("domain_independent", "known_domain", 1.8, 0.5, 5.0, 1.4),
    "S-DI2": ("domain_independent", "sum", 1.1, 0.3, 4.2, 1.0),
}  # fmt: skip
NOTES = (
    "The paper trains on 50,000 images for 200 epochs (500 for the adversarial techniques); numbers of a study with "
    "fewer are shown next to its numbers, not as a test of them.",
    "The paper's rule is a one-sided test in the direction that the means point to, at 0.05 and without correction.",
    "In the paper's code for CIFAR-10S the seed is set after the network is built, so its runs may differ in their "
    "first weights too; here they do not.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TechniqueSpread:
    """A technique of the paper's Table 4 and the same here: spreads of disparate impact over identical runs.

    Shares, not percentage points; what a study does not have is None.
    """

    technique: str
    treatment: str
    paper_maxdiff: float
    paper_stdev: float
    paper_class_maxdiff: float
    paper_class_stdev: float
    runs: int | None = None
    mean: float | None = None
    maxdiff: float | None = None
    stdev: float | None = None
    class_maxdiff: float | None = None
    class_stdev: float | None = None
    # Why its trainings were too short to judge by; empty where they were not, or where that is not known.
    unfinished_training: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Reproduction(Result):
    """A paper's findings beside a study's. ``print(result)`` says them in words."""

    kind: ClassVar[str] = "reproduction"
    record_type: ClassVar[type] = PaperClaim

    records: tuple[PaperClaim, ...]
    paper: str
    study: str
    words: tuple[str, ...]
    notes: tuple[str, ...]
    techniques: tuple[TechniqueSpread, ...] = ()

    def __str__(self) -> str:
        return "\n".join([*self.words, "Notes:", *self.notes])

    def _statements(self) -> Iterator[Finding]:
        agreement = {
            ClaimVerdict.HOLDS: Direction.EQUIVALENT,
            ClaimVerdict.IN_PART: Direction.DIFFERENT,
            ClaimVerdict.DOES_NOT_HOLD: Direction.DIFFERENT,
        }
        for index, claim in enumerate(self.records):
            yield Finding(
                kind="claim", measure=claim.finding, estimate=math.nan, index=index,
                direction=agreement.get(claim.holds, Direction.INCONCLUSIVE),
            )  # fmt: skip

    def _described(self) -> Sequence[str]:
        holding = sum(claim.holds == ClaimVerdict.HOLDS for claim in self.records)
        return [citation(self.paper), self.study, f"{holding:,} of {plural(len(self.records), 'claim')} hold"]

    def tables(self) -> tuple[Table, ...]:
        """Return the findings as a table."""
        rows = tuple(
            (record.finding, record.claim, record.here, record.holds, record.holds_corrected or "")
            for record in self.records
        )
        headings = ("finding", "the paper", "here", "by its rule", "corrected")
        return (Table("reproduction", f"Findings of {citation(self.paper)}", headings, rows),)


def reproduction_of(result: StudyResult | Mapping[str, Any], command: Iterable[str] | None = None) -> Reproduction:
    """Compare a study, or its JSON, with the findings of Qian et al. (2021)."""
    content: Mapping[str, Any] = result if isinstance(result, Mapping) else result.as_json()
    claims = paper_claims(content)
    study_provenance = content["provenance"]
    return Reproduction(
        schema=SCHEMA,
        records=claims,
        provenance=provenance(
            fingerprint=fingerprint_of([json.dumps(content["records"], sort_keys=True).encode()]),
            command=command,
            data=study_provenance["data"],
            columns={},
            options={
                "study": study_provenance["fingerprint"],
                **{k: study_provenance["options"].get(k) for k in ("trials", "rounding", "device")},
            },
        ),
        paper="004",
        study=str(study_provenance["data"]),
        words=tuple(f"Finding {claim.finding}: {verdict_words(claim)}. {claim.here}" for claim in claims),
        notes=(*NOTES, *_unfinished(content), *_copies(content)),
        techniques=tuple(_spread(content, name) for name in TABLE_4),
    )


def _unfinished(content: Mapping[str, Any]) -> Iterator[str]:
    """Say which trainings were too short, and what follows; or that it is not known."""
    if any("unfinished_training" not in cell for cell in content["cells"]):
        yield "How the trainings of this study ended is not known: its JSON is of an earlier version."
    marked: dict[str, list[str]] = {}
    for cell in content["cells"]:
        for reason in cell.get("unfinished_training", ()):
            marked.setdefault(WORDS[Unfinished(reason)], []).append(cell["treatment"])
    if marked:
        parts = [f"{words} ({listing(dict.fromkeys(names), 12)})" for words, names in marked.items()]
        yield (
            f"Trained too briefly to be evidence: {'; '.join(parts)}. A finding that rests on them is inconclusive, "
            "whether it agrees with the paper or not."
        )


def _copies(content: Mapping[str, Any]) -> Iterator[str]:
    """Say whose runs are copies of each other: the paper's rule counts them as if they were not."""
    spread: dict[str, float] = {}
    for row in content["identical_runs"]:
        if row["maxdiff"] is not None:
            spread[row["treatment"]] = max(spread.get(row["treatment"], 0.0), row["maxdiff"])
    same = [name for name, most in spread.items() if most == 0]
    if same:
        yield (
            f"Identical runs of {listing(same, 4)} were the same to the last digit. The paper's rule counts such "
            "copies as runs, so its results there are not evidence; the corrected rule counts them once."
        )


def verdict_words(claim: PaperClaim) -> str:
    """Say whether a finding holds, by both rules where they differ; or why that is inconclusive."""
    if claim.as_trained is not None:
        return f"inconclusive, as trainings were too short ({claim.as_trained} as trained)"
    if claim.holds_corrected is None or claim.holds_corrected == claim.holds:
        return _verdict_text(claim.holds)
    return f"{_verdict_text(claim.holds)} by the paper's rule, {_verdict_text(claim.holds_corrected)} after correction"


def _verdict_text(verdict: ClaimVerdict) -> str:
    return "not enough data" if verdict == ClaimVerdict.NOT_ENOUGH_DATA else verdict


def _spread(content: Mapping[str, Any], name: str) -> TechniqueSpread:
    treatment, readout, *numbers = TABLE_4[name]
    paper = [round(number / 100, 6) for number in numbers]
    spread = TechniqueSpread(
        technique=name, treatment=treatment if readout is None else f"{treatment}: {readout}",
        paper_maxdiff=paper[0], paper_stdev=paper[1], paper_class_maxdiff=paper[2], paper_class_stdev=paper[3],
    )  # fmt: skip
    cells = [cell for cell in content["cells"] if _is(cell, treatment, readout)]
    reasons = dict.fromkeys(reason for cell in cells for reason in cell.get("unfinished_training", ()))
    spread = replace(spread, unfinished_training=tuple(reasons))
    keys = {(cell["condition"], cell["learner"], cell["treatment"], cell["setting"]) for cell in cells}
    matching_runs = [
        row
        for row in content["identical_runs"]
        if row["measure"] == IMPACT and (row["condition"], row["learner"], row["treatment"], row["setting"]) in keys
    ]
    if not matching_runs:
        return spread
    most = max(matching_runs, key=lambda row: row["runs"])
    fields = ("runs", "mean", "maxdiff", "stdev", "class_maxdiff", "class_stdev")
    return replace(spread, **{name: most[name] for name in fields})


def _is(cell: Mapping[str, Any], treatment: str, readout: str | None) -> bool:
    """Tell whether a cell is a technique of the paper: one treatment alone, read in that way."""
    settings = cell["settings"]
    alone = list(settings) == [treatment] and settings[treatment].get("readout") == readout
    return bool(cell["chosen"]) and alone


def reproduction_from(path: str | os.PathLike[str], command: Iterable[str] | None = None) -> Reproduction:
    """Compare the JSON of a study with the findings of the paper; another file, or a damaged one, is refused."""
    content = _content(Path(path), STUDIES, "the JSON that equipoise study report --json writes")
    try:
        return reproduction_of(content, command)
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{Path(path).name!r} is not the whole result of a study ({type(error).__name__}: {error})",
            help="create it again with this version: equipoise study report PLAN --json FILE.",
        ) from error


def read_reproduction(path: str | os.PathLike[str]) -> Reproduction:
    """Read a reproduction that was written as JSON."""
    content = _content(Path(path), (SCHEMA,), "the JSON that equipoise reproduce --json writes")
    try:
        return Reproduction(
            schema=content["schema"],
            records=tuple(read_claim(content_record) for content_record in content["records"]),
            provenance=content["provenance"], paper=content["paper"], study=content["study"],
            words=tuple(content["words"]), notes=tuple(content["notes"]),
            techniques=tuple(TechniqueSpread(**content_record) for content_record in content["techniques"]),
        )  # fmt: skip
    except (KeyError, TypeError) as error:
        raise BadInput(f"{Path(path).name!r} is not a whole reproduction ({error})") from error


def _content(path: Path, schemas: tuple[str, ...], allowed: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{str(path)!r} could not be read ({error.strerror})", available=allowed) from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise BadInput(f"{path.name!r} is not JSON ({error})", available=allowed) from error
    if not isinstance(content, dict) or content.get("schema") not in schemas:
        schema_found = content.get("schema") if isinstance(content, dict) else type(content).__name__
        raise BadInput(f"{path.name!r} is {schema_found!r}, not {schemas[0]}", available=allowed)
    return content
