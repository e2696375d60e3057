"""The numbers of one trial's space, of everyone and of each group: the space itself, and classifiers built on it.

Neighbours are sought and clusters made among all test rows once; a group is read from its own rows. U_KL is taken at
the size of the smallest group, for it depends on how many rows there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.audits.downstream.macro import MEASURES as MACRO
from equipoise.audits.downstream.macro import macro_values, pairs_of
from equipoise.audits.downstream.settings import stored_as
from equipoise.foundation.errors import BadInput
from equipoise.measures.measure import Better, get_measure
from equipoise.studies.findings.data import Codes
from equipoise.studies.findings.spaces.groups import Grouping
from equipoise.studies.findings.spaces.result import EMBEDDING, NEAREST, OWN
from equipoise.tallies.embedded import Embedded, Options, Space
from equipoise.tallies.factorise import Coded
from equipoise.tallies.points import as_points

# Raised when the same arrays come to have other numbers: what was computed before is then computed again.
VERSION = 1
RECALL, NMI, AMI = "recall_at_k", "normalised_mutual_information", "adjusted_mutual_information"
NMI_BY_CHANCE, UNIFORMITY = "normalised_mutual_information_by_chance", "uniformity"
UPSTREAM = (RECALL, NMI, NMI_BY_CHANCE, AMI, UNIFORMITY)
DOWNSTREAM = MACRO


class Key(NamedTuple):
    """What a number is: of which attribute and group (None: everyone), read from where, by which measure."""

    attribute: str
    group: str | None
    source: str
    training: str | None
    measure: str


Values = dict[Key, float]


def better_of(measure: str) -> Better:
    """Return which end of a measure is better."""
    return "high" if measure in DOWNSTREAM else get_measure(measure).better


def sources_of(names: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return the kept arrays that hold predictions of classifiers, by classifier and training rows, own rows first.

    A name without settings is what it was when they were not known: logistic regression with standardised columns.
    """
    found = {}
    for name in names:
        parts = name.split(".")
        if len(parts) in (4, 5) and (parts[0], parts[-1]) == ("downstream", "test"):
            found[stored_as(parts[1], parts[3] if len(parts) == 5 else "").source, parts[2]] = name
    return {key: found[key] for key in sorted(found, key=lambda key: (key[0], key[1] != OWN, key[1]))}


def values_of(
    points: NDArray[Any],
    target: Codes,
    groupings: Sequence[Grouping],
    guesses: Mapping[tuple[str, str], Codes],
    *,
    classes: int,
    clusters: int | None = None,
) -> Values:
    """Return every number of one trial. ``guesses`` are by source and training rows; ``clusters`` is k of k-means."""
    _check_lengths(len(target), {"the embedding": points, **{" ".join(key): own for key, own in guesses.items()}})
    known = target >= 0
    if not known.any():
        return {}
    truth = target[known]
    labels = tuple(map(str, range(classes)))
    space = Space(as_points(points)[known], Coded(truth, labels), Options(clusters=clusters))
    everyone = Embedded(space, np.zeros(len(truth), dtype=np.int64), ("everyone",))
    overall = upstream(everyone)[:, 0]
    macro = {key: downstream(truth, own[known], np.zeros(len(truth), dtype=np.int64), 1, classes)[0]
             for key, own in guesses.items()}  # fmt: skip
    found: Values = {}
    for grouping in groupings:
        name, codes = grouping.attribute, grouping.codes[known]
        by_group = upstream(Embedded(space, codes, grouping.groups))
        for place, group in ((-1, None), *enumerate(grouping.groups)):
            own = overall if group is None else by_group[:, place]
            found |= {Key(name, group, EMBEDDING, None, m): float(v) for m, v in zip(UPSTREAM, own, strict=True)}
        for (source, training), guess in guesses.items():
            told = downstream(truth, guess[known], codes, len(grouping.groups), classes)
            for place, group in ((-1, None), *enumerate(grouping.groups)):
                own = macro[source, training] if group is None else told[place]
                found |= {Key(name, group, source, training, m): float(v) for m, v in zip(MACRO, own, strict=True)}
    return found


def upstream(embedded: Embedded) -> NDArray[np.float64]:
    """Return the numbers of a space, ``[measure, group]``."""
    return np.stack([get_measure(name).by_class(embedded) for name in UPSTREAM])


def downstream(truth: Codes, guess: Codes, codes: Codes, groups: int, classes: int) -> NDArray[np.float64]:
    """Return macro precision, macro recall and accuracy, ``[group, measure]``; NaN of a group without rows."""
    inside = codes >= 0
    if not inside.any():
        return np.full((groups, len(MACRO)), np.nan)
    if guess.min() < 0 or guess.max() >= classes:
        raise BadInput(
            f"A classifier's predictions go from {guess.min()} to {guess.max()}",
            available=f"classes 0 to {classes - 1}",
        )
    pairs = pairs_of(truth[inside], guess[inside], classes)
    return macro_values(pairs, pairs.table(codes[inside], groups))


def _check_lengths(rows: int, arrays: Mapping[str, NDArray[Any]]) -> None:
    for name, array in arrays.items():
        if len(array) != rows:
            raise BadInput(
                f"What a trial kept of {name} has {len(array):,} rows", available=f"the {rows:,} test rows",
                help="run these trials again: they were kept by another version of the learner.",
            )  # fmt: skip


def nearest(predicted: Codes) -> dict[tuple[str, str], Codes]:
    """Return the learner's own prediction, the class of the nearest training row, as a source."""
    return {(NEAREST, OWN): predicted}
