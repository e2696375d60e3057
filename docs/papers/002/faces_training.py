"""Train what the faces run needs on FairFace's 25,000 training faces: a gender classifier, a VAE and a DCGAN.

python docs/papers/002/faces_training.py classifier data/fairface out/c002 --device cuda
python docs/papers/002/faces_training.py vae data/fairface out/c002 --device cuda --steps 40000
python docs/papers/002/faces_training.py gan data/fairface out/c002 --device cuda --steps 30000
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from faces_models import network
from safetensors.torch import save_file

from equipoise.cohorts import Cohort, load
from equipoise.discovery.generative import GANSettings, StepProgress, VAESettings, sample_grid, train_gan, train_vae

# With beta 1 only 22 of 32 latents were used, and a plane told women from men with an AUC of 0.68; hence more of
# them, and a lighter divergence.
LATENTS, BETA = 64, 0.3
EPOCHS, BATCH, RATE, DECAY = 30, 256, 2e-3, 5e-2


def train_classifier(cohort: Cohort, out: Path, device: str) -> dict[str, object]:
    """Train the gender classifier on the training faces, mirrored and shifted at random; audit it on the others."""
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    train = np.asarray(cohort["split"] == "train")
    woman = torch.tensor(np.asarray(cohort["gender"] == "Female"), dtype=torch.float32, device=device)
    pictures = torch.from_numpy(cohort["image"]).to(device).permute(0, 3, 1, 2).float() / 255
    rows, tests = (torch.from_numpy(np.flatnonzero(part)).to(device) for part in (train, ~train))
    built = network().to(device=device, memory_format=torch.channels_last)
    steps = EPOCHS * (len(rows) // BATCH)
    optimiser = torch.optim.AdamW(built.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    curve = []
    for epoch in range(EPOCHS):
        order = rows[torch.randperm(len(rows), device=device)]
        losses = []
        for start in range(0, len(rows) - BATCH + 1, BATCH):
            taken = order[start : start + BATCH]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                built(changed(pictures[taken]))[:, 0], woman[taken]
            )
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.detach())
        right = accuracy(built, pictures, woman, tests)
        curve.append(
            {"epoch": epoch + 1, "loss": float(torch.stack(losses).mean()), "accuracy of held-out faces": right}
        )
        print(curve[-1], flush=True)
    # Half precision makes the file half as large; faces_models.py rounds nothing further.
    kept = {
        name: value.half() if value.is_floating_point() else value for name, value in built.cpu().state_dict().items()
    }
    save_file({name: value.contiguous() for name, value in kept.items()}, out / "classifier.safetensors")
    return {"curve": curve, "epochs": EPOCHS, "batch": BATCH, "rate": RATE, "decay": DECAY}


def changed(pictures: torch.Tensor) -> torch.Tensor:
    """Mirror each picture by a coin, and shift the batch by up to four pixels."""
    mirrored = torch.where(torch.rand(len(pictures), 1, 1, 1, device=pictures.device) < 0.5, pictures.flip(3), pictures)
    down, right = np.random.default_rng(int(torch.randint(2**31, ()))).integers(-4, 5, 2)
    return torch.roll(mirrored, (int(down), int(right)), (2, 3))


def accuracy(built: torch.nn.Module, pictures: torch.Tensor, woman: torch.Tensor, rows: torch.Tensor) -> float:
    """Return the share of rows that the classifier tells right."""
    built.eval()
    with torch.no_grad():
        right = [(built(pictures[part])[:, 0] > 0) == (woman[part] > 0.5) for part in rows.split(1000)]
    built.train()
    return float(torch.cat(right).float().mean())


def train_generator(what: str, cohort: Cohort, out: Path, device: str, steps: int, seed: int) -> dict[str, object]:
    """Train a VAE or a DCGAN on the training faces; keep its weights, its losses and a grid of its pictures."""
    from PIL import Image

    pictures = cohort["image"][np.asarray(cohort["split"] == "train")]

    every = max(steps // 20, 1)

    def told(stand: StepProgress) -> None:
        print(what, stand.step, {name: round(value, 3) for name, value in stand.losses.items()}, flush=True)

    if what == "vae":
        settings = VAESettings(
            latent_size=LATENTS, steps=steps, batch_size=128, learning_rate=5e-4, strength=BETA, device=device,
            seed=seed, report_every=every,
        )  # fmt: skip
        made = train_vae(pictures, "beta_vae", settings, told)
    else:
        made = train_gan(pictures, GANSettings(steps=steps, device=device, seed=seed, report_every=every), told)
    made.save(out / f"{what}.safetensors")
    Image.fromarray(sample_grid(made.generator(), rows=4, columns=10)).save(out / f"{what}.png")
    return {"steps": steps, "stands": [[one.step, one.losses] for one in made.stands]}


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["classifier", "vae", "gan"])
    parser.add_argument("data")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    cohort = load("fairface", path=asked.data)
    start = time.perf_counter()
    if asked.what == "classifier":
        said = train_classifier(cohort, asked.out, asked.device)
    else:
        said = train_generator(asked.what, cohort, asked.out, asked.device, asked.steps, asked.seed)
    said["seconds"] = round(time.perf_counter() - start, 1)
    (asked.out / f"{asked.what}.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
