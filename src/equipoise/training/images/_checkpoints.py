"""Where a long training is, kept in a file after some epochs, so that one that was killed goes on inside the trial.

A file is named by what the training means and says so inside; it is safetensors, and nothing in it is run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.foundation import BadInput, write_file
from equipoise.training._dataset import EncodedDataset, Epoch, Settings
from equipoise.training._preparation import PreparedJob
from equipoise.training._trainer import Standing
from equipoise.training.images._run import Run, Weights

if TYPE_CHECKING:
    import torch

SCHEMA = "equipoise.checkpoint/1"
# The entry of the header that says what the training is and where it stands.
ENTRY = "equipoise.checkpoint"
SPLITS, WEIGHTS = ("dev", "test", "train"), "weights"
HELP = "remove the file, or name another folder for checkpoints: the training then starts again."


@dataclass(frozen=True, eq=False)
class Remembered:
    """The outputs of a trial in its best epoch, ``[row, output]``.

    Those of its training rows are kept where a treatment after training wants them, and what network and head have
    learnt where models are to be kept.
    """

    dev: Any = None
    test: Any = None
    train: Any = None
    weights: Weights | None = None


@dataclass(eq=False)
class Stand:
    """Where a training is: epochs done, and the standing and the best outputs of each trial that shares it."""

    standings: list[Standing]
    remembered: list[Remembered]
    epoch: int = 0


def training_name(
    trials: Sequence[PreparedJob], settings: Settings, data: str, version: int, named: Mapping[str, Any] | None = None
) -> str:
    """Name a training by what it means: rows, seed, repeat, numbers, data, and all trials that share it.

    Each way a network is read has a best epoch of its own, so that the same training read in other ways begins anew.
    ``version`` is the learner's, and ``named`` are its hyper-parameters as they name a trial (by default all of them).
    """
    first = trials[0]
    settings_of_name = {
        "data": data,
        "rows": hashlib.sha256(first.rows.tobytes()).hexdigest(),
        "seed": first.job.seed,
        "repeat": first.job.repeat,
        "learner": [version, {name: repr(value) for name, value in (named or first.values).items()}],
        "treatments": [
            [[type(treatment).__qualname__, treatment.version,
              {name: repr(value) for name, value in treatment.values.items()}]
             for treatment in trial.treatments] for trial in trials
        ],
        "settings": asdict(replace(settings, checkpoints=None)),
    }  # fmt: skip
    return hashlib.sha256(json.dumps(settings_of_name, sort_keys=True).encode()).hexdigest()


def data_name(dataset: EncodedDataset) -> str:
    """Name the pictures and labels that are trained and selected on."""
    digest = hashlib.sha256()
    for rows in (dataset.train, dataset.dev, dataset.test):
        for part in (rows.inputs, rows.ids, rows.target, rows.group):
            if part is not None:
                digest.update(str((part.dtype, part.shape)).encode())
                digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def path_of(folder: str, name: str) -> Path:
    """Return where a training's checkpoint is, or will be."""
    return Path(folder) / f"{name[:32]}.safetensors"


def save(folder: str, name: str, run: Run, stand: Stand) -> None:
    """Write where a training is: the old file or the new one is there, never half of either."""
    from safetensors.torch import save as packed

    os.makedirs(folder, exist_ok=True)
    tensors = {key: value.detach().cpu().contiguous() for key, value in run.state().items()}
    for index, best in enumerate(stand.remembered):
        for split in SPLITS:
            if getattr(best, split) is not None:
                # Copies: a file takes no tensors that share their memory.
                tensors[f"kept.{index}.{split}"] = run.torch.from_numpy(getattr(best, split).copy())
        for part, values in (best.weights or {}).items():
            part_tensors = {
                f"kept.{index}.{WEIGHTS}.{part}.{key}": value.cpu().contiguous() for key, value in values.items()
            }
            tensors |= {key: value.clone() for key, value in part_tensors.items()}
    header = {
        "schema": SCHEMA,
        "training": name,
        "epoch": stand.epoch,
        "seconds": sum(standing.seconds for standing in stand.standings),
        "kept": [
            [repr(standing.best), standing.best_epoch, [list(map(repr, astuple(epoch))) for epoch in standing.history]]
            for standing in stand.standings
        ],
    }
    write_file(path_of(folder, name), packed(tensors, metadata={ENTRY: json.dumps(header)}), announced=False)


def resume(folder: str, name: str, run: Run) -> Stand | None:
    """Put a run where its checkpoint says it was; None where there is no checkpoint."""
    from safetensors import SafetensorError, safe_open

    path = path_of(folder, name)
    if not path.exists():
        return None
    try:
        with safe_open(str(path), framework="pt") as file:
            header = json.loads((file.metadata() or {}).get(ENTRY, "null"))
            if not isinstance(header, dict) or header.get("schema") != SCHEMA:
                raise BadInput(f"{path.name} is not a checkpoint of this version", help=HELP)
            if header["training"] != name:
                raise BadInput(f"The checkpoint {path.name} is of another plan or trial", help=HELP)
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 - it is no mapping
            stand = _stand(header, tensors)
            run.load(tensors)
            return stand
    except BadInput:
        raise
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise BadInput(f"The checkpoint {path.name} cannot be read ({error})", help=HELP) from error


def forget(folder: str, names: Sequence[str]) -> None:
    """Remove the checkpoints of trainings that have ended; one that cannot be removed does no harm."""
    for name in names:
        with contextlib.suppress(OSError):
            path_of(folder, name).unlink(missing_ok=True)


def _stand(header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Stand:
    share = float(header["seconds"]) / max(len(header["kept"]), 1)
    stand = Stand([], [], int(header["epoch"]))
    for index, (best, epoch, history) in enumerate(header["kept"]):
        epochs = [Epoch(int(number), *map(float, numbers)) for number, *numbers in history]
        stand.standings.append(Standing(float(best), int(epoch), epochs, share))
        arrays = {split: _array(tensors.get(f"kept.{index}.{split}")) for split in SPLITS}
        stand.remembered.append(Remembered(**arrays, weights=_weights(f"kept.{index}.{WEIGHTS}.", tensors)))
    return stand


def _weights(start: str, tensors: dict[str, torch.Tensor]) -> Weights | None:
    weights: Weights = {}
    for name, value in tensors.items():
        if name.startswith(start):
            part, _, key = name.removeprefix(start).partition(".")
            weights.setdefault(part, {})[key] = value
    return weights or None


def _array(tensor: torch.Tensor | None) -> Any:
    return None if tensor is None else tensor.numpy()
