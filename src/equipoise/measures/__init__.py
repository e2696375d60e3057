"""Numbers about outcomes: each measure is a plain function of a tally, registered under its full name.

``equipoise.measures.demographic_parity(target, prediction, sensitive_features=group)`` returns a float, or NaN where
the number is not defined; ``.record(...)`` says why; ``.from_counts(table)`` is the pure form.

Comparisons are numbers about two representations of the same rows: ``equipoise.measures.pnka(before, after)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.measures.classification import statistical_parity_difference as statistical_parity_difference
    from equipoise.measures.individual import consistency as consistency
    from equipoise.tallies.counts import confusion as confusion
    from equipoise.tallies.embedded import embed as embed

# Measures of arrays that no tally holds, and what makes a tally of counts or points for the others.
_FUNCTIONS = {
    "confusion": "equipoise.tallies.counts",
    "consistency": "equipoise.measures.individual",
    "embed": "equipoise.tallies.embedded",
    "statistical_parity_difference": "equipoise.measures.classification",
}


def __getattr__(name: str) -> Any:
    from equipoise.foundation.errors import BadInput
    from equipoise.foundation.registry import registry
    from equipoise.measures.measure import Measure

    if name.startswith("_"):
        raise AttributeError(name)
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    if name in _names("comparison"):
        return registry.get("comparison", name).thing
    try:
        thing = registry.get("measure", name).thing
    except BadInput as error:
        raise AttributeError(str(error)) from None
    assert isinstance(thing, Measure)
    return thing


def _names(kind: str) -> set[str]:
    from equipoise.foundation.registry import registry

    return {name for entry in registry.entries(kind) for name in (entry.name, entry.alias) if name is not None}


def __dir__() -> list[str]:
    from equipoise.foundation.registry import registry

    return [*_FUNCTIONS, *(entry.name for kind in ("measure", "comparison") for entry in registry.entries(kind))]
