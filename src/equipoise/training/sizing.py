"""How many trials are best trained together: many where the overhead of a step is the limit, few where arithmetic is.

What a step of one trial touches is its rows times the columns and units they pass. As long as the whole stack stays in
the caches of a CPU it gains; beyond, every pass over it waits for memory.
"""

from __future__ import annotations

from equipoise.training.material import Settings

LEAST, MOST = 2, 32
# Numbers that a stack's step may touch: about the caches of a small CPU; a GPU has bandwidth to spare.
NUMBERS = {"cpu": 3_000_000, "cuda": 200_000_000}
MOST_ON_GPU = 128


def size_for(batch_size: int, units: int, features: int, settings: Settings) -> int:
    """Return the size of a stack from the rows of a step, the hidden units of a network and its inputs."""
    touched = batch_size * (features + 2 * units)
    on_gpu = settings.device != "cpu"
    room = NUMBERS["cuda" if on_gpu else "cpu"] // max(touched, 1)
    return min(max(room, LEAST), MOST_ON_GPU if on_gpu else MOST)
