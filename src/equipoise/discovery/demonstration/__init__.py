"""A bias that is planted in drawn pictures, and found again: what ``equipoise demo discover`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.discovery.demonstration._demonstration import AGREEMENT as AGREEMENT
    from equipoise.discovery.demonstration._demonstration import LABELLED as LABELLED
    from equipoise.discovery.demonstration._demonstration import LATENTS as LATENTS
    from equipoise.discovery.demonstration._demonstration import PLANTED as PLANTED
    from equipoise.discovery.demonstration._demonstration import TARGET as TARGET
    from equipoise.discovery.demonstration._demonstration import WRONG as WRONG
    from equipoise.discovery.demonstration._demonstration import Demonstration as Demonstration
    from equipoise.discovery.demonstration._demonstration import LitSprites as LitSprites
    from equipoise.discovery.demonstration._demonstration import SkewedCells as SkewedCells
    from equipoise.discovery.demonstration._demonstration import answers_of as answers_of
    from equipoise.discovery.demonstration._demonstration import chance_cosine as chance_cosine
    from equipoise.discovery.demonstration._demonstration import classifier_of as classifier_of
    from equipoise.discovery.demonstration._demonstration import demonstrated as demonstrated
    from equipoise.discovery.demonstration._demonstration import demonstration as demonstration
    from equipoise.discovery.demonstration._demonstration import halves as halves
    from equipoise.discovery.demonstration._demonstration import judge_settings as judge_settings
    from equipoise.discovery.demonstration._demonstration import lit_sprites as lit_sprites
    from equipoise.discovery.demonstration._demonstration import measured as measured
    from equipoise.discovery.demonstration._demonstration import one_thread as one_thread
    from equipoise.discovery.demonstration._demonstration import planted_words as planted_words
    from equipoise.discovery.demonstration._demonstration import search_settings as search_settings
    from equipoise.discovery.demonstration._demonstration import skewed_cells as skewed_cells
    from equipoise.discovery.demonstration._demonstration import wrong_labels as wrong_labels

_MODULES = {
    "_demonstration": (
        "AGREEMENT", "LABELLED", "LATENTS", "PLANTED", "TARGET", "WRONG", "Demonstration", "LitSprites",
        "SkewedCells", "answers_of", "chance_cosine", "classifier_of", "demonstrated", "demonstration", "halves",
        "judge_settings", "lit_sprites", "measured", "one_thread", "planted_words", "search_settings", "skewed_cells",
        "wrong_labels",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
