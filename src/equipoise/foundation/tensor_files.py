"""Tensors in one file: safetensors with a JSON header that says what they are. Never a pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import write_whole
from equipoise.foundation.imports import require

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class TensorFile:
    """A kind of file: the entry of its header, its schema, what it holds and who writes it."""

    entry: str
    schema: str
    what: str
    writer: str

    def write(self, path: str | os.PathLike[str], said: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> None:
        """Write a file: the old one or the new one is there, never half of either."""
        files = require("safetensors.torch", extra="train", purpose=f"Saving a {self.what}")
        laid = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        header = {self.entry: json.dumps({"schema": self.schema, **said}, allow_nan=False, sort_keys=True)}
        write_whole(Path(path), files.save(laid, metadata=header))

    def read(self, path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """Read a file; one that is torn, or that something else wrote, is refused."""
        library = require("safetensors", extra="train", purpose=f"Reading a {self.what}")
        where, wrote = Path(path), f"what {self.writer} wrote"
        if not where.is_file():
            raise BadInput(f"There is no file {str(where)!r}", available=wrote)
        try:
            with library.safe_open(str(where), framework="pt") as file:
                said = json.loads((file.metadata() or {}).get(self.entry, "null"))
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        except (library.SafetensorError, OSError, ValueError, RecursionError) as error:
            raise BadInput(f"{where.name} is not a whole file of a {self.what} ({error})", available=wrote) from error
        found = said.get("schema") if isinstance(said, dict) else None
        if found != self.schema:
            raise BadInput(
                f"{where.name} does not hold a {self.what} of this version ({found or 'something else'})",
                available=self.schema,
                help="read it with the version that wrote it.",
            )
        return said, tensors
