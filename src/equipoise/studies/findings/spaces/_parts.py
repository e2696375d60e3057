"""Everything that a study says of embedding spaces, with titles and notes; nothing where no space was kept."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream import classifier_from_source
from equipoise.audits.embedding import embedding_map
from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    Progress,
    listing,
    plural,
    require,
    stream,
)
from equipoise.results import because
from equipoise.studies.analysis import Attribute, Cell, Codes, Measured, SpaceReason, StudyData
from equipoise.studies.findings.spaces._choosing import DEV_EMBEDDING, Choosing, choosings_of, dev_rows, is_control
from equipoise.studies.findings.spaces._comparing import cells_with_spaces, contrasts_of, records_of
from equipoise.studies.findings.spaces._result import (
    BALANCED,
    HALVES,
    MAJORITISED,
    NEAREST,
    OWN_ROWS,
    ExamplePicture,
    Space,
    SpaceExample,
    SpaceExamples,
    StudyMap,
)
from equipoise.studies.findings.spaces._values import (
    AMI,
    NMI,
    RECALL,
    TEST_EMBEDDING,
    UNIFORMITY,
    Grouping,
    Spaces,
    StoredArrays,
    degree_of,
    groupings,
    spaces_of,
)

if TYPE_CHECKING:
    from equipoise.studies.findings._result import StudyResult
    from equipoise.studies.findings.spaces._choosing import Choosing


# What is kept under this and the place of the attribute among the trial's group columns.
SENSITIVE = "sensitive."
# Two maps each: more would not fit a page.
MOST_ATTRIBUTES = 3


@dataclass(frozen=True, eq=False)
class SeparatedSpaces:
    """Dev rows whose class is known, in two spaces: ``rows`` are places in the split, a code of -1 is no group."""

    cell: Cell
    trial_index: int
    attribute: str
    groups: tuple[str, ...]
    rows: Codes
    codes: Codes
    target: Codes
    embedding: NDArray[np.float32]
    sensitive: NDArray[np.float32]


def separated_spaces_of(spaces: Spaces) -> list[SeparatedSpaces]:
    """Return the spaces of one trial, one of each attribute; none where no trial kept a sensitive space.

    The trial is of the furthest imbalance and of the lowest seed that has them, and never of a control, in which
    nothing is held apart, or what was learnt is no attribute.
    """
    arrays = spaces.study.data.stored_arrays
    if arrays is None or arrays.labels is None or not any(name.startswith(SENSITIVE) for name in arrays.names):
        return []
    cells = [cell for cell in cells_with_spaces(spaces) if cell.chosen and not is_control(cell)]
    for cell in sorted(cells, key=lambda cell: -(degree_of(cell.described["condition"]) or 0.0)):
        for index in cell.indices[np.argsort(cell.seeds, kind="stable")].tolist():
            parted = list(_of_trial(spaces, arrays, cell, index))
            if parted:
                return parted
    return []


def _of_trial(spaces: Spaces, arrays: StoredArrays, cell: Cell, index: int) -> Iterator[SeparatedSpaces]:
    assert arrays.labels is not None
    embedding: NDArray[np.float32] | None = None
    for number, attribute in enumerate(spaces.study.data.trials[index].groups[:MOST_ATTRIBUTES]):
        sensitive = arrays.read(f"{SENSITIVE}{number}", index)
        if sensitive is None:
            continue
        embedding = arrays.read(DEV_EMBEDDING, index) if embedding is None else embedding
        rows = dev_rows(arrays.labels, (attribute,))
        for points in (embedding, sensitive):
            if points is None or points.ndim != 2 or len(points) != rows.rows:
                raise BadInput(
                    f"A trial kept a space of dev rows of the shape {None if points is None else points.shape}",
                    available=f"the {rows.rows:,} dev rows of the study",
                )
        assert embedding is not None
        if len(rows.indices):
            yield SeparatedSpaces(
                cell, index, attribute, rows.groups, rows.indices, rows.codes, rows.classes.codes,
                embedding[rows.indices].astype(np.float32), sensitive[rows.indices].astype(np.float32),
            )  # fmt: skip


RAW = "raw_features"
# Three panels of so many marks stay far below what a chart may have.
POINTS, DEV_POINTS = 1_000, 600


def maps_of(spaces: Spaces) -> Iterator[StudyMap]:
    """Yield the maps of one seed: raw features (where the study has them), the baseline, and a treatment or control."""
    cells = _chosen(spaces)
    seeds = set.intersection(*(set(cell.distinct_seeds) for cell in cells)) if cells else set()
    if not seeds:
        return
    seed = min(seeds)
    for cell in cells:
        index = int(cell.indices[cell.runs_of(seed)[0]])
        if index in spaces.trials:
            yield _map(spaces, cell, index)


def sensitive_maps_of(spaces: Spaces, aparts: Sequence[SeparatedSpaces]) -> Iterator[StudyMap]:
    """Yield two maps an attribute: the dev rows in the space that is released, then in the sensitive one."""
    for parted in aparts:
        both: tuple[tuple[Space, NDArray[np.float32]], ...]
        both = (("embedding", parted.embedding), ("sensitive", parted.sensitive))
        for space, points in both:
            grouping = Grouping(parted.attribute, parted.codes, parted.groups)
            study_map = _sampled_map(spaces, parted.cell, parted.trial_index, grouping, points, DEV_POINTS)
            yield replace(study_map, split="dev", space=space)


def _chosen(spaces: Spaces) -> list[Cell]:
    """Choose what stands side by side; without a treatment, the furthest imbalance beside its control."""
    study, cells = spaces.study, [cell for cell in cells_with_spaces(spaces) if cell.chosen]
    above = {id(cell): base for cell, base in zip(study.cells, study.baselines, strict=True)}
    trained = [cell for cell in cells if cell.described["learner"].name != RAW]
    panels: list[Cell] = []
    treated = max((cell for cell in trained if above[id(cell)] is not None), key=_shown_first, default=None)
    if treated is not None:
        base = above[id(treated)]
        assert base is not None
        panels = [base, treated]
    elif trained:
        first = min(trained, key=_degree)
        same = [cell for cell in trained if cell.under.learner == first.under.learner]
        last = max(same, key=_degree)
        panels = [first] if last is first else [first, last]
    raw = [cell for cell in cells if cell.described["learner"].name == RAW]
    if panels and raw:
        condition = panels[-1].under.condition
        panels.insert(0, next((cell for cell in raw if cell.under.condition == condition), raw[0]))
    return panels or raw[:1]


def _shown_first(cell: Cell) -> tuple[bool, float]:
    return not is_control(cell), _degree(cell)


def _degree(cell: Cell) -> float:
    return degree_of(cell.described["condition"]) or 0.0


def _map(spaces: Spaces, cell: Cell, index: int) -> StudyMap:
    data = spaces.study.data
    assert data.stored_arrays is not None
    points = data.stored_arrays.read(TEST_EMBEDDING, index)
    assert points is not None
    return _sampled_map(spaces, cell, index, groupings(spaces.study, index)[0], points.astype(np.float32), POINTS)


def _sampled_map(
    spaces: Spaces, cell: Cell, index: int, grouping: Grouping, points: NDArray[np.float32], most: int
) -> StudyMap:
    # The seed of the sample is that of no trial: the same rows are shown in every panel.
    embedding = embedding_map(points, "pca", min(most, max(1, len(points))))
    return StudyMap(
        condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment, setting=cell.setting,
        seed=spaces.study.data.trials[index].seed, attribute=grouping.attribute, groups=grouping.groups,
        group=tuple(grouping.codes[list(embedding.rows)].tolist()), x=tuple(_short(v) for v in embedding.x),
        y=tuple(_short(v) for v in embedding.y), explained=embedding.explained, of=embedding.of,
    )  # fmt: skip


def _short(value: float) -> float:
    """Return a place on a map in four digits: more are not seen."""
    return float(f"{value:.4g}")


QUERIES, NEIGHBOURS = 5, 3
SIDE, QUALITY = 64, 70
NO_GROUP = "no group"


def examples_of(data: StudyData, parted: SeparatedSpaces) -> SpaceExamples | None:
    """Return the examples, or why they cannot be shown; None where the cohort has none to show."""
    if data.pictures is None or len(parted.rows) <= NEIGHBOURS:
        return None
    try:
        return SpaceExamples(examples=_examples(data, parted))
    except EquipoiseError as error:
        return SpaceExamples(reason=because(SpaceReason.NOT_SHOWN, error=" ".join(str(error).split())))


def queries_of(codes: Codes) -> list[int]:
    """Draw rows by chance, one of each of the largest groups in turn."""
    generator = stream(0, "examples of a space")
    group_codes = codes[codes >= 0]
    ranked = np.argsort(-np.bincount(group_codes), kind="stable").tolist() if len(group_codes) else []
    waiting = [generator.permutation(np.flatnonzero(codes == group)).tolist() for group in ranked]
    queries: list[int] = []
    while len(queries) < QUERIES and any(waiting):
        queries += [rows.pop() for rows in waiting if rows]
    return queries[:QUERIES]


def nearest_of(points: NDArray[np.float32], query: int) -> list[int]:
    """Return the nearest other rows, the nearest first."""
    distances = np.square(points - points[query]).sum(axis=1)
    distances[query] = np.inf
    return [int(place) for place in np.argsort(distances, kind="stable")[:NEIGHBOURS]]


def _examples(data: StudyData, parted: SeparatedSpaces) -> tuple[SpaceExample, ...]:
    chosen = [
        (query, nearest_of(parted.embedding, query), nearest_of(parted.sensitive, query))
        for query in queries_of(parted.codes)
    ]
    shown_rows = sorted(
        {row for query, near, nearest_sensitive in chosen for row in (query, *near, *nearest_sensitive)}
    )
    pictures = _encoded(data, parted.rows[shown_rows])
    pictures_of_rows = {
        row: ExamplePicture(
            picture=picture,
            class_=data.layout.classes[int(parted.target[row])],
            group=parted.groups[int(parted.codes[row])] if parted.codes[row] >= 0 else NO_GROUP,
        )
        for row, picture in zip(shown_rows, pictures, strict=True)
    }
    return tuple(
        SpaceExample(
            condition=parted.cell.under.condition, learner=parted.cell.under.learner, treatment=parted.cell.treatment,
            setting=parted.cell.setting, seed=data.trials[parted.trial_index].seed, attribute=parted.attribute,
            query=pictures_of_rows[query], embedding=tuple(pictures_of_rows[row] for row in near),
            sensitive=tuple(pictures_of_rows[row] for row in nearest_sensitive),
        )
        for query, near, nearest_sensitive in chosen
    )  # fmt: skip


def _encoded(data: StudyData, rows: Codes) -> list[bytes]:
    images: Any = require("PIL.Image", extra="vision", purpose="Showing example pictures")
    assert data.pictures is not None
    encoded = []
    for pixels in data.pictures(rows):
        image = images.fromarray(np.ascontiguousarray(pixels))
        image.thumbnail((SIDE, SIDE))
        buffer = io.BytesIO()
        image.save(buffer, format="WEBP", quality=QUALITY)
        encoded.append(buffer.getvalue())
    return encoded


TITLES = {
    RECALL: "recall@1", NMI: "NMI", AMI: "AMI", UNIFORMITY: "U_KL", "macro_precision": "macro precision",
    "macro_recall": "macro recall", "accuracy": "accuracy",
}  # fmt: skip
# How a classifier was trained: as a heading, and in a sentence.
DOMAIN_INDEPENDENT = "domain_independent"
BALANCED_DOMAIN_INDEPENDENT, BALANCED_OVERSAMPLED = f"{BALANCED}_{DOMAIN_INDEPENDENT}", f"{BALANCED}_oversampled"
TRAININGS = {
    OWN_ROWS: "own rows", BALANCED: "balanced rows", DOMAIN_INDEPENDENT: "domain-independent",
    BALANCED_DOMAIN_INDEPENDENT: "domain-independent, balanced rows",
    BALANCED_OVERSAMPLED: "balanced, oversampled rows",
}  # fmt: skip
# The measure that a sentence about classifiers is about.
SPOKEN = "macro_recall"
# The gaps of which an attribute has one.
MAIN_RULES = (MAJORITISED, HALVES)
SCOPE = (
    "Intervals and tests of embedding spaces are over seeds: other samples of the training rows and other trainings, "
    "on these test rows. They say nothing about other test rows."
)


def space_notes(result: StudyResult) -> Iterator[str]:
    """Yield what must be known to read the numbers of spaces."""
    yield SCOPE
    if any(record.rule == HALVES for record in result.spaces):
        yield (
            "With more than two groups the gap is the mean of the better half minus that of the worse half, as in "
            "Dullerud et al. (2022). Halves are chosen by their values, so it is above 0 even where "
            "nothing differs: it has no interval, and what is tested is its difference between cells."
        )
    if result.space_examples is not None and result.space_examples.reason is not None:
        yield str(result.space_examples.reason)
    undefined = sorted({title_of(record.measure) for record in result.spaces if not record.defined})
    if undefined:
        yield f"Undefined for some groups, and left out of their gaps: {listing(undefined)}."


def choice_notes(choosings: Sequence[Choosing]) -> Iterator[str]:
    """Say how a setting was chosen by the spaces of dev rows, and what could not take part."""
    for choice in choosings:
        chosen = choice.chosen
        which = "none has a value" if chosen is None else f"{chosen.setting} ({chosen.worst:.3f})"
        told = (
            f"Of {plural(len(choice.settings), 'setting')} of {choice.treatment} ({choice.under.condition}, "
            f"{choice.under.learner}) the one with the best {title_of(choice.measure)} of the worst group of "
            f"{choice.attribute} on dev rows represents it: {which}"
        )
        without = f"; left out, as they have no value there: {listing(choice.left_out)}" if choice.left_out else ""
        yield f"{told}{without}."
        yield from choice.notes


def source_title(source: str) -> str:
    """Return the name of a classifier, or of the space."""
    return "nearest training row" if source == NEAREST else classifier_from_source(source).title


def training_title(training: str | None) -> str:
    """Return how a classifier was trained, as a heading; nothing for what is no classifier."""
    return "" if training is None else TRAININGS.get(training, f"{training.replace('_', ' ')} rows")


def title_of(measure: str) -> str:
    """Return the name of a measure."""
    return TITLES.get(measure, measure.replace("_", " "))


def space_parts(study: Measured, *, threshold: float = 0.05, progress: Progress | None = None) -> dict[str, Any]:
    """Return the fields of a ``StudyResult`` that are about spaces."""
    spaces = spaces_of(study, progress)
    if spaces is None:
        return {}
    aparts = separated_spaces_of(spaces)
    return {
        "spaces": tuple(records_of(spaces)),
        "space_contrasts": tuple(contrasts_of(spaces, threshold=threshold)),
        "space_settings": tuple(setting for choice in study.choosings for setting in choice.settings),
        "space_maps": (*maps_of(spaces), *sensitive_maps_of(spaces, aparts)),
        "space_examples": examples_of(study.data, aparts[0]) if aparts else None,
    }


def chosen_by_spaces(
    data: StudyData, cells: Sequence[Cell], attribute: Attribute, measure: str
) -> tuple[Choosing, ...]:
    """Choose settings by their worst group on dev rows, where trials kept the spaces of these."""
    arrays = data.stored_arrays
    if arrays is None or arrays.labels is None:
        return ()
    return choosings_of(cells, data.trials, arrays, arrays.labels, measure=measure, attribute=attribute)
