"""A user's own class or function, "package.module:name" or "file.py:name"; nothing is imported that is not spelt so.

The name, with a version that its owner raises, is what a trial knows it by; a hash of its source stands beside it.
Settings of any kind become plain values that name a trial: two that differ never look the same.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import math
import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation import (
    BadInput,
    describe_error,
    importable_folder,
    imported,
    module_name,
    nearest,
    require,
)
from equipoise.foundation import attribute as file_attribute
from equipoise.training._parameters import Parameter

if TYPE_CHECKING:
    import torch

FORM = '"package.module:name"'
FILE_FORM = '"file.py:name"'
PYTHON, TENSORS = ".py", ".safetensors"
VERSION = Parameter("raised when what is named changes what it trains", 1, least=1, low=1, high=1, integer=True)


def named_object(name: str, role: str) -> Any:
    """Import what a name of the form "package.module:name" or "file.py:name" stands for."""
    return attribute_of(*name_parts(name, role), role)


def portable_name(name: str) -> str:
    """Return the name that trials know own code by: of a file its last part, which is the same on every machine."""
    module, colon, attribute = name.rpartition(":")
    return f"{os.path.basename(module)}{colon}{attribute}" if module.endswith(PYTHON) else name


def relative_to_plan(name: Any, folder: Path) -> Any:
    """Return the name of a file, or of own code in one, as seen from the folder of a plan; any other as it is."""
    if not isinstance(name, str):
        return name
    module, colon, attribute = name.rpartition(":")
    if module.endswith(PYTHON):
        return f"{folder / module}{colon}{attribute}"
    return str(folder / name) if name.endswith(TENSORS) else name


def name_parts(name: str, role: str) -> tuple[str, str]:
    """Return module (or file) and attribute of a name of own code; nothing is imported."""
    module, colon, attribute = name.rpartition(":")
    if not colon or not module or not attribute:
        raise BadInput(f"The {role} is {name!r}", available=f"{FORM} or {FILE_FORM}, or an object in Python")
    return module, attribute


def attribute_of(module: str, attribute: str, role: str) -> Any:
    """Return a named part of a module or of a file of Python, imported now."""
    if module.endswith(PYTHON):
        path = Path(module)
        with importable_folder(path.parent):
            return file_attribute(imported(path), path, attribute)
    try:
        target: Any = importlib.import_module(module)
    except Exception as error:  # a module may raise anything while it is imported
        raise BadInput(
            f"The {role} {module}:{attribute} cannot be imported ({error})",
            help="install its package here, or put its folder on PYTHONPATH.",
        ) from error
    for part in attribute.split("."):
        if not hasattr(target, part):
            guess = nearest(part, [name for name in dir(target) if not name.startswith("_")])
            raise BadInput(
                f"{module} has no {attribute!r}", help=f"did you mean {guess!r}?" if guess else "check the name."
            )
        target = getattr(target, part)
    return target


def display_name(target: Any) -> str:
    """Return what a class, function or object is called in a message."""
    kind = target if hasattr(target, "__qualname__") else type(target)
    return f"{module_name(kind.__module__)}:{kind.__qualname__}"


def factory_of(reference: Any, role: str, allowed: str) -> Any:
    """Return what makes a network: what a name stands for, imported now, or an object that can be called."""
    factory = named_object(reference, role) if isinstance(reference, str) else reference
    if not callable(factory):
        raise BadInput(
            f"The {role} {reference!r} is {type(factory).__name__}, which cannot be called", available=allowed
        )
    return factory


def build_network(
    factory: Any, arguments: tuple[Any, ...], settings: Mapping[str, Any], allowed: str
) -> torch.nn.Module:
    """Call a user's factory; what fails in it, or returns no torch module, is told by name."""
    library = require("torch", extra="train", purpose="A network of your own")
    argument_text = arguments[0] if len(arguments) == 1 else arguments
    try:
        network: Any = factory(*arguments, **settings)
    except Exception as error:
        raise BadInput(
            f"The factory {display_name(factory)} failed with "
            f"{f'({argument_text})' if len(arguments) == 1 else argument_text} and "
            f"{dict(settings)!r} ({describe_error(error)})",
            available=allowed,
        ) from error
    if not isinstance(network, library.nn.Module):
        raise BadInput(
            f"The factory {display_name(factory)} returned {type(network).__name__}", available="a torch.nn.Module"
        )
    built: torch.nn.Module = network
    return built


def name_of(target: Any, role: str) -> str:
    """Return the name that trials know a class or function by; what shares its name with others is refused."""
    owner = getattr(target, "__self__", None)
    if isinstance(owner, type):  # a method of a class, which may have it from another class
        return f"{name_of(owner, role)}.{target.__name__}"
    name = getattr(target, "__qualname__", None)
    if name is None or "<" in name or inspect.ismethod(target):
        raise BadInput(
            f"The {role} is {target!r}",
            available="a class or function with its own name in a module, as its trials are identified by "
            "it; a lambda, a partial, an object, or what was created inside a function shares its name with others",
            help="write it with def or class at the top of a module, and give what varies as settings.",
        )
    return f"{target.__module__}:{name}"


def source_hash(target: Any) -> str | None:
    """Hash the text of a class or function (of an object: its class), without its indentation; None if it has none."""
    source_of = target if hasattr(target, "__qualname__") else type(target)
    try:
        text = textwrap.dedent(inspect.getsource(inspect.unwrap(source_of)))
    except (OSError, TypeError):
        return None
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain_value(value: Any, role: str) -> Any:
    """Return texts, numbers, lists and tables as they are, and an estimator as its class with its parameters.

    A class or function is its name. Anything else, such as a lambda or a random generator, has none and is refused.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, list | tuple):
        return [plain_value(entry, role) for entry in value]
    if isinstance(value, Mapping):
        return {str(name): plain_value(entry, role) for name, entry in value.items()}
    if isinstance(value, np.ufunc):
        return f"numpy:{value.__name__}"
    if not hasattr(value, "__qualname__"):
        parameters = _parameters(value)
        if parameters is not None:
            return {"class": name_of(type(value), role), "settings": plain_value(parameters, role)}
    return name_of(value, role)


def _parameters(value: Any) -> Mapping[str, Any] | None:
    """Return what an object was made with: an estimator says so, and scikit-learn's other objects keep it as it is."""
    if hasattr(value, "get_params"):
        parameters: Mapping[str, Any] = value.get_params(deep=False)
        return parameters
    return vars(value) if type(value).__module__.startswith("sklearn.") and hasattr(value, "__dict__") else None
