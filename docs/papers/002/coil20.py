"""An illustration on real pictures: COIL-20's objects and poses, a classifier of objects that was biased by the pose.

python docs/papers/002/coil20.py data/coil20 out/c002

The defaults are for one core and half an hour: networks of a quarter of the paper's width.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from equipoise.cohorts import load
from equipoise.discovery.classifier import Classifier
from equipoise.discovery.document import document_of
from equipoise.discovery.generative.grids import reconstruction_grid
from equipoise.discovery.generative.settings import VAESettings
from equipoise.discovery.generative.vae import TrainedVAE, train_vae
from equipoise.discovery.investigating import investigate
from equipoise.discovery.search import SearchSettings
from equipoise.discovery.skewing import halves, skewed_cells
from equipoise.discovery.truth import hyperplanes_from_labels
from equipoise.networks.vae import vae_encoder

BATCH, RATE = 64, 5e-4


def biased_classifier(
    pictures: np.ndarray, target: np.ndarray, biased: np.ndarray, asked: argparse.Namespace
) -> torch.nn.Module:
    """Teach a classifier of the target's halves by samples in which nine of ten have the same half of the other."""
    torch.manual_seed(0)
    steps, device = asked.classifier_steps, asked.device
    network = vae_encoder(1, width=asked.width).to(device)
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    rows = skewed_cells(target, biased).sample(steps * BATCH, agreement=0.9).reshape(steps, BATCH)
    shown = torch.from_numpy(pictures).to(device).permute(0, 3, 1, 2).float() / 255
    wanted = torch.from_numpy(target).to(device).float()
    for batch in torch.from_numpy(rows).to(device):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(network(shown[batch])[:, 0], wanted[batch])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
    return network


def accuracies(
    network: torch.nn.Module, pictures: np.ndarray, target: np.ndarray, biased: np.ndarray, device: str
) -> dict[str, float]:
    """Return how often the classifier is right where both halves agree, and where they do not."""
    with torch.no_grad():
        logits = network(torch.from_numpy(pictures).to(device).permute(0, 3, 1, 2).float() / 255)[:, 0].cpu().numpy()
    right = (logits > 0) == target
    return {"agree": float(right[target == biased].mean()), "disagree": float(right[target != biased].mean())}


def run(asked: argparse.Namespace) -> tuple[TrainedVAE, dict[str, object], object]:
    """Train, fit planes, investigate; return the generator, the numbers and the investigation."""
    cohort = load("coil20", path=asked.data)
    pictures = cohort["image"]
    target, biased = halves(cohort, "object"), halves(cohort, "pose")
    settings = VAESettings(steps=asked.steps, learning_rate=1e-3, schedule="cosine", width=asked.width,
                           device=asked.device, report_every=max(asked.steps // 10, 1))  # fmt: skip
    vae = train_vae(pictures, "vae", settings, lambda stand: print(stand.step, stand.losses, flush=True))
    truth = hyperplanes_from_labels(
        vae.encode(pictures), {"object": target, "pose": np.asarray(cohort["pose"], dtype=float)}, circular=["pose"]
    )
    network = biased_classifier(pictures, target, biased, asked)
    planes = {plane.name: plane for plane in truth.hyperplanes}
    found = investigate(
        vae.generator(), Classifier(network, logits=True), target=planes.get("object"), directions=2, restarts=2,
        settings=SearchSettings(steps=asked.search_steps, batch=16), report=_told,
        names=("objects, biased by the pose", "a VAE on COIL-20"),
    )  # fmt: skip
    cosines = {
        shown.judged.name: {name: shown.judged.given.cosine(plane) for name, plane in planes.items()}
        for shown in found.directions
    }
    said = {
        "fits": [asdict(one) for one in truth.fits],
        "classifier": accuracies(network, pictures, target, biased, asked.device),
        "vae": [[one.step, one.losses] for one in vae.stands],
        "cosines": cosines,
        "investigation": document_of(found),
    }  # fmt: skip
    return vae, said, found


def _told(what: str, share: float) -> None:
    print(f"{what}: {share:.0%}", end="\r", flush=True)


def main() -> None:
    """Run it and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--classifier-steps", type=int, default=2_000)
    parser.add_argument("--search-steps", type=int, default=200)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    from PIL import Image

    vae, said, found = run(asked)
    (asked.out / "coil20.json").write_text(json.dumps(said, indent=1) + "\n")
    grid = reconstruction_grid(vae, load("coil20", path=asked.data)["image"], columns=10)
    Image.fromarray(grid[:, :, 0] if grid.shape[2] == 1 else grid).save(asked.out / "coil20-rebuilt.png")
    rows = [np.concatenate(list(strip.pictures), 1) for shown in found.directions for strip in shown.strips]
    whole = np.concatenate(rows, 0)
    Image.fromarray(whole[:, :, 0] if whole.shape[2] == 1 else whole).save(asked.out / "coil20-strips.png")


if __name__ == "__main__":
    main()
