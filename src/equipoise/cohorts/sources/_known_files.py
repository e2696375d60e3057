"""Which copy of a file was read: the one that the project's numbers were made with, or another."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

DIGITS = 12


def describe_copies(files: Sequence[Path], known_checksums: Mapping[str, str], *, has_all_rows: bool) -> str:
    """Return the lines of a datasheet that name each file and its checksum.

    ``has_all_rows`` says that there are as many rows as the known copy has. A file of that size with another
    checksum is another version under the same name, and is warned of; a smaller one is somebody's own and only named.
    """
    lines = []
    for path in files:
        with open(path, "rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        is_known = checksum == known_checksums[path.name]
        lines.append(
            f"File: {path.name}, sha256 {checksum[:DIGITS]}..., "
            + ("the copy that is known here." if is_known else "another copy than the one that is known here.")
        )
        if has_all_rows and not is_known:
            warnings.warn(
                f"{path.name} is another version than the one that is known here (sha256 {checksum}, known is "
                f"{known_checksums[path.name]}): numbers that were published for the known one need not come out.",
                stacklevel=4,
            )
    return "".join(f"{line}\n" for line in lines)
