"""Why identical runs of a study differ: its first trial is run twice, step by step, until a bit differs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from equipoise.foundation import BadInput, plural, provenance
from equipoise.results import Direction, Finding, Result
from equipoise.studies._searching import at_defaults
from equipoise.studies.plans import Trial
from equipoise.studies.running import check_device, settings_of
from equipoise.training import (
    PreparedJob,
    ask_for_workspace,
    deterministic_algorithms,
    is_deterministic,
    is_jittered,
    learner_of,
    prepare_job,
    transformed,
)
from equipoise.training.diverging import Divergence, Flips, Growth, first_difference

if TYPE_CHECKING:
    from equipoise.studies._study import Study

SCHEMA = "equipoise.diagnosis/1"
STEPS = 200
PERMUTED = (
    "The rounding permutes the rows of each batch by seed and repeat, so repeats 0 and 1 were compared, and not "
    "the inputs and outputs of layers, where rows are in another order."
)
EAGER = (
    "Steps ran one by one and not as recorded graphs, so that layers could be inspected: runs of the study "
    "may first differ elsewhere."
)


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """Where two identical runs first differed; ``records`` say how far apart each layer was after some steps.

    The fields from ``steps`` on are those of ``Divergence``.
    """

    kind: ClassVar[str] = "diagnosis"
    record_type: ClassVar[type] = Growth
    numbers: ClassVar[tuple[str, ...]] = ("relative",)

    records: tuple[Growth, ...]
    words: tuple[str, ...]
    notes: tuple[str, ...]
    trial: Mapping[str, Any]
    steps: int
    step: int | None
    kind_: str
    name: str | None
    largest: float
    relative: float
    units: float
    flips: tuple[Flips, ...]

    def __str__(self) -> str:
        return "\n".join([*self.words, *(["Notes:", *self.notes] if self.notes else [])])

    def _statements(self) -> Iterator[Finding]:
        yield Finding(
            kind="comparison", measure="first_difference", estimate=self.largest, n=self.steps,
            direction=Direction.EQUIVALENT if self.step is None else Direction.DIFFERENT,
        )  # fmt: skip

    def _described(self) -> Sequence[str]:
        alike = "no difference" if self.step is None else f"first difference in step {self.step:,}"
        return [plural(self.steps, "step"), alike]

    def _name_parts(self, record: Growth) -> Sequence[str | None]:
        return str(record.step), record.layer


def diagnose(study: Study, steps: int = STEPS, *, command: Iterable[str] | None = None) -> Diagnosis:
    """Run the first trial of a study twice, for so many steps, and say where the two runs first differ."""
    study = at_defaults(study)
    work = study.work
    check_device(work)
    if study.functions:
        raise BadInput("A custom training function has no steps that can be inspected", available="a learner")
    trial = next((trial for trial in study.trials() if work.can_train(trial)), None)
    if trial is None:
        raise BadInput("No condition of the plan can be drawn", help="equipoise study check says what is missing.")
    settings = settings_of(trial)
    kind = learner_of(trial.learner.name)
    (job,) = work.jobs([trial])
    values = kind.with_defaults(job.learner, study.dataset.task)
    again = is_jittered(trial.rounding)
    jobs = [replace(job, repeat=run if again else trial.repeat) for run in (0, 1)]
    both: list[PreparedJob] = [prepare_job(job, study.dataset, values) for job in jobs]
    inputs = transformed(study.dataset, both[0].transformations)
    with _rounding(trial.rounding) as without, kind().watched(inputs, settings) as make:
        divergence = first_difference(lambda place: make(both[place]), steps, row_order_differs=again)
    return _result(study, trial, divergence, [*([PERMUTED] if again else []), *_missing(trial, without)], command)


def _rounding(rounding: str) -> contextlib.AbstractContextManager[Sequence[str]]:
    if not is_deterministic(rounding):
        return contextlib.nullcontext(())
    ask_for_workspace()
    return deterministic_algorithms()


def _missing(trial: Trial, without: Sequence[str]) -> list[str]:
    notes = [f"Without a deterministic form: {', '.join(without)}."] if without else []
    return [*notes, *([EAGER] if trial.device != "cpu" else [])]


def _result(
    study: Study, trial: Trial, divergence: Divergence, notes: Sequence[str], command: Iterable[str] | None
) -> Diagnosis:
    settings = {
        "condition": str(trial.condition), "learner": str(trial.learner), "treatment": trial.treatment,
        "seed": trial.seed, "rounding": trial.rounding, "precision": trial.precision, "device": trial.device,
    }  # fmt: skip
    return Diagnosis(
        schema=SCHEMA,
        records=divergence.growth,
        provenance=provenance(
            fingerprint=study.fingerprint, command=command, data=study.original.name,
            rows=len(study.dataset.train), columns={"groups": list(study.groups)}, options=settings,
        ),
        words=divergence.words, notes=tuple(notes), trial=settings, steps=divergence.steps, step=divergence.step,
        kind_=divergence.kind,
        name=divergence.name, largest=divergence.largest, relative=divergence.relative, units=divergence.units,
        flips=divergence.flips,
    )  # fmt: skip
