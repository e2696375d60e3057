"""Finding a cohort's file: the user's local copy first, otherwise a download that must match its checksum."""

from __future__ import annotations

import hashlib
import http.client
import inspect
import os
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cohorts._readers import open_table
from equipoise.cohorts._tables import LazyTable
from equipoise.foundation import (
    BadInput,
    registry,
    unknown_name,
    write_file,
)

if TYPE_CHECKING:
    from equipoise.cohorts._cohort import Cohort

DATA_VARIABLE = "EQUIPOISE_DATA"
LIMIT = 200 * 1024 * 1024


@dataclass(frozen=True)
class Source:
    """Where a cohort's file can come from. Without an address only a local copy will do."""

    cohort: str
    files: tuple[str, ...]
    instructions: str
    url: str | None = None
    sha256: str | None = None


def load(name: str, **options: Any) -> Cohort:
    """Return a cohort by its registered name, such as ``load("adult")`` or ``load("compas", path="compas.csv")``."""
    loader: Callable[..., Cohort] = registry.get("cohort", name).implementation  # type: ignore[assignment]  # things of any kind
    _check_options(name, loader, options)
    return loader(**options)


def _check_options(name: str, loader: Callable[..., Cohort], options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(loader).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    option_names = [parameter.name for parameter in parameters]
    for option in options:
        if option not in option_names:
            raise unknown_name("option", option, option_names, f"the cohort {name!r}")


def find_file(source: Source, path: str | os.PathLike[str] | None, *, download: bool = False) -> Path:
    """Return the file: the path given, a copy below $EQUIPOISE_DATA or the cache, or (when asked) a download."""
    if path is not None:
        return _given(source, Path(path))
    for folder in _folders(source):
        for file in source.files:
            if (folder / file).is_file():
                return folder / file
    if not download or source.url is None:
        raise _absent(source)
    return _download(source)


def _given(source: Source, path: Path) -> Path:
    if path.is_dir():
        for file in source.files:
            if (path / file).is_file():
                return path / file
    if path.is_file():
        return path
    raise BadInput(
        f"There is no {source.cohort} file at {str(path)!r}",
        available=f"the file itself, or a folder that holds {' or '.join(source.files)}",
        help=source.instructions,
    )


def _folders(source: Source) -> list[Path]:
    folders = [cache_folder() / source.cohort]
    if os.environ.get(DATA_VARIABLE):
        folders.insert(0, Path(os.environ[DATA_VARIABLE]) / source.cohort)
    return folders


def cache_folder() -> Path:
    """Return where downloads are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(Path.home(), ".cache")
    return Path(base) / "equipoise"


def _absent(source: Source) -> BadInput:
    fetch = f", or load({source.cohort!r}, download=True)" if source.url else ""
    return BadInput(
        f"There is no local copy of the {source.cohort} data",
        available=f"a file named {' or '.join(source.files)}",
        help=f"{source.instructions} Then load({source.cohort!r}, path=...){fetch}.",
    )


def _download(source: Source) -> Path:
    assert source.url is not None
    target = cache_folder() / source.cohort / source.files[0]
    try:
        with urllib.request.urlopen(source.url, timeout=60) as response:  # noqa: S310 - the address is ours
            content: bytes = response.read(LIMIT + 1)
    except (http.client.HTTPException, OSError) as error:  # a URLError is an OSError
        raise BadInput(
            f"The {source.cohort} data could not be downloaded ({error})",
            help=f"{source.instructions} Then load({source.cohort!r}, path=...).",
        ) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256:
        raise BadInput(
            f"The downloaded {source.cohort} data does not have the expected checksum (sha256 {digest})",
            available=f"sha256 {source.sha256}",
            help="nothing was kept; download the file yourself and pass path=.",
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"The cache folder {str(target.parent)!r} could not be created ({error.strerror})",
            help="set XDG_CACHE_HOME to a folder that you may write to, or pass path=.",
        ) from error
    return write_file(target, content)


def read_columns(path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Read a whole file into arrays, one a column."""
    table = LazyTable(open_table(path), Path(path).name)
    if columns is not None:
        table.check_columns(columns)
    eager = table.in_memory(columns if columns is not None else table.columns)
    return {name: eager.column(name) for name in eager.columns}
