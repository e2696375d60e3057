"""Pictures as inputs of a cohort: read from files, or drawn by the package (sprites)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.cohorts.pictures._files import cohort_of_folder as cohort_of_folder
    from equipoise.cohorts.pictures._files import read_pictures as read_pictures
    from equipoise.cohorts.pictures._files import with_pictures as with_pictures
    from equipoise.cohorts.pictures._sprites import NUMBER_OF_SPRITES as NUMBER_OF_SPRITES
    from equipoise.cohorts.pictures._sprites import SPRITE_FACTORS as SPRITE_FACTORS
    from equipoise.cohorts.pictures._sprites import SPRITE_POSITIONS as SPRITE_POSITIONS
    from equipoise.cohorts.pictures._sprites import SPRITE_SIDE as SPRITE_SIDE
    from equipoise.cohorts.pictures._sprites import SPRITE_WINDOW as SPRITE_WINDOW
    from equipoise.cohorts.pictures._sprites import SpritePictures as SpritePictures
    from equipoise.cohorts.pictures._sprites import draw_sprites as draw_sprites
    from equipoise.cohorts.pictures._sprites import sprite_drawings as sprite_drawings

_MODULES = {
    "_files": ("cohort_of_folder", "read_pictures", "with_pictures"),
    "_sprites": (
        "NUMBER_OF_SPRITES", "SPRITE_FACTORS", "SPRITE_POSITIONS", "SPRITE_SIDE", "SPRITE_WINDOW", "SpritePictures",
        "draw_sprites", "sprite_drawings",
    ),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
