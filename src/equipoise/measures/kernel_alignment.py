"""CKA: one number for how alike two representations are (Kornblith et al. 2019; paper 003, appendix A.2)."""

from __future__ import annotations

from equipoise.foundation.errors import BadInput
from equipoise.foundation.text import plural
from equipoise.measures.comparison import comparison
from equipoise.measures.kernel_rows import LEAST_ROWS_DEBIASED
from equipoise.measures.kernels import Kernel, check_kernel, pair_of_kernels
from equipoise.measures.linear_kernel import linear_rows
from equipoise.measures.radial_kernel import radial_rows
from equipoise.measures.representations import as_pair


@comparison("cka", alias="CKA", paper="003")
def cka(
    before: object,
    after: object,
    *,
    kernel: Kernel = "linear",
    debiased: bool = False,
    bandwidth: float | tuple[float, float] | None = None,
    seed: int = 0,
) -> float:
    """CKA = <K, K'> / (|K| |K'|) over centred kernels: one number between two representations.

    The plain form is above 0 for unrelated representations of few rows or many dimensions. ``debiased`` uses the
    unbiased estimate of HSIC (Song et al. 2012), whose expectation is 0 there: it can be negative, and it is NaN where
    the estimate of a representation's own HSIC is not above 0. The bandwidth of an RBF kernel is chosen as in ``pnka``.
    """
    check_kernel(kernel, bandwidth)
    pair = as_pair(before, after)
    if debiased and len(pair) < LEAST_ROWS_DEBIASED:
        raise BadInput(
            f"A debiased CKA of {plural(len(pair), 'row')} was requested",
            available=f"at least {LEAST_ROWS_DEBIASED} rows",
        )
    if kernel == "linear":
        return linear_rows(pair, pair, double=True).alignment(debiased=debiased)
    return radial_rows(pair, pair, pair_of_kernels(pair, bandwidth, seed)).alignment(debiased=debiased)
