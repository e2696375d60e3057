"""Where two runs side by side first differ, and how far apart they go from then on, in numbers and in words.

Each run has its own state of every global generator, as if it were alone. Only one step's tensors are held. Tensors are
compared to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation import BadInput, plural, require
from equipoise.training._seeding import generator_states, preserved_generators, set_generators
from equipoise.training.diverging._steppers import Kind, ObservedTensor, Stepper

if TYPE_CHECKING:
    import torch

    from equipoise.training.diverging._steppers import Kind

    Pair = tuple[torch.Tensor, torch.Tensor]

ALL_LAYERS = "all layers"
KIND_NAMES = {
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
        subject = KIND_NAMES[self.kind].format(name=self.name)
        if self.step == 0:
            start = f"before the first step {subject} differed, {self._size()}."
            return (f"The two runs did not start from the same state: {start}",)
        if self.step == 1:
            return (f"The two runs differed in their first step: {subject} differed first, {self._size()}.",)
        equality = f"The two runs were the same to the last bit for {plural((self.step or 0) - 1, 'step')}."
        return equality, f"In step {self.step:,} {subject} differed first, {self._size()}."

    def _size(self) -> str:
        if math.isnan(self.largest):
            return "in its shape or in numbers that are not finite"
        if self.largest == 0:
            return "in the sign of a zero"
        if math.isnan(self.units):
            return f"by {self.largest:.2g}"
        return f"by {self.largest:.2g} at most ({plural(round(self.units), 'unit')} in the last place)"

    def _grown(self) -> tuple[str, ...]:
        last = max((growth.step for growth in self.growth), default=0)
        ends = [growth for growth in self.growth if growth.step == last and not math.isnan(growth.relative)]
        everything = next((end.relative for end in ends if end.layer == ALL_LAYERS), None)
        if everything is None:
            return ()
        if everything == 0:
            return (f"After step {last:,} everything learned is the same in both runs.",)
        layers = [end for end in ends if end.layer != ALL_LAYERS]
        most = max(layers, key=lambda one: one.relative, default=None)
        largest = f", most in {most.layer} ({_share(most.relative)})" if most is not None and len(layers) > 1 else ""
        return (f"After step {last:,} everything learned differs by {_share(everything)} between the runs{largest}.",)

    def _flipped(self) -> tuple[str, ...]:
        if not self.flips:
            return ()
        last, first = self.flips[-1], next((flip for flip in self.flips if flip.share > 0), None)
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
        return {name: _plain(entry) for name, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


# After the first difference, looks at how far apart the runs are grow sparser by this factor.
SPARSER = 1.25
# The whole numbers that have as many bytes as a number with a point.
INTEGER_TYPES = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


def first_difference(
    make: Callable[[int], Stepper], steps: int = 200, *, row_order_differs: bool = False
) -> Divergence:
    """Take two runs through the same steps and say where they first differ.

    ``make`` is called with 0 and with 1 and builds a run from its seed. Where the runs see the rows of a batch in
    different orders (``row_order_differs``), inputs and activations are not compared: their rows are permuted.
    """
    if isinstance(steps, bool) or steps < 1:
        raise BadInput(f"steps is {steps!r}", available="a whole number of at least 1")
    runs = (_Run(make, 0), _Run(make, 1))
    search = _First(row_order_differs)
    search.look(
        0, *([ObservedTensor("parameter", name, value) for name, value in run.stepper.values()] for run in runs)
    )
    growth: list[Growth] = []
    flips: list[Flips] = []
    for number in range(1, steps + 1):
        observations = [run.step(watched=search.step is None) for run in runs]
        if search.step is None:
            search.look(number, *observations)
        del observations
        if search.step is not None and (number == steps or _is_looked_at(number - max(search.step, 1))):
            growth += _growth(number, *(run.stepper.values() for run in runs))
            flips += _flips(number, *(run.predictions() for run in runs))
    difference_parts = (search.difference.largest, search.difference.relative, search.difference.units)
    return Divergence(steps, search.step, search.kind, search.name, *difference_parts, tuple(growth), tuple(flips))


class _First:
    """The first difference, once there is one."""

    def __init__(self, row_order_differs: bool) -> None:
        self.left_out = ("input", "activation") if row_order_differs else ()
        self.step: int | None = None
        self.kind: Kind = "none"
        self.name: str | None = None
        self.difference = Difference(np.nan, np.nan, np.nan)

    def look(self, step: int, first: Sequence[ObservedTensor], second: Sequence[ObservedTensor]) -> None:
        """Compare what two runs showed in a step."""
        mine, other = (
            [observation for observation in observations if observation.kind not in self.left_out]
            for observations in (first, second)
        )
        if [(observation.kind, observation.name) for observation in mine] != [
            (observation.kind, observation.name) for observation in other
        ]:
            raise BadInput(
                f"In step {step} the two runs did not compute the same things, so that they cannot be compared",
                available="two runs of one training, with the same layers in the same order",
            )
        places = differing([(observation.value, two.value) for observation, two in zip(mine, other, strict=True)])
        if any(places):
            at = places.index(True)
            self.step, self.kind, self.name = step, mine[at].kind, mine[at].name
            self.difference = difference(mine[at].value, other[at].value)


class _Run:
    """One of the two runs, with the state of the global generators it would have if it were alone."""

    def __init__(self, make: Callable[[int], Stepper], index: int) -> None:
        with preserved_generators():
            self.stepper = make(index)
            self._own = generator_states()

    def step(self, *, watched: bool) -> list[ObservedTensor]:
        """Take a step; what the run has learnt by it belongs to what is seen."""
        observations: list[ObservedTensor] = self._alone(lambda: self.stepper.step(watched))
        if watched:
            observations = [
                *observations,
                *(ObservedTensor("parameter", name, value) for name, value in self.stepper.values()),
            ]
        return observations

    def predictions(self) -> torch.Tensor | None:
        """Return the classes of fixed rows; no generator is moved by it."""
        with preserved_generators():
            return self.stepper.predictions()

    def _alone(self, do: Callable[[], Any]) -> Any:
        with preserved_generators():
            set_generators(self._own)
            try:
                return do()
            finally:
                self._own = generator_states()


def _is_looked_at(since: int) -> bool:
    """Tell whether growth is looked at so many steps after the first difference: 0, 1, 2, ... and sparser later."""
    return since < 4 or int(np.log(since) / np.log(SPARSER)) != int(np.log(since - 1) / np.log(SPARSER))


def _growth(
    step: int, first: Sequence[tuple[str, torch.Tensor]], second: Sequence[tuple[str, torch.Tensor]]
) -> list[Growth]:
    """Compare the layers, and all together; counters of batches are no part of it."""
    layers: dict[str, list[Any]] = {}
    for (name, value), (_, two) in zip(first, second, strict=True):
        if value.is_floating_point() and value.shape == two.shape:
            layers.setdefault(name.rpartition(".")[0] or name, []).append((value, two))
    by_layer = {layer: lengths(pairs) for layer, pairs in layers.items()}
    total = tuple(float(np.sqrt(sum(pair[side] ** 2 for pair in by_layer.values()))) for side in (0, 1))
    return [
        Growth(step, layer, distance / length if length else float("nan"))
        for layer, (distance, length) in {ALL_LAYERS: total, **by_layer}.items()
    ]


def _flips(step: int, first: Any, second: Any) -> list[Flips]:
    if first is None or second is None or not len(first):
        return []
    return [Flips(step, len(first), float((first != second).double().mean()))]


@dataclass(frozen=True)
class Difference:
    """How far apart two tensors are.

    ``largest`` is the largest absolute difference of two numbers, ``units`` how many representable numbers these two
    are apart, and ``relative`` the length of the difference over that of the first tensor. All are NaN where the
    tensors have different shapes, and ``units`` where the numbers are not finite.
    """

    largest: float
    relative: float
    units: float


def differing(pairs: Sequence[Pair]) -> list[bool]:
    """Tell of each pair whether any bit differs (a shape or a type may too); the device is asked once for all."""
    library = require("torch", extra="train", purpose="Comparing tensors")
    comparables = [_are_equal(*pair) for pair in pairs]
    bit_checks = [_any_bit(*pair) for pair, comparable in zip(pairs, comparables, strict=True) if comparable]
    answers = iter(library.stack(bit_checks).tolist() if bit_checks else [])
    return [next(answers) if comparable else True for comparable in comparables]


def difference(first_tensor: torch.Tensor, other: torch.Tensor) -> Difference:
    """Measure how two tensors differ."""
    if not _are_equal(first_tensor, other):
        return Difference(math.nan, math.nan, math.nan)
    first, second = (tensor.detach().double() for tensor in (first_tensor, other))
    differences = (first - second).abs()
    position = int(differences.argmax())
    pair = [tensor.detach().reshape(-1)[position] for tensor in (first_tensor, other)]
    length = float(first.norm())
    relative = float(differences.norm()) / length if length else math.nan
    return Difference(float(differences.reshape(-1)[position]), relative, _units(*pair))


def lengths(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return the length of the difference of many tensors together, and that of the first ones."""
    library = require("torch", extra="train", purpose="Comparing tensors")
    squares = []
    for value, other in pairs:
        first, second = value.detach().double(), other.detach().double()
        squares.append(library.stack([(first - second).square().sum(), first.square().sum()]))
    distance, length = library.stack(squares).sum(0).sqrt().tolist()
    return distance, length


def _are_equal(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(tensor.shape == other.shape and tensor.dtype == other.dtype)


def _any_bit(tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return (_bits(tensor) != _bits(other)).any()


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bits as whole numbers: equal NaNs are then equal, and the two zeros are not."""
    library = require("torch", extra="train", purpose="Comparing tensors")
    plain = tensor.detach()
    return plain.view(getattr(library, INTEGER_TYPES[plain.element_size()])) if plain.is_floating_point() else plain


def _units(tensor: torch.Tensor, other: torch.Tensor) -> float:
    """Return how many steps from one representable number to the next lie between two."""
    if not tensor.is_floating_point() or not (bool(tensor.isfinite()) and bool(other.isfinite())):
        return math.nan
    return float(abs(_rank(tensor) - _rank(other)))


def _rank(number: torch.Tensor) -> int:
    """Number the representable numbers in order, both zeros 0: the bits of a negative one count downwards."""
    bits = int(_bits(number))
    return bits if bits >= 0 else -(bits + 2 ** (8 * number.element_size() - 1))
