"""What a comparison is: a number, or a score a row, from two representations of the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from equipoise.foundation.references import bibtex_for
from equipoise.foundation.registry import Entry, first_line, registry


@dataclass(frozen=True, eq=False)
class Comparison:
    """A registered comparison. Call it with the representation before and the one after: one row each, in order.

    With ``pointwise`` it answers with a score a row, else with one number. It has no direction: whether a change is
    wanted cannot be read from its size.
    """

    name: str
    function: Callable[..., Any]
    paper: str
    summary: str
    pointwise: bool
    alias: str | None = None

    def __post_init__(self) -> None:
        # So that help() and inspect.signature() tell of the function, not of this class.
        object.__setattr__(self, "__doc__", self.function.__doc__)
        object.__setattr__(self, "__wrapped__", self.function)

    def __call__(self, before: object, after: object, *given: Any, **options: Any) -> Any:
        """Return the scores, one a row, or the number; NaN where it is not defined."""
        return self.function(before, after, *given, **options)

    @property
    def bibtex(self) -> str:
        """What to cite for it, as BibTeX."""
        return bibtex_for("comparison", self.name)

    def __repr__(self) -> str:
        return f"<comparison {self.name}: {self.summary}>"


def comparison(
    name: str, *, paper: str, alias: str | None = None, pointwise: bool = False
) -> Callable[[Callable[..., Any]], Comparison]:
    """Register a function of two representations of the same rows."""

    def decorate(function: Callable[..., Any]) -> Comparison:
        summary = first_line(function)
        made = Comparison(name, function, paper, summary, pointwise, alias)
        registry.add(
            Entry(
                kind="comparison",
                name=name,
                thing=made,
                summary=summary,
                paper=paper,
                alias=alias,
                details={"pointwise": pointwise},
                module=function.__module__,
            )
        )
        return made

    return decorate


def get_comparison(name: str) -> Comparison:
    """Return a registered comparison by its name or alias."""
    thing = registry.get("comparison", name).thing
    assert isinstance(thing, Comparison)
    return thing
