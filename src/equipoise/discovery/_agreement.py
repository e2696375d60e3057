"""Whether people agree on what a direction is: pairs of raters with the same name, Fleiss' kappa, and chance.

A direction i has n_i names, n_ij of them j. A pair of raters counts where both gave a name; a blank is none.

- same = sum_i sum_j n_ij (n_ij - 1) / sum_i n_i (n_i - 1), the share of pairs that gave the same name
- expected = sum_j p_j^2, p_j being the share of name j among all names of directions that have a pair
- Fleiss' kappa = (same - expected) / (1 - expected); without blanks this is the kappa of Fleiss (1971)
- chance: each rater's answers are permuted over the directions, so a rater who calls everything "smile" goes on doing
  so; p = (1 + permutations with as much agreement) / (1 + permutations)

A name is agreed on if more than half of all raters gave it, those who left a blank included.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery._hyperplane import Hyperplane
from equipoise.discovery._naming import LONGEST, SEARCHED, Coded, Named, cleaned, normalised_name
from equipoise.discovery._reasons import AgreementReason
from equipoise.foundation import (
    BadInput,
    fingerprint_of,
    plural,
    provenance,
    stream,
    unknown_name,
)
from equipoise.results import Direction, Finding, Reason, Result, because, reason_as_json, record_as_json
from equipoise.stats import permutation_p

SCHEMA = "equipoise.agreement/1"
DEALS = 2000
THRESHOLD = 0.05
BLANK = -1
Answers = NDArray[np.int64]


@dataclass(frozen=True)
class Winner:
    """The most usual name of one direction in its most usual spelling; None where nobody named it, or two are equal.

    ``pairs`` is the share of its pairs of raters that gave the same name, ``confidence`` the mean of those who gave the
    winning one; NaN is undefined.
    """

    code: str
    direction: str
    method: str
    name: str | None
    votes: int
    named: int
    raters: int
    pairs: float
    confidence: float

    @property
    def agreed(self) -> bool:
        """Tell whether more than half of the raters gave this name."""
        return self.name is not None and 2 * self.votes > self.raters

    @property
    def share(self) -> float:
        """Return the share of raters who gave the winning name."""
        return self.votes / self.raters


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Agreement(Result):
    """How far raters agree, over all strips of the sheet and for each; NaN is undefined, and ``reason`` says why.

    ``records`` are the most usual names, one for each strip.
    """

    kind: ClassVar[str] = "agreement"
    record_type: ClassVar[type] = Winner
    numbers: ClassVar[tuple[str, ...]] = ("votes", "named", "raters", "pairs", "confidence")

    schema: str = SCHEMA
    records: tuple[Winner, ...]
    provenance: Mapping[str, object]
    raters: int
    same: float
    kappa: float
    chance: float
    chance_high: float
    p: float
    blanks: int
    reason: Reason | None = None

    @property
    def winners(self) -> tuple[Winner, ...]:
        """The most usual name of each strip; those of the search come first."""
        return self.records

    @property
    def beyond_chance(self) -> bool:
        """Tell whether raters agree more than their own answers would by chance."""
        return self.p <= THRESHOLD

    @property
    def searched(self) -> tuple[Winner, ...]:
        """The names of directions that were searched for."""
        return tuple(winner for winner in self.winners if winner.method == SEARCHED)

    @property
    def decoys(self) -> tuple[Winner, ...]:
        """The names of other directions, which were put among them."""
        return tuple(winner for winner in self.winners if winner.method != SEARCHED)

    def as_json(self) -> dict[str, object]:
        """Return it as plain JSON values: undefined is null."""
        numbers = ("raters", "same", "kappa", "chance", "chance_high", "p", "blanks")
        winners = [{**record_as_json(winner), "agreed": winner.agreed} for winner in self.winners]
        values = {name: _plain(getattr(self, name)) for name in numbers}
        return {"schema": self.schema, **values, **reason_as_json(self.reason), "winners": winners}

    def _name_parts(self, record: Winner) -> Sequence[str | None]:
        return record.method, record.direction

    def _statements(self) -> Iterator[Finding]:
        shown = self.beyond_chance
        yield Finding(
            kind="agreement", measure="same_name", estimate=self.same, p=self.p, n=self.raters, reason=self.reason,
            direction=Direction.DIFFERENT if shown else Direction.INCONCLUSIVE, source="same",
        )  # fmt: skip
        for index, winner in enumerate(self.winners):
            if winner.method == SEARCHED:
                yield Finding(
                    kind="name", measure="share_of_raters", estimate=winner.share, group=winner.direction,
                    label=winner.name, n=winner.raters, index=index,
                    direction=Direction.DIFFERENT if shown and winner.agreed else Direction.INCONCLUSIVE,
                )  # fmt: skip

    def _described(self) -> Sequence[str]:
        agreed = sum(winner.agreed for winner in self.searched)
        return [plural(self.raters, "rater"), f"{agreed} of {plural(len(self.searched), 'direction')} with a name"]


def _plain(value: object) -> object:
    return None if value != value else value


def agree(key: Mapping[str, Coded], sheets: Sequence[Mapping[str, Named]], *, seed: int = 0) -> Agreement:
    """Compare the sheets of several raters."""
    if not sheets:
        raise BadInput("No filled-in sheet was given", available="at least one, and two to measure agreement")
    words = [[normalised_name(sheet[code].name) if code in sheet else "" for code in key] for sheet in sheets]
    places = {name: index for index, name in enumerate(sorted({name for row in words for name in row if name}))}
    answers = np.array([[places.get(name, BLANK) for name in row] for row in words], dtype=np.int64)
    winners = tuple(_winner(code, coded, sheets, answers[:, index]) for index, (code, coded) in enumerate(key.items()))
    same, kappa = same_share(answers), fleiss_kappa(answers)
    chance, high, p = _by_chance(answers, same, seed)
    # A search's own directions come first, 2 before 10.
    ranked = sorted(
        winners, key=lambda winner: (winner.method != SEARCHED, winner.method, len(winner.direction), winner.direction)
    )
    return Agreement(
        records=tuple(ranked), raters=len(sheets), same=same, kappa=kappa, chance=chance, chance_high=high, p=p,
        blanks=int((answers == BLANK).sum()), reason=_reason(answers, kappa),
        provenance=provenance(fingerprint=fingerprint_of([json.dumps([list(key), words]).encode()])),
    )  # fmt: skip


def same_share(answers: Answers) -> float:
    """Return the share of pairs of raters that gave the same name; NaN where no two named the same direction."""
    pairs = [
        ((first == second) & (first != BLANK), (first != BLANK) & (second != BLANK))
        for first, second in combinations(answers, 2)
    ]
    both = sum(int(named.sum()) for _, named in pairs)
    return sum(int(same.sum()) for same, _ in pairs) / both if both else float("nan")


def fleiss_kappa(answers: Answers) -> float:
    """Return Fleiss' kappa of answers ``[rater, direction]``; NaN where every name is the same, or no pair is there."""
    paired = answers[:, (answers != BLANK).sum(0) > 1]
    names = paired[paired != BLANK]
    if not len(names):
        return float("nan")
    shares = np.unique(names, return_counts=True)[1] / len(names)
    expected = float((shares**2).sum())
    return (same_share(answers) - expected) / (1 - expected) if len(shares) > 1 else float("nan")


def _by_chance(answers: Answers, same: float, seed: int) -> tuple[float, float, float]:
    """Return the median and the 95th percentile of the share of pairs by chance, and p."""
    if same != same:
        return float("nan"), float("nan"), float("nan")
    draw = stream(seed, "names dealt out")
    dealt = np.array([same_share(draw.permuted(answers, axis=1)) for _ in range(DEALS)])
    # Deals after which no two raters named the same direction have no agreement: they count, as the least there is.
    p = float(permutation_p(same, np.where(np.isnan(dealt), -np.inf, dealt)))
    defined = dealt[~np.isnan(dealt)]
    if not len(defined):
        return float("nan"), float("nan"), p
    return float(np.median(defined)), float(np.quantile(defined, 0.95)), p


def _winner(code: str, of: Coded, sheets: Sequence[Mapping[str, Named]], votes_cast: Answers) -> Winner:
    named = [sheet[code] for sheet in sheets if code in sheet and normalised_name(sheet[code].name)]
    counts = Counter(normalised_name(sheet_line.name) for sheet_line in named).most_common()
    name, votes, confidence = None, counts[0][1] if counts else 0, float("nan")
    if counts and (len(counts) == 1 or counts[1][1] < votes):
        for_it = [sheet_line for sheet_line in named if normalised_name(sheet_line.name) == counts[0][0]]
        name = Counter(sheet_line.name for sheet_line in for_it).most_common(1)[0][0]
        sure = [sheet_line.confidence for sheet_line in for_it if sheet_line.confidence is not None]
        confidence = float(np.mean(sure)) if sure else float("nan")
    pairs = same_share(votes_cast[:, None])
    return Winner(code, of.direction, of.method, name, votes, len(named), len(sheets), pairs, confidence)


def _reason(answers: Answers, kappa: float) -> Reason | None:
    if kappa == kappa:
        return None
    if len(answers) < 2:
        return because(AgreementReason.ONE_RATER)
    if same_share(answers) == same_share(answers):
        return because(AgreementReason.ONE_NAME)
    return because(AgreementReason.NO_SHARED_DIRECTION)


# A direction that went through a file and was rounded in a key is still this close to itself.
SAME_COSINE = 0.999


def renamed(planes: Sequence[Hyperplane], names: Mapping[str, str]) -> tuple[Hyperplane, ...]:
    """Return planes with new names; those without one keep theirs, and a name that is taken gets a number."""
    taken = {plane.name for plane in planes if plane.name not in names}
    new_planes = []
    for plane in planes:
        name = names.get(plane.name)
        if name is None:
            new_planes.append(plane)
            continue
        number, unused_name = 1, name
        while unused_name in taken:
            number += 1
            unused_name = f"{name} ({number})"
        taken.add(unused_name)
        new_planes.append(Hyperplane(unused_name, plane.normal, plane.offset))
    return tuple(new_planes)


def agreed_names(planes: Sequence[Hyperplane], key: Mapping[str, Coded], agreement: Agreement) -> dict[str, str]:
    """Return the names agreed on for the planes of a file; a key of another search is refused."""
    by_name = {plane.name: plane for plane in planes}
    searched = [coded for coded in key.values() if coded.method == SEARCHED]
    present = [coded for coded in searched if coded.direction in by_name]
    if not present:
        raise BadInput(
            f"No direction of the key ({', '.join(coded.direction for coded in searched) or 'none'}) is in the file",
            available="the directions and the key of one search",
        )
    for coded in present:
        plane = by_name[coded.direction]
        if not any(
            coded_plane.size == plane.size and abs(coded_plane.cosine(plane)) >= SAME_COSINE
            for coded_plane in coded.planes
        ):
            raise BadInput(
                f"{coded.direction!r} of the key is not the direction of that name in the file",
                available="the directions and the key of one search",
            )
    return {
        winner.direction: winner.name
        for winner in agreement.winners
        if winner.method == SEARCHED and winner.agreed and winner.name is not None and winner.direction in by_name
    }


def parse_names(planes: Sequence[Hyperplane], assignments: Sequence[str]) -> dict[str, str]:
    """Return names given as ``DIRECTION=NAME``."""
    names: dict[str, str] = {}
    for assignment in assignments:
        # The name of a direction may itself have the sign.
        direction, sign, name = assignment.rpartition("=")
        words = cleaned(name)
        if not sign or not words or len(words) > LONGEST:
            raise BadInput(
                f"The name {assignment!r}", available=f"DIRECTION=NAME, a name of 1 to {LONGEST} letters and digits"
            )
        if direction not in {plane.name for plane in planes}:
            raise unknown_name("direction", direction, [plane.name for plane in planes], "the file")
        names[direction] = words
    return names
