"""A surrogate of p(z): a small network fitted to labelled latents stands in for generator and classifier in a search.

The networks are asked once, for the probabilities of some 100,000 latents, and again for a short polish at the end; the
long way between is walked on the surrogate, where a step costs next to nothing. What is found is the networks' own: the
polish starts where the surrogate's search ended, and ``judge`` never sees the surrogate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from equipoise.discovery._classifier import Classifier, chunk_for, predicted
from equipoise.discovery._hyperplane import Hyperplane
from equipoise.discovery._search import CONSTANT, Search, SearchSettings, check_counts, search
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput, require, stream
from equipoise.training import Losses, StepTraining, descend, train_steps

# What is told on the way: the phase, how much of it is done, and of how much.
Report = Callable[[str, int, int], None]
LABELLING, FITTING = "Labelling latents for a surrogate", "Fitting the surrogate"
ROUGH, POLISH = "Searching on the surrogate", "Polishing on the networks"
HELD_OUT = 0.1


@dataclass(frozen=True, kw_only=True)
class SurrogateSettings:
    """How the surrogate is fitted, how well it must do on latents held out, and how many steps the polish takes.

    A polish never takes more steps than the search itself was asked for.
    """

    latents: int = 100_000
    width: int = 256
    steps: int = 6_000
    batch: int = 512
    rate: float = 1e-3
    least_r2: float = 0.7
    polish: int = 200

    def __post_init__(self) -> None:
        check_counts(self, ("latents", "width", "steps", "batch", "polish"))

    def polish_steps(self, settings: SearchSettings) -> int:
        """Return how many steps the polish of a search takes."""
        return min(self.polish, settings.steps)


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A pair that a search takes, whose pictures are the latents themselves; ``r2`` is of p on latents held out."""

    generator: Generator
    classifier: Classifier
    r2: float


@dataclass(frozen=True, eq=False)
class SurrogateSearch:
    """What the polish ended with (``search``), what the surrogate's search found before it, and the surrogate."""

    search: Search
    rough: Search
    surrogate: Surrogate | None


def surrogate_search(
    generator: Generator,
    classifier: Classifier,
    *,
    target: Hyperplane | None = None,
    known: Sequence[Hyperplane] = (),
    directions: int = 1,
    restarts: int = 4,
    settings: SearchSettings | None = None,
    surrogate: SurrogateSettings | None = None,
    report: Report | None = None,
) -> SurrogateSearch:
    """Search on a surrogate of the pair, then polish what it found on the pair itself.

    ``report`` is told of every phase: latents that are labelled, steps of the fit, of the search and of the polish.
    """
    search_settings, surrogate_settings, tell = (
        settings or SearchSettings(),
        surrogate or SurrogateSettings(),
        report or _to_nobody,
    )
    if search_settings.hessian:
        raise BadInput(
            "The Hessian penalty needs pictures, and a surrogate has none",
            help="search without a surrogate (--no-surrogate), or with hessian=0 (--hessian 0).",
        )
    stand_in = fit_surrogate(generator, classifier, surrogate_settings, search_settings, tell)
    brief = replace(search_settings, steps=surrogate_settings.polish_steps(search_settings))
    if stand_in is None:
        # The search itself says that there is nothing to find.
        nothing = search(generator, classifier, target=target, known=known, settings=brief)
        return SurrogateSearch(nothing, nothing, None)
    if stand_in.r2 < surrogate_settings.least_r2:
        raise BadInput(
            f"The surrogate's probabilities have an R2 of {stand_in.r2:.2f} on latents held out",
            available=f"at least {surrogate_settings.least_r2:g}",
            help="fit it to more latents (SurrogateSettings), or search without it (--no-surrogate).",
        )
    rough = search(
        stand_in.generator, stand_in.classifier, target=target, known=known, directions=directions, restarts=restarts,
        settings=replace(
            search_settings, chunk=len(search_settings.alphas) * search_settings.batch * restarts, precision="native"
        ),
        report=lambda step, steps, _: tell(ROUGH, step, steps),
    )  # fmt: skip
    done = search(
        generator, classifier, target=target, known=known, directions=directions, restarts=1, settings=brief,
        starts=[direction.plane for direction in rough.directions],
        report=lambda step, steps, _: tell(POLISH, step, steps),
    )  # fmt: skip
    return SurrogateSearch(done, rough, stand_in)


def fit_surrogate(
    generator: Generator, classifier: Classifier, settings: SurrogateSettings, search_settings: SearchSettings,
    report: Report | None = None,
) -> Surrogate | None:  # fmt: skip
    """Fit a surrogate to what the pair says of latents that a search may come to; None where it says the same of all.

    Half of the latents are the prior's; the others are walked along random directions, as a search walks.
    """
    torch = require("torch", extra="train", purpose="A surrogate")
    tell = report or _to_nobody
    latents = _sampled_latents(generator, settings.latents, search_settings)
    p = _labelled(generator, classifier, latents, search_settings.chunk, tell)
    if float(p.max() - p.min()) < CONSTANT:
        return None
    z, probabilities = latents.float(), p.float()
    held = torch.zeros(len(z), dtype=torch.bool, device=z.device)
    held[:: int(1 / HELD_OUT)] = True
    network = _trained(z[~held], probabilities[~held], settings, search_settings.seed, tell)
    with torch.no_grad():
        missed = network(z[held]).sigmoid()[:, 0] - probabilities[held]
        r2 = 1.0 - float((missed**2).mean() / probabilities[held].var(unbiased=False))
    flat = Generator(_picture_kind()(), generator.latent_size, generator.draw, generator.device)
    return Surrogate(flat, Classifier(torch.nn.Sequential(torch.nn.Flatten(), network), logits=True), r2)


def _labelled(generator: Generator, classifier: Classifier, latents: Any, chunk: int | None, report: Report) -> Any:
    """Return what the pair says of latents, a chunk at a time."""
    torch = require("torch", extra="train", purpose="A surrogate")
    report(LABELLING, 0, len(latents))
    p, done = [], 0
    for part in latents.split(chunk_for(generator, chunk)):
        p.append(predicted(generator, classifier, part, chunk))
        done += len(part)
        report(LABELLING, done, len(latents))
    return torch.cat(p)


def _sampled_latents(generator: Generator, number: int, settings: SearchSettings) -> Any:
    """Return latents ``[number, d]`` in an order that mixes both halves."""
    torch = require("torch", extra="train", purpose="A surrogate")
    sampled = generator.sample(number, int(stream(settings.seed, "surrogate").integers(2**31))).double()
    rng = stream(settings.seed, "surrogate's walks")
    half = number // 2
    normals = rng.normal(size=(half, generator.latent_size))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    alphas = rng.uniform(settings.alphas[0], settings.alphas[-1], size=half)
    units = torch.tensor(normals, device=sampled.device)
    offsets = -(units @ sampled.mean(0))
    steps = torch.tensor(alphas, device=sampled.device) - (sampled[:half] * units).sum(1) - offsets
    walked = sampled[:half] + steps[:, None] * units
    order = torch.tensor(rng.permutation(number), device=sampled.device)
    return torch.cat([walked, sampled[half:]])[order]


def _trained(z: Any, probabilities: Any, settings: SurrogateSettings, seed: int, report: Report) -> Any:
    """Return a small network that gives the logit of p, trained by the cross-entropy to p itself."""
    torch = require("torch", extra="train", purpose="A surrogate")
    nn = torch.nn
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(seed, "surrogate's weights").integers(2**31)))
        network = nn.Sequential(
            nn.Linear(z.shape[1], settings.width), nn.GELU(), nn.Linear(settings.width, settings.width), nn.GELU(),
            nn.Linear(settings.width, 1),
        ).to(z.device)  # fmt: skip
    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, settings.rate, total_steps=settings.steps)
    order = stream(seed, "surrogate's batches")

    def take(step: int) -> Losses:
        rows = torch.from_numpy(order.integers(0, len(z), settings.batch)).to(z.device)
        loss = nn.functional.binary_cross_entropy_with_logits(network(z[rows])[:, 0], probabilities[rows])
        descend(optimiser, loss)
        schedule.step()
        return {"loss": loss}

    train_steps(
        [StepTraining(settings.steps, take, report=lambda done: report(FITTING, done.step, done.steps))],
        remedy="a lower rate of the surrogate (SurrogateSettings), or a search without it (--no-surrogate).",
    )
    return network.eval()


def _to_nobody(phase: str, done: int, whole: int) -> None:
    """Take note of nothing."""


@cache
def _picture_kind() -> Any:
    """Return the module that shows a latent as a picture of one pixel with as many channels."""
    nn = require("torch", extra="train", purpose="A surrogate").nn

    class AsPicture(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, latents: Any) -> Any:
            return latents[:, :, None, None]

    return AsPicture
