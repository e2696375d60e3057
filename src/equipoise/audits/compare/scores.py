"""A score for every person: PNKA between two spaces, with what is needed to rank people by it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.cohorts.embeddings import Embedding, working_type
from equipoise.foundation.errors import BadInput
from equipoise.measures.kernel_alignment import cka
from equipoise.measures.neighbourhoods import neighbour_overlap
from equipoise.measures.nystroem import Approximation
from equipoise.measures.pointwise import pnka
from equipoise.stats import Units
from equipoise.tallies.arrays import Floats

# Scores that agree to so many decimals are equal: the rest is rounding, and rounding is nobody's change.
DECIMALS = {np.dtype(np.float32): 6, np.dtype(np.float64): 9}
# From so many rows on an RBF kernel is approximated: the exact one takes time that grows with their square.
MANY_ROWS = 20_000
# Neighbours are searched among no more rows than this, and this share of them are compared.
MOST_SEARCHED = 5_000
NEAREST = 0.01


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores, NaN where they are undefined; ``ranked`` are those of the known rows, rounded so that ties are ties."""

    values: Floats
    ranked: Floats
    cka: float
    notes: tuple[str, ...] = ()
    overlap: float = math.nan
    neighbours: int | None = None

    @property
    def known(self) -> NDArray[np.bool_]:
        """Who has a score."""
        return ~np.isnan(self.values)

    @property
    def mean(self) -> float:
        """Aggregate PNKA: the mean over everyone who has a score."""
        return float(self.values[self.known].mean())


def scored(before: Embedding, after: Embedding, profiles: Units | None, settings: Mapping[str, Any]) -> Scored:
    """Score every row; copies of one profile get one score, which rounding would otherwise tear apart."""
    settings = dict(settings)
    kernel, seed = settings["kernel"], settings["seed"]
    radial = {} if kernel == "linear" else {"bandwidth": settings["bandwidth"], "seed": seed}
    many = kernel == "rbf" and len(before) > MANY_ROWS
    given = {"kernel": kernel, "self_term": settings["self_term"], **radial}
    if kernel == "linear" and settings["bandwidth"] is not None:
        raise BadInput("A bandwidth was given, and the kernel is linear", help="leave it out, or use --kernel rbf.")
    try:
        found = pnka(before.points, after.points, **given, **({"approximate": "nystroem"} if many else {}))
    except BadInput as error:
        raise _named(error, {"before": before.name, "after": after.name}) from error
    notes: tuple[str, ...] = ()
    if isinstance(found, Approximation):
        notes = (
            f"The RBF kernel of {len(before):,} rows was approximated with {found.landmarks:,} landmarks; on "
            f"{found.measured:,} rows scored both ways the scores were off by {found.mean_error:.2g} on average and "
            f"{found.largest_error:.2g} at the most. CKA was left out.",
        )
        found = found.scores
    values = np.asarray(found, dtype=np.float64)
    if np.isnan(values).all():
        raise BadInput("No row has a score", help="look at the points: each lies at the mean of its space.")
    if profiles is not None:
        values = profiles.means(values)[profiles.codes]
    kinds = {working_type(space.points.dtype) for space in (before, after)}
    decimals = min(DECIMALS[kind] for kind in kinds)
    known = values[~np.isnan(values)]
    alignment = math.nan if many else float(cka(before.points, after.points, kernel=kernel, **radial))
    return Scored(values, np.round(known, decimals) + 0.0, alignment, notes, *_overlap(before, after))


def _named(error: BadInput, names: Mapping[str, str]) -> BadInput:
    """Call the two sides by their own names: the second may be the rerun."""
    given = re.sub(r"\b(before|after)\b", lambda found: names[found[1]], error.given)
    return BadInput(given, available=error.available, help=error.help)


def _overlap(before: Embedding, after: Embedding) -> tuple[float, int | None]:
    """Return the mean overlap of the nearest hundredth of the rows, where there are not too many to search."""
    k = max(1, round(NEAREST * len(before)))
    if len(before) > MOST_SEARCHED or k >= len(before):
        return math.nan, None
    return float(np.mean(neighbour_overlap(before.points, after.points, k, metric="euclidean"))), k
