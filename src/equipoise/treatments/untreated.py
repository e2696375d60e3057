"""The control: nothing is done about a bias. Every treatment is judged against it."""

from __future__ import annotations

from typing import ClassVar

from equipoise.foundation import treatment
from equipoise.training import Treatment


@treatment("untreated", stage="pre", paper="001")
class Untreated(Treatment):
    """Nothing: the training as it is, which every treatment is compared with."""

    tasks: ClassVar[tuple[str, ...]] = ("class", "regression", "multilabel")
