"""Files appear whole or not at all, and what is not whole is refused.

Everything is written under a temporary name and then renamed. TOML that a user wrote, and tensors in safetensors, are
read with a message that says what is wrong and where.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.foundation._errors import BadInput
from equipoise.foundation._imports import require
from equipoise.foundation._long_work import (
    check_interrupt,
    defer_interrupts,
)

if TYPE_CHECKING:
    import torch


# How often a folder is tried to be put in its place, where other programs put theirs there at the same moment.
ATTEMPTS = 5
# Letters of a name that a temporary one repeats: it must not become longer than file systems take.
LONGEST_PREFIX = 40

# What many programs take for standard output, and never for a file.
STANDARD_OUTPUT = Path("-")


@dataclass
class Batch:
    """Files that appear together: temporary name and target of each, and the folders that were made for them."""

    files: list[tuple[str, Path]] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)


_batch: ContextVar[Batch | None] = ContextVar("batch", default=None)
# The files that this program has written, for the message that says so when it is interrupted.
_written: dict[Path, None] = {}


def check_writable(path: Path, *, inputs: Iterable[str] = ()) -> None:
    """Refuse an output path that cannot be written or would replace an input, before any work is done."""
    if path == STANDARD_OUTPUT:
        raise BadInput(
            "'-' means standard output, which this option cannot write to",
            available="a file; --json, --csv, --latex and --markdown take - too",
        )
    folder = path.parent
    try:
        exists, is_folder, has_folder = path.exists(), path.is_dir(), folder.is_dir()
    except OSError as error:  # a name that is too long, for one
        raise BadInput(
            f"The output path {str(path)!r} cannot be used ({error.strerror})", help="choose another name."
        ) from error
    if exists and any(os.path.exists(file) and os.path.samefile(path, file) for file in inputs):
        raise BadInput(f"The output path {str(path)!r} is an input file", help="name another output file.")
    if is_folder:
        raise BadInput(f"The output path {str(path)!r} is a folder", help="name a file inside it.")
    if not has_folder:
        raise BadInput(
            f"The folder {str(folder)!r} of the output path {path.name!r} does not exist",
            help="create it first, or name another path.",
        )
    if not os.access(folder, os.W_OK):
        raise BadInput(
            f"The folder {str(folder)!r} cannot be written to", help="choose a folder that you may write to."
        )


def write_file(path: str | os.PathLike[str], content: str | bytes, *, announced: bool = True) -> Path:
    """Write a file so that a reader sees the old one or the new one, never half of either.

    ``announced`` is False of what nobody asked for by name, such as a checkpoint: no message speaks of it.
    """
    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    check_interrupt()
    with defer_interrupts(), atomic_file(target, announced=announced) as part:
        part.write_bytes(data)
    return target


@contextlib.contextmanager
def atomic_file(target: Path, *, announced: bool = True) -> Iterator[Path]:
    """Lend a temporary file beside a target; what was written there becomes the target when nothing went wrong.

    An ``OSError`` that is raised inside is told as one of the target, and nothing is left behind.
    """
    check_writable(target)
    temporary: str | None = None
    try:
        with defer_interrupts():
            descriptor, temporary = tempfile.mkstemp(
                dir=target.parent, prefix=f".{target.name[:LONGEST_PREFIX]}.", suffix=".part"
            )
            os.close(descriptor)
        yield Path(temporary)
        with defer_interrupts():
            with open(temporary, "rb+") as file:
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_current_umask())
            batch = _batch.get()
            if batch is None or not announced:
                _move_into_place(temporary, target, announced=announced)
            else:
                batch.files.append((temporary, target))
                temporary = None
    except OSError as error:
        raise write_error(target, str(error.strerror or error)) from error
    finally:
        if temporary is not None:
            _remove(temporary)


def check_new_folder(target: Path, *, replaceable: Callable[[Path], bool] | None = None) -> None:
    """Refuse a folder for output that holds something else, before any work is done."""
    try:
        exists, is_folder = target.exists(), target.is_dir()
        free = not exists or (is_folder and not any(target.iterdir()))
    except OSError as error:
        raise BadInput(
            f"The folder {str(target)!r} cannot be used ({error.strerror})", help="choose another name."
        ) from error
    if not free and not (is_folder and replaceable is not None and replaceable(target)):
        raise BadInput(f"{str(target)!r} is there already, and holds something else", help="name a new folder.")


@contextlib.contextmanager
def atomic_folder(target: Path, *, replaceable: Callable[[Path], bool] | None = None) -> Iterator[Path]:
    """Lend a temporary folder beside a target; it becomes the target when nothing went wrong.

    A folder that is there already stays, unless it is empty or ``replaceable`` says that it may give way. An
    ``OSError`` that is raised inside is told as one of the target, and nothing is left behind.
    """
    check_new_folder(target, replaceable=replaceable)
    make_output_folder(target.parent)
    temporary: Path | None = None
    try:
        with defer_interrupts():
            temporary = Path(
                tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name[:LONGEST_PREFIX]}.", suffix=".part")
            )
        yield temporary
        with defer_interrupts():
            os.chmod(temporary, 0o777 & ~_current_umask())
            _put_folder(temporary, target, replaceable)
            temporary = None
    except OSError as error:
        raise write_error(target, str(error.strerror or error)) from error
    except BadInput as error:
        if temporary is None or str(temporary) not in error.given:
            raise
        # A file inside is known by the name that it would have had.
        message = error.given.replace(str(temporary), str(target))
        raise BadInput(message, available=error.available, help=error.help) from error
    finally:
        if temporary is not None:
            with defer_interrupts():
                shutil.rmtree(temporary, ignore_errors=True)


def _put_folder(temporary: Path, target: Path, replaceable: Callable[[Path], bool] | None) -> None:
    """Rename a folder to a target, where one that may give way can stand, also one that another program puts there."""
    for attempt in range(ATTEMPTS):
        check_new_folder(target, replaceable=replaceable)
        try:
            _exchange(temporary, target)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT) or attempt == ATTEMPTS - 1:
                raise
    for path in [path for path in _written if path.parent == temporary]:
        del _written[path]
    _written[target] = None


def _exchange(temporary: Path, target: Path) -> None:
    """Rename a folder to a target; one that stands there gives way first, and comes back where that fails."""
    if not target.exists():
        os.rename(temporary, target)
        return
    aside = temporary.with_suffix(".before")
    os.rename(target, aside)
    try:
        os.rename(temporary, target)
    except OSError:
        if target.exists():  # another program's, which came in between
            shutil.rmtree(aside, ignore_errors=True)
        else:
            os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def write_together() -> Iterator[None]:
    """Let all files that are written within appear at its end, and none of them where it does not get there."""
    if _batch.get() is not None:
        yield
        return
    batch = Batch()
    token = _batch.set(batch)
    try:
        yield
        check_interrupt()
        with defer_interrupts():
            while batch.files:
                try:
                    _move_into_place(*batch.files[0])
                except OSError as error:
                    raise write_error(batch.files[0][1], str(error.strerror or error)) from error
                del batch.files[0]
            batch.folders.clear()
    finally:
        _batch.reset(token)
        with defer_interrupts():
            _abandon(batch)


def make_output_folder(folder: Path) -> None:
    """Make a folder for output, with those above it; one that stays without files is removed again."""
    with defer_interrupts():
        absent = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"The folder {str(folder)!r} cannot be created ({error.strerror})", help="choose another folder."
            ) from error
        batch = _batch.get()
        if batch is not None:
            batch.folders += absent


def written_files() -> tuple[Path, ...]:
    """Return the files that were written since ``forget_written_files``, by the names they were asked for under."""
    return tuple(_written)


def forget_written_files() -> None:
    """Begin anew to note which files are written."""
    _written.clear()


def write_error(target: Path, why: str) -> BadInput:
    """Build the error of a file that could not be written, whoever tried to write it."""
    return BadInput(
        f"The file {str(target)!r} could not be written ({why})",
        help="free some space or choose another folder; no partial file was kept.",
    )


def _move_into_place(temporary: str, target: Path, *, announced: bool = True) -> None:
    os.replace(temporary, target)
    if announced:
        _written[target] = None


def _abandon(batch: Batch) -> None:
    for temporary, _ in batch.files:
        _remove(temporary)
    for folder in batch.folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove(temporary: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)


def _current_umask() -> int:
    """Read the process's file mode mask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


# More than any page of settings has; a larger file is something else.
MOST_BYTES = 1_000_000


def read_toml(file: Path, what: str, *, example: str, available: str = "a TOML file") -> tuple[str, dict[str, Any]]:
    """Return the text of a file and what it says. ``what`` names it in messages, ``example`` shows a line of it."""
    if file.is_dir():
        raise BadInput(f"The {what} {str(file)!r} is a folder", available=available)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BadInput(f"The {what} {str(file)!r} cannot be read ({error.strerror})", available="a TOML file") from None
    if len(data) > MOST_BYTES:
        raise BadInput(f"The {what} {file.name!r} has {len(data):,} bytes", available=f"up to {MOST_BYTES:,}")
    try:
        text = data.decode("utf-8-sig")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(f"The {what} {file.name!r} is not UTF-8 (at line {line})", available="TOML in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"The {what} {file.name!r} is not TOML: {error}", available=f"lines such as {example}") from None
    except (RecursionError, ValueError) as error:
        raise BadInput(f"The {what} {file.name!r} cannot be read: {error}", available="a plain TOML file") from None


@dataclass(frozen=True)
class TensorFile:
    """A kind of file: the entry of its header, its schema, what it holds and who writes it."""

    entry: str
    schema: str
    content: str
    writer: str

    def write(
        self,
        path: str | os.PathLike[str],
        entries: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor],
        *,
        announced: bool = True,
    ) -> None:
        """Write a file: the old one or the new one is there, never half of either."""
        files = require("safetensors.torch", extra="train", purpose=f"Saving a {self.content}")
        laid = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        header = {self.entry: json.dumps({"schema": self.schema, **entries}, allow_nan=False, sort_keys=True)}
        write_file(Path(path), files.save(laid, metadata=header), announced=announced)

    def read(self, path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """Read a file; one that is torn, or that something else wrote, is refused."""
        library = require("safetensors", extra="train", purpose=f"Reading a {self.content}")
        where, wrote = Path(path), f"what {self.writer} wrote"
        if not where.is_file():
            raise BadInput(f"There is no file {str(where)!r}", available=wrote)
        try:
            with library.safe_open(str(where), framework="pt") as file:
                header = json.loads((file.metadata() or {}).get(self.entry, "null"))
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        except (library.SafetensorError, OSError, ValueError, RecursionError) as error:
            raise BadInput(
                f"{where.name} is not a whole file of a {self.content} ({error})", available=wrote
            ) from error
        schema = header.get("schema") if isinstance(header, dict) else None
        if schema != self.schema:
            raise BadInput(
                f"{where.name} does not hold a {self.content} of this version ({schema or 'something else'})",
                available=self.schema,
                help="read it with the version that wrote it.",
            )
        return header, tensors
