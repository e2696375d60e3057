"""Labelled latents for `equipoise discover --known`: what a VAE's encoder makes of FairFace's training faces.

python docs/papers/002/faces_known.py data/fairface out/c002 --device cuda
"""

import argparse
import json
from pathlib import Path

import numpy as np

from equipoise.cohorts import load
from equipoise.discovery.generative import load_vae

YOUNG = ("0-2", "3-9", "10-19", "20-29")
ROWS = 10_000


def main() -> None:
    """Write latents.npy and known.json into the folder with vae.safetensors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="cpu")
    asked = parser.parse_args()
    cohort = load("fairface", path=asked.data)
    rows = np.flatnonzero(cohort["split"] == "train")[:ROWS]
    np.save(
        asked.out / "latents.npy", load_vae(asked.out / "vae.safetensors", asked.device).encode(cohort["image"][rows])
    )
    attributes = {
        "woman": cohort["gender"][rows] == "Female",
        "30 or older": ~np.isin(cohort["age"][rows], YOUNG),
        "Black": cohort["race"][rows] == "Black",
        "White": cohort["race"][rows] == "White",
    }
    said = {
        "schema": "equipoise.known/1",
        "latents": "latents.npy",
        "attributes": {name: values.astype(int).tolist() for name, values in attributes.items()},
        "target": "woman",
        "source": "annotators' labels of real faces",
    }
    (asked.out / "known.json").write_text(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
