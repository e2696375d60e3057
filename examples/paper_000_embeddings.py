"""Paper 000: its measures on faces (LFW, dlib), birds (CUB200) and cars (CARS196; both ImageNet features).

    python examples/paper_000_embeddings.py docs/papers/000 [lfw|cub200|cars196]...    writes a JSON for each
    python examples/paper_000_embeddings.py                                            a made-up set, and prints

Each set becomes two files, points and rows, and goes through ``equipoise audit --embedding``. Needs the data named in
EQUIPOISE_DATA; minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DATA = Path(os.environ.get("EQUIPOISE_DATA", "data"))
DIGITS = 5
# Which fields of a record the docs read.
FIELDS = (
    "measure", "kind", "variant", "attribute", "group", "value", "low", "high", "p", "p_adjusted", "finding",
    "numerator", "denominator", "status", "reason",
)  # fmt: skip


def faces() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """LFW: people with two pictures or more. Sex was checked by hand; race is a model's guess, one vote a person."""
    labels = np.load(DATA / "lfw" / "lfw_labels.npz")
    points = np.load(DATA / "lfw" / "lfw_dlib128_f16.npz")["embedding"]
    person, race = labels["identity"], labels["pred_race"]
    votes = np.zeros((person.max() + 1, len(labels["pred_race_names"])))
    known = race < votes.shape[1]
    np.add.at(votes, (person[known], race[known]), 1)
    guessed = np.where(votes.sum(axis=1) > 0, labels["pred_race_names"][votes.argmax(axis=1)], "")
    kept = (np.bincount(person)[person] > 1) & (labels["gender_male"] < 2)
    sex = np.where(labels["gender_male"] == 1, "man", "woman")
    return points[kept].astype(np.float32), {
        "person": person[kept],
        "sex": sex[kept],
        "race (predicted)": guessed[person][kept],
    }


def birds() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """CUB200: the species that are left for testing (101 to 200), by their main colour."""
    held = np.load(DATA / "cub200" / "cub200_effnetlite0_u8.npz")
    table = np.load(DATA / "cub200" / "cub200_class_attributes.npz")
    colours = [index for index, name in enumerate(table["attribute_names"]) if "primary_color::" in name]
    main = table["attributes"][:, colours].argmax(axis=1)
    names = np.array([table["attribute_names"][place].split("::")[1] for place in colours])
    kept = held["label"] >= 100
    return _features(held, kept), {"species": held["label"][kept], "colour": names[main][held["label"][kept]]}


def cars() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """CARS196: the models that are left for testing (99 to 196), by their body."""
    held = np.load(DATA / "cars196" / "cars196_effnetlite0_u8.npz")
    kept = held["label"] >= 98
    body = held["body_type_names"][held["class_body_type"]]
    return _features(held, kept), {"model": held["label"][kept], "body": body[held["label"][kept]]}


def _features(held: np.lib.npyio.NpzFile, kept: np.ndarray) -> np.ndarray:
    return held["features_u8"][kept].astype(np.float32) * held["scale"]


def made_up() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Five pictures each of thirty people, those of every third scattered wider."""
    generator = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 5)
    wide = person % 3 == 0
    points = (
        generator.normal(size=(30, 8))[person] + generator.normal(size=(150, 8)) * np.where(wide, 0.8, 0.3)[:, None]
    )
    return points, {"person": person, "group": np.where(wide, "few", "many")}


SETS = {"lfw": (faces, "person"), "cub200": (birds, "species"), "cars196": (cars, "model")}
MADE_UP = "example"


def audited(name: str, folder: Path) -> dict[str, object]:
    """Audit one set, and return its records with fewer digits."""
    make, target = SETS.get(name, (made_up, "person"))
    points, rows = make()
    np.save(folder / f"{name}.npy", points)
    np.savez(folder / f"{name}_rows.npz", **{column: np.asarray(values) for column, values in rows.items()})
    options = [part for column in rows if column != target for part in ("--group", column)]
    options += ["--metric", "cosine", "--missing", "", "--cluster", target]
    options += ["--leakage"] if name not in ("cub200", "cars196") else []  # whose features are wide: it takes long
    command = [
        "audit", f"{name}.npy", "--embedding", name, "--rows", f"{name}_rows.npz", "--target", target, *options,
        "--json", f"{name}.json", "--quiet",
    ]  # fmt: skip
    subprocess.run([sys.executable, "-m", "equipoise", *command], check=True, cwd=folder)
    result = json.loads((folder / f"{name}.json").read_text())
    return {
        "rows": len(points),
        "width": points.shape[1],
        "command": "equipoise " + " ".join(f"'{part}'" if " " in part or not part else part for part in command),
        "packages": result["provenance"]["packages"],
        "words": result["words"],
        "notes": result["notes"],
        "records": [{field: _rounded(record[field]) for field in FIELDS if record[field] is not None}
                    for record in result["records"] if record["kind"] != "count"],
        "leakage": [{field: _rounded(value) for field, value in record.items()} for record in result["leakage"]],
    }  # fmt: skip


def _rounded(value: object) -> object:
    return round(value, DIGITS) if isinstance(value, float) else value


def main() -> None:
    if len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as folder:
            print(*audited(MADE_UP, Path(folder))["words"], sep="\n")
        return
    out, names = Path(sys.argv[1]), sys.argv[2:] or list(SETS)
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            made = audited(name, Path(folder))
            (out / f"{name}.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
        print(*made["words"], sep="\n")


if __name__ == "__main__":
    main()
