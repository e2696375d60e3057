"""Conditions by the names that tables, charts and messages give them."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.conditions import make_condition
from equipoise.conditions.interpolate import ALIASES
from equipoise.foundation.errors import EquipoiseError, listing
from equipoise.studies.trial import Named

# Paper 001 has letters for two of the modes.
SHORT_MODES = {ALIASES[letters]: letters for letters in ("CB", "JB")}


def condition_text(condition: Named) -> str:
    """Return a condition as tables and charts show it: CB and JB by paper 001's letters, others in their own words."""
    mode = condition.settings.get("mode")
    if condition.name == "interpolation" and mode in SHORT_MODES:
        return f"{SHORT_MODES[mode]} alpha {float(condition.settings['alpha']):g}"
    try:
        return str(make_condition(condition.name, **condition.settings))
    except EquipoiseError:  # one of a plug-in that is not here
        return str(condition)


def equal_words(condition: str, others: Sequence[str]) -> str:
    """Say that further conditions draw the rows of one, and are not trained again."""
    draw = "draws" if len(others) == 1 else "draw"
    return f"{listing(others)} {draw} the same training rows as {condition}: trained and counted once, as {condition}."


def alpha_of(condition: Named) -> tuple[str, float] | None:
    """Return the mode and alpha of an interpolation; None for other conditions."""
    if condition.name != "interpolation":
        return None
    mode = str(condition.settings["mode"])
    return SHORT_MODES.get(mode, mode.replace("_", " ")), float(condition.settings["alpha"])
