"""A metric learner in a file: safetensors with a JSON header, holding what transform needs and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import write_whole
from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch

SCHEMA = "equipoise.metric-learner/1"
ENTRY = "equipoise.metric_learner"


def write(path: str | os.PathLike[str], said: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Write a file: the old one or the new one is there, never half of either."""
    files = require("safetensors.torch", extra="train", purpose="Saving a metric learner")
    laid = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    header = {ENTRY: json.dumps({"schema": SCHEMA, **said}, allow_nan=False, sort_keys=True)}
    write_whole(Path(path), files.save(laid, metadata=header))


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Read a file; one that is torn, or that something else wrote, is refused."""
    library = require("safetensors", extra="train", purpose="Reading a metric learner")
    where = Path(path)
    if not where.is_file():
        raise BadInput(f"There is no file {str(where)!r}", allowed="what MetricLearner.save wrote")
    try:
        with library.safe_open(str(where), framework="pt") as file:
            said = json.loads((file.metadata() or {}).get(ENTRY, "null"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except (library.SafetensorError, OSError, ValueError) as error:
        raise BadInput(
            f"{where.name} is not a whole file of a metric learner ({error})", allowed="what MetricLearner.save wrote"
        ) from error
    if not isinstance(said, dict) or said.get("schema") != SCHEMA:
        found = said.get("schema") if isinstance(said, dict) else None
        raise BadInput(
            f"{where.name} holds no metric learner of this version ({found})",
            allowed=SCHEMA,
            way_out="read it with the version that wrote it.",
        )
    return said, tensors
