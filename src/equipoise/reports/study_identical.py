"""What the page of a study says of identical runs, as plain data: words, then tables."""

from __future__ import annotations

from equipoise.reports.plain_tables import Table, limited
from equipoise.reports.study_terms import title_of_measure, title_of_under
from equipoise.results import record_as_json
from equipoise.studies.findings.identical.words import chosen_fairest, identical_words
from equipoise.studies.findings.result import StudyResult

MOST_RUNS, MOST_SIDES, MOST_FAIREST = 200, 60, 80


def identical_summary(result: StudyResult) -> Table | None:
    """Return what the section says; None where no seed was run twice."""
    if not result.identical_runs:
        return None
    return {
        "words": list(identical_words(result)),
        "seeds": len({one.seed for one in result.identical_runs}),
        "runs": limited([_line(result, "identical_runs", place) for place in range(len(result.identical_runs))],
                        MOST_RUNS),
        "by_class": any(one.class_ is not None for one in result.identical_runs),
        "sides": limited([_line(result, "both_sides", place) for place in range(len(result.both_sides))], MOST_SIDES),
        "failures": limited([_line(result, "class_failures", place) for place in range(len(result.class_failures))],
                            MOST_SIDES),
        "fairest": limited([_line(result, "fairest_of_n", place) for place in _fairest(result)], MOST_FAIREST),
        "halves": max((one.halves for one in result.fairest_of_n), default=0),
        "clusters": max((one.clusters for one in result.fairest_of_n), default=0),
    }  # fmt: skip


def _fairest(result: StudyResult) -> list[int]:
    """Return the places of the records of the bias that the chart shows, every number of runs."""
    shown = chosen_fairest(result)
    return [place for place, one in enumerate(result.fairest_of_n) if shown and one.measure == shown[0].measure]


def _line(result: StudyResult, part: str, place: int) -> Table:
    """Return a record as a line of a table, with its place among those of its part: a page can be held to its JSON."""
    record = getattr(result, part)[place]
    return {
        "part": part, "place": place, "under": title_of_under(result, (record.condition, record.learner)),
        "heading": record.alias or title_of_measure(record.measure), **record_as_json(record),
    }  # fmt: skip
