"""Planes of the factors of a generator, as they are kept between runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the planes are those of trained networks")

from reproductions.sprites.planes import GeneratorPlanes, load_planes, save_planes

from equipoise.discovery import Fit, FitReason
from equipoise.results import because


def test_planes_of_either_time_are_read_with_their_reasons(tmp_path: Path) -> None:
    """A reason is kept as a code with its details; a file from before has the sentence alone."""
    asked = {"least_auc": 0.65}
    low = because(FitReason.LOW, measure="AUC", value=0.53, least=0.65)
    none = because(FitReason.ONE_VALUE)
    fits = (Fit("x", "AUC", 0.9), Fit("y", "AUC", 0.53, low), Fit("z", "AUC", float("nan"), none))
    path = tmp_path / "planes.json"
    save_planes(path, GeneratorPlanes((), fits), asked)
    assert [(fit.name, fit.reason) for fit in load_planes(path, asked).fits] == [(fit.name, fit.reason) for fit in fits]
    older = json.loads(path.read_text(encoding="utf-8"))
    for one in older["fits"]:
        del one["reason_code"], one["details"]
    path.write_text(json.dumps(older), encoding="utf-8")
    read = load_planes(path, asked).fits
    assert [None if one.reason is None else str(one.reason) for one in read] == [
        None if fit.reason is None else str(fit.reason) for fit in fits
    ]
