"""Qian et al. (2021) beside a study of identical runs: its findings, and the spreads of its Table 4 for CIFAR-10S."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation.errors import BadInput, listing
from equipoise.foundation.references import cited
from equipoise.foundation.reproducibility import fingerprint_of, provenance
from equipoise.foundation.text import plural
from equipoise.results import ClaimVerdict, Direction, Finding, Result, Table
from equipoise.studies.findings._data import WORDS, Unfinished
from equipoise.studies.findings.identical._claims import PaperClaim, paper_claims, read_claim
from equipoise.studies.findings.identical._runs import IMPACT

if TYPE_CHECKING:
    from equipoise.studies.findings._result import StudyResult


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
        for place, claim in enumerate(self.records):
            yield Finding(
                kind="claim", measure=claim.finding, estimate=math.nan, place=place,
                direction=agreement.get(claim.holds, Direction.INCONCLUSIVE),
            )  # fmt: skip

    def _described(self) -> Sequence[str]:
        holding = sum(claim.holds == ClaimVerdict.HOLDS for claim in self.records)
        return [cited(self.paper), self.study, f"{holding:,} of {plural(len(self.records), 'claim')} hold"]

    def tables(self) -> tuple[Table, ...]:
        """Return the findings as a table."""
        rows = tuple((one.finding, one.claim, one.here, one.holds, one.holds_corrected or "") for one in self.records)
        headings = ("finding", "the paper", "here", "by its rule", "corrected")
        return (Table("reproduction", f"Findings of {cited(self.paper)}", headings, rows),)


def reproduction_of(result: StudyResult | Mapping[str, Any], command: Iterable[str] | None = None) -> Reproduction:
    """Compare a study, or its JSON, with the findings of Qian et al. (2021)."""
    content: Mapping[str, Any] = result if isinstance(result, Mapping) else result.as_json()
    claims = paper_claims(content)
    made = content["provenance"]
    return Reproduction(
        schema=SCHEMA,
        records=claims,
        provenance=provenance(
            fingerprint=fingerprint_of([json.dumps(content["records"], sort_keys=True).encode()]),
            command=command,
            data=made["data"],
            columns={},
            options={
                "study": made["fingerprint"],
                **{k: made["options"].get(k) for k in ("trials", "rounding", "device")},
            },
        ),
        paper="004",
        study=str(made["data"]),
        words=tuple(f"Finding {one.finding}: {verdict_words(one)}. {one.here}" for one in claims),
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
        return _said(claim.holds)
    return f"{_said(claim.holds)} by the paper's rule, {_said(claim.holds_corrected)} after correction"


def _said(verdict: ClaimVerdict) -> str:
    return "not enough data" if verdict == ClaimVerdict.NOT_ENOUGH_DATA else verdict


def _spread(content: Mapping[str, Any], name: str) -> TechniqueSpread:
    treatment, readout, *numbers = TABLE_4[name]
    paper = [round(number / 100, 6) for number in numbers]
    made = TechniqueSpread(
        technique=name, treatment=treatment if readout is None else f"{treatment}: {readout}",
        paper_maxdiff=paper[0], paper_stdev=paper[1], paper_class_maxdiff=paper[2], paper_class_stdev=paper[3],
    )  # fmt: skip
    cells = [cell for cell in content["cells"] if _is(cell, treatment, readout)]
    reasons = dict.fromkeys(reason for cell in cells for reason in cell.get("unfinished_training", ()))
    made = replace(made, unfinished_training=tuple(reasons))
    keys = {(cell["condition"], cell["learner"], cell["treatment"], cell["setting"]) for cell in cells}
    found = [
        row
        for row in content["identical_runs"]
        if row["measure"] == IMPACT and (row["condition"], row["learner"], row["treatment"], row["setting"]) in keys
    ]
    if not found:
        return made
    most = max(found, key=lambda row: row["runs"])
    fields = ("runs", "mean", "maxdiff", "stdev", "class_maxdiff", "class_stdev")
    return replace(made, **{name: most[name] for name in fields})


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
            schema=content["schema"], records=tuple(read_claim(one) for one in content["records"]),
            provenance=content["provenance"], paper=content["paper"], study=content["study"],
            words=tuple(content["words"]), notes=tuple(content["notes"]),
            techniques=tuple(TechniqueSpread(**one) for one in content["techniques"]),
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
        said = content.get("schema") if isinstance(content, dict) else type(content).__name__
        raise BadInput(f"{path.name!r} is {said!r}, not {schemas[0]}", available=allowed)
    return content
