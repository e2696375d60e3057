"""One triplet: each method's direction held against the planes of the target and of the biased factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from equipoise.discovery import (
    Classifier,
    Hyperplane,
    SearchSettings,
    axes,
    lowest_loss_direction,
    random_orthogonal_directions,
    recovery,
    search,
    without,
)
from equipoise.discovery.generative import Generator
from equipoise.foundation import (
    BadInput,
    stream,
    unknown_name,
)
from equipoise.training import seed_of
from reproductions.sprites.methods import ABLATION, KNOWN, METHODS
from reproductions.sprites.planes import GeneratorPlanes
from reproductions.sprites.triplets import Pair

WORDS = {
    "biased": "|cos| of the direction to the biased factor's plane: high is good",
    "target": "|cos| of the direction to the target's plane: low is good",
    "difference": "the first less the second",
    "variation_loss": "L_V + its penalties on latents that the search was not fitted to (baselines: L_V alone)",
    "chance": "the mean difference of directions at right angles to what this method stays away from",
    "right_angled": "the same of what is left of the direction at right angles to target and known factors",
    "chosen": "which direction of a baseline it was",
    "known": "the other factors whose planes the search stays away from",
    "unfitted": "the target or the biased factor has no plane in this generator: nothing is scored, and why",
}


@dataclass(frozen=True)
class ScoreSettings:
    """How triplets are scored. The paper's code searches 1,000 steps of 64 latents at a rate of 1e-3, once."""

    search: SearchSettings = field(default_factory=lambda: SearchSettings(steps=200, batch=32))
    restarts: int = 2
    hessian: float = 0.1
    draws: int = 1_000
    latents: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.restarts, self.draws, self.latents) < 1 or self.hessian <= 0:
            raise BadInput(
                "restarts, draws, latents or hessian is out of range",
                available="whole numbers from 1, a weight above 0",
            )

    def plain(self) -> dict[str, Any]:
        """Return them as plain values, as they come back from a file."""
        settings = asdict(self)
        settings["search"]["alphas"] = list(settings["search"]["alphas"])
        return settings


def scored(
    generator: Generator, classifier: Classifier, planes: GeneratorPlanes, pair: Pair, generator_name: str,
    methods: Sequence[str], settings: ScoreSettings, done: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return what each method finds of a pair in a generator; a factor without a plane leaves all of it unscored.

    What was ``done`` before is taken over.
    """
    for method in methods:
        if method not in METHODS:
            raise unknown_name("method", method, METHODS, "the benchmark")
    unfitted = planes.unfitted(pair)
    if unfitted:
        return {"unfitted": unfitted, "methods": {}}
    triplet = _Triplet(generator, classifier, planes, pair, settings, seed_of(settings.seed, generator_name, pair.name))
    scores = dict(done or {})
    for method in methods:
        if method == triplet.full and "ours" in scores:
            scores[method] = scores["ours"]
        elif method == "right_angled":
            ours = scores.get("ours") or triplet.found("ours")
            scores[method] = (ours or {}).get("right_angled")
        elif method not in scores:
            scores[method] = triplet.found(method)
    return {"unfitted": "", "methods": scores}


class _Triplet:
    """A pair in a generator, with the factors that may be known in an order of its own."""

    def __init__(
        self, generator: Generator, classifier: Classifier, planes: GeneratorPlanes, pair: Pair,
        settings: ScoreSettings, seed: int,
    ) -> None:  # fmt: skip
        target, biased = planes.half(pair.target), planes.half(pair.biased)
        assert target is not None
        assert biased is not None
        self.generator, self.classifier, self.planes, self.pair = generator, classifier, planes, pair
        self.target, self.biased, self.settings, self.seed = target, biased, settings, seed
        fitted = [name for name in pair.others if planes.of(name)]
        self.order = [fitted[index] for index in stream(seed, "order of known factors").permutation(len(fitted))]
        self.all_known = planes.known(pair, self.order)
        # To know every other factor that has a plane is what "ours" is.
        self.full = KNOWN[len(self.order)]

    def found(self, method: str) -> dict[str, Any] | None:
        """Return a method's scores; None where it cannot be had, as with more known factors than have planes."""
        size, settings = self.generator.latent_size, self.settings
        if method in ("random", "random_orthogonal"):
            return self._chance((self.target, *self.all_known) if method == "random_orthogonal" else ())
        if method == "axis":
            return self._lowest(axes(size))
        if method == "hessian":
            return self._lowest(self.planes.calm) if self.planes.calm else None
        if method in KNOWN:
            number = KNOWN.index(method)
            return self._searched(self.order[:number], {}) if number <= len(self.order) else None
        changed = {}
        if method in ABLATION:
            changed = {"penalty": 0.0 if "without" in method else settings.search.penalty,
                       "hessian": settings.hessian if "hessian" in method else 0.0}  # fmt: skip
        return self._searched(self.order, changed)

    def _searched(self, factors: Sequence[str], changed: dict[str, float]) -> dict[str, Any]:
        known_planes = self.planes.known(self.pair, factors)
        settings = replace(self.settings.search, seed=self.seed, **changed)  # type: ignore[arg-type]
        investigation = search(
            self.generator, self.classifier, target=self.target, known=known_planes, restarts=self.settings.restarts,
            settings=settings,
        )  # fmt: skip
        if not investigation.directions:
            return {
                "biased": None,
                "target": None,
                "difference": None,
                "reason": None if investigation.reason is None else str(investigation.reason),
            }
        direction = investigation.directions[0]
        chance = self._chance((self.target, *known_planes) if settings.penalty else ())
        remainder = without(direction.plane, (self.target, *known_planes), np.zeros(direction.plane.size))
        return self._scores(direction.plane) | {
            "variation_loss": direction.loss, "known": list(factors), "chance": chance["difference"],
            "right_angled": None if remainder is None else self._scores(remainder),
            "normal": direction.plane.normal.tolist(), "offset": direction.plane.offset,
        }  # fmt: skip

    def _lowest(self, planes: Sequence[Hyperplane]) -> dict[str, Any]:
        plane, losses = lowest_loss_direction(
            self.generator, self.classifier, planes, alphas=self.settings.search.alphas, seed=self.seed,
            latents=self.settings.latents, chunk=self.settings.search.chunk,
        )  # fmt: skip
        return self._scores(plane) | {"variation_loss": min(losses), "chosen": plane.name}

    def _chance(self, away: Sequence[Hyperplane]) -> dict[str, Any]:
        """Return the means over directions by chance."""
        directions = random_orthogonal_directions(self.generator.latent_size, self.settings.draws, self.seed, away)
        normals = np.stack([plane.normal for plane in directions])
        biased, target = (float(np.abs(normals @ plane.normal).mean()) for plane in (self.biased, self.target))
        return {"biased": biased, "target": target, "difference": biased - target}

    def _scores(self, plane: Hyperplane) -> dict[str, Any]:
        return asdict(recovery(plane, self.biased, self.target))
