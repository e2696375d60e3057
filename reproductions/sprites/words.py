"""The benchmark in plain words: whether a search beats chance, what its columns and methods are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from equipoise.foundation import (
    fitting,
    plural,
)
from equipoise.reports import formats
from reproductions.sprites.methods import PAPER
from reproductions.sprites.reading import Place
from reproductions.sprites.summary import LEAST_GENERATORS

Against = Literal["above", "below", "open", "no interval", "undefined"]

METHOD_TITLES = {
    "ours": "search, as in the paper",
    "right_angled": "search, its part at right angles",
    "axis": "best latent axis",
    "hessian": "best direction of the Hessian penalty",
    "random": "random",
    "random_orthogonal": "random, at right angles (chance)",
    "without_orthogonality": "L_V alone",
    "with_hessian": "L_V + 10 L_perp + Hessian penalty",
    "hessian_without_orthogonality": "L_V + Hessian penalty",
}
TITLES = {
    "method": "Method", "triplets": "Triplets", "generators": "Generators", "biased": "|cos| to the biased factor",
    "target": "|cos| to the target", "difference": "Difference", "leading_of_paper": "% leading, of the paper's three",
    "leading": "% leading, of all here", "above_chance": "Search less chance",
    "right_angled": "At right angles to what is known", "right_angled_above_chance": "At right angles, less chance",
    "known": "Known factors", "step": "One more known changes", "chance": "Chance", "agreement": "Agreement",
    "less_even": "At right angles, less the even generator", "unfitted": "Unfitted", "gap": "Gap",
    "told": "Both planes fit", "accuracy": "Accuracy", "agree": "Accuracy where halves agree",
    "disagree": "Accuracy where they do not", "loss": "Loss", "fits": "Fit of the planes", "reason": "No plane",
}  # fmt: skip
SEARCHES = {
    "above_chance": "the search, as in the paper",
    "right_angled_above_chance": "its part at right angles to target and known factors",
}
BEATS: dict[Against, str] = {
    "above": "beats chance",
    "below": "does worse than chance",
    "open": "is not distinguishable from chance",
    "no interval": "has no interval, so its comparison with chance is inconclusive",
    "undefined": "was not compared with chance",
}
CHANCE_IS_NOT_0 = (
    "Chance is not 0 here: a random direction at right angles to target and known factors is nearer to the biased "
    "factor than to the target without any search, so that is what a method has to beat."
)
CAUTIONS = (
    "Sprites are drawn by a program, and their five factors are all there is. How the search does on photographs or on "
    "people is another question.",
    "To beat chance is not to find: a mean |cos| well below 1 means that most directions point elsewhere, too. A mean "
    "over triplets says nothing of any single search.",
    "Intervals are over generators (kind x seed) trained by one recipe. The classifiers are the same for all "
    "generators, so no interval covers other classifiers, other pairs of factors or other recipes.",
    "The truth is a plane fitted to labelled latents. Where a plane does not separate its factor, a score against it "
    "says little; see how well each generator's planes fit.",
    "Rows by kind, gap, factor or skew are looks at the same triplets, with no correction for how many there are.",
)


@dataclass(frozen=True)
class Estimate:
    """A mean over triplets with its interval over generators; None where there is none."""

    mean: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, table: Place | None) -> Estimate:
        """Read it from the document; a part that was not run is undefined."""
        if table is None:
            return cls(None, None, None)
        return cls(*(table.number(name) for name in ("mean", "low", "high")))

    @property
    def against(self) -> Against:
        """On which side of 0 it lies."""
        if self.mean is None:
            return "undefined"
        if self.low is None or self.high is None:
            return "no interval"
        return "above" if self.low > 0 else "below" if self.high < 0 else "open"

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return formats.signed_thousandths(self.mean)
        low, high = formats.signed_thousandths(self.low), formats.signed_thousandths(self.high)
        return f"{formats.signed_thousandths(self.mean)} ({low} to {high})"


def headline(document: Place) -> str:
    """Return the answer in one sentence."""
    as_it_is, at_right_angles = (BEATS[Estimate.of(document.inner(name)).against] for name in SEARCHES)
    return f"The search, as in the paper, {as_it_is}; {SEARCHES['right_angled_above_chance']} {at_right_angles}."


def contrasts(document: Place) -> tuple[list[str], list[str]]:
    """Return the numbers of the answer: of what differs from chance, and of what is inconclusive."""
    confirmed: list[str] = []
    inconclusive: list[str] = []
    for name, subject in SEARCHES.items():
        decided = Estimate.of(document.inner(name)).against in ("above", "below")
        (confirmed if decided else inconclusive).append(_contrast(document, name, subject))
    return confirmed, inconclusive


def remarks(document: Place) -> str:
    """Return what helps to read the answer: which method leads, where the bias was taken up, what was scored."""
    return " ".join([*_leader(document), *_planted(document), _counted(document)])


def _contrast(document: Place, name: str, subject: str) -> str:
    table = document.inner(name)
    estimate = Estimate.of(table)
    subject = subject[0].upper() + subject[1:]
    if table is None or estimate.mean is None:
        return f"{subject}: not compared with chance in this document."
    over = f"{_number(table, 'triplets', 'triplet')} of {_number(table, 'generators', 'generator')}"
    none = f" With fewer than {LEAST_GENERATORS} generators there is no interval." if estimate.low is None else ""
    return f"{subject}: its difference less that of chance is {estimate}, over {over}.{none}"


def _leader(document: Place) -> list[str]:
    """Say which of the paper's methods leads, for that is what the paper's own table says."""
    rows = [row for row in document.rows("table") if row.number("leading_of_paper") is not None]
    if len(rows) < len(PAPER):
        return []
    first = max(rows, key=lambda row: row.number("leading_of_paper") or 0.0)
    name = first.text("method")
    return [
        f"Of the three methods that the paper compares this one leads most often: {METHOD_TITLES.get(name, name)}, in "
        f"{formats.percent(first.number('leading_of_paper'))} of triplets. Chance is not among those three."
    ]


def _planted(document: Place) -> list[str]:
    """Say how it is where the classifiers took the planted bias up, for elsewhere there is nothing to find."""
    rows = document.rows("by_gap")
    if len(rows) < 2 or rows[-1].numbers("gap")[1:] != [None]:
        return []
    last = rows[-1]
    as_it_is, at_right_angles = (Estimate.of(last.inner(name)) for name in SEARCHES)
    return [
        f"Where the classifiers took the planted bias up ({gap_words(last)}; "
        f"{_number(last, 'triplets', 'triplet')}), the search less chance is {as_it_is}, its part at right angles "
        f"less chance {at_right_angles}."
    ]


def _counted(document: Place) -> str:
    counts = document.inner("counts") or Place({})
    were = fitting(counts.count("scored") or 0, "was", "were")
    words = f"{_number(counts, 'scored', 'triplet')} (target, biased factor, generator) {were} scored"
    unfitted = counts.count("unfitted")
    if unfitted:
        words += (
            f"; {unfitted:,} more {fitting(unfitted, 'was', 'were')} not, for a factor has no plane in the generator"
        )
    requested, scored = document.count("asked"), len(document.rows("triplets"))
    if requested is not None and scored < requested:
        words += f". The run was stopped: {scored:,} of {requested:,} triplets that were asked for are there"
    return f"{words}."


def gap_words(row: Place) -> str:
    """Say which gaps of accuracy a row is about."""
    low, high = (*row.numbers("gap"), None, None)[:2]
    if low is None:
        return "every gap" if high is None else f"a gap below {high:g}"
    return f"a gap of {low:g} or more" if high is None else f"a gap of {low:g} to below {high:g}"


def known_words(row: Place) -> str:
    """Say how many other factors were known."""
    number = row.count("known")
    return "unknown" if number is None else f"{number:,}"


def agreement_words(row: Place) -> str:
    """Say how often two halves went together."""
    agreement = row.number("agreement")
    return "unknown" if agreement is None else f"{agreement:g}{' (no skew)' if agreement == 0.5 else ''}"


def _number(table: Place, name: str, unit: str) -> str:
    number = table.count(name)
    return f"an unknown number of {unit}s" if number is None else plural(number, unit)
