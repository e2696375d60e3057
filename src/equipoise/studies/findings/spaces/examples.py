"""Pictures of a few dev rows with their nearest others, by the released space and by a sensitive one.

Only a cohort that says that its pictures are of things has them; pixels are encoded anew, so nothing else of a file
reaches a page.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import EquipoiseError
from equipoise.foundation.imports import require
from equipoise.foundation.seeds import stream
from equipoise.studies.findings.data import Codes, StudyData
from equipoise.studies.findings.spaces.apart import Apart
from equipoise.studies.findings.spaces.result import ExamplePicture, SpaceExample, SpaceExamples

QUERIES, NEAREST = 5, 3
SIDE, QUALITY = 64, 70
NO_GROUP = "no group"


def examples_of(data: StudyData, apart: Apart) -> SpaceExamples | None:
    """Return the examples, or why they cannot be shown; None where the cohort has none to show."""
    if data.pictures is None or len(apart.rows) <= NEAREST:
        return None
    try:
        return SpaceExamples(examples=_examples(data, apart))
    except EquipoiseError as error:
        return SpaceExamples(reason=f"Example pictures are not shown. {' '.join(str(error).split())}")


def queries_of(codes: Codes) -> list[int]:
    """Draw rows by chance, one of each of the largest groups in turn."""
    generator = stream(0, "examples of a space")
    known = codes[codes >= 0]
    ranked = np.argsort(-np.bincount(known), kind="stable").tolist() if len(known) else []
    waiting = [generator.permutation(np.flatnonzero(codes == group)).tolist() for group in ranked]
    found: list[int] = []
    while len(found) < QUERIES and any(waiting):
        found += [own.pop() for own in waiting if own]
    return found[:QUERIES]


def nearest_of(points: NDArray[np.float32], query: int) -> list[int]:
    """Return the nearest other rows, the nearest first."""
    distances = np.square(points - points[query]).sum(axis=1)
    distances[query] = np.inf
    return [int(place) for place in np.argsort(distances, kind="stable")[:NEAREST]]


def _examples(data: StudyData, apart: Apart) -> tuple[SpaceExample, ...]:
    chosen = [
        (query, nearest_of(apart.embedding, query), nearest_of(apart.sensitive, query))
        for query in queries_of(apart.codes)
    ]
    shown = sorted({place for query, near, alike in chosen for place in (query, *near, *alike)})
    pictures = _encoded(data, apart.rows[shown])
    made = {
        place: ExamplePicture(
            picture=picture,
            class_=data.layout.classes[int(apart.target[place])],
            group=apart.groups[int(apart.codes[place])] if apart.codes[place] >= 0 else NO_GROUP,
        )
        for place, picture in zip(shown, pictures, strict=True)
    }
    return tuple(
        SpaceExample(
            condition=apart.cell.under.condition, learner=apart.cell.under.learner, treatment=apart.cell.treatment,
            setting=apart.cell.setting, seed=data.trials[apart.place].seed, attribute=apart.attribute,
            query=made[query], embedding=tuple(made[place] for place in near),
            sensitive=tuple(made[place] for place in alike),
        )
        for query, near, alike in chosen
    )  # fmt: skip


def _encoded(data: StudyData, rows: Codes) -> list[bytes]:
    images: Any = require("PIL.Image", extra="vision", purpose="Showing example pictures")
    assert data.pictures is not None
    made = []
    for pixels in data.pictures(rows):
        image = images.fromarray(np.ascontiguousarray(pixels))
        image.thumbnail((SIDE, SIDE))
        written = io.BytesIO()
        image.save(written, format="WEBP", quality=QUALITY)
        made.append(written.getvalue())
    return made
