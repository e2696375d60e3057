"""The findings of Qian et al. (2021) and whether they hold in a study of identical runs, each with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from equipoise.audits.evidence import METRIC_VARIANCE, PERFORMANCE_LOWER, PERFORMANCE_VARIANCE
from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.text import plural
from equipoise.results import ClaimVerdict, Verdict

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
    typed: dict[str, Any] = {name: None if one is None else ClaimVerdict(one) for name, one in verdicts.items()}
    return PaperClaim(**{**content, **typed})


def judged(found: bool) -> ClaimVerdict:
    """Say whether a finding holds."""
    return ClaimVerdict.HOLDS if found else ClaimVerdict.DOES_NOT_HOLD


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
        condition, learner, _, _ = own = _cell(row)
        beside = (condition, learner, str(row.get("baseline")))
        return own in self.unfinished or any(cell[:3] == beside for cell in self.unfinished)

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
    told = [
        row
        for row in content["records"]
        if row["verdict"] is not None and (row["measure"], tuple(row["attribute"])) in biases
    ]
    return _Study(
        content["identical_runs"], content["both_sides"], content["experiments"], told,
        len({(row["condition"], row["learner"]) for row in content["identical_runs"]}),
        frozenset(_cell(cell) for cell in content["cells"] if cell.get("unfinished_training")),
    )  # fmt: skip


def _cell(row: Row) -> tuple[str, ...]:
    """Name the cell that a row is about."""
    return tuple(str(row[name]) for name in ("condition", "learner", "treatment", "setting"))


def _runs_differ(study: _Study) -> Iterator[PaperClaim]:
    own = [row for row in study.runs if row["better"] == "low" and row["maxdiff"] is not None]
    claim = "Identical runs differ: by up to 12.6 points in DP, and up to 11.8 points in DI (gradient reversal)."
    if not own:
        yield PaperClaim(
            finding="1", claim=claim, here="No bias is defined in these runs.", holds=ClaimVerdict.NOT_ENOUGH_DATA
        )
        return
    most = max(own, key=lambda row: row["maxdiff"])
    yield PaperClaim(
        finding="1", claim=claim,
        here=(
            f"Identical runs differ by up to {points(most['maxdiff'])} in {metric_of(most)} ({study.called(most)}, "
            f"{share(most['min'])} to {share(most['max'])} over {plural(most['runs'], 'run')})."
        ),
        holds=judged(most["maxdiff"] >= NOTICEABLE),
        numbers={"maxdiff": most["maxdiff"], "stdev": most["stdev"], "runs": most["runs"]},
    )  # fmt: skip


def _class_differs(study: _Study) -> Iterator[PaperClaim]:
    claim = (
        "A single class differs further than the mean over classes: by up to 50.1 points in DI on CIFAR-10S, and from "
        "0 to 100% on MS-COCO."
    )
    own = [row for row in study.runs if row["class_maxdiff"] is not None]
    known = [row["maxdiff"] for row in own if row["maxdiff"] is not None]
    if not known:
        yield PaperClaim(
            finding="1, classes",
            claim=claim,
            here="These runs have no values of single classes.",
            holds=ClaimVerdict.NOT_ENOUGH_DATA,
        )
        return
    most = max(own, key=lambda row: row["class_maxdiff"])
    overall = max(known)
    complete = sum(bool(row["complete"]) for row in study.sides)
    yield PaperClaim(
        finding="1, classes", claim=claim,
        here=(
            f"{metric_of(most)} of {most['class']!r} differs by {points(most['class_maxdiff'])} "
            f"({study.called(most)}), the mean over classes by {points(overall)} at most. "
            + ("No class goes" if not complete else f"{plural(complete, 'class goes', 'classes go')}")
            + " from 0 to 100%."
        ),
        holds=judged(most["class_maxdiff"] > overall),
        numbers={"class_maxdiff": most["class_maxdiff"], "maxdiff": overall, "complete": complete},
    )  # fmt: skip


def _both_sides(study: _Study) -> Iterator[PaperClaim]:
    claim = "One run is within the 20% rule for disparate impact, an identical one is not (17.9% and 20.4%)."
    techniques = {study.called(row) for row in study.runs if row["measure"] == "disparate_impact"}
    if not techniques:
        here = "Disparate impact was not measured."
        yield PaperClaim(finding="1, the 20 % rule", claim=claim, here=here, holds=ClaimVerdict.NOT_ENOUGH_DATA)
        return
    whole = list(dict.fromkeys(study.called(row) for row in study.sides if row["class"] is None))
    classes = sum(row["class"] is not None for row in study.sides)
    yield PaperClaim(
        finding="1, the 20 % rule", claim=claim,
        here=(
            f"{out_of(len(whole), len(techniques), 'technique')} {have(len(whole))} identical runs on both sides"
            + (f" ({listing(whole, 4)})" if whole else "")
            + f"; of single classes with a technique, {classes:,}."
        ),
        holds=judged(bool(whole)),
        numbers={"techniques": len(whole), "of": len(techniques), "classes": classes},
    )  # fmt: skip


def _one_run_misleads(study: _Study) -> Iterator[PaperClaim]:
    claim = (
        "One run misleads: in 34 of 154 experiments the ranges overlap with the baseline's, and in 14 the mean is "
        "higher yet a single run is lower than one of the baseline."
    )
    own = study.experiments
    if not own:
        yield PaperClaim(finding="2", claim=claim, here=NO_BASELINE, holds=ClaimVerdict.NOT_ENOUGH_DATA)
        return
    overlap, lower = (sum(bool(row[name]) for row in own) for name in ("overlap", "one_run_lower"))
    risk = [row["prob_single_run_misleads"] for row in own if row["prob_single_run_misleads"] is not None]
    yield PaperClaim(
        finding="2", claim=claim,
        here=(
            f"In {out_of(overlap, len(own), 'experiment')} the ranges overlap; in {lower:,} the mean is higher yet "
            "some run is lower than one of the baseline."
            + (f" At worst one run of each misleads {share(max(risk))} of the time." if risk else "")
        ),
        holds=judged(lower > 0),
        numbers={"experiments": len(own), "overlap": overlap, "one_run_lower": lower,
                 **({"largest_risk": max(risk)} if risk else {})},
    )  # fmt: skip


def _another_metric(study: _Study) -> Iterator[PaperClaim]:
    claim = "Most techniques (15 of 22) raise at least one of the seven biases."
    if not study.experiments:
        yield PaperClaim(finding="3", claim=claim, here=NO_BASELINE, holds=ClaimVerdict.NOT_ENOUGH_DATA)
        return
    counts, told = {}, []
    for name, rows in (("paper", study.experiments), ("corrected", study.corrected)):
        every = dict.fromkeys(study.called(row) for row in rows)
        raising = list(dict.fromkeys(study.called(row) for row in rows if row["verdict"] == Verdict.HIGHER))
        counts[name] = (len(raising), len(every))
        told.append(
            f"{RULES[name]} {out_of(len(raising), len(every), 'technique')} {raises(len(raising))} at least one bias"
            + (f" ({listing(raising, 4)})" if raising and name == "paper" else "")
        )
    yield PaperClaim(
        finding="3", claim=claim, here=sentence(told),
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
    counts, told = {}, []
    numbers: dict[str, float] = {}
    for name, rows in (("paper", study.experiments), ("corrected", study.corrected)):
        lower = [row for row in rows if row["verdict"] == Verdict.LOWER]
        costly = [row for row in lower if row["costs"]]
        counts[name] = (len(costly), len(lower))
        parts = [f"{sum(cost in row['costs'] for row in lower)} {words}" for cost, words in COSTS.items()]
        text = f"{RULES[name]} {len(costly):,} of {plural(len(lower), 'reduction')} carry a cost"
        told.append(text + (f" ({', '.join(parts)})" if costly else ""))
        aside = "" if name == "paper" else "_corrected"
        numbers |= {f"reductions{aside}": len(lower), f"at_a_cost{aside}": len(costly)}
        numbers |= {f"{key.replace(' ', '_')}{aside}": sum(key in row["costs"] for row in lower) for key in COSTS}
    yield PaperClaim(
        finding="4", claim=claim, here=sentence(told),
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
            for technique, own in by_technique.items()
            if all(row["verdict"] == Verdict.LOWER and not row["costs"] for row in own)
        ]
    told = [
        f"{RULES[name]} these lower every bias at no cost: {listing(own, 6) or 'none'}" for name, own in free.items()
    ]
    yield PaperClaim(
        finding="4, without a cost", claim=claim, here=sentence(told),
        holds=judged(bool(free["paper"])), holds_corrected=judged(bool(free["corrected"])),
        numbers={"techniques": len(free["paper"]), "techniques_corrected": len(free["corrected"])},
    )  # fmt: skip


NO_BASELINE = "No technique has a baseline with identical runs of the same seed."
RULES = {"paper": "by the paper's rule", "corrected": "after correction, and for other people too,"}
CLAIMS: tuple[Callable[[_Study], Iterator[PaperClaim]], ...] = (
    _runs_differ, _class_differs, _both_sides, _one_run_misleads, _another_metric, _carry_costs, _free_of_cost,
)  # fmt: skip
