"""A picture trial watched step by step: eager steps, so that every layer can be looked into."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.training.diverging.stepping import ModuleStepper
from equipoise.training.images.pictures import Pictures
from equipoise.training.images.run import Run, logits_of
from equipoise.training.material import Material, Rows, Settings
from equipoise.training.preparing import Prepared
from equipoise.training.reading import codes_of

if TYPE_CHECKING:
    import torch

# Dev pictures, at most, whose outputs are compared.
ROWS = 1_000


def picture_stepper(trial: Prepared, material: Material, pictures: Pictures, settings: Settings) -> ModuleStepper:
    """Build a trial's network, every seed fixed before, as one that goes on step by step through its epochs."""
    run = Run(trial, material, pictures, settings)
    dev = _first(material.dev)
    taken = 0

    def step() -> torch.Tensor:
        nonlocal taken
        epoch, place = divmod(taken, run.steps)
        if place == 0:
            run.begin(epoch + 1)
            run.seed_draws(epoch + 1)
        run.step(run.phase(epoch + 1))
        taken += 1
        loss: torch.Tensor = run.losses[place]
        return loss

    def predictions() -> torch.Tensor:
        return codes_of(run.torch.from_numpy(logits_of(run, dev, "the dev rows")), material.task)

    return ModuleStepper(run.parts, step, predictions if len(dev) else None)


def _first(rows: Rows) -> Rows:
    return replace(rows, inputs=rows.inputs[:ROWS], ids=rows.ids[:ROWS])
