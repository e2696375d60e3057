"""Which setting speaks for a treatment of embeddings: the one whose worst group fares best on dev rows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.foundation import (
    BadInput,
    EquipoiseError,
    Floats,
    plural,
    registry,
    unknown_name,
)
from equipoise.measures import get_measure, halves_difference
from equipoise.results import Reason, because
from equipoise.studies.analysis import (
    DEV,
    Cell,
    Codes,
    SpaceReason,
    Under,
)
from equipoise.studies.findings.spaces._result import SpaceSetting
from equipoise.studies.findings.spaces._values import StoredArrays
from equipoise.studies.plans import Trial
from equipoise.studies.storage import EvaluationLabels
from equipoise.tallies import (
    Coded,
    EmbeddingSpace,
    EmbeddingTally,
    as_points,
    group_name,
)

DEV_EMBEDDING = "embedding.dev"
HEADS = ("embedding", "features", "chance")
# What a plan or a cohort may declare; NMI where singletons dominate, which have no recall.
MEASURES = {"recall@1": "recall_at_k", "nmi": "normalised_mutual_information"}
DEFAULT = "recall@1"


@dataclass(frozen=True)
class Choosing:
    """How every setting of one treatment fares on dev rows, one of them chosen; ``left_out`` groups have no value."""

    under: Under
    treatment: str
    measure: str
    attribute: str
    settings: tuple[SpaceSetting, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def chosen(self) -> SpaceSetting | None:
        """The setting that speaks for the treatment; None where no setting has a value."""
        return next((setting for setting in self.settings if setting.chosen), None)


@dataclass(frozen=True, eq=False)
class DevRows:
    """Dev rows whose class is known: their places in the split, classes and groups (-1 is none)."""

    indices: Codes
    rows: int
    classes: Coded
    codes: Codes
    attribute: str
    groups: tuple[str, ...]


def choosings_of(
    cells: Sequence[Cell],
    trials: Sequence[Trial],
    arrays: StoredArrays,
    truth: EvaluationLabels,
    *,
    measure: str = DEFAULT,
    attribute: Sequence[str] | None = None,
) -> tuple[Choosing, ...]:
    """Choose among the settings of each treatment that was tried with several and kept its dev embeddings.

    The value of a setting is the mean over seeds of its worst group's ``measure`` ("recall@1" or "nmi"), over the seeds
    that all its rivals have too; the first of equals is chosen, and a control never. ``attribute`` names group columns
    (all, crossed).
    """
    if measure not in MEASURES:
        raise unknown_name("measure", measure, MEASURES, "the choice by the worst group")
    rows = dev_rows(truth, attribute)
    rivals: dict[tuple[Under, str], list[Cell]] = {}
    for cell in cells:
        rivals.setdefault((cell.under, cell.treatment), []).append(cell)
    choosings = []
    for tried in (rival for rival in rivals.values() if len(rival) > 1):
        values = [_values(cell, arrays, rows, MEASURES[measure]) for cell in tried]
        if any(values):
            choosings.append(_chosen(_Tried(tried, values, trials, arrays), MEASURES[measure], rows))
    return tuple(choosings)


def rechosen(cells: Sequence[Cell], choosings: Sequence[Choosing]) -> list[Cell]:
    """Return the cells with what was chosen by the worst group; a control is a treatment of its own there."""
    chosen = {(choice.under, choice.treatment): choice.chosen for choice in choosings}
    new_cells = []
    for cell in cells:
        kind = (cell.under, cell.treatment)
        if kind in chosen and is_control(cell):
            new_cells.append(replace(cell, treatment=cell.name, setting="", chosen=True))
        else:
            chosen_setting = chosen.get(kind)
            new_cells.append(
                cell if chosen_setting is None else replace(cell, chosen=cell.setting == chosen_setting.setting)
            )
    return new_cells


def is_control(cell: Cell) -> bool:
    """Tell whether a treatment says of the setting that it is a control, which speaks for itself alone."""
    for named in cell.described.get("treatments", ()):
        with contextlib.suppress(EquipoiseError):  # one of a plug-in that is not here
            says: Any = getattr(registry.get("treatment", named.name).implementation, "is_control", None)
            if says is not None and says(named.settings):
                return True
    return False


def dev_rows(truth: EvaluationLabels, attribute: Sequence[str] | None = None) -> DevRows:
    """Return the dev rows with the groups of an attribute, or of several crossed; a missing value is no group."""
    if truth.task != "class":
        raise BadInput("The targets are numbers", available="classes: a setting is chosen by the classes of neighbours")
    labels = truth.names.labels(attribute)
    names = list(dict.fromkeys(label for label in labels if None not in label))
    group_index = np.array([names.index(label) if label in names else -1 for label in labels], dtype=np.int64)
    dev = truth.of(DEV)
    known_rows = np.flatnonzero(dev.is_known)
    return DevRows(
        known_rows, len(dev), Coded(dev.target[known_rows], truth.classes), group_index[dev.group[known_rows]],
        " & ".join(truth.attributes if attribute is None else attribute), tuple(map(group_name, names)),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Tried:
    """The settings of one treatment: cells, and by seed the measure of everyone and of each group ``[1 + group]``."""

    cells: Sequence[Cell]
    values: Sequence[Mapping[int, Floats]]
    trials: Sequence[Trial]
    stored_arrays: StoredArrays

    @property
    def seeds(self) -> list[int]:
        """The seeds that every setting with an embedding has."""
        return sorted(set.intersection(*(set(value) for value in self.values if value)))

    @property
    def notes(self) -> list[str]:
        """What could not be compared."""
        every = set().union(*self.values)
        without = [cell.setting for cell, value in zip(self.cells, self.values, strict=True) if not value]
        absent = len(every) - len(self.seeds)
        return [
            *([f"{plural(absent, 'seed')} of {len(every):,} left out: not every setting has them."] if absent else []),
            *(f"No trial with {setting} kept the embedding of its dev rows." for setting in without),
        ]

    def array(self, groups: int) -> Floats:
        """Return the values ``[setting, seed, 1 + group]``; NaN of a setting without an embedding."""
        nothing = np.full(1 + groups, np.nan)
        found = [[value.get(seed, nothing) for seed in self.seeds] for value in self.values]
        return np.array(found, dtype=np.float64).reshape(len(self.cells), len(self.seeds), 1 + groups)


def _values(cell: Cell, arrays: StoredArrays, rows: DevRows, measure: str) -> dict[int, Floats]:
    """Return the measure by seed, of everyone and then of each group; repeats of a seed are averaged."""
    values_by_seed: dict[int, list[Floats]] = {}
    for index, seed in zip(cell.indices.tolist(), cell.seeds.tolist(), strict=True):
        points = arrays.read(DEV_EMBEDDING, index)
        if points is not None:
            values_by_seed.setdefault(seed, []).append(_measured(points, rows, measure))
    return {seed: np.mean(repeated, axis=0) for seed, repeated in values_by_seed.items()}


def _measured(points: Any, rows: DevRows, measure: str) -> Floats:
    if len(points) != rows.rows:
        raise BadInput(
            f"A trial kept an embedding of {len(points):,} dev rows",
            available=f"the {rows.rows:,} dev rows of the study",
        )
    space = EmbeddingSpace(as_points(points)[rows.indices], rows.classes)
    tally = EmbeddingTally(space, rows.codes, rows.groups)
    computed = get_measure(measure)
    return np.concatenate([computed.by_class(tally.overall), computed.by_class(tally)])


def _chosen(tried: _Tried, measure: str, rows: DevRows) -> Choosing:
    seeds, notes, values = tried.seeds, tried.notes, tried.array(len(rows.groups))
    has_values = np.array([bool(value) for value in tried.values])
    defined = np.asarray(~np.isnan(values[has_values, :, 1:]).any(axis=(0, 1)))
    groups = [name for name, is_defined in zip(rows.groups, defined, strict=True) if is_defined]
    worst = gap = overall = np.full(len(tried.cells), np.nan)
    named: list[str | None] = [None] * len(tried.cells)
    why = SpaceReason.NO_SHARED_SEED if not seeds else None if groups else SpaceReason.NO_GROUP_VALUE
    if why is None:
        each, overall = values[..., 1:][..., defined], values[..., 0].mean(axis=1)
        worst, gap = each.min(axis=-1).mean(axis=1), halves_difference(each).mean(axis=1)
        lowest = each.mean(axis=1).argmin(axis=-1).tolist()
        named = [
            groups[lowest_group] if is_defined else None
            for lowest_group, is_defined in zip(lowest, has_values, strict=True)
        ]
    controls = np.array([is_control(cell) for cell in tried.cells])
    able = np.where(controls | np.isnan(worst), -np.inf, worst)
    standing = np.where([cell.collapsed for cell in tried.cells], -np.inf, able)
    # A setting that has collapsed to a constant prediction is not chosen while another has not.
    able = standing if np.isfinite(standing).any() else able
    best = int(able.argmax()) if np.isfinite(able).any() else None
    settings = []
    for index, cell in enumerate(tried.cells):
        settings.append(SpaceSetting(
            condition=cell.under.condition, learner=cell.under.learner, treatment=cell.treatment, setting=cell.setting,
            settings=_numbers(cell, tried), measure=measure, overall=float(overall[index]), gap=float(gap[index]),
            worst=float(worst[index]), worst_group=named[index], seeds=len(seeds), chosen=index == best,
            leakage=_leakage(cell, tried),
            reason=_reason(SpaceReason.NO_EMBEDDING if not has_values[index] else why, control=bool(controls[index])),
        ))  # fmt: skip
    left_out = tuple(name for name, is_defined in zip(rows.groups, defined, strict=True) if not is_defined)
    first = tried.cells[0]
    return Choosing(first.under, first.treatment, measure, rows.attribute, tuple(settings), left_out, tuple(notes))


def _reason(code: SpaceReason | None, *, control: bool) -> Reason | None:
    """Return why a setting is not chosen; being a control is the last of the reasons."""
    if code is None and control:
        code = SpaceReason.CONTROL
    return None if code is None else because(code)


def _numbers(cell: Cell, tried: _Tried) -> dict[str, Any]:
    """Return the settings that differ among rivals, of the treatments and of the learner, by name."""
    rival_settings = [dict(_settings(tried.trials[int(cell.indices[0])])) for cell in tried.cells]
    settings = dict(_settings(tried.trials[int(cell.indices[0])]))
    return {
        name: value for name, value in settings.items() if any(other.get(name) != value for other in rival_settings)
    }


def _settings(trial: Trial) -> Iterator[tuple[str, Any]]:
    yield from trial.learner.settings.items()
    for treatment in trial.treatments:
        yield from treatment.settings.items()


def _leakage(cell: Cell, tried: _Tried) -> dict[str, float]:
    """Return what a probe reads of each attribute, the mean over the seeds: by head, and attribute where several."""
    values_by_name: dict[str, list[float]] = {}
    for index, seed in zip(cell.indices.tolist(), cell.seeds.tolist(), strict=True):
        attributes = tried.trials[index].groups
        for head in HEADS if seed in tried.seeds else ():
            array = tried.stored_arrays.read(f"leakage.{head}", index)
            for name, value in zip(attributes, () if array is None else array.tolist(), strict=False):
                values_by_name.setdefault(head if len(attributes) == 1 else f"{head} of {name}", []).append(value)
    return {name: float(np.mean(values)) for name, values in values_by_name.items()}
