"""PNKA: how much the place of each row among the others changed between two representations (paper 003, section 2.2).

PNKA_i = cos(K_i, K'_i) with K_ij = k(z_i, z_j) over the reference rows j, and K' likewise after the change.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from equipoise.foundation.errors import BadInput
from equipoise.measures.comparison import comparison
from equipoise.measures.kernels import Kernel, Variant, check_kernel, pair_of_kernels
from equipoise.measures.linear_kernel import linear_rows
from equipoise.measures.nystroem import Approximation, nystroem
from equipoise.measures.radial_kernel import radial_rows
from equipoise.measures.reference_rows import reference_rows
from equipoise.measures.representations import Array, as_pair, namespace


@comparison("pnka", alias="PNKA", paper="003", pointwise=True)
def pnka(
    before: object,
    after: object,
    *,
    kernel: Kernel = "linear",
    bandwidth: float | tuple[float, float] | None = None,
    reference: object = None,
    self_term: bool = True,
    variant: Variant = "centred",
    approximate: Literal["nystroem"] | None = None,
    landmarks: int | None = None,
    seed: int = 0,
) -> Array | Approximation:
    """PNKA_i = cos(K_i, K'_i): each row's similarities to all rows, before against after.

    1 where a row kept its place among the others, near 0 where the new place has nothing to do with the old; NaN for a
    row at the mean of a representation, which has no place (linear kernel). Invariant to orthogonal maps, isotropic
    scaling and translation of either representation. The answer is of the same kind of array as the input.

    ``reference`` places rows among others than all of them: numbers of rows, a mask, or a pair of arrays (before,
    after) of other rows. ``self_term=False`` leaves K_ii out, which the paper keeps and which pulls scores up when
    there are few rows. An RBF kernel has the ``bandwidth`` s of exp(-|x-y|^2 / 2s^2), one for both or (before,
    after); by default the median distance between reference rows in each representation, among 2,000 rows drawn with
    the ``seed`` if there are more. ``variant="literal"`` does not centre the RBF kernel, as the paper has it.

    ``approximate="nystroem"`` replaces the RBF kernel by ``landmarks`` (512) rows; the answer is then an
    ``Approximation`` with its ``scores`` and their measured error.
    """
    check_kernel(kernel, bandwidth, variant)
    if approximate not in (None, "nystroem") or (approximate and kernel == "linear"):
        raise BadInput(
            f"approximate is {approximate!r} and the kernel is {kernel!r}",
            available="approximate='nystroem' with kernel='rbf'; the linear kernel is exact and fast",
        )
    scored = as_pair(before, after)
    among, times = reference_rows(scored, reference)
    times = None if self_term else times
    if kernel == "linear":
        return linear_rows(scored, among, double=not self_term).cosines(times)
    kernels = pair_of_kernels(among, bandwidth, seed)
    centred = variant == "centred"
    if approximate is None:
        return radial_rows(scored, among, kernels, centred=centred).cosines(times)
    prepared = nystroem(among, kernels, landmarks, seed)
    scores = prepared.compare(scored, among, centred=centred).cosines(times)
    return prepared.measured(scores, among, centred=centred, self_term=self_term, seed=seed)


@comparison("aggregate_pnka", paper="003")
def aggregate_pnka(before: object, after: object, **options: Any) -> float:
    """Mean of PNKA_i over the rows where it is defined; takes the options of ``pnka``."""
    found = pnka(before, after, **options)
    scores = found.scores if isinstance(found, Approximation) else found
    xp = namespace(scores)
    defined = xp.astype(scores[~xp.isnan(scores)], xp.float64)
    return float(xp.mean(defined)) if int(defined.shape[0]) else math.nan
