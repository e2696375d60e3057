"""Which kernel a comparison uses, and the bandwidths of a pair of RBF kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from equipoise.foundation.errors import BadInput, unknown_name
from equipoise.foundation.text import plural
from equipoise.measures.radial_kernel import Radial, radial
from equipoise.measures.representations import Pair

Kernel = Literal["linear", "rbf"]
Variant = Literal["centred", "literal"]
Bandwidth = float | tuple[float, float] | None


def check_kernel(kernel: str, bandwidth: Bandwidth, variant: str = "centred") -> None:
    """Refuse names that are not known, and a bandwidth that would have no effect."""
    if kernel not in get_args(Kernel):
        raise unknown_name("kernel", str(kernel), get_args(Kernel), "comparisons of representations")
    if variant not in get_args(Variant):
        raise unknown_name("variant", str(variant), get_args(Variant), "comparisons of representations")
    if bandwidth is not None and kernel == "linear":
        raise BadInput("A linear kernel has no bandwidth", help="leave bandwidth= out, or give kernel='rbf'.")


def pair_of_kernels(reference: Pair, bandwidth: Bandwidth, seed: int) -> tuple[Radial, Radial]:
    """Return the RBF kernels before and after; one bandwidth is for both."""
    if isinstance(bandwidth, str):
        raise BadInput(f"The bandwidth is {bandwidth!r}", available="a number above 0, or None for the median")
    given = list(bandwidth) if isinstance(bandwidth, Sequence) else [bandwidth, bandwidth]
    if len(given) != 2:
        raise BadInput(f"bandwidth has {plural(len(given), 'number')}", available="one for both, or one for each")
    first, second = (
        radial(rows, number, seed=seed, what=what)
        for rows, number, what in zip(reference.sides, given, ("before", "after"), strict=True)
    )
    return first, second
