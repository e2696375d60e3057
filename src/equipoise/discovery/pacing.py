"""How far an investigation is: its phases by name, each as heavy as the pictures that it draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from equipoise.discovery.comparing import CHOSEN_ON, HESSIAN_STEPS, candidates
from equipoise.discovery.generator import Generator
from equipoise.discovery.judging import JudgeSettings
from equipoise.discovery.racing import cost
from equipoise.discovery.search import SearchSettings
from equipoise.discovery.surrogate import FITTING, LABELLING, POLISH, ROUGH, SurrogateSettings

# What is told on the way: what is done now, and the share of all work that is done.
Report = Callable[[str, float], None]
# A picture with its slope costs about three times the picture.
WITH_SLOPE = 3.0
BASELINES = 5
# What a step of the Hessian penalty takes, in pictures: three of each of 8 latents, with slopes.
HESSIAN = 8 * 3 * WITH_SLOPE
# What a latent costs a surrogate, in pictures: next to nothing on a processor; on a card each waits for the same calls.
STAND_IN, STAND_IN_ON_A_DEVICE = 0.002, 0.1
SEARCHING, JUDGING = "Searching", "Judging on fresh latents"
COMPARING, WALKING = "Comparing with baselines", "Measuring known attributes"


class Pace:
    """How far all phases together are: each weighs as much as the pictures that it draws."""

    def __init__(
        self, report: Report | None, generator: Generator, asked: SearchSettings, how: JudgeSettings, named: int,
        directions: int, restarts: int, compare: bool, surrogate: SurrogateSettings | None,
    ) -> None:  # fmt: skip
        self.report = report
        walk = len(asked.alphas)
        judged = (how.latents + (2 * how.nulls + 1) * how.null_latents) * walk
        chosen_from = candidates(generator.latent_size)
        compared = BASELINES * (judged + chosen_from * CHOSEN_ON * walk) + min(asked.steps, HESSIAN_STEPS) * HESSIAN
        steps = cost(restarts, asked.steps) if asked.race else restarts * asked.steps
        step = WITH_SLOPE * directions * asked.batch * walk
        searched = {SEARCHING: steps * step}
        if surrogate is not None:
            row = STAND_IN if generator.device.type == "cpu" else STAND_IN_ON_A_DEVICE
            searched = {
                LABELLING: float(surrogate.latents * bool(directions)),
                FITTING: row * WITH_SLOPE * surrogate.steps * surrogate.batch * bool(directions),
                ROUGH: row * steps * step,
                POLISH: surrogate.polish_of(asked) * step,
            }
        self.weights = searched | {
            JUDGING: directions * judged,
            COMPARING: compared * bool(compare and directions),
            WALKING: named * how.latents * walk,
        }

    def of(self, phase: str) -> Callable[[int, int], None]:
        """Return what takes in how far one phase is, which begins now."""
        self.tell(phase, 0, 1)
        return partial(self.tell, phase)

    def tell(self, phase: str, done: int, steps: int) -> None:
        """Take in how far one phase is, and tell how far all are."""
        if self.report is not None:
            whole = sum(self.weights.values())
            before = sum(list(self.weights.values())[: list(self.weights).index(phase)])
            self.report(phase, (before + self.weights[phase] * done / steps) / whole)
