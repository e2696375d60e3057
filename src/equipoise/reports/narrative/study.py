"""What a study says: which treatment changed what, whether that is confirmed, and what would decide the rest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from equipoise.foundation.registry import report
from equipoise.foundation.text import plural
from equipoise.reports._document import NOT_CERTIFIED, Document, Meaning, Section, Tile
from equipoise.reports._study_terms import treatments_of
from equipoise.reports.narrative._report import Report, document_provenance
from equipoise.reports.narrative._story import part_names
from equipoise.reports.narrative._study_identical import identical_section
from equipoise.reports.narrative._study_spaces import spaces_section
from equipoise.reports.narrative._study_tables import (
    UNCERTAINTIES,
    alternatives_section,
    conditions_section,
    contrasts_section,
    effect_sections,
    flips_section,
    numbers_section,
    ranks_section,
    spreads_section,
    table_section,
    unknown_section,
)
from equipoise.reports.narrative._study_words import (
    answer,
    answered_treatment,
    confirmed,
    inconclusive,
    look_words,
    orientation,
    study_words,
)
from equipoise.results import Verdict
from equipoise.stats import LimitedBy
from equipoise.studies.findings import ClaimKind, StudyResult, seeds_needed, with_symbol

if TYPE_CHECKING:
    from equipoise.reports.charts import Chart

PARTS = (
    "front", "space_curves", "space_sweep", "space_scatter", "space_settings", "space_maps", "sensitive_maps", "values",
    "curves", "ranks", "effects", "costs", "variances", "spreads", "runs", "classes", "sides", "fairest", "flips",
)  # fmt: skip
# So many conditions are named above the answer.
FEW_CONDITIONS = 4


@report("study")
class StudyReport(Report):
    """The report of a study."""

    def document(self, result: StudyResult) -> Document:
        """Return everything that is said about a study."""
        return Document(
            title=("Study of ", str(result.provenance.get("data"))),
            facts=_facts(result),
            answer=answer(result),
            context=orientation(result),
            meaning=_meaning(result),
            lead=tuple(confirmed(result)),
            picture=_picture(result),
            tiles=_tiles(result),
            inconclusive=tuple(inconclusive(result)),
            next_steps=tuple(_next_steps(result)),
            caution=_caution(result),
            sections=tuple(_sections(result)),
            notes=(*look_words(result), *result.notes),
            provenance=document_provenance(result, "equipoise.Study"),
        )

    def charts(self, result: StudyResult) -> Mapping[str, Chart]:
        """Draw a study."""
        from equipoise.reports.narrative._study_charts import study_charts

        return study_charts(result)

    def words(self, result: StudyResult) -> Iterable[str]:
        """Return the study in sentences, as its JSON has them."""
        return study_words(result)


def _facts(result: StudyResult) -> str:
    names = [with_symbol(title, name) for name, title in result.condition_titles.items()]
    conditions = plural(len(result.unders), "condition")
    named = f" Conditions: {'; '.join(names)}." if 1 < len(names) <= FEW_CONDITIONS else ""
    runs = plural(sum(cell.runs for cell in result.cells), "training run")
    treatments = plural(len(treatments_of(result)), "treatment")
    about = " & ".join(result.attribute)
    return f"{treatments} under {conditions}, {runs}; fairness is measured between groups of {about}.{named}"


def _next_steps(result: StudyResult) -> Iterator[str]:
    """Yield what would decide what is inconclusive."""
    needed = seeds_needed(result)
    runs = max((record.runs for record in result.records), default=0)
    if needed is not None:
        change = f"a change of {100 * needed.change:g} points in fairness"
        if needed.seeds is None:
            yield f"Add test people: no number of seeds would detect {change} with these."
        elif needed.seeds > runs:
            yield (
                f"Add seeds: about {needed.seeds:,} per treatment would detect {change} (seeds = {needed.seeds} in the "
                "plan; study run keeps what is trained)."
            )
        if needed.seeds is not None and needed.limited_by is LimitedBy.BOTH:
            yield "Add test people as well: the people who were counted limit some comparisons."
    if not result.flips:
        yield "Run one seed twice (repeats = 2): how much identical runs differ is not known yet."


def _meaning(result: StudyResult) -> Meaning:
    """Return what the answer means for the treatment it is about: better, worse, or both; quiet without a finding."""
    kinds = {claim.kind for claim in result.claims if claim.treatments[:1] == answered_treatment(result)}
    better, worse = ClaimKind.BETTER in kinds, ClaimKind.WORSE in kinds
    if not kinds:
        counted = _counted(result) if not any(record.verdict is not None for record in result.records) else Counter()
        better, worse = bool(counted["better"]), bool(counted["worse"])
    if better and worse:
        return Meaning.NEUTRAL
    return Meaning.BETTER if better else Meaning.WORSE if worse else Meaning.QUIET


def _counted(result: StudyResult) -> Counter[str]:
    """Count comparisons by their outcome; where treatments are not compared, those of embedding spaces.

    A cell that has collapsed is not counted as better: a constant prediction is fair, which is no improvement.
    """
    gone = {(cell.condition, cell.learner, cell.treatment) for cell in result.cells if cell.chosen and cell.collapsed}
    judged = [record for record in result.records if record.verdict is not None]
    counted: Counter[str] = Counter()
    for record in judged or result.space_contrasts:
        good = record.good
        if good and (record.condition, record.learner, record.treatment) in gone:
            continue
        if good is not None:
            counted["better" if good else "worse"] += 1
        elif record.verdict in (Verdict.NONE, Verdict.UNDECIDED):
            counted[record.verdict] += 1
    counted["all"] = len(judged or result.space_contrasts)
    return counted


def _tiles(result: StudyResult) -> tuple[Tile, ...]:
    counted = _counted(result)
    better, worse, unshown, undecided = (
        counted[outcome] for outcome in ("better", "worse", Verdict.NONE, Verdict.UNDECIDED)
    )
    collapsed = sum(cell.collapsed for cell in result.cells if cell.chosen)
    failed = sum(failure.trials for failure in result.failures)
    of = f"of {plural(counted['all'], 'comparison')}"
    tiles = [
        Tile("significantly better", f"{better:,}", Meaning.BETTER if better else None, of),
        Tile("significantly worse", f"{worse:,}", Meaning.WORSE if worse else None, of),
        Tile("not significant", f"{unshown:,}", None, "a change worth detecting would have shown"),
        Tile("inconclusive", f"{undecided:,}", None, "too few seeds or people to tell"),
    ]
    if collapsed:
        tiles.append(Tile("collapsed to a constant", f"{collapsed:,}", Meaning.WORSE))
    if failed:
        tiles.append(Tile("failed trials", f"{failed:,}", Meaning.WORSE))
    return tuple(tiles)


def _picture(result: StudyResult) -> str:
    """Return the name of the chart that shows the answer: the trade-off where fairness is known."""
    known = any(not math.isnan(cell.test_fairness) and not math.isnan(cell.test_performance) for cell in result.cells)
    if known:
        return "front"
    if not result.spaces:
        return "values"
    return "space_curves" if any(one.degree is not None for one in result.spaces) else "space_scatter"


def _caution(result: StudyResult) -> str:
    scopes = list(dict.fromkeys(record.scope for record in result.records if record.scope))[:3]
    return " ".join((*(f"Scope: a verdict {scope}." for scope in scopes), UNCERTAINTIES, NOT_CERTIFIED))


def _sections(result: StudyResult) -> Iterator[Section]:
    picture = _picture(result)
    charts = {part: tuple(name for name in part_names(part) if name != picture) for part in PARTS}
    spaces, repeated = spaces_section(result, charts), identical_section(result, charts)
    sections = (
        spaces, numbers_section(result, charts), contrasts_section(result), ranks_section(result, charts),
        *effect_sections(result, charts), alternatives_section(result), spreads_section(result, charts), repeated,
        flips_section(result, charts), conditions_section(result), table_section(result), unknown_section(result),
    )  # fmt: skip
    yield from (section for section in sections if section is not None)
