"""Cutting a continuous column into groups on request: ``age=25,45`` or ``age=quantile:4``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equipoise.foundation.errors import BadInput


@dataclass(frozen=True)
class Bins:
    """A request to cut a column: at given edges, or into so many equally filled parts."""

    edges: tuple[float, ...] = ()
    quantiles: int = 0

    @classmethod
    def parse(cls, text: str) -> Bins:
        """Read ``25,45`` or ``quantile:4``."""
        try:
            if text.startswith("quantile:"):
                parts = int(text.removeprefix("quantile:"))
                if parts < 2:
                    raise ValueError
                return cls(quantiles=parts)
            edges = tuple(float(edge) for edge in text.split(","))
            if list(edges) != sorted(set(edges)) or not np.isfinite(edges).all():
                raise ValueError
        except ValueError:
            raise BadInput(
                f"The bins {text!r} could not be read",
                available="increasing edges such as 25,45 or quantiles such as quantile:4",
            ) from None
        return cls(edges=edges)

    @classmethod
    def of(cls, given: object) -> Bins:
        """Accept what a Python caller writes: a Bins, text, or a list of edges."""
        if isinstance(given, Bins):
            return given
        if isinstance(given, str):
            return cls.parse(given)
        if isinstance(given, Sequence):
            return cls.parse(",".join(str(edge) for edge in given))
        return cls.parse(str(given))


def bins_of(given: object) -> dict[str, Bins]:
    """Read which columns are to be cut, and how."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise BadInput(f"bins is {given!r}", available="a mapping such as {'age': [25, 45]} or {'age': 'quantile:4'}")
    return {str(column): Bins.of(request) for column, request in given.items()}


def names_of(edges: Sequence[float]) -> list[str]:
    """Name the groups between the edges; an edge belongs to the group above it."""
    text = [f"{edge:g}" if abs(edge) < 1e15 else repr(edge) for edge in edges]
    middle = [f"{low} to under {high}" for low, high in itertools.pairwise(text)]
    return [f"under {text[0]}", *middle, f"{text[-1]} and over"]


def quantile_edges(values: Sequence[float], counts: Sequence[float], parts: int) -> tuple[float, ...]:
    """Return the edges that cut counted values into equally filled parts. Ties may leave fewer parts."""
    order = np.argsort(values)
    ordered, share = np.asarray(values, dtype=np.float64)[order], np.cumsum(np.asarray(counts)[order])
    wanted = share[-1] * np.arange(1, parts) / parts
    edges = ordered[np.minimum(np.searchsorted(share, wanted, side="right"), len(ordered) - 1)]
    return tuple(edge for edge in np.unique(edges).tolist() if edge > ordered[0])
