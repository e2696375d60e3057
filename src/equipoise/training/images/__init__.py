"""Networks that learn from pictures, each by itself: several runs side by side on one GPU, or one on a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.foundation import door

if TYPE_CHECKING:
    from equipoise.training.images._models import PictureModel as PictureModel
    from equipoise.training.images._optimisation import rates as rates
    from equipoise.training.images._optimisation import state_of as state_of
    from equipoise.training.images._pictures import Box as Box
    from equipoise.training.images._pictures import Crop as Crop
    from equipoise.training.images._pictures import Pictures as Pictures
    from equipoise.training.images._pictures import Scaling as Scaling
    from equipoise.training.images._pictures import View as View
    from equipoise.training.images._pictures import check_pictures as check_pictures
    from equipoise.training.images._run import Run as Run
    from equipoise.training.images._run import Steps as Steps
    from equipoise.training.images._side_by_side import side_by_side_of as side_by_side_of
    from equipoise.training.images._tasks import Classification as Classification

_MODULES = {
    "_models": ("PictureModel",),
    "_optimisation": ("rates", "state_of"),
    "_pictures": ("Box", "Crop", "Pictures", "Scaling", "View", "check_pictures"),
    "_run": ("Run", "Steps"),
    "_side_by_side": ("side_by_side_of",),
    "_tasks": ("Classification",),
}  # fmt: skip
__all__, __getattr__, __dir__ = door(__name__, _MODULES)
