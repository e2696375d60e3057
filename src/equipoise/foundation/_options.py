"""Options as data: one declaration, from which a verb's command line, config file and documentation are made.

Arguments are also taken under the names that other libraries give them, or refused with a hint.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from numbers import Integral
from typing import Literal, ParamSpec, TypeVar

from equipoise.foundation._errors import (
    BadInput,
    nearest,
    unknown_name,
)

Kind = Literal[
    "flag", "text", "texts", "label", "pairs", "whole", "number", "choice", "input", "file", "files", "output",
]  # fmt: skip
Values = Literal["", "columns", "column=groups", "classes", "measures", "gates", "learners"]
Function = TypeVar("Function", bound=Callable[..., object])

# How the kinds are called in the parameters of a docstring.
KIND_NAMES: dict[Kind, str] = {
    "flag": "bool", "text": "str", "texts": "str or list of str", "label": "str, int, float or bool",
    "pairs": "mapping", "whole": "int", "number": "float", "input": "path or data", "file": "path",
    "files": "list of paths", "output": "path",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of a verb, under its name on the command line and in a config file."""

    name: str
    help: str
    kind: Kind = "text"
    panel: str | None = "Data"
    default: object = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    # The least whole number that is allowed: 0 where none is named.
    least: int | None = None
    # Whether it has to be given.
    needed: bool = False
    # Other spellings on the command line, such as -q.
    flags: tuple[str, ...] = ()
    # Its name in Python: by default the same, and none where only the command line has it.
    argument: str | None = ""
    # What it may name in Python besides what its kind says.
    type_name: str = ""
    # The kinds of the verb that can use it; all where none is named.
    only: tuple[str, ...] = ()
    # What a shell completes its value with.
    values: Values = ""
    example: str = ""

    @property
    def in_python(self) -> str | None:
        """The name of the argument in Python, or None."""
        return self.name if self.argument == "" else self.argument

    @property
    def flag(self) -> str:
        """The option as it is typed; a name that Python keeps for itself ends with _ there, as ``class_`` does."""
        return f"--{self.name.rstrip('_').replace('_', '-')}"

    @property
    def typed(self) -> str:
        """The option with a value, as a message suggests it to who types it and to who calls Python."""
        return f"{self.flag} {{0}}" + ("" if self.in_python is None else f" ({self.in_python}={{0!r}})")

    def used_by(self, kind: str) -> bool:
        """Tell whether a kind of the verb can use it."""
        return not self.only or kind in self.only

    def documented(self) -> str:
        """Return its entry in the Parameters of a docstring."""
        of = self.type_name or (" or ".join(map(repr, self.choices)) if self.choices else KIND_NAMES[self.kind])
        default = "optional" if self.default in (None, False, ()) else f"default {self.default!r}"
        words = self.help.replace("; may be given again", "; or several")
        text = textwrap.indent(textwrap.fill(words, 110), "    ")
        return f"{self.in_python} : {of}, {default}\n{text}"


def document_options(options: Iterable[Option], kind: str = "") -> Callable[[Function], Function]:
    """Write the options that a function takes into the Parameters of its docstring; those it describes itself stay."""
    by_argument = {option.in_python: option for option in options if option.used_by(kind)}

    def decorate(function: Function) -> Function:
        head, mark, rest = (inspect.getdoc(function) or "").partition("\n{parameters}")
        if mark:
            named = [by_argument[name].documented() for name in inspect.signature(function).parameters
                     if name in by_argument and f"\n{name} : " not in head]  # fmt: skip
            function.__doc__ = "\n".join([head, *named]) + rest
        return function

    return decorate


def check_options(options: Iterable[Option], settings: Mapping[str, object], verb: str) -> None:
    """Refuse an argument of Python that its declaration rules out: no known choice, or no whole number that is allowed.

    Options whose choices have no default among them take more in Python than on the command line; their verb checks
    them.
    """
    for option in options:
        name = option.in_python
        if name is None or name not in settings:
            continue
        value = settings[name]
        if option.default in option.choices and value not in option.choices:
            raise unknown_name(name, str(value), option.choices, verb)
        least = option.least or 0
        if option.kind == "whole" and (
            isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least
        ):
            raise BadInput(f"{name} is {value!r}", available=f"a whole number of {least} or more")


P = ParamSpec("P")
R = TypeVar("R")

# What scikit-learn and Fairlearn call the same things.
FOREIGN_ARGUMENTS = {
    "y_true": "target", "y_pred": "prediction", "y_score": "score", "y_prob": "score", "pos_label": "favourable",
    "sensitive_feature": "sensitive_features", "group": "sensitive_features", "groups": "sensitive_features",
}  # fmt: skip


def accepts(**spellings: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take arguments under a second spelling too, and refuse unknown ones with the name that is meant.

    ``accepts(favorable="favourable")`` passes ``favorable=`` on as ``favourable=``. A function that takes ``**options``
    of its own is not asked about names it does not list.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(function).parameters
        named_parameters = [
            name for name, parameter in parameters.items() if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        open_ended = len(named_parameters) < len(parameters)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            named: dict[str, object] = {}
            for name, value in kwargs.items():
                meant = spellings.get(name, name)
                if meant != name and meant in kwargs and not _is_equal(kwargs[meant], value):
                    raise BadInput(
                        f"{name!r} and {meant!r} were given with different values",
                        help="leave one out: they are two spellings of the same argument.",
                    )
                if meant not in named_parameters and not open_ended:
                    raise unknown_argument(name, named_parameters)
                named[meant] = value
            return function(*args, **named)  # type: ignore[arg-type]

        return called

    return decorate


def _is_equal(first: object, other: object) -> bool:
    """Tell whether two values are the same thing, or equal texts or numbers; columns are not looked through."""
    plain = (str, bool, int, float)
    return first is other or (isinstance(first, plain) and isinstance(other, plain) and first == other)


def unknown_argument(name: str, parameters: list[str], elsewhere: Mapping[str, str] = FOREIGN_ARGUMENTS) -> BadInput:
    """Build the error for an argument that a function does not have."""
    hint = elsewhere.get(name)
    meant = (
        hint if hint in parameters else nearest(name, [parameter for parameter in parameters if parameter != "self"])
    )
    return BadInput(
        f"Unknown argument {name!r}",
        available=", ".join(parameter for parameter in parameters if parameter not in ("self", "command")),
        help=f"did you mean {meant}=?" if meant else "",
    )
