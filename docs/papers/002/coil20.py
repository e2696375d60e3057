"""An illustration on real pictures: COIL-20, objects and poses, and classifiers that saw one only along with the other.

python docs/papers/002/coil20.py data/coil20 out/c002

A classifier of 1,440 pictures knows the few that disagree by heart, so here it sees none: the halves of target and
biased attribute always go together. The defaults are for one core and half an hour: networks of a quarter of the
paper's width. A VAE that is there already is not trained again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from equipoise.cohorts import load
from equipoise.discovery import (
    Classifier,
    Hyperplane,
    Investigation,
    SearchSettings,
    discover,
    halves,
    hyperplanes_from_labels,
)
from equipoise.discovery.generative import TrainedVAE, VAESettings, load_vae, reconstruction_grid, train_vae
from equipoise.networks import vae_encoder

PAIRS = (("object", "pose"), ("pose", "object"))
# The plane that parts the halves of each.
HALF = {"object": "object", "pose": "pose sine"}
BATCH, RATE = 64, 5e-4


def generator(pictures: np.ndarray, asked: argparse.Namespace) -> TrainedVAE:
    """Train a VAE, or read the one that was trained before."""
    file = asked.out / "coil20-vae.safetensors"
    if not file.is_file():
        settings = VAESettings(steps=asked.steps, learning_rate=1e-3, schedule="cosine", width=asked.width,
                               device=asked.device, report_every=max(asked.steps // 10, 1))  # fmt: skip
        train_vae(pictures, "vae", settings, lambda stand: print(stand.step, stand.losses, flush=True)).save(file)
    return load_vae(file, asked.device)


def shown(pictures: np.ndarray, device: str) -> torch.Tensor:
    """Return pictures as a network takes them."""
    return torch.from_numpy(pictures).to(device).permute(0, 3, 1, 2).float() / 255


def biased_classifier(
    pictures: np.ndarray, target: np.ndarray, biased: np.ndarray, asked: argparse.Namespace
) -> torch.nn.Module:
    """Teach a classifier of the target's halves by pictures whose half of the other is the same."""
    torch.manual_seed(0)
    network = vae_encoder(1, width=asked.width).to(asked.device)
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    agree = np.flatnonzero(target == biased)
    seen, wanted = shown(pictures[agree], asked.device), torch.from_numpy(target[agree]).to(asked.device).float()
    for _ in range(asked.classifier_steps):
        batch = torch.randint(len(agree), (BATCH,)).to(asked.device)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(network(seen[batch])[:, 0], wanted[batch])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return network


def accuracies(
    network: torch.nn.Module, pictures: np.ndarray, target: np.ndarray, biased: np.ndarray, device: str
) -> dict[str, float]:
    """Return how often the classifier is right where both halves agree, as it was taught, and where they do not."""
    with torch.no_grad():
        right = (network(shown(pictures, device))[:, 0].cpu().numpy() > 0) == target
    return {"agree": float(right[target == biased].mean()), "disagree": float(right[target != biased].mean())}


def searched(
    vae: TrainedVAE, network: torch.nn.Module, planes: dict[str, Hyperplane], pair: tuple[str, str], steps: int
) -> Investigation:
    """Look for two directions that the classifier of a pair reacts to, away from the target where it has a plane."""
    target, biased = pair
    return discover(
        vae.generator(), Classifier(network, logits=True), target=planes.get(HALF[target]), directions=2, restarts=2,
        settings=SearchSettings(steps=steps, batch=16), report=_told,
        names=(f"{target}, biased by {biased}", "a VAE on COIL-20"),
    )  # fmt: skip


def main() -> None:
    """Run it and write what came of it."""
    asked = _asked()
    asked.out.mkdir(parents=True, exist_ok=True)
    cohort = load("coil20", path=asked.data)
    pictures, pose = cohort["image"], np.asarray(cohort["pose"], dtype=float)
    half = {name: halves(cohort, name) for name in HALF}
    vae = generator(pictures, asked)
    truth = hyperplanes_from_labels(
        vae.encode(pictures), {"object": half["object"], "pose": pose}, circular=["pose"], least={"AUC": 0, "R2": -1}
    )
    fitted = {plane.name: plane for plane in truth.hyperplanes}
    told = {fit.name for fit in truth.fits if fit.value >= {"AUC": 0.65, "R2": 0.1}[fit.measure]}
    planes = {name: plane for name, plane in fitted.items() if name in told}
    said: dict[str, Any] = {"fits": [asdict(one) for one in truth.fits], "pairs": {},
                            "vae": [[one.step, one.losses] for one in vae.stands]}  # fmt: skip
    for pair in PAIRS:
        target, biased = half[pair[0]], half[pair[1]]
        network = biased_classifier(pictures, target, biased, asked)
        found = searched(vae, network, planes, pair, asked.search_steps)
        said["pairs"]["-".join(pair)] = {
            "right": accuracies(network, pictures, target, biased, asked.device),
            "cosines": {one.judged.name: {name: one.judged.original.cosine(plane) for name, plane in fitted.items()}
                        for one in found.directions},
            "investigation": found.as_json(),
        }  # fmt: skip
        rows = [np.concatenate(list(strip.pictures), 1) for one in found.directions for strip in one.strips]
        _drawn(np.concatenate(rows, 0), asked.out / f"coil20-{'-'.join(pair)}.png")
    (asked.out / "coil20.json").write_text(json.dumps(said, indent=1) + "\n")
    _drawn(reconstruction_grid(vae, pictures[::131], columns=11), asked.out / "coil20-rebuilt.png")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--classifier-steps", type=int, default=1_000)
    parser.add_argument("--search-steps", type=int, default=150)
    return parser.parse_args()


def _drawn(pictures: np.ndarray, file: Path) -> None:
    Image.fromarray(pictures[:, :, 0] if pictures.shape[2] == 1 else pictures).save(file)


def _told(what: str, share: float) -> None:
    print(f"{what}: {share:.0%}", end="\r", flush=True)


if __name__ == "__main__":
    main()
