"""Which copy of a file was read: the one that the project's numbers were made with, or another."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

DIGITS = 12


def told_copies(files: Sequence[Path], known: Mapping[str, str], *, whole: bool) -> str:
    """Return the lines of a datasheet that name each file and its checksum.

    ``whole`` says that there are as many rows as the known copy has. A file of that size with another checksum is
    another version under the same name, and is warned of; a smaller one is somebody's own and only named.
    """
    lines = []
    for path in files:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        same = found == known[path.name]
        lines.append(
            f"File: {path.name}, sha256 {found[:DIGITS]}..., "
            + ("the copy that is known here." if same else "another copy than the one that is known here.")
        )
        if whole and not same:
            warnings.warn(
                f"{path.name} is another version than the one that is known here (sha256 {found}, known is "
                f"{known[path.name]}): numbers that were published for the known one need not come out.",
                stacklevel=4,
            )
    return "".join(f"{line}\n" for line in lines)
