"""Documents of the benchmark on sprites, summed up from drawn scores: whole, old, small, stopped, and hostile."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from reproductions.sprites.document import SCHEMA
from reproductions.sprites.methods import ABLATION, KNOWN, METHODS, TABLE
from reproductions.sprites.summary import WORDS, summarised

from helpers.cases.report import HOSTILE

Document = dict[str, Any]
PAIRS = {("x", "scale"): 0.2, ("scale", "y"): 0.05, ("y", "shape"): 0.0}
# The mean difference of each method; the others are 0.
MEANS = {"ours": 0.2, "right_angled": 0.5, "random_orthogonal": 0.35}
NULLED = ("right_angled_above_chance", "less_even")


def triplet(kind: str, seed: int, pair: tuple[str, str], methods: Sequence[str], agreement: float | None) -> Document:
    """Return one triplet whose scores lie near the means."""
    rng = np.random.default_rng([seed, *map(ord, kind + "".join(pair)), round(10 * (agreement or 0))])
    scores = {}
    for method in methods:
        difference = MEANS.get(method, 0.0) + float(rng.normal(0, 0.05))
        scores[method] = {"biased": 0.5 + difference, "target": 0.5, "difference": difference, "chance": 0.3,
                          "right_angled": {"difference": difference + 0.1}}  # fmt: skip
    skew = None if agreement is None else {"target": pair[0], "biased": pair[1], "agreement": agreement}
    name = f"{kind}-{seed}" + ("" if agreement is None else f"-{agreement}")
    return {"generator": name, "kind": kind, "seed": seed, "skew": skew, "target": pair[0], "biased": pair[1],
            "unfitted": "", "methods": scores}  # fmt: skip


def document(kinds: Sequence[str], seeds: int, methods: Sequence[str], skewed: bool = False, **more: Any) -> Document:
    """Return a document as the benchmark writes it."""
    rows = [triplet(kind, seed, pair, methods, None) for kind in kinds for seed in range(seeds) for pair in PAIRS]
    if skewed:
        rows += [triplet(kinds[0], seed, ("x", "scale"), methods, 0.9) for seed in range(seeds)]
    told = {row["generator"]: {"x", "scale"} for row in rows}
    fits = [{"name": "scale", "measure": "AUC", "value": 0.98, "reason": ""},
            {"name": "orientation sine", "measure": "R2", "value": -0.0123, "reason": ""},
            {"name": "shape", "measure": "AUC", "value": None, "reason": "too few sprites"}]  # fmt: skip
    made = {
        "schema": SCHEMA,
        "settings": {
            "classifiers": {"steps": 4_000, "agreement": 0.9}, "planes": {"rows": 20_000},
            "score": {"search": {"steps": 200, "alphas": [-2.0, 0.0, 2.0], "guard": None}, "restarts": 1},
            "device": "cuda",
        },
        "asked": len(rows), "seconds": {"classifiers": 43.5, "in all": 505.0}, "jobs": 6, "parts": ["table"],
        "torch": "2.11.0", "graphics": "NVIDIA H200",
        **summarised(rows, PAIRS, told),
        "classifiers": [
            {"target": target, "biased": biased, "accuracy": 0.95, "agree": 0.99, "disagree": 0.99 - gap, "gap": gap,
             "loss": 0.02}
            for (target, biased), gap in PAIRS.items()
        ],
        "generators": [{"generator": name, "kind": "vae", "seed": 0, "skew": None, "fits": fits} for name in told],
        "triplets": rows, "methods": METHODS, "words": {**WORDS, "a classifier": {}, "a generator": {}},
    } | more  # fmt: skip
    plain: Document = json.loads(json.dumps(made, allow_nan=False))
    return plain


@cache
def _whole() -> Document:
    return document(("vae", "beta_vae"), 5, (*TABLE, *ABLATION, *KNOWN), skewed=True)


def whole() -> Document:
    """Every part was run."""
    return copy.deepcopy(_whole())


def older() -> Document:
    """Before there was a right angle in rows of the skew, and words for it."""
    made = whole()
    for row in made["skew"]:
        for name in NULLED:
            del row[name]
    for name in NULLED:
        del made["words"][name]
    return made


def few() -> Document:
    """Three generators: no interval, and neither ablation nor known factors nor skew."""
    return document(("vae",), 3, TABLE, asked=40)


def chanceless() -> Document:
    """Only the paper's three methods: nothing is held against chance."""
    return document(("vae", "beta_vae"), 5, ("axis", "hessian", "ours"))


def stopped() -> Document:
    """Not one triplet was done."""
    return document((), 0, TABLE, asked=60)


def hostile() -> Document:
    """Names that try to run, everywhere a document has text."""
    made = document(HOSTILE[:2], 3, TABLE, skewed=True)
    for index, name in enumerate(HOSTILE[:6]):
        made["generators"][index] |= {"generator": name, "skew": {"target": name, "biased": name, "agreement": 0.9}}
        made["generators"][index]["fits"] = [{"name": name, "measure": name, "value": None, "reason": name}]
        made["words"][name] = name
        made["methods"][name] = name
        made["settings"]["planes"][name] = name
        made["seconds"][name] = 1.0
    for rows, name in (
        ("table", "method"),
        ("by_biased", "biased"),
        ("by_target", "target"),
        ("classifiers", "target"),
    ):
        for place, row in enumerate(made[rows]):
            row[name] = HOSTILE[place]
    return made | {"torch": HOSTILE[0] + HOSTILE[4], "graphics": HOSTILE[1], "parts": list(HOSTILE)}


CASES: dict[str, Callable[[], Document]] = {
    "whole": whole, "older": older, "few": few, "chanceless": chanceless, "stopped": stopped, "hostile": hostile,
}  # fmt: skip
