"""One seed, and every random stream derived from it by name: adding a stream never moves another."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def stream(seed: int, *names: object) -> np.random.Generator:
    """Return the generator of a named stream."""
    import numpy as np

    digest = hashlib.sha256(repr((seed, *map(str, names))).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))
