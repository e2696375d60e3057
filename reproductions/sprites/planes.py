"""The truth about a generator: planes of the five factors, fitted to its encoder's means of labelled sprites.

Every factor is cut in its halves; an angle becomes a sine and a cosine, and its halves are the sign of the sine. What
cannot be fitted has no plane, and a triplet about it is not scored. The planes are fitted where the encoder puts
sprites; the search walks where the prior puts latents.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.cohorts import codes_of_cells
from equipoise.cohorts.pictures import SPRITE_FACTORS
from equipoise.discovery import (
    LEAST,
    Fit,
    FitMethod,
    FitReason,
    Hyperplane,
    hessian_directions,
    hyperplanes_from_labels,
)
from equipoise.discovery.generative import TrainedVAE
from equipoise.foundation import BadInput, write_file
from equipoise.results import Reason, because
from reproductions.sprites.sprite_bank import ChosenSprites, held_out_cells, upper_half
from reproductions.sprites.triplets import Pair

SCHEMA = "equipoise.benchmark.planes/1"
CIRCULAR = tuple(factor.name for factor in SPRITE_FACTORS if factor.circular)
WORDS = {
    "fits": "how well a plane tells a factor on sprites it was not fitted on: AUC of halves, R2 of a sine or cosine",
    "reason": "why a factor has no plane; empty where it has one",
    "calm": "directions that do not disturb one another in this generator's pictures (Hessian penalty)",
}


@dataclass(frozen=True, eq=False)
class GeneratorPlanes:
    """What is known of one generator: planes of factors, how well they fit, and its calm directions."""

    planes: tuple[Hyperplane, ...]
    fits: tuple[Fit, ...]
    calm: tuple[Hyperplane, ...] = ()

    def of(self, factor: str) -> tuple[Hyperplane, ...]:
        """Return every plane of a factor: none where it was dropped, up to two of an angle."""
        return tuple(plane for plane in self.planes if plane.name in names_of(factor))

    def half(self, factor: str) -> Hyperplane | None:
        """Return the plane that parts the halves of a factor."""
        return next((plane for plane in self.planes if plane.name == names_of(factor)[0]), None)

    def unfitted(self, pair: Pair) -> str:
        """Say which of a pair's factors has no plane; nothing where both have one."""
        lost = {fit.name: fit.reason for fit in self.fits if fit.reason}
        reasons = [f"{lost_name}: {lost[lost_name]}" for lost_name in map(_half_name, (pair.target, pair.biased))
                if lost_name in lost]  # fmt: skip
        return "; ".join(reasons)

    def told(self) -> set[str]:
        """Return the factors whose halves a plane tells, however little was asked of it when it was kept."""
        good = {fit.name for fit in self.fits if fit.value >= LEAST[fit.measure]}
        return {factor.name for factor in SPRITE_FACTORS if _half_name(factor.name) in good}

    def known(self, pair: Pair, factors: Sequence[str]) -> tuple[Hyperplane, ...]:
        """Return the planes that a search stays away from beside the target's own: the other part of its angle too."""
        target = self.half(pair.target)
        return tuple(plane for name in (pair.target, *factors) for plane in self.of(name) if plane is not target)


def names_of(factor: str) -> tuple[str, ...]:
    """Return the names of a factor's planes, that of its halves first."""
    return (f"{factor} sine", f"{factor} cosine") if factor in CIRCULAR else (factor,)


def fitted_planes(
    vae: TrainedVAE, *, rows: int = 20_000, seed: int = 0, how: FitMethod = "orthonormal", calm_steps: int = 200,
    least: Mapping[str, float] = LEAST,
) -> GeneratorPlanes:  # fmt: skip
    """Fit planes to a generator's means of so many sprites, and find its calm directions (none with 0 steps).

    ``least`` is what a fit must reach; with 0 and less every factor has a plane, as in the paper, whatever it means.
    """
    _, cells = held_out_cells(rows, seed)
    sprites = ChosenSprites(cells)
    latents = vae.encode(sprites)
    codes = codes_of_cells(cells, SPRITE_FACTORS)
    attributes: dict[str, Any] = {
        factor.name: factor.each(codes[factor.name]) if factor.circular else upper_half(factor.name, codes)
        for factor in SPRITE_FACTORS
    }
    truth = hyperplanes_from_labels(latents, attributes, how, circular=CIRCULAR, seed=seed, least=least)
    size = vae.settings.latent_size
    calm = hessian_directions(vae.generator(), size, seed, steps=calm_steps) if calm_steps else ()
    return GeneratorPlanes(truth.hyperplanes, truth.fits, calm)


def save_planes(path: Path, planes: GeneratorPlanes, settings: dict[str, Any]) -> None:
    """Write the planes of one generator, and how they were asked for."""
    contents = {
        "schema": SCHEMA, "asked": settings, "planes": [_plain(plane) for plane in planes.planes],
        "calm": [_plain(plane) for plane in planes.calm], "words": WORDS,
        "fits": [fit_as_json(fit) | {"details": dict(fit.reason.details) if fit.reason else {}} for fit in planes.fits],
    }  # fmt: skip
    write_file(path, json.dumps(contents, indent=1, allow_nan=False) + "\n")


def load_planes(path: Path, settings: dict[str, Any]) -> GeneratorPlanes:
    """Read what ``save_planes`` wrote; what was asked for in another way is refused."""
    contents = json.loads(path.read_text(encoding="utf-8"))
    if contents.get("schema") != SCHEMA or contents["asked"] != settings:
        raise BadInput(
            f"{path.name} was made with {contents.get('asked')}", available=f"{settings}", help="name another folder."
        )
    fits = tuple(_fit(fit, settings) for fit in contents["fits"])
    return GeneratorPlanes(tuple(map(_plane, contents["planes"])), fits, tuple(map(_plane, contents["calm"])))


def fit_as_json(fit: Fit) -> dict[str, Any]:
    """Return how well a plane fits as JSON values, with the reason where there is none."""
    return {
        "name": fit.name, "measure": fit.measure, "value": _or_none(fit.value),
        "reason": None if fit.reason is None else str(fit.reason),
        "reason_code": None if fit.reason is None else fit.reason.code.value,
    }  # fmt: skip


def _fit(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> Fit:
    """Read a fit; files that were written before reasons had codes tell only that there is one."""
    value = np.nan if entry["value"] is None else entry["value"]
    reason: Reason | None = None
    if entry.get("reason_code"):
        code = next(code for code in FitReason if code.value == entry["reason_code"])
        reason = because(code, **entry["details"])
    elif entry["reason"] and np.isnan(value):
        reason = because(FitReason.ONE_VALUE)
    elif entry["reason"]:
        least = settings.get(f"least_{entry['measure'].lower()}", LEAST[entry["measure"]])
        reason = because(FitReason.LOW, measure=entry["measure"], value=value, least=least)
    return Fit(entry["name"], entry["measure"], value, reason)


def _half_name(factor: str) -> str:
    return names_of(factor)[0]


def _plain(plane: Hyperplane) -> dict[str, Any]:
    return {"name": plane.name, "normal": plane.normal.tolist(), "offset": plane.offset}


def _plane(entry: dict[str, Any]) -> Hyperplane:
    return Hyperplane(entry["name"], np.array(entry["normal"]), float(entry["offset"]))


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
