"""Settings of any kind as plain values that name a trial: two that differ never look the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.training.named_objects import name_of


def plain_value(value: Any, what: str) -> Any:
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
        return [plain_value(one, what) for one in value]
    if isinstance(value, Mapping):
        return {str(name): plain_value(one, what) for name, one in value.items()}
    if isinstance(value, np.ufunc):
        return f"numpy:{value.__name__}"
    if not hasattr(value, "__qualname__"):
        parameters = _parameters(value)
        if parameters is not None:
            return {"class": name_of(type(value), what), "settings": plain_value(parameters, what)}
    return name_of(value, what)


def _parameters(value: Any) -> Mapping[str, Any] | None:
    """Return what an object was made with: an estimator says so, and scikit-learn's other objects keep it as it is."""
    if hasattr(value, "get_params"):
        found: Mapping[str, Any] = value.get_params(deep=False)
        return found
    return vars(value) if type(value).__module__.startswith("sklearn.") and hasattr(value, "__dict__") else None
