"""Files appear whole or not at all: everything is written under a temporary name and then renamed."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from equipoise.foundation.errors import BadInput

# Letters of a name that a temporary one repeats: it must not become longer than file systems take.
LONGEST_PREFIX = 40


# What many programs take for standard output, and never for a file.
STANDARD_OUTPUT = Path("-")


def check_writable(path: Path, *, inputs: Iterable[str] = ()) -> None:
    """Refuse an output path that cannot be written or would replace an input, before any work is done."""
    folder = path.parent
    if path == STANDARD_OUTPUT:
        raise BadInput(
            "'-' stands for standard output, which this option cannot write to",
            allowed="a file; of audit, compare, evidence and study report --json, --csv and --latex take - too",
        )
    if path.exists() and any(os.path.exists(file) and os.path.samefile(path, file) for file in inputs):
        raise BadInput(f"The output path {str(path)!r} is the file that is read", way_out="name another output file.")
    if path.is_dir():
        raise BadInput(f"The output path {str(path)!r} is a folder", way_out="name a file inside it.")
    if not folder.is_dir():
        raise BadInput(
            f"The folder {str(folder)!r} of the output path {path.name!r} does not exist",
            way_out="create it first, or name another path.",
        )
    if not os.access(folder, os.W_OK):
        raise BadInput(f"The folder {str(folder)!r} cannot be written to", way_out="choose a folder that is yours.")


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write a file so that a reader sees the old one or the new one, never half of either."""
    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replaced_when_whole(target) as part:
        part.write_bytes(data)
    return target


@contextmanager
def replaced_when_whole(target: Path) -> Iterator[Path]:
    """Lend a temporary file beside a target; what was written there becomes the target when nothing went wrong.

    An ``OSError`` that is raised inside is told as one of the target, and nothing is left behind.
    """
    check_writable(target)
    temporary: str | None = None
    try:
        descriptor, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:LONGEST_PREFIX]}.", suffix=".part"
        )
        os.close(descriptor)
        yield Path(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_current_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise could_not_be_written(target, str(error.strerror or error)) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)


def could_not_be_written(target: Path, why: str) -> BadInput:
    """Build the error of a file that could not be written, whoever tried to write it."""
    return BadInput(
        f"The file {str(target)!r} could not be written ({why})",
        way_out="free some space or choose another folder; nothing was left behind.",
    )


def _current_umask() -> int:
    """Read the process's file mode mask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
