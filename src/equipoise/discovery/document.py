"""An investigation as JSON, "equipoise.discovery/2": everything but the pictures; undefined is null, with a reason."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.discovery.hyperplane import Hyperplane
from equipoise.discovery.investigation import Investigation, KnownChange, Shown, Strip
from equipoise.foundation.files import write_whole

SCHEMA = "equipoise.discovery/2"
# Of a loss curve more digits say nothing.
DIGITS = 6
NUMBERS = ("variation", "low", "high", "way", "steadiness", "chance", "chance_high", "rank_among_random")
NOT_SEARCHED = "nothing was searched for"
UNMEASURED = "it could not be measured"


def document_of(investigation: Investigation) -> dict[str, Any]:
    """Return an investigation as plain JSON values."""
    return {
        "schema": SCHEMA,
        "verdict": investigation.verdict,
        "reason": NOT_SEARCHED if investigation.verdict is None else investigation.reason,
        "classifier": investigation.classifier,
        "generator": investigation.generator,
        "target": investigation.target,
        "reference": investigation.reference,
        "strip_alphas": list(investigation.strip_alphas),
        "directions": [
            _shown(one, rank) for rank, one in enumerate(investigation.directions, start=1)
        ],
        "methods": [_shown(one, None) for one in investigation.methods],
        "known": [_known(one) for one in investigation.known],
        "notes": list(investigation.notes),
        "curves": [[[_rounded(value) for value in row] for row in part] for part in investigation.curves.tolist()],
        "settings": _plain({
            "search": asdict(investigation.search), "judging": asdict(investigation.judging), **investigation.asked,
        }),
        "provenance": _plain(investigation.provenance),
    }  # fmt: skip


def write_document(investigation: Investigation, path: str | os.PathLike[str]) -> Path:
    """Write an investigation as JSON."""
    return write_whole(path, json.dumps(document_of(investigation), ensure_ascii=False, allow_nan=False) + "\n")


def _shown(one: Shown, rank: int | None) -> dict[str, Any]:
    judged = one.judged
    numbers = {name: _plain(getattr(judged, name)) for name in NUMBERS}
    reason = judged.reason
    if reason is None and None in numbers.values():
        reason = UNMEASURED
    return {
        **({} if rank is None else {"rank": rank}),
        "method": one.method,
        "name": judged.name,
        "verdict": judged.verdict,
        "reason": reason,
        **numbers,
        "random_directions": judged.random_directions,
        "reference_way": _plain(judged.reference_way),
        "kept": _plain(judged.kept),
        "cosines": _plain(judged.cosines),
        "given": _plane(judged.given),
        "plane": None if judged.plane is None else _plane(judged.plane),
        "strips": _strips(one.strips),
    }


def _known(one: KnownChange) -> dict[str, Any]:
    return {
        "name": one.name,
        **{
            name: dict(zip(("value", "low", "high"), map(_plain, getattr(one, name)), strict=True))
            for name in ("change", "variation", "flips")
        },
        "strips": _strips(one.strips),
    }  # fmt: skip


def _strips(strips: tuple[Strip, ...]) -> list[list[Any]]:
    """Return the probabilities under the pictures of each strip."""
    return [[_rounded(value) for value in strip.probabilities.tolist()] for strip in strips]


def _plane(plane: Hyperplane) -> dict[str, Any]:
    return {"normal": plane.normal.tolist(), "offset": plane.offset}


def _rounded(value: float) -> float | None:
    return round(value, DIGITS) if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """Turn a value into what JSON can say; a number that it cannot say is null."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
