"""A training function of one's own: it is known by its dotted name and version, and a hash of its source."""

from __future__ import annotations

import hashlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation import (
    BadInput,
    unknown_name,
)
from equipoise.studies.plans._naming import Named, canonical, distinct, placed, plain
from equipoise.training import is_jittered

if TYPE_CHECKING:
    from equipoise.studies.plans._types import LearnerEntry, TreatmentEntry

# The learner's name in trials that a function of one's own trains.
OWN_FUNCTION = "own_function"

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


def named_function(function: Function, version: int) -> OwnFunction:
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
    for function in functions:
        _check_signature(function, settings[0])
    for values in settings:
        try:
            canonical(values)
        except (TypeError, ValueError):
            raise BadInput(
                f"The hyper-parameters are {dict(values)!r}",
                available="numbers, text, true and false, as they identify the trial",
            ) from None
    return [Named(function.name, function.version, plain(values)) for function in functions for values in settings]


def _check_signature(function: OwnFunction, values: Mapping[str, Any]) -> None:
    """Refuse a function that cannot be called as it will be, before the first trial is."""
    try:
        signature = inspect.signature(function.function)
    except (TypeError, ValueError):  # some are written in C and do not tell
        return
    try:
        signature.bind(None, 0, **values)
    except TypeError as error:
        raise BadInput(
            f"The function {function.name}{signature} cannot be called with (cohort, seed"
            f"{''.join(f', {name}={value!r}' for name, value in values.items())}): {error}",
            available="a function that takes cohort, seed, and every hyper-parameter by its name",
            help="def my_function(cohort, seed, rate=0.1): ... matches hyper={'rate': [0.1, 1]}.",
        ) from None


def functions_of(train: Function | Sequence[Function], version: int | None) -> tuple[OwnFunction, ...]:
    """Return the functions that were given, under the names that their trials are known by."""
    user_functions = tuple(train) if isinstance(train, list | tuple) else (train,)
    if version is None:
        raise BadInput(
            "train was given without a version",
            available="a whole number that is raised whenever the function changes what it trains",
            help="Study(..., train=my_function, version=1)",
        )
    functions = tuple(named_function(function, version) for function in user_functions)
    with placed("train"):
        distinct([function.name for function in functions], [function.name for function in functions], "function")
    return functions


def hyper_of(hyper: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Check that hyper-parameters have names."""
    if hyper is not None and not isinstance(hyper, Mapping):
        raise BadInput(f"hyper is {hyper!r}", available='names with values, such as {"rate": [0.1, 1]}')
    return hyper or {}


def check_function_study(
    treatments: TreatmentEntry | Sequence[TreatmentEntry], learner: LearnerEntry | Sequence[LearnerEntry], rounding: str
) -> None:
    """Refuse what a function of one's own would have to know about."""
    if not isinstance(treatments, Sequence) or tuple(treatments) != ("untreated",) or learner != "mlp":
        raise BadInput(
            "train was given together with a learner or treatments",
            help="a function does its own training: give several functions to compare, train=[plain, treated].",
        )
    if is_jittered(rounding):
        raise BadInput(
            f'rounding is "{rounding}", which permutes rows inside the batches of a network that is trained here',
            available="native: a function makes its own batches",
        )


def function_baseline_of(
    baseline: str | None, functions: Sequence[OwnFunction], named: Sequence[Named]
) -> tuple[str | None, bool]:
    """Return the baseline among users' functions, and whether each of their settings is a treatment of its own.

    A function may be named without its module, and one of its settings as a call: ``plain(rate=0.1)``. Settings of
    several functions are alternatives, of which one is chosen for each, unless the baseline names one of them. Those of
    a single function are what is compared: the first is the baseline, unless another is named.
    """
    labels = [
        f"{named_setting.name} ({_settings_text(named_setting)})" if named_setting.settings else named_setting.name
        for named_setting in named
    ]
    called: dict[str, str] = {}
    for named_setting, label in zip(named, labels, strict=True):
        for name in (named_setting.name, named_setting.name.rpartition(".")[2]):
            for call_settings in (_settings_text(named_setting), _settings_text(named_setting, _varied(named))):
                called |= (
                    {f"{name}({call_settings})": label, f"{name} ({call_settings})": label} if call_settings else {}
                )
    setting = called.get(baseline) if baseline is not None else None
    short = {function.name.rpartition(".")[2]: function.name for function in functions}
    function = short.get(baseline, baseline) if baseline is not None else None
    alone = len(functions) == 1 and len(named) > 1
    if setting is not None:
        return setting, True
    if alone and function in (None, functions[0].name):
        return labels[0], True
    if baseline is not None and function not in short.values():
        with placed("baseline"):
            calls = [
                f"{named_setting.name.rpartition('.')[2]}({_settings_text(named_setting, _varied(named))})"
                for named_setting in named
                if named_setting.settings
            ]
            raise unknown_name("treatment", baseline, [*short, *calls], "this study")
    return function, False


def _varied(named: Sequence[Named]) -> set[str]:
    """Return the settings that are not the same wherever they are given."""
    values: dict[str, set[str]] = {}
    for one in named:
        for setting, value in one.settings.items():
            values.setdefault(setting, set()).add(canonical(value))
    return {setting for setting, value in values.items() if len(value) > 1}


def _settings_text(named: Named, settings: Collection[str] | None = None) -> str:
    """Write settings, all of them or some, as results do."""
    return ", ".join(
        f"{name}={value}" for name, value in named.settings.items() if settings is None or name in settings
    )
