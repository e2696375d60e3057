"""What an investigation says: what a classifier reacts to beside its target, or that nothing was confirmed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from equipoise.discovery import Investigation, Judged, PresentedDirection, Span, Strip, among_the_first, rank_words
from equipoise.foundation import plural, report
from equipoise.reports import formats
from equipoise.reports._document import (
    Blank,
    Blanks,
    Block,
    Cell,
    ChartBlock,
    Code,
    Column,
    DataTable,
    Details,
    Document,
    Images,
    Meaning,
    Name,
    Paragraph,
    Piece,
    Provenance,
    Row,
    Section,
    Statements,
    Terms,
    Text,
    Tile,
)
from equipoise.reports._formats import safe_name
from equipoise.reports._pictures import Album, strip_images
from equipoise.reports._records import Write
from equipoise.reports.narrative._report import Field, Report, document_provenance, quiet, record_table, settings_terms

if TYPE_CHECKING:
    from equipoise.reports.narrative._report import Parts

MOST_DIRECTIONS, MOST_KNOWN = 12, 12
# Latents from which each is shown: of the first screen, a direction, every method, a known attribute.
LATENTS_FIRST, MOST_LATENTS, LATENTS_OF_METHODS, LATENTS_OF_KNOWN = 4, 8, 2, 2
METHODS = {
    "search": "this search", "axes": "best axis", "pca": "best principal component", "hessian": "Hessian penalty",
    "random": "best random direction", "random orthogonal": "best random orthogonal direction",
}  # fmt: skip
RUN_SPEC_TITLES = {
    "investigation": "What was asked for", "surrogate": "Settings of the surrogate",
    "classifier": "How the classifier was read", "reference": "How the reference was read",
    "generator": "What latents were drawn",
}  # fmt: skip
SHRUNK = {2: "half", 3: "a third", 4: "a quarter"}
# The names that a search gives: nobody has looked at these directions yet.
UNNAMED = re.compile(r"direction \d+")

NOT_AN_ATTRIBUTE = (
    "A direction is not an attribute until people agree on what they see: have it named blindly, by several people "
    "(equipoise discover --naming)."
)
ONLY_WHAT_IS_DRAWN = "The generator shows only what it has learnt: a bias about something it never draws is not found."
NO_PROOF = (
    "Finding nothing is no proof that there is no bias: it means that this search, with this generator, found none as "
    "large and as consistent as required."
)
NOT_REAL_ERRORS = (
    "What changes the probability of generated pictures need not cause errors on real ones: label held-out data by "
    "the direction and audit them (equipoise label)."
)
CAUTIONS = (NOT_AN_ATTRIBUTE, ONLY_WHAT_IS_DRAWN, NO_PROOF, NOT_REAL_ERRORS)
KNOWN_CAUTIONS = (ONLY_WHAT_IS_DRAWN, NOT_REAL_ERRORS)
KEEPING_NAMES = (
    "Nothing that you write on this page is kept. The first command keeps one person's name. Names of several people "
    "who do not know which strip is which are better evidence: give each a copy of the naming sheet (--naming "
    "sheet.csv of equipoise discover) with its page of strips, keep the key to yourself, and compare what they wrote "
    "with the second command."
)
SEARCHED = (
    "The search looks for a direction w of the generator's latent space along which the classifier's probability "
    "changes as much as possible, while w stays orthogonal to the target and the known attributes (Li and Xu, 2021). "
    "A latent is projected onto the plane with normal w and moved along w in {steps} steps; total variation is the "
    "mean change of the probability per step. Directions are then measured on latents that the search never saw and "
    "compared with random directions that are orthogonal to the same attributes. A direction is confirmed if it "
    "changes the probability more than they do, by enough, and in the same way for most latents."
)
MEASURED = (
    "Latents are projected onto the plane of each attribute and moved along its normal in {steps} steps, so that "
    "nothing changes but what the plane does not hold; total variation is the mean change of the probability per step."
)


@report("discovery")
class DiscoveryReport(Report):
    """The report of an investigation."""

    def document(self, result: Investigation) -> Document:
        """Return everything that is said about an investigation."""
        first = result.confirmed[0] if result.confirmed else None
        album = _album(result)
        cautions = KNOWN_CAUTIONS if result.verdict is None else CAUTIONS
        return Document(
            title=("What does ", Name(result.classifier), " react to?"),
            facts=("On pictures drawn by ", Name(result.generator), "."),
            answer=_answer(result, first),
            meaning=Meaning.QUIET if first is None else _meaning(result),
            lead=tuple(_lead(result)),
            picture=None if first is None else _first_strips(result, first, album),
            tiles=_tiles(result, first),
            inconclusive=tuple(_inconclusive(result)),
            caution=" ".join(cautions),
            sections=tuple(_sections(result, album)),
            notes=(*_reading(result), *result.notes),
            provenance=_provenance(result),
        )

    def parts(self, result: Investigation) -> Parts:
        """Draw an investigation."""
        from equipoise.reports.charts.curves import loss_curves
        from equipoise.reports.charts.intervals import against_chance, methods_chart

        for rank, direction in enumerate(result.directions[:MOST_DIRECTIONS], start=1):
            yield f"direction_{rank}", [against_chance(direction, f"direction {rank} compared with chance")]
        yield "methods", [methods_chart(_methods(result))]
        yield "curves", [loss_curves(result.curves)]


def _methods(investigation: Investigation) -> list[tuple[str, PresentedDirection]]:
    """Return what is compared: the first direction of the search, then every baseline."""
    if not investigation.methods:
        return []
    search = (
        [] if any(method.method == "search" for method in investigation.methods) else list(investigation.directions[:1])
    )
    return [(METHODS.get(shown.method, shown.method), shown) for shown in (*search, *investigation.methods)]


def _meaning(investigation: Investigation) -> Meaning:
    """A reaction to something beside the target is suspect; without a target it may be the target itself."""
    return Meaning.NEUTRAL if investigation.target is None else Meaning.WORSE


# The first screen.


def _answer(investigation: Investigation, first: PresentedDirection | None) -> Text:
    if investigation.verdict is None:
        return _known_answer(investigation)
    if first is None:
        return f"No reaction was confirmed: {_without_stop(str(investigation.reason or 'no direction was confirmed'))}."
    name = first.judged.name
    still = " while the target stays put" if investigation.target in first.judged.cosines else ""
    course_words = f"its {_course(first)}{still}"
    if UNNAMED.fullmatch(name):
        target_words = "" if investigation.target is None else " beside its target"
        return (f"The classifier reacts to something{target_words}: along ", Name(name), f" {course_words}.")
    return ("The classifier reacts to ", Name(name), f": along this direction {course_words}.")


def _known_answer(investigation: Investigation) -> Text:
    others = [
        attribute
        for attribute in investigation.known
        if attribute.name != investigation.target and math.isfinite(attribute.change[0])
    ]
    if not others:
        return (
            f"No search was made; the change along {plural(len(investigation.known), 'known attribute')} was measured."
        )
    most = max(others, key=lambda attribute: abs(attribute.change[0]))
    change = (
        f"by {formats.signed_thousandths(most.change[0])}{_between(most.change, investigation)}. No search was made."
    )
    target_words = "" if investigation.target is None else " beside the target"
    if most.change[1] <= 0 <= most.change[2]:
        return (f"No change along a known attribute{target_words} is shown; the largest is along ", Name(most.name),
                f", {change}")  # fmt: skip
    return (f"Of the known attributes{target_words}, ", Name(most.name), f" changes the probability most: {change}")


def _between(span: Span, investigation: Investigation) -> str:
    low, high = map(formats.signed_thousandths, span[1:])
    return f" ({investigation.judging.level:.0%} interval {low} to {high})"


def _course(shown: PresentedDirection) -> str:
    """Say what the probability does along a direction."""
    ends, total = ends_of(shown.strips), shown.judged.total_change
    if ends is None:
        return f"probability changes by {total:.2f} in total"
    low, high = ends
    # Ups and downs that cancel are no rise.
    if abs(high - low) < total / 2:
        return f"probability changes by {total:.2f} in total, up and down"
    return f"probability {'rises' if high > low else 'falls'} from {low:.2f} to {high:.2f}"


def _lead(investigation: Investigation) -> Iterator[Statements]:
    """Yield what is confirmed of each direction."""
    for index, shown in enumerate(investigation.confirmed):
        course = "" if index == 0 else f"The {_course(shown)}. "
        yield Statements(
            Name(shown.judged.name), (f"{course}{_size(investigation, shown)}", *_kept_still(investigation, shown))
        )


def _size(investigation: Investigation, shown: PresentedDirection) -> str:
    """Say how much the probability changes along a direction, and how that compares with random directions."""
    judged = shown.judged
    rank = judged.rank_among_random
    chance = "" if rank is None else f" {_capital(rank_words(rank, judged.random_directions))}."
    return (
        f"Over {investigation.judging.latents:,} fresh latents the probability changes by {judged.total_change:.3f} in "
        f"total ({_interval(investigation, shown)}){_times(shown)}.{chance}"
    )


def _interval(investigation: Investigation, shown: PresentedDirection) -> str:
    judged = shown.judged
    return f"{investigation.judging.level:.0%} interval {judged.total_change_low:.3f} to {judged.total_change_high:.3f}"


def _kept_still(investigation: Investigation, shown: PresentedDirection) -> Iterator[Text]:
    """Say that the target stays put, and what the reference does."""
    judged = shown.judged
    cosine = judged.cosines.get(investigation.target) if investigation.target is not None else None
    if cosine is not None:
        yield (
            f"The target stays put (cosine {_cosine(cosine)} with the direction of ",
            Name(str(investigation.target)),
            ").",
        )
    if math.isfinite(judged.reference_change):
        yield (
            "The probability of the reference (", Name(str(investigation.reference)),
            f") changes by {judged.reference_change:.3f} in total.",
        )  # fmt: skip


def _times(shown: PresentedDirection) -> str:
    """Say how many times as much a direction changes the probability as a random one."""
    judged = shown.judged
    if not judged.chance > 0:
        return ""
    return f", {judged.variation / judged.chance:.1f} times as much as along the median random direction"


def _inconclusive(investigation: Investigation) -> Iterator[Statements]:
    open_ones = [direction for direction in investigation.directions if not direction.confirmed]
    for shown in open_ones:
        reason = _without_stop(str(shown.judged.reason or "it could not be measured"))
        yield Statements(Name(shown.judged.name), (f"Not confirmed: {reason}.{_would_decide(investigation, shown)}",))
    if investigation.verdict is not None and not investigation.confirmed:
        yield Statements(
            "",
            (
                "A longer search may find more: more steps, restarts and directions (--steps, --restarts, "
                "--directions), or a generator that draws more of what the classifier sees.",
            ),
        )


def _would_decide(investigation: Investigation, shown: PresentedDirection) -> str:
    """Say what would decide about a direction, where more latents would."""
    judged, criteria = shown.judged, investigation.judging
    if not (judged.total_change_low < criteria.min_effect <= judged.total_change_high):
        return ""
    rank = judged.rank_among_random
    if rank is None or not among_the_first(rank, judged.random_directions, criteria.threshold):
        return ""
    return f" More fresh latents would decide it (--latents above {criteria.latents:,})."


def _tiles(investigation: Investigation, first: PresentedDirection | None) -> tuple[Tile, ...]:
    if investigation.verdict is None:
        return (
            Tile("known attributes", f"{len(investigation.known):,}"),
            Tile("latents", f"{investigation.judging.latents:,}"),
        )
    meaning = None if first is None else _meaning(investigation)
    number = Tile(
        "directions confirmed", f"{len(investigation.confirmed):,} of {len(investigation.directions):,}",
        Meaning.NEUTRAL if investigation.confirmed else None, "what the classifier reacts to",
    )  # fmt: skip
    if first is None:
        return (number, Tile("fresh latents", f"{investigation.judging.latents:,}", None, "to measure on"))
    judged, ends = first.judged, ends_of(first.strips)
    name: Text = Name(judged.name)
    course = [] if ends is None else [Tile("probability", f"{ends[0]:.2f} → {ends[1]:.2f}", meaning, name)]
    return (
        number, *course, Tile("total change", f"{judged.total_change:.3f}", None, _interval(investigation, first)),
        Tile("rank among random directions", _rank(judged), None, "1 is the largest change"),
    )  # fmt: skip


# Pictures.


def _album(investigation: Investigation) -> Album:
    strips = [
        strip for direction in investigation.directions[:MOST_DIRECTIONS] for strip in direction.strips[:MOST_LATENTS]
    ]
    strips += [strip for _, shown in _methods(investigation) for strip in shown.strips[:LATENTS_OF_METHODS]]
    strips += [strip for shown in investigation.known[:MOST_KNOWN] for strip in shown.strips[:LATENTS_OF_KNOWN]]
    return Album(strips)


def _first_strips(investigation: Investigation, shown: PresentedDirection, album: Album) -> Images | None:
    """Return the strips of the answer."""
    if not shown.strips:
        return None
    caption = (
        Name(shown.judged.name), ": every row is one latent, moved along the direction from left to right; below each "
        "picture is the classifier's probability",
    )  # fmt: skip
    return strip_images(album, caption, "Latent", investigation.strip_alphas, list(_rows(shown, 0, LATENTS_FIRST)))


def _rows(shown: PresentedDirection, first: int, last: int) -> Iterator[tuple[Text, str, Strip]]:
    name = safe_name(shown.judged.name)
    for index, strip in enumerate(shown.strips[first:last], start=first + 1):
        yield str(index), f"{name}, latent {index}", strip


# The sections.


def _sections(investigation: Investigation, album: Album) -> Iterator[Section]:
    directions = investigation.directions[:MOST_DIRECTIONS]
    if investigation.directions:
        yield Section(
            "directions", "Every direction", (_directions_table(investigation),), short="Directions", essential=True,
            intro="Confirmed directions come first, then those with the larger change.",
        )  # fmt: skip
    for rank, shown in enumerate(directions, start=1):
        yield _direction(investigation, rank, shown, album)
    if investigation.directions:
        first = investigation.directions[0].judged.name
        lines = (
            f'equipoise name found.safetensors --name "{first}=YOUR NAME" --save named.safetensors\n'
            "equipoise name found.safetensors --sheet rater1.csv --sheet rater2.csv --key sheet.key.json "
            "--save named.safetensors"
        )
        yield Section("naming", "How to keep a name", (Paragraph(KEEPING_NAMES), Code(lines)), short="Names")
    if investigation.methods:
        yield _methods_section(investigation, album)
    if investigation.known:
        yield _known_section(investigation, album)
    if investigation.verdict is not None:
        yield Section("curves", "Had the search settled?", (ChartBlock(("curves",)),), short="The search")
    yield _method_section(investigation, album)


def _directions_table(investigation: Investigation) -> DataTable:
    named = investigation.directions[0].judged.cosines
    fields = [Field("Direction", lambda _, shown: Name(shown.judged.name)), *_numbers(investigation)]
    if investigation.target in named:
        target = str(investigation.target)
        fields.append(Field("Cosine to target", lambda _, shown: _cosine(shown.judged.cosines[target]), True))
    if any(name != investigation.target for name in named):
        fields.append(Field("To nearest known", lambda _, shown: _nearest_known(investigation, shown), True))
    caption = f"Directions of the search, measured on {investigation.judging.latents:,} fresh latents"
    return record_table(caption, (*fields, *STEPS), enumerate(investigation.directions), what="directions")


def _nearest_known(investigation: Investigation, shown: PresentedDirection) -> Cell:
    cosines = {name: cosine for name, cosine in shown.judged.cosines.items() if name != investigation.target}
    nearest = max(cosines, key=lambda name: abs(cosines[name]), default=None)
    return Cell("–") if nearest is None else Cell(_cosine(cosines[nearest]), (Name(nearest),))


def _numbers(investigation: Investigation) -> tuple[Field, ...]:
    """Return the columns of what was measured of a direction."""
    return (
        Field("Verdict", lambda _, shown: Cell("confirmed", meaning=Meaning.NEUTRAL) if shown.confirmed
              else quiet("not confirmed"), always_shown=True),
        _measured(
            "Total change",
            lambda j: Cell(f"{j.total_change:.3f}", (f"{j.total_change_low:.3f} to {j.total_change_high:.3f}",)),
        ),
        _measured("Rank", lambda j: Cell(_rank(j))),
        _measured("Consistent", lambda j: Cell(
            f"{j.steadiness:.0%}" if math.isfinite(j.steadiness) else formats.UNDEFINED
        )),
        _measured("Times chance", lambda j: Cell(
            f"{j.variation / j.chance:.1f}" if j.chance > 0 else formats.UNDEFINED
        )),
    )  # fmt: skip


def _measured(title: str, cell: Callable[[Judged], Cell], hint: str = "") -> Field:
    """Return a column of numbers, undefined where a direction could not be measured."""
    return Field(
        title, lambda _, shown: cell(shown.judged) if math.isfinite(shown.judged.total_change)
        else quiet(formats.UNDEFINED),
        True,
        hint,
    )  # fmt: skip


STEPS = (
    _measured("Change per step", lambda j: Cell(
        formats.decimal(j.variation), (f"{formats.decimal(j.low)} to {formats.decimal(j.high)}",)
    )),
    _measured("Random ones", lambda j: Cell(formats.decimal(j.chance), (formats.decimal(j.chance_high),)),
              "median, 95%"),
)  # fmt: skip


def _rank(judged: Judged) -> str:
    rank = judged.rank_among_random
    return formats.UNDEFINED if rank is None else f"{rank:,} of {judged.random_directions + 1:,}"


def _direction(investigation: Investigation, rank: int, shown: PresentedDirection, album: Album) -> Section:
    blocks: list[Block] = []
    # The strips of the answer stand in the first screen.
    is_answer = shown.confirmed and shown is investigation.confirmed[0]
    rows = list(_rows(shown, LATENTS_FIRST if is_answer else 0, MOST_LATENTS))
    if rows:
        caption = (Name(shown.judged.name), ": one row per latent; below each picture the classifier's probability")
        blocks.append(strip_images(album, caption, "Latent", investigation.strip_alphas, rows))
    elif not shown.strips:
        blocks.append(Details("Pictures", (Paragraph("There are no pictures of this direction."),)))
    blocks.append(Blanks((Blank(f"name-{rank}", "What changes from left to right? Your name for it:"),)))
    blocks.append(ChartBlock((f"direction_{rank}",)))
    if shown.judged.cosines:
        blocks.append(
            Details("Cosine to the target and the known attributes", (_cosines(shown), _orthogonal_share(shown)))
        )
    verdict = "confirmed" if shown.confirmed else "not confirmed"
    return Section(
        f"direction-{rank}", (f"{rank}. ", Name(shown.judged.name), f": {verdict}"), tuple(blocks),
        intro=_direction_words(investigation, shown), short=f"{rank}. {safe_name(shown.judged.name, 24)}",
        essential=shown.confirmed,
    )  # fmt: skip


def _direction_words(investigation: Investigation, shown: PresentedDirection) -> Text:
    """Say what one direction does."""
    judged, words = shown.judged, list[Piece]()
    ends = ends_of(shown.strips)
    if ends is not None:
        over = "the latent shown" if len(shown.strips) == 1 else f"the {len(shown.strips):,} latents shown"
        words.append(f"The probability goes from {ends[0]:.2f} to {ends[1]:.2f}, averaged over {over}. ")
    if math.isfinite(judged.total_change):
        words.append(
            f"On {investigation.judging.latents:,} fresh latents it changes by {judged.total_change:.3f} in total "
            f"({_interval(investigation, shown)}), ups and downs added up{_times(shown)}. "
        )
    if math.isfinite(judged.steadiness):
        words.append(
            f"{judged.steadiness:.0%} of the change remains after averaging over latents: "
            + ("they agree on where the probability rises. "
               if judged.steadiness >= investigation.judging.least_steadiness
               else "it rises for some and falls for others. ")
        )  # fmt: skip
    reason = _without_stop(str(judged.reason or "unknown why"))
    words.append("Confirmed." if shown.confirmed else f"Not confirmed: {reason}.")
    return tuple(words)


def _cosines(shown: PresentedDirection) -> DataTable:
    rows = tuple(
        Row((Cell(Name(name)), Cell(formats.signed_thousandths(value)))) for name, value in shown.judged.cosines.items()
    )
    return DataTable(
        ("Cosines of ", Name(shown.judged.name)), (Column("Attribute"), Column("Cosine", number=True)), rows
    )


def _orthogonal_share(shown: PresentedDirection) -> Paragraph:
    return Paragraph(
        "A cosine of 0 means another attribute, 1 or −1 the same one. What is shown and measured is the part of the "
        "direction that is orthogonal to all of these and to the directions before it: its cosine to the whole "
        f"direction is {formats.percent(shown.judged.cosine_kept)}."
    )


def _methods_section(investigation: Investigation, album: Album) -> Section:
    first = investigation.directions[0].judged.plane if investigation.directions else None
    labels, methods = zip(*_methods(investigation), strict=True)

    def cosine(_: int, shown: PresentedDirection) -> str:
        plane = shown.judged.plane
        return "–" if first is None or plane is None else formats.signed_thousandths(plane.cosine(first))

    fields = (
        Field("Method", lambda index, shown: Cell(labels[index], (Name(shown.judged.name),))), *_numbers(investigation),
        Field("Cosine to direction 1", cosine, True), *STEPS,
    )  # fmt: skip
    caption = "The direction of every method, on the same fresh latents"
    table = record_table(caption, fields, enumerate(methods), what="methods")
    strips = tuple(_method_strips(investigation, album))
    return Section(
        "methods", "Do other methods find it too?",
        (ChartBlock(("methods",)), table, *((Details("Strips of every method", strips),) if strips else ())),
        intro="The first direction of the search beside the best direction of each other method, from the same "
        "latents. Each method chose among many directions, so the comparison that counts is with random directions, "
        "not with 0.",
        short="Other methods", essential=True,
    )  # fmt: skip


def _method_strips(investigation: Investigation, album: Album) -> Iterator[Images]:
    """Yield a grid per latent, with a row per method."""
    for index in range(LATENTS_OF_METHODS):
        rows: list[tuple[Text, str, Strip]] = [
            (label, f"{safe_name(label)}, latent {index + 1}", shown.strips[index])
            for label, shown in _methods(investigation)
            if index < len(shown.strips)
        ]
        if rows:
            caption = f"Latent {index + 1}, moved along the direction of each method"
            yield strip_images(album, caption, "Method", investigation.strip_alphas, rows)


def _known_section(investigation: Investigation, album: Album) -> Section:
    attributes = investigation.known[:MOST_KNOWN]
    signed, plain = formats.signed_thousandths, formats.thousandths
    fields = (
        Field("Attribute",
              lambda _, attribute: Cell(
                  Name(attribute.name), ("the target",) if attribute.name == investigation.target else ()
              )),
        Field("Change of the probability", lambda _, attribute: _with_ends(attribute.change, signed, signed), True),
        Field("Change per step", lambda _, attribute: _with_ends(attribute.variation, plain, plain), True),
        Field("Latents that cross 0.5", lambda _, attribute: _with_ends(
            attribute.flips, formats.percent, formats.bare_percent
        ), True),
    )  # fmt: skip
    caption = (
        f"Change along each attribute, with {investigation.judging.level:.0%} intervals over latents (bootstrap; "
        "Wilson for the share that crosses)"
    )
    blocks: list[Block] = [
        record_table(caption, fields, enumerate(investigation.known), what="attributes", most=MOST_KNOWN)
    ]
    for attribute in attributes:
        strips: list[tuple[Text, str, Strip]] = [
            (str(index), f"{safe_name(attribute.name)}, latent {index}", strip)
            for index, strip in enumerate(attribute.strips[:LATENTS_OF_KNOWN], start=1)
        ]
        if strips:
            words = (Name(attribute.name), ": one row per latent, from the lower end to the upper")
            blocks.append(strip_images(album, words, "Latent", investigation.strip_alphas, strips))
    return Section(
        "known", "Along known attributes", tuple(blocks), essential=True, short="Known attributes",
        intro="The change of the probability when only a known attribute is moved, from the lower end of its steps to "
        "the upper. For the target it is expected; for anything else, ask why the classifier reacts. What the "
        "generator changes along with an attribute is counted with it.",
    )  # fmt: skip


def _with_ends(span: Span, write: Write, ends: Write) -> Cell:
    return Cell(write(span[0]), (f"{ends(span[1])} to {ends(span[2])}",))


def _method_section(investigation: Investigation, album: Album) -> Section:
    steps = len(investigation.search.alphas)
    words = MEASURED if investigation.verdict is None else SEARCHED
    blocks: list[Block] = [Paragraph(words.format(steps=steps))]
    if album.factor > 1:
        part = SHRUNK.get(album.factor, f"1/{album.factor}")
        blocks.append(
            Paragraph(f"Pictures are shown at {part} of their width, to keep the page small; the classifier saw them "
                      "at full size.")
        )  # fmt: skip
    if len(investigation.directions) > MOST_DIRECTIONS:
        blocks.append(Paragraph(f"Pictures are shown for the first {MOST_DIRECTIONS} of "
                                f"{len(investigation.directions)} directions; the JSON has all of them."))  # fmt: skip
    settings: list[tuple[str, object]] = [("Settings of the measurement", investigation.judging)]
    if investigation.verdict is not None:
        settings.insert(0, ("Settings of the search", investigation.search))
    settings += [(RUN_SPEC_TITLES.get(part, part), value) for part, value in investigation.run_spec.items() if value]
    for title, value in settings:
        blocks.append(Details(title, (Terms(settings_terms(value)),)))
    return Section("how", "How it was done", tuple(blocks), short="Method")


def _reading(investigation: Investigation) -> Iterator[str]:
    """Say what the columns are."""
    if investigation.directions:
        yield (
            "Total change: how much the probability changes along a traversal, ups and downs added up, with its "
            f"{investigation.judging.level:.0%} interval. Rank: the place of a direction among "
            f"itself and {investigation.judging.random_directions} random directions that are orthogonal to the target "
            "and the known attributes; it is not a p-value. "
            "Consistent: the share of the change that remains after averaging over latents. Times chance: the change "
            "compared with the median random direction."
        )
        if investigation.directions[0].judged.cosines:
            yield (
                "Cosines are those of the direction as it was found; what is shown and measured is its part orthogonal "
                "to the target, the known attributes and the directions before it, so these stay put."
            )


def _provenance(investigation: Investigation) -> Provenance:
    origin = dict(investigation.provenance)
    machine = ((name.replace("_", " "), origin.get(name)) for name in ("torch", "device", "latent_size"))
    return document_provenance(
        investigation, "equipoise.discover",
        {"data": f"pictures of {safe_name(investigation.generator)}, read by {safe_name(investigation.classifier)}",
         "fingerprint of the data": origin.get("fingerprint") or "none was taken",
         "made": ", ".join(str(origin[part]) for part in ("created", "platform") if origin.get(part))
                 or "at a time that was not recorded", **dict(machine)},
    )  # fmt: skip


# Small words.


def ends_of(strips: Sequence[Strip]) -> tuple[float, float] | None:
    """Return the mean probability at both ends of the strips; None without strips, or where one is undefined."""
    if not strips:
        return None
    low, high = (sum(float(strip.probabilities[index]) for strip in strips) / len(strips) for index in (0, -1))
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _cosine(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if math.isfinite(value) else formats.UNDEFINED


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _without_stop(reason: str) -> str:
    return reason.rstrip(".")
