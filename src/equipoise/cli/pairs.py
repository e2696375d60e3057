"""Reading options of the form NAME=VALUE."""

from __future__ import annotations

from collections.abc import Iterable

from equipoise.foundation.errors import BadInput


def pairs(option: str, given: Iterable[str], example: str) -> dict[str, str]:
    """Split NAME=VALUE options into a dictionary; a name may come once."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name or not value:
            raise BadInput(f"{option} {text!r} could not be read", available=f"NAME=VALUE, such as {option} {example}")
        if name in found:
            raise BadInput(f"{option} was given twice for {name!r}", available="once for each name")
        found[name] = value
    return found
