"""The names of an audit's charts, known before anything is drawn: a document speaks of charts by name."""

from __future__ import annotations

from equipoise.audits import AuditResult
from equipoise.reports.spaces import MOST_MAPS, is_embedding
from equipoise.reports.subjects import splits_of, subjects_of

MOST_SUBJECTS, MOST_SPLITS = 6, 3
# The chart of the first screen.
PICTURE = "main"
# No part has more charts than this.
MOST_CHARTS = 12


def part_names(part: str) -> tuple[str, ...]:
    """Return the names that the charts of a part may have: the first is called as the part is."""
    return (part, *(f"{part}_{place}" for place in range(2, MOST_CHARTS + 1)))


def chart_notes(result: AuditResult) -> tuple[str, ...]:
    """Say which charts are left out because there would be too many."""
    if is_embedding(result):
        left_out = len(result.map.groups) - MOST_MAPS if result.map is not None else 0
        drawn = f"The map is drawn for {MOST_MAPS} attributes; {left_out} more are not drawn."
        return (drawn,) if left_out > 0 else ()
    subjects, splits = len(subjects_of(result)), len(splits_of(result))
    if splits > MOST_SPLITS:
        return (f"Charts are drawn for {MOST_SPLITS} of {splits} splits; tables have all of them.",)
    if subjects > MOST_SUBJECTS:
        return (f"Contrasts are drawn for {MOST_SUBJECTS} of {subjects} attributes; tables have all of them.",)
    return ()
