"""Files that survive a power cut: the bytes first, then the name, both waited for."""

from __future__ import annotations

import os
from pathlib import Path

from equipoise.foundation.errors import BadInput
from equipoise.foundation.files import write_whole


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"The folder {str(folder)!r} cannot be made ({error.strerror})", help="name one that is yours."
        ) from error


def write_durably(path: Path, content: bytes) -> None:
    """Write a file whole and wait until the disk has its bytes and its name."""
    write_whole(path, content, announced=False)
    if hasattr(os, "O_DIRECTORY"):  # elsewhere a folder cannot be waited for
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
