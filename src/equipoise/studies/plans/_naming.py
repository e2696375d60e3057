"""A trial and the names of its parts: its identity is what it means and not where or when it ran; and what is kept.

Conditions, learners and treatments have a name for people too.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

from numpy.typing import NDArray

from equipoise.conditions import ALIASES, make_condition
from equipoise.foundation import (
    BadInput,
    Entry,
    EquipoiseError,
    listing,
    registry,
    unknown_name,
)
from equipoise.training import (
    Epoch,
    Predicted,
    Readout,
    Table,
    Treatment,
    may_differ,
    with_defaults,
    without_defaults,
)

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
        settings_text = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.name}({settings_text})" if settings_text else self.name


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
            return getattr(entry.implementation, "control", {}), getattr(entry.implementation, "control_name", "")
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
        return {str(name): _plain(element) for name, element in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(element) for element in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


State = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, eq=False)
class Recorded:
    """A trial that ended: done, with predictions of dev and test rows, or failed, with the reason in words.

    ``predictions`` has the splits "dev" and "test"; their rows are those of the cohort's split, in order.
    ``environment`` says packages and hardware: it stands beside the identity, not in it. ``arrays`` are further arrays
    by name, such as ``embedding.test``, whose rows are in the same order. ``traceback`` is where an error came from
    that failed it.
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
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    traceback: str | None = None


# Paper 001 has letters for two of the modes.
SHORT_MODES = {ALIASES[letters]: letters for letters in ("CB", "JB")}


def condition_text(condition: Named) -> str:
    """Return a condition as tables and charts show it: CB and JB by paper 001's letters, others in their own words."""
    mode = condition.settings.get("mode")
    if condition.name == "interpolation" and mode in SHORT_MODES:
        return f"{SHORT_MODES[mode]} alpha {float(condition.settings['alpha']):g}"
    try:
        return str(make_condition(condition.name, **condition.settings))
    except EquipoiseError:  # one of a plug-in that is not here
        return str(condition)


def equal_words(condition: str, others: Sequence[str]) -> str:
    """Say that further conditions draw the rows of one, and are not trained again."""
    draw = "draws" if len(others) == 1 else "draw"
    return f"{listing(others)} {draw} the same training rows as {condition}: trained and counted once, as {condition}."


def alpha_of(condition: Named) -> tuple[str, float] | None:
    """Return the mode and alpha of an interpolation; None for other conditions."""
    if condition.name != "interpolation":
        return None
    mode = str(condition.settings["mode"])
    return SHORT_MODES.get(mode, mode.replace("_", " ")), float(condition.settings["alpha"])


class LearnerTexts:
    """The texts of learners, ``texts[learner]``: the name, and the settings in which those of one name differ.

    Without ``numbers`` by texts and switches only: a learner that was tried with several numbers is one learner with
    several settings, of which one may be chosen.
    """

    def __init__(self, learners: Iterable[Named], *, numbers: bool = True) -> None:
        self._numbers = numbers
        varied: dict[tuple[str, str], set[str]] = {}
        for learner in learners:
            for name, value in learner.settings.items():
                varied.setdefault((learner.name, name), set()).add(canonical(value))
        self._differ = {key for key, values in varied.items() if len(values) > 1}

    def __getitem__(self, learner: Named) -> str:
        if not self._differ:
            return learner.name
        told = [
            self._value_text(name, value)
            for name, value in learner.settings.items()
            if (learner.name, name) in self._differ and (self._numbers or not _is_number(value))
        ]
        return ", ".join([learner.name, *told])

    def _value_text(self, name: str, value: Any) -> str:
        return value if isinstance(value, str) else f"{name}={value}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


PlanPath = tuple[str | int, ...]
UNTREATED = "untreated"
# What a treatment's setting is chosen by where trials embed rows: of the worst group on dev rows.
ChooseBy = Literal["recall@1", "nmi"]


class BadPlan(BadInput):
    """Something in a plan cannot be worked with; ``path`` says where it stands, such as ("treatments", 1, "rate")."""

    def __init__(self, error: BadInput, path: PlanPath) -> None:
        super().__init__(error.given, available=error.available, help=error.help)
        self.path = path


@contextmanager
def placed(*place: str | int) -> Iterator[None]:
    """Let an error that is raised inside say where in the plan it belongs."""
    try:
        yield
    except BadPlan as error:
        raise BadPlan(error, (*place, *error.path)) from error
    except BadInput as error:
        raise BadPlan(error, place) from error


def expanded(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the values that are given as lists; the last list varies fastest."""
    for name, values in settings.items():
        if isinstance(values, list | tuple) and not values:
            raise BadPlan(BadInput(f"{name} is an empty list", available="at least one value"), (name,))
    choices = [values if isinstance(values, list | tuple) else [values] for values in settings.values()]
    return [dict(zip(settings, combination, strict=True)) for combination in itertools.product(*choices)]


def name_and_settings(entry: Any, what: str) -> tuple[Any, dict[str, Any]]:
    """Part what is given into a name (or names) and settings: "inlp", {"name": "inlp", ...} or ["a", "b"]."""
    if isinstance(entry, Mapping):
        settings = dict(entry)
        if "name" not in settings:
            raise BadInput(f"A {what} is {entry!r}", available=f'a {what} with a name, such as {{"name": ...}}')
        return settings.pop("name"), settings
    return entry, {}


def distinct(values: Sequence[Any], words: Sequence[str], what: str) -> None:
    """Refuse the same thing twice: it would be one trial, and a plan that says it twice means something else."""
    first_index: dict[str, int] = {}
    for index, value in enumerate(values):
        first = first_index.setdefault(value, index)
        if first != index:
            raise BadInput(f"The {what} {words[index]} is in the plan twice", help="leave one of them out.")


def treatments_of(entry_given: Any) -> list[tuple[Named, ...]]:
    """Return one tuple of named treatments for each combination of hyper-parameters that one entry of a plan asks for.

    Several names compose in order. Then a hyper-parameter belongs to the one that has it, or stands in a table under
    the name of its treatment.
    """
    if isinstance(entry_given, Treatment):
        return [(_named_treatment(entry_of(entry_given), entry_given.values),)]
    names, settings = name_and_settings(entry_given, "treatment")
    entries = [treatment_entry(name) for name in ([names] if isinstance(names, str) else _texts(names))]
    _check_composition(entries)
    per_entry = _dealt(entries, settings)
    grids = [
        [_named_treatment(entry, values) for values in expanded(entry_settings)]
        for entry, entry_settings in zip(entries, per_entry, strict=True)
    ]
    return [tuple(combination) for combination in itertools.product(*grids)]


def _check_composition(entries: Sequence[Entry]) -> None:
    """Refuse the control among treatments that compose: who writes that means several treatments, one after the other.

    The control of a study is no part of what it is compared with.
    """
    names = [entry.name for entry in entries]
    if len(names) > 1 and UNTREATED in names:
        several = " ".join(f'[[treatments]] name = "{name}"' for name in names)
        with placed("name"):
            raise BadInput(
                f"The treatments {listing(names)} would be one treatment that composes them all, and {UNTREATED!r} "
                "does nothing in it",
                available="a list of names composes them in order",
                help=f"for several treatments to compare, name each by itself: {several} (in Python: treatments="
                f"{names!r}).",
            )


def _texts(names: Any) -> list[str]:
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        raise BadInput(f"The name of a treatment is {names!r}", available="a name, or a list of names that compose")
    return list(names)


def treatment_entry(name: str) -> Entry:
    """Return a registered treatment that can take part in a study."""
    with placed("name"):
        entry = registry.get("treatment", name)
        if not (isinstance(entry.implementation, type) and issubclass(entry.implementation, Treatment)):
            usable = [candidate.name for candidate in registry.entries("treatment") if _takes_part(candidate)]
            raise BadInput(
                f"The treatment {entry.name!r} is an estimator and cannot be used in studies",
                available=", ".join(usable),
                help="call it from a training function of your own: Study(train=..., version=1).",
            )
    return entry


def _takes_part(entry: Entry) -> bool:
    return isinstance(entry.implementation, type) and issubclass(entry.implementation, Treatment)


def entry_of(treatment: Treatment) -> Entry:
    """Return the entry of a treatment that was made already."""
    for entry in registry.entries("treatment"):
        if entry.implementation is type(treatment):
            return entry
    raise BadInput(
        f"The treatment {type(treatment).__name__} is not registered", help="decorate it: @treatment(name, ...)"
    )


def _dealt(entries: Sequence[Entry], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Deal out hyper-parameters to the treatments that have them."""
    dealt: list[dict[str, Any]] = [{} for _ in entries]
    for name, value in settings.items():
        if isinstance(value, Mapping):
            holders = [index for index, entry in enumerate(entries) if entry.name == name]
            if not holders:
                raise unknown_name("treatment", name, [entry.name for entry in entries], "this composition")
            dealt[holders[0]].update(value)
            continue
        holders = [index for index, entry in enumerate(entries) if name in _parameters(entry)]
        if len(holders) > 1:
            raise BadInput(
                f"{name} is a hyper-parameter of {' and of '.join(entries[holder].name for holder in holders)}",
                help=f"say which treatment it is for: {entries[holders[0]].name} = {{ {name} = ... }}",
            )
        if not holders:
            known_parameters = [parameter for entry in entries for parameter in _parameters(entry)]
            with placed(name):
                raise unknown_name(
                    "hyper-parameter", name, known_parameters, " + ".join(entry.name for entry in entries)
                )
        dealt[holders[0]][name] = value
    return dealt


def _parameters(entry: Entry) -> Mapping[str, Any]:
    return dict(getattr(entry.implementation, "parameters", {}))


def _named_treatment(entry: Entry, values: Mapping[str, Any]) -> Named:
    """Check hyper-parameters one by one, so that an error can say which of them it is about."""
    table = _parameters(entry)
    for name, value in values.items():
        with placed(name):
            with_defaults(table, {name: value}, f"the {entry.kind} {entry.name!r}")
    version = getattr(entry.implementation, "version", 1)
    settings = with_defaults(table, values, f"the {entry.kind} {entry.name!r}")
    named = Named(entry.name, version, without_defaults(settings, head_of(entry.name)))
    # What a control does not do has no other settings: all of them are one.
    return control_of(named) or named if is_control(named) else named


def is_control(named: Named) -> bool:
    """Tell whether a treatment is made as its own control."""
    return treatment_name(named) != named.name


def control_of(named: Named) -> Named | None:
    """Return the control of a treatment, which does everything but what the treatment is about; None without one."""
    thing: Any = registry.get("treatment", named.name).implementation
    if not getattr(thing, "control", None):
        return None
    head = head_of(named.name)
    kept = {name: value for name, value in named.settings.items() if name in head}
    settings = with_defaults(thing.parameters, {**thing.control, **kept}, f"the treatment {named.name!r}")
    return replace(named, settings=without_defaults(settings, head))


def head_of(name: str) -> Table:
    """Return the hyper-parameters of the classifier that a treatment fits afterwards, which its control has too."""
    head: Table = getattr(registry.get("treatment", name).implementation, "head", {})
    return head


def with_values(named: Named, values: Mapping[str, Any]) -> Named:
    """Return a treatment with other values of some hyper-parameters."""
    return replace(named, settings=without_defaults({**named.settings, **values}, head_of(named.name)))


def make_treatment(named: Named) -> Treatment:
    """Make a treatment from its name and hyper-parameters."""
    kind: Any = registry.get("treatment", named.name).implementation
    treatment: Treatment = kind(**named.settings)
    return treatment


def kind_of(named: Named) -> str:
    """Say what trials must have in common to train together: everything but readouts and numbers that only scale.

    A whole number may be a shape (how many discriminators there are), and a readout comes after training. Of a user's
    own function nothing is known.
    """
    table = _table(named)
    fixed = {name: value for name, value in named.settings.items() if not may_differ(table.get(name))}
    return canonical({"name": named.name, "version": named.version, "settings": fixed})


def unread(named: Named) -> Named:
    """Return a treatment without its readouts: what is left names a training."""
    table = _table(named)
    return replace(named, settings={k: v for k, v in named.settings.items() if not isinstance(table.get(k), Readout)})


def _table(named: Named) -> Mapping[str, Any]:
    known = {entry.name: entry for entry in registry.entries("treatment")}
    return _parameters(known[named.name]) if named.name in known else {}


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON values, so that a trial that was written and read is the trial that was made."""
    made: dict[str, Any] = json.loads(canonical(settings))
    return made
