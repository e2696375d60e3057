"""Paper 003, appendix A: two networks that differ only in their start. Does PNKA track neighbours, and CKA its mean?

    python examples/paper_003_networks.py train DATA OUT      trains (a GPU: minutes) and writes what the networks say
    python examples/paper_003_networks.py measure OUT FILE    compares them, writes FILE
    python examples/paper_003_networks.py                     compares two made-up spaces, and prints

DATA holds cifar10_train20k.npz and cifar10_test10k.npz: 20,000 pictures of CIFAR-10's training set and its test set.
"""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

PAIRS = (("seed 0", "seed 1"), ("seed 2", "seed 3"), ("seed 4", "seed 5"))
ENDS = {"identical_seeds": ("seed 0", "seed 0 again"), "untrained": ("untrained 0", "untrained 1")}
SHARES = (0.001, 0.01, 0.05, 0.2)  # of the pictures: how many neighbours are compared
EPOCHS, BATCH, RATE = 30, 256, 0.1
KEPT = 5_000  # pictures of the test set


def pictures(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Decode strips of pictures."""
    from PIL import Image

    held = np.load(path)
    strips = [
        np.asarray(Image.open(io.BytesIO(held["blob"][start:end].tobytes())).convert("RGB"))
        for start, end in zip(held["offsets"][:-1], held["offsets"][1:], strict=True)
    ]
    rows = np.concatenate([_cut(strip, int(held["strip"])) for strip in strips])
    return rows, held["labels"]


def _cut(strip: np.ndarray, number: int) -> np.ndarray:
    """A strip is pictures below or beside one another."""
    if strip.shape[1] == 32:
        return strip.reshape(number, 32, 32, 3)
    return strip.reshape(32, number, 32, 3).transpose(1, 0, 2, 3)


def train(data: Path, out: Path) -> None:
    """Train the networks and keep what their last layer but one says of the test pictures."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    (x, y), (x_test, y_test) = (pictures(data / f"cifar10_{name}.npz") for name in ("train20k", "test10k"))
    inputs = [_normalised(part, device) for part in (x, x_test)]
    labels = [torch.as_tensor(part, dtype=torch.long, device=device) for part in (y, y_test)]
    told: dict[str, Any] = {
        "epochs": EPOCHS,
        "batch": BATCH,
        "rate": RATE,
        "device": device,
        "torch": torch.__version__,
    }
    told["gpu"] = torch.cuda.get_device_name() if device == "cuda" else None
    told["training_pictures"], told["accuracy"], told["seconds"] = len(x), {}, {}
    kept: dict[str, np.ndarray] = {}
    plan = [*(f"seed {seed}" for seed in range(6)), "seed 0 again", "untrained 0", "untrained 1"]
    for name in plan:
        start = time.time()
        network = _trained(name, inputs[0], labels[0], device)
        features, accuracy = _read(network, inputs[1], labels[1])
        kept[name] = features[:KEPT].astype(np.float16)
        told["accuracy"][name], told["seconds"][name] = accuracy, time.time() - start
        print(name, accuracy, f"{told['seconds'][name]:.1f} s", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    for part in range(0, len(plan), 2):
        chosen = plan[part : part + 2]
        np.savez(out / f"features{part // 2}.npz", **{name.replace(" ", "_"): kept[name] for name in chosen})
    (out / "training.json").write_text(json.dumps(told, indent=1))


def _normalised(rows: np.ndarray, device: str) -> Any:
    import torch

    held = torch.as_tensor(rows, device=device).permute(0, 3, 1, 2).float() / 255
    mean, deviation = (torch.tensor(v, device=device)[:, None, None] for v in ((0.4914, 0.4822, 0.4465),
                                                                                (0.2470, 0.2435, 0.2616)))  # fmt: skip
    return (held - mean) / deviation


def _trained(name: str, inputs: Any, labels: Any, device: str) -> Any:
    """SGD with momentum and one cycle of the rate; shifted and mirrored pictures. The seed fixes all of it."""
    import torch

    from equipoise.networks import resnet18

    seed = int(name.split()[1])
    torch.manual_seed(seed)
    network = resnet18(10).to(device, memory_format=torch.channels_last)
    if name.startswith("untrained"):
        return network
    steps = EPOCHS * (len(inputs) // BATCH)
    optimiser = torch.optim.SGD(network.parameters(), lr=RATE, momentum=0.9, weight_decay=5e-4, nesterov=True)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=RATE, total_steps=steps)
    generator = torch.Generator(device="cpu").manual_seed(seed)
    for _ in range(EPOCHS):
        order = torch.randperm(len(inputs), generator=generator).to(device)
        for start in range(0, len(inputs) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            with torch.autocast(device, dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(network(_moved(inputs[chosen], generator)), labels[chosen])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            rate.step()
    return network


def _moved(batch: Any, generator: Any) -> Any:
    """Mirror half of the pictures, and shift all of a batch by up to four pixels."""
    import torch

    mirrored = torch.rand(len(batch), generator=generator).to(batch.device) < 0.5
    batch = torch.where(mirrored[:, None, None, None], batch.flip(3), batch)
    down, right = (int(torch.randint(-4, 5, (1,), generator=generator)) for _ in range(2))
    return torch.roll(batch, (down, right), dims=(2, 3)).contiguous(memory_format=torch.channels_last)


def _read(network: Any, inputs: Any, labels: Any) -> tuple[np.ndarray, float]:
    from equipoise.training import extract

    loader = [inputs[start : start + 1000] for start in range(0, len(inputs), 1000)]
    features, scores = (extract(network, loader, layer) for layer in ("pool", "head"))
    return features, float((scores.argmax(axis=1) == labels.cpu().numpy()).mean())


def measure(folder: Path, file: Path) -> None:
    """Compare the networks, and set PNKA and the plain cosine against the overlap of neighbours."""
    held: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("features*.npz")):
        held |= {name.replace("_", " "): values.astype(np.float64) for name, values in np.load(path).items()}
    told = json.loads((folder / "training.json").read_text())
    pairs = {f"pair_{index}": pair for index, pair in enumerate(PAIRS, start=1)} | ENDS
    told["pictures"] = len(next(iter(held.values())))
    told["pairs"] = {name: _compared(held[one], held[two]) for name, (one, two) in pairs.items()}
    started = [told["pairs"][f"pair_{place}"] for place in range(1, len(PAIRS) + 1)]
    told["mean_over_pairs"] = {key: float(np.mean([pair[key] for pair in started])) for key in started[0]}
    right = [accuracy for name, accuracy in told["accuracy"].items() if not name.startswith("untrained")]
    told["least_accuracy"], told["greatest_accuracy"] = min(right), max(right)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(_rounded(told), indent=1) + "\n")
    print(json.dumps(told["mean_over_pairs"], indent=1))


def _correlation(scores: np.ndarray, overlap: np.ndarray) -> float | None:
    """Spearman's; of spaces that are the same every overlap is 1, and there is none."""
    from scipy import stats

    return float(stats.spearmanr(scores, overlap).statistic) if np.ptp(overlap) > 0 else None


def _compared(one: np.ndarray, two: np.ndarray) -> dict[str, float | None]:
    from equipoise import measures

    found: dict[str, float | None] = {}
    cosine = (one * two).sum(axis=1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1))
    for kernel in ("linear", "rbf"):
        scores = measures.pnka(one, two, kernel=kernel)
        found[f"pnka_{kernel}"] = float(np.nanmean(scores))
        found[f"pnka_{kernel}_lowest_tenth"] = float(np.nanquantile(scores, 0.1))
        found[f"cka_{kernel}"] = float(measures.cka(one, two, kernel=kernel))
        for share in SHARES:
            overlap = measures.neighbour_overlap(one, two, k=max(1, round(share * len(one))), metric="cosine")
            found[f"pnka_{kernel}_tracks_overlap_at_{share:g}"] = _correlation(scores, overlap)
            if kernel == "linear":
                found[f"overlap_at_{share:g}"] = float(np.mean(overlap))
                found[f"cosine_tracks_overlap_at_{share:g}"] = _correlation(cosine, overlap)
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, 5) if isinstance(value, float) else value


def show() -> None:
    """Compare two made-up spaces: the second turns the first round and adds noise."""
    generator = np.random.default_rng(0)
    one = generator.normal(size=(300, 8))
    turn = np.linalg.qr(generator.normal(size=(8, 8)))[0]
    print(json.dumps(_rounded(_compared(one, one @ turn + generator.normal(size=one.shape) / 2)), indent=1))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        {"train": train, "measure": measure}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        show()
