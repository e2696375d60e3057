"""Whether this machine has the device that trials ask for: asked where they are trained, and nowhere else.

A plan for a graphics card is written, packed, merged and reported on machines that have none.
"""

from __future__ import annotations

from equipoise.foundation.errors import BadInput
from equipoise.foundation.imports import require
from equipoise.studies.running.work import Work


def check_device(work: Work) -> None:
    """Refuse to train where the device of a trial is missing."""
    if all(trial.device == "cpu" for stack in work.stacks for trial in stack.trials):
        return
    torch = require("torch", extra="train", purpose='device = "cuda"')
    if not torch.cuda.is_available():
        raise BadInput(
            'device is "cuda", and torch finds no graphics card here',
            available="a machine that has one, or a plan with another device",
            help='pack the study for another machine (equipoise study pack PLAN DIR), or say device = "cpu".',
        )
