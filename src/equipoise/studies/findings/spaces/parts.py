"""Everything that a study says of embedding spaces, as the parts of its result; nothing where none was kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from equipoise.studies.findings.cells import Cell
from equipoise.studies.findings.data import Attribute, StudyData
from equipoise.studies.findings.measuring import Measured
from equipoise.studies.findings.spaces.apart import aparts_of
from equipoise.studies.findings.spaces.choosing import Choosing, choosings_of
from equipoise.studies.findings.spaces.comparing import contrasts_of
from equipoise.studies.findings.spaces.examples import examples_of
from equipoise.studies.findings.spaces.maps import maps_of, sensitive_maps_of
from equipoise.studies.findings.spaces.measuring import Progress, spaces_of
from equipoise.studies.findings.spaces.telling import records_of


def space_parts(study: Measured, *, threshold: float = 0.05, progress: Progress | None = None) -> dict[str, Any]:
    """Return the fields of a ``StudyResult`` that are about spaces."""
    spaces = spaces_of(study, progress)
    if spaces is None:
        return {}
    aparts = aparts_of(spaces)
    return {
        "spaces": tuple(records_of(spaces)),
        "space_contrasts": tuple(contrasts_of(spaces, threshold=threshold)),
        "space_settings": tuple(setting for choosing in study.choosings for setting in choosing.settings),
        "space_maps": (*maps_of(spaces), *sensitive_maps_of(spaces, aparts)),
        "space_examples": examples_of(study.data, aparts[0]) if aparts else None,
    }


def chosen_by_spaces(
    data: StudyData, cells: Sequence[Cell], attribute: Attribute, measure: str
) -> tuple[Choosing, ...]:
    """Choose settings by their worst group on dev rows where trials kept the spaces of these; nothing elsewhere."""
    kept = data.kept
    if kept is None or not kept.has_spaces or kept.truth is None or data.layout.task != "class":
        return ()
    return choosings_of(cells, data.trials, kept, kept.truth, measure=measure, attribute=attribute)
