"""A trial and its identity: one training, named by what it means and not by where or when it ran."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

# Raised when the same description comes to mean another training: older trials are then not taken for the new ones.
IDENTITY = 1


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

    @cached_property
    def key(self) -> str:
        """The hash that names the trial, 32 hexadecimal digits: equal meaning gives an equal key."""
        return hashlib.sha256(canonical({"identity": IDENTITY, **asdict(self)}).encode()).hexdigest()[:32]

    @property
    def treatment(self) -> str:
        """The treatments in order, as tables and charts name them."""
        return " + ".join(treatment.name for treatment in self.treatments) or "untreated"

    def described(self) -> dict[str, Any]:
        """Return the trial as plain JSON values; ``trial_of`` makes it again."""
        made: dict[str, Any] = json.loads(canonical(asdict(self)))
        return made


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
