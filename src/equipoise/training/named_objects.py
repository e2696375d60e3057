"""A user's own class or function by its name, "package.module:name"; nothing is imported that is not spelt so.

The name, with a version that its owner raises, is what a trial knows it by; a hash of its source stands beside it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import textwrap
from typing import Any

from equipoise.foundation.errors import BadInput, nearest
from equipoise.training.parameters import Parameter

FORM = '"package.module:name"'
VERSION = Parameter("raised when what is named changes what it trains", 1, least=1, low=1, high=1, whole=True)


def named_object(name: str, what: str) -> Any:
    """Import what a name of the form "package.module:name" stands for."""
    return attribute_of(*name_parts(name, what), what)


def name_parts(name: str, what: str) -> tuple[str, str]:
    """Return module and attribute of a name of the form "package.module:name"; nothing is imported."""
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute:
        raise BadInput(f"The {what} is {name!r}", available=f"{FORM}, or an object in Python")
    return module, attribute


def attribute_of(module: str, attribute: str, what: str) -> Any:
    """Return a named part of a module, imported now."""
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # a module may raise anything while it is imported
        raise BadInput(
            f"The {what} {module}:{attribute} cannot be imported ({error})",
            help="install its package here, or put its folder on PYTHONPATH.",
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            guess = nearest(part, [one for one in dir(found) if not one.startswith("_")])
            raise BadInput(
                f"{module} has no {attribute!r}", help=f"did you mean {guess!r}?" if guess else "check the name."
            )
        found = getattr(found, part)
    return found


def spelt(thing: Any) -> str:
    """Return what a class, function or object is called in a message."""
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{kind.__module__}:{kind.__qualname__}"


def name_of(thing: Any, what: str) -> str:
    """Return the name that trials know a class or function by; what shares its name with others is refused."""
    owner = getattr(thing, "__self__", None)
    if isinstance(owner, type):  # a method of a class, which may have it from another class
        return f"{name_of(owner, what)}.{thing.__name__}"
    name = getattr(thing, "__qualname__", None)
    if name is None or "<" in name or inspect.ismethod(thing):
        raise BadInput(
            f"The {what} is {thing!r}",
            available="a class or function with its own name in a module, as its trials are identified by "
            "it; a lambda, a partial, an object, or what was created inside a function shares its name with others",
            help="write it with def or class at the top of a module, and give what varies as settings.",
        )
    return f"{thing.__module__}:{name}"


def source_hash(thing: Any) -> str | None:
    """Hash the text of a class or function (of an object: its class), without its indentation; None if it has none."""
    found = thing if hasattr(thing, "__qualname__") else type(thing)
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(found)))
    except (OSError, TypeError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()[:16]
