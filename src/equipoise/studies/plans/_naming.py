"""From what a plan says to the identity of a trial: conditions, learners, treatments and own functions.

Each has a name for people too. A training function of one's own is known by its dotted name and version, and beside
them stands a hash of its source.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from equipoise.conditions import ALIASES, make_condition
from equipoise.foundation.errors import BadInput, EquipoiseError, listing, unknown_name
from equipoise.foundation.registry import Entry, registry
from equipoise.studies.plans._trial import Named, canonical, treatment_name
from equipoise.training.parameters import Readout, completed, may_differ
from equipoise.training.rounding import is_jittered
from equipoise.training.treatment import Treatment

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
            self._told(name, value)
            for name, value in learner.settings.items()
            if (learner.name, name) in self._differ and (self._numbers or not _is_number(value))
        ]
        return ", ".join([learner.name, *told])

    def _told(self, name: str, value: Any) -> str:
        return value if isinstance(value, str) else f"{name}={value}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


Place = tuple[str | int, ...]
UNTREATED = "untreated"
# What a treatment's setting is chosen by where trials embed rows: of the worst group on dev rows.
ChooseBy = Literal["recall@1", "nmi"]


class BadPlan(BadInput):
    """Something in a plan cannot be worked with; ``place`` says where it stands, such as ("treatments", 1, "rate")."""

    def __init__(self, error: BadInput, place: Place) -> None:
        super().__init__(error.given, available=error.available, help=error.help)
        self.place = place


@contextmanager
def placed(*place: str | int) -> Iterator[None]:
    """Let an error that is raised inside say where in the plan it belongs."""
    try:
        yield
    except BadPlan as error:
        raise BadPlan(error, (*place, *error.place)) from error
    except BadInput as error:
        raise BadPlan(error, place) from error


def expanded(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the values that are given as lists; the last list varies fastest."""
    for name, values in settings.items():
        if isinstance(values, list | tuple) and not values:
            raise BadPlan(BadInput(f"{name} is an empty list", available="at least one value"), (name,))
    choices = [values if isinstance(values, list | tuple) else [values] for values in settings.values()]
    return [dict(zip(settings, combination, strict=True)) for combination in itertools.product(*choices)]


def said(given: Any, what: str) -> tuple[Any, dict[str, Any]]:
    """Part what is given into a name (or names) and settings: "inlp", {"name": "inlp", ...} or ["a", "b"]."""
    if isinstance(given, Mapping):
        settings = dict(given)
        if "name" not in settings:
            raise BadInput(f"A {what} is {given!r}", available=f'a {what} with a name, such as {{"name": ...}}')
        return settings.pop("name"), settings
    return given, {}


def distinct(found: Sequence[Any], words: Sequence[str], what: str) -> None:
    """Refuse the same thing twice: it would be one trial, and a plan that says it twice means something else."""
    seen: dict[str, int] = {}
    for place, one in enumerate(found):
        first = seen.setdefault(one, place)
        if first != place:
            raise BadInput(f"The {what} {words[place]} is in the plan twice", help="leave one of them out.")


def treatments_of(given: Any) -> list[tuple[Named, ...]]:
    """Return one tuple of named treatments for each combination of hyper-parameters that one entry of a plan asks for.

    Several names compose in order. Then a hyper-parameter belongs to the one that has it, or stands in a table under
    the name of its treatment.
    """
    if isinstance(given, Treatment):
        return [(_made(entry_of(given), given.values),)]
    names, settings = said(given, "treatment")
    entries = [treatment_entry(name) for name in ([names] if isinstance(names, str) else _texts(names))]
    _check_composition(entries)
    per_entry = _dealt(entries, settings)
    grids = [[_made(entry, values) for values in expanded(own)] for entry, own in zip(entries, per_entry, strict=True)]
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
        if not (isinstance(entry.thing, type) and issubclass(entry.thing, Treatment)):
            known = [one.name for one in registry.entries("treatment") if _takes_part(one)]
            raise BadInput(
                f"The treatment {entry.name!r} is an estimator and cannot be used in studies",
                available=", ".join(known),
                help="call it from a training function of your own: Study(train=..., version=1).",
            )
    return entry


def _takes_part(entry: Entry) -> bool:
    return isinstance(entry.thing, type) and issubclass(entry.thing, Treatment)


def entry_of(made: Treatment) -> Entry:
    """Return the entry of a treatment that was made already."""
    for entry in registry.entries("treatment"):
        if entry.thing is type(made):
            return entry
    raise BadInput(f"The treatment {type(made).__name__} is not registered", help="decorate it: @treatment(name, ...)")


def _dealt(entries: Sequence[Entry], settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Deal out hyper-parameters to the treatments that have them."""
    own: list[dict[str, Any]] = [{} for _ in entries]
    for name, value in settings.items():
        if isinstance(value, Mapping):
            holders = [place for place, entry in enumerate(entries) if entry.name == name]
            if not holders:
                raise unknown_name("treatment", name, [entry.name for entry in entries], "this composition")
            own[holders[0]].update(value)
            continue
        holders = [place for place, entry in enumerate(entries) if name in _parameters(entry)]
        if len(holders) > 1:
            raise BadInput(
                f"{name} is a hyper-parameter of {' and of '.join(entries[place].name for place in holders)}",
                help=f"say which treatment it is for: {entries[holders[0]].name} = {{ {name} = ... }}",
            )
        if not holders:
            known = [one for entry in entries for one in _parameters(entry)]
            with placed(name):
                raise unknown_name("hyper-parameter", name, known, " + ".join(entry.name for entry in entries))
        own[holders[0]][name] = value
    return own


def _parameters(entry: Entry) -> Mapping[str, Any]:
    return dict(getattr(entry.thing, "parameters", {}))


def _made(entry: Entry, values: Mapping[str, Any]) -> Named:
    """Check hyper-parameters one by one, so that an error can say which of them it is about."""
    table = _parameters(entry)
    for name, value in values.items():
        with placed(name):
            completed(table, {name: value}, f"the {entry.kind} {entry.name!r}")
    version = getattr(entry.thing, "version", 1)
    named = Named(entry.name, version, completed(table, values, f"the {entry.kind} {entry.name!r}"))
    # What a control does not do has no other settings: all of them are one.
    return control_of(named) or named if is_control(named) else named


def is_control(named: Named) -> bool:
    """Tell whether a treatment is made as its own control."""
    return treatment_name(named) != named.name


def control_of(named: Named) -> Named | None:
    """Return the control of a treatment, which does everything but what the treatment is about; None without one."""
    thing: Any = registry.get("treatment", named.name).thing
    if not getattr(thing, "control", None):
        return None
    return replace(named, settings=completed(thing.parameters, thing.control, f"the treatment {named.name!r}"))


def make_treatment(named: Named) -> Treatment:
    """Make a treatment from its name and hyper-parameters."""
    kind: Any = registry.get("treatment", named.name).thing
    made: Treatment = kind(**named.settings)
    return made


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


# The learner's name in trials that a function of one's own trains.
OWN = "own_function"

Function = Callable[..., Any]


@dataclass(frozen=True)
class OwnFunction:
    """A user's function with the name and version that trials know it by, and a hash of its source."""

    function: Function
    name: str
    version: int
    source: str | None

    @property
    def importable(self) -> bool:
        """Tell whether another process finds it by its name; one of a notebook or a script only this one has."""
        module = self.function.__module__
        return module != "__main__" and "<locals>" not in self.function.__qualname__ and module in sys.modules


def own_function(function: Function, version: int) -> OwnFunction:
    """Name a function: by its module and its own name. The file's name stands for the module of a script."""
    name = getattr(function, "__qualname__", None)
    if not callable(function) or name is None or "<lambda>" in name:
        raise BadInput(
            f"train is {function!r}", available="a function with a name, as its trials are identified by it",
            help="write it with def, and give hyper-parameters with hyper=.",
        )  # fmt: skip
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadInput(
            f"The version of {name} is {version!r}", available="a whole number of at least 1",
            help="raise it whenever the function changes what it trains: version=2.",
        )  # fmt: skip
    return OwnFunction(function, f"{_module(function)}.{name}", version, source_hash(function))


def _module(function: Function) -> str:
    module = function.__module__
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return Path(file).stem if module == "__main__" and file else module


def source_hash(function: Function) -> str | None:
    """Hash the text of a function, without its indentation; None where there is no text to be had."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def named_functions(functions: Sequence[OwnFunction], settings: Sequence[Mapping[str, Any]]) -> list[Named]:
    """Return one named treatment for each function and combination of hyper-parameters."""
    for one in functions:
        _check_signature(one, settings[0])
    for values in settings:
        try:
            canonical(values)
        except (TypeError, ValueError):
            raise BadInput(
                f"The hyper-parameters are {dict(values)!r}",
                available="numbers, text, true and false, as they identify the trial",
            ) from None
    return [Named(one.name, one.version, plain(values)) for one in functions for values in settings]


def _check_signature(one: OwnFunction, values: Mapping[str, Any]) -> None:
    """Refuse a function that cannot be called as it will be, before the first trial is."""
    try:
        signature = inspect.signature(one.function)
    except (TypeError, ValueError):  # some are written in C and do not tell
        return
    try:
        signature.bind(None, 0, **values)
    except TypeError as error:
        raise BadInput(
            f"The function {one.name}{signature} cannot be called with (cohort, seed"
            f"{''.join(f', {name}={value!r}' for name, value in values.items())}): {error}",
            available="a function that takes cohort, seed, and every hyper-parameter by its name",
            help="def my_function(cohort, seed, rate=0.1): ... matches hyper={'rate': [0.1, 1]}.",
        ) from None


def functions_of(train: Function | Sequence[Function] | None, version: int | None) -> tuple[OwnFunction, ...]:
    """Return the functions that were given, under the names that their trials are known by."""
    if train is None:
        return ()
    given = tuple(train) if isinstance(train, list | tuple) else (train,)
    if version is None:
        raise BadInput(
            "train was given without a version",
            available="a whole number that is raised whenever the function changes what it trains",
            help="Study(..., train=my_function, version=1)",
        )
    found = tuple(own_function(one, version) for one in given)
    with placed("train"):
        distinct([one.name for one in found], [one.name for one in found], "function")
    return found


def hyper_of(given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Check that hyper-parameters have names."""
    if given is not None and not isinstance(given, Mapping):
        raise BadInput(f"hyper is {given!r}", available='names with values, such as {"rate": [0.1, 1]}')
    return given or {}


def check_own(treatments: Sequence[Any], learner: Any, rounding: str) -> None:
    """Refuse what a function of one's own would have to know about."""
    if tuple(treatments) != ("untreated",) or learner != "mlp":
        raise BadInput(
            "train was given together with a learner or treatments",
            help="a function does its own training: give several functions to compare, train=[plain, treated].",
        )
    if is_jittered(rounding):
        raise BadInput(
            f'rounding is "{rounding}", which permutes rows inside the batches of a network that is trained here',
            available="native: a function makes its own batches",
        )


def check_not_own(version: int | None, hyper: Mapping[str, Any] | None, needs_group: bool) -> None:
    """Refuse what only a function of one's own has a use for."""
    for name, value in (("version", version), ("hyper", hyper), ("needs_group_at_prediction", needs_group)):
        if value:
            raise BadInput(f"{name} was given without train", help="it is for your own training function.")


def own_baseline(
    baseline: str | None, functions: Sequence[OwnFunction], named: Sequence[Named]
) -> tuple[str | None, bool]:
    """Return the baseline among users' functions, and whether each of their settings is a treatment of its own.

    A function may be named without its module, and one of its settings as a call: ``plain(rate=0.1)``. Settings of
    several functions are alternatives, of which one is chosen for each, unless the baseline names one of them. Those of
    a single function are what is compared: the first is the baseline, unless another is named.
    """
    labels = [f"{one.name} ({_told(one)})" if one.settings else one.name for one in named]
    called: dict[str, str] = {}
    for one, label in zip(named, labels, strict=True):
        for name in (one.name, one.name.rpartition(".")[2]):
            for told in (_told(one), _told(one, _varied(named))):
                called |= {f"{name}({told})": label, f"{name} ({told})": label} if told else {}
    setting = called.get(baseline) if baseline is not None else None
    short = {one.name.rpartition(".")[2]: one.name for one in functions}
    function = short.get(baseline, baseline) if baseline is not None else None
    alone = len(functions) == 1 and len(named) > 1
    if setting is not None:
        return setting, True
    if alone and function in (None, functions[0].name):
        return labels[0], True
    if baseline is not None and function not in short.values():
        with placed("baseline"):
            calls = [f"{one.name.rpartition('.')[2]}({_told(one, _varied(named))})" for one in named if one.settings]
            raise unknown_name("treatment", baseline, [*short, *calls], "this study")
    return function, False


def _varied(named: Sequence[Named]) -> set[str]:
    """Return the settings that are not the same wherever they are given."""
    values: dict[str, set[str]] = {}
    for one in named:
        for setting, value in one.settings.items():
            values.setdefault(setting, set()).add(canonical(value))
    return {setting for setting, own in values.items() if len(own) > 1}


def _told(named: Named, settings: Collection[str] | None = None) -> str:
    """Write settings, all of them or some, as results do."""
    return ", ".join(
        f"{name}={value}" for name, value in named.settings.items() if settings is None or name in settings
    )
