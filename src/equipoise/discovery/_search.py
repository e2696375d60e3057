"""The search for directions that a classifier reacts to (paper 002, section 4): Adam on stacked hyperplanes.

Every restart has its own start and sees the same latents, so what it finds does not depend on how many others there
are. A direction is looked for in the complement of those found before it, so all are orthogonal to each other; target
and known attributes are kept away from by a penalty, as in the paper, or to the letter (``orthogonality="exact"``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.discovery._classifier import Classifier, Precision, check_precision, slopes
from equipoise.discovery._hyperplane import (
    Hyperplane,
    basis_of,
    traversed,
)
from equipoise.discovery._objective import Objective, Weights, guard_of
from equipoise.discovery._reasons import DiscoveryReason
from equipoise.discovery.generative import Generator
from equipoise.foundation import BadInput, Floats, require, stream
from equipoise.results import Reason, because
from equipoise.training import StackedAdam

PICTURES = 2
# A command line says how a classifier is read, and nothing of the reference beside it.
CLASSIFIER_HELP = (
    "give a Classifier, which declares how its output is read: Classifier(module, output=..., logits=True, size=..., "
    "resize=True)."
)


def check_counts(settings: object, names: Sequence[str]) -> None:
    """Refuse settings that are no numbers of things."""
    for name in names:
        if getattr(settings, name) < 1:
            raise BadInput(f"{name} is {getattr(settings, name)}", available="at least 1")


def check_pair(generator: Generator, classifier: Classifier, reference: Classifier | None = None) -> None:
    """Refuse a generator and classifiers that do not fit, or a generator that draws noise of its own."""
    torch = require("torch", extra="train", purpose="Discovery")
    latents = generator.sample(PICTURES, seed=0)
    with torch.no_grad():
        images = generator.images(latents)
        again = generator.images(latents)
        if not torch.allclose(images, again, rtol=1e-3, atol=1e-4):
            raise BadInput(
                "The generator returned two different pictures for one latent",
                available="a generator whose picture depends on the latent alone",
                help="fix the module's internal noise (a StyleGAN: noise_mode='const').",
            )  # fmt: skip
        classifier.probabilities(images)
        if reference is not None:
            _check_reference(reference, images)


def _check_reference(reference: Classifier, images: Any) -> None:
    """Refuse a reference in words of its own, for a classifier is at hand too."""
    try:
        reference.probabilities(images)
    except BadInput as error:
        of_reading = error.help.startswith("Classifier(")
        raise BadInput(
            error.given.replace("he classifier", "he reference"), available=error.available,
            help=CLASSIFIER_HELP if of_reading else error.help,
        ) from error  # fmt: skip


# The last two part after this share of the steps, the four before them after half of it, and so on.
LAST = 0.4
# So much of the stretch since the halving before counts: what a restart did at first says little.
LATELY = 0.25


def halvings(restarts: int, steps: int) -> dict[int, int]:
    """Return how many restarts go on after how many steps; halvings that would fall on one step become one."""
    rounds = math.ceil(math.log2(restarts))
    after = {max(1, round(LAST * steps / 2 ** (rounds - number))): number for number in range(1, rounds + 1)}
    return {step: math.ceil(restarts / 2**number) for step, number in after.items() if step < steps}


def ahead(losses: Floats, number: int) -> NDArray[np.intp]:
    """Return the places of so many restarts, those with the lowest losses ``[restart, step]`` of late, in order."""
    lately = losses[:, -max(1, round(LATELY * losses.shape[1])) :].mean(axis=1)
    return np.sort(np.argsort(lately, kind="stable")[:number])


def cost(restarts: int, steps: int) -> int:
    """Return how many steps all restarts of a race take together."""
    steps_taken, done, running = 0, 0, restarts
    for step, remaining in halvings(restarts, steps).items():
        steps_taken, done, running = steps_taken + (step - done) * running, step, remaining
    return steps_taken + (steps - done) * running


# What is told on the way: the steps done, of how many, and the lowest loss among the restarts.
Report = Callable[[int, int, float], None]
# Probabilities that differ by less than this everywhere are one probability.
CONSTANT = 1e-6
# Latents that are looked at for a slope.
FEW = 8


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """How to search. The paper's code has rate 1e-3, steps 1,000 and alphas from -2 to 1.8 in steps of 0.2.

    With ``race`` the restarts that are behind drop out on the way; with precision "bfloat16" steps take fewer bits.
    """

    steps: int = 1000
    batch: int = 64
    alphas: tuple[float, ...] = tuple(np.linspace(-2.0, 2.0, 20).tolist())
    rate: float = 0.01
    penalty: float = 10.0
    orthogonality: Literal["squared", "signed", "exact"] = "squared"
    hessian: float = 0.0
    reference_penalty: float = 10.0
    guard: float | None = None
    held_out: int = 128
    seed: int = 0
    chunk: int | None = None
    race: bool = False
    precision: Precision = "native"

    def __post_init__(self) -> None:
        check_counts(self, ("steps", "batch", "held_out"))
        if len(self.alphas) < 2 or not np.all(np.diff(self.alphas) > 0):
            raise BadInput(f"The alphas are {self.alphas}", available="at least two numbers, rising")
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise BadInput(f"rate is {self.rate}", available="a finite number above 0")
        for name in ("penalty", "hessian", "reference_penalty"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise BadInput(f"{name} is {getattr(self, name)}", available="a finite number of at least 0")
        if self.orthogonality not in ("squared", "signed", "exact"):
            raise BadInput(f"orthogonality is {self.orthogonality!r}", available="squared, signed, exact")
        check_precision(self.precision)


@dataclass(frozen=True, eq=False)
class Direction:
    """What one search found: its plane, its loss on latents it was not fitted to, and its cosine to what has a name.

    ``losses`` are those of every restart; one that dropped out of a race has none (NaN).
    """

    plane: Hyperplane
    loss: float
    restart: int
    losses: tuple[float, ...]
    cosines: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Search:
    """The directions found, in the order they were looked for; ``curves`` are losses ``[direction, restart, step]``.

    They are NaN from where a restart dropped out of a race.
    """

    directions: tuple[Direction, ...]
    curves: NDArray[np.float64]
    settings: SearchSettings
    target: Hyperplane | None
    known: tuple[Hyperplane, ...]
    reason: Reason | None = None


def search(
    generator: Generator,
    classifier: Classifier,
    *,
    target: Hyperplane | None = None,
    known: Sequence[Hyperplane] = (),
    directions: int = 1,
    restarts: int = 4,
    settings: SearchSettings | None = None,
    reference: Classifier | None = None,
    starts: Sequence[Hyperplane] = (),
    report: Report | None = None,
) -> Search:
    """Find directions of the latent space along which the classifier's probability changes most.

    ``reference`` is a second classifier whose probability shall stay where it is, such as one of the target that is
    thought to be sound. The first restart of each direction begins at its plane of ``starts``, where there is one; the
    others begin anywhere. Whether anything was found is for ``judge`` to say.
    """
    search_settings = settings or SearchSettings()
    named = (*(() if target is None else (target,)), *known)
    torch = require("torch", extra="train", purpose="Discovery")
    _check_room(generator.latent_size, named, directions, restarts)
    check_pair(generator, classifier, reference)
    objective = _objective(generator, classifier, reference, named, search_settings)
    directions_found: list[Direction] = []
    curves = np.full((directions, restarts, search_settings.steps), np.nan)
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
        for index in range(directions):
            avoided = [
                *(named if search_settings.orthogonality == "exact" else ()),
                *(direction.plane for direction in directions_found),
            ]
            run = _Run(
                objective,
                search_settings,
                index,
                restarts,
                basis_of(avoided, generator.latent_size),
                starts[index:][:1],
            )
            if index == 0 and run.constant():
                reason = because(DiscoveryReason.CONSTANT_CLASSIFIER)
                return Search((), curves[:0], search_settings, target, tuple(known), reason)
            if index == 0 and run.flat():
                raise BadInput(
                    "The classifier's probability changes from picture to picture, but there is no gradient to follow",
                    available="a generator and a classifier with gradients",
                    help="remove torch.no_grad(), .detach() and thresholds from them.",
                )
            for step in range(search_settings.steps):
                curves[index, run.running, step] = run.step()
                if report is not None:
                    lowest = float(np.nanmin(curves[index, :, step]))
                    report(index * search_settings.steps + step + 1, directions * search_settings.steps, lowest)
                run.race(curves[index, :, : step + 1])
            directions_found.append(run.best(named))
    return Search(tuple(directions_found), curves, search_settings, target, tuple(known))


class _Run:
    """The search for one direction: all restarts at once."""

    def __init__(
        self, objective: Objective, settings: SearchSettings, index: int, restarts: int, avoided: Floats,
        first_planes: Sequence[Hyperplane] = (),
    ) -> None:  # fmt: skip
        torch = require("torch", extra="train", purpose="Discovery")
        self.objective, self.settings, self.index, self.restarts = objective, settings, index, restarts
        self.running = np.arange(restarts)
        self.halved = halvings(restarts, settings.steps) if settings.race else {}
        self.avoided = _tensor(objective, avoided)
        starts = [stream(settings.seed, "start", index, restart) for restart in range(restarts)]
        size = objective.generator.latent_size
        normals = [start.normal(size=size) for start in starts]
        normals[: len(first_planes)] = [hyperplane.normal for hyperplane in first_planes]
        self.normals = self._free(_tensor(objective, np.stack(normals)))
        # The plane starts through the middle of a sample of the prior, which for a normal prior is the origin.
        middle = _tensor(objective, objective.generator.middle(self._seed("middle")))
        self.offsets = -(self.normals @ middle) + 0.1 * _tensor(
            objective, np.array([start.normal() for start in starts])
        )
        self.offsets[: len(first_planes)] = _tensor(
            objective, np.array([hyperplane.offset for hyperplane in first_planes])
        )
        self.normals.requires_grad_()
        self.offsets.requires_grad_()
        self.optimiser = StackedAdam([self.normals, self.offsets], settings.rate)
        self.latents = torch.Generator().manual_seed(self._seed("latents"))
        self.signs = torch.Generator().manual_seed(self._seed("signs"))

    def step(self) -> Floats:
        """Move every restart that is running once; return their losses before it."""
        torch = require("torch", extra="train", purpose="Discovery")
        latents = self.objective.generator.draw(self.settings.batch, self.latents).double()
        # Freed inside the graph: a gradient that pointed out of the complement would move the optimum.
        loss: Any = self.objective.loss(self._free(self.normals), self.offsets, latents, self.signs)
        loss.sum().backward()
        self.optimiser.step()
        with torch.no_grad():
            self.normals.copy_(self._free(self.normals))
        values: Floats = loss.detach().cpu().numpy()
        return values

    def race(self, curves: Floats) -> None:
        """Let restarts drop out where it is time, by all losses ``[restart, step]`` so far."""
        done = curves.shape[1]
        if done in self.halved:
            since = max((step for step in self.halved if step < done), default=0)
            self._keep(ahead(curves[self.running, since:], self.halved[done]))

    def _keep(self, places: NDArray[np.intp]) -> None:
        """Go on with these of the restarts that are running."""
        torch = require("torch", extra="train", purpose="Discovery")
        self.running = self.running[places]
        chosen = torch.as_tensor(places, device=self.normals.device)
        self.normals, self.offsets = (
            one.detach()[chosen].requires_grad_() for one in (self.normals, self.offsets)
        )  # fmt: skip
        self.optimiser.select_trials(chosen, [self.normals, self.offsets])

    def constant(self) -> bool:
        """Tell whether the classifier gives all that the starts show it the same probability."""
        latents = self.objective.generator.sample(self.settings.batch, self._seed("first look")).double()
        _, p = self.objective.value(self.normals.detach(), self.offsets.detach(), latents)
        return bool(p.max() - p.min() < CONSTANT)

    def flat(self) -> bool:
        """Tell whether the probability has no slope anywhere on a few traversals."""
        latents = self.objective.generator.sample(min(self.settings.batch, FEW), self._seed("first look")).double()
        moved = traversed(latents, self.normals.detach(), self.offsets.detach(), self.settings.alphas)
        _, slope = slopes(self.objective.generator, [self.objective.classifier], moved, self.settings.chunk)
        return not bool(slope.any())

    def best(self, named: Sequence[Hyperplane]) -> Direction:
        """Return the restart with the lowest loss on latents that none was fitted to, pointing to where p rises."""
        latents = self.objective.generator.sample(self.settings.held_out, self._seed("held out")).double()
        losses, p = self.objective.value(self.normals.detach(), self.offsets.detach(), latents)
        winner = int(losses.argmin())
        rises = float((p[winner, -1] - p[winner, 0]).mean()) >= 0
        sign = 1.0 if rises else -1.0
        normal = sign * self.normals.detach()[winner].cpu().numpy()
        plane = Hyperplane(f"direction {self.index + 1}", normal, sign * float(self.offsets.detach()[winner]))
        cosines = {hyperplane.name: plane.cosine(hyperplane) for hyperplane in named}
        every = np.full(self.restarts, np.nan)
        every[self.running] = losses.cpu().numpy()
        return Direction(plane, float(losses[winner]), int(self.running[winner]), tuple(every.tolist()), cosines)

    def _free(self, normals: Any) -> Any:
        """Return normals of length 1 inside the complement of what is kept away from."""
        free = normals - (normals @ self.avoided.T) @ self.avoided
        return free / free.norm(dim=-1, keepdim=True)

    def _seed(self, name: str) -> int:
        return int(stream(self.settings.seed, name, self.index).integers(2**31))


def _objective(
    generator: Generator, classifier: Classifier, reference: Classifier | None, named: Sequence[Hyperplane],
    settings: SearchSettings,
) -> Objective:  # fmt: skip
    torch = require("torch", extra="train", purpose="Discovery")
    others = np.stack([hyperplane.normal for hyperplane in named]) if named else np.zeros((0, generator.latent_size))
    guard = None
    if settings.guard is not None:
        guard = guard_of(generator, int(stream(settings.seed, "guard").integers(2**31)), settings.guard)
    return Objective(
        generator=generator,
        classifier=classifier,
        alphas=settings.alphas,
        other_normals=torch.tensor(others, dtype=torch.float64, device=generator.device),
        weights=Weights(settings.penalty, settings.orthogonality, settings.hessian, settings.reference_penalty),
        guard=guard,
        reference=reference,
        chunk=settings.chunk,
        precision=settings.precision,
    )


def _tensor(objective: Objective, values: Floats) -> Any:
    torch = require("torch", extra="train", purpose="Discovery")
    return torch.tensor(values, dtype=torch.float64, device=objective.generator.device)


def _check_room(size: int, named: Sequence[Hyperplane], directions: int, restarts: int) -> None:
    """Refuse a search that has no direction left to find."""
    if directions < 1 or restarts < 1:
        raise BadInput(
            f"{directions} directions and {restarts} restarts were requested", available="at least 1 of each"
        )
    names = [hyperplane.name for hyperplane in named]
    if len(set(names)) < len(names):
        raise BadInput(f"Two hyperplanes have one name ({', '.join(names)})", available="a different name for each")
    free_dimensions = size - len(basis_of(named, size))
    if directions > free_dimensions:
        raise BadInput(
            f"{directions} directions were requested, and of {size} latent dimensions {len(named)} are taken",
            available=f"at most {free_dimensions}"
            if free_dimensions
            else "fewer known attributes than latent dimensions",
        )
