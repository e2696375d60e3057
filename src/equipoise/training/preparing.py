"""What treatments do before training: which rows a trial learns from, and what each row weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.foundation.errors import BadInput
from equipoise.foundation.reproducibility import stream
from equipoise.training.material import Codes, Job, Material
from equipoise.training.treatment import TrainingRows, Treatment


@dataclass(frozen=True, eq=False)
class Prepared:
    """A job whose treatments before training have acted: rows (positions in ``Material.train``) and their weights.

    ``values`` are all hyper-parameters of the learner.
    """

    job: Job
    rows: Codes
    weights: NDArray[np.float64] | None
    values: dict[str, Any]

    @property
    def seed(self) -> int:
        """The seed of the trial."""
        return self.job.seed

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        """The treatments in order."""
        return self.job.treatments

    @property
    def domains(self) -> Codes | None:
        """The part of each class where the condition parts them."""
        return self.job.domains


def prepared(job: Job, material: Material, values: dict[str, Any]) -> Prepared:
    """Let the treatments choose and weigh rows, in order: each sees what those before it have left."""
    rows, weights = _checked(job.rows, material), None
    for place, treatment in enumerate(job.treatments):
        generator = stream(job.seed, "choose", place, type(treatment).__name__)
        chosen = treatment.choose(training_rows(rows, material), generator)
        if chosen is not None:
            rows = rows[chosen]
            weights = None if weights is None else weights[chosen]
        weighed = treatment.weigh(training_rows(rows, material))
        if weighed is not None:
            weights = _good(weighed, len(rows), treatment) * (1.0 if weights is None else weights)
    if not len(rows):
        raise BadInput("No training rows are left", help="use more rows, or a treatment that keeps some.")
    return Prepared(job, rows, weights, values)


def training_rows(rows: Codes, material: Material) -> TrainingRows:
    """Return chosen training rows as a treatment before training sees them."""
    train = material.train
    assert train.target is not None
    assert train.cell is not None
    assert train.group is not None
    return TrainingRows(train.target[rows], train.cell[rows], train.group[rows], material.classes, material.groups)


def overrides(treatments: Sequence[Treatment], method: str) -> list[str]:
    """Return the names of the treatments that have a method of their own, such as ``during``."""
    return [type(one).__name__ for one in treatments if has_own(type(one), method)]


def has_own(kind: type[Treatment], method: str) -> bool:
    """Tell whether a kind of treatment has a method of its own."""
    own, plain = (getattr(one, method) for one in (kind, Treatment))
    return getattr(own, "__func__", own) is not getattr(plain, "__func__", plain)


def _checked(rows: Codes, material: Material) -> Codes:
    train = material.train
    if train.group is None or train.cell is None:
        raise BadInput("The training rows have no targets or no groups", available="both, for every training row")
    if not len(material.dev) or material.dev.target is None or material.dev.group is None:
        raise BadInput(
            "No dev row has both a target and a group", available="dev rows, as the best epoch is chosen on them"
        )
    places = np.asarray(rows, dtype=np.int64)
    if not len(places):
        raise BadInput("The trial has no training rows")
    if places.min() < 0 or places.max() >= len(train):
        raise BadInput(
            f"A training row is numbered {places.max() if places.max() >= len(train) else places.min()}",
            available=f"positions in the training rows, 0 to {len(train) - 1:,}",
        )
    unknown = (train.group[places] < 0) | (train.cell[places] < 0)
    if unknown.any():
        raise BadInput(
            f"{int(unknown.sum()):,} training rows have no class or no group",
            help="leave them out: a condition draws none of them.",
        )
    return places


def _good(weights: NDArray[np.float64], rows: int, treatment: Treatment) -> NDArray[np.float64]:
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (rows,) or not np.isfinite(found).all() or (found < 0).any():
        raise BadInput(
            f"The treatment {type(treatment).__name__} gave weights of the shape {found.shape}",
            available=f"a finite number of at least 0 for each of the {rows:,} rows",
        )
    return found
