"""How far the trials of a store fit a plan that may have been changed since they were trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from equipoise.foundation.errors import listing
from equipoise.studies.plans._naming import condition_text
from equipoise.studies.trial import Named, Trial

# How many values of a field a sentence names.
MOST_NAMED = 3


@dataclass(frozen=True)
class FieldChange:
    """A part of trials that has other values in the store than in the plan: ``old`` there alone, ``new`` here alone."""

    field: str
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def words(self) -> str:
        """Say it: size 1,927 -> 2,840."""
        if self.old and self.new:
            return f"{self.field} {listing(self.old, MOST_NAMED)} -> {listing(self.new, MOST_NAMED)}"
        named = listing(self.old or self.new, MOST_NAMED)
        return f"{self.field} {named} {'no longer in the plan' if self.old else 'new in the plan'}"


@dataclass(frozen=True)
class PlanChange:
    """So many trials that were done under a plan's name are ``stored``, so many of them are ``fitting`` the plan.

    ``missing`` trials of the plan are not done, and ``changes`` say in which fields these and those that do not fit
    differ.
    """

    stored: int
    fitting: int
    missing: int
    changes: tuple[FieldChange, ...] = ()

    @property
    def matters(self) -> bool:
        """Whether trials are kept that the plan cannot use while it lacks others."""
        return self.fitting < self.stored and self.missing > 0

    @property
    def words(self) -> str:
        """Say how many stored trials fit and what differs; nothing where no trial is out of use."""
        if not self.matters:
            return ""
        why = "; ".join(change.words for change in self.changes)
        return (
            f"The plan has changed: {self.fitting:,} of {self.stored:,} stored trials fit this plan"
            + (f": {why}" if why else "")
            + f". {self.missing:,} trials will be trained; those that do not fit are kept."
        )


def plan_change(stored: Sequence[Trial], planned: Sequence[Trial]) -> PlanChange:
    """Compare done trials of a plan's name with the trials that the plan has now.

    Where a field has no value in common on both sides, no trial can fit, and only such fields are named.
    """
    there, here = {trial.key: trial for trial in stored}, {trial.key: trial for trial in planned}
    unused = [trial for key, trial in there.items() if key not in here]
    missing = [trial for key, trial in here.items() if key not in there]
    changes, apart = [], []
    if unused and missing:
        for name, read in _READ.items():
            old, new = _values(unused, read), _values(missing, read)
            if old != new:
                parted = (tuple(value for value in old if value not in new),
                          tuple(value for value in new if value not in old))  # fmt: skip
                change = FieldChange(name, *parted)
                changes.append(change)
                if not set(old) & set(new):
                    apart.append(change)
    named = [_learner_change(unused, missing, one) if one.field == "learner" else one for one in apart or changes]
    return PlanChange(len(there), len(there) - len(unused), len(missing), tuple(named))


def _values(trials: Iterable[Trial], read: Callable[[Trial], str]) -> list[str]:
    return list(dict.fromkeys(read(trial) for trial in trials))


def _learner_change(unused: Sequence[Trial], missing: Sequence[Trial], change: FieldChange) -> FieldChange:
    """Name the settings in which one learner differs from the other, rather than all that both have."""
    old, new = ({_versioned([trial.learner]): trial.learner for trial in trials} for trials in (unused, missing))
    if len(old) > 1 or len(new) > 1:
        return change
    (before,), (after,) = old.values(), new.values()
    if before.name != after.name:
        return FieldChange("learner", (before.name,), (after.name,))
    if before.version != after.version:
        return FieldChange(f"version of the learner {before.name}", (str(before.version),), (str(after.version),))
    differ = [name for name in {**before.settings, **after.settings} if _of(before, name) != _of(after, name)]
    return FieldChange(
        f"learner {before.name},",
        (", ".join(f"{name}={_of(before, name)}" for name in differ),),
        (", ".join(f"{name}={_of(after, name)}" for name in differ),),
    )


def _of(named: Named, setting: str) -> str:
    return str(named.settings[setting]) if setting in named.settings else "not given"


def _versioned(named: Iterable[Named]) -> str:
    # Settings that were stored come back in the order of their names.
    ordered = [replace(one, settings=dict(sorted(one.settings.items()))) for one in named]
    return " + ".join(f"{one}{f' version {one.version}' if one.version > 1 else ''}" for one in ordered)


# How the parts of a trial are called, and read.
_READ: Mapping[str, Callable[[Trial], str]] = {
    "data, features or splits (fingerprint)": lambda trial: trial.cohort[:15],
    "group": lambda trial: " x ".join(trial.groups),
    "size": lambda trial: f"{trial.size:,}",
    "condition": lambda trial: condition_text(trial.condition),
    "learner": lambda trial: _versioned([trial.learner]),
    "treatment": lambda trial: _versioned(trial.treatments),
    "seed": lambda trial: str(trial.seed),
    "repeat": lambda trial: str(trial.repeat),
    "rounding": lambda trial: trial.rounding,
    "precision": lambda trial: trial.precision,
    "device": lambda trial: trial.device,
    "selection": lambda trial: trial.selection,
    "performance": lambda trial: trial.performance or "not named",
    "fairness": lambda trial: trial.fairness or "not named",
    "how epochs are chosen, version": lambda trial: str(trial.choice),
}
assert len(_READ) == len(fields(Trial)), "every part of a trial's identity is compared"
