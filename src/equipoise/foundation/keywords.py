"""Arguments under the names that other libraries give them: spellings that are taken, and hints for the rest."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from equipoise.foundation.errors import BadInput, nearest

P = ParamSpec("P")
R = TypeVar("R")

# What scikit-learn and Fairlearn call the same things.
ELSEWHERE = {
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
        known = [name for name, one in parameters.items() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        open_ended = len(known) < len(parameters)

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            named: dict[str, object] = {}
            for name, value in kwargs.items():
                meant = spellings.get(name, name)
                if meant != name and meant in kwargs and not _same(kwargs[meant], value):
                    raise BadInput(
                        f"{name!r} and {meant!r} were given with different values",
                        help="leave one out: they are two spellings of the same argument.",
                    )
                if meant not in known and not open_ended:
                    raise unknown_argument(name, known)
                named[meant] = value
            return function(*args, **named)  # type: ignore[arg-type]

        return called

    return decorate


def _same(one: object, other: object) -> bool:
    """Tell whether two values are the same thing, or equal texts or numbers; columns are not looked through."""
    plain = (str, bool, int, float)
    return one is other or (isinstance(one, plain) and isinstance(other, plain) and one == other)


def unknown_argument(name: str, known: list[str], elsewhere: Mapping[str, str] = ELSEWHERE) -> BadInput:
    """Build the error for an argument that a function does not have."""
    hint = elsewhere.get(name)
    meant = hint if hint in known else nearest(name, [one for one in known if one != "self"])
    return BadInput(
        f"There is no argument {name!r}",
        available=", ".join(one for one in known if one not in ("self", "command")),
        help=f"did you mean {meant}=?" if meant else "",
    )
