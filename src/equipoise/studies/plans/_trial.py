"""A trial: its identity, named by what it means and not by where or when it ran, and what is kept of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

from numpy.typing import NDArray

from equipoise.foundation.registry import registry
from equipoise.training.material import Epoch, Predicted

# Raised when the same description comes to mean another training: older trials are then not taken for the new ones.
IDENTITY = 1
# How the epoch that is kept is chosen. 1: by performance and fairness alone; 2: one that collapsed to a constant
# prediction gives way to any other, and patience begins with the first that did not.
CHOICE = 2


@dataclass(frozen=True)
class Named:
    """A registered thing with the numbers it was made with: condition, learner or treatment."""

    name: str
    version: int
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.name}({given})" if given else self.name


@dataclass(frozen=True)
class Trial:
    """Cohort x condition x learner x treatments x hyper-parameters x seed x repeat x rounding x precision x device.

    ``cohort`` is the fingerprint of the data, and ``groups`` the columns whose crossing is the group. ``size`` is how
    many training rows the condition drew. The place in a plan (label, stack) is no part of the identity.

    ``performance`` and ``fairness`` are what dev rows choose by, and ``choice`` is the version of how they do. Trials
    of earlier versions, and functions of one's own, say nothing of these, and keep their keys.
    """

    cohort: str
    groups: tuple[str, ...]
    condition: Named
    size: int
    learner: Named
    treatments: tuple[Named, ...]
    seed: int
    repeat: int
    rounding: str
    precision: str
    device: str
    selection: str
    performance: str | None = None
    fairness: str | None = None
    choice: int = 1

    @cached_property
    def key(self) -> str:
        """The hash that names the trial, 32 hexadecimal digits: equal meaning gives an equal key."""
        return hashlib.sha256(canonical({"identity": IDENTITY, **self.meaning()}).encode()).hexdigest()[:32]

    @property
    def treatment(self) -> str:
        """The treatments in order, as tables and charts name them."""
        return " + ".join(map(treatment_name, self.treatments)) or "untreated"

    def described(self) -> dict[str, Any]:
        """Return the trial as plain JSON values; ``trial_of`` makes it again."""
        made: dict[str, Any] = json.loads(canonical(self.meaning()))
        return made

    def as_earlier(self) -> Trial:
        """Return what earlier versions called this trial, which chose epochs by performance and fairness alone."""
        return replace(self, performance=None, fairness=None, choice=1)

    def meaning(self) -> dict[str, Any]:
        """Return all that it says; what trials of earlier versions could not say is left out where it is not said."""
        unsaid = {"performance": None, "fairness": None, "choice": 1}
        return {name: value for name, value in asdict(self).items() if name not in unsaid or value != unsaid[name]}


def treatment_name(named: Named) -> str:
    """Return how tables and charts name a treatment; one that is made as its own control is named apart."""
    control, words = _control(named.name)
    made = bool(control) and all(named.settings.get(name) == value for name, value in control.items())
    return f"{named.name}: {words}" if made else named.name


@cache
def _control(name: str) -> tuple[Mapping[str, Any], str]:
    """Return under which settings a treatment is its own control, and what that is called."""
    for entry in registry.entries("treatment"):
        if entry.name == name:
            return getattr(entry.thing, "control", {}), getattr(entry.thing, "control_name", "")
    return {}, ""


def trial_of(described: Mapping[str, Any]) -> Trial:
    """Make a trial again from its description."""
    values = dict(described)
    values["groups"] = tuple(values["groups"])
    values["condition"], values["learner"] = Named(**values["condition"]), Named(**values["learner"])
    values["treatments"] = tuple(Named(**one) for one in values["treatments"])
    return Trial(**values)


def canonical(value: Any) -> str:
    """Write plain values as JSON in one way only: 1 and 1.0 are the same number, keys are sorted."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


State = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, eq=False)
class Recorded:
    """A trial that ended: done, with predictions of dev and test rows, or failed, with the reason in words.

    ``predictions`` has the splits "dev" and "test"; their rows are those of the cohort's split, in order.
    ``environment`` says packages and hardware: it stands beside the identity, not in it. ``kept`` are further arrays by
    name, such as ``embedding.test``, whose rows are in the same order. ``traceback`` is where an error came from that
    failed it.
    """

    trial: Trial
    state: Literal["done", "failed"]
    predictions: Mapping[str, Predicted] = field(default_factory=dict)
    history: tuple[Epoch, ...] = ()
    best_epoch: int = 0
    notes: tuple[str, ...] = ()
    failure: str | None = None
    seconds: float = 0.0
    environment: Mapping[str, Any] = field(default_factory=dict)
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    traceback: str | None = None
