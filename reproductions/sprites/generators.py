"""The benchmark's generators: which there are, what each is trained on, and how they are kept in a folder.

A generator is two files: NAME.safetensors (weights, settings, losses) and NAME.json (what it was trained on). The
second is written last, so a generator counts as there only when both are whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from equipoise.discovery.generative import (
    KINDS,
    Kind,
    Report,
    TrainedVAE,
    VAEPlan,
    VAESettings,
    as_plain,
    load_vae,
    strength_of,
    train_vaes,
)
from equipoise.foundation import (
    BadInput,
    unknown_name,
    write_file,
)
from reproductions.sprites.sprite_bank import ChosenSprites, skewed_sprites

SCHEMA = "equipoise.benchmark.generator/1"
# Cells drawn for a skewed training set: as many as there are sprites.
SKEWED_CELLS = 737_280


@dataclass(frozen=True)
class Skew:
    """Two factors whose halves go together in what a generator is trained on; an agreement of 0.5 is no skew."""

    target: str
    biased: str
    agreement: float


@dataclass(frozen=True)
class GeneratorPlan:
    """One generator of the benchmark: kind, seed and the skew of its training data."""

    kind: Kind
    seed: int
    skew: Skew | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind", str(self.kind), KINDS, "the auto-encoders")

    @property
    def name(self) -> str:
        """The name of its files."""
        skew = self.skew
        return f"{self.kind}-{self.seed}" + (
            f"-{skew.target}-{skew.biased}-{skew.agreement:g}" if skew is not None else ""
        )

    def pictures(self) -> ChosenSprites:
        """Return what it is trained on: every sprite, or cells drawn with the skew."""
        if self.skew is None:
            return ChosenSprites()
        skew = self.skew
        return ChosenSprites(skewed_sprites(skew.target, skew.biased, skew.agreement, SKEWED_CELLS, self.seed))

    def said(self) -> dict[str, Any]:
        """Return it as plain values."""
        skew = self.skew
        plain = None if skew is None else {
            "target": skew.target, "biased": skew.biased, "agreement": skew.agreement
        }  # fmt: skip
        return {"kind": self.kind, "seed": self.seed, "skew": plain}


def plans_of(kinds: Sequence[Kind], seeds: Sequence[int], skews: Sequence[Skew] = ()) -> list[GeneratorPlan]:
    """Return a plan of each kind for each seed, of all sprites or of each skew."""
    skewness: Sequence[Skew | None] = skews or (None,)
    return [GeneratorPlan(kind, seed, skew) for skew in skewness for seed in seeds for kind in kinds]


def train_generators(
    plans: Sequence[GeneratorPlan], settings: VAESettings, folder: Path, *, report: Report | None = None,
    record: bool = True,
) -> list[Path]:  # fmt: skip
    """Train generators side by side and keep each; ``report`` is told how the last of them stands."""
    folder.mkdir(parents=True, exist_ok=True)
    requests = [
        VAEPlan(plan.pictures(), plan.kind, replace(settings, seed=plan.seed), report if plan is plans[-1] else None)
        for plan in plans
    ]
    trained = train_vaes(requests, record=record)
    return [keep(plan, vae, folder) for plan, vae in zip(plans, trained, strict=True)]


def keep(plan: GeneratorPlan, vae: TrainedVAE, folder: Path) -> Path:
    """Write a generator's two files."""
    vae.save(folder / f"{plan.name}.safetensors")
    metadata = {
        "schema": SCHEMA, **plan.said(), "settings": as_plain(vae.settings),
        "last": dict(vae.stands[-1].losses) if vae.stands else {},
        "curve": [[stand.step, round(stand.losses["loss"], 3), round(stand.losses["reconstruction"], 3)]
                  for stand in vae.stands],
        "words": {
            "last": "the mean losses over the last stretch of the training",
            "curve": "step, mean loss and mean reconstruction (nats a picture) since the entry before",
            "skew": "which halves went together in its training data, and how often; null: every sprite as often",
        },
    }  # fmt: skip
    return write_file(folder / f"{plan.name}.json", json.dumps(metadata, indent=1) + "\n")


def stored(folder: Path) -> dict[str, GeneratorPlan]:
    """Return the generators of a folder that are whole, by name, in order."""
    plans = {}
    for path in sorted(folder.glob("*.json")):
        metadata = json.loads(path.read_text(encoding="utf-8"))
        if metadata.get("schema") != SCHEMA or not path.with_suffix(".safetensors").is_file():
            continue
        skew = Skew(**metadata["skew"]) if metadata["skew"] else None
        plans[path.stem] = GeneratorPlan(metadata["kind"], int(metadata["seed"]), skew)
    if not plans:
        raise BadInput(
            f"There is no generator in {folder}", help="python -m reproductions.sprites.train_generators makes them."
        )
    return plans


def load_generator(folder: Path, name: str, device: str) -> TrainedVAE:
    """Read one generator."""
    return load_vae(folder / f"{name}.safetensors", device)


def fingerprint(folder: Path, name: str) -> str:
    """Return a short hash of what a generator's file says of its training: another training has another one."""
    return hashlib.sha256((folder / f"{name}.json").read_bytes()).hexdigest()[:16]


def missing(plans: Sequence[GeneratorPlan], settings: VAESettings, folder: Path) -> list[GeneratorPlan]:
    """Return the plans whose generator is not whole in the folder; one trained in another way is refused."""
    lacking = []
    for plan in plans:
        path = folder / f"{plan.name}.json"
        if not path.is_file() or not path.with_suffix(".safetensors").is_file():
            lacking.append(plan)
            continue
        stored_settings = json.loads(path.read_text(encoding="utf-8"))["settings"]
        seeded = replace(settings, seed=plan.seed, strength=strength_of(plan.kind, settings.strength))
        if stored_settings != as_plain(seeded):
            raise BadInput(
                f"{path.name} is there, trained with {stored_settings}", available=f"{as_plain(seeded)}",
                help="name another folder, or delete it.",
            )  # fmt: skip
    return lacking
