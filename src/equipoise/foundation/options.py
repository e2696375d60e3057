"""Options as data: one declaration, from which a verb's command line, config file and documentation are made."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, TypeVar

from equipoise.foundation.errors import BadInput, unknown_name

Kind = Literal["flag", "text", "texts", "label", "pairs", "whole", "number", "choice", "input", "output"]
Values = Literal["", "columns", "column=groups", "classes", "measures", "gates", "learners"]
Function = TypeVar("Function", bound=Callable[..., object])

# How the kinds are called in the parameters of a docstring.
KIND_NAMES: dict[Kind, str] = {
    "flag": "bool", "text": "str", "texts": "str or list of str", "label": "str, int, float or bool",
    "pairs": "mapping", "whole": "int", "number": "float", "input": "path or data", "output": "path",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of a verb, under its name on the command line and in a config file."""

    name: str
    help: str
    kind: Kind = "text"
    panel: str = "Data"
    default: object = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    least: int = 0
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
        """The option as it is typed."""
        return f"--{self.name.replace('_', '-')}"

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


def documented(options: Iterable[Option], kind: str = "") -> Callable[[Function], Function]:
    """Write the options that a function takes into the Parameters of its docstring."""
    by_argument = {option.in_python: option for option in options if option.used_by(kind)}

    def decorate(function: Function) -> Function:
        head, mark, rest = (inspect.getdoc(function) or "").partition("\n{parameters}")
        if mark:
            named = [by_argument[name].documented() for name in inspect.signature(function).parameters
                     if name in by_argument]  # fmt: skip
            function.__doc__ = "\n".join([head, *named]) + rest
        return function

    return decorate


def check_values(options: Iterable[Option], given: Mapping[str, object], verb: str) -> None:
    """Refuse an argument of Python that its declaration rules out: no known choice, or no whole number that is allowed.

    Options whose choices have no default among them take more in Python than on the command line; their verb checks
    them.
    """
    for option in options:
        name = option.in_python
        if name is None or name not in given:
            continue
        value = given[name]
        if option.default in option.choices and value not in option.choices:
            raise unknown_name(name, str(value), option.choices, verb)
        if option.kind == "whole" and (
            isinstance(value, bool) or not isinstance(value, Integral) or int(value) < option.least
        ):
            raise BadInput(f"{name} is {value!r}", available=f"a whole number of {option.least} or more")
