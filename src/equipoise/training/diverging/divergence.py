"""Where two runs first differed and how far apart they went, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from equipoise.foundation import plural

if TYPE_CHECKING:
    from equipoise.training.diverging.stepping import Kind

ALL = "all layers"
WHAT = {
    "input": "the input of the network ({name})", "activation": "the output of layer {name}", "loss": "the loss",
    "gradient": "the gradient of {name}", "parameter": "the value of {name}",
}  # fmt: skip


@dataclass(frozen=True)
class Growth:
    """How far apart the values of a layer are after a step: the length of their difference over their own."""

    step: int
    layer: str
    relative: float


@dataclass(frozen=True)
class Flips:
    """The share of fixed rows to which the two runs give different classes after a step."""

    step: int
    rows: int
    share: float


@dataclass(frozen=True)
class Divergence:
    """What a comparison of two runs found. ``step`` counts from 1; 0 is before the first; None: they never differed.

    ``largest``, ``relative`` and ``units`` are those of ``first_difference.Difference``, of the tensor that differed
    first.
    """

    steps: int
    step: int | None = None
    kind: Kind = "none"
    name: str | None = None
    largest: float = math.nan
    relative: float = math.nan
    units: float = math.nan
    growth: tuple[Growth, ...] = field(default=())
    flips: tuple[Flips, ...] = field(default=())

    @property
    def words(self) -> tuple[str, ...]:
        """Say it in plain sentences."""
        if self.step is None:
            return (f"The two runs were the same to the last bit for {plural(self.steps, 'step')}.",)
        return (*self._first(), *self._grown(), *self._flipped())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; what is not defined is None."""
        return {**_plain(asdict(self)), "words": list(self.words)}

    def _first(self) -> tuple[str, ...]:
        what = WHAT[self.kind].format(name=self.name)
        if self.step == 0:
            start = f"before the first step {what} differed, {self._size()}."
            return (f"The two runs did not start from the same state: {start}",)
        if self.step == 1:
            return (f"The two runs differed in their first step: {what} differed first, {self._size()}.",)
        same = f"The two runs were the same to the last bit for {plural((self.step or 0) - 1, 'step')}."
        return same, f"In step {self.step:,} {what} differed first, {self._size()}."

    def _size(self) -> str:
        if math.isnan(self.largest):
            return "in its shape or in numbers that are not finite"
        if self.largest == 0:
            return "in the sign of a zero"
        if math.isnan(self.units):
            return f"by {self.largest:.2g}"
        return f"by {self.largest:.2g} at most ({plural(round(self.units), 'unit')} in the last place)"

    def _grown(self) -> tuple[str, ...]:
        last = max((one.step for one in self.growth), default=0)
        ends = [one for one in self.growth if one.step == last and not math.isnan(one.relative)]
        everything = next((one.relative for one in ends if one.layer == ALL), None)
        if everything is None:
            return ()
        if everything == 0:
            return (f"After step {last:,} everything learned is the same in both runs.",)
        layers = [one for one in ends if one.layer != ALL]
        most = max(layers, key=lambda one: one.relative, default=None)
        told = f", most in {most.layer} ({_share(most.relative)})" if most is not None and len(layers) > 1 else ""
        return (f"After step {last:,} everything learned differs by {_share(everything)} between the runs{told}.",)

    def _flipped(self) -> tuple[str, ...]:
        if not self.flips:
            return ()
        last, first = self.flips[-1], next((one for one in self.flips if one.share > 0), None)
        rows = plural(last.rows, "row")
        if first is None:
            return (f"None of {rows} is predicted differently.",)
        return (
            f"Of {rows}, {_share(last.share)} are predicted differently after step {last.step:,}; "
            f"the first was seen after step {first.step:,}.",
        )


def _share(value: float) -> str:
    """Write a share as a person says it: as a percentage, or where it is tiny as one part in so many."""
    if value >= 1e-4 or value == 0:
        return f"{100 * value:.2g}%"
    return f"one part in {float(f'{1 / value:.2g}'):,.0f}"


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
