"""Cells of a study (trials that differ only in seed and repeat): names, what is tested, spreads and every number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from equipoise.audits.evidence import Series
from equipoise.foundation import Floats, ratio
from equipoise.results import Reason, because
from equipoise.stats import variance_components
from equipoise.studies.analysis._data import (
    Attribute,
    Codes,
    StudyData,
)
from equipoise.studies.analysis._quantities import MainMeasures, Quantity
from equipoise.studies.analysis._reasons import StudyReason
from equipoise.studies.plans import OWN_FUNCTION, LearnerTexts, Named, Trial, canonical, condition_text, unread
from equipoise.training import is_jittered

if TYPE_CHECKING:
    from equipoise.studies.findings.spaces import Choosing

UNTREATED = "untreated"
DEFAULT_SELECTION = "dto"
# The confidence level of the interval of a mean over runs.
MEAN_LEVEL = 0.95


@dataclass(frozen=True)
class Under:
    """What treatments that are compared have in common: the condition of the training data, and the learner."""

    condition: str
    learner: str


@dataclass(frozen=True, eq=False)
class Cell:
    """Trials that are the same but for seed and repeat; ``indices`` are their positions in the study."""

    under: Under
    treatment: str
    setting: str
    indices: Codes
    seeds: Codes
    environments: Codes
    # Whether this setting speaks for its treatment.
    chosen: bool = True
    # Whether it does no better than a constant prediction on dev rows, and how many of its runs do not.
    collapsed: bool = False
    collapsed_runs: int = 0
    described: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The treatment, with its setting where there are several."""
        return f"{self.treatment} ({self.setting})" if self.setting else self.treatment

    @property
    def distinct_seeds(self) -> tuple[int, ...]:
        """The seeds, in order."""
        return tuple(dict.fromkeys(sorted(self.seeds.tolist())))

    def runs_of(self, seed: int, environment: int | None = None) -> Codes:
        """Return which of the cell's trials have a seed (and an environment), as positions in ``indices``."""
        same = self.seeds == seed
        return np.flatnonzero(same if environment is None else same & (self.environments == environment))

    def identical(self) -> Iterator[tuple[int, int, Codes]]:
        """Yield seed, environment and trials (positions in ``indices``) of runs that are identical."""
        for seed, environment in sorted(set(zip(self.seeds.tolist(), self.environments.tolist(), strict=True))):
            yield seed, environment, self.runs_of(seed, environment)


def cells_of(
    data: StudyData,
    distances: Floats,
    *,
    every_setting: bool = False,
    collapsed: Callable[[list[Codes]], tuple[Sequence[bool], Sequence[int]]] | None = None,
) -> list[Cell]:
    """Return the cells in the order of the trials; ``distances`` are those of the trials on dev rows.

    With ``every_setting`` no setting is chosen: each is a treatment of its own. ``collapsed`` tells, of the trials of
    every cell, whether the cell has collapsed and how many of its runs have.
    """
    trials = data.trials
    # What a user's function is given names a treatment of its own: by all of it, whatever has been done so far.
    names = _Names(trials, whole=OWN_FUNCTION if every_setting else None)
    groups: dict[tuple[Under, str, str], list[int]] = {}
    for index, trial in enumerate(trials):
        groups.setdefault((names.under(trial), names.treatment(trial), names.setting(trial)), []).append(index)
    seeds = np.array([trial.seed for trial in trials], dtype=np.int64)
    cells = []
    for (under, treatment, setting), members in groups.items():
        places = np.array(members, dtype=np.int64)
        first = trials[members[0]]
        cells.append(Cell(
            under, treatment, setting, places, seeds[places], data.environment[places],
            described={"condition": first.condition, "learner": first.learner, "treatments": first.treatments,
                       "size": first.size, "selection": first.selection, "rounding": first.rounding},
        ))  # fmt: skip
    if collapsed is not None:
        flags, runs = collapsed([cell.indices for cell in cells])
        cells = [
            replace(cell, collapsed=bool(flag), collapsed_runs=int(number))
            for cell, flag, number in zip(cells, flags, runs, strict=True)
        ]
    if every_setting:
        return [replace(cell, treatment=cell.name, setting="") for cell in cells]
    return _with_choice(cells, distances)


def _with_choice(cells: Sequence[Cell], distances: Floats) -> list[Cell]:
    """Choose one setting of each treatment under each condition, on dev rows only; the first where none is defined.

    A setting that has collapsed is not chosen while another has not.
    """
    best: dict[tuple[Under, str], tuple[bool, float, int]] = {}
    for index, cell in enumerate(cells):
        cell_distances = distances[cell.indices]
        defined = cell_distances[~np.isnan(cell_distances)]
        rank = (cell.collapsed, float(defined.mean()) if len(defined) else np.inf, index)
        kind = (cell.under, cell.treatment)
        best[kind] = min(best.get(kind, rank), rank)
    return [replace(cell, chosen=best[cell.under, cell.treatment][2] == index) for index, cell in enumerate(cells)]


def baselines_of(cells: Sequence[Cell], baseline: str = UNTREATED) -> list[Cell | None]:
    """Return what each cell is compared with: the chosen baseline under the same condition and learner, or nothing."""
    chosen = {(cell.under, cell.treatment): cell for cell in cells if cell.chosen}
    baselines: list[Cell | None] = []
    for cell in cells:
        # A control that was selected in the same way goes before the control as such.
        names = (f"{baseline}{_aside(cell.described['selection'])}", baseline)
        candidates = (chosen.get((cell.under, name)) for name in names if name != cell.treatment)
        held = cell.chosen and cell.treatment != baseline
        baselines.append(next((candidate for candidate in candidates if candidate is not None), None) if held else None)
    return baselines


def _aside(selection: str) -> str:
    return "" if selection == DEFAULT_SELECTION else f", selected by {selection}"


class _Names:
    """Names that say what differs within a study and leave out what does not."""

    def __init__(self, trials: Sequence[Trial], *, whole: str | None = None) -> None:
        """Name trials; of the learner ``whole`` by all settings of the treatments."""
        self._whole = whole
        self._selections = {trial.selection for trial in trials}
        self._differ = [
            name for name in ("rounding", "precision", "device") if len({getattr(t, name) for t in trials}) > 1
        ]
        self._learners = LearnerTexts((trial.learner for trial in trials), numbers=False)
        sizes: dict[str, set[int]] = {}
        varied: dict[tuple[str, str], set[str]] = {}
        kinds, told = Counter[str](), Counter[tuple[str, str]]()
        for trial in trials:
            kinds[self._kind(trial)] += 1
            sizes.setdefault(canonical(_plain(trial.condition)), set()).add(trial.size)
            for where, name, value in _settings(trial):
                key = (f"{self._kind(trial)}|{where}", name)
                varied.setdefault(key, set()).add(canonical(value))
                told[key] += 1
        self._sizes = {condition for condition, values_found in sizes.items() if len(values_found) > 1}
        # What is named only where it is not at its default has another value where it is not named.
        self._varied = {
            key for key, values in varied.items()
            if len(values) > 1 or (not key[0].endswith("|learner") and told[key] < kinds[key[0].rpartition("|")[0]])
        }  # fmt: skip
        self._under: dict[tuple[object, ...], Under] = {}
        self._readouts: dict[str, set[tuple[str, str]]] = {}

    def _kind(self, trial: Trial) -> str:
        return f"{self._learners[trial.learner]}|{trial.treatment}"

    def under(self, trial: Trial) -> Under:
        text = self._learners[trial.learner]
        key = (canonical(_plain(trial.condition)), trial.size, text, trial.learner.version,
               *(getattr(trial, name) for name in self._differ))  # fmt: skip
        if key not in self._under:
            size = f", {trial.size:,} rows" if key[0] in self._sizes else ""
            learner = ", ".join([text, *(getattr(trial, name) for name in self._differ)])
            self._under[key] = Under(condition_text(trial.condition) + size, learner)
        return self._under[key]

    def treatment(self, trial: Trial) -> str:
        read = ", ".join(
            str(value) for where, name, value in self._varied_settings(trial) if (where, name) in self._read(trial)
        )
        return (
            trial.treatment
            + (f": {read}" if read else "")
            + (_aside(trial.selection) if len(self._selections) > 1 else "")
        )

    def setting(self, trial: Trial) -> str:
        settings = [
            setting_read for setting_read in self._varied_settings(trial) if setting_read[:2] not in self._read(trial)
        ]
        return ", ".join(f"{name}={value}" for _, name, value in settings)

    def _varied_settings(self, trial: Trial) -> Iterator[tuple[str, str, Any]]:
        """Yield the settings that are not the same in all trials of their kind."""
        kind = self._kind(trial)
        for where, name, value in _settings(trial):
            all_told = trial.learner.name == self._whole and where != "learner"
            if all_told or (f"{kind}|{where}", name) in self._varied:
                yield where, name, value

    def _read(self, trial: Trial) -> set[tuple[str, str]]:
        """Return which settings say how a training is read, by treatment and name."""
        if trial.treatment not in self._readouts:
            self._readouts[trial.treatment] = {
                (str(index), name)
                for index, named in enumerate(trial.treatments)
                for name in named.settings.keys() - unread(named).settings.keys()
            }
        return self._readouts[trial.treatment]


def _settings(trial: Trial) -> Iterator[tuple[str, str, Any]]:
    """Yield where a setting belongs, its name and its value."""
    for name, value in trial.learner.settings.items():
        yield "learner", name, value
    for index, treatment in enumerate(trial.treatments):
        for name, value in treatment.settings.items():
            yield str(index), name, value


def _plain(named: Named) -> dict[str, Any]:
    return {"name": named.name, "version": named.version, "settings": dict(named.settings)}


SEEDS, RERUNS = "seeds", "identical runs"


@dataclass(frozen=True, eq=False)
class Units:
    """What is tested of one cell against another: names and values ``[unit, quantity]`` of both, and how."""

    unit: str
    names: tuple[tuple[str, ...], tuple[str, ...]]
    values: tuple[Floats, Floats]
    pairs: bool
    notes: tuple[Reason, ...] = ()


def units_of(values: Floats, cell: Cell, baseline: Cell | None = None) -> Units:
    """Return the units of a cell and of its baseline (or of itself alone); ``values`` are ``[trial, quantity]``."""
    other = cell if baseline is None else baseline
    environment_of_seed, notes = (None, ()) if baseline is None else _same_environment(cell, other)
    sides = (_by_seed(values, cell, environment_of_seed), _by_seed(values, other, environment_of_seed))
    common = set(sides[0]) & set(sides[1])
    if len(common) == 1 or max(len(side) for side in sides) == 1:
        jittered = all(is_jittered(str(side_cell.described.get("rounding", ""))) for side_cell in (cell, other))
        return _reruns(sides, common, values.shape[1], notes, jittered=jittered)
    # With seeds in common, a seed that only one side has is left out: it would be compared with nothing.
    chosen = [[seed for seed in side if not common or seed in common] for side in sides]
    means = [
        _stacked([mean_over(side[seed]) for seed in side_seeds], values.shape[1])
        for side, side_seeds in zip(sides, chosen, strict=True)
    ]
    names = tuple(tuple(map(str, side_seeds)) for side_seeds in chosen)
    lost = len(sides[0]) + len(sides[1]) - len(chosen[0]) - len(chosen[1])
    if lost:
        notes = (*notes, because(StudyReason.SEEDS_LEFT_OUT, seeds=lost))
    return Units(SEEDS, (names[0], names[1]), (means[0], means[1]), pairs=bool(common), notes=notes)


def _reruns(
    sides: tuple[dict[int, Floats], dict[int, Floats]], common: set[int], width: int, notes: tuple[Reason, ...],
    *, jittered: bool = False,
) -> Units:  # fmt: skip
    """Return the identical runs of the one seed that both sides have."""
    if not common and all(sides):
        notes = (*notes, because(StudyReason.DIFFERENT_SEEDS))
    runs = [
        _stacked([run for seed, side_runs in side.items() if not common or seed in common for run in side_runs], width)
        for side in sides
    ]
    if all(len(run) > 1 and np.array_equal(run, np.broadcast_to(run[:1], run.shape), equal_nan=True) for run in runs):
        # A machine that repeats itself to the last digit has made one run of each, however often it was asked.
        runs = [run[:1] for run in runs]
        advice = "more seeds" if jittered else 'rounding = "jitter" or "deterministic jitter", or for more seeds'
        notes = (*notes, because(StudyReason.IDENTICAL_RUNS, advice=advice))
    names = [tuple(str(index) for index in range(len(run))) for run in runs]
    return Units(RERUNS, (names[0], names[1]), (runs[0], runs[1]), pairs=False, notes=notes)


def _same_environment(cell: Cell, other: Cell) -> tuple[dict[int, int] | None, tuple[Reason, ...]]:
    """Return which environment is taken of each seed (None: there is only one), and a word about what is left out."""
    if len({*cell.environments.tolist(), *other.environments.tolist()}) < 2:
        return None, ()
    environment_of_seed: dict[int, int] = {}
    for seed in sorted({*cell.seeds.tolist()} | {*other.seeds.tolist()}):
        numbers = {
            environment: (min(len(cell.runs_of(seed, environment)), len(other.runs_of(seed, environment))),
                          -environment)
            for environment in {*cell.environments.tolist(), *other.environments.tolist()}
        }  # fmt: skip
        environment_of_seed[seed] = max(numbers, key=lambda environment: numbers[environment])
    lost = sum(
        int(side.environments[index] != environment_of_seed[int(seed)])
        for side in ((cell, other) if cell is not other else (cell,))
        for index, seed in enumerate(side.seeds)
    )
    return environment_of_seed, (because(StudyReason.OTHER_ENVIRONMENT, runs=lost),) if lost else ()


def _by_seed(values: Floats, cell: Cell, environment_of_seed: Mapping[int, int] | None) -> dict[int, Floats]:
    values_by_seed = {}
    for seed in cell.distinct_seeds:
        runs = cell.runs_of(seed, None if environment_of_seed is None else environment_of_seed[seed])
        if len(runs):
            values_by_seed[seed] = values[cell.indices[runs]]
    return values_by_seed


def mean_over(runs: Floats) -> Floats:
    """Return the mean over runs; undefined runs do not count, and without any it is undefined."""
    defined = ~np.isnan(runs)
    number = defined.sum(axis=0)
    total = np.where(defined, runs, 0.0).sum(axis=0)
    return ratio(total, number.astype(np.float64))


def _stacked(rows: Sequence[Floats], width: int) -> Floats:
    return np.stack(rows) if rows else np.empty((0, width))


def series_of(units: Units, side: int, name: str, quantity: Quantity, column: int) -> Series:
    """Return one side's values of one quantity, without those that are undefined."""
    values = units.values[side][:, column]
    defined = ~np.isnan(values)
    labels = tuple(label for label, is_defined in zip(units.names[side], defined.tolist(), strict=True) if is_defined)
    return Series(name, quantity.name, labels, values[defined], labels if units.pairs else ())


class SpreadNote(StrEnum):
    """What must be known to read the spreads of a number."""

    NEGATIVE = "the estimate of the seeds' variance was below 0 and is reported as 0: reruns vary as much as seeds do"
    NO_RERUNS = "no seed was run twice, so what identical reruns add is not separated from the seeds' spread"
    ONE_SEED = "one seed says nothing about other seeds"
    TOO_FEW = "one run has no spread"


@dataclass(frozen=True)
class Nested:
    """Standard deviations, one a number: of reruns of a seed, and of seeds (NaN where they are unknown).

    ``*_low`` and ``*_high`` are the ends of their 95% intervals.
    """

    reruns: Floats
    seeds: Floats
    notes: tuple[SpreadNote | None, ...]
    reruns_low: Floats
    reruns_high: Floats
    seeds_low: Floats
    seeds_high: Floats


def nested(values: Floats, seeds: Codes) -> Nested:
    """Estimate both spreads of runs from values ``[run, number]``; runs of equal ``seeds`` are identical runs.

    Runs in which a number is undefined do not count for it.
    """
    components = variance_components(values, seeds)
    columns = (components.runs, components.number_of_seeds, components.reruns, components.seeds)
    notes = [_note(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    ends = (components.reruns_low, components.reruns_high, components.seeds_low, components.seeds_high)
    return Nested(
        np.sqrt(components.reruns),
        np.sqrt(np.maximum(components.seeds, 0.0)),
        tuple(notes),
        *(np.sqrt(end) for end in ends),
    )


def _note(runs: float, seeds: float, reruns: float, variance: float) -> SpreadNote | None:
    if runs < 2:
        return SpreadNote.TOO_FEW
    if seeds < 2:
        return SpreadNote.ONE_SEED
    if np.isnan(reruns):
        return SpreadNote.NO_RERUNS
    return SpreadNote.NEGATIVE if variance < 0 else None


def mean_intervals(values: Floats, level: float = MEAN_LEVEL) -> Floats:
    """Return mean, standard deviation and Student's interval of the mean over units, ``[4, quantity]``."""
    defined = ~np.isnan(values)
    number = defined.sum(axis=0).astype(np.float64)
    mean = ratio(np.where(defined, values, 0.0).sum(axis=0), number)
    variance = ratio(np.where(defined, (values - mean) ** 2, 0.0).sum(axis=0), number - 1)
    # Equal values have no spread; what rounding makes of it is none.
    stdev = np.where(variance < (1e-12 * mean) ** 2, 0.0, np.sqrt(variance))
    half = special.stdtrit(np.maximum(number - 1, 1), (1 + level) / 2) * stdev / np.sqrt(np.maximum(number, 1))
    return np.stack([mean, stdev, mean - half, mean + half])


@dataclass(frozen=True, eq=False)
class Measured:
    """A study with its cells and every number of every trial, by split ``[trial, quantity]``."""

    data: StudyData
    attribute: Attribute
    attributes: tuple[Attribute, ...]
    quantities: tuple[Quantity, ...]
    values: dict[str, Floats]
    cells: list[Cell]
    baselines: list[Cell | None]
    main: MainMeasures
    # How settings were chosen by the spaces of dev rows, where trials kept them.
    choosings: tuple[Choosing, ...] = ()
    means: dict[tuple[int, str], Floats] = field(default_factory=dict)

    @property
    def has_identical_runs(self) -> bool:
        """Whether a cell that speaks for its treatment was run more than once with one seed in one environment."""
        return any(len(own) > 1 for cell in self.cells if cell.chosen for _, _, own in cell.identical())

    def quantity_index(self, measure: str, attribute: Attribute = ()) -> int:
        """Return where a quantity stands."""
        return next(
            index
            for index, quantity in enumerate(self.quantities)
            if (quantity.measure, quantity.attribute) == (measure, attribute)
        )

    def mean(self, cell: Cell, split: str, measure: str, attribute: Attribute = ()) -> float:
        """Return a cell's mean, in which every seed counts the same."""
        key = (id(cell), split)
        if key not in self.means:
            own = [mean_over(self.values[split][cell.indices[cell.runs_of(seed)]]) for seed in cell.distinct_seeds]
            self.means[key] = mean_over(np.stack(own))
        return float(self.means[key][self.quantity_index(measure, attribute)])

    @property
    def unders(self) -> list[Under]:
        """The conditions and learners, in order."""
        return list(dict.fromkeys(cell.under for cell in self.cells))
