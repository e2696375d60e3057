"""Planted truth with trained networks: is a bias found that was put in, and is nothing found where none was?

python docs/papers/002/planted.py --json docs/papers/002/planted.json --jobs 2

The sprites of `equipoise demo discover`, a VAE of them, and by seed five classifiers of a network's own training: one
of the size that sees the light go with it (the planted tint); one of the light that sees the size go with it (the
planted patch: a sprite that is larger); one of the size that sees both independent; two of labels by coin, of 3,000
pictures and of 100, which it knows by heart in the end. What each does is measured on real sprites, too. An hour on
one core.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.discovery import (
    Classifier,
    JudgeSettings,
    SearchSettings,
    among_the_first,
    discover,
    hyperplanes_from_labels,
)
from equipoise.discovery import demonstration as demo
from equipoise.discovery.generative import VAESettings, train_vae
from equipoise.foundation import stream, write_file
from equipoise.training import seed_of

VAE_STEPS, SEARCH_STEPS, NULLS = 3000, 80, 99
# The way that was asked for before 0.3 was.
LENIENT = 0.1
# How many pictures have labels by coin, and how many steps a classifier learns them.
COINS = {"coin": (3000, 200), "coin by heart": (100, 1000)}


def searched(seed: int) -> list[dict[str, Any]]:
    """Train the networks of a seed and say what is found of each classifier."""
    with demo.one_thread():
        sprites = demo.lit_sprites(seed)
        settings = VAESettings(latent_size=demo.LATENTS, steps=VAE_STEPS, batch_size=16, learning_rate=2e-3, width=8,
                               schedule="cosine", seed=seed, report_every=VAE_STEPS)  # fmt: skip
        generator = train_vae(sprites.pictures, "vae", settings).generator()
        latents = generator.sample(demo.LABELLED, seed_of(seed, "labelled latents"))
        truth = hyperplanes_from_labels(latents.double().numpy(), demo.measured(generator, latents))
        return [
            _one(seed, name, network, aim, generator, truth.by_name) | {"on real sprites": reaction(network, sprites)}
            for name, (network, aim) in _classifiers(sprites, seed).items()
        ]


def _classifiers(sprites: demo.LitSprites, seed: int) -> dict[str, tuple[Any, tuple[str | None, str | None]]]:
    """Return classifiers by name, each with the plane of its target and that of what was planted."""
    wrong = demo.wrong_labels(sprites, seed)
    bright = (sprites.light >= 0.5) ^ (stream(seed, "wrong lights").random(len(wrong)) < demo.WRONG)
    coin = stream(seed, "coins").random(len(wrong)) < 0.5
    turned = demo.LitSprites(sprites.pictures, sprites.large, sprites.large.astype(float))
    made = {
        "tint": (demo.classifier_of(sprites, wrong, seed), (demo.TARGET, demo.PLANTED)),
        "patch": (demo.classifier_of(turned, bright, seed), (demo.PLANTED, demo.TARGET)),
        "unbiased": (demo.classifier_of(sprites, wrong, seed, agreement=0.5), (demo.TARGET, None)),
    }
    for name, (number, steps) in COINS.items():
        few = demo.LitSprites(sprites.pictures[:number], sprites.large[:number], sprites.light[:number])
        taught = demo.classifier_of(few, coin[:number], seed, agreement=0.5, steps=steps)
        made[name] = (taught, (None, None))
    return made


def reaction(network: Any, sprites: demo.LitSprites) -> dict[str, float]:
    """Return how much p of real sprites changes with the light at a size, and with the size in a light."""
    answers = demo.answers_of(network, sprites)
    return {
        "light": float((answers[:, 1] - answers[:, 0]).mean()), "size": float((answers[1] - answers[0]).mean())
    }  # fmt: skip


def _one(
    seed: int, name: str, network: Any, aim: tuple[str | None, str | None], generator: Any, planes: dict[str, Any]
) -> dict[str, Any]:
    target, planted = (None if one is None else planes.get(one) for one in aim)
    alphas = tuple(np.linspace(-2.0, 2.0, 9).tolist())
    how = SearchSettings(
        steps=SEARCH_STEPS, batch=16, alphas=alphas, rate=0.05, held_out=64, seed=seed, race=True
    )  # fmt: skip
    found = discover(
        generator, Classifier(network, logits=True), target=target, directions=1, restarts=4, compare=False, strips=0,
        settings=how, judging=JudgeSettings(latents=128, null_latents=8, random_directions=NULLS, seed=seed),
        names=(name, "a VAE of lit sprites"),
    )  # fmt: skip
    first = found.directions[0].judged if found.directions else None
    plane = None if first is None else first.plane
    return {
        "seed": seed, "classifier": name, "verdict": found.verdict, "reason": found.reason,
        "rank": None if first is None else first.rank_among_random, "way": None if first is None
        else first.total_change,
        "least way": None if first is None else first.total_change_low,
        "steadiness": None if first is None else first.steadiness,
        "cosines": {} if plane is None else {known: abs(plane.cosine(one)) for known, one in planes.items()},
        "cosine to what was planted": None if plane is None or planted is None else abs(plane.cosine(planted)),
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Run every seed and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args(arguments)
    runs: list[dict[str, Any]] = []
    with ProcessPoolExecutor(asked.jobs) as pool:
        for made in pool.map(searched, range(asked.first, asked.first + asked.seeds)):
            runs += made
            print(*made, sep="\n", flush=True)
            # After every seed: what is done stays when the run is stopped.
            write_file(asked.json, json.dumps(document(runs), indent=1, allow_nan=False) + "\n")
    return document(runs)


def document(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of each classifier, and every run."""
    names = list(dict.fromkeys(run["classifier"] for run in runs))
    said = {name: counts([run for run in runs if run["classifier"] == name]) for name in names}
    return {"counts": said, "runs": list(runs)}


def counts(runs: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Return how many runs found something, and how many what was planted; and how far p goes on generated pictures."""
    found = [run for run in runs if run["verdict"] == "found"]
    cosines = [run["cosine to what was planted"] for run in found if run["cosine to what was planted"] is not None]
    lenient = [run for run in runs if _passes(run, LENIENT)]
    ways = [0.0 if run["way"] is None else run["way"] for run in runs]  # None: the same probability everywhere
    return {
        "seeds": len(runs), "found": len(found), f"found if a way of {LENIENT} were enough": len(lenient),
        "found within a cosine of 0.9": sum(one >= 0.9 for one in cosines),
        "lowest cosine": min(cosines, default=None), "mean way": sum(ways) / len(ways),
    }  # fmt: skip


def _passes(run: dict[str, Any], least_way: float) -> bool:
    """Whether a run would have been "found" had the way that is asked for been another; all else stays."""
    asked = JudgeSettings()
    return (
        run["way"] is not None
        and run["least way"] >= least_way
        and among_the_first(run["rank"], NULLS, asked.threshold)
        and run["steadiness"] >= asked.least_steadiness
    )


if __name__ == "__main__":
    main()
