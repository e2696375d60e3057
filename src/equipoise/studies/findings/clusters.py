"""Clusters drawn whole: rows that belong together (two versions of one picture) are drawn equally often.

Clusters are drawn among those with rows in the same groups. Where all of them have one row of each, as pictures in two
versions have, groups keep their sizes exactly; where a person has several rows, sizes move as people come and go.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.studies.findings.data import Codes, TestRows


def is_clustered(rows: TestRows) -> bool:
    """Tell whether any two rows belong together."""
    return rows.cluster is not None and len(np.unique(rows.cluster)) < len(rows)


def drawn_clusters(group: Codes, cluster: Codes, draws: int, generator: np.random.Generator) -> NDArray[np.float32]:
    """Return how often each row is drawn, ``[draw, row]``: as many clusters of each kind as there are."""
    own = np.unique(cluster, return_inverse=True)[1].reshape(-1)
    kind = _kinds(group, own)
    times = np.zeros((draws, len(kind)), dtype=np.float32)
    for one in np.unique(kind).tolist():
        places = np.flatnonzero(kind == one)
        for draw in range(draws):
            times[draw, places] = np.bincount(generator.integers(0, len(places), len(places)), minlength=len(places))
    return times[:, own]


def _kinds(group: Codes, own: Codes) -> Codes:
    """Number clusters by the groups that their rows are in; those that are alone of their kind are one kind together.

    A cluster that is drawn from itself would always be there once, as if it could not have been another.
    """
    there = np.zeros((int(own.max()) + 1, int(group.max()) + 1), dtype=bool)
    there[own, group] = True
    kind = np.unique(there, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    alone = np.bincount(kind)[kind] == 1
    return np.where(alone, -1, kind)
