"""The cells of a study: trials that differ only in seed and repeat, under names that tell them apart.

Treatments are compared under the same condition and learner; learners that differ in a choice (such as the loss) are
different ones. Where a treatment was tried with several settings (of its own, or numbers of the learner), one of them
speaks for it: the one with the least distance to the optimum on the dev rows, and one that has collapsed to a constant
prediction there only where all have. A training that is read in several ways is as many treatments (paper 004 has ten
techniques of six trainings), and none is chosen among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from equipoise.studies.findings.data import Codes, Floats, StudyData
from equipoise.studies.plans.condition_names import condition_text
from equipoise.studies.plans.learner_names import LearnerTexts
from equipoise.studies.plans.naming import unread
from equipoise.studies.plans.own_naming import OWN
from equipoise.studies.trial import Named, Trial, canonical

UNTREATED = "untreated"
DEFAULT_SELECTION = "dto"


@dataclass(frozen=True)
class Under:
    """What treatments that are compared have in common: the condition of the training data, and the learner."""

    condition: str
    learner: str


@dataclass(frozen=True, eq=False)
class Cell:
    """Trials that are the same but for seed and repeat; ``places`` are their positions in the study."""

    under: Under
    treatment: str
    setting: str
    places: Codes
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
        """Return which of the cell's trials have a seed (and an environment), as positions in ``places``."""
        same = self.seeds == seed
        return np.flatnonzero(same if environment is None else same & (self.environments == environment))

    def identical(self) -> Iterator[tuple[int, int, Codes]]:
        """Yield seed, environment and trials (positions in ``places``) of runs that are identical."""
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
    names = _Names(trials, whole=OWN if every_setting else None)
    groups: dict[tuple[Under, str, str], list[int]] = {}
    for place, trial in enumerate(trials):
        groups.setdefault((names.under(trial), names.treatment(trial), names.setting(trial)), []).append(place)
    seeds = np.array([trial.seed for trial in trials], dtype=np.int64)
    made = []
    for (under, treatment, setting), members in groups.items():
        places = np.array(members, dtype=np.int64)
        first = trials[members[0]]
        made.append(Cell(
            under, treatment, setting, places, seeds[places], data.environment[places],
            described={"condition": first.condition, "learner": first.learner, "treatments": first.treatments,
                       "size": first.size, "selection": first.selection, "rounding": first.rounding},
        ))  # fmt: skip
    if collapsed is not None:
        flags, runs = collapsed([cell.places for cell in made])
        made = [
            replace(cell, collapsed=bool(flag), collapsed_runs=int(number))
            for cell, flag, number in zip(made, flags, runs, strict=True)
        ]
    if every_setting:
        return [replace(cell, treatment=cell.name, setting="") for cell in made]
    return _with_choice(made, distances)


def _with_choice(cells: Sequence[Cell], distances: Floats) -> list[Cell]:
    """Choose one setting of each treatment under each condition, on dev rows only; the first where none is defined.

    A setting that has collapsed is not chosen while another has not.
    """
    best: dict[tuple[Under, str], tuple[bool, float, int]] = {}
    for place, cell in enumerate(cells):
        own = distances[cell.places]
        known = own[~np.isnan(own)]
        rank = (cell.collapsed, float(known.mean()) if len(known) else np.inf, place)
        kind = (cell.under, cell.treatment)
        best[kind] = min(best.get(kind, rank), rank)
    return [replace(cell, chosen=best[cell.under, cell.treatment][2] == place) for place, cell in enumerate(cells)]


def baselines_of(cells: Sequence[Cell], baseline: str = UNTREATED) -> list[Cell | None]:
    """Return what each cell is held against: the chosen baseline under the same condition and learner, or nothing."""
    chosen = {(cell.under, cell.treatment): cell for cell in cells if cell.chosen}
    made: list[Cell | None] = []
    for cell in cells:
        # A control that was selected in the same way goes before the control as such.
        names = (f"{baseline}{_aside(cell.described['selection'])}", baseline)
        found = (chosen.get((cell.under, name)) for name in names if name != cell.treatment)
        held = cell.chosen and cell.treatment != baseline
        made.append(next((one for one in found if one is not None), None) if held else None)
    return made


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
        for trial in trials:
            sizes.setdefault(canonical(_plain(trial.condition)), set()).add(trial.size)
            for where, name, value in _settings(trial):
                varied.setdefault((f"{self._kind(trial)}|{where}", name), set()).add(canonical(value))
        self._sizes = {condition for condition, found in sizes.items() if len(found) > 1}
        self._varied = {key for key, values in varied.items() if len(values) > 1}
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
        read = ", ".join(str(value) for where, name, value in self._told(trial) if (where, name) in self._read(trial))
        return (
            trial.treatment
            + (f": {read}" if read else "")
            + (_aside(trial.selection) if len(self._selections) > 1 else "")
        )

    def setting(self, trial: Trial) -> str:
        told = [one for one in self._told(trial) if one[:2] not in self._read(trial)]
        return ", ".join(f"{name}={value}" for _, name, value in told)

    def _told(self, trial: Trial) -> Iterator[tuple[str, str, Any]]:
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
                (str(place), name)
                for place, named in enumerate(trial.treatments)
                for name in named.settings.keys() - unread(named).settings.keys()
            }
        return self._readouts[trial.treatment]


def _settings(trial: Trial) -> Iterator[tuple[str, str, Any]]:
    """Yield where a setting belongs, its name and its value."""
    for name, value in trial.learner.settings.items():
        yield "learner", name, value
    for place, treatment in enumerate(trial.treatments):
        for name, value in treatment.settings.items():
            yield str(place), name, value


def _plain(named: Named) -> dict[str, Any]:
    return {"name": named.name, "version": named.version, "settings": dict(named.settings)}
