"""Whether people agree on what directions show: the names that most raters gave, and agreement compared with chance."""

from __future__ import annotations

from collections.abc import Iterator

from equipoise.discovery import Agreement, Winner
from equipoise.foundation import plural, report
from equipoise.reports import formats
from equipoise.reports._document import (
    Cell,
    DataTable,
    Document,
    Meaning,
    Name,
    Paragraph,
    Section,
    Statements,
    Text,
    Tile,
)
from equipoise.reports.narrative._report import Field, Report, document_provenance, quiet, record_table

# Directions that nobody chose: whoever names one of them sees something in nothing.
BY_CHANCE = ("random", "random orthogonal")
NO_DECOYS = "No other directions were among the strips: raters knew that each of them had been searched for."
RANDOM_TOO = "Raters also agree on a random direction: a name shows that people see it, not that the search found it."
ONE_VIEW = (
    "A name says what people see in generated pictures. It does not say that the classifier treats people differently."
)


@report("agreement")
class AgreementReport(Report):
    """The report of an agreement."""

    def document(self, result: Agreement) -> Document:
        """Return everything that is said about an agreement."""
        return Document(
            title="Do people agree on what the directions show?",
            facts=f"{plural(result.raters, 'rater')}, {plural(len(result.winners), 'strip')}.",
            answer=_answer(result),
            meaning=Meaning.NEUTRAL if _confirmed(result) else Meaning.QUIET,
            lead=tuple(_lead(result)),
            tiles=_tiles(result),
            inconclusive=tuple(_inconclusive(result)),
            caution=ONE_VIEW,
            sections=(
                Section("names", "Names of every strip", (_names(result),), short="Names", essential=True),
                Section("how", "How agreement is measured", (Paragraph(_method(result)),), short="Method"),
            ),
            notes=tuple(_decoys(result)),
            provenance=document_provenance(result, "equipoise.discovery.agree"),
        )


def _confirmed(agreement: Agreement) -> list[Winner]:
    """Return the names that count: most raters gave them, and raters agree more than by chance."""
    return [winner for winner in agreement.searched if winner.agreed] if agreement.beyond_chance else []


def _answer(agreement: Agreement) -> Text:
    if agreement.same != agreement.same:
        return f"Agreement is inconclusive: {agreement.reason}."
    if not agreement.beyond_chance:
        return f"No name is confirmed: raters do not agree significantly more than by chance ({_shares(agreement)})."
    confirmed = _confirmed(agreement)
    if not confirmed:
        return f"Raters agree more than by chance, but on no direction of the search ({_shares(agreement)})."
    first = confirmed[0]
    more = "" if len(confirmed) == 1 else f", and on {len(confirmed) - 1} more"
    return (
        "Raters agree that ",
        Name(first.direction),
        " shows “",
        Name(str(first.name)),
        f"” ({_votes(first)}){more}.",
    )


def _shares(agreement: Agreement) -> str:
    """Say how many pairs gave the same name, and how many would by chance."""
    chance = (
        "" if agreement.chance != agreement.chance else f", by chance {agreement.chance:.0%}, p = {agreement.p:.2g}"
    )
    return f"{agreement.same:.0%} of the pairs that both gave a name gave the same one{chance}"


def _votes(winner: Winner) -> str:
    return f"{winner.votes} of {plural(winner.raters, 'rater')}"


def _lead(agreement: Agreement) -> Iterator[Statements]:
    confirmed = _confirmed(agreement)
    if agreement.beyond_chance:
        yield Statements("", (f"{_shares(agreement)[:1].upper()}{_shares(agreement)[1:]}.",))
    for winner in confirmed:
        yield Statements(Name(winner.direction), (("“", Name(str(winner.name)), f"” ({_votes(winner)})."),))


def _inconclusive(agreement: Agreement) -> Iterator[Statements]:
    confirmed = _confirmed(agreement)
    for winner in agreement.searched:
        if winner not in confirmed:
            yield Statements(Name(winner.direction), (_open(winner),))


def _open(winner: Winner) -> Text:
    """Say why a direction has no confirmed name."""
    if winner.named == 0:
        return "Nobody named it."
    if winner.agreed:
        return ("“", Name(str(winner.name)), f"” ({_votes(winner)}), but raters as a whole do not agree beyond chance.")
    if winner.name is None:
        return f"No agreement: no name has more than {_votes(winner)}."
    return ("No agreement: the most usual name, “", Name(winner.name), f"”, has {_votes(winner)}.")


def _tiles(agreement: Agreement) -> tuple[Tile, ...]:
    same = "undefined" if agreement.same != agreement.same else f"{agreement.same:.0%}"
    chance = "" if agreement.chance != agreement.chance else f"by chance {agreement.chance:.0%}, p = {agreement.p:.2g}"
    kappa = "undefined" if agreement.kappa != agreement.kappa else f"{agreement.kappa:.2f}"
    agreed = sum(winner.agreed for winner in agreement.searched)
    return (
        Tile("directions with a name", f"{agreed} of {len(agreement.searched)}", None, "given by most raters"),
        Tile("pairs with the same name", same, None, chance),
        Tile("Fleiss' kappa", kappa, None, str(agreement.reason or "")),
        Tile("raters", f"{agreement.raters:,}", None, plural(agreement.blanks, "blank")),
    )


def _names(agreement: Agreement) -> DataTable:
    fields = (
        Field("Direction", lambda _, winner: Cell(
            Name(winner.direction), (winner.method,) if winner in agreement.decoys
            and winner.method != winner.direction else ()
        )),
        Field("Name", lambda _, winner: "–" if winner.name is None else Name(winner.name), always_shown=True),
        Field(
            "Verdict", lambda _, winner: Cell("agreed") if winner.agreed else quiet("no agreement"), always_shown=True
        ),
        Field("Votes", lambda _, winner: f"{winner.votes} of {winner.raters}", True),
        Field("Confidence", lambda _, winner: (
            "–" if winner.confidence != winner.confidence else f"{winner.confidence:.1f} of 5"
        ), True),
        Field("Strip", lambda _, winner: winner.code),
    )  # fmt: skip
    return record_table("The most usual name of every strip", fields, enumerate(agreement.winners), what="strips")


def _method(agreement: Agreement) -> str:
    high = (
        ""
        if agreement.chance_high != agreement.chance_high
        else f" 95% of permutations stay below {agreement.chance_high:.0%}."
    )
    return (
        "Names are the same if they differ only in capitals, blanks, hyphens and simple English plurals. A pair of "
        "raters counts where both gave a name. Chance: each rater's names are permuted over the strips; p is the share "
        f"of permutations with as much agreement.{high} A name is agreed on if more than half of all raters gave it, "
        f"those who left a blank included ({formats.count(agreement.blanks)} blanks)."
    )


def _decoys(agreement: Agreement) -> Iterator[str]:
    if not agreement.decoys:
        yield NO_DECOYS
    elif agreement.raters > 1:
        agreed = [decoy for decoy in agreement.decoys if decoy.agreed]
        names = "; ".join(f"{winner.method}: “{winner.name}”" for winner in agreed)
        others = plural(len(agreement.decoys), "other direction")
        yield f"Of {others} among the strips, raters agreed on a name for {len(agreed)}{f' ({names})' * bool(agreed)}."
        if any(winner.method in BY_CHANCE for winner in agreed):
            yield RANDOM_TOO
