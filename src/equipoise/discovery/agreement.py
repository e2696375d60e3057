"""Whether people agree on what a direction is: pairs of raters with the same name, Fleiss' kappa, and chance.

A direction i has n_i names, n_ij of them j. A pair of raters counts where both gave a name; a blank is none.

- same = sum_i sum_j n_ij (n_ij - 1) / sum_i n_i (n_i - 1), the share of pairs that gave the same name
- expected = sum_j p_j^2, p_j being the share of name j among all names of directions that have a pair
- Fleiss' kappa = (same - expected) / (1 - expected); without blanks this is the kappa of Fleiss (1971)
- chance: each rater's answers are dealt out anew among the directions, so a rater who calls everything "smile" goes on
  doing so; p = (1 + deals with as much agreement) / (1 + deals)

A name is agreed on if more than half of all raters gave it, those who left a blank included.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery.name_words import same_word
from equipoise.discovery.naming import SEARCHED
from equipoise.discovery.sheets import Coded, Named
from equipoise.foundation.errors import BadInput
from equipoise.foundation.seeds import stream
from equipoise.foundation.text import fitting, plural
from equipoise.stats import permutation_p

DEALS = 2000
THRESHOLD = 0.05
# Directions that nobody chose: a name for one of them was seen in nothing.
BY_CHANCE = ("random", "random orthogonal")
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


@dataclass(frozen=True)
class Agreement:
    """How far raters agree, over all strips of the sheet and for each; NaN is undefined, and ``reason`` says why."""

    raters: int
    winners: tuple[Winner, ...]
    same: float
    kappa: float
    chance: float
    chance_high: float
    p: float
    blanks: int
    reason: str | None = None

    @property
    def beyond_chance(self) -> bool:
        """Tell whether raters agree more than their own answers would by chance."""
        return self.p <= THRESHOLD

    @property
    def words(self) -> tuple[str, ...]:
        """What it comes to, in sentences: all strips together, each direction, and those that were put in."""
        return (*_overall(self), *map(_of_one, self._searched()), *_of_decoys(self))

    def as_json(self) -> dict[str, object]:
        """Return it as plain JSON values: undefined is null."""
        own = dataclasses.asdict(self)
        winners = own.pop("winners")
        for one, winner in zip(winners, self.winners, strict=True):
            one["agreed"] = winner.agreed
        return {**_plain(own), "winners": [_plain(one) for one in winners]}

    def _searched(self) -> list[Winner]:
        return [one for one in self.winners if one.method == SEARCHED]


def _plain(values: Mapping[str, object]) -> dict[str, object]:
    return {name: None if value != value else value for name, value in values.items()}


def agree(key: Mapping[str, Coded], sheets: Sequence[Mapping[str, Named]], *, seed: int = 0) -> Agreement:
    """Hold the sheets of several raters against each other."""
    if not sheets:
        raise BadInput("There is no filled-in sheet", available="at least one, and two to say anything of agreement")
    given = [[same_word(sheet[code].name) if code in sheet else "" for code in key] for sheet in sheets]
    places = {name: place for place, name in enumerate(sorted({name for row in given for name in row if name}))}
    answers = np.array([[places.get(name, BLANK) for name in row] for row in given], dtype=np.int64)
    winners = tuple(_winner(code, one, sheets, answers[:, place]) for place, (code, one) in enumerate(key.items()))
    same, kappa = same_share(answers), fleiss_kappa(answers)
    chance, high, p = _by_chance(answers, same, seed)
    # A search's own directions come first, 2 before 10.
    ranked = sorted(winners, key=lambda one: (one.method != SEARCHED, one.method, len(one.direction), one.direction))
    return Agreement(
        len(sheets), tuple(ranked), same, kappa, chance, high, p, int((answers == BLANK).sum()), _reason(answers, kappa)
    )


def same_share(answers: Answers) -> float:
    """Return the share of pairs of raters that gave the same name; NaN where no two named the same direction."""
    pairs = [
        ((one == other) & (one != BLANK), (one != BLANK) & (other != BLANK)) for one, other in combinations(answers, 2)
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
    told = dealt[~np.isnan(dealt)]
    if not len(told):
        return float("nan"), float("nan"), p
    return float(np.median(told)), float(np.quantile(told, 0.95)), p


def _winner(code: str, of: Coded, sheets: Sequence[Mapping[str, Named]], own: Answers) -> Winner:
    named = [sheet[code] for sheet in sheets if code in sheet and same_word(sheet[code].name)]
    counts = Counter(same_word(one.name) for one in named).most_common()
    name, votes, confidence = None, counts[0][1] if counts else 0, float("nan")
    if counts and (len(counts) == 1 or counts[1][1] < votes):
        for_it = [one for one in named if same_word(one.name) == counts[0][0]]
        name = Counter(one.name for one in for_it).most_common(1)[0][0]
        sure = [one.confidence for one in for_it if one.confidence is not None]
        confidence = float(np.mean(sure)) if sure else float("nan")
    pairs = same_share(own[:, None])
    return Winner(code, of.direction, of.method, name, votes, len(named), len(sheets), pairs, confidence)


def _reason(answers: Answers, kappa: float) -> str | None:
    if kappa == kappa:
        return None
    if len(answers) < 2:
        return "one rater cannot agree with another"
    if same_share(answers) == same_share(answers):
        return "every name is the same, so nothing tells agreement from habit"
    return "no two raters named the same direction"


def _overall(found: Agreement) -> Iterator[str]:
    if found.same != found.same:
        yield f"How far raters agree cannot be told: {found.reason}."
        return
    chance = "" if found.chance != found.chance else f" (by chance {found.chance:.0%}, p = {found.p:.2g})"
    kappa = f"Fleiss' kappa is undefined: {found.reason}" if found.reason else f"Fleiss' kappa is {found.kappa:.2f}"
    yield (
        f"Of the pairs of {found.raters} raters that both gave a name, {found.same:.0%} gave the same one{chance}. "
        f"{kappa}."
    )
    if not found.beyond_chance:
        yield "That is not shown to be more than chance: there is no agreement to build on."


def _of_one(one: Winner) -> str:
    if one.named == 0:
        return f"{one.direction}: nobody named it."
    votes = f"{one.votes} of {plural(one.raters, 'rater')}"
    if one.agreed:
        return f"{one.direction}: “{one.name}” ({votes})."
    most = f"the most usual name, “{one.name}”, has {votes}" if one.name else f"no name has more than {votes}"
    return f"{one.direction}: no agreement ({most})."


def _of_decoys(found: Agreement) -> Iterator[str]:
    decoys = [one for one in found.winners if one.method != SEARCHED]
    if not decoys:
        yield "No other directions were put among them: raters knew that every strip had been searched for."
        return
    if found.raters < 2:
        return
    agreed = [one for one in decoys if one.agreed]
    names = "; ".join(f"{one.method}: “{one.name}”" for one in agreed)
    yield (
        f"Of {plural(len(decoys), 'other direction')} that {fitting(len(decoys), 'was', 'were')} put among them, "
        f"raters agreed on a name for {len(agreed)}{f' ({names})' * bool(agreed)}."
    )
    if any(one.method in BY_CHANCE for one in agreed):
        yield "They agree on a random direction, too: a name says that people see it, not that the search found it."
