"""A user's own class or function by its name, "package.module:name"; nothing is imported that is not spelt so."""

from __future__ import annotations

import importlib
from typing import Any

from equipoise.foundation.errors import BadInput, nearest

FORM = '"package.module:name"'


def named_object(name: str, what: str) -> Any:
    """Import what a name of the form "package.module:name" stands for."""
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise BadInput(f"The {what} is {name!r}", allowed=f"{FORM}, or an object in Python")
    return attribute_of(module, attribute, what)


def attribute_of(module: str, attribute: str, what: str) -> Any:
    """Return a named part of a module, imported now."""
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise BadInput(
            f"The {what} {module}:{attribute} cannot be imported ({error})",
            way_out="install its package here, or put its folder on PYTHONPATH.",
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            guess = nearest(part, [one for one in dir(found) if not one.startswith("_")])
            raise BadInput(
                f"{module} has no {attribute!r}", way_out=f"did you mean {guess!r}?" if guess else "check the name."
            )
        found = getattr(found, part)
    return found


def name_of(thing: Any) -> str:
    """Return the name by which a class or function of one's own is known."""
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{kind.__module__}:{kind.__qualname__}"
