"""Numbers about outcomes: each measure is a plain function of a tally, registered under its full name.

``equipoise.measures.demographic_parity(target, prediction, sensitive_features=group)`` returns a float, or NaN where
the number is not defined; ``.record(...)`` says why; ``.from_counts(table)`` is the pure form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equipoise.measures.measure import Measure


def __getattr__(name: str) -> Measure:
    from equipoise.foundation.errors import BadInput
    from equipoise.foundation.registry import registry
    from equipoise.measures.measure import Measure

    if name.startswith("_"):
        raise AttributeError(name)
    try:
        thing = registry.get("measure", name).thing
    except BadInput as error:
        raise AttributeError(str(error)) from None
    assert isinstance(thing, Measure)
    return thing


def __dir__() -> list[str]:
    from equipoise.foundation.registry import registry

    return [entry.name for entry in registry.entries("measure")]
