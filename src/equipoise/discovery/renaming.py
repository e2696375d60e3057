"""Names for saved directions: agreed on by raters, or given by one person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.discovery.agreement import Agreement
from equipoise.discovery.hyperplane import Hyperplane
from equipoise.discovery.name_words import LONGEST, cleaned
from equipoise.discovery.naming import SEARCHED
from equipoise.discovery.sheets import Coded
from equipoise.foundation.errors import BadInput, unknown_name

# A direction that went through a file and was rounded in a key is still this close to itself.
SAME_COSINE = 0.999


def renamed(planes: Sequence[Hyperplane], names: Mapping[str, str]) -> tuple[Hyperplane, ...]:
    """Return planes with new names; those without one keep theirs, and a name that is taken gets a number."""
    taken = {plane.name for plane in planes if plane.name not in names}
    made = []
    for plane in planes:
        name = names.get(plane.name)
        if name is None:
            made.append(plane)
            continue
        number, own = 1, name
        while own in taken:
            number += 1
            own = f"{name} ({number})"
        taken.add(own)
        made.append(Hyperplane(own, plane.normal, plane.offset))
    return tuple(made)


def agreed_names(planes: Sequence[Hyperplane], key: Mapping[str, Coded], found: Agreement) -> dict[str, str]:
    """Return the names agreed on for the planes of a file; a key of another search is refused."""
    by_name = {plane.name: plane for plane in planes}
    searched = [one for one in key.values() if one.method == SEARCHED]
    known = [one for one in searched if one.direction in by_name]
    if not known:
        raise BadInput(
            f"No direction of the key ({', '.join(one.direction for one in searched) or 'none'}) is in the file",
            available="the directions and the key of one search",
        )
    for one in known:
        plane = by_name[one.direction]
        if not any(own.size == plane.size and abs(own.cosine(plane)) >= SAME_COSINE for own in one.planes):
            raise BadInput(
                f"{one.direction!r} of the key is not the direction of that name in the file",
                available="the directions and the key of one search",
            )
    return {
        one.direction: one.name
        for one in found.winners
        if one.method == SEARCHED and one.agreed and one.name is not None and one.direction in by_name
    }


def given_names(planes: Sequence[Hyperplane], given: Sequence[str]) -> dict[str, str]:
    """Return names given as ``DIRECTION=NAME``."""
    names: dict[str, str] = {}
    for one in given:
        # The name of a direction may itself have the sign.
        direction, sign, name = one.rpartition("=")
        words = cleaned(name)
        if not sign or not words or len(words) > LONGEST:
            raise BadInput(
                f"The name {one!r}", available=f"DIRECTION=NAME, a name of 1 to {LONGEST} letters and digits"
            )
        if direction not in {plane.name for plane in planes}:
            raise unknown_name("direction", direction, [plane.name for plane in planes], "the file")
        names[direction] = words
    return names
