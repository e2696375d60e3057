"""What a comparison is: a number, or a score a row, from two representations of the same rows.

The representations are checked, and read a block at a time whatever array holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import array_api_compat
import numpy as np

from equipoise.foundation import (
    BadInput,
    Entry,
    bibtex_for,
    first_line,
    plural,
    registry,
)


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
    name: str, *, paper: str, alias: str | None = None, pointwise: bool = False, origin: str | None = None
) -> Callable[[Callable[..., Any]], Comparison]:
    """Register a function of two representations of the same rows."""

    def decorate(function: Callable[..., Any]) -> Comparison:
        summary = first_line(function)
        registered = Comparison(name, function, paper, summary, pointwise, alias)
        registry.add(
            Entry(
                kind="comparison",
                name=name,
                implementation=registered,
                summary=summary,
                paper=paper,
                alias=alias,
                origin=origin,
                details={"pointwise": pointwise},
                module=function.__module__,
            )
        )
        return registered

    return decorate


def get_comparison(name: str) -> Comparison:
    """Return a registered comparison by its name or alias."""
    thing = registry.get("comparison", name).implementation
    assert isinstance(thing, Comparison)
    return thing


# A numpy array or a torch tensor, on any device. Torch is never imported here: a tensor brings it along.
Array = Any
Namespace = Any

# How much is worked on at a time: enough for fast products, little enough to be no matter beside the input.
BLOCK_NUMBERS = 2**21
BLOCK_ROWS = 256
LEAST_ROWS = 2


class Rows(Protocol):
    """Rows of numbers that can be asked for by blocks."""

    @property
    def width(self) -> int:
        """How many numbers a row has."""

    @property
    def single(self) -> bool:
        """Whether the numbers are known to single precision only."""

    @property
    def sample(self) -> Array:
        """An array of the kind and on the device of the rows."""

    def __len__(self) -> int: ...

    def block(self, start: int, stop: int, dtype: str) -> Array:
        """Return some rows as numbers of a type; they are not to be written to."""


@dataclass(frozen=True, eq=False)
class Representation:
    """The rows of an array, or with ``index`` some of them (in that order, and as often as they are named).

    The mean of all rows is kept from the pass that looked for infinite values; of single precision, it is as good as
    sums of single precision are.
    """

    array: Array
    index: Array | None = None
    mean: Array | None = None

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return int(self.array.shape[1])

    @property
    def single(self) -> bool:
        """Whether the numbers are known to single precision only."""
        xp = namespace(self.array)
        return bool(xp.isdtype(self.array.dtype, "real floating")) and self.array.dtype != xp.float64

    @property
    def sample(self) -> Array:
        """An array of the kind and on the device of the rows."""
        return self.array[:1]

    def __len__(self) -> int:
        return int((self.array if self.index is None else self.index).shape[0])

    def block(self, start: int, stop: int, dtype: str) -> Array:
        """Return some rows as numbers of a type; they are not to be written to."""
        xp = namespace(self.array)
        rows = self.array[start:stop] if self.index is None else xp.take(self.array, self.index[start:stop], axis=0)
        return xp.astype(rows, getattr(xp, dtype), copy=False)

    def only(self, index: Array) -> Representation:
        """Return some of the rows."""
        return Representation(self.array, index if self.index is None else self.index[index])


@dataclass(frozen=True)
class Pair:
    """The same rows before and after."""

    before: Rows
    after: Rows

    def __len__(self) -> int:
        return len(self.before)

    @property
    def single(self) -> bool:
        """Whether both are known to single precision only."""
        return self.before.single and self.after.single

    @property
    def sides(self) -> tuple[Representation, Representation]:
        """Both, as rows of arrays that were given."""
        assert isinstance(self.before, Representation)
        assert isinstance(self.after, Representation)
        return self.before, self.after

    def only(self, index: Array) -> Pair:
        """Return some of the rows of both."""
        before, after = self.sides
        return Pair(before.only(index), after.only(index))


def namespace(array: Array) -> Namespace:
    """Return the functions that work on an array."""
    return array_api_compat.array_namespace(array)


def like(array: Array, values: object, dtype: str) -> Array:
    """Return plain numbers as an array of the same kind and on the same device."""
    xp = namespace(array)
    return xp.asarray(values, dtype=getattr(xp, dtype), device=array_api_compat.device(array))


def zeros(array: Array, shape: int | tuple[int, ...]) -> Array:
    """Return zeros of double precision, of the same kind and on the same device."""
    xp = namespace(array)
    return xp.zeros(shape, dtype=xp.float64, device=array_api_compat.device(array))


def blocks(rows: int, width: int, numbers: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield where blocks of about so many numbers start and stop."""
    step = max(BLOCK_ROWS, (numbers or BLOCK_NUMBERS) // max(width, 1))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)


def mean_of(rows: Rows, dtype: str) -> Array:
    """Return the mean row, summed with the given type within a block and in double precision over blocks."""
    total = zeros(rows.sample, rows.width)
    xp = namespace(total)
    with np.errstate(all="ignore"):
        for start, stop in blocks(len(rows), rows.width):
            block = rows.block(start, stop, dtype)
            # A product with ones: it uses all cores, which a sum does not.
            total += xp.ones_like(block[:, 0]) @ block
    return total / len(rows)


def as_pair(before: object, after: object) -> Pair:
    """Return two representations of the same rows, or say what is wrong with them."""
    first, second = as_representation(before, "before"), as_representation(after, "after")
    _same_kind(first.array, second.array)
    if len(first) != len(second):
        raise BadInput(
            f"before has {plural(len(first), 'row')} and after has {len(second):,}",
            available="the same rows in the same order in both; the widths may differ",
            help="check that both were made from the same rows, and select those that are in both.",
        )
    return Pair(first, second)


def as_representation(value: object, what: str) -> Representation:
    """Return one representation: finite numbers, a row each; more than two dimensions are laid out flat in a row."""
    array = _as_numbers(value, what)
    if array.ndim < 2:
        raise BadInput(
            f"{what} has {array.ndim} dimension{'' if array.ndim == 1 else 's'} (shape {tuple(array.shape)})",
            available="an array [rows, numbers]",
            help="for one number per row use array.reshape(-1, 1).",
        )
    if array.ndim > 2:
        array = namespace(array).reshape(array, (array.shape[0], -1 if array.shape[0] else 0))
    if array.shape[1] == 0:
        raise BadInput(
            f"{what} has rows of width 0 (shape {tuple(array.shape)})", available="at least one number per row"
        )
    if array.shape[0] < LEAST_ROWS:
        raise BadInput(
            f"{what} has {array.shape[0]} row{'' if array.shape[0] == 1 else 's'}",
            available="at least 2 rows: a row is described by its similarity to the others",
        )
    mean = _refuse_what_is_not_finite(array, what)
    _refuse_what_is_constant(array, what)
    return Representation(array, mean=mean)


def _as_numbers(value: object, what: str) -> Array:
    detach = getattr(value, "detach", None)
    array: Array = detach() if callable(detach) else value  # a tensor that is being trained: its numbers only
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)  # what is masked is missing
    elif not array_api_compat.is_array_api_obj(array) or isinstance(array, np.ndarray):
        try:
            array = np.asarray(array)  # a memory map stays on the disk
        except ValueError as error:
            raise BadInput(
                f"{what} could not be read as an array ({error})", available="rows of equal length"
            ) from error
    xp = namespace(array)
    if isinstance(array, np.ndarray) and array.dtype.kind not in "fiub":
        pickled = array.dtype.kind == "O"
        raise BadInput(
            f"{what} has the type {array.dtype}" + (": any Python objects, in a file a pickle" if pickled else ""),
            available="numbers",
            help="stack the rows into an array of floats first, such as numpy.stack(rows).astype('float32')",
        )
    if xp.isdtype(array.dtype, "complex floating"):
        raise BadInput(f"{what} has complex numbers", available="real numbers")
    return array


def _same_kind(first: Array, second: Array) -> None:
    kinds = [f"{type(array).__name__} on {array_api_compat.device(array)}" for array in (first, second)]
    if kinds[0] != kinds[1]:
        raise BadInput(
            f"before is a {kinds[0]} and after is a {kinds[1]}",
            available="two arrays of one kind, on one device",
            help="move one of them to the other device, such as with torch.from_numpy(array).to(tensor.device).",
        )


def _refuse_what_is_not_finite(array: Array, what: str) -> Array | None:
    """Return the mean of the rows, which is finite only if all values are; None where it tells nothing."""
    rows = Representation(array)
    mean = mean_of(rows, "float32" if rows.single else "float64")
    xp = namespace(mean)
    if bool(xp.all(xp.isfinite(mean))):
        return mean
    bad, first = 0, None
    for start, stop in blocks(len(rows), rows.width):
        wrong = ~xp.isfinite(array[start:stop])
        number = int(xp.sum(xp.astype(wrong, xp.int64)))
        if number and first is None:
            index = int(xp.argmax(xp.astype(xp.reshape(wrong, (-1,)), xp.int8)))
            first = (start + index // rows.width, index % rows.width)
        bad += number
    if first is None:  # finite, and too large for a sum
        return None
    raise BadInput(
        f"{bad:,} {'value' if bad == 1 else 'values'} of {what} {'is' if bad == 1 else 'are'} missing or infinite, "
        f"the first in row {first[0]:,}, column {first[1]:,} (counted from 0)",
        available="finite numbers",
        help="drop those rows from both representations, or fix them first.",
    )


def _refuse_what_is_constant(array: Array, what: str) -> None:
    xp = namespace(array)
    # Most often the second row tells already.
    for start, stop in ((1, 2), *blocks(int(array.shape[0]), int(array.shape[1]))):
        if bool(xp.any(array[start:stop] != array[:1])):
            return
    raise BadInput(
        f"{what} is constant: all its {array.shape[0]:,} rows are the same",
        available="rows that differ",
        help="check the model: a collapsed representation has no similarities to compare.",
    )
